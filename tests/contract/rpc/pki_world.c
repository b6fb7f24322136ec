/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See pki_world.h. */
#include <stdio.h>
#include "lib/unit.h"

#include "contract/rpc/pki_world.h"

void pki_world_show(struct world *w, uint32_t i, EVP_PKEY *key, const struct pki_cert *says)
{
	struct nfs4r_rpc_config *cfg = &w->s[i].cfg;
	X509 *cert = pki_sign(key, says);
	char name[32];

	snprintf(name, sizeof(name), "cert%u", i);
	snprintf(cfg->tls_certificate, sizeof(cfg->tls_certificate), "%s", pki_path(name));
	snprintf(name, sizeof(name), "key%u", i);
	snprintf(cfg->tls_key, sizeof(cfg->tls_key), "%s", pki_path(name));
	pki_save_key(cfg->tls_key, key, 0600);
	pki_save_cert(cfg->tls_certificate, cert, NULL);
	X509_free(cert);
}

void pki_world_keys(struct world *w)
{
	const struct pki_cert says = { .name = "nfs4r" };

	for (uint32_t i = 0; i < w->n; i++) {
		EVP_PKEY *key = pki_key();

		pki_world_show(w, i, key, &says);
		for (uint32_t k = 0; k < w->n; k++) {
			w->s[k].cfg.servers[i].nkeys = 1;
			pki_fingerprint(key, &w->s[k].cfg.servers[i].key[0]);
		}
		EVP_PKEY_free(key);
	}
}
