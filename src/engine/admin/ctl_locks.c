/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What `nfs4rctl locks` shows, as JSON: who has which range of which file, who waits for one, and since when. The engine's caller keeps the locks of this server's clients (lops.h) and is asked
 * for a copy; paths are found after that.
 *
 * Where locks hold at all servers, the core knows those of all servers' clients of the files that this server controls. Of other files only the locks of this server's clients are known here. Whose they
 * are is in the lists of clients that all servers have (locks 7).
 */
#include <stdlib.h>
#include <string.h>

#include "engine/admin/admin_int.h"

static json_t *text_or_null(const char *s)
{
	return s[0] ? admin_json_text(s) : json_null();
}

static const char *state_name(enum nfs4r_lock_state state)
{
	switch (state) {
	case NFS4R_LOCK_SET:
		return "held";
	case NFS4R_LOCK_RESERVED:
		return "reserved";
	default:
		return "waiting";
	}
}

struct row {
	struct nfs4r_lock_info info;
	nfs4r_server_id server; /* of the client; 0: this one, in a volume where locks do not hold at all servers */
	uint32_t place; /* in the answer */
};

static json_t *lock_row(struct ctl_paths *paths, const struct row *r)
{
	const struct nfs4r_lock_info *i = &r->info;
	json_t *out;
	bool to_end = i->lock.last == UINT64_MAX;
	char oid[NFS4R_OID_STRLEN];

	out = json_pack("{s:s, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "oid", nfs4r_oid_str(&i->oid, oid), "path", admin_path_json(paths, &i->oid), "state", state_name(i->state),
			"type", i->lock.type == NFS4R_LOCK_READ ? "read" : "write", "start", admin_num(i->lock.start), "length",
			to_end ? json_null() : admin_num(i->lock.last - i->lock.start + 1), "age_ms", admin_num(i->age_ms), "client", text_or_null(i->client), "address", text_or_null(i->address));
	if (r->server)
		json_object_set_new(out, "server", admin_num(r->server));
	return out;
}

/* ---- where locks hold at all servers ---- */

struct all {
	struct row *rows;
	uint32_t n, total;
	uint64_t now;
};

static void add(struct all *all, const struct nfs4r_lock_info *i, nfs4r_server_id server)
{
	if (all->total++ < CTL_LOCKS_MAX)
		all->rows[all->n++] = (struct row){ .info = *i, .server = server };
}

static bool decided_here(void *arg, const struct nfs4r_core_lock *l)
{
	struct nfs4r_lock_info i = { .oid = l->oid, .lock = l->lock.lock, .state = l->state };
	struct all *all = arg;

	i.age_ms = all->now - l->since_ms;
	if (l->place == NFS4R_LOCK_AS_AUTHORITY)
		add(all, &i, l->lock.holder);
	return true;
}

static int by_oid(const void *a, const void *b)
{
	return nfs4r_oid_cmp(a, b);
}

static int by_server_and_client(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->server != y->server ? (x->server < y->server ? -1 : 1) : memcmp(x->info.lock.owner.client, y->info.lock.owner.client, sizeof(x->info.lock.owner.client));
}

struct naming {
	struct row *rows; /* by server and client */
	uint32_t n;
};

/* All rows of that client. */
static bool name_client(void *arg, const struct nfs4r_client_entry *k)
{
	struct row key = { .server = k->server };
	struct naming *g = arg;
	struct row *r;

	memcpy(key.info.lock.owner.client, k->client.id, sizeof(k->client.id));
	r = bsearch(&key, g->rows, g->n, sizeof(key), by_server_and_client);
	while (r && r > g->rows && by_server_and_client(r - 1, &key) == 0)
		r--;
	for (; r && r < g->rows + g->n && by_server_and_client(r, &key) == 0; r++) {
		snprintf(r->info.client, sizeof(r->info.client), "%.*s", (int)sizeof(r->info.client) - 1, k->client.name);
		snprintf(r->info.address, sizeof(r->info.address), "%.*s", (int)sizeof(r->info.address) - 1, k->client.address);
	}
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->place < y->place ? -1 : x->place > y->place;
}

static void name_clients(struct nfs4r_engine *eng, struct all *all)
{
	struct naming g = { .rows = all->rows, .n = all->n };

	for (uint32_t i = 0; i < all->n; i++)
		all->rows[i].place = i;
	qsort(all->rows, all->n, sizeof(all->rows[0]), by_server_and_client);
	EACH_OF(eng->membership.servers, s)
		nfs4r_clients(eng, s, name_client, &g);
	qsort(all->rows, all->n, sizeof(all->rows[0]), by_place);
}

/* @own: what this server's clients have, and wait for. */
static bool collect(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct nfs4r_lock_info *own, uint32_t nown, struct all *all)
{
	struct nfs4r_oid *here;
	uint32_t nhere;

	pthread_mutex_lock(&eng->lock);
	all->now = engine_now_ms();
	nfs4r_core_each_lock(eng->core, oid, decided_here, all);
	pthread_mutex_unlock(&eng->lock);
	nhere = all->n;
	here = malloc((nhere + 1) * sizeof(here[0]));
	if (!here)
		return false;
	for (uint32_t i = 0; i < nhere; i++)
		here[i] = all->rows[i].info.oid;
	qsort(here, nhere, sizeof(here[0]), by_oid);
	for (uint32_t i = 0; i < nown; i++)
		if (!bsearch(&own[i].oid, here, nhere, sizeof(here[0]), by_oid))
			add(all, &own[i], eng->cfg.rpc.self);
	free(here);
	name_clients(eng, all);
	return true;
}

static bool collect_own(struct nfs4r_lock_info *own, uint32_t nown, struct all *all)
{
	for (uint32_t i = 0; i < nown; i++)
		add(all, &own[i], 0);
	return true;
}

/* @oid NULL: of all files. */
static json_t *answer(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_lock_info *own = malloc(CTL_LOCKS_MAX * sizeof(own[0]));
	struct all all = { .rows = malloc(CTL_LOCKS_MAX * sizeof(all.rows[0])) };
	struct ctl_paths *paths = admin_paths_new(eng);
	json_t *list = json_array(), *out = NULL;
	uint32_t total, n;

	if (own != NULL && all.rows != NULL && paths != NULL && list != NULL) {
		total = eng->ops->locks(eng->ctx, oid, own, CTL_LOCKS_MAX);
		n = total < CTL_LOCKS_MAX ? total : CTL_LOCKS_MAX;
		if (nfs4r_locks_are_shared(eng) ? collect(eng, oid, own, n, &all) : collect_own(own, n, &all)) {
			all.total += total - n;
			for (uint32_t i = 0; i < all.n; i++)
				json_array_append_new(list, lock_row(paths, &all.rows[i]));
			out = json_pack("{s:i, s:o, s:b, s:O}", "server", eng->cfg.rpc.self, "total", admin_num(all.total), "truncated", all.total > all.n, "locks", list);
		}
	}
	json_decref(list);
	admin_paths_free(paths);
	free(all.rows);
	free(own);
	return out;
}

json_t *admin_report_locks(struct nfs4r_engine *eng, const json_t *req)
{
	const json_t *path = json_object_get(req, "path");
	struct verify_walk *w;
	struct verify_found found = { .path = NULL };
	enum nfs4r_status st;
	char why[NFS4R_WHY] = "out of memory";
	json_t *out;

	if (eng->ops->locks == NULL)
		return admin_error("the locks of this server's clients are not kept by this program");
	if (path == NULL)
		return answer(eng, NULL);
	if (!json_is_string(path))
		return admin_error("\"path\" must be a string");
	w = admin_verify_walk_new(eng, json_string_value(path), why);
	if (w == NULL || !admin_verify_walk_next(w, &found, &st))
		out = admin_error(why);
	else if (found.type != NFS4R_TYPE_FILE)
		out = admin_error("that is no file: only files have locks");
	else
		out = answer(eng, &found.oid);
	if (w != NULL) {
		free(found.path);
		admin_verify_walk_free(w);
	}
	return out;
}

json_t *admin_locks_json(struct nfs4r_engine *eng)
{
	struct nfs4r_lock_counts decided;
	struct nfs4r_locks_count n;
	json_t *out;

	if (eng->ops->count_locks == NULL)
		return json_null();
	eng->ops->count_locks(eng->ctx, &n);
	out = json_pack("{s:o, s:o, s:o, s:o}", "files", admin_num(n.files), "held", admin_num(n.ranges), "waiting", admin_num(n.waiting), "max", admin_num(eng->cfg.lock_max));
	if (!nfs4r_locks_are_shared(eng))
		return out;
	pthread_mutex_lock(&eng->lock);
	nfs4r_core_count_locks(eng->core, &decided);
	pthread_mutex_unlock(&eng->lock);
	json_object_set_new(out, "decided_here", json_pack("{s:o, s:o, s:o, s:o}", "files", admin_num(decided.files), "held", admin_num(decided.ranges), "waiting", admin_num(decided.waiting), "gaps", admin_num(decided.gaps)));
	return out;
}
