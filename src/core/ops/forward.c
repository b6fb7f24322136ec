/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Forwarding an operation to the primary of its arguments (control 6.4-6.7, log 5.6).
 *
 * As the origin: the operation gets an identity, FORWARD goes out together with a REVOKE (control 6.6) and
 * is repeated with the same identity to the same server until it answers. A result is given to the
 * client when this server has applied the entry too, so that the client sees its own object;
 * NOT_PRIMARY leads to a new decision, and to a new identity if it is forwarded again.
 *
 * As the primary: an identity has one answer. In progress -> the repeat is dropped; done ->
 * answered from REPLY once control 5.2/5.3 holds; refused, also NOT_PRIMARY, or done without an entry -> answered the same way again,
 * whatever has changed (a late copy must not be executed after the origin went elsewhere or told
 * its client); older than answered_below -> dropped. So is a copy from before a seal of the log here: its origin
 * has decided anew, perhaps elsewhere, and who was made anew meanwhile has none of those results.
 *
 * Invariants: every operation that came by FORWARD ends with exactly one DROP, after its answer
 * if there is one. answered_below is the oldest identity still waiting here.
 */
#include "base/shape.h"
#include "core/ops/ops_int.h"

uint64_t ops_answered_below(const struct nfs4r_core *c)
{
	return c->ops.outstanding ? c->ops.outstanding->op->id.seq : c->ops.op_seq + 1;
}

/* ---- origin ---------------------------------------------------------------- */

static void send_request(struct nfs4r_core *c, struct opx *o)
{
	struct nfs4r_msg *m;

	if (ops_writes(o->op) && state_locks_shared(c) && locks_is_outside(c)) { /* locks 14: its client has to hear first what it lost */
		o->sent_ms = c->now;
		out_timer_at(c, c->now + state_repeat_ms(c));
		return;
	}
	m = out_msg(c, NFS4R_MSG_FORWARD);
	o->op->view = c->view.adopted.num;
	o->op->answered_below = ops_answered_below(c);
	o->op->generation = NFS4R_GEN(c->log.logs[o->to].applied);
	m->op = o->op; /* the caller's; it lives until DONE */
	if (nfs4r_op_at_authority(o->op->type)) { /* locks 5: the answer counts only in these */
		ops_lock_waited(c, o->op);
		o->op->lock.view = c->view.adopted.num;
		o->op->lock.inc = c->peers[o->to].inc;
	}
	o->sent_ms = c->now;
	out_timer_at(c, c->now + state_repeat_ms(c));
	out_send(c, o->to, m, false);
}

void ops_forward_again(struct nfs4r_core *c, struct opx *o)
{
	send_request(c, o);
}

void ops_forward_send(struct nfs4r_core *c, struct opx *o, nfs4r_server_id to)
{
	struct needs nd;

	assert(!o->op->here_only);
	if (!o->hashed) {
		o->op->id = (struct nfs4r_request_id){ c->self, c->memory.now.inc, ++c->ops.op_seq };
		ops_reply_key(&o->op->id, &o->key);
		HASH_ADD(hh, c->ops.by_id, key, sizeof(o->key), o);
		o->hashed = true;
		DL_APPEND2(c->ops.outstanding, o, out_prev, out_next);
	}
	o->to = to;
	ops_list(c, o, OP_FORWARDED);
	c->st.forwards_sent++;
	o->forwarded_ms = c->now;
	send_request(c, o);
	if (o->blocked_at && c->now < o->blocked_at + c->cfg.op_wait_ms)
		return;
	o->blocked_at = c->now ? c->now : 1;
	ops_needs_of(c, o->op, &nd);
	if (ops_is_ahead_of_file(o->op, &nd)) /* control 6.5: this server could not have that control */
		return;
	for (uint32_t i = 0; i < nd.nargs; i++)
		control_send_revoke(c, to, &nd.args[i], false, o->attempts);
}

/* For as long as it takes: perhaps it was executed, and DELAY would be a lie. The caller tells its client what it likes meanwhile. */
void ops_forward_repeat(struct nfs4r_core *c, struct opx *o)
{
	if (c->now >= o->sent_ms + state_repeat_ms(c))
		send_request(c, o);
	out_timer_at(c, o->sent_ms + state_repeat_ms(c));
}

/*
 * A result whose primary has started anew before the entry came here may be of an entry that died
 * with it: asked again under the same identity, it is found or executed, never both.
 */
void ops_forward_peer_up(struct nfs4r_core *c, nfs4r_server_id s, bool fresh)
{
	struct opx *o;

	DL_FOREACH(c->ops.waiting, o) {
		if (fresh && o->state == OP_CATCHUP && o->op->primary == s) {
			ops_list(c, o, OP_FORWARDED);
			send_request(c, o);
		} else if (o->state == OP_FORWARDED && o->to == s) {
			send_request(c, o);
		}
	}
}

static void take_result(struct nfs4r_op *to, const struct nfs4r_op *from)
{
	to->status = from->status;
	to->result = from->result;
	to->result_type = from->result_type;
	nfs4r_buf_put(to->post.acl);
	to->post = from->post;
	to->post.acl = nfs4r_buf_get(from->post.acl);
	to->dir_before = from->dir_before;
	to->dir_after = from->dir_after;
	to->dir2_before = from->dir2_before;
	to->dir2_after = from->dir2_after;
	to->lsn = from->lsn;
	to->primary = from->primary;
	to->verifier = from->verifier;
	to->lock.was_granted = from->lock.was_granted;
	to->lock.version = from->lock.version;
	to->lock.conflict = from->lock.conflict;
	to->share.guard = from->share.guard;
}

static struct opx *find(struct nfs4r_core *c, const struct nfs4r_request_id *id)
{
	struct reqkey k;
	struct opx *o;

	ops_reply_key(id, &k);
	HASH_FIND(hh, c->ops.by_id, &k, sizeof(k), o);
	return o;
}

/* It was refused under this identity for good. */
static void identity_drop(struct nfs4r_core *c, struct opx *o)
{
	HASH_DEL(c->ops.by_id, o);
	o->hashed = o->blind = false;
	DL_DELETE2(c->ops.outstanding, o, out_prev, out_next);
	o->out_prev = o->out_next = NULL;
	memset(&o->op->id, 0, sizeof(o->op->id));
}

/* Decided again, under another identity: an answer under this one, which may be on its way, is not heard. */
void ops_forward_anew(struct nfs4r_core *c, struct opx *o)
{
	identity_drop(c, o);
	o->excluded = 0;
	o->deadline = c->now + c->cfg.op_wait_ms;
	out_timer_at(c, o->deadline);
	ops_list(c, o, OP_WAIT);
	c->dirty |= DIRTY_OPS;
}

/*
 * Locks 5: asked in another view, or of another start of the server that answers: what it granted then it may have forgotten. It is asked again. (The request
 * names this server's start.)
 */
static bool is_of_the_past(const struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_op *asked, const struct nfs4r_op *a)
{
	if (!nfs4r_op_at_authority(asked->type) || FAULT(F_LOCK_OLD_GRANT))
		return false;
	return a->lock.view != c->view.adopted.num || a->lock.inc != c->peers[from].inc;
}

void ops_forward_on_answer(struct nfs4r_core *c, nfs4r_server_id from, struct nfs4r_msg *m)
{
	const struct nfs4r_op *a = m->op;
	struct opx *o;

	if (!a || a->id.origin != c->self) {
		c->st.bad_messages++;
		return;
	}
	o = find(c, &a->id);
	if (!o || o->remote || o->state != OP_FORWARDED || o->to != from)
		return;
	if (is_of_the_past(c, from, o->op, a) || (nfs4r_op_is_lock(a->type) && locks_is_outside(c))) /* locks 14: it ends when the clients are fenced */
		return;
	if (nfs4r_shape_of_result_to(o->op, a)) {
		c->st.bad_messages++;
		return;
	}
	state_hist_add(&c->st.forward, c->now - o->forwarded_ms);
	if (a->status == NFS4R_NOT_PRIMARY) { /* decide again, without this owner (control 6.3, 6.6) */
		identity_drop(c, o);
		o->excluded |= NFS4R_BIT(from);
		o->deadline = o->since + c->cfg.op_wait_ms;
		out_timer_at(c, o->deadline);
		ops_list(c, o, OP_WAIT);
		ops_decide(c, o);
		return;
	}
	if (locks_shares_is_void(c, o, from, a)) {
		identity_drop(c, o);
		ops_share_anew(c, o);
		return;
	}
	take_result(o->op, a);
	if (o->op->status == NFS4R_ORPHAN)
		o->op->status = NFS4R_STALE;
	if (o->op->lsn && (o->op->primary == 0 || o->op->primary > NFS4R_SERVERS_MAX)) {
		c->st.bad_messages++;
		o->op->lsn = 0;
	}
	if (o->op->lsn && state_is_sealed_away(c, o->op->primary, o->op->lsn) && NFS4R_GEN(c->log.logs[o->op->primary].applied) > NFS4R_GEN(o->op->lsn))
		return; /* on its way for long: it was asked anew since */
	if (o->op->lsn && (c->log.logs[o->op->primary].applied < o->op->lsn || state_is_sealed_away(c, o->op->primary, o->op->lsn))) {
		ops_list(c, o, OP_CATCHUP);
		o->deadline = c->now + c->cfg.op_wait_ms;
		out_timer_at(c, o->deadline);
		return;
	}
	ops_finish(c, o, o->op->status);
}

/* ---- primary -------------------------------------------------------------------- */

static void drop(struct nfs4r_core *c, struct nfs4r_op *op)
{
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_DROP, .drop = { .op = op } });
}

/* op->status is set. The caller of step() frees the operation when it has sent or encoded the answer. */
void ops_forward_answer(struct nfs4r_core *c, struct opx *o)
{
	struct nfs4r_msg *m = out_msg(c, NFS4R_MSG_FORWARD_ANSWER);

	m->op = o->op;
	if (nfs4r_op_at_authority(o->op->type) ? o->op->status == NFS4R_NOT_PRIMARY : o->op->status != NFS4R_OK || !o->op->lsn) /* its table keeps what a lock's owner heard (locks 4) */ /* nor is there an entry for a rename that changes nothing */
		ops_refusal_add(c, o->op);
	c->st.forwards_served += o->op->status != NFS4R_NOT_PRIMARY;
	out_send(c, o->from, m, false);
	drop(c, o->op);
}

void ops_forward_drop(struct nfs4r_core *c, struct opx *o)
{
	drop(c, o->op);
}

/* Locks 5: of a lock operation, in this view and start of this server. Locks 14: what is written under locks comes from a server that knows of no older view. */
static bool is_of_now(const struct nfs4r_core *c, const struct nfs4r_op *op)
{
	if (ops_writes(op) && state_locks_shared(c) && op->view < c->view.adopted.num && !FAULT(F_WRITE_OF_OUTSIDE))
		return false;
	return !nfs4r_op_at_authority(op->type) || FAULT(F_LOCK_OLD_GRANT) || (op->lock.view == c->view.adopted.num && op->lock.inc == c->cfg.peer_inc);
}

static bool sane(const struct nfs4r_op *op, nfs4r_server_id from)
{
	return op && op->id.origin == from && op->id.seq &&
		((op->type >= NFS4R_OP_CREATE && op->type <= NFS4R_OP_REMOVEXATTR) || (nfs4r_op_at_authority(op->type) && op->lock.lock.start <= op->lock.lock.last));
}

/* Its origin and this server are both past the last seal of the log here, or neither is. */
static bool same_generation(const struct nfs4r_core *c, const struct nfs4r_op *op)
{
	return op->generation == NFS4R_GEN(c->log.logs[c->self].applied) || FAULT(F_OLD_REQUEST);
}

static void result_of(struct opx *o, const struct reply *r)
{
	struct nfs4r_op *op = o->op;

	op->result = r->result;
	op->result_type = r->type;
	op->dir_before = r->dv[0];
	op->dir_after = r->dv[1];
	op->dir2_before = r->dv[2];
	op->dir2_after = r->dv[3];
	op->lsn = r->cond.lsn;
	op->primary = r->cond.log;
	o->cond = r->cond;
}

/*
 * The log of the server that was asked has ended (log 5.6). What it executed up to the seal is known here: answered when every member goes by
 * this view. Everything else never happened: decided anew, under the same identity, so that no copy of it is executed beside it.
 */
void ops_forward_sealed(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn seal)
{
	struct opx *o, *tmp;
	struct reply *r;

	DL_FOREACH_SAFE(c->ops.waiting, o, tmp) {
		bool asked = o->state == OP_FORWARDED && o->to == log;
		bool answered = o->state == OP_CATCHUP && o->op->primary == log && o->op->lsn;

		if (answered && o->op->lsn <= seal)
			continue; /* ops_run() answers it: its entry is here */
		if (!asked && !answered)
			continue;
		r = ops_reply_find(c, &o->op->id);
		if (!r && o->blind) {
			ops_finish(c, o, NFS4R_DELAY);
			continue;
		}
		if (r && r->cond.lsn <= c->log.logs[r->cond.log].applied && !state_is_sealed_away(c, r->cond.log, r->cond.lsn)) {
			result_of(o, r);
			o->cond.view = c->view.adopted.num;
			o->cond.quorum = log_needs_quorum(c, o->op);
			o->op->status = NFS4R_OK;
			o->done_at = c->now;
			ops_list(c, o, OP_REPLY);
			continue;
		}
		o->op->status = NFS4R_OK;
		o->op->lsn = 0;
		o->deadline = c->now + c->cfg.op_wait_ms;
		o->excluded = 0;
		ops_list(c, o, OP_WAIT);
		out_timer_at(c, o->deadline);
	}
	c->dirty |= DIRTY_OPS | DIRTY_REPLY;
}

/*
 * Every object was taken anew (log 8.5), the results of what was skipped were not. Who executed a request says again what became of it, unless
 * its log has ended meanwhile (@ended), or does so before it answers: nobody here can say.
 */
void ops_forward_unknown(struct nfs4r_core *c, nfs4r_servers ended)
{
	struct opx *o, *tmp;

	DL_FOREACH_SAFE(c->ops.waiting, o, tmp)
		if ((o->state == OP_FORWARDED && (ended & NFS4R_BIT(o->to))) ||
		    (o->state == OP_CATCHUP && (ended & NFS4R_BIT(o->op->primary))))
			ops_finish(c, o, NFS4R_DELAY);
		else if (o->state == OP_FORWARDED)
			o->blind = true;
}

static void answer_again(struct nfs4r_core *c, struct opx *o, const struct reply *r)
{
	struct nfs4r_op *op = o->op;

	result_of(o, r);
	o->cond.quorum = log_needs_quorum(c, op);
	if (o->cond.quorum && o->cond.log == c->self)
		log_quorum_wait(c, o->cond.lsn);
	if (FAULT(F_DUPLICATE_AT_ONCE) || ops_cond_met(c, &o->cond)) {
		ops_finish(c, o, NFS4R_OK);
		return;
	}
	o->done_at = c->now;
	out_timer_at(c, c->now + c->cfg.reply_wait_ms);
	ops_list(c, o, OP_REPLY);
}

void ops_forward_on_request(struct nfs4r_core *c, nfs4r_server_id from, struct nfs4r_msg *m)
{
	struct nfs4r_op *op = m->op;
	struct nfs4r_msg *answer;
	struct reply *r;
	struct opx *o;

	m->op = NULL; /* ours now */
	if (!sane(op, from)) {
		c->st.bad_messages++;
		if (op)
			drop(c, op);
		return;
	}
	ops_reply_origin_moved(c, from, op->id.inc, op->answered_below, false);
	if (c->halted || not_ready(c) || !state_lease_valid(c) || c->ops.nops >= OPS_MAX || find(c, &op->id) || (ops_reply_too_old(c, &op->id) && !((FAULT(F_LOCK_UNNUMBERED) || FAULT(F_SHARE_UNNUMBERED)) && nfs4r_op_at_authority(op->type))) ||
	    !same_generation(c, op) || !is_of_now(c, op)) {
		drop(c, op);
		return;
	}
	if (ops_refusal_find(c, op)) {
		answer = out_msg(c, NFS4R_MSG_FORWARD_ANSWER);
		answer->op = op;
		out_send(c, from, answer, false);
		drop(c, op);
		return;
	}
	r = FAULT(F_NO_DEDUP) ? NULL : ops_reply_find(c, &op->id);
	o = ops_begin(c, op, true, from);
	ops_reply_key(&op->id, &o->key);
	HASH_ADD(hh, c->ops.by_id, key, sizeof(o->key), o);
	o->hashed = true;
	if (r)
		answer_again(c, o, r);
	else
		ops_decide(c, o);
}
