/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The engine starts anew while the daemon goes on (log 4.15): it had halted, for its disk was full, and there is room again.
 *
 * Happy path: the engine asks for it (lops.again). A thread of this file closes the gate, stops the engine, starts another one in its place, and opens the gate.
 * Meanwhile clients hear DELAY, as before while the engine was halted. Their sessions, open files and locks are Ganesha's and stay.
 *
 * When the daemon itself starts and Store is full it waits, too: the thread that makes the export looks again every LOOK_S, and a SIGTERM ends the daemon.
 * Whoever waits says why in a file beside the control socket, for nfs4rctl.
 *
 * Failure modes: the start fails: it is tried again every LOOK_S, and the log says why, once for each reason. A stop of the export ends the waiting.
 */
#include <signal.h>

#include "repl.h"
#include "nfs_init.h"

#define LOOK_S 5

static void engine_log(void *ctx, enum nfs4r_log_level level, const char *text)
{
	switch (level) {
	case NFS4R_LOG_ERROR:
		REPL_LOG(Crit, "%s", text);
		break;
	case NFS4R_LOG_WARN:
		REPL_LOG(Warn, "%s", text);
		break;
	case NFS4R_LOG_INFO:
		REPL_LOG(Event, "%s", text);
		break;
	default:
		REPL_LOG(Debug, "%s", text);
		break;
	}
}

static enum nfs4r_status start(struct repl_export *exp, struct nfs4r_engine **out, char *why)
{
	return nfs4r_engine_start(&repl_module.cfg, &repl_lops, exp, engine_log, NULL, out, why);
}

static void say(const char *why, char said[NFS4R_WHY])
{
	if (strcmp(why, said) == 0)
		return;
	REPL_LOG(Crit, "the server cannot start, and retries every %d s: %s", LOOK_S, why);
	snprintf(said, NFS4R_WHY, "%s", why);
}

/* ---- while the daemon starts ---- */

/* Ganesha has SIGTERM blocked, and takes it later. */
static bool is_ending(void)
{
	struct timespec look = { .tv_sec = LOOK_S };
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigaddset(&term, SIGINT);
	return sigtimedwait(&term, NULL, &look) > 0;
}

enum nfs4r_status repl_restart_first(struct repl_export *exp, char *why)
{
	bool waits = nfs_init_wait_timeout(0) != 0;
	char said[NFS4R_WHY] = "";
	enum nfs4r_status st;
	int fd = -1;

	while (nfs4r_status_is_full(st = start(exp, &exp->eng, why)) && waits) {
		say(why, said);
		nfs4r_start_waits(&repl_module.cfg, &fd, why);
		if (is_ending()) {
			nfs4r_start_goes_on(&repl_module.cfg, &fd);
			_exit(EXIT_SUCCESS);
		}
	}
	nfs4r_start_goes_on(&repl_module.cfg, &fd);
	return st;
}

/* ---- later ---- */

/* False: the export is stopped. */
static bool rest(struct repl_export *exp)
{
	struct timespec until;
	bool ends;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += LOOK_S;
	PTHREAD_MUTEX_lock(&exp->restart.lock);
	while (!exp->restart.ends && pthread_cond_clockwait(&exp->restart.cond, &exp->restart.lock, CLOCK_MONOTONIC, &until) == 0)
		;
	ends = exp->restart.ends;
	PTHREAD_MUTEX_unlock(&exp->restart.lock);
	return !ends;
}

static void change(struct repl_export *exp)
{
	struct nfs4r_engine *eng = repl_gate_close(exp);
	char why[NFS4R_WHY] = "", said[NFS4R_WHY] = "";
	int fd = -1;

	if (eng == NULL)
		return;
	nfs4r_engine_stop(eng); /* its threads may be in our callbacks: no lock held */
	while (start(exp, &eng, why) != NFS4R_OK) {
		say(why, said);
		nfs4r_start_waits(&repl_module.cfg, &fd, why);
		if (!rest(exp)) {
			nfs4r_start_goes_on(&repl_module.cfg, &fd);
			return;
		}
	}
	nfs4r_start_goes_on(&repl_module.cfg, &fd);
	repl_gate_open(exp, eng);
	__atomic_add_fetch(&exp->engines, 1, __ATOMIC_RELAXED);
	repl_locks_engine_anew(exp);
}

static void *run(void *arg)
{
	struct repl_export *exp = arg;
	bool wanted = true;

	SetNameFunction("repl-restart");
	while (wanted) {
		PTHREAD_MUTEX_lock(&exp->restart.lock);
		while (!exp->restart.wanted && !exp->restart.ends)
			pthread_cond_wait(&exp->restart.cond, &exp->restart.lock);
		wanted = !exp->restart.ends;
		exp->restart.wanted = false;
		PTHREAD_MUTEX_unlock(&exp->restart.lock);
		if (wanted)
			change(exp);
	}
	return NULL;
}

void repl_lops_again(void *ctx)
{
	struct repl_export *exp = ctx;

	PTHREAD_MUTEX_lock(&exp->restart.lock);
	exp->restart.wanted = true;
	pthread_cond_signal(&exp->restart.cond);
	PTHREAD_MUTEX_unlock(&exp->restart.lock);
}

void repl_restart_init(struct repl_export *exp)
{
	PTHREAD_MUTEX_init(&exp->restart.lock, NULL);
	PTHREAD_COND_init(&exp->restart.cond, NULL);
	exp->restart.running = pthread_create(&exp->restart.thread, NULL, run, exp) == 0;
	if (!exp->restart.running)
		REPL_LOG(Warn, "cannot start a thread: restart this server by hand after its disk was full");
}

void repl_restart_end(struct repl_export *exp)
{
	if (!exp->restart.running)
		return;
	PTHREAD_MUTEX_lock(&exp->restart.lock);
	exp->restart.ends = true;
	pthread_cond_broadcast(&exp->restart.cond);
	PTHREAD_MUTEX_unlock(&exp->restart.lock);
	pthread_join(exp->restart.thread, NULL);
	exp->restart.running = false;
}

void repl_restart_fini(struct repl_export *exp)
{
	PTHREAD_COND_destroy(&exp->restart.cond);
	PTHREAD_MUTEX_destroy(&exp->restart.lock);
}
