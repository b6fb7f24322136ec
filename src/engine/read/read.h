/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reads that go to other servers, and those that come from them. */
#ifndef NFS4R_ENGINE_READ_H
#define NFS4R_ENGINE_READ_H

#include "engine/runtime/runtime.h"

/* ---- router.c ---- */
struct reads *reads_create(struct nfs4r_engine *eng);
void reads_destroy(struct reads *r);
void reads_answer(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m);
/* Of @from's own copy, whoever is primary. Blocks for some seconds at most; DELAY: no answer. Only for a thread of its own. */
enum nfs4r_status reads_copy(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_read *rd);
void reads_peer_down(struct nfs4r_engine *eng, nfs4r_server_id peer);
void reads_expire(struct nfs4r_engine *eng, uint64_t now);
void reads_performed(struct nfs4r_engine *eng); /* a step: they look again soon. eng->lock held */
void reads_again(struct nfs4r_engine *eng); /* what waits for somebody to ask is decided again */
void reads_here(struct nfs4r_engine *eng, nfs4r_server_id owner); /* eng->lock held: so is, soon, what @owner has been asked */

/* ---- server.c ---- */
void reads_serve(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m);

/* ---- serve_copy.c ---- */
/* `data` of an answer to OIDS. */
void copy_positions_put(const struct nfs4r_store_positions *p, uint8_t *out);
bool copy_positions_get(struct nfs4r_store_positions *p, const struct nfs4r_buf *b);

/* ---- not_modified.c ---- */
struct promises *promises_create(void);
void promises_destroy(struct promises *p);

#endif
