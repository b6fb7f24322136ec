/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * For scenarios of hierarchical control: three servers with a tree that was there before, objects
 * called by their paths, and questions about depths.
 *
 * P = server 1, Q = server 2, S = server 3, as in the rules.
 */
#ifndef NFS4R_TESTS_TREES_H
#define NFS4R_TESTS_TREES_H

#include "scenario/net.h"

#define P 1
#define Q 2
#define S 3
#define RTT(n) (2 * (n)->delay)

/* "d/ d/f e/h=d/h": directories end in /, e/h is a second name of d/h. Made by P; nobody controls anything afterwards. */
void tree(struct net *n, const char *paths);
/* Three servers with that tree, the policy on with its defaults, 100 ms after a revoke; started anew, so nobody remembers anything. */
struct net *net_policy(const char *paths);
/* The object at @path ("" is the root) on the tree of server 1. It must be there. */
struct nfs4r_oid at(struct net *n, const char *path);

struct client *create(struct net *n, nfs4r_server_id s, const char *dir, const char *name);
struct client *unlink_(struct net *n, nfs4r_server_id s, const char *dir, const char *name);
struct client *chmod_(struct net *n, nfs4r_server_id s, const char *path);
struct client *write_(struct net *n, nfs4r_server_id s, const char *path);
/* The same, run until they end well, and until everybody has heard of it. */
void do_create(struct net *n, nfs4r_server_id s, const char *dir, const char *name);
void do_chmod(struct net *n, nfs4r_server_id s, const char *path);
void do_claim(struct net *n, nfs4r_server_id s, const char *path, uint32_t depth);

/* Depth of @owner's explicit control of @path that is won and not closing; 0: none. */
uint32_t depth_of(struct net *n, nfs4r_server_id owner, const char *path);
/* Has @owner asked for explicit control of @path, and not won it yet? */
bool asking(struct net *n, nfs4r_server_id owner, const char *path);
/* READs of @path that @owner answers for others. */
void reads(struct net *n, nfs4r_server_id owner, const char *path, uint32_t count);
void revoke(struct net *n, nfs4r_server_id from, nfs4r_server_id to, const char *path, uint32_t attempts);
struct nfs4r_core_stats stats(struct net *n, nfs4r_server_id s);

/* Made by P. */
struct nfs4r_oid mkdir_in(struct net *n, const struct nfs4r_oid *d, const char *name);
struct nfs4r_oid file_in(struct net *n, const struct nfs4r_oid *d, const char *name);
bool soon(struct net *n, const struct client *c); /* it ends within 200 ms */
void deaf(struct net *n); /* S hears nothing of P's log and of its new claims from now on */
bool counts_right(struct net *n); /* what each core counts is what it has (nfs4r_core_check()) */

#endif
