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
 *   'V'                     what is promised, accepted and adopted (log 6), whether this member has all rows, where logs end (log 7), the volume's secret (log 6.13);
 *                           without that last part it is of a version that ended none
 *   'W' view                the settings of the view with that number (log 6.16), if it is the one adopted or accepted and has some
 *   'C'                     how far the copy may be that a repair left (log 8.3)
 *   'M'                     what this store remembers, and its starts (log 8.6); none: an empty store
 *   'I' server              the newest start in which that server remembered, and how far its journal was then
 *   'L' server              what the file system of that server can hold, as it told last (log 4.12)
 *   'X' oid                 an object whose bytes may be newer than its version (log 3.6)
 *   'K' server id          a client of that server (locks 7; disk format 2)
 *   'G' oid                 what a server controlled when its log ended, and nobody has ended the gap of since (locks 11; disk format 2)
 *   'N' oid                 what an owner told to be newer than the own copy (control 6.9)
 *
 * A claim has at most NFS4R_CLAIM_CONTROLS_MAX controls, so a claim is one row. Positions and
 * entries are the tree's (tree->commit); nothing here repeats them.
 */
#include "core/state/state_int.h"

#define ANNOUNCED 0x80u /* beside the state of an own claim (control 7.10); recovery/restore_rows.c reads it */

struct cursor {
	uint8_t *p;
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

static uint32_t own_row(const struct own *ow)
{
	if (own_is_candidate(ow))
		return OWN_ROW_PROPOSING;
	return own_is_acting(ow) ? OWN_ROW_WON : OWN_ROW_RELEASED;
}

void row_claim(const struct claim *cl, struct nfs4r_put *p, bool del)
{
	struct cursor k;

	key_of(p, 'T', (nfs4r_server_id)cl->key.server, cl->key.seq, 0, 2);
	p->del = del;
	if (del)
		return;
	k.p = p->val;
	w_u(&k, cl->own ? own_row(cl->own) | (cl->announced ? ANNOUNCED : 0) : 0, 1);
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

/* Who belongs to the volume, and how many addresses are in rows 'B'. */
static void w_who(struct cursor *k, const struct nfs4r_view *v)
{
	w_u(k, v->servers, 8);
	w_u(k, v->voters, 8);
	w_u(k, v->nbook, 1);
}

static void w_secret(struct cursor *k, const struct nfs4r_view *v)
{
	memcpy(k->p, v->secret, sizeof(v->secret));
	k->p += sizeof(v->secret);
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

static void w_words(struct cursor *k, const char *text)
{
	size_t len = strlen(text);

	w_u(k, len, 1);
	memcpy(k->p, text, len);
	k->p += len;
}

void row_client(const struct client_row *r, struct nfs4r_put *p, bool del)
{
	struct cursor k;

	key_of(p, 'K', r->key.server, r->key.id[0], r->key.id[1], 3);
	p->del = del;
	if (del)
		return;
	k.p = p->val;
	w_u(&k, r->lsn, 8);
	w_u(&k, r->gone, 1);
	w_u(&k, r->n, 8);
	w_u(&k, r->by, 2);
	w_u(&k, r->by_lsn, 8);
	w_u(&k, r->client.minor, 4);
	w_words(&k, r->client.name);
	w_words(&k, r->client.address);
	p->val_len = (uint16_t)(k.p - p->val);
}

/* ---- back again, before started() -------------------------------------- */

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
	k.p += strlen(a->address);
	if (a->nkeys) { /* else as before protocol 9 */
		w_u(&k, 0, 1);
		for (uint32_t i = 0; i < a->nkeys; i++, k.p += sizeof(a->keys[i].sha256))
			memcpy(k.p, a->keys[i].sha256, sizeof(a->keys[i].sha256));
	}
	p->val_len = (uint16_t)(k.p - p->val);
}

/* @rehearsed: as the next disk format has it. */
void row_settings(uint64_t view, const struct nfs4r_volume_settings *s, uint32_t longest_ms, bool rehearsed, struct nfs4r_put *p, bool del)
{
	struct cursor k;

	key_of(p, 'W', 0, view, 0, 2);
	p->del = del;
	if (del)
		return;
	k.p = p->val;
	w_u(&k, s->protocol, 4);
	w_u(&k, s->disk_format, 4);
	w_u(&k, s->keys.durability, 1);
	w_u(&k, s->keys.directory_reads, 1);
	w_u(&k, s->keys.ends, 1);
	w_u(&k, s->keys.round_trip_ms, 4);
	w_u(&k, s->keys.lease_ms, 4);
	w_u(&k, s->keys.silence_ms, 4);
	w_u(&k, s->keys.drift_permille, 4);
	w_u(&k, longest_ms, 4);
	if (rehearsed)
		w_u(&k, 0, 4);
	p->val_len = (uint16_t)(k.p - p->val);
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

void row_fuzzy(const struct fuzzy *t, struct nfs4r_put *p, bool del)
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

void row_monotonic_read(const struct monotonic_read *n, struct nfs4r_put *p, bool del)
{
	struct cursor k = key_oid(p, 'N', &n->oid);

	p->del = del;
	w_u(&k, n->by, 2);
	w_u(&k, n->version, 8);
	p->val_len = del ? 0 : 10;
}

void row_gap(const struct gap_row *g, struct nfs4r_put *p, bool del)
{
	struct cursor k = key_oid(p, 'G', &g->oid);

	p->del = del;
	if (del)
		return;
	w_u(&k, g->depth, 1);
	w_u(&k, g->server, 2);
	w_u(&k, g->end, 8);
	p->val_len = (uint16_t)(k.p - p->val);
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
