/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The state of policy/, which the rooms above it read. */
#ifndef NFS4R_CORE_POLICY_POLICY_STATE_H
#define NFS4R_CORE_POLICY_POLICY_STATE_H

#include "core/state/limits.h"

struct writer { /* a file that is open for writing, and the directory in which it was when that began */
	struct nfs4r_oid file, dir;
	UT_hash_handle hh;
};

struct policy_state { /* c->policy */
	/* escalate.c */
	struct oidmark *contested;
	struct heat *heat;
	/* reader_yield.c: until when what yielded would have lasted; what does not yield for a while */
	struct oidmark *let_go, *missed, *pinned;
	struct oidmark *writing; /* directories, and how many files in them are open for writing here */
	struct writer *writers; /* those files */
	struct nfs4r_oid touched; /* the file that was updated last, as far as that was noted, and when */
	uint64_t touched_ms;
};

#endif
