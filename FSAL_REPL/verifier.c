/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The write verifier of a WRITE is the one from before it was executed (log 5.3): if it changes meanwhile, the client finds at its COMMIT that what it
 * wrote may be lost. Ganesha asks for it when the WRITE is over, perhaps on another thread and without saying what for. So it is kept with the request of the client
 * until then: a request works off one WRITE at a time. What the client wants to know of the file after that is remembered at the same moment, since the memory of
 * a request is its thread's (compound.c).
 *
 * A COMMIT finds none and gets the present one, which can only make the client write once more. A request that ends without asking leaves its entry to the next
 * one with the same address, so there are never more of them than requests of Ganesha; a COMMIT first drops what it finds.
 */
#include "repl.h"

struct repl_written {
	struct repl_written *next;
	const void *request;
	uint64_t verifier;
	struct repl_changed changed;
};

static struct repl_written **find(struct repl_export *exp, const void *request)
{
	struct repl_written **at = &exp->written;

	while (*at != NULL && (*at)->request != request)
		at = &(*at)->next;
	return at;
}

void repl_verifier_keep(struct repl_export *exp, const void *request, const struct nfs4r_op *op)
{
	struct repl_written *w;

	if (request == NULL)
		return;
	PTHREAD_MUTEX_lock(&exp->written_lock);
	w = *find(exp, request);
	if (w == NULL) {
		w = gsh_calloc(1, sizeof(*w));
		w->request = request;
		w->next = exp->written;
		exp->written = w;
	}
	w->verifier = op->verifier;
	w->changed = repl_changed_elsewhere(op);
	PTHREAD_MUTEX_unlock(&exp->written_lock);
}

uint64_t repl_verifier_answer(struct repl_export *exp)
{
	const void *request = op_ctx != NULL ? op_ctx->nfs_reqdata : NULL;
	uint64_t verifier = repl_verifier(exp);
	struct repl_written **at, *w = NULL;

	PTHREAD_MUTEX_lock(&exp->written_lock);
	if (request != NULL) {
		at = find(exp, request);
		w = *at;
		if (w != NULL)
			*at = w->next;
	}
	PTHREAD_MUTEX_unlock(&exp->written_lock);
	if (w != NULL) {
		verifier = w->verifier;
		repl_remember_changed(exp, &w->changed);
	}
	gsh_free(w);
	return verifier;
}

void repl_verifier_fini(struct repl_export *exp)
{
	while (exp->written != NULL) {
		struct repl_written *w = exp->written;

		exp->written = w->next;
		gsh_free(w);
	}
	PTHREAD_MUTEX_destroy(&exp->written_lock);
}
