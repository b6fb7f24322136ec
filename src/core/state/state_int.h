/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of state/ share, and the rooms that it may call. */
#ifndef NFS4R_CORE_STATE_STATE_INT_H
#define NFS4R_CORE_STATE_STATE_INT_H

#include "core/state/state.h"

/* standing.c: what this server is, and which servers count */
bool state_trouble_withdraws(const struct nfs4r_core *c); /* it asks to be removed, and lets go of everything */
bool state_retention_is_late(const struct nfs4r_core *c); /* some log cannot be gone on with from entries */

#endif
