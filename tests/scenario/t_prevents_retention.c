/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The rules about what is kept for whom (log 3.11, 3.12, 8.5), each with and without (see prevents.h). */
#include <stdio.h>

#include "scenario/ends.h"
#include "scenario/prevents.h"

#include "lib/unit.h"

/* Q has what P did and S, a member, does not get it. */
static void s_is_slow(struct net *n)
{
	ends_begin(n, "d/ d/f d/g", NFS4R_DURABILITY_COMMIT);
	net_drop(n, 0, S, NFS4R_MSG_ENTRIES);
	for (int i = 0; i < 3; i++)
		chmod_(n, P, "d/f");
	net_run(n, SILENCE / 2);
	net_stable(n, P);
	net_stable(n, Q);
	net_run(n, SILENCE / 2);
	net_beyond(n, P, 0);
	net_beyond(n, Q, 0);
}

/* It is a member as long as its answers are waited for: nothing that it still has to get goes. */
static bool members_lose_nothing(struct net *n)
{
	s_is_slow(n);
	net_run(n, SILENCE / 4);
	net_pass(n);
	return all_equal(n) && until_back(n) && n->s[S].repairs == 0;
}

static bool who_is_too_slow_is_removed(struct net *n)
{
	s_is_slow(n);
	return until_removed(n, P, S, 8 * LEASE);
}

static bool who_is_late_copies_everything(struct net *n)
{
	s_is_slow(n);
	if (!until_removed(n, P, S, 8 * LEASE))
		return false;
	net_run(n, LEASE);
	net_pass(n);
	return until_back(n) && all_equal(n);
}

static const struct prevents list[] = {
	{ "log 3.11: members lose nothing", F_DROP_UNSTABLE, members_lose_nothing },
	{ "log 3.12: who is too slow is removed", F_SLOW_STAYS, who_is_too_slow_is_removed },
	{ "log 8.5: who is late copies everything", F_LATE_WAITS, who_is_late_copies_everything },
};

int main(void)
{
	return prevents_main(list, sizeof(list) / sizeof(list[0]));
}
