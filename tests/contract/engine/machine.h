/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Machines that lose power, for a cluster that was made with `machines`. */
#ifndef NFS4R_TESTS_MACHINE_H
#define NFS4R_TESTS_MACHINE_H

#include "cluster.h"

/*
 * The machines of these servers lose power at one moment: of the exported directory and of the journal there is what was synced, and, if @seed is not 0, a
 * random part of the rest. What a thread is answered at a site whose `losses` changed meanwhile counts for nothing. They are not started again.
 */
void cluster_lose_power(struct cluster *c, nfs4r_servers which, unsigned seed);
/* The process of this server ends at one moment, and its machine goes on. It is not started again. */
void cluster_kill(struct cluster *c, int id);

bool site_journal_is_synced(struct site *s); /* as far as it goes */

#endif
