/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * This server's copy as it is, for one that repairs its own (log 8.3): who may ask is decided in server.c.
 *
 * The row of an object is taken before the object itself is looked at, and when nothing of it is being executed or applied (server.c). Who asks compares the row's
 * version before and after everything it asked for, and asks again if it moved; so it needs no lock here. The answer to LISTXATTR, which comes last, has the row as it was after: that saves a question.
 *
 * Invariant: STALE is said of what is dead for good and of nothing else.
 */
#include <stdlib.h>

#include "engine/read/read_int.h"

static void put_u64(uint8_t *p, uint64_t v)
{
	for (int i = 8; i-- > 0; v >>= 8)
		p[i] = (uint8_t)v;
}

static uint64_t get_u64(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return v;
}

static void positions_put(const struct nfs4r_store_positions *p, uint8_t *out)
{
	for (int i = 1; i <= NFS4R_SERVERS_MAX; i++, out += 24) {
		put_u64(out, p->applied[i]);
		put_u64(out + 8, p->oid_inc[i]);
		put_u64(out + 16, p->oid_seq[i]);
	}
}

bool read_copy_positions_get(struct nfs4r_store_positions *p, const struct nfs4r_buf *b)
{
	const uint8_t *in = b ? b->data : NULL;

	memset(p, 0, sizeof(*p));
	if (!b || b->len != NFS4R_SERVERS_MAX * 24)
		return false;
	for (int i = 1; i <= NFS4R_SERVERS_MAX; i++, in += 24) {
		p->applied[i] = get_u64(in);
		p->oid_inc[i] = get_u64(in + 8);
		p->oid_seq[i] = get_u64(in + 16);
	}
	return true;
}

static enum nfs4r_status copy_oids(struct nfs4r_engine *eng, struct nfs4r_read *rd)
{
	struct nfs4r_oid *list = calloc(NFS4R_READDIR_MAX, sizeof(*list));
	struct nfs4r_store_positions p;
	struct nfs4r_row row;
	uint32_t n;

	nfs4r_store_get_positions(eng->store, &p); /* before the objects are looked up: what comes later is applied again */
	rd->data = nfs4r_buf_new(NFS4R_SERVERS_MAX * 24);
	rd->dirents = calloc(NFS4R_READDIR_MAX, sizeof(rd->dirents[0]));
	if (!list || !rd->data || !rd->dirents) {
		free(list);
		return NFS4R_NOMEM;
	}
	positions_put(&p, rd->data->data);
	n = nfs4r_store_each_oid(eng->store, &rd->oid, list, NFS4R_READDIR_MAX);
	rd->eof = n == 0;
	for (uint32_t i = 0; i < n; i++) {
		struct nfs4r_dirent *d = &rd->dirents[rd->ndirents];

		if (nfs4r_store_row(eng->store, &list[i], &row) != NFS4R_KNOWN)
			continue; /* went away meanwhile */
		d->oid = list[i];
		d->type = row.type;
		d->cookie = row.version;
		rd->ndirents++;
	}
	free(list);
	return (n && !rd->ndirents) || nfs4r_store_failed(eng->store) ? NFS4R_DELAY : NFS4R_OK; /* what is not among them is taken for gone */
}

/* Into @rd, whose row is there: the locks of the file, of the same moment (locks 6). */
static enum nfs4r_status copy_locks(struct nfs4r_engine *eng, struct nfs4r_read *rd)
{
	uint32_t n = nfs4r_store_locks(eng->store, &rd->oid, NULL, 0);
	struct nfs4r_row row;

	if (!n)
		return nfs4r_store_failed(eng->store) ? NFS4R_DELAY : NFS4R_OK; /* a list that ended meanwhile is ended by the entry that the reader gets next */
	rd->locks = calloc(n, sizeof(*rd->locks));
	if (!rd->locks)
		return NFS4R_NOMEM;
	rd->nlocks = nfs4r_store_locks(eng->store, &rd->oid, rd->locks, n);
	if (rd->nlocks > n) {
		rd->nlocks = 0;
		return NFS4R_DELAY;
	}
	return nfs4r_store_row(eng->store, &rd->oid, &row) == NFS4R_KNOWN && row.version == rd->row.version ? NFS4R_OK : NFS4R_DELAY;
}

/* A failure carries nothing. */
static enum nfs4r_status with_locks(struct nfs4r_engine *eng, struct nfs4r_read *rd)
{
	enum nfs4r_status st = copy_locks(eng, rd);

	if (st != NFS4R_OK)
		nfs4r_read_fini(rd);
	return st;
}

static bool add_client(void *arg, const struct nfs4r_client_entry *k)
{
	struct nfs4r_read *rd = arg;

	rd->clients[rd->nclients++] = *k;
	return true;
}

/* The list of clients of one server (locks 7). */
static enum nfs4r_status copy_clients(struct nfs4r_engine *eng, struct nfs4r_read *rd)
{
	nfs4r_server_id server = rd->offset <= NFS4R_SERVERS_MAX ? (nfs4r_server_id)rd->offset : 0;
	enum nfs4r_status st = NFS4R_OK;
	uint32_t n;

	pthread_mutex_lock(&eng->lock);
	n = nfs4r_core_client_rows(eng->core, server);
	if (n) {
		rd->clients = calloc(n, sizeof(*rd->clients));
		if (rd->clients)
			nfs4r_core_each_client_row(eng->core, server, add_client, rd);
		else
			st = NFS4R_NOMEM;
	}
	pthread_mutex_unlock(&eng->lock);
	return st;
}

/* STALE means dead for good, so an object that goes away just now is DELAY. */
enum nfs4r_status read_copy_here(struct nfs4r_engine *eng, struct nfs4r_read *rd)
{
	struct nfs4r_copy_row row;
	enum nfs4r_known known;
	enum nfs4r_status st;

	if (rd->type == NFS4R_RD_OIDS) {
		nfs4r_read_fini(rd);
		return copy_oids(eng, rd);
	}
	if (rd->type == NFS4R_RD_CLIENTS) {
		nfs4r_read_fini(rd);
		return copy_clients(eng, rd);
	}
	known = nfs4r_store_copy_row(eng->store, &rd->oid, &row);
	if (known != NFS4R_KNOWN)
		return read_router_not_here(eng, known);
	st = rd->type == NFS4R_RD_COMMIT ? NFS4R_INVAL : nfs4r_read_here(eng, rd);
	if (rd->type == NFS4R_RD_GETATTR || rd->type == NFS4R_RD_READDIR)
		rd->row = row;
	else if (rd->type == NFS4R_RD_LISTXATTR && nfs4r_store_copy_row(eng->store, &rd->oid, &row) == NFS4R_KNOWN)
		rd->row = row;
	if (st == NFS4R_OK && rd->type == NFS4R_RD_GETATTR && row.type == NFS4R_TYPE_FILE)
		st = with_locks(eng, rd);
	return st == NFS4R_STALE || st == NFS4R_NOENT || st == NFS4R_UNKNOWN ? NFS4R_DELAY : st;
}
