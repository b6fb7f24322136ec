/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* log/: the logs: replication, order and application of entries, durability, retention. What it offers to the rooms above it. */
#ifndef NFS4R_CORE_LOG_LOG_H
#define NFS4R_CORE_LOG_LOG_H

#include "core/core_state.h"

/* apply.c: received entries, order */
void log_apply_drop_entries(struct nfs4r_msg *m); /* its references */
void log_apply_on_entries(struct nfs4r_core *c, nfs4r_server_id from, struct nfs4r_msg *m);
void log_apply_done(struct nfs4r_core *c, const struct nfs4r_event *ev);
struct pend *log_apply_next(struct nfs4r_core *c); /* to be committed; NULL: none */
void log_apply_before_commit(struct nfs4r_core *c, const struct nfs4r_entry *e);
void log_apply_committed(struct nfs4r_core *c, struct pend *p);
void log_apply_prefix(struct nfs4r_core *c, nfs4r_server_id log); /* moves `applied` */
struct pend *log_pend_add(struct nfs4r_core *c, struct nfs4r_entry *e, struct opx *o);
nfs4r_lsn log_lsn_next(struct nfs4r_core *c);
void log_pend_executed(struct nfs4r_core *c, struct pend *p, bool made);
void log_pend_undecided(struct nfs4r_core *c, struct pend *p);
void log_pend_replace(struct pend *p, struct nfs4r_entry *e);
void log_pend_wake(struct nfs4r_core *c, struct pend *p);
void log_apply_cut(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn from);
void log_apply_drop_all(struct nfs4r_core *c);
void log_apply_wake(struct nfs4r_core *c, nfs4r_server_id log);
bool log_apply_is_idle(const struct nfs4r_core *c, nfs4r_server_id log);
bool log_last_assigned(const struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_version *v);
void log_pend_free(struct nfs4r_core *c, struct pend *p);

/* durability.c: durability beyond one server (log 5.1) */
bool log_needs_quorum(const struct nfs4r_core *c, const struct nfs4r_op *op);
bool log_is_quorum_durable_of(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn);
void log_quorum_wait(struct nfs4r_core *c, nfs4r_lsn lsn);
void log_quorum_ask(struct nfs4r_core *c, uint64_t id, const struct nfs4r_oid *oid);
void log_quorum_run(struct nfs4r_core *c);
void log_quorum_has_all(struct nfs4r_core *c);
void log_quorum_flush(struct nfs4r_core *c);
bool log_quorum_doubt_cleared(struct nfs4r_core *c);
bool log_quorum_backs(struct nfs4r_core *c);
void log_quorum_changed(struct nfs4r_core *c);
void log_quorum_started(struct nfs4r_core *c);
void log_quorum_fini(struct nfs4r_core *c);

/* clients.c: the clients of each server (locks 7) */
void log_client_begins(struct nfs4r_core *c, uint64_t id, const struct nfs4r_client *client, uint64_t n); /* CLIENT with @id, in this step or later. @n: number of the newest lock request here */
void log_client_gone(struct nfs4r_core *c, uint64_t id, const struct nfs4r_client *client, uint64_t n); /* its locks of lives that began before @n are gone */
void log_client_is_back(struct nfs4r_core *c, const uint64_t id[2]);
void log_client_reclaimed(struct nfs4r_core *c, const uint64_t id[2], uint64_t n);
bool log_clients_may_say(const struct nfs4r_core *c);
void log_clients_end(struct nfs4r_core *c, nfs4r_server_id server, uint64_t n, nfs4r_lsn below); /* of a server that is outside, or of this one before its start; may_say() */
void log_clients_reclaim_begins(struct nfs4r_core *c); /* all clients of this server */
void log_clients_reclaim_ends(struct nfs4r_core *c, uint64_t n); /* those that did not come back are gone; may_say() */
bool log_clients_reclaim(const struct nfs4r_core *c); /* any */
bool log_clients_run_sure(struct nfs4r_core *c); /* true: of more locks it is sure by now that they are gone */
bool log_clients_are_sure(const struct nfs4r_core *c, nfs4r_server_id server); /* a majority holds all that is known to be gone of its clients */
bool log_client_lost(const struct nfs4r_core *c, nfs4r_server_id server, const uint64_t id[2], uint64_t life); /* a majority holds that its locks of that life are gone */
uint64_t log_client_life(const struct nfs4r_core *c, const uint64_t id[2]); /* of this server; 0: before its start, or unknown */
uint64_t log_clients_ended(const struct nfs4r_core *c, nfs4r_server_id server); /* n of log_clients_end() that was said last; 0: never */
bool log_client_is_listed(const struct nfs4r_core *c, nfs4r_server_id server, const uint64_t id[2]);
void log_clients_commit(struct nfs4r_core *c, const struct nfs4r_entry *e);
void log_clients_run(struct nfs4r_core *c, nfs4r_lsn durable);
void log_clients_copied(struct nfs4r_core *c, const struct nfs4r_client_entry *list, uint32_t n); /* a repair has them from its source */
bool log_client_restored(struct nfs4r_core *c, const struct nfs4r_client_entry *k); /* false: it cannot be */
void log_clients_started(struct nfs4r_core *c);
void log_clients_fini(struct nfs4r_core *c);

/* fuzzy.c: bytes newer than their version (log 3.6, 3.9, 7.5) */
struct fuzzy *log_fuzzy_add(struct nfs4r_core *c, const struct nfs4r_oid *oid);
void log_fuzzy_restored(struct nfs4r_core *c, const struct fuzzy *row);
void log_fuzzy_copied(struct nfs4r_core *c, struct fuzzy *t, const struct nfs4r_fuzzy_object *l, const nfs4r_lsn *positions); /* a repair took it, though it is inexact there */
void log_fuzzy_save(struct nfs4r_core *c, const struct fuzzy *t, bool del); /* outside of a commit */
void log_fuzzy_drop(struct nfs4r_core *c, struct fuzzy *t);
void log_fuzzy_waits_for(const struct nfs4r_core *c, const struct fuzzy *t, nfs4r_server_id *log, nfs4r_lsn *lsn);
void log_fuzzy_set_state(struct nfs4r_core *c, struct fuzzy *t, enum fuzzy_state state);
void log_fuzzy_commit(struct nfs4r_core *c, const struct nfs4r_entry *e, bool made);
void log_fuzzy_started(struct nfs4r_core *c);
void log_fuzzy_crossed(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn seal);
void log_fuzzy_noted(struct nfs4r_core *c, const struct nfs4r_fuzzy_object *l);
void log_fuzzy_newer(struct nfs4r_core *c, const struct nfs4r_fuzzy_object *l);
bool log_fuzzy_all_named(const struct nfs4r_core *c);
void log_fuzzy_fini(struct nfs4r_core *c);

/* replicate.c, positions.c: own log, distribution, positions */
void log_bytes(struct nfs4r_core *c, nfs4r_lsn lsn, uint64_t bytes);
uint64_t log_unreceived(const struct nfs4r_core *c, const struct peer *p);
void log_send(struct nfs4r_core *c);
void log_positions_taken(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m); /* the same, after that */
bool log_on_positions(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void log_on_pull(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void log_pull(struct nfs4r_core *c, nfs4r_server_id log);
void log_positions_out(struct nfs4r_core *c);
void log_heartbeat(struct nfs4r_core *c);
void log_trouble_timers(struct nfs4r_core *c);
void log_trouble_silence(struct nfs4r_core *c);
void log_on_stable(struct nfs4r_core *c, const nfs4r_lsn *stable);
void log_recovery_begin(struct nfs4r_core *c);
void log_recovery(struct nfs4r_core *c);
void log_crossed(struct nfs4r_core *c);
void log_restored(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn base, nfs4r_lsn applied, nfs4r_lsn stable);
void log_restored_beyond(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn highest);
void log_restored_own(struct nfs4r_core *c, nfs4r_lsn lsn, uint64_t bytes); /* an entry that was begun */
void log_cross(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn seal); /* the next generation begins */
void log_back_to(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn seal); /* what is here beyond it does not count; below it there may be a hole */
void log_copied(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn); /* the objects are where it is at @lsn */
void log_says(struct nfs4r_core *c, nfs4r_server_id log); /* its owner hears how far it is here */
void log_goes_on(struct nfs4r_core *c); /* there may be own entries to be sent */
void log_peers_started(struct nfs4r_core *c);
void log_peer_up(struct nfs4r_core *c, nfs4r_server_id s);
void log_peer_forget(struct nfs4r_core *c, nfs4r_server_id s); /* what an older start of it had reported */
void log_written_before(struct nfs4r_core *c, nfs4r_lsn end); /* up to there any file may have been written */
void log_send_positions(struct nfs4r_core *c, nfs4r_server_id to);
nfs4r_lsn log_written_lsn(const struct nfs4r_core *c, const struct nfs4r_oid *oid);
void log_written_note(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_lsn lsn);
void log_written_forget(struct nfs4r_core *c);

/* retention.c: what is kept for those who are away */
void log_late_none(struct nfs4r_core *c); /* the copy comes from elsewhere */
void log_retention_beyond(struct nfs4r_core *c, const nfs4r_lsn *beyond);
nfs4r_lsn log_retention_end(const struct nfs4r_core *c, nfs4r_server_id log);
bool log_retention_is_slow(const struct nfs4r_core *c, nfs4r_server_id s);
nfs4r_servers log_retention_slow(struct nfs4r_core *c);

/* superseded.c: what fails and is undone later */
void log_moot_commit(struct nfs4r_core *c, struct pend *p);

#endif
