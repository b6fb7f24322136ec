/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Updates retained for servers that are away (membership/retention.c), as JSON. */
#include "engine/admin/admin_int.h"
#include "engine/membership/membership.h"

json_t *admin_retention_json(struct nfs4r_engine *eng)
{
	struct retention_facts f;
	char text[300] = "";

	pthread_mutex_lock(&eng->lock);
	membership_retention_collect(eng, &f);
	pthread_mutex_unlock(&eng->lock);
	membership_retention_warning(eng, &f, text, sizeof(text));
	return json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "bytes", (json_int_t)f.kept.bytes, "bytes_max", (json_int_t)eng->membership.retention.bytes_max, "age_seconds",
			 (json_int_t)f.kept.age_s, "age_seconds_max", (json_int_t)eng->cfg.retention_s, "retained_for", admin_server_list(f.retained_for), "needs_full_copy", admin_server_list(f.late),
			 "warning", text[0] ? json_string(text) : json_null());
}
