/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* policy/: how much control to ask for, and when to be content with less. What it offers to the rooms above it. */
#ifndef NFS4R_CORE_POLICY_POLICY_H
#define NFS4R_CORE_POLICY_POLICY_H

#include "core/core_state.h"

/* deescalate.c: when to be content with less (control 7.1, 7.4, 7.9) */
void policy_used(struct nfs4r_core *c, const struct opx *o);
bool policy_giving(struct nfs4r_core *c, const struct nfs4r_oid *oid);
void policy_run(struct nfs4r_core *c);
uint64_t policy_reads(const struct own *ow);

/* escalate.c: when to ask for more control (control 4.1, 7.4, 7.8) */
bool policy_may_deep(struct nfs4r_core *c, const struct nfs4r_oid *dir);
void policy_paid(struct nfs4r_core *c, const struct nfs4r_oid *oid);
void policy_fini(struct nfs4r_core *c);

/* reader_yield.c: when readers end it (control 7.11) */
bool policy_yield_over(struct nfs4r_core *c, struct own *ow);

/* table.c */
extern const struct policy_ops nfs4r_policy;

#endif
