/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Lag ring, words of a comparison, text of any bytes, formats. */
#include "lib/unit.h"
#include <stdlib.h>

#include "base/text.h"
#include "ctl/ctl.h"
#include "engine/admin/admin_int.h"

static void lag_is_the_age_of_the_oldest_unapplied_entry(void **state)
{
	struct ctl_lag l = { 0 };

	assert_int_equal(admin_lag_ms(&l, 1000, 0), 0);
	admin_lag_sample(&l, 1000, 10);
	admin_lag_sample(&l, 2000, 10); /* nothing new: 10 is as old as before */
	admin_lag_sample(&l, 3000, 20);
	admin_lag_sample(&l, 4000, 30);
	assert_int_equal(admin_lag_ms(&l, 5000, 30), 0);
	assert_int_equal(admin_lag_ms(&l, 5000, 20), 1000);
	assert_int_equal(admin_lag_ms(&l, 5000, 15), 2000);
	assert_int_equal(admin_lag_ms(&l, 5000, 10), 2000);
	assert_int_equal(admin_lag_ms(&l, 5000, 0), 4000);
	assert_int_equal(admin_lag_ms(&l, 500, 0), 0); /* never negative */
}

static void lag_ring_stays_bounded_and_close(void **state)
{
	struct ctl_lag *l = calloc(1, sizeof(*l));
	uint64_t n = 100000; /* 5.5 hours under load */

	for (uint64_t i = 1; i <= n; i++)
		admin_lag_sample(l, i * 200, i);
	assert_true(l->n <= CTL_LAG_SAMPLES);
	for (uint64_t applied = 0; applied < n; applied += 997) {
		uint64_t real = (n - applied - 1) * 200, got = admin_lag_ms(l, n * 200, applied);

		assert_true(got <= real);
		assert_true(real - got <= real / 25 + 400);
	}
	free(l);
}

static void words_of_a_difference(void **state)
{
	struct verify_side a = { .version = 5 }, b = { .version = 5 };

	assert_false(admin_verify_differs(&a, &b));
	b.sum[31] = 1;
	assert_true(admin_verify_differs(&a, &b));
	assert_string_equal(admin_verify_what(&a, &b), "content");
	b.version = 4;
	assert_string_equal(admin_verify_what(&a, &b), "version");
	b.sum[31] = 0;
	assert_string_equal(admin_verify_what(&a, &b), "version only");
	b.status = NFS4R_UNKNOWN;
	assert_string_equal(admin_verify_what(&a, &b), "missing there");
	assert_string_equal(admin_verify_what(&b, &a), "missing here");
	b.status = NFS4R_IO;
	assert_string_equal(admin_verify_what(&a, &b), "unreadable there");
	b.status = NFS4R_DELAY;
	assert_string_equal(admin_verify_what(&a, &b), "changing");
	a.status = b.status = NFS4R_IO; /* two that cannot be read are not equal */
	assert_true(admin_verify_differs(&a, &b));
}

/* Servers 1 to 3; a sum each, 0: its file is gone. */
static bool plan(const uint8_t sum[4], nfs4r_server_id newest, nfs4r_server_id from, struct fix_job *job, const char **why)
{
	const struct verify_side *sides[NFS4R_SERVERS_MAX + 1] = { NULL };
	static struct verify_side s[4];

	*why = NULL;
	for (int i = 1; i <= 3; i++) {
		s[i] = (struct verify_side){ .version = 5, .status = sum[i] ? NFS4R_OK : NFS4R_STALE, .sum = { sum[i] } };
		sides[i] = sum[i] == 255 ? NULL : &s[i];
	}
	return admin_fix_plan(sides, 1, newest, from, job, why);
}

static void whose_copy_is_right(void **state)
{
	static const uint8_t equal[] = { 0, 7, 7, 7 }, wrong[] = { 0, 9, 7, 7 }, elsewhere[] = { 0, 7, 9, 7 }, gone[] = { 0, 0, 7, 7 }, all[] = { 0, 1, 2, 3 }, two[] = { 0, 1, 2, 255 },
			     lost[] = { 0, 0, 7, 255 };
	struct fix_job job;
	const char *why;

	assert_false(plan(equal, 1, 0, &job, &why));
	assert_true(plan(wrong, 1, 0, &job, &why)); /* the majority, whoever wrote last */
	assert_int_equal(job.from, NFS4R_BIT(2) | NFS4R_BIT(3));
	assert_true(job.content && !job.gone);
	assert_false(plan(elsewhere, 2, 0, &job, &why)); /* repaired there */
	assert_null(why);
	assert_true(plan(gone, 1, 0, &job, &why) && job.gone);
	assert_true(plan(all, 3, 0, &job, &why)); /* no majority: who wrote last */
	assert_int_equal(job.from, NFS4R_BIT(3));
	assert_false(plan(all, 1, 0, &job, &why));
	assert_true(plan(all, 1, 2, &job, &why)); /* the administrator knows better */
	assert_int_equal(job.from, NFS4R_BIT(2));
	assert_true(plan(wrong, 2, 2, &job, &why));
	assert_false(plan(two, 1, 0, &job, &why));
	assert_true(plan(two, 2, 0, &job, &why));
	assert_true(plan(lost, 1, 0, &job, &why)); /* the only one that is whole */
	assert_int_equal(job.from, NFS4R_BIT(2));
	assert_false(plan(two, 1, 3, &job, &why)); /* not asked */
	assert_non_null(why);
}

static void odd_names_of_any_server(void **state)
{
	struct verify_side s = { .names = nfs4r_buf_copy("+new\0-gone\0!other\0?", 19) };
	const char *what;
	uint32_t at = 0;

	assert_string_equal(admin_verify_odd_next(&s, &at, &what), "new");
	assert_string_equal(what, "on the disk, and not in the volume");
	assert_string_equal(admin_verify_odd_next(&s, &at, &what), "gone");
	assert_string_equal(admin_verify_odd_next(&s, &at, &what), "other");
	assert_null(admin_verify_odd_next(&s, &at, &what)); /* cut off */
	nfs4r_buf_put(s.names);
}

static void text_of_any_bytes(void **state)
{
	static const char *const cases[][2] = {
		{ "plain", "plain" },
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
		{ "new\nline", "new\\012line" },
		{ "a\xff"
		  "b",
		  "a\\377b" },
		{ "\xc3", "\\303" },
		{ "\xc0\x80", "\\300\\200" },
		{ "\xed\xa0\x80", "\\355\\240\\200" },
		{ "\xf4\x90\x80\x80", "\\364\\220\\200\\200" },
		{ "\xf0\x9f\x98\x80\xfe", "\xf0\x9f\x98\x80\\376" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *j = admin_json_text(cases[i][0]);

		assert_string_equal(json_string_value(j), cases[i][1]);
		json_decref(j);
	}
}

static void formats(void **state)
{
	char b[FORMAT_LEN];

	assert_string_equal(format_count(b, 0), "0");
	assert_string_equal(format_count(b, 999), "999");
	assert_string_equal(format_count(b, 1234567), "1,234,567");
	assert_string_equal(format_count(b, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_string_equal(format_bytes(b, 0), "0 bytes");
	assert_string_equal(format_bytes(b, 1), "1 byte");
	assert_string_equal(format_bytes(b, 1536), "1.5 KiB");
	assert_string_equal(format_bytes(b, 3.0 * 1024 * 1024 * 1024), "3.0 GiB");
	assert_string_equal(format_seconds(b, -1), "0 ms");
	assert_string_equal(format_seconds(b, 0.85), "850 ms");
	assert_string_equal(format_seconds(b, 0.9996), "1 s");
	assert_string_equal(format_seconds(b, 184), "3 min 4 s");
	assert_string_equal(format_seconds(b, 5 * 3600 + 360), "5 h 6 min");
	assert_string_equal(format_seconds(b, 8 * 86400 + 7200), "8 d 2 h");
}

static void nothing_reaches_a_terminal_as_a_control_character(void **state)
{
	char *s = nfs4r_text_line_new("a\x1b[2J\nb\xc2\x9b"
				      "c\xc3\xbc");

	assert_string_equal(s, "a\\033[2J\\012b\\302\\233c\xc3\xbc");
	free(s);
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
	static const char *const cells[] = { "A", "B", "l\xc3\xb6ng", "x", "s", "y" };
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct table *t = table_new(2);

	for (size_t i = 0; i < 6; i++)
		table_cell(t, cells[i]);
	table_print(t, out);
	fclose(out);
	assert_string_equal(text, "A     B\nl\xc3\xb6ng  x\ns     y\n");
	free(text);
}

/* What cannot be understood is shown as nothing; it never crashes. */
static void strange_answers_are_survived(void **state)
{
	static const char *const answers[] = {
		"{}",
		"{\"peers\":[1,null,{\"server\":\"x\"}],\"view\":3,\"log\":[],\"controls\":7}",
		"{\"controls\":[1,{\"path\":5}],\"truncated\":true}",
		"{\"core\":{\"a\":\"b\"},\"engine\":4}",
		("{\"controls\":[{\"below\":[1],\"acks\":5,\"kind\":\"proposed\"},{\"below\":{\"x\":null},\"acks\":[\"a\"],\"kind\":\"proposed\"}],\"servers\":{},"
		 "\"waiting\":[1,{\"on\":[null,{}],\"name\":7,\"waited_ms\":\"x\"},{\"on\":{},\"name\":\"\",\"remote\":true}]}"),
		"{\"waiting\":{}}",
		"{\"core\":{},\"latencies\":{\"won\":5,\"settled\":{\"n\":3},\"reply\":{\"n\":-1,\"buckets\":[{\"n\":-1},4,{\"below_ms\":\"x\",\"n\":1}]}}}",
		"{\"progress\":4}",
		"{\"difference\":{\"here\":1}}",
		"{\"unreachable\":[]}",
		"{\"result\":{\"status\":77,\"unreachable\":3}}",
	};
	FILE *out = fopen("/dev/null", "w");

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		json_t *a = json_loads(answers[i], 0, NULL);
		struct show_verify v = { .out = out, .bar = out };

		assert_non_null(a);
		show_status(a, out);
		show_controls(a, &(struct show_filter){ 0 }, out);
		show_controls(a, &(struct show_filter){ .waiting = true }, out);
		show_stats(a, out);
		show_verify_line(&v, a);
		json_decref(a);
	}
	fclose(out);
}

/* ---- percentiles ---- */

static void add(struct nfs4r_core_hist *h, uint64_t ms, uint64_t times)
{
	uint32_t i = ms ? 64 - (uint32_t)__builtin_clzll(ms) : 0;

	h->bucket[i < NFS4R_CORE_BUCKETS ? i : NFS4R_CORE_BUCKETS - 1] += times;
	h->n += times;
	h->sum_ms += ms * times;
	if (ms > h->max_ms)
		h->max_ms = ms;
}

static void percentiles_come_from_buckets(void **state)
{
	struct nfs4r_core_hist none = { 0 }, one = { 0 }, fast = { 0 }, even = { 0 }, far = { 0 };

	assert_true(admin_percentile(&none, 50) == 0);
	add(&one, 80, 1);
	assert_true(admin_percentile(&one, 1) == 80 && admin_percentile(&one, 99) == 80);

	add(&fast, 0, 99); /* what had not to wait did not wait half a millisecond */
	add(&fast, 1, 1);
	assert_true(admin_percentile(&fast, 50) == 0 && admin_percentile(&fast, 99) == 0 && admin_percentile(&fast, 100) == 1);

	for (uint64_t ms = 64; ms < 128; ms++)
		add(&even, ms, 1);
	assert_true(admin_percentile(&even, 50) > 94 && admin_percentile(&even, 50) < 97);
	assert_true(admin_percentile(&even, 100) == 127);

	add(&far, 20000, 1); /* the last bucket has no upper bound but the longest */
	add(&far, 90000, 1);
	assert_true(admin_percentile(&far, 99) == 90000);
}

static void percentiles_rise_and_end_at_the_longest(void **state)
{
	uint64_t s = 1;

	for (int round = 0; round < 200; round++) {
		struct nfs4r_core_hist h = { 0 };
		double before = 0;

		for (int i = 0; i <= round; i++) {
			s = s * 6364136223846793005ull + 1442695040888963407ull;
			add(&h, (s >> 33) % (1ull << (1 + (s >> 60))), 1 + (s >> 50) % 3);
		}
		for (unsigned p = 1; p <= 100; p++) {
			double v = admin_percentile(&h, p);

			assert_true(v >= before && v <= (double)h.max_ms);
			before = v;
		}
		assert_true(before == (double)h.max_ms);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lag_is_the_age_of_the_oldest_unapplied_entry),
		cmocka_unit_test(lag_ring_stays_bounded_and_close),
		cmocka_unit_test(words_of_a_difference),
		cmocka_unit_test(whose_copy_is_right),
		cmocka_unit_test(odd_names_of_any_server),
		cmocka_unit_test(text_of_any_bytes),
		cmocka_unit_test(formats),
		cmocka_unit_test(nothing_reaches_a_terminal_as_a_control_character),
		cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
		cmocka_unit_test(strange_answers_are_survived),
		cmocka_unit_test(percentiles_come_from_buckets),
		cmocka_unit_test(percentiles_rise_and_end_at_the_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
