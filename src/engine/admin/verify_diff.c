/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Two copies of an object: do they differ, and in which words. Pure. */
#include "engine/admin/admin_int.h"

bool admin_verify_differs(const struct verify_side *here, const struct verify_side *there)
{
	return here->status != NFS4R_OK || there->status != NFS4R_OK || here->version != there->version ||
		memcmp(here->sum, there->sum, sizeof(here->sum)) != 0;
}

static bool is_missing(const struct verify_side *s)
{
	return s->status == NFS4R_UNKNOWN || s->status == NFS4R_ORPHAN || s->status == NFS4R_STALE;
}

const char *admin_verify_what(const struct verify_side *here, const struct verify_side *there)
{
	if (here->status == NFS4R_DELAY || there->status == NFS4R_DELAY)
		return "changing";
	if (is_missing(there))
		return "missing there";
	if (is_missing(here))
		return "missing here";
	if (there->status != NFS4R_OK)
		return "unreadable there";
	if (here->status != NFS4R_OK)
		return "unreadable here";
	if (here->version == there->version)
		return "content";
	return memcmp(here->sum, there->sum, sizeof(here->sum)) ? "version" : "version only";
}

static const char *problem(enum nfs4r_status st)
{
	switch (st) {
	case NFS4R_UNKNOWN:
		return "not there yet";
	case NFS4R_ORPHAN:
		return "deleted";
	case NFS4R_STALE:
		return "the object is known, but its file is gone from the exported directory";
	case NFS4R_DELAY:
		return "the object changed during every try";
	default:
		return nfs4r_status_str(st);
	}
}

json_t *admin_verify_side_json(const struct verify_side *side)
{
	if (side->status != NFS4R_OK)
		return json_pack("{s:s}", "problem", problem(side->status));
	return json_pack("{s:I, s:I}", "version", (json_int_t)side->version, "bytes", (json_int_t)side->bytes);
}
