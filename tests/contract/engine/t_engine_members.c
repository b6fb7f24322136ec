/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Servers added and taken out while the others work (log 9.1), with real engines, asked for as nfs4rctl asks. The configuration files are never
 * changed: they name servers 1 to 3, or the first one alone, that of a new one itself, too.
 */
#include "lib/unit.h"
#include <stdio.h>
#include <stdlib.h>

#include "core/core_state.h"
#include "engine/admin/admin_int.h"
#include "engine/engine_int.h"
#include "machine.h"
#include "steps.h"

#define LEASE_MS 600
#define SILENCE_MS 4000 /* where it has to be long after the lease's end */
#define SET2(a, b) (NFS4R_BIT(a) | NFS4R_BIT(b))
#define SET3(a, b, c) (SET2(a, b) | NFS4R_BIT(c))
#define ALL4 (SET3(1, 2, 3) | NFS4R_BIT(4))

static int begin_with(void **state, int first, uint32_t durability, bool machines, uint32_t silence_ms)
{
	struct cluster *c = cluster_new();

	c->first = first;
	c->machines = machines;
	c->lease_ms = LEASE_MS;
	c->silence_ms = silence_ms;
	c->durability = durability;
	cluster_begin(c, state);
	wait_all_serve(c);
	return 0;
}

static int begin(void **state, int first, uint32_t durability, bool machines)
{
	return begin_with(state, first, durability, machines, LEASE_MS);
}

static int setup_patient(void **state)
{
	return begin_with(state, SITES, NFS4R_DURABILITY_LOCAL, false, SILENCE_MS);
}

static int setup(void **state)
{
	return begin(state, SITES, NFS4R_DURABILITY_LOCAL, false);
}

static int setup_commit(void **state)
{
	return begin(state, SITES, NFS4R_DURABILITY_COMMIT, false);
}

static int setup_machines(void **state)
{
	return begin(state, SITES, NFS4R_DURABILITY_COMMIT, true);
}

/* Nothing but an update syncs a journal for a while: wait_journal_rests(). */
static int setup_machines_that_wait(void **state)
{
	struct cluster *c = cluster_new();

	c->machines = true;
	c->lease_ms = LEASE_MS;
	c->silence_ms = 20000; /* the test itself waits that long, once; and a slow machine has half of it */
	c->idle_ms = c->checkpoint_ms = 600000;
	c->durability = NFS4R_DURABILITY_COMMIT;
	cluster_begin(c, state);
	wait_all_serve(c);
	return 0;
}

static int setup_lone(void **state)
{
	return begin(state, 1, NFS4R_DURABILITY_COMMIT, false);
}

static int setup_lone_machines(void **state)
{
	return begin(state, 1, NFS4R_DURABILITY_LOCAL, true);
}

/* ---- steps ---- */

/* The answer must not be an error; it is given up. */
static void granted(json_t *a)
{
	const char *error = json_string_value(json_object_get(a, "error"));

	assert_non_null(a);
	if (error)
		fail_msg("%s", error);
	json_decref(a);
}

static void refused(json_t *a, const char *text)
{
	const char *error = json_string_value(json_object_get(a, "error"));

	if (!error)
		fail_msg("it is not refused; '%s' was expected", text);
	if (!strstr(error, text))
		fail_msg("'%s' does not say '%s'", error, text);
	json_decref(a);
}

static json_t *add(struct cluster *c, int at, int id)
{
	char host[32];

	snprintf(host, sizeof(host), "127.0.0.%d", id);
	json_t *req = json_pack("{s:i, s:s, s:i}", "server", id, "host", host, "port", c->port), *a = admin_add_server(c->site[at].eng, req);

	json_decref(req);
	return a;
}

static json_t *take_out(struct cluster *c, int at, int id, bool abandon)
{
	json_t *req = json_pack("{s:i, s:b, s:b}", "server", id, "abandon", abandon, "yes", true), *a = admin_remove_server(c->site[at].eng, req);

	json_decref(req);
	return a;
}

static bool serves(struct site *s)
{
	struct nfs4r_core_view v;

	if (!engine_has_lease(s->eng))
		return false;
	get_view(s, &v);
	return v.member && !v.joining && !v.repairing;
}

/* All of @set go by a view in which these are the voters and servers, and serve. */
static void wait_voters(struct cluster *c, nfs4r_servers set)
{
	struct nfs4r_core_view v = { 0 };
	int id = 1;

	for (int i = 0; i < 6000; i++) {
		for (id = 1; id <= SITES_MAX; id++) {
			if (!(set & NFS4R_BIT(id)))
				continue;
			get_view(&c->site[id], &v);
			if (v.adopted.voters != set || v.adopted.servers != set || !serves(&c->site[id]))
				break;
		}
		if (id > SITES_MAX)
			return;
		pause_ms(10);
	}
	fail_msg("server %d: voters 0x%x, servers 0x%x, members 0x%x, 0x%x expected; %s", id, (unsigned)v.adopted.voters, (unsigned)v.adopted.servers,
		 (unsigned)v.adopted.members, (unsigned)set, v.waits);
}

static void add_and_wait(struct cluster *c, int at, int id, nfs4r_servers then)
{
	granted(add(c, at, id));
	wait_voters(c, then);
}

/* The disk of a server that does not run. */
static void empty_disk(struct cluster *c, int id)
{
	expect_shell("", "rm -rf %s %s && mkdir %s 2>&1", c->site[id].store, c->site[id].data, c->site[id].data);
}

static struct nfs4r_oid root_file(struct site *s, const char *name, const char *text)
{
	struct nfs4r_oid root = site_root(s), f = make_file(s, &root, name, text);

	assert_int_equal(site_close(s, &f), NFS4R_OK);
	return f;
}

static void serves_nothing(struct site *s, const struct nfs4r_oid *f)
{
	struct nfs4r_read rd = { .type = NFS4R_RD_GETATTR, .oid = *f };
	struct nfs4r_op op = { .type = NFS4R_OP_MKDIR, .dir = site_root(s) };
	bool local;

	assert_int_equal(nfs4r_read(s->eng, &rd, &local), NFS4R_DELAY);
	assert_false(local);
	nfs4r_read_fini(&rd);
	nfs4r_name_set(&op.name, "no", 2);
	assert_int_equal(nfs4r_update(s->eng, &op, NULL, NULL), NFS4R_DELAY);
	nfs4r_op_fini(&op);
}

/* ---- one more, one less ---- */

static void a_fourth_server_gets_everything(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = root_file(&c->site[1], "f", "before"), g;

	cluster_start(c, 4);
	site_says(&c->site[4], "nfs4rctl server add 4 ADDRESS at a member", 20);
	add_and_wait(c, 1, 4, ALL4);
	site_says(&c->site[2], "server 4 (127.0.0.4", 5);
	site_says(&c->site[1], "server 4 has caught up: it is now a voter and a member of the active view; members now 1, 2, 3, 4", 5);
	site_says(&c->site[4], "this server has caught up: it is now a voter and a member of the active view (members 1, 2, 3, 4)", 5);
	expect_content(&c->site[4], &f, "before");
	g = root_file(&c->site[4], "g", "by the new one");
	expect_content(&c->site[2], &g, "by the new one");
	cluster_settle_of(c, ALL4);
	refused(add(c, 2, 4), "server 4: it already belongs to this volume");
	pause_ms(2 * (long)c->idle_ms + 1000); /* all controls are let go, so that nothing waits for server 1 */
	/* It counts: two of four are no majority, three are. */
	cluster_stop(c, 1);
	site_says(&c->site[2], "server 1 was removed from the active view", 20);
	write_text(&c->site[4], &f, "three go on");
	assert_int_equal(site_close(&c->site[4], &f), NFS4R_OK);
	expect_content(&c->site[3], &f, "three go on");
	cluster_start(c, 1);
	wait_voters(c, ALL4);
	cluster_settle_of(c, ALL4);
}

static void one_is_taken_out_and_hears_it(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = root_file(&c->site[3], "f", "with three"), g;

	cluster_settle(c);
	pause_ms(2 * (long)c->idle_ms + 1000); /* it lets go of its controls */
	granted(take_out(c, 1, 3, false));
	wait_voters(c, SET2(1, 2));
	site_says(&c->site[3], "this server was removed from the volume and serves nothing", 20);
	site_says(&c->site[2], "server 3 was removed from the volume", 5);
	serves_nothing(&c->site[3], &f);
	write_text(&c->site[2], &f, "two go on!");
	expect_content(&c->site[1], &f, "two go on!");
	cluster_stop(c, 3);
	cluster_start(c, 3); /* it knows */
	serves_nothing(&c->site[3], &f);
	refused(take_out(c, 1, 3, false), "server 3 does not belong to this volume");
	refused(take_out(c, 1, 2, false), "no majority without it");
	/* And back again, with what it had: that is compared, and nothing of it counts. */
	add_and_wait(c, 1, 3, SET3(1, 2, 3));
	expect_content(&c->site[3], &f, "two go on!");
	cluster_settle(c);
	pause_ms(2 * (long)c->idle_ms + 1000);
	/* And with nothing of what it had. */
	granted(take_out(c, 2, 3, false));
	wait_voters(c, SET2(1, 2));
	cluster_stop(c, 3);
	empty_disk(c, 3);
	cluster_start(c, 3);
	add_and_wait(c, 2, 3, SET3(1, 2, 3));
	expect_content(&c->site[3], &f, "two go on!");
	g = root_file(&c->site[3], "g", "new start");
	expect_content(&c->site[1], &g, "new start");
	cluster_settle(c);
}

static void who_was_down_is_refused(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = root_file(&c->site[1], "f", "with three");

	cluster_settle(c);
	pause_ms(2 * (long)c->idle_ms + 1000);
	cluster_stop(c, 1); /* the lowest id: all others called it, and do no more */
	granted(take_out(c, 2, 1, true));
	wait_voters(c, SET2(2, 3));
	write_text(&c->site[2], &f, "two go on!");
	cluster_start(c, 1);
	site_says(&c->site[1], "server 1 was removed from this volume; to bring it back, start it with an empty store", 20);
	serves_nothing(&c->site[1], &f);
	expect_content(&c->site[3], &f, "two go on!");
}

static void the_new_set_survives_a_restart_of_all(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = root_file(&c->site[1], "f", "before");

	cluster_start(c, 4);
	add_and_wait(c, 1, 4, ALL4);
	cluster_settle_of(c, ALL4);
	for (int i = 1; i <= 4; i++)
		cluster_stop(c, i);
	for (int i = 1; i <= 4; i++)
		cluster_start(c, i);
	wait_voters(c, ALL4);
	site_says(&c->site[1], "server 4 is at 127.0.0.4", 1);
	site_says(&c->site[1], "the configuration of this server lacks it: correct its Server blocks", 1);
	write_text(&c->site[4], &f, "after!");
	expect_content(&c->site[1], &f, "after!");
	cluster_settle_of(c, ALL4);
}

/* ---- a majority is lost for good ---- */

static json_t *reconfigure(struct cluster *c, int at, nfs4r_servers set, bool yes)
{
	json_t *list = json_array(), *req, *a;

	for (int id = 1; id <= SITES_MAX; id++)
		if (set & NFS4R_BIT(id))
			json_array_append_new(list, json_integer(id));
	req = json_pack("{s:o, s:b}", "servers", list, "yes", yes);
	a = admin_force_reconfigure(c->site[at].eng, req);
	json_decref(req);
	return a;
}

static void lose_lease(struct site *s)
{
	struct nfs4r_core_view v;

	get_view(s, &v);
	for (int i = 0; i < 1000 && v.lease_remaining_ms; i++) {
		pause_ms(10);
		get_view(s, &v);
	}
	assert_int_equal(v.lease_remaining_ms, 0);
}

static void wait_no_lease(struct site *s)
{
	lose_lease(s);
	pause_ms(2 * LEASE_MS); /* nobody is heard */
}

static void the_last_one_goes_on(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = root_file(&c->site[1], "f", "with three"), g;
	struct nfs4r_core_view v;
	json_t *a;

	cluster_settle(c);
	refused(reconfigure(c, 3, NFS4R_BIT(3), false), "the volume works");
	cluster_stop(c, 1);
	cluster_stop(c, 2);
	empty_disk(c, 2);
	wait_no_lease(&c->site[3]);
	refused(reconfigure(c, 3, SET2(1, 2), false), "this server is not among the named servers");
	refused(reconfigure(c, 3, SET2(3, 5), false), "not a voter of this volume");
	a = reconfigure(c, 3, NFS4R_BIT(3), false); /* only asked */
	assert_int_equal(json_array_size(json_object_get(a, "off")), 2);
	granted(a);
	get_view(&c->site[3], &v);
	assert_int_equal(v.reconf_epoch, 0);
	granted(reconfigure(c, 3, NFS4R_BIT(3), true));
	site_says(&c->site[3], "confirms that all servers are off for good except 3", 1);
	wait_voters(c, NFS4R_BIT(3));
	site_says(&c->site[3], "server 1 was removed from the volume", 5);
	write_text(&c->site[3], &f, "one goes on");
	assert_int_equal(site_close(&c->site[3], &f), NFS4R_OK);
	cluster_stop(c, 3);
	cluster_start(c, 3);
	wait_voters(c, NFS4R_BIT(3));
	/* An old one with its old store is refused and serves nothing; with an empty one it can be added. */
	cluster_start(c, 1);
	site_says(&c->site[1], "server 1 was removed from this volume", 20);
	serves_nothing(&c->site[1], &f);
	cluster_stop(c, 1);
	cluster_start(c, 2);
	add_and_wait(c, 3, 2, SET2(2, 3));
	expect_content(&c->site[2], &f, "one goes on");
	g = root_file(&c->site[2], "g", "two again");
	expect_content(&c->site[3], &g, "two again");
	cluster_settle_of(c, SET2(2, 3));
}

/* The answer says that asking again will do, and for how long. */
static void who_was_just_stopped_counts_as_heard(void **state)
{
	struct cluster *c = *state;
	json_t *a;

	cluster_stop(c, 1);
	cluster_stop(c, 2);
	lose_lease(&c->site[3]);
	a = reconfigure(c, 3, NFS4R_BIT(3), true);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(a, "heard"), json_array_size(json_object_get(a, "heard")) - 1)), 2);
	uint64_t wait_ms = (uint64_t)json_integer_value(json_object_get(a, "wait_ms")), until = engine_now_ms() + wait_ms;
	assert_int_equal(wait_ms, SILENCE_MS + LEASE_MS);
	refused(a, "is still heard but not among the named servers: stop it, or name it, too");
	while ((a = reconfigure(c, 3, NFS4R_BIT(3), true)) && json_object_get(a, "heard") && engine_now_ms() < until) {
		json_decref(a);
		pause_ms(20);
	}
	granted(a);
	wait_voters(c, NFS4R_BIT(3));
}

/* It lost power, too, and waits for the lost ones before it is told: they might have had the end of its log, and what is in doubt. */
static void the_last_one_lost_power(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = root_file(&c->site[3], "f", "with three");

	assert_int_equal(site_commit(&c->site[3], &f), NFS4R_OK);
	cluster_settle(c);
	write_text(&c->site[3], &f, "THIS");
	cluster_settle(c);
	cluster_stop(c, 1);
	cluster_stop(c, 2);
	for (int i = 0; i < 2; i++) { /* the second time it is alone already */
		cluster_lose_power(c, NFS4R_BIT(3), 7 + (unsigned)i);
		cluster_start(c, 3);
		if (!i) {
			wait_no_lease(&c->site[3]);
			granted(reconfigure(c, 3, NFS4R_BIT(3), true));
		}
		wait_voters(c, NFS4R_BIT(3));
		write_text(&c->site[3], &f, i ? "once" : "goes");
		assert_int_equal(site_commit(&c->site[3], &f), NFS4R_OK);
	}
	expect_content(&c->site[3], &f, "once three");
}

/* Said at one of two only: nothing happens, and it can be taken back. Servers 4 and 5 are added before, so that two of five are left. */
static void two_of_five_have_to_be_told(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = root_file(&c->site[1], "f", "with five");
	struct nfs4r_core_view v;

	cluster_start(c, 4);
	add_and_wait(c, 1, 4, ALL4);
	cluster_start(c, 5);
	add_and_wait(c, 1, 5, ALL4 | NFS4R_BIT(5));
	cluster_settle_of(c, ALL4 | NFS4R_BIT(5));
	for (int id = 1; id <= 3; id++)
		cluster_stop(c, id);
	wait_no_lease(&c->site[4]);
	wait_no_lease(&c->site[5]);
	granted(reconfigure(c, 5, SET2(4, 5), true));
	site_says(&c->site[5], "server 4 needs the same order", 20);
	granted(reconfigure(c, 5, 0, true));
	get_view(&c->site[5], &v);
	assert_int_equal(v.reconf_epoch, 0);
	granted(reconfigure(c, 5, SET2(4, 5), true));
	granted(reconfigure(c, 4, SET2(4, 5), true));
	wait_voters(c, SET2(4, 5));
	get_view(&c->site[4], &v);
	assert_int_equal(v.adopted.nbook, 2);
	write_text(&c->site[4], &f, "two go on");
	assert_int_equal(site_close(&c->site[4], &f), NFS4R_OK);
	expect_content(&c->site[5], &f, "two go on");
	cluster_settle_of(c, SET2(4, 5));
}

/* ---- while others work ---- */

struct load {
	struct cluster *c;
	int id;
	unsigned seed, ops;
	_Atomic bool stop;
	pthread_t thread;
};

static void *load_thread(void *arg)
{
	struct load *l = arg;

	for (; !l->stop; l->ops++)
		site_random_op(&l->c->site[l->id], &l->seed);
	return NULL;
}

static void load_start(struct load *l, struct cluster *c, int id)
{
	l->c = c;
	l->id = id;
	l->seed = (unsigned)id * 7919;
	l->ops = 0;
	l->stop = false;
	assert_int_equal(pthread_create(&l->thread, NULL, load_thread, l), 0);
}

static void load_end(struct load *l)
{
	l->stop = true;
	pthread_join(l->thread, NULL);
	assert_true(l->ops > 0);
}

static void updates_go_on_meanwhile(void **state)
{
	struct cluster *c = *state;
	struct load one, two, four;

	load_start(&one, c, 1);
	load_start(&two, c, 2);
	cluster_start(c, 4);
	add_and_wait(c, 1, 4, ALL4);
	load_start(&four, c, 4);
	granted(take_out(c, 2, 3, false));
	wait_voters(c, SET3(1, 2, 4));
	cluster_stop(c, 3);
	empty_disk(c, 3);
	cluster_start(c, 3);
	add_and_wait(c, 4, 3, ALL4);
	load_end(&four);
	load_end(&two);
	load_end(&one);
	cluster_settle_of(c, ALL4);
}

/* ---- from one server on ---- */

static void restart(struct cluster *c, int id)
{
	cluster_stop(c, id);
	cluster_start(c, id);
}

static void one_grows_to_three(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = root_file(&c->site[1], "f", "alone"), g;
	struct load one;

	c->first = 2; /* more in the file make no servers */
	restart(c, 1);
	assert_true(serves(&c->site[1])); /* before anybody could have said anything */
	site_says(&c->site[1], "server 2 is not a server of the volume, but the configuration of this server names it (to add it: nfs4rctl server add)", 5);
	load_start(&one, c, 1);
	cluster_start(c, 2);
	site_says(&c->site[2], "server 2 does not belong to this volume: run nfs4rctl server add 2 ADDRESS at a member", 20);
	refused(add(c, 1, 1), "it already belongs to this volume");
	granted(add(c, 1, 5)); /* nobody is there, and nobody waits for it */
	site_says(&c->site[1], "server 5 (127.0.0.5", 5);
	refused(add(c, 1, 5), "it is already added");
	granted(take_out(c, 1, 5, false));
	wait_voters(c, NFS4R_BIT(1));
	add_and_wait(c, 1, 2, SET2(1, 2));
	c->first = 1;
	site_says(&c->site[1], "server 2 has caught up: it is now a voter and a member of the active view; members now 1, 2", 5);
	refused(take_out(c, 1, 2, false), "no majority without it");
	expect_content(&c->site[2], &f, "alone");
	cluster_start(c, 3);
	add_and_wait(c, 2, 3, SET3(1, 2, 3));
	load_end(&one);
	g = root_file(&c->site[3], "g", "by the third one");
	expect_content(&c->site[1], &g, "by the third one");
	cluster_settle_of(c, SET3(1, 2, 3));
	pause_ms(2 * (long)c->idle_ms + 1000); /* all controls are let go */
	restart(c, 1); /* its file names itself alone, and the list of the volume counts */
	wait_voters(c, SET3(1, 2, 3));
	cluster_stop(c, 1);
	site_says(&c->site[2], "server 1 was removed from the active view", 20);
	write_text(&c->site[3], &f, "two go");
	expect_content(&c->site[2], &f, "two go");
	cluster_start(c, 1);
	wait_voters(c, SET3(1, 2, 3));
	cluster_settle_of(c, SET3(1, 2, 3));
}

/* Alone, its machine loses power; and once more when the second one is no voter yet. */
static void one_that_lost_power_grows(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = root_file(&c->site[1], "f", "alone");

	assert_int_equal(site_commit(&c->site[1], &f), NFS4R_OK);
	cluster_lose_power(c, NFS4R_BIT(1), 7);
	cluster_start(c, 1);
	wait_voters(c, NFS4R_BIT(1));
	expect_content(&c->site[1], &f, "alone");
	write_text(&c->site[1], &f, "ALONE");
	assert_int_equal(site_commit(&c->site[1], &f), NFS4R_OK);
	granted(add(c, 1, 2));
	site_says(&c->site[1], "server 2 (127.0.0.2", 5);
	cluster_lose_power(c, NFS4R_BIT(1), 8);
	cluster_start(c, 1);
	cluster_start(c, 2);
	wait_voters(c, SET2(1, 2));
	expect_content(&c->site[2], &f, "ALONE");
	cluster_settle_of(c, SET2(1, 2));
}

static nfs4r_lsn has_of(struct site *s, nfs4r_server_id log)
{
	struct nfs4r_store_positions p;

	nfs4r_store_get_positions(s->eng->store, &p);
	return p.applied[log];
}

/*
 * Two things still sync a journal, each after c->silence_ms: the next HEARTBEAT that says a view is on the disk (log 9.1), and the removal of a server that is
 * silent. After this neither comes for half of that time: a HEARTBEAT has just gone, and the silent server was stopped a moment ago.
 */
static void wait_journal_rests(struct site *s)
{
	const struct view *w = &s->eng->core->view;
	bool rests = false;

	for (int i = 0; i < 20000 && !rests; i++) {
		pause_ms(1);
		pthread_mutex_lock(&s->eng->lock);
		rests = w->confirmed_sent && w->confirm_at > s->eng->core->now + s->cluster->silence_ms / 2 && site_journal_is_synced(s);
		pthread_mutex_unlock(&s->eng->lock);
	}
	assert_true(rests);
}

/* Server 1 writes @f, and 3 alone keeps that: 1 loses it with its machine. How far server 3 has its log. */
static nfs4r_lsn lost_by_its_owner(struct cluster *c, const struct nfs4r_oid *f)
{
	nfs4r_lsn had, before = has_of(&c->site[1], 1);

	cluster_stop(c, 2);
	wait_journal_rests(&c->site[1]);
	write_text(&c->site[1], f, "lost!");
	had = has_of(&c->site[1], 1);
	assert_true(had > before);
	for (int i = 0; i < 5000 && has_of(&c->site[3], 1) < had; i++)
		pause_ms(1);
	cluster_lose_power(c, NFS4R_BIT(1), 0);
	assert_int_equal(has_of(&c->site[3], 1), had);
	cluster_stop(c, 3); /* what it has is on its disk then */
	cluster_start(c, 1);
	cluster_start(c, 2);
	assert_true(has_of(&c->site[1], 1) < had);
	return had;
}

/* Server 3 is taken out and added with its old store, which has an update that server 1 lost. Its positions go back, also for a restart, and what has the number next arrives. */
static void an_old_store_has_what_its_owner_lost(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f;
	nfs4r_lsn had;

	f = root_file(&c->site[1], "f", "first");
	cluster_settle(c);
	had = lost_by_its_owner(c, &f);
	granted(take_out(c, 2, 3, false));
	wait_voters(c, SET2(1, 2));
	granted(add(c, 2, 3));
	cluster_start(c, 3);
	wait_voters(c, SET3(1, 2, 3));
	for (int i = 0; i < 2; i++) {
		assert_true(has_of(&c->site[3], 1) < had);
		expect_content(&c->site[3], &f, "first");
		cluster_stop(c, 3);
		cluster_start(c, 3);
	}
	write_text(&c->site[1], &f, "again");
	cluster_settle(c);
	assert_int_equal(has_of(&c->site[3], 1), had);
	expect_content(&c->site[3], &f, "again");
}

/* ---- refusals ---- */

static void a_server_that_still_controls_is_not_taken_out(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f;

	c->idle_ms = 60000;
	cluster_stop(c, 3);
	cluster_start(c, 3);
	wait_all_serve(c);
	f = root_file(&c->site[3], "f", "held");
	refused(take_out(c, 1, 3, false), "--abandon");
	granted(take_out(c, 1, 3, true));
	wait_voters(c, SET2(1, 2));
	expect_content(&c->site[1], &f, "held");
	write_text(&c->site[2], &f, "free");
}

static void what_cannot_be_is_refused_with_a_remedy(void **state)
{
	struct cluster *c = *state;

	refused(add(c, 1, 2), "server 2: it already belongs to this volume");
	refused(take_out(c, 1, 5, false), "server 5 does not belong to this volume");
	refused(take_out(c, 1, 1, false), "ask another member");
	wait_voters(c, SET3(1, 2, 3));
}

int main(void)
{
#define T(f, s) cmocka_unit_test_setup_teardown(f, s, cluster_teardown)
	const struct CMUnitTest tests[] = {
		T(a_fourth_server_gets_everything, setup),
		T(one_is_taken_out_and_hears_it, setup),
		T(one_is_taken_out_and_hears_it, setup_commit),
		T(who_was_down_is_refused, setup),
		T(the_last_one_goes_on, setup),
		T(who_was_just_stopped_counts_as_heard, setup_patient),
		T(two_of_five_have_to_be_told, setup),
		T(the_last_one_lost_power, setup_machines),
		T(the_new_set_survives_a_restart_of_all, setup),
		T(updates_go_on_meanwhile, setup_commit),
		T(one_grows_to_three, setup_lone),
		T(one_that_lost_power_grows, setup_lone_machines),
		T(an_old_store_has_what_its_owner_lost, setup_machines_that_wait),
		T(a_server_that_still_controls_is_not_taken_out, setup),
		T(what_cannot_be_is_refused_with_a_remedy, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
