/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What servers keep for locks that hold at all of them, with real engines. There is a list of the clients of each server (locks 7). The lists of locks beside the rows of files are a part of
 * copies, and of what verify compares.
 */
#include "lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "engine/engine_int.h"
#include "machine.h"
#include "steps.h"

#define LEASE_MS 600
#define TRIES 1000 /* of 10 ms */

static int begin(void **state, bool machines)
{
	struct cluster *c = cluster_new();

	c->machines = machines;
	c->lease_ms = c->silence_ms = LEASE_MS;
	c->durability = NFS4R_DURABILITY_COMMIT;
	c->idle_ms = 100;
	cluster_begin(c, state);
	wait_all_serve(c);
	return 0;
}

static int setup(void **state)
{
	return begin(state, false);
}

static int setup_machines(void **state)
{
	return begin(state, true);
}

/* As a client's thread does: again after DELAY. */
static enum nfs4r_status begins(struct site *s, uint64_t number)
{
	enum nfs4r_status st = NFS4R_DELAY;
	char name[40];

	snprintf(name, sizeof(name), "client %u of site %d", (unsigned)number, s->id);
	for (int i = 0; i < TRIES && st == NFS4R_DELAY; i++) {
		st = nfs4r_client_begins(s->eng, (uint64_t[]){ (uint64_t)s->id, number }, name, "192.0.2.1", 2);
		if (st == NFS4R_DELAY)
			pause_ms(10);
	}
	return st;
}

static enum nfs4r_status gone(struct site *s, uint64_t number)
{
	enum nfs4r_status st = NFS4R_DELAY;

	for (int i = 0; i < TRIES && st == NFS4R_DELAY; i++) {
		st = nfs4r_client_gone(s->eng, (uint64_t[]){ (uint64_t)s->id, number });
		if (st == NFS4R_DELAY)
			pause_ms(10);
	}
	return st;
}

struct list {
	uint32_t n;
	uint64_t numbers; /* bit i: client i */
	uint64_t first; /* one of them */
};

static bool add(void *arg, const struct nfs4r_client_entry *k)
{
	struct list *l = arg;

	l->n++;
	l->first = k->client.id[1];
	if (k->client.id[0] == k->server && k->client.id[1] < 64 && k->lsn && strstr(k->client.name, "of site") && strcmp(k->client.address, "192.0.2.1") == 0 && k->client.minor == 2)
		l->numbers |= (uint64_t)1 << k->client.id[1];
	return true;
}

static struct list list_at(struct site *s, int server)
{
	struct list l = { 0 };

	nfs4r_clients(s->eng, (nfs4r_server_id)server, add, &l);
	assert_int_equal(l.n, nfs4r_clients_count(s->eng, (nfs4r_server_id)server));
	return l;
}

/* Until all servers have this list of @server; a majority has it already. */
static void expect(struct cluster *c, int server, uint64_t numbers)
{
	for (int id = 1; id <= SITES; id++) {
		struct list l = list_at(&c->site[id], server);

		for (int i = 0; i < TRIES && l.numbers != numbers; i++) {
			pause_ms(10);
			l = list_at(&c->site[id], server);
		}
		if (l.numbers != numbers || l.n != (uint32_t)__builtin_popcountll(numbers))
			fail_msg("server %d lists %u clients of server %d, %llx and not %llx", id, l.n, server, (unsigned long long)l.numbers, (unsigned long long)numbers);
	}
}

static void known_everywhere_until_gone(void **state)
{
	struct cluster *c = *state;

	for (int id = 1; id <= SITES; id++)
		for (uint64_t k = 1; k <= 3; k++)
			assert_int_equal(begins(&c->site[id], k), NFS4R_OK);
	for (int id = 1; id <= SITES; id++)
		expect(c, id, 0xe);
	assert_int_equal(begins(&c->site[1], 2), NFS4R_OK); /* again */
	assert_int_equal(gone(&c->site[1], 2), NFS4R_OK);
	assert_int_equal(gone(&c->site[1], 2), NFS4R_OK);
	assert_int_equal(gone(&c->site[1], 60), NFS4R_OK); /* it was never there */
	expect(c, 1, 0xa);
	expect(c, 2, 0xe);
}

/* After starts of all, and what a start finds can be said to be gone. */
static void after_starts(void **state)
{
	struct cluster *c = *state;
	struct list l;

	for (uint64_t k = 1; k <= 5; k++)
		assert_int_equal(begins(&c->site[1], k), NFS4R_OK);
	assert_int_equal(gone(&c->site[1], 3), NFS4R_OK);
	for (int id = 1; id <= SITES; id++)
		cluster_stop(c, id);
	for (int id = 1; id <= SITES; id++)
		cluster_start(c, id);
	wait_all_serve(c);
	expect(c, 1, 0x36);
	while ((l = list_at(&c->site[1], 1)).n)
		assert_int_equal(gone(&c->site[1], l.first), NFS4R_OK);
	expect(c, 1, 0);
}

/* What was answered is on the disks of a majority: all machines lose power at one moment. */
static void after_loss_of_power(void **state)
{
	struct cluster *c = *state;

	for (unsigned seed = 0; seed < 3; seed++) {
		for (uint64_t k = 1; k <= 3; k++)
			assert_int_equal(begins(&c->site[1], 10 * seed + k), NFS4R_OK);
		assert_int_equal(gone(&c->site[1], 10 * seed + 2), NFS4R_OK);
		assert_int_equal(begins(&c->site[2], 10 * seed + 4), NFS4R_OK);
		cluster_lose_power(c, NFS4R_BIT(1) | NFS4R_BIT(2) | NFS4R_BIT(3), seed);
		for (int id = 1; id <= SITES; id++)
			cluster_start(c, id);
		wait_all_serve(c);
	}
	expect(c, 1, 0xa | 0xa << 10 | 0xa << 20);
	expect(c, 2, 1 << 4 | 1 << 14 | 1 << 24);
}

static void nothing_without_a_majority(void **state)
{
	struct cluster *c = *state;

	assert_int_equal(begins(&c->site[1], 1), NFS4R_OK);
	cluster_stop(c, 2);
	site_mute(&c->site[1], true);
	assert_int_equal(nfs4r_client_begins(c->site[1].eng, (uint64_t[]){ 1, 2 }, "client 2 of site 1", "192.0.2.1", 2), NFS4R_DELAY);
	assert_int_equal(nfs4r_client_gone(c->site[1].eng, (uint64_t[]){ 1, 1 }), NFS4R_DELAY);
	site_mute(&c->site[1], false);
	cluster_start(c, 2);
	wait_all_serve(c);
	assert_int_equal(begins(&c->site[1], 2), NFS4R_OK);
	assert_int_equal(gone(&c->site[1], 1), NFS4R_OK);
	expect(c, 1, 0x4);
}

static void nobody_is_listed_in_a_volume_of_before(void **state)
{
	struct cluster *c = cluster_new();

	c->no_locks = true;
	cluster_begin(c, state);
	wait_all_serve(c);
	assert_int_equal(begins(&c->site[1], 1), NFS4R_NOTSUPP);
}

static void what_is_refused(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_engine *eng = c->site[1].eng;
	char name[NFS4R_CLIENT_NAME_MAX + 2];
	uint64_t id[2] = { 1, 1 }, none[2] = { 0, 0 };

	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(nfs4r_client_begins(eng, id, name, "", 1), NFS4R_NAMETOOLONG);
	assert_int_equal(nfs4r_client_begins(eng, id, "", name, 1), NFS4R_NAMETOOLONG);
	assert_int_equal(nfs4r_client_begins(eng, none, "", "", 1), NFS4R_INVAL);
	assert_int_equal(nfs4r_client_gone(eng, none), NFS4R_INVAL);
	name[NFS4R_CLIENT_NAME_MAX] = '\0';
	for (int i = 0; i < TRIES && nfs4r_client_begins(eng, id, name, "", 1) == NFS4R_DELAY; i++)
		pause_ms(10);
	assert_int_equal(list_at(&c->site[1], 1).n, 1);
}

/* ---- copies ---- */

/* All have the file, and this list, as of a LOCKS entry. */
static void lock_at(struct site *s, const struct nfs4r_oid *oid, uint32_t n, uint64_t first)
{
	struct nfs4r_install in = { .oid = *oid, .nlocks = n };
	struct nfs4r_file_lock *l = calloc(n + 1, sizeof(*l));
	struct nfs4r_lhandle h;

	for (uint32_t i = 0; i < n; i++)
		l[i] = (struct nfs4r_file_lock){ .lock = { .owner = { { first, i }, { 1, 2 } }, .type = NFS4R_LOCK_WRITE, .start = 10 * i, .last = 10 * i + 5 }, .holder = 1, .inc = 7, .n = i };
	in.locks = l;
	nfs4r_handle(s->eng, oid, &h);
	in.handle_len = h.len;
	memcpy(in.handle, h.b, h.len);
	pthread_mutex_lock(&s->eng->lock);
	assert_int_equal(nfs4r_store_copy_row(s->eng->store, oid, &in.row), NFS4R_KNOWN);
	assert_int_equal(nfs4r_store_install(s->eng->store, &in), NFS4R_OK);
	pthread_mutex_unlock(&s->eng->lock);
	free(l);
}

static void expect_locks(struct site *s, const struct nfs4r_oid *oid, uint32_t n, uint64_t first)
{
	struct nfs4r_file_lock l[10];

	assert_int_equal(nfs4r_store_locks(s->eng->store, oid, l, 10), n);
	for (uint32_t i = 0; i < n; i++)
		assert_true(l[i].lock.owner.client[0] == first && l[i].lock.start == 10 * i);
}

/* Until the store of every server has so many locks of the file. */
static void wait_locks(struct cluster *c, const struct nfs4r_oid *oid, uint32_t n)
{
	int id = 1;

	for (int i = 0; i < TRIES && id <= SITES; i++) {
		if (nfs4r_store_locks(c->site[id].eng->store, oid, NULL, 0) == n)
			id++;
		else
			pause_ms(10);
	}
	if (id <= SITES)
		fail_msg("server %d has %u locks of the file, and not %u", id, nfs4r_store_locks(c->site[id].eng->store, oid, NULL, 0), n);
}

static enum nfs4r_status lock_op(struct site *s, uint32_t type, const struct nfs4r_oid *oid, uint64_t owner, uint64_t first, uint64_t last)
{
	enum nfs4r_status st = NFS4R_DELAY;

	for (int i = 0; i < TRIES && st == NFS4R_DELAY; i++) {
		struct nfs4r_op op = { .type = type, .obj = *oid };

		op.lock.lock = (struct nfs4r_lock){ .owner = { { 1, 2 }, { 3, owner } }, .type = NFS4R_LOCK_WRITE, .start = first, .last = last };
		op.lock.wait = type == NFS4R_OP_LOCK ? NFS4R_LOCK_TRY : 0;
		st = nfs4r_update(s->eng, &op, NULL, NULL);
		nfs4r_op_fini(&op);
		if (st == NFS4R_DELAY)
			pause_ms(10);
	}
	return st;
}

/* Control of the file ends, and its list goes to all servers, by the log and into the stores. */
static void lists_outlive_control_and_starts(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f;

	assert_int_equal(begins(&c->site[1], 2), NFS4R_OK); /* whose locks they are: it may ask for them again, so they stay */
	f = make_file(&c->site[1], &root, "locked", "bytes");
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	for (uint64_t i = 0; i < 300; i++)
		assert_int_equal(lock_op(&c->site[1], NFS4R_OP_LOCK, &f, i % 7, 10 * i, 10 * i + 5), NFS4R_OK);
	wait_locks(c, &f, 300);
	for (int id = 1; id <= SITES; id++) {
		cluster_stop(c, id);
		cluster_start(c, id);
		wait_all_serve(c);
	}
	wait_locks(c, &f, 300);
	cluster_settle(c);
	cluster_verify_equal(c, 1);
	cluster_stop(c, 3);
	must_shell("rm -rf %s", c->site[3].store);
	cluster_start(c, 3);
	wait_all_serve(c);
	wait_locks(c, &f, 300);
}

/* Power is lost amid lists that are written: each server has the lists that its versions say, in the end the same ones. */
static void lists_after_loss_of_power(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f[8];
	char name[16];

	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "file%d", i);
		f[i] = make_file(&c->site[1], &root, name, "bytes");
		assert_int_equal(site_close(&c->site[1], &f[i]), NFS4R_OK);
	}
	cluster_settle(c);
	for (unsigned seed = 1; seed <= 4; seed++) {
		for (int i = 0; i < 8; i++)
			assert_int_equal(lock_op(&c->site[1], NFS4R_OP_LOCK, &f[i], seed, 100 * seed, 100 * seed + (uint64_t)i), NFS4R_OK);
		pause_ms(30 * (long)seed); /* some are in the log by then */
		cluster_lose_power(c, NFS4R_BIT(1 + seed % SITES), seed);
		cluster_start(c, 1 + (int)(seed % SITES));
		wait_all_serve(c);
		cluster_settle(c);
		cluster_verify_equal(c, 1);
		for (int i = 0; i < 8; i++)
			wait_locks(c, &f[i], nfs4r_store_locks(c->site[1].eng->store, &f[i], NULL, 0));
	}
}

/* A server without its store takes all from another one: clients, and locks of files. */
static void a_copy_has_both(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f, g;

	f = make_file(&c->site[1], &root, "locked", "bytes");
	g = make_file(&c->site[1], &root, "free", "bytes");
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	assert_int_equal(site_close(&c->site[1], &g), NFS4R_OK);
	for (int id = 1; id <= SITES; id++)
		for (uint64_t k = 1; k <= 3; k++)
			assert_int_equal(begins(&c->site[id], k), NFS4R_OK);
	cluster_settle(c);
	for (int id = 1; id <= SITES; id++)
		lock_at(&c->site[id], &f, 4, 5);
	cluster_stop(c, 3);
	must_shell("rm -rf %s", c->site[3].store);
	cluster_start(c, 3);
	wait_all_serve(c);
	site_says(&c->site[3], "resync complete, from server", 20);
	expect_locks(&c->site[3], &f, 4, 5);
	expect_locks(&c->site[3], &g, 0, 0);
	for (int id = 1; id <= SITES; id++)
		expect(c, id, 0xe);
	cluster_settle(c);
}

static void verify_compares_lists_of_locks(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f;
	char text[VERIFY_TEXT];

	f = make_file(&c->site[1], &root, "locked", "bytes");
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	cluster_settle(c);
	for (int id = 1; id <= SITES; id++)
		lock_at(&c->site[id], &f, 4, 5);
	cluster_verify_equal(c, 1);
	lock_at(&c->site[2], &f, 4, 6);
	assert_int_equal(cluster_verify(c, 1, text), 1);
	assert_non_null(strstr(text, "locked"));
	lock_at(&c->site[2], &f, 0, 0);
	assert_int_equal(cluster_verify(c, 1, text), 1);
	lock_at(&c->site[2], &f, 4, 5);
	cluster_verify_equal(c, 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, cluster_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(known_everywhere_until_gone),
		T(after_starts),
		cmocka_unit_test_setup_teardown(after_loss_of_power, setup_machines, cluster_teardown),
		cmocka_unit_test_setup_teardown(lists_after_loss_of_power, setup_machines, cluster_teardown),
		T(nothing_without_a_majority),
		cmocka_unit_test_teardown(nobody_is_listed_in_a_volume_of_before, cluster_teardown),
		T(what_is_refused),
		T(lists_outlive_control_and_starts),
		T(a_copy_has_both),
		T(verify_compares_lists_of_locks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
