/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Configuration: defaults and checks. Pure; every complaint names the key and what to write. */
#include <stdio.h>

#include "engine/engine_int.h"

void nfs4r_config_init(struct nfs4r_config *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	nfs4r_rpc_config_init(&cfg->rpc);
	cfg->directory_reads = NFS4R_DIRECTORY_READS_STRICT;
	cfg->op_wait_ms = 1000;
	cfg->waiting_max = 150;
	cfg->close_wait_ms = 30000;
	cfg->stop_wait_ms = 30000;
	cfg->idle_ms = 1000;
	cfg->deep_control = true;
	cfg->deep_idle_ms = 1000;
	cfg->read_idle_ms = 20;
	cfg->revoke_ms = 100;
	cfg->turn_ms = 2000;
	cfg->announce_ms = 20;
	cfg->promote_after = 3;
	cfg->deep_plus_after = 2;
	cfg->contested_ms = 5000;
	cfg->share_reads = 8;
	cfg->repeat_ms = 400;
	cfg->lease_ms = 2000;
	cfg->silence_ms = 2000;
	cfg->drift_permille = 10;
	cfg->durability = NFS4R_DURABILITY_LOCAL;
	cfg->checkpoint_ms = 5000;
	cfg->executors = 8;
	cfg->appliers = 4;
	cfg->payload_bytes_max = 64u << 20;
	cfg->window_bytes = 32u << 20;
	cfg->retention_s = 30 * 86400;
	cfg->restart_pause_ms = 60000;
}

static const struct nfs4r_endpoint *find(const struct nfs4r_rpc_config *rpc, nfs4r_server_id id)
{
	for (uint32_t i = 0; i < rpc->nservers; i++)
		if (rpc->servers[i].id == id)
			return &rpc->servers[i];
	return NULL;
}

static enum nfs4r_status bad(char *why, size_t len, const char *text)
{
	snprintf(why, len, "%s", text);
	return NFS4R_BADCONFIG;
}

static enum nfs4r_status check_servers(const struct nfs4r_rpc_config *rpc, char *why, size_t len)
{
	if (rpc->nservers == 0)
		return bad(why, len, "REPL: no Server block; write one `Server { Id = N; Address = \"host\"; Port = P; }` for every server of the volume");
	for (uint32_t i = 0; i < rpc->nservers; i++) {
		const struct nfs4r_endpoint *e = &rpc->servers[i];

		if (e->id == 0 || e->id > NFS4R_SERVERS_MAX) {
			snprintf(why, len, "REPL: Server Id = %u is out of range; use 1 to %u", e->id, NFS4R_SERVERS_MAX);
			return NFS4R_BADCONFIG;
		}
		if (find(rpc, e->id) != e) {
			snprintf(why, len, "REPL: two Server blocks have Id = %u; every server needs its own", e->id);
			return NFS4R_BADCONFIG;
		}
		if (!e->host[0] || e->port == 0) {
			snprintf(why, len, "REPL: Server %u needs an Address and a Port from 1 to 65535", e->id);
			return NFS4R_BADCONFIG;
		}
		if (!rpc->any_port && e->port >= NFS4R_PORTS_PRIVILEGED) {
			snprintf(why, len, "REPL: Server %u has Port = %u, which every user of its machine gets, and with it the place of a server: write Port = %u, or another one below "
				 "%u; with Peer_Ports = any it is allowed, and unsafe", e->id, e->port, NFS4R_PORT_DEFAULT, NFS4R_PORTS_PRIVILEGED);
			return NFS4R_BADCONFIG;
		}
	}
	if (!find(rpc, rpc->self)) {
		snprintf(why, len, "REPL: Server_Id = %u has no Server block; add it, or correct Server_Id", rpc->self);
		return NFS4R_BADCONFIG;
	}
	return NFS4R_OK;
}

#define LEASE_MIN_MS 200
#define LEASE_MAX_MS 60000
#define SILENCE_MAX_MS 600000
#define DRIFT_MAX_PERMILLE 200
#define GIVE_UP_MAX_MS UINT64_C(31536000000)

static enum nfs4r_status check_view(const struct nfs4r_config *cfg, char *why, size_t len)
{
	if (cfg->lease_ms == 0)
		return NFS4R_OK; /* the others mean nothing then */
	if (cfg->lease_ms < LEASE_MIN_MS || cfg->lease_ms > LEASE_MAX_MS)
		return bad(why, len, "REPL: Lease must be 200 to 60000 ms, or 0 for a view that never changes; the same on every server");
	if (cfg->drift_permille < 1 || cfg->drift_permille > DRIFT_MAX_PERMILLE)
		return bad(why, len, "REPL: Clock_Drift must be 1 to 200 (thousandths); the same on every server");
	if (cfg->silence_ms < cfg->lease_ms / 2 || cfg->silence_ms > SILENCE_MAX_MS) {
		snprintf(why, len, "REPL: Silence = %u does not go with Lease = %u: servers speak every quarter of a lease, and one that is late must not be "
			 "taken for one that is gone; write Silence = %u to %u", cfg->silence_ms, cfg->lease_ms, cfg->lease_ms / 2, SILENCE_MAX_MS);
		return NFS4R_BADCONFIG;
	}
	return NFS4R_OK;
}

static enum nfs4r_status check_durability(const struct nfs4r_config *cfg, char *why, size_t len)
{
	if (cfg->durability < NFS4R_DURABILITY_LOCAL || cfg->durability > NFS4R_DURABILITY_MAJORITY)
		return bad(why, len, "REPL: Durability must be local, commit or majority; the same on every server");
	if (cfg->durability != NFS4R_DURABILITY_LOCAL && cfg->lease_ms == 0)
		return bad(why, len, "REPL: Durability = commit or majority needs a view that can change: write Lease = 2000, or Durability = local");
	if (cfg->give_up_ms && cfg->lease_ms == 0)
		return bad(why, len, "REPL: Give_Up_After needs a view that can change: write Lease = 2000, or Give_Up_After = 0");
	if (cfg->give_up_ms && (cfg->give_up_ms < 60000 || cfg->give_up_ms > GIVE_UP_MAX_MS))
		return bad(why, len, "REPL: Give_Up_After must be 0 or 60 to 31536000 s: what only that server has is lost then");
	if (cfg->give_up_ms && cfg->durability != NFS4R_DURABILITY_LOCAL)
		return bad(why, len, "REPL: Give_Up_After is for Durability = local; with commit and majority the others never wait for a server that is gone");
	if (cfg->conflicts_dir[0] && cfg->conflicts_dir[0] != '/')
		return bad(why, len, "REPL: Conflicts is not absolute; write a directory outside the exported one, or leave it out for Store/conflicts");
	return NFS4R_OK;
}

#define RETENTION_TIME_MAX UINT64_C(315360000)

static enum nfs4r_status check_retention(const struct nfs4r_config *cfg, char *why, size_t len)
{
	if (cfg->retention_bytes && cfg->retention_bytes < NFS4R_RETENTION_MIN && !cfg->segment_bytes)
		return bad(why, len, "REPL: Retention_Bytes must be 0 (a tenth of the file system of Store) or at least 268435456: less than four files of the journal frees nothing");
	if (cfg->retention_s && (cfg->retention_s < 3600 || cfg->retention_s > RETENTION_TIME_MAX))
		return bad(why, len, "REPL: Retention_Time must be 0 (any time) or 3600 to 315360000 s: a server that is away for longer copies everything when it is back");
	if (cfg->free_min && cfg->free_min < NFS4R_FREE_MIN_LEAST)
		return bad(why, len, "REPL: Free_Min must be 0 (2 % of each file system, at least 1 GiB, at most a twentieth) or 1048576 bytes and more: removals need room in the journal");
	return NFS4R_OK;
}

static const uint8_t no_uuid[16];

enum nfs4r_status nfs4r_config_check(const struct nfs4r_config *cfg, char *why, size_t why_len)
{
	if (cfg->rpc.self == 0 || cfg->rpc.self > NFS4R_SERVERS_MAX)
		return bad(why, why_len, "REPL: Server_Id is missing or out of range; write the number of this server, 1 to 15");
	if (!cfg->volume_name[0])
		return bad(why, why_len, "REPL: Volume is missing; write Volume = \"name\"; the same on every server");
	if (memcmp(cfg->rpc.volume, no_uuid, sizeof(no_uuid)) == 0)
		return bad(why, why_len, "REPL: Volume_UUID is missing; make one with uuidgen and write it on every server");
	if (cfg->store_dir[0] != '/')
		return bad(why, why_len, "REPL: Store is missing or not absolute; write Store = \"/var/lib/nfs4r/NAME\" outside the exported directory");
	if (cfg->rpc.security != NFS4R_SECURITY_NONE)
		return bad(why, why_len, "REPL: Peer_Security is missing; Kerberos between servers is not there yet, so write Peer_Security = none; and keep the "
					 "servers' network private: only configured addresses are let in");
	if (cfg->checkpoint_ms < 100 || cfg->checkpoint_ms > 600000)
		return bad(why, why_len, "REPL: Checkpoint_Interval must be 100 to 600000 ms");
	if (cfg->restart_pause_ms > 600000)
		return bad(why, why_len, "REPL: Restart_Pause must be 0 to 600000 ms");
	if (cfg->op_wait_ms < 100 || cfg->op_wait_ms > 60000)
		return bad(why, why_len, "REPL: Op_Wait must be 100 to 60000 ms");
	if (cfg->executors < 1 || cfg->executors > 256 || cfg->appliers < 1 || cfg->appliers > 256)
		return bad(why, why_len, "REPL: Executors and Appliers must be 1 to 256");
	if (cfg->window_bytes < NFS4R_IO_MAX)
		return bad(why, why_len, "REPL: Window must be at least 4194304 bytes");
	enum nfs4r_status st = check_view(cfg, why, why_len);

	if (st == NFS4R_OK)
		st = check_durability(cfg, why, why_len);
	if (st == NFS4R_OK)
		st = check_retention(cfg, why, why_len);
	return st == NFS4R_OK ? check_servers(&cfg->rpc, why, why_len) : st;
}
