/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Applying a peer's entry to the local file system. Every action is an "ensure": after a crash between the
 * action and its record the entry is applied again, and finds its work done. The core has decided which parts
 * apply (versions); order among entries of one object is the core's business too.
 *
 * A failure must not lose the entry, whatever the reason is: the core hears of it and gives the entry out again a second later, while entries of other objects
 * go on. The log says what to do. If that lasts, the core makes this server withdraw from the view, so that the others do not wait for it (log 4.11, 6.12). With a
 * fixed view they have to wait.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/replicate/replicate.h"

struct apply_job {
	struct nfs4r_entry *entry;
	uint32_t mask;
	enum nfs4r_status marked; /* MARK of the entry (log 4.4), made when it was queued */
	nfs4r_journal_pos sync_first;
	uint32_t tries; /* that have failed already */
	bool aside; /* a new object, or one that is moved, goes to the hidden directory: a later entry removes it or moves it on */
};

#define SAY_EVERY_TRIES 60
#define SAY_EVERY_MS 5000
#define SHORT_MS 20 /* between two tries while an object that was removed behind NFS comes back */
#define RETURN_MS 1000 /* so long for that with a fixed view; else half a lease, after which the entry has failed */

/* The name change of @e that gives @oid a name, and its directory. */
static struct nfs4r_name_change *name_given(struct nfs4r_entry *e, const struct nfs4r_oid *oid, struct nfs4r_oid *dir)
{
	for (uint32_t i = 0; i < e->nparts; i++)
		for (uint32_t j = 0; e->parts[i].effect == NFS4R_EFF_NAMES && j < e->parts[i].nnames; j++)
			if (nfs4r_oid_eq(&e->parts[i].names[j].oid, oid)) {
				*dir = e->parts[i].oid;
				return &e->parts[i].names[j];
			}
	return NULL;
}

static struct nfs4r_name_change *name_taken(struct nfs4r_entry *e, struct nfs4r_oid *dir)
{
	static const struct nfs4r_oid none;

	return name_given(e, &none, dir);
}

static enum nfs4r_status exact_attrs(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, const struct nfs4r_attrs *a)
{
	struct nfs4r_attrs set = *a;

	set.mask &= NFS4R_ATTR_MODE | NFS4R_ATTR_UID | NFS4R_ATTR_GID | NFS4R_ATTR_SIZE | NFS4R_ATTR_ATIME | NFS4R_ATTR_MTIME | NFS4R_ATTR_ACL;
	if (a->type == NFS4R_TYPE_SYMLINK)
		set.mask &= (uint32_t)(NFS4R_ATTR_UID | NFS4R_ATTR_GID | NFS4R_ATTR_ATIME | NFS4R_ATTR_MTIME);
	return set.mask ? eng->ops->setattr(eng->ctx, h, &set, NULL, NULL) : NFS4R_OK;
}

static bool any_name(void *arg, const char *name)
{
	*(bool *)arg = true;
	return false;
}

/* What was made before a crash is as it was made: the entries that fill it come only when this one is committed. */
static bool is_blank(struct nfs4r_engine *eng, const struct nfs4r_part *p, const struct nfs4r_lhandle *h, uint64_t size)
{
	char text[NFS4R_PATH_MAX];
	uint32_t len = sizeof(text);
	bool filled = false, eof;
	uint64_t data;

	switch (p->attrs.type) {
	case NFS4R_TYPE_FILE: /* an import gives it its size, and holes */
		return !size || (p->attrs.mask & NFS4R_ATTR_SIZE && eng->ops->seek(eng->ctx, h, 0, false, &data, &eof) == NFS4R_NXIO);
	case NFS4R_TYPE_DIR:
		return eng->ops->readdir(eng->ctx, h, any_name, &filled) == NFS4R_OK && !filled;
	case NFS4R_TYPE_SYMLINK:
		return eng->ops->readlink(eng->ctx, h, text, &len) == NFS4R_OK && p->linktext && len == strlen(p->linktext) && memcmp(text, p->linktext, len) == 0;
	default:
		return true;
	}
}

/* A stranger's object is left alone. */
enum nfs4r_status replicate_made_before(struct nfs4r_engine *eng, const struct nfs4r_part *p, const struct nfs4r_lhandle *dirh, const char *name,
					struct nfs4r_lhandle *made)
{
	struct nfs4r_attrs post = { 0 };
	struct nfs4r_oid other;
	enum nfs4r_status st = eng->ops->lookup(eng->ctx, dirh, name, made);

	if (st == NFS4R_OK && nfs4r_by_handle(eng, made, &other) && !nfs4r_oid_eq(&other, &p->oid))
		return NFS4R_EXIST;
	if (st == NFS4R_OK)
		st = eng->ops->getattr(eng->ctx, made, &post);
	nfs4r_buf_put(post.acl);
	if (st == NFS4R_OK && (post.type != p->attrs.type || !is_blank(eng, p, made, post.size)))
		return NFS4R_EXIST;
	if (st == NFS4R_OK && post.type == NFS4R_TYPE_FILE && post.size) /* an import does not write where it has holes */
		st = exact_attrs(eng, made, &(struct nfs4r_attrs){ .mask = NFS4R_ATTR_SIZE });
	if (st == NFS4R_OK)
		st = exact_attrs(eng, made, &p->attrs);
	return st;
}

static enum nfs4r_status apply_create(struct nfs4r_engine *eng, struct nfs4r_entry *e, struct nfs4r_part *p)
{
	struct nfs4r_lhandle dirh, made;
	struct nfs4r_attrs post = { 0 };
	struct nfs4r_oid dir;
	struct nfs4r_name_change *n = name_given(e, &p->oid, &dir);

	if (!n)
		return NFS4R_CORRUPT;
	nfs4r_handle(eng, &dir, &dirh);
	if (!dirh.len)
		return NFS4R_STALE;
	enum nfs4r_status st = eng->ops->create(eng->ctx, &dirh, n->name.s, &p->attrs, p->linktext, NULL, &made, &post);
	nfs4r_buf_put(post.acl);
	if (st == NFS4R_EXIST)
		st = replicate_made_before(eng, p, &dirh, n->name.s, &made);
	if (st == NFS4R_EXIST && replicate_way_clear(eng, &dirh, n->name.s, NULL) == NFS4R_OK) {
		st = eng->ops->create(eng->ctx, &dirh, n->name.s, &p->attrs, p->linktext, NULL, &made, &post);
		nfs4r_buf_put(post.acl);
	}
	if (st == NFS4R_OK && e->op == NFS4R_OP_ADOPT) /* its ACL comes in entries of its own, if it has one */
		st = engine_xattr_drop_inherited(eng, &made);
	if (st == NFS4R_OK)
		nfs4r_entry_set_handle(e, &made);
	return st;
}

/*
 * A name of @p's object goes, and others stay. After a repair the directories of those may be newer, and the names have gone there already: then this is the
 * last place that it has here, and entries that are still to come need it (log 3.4).
 */
static enum nfs4r_status keep_last(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_part *p)
{
	struct nfs4r_attrs a = { 0 };
	struct nfs4r_lhandle h;

	if (p->effect != NFS4R_EFF_LINKS || !p->nlink)
		return NFS4R_OK;
	nfs4r_handle(eng, &p->oid, &h);
	enum nfs4r_status st = h.len ? eng->ops->getattr(eng->ctx, &h, &a) : NFS4R_NOENT;
	nfs4r_buf_put(a.acl);
	if (st != NFS4R_OK || a.nlink > 1 || !replicate_way_leads_to(eng, dirh, name, &h))
		return NFS4R_OK;
	return replicate_staging_park(eng, dirh, name, &h, &p->oid);
}

/* What is replaced is in no directory of the entry any more. */
static enum nfs4r_status keep_replaced(struct nfs4r_engine *eng, const struct nfs4r_entry *e, const struct nfs4r_lhandle *dirh, const char *name)
{
	enum nfs4r_status st = NFS4R_OK;

	for (uint32_t i = 0; i < e->nparts && st == NFS4R_OK; i++)
		st = keep_last(eng, dirh, name, &e->parts[i]);
	return st;
}

/* The new name means what the store says of it so far, or the object already; what else has it on the disk would be overwritten. */
static enum nfs4r_status clear_target(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, const struct nfs4r_lhandle *dirh, const struct nfs4r_name_change *n,
				      const struct nfs4r_lhandle *h)
{
	struct nfs4r_lhandle old = { .len = 0 };
	struct nfs4r_dirent ent;

	if (!dirh->len || replicate_way_leads_to(eng, dirh, n->name.s, h))
		return NFS4R_OK;
	if (nfs4r_store_lookup(eng->store, dir, &n->name, &ent))
		nfs4r_handle(eng, &ent.oid, &old);
	return replicate_way_clear(eng, dirh, n->name.s, &old);
}

static enum nfs4r_status apply_rename(struct nfs4r_engine *eng, struct nfs4r_entry *e, struct nfs4r_part *p)
{
	struct nfs4r_lhandle from, to, h, staging;
	char staged[NFS4R_OID_STRLEN];
	struct nfs4r_oid dir, dir2;
	struct nfs4r_name_change *old = name_taken(e, &dir), *new = name_given(e, &p->oid, &dir2);

	if (!old || !new)
		return NFS4R_CORRUPT;
	nfs4r_handle(eng, &dir, &from);
	nfs4r_handle(eng, &dir2, &to);
	nfs4r_handle(eng, &p->oid, &h);
	enum nfs4r_status st = keep_replaced(eng, e, &to, new->name.s);
	if (st == NFS4R_OK)
		st = clear_target(eng, &dir2, &to, new, &h);
	if (st != NFS4R_OK)
		return st;
	if (replicate_staging_has(eng, &p->oid, &h, &staging, staged)) {
		st = eng->ops->rename(eng->ctx, &h, &staging, staged, &to, new->name.s, NULL);
		replicate_staging_tidy(eng);
		return st;
	}
	st = eng->ops->rename(eng->ctx, &h, &from, old->name.s, &to, new->name.s, NULL);
	if (st == NFS4R_NOENT && replicate_way_leads_to(eng, &to, new->name.s, &h))
		return NFS4R_OK;
	return st;
}

/* LINKS of a link or remove; of a rename's replaced target nothing is left to do. */
static enum nfs4r_status apply_links(struct nfs4r_engine *eng, struct nfs4r_entry *e, struct nfs4r_part *p)
{
	struct nfs4r_lhandle dirh, h, staging;
	char staged[NFS4R_OID_STRLEN];
	struct nfs4r_oid dir;

	for (uint32_t i = 0; i < e->nparts; i++)
		if (e->parts[i].effect == NFS4R_EFF_PARENT)
			return NFS4R_OK;
	nfs4r_handle(eng, &p->oid, &h);
	struct nfs4r_name_change *n = name_given(e, &p->oid, &dir);
	if (n) {
		nfs4r_handle(eng, &dir, &dirh);
		if (eng->replicate.staging_exists) { /* out of it, if it is there: no later entry would say so */
			enum nfs4r_status placed = replicate_staging_place(eng, &dirh, n->name.s, &p->oid, &h);

			replicate_staging_tidy(eng);
			return placed;
		}
		enum nfs4r_status st = eng->ops->link(eng->ctx, &h, &dirh, n->name.s, NULL);
		if (st == NFS4R_EXIST && !replicate_way_leads_to(eng, &dirh, n->name.s, &h) && replicate_way_clear(eng, &dirh, n->name.s, &h) == NFS4R_OK)
			st = eng->ops->link(eng->ctx, &h, &dirh, n->name.s, NULL);
		return st == NFS4R_EXIST && replicate_way_leads_to(eng, &dirh, n->name.s, &h) ? NFS4R_OK : st;
	}
	n = name_taken(e, &dir);
	if (!n)
		return NFS4R_CORRUPT;
	nfs4r_handle(eng, &dir, &dirh);
	enum nfs4r_status st = keep_last(eng, &dirh, n->name.s, p);
	if (st != NFS4R_OK)
		return st;
	if (replicate_staging_has(eng, &p->oid, &h, &staging, staged)) { /* it never had that name here; what has it now is something else */
		st = p->nlink ? NFS4R_OK : replicate_staging_drop(eng, &p->oid);
		replicate_staging_tidy(eng);
		return st;
	}
	if (h.len && !replicate_way_leads_to(eng, &dirh, n->name.s, &h)) /* it is gone; what has its name is not the volume's */
		return NFS4R_OK;
	st = eng->ops->remove(eng->ctx, &dirh, n->name.s, &h, NULL);
	return st == NFS4R_NOENT ? NFS4R_OK : st;
}

static enum nfs4r_status set_mtime(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, int64_t mtime)
{
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_MTIME, .mtime = mtime };

	return eng->ops->setattr(eng->ctx, h, &a, NULL, NULL);
}

static enum nfs4r_status apply_content(struct nfs4r_engine *eng, struct nfs4r_entry *e, struct nfs4r_part *p)
{
	struct nfs4r_lhandle h;
	enum nfs4r_status st = NFS4R_OK;

	nfs4r_handle(eng, &p->oid, &h);
	if (!h.len)
		return NFS4R_STALE;
	switch (p->effect) {
	case NFS4R_EFF_WRITE:
		/* Bytes that were read back may be fewer, or none when the file is gone: a later entry says why (log 3.6). */
		if (e->payload && e->payload->len)
			st = eng->ops->write(eng->ctx, &h, p->off, e->payload->data, e->payload->len, false, NULL);
		break;
	case NFS4R_EFF_ATTRS:
		return exact_attrs(eng, &h, &p->attrs);
	case NFS4R_EFF_XATTR:
		if (p->xremove) {
			st = eng->ops->removexattr(eng->ctx, &h, p->xname, NULL);
			return st == NFS4R_NOXATTR ? NFS4R_OK : st;
		}
		if (!e->payload)
			return NFS4R_OK;
		return engine_xattr_take(eng, &h, p->xname, e->payload->data, e->payload->len);
	case NFS4R_EFF_ALLOC:
		st = eng->ops->allocate(eng->ctx, &h, p->off, p->len, p->punch, NULL);
		break;
	default:
		return NFS4R_OK;
	}
	return st == NFS4R_OK && p->mtime ? set_mtime(eng, &h, p->mtime) : st;
}

/* An own entry that a crash of the machine took, and that came back: the rest of what was imported may not. */
static enum nfs4r_status import_came_back(struct nfs4r_engine *eng, const struct nfs4r_entry *e)
{
	enum nfs4r_status st;

	pthread_mutex_lock(&eng->lock);
	st = engine_import_begin_by(eng, e);
	pthread_mutex_unlock(&eng->lock);
	return st;
}

static enum nfs4r_status apply_part(struct nfs4r_engine *eng, struct nfs4r_entry *e, struct nfs4r_part *p)
{
	enum nfs4r_status st;

	switch (p->effect) {
	case NFS4R_EFF_CREATE:
		st = import_came_back(eng, e);
		return st == NFS4R_OK ? apply_create(eng, e, p) : st;
	case NFS4R_EFF_PARENT:
		return apply_rename(eng, e, p);
	case NFS4R_EFF_LINKS:
		return apply_links(eng, e, p);
	case NFS4R_EFF_NONE:
	case NFS4R_EFF_NAMES:
		return NFS4R_OK; /* names follow from the parts of the objects */
	default:
		return apply_content(eng, e, p);
	}
}

enum nfs4r_status replicate_apply_entry(struct nfs4r_engine *eng, struct nfs4r_entry *e, uint32_t mask, bool aside)
{
	bool partial = !aside && replicate_staging_is_partial(e, mask);
	enum nfs4r_status st = aside ? replicate_staging_aside(eng, e, mask) : partial ? replicate_staging_apply(eng, e, mask) :
											 NFS4R_OK;

	for (uint32_t i = 0; i < e->nparts && !partial && !aside && st == NFS4R_OK; i++) {
		st = mask & 1u << i ? apply_part(eng, e, &e->parts[i]) : NFS4R_OK;
		if ((st == NFS4R_NOTEMPTY || st == NFS4R_EXIST) && replicate_way_make(eng, e, st))
			st = apply_part(eng, e, &e->parts[i]);
	}
	if (st != NFS4R_OK)
		return st;
	for (uint32_t i = 0; i < e->nparts; i++) { /* after the names: they move a directory's time */
		struct nfs4r_part *p = &e->parts[i];
		struct nfs4r_lhandle h;

		if (!(mask & 1u << i) || p->effect != NFS4R_EFF_NAMES || !p->mtime)
			continue;
		nfs4r_handle(eng, &p->oid, &h);
		st = set_mtime(eng, &h, p->mtime);
		if (st != NFS4R_OK)
			return st;
	}
	return NFS4R_OK;
}

/* The first name that the entry gives or takes, for the log; empty: it has none. */
static const char *name_of(const struct nfs4r_entry *e)
{
	for (uint32_t i = 0; i < e->nparts; i++)
		if (e->parts[i].effect == NFS4R_EFF_NAMES && e->parts[i].nnames)
			return e->parts[i].names[0].name.s;
	return "";
}

/* The first failure of an entry, once a minute of the same one, and with many of them at most one every few seconds. */
static void log_failure(struct nfs4r_engine *eng, const struct apply_job *job, enum nfs4r_status st)
{
	const struct nfs4r_entry *e = job->entry;
	const char *name = name_of(e);
	char oid[NFS4R_OID_STRLEN];
	uint64_t now = engine_now_ms(), said = eng->replicate.apply_said_ms;

	if (job->tries % SAY_EVERY_TRIES || (said && now < said + SAY_EVERY_MS) || !atomic_compare_exchange_strong(&eng->replicate.apply_said_ms, &said, now))
		return;
	engine_log(eng, NFS4R_LOG_ERROR, "volume %s: cannot apply update %llu of server %u (%s%s%.100s%s, object %s): %s; %s. The server retries every second; %s", eng->cfg.volume_name,
		   (unsigned long long)e->lsn, e->log, nfs4r_op_name(e->op), *name ? " of '" : "", name, *name ? "'" : "", nfs4r_oid_str(&e->parts[0].oid, oid),
		   nfs4r_status_str(st), engine_remedy(st),
		   engine_lease_ms(eng) ? "if that keeps failing, the others continue without this server, and it returns by itself when the update is applied" :
					  "with Lease = 0 updates at all sites wait for this server");
}

/* The mark that was made when the job was queued, or once more if that failed. */
static enum nfs4r_status mark(struct nfs4r_engine *eng, struct apply_job *job)
{
	if (job->marked != NFS4R_OK) {
		pthread_mutex_lock(&eng->lock);
		job->marked = nfs4r_store_mark(eng->store, job->entry, &job->sync_first);
		pthread_mutex_unlock(&eng->lock);
	}
	return job->marked == NFS4R_OK && job->sync_first ? nfs4r_store_sync(eng->store, job->sync_first) : job->marked;
}

/* What is not committed before the process ends is in doubt at the next start (log 4.5). If the journal has no room for that, the server halts (log 4.15): the exported directory, and this entry, have nothing to do with it. */
static enum nfs4r_status begin(struct nfs4r_engine *eng, struct apply_job *job)
{
	enum nfs4r_status st = mark(eng, job);

	if (st == NFS4R_OK)
		st = nfs4r_store_begin(eng->store, job->entry);
	if (nfs4r_status_is_full(st)) {
		pthread_mutex_lock(&eng->lock);
		engine_journal_failed(eng, st);
		pthread_mutex_unlock(&eng->lock);
	}
	return st == NFS4R_OK ? engine_sync_inline(eng, job->entry) : st;
}

/*
 * Of all objects of the entry. Those with names: the core does not keep entries of two logs apart where one of them leaves an object alone (staging_dir.c). The others: an object that comes
 * back from another server is not changed meanwhile (self_heal.c).
 */
static void want_locks(const struct apply_job *job, struct op_locks *locks)
{
	const struct nfs4r_entry *e = job->entry;

	*locks = (struct op_locks){ .n = 0 };
	for (uint32_t i = 0; i < e->nparts && job->mask; i++) {
		const struct nfs4r_part *p = &e->parts[i];

		locks->want[locks->n++] = (struct lock_want){ .oid = p->oid, .whole = p->effect != NFS4R_EFF_WRITE, .off = p->off, .len = p->len };
	}
}

void replicate_apply_drop(struct nfs4r_engine *eng, void *arg)
{
	struct apply_job *job = arg;

	nfs4r_entry_put(job->entry);
	free(job);
}

/* DELAY: somebody removed what it needs behind NFS, and that comes back. */
static enum nfs4r_status attempt(struct nfs4r_engine *eng, struct apply_job *job)
{
	enum nfs4r_status st = begin(eng, job);

	if (st != NFS4R_OK)
		return st;
	if (engine_missing_blocks(eng, job->entry))
		return NFS4R_DELAY;
	return engine_missing_failed(eng, job->entry, NULL, replicate_apply_entry(eng, job->entry, job->mask, job->aside));
}

/* Without the locks, which are for local changes only. */
static enum nfs4r_status attempt_again(struct nfs4r_engine *eng, struct apply_job *job, struct op_locks *locks)
{
	engine_locks_drop(eng->runtime.locks, locks);
	nanosleep(&(struct timespec){ .tv_nsec = SHORT_MS * 1000000L }, NULL);
	engine_missing_wait(eng, job->entry);
	engine_locks_take(eng->runtime.locks, locks);
	return attempt(eng, job);
}

static void tell(struct nfs4r_engine *eng, struct nfs4r_entry *e, enum nfs4r_status st)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_APPLIED, .entry = e, .ok = st == NFS4R_OK, .status = st };

	if (st == NFS4R_OK) {
		engine_touched_forget(eng->runtime.touched, e);
		engine_suid_forget(eng->runtime.set_ids, e);
	}
	pthread_mutex_lock(&eng->lock);
	engine_pool_returns(eng->replicate.appliers);
	engine_step(eng, &ev);
	pthread_mutex_unlock(&eng->lock);
}

static void apply_task(struct nfs4r_engine *eng, void *arg)
{
	struct apply_job *job = arg;
	struct nfs4r_entry *e = job->entry;
	enum nfs4r_status st = NFS4R_OK;
	uint64_t until = engine_now_ms() + (engine_lease_ms(eng) ? engine_lease_ms(eng) / 2 : RETURN_MS);
	struct op_locks locks;

	engine_doubt_wait(eng);
	if (job->mask && eng->door.stopping) {
		replicate_apply_drop(eng, job);
		return;
	}
	want_locks(job, &locks);
	if (locks.n)
		engine_locks_take(eng->runtime.locks, &locks);
	if (job->mask)
		st = attempt(eng, job);
	while (st == NFS4R_DELAY && !eng->door.stopping && !eng->runtime.mute && engine_now_ms() < until)
		st = attempt_again(eng, job, &locks);
	if (st != NFS4R_OK && !eng->runtime.mute)
		log_failure(eng, job, st);
	tell(eng, e, st);
	if (locks.n)
		engine_locks_drop(eng->runtime.locks, &locks);
	for (uint32_t i = 0; eng->ops->changed && i < e->nparts; i++)
		if (job->mask & 1u << i)
			eng->ops->changed(eng->ctx, &e->parts[i].oid, e->parts[i].effect == NFS4R_EFF_NAMES);
	replicate_apply_drop(eng, job);
}

void replicate_apply_begin(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	const struct nfs4r_act_apply *p = nfs4r_act_apply(a);
	struct apply_job *job = malloc(sizeof(*job));

	if (!job)
		abort();
	*job = (struct apply_job){ .entry = p->entry, .mask = p->mask, .tries = p->tries, .aside = p->aside };
	if (job->mask)
		job->marked = nfs4r_store_mark(eng->store, p->entry, &job->sync_first);
	engine_pool_run(eng->replicate.appliers, apply_task, job);
}
