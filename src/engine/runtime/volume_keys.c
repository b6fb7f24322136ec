/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The keys of the configuration whose values are the volume's (log 6.17), for threads that do not hold eng->lock.
 *
 * The core knows what the adopted view says. After each step, and before the actions of that step are carried out, this copy follows. A thread that saw
 * one Durability when its operation began, and sees another one when that is done, cannot tell by which the core has answered. It finds that out by the
 * number of changes, and does what either of them wants (update/ops.c).
 */
#include "engine/runtime/runtime.h"

static void take(struct nfs4r_engine *eng, const struct nfs4r_volume_keys *k)
{
	eng->runtime.volume.directory_reads = k->directory_reads;
	eng->runtime.volume.lease_ms = k->lease_ms;
	eng->runtime.volume.silence_ms = k->silence_ms;
	if (eng->runtime.volume.durability == k->durability)
		return;
	eng->runtime.volume.durability = k->durability;
	eng->runtime.volume.changes++;
}

void engine_volume_begin(struct nfs4r_engine *eng)
{
	take(eng, &(struct nfs4r_volume_keys){ .durability = eng->cfg.durability, .directory_reads = eng->cfg.directory_reads, .lease_ms = eng->cfg.lease_ms, .silence_ms = eng->cfg.silence_ms });
}

static void say_shared(struct nfs4r_engine *eng, void *unused)
{
	eng->ops->locks_shared(eng->ctx);
}

static void follow_locks(struct nfs4r_engine *eng)
{
	if (eng->runtime.volume.locks_shared || !nfs4r_core_locks_shared(eng->core))
		return;
	eng->runtime.volume.locks_shared = true;
	if (eng->ops->locks_shared)
		engine_pool_run(eng->runtime.executors, say_shared, NULL);
}

void engine_volume_follow(struct nfs4r_engine *eng)
{
	const struct nfs4r_volume_settings *said = &nfs4r_core_adopted(eng->core)->settings;

	follow_locks(eng);
	if (said->keys.durability)
		take(eng, &said->keys);
}

bool nfs4r_locks_are_shared(const struct nfs4r_engine *eng)
{
	return eng->runtime.volume.locks_shared;
}

uint32_t engine_durability(const struct nfs4r_engine *eng)
{
	return eng->runtime.volume.durability;
}

uint32_t engine_durability_changes(const struct nfs4r_engine *eng)
{
	return eng->runtime.volume.changes;
}

uint32_t engine_directory_reads(const struct nfs4r_engine *eng)
{
	return eng->runtime.volume.directory_reads;
}

uint32_t engine_lease_ms(const struct nfs4r_engine *eng)
{
	return eng->runtime.volume.lease_ms;
}

uint32_t engine_silence_ms(const struct nfs4r_engine *eng)
{
	return eng->runtime.volume.silence_ms;
}
