/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Disks that are lost, or put back to what they were (log 8.6): the server comes back with an empty store, or with an
 * image of its store, that is what was on its disk at some moment. An image is put back only when all others have a later start of that server on
 * their disks, or, if the plan has images of the newest start, that its journal was longer in it: else nobody could tell. At most one server is without its memory at a time:
 * the next one may lose its disk when the last one serves again. That one has no entries, so perhaps nobody has them then, and others are made
 * anew, too (log 8.5).
 */
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))

static uint64_t number_at(const struct nfs4r_put *p, uint32_t at)
{
	uint64_t n = 0;

	for (uint32_t b = 0; b < 8; b++)
		n = n << 8 | p->val[at + b];
	return n;
}

/* What a server says of a start (the core's row 'I'): its number, and how long its journal was. 0: nothing on its disk. */
static uint64_t knows_start(const struct server *q, nfs4r_server_id of, uint64_t *pos)
{
	const uint8_t key[3] = { 'I', (uint8_t)(of >> 8), (uint8_t)of };
	uint64_t inc = 0;

	*pos = 0;

	for (uint32_t i = 0; i < q->journal.synced; i++)
		for (uint32_t k = 0; k < q->journal.recs[i].nputs; k++) {
			const struct nfs4r_put *p = &q->journal.recs[i].puts[k];

			if (p->key_len != sizeof(key) || memcmp(p->key, key, sizeof(key)))
				continue;
			inc = number_at(p, 0);
			*pos = number_at(p, 16);
		}
	return inc;
}

void lose_image(struct server *v)
{
	struct sim *s = v->sim;

	if (!s->plan.losses || v->disk_lost || !rng_chance(&s->rng, v->image.taken ? 200 : 800))
		return;
	v->image.taken = true;
	v->image.records = v->journal.synced;
	if (v->storage)
		store_image(v);
	v->image.end = v->storage ? store_end(v) : v->journal.synced;
	v->image.inc = v->inc;
	v->image.start = NFS4R_GEN(v->applied[v->id]) << NFS4R_GEN_SHIFT | v->inc;
	memcpy(v->image.truncated, v->truncated, sizeof(v->truncated));
}

static bool knows_better(const struct server *q, const struct server *v)
{
	uint64_t pos, start = knows_start(q, v->id, &pos);

	return start > v->image.start || (v->sim->plan.newest_images && start == v->image.start && pos > v->image.end);
}

static bool all_know_better(const struct server *v)
{
	for (nfs4r_server_id q = 1; q <= v->sim->plan.servers; q++)
		if (q != v->id && !knows_better(&v->sim->servers[q], v))
			return false;
	return true;
}

static void empty_disk(struct server *v, const char *what)
{
	TRACE(v->sim, v, "%s", what);
	check_crashed(v, 0);
	journal_fini(&v->journal);
	memset(v->truncated, 0, sizeof(v->truncated));
	v->inc = 0;
	v->tail_lost = false;
	if (v->storage)
		store_lost(v);
}

static void lost(struct server *v)
{
	empty_disk(v, "its disk is lost");
	v->sim->totals.disks_lost++;
}

void disk_empty(struct server *v)
{
	empty_disk(v, "has a new disk");
	v->told_of_all = v->sim->plan.base == 1; /* else it would be a volume of its own */
	v->sim->totals.new_disks++;
}

static void put_back(struct server *v)
{
	struct sim *s = v->sim;
	uint64_t was = v->inc;

	TRACE(s, v, "its disk is put back to what it was in start %llu", ULL(v->image.inc));
	if (v->storage) {
		store_put_back(v);
	} else {
		journal_cut(&v->journal, v->image.records);
		check_crashed(v, journal_drop_undecided(&v->journal, v->id, 0));
	}
	v->journal.nback = 0;
	memcpy(v->truncated, v->image.truncated, sizeof(v->truncated));
	v->inc = v->image.inc;
	v->tail_lost = true;
	s->totals.disks_put_back++;
	s->totals.newest_put_back += v->image.inc == was;
}

static bool may_lose(const struct sim *s)
{
	for (uint32_t q = 1; q <= s->plan.servers; q++)
		if (s->servers[q].disk_lost)
			return false;
	return true;
}

bool lose_disk(struct server *v, uint64_t us)
{
	struct sim *s = v->sim;

	if (!may_lose(s))
		return false;
	if (v->up) {
		v->down_us = us;
		server_stop(v, true);
	}
	memcpy(v->had_stable, v->stable, sizeof(v->stable));
	v->disk_lost = true;
	if (v->image.taken && all_know_better(v) && rng_chance(&s->rng, 700))
		put_back(v);
	else
		lost(v);
	v->image.taken = false;
	return true;
}

/* It serves: what it knows now it has from the others. */
void lose_over(struct server *v)
{
	TRACE(v->sim, v, "remembers again");
	v->disk_lost = false;
	memset(v->had_stable, 0, sizeof(v->had_stable));
	v->sim->totals.disks_back++;
}
