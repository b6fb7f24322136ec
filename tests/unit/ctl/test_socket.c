/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The engine's side of the control socket: who may listen where, requests, comparison of copies. */
#include "lib/unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl/ctl.h"
#include "lib/setback.h"
#include "unit/ctl/fake_engine.h"

static char folder[64];

struct trio {
	struct fake *f[FAKE_SERVERS];
	struct ctl *ctl; /* of the first */
};

/* Three equal servers: /etc (directory) with passwd, link, and big (3 pieces); /empty. */
static int make(void **state)
{
	struct trio *t = calloc(1, sizeof(*t));
	char why[NFS4R_WHY], *big = malloc(2500001);

	memset(big, 'b', 2500000);
	big[2500000] = '\0';
	snprintf(folder, sizeof(folder), "/tmp/nfs4r-ctl.XXXXXX");
	assert_non_null(mkdtemp(folder));
	for (unsigned i = 0; i < FAKE_SERVERS; i++) {
		t->f[i] = fake_new((nfs4r_server_id)(i + 1), folder);
		uint32_t etc = fake_add(t->f[i], 0, "etc", NFS4R_TYPE_DIR, "");

		fake_add(t->f[i], etc, "passwd", NFS4R_TYPE_FILE, "root:x:0:0");
		fake_add(t->f[i], etc, "link", NFS4R_TYPE_SYMLINK, "passwd");
		fake_add(t->f[i], etc, "big", NFS4R_TYPE_FILE, big);
		fake_add(t->f[i], 0, "empty", NFS4R_TYPE_FILE, "");
	}
	free(big);
	fake_connect(t->f, FAKE_SERVERS);
	t->ctl = admin_ctl_create(&t->f[0]->eng, why);
	if (!t->ctl)
		print_message("%s\n", why);
	*state = t;
	return t->ctl ? 0 : -1;
}

static int unmake(void **state)
{
	struct trio *t = *state;

	admin_ctl_destroy(t->ctl);
	fake_end(t->f, FAKE_SERVERS);
	free(t);
	return rmdir(folder);
}

static struct ctl_conn *open_conn(struct trio *t)
{
	char why[NFS4R_WHY];
	struct ctl_conn *c = ctl_connect(t->f[0]->eng.cfg.control_socket, why);

	if (!c)
		print_message("%s\n", why);
	assert_non_null(c);
	return c;
}

static json_t *ask(struct trio *t, const char *cmd)
{
	char why[NFS4R_WHY] = "";
	struct ctl_conn *c = open_conn(t);

	assert_true(ctl_ask(c, cmd, NULL, 10, why));
	json_t *a = ctl_next(c, why);
	assert_non_null(a);
	ctl_close(c);
	return a;
}

/* A verify to its end; the last line. Lines before it by kind. */
struct lines {
	unsigned progress, differences, unreachable;
	char text[2000]; /* "path server what;" of differences */
};

static json_t *verify(struct trio *t, const char *path, struct lines *l)
{
	char why[NFS4R_WHY] = "";
	struct ctl_conn *c = open_conn(t);
	json_t *a, *d;

	memset(l, 0, sizeof(*l));
	assert_true(ctl_ask(c, "verify", path, 30, why));
	while ((a = ctl_next(c, why)) && !json_object_get(a, "result") && !json_object_get(a, "error")) {
		l->progress += json_object_get(a, "progress") != NULL;
		l->unreachable += json_object_get(a, "unreachable") != NULL;
		d = json_object_get(a, "difference");
		if (d) {
			size_t at = strlen(l->text);

			l->differences++;
			snprintf(l->text + at, sizeof(l->text) - at, "%s %d %s;", get_text(d, "path"), (int)get_num(d, "server"),
				 get_text(d, "what"));
		}
		json_decref(a);
	}
	assert_non_null(a);
	ctl_close(c);
	return a;
}

/* ---- the socket file ---- */

static void the_socket_is_for_its_owner_only_and_goes_with_the_server(void **state)
{
	struct trio *t = *state;
	struct stat st;
	char why[NFS4R_WHY];

	assert_int_equal(stat(t->f[0]->eng.cfg.control_socket, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	admin_ctl_destroy(t->ctl);
	assert_int_not_equal(stat(t->f[0]->eng.cfg.control_socket, &st), 0);
	t->ctl = admin_ctl_create(&t->f[0]->eng, why);
	assert_non_null(t->ctl);
}

static void a_socket_in_use_is_refused_a_stale_one_replaced(void **state)
{
	struct trio *t = *state;
	char why[NFS4R_WHY];
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct nfs4r_engine *two = &t->f[1]->eng;
	struct ctl *c;

	snprintf(two->cfg.control_socket, sizeof(two->cfg.control_socket), "%s", t->f[0]->eng.cfg.control_socket);
	assert_null(admin_ctl_create(two, why));
	assert_non_null(strstr(why, "in use"));
	json_decref(ask(t, "status")); /* the first one still answers */

	snprintf(two->cfg.control_socket, sizeof(two->cfg.control_socket), "%s/stale", folder);
	strcpy(addr.sun_path, two->cfg.control_socket);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(fd);
	c = admin_ctl_create(two, why);
	assert_non_null(c);
	admin_ctl_destroy(c);
	assert_int_not_equal(access(addr.sun_path, F_OK), 0);
}

static void what_is_no_socket_is_not_touched(void **state)
{
	struct trio *t = *state;
	char why[NFS4R_WHY];
	struct nfs4r_engine *two = &t->f[1]->eng;

	snprintf(two->cfg.control_socket, sizeof(two->cfg.control_socket), "%s/file", folder);
	fclose(fopen(two->cfg.control_socket, "w"));
	assert_null(admin_ctl_create(two, why));
	assert_non_null(strstr(why, "not a socket"));
	assert_int_equal(unlink(two->cfg.control_socket), 0);
}

static void bad_paths_get_clear_errors(void **state)
{
	struct trio *t = *state;
	char why[NFS4R_WHY];
	struct nfs4r_engine *two = &t->f[1]->eng;

	memset(two->cfg.control_socket, 'x', sizeof(two->cfg.control_socket));
	two->cfg.control_socket[0] = '/';
	assert_null(admin_ctl_create(two, why));
	assert_non_null(strstr(why, "too long"));
	strcpy(two->cfg.control_socket, "relative.sock");
	assert_null(admin_ctl_create(two, why));
	assert_non_null(strstr(why, "absolute"));
	strcpy(two->cfg.control_socket, "/nonexistent/two/levels.sock");
	assert_null(admin_ctl_create(two, why));
	assert_non_null(strstr(why, "cannot be created"));
}

/* ---- requests ---- */

static void malformed_requests_are_answered_with_an_error(void **state)
{
	static const char *const bad[] = { "hello", "{", "[]", "{\"cmd\":5}", "{\"cmd\":\"fly\"}", "", "{\"cmd\":\"verify\",\"path\":[]}" };
	struct trio *t = *state;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	FILE *f = fdopen(fd, "r+");
	char *line = NULL;
	size_t cap = 0;

	strcpy(addr.sun_path, t->f[0]->eng.cfg.control_socket);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		dprintf(fd, "%s\n", bad[i]);
		assert_true(getline(&line, &cap, f) > 0);
		assert_non_null(strstr(line, "{\"error\":"));
	}
	dprintf(fd, "{\"cmd\":\"status\"}\n"); /* the connection still works */
	assert_true(getline(&line, &cap, f) > 0);
	assert_non_null(strstr(line, "\"volume\""));
	free(line);
	fclose(f);
}

static void a_request_has_a_limit(void **state)
{
	struct trio *t = *state;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char *junk = malloc(1 << 20), answer[200] = "";
	ssize_t n;
	size_t got = 0;

	memset(junk, 'x', 1 << 20);
	strcpy(addr.sun_path, t->f[0]->eng.cfg.control_socket);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	(void)send(fd, junk, 1 << 20, MSG_NOSIGNAL);
	while (got < sizeof(answer) - 1 && (n = read(fd, answer + got, sizeof(answer) - 1 - got)) > 0)
		got += (size_t)n;
	assert_non_null(strstr(answer, "longer than 65536"));
	close(fd);
	free(junk);
	json_decref(ask(t, "status"));
}

/* ---- verify ---- */

/* What it compares is a part of the tree, and it says so. */
static void a_verify_says_that_an_import_is_running(void **state)
{
	struct trio *t = *state;
	struct lines l;
	json_t *a;

	for (int running = 0; running <= 1; running++) {
		pthread_mutex_lock(&t->f[0]->eng.lock);
		t->f[0]->eng.start.import.phase = running ? IMPORT_RUNNING : IMPORT_COMPLETE;
		pthread_mutex_unlock(&t->f[0]->eng.lock);
		a = verify(t, "/", &l);
		assert_int_equal(json_is_true(json_object_get(json_object_get(a, "result"), "importing")), running);
		json_decref(a);
	}
}

static void a_verify_says_that_another_server_imports(void **state)
{
	struct trio *t = *state;
	struct nfs4r_remarks r = { .is = NFS4R_IS_IMPORTING, .imported = 5 };
	json_t *a, *who;
	struct lines l;

	t->f[0]->room.of[2].remarks = r;
	a = verify(t, "/", &l);
	who = json_object_get(json_object_get(a, "result"), "importing_elsewhere");
	assert_int_equal(json_array_size(who), 1);
	assert_int_equal(json_integer_value(json_array_get(who, 0)), 2);
	json_decref(a);
}

static const json_t *peer_of(const json_t *status, uint64_t server)
{
	json_t *p;
	size_t i;

	json_array_foreach(json_object_get(status, "peers"), i, p) if (get_num(p, "server") == server) return p;
	fail_msg("no server %llu", (unsigned long long)server);
	return NULL;
}

/* While it is away nobody knows. */
static void status_says_what_another_server_says_of_itself(void **state)
{
	struct trio *t = *state;
	struct nfs4r_remarks r = { .is = NFS4R_IS_IMPORT_STOPPED, .imported = 5, .strays = 3, .conflicts = 1 };
	const json_t *p;
	json_t *a;

	t->f[0]->room.of[2].remarks = r;
	a = ask(t, "status");
	p = peer_of(a, 2);
	assert_string_equal(get_text(json_object_get(p, "import"), "phase"), "stopped");
	assert_int_equal(get_num(json_object_get(p, "import"), "objects"), 5);
	assert_int_equal(get_num(p, "strays"), 3);
	assert_int_equal(get_num(p, "conflicts"), 1);
	assert_true(json_is_null(json_object_get(peer_of(a, 3), "import")));
	json_decref(a);
	pthread_mutex_lock(&t->f[0]->lock);
	t->f[0]->up[2] = false;
	pthread_mutex_unlock(&t->f[0]->lock);
	a = ask(t, "status");
	assert_null(json_object_get(peer_of(a, 2), "strays"));
	json_decref(a);
}

static void equal_copies_are_equal(void **state)
{
	struct trio *t = *state;
	struct lines l;
	json_t *a = verify(t, "/", &l), *r = json_object_get(a, "result");

	assert_int_equal(get_num(r, "status"), 0);
	assert_int_equal(get_num(r, "objects"), 6);
	assert_int_equal(get_num(r, "bytes"), 2500010);
	assert_int_equal(l.differences + l.unreachable, 0);
	assert_true(l.progress > 0);
	json_decref(a);
	a = verify(t, "//etc/big/", &l);
	assert_int_equal(get_num(json_object_get(a, "result"), "objects"), 1);
	json_decref(a);
}

/* Names on the disk alone are told, with the server, and make the status 1. A repair mends what is wrong at the server that is asked. */
static void a_repair_mends_and_looks_again(void **state)
{
	struct trio *t = *state;
	char why[512] = "", text[600] = "";
	struct lines l;
	json_t *a = NULL, *r;

	snprintf(t->f[1]->foreign, sizeof(t->f[1]->foreign), "foreign");
	t->f[0]->obj[5].mode = 0600;
	a = verify(t, "/", &l);
	r = json_object_get(a, "result");
	assert_int_equal(get_num(r, "status"), 1);
	assert_int_equal(get_num(r, "names"), 1);
	json_decref(a);
	struct ctl_conn *c = open_conn(t);
	assert_true(ctl_send(c, json_pack("{s:s}", "cmd", "repair"), 30));
	while ((a = ctl_next(c, why)) && !(r = json_object_get(a, "result"))) {
		if (json_object_get(a, "repair"))
			snprintf(text, sizeof(text), "%s from %d", get_text(json_object_get(a, "repair"), "what"), (int)get_num(json_object_get(a, "repair"), "from"));
		json_decref(a);
	}
	assert_non_null(a);
	assert_string_equal(text, "content or attributes from 2");
	assert_int_equal(get_num(r, "repaired"), 1);
	assert_int_equal(get_num(r, "differences"), 0);
	assert_int_equal(get_num(r, "names"), 1); /* at server 2: to be repaired there */
	assert_int_equal(get_num(r, "status"), 1);
	json_decref(a);
	ctl_close(c);
	pthread_mutex_lock(&t->f[0]->lock);
	assert_int_equal(t->f[0]->obj[5].mode, t->f[1]->obj[5].mode);
	pthread_mutex_unlock(&t->f[0]->lock);
}

static void many_objects_are_under_way_at_once(void **state)
{
	struct trio *t = *state;
	struct lines l;
	json_t *a;

	for (uint32_t i = 0; i < 1500; i++)
		for (unsigned s = 0; s < FAKE_SERVERS; s++) {
			char name[32];

			snprintf(name, sizeof(name), "f%u", i);
			fake_add(t->f[s], 1, name, NFS4R_TYPE_FILE, name);
		}
	a = verify(t, "/", &l);
	assert_int_equal(get_num(json_object_get(a, "result"), "status"), 0);
	assert_int_equal(get_num(json_object_get(a, "result"), "objects"), 1506);
	json_decref(a);
}

static void paths_that_are_not_there_get_an_error(void **state)
{
	static const char *const bad[] = { "/nothing", "etc", "/etc/..", "/etc/passwd/x", "" };
	struct lines l;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *a = verify(*state, bad[i], &l);

		assert_non_null(json_object_get(a, "error"));
		json_decref(a);
	}
}

static void every_kind_of_difference_is_found(void **state)
{
	struct trio *t = *state;
	struct lines l;
	json_t *a;

	t->f[1]->obj[4].bytes[2400000] = 'c'; /* same size, same version: only the sum tells */
	t->f[2]->obj[2].gone = true; /* not there yet; its directory misses a name too */
	t->f[2]->obj[3].version = 4;
	t->f[1]->obj[5].mode = 0600;
	t->f[2]->obj[5].lost = true;
	a = verify(t, "/", &l);
	assert_int_equal(get_num(json_object_get(a, "result"), "status"), 1);
	assert_non_null(strstr(l.text, "/etc/big 2 content;"));
	assert_non_null(strstr(l.text, "/etc/passwd 3 missing there;"));
	assert_non_null(strstr(l.text, "/etc 3 content;"));
	assert_non_null(strstr(l.text, "/etc/link 3 version only;"));
	assert_non_null(strstr(l.text, "/empty 2 content;"));
	assert_non_null(strstr(l.text, "/empty 3 missing there;"));
	assert_int_equal(l.differences, 6);
	json_decref(a);
}

/* It is asked for again after a second, also when the clock is set back meanwhile. */
static void an_update_under_way_is_no_difference(void **state)
{
	struct trio *t = *state;
	uint64_t began = engine_now_ms();
	struct lines l;
	json_t *a;

	t->f[0]->reads_changing = 1; /* the root, which the others have at the new version already */
	t->f[1]->obj[0].version = t->f[2]->obj[0].version = 6;
	setback_s = 20;
	a = verify(t, "/", &l);
	setback_s = 0;
	assert_in_range(engine_now_ms() - began, 1000, 11000);
	assert_int_equal(get_num(json_object_get(a, "result"), "status"), 0);
	assert_int_equal(get_num(json_object_get(a, "result"), "retries"), 1);
	json_decref(a);
}

static void a_server_that_cannot_be_asked_is_named(void **state)
{
	struct trio *t = *state;
	struct lines l;
	json_t *a;

	pthread_mutex_lock(&t->f[0]->lock);
	t->f[0]->up[3] = false;
	pthread_mutex_unlock(&t->f[0]->lock);
	a = verify(t, "/", &l);
	assert_int_equal(l.unreachable, 1);
	assert_int_equal(get_num(json_object_get(a, "result"), "status"), 2);
	assert_int_equal(get_num(json_object_get(a, "result"), "objects"), 6); /* compared with the other one */
	json_decref(a);
}

/* A peer that never answers keeps a verify going until its patience ends. */
static struct ctl_conn *start_endless(struct trio *t)
{
	char why[NFS4R_WHY];
	struct ctl_conn *c = open_conn(t);

	pthread_mutex_lock(&t->f[0]->lock);
	t->f[0]->mute[2] = true;
	pthread_mutex_unlock(&t->f[0]->lock);
	assert_true(ctl_ask(c, "verify", "/", 10, why));
	json_decref(ctl_next(c, why)); /* it runs */
	return c;
}

static void stopping_the_server_ends_a_verify(void **state)
{
	struct trio *t = *state;
	struct ctl_conn *c = start_endless(t);
	char why[NFS4R_WHY];

	admin_ctl_destroy(t->ctl); /* would hang, or the sanitizer would shout */
	t->ctl = admin_ctl_create(&t->f[0]->eng, why);
	ctl_close(c);
}

static void a_client_that_leaves_ends_its_verify(void **state)
{
	struct trio *t = *state;
	struct ctl_conn *c = start_endless(t);
	struct lines l;
	json_t *a = verify(t, "/", &l);

	assert_non_null(strstr(get_text(a, "error"), "another verify or repair is running"));
	json_decref(a);
	ctl_close(c);
	pthread_mutex_lock(&t->f[0]->lock);
	t->f[0]->mute[2] = false;
	pthread_mutex_unlock(&t->f[0]->lock);
	for (int i = 0; i < 1000; i++) { /* the next one may start as soon as the first noticed */
		a = verify(t, "/", &l);
		bool over = json_object_get(a, "result") != NULL;

		json_decref(a);
		if (over)
			return;
	}
	fail_msg("the abandoned verify never ended");
}

static void late_and_unasked_answers_mean_nothing(void **state)
{
	struct trio *t = *state;
	struct ctl_conn *c = start_endless(t);

	for (uint64_t id = 0; id < 10000; id += 7) {
		struct nfs4r_msg *m = calloc(1, sizeof(*m));

		m->type = NFS4R_MSG_VERIFY_ANSWER;
		m->verify.id = id;
		admin_verify_answer(&t->f[0]->eng, (nfs4r_server_id)(id % 40), m);
	}
	ctl_close(c);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make, unmake)
	const struct CMUnitTest tests[] = {
		T(the_socket_is_for_its_owner_only_and_goes_with_the_server),
		T(a_socket_in_use_is_refused_a_stale_one_replaced),
		T(what_is_no_socket_is_not_touched),
		T(bad_paths_get_clear_errors),
		T(malformed_requests_are_answered_with_an_error),
		T(a_request_has_a_limit),
		T(a_verify_says_that_an_import_is_running),
		T(a_verify_says_that_another_server_imports),
		T(status_says_what_another_server_says_of_itself),
		T(equal_copies_are_equal),
		T(a_repair_mends_and_looks_again),
		T(many_objects_are_under_way_at_once),
		T(paths_that_are_not_there_get_an_error),
		T(every_kind_of_difference_is_found),
		T(an_update_under_way_is_no_difference),
		T(a_server_that_cannot_be_asked_is_named),
		T(stopping_the_server_ends_a_verify),
		T(a_client_that_leaves_ends_its_verify),
		T(late_and_unasked_answers_mean_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
