/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The bytes of each message are those of protocol/golden, and mean the same struct. A vector
 * that changes is a change of the protocol: NFS4R_GOLDEN_WRITE=1 writes them anew.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/unit.h"

#include "unit/proto/vectors.h"
#include "xdr_map.h"

static const char *why; /* what the decoder said last */

static char *hex_of(const struct nfs4r_buf *b)
{
	char *s = malloc(b->len * 2 + b->len / 32 + 3), *p = s;

	for (uint32_t i = 0; i < b->len; i++) {
		p += sprintf(p, "%02x", b->data[i]);
		if (i % 32 == 31 || i + 1 == b->len)
			*p++ = '\n';
	}
	*p = '\0';
	return s;
}

static char *golden_path(const struct vector *v)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s.hex", NFS4R_GOLDEN_DIR, v->name) > 0);
	return path;
}

static char *golden_read(const struct vector *v)
{
	char *path = golden_path(v), *s = calloc(1, 65536);
	FILE *f = fopen(path, "r");

	if (!f)
		fail_msg("%s is missing", path);
	assert_true(fread(s, 1, 65535, f) > 0);
	fclose(f);
	free(path);
	return s;
}

static void golden_write(const struct vector *v, const char *hex)
{
	char *path = golden_path(v);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(hex, f);
	fclose(f);
	free(path);
}

static void test_encode(void **state)
{
	for (unsigned i = 0; i < vector_count; i++) {
		struct nfs4r_buf *b = vector_encode(&vectors[i]);
		char *hex, *want;

		if (!b)
			fail_msg("%s does not encode", vectors[i].name);
		hex = hex_of(b);
		if (getenv("NFS4R_GOLDEN_WRITE"))
			golden_write(&vectors[i], hex);
		want = golden_read(&vectors[i]);
		if (strcmp(hex, want) != 0)
			fail_msg("%s: encoded as\n%s", vectors[i].name, hex);
		free(want);
		free(hex);
		nfs4r_buf_put(b);
	}
}

/* Decoded from an odd address too: a journal does not promise alignment. */
static void check_msg(const struct vector *v, const struct nfs4r_buf *b)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m)), *d = malloc(sizeof(*d));
	uint8_t *odd = malloc(b->len + 1);

	v->make(m);
	memcpy(odd + 1, b->data, b->len);
	for (int i = 0; i < 2; i++) {
		if (nfs4r_msg_decode(i ? odd + 1 : b->data, b->len, v->protocol, d, &why) != NFS4R_OK)
			fail_msg("%s cannot be decoded: %s", v->name, why ? why : "malformed");
		if (!msg_equal(m, d))
			fail_msg("%s decodes to something else", v->name);
		nfs4r_msg_fini(d);
	}
	nfs4r_msg_fini(m);
	free(odd);
	free(m);
	free(d);
}

static void check_journal(const struct vector *v, const struct nfs4r_buf *b)
{
	struct nfs4r_entry *e = nfs4r_entry_new(), *d;

	v->make(e);
	assert_int_equal(nfs4r_entry_decode(b->data, b->len, false, &d, &why), NFS4R_OK);
	if (!entry_equal(e, d, true))
		fail_msg("%s decodes to something else", v->name);
	nfs4r_entry_put(d);
	nfs4r_entry_put(e);
}

static void check_transport(const struct vector *v, const struct nfs4r_buf *b)
{
	struct nfs4r_transport_msg_body m, d;
	bool eq;

	memset(&m, 0, sizeof(m));
	v->make(&m);
	assert_int_equal(nfs4r_transport_msg_decode(b->data, b->len, 10, &d), NFS4R_OK);
	if (m.type == NFS4R_MSG_TOKEN || m.type == NFS4R_MSG_PADDING) {
		eq = d.security == m.security && d.opaque->len == m.opaque->len &&
			!memcmp(d.opaque->data, m.opaque->data, m.opaque->len);
	} else {
		eq = memcmp(&m, &d, sizeof(m)) == 0;
	}
	nfs4r_transport_msg_fini(&m);
	nfs4r_transport_msg_fini(&d);
	if (!eq)
		fail_msg("%s decodes to something else", v->name);
}

static void test_decode(void **state)
{
	for (unsigned i = 0; i < vector_count; i++) {
		struct nfs4r_buf *b = vector_encode(&vectors[i]);

		if (vectors[i].kind == VECTOR_MSG)
			check_msg(&vectors[i], b);
		else if (vectors[i].kind == VECTOR_JOURNAL)
			check_journal(&vectors[i], b);
		else
			check_transport(&vectors[i], b);
		nfs4r_buf_put(b);
	}
}

/* Every proper beginning and every longer message is refused. */
static void test_length_is_exact(void **state)
{
	struct nfs4r_msg *m = malloc(sizeof(*m));

	for (unsigned i = 0; i < vector_count; i++) {
		struct nfs4r_buf *b = vector_encode(&vectors[i]);
		struct nfs4r_entry *e;
		uint8_t *longer = calloc(1, b->len + 4);

		memcpy(longer, b->data, b->len);
		for (uint32_t len = 0; len <= b->len + 4; len++) {
			if (len == b->len)
				continue;
			if (vectors[i].kind == VECTOR_MSG)
				assert_int_not_equal(nfs4r_msg_decode(longer, len, vectors[i].protocol, m, &why), NFS4R_OK);
			if (vectors[i].kind == VECTOR_JOURNAL)
				assert_int_not_equal(nfs4r_entry_decode(longer, len, false, &e, &why),
						     NFS4R_OK);
		}
		free(longer);
		nfs4r_buf_put(b);
	}
	free(m);
}

/*
 * A member that is new in a struct has to travel, or to be local on purpose. This fails when a
 * size changes, to make somebody decide: then protocol/ and the vectors, then the number here.
 */
static void test_no_member_was_added_unnoticed(void **state)
{
	struct nfs4r_msg *m = NULL;

	assert_int_equal(sizeof(struct nfs4r_attrs), 88);
	assert_int_equal(sizeof(struct nfs4r_part), 280);
	assert_int_equal(sizeof(struct nfs4r_entry), 1488); /* `bytes_at` and the handle are not on the wire */
	assert_int_equal(sizeof(struct nfs4r_read), 1896); /* `server`, `locked` and `owner` are not on the wire */
	assert_int_equal(sizeof(m->propose), 200);
	assert_int_equal(sizeof(m->ack), 152);
	assert_int_equal(sizeof(m->nack), 40);
	assert_int_equal(sizeof(m->revoke), 28);
	assert_int_equal(sizeof(m->positions), 760);
	assert_int_equal(sizeof(m->entries), 32);
	assert_int_equal(sizeof(m->verify), 96);
	assert_int_equal(sizeof(m->heartbeat), 176);
	assert_int_equal(sizeof(m->prepare), 32);
	assert_int_equal(sizeof(struct nfs4r_view), 2864);
	assert_int_equal(sizeof(m->promise), 3024);
	assert_int_equal(sizeof(m->join), 16);
	assert_int_equal(sizeof(struct nfs4r_join_row), 208);
	assert_int_equal(sizeof(m->joinrows), 168);
	assert_int_equal(sizeof(struct nfs4r_lock), 64);
	assert_int_equal(sizeof(struct nfs4r_file_lock), 88);
	assert_int_equal(sizeof(struct nfs4r_lock_request), 216);
	assert_int_equal(sizeof(struct nfs4r_client), 376);
	assert_int_equal(sizeof(m->lock_ready), 128);
	assert_int_equal(sizeof(m->locks_of), 32);
	assert_int_equal(sizeof(m->locks_list), 1088);
	assert_int_equal(sizeof(m->gap_over), 192);
	assert_int_equal(sizeof(struct nfs4r_share_request), 48);
	assert_int_equal(sizeof(m->guard), 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encode),
		cmocka_unit_test(test_decode),
		cmocka_unit_test(test_length_is_exact),
		cmocka_unit_test(test_no_member_was_added_unnoticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
