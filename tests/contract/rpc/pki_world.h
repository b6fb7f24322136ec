/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Servers of a world that know each other by the keys of their certificates. */
#ifndef NFS4R_TEST_RPC_PKI_WORLD_H
#define NFS4R_TEST_RPC_PKI_WORLD_H

#include "contract/rpc/pki.h"
#include "contract/rpc/world.h"

/* The server with index @i shows this certificate of @key from now on, also if it runs. */
void pki_world_show(struct world *w, uint32_t i, EVP_PKEY *key, const struct pki_cert *says);
/* Each server of @w, none of which is started, gets a new key, and the fingerprints of all. */
void pki_world_keys(struct world *w);

#endif
