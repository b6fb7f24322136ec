/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What other servers answered within one request of a client.
 *
 * Ganesha asks for the attributes of one object several times while it works off a compound: permission of
 * the directory, the looked-up object, what the client wants to see. Each question about an object that is controlled elsewhere
 * would cost a round trip. Control sheet 6.4 wants the check to be made after the request arrived, and all of a
 * compound arrived at once; so an answer serves for the rest of it. An update of ours in between ends that.
 *
 * A request is known by its request structure and the time it began, which no two requests share. The memory is
 * the thread's; a request that goes on on another thread only asks again.
 */
#include "repl.h"

#define ANSWERS 8

static __thread struct {
	const void *request;
	struct timespec start;
	const struct repl_export *exp;
	uint32_t n; /* ever remembered; the oldest goes */
	struct {
		struct nfs4r_oid oid;
		struct nfs4r_attrs attrs; /* without an ACL */
	} answer[ANSWERS];
} memory;

static bool same_request(const struct repl_export *exp)
{
	return op_ctx != NULL && op_ctx->nfs_reqdata != NULL && memory.request == op_ctx->nfs_reqdata &&
	       memory.exp == exp && memory.start.tv_sec == op_ctx->start_time.tv_sec &&
	       memory.start.tv_nsec == op_ctx->start_time.tv_nsec;
}

bool repl_compound_recall(const struct repl_export *exp, const struct nfs4r_oid *oid, struct nfs4r_attrs *out)
{
	uint32_t i, n = memory.n < ANSWERS ? memory.n : ANSWERS;

	if (n == 0 || !same_request(exp))
		return false;
	for (i = 0; i < n; i++)
		if (nfs4r_oid_eq(&memory.answer[i].oid, oid)) {
			*out = memory.answer[i].attrs;
			return true;
		}
	return false;
}

void repl_compound_remember(const struct repl_export *exp, const struct nfs4r_oid *oid, const struct nfs4r_attrs *attrs)
{
	uint32_t slot;

	if (op_ctx == NULL || op_ctx->nfs_reqdata == NULL || attrs->acl != NULL)
		return;
	if (!same_request(exp)) {
		memory.request = op_ctx->nfs_reqdata;
		memory.start = op_ctx->start_time;
		memory.exp = exp;
		memory.n = 0;
	}
	slot = memory.n++ % ANSWERS;
	memory.answer[slot].oid = *oid;
	memory.answer[slot].attrs = *attrs;
}

void repl_compound_forget(void)
{
	memory.n = 0;
}
