/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Servers of a volume as far as the control socket looks at them: objects in memory behind the store's, the core's, the
 * transport's and the local file system's calls. The socket, the reports and the comparison are the shipped code.
 */
#ifndef TESTS_FAKE_ENGINE_H
#define TESTS_FAKE_ENGINE_H

#include "engine/admin/admin_int.h"
#include "engine/engine_int.h"
#include "engine/runtime/fs.h"

#define FAKE_OBJECTS 2048
#define FAKE_LOCKS 4
#define FAKE_SERVERS 3

struct fake_object {
	struct nfs4r_oid oid, parent;
	char name[64];
	uint32_t type, mode;
	nfs4r_version version;
	char *bytes; /* heap */
	uint32_t len;
	bool gone; /* not in the store */
	bool dead; /* ... and known to be deleted */
	bool lost; /* file is gone */
	bool unnamed; /* its name is gone from the disk */
};

struct fake {
	struct nfs4r_engine eng;
	pthread_mutex_t lock;
	struct nfs4r_lock_info locks[FAKE_LOCKS]; /* of its clients */
	uint32_t nlocks, nlocks_more; /* and so many more that are all the last one */
	bool locks_shared; /* they hold at all servers */
	struct nfs4r_core_lock decided[FAKE_LOCKS]; /* what the core knows then */
	uint32_t ndecided;
	struct nfs4r_file_lock row[FAKE_LOCKS]; /* of the file row_of; nobody controls it */
	struct nfs4r_oid row_of;
	uint32_t nrow;
	nfs4r_server_id decides; /* about all files that have no table here, and no row; 0: this one */
	struct nfs4r_core_deny denies[FAKE_LOCKS];
	uint32_t ndenies;
	struct nfs4r_control gap; /* depth 0: none */
	nfs4r_servers gap_lists, gap_clients;
	uint64_t gap_until_ms[NFS4R_SERVERS_MAX + 1];
	struct nfs4r_client_entry clients[FAKE_LOCKS];
	uint32_t nclients;
	struct fake_object obj[FAKE_OBJECTS];
	uint32_t n;
	bool up[NFS4R_SERVERS_MAX + 1]; /* peers as this server sees them */
	bool mute[NFS4R_SERVERS_MAX + 1]; /* peer answers nothing */
	struct nfs4r_core_peer peer[NFS4R_SERVERS_MAX + 1];
	nfs4r_lsn own_end;
	nfs4r_server_id may_give_up; /* that one may */
	_Atomic nfs4r_server_id abandoned; /* that one was */
	uint64_t lost;
	nfs4r_servers retained_for, late; /* what is kept for whom, and how much */
	struct nfs4r_store_retained kept;
	nfs4r_servers may_change; /* these may be added, taken out, stay alone */
	nfs4r_server_id refuses; /* adding it comes to nothing */
	enum nfs4r_security security; /* of the connections that are up */
	uint32_t files_wait, renew_wait; /* once two keys are known, so often the files of before are in use; then so often a connection is still proved with them */
	int64_t ends_s; /* of the own certificate, and of those of the peers; 0: never */
	uint32_t keys_wait; /* so often an old key may not go yet */
	nfs4r_server_id keys_lost; /* the first change of that one's keys comes to nothing, as if another view came first */
	uint32_t changes; /* looks at the view until what was asked for is done */
	bool refuses_set, loses_set; /* EV_SET: may_set() says no; it is forgotten */
	uint32_t sets; /* what was asked for */
	struct nfs4r_volume_settings may_finish; /* what an upgrade may be finished with; 0: it may not */
	uint32_t asked, silent_after; /* may_reconfigure(): how often; then server 3 is silent, and what is asked for is right */
	struct nfs4r_core_view view; /* get_view() carries on what was asked for */
	uint32_t ncontrols; /* that the control table says it has; on object i % n */
	const struct nfs4r_control_info *rows; /* instead, when set; ncontrols of them */
	uint32_t nwaiting; /* operations; waiting[i % 4] of them */
	struct nfs4r_waiting_info waiting[4];
	struct nfs4r_core_stats stats; /* but the number of controls and operations */
	struct nfs4r_core_room room;
	char foreign[64]; /* a name in the root directory's that only the disk has; empty: none */
	uint32_t mended;
	struct behind_counts behind;
	uint64_t saved; /* folders of undone updates */
	uint32_t reads, reads_changing; /* the next so many getattr move the version: an update under way */
};

/* A server with an empty volume; sockets in @folder. */
struct fake *fake_new(nfs4r_server_id self, const char *folder);
/* Stop all before the first is freed: they answer each other. */
void fake_stop(struct fake *f);
void fake_free(struct fake *f);
void fake_end(struct fake **all, unsigned n); /* both */
/* All of them see each other. */
void fake_connect(struct fake **all, unsigned n);
/* The same object on any server: equal arguments, equal OID. @parent 0 = root; returns its index. */
uint32_t fake_add(struct fake *f, uint32_t parent, const char *name, uint32_t type, const char *bytes);

#endif
