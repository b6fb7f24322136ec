/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See krb5_world.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/unit.h"

#include "contract/rpc/krb5_world.h"

static unsigned keytabs; /* made so far: each has another name */

int kerberos_setup(void **state)
{
	kdc_create();
	for (nfs4r_server_id id = 1; id <= 4; id++)
		kdc_admin(KDC_REALM, "addprinc -randkey %s", server_principal(id));
	kdc_start(0);
	return 0;
}

int kerberos_teardown(void **state)
{
	kdc_destroy();
	return 0;
}

const char *server_principal(nfs4r_server_id id)
{
	static char text[2][64];
	static unsigned next;
	char *out = text[next++ % 2];

	snprintf(out, sizeof(text[0]), "nfs4r/127.0.0.%u@" KDC_REALM, id);
	return out;
}

static void give_keytab(struct world_server *s, const char *realm, const char *principal)
{
	char name[32];

	snprintf(name, sizeof(name), "%u", ++keytabs);
	kdc_keytab(realm, principal, name, s->cfg.krb5_keytab, sizeof(s->cfg.krb5_keytab));
}

struct world *kerberos_world(uint32_t n, enum nfs4r_security flavour)
{
	struct world *w = malloc(sizeof(*w));

	world_init(w, n);
	for (uint32_t i = 0; i < n; i++) {
		w->s[i].cfg.security = flavour;
		give_keytab(&w->s[i], KDC_REALM, server_principal((nfs4r_server_id)(i + 1)));
	}
	return w;
}

void kerberos_disguise(struct world *w, nfs4r_server_id id, const char *realm, const char *principal)
{
	struct world_server *s = &w->s[id - 1];

	give_keytab(s, realm, principal);
	snprintf(s->cfg.krb5_principal[id], sizeof(s->cfg.krb5_principal[id]), "%s", principal);
}

void kerberos_question(struct world_server *s, nfs4r_server_id to, uint64_t number)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m));

	m->type = NFS4R_MSG_VERIFY;
	m->verify.id = number;
	nfs4r_rpc_send(s->rpc, to, NFS4R_LANE_REQUEST, m);
	free(m);
}

enum nfs4r_status kerberos_entry(struct world_server *s, nfs4r_server_id to, uint64_t number, const char *text, uint32_t len)
{
	struct nfs4r_msg *m = world_entry(number, text, strlen(text), len);
	enum nfs4r_status st;

	st = nfs4r_rpc_send(s->rpc, to, NFS4R_LANE_BULK, m);
	nfs4r_msg_fini(m);
	free(m);
	return st;
}
