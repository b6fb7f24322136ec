/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Opens and closes. An open state belongs to this server alone: file descriptor and share reservation live
 * in the sub-FSAL under Ganesha's state_t, locks in a table (locks.c). What the volume has to hear is
 *  - in a volume where opens exclude each other at all servers, every open and every close (shares.c): an open before the sub-FSAL, a close after it;
 *  - that a file is made: one CREATE operation, which for a local primary executes the sub-FSAL's own open2
 *    with the client's state, so that descriptor and reservation are right from the start;
 *  - that it is cut to nothing (O_TRUNC): a SETATTR operation, once the open itself was allowed;
 *  - that this server has it open for writing, and that it was closed: CLOSE waits (bounded) until what was
 *    written here is complete (control 5.3), since that is what close-to-open promises. A client that closes
 *    a writer while it has the file open for reading, too, sends OPEN_DOWNGRADE instead, which waits in the same way.
 *
 * A file made at another server, maybe on our behalf, may not have arrived here when the answer has. Telling the
 * client to try again would show it its own file as an EEXIST. So we wait a little: mostly the file is just
 * behind, and an open descriptor keeps its content for the client should somebody remove it. If it does not come
 * we open without ("pending"): reads and writes of such a file go to its primary anyway, and later ones
 * find the local file through its global descriptor. So we do with one that is gone before it came: it was made.
 */
#include "repl.h"
#include "sal_data.h"

#define SHARE_TRIES 3 /* each waits for about op_wait_ms */

/* An OPEN as Ganesha calls it, and what comes of it below. */
struct open_call {
	struct repl_export *exp;
	struct repl_obj *at; /* the directory of @name; without a name the file itself */
	const char *name;
	struct state_t *state; /* or NULL */
	fsal_openflags_t flags;
	enum fsal_create_mode mode;
	const char *verifier; /* of an exclusive create */
	struct fsal_attrlist *in; /* of a file that is made */
	struct repl_obj *obj; /* out: the file of @name; it may be there without being open */
	struct fsal_attrlist *attrs_out, *pre, *post;
	bool *perm_check; /* out: Ganesha has to check permissions for the file, since it was not made here */
	struct fsal_obj_handle *made; /* the sub-FSAL's handle of a file that was made here, open under @state */
	fsal_status_t st; /* the sub-FSAL's own words of making it */
};

/* ---- bookkeeping ---- */

/* @from: what the volume had heard of it when this began, or NULL: it is new. */
static void remember(struct repl_export *exp, struct repl_obj *obj, struct state_t *state, fsal_openflags_t flags,
		     bool pending, const struct repl_share *share, const struct repl_share *from)
{
	const struct repl_share none = { 0 };
	struct repl_open_state now = { .flags = flags & ~FSAL_O_TRUNC, .pending = pending, .sub = __atomic_load_n(&obj->sub, __ATOMIC_ACQUIRE), .oid = obj->oid, .share = *share }, old = { 0 };
	bool writes = flags & FSAL_O_WRITE, wrote;

	if (state == NULL)
		return;
	if (!repl_state_set(state, &now, &old))
		__atomic_fetch_add(&obj->opens, 1, __ATOMIC_RELAXED);
	if (from != NULL && from->access == 0 && old.share.access != 0) /* it was made known meanwhile (shares.c), and now once more */
		repl_share_lower(exp, &obj->oid, &none, &old.share);
	if (share->access == 0 && repl_share_of(exp, flags).access != 0 && repl_locks_are_shared(exp))
		repl_locks_open_unknown(exp);
	wrote = old.flags & FSAL_O_WRITE;
	if (writes && !wrote)
		repl_opened(exp, &obj->oid);
	else if (!writes && wrote)
		repl_closed(exp, &obj->oid);
}

/* Half of the verifier in atime, half in mtime; 31 bits each, which every file system can keep. */
static void verifier_times(const char *verifier, int64_t *atime_s, int64_t *mtime_s)
{
	uint32_t half[2]; /* of the bytes of a fsal_verifier_t */

	memcpy(half, verifier, sizeof(half));
	*atime_s = half[0] & INT32_MAX;
	*mtime_s = half[1] & INT32_MAX;
}

static fsal_status_t verifier_matches(struct repl_obj *obj, const char *verifier, bool *matches)
{
	int64_t atime_s, mtime_s;
	struct fsal_attrlist attrs;
	fsal_status_t st;

	fsal_prepare_attrs(&attrs, ATTR_ATIME | ATTR_MTIME);
	st = repl_getattrs(&obj->handle, &attrs);
	if (FSAL_IS_ERROR(st))
		return st;
	verifier_times(verifier, &atime_s, &mtime_s);
	*matches = attrs.atime.tv_sec == atime_s && attrs.mtime.tv_sec == mtime_s;
	fsal_release_attrs(&attrs);
	return st;
}

bool repl_check_verifier(struct fsal_obj_handle *h, fsal_verifier_t verifier)
{
	bool matches = false;
	fsal_status_t st = verifier_matches(repl_obj(h), verifier, &matches);

	return !FSAL_IS_ERROR(st) && matches;
}

/*
 * Ganesha looks up the name that an OPEN has, and goes on with the file. If another site removes the file meanwhile, STALE would be no answer to a name: that may lead to
 * another file by now, or be free to be made. The client has to come again.
 */
fsal_status_t repl_opened_name_status(struct repl_obj *obj, fsal_status_t st)
{
	if (st.major == ERR_FSAL_STALE && obj->handle.type == REGULAR_FILE && repl_compound_opens_by_name())
		return fsalstat(ERR_FSAL_DELAY, EAGAIN);
	return st;
}

/* Wait a little for the entry that brings the object here. */
static void wait_arrival(struct repl_export *exp, const struct nfs4r_oid *oid)
{
	struct nfs4r_lhandle h;
	struct timespec until;
	uint32_t waited_ms;

	for (waited_ms = 0; waited_ms < exp->op_wait_ms; waited_ms += 5) {
		repl_local_handle(exp, oid, &h);
		if (h.len > 0 || !repl_may_wait(exp, oid))
			return;
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += 5000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		PTHREAD_MUTEX_lock(&exp->arrive_lock);
		pthread_cond_clockwait(&exp->arrive, &exp->arrive_lock, CLOCK_MONOTONIC, &until);
		PTHREAD_MUTEX_unlock(&exp->arrive_lock);
	}
}

/* ---- what exists ---- */

static fsal_status_t sub_open(struct repl_export *exp, struct repl_obj *obj, struct state_t *state,
			      fsal_openflags_t flags, bool *pending)
{
	struct fsal_obj_handle *sub, *none = NULL;
	struct fsal_attrlist empty;
	bool perm_check = false;
	fsal_status_t st;

	*pending = false;
	sub = repl_obj_sub(exp, obj, &st);
	if (sub == NULL && st.major == ERR_FSAL_DELAY) {
		wait_arrival(exp, &obj->oid);
		sub = repl_obj_sub(exp, obj, &st);
	}
	if (sub == NULL) {
		*pending = st.major == ERR_FSAL_DELAY;
		return *pending ? fsalstat(ERR_FSAL_NO_ERROR, 0) : st;
	}
	fsal_prepare_attrs(&empty, 0);
	REPL_SUBCALL(exp, st = sub->obj_ops->open2(sub, state, flags & ~FSAL_O_TRUNC, FSAL_NO_CREATE, NULL, &empty, NULL, &none, NULL, &perm_check, NULL, NULL));
	if (FSAL_IS_ERROR(st))
		st = repl_gone_here(exp, &obj->oid, st);
	return st;
}

static void sub_close(struct repl_export *exp, struct repl_obj *obj, struct state_t *state)
{
	struct fsal_obj_handle *sub = __atomic_load_n(&obj->sub, __ATOMIC_ACQUIRE);

	if (sub != NULL && state != NULL)
		REPL_SUBCALL(exp, sub->obj_ops->close2(sub, state));
}

/*
 * Cut a file that is open with these flags; @state may be NULL. Ganesha checks permission for the access that is asked for. Who
 * asks for none to write is checked here, and others' DENY counts for him as if he had not opened it.
 */
static fsal_status_t open_truncate(struct repl_export *exp, struct repl_obj *obj, struct state_t *state, fsal_openflags_t flags)
{
	fsal_status_t st;

	if (flags & FSAL_O_WRITE)
		return repl_truncate(exp, obj, false, state);
	st = obj->handle.obj_ops->test_access(&obj->handle, FSAL_WRITE_ACCESS, NULL, NULL, false);
	return FSAL_IS_ERROR(st) ? st : repl_truncate(exp, obj, false, NULL);
}

/* What the volume hears of an open without a state ends with its answer: only states are closed. */
static fsal_status_t share_raise(const struct open_call *call, struct repl_obj *obj, struct repl_share *share)
{
	*share = repl_share_of(call->exp, FSAL_O_CLOSED);
	return call->state != NULL ? repl_share_raise(call->exp, &obj->oid, call->flags, share) : fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static void share_end(struct repl_export *exp, struct repl_obj *obj, struct repl_share *share)
{
	const struct repl_share none = { 0 };

	repl_share_lower(exp, &obj->oid, &none, share);
}

/* @obj is open under the call's state now, or pending. An open without its attributes is none. */
static fsal_status_t opened(const struct open_call *call, struct repl_obj *obj, bool pending, const struct repl_share *share)
{
	fsal_status_t st;

	remember(call->exp, obj, call->state, call->flags, pending, share, NULL);
	st = repl_fill_attrs(call->exp, obj, NULL, call->attrs_out);
	if (FSAL_IS_ERROR(st) && call->state != NULL)
		repl_close2(&obj->handle, call->state);
	return st;
}

static fsal_status_t open_existing(const struct open_call *call, struct repl_obj *obj)
{
	struct repl_export *exp = call->exp;
	struct repl_share share;
	fsal_status_t st;
	bool pending;

	if (repl_obj_is_stale(exp, obj))
		return fsalstat(ERR_FSAL_STALE, ESTALE);
	st = share_raise(call, obj, &share);
	if (FSAL_IS_ERROR(st))
		return st;
	st = sub_open(exp, obj, call->state, call->flags, &pending);
	if (FSAL_IS_ERROR(st)) {
		share_end(exp, obj, &share);
		return st;
	}
	if (call->flags & FSAL_O_TRUNC) {
		st = open_truncate(exp, obj, pending ? NULL : call->state, call->flags);
		if (FSAL_IS_ERROR(st)) {
			sub_close(exp, obj, call->state);
			share_end(exp, obj, &share);
			return st;
		}
		__atomic_store_n(&obj->wrote, 1, __ATOMIC_RELEASE);
	}
	return opened(call, obj, pending, &share);
}

/* Permissions for opening, checked before anything is cut. */
static fsal_status_t may_open(struct repl_obj *obj, fsal_openflags_t flags)
{
	fsal_accessflags_t access = 0;

	if (flags & FSAL_O_READ)
		access |= FSAL_READ_ACCESS;
	if (flags & (FSAL_O_WRITE | FSAL_O_TRUNC))
		access |= FSAL_WRITE_ACCESS;
	return obj->handle.obj_ops->test_access(&obj->handle, access, NULL, NULL, false);
}

/* A file that was there, maybe found by a create. */
static fsal_status_t open_found(const struct open_call *call, struct repl_obj *obj)
{
	fsal_status_t st = fsalstat(ERR_FSAL_NO_ERROR, 0);
	bool matches = false;

	switch (call->mode) {
	case FSAL_GUARDED:
	case FSAL_EXCLUSIVE_9P:
		return fsalstat(ERR_FSAL_EXIST, EEXIST);
	case FSAL_EXCLUSIVE:
	case FSAL_EXCLUSIVE_41:
		if (obj->handle.type != REGULAR_FILE)
			return fsalstat(ERR_FSAL_EXIST, EEXIST);
		st = verifier_matches(obj, call->verifier, &matches);
		if (!FSAL_IS_ERROR(st) && !matches)
			st = fsalstat(ERR_FSAL_EXIST, EEXIST);
		break;
	default:
		break;
	}
	if (FSAL_IS_ERROR(st))
		return st;
	if (obj->handle.type != REGULAR_FILE)
		return fsalstat(obj->handle.type == DIRECTORY ? ERR_FSAL_ISDIR : ERR_FSAL_SYMLINK, 0);
	if (call->flags & FSAL_O_TRUNC)
		st = may_open(obj, call->flags);
	return FSAL_IS_ERROR(st) ? st : open_existing(call, obj);
}

/* ---- what is made ---- */

/* Executes a CREATE at this server. The client's state goes along, so that descriptor and share reservation are right from the start. */
static enum nfs4r_status create_exec(void *arg, struct nfs4r_op *op, struct nfs4r_exec *x)
{
	struct open_call *call = arg;
	const struct repl_make make = { .name = op->name.s, .attrs = &op->attrs, .state = call->state, .flags = call->flags & ~FSAL_O_TRUNC };
	struct fsal_obj_handle *dir;
	struct repl_context c;

	repl_context_enter(&c, call->exp, &call->exp->export, &op->cred);
	dir = repl_obj_sub(call->exp, call->at, &call->st);
	if (dir != NULL)
		REPL_SUBCALL(call->exp, call->st = repl_sub_make(dir, &make, &call->made, &op->post));
	repl_context_leave(&c);
	if (FSAL_IS_ERROR(call->st))
		return repl_status(call->st);
	return repl_sub_handle_bytes(call->made, &x->made) ? NFS4R_OK : NFS4R_TOOBIG;
}

/* The operation failed after the file was open here. */
static void undo_made(struct open_call *call)
{
	struct fsal_obj_handle *made = call->made;

	if (made == NULL)
		return;
	if (call->state != NULL)
		REPL_SUBCALL(call->exp, made->obj_ops->close2(made, call->state));
	REPL_SUBCALL(call->exp, made->obj_ops->release(made));
	call->made = NULL;
}

/* It is made: who heard DELAY would find it, and hear EXIST. So it is asked some times. What is gone by now denies nobody anything. */
static fsal_status_t share_made(const struct open_call *call, struct repl_obj *obj, struct repl_share *share)
{
	fsal_status_t st = share_raise(call, obj, share);

	for (int i = 1; i < SHARE_TRIES && st.major == ERR_FSAL_DELAY; i++)
		st = share_raise(call, obj, share);
	return st.major == ERR_FSAL_STALE ? fsalstat(ERR_FSAL_NO_ERROR, 0) : st;
}

/*
 * The object of a CREATE that succeeded, open. Who has removed it meanwhile, came after that: a client that heard STALE would make it once more, and the name that
 * another one has just removed would be back.
 */
static fsal_status_t open_made(struct open_call *call, struct nfs4r_op *op)
{
	struct repl_obj *obj = call->obj = repl_obj_new(call->exp, &op->result, REGULAR_FILE, call->made);
	struct repl_share share;
	fsal_status_t st = share_made(call, obj, &share);
	bool pending = false;

	if (!FSAL_IS_ERROR(st) && call->made == NULL)
		st = sub_open(call->exp, obj, call->state, call->flags, &pending);
	if (st.major == ERR_FSAL_STALE) {
		st = fsalstat(ERR_FSAL_NO_ERROR, 0);
		pending = true;
	}
	if (!FSAL_IS_ERROR(st))
		return opened(call, obj, pending, &share);
	if (call->made != NULL)
		sub_close(call->exp, obj, call->state);
	share_end(call->exp, obj, &share);
	return st;
}

static fsal_status_t create_attrs(struct nfs4r_attrs *out, const struct open_call *call)
{
	fsal_status_t st = repl_attrs_from_request(out, call->in);

	out->type = NFS4R_TYPE_FILE;
	out->mode = call->in->mode & 07777;
	out->mask |= NFS4R_ATTR_TYPE | NFS4R_ATTR_MODE;
	out->mask &= ~NFS4R_ATTR_RDEV;
	if (call->mode < FSAL_EXCLUSIVE)
		return st;
	verifier_times(call->verifier, &out->atime, &out->mtime);
	out->atime *= 1000000000;
	out->mtime *= 1000000000;
	out->mask |= NFS4R_ATTR_ATIME | NFS4R_ATTR_MTIME;
	out->mask &= ~(NFS4R_ATTR_ATIME_NOW | NFS4R_ATTR_MTIME_NOW);
	return st;
}

static fsal_status_t found_type(struct repl_export *exp, struct nfs4r_op *op, object_file_type_t *type)
{
	struct nfs4r_row row;

	*type = repl_fsal_type(op->result_type);
	if (*type == NO_FILE_TYPE && repl_row(exp, &op->result, &row) == NFS4R_KNOWN)
		*type = repl_fsal_type(row.type);
	return fsalstat(*type == NO_FILE_TYPE ? ERR_FSAL_DELAY : ERR_FSAL_NO_ERROR, 0);
}

/*
 * CREATE in a directory. What was found in its place may have been removed before it could be opened: it existed all the same. That is the
 * answer to an exclusive create. Any other create has to come again.
 */
static fsal_status_t create_by_name(struct open_call *call, struct nfs4r_op *op)
{
	enum nfs4r_status rs = repl_update(call->exp, op, create_exec, call);
	object_file_type_t type;
	fsal_status_t st;

	*call->perm_check = false;
	if (rs == NFS4R_OK)
		return open_made(call, op);
	undo_made(call);
	if (rs != NFS4R_EXIST)
		return repl_own_words(rs, call->st) ? call->st : repl_fsal_status(rs);
	if (call->mode == FSAL_GUARDED || nfs4r_oid_is_zero(&op->result))
		return fsalstat(ERR_FSAL_EXIST, EEXIST);
	st = found_type(call->exp, op, &type);
	if (FSAL_IS_ERROR(st))
		return st;
	*call->perm_check = true;
	call->obj = repl_obj_new(call->exp, &op->result, type, NULL);
	st = open_found(call, call->obj);
	return st.major == ERR_FSAL_STALE && call->mode >= FSAL_EXCLUSIVE ? fsalstat(ERR_FSAL_EXIST, EEXIST) : st;
}

static fsal_status_t open_by_name(struct open_call *call)
{
	struct fsal_obj_handle *h;
	fsal_status_t st;

	*call->perm_check = true;
	st = repl_lookup(&call->at->handle, call->name, &h, NULL);
	if (FSAL_IS_ERROR(st))
		return st;
	call->obj = repl_obj(h);
	return open_found(call, call->obj);
}

static fsal_status_t create(struct open_call *call)
{
	struct nfs4r_op *op = repl_op_new(NFS4R_OP_CREATE);
	fsal_status_t st;

	op->dir = call->at->oid;
	st = create_attrs(&op->attrs, call);
	if (!nfs4r_name_set(&op->name, call->name, strlen(call->name)))
		st = fsalstat(ERR_FSAL_INVAL, EINVAL);
	if (!FSAL_IS_ERROR(st))
		st = create_by_name(call, op);
	if (!FSAL_IS_ERROR(st) && !*call->perm_check)
		repl_change_info(op->dir_before, op->dir_after, call->pre, call->post);
	repl_op_free(op);
	return st;
}

static fsal_status_t open_named(struct open_call *call, struct fsal_obj_handle **out)
{
	fsal_status_t st;

	if (strlen(call->name) > NFS4R_NAME_MAX)
		return fsalstat(ERR_FSAL_NAMETOOLONG, ENAMETOOLONG);
	st = call->mode == FSAL_NO_CREATE ? open_by_name(call) : create(call);
	if (!FSAL_IS_ERROR(st))
		*out = &call->obj->handle;
	else if (call->obj != NULL)
		repl_obj_release(&call->obj->handle);
	return st;
}

/* An exclusive create that is tried again comes this way: the verifier decides. The file is cut once it is open, and its attributes are read after that. */
static fsal_status_t open_itself(const struct open_call *call)
{
	struct open_call whole = *call;
	fsal_status_t st;

	whole.flags &= ~FSAL_O_TRUNC;
	whole.attrs_out = NULL;
	if (call->mode == FSAL_GUARDED || call->mode == FSAL_EXCLUSIVE_9P)
		whole.mode = FSAL_NO_CREATE;
	st = open_found(&whole, call->at);
	if (!FSAL_IS_ERROR(st) && (call->flags & FSAL_O_TRUNC)) {
		st = open_truncate(call->exp, call->at, call->state, call->flags);
		if (FSAL_IS_ERROR(st) && call->state != NULL)
			repl_close2(&call->at->handle, call->state);
	}
	if (!FSAL_IS_ERROR(st))
		st = repl_fill_attrs(call->exp, call->at, NULL, call->attrs_out);
	*call->perm_check = !FSAL_IS_ERROR(st);
	return st;
}

fsal_status_t repl_open2(struct fsal_obj_handle *h, struct state_t *state, fsal_openflags_t flags,
			 enum fsal_create_mode mode, const char *name, struct fsal_attrlist *in,
			 fsal_verifier_t verifier, struct fsal_obj_handle **out, struct fsal_attrlist *attrs_out,
			 bool *caller_perm_check, struct fsal_attrlist *pre, struct fsal_attrlist *post)
{
	struct open_call call = { .exp = repl_cur_export(), .at = repl_obj(h), .name = name, .state = state, .flags = flags, .mode = mode, .verifier = verifier, .in = in, .attrs_out = attrs_out, .pre = pre, .post = post, .perm_check = caller_perm_check };
	fsal_status_t st = name == NULL ? open_itself(&call) : open_named(&call, out);

	if (name == NULL)
		st = repl_opened_name_status(call.at, st);
	else if (st.major == ERR_FSAL_STALE && !repl_is_gone(call.exp, &call.at->oid))
		st = fsalstat(ERR_FSAL_DELAY, EAGAIN); /* the file, not the directory */
	if (!FSAL_IS_ERROR(st) && state != NULL)
		repl_open_begun(state);
	repl_read_nothing_ahead();
	return st;
}

/* ---- states ---- */

fsal_openflags_t repl_status2(struct fsal_obj_handle *h, struct state_t *state)
{
	struct repl_export *exp = repl_cur_export();
	struct fsal_obj_handle *sub = __atomic_load_n(&repl_obj(h)->sub, __ATOMIC_ACQUIRE);
	struct repl_open_state open;
	fsal_openflags_t flags = FSAL_O_CLOSED;

	if (repl_state_get(state, &open) && (open.pending || sub == NULL))
		return open.flags;
	if (sub != NULL)
		REPL_SUBCALL(exp, flags = sub->obj_ops->status2(sub, state));
	return flags;
}

/* What was written here must be known to all before the client may think it is closed. */
static void complete_writes(struct repl_export *exp, struct repl_obj *obj)
{
	char oid[NFS4R_OID_STRLEN];
	struct nfs4r_op *op;
	enum nfs4r_status rs;

	if (!__atomic_exchange_n(&obj->wrote, 0, __ATOMIC_ACQ_REL))
		return;
	op = gsh_calloc(1, sizeof(*op));
	op->type = NFS4R_OP_CLOSE;
	op->obj = obj->oid;
	rs = repl_update(exp, op, NULL, NULL);
	repl_op_free(op);
	switch (rs) {
	case NFS4R_OK:
	case NFS4R_STALE:
	case NFS4R_ORPHAN:
		return;
	default:
		__atomic_store_n(&obj->wrote, 1, __ATOMIC_RELEASE);
		REPL_LOG(Warn, "file %s was closed before all servers knew of its writes (%s); the writes follow",
			 nfs4r_oid_str(&obj->oid, oid), nfs4r_status_str(rs));
	}
}

/* Give the sub-FSAL's state other flags; @was: what it is now. */
static fsal_status_t sub_reopen(struct repl_export *exp, struct repl_obj *obj, struct state_t *state,
				const struct repl_open_state *was, fsal_openflags_t flags, bool *pending)
{
	fsal_status_t st;
	struct fsal_obj_handle *sub = was->pending ? NULL : repl_obj_sub(exp, obj, &st);

	*pending = false;
	if (sub == NULL)
		return sub_open(exp, obj, state, flags, pending);
	REPL_SUBCALL(exp, st = sub->obj_ops->reopen2(sub, state, flags & ~FSAL_O_TRUNC));
	return st;
}

/* Cut the file once its state may be reopened so; if that fails, the state is again what it was. */
static fsal_status_t truncate_reopened(struct repl_export *exp, struct repl_obj *obj, struct state_t *state,
				       const struct repl_open_state *was, fsal_openflags_t flags, bool pending)
{
	fsal_status_t st = open_truncate(exp, obj, pending ? NULL : state, flags), back;
	char oid[NFS4R_OID_STRLEN];

	if (!FSAL_IS_ERROR(st) || pending)
		return st;
	if (was->pending || was->flags == FSAL_O_CLOSED) {
		sub_close(exp, obj, state);
		return st;
	}
	back = sub_reopen(exp, obj, state, was, was->flags, &pending);
	if (FSAL_IS_ERROR(back))
		REPL_LOG(Warn, "the downgrade of file %s failed, and it stays open with more access than its client knows: %s", nfs4r_oid_str(&obj->oid, oid), fsal_err_txt(back));
	return st;
}

static fsal_status_t reopen(struct repl_export *exp, struct repl_obj *obj, struct state_t *state, fsal_openflags_t flags)
{
	struct repl_open_state was = { 0 };
	struct repl_share share, wanted = repl_share_of(exp, flags);
	fsal_status_t st;
	bool pending;

	repl_state_moved(exp, obj, state);
	repl_state_get(state, &was);
	share = was.share;
	st = repl_share_raise(exp, &obj->oid, flags, &share);
	if (FSAL_IS_ERROR(st))
		return st;
	st = sub_reopen(exp, obj, state, &was, flags, &pending);
	if (!FSAL_IS_ERROR(st) && flags & FSAL_O_TRUNC)
		st = truncate_reopened(exp, obj, state, &was, flags, pending);
	if (FSAL_IS_ERROR(st)) {
		repl_share_lower(exp, &obj->oid, &was.share, &share);
		return st;
	}
	if (was.flags & FSAL_O_WRITE && !(flags & FSAL_O_WRITE))
		complete_writes(exp, obj);
	repl_share_lower(exp, &obj->oid, &wanted, &share);
	remember(exp, obj, state, flags, pending, &share, &was.share);
	return st;
}

fsal_status_t repl_reopen2(struct fsal_obj_handle *h, struct state_t *state, fsal_openflags_t flags)
{
	fsal_status_t st;

	if (repl_open_comes_early(state))
		return fsalstat(ERR_FSAL_DELAY, 0);
	st = reopen(repl_cur_export(), repl_obj(h), state, flags);
	if (FSAL_IS_ERROR(st))
		repl_open_failed(state);
	return st;
}

fsal_status_t repl_close(struct fsal_obj_handle *h)
{
	struct repl_export *exp = repl_cur_export();
	struct fsal_obj_handle *sub = __atomic_load_n(&repl_obj(h)->sub, __ATOMIC_ACQUIRE);
	fsal_status_t st = fsalstat(ERR_FSAL_NO_ERROR, 0);

	if (sub != NULL)
		REPL_SUBCALL(exp, st = sub->obj_ops->close(sub));
	return st;
}

fsal_status_t repl_close2(struct fsal_obj_handle *h, struct state_t *state)
{
	struct repl_export *exp = repl_cur_export();
	struct repl_obj *obj = repl_obj(h);
	struct repl_open_state open = { 0 };
	struct fsal_obj_handle *sub;
	fsal_status_t st = fsalstat(ERR_FSAL_NO_ERROR, 0);
	bool known;

	repl_state_moved(exp, obj, state);
	known = repl_state_forget(state, &open);
	sub = __atomic_load_n(&obj->sub, __ATOMIC_ACQUIRE);
	if (open.flags & FSAL_O_WRITE)
		complete_writes(exp, obj);
	if (sub != NULL && !open.pending)
		REPL_SUBCALL(exp, st = sub->obj_ops->close2(sub, state));
	share_end(exp, obj, &open.share);
	if (open.flags & FSAL_O_WRITE)
		repl_closed(exp, &obj->oid);
	if (known)
		__atomic_fetch_sub(&obj->opens, 1, __ATOMIC_RELAXED);
	repl_close_over(state);
	return st;
}
