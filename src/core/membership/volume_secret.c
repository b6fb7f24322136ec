/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The secret of the volume (log 6.13): the key under which the handles that clients get are checked. It is made once, and all servers have the same.
 *
 * Happy path: view 0 has none. As soon as a majority remembers (log 8.6), the first member proposes the view as it is, with the random number that its own
 * caller gave it; every later view inherits that one, so it comes to whoever adopts a view: a new server, or one that lost its store. No server
 * has a lease before it goes by a view with a secret, so no handle is given out before.
 *
 * With a fixed view nobody votes. Servers tell each other theirs, or that they have none, in a VIEW whenever they are connected, and the configured
 * server with the lowest id makes one when all others have said that they have none. Nobody else makes one.
 *
 * Failure modes: the proposer dies: somebody else proposes, and finds the secret among the promises if it may have been adopted. Fixed: a server is
 * away at the very first start: all wait for it, and the log says so.
 *
 * Invariants: a secret is on stable storage before anybody hears of it; a view with a secret is never followed by one with another, and whoever asks for
 * such a view, or says that it has accepted one, is refused.
 */
#include <stdio.h>

#include "core/membership/membership_int.h"

/* ---- by views ---- */

/* The view that is adopted has none, and enough remember to give it one. Before that a proposal would be in the way of the next. */
bool view_secret_wanted(const struct nfs4r_core *c)
{
	nfs4r_servers set = NFS4R_BIT(c->self);

	if (!state_secret_is_used(c) || state_secret_is(&c->view.adopted))
		return false;
	EACH_PEER(c, s)
		if (state_memory_counts(c, s))
			set |= NFS4R_BIT(s);
	return state_views_enough(c, set);
}

void view_secret_into(const struct nfs4r_core *c, struct nfs4r_view *v)
{
	if (state_secret_is_used(c) && (!state_secret_is(v) || FAULT(F_SECRET_ANEW)))
		memcpy(v->secret, c->cfg.secret, sizeof(v->secret));
}

/* View 0 is not what others voted for: a volume whose view was fixed may have none in it at one server, and one at another. */
bool view_secret_is_another(const struct nfs4r_core *c, const struct nfs4r_view *v)
{
	const struct nfs4r_view *w = &c->view.adopted;

	return w->num && state_secret_is(w) && memcmp(v->secret, w->secret, sizeof(w->secret)) != 0 && !FAULT(F_SECRET_ANEW);
}

/* A volume whose view was fixed has one in view 0, and not everybody may have heard it. */
void view_secret_of_promise(struct nfs4r_view *base, const struct nfs4r_view *accepted)
{
	if (base->num == accepted->num && !state_secret_is(base))
		memcpy(base->secret, accepted->secret, sizeof(base->secret));
}

/* ---- with a fixed view ---- */

static void take(struct nfs4r_core *c, const uint8_t secret[NFS4R_SECRET])
{
	memcpy(c->view.adopted.secret, secret, NFS4R_SECRET);
	memcpy(c->view.accepted.secret, secret, NFS4R_SECRET);
	view_save(c);
	c->dirty |= DIRTY_OPS | DIRTY_REPLY | DIRTY_RELEASE;
	EACH_PEER(c, s)
		view_send(c, s);
}

/* Only this one makes it, and it has none: then nobody has, if nobody says so. */
static bool makes_it(const struct nfs4r_core *c)
{
	return !state_views_on(c) && state_secret_is_used(c) && !state_secret_is(&c->view.adopted) && (c->cfg.servers & -c->cfg.servers) == NFS4R_BIT(c->self);
}

static void consider(struct nfs4r_core *c)
{
	nfs4r_servers missing = c->cfg.servers & ~c->view.bare & ~NFS4R_BIT(c->self);
	char text[NFS4R_CORE_TEXT], list[NFS4R_LIST_TEXT];

	if (!makes_it(c))
		return;
	if (!missing || FAULT(F_SECRET_UNHEARD)) {
		take(c, c->cfg.secret);
		return;
	}
	out_servers_text(missing, list, sizeof(list));
	snprintf(text, sizeof(text), "the volume has no key for file handles yet, and this server creates one only when all others report that they have none; operations wait for: %s", list);
	out_stuck(c, text);
}

void view_secret_started(struct nfs4r_core *c)
{
	consider(c);
}

void view_secret_peer_up(struct nfs4r_core *c, nfs4r_server_id s)
{
	if (!state_views_on(c) && state_secret_is_used(c))
		view_send(c, s);
}

void view_secret_on_view(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_view *v)
{
	if (state_views_on(c) || !state_secret_is_used(c) || !(c->cfg.servers & NFS4R_BIT(from)))
		return;
	if (!state_secret_is(v))
		c->view.bare |= NFS4R_BIT(from);
	else if (!state_secret_is(&c->view.adopted))
		take(c, v->secret);
	else if (memcmp(v->secret, c->view.adopted.secret, sizeof(v->secret)) != 0)
		out_complain(c, from, "has another key for file handles than this server, and neither adopts the other's: start the server with the wrong key with an empty store (log 6.13)");
	consider(c);
}
