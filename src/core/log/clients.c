/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which clients every server has (locks 7): who may ask for a lock back when its server is gone, and who must not, since the lock was given up for it.
 *
 * Happy path: before a server gives a client its first lock it says so in its own log (effect CLIENT), and goes on when a majority holds that; in the same way before it gives up the
 * locks of a client that has gone. Every server that has the entry has the row 'K', which is written with it. Such an entry changes no object: the one that it names is dead everywhere (base/client.h), so it
 * is committed as it comes, in the order of its log.
 *
 * Failure modes: no majority: the caller waits, and gives up by itself; what was said counts all the same when it is asked again. The own log ends before a majority has the entry: DELAY, and
 * what lies beyond the end never was. A copy that is repaired takes the lists of its source, like all else (state_transfer.c).
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

static struct client_row *add(struct nfs4r_core *c, nfs4r_server_id server, const struct nfs4r_client *client)
{
	struct client_row *r = out_xcalloc(1, sizeof(*r));

	r->key.server = server;
	memcpy(r->key.id, client->id, sizeof(r->key.id));
	HASH_ADD(hh, c->log.clients.rows, key, sizeof(r->key), r);
	c->log.clients.n[server]++;
	return r;
}

static void drop(struct nfs4r_core *c, struct client_row *r)
{
	c->log.clients.n[r->key.server]--;
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

static void await(struct nfs4r_core *c, uint64_t id, nfs4r_lsn lsn)
{
	struct quorum_wait *w;

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
	c->log.clients.nwaits++;
	DL_APPEND(c->log.clients.waits, w);
	log_quorum_wait(c, lsn);
}

/* @durable: own entries that a majority holds. */
void log_clients_run(struct nfs4r_core *c, nfs4r_lsn durable)
{
	struct quorum_wait *w, *tmp;

	DL_FOREACH_SAFE(c->log.clients.waits, w, tmp) {
		bool gone = never_was(c, w->lsn);

		if (!gone && w->lsn > durable)
			continue;
		DL_DELETE(c->log.clients.waits, w);
		c->log.clients.nwaits--;
		answer(c, w->id, gone ? NFS4R_DELAY : NFS4R_OK);
		free(w);
	}
}

void log_clients_fini(struct nfs4r_core *c)
{
	struct quorum_wait *w, *wtmp;
	struct client_row *r, *rtmp;

	DL_FOREACH_SAFE(c->log.clients.waits, w, wtmp)
		free(w);
	HASH_ITER(hh, c->log.clients.rows, r, rtmp)
		drop(c, r);
}

/* ---- what a server says of its own ------------------------------------------------------- */

static nfs4r_lsn say(struct nfs4r_core *c, const struct nfs4r_client *client, bool gone)
{
	struct nfs4r_entry *e = nfs4r_entry_new();
	struct nfs4r_part *p = &e->parts[0];

	assert(e);
	e->log = c->self;
	e->lsn = log_lsn_next(c);
	e->view = c->view.adopted.num;
	e->op = NFS4R_OP_CLIENT;
	e->nparts = 1;
	p->oid = nfs4r_client_list_oid(c->self);
	p->before = e->lsn - 1;
	p->after = e->lsn;
	p->effect = NFS4R_EFF_CLIENT;
	p->client = out_xcalloc(1, sizeof(*p->client));
	*p->client = *client;
	p->client_gone = gone;
	log_bytes(c, e->lsn, 0);
	log_pend_executed(c, log_pend_add(c, e, NULL), true);
	return e->lsn;
}

static bool is_sane(const struct nfs4r_client *k)
{
	return (k->id[0] || k->id[1]) && strnlen(k->name, sizeof(k->name)) < sizeof(k->name) && strnlen(k->address, sizeof(k->address)) < sizeof(k->address);
}

static enum nfs4r_status may_say(const struct nfs4r_core *c)
{
	if (!state_volume_speaks(c, NFS4R_PROTOCOL_LOCKS) || !state_volume_has_format(c, NFS4R_DISK_FORMAT_LOCKS))
		return NFS4R_NOTSUPP;
	return c->halted || c->leaving || not_ready(c) || c->recovered_step == c->step || !state_lease_valid(c) || state_is_ended(c, c->self) ? NFS4R_DELAY : NFS4R_OK;
}

void log_client_begins(struct nfs4r_core *c, uint64_t id, const struct nfs4r_client *client)
{
	struct client_row *r = find(c, c->self, client->id);
	enum nfs4r_status st = is_sane(client) ? may_say(c) : NFS4R_INVAL;

	if (st == NFS4R_OK && !r && c->log.clients.n[c->self] >= NFS4R_CLIENTS_MAX)
		st = NFS4R_NOLCK;
	if (st != NFS4R_OK)
		answer(c, id, st);
	else
		await(c, id, r && memcmp(&r->client, client, sizeof(*client)) == 0 ? r->lsn : say(c, client, false));
}

/* One that is not in the list may have been taken out by an entry that a majority does not have yet. */
void log_client_gone(struct nfs4r_core *c, uint64_t id, const struct nfs4r_client *client)
{
	enum nfs4r_status st = is_sane(client) ? may_say(c) : NFS4R_INVAL;

	if (st != NFS4R_OK)
		answer(c, id, st);
	else
		await(c, id, find(c, c->self, client->id) ? say(c, &(struct nfs4r_client){ .id = { client->id[0], client->id[1] } }, true) : c->log.clients.gone_lsn);
}

/* ---- entries and rows ---------------------------------------------------------------------- */

/* In the commit of @e. */
void log_clients_commit(struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	const struct nfs4r_part *p = &e->parts[0];
	struct client_row *r;
	struct nfs4r_put put;

	if (e->nparts != 1 || p->effect != NFS4R_EFF_CLIENT)
		return;
	r = find(c, e->log, p->client->id);
	if (p->client_gone) {
		if (e->log == c->self)
			c->log.clients.gone_lsn = e->lsn;
		if (!r)
			return;
		row_client(r, &put, true);
		drop(c, r);
	} else {
		if (!r && c->log.clients.n[e->log] >= NFS4R_CLIENTS_MAX) {
			out_complain(c, e->log, "names more clients than a server may have: the last is left out, and cannot reclaim locks (locks 7)");
			return;
		}
		if (!r)
			r = add(c, e->log, p->client);
		r->client = *p->client;
		r->lsn = e->lsn;
		row_client(r, &put, false);
	}
	out_commit_put(c, &put);
}

bool log_client_restored(struct nfs4r_core *c, nfs4r_server_id server, const struct nfs4r_client *client, nfs4r_lsn lsn)
{
	struct client_row *r;

	if (!server || server > NFS4R_SERVERS_MAX || !is_sane(client) || find(c, server, client->id) || c->log.clients.n[server] >= NFS4R_CLIENTS_MAX)
		return false;
	r = add(c, server, client);
	r->client = *client;
	r->lsn = lsn;
	return true;
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
		const struct nfs4r_client_entry *k = &list[i];

		if (!find(c, k->server, k->client.id) && !log_client_restored(c, k->server, &k->client, k->lsn))
			continue;
		r = find(c, k->server, k->client.id);
		r->client = k->client;
		r->lsn = k->lsn;
		row_client(r, &put, false);
		out_put(c, &put);
	}
	c->log.clients.gone_lsn = c->log.logs[c->self].received;
}

/* ---- questions ------------------------------------------------------------------------------ */

bool log_client_is_listed(const struct nfs4r_core *c, nfs4r_server_id server, const uint64_t id[2])
{
	return find(c, server, id) != NULL;
}

uint32_t nfs4r_core_clients(const struct nfs4r_core *c, nfs4r_server_id server)
{
	return server && server <= NFS4R_SERVERS_MAX ? c->log.clients.n[server] : 0;
}

bool nfs4r_core_has_client(const struct nfs4r_core *c, nfs4r_server_id server, const uint64_t id[2])
{
	return log_client_is_listed(c, server, id);
}

void nfs4r_core_each_client(const struct nfs4r_core *c, nfs4r_server_id server, bool (*fn)(void *arg, const struct nfs4r_client_entry *k), void *arg)
{
	const struct client_row *r;

	for (r = c->log.clients.rows; r; r = r->hh.next) {
		struct nfs4r_client_entry k;

		if (r->key.server != server)
			continue;
		memset(&k, 0, sizeof(k));
		k.server = server;
		k.lsn = r->lsn;
		k.client = r->client;
		if (!fn(arg, &k))
			return;
	}
}
