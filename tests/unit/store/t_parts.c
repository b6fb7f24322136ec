/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The store's inner parts one by one: checksum, records, overlay, log index, row codec. */
#include <stdlib.h>
#include "lib/unit.h"

#include "store/internal.h"

static uint64_t rng = 17;

static uint64_t rnd(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

static void test_crc32c_known_values(void **state)
{
	uint8_t zeros[32] = { 0 }, buf[300];

	/* RFC 3720, B.4 */
	assert_int_equal(store_crc32c(0, zeros, 32), 0x8a9136aa);
	assert_int_equal(store_crc32c_tables(0, zeros, 32), 0x8a9136aa);
	assert_int_equal(store_crc32c(0, "123456789", 9), 0xe3069283);
	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = rnd();
	for (size_t at = 0; at < 16; at++) {
		for (size_t len = 0; len + at < sizeof(buf); len++) {
			uint32_t whole = store_crc32c(0, buf + at, len);

			assert_int_equal(whole, store_crc32c_tables(0, buf + at, len));
			assert_int_equal(whole, store_crc32c(store_crc32c(0, buf + at, len / 3), buf + at + len / 3, len - len / 3));
		}
	}
}

static void test_records_parse_only_whole_and_in_place(void **state)
{
	struct nfs4r_wbuf w = { 0 };
	struct nfs4r_rec_view rec;
	size_t total, second;

	store_rec_begin(&w, REC_SYNCED);
	store_rec_u64(&w, 77);
	store_rec_end(&w);
	second = w.len;
	store_rec_begin(&w, REC_PUTS);
	store_rec_bytes(&w, "abc", 3);
	store_rec_end(&w);
	store_rec_seal(&w, 6400);
	assert_int_equal(w.len % 8, 0);
	assert_true(store_rec_parse(w.p, w.len, 6400, &rec, &total));
	assert_int_equal(rec.type, REC_SYNCED);
	assert_int_equal(rec.len, 8);
	assert_int_equal(total, second);
	assert_true(store_rec_parse(w.p + second, w.len - second, 6400 + second, &rec, &total));
	assert_int_equal(rec.len, 3);
	assert_memory_equal(rec.body, "abc", 3);
	assert_false(store_rec_parse(w.p, w.len, 6408, &rec, &total));
	for (size_t less = 0; less < second; less++)
		assert_false(store_rec_parse(w.p, less, 6400, &rec, &total));
	/* every single bit but those of bytes 6 and 7, which are covered too */
	for (size_t bit = 0; bit < second * 8; bit++) {
		w.p[bit / 8] ^= 1 << bit % 8;
		assert_false(store_rec_parse(w.p, w.len, 6400, &rec, &total));
		w.p[bit / 8] ^= 1 << bit % 8;
	}
	free(w.p);
}

static void test_puts_of_a_bad_record(void **state)
{
	struct nfs4r_put puts[2] = { { .key_len = 3, .val_len = 5, .key = "key", .val = "value" },
				     { .key_len = 1, .del = true, .key = "k" } },
			 *back;
	struct nfs4r_wbuf w = { 0 };
	uint32_t n;

	store_rec_puts(&w, puts, 2);
	for (size_t len = 0; len <= w.len; len++) {
		struct nfs4r_rd r = { w.p, len, false };
		enum nfs4r_status st = store_rd_puts(&r, &back, &n);

		assert_int_equal(st, len < w.len ? NFS4R_MALFORMED : NFS4R_OK);
		if (st != NFS4R_OK)
			assert_null(back);
	}
	assert_int_equal(n, 2);
	assert_memory_equal(back[0].val, "value", 5);
	assert_true(back[1].del);
	free(back);
	for (int i = 0; i < 20000; i++) {
		size_t at = rnd() % w.len;
		uint8_t was = w.p[at];
		struct nfs4r_rd r = { w.p, w.len, false };

		w.p[at] = rnd();
		if (store_rd_puts(&r, &back, &n) == NFS4R_OK)
			free(back);
		w.p[at] = was;
	}
	free(w.p);
}

static struct nfs4r_overlay *room(uint32_t n)
{
	struct nfs4r_overlay *ov = store_ov_new();
	struct ov_need need = { 0 };

	assert_non_null(ov);
	for (uint32_t i = 0; i < n; i++) {
		store_ov_need_row(&need, 0);
		store_ov_need_name(&need, 8);
	}
	assert_true(store_ov_reserve(ov, &need));
	return ov;
}

static int cmp_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static unsigned depth_of(const struct ov_cookie *c)
{
	unsigned a, b;

	if (!c)
		return 0;
	a = depth_of(c->child[0]);
	b = depth_of(c->child[1]);
	return 1 + (a > b ? a : b);
}

static void test_cookie_order(void **state)
{
	enum {
		N = 3000
	};
	struct nfs4r_overlay *ov = room(2 * N);
	static uint64_t cookies[N];
	struct nfs4r_oid dir = { { 1 } };
	struct ov_row *row = store_ov_make_row(ov, &dir);

	for (int ascending = 0; ascending < 2; ascending++) {
		row->cookies = NULL;
		for (uint64_t i = 0; i < N; i++) {
			cookies[i] = ascending ? 10 + i * 3 : rnd() >> 1;
			store_ov_make_cookie(ov, row, cookies[i]);
			assert_int_equal(store_ov_make_cookie(ov, row, cookies[i])->cookie, cookies[i]);
		}
		qsort(cookies, N, sizeof(*cookies), cmp_u64);
		assert_true(depth_of(row->cookies) < 60);
		for (int i = 0; i < N; i++) {
			assert_int_equal(store_ov_cookie(row, cookies[i])->cookie, cookies[i]);
			if (i + 1 < N)
				assert_int_equal(store_ov_cookie(row, cookies[i] + 1)->cookie, cookies[i + 1]);
			else
				assert_null(store_ov_cookie(row, cookies[i] + 1));
		}
	}
	store_ov_free(ov);
}

static void test_tables_find_what_was_made(void **state)
{
	struct nfs4r_overlay *ov = store_ov_new();
	struct nfs4r_oid oid;

	for (uint32_t i = 0; i < 20000; i++) {
		struct ov_need need = { 0 };
		struct ov_name *n;

		nfs4r_oid_make(&oid, 1 + i % 3, 1, i / 2 + 1);
		store_ov_need_row(&need, 0);
		store_ov_need_name(&need, 4);
		assert_true(store_ov_reserve(ov, &need));
		store_ov_make_row(ov, &oid)->o.row.nlink = i;
		n = store_ov_make_name(ov, &oid, (char *)&i, 4);
		assert_true(n->gone);
		n->cookie = i;
	}
	for (uint32_t i = 0; i < 20000; i++) {
		nfs4r_oid_make(&oid, 1 + i % 3, 1, i / 2 + 1);
		assert_int_equal(store_ov_row(ov, &oid)->o.row.nlink, i);
		assert_int_equal(store_ov_name(ov, &oid, (char *)&i, 4)->cookie, i);
		assert_null(store_ov_name(ov, &oid, (char *)&i, 3));
	}
	assert_int_equal(ov->rows.count, 20000);
	store_ov_free(ov);
}

static void add(struct nfs4r_log *l, struct nfs4r_inc *mint, nfs4r_lsn lsn, uint64_t seq)
{
	struct nfs4r_oid oid = { { 0 } };

	if (seq)
		nfs4r_oid_make(&oid, 2, 5, seq);
	assert_true(store_log_reserve(l, lsn));
	store_log_add(l, lsn, lsn * 100, &oid);
	store_log_advance(l, 2, mint);
}

static void test_log_positions(void **state)
{
	struct nfs4r_log l = { 0 };
	struct nfs4r_inc mint = { 0 };

	add(&l, &mint, 3, 30);
	add(&l, &mint, 2, 0);
	assert_int_equal(l.applied, 0);
	assert_int_equal(mint.random, 0);
	assert_int_equal(store_log_last(&l), 3);
	store_log_truncate(&l, 3); /* what may still come stays */
	assert_int_equal(l.now.truncated, 0);
	add(&l, &mint, 1, 10);
	assert_int_equal(l.applied, 3);
	assert_int_equal(mint.counter, 5);
	assert_int_equal(mint.random, 30);
	assert_false(store_log_reserve(&l, 3 + LOG_GAP_MAX + 1));
	for (nfs4r_lsn i = 4; i < 100000; i++) {
		add(&l, &mint, i, i * 10);
		if (i % 7 == 0 && i > 500)
			store_log_truncate(&l, i - 400);
	}
	assert_true(l.now.cap < 4096); /* bounded by what is kept */
	assert_int_equal(l.applied, 99999);
	assert_null(store_log_at(&l, l.now.truncated));
	for (nfs4r_lsn i = l.now.truncated + 1; i <= l.applied; i++)
		assert_int_equal(store_log_at(&l, i)->pos, i * 100);
	assert_null(store_log_at(&l, l.applied + 1));
	free(l.now.ents);
}

static void test_row_codec(void **state)
{
	struct nfs4r_parent more[2] = { { .oid = { { 7 } }, .count = 2 }, { .oid = { { 8 } }, .count = 1 } };
	struct nfs4r_object o = { .row = { .type = 1, .multi = true, .version = 1ull << 40 | 3, .ctime = -5, .mtime = 6, .nlink = 4, .nparents = 3, .last_log = 15, .last_lsn = 99, .parent = { { 9 } } },
				  .parent_count = 1,
				  .more = more,
				  .handle_len = 5,
				  .handle = "handl" },
			    back;
	struct nfs4r_oid oid = { { 3 } };
	const uint8_t *rest;
	uint8_t buf[200];
	size_t len = store_row_size(&o);

	assert_int_equal(len, ROW_FIXED + 5 + 60);
	store_row_encode(&o, buf);
	assert_true(store_row_decode(&oid, buf, len, &back, &rest));
	assert_memory_equal(back.row.oid.b, oid.b, 16);
	assert_int_equal(back.row.version, o.row.version);
	assert_int_equal(back.row.ctime, -5);
	assert_int_equal(back.row.last_log, 15);
	assert_int_equal(back.row.nparents, 3);
	assert_int_equal(back.row.parent.b[0], 9);
	assert_int_equal(rest[0], 7);
	assert_int_equal(rest[20], 8);
	assert_memory_equal(back.handle, "handl", 5);
	for (size_t less = 0; less < len; less++)
		assert_false(store_row_decode(&oid, buf, less, &back, &rest));
	buf[52] = NFS4R_LOCAL_HANDLE_MAX + 1;
	assert_false(store_row_decode(&oid, buf, len, &back, &rest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc32c_known_values),
		cmocka_unit_test(test_records_parse_only_whole_and_in_place),
		cmocka_unit_test(test_puts_of_a_bad_record),
		cmocka_unit_test(test_cookie_order),
		cmocka_unit_test(test_tables_find_what_was_made),
		cmocka_unit_test(test_log_positions),
		cmocka_unit_test(test_row_codec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
