/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What is done about each action of the core (core.h). The room that knows how does it; this table says which. It belongs to the door, since only
 * the door knows all rooms: core_driver.c, on the ground, looks into it and calls whatever is there.
 *
 * Rows are no action of their own: core_driver.c puts those that follow one another into one record.
 *
 * Halted, what an action depends on may be in no journal. Then another table counts: clients hear DELAY, nobody else hears anything.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/engine_int.h"

static void send(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	const struct nfs4r_msg *msg = nfs4r_act_send(a)->msg;
	nfs4r_server_id to = nfs4r_act_send(a)->to;

	if (msg->type == NFS4R_MSG_PROPOSE || msg->type == NFS4R_MSG_REVOKE)
		engine_checkpoint_urge(eng);
	if (msg->type == NFS4R_MSG_FORWARD && msg->op->engine)
		update_op_sent(msg->op->engine);
	if (msg->type == NFS4R_MSG_FORWARD_ANSWER && update_op_answer_when_durable(eng, to, msg->op))
		return;
	if (a->durable)
		engine_send_durable(eng, to, msg);
	else if (msg->type == NFS4R_MSG_POSITIONS)
		replicate_sender_positions(eng->replicate.distributor, to, msg);
	else
		engine_send(eng, to, msg);
}

static void send_entries(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	const struct nfs4r_act_send_entries *s = nfs4r_act_send_entries(a);

	replicate_sender_queue(eng->replicate.distributor, s->to, s->log, s->from, s->until);
}

static void accepted(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	engine_durable_event(eng->runtime.durable, NFS4R_EV_ACCEPTED, nfs4r_act_accepted(a)->num);
}

static void synced(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	engine_durable_event(eng->runtime.durable, NFS4R_EV_SYNCED, nfs4r_act_sync(a)->num);
}

static void control(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	const struct nfs4r_act_control *k = nfs4r_act_control(a);

	engine_filter_change(eng->runtime.fastpath, &k->oid, k->owner, k->depth, k->added);
	if (!k->added && k->owner != eng->cfg.rpc.self)
		read_router_here(eng, k->owner);
}

static void monotonic_read(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	const struct nfs4r_act_monotonic_read *t = nfs4r_act_monotonic_read(a);

	engine_filter_change(eng->runtime.fastpath, &t->oid, t->owner, NFS4R_SHALLOW, t->added);
}

static void readable_here(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	read_router_here(eng, nfs4r_act_recheck_reads(a)->owner);
}

static void truncate_log(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	const struct nfs4r_act_log *t = nfs4r_act_truncate(a);

	nfs4r_store_truncate(eng->store, t->log, t->until);
	if (t->log == eng->cfg.rpc.self)
		replicate_sender_forget(eng->replicate.distributor, t->until);
}

static void checkpoint(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	engine_checkpoint_wake(eng, nfs4r_act_checkpoint(a)->hurry);
}

static void stuck(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	engine_log(eng, NFS4R_LOG_WARN, "volume %s: %s", eng->cfg.volume_name, nfs4r_act_stuck(a)->text);
}

static void halt(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	engine_halt(eng, nfs4r_act_halt(a)->text);
}

static void recovered(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	enum nfs4r_status st = nfs4r_store_recovered(eng->store);

	if (st != NFS4R_OK)
		engine_journal_failed(eng, st);
	engine_recovered(eng);
}

static void drop(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	struct nfs4r_op *op = nfs4r_act_drop(a)->op;

	engine_asked_forward_over(eng, op);
	nfs4r_op_fini(op);
	free(op);
}

/* A log ends here as it does everywhere. Its stable position follows with the next checkpoint. */
static void sealed(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	const struct nfs4r_act_log *s = nfs4r_act_sealed(a);
	enum nfs4r_status st = nfs4r_store_seal(eng->store, s->log, s->until);
	char what[80];

	if (st != NFS4R_OK) {
		snprintf(what, sizeof(what), "cannot write the seal of the log of server %u", s->log);
		engine_store_failed(eng, what, st);
		return;
	}
	if (s->log == eng->cfg.rpc.self)
		replicate_sender_forget(eng->replicate.distributor, UINT64_MAX);
	engine_log(eng, NFS4R_LOG_INFO, "volume %s: the log of server %u is sealed at its update %llu; its controls are free",
		   eng->cfg.volume_name, s->log, (unsigned long long)(s->until & (((nfs4r_lsn)1 << NFS4R_GEN_SHIFT) - 1)));
	engine_checkpoint_wake(eng, false);
}

static void servers(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	membership_adopted(eng);
}

static void quorum_durable(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	update_commit_quorum_durable(eng, nfs4r_act_quorum_durable(a)->wait_id);
}

static void client(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	const struct nfs4r_act_client *k = nfs4r_act_client(a);

	update_client_said(eng, k->wait_id, k->status);
}

/* ---- halted ---- */

static void started_muted(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	nfs4r_entry_put(nfs4r_act_started(a)->entry);
}

static void apply_muted(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	nfs4r_entry_put(nfs4r_act_apply(a)->entry);
}

static void done_muted(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	nfs4r_act_done(a)->op->status = NFS4R_DELAY;
	update_op_deliver_done(eng, a);
}

static void execute_muted(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	if (nfs4r_act_execute(a)->remote)
		update_op_take_remote(eng, nfs4r_act_execute(a)->op); /* until the stop: nobody executes it */
}

const struct engine_actions engine_actions = {
	.on = {
		[NFS4R_ACT_SEND] = send,
		[NFS4R_ACT_SEND_ENTRIES] = send_entries,
		[NFS4R_ACT_EXECUTE] = update_op_deliver_execute,
		[NFS4R_ACT_STARTED] = update_op_deliver_started,
		[NFS4R_ACT_RETRY] = update_op_deliver_retry,
		[NFS4R_ACT_DONE] = update_op_deliver_done,
		[NFS4R_ACT_APPLY] = replicate_apply_begin,
		[NFS4R_ACT_CONTROL] = control,
		[NFS4R_ACT_TRUNCATE] = truncate_log,
		[NFS4R_ACT_CHECKPOINT] = checkpoint,
		[NFS4R_ACT_STUCK] = stuck,
		[NFS4R_ACT_HALT] = halt,
		[NFS4R_ACT_RECOVERED] = recovered,
		[NFS4R_ACT_DROP] = drop,
		[NFS4R_ACT_SEALED] = sealed,
		[NFS4R_ACT_REPAIR] = resync_start,
		[NFS4R_ACT_QUORUM_DURABLE] = quorum_durable,
		[NFS4R_ACT_SERVERS] = servers,
		[NFS4R_ACT_ACCEPTED] = accepted,
		[NFS4R_ACT_SYNC] = synced,
		[NFS4R_ACT_MONOTONIC_READ] = monotonic_read,
		[NFS4R_ACT_RECHECK_READS] = readable_here,
		[NFS4R_ACT_LOCK_READY] = update_lock_ready,
		[NFS4R_ACT_LOCK_AGAIN] = update_lock_again,
		[NFS4R_ACT_CLIENT] = client,
		[NFS4R_ACT_FENCE] = update_fence,
	},
	.muted = {
		[NFS4R_ACT_EXECUTE] = execute_muted,
		[NFS4R_ACT_STARTED] = started_muted,
		[NFS4R_ACT_RETRY] = update_op_deliver_retry,
		[NFS4R_ACT_DONE] = done_muted,
		[NFS4R_ACT_APPLY] = apply_muted,
		[NFS4R_ACT_STUCK] = stuck,
		[NFS4R_ACT_HALT] = halt,
		[NFS4R_ACT_DROP] = drop,
	},
};
