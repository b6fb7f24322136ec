/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The values of a REPL block, as Ganesha's parser hands them over, into the engine's configuration; then what is done with the addresses. And the words of nfs4rctl that name servers.
 *
 * Input: lines. `Key=value` sets a key of the shipped table, by the type it has there; `Server=id,port,address key;principal` is a Server block; `+words` and `=words` are what follows
 * `nfs4rctl server add` and `nfs4rctl force-reconfigure`. The rest has its defaults, and what no configuration can do without is set.
 */
#include "fuzz/fuzz.h"
#include "config.c"
#include "ctl_words.h"

struct repl_module repl_module;
nfs_parameter_t nfs_param = { .core_param.rpc.ioq_thrd_max = 200 }; /* Ganesha's default */

void never_called(void);
void never_called(void)
{
	FUZZ_CHECK(!"Ganesha's parser is not asked");
}

/* ---- as Ganesha's parser would ---- */

static void set_text(char **at, const char *value, const struct config_item *item)
{
	size_t len = strlen(value);

	if (len < item->u.str.minsize || len > (size_t)item->u.str.maxsize)
		return;
	free(*at);
	*at = strdup(value);
}

static void set_token(uint32_t *at, const char *value, const struct config_item *item)
{
	for (const struct config_item_list *t = item->u.lst.tokens; t->token; t++)
		if (strcasecmp(t->token, value) == 0)
			*at = t->value;
}

static void set(struct raw *raw, const struct config_item *item, const char *value)
{
	void *at = (char *)raw + item->off;

	switch (item->type) {
	case CONFIG_UINT32:
		*(uint32_t *)at = (uint32_t)strtoull(value, NULL, 0);
		break;
	case CONFIG_UINT64:
		*(uint64_t *)at = strtoull(value, NULL, 0);
		if (item->flags & CONFIG_MARK_SET)
			raw->written |= item->u.ui64.bit;
		break;
	case CONFIG_BOOL:
		*(bool *)at = value[0] == 't';
		break;
	case CONFIG_LIST:
		*(uint32_t *)at = (uint32_t)strtoul(value, NULL, 0) & 0x1e; /* bits of words */
		break;
	case CONFIG_TOKEN:
		set_token(at, value, item);
		break;
	case CONFIG_STRING:
		set_text(at, value, item);
		break;
	default:
		break;
	}
}

static void add_server(struct raw *raw, char *value)
{
	struct raw_server *s = server_init(&raw->servers, NULL);
	char *rest, *key, *principal;

	s->id = (uint32_t)strtoul(value, &rest, 0);
	s->port = *rest ? (uint32_t)strtoul(rest + 1, &rest, 0) : 0;
	principal = *rest ? strchr(rest + 1, ';') : NULL;
	if (principal)
		*principal++ = '\0';
	s->principal = principal && strlen(principal) <= 191 && *principal ? strdup(principal) : NULL;
	key = *rest ? strchr(rest + 1, ' ') : NULL; /* behind the address */
	if (key)
		*key++ = '\0';
	s->key = key && strlen(key) <= 255 ? strdup(key) : NULL;
	s->address = *rest && strlen(rest + 1) <= 255 && rest[1] ? strdup(rest + 1) : NULL;
	server_commit(NULL, &raw->servers, s, NULL);
}

static void line(struct raw *raw, char *text)
{
	char *value = strchr(text, '=');

	if (text[0] == '+' || text[0] == '=') {
		fuzz_ctl_words(text[0] == '=', text + 1);
		return;
	}
	if (!value)
		return;
	*value++ = '\0';
	if (strcmp(text, "Server") == 0) {
		add_server(raw, value);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		if (strcmp(items[i].item.name, text) == 0)
			set(raw, &items[i].item, value);
}

/* ---- what is made of it ---- */

static void check_range(const struct nfs4r_config *cfg)
{
	FUZZ_CHECK(cfg->rpc.self >= 1 && cfg->rpc.self <= NFS4R_SERVERS_MAX);
	FUZZ_CHECK(cfg->rpc.nservers >= 1 && cfg->rpc.nservers <= NFS4R_SERVERS_MAX);
	FUZZ_CHECK(cfg->executors >= 1 && cfg->executors <= 256 && cfg->appliers >= 1 && cfg->appliers <= 256);
	FUZZ_CHECK(cfg->rpc.connections >= 1 && cfg->rpc.connections <= NFS4R_CONNECTIONS_MAX);
	FUZZ_CHECK(cfg->window_bytes >= NFS4R_IO_MAX && cfg->payload_bytes_max >= NFS4R_IO_MAX);
	FUZZ_CHECK(!cfg->lease_ms || (cfg->lease_ms >= 200 && cfg->silence_ms >= cfg->lease_ms / 2));
	FUZZ_CHECK(cfg->store_dir[0] == '/' && strlen(cfg->store_dir) < sizeof(cfg->store_dir));
	FUZZ_CHECK(cfg->volume_name[0] && strlen(cfg->control_socket) < sizeof(cfg->control_socket));
	for (uint32_t i = 0; i < cfg->rpc.nservers; i++) {
		const struct nfs4r_endpoint *e = &cfg->rpc.servers[i];

		FUZZ_CHECK(e->id >= 1 && e->id <= NFS4R_SERVERS_MAX && e->port && e->host[0] && e->nkeys <= NFS4R_KEYS_MAX);
		for (uint32_t k = 0; k < i; k++)
			FUZZ_CHECK(cfg->rpc.servers[k].id != e->id);
		fuzz_address(e);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct nfs4r_config cfg;
	char *text = malloc(len + 1), *at = text, *one, why[sizeof(repl_module.why)] = "";
	struct raw raw = { 0 };

	memcpy(text, data, len);
	text[len] = '\0';
	glist_init(&raw.servers);
	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		set_default(&raw, &items[i].item);
	raw.Server_Id = 1;
	raw.Peer_Security = NFS4R_SECURITY_NONE;
	raw.Volume = strdup("home");
	raw.Store = strdup("/store");
	raw.Volume_UUID = strdup("6f0e1c52-0b8f-4f7c-9b0a-1f7f3f1f5a11");
	add_server(&raw, "1,2050,127.0.0.1");
	while ((one = strsep(&at, "\n")) != NULL)
		line(&raw, one);
	if (convert(&cfg, &raw, why, sizeof(why)))
		check_range(&cfg);
	else
		FUZZ_CHECK(strncmp(why, "REPL: ", 6) == 0 && strlen(why) < sizeof(why));
	raw_free(&raw);
	free(text);
	return 0;
}
