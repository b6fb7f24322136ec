/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How far a peer is behind, in seconds. The log keeps no times, so the end of our log is sampled a few
 * times a second; the age of the oldest entry that a peer has not applied is the time since the log first
 * reached beyond what the peer has. Under a long lag the samples get coarser with age and the answer stays
 * good to a few percent. A restart forgets the samples: then the age counts from the start.
 */
#include "engine/admin/admin_int.h"

/* Gaps may be as long as a fiftieth of their age: some hundred samples reach back for months. */
static void thin_out(struct ctl_lag *l)
{
	uint64_t now = l->s[l->n - 1].at_ms;
	uint32_t to = 1;

	for (uint32_t i = 1; i < l->n; i++) {
		uint64_t kept = l->s[to - 1].at_ms;

		if (i + 1 == l->n || l->s[i + 1].at_ms - kept > (now - kept) / 50)
			l->s[to++] = l->s[i];
	}
	if (to == CTL_LAG_SAMPLES) /* only if they came far too fast */
		to /= 2;
	l->n = to;
}

void admin_lag_sample(struct ctl_lag *l, uint64_t at_ms, nfs4r_lsn end)
{
	if (l->n && l->s[l->n - 1].end >= end)
		return;
	if (l->n == CTL_LAG_SAMPLES)
		thin_out(l);
	l->s[l->n].at_ms = at_ms;
	l->s[l->n].end = end;
	l->n++;
}

uint64_t admin_lag_ms(const struct ctl_lag *l, uint64_t at_ms, nfs4r_lsn applied)
{
	uint32_t lo = 0, hi = l->n; /* first sample with end > applied */

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (l->s[mid].end > applied)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (lo == l->n || l->s[lo].at_ms > at_ms)
		return 0;
	return at_ms - l->s[lo].at_ms;
}
