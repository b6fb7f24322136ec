/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Clients with Kerberos: which users their names became here, for the comparison with the other servers (src/engine/membership/identities.c), and how this server maps names
 * at all, which the servers tell each other when they connect.
 *
 * Ganesha has mapped the caller before a FSAL is asked anything, and keeps the answer of the name service for a while. So a name is noted when a request of it asks for attributes,
 * which every one does, and again after some seconds, when it may have become another user.
 */
#include "repl.h"
#include "nfs_core.h"
#include "nfs_exports.h"
#include "uid2grp.h"

#include "base/fnv.h"

#define AGAIN_S 5

/* The last caller that this thread has noted. Another one may have the same addresses later, and is noted when the time is over. */
static __thread struct {
	const void *context, *groups;
	uid_t uid;
	time_t until;
} noted;

static const struct svc_rpc_gss_data *context_of(const struct req_op_context *ctx)
{
	const struct svc_req *req;

	if (ctx == NULL || ctx->nfs_reqdata == NULL)
		return NULL;
	req = &ctx->nfs_reqdata->svc;
	return req->rq_msg.cb_cred.oa_flavor == RPCSEC_GSS && req->rq_auth != NULL ? SVCAUTH_PRIVATE(req->rq_auth) : NULL;
}

static void mapping_of(const struct req_op_context *ctx, struct nfs4r_mapping *to)
{
	const struct group_data *g = ctx->caller_gdata;

	if ((ctx->cred_flags & CREDS_ANON) != 0)
		return;
	to->mapped = true;
	to->uid = ctx->original_creds.caller_uid;
	to->gid = ctx->original_creds.caller_gid;
	to->ngroups = g != NULL ? g->nbgroups : 0;
	to->groups = g != NULL ? nfs4r_groups_digest(g->groups, g->nbgroups) : 0;
}

void repl_identity_note(struct repl_export *exp)
{
	const struct svc_rpc_gss_data *gd = context_of(op_ctx);
	struct nfs4r_identity id = { .name = "" };
	struct timespec now;

	if (gd == NULL || (op_ctx->cred_flags & CREDS_LOADED) == 0 || gd->cname.length == 0 || gd->cname.length > NFS4R_PRINCIPAL_MAX)
		return;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (noted.context == gd && noted.groups == op_ctx->caller_gdata && noted.uid == op_ctx->original_creds.caller_uid && now.tv_sec < noted.until)
		return;
	noted.context = gd;
	noted.groups = op_ctx->caller_gdata;
	noted.uid = op_ctx->original_creds.caller_uid;
	noted.until = now.tv_sec + AGAIN_S;
	memcpy(id.name, gd->cname.value, gd->cname.length);
	mapping_of(op_ctx, &id.to);
	if (id.name[0] != '\0')
		repl_identity_used(exp, &id);
}

/* ---- the configuration ---- */

struct conf {
	char domain[128], realms[128], method[64], gss[64];
	uint32_t statics; /* entries of [Static] */
	uint64_t sum; /* of these, in any order */
};

static char *trim(char *s)
{
	size_t n;

	s += strspn(s, " \t\r\n");
	for (n = strlen(s); n > 0 && strchr(" \t\r\n", s[n - 1]) != NULL; n--)
		s[n - 1] = '\0';
	return s;
}

static void take(char *to, size_t len, const char *value)
{
	size_t n = 0;

	for (; *value != '\0' && n + 1 < len; value++)
		if (*value != ' ' && *value != '\t')
			to[n++] = *value;
	to[n] = '\0';
}

/* One "key = value" of idmapd.conf, as libnfsidmap reads it: neither sections nor keys mind their case. */
static void take_line(struct conf *c, const char *section, char *line)
{
	char *value = strchr(line, '=');
	const char *key;

	if (value == NULL)
		return;
	*value++ = '\0';
	key = trim(line);
	value = trim(value);
	if (strcasecmp(section, "static") == 0) {
		c->statics++;
		c->sum += nfs4r_fnv(nfs4r_fnv(NFS4R_FNV_BEGIN, key, strlen(key) + 1), value, strlen(value));
	} else if (strcasecmp(section, "general") == 0 && strcasecmp(key, "Domain") == 0) {
		take(c->domain, sizeof(c->domain), value);
	} else if (strcasecmp(section, "general") == 0 && strcasecmp(key, "Local-Realms") == 0) {
		take(c->realms, sizeof(c->realms), value);
	} else if (strcasecmp(section, "translation") == 0 && strcasecmp(key, "Method") == 0) {
		take(c->method, sizeof(c->method), value);
	} else if (strcasecmp(section, "translation") == 0 && strcasecmp(key, "GSS-Methods") == 0) {
		take(c->gss, sizeof(c->gss), value);
	}
}

static bool read_conf(const char *path, struct conf *c)
{
	FILE *f = fopen(path, "re");
	char line[1024], section[64] = "";

	if (f == NULL)
		return false;
	while (fgets(line, sizeof(line), f) != NULL) {
		char *text = trim(line), *end;

		if (*text == '#' || *text == ';' || *text == '\0')
			continue;
		end = *text == '[' ? strchr(text, ']') : NULL;
		if (end != NULL) {
			*end = '\0';
			snprintf(section, sizeof(section), "%s", trim(text + 1));
		} else {
			take_line(c, section, text);
		}
	}
	fclose(f);
	return true;
}

static const char *or_default(const char *text)
{
	return text[0] != '\0' ? text : "default";
}

/* Which principals are root without being mapped. */
static void add_roots(char *out, size_t len)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} roots[] = { { ROOT_KERBEROS_PRINCIPAL_NFS, " nfs" }, { ROOT_KERBEROS_PRINCIPAL_ROOT, " root" }, { ROOT_KERBEROS_PRINCIPAL_HOST, " host" } };
	uint32_t is = nfs_param.directory_services_param.root_kerberos_principal;
	size_t n = strlen(out);

	n += snprintf(out + n, len - n, ", Root_Kerberos_Principal =%s", (is & ROOT_KERBEROS_PRINCIPAL_NONE) != 0 ? " None" : "");
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		if ((is & ROOT_KERBEROS_PRINCIPAL_NONE) == 0 && (is & roots[i].bit) != 0 && n < len)
			n += snprintf(out + n, len - n, "%s", roots[i].name);
}

void repl_identity_conf(const struct gsh_export *export, char *out, size_t len)
{
	static const uint32_t kerberos = EXPORT_OPTION_RPCSEC_GSS_NONE | EXPORT_OPTION_RPCSEC_GSS_INTG | EXPORT_OPTION_RPCSEC_GSS_PRIV;
	struct conf c = { .statics = 0 };
	size_t n;

	if ((export->export_perms.set & EXPORT_OPTION_AUTH_TYPES) == 0 || (export->export_perms.options & kerberos) == 0) {
		snprintf(out, len, "none (no Kerberos in SecType)");
		return;
	}
	if (nfs_param.nfsv4_param.use_getpwnam) {
		snprintf(out, len, "DomainName = %s", or_default(nfs_param.directory_services_param.domainname != NULL ? nfs_param.directory_services_param.domainname : ""));
	} else if (read_conf(nfs_param.nfsv4_param.idmapconf, &c)) {
		snprintf(out, len, "Domain = %s, Local-Realms = %s, Method = %s, GSS-Methods = %s, %u Static", or_default(c.domain), or_default(c.realms), or_default(c.method),
			 or_default(c.gss), c.statics);
		n = strlen(out);
		if (c.statics > 0)
			snprintf(out + n, len - n, " (checksum %08x)", (uint32_t)(c.sum ^ c.sum >> 32));
	} else {
		snprintf(out, len, "no idmapd.conf");
	}
	add_roots(out, len);
}
