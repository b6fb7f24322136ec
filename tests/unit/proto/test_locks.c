/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What protocol 10 has of byte-range locks (decision 0054): a list is in order, its ranges are of known types, and those of one owner disjoint; a client belongs to the log that
 * names it; operations of locks have what they need. Nothing of it is on a connection of protocol 9.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/unit.h"

#include "base/shape.h"
#include "unit/proto/vectors.h"
#include "xdr_map.h"

static const char *why; /* what the decoder said last */

/* How @m is taken on a connection of @protocol that was encoded for one of protocol 10. */
static enum nfs4r_status taken(const struct nfs4r_msg *m, uint32_t protocol)
{
	struct nfs4r_buf *b = nfs4r_msg_encode(m, NFS4R_PROTOCOL_LOCKS);
	struct nfs4r_msg *d = calloc(1, sizeof(*d));
	enum nfs4r_status st;

	assert_non_null(b);
	st = nfs4r_msg_decode(b->data, b->len, protocol, d, &why);
	if (st == NFS4R_OK)
		nfs4r_msg_fini(d);
	nfs4r_buf_put(b);
	free(d);
	return st;
}

static struct nfs4r_entry *entry(uint32_t op, uint32_t effect)
{
	struct nfs4r_entry *e = nfs4r_entry_new();

	e->log = 2;
	e->lsn = 5;
	e->view = 1;
	e->op = op;
	e->nparts = 1;
	e->parts[0].effect = effect;
	nfs4r_oid_make(&e->parts[0].oid, 2, 1, 7);
	e->parts[0].before = 1;
	e->parts[0].after = 2;
	return e;
}

static enum nfs4r_status entry_taken(struct nfs4r_entry *e)
{
	struct nfs4r_msg m = { .type = NFS4R_MSG_ENTRIES, .entries = { .log = 2, .end = 5, .n = 1, .entries = &e } };

	return taken(&m, NFS4R_PROTOCOL_LOCKS);
}

/* @n read locks of as many owners, one byte each. */
static struct nfs4r_entry *entry_of_locks(uint32_t n)
{
	struct nfs4r_entry *e = entry(NFS4R_OP_LOCK, NFS4R_EFF_LOCKS);

	assert_true(nfs4r_part_locks(&e->parts[0], n));
	for (uint32_t i = 0; i < n; i++)
		e->parts[0].locks[i] = (struct nfs4r_file_lock){ .lock = { .owner = { .owner = { i } }, .type = NFS4R_LOCK_READ, .start = i, .last = i }, .holder = 1 };
	return e;
}

static void refused(struct nfs4r_entry *e, const char *words)
{
	assert_int_equal(entry_taken(e), NFS4R_MALFORMED);
	assert_string_equal(why, words ? words : nfs4r_status_str(NFS4R_MALFORMED));
	nfs4r_entry_put(e);
}

static void test_lists(void **state)
{
	struct nfs4r_entry *e = entry_of_locks(3);
	struct nfs4r_file_lock *l = e->parts[0].locks;

	assert_int_equal(entry_taken(e), NFS4R_OK);
	l[2].lock.start = 0;
	refused(e, "the locks are not in order");
	e = entry_of_locks(3); /* the first and the last are of one owner */
	l = e->parts[0].locks;
	l[0].lock.last = 2;
	l[2].lock.owner = l[0].lock.owner;
	refused(e, "two locks of one owner overlap");
	e = entry_of_locks(3);
	l = e->parts[0].locks;
	l[0].lock.last = 1;
	l[2].lock.owner = l[0].lock.owner;
	assert_int_equal(entry_taken(e), NFS4R_OK);
	l[2].lock.type = 3;
	refused(e, NULL);
	e = entry_of_locks(3);
	e->parts[0].locks[1].lock.type = 0;
	refused(e, NULL);
	e = entry_of_locks(3);
	e->parts[0].locks[1].lock.last = 0;
	refused(e, NULL);
	e = entry_of_locks(3);
	e->parts[0].locks[1].holder = 0;
	refused(e, NULL);
	e = entry_of_locks(3);
	e->parts[0].locks[1].holder = NFS4R_SERVERS_MAX + 1;
	refused(e, NULL);
	e = entry_of_locks(0); /* none is left */
	assert_int_equal(entry_taken(e), NFS4R_OK);
	nfs4r_entry_put(e);
}

static void test_the_longest_list(void **state)
{
	struct nfs4r_entry *e = entry_of_locks(NFS4R_LOCKS_LIST_MAX), *d;
	struct nfs4r_buf *b;

	assert_int_equal(entry_taken(e), NFS4R_OK);
	assert_false(nfs4r_part_locks(&e->parts[0], NFS4R_LOCKS_LIST_MAX + 1));
	b = nfs4r_entry_encode(e, false);
	assert_int_equal(nfs4r_entry_decode(b->data, b->len, false, &d, &why), NFS4R_OK);
	assert_true(entry_equal(e, d, true));
	nfs4r_entry_put(d);
	nfs4r_buf_put(b);
	e->parts[0].nlocks++; /* refused before anything is read of it */
	assert_null(nfs4r_entry_encode(e, false));
	e->parts[0].nlocks--;
	nfs4r_entry_put(e);
}

static struct nfs4r_entry *entry_of_client(nfs4r_server_id server)
{
	struct nfs4r_entry *e = entry(NFS4R_OP_CLIENT, NFS4R_EFF_CLIENT);

	e->parts[0].oid = nfs4r_client_list_oid(server);
	e->parts[0].client = calloc(1, sizeof(*e->parts[0].client));
	e->parts[0].client->id[1] = 1;
	return e;
}

static void test_clients(void **state)
{
	struct nfs4r_entry *e = entry_of_client(2);

	assert_int_equal(entry_taken(e), NFS4R_OK);
	e->parts[0].client->id[1] = 0;
	refused(e, NULL);
	refused(entry_of_client(3), "the client is of another server than the log");
	e = entry_of_client(2);
	e->op = NFS4R_OP_LOCK;
	refused(e, "its parts are not those of its operation");
	e = entry_of_client(2);
	e->op = NFS4R_OP_CLIENT + 1;
	refused(e, NULL);
}

static void test_client_lists(void **state)
{
	struct nfs4r_client_entry list[2] = { { .server = 3, .client = { .id = { 1 } } }, { .server = 3, .client = { .id = { 2 } } } };
	struct nfs4r_read r = { .type = NFS4R_RD_CLIENTS, .nclients = 2, .clients = list }, asked = { .type = NFS4R_RD_CLIENTS, .offset = 3, .copy = true };
	struct nfs4r_msg m = { .type = NFS4R_MSG_READ_ANSWER, .read = &r };

	assert_int_equal(taken(&m, NFS4R_PROTOCOL_LOCKS), NFS4R_OK);
	assert_null(nfs4r_shape_of_answer_to(&asked, &r));
	list[1].server = 2;
	assert_non_null(nfs4r_shape_of_answer_to(&asked, &r));
	r.status = NFS4R_DELAY;
	assert_int_equal(taken(&m, NFS4R_PROTOCOL_LOCKS), NFS4R_MALFORMED);
	r.status = NFS4R_OK;
	r.type = NFS4R_RD_SEEK;
	assert_int_equal(taken(&m, NFS4R_PROTOCOL_LOCKS), NFS4R_MALFORMED);
	m = (struct nfs4r_msg){ .type = NFS4R_MSG_READ, .read = &asked };
	assert_int_equal(taken(&m, NFS4R_PROTOCOL_LOCKS), NFS4R_OK);
	asked.copy = false;
	assert_int_equal(taken(&m, NFS4R_PROTOCOL_LOCKS), NFS4R_MALFORMED);
}

/* Locks come with the row of a file, and with nothing else. */
static void test_locks_of_a_copy(void **state)
{
	struct nfs4r_file_lock l = { .lock = { .type = NFS4R_LOCK_READ }, .holder = 1 };
	struct nfs4r_read r = { .type = NFS4R_RD_GETATTR, .attrs = { .mask = NFS4R_ATTR_TYPE, .type = NFS4R_TYPE_FILE }, .row = { .version = 1, .type = NFS4R_TYPE_FILE }, .nlocks = 1, .locks = &l };
	struct nfs4r_msg m = { .type = NFS4R_MSG_READ_ANSWER, .read = &r };

	assert_int_equal(taken(&m, NFS4R_PROTOCOL_LOCKS), NFS4R_OK);
	r.row.type = r.attrs.type = NFS4R_TYPE_DIR;
	assert_int_equal(taken(&m, NFS4R_PROTOCOL_LOCKS), NFS4R_MALFORMED);
	assert_string_equal(why, "locks without the row of their file");
	r.row.version = 0;
	assert_int_equal(taken(&m, NFS4R_PROTOCOL_LOCKS), NFS4R_MALFORMED);
}

static enum nfs4r_status op_taken(uint32_t type, uint32_t lock_type, uint32_t wait, bool reclaim)
{
	struct nfs4r_op op = { .type = type, .lock = { .lock = { .type = lock_type, .start = 1, .last = 2 }, .wait = wait, .reclaim = reclaim } };
	struct nfs4r_msg m = { .type = NFS4R_MSG_FORWARD, .op = &op };

	nfs4r_oid_make(&op.obj, 2, 1, 7);
	return taken(&m, NFS4R_PROTOCOL_LOCKS);
}

static void test_operations(void **state)
{
	assert_int_equal(op_taken(NFS4R_OP_LOCK, NFS4R_LOCK_WRITE, NFS4R_LOCK_POLL, true), NFS4R_OK);
	assert_int_equal(op_taken(NFS4R_OP_LOCK, 0, NFS4R_LOCK_TRY, false), NFS4R_MALFORMED);
	assert_int_equal(op_taken(NFS4R_OP_LOCK, NFS4R_LOCK_WRITE, 0, false), NFS4R_MALFORMED);
	assert_int_equal(op_taken(NFS4R_OP_LOCK, NFS4R_LOCK_WRITE, NFS4R_LOCK_POLL + 1, false), NFS4R_MALFORMED);
	assert_int_equal(op_taken(NFS4R_OP_LOCK_TEST, NFS4R_LOCK_READ, 0, false), NFS4R_OK);
	assert_int_equal(op_taken(NFS4R_OP_LOCK_TEST, NFS4R_LOCK_READ, NFS4R_LOCK_TRY, false), NFS4R_MALFORMED);
	assert_int_equal(op_taken(NFS4R_OP_UNLOCK, 0, 0, false), NFS4R_OK);
	assert_int_equal(op_taken(NFS4R_OP_UNLOCK, 0, 0, true), NFS4R_MALFORMED);
	assert_int_equal(op_taken(NFS4R_OP_UNWAIT, NFS4R_LOCK_READ, 0, false), NFS4R_OK);
	assert_int_equal(op_taken(NFS4R_OP_CLIENT, 0, 0, false), NFS4R_MALFORMED);
	assert_int_equal(op_taken(NFS4R_OP_CLAIM, 0, 0, false), NFS4R_MALFORMED);
}

/* What is new is refused on an older connection: whole messages, effects, operations, answers. Where only members are new they are left out. */
static void test_nothing_of_it_before_protocol_10(void **state)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m)), *d = calloc(1, sizeof(*d));
	struct nfs4r_buf *b;
	uint32_t n = 0;

	for (unsigned i = 0; i < vector_count; i++) {
		const struct vector *v = &vectors[i];

		if (v->kind != VECTOR_MSG || v->protocol != NFS4R_PROTOCOL_LOCKS)
			continue;
		memset(m, 0, sizeof(*m));
		v->make(m);
		if (taken(m, NFS4R_PROTOCOL_FIRST) == NFS4R_OK)
			fail_msg("%s is read on a connection of protocol 9", v->name);
		b = nfs4r_msg_encode(m, NFS4R_PROTOCOL_FIRST);
		if (b && nfs4r_msg_decode(b->data, b->len, NFS4R_PROTOCOL_FIRST, d, &why) == NFS4R_OK) {
			n++;
			if (d->type == NFS4R_MSG_ACK)
				assert_false(d->ack.gap);
			if (d->type == NFS4R_MSG_HEARTBEAT)
				assert_false(d->heartbeat.locks_known);
			if (d->type == NFS4R_MSG_READ_ANSWER)
				assert_true(d->read->nlocks == 0 && d->read->nclients == 0);
			nfs4r_msg_fini(d);
		}
		nfs4r_buf_put(b);
		nfs4r_msg_fini(m);
	}
	assert_int_equal(n, 5); /* heartbeat_known, ack_gap, forward_write, forward_answer, read_answer_locks */
	free(m);
	free(d);
}

/* Statuses of locks, too. */
static void test_statuses(void **state)
{
	struct nfs4r_op op = { .type = NFS4R_OP_REMOVE, .status = NFS4R_NOLCK };
	struct nfs4r_msg m = { .type = NFS4R_MSG_FORWARD_ANSWER, .op = &op }, d;
	struct nfs4r_buf *b = nfs4r_msg_encode(&m, NFS4R_PROTOCOL_FIRST);

	assert_int_equal(nfs4r_msg_decode(b->data, b->len, NFS4R_PROTOCOL_FIRST, &d, &why), NFS4R_MALFORMED);
	nfs4r_buf_put(b);
	assert_int_equal(taken(&m, NFS4R_PROTOCOL_LOCKS), NFS4R_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_the_longest_list),
		cmocka_unit_test(test_clients),
		cmocka_unit_test(test_client_lists),
		cmocka_unit_test(test_locks_of_a_copy),
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_nothing_of_it_before_protocol_10),
		cmocka_unit_test(test_statuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
