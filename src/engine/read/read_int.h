/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inside of read/. */
#ifndef NFS4R_ENGINE_READ_INT_H
#define NFS4R_ENGINE_READ_INT_H

#include "engine/read/read.h"

/* ---- router.c, server.c ---- */
void read_router_forget_answer(struct nfs4r_read *rd); /* what it has of an earlier one */
nfs4r_version read_router_version_said(const struct nfs4r_read *asked, const struct nfs4r_read *answer); /* of the object asked for, of a peer; 0: none, or with the attributes */
enum nfs4r_status read_router_not_here(struct nfs4r_engine *eng, enum nfs4r_known known);

/* ---- not_modified.c ---- */
struct read_promise { /* an owner's word on a READ: the bytes are those of the copy here, once that has @version */
	nfs4r_version version; /* 0: none */
	nfs4r_server_id by;
	uint64_t len;
	bool eof;
	struct nfs4r_closed closed; /* the question: how far the control was known to be closing */
	nfs4r_lsn applied; /* of its log, when that moved last */
	uint64_t moved_ms, until_ms;
};
#define PROMISE_WORDS 3 /* before the versions of the pieces */
bool read_promise_known(struct nfs4r_engine *eng, const struct nfs4r_read *rd, nfs4r_server_id owner, struct read_promise *pr); /* without asking */
/* Before @owner is asked: the READ's cookie. @bytes: no promise this time. */
nfs4r_version read_promise_asked(struct nfs4r_engine *eng, const struct nfs4r_read *rd, nfs4r_server_id owner, struct read_promise *pr, bool bytes);
/* Is @answer one? */
bool read_promise_taken(struct nfs4r_engine *eng, nfs4r_server_id from, const struct nfs4r_read *asked, const struct nfs4r_read *answer, struct read_promise *pr);
bool read_promise_valid(struct nfs4r_engine *eng, struct nfs4r_read *rd, struct read_promise *pr); /* true: @rd has its answer. Reads the local file */
bool read_promise_may_be_valid(struct nfs4r_engine *eng, struct read_promise *pr);
void read_promise_broken(struct nfs4r_engine *eng, struct read_promise *pr);

/* ---- serve_copy.c ---- */
/* Answer a READ with `copy`. STALE: dead; UNKNOWN: not here yet; DELAY: it changes just now. */
enum nfs4r_status read_copy_here(struct nfs4r_engine *eng, struct nfs4r_read *rd);

#endif
