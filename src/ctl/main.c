/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * nfs4rctl: asks one server of a volume what it is doing, and carries out administrative commands.
 * Exit status: 0 success; 1 `verify` found differences; 2 no answer, or not from all servers. `health` has its own (health.c).
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config_keys.h"
#include "base/fingerprint.h"
#include "base/text.h"
#include "ctl/ctl.h"
#include "nfs4r_build.h"

#define RUN_FOLDER "/run/nfs4r"
#define PATIENCE_S 30
#define HEALTH_PATIENCE_S 8 /* monitoring systems wait for ten seconds */
#define MAX_LAG_DEFAULT_S 30
#define MAX_LAG_MAX_S 31536000
#define VERIFY_PATIENCE_S 300 /* progress comes twice a second, unless the disk hangs */

static const char usage_text[] =
	"usage: nfs4rctl [--socket PATH] [--json] COMMAND\n"
	"\n"
	"  status         show the state of this server, its log, and its peers' replication lag\n"
	"  health         print one line for a monitoring system: does the server serve, and is anything wrong?\n"
	"  controls       list which server controls what, and which operations wait\n"
	"  locks [PATH]   list which clients have byte-range locks, of PATH or of all files, and which wait; opens that deny, and graces\n"
	"  stats          show counters and latencies since the start\n"
	"  verify [PATH]  compare all servers' copies below PATH of the volume (default /)\n"
	"  repair [PATH]  make this server's copy below PATH equal to the others' while clients work\n"
	"  abandon N      stop waiting for server N, which is outside the view; updates that only it has are undone when it returns\n"
	"  get [KEY]      show what the volume has: durability, times of views\n"
	"  set KEY VALUE  change that for all servers, while they work\n"
	"  upgrade finish  when all servers run a new release: let the volume use its protocol and disk format. There is no way back\n"
	"  server list    list the servers of the volume and their state\n"
	"  server add N HOST[:PORT]   add server N, which runs at that address with an empty store\n"
	"  server remove N            remove server N permanently\n"
	"  key make       make the key of this server, and print its fingerprint for the other servers; before the server runs\n"
	"  key show       show this server's key, and by which keys all servers are known\n"
	"  key replace    give this server a new key, while all servers work\n"
	"  key trust N SHA256:...     server N has a new key because its old one is lost; run it on another server\n"
	"  force-reconfigure N...     after permanent loss of a majority, continue with only these servers. Run it on each; `none` cancels\n"
	"\n"
	"  -s, --socket PATH  control socket; default $NFS4R_SOCKET, else the only one in " RUN_FOLDER "\n"
	"  -j, --json         print the answer as JSON, one object per line\n"
	"  -h, --help         print this text\n"
	"  -V, --version      print the version\n"
	"\n"
	"Options of controls, without --json:\n"
	"      --deep         list only deep and deep+ controls\n"
	"      --own          list only controls of the server that is asked\n"
	"      --owner N      list only controls of server N\n"
	"      --waiting      list only operations\n"
	"\n"
	"Options of health:\n"
	"      --max-lag SECONDS   how long other servers may lack updates; default 30\n"
	"\n"
	"Options of repair:\n"
	"      --dry-run      print what would be repaired, and change nothing\n"
	"      --from N       copy from server N where copies differ; default: what more than half of the servers have, else the last writer's copy\n"
	"\n"
	"Options of abandon, server remove and upgrade finish:\n"
	"      --yes          do not ask for confirmation\n"
	"Options of set, server add, server remove, upgrade finish and force-reconfigure:\n"
	"      --no-wait      return at once instead of when the change is complete\n"
	"Options of server add:\n"
	"      --key SHA256:...   the fingerprint of the new server's key, as `key make` printed it there\n"
	"Options of key make and key show:\n"
	"      --files PREFIX   PREFIX.key and PREFIX.crt; default " NFS4R_PEER_FILES ", for key show as the server says\n"
	"Options of key replace and key trust:\n"
	"      --no-wait      return when the new key is accepted beside the old one; run the command again to end it\n"
	"      --abandon      do not wait for servers that are outside the view: one that knows only the old key has to be added anew\n"
	"Options of server remove:\n"
	"      --abandon      remove the server even if updates that only it has are lost\n"
	"Options of force-reconfigure:\n"
	"      --the-others-are-off-for-good   confirm that the other servers never run again with their present stores\n"
	"      --wait SECONDS   how long to wait for servers that were just stopped to count as silent; default Failure_Timeout + Lease, 0 with --no-wait\n"
	"\n"
	"Exit status: 0 success (verify, repair: all copies are equal), 1 verify found differences or repair could not repair all, 2 failure.\n"
	"Exit status of health: 0 it serves, 1 it serves and something is wrong, 2 it does not serve, 3 unknown.\n";

struct options {
	const char *socket;
	bool json, filtered, yes, lag_set, dry_run;
	unsigned from; /* repair */
	double max_lag_s;
	struct show_filter filter;
	struct server_args server;
	struct key_args key;
	struct setting_args setting;
	const char *cmd, *path;
};

enum {
	OPT_DEEP = 256,
	OPT_OWN,
	OPT_OWNER,
	OPT_WAITING,
	OPT_YES,
	OPT_NO_WAIT,
	OPT_ABANDON,
	OPT_OFF_FOR_GOOD,
	OPT_WAIT,
	OPT_MAX_LAG,
	OPT_DRY_RUN,
	OPT_FROM,
	OPT_KEY,
	OPT_FILES,
	OPT_RENAMED
};

int ctl_complain(const char *text)
{
	char *safe = nfs4r_text_line_new(text);

	fprintf(stderr, "nfs4rctl: %s\n", safe ? safe : text);
	free(safe);
	return CTL_FAILED;
}

int ctl_complain_of(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = vasprintf(&text, fmt, ap);
	va_end(ap);
	ctl_complain(rc < 0 ? fmt : text);
	if (rc >= 0)
		free(text);
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

static bool set_max_lag(struct options *o, const char *arg)
{
	char *end;

	o->lag_set = true;
	o->max_lag_s = strtod(arg, &end);
	return *arg >= '0' && *arg <= '9' && !*end && o->max_lag_s <= MAX_LAG_MAX_S;
}

static bool add_key(struct server_args *a, const char *text)
{
	struct nfs4r_key_fingerprint fp;

	if (a->nkeys == CTL_KEYS_MAX || !nfs4r_fingerprint_parse(text, &fp))
		return false;
	a->keys[a->nkeys++] = text;
	return true;
}

static bool is_key_command(const struct options *o)
{
	return strcmp(o->cmd, "key") == 0;
}

static int check_keys(struct options *o, int n, char **args)
{
	bool others = o->filtered || o->yes || o->lag_set || o->dry_run || o->from || o->server.off_for_good || o->server.wait || o->server.nkeys;
	const char *wrong = others ? "key has the options --json, --files, --no-wait and --abandon" : NULL;

	o->key.json = o->json;
	o->key.no_wait = o->server.no_wait;
	o->key.abandon = o->server.abandon;
	if (!wrong)
		wrong = parse_keys(&o->key, n, args);
	return wrong ? ctl_complain(wrong) : -1;
}

static bool is_server_command(const struct options *o)
{
	return strcmp(o->cmd, "server") == 0 || strcmp(o->cmd, "upgrade") == 0 || strcmp(o->cmd, "force-reconfigure") == 0;
}

static bool is_setting_command(const struct options *o)
{
	return strcmp(o->cmd, "set") == 0 || strcmp(o->cmd, "get") == 0;
}

static int check_settings(struct options *o, int n, char **args)
{
	const char *wrong = NULL;

	o->setting.json = o->json;
	o->setting.no_wait = o->server.no_wait;
	if (o->filtered || o->from || o->dry_run || o->lag_set || o->yes || o->server.abandon || o->server.off_for_good || o->server.wait)
		wrong = "set and get have no options but --json, and set has --no-wait";
	if (!wrong)
		wrong = parse_settings(&o->setting, strcmp(o->cmd, "set") == 0, n, args);
	return wrong ? ctl_complain(wrong) : -1;
}

static int check_servers(struct options *o, int n, char **args)
{
	const char *wrong = o->filtered ? "--deep, --own, --owner and --waiting belong to the command controls" : NULL;

	o->server.json = o->json;
	o->server.yes = o->yes;
	if (o->from || o->dry_run)
		wrong = "--from and --dry-run belong to the command repair";
	if (o->lag_set)
		wrong = "--max-lag belongs to the command health";
	if (!wrong)
		wrong = strcmp(o->cmd, "force-reconfigure") == 0 ? parse_set(&o->server, n, args) :
			strcmp(o->cmd, "upgrade") == 0		 ? parse_upgrade(&o->server, n, args) :
								   parse_servers(&o->server, n, args);
	if (!wrong && o->server.what == SERVER_REMOVE && o->server.abandon && o->json && !o->yes)
		wrong = "server remove --abandon cannot ask for confirmation with --json: add --yes";
	return wrong ? ctl_complain(wrong) : -1;
}

/* -1, or complained: there is no such command, or more words than it takes. */
static int check_words(const struct options *o, int left, char **args)
{
	static const struct {
		const char *name;
		int words;
	} commands[] = { { "status", 1 }, { "controls", 1 }, { "locks", 2 }, { "verify", 2 }, { "repair", 2 }, { "stats", 1 }, { "abandon", 2 }, { "health", 1 } };
	static const struct {
		const char *before, *name;
	} renamed[] = { { "give-up", "abandon" }, { "reconfigure", "force-reconfigure" } };

	if (!*o->cmd)
		return ctl_complain("a command is missing: status, health, controls, locks, stats, verify, repair, abandon, get, set, server, key, upgrade or force-reconfigure; see nfs4rctl --help");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(o->cmd, commands[i].name))
			continue;
		return left <= commands[i].words ? -1 : ctl_complain_of("%s does not take `%s`; see nfs4rctl --help", o->cmd, args[commands[i].words]);
	}
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
		if (strcmp(o->cmd, renamed[i].before) == 0)
			return ctl_complain_of("the command %s is called %s now; see nfs4rctl --help", o->cmd, renamed[i].name);
	return ctl_complain_of("there is no command `%s`; see nfs4rctl --help", o->cmd);
}

/* What was given goes together; -1, else the exit status. */
static int check(const struct options *o, int left, char **args)
{
	bool controls = strcmp(o->cmd, "controls") == 0, abandon = strcmp(o->cmd, "abandon") == 0;
	const struct show_filter *f = &o->filter;
	int rc = check_words(o, left, args);

	if (rc >= 0)
		return rc;
	if (abandon && !server_number(o->path))
		return ctl_complain("abandon needs the number of a server, 1 to 15");
	if (o->server.nkeys)
		return ctl_complain("--key belongs to the command server add");
	if (o->server.no_wait || o->server.abandon || o->server.off_for_good || o->server.wait)
		return ctl_complain("--no-wait, --wait, --abandon and --the-others-are-off-for-good belong to the commands set, server, upgrade and force-reconfigure");
	if ((o->from || o->dry_run) && strcmp(o->cmd, "repair"))
		return ctl_complain("--from and --dry-run belong to the command repair");
	if (o->lag_set && strcmp(o->cmd, "health"))
		return ctl_complain("--max-lag belongs to the command health");
	if (o->yes && !abandon)
		return ctl_complain("--yes belongs to the commands abandon, server remove and upgrade finish");
	if (abandon && o->json && !o->yes)
		return ctl_complain("abandon cannot ask for confirmation with --json: add --yes");
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

#define SHORT_OPTIONS ":s:jhV"

static const struct option long_options[] = { { "socket", required_argument, NULL, 's' },
					      { "json", no_argument, NULL, 'j' },
					      { "deep", no_argument, NULL, OPT_DEEP },
					      { "own", no_argument, NULL, OPT_OWN },
					      { "owner", required_argument, NULL, OPT_OWNER },
					      { "waiting", no_argument, NULL, OPT_WAITING },
					      { "yes", no_argument, NULL, OPT_YES },
					      { "no-wait", no_argument, NULL, OPT_NO_WAIT },
					      { "abandon", no_argument, NULL, OPT_ABANDON },
					      { "give-up", no_argument, NULL, OPT_RENAMED },
					      { "the-others-are-off-for-good", no_argument, NULL, OPT_OFF_FOR_GOOD },
					      { "wait", required_argument, NULL, OPT_WAIT },
					      { "max-lag", required_argument, NULL, OPT_MAX_LAG },
					      { "dry-run", no_argument, NULL, OPT_DRY_RUN },
					      { "from", required_argument, NULL, OPT_FROM },
					      { "key", required_argument, NULL, OPT_KEY },
					      { "files", required_argument, NULL, OPT_FILES },
					      { "help", no_argument, NULL, 'h' },
					      { "version", no_argument, NULL, 'V' },
					      { 0 } };

/* One option, @text as it was written; -1: go on; else the exit status. */
static int set_option(struct options *o, int c, const char *text)
{
	switch (c) {
	case 's':
		o->socket = optarg;
		return -1;
	case 'j':
		o->json = true;
		return -1;
	case 'h':
		fputs(usage_text, stdout);
		return CTL_OK;
	case 'V':
		puts("nfs4rctl " NFS4R_BUILD_VERSION ", protocol " NFS4R_BUILD_PROTOCOL);
		return CTL_OK;
	case OPT_YES:
		o->yes = true;
		return -1;
	case OPT_NO_WAIT:
		o->server.no_wait = true;
		return -1;
	case OPT_ABANDON:
		o->server.abandon = true;
		return -1;
	case OPT_RENAMED:
		return ctl_complain("--give-up is called --abandon now");
	case OPT_OFF_FOR_GOOD:
		o->server.off_for_good = true;
		return -1;
	case OPT_WAIT:
		return set_wait(&o->server, optarg) ? -1 : ctl_complain("--wait needs a number of seconds, 0 to 3600");
	case OPT_MAX_LAG:
		return set_max_lag(o, optarg) ? -1 : ctl_complain("--max-lag needs a number of seconds, 0 to 31536000");
	case OPT_DRY_RUN:
		o->dry_run = true;
		return -1;
	case OPT_FROM:
		o->from = server_number(optarg);
		return o->from ? -1 : ctl_complain("--from needs the number of a server, 1 to 15");
	case OPT_KEY:
		return add_key(&o->server, optarg) ? -1 : ctl_complain("--key needs a fingerprint, SHA256: and 43 letters, at most twice");
	case OPT_FILES:
		o->key.files = optarg;
		return -1;
	case ':':
		return ctl_complain_of("%s needs a value; see nfs4rctl --help", text);
	case '?':
		return ctl_complain_of("there is no option `%s`, or the option takes no value; see nfs4rctl --help", text);
	default:
		o->filtered = true;
		return set_filter(&o->filter, c, optarg) ? -1 : ctl_complain("--owner needs the number of a server, 1 to 15");
	}
}

/* -1: go on; else the exit status. */
static int parse(int argc, char **argv, struct options *o)
{
	int c, left, rc;

	o->max_lag_s = MAX_LAG_DEFAULT_S;
	opterr = 0; /* one line, and it is ours */
	while ((c = getopt_long(argc, argv, SHORT_OPTIONS, long_options, NULL)) != -1) {
		char letter[3] = { '-', (char)optopt, '\0' };
		bool unknown_letter = optopt > 0 && optopt < 128 && !strchr(SHORT_OPTIONS, optopt);

		rc = set_option(o, c, unknown_letter ? letter : argv[optind - 1]);
		if (rc >= 0)
			return rc;
	}
	left = argc - optind;
	o->cmd = left > 0 ? argv[optind] : "";
	o->path = left > 1 ? argv[optind + 1] : NULL;
	if (is_key_command(o))
		return check_keys(o, left - 1, argv + optind + 1);
	if (o->key.files)
		return ctl_complain("--files belongs to key make and key show");
	if (is_setting_command(o))
		return check_settings(o, left - 1, argv + optind + 1);
	return is_server_command(o) ? check_servers(o, left - 1, argv + optind + 1) : check(o, left, argv + optind);
}

static int run_simple(struct ctl_conn *c, const struct options *o)
{
	char why[CTL_WHY];
	json_t *a = ctl_ask(c, o->cmd, strcmp(o->cmd, "locks") == 0 ? o->path : NULL, PATIENCE_S, why) ? ctl_next(c, why) : NULL;
	int rc = CTL_OK;

	if (!a)
		return ctl_complain(why);
	if (strcmp(o->cmd, "status") == 0)
		keys_add_end(a);
	if (o->json)
		ctl_print_json(a);
	if (json_is_string(json_object_get(a, "error")))
		rc = ctl_complain(get_text(a, "error"));
	else if (!o->json && strcmp(o->cmd, "status") == 0)
		show_status(a, stdout);
	else if (o->filter.owner && !controls_know(a, o->filter.owner))
		rc = ctl_complain_of("server %u does not belong to this volume; `nfs4rctl server list` shows the servers", o->filter.owner);
	else if (!o->json && strcmp(o->cmd, "controls") == 0 && !show_controls(a, &o->filter, stdout))
		rc = ctl_complain(o->filter.waiting ? "the answer has no list of operations: the server may be older than this tool" :
						      "the answer has no list of controls");
	else if (!o->json && strcmp(o->cmd, "locks") == 0 && !show_locks(a, stdout))
		rc = ctl_complain("the answer has no list of locks");
	else if (!o->json && strcmp(o->cmd, "stats") == 0 && !show_stats(a, stdout))
		rc = ctl_complain("the answer has no counters");
	json_decref(a);
	return rc;
}

static int tell_health(json_t *h, const struct options *o)
{
	int rc = (int)get_num(h, "status");

	if (o->json)
		ctl_print_json(h);
	else
		show_health(h, stdout);
	json_decref(h);
	return rc;
}

static int run_health(struct ctl_conn *c, const struct options *o)
{
	char why[CTL_WHY];
	json_t *h, *a = ctl_ask(c, "status", NULL, HEALTH_PATIENCE_S, why) ? ctl_next(c, why) : NULL;

	if (!a)
		return tell_health(health_unknown(HEALTH_DOWN, why), o);
	h = json_is_string(json_object_get(a, "error")) ? health_unknown(HEALTH_UNKNOWN, get_text(a, "error")) : health_of(a, o->max_lag_s);
	json_decref(a);
	return tell_health(h, o);
}

/* There is no connection, because of errno. What is in the files can be shown all the same, unless a certain server was to be asked. */
static int not_asked(const struct options *o, const char *why, bool said_which)
{
	if (is_key_command(o) && o->key.what == KEY_SHOW && !said_which && (errno == ENOENT || errno == ECONNREFUSED))
		return run_key_files(&o->key);
	if (strcmp(o->cmd, "health"))
		return ctl_complain(why);
	return tell_health(health_unknown(errno == ENOENT || errno == ECONNREFUSED ? HEALTH_DOWN : HEALTH_UNKNOWN, why), o);
}

static bool ask_verify(struct ctl_conn *c, const struct options *o, char *why)
{
	const char *path = o->path ? o->path : "/";
	json_t *req;

	if (strcmp(o->cmd, "verify") == 0)
		return ctl_ask(c, "verify", path, VERIFY_PATIENCE_S, why);
	snprintf(why, CTL_WHY, "%.200s is not UTF-8; name its parent directory instead", path);
	req = json_pack("{s:s, s:s, s:b}", "cmd", "repair", "path", path, "dry_run", o->dry_run);
	if (req && o->from)
		json_object_set_new(req, "from", json_integer(o->from));
	return req && ctl_send(c, req, VERIFY_PATIENCE_S);
}

/* And repair. */
static int run_verify(struct ctl_conn *c, const struct options *o)
{
	struct show_verify v = { .out = stdout, .bar = isatty(STDERR_FILENO) ? stderr : NULL };
	char why[CTL_WHY];

	if (o->json) { /* the lines themselves; show_verify_line only keeps the status */
		v.out = fopen("/dev/null", "w");
		v.bar = NULL;
	}
	if (!v.out || !ask_verify(c, o, why))
		return ctl_complain(v.out ? why : "cannot open /dev/null");
	while (!v.over) {
		json_t *line = ctl_next(c, why);

		if (line && o->json)
			ctl_print_json(line);
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
	char why[CTL_WHY] = "cannot build the request";
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
	char why[CTL_WHY];

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

static json_t *ask_abandon(struct ctl_conn *c, const struct options *o, bool sure)
{
	json_t *req = json_pack("{s:s, s:i, s:b}", "cmd", "abandon", "server", server_number(o->path), "yes", sure);

	return sure ? ctl_request_sure(c, req) : ctl_request(c, req);
}

static bool is_sure(unsigned server, uint64_t lost)
{
	printf("Server %u announced %llu updates that no other server is known to have. If you abandon it, the others continue without these updates.\n"
	       "The server undoes them when it returns, and saves copies of the affected files under its Conflicts directory.\n"
	       "Abandon server %u? Type yes: ",
	       server, (unsigned long long)lost, server);
	return ctl_says_yes();
}

static int run_abandon(struct ctl_conn *c, const struct options *o)
{
	json_t *a = ask_abandon(c, o, false);
	bool sure = a && (o->yes || is_sure(server_number(o->path), get_num(a, "lost_entries")));

	json_decref(a);
	if (!a)
		return CTL_FAILED;
	if (!sure) {
		puts("Nothing was changed.");
		return CTL_OK;
	}
	a = ask_abandon(c, o, true);
	if (!a)
		return CTL_FAILED;
	if (o->json)
		ctl_print_json(a);
	else
		printf("Server %u is abandoned, with %llu updates. `nfs4rctl status` shows when its log has ended.\n", server_number(o->path),
		       (unsigned long long)get_num(a, "lost_entries"));
	json_decref(a);
	return CTL_OK;
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	char path[256], why[CTL_WHY];
	int rc = parse(argc, argv, &o);
	bool said_which = o.socket || getenv("NFS4R_SOCKET");
	struct ctl_conn *c;

	if (rc >= 0)
		return rc;
	if (is_key_command(&o) && (o.key.what == KEY_MAKE || o.key.files))
		return run_key_files(&o.key);
	if (!o.socket) {
		if (!ctl_find_socket(getenv("NFS4R_SOCKET"), RUN_FOLDER, path, sizeof(path), why))
			return not_asked(&o, why, said_which);
		o.socket = path;
	}
	c = ctl_connect(o.socket, why);
	if (!c)
		return not_asked(&o, why, said_which);
	if (is_server_command(&o))
		rc = run_servers(c, &o.server);
	else if (is_key_command(&o))
		rc = run_keys(c, &o.key);
	else if (is_setting_command(&o))
		rc = run_settings(c, &o.setting);
	else if (strcmp(o.cmd, "health") == 0)
		rc = run_health(c, &o);
	else
		rc = strcmp(o.cmd, "verify") == 0 || strcmp(o.cmd, "repair") == 0 ? run_verify(c, &o) : strcmp(o.cmd, "abandon") == 0 ? run_abandon(c, &o) :
																	run_simple(c, &o);
	ctl_close(c);
	if (fflush(stdout) != 0 || ferror(stdout))
		return ctl_complain("cannot write the output");
	return rc;
}
