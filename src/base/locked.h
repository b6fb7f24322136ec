/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* For asserts at the head of functions whose caller holds a lock. */
#ifndef NFS4R_BASE_LOCKED_H
#define NFS4R_BASE_LOCKED_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

/* Somebody holds @m. Who is not known: the mutex of a shipped server does not say. A mutex that nobody holds is taken, and stays so: the assert ends the process. */
static inline bool nfs4r_is_locked(pthread_mutex_t *m)
{
	return pthread_mutex_trylock(m) == EBUSY;
}

#endif
