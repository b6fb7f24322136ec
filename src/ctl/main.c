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
	"  controls       which server controls what at the moment\n"
	"  verify [PATH]  compare the copies of all servers below PATH of the volume (default /)\n"
	"  stats          counters since the start\n"
	"\n"
	"  -s, --socket PATH  control socket; default $NFS4R_SOCKET, else the only one in " RUN_FOLDER "\n"
	"  -j, --json         the answer as JSON, one object per line\n"
	"  -h, --help         this text\n"
	"  -V, --version\n"
	"\n"
	"Exit status: 0 fine (verify: all equal), 1 verify found differences, 2 could not ask (a server).\n";

struct options {
	const char *socket;
	bool json;
	const char *cmd, *path;
};

static int complain(const char *text)
{
	char *safe = format_safe(text);

	fprintf(stderr, "nfs4rctl: %s\n", safe ? safe : text);
	free(safe);
	return CTL_FAILED;
}

/* -1: go on; else the exit status. */
static int parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = { { "socket", required_argument, NULL, 's' },
					       { "json", no_argument, NULL, 'j' },
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
		default:
			fputs(usage_text, stderr);
			return CTL_FAILED;
		}
	}
	left = argc - optind;
	o->cmd = left > 0 ? argv[optind] : "";
	o->path = left > 1 ? argv[optind + 1] : NULL;
	bool verify = strcmp(o->cmd, "verify") == 0;
	if ((!verify && strcmp(o->cmd, "status") && strcmp(o->cmd, "controls") && strcmp(o->cmd, "stats")) || left > (verify ? 2 : 1)) {
		fputs(usage_text, stderr);
		return CTL_FAILED;
	}
	return -1;
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
		return complain(why);
	if (o->json)
		print_json(a);
	if (json_is_string(json_object_get(a, "error")))
		rc = complain(get_text(a, "error"));
	else if (!o->json && strcmp(o->cmd, "status") == 0)
		show_status(a, stdout);
	else if (!o->json && strcmp(o->cmd, "controls") == 0)
		show_controls(a, stdout);
	else if (!o->json)
		show_stats(a, stdout);
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
		return complain(v.out ? why : "/dev/null cannot be opened");
	while (!v.over) {
		json_t *line = ctl_next(c, why);

		if (line && o->json)
			print_json(line);
		if (line)
			show_verify_line(&v, line);
		if (!line || json_is_string(json_object_get(line, "error"))) {
			complain(line ? get_text(line, "error") : why);
			v.over = true;
			v.status = CTL_FAILED;
		}
		json_decref(line);
	}
	if (o->json)
		fclose(v.out);
	return v.status;
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
			return complain(why);
		o.socket = path;
	}
	c = ctl_connect(o.socket, why);
	if (!c)
		return complain(why);
	rc = strcmp(o.cmd, "verify") == 0 ? run_verify(c, &o) : run_simple(c, &o);
	ctl_close(c);
	if (fflush(stdout) != 0 || ferror(stdout))
		return complain("the output cannot be written");
	return rc;
}
