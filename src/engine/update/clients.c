/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The list of this server's clients, which all servers have (locks 7): who says that one begins, or is gone, waits until a majority holds it.
 *
 * Happy path: EV_CLIENT, the core makes an entry of it and asks the others for checkpoints, and CLIENT comes when it is held. Nothing is executed, and no control is needed.
 *
 * Failure modes: no majority, no lease, a stop: DELAY after op_wait_ms at the latest. What was said may count all the same, and saying it again does no harm.
 */
#include <errno.h>

#include "base/locked.h"
#include "engine/update/update_int.h"

struct client_wait { /* a thread that waits; eng->lock */
	struct client_wait *next;
	uint64_t id;
	bool over;
	enum nfs4r_status status;
	pthread_cond_t cond;
};

void update_client_said(struct nfs4r_engine *eng, uint64_t id, enum nfs4r_status st)
{
	assert(nfs4r_is_locked(&eng->lock));
	for (struct client_wait *w = eng->update.client_waits; w; w = w->next) {
		if (w->id != id)
			continue;
		w->over = true;
		w->status = st;
		pthread_cond_signal(&w->cond);
	}
}

void update_clients_wake(struct nfs4r_engine *eng)
{
	assert(nfs4r_is_locked(&eng->lock));
	for (struct client_wait *w = eng->update.client_waits; w; w = w->next)
		pthread_cond_signal(&w->cond);
}

static bool is_over(const struct nfs4r_engine *eng, const struct client_wait *w)
{
	return w->over || eng->door.stopping || eng->runtime.mute;
}

static void unlink_wait(struct nfs4r_engine *eng, struct client_wait *w)
{
	struct client_wait **at = &eng->update.client_waits;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
}

static enum nfs4r_status say(struct nfs4r_engine *eng, const struct nfs4r_client *client, bool begins)
{
	struct client_wait w = { .status = NFS4R_DELAY, .cond = PTHREAD_COND_INITIALIZER };
	struct timespec until = engine_after_us((uint64_t)eng->cfg.op_wait_ms * 1000);

	pthread_mutex_lock(&eng->lock);
	w.id = ++eng->update.next_client_wait;
	w.next = eng->update.client_waits;
	eng->update.client_waits = &w;
	if (!is_over(eng, &w))
		engine_step(eng, &(struct nfs4r_event){ .type = NFS4R_EV_CLIENT, .wait_id = w.id, .client = client, .ok = begins });
	while (!is_over(eng, &w) && pthread_cond_clockwait(&w.cond, &eng->lock, CLOCK_MONOTONIC, &until) != ETIMEDOUT)
		;
	unlink_wait(eng, &w);
	pthread_mutex_unlock(&eng->lock);
	pthread_cond_destroy(&w.cond);
	return w.status;
}

enum nfs4r_status nfs4r_client_begins(struct nfs4r_engine *eng, const uint64_t id[2], const char *name, const char *address, uint32_t minor)
{
	struct nfs4r_client k;

	if (strlen(name) > NFS4R_CLIENT_NAME_MAX || strlen(address) > NFS4R_CLIENT_ADDRESS_MAX)
		return NFS4R_NAMETOOLONG;
	memset(&k, 0, sizeof(k));
	memcpy(k.id, id, sizeof(k.id));
	k.minor = minor;
	memcpy(k.name, name, strlen(name));
	memcpy(k.address, address, strlen(address));
	return say(eng, &k, true);
}

enum nfs4r_status nfs4r_client_gone(struct nfs4r_engine *eng, const uint64_t id[2])
{
	struct nfs4r_client k;

	memset(&k, 0, sizeof(k));
	memcpy(k.id, id, sizeof(k.id));
	return say(eng, &k, false);
}

void nfs4r_client_reclaimed(struct nfs4r_engine *eng, const uint64_t id[2])
{
	struct nfs4r_client k;

	memset(&k, 0, sizeof(k));
	memcpy(k.id, id, sizeof(k.id));
	pthread_mutex_lock(&eng->lock);
	if (!eng->door.stopping && !eng->runtime.mute)
		engine_step(eng, &(struct nfs4r_event){ .type = NFS4R_EV_CLIENT_RECLAIMED, .client = &k });
	pthread_mutex_unlock(&eng->lock);
}

void nfs4r_locks_known(struct nfs4r_engine *eng)
{
	pthread_mutex_lock(&eng->lock);
	if (!eng->door.stopping && !eng->runtime.mute)
		engine_step(eng, &(struct nfs4r_event){ .type = NFS4R_EV_LOCKS_KNOWN });
	pthread_mutex_unlock(&eng->lock);
}

bool nfs4r_serves(struct nfs4r_engine *eng)
{
	return eng->runtime.ready && engine_may_answer(eng, engine_lease_era(eng));
}

void nfs4r_clients(struct nfs4r_engine *eng, nfs4r_server_id server, bool (*fn)(void *arg, const struct nfs4r_client_entry *k), void *arg)
{
	pthread_mutex_lock(&eng->lock);
	nfs4r_core_each_client(eng->core, server, fn, arg);
	pthread_mutex_unlock(&eng->lock);
}

uint32_t nfs4r_clients_count(struct nfs4r_engine *eng, nfs4r_server_id server)
{
	uint32_t n;

	pthread_mutex_lock(&eng->lock);
	n = nfs4r_core_clients(eng->core, server);
	pthread_mutex_unlock(&eng->lock);
	return n;
}
