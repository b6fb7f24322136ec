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
#include <string.h>

#define NFS4R_PROTOCOL_VERSION 10 /* the highest that this release speaks */
#define NFS4R_PROTOCOL_LOWEST 9 /* 8 and older have no range in HELLO: with them only servers of the same protocol can speak */
/*
 * Locks that hold at all sites (docs/decisions/0054-the-data-of-locks.md): operations, messages, the effect LOCKS, lists of clients. Nothing of it is said or written before the
 * volume has this protocol and this disk format.
 */
#define NFS4R_PROTOCOL_LOCKS 10
/*
 * The protocol after all these, as tests rehearse it: HEARTBEAT has one more member. No release speaks it. Programs that are built with
 * -DNFS4R_REHEARSAL=ON do, and servers of tests whose configuration says so.
 */
#define NFS4R_PROTOCOL_REHEARSED (NFS4R_PROTOCOL_LOCKS + 1)
#define NFS4R_DISK_FORMAT_LOWEST 1
#define NFS4R_DISK_FORMAT_LOCKS 2 /* lists of locks and of clients */
#define NFS4R_DISK_FORMAT NFS4R_DISK_FORMAT_LOCKS /* the highest that this release writes */
#define NFS4R_DISK_FORMAT_REHEARSED (NFS4R_DISK_FORMAT_LOCKS + 1) /* row 'W' is longer */
#if defined(NFS4R_REHEARSAL)
#define NFS4R_PROTOCOL_HIGHEST NFS4R_PROTOCOL_REHEARSED
#define NFS4R_DISK_FORMAT_HIGHEST NFS4R_DISK_FORMAT_REHEARSED
#else
#define NFS4R_PROTOCOL_HIGHEST NFS4R_PROTOCOL_VERSION /* that this program speaks */
#define NFS4R_DISK_FORMAT_HIGHEST NFS4R_DISK_FORMAT /* that it reads, and writes when the volume has it */
#endif

struct nfs4r_versions {
	uint32_t lowest, highest; /* both 0: not known */
};

/* Keys of the configuration whose values are the volume's (log 6.17). In a server's file they count until the first view has said them. */
struct nfs4r_volume_keys {
	uint32_t durability; /* enum nfs4r_durability; 0: no view has said any of these yet */
	uint32_t directory_reads; /* enum nfs4r_directory_reads */
	uint32_t round_trip_ms, lease_ms, silence_ms; /* Max_Round_Trip, Lease, Failure_Timeout */
	uint32_t drift_permille; /* Clock_Drift */
	uint32_t ends; /* 1: the log of a server that is removed from the view ends with that; never with local, nor at once when it was local */
};

#define NFS4R_VOLUME_TIME_MAX 600000 /* ms, of each time */
#define NFS4R_VOLUME_LEASE_MAX 60000

/* None of them is said, or all are, and they go together. */
static inline bool nfs4r_volume_keys_ok(const struct nfs4r_volume_keys *k)
{
	if (!k->durability)
		return !k->directory_reads && !k->round_trip_ms && !k->lease_ms && !k->silence_ms && !k->drift_permille && !k->ends;
	return k->durability <= 3 && k->directory_reads >= 1 && k->directory_reads <= 2 && k->round_trip_ms >= 1 && k->round_trip_ms <= NFS4R_VOLUME_TIME_MAX && k->lease_ms >= 1 &&
		k->lease_ms <= NFS4R_VOLUME_LEASE_MAX && k->silence_ms >= k->lease_ms / 2 && k->silence_ms >= 1 && k->silence_ms <= NFS4R_VOLUME_TIME_MAX && k->drift_permille <= 500 &&
		k->ends <= (k->durability > 1);
}

enum nfs4r_volume_key { /* one that nfs4rctl set changes */
	NFS4R_VOLUME_DURABILITY = 1,
	NFS4R_VOLUME_DIRECTORY_READS = 2,
	NFS4R_VOLUME_ROUND_TRIP = 3,
	NFS4R_VOLUME_LEASE = 4,
	NFS4R_VOLUME_SILENCE = 5,
	NFS4R_VOLUME_DRIFT = 6
};

/*
 * What a volume has of its own, by its view (log 6.16). Nothing is said to servers, or written, that came with a later protocol or format than these, although all
 * servers may know it: any of them may be put back to the release before.
 */
struct nfs4r_volume_settings {
	uint32_t protocol, disk_format; /* both 0: no view has said them yet, as in volumes of before */
	struct nfs4r_volume_keys keys;
};

#define NFS4R_PROTOCOL_FIRST 9 /* of a volume whose view does not say it */
#define NFS4R_DISK_FORMAT_FIRST 1

static inline struct nfs4r_volume_settings nfs4r_volume_has(const struct nfs4r_volume_settings *said)
{
	return said->protocol ? *said : (struct nfs4r_volume_settings){ .protocol = NFS4R_PROTOCOL_FIRST, .disk_format = NFS4R_DISK_FORMAT_FIRST };
}

static inline bool nfs4r_volume_settings_equal(const struct nfs4r_volume_settings *a, const struct nfs4r_volume_settings *b)
{
	return memcmp(a, b, sizeof(*a)) == 0; /* nothing but numbers of 32 bits */
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
