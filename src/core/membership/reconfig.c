/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Servers added and taken out while the volume runs (log 9.1).
 *
 * Happy path of adding: a view makes the new server one of the volume, not yet of those that vote (a learner). It has FORGOT, as after the loss of a
 * disk (log 8.6): it takes everything from the others, catches up, and one more view makes it voter and member. Taking out: the server is removed from
 * the members like a silent one, its log ends, and one more view takes it out of the voters and of the volume.
 *
 * Failure modes: the member that was asked dies: what was asked for is forgotten, and nothing is half done that matters: a learner goes on as
 * one, a removed server comes back. Too few would be left, or with `local` something that only the server has would be lost: refused, with a word of what to do.
 *
 * Invariants: voters change by one at a time, on a view in which all members have arrived: it is on their disks, they have all rows and have crossed all
 * seals, and what they count on a majority for (claims won, updates that are held) counts on one of this view's voters. So majorities of
 * one view and of the next meet, and leases, elections and ends of logs that were judged by the one hold in the other. With `local`
 * nobody is taken out while another log is open whose server is outside: who knows its claims might go.
 */
#include <stdio.h>

#include "core/membership/membership_int.h"

/* ---- the addresses ------------------------------------------------------------------------- */

static struct address_table_rows *address_table_of(struct view *w, uint64_t num)
{
	for (uint32_t i = 0; i < ADDRESS_TABLES_MAX; i++)
		if (w->books[i].view == num)
			return &w->books[i];
	return NULL;
}

static void save_address_table(struct nfs4r_core *c, const struct nfs4r_view *v)
{
	struct address_table_rows *b;

	if (!v->nbook || address_table_of(&c->view, v->num))
		return;
	b = address_table_of(&c->view, 0);
	assert(b); /* those of the last views adopted and accepted, and of the new ones */
	b->view = v->num;
	b->n = v->nbook;
	memcpy(b->v, v->addresses, v->nbook * sizeof(v->addresses[0]));
	for (uint32_t i = 0; i < b->n; i++) {
		struct nfs4r_put p;

		row_address(b->view, &b->v[i], &p, false);
		out_put(c, &p);
	}
}

void view_books_save(struct nfs4r_core *c)
{
	save_address_table(c, &c->view.adopted);
	save_address_table(c, &c->view.accepted);
}

/* Those of other views go, when the row 'V' does not name them any more. */
void view_books_clean(struct nfs4r_core *c)
{
	for (uint32_t i = 0; i < ADDRESS_TABLES_MAX; i++) {
		struct address_table_rows *b = &c->view.books[i];

		if (!b->view || b->view == c->view.adopted.num || b->view == c->view.accepted.num)
			continue;
		for (uint32_t k = 0; k < b->n; k++) {
			struct nfs4r_put p;

			row_address(b->view, &b->v[k], &p, true);
			out_put(c, &p);
		}
		b->view = 0;
		b->n = 0;
	}
}

static void put_in(struct nfs4r_view *v, const struct nfs4r_address *a)
{
	uint32_t i = v->nbook;

	while (i > 0 && v->addresses[i - 1].id > a->id)
		i--;
	memmove(&v->addresses[i + 1], &v->addresses[i], (v->nbook - i) * sizeof(v->addresses[0]));
	v->addresses[i] = *a;
	v->nbook++;
}

static void take_address_table(struct view *w, struct nfs4r_view *v, uint32_t n)
{
	const struct address_table_rows *b = n ? address_table_of(w, v->num) : NULL;

	v->nbook = 0;
	for (uint32_t i = 0; b && i < b->n; i++)
		put_in(v, &b->v[i]);
}

/* All rows are back. */
void view_books_started(struct nfs4r_core *c)
{
	take_address_table(&c->view, &c->view.adopted, c->view.nadopted);
	take_address_table(&c->view, &c->view.accepted, c->view.naccepted);
	view_books_clean(c);
}

/* ---- arrived --------------------------------------------------------------------------------- */

/* What this server counts on a majority for counts on one of this view's voters. */
bool view_is_confirmed(struct nfs4r_core *c)
{
	return c->view.ready && (control_elections_decided(c) || FAULT(F_VOTERS_UNACKED)) && log_quorum_doubt_cleared(c) && log_quorum_backs(c);
}

/* All members have arrived in the adopted view. */
bool view_may_change_voters(const struct nfs4r_core *c)
{
	if (FAULT(F_VOTERS_AT_ONCE))
		return true;
	EACH_MEMBER(c, s)
		if (c->peers[s].confirmed != c->view.adopted.num)
			return false;
	return c->view.ready && c->view.confirmed_sent;
}

/* ---- what was asked for ------------------------------------------------------------------------ */

static void wait_for(struct nfs4r_core *c, const char *what)
{
	snprintf(c->change.waits, sizeof(c->change.waits), "%s", what);
}

static void refuse_removal(struct nfs4r_core *c, const char *why)
{
	char text[NFS4R_CORE_TEXT];

	snprintf(text, sizeof(text), "server %u is not removed from the volume: %s", c->change.remove, why);
	c->change.remove = 0;
	out_stuck(c, text);
}

static const char too_few_remain[] = "the remaining servers have no majority without it: add another server first";

static bool are_enough_without(const struct nfs4r_core *c, nfs4r_server_id x)
{
	nfs4r_servers voters = c->view.adopted.voters, rest = voters & ~NFS4R_BIT(x);

	return rest == voters || quorum_is(rest, voters);
}

/* May @x go from the voters, as far as the others are concerned? */
static bool may_go(struct nfs4r_core *c, nfs4r_server_id x)
{
	const struct nfs4r_view *v = &c->view.adopted;

	if (v->open & ~v->members & ~NFS4R_BIT(x)) {
		wait_for(c, "another server is outside the view and its controls wait for it: that server must return or be abandoned first");
		return false;
	}
	if (!view_may_change_voters(c)) {
		wait_for(c, "all members must confirm the view");
		return false;
	}
	return true;
}

/* It is removed from the members, and the others go on. */
static void leave(struct nfs4r_core *c, nfs4r_servers *gone, nfs4r_servers *seal)
{
	nfs4r_server_id x = c->change.remove;
	bool local = !state_ends_logs(c);

	if (!may_go(c, x)) /* else it would come back before it is taken out, again and again */
		return;
	if (!state_views_enough(c, c->view.adopted.members & ~(*gone | NFS4R_BIT(x)))) {
		wait_for(c, "too few members would remain: other servers must return first");
		return;
	}
	if (local && !c->change.abandon && c->control.nclaims_of[x]) {
		refuse_removal(c, "it has controls (again): stop it and wait, or use --abandon to lose the updates that only it has");
		return;
	}
	*gone |= NFS4R_BIT(x);
	if (!local)
		*seal |= NFS4R_BIT(x);
}

/* Its log ends: with `local` when nothing of it is missing anywhere, or when that was given up. */
static void end_log(struct nfs4r_core *c, nfs4r_servers *seal)
{
	nfs4r_server_id x = c->change.remove;
	bool sure, claimed = state_memory_claimed(c, x, &sure);

	if (state_ends_logs(c) || c->change.abandon)
		*seal |= NFS4R_BIT(x);
	else if (claimed)
		refuse_removal(c, "it has controls (again): stop it and wait, or use --abandon to lose the updates that only it has");
	else if (sure)
		*seal |= NFS4R_BIT(x);
	else
		wait_for(c, "all members must confirm that they know no control of it");
}

static void consider_removal(struct nfs4r_core *c, nfs4r_servers *gone, const nfs4r_servers *add, nfs4r_servers *seal, nfs4r_server_id *out)
{
	const struct nfs4r_view *v = &c->view.adopted;
	nfs4r_server_id x = c->change.remove;

	if (state_is_member(c, x))
		leave(c, gone, seal);
	else if (v->open & NFS4R_BIT(x))
		end_log(c, seal);
	else if (*gone || *add || *seal)
		wait_for(c, "another change of the view must finish first");
	else if (state_is_learner(c, x) || may_go(c, x))
		*out = x;
}

/* Log 9.1: what is to be changed besides @gone, @add and @seal, which the view's rules want. */
void view_member_consider(struct nfs4r_core *c, nfs4r_servers *gone, nfs4r_servers *add, nfs4r_servers *seal, nfs4r_server_id *in, nfs4r_server_id *out)
{
	nfs4r_servers voters = c->view.adopted.voters, learners, first;

	c->change.waits[0] = '\0';
	*in = c->change.add;
	*out = 0;
	if (c->change.remove) {
		*add &= ~NFS4R_BIT(c->change.remove);
		consider_removal(c, gone, add, seal, out);
	}
	learners = *add & ~voters;
	first = learners & -learners;
	*add &= ~learners;
	if (first && !*add && !*gone && !*seal && !*out && view_may_change_voters(c) && quorum_is(c->view.adopted.members | first, voters | first))
		*add = first;
}

/* ---- the view ------------------------------------------------------------------------------------ */

static const struct nfs4r_address *address_of(const struct change *ch, nfs4r_server_id s)
{
	for (uint32_t i = 0; i < ch->nall; i++)
		if (ch->all[i].id == s)
			return &ch->all[i];
	return NULL;
}

static void drop_address(struct nfs4r_view *v, nfs4r_server_id out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->nbook; i++)
		if (v->addresses[i].id != out)
			v->addresses[n++] = v->addresses[i];
	v->nbook = n;
}

/* @v is the base with the members as they are to be. */
void view_member_view_of(const struct nfs4r_core *c, const struct proposal *p, struct nfs4r_view *v)
{
	v->voters |= p->add;
	if (p->in || p->rekey) {
		nfs4r_servers listed = v->nbook ? v->servers : 0;

		v->servers |= p->in ? NFS4R_BIT(p->in) : 0;
		EACH_OF(v->servers & ~listed, s)
			put_in(v, address_of(&c->change, s));
	}
	if (p->rekey)
		view_server_keys_into(c, p->rekey, v);
	if (p->out) {
		nfs4r_lsn begin = state_seal_begin(v, p->out);

		if (view_seal_add(v, p->out, begin)) /* its log has ended; when it is added again it knows by this that it was taken out */
			v->epoch++;
		v->servers &= ~NFS4R_BIT(p->out);
		v->voters &= ~NFS4R_BIT(p->out);
		drop_address(v, p->out);
	}
}

static void peer_is_new(struct nfs4r_core *c, nfs4r_server_id s)
{
	struct peer *p = &c->peers[s];

	view_peer_forget(c, s);
	view_believe_forget(c, s);
	p->beats = p->judged = p->complete = p->joining = p->caught_up = false;
	p->view = p->promised = p->confirmed = p->granted_t = p->granted_until = p->lease_until = p->reconf_epoch = p->reconf_set = 0;
	p->hears = p->claims = 0;
	p->heard_ms = p->counted_ms = p->unready_ms = c->now;
}

static nfs4r_servers learners_of(const struct nfs4r_view *v)
{
	return v->servers & ~v->voters;
}

/* It came or went; or it begins anew as a learner, and what it told before is of another copy: its log ended when it was taken out in between. */
static bool is_another(const struct nfs4r_view *v, const struct nfs4r_view *old, nfs4r_server_id s)
{
	if ((v->servers ^ old->servers) & NFS4R_BIT(s))
		return true;
	return (learners_of(v) & NFS4R_BIT(s)) && (!(learners_of(old) & NFS4R_BIT(s)) || state_seal_begin(v, s) != state_seal_begin(old, s));
}

/* The adopted view came after @old. */
void view_member_adopted(struct nfs4r_core *c, const struct nfs4r_view *old)
{
	const struct nfs4r_view *v = &c->view.adopted;
	struct change *ch = &c->change;

	state_logs_known(c, state_seal_logs(v));
	EACH_OF((v->servers | old->servers) & ~NFS4R_BIT(c->self), s)
		if (is_another(v, old, s))
			peer_is_new(c, s);
	if (v->servers & NFS4R_BIT(ch->add))
		ch->add = 0;
	if (!(v->servers & NFS4R_BIT(ch->remove)))
		ch->remove = 0;
	view_server_keys_adopted(c);
	if (ch->remove && !are_enough_without(c, ch->remove) && !FAULT(F_REMOVAL_STAYS))
		refuse_removal(c, too_few_remain);
	if (!(v->servers & NFS4R_BIT(c->self)))
		out_stuck(c, "this server was removed from the volume and no longer answers: to bring it back, give it an empty store and add it");
}

/* ---- the door ---------------------------------------------------------------------------------------- */

static const char *not_now(const struct nfs4r_core *c, nfs4r_server_id s)
{
	if (!state_views_on(c))
		return "the view is fixed (Lease = 0): the configuration names the servers";
	if (!s || s > NFS4R_SERVERS_MAX)
		return "the number of a server is 1 to 15";
	if (!state_is_member(c, c->self) || !state_memory_known(c))
		return "this server is outside the view itself: ask a member";
	if ((c->change.add && c->change.add != s) || (c->change.remove && c->change.remove != s))
		return "another server is being added or removed: one at a time";
	if (c->change.rekey)
		return "the keys of a server are being changed: one at a time";
	return NULL;
}

static enum nfs4r_status say(const char *text, char *why, size_t why_len)
{
	snprintf(why, why_len, "%s", text ? text : "");
	return text ? NFS4R_INVAL : NFS4R_OK;
}

enum nfs4r_status nfs4r_core_may_add(const struct nfs4r_core *c, nfs4r_server_id s, char *why, size_t why_len)
{
	const char *text = not_now(c, s);

	if (!text && (c->view.adopted.servers & NFS4R_BIT(s)))
		text = state_is_learner(c, s) ? "it is already added: it becomes a voter and a member when it has caught up" : "it already belongs to this volume";
	return say(text, why, why_len);
}

enum nfs4r_status nfs4r_core_may_remove(const struct nfs4r_core *c, nfs4r_server_id s, bool abandon, uint64_t *lost, char *why, size_t why_len)
{
	const char *text = not_now(c, s);
	bool local = !state_ends_logs(c);

	*lost = 0;
	if (!text && s == c->self)
		text = "a server cannot remove itself: ask another member";
	if (!text && !(c->view.adopted.servers & NFS4R_BIT(s)))
		text = "it does not belong to this volume";
	if (!text && !are_enough_without(c, s))
		text = too_few_remain;
	if (!text && local && !abandon && c->control.nclaims_of[s])
		text = "it has controls: stop it and wait until they are released, or use --abandon to lose the updates that only it has";
	if (!text && (abandon || !local))
		*lost = view_propose_only_there(c, s);
	return say(text, why, why_len);
}

void view_member_add(struct nfs4r_core *c, const struct nfs4r_event *ev)
{
	struct change *ch = &c->change;
	nfs4r_servers all = 0;
	char why[NFS4R_CORE_TEXT];

	for (uint32_t i = 0; i < ev->nall; i++)
		all |= NFS4R_BIT(ev->all[i].id);
	if (nfs4r_core_may_add(c, ev->peer, why, sizeof(why)) != NFS4R_OK || ev->nall > NFS4R_SERVERS_MAX || !(all & NFS4R_BIT(ev->peer)) ||
	    (!c->view.adopted.nbook && (c->view.adopted.servers & ~all)))
		return;
	ch->add = ev->peer;
	ch->nall = ev->nall;
	memcpy(ch->all, ev->all, ev->nall * sizeof(ev->all[0]));
	view_propose_consider(c);
}

void view_member_remove(struct nfs4r_core *c, const struct nfs4r_event *ev)
{
	uint64_t lost;
	char why[NFS4R_CORE_TEXT];

	if (nfs4r_core_may_remove(c, ev->peer, ev->abandon, &lost, why, sizeof(why)) != NFS4R_OK)
		return;
	c->change.remove = ev->peer;
	c->change.abandon = ev->abandon;
	view_propose_consider(c);
}
