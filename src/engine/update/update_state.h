/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The part of struct nfs4r_engine that belongs to update/. */
#ifndef NFS4R_ENGINE_UPDATE_STATE_H
#define NFS4R_ENGINE_UPDATE_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct client_wait;
struct commit_wait;
struct lock_news;
struct opctx;

struct update_state { /* eng->update; all under lock, but for the counter */
	struct opctx *parked, *active, *remotes; /* remotes: forwarded ones from EXECUTE to EXECUTED or RETRY */
	uint32_t nparked, nlonger; /* parked; workers that wait longer than usual (ops.c) */
	pthread_cond_t idle_cond; /* stop: somebody has left an operation */

	/* commit_wait.c */
	struct commit_wait *commit_waits;
	uint64_t next_commit_wait; /* the number of the last one */

	/* lock_news.c */
	struct lock_news *lock_news; /* in their order; few at a time */
	bool lock_news_running; /* an executor is at them, or about to be */

	/* fence.c */
	uint32_t fences, fence_lost; /* how many there were since the start; clients that have lost all, of whom the caller has not heard yet */
	bool fence_running; /* an executor is about to tell the caller of it */

	/* clients.c */
	struct client_wait *client_waits;
	uint64_t next_client_wait;

	uint64_t done; /* updates of clients since the start, with atomic calls */
};

#endif
