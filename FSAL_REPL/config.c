/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * REPL { } of Ganesha's configuration file -> struct nfs4r_config. Ganesha's parser fills a plain struct by a table that is made from the keys of base/config.def
 * (defaults included); we turn that into the engine's configuration and let the engine check what belongs together. docs/man/nfs4r.conf.5 explains every key.
 *
 * Ganesha's parser names the line but not the key of a number out of range, so its table lets all numbers pass and the ranges are ours. It does not look at the length
 * of a text, either.
 *
 * A mistake is kept as one sentence, and the REPL export is refused with it.
 */
#include "repl.h"
#include "engine/config.h"
#include "config_parsing.h"
#include "gsh_config.h"
#include "nfs4r_build.h"

#include <uuid/uuid.h>

#define SEE "see nfs4r.conf(5)"

struct raw_server {
	struct glist_head node;
	uint32_t id, port;
	char *address, *key, *principal;
};

/* What the file says, a member for each key. */
struct raw {
#define KEY_U32(block, name, ...) uint32_t name;
#define KEY_U64(block, name, ...) uint64_t name;
#define KEY_SPAN(block, name, ...) uint64_t name;
#define KEY_TRIPS(block, name, ...) uint64_t name;
#define KEY_BOOL(block, name, ...) bool name;
#define KEY_TOKEN(block, name, ...) uint32_t name;
#define KEY_LIST(block, name, ...) uint32_t name;
#define KEY_TEXT(block, name, ...) char *name;
#define KEY_UUID(block, name, ...) char *name;
#include "base/config.def"
	uint32_t written; /* WRITTEN_...: which of those that follow from Max_Round_Trip have a value of their own */
	struct glist_head servers;
};

enum { /* numbers of bits */
#define KEY_TRIPS(block, name, ...) WRITTEN_##name,
#include "base/config.def"
};

#define WORD(word, value) CONFIG_LIST_TOK(word, value),
#define KEY_TOKEN(block, name, ...) static struct config_item_list words_##name[] = { NFS4R_TOKENS_##name(WORD) NFS4R_REFUSED_TOKENS_##name(WORD) CONFIG_LIST_EOL };
#define KEY_LIST(block, name, ...) static struct config_item_list words_##name[] = { NFS4R_TOKENS_##name(WORD) CONFIG_LIST_EOL };
#include "base/config.def"

static struct config_item server_params[] = {
#define KEY_SERVER_U32(name, member, def, min, max, text) CONF_ITEM_UI32(#name, 0, UINT32_MAX, def, raw_server, member),
#define KEY_SERVER_TEXT(name, member, min, max, text) CONF_ITEM_STR(#name, min, max, NULL, raw_server, member),
#define KEY_SERVER_OPTIONAL KEY_SERVER_TEXT
#include "base/config.def"
	CONFIG_EOL
};

/* Ganesha's parser: (NULL, self) = the list itself, (list, NULL) = a new element, (list, element) = free it. */
static void *server_init(void *link_mem, void *self)
{
	struct raw_server *s = self;

	if (link_mem == NULL)
		return self;
	if (self == NULL)
		return gsh_calloc(1, sizeof(*s));
	gsh_free(s->address);
	gsh_free(s->key);
	gsh_free(s->principal);
	gsh_free(s);
	return NULL;
}

static int server_commit(void *node, void *link_mem, void *self, struct config_error_type *err)
{
	struct raw_server *s = self;

	glist_add_tail(link_mem, &s->node);
	return 0;
}

enum {
	IN_PUBLIC = false,
	IN_TUNING = true
};

static const struct {
	bool tuning;
	struct config_item item;
} items[] = {
#define KEY_U32(block, name, field, home, there, def, ...) { IN_##block, CONF_ITEM_UI32(#name, 0, UINT32_MAX, def, raw, name) },
#define KEY_U64(block, name, field, home, there, def, ...) { IN_##block, CONF_ITEM_UI64(#name, 0, UINT64_MAX, def, raw, name) },
#define KEY_SPAN(block, name, field, home, there, def, ...) { IN_##block, CONF_ITEM_UI64(#name, 0, UINT64_MAX, def, raw, name) },
#define KEY_TRIPS(block, name, ...) { IN_##block, CONF_ITEM_UI64_SET(#name, 0, UINT64_MAX, 0, raw, name, 1u << WRITTEN_##name, written) },
#define KEY_BOOL(block, name, field, home, there, def, ...) { IN_##block, CONF_ITEM_BOOL(#name, def, raw, name) },
#define KEY_TOKEN(block, name, field, home, there, def, ...) { IN_##block, CONF_ITEM_TOKEN(#name, def, words_##name, raw, name) },
#define KEY_LIST(block, name, field, home, there, def, ...) { IN_##block, CONF_ITEM_LIST(#name, def, words_##name, raw, name) },
#define KEY_TEXT(block, name, field, home, there, def, min, max, ...) { IN_##block, CONF_ITEM_STR(#name, min, max, def, raw, name) },
#define KEY_UUID(block, name, ...) { IN_##block, CONF_ITEM_STR(#name, 36, 36, NULL, raw, name) },
#include "base/config.def"
};

static struct config_item tuning_params[ARRAY_SIZE(items) + 1], repl_params[ARRAY_SIZE(items) + 3];

/* The same, for a file without Tuning { }, whose defaults Ganesha's parser does not set. */
static void set_default(struct raw *raw, const struct config_item *item)
{
	void *at = (char *)raw + item->off;

	switch (item->type) {
	case CONFIG_UINT32:
		*(uint32_t *)at = item->u.ui32.def;
		break;
	case CONFIG_UINT64:
		*(uint64_t *)at = item->u.ui64.def;
		break;
	case CONFIG_BOOL:
		*(bool *)at = item->u.b.def;
		break;
	case CONFIG_TOKEN:
	case CONFIG_LIST:
		*(uint32_t *)at = item->u.lst.def;
		break;
	default: /* CONFIG_STRING */
		*(char **)at = item->u.str.def != NULL ? gsh_strdup(item->u.str.def) : NULL;
		break;
	}
}

/*
 * Ganesha's parser: (NULL, raw) = defaults for the block, should it be missing; (raw, NULL) = where its values go, which get the defaults once more;
 * (raw, raw) = given up, raw_free() does the rest. The block has no struct of its own, its keys are members of struct raw.
 */
static void *tuning_init(void *link_mem, void *self)
{
	size_t i;

	if (link_mem == NULL) {
		for (i = 0; tuning_params[i].name != NULL; i++)
			set_default(self, &tuning_params[i]);
		return self;
	}
	if (self == NULL) {
		for (i = 0; tuning_params[i].name != NULL; i++) {
			char **at = (char **)((char *)link_mem + tuning_params[i].off);

			if (tuning_params[i].type != CONFIG_STRING)
				continue;
			gsh_free(*at);
			*at = NULL;
		}
		return link_mem;
	}
	return NULL;
}

static void make_tables(void)
{
	static const struct config_item last = CONFIG_EOL;
	struct config_item *in_repl = repl_params, *in_tuning = tuning_params;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(items); i++)
		*(items[i].tuning ? in_tuning++ : in_repl++) = items[i].item;
	*in_repl++ = (struct config_item)CONF_ITEM_BLOCK_MULT("Server", server_params, server_init, server_commit, raw, servers);
	*in_repl = (struct config_item)CONF_ITEM_BLOCK("Tuning", tuning_params, tuning_init, noop_conf_commit, raw, Server_Id);
	(in_repl++)->off = 0; /* struct raw itself */
	*in_repl = *in_tuning = last;
}

static struct config_block repl_block = {
	.dbus_interface_name = "org.ganesha.nfsd.config.repl",
	.blk_desc.name = "REPL",
	.blk_desc.type = CONFIG_BLOCK,
	.blk_desc.flags = CONFIG_UNIQUE,
	.blk_desc.u.blk.init = noop_conf_init,
	.blk_desc.u.blk.params = repl_params,
	.blk_desc.u.blk.commit = noop_conf_commit,
};

static void raw_free(struct raw *raw)
{
	struct glist_head *g, *next;

	glist_for_each_safe(g, next, &raw->servers) {
		struct raw_server *s = glist_entry(g, struct raw_server, node);

		glist_del(g);
		server_init(&raw->servers, s);
	}
#define KEY_TEXT(block, name, ...) gsh_free(raw->name);
#define KEY_UUID(block, name, ...) gsh_free(raw->name);
#include "base/config.def"
}

static bool copy_text(char *out, size_t size, const char *key, const char *in, char *why, size_t why_len)
{
	if (in != NULL && strlen(in) >= size) {
		snprintf(why, why_len, "REPL: %s has %zu bytes; write %zu at most", key, strlen(in), size - 1);
		return false;
	}
	snprintf(out, size, "%s", in != NULL ? in : "");
	return true;
}

static bool copy_uuid(uint8_t *out, const char *key, const char *in, char *why, size_t why_len)
{
	if (in == NULL || uuid_parse(in, out) == 0)
		return true;
	snprintf(why, why_len, "REPL: %s = %s is not a UUID; write what uuidgen prints, the same on every server", key, in);
	return false;
}

/* All of Ganesha's workers would wait for other servers, and none be left for what needs no other server. */
static bool check_waiting(const struct raw *raw, char *why, size_t why_len)
{
	uint32_t workers = nfs_param.core_param.rpc.ioq_thrd_max;

	if (raw->Waiting_Max < workers)
		return true;
	snprintf(why, why_len, "REPL: Waiting_Max = %u is not below RPC_Ioq_ThrdMax = %u of NFS_CORE_PARAM; write less, or 0 for three quarters of that",
		 raw->Waiting_Max, workers);
	return false;
}

static bool copy_servers(struct nfs4r_rpc_config *rpc, struct raw *raw, char *why, size_t why_len)
{
	struct glist_head *g;

	glist_for_each(g, &raw->servers) {
		struct raw_server *s = glist_entry(g, struct raw_server, node);
		struct nfs4r_endpoint *e = &rpc->servers[rpc->nservers];

		if (s->id == 0 || s->id > NFS4R_SERVERS_MAX || s->port == 0 || s->port > UINT16_MAX) {
			snprintf(why, why_len, "REPL: Server { Id = %u; Port = %u; }: Id is 1 to %d, Port 1 to 65535", s->id, s->port,
				 NFS4R_SERVERS_MAX);
			return false;
		}
		if (rpc->nservers == NFS4R_SERVERS_MAX) {
			snprintf(why, why_len, "REPL: more than %d Server blocks", NFS4R_SERVERS_MAX);
			return false;
		}
		e->id = s->id;
		e->port = s->port;
		if (!copy_text(e->host, sizeof(e->host), "Address of a Server block", s->address, why, why_len) ||
		    !copy_text(rpc->krb5_principal[s->id], sizeof(rpc->krb5_principal[0]), "Principal of a Server block", s->principal, why, why_len) ||
		    nfs4r_config_server_keys(s->key != NULL ? s->key : "", e, why, why_len) != NFS4R_OK)
			return false;
		rpc->nservers++;
	}
	return true;
}

/* What has a value for every configuration is copied as it is; the ranges are checked first, since members can be narrower than the numbers of the file. */
static bool copy_keys(struct nfs4r_config *cfg, struct raw *raw, char *why, size_t why_len)
{
#define COPY(name, field, factor)                                           \
	if (!nfs4r_config_range(NFS4R_KEY_##name, raw->name, why, why_len)) \
		return false;                                               \
	cfg->field = (__typeof__(cfg->field))(raw->name * (factor));
#define KEY_U32(block, name, field, ...) COPY(name, field, 1u)
#define KEY_U64(block, name, field, ...) COPY(name, field, 1u)
#define KEY_SPAN(block, name, field, ...) COPY(name, field, 1000u)
#define KEY_TRIPS(block, name, field, home, there, times, ...)       \
	if (!(raw->written & 1u << WRITTEN_##name))                  \
		raw->name = (times) * (uint64_t)raw->Max_Round_Trip; \
	COPY(name, field, 1u)
#define KEY_BOOL(block, name, field, ...) cfg->field = raw->name;
#define KEY_TOKEN(block, name, field, ...) cfg->field = (__typeof__(cfg->field))raw->name;
#define KEY_LIST(block, name, field, ...) cfg->field = raw->name;
#define KEY_TEXT(block, name, field, home, there, def, min, max, ...)                   \
	_Static_assert(sizeof(cfg->field) == (max) + 1, "the range of " #name);         \
	if (!copy_text(cfg->field, sizeof(cfg->field), #name, raw->name, why, why_len)) \
		return false;
#define KEY_UUID(block, name, field, ...)                           \
	if (!copy_uuid(cfg->field, #name, raw->name, why, why_len)) \
		return false;
#include "base/config.def"
#undef COPY
	return true;
}

static bool convert(struct nfs4r_config *cfg, struct raw *raw, char *why, size_t why_len)
{
	nfs4r_config_init(cfg);
	if (raw->Peer_Security == NFS4R_SECURITY_KRB5_ALONE) {
		snprintf(why, why_len, "REPL: Peer_Security = krb5 authenticates the servers and protects no byte after that; write krb5p, or krb5i without privacy; the same on every server");
		return false;
	}
	if (!copy_keys(cfg, raw, why, why_len) || !check_waiting(raw, why, why_len))
		return false;
	snprintf(cfg->rpc.version, sizeof(cfg->rpc.version), "%s", NFS4R_BUILD_VERSION);
	if (cfg->waiting_max == 0)
		cfg->waiting_max = nfs_param.core_param.rpc.ioq_thrd_max * 3 / 4;
	cfg->rpc.buffer_bytes = cfg->window_bytes;
	if (strcmp(cfg->rpc.congestion, "system") == 0)
		cfg->rpc.congestion[0] = '\0';
	return copy_servers(&cfg->rpc, raw, why, why_len) && nfs4r_config_check(cfg, why, why_len) == NFS4R_OK;
}

/* Keep the parser's first complaint. */
static void first_complaint(char *msg, void *dest, struct config_error_type *err)
{
	static const char unknown[] = "Unknown parameter (";
	char *why = dest, hint[256], *name = strstr(msg, unknown), *end;

	if (why[0] != '\0')
		return;
	end = name != NULL ? strchr(name + strlen(unknown), ')') : NULL;
	if (end == NULL) {
		snprintf(why, sizeof(repl_module.why), "REPL: %s; " SEE, msg);
		return;
	}
	*end = '\0';
	nfs4r_config_hint(name + strlen(unknown), hint, sizeof(hint));
	*end = ')';
	snprintf(why, sizeof(repl_module.why), "REPL: %s: %s; " SEE, msg, hint);
}

static bool parse(config_file_t parsed, struct raw *raw, char *why)
{
	struct config_error_type err;
	int found;

	glist_init(&raw->servers);
	make_tables();
	if (!init_error_type(&err)) {
		snprintf(why, sizeof(repl_module.why), "REPL: out of memory while reading the configuration");
		return false;
	}
	found = load_config_from_parse(parsed, &repl_block, raw, true, &err);
	report_config_errors(&err, why, first_complaint); /* frees what init_error_type() made */
	if (why[0] != '\0')
		return false;
	if (found != 1) {
		snprintf(why, sizeof(repl_module.why), "REPL: %s REPL block at the top level of the configuration; write one; " SEE,
			 found > 1 ? "more than one" : "there is no");
		return false;
	}
	return true;
}

void repl_config_load(config_file_t parsed, struct config_error_type *err)
{
	char *why = repl_module.why;
	struct raw raw = { 0 };

	why[0] = '\0';
	repl_module.configured = parse(parsed, &raw, why) && convert(&repl_module.cfg, &raw, why, sizeof(repl_module.why));
	raw_free(&raw);
}
