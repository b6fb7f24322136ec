/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a crash of the machine put in doubt: shared by doubt.c, which tells the whole of it, and doubt_settle.c. */
#ifndef NFS4R_ENGINE_DOUBT_INT_H
#define NFS4R_ENGINE_DOUBT_INT_H

#include "engine/repair_int.h"

struct touch { /* an entry since the last checkpoint, or a mark (lsn 0) */
	struct nfs4r_oid oid;
	nfs4r_server_id log;
	nfs4r_lsn lsn;
};

struct doubt {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool open;
	bool unknown; /* which objects: all of them may be */
	nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1]; /* of the last checkpoint */
	struct touch *v; /* ascending OID, then log, then LSN */
	size_t n, cap;
	struct nfs4r_oid *settled; /* ascending; no longer in doubt */
	size_t nsettled;
	struct repair repair; /* its objs: each object in doubt once */
};

/* Place in d->v of the first touch of an object, or of the next object if it has none. */
size_t doubt_first_touch(const struct doubt *d, const struct nfs4r_oid *oid);
/*
 * The entries that touched an object since the last checkpoint, one by one: begin with *i = doubt_first_touch(). NULL: no more. One reference to the caller, and *part is that of
 * the object.
 */
struct nfs4r_entry *doubt_next_entry(const struct doubt *d, const struct nfs4r_oid *oid, size_t *i, struct nfs4r_part **part);
/* Attributes of entries that made versions above @newer_than: their values are in the journal. */
enum nfs4r_status doubt_set_attrs(struct doubt *d, const struct nfs4r_oid *oid, nfs4r_version newer_than);
/* Objects and names are there again, d->repair.objs are those in doubt; false: it cannot be, and the engine has halted. */
bool doubt_restore(struct doubt *d);
void doubt_mark_settled(struct doubt *d, const struct nfs4r_oid *oid);

#endif
