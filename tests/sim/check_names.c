/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Names mean what was resolved (control 3.4): at the moment an operation starts, under the
 * controls that it has, the oracle must agree with every name in its entry; and no rename may make
 * a directory its own ancestor (control 3.6).
 */
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))

static void bad(struct server *v, const struct nfs4r_entry *e, const char *what)
{
	char text[400];

	entry_print(v->sim, e, text, sizeof(text));
	sim_fail(v->sim, "S%u starts %s: %s", v->id, text, what);
}

static const struct nfs4r_part *part_of(const struct nfs4r_entry *e, uint32_t effect, const struct nfs4r_oid *oid)
{
	for (uint32_t i = 0; i < e->nparts; i++)
		if (e->parts[i].effect == effect && (!oid || nfs4r_oid_eq(&e->parts[i].oid, oid)))
			return &e->parts[i];
	return NULL;
}

static void check_change(struct server *v, const struct nfs4r_entry *e, uint32_t dir, const struct nfs4r_name_change *c)
{
	struct sim *s = v->sim;
	int now = tree_lookup(&s->oracle, dir, name_of(s, &c->name));

	if (nfs4r_oid_is_zero(&c->oid)) { /* taken away: by what the entry says happened to the object */
		if (now < 0)
			bad(v, e, "the name that it removes is not there");
		if (!part_of(e, NFS4R_EFF_LINKS, &s->objs[now].oid) && !part_of(e, NFS4R_EFF_PARENT, &s->objs[now].oid))
			bad(v, e, "the name that it removes means another object");
		return;
	}
	if (now < 0)
		return;
	if (e->op != NFS4R_OP_RENAME)
		bad(v, e, "the name that it makes is there already");
	if (!part_of(e, NFS4R_EFF_LINKS, &s->objs[now].oid))
		bad(v, e, "the name that it replaces means another object");
}

static void check_objects(struct server *v, const struct nfs4r_entry *e)
{
	struct sim *s = v->sim;

	for (uint32_t i = 0; i < e->nparts; i++) {
		const struct nfs4r_part *p = &e->parts[i];
		const struct row *r = tree_get(&s->oracle, obj_of(s, &p->oid));

		if (p->effect == NFS4R_EFF_CREATE) {
			if (r->state != ROW_NONE)
				bad(v, e, "the new object is there already");
			continue;
		}
		if (r->state != ROW_KNOWN)
			bad(v, e, "one of its objects is dead");
		if (p->effect == NFS4R_EFF_NAMES && r->type != NFS4R_TYPE_DIR)
			bad(v, e, "names in something that is no directory");
		if (p->effect == NFS4R_EFF_LINKS && p->nlink == 0 && r->nnames)
			bad(v, e, "it removes a directory that is not empty");
		if (p->effect == NFS4R_EFF_LINKS && p->nlink != r->nlink + 1 && p->nlink != r->nlink - 1)
			bad(v, e, "the number of links is wrong");
	}
}

static void check_no_cycle(struct server *v, const struct nfs4r_op *op, const struct nfs4r_entry *e)
{
	struct sim *s = v->sim;
	const struct nfs4r_part *moved = part_of(e, NFS4R_EFF_PARENT, NULL);
	uint32_t obj, dir;

	if (e->op != NFS4R_OP_RENAME || !moved)
		return;
	obj = obj_of(s, &moved->oid);
	dir = obj_of(s, &op->dir2);
	if (tree_get(&s->oracle, obj)->type != NFS4R_TYPE_DIR)
		return;
	if (obj == dir || tree_below(&s->oracle, dir, obj))
		bad(v, e, "a directory becomes its own ancestor");
}

void check_names_started(struct server *v, const struct nfs4r_op *op, const struct nfs4r_entry *e)
{
	check_objects(v, e);
	for (uint32_t i = 0; i < e->nparts; i++)
		for (uint32_t k = 0; k < e->parts[i].nnames; k++)
			check_change(v, e, obj_of(v->sim, &e->parts[i].oid), &e->parts[i].names[k]);
	check_no_cycle(v, op, e);
}

bool name_was(struct sim *s, uint32_t dir, uint16_t name, bool there, nfs4r_version since)
{
	if ((tree_lookup(&s->oracle, dir, name) >= 0) == there)
		return true;
	/* It is not so now; whoever changed that since then saw it so, just before. */
	for (uint32_t i = s->nents - 1; i > 0; i--) {
		const struct ent *t = &s->ents[i];

		for (uint32_t k = 0; t->e && k < t->e->nparts; k++) {
			const struct nfs4r_part *p = &t->e->parts[k];

			if (p->effect != NFS4R_EFF_NAMES || p->after <= since || obj_of(s, &p->oid) != dir)
				continue;
			for (uint32_t n = 0; n < p->nnames; n++)
				if (name_of(s, &p->names[n].name) == name && /* taken back: it was, and was not */
				    (t->state == ENT_SEALED || nfs4r_oid_is_zero(&p->names[n].oid) == there))
					return true;
		}
	}
	return false;
}
