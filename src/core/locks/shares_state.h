/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The state of share reservations (locks 19): opens of this server's clients, and guards of the files that it is the authority of. */
#ifndef NFS4R_CORE_LOCKS_SHARES_STATE_H
#define NFS4R_CORE_LOCKS_SHARES_STATE_H

#include "core/state/limits.h"

/* ---- as the server of clients ---- */

struct share_mark { /* a guard that this server has heard of: it asks before it lets anybody open the file */
	struct nfs4r_guard_mark guard;
	struct share_mark *prev, *next;
};

struct share_file { /* a file that clients have open here, or that is guarded */
	struct nfs4r_oid oid;
	struct nfs4r_opens opens;
	struct share_mark *marks;
	const struct opx *active; /* one request at a time */
	struct nfs4r_guard_mark answered; /* the GUARD that was answered last since that request began; id 0: none */
	bool say; /* the authority has to hear what is open now */
	uint64_t not_before;
	UT_hash_handle hh;
};

/* ---- as the authority of a file ---- */

struct share_party { /* a member, as the guard knows it */
	bool asked, answered;
	uint64_t inc; /* start in which it answered */
	uint64_t n; /* newest request that was carried out */
	enum nfs4r_status status; /* and its answer */
	struct nfs4r_opens opens; /* at most these are open there */
	struct nfs4r_opens before; /* what its clients had when it started anew, and may still reclaim */
	uint64_t before_until_ms, sent_ms;
	uint32_t nmarks;
	struct nfs4r_guard_mark marks[NFS4R_GUARD_MARKS]; /* other guards that it has heard of, which are over */
};

struct share_guard {
	struct nfs4r_oid oid;
	uint64_t id;
	uint64_t used_ms; /* a request came */
	struct share_party of[NFS4R_SERVERS_MAX + 1]; /* this server's own opens are in share_file */
	UT_hash_handle hh;
};

struct share_ending { /* UNGUARD, until it is heard */
	struct nfs4r_oid oid;
	uint64_t id, sent_ms;
	nfs4r_server_id to;
	uint32_t nmarks;
	struct nfs4r_guard_mark marks[NFS4R_GUARD_MARKS];
	struct share_ending *prev, *next;
};

struct shares_state { /* c->locks.shares */
	struct share_file *files;
	struct share_guard *guards;
	struct share_ending *endings;
	uint64_t n; /* requests and guards of this start */
	uint32_t nsay; /* files with `say` */
	bool running; /* files are being looked at: none goes */
};

#endif
