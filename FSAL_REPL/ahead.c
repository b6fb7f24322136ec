/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Names in a directory that another server controls, asked for together with the directory's permissions.
 *
 * To look up, open, make, rename or remove a name Ganesha first asks whether the caller may search the directory, and then for the name: two round
 * trips, one after the other; for RENAME, which has two names, three. The compound says from its start which names will follow. So when the directory's attributes
 * have to be asked for, the names are asked for beside them, and the answers wait in the memory of the compound (compound.c) until Ganesha comes for them. All questions leave
 * after the request arrived, which is what control 6.4 wants; a caller without permission never gets to see an answer. An update that follows is decided by who
 * executes it, whatever was answered here, and ends the memory.
 *
 * Failure modes: another request, another name, an answer that is neither "this object" nor "no such name", or not in time: Ganesha's own question is
 * asked as ever. CREATE, which makes everything but files, asks for no name, so nothing is asked ahead.
 */
#include "repl.h"

/* The name that an operation, with those after it, has in the directory that is the current one. */
static const component4 *name_of(const nfs_argop4 *op, u_int left)
{
	const OPEN4args *o = &op->nfs_argop4_u.opopen;

	switch (op->argop) {
	case NFS4_OP_LOOKUP:
		return &op->nfs_argop4_u.oplookup.objname;
	case NFS4_OP_REMOVE:
		return &op->nfs_argop4_u.opremove.target;
	case NFS4_OP_RENAME:
		return &op->nfs_argop4_u.oprename.newname;
	case NFS4_OP_OPEN:
		return o->claim.claim == CLAIM_NULL ? &o->claim.open_claim4_u.file : NULL;
	case NFS4_OP_SAVEFH: /* the other directory, and RENAME */
		return left > 2 && op[1].argop == NFS4_OP_PUTFH && op[2].argop == NFS4_OP_RENAME ? &op[2].nfs_argop4_u.oprename.oldname : NULL;
	default:
		return NULL;
	}
}

/* Ganesha judges it when it comes to it; what cannot be a name is left to that. */
static bool take_name(const component4 *c, char *name)
{
	if (c == NULL || c->utf8string_len == 0 || c->utf8string_len > NFS4R_NAME_MAX)
		return false;
	memcpy(name, c->utf8string_val, c->utf8string_len);
	name[c->utf8string_len] = '\0';
	return strlen(name) == c->utf8string_len && strchr(name, '/') == NULL && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* The names that this request goes on with in @dir. */
static uint32_t next_names(struct repl_ahead *a, const struct nfs4r_oid *dir)
{
	const COMPOUND4args *c = repl_compound_args();
	u_int n = c != NULL ? c->argarray.argarray_len : 0;

	for (u_int i = 0; i + 1 < n && a->n < REPL_AHEAD_MAX; i++)
		if (repl_compound_is_handle_of(&c->argarray.argarray_val[i], dir))
			a->n += take_name(name_of(&c->argarray.argarray_val[i + 1], n - i - 1), a->name[a->n].rd.name);
	return a->n;
}

static void arrived(void *arg, struct nfs4r_read *rd, bool local)
{
	struct repl_ahead *a = arg;

	PTHREAD_MUTEX_lock(&a->lock);
	a->name[rd == &a->name[0].rd ? 0 : 1].local = local;
	if (--a->under_way == 0)
		pthread_cond_signal(&a->cond);
	PTHREAD_MUTEX_unlock(&a->lock);
}

bool repl_ahead_ask(struct repl_ahead *a, struct nfs4r_engine *eng, nfs4r_server_id self, const struct nfs4r_read *rd)
{
	nfs4r_server_id to;

	if (rd->type != NFS4R_RD_GETATTR)
		return false;
	to = nfs4r_read_server(eng, &rd->oid);
	if (to == self || to == 0 || !nfs4r_may_wait(eng, &rd->oid))
		return false;
	memset(a, 0, sizeof(*a));
	if (next_names(a, &rd->oid) == 0)
		return false;
	PTHREAD_MUTEX_init(&a->lock, NULL);
	PTHREAD_COND_init(&a->cond, NULL);
	a->under_way = a->n;
	for (uint32_t i = 0; i < a->n; i++) {
		a->name[i].rd.type = NFS4R_RD_LOOKUP;
		a->name[i].rd.oid = rd->oid;
		nfs4r_read_async(eng, &a->name[i].rd, arrived, a);
	}
	return true;
}

void repl_ahead_wait(struct repl_ahead *a)
{
	PTHREAD_MUTEX_lock(&a->lock);
	while (a->under_way > 0)
		pthread_cond_wait(&a->cond, &a->lock);
	PTHREAD_MUTEX_unlock(&a->lock);
	PTHREAD_MUTEX_destroy(&a->lock);
	PTHREAD_COND_destroy(&a->cond);
}
