/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The core and its lock. Whoever has news (a client's thread, the transport, a timer, an applier) takes the
 * lock, makes one step, and carries out the update before it lets the lock go; nothing in here blocks
 * except on memory and the page cache. What must wait for the disk goes to group_commit.c, what reads files
 * to sender.c, what changes files to the pools. Which room carries out an action says a table of the door (actions.c).
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/locked.h"
#include "base/text.h"
#include "engine/runtime/runtime.h"

#define PUTS_AT_ONCE 32

void engine_log(struct nfs4r_engine *eng, enum nfs4r_log_level level, const char *fmt, ...)
{
	char text[NFS4R_WHY + 512], line[NFS4R_TEXT_TIMES * sizeof(text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (eng->log) /* names are in it */
		eng->log(eng->log_ctx, level, nfs4r_text_line(line, sizeof(line), text));
}

void engine_log_often(struct nfs4r_engine *eng, enum saying what, nfs4r_server_id s, enum nfs4r_log_level level, const char *fmt, ...)
{
	char text[NFS4R_WHY + 512];
	uint64_t more = 0;
	va_list ap;

	pthread_mutex_lock(&eng->runtime.said.lock);
	bool may = nfs4r_said_may(&eng->runtime.said.by[what][s], engine_now_ms(), OFTEN_MAX, &more);
	pthread_mutex_unlock(&eng->runtime.said.lock);
	if (!may)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (more)
		engine_log(eng, level, "%s (%llu times more since the last such line)", text, (unsigned long long)more);
	else
		engine_log(eng, level, "%s", text);
}

void engine_send(struct nfs4r_engine *eng, nfs4r_server_id to, const struct nfs4r_msg *msg)
{
	/* A message that cannot go is lost like on the wire; the core repeats what matters. */
	if (eng->rpc && !eng->runtime.mute)
		(void)nfs4r_rpc_send(eng->rpc, to, nfs4r_rpc_lane_of(msg->type), msg);
}

/* Can be copied as it is. Of the control lane only JOINROWS and LOCKS_LIST point to anything, and that only until the core's next step. */
static bool is_flat(uint32_t type)
{
	return nfs4r_rpc_lane_of(type) == NFS4R_LANE_CONTROL && type != NFS4R_MSG_JOINROWS && type != NFS4R_MSG_LOCKS_LIST;
}

void engine_send_durable(struct nfs4r_engine *eng, nfs4r_server_id to, const struct nfs4r_msg *msg)
{
	if (is_flat(msg->type))
		engine_durable_send(eng->runtime.durable, to, msg);
	else if (nfs4r_store_sync(eng->store, nfs4r_store_position(eng->store)) == NFS4R_OK)
		engine_send(eng, to, msg);
	else
		engine_store_failed(eng, "cannot sync the journal", NFS4R_IO);
}

/* Rows in a row go into one record: a release of many claims is one write. Returns how many actions that were. */
static uint32_t perform_puts(struct nfs4r_engine *eng, const struct nfs4r_action *a, uint32_t max)
{
	struct nfs4r_put puts[PUTS_AT_ONCE];
	uint32_t n = 0;

	for (; n < max && n < PUTS_AT_ONCE && a[n].type == NFS4R_ACT_PUT; n++)
		puts[n] = *nfs4r_act_put(&a[n])->put;
	enum nfs4r_status st = nfs4r_store_put(eng->store, puts, n);

	if (st == NFS4R_OK)
		return n;
	engine_journal_failed(eng, st);
	return n;
}

/* One case for each action. NOLINTNEXTLINE(readability-function-size) */
static void perform_one(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	action_fn fn = a->type < ENGINE_ACTIONS ? (eng->runtime.mute ? eng->actions->muted : eng->actions->on)[a->type] : NULL;

	if (fn)
		fn(eng, a);
	else if (!eng->runtime.mute)
		engine_halt(eng, "the core returned an unknown action: the build is inconsistent");
}

void engine_perform(struct nfs4r_engine *eng, const struct nfs4r_update *u)
{
	engine_lease_lower(eng);
	engine_volume_follow(eng); /* an answer of this step may stand on it */
	for (uint32_t i = 0; i < u->n;) {
		const struct nfs4r_action *a = &u->actions[i];

		if (!eng->runtime.mute && a->type == NFS4R_ACT_PUT) {
			i += perform_puts(eng, a, u->n - i);
			continue;
		}
		perform_one(eng, a);
		i++;
	}
	engine_filter_unblock(eng->runtime.fastpath);
	engine_handle_key_follow(eng); /* before anything is answered under a lease that it allows */
	engine_lease_raise(eng);
	if (u->next_timer_ms < eng->runtime.timer.next_ms)
		pthread_cond_signal(&eng->runtime.timer.cond);
	eng->runtime.timer.next_ms = u->next_timer_ms;
	if (eng->runtime.step.waiters)
		pthread_cond_broadcast(&eng->runtime.step.cond);
	eng->runtime.step.count++; /* before it is seen whether somebody waits: router.c, read_router_performed() */
	eng->notices->performed(eng);
}

int engine_step_await(struct nfs4r_engine *eng, const struct timespec *until)
{
	int rc;

	assert(nfs4r_is_locked(&eng->lock));
	eng->runtime.step.waiters++;
	if (until)
		rc = pthread_cond_clockwait(&eng->runtime.step.cond, &eng->lock, CLOCK_MONOTONIC, until);
	else
		rc = pthread_cond_wait(&eng->runtime.step.cond, &eng->lock);
	assert(eng->runtime.step.waiters > 0);
	eng->runtime.step.waiters--;
	return rc;
}

void engine_step(struct nfs4r_engine *eng, struct nfs4r_event *ev)
{
	uint32_t type = ev->type, msg_type = type == NFS4R_EV_MSG ? ev->msg->type : 0;

	assert(nfs4r_is_locked(&eng->lock));
	if (eng->door.frozen)
		return;
	ev->now_ms = engine_now_ms();

	const struct nfs4r_update *u = nfs4r_core_step(eng->core, ev);

	if (type == NFS4R_EV_TICK || msg_type >= NFS4R_MSG_HEARTBEAT)
		engine_epoch_follow(eng); /* before an answer says that it is of this epoch */
	engine_perform(eng, u);
	eng->notices->stepped(eng, type, msg_type);
}

/* Write verifier (log 5.3): another one when a log was sealed, and when a peer has a new incarnation: what it had of our clients'
 * unstable data may have died with the old one. */
void engine_update_verifier(struct nfs4r_engine *eng)
{
	uint64_t h = 0xcbf29ce484222325ULL;
	const uint64_t *words[] = { &eng->inc, &eng->inc_random };

	for (size_t i = 0; i < 2; i++)
		h = (h ^ *words[i]) * 0x100000001b3ULL;
	h = (h ^ eng->cfg.rpc.self) * 0x100000001b3ULL;
	h = (h ^ eng->runtime.epoch) * 0x100000001b3ULL;
	for (size_t i = 0; i <= NFS4R_SERVERS_MAX; i++)
		h = (h ^ eng->runtime.peer_inc[i]) * 0x100000001b3ULL;
	eng->runtime.verifier = h ? h : 1;
}

void engine_look_soon(struct nfs4r_engine *eng)
{
	if (!eng->runtime.timer.look_soon)
		pthread_cond_signal(&eng->runtime.timer.cond);
	eng->runtime.timer.look_soon = true;
}
