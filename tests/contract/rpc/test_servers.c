/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The set of servers changes while transports run: one more, one less, another address; and what those hear that are none
 * of the servers, from whichever side the call comes.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "lib/unit.h"

#include "contract/rpc/world.h"

static struct nfs4r_endpoint all[4]; /* of the world of this test */

/* Servers of @w whose bit is in @set, as a view numbered @view would say. */
static void list_of(const struct world *w, nfs4r_servers set, uint64_t view, struct nfs4r_rpc_servers *out)
{
	memset(out, 0, sizeof(*out));
	out->view = view;
	for (uint32_t i = 0; i < w->n; i++) {
		if (set & NFS4R_BIT(i + 1))
			out->list[out->n++] = all[i];
	}
}

static void tell(struct world *w, uint32_t i, nfs4r_servers set, nfs4r_servers gone, uint64_t view)
{
	struct nfs4r_rpc_servers next;
	char why[NFS4R_WHY] = "";

	list_of(w, set, view, &next);
	next.gone = gone;
	if (nfs4r_rpc_set_servers(w->s[i].rpc, &next, why) != NFS4R_OK)
		fail_msg("%s", why);
}

#define SET(...) set_of((const nfs4r_server_id[]){ __VA_ARGS__, 0 })
static nfs4r_servers set_of(const nfs4r_server_id *ids)
{
	nfs4r_servers set = 0;

	for (; *ids; ids++)
		set |= NFS4R_BIT(*ids);
	return set;
}

/* The configuration of server @i names only those in @set. */
static void configure(struct world *w, uint32_t i, nfs4r_servers set)
{
	struct nfs4r_rpc_servers list;

	list_of(w, set, 0, &list);
	w->s[i].cfg.nservers = list.n;
	memcpy(w->s[i].cfg.servers, list.list, sizeof(list.list));
}

static struct world *world_of(uint32_t n)
{
	struct world *w = malloc(sizeof(*w));

	world_init(w, n);
	memcpy(all, w->s[0].cfg.servers, sizeof(all));
	return w;
}

static void end(struct world *w)
{
	world_fini(w);
	free(w);
}

/* 4 knows all, the others know nothing of 4 until a view says so; its list differs from theirs for ever. */
static void test_one_more(void **state)
{
	struct world *w = world_of(4);

	for (uint32_t i = 0; i < 3; i++)
		configure(w, i, SET(1, 2, 3));
	world_start_all(w);
	world_wait(&w->s[0], w_s->up[2] && w_s->up[3]);
	for (uint32_t i = 0; i < 3; i++)
		world_wait(&w->s[3], world_state_has(w_s, (nfs4r_server_id)(i + 1), "does not belong to this volume"));
	assert_non_null(strstr(w->s[3].log, "nfs4rctl server add 4 ADDRESS at a member"));
	for (uint32_t i = 0; i < 3; i++)
		tell(w, i, SET(1, 2, 3, 4), 0, 65);
	world_wait_all_up(w);
	assert_int_equal(world_get(&w->s[0], w_s->downs[2] + w_s->downs[3]), 0);
	end(w);
}

/* The one with the lowest id is called by all others, so it must be asked for by them; nobody waits for its patience. */
static void test_one_more_that_is_called(void **state)
{
	struct world *w = world_of(3);

	configure(w, 1, SET(2, 3));
	configure(w, 2, SET(2, 3));
	world_start(w, 1);
	world_start(w, 2);
	world_wait(&w->s[1], w_s->up[3]);
	world_start(w, 0);
	world_wait(&w->s[0], world_state_has(w_s, 2, "does not belong to this volume")); /* it is never called: it asks */
	world_wait(&w->s[0], world_state_has(w_s, 3, "does not belong to this volume"));
	tell(w, 1, SET(1, 2, 3), 0, 65);
	tell(w, 2, SET(1, 2, 3), 0, 65);
	world_wait_all_up(w);
	end(w);
}

/* What was sent before it arrives still, and then it is down once, with the reason. */
static void test_one_less(void **state)
{
	struct nfs4r_msg m = { .type = NFS4R_MSG_PULL, .pull.log = 1 };
	struct world *w = world_of(3);

	world_start_all(w);
	world_wait_all_up(w);
	for (uint64_t n = 1; n <= 1000; n++) {
		m.pull.from = n;
		assert_int_equal(nfs4r_rpc_send(w->s[0].rpc, 3, NFS4R_LANE_CONTROL, &m), NFS4R_OK);
	}
	tell(w, 0, SET(1, 2), SET(3), 65);
	tell(w, 1, SET(1, 2), SET(3), 65);
	world_wait(&w->s[2], w_s->messages == 1000);
	for (uint32_t i = 0; i < 2; i++) {
		world_wait(&w->s[i], strstr(w_s->log, "removed from the volume"));
		world_wait(&w->s[i], w_s->downs[3] == 1);
	}
	assert_int_equal(world_get(&w->s[0], w_s->downs[2]), 0);
	assert_int_equal(nfs4r_rpc_send(w->s[0].rpc, 3, NFS4R_LANE_CONTROL, &m), NFS4R_UNKNOWN);
	assert_false(world_state_has(&w->s[0], 3, "")); /* nobody to tell of */
	world_wait(&w->s[2], world_state_has(w_s, 1, "was removed from") && world_state_has(w_s, 2, "was removed from"));
	assert_non_null(strstr(w->s[2].log, "start it with an empty store"));
	/* Added again, from its side nothing has to be done. */
	tell(w, 0, SET(1, 2, 3), 0, 129);
	tell(w, 1, SET(1, 2, 3), 0, 129);
	world_wait_all_up(w);
	end(w);
}

/* The one with the lowest id was down when it was taken out. Nobody calls it any more; it asks, and hears why. */
static void test_out_while_it_was_down(void **state)
{
	struct world *w = world_of(3);

	world_start(w, 1);
	world_start(w, 2);
	world_wait(&w->s[1], w_s->up[3]);
	tell(w, 1, SET(2, 3), SET(1), 65);
	tell(w, 2, SET(2, 3), SET(1), 65);
	world_start(w, 0);
	world_wait(&w->s[0], world_state_has(w_s, 2, "was removed from"));
	world_wait(&w->s[1], strstr(w_s->log, "refused server 1"));
	assert_int_equal(world_get(&w->s[1], w_s->ups[1]), 0);
	end(w);
}

static void test_no_server_of_it(void **state)
{
	struct world *w = world_of(3);

	configure(w, 0, SET(1, 2));
	configure(w, 1, SET(1, 2));
	w->s[0].cfg.view = w->s[1].cfg.view = 65;
	world_start_all(w);
	world_wait(&w->s[2], strstr(w_s->log, "server 3 does not belong to this volume: run nfs4rctl server add 3 ADDRESS at a member"));
	end(w);
}

/* Server 3 moves: the others are told, and go on with it there. */
static void test_another_address(void **state)
{
	struct world *w = world_of(3);
	struct nfs4r_endpoint moved;

	world_start_all(w);
	world_wait_all_up(w);
	moved = all[2];
	world_stop(w, 2);
	world_wait(&w->s[0], !w_s->up[3]);
	strcpy(moved.host, "127.0.0.7");
	moved.port++;
	all[2] = w->s[2].cfg.servers[2] = moved;
	w->s[2].cfg.inc++;
	w->s[2].cfg.view = 65;
	world_start(w, 2);
	world_wait(&w->s[2], world_state_has(w_s, 1, "wrong address"));
	tell(w, 0, SET(1, 2, 3), 0, 65);
	tell(w, 1, SET(1, 2, 3), 0, 65);
	world_wait_all_up(w);
	assert_true(world_logged(&w->s[0], "server 3 is at 127.0.0.7") == 1);
	end(w);
}

/* Before any view says who the servers are, lists that differ are refused as ever; one that has a view makes them of no account. */
static void test_lists_that_differ(void **state)
{
	struct world *w = world_of(3);

	configure(w, 0, SET(1, 2));
	world_start(w, 0);
	world_start(w, 1);
	world_wait(&w->s[0], world_state_has(w_s, 2, "server lists differ"));
	world_wait(&w->s[1], world_state_has(w_s, 1, "server lists differ"));
	assert_int_equal(world_get(&w->s[0], w_s->ups[2]), 0);
	tell(w, 0, SET(1, 2), 0, 65);
	world_wait(&w->s[0], w_s->up[2]);
	end(w);
}

/* A list that start() would refuse changes nothing. */
static void test_bad_list(void **state)
{
	struct nfs4r_rpc_servers next;
	struct world *w = world_of(2);
	char why[NFS4R_WHY] = "";

	world_start_all(w);
	world_wait_all_up(w);
	list_of(w, SET(1, 2), 65, &next);
	next.list[1].id = 1;
	assert_int_equal(nfs4r_rpc_set_servers(w->s[0].rpc, &next, why), NFS4R_BADCONFIG);
	assert_non_null(strstr(why, "occurs twice"));
	next.n = 0;
	assert_int_equal(nfs4r_rpc_set_servers(w->s[0].rpc, &next, why), NFS4R_BADCONFIG);
	next.n = NFS4R_SERVERS_MAX + 1;
	assert_int_equal(nfs4r_rpc_set_servers(w->s[0].rpc, &next, why), NFS4R_BADCONFIG);
	assert_int_equal(world_get(&w->s[0], w_s->downs[2]), 0);
	end(w);
}

/* Stop while a list waits, and while a server that was taken out still lingers. */
static void test_stop_meanwhile(void **state)
{
	struct world *w = world_of(3);

	world_start_all(w);
	world_wait_all_up(w);
	for (uint64_t n = 0; n < 50; n++)
		tell(w, 0, n % 2 ? SET(1, 2, 3) : SET(1, 2), 0, 65 + n);
	end(w);
}

/* TCP connections of this process that end when nothing was acknowledged for @ms. */
static uint32_t connections_of(int ms)
{
	uint32_t n = 0;

	for (int fd = 3; fd < 256; fd++) {
		struct sockaddr_storage peer;
		socklen_t plen = sizeof(peer), len = sizeof(int);
		int is = 0;

		n += getpeername(fd, (struct sockaddr *)&peer, &plen) == 0 && getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &is, &len) == 0 && is == ms;
	}
	return n;
}

static void set_silence(struct world *w, uint32_t i, uint32_t ms)
{
	struct nfs4r_rpc_servers next;
	char why[NFS4R_WHY] = "";

	list_of(w, SET(1, 2), 65, &next);
	next.silence_ms = ms;
	assert_int_equal(nfs4r_rpc_set_servers(w->s[i].rpc, &next, why), NFS4R_OK);
}

/* Connections that stand follow the volume's times, in both directions; the lane that the other side may hold up has no end of its own. */
static void test_another_silence(void **state)
{
	struct world *w = world_of(2);
	const uint32_t ends = 2 * NFS4R_LANES, never = 2;

	for (uint32_t i = 0; i < 2; i++) {
		w->s[i].cfg.silence_ms = 3000;
		w->s[i].cfg.connections = 1;
	}
	world_start_all(w);
	world_wait_all_up(w);
	world_wait(&w->s[0], connections_of(3000) == ends - never);
	assert_int_equal(connections_of(0), never);
	for (uint32_t i = 0; i < 2; i++)
		set_silence(w, i, 9000);
	world_wait(&w->s[0], connections_of(9000) == ends - never);
	set_silence(w, 1, 1500);
	world_wait(&w->s[0], connections_of(1500) == (ends - never) / 2);
	assert_int_equal(connections_of(0), never);
	assert_int_equal(world_get(&w->s[0], w_s->downs[2]) + world_get(&w->s[1], w_s->downs[1]), 0);
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_more),
		cmocka_unit_test(test_one_more_that_is_called),
		cmocka_unit_test(test_one_less),
		cmocka_unit_test(test_out_while_it_was_down),
		cmocka_unit_test(test_no_server_of_it),
		cmocka_unit_test(test_another_address),
		cmocka_unit_test(test_lists_that_differ),
		cmocka_unit_test(test_bad_list),
		cmocka_unit_test(test_another_silence),
		cmocka_unit_test(test_stop_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
