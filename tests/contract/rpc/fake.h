/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A peer played by hand, on blocking sockets: says HELLO as it should, then what a test wants. */
#ifndef NFS4R_TEST_RPC_FAKE_H
#define NFS4R_TEST_RPC_FAKE_H

#include "contract/rpc/world.h"
#include "xdr_hello.h"

struct fake {
	struct world_server *to;
	int fd[NFS4R_LANES];
	struct nfs4r_hello hello; /* of lane 0; lane is set for each */
};

/* HELLO that @as would send to @to. */
void fake_hello(struct nfs4r_hello *h, const struct world_server *as, const struct world_server *to);
void fake_tell(int fd, const struct nfs4r_transport_msg_body *m);
/* Number of the message that follows on lane BULK. */
void fake_tell_number(int fd, uint64_t number);
void fake_tell_hello(int fd, const struct nfs4r_hello *h);
/* Next message of the transport that is no KEEPALIVE; false: the connection ended. */
bool fake_hear(int fd, struct nfs4r_transport_msg_body *m);
/* All lanes up, from host of @as, with incarnation and session of f->hello. */
void fake_call(struct fake *f, const struct world_server *as, struct world_server *to, uint64_t session);
void fake_close(struct fake *f);
/* Bytes as they are; errors are ignored, the other side may have closed. */
void fake_write(int fd, const void *bytes, size_t len);
void fake_record(int fd, struct nfs4r_buf *b); /* whole, behind its mark. @b is used up */

#endif
