/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Room and limits (log 4.12): what the primary refuses because some server could not apply it.
 *
 * Happy path: each server measures the room that it has and tells everybody in SPACE, together with how far it had the receiver's
 * log by then. The primary adds up what its own later entries may take there, and executes an update only if it fits besides that.
 * Each member has several writers, which do not know of each other's newest entries. So a primary uses at most a part of the
 * room that it was told: one of twice as many parts as there are members. The next measurement divides what is left.
 *
 * Failure modes: there is room, and entries under way may take it: the update waits for the next measurement, and its client hears
 * DELAY at its deadline. There is none: NOSPC, unless own entries that may have freed some are not in the measurement yet. A server that
 * has told nothing since this one's start limits nothing. What others write to its disks meanwhile is what its reserve is for; if that is used up as well,
 * it leaves the view (log 4.8).
 *
 * Invariants: what makes room, or needs none, is never refused for lack of it, but for the journal's last part. Nothing was executed or
 * logged when an update is refused here.
 */
#include "core/ops/ops_int.h"

#define BLOCK 4096u
#define OBJECT_BYTES (2 * BLOCK) /* a name in a directory that has to grow, an inode or a block of attributes */
#define RECORD_BYTES 2048u /* in the journal and in LMDB, of one update */
#define CREATE_BYTES 16384u /* of a stable WRITE, which the journal may keep (log 4.10) */
#define CHANGE_FLOOR (1u << 20) /* room for the journal that is left to updates that free something */

struct cost { /* of one update, at each server; more than it really takes */
	uint64_t bytes, inodes, store;
	bool frees; /* it may make room, and goes on whatever there is */
	bool changes; /* it needs no room but the journal's */
};

enum verdict {
	FITS,
	LATER,
	NEVER
};

#define LSN_MAX UINT64_MAX

/* ---- what an update may take --------------------------------------------------- */

static uint64_t data_len(const struct nfs4r_op *op)
{
	return op->data ? op->data->len : op->length;
}

static uint64_t bytes_cost(uint64_t off, uint64_t len)
{
	uint64_t end = off + len < off ? UINT64_MAX - BLOCK : off + len;

	return (end / BLOCK - off / BLOCK + 1) * BLOCK + len / 256 + OBJECT_BYTES;
}

static void cost_of_attrs(const struct nfs4r_attrs *a, struct cost *k)
{
	if (a->mask & NFS4R_ATTR_ACL && a->acl && a->acl->len)
		k->bytes = OBJECT_BYTES;
	else if (a->mask & NFS4R_ATTR_SIZE)
		k->frees = true; /* the rest is a hole */
	else
		k->changes = true;
}

static void cost_of(const struct nfs4r_op *op, struct cost *k)
{
	*k = (struct cost){ .store = RECORD_BYTES };
	switch (op->type) {
	case NFS4R_OP_CREATE:
	case NFS4R_OP_MKDIR:
	case NFS4R_OP_SYMLINK:
	case NFS4R_OP_MKNOD:
	case NFS4R_OP_ADOPT:
		k->bytes = 2 * OBJECT_BYTES;
		k->inodes = 1;
		k->store += RECORD_BYTES;
		break;
	case NFS4R_OP_LINK:
		k->bytes = OBJECT_BYTES;
		break;
	case NFS4R_OP_WRITE:
		k->bytes = bytes_cost(op->offset, data_len(op));
		k->store += op->stable && data_len(op) <= CREATE_BYTES ? data_len(op) : 0;
		break;
	case NFS4R_OP_ALLOCATE:
		k->bytes = bytes_cost(op->offset, op->length);
		break;
	case NFS4R_OP_SETXATTR:
		k->bytes = bytes_cost(0, data_len(op));
		break;
	case NFS4R_OP_SETATTR:
		cost_of_attrs(&op->attrs, k);
		break;
	case NFS4R_OP_RENAME:
		k->changes = true;
		break;
	default: /* REMOVE, REMOVEXATTR, DEALLOCATE */
		k->frees = true;
		break;
	}
}

/* ---- own entries under way ------------------------------------------------------ */

/* Sums up to the newest entry that is not after @lsn. */
static struct spent spent_to(const struct nfs4r_core *c, nfs4r_lsn lsn)
{
	const struct space *s = &c->ops.space;
	uint32_t lo = 0, hi = s->nspent;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->spent[mid].lsn <= lsn)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo)
		return s->spent[lo - 1];
	return s->before;
}

/* Entries that every member's measurement has are not needed any more. */
static void forget_spent(struct nfs4r_core *c)
{
	struct space *s = &c->ops.space;
	nfs4r_lsn least = LSN_MAX;
	uint32_t n = 0;

	EACH_OF(c->view.adopted.members, m)
		if (s->of[m].known && s->of[m].at < least)
			least = s->of[m].at;
	while (n < s->nspent && s->spent[n].lsn <= least)
		n++;
	if (!n || (n < 64 && n < s->nspent))
		return;
	s->before = s->spent[n - 1];
	memmove(s->spent, s->spent + n, (s->nspent - n) * sizeof(*s->spent));
	s->nspent -= n;
}

static void spend(struct nfs4r_core *c, nfs4r_lsn lsn, const struct cost *k)
{
	struct space *s = &c->ops.space;
	struct spent last = s->nspent ? s->spent[s->nspent - 1] : s->before;

	s->spent = out_grow(s->spent, &s->cap, s->nspent, sizeof(*s->spent));
	s->spent[s->nspent++] = (struct spent){ lsn, last.bytes + k->bytes, last.inodes + k->inodes, last.store + k->store };
}

void ops_space_spend(struct nfs4r_core *c, const struct nfs4r_op *op, nfs4r_lsn lsn)
{
	struct cost k;

	if (!c->ops.space.of[c->self].known)
		return;
	cost_of(op, &k);
	spend(c, lsn, &k);
	if (k.frees)
		c->ops.space.freed = lsn;
}

/* ---- does it fit? ------------------------------------------------------------------ */

static uint64_t above_reserve(const struct nfs4r_room *r)
{
	if (!r->total)
		return UINT64_MAX;
	return r->free > r->reserve ? r->free - r->reserve : 0;
}

/* What one primary may use of it before the next measurement. */
static uint64_t share_of(const struct nfs4r_core *c, uint64_t room)
{
	uint32_t n = (uint32_t)__builtin_popcountll(c->view.adopted.members);

	return n > 1 && !FAULT(F_SPACE_WHOLE) ? room / (2 * n) : room;
}

static enum verdict one_room(const struct nfs4r_core *c, const struct nfs4r_room *r, uint64_t used, uint64_t need)
{
	uint64_t share = share_of(c, above_reserve(r));

	if (!need || !r->total)
		return FITS;
	if (FAULT(F_SPACE_UNDER_WAY))
		used = 0;
	if (need > share)
		return NEVER;
	return used <= share - need ? FITS : LATER;
}

static enum verdict worse(enum verdict a, enum verdict b)
{
	return a > b ? a : b;
}

/* For updates that free nothing and need nothing: the journal's last part is for those that do. */
static bool journal_has_room(const struct peer_space *t)
{
	const struct nfs4r_room *r = &t->space.store;
	uint64_t floor = r->reserve / 8 < CHANGE_FLOOR ? r->reserve / 8 : CHANGE_FLOOR;

	return !r->total || r->free >= floor;
}

static enum verdict at_member(const struct nfs4r_core *c, nfs4r_server_id m, const struct cost *k)
{
	const struct peer_space *t = &c->ops.space.of[m];
	const struct nfs4r_space *sp = &t->space;
	struct spent end = spent_to(c, LSN_MAX), had = spent_to(c, t->at);
	uint64_t bytes = end.bytes - had.bytes, inodes = end.inodes - had.inodes, store = end.store - had.store;
	enum verdict v;

	if (!t->known || k->frees)
		return FITS;
	if (k->changes)
		return journal_has_room(t) ? FITS : NEVER;
	v = one_room(c, &sp->inodes, inodes, k->inodes);
	if (sp->shared)
		return worse(v, one_room(c, &sp->tree, bytes + store, k->bytes + k->store));
	v = worse(v, one_room(c, &sp->tree, bytes, k->bytes));
	return worse(v, one_room(c, &sp->store, store, k->store));
}

/* Its own entries after that measurement may have freed something there. */
static bool may_have_more(const struct nfs4r_core *c, nfs4r_server_id m)
{
	return c->ops.space.freed > c->ops.space.of[m].at;
}

static enum nfs4r_status room_for(struct nfs4r_core *c, const struct nfs4r_op *op)
{
	nfs4r_servers members = c->view.adopted.members;
	enum nfs4r_status st = NFS4R_OK;
	struct cost k;

	if (FAULT(F_SPACE_IGNORED))
		return NFS4R_OK;
	if (op->here_only) /* an import: what it takes in has its room here already */
		members &= ~NFS4R_BIT(c->self);
	cost_of(op, &k);
	EACH_OF(members, m) {
		enum verdict v = at_member(c, m, &k);

		if (v == NEVER && !may_have_more(c, m))
			return NFS4R_NOSPC;
		if (v != FITS)
			st = NFS4R_DELAY;
	}
	return st;
}

/* ---- limits --------------------------------------------------------------------------- */

static bool is_utf8(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;

	while (*p) {
		uint32_t n = *p < 0x80 ? 0 : *p >= 0xc2 && *p < 0xe0 ? 1 :
			*p >= 0xe0 && *p < 0xf0			     ? 2 :
			*p >= 0xf0 && *p < 0xf5			     ? 3 :
								       UINT32_MAX;

		if (n == UINT32_MAX || (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] >= 0xa0) || (*p == 0xf0 && p[1] < 0x90) ||
		    (*p == 0xf4 && p[1] >= 0x90))
			return false;
		for (p++; n; n--, p++)
			if ((*p & 0xc0) != 0x80)
				return false;
	}
	return true;
}

/* The name that the operation makes, or NULL. */
static const struct nfs4r_name *new_name(const struct nfs4r_op *op)
{
	if (op->type == NFS4R_OP_RENAME)
		return &op->name2;
	return nfs4r_op_is_dirop(op->type) && op->type != NFS4R_OP_REMOVE ? &op->name : NULL;
}

static uint64_t size_after(const struct nfs4r_op *op)
{
	switch (op->type) {
	case NFS4R_OP_WRITE:
		return op->offset + data_len(op) < op->offset ? UINT64_MAX : op->offset + data_len(op);
	case NFS4R_OP_ALLOCATE:
		return op->offset + op->length < op->offset ? UINT64_MAX : op->offset + op->length;
	case NFS4R_OP_SETATTR:
	case NFS4R_OP_CREATE:
		return op->attrs.mask & NFS4R_ATTR_SIZE ? op->attrs.size : 0;
	default:
		return 0;
	}
}

static enum nfs4r_status within(struct nfs4r_core *c, const struct nfs4r_op *op, const struct nfs4r_limits *l)
{
	const struct nfs4r_name *name = new_name(op);
	bool acl = op->attrs.mask & NFS4R_ATTR_ACL && op->attrs.acl && op->attrs.acl->len;
	struct nfs4r_facts f;

	if (name && l->name_max && strlen(name->s) > l->name_max)
		return NFS4R_NAMETOOLONG;
	if (name && !(l->has & NFS4R_HAS_BYTES) && !is_utf8(name->s))
		return NFS4R_INVAL;
	if (op->type == NFS4R_OP_SYMLINK && l->text_max && op->text && strlen(op->text) > l->text_max)
		return NFS4R_NAMETOOLONG;
	if (l->file_max && size_after(op) > l->file_max)
		return NFS4R_FBIG;
	if (acl && !(l->has & NFS4R_HAS_ACLS))
		return NFS4R_NOTSUPP;
	if (op->type == NFS4R_OP_SETXATTR && !(l->has & NFS4R_HAS_XATTRS))
		return NFS4R_NOTSUPP;
	if (op->type == NFS4R_OP_SETXATTR && l->xattr_max && data_len(op) > l->xattr_max)
		return NFS4R_XATTR2BIG;
	if (op->type == NFS4R_OP_LINK && l->link_max && control_is_known(c, &op->obj, &f) && f.nlink >= l->link_max)
		return NFS4R_MLINK;
	return NFS4R_OK;
}

static void smaller(uint64_t *least, nfs4r_server_id *by, uint64_t v, nfs4r_server_id s)
{
	if (!v || (*least && *least <= v))
		return;
	*least = v;
	*by = s;
}

static void smaller32(uint32_t *least, nfs4r_server_id *by, uint32_t v, nfs4r_server_id s)
{
	uint64_t l = *least;

	smaller(&l, by, v, s);
	*least = (uint32_t)l;
}

static void narrower(struct nfs4r_core_room *out, const struct nfs4r_limits *l, nfs4r_server_id s)
{
	bool known = out->time_by;

	if (!l->time_min && !l->time_max)
		return;
	if (!known || l->time_max < out->limits.time_max) {
		out->limits.time_max = l->time_max;
		out->time_by = s;
	}
	if (!known || l->time_min > out->limits.time_min)
		out->limits.time_min = l->time_min;
}

static void take_limits(const struct nfs4r_core *c, struct nfs4r_core_room *out)
{
	out->limits.has = NFS4R_HAS_ALL;
	EACH_OF(servers_of(c), s) {
		const struct nfs4r_limits *l = &c->ops.space.of[s].limits;

		if (!c->ops.space.of[s].limits_known)
			continue;
		smaller(&out->limits.file_max, &out->file_by, l->file_max, s);
		smaller(&out->limits.text_max, &out->text_by, l->text_max, s);
		smaller32(&out->limits.xattr_max, &out->xattr_by, l->xattr_max, s);
		smaller32(&out->limits.name_max, &out->name_by, l->name_max, s);
		smaller32(&out->limits.link_max, &out->link_by, l->link_max, s);
		narrower(out, l, s);
		out->limits.has &= l->has;
	}
}

enum nfs4r_status ops_space_may(struct nfs4r_core *c, const struct nfs4r_op *op)
{
	struct nfs4r_core_room all = { 0 };
	enum nfs4r_status st;

	if (op->type == NFS4R_OP_CLAIM || op->type == NFS4R_OP_CLOSE || !c->ops.space.of[c->self].known)
		return NFS4R_OK;
	take_limits(c, &all);
	st = FAULT(F_LIMITS_OWN) ? NFS4R_OK : within(c, op, &all.limits);
	return st != NFS4R_OK ? st : room_for(c, op);
}

/* ---- times ---------------------------------------------------------------------------- */

#define NS_PER_S INT64_C(1000000000)

static int64_t fit(int64_t ns, const struct nfs4r_limits *l)
{
	int64_t s = ns / NS_PER_S - (ns % NS_PER_S < 0);

	if (s <= l->time_min) /* like the kernel, whole seconds at both ends. No overflow: the limit is between 0 and a time of 64 bits of ns */
		return l->time_min * NS_PER_S;
	return s >= l->time_max ? l->time_max * NS_PER_S : ns;
}

void ops_space_fit_times(const struct nfs4r_core *c, struct nfs4r_op *op)
{
	struct nfs4r_core_room all = { 0 };

	if (!(op->attrs.mask & (NFS4R_ATTR_ATIME | NFS4R_ATTR_MTIME)) || op->here_only || FAULT(F_LIMITS_OWN))
		return;
	take_limits(c, &all);
	if (!all.time_by)
		return;
	op->attrs.atime = fit(op->attrs.atime, &all.limits);
	op->attrs.mtime = fit(op->attrs.mtime, &all.limits);
}

/* ---- telling and hearing ------------------------------------------------------------------ */

static void tell(struct nfs4r_core *c, nfs4r_server_id to)
{
	const struct space *s = &c->ops.space;
	struct nfs4r_msg *m;

	if (!s->of[c->self].known || c->halted)
		return;
	m = out_msg(c, NFS4R_MSG_SPACE);
	m->space.applied = s->measured_at[to];
	m->space.space = s->of[c->self].space;
	m->space.limits = s->of[c->self].limits;
	m->space.remarks = s->of[c->self].remarks;
	out_send(c, to, m, false);
}

void ops_space_peer_up(struct nfs4r_core *c, nfs4r_server_id s)
{
	tell(c, s);
}

/* What a server tells of its limits outlives this start: it may be away after it. */
static void keep_limits(struct nfs4r_core *c, nfs4r_server_id s, const struct nfs4r_limits *l)
{
	struct peer_space *t = &c->ops.space.of[s];
	struct nfs4r_put p;

	if (t->limits_known && memcmp(&t->limits, l, sizeof(*l)) == 0)
		return;
	t->limits = *l;
	t->limits_known = true;
	row_limits(s, l, &p);
	out_put(c, &p);
}

static void take(struct nfs4r_core *c, nfs4r_server_id s, const struct nfs4r_space *sp, nfs4r_lsn at)
{
	struct peer_space *t = &c->ops.space.of[s];

	t->known = true;
	t->space = *sp;
	t->at = at;
	forget_spent(c);
	c->dirty |= DIRTY_OPS; /* what waits for room */
}

void ops_space_measured(struct nfs4r_core *c, const struct nfs4r_event *ev)
{
	memcpy(c->ops.space.measured_at, ev->stable, sizeof(ev->stable));
	keep_limits(c, c->self, ev->limits);
	c->ops.space.of[c->self].remarks = ev->remarks ? *ev->remarks : (struct nfs4r_remarks){ 0 };
	take(c, c->self, ev->space, ev->stable[c->self]);
	EACH_PEER(c, s)
		tell(c, s);
}

void ops_space_on_msg(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	keep_limits(c, from, &m->space.limits);
	c->ops.space.of[from].remarks = m->space.remarks;
	take(c, from, &m->space.space, m->space.applied);
}

/* An own entry of an earlier start, which somebody may not have: nobody remembers what it is, so the most is assumed. */
void ops_space_restore(struct nfs4r_core *c, nfs4r_lsn lsn, uint64_t payload_bytes)
{
	struct cost k = { .bytes = bytes_cost(0, payload_bytes) + OBJECT_BYTES, .inodes = 1, .store = 2 * RECORD_BYTES };

	spend(c, lsn, &k);
}

void ops_space_fini(struct nfs4r_core *c)
{
	free(c->ops.space.spent);
}

/* ---- for people and for df ------------------------------------------------------------------ */

static void least_room(struct nfs4r_core_least *l, const struct nfs4r_core *c, const struct nfs4r_room *r, uint64_t used, nfs4r_server_id s)
{
	uint64_t room = above_reserve(r);

	if (!r->total)
		return;
	room = room > used ? room - used : 0;
	if (l->server && l->room <= room)
		return;
	*l = (struct nfs4r_core_least){ room, share_of(c, room), s };
}

void nfs4r_core_get_room(const struct nfs4r_core *c, struct nfs4r_core_room *out)
{
	struct spent end = spent_to(c, LSN_MAX);

	memset(out, 0, sizeof(*out));
	take_limits(c, out);
	EACH_OF(servers_of(c), s) {
		const struct peer_space *t = &c->ops.space.of[s];
		struct spent had = spent_to(c, t->at);

		out->of[s].known = t->known;
		out->of[s].member = state_is_member(c, s);
		out->of[s].limits_known = t->limits_known;
		out->of[s].space = t->space;
		out->of[s].limits = t->limits;
		out->of[s].remarks = t->remarks;
		out->of[s].under_way = end.bytes - had.bytes;
		if (!t->known || !state_is_member(c, s))
			continue;
		least_room(&out->bytes, c, &t->space.tree, end.bytes - had.bytes, s);
		least_room(&out->inodes, c, &t->space.inodes, end.inodes - had.inodes, s);
		least_room(&out->store, c, t->space.shared ? &t->space.tree : &t->space.store, end.store - had.store, s);
	}
}

void ops_space_limits_restored(struct nfs4r_core *c, nfs4r_server_id s, const struct nfs4r_limits *limits)
{
	c->ops.space.of[s].limits = *limits;
	c->ops.space.of[s].limits_known = true;
}
