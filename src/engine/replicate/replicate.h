/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Entries of logs: to other servers, and from them into the exported directory. */
#ifndef NFS4R_ENGINE_REPLICATE_H
#define NFS4R_ENGINE_REPLICATE_H

#include "engine/runtime/runtime.h"

/* ---- sender.c ---- */
struct distributor *replicate_sender_create(struct nfs4r_engine *eng);
void replicate_sender_serve(struct distributor *d, nfs4r_servers peers); /* to these, too, from now on. Any thread */
void replicate_sender_begin(struct distributor *d); /* nothing is sent before: it may have to be read from the local files */
void replicate_sender_stop(struct distributor *d);
void replicate_sender_destroy(struct distributor *d);
void replicate_sender_keep(struct distributor *d, struct nfs4r_entry *e); /* newest own entry, while it may be sent soon */
void replicate_sender_forget(struct distributor *d, nfs4r_lsn until); /* everybody has the own log up to here */
void replicate_sender_queue(struct distributor *d, nfs4r_server_id to, nfs4r_server_id log, nfs4r_lsn from, nfs4r_lsn until);
/* Entries for @to are queued here, or on the wire. Transport's thread only. */
bool replicate_sender_on_its_way(struct distributor *d, nfs4r_server_id to);
/* Is entry @lsn of the own log among those that were queued for @to over this connection? Any thread. */
bool replicate_sender_was_queued(struct distributor *d, nfs4r_server_id to, nfs4r_lsn lsn);
/* The newest positions for @to, with what goes there next. @msg is copied. */
void replicate_sender_positions(struct distributor *d, nfs4r_server_id to, const struct nfs4r_msg *msg);
void replicate_sender_reset(struct distributor *d, nfs4r_server_id peer); /* connection gone: forget what is queued */
uint64_t replicate_sender_payload_bytes(struct distributor *d);

/* ---- applier.c ---- */
void replicate_apply_begin(struct nfs4r_engine *eng, const struct nfs4r_action *a); /* ACT_APPLY. eng->lock held */
void replicate_apply_drop(struct nfs4r_engine *eng, void *arg); /* a task that never runs */
enum nfs4r_status replicate_apply_entry(struct nfs4r_engine *eng, struct nfs4r_entry *e, uint32_t mask, bool aside);
/* What has the name is taken for what @p made before a crash: of its type, without bytes, and no other object. EXIST: it is something else. */
enum nfs4r_status replicate_made_before(struct nfs4r_engine *eng, const struct nfs4r_part *p, const struct nfs4r_lhandle *dirh, const char *name,
					struct nfs4r_lhandle *made);

/* ---- staging_dir.c ---- */
#define STAGING_NAME ".nfs4r-hold"
#define STAGING_NAME_MAX 32
void replicate_staging_name(struct nfs4r_engine *eng, char out[STAGING_NAME_MAX]); /* one that the volume does not use itself */
bool replicate_staging_is_name(const char *name); /* of the hidden directory, in the exported one */
/* Where an object lies that waits in the hidden directory: @name there, and *dirh. False: it does not. */
bool replicate_staging_has(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, const struct nfs4r_lhandle *h, struct nfs4r_lhandle *dirh, char name[NFS4R_OID_STRLEN]);
/* Log 4.13: the entry is applied without its names. What it makes, or moves, waits in the hidden directory. */
enum nfs4r_status replicate_staging_aside(struct nfs4r_engine *eng, struct nfs4r_entry *e, uint32_t mask);
bool replicate_staging_is_partial(const struct nfs4r_entry *e, uint32_t mask); /* names, and not all parts apply: replicate_staging_apply() */
enum nfs4r_status replicate_staging_apply(struct nfs4r_engine *eng, struct nfs4r_entry *e, uint32_t mask);
/* Steps of a repair; all find their work done when they are made again. */
enum nfs4r_status replicate_staging_find(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct nfs4r_lhandle *out); /* @oid NULL: the directory itself */
enum nfs4r_status replicate_staging_make(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, const struct nfs4r_attrs *attrs, const char *linktext,
					 struct nfs4r_lhandle *out);
enum nfs4r_status replicate_staging_drop(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
enum nfs4r_status replicate_staging_park(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_lhandle *h,
					 const struct nfs4r_oid *oid);
/* Park what @name means, unless it is @want (may be NULL). What is not the volume's stays, unless @want needs the place: then it becomes a stray. */
enum nfs4r_status replicate_staging_clear(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_lhandle *want);
/* What has the name, and is no object of the volume, moves to the hidden directory, for people. */
enum nfs4r_status replicate_staging_stray(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name);
/* Give the object the name, which is free. A directory that is not in the hidden one stays where it is. */
enum nfs4r_status replicate_staging_place(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_oid *oid,
					  const struct nfs4r_lhandle *h);
bool replicate_staging_is_in(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, const struct nfs4r_oid *oid); /* has it a name in @dir? */
/* Is what has the name in the hidden directory, @dirh, what a repair that was broken off made for the object, and the store never heard of? */
bool replicate_staging_is_orphan(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, struct nfs4r_oid *oid);
void replicate_staging_tidy(struct nfs4r_engine *eng); /* away with it if it is empty */
void replicate_staging_expect(struct nfs4r_engine *eng); /* the caller is about to use the name of the hidden directory; replicate_staging_look() follows */
void replicate_staging_look(struct nfs4r_engine *eng); /* at the start: is it there? */

/* ---- foreign_names.c; any thread that may block on the local disk, under the update locks of the directories ---- */
bool replicate_way_leads_to(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_lhandle *h);
/* What has the name on the disk moves aside, unless it is @may (NULL, or len 0: nothing may). OK: the name is free, or leads to @may. */
enum nfs4r_status replicate_way_clear(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_lhandle *may);
/* An own update is about to be executed. NOENT: a name that it takes away leads to something else on the disk, or to nothing. */
enum nfs4r_status replicate_way_before(struct nfs4r_engine *eng, const struct nfs4r_op *op, const struct nfs4r_exec *x);
/* The update of @e failed with @st, EXIST or NOTEMPTY. True: what was in its way has moved, try it again. */
bool replicate_way_make(struct nfs4r_engine *eng, const struct nfs4r_entry *e, enum nfs4r_status st);

#endif
