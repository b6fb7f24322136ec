/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What another server asks for and has not been answered (control 6.11): reads (server.c), sums (verify_sum.c), and forwarded operations, which the core has.
 * Each server may have so many questions, and so much memory, under way here. Beyond that no more of its requests are read (nfs4r_rpc_pause), until half of them are answered:
 * what it sends waits in its own memory. No question waits for the asker to read an answer, so two servers that hold each other go on.
 *
 * So many in a tenth of a second are enough, too, however fast they are answered: else one that asks without end would have the processors that this server's own clients need.
 *
 * Answers that the asker does not read are bounded in another way: no large one is made while many bytes of them wait. Small ones are; whoever asks for so many more without
 * reading is faulty, and is disconnected.
 *
 * When the server is gone nobody wants its answers. The reads and sums that wait are dropped at once, and a sum ends between two pieces. Forwarded operations end as always.
 *
 * Invariant: each taken question is dropped once, with the same number of bytes, so a server is never held for good.
 */
#include <assert.h>
#include <stdio.h>

#include "engine/runtime/runtime.h"

void engine_asked_init(struct nfs4r_engine *eng)
{
	for (int i = 0; i <= NFS4R_SERVERS_MAX; i++)
		pthread_mutex_init(&eng->runtime.asked[i].lock, NULL);
}

void engine_asked_fini(struct nfs4r_engine *eng)
{
	for (int i = 0; i <= NFS4R_SERVERS_MAX; i++)
		pthread_mutex_destroy(&eng->runtime.asked[i].lock);
}

void engine_asked_take(struct nfs4r_engine *eng, nfs4r_server_id from, uint64_t bytes)
{
	struct asked *a = &eng->runtime.asked[from];
	uint64_t now = engine_now_ms();

	pthread_mutex_lock(&a->lock);
	a->n++;
	a->bytes += bytes;
	if (now >= a->window_ms + ASKED_WINDOW_MS) {
		a->window_ms = now;
		a->taken = 0;
	}
	a->taken++;
	if (!a->paused && (a->n >= ASKED_MAX || a->bytes >= ASKED_BYTES_MAX || a->taken >= ASKED_MAX)) {
		a->paused = true;
		nfs4r_rpc_pause(eng->rpc, from, true);
	}
	pthread_mutex_unlock(&a->lock);
}

/* Under its lock. */
static void go_on(struct nfs4r_engine *eng, nfs4r_server_id from)
{
	struct asked *a = &eng->runtime.asked[from];

	if (!a->paused || eng->door.stopping || a->n > ASKED_MAX / 2 || a->bytes > ASKED_BYTES_MAX / 2 || (a->taken >= ASKED_MAX && engine_now_ms() < a->window_ms + ASKED_WINDOW_MS))
		return;
	a->paused = false;
	nfs4r_rpc_pause(eng->rpc, from, false);
}

void engine_asked_expire(struct nfs4r_engine *eng)
{
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++) {
		pthread_mutex_lock(&eng->runtime.asked[s].lock);
		go_on(eng, s);
		pthread_mutex_unlock(&eng->runtime.asked[s].lock);
	}
}

void engine_asked_drop(struct nfs4r_engine *eng, nfs4r_server_id from, uint64_t bytes)
{
	struct asked *a = &eng->runtime.asked[from];

	pthread_mutex_lock(&a->lock);
	assert(a->n > 0 && a->bytes >= bytes);
	a->n--;
	a->bytes -= bytes;
	go_on(eng, from);
	pthread_mutex_unlock(&a->lock);
}

void engine_asked_forward(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m)
{
	if (!m->op || m->op->id.origin != from) /* the core drops it at once */
		return;
	m->op->asked = nfs4r_msg_memory(m);
	engine_asked_take(eng, from, m->op->asked);
}

void engine_asked_forward_over(struct nfs4r_engine *eng, struct nfs4r_op *op)
{
	if (!op || !op->asked)
		return;
	engine_asked_drop(eng, op->id.origin, op->asked);
	op->asked = 0;
}

bool engine_asked_is_slow(struct nfs4r_engine *eng, nfs4r_server_id from)
{
	return nfs4r_rpc_answers(eng->rpc, from) > ANSWERS_BYTES_MAX;
}

bool engine_asked_in_vain(struct nfs4r_engine *eng, nfs4r_server_id from, uint32_t type)
{
	char why[NFS4R_WHY];
	uint64_t waits;

	if (type != NFS4R_MSG_READ && type != NFS4R_MSG_VERIFY && type != NFS4R_MSG_FORWARD)
		return false;
	waits = nfs4r_rpc_answers(eng->rpc, from);
	if (waits <= ANSWERS_BYTES_MAX + (uint64_t)eng->cfg.executors * NFS4R_IO_MAX + ANSWERS_SMALL_MAX)
		return false;
	snprintf(why, sizeof(why), "keeps sending requests but does not read the answers: %llu KiB of answers wait", (unsigned long long)(waits >> 10));
	nfs4r_rpc_blame(eng->rpc, from, why);
	return true;
}

void engine_asked_peer_down(struct nfs4r_engine *eng, nfs4r_server_id peer)
{
	eng->runtime.asked_era[peer]++;
	engine_pool_forget(eng->runtime.executors, peer);
}
