/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * See flips.h. The record is the only one of its length, so the test knows which one was changed: an entry with a payload, whose bytes the receiver counts. Nothing else is
 * under way, so a payload that arrives is that of the changed record.
 */
#include "lib/unit.h"

#include "contract/rpc/flips.h"
#include "contract/rpc/traffic.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FLIPS 100u /* ten times slower */
#else
#define FLIPS 1000u
#endif
#define SETTLED 100u /* bytes of an entry that is not touched */
#define LEAST 400u /* bytes of the shortest victim's payload: longer than all records that the transport sends by itself */
#define SPREAD 104729u /* a prime: the bits of a long record are taken all over it */

static void flip(struct world *w, struct proxy *p, uint32_t round, uint32_t bit)
{
	uint32_t dir = round % 2, from = !dir, to = dir; /* direction 0 is that of server 2, which calls */
	uint32_t payload = LEAST + round * 37 % 20000;
	struct world_server *at = &w->s[to], *by = &w->s[from];
	uint64_t ups = world_get(at, w_s->ups[from + 1]), other_ups = world_get(by, w_s->ups[to + 1]);
	struct traffic t = { w, from, to, 0, 0, 0 };

	world_get(at, w_s->bytes = 0);
	traffic_entry(&t, SETTLED); /* it works before */
	traffic_arrived(&t);
	atomic_store(&p->direction, (int)dir);
	atomic_store(&p->bit, bit);
	atomic_store(&p->action, PROXY_FLIP);
	traffic_entry(&t, payload);
	world_wait(at, w_s->up[from + 1] && w_s->ups[from + 1] > ups); /* it was down meanwhile */
	world_wait(by, w_s->up[to + 1] && w_s->ups[to + 1] > other_ups);
	assert_int_equal(atomic_load(&p->action), PROXY_NONE); /* it was this record that ended them */
	if (world_get(at, w_s->bytes) != SETTLED)
		fail_msg("round %u: a record with a payload of %u bytes was delivered although its bit %u was changed", round, payload, bit);
}

void flips(struct world *w, struct proxy *p, uint32_t head)
{
	atomic_store(&p->least, LEAST);
	atomic_store(&p->open, true);
	for (uint32_t round = 0; round < FLIPS; round++)
		flip(w, p, round, round / 2 < head ? round / 2 : round * SPREAD);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(world_logged(&w->s[i], "sent a record that is not authentic") > 0);
		assert_true(world_get(&w->s[i], w_s->downs[2 - i]) >= FLIPS);
	}
	atomic_store(&p->least, 0);
	atomic_store(&p->open, false);
}
