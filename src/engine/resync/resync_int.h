/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Inside of resync/: a repair (log 8.3, 8.5; transfer.c tells the whole of it), and what a crash of the machine put in doubt (crash_check.c).
 *
 * All of a repair runs on its one thread, but for what is fetched: each thread of resync_crew() has a struct repair of its own for that, with the same objects.
 */
#ifndef NFS4R_ENGINE_RESYNC_INT_H
#define NFS4R_ENGINE_RESYNC_INT_H

#include "engine/resync/resync.h"

/* ---- a repair ---- */
struct repair_obj {
	struct nfs4r_oid oid;
	bool undone; /* an entry beyond a seal touched it */
	bool dead; /* at the source */
	bool gone; /* what the store's handle led to (adopt_tree.c); the handle may lead to another object's file by now */
	struct nfs4r_lhandle *found; /* what is taken for it (adopt_tree.c); NULL: nothing */
	bool made; /* crash_check.c: its file was not there, and is empty */
	bool inexact; /* at the source, and how (log 7.5) */
	struct nfs4r_fuzzy_object left; /* or `later` in it */
};

struct repair {
	struct nfs4r_engine *eng;
	uint64_t generation; /* a later one took its place if it is not that of eng->resync.repair */
	nfs4r_server_id from;
	bool all; /* the positions become those of the source, too */
	bool list; /* the objects are given: they are inexact, and those that are so at the source, too, or of another version there, stay as they are */
	bool everything; /* every object is compared, not only those that entries name */
	uint32_t nseals;
	struct nfs4r_seal seals[NFS4R_SERVERS_MAX];
	struct repair_obj *objs; /* ascending OID once collected */
	uint32_t n, cap;
	struct nfs4r_client_entry *clients; /* of all servers, as the source lists them (locks 7) */
	uint32_t nclients;
	struct nfs4r_store_positions positions; /* of the source when it began; `everything` only */
	bool doubt; /* crash_check.c: no other repair takes its place, and servers that are in doubt themselves are asked */
	bool strays; /* what is in a directory and not in the store goes to the hidden one */
	bool importing; /* ... unless it may be still to be taken in: an import was interrupted, and nothing of the volume has the name */
	struct repair_range {
		uint64_t off, len;
	} * keep; /* bytes of the object under way that are not fetched */
	uint32_t nkeep, keep_cap;
	bool sized; /* the size is that of the source, also when bytes are kept */
	char **keep_xattrs; /* nor these extended attributes */
	uint32_t nkeep_xattrs;
	enum nfs4r_status here; /* crash_check.c: the last error of the local file system */
	uint32_t patience_ms; /* with one question to the source; 0: the usual */
	bool gone; /* self_heal.c: the object of resync_refresh() is not here, whatever its handle leads to by now: it is made in the hidden directory */
	struct nfs4r_lhandle took_handle; /* out: of resync_refresh(), the local handle of that object */
	nfs4r_version took_version; /* ... and the version that its content is of */
	char saved[1200]; /* where conflicts were saved; empty: nothing was undone */
	char why[NFS4R_WHY]; /* what went wrong, for the log */
};

/* Stop: the engine ends or another repair has begun. */
bool resync_over(const struct repair *r);
/* Set r->why and give back @st. */
enum nfs4r_status resync_fails(struct repair *r, enum nfs4r_status st, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
struct repair_obj *resync_add(struct repair *r, const struct nfs4r_oid *oid, bool undone); /* NULL: no memory */

#define REPAIR_CREW 64 /* an object costs three or four round trips, so much of the time is waiting */
/* @work(@arg) on this thread and others, at most @most and REPAIR_CREW altogether; back when all are. */
void resync_crew(void *(*work)(void *), void *arg, uint32_t most);
void resync_progress(struct repair *r, uint64_t objects, uint64_t bytes); /* added to what is done */

/* ---- fetch.c ---- */
/* r->clients, if the volume has such lists. */
enum nfs4r_status resync_clients(struct repair *r);

/* ---- conflicts.c: what is undone ---- */
/* Objects of all entries beyond the seals -> objs; r->everything if some entries are no longer here. */
enum nfs4r_status resync_collect(struct repair *r);
/* The list of what is undone and the files as they are, under the conflicts directory and on the disk; once for each set of entries. */
enum nfs4r_status resync_save(struct repair *r);

/* ---- fetch.c: what the source has ---- */
/* Every object that is not equal at the source -> objs; positions. */
enum nfs4r_status resync_compare(struct repair *r);
/* Make the object's content equal and install its row and names; or dead. A new one lies in the hidden directory. */
enum nfs4r_status resync_object(struct repair *r, struct repair_obj *o);

/* The object among the first @n of objs, which are sorted; NULL: it is not. */
struct repair_obj *resync_find(struct repair *r, const struct nfs4r_oid *oid, uint32_t n);
/* The names of a directory at the source, any version of it. *names is the caller's to free, whatever the status. */
enum nfs4r_status resync_names(struct repair *r, const struct nfs4r_oid *oid, struct nfs4r_dirent **names, uint32_t *n);

/* Do not fetch these bytes of the next object. False: no memory. */
bool resync_keep(struct repair *r, uint64_t off, uint64_t len);
/*
 * Content and attributes of an object, but not its row and names, from r->from, if that has it with version @at_least and in no doubt; *done says whether. *size: of the file
 * there. If bytes are kept, the length here stays as it is.
 */
enum nfs4r_status resync_refresh(struct repair *r, const struct nfs4r_oid *oid, nfs4r_version at_least, uint64_t *size, bool *done);

/* ---- adopt_tree.c: what is there, of what the store knows and beside it ---- */
enum nfs4r_status resync_adopt(struct repair *r);

/* ---- names.c: the names ---- */
enum nfs4r_status resync_tree(struct repair *r);

/* ---- what a crash put in doubt ---- */
struct touch { /* an entry with a part for the object, or a mark (lsn 0) */
	struct nfs4r_oid oid;
	nfs4r_version before, after; /* the entry's; of a mark 0 */
	nfs4r_server_id log;
	nfs4r_lsn lsn;
};

struct touches { /* once sorted: ascending OID, then version */
	struct touch *v;
	size_t n, cap;
};

struct doubt {
	bool machine; /* it crashed; else only updates behind a hole count for nothing (log 4.7), and of those that were being applied a part may be there (log 4.5) */
	bool unsynced; /* or is taken for crashed: the files could not be synced (log 4.8), and memory may have what the disk lacks */
	nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1]; /* of the last checkpoint */
	struct touches since; /* the last checkpoint */
	pthread_mutex_t history_lock;
	bool history_read;
	struct touches history; /* all that the logs have about objects in doubt, also from before the checkpoint */
	bool collected; /* since, and the objects of the repair */
	_Atomic uint64_t said_ms; /* that something cannot be written; 0: never */
	struct repair repair; /* its objs: each object in doubt once */
};

/* ---- crash_entries.c: what the logs say ---- */
bool resync_touches_add(struct touches *t, const struct touch *touch); /* false: no memory */
void resync_touches_sort(struct touches *t);
/* Place of the first touch of an object, or of the next object if it has none. */
size_t resync_touches_first(const struct touches *t, const struct nfs4r_oid *oid);
/* Every part of the entries of @log after @from, up to @until; of the objects of @only (NULL: all), which are sorted. False: no memory. */
bool resync_touches_of_log(struct touches *t, struct nfs4r_engine *eng, nfs4r_server_id log, nfs4r_lsn from, nfs4r_lsn until, struct repair *only);
/*
 * The entries that touched an object, by ascending version, one by one: begin with *i = resync_touches_first(). NULL: no more. One reference to the caller, and *part is that of
 * the object.
 */
struct nfs4r_entry *resync_touches_next_entry(const struct doubt *d, const struct touches *t, const struct nfs4r_oid *oid, size_t *i, struct nfs4r_part **part);
/* Do entries lead from version @from, without a gap, to @to? */
bool resync_touches_lead(const struct touches *t, const struct nfs4r_oid *oid, nfs4r_version from, nfs4r_version to);
/* The lowest version from where they do. 0: the object was made by the first of them. */
nfs4r_version resync_touches_begin(const struct touches *t, const struct nfs4r_oid *oid, nfs4r_version to);
/* d->history; it is read when somebody asks. NULL: no memory. */
const struct touches *resync_crash_history(struct doubt *d);

/* ---- crash_plan.c: what entries say about the bytes of a file ---- */
struct ranges {
	struct repair_range *v;
	uint32_t n, cap;
};

struct plan {
	struct ranges own; /* written: what is here stays */
	struct ranges none; /* freed, and not written after that */
	struct ranges wrote; /* as `own`, also if it was freed after that */
	bool set; /* the size was set */
	uint64_t limit; /* below, and in none of the ranges: as it was before; from here on there is nothing but what was written */
	char **xattrs; /* names that were set or removed; what is here stays, but for those in `gone` */
	bool *gone;
	bool made; /* here, by the first of the entries: it has none but these */
	uint32_t nxattrs, xattrs_cap;
	uint64_t size, most; /* the file is at least that long; @set: at most that; else: @most is the end of what was written */
};

/* By entries with versions above @from, up to @to. False: no memory. resync_plan_fini() in any case. */
bool resync_plan_make(struct plan *p, const struct doubt *d, const struct touches *t, const struct nfs4r_oid *oid, nfs4r_version from, nfs4r_version to);
void resync_plan_fini(struct plan *p);
int resync_by_offset(const void *a, const void *b); /* of two struct repair_range, for qsort() */
/* The file was so long before these entries. */
void resync_plan_was_long(struct plan *p, uint64_t size);
/* What is not as it was before these entries is kept from being fetched, as long as there is the plan. */
bool resync_plan_keep(const struct plan *p, struct repair *r);
/* Length, and nothing where nothing is; extended attributes that were removed. */
enum nfs4r_status resync_plan_carry_out(const struct plan *p, struct nfs4r_engine *eng, const struct nfs4r_oid *oid);

/* Attributes of entries that made versions above @newer_than: their values are in the journal. */
enum nfs4r_status resync_crash_set_attrs(struct doubt *d, const struct touches *t, const struct nfs4r_oid *oid, nfs4r_version newer_than);
/* Objects and names are there again, d->repair.objs are those in doubt. Or not, for that reason (d->repair.why may say more): it may be tried again, and goes on where it failed. */
enum nfs4r_status resync_crash_restore(struct doubt *d);

#endif
