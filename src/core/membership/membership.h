/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* membership/: the active view, leases, reconfiguration, the ends of logs. What it offers to the rooms above it. */
#ifndef NFS4R_CORE_MEMBERSHIP_MEMBERSHIP_H
#define NFS4R_CORE_MEMBERSHIP_MEMBERSHIP_H

#include "core/core_state.h"

/* force_reconfig.c: going on with the survivors (log 9.3) */
void view_reconf_order(struct nfs4r_core *c, const struct nfs4r_event *ev);

/* log_seal.c: where logs end */
void view_claims_sealed(struct nfs4r_core *c, nfs4r_server_id s);
void view_claims_undone(struct nfs4r_core *c, nfs4r_server_id s, nfs4r_lsn pos);
bool view_claims_let_go(struct nfs4r_core *c);
void view_seal_adopted(struct nfs4r_core *c);
void view_seal_go_on(struct nfs4r_core *c);
void view_seal_cross_all(struct nfs4r_core *c);

/* reconfig.c: servers added and taken out (log 9.1) */
void view_member_add(struct nfs4r_core *c, const struct nfs4r_event *ev);
void view_member_remove(struct nfs4r_core *c, const struct nfs4r_event *ev);

/* peers.c: what is known of other servers as members */
void view_peer_forget(struct nfs4r_core *c, nfs4r_server_id s); /* what an older start of it had reported */
void view_peer_up(struct nfs4r_core *c, nfs4r_server_id s);
void view_peer_remembers(struct nfs4r_core *c, nfs4r_server_id s, const struct nfs4r_msg *m); /* as its HEARTBEAT says (log 8.6) */
void view_peer_counts(struct nfs4r_core *c, nfs4r_server_id s);
void view_peers_count_from_now(struct nfs4r_core *c);
void view_peer_joined(struct nfs4r_core *c, nfs4r_server_id s);
void view_peer_incomplete(struct nfs4r_core *c, nfs4r_server_id s); /* it has not all rows any more */

/* server_keys.c: the keys of the servers (log 6.18) */
void view_server_keys_set(struct nfs4r_core *c, const struct nfs4r_event *ev);

/* view.c: the active view, leases */
void view_restored(struct nfs4r_core *c, const struct view_row *r);
bool view_address_restored(struct nfs4r_core *c, uint64_t view, const struct nfs4r_address *a); /* false: no room for it */
void view_init(struct nfs4r_core *c);
void view_started(struct nfs4r_core *c);
void view_timers(struct nfs4r_core *c);
void view_complete(struct nfs4r_core *c);
bool view_heard(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m); /* a HEARTBEAT; true: it has joined now */
void view_answer(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m); /* that HEARTBEAT */
void view_on_msg(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void view_beat(struct nfs4r_core *c);
void view_beat_to(struct nfs4r_core *c, nfs4r_server_id to);
void view_give_back(struct nfs4r_core *c); /* the lease, for good (log 6.11) */
void view_stop(struct nfs4r_core *c);
bool view_run(struct nfs4r_core *c); /* false: there is nothing of all that in this volume */
void view_incomplete(struct nfs4r_core *c);
void view_save(struct nfs4r_core *c);
void view_send(struct nfs4r_core *c, nfs4r_server_id to);
void view_tell_servers(struct nfs4r_core *c, const struct nfs4r_view *old);
void view_peers_adopted(struct nfs4r_core *c, nfs4r_servers removed, nfs4r_servers anew);

/* view_change.c: who asks for which view */
void view_propose_accepted_here(struct nfs4r_core *c, uint64_t num); /* and that is on the disk */
void view_propose_abandon(struct nfs4r_core *c, nfs4r_server_id s);

/* volume_settings.c: the volume's protocol and disk format (log 6.16) */
bool view_settings_restored(struct nfs4r_core *c, uint64_t view, const struct nfs4r_volume_settings *s, uint32_t longest_ms); /* false: no room for it */
void view_settings_finish(struct nfs4r_core *c);
void view_settings_set(struct nfs4r_core *c, enum nfs4r_volume_key key, uint32_t value);
void view_settings_on_disk(struct nfs4r_core *c, uint64_t num); /* the adopted view, if that is its number */

/* volume_secret.c */
void view_secret_started(struct nfs4r_core *c);
void view_secret_peer_up(struct nfs4r_core *c, nfs4r_server_id s);

/* withdraw.c: entries that cannot be applied (log 4.11, 6.12) */
void view_trouble_reported(struct nfs4r_core *c, enum nfs4r_status st); /* by the engine, of what is in doubt */
void view_trouble_cleared(struct nfs4r_core *c); /* what was in doubt is written */
void view_trouble_restored(struct nfs4r_core *c, uint32_t cause, nfs4r_server_id log, nfs4r_lsn lsn);
void view_trouble_timers(struct nfs4r_core *c);
void view_trouble_advance(struct nfs4r_core *c);
void view_trouble_unheard(struct peer *p); /* its connection is gone, and with it the one that would say more */

#endif
