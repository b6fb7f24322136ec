/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Who the servers are, what each has room for, what is kept for those that are away, and what is said about the view. */
#ifndef NFS4R_ENGINE_MEMBERSHIP_H
#define NFS4R_ENGINE_MEMBERSHIP_H

#include "engine/runtime/runtime.h"

/* ---- server_list.c; eng->lock held, or before threads run ---- */
/* The core's rows are restored. Returns the servers of the view, or with @logs here, that no Server block has while those alone say who the servers are. */
nfs4r_servers membership_begin(struct nfs4r_engine *eng, nfs4r_servers logs);
void membership_start(struct nfs4r_engine *eng); /* say how they differ from the configuration */
void membership_go_online(struct nfs4r_engine *eng, struct nfs4r_rpc_config *cfg); /* fills in who the transport's peers are. eng->lock not held */
void membership_tell(struct nfs4r_engine *eng); /* the transport, which runs */
void membership_adopted(struct nfs4r_engine *eng); /* ACT_SERVERS */
/* What a server that was taken out has to be told. Returns @buf. */
const char *membership_come_back(const struct nfs4r_engine *eng, char *buf, size_t len);

/* ---- view_report.c ---- */
bool membership_view_create(struct nfs4r_engine *eng); /* eng->membership.seen, which free() ends. False: no memory */
bool membership_view_forgot(const struct nfs4r_engine *eng); /* this server's store, at any time since its start. eng->lock held */
/* After a step: write a line if the view or the lease changed. @type of the event, and of its message. eng->lock held. */
void membership_view_watch(struct nfs4r_engine *eng, uint32_t type, uint32_t msg_type);
void membership_view_start(struct nfs4r_engine *eng); /* after started(); eng->lock held */
/* The store is new and the tree is not, and nobody said what is to be done with it: a line that does. */
bool membership_view_is_strange(const struct nfs4r_engine *eng, char *why, size_t len);
/* Complain about round trips that the configured times do not fit, and about having stood still. Timer's thread, no lock held. */
void membership_view_check_rtt(struct nfs4r_engine *eng, uint64_t now);
void membership_view_check_late(struct nfs4r_engine *eng, uint64_t late_ms, uint64_t now);
/* Complain about clocks of the day that differ, and say when they do no more. Timer's thread, no lock held. */
void membership_view_check_clocks(struct nfs4r_engine *eng, uint64_t now);

/* ---- retention.c: what is kept for servers that are away ---- */
struct retention_facts {
	struct nfs4r_store_retained kept;
	nfs4r_servers retained_for, late; /* as nfs4r_core_retained_for() */
};
void membership_retention_init(struct nfs4r_engine *eng);
void membership_retention_look_at_bound(struct nfs4r_engine *eng); /* eng->lock held */
void membership_retention_collect(struct nfs4r_engine *eng, struct retention_facts *f); /* eng->lock held */
/* What an administrator should know before the bound is passed, and after. False: nothing. */
bool membership_retention_warning(const struct nfs4r_engine *eng, const struct retention_facts *f, char *text, size_t len);

/* ---- identities.c: which users the names of Kerberos are, here and at the others; any thread, no lock needed ---- */
struct identities;
struct identities *membership_identities_create(void); /* NULL: no memory */
void membership_identities_destroy(struct identities *ids); /* NULL: nothing */
void membership_identities_heard(struct nfs4r_engine *eng, nfs4r_server_id peer, const struct nfs4r_msg *m); /* IDENTITIES */
void membership_identities_connected(struct nfs4r_engine *eng, nfs4r_server_id peer, bool is);
void membership_identities_tell(struct nfs4r_engine *eng); /* the others; timer's thread */
/* For people: a name that is another user at that server, and how many more; empty: there is none. */
void membership_identities_differ(struct nfs4r_engine *eng, nfs4r_server_id peer, char *text, size_t len);

/* ---- space.c: the room of this server (log 4.12) ---- */
struct spacer;
struct spacer *membership_space_create(struct nfs4r_engine *eng);
/* The core has started, nobody hears this server yet; no lock held. BADCONFIG, with the reason: the file system of the exported directory takes different names for one. */
enum nfs4r_status membership_space_begin(struct spacer *s, char *why);
bool membership_space_run(struct spacer *s);
void membership_space_stop(struct spacer *s); /* it is NULL or was not run: nothing */
void membership_space_destroy(struct spacer *s);

#endif
