/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of control/ share, and the rooms that it may call. */
#ifndef NFS4R_CORE_CONTROL_CONTROL_INT_H
#define NFS4R_CORE_CONTROL_CONTROL_INT_H

#include "core/state/state.h"
#include "core/control/control.h"

/* ancestry.c */
void control_anc_control(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id owner, int delta);
void control_anc_forget(struct ctl *k);
/* Every control of @owner strictly below @dir, until @fn returns false. @fn must not change the table. */
void control_anc_each_below(const struct nfs4r_core *c, const struct nfs4r_oid *dir, nfs4r_server_id owner,
			    bool (*fn)(void *arg, struct ctl *k), void *arg);

/* backoff.c: what is not asked for now, because others want it (control 7.5, 7.6) */
uint64_t control_holdoff_clearing(struct nfs4r_core *c, const struct nfs4r_oid *oid);
void control_holdoff_drop(struct nfs4r_core *c, const struct nfs4r_oid *oid);
void control_holdoff_set(struct nfs4r_core *c, const struct own *ow);
void control_holdoff_below(struct nfs4r_core *c, const struct nfs4r_oid *dir);
void control_holdoff_timers(struct nfs4r_core *c);

/* deferred.c: proposals that came before the entry that makes their object (control 4.3d) */
bool control_deferred_keep(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m); /* false: there is no room */

/* downgrade.c: closed files, and directories that others read, are read from copies before their control is released (control 7.10) */
void control_announce_again(struct nfs4r_core *c, struct claim *cl); /* start: it may have been announced before */
void control_announce_later(struct nfs4r_core *c, struct own *ow); /* it starts closing */
void control_announce_never(struct nfs4r_core *c, struct own *ow); /* it is released */
void control_announce_timers(struct nfs4r_core *c);
void control_announce_found(struct nfs4r_core *c, struct claim *cl); /* another's claim is here */

/* election.c */
bool control_prio_higher(const struct nfs4r_prio *a, const struct nfs4r_prio *b); /* 4.2 */
void control_election_refuse_unknown(struct nfs4r_core *c, nfs4r_server_id to, const struct nfs4r_pid *pid); /* 4.3d */
void control_asking_out(struct nfs4r_core *c, struct own *ow);

/* release.c */
void control_claim_idle(struct nfs4r_core *c, struct own *ow); /* it is won: its timer begins */

/* table.c */
void control_own_move(struct own *ow, enum own_state to);
bool control_is_known_file(struct nfs4r_core *c, const struct nfs4r_oid *oid); /* and no directory */

/* tombstones.c */
uint64_t control_own_floor(const struct nfs4r_core *c);
void control_release_raise_floor(struct nfs4r_core *c, nfs4r_server_id s, uint64_t floor);

#endif
