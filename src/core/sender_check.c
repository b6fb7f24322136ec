/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Who may say what about whom (log 4.17): every message of another server passes here first.
 *
 * Happy path: a server speaks of itself, of its own log and claims, or answers what the receiver asked. The table is there.
 *
 * Failure modes: a message in somebody else's name, or with entries that nobody asked its sender for, is dropped, counted, and named in the log. The
 * connection stays: two servers that disagree about one message may need each other for a majority. An answer to a PULL that comes late is no lie: it is
 * within what its sender was asked for once.
 *
 * Invariants: nothing of a refused message has any effect. What a server says of itself is believed; it is trusted with the volume.
 */
#include "core/door_int.h"

/* Of another server's log it has been asked for these. */
static bool was_asked(const struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	const struct pulled *p = &c->log.pulled[m->entries.log][from];

	for (uint32_t i = 0; i < m->entries.n; i++)
		if (m->entries.entries[i]->lsn > p->until)
			return false;
	return p->until;
}

static const char *about_entries(const struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	nfs4r_server_id log = m->entries.log;

	if (!log || log > NFS4R_SERVERS_MAX)
		return "sent entries of a log that does not exist";
	if (log != from && !was_asked(c, from, m) && !FAULT(F_ENTRIES_OF_ANYBODY))
		return "sent unrequested entries of another server's log: ignored (log 4.17)";
	return NULL;
}

const char *core_door_refuses(const struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	switch (m->type) {
	case NFS4R_MSG_PROPOSE:
		return m->propose.pid.server == from && m->propose.prio.server == from ? NULL : "sent a PROPOSE in another server's name (log 4.17)";
	case NFS4R_MSG_ACK:
		return m->ack.pid.server == c->self ? NULL : "sent an ACK for a proposal that this server did not make (log 4.17)";
	case NFS4R_MSG_NACK:
		return m->nack.pid.server == c->self ? NULL : "sent a NACK for a proposal that this server did not make (log 4.17)";
	case NFS4R_MSG_REVOKE:
		return m->revoke.prio.server == from ? NULL : "sent a REVOKE in another server's name (log 4.17)";
	case NFS4R_MSG_FORWARD:
		return m->op && m->op->id.origin == from ? NULL : "forwarded an operation in another server's name (log 4.17)";
	case NFS4R_MSG_FORWARD_ANSWER:
		return m->op && m->op->id.origin == c->self ? NULL : "answered an operation that this server did not forward (log 4.17)";
	case NFS4R_MSG_ENTRIES:
		return about_entries(c, from, m);
	default:
		return NULL;
	}
}
