/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The text of a UUID (RFC 4122, section 3). Pure; any thread. */
#ifndef NFS4R_BASE_UUID_H
#define NFS4R_BASE_UUID_H

#include <stdint.h>
#include <stdio.h>

#define NFS4R_UUID_TEXT 37 /* with the NUL */

/* 32 lower-case hexadecimal digits in five groups. Returns @out. */
static inline char *nfs4r_uuid_text(const uint8_t uuid[16], char out[NFS4R_UUID_TEXT])
{
	char *p = out;

	for (int i = 0; i < 16; i++)
		p += sprintf(p, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	return out;
}

#endif
