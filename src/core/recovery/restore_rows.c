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

static bool restore_limits(struct nfs4r_core *c, nfs4r_server_id s, struct cursor *val)
{
	struct nfs4r_limits l = { 0 };

	l.file_max = r_u(val, 8);
	l.xattr_max = (uint32_t)r_u(val, 4);
	l.name_max = (uint32_t)r_u(val, 4);
	l.link_max = (uint32_t)r_u(val, 4);
	l.has = (uint32_t)r_u(val, 4);
	if (val->r < val->end) { /* from before times were among the limits: not known */
		l.time_min = (int64_t)r_u(val, 8);
		l.time_max = (int64_t)r_u(val, 8);
	}
	if (val->r < val->end) /* nor the text of a symbolic link */
		l.text_max = r_u(val, 8);
	ops_space_limits_restored(c, s, &l);
	return !val->bad && l.time_min <= 0 && l.time_max >= 0;
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
	return row == OWN_ROW_PROPOSING ? OWN_PROPOSING : row == OWN_ROW_WON ? OWN_WON :
									       OWN_RELEASED;
}

static bool restore_claim(struct nfs4r_core *c, struct cursor *k, nfs4r_server_id s, uint64_t seq)
{
	struct claim row = { .key = { s, seq } };
	struct nfs4r_control v[NFS4R_CLAIM_CONTROLS_MAX];
	uint32_t first = (uint32_t)r_u(k, 1), state = first & ~ANNOUNCED;

	row.kind = (uint32_t)r_u(k, 1);
	row.won = r_u(k, 1);
	row.prio.attempts = (uint32_t)r_u(k, 4);
	row.prio.server = (nfs4r_server_id)r_u(k, 2);
	row.lsn = r_u(k, 8);
	row.n = (uint32_t)r_u(k, 1);
	if (k->bad || row.n > NFS4R_CLAIM_CONTROLS_MAX || state > OWN_ROW_RELEASED || !state != (s != c->self) ||
	    row.kind < NFS4R_PROPOSED || row.kind > NFS4R_MOVED || state_claim_find(c, s, seq))
		return false;
	for (uint32_t i = 0; i < row.n; i++) {
		r_oid(k, &v[i].oid);
		v[i].depth = (uint32_t)r_u(k, 1);
		if (k->bad || v[i].depth < NFS4R_SHALLOW || v[i].depth > NFS4R_DEEP_PLUS)
			return false;
	}
	row.announced = (first & ANNOUNCED) && !FAULT(F_ANNOUNCED_UNSAVED);
	control_claim_restored(c, &row, v, own_state_of(state));
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
	const struct view *w = &c->view; /* what an older version has not in its row stays */
	struct view_row r = { .adopted = w->adopted, .accepted = w->accepted, .sealing = w->sealing, .nadopted = w->nadopted, .naccepted = w->naccepted, .reconf_epoch = w->reconf_epoch, .reconf_set = w->reconf_set };

	r_view(k, &r.adopted);
	r_view(k, &r.accepted);
	r.promised = r_u(k, 8);
	r.frozen_num = r_u(k, 8);
	r.frozen = r_u(k, 8);
	r.complete = r_u(k, 1);
	if (!k->bad && k->r < k->end) {
		r_ends(k, &r.adopted);
		r_ends(k, &r.accepted);
		r.sealing = r_u(k, 8);
	}
	if (!k->bad && k->r < k->end) {
		r.nadopted = r_who(k, &r.adopted);
		r.naccepted = r_who(k, &r.accepted);
	}
	if (!k->bad && k->r < k->end) {
		r.reconf_epoch = r_u(k, 8);
		r.reconf_set = r_u(k, 8);
	}
	if (!k->bad && k->r < k->end) {
		r_secret(k, &r.adopted);
		r_secret(k, &r.accepted);
	}
	view_restored(c, &r);
	return !k->bad && r.accepted.num >= r.adopted.num && r.promised >= r.accepted.num && who_is_sane(&r.adopted) && who_is_sane(&r.accepted);
}

/* What is behind the address, if anything is: a NUL, and the fingerprints. */
static bool r_keys(struct cursor *k, struct nfs4r_address *a)
{
	size_t len = (size_t)(k->end - k->r);

	if (!len)
		return true;
	a->nkeys = (uint16_t)(len / sizeof(a->keys[0]));
	if (k->r[0] != 0 || !a->nkeys || a->nkeys > NFS4R_KEYS_MAX || len != 1 + a->nkeys * sizeof(a->keys[0]))
		return false;
	memcpy(a->keys, k->r + 1, len - 1);
	return true;
}

static bool restore_address(struct nfs4r_core *c, struct cursor *k, nfs4r_server_id s, uint64_t view)
{
	struct nfs4r_address a = { .id = s, .port = (uint16_t)r_u(k, 2) };
	size_t len = k->bad ? 0 : strnlen((const char *)k->r, (size_t)(k->end - k->r));

	if (k->bad || !view || !len || len > NFS4R_ADDRESS_MAX)
		return false;
	memcpy(a.address, k->r, len);
	k->r += len;
	return r_keys(k, &a) && view_address_restored(c, view, &a);
}

/* A release that does not know the disk format does not know the row. */
static bool restore_settings(struct nfs4r_core *c, struct cursor *key, struct cursor *k)
{
	uint64_t none = r_u(key, 2), view = r_u(key, 8);
	struct nfs4r_volume_settings s = { 0 };
	uint32_t longest_ms;

	s.protocol = (uint32_t)r_u(k, 4);
	s.disk_format = (uint32_t)r_u(k, 4);
	s.keys.durability = (uint32_t)r_u(k, 1);
	s.keys.directory_reads = (uint32_t)r_u(k, 1);
	s.keys.ends = (uint32_t)r_u(k, 1);
	s.keys.round_trip_ms = (uint32_t)r_u(k, 4);
	s.keys.lease_ms = (uint32_t)r_u(k, 4);
	s.keys.silence_ms = (uint32_t)r_u(k, 4);
	s.keys.drift_permille = (uint32_t)r_u(k, 4);
	longest_ms = (uint32_t)r_u(k, 4);
	if (c->cfg.disk_format.highest >= NFS4R_DISK_FORMAT_REHEARSED && k->r < k->end)
		r_u(k, 4);
	return !key->bad && !k->bad && k->r == k->end && !none && view && s.protocol && s.disk_format && nfs4r_volume_keys_ok(&s.keys) && view_settings_restored(c, view, &s, longest_ms);
}

static bool r_words(struct cursor *k, char *out, size_t max)
{
	size_t len = (size_t)r_u(k, 1);

	if (k->bad || len > max || (size_t)(k->end - k->r) < len || memchr(k->r, '\0', len))
		return false;
	memcpy(out, k->r, len);
	k->r += len;
	return true;
}

static bool restore_client(struct nfs4r_core *c, struct cursor *key, struct cursor *val, nfs4r_server_id s)
{
	struct nfs4r_client_entry k;

	memset(&k, 0, sizeof(k));
	k.server = s;
	k.client.id[0] = r_u(key, 8);
	k.client.id[1] = r_u(key, 8);
	k.lsn = r_u(val, 8);
	k.gone = r_u(val, 1);
	k.n = r_u(val, 8);
	k.by = (nfs4r_server_id)r_u(val, 2);
	k.by_lsn = r_u(val, 8);
	k.client.minor = (uint32_t)r_u(val, 4);
	return !key->bad && r_words(val, k.client.name, NFS4R_CLIENT_NAME_MAX) && r_words(val, k.client.address, NFS4R_CLIENT_ADDRESS_MAX) && val->r == val->end && log_client_restored(c, &k);
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

static bool restore_fuzzy(struct nfs4r_core *c, struct cursor *key, struct cursor *k)
{
	struct fuzzy t = { 0 };
	uint64_t state;

	r_oid(key, &t.oid);
	state = r_u(k, 1);
	if (key->bad || k->bad || state < FUZZY_DONE || state > FUZZY_INEXACT || state_fuzzy_find(c, &t.oid))
		return false;
	t.state = (enum fuzzy_state)state;
	t.exact = r_u(k, 8);
	t.done_log = (nfs4r_server_id)r_u(k, 2);
	t.done_lsn = r_u(k, 8);
	r_lsns(k, t.until);
	r_lsns(k, t.low);
	log_fuzzy_restored(c, &t);
	return !k->bad && t.done_log <= NFS4R_SERVERS_MAX;
}

static bool restore_monotonic_read(struct nfs4r_core *c, struct cursor *key, struct cursor *k)
{
	struct nfs4r_oid oid;
	uint64_t by;

	r_oid(key, &oid);
	by = r_u(k, 2);
	return !key->bad && by && by <= NFS4R_SERVERS_MAX && by != c->self && ops_monotonic_restored(c, &oid, (nfs4r_server_id)by, r_u(k, 8)) && !k->bad;
}

static bool restore_gap(struct nfs4r_core *c, struct cursor *key, struct cursor *k)
{
	struct gap_row g = { .depth = 0 };

	r_oid(key, &g.oid);
	g.depth = (uint32_t)r_u(k, 1);
	g.server = (nfs4r_server_id)r_u(k, 2);
	g.end = r_u(k, 8);
	return !key->bad && !k->bad && k->r == k->end && locks_gap_restored(c, &g);
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

static bool restore_trouble(struct nfs4r_core *c, struct cursor *val)
{
	uint32_t cause = (uint32_t)r_u(val, 4);
	nfs4r_server_id log = (nfs4r_server_id)r_u(val, 2);

	view_trouble_restored(c, cause, log, r_u(val, 8));
	return !val->bad && cause && log && log <= NFS4R_SERVERS_MAX;
}

static bool restore_memory(struct memory *m, struct cursor *val)
{
	uint32_t state = (uint32_t)r_u(val, 1), n;

	m->mine_below = r_u(val, 8);
	n = (uint32_t)r_u(val, 1);
	if (val->bad || state < MEMORY_NEW || state > MEMORY_KNOWN || n > STARTS_REMEMBERED)
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
		control_seq_restored(c, a);
		return !key->bad && !val->bad;
	}
	if (kind == 'V')
		return !key->bad && restore_view(c, val);
	if (kind == 'C')
		return !key->bad && restore_reach(c, val);
	if (kind == 'Z')
		return !key->bad && restore_trouble(c, val);
	if (kind == 'M')
		return !key->bad && restore_memory(&c->memory, val);
	if (kind == 'W')
		return restore_settings(c, key, val);
	if (kind == 'X')
		return restore_fuzzy(c, key, val);
	if (kind == 'G')
		return restore_gap(c, key, val);
	if (kind == 'N')
		return restore_monotonic_read(c, key, val);
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
		control_floor_restored(c, s, r_u(val, 8));
		return !val->bad;
	case 'I':
		c->peers[s].knows.inc = r_u(val, 8);
		c->peers[s].knows.random = r_u(val, 8);
		if (!val->bad && val->r < val->end)
			c->peers[s].knows.pos = r_u(val, 8);
		c->peers[s].knows_put = c->peers[s].knows.pos;
		return !val->bad;
	case 'L':
		return restore_limits(c, s, val);
	case 'B':
		a = r_u(key, 8);
		return !key->bad && restore_address(c, val, s, a);
	case 'K':
		return restore_client(c, key, val, s);
	case 'A':
		a = r_u(val, 8);
		ops_origin_restored(c, s, a, r_u(val, 8));
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
