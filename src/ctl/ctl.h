/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * nfs4rctl: asks a server over its control socket and shows the answers
 * (docs/decisions/0006-control-socket.md; man page docs/man/nfs4rctl.8).
 */
#ifndef NFS4R_CTL_CTL_H
#define NFS4R_CTL_CTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	CTL_OK = 0,
	CTL_DIFFERENT = 1,
	CTL_FAILED = 2
}; /* exit status */
enum {
	HEALTH_OK = 0,
	HEALTH_WRONG = 1,
	HEALTH_DOWN = 2,
	HEALTH_UNKNOWN = 3
}; /* of `health` */

/* ---- client.c ---- */

struct ctl_conn;

#define CTL_WHY 2048 /* bytes of each @why below */

/*
 * Where to connect when no --socket was given: @env (value of NFS4R_SOCKET, may be NULL or empty), else the single *.sock in @folder.
 * false: @why says what to do. errno is ENOENT if there is no socket, EEXIST if there are several.
 */
bool ctl_find_socket(const char *env, const char *folder, char *path, size_t path_len, char *why);
/* NULL: @why says what to do; errno is that of connect(). */
struct ctl_conn *ctl_connect(const char *path, char *why);
/* The same anew, after a pause: a server that is asked nothing for half a minute ends the connection. false: @c can only be closed, @why as above. */
bool ctl_again(struct ctl_conn *c, char *why);
void ctl_close(struct ctl_conn *c);
/* One request; @path may be NULL. @patience_s: longest silence of the server after it. */
bool ctl_ask(struct ctl_conn *c, const char *cmd, const char *path, unsigned patience_s, char *why);
/* The same with a request that is made already; takes the reference. false: it is none. */
bool ctl_send(struct ctl_conn *c, json_t *req, unsigned patience_s);
/* Next line of the answer; a new reference. NULL: the connection is over, or what came is no JSON object. */
json_t *ctl_next(struct ctl_conn *c, char *why);

/* ---- format.c ---- */

#define FORMAT_LEN 48

/* All return buf. */
const char *format_versions(char buf[FORMAT_LEN], const json_t *range); /* 9, 9 to 10, - */
const char *format_count(char buf[FORMAT_LEN], uint64_t n); /* 12,345 */
const char *format_bytes(char buf[FORMAT_LEN], double bytes); /* 45.3 MiB */
const char *format_seconds(char buf[FORMAT_LEN], double seconds); /* 850 ms, 12 s, 3 min 4 s, 5 h 6 min, 7 d 8 h */

struct table; /* columns as wide as their widest cell; text is made safe; the last column is not padded */
struct table *table_new(unsigned columns);
struct table *table_with_head(unsigned columns, const char *const head[]); /* its first row is there */
void table_cell(struct table *t, const char *text); /* row by row */
void table_print(struct table *t, FILE *out); /* and free */

int ctl_print_json(const json_t *a); /* one line on standard output; returns CTL_OK */

/* ---- show.c, show_controls.c, show_locks.c, show_stats.c, show_verify.c ---- */

struct show_filter { /* all zero: the whole answer */
	bool deep; /* controls: deep and deep+ */
	bool own; /* controls: of the server that was asked */
	unsigned owner; /* controls: of this server; 0 = any */
	bool waiting; /* operations only */
};

void show_status(const json_t *a, FILE *out);
void show_servers(const json_t *a, FILE *out);
/* false: the answer has no controls, or no counters; nothing was printed. */
#define SHOW_OID 100 /* bytes of "[an OID]" */
const char *show_path_or_oid(const json_t *row, char buf[SHOW_OID]); /* its path; without one its OID, in @buf */
bool show_controls(const json_t *a, const struct show_filter *f, FILE *out);
bool controls_know(const json_t *a, unsigned server); /* the answer to `controls` has that server among the volume's */
bool show_stats(const json_t *a, FILE *out);
bool show_locks(const json_t *a, FILE *out); /* false: the answer has no list of locks */
void show_lock_counts(const json_t *locks, FILE *out); /* their lines of `status` */
void show_line(FILE *out, const char *label, const char *text); /* of `status`; @text is made safe */

struct show_verify {
	FILE *out, *bar; /* bar NULL: no progress */
	bool bar_drawn;
	int printed; /* lines of what a repair did */
	int status; /* exit status; valid when over */
	bool over;
};
/* One line of a verify's answer. */
void show_verify_line(struct show_verify *v, const json_t *line);

/* ---- health.c ---- */

/* What the answer to `status` means: an object as docs/man/nfs4rctl.8 says, a new reference. @max_lag_s: seconds, of lag and of the loss window. */
json_t *health_of(const json_t *status, double max_lag_s);
/* The same without an answer: HEALTH_DOWN or HEALTH_UNKNOWN. */
json_t *health_unknown(int rc, const char *why);
void show_health(const json_t *h, FILE *out); /* one line */

/* ---- main.c ---- */

int ctl_complain(const char *text); /* on standard error; returns CTL_FAILED */
/* One request, one answer; takes @req. NULL: there was none, or a refusal, and it has complained */
json_t *ctl_request(struct ctl_conn *c, json_t *req);
json_t *ctl_answer(struct ctl_conn *c, json_t *req); /* the same, but a refusal is an answer: a member `error` */
int ctl_complain_of(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* the same */
bool ctl_says_yes(void); /* the next line of standard input is "yes" */
/* As ctl_request(), on a new connection: a person may have thought for long. The server checks anew. */
json_t *ctl_request_sure(struct ctl_conn *c, json_t *req);

/* ---- servers.c: `server` and `force-reconfigure` ---- */

#define CTL_SERVERS_MAX 15 /* of a volume */
#define CTL_KEYS_MAX 2 /* of a server */
#define CTL_WAIT_MAX_S 3600
#define CTL_POLL_NS 500000000L

enum server_command {
	SERVER_LIST = 1,
	SERVER_ADD,
	SERVER_REMOVE,
	SERVER_RECONFIGURE,
	SERVER_FINISH
};

struct server_args {
	enum server_command what;
	bool json, yes, no_wait, abandon, off_for_good, wait; /* options */
	unsigned wait_s; /* force-reconfigure, if `wait`: until the stopped servers count as silent */
	unsigned server, port; /* port 0: as the server that is asked */
	char host[256];
	const char *keys[CTL_KEYS_MAX]; /* add: fingerprints of the new server; the caller's */
	unsigned nkeys;
	unsigned set[CTL_SERVERS_MAX], n; /* force-reconfigure: all survivors; n = 0: cancel the order */
};

unsigned server_number(const char *s); /* 0: it is none */
const json_t *ctl_server_row(const json_t *list, unsigned server); /* of the answer to `servers` or `keys`; NULL: it has none */
/* What follows `server`; the options are set already. NULL, or what is wrong with it. */
const char *parse_servers(struct server_args *a, int n, char **args);
const char *parse_upgrade(struct server_args *a, int n, char **args); /* the same, of `upgrade` */
int run_servers(struct ctl_conn *c, const struct server_args *args); /* exit status */

/* ---- settings.c: `set` and `get` ---- */

struct setting_args {
	bool json, no_wait; /* options */
	const char *key, *value; /* NULL: all; get */
};

const char *parse_settings(struct setting_args *a, bool set, int n, char **args); /* what follows the command, as parse_servers() */
int run_settings(struct ctl_conn *c, const struct setting_args *args); /* exit status */

/* ---- force_reconfigure.c ---- */

const char *parse_set(struct server_args *a, int n, char **args); /* what follows `force-reconfigure`, as parse_servers() */
json_t *force_reconfigure_ask(struct ctl_conn *c, const struct server_args *args); /* prints what the administrator confirms; NULL: refused, it has complained */

/* ---- keys.c: `key` ---- */

enum key_command {
	KEY_MAKE = 1,
	KEY_SHOW,
	KEY_REPLACE,
	KEY_TRUST
};

struct key_args {
	enum key_command what;
	bool json, no_wait, abandon; /* options */
	const char *files; /* make, show: these with .key and .crt behind it; NULL: where they are by default, or as the server says */
	unsigned server; /* trust */
	const char *fingerprint;
};

/* What follows `key`; the options are set already. NULL, or what is wrong with it. */
const char *parse_keys(struct key_args *a, int n, char **args);
void keys_add_end(json_t *status); /* "certificate_ends", in seconds since 1970, if this server's has an end and can be read */
int run_key_files(const struct key_args *args); /* make; and show, without a server. Exit status */
int run_keys(struct ctl_conn *c, const struct key_args *args); /* the rest */

/* ---- show_keys.c ---- */

void show_keys(const json_t *a, FILE *out); /* the answer to `keys` */
void show_certificate(const json_t *status, FILE *out); /* when it ends */
#define CERTIFICATE_SOON_DAYS 30 /* an authority may take weeks for a new certificate */
const char *show_days_left(char *buf, size_t len, int64_t days); /* < 0: it has ended; returns @buf */
const char *show_key_end(char *buf, size_t len, int64_t ends_s, int64_t now_s); /* of a certificate; returns @buf */

/* Members of JSON objects; 0, -1, false or "" when they are not there or of another kind. */
uint64_t get_num(const json_t *o, const char *key);
double get_real(const json_t *o, const char *key);
/* Is a clock that is so far ahead of another one, or behind it if negative, wrong? NTP leaves far less than a second. */
bool is_clock_off(double ahead_ms);
const char *get_text(const json_t *o, const char *key);

#endif
