/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The keys by which the others know a server (log 6.18). Their fingerprints are beside its address in the view, so a new key edits no file elsewhere.
 *
 * Happy path: a server that changes its key asks for a view with the old and the new fingerprint. When all others have that view on their disks, it uses the new
 * key, and asks for a view with that one alone.
 *
 * Failure modes: another server is outside the view: it may not know the new key, so the old one stays until that server is back, or until an administrator
 * says that nobody waits for it. The member that was asked dies, or another view is adopted first: what was asked for is forgotten, and may be asked again.
 *
 * Invariants: a server that has a fingerprint in the view never has none again. From one view to the next one fingerprint stays. One goes only when all others have on
 * their disks a view with one that stays; otherwise a server that comes back with an older view would take the one that changed its key for a stranger.
 */
#include <stdio.h>

#include "core/membership/membership_int.h"

static const struct nfs4r_address *entry_of(const struct nfs4r_address *all, uint32_t n, nfs4r_server_id s)
{
	for (uint32_t i = 0; i < n; i++)
		if (all[i].id == s)
			return &all[i];
	return NULL;
}

static bool has_key(const struct nfs4r_key_fingerprint *keys, uint32_t n, const struct nfs4r_key_fingerprint *key)
{
	for (uint32_t i = 0; i < n; i++)
		if (memcmp(&keys[i], key, sizeof(*key)) == 0)
			return true;
	return false;
}

static uint32_t stay(const struct nfs4r_address *now, const struct nfs4r_key_fingerprint *keys, uint32_t n)
{
	uint32_t same = 0;

	for (uint32_t i = 0; i < now->nkeys; i++)
		same += has_key(keys, n, &now->keys[i]);
	return same;
}

static bool is_confirmed_by(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return s == c->self ? c->view.ready && c->view.confirmed_sent : c->peers[s].confirmed == c->view.adopted.num;
}

/* Servers that may not have the adopted view on their disks. */
static nfs4r_servers unsure(const struct nfs4r_core *c)
{
	nfs4r_servers set = c->view.adopted.servers & ~c->view.adopted.members;

	EACH_OF(c->view.adopted.members, s)
		if (!is_confirmed_by(c, s))
			set |= NFS4R_BIT(s);
	return set;
}

static const char *not_now(const struct nfs4r_core *c, nfs4r_server_id s)
{
	if (!state_views_on(c))
		return "the view is fixed (Lease = 0): keys are in the Server blocks of the configuration";
	if (!state_is_member(c, c->self) || !state_memory_known(c))
		return "this server is outside the view itself: ask a member";
	if (!s || s > NFS4R_SERVERS_MAX || !(c->view.adopted.servers & NFS4R_BIT(s)))
		return "it does not belong to this volume";
	if (c->change.add || c->change.remove || (c->change.rekey && c->change.rekey != s))
		return "another change of the servers or of their keys is under way: one at a time";
	return NULL;
}

/* All but @s know one of its keys that stay. DELAY: @why says who may not. */
static enum nfs4r_status may_drop(const struct nfs4r_core *c, nfs4r_server_id s, bool abandon, char *why, size_t why_len)
{
	nfs4r_servers late = unsure(c) & ~NFS4R_BIT(s);
	char list[NFS4R_LIST_TEXT];

	if (abandon)
		late &= c->view.adopted.members;
	if (!late || FAULT(F_KEY_AT_ONCE))
		return NFS4R_OK;
	out_servers_text(late, list, sizeof(list));
	snprintf(why, why_len, "the old key stays until these servers have the new one on their disks: %s", list);
	return NFS4R_DELAY;
}

enum nfs4r_status nfs4r_core_may_set_keys(const struct nfs4r_core *c, nfs4r_server_id s, const struct nfs4r_key_fingerprint *keys, uint32_t n, bool abandon, char *why,
					  size_t why_len)
{
	const char *text = not_now(c, s);
	const struct nfs4r_address *now = text ? NULL : entry_of(c->view.adopted.addresses, c->view.adopted.nbook, s);

	if (!text && (!n || n > NFS4R_KEYS_MAX))
		text = "a server has one key, or two while it changes them";
	if (!text && now && now->nkeys && !stay(now, keys, n))
		text = "one of its present keys has to stay beside the new one at first";
	snprintf(why, why_len, "%s", text ? text : "");
	if (text)
		return NFS4R_INVAL;
	return now && stay(now, keys, n) < now->nkeys ? may_drop(c, s, abandon, why, why_len) : NFS4R_OK;
}

/* ---- the view ---- */

static const struct nfs4r_address *wanted(const struct nfs4r_core *c)
{
	return entry_of(c->change.all, c->change.nall, c->change.rekey);
}

static bool is_done(const struct nfs4r_core *c)
{
	const struct nfs4r_address *now = entry_of(c->view.adopted.addresses, c->view.adopted.nbook, c->change.rekey), *then = wanted(c);

	return now && now->nkeys == then->nkeys && stay(now, then->keys, then->nkeys) == now->nkeys;
}

/* A view is wanted for that server's keys; 0: none. If another view came in between, who asked asks again: other changes do not wait for a server that is away. */
nfs4r_server_id view_server_keys_wanted(struct nfs4r_core *c)
{
	struct change *ch = &c->change;
	char why[NFS4R_CORE_TEXT];

	if (ch->rekey && nfs4r_core_may_set_keys(c, ch->rekey, wanted(c)->keys, wanted(c)->nkeys, ch->abandon, why, sizeof(why)) != NFS4R_OK)
		ch->rekey = 0;
	return ch->rekey;
}

void view_server_keys_into(const struct nfs4r_core *c, nfs4r_server_id s, struct nfs4r_view *v)
{
	const struct nfs4r_address *then = wanted(c);

	for (uint32_t i = 0; i < v->nbook; i++) {
		if (v->addresses[i].id != s)
			continue;
		v->addresses[i].nkeys = then->nkeys;
		memcpy(v->addresses[i].keys, then->keys, sizeof(then->keys));
	}
}

void view_server_keys_adopted(struct nfs4r_core *c)
{
	if (c->change.rekey && (!(c->view.adopted.servers & NFS4R_BIT(c->change.rekey)) || is_done(c)))
		c->change.rekey = 0;
}

/* ---- the door ---- */

void view_server_keys_set(struct nfs4r_core *c, const struct nfs4r_event *ev)
{
	const struct nfs4r_address *a = ev->nall <= NFS4R_SERVERS_MAX ? entry_of(ev->all, ev->nall, ev->peer) : NULL;
	struct change *ch = &c->change;
	char why[NFS4R_CORE_TEXT];
	nfs4r_servers all = 0;

	for (uint32_t i = 0; a && i < ev->nall; i++)
		all |= NFS4R_BIT(ev->all[i].id);
	if (!a || nfs4r_core_may_set_keys(c, ev->peer, a->keys, a->nkeys, ev->abandon, why, sizeof(why)) != NFS4R_OK || (!c->view.adopted.nbook && (c->view.adopted.servers & ~all)))
		return;
	ch->rekey = ev->peer;
	ch->abandon = ev->abandon;
	ch->nall = ev->nall;
	memcpy(ch->all, ev->all, ev->nall * sizeof(ev->all[0]));
	if (is_done(c))
		ch->rekey = 0;
	view_propose_consider(c);
}
