/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Stable rows of the core: one kind per first byte of the key, all numbers big endian.
 *
 *   'T' server seq          a claim in the table, or an own one that is released and not confirmed
 *   'D' server seq          tombstone of a released claim (control 4.8)
 *   'F' server              floor of a peer
 *   'S'                     sequence numbers below this may have been used
 *   'R' origin inc seq      result of an executed forwarded request (log 5.6)
 *   'A' origin              incarnation and answered_below of an origin
 *   'V'                     what is promised, accepted and adopted (log 6), whether this member has all rows, where logs end (log 7), the volume's secret (6.13);
 *                           without that last part it is of a version that ended none
 *   'C'                     how far the copy may be that a repair left (log 8.3)
 *   'M'                     what this store remembers, and its starts (log 8.6); none: an empty store
 *   'I' server              the newest start in which that server remembered, and how far its journal was then
 *   'L' server              what the file system of that server can hold, as it told last (log 4.12)
 *   'X' oid                 an object whose bytes may be newer than its version (log 3.6)
 *   'N' oid                 what an owner told to be newer than the own copy (control 6.9)
 *
 * A claim has at most NFS4R_CLAIM_CONTROLS_MAX controls, so a claim is one row. Positions and
 * entries are the tree's (tree->commit); nothing here repeats them.
 */
#include "core/core_int.h"

#define ANNOUNCED 0x80u /* beside the state of an own claim (control 7.10) */

struct cursor {
	uint8_t *p;
	const uint8_t *r, *end;
	bool bad;
};

static void w_u(struct cursor *k, uint64_t v, int bytes)
{
	while (bytes-- > 0)
		*k->p++ = (uint8_t)(v >> (8 * bytes));
}

static void w_oid(struct cursor *k, const struct nfs4r_oid *o)
{
	memcpy(k->p, o->b, sizeof(o->b));
	k->p += sizeof(o->b);
}

static uint64_t r_u(struct cursor *k, int bytes)
{
	uint64_t v = 0;

	if (k->end - k->r < bytes) {
		k->bad = true;
		return 0;
	}
	while (bytes-- > 0)
		v = v << 8 | *k->r++;
	return v;
}

static void r_oid(struct cursor *k, struct nfs4r_oid *o)
{
	memset(o, 0, sizeof(*o));
	if (k->end - k->r < (int)sizeof(o->b)) {
		k->bad = true;
		return;
	}
	memcpy(o->b, k->r, sizeof(o->b));
	k->r += sizeof(o->b);
}

static void key_of(struct nfs4r_put *p, char kind, nfs4r_server_id s, uint64_t a, uint64_t b, int n)
{
	struct cursor k = { .p = p->key };

	memset(p, 0, sizeof(*p));
	w_u(&k, (uint8_t)kind, 1);
	if (n > 0)
		w_u(&k, s, 2);
	if (n > 1)
		w_u(&k, a, 8);
	if (n > 2)
		w_u(&k, b, 8);
	p->key_len = (uint16_t)(k.p - p->key);
}

/* Where the value goes. */
static struct cursor key_oid(struct nfs4r_put *p, char kind, const struct nfs4r_oid *oid)
{
	struct cursor k = { .p = p->key };

	memset(p, 0, sizeof(*p));
	w_u(&k, (uint8_t)kind, 1);
	w_oid(&k, oid);
	p->key_len = (uint16_t)(k.p - p->key);
	return (struct cursor){ .p = p->val };
}

void row_claim(const struct claim *cl, struct nfs4r_put *p, bool del)
{
	struct cursor k;

	key_of(p, 'T', (nfs4r_server_id)cl->key.server, cl->key.seq, 0, 2);
	p->del = del;
	if (del)
		return;
	k.p = p->val;
	w_u(&k, cl->own ? (uint32_t)cl->own->state | (cl->announced ? ANNOUNCED : 0) : 0, 1);
	w_u(&k, cl->kind, 1);
	w_u(&k, cl->won, 1);
	w_u(&k, cl->prio.attempts, 4);
	w_u(&k, cl->prio.server, 2);
	w_u(&k, cl->lsn, 8);
	w_u(&k, cl->n, 1);
	for (uint32_t i = 0; i < cl->n; i++) {
		w_oid(&k, &cl->ctl[i].oid);
		w_u(&k, cl->ctl[i].depth, 1);
	}
	p->val_len = (uint16_t)(k.p - p->val);
	assert(p->val_len <= sizeof(p->val));
}

void row_dead(nfs4r_server_id s, uint64_t seq, struct nfs4r_put *p, bool del)
{
	key_of(p, 'D', s, seq, 0, 2);
	p->del = del;
}

void row_floor(nfs4r_server_id s, uint64_t floor, struct nfs4r_put *p)
{
	struct cursor k;

	key_of(p, 'F', s, 0, 0, 1);
	k.p = p->val;
	w_u(&k, floor, 8);
	p->val_len = 8;
}

void row_limits(nfs4r_server_id s, const struct nfs4r_limits *l, struct nfs4r_put *p)
{
	struct cursor k;

	key_of(p, 'L', s, 0, 0, 1);
	k.p = p->val;
	w_u(&k, l->file_max, 8);
	w_u(&k, l->xattr_max, 4);
	w_u(&k, l->name_max, 4);
	w_u(&k, l->link_max, 4);
	w_u(&k, l->has, 4);
	w_u(&k, (uint64_t)l->time_min, 8);
	w_u(&k, (uint64_t)l->time_max, 8);
	w_u(&k, l->text_max, 8);
	p->val_len = (uint16_t)(k.p - p->val);
}

static bool restore_limits(struct told_space *t, struct cursor *val)
{
	t->limits.file_max = r_u(val, 8);
	t->limits.xattr_max = (uint32_t)r_u(val, 4);
	t->limits.name_max = (uint32_t)r_u(val, 4);
	t->limits.link_max = (uint32_t)r_u(val, 4);
	t->limits.has = (uint32_t)r_u(val, 4);
	if (val->r < val->end) { /* from before times were among the limits: not known */
		t->limits.time_min = (int64_t)r_u(val, 8);
		t->limits.time_max = (int64_t)r_u(val, 8);
	}
	if (val->r < val->end) /* nor the text of a symbolic link */
		t->limits.text_max = r_u(val, 8);
	t->limits_known = true;
	return !val->bad && t->limits.time_min <= 0 && t->limits.time_max >= 0;
}

void row_seq(uint64_t reserved, struct nfs4r_put *p)
{
	struct cursor k;

	key_of(p, 'S', 0, 0, 0, 0);
	k.p = p->val;
	w_u(&k, reserved, 8);
	p->val_len = 8;
}

void row_origin(nfs4r_server_id s, const struct origin *o, struct nfs4r_put *p)
{
	struct cursor k;

	key_of(p, 'A', s, 0, 0, 1);
	k.p = p->val;
	w_u(&k, o->inc, 8);
	w_u(&k, o->answered_below, 8);
	p->val_len = 16;
}

static void w_view(struct cursor *k, const struct nfs4r_view *v)
{
	w_u(k, v->num, 8);
	w_u(k, v->base, 8);
	w_u(k, v->members, 8);
}

static void r_view(struct cursor *k, struct nfs4r_view *v)
{
	v->num = r_u(k, 8);
	v->base = r_u(k, 8);
	v->members = r_u(k, 8);
}

/* The part of a view that says where logs end. */
static void w_ends(struct cursor *k, const struct nfs4r_view *v)
{
	w_u(k, v->open, 8);
	w_u(k, v->epoch, 4);
	w_u(k, v->nseals, 1);
	for (uint32_t i = 0; i < v->nseals; i++) {
		w_u(k, v->seals[i].log, 2);
		w_u(k, v->seals[i].lsn, 8);
	}
}

static void r_ends(struct cursor *k, struct nfs4r_view *v)
{
	v->open = r_u(k, 8);
	v->epoch = (uint32_t)r_u(k, 4);
	v->nseals = (uint32_t)r_u(k, 1);
	k->bad |= v->nseals > NFS4R_SEALS_MAX;
	for (uint32_t i = 0; i < v->nseals && !k->bad; i++) {
		v->seals[i].log = (nfs4r_server_id)r_u(k, 2);
		v->seals[i].lsn = r_u(k, 8);
		k->bad |= !v->seals[i].log || v->seals[i].log > NFS4R_SERVERS_MAX;
	}
}

/* Who belongs to the volume, and of how many addresses are in rows 'B'. */
static void w_who(struct cursor *k, const struct nfs4r_view *v)
{
	w_u(k, v->servers, 8);
	w_u(k, v->voters, 8);
	w_u(k, v->nbook, 1);
}

static uint32_t r_who(struct cursor *k, struct nfs4r_view *v)
{
	v->servers = r_u(k, 8);
	v->voters = r_u(k, 8);
	return (uint32_t)r_u(k, 1);
}

static void w_secret(struct cursor *k, const struct nfs4r_view *v)
{
	memcpy(k->p, v->secret, sizeof(v->secret));
	k->p += sizeof(v->secret);
}

static void r_secret(struct cursor *k, struct nfs4r_view *v)
{
	for (size_t i = 0; i < sizeof(v->secret); i++)
		v->secret[i] = (uint8_t)r_u(k, 1);
}

void row_view(const struct view *w, struct nfs4r_put *p)
{
	struct cursor k;

	key_of(p, 'V', 0, 0, 0, 0);
	k.p = p->val;
	w_view(&k, &w->adopted);
	w_view(&k, &w->accepted);
	w_u(&k, w->promised, 8);
	w_u(&k, w->frozen_num, 8);
	w_u(&k, w->frozen, 8);
	w_u(&k, w->complete, 1);
	w_ends(&k, &w->adopted);
	w_ends(&k, &w->accepted);
	w_u(&k, w->sealing, 8);
	w_who(&k, &w->adopted);
	w_who(&k, &w->accepted);
	w_u(&k, w->reconf_epoch, 8);
	w_u(&k, w->reconf_set, 8);
	w_secret(&k, &w->adopted);
	w_secret(&k, &w->accepted);
	assert(k.p - p->val <= (int)sizeof(p->val));
	p->val_len = (uint16_t)(k.p - p->val);
}

void row_reply(const struct reply *r, struct nfs4r_put *p, bool del)
{
	struct cursor k;

	key_of(p, 'R', (nfs4r_server_id)r->key.origin, r->key.inc, r->key.seq, 3);
	p->del = del;
	if (del)
		return;
	k.p = p->val;
	w_u(&k, r->cond.log, 2);
	w_u(&k, r->cond.lsn, 8);
	w_u(&k, r->type, 1);
	w_oid(&k, &r->result);
	for (int i = 0; i < 4; i++)
		w_u(&k, r->dv[i], 8);
	w_u(&k, r->cond.ndirs, 1);
	w_u(&k, r->cond.nfiles, 1);
	for (uint32_t i = 0; i < r->cond.ndirs; i++)
		w_oid(&k, &r->cond.dirs[i]);
	for (uint32_t i = 0; i < r->cond.nfiles; i++)
		w_oid(&k, &r->cond.files[i]);
	p->val_len = (uint16_t)(k.p - p->val);
}

/* ---- back again, before started() -------------------------------------- */

static bool restore_claim(struct nfs4r_core *c, struct cursor *k, nfs4r_server_id s, uint64_t seq)
{
	struct nfs4r_pid pid = { s, seq };
	struct nfs4r_control v[NFS4R_CLAIM_CONTROLS_MAX];
	struct nfs4r_prio prio;
	uint32_t first = (uint32_t)r_u(k, 1), state = first & ~ANNOUNCED, kind = (uint32_t)r_u(k, 1), n;
	bool won = r_u(k, 1);
	uint64_t lsn;
	struct claim *cl;

	prio.attempts = (uint32_t)r_u(k, 4);
	prio.server = (nfs4r_server_id)r_u(k, 2);
	lsn = r_u(k, 8);
	n = (uint32_t)r_u(k, 1);
	if (k->bad || n > NFS4R_CLAIM_CONTROLS_MAX || state > OWN_RELEASED || !state != (s != c->self) ||
	    kind < NFS4R_PROPOSED || kind > NFS4R_MOVED || claim_find(c, s, seq))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		r_oid(k, &v[i].oid);
		v[i].depth = (uint32_t)r_u(k, 1);
		if (k->bad || v[i].depth < NFS4R_SHALLOW || v[i].depth > NFS4R_DEEP_PLUS)
			return false;
	}
	cl = claim_add(c, pid, kind, v, n);
	cl->won = won;
	cl->prio = prio;
	cl->lsn = lsn;
	cl->announced = (first & ANNOUNCED) && !FAULT(F_ANNOUNCED_UNSAVED);
	if (state)
		own_new(c, cl, state);
	if (s == c->self && seq >= c->next_seq)
		c->next_seq = seq + 1;
	return true;
}

static bool restore_reply(struct nfs4r_core *c, struct cursor *k, const struct reqkey *key)
{
	struct reply r = { .key = *key };

	r.cond.log = (nfs4r_server_id)r_u(k, 2);
	r.cond.lsn = r_u(k, 8);
	r.type = (uint32_t)r_u(k, 1);
	r_oid(k, &r.result);
	for (int i = 0; i < 4; i++)
		r.dv[i] = r_u(k, 8);
	r.cond.ndirs = (uint32_t)r_u(k, 1);
	r.cond.nfiles = (uint32_t)r_u(k, 1);
	if (r.cond.ndirs > 2 || r.cond.nfiles > 3 || r.cond.log > NFS4R_SERVERS_MAX)
		return false;
	for (uint32_t i = 0; i < r.cond.ndirs; i++)
		r_oid(k, &r.cond.dirs[i]);
	for (uint32_t i = 0; i < r.cond.nfiles; i++)
		r_oid(k, &r.cond.files[i]);
	if (k->bad)
		return false;
	reply_add(c, &r);
	return true;
}

static bool who_is_sane(const struct nfs4r_view *v)
{
	return !(v->members & ~v->voters) && !(v->voters & ~v->servers);
}

static bool restore_view(struct nfs4r_core *c, struct cursor *k)
{
	struct view *w = &c->view;

	r_view(k, &w->adopted);
	r_view(k, &w->accepted);
	w->promised = r_u(k, 8);
	w->frozen_num = r_u(k, 8);
	w->frozen = r_u(k, 8);
	w->complete = r_u(k, 1);
	if (!k->bad && k->r < k->end) {
		r_ends(k, &w->adopted);
		r_ends(k, &w->accepted);
		w->sealing = r_u(k, 8);
	}
	if (!k->bad && k->r < k->end) {
		w->nadopted = r_who(k, &w->adopted);
		w->naccepted = r_who(k, &w->accepted);
	}
	if (!k->bad && k->r < k->end) {
		w->reconf_epoch = r_u(k, 8);
		w->reconf_set = r_u(k, 8);
	}
	if (!k->bad && k->r < k->end) {
		r_secret(k, &w->adopted);
		r_secret(k, &w->accepted);
	}
	c->known |= seal_logs(&w->adopted) | seal_logs(&w->accepted);
	return !k->bad && w->accepted.num >= w->adopted.num && w->promised >= w->accepted.num && who_is_sane(&w->adopted) && who_is_sane(&w->accepted);
}

void row_address(uint64_t view, const struct nfs4r_address *a, struct nfs4r_put *p, bool del)
{
	struct cursor k;

	key_of(p, 'B', a->id, view, 0, 2);
	p->del = del;
	if (del)
		return;
	k.p = p->val;
	w_u(&k, a->port, 2);
	memcpy(k.p, a->address, strlen(a->address));
	p->val_len = (uint16_t)(2 + strlen(a->address));
}

static bool restore_address(struct view *w, struct cursor *k, nfs4r_server_id s, uint64_t view)
{
	struct nfs4r_address a = { .id = s, .port = (uint16_t)r_u(k, 2) };
	size_t len = (size_t)(k->end - k->r);
	struct book_rows *b = NULL;

	for (uint32_t i = 0; i < BOOKS_KEPT && !(b && b->view == view); i++)
		if (w->books[i].view == view || (!b && !w->books[i].view))
			b = &w->books[i];
	if (k->bad || !b || !view || !len || len > NFS4R_ADDRESS_MAX || b->n == NFS4R_SERVERS_MAX)
		return false;
	memcpy(a.address, k->r, len);
	b->view = view;
	b->v[b->n++] = a;
	return true;
}

void row_reach(const struct reach *r, struct nfs4r_put *p)
{
	struct cursor k;

	key_of(p, 'C', 0, 0, 0, 0);
	p->del = !r->open && !r->all;
	k.p = p->val;
	w_u(&k, r->open, 1);
	w_u(&k, r->all, 1);
	w_u(&k, r->anew, 1);
	for (int s = 1; s <= NFS4R_SERVERS_MAX; s++) {
		w_u(&k, r->lsn[s], 8);
		w_u(&k, r->before[s], 8);
	}
	p->val_len = (uint16_t)(k.p - p->val);
}

void row_trouble(const struct trouble *t, struct nfs4r_put *p)
{
	struct cursor k;

	key_of(p, 'Z', 0, 0, 0, 0);
	p->del = !t->cause;
	k.p = p->val;
	w_u(&k, t->cause, 4);
	w_u(&k, t->log, 2);
	w_u(&k, t->lsn, 8);
	p->val_len = (uint16_t)(k.p - p->val);
}

static void w_lsns(struct cursor *k, const nfs4r_lsn *v)
{
	uint8_t *n = k->p++;

	*n = 0;
	for (uint32_t s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (v[s]) {
			w_u(k, s, 2);
			w_u(k, v[s], 8);
			++*n;
		}
}

static void r_lsns(struct cursor *k, nfs4r_lsn *v)
{
	for (uint64_t n = r_u(k, 1); n && !k->bad; n--) {
		uint64_t s = r_u(k, 2);

		k->bad |= !s || s > NFS4R_SERVERS_MAX;
		if (!k->bad)
			v[s] = r_u(k, 8);
	}
}

void row_taint(const struct taint *t, struct nfs4r_put *p, bool del)
{
	struct cursor k = key_oid(p, 'X', &t->oid);

	p->del = del;
	if (del)
		return;
	w_u(&k, t->state, 1);
	w_u(&k, t->exact, 8);
	w_u(&k, t->done_log, 2);
	w_u(&k, t->done_lsn, 8);
	w_lsns(&k, t->until);
	w_lsns(&k, t->low);
	assert(k.p - p->val <= (int)sizeof(p->val));
	p->val_len = (uint16_t)(k.p - p->val);
}

static bool restore_taint(struct nfs4r_core *c, struct cursor *key, struct cursor *k)
{
	struct nfs4r_oid oid;
	struct taint *t;
	uint64_t state;

	r_oid(key, &oid);
	state = r_u(k, 1);
	if (key->bad || k->bad || state < TAINT_DONE || state > TAINT_INEXACT || taint_find(c, &oid))
		return false;
	t = taint_add(c, &oid);
	taint_set_state(c, t, (enum taint_state)state);
	t->exact = r_u(k, 8);
	t->done_log = (nfs4r_server_id)r_u(k, 2);
	t->done_lsn = r_u(k, 8);
	r_lsns(k, t->until);
	r_lsns(k, t->low);
	return !k->bad && t->done_log <= NFS4R_SERVERS_MAX;
}

void row_told(const struct told *n, struct nfs4r_put *p, bool del)
{
	struct cursor k = key_oid(p, 'N', &n->oid);

	p->del = del;
	w_u(&k, n->by, 2);
	w_u(&k, n->version, 8);
	p->val_len = del ? 0 : 10;
}

static bool restore_told(struct nfs4r_core *c, struct cursor *key, struct cursor *k)
{
	struct nfs4r_oid oid;
	uint64_t by;

	r_oid(key, &oid);
	by = r_u(k, 2);
	return !key->bad && by && by <= NFS4R_SERVERS_MAX && by != c->self && told_restored(c, &oid, (nfs4r_server_id)by, r_u(k, 8)) && !k->bad;
}

static bool restore_reach(struct nfs4r_core *c, struct cursor *val)
{
	c->reach.open = r_u(val, 1);
	c->reach.all = r_u(val, 1);
	c->reach.anew = r_u(val, 1);
	for (int s = 1; s <= NFS4R_SERVERS_MAX; s++) {
		c->reach.lsn[s] = r_u(val, 8);
		c->reach.before[s] = r_u(val, 8);
	}
	return !val->bad;
}

static bool restore_trouble(struct trouble *t, struct cursor *val)
{
	t->cause = (uint32_t)r_u(val, 4);
	t->log = (nfs4r_server_id)r_u(val, 2);
	t->lsn = r_u(val, 8);
	return !val->bad && t->cause && t->log && t->log <= NFS4R_SERVERS_MAX;
}

void row_memory(const struct memory *m, struct nfs4r_put *p)
{
	struct cursor k;

	key_of(p, 'M', 0, 0, 0, 0);
	k.p = p->val;
	w_u(&k, m->state, 1);
	w_u(&k, m->mine_below, 8);
	w_u(&k, m->nstarts, 1);
	for (uint32_t i = 0; i < m->nstarts; i++) {
		w_u(&k, m->starts[i].inc, 8);
		w_u(&k, m->starts[i].random, 8);
	}
	for (uint32_t i = 0; i < m->nstarts; i++)
		w_u(&k, m->starts[i].pos, 8);
	p->val_len = (uint16_t)(k.p - p->val);
	assert(p->val_len <= sizeof(p->val));
}

void row_peer_start(nfs4r_server_id s, const struct start *st, struct nfs4r_put *p)
{
	struct cursor k;

	key_of(p, 'I', s, 0, 0, 1);
	k.p = p->val;
	w_u(&k, st->inc, 8);
	w_u(&k, st->random, 8);
	w_u(&k, st->pos, 8);
	p->val_len = 24;
}

static bool restore_memory(struct memory *m, struct cursor *val)
{
	uint32_t state = (uint32_t)r_u(val, 1), n;

	m->mine_below = r_u(val, 8);
	n = (uint32_t)r_u(val, 1);
	if (val->bad || state < MEMORY_NEW || state > MEMORY_KNOWN || n > STARTS_KEPT)
		return false;
	m->state = (enum memory_state)state;
	m->nstarts = n;
	for (uint32_t i = 0; i < n; i++) {
		m->starts[i].inc = r_u(val, 8);
		m->starts[i].random = r_u(val, 8);
		m->starts[i].pos = UINT64_MAX;
	}
	for (uint32_t i = 0; i < n && val->r < val->end; i++) /* a row of an older version has none */
		m->starts[i].pos = r_u(val, 8);
	return !val->bad;
}

static bool restore(struct nfs4r_core *c, struct cursor *key, struct cursor *val)
{
	char kind = (char)r_u(key, 1);
	nfs4r_server_id s = 0;
	struct reqkey rk;
	uint64_t a;

	if (kind == 'S') {
		a = r_u(val, 8);
		c->seq_reserved = a;
		if (c->next_seq < a)
			c->next_seq = a;
		return !key->bad && !val->bad;
	}
	if (kind == 'V')
		return !key->bad && restore_view(c, val);
	if (kind == 'C')
		return !key->bad && restore_reach(c, val);
	if (kind == 'Z')
		return !key->bad && restore_trouble(&c->trouble, val);
	if (kind == 'M')
		return !key->bad && restore_memory(&c->memory, val);
	if (kind == 'X')
		return restore_taint(c, key, val);
	if (kind == 'N')
		return restore_told(c, key, val);
	s = (nfs4r_server_id)r_u(key, 2);
	if (key->bad || s == 0 || s > NFS4R_SERVERS_MAX)
		return false;
	switch (kind) {
	case 'T':
		a = r_u(key, 8);
		return !key->bad && restore_claim(c, val, s, a);
	case 'D':
		a = r_u(key, 8);
		if (!key->bad && !is_dead_seq(c, s, a))
			dead_add(c, s, a);
		return !key->bad;
	case 'F':
		c->floor[s] = r_u(val, 8);
		return !val->bad;
	case 'I':
		c->peers[s].knows.inc = r_u(val, 8);
		c->peers[s].knows.random = r_u(val, 8);
		if (!val->bad && val->r < val->end)
			c->peers[s].knows.pos = r_u(val, 8);
		c->peers[s].knows_put = c->peers[s].knows.pos;
		return !val->bad;
	case 'L':
		return restore_limits(&c->space.of[s], val);
	case 'B':
		a = r_u(key, 8);
		return !key->bad && restore_address(&c->view, val, s, a);
	case 'A':
		c->origins[s].inc = r_u(val, 8);
		c->origins[s].answered_below = r_u(val, 8);
		return !val->bad;
	case 'R':
		rk.origin = s;
		rk.inc = r_u(key, 8);
		rk.seq = r_u(key, 8);
		return !key->bad && restore_reply(c, val, &rk);
	}
	return false;
}

enum nfs4r_status nfs4r_core_restore_row(struct nfs4r_core *c, const uint8_t *key, uint16_t key_len,
					 const uint8_t *val, uint16_t val_len)
{
	struct cursor k = { .r = key, .end = key + key_len }, v = { .r = val, .end = val + val_len };

	assert(!c->started);
	return restore(c, &k, &v) ? NFS4R_OK : NFS4R_CORRUPT;
}
