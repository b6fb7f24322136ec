/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Names of Kerberos at three servers: a name that is another user elsewhere is said there and here, and when it is no more. */
#include "lib/unit.h"
#include <stdio.h>
#include <string.h>

#include "cluster.h"
#include "engine/engine_int.h"
#include "engine/membership/membership.h"
#include "steps.h"

#define ALICE "alice@EXAMPLE.ORG"
#define MANY 200 /* names: more than one message has */

static void use(struct site *s, const char *name, uint32_t uid, uint64_t groups)
{
	struct nfs4r_identity id = { .to = { .mapped = true, .uid = uid, .gid = uid, .ngroups = 3, .groups = groups } };

	snprintf(id.name, sizeof(id.name), "%s", name);
	nfs4r_identity_used(s->eng, &id);
}

static void use_unknown(struct site *s, const char *name)
{
	struct nfs4r_identity id = { .to = { .mapped = false } };

	snprintf(id.name, sizeof(id.name), "%s", name);
	nfs4r_identity_used(s->eng, &id);
}

static const char *differ(struct site *s, int peer, char text[1024])
{
	membership_identities_differ(s->eng, (nfs4r_server_id)peer, text, 1024);
	return text;
}

/* Until what @s says of @peer contains @want, "" for nothing at all. */
static void wait_differ(struct site *s, int peer, const char *want)
{
	char text[1024];

	for (int i = 0; i < 1000; i++) {
		differ(s, peer, text);
		if (want[0] ? strstr(text, want) != NULL : text[0] == '\0')
			return;
		pause_ms(10);
	}
	fail_msg("server %d says \"%s\" of server %d, not \"%s\"", s->id, text, peer, want);
}

static void another_uid_is_said_at_both(void **state)
{
	struct cluster *c = *state;
	struct site *a = &c->site[1], *b = &c->site[2];

	use(a, ALICE, 2001, 7);
	use(b, ALICE, 2011, 7);
	wait_differ(a, 2, ALICE " is uid 2001, gid 2001 and 3 groups at server 1, and uid 2011, gid 2011 and 3 groups at server 2");
	wait_differ(b, 1, ALICE " is uid 2011, gid 2011 and 3 groups at server 2, and uid 2001, gid 2001 and 3 groups at server 1");
	site_says(a, "a name maps differently: " ALICE, 5);
	wait_differ(a, 3, ""); /* nobody used it there */
	use(b, ALICE, 2001, 7);
	wait_differ(a, 2, "");
	site_says(a, ALICE " is the same user here and at server 2 again", 5);
}

static void other_groups_and_nobody_count(void **state)
{
	struct cluster *c = *state;
	struct site *a = &c->site[1], *b = &c->site[2];

	use(a, ALICE, 2001, 7);
	use(b, ALICE, 2001, 8);
	wait_differ(a, 2, "and 3 groups at server 1, and uid 2001, gid 2001 and 3 groups, not the same ones, at server 2");
	use_unknown(a, ALICE);
	wait_differ(b, 1, "and the anonymous user (the name is unknown) at server 1");
}

/* A server that was away hears all that was used meanwhile; what it said before its restart counts no more. */
static void who_comes_back_is_told_all(void **state)
{
	struct cluster *c = *state;
	struct site *a = &c->site[1], *b = &c->site[2];
	char name[64];

	use(b, ALICE, 2011, 7);
	use(a, ALICE, 2001, 7);
	wait_differ(a, 2, ALICE);
	cluster_stop(c, 2);
	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "user%u@EXAMPLE.ORG", i);
		use(a, name, 3000 + i, i);
	}
	cluster_start(c, 2);
	wait_all_serve(c);
	wait_differ(a, 2, "");
	snprintf(name, sizeof(name), "user%u@EXAMPLE.ORG", MANY - 1);
	use(b, name, 1, 1);
	use(b, "user0@EXAMPLE.ORG", 1, 1);
	wait_differ(b, 1, "and 1 more names differ");
	use(b, ALICE, 2011, 7); /* what it was before counts here, too: it was reported once more */
	wait_differ(b, 1, "and 2 more names differ");
}

/* What does not fit into the table is not compared, and said once. */
static void a_full_table_is_said(void **state)
{
	struct cluster *c = *state;
	struct site *a = &c->site[1];
	char name[64];

	for (uint32_t i = 0; i < 4100; i++) {
		snprintf(name, sizeof(name), "user%u", i);
		use(a, name, i, i);
	}
	site_says(a, "more than 4096 names were used", 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(another_uid_is_said_at_both, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(other_groups_and_nobody_count, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(who_comes_back_is_told_all, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_full_table_is_said, cluster_setup, cluster_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
