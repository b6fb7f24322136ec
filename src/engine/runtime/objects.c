/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Questions about objects: their rows, their local handles, and whose handle that is. Every room asks them, and FSAL_REPL does. They read the store only, so no
 * lock is needed.
 *
 * Beside them: a file's bytes go to the local disk, and what clients have open is told to the core.
 */
#include "base/shape.h"
#include "engine/runtime/runtime.h"

enum nfs4r_known nfs4r_row(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct nfs4r_row *row)
{
	return nfs4r_store_row(eng->store, oid, row);
}

void nfs4r_row_overlay(const struct nfs4r_row *row, struct nfs4r_attrs *attrs)
{
	attrs->version = row->version;
	attrs->ctime = row->ctime;
	attrs->mask |= NFS4R_ATTR_VERSION | NFS4R_ATTR_CTIME;
	if (nfs4r_row_has_mtime(row)) {
		attrs->mtime = row->mtime;
		attrs->mask |= NFS4R_ATTR_MTIME;
	}
	if (row->type == NFS4R_TYPE_DIR) {
		/* Local file systems disagree about the size of a directory, and with their own past. */
		attrs->size = 4096 * (1 + row->nentries / 64);
		attrs->space = attrs->size;
		attrs->mask |= NFS4R_ATTR_SIZE | NFS4R_ATTR_SPACE;
	} else {
		attrs->nlink = row->nlink;
		attrs->mask |= NFS4R_ATTR_NLINK;
	}
}

void nfs4r_handle(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct nfs4r_lhandle *out)
{
	out->len = (uint8_t)nfs4r_store_handle(eng->store, oid, out->b);
	if (!out->len && nfs4r_oid_eq(oid, &eng->root)) /* there, but not yet taken into use (start_recover_root) */
		*out = eng->start.root_handle;
}

bool nfs4r_by_handle(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, struct nfs4r_oid *oid)
{
	return nfs4r_store_by_handle(eng->store, h->b, h->len, oid);
}

uint64_t nfs4r_verifier(struct nfs4r_engine *eng)
{
	return eng->runtime.verifier;
}

void nfs4r_root(struct nfs4r_engine *eng, struct nfs4r_oid *out)
{
	*out = eng->root;
}

nfs4r_server_id nfs4r_self(struct nfs4r_engine *eng)
{
	return eng->cfg.rpc.self;
}

/* ---- to the local disk ---- */

bool engine_is_disk_error(enum nfs4r_status st)
{
	return st == NFS4R_NOSPC || st == NFS4R_DQUOT || st == NFS4R_IO || st == NFS4R_ROFS;
}

enum nfs4r_status engine_sync_file(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_lhandle h;

	nfs4r_handle(eng, oid, &h);
	return h.len ? eng->ops->commit(eng->ctx, &h) : NFS4R_STALE;
}

enum nfs4r_status engine_sync_inline(struct nfs4r_engine *eng, const struct nfs4r_entry *e)
{
	enum nfs4r_status st = NFS4R_OK;

	for (uint32_t i = 0; i < e->nparts && st == NFS4R_OK; i++)
		if (nfs4r_store_part_changes_bytes(&e->parts[i]) && nfs4r_store_keeps_bytes(eng->store, &e->parts[i].oid))
			st = engine_sync_file(eng, &e->parts[i].oid);
	return st == NFS4R_STALE ? NFS4R_OK : st;
}

/* ---- opens ---- */

void nfs4r_opened(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_OPENED, .oid = *oid };

	pthread_mutex_lock(&eng->lock);
	engine_step(eng, &ev);
	pthread_mutex_unlock(&eng->lock);
}

void nfs4r_closed(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_CLOSED, .oid = *oid };

	pthread_mutex_lock(&eng->lock);
	engine_step(eng, &ev);
	pthread_mutex_unlock(&eng->lock);
}
