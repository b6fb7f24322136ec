/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* recovery/: what a server does about its own past, and what it takes over from others. What it offers to the rooms above it. */
#ifndef NFS4R_CORE_RECOVERY_RECOVERY_H
#define NFS4R_CORE_RECOVERY_RECOVERY_H

#include "core/core_state.h"

/* amnesia.c: what this server's store remembers, and the others' (log 8.6) */
void recovery_memory_on_heartbeat(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void recovery_memory_adopted(struct nfs4r_core *c);
void recovery_memory_init(struct nfs4r_core *c);
void recovery_memory_started(struct nfs4r_core *c);
void recovery_memory_timers(struct nfs4r_core *c);

/* control_transfer.c: a new member takes over the controls */
void recovery_join_witnesses(struct nfs4r_core *c, nfs4r_servers removed, nfs4r_servers anew);
void recovery_join_new_view(struct nfs4r_core *c);
void recovery_join_again(struct nfs4r_core *c);
void recovery_join_heard(struct nfs4r_core *c, nfs4r_server_id from);
void recovery_join_peer_fresh(struct nfs4r_core *c, nfs4r_server_id s);
void recovery_join_started(struct nfs4r_core *c);
void recovery_join_timers(struct nfs4r_core *c);
void recovery_join_run(struct nfs4r_core *c);
void recovery_join_released(struct nfs4r_core *c, nfs4r_server_id s, uint64_t seq);
void recovery_join_on_msg(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void recovery_join_fini(struct nfs4r_core *c);

/* restart.c */
void recovery_restart_claims(struct nfs4r_core *c);
void recovery_restart_decided(struct nfs4r_core *c, struct nfs4r_entry *e, bool ok);

/* state_transfer.c: the sealed server itself, and copies that are ahead (log 8.3) */
void recovery_repair_anew(struct nfs4r_core *c);
void recovery_repair_peer_fresh(struct nfs4r_core *c, nfs4r_server_id s);
void recovery_repair_source_known(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void recovery_repair_check(struct nfs4r_core *c);
void recovery_repair_run(struct nfs4r_core *c);
void recovery_repair_done(struct nfs4r_core *c, const struct nfs4r_event *ev);

#endif
