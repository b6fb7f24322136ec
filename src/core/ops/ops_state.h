/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The state of ops/, which the rooms above it read. */
#ifndef NFS4R_CORE_OPS_OPS_STATE_H
#define NFS4R_CORE_OPS_OPS_STATE_H

#include "core/state/limits.h"

struct needs { /* section 3, on this server's tree at this moment */
	enum nfs4r_status deferred; /* not OK: the operation ends with this */
	bool nothing; /* ends with OK and no entry */
	bool after_cover; /* `early` is only true under control of everything needed */
	struct nfs4r_oid judged; /* directory whose state `early` was read from */
	uint32_t nargs, n;
	struct nfs4r_oid args[2];
	struct need v[4];
	bool has_obj, has_target, dirmove;
	struct nfs4r_oid obj, target; /* o and t of the sheet */
	uint32_t obj_type, target_type;
};

enum op_state {
	OP_WAIT = 1, /* for control, for an object to arrive, for its turn */
	OP_FORWARDED, /* sent to its primary */
	OP_CATCHUP, /* answered; waits until this server has applied its entry */
	OP_LOCKING, /* EXECUTE given */
	OP_STARTED, /* has its entry */
	OP_EXECUTED, /* executed, an older entry of the same object is not */
	OP_REPLY, /* committed, waits for control 5.2, 5.3 */
};

struct cond { /* what an answer waits for */
	nfs4r_server_id log;
	nfs4r_lsn lsn;
	uint64_t view; /* and until every member shows a view with at least this number (log 5.6); 0: any. Not in the row */
	bool quorum; /* and until it is held (log 5.1). Not in the row */
	uint32_t ndirs, nfiles;
	struct nfs4r_oid dirs[2], files[3];
};

struct reqkey {
	uint64_t origin, inc, seq;
};

struct opx { /* an operation while the core has it */
	struct nfs4r_op *op;
	bool remote, mover, hashed, executed_ok;
	bool unanswered; /* a late copy of a request: it ends without an answer */
	enum locks_asker who; /* of a lock operation that begins here */
	bool blind; /* its result may be in entries that this copy has skipped (log 8.5) */
	nfs4r_server_id from;
	enum op_state state;
	uint64_t since, deadline, not_before, blocked_at, done_at;
	uint32_t epoch; /* loss epoch when it began (log 5.3) */
	uint32_t attempts;
	nfs4r_servers excluded;
	nfs4r_server_id to;
	uint64_t sent_ms, forwarded_ms;
	uint32_t nholds, npins;
	struct claim *relies_on[CLAIMS_RELIED_ON_MAX], *pins[CLAIMS_RELIED_ON_MAX];
	struct needs needs;
	struct pend *pend;
	uint64_t exec_step;
	bool exec_durable;
	struct cond cond;
	struct reqkey key;
	UT_hash_handle hh; /* by identity */
	struct opx *prev, *next; /* waiting, busy or reply list */
	struct opx *out_prev, *out_next; /* own requests that got an identity, ascending */
};

struct reply { /* result of an executed forwarded request (log 5.6) */
	struct reqkey key;
	struct cond cond;
	uint32_t type;
	struct nfs4r_oid result;
	nfs4r_version dv[4];
	UT_hash_handle hh;
	struct reply *prev, *next; /* of the origin, in order of arrival */
};

struct refusal { /* an answer that made no entry; kept in memory only */
	struct reqkey key;
	enum nfs4r_status status;
	struct nfs4r_oid result;
	uint32_t type;
	UT_hash_handle hh;
	struct refusal *prev, *next; /* of the origin */
};

struct origin {
	uint64_t inc, answered_below;
	struct reply *replies;
	struct refusal *refusals;
	uint32_t nreplies, nrefusals;
};

struct monotonic_read { /* monotonic_reads.c: a version that an owner told, and that is not here yet */
	struct nfs4r_oid oid;
	nfs4r_server_id by;
	uint64_t inc; /* its start; 0: it was told before this one's */
	nfs4r_version version;
	bool unsaved;
	UT_hash_handle hh;
};

struct peer_space { /* what a server said last; this one's own is what it measured last */
	bool known, limits_known;
	struct nfs4r_space space;
	struct nfs4r_limits limits;
	struct nfs4r_remarks remarks;
	nfs4r_lsn at; /* own entries up to here are in it */
};

struct spent { /* what own entries up to this one may take, since the first one that was counted */
	nfs4r_lsn lsn;
	uint64_t bytes, inodes, store;
};

struct space {
	struct peer_space of[NFS4R_SERVERS_MAX + 1];
	nfs4r_lsn measured_at[NFS4R_SERVERS_MAX + 1]; /* how far this server had each log before it measured */
	struct spent before, *spent; /* ascending; what was forgotten is in `before` */
	uint32_t nspent, cap;
	nfs4r_lsn freed; /* the newest own entry that may make room */
};

struct ops_state { /* c->ops */
	struct monotonic_read *monotonic; /* in order of arrival */
	struct space space;
	/* admission.c, execute.c, forward.c */
	struct opx *waiting, *busy, *answering, *outstanding;
	struct opx *by_id;
	uint64_t op_seq;
	uint32_t nops;
	struct opx *mover; /* the one cross-directory move of a directory that may be under way (control 3.6) */
	/* reply_cache.c */
	struct reply *replies;
	struct refusal *refusals;
	struct origin origins[NFS4R_SERVERS_MAX + 1];
};

#endif
