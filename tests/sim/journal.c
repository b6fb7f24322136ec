/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a simulated server's disk holds: a list of records, of which the first `synced` survive a
 * machine crash and all survive a process crash. There is no checkpointed table behind it: a start
 * replays everything from the first tree on, which is slow and obviously right; a CHECKPOINT
 * record stands for the positions that a real one would keep. With a real store (store.h) this is what that is compared with.
 */
#include "sim.h"

static void rec_fini(struct rec *r)
{
	if (r->e)
		nfs4r_entry_put(r->e);
	if (r->row)
		row_fini(r->row);
	free(r->row);
	free(r->puts);
}

void journal_fini(struct journal *j)
{
	journal_cut(j, 0);
	free(j->recs);
	free(j->back);
	memset(j, 0, sizeof(*j));
}

static struct rec *journal_add(struct journal *j, uint32_t type)
{
	struct rec *r;

	if (j->n == j->cap) {
		j->cap = j->cap ? j->cap * 2 : 256;
		j->recs = realloc(j->recs, j->cap * sizeof(*j->recs));
	}
	r = &j->recs[j->n++];
	memset(r, 0, sizeof(*r));
	r->type = type;
	return r;
}

void journal_put(struct journal *j, const struct nfs4r_put *p)
{
	struct rec *r = journal_add(j, DID_PUT);

	r->nputs = 1;
	r->puts = malloc(sizeof(*p));
	*r->puts = *p;
}

void journal_intent(struct journal *j, struct nfs4r_entry *e)
{
	journal_add(j, DID_INTENT)->e = nfs4r_entry_get(e);
}

void journal_commit(struct journal *j, struct nfs4r_entry *e, bool own, const struct nfs4r_put *puts, uint32_t n)
{
	struct rec *r = journal_add(j, DID_COMMIT);

	r->e = nfs4r_entry_get(e);
	r->own = own;
	r->nputs = n;
	if (n) {
		r->puts = malloc(n * sizeof(*puts));
		memcpy(r->puts, puts, n * sizeof(*puts));
	}
}

void journal_checkpoint(struct journal *j, const nfs4r_lsn *stable)
{
	struct rec *r = journal_add(j, DID_CHECKPOINT);

	memcpy(r->stable, stable, sizeof(r->stable));
}

void journal_sealed(struct journal *j, nfs4r_server_id log, nfs4r_lsn seal)
{
	journal_add(j, DID_SEALED)->seal = (struct nfs4r_seal){ log, seal };
}

void journal_install(struct journal *j, uint32_t obj, const struct row *row)
{
	struct rec *r = journal_add(j, DID_INSTALL);

	r->obj = obj;
	r->row = malloc(sizeof(*row));
	row_copy(r->row, row);
}

void journal_positions(struct journal *j, const nfs4r_lsn *applied)
{
	struct rec *r = journal_add(j, DID_POSITIONS);

	memcpy(r->stable, applied, (SERVERS_MAX + 1) * sizeof(r->stable[0]));
}

void journal_cut(struct journal *j, uint32_t n)
{
	while (j->n > n)
		rec_fini(&j->recs[--j->n]);
	if (j->synced > n)
		j->synced = n;
}

/* Where the newest generation of @log begins, or 0. */
static nfs4r_lsn log_begin(const struct journal *j, nfs4r_server_id log)
{
	nfs4r_lsn begin = 0;

	for (uint32_t i = 0; i < j->n; i++) {
		const struct rec *r = &j->recs[i];

		if (r->type == DID_SEALED && r->seal.log == log && NFS4R_AFTER_SEAL(r->seal.lsn) > begin)
			begin = NFS4R_AFTER_SEAL(r->seal.lsn);
		if (r->type == DID_POSITIONS)
			begin = r->stable[log];
	}
	return begin;
}

static bool has_commit(const struct journal *j, nfs4r_server_id log, nfs4r_lsn lsn)
{
	for (uint32_t i = 0; i < j->n; i++)
		if (j->recs[i].type == DID_COMMIT && j->recs[i].e->log == log && j->recs[i].e->lsn == lsn)
			return true;
	return false;
}

static void forget_rec(struct rec *r)
{
	rec_fini(r);
	*r = (struct rec){ .end = r->end };
}

static void note_back(struct journal *j, const struct nfs4r_entry *e)
{
	for (uint32_t i = 0; i < e->nparts && e->op != NFS4R_OP_CLIENT; i++) {
		if (j->nback == j->back_cap) {
			j->back_cap = j->back_cap ? j->back_cap * 2 : 64;
			j->back = realloc(j->back, j->back_cap * sizeof(*j->back));
		}
		j->back[j->nback++] = (struct back){ e->parts[i].oid, e->parts[i].after, e->log, e->lsn };
	}
}

/* Entries of @log behind a hole count for nothing, but for those to @kept; where that begins. */
static nfs4r_lsn drop_behind(struct journal *j, nfs4r_server_id log, uint64_t kept)
{
	nfs4r_lsn end = log_begin(j, log), begin = end;

	while (has_commit(j, log, end + 1))
		end++;
	for (uint32_t i = 0; i < j->n; i++) {
		struct rec *r = &j->recs[i];

		if (r->type == DID_COMMIT && r->e->log == log && r->e->lsn > end && NFS4R_GEN(r->e->lsn) == NFS4R_GEN(begin) && (!kept || r->end > kept || r->copied > kept)) {
			note_back(j, r->e);
			forget_rec(r);
		}
	}
	return end;
}

void journal_drop_holes(struct journal *j, nfs4r_server_id self, uint64_t kept)
{
	for (nfs4r_server_id log = 1; log <= SERVERS_MAX; log++)
		if (log != self)
			(void)drop_behind(j, log, kept);
}

nfs4r_lsn journal_drop_undecided(struct journal *j, nfs4r_server_id self, uint64_t kept)
{
	nfs4r_lsn own = 0;

	for (nfs4r_server_id log = 1; log <= SERVERS_MAX; log++) {
		nfs4r_lsn end = drop_behind(j, log, log == self ? 0 : kept);

		own = log == self ? end : own;
	}
	for (uint32_t i = 0; i < j->n; i++)
		if (j->recs[i].type == DID_INTENT)
			forget_rec(&j->recs[i]);
	return own;
}
