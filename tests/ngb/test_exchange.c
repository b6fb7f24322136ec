/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The text that tasks exchange: what is written is read, anything else is refused; its size; interpolation; the graphs' arcs. */
#include "ngb/exchange.h"
#include "ngb/graph.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

static size_t values_in(const struct ngb_field *f)
{
	return (size_t)f->nx * f->ny * f->nz * f->nvar;
}

static struct ngb_field field(int nx, int ny, int nz, int nvar)
{
	struct ngb_field f = { nx, ny, nz, nvar, NULL };

	f.v = calloc(values_in(&f), sizeof(double));
	assert_non_null(f.v);
	return f;
}

static int memory_file(void)
{
	int fd = memfd_create("ngb", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int read_back(int fd, const struct ngb_field *like, struct ngb_field *f, struct ngb_sum *sum)
{
	*f = *like;
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return ngb_read_field(fd, f, sum);
}

/* 1001 values: three lines; signs, sizes and zeros of all kinds. */
static void what_is_written_is_read(void **state)
{
	struct ngb_field f = field(7, 11, 13, 1), g;
	struct ngb_sum written, read, again;
	int fd = memory_file();

	for (size_t q = 0; q < values_in(&f); q++)
		f.v[q] = (q % 2 ? -1 : 1) * pow(10, (double)(q % 190) - 95) * (1 + (double)q / 7);
	f.v[5] = 1e-200;
	f.v[6] = -0.0;
	f.v[7] = 9.9999999999998e99;
	assert_int_equal(ngb_write_field(fd, &f, &written), 0);
	assert_int_equal(written.bytes, ngb_text_bytes(&f));
	assert_int_equal(lseek(fd, 0, SEEK_END), 1001 * 20 + 3);
	assert_int_equal(read_back(fd, &f, &g, &read), 0);
	assert_true(ngb_sum_equal(&written, &read));
	for (size_t q = 0; q < values_in(&f); q++)
		assert_true(fabs(g.v[q] - f.v[q]) <= 1e-13 * fabs(f.v[q]) || (q == 5 && g.v[q] == 0));
	assert_int_equal(ngb_write_field(-1, &g, &again), 0); /* what was read is written as the same text */
	assert_true(ngb_sum_equal(&written, &again));
	free(f.v);
	free(g.v);
	close(fd);
}

static void what_does_not_fit_is_refused(void **state)
{
	const double bad[] = { 1e100, -1e100, 9.99999999999999999e99, INFINITY, -INFINITY, NAN };
	struct ngb_field f = field(1, 1, 1, 1);
	struct ngb_sum sum;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		f.v[0] = bad[i];
		assert_int_equal(ngb_write_field(-1, &f, &sum), -ERANGE);
	}
	free(f.v);
	f = field(10, 10, 10, 1);
	assert_int_equal(ngb_write_field(1000, &f, &sum), -EBADF);
	free(f.v);
}

/* Each prefix of a file is half-written; each byte that is another one gives another sum or is refused. */
static void damage_is_noticed(void **state)
{
	struct ngb_field f = field(4, 5, 2, 1), g;
	struct ngb_sum written, read;
	int fd = memory_file(), size;

	for (size_t q = 0; q < values_in(&f); q++)
		f.v[q] = sin((double)q);
	assert_int_equal(ngb_write_field(fd, &f, &written), 0);
	size = (int)written.bytes;
	for (int at = 0; at < size; at++) {
		char was, other;

		assert_int_equal(pread(fd, &was, 1, at), 1);
		other = was == '1' ? '2' : '1';
		assert_int_equal(pwrite(fd, &other, 1, at), 1);
		if (read_back(fd, &f, &g, &read) == 0) {
			assert_false(ngb_sum_equal(&written, &read));
			free(g.v);
		}
		assert_int_equal(pwrite(fd, &was, 1, at), 1);
	}
	assert_int_equal(pwrite(fd, "\n", 1, size), 1);
	assert_int_equal(read_back(fd, &f, &g, &read), -EBADMSG);
	assert_null(g.v);
	for (int length = size - 1; length >= 0; length--) {
		assert_int_equal(ftruncate(fd, length), 0);
		assert_int_equal(read_back(fd, &f, &g, &read), -EBADMSG);
	}
	free(f.v);
	close(fd);
}

static void fill(struct ngb_field *f, double (*fn)(double x, double y, double z, int m))
{
	double *v = f->v;

	for (int k = 0; k < f->nz; k++)
		for (int j = 0; j < f->ny; j++)
			for (int i = 0; i < f->nx; i++)
				for (int m = 0; m < f->nvar; m++)
					*v++ = fn((double)i / (f->nx - 1), (double)j / (f->ny - 1), (double)k / (f->nz - 1), m);
}

static double trilinear(double x, double y, double z, int m)
{
	return (1 + x) * (2 - 3 * y) * (m + 5 * z);
}

/* A tri-linear function comes through unchanged, to finer and coarser meshes; two inputs add up. */
static void interpolation(void **state)
{
	const int to[][3] = { { 12, 12, 12 }, { 24, 36, 33 }, { 5, 3, 64 }, { 12, 12, 13 } };
	struct ngb_field from = field(12, 12, 12, 5);

	fill(&from, trilinear);
	for (size_t n = 0; n < sizeof(to) / sizeof(to[0]); n++) {
		struct ngb_field a = field(to[n][0], to[n][1], to[n][2], 5), b = field(to[n][0], to[n][1], to[n][2], 5);

		fill(&b, trilinear);
		ngb_add_interpolated(&from, &a);
		for (size_t q = 0; q < values_in(&a); q++)
			assert_true(fabs(a.v[q] - b.v[q]) < 1e-13);
		for (size_t q = 0; n == 0 && q < values_in(&a); q++)
			assert_true(a.v[q] == from.v[q]); /* the same mesh: nothing is rounded */
		ngb_add_interpolated(&from, &a);
		ngb_scale(&a, 0.5);
		for (size_t q = 0; q < values_in(&a); q++)
			assert_true(fabs(a.v[q] - b.v[q]) < 1e-13);
		free(a.v);
		free(b.v);
	}
	free(from.v);
}

static double linear(double x, double y, double z, int m)
{
	return m + x - 2 * y + 3 * z;
}

/* A linear function is what it was; the surface stays; what is inside lies between the values on the surface. */
static void from_the_surface(void **state)
{
	struct ngb_field f = field(9, 6, 5, 2), g = field(9, 6, 5, 2);

	fill(&g, linear);
	fill(&f, linear);
	for (int k = 1; k < 4; k++)
		for (int j = 1; j < 5; j++)
			for (int i = 1; i < 8; i++)
				f.v[((k * 6 + j) * 9 + i) * 2] = 3000;
	ngb_fill_from_surface(&f);
	for (size_t q = 0; q < values_in(&f); q++)
		assert_true(fabs(f.v[q] - g.v[q]) < 1e-13);
	for (size_t q = 0; q < values_in(&f); q++)
		f.v[q] = (double)(q * 7919 % 100) / 100;
	memcpy(g.v, f.v, values_in(&f) * sizeof(double));
	ngb_fill_from_surface(&f);
	for (size_t p = 0; p < values_in(&f) / 2; p++) {
		size_t i = p % 9, j = p / 9 % 6, k = p / 54;
		bool inside = i > 0 && i < 8 && j > 0 && j < 5 && k > 0 && k < 4;

		assert_true(f.v[2 * p] >= 0 && f.v[2 * p] < 1);
		assert_true(inside || f.v[2 * p] == g.v[2 * p]);
	}
	free(f.v);
	free(g.v);
}

static void sound(void **state)
{
	struct ngb_field u = field(1, 1, 1, 5), c;

	memcpy(u.v, (double[]){ 2, 1, 2, 2, 10 }, 5 * sizeof(double));
	assert_int_equal(ngb_sound_speed(&u, &c), 0);
	/* pressure 0.4 (10 - 9/4) = 3.1; c^2 = 1.4 * 3.1 / 2 */
	assert_true(fabs(c.v[0] - sqrt(2.17)) < 1e-14);
	free(u.v);
	free(c.v);
}

/* As the published table shows sizes: with a unit of 1024, rounded up, a decimal below 10. */
static void shown(uint64_t bytes, char *text, size_t size)
{
	double n = (double)bytes / 1024;
	char unit = 'K';

	if (n >= 1024) {
		n /= 1024;
		unit = 'M';
	}
	if (n < 10)
		snprintf(text, size, "%.1f%c", ceil(n * 10) / 10, unit);
	else
		snprintf(text, size, "%.0f%c", ceil(n), unit);
}

static const struct {
	const char *graph, *arc, *size[3]; /* S, W, A */
} table[] = {
	{ "HC", "BT-SP", { "169K", "1.4M", "26M" } },
	{ "HC", "SP-LU", { "169K", "4.5M", "26M" } },
	{ "HC", "LU-BT", { "169K", "3.5M", "26M" } },
	{ "VP", "BT-MG", { "34K", "271K", "5.1M" } },
	{ "VP", "MG-FT", { "641K", "41M", "321M" } },
	{ "VP", "BT-BT", { "169K", "1.4M", "26M" } },
	{ "VP", "FT-FT", { "5.1M", "11M", "161M" } },
	{ "MB", "LU-MG", { "34K", "702K", "5.1M" } },
	{ "MB", "MG-FT", { "641K", "41M", "321M" } },
};

static const char *published(const char *graph, const char *arc, enum ngb_class c)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].graph, graph) && !strcmp(table[i].arc, arc))
			return table[i].size[c - 1];
	return NULL;
}

/* Every arc of every graph and class, as shown in the published table and within 5 % of it in decimal units. */
static void sizes_as_published(void **state)
{
	const char *const graphs[] = { "ED", "HC", "VP", "MB" };
	const int arcs[] = { 0, 8, 10, 14 };

	for (int n = 0; n < 4; n++)
		for (enum ngb_class c = NGB_CLASS_S; c <= NGB_CLASS_A; c++) {
			struct ngb_graph g;
			int seen = 0;

			assert_int_equal(ngb_graph_make(&g, graphs[n], c), 0);
			assert_int_equal(g.ntasks, 9);
			for (const struct ngb_task *t = g.task; t < g.task + g.ntasks; t++)
				for (int i = 0; i < t->ninputs; i++, seen++) {
					const struct ngb_task *p = &g.task[t->input[i]];
					struct ngb_field f;
					char arc[8], text[16];
					const char *want;
					double bytes;

					assert_true(p->number < t->number);
					ngb_kind_mesh(&g, p, ngb_arc_kind(p, t), &f);
					snprintf(arc, sizeof(arc), "%s-%s", p->kernel->name, t->kernel->name);
					want = published(g.name, arc, c);
					assert_non_null(want);
					shown(ngb_text_bytes(&f), text, sizeof(text));
					assert_string_equal(text, want);
					bytes = atof(want) * (strchr(want, 'M') ? 1e6 : 1e3);
					assert_true(fabs((double)ngb_text_bytes(&f) / bytes - 1) < 0.05);
				}
			assert_int_equal(seen, arcs[n]);
		}
}

static void iterations(void **state)
{
	struct ngb_graph g;

	assert_int_equal(ngb_graph_make(&g, "ED", NGB_CLASS_S), 0);
	assert_int_equal(g.task[8].iterations, 100);
	assert_true(g.task[0].first == NGB_FIRST_OWN && g.task[0].disturbed == 0 && g.task[8].disturbed > g.task[7].disturbed);
	assert_int_equal(ngb_graph_make(&g, "HC", NGB_CLASS_A), 0);
	assert_int_equal(g.task[0].iterations, 200 / 9);
	assert_true(g.task[0].first == NGB_FIRST_SURFACE && g.task[1].first == NGB_FIRST_INPUT);
	assert_int_equal(ngb_graph_make(&g, "VP", NGB_CLASS_S), 0);
	assert_int_equal(g.task[1].iterations, 1);
	assert_int_equal(ngb_graph_make(&g, "MB", NGB_CLASS_W), 0);
	assert_int_equal(g.task[0].iterations, 100);
	assert_int_equal(g.task[1].iterations, 75);
	assert_int_equal(g.task[2].iterations, 66);
	assert_int_equal(g.task[5].iterations, 1);
	assert_int_equal(ngb_graph_make(&g, "XX", NGB_CLASS_S), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(damage_is_noticed),
		cmocka_unit_test(interpolation),
		cmocka_unit_test(from_the_surface),
		cmocka_unit_test(sound),
		cmocka_unit_test(sizes_as_published),
		cmocka_unit_test(iterations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
