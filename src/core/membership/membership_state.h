/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The state of membership/, which the rooms above it read. */
#ifndef NFS4R_CORE_MEMBERSHIP_MEMBERSHIP_STATE_H
#define NFS4R_CORE_MEMBERSHIP_MEMBERSHIP_STATE_H

#include "core/state/limits.h"

struct vote { /* a PREPARE that waits for leases to end; from = 0: none */
	nfs4r_server_id from;
	uint64_t num;
	nfs4r_servers remove, add, seal;
};

struct accepting { /* an ACCEPT that waits for logs up to their seals (log 6.5); from = 0: none */
	nfs4r_server_id from;
	struct nfs4r_view view;
};

struct proposal { /* of this server; num = 0: none */
	uint64_t num;
	uint64_t on; /* the view adopted when it was made: what is added was checked against that */
	nfs4r_servers voters; /* of that view */
	nfs4r_servers remove, add, seal, promises, complete, accepted;
	struct nfs4r_volume_settings settings; /* that it is to have (log 6.16); 0: those of its base */
	nfs4r_server_id in, out; /* a server that becomes one of the volume, one that is taken out (log 9.1); 0: none */
	nfs4r_server_id rekey; /* one that gets other keys (log 6.18); 0: none */
	struct nfs4r_view base, view;
	nfs4r_lsn top[NFS4R_SERVERS_MAX + 1]; /* highest applied among the promises */
	bool accepting;
	bool reconf; /* of the survivors `voters`: all of them promise and accept (log 9.3) */
	nfs4r_lsn has[NFS4R_SERVERS_MAX + 1][NFS4R_SERVERS_MAX + 1]; /* then: applied of each log, by promise */
	uint64_t decide_ms; /* enough have promised; the rest may until then */
	uint64_t until_ms;
};

#define ADDRESS_TABLES_MAX 4
#define SETTINGS_ROWS_MAX 4

struct settings_row { /* row 'W': the settings of the view with that number */
	uint64_t view; /* 0: this place is free */
	struct nfs4r_volume_settings settings;
	uint32_t longest_ms; /* of struct view, as it was then */
};

struct address_table_rows { /* rows 'B': the addresses and keys of the view with that number */
	uint64_t view; /* 0: this place is free */
	uint32_t n;
	struct nfs4r_address v[NFS4R_SERVERS_MAX];
};

struct change { /* reconfig.c, server_keys.c: what an administrator asked for; in memory until it is done or refused */
	nfs4r_server_id add, remove, rekey; /* 0: nothing */
	bool abandon;
	bool finish; /* volume_settings.c: an upgrade */
	enum nfs4r_volume_key key; /* volume_settings.c: gets `value`; 0: none */
	uint32_t value;
	uint32_t nall;
	struct nfs4r_address all[NFS4R_SERVERS_MAX];
	char waits[NFS4R_CORE_TEXT];
};

struct believe { /* view_evidence.c */
	struct nfs4r_view reported[NFS4R_SERVERS_MAX + 1]; /* the last view that each peer said to be adopted; num 0: none */
	uint64_t reported_ms[NFS4R_SERVERS_MAX + 1]; /* since when it says one that is not adopted here */
	uint64_t works_ms; /* when a majority was last heard that goes by the view adopted here */
	uint64_t begun; /* the highest number known here at the start */
	struct {
		uint64_t rounds, at_ms; /* that its word alone may still raise the highest number here; as of then */
	} room[NFS4R_SERVERS_MAX + 1];
};

struct view { /* view.c; the first lines are in the row 'V' */
	struct nfs4r_view adopted, accepted;
	uint64_t reconf_epoch; /* force_reconfig.c: an administrator's word; 0: none */
	nfs4r_servers reconf_set;
	uint64_t promised, frozen_num;
	nfs4r_servers frozen; /* no grants to them before a view with at least frozen_num is adopted */
	nfs4r_servers sealing; /* nothing more of these logs is taken before that */
	bool complete; /* this member has all rows */
	uint64_t lease_until, started_ms, beat_at;
	bool left; /* the lease is given back, for good (log 6.11) */
	uint64_t remaining_ms; /* since when */
	struct vote vote, pledge; /* the PREPARE that waits; the one that was promised last in this start, num 0: none */
	nfs4r_servers exact; /* of those being sealed: what is applied was promised; nothing begins */
	uint64_t reconf_ms; /* since when this start has that word */
	struct accepting accepting;
	struct proposal proposal;
	nfs4r_servers missing; /* members that did not promise a view that seals: they are removed, too */
	nfs4r_servers abandoned; /* by an administrator, and not sealed yet */
	uint64_t retry_ms, wanted_ms, stuck_ms; /* no new proposal before; a change is wanted: propose then; a promise hangs: unstick then */
	uint64_t seen; /* highest number heard of */
	bool plain; /* next the highest accepted view as it is: it has other voters, and all of them may be needed for it; or no copy is complete (log 6.4) */
	uint64_t calm_ms; /* until then no log is ended: members close the gaps of their copies */
	bool gaps; /* by its last promise of the end of a log this server's copy is not complete */
	uint64_t confirm_at; /* a HEARTBEAT that says so, or not, is due: one that waits for the disk */
	bool confirmed_sent;
	nfs4r_servers bare; /* fixed: who has said that it has no secret */
	uint32_t nadopted, naccepted; /* start: addresses in the books of these two, as row 'V' says */
	struct address_table_rows books[ADDRESS_TABLES_MAX];
	struct settings_row settings[SETTINGS_ROWS_MAX];
	/* Log 6.17: leases of this length are granted; a longer one of before may still run, until then (0: none). */
	uint32_t grants_ms, longest_ms;
	uint64_t longest_until;
	/* of state/ */
	bool ready; /* a member that is complete; or views are off */
};

struct view_row { /* what row 'V' holds of struct view */
	struct nfs4r_view adopted, accepted;
	uint64_t promised, frozen_num, reconf_epoch;
	nfs4r_servers frozen, sealing, reconf_set;
	uint32_t nadopted, naccepted;
	bool complete;
};

struct trouble { /* withdraw.c; the first three are in the row 'Z' */
	uint32_t cause; /* enum nfs4r_status; 0: none */
	nfs4r_server_id log; /* the entry that could not be applied for half a lease */
	nfs4r_lsn lsn;
	bool reported; /* not from an entry: what is in doubt cannot be written */
};

struct membership_port { /* what membership tells the rooms above it; filled in by the door */
	/* A view is adopted, and its row is put. @old: the one before; @removed: members no more; @anew: members that were not in all views since. */
	void (*view_adopted)(struct nfs4r_core *c, const struct nfs4r_view *old, nfs4r_servers removed, nfs4r_servers anew);
	void (*copy_is_worthless)(struct nfs4r_core *c); /* log 9.3: only the copy of those that go on counts */
};

#endif
