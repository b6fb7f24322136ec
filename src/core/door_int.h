/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of the door share, and all rooms. */
#ifndef NFS4R_CORE_DOOR_INT_H
#define NFS4R_CORE_DOOR_INT_H

#include "core/state/state.h"
#include "core/control/control.h"
#include "core/policy/policy.h"
#include "core/log/log.h"
#include "core/locks/locks.h"
#include "core/locks/shares.h"
#include "core/ops/ops.h"
#include "core/membership/membership.h"
#include "core/recovery/recovery.h"

/* commit.c */
void core_commit_run(struct nfs4r_core *c); /* every entry that can be */

/* invariants.c */
void core_assert_invariants(const struct nfs4r_core *c); /* when a step has ended */

/* sender_check.c: why a message of @from is not taken (log 4.17); NULL: it is */
const char *core_door_refuses(const struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);

/* shutdown.c: a stop in order (control 7.12) */
void core_leave_begin(struct nfs4r_core *c);
void core_leave_run(struct nfs4r_core *c);
void core_leave_advance(struct nfs4r_core *c); /* at the end of a step: when it has let go of everything it gives its lease back */

/* view_adopted.c */
void core_view_adopted(struct nfs4r_core *c, const struct nfs4r_view *old, nfs4r_servers removed, nfs4r_servers anew);

#endif
