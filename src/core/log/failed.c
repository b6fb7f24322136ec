/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * An entry of another server's log that could not be applied (log 4.11): it stays in its place, and is tried again every second.
 *
 * membership/withdraw.c decides what this server does when that lasts.
 */
#include "core/log/log_int.h"

void log_trouble_failed(struct nfs4r_core *c, struct pend *p, enum nfs4r_status st)
{
	p->cause = st ? st : NFS4R_IO;
	p->tries++;
	p->again_ms = c->now + APPLY_RETRY_MS;
	out_timer_at(c, p->again_ms);
	if (p->failed_ms)
		return;
	p->failed_ms = c->now ? c->now : 1;
	c->log.nfailed++;
	out_timer_at(c, c->now + state_lease_ms(c) / 2);
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
