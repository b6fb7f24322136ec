/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * FSAL_REPL, private header: a stackable FSAL that translates between Ganesha and the engine.
 *
 *   Ganesha (SAL, MDCACHE)  ->  FSAL_REPL  ->  engine  ->  lops (lops_*.c)  ->  sub-FSAL
 *                                    \---- local reads, opens -------------->   sub-FSAL
 *
 * Above us objects are known by OID only, below us by the sub-FSAL's handles. No protocol of the
 * volume lives here: who may do what is the engine's business. docs/decisions/0003-fsal-repl.md.
 */
#ifndef FSAL_REPL_H
#define FSAL_REPL_H

#include "config.h"

#include "fsal.h"
#include "fsal_convert.h"
#include "FSAL/fsal_commonlib.h"
#include "FSAL/access_check.h"
#include "export_mgr.h"
#include "nfs_exports.h"
#include "nfs_proto_data.h"

#include "engine/engine.h"

#define REPL_LOG(level, ...) Log##level(COMPONENT_FSAL, "REPL: " __VA_ARGS__)

struct repl_export;
struct repl_attr_cache;
struct repl_locks;
struct repl_lock_clients;
struct repl_written;

/* ---- module (main.c, config.c) ---- */

struct repl_module {
	struct fsal_module module;
	struct fsal_obj_ops obj_ops;
	struct nfs4r_config cfg; /* from REPL { }; export id, fsid are added by create_export */
	bool configured;
	char why[NFS4R_WHY]; /* why it is not configured */
	struct repl_export *exp; /* the one export; NULL = none */
};

extern struct repl_module repl_module;

/* Parse REPL { } into repl_module.cfg. On error repl_module.why says what to write. */
void repl_config_load(config_file_t parsed, struct config_error_type *err);

/* ---- export (export.c, export_ops.c) ---- */

#define REPL_WIRE_HANDLE (sizeof(struct nfs4r_oid) + NFS4R_HANDLE_CHECK) /* bytes of an object's handle as clients have it */

struct repl_export {
	struct fsal_export export;
	struct gsh_export *gsh;
	struct nfs4r_engine *eng;
	pthread_rwlock_t gate; /* read: a call into the engine; write: stopping it. gate.c */
	bool stopped;
	struct { /* of the engine, in this process: restart.c */
		pthread_mutex_t lock;
		pthread_cond_t cond;
		pthread_t thread;
		bool running, wanted, ends; /* wanted, ends: under lock */
	} restart;
	bool ended, never; /* stopped for good; before the daemon was up (context.c); atomic */
	fsal_fsid_t fsid;
	struct nfs4r_oid root;
	char *path; /* exported directory */
	int dir_fd; /* on it, for syncfs */
	uint32_t op_wait_ms;
	struct fsal_up_vector sub_up; /* what the sub-FSAL calls */
	struct repl_attr_cache *attr_cache;
	pthread_mutex_t written_lock;
	struct repl_written *written; /* under written_lock; verifier.c */
	pthread_mutex_t arrive_lock;
	uint32_t moved; /* atomic: counts local handles that were replaced (moved.c) */
	uint32_t engines; /* atomic; how many engines there were before this one: opens are known to one (shares.c) */
	struct repl_locks *locks; /* locks.c */
	struct repl_lock_clients *lock_clients;
	pthread_cond_t arrive; /* an object changed by a peer's update: it may have appeared here */
};

static inline struct repl_export *repl_export(struct fsal_export *e)
{
	return container_of(e, struct repl_export, export);
}

/* Export of the operation under way; op_ctx is at our layer. */
static inline struct repl_export *repl_cur_export(void)
{
	return repl_export(op_ctx->fsal_export);
}

fsal_status_t repl_create_export(struct fsal_module *fsal, void *node, struct config_error_type *err,
				 const struct fsal_up_vector *up_ops);
fsal_status_t repl_update_export(struct fsal_module *fsal, void *node, struct config_error_type *err,
				 struct fsal_export *original, struct fsal_module *super);
void repl_export_stop(struct repl_export *exp);

/* ---- the engine's first start, and others (restart.c) ---- */

/* Into exp->eng. While the daemon starts a full Store is waited for. */
enum nfs4r_status repl_restart_first(struct repl_export *exp, char *why);
void repl_lops_again(void *ctx);
void repl_restart_init(struct repl_export *exp);
void repl_restart_end(struct repl_export *exp); /* none is under way after it, nor will be; blocks while the engine starts */
void repl_restart_fini(struct repl_export *exp);
/* gate.c: the calls that are inside have ended, and who comes later is turned away. The engine is the caller's; NULL: there is none */
struct nfs4r_engine *repl_gate_close(struct repl_export *exp);
bool repl_is_closed(struct repl_export *exp);
void repl_gate_open(struct repl_export *exp, struct nfs4r_engine *eng);
void repl_export_ops_init(struct export_ops *ops);

/* ---- contexts (context.c) ---- */

/*
 * The pair around every call of the sub-FSAL from a thread whose op_ctx is at our layer:
 *	REPL_SUBCALL(exp, st = sub->obj_ops->getattrs(sub, &a));
 */
#define REPL_SUBCALL(exp_, ...)                                         \
	do {                                                            \
		struct fsal_export *saved_layer_ = op_ctx->fsal_export; \
		op_ctx->fsal_export = (exp_)->export.sub_export;        \
		__VA_ARGS__;                                            \
		op_ctx->fsal_export = saved_layer_;                     \
	} while (0)

/*
 * A context of its own for code that runs on whichever thread the engine likes: nested into the thread's
 * own if it has one. The layer (ours or the sub export) and whose permissions count: @cred NULL = root.
 */
struct repl_context {
	struct req_op_context ctx;
};

void repl_context_enter(struct repl_context *c, struct repl_export *exp, struct fsal_export *layer,
			const struct nfs4r_cred *cred);
void repl_context_leave(struct repl_context *c);
/* Engine threads wait here until the daemon is up; others pass. */
bool repl_wait_ready(struct repl_export *exp); /* false: it never will be */

/* ---- answers of other servers within one request of a client (compound.c); any thread with an op_ctx, never blocks ---- */

/*
 * Attributes that another server gave for @oid since this request arrived, and nothing was updated here since. The
 * caller puts out->acl. @gone: @oid is known to be deleted by now, so that what this server said itself (@own) will do, too.
 */
bool repl_compound_recall(const struct repl_export *exp, const struct nfs4r_oid *oid, bool gone, struct nfs4r_attrs *out);
void repl_compound_remember(const struct repl_export *exp, const struct nfs4r_oid *oid, const struct nfs4r_attrs *attrs,
			    bool own);
/* What a LOOKUP at another server said, that this object is meant or none (NOENT); recall fills in the answer of @rd, attributes apart. */
void repl_compound_remember_name(const struct repl_export *exp, const struct nfs4r_read *rd);
bool repl_compound_recall_name(const struct repl_export *exp, struct nfs4r_read *rd);
/*
 * The primary refused to make this name: it exists. Ganesha looks the name up before it says so (fsal_create() in fsal_helper.c), and would pass on
 * what the look-up says, NOENT if another site has removed the name meanwhile. For the rest of this request the look-up says EXIST instead.
 */
void repl_compound_remember_taken(const struct repl_export *exp, const struct nfs4r_oid *dir, const char *name);
/* Is this request at an OPEN that names the file? */
bool repl_compound_opens_by_name(void);
void repl_compound_forget(void); /* this thread is about to update something */
const COMPOUND4args *repl_compound_args(void); /* of the request under way; NULL: it is no compound */
uint32_t repl_compound_done(void); /* so many of its operations are done; 0: it is no compound */
bool repl_compound_is_handle_of(const nfs_argop4 *op, const struct nfs4r_oid *oid); /* a PUTFH of it? */

/* ---- the names that a request asks for after the attributes of their directory (ahead.c); with the gate held ---- */

#define REPL_AHEAD_MAX 2 /* RENAME */

struct repl_ahead {
	struct {
		struct nfs4r_read rd;
		bool local;
	} name[REPL_AHEAD_MAX];
	uint32_t n, under_way;
	pthread_mutex_t lock;
	pthread_cond_t cond;
};

/* Asks for them when @rd is that GETATTR and has to be asked at another server than @self; else false. Never blocks. */
bool repl_ahead_ask(struct repl_ahead *a, struct nfs4r_engine *eng, nfs4r_server_id self, const struct nfs4r_read *rd);
/* Must follow. What is not `local` was answered. Blocks as long as nfs4r_read(). The caller ends each rd. */
void repl_ahead_wait(struct repl_ahead *a);

/* ---- calls into the engine (gate.c): DELAY once it is stopping ---- */

enum nfs4r_status repl_update(struct repl_export *exp, struct nfs4r_op *op, nfs4r_exec_fn exec, void *arg);
void repl_update_async(struct repl_export *exp, struct nfs4r_op *op, nfs4r_exec_fn exec, nfs4r_sync_fn sync, nfs4r_done_fn done, void *arg);
enum nfs4r_status repl_read(struct repl_export *exp, struct nfs4r_read *rd, bool *local);
void repl_read_async(struct repl_export *exp, struct nfs4r_read *rd, nfs4r_read_done_fn done, void *arg);
/* Read from wherever it has to be read, the local copy served by the engine. */
enum nfs4r_status repl_read_any(struct repl_export *exp, struct nfs4r_read *rd);
enum nfs4r_known repl_row(struct repl_export *exp, const struct nfs4r_oid *oid, struct nfs4r_row *row);
/* Would a GETATTR of it be asked at another server now? */
bool repl_may_wait(struct repl_export *exp, const struct nfs4r_oid *oid); /* of what is asked elsewhere; around the wait itself: */
void repl_wait_begin(struct repl_export *exp);
void repl_wait_end(struct repl_export *exp);
bool repl_is_read_elsewhere(struct repl_export *exp, const struct nfs4r_oid *oid);
/* All 0, not known, while the engine is stopping. */
void repl_volume_room(struct repl_export *exp, struct nfs4r_volume_room *out);
enum nfs4r_status repl_handle_check(struct repl_export *exp, const struct nfs4r_oid *oid, uint8_t check[NFS4R_HANDLE_CHECK]);
enum nfs4r_status repl_handle_verify(struct repl_export *exp, const struct nfs4r_oid *oid, const uint8_t check[NFS4R_HANDLE_CHECK]);
bool repl_may_hide(struct repl_export *exp, const struct nfs4r_oid *oid);
uint32_t repl_links_seen(struct repl_export *exp, uint32_t numlinks);
/* Deleted, for good: STALE. A row that is DEAD alone may mean that this server is behind the others, and then the answer is DELAY. */
bool repl_is_gone(struct repl_export *exp, const struct nfs4r_oid *oid);
bool repl_is_gone_here(struct repl_export *exp, const struct nfs4r_oid *oid);
bool repl_comes_back(struct repl_export *exp, const struct nfs4r_oid *oid);
void repl_local_handle(struct repl_export *exp, const struct nfs4r_oid *oid, struct nfs4r_lhandle *out);
bool repl_by_handle(struct repl_export *exp, const struct nfs4r_lhandle *h, struct nfs4r_oid *oid);
void repl_opened(struct repl_export *exp, const struct nfs4r_oid *oid);
void repl_identity_used(struct repl_export *exp, const struct nfs4r_identity *id);
void repl_closed(struct repl_export *exp, const struct nfs4r_oid *oid);
uint64_t repl_commit_begin(struct repl_export *exp, const struct nfs4r_oid *oid);
enum nfs4r_status repl_commit_log(struct repl_export *exp, const struct nfs4r_oid *oid, uint64_t begun);
uint64_t repl_verifier(struct repl_export *exp);
/* What a request made or changed at another server, by which entry of whose log. oid zero: nothing. */
struct repl_changed {
	struct nfs4r_oid oid;
	nfs4r_server_id log;
	nfs4r_lsn lsn;
};
struct repl_changed repl_changed_elsewhere(const struct nfs4r_op *op);
/* Its attributes, for the rest of this request (control 6.4), if the entry is here. */
void repl_remember_changed(struct repl_export *exp, const struct repl_changed *ch);
/* The verifier of @op, the WRITE that the client's @request (of op_ctx) just made; from before it was executed. Any thread. */
void repl_verifier_keep(struct repl_export *exp, const void *request, const struct nfs4r_op *op);
/* For the answer that is being made in op_ctx, which goes on with the file as it is now. */
uint64_t repl_verifier_answer(struct repl_export *exp);
void repl_verifier_fini(struct repl_export *exp);
bool repl_locks_are_shared(struct repl_export *exp); /* false also while there is no engine */
enum nfs4r_status repl_lock_ask(struct repl_export *exp, struct nfs4r_op *op); /* as nfs4r_lock() */
enum nfs4r_status repl_share_ask(struct repl_export *exp, struct nfs4r_op *op); /* as nfs4r_share() */
enum nfs4r_status repl_client_begins(struct repl_export *exp, const uint64_t id[2], const char *name, const char *address, uint32_t minor_version);
enum nfs4r_status repl_client_gone(struct repl_export *exp, const uint64_t id[2]);
void repl_client_reclaimed(struct repl_export *exp, const uint64_t id[2]); /* as nfs4r_client_reclaimed() */
bool repl_clients(struct repl_export *exp, bool (*fn)(void *arg, const struct nfs4r_client_entry *k), void *arg); /* as nfs4r_clients() of this server; false: there is no engine now */
bool repl_serves(struct repl_export *exp); /* as nfs4r_serves() */
void repl_fence_over(struct repl_export *exp, uint32_t number); /* as nfs4r_fence_over() */
void repl_locks_known(struct repl_export *exp); /* as nfs4r_locks_known() */
/* Batches of a directory's names from the local copy. */
enum nfs4r_status repl_read_here(struct repl_export *exp, struct nfs4r_read *rd);
/* What a name means in the local copy. */
enum nfs4r_status repl_lookup_here(struct repl_export *exp, const struct nfs4r_oid *dir, const char *name,
				   struct nfs4r_oid *oid, uint32_t *type);

/* ---- objects (handle.c) ---- */

struct repl_obj {
	struct fsal_obj_handle handle;
	struct nfs4r_oid oid;
	struct fsal_obj_handle *sub; /* atomic; NULL until needed, or not here yet */
	struct repl_old_sub *old; /* atomic; handles of what was removed behind NFS, until the end (moved.c) */
	uint32_t moved; /* atomic: repl_export.moved when @sub was looked at last */
	uint32_t opens; /* atomic: share states of this server */
	uint32_t wrote; /* atomic flag: written since the last CLOSE */
};

static inline struct repl_obj *repl_obj(struct fsal_obj_handle *h)
{
	return container_of(h, struct repl_obj, handle);
}

/* New handle; @sub (may be NULL) is owned by it from here on. */
struct repl_obj *repl_obj_new(struct repl_export *exp, const struct nfs4r_oid *oid, object_file_type_t type,
			      struct fsal_obj_handle *sub);
/* The sub-FSAL's handle of @obj, made when needed; NULL with *st when the object is not here. */
struct fsal_obj_handle *repl_obj_sub(struct repl_export *exp, struct repl_obj *obj, fsal_status_t *st);
/*
 * An object whose file somebody removed behind NFS has another one (moved.c). The first: @sub is that of @obj, or was replaced in it. The second: before a client's open state is used, it is
 * taken from the old one. Both in a context of our layer.
 */
struct fsal_obj_handle *repl_obj_moved(struct repl_export *exp, struct repl_obj *obj, struct fsal_obj_handle *sub, fsal_status_t *st);
void repl_state_moved(struct repl_export *exp, struct repl_obj *obj, struct state_t *state);
void repl_old_subs_release(struct repl_obj *obj); /* with the object; in a context of the sub layer, or of none */
void repl_lops_moved(void *ctx, const struct nfs4r_oid *oid);
/* The sub-FSAL answered @st for @obj: if somebody removed it behind NFS, DELAY until it is back. */
fsal_status_t repl_gone_here(struct repl_export *exp, const struct nfs4r_oid *oid, fsal_status_t st);
/* Is it gone from the volume, and nobody here has it open? */
bool repl_obj_is_stale(struct repl_export *exp, struct repl_obj *obj);
/*
 * An operation answered @st. If that means that the last name is gone while the object is open here, its holders go
 * on with the local file (control 3.7): REPL_ORPHAN. The primary may know before we have applied the
 * removal: REPL_WAIT, the client has to come again. Else REPL_PLAIN: @st is the answer.
 */
enum repl_lost {
	REPL_PLAIN,
	REPL_ORPHAN,
	REPL_WAIT
};
enum repl_lost repl_obj_lost(struct repl_export *exp, struct repl_obj *obj, enum nfs4r_status st);
/* @st for Ganesha, after REPL_ORPHAN was dealt with. */
fsal_status_t repl_obj_status(enum repl_lost lost, enum nfs4r_status st);
void repl_obj_release(struct fsal_obj_handle *h);
void repl_obj_ops_init(struct fsal_obj_ops *ops);

/* Sub handle of a local handle, in a context of the sub layer. Knows sockets and devices, too. */
fsal_status_t repl_sub_open(struct repl_export *exp, const struct nfs4r_lhandle *h, struct fsal_obj_handle **out);
/*
 * The same for the engine's visits, which come back to directories (sub_cache.c): *sub is good until repl_sub_put(*out),
 * and may be in use by other threads. In a context of the sub layer.
 */
struct repl_kept;
fsal_status_t repl_sub_get(struct repl_export *exp, const struct nfs4r_lhandle *h, struct repl_kept **out,
			   struct fsal_obj_handle **sub);
void repl_sub_put(struct repl_kept *k);
void repl_sub_cache_flush(void); /* before the sub-FSAL's export goes; no visit is under way */
/* Where sockets and devices are in the local tree (places.c); any thread, never blocks. */
bool repl_needs_place(object_file_type_t type);
void repl_place_note(const struct nfs4r_lhandle *h, const struct nfs4r_lhandle *dir, const char *name); /* of one that needs it */
bool repl_place_find(const struct nfs4r_lhandle *h, struct nfs4r_lhandle *dir, char name[NFS4R_NAME_MAX + 1]); /* a hint */
void repl_places_flush(void);
/* The opposite. false: the sub-FSAL's handle is too long. */
bool repl_sub_handle_bytes(struct fsal_obj_handle *sub, struct nfs4r_lhandle *out);

fsal_status_t repl_lookup_path(struct fsal_export *e, const char *path, struct fsal_obj_handle **out,
			       struct fsal_attrlist *attrs_out);
fsal_status_t repl_create_handle(struct fsal_export *e, struct gsh_buffdesc *desc, struct fsal_obj_handle **out,
				 struct fsal_attrlist *attrs_out);
fsal_status_t repl_wire_to_host(struct fsal_export *e, fsal_digesttype_t type, struct gsh_buffdesc *desc, int flags);
fsal_status_t repl_host_to_key(struct fsal_export *e, struct gsh_buffdesc *desc);

/* ---- conversions (convert.c, acl.c) ---- */

fsal_status_t repl_fsal_status(enum nfs4r_status st);
enum nfs4r_status repl_status(fsal_status_t st);
/* Does @own, what the sub-FSAL said, tell the client more than @st, which became of it? It has words of its own (SHARE_DENIED) for what is DELAY to the
 * engine. A DELAY that became of anything else is the engine's: the object comes back (log 4.14). */
bool repl_own_words(enum nfs4r_status st, fsal_status_t own);
object_file_type_t repl_fsal_type(uint32_t type); /* NO_FILE_TYPE when not known */
uint32_t repl_type(object_file_type_t type); /* 0 when not known */
/* Caller of the operation under way, with a reference to his groups. In too many of them, or no memory: ngroups is above NFS4R_GROUPS_MAX, and the engine refuses. */
void repl_cred(struct nfs4r_cred *out);
/* An operation of the caller. It knows which client that is, so that its retry after DELAY is recognised. */
struct nfs4r_op *repl_op_new(uint32_t type);
void repl_op_free(struct nfs4r_op *op);
/* What a client wants set. An ACL that cannot travel is FBIG, or DELAY without memory; then *out has none. */
fsal_status_t repl_attrs_from_request(struct nfs4r_attrs *out, const struct fsal_attrlist *in);
/* The same back, for the sub-FSAL. The ACL, if any, is a reference that fsal_release_attrs() gives back. */
void repl_attrs_to_request(struct fsal_attrlist *out, const struct nfs4r_attrs *in);
struct timespec repl_timespec(int64_t ns);
/* Attributes that the sub-FSAL reported. */
void repl_attrs_from_sub(struct nfs4r_attrs *out, const struct fsal_attrlist *in);
/* Attributes for Ganesha: everything of @in, fileid and fsid are the volume's. */
void repl_attrs_to_fsal(struct repl_export *exp, const struct nfs4r_oid *oid, const struct nfs4r_attrs *in,
			struct fsal_attrlist *out);
/* Put version, ctime, mtime, nlink of @in over what the sub-FSAL reported in @out. */
void repl_attrs_overlay(struct repl_export *exp, const struct nfs4r_oid *oid, const struct nfs4r_attrs *in,
			struct fsal_attrlist *out);

bool repl_acl_fits(const fsal_acl_t *acl);
/* Bytes of the POSIX ACLs that FSAL_VFS makes of an encoded one, at most: of the object, and what a directory has its children inherit (0: none). False: no memory. */
bool repl_acl_bytes(const struct nfs4r_buf *buf, uint32_t *own, uint32_t *inherited);
/* One reference or NULL. */
struct nfs4r_buf *repl_acl_encode(const fsal_acl_t *acl);
fsal_acl_t *repl_acl_decode(const struct nfs4r_buf *buf);

/* ---- attributes (attrs.c) ---- */

fsal_status_t repl_getattrs(struct fsal_obj_handle *h, struct fsal_attrlist *out);
fsal_status_t repl_setattr2(struct fsal_obj_handle *h, bool bypass, struct state_t *state, struct fsal_attrlist *in);
/* From the local copy, without asking where it should be read. */
fsal_status_t repl_getattrs_local(struct repl_export *exp, struct repl_obj *obj, struct fsal_attrlist *out);
/*
 * Does this request only read, or only write, the open file @obj, which another server controls, and is asked whether it may (permission.c)? Then @out has the copy's attributes if they let it,
 * @st says what came of it, and nobody is asked. Blocks on the local disk only.
 */
bool repl_permission_of_open(struct repl_export *exp, struct repl_obj *obj, struct fsal_attrlist *out, fsal_status_t *st);
/* @in where known, else getattrs if wanted; ATTR_RDATTR_ERR as Ganesha's contract says. */
fsal_status_t repl_fill_attrs(struct repl_export *exp, struct repl_obj *obj, const struct nfs4r_attrs *in,
			      struct fsal_attrlist *out);
/* Cut a file to nothing, on the way to an open. */
fsal_status_t repl_truncate(struct repl_export *exp, struct repl_obj *obj, bool bypass, struct state_t *state);
void repl_change_info(nfs4r_version before, nfs4r_version after, struct fsal_attrlist *pre, struct fsal_attrlist *post);

/* ---- attributes that the sub-FSAL reported lately (attr_cache.c); any thread, never blocks ---- */

struct repl_attr_cache *repl_attr_cache_new(void);
void repl_attr_cache_free(struct repl_attr_cache *c);
/* Those of @oid at @version, without the volume's over them; @out keeps its request mask. false: not kept, or not all that is asked for. */
bool repl_attr_cache_get(struct repl_attr_cache *c, const struct nfs4r_oid *oid, nfs4r_version version,
			 struct fsal_attrlist *out);
/* Keep a copy. @version was read before the sub-FSAL was asked. */
void repl_attr_cache_put(struct repl_attr_cache *c, const struct nfs4r_oid *oid, nfs4r_version version,
			 struct fsal_attrlist *attrs);
/* They have changed without an update: a read, or an update that failed half-way. */
void repl_attr_cache_drop(struct repl_attr_cache *c, const struct nfs4r_oid *oid);

/* ---- names (names.c, dirops.c) ---- */

fsal_status_t repl_lookup(struct fsal_obj_handle *dir, const char *name, struct fsal_obj_handle **out,
			  struct fsal_attrlist *attrs_out);
fsal_status_t repl_readdir(struct fsal_obj_handle *dir, fsal_cookie_t *whence, void *dir_state, fsal_readdir_cb cb,
			   attrmask_t attrmask, bool *eof);
fsal_status_t repl_readlink(struct fsal_obj_handle *h, struct gsh_buffdesc *out, bool refresh);
fsal_status_t repl_mkdir(struct fsal_obj_handle *dir, const char *name, struct fsal_attrlist *in,
			 struct fsal_obj_handle **out, struct fsal_attrlist *attrs_out, struct fsal_attrlist *pre,
			 struct fsal_attrlist *post);
fsal_status_t repl_mknode(struct fsal_obj_handle *dir, const char *name, object_file_type_t type,
			  struct fsal_attrlist *in, struct fsal_obj_handle **out, struct fsal_attrlist *attrs_out,
			  struct fsal_attrlist *pre, struct fsal_attrlist *post);
fsal_status_t repl_symlink(struct fsal_obj_handle *dir, const char *name, const char *target,
			   struct fsal_attrlist *in, struct fsal_obj_handle **out, struct fsal_attrlist *attrs_out,
			   struct fsal_attrlist *pre, struct fsal_attrlist *post);
fsal_status_t repl_link(struct fsal_obj_handle *h, struct fsal_obj_handle *dir, const char *name,
			struct fsal_attrlist *pre, struct fsal_attrlist *post);
fsal_status_t repl_rename(struct fsal_obj_handle *h, struct fsal_obj_handle *olddir, const char *oldname,
			  struct fsal_obj_handle *newdir, const char *newname, struct fsal_attrlist *oldpre,
			  struct fsal_attrlist *oldpost, struct fsal_attrlist *newpre, struct fsal_attrlist *newpost);
fsal_status_t repl_unlink(struct fsal_obj_handle *dir, struct fsal_obj_handle *h, const char *name,
			  struct fsal_attrlist *pre, struct fsal_attrlist *post);

/* ---- files (open.c, io.c) ---- */

fsal_status_t repl_open2(struct fsal_obj_handle *h, struct state_t *state, fsal_openflags_t flags,
			 enum fsal_create_mode mode, const char *name, struct fsal_attrlist *in,
			 fsal_verifier_t verifier, struct fsal_obj_handle **out, struct fsal_attrlist *attrs_out,
			 bool *caller_perm_check, struct fsal_attrlist *pre, struct fsal_attrlist *post);
/* @st, which came of opening @obj or of asking for its attributes on the way; DELAY if it has gone since the OPEN under way looked up its name. */
fsal_status_t repl_opened_name_status(struct repl_obj *obj, fsal_status_t st);
bool repl_check_verifier(struct fsal_obj_handle *h, fsal_verifier_t verifier);
fsal_openflags_t repl_status2(struct fsal_obj_handle *h, struct state_t *state);
fsal_status_t repl_reopen2(struct fsal_obj_handle *h, struct state_t *state, fsal_openflags_t flags);
fsal_status_t repl_close(struct fsal_obj_handle *h);
fsal_status_t repl_close2(struct fsal_obj_handle *h, struct state_t *state);
void repl_read2(struct fsal_obj_handle *h, bool bypass, fsal_async_cb done, struct fsal_io_arg *arg, void *caller);
void repl_write2(struct fsal_obj_handle *h, bool bypass, fsal_async_cb done, struct fsal_io_arg *arg, void *caller);
fsal_status_t repl_commit2(struct fsal_obj_handle *h, off_t off, size_t len);
fsal_status_t repl_seek2(struct fsal_obj_handle *h, struct state_t *state, struct io_info *info);
fsal_status_t repl_io_advise2(struct fsal_obj_handle *h, struct state_t *state, struct io_hints *hints);
fsal_status_t repl_fallocate(struct fsal_obj_handle *h, struct state_t *state, uint64_t off, uint64_t len, bool allocate);

/*
 * What the volume has heard of an open state, in a volume where opens exclude each other at all servers (shares.c). In any other it is nothing, and all of this does nothing.
 * Any thread with an op_ctx. repl_share_raise() may wait for other servers, about as long as an update.
 */
struct repl_share {
	uint32_t access, deny; /* NFS4R_SHARE_READ, NFS4R_SHARE_WRITE; no access: nothing */
	uint32_t engine; /* which engine has heard it (repl_export.engines) */
};
/* Before the sub-FSAL hears of it. Adds to @has what @flags have and it does not. SHARE_DENIED, DELAY, STALE: nothing was added. */
fsal_status_t repl_share_raise(struct repl_export *exp, const struct nfs4r_oid *oid, fsal_openflags_t flags, struct repl_share *has);
/* When the sub-FSAL has. Takes from @has what @now does not have; zeroes: the state is closed. Never fails. */
void repl_share_lower(struct repl_export *exp, const struct nfs4r_oid *oid, const struct repl_share *now, struct repl_share *has);
struct repl_share repl_share_of(const struct repl_export *exp, fsal_openflags_t flags);
/* All open states of which the present engine has not heard: it hears of them now. May wait for other servers, until @until_ms (repl_locks_now_ms()) at the latest. Without an op_ctx. */
void repl_shares_make_known(struct repl_export *exp, uint64_t until_ms);

/* Open states of this server (state_table.c). */
struct repl_open_state {
	fsal_openflags_t flags;
	bool pending; /* opened while the object was not here, or before it got another file; the sub-FSAL has not seen it */
	const void *sub; /* the sub-FSAL's handle that it is open with */
	struct nfs4r_oid oid;
	struct repl_share share;
};

/* Remember a state (or its new flags); true if it was known, then *old is what it was. */
bool repl_state_set(const struct state_t *state, const struct repl_open_state *now, struct repl_open_state *old);
bool repl_state_get(const struct state_t *state, struct repl_open_state *out);
bool repl_state_forget(const struct state_t *state, struct repl_open_state *old);
/* False: there is none of that address that @was, and nothing was set. */
bool repl_state_set_share(const struct state_t *state, const struct repl_open_state *was, const struct repl_share *share);
/* @fn must not ask for states. What comes or goes meanwhile may be left out. */
void repl_states_walk(void (*fn)(void *arg, const struct state_t *state, const struct repl_open_state *open), void *arg);

/* OPEN and CLOSE of one open state at the same time (close_race.c). */

/* If this request closes something, that comes next. True: it shall come again. */
bool repl_close_ahead(void);
void repl_close_off(void); /* it does not come */
/* The OPEN that found this state shall come again. May sleep for a millisecond or two. */
bool repl_open_comes_early(const struct state_t *state);
void repl_open_begun(const struct state_t *state); /* the first one of this state */
void repl_open_over(void); /* if this request has opened something, that is answered */
void repl_open_failed(const struct state_t *state); /* it will not get its number */
void repl_close_over(const struct state_t *state);

/* READs of 0 bytes (read_nothing.c); on the thread of the request, never block. */

void repl_read_nothing_ahead(void); /* the operation under way makes an object of ours the current one */
bool repl_read_nothing(void); /* the READ under way asks for 0 bytes, and for one in place of that */

/* ---- extended attributes (xattrs.c; the sub-FSAL's side: sub_xattrs.c, names with their prefix) ---- */

fsal_status_t repl_getxattrs(struct fsal_obj_handle *h, xattrkey4 *name, xattrvalue4 *value);
fsal_status_t repl_setxattrs(struct fsal_obj_handle *h, setxattr_option4 option, xattrkey4 *name, xattrvalue4 *value);
fsal_status_t repl_removexattrs(struct fsal_obj_handle *h, xattrkey4 *name);
fsal_status_t repl_listxattrs(struct fsal_obj_handle *h, count4 max, nfs_cookie4 *cookie, bool_t *eof, xattrlist4 *names);

fsal_status_t repl_sub_getxattr(struct fsal_obj_handle *sub, const char *name, void *val, uint32_t *len);
fsal_status_t repl_sub_setxattr(struct fsal_obj_handle *sub, const char *name, const void *val, uint32_t len, uint32_t flags);
fsal_status_t repl_sub_removexattr(struct fsal_obj_handle *sub, const char *name);
fsal_status_t repl_sub_listxattr(struct fsal_obj_handle *sub, char *names, uint32_t *len);

/*
 * ---- objects of FSAL_VFS by the kernel's handles (sub_raw.c) ----
 * In a context of the sub layer; as root. They block on the local disk. -ENOTSUP, ERR_FSAL_NOTSUPP: not for this sub-FSAL, or not on the
 * exported file system (repl_raw_can() says so beforehand).
 */
bool repl_raw_can(const struct fsal_obj_handle *sub);
fsal_status_t repl_raw_getattr(struct fsal_obj_handle *sub, struct nfs4r_attrs *out);
/* MODE (not of a symbolic link), UID, GID, ATIME and MTIME by mask. */
fsal_status_t repl_raw_setattr(struct fsal_obj_handle *sub, const struct nfs4r_attrs *a);
fsal_status_t repl_raw_getxattr(struct fsal_obj_handle *sub, const char *name, void *val, uint32_t *len);
fsal_status_t repl_raw_setxattr(struct fsal_obj_handle *sub, const char *name, const void *val, uint32_t len, uint32_t flags);
fsal_status_t repl_raw_removexattr(struct fsal_obj_handle *sub, const char *name);
fsal_status_t repl_raw_listxattr(struct fsal_obj_handle *sub, char *names, uint32_t *len); /* all, also the file system's own */
fsal_status_t repl_raw_readdir(struct fsal_obj_handle *sub, bool (*fn)(void *arg, const char *name), void *arg);
fsal_status_t repl_raw_is_mount(struct fsal_obj_handle *dir, const char *name, bool *yes);
fsal_status_t repl_raw_make_mutable(struct fsal_obj_handle *sub, uint32_t *had); /* NFS4R_WAS_* */

/* ---- local object operations over the sub-FSAL (lops_*.c) ---- */

extern const struct nfs4r_lops repl_lops;

/* An engine thread inside the sub-FSAL, with the object it asked for. */
struct repl_visit {
	struct repl_context ctx;
	struct repl_export *exp;
	struct repl_kept *kept; /* owns @sub, or NULL */
	struct fsal_obj_handle *sub;
	enum nfs4r_status status;
};

/* @obj NULL: no object. On error nothing has to be left. */
enum nfs4r_status repl_visit_enter(struct repl_visit *v, void *ctx, const struct nfs4r_lhandle *obj,
				   const struct nfs4r_cred *cred);
void repl_visit_leave(struct repl_visit *v);
/* Attributes of a sub handle, with its ACL. In a context of the sub layer. */
enum nfs4r_status repl_sub_getattr(struct fsal_obj_handle *sub, struct nfs4r_attrs *out);
/*
 * What a client's operation with its open state and the engine's without one do in the same way. In a context of the sub layer, with the credentials that count. @state may be NULL.
 * Set what the mask says; @cred NULL: the mode is then exactly that.
 */
fsal_status_t repl_sub_setattr(struct fsal_obj_handle *sub, bool bypass, struct state_t *state, const struct nfs4r_attrs *attrs, const struct nfs4r_cred *cred);
/* An object of attrs->type that is not there yet. Its handle is the caller's; a file is open with @flags, under @state. *post: what came of the attributes. */
struct repl_make {
	const char *name;
	const struct nfs4r_attrs *attrs;
	const char *linktext;
	struct state_t *state;
	fsal_openflags_t flags;
};
fsal_status_t repl_sub_make(struct fsal_obj_handle *dir, const struct repl_make *m, struct fsal_obj_handle **out, struct nfs4r_attrs *post);

enum nfs4r_status repl_lops_root(void *ctx, struct nfs4r_lhandle *out);
enum nfs4r_status repl_lops_lookup(void *ctx, const struct nfs4r_lhandle *dir, const char *name, struct nfs4r_lhandle *out);
enum nfs4r_status repl_lops_create(void *ctx, const struct nfs4r_lhandle *dir, const char *name,
				   const struct nfs4r_attrs *attrs, const char *linktext, const struct nfs4r_cred *cred,
				   struct nfs4r_lhandle *out, struct nfs4r_attrs *post);
enum nfs4r_status repl_lops_link(void *ctx, const struct nfs4r_lhandle *obj, const struct nfs4r_lhandle *dir,
				 const char *name, const struct nfs4r_cred *cred);
enum nfs4r_status repl_lops_remove(void *ctx, const struct nfs4r_lhandle *dir, const char *name,
				   const struct nfs4r_lhandle *obj, const struct nfs4r_cred *cred);
enum nfs4r_status repl_lops_rename(void *ctx, const struct nfs4r_lhandle *obj, const struct nfs4r_lhandle *dir,
				   const char *name, const struct nfs4r_lhandle *dir2, const char *name2,
				   const struct nfs4r_cred *cred);
enum nfs4r_status repl_lops_readdir(void *ctx, const struct nfs4r_lhandle *dir,
				    bool (*fn)(void *arg, const char *name), void *arg);
enum nfs4r_status repl_lops_readlink(void *ctx, const struct nfs4r_lhandle *obj, char *text, uint32_t *len);
enum nfs4r_status repl_lops_write(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, const void *bytes,
				  uint32_t len, bool stable, const struct nfs4r_cred *cred);
enum nfs4r_status repl_lops_read(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, void *bytes, uint32_t *len, bool *eof);
enum nfs4r_status repl_lops_allocate(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, uint64_t len, bool punch,
				     const struct nfs4r_cred *cred);
enum nfs4r_status repl_lops_may(void *ctx, const struct nfs4r_lhandle *obj, struct nfs4r_op *op);
enum nfs4r_status repl_lops_commit(void *ctx, const struct nfs4r_lhandle *obj);
enum nfs4r_status repl_lops_seek(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, bool hole, uint64_t *result, bool *eof);
int repl_lops_sync_all(void *ctx);
int repl_lops_dir_fd(void *ctx);

/* A whole synchronous write or read of a sub handle; *len in: wanted, out: done. In a context of the sub layer. */
fsal_status_t repl_sub_write(struct fsal_obj_handle *sub, bool bypass, struct state_t *state, uint64_t off,
			     const struct iovec *iov, int iovcnt, size_t *len, bool *stable);
fsal_status_t repl_sub_read(struct fsal_obj_handle *sub, uint64_t off, void *bytes, size_t *len, bool *eof);

/* Who may do what through this export, as text: equal texts, equal rights. What does not fit is in a checksum at its end. (policy.c) */
void repl_export_policy(struct gsh_export *export, char *out, size_t len);

/* Which users names of Kerberos are (identity.c). @exp's engine is told of the caller of the request under way, if that one has a name. */
void repl_identity_note(struct repl_export *exp);
/* How this server maps names, as text: equal texts, equal rules. */
void repl_identity_conf(const struct gsh_export *export, char *out, size_t len);
/* From now on the log says why a client's ticket was refused, and what to do (kerberos.c). */
void repl_kerberos_watch(void);
void repl_kerberos_unwatch(void); /* before the module goes */
const char *repl_kerberos_remedy(const char *why); /* what GSSAPI said */

/* ---- byte-range locks (locks.c); its thread, between start and end, tells waiters that they may ask again ---- */

/* Lowers what this server may say that it knows, to what Ganesha lets it keep, and says so in the log. */
void repl_locks_limit_protocol(struct nfs4r_versions *protocol);
bool repl_locks_init(struct repl_export *exp, uint32_t max); /* at most so many, with those that wait. False: no memory */
bool repl_locks_start(struct repl_export *exp);
void repl_locks_end(struct repl_export *exp); /* nobody is told any more; blocks for the call that is under way */
void repl_locks_fini(struct repl_export *exp);
/* As nfs4r_locks_walk(); what @fn gets is how long ago something was granted, or asked for. @fn must not ask for locks. */
void repl_locks_walk(struct repl_export *exp, const struct nfs4r_oid *oid,
		     void (*fn)(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t age_ms), void *arg);
void repl_lops_count_locks(void *ctx, struct nfs4r_locks_count *out);
/* What the client calls itself, on one line, and where it is; either may be empty. lock_report.c */
void repl_client_words(const nfs_client_id_t *client, char *name, size_t name_len, char *address, size_t address_len);
uint32_t repl_lops_locks(void *ctx, const struct nfs4r_oid *oid, struct nfs4r_lock_info *out, uint32_t max); /* lock_report.c */
void repl_locks_engine_anew(struct repl_export *exp); /* the engine is another one than before. May wait for other servers, a few seconds */
void repl_lops_lock_ready(void *ctx, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock); /* locks_shared.c, as the next */
void repl_lops_lock_again(void *ctx, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock);
void repl_lops_fence(void *ctx, uint32_t number, uint32_t nlost);
void repl_lops_locks_shared(void *ctx);
void repl_locks_open_unknown(struct repl_export *exp); /* there is an open of which the volume has not heard, since it began before opens held everywhere: it hears of it now */
fsal_status_t repl_lock_op2(struct fsal_obj_handle *h, struct state_t *state, void *owner, fsal_lock_op_t op,
			    fsal_lock_param_t *request, fsal_lock_param_t *conflict);

/* ---- clients that have locks which hold at all servers (lock_clients.c) ---- */

void repl_lock_clients_init(struct repl_export *exp);
void repl_lock_clients_fini(struct repl_export *exp);
struct nfs4r_lock_owner repl_lock_owner(const state_owner_t *owner); /* its name in the volume */
/* Calls @fn with Ganesha's confirmed client of that number, which stays meanwhile. False: there is none. @fn must not block, nor look into Ganesha's tables. */
bool repl_with_client(uint64_t number, void (*fn)(const nfs_client_id_t *client, void *arg), void *arg);
/* Before a lock of @owner, whose client has @name in the volume: DELAY, not yet. Blocks as long as an update. */
enum nfs4r_status repl_lock_client_begins(struct repl_export *exp, const state_owner_t *owner, const uint64_t name[2]);
/* Before a reclaim, as the one before. DENIED: the client has nothing to reclaim any more. OK: the volume decides, as it knows who was listed. Does not block. */
enum nfs4r_status repl_lock_client_reclaims(struct repl_export *exp, const state_owner_t *owner, const uint64_t name[2]);
void repl_lock_client_is_back(struct repl_export *exp, const state_owner_t *owner, const uint64_t name[2]); /* its reclaim was granted. Does not block */
enum repl_given_back {
	REPL_GIVEN_BACK = 1,
	REPL_GIVEN_BACK_LATER, /* the client has lost its lease: look() gives it back, when the volume has heard that */
	REPL_RETAINED_FOR_RECLAIM, /* the client is fenced: for the volume it keeps its locks until it has reclaimed them */
};
/* Ganesha gives back @what. Does not block. */
enum repl_given_back repl_lock_client_gives_back(struct repl_export *exp, const state_owner_t *owner, const struct nfs4r_oid *oid, const struct nfs4r_lock *what);
/* The volume hears of those that are gone, and of those that have reclaimed. Returns in how many ms to look again. Blocks as long as an update. Only the thread of locks.c. */
uint64_t repl_lock_clients_look(struct repl_export *exp);
void repl_lock_clients_expect_all(struct repl_export *exp); /* every client of the table has to come back */
void repl_lock_clients_have_all(struct repl_export *exp); /* another engine has heard of all locks: nobody has to reclaim any */
/* The name of the client with that number of Ganesha's, which begins if it has not yet. NOENT: there is no such client. Else as nfs4r_client_begins(). */
enum nfs4r_status repl_lock_client_known(struct repl_export *exp, uint64_t number, uint64_t name[2]);
uint64_t repl_lock_client_number(struct repl_export *exp, const uint64_t name[2]); /* the opposite; 0: not known */

/* ---- Ganesha's grace period, and what makes its clients begin anew (lock_grace.c); on the thread of locks.c ---- */

/* Ends the grace period of the daemon, where the volume has its own. True: nothing is left to do. */
bool repl_grace_end(struct repl_export *exp);
void repl_grace_fence(struct repl_export *exp); /* all clients of the daemon lose their sessions, and reclaim. Blocks for the close of what they have open */
/* Why this Ganesha cannot do that, and what to write instead; NULL: it can. */
const char *repl_grace_unfit(void);

/* ---- upcalls (upcalls.c) ---- */

/* What the sub-FSAL may call; keys become OIDs on the way up. */
void repl_upcalls_init(struct repl_export *exp, const struct fsal_up_vector *super);
void repl_upcalls_fini(struct repl_export *exp);
void repl_lops_changed(void *ctx, const struct nfs4r_oid *oid, bool is_dir);

#endif
