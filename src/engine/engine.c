/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Life of the engine, and the core's tree port.
 *
 * Start: store (lock, journal, incarnation) -> core (rows, positions) -> helpers -> the exported directory -> started() -> transport, held
 * -> timers -> what is in doubt -> undecided entries -> when nothing can fail any more, the transport begins (online.c). Stop runs it backwards; what is still under way ends as DELAY for its client and
 * is in the journal.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "engine/config.h"
#include "engine/engine_int.h"

#define LISTEN_WAIT_MS 15000 /* a machine that starts gets its addresses, and its name service, in some seconds */
#define MENDERS 8 /* threads: an object that comes back costs some round trips */
#define JOURNAL_AHEAD (1u << 20) /* of zeros behind the journal's end: some thousand small updates, and all the disk that an idle volume loses */

/* ---- tree port of the core; eng->lock held ---- */

static void tree_facts(void *ctx, const struct nfs4r_oid *oid, struct nfs4r_facts *out)
{
	struct nfs4r_engine *eng = ctx;
	struct nfs4r_row row;

	memset(out, 0, sizeof(*out));
	out->known = nfs4r_store_row(eng->store, oid, &row);
	if (out->known != NFS4R_KNOWN)
		return;
	out->type = row.type;
	out->multi = row.multi;
	out->version = row.version;
	out->nlink = row.nlink;
	out->nentries = row.nentries;
	out->nparents = row.nparents;
	out->parent = row.parent;
}

static bool tree_lookup(void *ctx, const struct nfs4r_oid *dir, const struct nfs4r_name *name, struct nfs4r_oid *child)
{
	struct nfs4r_engine *eng = ctx;
	struct nfs4r_dirent ent;

	if (!nfs4r_store_lookup(eng->store, dir, name, &ent))
		return false;
	*child = ent.oid;
	return true;
}

static uint32_t tree_parents(void *ctx, const struct nfs4r_oid *oid, struct nfs4r_oid *out, uint32_t max)
{
	return nfs4r_store_parents(((struct nfs4r_engine *)ctx)->store, oid, out, max);
}

static void tree_commit(void *ctx, struct nfs4r_entry *entry, bool own, const struct nfs4r_put *puts, uint32_t nputs)
{
	struct nfs4r_engine *eng = ctx;

	if (entry->joined.pid.server)
		engine_filter_block(eng->runtime.fastpath);
	enum nfs4r_status st = nfs4r_store_commit(eng->store, entry, own, puts, nputs);

	if (st != NFS4R_OK) {
		engine_journal_failed(eng, st);
	} else if (own) {
		replicate_sender_keep(eng->replicate.distributor, entry);
	}
}

static uint32_t tree_locks(void *ctx, const struct nfs4r_oid *oid, struct nfs4r_file_lock *out, uint32_t max)
{
	return nfs4r_store_locks(((struct nfs4r_engine *)ctx)->store, oid, out, max);
}

static bool tree_next_locked(void *ctx, const struct nfs4r_oid *after, struct nfs4r_oid *out)
{
	return nfs4r_store_next_locked(((struct nfs4r_engine *)ctx)->store, after, out);
}

static void tree_oid_watermark(void *ctx, struct nfs4r_oid *out)
{
	nfs4r_store_oid_watermark(((struct nfs4r_engine *)ctx)->store, out);
}

static uint64_t tree_synced(void *ctx)
{
	return nfs4r_store_synced(((struct nfs4r_engine *)ctx)->store);
}

/* ---- events of the transport; its thread ---- */

static void on_up(void *ctx, nfs4r_server_id peer, uint64_t inc)
{
	struct nfs4r_engine *eng = ctx;
	struct nfs4r_event ev = { .type = NFS4R_EV_PEER_UP, .peer = peer, .peer_inc = inc };

	engine_waiting_peer(eng, peer, true);
	membership_identities_connected(eng, peer, true);
	pthread_mutex_lock(&eng->lock);
	eng->runtime.peer_inc[peer] = inc;
	engine_update_verifier(eng);
	replicate_sender_reset(eng->replicate.distributor, peer);
	engine_step(eng, &ev);
	pthread_mutex_unlock(&eng->lock);
	engine_log_often(eng, SAYING_UP, peer, NFS4R_LOG_INFO, "volume %s: server %u is connected", eng->cfg.volume_name, peer);
}

static void on_down(void *ctx, nfs4r_server_id peer, const char *why)
{
	struct nfs4r_engine *eng = ctx;
	struct nfs4r_event ev = { .type = NFS4R_EV_PEER_DOWN, .peer = peer };

	engine_waiting_peer(eng, peer, false);
	membership_identities_connected(eng, peer, false);
	pthread_mutex_lock(&eng->lock);
	replicate_sender_reset(eng->replicate.distributor, peer);
	engine_step(eng, &ev);
	pthread_mutex_unlock(&eng->lock);
	read_router_peer_down(eng, peer);
	engine_asked_peer_down(eng, peer);
	admin_verify_forget(eng, peer);
	if (eng->membership.servers & NFS4R_BIT(peer))
		engine_log_often(eng, SAYING_DOWN, peer, NFS4R_LOG_WARN, "volume %s: server %u is not connected (%s); updates wait for it%s", eng->cfg.volume_name, peer,
				 why, engine_lease_ms(eng) ? " until it returns or is removed from the active view" : ", reads continue");
}

/*
 * A peer that has heard nothing new of our log for a heartbeat asks for it (src/core/log/replicate.c:pull_late); on a slow link that is sooner than a message
 * takes. While entries are on their way to it, all that it can lack is among them or behind them, and sending them once more
 * would make the link slower still. It asks again, and is heard when the lane is empty. eng->lock held.
 */
static bool is_too_early(struct nfs4r_engine *eng, nfs4r_server_id from, const struct nfs4r_msg *msg)
{
	return msg->type == NFS4R_MSG_PULL && msg->pull.log == eng->cfg.rpc.self && eng->rpc && replicate_sender_on_its_way(eng->replicate.distributor, from);
}

static void on_message(void *ctx, nfs4r_server_id from, struct nfs4r_msg *msg)
{
	struct nfs4r_engine *eng = ctx;
	struct nfs4r_event ev = { .type = NFS4R_EV_MSG, .peer = from, .msg = msg };

	if (eng->door.stopping || engine_asked_in_vain(eng, from, msg->type)) {
		nfs4r_msg_fini(msg);
		free(msg);
		return;
	}
	switch (msg->type) {
	case NFS4R_MSG_READ:
		read_serve(eng, from, msg);
		return;
	case NFS4R_MSG_READ_ANSWER:
		read_router_answer(eng, from, msg);
		return;
	case NFS4R_MSG_VERIFY:
		admin_verify_serve(eng, from, msg);
		return;
	case NFS4R_MSG_VERIFY_ANSWER:
		admin_verify_answer(eng, from, msg);
		return;
	case NFS4R_MSG_IDENTITIES:
		membership_identities_heard(eng, from, msg);
		nfs4r_msg_fini(msg);
		free(msg);
		return;
	case NFS4R_MSG_FORWARD:
		engine_asked_forward(eng, from, msg);
		break;
	case NFS4R_MSG_PROPOSE:
	case NFS4R_MSG_REVOKE:
		engine_checkpoint_urge(eng);
		break;
	case NFS4R_MSG_POSITIONS:
		if (msg->positions.wanted)
			engine_checkpoint_urge(eng);
		break;
	default:
		break;
	}
	pthread_mutex_lock(&eng->lock);
	if (!eng->runtime.halt.why[0] && !is_too_early(eng, from, msg))
		engine_step(eng, &ev);
	pthread_mutex_unlock(&eng->lock);
	if (msg->type == NFS4R_MSG_FORWARD) /* the core did not take it */
		engine_asked_forward_over(eng, msg->op);
	nfs4r_msg_fini(msg);
	free(msg);
}

static void on_log(void *ctx, enum nfs4r_log_level level, const char *text)
{
	struct nfs4r_engine *eng = ctx;

	engine_log(eng, level, "volume %s: %s", eng->cfg.volume_name, text);
}

/* ---- time ---- */

#define TIMER_MS 100 /* granularity of expiries outside the core */
#define AGAIN_MS 20 /* at least, between two looks for somebody who can be asked: steps come by thousands */

/* How long until the next one: after a step, and else at each turn of the timer, for what changes without one (a lane that has room again). eng->lock held. */
static uint64_t until_look(const struct nfs4r_engine *eng, uint64_t now, uint64_t looked_ms)
{
	uint64_t at = looked_ms + (eng->runtime.timer.look_soon ? AGAIN_MS : TIMER_MS);

	return at > now ? at - now : 0;
}

/* Until the core's next timer, not longer than @most ms. Returns when it should have ended. eng->lock held. */
static uint64_t rest(struct nfs4r_engine *eng, uint64_t most)
{
	uint64_t now = engine_now_ms();
	uint64_t wait = eng->runtime.timer.next_ms <= now ? 0 : eng->runtime.timer.next_ms - now;

	if (wait > most)
		wait = most;
	if (wait) {
		struct timespec ts = engine_after_us(wait * 1000);

		pthread_cond_clockwait(&eng->runtime.timer.cond, &eng->lock, CLOCK_MONOTONIC, &ts);
	}
	return now + wait;
}

static void *timer_thread(void *arg)
{
	struct nfs4r_engine *eng = arg;
	struct nfs4r_event ev = { .type = NFS4R_EV_TICK };
	uint64_t looked_ms = engine_now_ms();

	pthread_mutex_lock(&eng->lock);
	while (!eng->door.stopping) {
		uint64_t due = rest(eng, until_look(eng, engine_now_ms(), looked_ms)), now = engine_now_ms();

		if (now >= eng->runtime.timer.next_ms) /* also when halted: waiting operations must end */
			engine_step(eng, &ev);
		update_ops_expire_parked(eng, now);
		if (eng->runtime.mute) {
			update_ops_park_halted(eng);
			engine_halt_say_again(eng, now);
		}
		bool look = until_look(eng, now, looked_ms) == 0;
		if (look) {
			looked_ms = now;
			eng->runtime.timer.look_soon = false;
		}
		pthread_mutex_unlock(&eng->lock);
		read_router_expire(eng, now);
		if (look)
			read_router_again(eng);
		update_commit_expire(eng, now);
		engine_asked_expire(eng);
		membership_view_check_late(eng, now > due ? now - due : 0, now);
		membership_view_check_rtt(eng, now);
		membership_view_check_clocks(eng, now);
		membership_identities_tell(eng);
		pthread_mutex_lock(&eng->lock);
	}
	pthread_mutex_unlock(&eng->lock);
	return NULL;
}

/* ---- start and stop ---- */

/* This start, as the others know it. */
static uint64_t transport_inc(const struct nfs4r_engine *eng)
{
	return eng->inc_random ^ eng->inc << 48;
}

static enum nfs4r_status make_core(struct nfs4r_engine *eng, const struct nfs4r_store_info *info)
{
	struct nfs4r_tree tree = { eng, tree_facts, tree_lookup, tree_parents, tree_commit, tree_oid_watermark, tree_synced, tree_locks, tree_next_locked };
	struct nfs4r_core_config c = { 0 };

	engine_volume_begin(eng);
	nfs4r_core_config_init(&c);
	c.self = eng->cfg.rpc.self;
	for (uint32_t i = 0; i < eng->cfg.rpc.nservers; i++)
		c.servers |= NFS4R_BIT(eng->cfg.rpc.servers[i].id);
	c.root = eng->root;
	c.inc = info->inc;
	c.inc_random = info->inc_random;
	c.peer_inc = transport_inc(eng);
	c.lock_max = eng->cfg.lock_max;
	c.locks_before = eng->ops->locks_shared != NULL;
	if (getrandom(c.secret, sizeof(c.secret), 0) != sizeof(c.secret))
		return NFS4R_IO;
	c.protocol = eng->cfg.rpc.protocol;
	c.disk_format = eng->cfg.rpc.disk_format;
	c.journal_end = info->end;
	c.tail_intact = info->tail_intact || info->created;
	c.doubts = !c.tail_intact; /* crash_check.c */
#define HOME_CORE(there, field) c.there = eng->cfg.field;
#define HOME_RPC(there, field)
#define HOME_ENGINE(there, field)
#define KEY_NUMBER(block, name, field, home, there, ...) HOME_##home(there, field)
#define KEY_BOOL(block, name, field, home, there, ...) HOME_##home(there, field)
#define KEY_TOKEN(block, name, field, home, there, ...) HOME_##home(there, field)
#define KEY_HIDDEN(field, home, there, def) HOME_##home(there, field)
#include "base/config.def"
	eng->core = nfs4r_core_create(&c, &tree);
	return eng->core ? NFS4R_OK : NFS4R_NOMEM;
}

static enum nfs4r_status make_helpers(struct nfs4r_engine *eng)
{
	eng->runtime.locks = engine_locks_create();
	eng->runtime.fastpath = engine_filter_create(eng->cfg.rpc.self);
	eng->read.reads = read_router_create(eng);
	eng->runtime.touched = engine_touched_create();
	eng->runtime.set_ids = engine_suid_create();
	eng->read.promises = read_promises_create();
	eng->runtime.behind = engine_missing_create(resync_heal_task);
	eng->runtime.executors = engine_pool_create(eng, "nfs4r-exec", eng->cfg.executors, NULL);
	eng->replicate.appliers = engine_pool_create(eng, "nfs4r-apply", eng->cfg.appliers, replicate_apply_drop);
	eng->resync.repairs = engine_pool_create(eng, "nfs4r-repair", 1, NULL);
	eng->admin.verifiers = engine_pool_create(eng, "nfs4r-verify", 1, NULL);
	eng->runtime.menders = engine_pool_create(eng, "nfs4r-mend", MENDERS, engine_missing_drop);
	eng->runtime.durable = engine_durable_create(eng);
	eng->replicate.distributor = replicate_sender_create(eng);
	eng->membership.spacer = membership_space_create(eng);
	eng->membership.identities = membership_identities_create();
	bool pools = eng->runtime.executors && eng->runtime.menders && eng->replicate.appliers && eng->resync.repairs && eng->admin.verifiers;
	bool ground = eng->runtime.locks && eng->runtime.fastpath && eng->runtime.touched && eng->runtime.set_ids && eng->runtime.behind && eng->runtime.durable;
	bool rooms = membership_view_create(eng) && eng->read.reads && eng->read.promises && eng->replicate.distributor && eng->membership.spacer && eng->membership.identities;

	return pools && ground && rooms ? NFS4R_OK : NFS4R_NOMEM;
}

static enum nfs4r_status open_store(struct nfs4r_engine *eng, struct nfs4r_store_info *info, char *why)
{
	struct nfs4r_store_config sc = {
		.dir = eng->cfg.store_dir, .self = eng->cfg.rpc.self, .map_bytes = 1u << 30, .segment_bytes = eng->cfg.segment_bytes ? eng->cfg.segment_bytes : 64u << 20, .segment_age_s = eng->cfg.retention_s / 16, .ahead_bytes = JOURNAL_AHEAD, .boot_id = eng->cfg.boot_id, .formats = eng->cfg.rpc.disk_format
	};

	memcpy(sc.volume, eng->cfg.rpc.volume, sizeof(sc.volume));
	enum nfs4r_status st = nfs4r_store_open(&sc, &eng->store, info, why);
	if (st == NFS4R_OK) {
		eng->inc = info->inc;
		eng->inc_random = info->inc_random;
		membership_retention_init(eng);
		engine_update_verifier(eng);
	} else if (nfs4r_status_is_full(st)) { /* whoever starts it waits for room (log 4.15) */
		snprintf(why + strlen(why), NFS4R_WHY - strlen(why), ". Free space on the file system of %.800s", eng->cfg.store_dir);
	}
	return st;
}

/* It is this process's alone, whatever other configurations say. */
static enum nfs4r_status open_export(struct nfs4r_engine *eng, char *why)
{
	if (!eng->cfg.export_dir[0])
		return NFS4R_OK;
	eng->start.export_fd = open(eng->cfg.export_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (eng->start.export_fd >= 0)
		return start_places_lock(eng->start.export_fd, &eng->cfg, why, NFS4R_WHY);
	snprintf(why, NFS4R_WHY, "cannot open the exported directory %.300s: %s", eng->cfg.export_dir, strerror(errno));
	return NFS4R_BADCONFIG;
}

static enum nfs4r_status begin(struct nfs4r_engine *eng, const struct nfs4r_store_info *info, char *why)
{
	enum nfs4r_status st = start_recover_restore(eng, info, why);

	if (st == NFS4R_OK)
		st = start_recover_root(eng, info, why);
	if (st == NFS4R_OK)
		replicate_staging_look(eng);
	if (st == NFS4R_OK)
		st = resync_crash_begin(eng, info);
	if (st != NFS4R_OK)
		return st;
	pthread_mutex_lock(&eng->lock);
	replicate_sender_serve(eng->replicate.distributor, eng->membership.servers);
	eng->runtime.ready = info->tail_intact || info->created; /* else with ACT_RECOVERED, or when nothing is in doubt */
	engine_epoch_follow(eng);
	engine_perform(eng, nfs4r_core_started(eng->core, engine_now_ms()));
	membership_start(eng);
	membership_view_start(eng);
	EACH_OF(eng->membership.servers & ~NFS4R_BIT(eng->cfg.rpc.self), s) { /* until the transport says otherwise */
		struct nfs4r_event ev = { .type = NFS4R_EV_PEER_DOWN, .peer = s };

		engine_step(eng, &ev);
	}
	pthread_mutex_unlock(&eng->lock);
	return membership_space_begin(eng->membership.spacer, why);
}

static enum nfs4r_status start_transport(struct nfs4r_engine *eng, struct nfs4r_rpc **rpc, char *why)
{
	struct nfs4r_rpc_events rev = { eng, on_up, on_down, on_message, on_log };
	struct nfs4r_rpc_config cfg = eng->cfg.rpc;

	cfg.inc = transport_inc(eng);
	cfg.paused = true;
	nfs4r_config_compare(&eng->cfg, &cfg);
	membership_go_online(eng, &cfg);
	cfg.listen_wait_ms = LISTEN_WAIT_MS;
	return nfs4r_rpc_start(&cfg, &rev, rpc, why);
}

static enum nfs4r_status go_online(struct nfs4r_engine *eng, char *why)
{
	struct nfs4r_rpc *rpc = NULL;

	start_import_notes_load(eng);
	if (eng->cfg.import || engine_import_any_open(eng)) /* before anybody asks for the state */
		eng->start.import.phase = IMPORT_RUNNING;
	enum nfs4r_status st = start_transport(eng, &rpc, why);

	if (st != NFS4R_OK)
		return st;
	pthread_mutex_lock(&eng->lock);
	eng->rpc = rpc;
	membership_tell(eng); /* a view may have come since it runs */
	pthread_mutex_unlock(&eng->lock);
	eng->door.timer_running = pthread_create(&eng->door.timer_thread, NULL, timer_thread, eng) == 0;
	eng->door.checkpoint_running = pthread_create(&eng->door.checkpoint_thread, NULL, engine_checkpoint_thread, eng) == 0;
	if (!membership_space_run(eng->membership.spacer) || !eng->door.timer_running || !eng->door.checkpoint_running) {
		snprintf(why, NFS4R_WHY, "cannot start threads; check the process limits");
		return NFS4R_NOMEM;
	}
	if (eng->cfg.control_socket[0]) {
		eng->admin.ctl = admin_ctl_create(eng, why);
		if (!eng->admin.ctl)
			return NFS4R_BADCONFIG;
	}
	pthread_mutex_lock(&eng->lock);
	bool imports = eng->start.import.phase == IMPORT_RUNNING;
	pthread_mutex_unlock(&eng->lock);
	if (imports)
		eng->start.import_running = pthread_create(&eng->start.import_thread, NULL, start_import_thread, eng) == 0;
	if (imports && !eng->start.import_running) {
		snprintf(why, 512, "cannot start threads; check the process limits");
		return NFS4R_NOMEM;
	}
	return NFS4R_OK;
}

static void init_locks(struct nfs4r_engine *eng)
{
	pthread_mutex_init(&eng->lock, NULL);
	engine_asked_init(eng);
	pthread_mutex_init(&eng->runtime.checkpoint.lock, NULL);
	pthread_mutex_init(&eng->runtime.waiting.lock, NULL);
	pthread_mutex_init(&eng->runtime.said.lock, NULL);
	pthread_cond_init(&eng->update.idle_cond, NULL);
	pthread_cond_init(&eng->runtime.timer.cond, NULL);
	pthread_cond_init(&eng->runtime.step.cond, NULL);
	pthread_cond_init(&eng->start.online_cond, NULL);
	pthread_cond_init(&eng->runtime.checkpoint.cond, NULL);
}

/* The local file system may not be used for everything before the server as a whole has started. */
static void begin_work(struct nfs4r_engine *eng)
{
	engine_pool_begin(eng->resync.repairs); /* settles what is in doubt, for which the others wait */
	engine_pool_begin(eng->runtime.executors);
	engine_pool_begin(eng->admin.verifiers);
	engine_pool_begin(eng->replicate.appliers);
	engine_pool_begin(eng->runtime.menders);
	replicate_sender_begin(eng->replicate.distributor);
}

static const struct engine_notices notices = { .performed = read_router_performed, .stepped = membership_view_watch, .checkpointed = membership_retention_look_at_bound };

/* One that has nothing open yet, and no thread. NULL: no memory. */
static struct nfs4r_engine *engine_new(const struct nfs4r_config *cfg, const struct nfs4r_lops *ops, void *ctx, nfs4r_log_fn log, void *log_ctx)
{
	struct nfs4r_engine *eng = calloc(1, sizeof(*eng));

	if (!eng)
		return NULL;
	eng->cfg = *cfg;
	eng->ops = ops;
	eng->actions = &engine_actions;
	eng->notices = &notices;
	eng->ctx = ctx;
	eng->log = log;
	eng->log_ctx = log_ctx;
	eng->runtime.timer.next_ms = UINT64_MAX;
	eng->start.export_fd = -1;
	eng->started_at_ms = engine_now_ms();
	if (!eng->cfg.conflicts_dir[0])
		snprintf(eng->cfg.conflicts_dir, sizeof(eng->cfg.conflicts_dir), "%.1000s/conflicts", cfg->store_dir);
	nfs4r_oid_root(&eng->root, cfg->rpc.volume);
	init_locks(eng);
	return eng;
}

enum nfs4r_status nfs4r_engine_start(const struct nfs4r_config *cfg, const struct nfs4r_lops *ops, void *ctx, nfs4r_log_fn log, void *log_ctx,
				     struct nfs4r_engine **out, char *why)
{
	struct nfs4r_store_info info;
	struct nfs4r_engine *eng;
	enum nfs4r_status st = nfs4r_config_check(cfg, why, NFS4R_WHY);

	if (st != NFS4R_OK)
		return st;
	snprintf(why, NFS4R_WHY, "out of memory");
	eng = engine_new(cfg, ops, ctx, log, log_ctx);
	if (!eng)
		return NFS4R_NOMEM;
	st = open_store(eng, &info, why);
	if (st == NFS4R_OK)
		st = open_export(eng, why);
	if (st == NFS4R_OK)
		st = make_core(eng, &info);
	if (st == NFS4R_OK)
		st = make_helpers(eng);
	if (st == NFS4R_OK)
		st = begin(eng, &info, why);
	if (st == NFS4R_OK) {
		resync_crash_queue(eng); /* before others are heard: a repair comes behind it, for its checkpoint forgets what is in doubt */
		st = go_online(eng, why);
	}
	if (st != NFS4R_OK) {
		nfs4r_engine_stop(eng);
		return st;
	}
	start_recover_intents(eng, &info);
	begin_work(eng);
	st = start_online_begin(eng, why);
	if (st != NFS4R_OK) {
		nfs4r_engine_stop(eng);
		return st;
	}
	eng->door.working = true;
	*out = eng;
	return NFS4R_OK;
}

static void stop_threads(struct nfs4r_engine *eng)
{
	pthread_mutex_lock(&eng->lock);
	eng->door.stopping = true;
	pthread_cond_broadcast(&eng->runtime.timer.cond);
	update_ops_wake(eng);
	pthread_mutex_unlock(&eng->lock);
	start_online_stop(eng);
	pthread_mutex_lock(&eng->runtime.checkpoint.lock);
	pthread_cond_broadcast(&eng->runtime.checkpoint.cond);
	pthread_mutex_unlock(&eng->runtime.checkpoint.lock);
	if (eng->start.import_running)
		pthread_join(eng->start.import_thread, NULL);
	admin_ctl_destroy(eng->admin.ctl);
	engine_doubt_wake(eng);
	read_router_expire(eng, UINT64_MAX); /* a repair that waits for an answer */
	engine_missing_wake(eng);
	engine_pool_stop(eng->resync.repairs);
	engine_pool_stop(eng->runtime.menders);
	if (eng->door.timer_running)
		pthread_join(eng->door.timer_thread, NULL);
	membership_space_stop(eng->membership.spacer);
	if (eng->door.checkpoint_running)
		pthread_join(eng->door.checkpoint_thread, NULL);
	replicate_sender_stop(eng->replicate.distributor);
	engine_pool_stop(eng->replicate.appliers);
	engine_durable_stop(eng->runtime.durable);
	pthread_mutex_lock(&eng->lock);
	eng->door.frozen = true;
	pthread_mutex_unlock(&eng->lock);
	update_ops_end_all(eng);
	update_commit_expire(eng, UINT64_MAX);
	read_router_expire(eng, UINT64_MAX);
	engine_pool_stop(eng->admin.verifiers);
	engine_pool_stop(eng->runtime.executors);
	read_router_expire(eng, UINT64_MAX);
}

/* What is behind a hole is in no checkpoint, so that the next start can give it up (log 4.7). */
static bool may_checkpoint_last(struct nfs4r_engine *eng)
{
	struct nfs4r_store_positions p;
	nfs4r_lsn first, last;

	if (eng->runtime.halt.why[0] || engine_doubt_is_open(eng))
		return false;
	nfs4r_store_get_positions(eng->store, &p);
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++) {
		nfs4r_store_log_range(eng->store, s, &first, &last);
		if (last > p.applied[s])
			return false;
	}
	return true;
}

/* The store says then that its run ended in order, and after that no crash of the machine puts anything in doubt. A sync that failed counts for ever: another one does not say what was lost by then. */
static bool sync_last(struct nfs4r_engine *eng)
{
	nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1];

	if (eng->rpc && may_checkpoint_last(eng) && nfs4r_store_checkpoint(eng->store, eng->ops->sync_all, eng->ctx, stable) == NFS4R_OK)
		return true;
	return nfs4r_store_sync_files(eng->store, eng->ops->sync_all, eng->ctx) == NFS4R_OK;
}

void nfs4r_engine_stop(struct nfs4r_engine *eng)
{
	struct nfs4r_rpc *rpc;

	if (!eng)
		return;
	engine_leave(eng);
	if (eng->runtime.executors && eng->runtime.menders && eng->replicate.appliers && eng->resync.repairs && eng->admin.verifiers &&
	    eng->read.reads && eng->runtime.behind && eng->runtime.durable && eng->replicate.distributor)
		stop_threads(eng);
	rpc = eng->rpc;
	if (rpc)
		nfs4r_rpc_stop(rpc); /* the pools are gone, so nobody sends any more */
	engine_pool_destroy(eng->resync.repairs);
	engine_pool_destroy(eng->runtime.menders);
	engine_pool_destroy(eng->replicate.appliers);
	engine_durable_destroy(eng->runtime.durable);
	if (eng->admin.verifiers) /* what waits is counted as asked for */
		for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++)
			admin_verify_forget(eng, id);
	engine_pool_destroy(eng->admin.verifiers);
	engine_pool_destroy(eng->runtime.executors);
	if (eng->store && sync_last(eng))
		nfs4r_store_close(eng->store);
	else
		nfs4r_store_leave(eng->store);
	resync_crash_free(eng);
	engine_import_free(eng);
	start_import_notes_free(eng);
	update_ops_fini(eng);
	nfs4r_core_destroy(eng->core);
	replicate_sender_destroy(eng->replicate.distributor);
	membership_space_destroy(eng->membership.spacer);
	membership_identities_destroy(eng->membership.identities);
	engine_missing_destroy(eng->runtime.behind);
	read_promises_destroy(eng->read.promises);
	engine_suid_destroy(eng->runtime.set_ids);
	engine_touched_destroy(eng->runtime.touched);
	read_router_destroy(eng->read.reads);
	engine_filter_destroy(eng->runtime.fastpath);
	engine_locks_destroy(eng->runtime.locks);
	pthread_cond_destroy(&eng->runtime.timer.cond);
	pthread_cond_destroy(&eng->runtime.step.cond);
	pthread_cond_destroy(&eng->start.online_cond);
	pthread_cond_destroy(&eng->runtime.checkpoint.cond);
	pthread_cond_destroy(&eng->update.idle_cond);
	pthread_mutex_destroy(&eng->runtime.checkpoint.lock);
	pthread_mutex_destroy(&eng->lock);
	engine_asked_fini(eng);
	if (eng->start.export_fd >= 0)
		close(eng->start.export_fd);
	free(eng->membership.seen);
	free(eng);
}
