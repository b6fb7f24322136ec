/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What `nfs4rctl controls` shows, as JSON: the control table, and the operations in the core with what they wait for.
 * Rows are copied while eng->lock is held, everything that costs time (names, text) happens after. Where there are more
 * controls than an answer takes, deep ones come before shallow ones: those decide for many objects.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/admin/admin_int.h"

static json_t *oid_text(const struct nfs4r_oid *oid)
{
	char buf[NFS4R_OID_STRLEN];

	return json_string(nfs4r_oid_str(oid, buf));
}

static json_t *server_or_null(nfs4r_server_id s)
{
	return s ? json_integer(s) : json_null();
}

/* ---- rows, copied under eng->lock ---- */

struct rows {
	uint32_t n, nwaiting;
	uint32_t shallow; /* when all are taken: no row from here on is shallow */
	uint64_t total;
	struct nfs4r_core_stats stats;
	struct nfs4r_control_info *v; /* CTL_CONTROLS_MAX */
	struct nfs4r_waiting_info *w; /* CTL_WAITING_MAX */
};

static bool keep_row(void *arg, const struct nfs4r_control_info *i)
{
	struct rows *r = arg;

	r->total++;
	if (r->n < CTL_CONTROLS_MAX) {
		r->v[r->n++] = *i;
		r->shallow = r->n;
		return true;
	}
	if (i->control.depth == NFS4R_SHALLOW)
		return true;
	while (r->shallow && r->v[r->shallow - 1].control.depth != NFS4R_SHALLOW)
		r->shallow--;
	if (r->shallow)
		r->v[--r->shallow] = *i;
	return true;
}

static bool keep_waiting(void *arg, const struct nfs4r_waiting_info *i)
{
	struct rows *r = arg;

	r->w[r->nwaiting++] = *i;
	return r->nwaiting < CTL_WAITING_MAX;
}

static void copy_rows(struct nfs4r_engine *eng, struct rows *r)
{
	pthread_mutex_lock(&eng->lock);
	nfs4r_core_each_control(eng->core, keep_row, r);
	nfs4r_core_each_waiting(eng->core, keep_waiting, r);
	nfs4r_core_get_stats(eng->core, &r->stats);
	pthread_mutex_unlock(&eng->lock);
}

/* ---- controls ---- */

static const char *depth_name(uint32_t depth)
{
	return depth == NFS4R_SHALLOW ? "shallow" : depth == NFS4R_DEEP ? "deep" :
		depth == NFS4R_DEEP_PLUS				? "deep+" :
									  "?";
}

static const char *kind_name(uint32_t kind)
{
	return kind == NFS4R_PROPOSED ? "proposed" : kind == NFS4R_CREATED ? "created" :
		kind == NFS4R_MOVED					   ? "moved" :
									     "?";
}

/* Of own claims only; null for those of others. */
static void add_own(json_t *row, const struct nfs4r_control_info *i, bool own)
{
#define OWN(key, value) json_object_set_new(row, key, own ? (value) : json_null())
	OWN("acks", admin_server_list(i->acks));
	OWN("ops_waiting", admin_num(i->waiting));
	OWN("ops_executing", admin_num(i->executing));
	OWN("ends_in_ms", i->ends_in_ms >= 0 ? json_integer(i->ends_in_ms) : json_null());
	OWN("closes_at", i->closing ? admin_num(i->closes_at) : json_null());
	OWN("wanted_by", server_or_null(i->wanted_by));
	OWN("reads_served", admin_num(i->reads_served));
	OWN("policy", json_boolean(i->policy));
#undef OWN
}

static json_t *counts_below(const struct nfs4r_control_info *i)
{
	json_t *out = json_object();
	char key[8];

	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (i->below[s]) {
			snprintf(key, sizeof(key), "%u", s);
			json_object_set_new(out, key, admin_num(i->below[s]));
		}
	return out;
}

static json_t *control_row(struct ctl_paths *pf, const struct nfs4r_control_info *i)
{
	bool own = i->owner == admin_paths_engine(pf)->cfg.rpc.self;
	char pid[40];
	json_t *row;

	snprintf(pid, sizeof(pid), "%u.%llu", i->pid.server, (unsigned long long)i->pid.seq);
	row = json_pack("{s:o, s:o, s:i, s:s, s:s, s:s, s:s, s:o, s:o, s:i, s:o}", "oid", oid_text(&i->control.oid), "path",
			admin_path_json(pf, &i->control.oid), "owner", i->owner, "depth", depth_name(i->control.depth), "kind",
			kind_name(i->kind), "state", own && i->closing ? "closing" : i->won ? "won" :
											      "proposing",
			"pid", pid,
			"acting", own ? json_boolean(i->acting) : json_null(), "acked_by_all",
			own ? json_boolean(i->acked_by_all) : json_null(), "attempts", (int)i->prio.attempts, "below",
			counts_below(i));
	if (row)
		add_own(row, i, own);
	return row;
}

/* ---- waiting operations ---- */

static const char *wait_key(enum nfs4r_wait w)
{
	static const char *const keys[] = { [NFS4R_WAIT_OBJECT] = "object", [NFS4R_WAIT_ELECTION] = "election", [NFS4R_WAIT_OTHERS] = "others", [NFS4R_WAIT_PRIMARY] = "primary", [NFS4R_WAIT_ENTRY] = "entry", [NFS4R_WAIT_LOCAL] = "local", [NFS4R_WAIT_REPLY] = "reply" };

	return w < sizeof(keys) / sizeof(keys[0]) && keys[w] ? keys[w] : "?";
}

static const char *wait_text(enum nfs4r_wait w)
{
	static const char *const texts[] = {
		[NFS4R_WAIT_OBJECT] = "waiting for its object to arrive or for this server's recovery",
		[NFS4R_WAIT_ELECTION] = "waiting for its election",
		[NFS4R_WAIT_OTHERS] = "waiting for another server's release or for its time slice",
		[NFS4R_WAIT_PRIMARY] = "forwarded, waiting for the primary's answer",
		[NFS4R_WAIT_ENTRY] = "answered by the primary, waiting for its entry to be applied here",
		[NFS4R_WAIT_LOCAL] = "executing here",
		[NFS4R_WAIT_REPLY] = "executed, waiting until every server knows of it",
	};

	return w < sizeof(texts) / sizeof(texts[0]) && texts[w] ? texts[w] : "?";
}

static json_t *waiting_row(struct ctl_paths *pf, const struct nfs4r_waiting_info *i)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:s, s:s, s:o, s:o, s:o, s:b, s:o}", "op", nfs4r_op_name(i->op), "oid",
			 oid_text(&i->obj), "path", admin_path_json(pf, &i->obj), "name",
			 i->name.len ? admin_json_text(i->name.s) : json_null(), "wait", wait_key(i->wait), "state",
			 wait_text(i->wait), "on", admin_server_list(i->on), "waited_ms", admin_num(i->waited_ms), "attempts",
			 admin_num(i->attempts), "remote", i->remote, "from", server_or_null(i->remote ? i->from : 0));
}

/* ---- the answer ---- */

static json_t *answer(struct ctl_paths *pf, const struct rows *r)
{
	uint64_t operations = r->stats.ops_waiting + r->stats.ops_executing;
	json_t *controls = json_array(), *waiting = json_array();

	for (uint32_t i = 0; i < r->n; i++)
		json_array_append_new(controls, control_row(pf, &r->v[i]));
	for (uint32_t i = 0; i < r->nwaiting; i++)
		json_array_append_new(waiting, waiting_row(pf, &r->w[i]));
	return json_pack("{s:i, s:o, s:o, s:b, s:o, s:o, s:b, s:o}", "server", admin_paths_engine(pf)->cfg.rpc.self, "servers", admin_server_list(admin_paths_engine(pf)->membership.servers), "total",
			 admin_num(r->total), "truncated", r->total > r->n, "controls", controls, "waiting_total", admin_num(operations),
			 "waiting_truncated", operations > r->nwaiting, "waiting", waiting);
}

json_t *admin_report_controls(struct nfs4r_engine *eng)
{
	struct rows *r = calloc(1, sizeof(*r));
	struct ctl_paths *pf = admin_paths_new(eng);
	json_t *out = NULL;

	if (r) {
		r->v = malloc(CTL_CONTROLS_MAX * sizeof(r->v[0]));
		r->w = malloc(CTL_WAITING_MAX * sizeof(r->w[0]));
	}
	if (r && r->v && r->w && pf) {
		copy_rows(eng, r);
		out = answer(pf, r);
	}
	if (r) {
		free(r->v);
		free(r->w);
	}
	free(r);
	admin_paths_free(pf);
	return out;
}
