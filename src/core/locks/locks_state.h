/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The state of locks/, which the rooms above it read. */
#ifndef NFS4R_CORE_LOCKS_LOCKS_STATE_H
#define NFS4R_CORE_LOCKS_LOCKS_STATE_H

#include "core/locks/shares_state.h"
#include "core/state/limits.h"

#define PARTIES_MAX 65536 /* owners without a lock whose last answer is kept [the oldest goes: a late copy of its request is carried out again] */

struct lock_key { /* an owner at a file; nothing but bytes */
	struct nfs4r_oid oid;
	struct nfs4r_lock_owner owner;
};

enum locks_asker {
	LOCKS_CLIENT = 1, /* it hears the answer */
	LOCKS_ITEM, /* the first of a list */
	LOCKS_ASK, /* this server, in the place of a client that waits */
	LOCKS_SWEEP, /* nobody: the authority is to look at its row */
	LOCKS_ABANDONED /* a client that gave up when the request was on its way */
};

/* ---- as the authority of a file ---- */

struct lock_party { /* what an owner asked for last, and what it heard (locks 4) */
	struct lock_key key;
	nfs4r_server_id holder;
	uint64_t inc; /* of the holder */
	uint64_t n; /* newest request that was carried out */
	uint64_t granted; /* n of the newest LOCK that was granted */
	enum nfs4r_status status;
	bool was_granted;
	UT_hash_handle hh; /* in the order of use */
};

struct lock_wait { /* a request in the queue */
	struct nfs4r_oid oid;
	struct nfs4r_lock lock;
	nfs4r_server_id holder;
	uint64_t inc, n, sent_ms;
	bool polls;
	bool ready; /* the lock is reserved for it */
	bool heard; /* its server knows that */
	struct lock_wait *prev, *next; /* of the file */
};

struct lock_file { /* LT: the table of a file that an acting claim of this server covers (locks 1) */
	struct nfs4r_oid oid;
	uint32_t nranges, nrows; /* now, and in the row when it was loaded */
	bool changed; /* since then */
	bool leaves; /* control has ended, and an entry of the file is being executed: its list comes behind that. Nothing is decided here any more */
	struct lock_wait *waits;
	UT_hash_handle hh;
};

struct lock_leaving { /* a LOCKS entry that is not in the tree yet: the row is not to be read before */
	struct nfs4r_oid oid;
	nfs4r_lsn lsn;
	UT_hash_handle hh;
};

struct lock_requeue { /* REQUEUE, until it is heard (locks 20) */
	struct nfs4r_oid oid;
	struct nfs4r_lock lock;
	nfs4r_server_id to;
	uint64_t inc, n, sent_ms;
	struct lock_requeue *prev, *next;
};

/* ---- as the server of an owner's client ---- */

struct lock_item { /* what the authority has to hear, in this order, until it confirms it (locks 16) */
	uint32_t type; /* UNLOCK, UNWAIT; LOCK: of what its client has heard that it has */
	struct nfs4r_lock lock;
	uint64_t since_ms;
	bool lowers; /* LOCK: there were write locks of the owner, which go with it */
	struct lock_item *prev, *next;
};

struct lock_mine { /* a LOCK of a client that waits, or is ready and was not fetched (locks 17) */
	struct nfs4r_lock lock;
	nfs4r_version version; /* of the file when it was granted, or reserved (locks 23) */
	uint64_t n, since_ms, until_ms; /* until_ms: of one that is ready, or was given up */
	bool polls, ready;
	bool set; /* ready: it is among the ranges of the authority, and not only reserved */
	bool ask; /* the authority has to be asked anew */
	bool abandoned; /* its client does not know that it waits, or has it: until_ms is when that ends */
	struct lock_mine *prev, *next;
};

struct lock_copy { /* a file of which a client of this server has a lock: how new the copy has to be that its owner reads (locks 23) */
	struct nfs4r_oid oid;
	nfs4r_version version;
	UT_hash_handle hh;
};

struct lock_rec { /* an owner at a file that has something under way */
	struct lock_key key;
	const struct opx *active; /* one request at a time */
	uint64_t active_n; /* its number */
	struct lock_item *items;
	struct lock_mine *mine;
	uint64_t not_before;
	uint64_t asked_step; /* step of the core in which one of `mine` was asked last */
	uint64_t early_n; /* READY (early_ready) or AGAIN came for this number before the answer to its LOCK */
	bool early_ready;
	nfs4r_version early_version;
	UT_hash_handle hh;
};

/* ---- gaps (locks 8 to 11) ---- */

struct gap_row { /* gap_rows.c, row 'G': what a server controlled when its log ended, and nobody has ended the gap of since (locks 11) */
	struct nfs4r_oid oid;
	uint32_t depth;
	nfs4r_server_id server;
	nfs4r_lsn end; /* for reports: position behind the end of its log; of this server itself, which won what was in a gap: behind the end of its log then */
	bool old; /* noted before this server was outside */
	UT_hash_handle hh;
};

struct gap_claim { /* gap.c: an own claim that has, or had, a gap in this start, or may still have one */
	uint64_t seq;
	bool won; /* the claim is: before it is only known that there will be a gap */
	bool open;
	bool past; /* it was open: rows of its files do not count that are older than that */
	bool rows; /* other servers may have noted gaps of what it covers */
	nfs4r_lsn since; /* end of the own log when it was opened */
	uint64_t since_ms; /* when that was */
	uint64_t round; /* lists from this one on count */
	nfs4r_servers listed; /* members whose lists were taken in */
	nfs4r_servers known_by; /* members that know that it is over */
	uint64_t sent_ms;
	UT_hash_handle hh;
};

struct gap_list { /* gap.c: the newest list of a server */
	uint64_t round;
	uint32_t next; /* rows that are here */
	uint32_t nclients; /* that it said have not reclaimed */
	bool more_clients;
	uint64_t clients[NFS4R_LOCKS_LIST_CLIENTS][2];
};

struct locks_state { /* c->locks */
	struct nfs4r_locks *table; /* LT of all files; NULL until the first lock */
	struct nfs4r_locks *own; /* HT: what this server has told its clients that they have */
	struct lock_copy *copies; /* local_reads.c: of each file in HT */
	struct lock_file *files;
	struct lock_party *parties;
	struct lock_leaving *leaving;
	struct lock_requeue *requeues;
	struct lock_rec *recs;
	uint64_t n; /* of the newest request (locks 4) */
	bool work; /* some record may have something to send */
	bool running; /* records are being looked at: none goes */
	bool anew; /* holder.c: LOCKs that were forwarded are forwarded anew */
	/* begin.c */
	bool untold; /* what clients of this server had before locks held at all servers has not been asked for */
	bool awaits_known; /* that of all members: they have not said yet that it has been */
	/* gap.c */
	struct gap_claim *gap_claims;
	uint32_t ngaps; /* open ones */
	uint64_t gap_round; /* the newest */
	uint64_t gap_sent_ms;
	struct gap_list *gap_lists[NFS4R_SERVERS_MAX + 1];
	uint32_t gap_moved; /* outlive.c: parts of the entry that is being committed whose objects were in a gap before */
	struct gap_row *gap_rows; /* gap_rows.c */
	nfs4r_servers gap_stayed; /* gap_rows.c: members in all views since the one that took this server in again, and in the one before */
	/* reclaim.c */
	uint64_t reclaim_until_ms; /* clients may reclaim so long; 0: that is over */
	uint64_t reclaim_below; /* lives before it ended with the last start, or fence */
	bool outside; /* this server was outside the view, and has not served since */
	/* orphans.c */
	uint64_t outside_ms[NFS4R_SERVERS_MAX + 1]; /* since when a server is outside, as far as this start knows; 0: it is not */
	uint64_t sweep_ms; /* when rows are looked at; 0: not yet */
	uint64_t sweep_every_ms; /* how long after the last time */
	bool unsaved; /* a request waits until a claim that was won is on disk */
	struct shares_state shares; /* shares.c, guards.c */
};

#endif
