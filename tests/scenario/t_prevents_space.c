/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The rules about room and limits (log 4.12), each with and without (see prevents.h). */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"
#include "scenario/prevents.h"

#include "lib/unit.h"

#define BYTES 60000

static struct client *put(struct net *n, nfs4r_server_id s, const char *path)
{
	struct nfs4r_oid f = at(n, path);
	char text[BYTES + 1];

	memset(text, 'x', BYTES);
	text[BYTES] = 0;
	return op_write(n, s, &f, text, true);
}

/* S has so much, the others have plenty. */
static void begin(struct net *n, uint64_t bytes, const struct nfs4r_limits *limits)
{
	ends_begin(n, "d/ d/f d/g e/ e/f", NFS4R_DURABILITY_LOCAL);
	finish(n, chmod_(n, P, "d/f"));
	finish(n, chmod_(n, Q, "e/f"));
	for (nfs4r_server_id s = P; s <= S; s++)
		net_space(n, s, s == S ? bytes : UINT64_C(1) << 29, 500, s == S ? limits : &net_no_limits);
	net_run(n, 3 * n->delay);
}

static bool what_does_not_fit_is_not_executed(struct net *n)
{
	struct client *c;

	begin(n, 0, &net_no_limits);
	c = put(n, P, "d/f");
	net_run(n, 4 * n->delay);
	return !c->executed;
}

/* Room for one of them. */
static bool what_is_under_way_has_its_room(struct net *n)
{
	struct client *a, *b;

	begin(n, 6 * 100000, &net_no_limits);
	n->s[S].hold_apply = true;
	a = put(n, P, "d/f");
	b = put(n, P, "d/f");
	net_run(n, 4 * n->delay);
	return !(a->executed && b->executed);
}

/* Room for one, and two primaries that do not know of each other. */
static bool no_primary_takes_all(struct net *n)
{
	struct client *a, *b;

	begin(n, 100000, &net_no_limits);
	n->s[S].hold_apply = true;
	a = put(n, P, "d/f");
	b = put(n, Q, "e/f");
	net_run(n, 4 * n->delay);
	return !(a->executed && b->executed);
}

static bool what_another_cannot_hold_is_not_executed(struct net *n)
{
	struct nfs4r_limits l = { .file_max = 1000, .has = NFS4R_HAS_ALL };
	struct client *c;

	begin(n, UINT64_C(1) << 29, &l);
	c = put(n, P, "d/f");
	net_run(n, 4 * n->delay);
	return !c->executed;
}

static bool a_link_that_another_cannot_hold_is_not_executed(struct net *n)
{
	struct nfs4r_limits l = { .text_max = 4, .has = NFS4R_HAS_ALL };
	struct nfs4r_oid d;
	struct client *c;

	begin(n, UINT64_C(1) << 29, &l);
	d = at(n, "d");
	c = op_symlink(n, P, &d, "link", "12345");
	net_run(n, 4 * n->delay);
	return !c->executed;
}

static bool times_are_those_that_all_can_keep(struct net *n)
{
	struct nfs4r_limits l = { .time_min = INT32_MIN, .time_max = INT32_MAX, .has = NFS4R_HAS_ALL };
	struct client *c;
	struct nfs4r_oid f;

	begin(n, UINT64_C(1) << 29, &l);
	f = at(n, "d/f");
	c = op_times(n, P, &f, INT64_MAX, 0);
	net_run(n, 4 * n->delay);
	return c->op.attrs.atime < INT64_MAX;
}

static const struct prevents list[] = {
	{ "log 4.12: what does not fit is not executed", F_SPACE_IGNORED, what_does_not_fit_is_not_executed },
	{ "log 4.12: what is under way has its room", F_SPACE_UNDER_WAY, what_is_under_way_has_its_room },
	{ "log 4.12: no primary takes all", F_SPACE_WHOLE, no_primary_takes_all },
	{ "log 4.12: what another cannot hold is not executed", F_LIMITS_OWN, what_another_cannot_hold_is_not_executed },
	{ "log 4.12: a link that another cannot hold is not executed", F_LIMITS_OWN, a_link_that_another_cannot_hold_is_not_executed },
	{ "log 4.12: times are those that all can keep", F_LIMITS_OWN, times_are_those_that_all_can_keep },
};

int main(void)
{
	return prevents_main(list, sizeof(list) / sizeof(list[0]));
}
