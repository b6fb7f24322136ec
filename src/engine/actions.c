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
	if (a->msg->type == NFS4R_MSG_PROPOSE || a->msg->type == NFS4R_MSG_REVOKE)
		engine_checkpoint_urge(eng);
	if (a->msg->type == NFS4R_MSG_FORWARD && a->msg->op->engine)
		update_op_sent(a->msg->op->engine);
	if (a->msg->type == NFS4R_MSG_FORWARD_ANSWER && update_op_answer_when_durable(eng, a->to, a->msg->op))
		return;
	if (a->durable)
		engine_send_durable(eng, a->to, a->msg);
	else if (a->msg->type == NFS4R_MSG_POSITIONS)
		replicate_sender_positions(eng->distributor, a->to, a->msg);
	else
		engine_send(eng, a->to, a->msg);
}

static void send_entries(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	replicate_sender_queue(eng->distributor, a->to, a->log, a->from, a->until);
}

static void accepted(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	engine_durable_event(eng->durable, NFS4R_EV_ACCEPTED, a->num);
}

static void synced(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	engine_durable_event(eng->durable, NFS4R_EV_SYNCED, a->num);
}

static void control(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	engine_filter_change(eng->fastpath, &a->oid, a->owner, a->depth, a->added);
	if (!a->added && a->owner != eng->cfg.rpc.self)
		read_router_here(eng, a->owner);
}

static void told(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	engine_filter_change(eng->fastpath, &a->oid, a->owner, NFS4R_SHALLOW, a->added);
}

static void readable_here(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	read_router_here(eng, a->owner);
}

static void truncate_log(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	nfs4r_store_truncate(eng->store, a->log, a->until);
	if (a->log == eng->cfg.rpc.self)
		replicate_sender_forget(eng->distributor, a->until);
}

static void checkpoint(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	engine_checkpoint_wake(eng, a->hurry);
}

static void stuck(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	engine_log(eng, NFS4R_LOG_WARN, "volume %s: %s", eng->cfg.volume_name, a->text);
}

static void halt(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	engine_halt(eng, a->text);
}

static void recovered(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	enum nfs4r_status st = nfs4r_store_recovered(eng->store);

	if (st != NFS4R_OK)
		engine_journal_failed(eng, st);
	if (!eng->halted[0])
		eng->ready = true;
}

static void drop(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	engine_asked_forward_over(eng, a->op);
	nfs4r_op_fini(a->op);
	free(a->op);
}

/* A log ends here as it does everywhere. Its stable position follows with the next checkpoint. */
static void sealed(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	enum nfs4r_status st = nfs4r_store_seal(eng->store, a->log, a->until);
	char what[80];

	if (st != NFS4R_OK) {
		snprintf(what, sizeof(what), "the end of the log of server %u cannot be written", a->log);
		engine_store_failed(eng, what, st);
		return;
	}
	if (a->log == eng->cfg.rpc.self)
		replicate_sender_forget(eng->distributor, UINT64_MAX);
	engine_log(eng, NFS4R_LOG_INFO, "volume %s: the log of server %u has ended here with its update %llu; nobody waits for what it controlled",
		   eng->cfg.volume_name, a->log, (unsigned long long)(a->until & (((nfs4r_lsn)1 << NFS4R_GEN_SHIFT) - 1)));
	engine_checkpoint_wake(eng, false);
}

static void servers(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	membership_adopted(eng);
}

static void held(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	update_commit_held(eng, a->hold);
}

/* ---- halted ---- */

static void put_entry(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	nfs4r_entry_put(a->entry);
}

static void done_muted(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	a->op->status = NFS4R_DELAY;
	update_op_deliver_done(eng, a);
}

static void execute_muted(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	if (a->remote)
		update_op_take_remote(eng, a->op); /* until the stop: nobody executes it */
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
		[NFS4R_ACT_HELD] = held,
		[NFS4R_ACT_SERVERS] = servers,
		[NFS4R_ACT_ACCEPTED] = accepted,
		[NFS4R_ACT_SYNC] = synced,
		[NFS4R_ACT_TOLD] = told,
		[NFS4R_ACT_READS_HERE] = readable_here,
	},
	.muted = {
		[NFS4R_ACT_EXECUTE] = execute_muted,
		[NFS4R_ACT_STARTED] = put_entry,
		[NFS4R_ACT_RETRY] = update_op_deliver_retry,
		[NFS4R_ACT_DONE] = done_muted,
		[NFS4R_ACT_APPLY] = put_entry,
		[NFS4R_ACT_STUCK] = stuck,
		[NFS4R_ACT_HALT] = halt,
		[NFS4R_ACT_DROP] = drop,
	},
};
