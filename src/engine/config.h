/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the table of keys (base/config.def) gives besides nfs4r_config_init() and nfs4r_config_check(): ranges, the comparison of servers, names. */
#ifndef NFS4R_ENGINE_CONFIG_H
#define NFS4R_ENGINE_CONFIG_H

#include "base/config_keys.h"
#include "engine/engine.h"

/* Whether @value, as it is written in the file, is allowed for @key; else @why names the key and what to write. Pure. */
bool nfs4r_config_range(enum nfs4r_key key, uint64_t value, char *why, size_t why_len);
/* Gives to @rpc the keys that have to be equal on all servers and have no member of HELLO. Pure. */
void nfs4r_config_compare(const struct nfs4r_config *cfg, struct nfs4r_rpc_config *rpc);
/* @text, Key of the Server block of @e, into it: one or two fingerprints. NFS4R_OK, or BADCONFIG with what to write. Pure. */
enum nfs4r_status nfs4r_config_server_keys(const char *text, struct nfs4r_endpoint *e, char *why, size_t why_len);
/*
 * REPL { } has no key called @name, or not in the block where it was found: what to write instead, as half a sentence without an end. The key that it was renamed
 * to, the block that it belongs to, or the key whose name is nearest. Pure.
 */
void nfs4r_config_hint(const char *name, char *out, size_t out_len);

#endif
