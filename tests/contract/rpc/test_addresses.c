/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Host names and addresses. Of a name with two addresses, of which the first is of no use, the second one is called. A server's own name that means
 * only the machine itself, and what is not there yet when it starts, keep nobody from starting. The name service of this process knows three names more
 * than the system's.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/unit.h"

#include "contract/rpc/world.h"
#include "rpc/rpc_internal.h"

#define NAME "both.test"
#define FIRST "127.0.0.4" /* its ports are free (world_init), and of no server */
#define SECOND "127.0.0.1"
#define ITSELF "itself.test" /* as Debian's installer writes it into /etc/hosts */
#define LATER "later.test" /* known at the third question */

static _Atomic unsigned questions;

typedef int (*lookup_fn)(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **out);

/* For libuv, too, which asks by dynamic linking. The lists of two answers are one, which freeaddrinfo() frees item by item. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **out)
{
	lookup_fn lookup = (lookup_fn)dlsym(RTLD_NEXT, "getaddrinfo");
	bool both = host && strcmp(host, NAME) == 0, later = host && strcmp(host, LATER) == 0;
	struct addrinfo **end = out;
	int err;

	if ((both || later || (host && strcmp(host, ITSELF) == 0)) && hints->ai_flags & AI_NUMERICHOST)
		return EAI_NONAME;
	if (later && ++questions < 3)
		return EAI_AGAIN;
	if (later)
		host = SECOND;
	else if (host && strcmp(host, ITSELF) == 0)
		host = "127.0.1.1";
	err = lookup(both ? FIRST : host, service, hints, out);
	if (err || !both)
		return err;
	while (*end)
		end = &(*end)->ai_next;
	return lookup(SECOND, service, hints, end);
}

/* Whether the address answers a call at all. */
static bool answers(const struct nfs4r_endpoint *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(at->port), .sin_addr.s_addr = inet_addr(at->host) };
	bool does = connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 || poll(&p, 1, 50) > 0;

	close(fd);
	return does;
}

/* Server 2 calls server 1 by its name. Handshakes may take 300 ms. */
static struct world *named(struct nfs4r_endpoint *first)
{
	struct world *w = malloc(sizeof(*w));
	struct nfs4r_endpoint *ep = &w->s[1].cfg.servers[0];

	world_init(w, 2);
	*first = *ep;
	snprintf(first->host, sizeof(first->host), FIRST);
	snprintf(ep->host, sizeof(ep->host), NAME);
	w->s[1].cfg.silence_ms = 300;
	return w;
}

static void comes_up(struct world *w, const char *why)
{
	char line[128];

	snprintf(line, sizeof(line), "no connection with server 1 (%s:%u): %s", NAME, w->s[1].cfg.servers[0].port, why);
	world_start_all(w);
	world_wait_all_up(w);
	assert_int_equal(world_logged(&w->s[1], line), 1); /* the first address was tried before */
	world_fini(w);
	free(w);
}

static void test_the_first_refuses(void **state)
{
	struct nfs4r_endpoint first;
	struct world *w = named(&first);

	assert_true(answers(&first)); /* with a reset */
	comes_up(w, "connection refused");
}

/* As behind a firewall, or of a machine that is off: nobody says anything. */
static void test_the_first_swallows(void **state)
{
	struct nfs4r_endpoint first;
	struct world *w = named(&first);
	int fd = raw_listen(&first), n = 0;

	assert_int_equal(listen(fd, 0), 0); /* nobody accepts: the kernel drops calls when its queue is full */
	while (n < 8 && answers(&first))
		n++;
	assert_in_range(n, 1, 7);
	comes_up(w, "no answer for");
	close(fd);
}

/* The connection stands, and nothing comes over it. */
static void test_the_first_is_silent(void **state)
{
	struct nfs4r_endpoint first;
	struct world *w = named(&first);
	int fd = raw_listen(&first);

	comes_up(w, "no answer for");
	close(fd);
}

/* ---- the own address ---- */

/* Server 1 has @host for itself, and waits so long for it. */
static struct world *own(const char *host, uint32_t wait_ms)
{
	struct world *w = malloc(sizeof(*w));

	world_init(w, 2);
	snprintf(w->s[0].cfg.servers[0].host, sizeof(w->s[0].cfg.servers[0].host), "%s", host);
	w->s[0].cfg.listen_wait_ms = wait_ms;
	return w;
}

static void works(struct world *w, const char *line)
{
	world_start_all(w);
	world_wait_all_up(w);
	assert_int_equal(world_logged(&w->s[0], line), 1);
	world_fini(w);
	free(w);
}

static void test_an_own_name_for_this_machine_only_listens_everywhere(void **state)
{
	works(own(ITSELF, 0), "itself.test is 127.0.1.1:");
}

static void test_an_own_name_that_is_known_later_is_waited_for(void **state)
{
	questions = 0;
	works(own(LATER, 20000), "later.test cannot be resolved");
	assert_in_range(questions, 3, 4);
}

static void *let_go(void *arg)
{
	usleep(300000);
	close(*(int *)arg);
	return NULL;
}

static void test_a_port_that_is_free_later_is_waited_for(void **state)
{
	struct world *w = own(SECOND, 20000);
	int fd = raw_listen(&w->s[0].cfg.servers[0]);
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, let_go, &fd), 0);
	works(w, "address already in use");
	pthread_join(t, NULL);
}

static void fails(struct world *w, const char *said)
{
	struct nfs4r_rpc_events ev = { 0 };
	struct nfs4r_rpc *rpc;
	char why[NFS4R_WHY] = "";

	assert_int_equal(nfs4r_rpc_start(&w->s[0].cfg, &ev, &rpc, why), NFS4R_BADCONFIG);
	assert_non_null(strstr(why, said));
	free(w);
}

static void test_what_never_comes_is_refused(void **state)
{
	uint64_t begun = world_now_ns();

	fails(own("192.0.2.77", 700), "cannot listen on 192.0.2.77: it is no address of this machine; server 1's entry must be one");
	assert_true(world_now_ns() - begun >= 700000000);
	questions = 0;
	fails(own(LATER, 0), "later.test cannot be resolved");
	assert_int_equal(questions, 1);
}

/* ---- equal or not ---- */

static struct sockaddr_storage address6(const char *text, uint32_t scope, uint16_t port)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_scope_id = scope };
	struct sockaddr_storage out = { 0 };

	assert_int_equal(inet_pton(AF_INET6, text, &a.sin6_addr), 1);
	memcpy(&out, &a, sizeof(a));
	return out;
}

/* A link-local address is one of a network: the same on another network is another machine. The port never counts. */
static void test_addresses_that_are_equal(void **state)
{
	struct rpc_addrs list = { .n = 2, .a = { address6("fe80::1", 2, 294), address6("2001:db8::1", 0, 294) } };
	struct sockaddr_storage other = address6("fe80::1", 3, 294), none = address6("fe80::1", 0, 294), same = address6("fe80::1", 2, 700);
	struct sockaddr_storage global = address6("2001:db8::1", 0, 700), mapped = address6("::ffff:192.0.2.1", 0, 700);
	struct rpc_addrs plain;
	char why[NFS4R_WHY], text[64];

	assert_true(rpc_addrs_have(&list, &same));
	assert_true(rpc_addrs_have(&list, &global));
	assert_false(rpc_addrs_have(&list, &other));
	assert_false(rpc_addrs_have(&list, &none));
	assert_false(rpc_addrs_have(&list, &mapped));
	assert_int_equal(rpc_addrs_resolve("192.0.2.1", 294, true, &plain, why), NFS4R_OK);
	assert_true(rpc_addrs_have(&plain, &mapped));
	rpc_addr_text(&other, text, sizeof(text));
	assert_non_null(strstr(text, "[fe80::1%"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_refuses),
		cmocka_unit_test(test_the_first_swallows),
		cmocka_unit_test(test_the_first_is_silent),
		cmocka_unit_test(test_an_own_name_for_this_machine_only_listens_everywhere),
		cmocka_unit_test(test_an_own_name_that_is_known_later_is_waited_for),
		cmocka_unit_test(test_a_port_that_is_free_later_is_waited_for),
		cmocka_unit_test(test_what_never_comes_is_refused),
		cmocka_unit_test(test_addresses_that_are_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
