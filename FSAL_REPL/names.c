/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Reading the name space. Names, listings and their cookies are the volume's: they come from the engine,
 * which answers from this server's tree or asks the owner of the directory (control 6.1). The
 * sub-FSAL's own directories are never consulted here.
 *
 * A listing fetches the names in batches and then the attributes of the batch, all questions at once, so
 * that a directory whose files are controlled elsewhere costs one round trip for each batch and not for each file.
 */
#include "repl.h"

#define LISTING_BATCH 128

/* *here: a name that was looked up in the local copy, so that the attributes are to be had there too. */
static enum nfs4r_status lookup_oid(struct repl_export *exp, const struct nfs4r_oid *dir, const char *name,
				    struct nfs4r_read *rd, uint32_t *type, bool *here)
{
	enum nfs4r_status st;

	memset(rd, 0, sizeof(*rd));
	rd->oid = *dir;
	*here = false;
	if (strcmp(name, "..") == 0) {
		rd->type = NFS4R_RD_LOOKUPP;
		return repl_read_any(exp, rd);
	}
	if (strlen(name) > NFS4R_NAME_MAX)
		return rd->status = NFS4R_NAMETOOLONG;
	rd->type = NFS4R_RD_LOOKUP;
	strcpy(rd->name, name);
	st = repl_read(exp, rd, here);
	return *here ? repl_lookup_here(exp, dir, name, &rd->result, type) : st;
}

static fsal_status_t lookup_once(struct repl_export *exp, struct fsal_obj_handle *dir, const char *name, struct fsal_obj_handle **out,
				 struct fsal_attrlist *attrs_out)
{
	struct nfs4r_read rd;
	struct repl_obj *obj;
	struct nfs4r_row row;
	uint32_t type = NFS4R_TYPE_DIR; /* a parent always is one */
	enum nfs4r_status rs;
	fsal_status_t st;
	bool here;

	*out = NULL;
	rs = lookup_oid(exp, &repl_obj(dir)->oid, name, &rd, &type, &here);
	if (rs != NFS4R_OK) {
		nfs4r_read_fini(&rd);
		return repl_fsal_status(rs);
	}
	if (here)
		; /* it came with the name */
	else if (rd.type == NFS4R_RD_LOOKUP && (rd.attrs.mask & NFS4R_ATTR_TYPE))
		type = rd.attrs.type;
	else if (repl_row(exp, &rd.result, &row) == NFS4R_KNOWN)
		type = row.type;
	obj = repl_obj_new(exp, &rd.result, repl_fsal_type(type), NULL);
	if (!here)
		st = repl_fill_attrs(exp, obj, &rd.attrs, attrs_out);
	else if (attrs_out != NULL)
		st = repl_getattrs_local(exp, obj, attrs_out);
	else
		st = fsalstat(ERR_FSAL_NO_ERROR, 0);
	nfs4r_read_fini(&rd);
	if (FSAL_IS_ERROR(st))
		repl_obj_release(&obj->handle);
	else
		*out = &obj->handle;
	return st;
}

/*
 * The object that a name led to may have been removed before its attributes were read. That says nothing of the name, which may lead to another object by then: a
 * rename over it leaves no moment without one. So the name is looked up again; MDCACHE would make NOENT of the STALE.
 */
#define LOOKUPS_MAX 4

fsal_status_t repl_lookup(struct fsal_obj_handle *dir, const char *name, struct fsal_obj_handle **out,
			  struct fsal_attrlist *attrs_out)
{
	struct repl_export *exp = repl_cur_export();
	fsal_status_t st = lookup_once(exp, dir, name, out, attrs_out);
	int i;

	for (i = 1; i < LOOKUPS_MAX && st.major == ERR_FSAL_STALE && !repl_is_gone(exp, &repl_obj(dir)->oid); i++) {
		repl_compound_forget();
		st = lookup_once(exp, dir, name, out, attrs_out);
	}
	if (i == LOOKUPS_MAX && st.major == ERR_FSAL_STALE)
		st = fsalstat(ERR_FSAL_DELAY, EAGAIN);
	repl_read_nothing_ahead();
	return st;
}

fsal_status_t repl_readlink(struct fsal_obj_handle *h, struct gsh_buffdesc *out, bool refresh)
{
	struct repl_export *exp = repl_cur_export();
	struct repl_obj *obj = repl_obj(h);
	struct nfs4r_read rd = { .type = NFS4R_RD_READLINK, .oid = obj->oid };
	struct fsal_obj_handle *sub;
	enum nfs4r_status rs;
	fsal_status_t st;
	bool local;

	if (h->type != SYMBOLIC_LINK)
		return fsalstat(ERR_FSAL_INVAL, 0);
	rs = repl_read(exp, &rd, &local);
	if (local) {
		sub = repl_obj_sub(exp, obj, &st);
		if (sub != NULL)
			REPL_SUBCALL(exp, st = sub->obj_ops->readlink(sub, out, refresh));
		return st;
	}
	st = repl_fsal_status(rs);
	if (rs == NFS4R_OK && rd.data != NULL) { /* Ganesha wants the NUL counted */
		out->len = rd.data->len + 1;
		out->addr = gsh_malloc(out->len);
		memcpy(out->addr, rd.data->data, rd.data->len);
		((char *)out->addr)[rd.data->len] = '\0';
	}
	nfs4r_read_fini(&rd);
	return st;
}

/* ---- listing ---- */

struct listing {
	struct repl_export *exp;
	attrmask_t attrmask;
	fsal_readdir_cb cb;
	void *dir_state;
	pthread_mutex_t lock;
	pthread_cond_t all_done;
	uint32_t under_way;
};

struct listed {
	struct nfs4r_read rd; /* GETATTR of the entry */
	bool local;
	struct listing *listing;
};

static void attrs_arrived(void *arg, struct nfs4r_read *rd, bool local)
{
	struct listed *e = arg;
	struct listing *l = e->listing;

	PTHREAD_MUTEX_lock(&l->lock);
	e->local = local;
	if (--l->under_way == 0)
		pthread_cond_signal(&l->all_done);
	PTHREAD_MUTEX_unlock(&l->lock);
}

static void ask_attrs(struct listing *l, struct listed *entries, const struct nfs4r_dirent *names, uint32_t n)
{
	uint32_t i;
	bool waits;

	l->under_way = n + 1;
	for (i = 0; i < n; i++) {
		entries[i] = (struct listed){ .listing = l };
		entries[i].rd.type = NFS4R_RD_GETATTR;
		entries[i].rd.oid = names[i].oid;
		if (!repl_may_wait(l->exp, &names[i].oid) && repl_is_read_elsewhere(l->exp, &names[i].oid)) {
			entries[i].rd.status = NFS4R_DELAY;
			attrs_arrived(&entries[i], &entries[i].rd, false);
			continue;
		}
		repl_read_async(l->exp, &entries[i].rd, attrs_arrived, &entries[i]);
	}
	PTHREAD_MUTEX_lock(&l->lock);
	waits = --l->under_way > 0;
	if (waits)
		repl_wait_begin(l->exp);
	while (l->under_way > 0)
		pthread_cond_wait(&l->all_done, &l->lock);
	PTHREAD_MUTEX_unlock(&l->lock);
	if (waits)
		repl_wait_end(l->exp);
}

static fsal_status_t entry_attrs(struct listing *l, struct listed *e, struct repl_obj *obj, struct fsal_attrlist *attrs)
{
	fsal_status_t st;

	fsal_prepare_attrs(attrs, l->attrmask);
	if (e->local)
		st = repl_getattrs_local(l->exp, obj, attrs);
	else
		st = repl_fsal_status(e->rd.status);
	if (!e->local && e->rd.status == NFS4R_OK)
		repl_attrs_to_fsal(l->exp, &obj->oid, &e->rd.attrs, attrs);
	return st;
}

/* Ganesha asks once more, in the callback. */
static void remember(struct listing *l, struct listed *e, const struct nfs4r_dirent *d, const struct fsal_attrlist *attrs)
{
	struct nfs4r_attrs own;

	if (attrs->valid_mask == ATTR_RDATTR_ERR)
		return;
	if (!e->local) {
		repl_compound_remember(l->exp, &d->oid, &e->rd.attrs, false);
		return;
	}
	repl_attrs_from_sub(&own, attrs);
	own.version = attrs->change;
	own.mask |= NFS4R_ATTR_VERSION;
	repl_compound_remember(l->exp, &d->oid, &own, true);
	nfs4r_buf_put(own.acl);
}

/* Errors a client can be told about one entry; to wait is something it has to do for the whole listing. */
static bool is_of_entry(fsal_status_t st)
{
	return st.major != ERR_FSAL_DELAY;
}

/* Gone while we listed: leave it out, as if we had come later. */
static bool is_gone(fsal_status_t st)
{
	return st.major == ERR_FSAL_NOENT || st.major == ERR_FSAL_STALE;
}

/* Pass one entry up. *go_on false: the caller has enough, or *st is an error. */
static void deliver(struct listing *l, struct listed *e, const struct nfs4r_dirent *d, bool *go_on, fsal_status_t *st)
{
	struct repl_obj *obj = repl_obj_new(l->exp, &d->oid, repl_fsal_type(d->type), NULL);
	struct fsal_attrlist attrs;
	enum fsal_dir_result res;

	*st = entry_attrs(l, e, obj, &attrs);
	if (FSAL_IS_ERROR(*st) && FSAL_TEST_MASK(l->attrmask, ATTR_RDATTR_ERR) && !is_gone(*st) && is_of_entry(*st)) {
		attrs.valid_mask = ATTR_RDATTR_ERR;
		*st = fsalstat(ERR_FSAL_NO_ERROR, 0);
	}
	if (FSAL_IS_ERROR(*st)) {
		repl_obj_release(&obj->handle);
		*go_on = is_gone(*st);
		if (*go_on)
			*st = fsalstat(ERR_FSAL_NO_ERROR, 0);
		return;
	}
	remember(l, e, d, &attrs);
	res = l->cb(d->name.s, &obj->handle, &attrs, l->dir_state, d->cookie); /* takes the handle */
	fsal_release_attrs(&attrs);
	*go_on = res == DIR_CONTINUE;
}

static void deliver_batch(struct listing *l, const struct nfs4r_dirent *names, uint32_t n, bool *go_on, fsal_status_t *st)
{
	struct listed *entries = gsh_calloc(n, sizeof(*entries));
	uint32_t i;

	ask_attrs(l, entries, names, n);
	for (i = 0; i < n && *go_on; i++)
		deliver(l, &entries[i], &names[i], go_on, st);
	for (i = 0; i < n; i++)
		nfs4r_read_fini(&entries[i].rd);
	gsh_free(entries);
}

/*
 * An error ends the reply with it, and the client asks for the same piece again. What went up before is no answer: Ganesha ends a list of entries only in
 * the callback, when that has no room for one more, or at the end of the directory; otherwise the reply lacks a word.
 */
static fsal_status_t list(struct listing *l, const struct nfs4r_oid *dir, uint64_t cookie, bool *eof)
{
	fsal_status_t st = fsalstat(ERR_FSAL_NO_ERROR, 0);
	struct nfs4r_read rd;
	enum nfs4r_status rs;
	bool go_on = true;
	uint32_t n;

	while (go_on && !*eof) {
		rd = (struct nfs4r_read){ .type = NFS4R_RD_READDIR, .oid = *dir, .cookie = cookie, .length = LISTING_BATCH };
		rs = repl_read_any(l->exp, &rd);
		n = rs == NFS4R_OK ? rd.ndirents : 0;
		if (n) {
			deliver_batch(l, rd.dirents, n, &go_on, &st);
			cookie = rd.dirents[n - 1].cookie;
		}
		if (rs != NFS4R_OK)
			st = repl_fsal_status(rs);
		else if (go_on)
			*eof = rd.eof || n == 0;
		nfs4r_read_fini(&rd);
		if (FSAL_IS_ERROR(st))
			return st;
	}
	return st;
}

fsal_status_t repl_readdir(struct fsal_obj_handle *dir, fsal_cookie_t *whence, void *dir_state, fsal_readdir_cb cb,
			   attrmask_t attrmask, bool *eof)
{
	struct listing l = { .exp = repl_cur_export(), .attrmask = attrmask, .cb = cb, .dir_state = dir_state };
	fsal_status_t st;

	*eof = false;
	PTHREAD_MUTEX_init(&l.lock, NULL);
	PTHREAD_COND_init(&l.all_done, NULL);
	st = list(&l, &repl_obj(dir)->oid, whence != NULL ? *whence : 0, eof);
	PTHREAD_COND_destroy(&l.all_done);
	PTHREAD_MUTEX_destroy(&l.lock);
	return st;
}
