/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Connections of clients that do not behave, at libntirpc alone (patches/0006, 0007): a service on the loopback that answers each call with as many bytes as the caller asked for.
 *
 * A connection that breaks while answers wait for room in its socket gives back its descriptors; so it had nothing left that held the transport. What breaks when differs from one connection to the next,
 * hence many of them.
 *
 * The first bytes of a record, or of what a proxy sends in front of it, hold no worker while the rest does not come.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <cmocka.h>

#include "config.h"
#include <rpc/rpc.h>
#include <rpc/svc.h>
#include <rpc/svc_auth.h>
#include <rpc/svc_rqst.h>
#include <rpc/xdr_inline.h>

#define PROGRAM 0x20000294
#define LAST_FRAGMENT 0x80000000u
#define WORKERS 32
#define CHANNELS 4
#define CONNECTIONS_MAX 1024
#define ROUNDS 20
#define AT_ONCE 20 /* connections */
#define CALLS 10 /* on each of them */
#define LARGE (256 << 10) /* bytes of an answer: more than a socket takes */
#define PATIENCE_S 20

static struct sockaddr_in service;
static char zeros[LARGE];

/* ---- the service ---- */

static bool encode(XDR *xdrs, void *where)
{
	uint32_t n = *(uint32_t *)where;

	return XDR_PUTUINT32(xdrs, n) && (n == 0 || xdr_opaque_encode(xdrs, zeros, n));
}

struct request {
	struct svc_req svc;
	uint32_t bytes;
};

static struct svc_req *request_new(SVCXPRT *xprt, XDR *xdrs)
{
	struct request *r = calloc(1, sizeof(*r));

	SVC_REF(xprt, SVC_REF_FLAG_NONE);
	r->svc.rq_xprt = xprt;
	r->svc.rq_xdrs = xdrs;
	r->svc.rq_refcnt = 1;
	return &r->svc;
}

static void request_free(struct svc_req *req, enum xprt_stat stat)
{
	SVCXPRT *xprt = req->rq_xprt;

	free(req);
	SVC_RELEASE(xprt, SVC_RELEASE_FLAG_NONE);
}

/* The procedure is how many bytes are wanted. */
static enum xprt_stat answer(struct svc_req *req)
{
	struct request *r = (struct request *)req;
	bool no_dispatch = false;

	r->bytes = req->rq_msg.cb_proc;
	if (svc_auth_authenticate(req, &no_dispatch) != AUTH_OK || no_dispatch)
		return svcerr_auth(req, AUTH_FAILED);
	req->rq_msg.RPCM_ack.ar_results.where = &r->bytes;
	req->rq_msg.RPCM_ack.ar_results.proc = encode;
	return svc_sendreply(req);
}

static enum xprt_stat came(SVCXPRT *xprt)
{
	xprt->xp_dispatch.process_cb = answer;
	return XPRT_IDLE;
}

static int begin(void **state)
{
	struct svc_init_params params = {
		.alloc_cb = request_new, .free_cb = request_free, .flags = SVC_INIT_EPOLL | SVC_INIT_NOREG_XPRTS, .max_connections = CONNECTIONS_MAX, .max_events = 64, .ioq_send_max = 1 << 20, .ioq_thrd_min = 2, .ioq_thrd_max = WORKERS, .channels = CHANNELS, .idle_timeout = 300
	};
	socklen_t len = sizeof(service);
	int fd = socket(AF_INET, SOCK_STREAM, 0), little = 64 << 10;
	uint32_t channel = 0;
	SVCXPRT *xprt;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &little, sizeof(little)); /* its connections have it, too */
	service.sin_family = AF_INET;
	service.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&service, sizeof(service)) || listen(fd, 128) || getsockname(fd, (struct sockaddr *)&service, &len))
		return -1;
	signal(SIGPIPE, SIG_IGN);
	if (!svc_init(&params))
		return -1;
	xprt = svc_vc_ncreatef(fd, 1 << 20, 1 << 20, SVC_CREATE_FLAG_CLOSE | SVC_CREATE_FLAG_LISTEN);
	if (!xprt)
		return -1;
	xprt->xp_dispatch.rendezvous_cb = came;
	if (svc_rqst_new_evchan(&channel, NULL, SVC_RQST_FLAG_NONE))
		return -1;
	return svc_rqst_evchan_reg(channel, xprt, SVC_RQST_FLAG_XPRT_UREG);
}

/* ---- its callers ---- */

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int call_from(int buffer)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	if (buffer)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	assert_int_equal(connect(fd, (struct sockaddr *)&service, sizeof(service)), 0);
	return fd;
}

static void say(int fd, const void *bytes, size_t n)
{
	assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

/* Bytes of it, with its mark. */
static size_t call_words(uint32_t words[11], uint32_t bytes)
{
	const uint32_t call[11] = { LAST_FRAGMENT | 10 * 4, 1, CALL, 2, PROGRAM, 1, bytes, AUTH_NONE, 0, AUTH_NONE, 0 };

	for (int i = 0; i < 11; i++)
		words[i] = htonl(call[i]);
	return sizeof(call);
}

static void ask(int fd, uint32_t bytes)
{
	uint32_t words[11];
	size_t n = call_words(words, bytes);

	say(fd, words, n);
}

/* Its end is a reset: what it has not read is lost. */
static void break_off(int fd)
{
	struct linger now = { 1, 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

static bool is_answered(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };
	char answer_bytes[64];

	return poll(&p, 1, PATIENCE_S * 1000) == 1 && recv(fd, answer_bytes, sizeof(answer_bytes), 0) > 4;
}

static bool fall_to(int n)
{
	uint64_t end = now_ms() + PATIENCE_S * 1000;

	while (descriptors() > n && now_ms() < end)
		poll(NULL, 0, 10);
	return descriptors() <= n;
}

/* So the threads and channels that come with the first connections are there. */
static int warm(void)
{
	for (int i = 0; i < 2 * CHANNELS; i++) {
		int fd = call_from(0);

		ask(fd, 8);
		assert_true(is_answered(fd));
		close(fd);
	}
	poll(NULL, 0, 300);
	return descriptors();
}

/* Some break before there is an answer, most when all answers wait. @half: the caller says first that it has no more questions. */
static void break_many(bool half)
{
	int before = warm();

	for (int i = 0; i < ROUNDS; i++) {
		int fds[AT_ONCE];

		for (int k = 0; k < AT_ONCE; k++) {
			fds[k] = call_from(4096);
			for (int n = 0; n < CALLS; n++)
				ask(fds[k], LARGE);
		}
		poll(NULL, 0, i % 4 * 10);
		for (int k = 0; half && k < AT_ONCE; k++)
			shutdown(fds[k], SHUT_WR);
		for (int k = 0; k < AT_ONCE; k++)
			break_off(fds[k]);
	}
	if (!fall_to(before))
		fail_msg("%d descriptors, %d before: %d of %d connections are lost", descriptors(), before, (descriptors() - before) / 2, ROUNDS * AT_ONCE);
}

static void test_a_connection_that_ends_is_given_back(void **state)
{
	break_many(true);
}

static void test_a_connection_that_is_reset_is_given_back(void **state)
{
	break_many(false);
}

/* More than there are workers, each with the first bytes of a record or of a proxy's header; one that has more to say is answered, and then they are. */
static void stop_within(const void *bytes, size_t n, const void *rest, size_t left)
{
	int fds[2 * WORKERS], fd;

	for (int i = 0; i < 2 * WORKERS; i++) {
		fds[i] = call_from(0);
		say(fds[i], bytes, n);
	}
	poll(NULL, 0, 200); /* they have been read */
	fd = call_from(0);
	ask(fd, 8);
	assert_true(is_answered(fd));
	close(fd);
	for (int i = 0; i < 2 * WORKERS; i++) {
		say(fds[i], rest, left);
		ask(fds[i], 8);
		assert_true(is_answered(fds[i]));
		close(fds[i]);
	}
}

static void test_two_bytes_hold_no_worker(void **state)
{
	uint32_t words[11];
	size_t n = call_words(words, 8);

	stop_within(words, 2, (char *)words + 2, n - 2);
}

static const char proxy[] = "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\1\x7f\0\0\1\0\1\0\2"; /* TCP over IPv4 */

static void test_a_part_of_a_proxys_header_holds_no_worker(void **state)
{
	static const size_t parts[] = { 3, 4, 11, 12, 15, 16, 27 };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		stop_within(proxy, parts[i], proxy + parts[i], sizeof(proxy) - 1 - parts[i]);
}

static void test_a_call_may_come_byte_by_byte(void **state)
{
	uint32_t words[11];
	size_t n = call_words(words, 8);
	int fd = call_from(0);

	for (size_t i = 0; i < n; i++) {
		say(fd, (char *)words + i, 1);
		poll(NULL, 0, 1);
	}
	assert_true(is_answered(fd));
	close(fd);
}

/* It asks only whether the service is there. Calls may follow. */
static void test_a_proxy_looks_at_it(void **state)
{
	static const char look[] = "\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";
	int fd = call_from(0);

	for (int i = 0; i < 3; i++) {
		say(fd, look, sizeof(look) - 1);
		poll(NULL, 0, 20);
	}
	ask(fd, 8);
	assert_true(is_answered(fd));
	close(fd);
}

/* The first words of a fragment of 218 MB are no proxy's header. Nobody waits for the rest of it, nor for the twelve bytes that would tell. */
static void test_what_only_begins_like_a_proxy(void **state)
{
	static const char bytes[] = "\r\n\r\n\0\r\nQUIT!";
	int fd = call_from(0), other = call_from(0);

	say(fd, bytes, sizeof(bytes) - 1);
	poll(NULL, 0, 20);
	say(fd, bytes, sizeof(bytes) - 1);
	ask(other, 8);
	assert_true(is_answered(other));
	close(other);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_connection_that_ends_is_given_back),
		cmocka_unit_test(test_a_connection_that_is_reset_is_given_back),
		cmocka_unit_test(test_two_bytes_hold_no_worker),
		cmocka_unit_test(test_a_part_of_a_proxys_header_holds_no_worker),
		cmocka_unit_test(test_a_call_may_come_byte_by_byte),
		cmocka_unit_test(test_a_proxy_looks_at_it),
		cmocka_unit_test(test_what_only_begins_like_a_proxy),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
