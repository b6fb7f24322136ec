/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What `nfs4rctl locks` shows, as JSON: who has which range of which file, who waits for one, and since when. The engine's caller keeps the locks of this server's clients (lops.h) and is asked
 * for a copy; paths are found after that.
 */
#include <stdlib.h>

#include "engine/admin/admin_int.h"

static json_t *text_or_null(const char *s)
{
	return s[0] ? admin_json_text(s) : json_null();
}

static const char *state_name(enum nfs4r_lock_state state)
{
	switch (state) {
	case NFS4R_LOCK_SET:
		return "held";
	case NFS4R_LOCK_RESERVED:
		return "reserved";
	default:
		return "waiting";
	}
}

static json_t *lock_row(struct ctl_paths *paths, const struct nfs4r_lock_info *i)
{
	bool to_end = i->lock.last == UINT64_MAX;
	char oid[NFS4R_OID_STRLEN];

	return json_pack("{s:s, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "oid", nfs4r_oid_str(&i->oid, oid), "path", admin_path_json(paths, &i->oid), "state", state_name(i->state),
			 "type", i->lock.type == NFS4R_LOCK_READ ? "read" : "write", "start", admin_num(i->lock.start), "length",
			 to_end ? json_null() : admin_num(i->lock.last - i->lock.start + 1), "age_ms", admin_num(i->age_ms), "client", text_or_null(i->client), "address", text_or_null(i->address));
}

/* @oid NULL: of all files. */
static json_t *answer(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_lock_info *rows = malloc(CTL_LOCKS_MAX * sizeof(rows[0]));
	struct ctl_paths *paths = admin_paths_new(eng);
	json_t *list = json_array(), *out = NULL;
	uint32_t total, n;

	if (rows != NULL && paths != NULL && list != NULL) {
		total = eng->ops->locks(eng->ctx, oid, rows, CTL_LOCKS_MAX);
		n = total < CTL_LOCKS_MAX ? total : CTL_LOCKS_MAX;
		for (uint32_t i = 0; i < n; i++)
			json_array_append_new(list, lock_row(paths, &rows[i]));
		out = json_pack("{s:i, s:o, s:b, s:O}", "server", eng->cfg.rpc.self, "total", admin_num(total), "truncated", total > n, "locks", list);
	}
	json_decref(list);
	admin_paths_free(paths);
	free(rows);
	return out;
}

json_t *admin_report_locks(struct nfs4r_engine *eng, const json_t *req)
{
	const json_t *path = json_object_get(req, "path");
	struct verify_walk *w;
	struct verify_found found = { .path = NULL };
	enum nfs4r_status st;
	char why[NFS4R_WHY] = "out of memory";
	json_t *out;

	if (eng->ops->locks == NULL)
		return admin_error("the locks of this server's clients are not kept by this program");
	if (path == NULL)
		return answer(eng, NULL);
	if (!json_is_string(path))
		return admin_error("\"path\" must be a string");
	w = admin_verify_walk_new(eng, json_string_value(path), why);
	if (w == NULL || !admin_verify_walk_next(w, &found, &st))
		out = admin_error(why);
	else if (found.type != NFS4R_TYPE_FILE)
		out = admin_error("that is no file: only files have locks");
	else
		out = answer(eng, &found.oid);
	if (w != NULL) {
		free(found.path);
		admin_verify_walk_free(w);
	}
	return out;
}

json_t *admin_locks_json(struct nfs4r_engine *eng)
{
	struct nfs4r_locks_count n;

	if (eng->ops->count_locks == NULL)
		return json_null();
	eng->ops->count_locks(eng->ctx, &n);
	return json_pack("{s:o, s:o, s:o, s:o}", "files", admin_num(n.files), "held", admin_num(n.ranges), "waiting", admin_num(n.waiting), "max", admin_num(eng->cfg.lock_max));
}
