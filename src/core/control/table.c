/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The control table: every control this server has acked, owns, or learnt from an entry
 * (control 1), and the questions asked of it: who covers an object (control 0).
 *
 * A claim is one struct with its controls; each control also hangs in the list of its object, so
 * that "explicit controls of X" is one look-up and "covered" is one look-up per ancestor. Own
 * claims have a struct own beside them; they leave the table when they are released and stay as
 * claims until all have confirmed (control 4.7).
 *
 * Invariants: a control is in its object's list exactly while its claim is in_table; the ancestry
 * table has counted it exactly then; foreign_deep, foreign_deep_plus, own_deep_plus count the
 * controls in the table.
 */
#include "core/control/control_int.h"

bool control_is_known(struct nfs4r_core *c, const struct nfs4r_oid *oid, struct nfs4r_facts *f)
{
	memset(f, 0, sizeof(*f));
	c->tree.facts(c->tree.ctx, oid, f);
	return f->known == NFS4R_KNOWN;
}

bool control_is_known_file(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct nfs4r_facts f;

	return control_is_known(c, oid, &f) && f.type != NFS4R_TYPE_DIR;
}

bool control_is_multi(const struct nfs4r_facts *f)
{
	return f->multi && f->type != NFS4R_TYPE_DIR;
}

void control_walk_begin(struct walk *w, const struct nfs4r_oid *oid)
{
	w->oid = *oid;
	w->level = 0;
}

bool control_walk_up(struct nfs4r_core *c, struct walk *w)
{
	struct nfs4r_facts f;

	if (w->level >= NFS4R_DEPTH_MAX || !control_is_known(c, &w->oid, &f))
		return false;
	if (control_is_multi(&f)) {
		if (!FAULT(F_MULTI_COVERED) || !c->tree.parents(c->tree.ctx, &w->oid, &f.parent, 1))
			return false;
		f.nparents = 1;
	}
	if (f.nparents == 0 || nfs4r_oid_eq(&w->oid, &c->cfg.root))
		return false;
	w->oid = f.parent;
	w->level++;
	return true;
}

bool control_is_under(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_oid *dir)
{
	struct walk w;

	control_walk_begin(&w, oid);
	do {
		if (nfs4r_oid_eq(&w.oid, dir))
			return true;
	} while (control_walk_up(c, &w));
	return false;
}

struct ctl *control_of(const struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct ctlobj *o;

	HASH_FIND(hh, c->control.objs, oid, sizeof(*oid), o);
	return o ? o->list : NULL;
}

static void count_depths(struct nfs4r_core *c, const struct ctl *k, int delta)
{
	bool own = k->claim->key.server == c->self;

	if (!own && k->depth >= NFS4R_DEEP)
		c->control.foreign_deep += delta;
	if (k->depth == NFS4R_DEEP_PLUS)
		*(own ? &c->control.own_deep_plus : &c->control.foreign_deep_plus) += delta;
}

void control_ctl_say(struct nfs4r_core *c, const struct ctl *k, bool added)
{
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_CONTROL, .control = { .oid = k->oid, .owner = (nfs4r_server_id)k->claim->key.server, .depth = k->depth, .added = added } });
}

static void changed(struct nfs4r_core *c, const struct ctl *k, bool added)
{
	c->dirty |= DIRTY_OPS | DIRTY_REPLY;
	if (c->started)
		control_ctl_say(c, k, added);
}

static void ctl_in(struct nfs4r_core *c, struct ctl *k)
{
	struct ctlobj *o;

	HASH_FIND(hh, c->control.objs, &k->oid, sizeof(k->oid), o);
	if (!o) {
		o = out_xcalloc(1, sizeof(*o));
		o->oid = k->oid;
		HASH_ADD(hh, c->control.objs, oid, sizeof(o->oid), o);
	}
	DL_APPEND(o->list, k);
	count_depths(c, k, 1);
	if (c->started && !(FAULT(F_COUNT_JOINED) && k->claim->kind != NFS4R_PROPOSED)) /* else counted by control_anc_rebuild() */
		control_anc_control(c, &k->oid, (nfs4r_server_id)k->claim->key.server, 1);
	changed(c, k, true);
}

static void ctl_out(struct nfs4r_core *c, struct ctl *k)
{
	struct ctlobj *o;

	HASH_FIND(hh, c->control.objs, &k->oid, sizeof(k->oid), o);
	assert(o);
	control_anc_forget(k);
	DL_DELETE(o->list, k);
	if (!o->list) {
		HASH_DEL(c->control.objs, o);
		free(o);
	}
	count_depths(c, k, -1);
	if (c->started && !FAULT(F_COUNT_RELEASED))
		control_anc_control(c, &k->oid, (nfs4r_server_id)k->claim->key.server, -1);
	changed(c, k, false);
	if (k->claim->key.server != c->self)
		control_holdoff_drop(c, &k->oid);
}

/* New claim, its controls go into the table. Saving it is the caller's, since it may belong to an entry. */
struct claim *control_claim_add(struct nfs4r_core *c, struct nfs4r_pid pid, uint32_t kind, const struct nfs4r_control *v,
				uint32_t n)
{
	struct claim *cl = out_xcalloc(1, sizeof(*cl) + n * sizeof(cl->ctl[0]));

	cl->key = (struct pidkey){ pid.server, pid.seq };
	cl->kind = kind;
	cl->n = n;
	cl->in_table = true;
	HASH_ADD(hh, c->control.claims, key, sizeof(cl->key), cl);
	c->control.nclaims++;
	c->control.nclaims_of[pid.server]++;
	for (uint32_t i = 0; i < n; i++) {
		cl->ctl[i].oid = v[i].oid;
		cl->ctl[i].depth = v[i].depth;
		cl->ctl[i].claim = cl;
		ctl_in(c, &cl->ctl[i]);
	}
	control_announce_found(c, cl);
	return cl;
}

struct claim *control_claim_learnt(struct nfs4r_core *c, const struct nfs4r_join_row *r)
{
	struct claim *cl = control_claim_add(c, r->pid, r->kind, r->controls, r->ncontrols);

	cl->lsn = r->lsn;
	cl->prio = r->prio;
	return cl;
}

void control_claim_learn_won(struct claim *cl)
{
	cl->won = true;
}

void control_claim_restored(struct nfs4r_core *c, const struct claim *row, const struct nfs4r_control *v, enum own_state state)
{
	struct claim *cl = control_claim_add(c, (struct nfs4r_pid){ (nfs4r_server_id)row->key.server, row->key.seq }, row->kind, v, row->n);

	cl->won = row->won;
	cl->prio = row->prio;
	cl->lsn = row->lsn;
	cl->announced = row->announced;
	if (row->key.server != c->self)
		return;
	control_own_new(c, cl, state);
	if (row->key.seq >= c->control.next_seq)
		c->control.next_seq = row->key.seq + 1;
}

static int by_seq(struct claim *a, struct claim *b)
{
	if (a->key.server != b->key.server)
		return a->key.server < b->key.server ? -1 : 1;
	return a->key.seq < b->key.seq ? -1 : a->key.seq > b->key.seq;
}

void control_claims_sort(struct nfs4r_core *c)
{
	HASH_SORT(c->control.claims, by_seq);
}

void control_claim_out_of_table(struct nfs4r_core *c, struct claim *cl)
{
	if (!cl->in_table)
		return;
	for (uint32_t i = 0; i < cl->n; i++)
		ctl_out(c, &cl->ctl[i]);
	cl->in_table = false;
}

void control_claim_free(struct nfs4r_core *c, struct claim *cl)
{
	assert(!cl->in_table && (!cl->own || (!cl->own->users && !cl->own->pins)));
	HASH_DEL(c->control.claims, cl);
	c->control.nclaims--;
	c->control.nclaims_of[cl->key.server]--;
	if (cl->own)
		free(cl->own->pol);
	free(cl->own);
	free(cl);
}

void control_claim_save(struct nfs4r_core *c, const struct claim *cl)
{
	struct nfs4r_put p;

	row_claim(cl, &p, false);
	out_put(c, &p);
}

struct own *control_own_new(struct nfs4r_core *c, struct claim *cl, enum own_state st)
{
	struct own *ow = out_xcalloc(1, sizeof(*ow));

	ow->claim = cl;
	ow->state = st;
	ow->demand = OWN_UNASKED;
	ow->end = OWN_END_IDLE;
	ow->say = OWN_SAY_NOTHING;
	ow->purpose = OWN_FOR_OPERATION;
	ow->acks = NFS4R_BIT(c->self);
	ow->used_ms = ow->begun_ms = c->now;
	for (uint32_t i = 0; i < cl->n; i++)
		if (cl->ctl[i].depth > ow->depth)
			ow->depth = cl->ctl[i].depth;
	cl->own = ow;
	return ow;
}

/* What may follow each state (control_state.h has the picture). */
static const uint32_t next_of[] = {
	[OWN_PROPOSING] = 1u << OWN_ELECTED | 1u << OWN_RELEASED,
	[OWN_ELECTED] = 1u << OWN_ELECTED_REVOKED | 1u << OWN_WON | 1u << OWN_RELEASED,
	[OWN_ELECTED_REVOKED] = 1u << OWN_REVOKED | 1u << OWN_RELEASED,
	[OWN_WON] = 1u << OWN_REVOKED | 1u << OWN_CLOSING | 1u << OWN_RELEASED,
	[OWN_REOPENED] = 1u << OWN_WON | 1u << OWN_REOPENED_REVOKED | 1u << OWN_CLOSING | 1u << OWN_RELEASED,
	[OWN_REVOKED] = 1u << OWN_CLOSING,
	[OWN_REOPENED_REVOKED] = 1u << OWN_REVOKED | 1u << OWN_CLOSING,
	[OWN_CLOSING] = 1u << OWN_REOPENED | 1u << OWN_RELEASED,
	[OWN_RELEASED] = 0,
};

void control_own_move(struct own *ow, enum own_state to)
{
	assert(next_of[ow->state] & 1u << to);
	ow->state = to;
}

/* Control 1: seq never repeats, also over restarts; blocks are reserved ahead of use. */
uint64_t control_seq_next(struct nfs4r_core *c)
{
	struct nfs4r_put p;

	if (c->control.next_seq >= c->control.seq_reserved) {
		c->control.seq_reserved = c->control.next_seq + SEQ_BLOCK;
		row_seq(c->control.seq_reserved, &p);
		out_put(c, &p);
	}
	return c->control.next_seq++;
}

void control_seq_restored(struct nfs4r_core *c, uint64_t reserved)
{
	c->control.seq_reserved = reserved;
	if (c->control.next_seq < reserved)
		c->control.next_seq = reserved;
}

void control_seq_anew(struct nfs4r_core *c, uint64_t first)
{
	struct nfs4r_put p;

	c->control.next_seq = c->control.seq_reserved = first;
	row_seq(first, &p);
	out_put(c, &p);
}

nfs4r_servers control_foreign_cover(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_servers *won)
{
	nfs4r_servers owners = 0;
	struct walk w;
	struct ctl *k;

	*won = 0;
	control_walk_begin(&w, oid);
	do {
		for (k = control_of(c, &w.oid); k; k = k->next) {
			if (k->claim->key.server == c->self || (w.level && k->depth < NFS4R_DEEP))
				continue;
			owners |= NFS4R_BIT(k->claim->key.server);
			if (k->claim->won)
				*won |= NFS4R_BIT(k->claim->key.server);
		}
	} while (c->control.foreign_deep && control_walk_up(c, &w));
	return owners;
}

static bool op_counts_on(const struct opx *o, const struct claim *cl)
{
	if (!o)
		return false;
	for (uint32_t i = 0; i < o->nholds; i++)
		if (o->relies_on[i] == cl)
			return true;
	for (uint32_t i = 0; i < o->npins; i++)
		if (o->pins[i] == cl)
			return true;
	return false;
}

/* Control 0, "acting", and control 7.1: a closing claim counts only for those that were under way. */
static bool usable(const struct claim *cl, const struct opx *o, bool proposing)
{
	if (!cl->own || !(proposing ? own_is_candidate(cl->own) : own_is_acting(cl->own)) || (proposing && own_is_side(cl->own)))
		return false;
	return own_takes_operations(cl->own) || op_counts_on(o, cl);
}

struct claim *control_own_cover(struct nfs4r_core *c, const struct need *n, const struct opx *o, bool proposing)
{
	struct walk w;
	struct ctl *k;

	control_walk_begin(&w, &n->oid);
	do {
		for (k = control_of(c, &w.oid); k; k = k->next) {
			if (k->depth < (w.level && n->depth < NFS4R_DEEP ? NFS4R_DEEP : n->depth))
				continue;
			if (usable(k->claim, o, proposing))
				return k->claim;
		}
	} while (!n->explicit_only && control_walk_up(c, &w));
	return NULL;
}

/* Does @cl, whatever its state, cover @n on this server's tree? */
bool control_claim_covers(struct nfs4r_core *c, const struct claim *cl, const struct need *n)
{
	struct walk w;

	control_walk_begin(&w, &n->oid);
	do {
		for (uint32_t i = 0; i < cl->n; i++)
			if (nfs4r_oid_eq(&cl->ctl[i].oid, &w.oid) &&
			    cl->ctl[i].depth >= (w.level && n->depth < NFS4R_DEEP ? NFS4R_DEEP : n->depth))
				return true;
	} while (!n->explicit_only && control_walk_up(c, &w));
	return false;
}

/* Control 6.3: acting, closing included. */
bool control_own_acting_cover(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct walk w;
	struct ctl *k;

	control_walk_begin(&w, oid);
	do {
		for (k = control_of(c, &w.oid); k; k = k->next)
			if (k->claim->own && (own_is_acting(k->claim->own) || FAULT(F_SERVE_PROPOSING)) &&
			    (!w.level || k->depth >= NFS4R_DEEP))
				return true;
	} while (control_walk_up(c, &w));
	return false;
}
