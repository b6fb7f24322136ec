/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Objects that an import (import.c) has begun with and not ended: the volume knows them, and only this server has all of their bytes, extended attributes and
 * times. There are few: one file, and the directories above it.
 *
 * Each is a row of the store, beside those of the core (recover.c tells them apart), with the times that it came with: entries that are applied again after a crash set
 * others. The row is in the journal before the entry that makes the object known, and goes when the journal has all that belongs to it without a hole. So
 * whatever end a crash gives the journal: what is known and not whole has a row.
 */
#include <endian.h>
#include <stdlib.h>

#include "engine/runtime/runtime.h"

#define KIND 'i' /* the core's kinds are capital letters */

struct import_open {
	struct nfs4r_oid oid;
	struct import_times times;
	bool walked;
};

static void put_i64(uint8_t *p, int64_t v)
{
	uint64_t be = htobe64((uint64_t)v);

	memcpy(p, &be, sizeof(be));
}

static int64_t get_i64(const uint8_t *p)
{
	uint64_t be;

	memcpy(&be, p, sizeof(be));
	return (int64_t)be64toh(be);
}

static struct import_open *find(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	for (uint32_t i = 0; i < eng->runtime.imports.n; i++)
		if (nfs4r_oid_eq(&eng->runtime.imports.v[i].oid, oid))
			return &eng->runtime.imports.v[i];
	return NULL;
}

static bool add(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, const struct import_times *t)
{
	struct import_open *v = realloc(eng->runtime.imports.v, (eng->runtime.imports.n + 1) * sizeof(*v));

	if (!v)
		return false;
	eng->runtime.imports.v = v;
	v[eng->runtime.imports.n++] = (struct import_open){ *oid, *t, false };
	return true;
}

static struct nfs4r_put row_of(const struct nfs4r_oid *oid, const struct import_times *t)
{
	struct nfs4r_put p = { .del = !t, .key_len = 1 + sizeof(oid->b), .key = { KIND } };

	memcpy(p.key + 1, oid->b, sizeof(oid->b));
	if (!t)
		return p;
	p.val_len = 16;
	put_i64(p.val, t->mtime);
	put_i64(p.val + 8, t->atime);
	return p;
}

bool engine_import_is_row(const uint8_t *key, uint16_t key_len)
{
	return key_len && key[0] == KIND;
}

enum nfs4r_status engine_import_restore(struct nfs4r_engine *eng, const uint8_t *key, uint16_t key_len, const uint8_t *val, uint16_t val_len)
{
	struct nfs4r_oid oid;

	if (key_len != 1 + sizeof(oid.b) || val_len != 16)
		return NFS4R_CORRUPT;
	memcpy(oid.b, key + 1, sizeof(oid.b));
	return add(eng, &oid, &(struct import_times){ get_i64(val), get_i64(val + 8) }) ? NFS4R_OK : NFS4R_NOMEM;
}

enum nfs4r_status engine_import_begin(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, const struct import_times *t)
{
	struct nfs4r_put p = row_of(oid, t);

	if (find(eng, oid))
		return NFS4R_OK;
	if (!add(eng, oid, t))
		return NFS4R_NOMEM;
	return nfs4r_store_put(eng->store, &p, 1);
}

enum nfs4r_status engine_import_begin_by(struct nfs4r_engine *eng, const struct nfs4r_entry *e)
{
	const struct nfs4r_part *p = &e->parts[0];

	if (e->op != NFS4R_OP_ADOPT || e->log != eng->cfg.rpc.self || !e->nparts || (p->attrs.type != NFS4R_TYPE_FILE && p->attrs.type != NFS4R_TYPE_DIR))
		return NFS4R_OK;
	return engine_import_begin(eng, &p->oid, &(struct import_times){ p->attrs.mtime, p->attrs.atime });
}

enum nfs4r_status engine_import_end(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_put p = row_of(oid, NULL);
	struct import_open *o = find(eng, oid);

	if (!o)
		return NFS4R_OK;
	*o = eng->runtime.imports.v[--eng->runtime.imports.n];
	return nfs4r_store_put(eng->store, &p, 1);
}

bool engine_import_is_open(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct import_times *t)
{
	struct import_open *o;

	pthread_mutex_lock(&eng->lock);
	o = find(eng, oid);
	if (o && t)
		*t = o->times;
	pthread_mutex_unlock(&eng->lock);
	return o != NULL;
}

void engine_import_walked(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct import_open *o;

	pthread_mutex_lock(&eng->lock);
	o = find(eng, oid);
	if (o)
		o->walked = true;
	pthread_mutex_unlock(&eng->lock);
}

bool engine_import_is_walked(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct import_open *o;
	bool walked;

	pthread_mutex_lock(&eng->lock);
	o = find(eng, oid);
	walked = !o || o->walked;
	pthread_mutex_unlock(&eng->lock);
	return walked;
}

bool engine_import_any_open(const struct nfs4r_engine *eng)
{
	return eng->runtime.imports.n != 0;
}

uint32_t engine_import_list_open(struct nfs4r_engine *eng, struct nfs4r_oid **list)
{
	uint32_t n;

	pthread_mutex_lock(&eng->lock);
	n = eng->runtime.imports.n;
	*list = calloc(n + 1, sizeof(**list));
	for (uint32_t i = 0; *list && i < n; i++)
		(*list)[i] = eng->runtime.imports.v[i].oid;
	pthread_mutex_unlock(&eng->lock);
	return *list ? n : UINT32_MAX;
}

void engine_import_free(struct nfs4r_engine *eng)
{
	free(eng->runtime.imports.v);
}
