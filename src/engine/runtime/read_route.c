/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * At which server a read is answered (control sheet section 6): here, at a peer, or nobody can tell now. Who waits for other servers asks this, too, so it is no
 * business of read/ alone.
 */
#include "engine/runtime/runtime.h"

static bool is_dir_read(const struct nfs4r_read *rd, bool is_dir)
{
	switch (rd->type) {
	case NFS4R_RD_LOOKUP:
	case NFS4R_RD_READDIR:
	case NFS4R_RD_LOOKUPP:
		return true;
	case NFS4R_RD_READ:
	case NFS4R_RD_COMMIT:
	case NFS4R_RD_SEEK:
	case NFS4R_RD_READLINK:
		return false;
	default:
		return is_dir;
	}
}

/* By the control table, as far as it is complete. */
static nfs4r_server_id by_control(struct nfs4r_engine *eng, const struct nfs4r_read *rd, nfs4r_servers excluded, enum nfs4r_known known, bool dir)
{
	if (known == NFS4R_NOT_YET) {
		nfs4r_server_id creator = nfs4r_oid_creator(&rd->oid);

		return creator == eng->cfg.rpc.self || excluded & NFS4R_BIT(creator) ? 0 : creator;
	}
	if (dir && engine_directory_reads(eng) == NFS4R_DIRECTORY_READS_LOCAL)
		return eng->cfg.rpc.self;
	if (known == NFS4R_DEAD || engine_filter_local(eng->runtime.fastpath, &rd->oid, dir))
		return eng->cfg.rpc.self;
	pthread_mutex_lock(&eng->lock);
	nfs4r_server_id to = nfs4r_core_route_read(eng->core, &rd->oid, dir, excluded);
	if (to && to != eng->cfg.rpc.self && rd->locked && rd->type == NFS4R_RD_READ && rd->length && engine_doubt_about(eng, &rd->oid) == DOUBT_NONE &&
	    nfs4r_core_may_read_locked(eng->core, &rd->oid, &rd->owner, rd->offset, rd->offset + rd->length - 1))
		to = eng->cfg.rpc.self;
	pthread_mutex_unlock(&eng->lock);
	return to;
}

/*
 * self, a peer, or 0 = nobody can tell now. Without a lease this server may be the only one that does not know of a newer version, or of
 * who has it (log 6.7): then it asks nobody and answers nothing, unless the administrator prefers an old answer to none.
 */
nfs4r_server_id engine_route_read(struct nfs4r_engine *eng, const struct nfs4r_read *rd, nfs4r_servers excluded)
{
	uint32_t era = engine_lease_era(eng);
	struct nfs4r_row row;
	enum nfs4r_known known = nfs4r_store_row(eng->store, &rd->oid, &row);
	bool dir = is_dir_read(rd, known == NFS4R_KNOWN && row.type == NFS4R_TYPE_DIR);

	if (!eng->runtime.ready || !eng->runtime.keys.n || engine_missing_about(eng, &rd->oid) != BEHIND_NOT)
		return 0;
	nfs4r_server_id to = by_control(eng, rd, excluded, known, dir);
	if (engine_may_answer(eng, era))
		return to;
	return eng->cfg.stale_reads && known == NFS4R_KNOWN && rd->type != NFS4R_RD_COMMIT ? eng->cfg.rpc.self : 0;
}

nfs4r_server_id nfs4r_read_server(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_read rd = { .type = NFS4R_RD_GETATTR, .oid = *oid };

	return engine_route_read(eng, &rd, 0);
}
