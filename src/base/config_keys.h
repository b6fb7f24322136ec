/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the table of keys (config.def) needs and gives: the words of tokens, a name for each key that is a number, and its default. */
#ifndef NFS4R_BASE_CONFIG_KEYS_H
#define NFS4R_BASE_CONFIG_KEYS_H

#include <stdint.h>

#include "base/limits.h"

#define NFS4R_REQUIRED 0 /* in place of a default: the key has to be written */

/* clang-format off: rows of macros */
/* T(word, value) for each word of a token; the value is what the field holds. */
#define NFS4R_TOKENS_Peer_Security(T)      \
	T("none", NFS4R_SECURITY_NONE)     \
	T("krb5", NFS4R_SECURITY_NOT_YET)  \
	T("krb5i", NFS4R_SECURITY_NOT_YET) \
	T("krb5p", NFS4R_SECURITY_NOT_YET)
#define NFS4R_TOKENS_Peer_Ports(T) T("privileged", false) T("any", true)
#define NFS4R_TOKENS_Directory_Reads(T) T("strict", NFS4R_DIRECTORY_READS_STRICT) T("local", NFS4R_DIRECTORY_READS_LOCAL)
#define NFS4R_TOKENS_Durability(T) T("local", NFS4R_DURABILITY_LOCAL) T("commit", NFS4R_DURABILITY_COMMIT) T("majority", NFS4R_DURABILITY_MAJORITY)
#define NFS4R_TOKENS_Quotas(T) T("refuse", false) T("ignore", true)
/* clang-format on */

#define NFS4R_SECURITY_NOT_YET 100 /* Kerberos: known to the parser, so that the refusal can say what to write */

enum nfs4r_key {
#define KEY_NUMBER(block, name, ...) NFS4R_KEY_##name,
#include "base/config.def"
	NFS4R_KEYS
};

enum nfs4r_default {
#define KEY_NUMBER(block, name, field, home, there, def, ...) NFS4R_DEFAULT_##name = (int)(def),
#include "base/config.def"
};

#endif
