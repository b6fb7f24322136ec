/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Scenarios that run twice, with a rule and without it: with it what the rule protects is kept,
 * without it that is broken, so the scenario can see it. Linked with the core whose rules can be
 * switched off.
 */
#ifndef NFS4R_TESTS_PREVENTS_H
#define NFS4R_TESTS_PREVENTS_H

#include "core/fault.h"
#include "scenario/net.h"

struct prevents {
	const char *name;
	uint32_t fault;
	bool (*fn)(struct net *n); /* servers that just started; true: kept */
};

/* Runs all of @list; what main() returns. */
int prevents_main(const struct prevents *list, size_t n); /* with three servers */
int prevents_with(const struct prevents *list, size_t n, uint32_t servers);

#endif
