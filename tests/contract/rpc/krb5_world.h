/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Servers that prove themselves by Kerberos: server N is nfs4r/127.0.0.N@NFS4R.TEST. */
#ifndef NFS4R_TEST_RPC_KRB5_WORLD_H
#define NFS4R_TEST_RPC_KRB5_WORLD_H

#include "contract/rpc/kdc.h"
#include "contract/rpc/world.h"

/* For cmocka's groups: the realms with the principals of four servers, and a KDC that runs. */
int kerberos_setup(void **state);
int kerberos_teardown(void **state);
/* As world_init(), with a keytab for each server, which no other world has. To be freed. */
struct world *kerberos_world(uint32_t n, enum nfs4r_security flavour);
const char *server_principal(nfs4r_server_id id); /* with its realm; valid until the next call but one */
/* Gives server @id another keytab, with the keys of @principal, and that principal. */
void kerberos_disguise(struct world *w, nfs4r_server_id id, const char *realm, const char *principal);
void kerberos_question(struct world_server *s, nfs4r_server_id to, uint64_t number);
enum nfs4r_status kerberos_entry(struct world_server *s, nfs4r_server_id to, uint64_t number, const char *text, uint32_t len); /* payload: @text over and over */

#endif
