/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * `nfs4rctl force-reconfigure`: what the administrator confirms, what may be lost, and how the command waits.
 *
 * A server that was just stopped counts as heard for a moment, and the order is refused during that time. The command repeats the request until
 * the server counts as silent, or until the time limit.
 *
 * Each survivor needs the same order, because each keeps only its own. So the wait ends when a view made by the orders is adopted;
 * the administrator may have to give the order at the other servers meanwhile.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "ctl/ctl.h"

#define FLAG "--the-others-are-off-for-good"

static bool in_set(const struct server_args *a, unsigned s)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->set[i] == s)
			return true;
	return false;
}

/* The numbers of all survivors, or `none`. */
const char *parse_set(struct server_args *a, int n, char **args)
{
	a->what = SERVER_RECONFIGURE;
	if (a->yes || a->abandon)
		return "force-reconfigure has the options " FLAG ", --wait, --no-wait and --json";
	if (n == 1 && strcmp(args[0], "none") == 0)
		return a->off_for_good || a->no_wait || a->wait ? "force-reconfigure none cancels the order and takes no option" : NULL;
	if (n < 1)
		return "force-reconfigure needs the numbers of all surviving servers: nfs4rctl force-reconfigure 1 2 " FLAG;
	for (int i = 0; i < n; i++) {
		unsigned s = server_number(args[i]);

		if (!s || in_set(a, s))
			return "force-reconfigure needs numbers of servers, 1 to 15, each once";
		a->set[a->n++] = s;
	}
	if (!a->off_for_good)
		return "force-reconfigure continues without a majority. This is safe only if no other server ever runs again with its present store: to confirm that, add " FLAG;
	return NULL;
}

static json_t *ask_set(struct ctl_conn *c, const struct server_args *a, bool sure)
{
	json_t *set = json_array();

	for (unsigned i = 0; i < a->n; i++)
		json_array_append_new(set, json_integer(a->set[i]));
	return ctl_answer(c, json_pack("{s:s, s:o, s:b}", "cmd", "force-reconfigure", "servers", set, "yes", sure));
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

struct patience {
	bool begun;
	uint64_t until_ms;
};

/* @a: a refusal, because another server was heard a moment ago. False: the time limit is over. */
static bool wait_on(const struct server_args *args, struct patience *p, const json_t *a)
{
	uint64_t wait_ms = args->wait ? args->wait_s * UINT64_C(1000) : args->no_wait ? 0 :
											get_num(a, "wait_ms");

	if (!p->begun && wait_ms && !args->json) {
		char *safe = nfs4r_text_line_new(get_text(a, "error"));

		printf("waiting: %s. A server that was just stopped counts as heard for a moment; trying again for %" PRIu64 " s.\n", safe ? safe : "another server is heard",
		       (wait_ms + 999) / 1000);
		free(safe);
		fflush(stdout);
	}
	if (!p->begun)
		*p = (struct patience){ true, now_ms() + wait_ms };
	if (now_ms() >= p->until_ms)
		return false;
	nanosleep(&(struct timespec){ .tv_nsec = CTL_POLL_NS }, NULL);
	return true;
}

/* Asks until the stopped servers count as silent. NULL: refused, it has complained. */
static json_t *ask_when_silent(struct ctl_conn *c, const struct server_args *args, bool sure, struct patience *p)
{
	json_t *a;

	while ((a = ask_set(c, args, sure)) && json_array_size(json_object_get(a, "heard")) && wait_on(args, p, a))
		json_decref(a);
	if (!a || !json_is_string(json_object_get(a, "error")))
		return a;
	ctl_complain(get_text(a, "error"));
	json_decref(a);
	return NULL;
}

static void print_ids(const char *before, const json_t *ids, const char *after)
{
	printf("%s", before);
	for (size_t i = 0; i < json_array_size(ids); i++)
		printf("%s%lld", i ? ", " : " ", (long long)json_integer_value(json_array_get(ids, i)));
	printf("%s", json_array_size(ids) ? after : " none.\n");
}

static void say_confirmed(const json_t *a)
{
	char n[FORMAT_LEN];
	json_t *row;
	size_t i;

	print_ids("From now on the volume has only these servers:", json_object_get(a, "servers"), ".\n");
	print_ids("You confirm that these servers are off for good and never run again with their present stores:", json_object_get(a, "off"), ".\n");
	puts("Updates that only they have are lost.");
	json_array_foreach(json_object_get(a, "lost"), i, row) if (get_num(row, "missing_here"))
		printf("  server %" PRIu64 " announced %s updates that this server does not have\n", get_num(row, "server"),
		       format_count(n, get_num(row, "missing_here")));
	puts("Run the same command on each of these servers: they continue when all of them have the order.");
	fflush(stdout);
}

json_t *force_reconfigure_ask(struct ctl_conn *c, const struct server_args *args)
{
	struct patience p = { false };
	json_t *a;

	if (args->n && !args->json) {
		a = ask_when_silent(c, args, false, &p);
		if (!a)
			return NULL;
		say_confirmed(a);
		json_decref(a);
	}
	return ask_when_silent(c, args, true, &p);
}
