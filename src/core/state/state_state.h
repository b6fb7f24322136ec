/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Types that all rooms use, and the list of actions. */
#ifndef NFS4R_CORE_STATE_STATE_STATE_H
#define NFS4R_CORE_STATE_STATE_STATE_H

#include "core/state/limits.h"

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

struct pidkey { /* no padding: hashed as bytes */
	uint64_t server, seq;
};

struct start { /* of a store (log 2.1): its counter below the generation of the server's log, and a random number */
	uint64_t inc, random;
	uint64_t pos; /* in its journal: an own one's begin; the highest that a peer told in its own */
};

struct complaint { /* said_ms 0: none */
	uint64_t key, said_ms; /* nfs4r_said_key() of its text */
};

struct peer { /* the lines "of ROOM/" say which room writes what follows them; tests/unit/layers/writes.py reads them */
	/* of door/ */
	bool up, down;
	uint64_t down_at; /* when it went down */
	uint64_t inc;
	/* of log/ */
	bool reported; /* positions came since start or PEER_UP */
	nfs4r_lsn sent; /* of our log */
	nfs4r_lsn received[NFS4R_SERVERS_MAX + 1], applied[NFS4R_SERVERS_MAX + 1], stable[NFS4R_SERVERS_MAX + 1];
	nfs4r_lsn first_reported[NFS4R_SERVERS_MAX + 1]; /* applied, when this incarnation told first; log 4.7 */
	nfs4r_lsn base[NFS4R_SERVERS_MAX + 1]; /* the first entry of each log that it can give */
	uint64_t slow_ms; /* retention.c: since when entries are kept for it beyond the bound; 0: they are not */
	nfs4r_lsn end; /* of its log */
	uint64_t clock_ns; /* last it told, to be echoed */
	uint64_t reported_ns; /* highest it told, this incarnation */
	uint64_t less_ms; /* since when it says that it received less than it had said; 0: it does not */
	/* of policy/ */
	uint64_t rtt_ms; /* of elections, smoothed; 0: not known */
	/* of state/ */
	struct complaint complaints[COMPLAINTS]; /* what the log lately said that it sent and may not */
	/* of membership/ */
	bool beats, caught_up, joining; /* a heartbeat came since start; as it said: outside and near the end, member and not ready */
	bool repairing; /* as it said: its copy is ahead of a seal */
	bool met; /* a heartbeat came since PEER_UP: what it said before may be of a store that it lost */
	uint64_t back_ms; /* it was removed though it was heard, perhaps to be taken out: not added again before */
	uint64_t outside_ms; /* since when it is no member, as far as this start knows; 0: it is one */
	uint64_t heard_ms, unready_ms; /* last heartbeat; since when it is a member that is not ready */
	bool locks_known; /* as it said: what its clients had before locks held at all servers has been asked for (locks 21) */
	bool complete; /* this incarnation said, in a view that both are in, that it has all rows */
	uint64_t reconf_epoch, reconf_ms; /* force_reconfig.c: the word that it said last, 0: none; since when */
	nfs4r_servers reconf_set;
	uint64_t view, promised; /* as it said */
	uint64_t view_digest, accepted, accepted_digest; /* as it said (log 6.14) */
	uint64_t confirmed; /* newest view that it said to be on its disk, and to have arrived in (log 9.1) */
	nfs4r_servers hears;
	uint64_t lease_until; /* ours to it: not before this a view without it */
	struct start granted; /* which of its starts that was for */
	bool left; /* its newest start has given its lease back (log 6.11) */
	struct nfs4r_versions protocol, disk_format; /* as it said (log 6.16); 0: nothing yet */
	uint32_t trouble; /* as it said: why it cannot apply an entry (log 6.12), or has halted (log 4.15); 0: neither */
	bool halted, halted_files; /* it has; for what its exported directory's file system did */
	uint64_t granted_t, granted_until; /* its to us: our clock in the newest heartbeat that it granted; and when the last of these grants ends */
	uint64_t counted_ms; /* last heartbeat of a server that remembers, or the view that added it */
	bool judged; /* its word about this server was heard since the start */
	nfs4r_servers claims; /* servers outside of which it knows claims */
	enum nfs4r_memory memory; /* of this incarnation, as it said last; 0: it said nothing yet */
	struct start start; /* as it said */
	uint64_t learner_ns; /* its clock when it said as a learner that it forgot; 0: not yet */
	/* of recovery/ */
	struct start knows; /* amnesia.c: the newest in which it remembered (row 'I') */
	uint64_t knows_ms, knows_put; /* when that row was put last, and with which position */
	uint64_t joined_below; /* control_transfer.c: its claims with a lower seq that are not in the table are dead */
};

enum dirty { /* what has to be looked at again before the step ends */
	DIRTY_OPS = 1, /* control changed: waiting operations */
	DIRTY_REPLY = 2, /* acks or positions moved: answers */
	DIRTY_RELEASE = 4, /* stable moved, a pin fell: closing claims */
	DIRTY_OBJECTS = 8, /* an entry was applied: operations that wait for an object */
	DIRTY_OPENS = 16, /* a deep+ ended: files written under it (control 3.8) */
	DIRTY_LOCKS = 64, /* locks that were given back, and the like: the authority has to hear it */
	DIRTY_POLICY = 32, /* others read a lot because of a deep control */
};

struct outbox { /* c->out */
	/* outbox.c */
	struct nfs4r_action *acts;
	uint32_t nacts, acts_cap;
	void **kept; /* what the actions point to */
	uint32_t nkept, inline_cap;
	struct nfs4r_update upd;
	uint64_t timer;
	uint64_t stuck_at; /* when the last line about what waits was given out; 0: none was */
	struct nfs4r_put *puts; /* of the commit in progress */
	uint32_t nputs, puts_cap;
};

#endif
