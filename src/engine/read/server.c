/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What others ask of this server (control 6), and reading the local copy for them. Where this server asks: router.c.
 *
 * As the owner: the check that an acting claim covers the object is made after the question arrived, then the local copy is read. Nothing is answered without a
 * lease (lease.c): all that a peer reads passes serve_task().
 *
 * A server that repairs its copy (log 8.3) asks one server for its copy, whoever is primary, with `copy`: a member that is ready and does not repair
 * its own answers, with the object's row as it was before it looked.
 */
#include <endian.h>
#include <stdlib.h>

#include "engine/read/read_int.h"
#include "engine/replicate/replicate.h"
#include "engine/update/update.h"

void read_router_forget_answer(struct nfs4r_read *rd)
{
	nfs4r_read_fini(rd);
	rd->status = NFS4R_OK;
	rd->eof = false;
}

/* A failure has neither bytes nor names. */
static void reads_forget_bytes(struct nfs4r_read *rd)
{
	nfs4r_read_fini(rd);
	rd->attrs = (struct nfs4r_attrs){ .mask = 0 };
}

/* A store that cannot be read says "not here" of everything, and who repairs a copy from this one would take that for a deletion. */
enum nfs4r_status read_router_not_here(struct nfs4r_engine *eng, enum nfs4r_known known)
{
	if (known == NFS4R_DEAD)
		return NFS4R_STALE;
	return nfs4r_store_failed(eng->store) ? NFS4R_DELAY : NFS4R_UNKNOWN;
}

/* ---- serving ---- */

struct serve {
	nfs4r_server_id from;
	uint64_t bytes; /* of memory, as counted when it came */
	struct nfs4r_msg *m;
};

static void drop(struct nfs4r_engine *eng, void *arg)
{
	struct serve *s = arg;

	engine_asked_drop(eng, s->from, s->bytes);
	nfs4r_msg_fini(s->m);
	free(s->m);
	free(s);
}

static void answer(struct nfs4r_engine *eng, struct serve *s, enum nfs4r_status st)
{
	if (st != NFS4R_OK) /* nothing half-read goes along */
		reads_forget_bytes(s->m->read);
	s->m->read->status = st;
	s->m->type = NFS4R_MSG_READ_ANSWER;
	engine_send(eng, s->from, s->m);
	drop(eng, s);
}

/*
 * The copy as it is, unless an update of the object is being executed or applied: then what was given of it may have bytes of that, under the version before,
 * and the asker could not tell. It asks for the row first and last; at the end nothing is under way before the row is looked at, so all that was given
 * shows by the version.
 */
static enum nfs4r_status copy_at_rest(struct nfs4r_engine *eng, struct nfs4r_read *rd)
{
	bool moves;

	if (engine_missing_about(eng, &rd->oid) != BEHIND_NOT)
		return NFS4R_DELAY;
	pthread_mutex_lock(&eng->lock);
	moves = (rd->type == NFS4R_RD_GETATTR || rd->type == NFS4R_RD_LISTXATTR) && nfs4r_core_moves(eng->core, &rd->oid);
	pthread_mutex_unlock(&eng->lock);
	return moves ? NFS4R_DELAY : read_copy_here(eng, rd);
}

/* What the asker takes of this version is not lost by a crash here: neither an own entry nor one before it. (What its copy is short of comes from here then.) */
static bool is_for_good(struct nfs4r_engine *eng, const struct nfs4r_read *rd)
{
	return rd->type != NFS4R_RD_GETATTR || nfs4r_store_sync_whole(eng->store) == NFS4R_OK;
}

/*
 * For a server whose machine crashed. Nothing is said before it is known what is in doubt here, too: the asker would go on with its own copy beside a sound one. What is in doubt is
 * said, and not given away; so is what is not exact here, unless that is by bytes of entries that the asker has in its own log.
 */
static void serve_copy_any(struct nfs4r_engine *eng, struct serve *s)
{
	struct nfs4r_read *rd = s->m->read;
	enum doubt_about about = engine_doubt_about(eng, &rd->oid);
	bool doubts = about != DOUBT_NONE, sound;
	struct nfs4r_core_view v;
	enum nfs4r_status st = NFS4R_DELAY;

	pthread_mutex_lock(&eng->lock);
	nfs4r_core_get_view(eng->core, &v);
	sound = !v.repairing && !eng->runtime.halt.why[0] && about != DOUBT_UNKNOWN;
	doubts |= !nfs4r_core_is_sound_for(eng->core, &rd->oid, s->from);
	pthread_mutex_unlock(&eng->lock);
	if (sound && (!doubts || rd->type == NFS4R_RD_GETATTR))
		st = copy_at_rest(eng, rd);
	if (st == NFS4R_OK && doubts) {
		rd->eof = true;
		rd->result_offset = about == DOUBT_OPEN;
	} else if (st == NFS4R_OK && !is_for_good(eng, rd))
		st = NFS4R_DELAY;
	answer(eng, s, st);
}

/* What is exact soon is asked for again. Of what is inexact, `eof` says so, with the version that was exact and the update that never was (log 7.5). */
static enum nfs4r_status say_exactness(struct nfs4r_engine *eng, struct nfs4r_read *rd)
{
	struct nfs4r_fuzzy_object left;

	pthread_mutex_lock(&eng->lock);
	enum nfs4r_exactness x = nfs4r_core_exactness(eng->core, &rd->oid, &left);
	pthread_mutex_unlock(&eng->lock);
	if (x == NFS4R_INEXACT) {
		rd->eof = true;
		rd->result_offset = left.exact;
		nfs4r_oid_make(&rd->result, left.log, 0, left.lsn);
	}
	return x == NFS4R_EXACT_LATER ? NFS4R_DELAY : NFS4R_OK;
}

/* For a server that repairs its copy. One that is not whole itself answers nothing. */
static void serve_copy(struct nfs4r_engine *eng, struct serve *s)
{
	struct nfs4r_core_view v;
	enum nfs4r_status st;
	bool whole;

	if (s->m->read->cookie == NFS4R_COPY_ANY && s->m->read->type != NFS4R_RD_READDIR && s->m->read->type != NFS4R_RD_OIDS && s->m->read->type != NFS4R_RD_CLIENTS) {
		serve_copy_any(eng, s);
		return;
	}
	pthread_mutex_lock(&eng->lock);
	nfs4r_core_get_view(eng->core, &v);
	whole = eng->runtime.ready && v.gives; /* also one that joins: it may be all there is */
	pthread_mutex_unlock(&eng->lock);
	st = whole ? copy_at_rest(eng, s->m->read) : NFS4R_DELAY;
	if (st == NFS4R_OK && s->m->read->type == NFS4R_RD_GETATTR)
		st = say_exactness(eng, s->m->read);
	answer(eng, s, st);
}

static void commit_done(struct nfs4r_engine *eng, void *arg, enum nfs4r_status st)
{
	struct serve *s = arg;

	s->m->read->verifier = nfs4r_verifier(eng);
	answer(eng, s, st);
}

/* COMMIT that has to be held by a majority: the file to this disk now, the answer later. */
static void serve_commit(struct nfs4r_engine *eng, struct serve *s)
{
	enum nfs4r_status st = engine_sync_file(eng, &s->m->read->oid); /* a client hears STALE, too */

	if (st == NFS4R_OK)
		update_commit_async(eng, &s->m->read->oid, commit_done, s);
	else
		answer(eng, s, st);
}

/* Attributes of what a name leads to come with the name. If another server controls that, or nobody, the copy here is no answer: then only its type, which never changes. */
static void keep_what_is_ours(struct nfs4r_engine *eng, struct nfs4r_read *rd)
{
	enum nfs4r_status ours;

	pthread_mutex_lock(&eng->lock);
	ours = nfs4r_core_may_serve(eng->core, &rd->result);
	pthread_mutex_unlock(&eng->lock);
	if (ours != NFS4R_OK)
		rd->attrs.mask &= NFS4R_ATTR_TYPE;
}

#define WORTH_IT (16u << 10) /* bytes; fewer are sent sooner than said to be there */

#define PIECES_SAID 1024

/* With a promise: the version and the size of the file, and from which version on each piece is right from the one on that was asked for (nfs4r.x). */
static struct nfs4r_buf *say_pieces(const uint64_t *words, uint32_t n)
{
	struct nfs4r_buf *b = nfs4r_buf_new(n * sizeof(uint64_t));

	for (uint32_t i = 0; b && i < n; i++) {
		uint64_t be = htobe64(words[i]);

		memcpy(b->data + i * sizeof(be), &be, sizeof(be));
	}
	return b;
}

/*
 * Has the asker these bytes in its copy, or are they about to come (control 6.3)? Then the answer is from which version of the copy on they are right, how many there are, and whether
 * the file ends with them. What is looked at first is what may be too old: an update that is answered meanwhile is not promised (control 6.4), and the asker sees if it
 * made the file shorter or longer.
 */
static bool copy_will_do(struct nfs4r_engine *eng, nfs4r_server_id asker, struct nfs4r_read *rd)
{
	struct nfs4r_attrs a = { 0 };
	struct nfs4r_lhandle h;
	struct nfs4r_row row;
	nfs4r_version version;
	nfs4r_lsn lsn;
	uint64_t words[2 + PIECES_SAID];
	uint32_t n = engine_touched_pieces(eng->runtime.touched, &rd->oid, rd->offset, words + 2, PIECES_SAID);

	if (!n)
		words[2 + n++] = 0;
	if (!rd->cookie || rd->length < WORTH_IT || engine_import_is_open(eng, &rd->oid, NULL) || nfs4r_store_row(eng->store, &rd->oid, &row) != NFS4R_KNOWN)
		return false;
	if (!engine_touched_last(eng->runtime.touched, &rd->oid, rd->offset, rd->length, &version, &lsn)) {
		version = row.version;
		lsn = row.last_log == eng->cfg.rpc.self ? row.last_lsn : 0;
	}
	if (version > rd->cookie && (!lsn || !replicate_sender_was_queued(eng->replicate.distributor, asker, lsn)))
		return false;
	nfs4r_handle(eng, &rd->oid, &h);
	if (!h.len || eng->ops->getattr(eng->ctx, &h, &a) != NFS4R_OK)
		return false;
	nfs4r_buf_put(a.acl);
	if (rd->offset >= a.size || a.size - rd->offset < WORTH_IT)
		return false;
	rd->verifier = version;
	rd->result_offset = a.size - rd->offset < rd->length ? a.size - rd->offset : rd->length;
	if (rd->result_offset > NFS4R_IO_MAX)
		rd->result_offset = NFS4R_IO_MAX;
	rd->eof = rd->offset + rd->result_offset >= a.size;
	words[0] = row.version;
	words[1] = a.size;
	rd->data = say_pieces(words, 2 + n);
	if (rd->data)
		return true;
	rd->verifier = rd->result_offset = 0;
	rd->eof = false;
	return false;
}

static bool says_version(const struct nfs4r_read *rd, enum nfs4r_status st)
{
	switch (rd->type) {
	case NFS4R_RD_LOOKUP:
	case NFS4R_RD_READDIR:
	case NFS4R_RD_LOOKUPP:
	case NFS4R_RD_GETXATTR:
	case NFS4R_RD_LISTXATTR:
		return st == NFS4R_OK || st == NFS4R_NOENT || st == NFS4R_NOXATTR;
	default: /* attributes have it; bytes of an open file may be seen to get older (control 6.8), and to open it its attributes were asked for; the rest never changes */
		return false;
	}
}

nfs4r_version read_router_version_said(const struct nfs4r_read *asked, const struct nfs4r_read *answer)
{
	return says_version(asked, answer->status) ? answer->result_offset : 0;
}

/* Control 6.9. Looked at when the answer is complete: what it shows is of no later version. */
static void say_version(struct nfs4r_engine *eng, struct nfs4r_read *rd, enum nfs4r_status st)
{
	struct nfs4r_row row;

	if (says_version(rd, st) && nfs4r_store_row(eng->store, &rd->oid, &row) == NFS4R_KNOWN)
		rd->result_offset = row.version;
}

/* Its answer may be much longer than the question. */
static bool is_large(uint32_t type)
{
	switch (type) {
	case NFS4R_RD_READ:
	case NFS4R_RD_READDIR:
	case NFS4R_RD_OIDS:
	case NFS4R_RD_CLIENTS:
	case NFS4R_RD_GETXATTR:
	case NFS4R_RD_LISTXATTR:
		return true;
	default:
		return false;
	}
}

static void serve_task(struct nfs4r_engine *eng, void *arg)
{
	struct serve *s = arg;
	struct nfs4r_read *rd = s->m->read;

	if (is_large(rd->type) && engine_asked_is_slow(eng, s->from)) {
		answer(eng, s, NFS4R_DELAY);
		return;
	}
	if (rd->copy) {
		serve_copy(eng, s);
		return;
	}
	pthread_mutex_lock(&eng->lock);
	/* Not ready, or without a lease, is not NOT_PRIMARY: the asker would read its own old copy (control 6.3). */
	enum nfs4r_status st = eng->runtime.ready && engine_has_lease(eng) ? nfs4r_core_may_serve(eng->core, &rd->oid) : NFS4R_DELAY;

	if (st == NFS4R_OK && nfs4r_core_served(eng->core, &rd->oid))
		engine_step(eng, &(struct nfs4r_event){ .type = NFS4R_EV_TICK });
	pthread_mutex_unlock(&eng->lock);
	if (st == NFS4R_OK && rd->type == NFS4R_RD_COMMIT && update_commit_is_asked(eng)) {
		serve_commit(eng, s);
		return;
	}
	if (st == NFS4R_OK && rd->type == NFS4R_RD_READ && copy_will_do(eng, s->from, rd)) {
		answer(eng, s, st);
		return;
	}
	if (st == NFS4R_OK)
		st = nfs4r_read_here(eng, rd);
	if (st == NFS4R_OK && rd->type == NFS4R_RD_LOOKUP)
		keep_what_is_ours(eng, rd);
	say_version(eng, rd, st);
	answer(eng, s, st);
}

void read_serve(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m)
{
	struct serve *s = malloc(sizeof(*s));

	if (!s)
		abort();
	*s = (struct serve){ .from = from, .bytes = nfs4r_msg_memory(m), .m = m };
	engine_asked_take(eng, from, s->bytes);
	engine_pool_run_for(eng->runtime.executors, from, serve_task, drop, s);
}

/* ---- reading the local copy ---- */

/* What the local file system says of an object that somebody removed behind NFS. */
static bool is_lost(enum nfs4r_status st)
{
	return st == NFS4R_STALE || st == NFS4R_NOENT;
}

static enum nfs4r_status here_attrs(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct nfs4r_attrs *out)
{
	struct nfs4r_lhandle h;
	struct nfs4r_row row;

	nfs4r_handle(eng, oid, &h);
	if (!h.len || nfs4r_store_row(eng->store, oid, &row) != NFS4R_KNOWN)
		return NFS4R_STALE;
	enum nfs4r_status st = eng->ops->getattr(eng->ctx, &h, out);
	bool nameless = st == NFS4R_OK && out->mask & NFS4R_ATTR_NLINK && !out->nlink && row.nlink;
	if ((nameless || is_lost(st)) && engine_missing_notice(eng, oid)) {
		nfs4r_buf_put(out->acl);
		out->acl = NULL;
		return NFS4R_DELAY;
	}
	if (st == NFS4R_OK && nfs4r_may_hide(eng, oid))
		out->nlink = nfs4r_links_seen(eng, out->nlink);
	if (st == NFS4R_OK)
		nfs4r_row_overlay(&row, out);
	return st;
}

enum nfs4r_status nfs4r_lookup_here(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, const char *s, struct nfs4r_oid *oid,
				    uint32_t *type)
{
	struct nfs4r_name name;
	struct nfs4r_dirent ent;
	struct nfs4r_row row;
	enum nfs4r_known known = nfs4r_store_row(eng->store, dir, &row);

	if (known != NFS4R_KNOWN)
		return read_router_not_here(eng, known);
	if (row.type != NFS4R_TYPE_DIR)
		return NFS4R_NOTDIR;
	if (!nfs4r_name_set(&name, s, strlen(s)))
		return NFS4R_INVAL;
	if (!nfs4r_store_lookup(eng->store, dir, &name, &ent))
		return nfs4r_store_failed(eng->store) ? NFS4R_DELAY : NFS4R_NOENT;
	*oid = ent.oid;
	*type = ent.type;
	return NFS4R_OK;
}

static enum nfs4r_status here_lookup(struct nfs4r_engine *eng, struct nfs4r_read *rd)
{
	uint32_t type;
	enum nfs4r_status st = nfs4r_lookup_here(eng, &rd->oid, rd->name, &rd->result, &type);

	return st == NFS4R_OK ? here_attrs(eng, &rd->result, &rd->attrs) : st;
}

static enum nfs4r_status here_readdir(struct nfs4r_engine *eng, struct nfs4r_read *rd)
{
	uint32_t max = rd->length && rd->length < NFS4R_READDIR_MAX ? (uint32_t)rd->length : NFS4R_READDIR_MAX;

	rd->dirents = calloc(max, sizeof(rd->dirents[0]));
	if (!rd->dirents)
		return NFS4R_NOMEM;
	rd->ndirents = nfs4r_store_readdir(eng->store, &rd->oid, rd->cookie, rd->dirents, max);
	rd->eof = rd->ndirents < max;
	return rd->eof && nfs4r_store_failed(eng->store) ? NFS4R_DELAY : NFS4R_OK; /* perhaps these are not all */
}

/* A read that ends exactly at the end says so: the asker would spend a round trip on finding out. */
static bool ends_here(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, uint64_t end)
{
	struct nfs4r_attrs a = { 0 };
	bool yes = eng->ops->getattr(eng->ctx, h, &a) == NFS4R_OK && end >= a.size;

	nfs4r_buf_put(a.acl);
	return yes;
}

static enum nfs4r_status here_data(struct nfs4r_engine *eng, struct nfs4r_read *rd, const struct nfs4r_lhandle *h)
{
	const struct nfs4r_lops *l = eng->ops;
	uint32_t len = rd->type == NFS4R_RD_READ ? (uint32_t)(rd->length < NFS4R_IO_MAX ? rd->length : NFS4R_IO_MAX) :
		rd->type == NFS4R_RD_READLINK	 ? NFS4R_PATH_MAX :
						   NFS4R_XATTR_VALUE_MAX;
	struct nfs4r_buf *b = nfs4r_buf_new(len);
	enum nfs4r_status st;

	if (!b)
		return NFS4R_NOMEM;
	switch (rd->type) {
	case NFS4R_RD_READ:
		st = l->read(eng->ctx, h, rd->offset, b->data, &len, &rd->eof);
		if (st == NFS4R_OK && !rd->eof)
			rd->eof = ends_here(eng, h, rd->offset + len);
		break;
	case NFS4R_RD_READLINK:
		st = l->readlink(eng->ctx, h, (char *)b->data, &len);
		break;
	case NFS4R_RD_GETXATTR:
		st = l->getxattr(eng->ctx, h, rd->name, b->data, &len);
		break;
	default:
		st = l->listxattr(eng->ctx, h, (char *)b->data, &len);
		break;
	}
	if (st != NFS4R_OK) {
		nfs4r_buf_put(b);
		return is_lost(st) && engine_missing_notice(eng, &rd->oid) ? NFS4R_DELAY : st;
	}
	b->len = len;
	rd->data = b;
	return NFS4R_OK;
}

static enum nfs4r_status here_commit(struct nfs4r_engine *eng, struct nfs4r_read *rd)
{
	uint64_t begun = nfs4r_commit_begin(eng, &rd->oid);
	enum nfs4r_status st = engine_sync_file(eng, &rd->oid);

	if (st == NFS4R_OK)
		st = nfs4r_commit(eng, &rd->oid, begun);
	rd->verifier = nfs4r_verifier(eng);
	return st;
}

enum nfs4r_status nfs4r_read_here(struct nfs4r_engine *eng, struct nfs4r_read *rd)
{
	struct nfs4r_lhandle h;
	struct nfs4r_row row;
	enum nfs4r_known known = nfs4r_store_row(eng->store, &rd->oid, &row);

	read_router_forget_answer(rd);
	if (known != NFS4R_KNOWN)
		return read_router_not_here(eng, known);
	nfs4r_handle(eng, &rd->oid, &h);
	if (!h.len)
		return NFS4R_STALE;
	switch (rd->type) {
	case NFS4R_RD_GETATTR:
		return here_attrs(eng, &rd->oid, &rd->attrs);
	case NFS4R_RD_LOOKUP:
		return here_lookup(eng, rd);
	case NFS4R_RD_READDIR:
		return row.type == NFS4R_TYPE_DIR ? here_readdir(eng, rd) : NFS4R_NOTDIR;
	case NFS4R_RD_LOOKUPP:
		if (!row.nparents)
			return NFS4R_NOENT;
		rd->result = row.parent;
		return NFS4R_OK;
	case NFS4R_RD_COMMIT:
		return here_commit(eng, rd);
	case NFS4R_RD_SEEK:
		return eng->ops->seek(eng->ctx, &h, rd->offset, rd->length != 0, &rd->result_offset, &rd->eof);
	case NFS4R_RD_READ:
	case NFS4R_RD_READLINK:
	case NFS4R_RD_GETXATTR:
	case NFS4R_RD_LISTXATTR:
		return here_data(eng, rd, &h);
	default:
		return NFS4R_NOTSUPP;
	}
}
