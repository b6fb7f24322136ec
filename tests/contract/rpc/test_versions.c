/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Releases that live together: what two servers speak, what travels between them, and that a release is replaced by the next and put back
 * without the others. The next protocol is the one that is rehearsed (src/base/version.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/unit.h"

#include "contract/rpc/fake.h"

static const struct nfs4r_versions now = { NFS4R_PROTOCOL_VERSION, NFS4R_PROTOCOL_VERSION };
static const struct nfs4r_versions next = { NFS4R_PROTOCOL_VERSION, NFS4R_PROTOCOL_REHEARSED };

static struct world *three(void)
{
	struct world *w = malloc(sizeof(*w));

	world_init(w, 3);
	for (uint32_t i = 0; i < 3; i++)
		w->s[i].cfg.protocol = now;
	return w;
}

/* Servers @a and @b speak @protocol, as both say. */
static void speak(struct world *w, nfs4r_server_id a, nfs4r_server_id b, uint32_t protocol)
{
	struct nfs4r_rpc_peer_stats st;

	for (int i = 0; i < 2; i++) {
		nfs4r_server_id here = i ? a : b, there = i ? b : a;

		assert_true(nfs4r_rpc_get_stats(w->s[here - 1].rpc, there, &st));
		assert_true(st.up);
		assert_int_equal(st.speaks, protocol);
		assert_int_equal(st.protocol.highest, w->s[there - 1].cfg.protocol.highest);
		assert_int_equal(st.protocol.lowest, w->s[there - 1].cfg.protocol.lowest);
		assert_int_equal(st.disk_format.highest, w->s[there - 1].cfg.disk_format.highest);
	}
}

/* A HEARTBEAT of @a arrives at @b, with @rehearsed of the member that the next protocol adds. */
static void beat(struct world *w, nfs4r_server_id a, nfs4r_server_id b, uint64_t rehearsed)
{
	struct world_server *to = &w->s[b - 1];
	struct nfs4r_msg *m = calloc(1, sizeof(*m));
	uint64_t before = world_get(to, w_s->heartbeats), said = world_get(to, w_s->rehearsed);

	m->type = NFS4R_MSG_HEARTBEAT;
	m->heartbeat.memory = NFS4R_MEMORY_KNOWN;
	m->heartbeat.protocol = m->heartbeat.disk_format = now;
	m->heartbeat.rehearsal = 77;
	assert_int_equal(nfs4r_rpc_send(w->s[a - 1].rpc, b, NFS4R_LANE_CONTROL, m), NFS4R_OK);
	world_wait(to, w_s->heartbeats == before + 1);
	assert_int_equal(world_get(to, w_s->rehearsed), said + rehearsed);
	free(m);
}

static void replaced(struct world *w, nfs4r_server_id id, struct nfs4r_versions protocol)
{
	struct world_server *s = &w->s[id - 1];
	uint32_t downs[4] = { 0 };

	for (uint32_t i = 0; i < w->n; i++)
		downs[i] = (uint32_t)world_get(&w->s[i], w_s->downs[id]);
	world_stop(w, id - 1);
	for (uint32_t i = 0; i < w->n; i++)
		if (i != id - 1)
			world_wait(&w->s[i], w_s->downs[id] > downs[i]);
	s->cfg.protocol = protocol;
	s->cfg.inc += 100;
	world_start(w, id - 1);
	world_wait_all_up(w);
}

/* Lines of @s that say what server 3 is. */
static uint32_t said_to_be_up(struct world_server *s, uint32_t protocol)
{
	char line[120];

	snprintf(line, sizeof(line), "NFSv4.r 0.1+build3, protocol %u (it speaks %u to %u), disk format 1 to 2", protocol, next.lowest, next.highest);
	return world_logged(s, line);
}

static void test_the_highest_common_one(void **state)
{
	struct world *w = three();

	w->s[1].cfg.protocol = w->s[2].cfg.protocol = next;
	w->s[2].cfg.disk_format = (struct nfs4r_versions){ 1, 2 };
	world_start_all(w);
	world_wait_all_up(w);
	speak(w, 1, 2, NFS4R_PROTOCOL_VERSION);
	speak(w, 1, 3, NFS4R_PROTOCOL_VERSION);
	speak(w, 2, 3, NFS4R_PROTOCOL_REHEARSED);
	beat(w, 1, 2, 0);
	beat(w, 2, 1, 0);
	beat(w, 2, 3, 77);
	beat(w, 3, 2, 77);
	assert_int_equal(said_to_be_up(&w->s[0], NFS4R_PROTOCOL_VERSION), 1);
	assert_int_equal(said_to_be_up(&w->s[1], NFS4R_PROTOCOL_REHEARSED), 1);
	world_fini(w);
	free(w);
}

/* One server after the other, and back. */
static void test_one_after_the_other_and_back(void **state)
{
	struct world *w = three();

	world_start_all(w);
	world_wait_all_up(w);
	for (nfs4r_server_id id = 1; id <= 3; id++) {
		replaced(w, id, next);
		for (nfs4r_server_id a = 1; a <= 3; a++)
			for (nfs4r_server_id b = 1; b <= 3; b++) {
				bool both = a <= id && b <= id;

				if (a == b)
					continue;
				speak(w, a, b, both ? NFS4R_PROTOCOL_REHEARSED : NFS4R_PROTOCOL_VERSION);
				beat(w, a, b, both ? 77 : 0);
			}
	}
	replaced(w, 2, now);
	speak(w, 1, 2, NFS4R_PROTOCOL_VERSION);
	speak(w, 2, 3, NFS4R_PROTOCOL_VERSION);
	speak(w, 1, 3, NFS4R_PROTOCOL_REHEARSED);
	beat(w, 1, 2, 0);
	beat(w, 2, 3, 0);
	beat(w, 3, 1, 77);
	world_fini(w);
	free(w);
}

/* A release that has left a protocol behind does not go with one that has no later one. */
static void test_two_versions_apart(void **state)
{
	struct world *w = three();

	w->s[2].cfg.protocol = (struct nfs4r_versions){ NFS4R_PROTOCOL_REHEARSED, NFS4R_PROTOCOL_REHEARSED + 1 };
	w->s[1].cfg.protocol = next;
	world_start_all(w);
	world_wait(&w->s[1], w_s->up[1] && w_s->up[3]);
	for (int i = 0; i < 2; i++) /* they hear of it after server 2, or before */
		world_wait(&w->s[2 * i], w_s->up[2]);
	speak(w, 2, 3, NFS4R_PROTOCOL_REHEARSED);
	speak(w, 1, 2, NFS4R_PROTOCOL_VERSION);
	for (int i = 0; i < 2; i++)
		world_wait(&w->s[2 * i], world_state_has(w_s, (nfs4r_server_id)(3 - 2 * i), "no common protocol version"));
	assert_true(world_state_has(&w->s[0], 3, "install on server 1 a release that speaks protocol "));
	world_fini(w);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_highest_common_one),
		cmocka_unit_test(test_one_after_the_other_and_back),
		cmocka_unit_test(test_two_versions_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
