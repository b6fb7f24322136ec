/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of locks/ share, and the rooms that it may call. */
#ifndef NFS4R_CORE_LOCKS_LOCKS_INT_H
#define NFS4R_CORE_LOCKS_LOCKS_INT_H

#include "core/state/state.h"
#include "core/control/control.h"
#include "core/policy/policy.h"
#include "core/log/log.h"
#include "core/locks/locks.h"

static inline bool lock_is(const struct nfs4r_lock *a, const struct nfs4r_lock *b)
{
	return a->type == b->type && a->start == b->start && a->last == b->last && memcmp(&a->owner, &b->owner, sizeof(a->owner)) == 0;
}

static inline void lock_key_of(struct lock_key *k, const struct nfs4r_oid *oid, const struct nfs4r_lock_owner *owner)
{
	memset(k, 0, sizeof(*k));
	k->oid = *oid;
	k->owner = *owner;
}

/* table.c */
struct nfs4r_locks *locks_table(struct nfs4r_core *c);
struct lock_file *locks_file_find(struct nfs4r_core *c, const struct nfs4r_oid *oid);
struct lock_file *locks_file_get(struct nfs4r_core *c, const struct nfs4r_oid *oid); /* NULL: its list is on the way into the tree */
void locks_file_drop(struct nfs4r_core *c, struct lock_file *f);
bool locks_file_is_full(struct nfs4r_core *c, const struct lock_file *f, const struct nfs4r_lock *more); /* one entry cannot list @more (NULL: any one range), too */
uint32_t locks_file_list(struct nfs4r_core *c, const struct lock_file *f, struct nfs4r_file_lock *out); /* what is held, at most NFS4R_LOCKS_LIST_MAX */
struct lock_party *locks_party_find(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock_owner *owner);
struct lock_party *locks_party_get(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock_owner *owner);
enum nfs4r_lock_answer locks_set(struct nfs4r_core *c, struct lock_file *f, const struct nfs4r_lock *lock, enum nfs4r_lock_wait wait, void *tag, struct nfs4r_lock *conflict);
/* Its client does not know that it has @lock, and perhaps never hears it: what it may write there stays (locks 22). */
enum nfs4r_lock_answer locks_set_unheard(struct nfs4r_core *c, struct lock_file *f, const struct nfs4r_lock *lock, enum nfs4r_lock_wait wait, void *tag, struct nfs4r_lock *conflict);
void locks_clear(struct nfs4r_core *c, struct lock_file *f, const struct nfs4r_lock *lock);
void locks_left(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_lsn lsn); /* its LOCKS entry is under way */

void locks_load_below(struct nfs4r_core *c, const struct nfs4r_oid *obj); /* it, and what is below it, if their rows are not empty */
void locks_load_past(struct nfs4r_core *c); /* files of a gap that is over whose rows are not empty, so that they are written when control ends */

/* reclaim.c */
uint64_t locks_number_base(uint64_t generation, uint64_t start); /* the numbers of that start, in that generation of the server's log, are higher */
uint64_t locks_life(const struct nfs4r_core *c, const struct nfs4r_lock_owner *owner); /* of a client of this server */

/* orphans.c */
void locks_sweep_soon(struct nfs4r_core *c); /* rows are to be looked at */
bool locks_is_lost(const struct nfs4r_core *c, nfs4r_server_id holder, const struct nfs4r_lock *lock);

/* gap.c */
bool locks_gap_any(const struct nfs4r_core *c);
bool locks_gap_allows(struct nfs4r_core *c, const struct nfs4r_op *op, nfs4r_server_id holder);
void locks_gap_moved(struct nfs4r_core *c, const struct nfs4r_oid *oid); /* out of what is in a gap */
void locks_gap_released(struct nfs4r_core *c, const struct claim *cl);
void locks_gap_fini(struct nfs4r_core *c);

/* gap_rows.c */
void locks_gap_note(struct nfs4r_core *c, const struct nfs4r_control *k, nfs4r_server_id server, nfs4r_lsn end);
void locks_gap_drop(struct nfs4r_core *c, const struct nfs4r_control *v, uint32_t n); /* of all that is in @v, or below it */
void locks_gap_dead(struct nfs4r_core *c, const struct nfs4r_oid *oid);
void locks_gap_all_over(struct nfs4r_core *c);

/* outlive.c */
void locks_gap_over(struct nfs4r_core *c);

/* authority.c */
void locks_serve(struct nfs4r_core *c); /* what is reserved by now */
void locks_say_requeue(struct nfs4r_core *c, const struct lock_wait *w);
void locks_requeue(struct nfs4r_core *c, struct lock_file *f, struct lock_wait *w); /* it waits no longer */
void locks_wait_drop(struct lock_file *f, struct lock_wait *w);

/* holder.c */
/* What this server says that its clients have. */
void locks_own_each(struct nfs4r_core *c, void (*fn)(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock), void *arg);
void locks_void(struct nfs4r_core *c); /* what is ready or was asked for does not count any more: all is asked anew */
uint64_t locks_answered(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock_owner *owner); /* all of its requests up to this number */
void locks_holder_ready(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, uint64_t n, nfs4r_version version);
void locks_holder_again(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, uint64_t n);

/* local_reads.c */
void locks_copy_needed(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_version version); /* a lock was granted when the file had that */
void locks_copy_unneeded(struct nfs4r_core *c, const struct nfs4r_oid *oid); /* nobody here has a lock of it */

#endif
