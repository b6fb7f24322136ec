/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Contexts. Everything in Ganesha leans on the thread's op_ctx: whose permissions count, and which
 * layer of the export stack runs. Two cases:
 *
 * A worker calls down from our layer: REPL_SUBCALL (repl.h) puts the sub export into its op_ctx for
 * the call. Creds and the rest are the client's.
 *
 * The engine calls back (execution, completion, lops). That happens on any thread: one of its own with
 * no op_ctx at all, or a worker in the middle of another client's operation, whose creds are not ours
 * to use. So such code always enters a context of its own, nested into what is there. It holds a
 * reference on the export while it lasts.
 *
 * Engine threads start before the daemon is up; what they call below exists only after. They wait in
 * repl_wait_ready(). The thread that starts the engine has an op_ctx and does not wait for itself. If it finds something else wrong with the
 * export and stops the engine, it waits for these threads: then they go on and call nothing.
 */
#include "repl.h"
#include "nfs_init.h"

#define LOOK_S 2 /* at least half of that, for nfs_init_wait_timeout() counts in whole seconds */

bool repl_wait_ready(struct repl_export *exp)
{
	static bool ready;

	if (op_ctx != NULL || __atomic_load_n(&ready, __ATOMIC_ACQUIRE))
		return true;
	while (nfs_init_wait_timeout(0) != 0) {
		bool ended = __atomic_load_n(&exp->ended, __ATOMIC_ACQUIRE);

		if (__atomic_load_n(&exp->never, __ATOMIC_ACQUIRE))
			return false;
		nfs_init_wait_timeout(LOOK_S);
		if (ended) /* for a second, so the engine knows it by now */
			__atomic_store_n(&exp->never, true, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
	return true;
}

void repl_context_enter(struct repl_context *c, struct repl_export *exp, struct fsal_export *layer,
			const struct nfs4r_cred *cred)
{
	get_gsh_export_ref(exp->gsh);
	init_op_context_simple(&c->ctx, exp->gsh, layer);
	c->ctx.fsal_module = layer->fsal;
	if (cred == NULL)
		return;
	c->ctx.creds.caller_uid = cred->uid;
	c->ctx.creds.caller_gid = cred->gid;
	c->ctx.creds.caller_glen = cred->ngroups;
	/* Read only, and outlived by the operation that carries it. */
	c->ctx.creds.caller_garray = (gid_t *)nfs4r_cred_groups(cred);
}

void repl_context_leave(struct repl_context *c)
{
	assert(op_ctx == &c->ctx);
	c->ctx.creds.caller_glen = 0;
	c->ctx.creds.caller_garray = NULL;
	release_op_context();
}
