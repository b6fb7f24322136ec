/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* For scenarios in which logs end: servers with views on, who is a member, who serves, and clients that try again. */
#ifndef NFS4R_TESTS_ENDS_H
#define NFS4R_TESTS_ENDS_H

#include "scenario/trees.h"

#define LEASE 1000
#define SILENCE 1000

void ends_begin(struct net *n, const char *paths, enum nfs4r_durability durability); /* the tree, then views on */
struct net *ends_net(uint32_t servers, const char *paths, enum nfs4r_durability durability); /* so many servers with that */
void ends_well(struct net *n); /* all come back, nobody controls anything, and all trees are equal. Frees @n */
/* S has control of d/f, which everybody acked, and updates it once more with an entry that nobody gets in the next @ms. */
void lonely_update(struct net *n, uint64_t ms);
/* After that S dies, and Q takes d/f over; false: it cannot. */
bool lonely_update_is_lost(struct net *n);
/* S is back with that, which was given up, and undoes it with P's copy when net_let_repair() says so; it does not hear Q. False: it does not come so far. */
bool about_to_undo(struct net *n);
/* S wrote d/f @count times; everybody has the first WRITE, those in @late with bytes of the last, and nobody gets more. The LSN of the first. */
nfs4r_lsn late_writes(struct net *n, const char *paths, nfs4r_servers late, uint32_t count);
bool both_have(struct net *n, nfs4r_lsn lsn); /* P and Q, of S */
struct nfs4r_core_view view_of(struct net *n, nfs4r_server_id s);
bool serves(struct net *n, nfs4r_server_id s);
bool sealed_at(struct net *n, nfs4r_server_id s, nfs4r_server_id log, nfs4r_lsn *lsn); /* the newest seal of @log in the view of @s */
/* Each server in turn stops, and starts as a release that knows these as well; all are back. False: they do not come. */
bool replace_all(struct net *n, uint32_t protocol, uint32_t disk_format);
void cut_off(struct net *n, nfs4r_server_id s);
void empty_disk(struct net *n, nfs4r_server_id s); /* it crashes, and starts again with a disk on which there is nothing */
/* Until @s goes by a view without @gone; false: it does not come. */
bool until_removed(struct net *n, nfs4r_server_id s, nfs4r_server_id gone, uint64_t ms);
bool until_sealed(struct net *n, nfs4r_server_id s, nfs4r_server_id log, uint64_t ms);
bool all_back(struct net *n); /* all are members and serve */
bool until_back(struct net *n);
bool are_all(struct net *n, nfs4r_servers set); /* they go by views with exactly these as servers, voters and members, serve, and were told nothing else (log 9.3) */
bool until_all_are(struct net *n, nfs4r_servers set);
/* As a client does: again after DELAY, for so long. The last answer. */
enum nfs4r_status keep_trying_chmod(struct net *n, nfs4r_server_id s, const char *path, uint64_t ms);
void expect_equal(struct net *n, nfs4r_server_id a, nfs4r_server_id b); /* the trees of these two, in ten leases */
bool all_equal(struct net *n); /* nobody controls anything, and the trees are equal */

#endif
