/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of policy/ share, and the rooms that it may call. */
#ifndef NFS4R_CORE_POLICY_POLICY_INT_H
#define NFS4R_CORE_POLICY_POLICY_INT_H

#include "core/state/state.h"
#include "core/control/control.h"
#include "core/policy/policy.h"

/* deescalate.c: when to be content with less (control 7.1, 7.4, 7.9) */
void policy_wants(struct nfs4r_core *c, struct own *ow, const struct nfs4r_oid *wanted);
void policy_revoked(struct nfs4r_core *c, struct own *ow, const struct nfs4r_oid *wanted, bool below);
const struct nfs4r_oid *policy_wanted(const struct own *ow);
bool policy_replacing(struct nfs4r_core *c, const struct own *ow);
bool policy_may_close(struct nfs4r_core *c, struct own *ow, uint64_t *again);

/* escalate.c: when to ask for more control (control 4.1, 7.4, 7.8) */
void policy_others(struct nfs4r_core *c, const struct nfs4r_oid *oid);
void policy_acked(struct nfs4r_core *c, nfs4r_server_id from, const struct own *ow);
void policy_won(struct nfs4r_core *c, struct own *ow);
void policy_lost(struct nfs4r_core *c, struct own *ow);
void policy_contest(struct nfs4r_core *c, const struct claim *cl);
struct own *policy_ask(struct nfs4r_core *c, const struct nfs4r_control *v, uint32_t n);

/* reader_yield.c: when readers end it (control 7.11) */
uint32_t policy_yield_ms(const struct nfs4r_core *c, const struct own *ow); /* how long a use below deep control keeps readers from it */
bool policy_yield_read(struct nfs4r_core *c, const struct nfs4r_oid *oid);
bool policy_yield_is_read(struct nfs4r_core *c, const struct own *ow); /* by others, lately, and it consists of directories without deep+ */
void policy_yield_touch(struct nfs4r_core *c, const struct nfs4r_oid *file); /* its bytes or attributes are updated here */
void policy_yield_opened(struct nfs4r_core *c, const struct nfs4r_oid *file, bool open); /* by its first writer here; closed by the last */
void policy_yield_regret(struct nfs4r_core *c, const struct nfs4r_oid *oid);

#endif
