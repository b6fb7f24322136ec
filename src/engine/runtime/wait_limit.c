/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How many of the caller's threads may wait for other servers (docs/decisions/0036-handles-are-checked.md).
 *
 * Ganesha has a fixed number of workers, and each of them that waits here serves nobody. So at most waiting_max wait at a time; whoever comes then hears DELAY at
 * once, and reads of the own copy go on. Of these only UNANSWERED_MAX wait for what is not likely to come: nobody can say who has the object, or its owner is
 * down, or has let a question run into its time. What one of them waited for in vain is answered with DELAY for a second more.
 *
 * An update that this server may execute itself is counted when it first has to wait, since most never do. It may be executed by then, so it is not
 * refused any more: when all places are taken, updates are refused before they begin.
 */
#include <assert.h>
#include "engine/runtime/runtime.h"

#define UNANSWERED_MAX 8
#define REMEMBER_MS 1000

static bool take(_Atomic uint32_t *n, uint32_t max)
{
	uint32_t now = *n;

	while (now < max)
		if (atomic_compare_exchange_weak(n, &now, now + 1))
			return true;
	return false;
}

static struct vain *vain_of(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	return &eng->runtime.waiting.vain[nfs4r_oid_hash(oid) % VAIN];
}

static bool was_in_vain(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct vain *v = vain_of(eng, oid);
	bool is;

	pthread_mutex_lock(&eng->runtime.waiting.lock);
	is = engine_now_ms() < v->until_ms && nfs4r_oid_eq(&v->oid, oid);
	pthread_mutex_unlock(&eng->runtime.waiting.lock);
	return is;
}

enum waiting_kind engine_waiting_kind(const struct nfs4r_engine *eng, nfs4r_server_id to)
{
	if (to == eng->cfg.rpc.self)
		return WAITING_ANSWERED;
	return to && (eng->runtime.waiting.up & NFS4R_BIT(to)) && !(eng->runtime.waiting.mute & NFS4R_BIT(to)) ? WAITING_ANSWERED : WAITING_UNANSWERED;
}

bool engine_waiting_full(const struct nfs4r_engine *eng)
{
	return eng->cfg.waiting_max && eng->runtime.waiting.all >= eng->cfg.waiting_max;
}

bool engine_waiting_begin(struct nfs4r_engine *eng, enum waiting_kind kind, const struct nfs4r_oid *oid)
{
	bool rare = kind == WAITING_UNANSWERED;

	if (!eng->cfg.waiting_max) {
		eng->runtime.waiting.all++;
		return true;
	}
	if (rare && (was_in_vain(eng, oid) || !take(&eng->runtime.waiting.unanswered, UNANSWERED_MAX))) {
		eng->runtime.waiting.refused++;
		return false;
	}
	if (take(&eng->runtime.waiting.all, eng->cfg.waiting_max))
		return true;
	if (rare)
		eng->runtime.waiting.unanswered--;
	eng->runtime.waiting.refused++;
	return false;
}

void engine_waiting_must(struct nfs4r_engine *eng)
{
	eng->runtime.waiting.all++;
}

void engine_waiting_end(struct nfs4r_engine *eng, enum waiting_kind kind)
{
	uint32_t all = eng->runtime.waiting.all--, unanswered = 1;

	if (kind == WAITING_UNANSWERED && eng->cfg.waiting_max)
		unanswered = eng->runtime.waiting.unanswered--;
	assert(all > 0 && unanswered > 0);
}

void engine_waiting_vain(struct nfs4r_engine *eng, nfs4r_server_id asked, const struct nfs4r_oid *oid)
{
	struct vain *v = vain_of(eng, oid);

	if (asked && asked != eng->cfg.rpc.self)
		atomic_fetch_or(&eng->runtime.waiting.mute, NFS4R_BIT(asked));
	pthread_mutex_lock(&eng->runtime.waiting.lock);
	v->oid = *oid;
	v->until_ms = engine_now_ms() + REMEMBER_MS;
	pthread_mutex_unlock(&eng->runtime.waiting.lock);
}

void engine_waiting_heard(struct nfs4r_engine *eng, nfs4r_server_id from)
{
	if (eng->runtime.waiting.mute & NFS4R_BIT(from))
		atomic_fetch_and(&eng->runtime.waiting.mute, ~NFS4R_BIT(from));
}

void engine_waiting_peer(struct nfs4r_engine *eng, nfs4r_server_id peer, bool up)
{
	if (up)
		atomic_fetch_or(&eng->runtime.waiting.up, NFS4R_BIT(peer));
	else
		atomic_fetch_and(&eng->runtime.waiting.up, ~NFS4R_BIT(peer));
	engine_waiting_heard(eng, peer);
}

/* ---- for the caller's own waits ---- */

bool nfs4r_may_wait(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	return !eng->cfg.waiting_max || (!engine_waiting_full(eng) && engine_waiting_kind(eng, nfs4r_read_server(eng, oid)) == WAITING_ANSWERED);
}

void nfs4r_wait_begin(struct nfs4r_engine *eng)
{
	engine_waiting_must(eng);
}

void nfs4r_wait_end(struct nfs4r_engine *eng)
{
	engine_waiting_end(eng, WAITING_ANSWERED);
}
