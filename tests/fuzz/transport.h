/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The shipped transport of server 2 of three, without its thread and without sockets: for targets that are fed with what comes over its connections.
 *
 * Its sockets take every byte, and bring what a target hands to fuzz_receive(). The program has to be linked as CMakeLists.txt says (nfs4r_add_transport_fuzzer()).
 */
#ifndef NFS4R_TESTS_FUZZ_TRANSPORT_H
#define NFS4R_TESTS_FUZZ_TRANSPORT_H

#include "fuzz/fuzz.h"
#include "rpc/rpc_internal.h"

#define FUZZ_SELF 2 /* it calls server 1, and server 3 calls it */

/* Server @id of the volume, at 127.0.0.@id; flavour `none`. */
void fuzz_transport_config(struct nfs4r_rpc_config *cfg, nfs4r_server_id id);
struct nfs4r_rpc *fuzz_transport_new(const struct nfs4r_rpc_config *cfg, const struct nfs4r_rpc_events *ev);
/* Closes all connections; none of them may be left. What the setups of flavours are is the caller's business. */
void fuzz_transport_free(struct nfs4r_rpc *rpc);

/* A connection that server @from has opened. */
struct rpc_conn *fuzz_accepted(struct nfs4r_rpc *rpc, nfs4r_server_id from);
/* Calls that the transport has made stand now. */
void fuzz_calls_stand(struct nfs4r_rpc *rpc);
/* A connection of a server that is up: lane and number of it. Nothing was said over it. */
struct rpc_conn *fuzz_standing(struct rpc_peer *p, enum nfs4r_lane lane, uint32_t index);
/* As the bytes come from a socket. False: the connection is gone, or held. */
bool fuzz_receive(struct rpc_conn *c, const uint8_t *bytes, size_t len);

/* What the transport writes. Of the target. */
void fuzz_sent(struct rpc_conn *c, const void *bytes, size_t len);

/* For struct nfs4r_rpc_events. */
void fuzz_up(void *ctx, nfs4r_server_id peer, uint64_t inc);
void fuzz_down(void *ctx, nfs4r_server_id peer, const char *why);
void fuzz_note(void *ctx, enum nfs4r_log_level level, const char *text);

#endif
