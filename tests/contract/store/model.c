/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the store should answer, by the plainest means. Dumps list what is reachable from the root. */
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"

struct obj {
	struct nfs4r_row row;
	uint8_t handle[NFS4R_LOCAL_HANDLE_MAX];
	uint8_t handle_len;
	bool dead;
	uint32_t nlocks;
	struct nfs4r_file_lock *locks;
};

struct name {
	struct nfs4r_oid dir;
	struct nfs4r_dirent d;
};

struct model {
	struct nfs4r_oid root;
	struct obj *objs;
	size_t nobjs;
	struct name *names;
	size_t nnames;
	struct nfs4r_put *puts;
	size_t nputs;
};

struct text {
	char *p;
	size_t len, cap;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *fmt, ...)
{
	va_list ap;

	if (t->cap - t->len < 1024)
		t->p = realloc(t->p, t->cap = t->cap * 2 + 8192);
	va_start(ap, fmt);
	t->len += vsnprintf(t->p + t->len, t->cap - t->len, fmt, ap);
	va_end(ap);
}

static void say_row(struct text *t, const struct nfs4r_row *r, const uint8_t *handle, uint32_t len,
		    const struct nfs4r_oid *parents, uint32_t nparents)
{
	char a[NFS4R_OID_STRLEN];

	say(t, "%s type %u v %lx c %ld m %ld nlink %u multi %d entries %lu last %u:%lu h ",
	    nfs4r_oid_str(&r->oid, a), r->type, (unsigned long)r->version, (long)r->ctime, (long)r->mtime,
	    r->nlink, r->multi, (unsigned long)r->nentries, r->last_log, (unsigned long)r->last_lsn);
	for (uint32_t i = 0; i < len; i++)
		say(t, "%02x", handle[i]);
	for (uint32_t i = 0; i < nparents; i++)
		say(t, " p %s", nfs4r_oid_str(&parents[i], a));
	say(t, "\n");
}

static void say_locks(struct text *t, const struct nfs4r_file_lock *l, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, l++)
		say(t, " lock %lx.%lx.%lx.%lx type %u %lu to %lu of %u start %lu request %lu\n", (unsigned long)l->lock.owner.client[0], (unsigned long)l->lock.owner.client[1],
		    (unsigned long)l->lock.owner.owner[0], (unsigned long)l->lock.owner.owner[1], l->lock.type, (unsigned long)l->lock.start, (unsigned long)l->lock.last, l->holder,
		    (unsigned long)l->inc, (unsigned long)l->n);
}

static int cmp_oid(const void *a, const void *b)
{
	return nfs4r_oid_cmp(a, b);
}

static int cmp_cookie(const void *a, const void *b)
{
	const struct nfs4r_dirent *x = a, *y = b;

	return (x->cookie > y->cookie) - (x->cookie < y->cookie);
}

static int cmp_line(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- of the store -------------------------------------------------------------- */

static void store_locks(struct fx *f, struct text *t, const struct nfs4r_oid *oid)
{
	uint32_t n = nfs4r_store_locks(f->s, oid, NULL, 0);
	struct nfs4r_file_lock *l = calloc(n + 1, sizeof(*l));

	assert_int_equal(nfs4r_store_locks(f->s, oid, l, n), n);
	say_locks(t, l, n);
	free(l);
}

static void store_object(struct fx *f, struct text *t, const struct nfs4r_oid *oid)
{
	struct nfs4r_oid parents[64], back;
	uint8_t handle[NFS4R_LOCAL_HANDLE_MAX];
	uint32_t len, n = nfs4r_store_parents(f->s, oid, parents, 64);
	struct nfs4r_dirent d[7], again;
	struct nfs4r_row row;
	uint64_t after = 0;

	assert_int_equal(nfs4r_store_row(f->s, oid, &row), NFS4R_KNOWN);
	assert_int_equal(row.nparents, n);
	if (n)
		assert_true(nfs4r_oid_eq(&row.parent, &parents[0]));
	qsort(parents, n, sizeof(*parents), cmp_oid);
	len = nfs4r_store_handle(f->s, oid, handle);
	if (len) {
		assert_true(nfs4r_store_by_handle(f->s, handle, len, &back));
		assert_true(nfs4r_oid_eq(&back, oid));
	}
	say_row(t, &row, handle, len, parents, n);
	store_locks(f, t, oid);
	if (row.type != NFS4R_TYPE_DIR)
		return;
	for (uint32_t got; (got = nfs4r_store_readdir(f->s, oid, after, d, 7)); after = d[got - 1].cookie) {
		for (uint32_t i = 0; i < got; i++) {
			char a[NFS4R_OID_STRLEN];

			say(t, " %s -> %s %u at %lx\n", d[i].name.s, nfs4r_oid_str(&d[i].oid, a), d[i].type,
			    (unsigned long)d[i].cookie);
			assert_true(nfs4r_store_lookup(f->s, oid, &d[i].name, &again));
			assert_int_equal(again.cookie, d[i].cookie);
			assert_true(nfs4r_oid_eq(&again.oid, &d[i].oid));
			store_object(f, t, &d[i].oid);
		}
	}
	say(t, " end\n");
}

struct core_rows {
	char *lines[256];
	size_t n;
};

static void take_row(void *arg, const uint8_t *key, uint16_t key_len, const uint8_t *val, uint16_t val_len)
{
	struct core_rows *c = arg;

	assert_true(c->n < 256);
	c->lines[c->n] = malloc(800);
	snprintf(c->lines[c->n++], 800, "%.*s = %.*s", key_len, (const char *)key, val_len, (const char *)val);
}

static void say_lines(struct text *t, struct core_rows *c)
{
	qsort(c->lines, c->n, sizeof(*c->lines), cmp_line);
	for (size_t i = 0; i < c->n; i++) {
		say(t, "%s\n", c->lines[i]);
		free(c->lines[i]);
	}
}

char *dump_store(struct fx *f)
{
	struct core_rows c = { .n = 0 };
	struct text t = { 0 };

	store_object(f, &t, &f->root);
	nfs4r_store_each_core_row(f->s, take_row, &c);
	say_lines(&t, &c);
	return t.p;
}

/* ---- of the model ---------------------------------------------------------------- */

static struct obj *obj_of(struct model *m, const struct nfs4r_oid *oid, bool make)
{
	for (size_t i = 0; i < m->nobjs; i++) {
		if (nfs4r_oid_eq(&m->objs[i].row.oid, oid))
			return &m->objs[i];
	}
	if (!make)
		return NULL;
	m->objs = realloc(m->objs, (m->nobjs + 1) * sizeof(*m->objs));
	memset(&m->objs[m->nobjs], 0, sizeof(*m->objs));
	m->objs[m->nobjs].row.oid = *oid;
	return &m->objs[m->nobjs++];
}

struct model *model_new(const struct nfs4r_oid *root)
{
	struct model *m = calloc(1, sizeof(*m));
	struct obj *o;

	m->root = *root;
	o = obj_of(m, root, true);
	o->row.type = NFS4R_TYPE_DIR;
	o->row.version = 1;
	o->row.nlink = 2;
	return m;
}

void model_free(struct model *m)
{
	for (size_t i = 0; i < m->nobjs; i++)
		free(m->objs[i].locks);
	free(m->objs);
	free(m->names);
	free(m->puts);
	free(m);
}

static void model_name(struct model *m, const struct nfs4r_oid *dir, const struct nfs4r_name_change *c)
{
	size_t i = 0;

	while (i < m->nnames && (!nfs4r_oid_eq(&m->names[i].dir, dir) || strcmp(m->names[i].d.name.s, c->name.s)))
		i++;
	if (nfs4r_oid_is_zero(&c->oid)) {
		if (i < m->nnames)
			m->names[i] = m->names[--m->nnames];
		return;
	}
	if (i == m->nnames)
		m->names = realloc(m->names, ++m->nnames * sizeof(*m->names));
	m->names[i].dir = *dir;
	m->names[i].d = (struct nfs4r_dirent){ c->name, c->oid, c->type, c->cookie };
}

void model_apply(struct model *m, const struct nfs4r_entry *e)
{
	for (uint32_t i = 0; i < e->nparts; i++) {
		const struct nfs4r_part *p = &e->parts[i];
		struct obj *o = obj_of(m, &p->oid, p->effect == NFS4R_EFF_CREATE);

		if (!o || o->dead || o->row.version >= p->after)
			continue;
		o->row.version = p->after;
		if (p->effect != NFS4R_EFF_LOCKS)
			o->row.ctime = p->ctime;
		if (p->mtime || (p->effect == NFS4R_EFF_ATTRS && p->attrs.mask & NFS4R_ATTR_MTIME))
			o->row.mtime = p->mtime;
		o->row.last_log = e->log;
		o->row.last_lsn = e->lsn;
		if (p->effect == NFS4R_EFF_CREATE) {
			o->row.type = p->attrs.type;
			o->row.nlink = p->attrs.type == NFS4R_TYPE_DIR ? 2 : 1;
			o->handle_len = e->handle_len;
			memcpy(o->handle, e->handle, e->handle_len);
		}
		if (p->effect == NFS4R_EFF_LINKS) {
			o->row.nlink = p->nlink;
			o->row.multi = p->multi;
			o->dead = !p->nlink;
		}
		if (p->effect == NFS4R_EFF_LOCKS || o->dead) {
			free(o->locks);
			o->nlocks = p->nlocks;
			o->locks = calloc(p->nlocks + 1, sizeof(*o->locks));
			if (p->nlocks)
				memcpy(o->locks, p->locks, p->nlocks * sizeof(*o->locks));
		}
		for (uint32_t k = 0; k < p->nnames; k++)
			model_name(m, &p->oid, &p->names[k]);
	}
}

void model_put(struct model *m, const struct nfs4r_put *p)
{
	size_t i = 0;

	while (i < m->nputs && (m->puts[i].key_len != p->key_len || memcmp(m->puts[i].key, p->key, p->key_len)))
		i++;
	if (p->del) {
		if (i < m->nputs)
			m->puts[i] = m->puts[--m->nputs];
		return;
	}
	if (i == m->nputs)
		m->puts = realloc(m->puts, ++m->nputs * sizeof(*m->puts));
	m->puts[i] = *p;
}

static void model_object(struct model *m, struct text *t, const struct nfs4r_oid *oid)
{
	struct obj *o = obj_of(m, oid, false);
	struct nfs4r_oid parents[64];
	struct nfs4r_dirent *d;
	uint32_t np = 0;
	size_t n = 0;

	assert_non_null(o);
	/* Parents and number of names follow from the names; here they are counted, not kept. */
	for (size_t i = 0; i < m->nnames; i++) {
		uint32_t k = 0;

		if (!nfs4r_oid_eq(&m->names[i].d.oid, oid))
			continue;
		while (k < np && !nfs4r_oid_eq(&parents[k], &m->names[i].dir))
			k++;
		if (k == np)
			parents[np++] = m->names[i].dir;
	}
	qsort(parents, np, sizeof(*parents), cmp_oid);
	d = malloc((m->nnames + 1) * sizeof(*d));
	for (size_t i = 0; i < m->nnames; i++) {
		if (nfs4r_oid_eq(&m->names[i].dir, oid))
			d[n++] = m->names[i].d;
	}
	qsort(d, n, sizeof(*d), cmp_cookie);
	o->row.nentries = n;
	say_row(t, &o->row, o->handle, o->handle_len, parents, np);
	say_locks(t, o->locks, o->nlocks);
	if (o->row.type == NFS4R_TYPE_DIR) {
		for (size_t i = 0; i < n; i++) {
			char a[NFS4R_OID_STRLEN];

			say(t, " %s -> %s %u at %lx\n", d[i].name.s, nfs4r_oid_str(&d[i].oid, a), d[i].type,
			    (unsigned long)d[i].cookie);
			model_object(m, t, &d[i].oid);
		}
		say(t, " end\n");
	}
	free(d);
}

char *model_dump(struct model *m)
{
	struct core_rows c = { .n = 0 };
	struct text t = { 0 };

	model_object(m, &t, &m->root);
	for (size_t i = 0; i < m->nputs; i++)
		take_row(&c, m->puts[i].key, m->puts[i].key_len, m->puts[i].val, m->puts[i].val_len);
	say_lines(&t, &c);
	return t.p;
}
