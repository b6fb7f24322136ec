/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Two releases in one volume (log 6.16), among all else that goes wrong. An administrator replaces servers by the next release and puts them back, at random,
 * and now and then finishes the upgrade. Whoever does that puts nobody back from then on, nor a moment before.
 *
 * What it checks: a server starts on what either release wrote; nothing of the next release is said or written before the volume has its protocol; a view's protocol and disk
 * format are known to all its servers, and never go down. The rest is what every run checks: with a mixture, too, all operations end when the faults are over.
 */
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))

static const struct nfs4r_versions now_protocol = { NFS4R_PROTOCOL_VERSION, NFS4R_PROTOCOL_VERSION }, next_protocol = { NFS4R_PROTOCOL_VERSION, NFS4R_PROTOCOL_REHEARSED };
static const struct nfs4r_versions now_format = { NFS4R_DISK_FORMAT, NFS4R_DISK_FORMAT }, next_format = { NFS4R_DISK_FORMAT, NFS4R_DISK_FORMAT_REHEARSED };

void release_configure(const struct server *v, struct nfs4r_core_config *cfg)
{
	if (!v->sim->plan.releases)
		return;
	cfg->protocol = v->next_release ? next_protocol : now_protocol;
	cfg->disk_format = v->next_release ? next_format : now_format;
	cfg->locks_apart = true; /* what the next release does with locks has modes of its own */
}

void release_started(struct server *v)
{
	struct nfs4r_volume_settings has;

	if (!nfs4r_core_knows_volume(v->core, &has))
		sim_fail(v->sim, "S%u: its release does not know protocol %u and disk format %u, which the volume has", v->id, has.protocol, has.disk_format);
}

/* As the codecs have it. */
void release_travels(struct sim *s, nfs4r_server_id from, nfs4r_server_id to, struct nfs4r_msg *m)
{
	if (!s->plan.releases || m->type != NFS4R_MSG_HEARTBEAT)
		return;
	if (m->heartbeat.rehearsal && s->volume_protocol < NFS4R_PROTOCOL_REHEARSED)
		sim_fail(s, "S%u says what protocol %u has, and no view has more than protocol %u", from, NFS4R_PROTOCOL_REHEARSED, s->volume_protocol);
	if (!s->servers[from].next_release || !s->servers[to].next_release)
		m->heartbeat.rehearsal = 0;
}

/* A view is accepted or adopted somewhere for the first time. @base: NULL: not known. */
void release_check(struct sim *s, const struct nfs4r_view *base, const struct nfs4r_view *w)
{
	if (!s->plan.releases)
		return;
	if (base && (w->settings.protocol < base->settings.protocol || w->settings.disk_format < base->settings.disk_format))
		sim_fail(s, "view %llu takes back protocol %u and disk format %u of view %llu", ULL(w->num), base->settings.protocol, base->settings.disk_format, ULL(base->num));
	for (nfs4r_server_id q = 1; q <= s->plan.servers; q++)
		if ((w->servers & NFS4R_BIT(q)) && w->settings.protocol > (s->servers[q].next_release ? next_protocol : now_protocol).highest)
			sim_fail(s, "view %llu has protocol %u, which the release of S%u does not know", ULL(w->num), w->settings.protocol, q);
	if (w->settings.protocol > s->volume_protocol) {
		s->volume_protocol = w->settings.protocol;
		s->totals.upgrades += w->settings.protocol >= NFS4R_PROTOCOL_REHEARSED;
	}
}

static void replace(struct sim *s, struct server *v)
{
	bool forward = !v->next_release;

	if (!s->top_view) /* who is not heard when the volume begins has no say in its protocol */
		return;
	if (!v->up || (!forward && s->finish_asked))
		return;
	TRACE(s, v, "is replaced by the %s release", forward ? "next" : "former");
	v->next_release = forward;
	if (!forward)
		s->put_back_at = s->now;
	s->totals.replaced++;
	v->down_us = 1 + rng_below(&s->rng, 300 * MS);
	server_stop(v, false);
}

static void finish(struct sim *s, struct server *v)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_FINISH_UPGRADE };
	struct nfs4r_volume_settings to;
	char why[NFS4R_CORE_TEXT];

	if (!v->up || v->stopped || (s->put_back_at && s->now < s->put_back_at + 4 * (uint64_t)(s->plan.silence_ms + s->plan.lease_ms) * MS) ||
	    nfs4r_core_may_finish_upgrade(v->core, &to, why, sizeof(why)) != NFS4R_OK)
		return;
	TRACE(s, v, "is told to finish the upgrade");
	s->finish_asked |= to.protocol >= NFS4R_PROTOCOL_REHEARSED;
	server_step(v, &ev);
}

static void administer(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	struct server *v = &s->servers[rng_range(&s->rng, 1, s->plan.servers)];

	if (s->healed)
		return;
	if (rng_chance(&s->rng, 500))
		finish(s, v);
	else if (!v->next_release || rng_chance(&s->rng, 150))
		replace(s, v);
	sim_at(s, s->now + rng_time(&s->rng, 250 * MS), administer, NULL, 0, 0);
}

void releases_begin(struct sim *s)
{
	sim_at(s, s->now + rng_time(&s->rng, 250 * MS), administer, NULL, 0, 0);
}

void releases_print(const struct totals *t)
{
	printf("releases: %llu servers were replaced, %llu upgrades finished\n", ULL(t->replaced), ULL(t->upgrades));
}
