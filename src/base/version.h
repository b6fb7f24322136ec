/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Versions of the protocol and of the disk format (docs/decisions/0046-versions-that-live-together.md). A program knows all from the lowest to
 * the highest. Two servers speak the highest that both know.
 */
#ifndef NFS4R_BASE_VERSION_H
#define NFS4R_BASE_VERSION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define NFS4R_PROTOCOL_VERSION 9 /* the highest that this release speaks */
#define NFS4R_PROTOCOL_LOWEST 9 /* 8 and older have no range in HELLO: with them only servers of the same protocol can speak */
/*
 * The next protocol, as tests rehearse it: HEARTBEAT has one more member. No release speaks it. Programs that are built with
 * -DNFS4R_REHEARSAL=ON do, and servers of tests whose configuration says so.
 */
#define NFS4R_PROTOCOL_REHEARSED (NFS4R_PROTOCOL_VERSION + 1)
#define NFS4R_DISK_FORMAT 1
#define NFS4R_DISK_FORMAT_LOWEST 1
#define NFS4R_DISK_FORMAT_REHEARSED (NFS4R_DISK_FORMAT + 1) /* row 'W' is longer */
#ifdef NFS4R_REHEARSAL
#define NFS4R_PROTOCOL_HIGHEST NFS4R_PROTOCOL_REHEARSED
#define NFS4R_DISK_FORMAT_HIGHEST NFS4R_DISK_FORMAT_REHEARSED
#else
#define NFS4R_PROTOCOL_HIGHEST NFS4R_PROTOCOL_VERSION /* that this program speaks */
#define NFS4R_DISK_FORMAT_HIGHEST NFS4R_DISK_FORMAT /* that it reads, and writes when the volume has it */
#endif

struct nfs4r_versions {
	uint32_t lowest, highest; /* both 0: not known */
};

/*
 * What a volume has of its own, by its view (log 6.16). Nothing is said to servers, or written, that came with a later protocol or format than these, although all
 * servers may know it: any of them may be put back to the release before.
 */
struct nfs4r_volume_settings {
	uint32_t protocol, disk_format; /* both 0: no view has said them yet, as in volumes of before */
};

#define NFS4R_PROTOCOL_FIRST 9 /* of a volume whose view does not say it */
#define NFS4R_DISK_FORMAT_FIRST 1

static inline struct nfs4r_volume_settings nfs4r_volume_has(const struct nfs4r_volume_settings *said)
{
	return said->protocol ? *said : (struct nfs4r_volume_settings){ NFS4R_PROTOCOL_FIRST, NFS4R_DISK_FORMAT_FIRST };
}

#define NFS4R_VERSIONS_TEXT 26 /* bytes of "4294967295 to 4294967295" and a NUL */

/* The highest that both know; 0: there is none. */
static inline uint32_t nfs4r_versions_common(struct nfs4r_versions a, struct nfs4r_versions b)
{
	uint32_t lowest = a.lowest > b.lowest ? a.lowest : b.lowest, highest = a.highest < b.highest ? a.highest : b.highest;

	return lowest <= highest ? highest : 0;
}

static inline bool nfs4r_versions_have(struct nfs4r_versions v, uint32_t version)
{
	return v.lowest <= version && version <= v.highest;
}

/* "9", "9 to 10". */
static inline const char *nfs4r_versions_text(struct nfs4r_versions v, char out[NFS4R_VERSIONS_TEXT])
{
	if (v.lowest == v.highest)
		snprintf(out, NFS4R_VERSIONS_TEXT, "%u", v.highest);
	else
		snprintf(out, NFS4R_VERSIONS_TEXT, "%u to %u", v.lowest, v.highest);
	return out;
}

#endif
