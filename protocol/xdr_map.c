/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Messages of the core as bytes: one function per arm of nfs4r_message (nfs4r.x). The
 * transport's own arms are in xdr_hello.c and refused here.
 *
 * Failure: what a half decoded message owns hangs on it at each moment (the entry array
 * grows its count only after the entry is made), so nfs4r_msg_fini frees it all.
 *
 * Invariants: a mask names only servers there can be, so nobody behind has to bound the bits;
 * of two views, the one that changes the other has the higher number; members of a view are voters,
 * voters are servers, and its addresses are none or those of all servers.
 */
#include <stdlib.h>

#include "xdr_codec.h"
#include "xdr_map.h"

#define CONTROL_BYTES 20
#define POSITION_BYTES 44
#define ENTRY_MIN 96
#define JOIN_ROW_MIN 36
#define SEAL_BYTES 12
#define ADDRESS_MIN 20
#define FINGERPRINT_BYTES 32
#define SERVERS_ALL ((((nfs4r_servers)1 << NFS4R_SERVERS_MAX) - 1) << 1)

static bool c_servers(struct nfs4r_codec *c, nfs4r_servers *mask)
{
	return c_u64(c, mask) && c_check(c, (*mask & ~SERVERS_ALL) == 0);
}

bool c_controls(struct nfs4r_codec *c, uint32_t *n,
		struct nfs4r_control controls[NFS4R_CLAIM_CONTROLS_MAX])
{
	if (!c_count(c, n, NFS4R_CLAIM_CONTROLS_MAX, CONTROL_BYTES))
		return false;
	for (uint32_t i = 0; i < *n; i++) {
		if (!c_control(c, &controls[i]))
			return false;
	}
	return true;
}

static bool c_propose(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	return c_pid(c, &m->propose.pid) && c_u64(c, &m->propose.floor) &&
		c_controls(c, &m->propose.ncontrols, m->propose.controls) &&
		c_prio(c, &m->propose.prio) && c_bool(c, &m->propose.won);
}

static bool c_ack(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	return c_pid(c, &m->ack.pid) && c_applied(c, m->ack.applied) && (!c_since(c, NFS4R_PROTOCOL_LOCKS) || c_ack_gap(c, m));
}

static bool c_nack(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	return c_pid(c, &m->nack.pid) &&
		c_range(c, &m->nack.reason, NFS4R_NACK_BLOCKED, NFS4R_NACK_UNKNOWN) &&
		c_prio(c, &m->nack.prio) && c_bool(c, &m->nack.won) && c_servers(c, &m->nack.owners);
}

static bool c_release(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	if (!c_u64(c, &m->release.floor) ||
	    !c_count(c, &m->release.nseqs, NFS4R_BATCH_MAX, 8))
		return false;
	for (uint32_t i = 0; i < m->release.nseqs; i++) {
		if (!c_u64(c, &m->release.seqs[i]))
			return false;
	}
	return true;
}

static bool c_closing(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	if (!c_count(c, &m->closing.n, NFS4R_CLOSING_MAX, 16))
		return false;
	for (uint32_t i = 0; i < m->closing.n; i++) {
		if (!c_u64(c, &m->closing.seqs[i]) || !c_u64(c, &m->closing.last[i]))
			return false;
	}
	return true;
}

static bool c_revoke(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	return c_oid(c, &m->revoke.oid) && c_bool(c, &m->revoke.below) &&
		c_prio(c, &m->revoke.prio);
}

static bool c_op(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	if (c_decoding(c)) {
		m->op = calloc(1, sizeof(*m->op));
		if (!m->op)
			return c_fail(c, NFS4R_NOMEM);
	}
	return m->type == NFS4R_MSG_FORWARD ? c_op_request(c, m->op) : c_op_answer(c, m->op);
}

static bool c_read(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	if (c_decoding(c)) {
		m->read = calloc(1, sizeof(*m->read));
		if (!m->read)
			return c_fail(c, NFS4R_NOMEM);
	}
	return m->type == NFS4R_MSG_READ ? c_read_request(c, m->read) : c_read_answer(c, m->read);
}

static bool c_positions(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	if (!c_u64(c, &m->positions.clock_ns) || !c_u64(c, &m->positions.echo_ns) ||
	    !c_u64(c, &m->positions.own_end) || !c_u64(c, &m->positions.all_stable) ||
	    !c_bool(c, &m->positions.want_stable) || !c_bool(c, &m->positions.wanted) ||
	    !c_count(c, &m->positions.n, NFS4R_SERVERS_MAX, POSITION_BYTES))
		return false;
	for (uint32_t i = 0; i < m->positions.n; i++) {
		struct nfs4r_log_position *p = &m->positions.pos[i];

		if (!c_server(c, &p->log, false) || !c_u64(c, &p->received) ||
		    !c_u64(c, &p->applied) || !c_u64(c, &p->stable) ||
		    !c_check(c, p->received >= p->applied && p->applied >= p->stable) ||
		    !c_u64(c, &p->received_bytes) || !c_u64(c, &p->base))
			return false;
	}
	return true;
}

static bool c_entries(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	uint32_t n = m->entries.n;
	struct nfs4r_entry **list;

	if (!c_server(c, &m->entries.log, false) || !c_u64(c, &m->entries.end) ||
	    !c_count(c, &n, NFS4R_BATCH_MAX, ENTRY_MIN))
		return false;
	if (c_decoding(c) && n > 0) {
		m->entries.entries = calloc(n, sizeof(*m->entries.entries));
		if (!m->entries.entries)
			return c_fail(c, NFS4R_NOMEM);
	}
	list = m->entries.entries;
	for (uint32_t i = 0; i < n; i++) {
		bool ok = c_entry(c, &list[i], true);

		if (c_decoding(c) && list[i])
			m->entries.n = i + 1;
		if (!ok || !c_check(c, list[i]->log == m->entries.log) ||
		    !c_check(c, i == 0 || list[i]->lsn == list[i - 1]->lsn + 1))
			return false;
	}
	return true;
}

static bool c_pull(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	return c_server(c, &m->pull.log, false) && c_u64(c, &m->pull.from);
}

static bool c_verify(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	return c_u64(c, &m->verify.id) && c_oid(c, &m->verify.oid) &&
		c_status(c, &m->verify.status) && c_u64(c, &m->verify.version) &&
		c_fixed(c, m->verify.sum, sizeof(m->verify.sum)) && c_u64(c, &m->verify.bytes) &&
		c_u32(c, &m->verify.odd) && c_buf(c, &m->verify.names, NFS4R_ODD_NAMES_MAX) &&
		c_check(c, m->type == NFS4R_MSG_VERIFY_ANSWER || !m->verify.names) &&
		(!c_decoding(c) || c_shape(c, nfs4r_shape_of_odd_names(m->verify.names)));
}

static bool c_memory(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	uint32_t memory = m->heartbeat.memory;

	if (!c_range(c, &memory, NFS4R_MEMORY_NEW, NFS4R_MEMORY_KNOWN))
		return false;
	m->heartbeat.memory = (enum nfs4r_memory)memory;
	return true;
}

static bool c_versions(struct nfs4r_codec *c, struct nfs4r_versions *v)
{
	return c_u32(c, &v->lowest) && c_u32(c, &v->highest) && c_check(c, v->lowest && v->lowest <= v->highest);
}

static bool c_heartbeat(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	bool ok = c_u64(c, &m->heartbeat.clock_ms) && c_u64(c, &m->heartbeat.view) &&
		c_u64(c, &m->heartbeat.promised) && c_servers(c, &m->heartbeat.hears) &&
		c_bool(c, &m->heartbeat.caught_up) && c_bool(c, &m->heartbeat.joining) &&
		c_bool(c, &m->heartbeat.repairing) && c_memory(c, m) && c_u64(c, &m->heartbeat.inc) &&
		c_u64(c, &m->heartbeat.inc_random) && c_u64(c, &m->heartbeat.position) &&
		c_u64(c, &m->heartbeat.your_inc) && c_u64(c, &m->heartbeat.your_random) &&
		c_u64(c, &m->heartbeat.your_position) && c_servers(c, &m->heartbeat.claims) &&
		c_bool(c, &m->heartbeat.confirmed) && c_u64(c, &m->heartbeat.reconf_epoch) && c_servers(c, &m->heartbeat.reconf_set) &&
		c_u64(c, &m->heartbeat.view_digest) && c_u64(c, &m->heartbeat.accepted) && c_u64(c, &m->heartbeat.accepted_digest) &&
		c_bool(c, &m->heartbeat.left) && c_u32(c, &m->heartbeat.trouble) && c_versions(c, &m->heartbeat.protocol) &&
		c_versions(c, &m->heartbeat.disk_format);

	if (ok && c_since(c, NFS4R_PROTOCOL_LOCKS))
		ok = c_bool(c, &m->heartbeat.locks_known);
	if (ok && c_since(c, NFS4R_PROTOCOL_REHEARSED))
		ok = c_u32(c, &m->heartbeat.rehearsal);
	return ok;
}

static bool c_grant(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	return c_u64(c, &m->grant.clock_ms) && c_range(c, &m->grant.lease_ms, 1, NFS4R_VOLUME_LEASE_MAX);
}

static bool c_prepare(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	return c_u64(c, &m->prepare.num) && c_servers(c, &m->prepare.remove) &&
		c_servers(c, &m->prepare.add) && c_servers(c, &m->prepare.seal);
}

static bool c_keys(struct nfs4r_codec *c, struct nfs4r_address *a)
{
	uint32_t n = a->nkeys;

	if (!c_count(c, &n, NFS4R_KEYS_MAX, FINGERPRINT_BYTES))
		return false;
	a->nkeys = (uint16_t)n;
	for (uint32_t i = 0; i < n; i++)
		if (!c_fixed(c, a->keys[i].sha256, sizeof(a->keys[i].sha256)))
			return false;
	return c_check(c, n < 2 || memcmp(&a->keys[0], &a->keys[1], sizeof(a->keys[0])) != 0);
}

static bool c_where(struct nfs4r_codec *c, struct nfs4r_address *a)
{
	uint32_t len = c_decoding(c) ? 0 : (uint32_t)strlen(a->address), port = a->port;
	const char *bytes = a->address;

	if (!c_server(c, &a->id, false) || !c_range(c, &port, 1, UINT16_MAX) ||
	    !c_bytes(c, &bytes, &len, NFS4R_ADDRESS_MAX))
		return false;
	if (!c_decoding(c))
		return true;
	for (uint32_t i = 0; i < len; i++)
		if (bytes[i] <= ' ' || bytes[i] > '~')
			return c_fail(c, NFS4R_MALFORMED);
	a->port = (uint16_t)port;
	memcpy(a->address, bytes, len);
	a->address[len] = '\0';
	return c_check(c, len > 0);
}

static bool c_address(struct nfs4r_codec *c, struct nfs4r_address *a)
{
	return c_where(c, a) && c_keys(c, a);
}

/* Who belongs to the volume, and where they are. */
static bool c_servers_of(struct nfs4r_codec *c, struct nfs4r_view *v)
{
	nfs4r_servers set = 0;

	if (!c_servers(c, &v->servers) || !c_servers(c, &v->voters) ||
	    !c_check(c, !(v->members & ~v->voters) && !(v->voters & ~v->servers)) ||
	    !c_count(c, &v->nbook, NFS4R_SERVERS_MAX, ADDRESS_MIN))
		return false;
	for (uint32_t i = 0; i < v->nbook; i++) {
		if (!c_address(c, &v->addresses[i]) || !c_check(c, !(set >> v->addresses[i].id)))
			return false;
		set |= (nfs4r_servers)1 << v->addresses[i].id;
	}
	return c_check(c, v->nbook == 0 || set == v->servers);
}

/* All keys, or none; and nothing else without the first two numbers. */
static bool c_settings(struct nfs4r_codec *c, struct nfs4r_volume_settings *s)
{
	struct nfs4r_volume_keys *k = &s->keys;

	return c_u32(c, &s->protocol) && c_u32(c, &s->disk_format) && c_u32(c, &k->durability) && c_u32(c, &k->directory_reads) && c_u32(c, &k->round_trip_ms) &&
		c_u32(c, &k->lease_ms) && c_u32(c, &k->silence_ms) && c_u32(c, &k->drift_permille) && c_u32(c, &k->ends) &&
		c_check(c, !s->protocol == !s->disk_format && (s->protocol || !k->durability) && nfs4r_volume_keys_ok(k));
}

static bool c_view(struct nfs4r_codec *c, struct nfs4r_view *v)
{
	if (!c_u64(c, &v->num) || !c_u64(c, &v->base) ||
	    !c_check(c, v->num > v->base || (v->num == 0 && v->base == 0)) ||
	    !c_servers(c, &v->members) || !c_servers(c, &v->open) || !c_u32(c, &v->epoch) ||
	    !c_count(c, &v->nseals, NFS4R_SEALS_MAX, SEAL_BYTES))
		return false;
	for (uint32_t i = 0; i < v->nseals; i++) {
		if (!c_server(c, &v->seals[i].log, false) || !c_u64(c, &v->seals[i].lsn))
			return false;
	}
	return c_servers_of(c, v) && c_fixed(c, v->secret, sizeof(v->secret)) && c_settings(c, &v->settings);
}

static bool c_promise(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	return c_u64(c, &m->promise.num) && c_bool(c, &m->promise.refused) &&
		c_u64(c, &m->promise.promised) && c_view(c, &m->promise.accepted) &&
		c_bool(c, &m->promise.complete) && c_applied(c, m->promise.applied);
}

/* ACCEPT and VIEW. */
static bool c_whole_view(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	return c_view(c, &m->view);
}

static bool c_accepted(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	return c_u64(c, &m->accepted.num) && c_u64(c, &m->accepted.digest);
}

static bool c_join(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	return c_u64(c, &m->join.view) && c_u32(c, &m->join.offset);
}

static bool c_join_row(struct nfs4r_codec *c, struct nfs4r_join_row *r)
{
	return c_pid(c, &r->pid) && c_range(c, &r->kind, NFS4R_PROPOSED, c_since(c, NFS4R_PROTOCOL_LOCKS) ? NFS4R_GAP : NFS4R_MOVED) &&
		c_u64(c, &r->lsn) && c_check(c, (r->lsn == 0) == (r->kind == NFS4R_PROPOSED)) &&
		c_prio(c, &r->prio) && c_controls(c, &r->ncontrols, r->controls);
}

static bool c_joinrows(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	uint32_t n = m->joinrows.n;

	if (!c_u64(c, &m->joinrows.view) || !c_u32(c, &m->joinrows.offset) ||
	    !c_u32(c, &m->joinrows.total) || !c_u64(c, &m->joinrows.next_seq) ||
	    !c_applied(c, m->joinrows.applied) ||
	    !c_count(c, &n, NFS4R_JOINROWS_MAX, JOIN_ROW_MIN) ||
	    !c_check(c, (uint64_t)m->joinrows.offset + n <= m->joinrows.total))
		return false;
	if (c_decoding(c) && n > 0) {
		m->joinrows.rows = calloc(n, sizeof(*m->joinrows.rows));
		if (!m->joinrows.rows)
			return c_fail(c, NFS4R_NOMEM);
		m->joinrows.n = n;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!c_join_row(c, &m->joinrows.rows[i]))
			return false;
	}
	return true;
}

static bool c_joined(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	return c_u64(c, &m->joined.view);
}

static bool c_room(struct nfs4r_codec *c, struct nfs4r_room *r)
{
	return c_u64(c, &r->total) && c_u64(c, &r->free) && c_u64(c, &r->reserve) && c_check(c, r->free <= r->total && r->reserve <= r->total);
}

static bool c_space(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	struct nfs4r_space *s = &m->space.space;
	struct nfs4r_limits *l = &m->space.limits;
	struct nfs4r_remarks *r = &m->space.remarks;

	return c_u64(c, &m->space.applied) && c_room(c, &s->tree) && c_room(c, &s->inodes) && c_room(c, &s->store) && c_bool(c, &s->shared) &&
		c_u64(c, &l->file_max) && c_i64(c, &l->time_min) && c_i64(c, &l->time_max) && c_u64(c, &l->text_max) && c_u32(c, &l->xattr_max) && c_u32(c, &l->name_max) && c_u32(c, &l->link_max) && c_u32(c, &l->has) &&
		c_check(c, (l->has & ~NFS4R_HAS_ALL) == 0 && l->time_min <= 0 && l->time_max >= 0) && c_u32(c, &r->is) && c_u64(c, &r->imported) && c_u64(c, &r->strays) &&
		c_u64(c, &r->conflicts) && c_check(c, r->is < NFS4R_IS_ALL);
}

static bool c_halted(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	return c_u32(c, &m->halted.status) && c_bool(c, &m->halted.files);
}

static bool c_identity(struct nfs4r_codec *c, struct nfs4r_identity *id)
{
	uint32_t len = c_decoding(c) ? 0 : (uint32_t)strlen(id->name);
	const char *bytes = id->name;
	struct nfs4r_mapping *to = &id->to;

	if (!c_bytes(c, &bytes, &len, NFS4R_PRINCIPAL_MAX) || !c_check(c, len > 0 && !memchr(bytes, '\0', len)))
		return false;
	if (c_decoding(c)) {
		memcpy(id->name, bytes, len);
		id->name[len] = '\0';
	}
	return c_bool(c, &to->mapped) && c_u32(c, &to->uid) && c_u32(c, &to->gid) && c_u32(c, &to->ngroups) && c_u64(c, &to->groups) &&
		c_check(c, to->mapped || (to->uid == 0 && to->gid == 0 && to->ngroups == 0 && to->groups == 0));
}

static bool c_identities(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	if (!c_count(c, &m->identities.n, NFS4R_IDENTITIES_MAX, 32))
		return false;
	for (uint32_t i = 0; i < m->identities.n; i++) {
		if (!c_identity(c, &m->identities.list[i]))
			return false;
	}
	return true;
}

static bool c_msg(struct nfs4r_codec *c, void *obj)
{
	static bool (*const arms[])(struct nfs4r_codec *, struct nfs4r_msg *) = {
		[NFS4R_MSG_PROPOSE] = c_propose,
		[NFS4R_MSG_ACK] = c_ack,
		[NFS4R_MSG_NACK] = c_nack,
		[NFS4R_MSG_RELEASE] = c_release,
		[NFS4R_MSG_RELEASED] = c_release,
		[NFS4R_MSG_REVOKE] = c_revoke,
		[NFS4R_MSG_FORWARD] = c_op,
		[NFS4R_MSG_FORWARD_ANSWER] = c_op,
		[NFS4R_MSG_READ] = c_read,
		[NFS4R_MSG_READ_ANSWER] = c_read,
		[NFS4R_MSG_POSITIONS] = c_positions,
		[NFS4R_MSG_ENTRIES] = c_entries,
		[NFS4R_MSG_PULL] = c_pull,
		[NFS4R_MSG_VERIFY] = c_verify,
		[NFS4R_MSG_VERIFY_ANSWER] = c_verify,
		[NFS4R_MSG_HEARTBEAT] = c_heartbeat,
		[NFS4R_MSG_GRANT] = c_grant,
		[NFS4R_MSG_PREPARE] = c_prepare,
		[NFS4R_MSG_PROMISE] = c_promise,
		[NFS4R_MSG_ACCEPT] = c_whole_view,
		[NFS4R_MSG_ACCEPTED] = c_accepted,
		[NFS4R_MSG_VIEW] = c_whole_view,
		[NFS4R_MSG_JOIN] = c_join,
		[NFS4R_MSG_JOINROWS] = c_joinrows,
		[NFS4R_MSG_JOINED] = c_joined,
		[NFS4R_MSG_CLOSING] = c_closing,
		[NFS4R_MSG_SPACE] = c_space,
		[NFS4R_MSG_HALTED] = c_halted,
		[NFS4R_MSG_IDENTITIES] = c_identities,
		[NFS4R_MSG_LOCK_READY] = c_lock_ready,
		[NFS4R_MSG_REQUEUE] = c_lock_ready,
		[NFS4R_MSG_LOCKS_OF] = c_locks_of,
		[NFS4R_MSG_LOCKS_LIST] = c_locks_list,
		[NFS4R_MSG_GAP_OVER] = c_gap_over,
		[NFS4R_MSG_GUARD] = c_guard,
		[NFS4R_MSG_UNGUARD] = c_guard,
	};
	struct nfs4r_msg *m = obj;

	if (!c_u32(c, &m->type))
		return false;
	if (m->type < NFS4R_MSG_PROPOSE || m->type > (c_since(c, NFS4R_PROTOCOL_LOCKS) ? NFS4R_MSG_UNGUARD : NFS4R_MSG_IDENTITIES) || !arms[m->type]) {
		if (c_decoding(c))
			m->type = 0; /* nothing for fini to free */
		return c_fail(c, NFS4R_MALFORMED);
	}
	return arms[m->type](c, m);
}

struct nfs4r_buf *nfs4r_msg_encode(const struct nfs4r_msg *msg, uint32_t protocol)
{
	enum nfs4r_status st;

	return nfs4r_codec_encode(c_msg, protocol, msg, &st);
}

enum nfs4r_status nfs4r_msg_decode(const void *bytes, size_t len, uint32_t protocol, struct nfs4r_msg *out, const char **why)
{
	enum nfs4r_status st;

	memset(out, 0, sizeof(*out));
	st = nfs4r_codec_decode(c_msg, protocol, bytes, len, out, why);
	if (st != NFS4R_OK) {
		nfs4r_msg_fini(out);
		memset(out, 0, sizeof(*out));
	}
	return st;
}
