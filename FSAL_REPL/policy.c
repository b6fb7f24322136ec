/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What an export lets clients do: Access_Type, Squash, Anonymous_uid, Anonymous_gid, SecType, and its CLIENT blocks. Each server applies its own to the clients that talk to it, and
 * the updates of these reach all copies: what the most lenient server of a volume allows is allowed in all of it. So servers tell each other, and a difference is said.
 *
 * A key that is not written counts as "default", although EXPORT_DEFAULTS may be another one at another server: Ganesha does not show these to a FSAL.
 */
#include "repl.h"
#include "client_mgr.h"
#include "nfs_exports.h"

struct text {
	char *out;
	size_t len, size;
};

static __attribute__((format(printf, 2, 3))) void add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (t->len >= t->size)
		return;
	va_start(ap, fmt);
	n = vsnprintf(t->out + t->len, t->size - t->len, fmt, ap);
	va_end(ap);
	t->len += n > 0 ? n : 0;
}

static void add_access(struct text *t, const struct export_perms *p)
{
	uint32_t o = p->options;
	const char *access = "default";

	if (p->set & EXPORT_OPTION_ACCESS_MASK)
		access = (o & EXPORT_OPTION_RW_ACCESS) == EXPORT_OPTION_RW_ACCESS ? "RW" :
			(o & EXPORT_OPTION_READ_ACCESS) != 0			  ? "RO" :
			(o & EXPORT_OPTION_MD_WRITE_ACCESS) != 0		  ? "MDONLY" :
			(o & EXPORT_OPTION_MD_READ_ACCESS) != 0			  ? "MDONLY_RO" :
										    "None";
	add(t, "Access_Type = %s", access);
}

static void add_squash(struct text *t, const struct export_perms *p)
{
	uint32_t o = p->options;
	const char *squash = "default";

	if (p->set & EXPORT_OPTION_SQUASH_TYPES)
		squash = (o & EXPORT_OPTION_ALL_ANONYMOUS) != 0 ? "All_Squash" :
			(o & EXPORT_OPTION_ROOT_SQUASH) != 0	? "Root_Squash" :
			(o & EXPORT_OPTION_ROOT_ID_SQUASH) != 0 ? "Root_Id_Squash" :
								  "No_Root_Squash";
	add(t, ", Squash = %s", squash);
	if (p->set & EXPORT_OPTION_ANON_UID_SET)
		add(t, ", Anonymous_uid = %u", p->anonymous_uid);
	if (p->set & EXPORT_OPTION_ANON_GID_SET)
		add(t, ", Anonymous_gid = %u", p->anonymous_gid);
}

static void add_sec(struct text *t, const struct export_perms *p)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} secs[] = { { EXPORT_OPTION_AUTH_NONE, "none" }, { EXPORT_OPTION_AUTH_UNIX, "sys" }, { EXPORT_OPTION_RPCSEC_GSS_NONE, "krb5" }, { EXPORT_OPTION_RPCSEC_GSS_INTG, "krb5i" }, { EXPORT_OPTION_RPCSEC_GSS_PRIV, "krb5p" } };
	size_t i, n = 0;

	add(t, ", SecType = ");
	if ((p->set & EXPORT_OPTION_AUTH_TYPES) == 0)
		add(t, "default");
	for (i = 0; i < ARRAY_SIZE(secs); i++)
		if ((p->set & EXPORT_OPTION_AUTH_TYPES) != 0 && (p->options & secs[i].bit) != 0)
			add(t, "%s%s", n++ > 0 ? " " : "", secs[i].name);
}

static void add_perms(struct text *t, const struct export_perms *p)
{
	add_access(t, p);
	add_squash(t, p);
	add_sec(t, p);
}

static void add_cidr(struct text *t, const CIDR *cidr)
{
	size_t i;

	for (i = 0; i < sizeof(cidr->addr); i++)
		add(t, "%02x", cidr->addr[i]);
	add(t, "/");
	for (i = 0; i < sizeof(cidr->mask); i++)
		add(t, "%02x", cidr->mask[i]);
}

static void add_block(struct text *t, const struct exportlist_client_entry *c)
{
	const struct base_client_entry *b = &c->client_entry;

	add(t, "; CLIENT ");
	switch (b->type) {
	case NETWORK_CLIENT:
		add_cidr(t, b->client.network.cidr);
		break;
	case NETGROUP_CLIENT:
		add(t, "@%s", b->client.netgroup.netgroupname);
		break;
	case WILDCARDHOST_CLIENT:
		add(t, "%s", b->client.wildcard.wildcard);
		break;
	case GSSPRINCIPAL_CLIENT:
		add(t, "%s", b->client.gssprinc.princname);
		break;
	default: /* everybody */
		add(t, "*");
	}
	add(t, " { ");
	add_perms(t, &c->client_perms);
	add(t, " }");
}

void repl_export_policy(struct gsh_export *export, char *out, size_t len)
{
	struct text t = { .out = out, .size = len };
	struct glist_head *at;

	out[0] = '\0';
	PTHREAD_RWLOCK_rdlock(&export->exp_lock);
	add_perms(&t, &export->export_perms);
	glist_for_each(at, &export->clients)
		add_block(&t, glist_entry(at, struct exportlist_client_entry, client_entry.cle_list));
	PTHREAD_RWLOCK_unlock(&export->exp_lock);
}
