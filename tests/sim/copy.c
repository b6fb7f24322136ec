/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Deep copies of messages, operations and entries: between real servers everything goes through
 * bytes, so no two simulated servers may share a struct. And all of them as one line of text, for
 * the protocol trace.
 */
#include "sim.h"

#include <stddef.h>

static void copy_attrs(struct nfs4r_attrs *to)
{
	if (to->acl)
		to->acl = nfs4r_buf_copy(to->acl->data, to->acl->len);
}

static char *copy_text(const char *t)
{
	return t ? strdup(t) : NULL;
}

struct nfs4r_entry *entry_copy(const struct nfs4r_entry *e)
{
	struct nfs4r_entry *c = nfs4r_entry_new();
	uint32_t refs = c->refs;

	*c = *e;
	c->refs = refs;
	c->handle_len = 0;
	if (e->payload)
		c->payload = nfs4r_buf_copy(e->payload->data, e->payload->len);
	for (uint32_t i = 0; i < e->nparts; i++) {
		struct nfs4r_part *p = &c->parts[i];

		copy_attrs(&p->attrs);
		p->linktext = copy_text(p->linktext);
		p->xname = copy_text(p->xname);
		if (p->nnames) {
			p->names = calloc(p->nnames, sizeof(*p->names));
			memcpy(p->names, e->parts[i].names, p->nnames * sizeof(*p->names));
		}
		p->locks = NULL;
		if (p->nlocks && nfs4r_part_locks(p, p->nlocks))
			memcpy(p->locks, e->parts[i].locks, p->nlocks * sizeof(*p->locks));
		if (p->client) {
			p->client = malloc(sizeof(*p->client));
			*p->client = *e->parts[i].client;
		}
	}
	return c;
}

struct nfs4r_op *op_copy(const struct nfs4r_op *op)
{
	struct nfs4r_op *c = malloc(sizeof(*c));

	*c = *op;
	c->core = c->engine = NULL;
	if (op->data)
		c->data = nfs4r_buf_copy(op->data->data, op->data->len);
	nfs4r_buf_get(c->cred.groups);
	c->text = copy_text(op->text);
	copy_attrs(&c->attrs);
	copy_attrs(&c->post);
	return c;
}

void op_free(struct nfs4r_op *op)
{
	if (!op)
		return;
	nfs4r_op_fini(op);
	free(op);
}

static struct nfs4r_read *read_copy(const struct nfs4r_read *r)
{
	struct nfs4r_read *c = malloc(sizeof(*c));

	*c = *r; /* the simulator's answers carry attributes only, and bytes where somebody looks at them (locking.c) */
	c->data = r->data ? nfs4r_buf_copy(r->data->data, r->data->len) : NULL;
	c->dirents = NULL;
	c->ndirents = 0;
	c->attrs.acl = NULL;
	return c;
}

static size_t msg_bytes(const struct nfs4r_msg *m)
{
	switch (m->type) {
	case NFS4R_MSG_RELEASE:
	case NFS4R_MSG_RELEASED:
		return offsetof(struct nfs4r_msg, release.seqs) + m->release.nseqs * sizeof(m->release.seqs[0]);
	case NFS4R_MSG_CLOSING:
		return offsetof(struct nfs4r_msg, closing) + sizeof(m->closing);
	case NFS4R_MSG_POSITIONS:
		return offsetof(struct nfs4r_msg, positions) + sizeof(m->positions);
	case NFS4R_MSG_JOINROWS:
		return offsetof(struct nfs4r_msg, joinrows) + sizeof(m->joinrows);
	case NFS4R_MSG_LOCKS_LIST:
		return offsetof(struct nfs4r_msg, locks_list) + sizeof(m->locks_list);
	case NFS4R_MSG_LOCK_READY:
	case NFS4R_MSG_REQUEUE:
		return offsetof(struct nfs4r_msg, lock_ready) + sizeof(m->lock_ready);
	case NFS4R_MSG_PROMISE:
		return offsetof(struct nfs4r_msg, promise) + sizeof(m->promise);
	case NFS4R_MSG_ACCEPT:
	case NFS4R_MSG_VIEW:
		return offsetof(struct nfs4r_msg, view) + sizeof(m->view);
	default:
		return offsetof(struct nfs4r_msg, propose) + sizeof(m->propose) + sizeof(m->ack);
	}
}

struct nfs4r_msg *msg_copy(const struct nfs4r_msg *m)
{
	struct nfs4r_msg *c = malloc(sizeof(*c));

	memcpy(c, m, msg_bytes(m));
	switch (m->type) {
	case NFS4R_MSG_FORWARD:
	case NFS4R_MSG_FORWARD_ANSWER:
		c->op = op_copy(m->op);
		break;
	case NFS4R_MSG_READ:
	case NFS4R_MSG_READ_ANSWER:
		c->read = read_copy(m->read);
		break;
	case NFS4R_MSG_ENTRIES:
		c->entries.entries = calloc(m->entries.n ? m->entries.n : 1, sizeof(*c->entries.entries));
		for (uint32_t i = 0; i < m->entries.n; i++)
			c->entries.entries[i] = entry_copy(m->entries.entries[i]);
		break;
	case NFS4R_MSG_JOINROWS:
		c->joinrows.rows = calloc(m->joinrows.n ? m->joinrows.n : 1, sizeof(*c->joinrows.rows));
		if (m->joinrows.n)
			memcpy(c->joinrows.rows, m->joinrows.rows, m->joinrows.n * sizeof(*c->joinrows.rows));
		break;
	case NFS4R_MSG_LOCKS_LIST:
		c->locks_list.rows = calloc(m->locks_list.n ? m->locks_list.n : 1, sizeof(*c->locks_list.rows));
		if (m->locks_list.n)
			memcpy(c->locks_list.rows, m->locks_list.rows, m->locks_list.n * sizeof(*c->locks_list.rows));
		break;
	default:
		break;
	}
	return c;
}

void msg_free(void *arg)
{
	struct nfs4r_msg *m = arg;

	nfs4r_msg_fini(m);
	free(m);
}

/* ---- text ------------------------------------------------------------------------- */

/* Ring of buffers. "7", or "2/7" in generation 2. */
const char *lsn_str(nfs4r_lsn lsn)
{
	static char ring[16][32];
	static uint32_t next;
	char *b = ring[next++ % 16];
	unsigned long long gen = NFS4R_GEN(lsn), n = lsn & (((nfs4r_lsn)1 << NFS4R_GEN_SHIFT) - 1);

	if (gen)
		snprintf(b, 32, "%llu/%llu", gen, n);
	else
		snprintf(b, 32, "%llu", n);
	return b;
}

static const char *depth_str(uint32_t depth)
{
	return depth == NFS4R_SHALLOW ? "s" : depth == NFS4R_DEEP ? "deep" :
		depth == NFS4R_DEEP_PLUS			  ? "deep+" :
								    "?";
}

void op_print(struct sim *s, const struct nfs4r_op *op, char *buf, size_t len)
{
	size_t n = snprintf(buf, len, "%s", nfs4r_op_name(op->type));

	if (!nfs4r_oid_is_zero(&op->obj) && n < len)
		n += snprintf(buf + n, len - n, " %s", oid_name(s, &op->obj));
	if (!nfs4r_oid_is_zero(&op->dir) && n < len)
		n += snprintf(buf + n, len - n, " %s/%s", oid_name(s, &op->dir), op->name.s);
	if (!nfs4r_oid_is_zero(&op->dir2) && n < len)
		n += snprintf(buf + n, len - n, " -> %s/%s", oid_name(s, &op->dir2), op->name2.s);
	if (op->type == NFS4R_OP_CLAIM && n < len)
		n += snprintf(buf + n, len - n, " %s", depth_str(op->depth));
	if (op->under_open && n < len)
		n += snprintf(buf + n, len - n, " open");
	if (nfs4r_op_is_lock(op->type) && n < len)
		n += snprintf(buf + n, len - n, " %s %llu..%s of %llu n %llu%s%s", op->lock.lock.type == NFS4R_LOCK_WRITE ? "W" : "R", (unsigned long long)op->lock.lock.start,
			      op->lock.lock.last == UINT64_MAX ? "end" : lsn_str(op->lock.lock.last), (unsigned long long)op->lock.lock.owner.owner[0],
			      (unsigned long long)op->lock.n, op->lock.wait == NFS4R_LOCK_QUEUE ? " waits" : "", op->lock.reclaim ? " reclaim" : "");
	if (n < len)
		snprintf(buf + n, len - n, " [%u.%llu]", op->id.origin, (unsigned long long)op->id.seq);
}

void entry_print(struct sim *s, const struct nfs4r_entry *e, char *buf, size_t len)
{
	static const char *const effects[] = { "?", "none", "create", "write", "attrs", "xattr",
					       "names", "links", "parent", "alloc", "install", "locks" };
	size_t n = snprintf(buf, len, "%u:%s %s", e->log, lsn_str(e->lsn), nfs4r_op_name(e->op));

	if (e->op == NFS4R_OP_CLIENT) {
		static const char *const words[] = { "begins", "is gone", "has reclaimed", "all of S" };
		const struct nfs4r_part *p = &e->parts[0];

		snprintf(buf + n, len - n, " %llx %s%s%.0u n %llx below %s", (unsigned long long)p->client->id[1], p->client->name, words[p->client_word & 3],
			 nfs4r_oid_creator(&p->oid), (unsigned long long)p->client_n, lsn_str(p->client_below));
		return;
	}
	for (uint32_t i = 0; i < e->nparts && n < len; i++)
		n += snprintf(buf + n, len - n, " {%s %s %s->%s}", oid_name(s, &e->parts[i].oid),
			      e->parts[i].effect <= NFS4R_EFF_LOCKS ? effects[e->parts[i].effect] : "?",
			      lsn_str(e->parts[i].before), lsn_str(e->parts[i].after));
	for (uint32_t i = 0; i < e->parts[0].nlocks && n < len; i++) {
		const struct nfs4r_file_lock *l = &e->parts[0].locks[i];

		n += snprintf(buf + n, len - n, " %s %llu..%llu of %llu at S%u", l->lock.type == NFS4R_LOCK_WRITE ? "W" : "R", (unsigned long long)l->lock.start,
			      (unsigned long long)l->lock.last, (unsigned long long)l->lock.owner.owner[0], l->holder);
	}
	if (e->joined.pid.server && n < len)
		n += snprintf(buf + n, len - n, " joined %u.%llu %s %s", e->joined.pid.server,
			      (unsigned long long)e->joined.pid.seq, oid_name(s, &e->joined.control.oid),
			      depth_str(e->joined.control.depth));
	if (n < len)
		snprintf(buf + n, len - n, " [%u.%llu]", e->request.origin, (unsigned long long)e->request.seq);
}

static size_t print_positions(const struct nfs4r_msg *m, char *buf, size_t len)
{
	size_t n = snprintf(buf, len, " end %s all_stable %s", lsn_str(m->positions.own_end), lsn_str(m->positions.all_stable));

	for (uint32_t i = 0; i < m->positions.n && n < len; i++)
		n += snprintf(buf + n, len - n, " %u:%s,%s,%s", m->positions.pos[i].log, lsn_str(m->positions.pos[i].received),
			      lsn_str(m->positions.pos[i].applied), lsn_str(m->positions.pos[i].stable));
	return n;
}

static void print_view(const struct nfs4r_view *w, char *buf, size_t len)
{
	size_t n = snprintf(buf, len, " %llu on %llu members %llx", (unsigned long long)w->num, (unsigned long long)w->base,
			    (unsigned long long)w->members);

	if (w->nseals && n < len)
		n += snprintf(buf + n, len - n, " open %llx epoch %u seals", (unsigned long long)w->open, w->epoch);
	for (uint32_t i = 0; i < w->nseals && i < NFS4R_SEALS_MAX && n < len; i++)
		n += snprintf(buf + n, len - n, " %u:%s", w->seals[i].log, lsn_str(w->seals[i].lsn));
}

static void print_heartbeat(const struct nfs4r_msg *m, char *buf, size_t len)
{
	static const char *const memories[] = { "?", "new", "forgot", "known" };

	snprintf(buf, len, " clock %llu view %llu promised %llu hears %llx%s%s%s%s, start %llx %s, yours %llx, claims of %llx", (unsigned long long)m->heartbeat.clock_ms,
		 (unsigned long long)m->heartbeat.view, (unsigned long long)m->heartbeat.promised,
		 (unsigned long long)m->heartbeat.hears, m->heartbeat.caught_up ? " caught up" : "",
		 m->heartbeat.joining ? " joining" : "", m->heartbeat.repairing ? " repairing" : "", m->heartbeat.left ? " left" : "",
		 (unsigned long long)m->heartbeat.inc, memories[m->heartbeat.memory & 3], (unsigned long long)m->heartbeat.your_inc,
		 (unsigned long long)m->heartbeat.claims);
}

static void print_joinrows(struct sim *s, const struct nfs4r_msg *m, char *buf, size_t len)
{
	size_t n = snprintf(buf, len, " view %llu rows %u..%u of %u next %llu applied", (unsigned long long)m->joinrows.view,
			    m->joinrows.offset, m->joinrows.offset + m->joinrows.n, m->joinrows.total,
			    (unsigned long long)m->joinrows.next_seq);

	for (uint32_t i = 1; i <= SERVERS_MAX && n < len; i++)
		n += snprintf(buf + n, len - n, " %s", lsn_str(m->joinrows.applied[i]));
	for (uint32_t i = 0; i < m->joinrows.n && n < len; i++)
		n += snprintf(buf + n, len - n, " %u.%llu:%s%s", m->joinrows.rows[i].pid.server,
			      (unsigned long long)m->joinrows.rows[i].pid.seq, m->joinrows.rows[i].ncontrols ? oid_name(s, &m->joinrows.rows[i].controls[0].oid) : "",
			      m->joinrows.rows[i].ncontrols > 1 ? "+" : "");
}

/* Messages of views; false: not one of them. */
static bool print_view_msg(struct sim *s, const struct nfs4r_msg *m, char *buf, size_t len)
{
	size_t n;

	switch (m->type) {
	case NFS4R_MSG_HEARTBEAT:
		print_heartbeat(m, buf, len);
		return true;
	case NFS4R_MSG_GRANT:
		snprintf(buf, len, " %llu", (unsigned long long)m->grant.clock_ms);
		return true;
	case NFS4R_MSG_PREPARE:
		snprintf(buf, len, " %llu remove %llx add %llx seal %llx", (unsigned long long)m->prepare.num,
			 (unsigned long long)m->prepare.remove, (unsigned long long)m->prepare.add,
			 (unsigned long long)m->prepare.seal);
		return true;
	case NFS4R_MSG_PROMISE:
		n = snprintf(buf, len, " %llu%s%s promised %llu applied", (unsigned long long)m->promise.num,
			     m->promise.refused ? " refused" : "", m->promise.complete ? "" : " incomplete",
			     (unsigned long long)m->promise.promised);
		for (uint32_t i = 1; i <= SERVERS_MAX && n < len; i++)
			n += snprintf(buf + n, len - n, " %s", lsn_str(m->promise.applied[i]));
		if (n < len)
			print_view(&m->promise.accepted, buf + n, len - n);
		return true;
	case NFS4R_MSG_ACCEPT:
	case NFS4R_MSG_VIEW:
		print_view(&m->view, buf, len);
		return true;
	case NFS4R_MSG_ACCEPTED:
		snprintf(buf, len, " %llu", (unsigned long long)m->accepted.num);
		return true;
	case NFS4R_MSG_JOIN:
		snprintf(buf, len, " view %llu from %u", (unsigned long long)m->join.view, m->join.offset);
		return true;
	case NFS4R_MSG_JOINROWS:
		print_joinrows(s, m, buf, len);
		return true;
	case NFS4R_MSG_JOINED:
		snprintf(buf, len, " view %llu", (unsigned long long)m->joined.view);
		return true;
	case NFS4R_MSG_SPACE:
		snprintf(buf, len, " applied %s tree %llu/%llu inodes %llu store %llu", lsn_str(m->space.applied), (unsigned long long)m->space.space.tree.free,
			 (unsigned long long)m->space.space.tree.total, (unsigned long long)m->space.space.inodes.free,
			 (unsigned long long)m->space.space.store.free);
		return true;
	default:
		return false;
	}
}

void msg_print(struct sim *s, const struct nfs4r_msg *m, char *buf, size_t len)
{
	size_t n = snprintf(buf, len, "%s", nfs4r_msg_name(m->type));
	char text[300];

	if (print_view_msg(s, m, buf + n, len - n))
		return;

	switch (m->type) {
	case NFS4R_MSG_PROPOSE:
		n += snprintf(buf + n, len - n, " %u.%llu%s prio %u.%u", m->propose.pid.server,
			      (unsigned long long)m->propose.pid.seq, m->propose.won ? " won" : "",
			      m->propose.prio.attempts, m->propose.prio.server);
		for (uint32_t i = 0; i < m->propose.ncontrols && n < len; i++)
			n += snprintf(buf + n, len - n, " %s:%s", oid_name(s, &m->propose.controls[i].oid),
				      depth_str(m->propose.controls[i].depth));
		break;
	case NFS4R_MSG_ACK:
		snprintf(buf + n, len - n, " %u.%llu", m->ack.pid.server, (unsigned long long)m->ack.pid.seq);
		break;
	case NFS4R_MSG_NACK:
		snprintf(buf + n, len - n, " %u.%llu %s%s", m->nack.pid.server, (unsigned long long)m->nack.pid.seq,
			 m->nack.reason == NFS4R_NACK_BLOCKED ? "blocked" : "unknown", m->nack.won ? " by won" : "");
		break;
	case NFS4R_MSG_RELEASE:
	case NFS4R_MSG_RELEASED:
		n += snprintf(buf + n, len - n, " floor %llu", (unsigned long long)m->release.floor);
		for (uint32_t i = 0; i < m->release.nseqs && n < len; i++)
			n += snprintf(buf + n, len - n, " %llu", (unsigned long long)m->release.seqs[i]);
		break;
	case NFS4R_MSG_CLOSING:
		for (uint32_t i = 0; i < m->closing.n && n < len; i++)
			n += snprintf(buf + n, len - n, " %llu:%llu", (unsigned long long)m->closing.seqs[i], (unsigned long long)m->closing.last[i]);
		break;
	case NFS4R_MSG_REVOKE:
		snprintf(buf + n, len - n, " %s%s", oid_name(s, &m->revoke.oid), m->revoke.below ? " below" : "");
		break;
	case NFS4R_MSG_FORWARD:
	case NFS4R_MSG_FORWARD_ANSWER:
		op_print(s, m->op, text, sizeof(text));
		snprintf(buf + n, len - n, " %s%s%s", text, m->type == NFS4R_MSG_FORWARD ? "" : " = ",
			 m->type == NFS4R_MSG_FORWARD ? "" : nfs4r_status_str(m->op->status));
		break;
	case NFS4R_MSG_READ:
	case NFS4R_MSG_READ_ANSWER:
		snprintf(buf + n, len - n, "%s %llu %s", m->read->type == NFS4R_RD_COMMIT ? " (commit)" : "", (unsigned long long)m->read->id, oid_name(s, &m->read->oid));
		break;
	case NFS4R_MSG_POSITIONS:
		print_positions(m, buf + n, len - n);
		break;
	case NFS4R_MSG_ENTRIES:
		snprintf(buf + n, len - n, " log %u %s..%s end %s", m->entries.log,
			 lsn_str(m->entries.n ? m->entries.entries[0]->lsn : 0),
			 lsn_str(m->entries.n ? m->entries.entries[m->entries.n - 1]->lsn : 0), lsn_str(m->entries.end));
		break;
	case NFS4R_MSG_LOCK_READY:
	case NFS4R_MSG_REQUEUE:
		snprintf(buf + n, len - n, " %s %s %llu..%s of %llu n %llu view %llu", oid_name(s, &m->lock_ready.oid), m->lock_ready.lock.type == NFS4R_LOCK_WRITE ? "W" : "R",
			 (unsigned long long)m->lock_ready.lock.start, m->lock_ready.lock.last == UINT64_MAX ? "end" : lsn_str(m->lock_ready.lock.last),
			 (unsigned long long)m->lock_ready.lock.owner.owner[0], (unsigned long long)m->lock_ready.n, (unsigned long long)m->lock_ready.view);
		break;
	case NFS4R_MSG_PULL:
		snprintf(buf + n, len - n, " log %u from %s", m->pull.log, lsn_str(m->pull.from));
		break;
	default:
		break;
	}
}
