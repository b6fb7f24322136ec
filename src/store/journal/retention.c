/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How much is kept in the journal, since when, and which entries lie beyond a bound of that (log 3.12).
 *
 * Only whole segments at the old end free space, so a segment is beyond the bound as a whole: when the younger ones, one more that may be begun,
 * and itself are too many bytes, or when its last entry is too old. The one that is being written is never. Age is the time at which the file of
 * the next segment was made, so it needs nothing in the journal; a copy of the directory makes everything young. Nothing is removed here:
 * the core says what may go (truncate()), and checkpoints remove the files.
 */
#include "store/internal.h"

static bool is_beyond(const struct nfs4r_journal *j, uint32_t i, uint64_t max_bytes, uint64_t max_age_s, uint64_t now_s)
{
	nfs4r_journal_pos end = j->segs[j->nsegs - 1].start + j->segs[j->nsegs - 1].size;

	return end - j->segs[i].start + j->segment_bytes > max_bytes || (max_age_s && j->segs[i + 1].born + max_age_s <= now_s);
}

void nfs4r_store_retained(struct nfs4r_store *s, uint64_t max_bytes, uint64_t max_age_s, uint64_t now_s, struct nfs4r_store_retained *out)
{
	const struct nfs4r_journal *j = &s->jnl;

	memset(out, 0, sizeof(*out));
	pthread_rwlock_rdlock(&s->jnl.segs_lock);
	for (uint32_t i = 0; i < j->nsegs; i++)
		out->bytes += j->segs[i].size;
	if (j->nsegs && j->segs[0].born < now_s)
		out->age_s = now_s - j->segs[0].born;
	for (uint32_t i = 0; i + 1 < j->nsegs && is_beyond(j, i, max_bytes, max_age_s, now_s); i++)
		for (int log = 1; log < NLOGS; log++)
			if (j->segs[i].max[log] > out->beyond[log])
				out->beyond[log] = j->segs[i].max[log];
	pthread_rwlock_unlock(&s->jnl.segs_lock);
}
