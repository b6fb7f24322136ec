/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A server that cannot go on as it is (log 4.15).
 *
 * What an action of the core depends on could not be written, so the core in memory is ahead of the journal. From then on nothing leaves that depends on it: clients
 * hear DELAY, and the others hear nothing but HALTED, which says why. They make a view without this server, as without one that died. Nothing short of the journal says
 * what is so here: only a start that reads it goes on.
 *
 * Happy path: the disk was full. The thread that measures room (space.c) looks until there is enough, above the reserve below which all sites would be refused (log 4.12),
 * and until a file can be written and synced there. Then it asks who owns the engine to stop it and to start another one in its place (lops.again). The process, its clients' sessions and its
 * other exports stay.
 *
 * Failure modes: the disk is broken, or the copy is corrupt: a person has to see to it, and the halt lasts until then. No room comes: so does it. It is full again soon after: each start that soon ends
 * counts, and waits longer before it joins (online.c).
 *
 * Invariant: once halted, for good in this run.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/locked.h"
#include "engine/runtime/runtime.h"

#define SAY_EVERY_MS 1000

/* ---- to the others ---- */

/* eng->lock held. */
static void say_halted(struct nfs4r_engine *eng, uint64_t now)
{
	struct nfs4r_msg m = { .type = NFS4R_MSG_HALTED };

	m.halted.status = eng->runtime.halt.st;
	m.halted.files = eng->runtime.halt.kind == HALT_FILES;
	eng->runtime.halt.said_ms = now;
	for (nfs4r_server_id s = 1; eng->rpc && s <= NFS4R_SERVERS_MAX; s++)
		if (eng->membership.servers & NFS4R_BIT(s) && s != eng->cfg.rpc.self)
			(void)nfs4r_rpc_send(eng->rpc, s, NFS4R_LANE_CONTROL, &m);
}

void engine_halt_say_again(struct nfs4r_engine *eng, uint64_t now)
{
	if (eng->runtime.halt.kind && now >= eng->runtime.halt.said_ms + SAY_EVERY_MS)
		say_halted(eng, now);
}

void engine_recovered(struct nfs4r_engine *eng)
{
	assert(nfs4r_is_locked(&eng->lock));
	if (!eng->runtime.halt.why[0])
		eng->runtime.ready = true;
}

/* ---- halting; eng->lock held ---- */

static void halt(struct nfs4r_engine *eng, enum halt kind, enum nfs4r_status st, const char *why)
{
	eng->runtime.ready = false;
	eng->runtime.mute = true;
	if (eng->runtime.halt.why[0])
		return;
	snprintf(eng->runtime.halt.why, sizeof(eng->runtime.halt.why), "%s", why);
	eng->runtime.halt.kind = kind;
	eng->runtime.halt.st = st;
	engine_log(eng, NFS4R_LOG_ERROR, "volume %s: this server stops serving: %s", eng->cfg.volume_name, why);
	say_halted(eng, engine_now_ms());
}

void engine_halt(struct nfs4r_engine *eng, const char *why)
{
	assert(nfs4r_is_locked(&eng->lock));
	halt(eng, HALT_FOR_GOOD, NFS4R_CORRUPT, why);
}

static const char *in_mib(uint64_t bytes, char *buf, size_t len)
{
	snprintf(buf, len, "%" PRIu64 " MiB", (bytes + (1 << 20) - 1) >> 20);
	return buf;
}

/* A sync that fails says IO to whoever waits for it; the store knows the reason. */
void engine_store_failed(struct nfs4r_engine *eng, const char *what, enum nfs4r_status st)
{
	enum nfs4r_status broken = nfs4r_store_broken(eng->store);
	bool files = nfs4r_store_files_failed(eng->store);
	char why[NFS4R_WHY], need[40];

	st = broken ? broken : st;
	if (files)
		what = "the exported directory could not be synced, and may lack recent writes";
	if (files && nfs4r_status_is_full(st))
		snprintf(why, sizeof(why), "%s (%s): free space on its file system. This server then returns by itself, and copies what it lacks from the others", what, nfs4r_status_str(st));
	else if (nfs4r_status_is_full(st))
		snprintf(why, sizeof(why), "%s (%s): free space on the file system of %.800s. This server returns by itself when %s are free there", what, nfs4r_status_str(st),
			 eng->cfg.store_dir, in_mib(eng->membership.store_wanted, need, sizeof(need)));
	else if (st == NFS4R_NOMEM)
		snprintf(why, sizeof(why), "%s (%s). The server restarts by itself; if that repeats, give it more memory", what, nfs4r_status_str(st));
	else
		snprintf(why, sizeof(why), "%s (%s); check the disk under %s, and restart", what, nfs4r_status_str(st), files ? "it" : "the Store directory");
	halt(eng, st == NFS4R_NOMEM ? HALT_MEMORY : !nfs4r_status_is_full(st) ? HALT_FOR_GOOD :
		     files						      ? HALT_FILES :
										HALT_STORE,
	     st, why);
}

void engine_journal_failed(struct nfs4r_engine *eng, enum nfs4r_status st)
{
	engine_store_failed(eng, "cannot write the journal", st);
}

void engine_fence_set(struct nfs4r_engine *eng, uint32_t number)
{
	assert(nfs4r_is_locked(&eng->lock));
	eng->runtime.fence = number;
}

/* ---- the end of it; the thread that measures room, no lock held ---- */

enum halt engine_halt_waits(struct nfs4r_engine *eng)
{
	enum halt kind;

	pthread_mutex_lock(&eng->lock);
	kind = eng->runtime.halt.kind && eng->runtime.halt.kind != HALT_FOR_GOOD && !eng->runtime.halt.again && !eng->door.stopping ? eng->runtime.halt.kind : (enum halt)0;
	pthread_mutex_unlock(&eng->lock);
	return kind;
}

void engine_halt_ends(struct nfs4r_engine *eng)
{
	pthread_mutex_lock(&eng->lock);
	bool first = !eng->runtime.halt.again && !eng->door.stopping;

	eng->runtime.halt.again = true;
	pthread_mutex_unlock(&eng->lock);
	if (!first)
		return;
	engine_log(eng, NFS4R_LOG_INFO, "volume %s: the cause of the halt is gone: this server %s", eng->cfg.volume_name,
		   eng->ops->again ? "restarts, and returns to the active view by itself" : "can be restarted");
	if (eng->ops->again)
		eng->ops->again(eng->ctx);
}
