/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a server told its clients does not get older (control 6.9).
 *
 * An owner answers with versions that are not complete yet, and not in the asker's copy (control 6.8). As long as the asker redirects to that owner nobody sees
 * that. But it may stop before it has the update: a move takes the object from below the deep control that redirected, or the answer was given under a
 * control of which the asker has not heard, since its PROPOSE is still on its way, and RELEASE of the one before it came. Then its copy answers with what was before. A
 * client that has the attributes of the newer version and the bytes of the older one keeps these bytes for the newer ones, also after CLOSE: the change
 * attribute never tells it.
 *
 * So what an owner said to be newer than the own copy is noted, and read at that owner until the copy has it. An owner that is none any more says NOT_PRIMARY
 * only when every copy has what it did (control 7.2).
 *
 * Nor does a restart make anything older. What this copy had of another log behind a hole it gives back then (log 4.7): that is noted like what an owner told.
 *
 * A note is in the journal before the client is told (row 'N'): a client outlives a restart of this server. It is not synced. After a loss of power this server
 * reads nothing before it has all that the others had when they told it (log 4.7), and so all that it may have been told.
 *
 * Failure modes: the update is lost with the owner's machine: it says so itself by the next answer, of a newer start, or its log ends and the note goes. The owner
 * is away: reads of this object wait, as for any control of it. The process ends between the commit of what was told and the deletion of the row: the next start
 * sees that the copy has it.
 *
 * Invariants: a note is of a version that the own copy does not have. There are no more than MONOTONIC_READS_MAX; beyond that the oldest goes.
 */
#include "core/ops/ops_int.h"

static void say(struct nfs4r_core *c, const struct monotonic_read *n, bool added)
{
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_MONOTONIC_READ, .monotonic_read = { .oid = n->oid, .owner = n->by, .added = added } });
}

static void save(struct nfs4r_core *c, struct monotonic_read *n)
{
	struct nfs4r_put p;

	row_monotonic_read(n, &p, false);
	out_put(c, &p);
	n->unsaved = false;
}

static void drop(struct nfs4r_core *c, struct monotonic_read *n)
{
	struct nfs4r_put p;

	say(c, n, false);
	row_monotonic_read(n, &p, true);
	out_put(c, &p);
	HASH_DEL(c->ops.monotonic, n);
	free(n);
}

static struct monotonic_read *find(const struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct monotonic_read *n;

	HASH_FIND(hh, c->ops.monotonic, oid, sizeof(*oid), n);
	return n;
}

static bool is_here(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_version version)
{
	struct nfs4r_facts f;

	control_is_known(c, oid, &f);
	return f.known == NFS4R_DEAD || (f.known == NFS4R_KNOWN && f.version >= version);
}

static struct monotonic_read *add(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id by)
{
	struct monotonic_read *n = out_xcalloc(1, sizeof(*n));

	n->oid = *oid;
	n->by = by;
	HASH_ADD(hh, c->ops.monotonic, oid, sizeof(n->oid), n);
	return n;
}

/* @version: 0 if it said NOT_PRIMARY. */
void ops_monotonic_note(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id by, nfs4r_version version)
{
	uint64_t inc = c->peers[by].inc;
	struct monotonic_read *n = find(c, oid);
	bool again = n && n->by == by && n->inc != inc; /* what it said in an earlier start may be lost */

	if (FAULT(F_TOLD_FORGOTTEN) || !version || is_here(c, oid, version)) {
		if (again)
			drop(c, n);
		return;
	}
	if (n && !again && n->version >= version)
		return;
	if (!n && HASH_COUNT(c->ops.monotonic) >= MONOTONIC_READS_MAX)
		drop(c, c->ops.monotonic); /* the first is the oldest */
	if (!n) {
		n = add(c, oid, by);
		say(c, n, true);
	}
	n->by = by;
	n->inc = inc;
	n->version = version;
	save(c, n);
}

/* ---- start ---------------------------------------------------------------------------- */

bool ops_monotonic_restored(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id by, nfs4r_version version)
{
	if (find(c, oid))
		return false;
	add(c, oid, by)->version = version;
	return true;
}

void nfs4r_core_restore_given_back(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn, const struct nfs4r_oid *oid, nfs4r_version version)
{
	struct monotonic_read *n = find(c, oid);

	assert(!c->started && log && log <= NFS4R_SERVERS_MAX && log != c->self);
	if (NFS4R_GEN(lsn) != NFS4R_GEN(c->log.logs[log].applied) || (n && n->version >= version) || (!n && HASH_COUNT(c->ops.monotonic) >= MONOTONIC_READS_MAX))
		return; /* the first: that log has ended since, and this copy has it to its end */
	if (!n)
		n = add(c, oid, log);
	n->by = log;
	n->version = version;
	n->unsaved = true;
}

void ops_monotonic_started(struct nfs4r_core *c)
{
	struct monotonic_read *n, *tmp;

	HASH_ITER(hh, c->ops.monotonic, n, tmp) {
		say(c, n, true);
		if (is_here(c, &n->oid, n->version) || !(servers_of(c) & NFS4R_BIT(n->by)) || FAULT(F_TOLD_RESTART))
			drop(c, n);
		else if (n->unsaved)
			save(c, n);
	}
}

/* ---- what ends a note ------------------------------------------------------------------- */

/* Something of @oid was committed here. */
void ops_monotonic_moved(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct monotonic_read *n = c->ops.monotonic ? find(c, oid) : NULL;

	if (n && is_here(c, oid, n->version))
		drop(c, n);
}

/* The copy is another one. */
void ops_monotonic_rebuilt(struct nfs4r_core *c)
{
	struct monotonic_read *n, *tmp;

	HASH_ITER(hh, c->ops.monotonic, n, tmp)
		if (is_here(c, &n->oid, n->version))
			drop(c, n);
}

/* Its log has ended: what is not here by then never happened. */
void ops_monotonic_sealed(struct nfs4r_core *c, nfs4r_server_id by)
{
	struct monotonic_read *n, *tmp;

	HASH_ITER(hh, c->ops.monotonic, n, tmp)
		if (n->by == by)
			drop(c, n);
}

nfs4r_server_id ops_monotonic_at(const struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_servers excluded)
{
	const struct monotonic_read *n = c->ops.monotonic ? find(c, oid) : NULL;

	return n && !(excluded & NFS4R_BIT(n->by)) ? n->by : 0;
}

nfs4r_version ops_monotonic_version(const struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	const struct monotonic_read *n = c->ops.monotonic ? find(c, oid) : NULL;

	return n ? n->version : 0;
}
