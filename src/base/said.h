/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How often one line of the log comes. Another server, or whoever can reach this one, may cause the same event as often as it likes; the log must not grow with that.
 * A caller keeps one limit for each cause and for each server that can bring it about. All functions are pure; any thread that has the limit to itself.
 */
#ifndef NFS4R_BASE_SAID_H
#define NFS4R_BASE_SAID_H

#include <stdbool.h>
#include <stdint.h>

#define NFS4R_SAID_INTERVAL_MS 60000

struct nfs4r_said { /* all zero: nothing was said */
	uint64_t begun_ms; /* the interval */
	uint32_t lines; /* that came in it */
	uint64_t more; /* that were left out since the last one that came */
};

/* May a line come at @now_ms (any clock that does not go back), if @max lines may in an interval? False: it is counted. True: *@more is how many were left out before it. */
bool nfs4r_said_may(struct nfs4r_said *s, uint64_t now_ms, uint32_t max, uint64_t *more);

/* The same number for texts that differ in decimal digits alone, since numbers change from one time to the next. */
uint64_t nfs4r_said_key(const char *text);

#endif
