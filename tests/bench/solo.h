/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One core, server 1 of three, and nobody else: the benchmark plays its peers. Time is what the test says.
 * Only nfs4r_core_step() is timed, and only while `timing` is set.
 */
#ifndef NFS4R_BENCH_SOLO_H
#define NFS4R_BENCH_SOLO_H

#include "core/core.h"

#define SOLO_SELF 1
#define SOLO_PEERS_FROM 2
#define SOLO_PEERS_TO 3

struct solo {
	struct nfs4r_core *core;
	struct nfs4r_tree port;
	uint64_t now;
	bool timing;
	uint64_t ns; /* spent in timed steps */
	/* what the last step said */
	uint32_t sent[64]; /* messages by type */
	uint32_t ndone, nexecute, ncheckpoint;
	enum nfs4r_status status; /* of the last operation that ended */
	struct nfs4r_pid proposed; /* pid of the last PROPOSE */
	struct nfs4r_op *executing; /* of the last EXECUTE */
	struct nfs4r_entry *entry; /* of the last STARTED; ours */
	uint32_t nreleased; /* seqs of RELEASE to server 2 */
	uint64_t released[4 * NFS4R_BATCH_MAX];
	void (*keep_apply)(void *arg, struct nfs4r_entry *e); /* APPLY; takes the reference */
	void *arg;
};

/* Times that never end; nothing of the policy. */
void solo_config(struct nfs4r_core_config *cfg, const struct nfs4r_oid *root);
void solo_start(struct solo *s, const struct nfs4r_core_config *cfg, const struct nfs4r_tree *port);
void solo_stop(struct solo *s);
void solo_step(struct solo *s, struct nfs4r_event *ev);
void solo_tick(struct solo *s, uint64_t ms);
/* A message from @from; nothing of @m is taken over but what core.h says. */
void solo_msg(struct solo *s, nfs4r_server_id from, struct nfs4r_msg *m);
void solo_ack(struct solo *s, nfs4r_server_id from, struct nfs4r_pid pid);
void solo_propose(struct solo *s, nfs4r_server_id from, uint64_t seq, const struct nfs4r_control *v, uint32_t n);
void solo_release(struct solo *s, nfs4r_server_id from, uint64_t seq, uint64_t floor);
/* Confirms seqs [from, to) of released[]. */
void solo_released(struct solo *s, nfs4r_server_id from, const uint64_t *seqs, uint32_t n);
/* The peer has our log up to here. */
void solo_positions(struct solo *s, nfs4r_server_id from, nfs4r_lsn applied, nfs4r_lsn stable);
void solo_stable(struct solo *s, nfs4r_lsn lsn); /* of the own log, here */
/* OP, and after an EXECUTE LOCKED and EXECUTED. Returns whether it was executed. */
void solo_op(struct solo *s, struct nfs4r_op *op);
void solo_execute(struct solo *s, struct nfs4r_op *op, bool ok);

uint64_t mono_ns(void);
#define MUST(x)                                                                               \
	do {                                                                                  \
		if (!(x)) {                                                                   \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #x); \
			abort();                                                              \
		}                                                                             \
	} while (0)

#endif
