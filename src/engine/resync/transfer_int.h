/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Inside of a repair (log sheet 8.3, 8.5; transfer.c tells the whole of it). All of it runs on the one thread of the repair, but for what is fetched: each thread
 * of repair_crew() has a struct repair of its own for that, with the same objects.
 */
#ifndef NFS4R_ENGINE_REPAIR_INT_H
#define NFS4R_ENGINE_REPAIR_INT_H

#include "engine/engine_int.h"

struct repair_obj {
	struct nfs4r_oid oid;
	bool undone; /* an entry beyond a seal touched it */
	bool dead;   /* at the source */
	bool gone;   /* what the store's handle led to (adopt_tree.c); the handle may lead to another object's file by now */
	struct nfs4r_lhandle *found; /* what is taken for it (adopt_tree.c); NULL: nothing */
	bool made;   /* crash_check.c: its file was not there, and is empty */
	bool inexact; /* at the source, and how (log 7.5) */
	struct nfs4r_left left; /* or `later` in it */
};

struct repair {
	struct nfs4r_engine *eng;
	uint64_t generation; /* a later one took its place if it is not that of eng->repair */
	nfs4r_server_id from;
	bool all;	 /* the positions become those of the source, too */
	bool list;	 /* the objects are given: they are inexact, and those that are so at the source, too, or of another version there, stay as they are */
	bool everything; /* every object is compared, not only those that entries name */
	uint32_t nseals;
	struct nfs4r_seal seals[NFS4R_SERVERS_MAX];
	struct repair_obj *objs; /* ascending OID once collected */
	uint32_t n, cap;
	struct nfs4r_store_positions positions; /* of the source when it began; `everything` only */
	bool doubt;	 /* crash_check.c: no other repair takes its place, and servers that are in doubt themselves are asked */
	bool strays;	 /* what is in a directory and not in the store goes to the hidden one */
	bool importing;	 /* ... unless it may be still to be taken in: an import was interrupted, and nothing of the volume has the name */
	struct repair_range { uint64_t off, len; } *keep; /* bytes of the object under way that are not fetched */
	uint32_t nkeep, keep_cap;
	bool sized;	 /* the size is that of the source, also when bytes are kept */
	char **keep_xattrs; /* nor these extended attributes */
	uint32_t nkeep_xattrs;
	enum nfs4r_status here; /* crash_check.c: the last error of the local file system */
	uint32_t patience_ms; /* with one question to the source; 0: the usual */
	bool gone;	 /* self_heal.c: the object of repair_refresh() is not here, whatever its handle leads to by now: it is made in the hidden directory */
	struct nfs4r_lhandle took_handle; /* out: of repair_refresh(), the local handle of that object */
	nfs4r_version took_version; /* ... and the version that its content is of */
	char saved[1200]; /* where conflicts were saved; empty: nothing was undone */
	char why[NFS4R_WHY];	  /* what went wrong, for the log */
};

/* Stop: the engine ends or another repair has begun. */
bool repair_over(const struct repair *r);
/* Set r->why and give back @st. */
enum nfs4r_status repair_fails(struct repair *r, enum nfs4r_status st, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
struct repair_obj *repair_add(struct repair *r, const struct nfs4r_oid *oid, bool undone); /* NULL: no memory */

#define REPAIR_CREW 64 /* an object costs three or four round trips, so much of the time is waiting */
/* @work(@arg) on this thread and others, at most @most and REPAIR_CREW altogether; back when all are. */
void repair_crew(void *(*work)(void *), void *arg, uint32_t most);
void repair_progress(struct repair *r, uint64_t objects, uint64_t bytes); /* added to what is done */

/* ---- conflicts.c: what is undone ---- */
/* Objects of all entries beyond the seals -> objs; r->everything if some entries are no longer here. */
enum nfs4r_status repair_collect(struct repair *r);
/* The list of what is undone and the files as they are, under the conflicts directory and on the disk; once for each set of entries. */
enum nfs4r_status repair_save(struct repair *r);

/* ---- fetch.c: what the source has ---- */
/* Every object that is not equal at the source -> objs; positions. */
enum nfs4r_status repair_compare(struct repair *r);
/* Make the object's content equal and install its row and names; or dead. A new one lies in the hidden directory. */
enum nfs4r_status repair_object(struct repair *r, struct repair_obj *o);

/* The object among the first @n of objs, which are sorted; NULL: it is not. */
struct repair_obj *repair_find(struct repair *r, const struct nfs4r_oid *oid, uint32_t n);
/* The names of a directory at the source, any version of it. *names is the caller's to free, whatever the status. */
enum nfs4r_status repair_names(struct repair *r, const struct nfs4r_oid *oid, struct nfs4r_dirent **names, uint32_t *n);

/* Do not fetch these bytes of the next object. False: no memory. */
bool repair_keep(struct repair *r, uint64_t off, uint64_t len);
/*
 * Content and attributes of an object, but not its row and names, from r->from, if that has it with version @at_least and in no doubt; *done says whether. *size: of the file
 * there. If bytes are kept, the length here stays as it is.
 */
enum nfs4r_status repair_refresh(struct repair *r, const struct nfs4r_oid *oid, nfs4r_version at_least, uint64_t *size, bool *done);

/* ---- adopt_tree.c: what is there, of what the store knows and beside it ---- */
enum nfs4r_status repair_adopt(struct repair *r);

/* ---- names.c: the names ---- */
enum nfs4r_status repair_tree(struct repair *r);

#endif
