/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A key of a server's configuration that the servers of a volume compare when they connect (HELLO). Its value is
 * text, as the administrator wrote it or would write it, since its only uses are a comparison and a line of the log.
 */
#ifndef NFS4R_BASE_HELLO_KEY_H
#define NFS4R_BASE_HELLO_KEY_H

#include <stdbool.h>

#define NFS4R_HELLO_KEYS_MAX 16
#define NFS4R_HELLO_KEY_MAX 31 /* bytes of a key */
#define NFS4R_HELLO_VALUE_MAX 255 /* bytes of a value; a longer one is shortened, with a checksum at its end */

struct nfs4r_hello_key {
	char key[NFS4R_HELLO_KEY_MAX + 1];
	char value[NFS4R_HELLO_VALUE_MAX + 1];
	bool differs; /* no two servers may have the same value; else all must have the same */
	bool reported; /* not on the wire: a difference is said, and nobody is refused for it */
};

#endif
