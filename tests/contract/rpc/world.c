/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See world.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "lib/unit.h"

#include "contract/rpc/world.h"
#include "lib/ports.h"

uint64_t world_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

void world_pause(struct world_server *s)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += 20000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_nsec -= 1000000000;
		ts.tv_sec++;
	}
	pthread_cond_timedwait(&s->changed, &s->lock, &ts);
}

static void on_up(void *ctx, nfs4r_server_id peer, uint64_t inc)
{
	struct world_server *s = ctx;

	pthread_mutex_lock(&s->lock);
	s->early += s->up[peer]; /* up twice without down */
	s->up[peer] = true;
	s->ups[peer]++;
	s->inc[peer] = inc;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void on_down(void *ctx, nfs4r_server_id peer, const char *why)
{
	struct world_server *s = ctx;

	pthread_mutex_lock(&s->lock);
	s->early += !s->up[peer];
	s->up[peer] = false;
	s->downs[peer]++;
	s->last_pull = s->last_question = s->last_release = s->last_entry = 0;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void rises(struct world_server *s, uint64_t *last, uint64_t now)
{
	if (now != *last + 1)
		s->broken_order++;
	*last = now;
}

static uint64_t processor_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void work(uint32_t us)
{
	uint64_t end = processor_ns() + (uint64_t)us * 1000;

	while (us && processor_ns() < end)
		;
}

static void on_message(void *ctx, nfs4r_server_id from, struct nfs4r_msg *m)
{
	struct world_server *s = ctx;
	struct nfs4r_msg *answer = NULL;

	pthread_mutex_lock(&s->lock);
	work(s->cost_us);
	s->messages++;
	s->early += !s->up[from];
	switch (m->type) {
	case NFS4R_MSG_PULL:
		rises(s, &s->last_pull, m->pull.from);
		break;
	case NFS4R_MSG_VERIFY:
		rises(s, &s->last_question, m->verify.id);
		if (s->echo) {
			answer = calloc(1, sizeof(*answer));
			answer->type = NFS4R_MSG_VERIFY_ANSWER;
			answer->verify.id = m->verify.id;
		}
		break;
	case NFS4R_MSG_RELEASE:
		rises(s, &s->last_release, m->release.floor);
		break;
	case NFS4R_MSG_ENTRIES:
		rises(s, &s->last_entry, m->entries.end);
		for (uint32_t i = 0; i < m->entries.n; i++)
			s->bytes += m->entries.entries[i]->payload ? m->entries.entries[i]->payload->len : 0;
		break;
	case NFS4R_MSG_POSITIONS:
		s->broken_order += m->positions.own_end < s->last_positions;
		s->last_positions = m->positions.own_end;
		break;
	case NFS4R_MSG_VERIFY_ANSWER:
		s->echoes = m->verify.id;
		break;
	case NFS4R_MSG_HEARTBEAT:
		s->heartbeats++;
		s->rehearsed += m->heartbeat.rehearsal;
		break;
	default:
		break;
	}
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (answer) {
		nfs4r_rpc_send(s->rpc, from, NFS4R_LANE_REQUEST, answer);
		free(answer);
	}
	nfs4r_msg_fini(m);
	free(m);
}

static void on_log(void *ctx, enum nfs4r_log_level level, const char *text)
{
	struct world_server *s = ctx;

	pthread_mutex_lock(&s->lock);
	if (s->log_len < WORLD_LOG)
		s->log_len += (size_t)snprintf(s->log + s->log_len, WORLD_LOG - s->log_len, "%d %s\n",
					       level, text);
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void world_init(struct world *w, uint32_t n)
{
	uint16_t port = ports_free(PORTS_TRANSPORT, 8, 4); /* a server may move to another port */

	assert_int_not_equal(port, 0);
	memset(w, 0, sizeof(*w));
	w->n = n;
	for (uint32_t i = 0; i < n; i++) {
		struct world_server *s = &w->s[i];

		pthread_mutex_init(&s->lock, NULL);
		pthread_cond_init(&s->changed, NULL);
		nfs4r_rpc_config_init(&s->cfg);
		s->cfg.any_port = true; /* tests beside each other, on ports of their own; test_stranger.c has the others */
		s->cfg.self = (nfs4r_server_id)(i + 1);
		s->cfg.inc = 100 + i;
		snprintf(s->cfg.version, sizeof(s->cfg.version), "0.1+build%u", i + 1);
		memset(s->cfg.volume, 0x42, 16);
		s->cfg.export_id = 77;
		s->cfg.fsid_major = 7;
		s->cfg.fsid_minor = 8;
		s->cfg.disk_format = (struct nfs4r_versions){ 1, 1 };
		s->cfg.connect_retry_ms = 20;
		s->cfg.nservers = n;
		for (uint32_t j = 0; j < n; j++) {
			s->cfg.servers[j].id = (nfs4r_server_id)(j + 1);
			snprintf(s->cfg.servers[j].host, sizeof(s->cfg.servers[j].host), "127.0.0.%u", j + 1);
			s->cfg.servers[j].port = (uint16_t)(port + j);
		}
	}
}

void world_start(struct world *w, uint32_t i)
{
	struct world_server *s = &w->s[i];
	struct nfs4r_rpc_events ev = { s, on_up, on_down, on_message, on_log };
	char why[NFS4R_WHY] = "";

	if (nfs4r_rpc_start(&s->cfg, &ev, &s->rpc, why) != NFS4R_OK)
		fail_msg("server %u: %s", i + 1, why);
}

void world_start_fails(struct world *w, uint32_t i, const char *text)
{
	struct nfs4r_rpc_events ev = { 0 };
	struct nfs4r_rpc *rpc;
	char why[NFS4R_WHY] = "";

	assert_int_equal(nfs4r_rpc_start(&w->s[i].cfg, &ev, &rpc, why), NFS4R_BADCONFIG);
	assert_null(rpc);
	if (!strstr(why, text))
		fail_msg("'%s' does not say '%s'", why, text);
}

void world_stop(struct world *w, uint32_t i)
{
	nfs4r_rpc_stop(w->s[i].rpc);
	w->s[i].rpc = NULL;
	memset(w->s[i].up, 0, sizeof(w->s[i].up));
}

void world_start_all(struct world *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		world_start(w, i);
}

void world_wait_all_up(struct world *w)
{
	for (uint32_t i = 0; i < w->n; i++) {
		for (uint32_t j = 0; j < w->n; j++) {
			if (i != j)
				world_wait(&w->s[i], w_s->up[j + 1]);
		}
	}
}

void world_fini(struct world *w)
{
	for (uint32_t i = 0; i < w->n; i++) {
		nfs4r_rpc_stop(w->s[i].rpc);
		w->s[i].rpc = NULL;
	}
	for (uint32_t i = 0; i < w->n; i++) {
		assert_int_equal(w->s[i].broken_order, 0);
		assert_int_equal(w->s[i].early, 0);
		pthread_mutex_destroy(&w->s[i].lock);
		pthread_cond_destroy(&w->s[i].changed);
	}
}

uint32_t world_logged(struct world_server *s, const char *text)
{
	uint32_t n = 0;

	pthread_mutex_lock(&s->lock);
	for (const char *p = s->log; (p = strstr(p, text)) != NULL; p++)
		n++;
	pthread_mutex_unlock(&s->lock);
	return n;
}

bool world_state_has(struct world_server *s, nfs4r_server_id peer, const char *text)
{
	struct nfs4r_rpc_peer_stats st;

	return nfs4r_rpc_get_stats(s->rpc, peer, &st) && strstr(st.state, text) != NULL;
}

static void raw_addr(struct sockaddr_in *a, const char *host, uint16_t port)
{
	memset(a, 0, sizeof(*a));
	a->sin_family = AF_INET;
	a->sin_port = htons(port);
	inet_pton(AF_INET, host, &a->sin_addr);
}

int raw_connect(const char *from, const struct nfs4r_endpoint *to)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a;

	raw_addr(&a, from, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	raw_addr(&a, to->host, to->port);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	close(fd);
	return -1;
}

int raw_listen(const struct nfs4r_endpoint *at)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	struct sockaddr_in a;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	raw_addr(&a, at->host, at->port);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 16), 0);
	return fd;
}

bool raw_closed(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char buf[4096];
	ssize_t n;

	while (poll(&p, 1, timeout_ms) > 0) {
		n = read(fd, buf, sizeof(buf));
		if (n == 0 || (n < 0 && errno != EINTR))
			return true;
	}
	return false;
}

void world_write(struct nfs4r_entry *e, nfs4r_server_id log, nfs4r_lsn lsn, uint64_t len)
{
	e->log = log;
	e->lsn = lsn;
	e->op = NFS4R_OP_WRITE;
	e->nparts = 1;
	e->has_payload = true;
	e->parts[0].effect = NFS4R_EFF_WRITE;
	e->parts[0].after = 1;
	e->parts[0].len = len;
	nfs4r_oid_make(&e->parts[0].oid, log, 1, 1);
}

struct nfs4r_msg *world_entry(uint64_t number, const void *bytes, size_t n, uint32_t len)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m));
	struct nfs4r_entry *e = nfs4r_entry_new();

	world_write(e, 1, number, len);
	e->payload = nfs4r_buf_new(len);
	for (uint32_t i = 0; i < len; i++)
		e->payload->data[i] = ((const uint8_t *)bytes)[i % n];
	m->type = NFS4R_MSG_ENTRIES;
	m->entries.log = 1;
	m->entries.end = number;
	m->entries.n = 1;
	m->entries.entries = malloc(sizeof(*m->entries.entries));
	m->entries.entries[0] = e;
	return m;
}
