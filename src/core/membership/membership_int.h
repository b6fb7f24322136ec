/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of membership/ share, and the rooms that it may call. */
#ifndef NFS4R_CORE_MEMBERSHIP_MEMBERSHIP_INT_H
#define NFS4R_CORE_MEMBERSHIP_MEMBERSHIP_INT_H

#include "core/state/state.h"
#include "core/control/control.h"
#include "core/policy/policy.h"
#include "core/log/log.h"
#include "core/locks/locks.h"
#include "core/ops/ops.h"
#include "core/membership/membership.h"

/* force_reconfig.c: going on with the survivors (log 9.3) */
bool view_reconf_refuses(const struct nfs4r_core *c, uint64_t num, nfs4r_servers set);
bool view_reconf_asks(const struct nfs4r_core *c, const struct vote *v);
bool view_reconf_may_grant(const struct nfs4r_core *c, nfs4r_server_id s);
void view_reconf_on_heartbeat(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void view_reconf_consider(struct nfs4r_core *c);
void view_reconf_decide(struct nfs4r_core *c);
bool view_reconf_anew(const struct nfs4r_core *c, const struct nfs4r_view *v);
void view_reconf_adopted(struct nfs4r_core *c);

/* log_seal.c: where logs end */
bool view_seal_add(struct nfs4r_view *v, nfs4r_server_id log, nfs4r_lsn lsn);
void view_seal_freeze(struct nfs4r_core *c, nfs4r_servers logs);
bool view_seal_quiet(const struct nfs4r_core *c, nfs4r_servers logs);
bool view_seal_reached(struct nfs4r_core *c, const struct nfs4r_view *v);
void view_seal_cross(struct nfs4r_core *c, nfs4r_server_id log);

/* reconfig.c: servers added and taken out (log 9.1) */
bool view_may_change_voters(const struct nfs4r_core *c);
bool view_is_confirmed(struct nfs4r_core *c);
void view_member_consider(struct nfs4r_core *c, nfs4r_servers *gone, nfs4r_servers *add, nfs4r_servers *seal, nfs4r_server_id *in, nfs4r_server_id *out);
void view_member_view_of(const struct nfs4r_core *c, const struct proposal *p, struct nfs4r_view *v);
void view_member_adopted(struct nfs4r_core *c, const struct nfs4r_view *old);
void view_books_save(struct nfs4r_core *c);
void view_books_clean(struct nfs4r_core *c);
void view_books_started(struct nfs4r_core *c);

/* server_keys.c: the keys of the servers (log 6.18) */
nfs4r_server_id view_server_keys_wanted(struct nfs4r_core *c); /* a view is wanted for that server's */
void view_server_keys_into(const struct nfs4r_core *c, nfs4r_server_id s, struct nfs4r_view *v); /* of a view that is being made and has addresses */
void view_server_keys_adopted(struct nfs4r_core *c);

/* view.c: the active view, leases */
uint64_t view_wait_ms(const struct nfs4r_core *c, uint64_t lease_ms); /* T_G of log 6.7 for such a lease */
uint64_t view_highest(const struct nfs4r_core *c);
uint64_t view_grant_ms(const struct nfs4r_core *c); /* the longest that may still run at another server */
void view_adopt(struct nfs4r_core *c, const struct nfs4r_view *v);
void view_on_prepare(struct nfs4r_core *c, nfs4r_server_id from, const struct vote *v);
void view_on_accept(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_view *v);

/* view_change.c: who asks for which view */
void view_propose_on_promise(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void view_propose_on_accepted(struct nfs4r_core *c, nfs4r_server_id from, uint64_t num, uint64_t digest);
void view_propose_timers(struct nfs4r_core *c);
void view_propose_consider(struct nfs4r_core *c);
void view_propose_begin(struct nfs4r_core *c, const struct proposal *p);
void view_propose_view(struct nfs4r_core *c);
void view_propose_later(struct nfs4r_core *c);
uint64_t view_propose_only_there(const struct nfs4r_core *c, nfs4r_server_id s);

/* view_evidence.c: which view that somebody tells is adopted (log 6.14) */
bool view_believe_may_rise(struct nfs4r_core *c, nfs4r_server_id from, uint64_t num); /* to that number, by this server's word alone (log 6.15) */
bool view_believe_saw(struct nfs4r_core *c, nfs4r_server_id from, uint64_t num); /* it speaks of that number: own ones are above, as far as it is taken. True: as a whole */
void view_believe_on_view(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_view *v);
void view_believe_on_accepted(struct nfs4r_core *c, nfs4r_server_id from, uint64_t num, uint64_t digest);
void view_believe_run(struct nfs4r_core *c);
void view_believe_forget(struct nfs4r_core *c, nfs4r_server_id s);
void view_believe_started(struct nfs4r_core *c);

/* volume_settings.c: the volume's protocol and disk format (log 6.16) */
void view_settings_save(struct nfs4r_core *c);
void view_settings_clean(struct nfs4r_core *c);
void view_settings_started(struct nfs4r_core *c);
bool view_settings_refuse(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_view *v); /* it is not accepted: that is in the log */
void view_settings_into(const struct nfs4r_core *c, const struct proposal *p, struct nfs4r_view *v); /* of a view that is being made */
bool view_settings_wanted(struct nfs4r_core *c, struct nfs4r_volume_settings *to); /* a view is wanted for what an administrator asked for here */
bool view_settings_bare(const struct nfs4r_core *c); /* a view is wanted, so that they are said at all */
bool view_settings_ends_wanted(const struct nfs4r_core *c, struct nfs4r_volume_settings *to); /* and one by which logs end */
void view_settings_timers(struct nfs4r_core *c);
void view_settings_adopted(struct nfs4r_core *c, const struct nfs4r_view *old);

/* volume_keys.c: what nfs4rctl set changes (log 6.17) */
void view_keys_started(struct nfs4r_core *c);
void view_keys_first(const struct nfs4r_core *c, struct nfs4r_volume_keys *k);
bool view_keys_wanted(struct nfs4r_core *c, struct nfs4r_volume_settings *to);
void view_keys_adopted(struct nfs4r_core *c, const struct nfs4r_view *old);
void view_keys_saved(struct nfs4r_core *c);

/* volume_secret.c */
bool view_secret_wanted(const struct nfs4r_core *c); /* a view is wanted for it */
void view_secret_into(const struct nfs4r_core *c, struct nfs4r_view *v); /* of a view that is being made */
bool view_secret_is_another(const struct nfs4r_core *c, const struct nfs4r_view *v); /* than that of the view adopted here, and so it is no view that follows it */
void view_secret_of_promise(struct nfs4r_view *base, const struct nfs4r_view *accepted);
void view_secret_on_view(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_view *v); /* with a fixed view */

/* withdraw.c: entries that cannot be applied (log 4.11, 6.12) */
void view_trouble_on_halted(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m); /* log 4.15 */
nfs4r_servers view_trouble_members(const struct nfs4r_core *c, nfs4r_servers gone);
bool view_trouble_may_grant(const struct nfs4r_core *c, nfs4r_server_id s);

#endif
