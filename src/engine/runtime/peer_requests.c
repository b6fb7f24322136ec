/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What another server asks for and has not been answered (control 6.11): reads (server.c), sums (verify_sum.c), and forwarded operations, which the core has.
 * Each server may have so many questions, and so much memory, under way here. Beyond that no more of its requests are read (nfs4r_rpc_hold), until half of them are answered:
 * what it sends waits in its own memory. No question waits for the asker to read an answer, so two servers that hold each other go on.
 *
 * Answers that the asker does not read are bounded in another way: no large one is made while many bytes of them wait.
 *
 * When the server is gone nobody wants its answers. The reads and sums that wait are dropped at once, and a sum ends between two pieces. Forwarded operations end as always.
 *
 * Invariant: each taken question is dropped once, with the same number of bytes, so a server is never held for good.
 */
#include "engine/runtime/runtime.h"

void engine_asked_init(struct nfs4r_engine *eng)
{
	for (int i = 0; i <= NFS4R_SERVERS_MAX; i++)
		pthread_mutex_init(&eng->asked[i].lock, NULL);
}

void engine_asked_fini(struct nfs4r_engine *eng)
{
	for (int i = 0; i <= NFS4R_SERVERS_MAX; i++)
		pthread_mutex_destroy(&eng->asked[i].lock);
}

void engine_asked_take(struct nfs4r_engine *eng, nfs4r_server_id from, uint64_t bytes)
{
	struct asked *a = &eng->asked[from];

	pthread_mutex_lock(&a->lock);
	a->n++;
	a->bytes += bytes;
	if (!a->held && (a->n >= ASKED_MAX || a->bytes >= ASKED_BYTES_MAX)) {
		a->held = true;
		nfs4r_rpc_hold(eng->rpc, from, true);
	}
	pthread_mutex_unlock(&a->lock);
}

void engine_asked_drop(struct nfs4r_engine *eng, nfs4r_server_id from, uint64_t bytes)
{
	struct asked *a = &eng->asked[from];

	pthread_mutex_lock(&a->lock);
	a->n--;
	a->bytes -= bytes;
	if (a->held && !eng->stopping && a->n <= ASKED_MAX / 2 && a->bytes <= ASKED_BYTES_MAX / 2) {
		a->held = false;
		nfs4r_rpc_hold(eng->rpc, from, false);
	}
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

void engine_asked_peer_down(struct nfs4r_engine *eng, nfs4r_server_id peer)
{
	eng->asked_era[peer]++;
	engine_pool_forget(eng->executors, peer);
}
