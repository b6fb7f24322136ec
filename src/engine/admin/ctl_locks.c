/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What `nfs4rctl locks` shows, as JSON: who has which range of which file, who waits for one, and since when. The engine's caller keeps the locks of this server's clients (lops.h) and is asked
 * for a copy; paths are found after that.
 *
 * Where locks hold at all servers, the core knows those of all servers' clients of the files that this server controls, and the row of a file that nobody controls has those that are held. Of other files
 * only the locks of this server's clients are known here, and which server decides about them. Whose they are is in the lists of clients that all servers have (locks 7). Opens that deny others something
 * (locks 19), and gaps (locks 8), are known in the same way.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/admin/admin_int.h"

static json_t *text_or_null(const char *s)
{
	return s[0] ? admin_json_text(s) : json_null();
}

static json_t *number_or_null(uint64_t n)
{
	return n ? admin_num(n) : json_null();
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
	nfs4r_server_id decides; /* who controls the file; 0: nobody */
	bool since_is_known;
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
			to_end ? json_null() : admin_num(i->lock.last - i->lock.start + 1), "age_ms", r->since_is_known ? admin_num(i->age_ms) : json_null(), "client", text_or_null(i->client), "address", text_or_null(i->address));
	if (r->server) {
		json_object_set_new(out, "server", admin_num(r->server));
		json_object_set_new(out, "decided_by", number_or_null(r->decides));
	}
	return out;
}

/* ---- where locks hold at all servers ---- */

struct all {
	struct row *rows;
	uint32_t n, total;
	uint64_t now;
	nfs4r_server_id self;
};

static void add(struct all *all, const struct row *r)
{
	if (all->total++ < CTL_LOCKS_MAX)
		all->rows[all->n++] = *r;
}

static bool decided_here(void *arg, const struct nfs4r_core_lock *l)
{
	struct all *all = arg;
	struct row r = { .info = { .oid = l->oid, .lock = l->lock.lock, .state = l->state, .age_ms = all->now - l->since_ms }, .server = l->lock.holder, .decides = all->self, .since_is_known = true };

	if (l->place == NFS4R_LOCK_AS_AUTHORITY)
		add(all, &r);
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

static void number(struct all *all)
{
	for (uint32_t i = 0; i < all->n; i++)
		all->rows[i].place = i;
}

static void name_clients(struct nfs4r_engine *eng, struct all *all)
{
	struct naming g = { .rows = all->rows, .n = all->n };

	number(all);
	qsort(all->rows, all->n, sizeof(all->rows[0]), by_server_and_client);
	EACH_OF(eng->membership.servers, s)
		nfs4r_clients(eng, s, name_client, &g);
	qsort(all->rows, all->n, sizeof(all->rows[0]), by_place);
}

/* Who decides about the locks of @oid, of which this server has no table; 0: nobody, and *row: its row has all that are held. */
static nfs4r_server_id decides(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, bool *row)
{
	nfs4r_server_id to = nfs4r_read_server(eng, oid);
	enum nfs4r_lock_source source;

	pthread_mutex_lock(&eng->lock);
	source = nfs4r_core_lock_source(eng->core, oid);
	pthread_mutex_unlock(&eng->lock);
	*row = to == eng->cfg.rpc.self && source == NFS4R_LOCKS_FROM_ROW;
	return to == eng->cfg.rpc.self && source == NFS4R_LOCKS_FROM_ROW ? 0 : to;
}

/* What the row of a file says that nobody controls, of the clients of other servers. */
static void add_row(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct nfs4r_file_lock *v, struct all *all)
{
	uint32_t n;
	bool row;

	(void)decides(eng, oid, &row);
	n = row ? nfs4r_store_locks(eng->store, oid, v, NFS4R_LOCKS_LIST_MAX) : 0;
	for (uint32_t i = 0; i < n; i++) {
		struct row r = { .info = { .oid = *oid, .lock = v[i].lock, .state = NFS4R_LOCK_SET }, .server = v[i].holder };

		if (v[i].holder != all->self)
			add(all, &r);
	}
}

static bool add_rows(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct all *all)
{
	struct nfs4r_file_lock *v = malloc(NFS4R_LOCKS_LIST_MAX * sizeof(v[0]));
	struct nfs4r_oid at = { { 0 } };

	if (!v)
		return false;
	if (oid)
		add_row(eng, oid, v, all);
	else
		while (all->n < CTL_LOCKS_MAX && nfs4r_store_next_locked(eng->store, &at, &at))
			add_row(eng, &at, v, all);
	free(v);
	return true;
}

/* @own: what this server's clients have, and wait for. Not of files whose table is here: these @nhere, in order. */
static void add_own(struct nfs4r_engine *eng, const struct nfs4r_lock_info *own, uint32_t nown, const struct nfs4r_oid *here, uint32_t nhere, struct all *all)
{
	struct row r = { .server = 0 };
	bool row;

	for (uint32_t i = 0; i < nown; i++) {
		if (bsearch(&own[i].oid, here, nhere, sizeof(here[0]), by_oid))
			continue;
		if (!r.server || !nfs4r_oid_eq(&r.info.oid, &own[i].oid))
			r.decides = decides(eng, &own[i].oid, &row);
		r.info = own[i];
		r.server = all->self;
		r.since_is_known = true;
		add(all, &r);
	}
}

/* File by file, what is held before what waits; the order of those that wait stays. */
static int by_file_and_state(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int files = nfs4r_oid_cmp(&x->info.oid, &y->info.oid);
	bool is_set = x->info.state == NFS4R_LOCK_SET;

	if (files)
		return files;
	if (is_set != (y->info.state == NFS4R_LOCK_SET))
		return is_set ? -1 : 1;
	if (is_set && x->info.lock.start != y->info.lock.start)
		return x->info.lock.start < y->info.lock.start ? -1 : 1;
	return by_place(a, b);
}

static bool collect(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct nfs4r_lock_info *own, uint32_t nown, struct all *all)
{
	struct nfs4r_oid *here;
	uint32_t nhere;

	all->self = eng->cfg.rpc.self;
	pthread_mutex_lock(&eng->lock);
	all->now = engine_now_ms();
	nfs4r_core_each_lock(eng->core, oid, decided_here, all);
	pthread_mutex_unlock(&eng->lock);
	nhere = all->n;
	here = malloc((nhere + 1) * sizeof(here[0]));
	if (!here || !add_rows(eng, oid, all)) {
		free(here);
		return false;
	}
	for (uint32_t i = 0; i < nhere; i++)
		here[i] = all->rows[i].info.oid;
	qsort(here, nhere, sizeof(here[0]), by_oid);
	add_own(eng, own, nown, here, nhere, all);
	free(here);
	number(all);
	qsort(all->rows + nhere, all->n - nhere, sizeof(all->rows[0]), by_file_and_state);
	name_clients(eng, all);
	return true;
}

static bool collect_own(struct nfs4r_lock_info *own, uint32_t nown, struct all *all)
{
	struct row r = { .since_is_known = true };

	for (uint32_t i = 0; i < nown; i++) {
		r.info = own[i];
		add(all, &r);
	}
	return true;
}

/* ---- opens that deny others something ---- */

struct denials {
	struct nfs4r_core_deny *v;
	uint32_t n, total;
};

static bool take_denial(void *arg, const struct nfs4r_core_deny *i)
{
	struct denials *d = arg;

	if (d->total++ < CTL_LOCKS_MAX)
		d->v[d->n++] = *i;
	return true;
}

static json_t *denial_json(struct nfs4r_engine *eng, struct ctl_paths *paths, const struct nfs4r_core_deny *i, uint64_t now)
{
	char oid[NFS4R_OID_STRLEN];
	bool row;

	return json_pack("{s:s, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "oid", nfs4r_oid_str(&i->oid, oid), "path", admin_path_json(paths, &i->oid), "server", i->server, "readers", admin_num(i->opens.readers), "writers",
			 admin_num(i->opens.writers), "deny_read", admin_num(i->opens.deny_readers), "deny_write", admin_num(i->opens.deny_writers), "reclaim_ms",
			 i->until_ms ? admin_num(i->until_ms > now ? i->until_ms - now : 0) : json_null(), "decided_by", number_or_null(i->guards ? eng->cfg.rpc.self : decides(eng, &i->oid, &row)));
}

static bool add_denials(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct ctl_paths *paths, json_t *out)
{
	struct denials d = { .v = malloc(CTL_LOCKS_MAX * sizeof(d.v[0])) };
	json_t *list = json_array();

	if (!d.v || !list) {
		json_decref(list);
		free(d.v);
		return false;
	}
	pthread_mutex_lock(&eng->lock);
	nfs4r_core_each_deny(eng->core, oid, take_denial, &d);
	pthread_mutex_unlock(&eng->lock);
	for (uint32_t i = 0; i < d.n; i++)
		json_array_append_new(list, denial_json(eng, paths, &d.v[i], engine_now_ms()));
	free(d.v);
	json_object_set_new(out, "shares", list);
	json_object_set_new(out, "total_shares", admin_num(d.total));
	return true;
}

/* ---- gaps ---- */

#define GAPS_MAX 1000 /* objects of one answer */

struct gap {
	struct nfs4r_control control;
	uint64_t since_ms;
	nfs4r_servers lists;
};

struct gaps {
	struct gap *v;
	uint32_t n, total;
	nfs4r_servers clients;
	uint64_t until_ms[NFS4R_SERVERS_MAX + 1];
};

static bool take_gap(void *arg, const struct nfs4r_core_gap *i)
{
	struct gaps *g = arg;

	for (uint32_t k = 0; k < i->ncontrols; k++)
		if (g->total++ < GAPS_MAX)
			g->v[g->n++] = (struct gap){ .control = i->controls[k], .since_ms = i->since_ms, .lists = i->lists };
	g->clients = i->clients;
	memcpy(g->until_ms, i->until_ms, sizeof(g->until_ms));
	return true;
}

static json_t *clients_json(const struct gaps *g, uint64_t now)
{
	json_t *out = json_array();

	EACH_OF(g->clients, s)
		json_array_append_new(out, json_pack("{s:i, s:o}", "server", s, "left_ms", g->until_ms[s] ? admin_num(g->until_ms[s] > now ? g->until_ms[s] - now : 0) : json_null()));
	return out;
}

/* "waits_for": which members have to say what their clients have; whose clients may still ask for their locks back, and how long. */
static json_t *gap_json(struct ctl_paths *paths, const struct gaps *g, const struct gap *i, uint64_t now)
{
	char oid[NFS4R_OID_STRLEN];

	return json_pack("{s:s, s:o, s:b, s:o, s:o, s:o}", "oid", nfs4r_oid_str(&i->control.oid, oid), "path", admin_path_json(paths, &i->control.oid), "below", i->control.depth >= NFS4R_DEEP, "age_ms",
			 admin_num(now - i->since_ms), "servers", admin_server_list(i->lists), "clients_of", clients_json(g, now));
}

static bool add_gaps(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct ctl_paths *paths, json_t *out)
{
	struct gaps g = { .v = malloc(GAPS_MAX * sizeof(g.v[0])) };
	json_t *list = json_array();
	uint64_t now;

	if (!g.v || !list) {
		json_decref(list);
		free(g.v);
		return false;
	}
	pthread_mutex_lock(&eng->lock);
	now = engine_now_ms();
	nfs4r_core_each_gap(eng->core, oid, take_gap, &g);
	pthread_mutex_unlock(&eng->lock);
	for (uint32_t i = 0; i < g.n; i++)
		json_array_append_new(list, gap_json(paths, &g, &g.v[i], now));
	free(g.v);
	json_object_set_new(out, "graces", list);
	json_object_set_new(out, "total_graces", admin_num(g.total));
	return true;
}

/* ---- the answer ---- */

static bool add_shared(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct ctl_paths *paths, json_t *out)
{
	bool row;

	if (oid)
		json_object_set_new(out, "decided_by", number_or_null(decides(eng, oid, &row)));
	return add_denials(eng, oid, paths, out) && add_gaps(eng, oid, paths, out);
}

/* @oid NULL: of all files. */
static json_t *answer(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_lock_info *own = malloc(CTL_LOCKS_MAX * sizeof(own[0]));
	struct all all = { .rows = malloc(CTL_LOCKS_MAX * sizeof(all.rows[0])) };
	struct ctl_paths *paths = admin_paths_new(eng);
	bool shared = nfs4r_locks_are_shared(eng);
	json_t *list = json_array(), *out = NULL;
	uint32_t total, n;

	if (own != NULL && all.rows != NULL && paths != NULL && list != NULL) {
		total = eng->ops->locks(eng->ctx, oid, own, CTL_LOCKS_MAX);
		n = total < CTL_LOCKS_MAX ? total : CTL_LOCKS_MAX;
		if (shared ? collect(eng, oid, own, n, &all) : collect_own(own, n, &all)) {
			all.total += total - n;
			for (uint32_t i = 0; i < all.n; i++)
				json_array_append_new(list, lock_row(paths, &all.rows[i]));
			out = json_pack("{s:i, s:o, s:b, s:O}", "server", eng->cfg.rpc.self, "total", admin_num(all.total), "truncated", all.total > all.n, "locks", list);
		}
	}
	if (out != NULL && shared && !add_shared(eng, oid, paths, out)) {
		json_decref(out);
		out = NULL;
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

/* Where locks hold at all servers: what this one decides about, opens that deny, and who may still reclaim. */
static void add_counts(struct nfs4r_engine *eng, json_t *out)
{
	struct gaps g = { .v = malloc(GAPS_MAX * sizeof(g.v[0])) };
	struct nfs4r_lock_counts n;
	nfs4r_servers lists = 0;
	uint64_t now;

	if (!g.v)
		return;
	pthread_mutex_lock(&eng->lock);
	now = engine_now_ms();
	nfs4r_core_count_locks(eng->core, &n);
	nfs4r_core_each_gap(eng->core, NULL, take_gap, &g);
	pthread_mutex_unlock(&eng->lock);
	for (uint32_t i = 0; i < g.n; i++)
		lists |= g.v[i].lists;
	json_object_set_new(out, "decided_here", json_pack("{s:o, s:o, s:o, s:o}", "files", admin_num(n.files), "held", admin_num(n.ranges), "waiting", admin_num(n.waiting), "gaps", admin_num(n.gaps)));
	json_object_set_new(out, "shares", json_pack("{s:o, s:o}", "denying", admin_num(n.denying), "files_decided_here", admin_num(n.guarded)));
	json_object_set_new(out, "graces", json_pack("{s:o, s:o, s:o, s:o, s:o}", "objects", admin_num(g.total), "age_ms", admin_num(n.gap_since_ms ? now - n.gap_since_ms : 0), "servers", admin_server_list(lists), "clients_of", clients_json(&g, now), "noted", admin_num(n.noted)));
	json_object_set_new(out, "reclaiming", json_pack("{s:o, s:o}", "clients", admin_num(n.reclaiming), "left_ms", n.reclaim_until_ms > now ? admin_num(n.reclaim_until_ms - now) : json_null()));
	free(g.v);
}

json_t *admin_locks_json(struct nfs4r_engine *eng)
{
	uint64_t max = eng->cfg.lock_max, used;
	struct nfs4r_locks_count n;
	json_t *out;

	if (eng->ops->count_locks == NULL)
		return json_null();
	eng->ops->count_locks(eng->ctx, &n);
	used = (uint64_t)n.ranges + n.waiting;
	out = json_pack("{s:o, s:o, s:o, s:o, s:{s:o, s:o}}", "files", admin_num(n.files), "held", admin_num(n.ranges), "waiting", admin_num(n.waiting), "max", admin_num(max), "room", "free",
			admin_num(used < max ? max - used : 0), "total", admin_num(max));
	if (out != NULL && nfs4r_locks_are_shared(eng))
		add_counts(eng, out);
	return out;
}
