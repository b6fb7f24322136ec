/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What shares.c and guards.c share. */
#ifndef NFS4R_CORE_LOCKS_SHARES_INT_H
#define NFS4R_CORE_LOCKS_SHARES_INT_H

#include "core/locks/locks_int.h"
#include "core/locks/shares.h"

/* shares.c */
uint64_t locks_shares_number(struct nfs4r_core *c);
struct share_file *locks_shares_file_find(struct nfs4r_core *c, const struct nfs4r_oid *oid);
void locks_shares_own_guard(struct nfs4r_core *c, const struct nfs4r_oid *oid, uint64_t id); /* it is guarded by this server, and all other marks are over */
void locks_shares_own_unguard(struct nfs4r_core *c, const struct nfs4r_oid *oid, uint64_t id);

/* guards.c */
void locks_shares_unguard_removed(struct nfs4r_core *c, const struct nfs4r_oid *oid); /* without a word: everybody knows that the file is gone */
void locks_guards_on_answer(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void locks_shares_send(struct nfs4r_core *c, nfs4r_server_id to, struct nfs4r_msg *m, const struct nfs4r_oid *oid, uint64_t id, bool heard);
bool locks_shares_is_due(struct nfs4r_core *c, uint64_t *sent_ms);
void locks_shares_count(struct nfs4r_opens *o, uint32_t access, uint32_t deny, bool begins);

#endif
