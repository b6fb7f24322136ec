/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Objects that somebody changed in the exported directory itself, behind NFS, become again what the volume has (docs/decisions/0027-changes-behind-nfs.md).
 *
 * Happy path of one object, on a thread of its own:
 *   1. A read, an update or another server's update meets a local handle that leads nowhere (missing.c), or `nfs4rctl repair` finds a difference (resync_heal).
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

#include "engine/replicate/replicate.h"
#include "engine/resync/resync_int.h"

#define PATIENCE_MS 3000 /* with one question to one server */
#define ROUNDS 4 /* of all servers, before it is given up for now */
#define PAUSE_MS 250
#define LISTED 256

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

	s->found = replicate_way_leads_to(s->eng, s->dirh, name, s->h);
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
	if (!h.len || !replicate_staging_is_in(eng, dir, &d->oid) || replicate_way_leads_to(eng, dirh, d->name.s, &h) || engine_missing_is(eng, &d->oid))
		return NFS4R_OK;
	st = replicate_way_clear(eng, dirh, d->name.s, &h);
	if (st == NFS4R_OK)
		st = replicate_staging_place(eng, dirh, d->name.s, &d->oid, &h);
	if (st == NFS4R_OK && d->type == NFS4R_TYPE_DIR && !replicate_way_leads_to(eng, dirh, d->name.s, &h))
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
		struct op_locks locks = { .n = 2, .want = { { .oid = parents[i], .whole = true }, { .oid = *oid, .whole = true } } };
		uint64_t moved = 0;

		engine_locks_take(eng->runtime.locks, &locks);
		st = place_in(eng, &parents[i], oid, &moved);
		engine_locks_drop(eng->runtime.locks, &locks);
	}
	replicate_staging_tidy(eng);
	return st;
}

/* Names on the disk that the store does not have. Its lock is held. */
static enum nfs4r_status clear_foreign(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, const struct nfs4r_lhandle *dirh, uint64_t *moved)
{
	bool root = nfs4r_oid_eq(dir, &eng->root);
	struct disk_names l;
	enum nfs4r_status st = engine_disk_names_read(eng, dirh, &l);

	for (const char *s = engine_disk_names_next(&l, NULL); s && st == NFS4R_OK; s = engine_disk_names_next(&l, s)) {
		struct nfs4r_dirent ent;
		struct nfs4r_name name;

		if (root && (replicate_staging_is_name(s) || strcmp(s, "lost+found") == 0))
			continue;
		if (nfs4r_name_set(&name, s, strlen(s)) && nfs4r_store_lookup(eng->store, dir, &name, &ent))
			continue;
		st = replicate_way_clear(eng, dirh, s, NULL);
		*moved += st == NFS4R_OK;
	}
	engine_disk_names_free(&l);
	return st;
}

enum nfs4r_status resync_heal_names(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, uint64_t *moved)
{
	struct op_locks locks = { .n = 1, .want = { { .oid = *dir, .whole = true } } };
	struct nfs4r_lhandle dirh;
	enum nfs4r_status st;

	*moved = 0;
	engine_locks_take(eng->runtime.locks, &locks);
	nfs4r_handle(eng, dir, &dirh);
	st = dirh.len ? clear_foreign(eng, dir, &dirh, moved) : NFS4R_STALE;
	if (st == NFS4R_OK)
		st = place_in(eng, dir, NULL, moved);
	if (st == NFS4R_OK && *moved)
		st = restore_mtime(eng, dir, &dirh);
	engine_locks_drop(eng->runtime.locks, &locks);
	replicate_staging_tidy(eng);
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
	enum nfs4r_status st = resync_refresh(r, &row->oid, row->version, &size, done);

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
	for (int round = 0; round < ROUNDS && !done && !eng->door.stopping; round++) {
		nfs4r_servers set = reachable(eng, w->from ? w->from : engine_servers_surviving(eng)), first = set & NFS4R_BIT(row->last_log);

		if (round)
			nanosleep(&(struct timespec){ .tv_nsec = PAUSE_MS * 1000000L }, NULL);
		for (nfs4r_servers left = set, turn; left && !done && !eng->door.stopping; left &= ~turn) {
			turn = left & first ? first : left & -left;
			r.from = (nfs4r_server_id)__builtin_ctzll(turn);
			r.why[0] = '\0';
			st = fetch_from(eng, &r, row, &done);
			if (!done)
				snprintf(w->why, sizeof(w->why), "server %u: %.250s", r.from, st == NFS4R_OK ? "the copy there is older, or is being changed" : r.why[0] ? r.why :
																					   nfs4r_status_str(st));
		}
		if (engine_is_disk_error(st))
			break;
	}
	free(r.keep);
	w->took = done ? r.from : 0;
	*newer = done && r.took_version > row->version;
	return done ? st : st == NFS4R_OK ? NFS4R_DELAY :
					    st;
}

/* What is executed or applied now ends; whoever comes later sees that the object is open. */
static void barrier(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct op_locks locks = { .n = 1, .want = { { .oid = *oid, .whole = true } } };

	engine_locks_take(eng->runtime.locks, &locks);
	engine_locks_drop(eng->runtime.locks, &locks);
}

static enum nfs4r_status mend_parents(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct behind_want *w)
{
	struct nfs4r_oid parents[NFS4R_PARENTS_MAX];
	uint32_t n = nfs4r_store_parents(eng->store, oid, parents, NFS4R_PARENTS_MAX);
	enum nfs4r_status st = NFS4R_OK;

	for (uint32_t i = 0; i < n && i < NFS4R_PARENTS_MAX && st == NFS4R_OK; i++) {
		struct behind_want up = { .from = w->from };

		if (!engine_missing_is(eng, &parents[i]))
			continue;
		st = resync_heal(eng, &parents[i], &up);
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
	gone = engine_missing_is(eng, oid) || (w->content && row.type != NFS4R_TYPE_FILE && row.type != NFS4R_TYPE_DIR); /* those cannot be written */
	if (gone || w->content)
		st = fetch(eng, &row, gone, w, newer);
	if (st == NFS4R_OK)
		st = place(eng, oid);
	if (st != NFS4R_OK && !w->why[0])
		snprintf(w->why, sizeof(w->why), "%s", nfs4r_status_str(st));
	engine_touched_forget_all(eng->runtime.touched);
	engine_suid_forget_all(eng->runtime.set_ids);
	if (eng->ops->changed)
		eng->ops->changed(eng->ctx, oid, row.type == NFS4R_TYPE_DIR);
	return st;
}

enum nfs4r_status resync_heal(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct behind_want *w)
{
	enum nfs4r_status st;
	bool newer;

	w->why[0] = '\0';
	w->took = 0;
	if (!engine_missing_may_mend(eng, oid)) {
		snprintf(w->why, sizeof(w->why), "this server does not serve now, or there is no other server");
		return NFS4R_DELAY;
	}
	st = engine_missing_claim(eng, oid);
	if (st != NFS4R_OK)
		return st;
	st = mend(eng, oid, w, &newer);
	engine_missing_end(eng, oid, st, newer, w->took);
	return st;
}

/* ---- noticed ---- */

void resync_heal_task(struct nfs4r_engine *eng, void *arg)
{
	struct behind_want w = { .from = 0 };
	struct nfs4r_oid *oid = arg;
	enum nfs4r_status st;
	char text[480];
	bool newer;

	if (!eng->door.stopping && engine_missing_claim_queued(eng, oid)) {
		st = mend(eng, oid, &w, &newer);
		engine_missing_end(eng, oid, st, newer, w.took);
		if (st != NFS4R_OK && !eng->door.stopping)
			snprintf(text, sizeof(text), "was removed or replaced behind NFS, and cannot be restored from another server: %s; the next use tries again", w.why);
		else
			snprintf(text, sizeof(text), "was removed or replaced behind NFS: restored from server %u", w.took);
		if (!eng->door.stopping && (st != NFS4R_OK || w.took))
			engine_missing_say(eng, oid, text);
	}
	free(oid);
}

/* ---- for status ---- */

static bool count_stray(void *arg, const char *name)
{
	*(uint64_t *)arg += strncmp(name, "stray.", 6) == 0;
	return true;
}

void resync_heal_count(struct nfs4r_engine *eng, struct behind_counts *out)
{
	struct nfs4r_lhandle dirh;

	engine_missing_count(eng, &out->taken, &out->failed, &out->waiting);
	out->aside = eng->replicate.strays_moved;
	out->strays = 0;
	if (eng->replicate.staging_exists && eng->door.working && replicate_staging_find(eng, NULL, &dirh) == NFS4R_OK)
		(void)eng->ops->readdir(eng->ctx, &dirh, count_stray, &out->strays);
}
