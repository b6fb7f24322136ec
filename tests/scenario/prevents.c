/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See prevents.h. */
#include "scenario/prevents.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/unit.h"

static uint32_t servers;

static bool run(const struct prevents *p, uint32_t fault)
{
	struct net *n = net_new(servers);
	bool kept;

	if (fault)
		net_fault(n, fault);
	kept = p->fn(n);
	net_free(n);
	return kept;
}

static void with_the_rule(void **state)
{
	const struct prevents *p = *state;

	assert_true(run(p, 0));
}

static void without_the_rule(void **state)
{
	const struct prevents *p = *state;

	assert_false(run(p, p->fault));
}

int prevents_main(const struct prevents *list, size_t n)
{
	return prevents_with(list, n, 3);
}

int prevents_with(const struct prevents *list, size_t n, uint32_t of)
{
	struct CMUnitTest *tests = calloc(2 * n, sizeof(*tests));
	char(*names)[160] = calloc(2 * n, sizeof(*names));
	int failed;

	servers = of;
	for (size_t i = 0; i < n; i++) {
		snprintf(names[2 * i], sizeof(names[0]), "%s", list[i].name);
		snprintf(names[2 * i + 1], sizeof(names[0]), "%s (rule off)", list[i].name);
		tests[2 * i] = (struct CMUnitTest){ names[2 * i], with_the_rule, NULL, NULL, (void *)&list[i] };
		tests[2 * i + 1] = (struct CMUnitTest){ names[2 * i + 1], without_the_rule, NULL, NULL, (void *)&list[i] };
	}
	failed = _cmocka_run_group_tests("prevents", tests, 2 * n, NULL, NULL);
	free(names);
	free(tests);
	return failed;
}
