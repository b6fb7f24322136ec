/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* This copy becomes equal to another server's: after a loss, after a crash, and where somebody changed it behind NFS. */
#ifndef NFS4R_ENGINE_RESYNC_H
#define NFS4R_ENGINE_RESYNC_H

#include "engine/runtime/runtime.h"

/* ---- transfer.c ---- */
void resync_start(struct nfs4r_engine *eng, const struct nfs4r_action *a); /* takes the place of one that runs. eng->lock held */

/* ---- crash_check.c: after a crash of the machine ---- */
enum nfs4r_status resync_crash_begin(struct nfs4r_engine *eng, const struct nfs4r_store_info *info); /* from now on all is in doubt */
void resync_crash_queue(struct nfs4r_engine *eng); /* settle it before anything is repaired */
void resync_crash_free(struct nfs4r_engine *eng);

/* ---- self_heal.c; any thread, no lock held ---- */
void resync_heal_task(struct nfs4r_engine *eng, void *arg); /* of missing.c */
struct behind_want { /* of a mend that is asked for */
	nfs4r_servers from; /* take it from one of these; 0: from any that has it */
	bool content; /* it is there, and its content or attributes are wrong */
	nfs4r_server_id took; /* out: from whom */
	char why[300]; /* out: what went wrong */
};
/* Make the object as the volume has it: there, with its content, attributes and names. Blocks on other servers: only for a thread of its own. */
enum nfs4r_status resync_heal(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct behind_want *w);
/* Names of a directory on the disk become those of the store; *missing: names whose object is not on the disk. Blocks on the local disk. */
enum nfs4r_status resync_heal_names(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, uint64_t *moved);
struct behind_counts {
	uint64_t taken, failed; /* objects, since the start */
	uint64_t aside; /* foreign names that were moved to the hidden directory, since the start */
	uint64_t waiting; /* objects now */
	uint64_t strays; /* in the hidden directory now */
};
void resync_heal_count(struct nfs4r_engine *eng, struct behind_counts *out); /* blocks on the local disk */

/* ---- conflicts.c ---- */
uint64_t resync_saved(const struct nfs4r_engine *eng); /* folders of undone updates under Conflicts that nobody has taken away. Any thread; blocks on the disk */

#endif
