/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One or more messages of each kind with every member set, and journal entries: what the
 * golden vectors hold and where the fuzzers start.
 */
#ifndef NFS4R_TEST_VECTORS_H
#define NFS4R_TEST_VECTORS_H

#include "base/msg.h"
#include "xdr_hello.h"

enum vector_kind {
	VECTOR_MSG = 1,
	VECTOR_JOURNAL = 2,
	VECTOR_TRANSPORT = 3
};

struct vector {
	const char *name; /* protocol/golden/<name>.hex */
	enum vector_kind kind;
	void (*make)(void *zeroed); /* struct nfs4r_msg, nfs4r_entry or nfs4r_transport_msg_body */
	uint32_t protocol; /* of a message: as that one has it */
};

extern const struct vector vectors[];
extern const unsigned vector_count;

/* Bytes of the vector, made anew; one reference. */
struct nfs4r_buf *vector_encode(const struct vector *v);
/* A WRITE of @len bytes without them into a zeroed entry. */
void vector_write(struct nfs4r_entry *e, nfs4r_server_id log, nfs4r_lsn lsn, uint64_t len);
/* Deep comparison. */
bool msg_equal(const struct nfs4r_msg *a, const struct nfs4r_msg *b);
bool entry_equal(const struct nfs4r_entry *a, const struct nfs4r_entry *b, bool with_handle);

#endif
