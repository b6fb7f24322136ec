/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * `nfs4rctl get [KEY]` and `nfs4rctl set KEY VALUE`: what the volume has, wherever it is asked.
 *
 * Happy path: `set` asks, and then looks twice a second until the volume has what the answer said it would get. Ending this program ends the waiting only.
 *
 * Failure: a refusal is the server's own sentence. A change that vanishes without its result was refused later, or another one came in between: the log says why.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "ctl/ctl.h"

static const json_t *find(const json_t *list, const char *key)
{
	json_t *row;
	size_t i;

	json_array_foreach(list, i, row) if (strcasecmp(get_text(row, "key"), key) == 0) return row;
	return NULL;
}

static void show_row(const json_t *row, FILE *out)
{
	const char *unit = get_text(row, "unit");

	fprintf(out, "%s = %s%s%s", get_text(row, "key"), get_text(row, "value"), *unit ? " " : "", unit);
	if (json_is_true(json_object_get(row, "differs")))
		fprintf(out, " (in the file of this server: %s)", get_text(row, "file"));
	fputc('\n', out);
}

static bool print_rows(const json_t *a, const struct setting_args *args)
{
	const json_t *list = json_object_get(a, "settings"), *one = args->key ? find(list, args->key) : NULL;
	json_t *row;
	size_t i;

	if (args->key && !one) {
		ctl_complain("the volume has no such setting; `nfs4rctl get` shows all. Other keys are each server's own, in its configuration file");
		return false;
	}
	if (args->json)
		ctl_print_json(one ? one : list);
	json_array_foreach(list, i, row) if (!args->json && (!one || row == one)) show_row(row, stdout);
	fflush(stdout);
	return true;
}

static int run_get(struct ctl_conn *c, const struct setting_args *args)
{
	json_t *a = ctl_request(c, json_pack("{s:s}", "cmd", "settings"));
	bool ok = a && print_rows(a, args);

	json_decref(a);
	return ok ? CTL_OK : CTL_FAILED;
}

/* Until the volume has @want. */
static int wait_for(struct ctl_conn *c, const struct setting_args *args, const json_t *want)
{
	for (;;) {
		json_t *a = ctl_request(c, json_pack("{s:s}", "cmd", "settings"));
		const json_t *is = find(json_object_get(a, "settings"), args->key);
		bool done = is && strcmp(get_text(is, "value"), get_text(want, "value")) == 0, goes_on = a && json_is_true(json_object_get(a, "changing"));

		if (done)
			print_rows(a, args);
		json_decref(a);
		if (done)
			return CTL_OK;
		if (!a)
			return CTL_FAILED;
		if (!goes_on)
			return ctl_complain("the setting was not changed: see the log of this server");
		nanosleep(&(struct timespec){ .tv_nsec = CTL_POLL_NS }, NULL);
	}
}

static int run_set(struct ctl_conn *c, const struct setting_args *args)
{
	json_t *a = ctl_request(c, json_pack("{s:s, s:s, s:s}", "cmd", "set", "key", args->key, "value", args->value));
	const json_t *want = a ? find(json_object_get(a, "settings"), args->key) : NULL;
	int rc = CTL_FAILED;

	if (want)
		rc = args->no_wait ? CTL_OK : wait_for(c, args, want);
	if (want && args->no_wait && !args->json)
		puts("The request is accepted; `nfs4rctl get` shows when the volume has it.");
	json_decref(a);
	return rc;
}

int run_settings(struct ctl_conn *c, const struct setting_args *args)
{
	return args->value ? run_set(c, args) : run_get(c, args);
}

const char *parse_settings(struct setting_args *a, bool set, int n, char **args)
{
	a->key = n > 0 ? args[0] : NULL;
	a->value = set && n > 1 ? args[1] : NULL;
	if (!set)
		return a->no_wait ? "get has no option but --json" : n <= 1 ? NULL :
									      "get takes one key at most; see nfs4rctl --help";
	return n == 2 ? NULL : "set needs a key and a value: nfs4rctl set Durability commit";
}
