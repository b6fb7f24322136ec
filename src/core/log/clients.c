/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which clients every server has (locks 7): who may ask for a lock back when its server is gone, and who must not, since the lock was given up for it.
 *
 * Happy path: before a server gives a client its first lock it says so in its own log (effect CLIENT), and goes on when a majority holds that. It does the same before it gives up the
 * locks of a client that has gone. Every server that has the entry has the row 'K', which is written with it. Such an entry changes no object: the one that it names is dead everywhere (base/client.h), so it
 * is committed as it comes, in the order of its log.
 *
 * Failure modes: no majority: the caller waits, and gives up by itself. What was said counts all the same when it is asked again. The own log ends before a majority has the entry: DELAY, and
 * what lies beyond the end never was. The client is said to be gone while somebody waits to hear that it is listed: DELAY. A copy that is repaired takes the lists of its source, like all else (state_transfer.c).
 *
 * Invariants: an answer goes out only when a majority holds the list as it was asked for. The list of a server has at most NFS4R_CLIENTS_MAX lines.
 */
#include "core/log/log_int.h"

static struct client_row *find(const struct nfs4r_core *c, nfs4r_server_id server, const uint64_t id[2])
{
	struct client_key k;
	struct client_row *r;

	memset(&k, 0, sizeof(k));
	k.server = server;
	memcpy(k.id, id, sizeof(k.id));
	HASH_FIND(hh, c->log.clients.rows, &k, sizeof(k), r);
	return r;
}

static const uint64_t all[2]; /* the id of the row that counts for all clients of a server (CLIENTS_ENDED) */

static bool is_all(const struct client_row *r)
{
	return !r->key.id[0] && !r->key.id[1];
}

/* Is it in the list? */
static bool is_client(const struct client_row *r)
{
	return r && !r->gone && !is_all(r);
}

static void count(struct nfs4r_core *c, const struct client_row *r, int by)
{
	if (is_client(r))
		c->log.clients.n[r->key.server] += (uint32_t)by;
	else if (!is_all(r))
		c->log.clients.ngone[r->key.server] += (uint32_t)by;
}

static struct client_row *add(struct nfs4r_core *c, nfs4r_server_id server, const uint64_t id[2], bool gone)
{
	struct client_row *r = out_xcalloc(1, sizeof(*r));

	r->key.server = server;
	memcpy(r->key.id, id, sizeof(r->key.id));
	r->gone = gone;
	memcpy(r->client.id, id, sizeof(r->client.id));
	HASH_ADD(hh, c->log.clients.rows, key, sizeof(r->key), r);
	count(c, r, 1);
	return r;
}

static void drop(struct nfs4r_core *c, struct client_row *r)
{
	count(c, r, -1);
	HASH_DEL(c->log.clients.rows, r);
	free(r);
}

/* ---- waiting for a majority ------------------------------------------------------------ */

static void answer(struct nfs4r_core *c, uint64_t id, enum nfs4r_status st)
{
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_CLIENT, .client = { .wait_id = id, .status = st } });
}

/* It lies beyond the end of its generation, or may. */
static bool never_was(const struct nfs4r_core *c, nfs4r_lsn lsn)
{
	return NFS4R_GEN(lsn) != NFS4R_GEN(c->log.logs[c->self].received) || state_is_ended(c, c->self);
}

/* @begins: the client, which is to be in the list when that is so; NULL: it is gone. */
static void await(struct nfs4r_core *c, uint64_t id, nfs4r_lsn lsn, const uint64_t begins[2])
{
	struct client_wait *w;

	if (log_is_quorum_durable(c, lsn) || FAULT(F_CLIENT_UNHELD)) {
		answer(c, id, NFS4R_OK);
		return;
	}
	if (c->log.clients.nwaits == CLIENT_WAITS_MAX) {
		answer(c, id, NFS4R_DELAY);
		return;
	}
	w = out_xcalloc(1, sizeof(*w));
	w->id = id;
	w->lsn = lsn;
	if (begins)
		memcpy(w->begins, begins, sizeof(w->begins));
	c->log.clients.nwaits++;
	DL_APPEND(c->log.clients.waits, w);
	log_quorum_wait(c, lsn);
}

/* This server has said since that it is gone. */
static bool is_gone_since(struct nfs4r_core *c, const struct client_wait *w)
{
	return (w->begins[0] || w->begins[1]) && !is_client(find(c, c->self, w->begins)) && !FAULT(F_CLIENT_GONE_SINCE);
}

/* @durable: own entries that a majority holds. */
void log_clients_run(struct nfs4r_core *c, nfs4r_lsn durable)
{
	struct client_wait *w, *tmp;

	DL_FOREACH_SAFE(c->log.clients.waits, w, tmp) {
		bool gone = never_was(c, w->lsn);

		if (!gone && w->lsn > durable)
			continue;
		gone |= is_gone_since(c, w);
		DL_DELETE(c->log.clients.waits, w);
		c->log.clients.nwaits--;
		answer(c, w->id, gone ? NFS4R_DELAY : NFS4R_OK);
		free(w);
	}
}

void log_clients_fini(struct nfs4r_core *c)
{
	struct client_wait *w, *wtmp;
	struct client_row *r, *rtmp;

	DL_FOREACH_SAFE(c->log.clients.waits, w, wtmp)
		free(w);
	HASH_ITER(hh, c->log.clients.rows, r, rtmp)
		drop(c, r);
}

/* ---- what a server says of its own ------------------------------------------------------- */

static nfs4r_lsn say(struct nfs4r_core *c, nfs4r_server_id server, const struct nfs4r_client *client, enum nfs4r_client_word word, uint64_t number, nfs4r_lsn below)
{
	struct nfs4r_entry *e = nfs4r_entry_new();
	struct nfs4r_part *p = &e->parts[0];

	assert(e);
	e->log = c->self;
	e->lsn = log_lsn_next(c);
	e->view = c->view.adopted.num;
	e->op = NFS4R_OP_CLIENT;
	e->nparts = 1;
	p->oid = nfs4r_client_list_oid(server);
	p->before = e->lsn - 1;
	p->after = e->lsn;
	p->effect = NFS4R_EFF_CLIENT;
	p->client = out_xcalloc(1, sizeof(*p->client));
	*p->client = *client;
	p->client_word = word;
	p->client_n = number;
	p->client_below = below;
	log_bytes(c, e->lsn, 0);
	log_pend_executed(c, log_pend_add(c, e, NULL), true);
	log_quorum_wait(c, e->lsn);
	return e->lsn;
}

static nfs4r_lsn say_of(struct nfs4r_core *c, const uint64_t id[2], enum nfs4r_client_word word, uint64_t number)
{
	return say(c, c->self, &(struct nfs4r_client){ .id = { id[0], id[1] } }, word, number, 0);
}

static bool is_sane(const struct nfs4r_client *k)
{
	return (k->id[0] || k->id[1]) && strnlen(k->name, sizeof(k->name)) < sizeof(k->name) && strnlen(k->address, sizeof(k->address)) < sizeof(k->address);
}

static enum nfs4r_status may_say(const struct nfs4r_core *c)
{
	bool speaks = state_volume_speaks(c, NFS4R_PROTOCOL_LOCKS) && state_volume_has_format(c, NFS4R_DISK_FORMAT_LOCKS);

	if (!speaks && c->cfg.protocol.lowest < NFS4R_PROTOCOL_LOCKS)
		return NFS4R_NOTSUPP;
	return c->halted || c->leaving || not_ready(c) || c->recovered_step == c->step || !state_lease_valid(c) || state_is_ended(c, c->self) ? NFS4R_DELAY : NFS4R_OK;
}

bool log_clients_may_say(const struct nfs4r_core *c)
{
	return may_say(c) == NFS4R_OK;
}

void log_client_begins(struct nfs4r_core *c, uint64_t id, const struct nfs4r_client *client, uint64_t n)
{
	struct client_row *r = find(c, c->self, client->id);
	enum nfs4r_status st = is_sane(client) ? may_say(c) : NFS4R_INVAL;

	if (st == NFS4R_OK && !is_client(r) && c->log.clients.n[c->self] >= NFS4R_CLIENTS_MAX)
		st = NFS4R_NOLCK;
	if (st != NFS4R_OK) {
		answer(c, id, st);
		return;
	}
	if (is_client(r) && memcmp(&r->client, client, sizeof(*client)) == 0)
		await(c, id, r->lsn, client->id);
	else
		await(c, id, say(c, c->self, client, NFS4R_CLIENT_BEGINS, n, 0), client->id);
}

/* One that is not in the list may have been taken out by an entry that a majority does not have yet. */
void log_client_gone(struct nfs4r_core *c, uint64_t id, const struct nfs4r_client *client, uint64_t n)
{
	enum nfs4r_status st = is_sane(client) ? may_say(c) : NFS4R_INVAL;

	if (st != NFS4R_OK)
		answer(c, id, st);
	else
		await(c, id, is_client(find(c, c->self, client->id)) ? say_of(c, client->id, NFS4R_CLIENT_GONE, n) : c->log.clients.gone_lsn, NULL);
}

/* ---- after a start, or a fence (locks 12, 13, 14) ---------------------------------------------- */

void log_clients_reclaim_begins(struct nfs4r_core *c)
{
	struct client_row *r;

	for (r = c->log.clients.rows; r; r = r->hh.next)
		r->reclaims = r->key.server == c->self && is_client(r), r->back = false;
}

bool log_clients_reclaim(const struct nfs4r_core *c)
{
	const struct client_row *r;

	for (r = c->log.clients.rows; r; r = r->hh.next)
		if (r->reclaims)
			return true;
	return false;
}

/* It asks for something again. */
void log_client_is_back(struct nfs4r_core *c, const uint64_t id[2])
{
	struct client_row *r = find(c, c->self, id);

	if (r)
		r->back = true;
}

void log_client_reclaimed(struct nfs4r_core *c, const uint64_t id[2], uint64_t n)
{
	struct client_row *r = find(c, c->self, id);

	if (!r || !r->reclaims)
		return;
	r->reclaims = false;
	if (may_say(c) == NFS4R_OK && !FAULT(F_LOCK_NOT_COMPLETED)) /* else all that is left goes at the end of lock_grace_ms */
		say_of(c, id, NFS4R_CLIENT_RECLAIMED, n);
}

void log_clients_reclaim_ends(struct nfs4r_core *c, uint64_t n)
{
	uint64_t(*ids)[2] = NULL;
	struct client_row *r;
	uint32_t nids = 0, cap = 0;

	for (r = c->log.clients.rows; r; r = r->hh.next) {
		if (!r->reclaims || (r->back && !FAULT(F_LOCK_GONE_BACK)))
			continue;
		r->reclaims = false;
		ids = out_grow(ids, &cap, nids, sizeof(*ids));
		memcpy(ids[nids++], r->key.id, sizeof(*ids));
	}
	for (uint32_t i = 0; i < nids; i++)
		say_of(c, ids[i], NFS4R_CLIENT_GONE, n);
	free(ids);
}

void log_clients_end(struct nfs4r_core *c, nfs4r_server_id server, uint64_t n, nfs4r_lsn below)
{
	say(c, server, &(struct nfs4r_client){ .minor = 0 }, NFS4R_CLIENTS_ENDED, n, below);
}

uint64_t log_clients_ended(const struct nfs4r_core *c, nfs4r_server_id server)
{
	const struct client_row *r = find(c, server, all);

	return r ? r->n : 0;
}

/* ---- entries and rows ---------------------------------------------------------------------- */

static void save(struct nfs4r_core *c, const struct client_row *r, bool del)
{
	struct nfs4r_put put;

	row_client(r, &put, del);
	out_commit_put(c, &put);
}

static void raise(struct nfs4r_core *c, struct client_row *r, const struct nfs4r_entry *e)
{
	if (e->parts[0].client_n <= r->n)
		return;
	r->n = e->parts[0].client_n;
	r->by = e->log;
	r->by_lsn = e->lsn;
	c->log.clients.unsure = true;
}

static void begins(struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	const struct nfs4r_client *k = e->parts[0].client;
	const struct client_row *ended = find(c, e->log, all);
	struct client_row *r = find(c, e->log, k->id);
	bool was_gone;

	if (ended && e->lsn < ended->lsn)
		return; /* an older entry, and comes later than the one that ended it */
	if (!is_client(r) && c->log.clients.n[e->log] >= NFS4R_CLIENTS_MAX) {
		out_complain(c, e->log, "names more clients than a server may have: the last is left out, and cannot reclaim locks (locks 7)");
		return;
	}
	was_gone = !is_client(r);
	if (!r)
		r = add(c, e->log, k->id, false);
	count(c, r, -1);
	r->gone = false;
	count(c, r, 1);
	r->client = *k;
	r->lsn = e->lsn;
	if (e->log == c->self && was_gone)
		r->life = e->parts[0].client_n;
	save(c, r, false);
}

/* Those that are gone longest are forgotten first, beyond a bound. */
static void forget_one(struct nfs4r_core *c, nfs4r_server_id server)
{
	struct client_row *r, *oldest = NULL;

	if (c->log.clients.ngone[server] <= NFS4R_CLIENTS_GONE_MAX)
		return;
	for (r = c->log.clients.rows; r; r = r->hh.next)
		if (r->key.server == server && r->gone && !is_all(r) && (!oldest || r->lsn < oldest->lsn))
			oldest = r;
	save(c, oldest, true);
	drop(c, oldest);
}

static void gone(struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	const struct nfs4r_client *k = e->parts[0].client;
	struct client_row *r = find(c, e->log, k->id);

	if (e->log == c->self)
		c->log.clients.gone_lsn = e->lsn;
	if (!r)
		return;
	count(c, r, -1);
	r->gone = true;
	count(c, r, 1);
	r->reclaims = false;
	memset(&r->client, 0, sizeof(r->client));
	memcpy(r->client.id, k->id, sizeof(r->client.id));
	r->lsn = e->lsn;
	raise(c, r, e);
	save(c, r, false);
	forget_one(c, e->log);
}

static void reclaimed(struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	struct client_row *r = find(c, e->log, e->parts[0].client->id);

	if (!is_client(r))
		return;
	raise(c, r, e);
	save(c, r, false);
}

static void ended(struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	const struct nfs4r_part *p = &e->parts[0];
	nfs4r_server_id server = nfs4r_oid_creator(&p->oid);
	struct client_row *a, *r, *tmp;

	if (!server || server > NFS4R_SERVERS_MAX)
		return;
	a = find(c, server, all);
	if (!a)
		a = add(c, server, all, true);
	raise(c, a, e);
	if (p->client_below > a->lsn)
		a->lsn = p->client_below;
	save(c, a, false);
	HASH_ITER(hh, c->log.clients.rows, r, tmp) {
		if (r->key.server != server || is_all(r) || (r->gone ? r->n > a->n : r->lsn >= a->lsn))
			continue;
		save(c, r, true);
		drop(c, r);
	}
}

/* In the commit of @e. */
void log_clients_commit(struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	const struct nfs4r_part *p = &e->parts[0];

	if (e->nparts != 1 || p->effect != NFS4R_EFF_CLIENT)
		return;
	switch (p->client_word) {
	case NFS4R_CLIENT_GONE:
		gone(c, e);
		break;
	case NFS4R_CLIENT_RECLAIMED:
		reclaimed(c, e);
		break;
	case NFS4R_CLIENTS_ENDED:
		ended(c, e);
		break;
	default:
		begins(c, e);
	}
	c->dirty |= DIRTY_REPLY;
}

/* ---- which locks are gone -------------------------------------------------------------------- */

/* Locks 15: all that the client wrote under its locks has been applied by all members. Of a server outside: its log, up to the end. */
static bool is_applied_by_all(const struct nfs4r_core *c, const struct client_row *r)
{
	nfs4r_server_id s = r->key.server;

	if (quorum_applied_by_all(c, r->by) < r->by_lsn)
		return false;
	return state_is_member(c, s) || quorum_applied_by_all(c, s) >= c->log.logs[s].applied;
}

bool log_clients_run_sure(struct nfs4r_core *c)
{
	bool more = false, unsure = false;
	struct client_row *r;

	for (r = c->log.clients.unsure ? c->log.clients.rows : NULL; r; r = r->hh.next) {
		if (r->n <= r->sure)
			continue;
		if ((log_is_quorum_durable_of(c, r->by, r->by_lsn) || FAULT(F_LOCK_LOST_UNHELD)) && (is_applied_by_all(c, r) || FAULT(F_LOCK_LOST_AHEAD))) {
			r->sure = r->n;
			more = true;
		} else {
			unsure = true;
		}
	}
	c->log.clients.unsure = unsure;
	return more;
}

bool log_clients_are_sure(const struct nfs4r_core *c, nfs4r_server_id server)
{
	const struct client_row *r;

	for (r = c->log.clients.unsure ? c->log.clients.rows : NULL; r; r = r->hh.next)
		if (r->key.server == server && r->n > r->sure)
			return false;
	return true;
}

static bool is_lost(const struct client_row *r, uint64_t life)
{
	return r && life < r->sure;
}

bool log_client_lost(const struct nfs4r_core *c, nfs4r_server_id server, const uint64_t id[2], uint64_t life)
{
	return is_lost(find(c, server, id), FAULT(F_LOCK_GONE_ANY) ? 0 : life) || is_lost(find(c, server, all), life);
}

uint64_t log_client_life(const struct nfs4r_core *c, const uint64_t id[2])
{
	const struct client_row *r = find(c, c->self, id);

	return r ? r->life : 0;
}

static bool set(struct nfs4r_core *c, const struct nfs4r_client_entry *k)
{
	struct client_row *r = find(c, k->server, k->client.id);

	if (!r)
		r = add(c, k->server, k->client.id, true);
	if (!is_client(r) && !k->gone && (is_all(r) || c->log.clients.n[k->server] >= NFS4R_CLIENTS_MAX))
		return false;
	count(c, r, -1);
	r->gone = k->gone;
	count(c, r, 1);
	r->client = k->client;
	r->lsn = k->lsn;
	r->n = k->n;
	r->by = k->by;
	r->by_lsn = k->by_lsn;
	r->sure = 0;
	c->log.clients.unsure |= r->n > 0;
	return true;
}

static bool is_row(const struct nfs4r_client_entry *k)
{
	return k->server && k->server <= NFS4R_SERVERS_MAX && k->by <= NFS4R_SERVERS_MAX && (is_sane(&k->client) || (k->gone && !k->client.id[0] && !k->client.id[1]));
}

bool log_client_restored(struct nfs4r_core *c, const struct nfs4r_client_entry *k)
{
	return is_row(k) && !find(c, k->server, k->client.id) && set(c, k);
}

/* What may have been said of clients that are gone in the run before. */
void log_clients_started(struct nfs4r_core *c)
{
	c->log.clients.gone_lsn = c->log.logs[c->self].received;
}

/* ---- copies -------------------------------------------------------------------------------- */

/* The lists of all servers as the source of a repair has them. */
void log_clients_copied(struct nfs4r_core *c, const struct nfs4r_client_entry *list, uint32_t n)
{
	struct client_row *r, *tmp;
	struct nfs4r_put put;

	for (r = c->log.clients.rows; r; r = r->hh.next)
		r->listed = false;
	for (uint32_t i = 0; i < n; i++) {
		r = find(c, list[i].server, list[i].client.id);
		if (r)
			r->listed = true;
	}
	HASH_ITER(hh, c->log.clients.rows, r, tmp) {
		if (r->listed)
			continue;
		row_client(r, &put, true);
		out_put(c, &put);
		drop(c, r);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!is_row(&list[i]) || !set(c, &list[i]))
			continue;
		row_client(find(c, list[i].server, list[i].client.id), &put, false);
		out_put(c, &put);
	}
	c->log.clients.gone_lsn = c->log.logs[c->self].received;
}

/* ---- questions ------------------------------------------------------------------------------ */

bool log_client_is_listed(const struct nfs4r_core *c, nfs4r_server_id server, const uint64_t id[2])
{
	return is_client(find(c, server, id));
}

uint32_t nfs4r_core_clients(const struct nfs4r_core *c, nfs4r_server_id server)
{
	return server && server <= NFS4R_SERVERS_MAX ? c->log.clients.n[server] : 0;
}

bool nfs4r_core_has_client(const struct nfs4r_core *c, nfs4r_server_id server, const uint64_t id[2])
{
	return log_client_is_listed(c, server, id);
}

bool nfs4r_core_client_reclaims(const struct nfs4r_core *c, const uint64_t id[2])
{
	const struct client_row *r = find(c, c->self, id);

	return r && r->reclaims;
}

static void each(const struct nfs4r_core *c, nfs4r_server_id server, bool rows, bool (*fn)(void *arg, const struct nfs4r_client_entry *k), void *arg)
{
	const struct client_row *r;

	for (r = c->log.clients.rows; r; r = r->hh.next) {
		struct nfs4r_client_entry k;

		if (r->key.server != server || !(rows || is_client(r)))
			continue;
		memset(&k, 0, sizeof(k));
		k.server = server;
		k.lsn = r->lsn;
		k.client = r->client;
		k.gone = r->gone;
		k.n = r->n;
		k.by = r->by;
		k.by_lsn = r->by_lsn;
		if (!fn(arg, &k))
			return;
	}
}

void nfs4r_core_each_client(const struct nfs4r_core *c, nfs4r_server_id server, bool (*fn)(void *arg, const struct nfs4r_client_entry *k), void *arg)
{
	each(c, server, false, fn, arg);
}

uint32_t nfs4r_core_client_rows(const struct nfs4r_core *c, nfs4r_server_id server)
{
	return server && server <= NFS4R_SERVERS_MAX ? c->log.clients.n[server] + c->log.clients.ngone[server] + (find(c, server, all) != NULL) : 0;
}

void nfs4r_core_each_client_row(const struct nfs4r_core *c, nfs4r_server_id server, bool (*fn)(void *arg, const struct nfs4r_client_entry *k), void *arg)
{
	each(c, server, true, fn, arg);
}
