/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reads that go to other servers, and those that come from them. */
#ifndef NFS4R_ENGINE_READ_H
#define NFS4R_ENGINE_READ_H

#include "engine/runtime/runtime.h"

/* ---- router.c ---- */
struct reads *read_router_create(struct nfs4r_engine *eng);
void read_router_destroy(struct reads *r);
void read_router_answer(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m);
/* Of @from's own copy, whoever is primary. Blocks for some seconds at most; DELAY: no answer. Only for a thread of its own. */
enum nfs4r_status read_copy(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_read *rd);
void read_router_peer_down(struct nfs4r_engine *eng, nfs4r_server_id peer);
void read_router_expire(struct nfs4r_engine *eng, uint64_t now);
void read_router_performed(struct nfs4r_engine *eng); /* a step: they look again soon. eng->lock held */
void read_router_again(struct nfs4r_engine *eng); /* what waits for somebody to ask is decided again */
void read_router_here(struct nfs4r_engine *eng, nfs4r_server_id owner); /* eng->lock held: so is, soon, what @owner has been asked */

/* ---- server.c ---- */
void read_serve(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m);

/* ---- serve_copy.c ---- */
/* `data` of an answer to OIDS. */
bool read_copy_positions_get(struct nfs4r_store_positions *p, const struct nfs4r_buf *b);

/* ---- not_modified.c ---- */
struct promises *read_promises_create(void);
void read_promises_destroy(struct promises *p);

#endif
