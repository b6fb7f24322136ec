/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a crash of the machine put in doubt: shared by crash_check.c, which tells the whole of it, and crash_*.c. */
#ifndef NFS4R_ENGINE_DOUBT_INT_H
#define NFS4R_ENGINE_DOUBT_INT_H

#include "engine/resync/transfer_int.h"

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
	bool machine; /* it crashed; else only updates behind a hole count for nothing (log 4.7), and of those that were being applied a part may be there (4.5) */
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
bool touches_add(struct touches *t, const struct touch *touch); /* false: no memory */
void touches_sort(struct touches *t);
/* Place of the first touch of an object, or of the next object if it has none. */
size_t touches_first(const struct touches *t, const struct nfs4r_oid *oid);
/* Every part of the entries of @log after @from, up to @until; of the objects of @only (NULL: all), which are sorted. False: no memory. */
bool touches_of_log(struct touches *t, struct nfs4r_engine *eng, nfs4r_server_id log, nfs4r_lsn from, nfs4r_lsn until, struct repair *only);
/*
 * The entries that touched an object, by ascending version, one by one: begin with *i = touches_first(). NULL: no more. One reference to the caller, and *part is that of
 * the object.
 */
struct nfs4r_entry *touches_next_entry(const struct doubt *d, const struct touches *t, const struct nfs4r_oid *oid, size_t *i, struct nfs4r_part **part);
/* Do entries lead from version @from, without a gap, to @to? */
bool touches_lead(const struct touches *t, const struct nfs4r_oid *oid, nfs4r_version from, nfs4r_version to);
/* The lowest version from where they do. 0: the object was made by the first of them. */
nfs4r_version touches_begin(const struct touches *t, const struct nfs4r_oid *oid, nfs4r_version to);
/* d->history; it is read when somebody asks. NULL: no memory. */
const struct touches *doubt_history(struct doubt *d);

/* ---- crash_plan.c: what entries say about the bytes of a file ---- */
struct ranges {
	struct repair_range *v;
	uint32_t n, cap;
};

struct plan {
	struct ranges own;  /* written: what is here stays */
	struct ranges none; /* freed, and not written after that */
	struct ranges wrote; /* as `own`, also if it was freed after that */
	bool set;	    /* the size was set */
	uint64_t limit;	    /* below, and in none of the ranges: as it was before; from here on there is nothing but what was written */
	char **xattrs;	    /* names that were set or removed; what is here stays, but for those in `gone` */
	bool *gone;
	bool made;	    /* here, by the first of the entries: it has none but these */
	uint32_t nxattrs, xattrs_cap;
	uint64_t size, most; /* the file is at least that long; @set: at most that; else: @most is the end of what was written */
};

/* By entries with versions above @from, up to @to. False: no memory. plan_fini() in any case. */
bool plan_make(struct plan *p, const struct doubt *d, const struct touches *t, const struct nfs4r_oid *oid, nfs4r_version from, nfs4r_version to);
void plan_fini(struct plan *p);
/* The file was so long before these entries. */
void plan_was_long(struct plan *p, uint64_t size);
/* What is not as it was before these entries is kept from being fetched, as long as there is the plan. */
bool plan_keep(const struct plan *p, struct repair *r);
/* Length, and nothing where nothing is; extended attributes that were removed. */
enum nfs4r_status plan_carry_out(const struct plan *p, struct nfs4r_engine *eng, const struct nfs4r_oid *oid);

/* Attributes of entries that made versions above @newer_than: their values are in the journal. */
enum nfs4r_status doubt_set_attrs(struct doubt *d, const struct touches *t, const struct nfs4r_oid *oid, nfs4r_version newer_than);
/* Objects and names are there again, d->repair.objs are those in doubt. Or not, for that reason (d->repair.why may say more): it may be tried again, and goes on where it failed. */
enum nfs4r_status doubt_restore(struct doubt *d);

#endif
