/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Opens in a volume where they exclude each other at all servers (docs/protocol/locks.md, Locks 19): the engine hears of each open state what it does and what it denies.
 *
 * Happy path: an open, or a reopen that adds something, asks before the sub-FSAL opens: the volume is asked once, and what it has granted stands in the table of states beside the flags. A close, and a
 * reopen that takes something away, tells after the sub-FSAL has closed, when what was written is complete. The sub-FSAL counts as well, for I/O without an open at this server.
 *
 * Failure modes: the sub-FSAL refuses: what was granted is given back. The engine is another one (restart.c): it has not heard of the states of before, so there is nothing to take from what it knows. A volume
 * whose upgrade is finished while files are open: the same. In both cases the thread of locks.c goes through the table of states, and asks for all of them. What two sites had granted, and excludes each other, stays open at
 * both, and the log of the second one says so.
 *
 * Invariants: what the engine has heard of a state is what the table of states says, so no close takes away what another open has.
 */
#include "repl.h"

#include "locks_int.h"

#define AGAIN_MS 200

struct repl_share repl_share_of(const struct repl_export *exp, fsal_openflags_t flags)
{
	struct repl_share s = { .engine = __atomic_load_n(&exp->engines, __ATOMIC_RELAXED) };

	if (flags & FSAL_O_READ)
		s.access |= NFS4R_SHARE_READ;
	if (flags & FSAL_O_WRITE)
		s.access |= NFS4R_SHARE_WRITE;
	if (s.access && (flags & FSAL_O_DENY_READ))
		s.deny |= NFS4R_SHARE_READ;
	if (s.access && (flags & (FSAL_O_DENY_WRITE | FSAL_O_DENY_WRITE_MAND)))
		s.deny |= NFS4R_SHARE_WRITE;
	return s;
}

static enum nfs4r_status ask(struct repl_export *exp, const struct nfs4r_oid *oid, const struct repl_share *has, const struct repl_share *now, bool reclaim)
{
	struct nfs4r_op op = { .type = NFS4R_OP_SHARE, .obj = *oid, .share = { .access = now->access, .deny = now->deny, .had_access = has->access, .had_deny = has->deny, .reclaim = reclaim } };
	enum nfs4r_status st = repl_share_ask(exp, &op);

	nfs4r_op_fini(&op);
	return st;
}

/* An engine of before took with it what it knew. */
static void forget_old(const struct repl_export *exp, struct repl_share *has)
{
	if (has->engine != __atomic_load_n(&exp->engines, __ATOMIC_RELAXED))
		*has = repl_share_of(exp, FSAL_O_CLOSED);
}

fsal_status_t repl_share_raise(struct repl_export *exp, const struct nfs4r_oid *oid, fsal_openflags_t flags, struct repl_share *has)
{
	struct repl_share now = repl_share_of(exp, flags);
	enum nfs4r_status st;

	if (!repl_locks_are_shared(exp))
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	forget_old(exp, has);
	now.access |= has->access;
	now.deny |= has->deny;
	if (now.access == has->access && now.deny == has->deny)
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	st = ask(exp, oid, has, &now, flags & FSAL_O_RECLAIM);
	if (st != NFS4R_OK)
		return repl_fsal_status(st);
	*has = now;
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

void repl_share_lower(struct repl_export *exp, const struct nfs4r_oid *oid, const struct repl_share *now, struct repl_share *has)
{
	struct repl_share less = { .access = now->access & has->access, .deny = now->deny & has->deny, .engine = has->engine };

	if (!less.access)
		less.deny = 0;
	forget_old(exp, has);
	if (has->access && (less.access != has->access || less.deny != has->deny))
		(void)ask(exp, oid, has, &less, false);
	*has = less;
}

/* ---- all states ---- */

struct unknown {
	struct unknown *next;
	const struct state_t *state;
	struct repl_open_state open;
};

struct unknowns {
	const struct repl_export *exp;
	struct unknown *first;
};

static void take_unknown(void *arg, const struct state_t *state, const struct repl_open_state *open)
{
	struct unknowns *all = arg;
	struct repl_share has = open->share, wanted = repl_share_of(all->exp, open->flags);
	struct unknown *u;

	forget_old(all->exp, &has);
	if (has.access != 0 || wanted.access == 0)
		return;
	u = gsh_malloc(sizeof(*u));
	*u = (struct unknown){ .next = all->first, .state = state, .open = *open };
	all->first = u;
}

static void say_excluded(const struct unknown *u, enum nfs4r_status st)
{
	char text[NFS4R_OID_STRLEN];

	REPL_LOG(Warn, "file %s is open at this server by a program that %s. Restart the programs that have the file open", nfs4r_oid_str(&u->open.oid, text),
		 st == NFS4R_SHARE_DENIED ? "excludes one at another server, or is excluded by it (a share reservation)" : "could not be made known to the other servers");
}

static void make_known(struct repl_export *exp, const struct unknown *u, uint64_t until_ms)
{
	struct repl_share has = repl_share_of(exp, FSAL_O_CLOSED), now = repl_share_of(exp, u->open.flags), none = { 0 };
	enum nfs4r_status st;

	while ((st = ask(exp, &u->open.oid, &has, &now, true)) == NFS4R_DELAY && repl_locks_now_ms() < until_ms)
		nanosleep(&(struct timespec){ .tv_nsec = AGAIN_MS * 1000000L }, NULL);
	if (st != NFS4R_OK && st != NFS4R_STALE)
		say_excluded(u, st);
	if (st == NFS4R_OK && !repl_state_set_share(u->state, &u->open, &now))
		repl_share_lower(exp, &u->open.oid, &none, &now); /* it was closed, or opened anew, meanwhile */
}

void repl_shares_make_known(struct repl_export *exp, uint64_t until_ms)
{
	struct unknowns all = { .exp = exp };

	repl_states_walk(take_unknown, &all);
	for (struct unknown *u = all.first, *next; u != NULL; u = next) {
		next = u->next;
		make_known(exp, u, until_ms);
		gsh_free(u);
	}
}
