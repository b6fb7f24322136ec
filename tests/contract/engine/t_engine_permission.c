/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Who may do what is decided where it is executed, by the attributes that are there then (control 6.10). Site 1 controls the objects. */
#include "lib/unit.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "engine/engine_int.h"

#define ALICE 1001
#define BOB 1002

static enum nfs4r_status do_as(struct site *s, uint32_t uid, uint32_t gid, struct nfs4r_op *op)
{
	enum nfs4r_status st;

	op->cred.uid = uid;
	op->cred.gid = gid;
	do {
		st = nfs4r_update(s->eng, op, NULL, NULL);
	} while (st == NFS4R_DELAY);
	nfs4r_op_fini(op);
	return st;
}

static enum nfs4r_status set_as(struct site *s, uint32_t uid, const struct nfs4r_oid *f, const struct nfs4r_attrs *a)
{
	struct nfs4r_op op = { .type = NFS4R_OP_SETATTR, .obj = *f, .attrs = *a };

	return do_as(s, uid, uid, &op);
}

static enum nfs4r_status mode_as(struct site *s, uint32_t uid, const struct nfs4r_oid *f, uint32_t mode)
{
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_MODE, .mode = mode };

	return set_as(s, uid, f, &a);
}

static enum nfs4r_status owner_as(struct site *s, uint32_t uid, const struct nfs4r_oid *f, uint32_t owner)
{
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_UID, .uid = owner };

	return set_as(s, uid, f, &a);
}

static enum nfs4r_status write_as(struct site *s, uint32_t uid, uint32_t gid, const struct nfs4r_oid *f)
{
	struct nfs4r_op op = { .type = NFS4R_OP_WRITE, .obj = *f, .length = 3, .under_open = true, .data = nfs4r_buf_copy("new", 3) };

	return do_as(s, uid, gid, &op);
}

static enum nfs4r_status range_as(struct site *s, uint32_t uid, const struct nfs4r_oid *f, uint32_t type)
{
	struct nfs4r_op op = { .type = type, .obj = *f, .length = 4096 };

	return do_as(s, uid, uid, &op);
}

static enum nfs4r_status xattr_as(struct site *s, uint32_t uid, const struct nfs4r_oid *f, bool set)
{
	struct nfs4r_op op = { .type = set ? NFS4R_OP_SETXATTR : NFS4R_OP_REMOVEXATTR, .obj = *f, .text = strdup("user.a") };

	if (set)
		op.data = nfs4r_buf_copy("v", 1);
	return do_as(s, uid, uid, &op);
}

static enum nfs4r_status link_as(struct site *s, uint32_t uid, const struct nfs4r_oid *f, const struct nfs4r_oid *dir, const char *name)
{
	struct nfs4r_op op = { .type = NFS4R_OP_LINK, .obj = *f, .dir = *dir };

	assert_true(nfs4r_name_set(&op.name, name, strlen(name)));
	return do_as(s, uid, uid, &op);
}

static struct nfs4r_oid file_of(struct cluster *c, const char *name, uint32_t uid, uint32_t mode)
{
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_MODE | NFS4R_ATTR_UID | NFS4R_ATTR_GID, .mode = mode, .uid = uid, .gid = uid };
	struct nfs4r_oid root = site_root(&c->site[1]), f;

	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, name, &f), NFS4R_OK);
	nfs4r_opened(c->site[1].eng, &f); /* control stays there */
	assert_int_equal(site_setattr(&c->site[1], &f, &a), NFS4R_OK);
	return f;
}

/* Everything that a stranger can try on a file of root, at its primary and by way of another server. */
static void a_stranger_is_refused_everywhere(void **state)
{
	static const uint32_t ranges[] = { NFS4R_OP_ALLOCATE, NFS4R_OP_DEALLOCATE };
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f = file_of(c, "f", 0, 0600);
	struct nfs4r_attrs size = { .mask = NFS4R_ATTR_SIZE }, got;

	must_shell("chmod 755 %s", c->site[1].data);
	assert_int_equal(xattr_as(&c->site[1], 0, &f, true), NFS4R_OK);
	for (int i = 1; i <= 2; i++) {
		struct site *s = &c->site[i];

		assert_int_equal(write_as(s, ALICE, ALICE, &f), NFS4R_ACCES);
		for (int j = 0; j < 2; j++)
			assert_int_equal(range_as(s, ALICE, &f, ranges[j]), NFS4R_ACCES);
		assert_int_equal(mode_as(s, ALICE, &f, 0777), NFS4R_PERM);
		assert_int_equal(owner_as(s, ALICE, &f, ALICE), NFS4R_PERM);
		assert_int_equal(set_as(s, ALICE, &f, &size), NFS4R_PERM);
		assert_int_equal(xattr_as(s, ALICE, &f, true), NFS4R_ACCES);
		assert_int_equal(xattr_as(s, ALICE, &f, false), NFS4R_ACCES);
		assert_int_equal(link_as(s, ALICE, &f, &root, "g"), NFS4R_ACCES);
	}
	assert_int_equal(site_getattr(&c->site[1], &f, &got), NFS4R_OK);
	assert_int_equal(got.mode, 0600);
	assert_int_equal(got.uid, 0);
	assert_int_equal(got.size, 0);
	nfs4r_closed(c->site[1].eng, &f);
	cluster_settle(c);
}

/* The owner writes on whatever the mode, as at stock Ganesha; a member of the group, or anybody, only as long as the mode lets him, though his file is open. */
static void an_owner_writes_on_and_others_by_the_mode(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_of(c, "f", ALICE, 0664);

	for (int i = 1; i <= 2; i++) {
		struct site *s = &c->site[i];

		assert_int_equal(mode_as(s, ALICE, &f, 0664), NFS4R_OK);
		assert_int_equal(write_as(s, ALICE, ALICE, &f), NFS4R_OK);
		assert_int_equal(write_as(s, BOB, ALICE, &f), NFS4R_OK);
		assert_int_equal(mode_as(s, ALICE, &f, 0444), NFS4R_OK);
		assert_int_equal(write_as(s, ALICE, ALICE, &f), NFS4R_OK);
		assert_int_equal(write_as(s, BOB, ALICE, &f), NFS4R_ACCES);
		assert_int_equal(mode_as(s, ALICE, &f, 02755), NFS4R_OK);
	}
	nfs4r_closed(c->site[1].eng, &f);
	cluster_settle(c);
}

struct old_owner {
	struct cluster *c;
	struct nfs4r_oid f;
	enum nfs4r_status st;
	pthread_t thread;
};

static void *chmod_of_old_owner(void *arg)
{
	struct old_owner *g = arg;

	g->st = mode_as(&g->c->site[2], ALICE, &g->f, 04755);
	return NULL;
}

/*
 * The old owner's `chmod 4755` at one site and `chown root` at another, within a round trip: in either order no set-id file of root with the old owner's bytes comes of it.
 * His open file does not help him.
 */
static void chown_and_chmod_race_at_the_primary(void **state)
{
	struct cluster *c = *state;

	for (int round = 0; round < 30; round++) {
		struct nfs4r_attrs got;
		char name[16];

		snprintf(name, sizeof(name), "f%d", round);
		struct old_owner g = { .c = c, .f = file_of(c, name, ALICE, 0755) };

		assert_int_equal(write_as(&c->site[2], ALICE, ALICE, &g.f), NFS4R_OK);
		pthread_create(&g.thread, NULL, chmod_of_old_owner, &g);
		if (round % 3)
			pause_ms(round % 3);
		assert_int_equal(owner_as(&c->site[1], 0, &g.f, 0), NFS4R_OK);
		assert_int_equal(write_as(&c->site[2], ALICE, ALICE, &g.f), NFS4R_ACCES);
		pthread_join(g.thread, NULL);
		assert_true(g.st == NFS4R_OK || g.st == NFS4R_PERM);
		assert_int_equal(mode_as(&c->site[2], ALICE, &g.f, 04755), NFS4R_PERM);
		assert_int_equal(site_getattr(&c->site[1], &g.f, &got), NFS4R_OK);
		assert_int_equal(got.uid, 0);
		assert_int_equal(got.mode & 06000, 0);
		nfs4r_closed(c->site[1].eng, &g.f);
	}
	cluster_settle(c);
}

static uint64_t void_entries(struct site *s)
{
	struct nfs4r_core_stats st;

	pthread_mutex_lock(&s->eng->lock);
	nfs4r_core_get_stats(s->eng->core, &st);
	pthread_mutex_unlock(&s->eng->lock);
	return st.entries_void;
}

/* What is refused leaves nothing in the log, not even a void entry: a crash in between has nothing to decide. */
static void a_refusal_is_not_in_the_log(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_of(c, "f", 0, 0600);
	uint64_t before = void_entries(&c->site[1]);

	for (int i = 1; i <= 2; i++)
		assert_int_equal(mode_as(&c->site[i], ALICE, &f, 04777), NFS4R_PERM);
	assert_int_equal(void_entries(&c->site[1]), before);
	nfs4r_closed(c->site[1].eng, &f);
}

/* A set-group-id bit for a group that the owner is not in is not set, as in chmod(2). */
static void a_group_bit_of_strangers_is_not_set(void **state)
{
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_UID | NFS4R_ATTR_GID, .uid = ALICE, .gid = BOB }, got;
	struct cluster *c = *state;
	struct nfs4r_oid f = file_of(c, "f", ALICE, 0755);

	assert_int_equal(site_setattr(&c->site[1], &f, &a), NFS4R_OK);
	for (int i = 1; i <= 2; i++) {
		assert_int_equal(mode_as(&c->site[i], ALICE, &f, 06755), NFS4R_OK);
		assert_int_equal(site_getattr(&c->site[1], &f, &got), NFS4R_OK);
		assert_int_equal(got.mode, 04755);
	}
	nfs4r_closed(c->site[1].eng, &f);
	cluster_settle(c);
}

/* By the last of @n groups only. */
static enum nfs4r_status write_of_groups(struct site *s, uint32_t n, const struct nfs4r_oid *f)
{
	struct nfs4r_op op = { .type = NFS4R_OP_WRITE, .obj = *f, .length = 3, .data = nfs4r_buf_copy("new", 3) };

	if (n > NFS4R_GROUPS_MAX) {
		op.cred.ngroups = n;
		return do_as(s, BOB, BOB, &op);
	}
	uint32_t *groups = nfs4r_cred_set_groups(&op.cred, n);
	for (uint32_t i = 0; i < n; i++)
		groups[i] = 5000 + n - 1 - i;
	return do_as(s, BOB, BOB, &op);
}

/* All supplementary groups count, whoever executes; who is in more than can be sent is refused everywhere, and not by chance. */
static void all_groups_travel(void **state)
{
	static const uint32_t counts[] = { 1, 16, 33, 40, NFS4R_GROUPS_MAX };
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_GID | NFS4R_ATTR_MODE, .gid = 5000, .mode = 0660 };
	struct cluster *c = *state;
	struct nfs4r_oid f = file_of(c, "f", ALICE, 0660);

	assert_int_equal(site_setattr(&c->site[1], &f, &a), NFS4R_OK);
	for (int i = 1; i <= 2; i++) {
		for (unsigned j = 0; j < sizeof(counts) / sizeof(counts[0]); j++)
			assert_int_equal(write_of_groups(&c->site[i], counts[j], &f), NFS4R_OK);
		assert_int_equal(write_of_groups(&c->site[i], NFS4R_GROUPS_MAX + 1, &f), NFS4R_ACCES);
		assert_int_equal(write_as(&c->site[i], BOB, BOB, &f), NFS4R_ACCES);
	}
	nfs4r_closed(c->site[1].eng, &f);
	cluster_settle(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_stranger_is_refused_everywhere, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(an_owner_writes_on_and_others_by_the_mode, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(chown_and_chmod_race_at_the_primary, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_refusal_is_not_in_the_log, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(all_groups_travel, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_group_bit_of_strangers_is_not_set, cluster_setup, cluster_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
