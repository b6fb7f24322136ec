/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * See exchange.h. Text goes through one buffer of a line each way, so a field of any size costs no second copy of itself.
 *
 * Failure modes: the file's, memory, and values that the columns cannot hold. Invariant: what ngb_write_field() accepts
 * ngb_read_field() reads, and both see the same sum; 14 digits are fewer than a double has, so a value that went through a file is
 * not what it was, but it is the same for everybody who reads it.
 */
#include "ngb/exchange.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FNV_START UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)
#define LINE_BYTES (NGB_COLUMNS * NGB_PER_LINE + 1)
#define CHUNK (16 * LINE_BYTES)

static size_t values(const struct ngb_field *f)
{
	return (size_t)f->nx * f->ny * f->nz * f->nvar;
}

static void sum_bytes(struct ngb_sum *sum, const char *p, size_t n)
{
	sum->bytes += n;
	for (size_t i = 0; i < n; i++)
		sum->hash = (sum->hash ^ (unsigned char)p[i]) * FNV_PRIME;
}

bool ngb_sum_equal(const struct ngb_sum *a, const struct ngb_sum *b)
{
	return a->bytes == b->bytes && a->hash == b->hash;
}

uint64_t ngb_text_bytes(const struct ngb_field *f)
{
	size_t n = values(f);

	return n * NGB_COLUMNS + (n + NGB_PER_LINE - 1) / NGB_PER_LINE;
}

static int write_all(int fd, const char *p, size_t n)
{
	while (fd >= 0 && n > 0) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno != EINTR)
			return -errno;
		if (done > 0) {
			p += done;
			n -= (size_t)done;
		}
	}
	return 0;
}

int ngb_write_field(int fd, const struct ngb_field *f, struct ngb_sum *sum)
{
	static char text[CHUNK + 2 * NGB_COLUMNS];
	size_t n = values(f), used = 0;
	int rc = 0;

	*sum = (struct ngb_sum){ 0, FNV_START };
	for (size_t q = 0; q < n && rc == 0; q++) {
		double v = f->v[q];

		if (!(fabs(v) < 9.9999999999999e99))
			return -ERANGE;
		if (fabs(v) < 1e-99)
			v = 0;
		used += (size_t)snprintf(text + used, NGB_COLUMNS + 1, "%20.13E", v);
		if ((q + 1) % NGB_PER_LINE == 0 || q + 1 == n)
			text[used++] = '\n';
		if (used >= CHUNK || q + 1 == n) {
			sum_bytes(sum, text, used);
			rc = write_all(fd, text, used);
			used = 0;
		}
	}
	return rc;
}

/* Exactly n bytes. -EBADMSG: the file ends before. */
static int read_all(int fd, char *p, size_t n)
{
	while (n > 0) {
		ssize_t got = read(fd, p, n);

		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0)
			return -EBADMSG;
		if (got > 0) {
			p += got;
			n -= (size_t)got;
		}
	}
	return 0;
}

/* One column. */
static int parse(const char *p, double *v)
{
	char text[NGB_COLUMNS + 1], *end;

	memcpy(text, p, NGB_COLUMNS);
	text[NGB_COLUMNS] = '\0';
	if (strspn(text, " +-.0123456789E") != NGB_COLUMNS)
		return -EBADMSG;
	*v = strtod(text, &end);
	return end == text + NGB_COLUMNS && isfinite(*v) ? 0 : -EBADMSG;
}

static int read_lines(int fd, struct ngb_field *f, struct ngb_sum *sum)
{
	static char text[LINE_BYTES];
	size_t n = values(f);
	int rc = 0;

	for (size_t first = 0; first < n && rc == 0; first += NGB_PER_LINE) {
		size_t count = n - first < NGB_PER_LINE ? n - first : NGB_PER_LINE, bytes = count * NGB_COLUMNS + 1;

		rc = read_all(fd, text, bytes);
		if (rc == 0 && text[bytes - 1] != '\n')
			rc = -EBADMSG;
		for (size_t q = 0; q < count && rc == 0; q++)
			rc = parse(text + q * NGB_COLUMNS, &f->v[first + q]);
		if (rc == 0)
			sum_bytes(sum, text, bytes);
	}
	if (rc == 0 && read(fd, text, 1) != 0)
		rc = -EBADMSG; /* more than the mesh has */
	return rc;
}

int ngb_read_field(int fd, struct ngb_field *f, struct ngb_sum *sum)
{
	int rc;

	*sum = (struct ngb_sum){ 0, FNV_START };
	f->v = malloc(values(f) * sizeof(double));
	if (!f->v)
		return -ENOMEM;
	rc = read_lines(fd, f, sum);
	if (rc) {
		free(f->v);
		f->v = NULL;
	}
	return rc;
}

int ngb_sound_speed(const struct ngb_field *u, struct ngb_field *out)
{
	*out = *u;
	out->nvar = 1;
	out->v = malloc(values(out) * sizeof(double));
	if (!out->v)
		return -ENOMEM;
	for (size_t p = 0; p < values(out); p++) {
		const double *q = u->v + p * u->nvar;
		double density = q[0], momentum2 = q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
		/* of an ideal gas: c^2 = gamma (gamma - 1) times the inner energy of a unit of mass, gamma = 1.4 */
		double inner = (q[4] - 0.5 * momentum2 / density) / density;

		out->v[p] = sqrt(fabs(1.4 * 0.4 * inner));
	}
	return 0;
}

/* Where a mesh of n points along a line finds point i of a mesh of m points: between low and low + 1, at `share` of the latter. */
struct place {
	int low, high;
	double share;
};

static struct place locate(int i, int m, int n)
{
	double x = m > 1 ? (double)i * (n - 1) / (m - 1) : 0;
	struct place p = { .low = (int)x };

	if (p.low > n - 2)
		p.low = n > 1 ? n - 2 : 0;
	p.high = n > 1 ? p.low + 1 : 0;
	p.share = x - p.low;
	return p;
}

static double value_at(const struct ngb_field *f, int i, int j, int k, int m)
{
	return f->v[(((size_t)k * f->ny + j) * f->nx + i) * f->nvar + m];
}

static double along_x(const struct ngb_field *f, const struct place *x, int j, int k, int m)
{
	return (1 - x->share) * value_at(f, x->low, j, k, m) + x->share * value_at(f, x->high, j, k, m);
}

static double along_xy(const struct ngb_field *f, const struct place *x, const struct place *y, int k, int m)
{
	return (1 - y->share) * along_x(f, x, y->low, k, m) + y->share * along_x(f, x, y->high, k, m);
}

void ngb_add_interpolated(const struct ngb_field *from, struct ngb_field *to)
{
	double *out = to->v;

	for (int k = 0; k < to->nz; k++) {
		struct place z = locate(k, to->nz, from->nz);

		for (int j = 0; j < to->ny; j++) {
			struct place y = locate(j, to->ny, from->ny);

			for (int i = 0; i < to->nx; i++) {
				struct place x = locate(i, to->nx, from->nx);

				for (int m = 0; m < to->nvar; m++)
					*out++ += (1 - z.share) * along_xy(from, &x, &y, z.low, m) +
						z.share * along_xy(from, &x, &y, z.high, m);
			}
		}
	}
}

static double between(double low, double high, int i, int n)
{
	double share = (double)i / (n - 1);

	return (1 - share) * low + share * high;
}

void ngb_fill_from_surface(struct ngb_field *f)
{
	int x = f->nx - 1, y = f->ny - 1, z = f->nz - 1;

	for (int k = 1; k < z; k++)
		for (int j = 1; j < y; j++)
			for (int i = 1; i < x; i++)
				for (int m = 0; m < f->nvar; m++)
					f->v[(((size_t)k * f->ny + j) * f->nx + i) * f->nvar + m] =
						(between(value_at(f, 0, j, k, m), value_at(f, x, j, k, m), i, f->nx) +
						 between(value_at(f, i, 0, k, m), value_at(f, i, y, k, m), j, f->ny) +
						 between(value_at(f, i, j, 0, m), value_at(f, i, j, z, m), k, f->nz)) /
						3;
}

void ngb_scale(struct ngb_field *f, double by)
{
	for (size_t q = 0; q < values(f); q++)
		f->v[q] *= by;
}
