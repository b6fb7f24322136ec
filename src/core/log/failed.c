/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * An entry of another server's log that could not be applied (log 4.11): it stays in its place, and is tried again every second. One that is being
 * applied, or an own one that is being executed, for five silences counts as failed until it ends: a disk may stand still and report no error (log 4.18).
 *
 * membership/withdraw.c decides what this server does when that lasts.
 */
#include "core/log/log_int.h"

#define HUNG_SILENCES 5

static void failed(struct nfs4r_core *c, struct pend *p, enum nfs4r_status st)
{
	p->cause = st;
	if (p->failed_ms)
		return;
	p->failed_ms = c->now ? c->now : 1;
	c->log.nfailed++;
	out_timer_at(c, c->now + state_lease_ms(c) / 2);
}

void log_trouble_failed(struct nfs4r_core *c, struct pend *p, enum nfs4r_status st)
{
	p->tries++;
	p->again_ms = c->now + APPLY_RETRY_MS;
	out_timer_at(c, p->again_ms);
	failed(c, p, st ? st : NFS4R_IO);
}

/* The caller has it from now on. */
void log_trouble_begun(struct nfs4r_core *c, struct pend *p)
{
	p->begun_ms = c->now;
	if (!c->log.hung_at)
		c->log.hung_at = c->now + (uint64_t)HUNG_SILENCES * state_silence_ms(c);
}

static bool is_tried(const struct pend *p)
{
	return p->state == PEND_BUSY && !p->intent;
}

/* When to look next; 0: none is being tried. */
static uint64_t look(struct nfs4r_core *c)
{
	uint64_t next = 0;
	struct pend *p;

	EACH_LOG(c, s)
		DL_FOREACH(c->log.logs[s].pend, p) {
			uint64_t due = p->begun_ms + (uint64_t)HUNG_SILENCES * state_silence_ms(c);

			if (!is_tried(p) || FAULT(F_HUNG_WAITS))
				continue;
			if (c->now >= due)
				failed(c, p, NFS4R_HUNG);
			else if (!next || due < next)
				next = due;
		}
	return next;
}

void log_trouble_timers(struct nfs4r_core *c)
{
	if (c->log.hung_at && c->now >= c->log.hung_at)
		c->log.hung_at = look(c);
	if (c->log.hung_at)
		out_timer_at(c, c->log.hung_at);
}

/* Another silence counts from now on (log 6.17). */
void log_trouble_silence(struct nfs4r_core *c)
{
	if (c->log.hung_at)
		c->log.hung_at = c->now;
}

/* It is applied, or is given back. */
void log_trouble_forget(struct nfs4r_core *c, struct pend *p)
{
	if (!p->failed_ms)
		return;
	p->failed_ms = 0;
	p->tries = 0;
	c->log.nfailed--;
}

bool log_trouble_waits(const struct nfs4r_core *c, const struct pend *p)
{
	return p->failed_ms && c->now < p->again_ms;
}
