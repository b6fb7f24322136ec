/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Room and limits (log 4.12): what does not fit at every member is refused before it is executed, what makes room never is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/ends.h"

#include "lib/unit.h"

#define MUCH (UINT64_C(100) << 20)
#define MANY 500

static struct net *three(void)
{
	struct net *n = net_new(3);

	ends_begin(n, "d/ d/f d/g e/ e/f", NFS4R_DURABILITY_LOCAL);
	return n;
}

/* Everybody has measured that much, but for @poor. */
static void all_have(struct net *n, nfs4r_server_id poor, uint64_t bytes, uint64_t inodes)
{
	for (nfs4r_server_id s = P; s <= n->n; s++)
		net_space(n, s, s == poor ? bytes : MUCH, s == poor ? inodes : MANY, &net_no_limits);
	net_run(n, 3 * n->delay);
}

static struct client *begin_put(struct net *n, nfs4r_server_id s, const char *path, uint32_t bytes)
{
	struct nfs4r_oid f = at(n, path);
	char *text = malloc(bytes + 1);
	struct client *c;

	memset(text, 'x', bytes);
	text[bytes] = 0;
	c = op_write(n, s, &f, text, true);
	free(text);
	return c;
}

static enum nfs4r_status put(struct net *n, nfs4r_server_id s, const char *path, uint32_t bytes)
{
	return finish(n, begin_put(n, s, path, bytes));
}

static enum nfs4r_status name_op(struct net *n, nfs4r_server_id s, uint32_t type, const char *dir, const char *name)
{
	struct nfs4r_oid d = at(n, dir);

	return finish(n, op_name(n, s, type, &d, name));
}

static nfs4r_lsn end_of(struct net *n, nfs4r_server_id s)
{
	return nfs4r_core_own_end(n->s[s].core);
}

static void what_does_not_fit_elsewhere_is_refused(void **state)
{
	struct net *n = three();
	nfs4r_lsn end;

	all_have(n, S, 16 << 10, MANY);
	end = end_of(n, P);
	assert_int_equal(put(n, P, "d/f", 60000), NFS4R_NOSPC);
	assert_int_equal(name_op(n, P, NFS4R_OP_CREATE, "d", "h"), NFS4R_NOSPC);
	assert_int_equal(name_op(n, Q, NFS4R_OP_MKDIR, "d", "h"), NFS4R_NOSPC);
	assert_int_equal(end_of(n, P), end); /* nothing was executed */
	all_have(n, S, MUCH, MANY);
	assert_int_equal(put(n, P, "d/f", 60000), NFS4R_OK);
	net_free(n);
}

static void inodes_count_as_well(void **state)
{
	struct net *n = three();

	all_have(n, Q, MUCH, 0);
	assert_int_equal(name_op(n, P, NFS4R_OP_CREATE, "d", "h"), NFS4R_NOSPC);
	assert_int_equal(name_op(n, P, NFS4R_OP_SYMLINK, "d", "h"), NFS4R_NOSPC);
	assert_int_equal(put(n, P, "d/f", 5000), NFS4R_OK);
	all_have(n, Q, MUCH, 60);
	assert_int_equal(name_op(n, P, NFS4R_OP_CREATE, "d", "h"), NFS4R_OK);
	net_free(n);
}

/* All disks are full, two of them below their reserves: what frees room goes on, and what needs none but the journal's. */
static void what_makes_room_is_never_refused(void **state)
{
	struct net *n = three();
	struct nfs4r_oid f, d, e;
	struct client *c;

	for (nfs4r_server_id s = P; s <= S; s++)
		net_space(n, s, 0, 0, &net_no_limits);
	net_run(n, 3 * n->delay);
	f = at(n, "e/f");
	d = at(n, "d");
	e = at(n, "e");
	assert_int_equal(put(n, P, "d/f", 1), NFS4R_NOSPC);
	assert_int_equal(finish(n, op_setattr(n, Q, &f, 0600)), NFS4R_OK);
	assert_int_equal(finish(n, op_rename(n, Q, &d, "g", &e, "g")), NFS4R_OK);
	assert_int_equal(name_op(n, S, NFS4R_OP_REMOVE, "d", "f"), NFS4R_OK);
	c = op_size(n, P, &f, 0);
	assert_int_equal(finish(n, c), NFS4R_OK);
	net_free(n);
}

/* The journal's disk: updates that neither need nor free anything end before those that free. */
static void the_last_of_the_journal_is_for_removals(void **state)
{
	struct net *n = three();
	struct nfs4r_oid f = at(n, "e/f");

	for (nfs4r_server_id s = P; s <= S; s++)
		net_store_space(n, s, s == S ? 100 : MUCH);
	net_run(n, 3 * n->delay);
	assert_int_equal(put(n, P, "d/f", 1), NFS4R_NOSPC);
	assert_int_equal(finish(n, op_setattr(n, P, &f, 0600)), NFS4R_NOSPC);
	assert_int_equal(name_op(n, P, NFS4R_OP_REMOVE, "d", "f"), NFS4R_OK);
	net_free(n);
}

/* There is room for one of two writes before S measures again: the other one waits for that, and is not refused. */
static void entries_under_way_take_room(void **state)
{
	struct net *n = three();
	struct client *a, *b;

	all_have(n, S, 6 * 100000, MANY); /* a share of 100000 */
	n->s[S].hold_apply = true;
	a = begin_put(n, P, "d/f", 60000);
	b = begin_put(n, P, "d/g", 60000);
	net_run(n, 10 * n->delay);
	assert_true(a->executed);
	assert_false(b->executed);
	n->s[S].hold_apply = false;
	net_let_apply(n, S);
	net_run(n, 2 * n->delay);
	net_space(n, S, 6 * 90000, MANY, &net_no_limits);
	assert_int_equal(finish(n, b), NFS4R_OK);
	assert_int_equal(finish(n, a), NFS4R_OK);
	net_free(n);
}

/* Nobody measures: who waits hears DELAY at its end, and holds nothing. */
static void who_waits_for_room_hears_delay(void **state)
{
	struct net *n = three();

	all_have(n, S, 6 * 100000, MANY);
	assert_int_equal(put(n, P, "d/f", 60000), NFS4R_OK);
	assert_int_equal(put(n, P, "d/g", 60000), NFS4R_DELAY);
	net_free(n);
}

/* P and Q, which do not hear of each other's writes in time, use all that they may: S has room for both. */
static void primaries_share_the_room(void **state)
{
	struct net *n = three();
	uint32_t got = 0;

	assert_int_equal(put(n, P, "d/f", 1), NFS4R_OK); /* each has control of its own file */
	assert_int_equal(put(n, Q, "e/f", 1), NFS4R_OK);
	net_run(n, 4 * n->delay);
	all_have(n, S, 600000, MANY);
	for (int i = 0; i < 20; i++) {
		got += put(n, P, "d/f", 20000) == NFS4R_OK;
		got += put(n, Q, "e/f", 20000) == NFS4R_OK;
	}
	assert_in_range(got, 2, 600000 / 20000);
	net_free(n);
}

/* The primary decides, and whoever asked it hears that. */
static void a_forwarded_update_is_refused_by_its_primary(void **state)
{
	struct net *n = three();
	nfs4r_lsn end;

	assert_int_equal(put(n, P, "d/f", 1), NFS4R_OK);
	all_have(n, Q, 0, 0);
	end = end_of(n, P);
	assert_int_equal(put(n, S, "d/f", 20000), NFS4R_NOSPC);
	assert_int_equal(end_of(n, P), end);
	net_free(n);
}

/* Right after a removal nobody is told that there is no room. */
static void room_that_is_being_freed_is_waited_for(void **state)
{
	struct net *n = three();
	struct client *c;

	all_have(n, S, 0, 0);
	assert_int_equal(name_op(n, P, NFS4R_OP_REMOVE, "d", "g"), NFS4R_OK);
	c = begin_put(n, P, "d/f", 20000);
	net_run(n, 2 * n->delay);
	assert_false(c->done);
	net_space(n, S, MUCH, MANY, &net_no_limits);
	assert_int_equal(finish(n, c), NFS4R_OK);
	net_free(n);
}

/* A server outside the view limits nothing: what it lacks is its own affair when it comes back. */
static void who_is_no_member_takes_no_room(void **state)
{
	struct net *n = three();

	all_have(n, S, 0, 0);
	cut_off(n, S);
	assert_true(until_removed(n, P, S, 8 * LEASE));
	net_run(n, 2 * LEASE);
	assert_int_equal(put(n, P, "d/f", 20000), NFS4R_OK);
	net_free(n);
}

/* ---- limits ---- */

static enum nfs4r_status xattr_(struct net *n, nfs4r_server_id s, const char *path, uint32_t len)
{
	struct nfs4r_oid f = at(n, path);
	char value[6000] = "";

	memset(value, 'v', len);
	return finish(n, op_xattr(n, s, &f, "a", value, len));
}

static enum nfs4r_status symlink_(struct net *n, nfs4r_server_id s, const char *dir, const char *name, uint32_t len)
{
	struct nfs4r_oid d = at(n, dir);
	char text[200] = "";

	memset(text, 't', len);
	return finish(n, op_symlink(n, s, &d, name, text));
}

static void limits_of(struct net *n, nfs4r_server_id s, const struct nfs4r_limits *l)
{
	for (nfs4r_server_id i = P; i <= n->n; i++)
		net_space(n, i, MUCH, MANY, i == s ? l : &net_no_limits);
	net_run(n, 3 * n->delay);
}

static void what_another_file_system_cannot_hold_is_refused(void **state)
{
	struct nfs4r_limits l = { .file_max = 1000000, .xattr_max = 4000, .name_max = 20, .link_max = 2, .text_max = 100, .has = NFS4R_HAS_XATTRS };
	struct nfs4r_oid f, d;
	struct net *n = three();

	limits_of(n, S, &l);
	f = at(n, "d/f");
	d = at(n, "d");
	assert_int_equal(finish(n, op_size(n, P, &f, 1000001)), NFS4R_FBIG);
	assert_int_equal(finish(n, op_size(n, P, &f, 1000000)), NFS4R_OK);
	assert_int_equal(xattr_(n, P, "d/f", 4001), NFS4R_XATTR2BIG);
	assert_int_equal(xattr_(n, P, "d/f", 4000), NFS4R_OK);
	assert_int_equal(name_op(n, Q, NFS4R_OP_CREATE, "d", "123456789012345678901"), NFS4R_NAMETOOLONG);
	assert_int_equal(name_op(n, Q, NFS4R_OP_CREATE, "d", "\xff\xfe"), NFS4R_INVAL);
	assert_int_equal(name_op(n, Q, NFS4R_OP_CREATE, "d", "gr\xc3\xbc\xc3\x9f"), NFS4R_OK);
	assert_int_equal(finish(n, op_link(n, P, &f, &d, "second")), NFS4R_OK);
	assert_int_equal(finish(n, op_link(n, P, &f, &d, "third")), NFS4R_MLINK);
	assert_int_equal(symlink_(n, P, "d", "long", 101), NFS4R_NAMETOOLONG);
	assert_int_equal(symlink_(n, Q, "d", "long", 100), NFS4R_OK);
	l.has = NFS4R_HAS_BYTES;
	limits_of(n, S, &l);
	assert_int_equal(xattr_(n, P, "d/g", 10), NFS4R_NOTSUPP);
	net_free(n);
}

#define NS_PER_S INT64_C(1000000000)

/* The times that @s would give its file are kept as every server can keep them. */
static void keeps(struct net *n, int64_t atime, int64_t mtime, int64_t as_atime, int64_t as_mtime)
{
	struct nfs4r_oid f = at(n, "d/f");
	struct client *c = op_times(n, P, &f, atime, mtime);

	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_int_equal(c->op.attrs.atime, as_atime);
	assert_int_equal(c->op.attrs.mtime, as_mtime);
}

/* Q can keep times until 2038, and S none before 1901: the nearest ones are taken, as a file system does (POSIX, utimensat). */
static void times_are_as_every_server_can_keep_them(void **state)
{
	struct nfs4r_limits q = { .time_min = INT64_MIN, .time_max = INT32_MAX, .has = NFS4R_HAS_ALL }, s = { .time_min = INT32_MIN, .time_max = INT64_MAX, .has = NFS4R_HAS_ALL };
	struct nfs4r_core_room room;
	struct net *n = three();

	keeps(n, INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX); /* nobody has said anything */
	net_space(n, P, MUCH, MANY, &net_no_limits);
	net_space(n, Q, MUCH, MANY, &q);
	net_space(n, S, MUCH, MANY, &s);
	net_run(n, 3 * n->delay);
	keeps(n, 0, 1234567890123456789, 0, 1234567890123456789);
	keeps(n, INT64_MIN, INT64_MAX, INT32_MIN * NS_PER_S, INT32_MAX * NS_PER_S);
	keeps(n, INT32_MIN * NS_PER_S + 5, INT32_MAX * NS_PER_S + 5, INT32_MIN * NS_PER_S, INT32_MAX * NS_PER_S); /* whole seconds at the ends */
	keeps(n, INT32_MIN * NS_PER_S + NS_PER_S, -1, INT32_MIN * NS_PER_S + NS_PER_S, -1);
	nfs4r_core_get_room(n->s[P].core, &room);
	assert_int_equal(room.time_by, Q);
	net_free(n);
}

/* It is down, and the others start anew: when it is back it can hold no more than before. */
static void limits_of_who_is_away_count(void **state)
{
	struct nfs4r_limits l = { .file_max = 1000000, .time_min = INT32_MIN, .time_max = INT32_MAX, .text_max = 100, .has = NFS4R_HAS_ALL };
	struct nfs4r_oid f;
	struct net *n = three();

	limits_of(n, S, &l);
	cut_off(n, S);
	assert_true(until_removed(n, P, S, 8 * LEASE));
	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, 8 * LEASE);
	net_space(n, P, MUCH, MANY, &net_no_limits);
	f = at(n, "d/f");
	assert_int_equal(finish(n, op_size(n, P, &f, 1000001)), NFS4R_FBIG);
	assert_int_equal(symlink_(n, P, "d", "long", 101), NFS4R_NAMETOOLONG);
	keeps(n, 0, INT64_MAX, 0, INT32_MAX * NS_PER_S);
	net_free(n);
}

/* ---- remarks ---- */

static void what_a_server_says_of_itself_is_known_everywhere(void **state)
{
	struct nfs4r_remarks r = { .is = NFS4R_IS_IMPORTING, .imported = 12, .strays = 3, .conflicts = 1 };
	struct nfs4r_core_room room;
	struct net *n = three();

	net_remarks(n, S, &r);
	net_run(n, 3 * n->delay);
	for (nfs4r_server_id s = P; s <= S; s++) {
		nfs4r_core_get_room(n->s[s].core, &room);
		assert_memory_equal(&room.of[S].remarks, &r, sizeof(r));
		assert_int_equal(room.of[P].remarks.is, 0);
	}
	r = (struct nfs4r_remarks){ 0 };
	net_remarks(n, S, &r); /* the import has ended */
	net_run(n, 3 * n->delay);
	nfs4r_core_get_room(n->s[P].core, &room);
	assert_int_equal(room.of[S].remarks.is, 0);
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_does_not_fit_elsewhere_is_refused),
		cmocka_unit_test(inodes_count_as_well),
		cmocka_unit_test(what_makes_room_is_never_refused),
		cmocka_unit_test(the_last_of_the_journal_is_for_removals),
		cmocka_unit_test(entries_under_way_take_room),
		cmocka_unit_test(who_waits_for_room_hears_delay),
		cmocka_unit_test(primaries_share_the_room),
		cmocka_unit_test(a_forwarded_update_is_refused_by_its_primary),
		cmocka_unit_test(room_that_is_being_freed_is_waited_for),
		cmocka_unit_test(who_is_no_member_takes_no_room),
		cmocka_unit_test(what_another_file_system_cannot_hold_is_refused),
		cmocka_unit_test(times_are_as_every_server_can_keep_them),
		cmocka_unit_test(limits_of_who_is_away_count),
		cmocka_unit_test(what_a_server_says_of_itself_is_known_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
