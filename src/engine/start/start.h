/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a start does before and beside the work: recovery, import, the directories, and when a server begins to take part. */
#ifndef NFS4R_ENGINE_START_H
#define NFS4R_ENGINE_START_H

#include "engine/runtime/runtime.h"

/* ---- recover.c ---- */
/* Before started(): hand rows, positions, entries to the core. */
enum nfs4r_status start_recover_restore(struct nfs4r_engine *eng, const struct nfs4r_store_info *info, char *why);
/* After started(): decide undecided entries by evidence (log 4.5). */
void start_recover_intents(struct nfs4r_engine *eng, const struct nfs4r_store_info *info);
enum nfs4r_status start_recover_root(struct nfs4r_engine *eng, const struct nfs4r_store_info *info, char *why);

/* ---- online.c: when a server begins to take part ---- */
/*
 * The others are called, and let in, when the daemon as a whole has started, and after a pause if this server ended soon after its last starts. eng->rpc is there, and held. NFS4R_OK;
 * NFS4R_BADCONFIG or NFS4R_NOMEM with @why (512 bytes).
 */
enum nfs4r_status start_online_begin(struct nfs4r_engine *eng, char *why);
/* eng->door.stopping is set. Joins the thread; does nothing if there is none. */
void start_online_stop(struct nfs4r_engine *eng);

/* How long a server waits that ended soon after its last @starts, at most @most_ms. Pure. */
uint32_t start_online_pause_ms(uint32_t starts, uint32_t most_ms);
/* Starts in a row after which the server ended soon, and not in order. */
uint32_t start_online_starts(const struct nfs4r_engine *eng);

/*
 * ---- places.c: where the directories of a server lie, and whose copy the exported one is ----
 * Names are resolved to objects first, so that symbolic links, bind mounts and another spelling of a path make no difference. What is public of it: nfs4r_places_check() of engine.h.
 */
/* Extended attribute of a directory that is a copy of a volume: "UUID server N". Anything but FSAL_REPL that would export it reads this name, too (patches/). */
#define PLACES_MARK "trusted.nfs4r.volume"

/*
 * The exported directory @fd is taken for this process alone, until @fd is closed. NFS4R_OK, or NFS4R_LOCKED with @why (@len bytes). Does not block.
 */
enum nfs4r_status start_places_lock(int fd, const struct nfs4r_config *cfg, char *why, size_t len);

/*
 * Whether the exported directory is marked as another volume's copy, or as another server's of this one. NFS4R_MISMATCH: it is, and @why (@len bytes)
 * says whose, and what to do. Blocks on the disk.
 */
enum nfs4r_status start_places_whose(int fd, const struct nfs4r_config *cfg, char *why, size_t len);

/* Marks it as this server's. An errno value when that fails: the copy is right without a mark, and is only not protected. Blocks on the disk. */
int start_places_mark(int fd, const struct nfs4r_config *cfg);

/* ---- start_wait.c ---- */
void start_make_folder(const char *path); /* the last folder of @path, which may be missing; no error: whoever makes a file there tells */

/* ---- import.c ---- */
void *start_import_thread(void *eng);

/* ---- import_notes.c; any thread, without eng->lock. They block on the Store's disk ---- */
void start_import_notes_path(const struct nfs4r_engine *eng, enum import_note kind, char out[1100]);
void start_import_notes_load(struct nfs4r_engine *eng); /* before threads run: what earlier starts noted */
void start_import_notes_free(struct nfs4r_engine *eng); /* after them */
void start_import_notes_begin(struct nfs4r_engine *eng); /* this start meets again what was skipped */
void start_import_notes_add(struct nfs4r_engine *eng, enum import_note kind, const char *path, const char *why);

#endif
