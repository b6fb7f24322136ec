/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * COMMIT at the server that controls the file, or where nobody does (log 5.3, 5.4): its journal is on its disk as far as it
 * was when it began, and the core says that the newest entry of the file is held. The way there is that of a read (read.c).
 */
#include "sim.h"

struct committing {
	nfs4r_server_id from; /* 0: a reader here */
	struct nfs4r_read r;
	uint64_t hold;
	nfs4r_lsn target; /* of the own log */
	bool held;
	uint32_t epoch; /* when it began */
	uint32_t by; /* held: durability by which the core said so */
	struct committing *next;
};

uint32_t epoch_of(const struct server *v)
{
	return nfs4r_core_adopted(v->core)->epoch;
}

static void await_quorum(struct server *v, struct committing *c)
{
	struct nfs4r_event *ev = calloc(1, sizeof(*ev));

	c->held = false;
	c->hold = ++v->holds;
	ev->type = NFS4R_EV_AWAIT_QUORUM;
	ev->wait_id = c->hold;
	ev->oid = c->r.oid;
	server_soon(v, ev);
}

/* Both have to be so; true: it is gone. */
static bool try_end(struct server *v, struct committing **at)
{
	struct committing *c = *at;

	if (!c->held || v->stable[v->id] < c->target)
		return false;
	if (c->by == NFS4R_DURABILITY_LOCAL && durability_of(v) != NFS4R_DURABILITY_LOCAL && c->epoch == epoch_of(v)) {
		await_quorum(v, c); /* log 6.17 */
		return false;
	}
	*at = c->next;
	c->r.status = c->epoch == epoch_of(v) ? NFS4R_OK : NFS4R_DELAY; /* who asks may not know yet that it changed */
	c->r.verifier = v->inc;
	if (c->r.status == NFS4R_OK)
		check_held(v, obj_of(v->sim, &c->r.oid), c->target);
	read_answer(v, c->from, &c->r);
	free(c);
	return true;
}

void commit_begin(struct server *v, nfs4r_server_id from, const struct nfs4r_read *r)
{
	struct committing *c;

	for (c = v->committing; c; c = c->next)
		if (c->from == from && c->r.id == r->id)
			return; /* asked again */
	c = calloc(1, sizeof(*c));
	c->from = from;
	c->r = *r;
	c->epoch = epoch_of(v);
	c->target = kept_last(&v->kept[v->id]); /* there may be some under way before it */
	if (c->target < v->applied[v->id])
		c->target = v->applied[v->id];
	c->next = v->committing;
	v->committing = c;
	if (v->stable[v->id] < c->target)
		server_checkpoint(v);
	await_quorum(v, c);
}

void commit_quorum_durable(struct server *v, uint64_t hold)
{
	struct committing **at = &v->committing;

	v->sim->totals.holds++;
	while (*at && (*at)->hold != hold)
		at = &(*at)->next;
	if (!*at)
		sim_fail(v->sim, "S%u: HELD for what nobody asked, or twice", v->id);
	if ((*at)->held)
		sim_fail(v->sim, "S%u: HELD twice", v->id);
	(*at)->held = true;
	(*at)->by = v->decided_by;
	try_end(v, at);
}

void commit_stable(struct server *v)
{
	for (struct committing **at = &v->committing; *at;) {
		if (!try_end(v, at))
			at = &(*at)->next;
	}
	for (struct committing *c = v->committing; c; c = c->next)
		if (v->stable[v->id] < c->target)
			v->checkpoint_wanted = true;
}

void commit_drop_all(struct server *v)
{
	while (v->committing) {
		struct committing *c = v->committing;

		v->committing = c->next;
		free(c);
	}
}
