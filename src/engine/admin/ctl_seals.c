/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What `nfs4rctl` shows and does about ends of logs. It shows what would be lost with this server now, which servers were abandoned, and how far
 * a repair of this copy has come. It abandons a server (log 9.2).
 */
#include <stdio.h>
#include <string.h>

#include "engine/admin/admin_int.h"

uint64_t admin_entries(nfs4r_lsn from, nfs4r_lsn until)
{
	const nfs4r_lsn number = ((nfs4r_lsn)1 << NFS4R_GEN_SHIFT) - 1;

	if (until <= from)
		return 0;
	return NFS4R_GEN(from) == NFS4R_GEN(until) ? until - from : until & number; /* what an ended generation still had is not known */
}

void admin_seals_collect(struct nfs4r_engine *eng, struct ctl_facts *f)
{
	nfs4r_core_loss_window(eng->core, &f->loss_entries, &f->loss_bytes, &f->loss_age_ms);
	f->repair.running = eng->resync.repair.running;
	f->repair.from = eng->resync.repair.from;
	f->repair.phase = eng->resync.repair.phase;
	f->repair.done = eng->resync.repair.done;
	f->repair.all = eng->resync.repair.all;
	f->repair.bytes = eng->resync.repair.bytes;
	f->repair.since_ms = eng->resync.repair.since_ms;
	f->repair.fetch_ms = eng->resync.repair.fetch_ms;
}

static json_t *repair(const struct ctl_facts *f)
{
	double s = (double)(engine_now_ms() - f->repair.since_ms) / 1000, fetching, eta = -1;

	if (!f->repair.running)
		return f->view.repairing ? json_pack("{s:s}", "phase", "waiting") : json_null();
	fetching = f->repair.fetch_ms ? (double)(engine_now_ms() - f->repair.fetch_ms + 1) / 1000 : s + 0.001;
	if (f->repair.done && f->repair.all >= f->repair.done)
		eta = fetching * (double)(f->repair.all - f->repair.done) / (double)f->repair.done;
	return json_pack("{s:s, s:i, s:o, s:o, s:o, s:f, s:f, s:f, s:o}", "phase", f->repair.phase, "from", f->repair.from, "objects", admin_num(f->repair.done),
			 "objects_all", admin_num(f->repair.all), "bytes", admin_num(f->repair.bytes), "bytes_per_second", (double)f->repair.bytes / fetching,
			 "objects_per_second", (double)f->repair.done / fetching, "seconds", s, "eta_seconds",
			 eta < 0 ? json_null() : json_real(eta));
}

static json_t *seals(const struct nfs4r_view *v)
{
	json_t *out = json_array();

	for (uint32_t i = 0; i < v->nseals; i++)
		json_array_append_new(out, json_pack("{s:i, s:o, s:o}", "server", v->seals[i].log, "generation", admin_num(NFS4R_GEN(v->seals[i].lsn)), "entry", admin_num(v->seals[i].lsn & (((nfs4r_lsn)1 << NFS4R_GEN_SHIFT) - 1))));
	return out;
}

json_t *admin_seals_json(const struct nfs4r_engine *eng, const struct ctl_facts *f)
{
	static const char *const durability[] = { "", "local", "commit", "majority" };
	nfs4r_servers sealed = f->servers & ~f->view.adopted.open;

	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:{s:o, s:o, s:o}, s:o}", "durability", durability[engine_durability(eng)], "epoch",
			 admin_num(f->view.adopted.epoch), "abandoned", admin_server_list(f->view.abandoned), "sealed", admin_server_list(sealed), "seals", seals(&f->view.adopted),
			 "loss_window", "entries", admin_num(f->loss_entries), "bytes", admin_num(f->loss_bytes), "age_ms", admin_num(f->loss_age_ms), "resync",
			 repair(f));
}

json_t *admin_abandon(struct nfs4r_engine *eng, json_int_t server, bool sure)
{
	nfs4r_server_id s = server > 0 && server <= NFS4R_SERVERS_MAX ? (nfs4r_server_id)server : 0;
	struct nfs4r_event ev = { .type = NFS4R_EV_ABANDON, .peer = s };
	char why[NFS4R_WHY] = "give the number of the server, 1 to 15";
	enum nfs4r_status st = NFS4R_INVAL;
	uint64_t lost = 0;

	pthread_mutex_lock(&eng->lock);
	if (s && admin_is_server(eng, s, why, sizeof(why)))
		st = nfs4r_core_may_abandon(eng->core, s, &lost, why, sizeof(why));
	if (st == NFS4R_OK && sure) {
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: an administrator abandons server %u; %llu updates that only it has will be undone when it returns",
			   eng->cfg.volume_name, s, (unsigned long long)lost);
		engine_step(eng, &ev);
	}
	pthread_mutex_unlock(&eng->lock);
	if (st != NFS4R_OK)
		return admin_error(why);
	return json_pack("{s:i, s:o, s:b}", "server", s, "lost_entries", admin_num(lost), "abandoned", sure);
}
