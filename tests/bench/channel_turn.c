/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * See channel_turn.h. Each server is a process, so that its threads are its own: the kernel says what each of them used. The processes share a page, on which they wait for each
 * other and leave their numbers. A process that fails says why; the others see on the page that the turn is over, or are killed with their parent.
 */
#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include "lib/unit.h"

#include "bench/channel_turn.h"

#define PAYLOAD (256u << 10)
#define QUEUE (8ull << 20) /* of a peer: what is in it when the count begins is about what is in it at the end */
#define WARM_MS 200
#define DEADLINE_MS 60000

enum phase {
	PHASE_UP, /* the servers find each other */
	PHASE_SEND,
	PHASE_COUNT, /* from here on */
	PHASE_COUNTED,
	PHASE_OVER,
	PHASE_FAILED,
};

struct page {
	atomic_int phase;
	atomic_uint done; /* servers that have done what the phase wants of them */
	struct channel_turn turn;
};

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* ---- processor time of this process's threads ---- */

static bool thread_read(const char *tid, const char *what, char *out, size_t size)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", tid, what);
	f = fopen(path, "r");
	if (!f)
		return false;
	bool well = fgets(out, (int)size, f) != NULL;
	fclose(f);
	return well;
}

static void threads_count(struct channel_usage *u, int sign)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	char name[64], times[128];

	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.' || !thread_read(e->d_name, "comm", name, sizeof(name)) || !thread_read(e->d_name, "schedstat", times, sizeof(times)))
			continue;
		uint64_t ns = strtoull(times, NULL, 10) * (uint64_t)sign;

		if (strcmp(name, "nfs4r_rpc\n") == 0)
			u->loop_ns += ns;
		else if (strcmp(name, "nfs4r_rpc_work\n") == 0)
			u->work_ns += ns;
	}
	closedir(d);
}

/* @sign is -1 at the beginning of what is counted, and 1 at its end. */
static void count(struct channel_usage *u, struct world_server *s, int sign)
{
	struct nfs4r_rpc_peer_stats st;

	threads_count(u, sign);
	if (s->cfg.self != 1) {
		u->bytes += world_get(s, w_s->bytes) * (uint64_t)sign;
		return;
	}
	for (uint32_t i = 0; i < CHANNEL_PEERS; i++) {
		assert_true(nfs4r_rpc_get_stats(s->rpc, (nfs4r_server_id)(i + 2), &st));
		u->bytes += st.bytes_sent * (uint64_t)sign;
	}
}

/* ---- a server's process ---- */

/* False: the turn has failed elsewhere. */
static bool wait_for(struct page *p, enum phase phase)
{
	while (atomic_load(&p->phase) < (int)phase)
		nap();
	return atomic_load(&p->phase) != PHASE_FAILED;
}

static struct nfs4r_msg *message(void)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m));
	struct nfs4r_entry *e = nfs4r_entry_new();

	world_write(e, 1, 1, PAYLOAD);
	e->payload = nfs4r_buf_new(PAYLOAD);
	memset(e->payload->data, 0x5a, PAYLOAD);
	m->type = NFS4R_MSG_ENTRIES;
	m->entries.log = 1;
	m->entries.n = 1;
	m->entries.entries = malloc(sizeof(*m->entries.entries));
	m->entries.entries[0] = e;
	return m;
}

/* What may have been sent to each after @ns. */
static uint64_t allowed(double mbit, uint64_t ns)
{
	return mbit > 0 ? (uint64_t)(mbit / 8000 * (double)ns) : UINT64_MAX;
}

/* Until the turn is over. */
static void send_all(struct page *p, struct world_server *s, double mbit)
{
	uint64_t sent[CHANNEL_PEERS] = { 0 }, number[CHANNEL_PEERS] = { 0 }, begun = world_now_ns();
	struct nfs4r_msg *m = message();

	while (atomic_load(&p->phase) < PHASE_OVER) {
		uint64_t now = world_now_ns();
		bool any = false;

		for (uint32_t i = 0; i < CHANNEL_PEERS; i++) {
			if (sent[i] + PAYLOAD > allowed(mbit, now - begun))
				continue;
			m->entries.end = number[i] + 1;
			if (nfs4r_rpc_send(s->rpc, (nfs4r_server_id)(i + 2), NFS4R_LANE_BULK, m) != NFS4R_OK)
				continue;
			number[i]++;
			sent[i] += PAYLOAD;
			any = true;
		}
		if (!any)
			nap();
	}
	nfs4r_msg_fini(m);
	free(m);
}

/* The sender has a thread for what it sends, so that its own may count as all do. */
struct sending {
	struct page *p;
	struct world_server *s;
	double mbit;
};

static void *sending(void *arg)
{
	struct sending *s = arg;

	send_all(s->p, s->s, s->mbit);
	return NULL;
}

/* What cmocka's checks say is not seen outside its tests. */
static void say_log(int status, void *arg)
{
	const struct world_server *s = arg;

	fprintf(stderr, "server %u fails; its log:\n%s", s->cfg.self, s->log);
}

static void server(struct page *p, struct world *w, uint32_t i, double mbit)
{
	struct world_server *s = &w->s[i];
	struct channel_usage *u = &p->turn.of[i];
	struct sending arg = { p, s, mbit };
	pthread_t thread;

	on_exit(say_log, s);
	world_start(w, i);
	for (uint32_t k = 0; k < w->n; k++)
		if (k != i)
			world_wait(s, w_s->up[k + 1]);
	atomic_fetch_add(&p->done, 1);
	if (!wait_for(p, PHASE_SEND))
		_exit(1);
	if (i == 0)
		assert_int_equal(pthread_create(&thread, NULL, sending, &arg), 0);
	if (!wait_for(p, PHASE_COUNT))
		_exit(1);
	count(u, s, -1);
	if (!wait_for(p, PHASE_COUNTED))
		_exit(1);
	count(u, s, 1);
	for (uint32_t k = 1; k <= w->n; k++)
		assert_int_equal(world_get(s, w_s->downs[k]), 0);
	assert_int_equal(world_get(s, w_s->broken_order), 0);
	atomic_fetch_add(&p->done, 1);
	if (!wait_for(p, PHASE_OVER))
		_exit(1);
	if (i == 0)
		pthread_join(thread, NULL);
	nfs4r_rpc_stop(s->rpc);
	_exit(0);
}

/* ---- the process that looks on ---- */

static void failed(struct page *p, const char *why, int status)
{
	int phase = atomic_exchange(&p->phase, PHASE_FAILED);

	fprintf(stderr, "nfs4r-bench-channel: %s (phase %d, status 0x%x)\n", why, phase, (unsigned)status);
	exit(1);
}

static void all_done(struct page *p)
{
	uint64_t end = world_now_ns() + DEADLINE_MS * 1000000ull;
	int status;

	while (atomic_load(&p->done) < 1 + CHANNEL_PEERS) {
		if (waitpid(-1, &status, WNOHANG) > 0)
			failed(p, "a server has failed", status);
		if (world_now_ns() > end)
			failed(p, "the servers are not ready after a minute", 0);
		nap();
	}
	atomic_store(&p->done, 0);
}

static void for_ms(uint64_t ms)
{
	nanosleep(&(struct timespec){ .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000 }, NULL);
}

struct channel_turn channel_turn(struct world *w, enum nfs4r_security security, double mbit, uint64_t ms)
{
	struct page *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct channel_turn t;
	uint64_t begun;
	int status;

	assert_true(p != MAP_FAILED);
	for (uint32_t i = 0; i < w->n; i++) {
		w->s[i].cfg.security = security;
		w->s[i].cfg.queue_bytes_max = QUEUE;
	}
	fflush(NULL);
	for (uint32_t i = 0; i < w->n; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			server(p, w, i, mbit);
		}
	}
	all_done(p);
	atomic_store(&p->phase, PHASE_SEND);
	for_ms(WARM_MS);
	begun = world_now_ns();
	atomic_store(&p->phase, PHASE_COUNT);
	for_ms(ms);
	atomic_store(&p->phase, PHASE_COUNTED);
	p->turn.took_ns = world_now_ns() - begun;
	all_done(p);
	atomic_store(&p->phase, PHASE_OVER);
	for (uint32_t i = 0; i < w->n; i++)
		if (wait(&status) < 0 || status != 0)
			failed(p, "a server has failed", status);
	t = p->turn;
	munmap(p, sizeof(*p));
	return t;
}

struct channel_usage channel_receivers(const struct channel_turn *t)
{
	struct channel_usage sum = { 0 };

	for (uint32_t i = 1; i <= CHANNEL_PEERS; i++) {
		sum.bytes += t->of[i].bytes;
		sum.loop_ns += t->of[i].loop_ns;
		sum.work_ns += t->of[i].work_ns;
	}
	return sum;
}

uint64_t channel_bytes(const struct channel_turn *t)
{
	return channel_receivers(t).bytes;
}
