/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of recovery/ share, and the rooms that it may call. */
#ifndef NFS4R_CORE_RECOVERY_RECOVERY_INT_H
#define NFS4R_CORE_RECOVERY_RECOVERY_INT_H

#include "core/state/state.h"
#include "core/control/control.h"
#include "core/policy/policy.h"
#include "core/log/log.h"
#include "core/locks/locks.h"
#include "core/ops/ops.h"
#include "core/membership/membership.h"
#include "core/recovery/recovery.h"

/* amnesia.c: what this server's store remembers, and the others' (log 8.6) */
void recovery_memory_repaired(struct nfs4r_core *c);

/* fuzzy_repair.c */
void recovery_fuzzy_run(struct nfs4r_core *c);
void recovery_fuzzy_list(struct nfs4r_core *c, struct nfs4r_act_repair *a);
bool recovery_fuzzy_repaired(struct nfs4r_core *c, const struct nfs4r_fuzzy_object *v, uint32_t n, const nfs4r_lsn *positions);
void recovery_fuzzy_mended(struct nfs4r_core *c);
void recovery_fuzzy_list_ended(struct nfs4r_core *c, bool in_vain); /* @in_vain: it changed nothing, or was not begun */

/* state_transfer.c: the sealed server itself, and copies that are ahead (log 8.3) */
bool recovery_repair_is_source(const struct nfs4r_core *c, nfs4r_server_id s);
void recovery_repair_list(struct nfs4r_core *c, nfs4r_server_id from);

#endif
