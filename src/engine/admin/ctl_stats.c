/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What `nfs4rctl stats` shows, as JSON: counters and latencies since the start. Latencies are kept in buckets that double
 * in width; percentiles are estimated from them, and the buckets are in the answer for whoever wants to know better.
 */
#include "engine/admin/admin_int.h"
#include "engine/replicate/replicate.h"

/* ---- latencies ---- */

double admin_percentile(const struct nfs4r_core_hist *h, unsigned percent)
{
	uint64_t rank = (h->n * percent + 99) / 100, before = 0;

	if (!rank)
		return 0;
	for (uint32_t i = 0; i < NFS4R_CORE_BUCKETS; i++) {
		uint64_t lo = i ? UINT64_C(1) << (i - 1) : 0, hi = i ? 2 * lo - 1 : 0; /* whole ms in bucket i */

		if (before + h->bucket[i] < rank) {
			before += h->bucket[i];
			continue;
		}
		if (i == NFS4R_CORE_BUCKETS - 1 || hi > h->max_ms)
			hi = h->max_ms;
		return (double)lo + (double)(hi - lo) * (double)(rank - before) / (double)h->bucket[i];
	}
	return 0;
}

static json_t *latency(const struct nfs4r_core_hist *h)
{
	json_t *buckets = json_array();

	for (uint32_t i = 0; i < NFS4R_CORE_BUCKETS; i++)
		json_array_append_new(buckets, json_pack("{s:o, s:o}", "below_ms", i + 1 < NFS4R_CORE_BUCKETS ? admin_num(UINT64_C(1) << i) : json_null(), "n", admin_num(h->bucket[i])));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "n", admin_num(h->n), "mean_ms",
			 h->n ? json_real((double)h->sum_ms / (double)h->n) : json_null(), "p50_ms",
			 h->n ? json_real(admin_percentile(h, 50)) : json_null(), "p90_ms",
			 h->n ? json_real(admin_percentile(h, 90)) : json_null(), "p99_ms",
			 h->n ? json_real(admin_percentile(h, 99)) : json_null(), "max_ms", h->n ? admin_num(h->max_ms) : json_null(),
			 "buckets", buckets);
}

static json_t *latencies(const struct nfs4r_core_stats *c)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "won", latency(&c->won), "acked_by_all", latency(&c->acked_by_all), "forward",
			 latency(&c->forward), "reply", latency(&c->reply), "release", latency(&c->release));
}

/* ---- counters ---- */

static json_t *core_counters(const struct nfs4r_core_stats *c)
{
	json_t *out = json_object();

#define STAT(name) json_object_set_new(out, #name, admin_num(c->name))
#define STAT_AS(key, name) json_object_set_new(out, key, admin_num(c->name))
	STAT(elections), STAT_AS("proposals_deferred", proposals_deferred), STAT_AS("elections_preempted", conflicts), STAT(aborts), STAT(revokes_sent);
	STAT_AS("revokes_received", revokes_got), STAT(forwards_sent);
	STAT(forwards_served), STAT(not_primary), STAT(entries_executed), STAT(entries_applied), STAT(entries_void);
	STAT(releases), STAT(reopened), STAT(yielded), STAT(yield_regrets), STAT_AS("time_slices", turns), STAT(bad_messages), STAT(delays), STAT(claims), STAT(controls_own), STAT(controls_foreign);
	STAT(ops_waiting), STAT(ops_executing), STAT_AS("replies_cached", replies_cached), STAT(pending_entries);
	STAT(elections_waited), STAT(deep_asked), STAT(deep_refused), STAT_AS("escalations", escalations), STAT_AS("escalations_lost", escalations_lost);
	STAT(raises), STAT(raises_lost), STAT(drops), STAT_AS("deescalations", deescalations), STAT(reads_served);
#undef STAT
#undef STAT_AS
	return out;
}

static json_t *engine_counters(struct nfs4r_engine *eng)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "reads_local",
			 admin_num(__atomic_load_n(&eng->read.local, __ATOMIC_RELAXED)), "reads_remote",
			 admin_num(__atomic_load_n(&eng->read.remote, __ATOMIC_RELAXED)), "reads_not_modified",
			 admin_num(__atomic_load_n(&eng->read.promised, __ATOMIC_RELAXED)), "updates",
			 admin_num(__atomic_load_n(&eng->update.done, __ATOMIC_RELAXED)), "executors_queued",
			 admin_num(engine_pool_queued(eng->runtime.executors)), "appliers_queued", admin_num(engine_pool_queued(eng->replicate.appliers)), "payload_bytes",
			 admin_num(replicate_sender_payload_bytes(eng->replicate.distributor)), "waiting_threads", admin_num(eng->runtime.waiting.all), "waiting_max", admin_num(eng->cfg.waiting_max),
			 "waiting_refused", admin_num(eng->runtime.waiting.refused));
}

json_t *admin_report_stats(struct nfs4r_engine *eng)
{
	struct nfs4r_core_stats c;

	pthread_mutex_lock(&eng->lock);
	nfs4r_core_get_stats(eng->core, &c);
	pthread_mutex_unlock(&eng->lock);
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:i}", "core", core_counters(&c), "engine", engine_counters(eng), "store",
			 admin_report_journal(eng), "retention", admin_retention_json(eng), "latencies", latencies(&c), "volume",
			 admin_json_text(eng->cfg.volume_name), "server", eng->cfg.rpc.self);
}
