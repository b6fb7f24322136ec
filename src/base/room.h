/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Arrays that double. For who can go on without the memory; the core cannot (grow() in src/core/state/outbox.c). */
#ifndef NFS4R_BASE_ROOM_H
#define NFS4R_BASE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/*
 * Is there room for one more element behind the first @n of the array @v, which has room for @cap (0: @v is NULL)? Takes memory when needed; @v and @cap, which are variables of the
 * caller, change then. False: no memory, and nothing has changed. The memory is not cleared. The caller frees @v with free().
 */
#define NFS4R_ROOM(v, n, cap)                                                         \
	({                                                                            \
		bool room_ = (n) < (cap);                                             \
		if (!room_) {                                                         \
			size_t most_ = (cap) ? 2 * (size_t)(cap) : 16;                \
			__typeof__(v) more_ = reallocarray((v), most_, sizeof(*(v))); \
			if (more_) {                                                  \
				(v) = more_;                                          \
				(cap) = most_;                                        \
				room_ = true;                                         \
			}                                                             \
		}                                                                     \
		room_;                                                                \
	})

#endif
