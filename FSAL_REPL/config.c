/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * REPL { } of Ganesha's configuration file -> struct nfs4r_config. Ganesha's parser fills a plain struct from
 * the tables below (defaults included); we turn that into the engine's configuration and let the
 * engine check what belongs together. config_samples/repl.conf explains every key.
 *
 * Ganesha's parser names the line but not the key of a number out of range, so its tables let all numbers
 * pass and the ranges are ours.
 *
 * A mistake is kept as one sentence, and the REPL export is refused with it.
 */
#include "repl.h"
#include "config_parsing.h"
#include "gsh_config.h"
#include "nfs4r_build.h"

#include <uuid/uuid.h>

struct raw_server {
	struct glist_head node;
	uint32_t id, port;
	char *address;
};

struct raw {
	uint32_t server_id;
	char *volume, *uuid, *store, *control_socket, *congestion, *conflicts;
	uint32_t security, peer_ports, directory_reads, durability, quotas, give_up, retention_time;
	uint64_t retention_bytes, free_min;
	bool import, deep, stale_reads;
	uint32_t op_wait, waiting_max, close_wait, stop_wait, restart_pause, idle, repeat, checkpoint, executors, appliers, connections;
	uint32_t deep_idle, read_idle, revoke_wait, revoke_turn, promote_after, deep_plus_after, contested, share_reads;
	uint32_t lease, silence, drift;
	uint64_t payload, window, warm;
	struct glist_head servers;
};

enum { SECURITY_MISSING = 0, SECURITY_NONE = NFS4R_SECURITY_NONE, SECURITY_KRB5 = 100 };

static struct config_item_list securities[] = {
	CONFIG_LIST_TOK("none", SECURITY_NONE),	  CONFIG_LIST_TOK("krb5", SECURITY_KRB5),
	CONFIG_LIST_TOK("krb5i", SECURITY_KRB5),  CONFIG_LIST_TOK("krb5p", SECURITY_KRB5),
	CONFIG_LIST_EOL
};

enum { PORTS_PRIVILEGED = 1, PORTS_ANY = 2 };

static struct config_item_list ports[] = { CONFIG_LIST_TOK("privileged", PORTS_PRIVILEGED), CONFIG_LIST_TOK("any", PORTS_ANY), CONFIG_LIST_EOL };

static struct config_item_list directory_reads[] = { CONFIG_LIST_TOK("strict", NFS4R_DIRECTORY_READS_STRICT),
						     CONFIG_LIST_TOK("local", NFS4R_DIRECTORY_READS_LOCAL),
						     CONFIG_LIST_EOL };

static struct config_item_list durabilities[] = { CONFIG_LIST_TOK("local", NFS4R_DURABILITY_LOCAL),
						  CONFIG_LIST_TOK("commit", NFS4R_DURABILITY_COMMIT),
						  CONFIG_LIST_TOK("majority", NFS4R_DURABILITY_MAJORITY),
						  CONFIG_LIST_EOL };

enum { QUOTAS_REFUSE = 1, QUOTAS_IGNORE };

static struct config_item_list quotas[] = { CONFIG_LIST_TOK("refuse", QUOTAS_REFUSE), CONFIG_LIST_TOK("ignore", QUOTAS_IGNORE), CONFIG_LIST_EOL };

static struct config_item server_params[] = {
	CONF_ITEM_UI32("Id", 0, UINT32_MAX, 0, raw_server, id),
	CONF_ITEM_STR("Address", 1, 255, NULL, raw_server, address),
	CONF_ITEM_UI32("Port", 0, UINT32_MAX, NFS4R_PORT_DEFAULT, raw_server, port),
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
	gsh_free(s);
	return NULL;
}

static int server_commit(void *node, void *link_mem, void *self, struct config_error_type *err)
{
	struct raw_server *s = self;

	glist_add_tail(link_mem, &s->node);
	return 0;
}

static struct config_item repl_params[] = {
	CONF_ITEM_UI32("Server_Id", 0, UINT32_MAX, 0, raw, server_id),
	CONF_ITEM_STR("Volume", 1, 63, NULL, raw, volume),
	CONF_ITEM_STR("Volume_UUID", 36, 36, NULL, raw, uuid),
	CONF_ITEM_STR("Store", 1, 1023, NULL, raw, store),
	CONF_ITEM_TOKEN("Peer_Security", SECURITY_MISSING, securities, raw, security),
	CONF_ITEM_TOKEN("Peer_Ports", PORTS_PRIVILEGED, ports, raw, peer_ports),
	CONF_ITEM_STR("Control_Socket", 1, 107, NULL, raw, control_socket),
	CONF_ITEM_TOKEN("Directory_Reads", NFS4R_DIRECTORY_READS_STRICT, directory_reads, raw, directory_reads),
	CONF_ITEM_BOOL("Import", false, raw, import),
	CONF_ITEM_UI32("Op_Wait", 0, UINT32_MAX, 1000, raw, op_wait),
	CONF_ITEM_UI32("Waiting_Max", 0, UINT32_MAX, 0, raw, waiting_max),
	CONF_ITEM_UI32("Close_Wait", 0, UINT32_MAX, 30000, raw, close_wait),
	CONF_ITEM_UI32("Stop_Wait", 0, UINT32_MAX, 30000, raw, stop_wait),
	CONF_ITEM_UI32("Restart_Pause", 0, UINT32_MAX, 60000, raw, restart_pause),
	CONF_ITEM_UI32("Control_Idle", 0, UINT32_MAX, 1000, raw, idle),
	CONF_ITEM_BOOL("Deep_Control", true, raw, deep),
	CONF_ITEM_UI32("Deep_Idle", 0, UINT32_MAX, 1000, raw, deep_idle),
	CONF_ITEM_UI32("Read_Idle", 0, UINT32_MAX, 20, raw, read_idle),
	CONF_ITEM_UI32("Revoke_Wait", 0, UINT32_MAX, 100, raw, revoke_wait),
	CONF_ITEM_UI32("Revoke_Turn", 0, UINT32_MAX, 2000, raw, revoke_turn),
	CONF_ITEM_UI32("Promote_After", 0, UINT32_MAX, 3, raw, promote_after),
	CONF_ITEM_UI32("Deep_Plus_After", 0, UINT32_MAX, 2, raw, deep_plus_after),
	CONF_ITEM_UI32("Contested", 0, UINT32_MAX, 5000, raw, contested),
	CONF_ITEM_UI32("Share_Reads", 0, UINT32_MAX, 8, raw, share_reads),
	CONF_ITEM_UI32("Lease", 0, UINT32_MAX, 2000, raw, lease),
	CONF_ITEM_UI32("Silence", 0, UINT32_MAX, 2000, raw, silence),
	CONF_ITEM_UI32("Clock_Drift", 0, UINT32_MAX, 10, raw, drift),
	CONF_ITEM_BOOL("Stale_Reads", false, raw, stale_reads),
	CONF_ITEM_TOKEN("Durability", NFS4R_DURABILITY_LOCAL, durabilities, raw, durability),
	CONF_ITEM_UI32("Give_Up_After", 0, UINT32_MAX, 0, raw, give_up),
	CONF_ITEM_STR("Conflicts", 1, 1023, NULL, raw, conflicts),
	CONF_ITEM_UI64("Retention_Bytes", 0, UINT64_MAX, 0, raw, retention_bytes),
	CONF_ITEM_UI64("Free_Min", 0, UINT64_MAX, 0, raw, free_min),
	CONF_ITEM_TOKEN("Quotas", QUOTAS_REFUSE, quotas, raw, quotas),
	CONF_ITEM_UI32("Retention_Time", 0, UINT32_MAX, 2592000, raw, retention_time),
	CONF_ITEM_UI32("Repeat", 0, UINT32_MAX, 400, raw, repeat),
	CONF_ITEM_UI32("Checkpoint_Interval", 0, UINT32_MAX, 5000, raw, checkpoint),
	CONF_ITEM_UI32("Executors", 0, UINT32_MAX, 8, raw, executors),
	CONF_ITEM_UI32("Appliers", 0, UINT32_MAX, 4, raw, appliers),
	CONF_ITEM_UI64("Payload_Memory", 0, UINT64_MAX, UINT64_C(64) << 20, raw, payload),
	CONF_ITEM_STR("Peer_Congestion", 1, 15, "bbr", raw, congestion),
	CONF_ITEM_UI32("Peer_Connections", 0, UINT32_MAX, 4, raw, connections),
	CONF_ITEM_UI64("Peer_Warm_Up", 0, UINT64_MAX, UINT64_C(16) << 20, raw, warm),
	CONF_ITEM_UI64("Window", 0, UINT64_MAX, UINT64_C(32) << 20, raw, window),
	CONF_ITEM_BLOCK_MULT("Server", server_params, server_init, server_commit, raw, servers),
	CONFIG_EOL
};

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
	gsh_free(raw->volume);
	gsh_free(raw->uuid);
	gsh_free(raw->store);
	gsh_free(raw->control_socket);
	gsh_free(raw->congestion);
	gsh_free(raw->conflicts);
}

static void copy_text(char *out, size_t size, const char *in)
{
	snprintf(out, size, "%s", in != NULL ? in : "");
}

static const struct {
	const char *key;
	size_t off;
	bool is64;
	uint64_t min, max;
} ranges[] = {
	{ "Server_Id", offsetof(struct raw, server_id), false, 1, NFS4R_SERVERS_MAX },
	{ "Op_Wait", offsetof(struct raw, op_wait), false, 100, 60000 },
	{ "Waiting_Max", offsetof(struct raw, waiting_max), false, 0, 100000 },
	{ "Close_Wait", offsetof(struct raw, close_wait), false, 1000, 600000 },
	{ "Stop_Wait", offsetof(struct raw, stop_wait), false, 0, 600000 },
	{ "Restart_Pause", offsetof(struct raw, restart_pause), false, 0, 600000 },
	{ "Control_Idle", offsetof(struct raw, idle), false, 10, 600000 },
	{ "Deep_Idle", offsetof(struct raw, deep_idle), false, 10, 600000 },
	{ "Read_Idle", offsetof(struct raw, read_idle), false, 0, 60000 },
	{ "Revoke_Wait", offsetof(struct raw, revoke_wait), false, 0, 60000 },
	{ "Revoke_Turn", offsetof(struct raw, revoke_turn), false, 0, 600000 },
	{ "Promote_After", offsetof(struct raw, promote_after), false, 0, 1000000 },
	{ "Deep_Plus_After", offsetof(struct raw, deep_plus_after), false, 0, 1000000 },
	{ "Contested", offsetof(struct raw, contested), false, 0, 3600000 },
	{ "Share_Reads", offsetof(struct raw, share_reads), false, 0, 1000000000 },
	{ "Lease", offsetof(struct raw, lease), false, 0, 60000 },
	{ "Silence", offsetof(struct raw, silence), false, 100, 600000 },
	{ "Clock_Drift", offsetof(struct raw, drift), false, 1, 200 },
	{ "Give_Up_After", offsetof(struct raw, give_up), false, 0, 31536000 },
	{ "Retention_Bytes", offsetof(struct raw, retention_bytes), true, 0, UINT64_C(1) << 60 },
	{ "Free_Min", offsetof(struct raw, free_min), true, 0, UINT64_C(1) << 60 },
	{ "Retention_Time", offsetof(struct raw, retention_time), false, 0, 315360000 },
	{ "Repeat", offsetof(struct raw, repeat), false, 20, 60000 },
	{ "Checkpoint_Interval", offsetof(struct raw, checkpoint), false, 100, 600000 },
	{ "Executors", offsetof(struct raw, executors), false, 1, 256 },
	{ "Appliers", offsetof(struct raw, appliers), false, 1, 256 },
	{ "Payload_Memory", offsetof(struct raw, payload), true, NFS4R_IO_MAX, UINT64_C(1) << 40 },
	{ "Peer_Connections", offsetof(struct raw, connections), false, 1, NFS4R_CONNECTIONS_MAX },
	{ "Peer_Warm_Up", offsetof(struct raw, warm), true, 0, UINT64_C(1) << 30 },
	{ "Window", offsetof(struct raw, window), true, NFS4R_IO_MAX, UINT64_C(1) << 36 },
};

static bool check_ranges(const struct raw *raw, char *why, size_t why_len)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		const char *at = (const char *)raw + ranges[i].off;
		uint64_t val = ranges[i].is64 ? *(const uint64_t *)at : *(const uint32_t *)at;

		if (val < ranges[i].min || val > ranges[i].max) {
			snprintf(why, why_len, "REPL: %s = %" PRIu64 " is missing or out of range; write %" PRIu64 " to %" PRIu64,
				 ranges[i].key, val, ranges[i].min, ranges[i].max);
			return false;
		}
	}
	return true;
}

/* All of Ganesha's workers would wait for other servers, and none be left for what needs no other server. */
static bool check_waiting(const struct raw *raw, char *why, size_t why_len)
{
	uint32_t workers = nfs_param.core_param.rpc.ioq_thrd_max;

	if (raw->waiting_max < workers)
		return true;
	snprintf(why, why_len, "REPL: Waiting_Max = %u is not below RPC_Ioq_ThrdMax = %u of NFS_CORE_PARAM; write less, or 0 for three quarters of that",
		 raw->waiting_max, workers);
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
		copy_text(e->host, sizeof(e->host), s->address);
		rpc->nservers++;
	}
	return true;
}

static bool convert(struct nfs4r_config *cfg, struct raw *raw, char *why, size_t why_len)
{
	nfs4r_config_init(cfg);
	if (!check_ranges(raw, why, why_len) || !check_waiting(raw, why, why_len))
		return false;
	cfg->rpc.self = raw->server_id;
	copy_text(cfg->rpc.version, sizeof(cfg->rpc.version), NFS4R_BUILD_VERSION);
	copy_text(cfg->volume_name, sizeof(cfg->volume_name), raw->volume);
	copy_text(cfg->store_dir, sizeof(cfg->store_dir), raw->store);
	copy_text(cfg->control_socket, sizeof(cfg->control_socket), raw->control_socket);
	if (raw->security == SECURITY_KRB5) {
		snprintf(why, why_len, "REPL: Peer_Security: Kerberos between servers is not there yet; on a private network "
				       "write Peer_Security = none");
		return false;
	}
	cfg->rpc.security = raw->security;
	cfg->rpc.any_port = raw->peer_ports == PORTS_ANY;
	if (raw->uuid != NULL && uuid_parse(raw->uuid, cfg->rpc.volume) != 0) {
		snprintf(why, why_len, "REPL: Volume_UUID = %s is not a UUID; write what uuidgen prints, the same on every server",
			 raw->uuid);
		return false;
	}
	cfg->directory_reads = raw->directory_reads;
	cfg->import = raw->import;
	cfg->op_wait_ms = raw->op_wait;
	cfg->waiting_max = raw->waiting_max != 0 ? raw->waiting_max : nfs_param.core_param.rpc.ioq_thrd_max * 3 / 4;
	cfg->close_wait_ms = raw->close_wait;
	cfg->stop_wait_ms = raw->stop_wait;
	cfg->restart_pause_ms = raw->restart_pause;
	cfg->idle_ms = raw->idle;
	cfg->deep_control = raw->deep;
	cfg->deep_idle_ms = raw->deep_idle;
	cfg->read_idle_ms = raw->read_idle;
	cfg->revoke_ms = raw->revoke_wait;
	cfg->turn_ms = raw->revoke_turn;
	cfg->promote_after = raw->promote_after;
	cfg->deep_plus_after = raw->deep_plus_after;
	cfg->contested_ms = raw->contested;
	cfg->share_reads = raw->share_reads;
	cfg->lease_ms = raw->lease;
	cfg->silence_ms = raw->silence;
	cfg->drift_permille = raw->drift;
	cfg->stale_reads = raw->stale_reads;
	cfg->durability = raw->durability;
	cfg->give_up_ms = (uint64_t)raw->give_up * 1000;
	copy_text(cfg->conflicts_dir, sizeof(cfg->conflicts_dir), raw->conflicts);
	cfg->retention_bytes = raw->retention_bytes;
	cfg->free_min = raw->free_min;
	cfg->quotas_ignored = raw->quotas == QUOTAS_IGNORE;
	cfg->retention_s = raw->retention_time;
	cfg->repeat_ms = raw->repeat;
	cfg->checkpoint_ms = raw->checkpoint;
	cfg->executors = raw->executors;
	cfg->appliers = raw->appliers;
	cfg->payload_bytes_max = raw->payload;
	cfg->window_bytes = raw->window;
	cfg->rpc.buffer_bytes = raw->window;
	cfg->rpc.connections = raw->connections;
	cfg->rpc.warm_bytes = raw->warm;
	copy_text(cfg->rpc.congestion, sizeof(cfg->rpc.congestion), raw->congestion != NULL && strcmp(raw->congestion, "system") == 0 ? NULL : raw->congestion);
	return copy_servers(&cfg->rpc, raw, why, why_len) && nfs4r_config_check(cfg, why, why_len) == NFS4R_OK;
}

/* Keep the parser's first complaint. */
static void first_complaint(char *msg, void *dest, struct config_error_type *err)
{
	char *why = dest;

	if (why[0] == '\0')
		snprintf(why, sizeof(repl_module.why), "REPL: %s; see config_samples/repl.conf", msg);
}

static bool parse(config_file_t parsed, struct raw *raw, char *why)
{
	struct config_error_type err;
	int found;

	glist_init(&raw->servers);
	if (!init_error_type(&err)) {
		snprintf(why, sizeof(repl_module.why), "REPL: out of memory while reading the configuration");
		return false;
	}
	found = load_config_from_parse(parsed, &repl_block, raw, true, &err);
	report_config_errors(&err, why, first_complaint); /* frees what init_error_type() made */
	if (why[0] != '\0')
		return false;
	if (found != 1) {
		snprintf(why, sizeof(repl_module.why), "REPL: %s REPL block at the top level of the configuration; write one as in "
			 "config_samples/repl.conf", found > 1 ? "more than one" : "there is no");
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
