/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Objects that somebody changed in the exported directory itself, behind NFS, become again what the volume has (docs/decisions/0027-changes-behind-nfs.md).
 *
 * Happy path of one object, on a thread of its own:
 *   1. A read, an update or another server's update meets a local handle that leads nowhere (behind_notice), or `nfs4rctl repair` finds a difference (behind_mend).
 *   2. The object is open: nothing of it is executed, applied or read here, and no other server takes it from here. Clients hear DELAY.
 *   3. Its directories are there, or come back first.
 *   4. fetch.c takes content and attributes from another server, which has this version or a newer one, and has it in no doubt. What is missing is made in the hidden directory.
 *   5. The object gets its names again. What has them on the disk moves aside (foreign_names.c).
 *   6. The object is no longer open. If its content is newer than its row it is read here when the entries that lead there have been applied (log 4.6).
 *
 * Failure modes: no server can give it: that is said in the log, and it is tried again when the object is used again. A crash: the object lies in the hidden directory under
 * its OID, and the next attempt finds it there. A file that is open here by a client keeps what was removed until then; FSAL_REPL goes over to the new one (lops.h: moved).
 *
 * Invariants: what is taken has at least the version of the row here, so no update of a client is undone. Nothing is executed or applied between the look at the row and the end of the fetch.
 * An update lock is held for local changes only, never while another server is asked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <uthash.h>

#include "engine/resync/transfer_int.h"

#define OBJECTS_MAX 65536   /* open at a time; beyond, clients hear DELAY and nothing is begun */
#define PATIENCE_MS 3000    /* with one question to one server */
#define ROUNDS 4	    /* of all servers, before it is given up for now */
#define PAUSE_MS 250
#define AGAIN_MS 5000	    /* after a failure, what other servers' updates need is not waited for */
#define SAID_MAX 20	    /* lines of the log in SAID_MS */
#define SAID_MS 60000
#define WAIT_MS 1000
#define LISTED 256
#define SWEEP_EVERY 1024

enum state {
	WAITING = 1, /* for a thread */
	WORKING,
	MISPLACED, /* waits for a thread that gives it its name; it is there, and used meanwhile */
	PLACING,
	LATER, /* its content is newer than its row */
	FAILED
};

struct object {
	struct nfs4r_oid oid;
	enum state state;
	uint64_t failed_ms;
	UT_hash_handle hh;
};

struct behind {
	pthread_mutex_t lock;
	pthread_cond_t cond; /* an object has changed its state */
	struct object *objects; /* under lock */
	_Atomic uint32_t n;
	uint64_t said_ms, unsaid; /* under lock */
	uint32_t said;
	_Atomic uint64_t taken, failed;
};

struct behind *behind_create(void)
{
	struct behind *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->cond, NULL);
	return b;
}

void behind_destroy(struct behind *b)
{
	struct object *o, *next;

	if (!b)
		return;
	HASH_ITER(hh, b->objects, o, next) {
		HASH_DEL(b->objects, o);
		free(o);
	}
	pthread_cond_destroy(&b->cond);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

void behind_wake(struct nfs4r_engine *eng)
{
	pthread_mutex_lock(&eng->behind->lock);
	pthread_cond_broadcast(&eng->behind->cond);
	pthread_mutex_unlock(&eng->behind->lock);
}

/* ---- the table; b->lock held ---- */

static struct object *find(struct behind *b, const struct nfs4r_oid *oid)
{
	struct object *o;

	HASH_FIND(hh, b->objects, oid, sizeof(*oid), o);
	return o;
}

static void drop(struct behind *b, struct object *o)
{
	HASH_DEL(b->objects, o);
	b->n--;
	free(o);
}

/* Objects that could not be had, and were deleted since. */
static void sweep(struct nfs4r_engine *eng)
{
	struct object *o, *next;

	HASH_ITER(hh, eng->behind->objects, o, next)
		if (o->state == FAILED && nfs4r_store_row(eng->store, &o->oid, NULL) != NFS4R_KNOWN)
			drop(eng->behind, o);
}

/* NULL: there is no room. */
static struct object *add(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, enum state state)
{
	struct behind *b = eng->behind;
	struct object *o;

	if (b->n % SWEEP_EVERY == SWEEP_EVERY - 1)
		sweep(eng);
	o = b->n < OBJECTS_MAX ? calloc(1, sizeof(*o)) : NULL;
	if (!o)
		return NULL;
	o->oid = *oid;
	o->state = state;
	HASH_ADD(hh, b->objects, oid, sizeof(o->oid), o);
	b->n++;
	return o;
}

static void set_state(struct behind *b, struct object *o, enum state state)
{
	o->state = state;
	o->failed_ms = state == FAILED ? now_ms() : 0;
	pthread_cond_broadcast(&b->cond);
}

static bool is_exact(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_left left;

	pthread_mutex_lock(&eng->lock);
	enum nfs4r_exactness x = nfs4r_core_exactness(eng->core, oid, &left);
	pthread_mutex_unlock(&eng->lock);
	return x != NFS4R_EXACT_LATER;
}

static enum state state_of(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct behind *b = eng->behind;
	struct object *o;
	enum state s = 0;

	if (!b->n)
		return 0;
	pthread_mutex_lock(&b->lock);
	o = find(b, oid);
	s = o ? o->state : 0;
	pthread_mutex_unlock(&b->lock);
	if (s != LATER || !is_exact(eng, oid))
		return s;
	pthread_mutex_lock(&b->lock);
	o = find(b, oid);
	if (o && o->state == LATER)
		drop(b, o);
	pthread_mutex_unlock(&b->lock);
	return 0;
}

enum behind_about behind_about(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	switch (state_of(eng, oid)) {
	case WAITING:
	case WORKING:
		return BEHIND_OPEN;
	case LATER:
		return BEHIND_LATER;
	default:
		return BEHIND_NOT;
	}
}

/* ---- what is said ---- */

static bool may_say(struct behind *b, uint64_t *unsaid)
{
	uint64_t now = now_ms();
	bool yes;

	pthread_mutex_lock(&b->lock);
	*unsaid = 0;
	if (now >= b->said_ms + SAID_MS) {
		b->said_ms = now;
		b->said = 0;
		*unsaid = b->unsaid;
		b->unsaid = 0;
	}
	yes = b->said < SAID_MAX;
	b->said += yes;
	b->unsaid += !yes;
	pthread_mutex_unlock(&b->lock);
	return yes;
}

static void say(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, const char *text)
{
	char path[400];
	uint64_t unsaid;

	if (!may_say(eng->behind, &unsaid))
		return;
	if (unsaid)
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: so it was with %llu more objects; nfs4rctl status counts them", eng->cfg.volume_name, (unsigned long long)unsaid);
	engine_path_of(eng, oid, path, sizeof(path));
	engine_log(eng, NFS4R_LOG_WARN, "volume %s: '%.390s' %s", eng->cfg.volume_name, path, text);
}

/* ---- is it there ---- */

static bool is_missing(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_attrs a = { 0 };
	struct nfs4r_lhandle h;
	struct nfs4r_row row;

	if (nfs4r_store_row(eng->store, oid, &row) != NFS4R_KNOWN)
		return false;
	nfs4r_handle(eng, oid, &h);
	enum nfs4r_status st = h.len ? eng->ops->getattr(eng->ctx, &h, &a) : NFS4R_STALE;
	nfs4r_buf_put(a.acl);
	if (st != NFS4R_OK)
		return st == NFS4R_STALE || st == NFS4R_NOENT;
	/* Without a name only an open file keeps it alive. */
	return a.type != row.type || (a.mask & NFS4R_ATTR_NLINK && !a.nlink);
}

/* Can it come from anywhere? */
static bool may_mend(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	bool may;

	if (nfs4r_oid_eq(oid, &eng->root) || servers_alone(eng) || doubt_is_open(eng) || import_is_open(eng, oid, NULL))
		return false;
	pthread_mutex_lock(&eng->lock);
	may = eng->ready && !eng->stopping && !eng->repair.running;
	pthread_mutex_unlock(&eng->lock);
	return may;
}

/* ---- names ---- */

static enum nfs4r_status restore_mtime(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, const struct nfs4r_lhandle *dirh)
{
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_MTIME };
	struct nfs4r_row row;

	if (nfs4r_store_row(eng->store, dir, &row) != NFS4R_KNOWN || !nfs4r_row_has_mtime(&row))
		return NFS4R_OK;
	a.mtime = row.mtime;
	return eng->ops->setattr(eng->ctx, dirh, &a, NULL, NULL);
}

struct search {
	struct nfs4r_engine *eng;
	const struct nfs4r_lhandle *dirh, *h;
	char name[NFS4R_NAME_MAX + 1];
	bool found;
};

static bool is_searched(void *arg, const char *name)
{
	struct search *s = arg;

	s->found = way_leads_to(s->eng, s->dirh, name, s->h);
	if (s->found)
		snprintf(s->name, sizeof(s->name), "%s", name);
	return !s->found;
}

/* A directory that somebody moved goes back: it cannot be linked, so its present place is looked for. */
static enum nfs4r_status fetch_dir(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, const struct nfs4r_lhandle *dirh, const char *name)
{
	struct nfs4r_lhandle up;
	struct search s = { .eng = eng, .dirh = &up, .h = h };
	enum nfs4r_status st = eng->ops->lookup(eng->ctx, h, "..", &up);

	if (st == NFS4R_OK)
		st = eng->ops->readdir(eng->ctx, &up, is_searched, &s);
	if (st == NFS4R_OK && !s.found)
		st = NFS4R_NOENT;
	return st == NFS4R_OK ? eng->ops->rename(eng->ctx, h, &up, s.name, dirh, name, NULL) : st;
}

/* One name of @dir, whose lock is held, leads to its object; what has it on the disk moves aside. */
static enum nfs4r_status place_name(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, const struct nfs4r_lhandle *dirh, const struct nfs4r_dirent *d, uint64_t *moved)
{
	struct nfs4r_lhandle h;
	enum nfs4r_status st;

	nfs4r_handle(eng, &d->oid, &h);
	if (!h.len || !hold_is_in(eng, dir, &d->oid) || way_leads_to(eng, dirh, d->name.s, &h) || is_missing(eng, &d->oid))
		return NFS4R_OK;
	st = way_clear(eng, dirh, d->name.s, &h);
	if (st == NFS4R_OK)
		st = hold_place(eng, dirh, d->name.s, &d->oid, &h);
	if (st == NFS4R_OK && d->type == NFS4R_TYPE_DIR && !way_leads_to(eng, dirh, d->name.s, &h))
		st = fetch_dir(eng, &h, dirh, d->name.s);
	*moved += st == NFS4R_OK;
	return st;
}

/* The names that the store has in @dir, of one object or (NULL) of all. */
static enum nfs4r_status place_in(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, const struct nfs4r_oid *only, uint64_t *moved)
{
	struct nfs4r_dirent *d = calloc(LISTED, sizeof(*d));
	enum nfs4r_status st = d ? NFS4R_OK : NFS4R_NOMEM;
	struct nfs4r_lhandle dirh;
	uint64_t after = 0;

	nfs4r_handle(eng, dir, &dirh);
	for (uint32_t n = LISTED; st == NFS4R_OK && n == LISTED && dirh.len;) {
		n = nfs4r_store_readdir(eng->store, dir, after, d, LISTED);
		for (uint32_t i = 0; i < n && st == NFS4R_OK; i++) {
			after = d[i].cookie;
			if (!only || nfs4r_oid_eq(only, &d[i].oid))
				st = place_name(eng, dir, &dirh, &d[i], moved);
		}
	}
	free(d);
	return st == NFS4R_OK && *moved ? restore_mtime(eng, dir, &dirh) : st;
}

/* The object, which is there, has all its names. */
static enum nfs4r_status place(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_oid parents[NFS4R_PARENTS_MAX];
	uint32_t n = nfs4r_store_parents(eng->store, oid, parents, NFS4R_PARENTS_MAX);
	enum nfs4r_status st = NFS4R_OK;

	for (uint32_t i = 0; i < n && i < NFS4R_PARENTS_MAX && st == NFS4R_OK; i++) {
		struct held_locks locks = { .n = 2, .want = { { .oid = parents[i], .whole = true }, { .oid = *oid, .whole = true } } };
		uint64_t moved = 0;

		locks_take(eng->locks, &locks);
		st = place_in(eng, &parents[i], oid, &moved);
		locks_drop(eng->locks, &locks);
	}
	hold_tidy(eng);
	return st;
}

/* Names on the disk that the store does not have. Its lock is held. */
static enum nfs4r_status clear_foreign(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, const struct nfs4r_lhandle *dirh, uint64_t *moved)
{
	bool root = nfs4r_oid_eq(dir, &eng->root);
	struct disk_names l;
	enum nfs4r_status st = disk_names_read(eng, dirh, &l);

	for (const char *s = disk_names_next(&l, NULL); s && st == NFS4R_OK; s = disk_names_next(&l, s)) {
		struct nfs4r_dirent ent;
		struct nfs4r_name name;

		if (root && (hold_is_name(s) || strcmp(s, "lost+found") == 0))
			continue;
		if (nfs4r_name_set(&name, s, strlen(s)) && nfs4r_store_lookup(eng->store, dir, &name, &ent))
			continue;
		st = way_clear(eng, dirh, s, NULL);
		*moved += st == NFS4R_OK;
	}
	disk_names_free(&l);
	return st;
}

enum nfs4r_status behind_names(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, uint64_t *moved)
{
	struct held_locks locks = { .n = 1, .want = { { .oid = *dir, .whole = true } } };
	struct nfs4r_lhandle dirh;
	enum nfs4r_status st;

	*moved = 0;
	locks_take(eng->locks, &locks);
	nfs4r_handle(eng, dir, &dirh);
	st = dirh.len ? clear_foreign(eng, dir, &dirh, moved) : NFS4R_STALE;
	if (st == NFS4R_OK)
		st = place_in(eng, dir, NULL, moved);
	if (st == NFS4R_OK && *moved)
		st = restore_mtime(eng, dir, &dirh);
	locks_drop(eng->locks, &locks);
	hold_tidy(eng);
	return st;
}

/* ---- content ---- */

static nfs4r_servers reachable(struct nfs4r_engine *eng, nfs4r_servers set)
{
	nfs4r_servers up = 0;

	EACH_OF(set & ~NFS4R_BIT(eng->cfg.rpc.self), s) {
		struct nfs4r_rpc_peer_stats rs;

		if (eng->rpc && nfs4r_rpc_get_stats(eng->rpc, s, &rs) && rs.up)
			up |= NFS4R_BIT(s);
	}
	return up;
}

/* The object has another local file from now on. */
static enum nfs4r_status take_handle(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, const struct nfs4r_lhandle *h)
{
	enum nfs4r_status st;

	pthread_mutex_lock(&eng->lock);
	st = nfs4r_store_set_handle(eng->store, oid, h->b, h->len);
	pthread_mutex_unlock(&eng->lock);
	if (st == NFS4R_OK && eng->ops->moved)
		eng->ops->moved(eng->ctx, oid);
	return st;
}

static enum nfs4r_status fetch_from(struct nfs4r_engine *eng, struct repair *r, const struct nfs4r_row *row, bool *done)
{
	uint64_t size;
	enum nfs4r_status st = repair_refresh(r, &row->oid, row->version, &size, done);

	if (st != NFS4R_OK || !*done)
		return st;
	if (r->gone)
		st = take_handle(eng, &row->oid, &r->took_handle);
	return st;
}

/* From one server after the other; the one that made the newest version first. */
static enum nfs4r_status fetch(struct nfs4r_engine *eng, const struct nfs4r_row *row, bool gone, struct behind_want *w, bool *newer)
{
	struct repair r = { .eng = eng, .doubt = true, .patience_ms = PATIENCE_MS, .gone = gone };
	enum nfs4r_status st = NFS4R_DELAY;
	bool done = false;

	snprintf(w->why, sizeof(w->why), "no other server can be reached");
	for (int round = 0; round < ROUNDS && !done && !eng->stopping; round++) {
		nfs4r_servers set = reachable(eng, w->from ? w->from : servers_left(eng)), first = set & NFS4R_BIT(row->last_log);

		if (round)
			nanosleep(&(struct timespec){ .tv_nsec = PAUSE_MS * 1000000L }, NULL);
		for (nfs4r_servers left = set, turn; left && !done && !eng->stopping; left &= ~turn) {
			turn = left & first ? first : left & -left;
			r.from = (nfs4r_server_id)__builtin_ctzll(turn);
			r.why[0] = '\0';
			st = fetch_from(eng, &r, row, &done);
			if (!done)
				snprintf(w->why, sizeof(w->why), "server %u: %.250s", r.from, st == NFS4R_OK ? "its copy is older, or changes just now" : r.why[0] ? r.why : nfs4r_status_str(st));
		}
		if (is_disk_error(st))
			break;
	}
	free(r.keep);
	w->took = done ? r.from : 0;
	*newer = done && r.took_version > row->version;
	return done ? st : st == NFS4R_OK ? NFS4R_DELAY : st;
}

/* What is executed or applied now ends; whoever comes later sees that the object is open. */
static void barrier(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct held_locks locks = { .n = 1, .want = { { .oid = *oid, .whole = true } } };

	locks_take(eng->locks, &locks);
	locks_drop(eng->locks, &locks);
}

static enum nfs4r_status mend_parents(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct behind_want *w)
{
	struct nfs4r_oid parents[NFS4R_PARENTS_MAX];
	uint32_t n = nfs4r_store_parents(eng->store, oid, parents, NFS4R_PARENTS_MAX);
	enum nfs4r_status st = NFS4R_OK;

	for (uint32_t i = 0; i < n && i < NFS4R_PARENTS_MAX && st == NFS4R_OK; i++) {
		struct behind_want up = { .from = w->from };

		if (!is_missing(eng, &parents[i]))
			continue;
		st = behind_mend(eng, &parents[i], &up);
		memcpy(w->why, up.why, sizeof(w->why));
	}
	return st;
}

/* The object is WORKING, and ours. */
static enum nfs4r_status mend(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct behind_want *w, bool *newer)
{
	struct nfs4r_row row;
	bool gone;
	enum nfs4r_status st = mend_parents(eng, oid, w);

	*newer = false;
	if (st != NFS4R_OK)
		return st;
	barrier(eng, oid);
	if (nfs4r_store_row(eng->store, oid, &row) != NFS4R_KNOWN)
		return NFS4R_OK; /* deleted meanwhile */
	gone = is_missing(eng, oid) || (w->content && row.type != NFS4R_TYPE_FILE && row.type != NFS4R_TYPE_DIR); /* those cannot be written */
	if (gone || w->content)
		st = fetch(eng, &row, gone, w, newer);
	if (st == NFS4R_OK)
		st = place(eng, oid);
	if (st != NFS4R_OK && !w->why[0])
		snprintf(w->why, sizeof(w->why), "%s", nfs4r_status_str(st));
	touched_forget_all(eng->touched);
	set_ids_forget_all(eng->set_ids);
	if (eng->ops->changed)
		eng->ops->changed(eng->ctx, oid, row.type == NFS4R_TYPE_DIR);
	return st;
}

static void end(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, enum nfs4r_status st, bool newer)
{
	struct behind *b = eng->behind;
	struct object *o;

	pthread_mutex_lock(&b->lock);
	o = find(b, oid);
	if (o && st == NFS4R_OK && newer)
		set_state(b, o, LATER);
	else if (o && st != NFS4R_OK)
		set_state(b, o, FAILED);
	else if (o)
		drop(b, o);
	pthread_cond_broadcast(&b->cond);
	pthread_mutex_unlock(&b->lock);
	pthread_mutex_lock(&eng->lock);
	engine_look_soon(eng); /* reads wait for it */
	pthread_mutex_unlock(&eng->lock);
}

/* A task takes what was queued. False: another thread was quicker. */
static bool claim_queued(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	bool missing = is_missing(eng, oid), ours = false;
	struct behind *b = eng->behind;
	struct object *o;

	pthread_mutex_lock(&b->lock);
	o = find(b, oid);
	if (o && (o->state == WAITING || o->state == MISPLACED)) {
		set_state(b, o, o->state == MISPLACED && !missing ? PLACING : WORKING);
		ours = true;
	}
	pthread_mutex_unlock(&b->lock);
	return ours;
}

/* The same at once, or after another thread: then it is looked at once more. */
static enum nfs4r_status claim(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	enum nfs4r_status st = NFS4R_OK;
	struct behind *b = eng->behind;
	struct object *o;

	pthread_mutex_lock(&b->lock);
	while ((o = find(b, oid)) && (o->state == WORKING || o->state == PLACING) && !eng->stopping) {
		struct timespec ts = after_us(WAIT_MS * 1000);

		pthread_cond_clockwait(&b->cond, &b->lock, CLOCK_MONOTONIC, &ts);
	}
	if (eng->stopping)
		st = NFS4R_SHUTDOWN;
	else if (o)
		set_state(b, o, WORKING);
	else if (!add(eng, oid, WORKING))
		st = NFS4R_NOMEM;
	pthread_mutex_unlock(&b->lock);
	return st;
}

enum nfs4r_status behind_mend(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct behind_want *w)
{
	enum nfs4r_status st;
	bool newer;

	w->why[0] = '\0';
	w->took = 0;
	if (!may_mend(eng, oid)) {
		snprintf(w->why, sizeof(w->why), "this server does not serve now, or there is no other one");
		return NFS4R_DELAY;
	}
	st = claim(eng, oid);
	if (st != NFS4R_OK)
		return st;
	st = mend(eng, oid, w, &newer);
	end(eng, oid, st, newer);
	eng->behind->taken += st == NFS4R_OK && w->took;
	eng->behind->failed += st != NFS4R_OK;
	return st;
}

/* ---- noticed ---- */

static void mend_task(struct nfs4r_engine *eng, void *arg)
{
	struct behind_want w = { .from = 0 };
	struct nfs4r_oid *oid = arg;
	enum nfs4r_status st;
	char text[480];
	bool newer;

	if (!eng->stopping && claim_queued(eng, oid)) {
		st = mend(eng, oid, &w, &newer);
		end(eng, oid, st, newer);
		eng->behind->taken += st == NFS4R_OK && w.took;
		eng->behind->failed += st != NFS4R_OK;
		if (st != NFS4R_OK && !eng->stopping)
			snprintf(text, sizeof(text), "was removed or replaced behind NFS, and cannot be taken from another server: %s; it is tried again when it is used", w.why);
		else
			snprintf(text, sizeof(text), "was removed or replaced behind NFS: it was taken from server %u", w.took);
		if (!eng->stopping && (st != NFS4R_OK || w.took))
			say(eng, oid, text);
	}
	free(oid);
}

void behind_drop(struct nfs4r_engine *eng, void *arg)
{
	free(arg);
}

static bool queue(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_oid *copy = malloc(sizeof(*copy));

	if (!copy)
		return false;
	*copy = *oid;
	pool_run(eng->menders, mend_task, copy);
	return true;
}

/* In the table, and queued if it was not. @since: how long ago it failed last, UINT64_MAX: it did not. */
static void enqueue(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, enum state state, uint64_t *since)
{
	struct behind *b = eng->behind;
	struct object *o;
	bool begin = false;

	*since = UINT64_MAX;
	pthread_mutex_lock(&b->lock);
	o = find(b, oid);
	if (o && o->state == FAILED) {
		*since = now_ms() - o->failed_ms;
		begin = *since >= PAUSE_MS;
		if (begin)
			set_state(b, o, state);
	} else if (o && o->state == LATER) {
		set_state(b, o, state); /* once more */
		begin = true;
	} else if (!o) {
		o = add(eng, oid, state);
		begin = o != NULL;
	}
	if (begin && !queue(eng, oid))
		drop(b, o);
	pthread_mutex_unlock(&b->lock);
}

bool behind_notice(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	uint64_t since;

	if (behind_about(eng, oid) == BEHIND_OPEN)
		return true;
	if (!may_mend(eng, oid) || !is_missing(eng, oid))
		return false;
	enqueue(eng, oid, WAITING, &since);
	return true;
}

bool nfs4r_is_gone_here(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	return behind_notice(eng, oid);
}

bool nfs4r_comes_back(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	return behind_about(eng, oid) != BEHIND_NOT;
}

void behind_misplaced(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	uint64_t since;

	enqueue(eng, oid, MISPLACED, &since);
}

/* ---- updates ---- */

bool behind_blocks(struct nfs4r_engine *eng, const struct nfs4r_entry *e)
{
	for (uint32_t i = 0; eng->behind->n && i < e->nparts; i++)
		if (behind_about(eng, &e->parts[i].oid) == BEHIND_OPEN)
			return true;
	return false;
}

void behind_wait(struct nfs4r_engine *eng, const struct nfs4r_entry *e)
{
	uint64_t until = now_ms() + WAIT_MS;

	while (behind_blocks(eng, e) && !eng->stopping && now_ms() < until) {
		struct timespec ts = after_us(20000);

		pthread_mutex_lock(&eng->behind->lock);
		pthread_cond_clockwait(&eng->behind->cond, &eng->behind->lock, CLOCK_MONOTONIC, &ts);
		pthread_mutex_unlock(&eng->behind->lock);
	}
}

/* A name that the update takes away does not lead to its object, which is there: that gets its names back. True: soon; *hopeless: it was tried a moment ago. */
static bool gets_names(struct nfs4r_engine *eng, const struct nfs4r_entry *e, bool *hopeless)
{
	bool any = false;

	for (uint32_t i = 0; i < e->nparts; i++) {
		uint64_t since;

		if ((e->parts[i].effect != NFS4R_EFF_LINKS && e->parts[i].effect != NFS4R_EFF_PARENT) || !may_mend(eng, &e->parts[i].oid))
			continue;
		enqueue(eng, &e->parts[i].oid, MISPLACED, &since);
		*hopeless |= since < AGAIN_MS;
		any = true;
	}
	return any;
}

enum nfs4r_status behind_failed(struct nfs4r_engine *eng, const struct nfs4r_entry *e, const struct nfs4r_op *op, enum nfs4r_status st)
{
	bool missing = false, hopeless = false;

	if (st != NFS4R_STALE && st != NFS4R_NOENT)
		return st;
	for (uint32_t i = 0; i < e->nparts; i++) {
		const struct nfs4r_oid *oid = &e->parts[i].oid;
		uint64_t since = UINT64_MAX;

		if (e->parts[i].effect == NFS4R_EFF_CREATE || !may_mend(eng, oid) || !is_missing(eng, oid))
			continue;
		enqueue(eng, oid, WAITING, &since);
		missing = true;
		hopeless |= since < AGAIN_MS;
	}
	if (!missing && (st != NFS4R_NOENT || !gets_names(eng, e, &hopeless)))
		return st;
	return hopeless && !op ? st : NFS4R_DELAY; /* who applies it says that it cannot */
}

/* ---- for status ---- */

static bool count_stray(void *arg, const char *name)
{
	*(uint64_t *)arg += strncmp(name, "stray.", 6) == 0;
	return true;
}

void behind_count(struct nfs4r_engine *eng, struct behind_counts *out)
{
	struct nfs4r_lhandle dirh;

	*out = (struct behind_counts){ .taken = eng->behind->taken, .failed = eng->behind->failed, .aside = eng->strays_moved, .waiting = eng->behind->n };
	if (eng->hold_there && eng->working && hold_find(eng, NULL, &dirh) == NFS4R_OK)
		(void)eng->ops->readdir(eng->ctx, &dirh, count_stray, &out->strays);
}
