/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where the directories of a server lie, and whose copy the exported one is. Names are resolved to objects first, so that symbolic links,
 * bind mounts and another spelling of a path make no difference. What is public of it: nfs4r_places_check() of engine.h.
 */
#ifndef NFS4R_ENGINE_PLACES_H
#define NFS4R_ENGINE_PLACES_H

#include "engine/engine.h"

/* Extended attribute of a directory that is a copy of a volume: "UUID server N". Anything but FSAL_REPL that would export it reads this name, too (patches/). */
#define PLACES_MARK "trusted.nfs4r.volume"

/*
 * The exported directory @fd is taken for this process alone, until @fd is closed. NFS4R_OK, or NFS4R_LOCKED with @why (@len bytes). Does not block.
 */
enum nfs4r_status places_lock(int fd, const struct nfs4r_config *cfg, char *why, size_t len);

/*
 * Whether the exported directory is marked as another volume's copy, or as another server's of this one. NFS4R_MISMATCH: it is, and @why (@len bytes)
 * says whose, and what to do. Blocks on the disk.
 */
enum nfs4r_status places_whose(int fd, const struct nfs4r_config *cfg, char *why, size_t len);

/* Marks it as this server's. An errno value when that fails: the copy is right without a mark, and is only not protected. Blocks on the disk. */
int places_mark(int fd, const struct nfs4r_config *cfg);

#endif
