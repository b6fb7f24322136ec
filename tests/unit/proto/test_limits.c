/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * "Every length is checked against base/limits.h before memory is taken, every enum against
 * its values, names by nfs4r_name_set": words of valid messages are replaced by others.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include "lib/unit.h"

#include "unit/proto/vectors.h"
#include "xdr_map.h"

static const char *why; /* what the decoder said last */

static struct nfs4r_buf *vector_bytes(const char *name)
{
	for (unsigned i = 0; i < vector_count; i++) {
		if (strcmp(vectors[i].name, name) == 0)
			return vector_encode(&vectors[i]);
	}
	fail_msg("no vector %s", name);
	return NULL;
}

/* Status of the message @name with the word at byte @at replaced. */
static enum nfs4r_status with_word(const char *name, size_t at, uint32_t word)
{
	struct nfs4r_buf *b = vector_bytes(name);
	struct nfs4r_msg *m = malloc(sizeof(*m));
	uint32_t be = htonl(word);
	enum nfs4r_status st;

	assert_true(at + 4 <= b->len);
	memcpy(b->data + at, &be, 4);
	st = nfs4r_msg_decode(b->data, b->len, NFS4R_PROTOCOL_VERSION, m, &why);
	if (st == NFS4R_OK)
		nfs4r_msg_fini(m);
	free(m);
	nfs4r_buf_put(b);
	return st;
}

static void test_counts(void **state)
{
	/* propose: type, pid (4 + 8), floor 8, count at 24 */
	assert_int_equal(with_word("propose", 24, NFS4R_CLAIM_CONTROLS_MAX + 1), NFS4R_TOOBIG);
	assert_int_equal(with_word("propose", 24, NFS4R_CLAIM_CONTROLS_MAX), NFS4R_MALFORMED);
	assert_int_equal(with_word("propose", 24, 0xffffffff), NFS4R_TOOBIG);
	assert_int_equal(with_word("ack", 16, NFS4R_SERVERS_MAX + 2), NFS4R_TOOBIG);
	assert_int_equal(with_word("release", 12, NFS4R_BATCH_MAX + 1), NFS4R_TOOBIG);
	assert_int_equal(with_word("release", 12, NFS4R_BATCH_MAX), NFS4R_MALFORMED);
	assert_int_equal(with_word("entries", 16, NFS4R_BATCH_MAX + 1), NFS4R_TOOBIG);
	assert_int_equal(with_word("entries", 16, NFS4R_BATCH_MAX), NFS4R_MALFORMED);
	assert_int_equal(with_word("positions", 44, NFS4R_SERVERS_MAX + 1), NFS4R_TOOBIG);
	/* accept: seals at 40, addresses at 84; promise: seals of the view at 60, its addresses at 80, a secret, settings, applied at 140; read_answer_row: parents at 220 */
	assert_int_equal(with_word("accept", 40, NFS4R_SEALS_MAX + 1), NFS4R_TOOBIG);
	assert_int_equal(with_word("accept", 40, NFS4R_SEALS_MAX), NFS4R_MALFORMED);
	assert_int_equal(with_word("promise", 60, NFS4R_SEALS_MAX + 1), NFS4R_TOOBIG);
	assert_int_equal(with_word("accept", 84, NFS4R_SERVERS_MAX + 1), NFS4R_TOOBIG);
	assert_int_equal(with_word("accept", 84, NFS4R_SERVERS_MAX), NFS4R_MALFORMED);
	assert_int_equal(with_word("accept", 96, NFS4R_ADDRESS_MAX + 1), NFS4R_TOOBIG);
	assert_int_equal(with_word("promise", 80, NFS4R_SERVERS_MAX + 1), NFS4R_TOOBIG);
	assert_int_equal(with_word("promise", 140, NFS4R_SERVERS_MAX + 2), NFS4R_TOOBIG);
	assert_int_equal(with_word("read_answer_row", 220, NFS4R_PARENTS_MAX + 1), NFS4R_TOOBIG);
	assert_int_equal(with_word("read_answer_row", 220, NFS4R_PARENTS_MAX), NFS4R_MALFORMED);
	assert_int_equal(with_word("read_answer_oids", 428, NFS4R_READDIR_MAX + 1), NFS4R_TOOBIG);
	assert_int_equal(with_word("forward_rename", 124, NFS4R_GROUPS_MAX + 1), NFS4R_TOOBIG); /* groups of the caller */
	assert_int_equal(with_word("forward_rename", 124, NFS4R_GROUPS_MAX), NFS4R_MALFORMED);
	/* joinrows: type, view 8, offset at 12, total 16, next_seq 8, applied at 28, rows at 64 */
	assert_int_equal(with_word("joinrows", 28, NFS4R_SERVERS_MAX + 2), NFS4R_TOOBIG);
	assert_int_equal(with_word("joinrows", 64, NFS4R_JOINROWS_MAX + 1), NFS4R_TOOBIG);
	assert_int_equal(with_word("joinrows", 64, NFS4R_JOINROWS_MAX), NFS4R_MALFORMED);
	assert_int_equal(with_word("joinrows", 100, NFS4R_CLAIM_CONTROLS_MAX + 1), NFS4R_TOOBIG);
	assert_int_equal(with_word("joinrows", 100, NFS4R_CLAIM_CONTROLS_MAX), NFS4R_MALFORMED);
	assert_int_equal(with_word("identities", 4, NFS4R_IDENTITIES_MAX + 1), NFS4R_TOOBIG);
	assert_int_equal(with_word("identities", 4, NFS4R_IDENTITIES_MAX), NFS4R_MALFORMED);
	assert_int_equal(with_word("identities", 8, NFS4R_PRINCIPAL_MAX + 1), NFS4R_TOOBIG);
}

static void test_enums(void **state)
{
	assert_int_equal(with_word("propose", 0, 0), NFS4R_MALFORMED);
	assert_int_equal(with_word("propose", 0, NFS4R_MSG_IDENTITIES + 1), NFS4R_MALFORMED);
	assert_int_equal(with_word("propose", 0, NFS4R_MSG_HELLO), NFS4R_MALFORMED);
	assert_int_equal(with_word("propose", 4, 0), NFS4R_MALFORMED); /* nobody's pid */
	assert_int_equal(with_word("propose", 4, 16), NFS4R_MALFORMED); /* no such server */
	assert_int_equal(with_word("propose", 44, 0), NFS4R_MALFORMED); /* depth */
	assert_int_equal(with_word("propose", 44, 4), NFS4R_MALFORMED);
	assert_int_equal(with_word("nack", 16, 0), NFS4R_MALFORMED);
	assert_int_equal(with_word("nack", 16, 3), NFS4R_MALFORMED);
	assert_int_equal(with_word("revoke", 20, 2), NFS4R_MALFORMED); /* boolean */
	/* identities: type, n, name of 17 bytes at 8, its mapping at 32, name of 34 bytes at 60, its mapping at 100 */
	assert_int_equal(with_word("identities", 8, 0), NFS4R_MALFORMED); /* no name */
	assert_int_equal(with_word("identities", 12, 0x61006963), NFS4R_MALFORMED); /* a NUL in it */
	assert_int_equal(with_word("identities", 32, 2), NFS4R_MALFORMED); /* boolean */
	assert_int_equal(with_word("identities", 104, 5), NFS4R_MALFORMED); /* the uid of nobody */
	assert_int_equal(with_word("forward_write", 4, NFS4R_OP_CLOSE), NFS4R_MALFORMED);
	assert_int_equal(with_word("forward_write", 4, 17), NFS4R_MALFORMED);
	assert_int_equal(with_word("forward_write", 4, NFS4R_OP_MKDIR), NFS4R_MALFORMED); /* no name */
	assert_int_equal(with_word("forward_write", 4, NFS4R_OP_CLAIM), NFS4R_MALFORMED); /* no depth */
	assert_int_equal(with_word("read_lookup", 12, 12), NFS4R_MALFORMED);
	assert_int_equal(with_word("read_oids", 60, 2), NFS4R_MALFORMED);
	assert_int_equal(with_word("read_oids", 60, 0), NFS4R_MALFORMED); /* all objects of a copy, or none */
	assert_int_equal(with_word("read_oids", 12, NFS4R_RD_READDIR), NFS4R_OK);
	assert_int_equal(with_word("accept", 44, 0), NFS4R_MALFORMED); /* nobody's seal */
	assert_int_equal(with_word("accept", 44, 16), NFS4R_MALFORMED);
	assert_int_equal(with_word("10/heartbeat_known", 44, 2), NFS4R_MALFORMED);
	assert_int_equal(with_word("10/heartbeat_known", 108, 2), NFS4R_MALFORMED);
	assert_int_equal(with_word("promise", 100, 2), NFS4R_MALFORMED);
	/* row: there at 168, version 172, type 180, multi 184, nlink 188, times 192, last entry at 208 */
	assert_int_equal(with_word("read_answer_row", 168, 2), NFS4R_MALFORMED);
	assert_int_equal(with_word("read_answer_row", 180, 0), NFS4R_MALFORMED);
	assert_int_equal(with_word("read_answer_row", 180, 8), NFS4R_MALFORMED);
	assert_int_equal(with_word("read_answer_row", 184, 2), NFS4R_MALFORMED);
	assert_int_equal(with_word("read_answer_row", 208, 16), NFS4R_MALFORMED);
	assert_int_equal(with_word("verify", 28, 3), NFS4R_MALFORMED); /* status */
	assert_int_equal(with_word("10/heartbeat_known", 36, 2), NFS4R_MALFORMED);
	assert_int_equal(with_word("10/heartbeat_known", 40, 2), NFS4R_MALFORMED);
	assert_int_equal(with_word("10/heartbeat_known", 48, 0), NFS4R_MALFORMED); /* memory */
	assert_int_equal(with_word("10/heartbeat_known", 48, 4), NFS4R_MALFORMED);
	assert_int_equal(with_word("10/heartbeat_known", 48, NFS4R_MEMORY_NEW), NFS4R_OK);
	assert_int_equal(with_word("promise", 12, 2), NFS4R_MALFORMED);
}

/* A mask at byte @at names servers 1 to 15 and nobody else. */
static void check_mask(const char *name, size_t at)
{
	assert_int_equal(with_word(name, at + 4, 0xfffe), NFS4R_OK);
	assert_int_equal(with_word(name, at + 4, 0x0001), NFS4R_MALFORMED);
	assert_int_equal(with_word(name, at + 4, 0x10000), NFS4R_MALFORMED);
	assert_int_equal(with_word(name, at, 1), NFS4R_MALFORMED);
	assert_int_equal(with_word(name, at, 0x80000000), NFS4R_MALFORMED);
}

static void test_masks(void **state)
{
	check_mask("nack", 32);
	check_mask("10/heartbeat_known", 28);
	check_mask("10/heartbeat_known", 100);
	check_mask("10/heartbeat_known", 120);
	check_mask("prepare", 12);
	check_mask("prepare", 20);
	check_mask("prepare", 28);
	check_mask("accept", 28);
	check_mask("promise", 40);
	check_mask("view", 20);
}

/* Members are voters, voters are servers, and each server has its address; or none has. */
static void test_servers(void **state)
{
	/* accept: members at 20 (1, 15), servers 68 (1, 2, 15), voters 76 (1, 15), first address at 88: id, port, length, text, keys at 112; the second at 116 */
	assert_int_equal(with_word("accept", 24, 0x8006), NFS4R_MALFORMED);
	assert_int_equal(with_word("accept", 24, 0x8000), NFS4R_OK);
	assert_int_equal(with_word("accept", 80, 0x8006), NFS4R_OK);
	assert_int_equal(with_word("accept", 80, 0x800a), NFS4R_MALFORMED);
	assert_int_equal(with_word("accept", 80, 0x8000), NFS4R_MALFORMED);
	assert_int_equal(with_word("accept", 72, 0x8002), NFS4R_MALFORMED);
	assert_int_equal(with_word("accept", 72, 0x800e), NFS4R_MALFORMED);
	assert_int_equal(with_word("accept", 88, 0), NFS4R_MALFORMED);
	assert_int_equal(with_word("accept", 88, 2), NFS4R_MALFORMED);
	assert_int_equal(with_word("accept", 92, 0), NFS4R_MALFORMED);
	assert_int_equal(with_word("accept", 92, 65536), NFS4R_MALFORMED);
	assert_int_equal(with_word("accept", 92, 65535), NFS4R_OK);
	assert_int_equal(with_word("accept", 100, 0x31203932), NFS4R_MALFORMED); /* a blank */
	assert_int_equal(with_word("accept", 100, 0x31003932), NFS4R_MALFORMED);
	assert_int_equal(with_word("accept", 116, 1), NFS4R_MALFORMED); /* not ascending */
	/* promise: voters at 72 */
	assert_int_equal(with_word("promise", 76, 0xfffc), NFS4R_MALFORMED);
}

/* A server has two keys at most, and they are not the same. */
static void test_keys(void **state)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m)), *d = malloc(sizeof(*d));
	struct nfs4r_buf *b;

	/* accept: keys of the first address at 112 (none), of the second at 140 (1), of the last at 200 (2) */
	assert_int_equal(with_word("accept", 112, NFS4R_KEYS_MAX + 1), NFS4R_TOOBIG);
	assert_int_equal(with_word("accept", 200, NFS4R_KEYS_MAX + 1), NFS4R_TOOBIG);
	assert_int_equal(with_word("accept", 140, 0), NFS4R_MALFORMED);
	assert_int_equal(with_word("accept", 140, 2), NFS4R_MALFORMED);
	assert_int_equal(with_word("accept", 144, 0), NFS4R_OK);
	m->type = NFS4R_MSG_ACCEPT;
	m->view.num = 1;
	m->view.members = m->view.open = m->view.servers = m->view.voters = NFS4R_BIT(1);
	m->view.nbook = 1;
	m->view.addresses[0] = (struct nfs4r_address){ .id = 1, .port = 294, .address = "a", .nkeys = 2 };
	b = nfs4r_msg_encode(m, NFS4R_PROTOCOL_VERSION);
	assert_int_equal(nfs4r_msg_decode(b->data, b->len, NFS4R_PROTOCOL_VERSION, d, &why), NFS4R_MALFORMED);
	nfs4r_buf_put(b);
	m->view.addresses[0].keys[1].sha256[31] = 1;
	b = nfs4r_msg_encode(m, NFS4R_PROTOCOL_VERSION);
	assert_int_equal(nfs4r_msg_decode(b->data, b->len, NFS4R_PROTOCOL_VERSION, d, &why), NFS4R_OK);
	assert_memory_equal(m->view.addresses, d->view.addresses, sizeof(m->view.addresses));
	nfs4r_msg_fini(d);
	nfs4r_buf_put(b);
	free(m);
	free(d);
}

/* A view comes after the one that it changes; only the first one changes none. */
static void test_views(void **state)
{
	/* type, number at 4 (258), base at 12 (195) */
	assert_int_equal(with_word("accept", 8, 196), NFS4R_OK);
	assert_int_equal(with_word("accept", 8, 195), NFS4R_MALFORMED);
	assert_int_equal(with_word("accept", 8, 0), NFS4R_MALFORMED);
	assert_int_equal(with_word("accept", 12, 1), NFS4R_MALFORMED);
	assert_int_equal(with_word("accept", 16, 0), NFS4R_OK);
	assert_int_equal(with_word("view", 8, 65), NFS4R_OK);
	assert_int_equal(with_word("view", 16, 65), NFS4R_MALFORMED);
	/* promise: what was accepted at 24 (195), on 130 */
	assert_int_equal(with_word("promise", 28, 131), NFS4R_OK);
	assert_int_equal(with_word("promise", 28, 130), NFS4R_MALFORMED);
	assert_int_equal(with_word("promise", 36, 195), NFS4R_MALFORMED);
}

static void test_join_rows(void **state)
{
	/* 5, 6 and 7 of 9 */
	assert_int_equal(with_word("joinrows", 16, 8), NFS4R_OK);
	assert_int_equal(with_word("joinrows", 16, 7), NFS4R_MALFORMED);
	assert_int_equal(with_word("joinrows", 12, 6), NFS4R_OK);
	assert_int_equal(with_word("joinrows", 12, 7), NFS4R_MALFORMED);
	assert_int_equal(with_word("joinrows", 12, 0xffffffff), NFS4R_MALFORMED); /* 2 in 32 bits */
	assert_int_equal(with_word("joinrows_none", 12, 1), NFS4R_MALFORMED);
	/* first row: pid at 68, kind 80, lsn 84, priority 92, count of controls 100, depths at 120 and 140 */
	assert_int_equal(with_word("joinrows", 68, 0), NFS4R_MALFORMED);
	assert_int_equal(with_word("joinrows", 68, 16), NFS4R_MALFORMED);
	assert_int_equal(with_word("joinrows", 96, 16), NFS4R_MALFORMED);
	assert_int_equal(with_word("joinrows", 120, 0), NFS4R_MALFORMED);
	assert_int_equal(with_word("joinrows", 140, NFS4R_DEEP_PLUS + 1), NFS4R_MALFORMED);
	/* it is proposed, the second, at 144, created: an entry is named by the latter only */
	assert_int_equal(with_word("joinrows", 80, NFS4R_CREATED), NFS4R_MALFORMED);
	assert_int_equal(with_word("joinrows", 88, 1), NFS4R_MALFORMED);
	assert_int_equal(with_word("joinrows", 156, 0), NFS4R_MALFORMED);
	assert_int_equal(with_word("joinrows", 156, NFS4R_MOVED), NFS4R_OK);
	assert_int_equal(with_word("joinrows", 156, NFS4R_GAP + 1), NFS4R_MALFORMED);
	assert_int_equal(with_word("joinrows", 156, NFS4R_PROPOSED), NFS4R_MALFORMED);
	assert_int_equal(with_word("joinrows", 164, 0), NFS4R_MALFORMED);
}

/* As many rows as one message may carry, each as large as it may be. */
static void test_most_join_rows(void **state)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m)), *d = malloc(sizeof(*d));
	struct nfs4r_buf *b;

	m->type = NFS4R_MSG_JOINROWS;
	m->joinrows.total = m->joinrows.n = NFS4R_JOINROWS_MAX;
	m->joinrows.rows = calloc(NFS4R_JOINROWS_MAX + 1, sizeof(*m->joinrows.rows));
	for (uint32_t i = 0; i <= NFS4R_JOINROWS_MAX; i++) {
		struct nfs4r_join_row *r = &m->joinrows.rows[i];

		r->pid.server = 1;
		r->kind = NFS4R_PROPOSED;
		r->ncontrols = NFS4R_CLAIM_CONTROLS_MAX;
		for (uint32_t k = 0; k < NFS4R_CLAIM_CONTROLS_MAX; k++)
			r->controls[k].depth = NFS4R_DEEP;
	}
	b = nfs4r_msg_encode(m, NFS4R_PROTOCOL_VERSION);
	assert_non_null(b);
	assert_int_equal(nfs4r_msg_decode(b->data, b->len, NFS4R_PROTOCOL_VERSION, d, &why), NFS4R_OK);
	assert_true(msg_equal(m, d));
	nfs4r_msg_fini(d);
	assert_null(d->joinrows.rows);
	nfs4r_buf_put(b);
	m->joinrows.total = m->joinrows.n = NFS4R_JOINROWS_MAX + 1;
	assert_null(nfs4r_msg_encode(m, NFS4R_PROTOCOL_VERSION));
	nfs4r_msg_fini(m);
	free(m);
	free(d);
}

static void test_names(void **state)
{
	/* read_lookup: type 4, id 8, type 4, oid 16, length at 32, name at 36: "file.txt" */
	assert_int_equal(with_word("read_lookup", 36, 0x662f6c65), NFS4R_MALFORMED); /* "f/le" */
	assert_int_equal(with_word("read_lookup", 36, 0x66006c65), NFS4R_MALFORMED);
	assert_int_equal(with_word("read_lookup", 36, 0x2e2e2e2e), NFS4R_OK);
	assert_int_equal(with_word("read_lookup", 32, NFS4R_NAME_MAX + 1), NFS4R_TOOBIG);
	assert_int_equal(with_word("read_lookup", 32, 0), NFS4R_MALFORMED);
	assert_int_equal(with_word("read_lookup", 32, 7), NFS4R_MALFORMED); /* padding is "t" */
}

static void test_payload_limit(void **state)
{
	struct nfs4r_entry *e = nfs4r_entry_new(), *d;
	struct nfs4r_buf *b;

	vector_write(e, 1, 1, NFS4R_IO_MAX);
	e->payload = nfs4r_buf_new(NFS4R_IO_MAX);
	memset(e->payload->data, 7, NFS4R_IO_MAX);
	b = nfs4r_entry_encode(e, true);
	assert_non_null(b);
	assert_int_equal(nfs4r_entry_decode(b->data, b->len, true, &d, &why), NFS4R_OK);
	assert_true(entry_equal(e, d, false));
	nfs4r_entry_put(d);
	nfs4r_buf_put(b);
	nfs4r_buf_put(e->payload);
	e->payload = nfs4r_buf_new(NFS4R_IO_MAX + 1);
	assert_null(nfs4r_entry_encode(e, true));
	b = nfs4r_entry_encode(e, false);
	assert_non_null(b);
	assert_int_equal(nfs4r_entry_decode(b->data, b->len, true, &d, &why), NFS4R_OK);
	assert_null(d->payload); /* an empty handle and no payload are the same bytes */
	nfs4r_entry_put(d);
	nfs4r_buf_put(b);
	nfs4r_entry_put(e);
}

static void test_message_limit(void **state)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m)), *d = malloc(sizeof(*d));

	m->type = NFS4R_MSG_ENTRIES;
	m->entries.log = 1;
	m->entries.n = 3;
	m->entries.entries = calloc(3, sizeof(*m->entries.entries));
	for (uint32_t i = 0; i < 3; i++) {
		struct nfs4r_entry *e = nfs4r_entry_new();

		vector_write(e, 1, 1 + i, 3 << 20);
		e->payload = nfs4r_buf_new(3 << 20);
		m->entries.entries[i] = e;
	}
	assert_null(nfs4r_msg_encode(m, NFS4R_PROTOCOL_VERSION));
	assert_int_equal(nfs4r_msg_decode(m, NFS4R_MESSAGE_MAX + 4, NFS4R_PROTOCOL_VERSION, d, &why), NFS4R_TOOBIG);
	nfs4r_msg_fini(m);
	free(m);
	free(d);
}

static void test_entries_are_one_log_without_gaps(void **state)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m)), *d = malloc(sizeof(*d));
	struct nfs4r_buf *b;

	m->type = NFS4R_MSG_ENTRIES;
	m->entries.log = 2;
	m->entries.n = 2;
	m->entries.entries = calloc(2, sizeof(*m->entries.entries));
	for (uint32_t i = 0; i < 2; i++) {
		m->entries.entries[i] = nfs4r_entry_new();
		vector_write(m->entries.entries[i], 2, 10 + i, 1);
	}
	for (int broken = 0; broken < 3; broken++) {
		m->entries.entries[1]->lsn = broken == 1 ? 12 : 11;
		m->entries.entries[1]->log = broken == 2 ? 3 : 2;
		b = nfs4r_msg_encode(m, NFS4R_PROTOCOL_VERSION);
		assert_int_equal(nfs4r_msg_decode(b->data, b->len, NFS4R_PROTOCOL_VERSION, d, &why),
				 broken ? NFS4R_MALFORMED : NFS4R_OK);
		nfs4r_msg_fini(d);
		nfs4r_buf_put(b);
	}
	nfs4r_msg_fini(m);
	free(m);
	free(d);
}

/* A server of another version can still be told what is wrong. */
/* What could not be read again is not written. */
static void test_attribute_without_a_name(void **state)
{
	struct nfs4r_entry *e = nfs4r_entry_new();

	e->log = e->lsn = e->view = 1;
	e->op = NFS4R_OP_REMOVEXATTR;
	e->nparts = 1;
	e->parts[0].effect = NFS4R_EFF_XATTR;
	e->parts[0].xname = strdup("");
	e->parts[0].xremove = true;
	assert_null(nfs4r_entry_encode(e, false));
	free(e->parts[0].xname);
	e->parts[0].xname = strdup("k");
	struct nfs4r_buf *b = nfs4r_entry_encode(e, false);
	assert_non_null(b);
	nfs4r_buf_put(b);
	nfs4r_entry_put(e);
}

static void test_hello_of_another_version(void **state)
{
	struct nfs4r_buf *b = vector_bytes("hello");
	struct nfs4r_transport_msg_body d;

	b->data[11] = 1;
	assert_int_equal(nfs4r_transport_msg_decode(b->data, 60, 9, &d), NFS4R_OK);
	assert_int_equal(d.hello.protocol.lowest, 1);
	assert_int_equal(d.hello.protocol.highest, 1);
	assert_int_equal(d.hello.server, 2);
	assert_string_equal(d.hello.version, ""); /* of protocol 1 nobody knows where it would be */
	b->data[11] = NFS4R_HELLO_VERSION_SINCE + 1;
	assert_int_equal(nfs4r_transport_msg_decode(b->data, 48, 9, &d), NFS4R_OK);
	assert_string_equal(d.hello.version, "0.1+abcdef0");
	assert_int_equal(d.hello.protocol.lowest, NFS4R_HELLO_VERSION_SINCE + 1); /* what lies there is something else */
	b->data[27] = 60; /* longer than the rest */
	assert_int_equal(nfs4r_transport_msg_decode(b->data, 48, 9, &d), NFS4R_MALFORMED);
	b->data[4] ^= 1;
	assert_int_equal(nfs4r_transport_msg_decode(b->data, b->len, 9, &d), NFS4R_MALFORMED);
	nfs4r_buf_put(b);
}

/* From protocol 9 on all of it is read, whatever a later version adds behind it. */
static void test_hello_of_a_later_version(void **state)
{
	struct nfs4r_buf *b = vector_bytes("hello"), *longer = nfs4r_buf_new(b->len + 8);
	struct nfs4r_transport_msg_body d;

	memcpy(longer->data, b->data, b->len);
	memset(longer->data + b->len, 0x77, 8);
	assert_int_equal(nfs4r_transport_msg_decode(longer->data, longer->len, 10, &d), NFS4R_MALFORMED); /* this version knows what 10 has */
	assert_int_equal(nfs4r_transport_msg_decode(longer->data, longer->len, 9, &d), NFS4R_OK);
	assert_int_equal(d.hello.protocol.lowest, 9);
	assert_int_equal(d.hello.protocol.highest, 10);
	assert_int_equal(d.hello.volume[15], 0x5a);
	assert_int_equal(d.hello.nkeys, 2);
	assert_string_equal(d.hello.keys[1].value, "site2");
	for (uint32_t len = 0; len < b->len; len += 4) /* what 9 has is not left out */
		assert_int_not_equal(nfs4r_transport_msg_decode(b->data, len, 9, &d), NFS4R_OK);
	b->data[43] = 11; /* the lowest above the highest */
	assert_int_equal(nfs4r_transport_msg_decode(b->data, b->len, 9, &d), NFS4R_MALFORMED);
	b->data[43] = 0;
	assert_int_equal(nfs4r_transport_msg_decode(b->data, b->len, 9, &d), NFS4R_MALFORMED);
	nfs4r_buf_put(longer);
	nfs4r_buf_put(b);
}

/* A member that is newer than the connection does not travel; one of it does. */
static void test_member_of_a_later_protocol(void **state)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m)), *d = malloc(sizeof(*d));
	struct nfs4r_buf *now, *next;

	m->type = NFS4R_MSG_HEARTBEAT;
	m->heartbeat.memory = NFS4R_MEMORY_KNOWN;
	m->heartbeat.trouble = 5;
	m->heartbeat.protocol = m->heartbeat.disk_format = (struct nfs4r_versions){ 1, 1 };
	m->heartbeat.rehearsal = 77;
	now = nfs4r_msg_encode(m, NFS4R_PROTOCOL_VERSION);
	next = nfs4r_msg_encode(m, NFS4R_PROTOCOL_REHEARSED);
	assert_int_equal(next->len, now->len + 4);
	assert_int_equal(nfs4r_msg_decode(now->data, now->len, NFS4R_PROTOCOL_VERSION, d, &why), NFS4R_OK);
	assert_int_equal(d->heartbeat.trouble, 5);
	assert_int_equal(d->heartbeat.rehearsal, 0);
	assert_int_equal(nfs4r_msg_decode(next->data, next->len, NFS4R_PROTOCOL_REHEARSED, d, &why), NFS4R_OK);
	assert_int_equal(d->heartbeat.rehearsal, 77);
	assert_int_equal(nfs4r_msg_decode(next->data, next->len, NFS4R_PROTOCOL_VERSION, d, &why), NFS4R_MALFORMED);
	assert_int_equal(nfs4r_msg_decode(now->data, now->len, NFS4R_PROTOCOL_REHEARSED, d, &why), NFS4R_MALFORMED);
	nfs4r_buf_put(now);
	nfs4r_buf_put(next);
	free(m);
	free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_enums),
		cmocka_unit_test(test_masks),
		cmocka_unit_test(test_servers),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_views),
		cmocka_unit_test(test_join_rows),
		cmocka_unit_test(test_most_join_rows),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_payload_limit),
		cmocka_unit_test(test_message_limit),
		cmocka_unit_test(test_entries_are_one_log_without_gaps),
		cmocka_unit_test(test_attribute_without_a_name),
		cmocka_unit_test(test_hello_of_another_version),
		cmocka_unit_test(test_hello_of_a_later_version),
		cmocka_unit_test(test_member_of_a_later_protocol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
