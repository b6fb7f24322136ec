/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Reads, as an engine does them (control 6): under a lease (log 6.7) ask the core where, look into the
 * own tree or send READ to the owner, and after NOT_PRIMARY decide again without that owner. An owner asks its
 * core whether it may answer, under a lease, too. What came out goes to the checker together with what was complete
 * when the read began.
 */
#include "sim.h"

#define READ_REPEAT (300 * MS)
#define READ_LIMIT (3 * SECOND)

static const uint8_t no_bytes[CONTENT_MAX];

struct reader {
	struct server *server;
	struct client *client;
	struct read_want want;
	struct nfs4r_read r; /* request and answer */
	nfs4r_servers excluded;
	nfs4r_server_id asked;
	uint64_t began, generation, decided_in; /* view that was adopted here when it was decided that this copy answers */
	uint32_t epoch; /* COMMIT: when it began */
	struct reader *next;
};

static void committed(struct reader *rd, nfs4r_server_id answered)
{
	const struct verifier w = { answered, rd->r.verifier, rd->epoch };

	if (rd->r.status == NFS4R_OK)
		check_committed(rd->client, rd->want.obj, &w);
}

static void finish(struct reader *rd, nfs4r_server_id answered)
{
	struct server *v = rd->server;
	struct reader **at = &v->readers;
	struct client *c = rd->client;
	enum nfs4r_status st = rd->r.status;

	if (rd->r.type == NFS4R_RD_COMMIT && st == NFS4R_OK && rd->epoch != epoch_of(v))
		st = rd->r.status = NFS4R_DELAY; /* log 5.3 */
	if (st == NFS4R_DELAY)
		v->sim->totals.read_delays++;
	else if (rd->r.type == NFS4R_RD_COMMIT)
		committed(rd, answered);
	else
		check_read_end(v, &rd->want, &rd->r, answered);
	TRACE(v->sim, v, "read %llu %s = %s v%llu (S%u)", (unsigned long long)rd->r.id, obj_str(v->sim, rd->want.obj),
	      nfs4r_status_str(st), (unsigned long long)rd->r.attrs.version, answered);
	sim_note(v->sim, 11, st, rd->r.attrs.version);
	while (*at != rd)
		at = &(*at)->next;
	*at = rd->next;
	client_read_done(c, &rd->r);
	nfs4r_buf_put(rd->r.data);
	free(rd);
}

/* Looks into the tree of @v, as was decided under view @decided_in. UNKNOWN when the object is not here. */
static void answer_from(struct server *v, struct nfs4r_read *r, uint64_t decided_in)
{
	struct sim *s = v->sim;
	const struct row *row = tree_get(&v->tree, obj_of(s, &r->oid));
	int child;

	if (was_sealed_away(s, obj_of(s, &r->oid), row->version, decided_in))
		sim_fail(s, "S%u answers with v%s of %s, which a view that it adopted sealed away", v->id, lsn_str(row->version),
			 oid_name(s, &r->oid));
	r->status = NFS4R_OK;
	r->attrs.version = row->version;
	r->attrs.type = row->type;
	if (row->state == ROW_NONE && s->objs[obj_of(s, &r->oid)].lost)
		r->status = NFS4R_STALE;
	else if (row->state == ROW_NONE)
		r->status = NFS4R_UNKNOWN;
	else if (row->state == ROW_DEAD)
		r->status = NFS4R_STALE;
	if (r->status == NFS4R_OK && r->type == NFS4R_RD_READ && s->locker)
		r->data = row->bytes ? nfs4r_buf_copy(row->bytes, CONTENT_MAX) : nfs4r_buf_copy(no_bytes, CONTENT_MAX);
	if (r->status != NFS4R_OK || r->type != NFS4R_RD_LOOKUP)
		return;
	child = tree_lookup(&v->tree, obj_of(s, &r->oid), name_id(s, r->name));
	r->status = child < 0 ? NFS4R_NOENT : NFS4R_OK;
	if (child >= 0)
		r->result = s->objs[child].oid;
}

static struct reader *find(struct server *v, uint64_t id, uint64_t generation)
{
	struct reader *rd = v->up && v->generation == generation ? v->readers : NULL;

	while (rd && rd->r.id != id)
		rd = rd->next;
	return rd;
}

static void read_here(struct sim *s, void *arg, uint64_t generation, uint64_t id)
{
	struct reader *rd = find(arg, id, generation);

	if (!rd)
		return;
	answer_from(rd->server, &rd->r, rd->decided_in);
	if (rd->r.status == NFS4R_UNKNOWN)
		rd->r.status = NFS4R_DELAY;
	finish(rd, rd->server->id);
}

static void ask(struct reader *rd)
{
	struct nfs4r_msg m = { .type = NFS4R_MSG_READ };

	m.read = &rd->r;
	net_send(rd->server, rd->asked, &m);
}

static void ask_again(struct sim *s, void *arg, uint64_t generation, uint64_t id)
{
	struct reader *rd = find(arg, id, generation);

	if (!rd)
		return;
	if (s->now > rd->began + READ_LIMIT) {
		rd->r.status = NFS4R_DELAY;
		finish(rd, 0);
		return;
	}
	if (rd->asked)
		ask(rd);
	server_at(rd->server, s->now + READ_REPEAT, ask_again, arg, generation, id);
}

static void decide(struct reader *rd)
{
	struct server *v = rd->server;
	struct sim *s = v->sim;
	const struct row *row = tree_get(&v->tree, rd->want.obj);
	nfs4r_server_id to = 0;

	if (clock_ms(v) < nfs4r_core_lease_until(v->core))
		to = nfs4r_core_route_read(v->core, &rd->r.oid, row->type == NFS4R_TYPE_DIR, rd->excluded);
	if (to && to != v->id && rd->r.locked && nfs4r_core_may_read_locked(v->core, &rd->r.oid, &rd->r.owner, rd->r.offset, rd->r.offset + rd->r.length - 1)) {
		rd->want.version = 0; /* what others wrote beside its lock it need not see; locker.h has what it has to */
		s->totals.lock_reads_here++;
		to = v->id;
	}
	rd->asked = 0;
	if (to == 0) {
		rd->r.status = NFS4R_DELAY;
		finish(rd, 0);
	} else if (to == v->id && rd->r.type == NFS4R_RD_COMMIT) {
		commit_begin(v, 0, &rd->r);
	} else if (to == v->id) {
		rd->decided_in = v->seen_adopted;
		/* The checks were made after the request came, the copy only moves forward (control 6.4); so a stop in between does no harm. */
		server_at(v, s->now + rng_below(&s->rng, s->plan.exec_us * 2), read_here, v, v->generation, rd->r.id);
	} else {
		if (rd->excluded & NFS4R_BIT(to))
			sim_fail(s, "S%u sends a read to S%u, which is excluded", v->id, to);
		s->totals.reads_forwarded++;
		rd->asked = to;
		ask(rd);
	}
}

void read_start(struct server *v, struct client *c, uint32_t type, uint32_t obj, uint16_t name)
{
	struct sim *s = v->sim;
	struct reader *rd = calloc(1, sizeof(*rd));

	s->totals.reads++;
	rd->server = v;
	rd->client = c;
	rd->began = s->now;
	rd->r.id = ++v->read_seq;
	rd->r.type = type;
	rd->r.oid = s->objs[obj].oid;
	if (type == NFS4R_RD_READ && c->locking)
		locking_read(c, &rd->r);
	if (type == NFS4R_RD_LOOKUP)
		snprintf(rd->r.name, sizeof(rd->r.name), "%s", s->names[name]);
	rd->epoch = epoch_of(v);
	check_read_start(v, obj, &rd->want);
	TRACE(s, v, "asked to read %s [%llu]", obj_str(s, obj), (unsigned long long)rd->r.id);
	rd->next = v->readers;
	v->readers = rd;
	server_at(v, s->now + READ_REPEAT, ask_again, v, v->generation, rd->r.id);
	decide(rd);
}

/* false: it fell over that. */
static bool stepped(struct server *v, struct nfs4r_event *ev)
{
	uint64_t generation = v->generation;

	server_step(v, ev);
	return v->up && v->generation == generation;
}

static void on_read(struct server *v, nfs4r_server_id from, const struct nfs4r_read *asked)
{
	struct nfs4r_read r = *asked;
	struct nfs4r_msg m = { .type = NFS4R_MSG_READ_ANSWER };

	r.status = NFS4R_DELAY;
	if (clock_ms(v) < nfs4r_core_lease_until(v->core))
		r.status = nfs4r_core_may_serve(v->core, &r.oid);
	if (r.status == NFS4R_OK && nfs4r_core_served(v->core, &r.oid) && !stepped(v, &(struct nfs4r_event){ .type = NFS4R_EV_TICK }))
		return;
	if (r.status == NFS4R_OK && r.type == NFS4R_RD_COMMIT) {
		commit_begin(v, from, &r);
		return;
	}
	if (r.status == NFS4R_OK) {
		answer_from(v, &r, v->seen_adopted);
		if (r.status == NFS4R_UNKNOWN)
			sim_fail(v->sim, "S%u may serve %s, which it does not have", v->id, oid_name(v->sim, &r.oid));
	}
	m.read = &r;
	net_send(v, from, &m);
	nfs4r_buf_put(r.data);
}

static bool told(struct server *v, nfs4r_server_id from, const struct nfs4r_read *r)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_OWNER_VERSION, .peer = from, .oid = r->oid, .version = r->attrs.version };

	if (r->status == NFS4R_NOT_PRIMARY)
		ev.version = 0;
	return (ev.version && tree_get(&v->tree, obj_of(v->sim, &r->oid))->version >= ev.version) || stepped(v, &ev);
}

void read_on_msg(struct server *v, nfs4r_server_id from, struct nfs4r_msg *m)
{
	struct reader *rd;

	if (m->type == NFS4R_MSG_READ) {
		on_read(v, from, m->read);
		return;
	}
	rd = find(v, m->read->id, v->generation);
	if (!rd || rd->asked != from)
		return;
	if (m->read->status == NFS4R_NOT_PRIMARY) {
		v->sim->totals.not_primary++;
		rd->excluded |= NFS4R_BIT(from);
		if (told(v, from, m->read))
			decide(rd);
		return;
	}
	if ((m->read->status == NFS4R_OK || m->read->status == NFS4R_NOENT) && rd->r.type != NFS4R_RD_COMMIT && !told(v, from, m->read))
		return; /* it crashed */
	rd->r.status = m->read->status;
	rd->r.attrs = m->read->attrs;
	rd->r.result = m->read->result;
	rd->r.verifier = m->read->verifier;
	rd->r.data = nfs4r_buf_get(m->read->data);
	finish(rd, from);
}

void read_answer(struct server *v, nfs4r_server_id to, const struct nfs4r_read *r)
{
	struct nfs4r_msg m = { .type = NFS4R_MSG_READ_ANSWER };
	struct nfs4r_read copy = *r;
	struct reader *rd;

	/* log 5.2 (d): what is held is said under a lease, too */
	if (clock_ms(v) >= nfs4r_core_lease_until(v->core))
		copy.status = NFS4R_DELAY;
	if (to) {
		m.read = &copy;
		net_send(v, to, &m);
		return;
	}
	rd = find(v, r->id, v->generation);
	if (!rd)
		return;
	rd->r.status = copy.status;
	rd->r.verifier = copy.verifier;
	finish(rd, v->id);
}

void read_drop_all(struct server *v)
{
	while (v->readers) {
		struct reader *rd = v->readers;

		v->readers = rd->next;
		nfs4r_buf_put(rd->r.data);
		free(rd);
	}
}
