/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What rpc.h promises between servers that want to talk: events, order, limits, restarts. */
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/unit.h"

#include "contract/rpc/world.h"

#define BULK_CONNECTIONS 4 /* the default */

static void send_question(struct world_server *s, nfs4r_server_id to, uint64_t number)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m));

	m->type = NFS4R_MSG_VERIFY;
	m->verify.id = number;
	assert_int_equal(nfs4r_rpc_send(s->rpc, to, NFS4R_LANE_REQUEST, m), NFS4R_OK);
	free(m);
}

static enum nfs4r_status send_entry(struct world_server *s, nfs4r_server_id to, uint64_t number,
				    uint32_t payload)
{
	struct nfs4r_msg *m = world_entry(number, &(uint8_t){ (uint8_t)number }, 1, payload);
	enum nfs4r_status st;

	st = nfs4r_rpc_send(s->rpc, to, NFS4R_LANE_BULK, m);
	nfs4r_msg_fini(m);
	free(m);
	return st;
}

static void test_up_and_down(void **state)
{
	struct world *w = malloc(sizeof(*w));
	struct nfs4r_rpc_peer_stats st;

	world_init(w, 3);
	world_start_all(w);
	world_wait_all_up(w);
	assert_int_equal(world_get(&w->s[0], w_s->inc[2]), 101);
	assert_int_equal(world_get(&w->s[2], w_s->inc[1]), 100);
	assert_true(nfs4r_rpc_get_stats(w->s[0].rpc, 3, &st));
	assert_true(st.up);
	assert_string_equal(st.state, "up");
	assert_int_equal(st.connects, 1);
	assert_false(nfs4r_rpc_get_stats(w->s[0].rpc, 1, &st));
	assert_false(nfs4r_rpc_get_stats(w->s[0].rpc, 9, &st));
	world_stop(w, 1);
	world_wait(&w->s[0], w_s->downs[2] == 1);
	world_wait(&w->s[2], w_s->downs[2] == 1);
	assert_int_equal(world_get(&w->s[0], w_s->downs[3]), 0);
	world_fini(w);
	free(w);
}

static void test_restart_with_new_incarnation(void **state)
{
	struct world *w = malloc(sizeof(*w));
	struct nfs4r_msg *m = calloc(1, sizeof(*m));

	world_init(w, 2);
	world_start_all(w);
	world_wait_all_up(w);
	for (uint32_t round = 1; round <= 4; round++) {
		uint32_t i = round % 2; /* the caller and the called one in turn */

		world_stop(w, i);
		world_wait(&w->s[1 - i], w_s->downs[i + 1] == (round + 1) / 2);
		m->type = NFS4R_MSG_VERIFY;
		assert_int_equal(nfs4r_rpc_send(w->s[1 - i].rpc, (nfs4r_server_id)(i + 1),
						NFS4R_LANE_REQUEST, m),
				 NFS4R_UNKNOWN);
		w->s[i].cfg.inc += 1000;
		world_start(w, i);
		world_wait(&w->s[1 - i], w_s->up[i + 1] && w_s->inc[i + 1] == w->s[i].cfg.inc);
		world_wait(&w->s[i], w_s->up[2 - i]);
	}
	free(m);
	world_fini(w);
	free(w);
}

/* Every message of a lane arrives once and in order, whatever runs on the other lanes. */
static void order_and_sizes(uint32_t connections)
{
	static const uint32_t sizes[] = { 0, 1, 100, 4096, 65400, 65536, 200000, 1 << 20, NFS4R_IO_MAX };
	struct world *w = malloc(sizeof(*w));
	uint64_t bytes = 0, number = 0;

	world_init(w, 2);
	w->s[1].cfg.connections = connections; /* the one who calls */
	world_start_all(w);
	world_wait_all_up(w);
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			assert_int_equal(send_entry(&w->s[0], 2, ++number, sizes[i]), NFS4R_OK);
			send_question(&w->s[0], 2, number);
			bytes += sizes[i];
		}
	}
	world_wait(&w->s[1], w_s->last_entry == number && w_s->last_question == number);
	assert_int_equal(world_get(&w->s[1], w_s->bytes), bytes);
	assert_int_equal(world_get(&w->s[1], w_s->messages), 2 * number);
	world_fini(w);
	free(w);
}

static void test_order_and_sizes(void **state)
{
	order_and_sizes(1);
	order_and_sizes(BULK_CONNECTIONS);
	order_and_sizes(NFS4R_CONNECTIONS_MAX);
}

struct sender {
	struct world_server *s;
	nfs4r_server_id to;
	enum nfs4r_lane lane;
	uint32_t n;
};

static void *sender_run(void *arg)
{
	struct sender *t = arg;
	struct nfs4r_msg *m = calloc(1, sizeof(*m));

	for (uint64_t i = 1; i <= t->n; i++) {
		if (t->lane == NFS4R_LANE_REQUEST) {
			m->type = NFS4R_MSG_VERIFY;
			m->verify.id = i;
		} else {
			m->type = NFS4R_MSG_RELEASE;
			m->release.floor = i;
		}
		if (nfs4r_rpc_send(t->s->rpc, t->to, t->lane, m) != NFS4R_OK)
			break;
	}
	free(m);
	return NULL;
}

/* Several threads, both ways, at the same time. */
static void test_many_threads(void **state)
{
	struct world *w = malloc(sizeof(*w));
	struct sender t[4];
	pthread_t th[4];

	world_init(w, 2);
	world_start_all(w);
	world_wait_all_up(w);
	for (int i = 0; i < 4; i++) {
		t[i] = (struct sender){ &w->s[i / 2], (nfs4r_server_id)(2 - i / 2),
					i % 2 ? NFS4R_LANE_CONTROL : NFS4R_LANE_REQUEST, 5000 };
		pthread_create(&th[i], NULL, sender_run, &t[i]);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(th[i], NULL);
	for (int i = 0; i < 2; i++)
		world_wait(&w->s[i], w_s->last_question == 5000 && w_s->last_release == 5000);
	world_fini(w);
	free(w);
}

/* A full queue answers DELAY and nothing that was accepted gets lost. */
static void test_queue_limit(void **state)
{
	struct world *w = malloc(sizeof(*w));
	struct nfs4r_rpc_peer_stats st;
	uint64_t sent = 0;
	bool delayed = false;

	world_init(w, 2);
	w->s[0].cfg.queue_bytes_max = 8 << 20;
	world_start_all(w);
	world_wait_all_up(w);
	pthread_mutex_lock(&w->s[1].lock); /* the receiver stands still */
	for (int i = 0; i < 200 && !delayed; i++) {
		enum nfs4r_status s = send_entry(&w->s[0], 2, sent + 1, 1 << 20);

		if (s == NFS4R_OK)
			sent++;
		else
			delayed = true;
		assert_true(s == NFS4R_OK || s == NFS4R_DELAY);
		assert_true(nfs4r_rpc_get_stats(w->s[0].rpc, 2, &st));
		assert_true(st.queued_bytes <= 8 << 20);
	}
	pthread_mutex_unlock(&w->s[1].lock);
	assert_true(delayed);
	world_wait(&w->s[1], w_s->last_entry == sent);
	world_wait(&w->s[0], nfs4r_rpc_get_stats(w_s->rpc, 2, &st) && st.queued_bytes == 0);
	assert_int_equal(send_entry(&w->s[0], 2, sent + 1, 1000), NFS4R_OK);
	world_wait(&w->s[1], w_s->last_entry == sent + 1);
	world_fini(w);
	free(w);
}

static void test_too_big_and_unknown(void **state)
{
	struct world *w = malloc(sizeof(*w));

	world_init(w, 2);
	world_start_all(w);
	world_wait_all_up(w);
	assert_int_equal(send_entry(&w->s[0], 2, 1, NFS4R_IO_MAX + 1), NFS4R_TOOBIG);
	assert_int_equal(send_entry(&w->s[0], 1, 1, 1), NFS4R_UNKNOWN);
	assert_int_equal(send_entry(&w->s[0], 3, 1, 1), NFS4R_UNKNOWN);
	assert_int_equal(send_entry(&w->s[0], 99, 1, 1), NFS4R_UNKNOWN);
	assert_int_equal(send_entry(&w->s[0], 2, 1, 1), NFS4R_OK);
	world_wait(&w->s[1], w_s->last_entry == 1);
	world_fini(w);
	free(w);
}

/* A flood of POSITIONS while the receiver stands still costs little and ends with the newest. */
static void test_positions_supersede(void **state)
{
	struct world *w = malloc(sizeof(*w));
	struct nfs4r_msg *m = calloc(1, sizeof(*m));
	struct nfs4r_rpc_peer_stats st;
	uint64_t n = 0;

	world_init(w, 2);
	w->s[0].cfg.buffer_bytes = w->s[1].cfg.buffer_bytes = 0; /* what is sent stays here, and not in the kernel */
	world_start_all(w);
	world_wait_all_up(w);
	pthread_mutex_lock(&w->s[1].lock);
	for (uint64_t i = 1; i <= 64; i++)
		assert_int_equal(send_entry(&w->s[0], 2, i, 1 << 20), NFS4R_OK);
	m->type = NFS4R_MSG_POSITIONS;
	for (n = 1; n <= 10000; n++) {
		m->positions.own_end = n;
		assert_int_equal(nfs4r_rpc_send(w->s[0].rpc, 2, NFS4R_LANE_CONTROL, m), NFS4R_OK);
	}
	pthread_mutex_unlock(&w->s[1].lock);
	world_wait(&w->s[1], w_s->last_positions == 10000 && w_s->last_entry == 64);
	assert_true(nfs4r_rpc_get_stats(w->s[0].rpc, 2, &st));
	assert_true(st.messages_sent < 64 + 5000); /* the kernels take some */
	free(m);
	world_fini(w);
	free(w);
}

/* Host names are looked up, and the address asked for is one of them. */
static void test_host_names(void **state)
{
	struct world *w = malloc(sizeof(*w));

	world_init(w, 2);
	for (int i = 0; i < 4; i++)
		strcpy(w->s[i / 2].cfg.servers[i % 2].host, "localhost");
	world_start_all(w);
	world_wait_all_up(w);
	world_fini(w);
	free(w);
}

static void test_rtt_is_measured(void **state)
{
	struct world *w = malloc(sizeof(*w));
	uint64_t end = world_now_ns() + 1000000000;
	struct nfs4r_rpc_peer_stats st;

	world_init(w, 2);
	for (int i = 0; i < 2; i++)
		w->s[i].cfg.silence_ms = 200;
	world_start_all(w);
	world_wait_all_up(w);
	for (int i = 0; i < 2; i++)
		world_wait(&w->s[i], nfs4r_rpc_get_stats(w_s->rpc, (nfs4r_server_id)(2 - i), &st) && st.rtt_ms >= 0 && st.rtt_ms < 1000);
	/* Several times the silence, and it stays up by keep-alives alone. */
	world_wait(&w->s[0], world_now_ns() > end);
	assert_int_equal(world_get(&w->s[0], w_s->downs[2]), 0);
	assert_int_equal(world_get(&w->s[1], w_s->downs[1]), 0);
	world_fini(w);
	free(w);
}

static _Atomic int64_t wrong_by_s;

static int64_t wrong_day_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ((int64_t)ts.tv_sec + wrong_by_s) * 1000000000 + ts.tv_nsec;
}

/* To half a round trip, at both ends; a clock that steps while they are connected is measured anew. */
static void test_clocks_are_compared(void **state)
{
	struct world *w = malloc(sizeof(*w));
	struct nfs4r_rpc_peer_stats st;

	world_init(w, 2);
	for (int i = 0; i < 2; i++)
		w->s[i].cfg.silence_ms = 200;
	wrong_by_s = 3600;
	w->s[1].cfg.day_ns = wrong_day_ns;
	world_start_all(w);
	world_wait_all_up(w);
	world_wait(&w->s[0], nfs4r_rpc_get_stats(w_s->rpc, 2, &st) && st.clock_known && st.clock_ahead_ms > 3599000 && st.clock_ahead_ms < 3601000);
	world_wait(&w->s[1], nfs4r_rpc_get_stats(w_s->rpc, 1, &st) && st.clock_known && st.clock_ahead_ms < -3599000 && st.clock_ahead_ms > -3601000);
	wrong_by_s = -3600;
	world_wait(&w->s[0], nfs4r_rpc_get_stats(w_s->rpc, 2, &st) && st.clock_ahead_ms < -3599000);
	world_fini(w);
	free(w);
}

/* An answer of that many bytes to a read. */
static struct nfs4r_msg *read_answer(uint32_t bytes)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m));

	m->type = NFS4R_MSG_READ_ANSWER;
	m->read = calloc(1, sizeof(*m->read));
	m->read->type = NFS4R_RD_READ;
	m->read->status = NFS4R_OK;
	m->read->length = bytes;
	nfs4r_oid_root(&m->read->oid, (const uint8_t *)"a test's volume");
	m->read->data = nfs4r_buf_new(bytes);
	memset(m->read->data->data, 'a', bytes);
	return m;
}

/*
 * A server that takes no more requests is neither silent nor gone, however full the lane is. What was sent comes afterwards, and the other lanes go on. The answers that wait
 * for it are counted until the kernel has them.
 */
static void test_a_held_lane_waits(void **state)
{
	struct world *w = malloc(sizeof(*w));
	struct nfs4r_msg *m = read_answer(1u << 20);
	uint64_t end;

	world_init(w, 2);
	for (int i = 0; i < 2; i++) {
		w->s[i].cfg.silence_ms = 900; /* keep-alives come more rarely than the kernel probes */
		w->s[i].cfg.buffer_bytes = 1u << 20;
	}
	world_start_all(w);
	world_wait_all_up(w);
	nfs4r_rpc_pause(w->s[1].rpc, 1, true);
	for (int i = 0; i < 32; i++) /* more than the kernels take */
		assert_int_equal(nfs4r_rpc_send(w->s[0].rpc, 2, NFS4R_LANE_REQUEST, m), NFS4R_OK);
	send_question(&w->s[0], 2, 1);
	assert_in_range(nfs4r_rpc_answers(w->s[0].rpc, 2), 8u << 20, 33u << 20);
	assert_int_equal(send_entry(&w->s[0], 2, 1, 100), NFS4R_OK);
	world_wait(&w->s[1], w_s->last_entry == 1);
	end = world_now_ns() + 4000000000;
	world_wait(&w->s[1], world_now_ns() > end);
	assert_in_range(world_get(&w->s[1], w_s->messages), 1, 2);
	assert_in_range(nfs4r_rpc_answers(w->s[0].rpc, 2), 8u << 20, 33u << 20);
	nfs4r_rpc_pause(w->s[1].rpc, 1, false);
	world_wait(&w->s[1], w_s->last_question == 1 && w_s->messages == 34);
	for (int i = 0; i < 2; i++)
		assert_int_equal(world_get(&w->s[i], w_s->downs[2 - i]), 0);
	world_wait(&w->s[0], nfs4r_rpc_answers(w_s->rpc, 2) == 0);

	nfs4r_rpc_pause(w->s[1].rpc, 1, true);
	for (int i = 0; i < 32; i++)
		assert_int_equal(nfs4r_rpc_send(w->s[0].rpc, 2, NFS4R_LANE_REQUEST, m), NFS4R_OK);
	world_stop(w, 1); /* what nobody takes any more counts no more */
	world_wait(&w->s[0], w_s->downs[2] == 1 && nfs4r_rpc_answers(w_s->rpc, 2) == 0);
	nfs4r_msg_fini(m);
	free(m);
	world_fini(w);
	free(w);
}

#define COST_US 200 /* of a processor, for each message */
#define FLOOD 4000 /* messages: 800 ms of it */
#define SHARE_MAX 2000 /* of them within a second: a tenth of a processor is 500, and the first window has up to 256 + 32 more */

/* A server without end of messages on lane CONTROL gets a tenth of a processor. The one beside it is heard at once, and in the end all have come, in order. */
static void test_a_lane_that_costs_much_is_slowed(void **state)
{
	struct world *w = malloc(sizeof(*w));
	struct nfs4r_msg m = { .type = NFS4R_MSG_RELEASE };
	uint64_t end, first;

	world_init(w, 3);
	world_start_all(w);
	world_wait_all_up(w);
	world_get(&w->s[0], w_s->cost_us = COST_US);
	end = world_now_ns() + 1000000000;
	for (uint64_t i = 1; i <= FLOOD; i++) {
		m.release.floor = i;
		assert_int_equal(nfs4r_rpc_send(w->s[1].rpc, 1, NFS4R_LANE_CONTROL, &m), NFS4R_OK);
	}
	world_wait(&w->s[0], w_s->last_release > 0);
	send_question(&w->s[2], 1, 1);
	world_wait(&w->s[0], w_s->last_question == 1);
	world_wait(&w->s[0], world_now_ns() > end);
	first = world_get(&w->s[0], w_s->last_release);
	assert_in_range(first, 1, SHARE_MAX);
	world_get(&w->s[0], w_s->cost_us = 0);
	world_wait(&w->s[0], w_s->last_release == FLOOD);
	assert_int_equal(world_logged(&w->s[0], "server 2 sends so many messages that it is heard more slowly"), 1);
	assert_int_equal(world_get(&w->s[0], w_s->broken_order), 0);
	assert_int_equal(world_get(&w->s[0], w_s->downs[2] + w_s->downs[3]), 0);
	world_fini(w);
	free(w);
}

/* An event that takes longer than the silence allowed is not the peer's silence. */
static void test_own_stall_is_not_silence(void **state)
{
	struct world *w = malloc(sizeof(*w));
	uint64_t end;

	world_init(w, 2);
	w->s[1].cfg.silence_ms = 200;
	world_start_all(w);
	world_wait_all_up(w);
	pthread_mutex_lock(&w->s[1].lock);
	send_question(&w->s[0], 2, 1);
	for (end = world_now_ns() + 600000000; world_now_ns() < end;)
		sched_yield();
	pthread_mutex_unlock(&w->s[1].lock);
	end = world_now_ns() + 300000000;
	world_wait(&w->s[1], world_now_ns() > end && w_s->last_question == 1);
	assert_int_equal(world_get(&w->s[1], w_s->downs[1]), 0);
	world_fini(w);
	free(w);
}

/* TCP connections of this process with that congestion control, and the least receive buffer of all. */
static uint32_t connections_with(const char *congestion, int *least)
{
	uint32_t n = 0;

	*least = INT_MAX;
	for (int fd = 3; fd < 256; fd++) {
		char name[16] = "";
		int bytes = 0;
		struct sockaddr_storage peer;
		socklen_t len = sizeof(name), size = sizeof(bytes), plen = sizeof(peer);

		if (getpeername(fd, (struct sockaddr *)&peer, &plen) != 0 ||
		    getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) != 0 ||
		    getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &size) != 0)
			continue;
		n += strncmp(name, congestion, sizeof(name)) == 0;
		*least = bytes < *least ? bytes : *least;
	}
	return n;
}

/* As it is configured, at both ends of all lanes. Every kernel has reno; buffers past the limits need CAP_NET_ADMIN. */
static void test_connections_are_tuned(void **state)
{
	struct world *w = malloc(sizeof(*w));
	int probe = socket(AF_INET, SOCK_STREAM, 0), bytes = 48 << 20, least;
	bool may = setsockopt(probe, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) == 0;

	close(probe);
	world_init(w, 2);
	for (int i = 0; i < 2; i++) {
		strcpy(w->s[i].cfg.congestion, "reno");
		w->s[i].cfg.buffer_bytes = (uint64_t)bytes;
	}
	world_start_all(w);
	world_wait_all_up(w);
	world_wait(&w->s[0], connections_with("reno", &least) == 2 * (NFS4R_LANE_BULK + BULK_CONNECTIONS));
	assert_true(!may || least == 2 * bytes);
	world_fini(w);
	free(w);
}

/* ---- lane BULK over several connections ---- */

/* Those of this process that share a lane: the ends of server 1 in @fd, and how many ends there are in all. */
static uint32_t shared_connections(int fd[BULK_CONNECTIONS])
{
	uint32_t n = 0, own = 0;

	for (int i = 3; i < 256; i++) {
		struct sockaddr_in here, peer;
		socklen_t hlen = sizeof(here), plen = sizeof(peer), len = sizeof(int);
		int bytes = 0;

		if (getsockname(i, (struct sockaddr *)&here, &hlen) != 0 || getpeername(i, (struct sockaddr *)&peer, &plen) != 0 ||
		    getsockopt(i, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, &len) != 0 || bytes <= 0)
			continue;
		n++;
		if (here.sin_addr.s_addr == htonl(INADDR_LOOPBACK) && own < BULK_CONNECTIONS)
			fd[own++] = i;
	}
	return own == BULK_CONNECTIONS ? n : 0;
}

/* Port of server 2's end of the connection @fd of server 1. */
static in_port_t far_port(int fd)
{
	struct sockaddr_in peer;
	socklen_t len = sizeof(peer);

	assert_int_equal(getpeername(fd, (struct sockaddr *)&peer, &len), 0);
	return peer.sin_port;
}

/* Neither end of the connection with that @port at server 2 is open. */
static bool is_gone(in_port_t port)
{
	for (int i = 3; i < 256; i++) {
		struct sockaddr_in here = { 0 }, peer = { 0 };
		socklen_t hlen = sizeof(here), plen = sizeof(peer);

		if (getsockname(i, (struct sockaddr *)&here, &hlen) == 0 && here.sin_port == port)
			return false;
		if (getpeername(i, (struct sockaddr *)&peer, &plen) == 0 && peer.sin_port == port)
			return false;
	}
	return true;
}

static struct world *two_with_connections(int fd[BULK_CONNECTIONS])
{
	struct world *w = malloc(sizeof(*w));

	world_init(w, 2);
	w->s[0].cfg.buffer_bytes = w->s[1].cfg.buffer_bytes = 0; /* little in the kernel */
	world_start_all(w);
	world_wait_all_up(w);
	world_wait(&w->s[0], shared_connections(fd) == 2 * BULK_CONNECTIONS);
	return w;
}

/* What a connection carried when it was cut goes over the others, and it is called again: nothing is lost, twice or out of order. */
static void test_one_of_several_is_cut(void **state)
{
	int fd[BULK_CONNECTIONS];
	struct world *w = two_with_connections(fd);
	struct nfs4r_rpc_peer_stats st;
	uint64_t number = 0;
	in_port_t port;

	for (uint32_t round = 0; round < BULK_CONNECTIONS; round++) {
		pthread_mutex_lock(&w->s[1].lock); /* the receiver stands still */
		for (uint32_t i = 0; i < 48; i++)
			assert_int_equal(send_entry(&w->s[0], 2, ++number, 1 << 20), NFS4R_OK);
		port = far_port(fd[round]);
		shutdown(fd[round], SHUT_RDWR);
		pthread_mutex_unlock(&w->s[1].lock);
		world_wait(&w->s[1], w_s->last_entry == number);
		world_wait(&w->s[0], is_gone(port) && shared_connections(fd) == 2 * BULK_CONNECTIONS);
	}
	assert_int_equal(world_get(&w->s[1], w_s->messages), number);
	assert_int_equal(world_get(&w->s[1], w_s->bytes), number << 20);
	assert_true(nfs4r_rpc_get_stats(w->s[0].rpc, 2, &st));
	assert_true(st.resent > 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(world_get(&w->s[i], w_s->downs[2 - i]), 0);
	world_fini(w);
	free(w);
}

/* All of them are cut: then the peer is down, and up again. */
static void test_all_of_several_are_cut(void **state)
{
	int fd[BULK_CONNECTIONS];
	struct world *w = two_with_connections(fd);
	struct nfs4r_rpc_peer_stats st;

	for (uint32_t i = 0; i < BULK_CONNECTIONS; i++)
		shutdown(fd[i], SHUT_RDWR);
	world_wait(&w->s[0], w_s->downs[2] == 1 && w_s->up[2]);
	world_wait(&w->s[1], w_s->downs[1] == 1 && w_s->up[1]);
	assert_true(nfs4r_rpc_get_stats(w->s[0].rpc, 2, &st));
	assert_int_equal(st.queued_bytes, 0);
	assert_int_equal(send_entry(&w->s[0], 2, 1, 1000), NFS4R_OK);
	world_wait(&w->s[1], w_s->last_entry == 1);
	world_fini(w);
	free(w);
}

static void pace(int fd, uint32_t bytes_per_second)
{
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_per_second, sizeof(bytes_per_second)), 0);
}

/* One that hardly moves holds nobody up for long, gets nothing more, and is used again when it moves. */
static void test_one_of_several_stands_still(void **state)
{
	int fd[BULK_CONNECTIONS];
	struct world *w = two_with_connections(fd);
	struct nfs4r_rpc_peer_stats st;
	uint64_t number = 0;

	pace(fd[0], 1000);
	for (uint32_t i = 0; i < 48; i++)
		assert_int_equal(send_entry(&w->s[0], 2, ++number, 1 << 20), NFS4R_OK);
	world_wait(&w->s[1], w_s->last_entry == number);
	assert_true(nfs4r_rpc_get_stats(w->s[0].rpc, 2, &st));
	assert_in_range(st.resent, 1, 16);
	pace(fd[0], UINT32_MAX);
	for (uint32_t i = 0; i < 48; i++)
		assert_int_equal(send_entry(&w->s[0], 2, ++number, 1 << 20), NFS4R_OK);
	world_wait(&w->s[1], w_s->last_entry == number);
	assert_int_equal(world_get(&w->s[1], w_s->messages), number);
	assert_int_equal(world_get(&w->s[0], w_s->downs[2]), 0);
	world_fini(w);
	free(w);
}

static uint64_t sent_to(struct world_server *s, nfs4r_server_id peer)
{
	struct nfs4r_rpc_peer_stats st;

	return nfs4r_rpc_get_stats(s->rpc, peer, &st) ? st.bytes_sent : 0;
}

/* New connections learn their link's rate by padding, of so many bytes in a minute; messages come as ever, amid it and after. */
static void test_new_connections_get_padding(void **state)
{
	struct world *w = malloc(sizeof(*w));
	uint64_t number = 0, before;
	int fd[BULK_CONNECTIONS];
	in_port_t port;

	world_init(w, 2);
	for (int i = 0; i < 2; i++) {
		w->s[i].cfg.warm_rtt_us = 0;
		w->s[i].cfg.warm_bytes = 4 << 20;
	}
	world_start_all(w);
	world_wait_all_up(w);
	for (; number < 50; number++)
		assert_int_equal(send_entry(&w->s[1], 1, number + 1, 1000), NFS4R_OK);
	world_wait(&w->s[0], sent_to(w_s, 2) >= 4 << 20 && strstr(w_s->log, "kB of padding"));
	world_wait(&w->s[1], sent_to(w_s, 1) >= 4 << 20 && strstr(w_s->log, "kB of padding"));
	world_wait(&w->s[0], w_s->last_entry == number);
	/* Another connection within the minute gets none. */
	world_wait(&w->s[0], shared_connections(fd) == 2 * BULK_CONNECTIONS);
	before = sent_to(&w->s[0], 2);
	port = far_port(fd[0]);
	assert_int_equal(shutdown(fd[0], SHUT_RDWR), 0);
	world_wait(&w->s[0], strstr(w_s->log, "one of several connections"));
	world_wait(&w->s[0], is_gone(port) && shared_connections(fd) == 2 * BULK_CONNECTIONS);
	assert_int_equal(send_entry(&w->s[1], 1, ++number, 1000), NFS4R_OK);
	world_wait(&w->s[0], w_s->last_entry == number);
	assert_in_range(sent_to(&w->s[0], 2) - before, 0, 100000);
	assert_int_equal(world_logged(&w->s[0], "kB of padding"), 1);
	assert_int_equal(world_get(&w->s[0], w_s->broken_order), 0);
	world_fini(w);
	free(w);
}

/* Not over a short link, not with a congestion control that forgets, and not when it is switched off. */
static void test_padding_only_where_it_is_of_use(void **state)
{
	for (int what = 0; what < 3; what++) {
		struct world *w = malloc(sizeof(*w));

		world_init(w, 2);
		for (int i = 0; i < 2; i++) {
			struct nfs4r_rpc_config *cfg = &w->s[i].cfg;

			cfg->warm_rtt_us = what == 0 ? 60000000 : what == 1 ? 1 :
									      0;
			cfg->warm_bytes = what == 2 ? 0 : 4 << 20;
			if (what == 1)
				strcpy(cfg->congestion, "reno");
		}
		world_start_all(w);
		world_wait_all_up(w);
		assert_int_equal(send_entry(&w->s[1], 1, 1, 1000), NFS4R_OK);
		world_wait(&w->s[0], w_s->last_entry == 1);
		assert_in_range(sent_to(&w->s[0], 2), 0, 100000);
		assert_in_range(sent_to(&w->s[1], 1), 0, 100000);
		world_fini(w);
		free(w);
	}
}

static void test_unknown_congestion_control_is_passed_over(void **state)
{
	struct world *w = malloc(sizeof(*w));

	world_init(w, 2);
	strcpy(w->s[0].cfg.congestion, "no-such-cc");
	w->s[1].cfg.congestion[0] = '\0';
	world_start_all(w);
	world_wait_all_up(w);
	assert_int_equal(world_logged(&w->s[0], "no-such-cc cannot be used here"), 1);
	assert_int_equal(world_logged(&w->s[1], "cannot be used here"), 0);
	world_fini(w);
	free(w);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Numbers for people; asserts only that all came. */
static void test_speed(void **state)
{
	struct world *w = malloc(sizeof(*w));
	struct sender t = { .n = 10000, .lane = NFS4R_LANE_REQUEST, .to = 2 };
	uint64_t start, took, *rt = calloc(2000, sizeof(*rt));

	world_init(w, 2);
	world_start_all(w);
	world_wait_all_up(w);
	t.s = &w->s[0];
	start = world_now_ns();
	sender_run(&t);
	world_wait(&w->s[1], w_s->last_question == 10000);
	took = world_now_ns() - start;
	printf("10000 small messages: %.1f ms, %.0f per second\n", (double)took / 1e6, 1e13 / (double)took);
	start = world_now_ns();
	for (uint64_t i = 1; i <= 128; i++)
		assert_int_equal(send_entry(&w->s[0], 2, i, 1 << 20), NFS4R_OK);
	world_wait(&w->s[1], w_s->last_entry == 128);
	took = world_now_ns() - start;
	printf("128 entries of 1 MiB: %.1f ms, %.0f MB/s\n", (double)took / 1e6, 134217728e3 / (double)took);
	world_get(&w->s[1], w_s->echo = true);
	for (uint64_t i = 0; i < 2000; i++) {
		start = world_now_ns();
		send_question(&w->s[0], 2, 10001 + i);
		world_wait(&w->s[0], w_s->echoes == 10001 + i);
		rt[i] = world_now_ns() - start;
	}
	qsort(rt, 2000, sizeof(*rt), by_value);
	printf("request and answer between two threads: median %.0f us, 99%% %.0f us\n",
	       (double)rt[1000] / 1e3, (double)rt[1980] / 1e3);
	free(rt);
	world_fini(w);
	free(w);
}

static void test_each_tells_its_version(void **state)
{
	struct world *w = malloc(sizeof(*w));
	struct nfs4r_rpc_peer_stats st;
	char line[100];

	world_init(w, 2);
	world_start_all(w);
	world_wait_all_up(w);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(nfs4r_rpc_get_stats(w->s[i].rpc, 2 - i, &st));
		snprintf(line, sizeof(line), "0.1+build%u", 2 - i);
		assert_string_equal(st.version, line);
		snprintf(line, sizeof(line), "is up, start %u, NFSv4.r 0.1+build%u, protocol %u", 101 - i, 2 - i, NFS4R_PROTOCOL_VERSION);
		assert_int_equal(world_logged(&w->s[i], line), 1);
	}
	world_fini(w);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_tells_its_version),
		cmocka_unit_test(test_up_and_down),
		cmocka_unit_test(test_restart_with_new_incarnation),
		cmocka_unit_test(test_order_and_sizes),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_queue_limit),
		cmocka_unit_test(test_too_big_and_unknown),
		cmocka_unit_test(test_positions_supersede),
		cmocka_unit_test(test_host_names),
		cmocka_unit_test(test_rtt_is_measured),
		cmocka_unit_test(test_clocks_are_compared),
		cmocka_unit_test(test_own_stall_is_not_silence),
		cmocka_unit_test(test_connections_are_tuned),
		cmocka_unit_test(test_a_held_lane_waits),
		cmocka_unit_test(test_a_lane_that_costs_much_is_slowed),
		cmocka_unit_test(test_unknown_congestion_control_is_passed_over),
		cmocka_unit_test(test_new_connections_get_padding),
		cmocka_unit_test(test_padding_only_where_it_is_of_use),
		cmocka_unit_test(test_one_of_several_is_cut),
		cmocka_unit_test(test_all_of_several_are_cut),
		cmocka_unit_test(test_one_of_several_stands_still),
		cmocka_unit_test(test_speed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
