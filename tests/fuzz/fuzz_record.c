/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What comes over the connections of a peer: the shipped transport behind sockets that take every byte and bring what the input says.
 *
 * Input: a byte of flags (UP: server 3 is up, all its connections stand; QUEUED: entries wait to be sent to it; CALLED: this server calls server 1), then
 * pieces: a byte (bits 0-2: connection; bits 3-5: in how many reads), two of length, the bytes. A connection that is not there is one that server 3 opens.
 */
#include "fuzz/transport.h"
#include "xdr_map.h"

enum {
	UP = 1,
	QUEUED = 2,
	CALLED = 4
};
#define CONNS 8

static struct rpc_conn *conns[CONNS];

void fuzz_sent(struct rpc_conn *c, const void *bytes, size_t len)
{
}

/* ---- the transport's user ---- */

static void message(void *ctx, nfs4r_server_id from, struct nfs4r_msg *m)
{
	if (m->type == NFS4R_MSG_GRANT)
		nfs4r_rpc_blame(ctx, from, "no lease was asked for");
	nfs4r_msg_fini(m);
	free(m);
}

static struct nfs4r_rpc *transport_new(void)
{
	const struct nfs4r_rpc_events ev = { .up = fuzz_up, .down = fuzz_down, .message = message, .log = fuzz_note };
	struct nfs4r_rpc_config cfg;
	struct nfs4r_rpc *rpc;

	fuzz_transport_config(&cfg, FUZZ_SELF);
	rpc = fuzz_transport_new(&cfg, &ev);
	rpc->ev.ctx = rpc;
	return rpc;
}

/* ---- connections ---- */

static void all_up(struct nfs4r_rpc *rpc, bool queued)
{
	struct rpc_peer *p = &rpc->peers[3];

	for (uint32_t i = 0; i < NFS4R_LANE_BULK + 2; i++)
		conns[i] = fuzz_standing(p, i < NFS4R_LANE_BULK ? i : NFS4R_LANE_BULK, i < NFS4R_LANE_BULK ? 0 : i - NFS4R_LANE_BULK);
	for (int i = 0; queued && i < 3; i++) {
		struct nfs4r_msg m = { .type = NFS4R_MSG_ENTRIES, .entries = { .log = FUZZ_SELF } };

		FUZZ_CHECK(nfs4r_rpc_send(rpc, 3, NFS4R_LANE_BULK, &m) == NFS4R_OK);
		rpc_bulk_flush(p);
	}
}

/* Calls that the transport has made stand. */
static void answer_calls(struct nfs4r_rpc *rpc)
{
	uint32_t k = 0;

	fuzz_calls_stand(rpc);
	for (struct rpc_conn *c = rpc->conns; c; c = c->next)
		if (c->caller && c->state != RPC_CONN_CLOSED && k < CONNS)
			conns[k++] = c;
}

/* Those that were closed are freed now, as by the loop. */
static void sweep(struct nfs4r_rpc *rpc)
{
	for (int i = 0; i < CONNS; i++)
		if (conns[i] && conns[i]->state == RPC_CONN_CLOSED)
			conns[i] = NULL;
	uv_run(&rpc->loop, UV_RUN_NOWAIT);
}

static void piece(struct nfs4r_rpc *rpc, struct fuzz_in *in)
{
	uint8_t head = fuzz_u8(in);
	size_t len, part, parts = 1 + (head >> 3 & 7);
	uint8_t *bytes = fuzz_bytes(in, fuzz_u16(in), &len);
	struct rpc_conn *c = conns[head & 7];

	if (!c)
		c = conns[head & 7] = fuzz_accepted(rpc, 3);
	for (size_t at = 0; at < len; at += part) {
		part = len / parts ? len / parts : 1;
		part = part < len - at ? part : len - at;
		if (!fuzz_receive(c, bytes + at, part))
			break;
	}
	free(bytes);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in in = { data, len };
	struct nfs4r_rpc *rpc = transport_new();
	uint8_t flags = fuzz_u8(&in);

	memset(conns, 0, sizeof(conns));
	if (flags & UP)
		all_up(rpc, flags & QUEUED);
	if (flags & CALLED) {
		rpc_peer_call(&rpc->peers[1], NFS4R_LANE_CONTROL);
		answer_calls(rpc);
	}
	for (int i = 0; in.left > 0 && i < 64; i++) {
		piece(rpc, &in);
		sweep(rpc);
		if (flags & CALLED)
			answer_calls(rpc);
	}
	for (nfs4r_server_id id = 1; id <= 3; id++)
		if (rpc->peers[id].known)
			rpc_bulk_tick(&rpc->peers[id], uv_now(&rpc->loop));
	fuzz_transport_free(rpc);
	return 0;
}
