/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Answers as people see them: show/NAME.json through the shipped code against show/NAME.txt, letter by letter.
 * The folder is argv[1].
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl.h"

static const char *folder;

static json_t *answer(const char *name)
{
	char path[500];
	json_error_t err;
	json_t *a;

	snprintf(path, sizeof(path), "%s/%s.json", folder, name);
	a = json_load_file(path, 0, &err);
	if (!a)
		fail_msg("%s: %s", path, err.text);
	return a;
}

static char *expected(const char *name)
{
	char path[500], *text = calloc(1, 65536);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.txt", folder, name);
	f = fopen(path, "r");
	if (!f || !fread(text, 1, 65535, f))
		fail_msg("%s cannot be read", path);
	fclose(f);
	return text;
}

static void same(char *got, const char *name)
{
	char *want = expected(name);

	if (strcmp(got, want))
		fail_msg("not what %s.txt says:\n%s", name, got);
	free(want);
	free(got);
}

static char *controls(const json_t *a, struct show_filter f)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	bool ok = show_controls(a, &f, out);

	fclose(out);
	assert_true(ok || !len);
	if (ok)
		return text;
	free(text);
	return NULL;
}

static void controls_deep_ones_first_then_who_waits(void **state)
{
	json_t *a = answer("controls");

	same(controls(a, (struct show_filter){ 0 }), "controls");
	json_decref(a);
}

static void filters_choose(void **state)
{
	json_t *a = answer("controls");
	char *text;

	same(controls(a, (struct show_filter){ .deep = true, .own = true }), "controls-deep-own");
	same(controls(a, (struct show_filter){ .waiting = true }), "controls-waiting");
	text = controls(a, (struct show_filter){ .owner = 3 });
	assert_non_null(strstr(text, "/a\n"));
	assert_null(strstr(text, "/src"));
	assert_null(strstr(text, "OPERATION  "));
	free(text);
	text = controls(a, (struct show_filter){ .owner = 15 });
	assert_string_equal(text, "none of the 6 controls is such a one\n");
	free(text);
	json_decref(a);
}

static void nothing_is_said_in_words(void **state)
{
	json_t *a = json_loads("{\"server\":1,\"controls\":[],\"waiting\":[],\"truncated\":false}", 0, NULL);
	char *text = controls(a, (struct show_filter){ 0 });

	assert_string_equal(text, "no controls: nothing is being changed\n\nno operation is waiting or being executed\n");
	free(text);
	json_decref(a);
}

static void what_is_left_out_is_said(void **state)
{
	json_t *a = json_loads("{\"server\":1,\"controls\":[{\"depth\":\"deep\",\"path\":\"/\"}],\"truncated\":true,\"total\":12000}", 0, NULL);
	char *text = controls(a, (struct show_filter){ .deep = true });

	assert_non_null(strstr(text, "the server told 1 of 12,000 controls; the others are not shown\n"));
	free(text);
	json_decref(a);
}

/* A server that does not tell of operations: the table alone, and no claim that nothing waits. */
static void answers_of_an_older_server(void **state)
{
	json_t *a = json_loads("{\"server\":1,\"controls\":[{\"owner\":1,\"depth\":\"deep\",\"kind\":\"proposed\",\"state\":\"won\","
			       "\"path\":\"/x\",\"acked_by_all\":true}]}",
			       0, NULL),
	       *none = json_object();
	char *text = controls(a, (struct show_filter){ 0 });

	assert_string_equal(text, "DEPTH  KIND      OWNER  STATE  ENDS IN  BELOW  OPERATIONS  READS  WANTED BY  PATH\n"
				  "deep   proposed  1      won    -        -      -           -      -          /x\n");
	free(text);
	assert_null(controls(a, (struct show_filter){ .waiting = true }));
	assert_null(controls(none, (struct show_filter){ 0 }));
	assert_false(show_stats(none, stdout));
	json_decref(a);
	json_decref(none);
}

static void status_with_servers_outside_the_view(void **state)
{
	json_t *a = answer("status");
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	show_status(a, out);
	fclose(out);
	same(text, "status");
	json_decref(a);
}

static void stats_in_groups_and_drawn(void **state)
{
	json_t *a = answer("stats");
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_true(show_stats(a, out));
	fclose(out);
	same(text, "stats");
	json_decref(a);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(controls_deep_ones_first_then_who_waits),
		cmocka_unit_test(filters_choose),
		cmocka_unit_test(nothing_is_said_in_words),
		cmocka_unit_test(what_is_left_out_is_said),
		cmocka_unit_test(answers_of_an_older_server),
		cmocka_unit_test(stats_in_groups_and_drawn),
		cmocka_unit_test(status_with_servers_outside_the_view),
	};

	if (argc < 2) {
		fprintf(stderr, "usage: %s FOLDER-WITH-FIXTURES\n", argv[0]);
		return 2;
	}
	folder = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
