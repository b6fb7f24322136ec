/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Bytes that are read back when an entry is sent (log 3.6): as the file is then, with what is being executed or applied there half done.
 * What the core says of such copies is held against the truth: a copy that it calls exact has the bytes of its version; no entry is told to be
 * stable whose object has other bytes; and a copy that is taken for right (log 7.5) has every promised byte, or a later one.
 */
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))
#define BATCH_MAX 6
#define TRIES 40

static bool is_written(const struct nfs4r_entry *e)
{
	return e->nparts && e->has_payload && e->parts[0].effect == NFS4R_EFF_WRITE;
}

/* The file in the middle of what is being done to it. */
void as_it_is(struct server *v, uint32_t obj, struct row *out)
{
	struct sim *s = v->sim;
	const struct nfs4r_oid *oid = &s->objs[obj].oid;

	row_copy(out, tree_get(&v->tree, obj));
	for (const struct simop *so = v->ops; so; so = so->next) {
		struct nfs4r_part *p = so->executing && so->intent ? nfs4r_entry_part(so->intent, oid) : NULL;

		if (p && out->state == ROW_KNOWN && rng_chance(&s->rng, 500))
			row_effect(s, out, p, so->intent);
	}
	for (const struct applying *a = v->applying; a; a = a->next)
		for (uint32_t i = 0; i < a->e->nparts; i++)
			if (a->mask & 1u << i && nfs4r_oid_eq(&a->e->parts[i].oid, oid) && out->state == ROW_KNOWN && rng_chance(&s->rng, 500))
				row_effect(s, out, &a->e->parts[i], a->e);
}

static struct nfs4r_buf *bytes_of(const struct row *r, const struct nfs4r_part *p)
{
	static const uint8_t zeros[CONTENT_MAX];
	uint64_t end = p->off + p->len < r->size ? p->off + p->len : r->size;

	if (r->state != ROW_KNOWN || end <= p->off)
		return NULL;
	return nfs4r_buf_copy((r->bytes ? r->bytes : zeros) + p->off, (uint32_t)(end - p->off));
}

bool late_read(struct server *v, struct nfs4r_entry *e, struct nfs4r_seal *await)
{
	struct sim *s = v->sim;
	uint32_t obj = e->nparts ? obj_of(s, &e->parts[0].oid) : 0;
	const struct row *r = tree_get(&v->tree, obj);
	struct row now;
	bool wait;

	if (!s->plan.late || !is_written(e) || (e->log == v->id && !rng_chance(&s->rng, s->plan.late)))
		return true;
	as_it_is(v, obj, &now);
	nfs4r_buf_put(e->payload);
	e->payload = bytes_of(&now, &e->parts[0]);
	row_fini(&now);
	if (!nfs4r_core_fuzzy(v->core, e, r->last_log, r->last_lsn, &wait))
		return false;
	s->totals.late += e->fuzzy_log != 0;
	if (e->fuzzy_log)
		TRACE(s, v, "   reads %u:%s back, marked by %u:%s", e->log, lsn_str(e->lsn), e->fuzzy_log, lsn_str(e->fuzzy_lsn));
	if (e->fuzzy_log && wait)
		*await = (struct nfs4r_seal){ e->fuzzy_log, e->fuzzy_lsn };
	return true;
}

/* ---- what the mark names has to be on the disk first ------------------------------------ */

struct late {
	struct server *server;
	uint64_t generation;
	nfs4r_server_id to;
	struct nfs4r_msg *msg;
	struct nfs4r_seal await[BATCH_MAX];
	uint32_t tries;
};

static void late_free(void *arg)
{
	struct late *l = arg;

	msg_free(l->msg);
	free(l);
}

static void late_try(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	struct late *l = arg;
	struct server *v = l->server;
	bool here = true, any = false;

	if (!v->up || v->generation != l->generation || l->tries++ == TRIES) {
		late_free(l);
		return;
	}
	for (uint32_t i = 0; i < BATCH_MAX; i++) {
		any |= l->await[i].log != 0;
		here &= !l->await[i].log || v->applied[l->await[i].log] >= l->await[i].lsn;
	}
	if (!here) {
		server_at_owned(v, s->now + 5 * MS, late_try, l, late_free, 0, 0);
		return;
	}
	if (any && !disk_sync_now(v)) {
		late_free(l);
		return;
	}
	net_post_entries(v, l->to, l->msg);
	free(l);
}

void late_send(struct server *v, nfs4r_server_id to, struct nfs4r_msg *m, const struct nfs4r_seal *await)
{
	struct late *l;
	bool any = false;

	for (uint32_t i = 0; i < BATCH_MAX; i++)
		any |= await[i].log != 0;
	if (!m->entries.n) {
		msg_free(m);
		return;
	}
	if (!any) {
		net_post_entries(v, to, m);
		return;
	}
	l = calloc(1, sizeof(*l));
	*l = (struct late){ .server = v, .generation = v->generation, .to = to, .msg = m };
	memcpy(l->await, await, sizeof(l->await));
	late_try(v->sim, l, 0, 0);
}

/* ---- against the truth ----------------------------------------------------------------- */

bool is_exact(const struct server *v, uint32_t obj)
{
	struct nfs4r_fuzzy_object left;

	return !v->core || nfs4r_core_exactness(v->core, &v->sim->objs[obj].oid, &left) == NFS4R_EXACT;
}

/* Whatever version its row has: does it have what that wrote, or a later update, which perhaps never was? */
static bool was_exact_at(const struct server *v, uint32_t obj, nfs4r_version version)
{
	struct nfs4r_fuzzy_object left;

	return nfs4r_core_exactness(v->core, &v->sim->objs[obj].oid, &left) == NFS4R_EXACT || left.exact >= version;
}

/* Its version, and whether its bytes are not those of the version. */
static const struct version_seen *differs(struct server *v, uint32_t obj)
{
	const struct row *r = tree_get(&v->tree, obj);
	const struct version_seen *seen = version_find(v->sim, obj, r->version);

	if (!seen)
		seen = dead_find(v->sim, obj, r->version);
	return r->state == ROW_KNOWN && seen && seen->hashed && seen->hash != row_hash(r) ? seen : NULL;
}

void check_exact(struct server *v, const char *when)
{
	struct sim *s = v->sim;

	if (!s->plan.late)
		return;
	for (uint32_t i = 0; i < s->nobjs; i++) {
		bool exact = is_exact(v, i);

		s->totals.inexact += !exact;
		if (exact && differs(v, i))
			sim_fail(s, "S%u %s, and its copy of %s v%s has bytes of an update that never was", v->id, when, obj_str(s, i),
				 lsn_str(tree_get(&v->tree, i)->version));
	}
}

void check_stable_told(struct server *v, const struct nfs4r_msg *m)
{
	struct sim *s = v->sim;

	if (!s->plan.late || m->type != NFS4R_MSG_POSITIONS)
		return;
	for (uint32_t i = 0; i < s->nobjs; i++) {
		const struct version_seen *seen = was_exact_at(v, i, tree_get(&v->tree, i)->version) ? NULL : differs(v, i);
		const struct ent *t = seen ? &s->ents[seen->ent] : NULL;

		for (uint32_t k = 0; t && k < m->positions.n; k++)
			if (t->log == m->positions.pos[k].log && t->state == ENT_LIVE && m->positions.pos[k].stable >= t->lsn &&
			    NFS4R_GEN(m->positions.pos[k].applied) == NFS4R_GEN(t->lsn)) /* of an ended log nobody counts it */
				sim_fail(s, "S%u says that it has log %u stable to %s, but its copy of %s by %u:%s has other bytes", v->id, t->log,
					 lsn_str(m->positions.pos[k].stable), obj_str(s, i), t->log, lsn_str(t->lsn));
	}
}

static bool cuts(const struct nfs4r_part *p, uint32_t off)
{
	return p->effect == NFS4R_EFF_ATTRS && p->attrs.mask & NFS4R_ATTR_SIZE && p->attrs.size < off + 4;
}

/* Did an update after ents[@after] write these four bytes there, or cut the file before their end? */
static bool is_later_word(struct sim *s, uint32_t after, uint32_t obj, uint32_t off, const uint8_t *word)
{
	static const uint8_t zeros[4];

	for (uint32_t i = after + 1; i < s->nents; i++) {
		const struct nfs4r_entry *e = s->ents[i].e;
		const struct nfs4r_part *p = e ? &e->parts[0] : NULL;

		if (p && e->nparts && obj_of(s, &p->oid) == obj && cuts(p, off) && memcmp(word, zeros, 4) == 0)
			return true;
		if (p && e->nparts && is_written(e) && e->payload && obj_of(s, &p->oid) == obj && off >= p->off && off + 4 <= p->off + e->payload->len &&
		    memcmp(e->payload->data + (off - p->off), word, 4) == 0)
			return true;
	}
	return false;
}

/* Of what ents[@i] wrote and nobody has overwritten. */
static void keeps_promise(struct server *v, uint32_t i, uint32_t obj, const struct row *truth)
{
	struct sim *s = v->sim;
	static const uint8_t zeros[CONTENT_MAX];
	const struct row *r = tree_get(&v->tree, obj);
	const uint8_t *is = r->bytes ? r->bytes : zeros, *should = truth->bytes ? truth->bytes : zeros;
	const struct nfs4r_entry *e = s->ents[i].e;
	const struct nfs4r_part *p = &e->parts[0];

	for (uint32_t off = (uint32_t)p->off; off + 4 <= p->off + p->len && off + 4 <= CONTENT_MAX && off + 4 - p->off <= e->payload->len; off += 4)
		if (memcmp(should + off, e->payload->data + (off - p->off), 4) == 0 && memcmp(is + off, should + off, 4) != 0 &&
		    !is_later_word(s, i, obj, off, is + off))
			sim_fail(s, "S%u takes its copy of %s for right, and that does not have what %u:%s wrote at %u, which was promised", v->id,
				 obj_str(s, obj), s->ents[i].log, lsn_str(s->ents[i].lsn), off);
}

void check_taken_bytes(struct server *v, uint32_t obj)
{
	struct sim *s = v->sim;

	for (uint32_t i = 1; i < s->nents; i++) {
		const struct ent *t = &s->ents[i];

		if (t->state == ENT_LIVE && t->promised == PROMISED_MAJORITY && t->nparts && t->parts[0].obj == obj && t->e && is_written(t->e) && t->e->payload)
			keeps_promise(v, i, obj, tree_get(&s->oracle, obj));
	}
}
