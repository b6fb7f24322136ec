/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Reads the stable rows at a start, one after another (nfs4r_core_restore_row()). state/rows.c writes them and says what each holds.
 *
 * A row that cannot be read makes the start fail: NFS4R_CORRUPT. Rows of older versions lack what was added since.
 */
#include "core/recovery/recovery_int.h"

#define ANNOUNCED 0x80u /* beside the state of an own claim (control 7.10) */

struct cursor {
	const uint8_t *r, *end;
	bool bad;
};

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

static void r_view(struct cursor *k, struct nfs4r_view *v)
{
	v->num = r_u(k, 8);
	v->base = r_u(k, 8);
	v->members = r_u(k, 8);
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

static uint32_t r_who(struct cursor *k, struct nfs4r_view *v)
{
	v->servers = r_u(k, 8);
	v->voters = r_u(k, 8);
	return (uint32_t)r_u(k, 1);
}

static void r_secret(struct cursor *k, struct nfs4r_view *v)
{
	for (size_t i = 0; i < sizeof(v->secret); i++)
		v->secret[i] = (uint8_t)r_u(k, 1);
}

static enum own_state own_state_of(uint32_t row)
{
	return row == OWN_ROW_PROPOSING ? OWN_PROPOSING : row == OWN_ROW_WON ? OWN_WON : OWN_RELEASED;
}

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
	if (k->bad || n > NFS4R_CLAIM_CONTROLS_MAX || state > OWN_ROW_RELEASED || !state != (s != c->self) ||
	    kind < NFS4R_PROPOSED || kind > NFS4R_MOVED || state_claim_find(c, s, seq))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		r_oid(k, &v[i].oid);
		v[i].depth = (uint32_t)r_u(k, 1);
		if (k->bad || v[i].depth < NFS4R_SHALLOW || v[i].depth > NFS4R_DEEP_PLUS)
			return false;
	}
	cl = control_claim_add(c, pid, kind, v, n);
	cl->won = won;
	cl->prio = prio;
	cl->lsn = lsn;
	cl->announced = (first & ANNOUNCED) && !FAULT(F_ANNOUNCED_UNSAVED);
	if (state)
		control_own_new(c, cl, own_state_of(state));
	if (s == c->self && seq >= c->control.next_seq)
		c->control.next_seq = seq + 1;
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
	ops_reply_add(c, &r);
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
	c->known |= state_seal_logs(&w->adopted) | state_seal_logs(&w->accepted);
	return !k->bad && w->accepted.num >= w->adopted.num && w->promised >= w->accepted.num && who_is_sane(&w->adopted) && who_is_sane(&w->accepted);
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

static void r_lsns(struct cursor *k, nfs4r_lsn *v)
{
	for (uint64_t n = r_u(k, 1); n && !k->bad; n--) {
		uint64_t s = r_u(k, 2);

		k->bad |= !s || s > NFS4R_SERVERS_MAX;
		if (!k->bad)
			v[s] = r_u(k, 8);
	}
}

static bool restore_taint(struct nfs4r_core *c, struct cursor *key, struct cursor *k)
{
	struct nfs4r_oid oid;
	struct taint *t;
	uint64_t state;

	r_oid(key, &oid);
	state = r_u(k, 1);
	if (key->bad || k->bad || state < TAINT_DONE || state > TAINT_INEXACT || state_taint_find(c, &oid))
		return false;
	t = log_taint_add(c, &oid);
	log_taint_set_state(c, t, (enum taint_state)state);
	t->exact = r_u(k, 8);
	t->done_log = (nfs4r_server_id)r_u(k, 2);
	t->done_lsn = r_u(k, 8);
	r_lsns(k, t->until);
	r_lsns(k, t->low);
	return !k->bad && t->done_log <= NFS4R_SERVERS_MAX;
}

static bool restore_told(struct nfs4r_core *c, struct cursor *key, struct cursor *k)
{
	struct nfs4r_oid oid;
	uint64_t by;

	r_oid(key, &oid);
	by = r_u(k, 2);
	return !key->bad && by && by <= NFS4R_SERVERS_MAX && by != c->self && ops_told_restored(c, &oid, (nfs4r_server_id)by, r_u(k, 8)) && !k->bad;
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
		c->control.seq_reserved = a;
		if (c->control.next_seq < a)
			c->control.next_seq = a;
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
		if (!key->bad && !state_is_dead_seq(c, s, a))
			control_dead_add(c, s, a);
		return !key->bad;
	case 'F':
		c->control.floor[s] = r_u(val, 8);
		return !val->bad;
	case 'I':
		c->peers[s].knows.inc = r_u(val, 8);
		c->peers[s].knows.random = r_u(val, 8);
		if (!val->bad && val->r < val->end)
			c->peers[s].knows.pos = r_u(val, 8);
		c->peers[s].knows_put = c->peers[s].knows.pos;
		return !val->bad;
	case 'L':
		return restore_limits(&c->ops.space.of[s], val);
	case 'B':
		a = r_u(key, 8);
		return !key->bad && restore_address(&c->view, val, s, a);
	case 'A':
		c->ops.origins[s].inc = r_u(val, 8);
		c->ops.origins[s].answered_below = r_u(val, 8);
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
