/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The state of log/, which the rooms above it read. */
#ifndef NFS4R_CORE_LOG_LOG_STATE_H
#define NFS4R_CORE_LOG_LOG_STATE_H

#include "core/state/limits.h"

enum pend_state {
	PEND_QUEUED = 1,
	PEND_BUSY,
	PEND_EXECUTED,
	PEND_DONE
};

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
	bool intent; /* own, begun before a crash; the caller says whether it was executed */
	bool made; /* own, and nothing to be executed: exact again (fuzzy.c), lists of locks, clients */
	uint64_t failed_ms, again_ms; /* withdraw.c: since when it cannot be applied, 0: nothing is known of that; not tried before */
	uint32_t cause, tries; /* why; how often it failed */
	uint64_t begun_ms; /* BUSY: since when the caller has it; failed.c */
	bool aside; /* superseded.c: what it makes, or moves, is to be put aside */
	const struct nfs4r_entry *by[NFS4R_PARTS_MAX]; /* parts that are passed over, and what undoes them */
	uint32_t mask;
	struct pref pref[NFS4R_PARTS_MAX];
	struct pend *prev, *next; /* of the log, ascending */
	struct pend *rprev, *rnext; /* to be tried */
	/* of ops/ */
	bool born_acked_by_all; /* of a moved claim that comes with it (struct own) */
};

struct logst {
	nfs4r_lsn base; /* first entry still readable */
	nfs4r_lsn received, applied, stable; /* own log: last given out, contiguous done, stable */
	nfs4r_lsn highest; /* newest committed entry; what lies between `applied` and it is not all there */
	nfs4r_lsn truncated; /* TRUNCATE given up to here */
	nfs4r_lsn hurry; /* and up to here with an answer to somebody (log 5.1) */
	nfs4r_lsn waits; /* apply.c: oldest entry that waits for one of another log; 0: none */
	uint64_t received_bytes;
	uint64_t pull_at; /* next PULL allowed */
	nfs4r_lsn pull_from;
	nfs4r_server_id pull_to; /* who was asked; 0: nobody yet */
	uint32_t npend;
	bool moved; /* tell the owner */
	struct pend *pend;
	/* of state/ */
	nfs4r_lsn end; /* highest anybody spoke of */
	nfs4r_lsn want; /* its owner waits for our `stable` up to here */
	/* of control/ */
	nfs4r_lsn good_at; /* the newest that a claim of its owner was announced with (control 7.10) */
};

struct pulled { /* what a server was last asked for of a log; until 0: nothing */
	nfs4r_lsn from, until;
};

enum fuzzy_state {
	FUZZY_DONE = 1,
	FUZZY_OPEN,
	FUZZY_INEXACT
};

/* fuzzy.c, row 'X': an object whose bytes may be newer than its version. */
struct fuzzy {
	struct nfs4r_oid oid;
	enum fuzzy_state state; /* exact again, not stable yet; until entries come; for ever, by itself */
	nfs4r_version exact; /* it was, at this version */
	nfs4r_server_id done_log; /* DONE: by this entry */
	nfs4r_lsn done_lsn;
	nfs4r_lsn until[NFS4R_SERVERS_MAX + 1]; /* entries that have to come, by log; 0: none */
	nfs4r_lsn low[NFS4R_SERVERS_MAX + 1]; /* `stable` of each log is below this; 0: not by this object */
	bool passed; /* superseded.c: an entry was passed over; not in the row */
	UT_hash_handle hh;
	/* of recovery/ */
	nfs4r_servers worse; /* INEXACT: those whose copies are inexact, too, and give way to this one */
	bool left; /* the source of the last repair has it inexact, too */
};

struct quorum_wait { /* durability.c: somebody waits until an own entry is held */
	uint64_t id;
	nfs4r_lsn lsn;
	struct quorum_wait *prev, *next;
};

struct client_wait { /* clients.c: the same, of what was said of a client */
	uint64_t id;
	nfs4r_lsn lsn;
	uint64_t begins[2]; /* the client, if it begins; else 0 */
	struct client_wait *prev, *next;
};

struct client_key {
	uint64_t id[2];
	nfs4r_server_id server;
};

struct client_row { /* clients.c, row 'K' */
	struct client_key key; /* padding zero */
	struct nfs4r_client client;
	nfs4r_lsn lsn; /* of the entry that says so, in the log of its server; of the row of all (no id): clients that began before it are gone */
	bool gone; /* only its numbers are remembered */
	uint64_t life; /* of this server: the newest number of a lock request when it began; 0: before the start */
	bool reclaims; /* of this server: since the start, or the fence, it has not said that it has reclaimed */
	bool back; /* reclaims: it has asked for something meanwhile */
	uint64_t n; /* its locks of lives that began before it are gone, says this entry */
	nfs4r_server_id by;
	nfs4r_lsn by_lsn;
	uint64_t sure; /* the same, as far as a majority holds it, and all members have applied what the client wrote */
	bool listed;
	UT_hash_handle hh;
};

struct clients { /* clients.c */
	struct client_row *rows;
	uint32_t n[NFS4R_SERVERS_MAX + 1], ngone[NFS4R_SERVERS_MAX + 1];
	bool unsure; /* some row may have n > sure */
	nfs4r_lsn gone_lsn; /* own entries that took one out of the list are not later */
	struct client_wait *waits;
	uint32_t nwaits;
};

#define MARKS 64

struct quorum_state { /* durability.c */
	nfs4r_lsn asked; /* answers wait for it: others' checkpoints were asked for up to here */
	nfs4r_lsn wanted; /* and are to be, up to here */
	struct quorum_wait *waits;
	nfs4r_lsn top; /* what may have been called held so far */
	nfs4r_lsn backed; /* up to here answers may have been given by an older Durability (log 6.17) */
	uint32_t nmarks;
	struct {
		nfs4r_lsn lsn; /* own entries from here on were made at or after */
		uint64_t ms;
	} marks[MARKS];
};

struct written { /* last own entry of a file, until it is applied by all (control 5.3 at CLOSE) */
	struct nfs4r_oid oid;
	nfs4r_lsn lsn;
	UT_hash_handle hh;
	struct written *prev, *next;
};

struct log_state { /* c->log */
	struct fuzzy *fuzzy;
	uint32_t ninexact;
	uint32_t npassed; /* objects that are not exact because an entry was passed over */
	uint32_t nfailed; /* entries, pending, that could not be applied when they were tried last, or that are tried for too long */
	uint64_t hung_at; /* failed.c: look then whether one is; 0: none is being tried */
	uint64_t heartbeat_at;
	bool checkpoint_asked, checkpoint_hurried;
	struct quorum_state quorum;
	struct clients clients;
	/* replicate.c, apply.c */
	struct logst logs[NFS4R_SERVERS_MAX + 1];
	struct pulled pulled[NFS4R_SERVERS_MAX + 1][NFS4R_SERVERS_MAX + 1]; /* [log][server] */
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
};

#endif
