/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The core and its lock. Whoever has news (a client's thread, the transport, a timer, an applier) takes the
 * lock, makes one step, and carries out the update before it lets the lock go; nothing in here blocks
 * except on memory and the page cache. What must wait for the disk goes to group_commit.c, what reads files
 * to sender.c, what changes files to the pools.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "engine/engine_int.h"

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

static enum nfs4r_lane lane_of(uint32_t type)
{
	switch (type) {
	case NFS4R_MSG_FORWARD:
	case NFS4R_MSG_FORWARD_ANSWER:
	case NFS4R_MSG_READ:
	case NFS4R_MSG_READ_ANSWER:
	case NFS4R_MSG_VERIFY:
	case NFS4R_MSG_VERIFY_ANSWER:
		return NFS4R_LANE_REQUEST;
	case NFS4R_MSG_ENTRIES:
		return NFS4R_LANE_BULK;
	default:
		return NFS4R_LANE_CONTROL;
	}
}

void engine_send(struct nfs4r_engine *eng, nfs4r_server_id to, const struct nfs4r_msg *msg)
{
	/* A message that cannot go is lost like on the wire; the core repeats what matters. */
	if (eng->rpc && !eng->mute)
		(void)nfs4r_rpc_send(eng->rpc, to, lane_of(msg->type), msg);
}

/* Can be copied as it is. Of the control lane only JOINROWS points to anything, and that only until the core's next step. */
static bool is_flat(uint32_t type)
{
	return lane_of(type) == NFS4R_LANE_CONTROL && type != NFS4R_MSG_JOINROWS;
}

static void perform_send(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	if (a->msg->type == NFS4R_MSG_PROPOSE || a->msg->type == NFS4R_MSG_REVOKE)
		checkpoint_urge(eng);
	if (a->msg->type == NFS4R_MSG_FORWARD && a->msg->op->engine)
		((struct opctx *)a->msg->op->engine)->sent_or_executed = true;
	if (a->msg->type == NFS4R_MSG_FORWARD_ANSWER && op_answer_when_durable(eng, a->to, a->msg->op))
		return;
	if (!a->durable && a->msg->type == NFS4R_MSG_POSITIONS) {
		distributor_positions(eng->distributor, a->to, a->msg);
	} else if (!a->durable) {
		engine_send(eng, a->to, a->msg);
	} else if (is_flat(a->msg->type)) {
		durable_send(eng->durable, a->to, a->msg);
	} else {
		if (nfs4r_store_sync(eng->store, nfs4r_store_position(eng->store)) == NFS4R_OK)
			engine_send(eng, a->to, a->msg);
		else
			engine_store_failed(eng, "the journal cannot be synced", NFS4R_IO);
	}
}

static void perform_apply(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	struct apply_job *job = malloc(sizeof(*job));

	if (!job)
		abort();
	*job = (struct apply_job){ .entry = a->entry, .mask = a->apply_mask, .tries = a->tries, .aside = a->aside };
	if (job->mask)
		job->marked = nfs4r_store_mark(eng->store, a->entry, &job->sync_first);
	pool_run(eng->appliers, apply_task, job);
}

/* Rows in a row go into one record: a release of many claims is one write. Returns how many actions that were. */
static uint32_t perform_puts(struct nfs4r_engine *eng, const struct nfs4r_action *a, uint32_t max)
{
	struct nfs4r_put puts[PUTS_AT_ONCE];
	uint32_t n = 0;

	for (; n < max && n < PUTS_AT_ONCE && a[n].type == NFS4R_ACT_PUT; n++)
		puts[n] = a[n].put;
	enum nfs4r_status st = nfs4r_store_put(eng->store, puts, n);

	if (st == NFS4R_OK)
		return n;
	engine_journal_failed(eng, st);
	return n;
}

static void perform_recovered(struct nfs4r_engine *eng)
{
	enum nfs4r_status st = nfs4r_store_recovered(eng->store);

	if (st != NFS4R_OK)
		engine_journal_failed(eng, st);
	if (!eng->halted[0])
		eng->ready = true;
}

/* A log ends here as it does everywhere. Its stable position follows with the next checkpoint. */
static void perform_sealed(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	enum nfs4r_status st = nfs4r_store_seal(eng->store, a->log, a->until);
	char what[80];

	if (st != NFS4R_OK) {
		snprintf(what, sizeof(what), "the end of the log of server %u cannot be written", a->log);
		engine_store_failed(eng, what, st);
		return;
	}
	if (a->log == eng->cfg.rpc.self)
		distributor_forget(eng->distributor, UINT64_MAX);
	engine_log(eng, NFS4R_LOG_INFO, "volume %s: the log of server %u has ended here with its update %llu; nobody waits for what it controlled",
		   eng->cfg.volume_name, a->log, (unsigned long long)(a->until & (((nfs4r_lsn)1 << NFS4R_GEN_SHIFT) - 1)));
	checkpoint_wake(eng, false);
}

static void perform_one(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	switch (a->type) {
	case NFS4R_ACT_SEND:
		perform_send(eng, a);
		break;
	case NFS4R_ACT_ACCEPTED:
		durable_event(eng->durable, NFS4R_EV_ACCEPTED, a->num);
		break;
	case NFS4R_ACT_SYNC:
		durable_event(eng->durable, NFS4R_EV_SYNCED, a->num);
		break;
	case NFS4R_ACT_SEND_ENTRIES:
		distributor_queue(eng->distributor, a->to, a->log, a->from, a->until);
		break;
	case NFS4R_ACT_EXECUTE:
		op_deliver_execute(eng, a);
		break;
	case NFS4R_ACT_STARTED:
		op_deliver_started(eng, a);
		break;
	case NFS4R_ACT_RETRY:
		op_deliver_retry(eng, a);
		break;
	case NFS4R_ACT_DONE:
		op_deliver_done(eng, a->op);
		break;
	case NFS4R_ACT_APPLY:
		perform_apply(eng, a);
		break;
	case NFS4R_ACT_CONTROL:
		fastpath_change(eng->fastpath, &a->oid, a->owner, a->depth, a->added);
		if (!a->added && a->owner != eng->cfg.rpc.self)
			reads_here(eng, a->owner);
		break;
	case NFS4R_ACT_TOLD:
		fastpath_change(eng->fastpath, &a->oid, a->owner, NFS4R_SHALLOW, a->added);
		break;
	case NFS4R_ACT_READS_HERE:
		reads_here(eng, a->owner);
		break;
	case NFS4R_ACT_TRUNCATE:
		nfs4r_store_truncate(eng->store, a->log, a->until);
		if (a->log == eng->cfg.rpc.self)
			distributor_forget(eng->distributor, a->until);
		break;
	case NFS4R_ACT_CHECKPOINT:
		checkpoint_wake(eng, a->hurry);
		break;
	case NFS4R_ACT_STUCK:
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: %s", eng->cfg.volume_name, a->text);
		break;
	case NFS4R_ACT_HALT:
		engine_halt(eng, a->text);
		break;
	case NFS4R_ACT_RECOVERED:
		perform_recovered(eng);
		break;
	case NFS4R_ACT_DROP:
		asked_forward_over(eng, a->op);
		nfs4r_op_fini(a->op);
		free(a->op);
		break;
	case NFS4R_ACT_SEALED:
		perform_sealed(eng, a);
		break;
	case NFS4R_ACT_REPAIR:
		repair_start(eng, a);
		break;
	case NFS4R_ACT_SERVERS:
		servers_adopted(eng);
		break;
	case NFS4R_ACT_HELD:
		held_done(eng, a->hold);
		break;
	default:
		engine_halt(eng, "an action of the core is not known; the build is inconsistent");
	}
}

/* Halted: what an action depends on may be in no journal. Clients hear DELAY, nobody else hears anything. */
static void perform_muted(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	switch (a->type) {
	case NFS4R_ACT_DONE:
		a->op->status = NFS4R_DELAY;
		op_deliver_done(eng, a->op);
		break;
	case NFS4R_ACT_EXECUTE:
		if (a->remote)
			op_take_remote(eng, a->op); /* until the stop: nobody executes it */
		break;
	case NFS4R_ACT_RETRY:
	case NFS4R_ACT_DROP:
	case NFS4R_ACT_STUCK:
	case NFS4R_ACT_HALT:
		perform_one(eng, a);
		break;
	case NFS4R_ACT_STARTED:
	case NFS4R_ACT_APPLY:
		nfs4r_entry_put(a->entry);
		break;
	default:
		break;
	}
}

void engine_perform(struct nfs4r_engine *eng, const struct nfs4r_update *u)
{
	view_lower(eng);
	for (uint32_t i = 0; i < u->n;) {
		const struct nfs4r_action *a = &u->actions[i];

		if (!eng->mute && a->type == NFS4R_ACT_PUT) {
			i += perform_puts(eng, a, u->n - i);
			continue;
		}
		if (eng->mute)
			perform_muted(eng, a);
		else
			perform_one(eng, a);
		i++;
	}
	fastpath_settled(eng->fastpath);
	handle_key_follow(eng); /* before anything is answered under a lease that it allows */
	view_raise(eng);
	if (u->next_timer_ms < eng->next_timer_ms)
		pthread_cond_signal(&eng->timer_cond);
	eng->next_timer_ms = u->next_timer_ms;
	if (eng->step_waiters)
		pthread_cond_broadcast(&eng->step_cond);
	eng->steps++; /* before it is seen whether somebody waits: router.c */
	if (reads_wait(eng->reads))
		engine_look_soon(eng);
}

void engine_step(struct nfs4r_engine *eng, struct nfs4r_event *ev)
{
	uint32_t type = ev->type, msg_type = type == NFS4R_EV_MSG ? ev->msg->type : 0;

	if (eng->frozen)
		return;
	ev->now_ms = now_ms();

	const struct nfs4r_update *u = nfs4r_core_step(eng->core, ev);

	if (type == NFS4R_EV_TICK || msg_type >= NFS4R_MSG_HEARTBEAT)
		view_epoch(eng); /* before an answer says that it is of this epoch */
	engine_perform(eng, u);
	view_watch(eng, type, msg_type);
}

/* Write verifier (log sheet 5.3): another one when a log was sealed, and when a peer has a new incarnation: what it had of our clients'
 * unstable data may have died with the old one. */
void engine_update_verifier(struct nfs4r_engine *eng)
{
	uint64_t h = 0xcbf29ce484222325ULL;
	const uint64_t *words[] = { &eng->inc, &eng->inc_random };

	for (size_t i = 0; i < 2; i++)
		h = (h ^ *words[i]) * 0x100000001b3ULL;
	h = (h ^ eng->cfg.rpc.self) * 0x100000001b3ULL;
	h = (h ^ eng->epoch) * 0x100000001b3ULL;
	for (size_t i = 0; i <= NFS4R_SERVERS_MAX; i++)
		h = (h ^ eng->peer_inc[i]) * 0x100000001b3ULL;
	eng->verifier = h ? h : 1;
}

void engine_look_soon(struct nfs4r_engine *eng)
{
	if (!eng->look_soon)
		pthread_cond_signal(&eng->timer_cond);
	eng->look_soon = true;
}
