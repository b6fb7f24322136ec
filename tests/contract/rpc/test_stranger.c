/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A local user of a server's machine, who has its address and no rights, gets nothing. Runs as root in a network of its own, where servers use ports below
 * 1024 as they do everywhere else; the local user is a process of uid 65534. Without root: skipped.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/unit.h"

#include "contract/rpc/fake.h"
#include "xdr_map.h"

#define NOBODY 65534
#define MANY 600
#define SECOND_NS UINT64_C(1000000000)

static struct world *privileged(uint32_t n)
{
	struct world *w = malloc(sizeof(*w));

	world_init(w, n);
	for (uint32_t i = 0; i < n; i++) {
		w->s[i].cfg.any_port = false;
		for (uint32_t j = 0; j < n; j++)
			w->s[i].cfg.servers[j].port = NFS4R_PORT_DEFAULT;
	}
	return w;
}

/* ---- the local user ---- */

struct nobody {
	pid_t pid;
	int out; /* what it says */
};

static void drop_rights(void)
{
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		_exit(99);
}

static int nobody_connects(const char *from, const struct nfs4r_endpoint *to, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = inet_addr(from) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0)
		return -1;
	a.sin_addr.s_addr = inet_addr(to->host);
	a.sin_port = htons(to->port);
	return connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 ? fd : -1;
}

/* @body in a process without rights; its end of the pipe is the argument. It stays until nobody_end(). */
static struct nobody nobody_begin(void (*body)(int out, const void *arg), const void *arg)
{
	struct nobody n;
	int p[2];

	assert_int_equal(pipe(p), 0);
	n.pid = fork();
	assert_true(n.pid >= 0);
	if (n.pid == 0) {
		drop_rights();
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) /* after the change of user, which clears it */
			_exit(99);
		body(p[1], arg);
		close(p[1]);
		pause();
		_exit(0);
	}
	close(p[1]);
	n.out = p[0];
	return n;
}

static void nobody_end(struct nobody *n)
{
	int status;

	close(n->out);
	kill(n->pid, SIGKILL);
	assert_int_equal(waitpid(n->pid, &status, 0), n->pid);
}

/* All that it says, until it has said it. */
static size_t nobody_said(const struct nobody *n, char *out, size_t size)
{
	size_t len = 0;
	ssize_t got;

	while (len < size && (got = read(n->out, out + len, size - len)) > 0)
		len += (size_t)got;
	return len;
}

/* ---- what it tries ---- */

struct attack {
	const struct nfs4r_endpoint *to;
	const uint8_t *hello;
	uint32_t len;
};

/* Says HELLO as server 2 and repeats what it hears. */
static void says_hello(int out, const void *arg)
{
	const struct attack *a = arg;
	uint32_t mark = htonl(0x80000000u | a->len);
	int fd = nobody_connects("127.0.0.2", a->to, 0);
	char buf[4096];
	ssize_t n;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){ .tv_sec = 5 }, sizeof(struct timeval)) != 0)
		return; /* whoever is let in hears no end */
	if (send(fd, &mark, 4, MSG_NOSIGNAL) != 4 || send(fd, a->hello, a->len, MSG_NOSIGNAL) != (ssize_t)a->len)
		close(fd);
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		if (write(out, buf, (size_t)n) != n)
			return;
}

/* As finding a password: everything of the HELLO is right, and another start would put the real one down. */
static void test_a_local_user_is_no_server(void **state)
{
	struct nfs4r_transport_msg_body m = { .type = NFS4R_MSG_HELLO }, heard;
	struct world *w = privileged(2);
	struct attack a = { .to = &w->s[0].cfg.servers[0] };
	struct nfs4r_buf *b;
	struct nobody n;
	uint8_t said[4096];
	size_t len;

	world_start_all(w);
	world_wait_all_up(w);
	fake_hello(&m.hello, &w->s[1], &w->s[0]);
	m.hello.inc = UINT64_MAX - 1;
	b = nfs4r_transport_msg_encode(&m);
	a.hello = b->data;
	a.len = b->len;
	n = nobody_begin(says_hello, &a);
	len = nobody_said(&n, (char *)said, sizeof(said));
	/* One REFUSED: the number of the cause and an empty text, 12 bytes; and nothing else. */
	assert_int_equal(len, 4 + 12);
	assert_int_equal(nfs4r_transport_msg_decode(said + 4, 12, NFS4R_PROTOCOL_VERSION, &heard), NFS4R_OK);
	assert_int_equal(heard.type, NFS4R_MSG_REFUSED);
	assert_int_equal(heard.refused.cause, NFS4R_REFUSED_PORT);
	assert_string_equal(heard.refused.text, "");
	nobody_end(&n);
	assert_int_equal(world_logged(&w->s[0], "refused a call from 127.0.0.2:"), 1);
	assert_int_equal(world_get(&w->s[0], w_s->downs[2]), 0);
	assert_true(world_get(&w->s[0], w_s->up[2]));
	nfs4r_buf_put(b);
	world_fini(w);
	free(w);
}

static void takes_ports(int out, const void *arg)
{
	static const uint16_t ports[] = { NFS4R_PORT_DEFAULT, 600, 1023 };
	bool any = false;

	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
		any |= nobody_connects("127.0.0.2", arg, ports[i]) >= 0 || errno != EACCES;
	if (write(out, any ? "taken" : "refused", any ? 5 : 7) < 0)
		return;
}

/* While server 1 is down, server 2, which calls it, meets nobody at its port. */
static void test_a_local_user_gets_no_port_of_a_server(void **state)
{
	struct world *w = privileged(2);
	struct nobody n = nobody_begin(takes_ports, &w->s[0].cfg.servers[0]);
	char said[16] = "";

	nobody_said(&n, said, sizeof(said) - 1);
	assert_string_equal(said, "refused");
	nobody_end(&n);
	world_fini(w);
	free(w);
}

static void opens_many(int out, const void *arg)
{
	int open = 0;

	for (int i = 0; i < MANY; i++)
		open += nobody_connects("127.0.0.2", arg, 0) >= 0;
	if (write(out, &open, sizeof(open)) < 0)
		return;
}

/* The real server has a second, whatever stands open from its address. */
static void comes_through(struct world *w)
{
	struct nobody n;
	uint64_t begun;
	int open = 0;

	world_start(w, 0);
	n = nobody_begin(opens_many, &w->s[0].cfg.servers[0]);
	assert_int_equal(nobody_said(&n, (char *)&open, sizeof(open)), sizeof(open));
	assert_int_equal(open, MANY);
	world_wait(&w->s[0], strstr(w_s->log, "are open without an identity"));
	begun = world_now_ns();
	world_start(w, 1);
	world_wait_all_up(w);
	assert_true(world_now_ns() - begun < SECOND_NS);
	nobody_end(&n);
	assert_int_equal(world_get(&w->s[0], w_s->downs[2]), 0);
	world_fini(w);
	free(w);
}

static void test_many_connections_of_a_local_user(void **state)
{
	comes_through(privileged(2));
}

/* Where every port will do each of them may be a server, and the oldest make room. */
static void test_many_connections_where_any_port_will_do(void **state)
{
	struct world *w = privileged(2);

	w->s[0].cfg.any_port = w->s[1].cfg.any_port = true;
	comes_through(w);
}

/* ---- the servers themselves ---- */

/* Every connection is made from a port below 1024, and there are enough of them for many in a row, TIME_WAIT or not. */
static void test_ports_are_not_used_up(void **state)
{
	struct world *w = privileged(2);

	for (int i = 0; i < 2; i++)
		w->s[i].cfg.connections = NFS4R_CONNECTIONS_MAX;
	world_start(w, 0);
	for (int i = 0; i < 60; i++) { /* of 18 connections: more than twice the ports that there are */
		w->s[1].cfg.inc++;
		world_start(w, 1);
		world_wait(&w->s[1], w_s->up[1]);
		world_stop(w, 1);
		world_wait(&w->s[0], !w_s->up[2]);
	}
	assert_int_equal(world_logged(&w->s[0], "refused"), 0);
	assert_int_equal(world_logged(&w->s[1], "cannot call"), 0);
	world_fini(w);
	free(w);
}

/* One that was configured so calls from any port, and is told why it is refused. */
static void test_a_server_that_calls_from_any_port_is_told(void **state)
{
	struct world *w = privileged(2);

	w->s[1].cfg.any_port = true;
	world_start_all(w);
	world_wait(&w->s[1], world_state_has(w_s, 1, "write Peer_Ports = privileged here"));
	assert_int_equal(world_logged(&w->s[1], "(the log of server 1 at 127.0.0.1 says more)"), 1);
	assert_int_equal(world_logged(&w->s[0], "servers call from ports below 1024"), 1);
	assert_int_equal(world_get(&w->s[0], w_s->ups[2]), 0);
	world_fini(w);
	free(w);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void test_ports_that_protect_nobody_are_refused(void **state)
{
	static const char first[] = "/proc/sys/net/ipv4/ip_unprivileged_port_start";
	struct nfs4r_rpc_servers next = { 0 };
	struct world *w = privileged(2);
	char why[NFS4R_WHY] = "";

	w->s[0].cfg.servers[1].port = 20490;
	world_start_fails(w, 0, "server 2 listens on port 20490, which every user of its machine can use: write Port = 294");
	w->s[0].cfg.servers[1].port = NFS4R_PORT_DEFAULT;
	write_file(first, "290");
	world_start_fails(w, 0, "sysctl net.ipv4.ip_unprivileged_port_start=1024");
	write_file(first, "1024");
	world_start(w, 0);
	next.n = 2;
	memcpy(next.list, w->s[0].cfg.servers, 2 * sizeof(next.list[0]));
	next.list[1].port = 1024;
	assert_int_equal(nfs4r_rpc_set_servers(w->s[0].rpc, &next, why), NFS4R_BADCONFIG);
	assert_non_null(strstr(why, "port 1024"));
	world_fini(w);
	free(w);
}

/* One line at the start says what `none` means, and one more word what `any` does. */
static void test_what_none_means_is_said(void **state)
{
	struct world *w = privileged(2);

	world_start_all(w);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(world_logged(&w->s[i], "2 Peer_Security = none: servers identify each other by address alone"), 1);
		assert_int_equal(world_logged(&w->s[i], "unsafe"), 0);
	}
	world_stop(w, 1);
	w->s[1].cfg.any_port = true;
	world_start(w, 1);
	assert_int_equal(world_logged(&w->s[1], "Peer_Ports = any is unsafe: every local user"), 1);
	world_fini(w);
	free(w);
}

static bool own_network(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;
	bool up;

	if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0)
		return false;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0;
	if (fd >= 0)
		close(fd);
	return up;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_local_user_is_no_server),
		cmocka_unit_test(test_a_local_user_gets_no_port_of_a_server),
		cmocka_unit_test(test_many_connections_of_a_local_user),
		cmocka_unit_test(test_many_connections_where_any_port_will_do),
		cmocka_unit_test(test_ports_are_not_used_up),
		cmocka_unit_test(test_a_server_that_calls_from_any_port_is_told),
		cmocka_unit_test(test_ports_that_protect_nobody_are_refused),
		cmocka_unit_test(test_what_none_means_is_said),
	};

	if (!own_network()) {
		fprintf(stderr, "skipped: needs root\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
