/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* control/: who controls what: the control table, the ancestry table, elections, releases. What it offers to the rooms above it. */
#ifndef NFS4R_CORE_CONTROL_CONTROL_H
#define NFS4R_CORE_CONTROL_CONTROL_H

#include "core/core_state.h"

/* ancestry.c */
nfs4r_servers control_anc_below(const struct nfs4r_core *c, const struct nfs4r_oid *dir);
void control_anc_rebuild(struct nfs4r_core *c);
bool control_anc_check(const struct nfs4r_core *c, char *why, size_t why_len); /* the table against a recount; false: @why says where it differs */
/* Own claims with a control strictly below @dir, once for each such control; free(l->v) is the caller's. */
void control_anc_own_below(const struct nfs4r_core *c, const struct nfs4r_oid *dir, struct own_list *l);
void control_anc_before_commit(struct nfs4r_core *c, struct nfs4r_entry *e, struct anc_change *ch);
void control_anc_after_commit(struct nfs4r_core *c, const struct anc_change *ch);

/* backoff.c: what is not asked for now, because others want it (control 7.5, 7.6) */
struct oidmark *control_mark_find(struct oidmark *table, const struct nfs4r_oid *oid);
struct oidmark *control_mark_get(struct oidmark **table, const struct nfs4r_oid *oid);
uint64_t control_mark_count(struct oidmark **table, const struct nfs4r_oid *oid, int by); /* what it is then; at 0 there is no mark */
void control_mark_drop(struct oidmark **table, const struct nfs4r_oid *oid);
bool control_mark_lasts(const struct nfs4r_core *c, struct oidmark *table, const struct nfs4r_oid *oid);
void control_mark_until(const struct nfs4r_core *c, struct oidmark **table, const struct nfs4r_oid *oid, uint64_t until);
uint64_t control_farthest_rtt(const struct nfs4r_core *c); /* in ms, of elections */
uint64_t control_holdoff_ms(const struct nfs4r_core *c);
uint64_t control_holdoff_until(struct nfs4r_core *c, const struct nfs4r_oid *oid);

/* deferred.c: proposals that came before the entry that makes their object (control 4.3d) */
bool control_deferred_next(struct nfs4r_core *c, nfs4r_server_id *from, struct nfs4r_msg *m); /* one whose objects are known now, which is not kept any more */
void control_deferred_timers(struct nfs4r_core *c);
void control_deferred_forget(struct nfs4r_core *c, nfs4r_servers whose);

/* downgrade.c: closed files, and directories that others read, are read from copies before their control is released (control 7.10) */
void control_announce_on_closing(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void control_announce_applied(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn before); /* more of another's log is here than `before` */
bool control_is_good_copy(const struct nfs4r_core *c, const struct claim *cl); /* may this server's copy be read as if @cl were released? */

/* election.c */
struct own *control_election_propose(struct nfs4r_core *c, const struct nfs4r_control *v, uint32_t n, uint32_t attempts,
				     enum own_purpose purpose);
void control_claim_promotes(struct own *ow);
void control_claim_abort(struct nfs4r_core *c, struct own *ow);
void control_election_send(struct nfs4r_core *c, struct own *ow, nfs4r_server_id to);
void control_election_check_win(struct nfs4r_core *c, struct own *ow);
void control_election_barriers(struct nfs4r_core *c);
void control_election_on_propose(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void control_election_on_ack(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void control_election_on_nack(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void control_election_timers(struct nfs4r_core *c);
void control_election_peer_moved(struct nfs4r_core *c, nfs4r_server_id s);
void control_election_peer_up(struct nfs4r_core *c, nfs4r_server_id s);
void control_elections_new_view(struct nfs4r_core *c, nfs4r_servers removed, nfs4r_servers added);
void control_elections_again(struct nfs4r_core *c);
void control_election_joined(struct nfs4r_core *c, nfs4r_server_id from, uint64_t next_seq); /* it has all own claims below that */
bool control_elections_decided(const struct nfs4r_core *c);
void control_claim_restart(struct nfs4r_core *c, struct own *ow); /* a won one, after a restart (control 4.9) */
void control_abort_deleted(struct nfs4r_core *c, const struct nfs4r_oid *oid);

/* joined.c: what an entry changes of control when it is committed */
void control_joined_note_move(struct nfs4r_core *c, const struct nfs4r_entry *e);
void control_joined_ancestors_until(struct nfs4r_core *c, nfs4r_lsn lsn); /* an own entry in the tree changes ancestors */
/* Nothing is known of what moved before: the end of the own log stands for all of it. After a repair of the tree of ancestors, too. */
void control_joined_moved_until(struct nfs4r_core *c, nfs4r_lsn end);
void control_joined_rebuilt(struct nfs4r_core *c, nfs4r_lsn end);
void control_joined_row(struct nfs4r_core *c, const struct nfs4r_entry *e); /* its claim's row, in the commit */
void control_joined_in(struct nfs4r_core *c, const struct nfs4r_entry *e, bool born_acked_by_all);

/* release.c */
void control_claim_used(struct nfs4r_core *c, struct own *ow);
void control_claim_start_closing(struct nfs4r_core *c, struct own *ow);
void control_claim_close_when_won(struct own *ow); /* it has a majority, so it cannot be aborted any more */
struct claim *control_claim_reopen(struct nfs4r_core *c, const struct need *n); /* one that covers it now, or NULL */
void control_claim_release(struct nfs4r_core *c, struct own *ow);
void control_release_all(struct nfs4r_core *c); /* what is won closes, or as soon as 5.5 allows */
void control_released_in(struct nfs4r_core *c, struct own *ow);
nfs4r_servers control_release_run(struct nfs4r_core *c); /* whom POSITIONS have to be sent */
void control_release_flush(struct nfs4r_core *c);
void control_release_timers(struct nfs4r_core *c);
void control_release_peer_up(struct nfs4r_core *c, nfs4r_server_id s);
void control_releases_new_view(struct nfs4r_core *c);
const struct nfs4r_msg *control_release_on_release(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void control_release_on_released(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void control_release_on_revoke(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void control_release_opened(struct nfs4r_core *c, const struct nfs4r_oid *oid, bool open);
void control_raise_last(struct nfs4r_core *c, const struct nfs4r_entry *e);
void control_send_revoke(struct nfs4r_core *c, nfs4r_server_id to, const struct nfs4r_oid *oid, bool below, uint32_t attempts);
uint64_t control_idle_end(const struct nfs4r_core *c, const struct own *ow); /* when its timer ends */
void control_release_at(struct nfs4r_core *c, struct own *ow, uint64_t t); /* starts closing at this time, used or not */
void control_release_for_readers(struct nfs4r_core *c, struct own *ow, uint64_t t); /* the same, unless it is used before (control 7.11) */
void control_release_no_end(struct nfs4r_core *c, struct own *ow); /* takes that back */
void control_release_wanted_until(struct nfs4r_core *c, nfs4r_lsn lsn); /* an answer waits for `stable` of the own log */
void control_release_crossed(struct nfs4r_core *c); /* the own log goes on with a new generation */
void control_release_recovered(struct nfs4r_core *c, nfs4r_lsn end); /* the end of the own log was not known when they began to close (control 7.1) */
void control_claim_use(struct own *ow); /* an operation counts on it, and has not executed (control 5.5) */
void control_claim_unhold(struct nfs4r_core *c, struct own *ow);
void control_claim_pin(struct own *ow); /* an operation executes under it (control 5.1) */
void control_claim_unpin(struct nfs4r_core *c, struct own *ow);

/* table.c */
bool control_is_known(struct nfs4r_core *c, const struct nfs4r_oid *oid, struct nfs4r_facts *f);
bool control_is_multi(const struct nfs4r_facts *f);
void control_walk_begin(struct walk *w, const struct nfs4r_oid *oid);
bool control_walk_up(struct nfs4r_core *c, struct walk *w); /* false at the root, and for a multi file (section 0) */
struct ctl *control_of(const struct nfs4r_core *c, const struct nfs4r_oid *oid);
struct claim *control_claim_add(struct nfs4r_core *c, struct nfs4r_pid pid, uint32_t kind, const struct nfs4r_control *v, uint32_t n);
struct claim *control_claim_learnt(struct nfs4r_core *c, const struct nfs4r_join_row *r); /* from another server's list */
void control_claim_learn_won(struct claim *cl); /* another's, as a third one says */
void control_claim_restored(struct nfs4r_core *c, const struct claim *row, const struct nfs4r_control *v, enum own_state state); /* @state: of an own one */
void control_claims_sort(struct nfs4r_core *c); /* by server and seq */
void control_claim_out_of_table(struct nfs4r_core *c, struct claim *cl);
void control_claim_free(struct nfs4r_core *c, struct claim *cl);
void control_ctl_say(struct nfs4r_core *c, const struct ctl *k, bool added); /* ACT_CONTROL */
void control_claim_save(struct nfs4r_core *c, const struct claim *cl);
struct own *control_own_new(struct nfs4r_core *c, struct claim *cl, enum own_state st);
uint64_t control_seq_next(struct nfs4r_core *c);
void control_seq_restored(struct nfs4r_core *c, uint64_t reserved);
void control_seq_anew(struct nfs4r_core *c, uint64_t first); /* none below is given out */
/* Others that cover @oid in the table; *won: those of them that said they have won. */
nfs4r_servers control_foreign_cover(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_servers *won);
/* Own claim that covers @n for an update by @o (NULL: any operation); proposing ones if @proposing. */
struct claim *control_own_cover(struct nfs4r_core *c, const struct need *n, const struct opx *o, bool proposing);
bool control_own_acting_cover(struct nfs4r_core *c, const struct nfs4r_oid *oid);
bool control_claim_covers(struct nfs4r_core *c, const struct claim *cl, const struct need *n);
/* Is @oid @dir or below it? */
bool control_is_under(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_oid *dir);

/* tombstones.c */
void control_floor_restored(struct nfs4r_core *c, nfs4r_server_id s, uint64_t floor);
void control_dead_add(struct nfs4r_core *c, nfs4r_server_id s, uint64_t seq);

#endif
