/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Room and limits of the volume (log 4.12): what `nfs4rctl status` says of them, as JSON. */
#include "engine/admin/admin_int.h"

static json_t *room_json(const struct nfs4r_room *r)
{
	return json_pack("{s:I, s:I, s:I}", "free", (json_int_t)r->free, "total", (json_int_t)r->total, "reserve", (json_int_t)r->reserve);
}

static json_t *servers_json(const struct nfs4r_core_room *room)
{
	json_t *all = json_array();

	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (room->of[s].known)
			json_array_append_new(all, json_pack("{s:i, s:b, s:o, s:o, s:o, s:b}", "server", (int)s, "member", room->of[s].member, "tree", room_json(&room->of[s].space.tree), "inodes", room_json(&room->of[s].space.inodes), "store", room_json(&room->of[s].space.store), "shared", room->of[s].space.shared));
	return all;
}

static json_t *limit_json(uint64_t v, nfs4r_server_id by)
{
	return by ? json_pack("{s:I, s:i}", "max", (json_int_t)(v > INT64_MAX ? INT64_MAX : v), "server", (int)by) : json_null();
}

static json_t *times_json(const struct nfs4r_core_room *room)
{
	return room->time_by ? json_pack("{s:I, s:I, s:i}", "first", (json_int_t)room->limits.time_min, "last", (json_int_t)room->limits.time_max, "server", (int)room->time_by) :
			       json_null();
}

static json_t *limits_json(const struct nfs4r_core_room *room)
{
	const struct nfs4r_limits *l = &room->limits;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:b}", "times", times_json(room), "file_bytes", limit_json(l->file_max, room->file_by), "attribute_bytes",
			 limit_json(l->xattr_max, room->xattr_by), "name_bytes", limit_json(l->name_max, room->name_by), "links",
			 limit_json(l->link_max, room->link_by), "link_text_bytes", limit_json(l->text_max, room->text_by), "attributes", (l->has & NFS4R_HAS_XATTRS) != 0, "acls", (l->has & NFS4R_HAS_ACLS) != 0,
			 "any_names", (l->has & NFS4R_HAS_BYTES) != 0, "attributes_share", !(l->has & NFS4R_HAS_ROOM_EACH));
}

json_t *admin_space_json(struct nfs4r_engine *eng)
{
	struct nfs4r_core_room room;
	char text[300];

	pthread_mutex_lock(&eng->lock);
	nfs4r_core_get_room(eng->core, &room);
	pthread_mutex_unlock(&eng->lock);
	bool refuses = engine_room_refuses(&room, text, sizeof(text));
	return json_pack("{s:o, s:o, s:o}", "refused", refuses ? json_string(text) : json_null(), "servers", servers_json(&room), "limits", limits_json(&room));
}
