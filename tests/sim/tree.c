/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A server's tree in memory: rows with version, type, multi flag, parents, names, and the bytes
 * of files, which are 4-byte identities of their writers, so that two copies can be compared
 * exactly. The same code keeps the oracle (check_entries.c): every entry applied at the moment
 * of its execution.
 *
 * A part is applied when its object is older than the part's `after`; the core promises that the
 * version there is then `before`. Anything else is a finding, not a reason to go on.
 */
#include "sim.h"

static const struct row no_row;
static const uint8_t zeros[CONTENT_MAX];

void row_fini(struct row *r)
{
	free(r->names);
	free(r->bytes);
	free(r->locks);
	memset(r, 0, sizeof(*r));
}

static void set_locks(struct row *r, const struct nfs4r_file_lock *locks, uint32_t n)
{
	free(r->locks);
	r->nlocks = n;
	r->locks = n ? malloc(n * sizeof(*locks)) : NULL;
	if (n)
		memcpy(r->locks, locks, n * sizeof(*locks));
}

void row_copy(struct row *to, const struct row *from)
{
	*to = *from;
	to->names_cap = to->nnames;
	to->names = NULL;
	if (to->nnames) {
		to->names = malloc(to->nnames * sizeof(*to->names));
		memcpy(to->names, from->names, to->nnames * sizeof(*to->names));
	}
	if (from->bytes) {
		to->bytes = malloc(CONTENT_MAX);
		memcpy(to->bytes, from->bytes, CONTENT_MAX);
	}
	to->locks = NULL;
	set_locks(to, from->locks, from->nlocks);
}

void tree_fini(struct tree *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		row_fini(&t->rows[i]);
	free(t->rows);
	memset(t, 0, sizeof(*t));
}

void tree_copy(struct tree *to, const struct tree *from)
{
	tree_fini(to);
	to->n = from->n;
	to->rows = calloc(from->n ? from->n : 1, sizeof(*to->rows));
	for (uint32_t i = 0; i < from->n; i++)
		row_copy(&to->rows[i], &from->rows[i]);
}

struct row *tree_row(struct tree *t, uint32_t obj)
{
	if (obj >= t->n) {
		uint32_t n = (obj + 64) & ~63u;

		t->rows = realloc(t->rows, n * sizeof(*t->rows));
		memset(t->rows + t->n, 0, (n - t->n) * sizeof(*t->rows));
		t->n = n;
	}
	return &t->rows[obj];
}

void tree_install(struct tree *t, uint32_t obj, const struct row *row)
{
	struct row *r = tree_row(t, obj);

	row_fini(r);
	row_copy(r, row);
}

const struct row *tree_get(const struct tree *t, uint32_t obj)
{
	return obj < t->n ? &t->rows[obj] : &no_row;
}

static struct name_row *row_name(const struct row *r, uint16_t name)
{
	for (uint32_t i = 0; i < r->nnames; i++)
		if (r->names[i].name == name)
			return &r->names[i];
	return NULL;
}

int tree_lookup(const struct tree *t, uint32_t dir, uint16_t name)
{
	const struct name_row *n = row_name(tree_get(t, dir), name);

	return n ? (int)n->obj : -1;
}

bool tree_below(const struct tree *t, uint32_t obj, uint32_t dir)
{
	const struct row *r = tree_get(t, obj);

	for (uint32_t hops = 0; hops < NFS4R_DEPTH_MAX; hops++) {
		if (r->state == ROW_NONE || r->multi || r->nparents != 1)
			return false;
		if (r->parents[0] == dir)
			return true;
		r = tree_get(t, r->parents[0]);
	}
	return false;
}

uint64_t row_hash(const struct row *r)
{
	uint64_t h = hash_mix(7, r->state);
	uint64_t names = 0, parents = 0;

	if (r->state == ROW_DEAD)
		return h;
	h = hash_mix(h, (uint64_t)r->type << 32 | r->multi);
	h = hash_mix(h, (uint64_t)r->nlink << 32 | r->mode);
	h = hash_mix(h, r->size);
	h = hash_mix(h, r->xattr);
	for (uint32_t i = 0; i < r->nnames; i++) /* sums: the order of rows has no meaning */
		names += hash_mix(hash_mix(r->names[i].name, r->names[i].obj), r->names[i].type);
	for (uint32_t i = 0; i < r->nparents; i++)
		parents += hash_mix(3, r->parents[i]);
	h = hash_mix(hash_mix(h, names), parents);
	for (uint32_t i = 0; i < r->nlocks; i++)
		h = hash_mix(hash_mix(hash_mix(h, r->locks[i].lock.owner.owner[0]), r->locks[i].lock.start), r->locks[i].n);
	return r->bytes && memcmp(r->bytes, zeros, CONTENT_MAX) ? hash_bytes(h, r->bytes, CONTENT_MAX) : h;
}

/* ---- effects --------------------------------------------------------------------- */

static void gain_parent(struct row *r, uint32_t dir)
{
	if (r->nparents < PARENTS_MAX)
		r->parents[r->nparents++] = dir;
}

static void lose_parent(struct row *r, uint32_t dir)
{
	for (uint32_t i = 0; i < r->nparents; i++) {
		if (r->parents[i] != dir)
			continue;
		r->parents[i] = r->parents[--r->nparents];
		return;
	}
}

static void set_size(struct row *r, uint64_t size)
{
	if (size > CONTENT_MAX)
		size = CONTENT_MAX;
	if (r->bytes && size < r->size)
		memset(r->bytes + size, 0, CONTENT_MAX - size);
	r->size = (uint32_t)size;
}

static uint8_t *row_bytes(struct row *r)
{
	if (!r->bytes)
		r->bytes = calloc(1, CONTENT_MAX);
	return r->bytes;
}

static void eff_names(struct sim *s, struct row *r, const struct nfs4r_part *p)
{
	for (uint32_t i = 0; i < p->nnames; i++) {
		const struct nfs4r_name_change *c = &p->names[i];
		uint16_t name = name_of(s, &c->name);
		struct name_row *n = row_name(r, name);

		if (nfs4r_oid_is_zero(&c->oid)) {
			if (n)
				*n = r->names[--r->nnames];
			continue;
		}
		if (!n) {
			if (r->nnames == r->names_cap) {
				r->names_cap = r->names_cap ? r->names_cap * 2 : 4;
				r->names = realloc(r->names, r->names_cap * sizeof(*r->names));
			}
			n = &r->names[r->nnames++];
			n->name = name;
		}
		n->obj = obj_of(s, &c->oid);
		n->type = c->type;
		n->cookie = c->cookie;
	}
}

static void eff_write(struct row *r, const struct nfs4r_part *p, const struct nfs4r_buf *payload, bool short_of)
{
	uint64_t end = p->off + p->len;

	if (end > CONTENT_MAX)
		end = CONTENT_MAX;
	if (end <= p->off)
		return;
	if (short_of && payload && payload->len < end - p->off) /* read back: never longer than its own bytes (log 3.6) */
		end = p->off + payload->len;
	if (short_of && !payload)
		return;
	if (payload && payload->len >= end - p->off)
		memcpy(row_bytes(r) + p->off, payload->data, end - p->off);
	if (end > r->size)
		r->size = (uint32_t)end;
}

static void eff_xattr(struct row *r, const struct nfs4r_part *p, const struct nfs4r_buf *payload)
{
	r->xattr = p->xremove || !payload ? 0 : hash_bytes(11, payload->data, payload->len);
}

static void eff_alloc(struct row *r, const struct nfs4r_part *p)
{
	uint64_t end = p->off + p->len > CONTENT_MAX ? CONTENT_MAX : p->off + p->len;

	if (p->punch && r->bytes && end > p->off)
		memset(r->bytes + p->off, 0, end - p->off);
	if (!p->punch && end > r->size)
		r->size = (uint32_t)end;
}

void row_effect(struct sim *s, struct row *r, const struct nfs4r_part *p, const struct nfs4r_entry *e)
{
	switch (p->effect) {
	case NFS4R_EFF_CREATE:
		r->state = ROW_KNOWN;
		r->type = (uint8_t)p->attrs.type;
		r->mode = p->attrs.mode;
		r->nlink = 1;
		r->nparents = 0;
		gain_parent(r, obj_of(s, &p->parent));
		break;
	case NFS4R_EFF_WRITE:
		eff_write(r, p, e->payload, e->fuzzy_log != 0);
		break;
	case NFS4R_EFF_ATTRS:
		if (p->attrs.mask & NFS4R_ATTR_MODE)
			r->mode = p->attrs.mode;
		if (p->attrs.mask & NFS4R_ATTR_SIZE)
			set_size(r, p->attrs.size);
		break;
	case NFS4R_EFF_XATTR:
		eff_xattr(r, p, e->payload);
		break;
	case NFS4R_EFF_NAMES:
		eff_names(s, r, p);
		break;
	case NFS4R_EFF_LINKS:
		r->nlink = p->nlink;
		r->multi = p->multi;
		if (!nfs4r_oid_is_zero(&p->parent)) {
			if (p->parent_gained)
				gain_parent(r, obj_of(s, &p->parent));
			else
				lose_parent(r, obj_of(s, &p->parent));
		}
		if (p->nlink == 0) {
			r->state = ROW_DEAD;
			r->nnames = 0;
			set_locks(r, NULL, 0);
		}
		break;
	case NFS4R_EFF_PARENT:
		lose_parent(r, obj_of(s, &p->parent_from));
		gain_parent(r, obj_of(s, &p->parent));
		break;
	case NFS4R_EFF_ALLOC:
		eff_alloc(r, p);
		break;
	case NFS4R_EFF_LOCKS:
		set_locks(r, p->locks, p->nlocks);
		break;
	default:
		break;
	}
}

const char *tree_apply(struct sim *s, struct tree *t, const struct nfs4r_entry *e, bool own)
{
	static char why[160];

	for (uint32_t i = 0; i < e->nparts; i++) {
		const struct nfs4r_part *p = &e->parts[i];
		uint32_t obj;
		struct row *r;

		if (p->effect == NFS4R_EFF_CLIENT) /* of no object */
			continue;
		obj = obj_of(s, &p->oid);
		/* obj_of() of names and parents may not move rows, but tree_row() may: look it up here. */
		r = tree_row(t, obj);
		if (r->state == ROW_DEAD || r->version >= p->after) {
			if (own) {
				snprintf(why, sizeof(why), "own entry on %s v%llu, which is %s v%llu", obj_str(s, obj),
					 (unsigned long long)p->after, r->state == ROW_DEAD ? "dead" : "there",
					 (unsigned long long)r->version);
				return why;
			}
			continue;
		}
		if (r->version != p->before) {
			snprintf(why, sizeof(why), "%s has v%llu, the entry wants v%llu -> v%llu", obj_str(s, obj),
				 (unsigned long long)r->version, (unsigned long long)p->before,
				 (unsigned long long)p->after);
			return why;
		}
		row_effect(s, r, p, e);
		r->version = p->after;
		r->last_log = e->log;
		r->last_lsn = e->lsn;
	}
	return NULL;
}

void row_print(struct sim *s, const struct row *r, char *buf, size_t len)
{
	size_t n = 0;
	static const char *const states[] = { "none", "known", "dead" };

	n += snprintf(buf, len, "%s t%u v%llu nlink %u multi %u mode %o size %u parents", states[r->state], r->type,
		      (unsigned long long)r->version, r->nlink, r->multi, r->mode, r->size);
	for (uint32_t i = 0; i < r->nparents && n < len; i++)
		n += snprintf(buf + n, len - n, " %s", obj_str(s, r->parents[i]));
	for (uint32_t i = 0; i < r->nnames && n < len; i++)
		n += snprintf(buf + n, len - n, " %s=%s", s->names[r->names[i].name], obj_str(s, r->names[i].obj));
	for (uint32_t i = 0; r->bytes && i < r->size / 4 && n < len; i++) {
		uint32_t w;

		memcpy(&w, r->bytes + 4 * i, 4);
		n += snprintf(buf + n, len - n, " #%u", w);
	}
}
