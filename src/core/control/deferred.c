/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Proposals that came before the entry that makes their object (control 4.3d).
 *
 * PROPOSE is small and overtakes the entries of its sender's log: who removes what he has just made asks for it before it is known here. Refused, he
 * would ask again a round trip later, when it has long been known.
 *
 * Happy path: nothing is in the way of a proposal but an object that is not known yet. It is kept, and taken as if it came then when all
 * its objects are known; until then it has no effect but that of control 4.3c.
 *
 * Failure modes: what is not known in time is refused after all, what is too much at once. A lost or a new connection and a new view
 * forget what is kept, for its sender asks again. What was released meanwhile has its tombstone (control 4.3b).
 */
#include "core/control/control_int.h"

struct deferred_proposal {
	nfs4r_server_id from;
	uint64_t until;
	struct nfs4r_msg m; /* PROPOSE; owns nothing */
	struct deferred_proposal *prev, *next;
};

static void drop(struct nfs4r_core *c, struct deferred_proposal *e)
{
	DL_DELETE(c->control.deferred, e);
	c->control.nearly--;
	free(e);
}

static struct deferred_proposal *find(struct nfs4r_core *c, const struct nfs4r_pid *pid)
{
	struct deferred_proposal *e;

	DL_FOREACH(c->control.deferred, e)
		if (e->m.propose.pid.server == pid->server && e->m.propose.pid.seq == pid->seq)
			return e;
	return NULL;
}

bool control_deferred_keep(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct deferred_proposal *e = find(c, &m->propose.pid);

	if (!e && c->control.nearly == DEFERRED_MAX)
		return false;
	if (!e) {
		e = out_xcalloc(1, sizeof(*e));
		e->from = from;
		e->until = c->now + state_repeat_ms(c) / NACK_REPEAT_DIV;
		DL_APPEND(c->control.deferred, e);
		c->control.nearly++;
		c->st.proposals_deferred++;
		out_timer_at(c, e->until);
	}
	e->m = *m; /* a repeated one may say more: that it has a majority */
	return true;
}

static bool are_known(struct nfs4r_core *c, const struct nfs4r_msg *m)
{
	struct nfs4r_facts f;

	for (uint32_t i = 0; i < m->propose.ncontrols; i++)
		if (!control_is_known(c, &m->propose.controls[i].oid, &f) && f.known == NFS4R_NOT_YET)
			return false;
	return true;
}

bool control_deferred_next(struct nfs4r_core *c, nfs4r_server_id *from, struct nfs4r_msg *m)
{
	struct deferred_proposal *e;

	DL_FOREACH(c->control.deferred, e)
		if (are_known(c, &e->m)) {
			*from = e->from;
			*m = e->m;
			drop(c, e);
			return true;
		}
	return false;
}

void control_deferred_timers(struct nfs4r_core *c)
{
	struct deferred_proposal *e, *tmp;

	DL_FOREACH_SAFE(c->control.deferred, e, tmp)
		if (c->now >= e->until) {
			control_election_refuse_unknown(c, e->from, &e->m.propose.pid);
			drop(c, e);
		} else {
			out_timer_at(c, e->until);
		}
}

void control_deferred_forget(struct nfs4r_core *c, nfs4r_servers whose)
{
	struct deferred_proposal *e, *tmp;

	DL_FOREACH_SAFE(c->control.deferred, e, tmp)
		if (whose & NFS4R_BIT(e->from))
			drop(c, e);
}
