/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Private to store*.c. */
#ifndef NFS4R_TESTS_SIM_STORAGE_H
#define NFS4R_TESTS_SIM_STORAGE_H

#include "sim.h"

#include "platter.h"
#include "store/internal.h"

struct storage {
	struct platter *platter;
	struct nfs4r_store *store; /* open from the moment of a crash on, before the server starts */
	struct nfs4r_store_info info;
	struct image *image;
	uint32_t boots;
	bool halted, machine; /* at the end of this event; it is a loss of power */
	bool excused; /* the disk failed, so the store may */
	bool laying; /* zeros behind its journal's end, in a task */
	bool recovering; /* it was about to note that its tail is back */
	nfs4r_journal_pos end; /* of what was recovered */
	nfs4r_lsn told[SERVERS_MAX + 1]; /* stable, before the crash */
	nfs4r_lsn saved[SERVERS_MAX + 1]; /* in LMDB by the newest checkpoint that was over */
	nfs4r_lsn files[SERVERS_MAX + 1]; /* applied, when the newest sync of the files began */
	struct nfs4r_store_positions source; /* of a repair, as it began */
	/* objects whose files changed in place, and when: of checkpoints that are over they are forgotten */
	uint32_t ntouched;
	uint64_t *touched, touches;
	/* objects that updates of others were changing when it ended */
	bool *amid;
	uint32_t namid;
	struct saving_files {
		nfs4r_journal_pos pos; /* of the checkpoint under way */
		uint64_t touches; /* when it began to sync the files */
	} saving;
};

/* store.c */
void store_halt(struct server *v, enum nfs4r_status st); /* it cannot be written */
void store_note_synced(struct server *v);
/* store_checkpoint.c: what changed in place; and that a checkpoint is over */
void store_touched(struct server *v, const struct nfs4r_entry *e);
void store_touches_saved(struct server *v);
/* Dies on the way, perhaps, and tries again. */
void store_open(struct server *v, bool may_die);
void store_close(struct server *v, bool in_order, bool power); /* @power: it is lost */

#endif
