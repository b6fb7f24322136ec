/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a volume has of its own, beside its servers: its protocol and its disk format (log 6.16).
 *
 * Happy path: every view says them, and inherits them from its base. HEARTBEATs say what each server's program knows. When all servers have been
 * replaced by a later release, an administrator finishes the upgrade: one more view has the highest that all of them know.
 * Until then nobody says or writes what the release before refuses, so each server may go back to it.
 *
 * Failure modes: a server is silent, or knows no more than the volume has: refused, and the sentence names it. The member that was asked dies:
 * what was asked for is forgotten. A server goes back while the view is being made: it accepts no view that it does not know, and says so.
 *
 * Invariants: neither number is ever lowered. When a view is proposed its numbers are known to all servers of the volume; the first one's, to all that were heard.
 */
#include <stdio.h>

#include "core/membership/membership_int.h"

/* ---- rows 'W' ---- */

static struct settings_row *row_of(struct view *w, uint64_t num)
{
	for (uint32_t i = 0; i < SETTINGS_ROWS_MAX; i++)
		if (w->settings[i].view == num)
			return &w->settings[i];
	return NULL;
}

static void save(struct nfs4r_core *c, const struct nfs4r_view *v)
{
	uint32_t longest_ms = v->num == c->view.adopted.num ? c->view.longest_ms : 0;
	struct settings_row *r;
	struct nfs4r_put p;

	if (!v->settings.protocol)
		return;
	r = row_of(&c->view, v->num);
	if (r && nfs4r_volume_settings_equal(&r->settings, &v->settings) && r->longest_ms == longest_ms)
		return;
	if (!r) /* else what is adopted is not what its proposer has told here under that number */
		r = row_of(&c->view, 0);
	assert(r); /* those of the last views adopted and accepted, and of the new ones */
	r->view = v->num;
	r->settings = v->settings;
	r->longest_ms = longest_ms;
	row_settings(r->view, &r->settings, longest_ms, state_volume_has_format(c, NFS4R_DISK_FORMAT_REHEARSED), &p, false);
	out_put(c, &p);
}

void view_settings_save(struct nfs4r_core *c)
{
	save(c, &c->view.adopted);
	save(c, &c->view.accepted);
}

void view_settings_clean(struct nfs4r_core *c)
{
	for (uint32_t i = 0; i < SETTINGS_ROWS_MAX; i++) {
		struct settings_row *r = &c->view.settings[i];
		struct nfs4r_put p;

		if (!r->view || r->view == c->view.adopted.num || r->view == c->view.accepted.num)
			continue;
		row_settings(r->view, &r->settings, 0, false, &p, true);
		out_put(c, &p);
		r->view = 0;
	}
}

static void take(struct view *w, struct nfs4r_view *v)
{
	const struct settings_row *r = v->num ? row_of(w, v->num) : NULL;

	if (r)
		v->settings = r->settings;
}

/* All rows are back. */
void view_settings_started(struct nfs4r_core *c)
{
	const struct settings_row *r = c->view.adopted.num ? row_of(&c->view, c->view.adopted.num) : NULL;

	take(&c->view, &c->view.adopted);
	take(&c->view, &c->view.accepted);
	c->view.longest_ms = r ? r->longest_ms : 0;
	view_keys_started(c);
	view_settings_clean(c);
}

bool view_settings_restored(struct nfs4r_core *c, uint64_t view, const struct nfs4r_volume_settings *s, uint32_t longest_ms)
{
	struct settings_row *r = row_of(&c->view, 0);

	if (!r || row_of(&c->view, view))
		return false;
	r->view = view;
	r->settings = *s;
	r->longest_ms = longest_ms;
	return true;
}

/* ---- what servers know ---- */

static struct nfs4r_versions protocols(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return s == c->self ? c->cfg.protocol : c->peers[s].protocol;
}

static struct nfs4r_versions formats(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return s == c->self ? c->cfg.disk_format : c->peers[s].disk_format;
}

static bool is_known_here(const struct nfs4r_core *c, const struct nfs4r_volume_settings *s)
{
	return !s->protocol || (nfs4r_versions_have(c->cfg.protocol, s->protocol) && nfs4r_versions_have(c->cfg.disk_format, s->disk_format));
}

bool nfs4r_core_knows_volume(const struct nfs4r_core *c, struct nfs4r_volume_settings *has)
{
	for (uint32_t i = 0; i < SETTINGS_ROWS_MAX; i++) {
		const struct settings_row *r = &c->view.settings[i];

		*has = r->settings;
		if (r->view && (r->view == c->view.adopted.num || r->view == c->view.accepted.num) && !is_known_here(c, has))
			return false;
	}
	return true;
}

/* A view that this server does not know, or that takes back what its program may have used. */
bool view_settings_refuse(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_view *v)
{
	const struct nfs4r_volume_settings *was = &c->view.adopted.settings, *s = &v->settings;
	char text[NFS4R_CORE_TEXT];

	if (!is_known_here(c, s) && !FAULT(F_VERSION_UNKNOWN)) {
		snprintf(text, sizeof(text), "asks for protocol %u and disk format %u of the volume, which this release does not know: rejected; install the release of that server here (log 6.16)", s->protocol,
			 s->disk_format);
		out_complain(c, from, text);
		return true;
	}
	if (c->view.adopted.num && (s->protocol < was->protocol || s->disk_format < was->disk_format) && !FAULT(F_VERSION_ANEW)) {
		out_complain(c, from, "asks for an older protocol or disk format of the volume than it has: rejected (log 6.16)");
		return true;
	}
	if (c->view.adopted.num && was->keys.durability && !s->keys.durability && !FAULT(F_VERSION_ANEW)) {
		out_complain(c, from, "asks for a view without the settings that the volume has: rejected (log 6.17)");
		return true;
	}
	return false;
}

/* ---- the view ---- */

/* What a program knows that has said nothing is 0. */
static uint32_t most(uint32_t most, uint32_t highest)
{
	return highest && highest < most ? highest : most;
}

/*
 * The first numbers that are said. A new volume gets the highest that all know who are heard. A volume that has had views without them is of an older release, and gets the
 * lowest, for its servers may have to go back.
 */
static void first_of(const struct nfs4r_core *c, bool new_volume, struct nfs4r_volume_settings *out)
{
	const struct nfs4r_versions *protocol = &c->cfg.protocol, *format = &c->cfg.disk_format;

	out->protocol = new_volume ? protocol->highest : protocol->lowest;
	out->disk_format = new_volume ? format->highest : format->lowest;
	EACH_PEER(c, s) {
		if (new_volume) {
			out->protocol = most(out->protocol, protocols(c, s).highest);
			out->disk_format = most(out->disk_format, formats(c, s).highest);
			continue;
		}
		if (protocols(c, s).lowest > out->protocol)
			out->protocol = protocols(c, s).lowest;
		if (formats(c, s).lowest > out->disk_format)
			out->disk_format = formats(c, s).lowest;
	}
}

/* @v is the base with the servers as they are to be. */
void view_settings_into(const struct nfs4r_core *c, const struct proposal *p, struct nfs4r_view *v)
{
	if (p->settings.protocol)
		v->settings = p->settings;
	else if (!v->settings.protocol || FAULT(F_VERSION_ANEW))
		first_of(c, !p->base.num, &v->settings);
	if (!v->settings.keys.durability)
		view_keys_first(c, &v->settings.keys);
}

/* ---- an upgrade is finished ---- */

/* The highest that all servers of the volume know. False: @why names one that is not heard. */
static bool highest(const struct nfs4r_core *c, struct nfs4r_volume_settings *out, nfs4r_server_id *least, char *why, size_t why_len)
{
	*out = c->view.adopted.settings;
	out->protocol = c->cfg.protocol.highest;
	out->disk_format = c->cfg.disk_format.highest;
	*least = 0;
	EACH_OF(c->view.adopted.servers & ~NFS4R_BIT(c->self), s) {
		if ((!c->peers[s].up || !c->peers[s].met || !state_view_hears(c, s) || !protocols(c, s).highest) && !FAULT(F_FINISH_UNHEARD)) {
			snprintf(why, why_len, "server %u is not heard, so its release is not known: start it, or remove it from the volume first", s);
			return false;
		}
		if (!protocols(c, s).highest)
			continue;
		if (protocols(c, s).highest < out->protocol || formats(c, s).highest < out->disk_format)
			*least = s;
		if (protocols(c, s).highest < out->protocol)
			out->protocol = protocols(c, s).highest;
		if (formats(c, s).highest < out->disk_format)
			out->disk_format = formats(c, s).highest;
	}
	return true;
}

static enum nfs4r_status look(const struct nfs4r_core *c, struct nfs4r_volume_settings *to, char *why, size_t why_len)
{
	struct nfs4r_volume_settings now = nfs4r_volume_has(&c->view.adopted.settings);
	nfs4r_server_id least;

	if (!highest(c, to, &least, why, why_len))
		return NFS4R_INVAL;
	if (to->protocol > now.protocol || to->disk_format > now.disk_format)
		return NFS4R_OK;
	if (least)
		snprintf(why, why_len, "server %u knows no more than protocol %u and disk format %u, which the volume has: install the new release there first", least, protocols(c, least).highest,
			 formats(c, least).highest);
	else
		snprintf(why, why_len, "the volume has protocol %u and disk format %u, the highest that its servers know: there is nothing to finish", now.protocol, now.disk_format);
	return NFS4R_INVAL;
}

enum nfs4r_status nfs4r_core_may_finish_upgrade(const struct nfs4r_core *c, struct nfs4r_volume_settings *to, char *why, size_t why_len)
{
	const char *text = NULL;

	memset(to, 0, sizeof(*to));
	if (!state_views_on(c))
		text = "the view is fixed (Lease = 0): nothing is voted, and the volume keeps its protocol and disk format";
	else if (!state_is_member(c, c->self) || !state_memory_known(c))
		text = "this server is outside the view itself: ask a member";
	snprintf(why, why_len, "%s", text ? text : "");
	return text ? NFS4R_INVAL : look(c, to, why, why_len);
}

void view_settings_finish(struct nfs4r_core *c)
{
	struct nfs4r_volume_settings to;
	char why[NFS4R_CORE_TEXT];

	c->change.finish = nfs4r_core_may_finish_upgrade(c, &to, why, sizeof(why)) == NFS4R_OK;
	view_propose_consider(c);
}

/* Is a view wanted for it, and which settings should it have? What no longer may be is refused. */
bool view_settings_wanted(struct nfs4r_core *c, struct nfs4r_volume_settings *to)
{
	char why[NFS4R_CORE_TEXT], text[NFS4R_CORE_TEXT + 40];

	memset(to, 0, sizeof(*to));
	if (!c->change.finish)
		return view_keys_wanted(c, to);
	if (nfs4r_core_may_finish_upgrade(c, to, why, sizeof(why)) == NFS4R_OK)
		return true;
	c->change.finish = false;
	memset(to, 0, sizeof(*to));
	snprintf(text, sizeof(text), "the upgrade is not finished: %s", why);
	text[NFS4R_CORE_TEXT - 1] = '\0';
	out_stuck(c, text);
	return false;
}

/* The adopted view came after @old. */
void view_settings_adopted(struct nfs4r_core *c, const struct nfs4r_view *old)
{
	const struct nfs4r_volume_settings *now = &c->view.adopted.settings, *was = &old->settings;

	if (now->protocol > was->protocol || now->disk_format > was->disk_format)
		c->change.finish = false;
	view_keys_adopted(c, old);
}
