/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The gate in front of the engine. Stopping takes it for writing once, which waits for the calls that
 * are inside; whoever comes later is turned away: operations with DELAY, questions with "not known".
 * Without it an export that is removed while clients use it would free the engine under them. It is opened again when another engine has taken the place of one that halted (restart.c).
 *
 * The lock prefers readers (the default of the C library), so a call out of a callback of the engine
 * may pass the gate again while a stop is waiting.
 */
#include "repl.h"

static bool gate_enter(struct repl_export *exp)
{
	PTHREAD_RWLOCK_rdlock(&exp->gate);
	if (!exp->stopped)
		return true;
	PTHREAD_RWLOCK_unlock(&exp->gate);
	return false;
}

static void gate_leave(struct repl_export *exp)
{
	PTHREAD_RWLOCK_unlock(&exp->gate);
}

/* The value of @call_, which may use exp->eng, or @else_ once the engine is stopping. */
#define THROUGH_GATE(exp, else_, call_)   \
	({                                \
		__typeof__(call_) value_; \
		if (gate_enter(exp)) {    \
			value_ = (call_); \
			gate_leave(exp);  \
		} else {                  \
			value_ = (else_); \
		}                         \
		value_;                   \
	})

/* The same of a call without a value, which is left out then. */
#define DO_THROUGH_GATE(exp, call_)      \
	do {                             \
		if (gate_enter(exp)) {   \
			call_;           \
			gate_leave(exp); \
		}                        \
	} while (0)

struct nfs4r_engine *repl_gate_close(struct repl_export *exp)
{
	struct nfs4r_engine *eng;

	PTHREAD_RWLOCK_wrlock(&exp->gate);
	exp->stopped = true;
	eng = exp->eng;
	exp->eng = NULL;
	PTHREAD_RWLOCK_unlock(&exp->gate);
	return eng;
}

bool repl_is_closed(struct repl_export *exp)
{
	return THROUGH_GATE(exp, true, false);
}

void repl_gate_open(struct repl_export *exp, struct nfs4r_engine *eng)
{
	PTHREAD_RWLOCK_wrlock(&exp->gate);
	exp->eng = eng;
	exp->stopped = false;
	PTHREAD_RWLOCK_unlock(&exp->gate);
}

void repl_export_stop(struct repl_export *exp)
{
	struct nfs4r_engine *eng;

	__atomic_store_n(&exp->ended, true, __ATOMIC_RELEASE);
	repl_restart_end(exp);
	repl_locks_end(exp);
	eng = repl_gate_close(exp);
	if (eng != NULL)
		nfs4r_engine_stop(eng); /* its threads may be in our callbacks: no lock held */
}

struct repl_changed repl_changed_elsewhere(const struct nfs4r_op *op)
{
	struct repl_changed ch = { .log = op->primary, .lsn = op->lsn };

	if (op->status == NFS4R_OK && op->lsn != 0 && op->primary != repl_module.cfg.rpc.self)
		ch.oid = op->type <= NFS4R_OP_MKNOD ? op->result : op->obj; /* REMOVE and RENAME have none */
	return ch;
}

void repl_remember_changed(struct repl_export *exp, const struct repl_changed *ch)
{
	struct nfs4r_read rd = { .type = NFS4R_RD_GETATTR, .oid = ch->oid };
	struct nfs4r_row row;

	if (nfs4r_oid_is_zero(&ch->oid) || repl_row(exp, &ch->oid, &row) != NFS4R_KNOWN || row.last_log != ch->log || row.last_lsn < ch->lsn)
		return;
	if (repl_read_here(exp, &rd) == NFS4R_OK)
		repl_compound_remember(exp, &rd.oid, &rd.attrs, false);
	nfs4r_read_fini(&rd);
}

/* Whatever can be learned of it afterwards: somebody may have removed it already, or its server may be out of reach. */
static void remember_made(const struct repl_export *exp, const struct nfs4r_op *op)
{
	static const uint32_t needed = NFS4R_ATTR_TYPE | NFS4R_ATTR_MODE | NFS4R_ATTR_UID | NFS4R_ATTR_GID;
	struct nfs4r_attrs made = op->post;

	if (op->status != NFS4R_OK || op->type > NFS4R_OP_MKNOD || (made.mask & needed) != needed)
		return;
	made.version = op->dir_after;
	made.mask |= NFS4R_ATTR_VERSION;
	repl_compound_remember(exp, &op->result, &made, true);
}

enum nfs4r_status repl_update(struct repl_export *exp, struct nfs4r_op *op, nfs4r_exec_fn exec, void *arg)
{
	struct repl_changed changed;
	enum nfs4r_status st;

	repl_compound_forget();
	if (!gate_enter(exp))
		return op->status = NFS4R_DELAY;
	st = nfs4r_update(exp->eng, op, exec, arg);
	gate_leave(exp);
	changed = repl_changed_elsewhere(op);
	repl_remember_changed(exp, &changed);
	remember_made(exp, op);
	return st;
}

void repl_update_async(struct repl_export *exp, struct nfs4r_op *op, nfs4r_exec_fn exec, nfs4r_sync_fn sync, nfs4r_done_fn done, void *arg)
{
	repl_compound_forget();
	if (!gate_enter(exp)) {
		op->status = NFS4R_DELAY;
		done(arg, op);
		return;
	}
	nfs4r_update_async(exp->eng, op, exec, sync, done, arg);
	gate_leave(exp);
}

/* The child's attributes come with a look-up, unless the server that has the name does not control it (control 6.9); they are the answer to a question for them only if that would go to the same server. */
static void remember(struct repl_export *exp, const struct nfs4r_read *rd)
{
	bool found = rd->status == NFS4R_OK;

	if (rd->type == NFS4R_RD_GETATTR && found)
		repl_compound_remember(exp, &rd->oid, &rd->attrs, false);
	if (rd->type != NFS4R_RD_LOOKUP || (!found && rd->status != NFS4R_NOENT))
		return;
	repl_compound_remember_name(exp, rd);
	if (found && rd->attrs.mask & NFS4R_ATTR_VERSION && nfs4r_read_server(exp->eng, &rd->result) == rd->server)
		repl_compound_remember(exp, &rd->result, &rd->attrs, false);
}

static void take_names(struct repl_export *exp, struct repl_ahead *a)
{
	repl_ahead_wait(a);
	for (uint32_t i = 0; i < a->n; i++) {
		if (!a->name[i].local)
			remember(exp, &a->name[i].rd);
		nfs4r_read_fini(&a->name[i].rd);
	}
}

enum nfs4r_status repl_read(struct repl_export *exp, struct nfs4r_read *rd, bool *local)
{
	struct repl_ahead ahead;
	enum nfs4r_status st;
	bool asked;

	*local = false;
	if (rd->type == NFS4R_RD_GETATTR && repl_compound_recall(exp, &rd->oid, false, &rd->attrs))
		return rd->status = NFS4R_OK;
	if (rd->type == NFS4R_RD_LOOKUP && repl_compound_recall_name(exp, rd)) {
		(void)repl_compound_recall(exp, &rd->result, false, &rd->attrs);
		return rd->status;
	}
	if (!gate_enter(exp))
		return rd->status = NFS4R_DELAY;
	asked = repl_ahead_ask(&ahead, exp->eng, repl_module.cfg.rpc.self, rd);
	st = nfs4r_read(exp->eng, rd, local);
	if (!*local)
		remember(exp, rd);
	if (asked)
		take_names(exp, &ahead);
	gate_leave(exp);
	return st;
}

void repl_read_async(struct repl_export *exp, struct nfs4r_read *rd, nfs4r_read_done_fn done, void *arg)
{
	if (!gate_enter(exp)) {
		rd->status = NFS4R_DELAY;
		done(arg, rd, false);
		return;
	}
	nfs4r_read_async(exp->eng, rd, done, arg);
	gate_leave(exp);
}

enum nfs4r_status repl_read_here(struct repl_export *exp, struct nfs4r_read *rd)
{
	return THROUGH_GATE(exp, rd->status = NFS4R_DELAY, nfs4r_read_here(exp->eng, rd));
}

enum nfs4r_status repl_lookup_here(struct repl_export *exp, const struct nfs4r_oid *dir, const char *name,
				   struct nfs4r_oid *oid, uint32_t *type)
{
	return THROUGH_GATE(exp, NFS4R_DELAY, nfs4r_lookup_here(exp->eng, dir, name, oid, type));
}

enum nfs4r_status repl_read_any(struct repl_export *exp, struct nfs4r_read *rd)
{
	enum nfs4r_status st;
	bool local;

	st = repl_read(exp, rd, &local);
	return local ? repl_read_here(exp, rd) : st;
}

bool repl_is_read_elsewhere(struct repl_export *exp, const struct nfs4r_oid *oid)
{
	nfs4r_server_id to;

	if (!gate_enter(exp))
		return false;
	to = nfs4r_read_server(exp->eng, oid);
	to = to == nfs4r_self(exp->eng) ? 0 : to;
	gate_leave(exp);
	return to != 0;
}

bool repl_may_wait(struct repl_export *exp, const struct nfs4r_oid *oid)
{
	return THROUGH_GATE(exp, false, nfs4r_may_wait(exp->eng, oid));
}

void repl_wait_begin(struct repl_export *exp)
{
	DO_THROUGH_GATE(exp, nfs4r_wait_begin(exp->eng));
}

void repl_wait_end(struct repl_export *exp)
{
	DO_THROUGH_GATE(exp, nfs4r_wait_end(exp->eng));
}

enum nfs4r_known repl_row(struct repl_export *exp, const struct nfs4r_oid *oid, struct nfs4r_row *row)
{
	return THROUGH_GATE(exp, NFS4R_NOT_YET, nfs4r_row(exp->eng, oid, row));
}

enum nfs4r_status repl_handle_check(struct repl_export *exp, const struct nfs4r_oid *oid, uint8_t check[NFS4R_HANDLE_CHECK])
{
	return THROUGH_GATE(exp, NFS4R_DELAY, nfs4r_handle_check(exp->eng, oid, check));
}

enum nfs4r_status repl_handle_verify(struct repl_export *exp, const struct nfs4r_oid *oid, const uint8_t check[NFS4R_HANDLE_CHECK])
{
	return THROUGH_GATE(exp, NFS4R_DELAY, nfs4r_handle_verify(exp->eng, oid, check));
}

bool repl_may_hide(struct repl_export *exp, const struct nfs4r_oid *oid)
{
	return THROUGH_GATE(exp, false, nfs4r_may_hide(exp->eng, oid));
}

uint32_t repl_links_seen(struct repl_export *exp, uint32_t numlinks)
{
	return THROUGH_GATE(exp, numlinks, nfs4r_links_seen(exp->eng, numlinks));
}

/* A deletion that only this server knows may be undone (log 8.3): without a lease nobody can tell. */
bool repl_is_gone(struct repl_export *exp, const struct nfs4r_oid *oid)
{
	return THROUGH_GATE(exp, false, nfs4r_row(exp->eng, oid, NULL) == NFS4R_DEAD && nfs4r_read_server(exp->eng, oid) != 0);
}

bool repl_is_gone_here(struct repl_export *exp, const struct nfs4r_oid *oid)
{
	return THROUGH_GATE(exp, true, nfs4r_is_gone_here(exp->eng, oid));
}

bool repl_comes_back(struct repl_export *exp, const struct nfs4r_oid *oid)
{
	return THROUGH_GATE(exp, false, nfs4r_comes_back(exp->eng, oid));
}

void repl_local_handle(struct repl_export *exp, const struct nfs4r_oid *oid, struct nfs4r_lhandle *out)
{
	out->len = 0;
	DO_THROUGH_GATE(exp, nfs4r_handle(exp->eng, oid, out));
}

bool repl_by_handle(struct repl_export *exp, const struct nfs4r_lhandle *h, struct nfs4r_oid *oid)
{
	return THROUGH_GATE(exp, false, nfs4r_by_handle(exp->eng, h, oid));
}

void repl_identity_used(struct repl_export *exp, const struct nfs4r_identity *id)
{
	DO_THROUGH_GATE(exp, nfs4r_identity_used(exp->eng, id));
}

void repl_opened(struct repl_export *exp, const struct nfs4r_oid *oid)
{
	DO_THROUGH_GATE(exp, nfs4r_opened(exp->eng, oid));
}

void repl_closed(struct repl_export *exp, const struct nfs4r_oid *oid)
{
	DO_THROUGH_GATE(exp, nfs4r_closed(exp->eng, oid));
}

uint64_t repl_commit_begin(struct repl_export *exp, const struct nfs4r_oid *oid)
{
	return THROUGH_GATE(exp, 0, nfs4r_commit_begin(exp->eng, oid));
}

enum nfs4r_status repl_commit_log(struct repl_export *exp, const struct nfs4r_oid *oid, uint64_t begun)
{
	return THROUGH_GATE(exp, NFS4R_DELAY, nfs4r_commit(exp->eng, oid, begun));
}

uint64_t repl_verifier(struct repl_export *exp)
{
	return THROUGH_GATE(exp, 0, nfs4r_verifier(exp->eng));
}

void repl_volume_room(struct repl_export *exp, struct nfs4r_volume_room *out)
{
	memset(out, 0, sizeof(*out));
	DO_THROUGH_GATE(exp, nfs4r_volume_room(exp->eng, out));
}

bool repl_locks_are_shared(struct repl_export *exp)
{
	return THROUGH_GATE(exp, false, nfs4r_locks_are_shared(exp->eng));
}

enum nfs4r_status repl_client_begins(struct repl_export *exp, const uint64_t id[2], const char *name, const char *address, uint32_t minor_version)
{
	return THROUGH_GATE(exp, NFS4R_DELAY, nfs4r_client_begins(exp->eng, id, name, address, minor_version));
}

enum nfs4r_status repl_client_gone(struct repl_export *exp, const uint64_t id[2])
{
	return THROUGH_GATE(exp, NFS4R_DELAY, nfs4r_client_gone(exp->eng, id));
}

enum nfs4r_status repl_share_ask(struct repl_export *exp, struct nfs4r_op *op)
{
	return THROUGH_GATE(exp, op->status = NFS4R_DELAY, nfs4r_share(exp->eng, op));
}

enum nfs4r_status repl_lock_ask(struct repl_export *exp, struct nfs4r_op *op)
{
	return THROUGH_GATE(exp, op->status = NFS4R_DELAY, nfs4r_lock(exp->eng, op));
}

void repl_client_reclaimed(struct repl_export *exp, const uint64_t id[2])
{
	DO_THROUGH_GATE(exp, nfs4r_client_reclaimed(exp->eng, id));
}

void repl_locks_known(struct repl_export *exp)
{
	DO_THROUGH_GATE(exp, nfs4r_locks_known(exp->eng));
}

bool repl_clients(struct repl_export *exp, bool (*fn)(void *arg, const struct nfs4r_client_entry *k), void *arg)
{
	return THROUGH_GATE(exp, false, (nfs4r_clients(exp->eng, repl_module.cfg.rpc.self, fn, arg), true));
}

bool repl_serves(struct repl_export *exp)
{
	return THROUGH_GATE(exp, false, nfs4r_serves(exp->eng));
}

void repl_fence_over(struct repl_export *exp, uint32_t number)
{
	DO_THROUGH_GATE(exp, nfs4r_fence_over(exp->eng, number));
}
