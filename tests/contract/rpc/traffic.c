/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "lib/unit.h"

#include "contract/rpc/traffic.h"

/* Until the queue has room for it. */
static void send_it(struct traffic *t, enum nfs4r_lane lane, const struct nfs4r_msg *m)
{
	struct world_server *s = &t->w->s[t->from];
	uint64_t end = world_now_ns() + WORLD_WAIT_MS * 1000000ull;
	enum nfs4r_status st;

	while ((st = nfs4r_rpc_send(s->rpc, (nfs4r_server_id)(t->to + 1), lane, m)) == NFS4R_DELAY && world_now_ns() < end)
		sched_yield();
	if (st != NFS4R_OK)
		fail_msg("a message is not sent: %s; log:\n%s", nfs4r_status_str(st), s->log);
}

void traffic_question(struct traffic *t)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m));

	m->type = NFS4R_MSG_VERIFY;
	m->verify.id = ++t->questions;
	send_it(t, NFS4R_LANE_REQUEST, m);
	free(m);
}

void traffic_entry(struct traffic *t, uint32_t payload)
{
	uint64_t number = ++t->entries;
	struct nfs4r_msg *m = world_entry(number, &(uint8_t){ (uint8_t)number }, 1, payload);

	send_it(t, NFS4R_LANE_BULK, m);
	t->bytes += payload;
	nfs4r_msg_fini(m);
	free(m);
}

void traffic_some(struct traffic *t, uint32_t n)
{
	static const uint32_t sizes[] = { 0, 1, 100, 4096, 16376, 16380, 16384, 65400, 65536, 200000 };

	for (uint32_t i = 0; i < n; i++) {
		traffic_entry(t, sizes[i % (sizeof(sizes) / sizeof(sizes[0]))]);
		traffic_question(t);
	}
}

void traffic_arrived(struct traffic *t)
{
	struct world_server *s = &t->w->s[t->to];

	world_wait(s, w_s->last_question == t->questions && w_s->last_entry == t->entries && w_s->bytes >= t->bytes);
}
