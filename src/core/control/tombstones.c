/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Floors and tombstones (control 4.8): a proposal that arrives after its release must not be recorded.
 *
 * Each server says with PROPOSE and RELEASE below which seq it proposes nothing any more. A released seq at or above that floor
 * leaves a tombstone, in memory and as a row, which goes when the floor has passed it.
 */
#include "core/control/control_int.h"

/* Control 4.8: smallest seq this server may still propose. */
uint64_t control_own_floor(const struct nfs4r_core *c)
{
	const struct heap_item *it = heap_first(&c->control.open);

	return it && !FAULT(F_FLOOR_TOO_HIGH) ? it->key : c->control.next_seq;
}

void control_dead_add(struct nfs4r_core *c, nfs4r_server_id s, uint64_t seq)
{
	struct dead *d = out_xcalloc(1, sizeof(*d));

	d->key = (struct pidkey){ s, seq };
	HASH_ADD(hh, c->control.dead, key, sizeof(d->key), d);
	heap_in(&c->control.deads[s], &d->order, seq);
}

/* Control 4.8: below the floor nothing is proposed any more, so tombstones there may go. */
void control_release_raise_floor(struct nfs4r_core *c, nfs4r_server_id s, uint64_t floor)
{
	struct heap_item *it;
	struct nfs4r_put p;

	if (floor <= c->control.floor[s])
		return;
	c->control.floor[s] = floor;
	row_floor(s, floor, &p);
	out_put(c, &p);
	while ((it = heap_first(&c->control.deads[s])) && it->key < floor) {
		struct dead *d = (struct dead *)((char *)it - offsetof(struct dead, order));

		row_dead(s, d->key.seq, &p, true);
		out_put(c, &p);
		heap_out(&c->control.deads[s], it);
		HASH_DEL(c->control.dead, d);
		free(d);
	}
}

void control_floor_restored(struct nfs4r_core *c, nfs4r_server_id s, uint64_t floor)
{
	c->control.floor[s] = floor;
}
