/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A host name with two addresses, of which the first is of no use: the second one is called. The name service of this process knows one name
 * more than the system's.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "contract/rpc/world.h"

#define NAME "both.test"
#define FIRST "127.0.0.4" /* its ports are free (world_init), and of no server */
#define SECOND "127.0.0.1"

typedef int (*lookup_fn)(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **out);

/* For libuv, too, which asks by dynamic linking. The lists of two answers are one, which freeaddrinfo() frees item by item. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **out)
{
	lookup_fn lookup = (lookup_fn)dlsym(RTLD_NEXT, "getaddrinfo");
	bool both = host && strcmp(host, NAME) == 0;
	struct addrinfo **end = out;
	int err;

	if (both && hints->ai_flags & AI_NUMERICHOST)
		return EAI_NONAME;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_refuses),
		cmocka_unit_test(test_the_first_swallows),
		cmocka_unit_test(test_the_first_is_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
