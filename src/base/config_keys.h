/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the table of keys (config.def) needs and gives: the words of tokens, a name for each key that is a number, and its default. */
#ifndef NFS4R_BASE_CONFIG_KEYS_H
#define NFS4R_BASE_CONFIG_KEYS_H

#include <stdint.h>

#include "base/limits.h"

#define NFS4R_REQUIRED 0 /* in place of a default: the key has to be written */
#define NFS4R_PEER_FILES "/etc/nfs4r/peer" /* with .key and .crt behind it: where a server's own key and certificate are unless its configuration says otherwise */

/* clang-format off: rows of macros */
/* T(word, value) for each word of a token; the value is what the field holds. */
#define NFS4R_TOKENS_Peer_Security(T)    \
	T("tls", NFS4R_SECURITY_TLS)     \
	T("krb5i", NFS4R_SECURITY_KRB5I) \
	T("krb5p", NFS4R_SECURITY_KRB5P) \
	T("none", NFS4R_SECURITY_NONE)
#define NFS4R_TOKENS_Peer_Security_Accept(T)                 \
	T("tls", NFS4R_SECURITY_BIT(NFS4R_SECURITY_TLS))     \
	T("krb5i", NFS4R_SECURITY_BIT(NFS4R_SECURITY_KRB5I)) \
	T("krb5p", NFS4R_SECURITY_BIT(NFS4R_SECURITY_KRB5P)) \
	T("none", NFS4R_SECURITY_BIT(NFS4R_SECURITY_NONE))
#define NFS4R_TOKENS_Peer_Ports(T) T("privileged", false) T("any", true)
#define NFS4R_TOKENS_Directory_Reads(T) T("strict", NFS4R_DIRECTORY_READS_STRICT) T("local", NFS4R_DIRECTORY_READS_LOCAL)
#define NFS4R_TOKENS_Durability(T) T("local", NFS4R_DURABILITY_LOCAL) T("commit", NFS4R_DURABILITY_COMMIT) T("majority", NFS4R_DURABILITY_MAJORITY)
#define NFS4R_TOKENS_Quotas(T) T("refuse", false) T("ignore", true)
/* clang-format on */

/* Words that the parser knows only so that the refusal can say what to write: see FSAL_REPL/config.c. */
#define NFS4R_SECURITY_KRB5_ALONE 100
#define NFS4R_REFUSED_TOKENS_Peer_Security(T) T("krb5", NFS4R_SECURITY_KRB5_ALONE)
#define NFS4R_REFUSED_TOKENS_Peer_Ports(T)
#define NFS4R_REFUSED_TOKENS_Directory_Reads(T)
#define NFS4R_REFUSED_TOKENS_Durability(T)
#define NFS4R_REFUSED_TOKENS_Quotas(T)

enum nfs4r_key {
#define KEY_NUMBER(block, name, ...) NFS4R_KEY_##name,
#include "base/config.def"
	NFS4R_KEYS
};

enum nfs4r_default {
#define KEY_NUMBER(block, name, field, home, there, def, ...) NFS4R_DEFAULT_##name = (int)(def),
#include "base/config.def"
};

enum nfs4r_trips { /* so many round trips a time is where it follows from Max_Round_Trip */
#define KEY_TRIPS(block, name, field, home, there, times, ...) NFS4R_TRIPS_##name = (times),
#include "base/config.def"
};

#endif
