/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What this server does not ask for at the moment, because others asked for it (control 7.5, 7.6).
 *
 * After a release that a revoke forced, the object is left alone for about two round trips, so that
 * whoever wanted it gets it. Where all below a directory is wanted (it is to be moved, control 3.2), the
 * mover needs a moment in which nobody has anything there: claims below end at different times, those of files
 * that were being created when the revoke came are not even marked by it, and whoever works there would have some
 * of them again before the last is gone. So for as long as such revokes keep coming nothing below is asked
 * for, and claims that come with entries close at once.
 *
 * A mark ends with its time, or when another's control of its object has been seen and is gone. Fairness only.
 */
#include "core/control/control_int.h"

#define RTT_UNKNOWN_MS 50
#define CLEARING_MAX 64 /* directories wanted with all below at one time [beyond it: only what is controlled now closes] */

struct oidmark *control_mark_find(struct oidmark *table, const struct nfs4r_oid *oid)
{
	struct oidmark *o;

	HASH_FIND(hh, table, oid, sizeof(*oid), o);
	return o;
}

struct oidmark *control_mark_get(struct oidmark **table, const struct nfs4r_oid *oid)
{
	struct oidmark *o = control_mark_find(*table, oid);

	if (!o) {
		o = out_xcalloc(1, sizeof(*o));
		o->oid = *oid;
		HASH_ADD(hh, *table, oid, sizeof(o->oid), o);
	}
	return o;
}

uint64_t control_mark_count(struct oidmark **table, const struct nfs4r_oid *oid, int by)
{
	struct oidmark *o = control_mark_get(table, oid);
	uint64_t n = o->value += (uint64_t)by;

	if (!n)
		control_mark_drop(table, oid);
	return n;
}

void control_mark_drop(struct oidmark **table, const struct nfs4r_oid *oid)
{
	struct oidmark *o = control_mark_find(*table, oid);

	if (o) {
		HASH_DEL(*table, o);
		free(o);
	}
}

/* @table has times: those that are past go when it is full, and if that does not help this one is not noted. */
void control_mark_until(const struct nfs4r_core *c, struct oidmark **table, const struct nfs4r_oid *oid, uint64_t until)
{
	struct oidmark *m, *tmp;

	if (HASH_COUNT(*table) >= MARKS_MAX)
		HASH_ITER(hh, *table, m, tmp)
			if (m->value <= c->now) {
				HASH_DEL(*table, m);
				free(m);
			}
	if (HASH_COUNT(*table) < MARKS_MAX || control_mark_find(*table, oid))
		control_mark_get(table, oid)->value = until;
}

/* Is the time of @oid in @table still to come? */
bool control_mark_lasts(const struct nfs4r_core *c, struct oidmark *table, const struct nfs4r_oid *oid)
{
	const struct oidmark *m = control_mark_find(table, oid);

	return m && m->value > c->now;
}

/* Is @oid below a directory that is to be clear? Until when, or 0. */
uint64_t control_holdoff_clearing(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	uint64_t until = 0;
	struct oidmark *m;
	struct walk w;

	if (!c->control.clearing)
		return 0;
	control_walk_begin(&w, oid);
	do {
		m = control_mark_find(c->control.clearing, &w.oid);
		if (m && m->value > until)
			until = m->value;
	} while (control_walk_up(c, &w));
	return until > c->now ? until : 0;
}

/* Not to be asked for before this time; in the past: it may be. */
uint64_t control_holdoff_until(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	uint64_t clear = control_holdoff_clearing(c, oid);
	struct oidmark *m = control_mark_find(c->control.holdoff, oid);

	return m && m->value > clear ? m->value : clear;
}

void control_holdoff_drop(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	control_mark_drop(&c->control.holdoff, oid);
	if (!control_mark_find(c->control.clearing, oid))
		return;
	control_mark_drop(&c->control.clearing, oid);
	c->dirty |= DIRTY_OPS | DIRTY_OPENS;
}

static void back_off(struct nfs4r_core *c, const struct nfs4r_oid *oid, uint64_t until)
{
	if (HASH_COUNT(c->control.holdoff) < HOLDOFF_MAX)
		control_mark_get(&c->control.holdoff, oid)->value = until;
}

/* @ow is released because others wanted it, or something in it. */
void control_holdoff_set(struct nfs4r_core *c, const struct own *ow)
{
	const struct nfs4r_oid *wanted = c->policy_ops->wanted(ow);
	uint64_t until = c->now + (ow->demand == OWN_TURN_OVER ? 2 : 1) * control_holdoff_ms(c); /* who has the next turn may have nothing under way just now */

	if (wanted)
		back_off(c, wanted, until);
	for (uint32_t i = 0; i < ow->claim->n && !wanted; i++)
		back_off(c, &ow->claim->ctl[i].oid, until);
	out_timer_at(c, until);
}

/* A revoke of @dir and all below. The next one comes after repeat_ms, if it is still wanted. */
void control_holdoff_below(struct nfs4r_core *c, const struct nfs4r_oid *dir)
{
	uint64_t until = c->now + state_repeat_ms(c) + control_holdoff_ms(c);

	if (control_mark_find(c->control.clearing, dir) || HASH_COUNT(c->control.clearing) < CLEARING_MAX)
		control_mark_get(&c->control.clearing, dir)->value = until;
	out_timer_at(c, until);
}

static void expire(struct nfs4r_core *c, struct oidmark **table)
{
	struct oidmark *m, *tmp;

	HASH_ITER(hh, *table, m, tmp) {
		if (m->value > c->now) {
			out_timer_at(c, m->value);
			continue;
		}
		HASH_DEL(*table, m);
		free(m);
		c->dirty |= DIRTY_OPS | DIRTY_OPENS;
	}
}

void control_holdoff_timers(struct nfs4r_core *c)
{
	expire(c, &c->control.holdoff);
	expire(c, &c->control.clearing);
}

uint64_t control_farthest_rtt(const struct nfs4r_core *c)
{
	uint64_t max = 0;

	EACH_PEER(c, s)
		if (c->peers[s].rtt_ms > max)
			max = c->peers[s].rtt_ms;
	return max ? max : RTT_UNKNOWN_MS;
}

/* Control 7.6. */
uint64_t control_holdoff_ms(const struct nfs4r_core *c)
{
	uint64_t ms = 2 * control_farthest_rtt(c);

	if (c->cfg.holdoff_ms)
		return c->cfg.holdoff_ms;
	return ms < 20 ? 20 : ms > 1000 ? 1000 :
					  ms;
}
