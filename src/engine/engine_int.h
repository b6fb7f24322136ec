/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Inside of the engine. Each room is a folder, and calls only rooms below it. One file owns each part of the state:
 *
 *  the door          engine.c      life of the engine, the core's tree port, the transport's events, the timer
 *                    actions.c     which room carries out which action of the core
 *                    config.c      is the configuration one that can work?
 *                    shutdown.c    before a stop: letting go of control and of the lease
 *  admin/            ctl*.c        the control socket for nfs4rctl
 *                    verify*.c     comparing copies, and mending what differs
 *  start/            places.c      where the directories of a server lie
 *                    recover.c     undecided entries after a crash
 *                    online.c      when a server begins to take part
 *                    import.c      taking an existing tree in; import_notes.c: what of it was not taken, or not as it was
 *                    start_wait.c  why a daemon waits before it starts
 *  membership/       server_list.c who the servers of the volume are
 *                    view_report.c what is said about the active view
 *                    retention.c   what is kept for servers that are away
 *                    space.c       the room of this server, which the others are told of
 *  resync/           transfer.c    making this copy equal to another server's: conflicts.c, adopt_tree.c, fetch.c, names.c are its steps
 *                    crash_*.c     what a crash of the machine put in doubt
 *                    self_heal.c   objects that are gone behind NFS come back from another server
 *  read/             router.c      where reads go, asking peers
 *                    not_modified.c bytes that an owner need not send
 *                    server.c      what peers ask of this server; serve_copy.c: this copy as it is, for a server that repairs its own
 *  update/           ops.c         operations: waiting, locking, executing
 *                    parked.c      those that were begun and whose client has been told to ask again
 *                    permission.c  may the caller do that
 *                    execute.c     local execution of an operation, filling in its log entry; attribute_room.c: does it fit elsewhere
 *                    commit_wait.c waiting until a majority holds an update
 *                    lock_news.c   what becomes of requests for locks that wait
 *  replicate/        sender.c      entries to peers, payload memory, reading bytes back
 *                    applier.c     local execution of peers' entries
 *                    staging_dir.c objects without a place in the tree, and entries of which not all parts apply
 *                    foreign_names.c names that somebody changed behind NFS, where an update wants to be
 *  runtime/          core_driver.c the core and its lock; carries out updates
 *                    objects.c     questions about objects; servers.c: about the servers of the volume
 *                    group_commit.c actions that wait for the journal
 *                    checkpoint.c  checkpoints
 *                    halt.c        a server that cannot go on as it is, and what ends that
 *                    lease.c       may this server answer from its own copy; read_route.c: at which server a read is answered
 *                    control_filter.c lock-free filter in front of the control table
 *                    update_locks.c update locks (log 3.3)
 *                    byte_versions.c which update touched which part of a file last
 *                    suid.c        set-id bits of files that others than root write
 *                    in_doubt.c    what a crash put in doubt; missing.c: what is gone behind NFS
 *                    import_open.c what an import has begun with and not ended
 *                    peer_requests.c what other servers ask for, counted; wait_limit.c: threads that wait for other servers
 *                    handle_key.c  the check in clients' handles
 *                    volume_room.c what all servers have room for; fs.c, quota.c: room and limits of a file system
 *                    pool.c        threads that work off a queue
 *                    path.c, remedy.c  words for people
 *                    disk_names.c, xattrs.c, clock.c
 *
 * The state of an engine is in engine_state.h, with a part for each room in ROOM_state.h.
 *
 * This header is for the door, and for tests: it has all rooms. A room includes its own, and those below it that it needs.
 */
#ifndef NFS4R_ENGINE_INT_H
#define NFS4R_ENGINE_INT_H

#include "engine/admin/admin.h"
#include "engine/start/start.h"
#include "engine/membership/membership.h"
#include "engine/resync/resync.h"
#include "engine/read/read.h"
#include "engine/update/update.h"
#include "engine/replicate/replicate.h"
#include "engine/runtime/runtime.h"

/* ---- actions.c ---- */
extern const struct engine_actions engine_actions;

/* ---- shutdown.c ---- */
void engine_leave(struct nfs4r_engine *eng); /* before a stop */

#endif
