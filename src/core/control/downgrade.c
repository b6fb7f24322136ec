/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Closed files, and directories that others read, are read from copies before their control is released (control 7.10).
 *
 * Happy path: the last writer of a file has closed it, its control is closing, so no new update counts on it. Released it is when everybody has the
 * log on disk up to `last`, a round trip and a half later for those who want to read. So announce_ms after the closing began CLOSING goes to all, with `last` as it is
 * then. Whoever has applied that much of the log reads his own copy, as if the control were released: half a round trip after the close.
 * The same for directories that others have been reading by this control (reader_yield.c), at once: these were unused for a while when it began to close.
 *
 * The other side of it: readers ask no more because of this control, so it completes no update that is made after the announcement (completion.c). What was made
 * before is covered by `last`, which every such update raised (control 5.1), so it is completed as before. An update of the file after that asks for a control of its own (control 3.8), or waits until all have applied it.
 * That is why announcing waits a little: a program that closes a file and then sets its times shall not pay for it. Files that are closed one soon after
 * another (an archive that is unpacked) share a message: a second one waits as long again.
 *
 * CLOSING is small and overtakes the entry that brings the control, with the file's bytes: then it is kept until that has come.
 *
 * Failure modes: a lost CLOSING costs readers a question to the owner, as before; late or doubled ones say what is still true. A restart
 * does not know which files it announced, so it takes all single controls for announced, also those that come back with the end of its log; of directories it is on disk before anybody hears it.
 */
#include "core/control/control_int.h"

/* One control, of something that need not be a directory. */
static bool is_single(const struct claim *cl)
{
	return cl->n == 1 && cl->ctl[0].depth == NFS4R_SHALLOW;
}

static uint64_t due_ms(const struct nfs4r_core *c, const struct own *ow)
{
	uint64_t from = ow->closing_ms > c->control.announced_ms ? ow->closing_ms : c->control.announced_ms;

	return ow->say == OWN_SAY_DIRS ? ow->closing_ms : from + c->cfg.announce_ms;
}

/* In the list of those to be announced, or out of it. */
static void own_say(struct nfs4r_core *c, struct own *ow, enum own_say to)
{
	assert((ow->say == OWN_SAY_NOTHING) != (to == OWN_SAY_NOTHING));
	if (to == OWN_SAY_NOTHING)
		DL_DELETE2(c->control.to_say, ow, say_prev, say_next);
	else if (to == OWN_SAY_DIRS)
		DL_PREPEND2(c->control.to_say, ow, say_prev, say_next);
	else
		DL_APPEND2(c->control.to_say, ow, say_prev, say_next);
	ow->say = to;
}

void control_announce_later(struct nfs4r_core *c, struct own *ow)
{
	bool dirs = c->policy_ops->is_read(c, ow);

	if (!c->cfg.announce_ms || !(dirs || is_single(ow->claim)) || ow->claim->announced)
		return;
	own_say(c, ow, dirs ? OWN_SAY_DIRS : OWN_SAY_FILE);
	out_timer_at(c, due_ms(c, ow));
}

void control_announce_never(struct nfs4r_core *c, struct own *ow)
{
	if (ow->say != OWN_SAY_NOTHING)
		own_say(c, ow, OWN_SAY_NOTHING);
}

void control_announce_again(struct nfs4r_core *c, struct claim *cl)
{
	struct nfs4r_facts f;

	if (control_is_known(c, &cl->ctl[0].oid, &f) && f.type == NFS4R_TYPE_DIR)
		return; /* its row says it */
	cl->announced = c->cfg.announce_ms && is_single(cl) && !FAULT(F_ANNOUNCED_FORGOTTEN);
}

/* Those whose time has come, as many as one message takes, either files or directories. Directories are saved, for they are often wanted again. */
static uint32_t take(struct nfs4r_core *c, struct own **due, bool *dirs)
{
	struct own *ow, *tmp;
	uint32_t n = 0;

	DL_FOREACH_SAFE2(c->control.to_say, ow, tmp, say_next) {
		bool is_dirs = ow->say == OWN_SAY_DIRS;

		if (n == NFS4R_CLOSING_MAX || c->now < due_ms(c, ow) || (n && is_dirs != *dirs))
			break;
		control_announce_never(c, ow);
		if (is_dirs ? ow->pins > 0 : !control_is_known_file(c, &ow->claim->ctl[0].oid)) /* pins: what executes now could not be answered by it */
			continue;
		ow->claim->announced = true;
		ow->said = ow->last;
		*dirs = is_dirs;
		if (*dirs)
			control_claim_save(c, ow->claim);
		due[n++] = ow;
	}
	return n;
}

static void announce(struct nfs4r_core *c, nfs4r_server_id to, struct own *const *due, uint32_t n, bool saved)
{
	struct nfs4r_msg *m = out_msg(c, NFS4R_MSG_CLOSING);

	m->closing.n = n;
	for (uint32_t i = 0; i < n; i++) {
		m->closing.seqs[i] = due[i]->claim->key.seq;
		m->closing.last[i] = due[i]->last;
	}
	out_send(c, to, m, saved);
}

void control_announce_timers(struct nfs4r_core *c)
{
	struct own *due[NFS4R_CLOSING_MAX];
	bool files = false, dirs = false;
	uint32_t n;

	if (c->control.to_say && quorum_away(c)) { /* nothing new can be had from all: what is under these controls would stand still */
		out_timer_at(c, c->now + state_repeat_ms(c));
		return;
	}
	while ((n = take(c, due, &dirs)) > 0) {
		files |= !dirs;
		EACH_MEMBER(c, s)
			announce(c, s, due, n, dirs);
	}
	if (files)
		c->control.announced_ms = c->now;
	if (c->control.to_say)
		out_timer_at(c, due_ms(c, c->control.to_say));
}

static void reads_here(struct nfs4r_core *c, nfs4r_server_id owner)
{
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_RECHECK_READS, .recheck_reads = { .owner = owner } });
}

void control_announce_applied(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn before)
{
	if (c->started && before < c->log.logs[log].good_at)
		reads_here(c, log);
}

/* @inc: of the owner's start that said it. One that lost the end of its log numbers anew, so an older one's word gives no number to hold this one against. */
static void good_from(struct nfs4r_core *c, struct claim *cl, nfs4r_lsn last, uint64_t inc)
{
	struct logst *l = &c->log.logs[cl->key.server];

	cl->announced = true;
	if (last > cl->good_at || inc != cl->good_inc)
		cl->good_at = last;
	cl->good_inc = inc;
	if (last > l->good_at)
		l->good_at = last;
	if (control_is_good_copy(c, cl) && c->started)
		reads_here(c, (nfs4r_server_id)cl->key.server);
}

/* CLOSING is small and overtakes the entry that brings the claim. */
static void remember(struct nfs4r_core *c, struct pidkey key, nfs4r_lsn last)
{
	struct deferred_closing *w;

	HASH_FIND(hh, c->control.said, &key, sizeof(key), w);
	if (!w) {
		if (HASH_COUNT(c->control.said) == SAID_MAX) {
			w = c->control.said;
			HASH_DEL(c->control.said, w);
			free(w);
		}
		w = out_xcalloc(1, sizeof(*w));
		w->key = key;
		HASH_ADD(hh, c->control.said, key, sizeof(w->key), w);
	}
	if (last > w->last || w->inc != c->peers[key.server].inc)
		w->last = last;
	w->inc = c->peers[key.server].inc;
}

void control_announce_found(struct nfs4r_core *c, struct claim *cl)
{
	struct deferred_closing *w;

	HASH_FIND(hh, c->control.said, &cl->key, sizeof(cl->key), w);
	if (!w)
		return;
	good_from(c, cl, w->last, w->inc);
	HASH_DEL(c->control.said, w);
	free(w);
}

void control_announce_on_closing(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	if (m->closing.n > NFS4R_CLOSING_MAX) {
		c->st.bad_messages++;
		return;
	}
	for (uint32_t i = 0; i < m->closing.n; i++) {
		struct pidkey key = { from, m->closing.seqs[i] };
		struct claim *cl = state_claim_find(c, from, key.seq);

		if (cl)
			good_from(c, cl, m->closing.last[i], c->peers[from].inc);
		else if (!state_is_dead_seq(c, from, key.seq))
			remember(c, key, m->closing.last[i]);
	}
}

bool control_is_good_copy(const struct nfs4r_core *c, const struct claim *cl)
{
	return cl->announced && !cl->own && (c->log.logs[cl->key.server].applied >= cl->good_at || FAULT(F_ANNOUNCED_AT_ONCE));
}
