/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * When a server begins to take part.
 *
 * From its first connection on a server matters to the others: they add it to the view, and when it dies they pause until it is removed. So
 * all that can go wrong with a start comes before: this server's port is bound, but nobody is let in and nobody called until the daemon
 * as a whole has started (lops.ready), its NFS port included.
 *
 * A server that ends soon after it joined, and is started again each time (systemd), would pause all sites every few seconds. The file `starts` of the store counts
 * such runs: it goes up when a server begins to take part, and away when it has done so for half a minute, or is stopped in order. From the fourth on a server waits
 * before it joins, longer each time.
 *
 * Failure modes: a count that cannot be read or written is 0, for a server must not stay away because of it. When the port cannot be listened on any
 * more that is tried again until it can. A stop ends each wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/start/start.h"

#define FREE_STARTS 3 /* in a row, before it waits */
#define FIRST_PAUSE_MS 5000
#define LISTEN_AGAIN_MS 5000
#define STABLE_RUN_MS 30000 /* a run of so long counts for nothing */

uint32_t start_online_pause_ms(uint32_t starts, uint32_t most_ms)
{
	uint64_t pause = FIRST_PAUSE_MS;

	if (starts < FREE_STARTS)
		return 0;
	for (uint32_t n = FREE_STARTS; n < starts && pause < most_ms; n++)
		pause *= 2;
	return pause < most_ms ? (uint32_t)pause : most_ms;
}

static void file_of(const struct nfs4r_engine *eng, char out[1100])
{
	snprintf(out, 1100, "%s/starts", eng->cfg.store_dir);
}

uint32_t start_online_starts(const struct nfs4r_engine *eng)
{
	char name[1100], text[16] = "";
	int fd;

	file_of(eng, name);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (pread(fd, text, sizeof(text) - 1, 0) < 0)
		text[0] = '\0';
	close(fd);
	return (uint32_t)strtoul(text, NULL, 10);
}

/* Not synced: what dies with the machine comes back slowly by itself. */
static void count_starts(const struct nfs4r_engine *eng, uint32_t starts)
{
	char name[1100], text[16];
	int len = snprintf(text, sizeof(text), "%" PRIu32 "\n", starts), fd;

	file_of(eng, name);
	if (!starts) {
		unlink(name);
		return;
	}
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (write(fd, text, (size_t)len) != len)
		unlink(name);
	close(fd);
}

/* Until @ms are over or the server is stopped, which is false. */
static bool waited(struct nfs4r_engine *eng, uint32_t ms)
{
	struct timespec until = engine_after_us((uint64_t)ms * 1000);

	pthread_mutex_lock(&eng->lock);
	while (!eng->door.stopping && pthread_cond_clockwait(&eng->start.online_cond, &eng->lock, CLOCK_MONOTONIC, &until) != ETIMEDOUT)
		;
	bool goes_on = !eng->door.stopping;
	pthread_mutex_unlock(&eng->lock);
	return goes_on;
}

static void say_starting(struct nfs4r_engine *eng, const char *text)
{
	pthread_mutex_lock(&eng->lock);
	snprintf(eng->start.starting, sizeof(eng->start.starting), "%s", text);
	pthread_mutex_unlock(&eng->lock);
}

/* Nobody is disturbed by a server that is alone. */
static bool paused(struct nfs4r_engine *eng, uint32_t starts)
{
	uint32_t pause = engine_is_alone(eng) ? 0 : start_online_pause_ms(starts, eng->cfg.restart_pause_ms);
	char text[160];

	if (!pause)
		return true;
	snprintf(text, sizeof(text), "the last %" PRIu32 " runs of this server ended within %d s each; it waits %" PRIu32 " s before it joins, so that the others do not pause each time", starts,
		 STABLE_RUN_MS / 1000, pause / 1000);
	say_starting(eng, text);
	engine_log(eng, NFS4R_LOG_WARN, "volume %s: %s: see its log for the cause (Restart_Pause)", eng->cfg.volume_name, text);
	return waited(eng, pause);
}

/* False: it is stopped before it can. */
static bool joined(struct nfs4r_engine *eng)
{
	char why[NFS4R_WHY] = "";

	for (bool first = true; nfs4r_rpc_begin(eng->rpc, why) != NFS4R_OK; first = false) {
		say_starting(eng, why);
		if (first)
			engine_log(eng, NFS4R_LOG_ERROR, "volume %s: %s. The server retries every %d s", eng->cfg.volume_name, why, LISTEN_AGAIN_MS / 1000);
		if (!waited(eng, LISTEN_AGAIN_MS))
			return false;
	}
	return true;
}

static void *online_thread(void *arg)
{
	struct nfs4r_engine *eng = arg;
	uint32_t starts = start_online_starts(eng);

	if ((eng->ops->ready && !eng->ops->ready(eng->ctx)) || !paused(eng, starts))
		return NULL;
	if (eng->cfg.restart_pause_ms)
		count_starts(eng, starts + 1);
	if (!joined(eng))
		return NULL;
	say_starting(eng, "");
	if (eng->cfg.restart_pause_ms)
		count_starts(eng, waited(eng, STABLE_RUN_MS) ? 0 : starts);
	return NULL;
}

enum nfs4r_status start_online_begin(struct nfs4r_engine *eng, char *why)
{
	if (!eng->ops->ready && !eng->cfg.restart_pause_ms)
		return nfs4r_rpc_begin(eng->rpc, why);
	say_starting(eng, "the daemon is starting; the server joins after that");
	eng->start.online_running = pthread_create(&eng->start.online_thread, NULL, online_thread, eng) == 0;
	if (eng->start.online_running)
		return NFS4R_OK;
	snprintf(why, NFS4R_WHY, "cannot start threads; check the process limits");
	return NFS4R_NOMEM;
}

void start_online_stop(struct nfs4r_engine *eng)
{
	if (!eng->start.online_running)
		return;
	pthread_mutex_lock(&eng->lock);
	pthread_cond_broadcast(&eng->start.online_cond);
	pthread_mutex_unlock(&eng->lock);
	pthread_join(eng->start.online_thread, NULL);
}
