/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The policy as control sees it. */
#include "core/policy/policy_int.h"

const struct policy_ops nfs4r_policy = {
	.others = policy_others,
	.acked = policy_acked,
	.won = policy_won,
	.lost = policy_lost,
	.revoked = policy_revoked,
	.wants = policy_wants,
	.wanted = policy_wanted,
	.may_close = policy_may_close,
	.is_read = policy_yield_is_read,
	.yield_over = policy_yield_over,
	.regret = policy_yield_regret,
	.opened = policy_yield_opened,
};
