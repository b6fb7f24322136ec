/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * nfs4rctl: what a replicated volume is doing, asked at one of its servers.
 * Exit status: 0 fine; 1 `verify` found differences; 2 the answer could not be had, or not from all servers.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/ctl.h"

#define RUN_FOLDER "/run/nfs4r"
#define PATIENCE_S 30
#define VERIFY_PATIENCE_S 300 /* progress comes twice a second, unless the disk hangs */

static const char usage_text[] =
	"usage: nfs4rctl [--socket PATH] [--json] COMMAND\n"
	"\n"
	"  status         state of the server, its log, and how far its peers are behind\n"
	"  controls       which server controls what at the moment, and which operations wait\n"
	"  verify [PATH]  compare the copies of all servers below PATH of the volume (default /)\n"
	"  stats          counters and latencies since the start\n"
	"  give-up N      server N, which is outside the view, is waited for no longer: what only it has is undone when it returns\n"
	"  server list    the servers of the volume, and how far they are\n"
	"  server add N HOST[:PORT]   server N, which has an empty store and runs there, becomes one of the volume\n"
	"  server remove N            server N is one no more\n"
	"  reconfigure N...           a majority is lost for good: these go on alone. Say it at each of them; none takes it back\n"
	"\n"
	"  -s, --socket PATH  control socket; default $NFS4R_SOCKET, else the only one in " RUN_FOLDER "\n"
	"  -j, --json         the answer as JSON, one object per line\n"
	"  -h, --help         this text\n"
	"  -V, --version\n"
	"\n"
	"Of controls, without --json:\n"
	"      --deep         only deep and deep+ controls\n"
	"      --own          only those of the server that is asked\n"
	"      --owner N      only those of server N\n"
	"      --waiting      only the operations\n"
	"\n"
	"Of give-up and server remove:\n"
	"      --yes          do not ask\n"
	"Of server add, server remove and reconfigure:\n"
	"      --no-wait      do not wait until it is done\n"
	"Of server remove:\n"
	"      --give-up      updates that only this server has may be lost\n"
	"Of reconfigure:\n"
	"      --the-others-are-off-for-good   they never run again with the stores that they have\n"
	"      --wait SECONDS   wait so long for those that were heard a moment ago; default Silence + Lease, 0 with --no-wait\n"
	"\n"
	"Exit status: 0 fine (verify: all equal), 1 verify found differences, 2 could not ask (a server).\n";

struct options {
	const char *socket;
	bool json, filtered, yes;
	struct show_filter filter;
	struct server_args server;
	const char *cmd, *path;
};

enum { OPT_DEEP = 256, OPT_OWN, OPT_OWNER, OPT_WAITING, OPT_YES, OPT_NO_WAIT, OPT_GIVE_UP, OPT_OFF_FOR_GOOD, OPT_WAIT };

int ctl_complain(const char *text)
{
	char *safe = format_safe(text);

	fprintf(stderr, "nfs4rctl: %s\n", safe ? safe : text);
	free(safe);
	return CTL_FAILED;
}

static int usage(void)
{
	fputs(usage_text, stderr);
	return CTL_FAILED;
}

static bool set_filter(struct show_filter *f, int opt, const char *arg)
{
	char *end;
	unsigned long n;

	switch (opt) {
	case OPT_DEEP:
		return f->deep = true;
	case OPT_OWN:
		return f->own = true;
	case OPT_WAITING:
		return f->waiting = true;
	default:
		n = strtoul(arg, &end, 10);
		f->owner = (unsigned)n;
		return *arg >= '0' && *arg <= '9' && !*end && n >= 1 && n <= CTL_SERVERS_MAX;
	}
}

static bool set_wait(struct server_args *a, const char *arg)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	a->wait = true;
	a->wait_s = (unsigned)n;
	return *arg >= '0' && *arg <= '9' && !*end && n <= CTL_WAIT_MAX_S;
}

static bool is_server_command(const struct options *o)
{
	return strcmp(o->cmd, "server") == 0 || strcmp(o->cmd, "reconfigure") == 0;
}

static int check_servers(struct options *o, int n, char **args)
{
	const char *wrong = o->filtered ? "--deep, --own, --owner and --waiting belong to the command controls" : NULL;

	o->server.json = o->json;
	o->server.yes = o->yes;
	if (!wrong)
		wrong = strcmp(o->cmd, "reconfigure") == 0 ? parse_set(&o->server, n, args) : parse_servers(&o->server, n, args);
	if (!wrong && o->server.what == SERVER_REMOVE && o->server.give_up && o->json && !o->yes)
		wrong = "server remove --give-up with --json cannot ask: add --yes";
	return wrong ? ctl_complain(wrong) : -1;
}

/* What was given goes together; -1, else the exit status. */
static int check(const struct options *o, int left)
{
	bool verify = strcmp(o->cmd, "verify") == 0, controls = strcmp(o->cmd, "controls") == 0, give_up = strcmp(o->cmd, "give-up") == 0;
	const struct show_filter *f = &o->filter;

	if ((!verify && !controls && !give_up && strcmp(o->cmd, "status") && strcmp(o->cmd, "stats")) || left > (verify || give_up ? 2 : 1))
		return usage();
	if (give_up && !server_number(o->path))
		return ctl_complain("give-up wants the number of a server, 1 to 15");
	if (o->server.no_wait || o->server.give_up || o->server.off_for_good || o->server.wait)
		return ctl_complain("--no-wait, --wait, --give-up and --the-others-are-off-for-good belong to the commands server and reconfigure");
	if (o->yes && !give_up)
		return ctl_complain("--yes belongs to the command give-up");
	if (give_up && o->json && !o->yes)
		return ctl_complain("give-up with --json cannot ask: add --yes");
	if (o->filtered && !controls)
		return ctl_complain("--deep, --own, --owner and --waiting belong to the command controls");
	if (o->filtered && o->json)
		return ctl_complain("--json gives the whole answer; filter it with jq, or leave out --json");
	if (f->waiting && (f->deep || f->own || f->owner))
		return ctl_complain("--waiting shows operations; --deep, --own and --owner choose controls");
	if (f->own && f->owner)
		return ctl_complain("give --own or --owner, not both");
	return -1;
}

/* -1: go on; else the exit status. */
static int parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = { { "socket", required_argument, NULL, 's' },
					       { "json", no_argument, NULL, 'j' },
					       { "deep", no_argument, NULL, OPT_DEEP },
					       { "own", no_argument, NULL, OPT_OWN },
					       { "owner", required_argument, NULL, OPT_OWNER },
					       { "waiting", no_argument, NULL, OPT_WAITING },
					       { "yes", no_argument, NULL, OPT_YES },
					       { "no-wait", no_argument, NULL, OPT_NO_WAIT },
					       { "give-up", no_argument, NULL, OPT_GIVE_UP },
					       { "the-others-are-off-for-good", no_argument, NULL, OPT_OFF_FOR_GOOD },
					       { "wait", required_argument, NULL, OPT_WAIT },
					       { "help", no_argument, NULL, 'h' },
					       { "version", no_argument, NULL, 'V' },
					       { 0 } };
	int c, left;

	while ((c = getopt_long(argc, argv, "s:jhV", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			o->socket = optarg;
			break;
		case 'j':
			o->json = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return CTL_OK;
		case 'V':
			puts("nfs4rctl " NFS4R_VERSION);
			return CTL_OK;
		case OPT_YES:
			o->yes = true;
			break;
		case OPT_NO_WAIT:
			o->server.no_wait = true;
			break;
		case OPT_GIVE_UP:
			o->server.give_up = true;
			break;
		case OPT_OFF_FOR_GOOD:
			o->server.off_for_good = true;
			break;
		case OPT_WAIT:
			if (!set_wait(&o->server, optarg))
				return ctl_complain("--wait wants seconds, 0 to 3600");
			break;
		case '?':
			return usage();
		default:
			if (!set_filter(&o->filter, c, optarg))
				return ctl_complain("--owner wants the number of a server, 1 to 15");
			o->filtered = true;
		}
	}
	left = argc - optind;
	o->cmd = left > 0 ? argv[optind] : "";
	o->path = left > 1 ? argv[optind + 1] : NULL;
	return is_server_command(o) ? check_servers(o, left - 1, argv + optind + 1) : check(o, left);
}

static void print_json(const json_t *a)
{
	json_dumpf(a, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
}

static int run_simple(struct ctl_conn *c, const struct options *o)
{
	char why[512];
	json_t *a = ctl_ask(c, o->cmd, NULL, PATIENCE_S, why) ? ctl_next(c, why) : NULL;
	int rc = CTL_OK;

	if (!a)
		return ctl_complain(why);
	if (o->json)
		print_json(a);
	if (json_is_string(json_object_get(a, "error")))
		rc = ctl_complain(get_text(a, "error"));
	else if (!o->json && strcmp(o->cmd, "status") == 0)
		show_status(a, stdout);
	else if (!o->json && strcmp(o->cmd, "controls") == 0 && !show_controls(a, &o->filter, stdout))
		rc = ctl_complain(o->filter.waiting ? "the answer has no list of operations; is the server older than this tool?" :
						  "the answer has no list of controls");
	else if (!o->json && strcmp(o->cmd, "stats") == 0 && !show_stats(a, stdout))
		rc = ctl_complain("the answer has no counters");
	json_decref(a);
	return rc;
}

static int run_verify(struct ctl_conn *c, const struct options *o)
{
	struct show_verify v = { .out = stdout, .bar = isatty(STDERR_FILENO) ? stderr : NULL };
	char why[512];

	if (o->json) { /* the lines themselves; show_verify_line only keeps the status */
		v.out = fopen("/dev/null", "w");
		v.bar = NULL;
	}
	if (!v.out || !ctl_ask(c, "verify", o->path ? o->path : "/", VERIFY_PATIENCE_S, why))
		return ctl_complain(v.out ? why : "/dev/null cannot be opened");
	while (!v.over) {
		json_t *line = ctl_next(c, why);

		if (line && o->json)
			print_json(line);
		if (line)
			show_verify_line(&v, line);
		if (!line || json_is_string(json_object_get(line, "error"))) {
			ctl_complain(line ? get_text(line, "error") : why);
			v.over = true;
			v.status = CTL_FAILED;
		}
		json_decref(line);
	}
	if (o->json)
		fclose(v.out);
	return v.status;
}

json_t *ctl_answer(struct ctl_conn *c, json_t *req)
{
	char why[512] = "the request cannot be made";
	json_t *a = ctl_send(c, req, PATIENCE_S) ? ctl_next(c, why) : NULL;

	if (!a)
		ctl_complain(why);
	return a;
}

json_t *ctl_request(struct ctl_conn *c, json_t *req)
{
	json_t *a = ctl_answer(c, req);

	if (!a || !json_is_string(json_object_get(a, "error")))
		return a;
	ctl_complain(get_text(a, "error"));
	json_decref(a);
	return NULL;
}

json_t *ctl_request_sure(struct ctl_conn *c, json_t *req)
{
	char why[512];

	if (ctl_again(c, why))
		return ctl_request(c, req);
	ctl_complain(why);
	json_decref(req);
	return NULL;
}

bool ctl_says_yes(void)
{
	char answer[8] = "";

	fflush(stdout);
	return fgets(answer, sizeof(answer), stdin) && strcmp(answer, "yes\n") == 0;
}

static json_t *ask_give_up(struct ctl_conn *c, const struct options *o, bool sure)
{
	json_t *req = json_pack("{s:s, s:i, s:b}", "cmd", "give-up", "server", server_number(o->path), "yes", sure);

	return sure ? ctl_request_sure(c, req) : ctl_request(c, req);
}

static bool is_sure(unsigned server, uint64_t lost)
{
	printf("Server %u had announced %llu updates that no other server is known to have. If it is given up, the others go on without them, and\n"
	       "the server undoes them when it returns (it keeps a copy of the files under its Conflicts directory).\n"
	       "Give up server %u? Write yes: ", server, (unsigned long long)lost, server);
	return ctl_says_yes();
}

static int run_give_up(struct ctl_conn *c, const struct options *o)
{
	json_t *a = ask_give_up(c, o, false);
	bool sure = a && (o->yes || is_sure(server_number(o->path), get_num(a, "lost_entries")));

	json_decref(a);
	if (!a)
		return CTL_FAILED;
	if (!sure) {
		puts("Nothing was done.");
		return CTL_OK;
	}
	a = ask_give_up(c, o, true);
	if (!a)
		return CTL_FAILED;
	if (o->json)
		print_json(a);
	else
		printf("Server %u is given up; %llu updates are lost with it. `nfs4rctl status` says when its log has ended.\n", server_number(o->path),
		       (unsigned long long)get_num(a, "lost_entries"));
	json_decref(a);
	return CTL_OK;
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	char path[256], why[512];
	int rc = parse(argc, argv, &o);
	struct ctl_conn *c;

	if (rc >= 0)
		return rc;
	if (!o.socket) {
		if (!ctl_find_socket(getenv("NFS4R_SOCKET"), RUN_FOLDER, path, sizeof(path), why))
			return ctl_complain(why);
		o.socket = path;
	}
	c = ctl_connect(o.socket, why);
	if (!c)
		return ctl_complain(why);
	if (is_server_command(&o))
		rc = run_servers(c, &o.server);
	else
		rc = strcmp(o.cmd, "verify") == 0 ? run_verify(c, &o) : strcmp(o.cmd, "give-up") == 0 ? run_give_up(c, &o) : run_simple(c, &o);
	ctl_close(c);
	if (fflush(stdout) != 0 || ferror(stdout))
		return ctl_complain("the output cannot be written");
	return rc;
}
