/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What must be so when nobody has asked for anything for a while: everybody a member, no control anywhere, no claim,
 * no operation, no entry on its way, all logs applied everywhere and truncated; and then every
 * tree is the oracle's: versions, names, contents, link counts, parents; nothing unreachable.
 */
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))

static bool first_control(void *arg, const struct nfs4r_control_info *i)
{
	*(struct nfs4r_control_info *)arg = *i;
	return false;
}

static bool server_quiet(struct server *v, char *why, size_t len)
{
	struct sim *s = v->sim;
	struct nfs4r_control_info info = { .owner = 0 };
	struct nfs4r_core_stats st;

	if (!v->up || !v->ready) {
		snprintf(why, len, "S%u is not %s", v->id, v->up ? "recovered" : "up");
		return false;
	}
	nfs4r_core_each_control(v->core, first_control, &info);
	nfs4r_core_get_stats(v->core, &st);
	if (info.owner) {
		snprintf(why, len, "S%u still has control of %s by S%u (claim %llu, depth %u, kind %u%s%s), and %llu + %llu operations", v->id,
			 oid_name(s, &info.control.oid), info.owner, ULL(info.pid.seq), info.control.depth, info.kind,
			 info.won ? ", won" : "", info.closing ? ", closing" : "", ULL(st.ops_waiting), ULL(st.ops_executing));
		return false;
	}
	if (st.claims || st.ops_waiting || st.ops_executing || st.pending_entries || v->ops || v->applying) {
		snprintf(why, len, "S%u has %llu claims, %llu + %llu operations, %llu entries left", v->id,
			 ULL(st.claims), ULL(st.ops_waiting), ULL(st.ops_executing), ULL(st.pending_entries));
		return false;
	}
	return true;
}

static bool logs_quiet(struct sim *s, char *why, size_t len)
{
	for (uint32_t i = 1; i <= s->plan.servers; i++) {
		struct server *v = &s->servers[i];

		for (uint32_t log = 1; log <= s->plan.servers; log++) {
			nfs4r_lsn end = s->servers[log].own_next - 1;

			if (v->applied[log] != end || v->stable[log] != end || v->kept[log].n) {
				snprintf(why, len, "log %u ends at %s, S%u has it applied to %s, stable to %s, truncated to %s, keeps %u",
					 log, lsn_str(end), i, lsn_str(v->applied[log]), lsn_str(v->stable[log]),
					 lsn_str(v->truncated[log]), v->kept[log].n);
				return false;
			}
		}
	}
	return true;
}

bool check_quiet(struct sim *s, char *why, size_t len)
{
	why[0] = 0;
	for (uint32_t i = 1; i <= s->plan.servers; i++)
		if (!server_quiet(&s->servers[i], why, len))
			return false;
	if (s->locker && !locking_quiet(s, why, len))
		return false;
	return (!s->plan.lease_ms || (views_quiet(s, why, len) && settings_quiet(s, why, len))) && logs_quiet(s, why, len);
}

/* ---- trees ------------------------------------------------------------------------- */

static void same_tree(struct sim *s, struct server *v)
{
	char a[300], b[300];

	for (uint32_t i = 0; i < s->nobjs; i++) {
		const struct row *r = tree_get(&v->tree, i), *o = tree_get(&s->oracle, i);

		if (r->version == o->version && row_hash(r) == row_hash(o))
			continue;
		row_print(s, r, a, sizeof(a));
		row_print(s, o, b, sizeof(b));
		sim_fail(s, "at the end %s at S%u is %s, should be %s", obj_str(s, i), v->id, a, b);
	}
}

static void sound_tree(struct sim *s)
{
	const struct tree *t = &s->oracle;
	uint32_t *links = calloc(s->nobjs, sizeof(*links));
	uint32_t bad = UINT32_MAX;

	for (uint32_t i = 0; i < s->nobjs; i++)
		for (uint32_t k = 0; k < tree_get(t, i)->nnames; k++)
			links[tree_get(t, i)->names[k].obj]++;
	for (uint32_t i = 1; i < s->nobjs; i++) {
		const struct row *r = tree_get(t, i);

		if (r->state != ROW_KNOWN ? links[i] != 0 : (links[i] != r->nlink || r->nparents != r->nlink))
			bad = i;
		if (r->state == ROW_KNOWN && !r->multi && !tree_below(t, i, 0))
			bad = i;
	}
	free(links);
	if (bad != UINT32_MAX)
		sim_fail(s, "at the end %s has names, links and parents that do not fit together", obj_str(s, bad));
}

void check_equal(struct sim *s)
{
	for (uint32_t i = 1; i <= s->plan.servers; i++)
		same_tree(s, &s->servers[i]);
	sound_tree(s);
}
