/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The control socket for nfs4rctl, and sums for `verify` of another server. */
#ifndef NFS4R_ENGINE_ADMIN_H
#define NFS4R_ENGINE_ADMIN_H

#include "engine/runtime/runtime.h"

/* ---- ctl.c, verify.c ---- */
struct ctl *admin_ctl_create(struct nfs4r_engine *eng, char *why);
void admin_ctl_destroy(struct ctl *c);
void admin_verify_serve(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m);
void admin_verify_forget(struct nfs4r_engine *eng, nfs4r_server_id peer); /* it is gone: what waits for it is not summed */
void admin_verify_answer(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m);

#endif
