/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The part of struct nfs4r_engine that belongs to replicate/. */
#ifndef NFS4R_ENGINE_REPLICATE_STATE_H
#define NFS4R_ENGINE_REPLICATE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct distributor;
struct pool;

struct replicate_state { /* eng->replicate; no lock needed */
	struct distributor *distributor; /* sender.c; has its own locks; set before threads run */
	struct pool *appliers; /* set before threads run */
	_Atomic uint64_t apply_said_ms; /* when the log last said that an update cannot be applied (applier.c) */

	/* staging_dir.c */
	_Atomic bool staging_exists; /* the hidden directory may be there */
	_Atomic uint64_t strays_moved; /* since the start */
	_Atomic unsigned strays; /* names of strays that are taken, as far as is known */
};

#endif
