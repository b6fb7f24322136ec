/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * When a view that somebody tells is adopted (log 6.14). Its proposer has counted acceptances; everybody else would have only its word for that.
 *
 * Happy path: ACCEPTED goes to all, and HEARTBEAT repeats what its sender has accepted and adopted, each with a digest. VIEW comes. When a majority of
 * the voters of the view that is adopted here has said on its own connections that it accepted or adopted just that one, this server included, it is adopted.
 *
 * Failure modes: the voters that are known here were taken out meanwhile, or lost in a majority (log 9.3): nobody can vouch. If for a silence no majority
 * went by the view that is adopted here, and this server so could not do anything by it, it takes the word of the one that it hears. A server
 * that remembers nothing takes anybody's. What nobody vouches for while a majority works is refused, and the log says whose word it was.
 *
 * Invariants: nothing is adopted without VIEW from somebody who has adopted it, so of servers that tell the truth no more is believed than their proposer
 * counted. Each peer's word is kept by itself: one cannot hide what another said.
 */
#include <stdio.h>

#include "core/membership/membership_int.h"

#define FAR_ROUNDS (1ull << 24) /* of a view that is believed without proof: a proposer that tries again every second for half a year */
#define ROUNDS_AT_ONCE (1ull << 14) /* by one server's word */
#define ROUNDS_A_SECOND 64 /* after that: all numbers last for eight years */
#define LOW(num) ((num) & ((1ull << NFS4R_RECONF_SHIFT) - 1))

static uint64_t top(const struct nfs4r_core *c)
{
	uint64_t t = view_highest(c) > c->view.seen ? view_highest(c) : c->view.seen;

	return c->view.adopted.num > t ? c->view.adopted.num : t;
}

/* Rounds from one number to a higher one; of another configuration it begins with 0 (log 9.3). */
static uint64_t rise(uint64_t from, uint64_t to)
{
	if (NFS4R_RECONF(to) > NFS4R_RECONF(from))
		return LOW(to) / NFS4R_VIEW_STEP;
	return to > from ? (to - from + NFS4R_VIEW_STEP - 1) / NFS4R_VIEW_STEP : 0;
}

static uint64_t room(struct nfs4r_core *c, nfs4r_server_id s)
{
	uint64_t more = (c->now - c->believe.room[s].at_ms) * ROUNDS_A_SECOND / 1000;

	if (more) {
		c->believe.room[s].at_ms = c->now;
		c->believe.room[s].rounds += more;
		if (c->believe.room[s].rounds > ROUNDS_AT_ONCE)
			c->believe.room[s].rounds = ROUNDS_AT_ONCE;
	}
	return FAULT(F_NUMBERS_LEAP) ? FAR_ROUNDS : c->believe.room[s].rounds;
}

static void spend(struct nfs4r_core *c, nfs4r_server_id s, uint64_t rounds)
{
	c->believe.room[s].rounds -= rounds < c->believe.room[s].rounds ? rounds : c->believe.room[s].rounds;
}

bool view_believe_may_rise(struct nfs4r_core *c, nfs4r_server_id from, uint64_t num)
{
	uint64_t n = rise(top(c), num);

	if (n > room(c, from))
		return false;
	spend(c, from, n);
	return true;
}

/* Farther than that it is heard of again, and reached later. Of a configuration that this server knows nothing of it hears by a view, or not at all (log 9.3). */
bool view_believe_saw(struct nfs4r_core *c, nfs4r_server_id from, uint64_t num)
{
	uint64_t n = rise(top(c), num), most = room(c, from), base = top(c);

	if (!state_reconf_reported(c) && NFS4R_RECONF(num) > NFS4R_RECONF(c->view.accepted.num))
		return n <= FAR_ROUNDS;
	if (NFS4R_RECONF(num) > NFS4R_RECONF(base))
		base = NFS4R_RECONF(num) << NFS4R_RECONF_SHIFT;
	if (n > most && FAULT(F_NUMBERS_LEAP))
		return false;
	if (n > most)
		num = base + most * NFS4R_VIEW_STEP;
	spend(c, from, n < most ? n : most);
	if (num > c->view.seen)
		c->view.seen = num;
	return n <= most;
}

/* Too high to be believed without proof, as seen from what this start began with. */
static bool is_far(struct nfs4r_core *c, nfs4r_server_id s, uint64_t num)
{
	return rise(c->believe.begun, num) > FAR_ROUNDS && rise(top(c), num) > room(c, s);
}

static bool is_view(const struct nfs4r_view *v, uint64_t num, uint64_t digest)
{
	return v->num == num && nfs4r_view_digest(v) == digest;
}

/* Has @s said that it accepted or adopted that view? */
static bool vouches(const struct nfs4r_core *c, nfs4r_server_id s, uint64_t num, uint64_t digest)
{
	const struct peer *p = &c->peers[s];

	if (s == c->self)
		return is_view(&c->view.accepted, num, digest);
	return (p->view == num && p->view_digest == digest) || (p->accepted == num && p->accepted_digest == digest) || is_view(&c->believe.reported[s], num, digest);
}

static nfs4r_servers vouchers(const struct nfs4r_core *c, const struct nfs4r_view *v)
{
	uint64_t digest = nfs4r_view_digest(v);
	nfs4r_servers set = 0;

	EACH_SERVER(c, s)
		if (vouches(c, s, v->num, digest))
			set |= NFS4R_BIT(s);
	return set;
}

/* Of a view that an administrator's word asked for all are to vouch whom it names: the other voters are lost. */
static bool is_vouched(const struct nfs4r_core *c, const struct nfs4r_view *v)
{
	nfs4r_servers set = vouchers(c, v);

	if (state_reconf_reported(c) && NFS4R_RECONF(v->num) == c->view.reconf_epoch && v->servers == c->view.reconf_set)
		return !(v->servers & ~set);
	return state_views_enough(c, set);
}

/* Can anything be done by the view that is adopted here? */
static void look(struct nfs4r_core *c)
{
	uint64_t digest = nfs4r_view_digest(&c->view.adopted);
	nfs4r_servers set = state_memory_known(c) ? NFS4R_BIT(c->self) : 0;

	EACH_PEER(c, s)
		if (state_memory_counts(c, s) && state_view_hears(c, s) && c->peers[s].view == c->view.adopted.num && c->peers[s].view_digest == digest)
			set |= NFS4R_BIT(s);
	if (state_views_enough(c, set))
		c->believe.works_ms = c->now;
}

/* It goes by that view, as its HEARTBEATs say, too. */
static bool goes_by(const struct nfs4r_core *c, nfs4r_server_id s, const struct nfs4r_view *v)
{
	return state_view_hears(c, s) && is_view(v, c->peers[s].view, c->peers[s].view_digest);
}

static bool may_believe(struct nfs4r_core *c, nfs4r_server_id s, const struct nfs4r_view *v)
{
	uint64_t t = c->believe.works_ms + state_silence_ms(c);

	if (FAULT(F_VIEW_BELIEVED) || is_vouched(c, v))
		return true;
	if (is_far(c, s, v->num) || !goes_by(c, s, v))
		return false;
	if (!state_memory_known(c))
		return true;
	if (view_secret_is_another(c, v))
		return false;
	if (c->now >= t)
		return true;
	out_timer_at(c, t);
	return false;
}

static void doubt(struct nfs4r_core *c, nfs4r_server_id s, const struct nfs4r_view *v)
{
	char text[NFS4R_CORE_TEXT];

	if (c->now < c->believe.reported_ms[s] + state_silence_ms(c)) {
		out_timer_at(c, c->believe.reported_ms[s] + state_silence_ms(c));
		return;
	}
	snprintf(text, sizeof(text), "reports view %llu as adopted, but no majority of the voters has confirmed that it accepted the view: ignored (log 6.14)",
		 (unsigned long long)v->num);
	out_complain(c, s, text);
}

void view_believe_run(struct nfs4r_core *c)
{
	struct nfs4r_view v = { 0 };

	look(c);
	EACH_PEER(c, s) {
		const struct nfs4r_view *w = &c->believe.reported[s];

		if (w->num <= c->view.adopted.num)
			continue;
		if (!may_believe(c, s, w))
			doubt(c, s, w);
		else if (w->num > v.num)
			v = *w;
	}
	if (!v.num)
		return;
	view_adopt(c, &v);
	c->believe.works_ms = c->now;
}

void view_believe_on_view(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_view *v)
{
	struct believe *b = &c->believe;

	if (v->num <= c->view.adopted.num || view_settings_refuse(c, from, v))
		return;
	if (b->reported[from].num <= c->view.adopted.num || b->reported[from].num > v->num)
		b->reported_ms[from] = c->now;
	b->reported[from] = *v;
	view_believe_run(c);
}

void view_believe_on_accepted(struct nfs4r_core *c, nfs4r_server_id from, uint64_t num, uint64_t digest)
{
	c->peers[from].accepted = num;
	c->peers[from].accepted_digest = digest;
	view_believe_run(c);
}

/* What it said is over: it is another server now, or none. */
void view_believe_forget(struct nfs4r_core *c, nfs4r_server_id s)
{
	struct peer *p = &c->peers[s];

	p->accepted = p->accepted_digest = p->view_digest = 0;
	c->believe.reported[s].num = 0;
}

void view_believe_started(struct nfs4r_core *c)
{
	c->believe.works_ms = c->now;
	c->believe.begun = top(c);
	EACH_PEER(c, s)
		c->believe.room[s].rounds = ROUNDS_AT_ONCE;
}
