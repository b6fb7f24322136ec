/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Bytes. READ and WRITE are the two operations that Ganesha lets wait without a worker, so they go
 * through the engine's asynchronous calls: the engine may have to win control first, or ask the primary.
 * All that the rest needs is copied before (credentials, payload); Ganesha keeps the buffers, the
 * state and the object alive until the callback, and nothing of the call may be touched after it.
 *
 * A local READ uses the client's open state in the sub-FSAL; a local WRITE does so inside the engine's
 * execution step. Which server serves a READ is decided for each call anew (control 6.4).
 *
 * An orphan's holders go on with the local file; the engine says ORPHAN or STALE, we write past it.
 */
#include "repl.h"

struct io {
	struct repl_export *exp;
	struct repl_obj *obj;
	struct req_op_context *worker; /* context in which the call came */
	const void *request; /* of the client */
	bool bypass;
	bool nothing; /* READ: only where the end is (read_nothing.c) */
	fsal_async_cb done;
	void *caller;
	struct fsal_io_arg *arg;
	struct iovec *vec, *client_vec; /* of a READ below: one byte more than the client wants, and what the client wants; or NULL */
	char next_byte;
	fsal_status_t st; /* the sub-FSAL's own words */
	struct nfs4r_cred cred;
	union {
		struct nfs4r_op op;
		struct nfs4r_read rd;
	};
};

static size_t iov_bytes(const struct fsal_io_arg *arg)
{
	size_t len = 0;
	int i;

	for (i = 0; i < arg->iov_count; i++)
		len += arg->iov[i].iov_len;
	return len;
}

/* Bytes asked for. NFSv4 READ says it by the length of its buffers alone. */
static size_t wanted(const struct fsal_io_arg *arg)
{
	size_t len = iov_bytes(arg);

	return arg->io_request != 0 ? MIN(len, arg->io_request) : len;
}

static struct io *io_new(struct fsal_obj_handle *h, bool bypass, fsal_async_cb done, struct fsal_io_arg *arg, void *caller)
{
	struct io *io = gsh_calloc(1, sizeof(*io));

	io->exp = repl_cur_export();
	io->obj = repl_obj(h);
	io->worker = op_ctx;
	io->request = op_ctx->nfs_reqdata;
	io->bypass = bypass;
	io->done = done;
	io->caller = caller;
	io->arg = arg;
	repl_cred(&io->cred);
	return io;
}

static void io_free(struct io *io)
{
	nfs4r_buf_put(io->cred.groups);
	gsh_free(io);
}

/* Is this the worker that made the call, still inside it? Then its own context serves. */
static bool at_home(struct io *io, struct repl_context *c)
{
	if (op_ctx == io->worker)
		return true;
	repl_context_enter(c, io->exp, &io->exp->export, &io->cred);
	return false;
}

/* Tell Ganesha. From here on arg, caller and obj may be gone. */
static void answer(struct io *io, fsal_status_t st)
{
	struct repl_context c;
	bool home = at_home(io, &c);

	io->done(&io->obj->handle, st, io->arg, io->caller);
	if (!home)
		repl_context_leave(&c);
	io_free(io);
}

/* ---- the sub-FSAL, synchronously ---- */

struct sub_done {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool done;
	fsal_status_t st;
};

static void sub_io_done(struct fsal_obj_handle *h, fsal_status_t st, void *arg, void *caller)
{
	struct sub_done *d = caller;

	PTHREAD_MUTEX_lock(&d->lock);
	d->st = st;
	d->done = true;
	pthread_cond_signal(&d->cond);
	PTHREAD_MUTEX_unlock(&d->lock);
}

static fsal_status_t sub_io(struct fsal_obj_handle *sub, bool write, bool bypass, struct fsal_io_arg *arg)
{
	struct sub_done d = { .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };

	do {
		d.done = false;
		if (write)
			sub->obj_ops->write2(sub, bypass, sub_io_done, arg, &d);
		else
			sub->obj_ops->read2(sub, bypass, sub_io_done, arg, &d);
		PTHREAD_MUTEX_lock(&d.lock);
		while (!d.done)
			pthread_cond_wait(&d.cond, &d.lock);
		PTHREAD_MUTEX_unlock(&d.lock);
	} while (arg->fsal_resume != 0 && !FSAL_IS_ERROR(d.st));
	return d.st;
}

/* Drop the first @n bytes of a copy of an I/O vector. */
static void iov_advance(struct iovec **iov, int *count, size_t n)
{
	while (*count > 0 && n >= (*iov)->iov_len) {
		n -= (*iov)->iov_len;
		(*iov)++;
		(*count)--;
	}
	if (*count > 0) {
		(*iov)->iov_base = (char *)(*iov)->iov_base + n;
		(*iov)->iov_len -= n;
	}
}

/* Keep its first @len bytes: FSAL_VFS writes all that is in a vector, and Ganesha gives all that a client sent, however little of it is to be written. */
static void iov_limit(struct iovec *iov, int *count, size_t len)
{
	int n = 0;

	while (n < *count && len > 0) {
		iov[n].iov_len = MIN(iov[n].iov_len, len);
		len -= iov[n++].iov_len;
	}
	*count = n;
}

fsal_status_t repl_sub_write(struct fsal_obj_handle *sub, bool bypass, struct state_t *state, uint64_t off,
			     const struct iovec *vec, int count, size_t *len, bool *stable)
{
	struct iovec *copy = gsh_calloc(count, sizeof(*copy)), *iov = copy;
	struct fsal_io_arg arg;
	size_t done = 0;
	fsal_status_t st;

	memcpy(copy, vec, count * sizeof(*copy));
	iov_limit(copy, &count, *len);
	do {
		memset(&arg, 0, sizeof(arg));
		arg.state = state;
		arg.offset = off + done;
		arg.io_request = *len - done;
		arg.iov = iov;
		arg.iov_count = count;
		arg.fsal_stable = *stable;
		st = sub_io(sub, true, bypass, &arg);
		if (FSAL_IS_ERROR(st))
			break;
		done += arg.io_amount;
		iov_advance(&iov, &count, arg.io_amount);
	} while (done < *len && arg.io_amount > 0);
	if (!FSAL_IS_ERROR(st) && done < *len)
		st = fsalstat(ERR_FSAL_NOSPC, ENOSPC);
	if (!FSAL_IS_ERROR(st) && *stable && !arg.fsal_stable) /* asked for and not had: the sync failed */
		st = fsalstat(ERR_FSAL_IO, EIO);
	*len = done;
	gsh_free(copy);
	return st;
}

fsal_status_t repl_sub_read(struct fsal_obj_handle *sub, uint64_t off, void *bytes, size_t *len, bool *eof)
{
	size_t done = 0;
	fsal_status_t st = fsalstat(ERR_FSAL_NO_ERROR, 0);

	*eof = false;
	while (done < *len && !*eof) {
		struct iovec iov = { .iov_base = (char *)bytes + done, .iov_len = *len - done };
		struct fsal_io_arg arg = { .offset = off + done, .io_request = *len - done, .iov = &iov, .iov_count = 1 };

		st = sub_io(sub, false, true, &arg);
		if (FSAL_IS_ERROR(st))
			break;
		done += arg.io_amount;
		*eof = arg.end_of_file || arg.io_amount == 0;
	}
	*len = done;
	return st;
}

/* ---- WRITE ---- */

/* At the sub-FSAL, as the client and with its state. Context: ours. */
static fsal_status_t write_here(struct io *io, bool stable)
{
	struct fsal_io_arg *arg = io->arg;
	struct fsal_obj_handle *sub;
	size_t len = wanted(arg);
	fsal_status_t st;

	repl_state_moved(io->exp, io->obj, arg->state);
	sub = repl_obj_sub(io->exp, io->obj, &st);
	if (sub != NULL)
		REPL_SUBCALL(io->exp, st = repl_sub_write(sub, io->bypass, arg->state, arg->offset, arg->iov, arg->iov_count, &len, &stable));
	return st;
}

static enum nfs4r_status write_exec(void *arg, struct nfs4r_op *op, struct nfs4r_exec *x)
{
	struct io *io = arg;
	struct repl_context c;
	bool home = at_home(io, &c);

	io->st = write_here(io, false); /* the engine syncs it */
	if (!home)
		repl_context_leave(&c);
	return repl_status(io->st);
}

static enum nfs4r_status write_sync(void *arg, struct nfs4r_op *op)
{
	struct io *io = arg;
	struct repl_context c;
	bool home = at_home(io, &c);
	fsal_status_t st;
	struct fsal_obj_handle *sub = repl_obj_sub(io->exp, io->obj, &st);

	if (sub != NULL)
		REPL_SUBCALL(io->exp, st = sub->obj_ops->commit2(sub, 0, 0));
	if (!home)
		repl_context_leave(&c);
	return repl_status(st);
}

static fsal_status_t write_orphan(struct io *io)
{
	struct repl_context c;
	bool home = at_home(io, &c);
	fsal_status_t st = write_here(io, io->arg->fsal_stable);

	if (!home)
		repl_context_leave(&c);
	return st;
}

static void write_done(void *arg, struct nfs4r_op *op)
{
	struct io *io = arg;
	enum repl_lost lost = repl_obj_lost(io->exp, io->obj, op->status);
	fsal_status_t st = repl_obj_status(lost, op->status);

	if (lost == REPL_ORPHAN)
		st = write_orphan(io);
	else if (repl_own_words(op->status, io->st))
		st = io->st;
	if (!FSAL_IS_ERROR(st)) {
		io->arg->io_amount = wanted(io->arg);
		repl_verifier_keep(io->exp, io->request, op);
		__atomic_store_n(&io->obj->wrote, 1, __ATOMIC_RELEASE);
	} else {
		repl_attr_cache_drop(io->exp->attr_cache, &io->obj->oid); /* some bytes may have been written */
	}
	nfs4r_op_fini(op);
	answer(io, st);
}

static bool gather(struct nfs4r_buf **out, const struct fsal_io_arg *arg)
{
	size_t len = wanted(arg), have = 0, part;
	int i;

	*out = nfs4r_buf_new(len);
	if (*out == NULL)
		return false;
	for (i = 0; i < arg->iov_count && have < len; i++) {
		part = MIN(arg->iov[i].iov_len, len - have);
		memcpy((*out)->data + have, arg->iov[i].iov_base, part);
		have += part;
	}
	return have == len;
}

void repl_write2(struct fsal_obj_handle *h, bool bypass, fsal_async_cb done, struct fsal_io_arg *arg, void *caller)
{
	struct io *io = io_new(h, bypass, done, arg, caller);

	if (arg->info != NULL) { /* WRITE_SAME and friends */
		answer(io, fsalstat(ERR_FSAL_NOTSUPP, ENOTSUP));
		return;
	}
	io->op.type = NFS4R_OP_WRITE;
	io->op.obj = io->obj->oid;
	io->op.cred = io->cred;
	nfs4r_buf_get(io->op.cred.groups);
	io->op.offset = arg->offset;
	io->op.length = wanted(arg);
	io->op.stable = arg->fsal_stable;
	io->op.under_open = arg->state != NULL;
	if (wanted(arg) > NFS4R_IO_MAX || !gather(&io->op.data, arg)) {
		nfs4r_op_fini(&io->op);
		answer(io, fsalstat(ERR_FSAL_DELAY, ENOMEM));
		return;
	}
	repl_update_async(io->exp, &io->op, write_exec, write_sync, write_done, io);
}

/* ---- READ ---- */

/*
 * A read ends at the end of the file if not one byte follows it. FSAL_VFS says "end" only of a read that got nothing, and to ask for the size would be another call,
 * of another moment. So one byte more is read than the client wants, which the client does not get.
 */
static void want_next_byte(struct io *io)
{
	size_t len = wanted(io->arg);
	int n = io->arg->iov_count;

	if (io->arg->offset > (uint64_t)INT64_MAX - len - 1 || len != iov_bytes(io->arg))
		return;
	io->vec = gsh_malloc((n + 1) * sizeof(*io->vec));
	memcpy(io->vec, io->arg->iov, n * sizeof(*io->vec));
	io->vec[n] = (struct iovec){ .iov_base = &io->next_byte, .iov_len = 1 };
	io->client_vec = io->arg->iov;
	io->arg->iov = io->vec;
	io->arg->iov_count = n + 1;
	if (io->arg->io_request != 0)
		io->arg->io_request++;
}

static void drop_next_byte(struct io *io)
{
	if (io->vec == NULL)
		return;
	io->arg->iov = io->client_vec;
	io->arg->iov_count--;
	if (io->arg->io_request != 0)
		io->arg->io_request--;
	gsh_free(io->vec);
	io->vec = NULL;
}

/* The one byte that was asked for in place of none. */
static void keep_nothing(struct io *io)
{
	if (!io->nothing)
		return;
	io->arg->end_of_file = io->arg->io_amount == 0;
	io->arg->io_amount = 0;
}

static void sub_read_done(struct fsal_obj_handle *sub, fsal_status_t st, void *arg, void *caller)
{
	struct io *io = caller;
	struct fsal_export *layer = op_ctx->fsal_export;
	size_t asked = wanted(io->arg);

	drop_next_byte(io);
	if (!FSAL_IS_ERROR(st)) {
		io->arg->end_of_file = io->arg->io_amount < asked;
		io->arg->io_amount = MIN(io->arg->io_amount, wanted(io->arg));
		keep_nothing(io);
	}
	repl_attr_cache_drop(io->exp->attr_cache, &io->obj->oid); /* its access time may have moved */
	op_ctx->fsal_export = &io->exp->export;
	io->done(&io->obj->handle, st, io->arg, io->caller);
	op_ctx->fsal_export = layer;
	io_free(io);
}

static void read_here(struct io *io)
{
	struct repl_context c;
	struct repl_export *exp = io->exp;
	bool home = at_home(io, &c);
	struct fsal_obj_handle *sub;
	fsal_status_t st;

	repl_state_moved(exp, io->obj, io->arg->state);
	sub = repl_obj_is_stale(exp, io->obj) ? NULL : repl_obj_sub(exp, io->obj, &st);
	if (sub != NULL) {
		want_next_byte(io);
		REPL_SUBCALL(exp, sub->obj_ops->read2(sub, io->bypass, sub_read_done, io->arg, io));
	} else {
		if (repl_obj_is_stale(exp, io->obj))
			st = fsalstat(ERR_FSAL_STALE, ESTALE);
		io->done(&io->obj->handle, st, io->arg, io->caller);
		io_free(io);
	}
	if (!home)
		repl_context_leave(&c);
}

static void scatter(struct fsal_io_arg *arg, const struct nfs4r_buf *data)
{
	size_t len = data != NULL ? MIN(data->len, wanted(arg)) : 0, done = 0, part;
	int i;

	for (i = 0; i < arg->iov_count && done < len; i++) {
		part = MIN(arg->iov[i].iov_len, len - done);
		memcpy(arg->iov[i].iov_base, data->data + done, part);
		done += part;
	}
	arg->io_amount = done;
}

static void read_done(void *arg, struct nfs4r_read *rd, bool local)
{
	struct io *io = arg;
	enum repl_lost lost = local ? REPL_PLAIN : repl_obj_lost(io->exp, io->obj, rd->status);
	fsal_status_t st;

	if (local || lost == REPL_ORPHAN) {
		nfs4r_read_fini(rd);
		read_here(io);
		return;
	}
	st = repl_obj_status(lost, rd->status);
	if (rd->status == NFS4R_OK) {
		scatter(io->arg, rd->data);
		io->arg->end_of_file = rd->eof;
		keep_nothing(io);
	}
	nfs4r_read_fini(rd);
	answer(io, st);
}

/* Who asks, if it has a lock of the file: it may read here what it has locked (locks 23). */
static void name_owner(struct io *io)
{
	struct state_t *state = io->arg->state;

	if (state == NULL || state->state_type != STATE_TYPE_LOCK || !repl_locks_are_shared(io->exp))
		return;
	PTHREAD_MUTEX_lock(&state->state_mutex); /* else the owner may go */
	io->rd.locked = state->state_owner != NULL;
	if (io->rd.locked)
		io->rd.owner = repl_lock_owner(state->state_owner);
	PTHREAD_MUTEX_unlock(&state->state_mutex);
}

void repl_read2(struct fsal_obj_handle *h, bool bypass, fsal_async_cb done, struct fsal_io_arg *arg, void *caller)
{
	struct io *io = io_new(h, bypass, done, arg, caller);

	io->nothing = repl_read_nothing();
	repl_compound_forget(); /* the request may go on on another thread, and come back */
	if (arg->info != NULL) { /* READ_PLUS */
		answer(io, fsalstat(ERR_FSAL_NOTSUPP, ENOTSUP));
		return;
	}
	io->rd.type = NFS4R_RD_READ;
	io->rd.oid = io->obj->oid;
	io->rd.offset = arg->offset;
	io->rd.length = MIN(wanted(arg), NFS4R_IO_MAX);
	name_owner(io);
	repl_read_async(io->exp, &io->rd, read_done, io);
}

/* ---- the synchronous rest ---- */

fsal_status_t repl_commit2(struct fsal_obj_handle *h, off_t off, size_t len)
{
	struct repl_export *exp = repl_cur_export();
	struct repl_obj *obj = repl_obj(h);
	struct nfs4r_read rd = { .type = NFS4R_RD_COMMIT, .oid = obj->oid, .offset = off, .length = len };
	struct fsal_obj_handle *sub;
	enum nfs4r_status rs;
	enum repl_lost lost;
	fsal_status_t st;
	uint64_t begun = 0;
	bool local;

	(void)repl_verifier_answer(exp); /* one that a WRITE left here would be older than what is committed now */
	rs = repl_read(exp, &rd, &local);
	nfs4r_read_fini(&rd);
	lost = local ? REPL_PLAIN : repl_obj_lost(exp, obj, rs);
	if (!local && lost != REPL_ORPHAN)
		return repl_obj_status(lost, rs);
	sub = repl_obj_sub(exp, obj, &st);
	if (sub == NULL)
		return st;
	if (local)
		begun = repl_commit_begin(exp, &obj->oid);
	REPL_SUBCALL(exp, st = sub->obj_ops->commit2(sub, off, len));
	if (!FSAL_IS_ERROR(st) && local)
		st = repl_fsal_status(repl_commit_log(exp, &obj->oid, begun));
	return st;
}

fsal_status_t repl_seek2(struct fsal_obj_handle *h, struct state_t *state, struct io_info *info)
{
	struct repl_export *exp = repl_cur_export();
	struct repl_obj *obj = repl_obj(h);
	struct nfs4r_read rd = { .type = NFS4R_RD_SEEK, .oid = obj->oid };
	struct fsal_obj_handle *sub;
	enum nfs4r_status rs;
	enum repl_lost lost;
	fsal_status_t st;
	bool local;

	if (info->io_content.what != NFS4_CONTENT_DATA && info->io_content.what != NFS4_CONTENT_HOLE)
		return fsalstat(ERR_FSAL_UNION_NOTSUPP, 0);
	rd.offset = info->io_content.hole.di_offset;
	rd.length = info->io_content.what == NFS4_CONTENT_HOLE;
	rs = repl_read(exp, &rd, &local);
	lost = local ? REPL_PLAIN : repl_obj_lost(exp, obj, rs);
	if (local || lost == REPL_ORPHAN) {
		repl_state_moved(exp, obj, state);
		sub = repl_obj_sub(exp, obj, &st);
		if (sub != NULL)
			REPL_SUBCALL(exp, st = sub->obj_ops->seek2(sub, state, info));
	} else {
		st = repl_obj_status(lost, rs);
		info->io_eof = rd.eof;
		info->io_content.hole.di_offset = rd.result_offset;
	}
	nfs4r_read_fini(&rd);
	return st;
}

/* Advice concerns the local file's pages. Without one there is nothing to advise. */
fsal_status_t repl_io_advise2(struct fsal_obj_handle *h, struct state_t *state, struct io_hints *hints)
{
	struct repl_export *exp = repl_cur_export();
	struct fsal_obj_handle *sub;
	fsal_status_t st;

	sub = repl_obj_sub(exp, repl_obj(h), &st);
	if (sub != NULL)
		REPL_SUBCALL(exp, st = sub->obj_ops->io_advise2(sub, state, hints));
	return st;
}

struct fallocate_call {
	struct repl_export *exp;
	struct repl_obj *obj;
	struct state_t *state;
	fsal_status_t st;
};

/* At the sub-FSAL, with the client's state. Context: ours. */
static fsal_status_t fallocate_here(struct fallocate_call *call, struct nfs4r_op *op)
{
	struct fsal_obj_handle *sub;
	fsal_status_t st;

	repl_state_moved(call->exp, call->obj, call->state);
	sub = repl_obj_sub(call->exp, call->obj, &st);
	if (sub != NULL)
		REPL_SUBCALL(call->exp, st = sub->obj_ops->fallocate(sub, call->state, op->offset, op->length, op->type == NFS4R_OP_ALLOCATE));
	return st;
}

static enum nfs4r_status fallocate_exec(void *arg, struct nfs4r_op *op, struct nfs4r_exec *x)
{
	struct fallocate_call *call = arg;
	struct repl_context c;

	repl_context_enter(&c, call->exp, &call->exp->export, &op->cred);
	call->st = fallocate_here(call, op);
	repl_context_leave(&c);
	return repl_status(call->st);
}

static fsal_status_t fallocate_update(struct fallocate_call *call, struct nfs4r_op *op)
{
	enum nfs4r_status rs = repl_update(call->exp, op, fallocate_exec, call);
	enum repl_lost lost = repl_obj_lost(call->exp, call->obj, rs);

	if (lost == REPL_ORPHAN)
		return fallocate_here(call, op);
	if (rs == NFS4R_OK)
		__atomic_store_n(&call->obj->wrote, 1, __ATOMIC_RELEASE);
	else if (repl_own_words(rs, call->st))
		return call->st;
	return repl_obj_status(lost, rs);
}

fsal_status_t repl_fallocate(struct fsal_obj_handle *h, struct state_t *state, uint64_t off, uint64_t len, bool allocate)
{
	struct fallocate_call call = { repl_cur_export(), repl_obj(h), state, { 0, 0 } };
	struct nfs4r_op *op = repl_op_new(allocate ? NFS4R_OP_ALLOCATE : NFS4R_OP_DEALLOCATE);
	fsal_status_t st;

	op->obj = call.obj->oid;
	op->offset = off;
	op->length = len;
	op->under_open = state != NULL;
	st = fallocate_update(&call, op);
	repl_op_free(op);
	return st;
}
