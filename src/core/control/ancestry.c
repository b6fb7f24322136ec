/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Ancestry table (control 8): directory -> number of controls of each server strictly
 * below it, on this server's tree. One look-up decides whether a deep request is free below.
 *
 * A control counts while it is in the table and its object is alive and not multi (control 8.1). The
 * table follows three kinds of change: a control comes or goes (anc_control), an entry moves or
 * removes an object or gives it a second name (before and after the commit of that entry), and a
 * restart (anc_rebuild; nothing is stored). Servers may differ while their trees differ; the only
 * invariant is that each equals its own recount, which nfs4r_core_check() verifies.
 *
 * The directories of the table form a tree themselves, and every control that counts hangs in its
 * parent directory there, so that the controls below a directory are found without looking at
 * others. A directory is hung into its parent when it gets its first count, and loses its place
 * with the last one.
 */
#include "core/control/control_int.h"

#include <stdio.h>

static struct anc *find(struct anc *table, const struct nfs4r_oid *dir)
{
	struct anc *a;

	HASH_FIND(hh, table, dir, sizeof(*dir), a);
	return a;
}

/* ---- the table as a tree --------------------------------------------------------------- */

void control_anc_forget(struct ctl *k)
{
	if (!k->in)
		return;
	DL_DELETE2(k->in->here[k->claim->key.server], k, in_prev, in_next);
	k->in = NULL;
}

static void cut_off(struct anc *a)
{
	if (!a->up)
		return;
	DL_DELETE(a->up->down, a);
	a->up = NULL;
}

static void hang_in(struct anc *a, struct anc *up)
{
	a->up = up;
	DL_APPEND(up->down, a);
}

static void hang_controls(const struct nfs4r_core *c, const struct nfs4r_oid *oid, struct anc *up)
{
	struct ctl *k;

	for (k = control_of(c, oid); k; k = k->next)
		if (!k->in) {
			k->in = up;
			DL_APPEND2(up->here[k->claim->key.server], k, in_prev, in_next);
		}
}

/* @oid is counted above: its controls and what is below it get their places, and so do new directories on the path. */
static void hang(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct anc *a = find(c->control.anc, oid), *up;
	struct walk w;

	control_walk_begin(&w, oid);
	while (control_walk_up(c, &w) && (up = find(c->control.anc, &w.oid))) {
		if (w.level == 1)
			hang_controls(c, oid, up);
		else if (a->up)
			return;
		if (a && !a->up)
			hang_in(a, up);
		a = up;
	}
}

/* The opposite, for @oid alone. */
static void unhang(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct anc *a = find(c->control.anc, oid);
	struct ctl *k;

	for (k = control_of(c, oid); k; k = k->next)
		control_anc_forget(k);
	if (a)
		cut_off(a);
}

/* Nothing is below it when the counts are right. */
static void anc_free(struct anc **table, struct anc *a)
{
	while (a->down)
		cut_off(a->down);
	for (int s = 1; s <= NFS4R_SERVERS_MAX; s++)
		while (a->here[s])
			control_anc_forget(a->here[s]);
	cut_off(a);
	HASH_DEL(*table, a);
	free(a);
}

/* The next directory below @top with controls of @owner below it. */
static struct anc *next_below(struct anc *a, const struct anc *top, nfs4r_server_id owner)
{
	struct anc *x;

	for (x = a->down; x; x = x->next)
		if (x->count[owner])
			return x;
	for (; a != top; a = a->up)
		for (x = a->next; x; x = x->next)
			if (x->count[owner])
				return x;
	return NULL;
}

void control_anc_each_below(const struct nfs4r_core *c, const struct nfs4r_oid *dir, nfs4r_server_id owner,
			    bool (*fn)(void *arg, struct ctl *k), void *arg)
{
	struct anc *top = find(c->control.anc, dir), *a;
	struct ctl *k;

	for (a = top; a; a = next_below(a, top, owner))
		for (k = a->here[owner]; k; k = k->in_next)
			if (!fn(arg, k))
				return;
}

static bool collect(void *arg, struct ctl *k)
{
	struct own_list *l = arg;

	l->v = out_grow(l->v, &l->cap, l->n, sizeof(*l->v));
	l->v[l->n++] = k->claim->own;
	return true;
}

void control_anc_own_below(const struct nfs4r_core *c, const struct nfs4r_oid *dir, struct own_list *l)
{
	memset(l, 0, sizeof(*l));
	control_anc_each_below(c, dir, c->self, collect, l);
}

/* ---- counts ------------------------------------------------------------------------------ */

static void add(struct anc **table, const struct nfs4r_oid *dir, nfs4r_server_id owner, int64_t delta)
{
	struct anc *a = find(*table, dir);

	if (!a) {
		a = out_xcalloc(1, sizeof(*a));
		a->oid = *dir;
		HASH_ADD(hh, *table, oid, sizeof(a->oid), a);
	}
	a->count[owner] += (uint32_t)delta;
	for (int s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (a->count[s])
			return;
	anc_free(table, a);
}

static void add_above(struct nfs4r_core *c, struct anc **table, const struct nfs4r_oid *oid, nfs4r_server_id owner,
		      int64_t delta)
{
	struct walk w;

	control_walk_begin(&w, oid);
	while (control_walk_up(c, &w))
		add(table, &w.oid, owner, delta);
}

/* Parts of this copy may be newer than others: it is made anew (log 8.3), or begins behind what a start gave up (log 4.7). */
static bool is_mixed(const struct nfs4r_core *c)
{
	return c->reach.open || c->control.unborn;
}

/*
 * In such a copy a directory may be below itself for a while: it is already where a later move brought it, and what it was moved into is still below it. What
 * is there has no place in the tree, and counts nowhere until the move that takes it out of the ring is here, too.
 */
static bool in_ring(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct walk w;

	if (!is_mixed(c))
		return false;
	control_walk_begin(&w, oid);
	while (control_walk_up(c, &w))
		;
	return w.level >= NFS4R_DEPTH_MAX;
}

static bool counts(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct nfs4r_facts f;

	return control_is_known(c, oid, &f) && !control_is_multi(&f) && !in_ring(c, oid);
}

/* control 8.2: control added or removed. */
void control_anc_control(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id owner, int delta)
{
	if (!counts(c, oid))
		return;
	add_above(c, &c->control.anc, oid, owner, delta);
	if (delta > 0)
		hang(c, oid);
}

/* Servers with a control strictly below @dir. */
nfs4r_servers control_anc_below(const struct nfs4r_core *c, const struct nfs4r_oid *dir)
{
	struct anc *a = find(c->control.anc, dir);
	nfs4r_servers set = 0;

	for (int s = 1; a && s <= NFS4R_SERVERS_MAX; s++)
		if (a->count[s])
			set |= NFS4R_BIT(s);
	return set;
}

/* w of control 8.2: controls on @oid and below it. */
static bool weight(struct nfs4r_core *c, const struct nfs4r_oid *oid, uint32_t w[NFS4R_SERVERS_MAX + 1])
{
	struct anc *a = find(c->control.anc, oid);
	bool any = false;
	struct ctl *k;

	memset(w, 0, (NFS4R_SERVERS_MAX + 1) * sizeof(w[0]));
	if (a)
		memcpy(w, a->count, sizeof(a->count));
	for (k = control_of(c, oid); k; k = k->next)
		w[k->claim->key.server]++;
	for (int s = 1; s <= NFS4R_SERVERS_MAX; s++)
		any |= w[s] != 0;
	return any;
}

static void add_weight(struct nfs4r_core *c, const struct nfs4r_oid *oid, const uint32_t w[], int sign)
{
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (w[s])
			add_above(c, &c->control.anc, oid, s, sign * (int64_t)w[s]);
}

static void goes_above(struct anc_change *ch, const struct nfs4r_oid *oid, const uint32_t w[NFS4R_SERVERS_MAX + 1])
{
	ch->moves = true;
	ch->oid = *oid;
	memcpy(ch->w, w, sizeof(ch->w));
}

/*
 * A copy that is made anew (log 8.3) may have an object already where a later entry moved it, below a directory that only comes now: then there are
 * controls below that directory, which are counted nowhere above it. After a start there may be control of an object whose creation was here and
 * counts for nothing now (log 4.7). Anywhere else nothing has control of what is not here yet, nor of anything below.
 */
static void born(struct nfs4r_core *c, const struct nfs4r_oid *oid, struct anc_change *ch)
{
	uint32_t w[NFS4R_SERVERS_MAX + 1];
	struct nfs4r_facts f;

	if (!is_mixed(c) || control_is_known(c, oid, &f) || f.known != NFS4R_NOT_YET || !weight(c, oid, w))
		return;
	goes_above(ch, oid, w);
}

/* Call before tree->commit(): takes out what the entry moves, kills or links a second time. */
void control_anc_before_commit(struct nfs4r_core *c, struct nfs4r_entry *e, struct anc_change *ch)
{
	memset(ch, 0, sizeof(*ch));
	for (uint32_t i = 0; i < e->nparts; i++) {
		struct nfs4r_part *p = &e->parts[i];
		uint32_t w[NFS4R_SERVERS_MAX + 1];
		struct nfs4r_facts f;

		if (p->effect == NFS4R_EFF_CREATE)
			born(c, &p->oid, ch);
		if (p->effect != NFS4R_EFF_PARENT && p->effect != NFS4R_EFF_LINKS)
			continue;
		if (!control_is_known(c, &p->oid, &f) || control_is_multi(&f) || f.version >= p->after)
			continue;
		if (in_ring(c, &p->oid)) {
			ch->anew = true;
			continue;
		}
		if (p->effect == NFS4R_EFF_LINKS && p->nlink > 0 &&
		    (!p->multi || f.type == NFS4R_TYPE_DIR || FAULT(F_COUNT_FIRST_LINK)))
			continue;
		if (p->effect == NFS4R_EFF_LINKS && p->nlink == 0 && FAULT(F_COUNT_DEAD))
			continue;
		if (p->effect == NFS4R_EFF_PARENT &&
		    (nfs4r_oid_eq(&p->parent, &p->parent_from) || FAULT(F_COUNT_MOVE)))
			continue;
		if (!weight(c, &p->oid, w))
			continue;
		unhang(c, &p->oid);
		add_weight(c, &p->oid, w, -1);
		if (p->effect == NFS4R_EFF_PARENT)
			goes_above(ch, &p->oid, w);
	}
}

void control_anc_after_commit(struct nfs4r_core *c, const struct anc_change *ch)
{
	if (ch->anew || (ch->moves && in_ring(c, &ch->oid))) {
		control_anc_rebuild(c);
		return;
	}
	if (!ch->moves)
		return;
	add_weight(c, &ch->oid, ch->w, 1);
	hang(c, &ch->oid);
}

static void count_all(struct nfs4r_core *c, struct anc **table)
{
	struct ctlobj *o, *tmp;
	struct ctl *k;

	HASH_ITER(hh, c->control.objs, o, tmp) {
		if (!counts(c, &o->oid))
			continue;
		for (k = o->list; k; k = k->next)
			add_above(c, table, &o->oid, (nfs4r_server_id)k->claim->key.server, 1);
	}
}

static bool any_unborn(struct nfs4r_core *c)
{
	struct ctlobj *o, *tmp;
	struct nfs4r_facts f;

	HASH_ITER(hh, c->control.objs, o, tmp)
		if (!control_is_known(c, &o->oid, &f) && f.known == NFS4R_NOT_YET)
			return true;
	return false;
}

static void drop_all(struct anc **table)
{
	struct anc *a, *tmp;

	HASH_ITER(hh, *table, a, tmp)
		anc_free(table, a);
}

void control_anc_rebuild(struct nfs4r_core *c)
{
	struct ctlobj *o, *tmp;

	drop_all(&c->control.anc);
	count_all(c, &c->control.anc);
	c->control.unborn = any_unborn(c);
	HASH_ITER(hh, c->control.objs, o, tmp)
		if (counts(c, &o->oid))
			hang(c, &o->oid);
}

uint32_t nfs4r_core_count_below(const struct nfs4r_core *c, const struct nfs4r_oid *dir, nfs4r_server_id owner)
{
	struct anc *a = find(c->control.anc, dir);

	assert(owner <= NFS4R_SERVERS_MAX);
	return a ? a->count[owner] : 0;
}

/* The directory of the table that @oid hangs in, by the tree; NULL for the root and what does not count. */
static struct anc *place_of(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct walk w;

	control_walk_begin(&w, oid);
	return counts(c, oid) && control_walk_up(c, &w) ? find(c->control.anc, &w.oid) : NULL;
}

static bool places_are_right(struct nfs4r_core *c)
{
	struct ctlobj *o, *otmp;
	struct anc *a, *tmp;
	struct ctl *k;

	HASH_ITER(hh, c->control.anc, a, tmp)
		if (a->up != place_of(c, &a->oid))
			return false;
	HASH_ITER(hh, c->control.objs, o, otmp)
		for (k = o->list; k; k = k->next)
			if (k->in != place_of(c, &o->oid))
				return false;
	return true;
}

bool control_anc_check(const struct nfs4r_core *cc, char *why, size_t why_len)
{
	struct nfs4r_core *c = (struct nfs4r_core *)cc; /* the tree port is not const; nothing is changed */
	struct anc *fresh = NULL, *a, *b, *tmp;
	char name[NFS4R_OID_STRLEN];
	bool ok = true;

	count_all(c, &fresh);
	HASH_ITER(hh, fresh, a, tmp) {
		b = find(c->control.anc, &a->oid);
		if (ok && (!b || memcmp(a->count, b->count, sizeof(a->count)))) {
			snprintf(why, why_len, "ancestry table differs from a recount at %s", nfs4r_oid_str(&a->oid, name));
			ok = false;
		}
	}
	if (ok && HASH_COUNT(fresh) != HASH_COUNT(c->control.anc)) {
		snprintf(why, why_len, "ancestry table has %u directories, a recount %u", HASH_COUNT(c->control.anc),
			 HASH_COUNT(fresh));
		ok = false;
	}
	if (ok && !places_are_right(c)) {
		snprintf(why, why_len, "the ancestry table is not shaped like the tree");
		ok = false;
	}
	drop_all(&fresh);
	return ok;
}
