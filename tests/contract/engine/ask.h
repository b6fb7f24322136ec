/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The control sockets of a cluster's servers. */
#ifndef NFS4R_TESTS_ASK_H
#define NFS4R_TESTS_ASK_H

#include "cluster.h"
#include "ctl/ctl.h"

#define VERIFY_TEXT 4096

/* Fails the test if it cannot be had. */
struct ctl_conn *cluster_ctl(struct cluster *c, int id);
/* Exit status of a verify of everything, asked at server @id; what differs, in one text. */
uint64_t cluster_verify(struct cluster *c, int id, char text[VERIFY_TEXT]);
/*
 * Fails the test unless server @id finds all copies equal. A server that serves need not be connected with every other one yet, so
 * a verify that could not reach one is repeated, five seconds at most. A difference fails at once.
 */
void cluster_verify_equal(struct cluster *c, int id);

#endif
