/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See runaway.h. */
#include "runaway.h"

#include "lib/unit.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine_int.h"

#define SELF 3

enum what {
	CONNECT = 1,
	ASK,
	ASK_TEXTS,
	HOLD,
	COUNT,
	LEAVE
};

struct order {
	enum what what;
	bool sums, reads, hold;
	uint32_t n;
	struct nfs4r_oid oid;
	struct nfs4r_rpc_config cfg;
};

struct answers {
	uint32_t bytes, delay;
};

struct runaway {
	int fd;
	pid_t pid;
	struct order order;
};

/* ---- in its own process, where nothing is asserted: what fails ends it, and the test hears of that ---- */

static struct nfs4r_rpc *rpc;
static atomic_bool up;
static _Atomic uint32_t bytes, delay;

static void on_up(void *ctx, nfs4r_server_id peer, uint64_t inc)
{
	if (peer == 1)
		up = true;
}

static void on_down(void *ctx, nfs4r_server_id peer, const char *why)
{
	if (peer == 1)
		up = false;
}

static void on_message(void *ctx, nfs4r_server_id from, struct nfs4r_msg *m)
{
	if (m->type == NFS4R_MSG_READ_ANSWER) {
		if (m->read->status == NFS4R_DELAY)
			delay++;
		else if (m->read->status == NFS4R_OK)
			bytes++;
	}
	nfs4r_msg_fini(m);
	free(m);
}

static void on_log(void *ctx, enum nfs4r_log_level level, const char *text)
{
	if (getenv("NFS4R_TEST_LOG") || level <= NFS4R_LOG_ERROR)
		fprintf(stderr, "[runaway] %s\n", text);
}

static bool do_connect(const struct order *o)
{
	struct nfs4r_rpc_events ev = { .up = on_up, .down = on_down, .message = on_message, .log = on_log };
	char why[NFS4R_WHY] = "";

	up = false;
	bytes = delay = 0;
	if (nfs4r_rpc_start(&o->cfg, &ev, &rpc, why) != NFS4R_OK) {
		fprintf(stderr, "the runaway does not start: %s\n", why);
		return false;
	}
	for (int i = 0; i < 2000 && !up; i++)
		pause_ms(10);
	return up;
}

static void do_send(const struct nfs4r_msg *m)
{
	while (up && nfs4r_rpc_send(rpc, 1, NFS4R_LANE_REQUEST, m) == NFS4R_DELAY)
		pause_ms(1);
}

static void do_ask(const struct order *o)
{
	struct nfs4r_msg sum = { .type = NFS4R_MSG_VERIFY };
	struct nfs4r_read piece = { .type = NFS4R_RD_READ, .oid = o->oid, .length = RUNAWAY_PIECE };
	struct nfs4r_msg read = { .type = NFS4R_MSG_READ, .read = &piece };

	for (uint32_t i = 1; i <= o->n; i++) {
		sum.verify.id = piece.id = i;
		sum.verify.oid = o->oid;
		if (o->sums)
			do_send(&sum);
		if (o->reads)
			do_send(&read);
	}
}

/* Texts of a symbolic link. No answer is as large as a page, and none is small. */
static void do_ask_texts(const struct order *o)
{
	struct nfs4r_read text = { .type = NFS4R_RD_READLINK, .oid = o->oid, .copy = true };
	struct nfs4r_msg read = { .type = NFS4R_MSG_READ, .read = &text };

	for (uint32_t i = 1; up && i <= o->n; i++) {
		text.id = i;
		do_send(&read);
	}
}

static void serve(int fd)
{
	static struct order o;
	struct answers a;

	while (recv(fd, &o, sizeof(o), MSG_WAITALL) == sizeof(o)) {
		if (o.what == CONNECT && !do_connect(&o))
			return;
		if (o.what == ASK)
			do_ask(&o);
		if (o.what == ASK_TEXTS)
			do_ask_texts(&o);
		if (o.what == HOLD)
			nfs4r_rpc_pause(rpc, 1, o.hold);
		if (o.what == LEAVE)
			nfs4r_rpc_stop(rpc);
		a = (struct answers){ .bytes = bytes, .delay = delay };
		if (write(fd, &a, sizeof(a)) != sizeof(a))
			return;
	}
}

/* ---- in the test ---- */

struct runaway *runaway_begin(void)
{
	struct runaway *r = calloc(1, sizeof(*r));
	int fd[2];

	if (!r || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0)
		abort();
	r->pid = fork();
	if (r->pid < 0)
		abort();
	if (r->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fd[0]);
		serve(fd[1]);
		_exit(0);
	}
	close(fd[1]);
	r->fd = fd[0];
	return r;
}

void runaway_end(struct runaway *r)
{
	close(r->fd);
	waitpid(r->pid, NULL, 0);
	free(r);
}

static struct answers tell(struct runaway *r, enum what what)
{
	struct answers a;

	r->order.what = what;
	assert_int_equal(send(r->fd, &r->order, sizeof(r->order), MSG_NOSIGNAL), sizeof(r->order));
	assert_int_equal(recv(r->fd, &a, sizeof(a), MSG_WAITALL), sizeof(a));
	return a;
}

/* Server 3's place, as the engine would take it. */
static void config(struct nfs4r_rpc_config *cfg, const struct nfs4r_engine *eng)
{
	*cfg = eng->cfg.rpc;
	cfg->self = SELF;
	cfg->inc = (uint64_t)getpid() << 32 | (uint64_t)engine_now_ms();
	cfg->disk_format = (struct nfs4r_versions){ NFS4R_DISK_FORMAT_LOWEST, NFS4R_DISK_FORMAT };
	cfg->keys_now.lease_ms = eng->cfg.lease_ms;
	nfs4r_rpc_compare(cfg, "Volume", eng->cfg.volume_name, false);
}

static void wait_up(struct cluster *c, bool want)
{
	struct nfs4r_rpc_peer_stats s = { .up = !want };

	for (int i = 0; i < 1000 && s.up != want; i++) {
		assert_true(nfs4r_rpc_get_stats(c->site[1].eng->rpc, SELF, &s));
		pause_ms(10);
	}
	assert_int_equal(s.up, want);
}

void runaway_connect(struct runaway *r, struct cluster *c)
{
	config(&r->order.cfg, c->site[1].eng);
	tell(r, CONNECT);
	wait_up(c, true);
}

void runaway_ask(struct runaway *r, const struct nfs4r_oid *oid, uint32_t n, bool sums, bool reads)
{
	r->order.oid = *oid;
	r->order.n = n;
	r->order.sums = sums;
	r->order.reads = reads;
	tell(r, ASK);
}

void runaway_ask_texts(struct runaway *r, const struct nfs4r_oid *oid, uint32_t n)
{
	r->order.oid = *oid;
	r->order.n = n;
	tell(r, ASK_TEXTS);
}

void runaway_read_nothing(struct runaway *r, bool nothing)
{
	r->order.hold = nothing;
	tell(r, HOLD);
}

void runaway_answers(struct runaway *r, uint32_t *with_bytes, uint32_t *with_delay)
{
	struct answers a = tell(r, COUNT);

	*with_bytes = a.bytes;
	*with_delay = a.delay;
}

void runaway_leave(struct runaway *r, struct cluster *c)
{
	tell(r, LEAVE);
	wait_up(c, false);
}
