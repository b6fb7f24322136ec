/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The state of recovery/, which the rooms above it read. */
#ifndef NFS4R_CORE_RECOVERY_RECOVERY_STATE_H
#define NFS4R_CORE_RECOVERY_RECOVERY_STATE_H

#include "core/state/limits.h"

struct joiner { /* control_transfer.c: one list of controls, on its way */
	bool made; /* by this server; else it is another's, or there is none */
	uint64_t next_seq; /* below it every claim of its maker is in the list or dead */
	nfs4r_lsn applied[NFS4R_SERVERS_MAX + 1];
	uint32_t n, cap;
	struct nfs4r_join_row *rows;
};

struct released { /* a claim */
	struct pidkey key;
	UT_hash_handle hh;
};

struct join {
	struct joiner from[NFS4R_SERVERS_MAX + 1], to[NFS4R_SERVERS_MAX + 1];
	nfs4r_servers want, have; /* lists that are being gathered; lists that are whole and not put in */
	nfs4r_servers owed; /* members that were not sent the own list since this server was complete; who has not got it may know claims that are gone */
	nfs4r_servers asked; /* those of them that are asked what of a removed server's claims they have */
	nfs4r_servers witness[NFS4R_SERVERS_MAX + 1]; /* of each that is outside: members that were complete members with it */
	struct released *released; /* since the first was asked for */
	uint64_t repeat_ms;
};

enum memory_state { /* values in the row */
	MEMORY_NEW = 1, /* an empty store, or one that is older than this rule */
	MEMORY_FORGOT = 2, /* another server remembers a start that is not of this store */
	MEMORY_OUTSIDE = 3, /* and this one was removed since */
	MEMORY_REPAIRED = 4, /* and its copy is made anew */
	MEMORY_KNOWN = 5,
};

struct memory { /* amnesia.c; state and starts are in the row 'M' */
	enum memory_state state;
	uint32_t nstarts;
	uint64_t mine_below; /* older ones were of this store, or are forgiven */
	struct start starts[STARTS_REMEMBERED]; /* ascending */
	struct start now;
	bool saved; /* that this start is KNOWN is on disk */
};

enum repair_state {
	REPAIR_NONE = 0,
	REPAIR_DRAIN,
	REPAIR_WAIT,
	REPAIR_RUNS,
	REPAIR_ASKS
};

struct repair { /* state_transfer.c: this copy is ahead of a seal, or has to be made anew */
	enum repair_state state; /* what is under way ends; no source, or not yet again; REPAIR was given; done, how far was the source? */
	bool all;
	bool list; /* of objects that are inexact (fuzzy.c) */
	nfs4r_server_id from, failed;
	bool anew; /* RUNS: the source has started anew since, and may have lost what it said it had */
	uint64_t again_ms;
	uint64_t done_ms; /* ASKS: when the last object came */
	bool source_known; /* ASKS: how far the source was is known, and not on its disk yet */
	nfs4r_lsn lsn[NFS4R_SERVERS_MAX + 1];
};

/*
 * state_transfer.c, row 'C': what was copied from another server may hold entries up to here, whatever the own positions are; and the copy
 * of everything is not done (or not known to be).
 */
struct reach {
	bool open; /* the own positions are not there yet */
	bool all;
	bool anew; /* the copy was made anew, and is not whole yet: of the logs of others it counts for no more than `before` */
	nfs4r_lsn lsn[NFS4R_SERVERS_MAX + 1];
	nfs4r_lsn before[NFS4R_SERVERS_MAX + 1];
};

struct mend { /* fuzzy.c: repair of what is inexact */
	uint64_t view; /* what others said in another one does not count */
	uint64_t again_ms, asked[NFS4R_SERVERS_MAX + 1];
	uint32_t in_vain; /* repairs of a list in a row that changed nothing */
	struct nfs4r_oid *oids;
	uint32_t n, cap;
};

#endif
