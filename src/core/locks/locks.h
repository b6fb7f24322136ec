/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* locks/: byte-range locks: what an authority has granted, what this server's clients have, and what outlives control. What it offers to the rooms above it. */
#ifndef NFS4R_CORE_LOCKS_LOCKS_H
#define NFS4R_CORE_LOCKS_LOCKS_H

#include "core/core_state.h"

enum locks_outcome {
	LOCKS_DONE = 1, /* op->status and the answer in op->lock are set */
	LOCKS_LATER, /* its list is on the way into the tree: again, after the next commit */
	LOCKS_OLD /* a late copy: it is dropped, without an answer */
};

/* authority.c: this server's acting claim covers op->obj */
enum locks_outcome locks_request(struct nfs4r_core *c, struct nfs4r_op *op, nfs4r_server_id holder, uint64_t inc);
void locks_test_row(struct nfs4r_core *c, struct nfs4r_op *op); /* LOCK_TEST of what nobody controls */
void locks_authority_timers(struct nfs4r_core *c);
void locks_authority_on_msg(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m); /* LOCK_READY or REQUEUE that was heard */
void locks_authority_forget(struct nfs4r_core *c, nfs4r_servers servers); /* what waits of them */

/* holder.c: of this server's clients */
bool locks_fetch(struct nfs4r_core *c, const struct nfs4r_op *op, enum nfs4r_status *st); /* true: a LOCK that is answered without the authority */
void locks_unlock(struct nfs4r_core *c, const struct nfs4r_op *op);
void locks_unwait(struct nfs4r_core *c, const struct nfs4r_op *op);
bool locks_begin(struct nfs4r_core *c, const struct opx *o, struct nfs4r_op *op); /* false: not yet (locks 16). Gives it its number; since_ms is when its caller asked */
bool locks_is_full(struct nfs4r_core *c);
bool locks_gives_back(const struct nfs4r_op *op); /* of this server's own asking: perhaps others can read there after it */
void locks_end(struct nfs4r_core *c, const struct opx *o, const struct nfs4r_op *op, enum nfs4r_status st, enum locks_asker who);
/*
 * What is to be sent in the name of this server itself: locks_run_begin(), then each time the next record and its request, until NULL; locks_run_end(). Records are there
 * until then. @more: some could not begin, and are looked at again at the next occasion.
 */
void locks_run_begin(struct nfs4r_core *c);
struct lock_rec *locks_run_next(struct nfs4r_core *c, struct lock_rec *after, struct nfs4r_op *op, enum locks_asker *who);
void locks_begin_own(struct nfs4r_core *c, struct lock_rec *r, const struct opx *o, struct nfs4r_op *op);
void locks_run_end(struct nfs4r_core *c, bool more);
void locks_ask_again(struct nfs4r_core *c); /* all who wait */
void locks_await_disk(struct nfs4r_core *c, bool wait);
void locks_holder_timers(struct nfs4r_core *c);
void locks_holder_on_msg(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);

bool locks_are_asked_anew(struct nfs4r_core *c); /* once for each locks_void(): answers that were asked for before do not count */
void locks_holder_forget(struct nfs4r_core *c); /* all that clients of this server have or wait for */

bool locks_own_has(const struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock_owner *owner, uint64_t start, uint64_t last); /* all of these bytes, read or write */

/* local_reads.c: what owners of locks read here (locks 23) */
bool locks_copy_will_do(const struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_version version); /* this one; someone here has a lock of the file */
void locks_copy_lags(struct nfs4r_core *c, const struct nfs4r_oid *oid); /* a client was answered that has written it, and the copy does not have that */

/* reclaim.c: what clients of this server had before a start, or before it was outside */
uint64_t locks_number_next(struct nfs4r_core *c); /* of a request (locks 4) */
void locks_reclaim_started(struct nfs4r_core *c);
void locks_reclaim_timers(struct nfs4r_core *c);
void locks_client_reclaimed(struct nfs4r_core *c, const uint64_t id[2]);
void locks_view_adopted(struct nfs4r_core *c, nfs4r_servers anew);
bool locks_is_outside(const struct nfs4r_core *c); /* until locks_fence() */
bool locks_is_back(const struct nfs4r_core *c); /* it was outside, and may serve: locks_fence() first */
void locks_fence(struct nfs4r_core *c);

/* orphans.c: what nobody gives back */
void locks_orphans_timers(struct nfs4r_core *c);
void locks_orphans_new_view(struct nfs4r_core *c);
void locks_lost(struct nfs4r_core *c); /* log_clients_run_sure() */
uint32_t locks_sweep(struct nfs4r_core *c, struct nfs4r_oid *out, uint32_t max); /* files that somebody has to make a table of */

/* gap.c: what an authority that has no table may not do, for whom it waits, and when that is over */
void locks_become_shared(struct nfs4r_core *c, const struct nfs4r_view *old); /* a view was adopted after that one */
void locks_known(struct nfs4r_core *c); /* by this server's clients */
bool locks_may_begin(struct nfs4r_core *c); /* nobody has anything of before that is not known; else only reclaims are granted (locks 21) */

bool locks_in_gap(struct nfs4r_core *c, const struct nfs4r_oid *oid); /* under control of this server, closing or not */
bool locks_row_is_past(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_lsn written); /* ... which is of that own entry, 0: of any other: it is older than the table that was lost */
bool locks_gap_noted(struct nfs4r_core *c, const struct nfs4r_oid *oid); /* of it, or above it */
void locks_gap_started(struct nfs4r_core *c);
void locks_gap_timers(struct nfs4r_core *c);
void locks_gap_goes_on(struct nfs4r_core *c); /* what gaps wait for may have come */
void locks_gap_new_view(struct nfs4r_core *c, nfs4r_servers anew);
void locks_gap_peer_fresh(struct nfs4r_core *c, nfs4r_server_id s);
void locks_gap_joined(struct nfs4r_core *c, nfs4r_servers servers); /* they have taken over the gaps of others */
bool locks_gap_keeps(const struct nfs4r_core *c, const struct claim *cl); /* it is not released */
void locks_gap_named(struct nfs4r_core *c, struct claim *cl, nfs4r_server_id from); /* an ACK of an own claim says that there is one */
void locks_gap_won(struct nfs4r_core *c, struct claim *cl);
void locks_gap_on_question(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void locks_gap_on_list(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void locks_gap_on_over(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);

/* For reports: whose lists it waits for, and (of all gaps) servers whose clients are awaited; what it covers. @out: NFS4R_CLAIM_CONTROLS_MAX */
nfs4r_servers locks_gap_awaits_lists(const struct nfs4r_core *c, const struct gap_claim *g);
nfs4r_servers locks_gap_awaits_clients(const struct nfs4r_core *c);
bool locks_gap_covers(struct nfs4r_core *c, const struct gap_claim *gap, const struct nfs4r_oid *oid);
uint32_t locks_gap_controls(const struct nfs4r_core *c, const struct gap_claim *g, struct nfs4r_control *out);

/* gap_rows.c: what others controlled when their logs ended */
bool locks_gap_restored(struct nfs4r_core *c, const struct gap_row *row); /* false: it makes no sense */
void locks_gap_of_ended(struct nfs4r_core *c, const struct claim *cl); /* its owner's log has ended */
bool locks_gap_touches(struct nfs4r_core *c, const struct claim *cl); /* something of what it controls, or below it, is in one */
void locks_gaps_forget(struct nfs4r_core *c);
void locks_gaps_older(struct nfs4r_core *c, nfs4r_servers anew); /* a view was adopted, and no log has ended with it yet */
void locks_gap_taken_over(struct nfs4r_core *c, const struct nfs4r_control *k, nfs4r_server_id server, nfs4r_lsn end);

/* outlive.c: what is held when control ends */
void locks_claim_closes(struct nfs4r_core *c, struct claim *cl);
void locks_before_commit(struct nfs4r_core *c, const struct nfs4r_entry *e);
bool locks_claim_is_awaited(struct nfs4r_core *c, const struct claim *cl); /* requests wait under it, and not all of them at one other server */
void locks_committed(struct nfs4r_core *c, const struct nfs4r_entry *e);
void locks_claim_released(struct nfs4r_core *c, struct claim *cl);

/* table.c */
void locks_fini(struct nfs4r_core *c);

#endif
