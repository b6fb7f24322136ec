/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Bytes that are not sent because the copy here has them, or is about to get them (control 6.3, 7.10). Where reads go: router.c. What the owner knows: byte_versions.c.
 *
 * Happy path: a READ goes to another server and says which version the copy here has. The owner answers with a promise: from which version on the bytes asked for are right
 * in any copy. Here they are read as soon as the copy has that version.
 *
 * With the promise comes from which version on each piece of the file is right. While the owner may go on to write the file that says nothing of the next READ. But if its
 * control was known to be closing when the question was sent, and CLOSING said up to where, all updates of the file up to there lie behind the owner's answer, and
 * what comes after them every server hears of by itself (control 7.10): then a map of the pieces is kept, and the next READ asks nobody. So a large file that was closed is read
 * at the pace at which it comes, and not of one round trip for each block.
 *
 * Failure modes: nothing more comes, or not soon: the bytes are asked for, and for a while no promise of that owner is taken. The file is shorter by now: the bytes are asked for. The
 * map is of an earlier close, or of an earlier start of the owner: the core's answer to how far this one goes differs, and the owner is asked. A client was told a newer version than the map is of (control 6.9): the same.
 *
 * Invariant: nothing is read here on a promise while the copy may be wrong for another reason than its version.
 */
#include <endian.h>
#include <stdlib.h>

#include "engine/read/read_int.h"

#define WAITS 5 /* op_wait_ms for a promise, as long as more of the owner's log comes; on a slow link a window of it takes half a minute */
#define IMPATIENT_MS 10000 /* after a promise that was not kept */
#define MAPS 16

struct map {
	struct nfs4r_oid oid;
	nfs4r_server_id by;
	struct nfs4r_closed closed; /* as the core said when it was asked for */
	nfs4r_version final;
	uint64_t size, piece_bytes, first; /* first: byte of the file where the pieces begin */
	uint32_t n; /* 0: nothing is known of pieces, and all has the version `final` */
	nfs4r_version *piece;
};

struct promises {
	pthread_mutex_t lock;
	uint32_t next;
	struct map map[MAPS];
	_Atomic uint64_t impatient_ms[NFS4R_SERVERS_MAX + 1]; /* index = server id: until then it is asked for bytes */
};

struct promises *read_promises_create(void)
{
	struct promises *p = calloc(1, sizeof(*p));

	if (p)
		pthread_mutex_init(&p->lock, NULL);
	return p;
}

void read_promises_destroy(struct promises *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < MAPS; i++)
		free(p->map[i].piece);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* ---- the copy here ---- */

/* Not while more than the version is wrong, or may be. */
static bool is_sound(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_core_view v;
	struct nfs4r_fuzzy_object left;
	bool sound;

	if (engine_doubt_about(eng, oid) != DOUBT_NONE)
		return false;
	pthread_mutex_lock(&eng->lock);
	nfs4r_core_get_view(eng->core, &v);
	sound = eng->runtime.ready && !eng->runtime.halt.why[0] && !v.repairing && !v.joining && nfs4r_core_exactness(eng->core, oid, &left) != NFS4R_INEXACT;
	pthread_mutex_unlock(&eng->lock);
	return sound;
}

static nfs4r_version version_here(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_row row;

	return nfs4r_store_row(eng->store, oid, &row) == NFS4R_KNOWN ? row.version : 0;
}

/* How far the copy has to be until it is as good as the owner's file. */
static struct nfs4r_closed closed_at(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, nfs4r_server_id owner)
{
	pthread_mutex_lock(&eng->lock);
	struct nfs4r_closed at = nfs4r_core_closed_at(eng->core, oid, owner);
	pthread_mutex_unlock(&eng->lock);
	return at;
}

/* Not if it is asked for another reason than a close, or for another one, or told a client of more than @final. */
static bool is_still_closed(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, nfs4r_server_id owner, const struct nfs4r_closed *then, nfs4r_version final)
{
	struct nfs4r_closed now = closed_at(eng, oid, owner);

	return now.lsn && now.lsn == then->lsn && now.inc == then->inc && now.owner_version <= final;
}

/* ---- maps; p->lock held ---- */

static struct map *find(struct promises *p, const struct nfs4r_oid *oid)
{
	for (uint32_t i = 0; i < MAPS; i++)
		if (p->map[i].by && nfs4r_oid_eq(&p->map[i].oid, oid))
			return &p->map[i];
	return NULL;
}

static uint64_t word(const struct nfs4r_buf *b, uint32_t i)
{
	uint64_t be;

	memcpy(&be, b->data + i * sizeof(be), sizeof(be));
	return be64toh(be);
}

/* Of the pieces that have [off, off + len). 0: they are not among those that the owner named. */
static nfs4r_version newest(const struct map *m, uint64_t off, uint64_t len)
{
	nfs4r_version v = 0;

	if (!m->n)
		return m->final;
	if (off < m->first || (off + len - 1 - m->first) / m->piece_bytes >= m->n)
		return 0;
	for (uint64_t i = (off - m->first) / m->piece_bytes; i <= (off + len - 1 - m->first) / m->piece_bytes; i++)
		v = m->piece[i] > v ? m->piece[i] : v;
	return v;
}

/* @b: words, see nfs4r.x. False: it is none. */
static bool read_map(struct map *m, const struct nfs4r_buf *b, uint64_t off)
{
	uint32_t words = b ? (uint32_t)b->len / 8 : 0;

	if (words < PROMISE_WORDS || b->len % 8)
		return false;
	m->final = word(b, 0);
	m->size = word(b, 1);
	m->piece_bytes = word(b, 2);
	m->n = m->piece_bytes ? words - PROMISE_WORDS : 0;
	m->first = m->n ? off / m->piece_bytes * m->piece_bytes : 0;
	m->piece = m->n ? malloc(m->n * sizeof(*m->piece)) : NULL;
	if (m->n && !m->piece)
		return false;
	for (uint32_t i = 0; i < m->n; i++)
		m->piece[i] = word(b, PROMISE_WORDS + i);
	return true;
}

static void keep_map(struct promises *p, const struct map *m)
{
	pthread_mutex_lock(&p->lock);
	struct map *to = find(p, &m->oid);

	if (!to)
		to = &p->map[p->next++ % MAPS];
	free(to->piece);
	*to = *m;
	pthread_mutex_unlock(&p->lock);
}

/* ---- one READ ---- */

static void wait_for(struct nfs4r_engine *eng, struct read_promise *pr)
{
	pr->moved_ms = engine_now_ms();
	pr->until_ms = pr->moved_ms + WAITS * (uint64_t)eng->cfg.op_wait_ms;
	pr->applied = 0;
}

bool read_promise_known(struct nfs4r_engine *eng, const struct nfs4r_read *rd, nfs4r_server_id owner, struct read_promise *pr)
{
	struct promises *p = eng->read.promises;
	nfs4r_version final = 0;
	struct nfs4r_closed then = { 0 };

	if (rd->type != NFS4R_RD_READ)
		return false;
	pthread_mutex_lock(&p->lock);
	struct map *m = find(p, &rd->oid);

	if (m && m->by == owner && rd->length && rd->offset < m->size) {
		uint64_t left = m->size - rd->offset, len = rd->length < NFS4R_IO_MAX ? rd->length : NFS4R_IO_MAX;

		pr->len = left < len ? left : len;
		pr->eof = rd->offset + pr->len == m->size;
		pr->version = newest(m, rd->offset, pr->len);
		pr->by = owner;
		then = m->closed;
		final = m->final;
	}
	pthread_mutex_unlock(&p->lock);
	if (!then.lsn || !pr->version || !is_still_closed(eng, &rd->oid, owner, &then, final) || !is_sound(eng, &rd->oid)) {
		pr->version = 0;
		return false;
	}
	wait_for(eng, pr);
	return true;
}

nfs4r_version read_promise_asked(struct nfs4r_engine *eng, const struct nfs4r_read *rd, nfs4r_server_id owner, struct read_promise *pr, bool bytes)
{
	pr->version = 0;
	if (rd->type != NFS4R_RD_READ)
		return rd->cookie;
	if (bytes || engine_now_ms() < eng->read.promises->impatient_ms[owner] || !is_sound(eng, &rd->oid))
		return 0;
	pr->closed = closed_at(eng, &rd->oid, owner);
	return version_here(eng, &rd->oid);
}

bool read_promise_taken(struct nfs4r_engine *eng, nfs4r_server_id from, const struct nfs4r_read *asked, const struct nfs4r_read *answer, struct read_promise *pr)
{
	if (asked->type != NFS4R_RD_READ || !asked->cookie || answer->status != NFS4R_OK || !answer->verifier || !answer->result_offset ||
	    answer->result_offset > NFS4R_IO_MAX)
		return false;

	struct map m = { .oid = asked->oid, .by = from, .closed = pr->closed };

	pr->version = answer->verifier;
	pr->by = from;
	pr->len = answer->result_offset;
	pr->eof = answer->eof;
	if (pr->closed.lsn && read_map(&m, answer->data, asked->offset))
		keep_map(eng->read.promises, &m);
	wait_for(eng, pr);
	return true;
}

bool read_promise_valid(struct nfs4r_engine *eng, struct nfs4r_read *rd, struct read_promise *pr)
{
	if (version_here(eng, &rd->oid) < pr->version || !is_sound(eng, &rd->oid))
		return false;
	if (nfs4r_read_here(eng, rd) != NFS4R_OK || !rd->data || rd->data->len < pr->len) { /* it was made shorter meanwhile */
		pr->until_ms = 0;
		return false;
	}
	rd->data->len = pr->len;
	rd->eof = pr->eof;
	rd->server = pr->by;
	__atomic_add_fetch(&eng->read.promised, 1, __ATOMIC_RELAXED);
	return true;
}

bool read_promise_may_be_valid(struct nfs4r_engine *eng, struct read_promise *pr)
{
	uint64_t now = engine_now_ms();

	pthread_mutex_lock(&eng->lock);
	nfs4r_lsn applied = nfs4r_core_applied(eng->core, pr->by);
	pthread_mutex_unlock(&eng->lock);
	if (applied != pr->applied) {
		pr->applied = applied;
		pr->moved_ms = now;
	}
	return now < pr->until_ms && now < pr->moved_ms + eng->cfg.op_wait_ms;
}

void read_promise_broken(struct nfs4r_engine *eng, struct read_promise *pr)
{
	if (pr->until_ms)
		eng->read.promises->impatient_ms[pr->by] = engine_now_ms() + IMPATIENT_MS;
	pr->version = 0;
}
