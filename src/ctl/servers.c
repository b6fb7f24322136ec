/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * `nfs4rctl server add|remove|list`, `nfs4rctl upgrade finish`, and how `nfs4rctl force-reconfigure` waits.
 *
 * Happy path: the request, then the list of servers twice a second until it shows what was asked for; what it waits for
 * is printed when that changes. Ending this program ends the waiting only: the servers go on.
 *
 * Failure: a refusal is the server's own sentence. A request that vanishes from the list without its result was refused later:
 * the servers' logs say why.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "ctl/ctl.h"

/* One request and its answer; NULL: complained. Takes the reference. */
static json_t *ask_servers(struct ctl_conn *c)
{
	return ctl_request(c, json_pack("{s:s}", "cmd", "servers"));
}

const json_t *ctl_server_row(const json_t *list, unsigned server)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(list, "servers"), i, row) if (get_num(row, "server") == server) return row;
	return NULL;
}

/* ---- waiting ---- */

struct waiting {
	const struct server_args *args;
	uint64_t reconfigured; /* so often before */
	uint64_t protocol; /* upgrade: the volume's before */
	char said[CTL_WHY]; /* printed last */
};

enum outcome {
	GOES_ON = 1,
	DONE,
	REFUSED
};

static enum outcome outcome_of(const struct waiting *w, const json_t *list)
{
	const struct server_args *a = w->args;
	const json_t *row = ctl_server_row(list, a->server);

	if (a->what == SERVER_RECONFIGURE)
		return get_num(list, "forced_reconfigurations") > w->reconfigured || !a->n ? DONE : json_is_array(json_object_get(list, "forced_reconfiguration")) ? GOES_ON :
																				     REFUSED;
	if (a->what == SERVER_FINISH)
		return json_is_true(json_object_get(list, "finishing")) ? GOES_ON : get_num(list, "protocol") >= w->protocol ? DONE :
															       REFUSED;
	if (a->what == SERVER_ADD && row)
		return json_is_true(json_object_get(row, "voter")) ? DONE : GOES_ON;
	if (a->what == SERVER_REMOVE && !row)
		return DONE;
	return get_num(list, a->what == SERVER_ADD ? "adding" : "removing") == a->server ? GOES_ON : REFUSED;
}

static void waits_text(const struct server_args *a, const json_t *list, char *text, size_t len)
{
	const json_t *row = ctl_server_row(list, a->server);
	char n[FORMAT_LEN];
	int used = 0;

	if (a->what == SERVER_ADD && row)
		used = snprintf(text, len, "server %u: %.40s, %s entries behind%s", a->server, get_text(row, "state"), format_count(n, get_num(row, "lag_entries")),
				*get_text(list, "waiting_for") ? "; " : "");
	snprintf(text + used, len - (size_t)used, "%s", *get_text(list, "waiting_for") ? get_text(list, "waiting_for") : used ? "" :
																"the servers are agreeing on the change");
}

static void say_waits(struct waiting *w, const json_t *list)
{
	char text[CTL_WHY], *safe;

	waits_text(w->args, list, text, sizeof(text));
	if (w->args->json || strcmp(text, w->said) == 0)
		return;
	snprintf(w->said, sizeof(w->said), "%s", text);
	safe = nfs4r_text_line_new(text);
	printf("waiting: %s\n", safe ? safe : text);
	free(safe);
	fflush(stdout);
}

static int wait_done(struct ctl_conn *c, struct waiting *w)
{
	for (;;) {
		json_t *list = ask_servers(c);
		enum outcome o = list ? outcome_of(w, list) : REFUSED;
		if (o == GOES_ON) {
			say_waits(w, list);
			json_decref(list);
			nanosleep(&(struct timespec){ .tv_nsec = CTL_POLL_NS }, NULL);
			continue;
		}
		if (o == DONE && w->args->json)
			ctl_print_json(list);
		else if (o == DONE)
			show_servers(list, stdout);
		else if (list)
			ctl_complain_of("the request failed: %s", *get_text(list, "waiting_for") ? get_text(list, "waiting_for") : "see the logs of the servers");
		json_decref(list);
		return o == DONE ? CTL_OK : CTL_FAILED;
	}
}

/* ---- the commands ---- */

static int finish(struct ctl_conn *c, struct waiting *w, json_t *a)
{
	int rc = CTL_OK;

	if (!a)
		return CTL_FAILED;
	if (!w->args->no_wait)
		rc = wait_done(c, w);
	else if (w->args->json)
		ctl_print_json(a);
	else
		puts("The request is accepted; `nfs4rctl server list` shows its progress.");
	json_decref(a);
	return rc;
}

static int run_add(struct ctl_conn *c, struct waiting *w)
{
	const struct server_args *a = w->args;
	unsigned port = a->port;
	json_t *keys;

	if (!port) { /* as the server that is asked */
		json_t *list = ask_servers(c);
		const json_t *row = list ? ctl_server_row(list, (unsigned)get_num(list, "server")) : NULL;

		if (list && !row)
			ctl_complain("this server does not belong to the volume: ask one that does");
		port = row ? (unsigned)get_num(row, "port") : 0;
		json_decref(list);
		if (!port)
			return CTL_FAILED;
	}
	keys = json_array();
	for (unsigned i = 0; i < a->nkeys; i++)
		json_array_append_new(keys, json_string(a->keys[i]));
	return finish(c, w, ctl_request(c, json_pack("{s:s, s:i, s:s, s:i, s:o}", "cmd", "add-server", "server", a->server, "host", a->host, "port", port, "keys", keys)));
}

static json_t *ask_remove(struct ctl_conn *c, const struct server_args *a, bool sure)
{
	json_t *req = json_pack("{s:s, s:i, s:b, s:b}", "cmd", "remove-server", "server", a->server, "abandon", a->abandon, "yes", sure);

	return sure ? ctl_request_sure(c, req) : ctl_request(c, req);
}

static bool is_sure(const struct server_args *a, uint64_t lost)
{
	char n[FORMAT_LEN];

	if (a->yes || !lost)
		return true;
	printf("Server %u announced %s updates that no other server is known to have. They are lost with it.\nRemove server %u? Type yes: ", a->server,
	       format_count(n, lost), a->server);
	return ctl_says_yes();
}

static int run_remove(struct ctl_conn *c, struct waiting *w)
{
	json_t *a = ask_remove(c, w->args, false);
	bool sure = a && is_sure(w->args, get_num(a, "lost_entries"));

	json_decref(a);
	if (!a)
		return CTL_FAILED;
	if (!sure) {
		puts("Nothing was changed.");
		return CTL_OK;
	}
	return finish(c, w, ask_remove(c, w->args, true));
}

static int run_reconfigure(struct ctl_conn *c, struct waiting *w)
{
	json_t *list = ask_servers(c);

	if (!list)
		return CTL_FAILED;
	w->reconfigured = get_num(list, "forced_reconfigurations");
	json_decref(list);
	return finish(c, w, force_reconfigure_ask(c, w->args));
}

static int run_finish(struct ctl_conn *c, struct waiting *w)
{
	json_t *a = ctl_request(c, json_pack("{s:s}", "cmd", "finish-upgrade"));
	bool sure = w->args->yes;

	if (!a)
		return CTL_FAILED;
	if (!sure) {
		printf("The volume gets protocol %" PRIu64 " and disk format %" PRIu64 ". Releases before these can no longer serve it.\nFinish the upgrade? Type yes: ", get_num(a, "protocol"),
		       get_num(a, "disk_format"));
		sure = ctl_says_yes();
	}
	w->protocol = get_num(a, "protocol");
	json_decref(a);
	if (!sure) {
		puts("Nothing was changed.");
		return CTL_OK;
	}
	return finish(c, w, ctl_request_sure(c, json_pack("{s:s, s:b}", "cmd", "finish-upgrade", "yes", true)));
}

static int run_list(struct ctl_conn *c, bool json)
{
	json_t *list = ask_servers(c);

	if (!list)
		return CTL_FAILED;
	if (json)
		ctl_print_json(list);
	else
		show_servers(list, stdout);
	json_decref(list);
	return CTL_OK;
}

int run_servers(struct ctl_conn *c, const struct server_args *args)
{
	struct waiting w = { .args = args };

	switch (args->what) {
	case SERVER_ADD:
		return run_add(c, &w);
	case SERVER_REMOVE:
		return run_remove(c, &w);
	case SERVER_RECONFIGURE:
		return run_reconfigure(c, &w);
	case SERVER_FINISH:
		return run_finish(c, &w);
	default:
		return run_list(c, args->json);
	}
}

/* ---- the command line ---- */

unsigned server_number(const char *s)
{
	char *end = NULL;
	unsigned long n = s && *s >= '0' && *s <= '9' ? strtoul(s, &end, 10) : 0;

	return n >= 1 && n <= CTL_SERVERS_MAX && !*end ? (unsigned)n : 0;
}

/* "host", "host:port", "[v6]:port", "v6" without a port. false: neither. */
static bool parse_address(const char *s, struct server_args *a)
{
	const char *colon = strrchr(s, ':'), *close = strchr(s, ']');
	size_t len = strlen(s);
	char *end;

	a->port = 0;
	if (*s == '[') {
		if (!close || (close[1] && close[1] != ':'))
			return false;
		colon = close[1] ? close + 1 : NULL;
		len = (size_t)(close - ++s);
	} else if (colon && strchr(s, ':') == colon) {
		len = (size_t)(colon - s);
	} else {
		colon = NULL;
	}
	if (len == 0 || len >= sizeof(a->host))
		return false;
	memcpy(a->host, s, len);
	a->host[len] = '\0';
	if (!colon)
		return true;
	unsigned long port = colon[1] >= '0' && colon[1] <= '9' ? strtoul(colon + 1, &end, 10) : 0;
	a->port = (unsigned)port;
	return port >= 1 && port <= 65535 && !*end;
}

const char *parse_upgrade(struct server_args *a, int n, char **args)
{
	a->what = SERVER_FINISH;
	if (a->off_for_good || a->wait || a->abandon)
		return "upgrade finish has no options but --yes, --no-wait and --json";
	if (n != 1 || strcmp(args[0], "finish"))
		return "upgrade needs the word finish: nfs4rctl upgrade finish";
	return a->json && !a->yes ? "upgrade finish cannot ask for confirmation with --json: add --yes" : NULL;
}

const char *parse_servers(struct server_args *a, int n, char **args)
{
	const char *sub = n > 0 ? args[0] : "";

	if (a->off_for_good || a->wait)
		return "--the-others-are-off-for-good and --wait belong to the command force-reconfigure";
	if (a->nkeys && strcmp(sub, "add"))
		return "--key belongs to server add";
	if (strcmp(sub, "list") == 0 && n == 1) {
		a->what = SERVER_LIST;
		return a->no_wait || a->abandon ? "server list has no option but --json" : NULL;
	}
	if (strcmp(sub, "add") && strcmp(sub, "remove"))
		return "server needs one of: add N HOST[:PORT], remove N, list";
	a->what = strcmp(sub, "add") == 0 ? SERVER_ADD : SERVER_REMOVE;
	a->server = server_number(n > 1 ? args[1] : NULL);
	if (!a->server)
		return "give the number of the server, 1 to 15";
	if (a->what == SERVER_REMOVE)
		return n == 2 ? NULL : "server remove needs the number of one server";
	if (a->abandon || a->yes)
		return "--abandon and --yes belong to server remove";
	return n == 3 && parse_address(args[2], a) ? NULL : "server add needs a number and an address: nfs4rctl server add 4 HOST[:PORT] [--key SHA256:...]";
}
