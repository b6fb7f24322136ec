/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A server of the volume that brings about the same event again and again fills no log. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/unit.h"

#include "contract/rpc/fake.h"

#define TIMES 30
#define LINES 6 /* of one cause and one server, in a minute */

/* A server that comes and goes is said, the first times; and how often it went on is said with the next line. */
static void test_a_server_that_comes_and_goes(void **state)
{
	struct world *w = malloc(sizeof(*w));
	struct fake f;

	world_init(w, 3);
	world_start(w, 0);
	for (uint64_t i = 1; i <= TIMES; i++) {
		fake_call(&f, &w->s[1], &w->s[0], i);
		fake_close(&f);
		world_wait(&w->s[0], w_s->downs[2] == i);
	}
	assert_int_equal(world_logged(&w->s[0], "server 2 (127.0.0.2"), 2 * LINES);
	assert_int_equal(world_logged(&w->s[0], "is down:"), LINES);
	/* Another one's lines are not those. */
	fake_call(&f, &w->s[2], &w->s[0], 1);
	fake_close(&f);
	world_wait(&w->s[0], w_s->downs[3] == 1);
	assert_int_equal(world_logged(&w->s[0], "is down:"), LINES + 1);
	world_fini(w);
	free(w);
}

/* An export policy that is another one each time. */
static void test_a_policy_that_changes(void **state)
{
	struct world *w = malloc(sizeof(*w));
	struct fake f;

	world_init(w, 2);
	nfs4r_rpc_tell(&w->s[0].cfg, "Export policy", "Squash = Root_Squash");
	nfs4r_rpc_tell(&w->s[1].cfg, "Export policy", "");
	world_start(w, 0);
	for (uint64_t i = 1; i <= TIMES; i++) {
		snprintf(w->s[1].cfg.keys[w->s[1].cfg.nkeys - 1].value, NFS4R_HELLO_VALUE_MAX, "Anonymous_uid = %u", (unsigned)i);
		fake_call(&f, &w->s[1], &w->s[0], i);
		fake_close(&f);
		world_wait(&w->s[0], w_s->downs[2] == i);
	}
	assert_int_equal(world_logged(&w->s[0], "Export policy differs"), LINES);
	world_fini(w);
	free(w);
}

/* A key of the configuration that is another word each time: each would be news, and who corrects his mistakes needs no more than a few. */
static void test_a_refusal_of_another_text_each_time(void **state)
{
	struct world *w = malloc(sizeof(*w));
	struct nfs4r_transport_msg_body m;
	struct nfs4r_hello h;

	world_init(w, 2);
	for (int i = 0; i < 2; i++)
		nfs4r_rpc_compare(&w->s[i].cfg, "Volume", "data", false);
	world_start(w, 0);
	fake_hello(&h, &w->s[1], &w->s[0]);
	for (int i = 0; i < TIMES; i++) {
		int fd = raw_connect("127.0.0.2", &w->s[0].cfg.servers[0]);

		assert_true(fd >= 0);
		snprintf(h.keys[h.nkeys - 1].value, NFS4R_HELLO_VALUE_MAX, "data%c%c", 'a' + i % 26, 'a' + i / 26);
		fake_tell_hello(fd, &h);
		assert_true(fake_hear(fd, &m));
		assert_int_equal(m.type, NFS4R_MSG_REFUSED);
		close(fd);
	}
	assert_int_equal(world_logged(&w->s[0], "refused server 2 (127.0.0.2"), LINES);
	world_fini(w);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_server_that_comes_and_goes),
		cmocka_unit_test(test_a_policy_that_changes),
		cmocka_unit_test(test_a_refusal_of_another_text_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
