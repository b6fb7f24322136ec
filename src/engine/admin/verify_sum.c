/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Checksum of one object of this server's copy, for `nfs4rctl verify`, and serving it to peers.
 *
 * What goes into the SHA-256 is what clients see and what must be equal everywhere: type, mode (not of a symbolic link),
 * owner, mtime, number of links (not of a directory), device, ACL, link text, extended attributes in the order of their names (but for labels), then
 * the bytes of a file or the names, OIDs, types and cookies of a directory. Every item is preceded by its length; numbers are
 * 8 bytes, big endian. Not in it: the version, which is compared by itself so that "older there" and "different
 * there" can be told apart; the size of a directory, its space, atime, which are each server's own.
 *
 * Beside the sum goes which names of a directory lead elsewhere on the disk than in the store (verify_disk.c).
 *
 * Nothing is locked, so what was read may be half of an update: then the version has moved at the end (DELAY), or will
 * move when that update commits. Whoever compares asks again before it believes in a difference.
 *
 * A large file is summed in pieces. Holes are skipped, and pieces of zeros count for nothing, so a sparse file takes as long as its data, and a copy that stores the zeros has the
 * same sum. What other servers ask for is summed in a thread of its own, one object for each of them at a time, so that what peers forward for their clients never waits for it. It ends
 * between two pieces when its asker is gone.
 */
#include <stdlib.h>
#include <time.h>

#include "base/xattr.h"
#include "engine/admin/admin_int.h"

#define FORMAT "nfs4r-verify-3"
#define REST_US_MAX 100000

static void put_num(struct verify_sum *s, uint64_t v)
{
	uint8_t b[8];

	for (int i = 8; i-- > 0; v >>= 8)
		b[i] = (uint8_t)v;
	sha256_update(&s->sha, sizeof(b), b);
}

static void put_bytes(struct verify_sum *s, const void *p, size_t len)
{
	put_num(s, len);
	sha256_update(&s->sha, len, p);
}

static void end(struct verify_sum *s, enum nfs4r_status st)
{
	s->side.status = st;
	s->phase = VERIFY_OVER;
}

/* ---- what an object has besides its bytes or names ---- */

static void put_attrs(struct verify_sum *s, const struct nfs4r_attrs *a)
{
	uint32_t type = s->row.type;

	put_bytes(s, FORMAT, sizeof(FORMAT));
	put_num(s, type);
	put_num(s, type == NFS4R_TYPE_SYMLINK ? 0 : a->mode);
	put_num(s, a->uid);
	put_num(s, a->gid);
	put_num(s, (uint64_t)s->row.mtime);
	put_num(s, type == NFS4R_TYPE_DIR ? 0 : s->row.nlink);
	put_num(s, type == NFS4R_TYPE_CHR || type == NFS4R_TYPE_BLK ? a->rdev_major : 0);
	put_num(s, type == NFS4R_TYPE_CHR || type == NFS4R_TYPE_BLK ? a->rdev_minor : 0);
	put_num(s, type == NFS4R_TYPE_FILE ? a->size : 0);
	put_bytes(s, a->acl ? a->acl->data : (const void *)"", a->acl ? a->acl->len : 0);
}

/* As the newest LOCKS entry of the file has them (locks 6). Of a file without locks the sum is that of releases that know none. */
static enum nfs4r_status put_locks(struct nfs4r_engine *eng, struct verify_sum *s)
{
	uint32_t n = nfs4r_store_locks(eng->store, &s->oid, NULL, 0);
	struct nfs4r_file_lock *list = n ? calloc(n, sizeof(*list)) : NULL;

	if (!n)
		return NFS4R_OK;
	if (!list)
		return NFS4R_NOMEM;
	if (nfs4r_store_locks(eng->store, &s->oid, list, n) != n) { /* it has another version by now */
		free(list);
		return NFS4R_DELAY;
	}
	put_num(s, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct nfs4r_file_lock *l = &list[i];

		put_num(s, l->lock.owner.client[0]);
		put_num(s, l->lock.owner.client[1]);
		put_num(s, l->lock.owner.owner[0]);
		put_num(s, l->lock.owner.owner[1]);
		put_num(s, l->lock.type);
		put_num(s, l->lock.start);
		put_num(s, l->lock.last);
		put_num(s, l->holder);
		put_num(s, l->inc);
		put_num(s, l->n);
	}
	free(list);
	return NFS4R_OK;
}

static enum nfs4r_status put_linktext(struct nfs4r_engine *eng, struct verify_sum *s)
{
	char text[NFS4R_PATH_MAX];
	uint32_t len = sizeof(text);
	enum nfs4r_status st = eng->ops->readlink(eng->ctx, &s->h, text, &len);

	if (st == NFS4R_OK)
		put_bytes(s, text, len);
	return st;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Splits @len bytes of NUL-terminated names; returns how many. */
static size_t split(char *names, uint32_t len, const char **out, size_t max)
{
	size_t n = 0;

	for (char *p = names; p < names + len && n < max; p += strlen(p) + 1)
		if (*p && !nfs4r_xattr_is_label(p))
			out[n++] = p;
	return n;
}

#define XATTRS_MAX 4096

struct xattr_space {
	char names[NFS4R_XATTR_VALUE_MAX + 1];
	const char *sorted[XATTRS_MAX];
	uint8_t value[NFS4R_XATTR_VALUE_MAX];
};

static enum nfs4r_status put_xattrs_in(struct nfs4r_engine *eng, struct verify_sum *s, struct xattr_space *x)
{
	uint32_t len = sizeof(x->names) - 1;
	enum nfs4r_status st = eng->ops->listxattr(eng->ctx, &s->h, x->names, &len);

	if (st == NFS4R_NOTSUPP) { /* then nobody has any */
		st = NFS4R_OK;
		len = 0;
	}
	if (st != NFS4R_OK)
		return st;
	x->names[len] = '\0';
	size_t n = split(x->names, len, x->sorted, XATTRS_MAX);

	qsort(x->sorted, n, sizeof(x->sorted[0]), by_name);
	put_num(s, n);
	for (size_t i = 0; i < n && st == NFS4R_OK; i++) {
		len = sizeof(x->value);
		st = eng->ops->getxattr(eng->ctx, &s->h, x->sorted[i], x->value, &len);
		if (st != NFS4R_OK)
			break;
		put_bytes(s, x->sorted[i], strlen(x->sorted[i]));
		put_bytes(s, x->value, len);
	}
	return st == NFS4R_NOXATTR ? NFS4R_DELAY : st; /* went away between the two calls */
}

static enum nfs4r_status put_xattrs(struct nfs4r_engine *eng, struct verify_sum *s)
{
	struct xattr_space *x;
	enum nfs4r_status st;

	x = malloc(sizeof(*x));
	if (!x)
		return NFS4R_NOMEM;
	st = put_xattrs_in(eng, s, x);
	free(x);
	return st;
}

/* ---- piece by piece ---- */

static void finish(struct nfs4r_engine *eng, struct verify_sum *s)
{
	struct nfs4r_row now;

	sha256_digest(&s->sha, sizeof(s->side.sum), s->side.sum);
	if (nfs4r_store_row(eng->store, &s->oid, &now) != NFS4R_KNOWN || now.version != s->side.version)
		end(s, NFS4R_DELAY);
	else
		end(s, NFS4R_OK);
}

void admin_verify_sum_begin(struct nfs4r_engine *eng, struct verify_sum *s, const struct nfs4r_oid *oid)
{
	struct nfs4r_attrs a = { 0 };
	enum nfs4r_status st;

	memset(s, 0, sizeof(*s));
	s->oid = *oid;
	enum nfs4r_known known = nfs4r_store_row(eng->store, oid, &s->row);
	if (known != NFS4R_KNOWN) {
		end(s, known == NFS4R_DEAD ? NFS4R_ORPHAN : NFS4R_UNKNOWN);
		return;
	}
	s->side.version = s->row.version;
	nfs4r_handle(eng, oid, &s->h);
	st = s->h.len ? eng->ops->getattr(eng->ctx, &s->h, &a) : NFS4R_STALE;
	if (st == NFS4R_OK && a.type != s->row.type)
		st = NFS4R_STALE; /* another object lies there now */
	if (st == NFS4R_OK && a.mask & NFS4R_ATTR_NLINK && a.nlink == 0)
		st = NFS4R_STALE; /* somebody removed or replaced it in the exported directory; only an open file keeps it alive */
	if (st == NFS4R_NOENT)
		st = NFS4R_STALE;
	if (st == NFS4R_OK) {
		sha256_init(&s->sha);
		put_attrs(s, &a);
		s->side.bytes = s->row.type == NFS4R_TYPE_FILE ? a.size : s->row.type == NFS4R_TYPE_DIR ? s->row.nentries :
													  0;
		if (s->row.type == NFS4R_TYPE_SYMLINK)
			st = put_linktext(eng, s);
		if (st == NFS4R_OK)
			st = put_xattrs(eng, s);
		if (st == NFS4R_OK && s->row.type == NFS4R_TYPE_FILE)
			st = put_locks(eng, s);
	}
	nfs4r_buf_put(a.acl);
	if (st != NFS4R_OK)
		end(s, st);
	else if (s->row.type == NFS4R_TYPE_FILE && s->side.bytes)
		s->phase = VERIFY_BYTES;
	else if (s->row.type == NFS4R_TYPE_DIR)
		s->phase = VERIFY_NAMES;
	else
		finish(eng, s);
}

/* To the piece in which the next data are, if the file system knows. True: there are none. */
static bool skip_hole(struct nfs4r_engine *eng, struct verify_sum *s)
{
	uint64_t data = s->next;
	bool eof = false;
	enum nfs4r_status st = eng->ops->seek(eng->ctx, &s->h, s->next, false, &data, &eof);

	if (st == NFS4R_OK && !eof && data > s->next)
		s->next = data - data % VERIFY_PIECE;
	return st == NFS4R_NXIO || (st == NFS4R_OK && eof);
}

/* A whole piece, or up to the end of the file. */
static enum nfs4r_status read_piece(struct nfs4r_engine *eng, const struct verify_sum *s, uint8_t *buf, uint32_t *have)
{
	enum nfs4r_status st = NFS4R_OK;
	bool eof = false;

	for (*have = 0; st == NFS4R_OK && !eof && *have < VERIFY_PIECE;) {
		uint32_t len = VERIFY_PIECE - *have;

		st = eng->ops->read(eng->ctx, &s->h, s->next + *have, buf + *have, &len, &eof);
		if (st == NFS4R_OK)
			*have += len;
		eof = eof || len == 0;
	}
	return st;
}

static bool is_zero(const uint8_t *p, uint32_t len)
{
	return len == 0 || (p[0] == 0 && memcmp(p, p + 1, len - 1) == 0);
}

/* Pieces of zeros count for nothing: they may be a hole in one copy, and stored in another. The size is in the sum already. */
static void step_bytes(struct nfs4r_engine *eng, struct verify_sum *s)
{
	uint8_t *buf = NULL;
	uint32_t len = 0;

	if (skip_hole(eng, s)) {
		finish(eng, s);
		return;
	}
	buf = malloc(VERIFY_PIECE);
	enum nfs4r_status st = buf ? read_piece(eng, s, buf, &len) : NFS4R_NOMEM;

	if (st == NFS4R_OK && !is_zero(buf, len)) {
		put_num(s, s->next);
		put_bytes(s, buf, len);
	}
	free(buf);
	s->next += len;
	if (st != NFS4R_OK)
		end(s, st);
	else if (len < VERIFY_PIECE || s->next >= s->side.bytes)
		finish(eng, s);
}

static void step_names(struct nfs4r_engine *eng, struct verify_sum *s)
{
	struct nfs4r_dirent *ents = calloc(NFS4R_READDIR_MAX, sizeof(*ents));

	if (!ents) {
		end(s, NFS4R_NOMEM);
		return;
	}
	uint32_t n = nfs4r_store_readdir(eng->store, &s->oid, s->next, ents, NFS4R_READDIR_MAX);
	for (uint32_t i = 0; i < n; i++) {
		put_bytes(s, ents[i].name.s, ents[i].name.len);
		put_bytes(s, ents[i].oid.b, sizeof(ents[i].oid.b));
		put_num(s, ents[i].type);
		put_num(s, ents[i].cookie);
		admin_verify_disk_name(eng, &s->oid, &s->h, &ents[i], &s->side);
		s->next = ents[i].cookie;
	}
	free(ents);
	if (n == NFS4R_READDIR_MAX)
		return;
	if (nfs4r_store_failed(eng->store))
		end(s, NFS4R_IO);
	else
		s->phase = VERIFY_DISK;
}

/* Names on the disk come a little before those of the store, and go before them: while something moves, nothing is said of them. */
static void step_disk(struct nfs4r_engine *eng, struct verify_sum *s)
{
	enum nfs4r_status st = admin_verify_disk_rest(eng, &s->oid, &s->h, &s->side);
	bool moves;

	pthread_mutex_lock(&eng->lock);
	moves = nfs4r_core_moves(eng->core, &s->oid);
	pthread_mutex_unlock(&eng->lock);
	if (st != NFS4R_OK || (moves && s->side.odd))
		end(s, st == NFS4R_OK ? NFS4R_DELAY : st);
	else
		finish(eng, s);
}

void admin_verify_sum_step(struct nfs4r_engine *eng, struct verify_sum *s)
{
	if (s->phase == VERIFY_BYTES)
		step_bytes(eng, s);
	else if (s->phase == VERIFY_NAMES)
		step_names(eng, s);
	else if (s->phase == VERIFY_DISK)
		step_disk(eng, s);
}

void admin_verify_sum_end(struct verify_sum *s)
{
	nfs4r_buf_put(s->side.names);
	s->side.names = NULL;
}

/* ---- serving peers: a thread of its own, one object for each peer at a time ---- */

struct verify_serve {
	struct verify_serve *next;
	nfs4r_server_id from;
	uint32_t era; /* of the connection that it came by */
	uint64_t bytes; /* of memory, as counted when it came */
	struct nfs4r_msg *m;
	bool begun;
	struct verify_sum sum;
};

static void serve_task(struct nfs4r_engine *eng, void *arg);

static void serve_free(struct nfs4r_engine *eng, struct verify_serve *s)
{
	admin_verify_sum_end(&s->sum);
	engine_asked_drop(eng, s->from, s->bytes);
	nfs4r_msg_fini(s->m);
	free(s->m);
	free(s);
}

/* The pool ends. */
static void serve_drop(struct nfs4r_engine *eng, void *arg)
{
	serve_free(eng, arg);
}

/* One of that peer's is over: the next of them. */
static void serve_next(struct nfs4r_engine *eng, nfs4r_server_id from)
{
	pthread_mutex_t *lock = &eng->runtime.asked[from].lock;
	struct admin_sums *q = &eng->admin.sums[from];
	struct verify_serve *s;

	pthread_mutex_lock(lock);
	s = q->first;
	if (s)
		q->first = s->next;
	q->running = s != NULL;
	pthread_mutex_unlock(lock);
	if (s)
		engine_pool_run_for(eng->admin.verifiers, from, serve_task, serve_drop, s);
}

static void serve_end(struct nfs4r_engine *eng, struct verify_serve *s)
{
	struct nfs4r_msg *m = s->m;

	m->type = NFS4R_MSG_VERIFY_ANSWER;
	m->verify.status = s->sum.side.status;
	m->verify.version = s->sum.side.version;
	m->verify.bytes = s->sum.side.bytes;
	memcpy(m->verify.sum, s->sum.side.sum, sizeof(m->verify.sum));
	m->verify.odd = s->sum.side.odd;
	m->verify.names = s->sum.side.names;
	s->sum.side.names = NULL;
	engine_send(eng, s->from, m); /* if it cannot go, the asker asks again */
}

static uint64_t monotonic_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* A piece of a sum. Who has asked for far more sums than a verify does would occupy a processor without end: it gets a third of one. */
static void serve_step(struct nfs4r_engine *eng, struct verify_serve *s)
{
	struct asked *a = &eng->runtime.asked[s->from];
	uint64_t begun = monotonic_us(), took;

	admin_verify_sum_step(eng, &s->sum);
	took = monotonic_us() - begun;
	pthread_mutex_lock(&a->lock);
	bool many = a->n > ASKED_MAX / 4;
	pthread_mutex_unlock(&a->lock);
	if (!many)
		return;
	took = took < REST_US_MAX / 2 ? 2 * took : REST_US_MAX;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_nsec = (long)took * 1000 }, NULL);
}

static void serve_task(struct nfs4r_engine *eng, void *arg)
{
	struct verify_serve *s = arg;
	nfs4r_server_id from = s->from;
	bool gone = eng->door.stopping || s->era != eng->runtime.asked_era[from];

	if (!gone && !s->begun) {
		s->begun = true;
		admin_verify_sum_begin(eng, &s->sum, &s->m->verify.oid);
	}
	if (!gone)
		serve_step(eng, s);
	if (!gone && s->sum.phase != VERIFY_OVER) {
		engine_pool_run_for(eng->admin.verifiers, from, serve_task, serve_drop, s);
		return;
	}
	if (!gone)
		serve_end(eng, s);
	serve_free(eng, s);
	serve_next(eng, from);
}

void admin_verify_forget(struct nfs4r_engine *eng, nfs4r_server_id peer)
{
	pthread_mutex_t *lock = &eng->runtime.asked[peer].lock;
	struct admin_sums *q = &eng->admin.sums[peer];
	struct verify_serve *s;

	pthread_mutex_lock(lock);
	s = q->first;
	q->first = NULL;
	pthread_mutex_unlock(lock);
	while (s) {
		struct verify_serve *next = s->next;

		serve_free(eng, s);
		s = next;
	}
}

void admin_verify_serve(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m)
{
	pthread_mutex_t *lock = &eng->runtime.asked[from].lock;
	struct admin_sums *q = &eng->admin.sums[from];
	struct verify_serve *s = calloc(1, sizeof(*s));

	if (!s) { /* the asker asks again */
		nfs4r_msg_fini(m);
		free(m);
		return;
	}
	s->from = from;
	s->m = m;
	s->era = eng->runtime.asked_era[from];
	s->bytes = sizeof(*s) + nfs4r_msg_memory(m);
	engine_asked_take(eng, from, s->bytes);
	pthread_mutex_lock(lock);
	bool waits = q->running;
	if (!q->first)
		q->tail = &q->first;
	if (waits) {
		*q->tail = s;
		q->tail = &s->next;
	}
	q->running = true;
	pthread_mutex_unlock(lock);
	if (!waits)
		engine_pool_run_for(eng->admin.verifiers, from, serve_task, serve_drop, s);
}
