/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * By which update were the bytes of a part of a file last changed? (Control 6.3: an owner that is asked for bytes which the asker's copy has, or is about
 * to have, says so and does not send them.)
 *
 * Known of files that are written here and larger than one piece, the newest FILES_MAX of them: for each piece the newest version that touched it. Of all others the
 * newest version of the whole file is as good an answer, only later. A file's pieces double in size when there are too many; then a piece has the newest
 * version of its parts.
 *
 * Happy path: a file is known from the moment on when its first WRITE behind the first piece got its version. Each update notes its piece before it is answered; whoever reads that piece elsewhere needs a copy of that version, though the file has newer ones.
 *
 * Failure modes: what is noted and then not committed names a version that nobody gets: the asker waits in vain for a moment and takes the bytes. What others did to the file, and
 * a repair, are not noted here; so both forget it.
 *
 * Invariants: no piece has an older version than the newest update of it that was answered. All pieces have at least the version before the file was known here.
 */
#include <stdlib.h>

#include "engine/runtime/runtime.h"

#define FILES_MAX 64
#define PIECES_MAX 4096
#define PIECES_STEP 64
#define PIECE_MIN (1u << 20) /* what most clients write at a time */

struct touch {
	nfs4r_version version;
	nfs4r_lsn lsn; /* of the own log: who has it applied has that version */
};

struct file {
	struct nfs4r_oid oid;
	uint64_t piece_bytes;
	uint32_t n;
	struct touch *piece; /* n of them, from the beginning of the file */
	struct touch rest; /* all behind them */
};

struct touched {
	pthread_mutex_t lock;
	_Atomic uint32_t n;
	uint32_t oldest; /* once there are FILES_MAX */
	struct file file[FILES_MAX];
};

struct touched *engine_touched_create(void)
{
	struct touched *w = calloc(1, sizeof(*w));

	if (w)
		pthread_mutex_init(&w->lock, NULL);
	return w;
}

void engine_touched_destroy(struct touched *w)
{
	if (!w)
		return;
	engine_touched_forget_all(w);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* ---- one file; w->lock held ---- */

static struct file *find(struct touched *w, const struct nfs4r_oid *oid)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (nfs4r_oid_eq(&w->file[i].oid, oid))
			return &w->file[i];
	return NULL;
}

/* All updates with older versions count as one of everything; those with newer ones find the file here. */
static void add(struct touched *w, const struct nfs4r_part *p, nfs4r_lsn lsn)
{
	struct file *f = &w->file[w->n < FILES_MAX ? w->n++ : w->oldest++ % FILES_MAX];

	free(f->piece);
	*f = (struct file){ .oid = p->oid, .piece_bytes = PIECE_MIN, .rest = { p->before, lsn } };
}

static void drop(struct touched *w, struct file *f)
{
	free(f->piece);
	*f = w->file[--w->n];
	w->file[w->n] = (struct file){ 0 };
}

static void raise(struct touch *t, const struct touch *by)
{
	if (by->version > t->version)
		t->version = by->version;
	if (by->lsn > t->lsn)
		t->lsn = by->lsn;
}

static void halve(struct file *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (i % 2)
			raise(&f->piece[i / 2], &f->piece[i]);
		else
			f->piece[i / 2] = f->piece[i];
	if (f->n % 2)
		raise(&f->piece[f->n / 2], &f->rest);
	f->n = (f->n + 1) / 2;
	f->piece_bytes *= 2;
}

/* Room for the piece that has byte @last. Without memory all behind what there is counts as one. */
static void reach(struct file *f, uint64_t last)
{
	while (last / f->piece_bytes >= PIECES_MAX)
		halve(f);

	uint32_t n = (uint32_t)(last / f->piece_bytes) / PIECES_STEP * PIECES_STEP + PIECES_STEP;
	struct touch *more = n > f->n ? realloc(f->piece, n * sizeof(*more)) : NULL;

	if (!more)
		return;
	f->piece = more;
	while (f->n < n)
		f->piece[f->n++] = f->rest;
}

/* @len UINT64_MAX: to the end, whatever comes. */
static void touch(struct file *f, uint64_t off, uint64_t len, const struct touch *by)
{
	bool all = len > UINT64_MAX - off;
	uint64_t last = all ? UINT64_MAX : off + len - 1;

	if (!len)
		return;
	if (!all)
		reach(f, last);
	for (uint64_t i = off / f->piece_bytes; i < f->n && i <= last / f->piece_bytes; i++)
		raise(&f->piece[i], by);
	if (last / f->piece_bytes >= f->n)
		raise(&f->rest, by);
}

/* ---- notes ---- */

static void note_part(struct touched *w, const struct nfs4r_part *p, nfs4r_lsn lsn)
{
	struct touch by = { p->after, lsn };
	struct file *f = find(w, &p->oid);
	bool sized = p->effect == NFS4R_EFF_ATTRS && p->attrs.mask & NFS4R_ATTR_SIZE;

	if (f && (p->effect == NFS4R_EFF_WRITE || p->effect == NFS4R_EFF_ALLOC))
		touch(f, p->off, p->len, &by);
	else if (f && sized)
		touch(f, p->attrs.size, UINT64_MAX, &by);
}

void engine_touched_begin(struct touched *w, const struct nfs4r_entry *e)
{
	const struct nfs4r_part *p = &e->parts[0];

	if (p->effect != NFS4R_EFF_WRITE || p->off + p->len <= PIECE_MIN)
		return;
	pthread_mutex_lock(&w->lock);
	if (!find(w, &p->oid))
		add(w, p, e->lsn);
	pthread_mutex_unlock(&w->lock);
}

void engine_touched_note(struct touched *w, const struct nfs4r_entry *e)
{
	pthread_mutex_lock(&w->lock);
	for (uint32_t i = 0; i < e->nparts; i++)
		note_part(w, &e->parts[i], e->lsn);
	pthread_mutex_unlock(&w->lock);
}

void engine_touched_forget(struct touched *w, const struct nfs4r_entry *e)
{
	if (!w->n)
		return;
	pthread_mutex_lock(&w->lock);
	for (uint32_t i = 0; i < e->nparts; i++) {
		struct file *f = find(w, &e->parts[i].oid);

		if (f)
			drop(w, f);
	}
	pthread_mutex_unlock(&w->lock);
}

void engine_touched_forget_all(struct touched *w)
{
	pthread_mutex_lock(&w->lock);
	while (w->n)
		drop(w, &w->file[0]);
	pthread_mutex_unlock(&w->lock);
}

bool engine_touched_last(struct touched *w, const struct nfs4r_oid *oid, uint64_t off, uint64_t len, nfs4r_version *version, nfs4r_lsn *lsn)
{
	struct touch newest = { 0 };

	pthread_mutex_lock(&w->lock);
	struct file *f = find(w, oid);

	if (f) {
		uint64_t last = (len > UINT64_MAX - off ? UINT64_MAX : off + len - 1) / f->piece_bytes;

		for (uint64_t i = off / f->piece_bytes; i < f->n && i <= last; i++)
			raise(&newest, &f->piece[i]);
		if (last >= f->n)
			raise(&newest, &f->rest);
	}
	pthread_mutex_unlock(&w->lock);
	*version = newest.version;
	*lsn = newest.lsn;
	return f != NULL;
}

uint32_t engine_touched_pieces(struct touched *w, const struct nfs4r_oid *oid, uint64_t off, uint64_t *words, uint32_t most)
{
	uint32_t n = 0;

	pthread_mutex_lock(&w->lock);
	struct file *f = find(w, oid);

	if (f) {
		words[n++] = f->piece_bytes;
		for (uint64_t i = off / f->piece_bytes; i < f->n && n < most; i++)
			words[n++] = f->piece[i].version;
	}
	pthread_mutex_unlock(&w->lock);
	return n;
}
