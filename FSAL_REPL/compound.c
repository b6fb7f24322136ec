/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What other servers answered within one request of a client.
 *
 * Ganesha asks for the attributes of one object several times while it works off a compound: permission of
 * the directory, the looked-up object, what the client wants to see. Each question about an object that is controlled elsewhere
 * would cost a round trip. Control 6.4 wants the check to be made after the request arrived, and all of a
 * compound arrived at once; so an answer serves for the rest of it. An update of ours in between ends that. The same for the last two names that were
 * asked for, ahead (ahead.c) or not: an open that makes its file looks the name up twice. What our update made at another server is remembered
 * in the same way (gate.c).
 *
 * The entries of a listing are remembered too: Ganesha asks for each entry's permissions once more, one after the other, and
 * fails the whole listing when the entry was removed meanwhile. What this server had to ask nobody for serves only then. So are the attributes that an update of this
 * request gave to what it made (gate.c): its answer is that it was made, whoever has removed it since, and a client that heard an error would make it again.
 *
 * A request is known by its request structure and the time it began, which no two requests share. The memory is
 * the thread's; a request that goes on on another thread only asks again.
 */
#include "repl.h"
#include "nfs_fh.h"

#define ANSWERS 8
#define ACL_MAX 320 /* bytes; an answer with a longer ACL is not remembered */

static __thread struct {
	const void *request;
	struct timespec start;
	const struct repl_export *exp;
	uint32_t n; /* ever remembered; the oldest goes */
	struct {
		struct nfs4r_oid oid;
		struct nfs4r_attrs attrs; /* .acl is NULL */
		bool own; /* nobody had to be asked */
		bool has_acl;
		uint32_t acl_len;
		uint8_t acl[ACL_MAX];
	} answer[ANSWERS];
	uint32_t nnames; /* the same */
	struct {
		struct nfs4r_oid dir, result;
		enum nfs4r_status status;
		nfs4r_server_id server;
		uint32_t type;
		char name[NFS4R_NAME_MAX + 1];
	} name[REPL_AHEAD_MAX];
} memory;

static bool same_request(const struct repl_export *exp)
{
	return op_ctx != NULL && op_ctx->nfs_reqdata != NULL && memory.request == op_ctx->nfs_reqdata &&
		memory.exp == exp && memory.start.tv_sec == op_ctx->start_time.tv_sec &&
		memory.start.tv_nsec == op_ctx->start_time.tv_nsec;
}

bool repl_compound_recall(const struct repl_export *exp, const struct nfs4r_oid *oid, bool gone, struct nfs4r_attrs *out)
{
	uint32_t i, n = memory.n < ANSWERS ? memory.n : ANSWERS;

	if (n == 0 || !same_request(exp))
		return false;
	for (i = 0; i < n; i++)
		if (nfs4r_oid_eq(&memory.answer[i].oid, oid) && (gone || !memory.answer[i].own)) {
			*out = memory.answer[i].attrs;
			if (memory.answer[i].has_acl)
				out->acl = nfs4r_buf_copy(memory.answer[i].acl, memory.answer[i].acl_len);
			return !memory.answer[i].has_acl || out->acl != NULL;
		}
	return false;
}

/* What is remembered from now on is this request's. */
static void begin(const struct repl_export *exp)
{
	if (same_request(exp))
		return;
	repl_compound_forget();
	memory.request = op_ctx->nfs_reqdata;
	memory.start = op_ctx->start_time;
	memory.exp = exp;
}

void repl_compound_remember(const struct repl_export *exp, const struct nfs4r_oid *oid, const struct nfs4r_attrs *attrs,
			    bool own)
{
	uint32_t slot;

	if (op_ctx == NULL || op_ctx->nfs_reqdata == NULL || (attrs->acl != NULL && attrs->acl->len > ACL_MAX))
		return;
	begin(exp);
	slot = memory.n++ % ANSWERS;
	memory.answer[slot].oid = *oid;
	memory.answer[slot].attrs = *attrs;
	memory.answer[slot].attrs.acl = NULL;
	memory.answer[slot].own = own;
	memory.answer[slot].has_acl = attrs->acl != NULL;
	if (attrs->acl != NULL) {
		memory.answer[slot].acl_len = attrs->acl->len;
		memcpy(memory.answer[slot].acl, attrs->acl->data, attrs->acl->len);
	}
}

void repl_compound_remember_name(const struct repl_export *exp, const struct nfs4r_read *rd)
{
	uint32_t slot;

	if (op_ctx == NULL || op_ctx->nfs_reqdata == NULL)
		return;
	begin(exp);
	slot = memory.nnames++ % REPL_AHEAD_MAX;
	memory.name[slot].dir = rd->oid;
	memory.name[slot].result = rd->result;
	memory.name[slot].status = rd->status;
	memory.name[slot].server = rd->server;
	memory.name[slot].type = rd->attrs.mask & NFS4R_ATTR_TYPE ? rd->attrs.type : 0;
	strcpy(memory.name[slot].name, rd->name);
}

void repl_compound_remember_taken(const struct repl_export *exp, const struct nfs4r_oid *dir, const char *name)
{
	struct nfs4r_read rd = { .type = NFS4R_RD_LOOKUP, .oid = *dir, .status = NFS4R_EXIST };

	snprintf(rd.name, sizeof(rd.name), "%s", name);
	repl_compound_remember_name(exp, &rd);
}

bool repl_compound_recall_name(const struct repl_export *exp, struct nfs4r_read *rd)
{
	uint32_t i, n = memory.nnames < REPL_AHEAD_MAX ? memory.nnames : REPL_AHEAD_MAX;

	for (i = 0; i < n; i++)
		if (nfs4r_oid_eq(&memory.name[i].dir, &rd->oid) && strcmp(memory.name[i].name, rd->name) == 0)
			break;
	if (i == n || !same_request(exp))
		return false;
	rd->status = memory.name[i].status;
	rd->result = memory.name[i].result;
	rd->server = memory.name[i].server;
	rd->attrs.type = memory.name[i].type;
	rd->attrs.mask = memory.name[i].type ? NFS4R_ATTR_TYPE : 0;
	return true;
}

void repl_compound_forget(void)
{
	memory.n = memory.nnames = 0;
}

/* ---- what it consists of ---- */

const COMPOUND4args *repl_compound_args(void)
{
	const nfs_request_t *req = op_ctx != NULL ? op_ctx->nfs_reqdata : NULL;

	if (req == NULL || op_ctx->req_type != NFS_REQUEST || op_ctx->nfs_vers != NFS_V4 || req->svc.rq_msg.cb_proc != NFSPROC4_COMPOUND)
		return NULL;
	return &req->arg_nfs.arg_compound4;
}

uint32_t repl_compound_done(void)
{
	const compound_data_t *data = repl_compound_args() != NULL ? op_ctx->nfs_reqdata->proc_data : NULL;

	return data != NULL ? data->oppos : 0;
}

bool repl_compound_is_handle_of(const nfs_argop4 *op, const struct nfs4r_oid *oid)
{
	const nfs_fh4 *fh = &op->nfs_argop4_u.opputfh.object;
	const struct file_handle_v4 *h = (const struct file_handle_v4 *)fh->nfs_fh4_val;

	return op->argop == NFS4_OP_PUTFH && fh->nfs_fh4_len == offsetof(struct file_handle_v4, fsopaque) + REPL_WIRE_HANDLE &&
		memcmp(h->fsopaque, oid, sizeof(*oid)) == 0;
}

bool repl_compound_opens_by_name(void)
{
	const COMPOUND4args *c = repl_compound_args();
	uint32_t at = repl_compound_done();
	const nfs_argop4 *op = c != NULL && at < c->argarray.argarray_len ? &c->argarray.argarray_val[at] : NULL;

	return op != NULL && op->argop == NFS4_OP_OPEN && op->nfs_argop4_u.opopen.claim.claim == CLAIM_NULL;
}
