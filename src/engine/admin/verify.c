/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Asking side of `nfs4rctl verify` and `repair`: the tree below a path is walked here, every object's checksum is made here and asked from
 * every peer, many objects at a time so that a long link is kept busy, and compared.
 *
 * An item is one object on its way: ACTIVE while sums are made, PARKED for a second when they differed. Updates under way
 * make copies differ for a moment without anything being wrong (the version moves when an update commits, its bytes
 * a little before; a peer has it a round trip later), so only a difference that is still there after several tries
 * counts, and more tries are given while the object is controlled by another server or a peer is known to have entries of it
 * still to apply; but for BUSY_MS altogether, so that a run ends when something never comes. What another server alone has is found as a difference of the directory that it is in.
 *
 * A repair is such a run, too. What is found wrong here goes to the threads of verify_fix.c, and is compared once more when they have mended it.
 *
 * A peer that is not connected, or goes away and does not return in PEER_WAIT_MS, is named as unreachable and the others
 * are compared without it. Answers come on the transport's thread and are matched by id (slot and attempt), so that a late one
 * of an earlier try or run means nothing. The list of runs is global, because the transport may deliver an answer
 * while the engine is being stopped and nothing that a run owns exists any more.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/admin/admin_int.h"

#define SLOTS 4096 /* items, parked ones included */
#define ACTIVE_MAX 512 /* objects asked for at the same time */
#define WEIGHT_MAX (16u << 20) /* bytes of their first pieces */
#define RETRY_MS 1000
#define TRIES 5
#define TRIES_BUSY 30 /* while control or a lag explains the difference */
#define BUSY_MS 30000 /* ... and so long from the first such difference on */
#define TRIES_REPAIR 2
#define MENDS_MAX 3 /* of one object */
#define PEER_WAIT_MS 10000
#define ANSWER_MS 60000 /* a peer has so long, plus 1 s for each SLOW_BYTES of the file */
#define SLOW_BYTES (4u << 20)
#define ASKS_MAX 3
#define DIFFERENCES_MAX 10000
#define PROGRESS_MS 500

enum answer_state {
	ANSWER_NONE = 0,
	ANSWER_ASKED,
	ANSWER_HERE
};

struct answer { /* of one peer, for the current try. Under runs_lock */
	enum answer_state state;
	uint64_t asked_ms;
	uint64_t connects; /* of the connection it was asked on */
	uint32_t asks;
	struct verify_side side;
};

struct item {
	struct item *next; /* free, active or parked */
	uint32_t slot;
	uint64_t id; /* under runs_lock */
	struct verify_found found;
	struct verify_sum sum;
	struct answer answer[NFS4R_SERVERS_MAX + 1];
	uint32_t tries, mends;
	uint64_t retry_at_ms;
	struct fix_job job;
};

struct peer_state {
	bool asked; /* takes part */
	bool unreachable;
	uint64_t connects, down_since_ms;
};

struct run {
	struct run *next; /* of all engines */
	struct nfs4r_engine *eng;
	const struct verify_sink *sink;
	const struct verify_repair *repair; /* NULL: only compare */
	struct fixer *fixer;
	uint32_t nfixing;
	uint64_t repaired, left;
	struct fix_list list;
	pthread_cond_t cond;
	const char *path;
	struct verify_walk *walk;
	bool walked, gone;
	enum nfs4r_status st; /* ends the run when not OK */
	struct item *free, *active, *parked, **parked_tail;
	uint32_t nactive, nparked;
	uint64_t weight;
	struct peer_state peer[NFS4R_SERVERS_MAX + 1];
	uint64_t total, objects, bytes, differences, changing, retries, vanished, odd;
	uint64_t busy_until_ms;
	uint64_t started_ms, progress_ms, peers_ms;
	struct item slots[SLOTS];
};

static pthread_mutex_t runs_lock = PTHREAD_MUTEX_INITIALIZER;
static struct run *runs;
static uint64_t attempts; /* under runs_lock; upper part of every id */

/* ---- answers; the transport's thread ---- */

void admin_verify_answer(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m)
{
	struct run *r;

	pthread_mutex_lock(&runs_lock);
	for (r = runs; r && r->eng != eng; r = r->next)
		;
	if (r && from <= NFS4R_SERVERS_MAX) {
		struct item *it = &r->slots[m->verify.id % SLOTS];
		struct answer *a = &it->answer[from];

		if (it->id == m->verify.id && a->state == ANSWER_ASKED) {
			a->state = ANSWER_HERE;
			a->side.status = m->verify.status;
			a->side.version = m->verify.version;
			a->side.bytes = m->verify.bytes;
			memcpy(a->side.sum, m->verify.sum, sizeof(a->side.sum));
			a->side.odd = m->verify.odd;
			a->side.names = m->verify.names;
			m->verify.names = NULL;
			pthread_cond_signal(&r->cond);
		}
	}
	pthread_mutex_unlock(&runs_lock);
	nfs4r_msg_fini(m);
	free(m);
}

/* ---- lines for the client ---- */

static void tell(struct run *r, json_t *line)
{
	if (!r->sink->emit(r->sink->arg, line))
		r->gone = true;
}

static void tell_progress(struct run *r, const char *phase)
{
	double s = (double)(engine_now_ms() - r->started_ms) / 1000, rate = s > 0 ? (double)r->objects / s : 0;

	r->progress_ms = engine_now_ms();
	tell(r, json_pack("{s:{s:s, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:o}}", "progress", "phase", phase, "objects", admin_num(r->objects), "total", admin_num(r->total), "bytes", admin_num(r->bytes), "differences", admin_num(r->differences), "retrying", admin_num(r->nparked), "seconds", s, "objects_per_second", rate, "bytes_per_second", s > 0 ? (double)r->bytes / s : 0.0, "eta_seconds", rate > 0 && r->total >= r->objects ? json_real((double)(r->total - r->objects) / rate) : json_null()));
}

static void tell_difference(struct run *r, const struct item *it, nfs4r_server_id peer)
{
	const struct verify_side *here = &it->sum.side, *there = &it->answer[peer].side;
	char oid[NFS4R_OID_STRLEN];

	tell(r, json_pack("{s:{s:o, s:s, s:i, s:s, s:o, s:o}}", "difference", "path", admin_json_text(it->found.path), "oid", nfs4r_oid_str(&it->found.oid, oid), "server", peer, "what", admin_verify_what(here, there), "here", admin_verify_side_json(here), "there", admin_verify_side_json(there)));
}

static void tell_odd(struct run *r, const struct item *it, nfs4r_server_id server, const struct verify_side *side)
{
	const char *name, *what;
	char oid[NFS4R_OID_STRLEN];
	uint32_t at = 0;

	r->odd += side->odd;
	while ((name = admin_verify_odd_next(side, &at, &what)))
		tell(r, json_pack("{s:{s:o, s:o, s:s, s:i, s:s}}", "name", "directory", admin_json_text(it->found.path), "name", admin_json_text(name), "oid", nfs4r_oid_str(&it->found.oid, oid), "server", server, "what", what));
}

/* ---- peers ---- */

static void abandon(struct run *r, nfs4r_server_id id, const char *why)
{
	r->peer[id].unreachable = true;
	tell(r, json_pack("{s:{s:i, s:o}}", "unreachable", "server", id, "why", admin_json_text(why)));
}

/* Not those that take everything from the others just now. */
static nfs4r_servers to_compare(struct nfs4r_engine *eng)
{
	struct nfs4r_core_view v;

	pthread_mutex_lock(&eng->lock);
	nfs4r_core_get_view(eng->core, &v);
	pthread_mutex_unlock(&eng->lock);
	return v.adopted.voters;
}

static void look_at_peers(struct run *r, bool first)
{
	nfs4r_servers compared = to_compare(r->eng);
	uint64_t now = engine_now_ms();

	r->peers_ms = now;
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++) {
		struct peer_state *p = &r->peer[id];
		struct nfs4r_rpc_peer_stats rs = { .state = "not connected" };

		if (id == r->eng->cfg.rpc.self || p->unreachable || !(p->asked || compared & NFS4R_BIT(id)))
			continue;
		p->asked = true;
		bool up = nfs4r_rpc_get_stats(r->eng->rpc, id, &rs) && rs.up;
		p->connects = rs.connects;
		if (up)
			p->down_since_ms = 0;
		else if (!p->down_since_ms)
			p->down_since_ms = now;
		if (!up && (first || now >= p->down_since_ms + PEER_WAIT_MS))
			abandon(r, id, rs.state);
	}
}

static bool counts(const struct run *r, nfs4r_server_id id)
{
	return r->peer[id].asked && !r->peer[id].unreachable;
}

/* Ask one peer, if its last question is lost or old. runs_lock held; the transport only queues. */
static bool ask(struct run *r, struct item *it, nfs4r_server_id id, uint64_t now)
{
	struct answer *a = &it->answer[id];
	struct peer_state *p = &r->peer[id];
	struct nfs4r_msg m = { .type = NFS4R_MSG_VERIFY };
	uint64_t patience = ANSWER_MS + it->sum.side.bytes / SLOW_BYTES * 1000;

	if (a->state == ANSWER_HERE || p->down_since_ms)
		return true;
	if (a->state == ANSWER_ASKED && a->connects == p->connects) {
		if (now < a->asked_ms + patience)
			return true;
		if (++a->asks >= ASKS_MAX)
			return false;
	}
	m.verify.id = it->id;
	m.verify.oid = it->found.oid;
	if (nfs4r_rpc_send(r->eng->rpc, id, NFS4R_LANE_REQUEST, &m) != NFS4R_OK)
		return true; /* again at the next look */
	a->state = ANSWER_ASKED;
	a->asked_ms = now;
	a->connects = p->connects;
	return true;
}

static void ask_all(struct run *r, struct item *it)
{
	uint64_t now = engine_now_ms();

	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++) {
		if (!counts(r, id))
			continue;
		pthread_mutex_lock(&runs_lock);
		bool ok = ask(r, it, id, now);
		pthread_mutex_unlock(&runs_lock);
		if (!ok)
			abandon(r, id, "it is connected but does not answer");
	}
}

/* ---- items ---- */

static uint64_t weight_of(const struct item *it)
{
	if (it->found.type != NFS4R_TYPE_FILE)
		return 0;
	return it->sum.side.bytes < VERIFY_PIECE ? it->sum.side.bytes : VERIFY_PIECE;
}

static void forget_sums(struct item *it)
{
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++)
		nfs4r_buf_put(it->answer[id].side.names);
	memset(it->answer, 0, sizeof(it->answer));
	admin_verify_sum_end(&it->sum);
}

/* Begin a try of @it: own sum, questions. */
static void activate(struct run *r, struct item *it)
{
	pthread_mutex_lock(&runs_lock);
	it->id = ++attempts * SLOTS + it->slot;
	forget_sums(it);
	pthread_mutex_unlock(&runs_lock);
	admin_verify_sum_begin(r->eng, &it->sum, &it->found.oid);
	it->next = r->active;
	r->active = it;
	r->nactive++;
	r->weight += weight_of(it);
	ask_all(r, it);
}

static void release(struct run *r, struct item *it)
{
	pthread_mutex_lock(&runs_lock);
	it->id = 0;
	forget_sums(it);
	pthread_mutex_unlock(&runs_lock);
	free(it->found.path);
	it->found.path = NULL;
	it->next = r->free;
	r->free = it;
}

static void park(struct run *r, struct item *it)
{
	it->retry_at_ms = engine_now_ms() + RETRY_MS;
	it->next = NULL;
	*r->parked_tail = it;
	r->parked_tail = &it->next;
	r->nparked++;
	r->retries++;
}

static bool take_parked(struct run *r)
{
	struct item *it = r->parked;

	if (!it || it->retry_at_ms > engine_now_ms() || r->nactive >= ACTIVE_MAX)
		return false;
	r->parked = it->next;
	if (!r->parked)
		r->parked_tail = &r->parked;
	r->nparked--;
	activate(r, it);
	return true;
}

static bool take_new(struct run *r)
{
	struct item *it = r->free;

	if (r->walked || !it || r->nactive >= ACTIVE_MAX || r->weight >= WEIGHT_MAX)
		return false;
	if (!admin_verify_walk_next(r->walk, &it->found, &r->st)) {
		r->walked = true;
		return false;
	}
	r->free = it->next;
	it->tries = it->mends = 0;
	activate(r, it);
	return true;
}

/* ---- comparing ---- */

static bool differs_from(const struct item *it, nfs4r_server_id peer)
{
	return admin_verify_differs(&it->sum.side, &it->answer[peer].side);
}

/* Does something known explain that a peer differs right now? */
static bool is_explained(struct run *r, const struct item *it)
{
	const struct nfs4r_row *row = &it->sum.row;
	bool lag = false;

	if (r->busy_until_ms && engine_now_ms() >= r->busy_until_ms)
		return false;
	if (!engine_filter_local(r->eng->runtime.fastpath, &it->found.oid, it->found.type == NFS4R_TYPE_DIR))
		return true;
	if (it->sum.side.status != NFS4R_OK || row->last_log != r->eng->cfg.rpc.self)
		return false;
	pthread_mutex_lock(&r->eng->lock);
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++) {
		struct nfs4r_core_peer p;

		if (counts(r, id) && nfs4r_core_get_peer(r->eng->core, id, &p) && p.applied < row->last_lsn)
			lag = true;
	}
	pthread_mutex_unlock(&r->eng->lock);
	return lag;
}

/* Gone here, and its name means something else or nothing now: it was removed while we looked. */
static bool has_vanished(struct run *r, const struct item *it)
{
	struct nfs4r_dirent ent;

	return it->sum.side.status == NFS4R_ORPHAN && it->found.name.len &&
		(!nfs4r_store_lookup(r->eng->store, &it->found.dir, &it->found.name, &ent) || !nfs4r_oid_eq(&ent.oid, &it->found.oid));
}

static void report(struct run *r, const struct item *it)
{
	if (it->sum.side.odd)
		tell_odd(r, it, r->eng->cfg.rpc.self, &it->sum.side);
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++)
		if (counts(r, id) && it->answer[id].side.odd)
			tell_odd(r, it, id, &it->answer[id].side);
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++) {
		if (!counts(r, id) || !differs_from(it, id))
			continue;
		if (it->sum.side.status == NFS4R_DELAY || it->answer[id].side.status == NFS4R_DELAY)
			r->changing++;
		r->differences++;
		tell_difference(r, it, id);
	}
}

/* ---- mending ---- */

static void tell_unrepaired(struct run *r, const struct item *it, const char *why)
{
	r->left++;
	admin_fix_list_add(&r->list, r->eng, "unrepaired", it->found.path, why);
	tell(r, json_pack("{s:{s:o, s:o}}", "unrepaired", "path", admin_json_text(it->found.path), "why", admin_json_text(why)));
}

/* True: it is with the fixer, or nothing more is to be done with it. */
static bool begin_mend(struct run *r, struct item *it)
{
	const struct verify_side *sides[NFS4R_SERVERS_MAX + 1] = { NULL };
	const char *why = NULL;

	if (!r->repair)
		return false;
	sides[r->eng->cfg.rpc.self] = &it->sum.side;
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++)
		if (counts(r, id))
			sides[id] = &it->answer[id].side;
	if (!admin_fix_plan(sides, r->eng->cfg.rpc.self, it->sum.row.last_log, r->repair->from, &it->job, &why)) {
		if (why)
			tell_unrepaired(r, it, why);
		return false;
	}
	if (it->mends == MENDS_MAX || it->job.why[0]) {
		tell_unrepaired(r, it, it->job.why[0] ? it->job.why : "it was repaired, and differs again");
		return false;
	}
	if (r->repair->dry_run) {
		r->repaired++;
		tell(r, json_pack("{s:{s:o, s:s}}", "repair", "path", admin_json_text(it->found.path), "what", admin_fix_what(&it->job)));
		return false;
	}
	if (!r->fixer) {
		tell_unrepaired(r, it, "out of memory or threads");
		return false;
	}
	it->mends++;
	it->job.oid = it->found.oid;
	it->job.owner = it;
	r->nfixing++;
	admin_fixer_put(r->fixer, &it->job);
	return true;
}

/* What the fixer has done is compared again. */
static bool take_fixed(struct run *r)
{
	struct fix_job *job = r->fixer && r->nactive < ACTIVE_MAX ? admin_fixer_take(r->fixer) : NULL;
	struct item *it;

	if (!job)
		return false;
	it = job->owner;
	r->nfixing--;
	if (!job->why[0]) {
		r->repaired += it->mends == 1;
		if (it->mends == 1) {
			admin_fix_list_add(&r->list, r->eng, admin_fix_what(job), it->found.path, "");
			tell(r, json_pack("{s:{s:o, s:s, s:i}}", "repair", "path", admin_json_text(it->found.path), "what", admin_fix_what(job), "from", job->took));
		}
		it->tries = 0;
	}
	activate(r, it);
	return true;
}

/* ---- the end of a try ---- */

static bool is_over(struct run *r, const struct item *it)
{
	if (it->tries >= TRIES_BUSY)
		return true;
	if (is_explained(r, it)) {
		if (!r->busy_until_ms)
			r->busy_until_ms = engine_now_ms() + BUSY_MS;
		return false;
	}
	return it->tries >= (r->repair ? TRIES_REPAIR : TRIES);
}

/* All answers of this try are here. */
static void judge(struct run *r, struct item *it)
{
	bool differ = it->sum.side.odd != 0;

	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++)
		if (counts(r, id) && (differs_from(it, id) || it->answer[id].side.odd))
			differ = true;
	if (differ && has_vanished(r, it)) {
		r->vanished++;
		r->objects++;
		release(r, it);
		return;
	}
	if (differ) {
		it->tries++;
		if (!is_over(r, it)) {
			park(r, it);
			return;
		}
		if (begin_mend(r, it))
			return;
		report(r, it);
	}
	r->objects++;
	if (it->found.type == NFS4R_TYPE_FILE && it->sum.side.status == NFS4R_OK)
		r->bytes += it->sum.side.bytes;
	release(r, it);
}

static bool is_complete(struct run *r, struct item *it)
{
	bool complete = it->sum.phase == VERIFY_OVER;

	pthread_mutex_lock(&runs_lock);
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX && complete; id++)
		if (counts(r, id) && it->answer[id].state != ANSWER_HERE)
			complete = false;
	pthread_mutex_unlock(&runs_lock);
	return complete;
}

/* One round over the active items: settle those that are complete, one piece of one own sum. True: something moved. */
static bool work_active(struct run *r)
{
	bool moved = false, summed = false;

	r->weight = 0;
	for (struct item **p = &r->active; *p;) {
		struct item *it = *p;

		if (!summed && it->sum.phase != VERIFY_OVER) {
			admin_verify_sum_step(r->eng, &it->sum);
			summed = moved = true;
		}
		if (is_complete(r, it)) {
			*p = it->next;
			r->nactive--;
			judge(r, it);
			moved = true;
			continue;
		}
		r->weight += weight_of(it);
		p = &it->next;
	}
	return moved;
}

/* ---- the run ---- */

static void rest(struct run *r)
{
	struct timespec ts = engine_after_us(20000);

	pthread_mutex_lock(&runs_lock);
	pthread_cond_clockwait(&r->cond, &runs_lock, CLOCK_MONOTONIC, &ts);
	pthread_mutex_unlock(&runs_lock);
}

static bool must_end(struct run *r)
{
	return r->gone || r->st != NFS4R_OK || r->differences >= DIFFERENCES_MAX || r->sink->cancelled(r->sink->arg);
}

/* How many objects there are, for the estimate. */
static void count(struct run *r)
{
	struct verify_found f;

	while (admin_verify_walk_next(r->walk, &f, &r->st)) {
		free(f.path);
		r->total++;
		if (r->total % 4096 == 0 && engine_now_ms() >= r->progress_ms + PROGRESS_MS) {
			tell_progress(r, "count");
			if (must_end(r))
				return;
		}
	}
}

static void compare(struct run *r)
{
	while (!must_end(r) && (!r->walked || r->active || r->parked || r->nfixing)) {
		bool moved = false;

		for (int i = 0; i < 64 && (take_fixed(r) || take_parked(r) || take_new(r)); i++)
			moved = true;
		if (work_active(r))
			moved = true;
		if (engine_now_ms() >= r->peers_ms + 250) {
			look_at_peers(r, false);
			for (struct item *it = r->active; it; it = it->next)
				ask_all(r, it);
		}
		if (engine_now_ms() >= r->progress_ms + PROGRESS_MS)
			tell_progress(r, "compare");
		if (!moved)
			rest(r);
	}
}

/* What is still to be taken in nobody has but the server that imports. */
static void add_imports(struct run *r, json_t *out)
{
	struct nfs4r_core_room room;
	nfs4r_servers who = 0;

	pthread_mutex_lock(&r->eng->lock);
	bool importing = r->eng->start.import.phase == IMPORT_RUNNING;
	nfs4r_core_get_room(r->eng->core, &room);
	pthread_mutex_unlock(&r->eng->lock);
	EACH_OF(r->eng->membership.servers & ~NFS4R_BIT(r->eng->cfg.rpc.self), s)
		if (room.of[s].remarks.is & NFS4R_IS_IMPORTING && !r->peer[s].unreachable)
			who |= NFS4R_BIT(s);
	json_object_set_new(out, "importing", json_boolean(importing));
	json_object_set_new(out, "importing_elsewhere", admin_server_list(who));
}

static void tell_result(struct run *r)
{
	json_t *unreachable = json_array();
	bool cut = r->differences >= DIFFERENCES_MAX;

	if (r->st != NFS4R_OK || r->sink->cancelled(r->sink->arg)) {
		json_decref(unreachable);
		tell(r, json_pack("{s:s}", "error", r->st != NFS4R_OK ? nfs4r_status_str(r->st) : "ended because the server shuts down"));
		return;
	}
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++)
		if (r->peer[id].unreachable)
			json_array_append_new(unreachable, admin_num(id));
	int status = r->differences || r->odd || r->left || (r->repair && r->repair->dry_run && r->repaired) ? 1 : json_array_size(unreachable) ? 2 :
																		  0;

	json_t *out = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:f, s:i}", "path", admin_json_text(r->path), "objects",
				admin_num(r->objects), "bytes", admin_num(r->bytes), "differences", admin_num(r->differences), "names", admin_num(r->odd), "changing",
				admin_num(r->changing), "removed_meanwhile", admin_num(r->vanished), "retries", admin_num(r->retries), "cut_short", cut,
				"unreachable", unreachable, "seconds", (double)(engine_now_ms() - r->started_ms) / 1000, "status", status);
	add_imports(r, out);
	if (r->repair)
		json_object_update_new(out, json_pack("{s:o, s:o, s:b, s:o}", "repaired", admin_num(r->repaired), "unrepaired", admin_num(r->left), "dry_run", r->repair->dry_run, "list", r->list.path[0] ? admin_json_text(r->list.path) : json_null()));
	tell(r, json_pack("{s:o}", "result", out));
}

/* One run per engine at a time. */
static bool enlist(struct run *r)
{
	bool alone = true;

	pthread_mutex_lock(&runs_lock);
	for (struct run *o = runs; o; o = o->next)
		if (o->eng == r->eng)
			alone = false;
	if (alone) {
		if (!attempts) /* late answers to an earlier process mean nothing */
			attempts = (uint64_t)engine_now_real_ns() >> 20 & 0xffffffff;
		r->next = runs;
		runs = r;
	}
	pthread_mutex_unlock(&runs_lock);
	return alone;
}

static void delist(struct run *r)
{
	pthread_mutex_lock(&runs_lock);
	for (struct run **p = &runs; *p; p = &(*p)->next)
		if (*p == r) {
			*p = r->next;
			break;
		}
	pthread_mutex_unlock(&runs_lock);
	for (uint32_t i = 0; i < SLOTS; i++) {
		forget_sums(&r->slots[i]);
		free(r->slots[i].found.path);
	}
}

/* false: there was nothing to compare, and that is said. */
static bool run_enlisted(struct run *r, char *why)
{
	r->walk = admin_verify_walk_new(r->eng, r->path, why);
	if (!r->walk) {
		tell(r, admin_error(why));
		return false;
	}
	r->started_ms = r->progress_ms = engine_now_ms();
	count(r);
	admin_verify_walk_free(r->walk);
	r->walk = r->st == NFS4R_OK ? admin_verify_walk_new(r->eng, r->path, why) : NULL;
	if (r->walk) {
		r->started_ms = engine_now_ms();
		look_at_peers(r, true);
		if (r->repair && !r->repair->dry_run)
			r->fixer = admin_fixer_new(r->eng);
		compare(r);
		admin_fixer_free(r->fixer);
		if (!r->gone)
			tell_progress(r, "compare");
	} else if (r->st == NFS4R_OK) {
		r->st = NFS4R_NOENT;
	}
	admin_verify_walk_free(r->walk);
	return true;
}

void admin_verify_run(struct nfs4r_engine *eng, const char *path, const struct verify_repair *repair, const struct verify_sink *sink)
{
	struct run *r = calloc(1, sizeof(*r));
	char why[NFS4R_WHY] = "";

	if (!r) {
		sink->emit(sink->arg, json_pack("{s:s}", "error", "out of memory"));
		return;
	}
	r->eng = eng;
	r->repair = repair;
	r->sink = sink;
	r->path = path;
	r->parked_tail = &r->parked;
	pthread_cond_init(&r->cond, NULL);
	for (uint32_t i = SLOTS; i-- > 0;) {
		r->slots[i].slot = i;
		r->slots[i].next = r->free;
		r->free = &r->slots[i];
	}
	if (enlist(r)) {
		bool compared = run_enlisted(r, why);

		delist(r); /* first: who has the result may begin the next one at once */
		if (compared && !r->gone)
			tell_result(r);
	} else {
		tell(r, json_pack("{s:s}", "error", "another verify or repair is running; wait for it or end it"));
	}
	admin_fix_list_end(&r->list);
	pthread_cond_destroy(&r->cond);
	free(r);
}
