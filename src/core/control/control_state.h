/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The state of control/, which the rooms above it read. */
#ifndef NFS4R_CORE_CONTROL_CONTROL_STATE_H
#define NFS4R_CORE_CONTROL_CONTROL_STATE_H

#include "core/state/limits.h"

struct ctl { /* one control */
	struct nfs4r_oid oid;
	uint32_t depth;
	struct claim *claim;
	struct ctl *prev, *next; /* the others of this object */
	struct anc *in; /* counted: its parent directory in the ancestry table */
	struct ctl *in_prev, *in_next; /* the others of its owner in that directory */
};

struct ctlobj { /* explicit controls of one object */
	struct nfs4r_oid oid;
	struct ctl *list;
	UT_hash_handle hh;
};

struct claim {
	struct pidkey key;
	uint32_t kind;
	bool won;
	bool in_table; /* its controls count; false for own released ones */
	struct nfs4r_prio prio;
	nfs4r_lsn lsn; /* created, moved: of their entry */
	bool announced; /* no update is complete by it any more, and copies that have its owner's log up to good_at may be read (control 7.10) */
	nfs4r_lsn good_at; /* of others; announced */
	uint64_t good_inc; /* by which start of the owner */
	struct own *own; /* NULL for the claims of others */
	UT_hash_handle hh;
	/* of recovery/ */
	bool listed; /* control_transfer.c: in the list that is being put in */
	/* of control/ */
	uint32_t n;
	struct ctl ctl[];
};

/*
 * The life of an own claim. control_own_move() is the only way from one state to another, and knows which there are:
 *
 *   proposed                                                  with an entry
 *      |                                                            |
 *      v                                                            v          done under it
 *   PROPOSING --- a majority ---> ELECTED --- barrier passed ---> WON <------------------------ REOPENED <---+
 *      |                           |   |                          | |                             | |        |
 *      |                      stop |   |           revoked, held  | |              revoked, held  | |        |
 *      |                           v   |                          v |          done under it      v |        |
 *      |               ELECTED_REVOKED --- barrier passed ---> REVOKED <------------ REOPENED_REVOKED        |
 *      |                         |     |                          | |                             | |        |
 *      |                         |     |                          +-+---------- not held ---------+-+        |
 *      | aborted         aborted |     | aborted                               |                             |
 *      v                         v     v                                       v       closing taken back    |
 *   RELEASED <---------------------------- all have its entries stably --- CLOSING --------------------------+
 *
 * When the own log ends (log 8.3), WON, REOPENED and CLOSING are released at once. A restart begins with PROPOSING, WON or RELEASED
 * (enum own_row). What others have asked for, when it is to end, and what is to be announced are independent of that, and states of their own.
 */
enum own_state {
	OWN_PROPOSING = 1, /* may still yield to others */
	OWN_ELECTED, /* had a majority, so it yields no more; what those who acked had applied is not here yet (control 4.5) */
	OWN_ELECTED_REVOKED, /* the same; closes when it is won and control 5.5 allows */
	OWN_WON, /* takes operations */
	OWN_REOPENED, /* the same; its closing was taken back, and nothing has been done under it since */
	OWN_REVOKED, /* takes no new ones, and closes when those that hold it have executed (control 5.5) */
	OWN_REOPENED_REVOKED, /* both */
	OWN_CLOSING,
	OWN_RELEASED, /* until all have confirmed it */
};

enum own_row {
	OWN_ROW_PROPOSING = 1,
	OWN_ROW_WON = 2,
	OWN_ROW_RELEASED = 3
}; /* on disk; 0: another server's */

/*
 * What others have asked of it by REVOKE; own_ask() in release.c.
 *
 *   UNASKED --- while it closes ---> AWAITED --- a deep one ---> FORCED <-- used within its turn ---  TURN_OVER
 *      |                                                          ^  |                                    ^
 *      +------------------- while it is won ----------------------+  +----- asked for all the time -------+
 */
enum own_demand {
	OWN_UNASKED = 1,
	OWN_AWAITED, /* its closing is not taken back */
	OWN_FORCED, /* its release is for others: hold-off (control 7.6) */
	OWN_TURN_OVER, /* the same, and its owner's turn is over (control 7.5) */
};

/*
 * What makes it close when it is won; own_end() in release.c.
 *
 *   IDLE <---> SET         others, or the policy
 *     ^         ^
 *     |         | revoked, or postponed
 *     v         |
 *   READERS ----+
 */
enum own_end {
	OWN_END_IDLE = 1, /* the timer of what is not used */
	OWN_END_SET, /* the time close_at */
	OWN_END_READERS, /* the same, because others read: use puts it off (control 7.11) */
};

/* CLOSING is to be sent: NOTHING -> FILE or DIRS when it starts closing, and back; own_say() in downgrade.c. */
enum own_say {
	OWN_SAY_NOTHING = 1,
	OWN_SAY_FILE,
	OWN_SAY_DIRS
};

enum own_purpose { /* never changes, but that FOR_POLICY may turn out to be FOR_PROMOTION, control_claim_promotes() */
	OWN_FOR_OPERATION = 1,
	OWN_FOR_OPERATION_DEEP, /* deep where shallow would have done (control 4.1) */
	OWN_FOR_POLICY, /* a side claim: no operation waits for it, it yields to all, and is won only when all acked */
	OWN_FOR_PROMOTION, /* the same, for a directory below which elections were paid (control 7.4) */
};

struct own { /* what only the owner knows of a claim */
	struct claim *claim;
	enum own_state state;
	enum own_demand demand;
	enum own_end end;
	enum own_say say;
	enum own_purpose purpose;
	nfs4r_servers acks, nacked, confirmed;
	nfs4r_servers release_to; /* members when it was released: later ones hear of it by a list (log 8.4) */
	nfs4r_lsn need[NFS4R_SERVERS_MAX + 1];
	bool born_acked_by_all; /* moved: what covered the object then was acked by all. A fact about its birth, whatever its state is */
	uint32_t users; /* operations that count on it and have not executed (control 5.5) */
	uint32_t pins; /* operations executing under it */
	nfs4r_lsn last, in;
	bool kept; /* it would have been released, but for the gap that it is in */
	nfs4r_lsn said; /* announced with this `last`; 0: before the start */
	uint32_t depth; /* of the deepest of its controls */
	uint64_t won_step;
	uint64_t used_ms, asked_ms, ask_next, deadline, close_at, sent_ms;
	uint64_t begun_ms, closing_ms; /* for the latency histograms */
	struct nfs4r_prio revoked_by;
	uint64_t revokes_from_ms, revokes_last_ms; /* they have been coming all the time since, the last one then (control 7.5) */
	uint32_t revokes; /* in that time */
	struct own *ask_prev, *ask_next_own; /* proposing, or not acked by all */
	struct own *end_prev, *end_next; /* its end is not IDLE: close_at is set */
	struct own *say_prev, *say_next; /* downgrade.c: closing, to be announced */
	struct heap_item open; /* its seq may still be proposed, or is released and not confirmed (control 4.8) */
	struct own *prev, *next; /* one of: idle (won), closing, released */
	/* of policy/ */
	struct policy *pol; /* escalate.c: what is used below a deep claim; NULL until needed */
	uint64_t below_ms; /* last update of a file that it would cover (control 7.11) */
	uint64_t read_ms; /* when others read by it last; 0: never (control 7.11) */
};

#define OWN_IN(ow, states) (1u << (ow)->state & (states))
#define OWN_CANDIDATES (1u << OWN_PROPOSING | 1u << OWN_ELECTED | 1u << OWN_ELECTED_REVOKED)
#define OWN_CLOSABLE (1u << OWN_WON | 1u << OWN_REOPENED | 1u << OWN_REVOKED | 1u << OWN_REOPENED_REVOKED)

/* Not won yet. */
static inline bool own_is_candidate(const struct own *ow)
{
	return OWN_IN(ow, OWN_CANDIDATES);
}

/* Won, and not released. */
static inline bool own_is_acting(const struct own *ow)
{
	return OWN_IN(ow, OWN_CLOSABLE | 1u << OWN_CLOSING);
}

/* Won, and neither closing nor released. */
static inline bool own_may_close(const struct own *ow)
{
	return OWN_IN(ow, OWN_CLOSABLE);
}

/* Operations may count on it, now or when it is won. */
static inline bool own_takes_operations(const struct own *ow)
{
	return OWN_IN(ow, 1u << OWN_PROPOSING | 1u << OWN_ELECTED | 1u << OWN_WON | 1u << OWN_REOPENED);
}

static inline bool own_is_revoked(const struct own *ow)
{
	return OWN_IN(ow, 1u << OWN_ELECTED_REVOKED | 1u << OWN_REVOKED | 1u << OWN_REOPENED_REVOKED);
}

static inline bool own_is_forced(const struct own *ow)
{
	return ow->demand >= OWN_FORCED;
}

static inline bool own_is_side(const struct own *ow)
{
	return ow->purpose >= OWN_FOR_POLICY;
}

static inline bool own_is_deep(const struct own *ow) /* or deep+ */
{
	return ow->depth >= NFS4R_DEEP;
}

static inline bool own_is_deep_plus(const struct own *ow)
{
	return ow->depth == NFS4R_DEEP_PLUS;
}

struct anc { /* ancestry table: controls strictly below a directory, per owner (section 8) */
	struct nfs4r_oid oid;
	uint32_t count[NFS4R_SERVERS_MAX + 1];
	struct ctl *here[NFS4R_SERVERS_MAX + 1]; /* those whose objects are right in it */
	struct anc *up, *down, *prev, *next; /* parent directory; first child; the other children of `up` */
	UT_hash_handle hh;
};

struct deferred_closing { /* CLOSING of a claim that is not here yet */
	struct pidkey key;
	nfs4r_lsn last;
	uint64_t inc; /* of its owner */
	UT_hash_handle hh;
};

struct dead {
	struct pidkey key;
	struct heap_item order; /* of the same server, by seq */
	UT_hash_handle hh;
};

struct oidmark { /* object -> number; hold-off, opens */
	struct nfs4r_oid oid;
	uint64_t value;
	UT_hash_handle hh;
};

struct need {
	struct nfs4r_oid oid;
	uint32_t depth; /* at least; SHALLOW is enough for most */
	bool explicit_only;
};

/*
 * What control asks the policy, and tells it. Any answer is safe; it only decides who waits, and for how long. policy/table.c fills the table in.
 */
struct policy_ops {
	/* How others' proposals and own ones went. */
	void (*others)(struct nfs4r_core *c, const struct nfs4r_oid *oid); /* somebody else asks for it */
	void (*acked)(struct nfs4r_core *c, nfs4r_server_id from, const struct own *ow);
	void (*won)(struct nfs4r_core *c, struct own *ow);
	void (*lost)(struct nfs4r_core *c, struct own *ow);
	/* Others want what is controlled here. */
	void (*revoked)(struct nfs4r_core *c, struct own *ow, const struct nfs4r_oid *wanted, bool below);
	void (*wants)(struct nfs4r_core *c, struct own *ow, const struct nfs4r_oid *wanted); /* the same, when it closes already */
	const struct nfs4r_oid *(*wanted)(const struct own *ow); /* what of it somebody wants; NULL: all */
	/* Its time is over. False: it is narrowed first, or goes on; it is looked at again at *again. */
	bool (*may_close)(struct nfs4r_core *c, struct own *ow, uint64_t *again);
	/* Readers (control 7.11). */
	bool (*is_read)(struct nfs4r_core *c, const struct own *ow);
	bool (*yield_over)(struct nfs4r_core *c, struct own *ow); /* false: it is in use, and has another end */
	void (*regret)(struct nfs4r_core *c, const struct nfs4r_oid *oid); /* it is needed again soon after it began to close */
	void (*opened)(struct nfs4r_core *c, const struct nfs4r_oid *file, bool open); /* by its first writer here; closed by the last */
};

struct control_port { /* what control tells the rooms above it; filled in by the door */
	void (*claim_gone)(struct nfs4r_core *c, struct claim *cl); /* an own claim is about to be aborted: nothing may count on it any more */
	void (*closes)(struct nfs4r_core *c, struct claim *cl); /* an own claim has begun to close: what has to come before its `last` is written now */
	bool (*keeps)(const struct nfs4r_core *c, const struct claim *cl); /* it is not released yet, whoever has its entries */
	bool (*is_awaited)(struct nfs4r_core *c, const struct claim *cl); /* there is a queue under it, which should not be sent around: it does not close for want of use (control 7.1) */
	void (*released)(struct nfs4r_core *c, struct claim *cl); /* an own claim is out of the table */
	bool (*in_gap)(struct nfs4r_core *c, const struct claim *cl); /* another's claim is acked: is anything in a gap of what it controls, or below it? */
	void (*gap_named)(struct nfs4r_core *c, struct claim *cl, nfs4r_server_id from); /* an ACK of an own claim says so */
	void (*won)(struct nfs4r_core *c, struct claim *cl); /* an own claim has been won in this step */
};

struct walk {
	struct nfs4r_oid oid;
	uint32_t level; /* 0: the object itself */
};

struct own_list {
	struct own **v;
	uint32_t n, cap;
};

struct anc_change { /* what one entry does to the counts */
	bool moves;
	bool anew; /* it takes something out of a ring: all is counted again */
	struct nfs4r_oid oid;
	uint32_t w[NFS4R_SERVERS_MAX + 1];
};

#define MARKS_MAX 4096 /* of a table of times */

struct control_state { /* c->control */
	/* table.c */
	struct claim *claims;
	struct ctlobj *objs;
	uint32_t foreign_deep, foreign_deep_plus, own_deep_plus, nclaims;
	uint32_t nclaims_of[NFS4R_SERVERS_MAX + 1];
	uint64_t next_seq, seq_reserved;
	/* ancestry.c */
	struct anc *anc;
	bool unborn; /* since the table was counted: there is control of what is not here yet */
	/* election.c, release.c */
	struct own *asking, *idle, *idle_deep, *closing, *released; /* idle: won; in order of use; deep ones have a timer of their own */
	struct own *ending; /* those of the idle ones whose end is not IDLE */
	struct own *to_say; /* downgrade.c: directories first, then in the order in which they began to close */
	uint64_t announced_ms; /* when some were last */
	struct deferred_closing *said; /* the same file; in order of arrival */
	struct deferred_proposal *deferred; /* deferred.c: in order of arrival */
	uint32_t nearly;
	struct minheap open; /* the first gives the own floor */
	uint64_t release_at; /* next repetition */
	nfs4r_lsn last_move, asked_stable;
	nfs4r_lsn wanted_until; /* the newest `last` of a closing claim that somebody wants */
	bool wanted_moved;
	nfs4r_lsn ancestors_changed; /* newest own entry in the tree that changed ancestors; older ones may not be there yet */
	struct dead *dead;
	struct minheap deads[NFS4R_SERVERS_MAX + 1];
	uint64_t floor[NFS4R_SERVERS_MAX + 1];
	struct oidmark *opens;
	/* backoff.c */
	struct oidmark *holdoff, *clearing;
};

#endif
