/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the targets of the handshake (fuzz_tls.c, fuzz_krb5.c) give to stranger.c, which is the rest of them. */
#ifndef NFS4R_TESTS_FUZZ_STRANGER_H
#define NFS4R_TESTS_FUZZ_STRANGER_H

#include "fuzz/transport.h"

#define STRANGERS 4 /* 0: the server itself. What the others have is the flavour's choice */

/* Once, before all else: keys and files. */
void stranger_init(void);
/* Which flavour is used, by a byte of the input. Whatever else changes with that byte is chosen now. */
enum nfs4r_security stranger_flavour(uint8_t variant);
/* Bits of all flavours that stranger_flavour() may answer with. */
uint32_t stranger_flavours(void);
/* Keys and files of the other side, which is asked to prove that it is server @id (1 or 3). @cfg has what is common to all. */
void stranger_configure(struct nfs4r_rpc_config *cfg, nfs4r_server_id id, unsigned who);
/* The servers it may speak for. */
nfs4r_servers stranger_may(nfs4r_server_id id, unsigned who);
/* Before each input: what is random begins anew. */
void stranger_reset(void);

#endif
