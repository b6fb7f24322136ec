/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * May this server answer from its own copy (its lease, log 6.7)?
 *
 * The core says after each step until when the lease lasts; readers look at a copy of that without a lock. It is 0 while
 * this server is outside the view or does not have all controls of the others yet, and then the control table may miss some.
 * So each time it turns 0, or stops being 0, begins a new era. A reader notes the era, looks at the table, looks at the lease and
 * the clock, and believes what it saw only if the era is still the same: at that moment the lease held, and the table
 * was complete from the note on. A pause after that is harmless, since the copy only moves forward and the answer
 * was right when the lease was looked at, which is after the request had come.
 */
#include "engine/runtime/runtime.h"

static void begin_era(struct nfs4r_engine *eng, uint64_t until)
{
	if ((until == 0) != (eng->runtime.lease.until_ms == 0))
		eng->runtime.lease.era++;
}

void engine_lease_lower(struct nfs4r_engine *eng)
{
	uint64_t until = nfs4r_core_lease_until(eng->core);

	if (until >= eng->runtime.lease.until_ms)
		return;
	begin_era(eng, until);
	eng->runtime.lease.until_ms = until;
}

void engine_lease_raise(struct nfs4r_engine *eng)
{
	uint64_t until = nfs4r_core_lease_until(eng->core);

	begin_era(eng, until);
	eng->runtime.lease.until_ms = until;
}

bool engine_has_lease(struct nfs4r_engine *eng)
{
	uint64_t until = eng->runtime.lease.until_ms;

	return until == UINT64_MAX || (until && engine_now_ms() < until);
}

uint32_t engine_lease_era(struct nfs4r_engine *eng)
{
	return eng->runtime.lease.era;
}

bool engine_may_answer(struct nfs4r_engine *eng, uint32_t era)
{
	return engine_has_lease(eng) && eng->runtime.lease.era == era;
}

void engine_epoch_follow(struct nfs4r_engine *eng)
{
	uint32_t epoch = nfs4r_core_adopted(eng->core)->epoch;

	if (engine_lease_ms(eng) == 0 || epoch == eng->runtime.epoch)
		return;
	eng->runtime.epoch = epoch;
	engine_update_verifier(eng);
}

enum nfs4r_memory engine_memory(struct nfs4r_engine *eng)
{
	struct nfs4r_core_view v;

	nfs4r_core_get_view(eng->core, &v);
	return v.fixed || engine_is_alone(eng) ? NFS4R_MEMORY_KNOWN : v.memory; /* else there is nobody to say more */
}
