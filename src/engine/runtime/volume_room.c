/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What all servers of the volume have room for, and can hold, as far as the core was told (log 4.12); and the same for people. */
#include <stdio.h>

#include "engine/runtime/runtime.h"

#define FULL_BYTES 65536 /* less than that of a share: most clients hear "no space" by now */
#define FULL_STORE 8192

void engine_get_room(struct nfs4r_engine *eng, struct nfs4r_core_room *out)
{
	pthread_mutex_lock(&eng->lock);
	nfs4r_core_get_room(eng->core, out);
	pthread_mutex_unlock(&eng->lock);
}

void nfs4r_volume_room(struct nfs4r_engine *eng, struct nfs4r_volume_room *out)
{
	struct nfs4r_core_room room;

	engine_get_room(eng, &room);
	*out = (struct nfs4r_volume_room){ .bytes_known = room.bytes.server, .inodes_known = room.inodes.server, .bytes = room.bytes.room, .inodes = room.inodes.room, .limits = room.limits };
}

/* ---- for people ---- */

static void text_of_bytes(char buf[32], uint64_t n)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	double v = (double)n;
	unsigned u = 0;

	for (; v >= 1024 && u < 4; u++)
		v /= 1024;
	snprintf(buf, 32, u ? "%.1f %s" : "%.0f %s", v, units[u]);
}

static void text_of_room(char *text, size_t len, nfs4r_server_id who, const struct nfs4r_room *r, const char *where)
{
	char left[32], all[32], kept[32];

	text_of_bytes(left, r->free);
	text_of_bytes(all, r->total);
	text_of_bytes(kept, r->reserve);
	snprintf(text, len, "server %u has %s free of %s on the file system of %s, of which %s are reserved (Free_Min)", who, left, all, where, kept);
}

bool engine_room_refuses(const struct nfs4r_core_room *room, char *text, size_t len)
{
	const struct nfs4r_core_least *b = &room->bytes, *i = &room->inodes, *st = &room->store;

	if (b->server && b->share < FULL_BYTES) {
		text_of_room(text, len, b->server, &room->of[b->server].space.tree, "the exported directory");
	} else if (i->server && i->share < 1) {
		const struct nfs4r_room *r = &room->of[i->server].space.inodes;

		snprintf(text, len, "server %u has %llu inodes free of %llu on the file system of the exported directory, of which %llu are reserved", i->server,
			 (unsigned long long)r->free, (unsigned long long)r->total, (unsigned long long)r->reserve);
	} else if (st->server && st->share < FULL_STORE) {
		text_of_room(text, len, st->server, &room->of[st->server].space.store, "Store");
	} else {
		return false;
	}
	return true;
}
