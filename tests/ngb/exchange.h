/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the tasks of a graph hand to one another: fields, as text, from mesh to mesh.
 *
 * A file holds the values of a field in the order of struct ngb_field, NGB_COLUMNS characters each, NGB_PER_LINE in a line; it says
 * nothing about itself: who reads it knows the producer's mesh.
 */
#ifndef NGB_EXCHANGE_H
#define NGB_EXCHANGE_H

#include "ngb/ngb.h"

#include <stdint.h>

#define NGB_COLUMNS 20
#define NGB_PER_LINE 500

/* Which bytes a file has; two files with the same sum are taken to be the same. */
struct ngb_sum {
	uint64_t bytes;
	uint64_t hash; /* FNV-1a */
};

bool ngb_sum_equal(const struct ngb_sum *a, const struct ngb_sum *b);

/*
 * Writes the field as text to the open file `fd`, or nowhere (-1), and says in *sum what that is. Values nearer to 0 than 1e-99 become 0.
 * 0; -ERANGE: a value is not finite, or 1e100 or more; -errno of write().
 */
int ngb_write_field(int fd, const struct ngb_field *f, struct ngb_sum *sum);

/*
 * Reads the whole file into f, whose mesh the caller has filled in; f->v is allocated. *sum: what was read.
 * 0; -EBADMSG: not such a file, or not of this mesh; -ENOMEM; -errno of read(). On failure f->v is NULL.
 */
int ngb_read_field(int fd, struct ngb_field *f, struct ngb_sum *sum);

/* The bytes of the text of a field. */
uint64_t ngb_text_bytes(const struct ngb_field *f);

/* The speed of sound at each point of a solution with 5 values a point. *out is allocated. 0, -ENOMEM. */
int ngb_sound_speed(const struct ngb_field *u, struct ngb_field *out);

/*
 * Adds `from`, tri-linearly interpolated, to `to`, whose mesh may be another one; both span the unit cube from its first to its last
 * plane, and have the same number of values a point.
 */
void ngb_add_interpolated(const struct ngb_field *from, struct ngb_field *to);

/*
 * Fills the inside of the cube from its surface: the mean of the three linear interpolations between opposite faces. A mean of states of a gas, with
 * weights that are not negative, is one: density and pressure stay above 0. The mesh has at least 2 points in each direction.
 */
void ngb_fill_from_surface(struct ngb_field *f);

void ngb_scale(struct ngb_field *f, double by);

#endif
