/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the server says of itself over the control socket: status, controls, stats. */
#include "lib/unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ctl/ctl.h"
#include "unit/ctl/fake_engine.h"

static char folder[64];

struct one {
	struct fake *f[FAKE_SERVERS]; /* the first is asked */
	struct ctl *ctl;
};

/* Servers with /etc (directory) and /etc/passwd. */
static int make(void **state)
{
	struct one *t = calloc(1, sizeof(*t));
	char why[NFS4R_WHY];

	snprintf(folder, sizeof(folder), "/tmp/nfs4r-say.XXXXXX");
	assert_non_null(mkdtemp(folder));
	for (unsigned i = 0; i < FAKE_SERVERS; i++) {
		t->f[i] = fake_new((nfs4r_server_id)(i + 1), folder);
		fake_add(t->f[i], fake_add(t->f[i], 0, "etc", NFS4R_TYPE_DIR, ""), "passwd", NFS4R_TYPE_FILE, "root:x:0:0");
	}
	fake_connect(t->f, FAKE_SERVERS);
	t->ctl = admin_ctl_create(&t->f[0]->eng, why);
	if (!t->ctl)
		print_message("%s\n", why);
	*state = t;
	return t->ctl ? 0 : -1;
}

static int unmake(void **state)
{
	struct one *t = *state;

	admin_ctl_destroy(t->ctl);
	fake_end(t->f, FAKE_SERVERS);
	free(t);
	return rmdir(folder);
}

static json_t *ask_of(struct one *t, const char *cmd, const char *path)
{
	char why[NFS4R_WHY] = "";
	struct ctl_conn *c = ctl_connect(t->f[0]->eng.cfg.control_socket, why);
	json_t *a = c && ctl_ask(c, cmd, path, 10, why) ? ctl_next(c, why) : NULL;

	if (!a)
		fail_msg("%s", why);
	ctl_close(c);
	pthread_mutex_lock(&t->f[0]->eng.lock); /* what the server's thread read under it, it has read: it may change now */
	pthread_mutex_unlock(&t->f[0]->eng.lock);
	return a;
}

static json_t *ask(struct one *t, const char *cmd)
{
	return ask_of(t, cmd, NULL);
}

static void status_tells_state_and_lag(void **state)
{
	struct one *t = *state;
	json_t *a, *p;

	pthread_mutex_lock(&t->f[0]->eng.lock);
	t->f[0]->own_end = 100;
	t->f[0]->peer[2] = (struct nfs4r_core_peer){ .received = 90, .applied = 80, .stable = 70, .unreceived_bytes = 4096, .our_applied = 5, .peer_end = 6 };
	pthread_mutex_unlock(&t->f[0]->eng.lock);
	a = ask(t, "status");
	assert_string_equal(get_text(a, "volume"), "home");
	assert_string_equal(get_text(a, "state"), "serving");
	assert_int_equal(get_num(a, "incarnation"), 9);
	assert_int_equal(json_array_size(json_object_get(json_object_get(a, "view"), "members")), 3);
	assert_int_equal(json_array_size(json_object_get(a, "peers")), 2);
	p = json_array_get(json_object_get(a, "peers"), 0);
	assert_string_equal(get_text(p, "state"), "up");
	assert_string_equal(get_text(p, "version"), "0.1+build2");
	assert_string_equal(get_text(p, "commit"), "build2");
	assert_int_equal(get_num(p, "protocol"), 9);
	assert_int_equal(get_num(json_object_get(p, "protocols"), "lowest"), 9);
	assert_int_equal(get_num(json_object_get(p, "protocols"), "highest"), 10);
	assert_int_equal(get_num(json_object_get(p, "disk_formats"), "highest"), 1);
	assert_int_equal(get_num(json_object_get(p, "has_of_our_log"), "lag_bytes"), 4096);
	assert_int_equal(get_num(json_object_get(p, "has_of_our_log"), "lag_entries"), 20);
	json_decref(a);

	pthread_mutex_lock(&t->f[0]->eng.lock);
	strcpy(t->f[0]->eng.runtime.halt.why, "the disk is full");
	pthread_mutex_unlock(&t->f[0]->eng.lock);
	a = ask(t, "status");
	assert_string_equal(get_text(a, "state"), "halted");
	assert_string_equal(get_text(a, "why"), "the disk is full");
	json_decref(a);
}

static void expect_warning(struct one *t, uint64_t age_s, uint64_t bytes, nfs4r_servers retained_for, nfs4r_servers late, const char *want)
{
	json_t *a, *r;

	pthread_mutex_lock(&t->f[0]->eng.lock);
	t->f[0]->retained_for = retained_for;
	t->f[0]->late = late;
	t->f[0]->kept = (struct nfs4r_store_retained){ .bytes = bytes, .age_s = age_s };
	pthread_mutex_unlock(&t->f[0]->eng.lock);
	a = ask(t, "status");
	r = json_object_get(a, "retention");
	assert_int_equal(get_num(r, "bytes"), bytes);
	assert_int_equal(get_num(r, "age_seconds"), age_s);
	if (want)
		assert_string_equal(get_text(r, "warning"), want);
	else
		assert_true(json_is_null(json_object_get(r, "warning")));
	json_decref(a);
}

/* Before the bound is passed, by age or by bytes, and after. */
static void status_warns_before_everything_is_copied(void **state)
{
	struct one *t = *state;

	pthread_mutex_lock(&t->f[0]->eng.lock); /* before anybody reads them; they do not change while a server runs */
	t->f[0]->eng.cfg.retention_s = 30 * 86400;
	t->f[0]->eng.membership.retention.bytes_max = 1000u << 20;
	pthread_mutex_unlock(&t->f[0]->eng.lock);
	expect_warning(t, 29 * 86400, 999u << 20, 0, 0, NULL);
	expect_warning(t, 10 * 86400, 100u << 20, NFS4R_BIT(3), 0, NULL);
	expect_warning(t, 27 * 86400, 100u << 20, NFS4R_BIT(3), 0, "server 0x8 has been away for 27 days: in 3 days it will need a full copy");
	expect_warning(t, 29 * 86400, 100u << 20, NFS4R_BIT(3), 0, "server 0x8 has been away for 29 days: tomorrow it will need a full copy");
	expect_warning(t, 5 * 3600, 901u << 20, NFS4R_BIT(2) | NFS4R_BIT(3), 0,
		       "the updates retained for server 0xc (901 MiB, for 5 hours) are near the limit of 1000 MiB: soon it will need a full copy");
	expect_warning(t, 86400, 0, 0, NFS4R_BIT(2),
		       "server 0x4 has been away for longer than Retention_Bytes or Retention_Time allow: it needs a full copy when it returns");
}

/* Server 2 was removed, 3 is on its way back; then this server itself. */
static void status_tells_the_active_view(void **state)
{
	struct one *t = *state;
	struct fake *f = t->f[0];
	json_t *a, *view, *servers;

	pthread_mutex_lock(&f->eng.lock);
	f->own_end = 100;
	f->peer[2] = (struct nfs4r_core_peer){ .applied = 80, .unreceived_bytes = 4096, .our_applied = 5, .peer_end = 6 };
	f->view = (struct nfs4r_core_view){ .adopted = { .num = 65, .members = NFS4R_BIT(1) | NFS4R_BIT(3) }, .member = true };
	f->view.adopted.servers = f->view.adopted.voters = NFS4R_BIT(1) | NFS4R_BIT(2) | NFS4R_BIT(3);
	f->view.peer[2].known = true;
	f->view.peer[2].silent_ms = 12000;
	f->view.peer[3].known = f->view.peer[3].joining = true;
	f->eng.runtime.volume.lease_ms = 2000;
	f->eng.runtime.volume.silence_ms = 3000;
	f->eng.runtime.lease.until_ms = engine_now_ms() + 1500;
	pthread_mutex_unlock(&f->eng.lock);
	a = ask(t, "status");
	view = json_object_get(a, "view");
	servers = json_object_get(view, "servers");
	assert_string_equal(get_text(a, "state"), "serving");
	assert_string_equal(get_text(view, "kind"), "active");
	assert_int_equal(get_num(view, "number"), 65);
	assert_int_equal(json_array_size(json_object_get(view, "members")), 2);
	assert_in_range(get_num(view, "lease_remaining_ms"), 1, 1500);
	assert_int_equal(json_array_size(servers), 3);
	assert_string_equal(get_text(json_array_get(servers, 0), "state"), "member");
	assert_string_equal(get_text(json_array_get(servers, 1), "state"), "outside the view");
	assert_int_equal(get_num(json_array_get(servers, 1), "silent_ms"), 12000);
	assert_int_equal(get_num(json_array_get(servers, 1), "lag_entries"), 20);
	assert_int_equal(get_num(json_array_get(servers, 1), "lag_bytes"), 4096);
	assert_string_equal(get_text(json_array_get(servers, 2), "state"), "joining");
	json_decref(a);

	pthread_mutex_lock(&f->eng.lock);
	f->view.peer[2].left = true;
	pthread_mutex_unlock(&f->eng.lock);
	a = ask(t, "status");
	assert_string_equal(get_text(json_array_get(json_object_get(json_object_get(a, "view"), "servers"), 1), "state"), "shut down");
	json_decref(a);

	pthread_mutex_lock(&f->eng.lock);
	f->view.peer[2].left = false;
	f->view.peer[2].silent_ms = 100;
	f->eng.runtime.lease.until_ms = engine_now_ms() - 1;
	pthread_mutex_unlock(&f->eng.lock);
	a = ask(t, "status");
	assert_string_equal(get_text(a, "state"), "no lease");
	assert_true(json_is_null(json_object_get(json_object_get(a, "view"), "lease_remaining_ms")));
	servers = json_object_get(json_object_get(a, "view"), "servers");
	assert_string_equal(get_text(json_array_get(servers, 1), "state"), "catching up");
	json_decref(a);

	pthread_mutex_lock(&f->eng.lock);
	f->view.peer[2].caught_up = true;
	f->view.joining = true;
	pthread_mutex_unlock(&f->eng.lock);
	a = ask(t, "status");
	assert_string_equal(get_text(a, "state"), "joining");
	assert_non_null(strstr(get_text(a, "why"), "1 entries behind"));
	servers = json_object_get(json_object_get(a, "view"), "servers");
	assert_string_equal(get_text(json_array_get(servers, 1), "state"), "caught up");
	json_decref(a);

	pthread_mutex_lock(&f->eng.lock);
	f->view.member = f->view.joining = false;
	pthread_mutex_unlock(&f->eng.lock);
	a = ask(t, "status");
	assert_string_equal(get_text(a, "state"), "outside the view");
	json_decref(a);

	pthread_mutex_lock(&f->eng.lock);
	f->view.adopted.voters = NFS4R_BIT(1) | NFS4R_BIT(3);
	f->view.peer[2].caught_up = false;
	f->view.learner = true;
	pthread_mutex_unlock(&f->eng.lock);
	a = ask(t, "status");
	assert_string_equal(get_text(a, "state"), "learner");
	view = json_object_get(a, "view");
	assert_int_equal(json_array_size(json_object_get(view, "voters")), 2);
	assert_string_equal(get_text(json_array_get(json_object_get(view, "servers"), 1), "state"), "learner");
	json_decref(a);

	pthread_mutex_lock(&f->eng.lock);
	f->view.taken_out = true;
	f->view.learner = false;
	pthread_mutex_unlock(&f->eng.lock);
	a = ask(t, "status");
	assert_string_equal(get_text(a, "state"), "removed from the volume");
	assert_string_equal(get_text(a, "why"), "server 1 was removed");
	json_decref(a);
}

static void controls_are_named_by_path_and_bounded(void **state)
{
	struct one *t = *state;
	json_t *a, *list;

	t->f[0]->ncontrols = 5;
	a = ask(t, "controls");
	list = json_object_get(a, "controls");
	assert_int_equal(json_array_size(list), 5);
	assert_string_equal(get_text(json_array_get(list, 0), "path"), "/");
	assert_string_equal(get_text(json_array_get(list, 2), "path"), "/etc/passwd");
	assert_true(json_is_false(json_object_get(a, "truncated")));
	json_decref(a);

	pthread_mutex_lock(&t->f[0]->eng.lock);
	t->f[0]->ncontrols = CTL_CONTROLS_MAX + 1;
	pthread_mutex_unlock(&t->f[0]->eng.lock);
	a = ask(t, "controls");
	assert_int_equal(json_array_size(json_object_get(a, "controls")), CTL_CONTROLS_MAX);
	assert_int_equal(get_num(a, "total"), CTL_CONTROLS_MAX + 1);
	assert_true(json_is_true(json_object_get(a, "truncated")));
	json_decref(a);
}

static const char *type_of(const json_t *row, const char *key)
{
	const json_t *v = json_object_get(row, key);

	return !v ? "missing" : json_is_null(v) ? "null" :
		json_is_boolean(v)		? "boolean" :
		json_is_integer(v)		? "integer" :
						  "other";
}

static void own_controls_tell_more_than_those_of_others(void **state)
{
	static const char *const keys[][2] = { { "ops_waiting", "integer" }, { "ops_executing", "integer" }, { "ends_in_ms", "integer" }, { "closes_at", "null" }, { "wanted_by", "integer" }, { "reads_served", "integer" }, { "policy", "boolean" }, { "acked_by_all", "boolean" }, { "acting", "boolean" } };
	struct one *t = *state;
	struct nfs4r_control_info rows[2] = { { .owner = 1, .pid = { 1, 7 }, .kind = NFS4R_PROPOSED, .won = true, .acting = true },
					      { .owner = 2, .pid = { 2, 7 }, .kind = NFS4R_PROPOSED, .won = true } };
	json_t *a, *own, *other;

	rows[0].control = (struct nfs4r_control){ t->f[0]->obj[1].oid, NFS4R_DEEP_PLUS };
	rows[1].control = (struct nfs4r_control){ t->f[0]->obj[2].oid, NFS4R_SHALLOW };
	rows[0].below[1] = 3;
	rows[0].below[15] = 4;
	rows[0].acks = NFS4R_BIT(1) | NFS4R_BIT(3);
	rows[0].waiting = 5;
	rows[0].executing = 6;
	rows[0].ends_in_ms = 700;
	rows[0].wanted_by = 2;
	rows[0].reads_served = 8;
	rows[0].policy = true;
	t->f[0]->rows = rows;
	t->f[0]->ncontrols = 2;
	a = ask(t, "controls");
	assert_int_equal(json_array_size(json_object_get(a, "servers")), 3);
	own = json_array_get(json_object_get(a, "controls"), 0);
	other = json_array_get(json_object_get(a, "controls"), 1);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		assert_string_equal(type_of(own, keys[i][0]), keys[i][1]);
		assert_string_equal(type_of(other, keys[i][0]), "null");
	}
	assert_string_equal(get_text(own, "depth"), "deep+");
	assert_int_equal(get_num(json_object_get(own, "below"), "1"), 3);
	assert_int_equal(get_num(json_object_get(own, "below"), "15"), 4);
	assert_int_equal(json_object_size(json_object_get(own, "below")), 2);
	assert_int_equal(json_object_size(json_object_get(other, "below")), 0);
	assert_int_equal(json_array_size(json_object_get(own, "acks")), 2);
	assert_int_equal(get_num(own, "ops_waiting"), 5);
	assert_int_equal(get_num(own, "ends_in_ms"), 700);
	json_decref(a);

	rows[0].closing = true;
	rows[0].closes_at = 99;
	rows[0].ends_in_ms = -1;
	a = ask(t, "controls");
	own = json_array_get(json_object_get(a, "controls"), 0);
	assert_string_equal(get_text(own, "state"), "closing");
	assert_string_equal(type_of(own, "ends_in_ms"), "null");
	assert_int_equal(get_num(own, "closes_at"), 99);
	json_decref(a);
}

/* One deep control decides for many objects: it is not what is left out. */
static void deep_controls_come_before_shallow_ones(void **state)
{
	struct one *t = *state;
	uint32_t n = CTL_CONTROLS_MAX + 50, deep = 0;
	struct nfs4r_control_info *rows = calloc(n, sizeof(rows[0]));
	json_t *a, *row;
	size_t i;

	for (uint32_t k = 0; k < n; k++) {
		rows[k].owner = 1;
		rows[k].control.depth = k >= n - 40 || k == CTL_CONTROLS_MAX - 1 ? NFS4R_DEEP : NFS4R_SHALLOW;
	}
	t->f[0]->rows = rows;
	t->f[0]->ncontrols = n;
	a = ask(t, "controls");
	json_array_foreach(json_object_get(a, "controls"), i, row)
		deep += strcmp(get_text(row, "depth"), "deep") == 0;
	assert_int_equal(json_array_size(json_object_get(a, "controls")), CTL_CONTROLS_MAX);
	assert_int_equal(deep, 41);
	assert_int_equal(get_num(a, "total"), n);
	json_decref(a);

	for (uint32_t k = 0; k < n; k++) /* none to give up */
		rows[k].control.depth = NFS4R_DEEP;
	a = ask(t, "controls");
	assert_int_equal(json_array_size(json_object_get(a, "controls")), CTL_CONTROLS_MAX);
	json_decref(a);
	t->f[0]->ncontrols = 0;
	free(rows);
}

static void operations_tell_what_they_wait_for(void **state)
{
	static const char *const keys[] = { "election", "primary", "local", "reply" };
	static const enum nfs4r_wait waits[] = { NFS4R_WAIT_ELECTION, NFS4R_WAIT_PRIMARY, NFS4R_WAIT_LOCAL, NFS4R_WAIT_REPLY };
	struct one *t = *state;
	struct fake *f = t->f[0];
	json_t *a, *w;
	size_t i;

	for (i = 0; i < 4; i++)
		f->waiting[i] = (struct nfs4r_waiting_info){ .op = NFS4R_OP_WRITE, .wait = waits[i], .obj = f->obj[2].oid, .waited_ms = 10 * i };
	f->waiting[0].op = NFS4R_OP_CREATE;
	f->waiting[0].obj = f->obj[1].oid;
	nfs4r_name_set(&f->waiting[0].name, "new\xff", 4);
	f->waiting[0].on = NFS4R_BIT(2) | NFS4R_BIT(3);
	f->waiting[3].remote = true;
	f->waiting[3].from = 3;
	f->waiting[3].attempts = 2;
	f->waiting[3].obj = (struct nfs4r_oid){ { 9 } }; /* not known here */
	f->nwaiting = 4;
	a = ask(t, "controls");
	assert_int_equal(get_num(a, "waiting_total"), 4);
	assert_true(json_is_false(json_object_get(a, "waiting_truncated")));
	json_array_foreach(json_object_get(a, "waiting"), i, w)
	{
		assert_string_equal(get_text(w, "wait"), keys[i]);
		assert_true(strlen(get_text(w, "state")) > 5);
		assert_int_equal(get_num(w, "waited_ms"), 10 * i);
	}
	w = json_array_get(json_object_get(a, "waiting"), 0);
	assert_string_equal(get_text(w, "op"), "create");
	assert_string_equal(get_text(w, "path"), "/etc");
	assert_string_equal(get_text(w, "name"), "new\\377");
	assert_int_equal(json_integer_value(json_array_get(json_object_get(w, "on"), 1)), 3);
	assert_string_equal(type_of(w, "from"), "null");
	w = json_array_get(json_object_get(a, "waiting"), 3);
	assert_string_equal(type_of(w, "path"), "null");
	assert_string_equal(type_of(w, "name"), "null");
	assert_true(json_is_true(json_object_get(w, "remote")));
	assert_int_equal(get_num(w, "from"), 3);
	json_decref(a);

	f->nwaiting = CTL_WAITING_MAX + 1;
	a = ask(t, "controls");
	assert_int_equal(json_array_size(json_object_get(a, "waiting")), CTL_WAITING_MAX);
	assert_int_equal(get_num(a, "waiting_total"), CTL_WAITING_MAX + 1);
	assert_true(json_is_true(json_object_get(a, "waiting_truncated")));
	json_decref(a);
}

static void locks_are_named_by_path_and_client(void **state)
{
	struct one *t = *state;
	struct fake *f = t->f[0];
	json_t *a, *row;

	f->locks[0] = (struct nfs4r_lock_info){ .oid = f->obj[2].oid, .lock = { .type = NFS4R_LOCK_WRITE, .start = 10, .last = 19 }, .state = NFS4R_LOCK_SET, .age_ms = 1500, .client = "Linux NFSv4.2 paris", .address = "10.0.1.2" };
	f->locks[1] = (struct nfs4r_lock_info){ .oid = f->obj[2].oid, .lock = { .type = NFS4R_LOCK_READ, .last = UINT64_MAX }, .state = NFS4R_LOCK_WAITING, .client = "odd\nname" };
	f->nlocks = 2;
	a = ask(t, "locks");
	assert_int_equal(get_num(a, "total"), 2);
	row = json_array_get(json_object_get(a, "locks"), 0);
	assert_string_equal(get_text(row, "path"), "/etc/passwd");
	assert_string_equal(get_text(row, "state"), "held");
	assert_string_equal(get_text(row, "type"), "write");
	assert_int_equal(get_num(row, "start"), 10);
	assert_int_equal(get_num(row, "length"), 10);
	assert_int_equal(get_num(row, "age_ms"), 1500);
	assert_string_equal(get_text(row, "client"), "Linux NFSv4.2 paris");
	assert_string_equal(get_text(row, "address"), "10.0.1.2");
	row = json_array_get(json_object_get(a, "locks"), 1);
	assert_string_equal(get_text(row, "state"), "waiting");
	assert_string_equal(type_of(row, "length"), "null");
	assert_string_equal(type_of(row, "address"), "null");
	assert_string_equal(get_text(row, "client"), "odd\\012name");
	json_decref(a);
	a = ask(t, "status");
	assert_int_equal(get_num(json_object_get(a, "locks"), "held"), 2);
	json_decref(a);
}

/* Of the files that this server controls those of all servers' clients, of the others its own. */
static void locks_of_all_servers_are_named_by_their_lists_of_clients(void **state)
{
	struct one *t = *state;
	struct fake *f = t->f[0];
	json_t *a, *row;

	f->locks_shared = true;
	engine_volume_follow(&f->eng);
	f->decided[0] = (struct nfs4r_core_lock){ .place = NFS4R_LOCK_AS_AUTHORITY, .oid = f->obj[2].oid, .lock = { .lock = { .owner = { .client = { 7 } }, .type = NFS4R_LOCK_WRITE, .start = 10, .last = 19 }, .holder = 2 }, .state = NFS4R_LOCK_SET };
	f->decided[1] = (struct nfs4r_core_lock){ .place = NFS4R_LOCK_AS_AUTHORITY, .oid = f->obj[2].oid, .lock = { .lock = { .owner = { .client = { 8 } }, .type = NFS4R_LOCK_WRITE, .last = 99 }, .holder = 1 }, .state = NFS4R_LOCK_WAITING };
	f->decided[2] = (struct nfs4r_core_lock){ .place = NFS4R_LOCK_AS_HOLDER, .oid = f->obj[2].oid, .lock = { .lock = { .owner = { .client = { 8 } }, .type = NFS4R_LOCK_WRITE, .last = 99 }, .holder = 1 }, .state = NFS4R_LOCK_WAITING };
	f->ndecided = 3;
	f->locks[0] = (struct nfs4r_lock_info){ .oid = f->obj[2].oid, .lock = { .owner = { .client = { 8 } }, .type = NFS4R_LOCK_WRITE, .last = 99 }, .state = NFS4R_LOCK_WAITING };
	f->locks[1] = (struct nfs4r_lock_info){ .oid = f->obj[1].oid, .lock = { .owner = { .client = { 8 } }, .type = NFS4R_LOCK_READ, .last = 5 }, .state = NFS4R_LOCK_SET };
	f->nlocks = 2;
	f->clients[0] = (struct nfs4r_client_entry){ .server = 1, .client = { .id = { 8 }, .name = "paris", .address = "10.0.1.2" } };
	f->clients[1] = (struct nfs4r_client_entry){ .server = 2, .client = { .id = { 7 }, .name = "rome", .address = "10.0.2.2" } };
	f->clients[2] = (struct nfs4r_client_entry){ .server = 2, .client = { .id = { 8 }, .name = "paris, cloned", .address = "10.0.2.3" } };
	f->nclients = 3;
	a = ask(t, "locks");
	assert_int_equal(get_num(a, "total"), 3);
	row = json_array_get(json_object_get(a, "locks"), 0);
	assert_string_equal(get_text(row, "state"), "held");
	assert_int_equal(get_num(row, "server"), 2);
	assert_string_equal(get_text(row, "client"), "rome");
	assert_string_equal(get_text(row, "address"), "10.0.2.2");
	row = json_array_get(json_object_get(a, "locks"), 1);
	assert_string_equal(get_text(row, "state"), "waiting");
	assert_int_equal(get_num(row, "server"), 1);
	assert_string_equal(get_text(row, "client"), "paris");
	row = json_array_get(json_object_get(a, "locks"), 2);
	assert_string_equal(get_text(row, "type"), "read");
	assert_int_equal(get_num(row, "server"), 1);
	assert_string_equal(get_text(row, "client"), "paris");
	json_decref(a);
	a = ask(t, "status");
	assert_int_equal(get_num(json_object_get(json_object_get(a, "locks"), "decided_here"), "held"), 3);
	json_decref(a);
}

/* Nobody controls one file: its row has the locks of all servers' clients. Server 3 controls the other one: only this server's are known. */
static void locks_of_files_without_a_table_here_come_from_the_row_or_are_another_servers(void **state)
{
	struct one *t = *state;
	struct fake *f = t->f[0];
	json_t *a, *row;

	f->locks_shared = true;
	engine_volume_follow(&f->eng);
	f->row_of = f->obj[2].oid;
	f->row[0] = (struct nfs4r_file_lock){ .lock = { .owner = { .client = { 7 } }, .type = NFS4R_LOCK_WRITE, .start = 10, .last = 19 }, .holder = 2 };
	f->row[1] = (struct nfs4r_file_lock){ .lock = { .owner = { .client = { 8 } }, .type = NFS4R_LOCK_WRITE, .start = 30, .last = 39 }, .holder = 1 };
	f->nrow = 2;
	f->decides = 3;
	f->locks[0] = (struct nfs4r_lock_info){ .oid = f->obj[2].oid, .lock = { .owner = { .client = { 8 } }, .type = NFS4R_LOCK_WRITE, .start = 10, .last = 10 }, .state = NFS4R_LOCK_WAITING };
	f->locks[1] = (struct nfs4r_lock_info){ .oid = f->obj[2].oid, .lock = { .owner = { .client = { 8 } }, .type = NFS4R_LOCK_WRITE, .start = 30, .last = 39 }, .state = NFS4R_LOCK_SET, .age_ms = 2000 };
	f->nlocks = 2;
	f->clients[0] = (struct nfs4r_client_entry){ .server = 2, .client = { .id = { 7 }, .name = "rome", .address = "10.0.2.2" } };
	f->nclients = 1;
	a = ask_of(t, "locks", "/etc/passwd");
	assert_string_equal(type_of(a, "decided_by"), "null");
	assert_int_equal(get_num(a, "total"), 3);
	row = json_array_get(json_object_get(a, "locks"), 0);
	assert_string_equal(get_text(row, "state"), "held");
	assert_string_equal(get_text(row, "client"), "rome");
	assert_int_equal(get_num(row, "server"), 2);
	assert_string_equal(type_of(row, "age_ms"), "null");
	assert_string_equal(type_of(row, "decided_by"), "null");
	row = json_array_get(json_object_get(a, "locks"), 1);
	assert_string_equal(get_text(row, "state"), "held");
	assert_int_equal(get_num(row, "start"), 30);
	assert_int_equal(get_num(row, "server"), 1);
	assert_int_equal(get_num(row, "age_ms"), 2000);
	row = json_array_get(json_object_get(a, "locks"), 2);
	assert_string_equal(get_text(row, "state"), "waiting");
	json_decref(a);
	a = ask(t, "locks");
	assert_int_equal(get_num(a, "total"), 3);
	json_decref(a);
	f->gap = (struct nfs4r_control){ f->obj[2].oid, NFS4R_SHALLOW }; /* its row is of the past */
	a = ask(t, "locks");
	assert_int_equal(get_num(a, "total"), 2);
	json_decref(a);
	f->gap.depth = 0;
	f->nrow = 0;
	a = ask_of(t, "locks", "/etc/passwd");
	assert_int_equal(get_num(a, "decided_by"), 3);
	assert_int_equal(get_num(a, "total"), 2);
	assert_int_equal(get_num(json_array_get(json_object_get(a, "locks"), 0), "decided_by"), 3);
	json_decref(a);
}

static void opens_that_deny_and_graces_are_named(void **state)
{
	struct one *t = *state;
	struct fake *f = t->f[0];
	json_t *a, *row, *of;

	f->locks_shared = true;
	engine_volume_follow(&f->eng);
	f->denies[0] = (struct nfs4r_core_deny){ .oid = f->obj[2].oid, .server = 1, .opens = { .readers = 1, .writers = 1, .deny_writers = 1 }, .guards = true };
	f->denies[1] = (struct nfs4r_core_deny){ .oid = f->obj[2].oid, .server = 2, .opens = { .readers = 3 }, .guards = true, .until_ms = 1 };
	f->ndenies = 2;
	f->gap = (struct nfs4r_control){ f->obj[1].oid, NFS4R_DEEP };
	f->gap_lists = NFS4R_BIT(2);
	f->gap_clients = NFS4R_BIT(1) | NFS4R_BIT(3);
	f->gap_until_ms[3] = UINT64_MAX / 2;
	a = ask(t, "locks");
	assert_int_equal(get_num(a, "total"), 0);
	assert_int_equal(get_num(a, "total_shares"), 2);
	row = json_array_get(json_object_get(a, "shares"), 0);
	assert_string_equal(get_text(row, "path"), "/etc/passwd");
	assert_int_equal(get_num(row, "writers"), 1);
	assert_int_equal(get_num(row, "deny_write"), 1);
	assert_int_equal(get_num(row, "deny_read"), 0);
	assert_int_equal(get_num(row, "decided_by"), 1);
	assert_string_equal(type_of(row, "reclaim_ms"), "null");
	assert_string_equal(type_of(json_array_get(json_object_get(a, "shares"), 1), "reclaim_ms"), "integer");
	assert_int_equal(get_num(a, "total_graces"), 1);
	row = json_array_get(json_object_get(a, "graces"), 0);
	assert_string_equal(get_text(row, "path"), "/etc");
	assert_true(json_is_true(json_object_get(row, "below")));
	assert_true(get_num(row, "age_ms") > 0);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(row, "servers"), 0)), 2);
	of = json_object_get(row, "clients_of");
	assert_int_equal(json_array_size(of), 2);
	assert_int_equal(get_num(json_array_get(of, 0), "server"), 1);
	assert_string_equal(type_of(json_array_get(of, 0), "left_ms"), "null");
	assert_int_equal(get_num(json_array_get(of, 1), "server"), 3);
	assert_true(get_num(json_array_get(of, 1), "left_ms") > 0);
	json_decref(a);
	a = ask_of(t, "locks", "/etc/passwd");
	assert_int_equal(get_num(a, "total_shares"), 2);
	assert_int_equal(get_num(a, "total_graces"), 0);
	json_decref(a);
	a = ask(t, "status");
	row = json_object_get(a, "locks");
	assert_int_equal(get_num(json_object_get(row, "shares"), "denying"), 2);
	assert_int_equal(get_num(json_object_get(row, "graces"), "objects"), 1);
	assert_true(get_num(json_object_get(row, "graces"), "age_ms") > 0);
	assert_int_equal(get_num(json_object_get(row, "reclaiming"), "clients"), 1);
	assert_int_equal(get_num(json_object_get(row, "room"), "free"), get_num(row, "max"));
	json_decref(a);
}

static void locks_of_one_file_and_no_more_than_an_answer_takes(void **state)
{
	struct one *t = *state;
	struct fake *f = t->f[0];
	json_t *a;

	f->locks[0] = (struct nfs4r_lock_info){ .oid = f->obj[2].oid, .lock = { .type = NFS4R_LOCK_WRITE }, .state = NFS4R_LOCK_SET };
	f->locks[1] = (struct nfs4r_lock_info){ .oid = f->obj[1].oid, .lock = { .type = NFS4R_LOCK_WRITE }, .state = NFS4R_LOCK_SET };
	f->nlocks = 2;
	f->nlocks_more = CTL_LOCKS_MAX;
	a = ask(t, "locks");
	assert_int_equal(json_array_size(json_object_get(a, "locks")), CTL_LOCKS_MAX);
	assert_int_equal(get_num(a, "total"), CTL_LOCKS_MAX + 2);
	assert_true(json_is_true(json_object_get(a, "truncated")));
	json_decref(a);
	a = ask_of(t, "locks", "/etc/passwd");
	assert_int_equal(get_num(a, "total"), 1);
	assert_true(json_is_false(json_object_get(a, "truncated")));
	json_decref(a);
	a = ask_of(t, "locks", "/etc");
	assert_string_equal(get_text(a, "error"), "that is no file: only files have locks");
	json_decref(a);
	a = ask_of(t, "locks", "/nowhere");
	assert_non_null(strstr(get_text(a, "error"), "there is no /nowhere in this volume"));
	json_decref(a);
}

static void stats_are_counters_and_latencies(void **state)
{
	struct one *t = *state;
	struct nfs4r_core_stats *st = &t->f[0]->stats;
	json_t *a, *l;

	st->escalations = 3;
	st->won = (struct nfs4r_core_hist){ .n = 4, .sum_ms = 322, .max_ms = 82, .bucket = { [7] = 4 } };
	a = ask(t, "stats");
	assert_int_equal(get_num(json_object_get(a, "core"), "elections"), 42);
	assert_int_equal(get_num(json_object_get(a, "core"), "escalations"), 3);
	assert_int_equal(get_num(json_object_get(a, "store"), "segments"), 2);
	l = json_object_get(json_object_get(a, "latencies"), "won");
	assert_int_equal(get_num(l, "n"), 4);
	assert_true(get_real(l, "mean_ms") == 80.5);
	assert_true(get_real(l, "p50_ms") == 73 && get_real(l, "p99_ms") == 82);
	assert_int_equal(get_num(l, "max_ms"), 82);
	assert_int_equal(json_array_size(json_object_get(l, "buckets")), NFS4R_CORE_BUCKETS);
	assert_int_equal(get_num(json_array_get(json_object_get(l, "buckets"), 7), "below_ms"), 128);
	assert_int_equal(get_num(json_array_get(json_object_get(l, "buckets"), 7), "n"), 4);
	assert_string_equal(type_of(json_array_get(json_object_get(l, "buckets"), NFS4R_CORE_BUCKETS - 1), "below_ms"), "null");
	assert_string_equal(type_of(json_object_get(json_object_get(a, "latencies"), "reply"), "p50_ms"), "null"); /* none */
	json_decref(a);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make, unmake)
	const struct CMUnitTest tests[] = {
		T(status_tells_state_and_lag),
		T(status_warns_before_everything_is_copied),
		T(status_tells_the_active_view),
		T(controls_are_named_by_path_and_bounded),
		T(own_controls_tell_more_than_those_of_others),
		T(deep_controls_come_before_shallow_ones),
		T(operations_tell_what_they_wait_for),
		T(locks_are_named_by_path_and_client),
		T(locks_of_all_servers_are_named_by_their_lists_of_clients),
		T(locks_of_files_without_a_table_here_come_from_the_row_or_are_another_servers),
		T(opens_that_deny_and_graces_are_named),
		T(locks_of_one_file_and_no_more_than_an_answer_takes),
		T(stats_are_counters_and_latencies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
