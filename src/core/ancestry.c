/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Ancestry table (control section 8): directory -> number of controls of each server strictly
 * below it, on this server's tree. One look-up decides whether a deep request is free below.
 *
 * A control counts while it is in the table and its object is alive and not multi (8.1). The
 * table follows three kinds of change: a control comes or goes (anc_control), an entry moves or
 * removes an object or gives it a second name (before and after the commit of that entry), and a
 * restart (anc_rebuild; nothing is stored). Servers may differ while their trees differ; the only
 * invariant is that each equals its own recount, which nfs4r_core_check() verifies.
 */
#include "core/core_int.h"

#include <stdio.h>

static void add(struct anc **table, const struct nfs4r_oid *dir, nfs4r_server_id owner, int64_t delta)
{
	struct anc *a;

	HASH_FIND(hh, *table, dir, sizeof(*dir), a);
	if (!a) {
		a = xcalloc(1, sizeof(*a));
		a->oid = *dir;
		HASH_ADD(hh, *table, oid, sizeof(a->oid), a);
	}
	a->count[owner] += (uint32_t)delta;
	for (int s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (a->count[s])
			return;
	HASH_DEL(*table, a);
	free(a);
}

static void add_above(struct nfs4r_core *c, struct anc **table, const struct nfs4r_oid *oid, nfs4r_server_id owner,
		      int64_t delta)
{
	struct walk w;

	walk_begin(&w, oid);
	while (walk_up(c, &w))
		add(table, &w.oid, owner, delta);
}

static bool counts(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct nfs4r_facts f;

	return is_known(c, oid, &f) && !is_multi(&f);
}

/* 8.2: control added or removed. */
void anc_control(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id owner, int delta)
{
	if (counts(c, oid))
		add_above(c, &c->anc, oid, owner, delta);
}

/* Servers with a control strictly below @dir. */
nfs4r_servers anc_below(const struct nfs4r_core *c, const struct nfs4r_oid *dir)
{
	nfs4r_servers set = 0;
	struct anc *a;

	HASH_FIND(hh, c->anc, dir, sizeof(*dir), a);
	for (int s = 1; a && s <= NFS4R_SERVERS_MAX; s++)
		if (a->count[s])
			set |= NFS4R_BIT(s);
	return set;
}

/* w of 8.2: controls on @oid and below it. */
static bool weight(struct nfs4r_core *c, const struct nfs4r_oid *oid, uint32_t w[NFS4R_SERVERS_MAX + 1])
{
	bool any = false;
	struct anc *a;
	struct ctl *k;

	memset(w, 0, (NFS4R_SERVERS_MAX + 1) * sizeof(w[0]));
	HASH_FIND(hh, c->anc, oid, sizeof(*oid), a);
	if (a)
		memcpy(w, a->count, sizeof(a->count));
	for (k = controls_of(c, oid); k; k = k->next)
		w[k->claim->key.server]++;
	for (int s = 1; s <= NFS4R_SERVERS_MAX; s++)
		any |= w[s] != 0;
	return any;
}

static void add_weight(struct nfs4r_core *c, const struct nfs4r_oid *oid, const uint32_t w[], int sign)
{
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (w[s])
			add_above(c, &c->anc, oid, s, sign * (int64_t)w[s]);
}

/* Call before tree->commit(): takes out what the entry moves, kills or links a second time. */
void anc_before_commit(struct nfs4r_core *c, struct nfs4r_entry *e, struct anc_change *ch)
{
	memset(ch, 0, sizeof(*ch));
	for (uint32_t i = 0; i < e->nparts; i++) {
		struct nfs4r_part *p = &e->parts[i];
		uint32_t w[NFS4R_SERVERS_MAX + 1];
		struct nfs4r_facts f;

		if (p->effect != NFS4R_EFF_PARENT && p->effect != NFS4R_EFF_LINKS)
			continue;
		if (!is_known(c, &p->oid, &f) || is_multi(&f) || f.version >= p->after)
			continue;
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
		add_weight(c, &p->oid, w, -1);
		if (p->effect == NFS4R_EFF_PARENT) {
			ch->moves = true;
			ch->oid = p->oid;
			memcpy(ch->w, w, sizeof(w));
		}
	}
}

void anc_after_commit(struct nfs4r_core *c, const struct anc_change *ch)
{
	if (ch->moves)
		add_weight(c, &ch->oid, ch->w, 1);
}

static void count_all(struct nfs4r_core *c, struct anc **table)
{
	struct ctlobj *o, *tmp;
	struct ctl *k;

	HASH_ITER(hh, c->objs, o, tmp) {
		if (!counts(c, &o->oid))
			continue;
		for (k = o->list; k; k = k->next)
			add_above(c, table, &o->oid, (nfs4r_server_id)k->claim->key.server, 1);
	}
}

static void drop_all(struct anc **table)
{
	struct anc *a, *tmp;

	HASH_ITER(hh, *table, a, tmp) {
		HASH_DEL(*table, a);
		free(a);
	}
}

void anc_rebuild(struct nfs4r_core *c)
{
	drop_all(&c->anc);
	count_all(c, &c->anc);
}

uint32_t nfs4r_core_count_below(const struct nfs4r_core *c, const struct nfs4r_oid *dir, nfs4r_server_id owner)
{
	struct anc *a;

	assert(owner <= NFS4R_SERVERS_MAX);
	HASH_FIND(hh, c->anc, dir, sizeof(*dir), a);
	return a ? a->count[owner] : 0;
}

bool nfs4r_core_check(const struct nfs4r_core *cc, char *why, size_t why_len)
{
	struct nfs4r_core *c = (struct nfs4r_core *)cc; /* the tree port is not const; nothing is changed */
	struct anc *fresh = NULL, *a, *b, *tmp;
	char name[NFS4R_OID_STRLEN];
	bool ok = true;

	count_all(c, &fresh);
	HASH_ITER(hh, fresh, a, tmp) {
		HASH_FIND(hh, c->anc, &a->oid, sizeof(a->oid), b);
		if (ok && (!b || memcmp(a->count, b->count, sizeof(a->count)))) {
			snprintf(why, why_len, "ancestry table differs from a recount at %s", nfs4r_oid_str(&a->oid, name));
			ok = false;
		}
	}
	if (ok && HASH_COUNT(fresh) != HASH_COUNT(c->anc)) {
		snprintf(why, why_len, "ancestry table has %u directories, a recount %u", HASH_COUNT(c->anc),
			 HASH_COUNT(fresh));
		ok = false;
	}
	drop_all(&fresh);
	return ok;
}
