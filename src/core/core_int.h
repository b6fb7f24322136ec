/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the files of the core share. Each group of members of struct nfs4r_core is
 * written by the one file named above it; the others read it or call that file.
 *
 * A step runs in this order (core.c): the event's handler; then settle_down(), which repeats
 * "try waiting entries, try waiting operations, try answers, try releases" until nothing moves;
 * then positions and entries that have to go out. Handlers therefore only note what changed
 * (c->dirty) and never call one another in circles.
 */
#ifndef NFS4R_CORE_INT_H
#define NFS4R_CORE_INT_H

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#define uthash_fatal(msg) assert(!"out of memory")
#include <uthash.h>
#include <utlist.h>

#include "core/core.h"
#include "core/fault.h"

#ifdef NFS4R_FAULTS
#define FAULT(n) (c->cfg.fault == (n))
#else
#define FAULT(n) (0)
#endif

/* Named limits; what happens there is said in brackets. */
#define OPS_MAX 65536		  /* operations in the core [DELAY, or dropped when forwarded: the origin repeats] */
#define CLAIMS_MAX (1u << 20)	  /* claims in the table [PROPOSE not acked] */
#define PENDING_MAX 8192	  /* entries of one log received and not applied [dropped, pulled later] */
#define HOLDS_MAX 8		  /* claims one operation counts on [the rest is not held] */
#define USES 8			  /* directories used below a deep claim that are remembered [the oldest goes] */
#define HOLDOFF_MAX 4096	  /* objects under hold-off [no hold-off] */
#define WRITTEN_MAX (1u << 20)	  /* files with entries not applied by all [CLOSE waits for applied by all] */
#define REPLIES_MAX (1u << 20)	  /* results kept for repeated requests [oldest of the origin goes] */
#define REFUSALS_MAX (1u << 16)	  /* refused requests of one origin kept [oldest goes] */
#define DEADS_MAX (1u << 16)	  /* tombstones of one peer [RELEASE not confirmed] */
#define ATTEMPTS_CAP 16		  /* control 4.2 */
#define ACTS_KEPT 1024		  /* actions whose memory is kept for the next step */
#define SEQ_BLOCK 1024		  /* seqs reserved at once */
#define PULL_ENTRIES 1024	  /* entries sent for one PULL of a log that is not ours */
#define BLOCKERS_SEEN 8	  /* controls of one owner below a directory looked at for a NACK [the others are not in its hint] */
#define NACK_REPEAT_DIV 8	  /* a nacked PROPOSE is repeated after repeat_ms / this; one that came before its object is kept as long */
#define EARLY_MAX 64		  /* proposals kept [others are refused and come again] */
#define CAUGHT_UP_ENTRIES 1024	  /* a server outside the view that is no farther behind the end of any log may become a member */
#define STUCK_EVERY_MS 60000
#define SAID_MAX 4096		  /* CLOSING of claims that are not here yet [the oldest goes: its reader asks] */
#define TOLD_MAX 65536		  /* objects that owners told to be newer than the own copy [the oldest note goes: the copy is read] */
#define STARTS_KEPT 16		  /* of this server, in its memory [a peer's word about an older one is believed] */

struct own;
struct anc;
struct opx;
struct pend;
struct heat;
struct policy;

struct heap_item { /* in an item of a heap (heap.c) */
	uint64_t key;
	uint32_t at; /* place + 1; 0: in no heap */
};

struct minheap {
	struct heap_item **v;
	uint32_t n, cap;
};

/* ---- control table (table.c) ---------------------------------------- */

struct pidkey { /* no padding: hashed as bytes */
	uint64_t server, seq;
};

struct ctl { /* one control */
	struct nfs4r_oid oid;
	uint32_t depth;
	struct claim *claim;
	struct ctl *prev, *next; /* the others of this object */
	struct anc *in;		 /* counted: its parent directory in the ancestry table */
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
	bool listed;   /* control_transfer.c: in the list that is being put in */
	struct nfs4r_prio prio;
	nfs4r_lsn lsn; /* created, moved: of their entry */
	bool announced;	   /* no update is complete by it any more, and copies that have its owner's log up to good_at may be read (7.10) */
	nfs4r_lsn good_at; /* of others; announced */
	uint64_t good_inc; /* by which start of the owner */
	struct own *own; /* NULL for the claims of others */
	UT_hash_handle hh;
	uint32_t n;
	struct ctl ctl[];
};

enum own_state { OWN_PROPOSING = 1, OWN_WON = 2, OWN_RELEASED = 3 };

struct own { /* what only the owner knows of a claim */
	struct claim *claim;
	enum own_state state;
	nfs4r_servers acks, nacked, confirmed;
	nfs4r_servers release_to; /* members when it was released: later ones hear of it by a list (log 8.4) */
	nfs4r_lsn need[NFS4R_SERVERS_MAX + 1];
	bool majority;
	bool closing;
	bool revoked;	   /* closes as soon as 5.5 allows */
	bool forced;	   /* released for others: hold-off (7.6) */
	bool wanted;	   /* a revoke came while it was closing */
	bool reopened;	   /* its closing was taken back, and nothing has been done under it since */
	bool turned;	   /* its owner's turn is over (7.5) */
	bool yields;	   /* close_at is because of readers: use puts it off (7.11) */
	bool settled_born; /* moved: what covered the object then was acked by all */
	uint32_t holds;	   /* operations that count on it and have not executed (5.5) */
	uint32_t pins;	   /* operations executing under it */
	nfs4r_lsn last, in;
	nfs4r_lsn said;	   /* announced with this `last`; 0: before the start */
	bool deep, plus;   /* one of its controls is deep or deep+; deep+ */
	bool side;	   /* asked for by the policy: no operation waits for it, it yields to all, and is won only when all acked */
	bool promotion;	   /* side, for a directory below which elections were paid (7.4) */
	bool optional;	   /* deep where shallow would have done (4.1) */
	struct policy *pol; /* escalate.c: what is used below a deep claim; NULL until needed */
	uint64_t won_step;
	uint64_t used_ms, asked_ms, ask_next, deadline, close_at, sent_ms;
	uint64_t below_ms; /* last update of a file that it would cover (7.11) */
	uint64_t read_ms;  /* when others read by it last; 0: never (7.11) */
	uint64_t begun_ms, closing_ms; /* for the latency histograms */
	struct nfs4r_prio revoked_by;
	uint64_t revokes_from_ms, revokes_last_ms; /* they have been coming all the time since, the last one then (7.5) */
	uint32_t revokes;			   /* in that time */
	struct own *ask_prev, *ask_next_own; /* proposing, or not acked by all */
	struct own *end_prev, *end_next;     /* close_at is set */
	struct own *say_prev, *say_next;     /* downgrade.c: closing, to be announced */
	bool to_say, dirs_to_say;
	struct heap_item open;		     /* its seq may still be proposed, or is released and not confirmed (4.8) */
	struct own *prev, *next;	     /* one of: idle (won), closing, released */
};

struct anc { /* ancestry table: controls strictly below a directory, per owner (section 8) */
	struct nfs4r_oid oid;
	uint32_t count[NFS4R_SERVERS_MAX + 1];
	struct ctl *here[NFS4R_SERVERS_MAX + 1]; /* those whose objects are right in it */
	struct anc *up, *down, *prev, *next;	 /* parent directory; first child; the other children of `up` */
	UT_hash_handle hh;
};

struct said { /* CLOSING of a claim that is not here yet */
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

struct writer { /* a file that is open for writing, and the directory in which it was when that began */
	struct nfs4r_oid file, dir;
	UT_hash_handle hh;
};

struct oidmark { /* object -> number; hold-off, opens */
	struct nfs4r_oid oid;
	uint64_t value;
	UT_hash_handle hh;
};

/* ---- needs and operations --------------------------------------------- */

struct need {
	struct nfs4r_oid oid;
	uint32_t depth; /* at least; SHALLOW is enough for most */
	bool explicit_only;
};

struct needs { /* section 3, on this server's tree at this moment */
	enum nfs4r_status early;  /* not OK: the operation ends with this */
	bool nothing;		  /* ends with OK and no entry */
	bool after_cover;	  /* `early` is only true under control of everything needed */
	struct nfs4r_oid judged;  /* directory whose state `early` was read from */
	uint32_t nargs, n;
	struct nfs4r_oid args[2];
	struct need v[4];
	bool has_obj, has_target, dirmove;
	struct nfs4r_oid obj, target; /* o and t of the sheet */
	uint32_t obj_type, target_type;
};

enum op_state {
	OP_WAIT = 1,	 /* for control, for an object to arrive, for its turn */
	OP_FORWARDED,	 /* sent to its primary */
	OP_CATCHUP,	 /* answered; waits until this server has applied its entry */
	OP_LOCKING,	 /* EXECUTE given */
	OP_STARTED,	 /* has its entry */
	OP_EXECUTED,	 /* executed, an older entry of the same object is not */
	OP_REPLY,	 /* committed, waits for 5.2, 5.3 */
};

struct cond { /* what an answer waits for */
	nfs4r_server_id log;
	nfs4r_lsn lsn;
	uint64_t view; /* and until every member shows a view with at least this number (log 5.6); 0: any. Not in the row */
	bool held;     /* and until it is held (log 5.1). Not in the row */
	uint32_t ndirs, nfiles;
	struct nfs4r_oid dirs[2], files[3];
};

struct reqkey {
	uint64_t origin, inc, seq;
};

struct opx { /* an operation while the core has it */
	struct nfs4r_op *op;
	bool remote, mover, hashed, executed_ok;
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
	struct claim *holds[HOLDS_MAX], *pins[HOLDS_MAX];
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

/* ---- logs ------------------------------------------------------------- */

enum pend_state { PEND_QUEUED = 1, PEND_BUSY, PEND_EXECUTED, PEND_DONE };

struct pref { /* place of an entry in the queue of one object */
	struct pend *pend;
	struct objq *q;
	struct pref *prev, *next;
};

struct objq { /* entries on their way to one object, a FIFO for each log (log 3.8) */
	struct nfs4r_oid oid;
	struct pref *fifo[NFS4R_SERVERS_MAX + 1];
	struct pref *beyond; /* committed, and not in the contiguous prefix of their log yet */
	UT_hash_handle hh;
};

struct pend { /* entry between received/started and committed */
	struct nfs4r_entry *entry;
	struct opx *opx; /* own entry being executed; NULL for applied ones */
	enum pend_state state;
	bool woken;
	bool settled_born;
	bool intent; /* own, begun before a crash; the caller says whether it was executed */
	bool made;   /* own, by fuzzy.c: nothing to be executed */
	uint64_t failed_ms, again_ms; /* withdraw.c: since when it cannot be applied, 0: nothing is known of that; not tried before */
	uint32_t cause, tries;	      /* why; how often it failed */
	bool aside;		      /* superseded.c: what it makes, or moves, is to be put aside */
	const struct nfs4r_entry *by[NFS4R_PARTS_MAX]; /* parts that are passed over, and what undoes them */
	uint32_t mask;
	struct pref pref[NFS4R_PARTS_MAX];
	struct pend *prev, *next;   /* of the log, ascending */
	struct pend *rprev, *rnext; /* to be tried */
};

struct logst {
	nfs4r_lsn base; /* first entry still readable */
	nfs4r_lsn received, applied, stable; /* own log: last given out, contiguous done, stable */
	nfs4r_lsn highest;   /* newest committed entry; what lies between `applied` and it is not all there */
	nfs4r_lsn end;	     /* highest anybody spoke of */
	nfs4r_lsn truncated; /* TRUNCATE given up to here */
	nfs4r_lsn want;	     /* its owner waits for our `stable` up to here */
	nfs4r_lsn hurry;     /* and up to here with an answer to somebody (log 5.1) */
	nfs4r_lsn waits;     /* apply.c: oldest entry that waits for one of another log; 0: none */
	nfs4r_lsn good_at;   /* the newest that a claim of its owner was announced with (7.10) */
	uint64_t received_bytes;
	uint64_t pull_at;    /* next PULL allowed */
	nfs4r_lsn pull_from;
	nfs4r_server_id pull_to; /* who was asked; 0: nobody yet */
	uint32_t npend;
	bool moved;	     /* tell the owner */
	struct pend *pend;
};

struct pulled { /* what a server was last asked for of a log; until 0: nothing */
	nfs4r_lsn from, until;
};

struct start { /* of a store (log 2.1): its counter below the generation of the server's log, and a random number */
	uint64_t inc, random;
	uint64_t pos; /* in its journal: an own one's begin; the highest that a peer told in its own */
};

struct peer {
	bool up, down, told; /* told: positions came since start or PEER_UP */
	uint64_t down_at;    /* when it went down */
	uint64_t inc;
	nfs4r_lsn sent;	     /* of our log */
	nfs4r_lsn received[NFS4R_SERVERS_MAX + 1], applied[NFS4R_SERVERS_MAX + 1], stable[NFS4R_SERVERS_MAX + 1];
	nfs4r_lsn first_told[NFS4R_SERVERS_MAX + 1]; /* applied, when this incarnation told first; 4.7 */
	nfs4r_lsn base[NFS4R_SERVERS_MAX + 1]; /* the first entry of each log that it can give */
	uint64_t slow_ms; /* retention.c: since when entries are kept for it beyond the bound; 0: they are not */
	nfs4r_lsn end;	     /* of its log */
	uint64_t rtt_ms;     /* of elections, smoothed; 0: not known */
	uint64_t clock_ns;   /* last it told, to be echoed */
	uint64_t told_ns;    /* highest it told, this incarnation */
	uint64_t learner_ns; /* its clock when it said as a learner that it forgot; 0: not yet */
	uint64_t less_ms;    /* since when it says that it received less than it had said; 0: it does not */
	/* view.c */
	bool beats, caught_up, joining; /* a heartbeat came since start; as it said: outside and near the end, member and not ready */
	bool repairing;			/* as it said: its copy is ahead of a seal */
	bool met;			/* a heartbeat came since PEER_UP: what it said before may be of a store that it lost */
	uint64_t back_ms;		/* it was removed though it was heard, perhaps to be taken out: not added again before */
	uint64_t outside_ms;		/* since when it is no member, as far as this start knows; 0: it is one */
	uint64_t heard_ms, unready_ms;	/* last heartbeat; since when it is a member that is not ready */
	bool complete;			/* this incarnation said, in a view that both are in, that it has all rows */
	uint64_t reconf_epoch, reconf_ms; /* force_reconfig.c: the word that it said last, 0: none; since when */
	nfs4r_servers reconf_set;
	uint64_t view, promised;	/* as it said */
	uint64_t view_digest, accepted, accepted_digest; /* as it said (6.14) */
	uint64_t complained_ms;		/* when the log last said that it sent what it may not; 0: never */
	uint64_t settled;		/* newest view that it said to be on its disk, and to have settled in (9.1) */
	nfs4r_servers hears;
	uint64_t lease_until;		/* ours to it: not before this a view without it */
	struct start granted;		/* which of its starts that was for */
	bool left;			/* its newest start has given its lease back (6.11) */
	uint32_t trouble;		/* as it said: why it cannot apply an entry (6.12), or has halted (4.15); 0: neither */
	bool halted, halted_files;	/* it has; for what its exported directory's file system did */
	uint64_t granted_t;		/* its to us: our clock in the newest heartbeat that it granted */
	/* amnesia.c */
	bool judged;			/* its word about this server was heard since the start */
	enum nfs4r_memory memory;	/* of this incarnation, as it said last; 0: it said nothing yet */
	struct start start, knows;	/* as it said; the newest in which it remembered (row 'I') */
	uint64_t knows_ms, knows_put;	/* when that row was put last, and with which position */
	uint64_t counted_ms;		/* last heartbeat of a server that remembers, or the view that added it */
	nfs4r_servers claims;		/* servers outside of which it knows claims */
	uint64_t joined_below;		/* control_transfer.c: its claims with a lower seq that are not in the table are dead */
};

struct vote { /* a PREPARE that waits for leases to end; from = 0: none */
	nfs4r_server_id from;
	uint64_t num;
	nfs4r_servers remove, add, seal;
};

struct accepting { /* an ACCEPT that waits for logs up to their seals (6.5); from = 0: none */
	nfs4r_server_id from;
	struct nfs4r_view view;
};

struct proposal { /* of this server; num = 0: none */
	uint64_t num;
	uint64_t on; /* the view adopted when it was made: what is added was checked against that */
	nfs4r_servers voters; /* of that view */
	nfs4r_servers remove, add, seal, promises, complete, accepted;
	nfs4r_server_id in, out; /* a server that becomes one of the volume, one that is taken out (9.1); 0: none */
	struct nfs4r_view base, view;
	nfs4r_lsn top[NFS4R_SERVERS_MAX + 1]; /* highest applied among the promises */
	bool accepting;
	bool reconf; /* of the survivors `voters`: all of them promise and accept (9.3) */
	nfs4r_lsn has[NFS4R_SERVERS_MAX + 1][NFS4R_SERVERS_MAX + 1]; /* then: applied of each log, by promise */
	uint64_t decide_ms; /* enough have promised; the rest may until then */
	uint64_t until_ms;
};

#define BOOKS_KEPT 4

struct book_rows { /* rows 'B': the addresses of the view with that number */
	uint64_t view; /* 0: this place is free */
	uint32_t n;
	struct nfs4r_address v[NFS4R_SERVERS_MAX];
};

struct change { /* reconfig.c: what an administrator asked for; in memory until it is done or refused */
	nfs4r_server_id add, remove; /* 0: nothing */
	bool give_up;
	uint32_t nall;
	struct nfs4r_address all[NFS4R_SERVERS_MAX];
	char waits[NFS4R_CORE_TEXT];
};

struct believe { /* view_evidence.c */
	struct nfs4r_view told[NFS4R_SERVERS_MAX + 1]; /* the last view that each peer said to be adopted; num 0: none */
	uint64_t told_ms[NFS4R_SERVERS_MAX + 1];       /* since when it says one that is not adopted here */
	uint64_t works_ms; /* when a majority was last heard that goes by the view adopted here */
};

struct view { /* view.c; the first lines are in the row 'V' */
	struct nfs4r_view adopted, accepted;
	uint64_t reconf_epoch; /* force_reconfig.c: an administrator's word; 0: none */
	nfs4r_servers reconf_set;
	uint64_t promised, frozen_num;
	nfs4r_servers frozen; /* no grants to them before a view with at least frozen_num is adopted */
	nfs4r_servers sealing; /* nothing more of these logs is taken before that */
	bool complete;	      /* this member has all rows */
	bool ready;	      /* a member that is complete; or views are off */
	uint64_t lease_until, started_ms, beat_at;
	bool left;	      /* the lease is given back, for good (6.11) */
	uint64_t left_ms;     /* since when */
	struct vote vote, pledge; /* the PREPARE that waits; the one that was promised last in this start, num 0: none */
	nfs4r_servers exact; /* of those being sealed: what is applied was promised; nothing begins */
	uint64_t reconf_ms;  /* since when this start has that word */
	struct accepting accepting;
	struct proposal proposal;
	nfs4r_servers missing;	/* members that did not promise a view that seals: they are removed, too */
	nfs4r_servers given_up; /* by an administrator, and not sealed yet */
	uint64_t retry_ms, wanted_ms, stuck_ms; /* no new proposal before; a change is wanted: propose then; a promise hangs: unstick then */
	uint64_t seen;	      /* highest number heard of */
	bool plain;	      /* next the highest accepted view as it is: it has other voters, and all of them may be needed for it */
	uint64_t settled_at;  /* a HEARTBEAT that says so, or not, is due: one that waits for the disk */
	bool settled_said;
	nfs4r_servers bare;   /* fixed: who has said that it has no secret */
	uint32_t nadopted, naccepted; /* start: addresses in the books of these two, as row 'V' says */
	struct book_rows books[BOOKS_KEPT];
};

struct joiner { /* control_transfer.c: one list of controls, on its way */
	bool made;		 /* by this server; else it is another's, or there is none */
	uint64_t next_seq;	 /* below it every claim of its maker is in the list or dead */
	nfs4r_lsn applied[NFS4R_SERVERS_MAX + 1];
	uint32_t n, cap;
	struct nfs4r_join_row *rows;
};

struct join {
	struct joiner from[NFS4R_SERVERS_MAX + 1], to[NFS4R_SERVERS_MAX + 1];
	nfs4r_servers want, have; /* lists that are being gathered; lists that are whole and not put in */
	nfs4r_servers owed;	  /* members that were not sent the own list since this server was complete; who has not got it may know claims that are gone */
	nfs4r_servers asked;	  /* those of them that are asked what of a removed server's claims they have */
	nfs4r_servers witness[NFS4R_SERVERS_MAX + 1]; /* of each that is outside: members that were complete members with it */
	struct dead *released;	  /* since the first was asked for */
	uint64_t repeat_ms;
};

enum memory_state { /* values in the row */
	MEMORY_NEW = 1,	      /* an empty store, or one that is older than this rule */
	MEMORY_FORGOT = 2,    /* another server remembers a start that is not of this store */
	MEMORY_OUTSIDE = 3,   /* and this one was removed since */
	MEMORY_REPAIRED = 4,  /* and its copy is made anew */
	MEMORY_KNOWN = 5,
};

struct memory { /* amnesia.c; state and starts are in the row 'M' */
	enum memory_state state;
	uint32_t nstarts;
	uint64_t mine_below;		  /* older ones were of this store, or are forgiven */
	struct start starts[STARTS_KEPT]; /* ascending */
	struct start now;
	bool saved; /* that this start is KNOWN is on disk */
};

enum repair_state { REPAIR_NONE = 0, REPAIR_DRAIN, REPAIR_WAIT, REPAIR_RUNS, REPAIR_ASKS };

struct repair { /* state_transfer.c: this copy is ahead of a seal, or has to be made anew */
	enum repair_state state; /* what is under way ends; no source, or not yet again; REPAIR was given; done, how far was the source? */
	bool all;
	bool list; /* of objects that are inexact (fuzzy.c) */
	nfs4r_server_id from, failed;
	bool anew; /* RUNS: the source has started anew since, and may have lost what it said it had */
	uint64_t again_ms;
	uint64_t done_ms; /* ASKS: when the last object came */
	bool told;	  /* ASKS: how far the source was is known, and not on its disk yet */
	nfs4r_lsn lsn[NFS4R_SERVERS_MAX + 1];
};

/*
 * state_transfer.c, row 'C': what was copied from another server may hold entries up to here, whatever the own positions are; and the copy
 * of everything is not done (or not known to be).
 */
struct reach {
	bool open; /* the own positions are not there yet */
	bool all;
	bool anew;	/* the copy was made anew, and is not whole yet: of the logs of others it counts for no more than `before` */
	nfs4r_lsn lsn[NFS4R_SERVERS_MAX + 1];
	nfs4r_lsn before[NFS4R_SERVERS_MAX + 1];
};

enum taint_state { TAINT_DONE = 1, TAINT_OPEN, TAINT_INEXACT };

/* fuzzy.c, row 'X': an object whose bytes may be newer than its version. */
struct taint {
	struct nfs4r_oid oid;
	enum taint_state state; /* exact again, not stable yet; until entries come; for ever, by itself */
	nfs4r_version exact;	/* it was, at this version */
	nfs4r_server_id done_log; /* DONE: by this entry */
	nfs4r_lsn done_lsn;
	nfs4r_lsn until[NFS4R_SERVERS_MAX + 1]; /* entries that have to come, by log; 0: none */
	nfs4r_lsn low[NFS4R_SERVERS_MAX + 1];	/* `stable` of each log is below this; 0: not by this object */
	nfs4r_servers worse; /* INEXACT: those whose copies are inexact, too, and give way to this one */
	bool left;	     /* the source of the last repair has it inexact, too */
	bool passed;	     /* superseded.c: an entry was passed over; not in the row */
	UT_hash_handle hh;
};

struct trouble { /* withdraw.c; the first three are in the row 'Z' */
	uint32_t cause; /* enum nfs4r_status; 0: none */
	nfs4r_server_id log; /* the entry that could not be applied for half a lease */
	nfs4r_lsn lsn;
	uint32_t nfailed; /* entries, pending, that could not be applied when they were tried last */
	bool told;	  /* not from an entry: what is in doubt cannot be written */
	uint32_t npassed; /* objects that are not exact because an entry was passed over */
};

struct mend { /* fuzzy.c: repair of what is inexact */
	uint64_t view; /* what others said in another one does not count */
	uint64_t again_ms, asked[NFS4R_SERVERS_MAX + 1];
	struct nfs4r_oid *oids;
	uint32_t n, cap;
};

struct hold { /* durability.c: somebody waits until an own entry is held */
	uint64_t id;
	nfs4r_lsn lsn;
	struct hold *prev, *next;
};

#define MARKS 64

struct held { /* durability.c */
	nfs4r_lsn asked;  /* answers wait for it: others' checkpoints were asked for up to here */
	nfs4r_lsn wanted; /* and are to be, up to here */
	struct hold *holds;
	nfs4r_lsn top;	  /* what may have been called held so far */
	uint32_t nmarks;
	struct {
		nfs4r_lsn lsn; /* own entries from here on were made at or after */
		uint64_t ms;
	} marks[MARKS];
};

struct told { /* monotonic_reads.c: a version that an owner told, and that is not here yet */
	struct nfs4r_oid oid;
	nfs4r_server_id by;
	uint64_t inc; /* its start; 0: it was told before this one's */
	nfs4r_version version;
	bool unsaved;
	UT_hash_handle hh;
};

struct written { /* last own entry of a file, until it is applied by all (5.3 at CLOSE) */
	struct nfs4r_oid oid;
	nfs4r_lsn lsn;
	UT_hash_handle hh;
	struct written *prev, *next;
};

enum dirty { /* what has to be looked at again before the step ends */
	DIRTY_OPS = 1,	   /* control changed: waiting operations */
	DIRTY_REPLY = 2,   /* acks or positions moved: answers */
	DIRTY_RELEASE = 4, /* stable moved, a pin fell: closing claims */
	DIRTY_OBJECTS = 8, /* an entry was applied: operations that wait for an object */
	DIRTY_OPENS = 16,  /* a deep+ ended: files written under it (3.8) */
	DIRTY_POLICY = 32, /* others read a lot because of a deep control */
};

/* ---- space.c ---------------------------------------------------------- */

struct told_space { /* what a server said last; this one's own is what it measured last */
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
	struct told_space of[NFS4R_SERVERS_MAX + 1];
	nfs4r_lsn measured_at[NFS4R_SERVERS_MAX + 1]; /* how far this server had each log before it measured */
	struct spent before, *spent;		      /* ascending; what was forgotten is in `before` */
	uint32_t nspent, cap;
	nfs4r_lsn freed; /* the newest own entry that may make room */
};

/*
 * What control asks the policy, and tells it. Any answer is safe; it only decides who waits, and for how long. policy/table.c fills the table in.
 */
struct policy_ops {
	/* How others' proposals and own ones went. */
	void (*others)(struct nfs4r_core *c, const struct nfs4r_oid *oid);   /* somebody else asks for it */
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
};

struct membership_port { /* what membership tells the rooms above it; filled in by the door */
	/* A view is adopted, and its row is put. @old: the one before; @removed: members no more; @anew: members that were not in all views since. */
	void (*view_adopted)(struct nfs4r_core *c, const struct nfs4r_view *old, nfs4r_servers removed, nfs4r_servers anew);
	void (*copy_is_worthless)(struct nfs4r_core *c); /* log 9.3: only the copy of those that go on counts */
};

struct nfs4r_core {
	const struct policy_ops *policy;
	struct control_port control_port;
	struct membership_port membership_port;
	struct nfs4r_core_config cfg;
	struct nfs4r_tree tree;
	nfs4r_server_id self;
	nfs4r_servers known; /* whose logs there are: of the servers there were, as far as they left anything */
	uint64_t now, step, durable_step;
	uint64_t recovered_step; /* when the tail of the own log was here (log 4.7); 0: it was never away */
	uint64_t sync_wanted, sync_asked; /* steps: an answer waits until this one is on disk; SYNC was given in that one */
	uint64_t wrote_ms; /* when anything but a position of a peer's journal was put or committed last */
	bool started, halted, recovering, leaving;
	uint32_t undecided; /* intents; nothing is executed or served under own control while there are any */
	uint32_t dirty;
	bool log_moved; /* own entries were committed: send */
	nfs4r_servers assumed; /* completion.c: taken to have acked and applied everything, while a question is asked */
	struct nfs4r_core_stats st;

	/* outbox.c */
	struct nfs4r_action *acts;
	uint32_t nacts, acts_cap;
	struct nfs4r_msg **msgs;
	uint32_t nmsgs, msgs_cap;
	struct nfs4r_update upd;
	uint64_t timer, heartbeat_at;

	struct view view;
	struct believe believe;
	struct change change;
	struct memory memory;
	struct join join;
	struct repair repair;
	struct reach reach;
	struct taint *taints;
	uint32_t ninexact;
	struct mend mend;
	struct trouble trouble;
	struct told *told; /* in order of arrival */
	struct held held;
	struct space space;

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
	struct own *ending;  /* those of the idle ones that have a close_at */
	struct own *to_say;  /* downgrade.c: directories first, then in the order in which they began to close */
	uint64_t announced_ms; /* when some were last */
	struct said *said;   /* the same file; in order of arrival */
	struct early *early; /* deferred.c: in order of arrival */
	uint32_t nearly;
	struct minheap open; /* the first gives the own floor */
	uint64_t release_at; /* next repetition */
	nfs4r_lsn last_move, asked_stable;
	nfs4r_lsn wanted_until; /* the newest `last` of a closing claim that somebody wants */
	bool wanted_moved;
	nfs4r_lsn ancestors_changed; /* newest own entry in the tree that changed ancestors; older ones may not be there yet */
	bool checkpoint_asked, checkpoint_hurried;
	struct dead *dead;
	struct minheap deads[NFS4R_SERVERS_MAX + 1];
	uint64_t floor[NFS4R_SERVERS_MAX + 1];
	struct oidmark *opens;
	/* backoff.c */
	struct oidmark *holdoff, *clearing;
	/* escalate.c */
	struct oidmark *contested;
	struct heat *heat;
	/* reader_yield.c: until when what yielded would have lasted; what does not yield for a while */
	struct oidmark *let_go, *missed, *kept;
	struct oidmark *writing; /* directories, and how many files in them are open for writing here */
	struct writer *writers;  /* those files */
	struct nfs4r_oid touched; /* the file that was updated last, as far as that was noted, and when */
	uint64_t touched_ms;
	/* admission.c, execute.c, forward.c */
	struct opx *waiting, *busy, *answering, *outstanding;
	struct opx *by_id;
	uint64_t op_seq;
	uint32_t nops;
	struct opx *mover; /* the one cross-directory move of a directory that may be under way (3.6) */
	uint64_t stuck_at;
	/* reply_cache.c */
	struct reply *replies;
	struct refusal *refusals;
	struct origin origins[NFS4R_SERVERS_MAX + 1];
	/* replicate.c, apply.c */
	struct logst logs[NFS4R_SERVERS_MAX + 1];
	struct pulled pulled[NFS4R_SERVERS_MAX + 1][NFS4R_SERVERS_MAX + 1]; /* [log][server] */
	struct peer peers[NFS4R_SERVERS_MAX + 1];
	struct objq *objq;
	struct pend *ready;
	struct written *written, *written_list;
	uint32_t nwritten;
	nfs4r_lsn written_before; /* end of the own log at start: up to there any file may have been written */
	nfs4r_lsn beyond[NFS4R_SERVERS_MAX + 1]; /* retention.c: up to here what is kept is beyond the bound */
	nfs4r_servers late; /* logs whose next entry nobody has any more, and since when for long enough */
	uint64_t late_ms;
	uint64_t *cum; /* cum[i]: payload bytes of own entries cum_base..cum_base+i */
	nfs4r_lsn cum_base;
	uint32_t ncum, cum_cap;
	struct nfs4r_put *puts; /* of the commit in progress */
	uint32_t nputs, puts_cap;
};

/* Of the view that counts here, and of one that may count soon. */
static inline nfs4r_servers servers_of(const struct nfs4r_core *c)
{
	return c->view.adopted.servers | c->view.accepted.servers;
}

#define EACH_SERVER(c, s) EACH_OF(servers_of(c), s)
#define EACH_PEER(c, s) EACH_SERVER(c, s) if (s != (c)->self)
/* Logs outlive their servers. */
#define EACH_LOG(c, s) EACH_OF((c)->known, s)
#define EACH_OTHER_LOG(c, s) EACH_LOG(c, s) if (s != (c)->self)
/* Those that "all" is about. */
#define EACH_MEMBER(c, s) EACH_PEER(c, s) if (is_member(c, s))

static inline bool has_peers(const struct nfs4r_core *c)
{
	return servers_of(c) & ~NFS4R_BIT(c->self);
}

static inline bool not_recovered(const struct nfs4r_core *c)
{
	return c->recovering || c->undecided;
}

static inline bool not_ready(const struct nfs4r_core *c)
{
	return not_recovered(c) || !c->view.ready;
}

/* outbox.c: the list of actions, and stable rows */
void *xcalloc(size_t n, size_t size); /* never NULL: without memory no promise can be kept, so it aborts */
void *grow(void *v, uint32_t *cap, uint32_t n, size_t size);
struct nfs4r_action *act(struct nfs4r_core *c, uint32_t type);
struct nfs4r_msg *msg_new(struct nfs4r_core *c, uint32_t type);
void send_to(struct nfs4r_core *c, nfs4r_server_id to, struct nfs4r_msg *m, bool durable);
void timer_at(struct nfs4r_core *c, uint64_t t);
void act_put(struct nfs4r_core *c, const struct nfs4r_put *p);
void commit_put(struct nfs4r_core *c, const struct nfs4r_put *p);
void update_begin(struct nfs4r_core *c);
void stuck(struct nfs4r_core *c, const char *text);
/* What server @from sent is not taken; for the log, "server 2 <text>", once in a while for each server. */
void complain(struct nfs4r_core *c, nfs4r_server_id from, const char *text);
void halt(struct nfs4r_core *c, const char *text);
void servers_text(nfs4r_servers set, char *buf, size_t len); /* "1, 3" */

/* standing.c: what this server is, and which servers count */
bool views_on(const struct nfs4r_core *c);
bool is_member(const struct nfs4r_core *c, nfs4r_server_id s);
bool is_learner(const struct nfs4r_core *c, nfs4r_server_id s);
bool is_taken_out(const struct nfs4r_core *c);
bool views_enough(const struct nfs4r_core *c, nfs4r_servers set);
bool lease_valid(const struct nfs4r_core *c);
bool view_hears(const struct nfs4r_core *c, nfs4r_server_id s);
bool secret_is_used(const struct nfs4r_core *c);   /* the volume needs one */
bool secret_is(const struct nfs4r_view *v);	    /* it has one */
bool secret_settled(const struct nfs4r_core *c);    /* handles may be given out */
bool trouble_is(const struct nfs4r_core *c);
bool can_be_spared(const struct nfs4r_core *c);
bool trouble_withdraws(const struct nfs4r_core *c); /* it asks to be removed, and lets go of everything */
bool lets_go(const struct nfs4r_core *c); /* of everything: before a stop, or to be removed */
bool retention_is_late(const struct nfs4r_core *c); /* some log cannot be gone on with from entries */
nfs4r_servers join_unsure(const struct nfs4r_core *c);
bool reconf_said(const struct nfs4r_core *c);
void view_set_ready(struct nfs4r_core *c);
void view_check_ready(struct nfs4r_core *c); /* and what waited for it goes on */

/* log_ends.c: where logs end */
const struct nfs4r_seal *seal_at(const struct nfs4r_view *v, nfs4r_server_id log, nfs4r_lsn pos); /* of the generation of @pos; NULL: it goes on, or it is forgotten */
nfs4r_servers seal_logs(const struct nfs4r_view *v);
nfs4r_lsn seal_begin(const struct nfs4r_view *v, nfs4r_server_id log); /* position 0 of the newest generation */
bool is_sealed_away(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn); /* an entry that never happened */
bool is_ended(const struct nfs4r_core *c, nfs4r_server_id log); /* it has a seal that this server has not crossed */
bool seals_open(const struct nfs4r_core *c);
nfs4r_lsn gen_end(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn pos);
nfs4r_lsn seal_limit(const struct nfs4r_core *c, nfs4r_server_id log);
bool seal_may_begin(const struct nfs4r_core *c, const struct nfs4r_entry *e);
nfs4r_version next_version(const struct nfs4r_core *c, nfs4r_version before); /* log 2.3 */

/* copy_state.c: how good this copy is */
bool is_ahead(const struct nfs4r_core *c, nfs4r_server_id log);
bool reach_lost(const struct nfs4r_core *c, nfs4r_server_id log);
bool needs_repair(const struct nfs4r_core *c, bool *all); /* @all: of everything */
bool repair_is_whole(const struct nfs4r_core *c);
nfs4r_lsn repair_counts(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn pos);
nfs4r_lsn repair_counts_stable(const struct nfs4r_core *c, nfs4r_server_id log);
bool is_repairing(const struct nfs4r_core *c);
bool self_ended(const struct nfs4r_core *c);
struct taint *taint_find(const struct nfs4r_core *c, const struct nfs4r_oid *oid);
nfs4r_lsn taint_limit(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn stable);
bool taint_allows_more(const struct nfs4r_core *c, nfs4r_server_id log);

/* memory.c: whose words count, because of what stores remember (log 8.6) */
bool memory_known(const struct nfs4r_core *c);
bool memory_counts(const struct nfs4r_core *c, nfs4r_server_id s);
bool memory_votes(const struct nfs4r_core *c);
bool memory_may_send(const struct nfs4r_core *c, nfs4r_server_id s);
bool memory_judged(const struct nfs4r_core *c);
bool memory_whole(const struct nfs4r_core *c);
bool memory_tells_nothing(const struct nfs4r_core *c);
bool memory_wants_all(const struct nfs4r_core *c);
enum nfs4r_memory memory_said(const struct nfs4r_core *c);
nfs4r_servers memory_unheard(const struct nfs4r_core *c);
nfs4r_servers memory_unclaimed(const struct nfs4r_core *c);
bool memory_claimed(const struct nfs4r_core *c, nfs4r_server_id s, bool *sure);
void memory_say(const struct nfs4r_core *c, nfs4r_server_id to, struct nfs4r_msg *m);

/* claims.c: look-ups of claims */
struct claim *claim_find(const struct nfs4r_core *c, nfs4r_server_id s, uint64_t seq);
bool is_dead_seq(const struct nfs4r_core *c, nfs4r_server_id s, uint64_t seq);
bool claim_acked_by_all(const struct nfs4r_core *c, const struct claim *cl);

/* peers.c: what is known of a server */
void peer_forget(struct nfs4r_core *c, nfs4r_server_id s); /* what an older start of it had reported */

/* stats.c: how long things took */
void hist_add(struct nfs4r_core_hist *h, uint64_t ms);

/* failed.c: entries that could not be applied (log 4.11) */
void trouble_failed(struct nfs4r_core *c, struct pend *p, enum nfs4r_status st);
void trouble_forget(struct nfs4r_core *c, struct pend *p);
bool trouble_waits(const struct nfs4r_core *c, const struct pend *p); /* it failed, and is not to be tried yet */

/* volume_secret.c */
bool secret_wanted(const struct nfs4r_core *c);	    /* a view is wanted for it */
void secret_into(const struct nfs4r_core *c, struct nfs4r_view *v); /* of a view that is being made */
bool secret_is_another(const struct nfs4r_core *c, const struct nfs4r_view *v); /* than that of the view adopted here, and so it is no view that follows it */
void secret_of_promise(struct nfs4r_view *base, const struct nfs4r_view *accepted);
void secret_started(struct nfs4r_core *c);
void secret_peer_up(struct nfs4r_core *c, nfs4r_server_id s);
void secret_on_view(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_view *v); /* with a fixed view */

/* heap.c */
void heap_in(struct minheap *h, struct heap_item *it, uint64_t key); /* nothing if it is in already */
void heap_out(struct minheap *h, struct heap_item *it);		     /* nothing if it is in none */
struct heap_item *heap_first(const struct minheap *h);		     /* the smallest key; NULL: empty */

/* rows.c: keys and values of the stable rows */
void row_claim(const struct claim *cl, struct nfs4r_put *p, bool del);
void row_dead(nfs4r_server_id s, uint64_t seq, struct nfs4r_put *p, bool del);
void row_limits(nfs4r_server_id s, const struct nfs4r_limits *l, struct nfs4r_put *p);
void row_floor(nfs4r_server_id s, uint64_t floor, struct nfs4r_put *p);
void row_seq(uint64_t reserved, struct nfs4r_put *p);
void row_reply(const struct reply *r, struct nfs4r_put *p, bool del);
void row_origin(nfs4r_server_id s, const struct origin *o, struct nfs4r_put *p);
void row_reach(const struct reach *r, struct nfs4r_put *p);
void row_taint(const struct taint *t, struct nfs4r_put *p, bool del);
void row_trouble(const struct trouble *t, struct nfs4r_put *p);
void row_told(const struct told *n, struct nfs4r_put *p, bool del);
void row_view(const struct view *w, struct nfs4r_put *p);
void row_address(uint64_t view, const struct nfs4r_address *a, struct nfs4r_put *p, bool del);
void row_memory(const struct memory *m, struct nfs4r_put *p);
void row_peer_start(nfs4r_server_id s, const struct start *st, struct nfs4r_put *p);

/* reconfig.c: servers added and taken out (log 9.1) */
bool may_change_voters(const struct nfs4r_core *c);
bool is_settled(struct nfs4r_core *c);
void member_consider(struct nfs4r_core *c, nfs4r_servers *gone, nfs4r_servers *add, nfs4r_servers *seal, nfs4r_server_id *in, nfs4r_server_id *out);
void member_view_of(const struct nfs4r_core *c, const struct proposal *p, struct nfs4r_view *v);
void member_adopted(struct nfs4r_core *c, const struct nfs4r_view *old);
void member_add(struct nfs4r_core *c, const struct nfs4r_event *ev);
void member_remove(struct nfs4r_core *c, const struct nfs4r_event *ev);
void books_save(struct nfs4r_core *c);
void books_clean(struct nfs4r_core *c);
void books_started(struct nfs4r_core *c);

/* force_reconfig.c: going on with the survivors (log 9.3) */
bool reconf_refuses(const struct nfs4r_core *c, uint64_t num, nfs4r_servers set);
bool reconf_asks(const struct nfs4r_core *c, const struct vote *v);
bool reconf_may_grant(const struct nfs4r_core *c, nfs4r_server_id s);
void reconf_word(struct nfs4r_core *c, const struct nfs4r_event *ev);
void reconf_on_heartbeat(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void reconf_consider(struct nfs4r_core *c);
void reconf_decide(struct nfs4r_core *c);
bool reconf_anew(const struct nfs4r_core *c, const struct nfs4r_view *v);
void reconf_adopted(struct nfs4r_core *c);

/* quorum.c: the only place that knows who "all" are */
bool is_quorum(nfs4r_servers set, nfs4r_servers voters);
bool is_majority(const struct nfs4r_core *c, nfs4r_servers set);
bool is_all(const struct nfs4r_core *c, nfs4r_servers set);
nfs4r_server_id who_is_away(const struct nfs4r_core *c);
nfs4r_servers who_is_here(const struct nfs4r_core *c);
nfs4r_lsn applied_by_all(const struct nfs4r_core *c, nfs4r_server_id log);
nfs4r_lsn stable_by_all(const struct nfs4r_core *c, nfs4r_server_id log);
nfs4r_lsn stable_everywhere(const struct nfs4r_core *c, nfs4r_server_id log); /* members or not */

/* view.c: the active view, leases */
void view_init(struct nfs4r_core *c);
void view_started(struct nfs4r_core *c);
void view_timers(struct nfs4r_core *c);
void view_complete(struct nfs4r_core *c);
bool view_heard(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);  /* a HEARTBEAT; true: it has joined now */
void view_answer(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m); /* that HEARTBEAT */
void view_on_msg(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);

void view_beat(struct nfs4r_core *c);
void view_beat_to(struct nfs4r_core *c, nfs4r_server_id to);
void view_give_back(struct nfs4r_core *c); /* the lease, for good (6.11) */
void view_stop(struct nfs4r_core *c);
bool view_run(struct nfs4r_core *c); /* false: there is nothing of all that in this volume */
void view_incomplete(struct nfs4r_core *c);
uint64_t view_highest(const struct nfs4r_core *c);
uint64_t view_grant_ms(const struct nfs4r_core *c);
void view_save(struct nfs4r_core *c);
void view_send(struct nfs4r_core *c, nfs4r_server_id to);
void view_tell_servers(struct nfs4r_core *c, const struct nfs4r_view *old);
void view_peers_adopted(struct nfs4r_core *c, nfs4r_servers removed, nfs4r_servers anew);
void view_adopt(struct nfs4r_core *c, const struct nfs4r_view *v);
void view_on_prepare(struct nfs4r_core *c, nfs4r_server_id from, const struct vote *v);
void view_on_accept(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_view *v);

/* sender_check.c: why a message of @from is not taken (log 4.17); NULL: it is */
const char *door_refuses(const struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);

/* view_evidence.c: which view that somebody tells is adopted (log 6.14) */
bool believe_is_far(const struct nfs4r_core *c, uint64_t num); /* farther ahead than any honest proposer comes */
void believe_on_view(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_view *v);
void believe_on_accepted(struct nfs4r_core *c, nfs4r_server_id from, uint64_t num, uint64_t digest);
void believe_run(struct nfs4r_core *c);
void believe_forget(struct nfs4r_core *c, nfs4r_server_id s);
void believe_started(struct nfs4r_core *c);

/* amnesia.c: what this server's store remembers, and the others' (log 8.6) */
void memory_on_heartbeat(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void memory_repaired(struct nfs4r_core *c);
void memory_adopted(struct nfs4r_core *c);
void memory_init(struct nfs4r_core *c);
void memory_started(struct nfs4r_core *c);
void memory_timers(struct nfs4r_core *c);

/* view_change.c: who asks for which view */
void propose_on_promise(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void propose_on_accepted(struct nfs4r_core *c, nfs4r_server_id from, uint64_t num, uint64_t digest);
void propose_accepted_here(struct nfs4r_core *c, uint64_t num); /* and that is on the disk */
void propose_timers(struct nfs4r_core *c);
void propose_consider(struct nfs4r_core *c);
void propose_begin(struct nfs4r_core *c, const struct proposal *p);
void propose_view(struct nfs4r_core *c);
void propose_later(struct nfs4r_core *c);
void propose_give_up(struct nfs4r_core *c, nfs4r_server_id s);
uint64_t propose_only_there(const struct nfs4r_core *c, nfs4r_server_id s);

/* log_seal.c: where logs end */
bool seal_add(struct nfs4r_view *v, nfs4r_server_id log, nfs4r_lsn lsn);
void seal_freeze(struct nfs4r_core *c, nfs4r_servers logs);
bool seal_quiet(const struct nfs4r_core *c, nfs4r_servers logs);
bool seal_reached(struct nfs4r_core *c, const struct nfs4r_view *v);
void claims_sealed(struct nfs4r_core *c, nfs4r_server_id s);
void claims_undone(struct nfs4r_core *c, nfs4r_server_id s, nfs4r_lsn pos);
bool claims_let_go(struct nfs4r_core *c);
void seal_adopted(struct nfs4r_core *c);
void seal_go_on(struct nfs4r_core *c);
void seal_cross_all(struct nfs4r_core *c);
void seal_cross(struct nfs4r_core *c, nfs4r_server_id log);

/* state_transfer.c: the sealed server itself, and copies that are ahead (log 8.3) */
bool repair_is_source(const struct nfs4r_core *c, nfs4r_server_id s);
void repair_list(struct nfs4r_core *c, nfs4r_server_id from);
void repair_anew(struct nfs4r_core *c);
void repair_peer_fresh(struct nfs4r_core *c, nfs4r_server_id s);
void repair_told(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void repair_check(struct nfs4r_core *c);
void repair_run(struct nfs4r_core *c);
void repair_done(struct nfs4r_core *c, const struct nfs4r_event *ev);

/* monotonic_reads.c */
void told_note(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id by, nfs4r_version version);
void told_moved(struct nfs4r_core *c, const struct nfs4r_oid *oid);
void told_rebuilt(struct nfs4r_core *c);
void told_sealed(struct nfs4r_core *c, nfs4r_server_id by);
bool told_restored(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id by, nfs4r_version version); /* false: there is one */
void told_started(struct nfs4r_core *c);
/* Who has it newer than the own copy; 0: nobody, as far as this server knows, but perhaps one of @excluded. */
nfs4r_server_id told_at(const struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_servers excluded);
nfs4r_version told_version(const struct nfs4r_core *c, const struct nfs4r_oid *oid); /* 0: nothing that is not here */

/* fuzzy.c: bytes newer than their version (log 3.6, 3.9, 7.5) */
struct taint *taint_add(struct nfs4r_core *c, const struct nfs4r_oid *oid);
void taint_save(struct nfs4r_core *c, const struct taint *t, bool del); /* outside of a commit */
void taint_drop(struct nfs4r_core *c, struct taint *t);
void taint_waits_for(const struct nfs4r_core *c, const struct taint *t, nfs4r_server_id *log, nfs4r_lsn *lsn);
void taint_set_state(struct nfs4r_core *c, struct taint *t, enum taint_state state);
void taint_commit(struct nfs4r_core *c, const struct nfs4r_entry *e, bool made);
void taint_stable(struct nfs4r_core *c, const nfs4r_lsn *stable);
void taint_started(struct nfs4r_core *c);
void taint_crossed(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn seal);
void taint_run(struct nfs4r_core *c);
void taint_list(struct nfs4r_core *c, struct nfs4r_action *a);
void taint_left(struct nfs4r_core *c, const struct nfs4r_left *l);
void taint_passed(struct nfs4r_core *c, const struct nfs4r_entry *e, uint32_t part, const struct nfs4r_entry *by);
void taint_begun(struct nfs4r_core *c, const struct nfs4r_entry *e, uint32_t mask);
void taint_newer(struct nfs4r_core *c, const struct nfs4r_left *l);
bool taint_repaired(struct nfs4r_core *c, const struct nfs4r_left *v, uint32_t n, const nfs4r_lsn *positions);
void taint_mended(struct nfs4r_core *c);
void taint_fini(struct nfs4r_core *c);

/* durability.c: durability beyond one server (log 5.1) */
bool needs_held(const struct nfs4r_core *c, const struct nfs4r_op *op);
bool is_held_of(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn);
bool is_held(const struct nfs4r_core *c, nfs4r_lsn lsn);
void held_wait(struct nfs4r_core *c, nfs4r_lsn lsn);
void held_ask(struct nfs4r_core *c, uint64_t id, const struct nfs4r_oid *oid);
void held_run(struct nfs4r_core *c);
void held_all(struct nfs4r_core *c);
void held_flush(struct nfs4r_core *c);
bool held_settled(struct nfs4r_core *c);
void held_note(struct nfs4r_core *c, nfs4r_lsn lsn);
void held_fini(struct nfs4r_core *c);

/* control_transfer.c: a new member takes over the controls */
void join_witnesses(struct nfs4r_core *c, nfs4r_servers removed, nfs4r_servers anew);
void join_new_view(struct nfs4r_core *c);
void join_again(struct nfs4r_core *c);
void join_heard(struct nfs4r_core *c, nfs4r_server_id from);
void join_peer_fresh(struct nfs4r_core *c, nfs4r_server_id s);
void join_started(struct nfs4r_core *c);
void join_timers(struct nfs4r_core *c);
void join_run(struct nfs4r_core *c);
void join_released(struct nfs4r_core *c, nfs4r_server_id s, uint64_t seq);
void join_on_msg(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void join_fini(struct nfs4r_core *c);

/* table.c */
struct walk {
	struct nfs4r_oid oid;
	uint32_t level; /* 0: the object itself */
};
bool is_known(struct nfs4r_core *c, const struct nfs4r_oid *oid, struct nfs4r_facts *f);
bool is_known_file(struct nfs4r_core *c, const struct nfs4r_oid *oid); /* and no directory */
bool is_multi(const struct nfs4r_facts *f);
void walk_begin(struct walk *w, const struct nfs4r_oid *oid);
bool walk_up(struct nfs4r_core *c, struct walk *w); /* false at the root, and for a multi file (section 0) */
struct ctl *controls_of(const struct nfs4r_core *c, const struct nfs4r_oid *oid);
struct claim *claim_add(struct nfs4r_core *c, struct nfs4r_pid pid, uint32_t kind, const struct nfs4r_control *v, uint32_t n);
void claim_out_of_table(struct nfs4r_core *c, struct claim *cl);
void claim_free(struct nfs4r_core *c, struct claim *cl);
void claim_save(struct nfs4r_core *c, const struct claim *cl);
struct own *own_new(struct nfs4r_core *c, struct claim *cl, enum own_state st);
uint64_t seq_next(struct nfs4r_core *c);
/* Others that cover @oid in the table; *won: those of them that said they have won. */
nfs4r_servers foreign_cover(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_servers *won);
/* Own claim that covers @n for an update by @o (NULL: any operation); proposing ones if @proposing. */
struct claim *own_cover(struct nfs4r_core *c, const struct need *n, const struct opx *o, bool proposing);
bool own_acting_cover(struct nfs4r_core *c, const struct nfs4r_oid *oid);
bool claim_covers(struct nfs4r_core *c, const struct claim *cl, const struct need *n);
/* Is @oid @dir or below it? */
bool is_under(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_oid *dir);

/* ancestry.c */
void anc_control(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id owner, int delta);
nfs4r_servers anc_below(const struct nfs4r_core *c, const struct nfs4r_oid *dir);
void anc_forget(struct ctl *k);
void anc_rebuild(struct nfs4r_core *c);
/* Every control of @owner strictly below @dir, until @fn returns false. @fn must not change the table. */
void anc_each_below(const struct nfs4r_core *c, const struct nfs4r_oid *dir, nfs4r_server_id owner,
		    bool (*fn)(void *arg, struct ctl *k), void *arg);
struct own_list {
	struct own **v;
	uint32_t n, cap;
};
/* Own claims with a control strictly below @dir, once for each such control; free(l->v) is the caller's. */
void anc_own_below(const struct nfs4r_core *c, const struct nfs4r_oid *dir, struct own_list *l);
struct anc_change { /* what one entry does to the counts */
	bool moves;
	bool anew; /* it takes something out of a ring: all is counted again */
	struct nfs4r_oid oid;
	uint32_t w[NFS4R_SERVERS_MAX + 1];
};
void anc_before_commit(struct nfs4r_core *c, struct nfs4r_entry *e, struct anc_change *ch);
void anc_after_commit(struct nfs4r_core *c, const struct anc_change *ch);

/* joined.c: what an entry changes of control when it is committed */
void joined_note_move(struct nfs4r_core *c, const struct nfs4r_entry *e);
void joined_row(struct nfs4r_core *c, const struct nfs4r_entry *e); /* its claim's row, in the commit */
void joined_in(struct nfs4r_core *c, const struct nfs4r_entry *e, bool settled_born);

/* election.c */
struct own *election_propose(struct nfs4r_core *c, const struct nfs4r_control *v, uint32_t n, uint32_t attempts, bool side);
void claim_abort(struct nfs4r_core *c, struct own *ow);
void election_send(struct nfs4r_core *c, struct own *ow, nfs4r_server_id to);
void election_check_win(struct nfs4r_core *c, struct own *ow);
void election_barriers(struct nfs4r_core *c);
void election_on_propose(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void election_on_ack(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void election_on_nack(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void election_timers(struct nfs4r_core *c);
void election_peer_moved(struct nfs4r_core *c, nfs4r_server_id s);
void election_peer_up(struct nfs4r_core *c, nfs4r_server_id s);
void elections_new_view(struct nfs4r_core *c, nfs4r_servers removed, nfs4r_servers added);
void elections_again(struct nfs4r_core *c);
bool elections_settled(const struct nfs4r_core *c);
bool prio_higher(const struct nfs4r_prio *a, const struct nfs4r_prio *b); /* 4.2 */
void election_refuse_unknown(struct nfs4r_core *c, nfs4r_server_id to, const struct nfs4r_pid *pid); /* 4.3d */
void asking_in(struct nfs4r_core *c, struct own *ow);
void asking_out(struct nfs4r_core *c, struct own *ow);
void abort_deleted(struct nfs4r_core *c, const struct nfs4r_oid *oid);

/* tombstones.c */
uint64_t own_floor(const struct nfs4r_core *c);
void release_raise_floor(struct nfs4r_core *c, nfs4r_server_id s, uint64_t floor);
void dead_add(struct nfs4r_core *c, nfs4r_server_id s, uint64_t seq);

/* release.c */
void claim_idle(struct nfs4r_core *c, struct own *ow); /* it is won: its timer begins */
void claim_used(struct nfs4r_core *c, struct own *ow);
void claim_start_closing(struct nfs4r_core *c, struct own *ow);
struct claim *claim_reopen(struct nfs4r_core *c, const struct need *n); /* one that covers it now, or NULL */
void claim_release(struct nfs4r_core *c, struct own *ow);
void release_all(struct nfs4r_core *c); /* what is won closes, or as soon as 5.5 allows */
void released_in(struct nfs4r_core *c, struct own *ow);
nfs4r_servers release_run(struct nfs4r_core *c); /* whom POSITIONS have to be sent */
void release_flush(struct nfs4r_core *c);
void release_timers(struct nfs4r_core *c);
void release_peer_up(struct nfs4r_core *c, nfs4r_server_id s);
void releases_new_view(struct nfs4r_core *c);
const struct nfs4r_msg *release_on_release(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void release_on_released(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void release_on_revoke(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void release_opened(struct nfs4r_core *c, const struct nfs4r_oid *oid, bool open);
void raise_last(struct nfs4r_core *c, const struct nfs4r_entry *e);
void send_revoke(struct nfs4r_core *c, nfs4r_server_id to, const struct nfs4r_oid *oid, bool below, uint32_t attempts);

uint64_t idle_end(const struct nfs4r_core *c, const struct own *ow); /* when its timer ends */
void release_at(struct nfs4r_core *c, struct own *ow, uint64_t t);  /* starts closing at this time, used or not */
void release_no_end(struct nfs4r_core *c, struct own *ow);	      /* takes that back */
void release_unpinned(struct nfs4r_core *c, struct own *ow); /* an operation was done under it: a file without writers, reopened for that, closes again */

/* shutdown.c: a stop in order (7.12) */
void leave_begin(struct nfs4r_core *c);
void leave_run(struct nfs4r_core *c);
void leave_settle(struct nfs4r_core *c); /* at the end of a step: when it has let go of everything it gives its lease back */

/* withdraw.c: entries that cannot be applied (log 4.11, 6.12) */
void trouble_told(struct nfs4r_core *c, enum nfs4r_status st); /* by the engine, of what is in doubt */
void trouble_timers(struct nfs4r_core *c);
void trouble_settle(struct nfs4r_core *c);
void trouble_on_halted(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m); /* log 4.15 */
void trouble_unheard(struct peer *p); /* its connection is gone, and with it the one that would say more */
/* superseded.c: what fails and is undone later */
uint32_t moot_parts(struct nfs4r_core *c, struct pend *p, uint32_t mask); /* those of @mask that are passed over; sets p->aside, p->by */
void moot_commit(struct nfs4r_core *c, struct pend *p);
nfs4r_servers trouble_members(const struct nfs4r_core *c, nfs4r_servers gone);
bool trouble_may_grant(const struct nfs4r_core *c, nfs4r_server_id s);

/* deferred.c: proposals that came before the entry that makes their object (4.3d) */
bool early_keep(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m); /* false: there is no room */
bool early_next(struct nfs4r_core *c, nfs4r_server_id *from, struct nfs4r_msg *m); /* one whose objects are known now, which is not kept any more */
void early_timers(struct nfs4r_core *c);
void early_forget(struct nfs4r_core *c, nfs4r_servers whose);

/* downgrade.c: closed files, and directories that others read, are read from copies before their control is released (7.10) */
void announce_later(struct nfs4r_core *c, struct own *ow); /* it starts closing */
void announce_never(struct nfs4r_core *c, struct own *ow); /* it is released */
void announce_again(struct nfs4r_core *c, struct claim *cl); /* start: it may have been announced before */
void announce_timers(struct nfs4r_core *c);
void announce_found(struct nfs4r_core *c, struct claim *cl); /* another's claim is here */
void announce_on_closing(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void announce_applied(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn before); /* more of another's log is here than `before` */
bool is_good_copy(const struct nfs4r_core *c, const struct claim *cl); /* may this server's copy be read as if @cl were released? */

/* backoff.c: what is not asked for now, because others want it (7.5, 7.6) */
struct oidmark *mark_find(struct oidmark *table, const struct nfs4r_oid *oid);
struct oidmark *mark_get(struct oidmark **table, const struct nfs4r_oid *oid);
void mark_drop(struct oidmark **table, const struct nfs4r_oid *oid);
#define MARKS_MAX 4096 /* of a table of times */
bool mark_lasts(const struct nfs4r_core *c, struct oidmark *table, const struct nfs4r_oid *oid);
void mark_until(const struct nfs4r_core *c, struct oidmark **table, const struct nfs4r_oid *oid, uint64_t until);
uint64_t farthest_rtt(const struct nfs4r_core *c); /* in ms, of elections */
uint64_t policy_holdoff_ms(const struct nfs4r_core *c);
uint64_t holdoff_until(struct nfs4r_core *c, const struct nfs4r_oid *oid);
uint64_t holdoff_clearing(struct nfs4r_core *c, const struct nfs4r_oid *oid);
void holdoff_drop(struct nfs4r_core *c, const struct nfs4r_oid *oid);
void holdoff_set(struct nfs4r_core *c, const struct own *ow);
void holdoff_below(struct nfs4r_core *c, const struct nfs4r_oid *dir);
void holdoff_timers(struct nfs4r_core *c);

/* policy/table.c */
extern const struct policy_ops nfs4r_policy;

/* escalate.c: when to ask for more control (4.1, 7.4, 7.8) */
bool policy_may_deep(struct nfs4r_core *c, const struct nfs4r_oid *dir);
void policy_others(struct nfs4r_core *c, const struct nfs4r_oid *oid);
void policy_paid(struct nfs4r_core *c, const struct nfs4r_oid *oid);
void policy_acked(struct nfs4r_core *c, nfs4r_server_id from, const struct own *ow);
void policy_won(struct nfs4r_core *c, struct own *ow);
void policy_lost(struct nfs4r_core *c, struct own *ow);
void policy_contest(struct nfs4r_core *c, const struct claim *cl);
struct own *policy_ask(struct nfs4r_core *c, const struct nfs4r_control *v, uint32_t n);
void policy_fini(struct nfs4r_core *c);

/* deescalate.c: when to be content with less (7.1, 7.4, 7.9) */
void policy_used(struct nfs4r_core *c, const struct opx *o);
void policy_wants(struct nfs4r_core *c, struct own *ow, const struct nfs4r_oid *wanted);
void policy_revoked(struct nfs4r_core *c, struct own *ow, const struct nfs4r_oid *wanted, bool below);
bool policy_giving(struct nfs4r_core *c, const struct nfs4r_oid *oid);
const struct nfs4r_oid *policy_wanted(const struct own *ow);
bool policy_replacing(struct nfs4r_core *c, const struct own *ow);
bool policy_may_close(struct nfs4r_core *c, struct own *ow, uint64_t *again);
void policy_run(struct nfs4r_core *c);
uint64_t policy_reads(const struct own *ow);

/* reader_yield.c: when readers end it (7.11) */
uint32_t yield_ms(const struct nfs4r_core *c, const struct own *ow); /* how long a use below deep control keeps readers from it */
bool yield_read(struct nfs4r_core *c, const struct nfs4r_oid *oid);
bool yield_over(struct nfs4r_core *c, struct own *ow);
bool yield_is_read(struct nfs4r_core *c, const struct own *ow); /* by others, lately, and it consists of directories without deep+ */
void yield_touch(struct nfs4r_core *c, const struct nfs4r_oid *file); /* its bytes or attributes are updated here */
void yield_opened(struct nfs4r_core *c, const struct nfs4r_oid *file, bool open); /* by its first writer here; closed by the last */
void yield_regret(struct nfs4r_core *c, const struct nfs4r_oid *oid);

/* footprint.c */
void needs_of(struct nfs4r_core *c, struct nfs4r_op *op, struct needs *nd);
bool needs_same(const struct needs *a, const struct needs *b);

/* completion.c: 5.2, 5.3 */
void cond_of(struct nfs4r_core *c, const struct nfs4r_entry *e, struct cond *k);
bool cond_holds(struct nfs4r_core *c, const struct cond *k);
bool may_be_answered(struct nfs4r_core *c, const struct opx *o, const struct needs *nd);
bool file_complete(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_lsn lsn);

/* admission.c: life of an operation up to EXECUTE */
struct opx *op_begin(struct nfs4r_core *c, struct nfs4r_op *op, bool remote, nfs4r_server_id from);
void op_decide(struct nfs4r_core *c, struct opx *o);
void op_finish(struct nfs4r_core *c, struct opx *o, enum nfs4r_status st);
void op_list(struct nfs4r_core *c, struct opx *o, enum op_state st); /* move to @st and its list */
void op_unhold(struct nfs4r_core *c, struct opx *o);
void op_unpin(struct nfs4r_core *c, struct opx *o);
void op_failed_attempt(struct nfs4r_core *c, struct opx *o);
void ops_claim_gone(struct nfs4r_core *c, struct claim *cl);
void ops_run(struct nfs4r_core *c, bool all);
void ops_timers(struct nfs4r_core *c);
void ops_refuse_waiting(struct nfs4r_core *c);

/* space.c: room, and limits of file systems (log 4.12) */
void space_fit_times(const struct nfs4r_core *c, struct nfs4r_op *op); /* as every server's file system can keep them */
enum nfs4r_status space_may(struct nfs4r_core *c, const struct nfs4r_op *op); /* OK, DELAY: not now, or what the client hears */
void space_spend(struct nfs4r_core *c, const struct nfs4r_op *op, nfs4r_lsn lsn); /* it is executed as this entry */
void space_measured(struct nfs4r_core *c, const struct nfs4r_event *ev);
void space_on_msg(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void space_peer_up(struct nfs4r_core *c, nfs4r_server_id s);
void space_restore(struct nfs4r_core *c, nfs4r_lsn lsn, uint64_t payload_bytes);
void space_fini(struct nfs4r_core *c);

/* execute.c: EXECUTE to answer */
void exec_lock(struct nfs4r_core *c, struct opx *o, const struct needs *nd);
void exec_locked(struct nfs4r_core *c, struct opx *o, enum nfs4r_status may);
void exec_executed(struct nfs4r_core *c, struct opx *o, const struct nfs4r_event *ev);
void exec_committed(struct nfs4r_core *c, struct opx *o);
void exec_answers(struct nfs4r_core *c);
void exec_undone(struct nfs4r_core *c);
void exec_open_files(struct nfs4r_core *c);

/* entry_build.c */
struct nfs4r_entry *entry_make(struct nfs4r_core *c, struct opx *o, const struct needs *nd);
void entry_void(struct nfs4r_entry *e);
void entry_unanswered(struct nfs4r_entry *e);

/* forward.c */
void forward_send(struct nfs4r_core *c, struct opx *o, nfs4r_server_id to);
void forward_answer(struct nfs4r_core *c, struct opx *o);
void forward_on_request(struct nfs4r_core *c, nfs4r_server_id from, struct nfs4r_msg *m);
void forward_on_answer(struct nfs4r_core *c, nfs4r_server_id from, struct nfs4r_msg *m);
void forward_repeat(struct nfs4r_core *c, struct opx *o);
void forward_peer_up(struct nfs4r_core *c, nfs4r_server_id s, bool fresh);
void forward_unknown(struct nfs4r_core *c, nfs4r_servers ended);
void forward_sealed(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn seal);
uint64_t answered_below(const struct nfs4r_core *c);

/* reply_cache.c */
struct reply *reply_find(struct nfs4r_core *c, const struct nfs4r_request_id *id);
void reply_of_entry(struct nfs4r_core *c, const struct nfs4r_entry *e);
bool reply_too_old(const struct nfs4r_core *c, const struct nfs4r_request_id *id);
void refusal_add(struct nfs4r_core *c, const struct nfs4r_op *op);
bool refusal_find(struct nfs4r_core *c, struct nfs4r_op *op);
void refusals_free(struct nfs4r_core *c);
void replies_undone(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn seal);
void reply_add(struct nfs4r_core *c, const struct reply *r);
void reply_key(const struct nfs4r_request_id *id, struct reqkey *k);
void reply_origin_moved(struct nfs4r_core *c, nfs4r_server_id s, uint64_t inc, uint64_t below, bool in_commit);

/* replicate.c: own log, distribution, positions */
void log_bytes(struct nfs4r_core *c, nfs4r_lsn lsn, uint64_t bytes);
uint64_t log_unreceived(const struct nfs4r_core *c, const struct peer *p);
void log_send(struct nfs4r_core *c);
void log_positions_taken(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m); /* the same, after that */
bool log_on_positions(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void log_on_pull(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void log_pull(struct nfs4r_core *c, nfs4r_server_id log);
void log_positions_out(struct nfs4r_core *c);
void log_drop(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn until); /* entries up to @until, if there are any; TRUNCATE */
void log_heartbeat(struct nfs4r_core *c);
void log_on_stable(struct nfs4r_core *c, const nfs4r_lsn *stable);
void log_truncate(struct nfs4r_core *c);
void log_recovery(struct nfs4r_core *c);
void log_crossed(struct nfs4r_core *c);
uint64_t log_bytes_between(const struct nfs4r_core *c, nfs4r_lsn from, nfs4r_lsn until);
void log_send_positions(struct nfs4r_core *c, nfs4r_server_id to);
nfs4r_lsn written_lsn(const struct nfs4r_core *c, const struct nfs4r_oid *oid);
void written_note(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_lsn lsn);
void written_gc(struct nfs4r_core *c);
void written_forget(struct nfs4r_core *c);

/* retention.c: what is kept for those who are away */
void retention_beyond(struct nfs4r_core *c, const nfs4r_lsn *beyond);
void retention_drop(struct nfs4r_core *c);
void retention_look(struct nfs4r_core *c);
bool retention_forgot_log(const struct nfs4r_core *c, nfs4r_server_id s, nfs4r_server_id log);
nfs4r_lsn retention_end(const struct nfs4r_core *c, nfs4r_server_id log);
bool retention_has(const struct nfs4r_core *c, nfs4r_server_id s, nfs4r_server_id log, nfs4r_lsn lsn);
bool retention_is_slow(const struct nfs4r_core *c, nfs4r_server_id s);
nfs4r_servers retention_slow(struct nfs4r_core *c);

/* view_adopted.c */
void view_adopted(struct nfs4r_core *c, const struct nfs4r_view *old, nfs4r_servers removed, nfs4r_servers anew);

/* commit.c */
void commit_run(struct nfs4r_core *c); /* every entry that can be */

/* apply.c: received entries, order */
void apply_drop_entries(struct nfs4r_msg *m); /* its references */
void apply_on_entries(struct nfs4r_core *c, nfs4r_server_id from, struct nfs4r_msg *m);
void apply_done(struct nfs4r_core *c, const struct nfs4r_event *ev);
struct pend *apply_next(struct nfs4r_core *c); /* to be committed; NULL: none */
void apply_before_commit(struct nfs4r_core *c, const struct nfs4r_entry *e);
void apply_committed(struct nfs4r_core *c, struct pend *p);
void apply_prefix(struct nfs4r_core *c, nfs4r_server_id log); /* moves `applied` */
struct pend *pend_add(struct nfs4r_core *c, struct nfs4r_entry *e, struct opx *o);
void pend_wake(struct nfs4r_core *c, struct pend *p);
void apply_cut(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn from);
void apply_drop_all(struct nfs4r_core *c);
void apply_wake(struct nfs4r_core *c, nfs4r_server_id log);
bool apply_is_idle(const struct nfs4r_core *c, nfs4r_server_id log);
bool last_assigned(const struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_version *v);
void pend_free(struct nfs4r_core *c, struct pend *p);

/* restart.c */
void restart_claims(struct nfs4r_core *c);
void restart_decided(struct nfs4r_core *c, struct nfs4r_entry *e, bool ok);

#endif
