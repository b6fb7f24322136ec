/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The truth: every entry that anybody executed, the chain of versions of every object, and the
 * oracle, a tree to which each entry is applied at the moment of its execution.
 *
 * Held against it: an update starts from the newest version of each of its objects, at a server
 * that alone covers them. LSNs have no holes, and a request is executed once. A version has the same
 * content wherever it shows up. What a machine crash took away was a tail that nobody built on.
 *
 * An entry beyond a seal (check_seals.c) never was, either. But copies that are ahead have it until they are repaired, so its
 * versions are remembered. They have one content, too, and are not given out again.
 *
 * After a machine crash the entries above what the journal kept are in limbo until the server has
 * asked its peers for the tail of its log. Those that come back are true again. The others are
 * lost, and their versions never were.
 */
#include "base/shape.h"
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))

/* ---- chains -------------------------------------------------------------------- */

struct ent *ent_find(struct sim *s, nfs4r_server_id log, nfs4r_lsn lsn)
{
	struct ent *lost = NULL;

	for (uint32_t i = s->nents - 1; i > 0; i--) {
		struct ent *t = &s->ents[i];

		if (t->log != log || t->lsn != lsn)
			continue;
		if (t->state != ENT_LOST)
			return t;
		if (!lost)
			lost = t;
	}
	return lost;
}

struct version_seen *version_find(struct sim *s, uint32_t obj, nfs4r_version v)
{
	struct obj *o = &s->objs[obj];

	for (uint32_t i = o->nvers; i-- > 0;)
		if (o->vers[i].version == v)
			return &o->vers[i];
	return NULL;
}

nfs4r_version obj_head(const struct sim *s, uint32_t obj)
{
	const struct obj *o = &s->objs[obj];

	return o->nvers ? o->vers[o->nvers - 1].version : 0;
}

nfs4r_version obj_completed(const struct sim *s, uint32_t obj)
{
	const struct obj *o = &s->objs[obj];

	for (uint32_t i = o->nvers; i-- > 0;)
		if (o->vers[i].completed)
			return o->vers[i].version;
	return 0;
}

static void push_version(struct sim *s, uint32_t obj, nfs4r_version v, uint32_t ent)
{
	struct obj *o = &s->objs[obj];

	if (o->nvers == o->cap) {
		o->cap = o->cap ? o->cap * 2 : 8;
		o->vers = realloc(o->vers, o->cap * sizeof(*o->vers));
	}
	if (dead_find(s, obj, v))
		sim_fail(s, "v%s of %s was given out before, and sealed away", lsn_str(v), obj_str(s, obj));
	memset(&o->vers[o->nvers], 0, sizeof(*o->vers));
	o->vers[o->nvers].version = v;
	o->vers[o->nvers++].ent = ent;
	for (uint32_t i = o->nvers - 1; i > 0 && o->vers[i - 1].version > v; i--) { /* a list that was awaited */
		struct version_seen later = o->vers[i - 1];

		o->vers[i - 1] = o->vers[i];
		o->vers[i] = later;
	}
}

static void push_dead(struct sim *s, uint32_t obj, const struct version_seen *seen)
{
	struct obj *o = &s->objs[obj];

	if (o->ndead == o->dead_cap) {
		o->dead_cap = o->dead_cap ? o->dead_cap * 2 : 8;
		o->dead = realloc(o->dead, o->dead_cap * sizeof(*o->dead));
	}
	o->dead[o->ndead++] = *seen;
}

/* The versions that lost entry number @ent gave: gone. They must be the newest. */
static void pop_versions(struct sim *s, uint32_t ent)
{
	const struct ent *t = &s->ents[ent];

	for (uint32_t i = 0; i < t->nparts; i++) {
		struct obj *o = &s->objs[t->parts[i].obj];

		if (!o->nvers || o->vers[o->nvers - 1].ent != ent)
			sim_fail(s, "%u:%llu is lost, but %s has v%llu on top of its v%llu", t->log, ULL(t->lsn),
				 obj_str(s, t->parts[i].obj), ULL(obj_head(s, t->parts[i].obj)),
				 ULL(t->parts[i].after));
		o->nvers--;
		o->last_dead++;
		o->lost = !o->nvers;
	}
}

/* It may be under way: then the versions that it takes back are remembered, too. */
void truth_sealed(struct sim *s, uint32_t ent)
{
	struct ent *t = &s->ents[ent];

	for (uint32_t i = 0; i < t->nparts; i++) {
		const struct version_seen *seen = version_find(s, t->parts[i].obj, t->parts[i].after);

		if (seen)
			push_dead(s, t->parts[i].obj, seen);
	}
	pop_versions(s, ent);
	t->state = ENT_SEALED;
}

/* ---- begin of an execution -------------------------------------------------------- */

static bool same_request(const struct nfs4r_request_id *a, const struct nfs4r_request_id *b)
{
	return a->origin == b->origin && a->inc == b->inc && a->seq == b->seq;
}

static void check_request(struct server *v, const struct nfs4r_entry *e)
{
	struct sim *s = v->sim;

	if (!e->request.origin)
		return;
	for (uint32_t i = 1; i < s->nents; i++) {
		const struct ent *t = &s->ents[i];

		if (t->state != ENT_LOST && t->state != ENT_SEALED && same_request(&t->request, &e->request))
			sim_fail(s, "S%u executes request %u.%llu as %u:%llu, which was executed as %u:%llu", v->id,
				 e->request.origin, ULL(e->request.seq), e->log, ULL(e->lsn), t->log, ULL(t->lsn));
	}
	for (uint32_t i = 0; i < s->nrefused; i++)
		if (same_request(&s->refused[i], &e->request))
			sim_fail(s, "S%u executes request %u.%llu as %u:%llu, whose client was told that nothing happened",
				 v->id, e->request.origin, ULL(e->request.seq), e->log, ULL(e->lsn));
}

/*
 * Lists of locks (locks 2). The core gives them their place when a claim closes and says nothing of that: what a list says is known when it is committed. It may wait for what is
 * executed on its file, and others take later places meanwhile.
 */
static bool is_awaited(const struct ent *t, const struct server *v)
{
	return t->log == v->id && t->op == NFS4R_OP_LOCK && t->state == ENT_EXECUTING && !t->nparts;
}

static bool awaits_list(const struct server *v)
{
	for (uint32_t i = v->sim->nents - 1; i > 0; i--)
		if (is_awaited(&v->sim->ents[i], v))
			return true;
	return false;
}

static uint32_t new_ent(struct sim *s)
{
	if (s->nents == s->ents_cap) {
		s->ents_cap *= 2;
		s->ents = realloc(s->ents, s->ents_cap * sizeof(*s->ents));
	}
	memset(&s->ents[s->nents], 0, sizeof(*s->ents));
	return s->nents++;
}

/*
 * The place of an own entry that begins, or is a list: the next one, or behind lists that are to come, or one that was taken for a list's, since a list is committed within a step and all
 * else begins behind it. 0: none of these.
 */
static uint32_t place_of(struct server *v, nfs4r_lsn lsn)
{
	struct sim *s = v->sim;
	uint32_t n = 0;

	while (v->own_next == lsn || (s->locker && v->own_next < lsn && NFS4R_GEN(v->own_next) == NFS4R_GEN(lsn))) {
		n = new_ent(s);
		s->ents[n] = (struct ent){ .log = v->id, .lsn = v->own_next++, .op = NFS4R_OP_LOCK, .state = ENT_EXECUTING };
	}
	for (uint32_t i = s->nents - 1; !n && s->locker && i > 0; i--)
		if (s->ents[i].lsn == lsn && is_awaited(&s->ents[i], v))
			n = i;
	return n;
}

static void check_base(struct server *v, const struct nfs4r_part *p, const struct nfs4r_entry *e)
{
	struct sim *s = v->sim;
	uint32_t obj = obj_of(s, &p->oid);
	nfs4r_version head = obj_head(s, obj);

	if (p->before != head && !(p->before > head && awaits_list(v))) {
		const struct version_seen *h = version_find(s, obj, head);
		const struct ent *t = &s->ents[h ? h->ent : 0];

		sim_fail(s, "S%u updates %s from v%llu as %u:%llu (%s), but its newest version is v%llu by %u:%llu", v->id,
			 obj_str(s, obj), ULL(p->before), e->log, ULL(e->lsn), nfs4r_op_name(e->op), ULL(head), t->log,
			 ULL(t->lsn));
	}
	if (p->after <= p->before)
		sim_fail(s, "S%u: %u:%llu takes %s from v%llu to v%llu", v->id, e->log, ULL(e->lsn), obj_str(s, obj),
			 ULL(p->before), ULL(p->after));
	for (uint32_t q = 1; q <= s->plan.servers; q++)
		if (q != v->id && s->servers[q].up && !sealed_out(&s->servers[q]) && acting_cover(&s->servers[q], obj))
			sim_fail(s, "two primaries: S%u updates %s as %u:%llu (%s), which S%u covers", v->id,
				 obj_str(s, obj), e->log, ULL(e->lsn), nfs4r_op_name(e->op), q);
}

/* Its primary does not know of the seal: a process that stopped between the look at its lease and now. */
static void born_dead(struct server *v, struct ent *t)
{
	struct sim *s = v->sim;

	for (uint32_t i = 0; i < s->nseals; i++)
		if (s->seals[i].seal.log == t->log && NFS4R_GEN(s->seals[i].seal.lsn) == NFS4R_GEN(t->lsn))
			t->sealed_by = s->seals[i].view;
	if (t->sealed_by <= v->seen_adopted)
		sim_fail(s, "S%u starts %u:%s in a generation that ended in view %llu, which it adopted", v->id, t->log, lsn_str(t->lsn),
			 ULL(t->sealed_by));
}

void check_started(struct server *v, const struct nfs4r_op *op, const struct nfs4r_entry *e)
{
	struct sim *s = v->sim;
	uint32_t n;
	struct ent *t;

	if (!v->ready)
		sim_fail(s, "S%u executes %u:%llu before it has the tail of its log", v->id, e->log, ULL(e->lsn));
	n = place_of(v, e->lsn);
	if (e->log != v->id || !n)
		sim_fail(s, "S%u starts %u:%llu, %llu was next", v->id, e->log, ULL(e->lsn), ULL(v->own_next));
	if (!sealed_out(v)) {
		check_request(v, e);
		for (uint32_t i = 0; i < e->nparts; i++)
			check_base(v, &e->parts[i], e);
		check_names_started(v, op, e);
	}
	s->totals.entries++;
	t = &s->ents[n];
	t->log = e->log;
	t->lsn = e->lsn;
	t->op = e->op;
	t->state = sealed_out(v) ? ENT_SEALED : ENT_EXECUTING;
	t->request = e->request;
	t->result = e->result;
	t->nparts = e->nparts;
	for (uint32_t i = 0; i < e->nparts; i++) {
		uint32_t obj = obj_of(s, &e->parts[i].oid);

		t->parts[i].obj = obj;
		t->parts[i].effect = e->parts[i].effect;
		t->parts[i].before = e->parts[i].before;
		t->parts[i].after = e->parts[i].after;
		t->parts[i].multi = tree_get(&v->tree, obj)->multi || e->parts[i].multi;
		if (t->state == ENT_SEALED)
			push_dead(s, obj, &(struct version_seen){ .version = e->parts[i].after, .ent = n });
		else
			push_version(s, obj, e->parts[i].after, n);
	}
	if (t->state == ENT_SEALED)
		born_dead(v, t);
}

/* ---- commits ------------------------------------------------------------------------- */

static void compare_content(struct server *v, const struct nfs4r_entry *e)
{
	struct sim *s = v->sim;

	for (uint32_t i = 0; i < e->nparts && e->op != NFS4R_OP_CLIENT; i++) {
		uint32_t obj = obj_of(s, &e->parts[i].oid);
		const struct row *r = tree_get(&v->tree, obj);
		struct version_seen *seen = version_find(s, obj, r->version);
		char a[300], b[300];

		if (!seen)
			seen = dead_find(s, obj, r->version);

		if (r->version != e->parts[i].after || !is_exact(v, obj))
			continue; /* skipped: newer already */
		if (!seen)
			sim_fail(s, "S%u has v%llu of %s by %u:%llu, which nobody made", v->id, ULL(r->version),
				 obj_str(s, obj), e->log, ULL(e->lsn));
		if (!seen->hashed) {
			seen->hashed = true;
			seen->hash = row_hash(r);
		} else if (seen->hash != row_hash(r)) {
			row_print(s, r, a, sizeof(a));
			row_print(s, tree_get(&s->oracle, obj), b, sizeof(b));
			sim_fail(s, "%s v%llu by %u:%llu differs at S%u: %s; newest: %s", obj_str(s, obj),
				 ULL(r->version), e->log, ULL(e->lsn), v->id, a, b);
		}
	}
}

/* What became of part @i of @t: taken back, when the execution failed before the object was there. */
static void drop_part(struct sim *s, struct ent *t, uint32_t i)
{
	struct obj *o = &s->objs[t->parts[i].obj];

	if (!o->nvers || o->vers[o->nvers - 1].version != t->parts[i].after)
		sim_fail(s, "%u:%llu is void, but something builds on its %s", t->log, ULL(t->lsn),
			 obj_str(s, t->parts[i].obj));
	o->nvers--;
	t->parts[i] = t->parts[--t->nparts];
}

/* A void entry: what existed keeps its new version without an effect, the request may come again. */
static void settle_void(struct sim *s, struct ent *t, const struct nfs4r_entry *e)
{
	bool effect = false;

	for (uint32_t i = 0; i < t->nparts;) {
		const struct nfs4r_oid *oid = &s->objs[t->parts[i].obj].oid;
		uint32_t k = 0;

		while (k < e->nparts && !nfs4r_oid_eq(&e->parts[k].oid, oid))
			k++;
		if (k == e->nparts) {
			drop_part(s, t, i);
			continue;
		}
		effect |= e->parts[k].effect != NFS4R_EFF_NONE;
		if (e->parts[k].after != t->parts[i].after)
			sim_fail(s, "%u:%llu changed its versions", t->log, ULL(t->lsn));
		t->parts[i++].effect = e->parts[k].effect;
	}
	if (!effect) {
		t->is_void = true;
		memset(&t->request, 0, sizeof(t->request));
	}
}

static void first_commit(struct server *v, struct ent *t, const struct nfs4r_entry *e)
{
	struct sim *s = v->sim;
	const char *why;

	t->e = entry_copy(e);
	t->result = e->result;
	if (t->state == ENT_SEALED)
		return;
	if (e->op != NFS4R_OP_CLIENT)
		settle_void(s, t, e);
	t->state = ENT_LIVE;
	why = tree_apply(s, &s->oracle, e, true);
	if (why)
		sim_fail(s, "S%u executed %u:%llu: %s", v->id, e->log, ULL(e->lsn), why);
}

/* A copy that nobody has exact is taken for right (log 7.5): that is what the object is from now on. */
static void check_taken(struct server *v, const struct nfs4r_entry *e)
{
	struct sim *s = v->sim;
	uint32_t obj = obj_of(s, &e->parts[0].oid), n;
	struct ent *t;

	if (e->lsn != v->own_next || e->nparts != 1 || e->parts[0].effect != NFS4R_EFF_NONE)
		sim_fail(s, "S%u takes its copy of %s for right as %u:%s, %s was next", v->id, obj_str(s, obj), e->log, lsn_str(e->lsn), lsn_str(v->own_next));
	if (!sealed_out(v) && e->parts[0].before != obj_head(s, obj))
		sim_fail(s, "S%u takes its copy of %s, v%s, for right, but there is v%s", v->id, obj_str(s, obj), lsn_str(e->parts[0].before),
			 lsn_str(obj_head(s, obj)));
	v->own_next++;
	s->totals.taken++;
	n = new_ent(s);
	t = &s->ents[n];
	*t = (struct ent){ .log = e->log, .lsn = e->lsn, .op = e->op, .state = sealed_out(v) ? ENT_SEALED : ENT_LIVE, .nparts = 1, .e = entry_copy(e) };
	t->parts[0].obj = obj;
	t->parts[0].effect = e->parts[0].effect;
	t->parts[0].before = e->parts[0].before;
	t->parts[0].after = e->parts[0].after;
	t->content = calloc(1, sizeof(*t->content));
	row_copy(t->content, tree_get(&v->tree, obj));
	if (t->state == ENT_SEALED) {
		push_dead(s, obj, &(struct version_seen){ .version = e->parts[0].after, .ent = n });
		born_dead(v, t);
		return;
	}
	check_taken_bytes(v, obj);
	push_version(s, obj, e->parts[0].after, n);
	tree_install(&s->oracle, obj, t->content);
}

static void check_list(struct server *v, const struct nfs4r_entry *e)
{
	struct sim *s = v->sim;
	uint32_t obj = obj_of(s, &e->parts[0].oid), n = place_of(v, e->lsn);
	struct ent *t = &s->ents[n];

	s->totals.lock_lists++;
	if (e->nparts != 1)
		sim_fail(s, "S%u commits a list of locks of %u files", v->id, e->nparts);
	if (!n)
		sim_fail(s, "S%u commits a list of locks of %s as %u:%s, %s was next", v->id, obj_str(s, obj), e->log, lsn_str(e->lsn), lsn_str(v->own_next));
	if (!sealed_out(v) && e->parts[0].before != obj_head(s, obj) && !version_find(s, obj, e->parts[0].before))
		sim_fail(s, "S%u lists locks of %s from v%s, and there is v%s", v->id, obj_str(s, obj), lsn_str(e->parts[0].before), lsn_str(obj_head(s, obj)));
	t->nparts = 1;
	t->parts[0].obj = obj;
	t->parts[0].effect = e->parts[0].effect;
	t->parts[0].before = e->parts[0].before;
	t->parts[0].after = e->parts[0].after;
	t->parts[0].multi = tree_get(&v->tree, obj)->multi;
	if (!sealed_out(v)) {
		push_version(s, obj, e->parts[0].after, n);
		return;
	}
	t->state = ENT_SEALED;
	push_dead(s, obj, &(struct version_seen){ .version = e->parts[0].after, .ent = n });
	born_dead(v, t);
}

/* One that says that a client begins, or is gone (locks 7): it changes no object. */
static void check_client(struct server *v, const struct nfs4r_entry *e)
{
	uint32_t n = place_of(v, e->lsn);

	if (!n)
		sim_fail(v->sim, "S%u says of a client as %u:%s, %s was next", v->id, e->log, lsn_str(e->lsn), lsn_str(v->own_next));
	v->sim->ents[n].op = NFS4R_OP_CLIENT;
	if (!sealed_out(v))
		return;
	v->sim->ents[n].state = ENT_SEALED;
	born_dead(v, &v->sim->ents[n]);
}

void check_commit(struct server *v, const struct nfs4r_entry *e, bool own)
{
	struct sim *s = v->sim;
	struct ent *t = ent_find(s, e->log, e->lsn);

	if (nfs4r_shape_of_entry(e))
		sim_fail(s, "S%u commits %u:%llu (%s), which no decoder takes: %s", v->id, e->log, ULL(e->lsn), nfs4r_op_name(e->op), nfs4r_shape_of_entry(e));
	if ((!t || t->state == ENT_LOST) && own && e->fuzzy_log) {
		check_taken(v, e);
		t = ent_find(s, e->log, e->lsn);
	}
	if (own && e->op == NFS4R_OP_CLIENT && (!t || t->state == ENT_LOST || is_awaited(t, v))) {
		check_client(v, e);
		t = ent_find(s, e->log, e->lsn);
	}
	if (s->locker && own && e->nparts && e->parts[0].effect == NFS4R_EFF_LOCKS && (!t || t->state == ENT_LOST || is_awaited(t, v))) {
		check_list(v, e);
		t = ent_find(s, e->log, e->lsn);
	}
	if (!t)
		sim_fail(s, "S%u commits %u:%llu, which nobody executed", v->id, e->log, ULL(e->lsn));
	if (t->state == ENT_LOST)
		sim_fail(s, "S%u commits %u:%llu, which was lost", v->id, e->log, ULL(e->lsn));
	if (NFS4R_GEN(v->applied[e->log]) > NFS4R_GEN(e->lsn))
		sim_fail(s, "S%u commits %u:%s behind the seal of its generation", v->id, e->log, lsn_str(e->lsn));
	for (uint32_t i = 0; i < e->nparts; i++) /* log 3.4: it may stand on what the seal left */
		if (NFS4R_GEN(e->parts[i].after) > epoch_of(v))
			sim_fail(s, "S%u commits %u:%s, which was executed after a seal, and has not adopted its view", v->id, e->log,
				 lsn_str(e->lsn));
	if (!t->e && v->id == e->log && (t->state == ENT_EXECUTING || t->state == ENT_SEALED))
		first_commit(v, t, e);
	else if (!t->e)
		sim_fail(s, "S%u applies %u:%llu, which is not committed at its primary", v->id, e->log, ULL(e->lsn));
	else if (t->e->nparts != e->nparts || (e->nparts && t->e->parts[0].after != e->parts[0].after))
		sim_fail(s, "S%u applies another entry as %u:%llu", v->id, e->log, ULL(e->lsn));
	if (t->state == ENT_LIMBO && v->id == e->log)
		t->state = ENT_LIVE;
	compare_content(v, e);
	sim_progress(s);
}

/* ---- machine crashes ------------------------------------------------------------------- */

void check_crashed(struct server *v, nfs4r_lsn have)
{
	struct sim *s = v->sim;

	for (uint32_t i = 1; i < s->nents; i++) {
		struct ent *t = &s->ents[i];

		if (t->log == v->id && t->lsn > have && (t->state == ENT_EXECUTING || t->state == ENT_LIVE))
			t->state = ENT_LIMBO;
	}
}

static void rebuild_oracle(struct sim *s)
{
	tree_copy(&s->oracle, &s->base);
	for (uint32_t i = 1; i < s->nents; i++) {
		const struct ent *t = &s->ents[i];

		if (!t->e || (t->state != ENT_LIVE && t->state != ENT_LIMBO))
			continue;
		if (tree_apply(s, &s->oracle, t->e, true))
			sim_fail(s, "%u:%llu needs an entry that was lost", t->log, ULL(t->lsn));
		if (t->content)
			tree_install(&s->oracle, t->parts[0].obj, t->content);
	}
}

void truth_again(struct sim *s)
{
	rebuild_oracle(s);
}

/* Who is alone after a crash of its machine asks nobody for its tail: what it had begun is decided as after a crash of the process (log 4.5). */
static void begun_again(struct server *v, struct ent *t)
{
	struct sim *s = v->sim;

	if (!store_has_intent(v, t->lsn))
		sim_fail(s, "S%u is recovered without %u:%s", v->id, t->log, lsn_str(t->lsn));
	if (t->promised)
		sim_fail(s, "S%u has only begun %u:%s, which was promised", v->id, t->log, lsn_str(t->lsn));
	TRACE(s, v, "begun and not decided %u:%s", t->log, lsn_str(t->lsn));
	for (uint32_t i = 0; i < t->nparts; i++) {
		struct version_seen *seen = version_find(s, t->parts[i].obj, t->parts[i].after);

		if (seen)
			seen->hashed = false;
	}
	if (t->e)
		nfs4r_entry_put(t->e);
	t->e = NULL;
	t->state = ENT_EXECUTING;
}

static bool somebody_has(const struct sim *s, const struct ent *t)
{
	for (uint32_t q = 1; q <= s->plan.servers; q++)
		if (kept_find(&s->servers[q].kept[t->log], t->lsn))
			return true;
	return false;
}

/* Its owner, which knows nothing of the seal that took it away, has found it nowhere: as if it had never been, and so its versions are free again. */
static void lost_before_its_seal(struct sim *s, uint32_t ent)
{
	struct ent *t = &s->ents[ent];

	for (uint32_t i = 0; i < t->nparts; i++) {
		struct obj *o = &s->objs[t->parts[i].obj];

		for (uint32_t k = 0; k < o->ndead;)
			if (o->dead[k].ent == ent)
				o->dead[k] = o->dead[--o->ndead];
			else
				k++;
	}
	t->state = ENT_LOST;
}

void check_recovered(struct server *v, nfs4r_lsn end)
{
	struct sim *s = v->sim;
	bool changed = false;

	for (uint32_t i = s->nents - 1; i > 0; i--) {
		struct ent *t = &s->ents[i];

		if (t->log == v->id && t->state == ENT_SEALED && NFS4R_GEN(t->lsn) == NFS4R_GEN(end) && t->lsn > end && !somebody_has(s, t))
			lost_before_its_seal(s, i);
		if (t->log != v->id || t->state == ENT_LOST || t->state == ENT_SEALED || NFS4R_GEN(t->lsn) < s->gen[v->id])
			continue;
		if (t->lsn > end && t->state == ENT_LIVE)
			sim_fail(s, "S%u forgot %u:%llu, which its journal has", v->id, t->log, ULL(t->lsn));
		if (t->lsn <= end && t->state == ENT_LIMBO) {
			begun_again(v, t);
			changed = true;
		}
		if (t->lsn <= end)
			continue;
		TRACE(s, v, "lost %u:%s", t->log, lsn_str(t->lsn));
		if (t->promised)
			sim_fail(s, "S%u lost %u:%s, which was promised", v->id, t->log, lsn_str(t->lsn));
		pop_versions(s, i);
		t->state = ENT_LOST;
		s->totals.lost++;
		changed = true;
	}
	v->own_next = end + 1;
	if (changed)
		rebuild_oracle(s);
}
