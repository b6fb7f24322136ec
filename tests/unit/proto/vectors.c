/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The vectors set every member that travels to a value of its own, so that a member that is
 * forgotten or swapped in the mapping shows. Structs are filled member by member into zeroed
 * memory: their padding takes part in the comparison.
 */
#include <stdlib.h>
#include <string.h>

#include "unit/proto/vectors.h"
#include "xdr_map.h"

/* What an entry may say of an object. */
#define ENTRY_ATTRS 0x193f

static struct nfs4r_oid oid(uint16_t creator, uint64_t inc, uint64_t seq)
{
	struct nfs4r_oid o;

	for (int i = 0; i < 2; i++)
		o.b[i] = (uint8_t)(creator >> (8 - 8 * i));
	for (int i = 0; i < 6; i++)
		o.b[2 + i] = (uint8_t)(inc >> (40 - 8 * i));
	for (int i = 0; i < 8; i++)
		o.b[8 + i] = (uint8_t)(seq >> (56 - 8 * i));
	return o;
}

static struct nfs4r_buf *bytes(uint32_t n, uint8_t first)
{
	struct nfs4r_buf *b = nfs4r_buf_new(n);

	for (uint32_t i = 0; i < n; i++)
		b->data[i] = (uint8_t)(first + i);
	return b;
}

static void set_pid(struct nfs4r_pid *p, nfs4r_server_id server, uint64_t seq)
{
	p->server = server;
	p->seq = seq;
}

static void set_prio(struct nfs4r_prio *p, uint32_t attempts, nfs4r_server_id server)
{
	p->attempts = attempts;
	p->server = server;
}

static void set_request(struct nfs4r_request_id *r)
{
	r->origin = 3;
	r->inc = 0x1122334455;
	r->seq = 987654321;
}

static void set_attrs(struct nfs4r_attrs *a)
{
	a->mask = 0x7fff;
	a->type = NFS4R_TYPE_FILE;
	a->mode = 06751;
	a->uid = 1001;
	a->gid = 1002;
	a->nlink = 2;
	a->size = 0x123456789abcdef0;
	a->space = 0x100000;
	a->atime = 1700000000000000001;
	a->mtime = 1700000000000000002;
	a->ctime = -3;
	a->rdev_major = 8;
	a->rdev_minor = 17;
	a->version = 0x0000010000000007;
	a->acl = bytes(13, 0xa0);
}

static void make_propose(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_PROPOSE;
	set_pid(&m->propose.pid, 2, 0x0102030405060708);
	m->propose.floor = 55;
	m->propose.ncontrols = 3;
	for (uint32_t i = 0; i < 3; i++) {
		m->propose.controls[i].oid = oid(1, 7, 100 + i);
		m->propose.controls[i].depth = NFS4R_SHALLOW + i;
	}
	set_prio(&m->propose.prio, 4, 2);
	m->propose.won = true;
}

static void make_ack(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_ACK;
	set_pid(&m->ack.pid, 15, 9);
	m->ack.applied[1] = 11;
	m->ack.applied[3] = 0xffffffffffffffff;
}

static void make_nack(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_NACK;
	set_pid(&m->nack.pid, 1, 10);
	m->nack.reason = NFS4R_NACK_UNKNOWN;
	set_prio(&m->nack.prio, 1, 3);
	m->nack.won = true;
	m->nack.owners = NFS4R_BIT(3) | NFS4R_BIT(15);
}

static void make_release(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_RELEASE;
	m->release.floor = 40;
	m->release.nseqs = 2;
	m->release.seqs[0] = 41;
	m->release.seqs[1] = 44;
}

static void make_released(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_RELEASED;
	m->release.nseqs = 1;
	m->release.seqs[0] = 42;
}

static void make_closing(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_CLOSING;
	m->closing.n = 2;
	m->closing.seqs[0] = 43;
	m->closing.last[0] = 900;
	m->closing.seqs[1] = 46;
	m->closing.last[1] = 911;
}

static void make_revoke(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_REVOKE;
	m->revoke.oid = oid(2, 3, 4);
	m->revoke.below = true;
	set_prio(&m->revoke.prio, 6, 1);
}

static struct nfs4r_op *make_op(struct nfs4r_msg *m, uint32_t type, uint32_t op_type)
{
	m->type = type;
	m->op = calloc(1, sizeof(*m->op));
	m->op->type = op_type;
	set_request(&m->op->id);
	return m->op;
}

static void make_forward_rename(void *p)
{
	struct nfs4r_op *op = make_op(p, NFS4R_MSG_FORWARD, NFS4R_OP_RENAME);

	op->answered_below = 900;
	op->generation = 2;
	op->obj = oid(1, 2, 3);
	op->dir = oid(4, 5, 6);
	op->dir2 = oid(7, 8, 9);
	nfs4r_name_set(&op->name, "from here", 9);
	nfs4r_name_set(&op->name2, "\xc3\xa4", 2);
	op->cred.uid = 501;
	op->cred.gid = 502;
	uint32_t *groups = nfs4r_cred_set_groups(&op->cred, 2);

	groups[0] = 503;
	groups[1] = 504;
	op->offset = 77;
	op->length = 78;
}

static void make_forward_write(void *p)
{
	struct nfs4r_op *op = make_op(p, NFS4R_MSG_FORWARD, NFS4R_OP_WRITE);

	op->obj = oid(1, 2, 3);
	op->offset = 0x100000000;
	op->length = 7;
	op->data = bytes(7, 1);
	op->stable = true;
	op->under_open = true;
}

static void make_forward_setxattr(void *p)
{
	struct nfs4r_op *op = make_op(p, NFS4R_MSG_FORWARD, NFS4R_OP_SETXATTR);

	op->obj = oid(1, 2, 3);
	op->data = nfs4r_buf_new(0);
	op->text = strdup("user.colour");
	op->xflags = NFS4R_XATTR_REPLACE;
}

static void make_forward_create(void *p)
{
	struct nfs4r_op *op = make_op(p, NFS4R_MSG_FORWARD, NFS4R_OP_CREATE);

	op->dir = oid(1, 2, 3);
	nfs4r_name_set(&op->name, "new", 3);
	set_attrs(&op->attrs);
	op->attrs.mask = ENTRY_ATTRS | NFS4R_ATTR_ATIME_NOW | NFS4R_ATTR_MTIME_NOW;
}

static void make_forward_answer(void *p)
{
	struct nfs4r_op *op = make_op(p, NFS4R_MSG_FORWARD_ANSWER, NFS4R_OP_CREATE);

	op->status = NFS4R_EXIST;
	op->result = oid(9, 8, 7);
	op->result_type = NFS4R_TYPE_DIR;
	set_attrs(&op->post);
	op->dir_before = 21;
	op->dir_after = 22;
	op->dir2_before = 23;
	op->dir2_after = 24;
	op->lsn = 25;
	op->primary = 14;
	op->verifier = 26;
}

static struct nfs4r_read *make_rd(struct nfs4r_msg *m, uint32_t type, uint32_t read_type)
{
	m->type = type;
	m->read = calloc(1, sizeof(*m->read));
	m->read->id = 0xabcdef;
	m->read->type = read_type;
	return m->read;
}

static void make_read_lookup(void *p)
{
	struct nfs4r_read *r = make_rd(p, NFS4R_MSG_READ, NFS4R_RD_LOOKUP);

	r->oid = oid(2, 2, 2);
	strcpy(r->name, "file.txt");
	r->offset = 1;
	r->length = 2;
	r->cookie = 3;
}

static void make_read_answer_data(void *p)
{
	struct nfs4r_read *r = make_rd(p, NFS4R_MSG_READ_ANSWER, NFS4R_RD_READ);

	r->result = oid(3, 3, 3);
	set_attrs(&r->attrs);
	r->data = bytes(24, 0x30);
	r->eof = true;
	r->result_offset = 31;
	r->verifier = 32;
}

static void make_read_answer_dirents(void *p)
{
	struct nfs4r_read *r = make_rd(p, NFS4R_MSG_READ_ANSWER, NFS4R_RD_READDIR);

	r->eof = true;
	r->ndirents = 2;
	r->dirents = calloc(2, sizeof(*r->dirents));
	for (uint32_t i = 0; i < 2; i++) {
		nfs4r_name_set(&r->dirents[i].name, i ? "b" : "long name", i ? 1 : 9);
		r->dirents[i].oid = oid(4, 4, 1 + i);
		r->dirents[i].type = NFS4R_TYPE_FILE + i;
		r->dirents[i].cookie = 100 + i;
	}
}

static void make_read_oids(void *p)
{
	struct nfs4r_read *r = make_rd(p, NFS4R_MSG_READ, NFS4R_RD_OIDS);

	r->copy = true;
}

static void make_read_answer_oids(void *p)
{
	struct nfs4r_read *r = make_rd(p, NFS4R_MSG_READ_ANSWER, NFS4R_RD_OIDS);

	r->eof = true;
	r->data = bytes(NFS4R_SERVERS_MAX * 24, 0x40);
	r->ndirents = 2;
	r->dirents = calloc(2, sizeof(*r->dirents));
	for (uint32_t i = 0; i < 2; i++) {
		r->dirents[i].oid = oid(4, 4, 7 + i);
		r->dirents[i].type = NFS4R_TYPE_DIR;
		r->dirents[i].cookie = 1000 + i;
	}
}

static void make_read_answer_row(void *p)
{
	struct nfs4r_read *r = make_rd(p, NFS4R_MSG_READ_ANSWER, NFS4R_RD_GETATTR);

	set_attrs(&r->attrs);
	r->row.version = 0x10000000002;
	r->row.type = NFS4R_TYPE_FILE;
	r->row.multi = true;
	r->row.nlink = 3;
	r->row.ctime = 1700000000000000001;
	r->row.mtime = 1700000000000000000;
	r->row.last_log = 2;
	r->row.last_lsn = 0x10000000005;
	r->row.nparents = 2;
	for (uint32_t i = 0; i < 2; i++) {
		r->row.parents[i] = oid(5, 5, 50 + i);
		r->row.parent_names[i] = 1 + i;
	}
}

static void make_positions(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_POSITIONS;
	m->positions.clock_ns = 1001;
	m->positions.echo_ns = 1002;
	m->positions.own_end = 1003;
	m->positions.all_stable = 1004;
	m->positions.want_stable = true;
	m->positions.wanted = true;
	m->positions.n = 2;
	for (uint32_t i = 0; i < 2; i++) {
		m->positions.pos[i].log = (nfs4r_server_id)(1 + i);
		m->positions.pos[i].received = 33 + i;
		m->positions.pos[i].applied = 22 + i;
		m->positions.pos[i].stable = 11 + i;
		m->positions.pos[i].received_bytes = 0x7fffffffff + i;
		m->positions.pos[i].base = 5 + i;
	}
}

static void entry_head(struct nfs4r_entry *e, nfs4r_lsn lsn, uint32_t op, uint32_t nparts)
{
	e->log = 2;
	e->lsn = lsn;
	e->view = 1;
	e->op = op;
	set_request(&e->request);
	e->answered_below = 870;
	e->nparts = nparts;
	for (uint32_t i = 0; i < nparts; i++) {
		e->parts[i].oid = oid(2, 6, 60 + i);
		e->parts[i].before = 70 + i;
		e->parts[i].after = 80 + i;
		e->parts[i].ctime = 1700000000000000000 + i;
		e->parts[i].mtime = i;
	}
}

static void one_name(struct nfs4r_part *p, uint32_t i, const char *name, const struct nfs4r_oid *to)
{
	struct nfs4r_name_change *nc = &p->names[i];

	nfs4r_name_set(&nc->name, name, strlen(name));
	nc->type = NFS4R_TYPE_SYMLINK;
	nc->cookie = 12 + i;
	if (to)
		nc->oid = *to;
}

/* A symbolic link is made: CREATE and NAMES. */
static void entry_symlink(struct nfs4r_entry *e, nfs4r_lsn lsn)
{
	entry_head(e, lsn, NFS4R_OP_SYMLINK, 2);
	e->result = oid(2, 6, 60);
	set_pid(&e->joined.pid, 2, 4711);
	e->joined.control.oid = oid(2, 6, 60);
	e->joined.control.depth = NFS4R_SHALLOW;
	e->joined.kind = NFS4R_CREATED;
	e->parts[0].effect = NFS4R_EFF_CREATE;
	e->parts[0].before = 0;
	set_attrs(&e->parts[0].attrs);
	e->parts[0].attrs.mask = ENTRY_ATTRS;
	e->parts[0].attrs.type = NFS4R_TYPE_SYMLINK;
	e->parts[0].parent = oid(2, 6, 61);
	e->parts[0].linktext = strdup("../target");
	e->parts[1].effect = NFS4R_EFF_NAMES;
	nfs4r_part_names(&e->parts[1], 1);
	one_name(&e->parts[1], 0, "link", &e->parts[0].oid);
}

static void entry_write(struct nfs4r_entry *e, nfs4r_lsn lsn)
{
	entry_head(e, lsn, NFS4R_OP_WRITE, 1);
	e->parts[0].effect = NFS4R_EFF_WRITE;
	e->parts[0].off = 4096;
	e->parts[0].len = 9;
	e->has_payload = true;
	e->fuzzy_log = 4;
	e->fuzzy_lsn = 99;
}

void vector_write(struct nfs4r_entry *e, nfs4r_server_id log, nfs4r_lsn lsn, uint64_t len)
{
	entry_head(e, lsn, NFS4R_OP_WRITE, 1);
	e->log = log;
	e->parts[0].effect = NFS4R_EFF_WRITE;
	e->parts[0].len = len;
	e->has_payload = true;
}

/* Over another name, in another directory. */
static void entry_rename(struct nfs4r_entry *e, nfs4r_lsn lsn)
{
	entry_head(e, lsn, NFS4R_OP_RENAME, 4);
	set_pid(&e->joined.pid, 2, 4712);
	e->joined.control.oid = oid(2, 6, 62);
	e->joined.control.depth = NFS4R_DEEP;
	e->joined.kind = NFS4R_MOVED;
	e->parts[0].effect = e->parts[1].effect = NFS4R_EFF_NAMES;
	nfs4r_part_names(&e->parts[0], 1);
	nfs4r_part_names(&e->parts[1], 1);
	one_name(&e->parts[0], 0, "gone", NULL);
	one_name(&e->parts[1], 0, "new", &e->parts[2].oid);
	e->parts[2].effect = NFS4R_EFF_PARENT;
	e->parts[2].parent = oid(2, 6, 61);
	e->parts[2].parent_from = oid(2, 6, 60);
	e->parts[3].effect = NFS4R_EFF_LINKS;
	e->parts[3].nlink = 4;
	e->parts[3].multi = true;
	e->parts[3].parent = oid(2, 6, 61);
	e->after[1] = 17;
	e->after[3] = 19;
}

static void entry_rename_within(struct nfs4r_entry *e, nfs4r_lsn lsn)
{
	entry_head(e, lsn, NFS4R_OP_RENAME, 2);
	e->parts[0].effect = NFS4R_EFF_NAMES;
	nfs4r_part_names(&e->parts[0], 2);
	one_name(&e->parts[0], 0, "gone", NULL);
	one_name(&e->parts[0], 1, "new", &e->parts[1].oid);
	e->parts[1].effect = NFS4R_EFF_PARENT;
	e->parts[1].parent = e->parts[1].parent_from = oid(2, 6, 60);
}

static void entry_link(struct nfs4r_entry *e, nfs4r_lsn lsn)
{
	entry_head(e, lsn, NFS4R_OP_LINK, 2);
	e->parts[0].effect = NFS4R_EFF_NAMES;
	nfs4r_part_names(&e->parts[0], 1);
	one_name(&e->parts[0], 0, "second", &e->parts[1].oid);
	e->parts[1].effect = NFS4R_EFF_LINKS;
	e->parts[1].nlink = 5;
	e->parts[1].multi = true;
	e->parts[1].parent_gained = true;
	e->parts[1].parent = oid(2, 6, 60);
}

static void entry_hole(struct nfs4r_entry *e, nfs4r_lsn lsn)
{
	entry_head(e, lsn, NFS4R_OP_DEALLOCATE, 1);
	e->parts[0].effect = NFS4R_EFF_ALLOC;
	e->parts[0].off = 1;
	e->parts[0].len = 2;
	e->parts[0].punch = true;
}

static void entry_attrs(struct nfs4r_entry *e, nfs4r_lsn lsn)
{
	entry_head(e, lsn, NFS4R_OP_SETATTR, 1);
	e->parts[0].effect = NFS4R_EFF_ATTRS;
	set_attrs(&e->parts[0].attrs);
	e->parts[0].attrs.mask = ENTRY_ATTRS;
}

static void entry_xattr(struct nfs4r_entry *e, nfs4r_lsn lsn)
{
	entry_head(e, lsn, NFS4R_OP_REMOVEXATTR, 1);
	e->parts[0].effect = NFS4R_EFF_XATTR;
	e->parts[0].xname = strdup("user.x");
	e->parts[0].xremove = true;
}

static void entry_void(struct nfs4r_entry *e, nfs4r_lsn lsn)
{
	entry_head(e, lsn, NFS4R_OP_REMOVE, 2);
	memset(&e->request, 0, sizeof(e->request));
	e->parts[0].effect = e->parts[1].effect = NFS4R_EFF_NONE;
}

static void make_entries(void *p)
{
	static void (*const make[])(struct nfs4r_entry *, nfs4r_lsn) = { entry_symlink, entry_write, entry_rename, entry_rename_within, entry_link,
									 entry_hole, entry_attrs, entry_xattr, entry_void };
	const uint32_t n = sizeof(make) / sizeof(make[0]);
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_ENTRIES;
	m->entries.log = 2;
	m->entries.end = 1000;
	m->entries.n = n;
	m->entries.entries = calloc(n, sizeof(*m->entries.entries));
	for (uint32_t i = 0; i < n; i++) {
		m->entries.entries[i] = nfs4r_entry_new();
		make[i](m->entries.entries[i], 500 + i);
	}
	m->entries.entries[1]->payload = bytes(9, 0x61);
}

static void make_pull(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_PULL;
	m->pull.log = 5;
	m->pull.from = 123456789012;
}

static void make_verify(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_VERIFY;
	m->verify.id = 1;
	m->verify.oid = oid(6, 6, 6);
}

static void make_verify_answer(void *p)
{
	struct nfs4r_msg *m = p;

	make_verify(p);
	m->type = NFS4R_MSG_VERIFY_ANSWER;
	m->verify.status = NFS4R_UNKNOWN;
	m->verify.version = 17;
	for (uint8_t i = 0; i < 32; i++)
		m->verify.sum[i] = (uint8_t)(0xff - i);
	m->verify.bytes = 1 << 20;
	m->verify.odd = 3;
	m->verify.names = nfs4r_buf_copy("+new\0-gone", 11);
}

static void make_heartbeat(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_HEARTBEAT;
	m->heartbeat.clock_ms = 0x0000000123456789;
	m->heartbeat.view = 130;
	m->heartbeat.promised = 195;
	m->heartbeat.hears = NFS4R_BIT(1) | NFS4R_BIT(15);
	m->heartbeat.caught_up = true;
	m->heartbeat.memory = NFS4R_MEMORY_KNOWN;
	m->heartbeat.inc = 7;
	m->heartbeat.inc_random = 0x1122334455667788;
	m->heartbeat.position = 0x0000001234567890;
	m->heartbeat.your_inc = 0x8000000000000001;
	m->heartbeat.your_random = 0x99aabbccddeeff00;
	m->heartbeat.your_position = 0x000000fedcba9870;
	m->heartbeat.claims = NFS4R_BIT(2);
	m->heartbeat.confirmed = true;
	m->heartbeat.reconf_epoch = 2;
	m->heartbeat.reconf_set = NFS4R_BIT(1) | NFS4R_BIT(3);
	m->heartbeat.view_digest = 0x0f1e2d3c4b5a6978;
	m->heartbeat.accepted = 194;
	m->heartbeat.accepted_digest = 0x8796a5b4c3d2e1f0;
	m->heartbeat.left = true;
	m->heartbeat.trouble = NFS4R_NOSPC;
	m->heartbeat.protocol = (struct nfs4r_versions){ 9, 10 };
	m->heartbeat.disk_format = (struct nfs4r_versions){ 1, 2 };
}

static void make_heartbeat_known(void *p)
{
	struct nfs4r_msg *m = p;

	make_heartbeat(p);
	m->heartbeat.locks_known = true;
}

static void make_heartbeat_joining(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_HEARTBEAT;
	m->heartbeat.joining = true;
	m->heartbeat.repairing = true;
	m->heartbeat.memory = NFS4R_MEMORY_FORGOT;
	m->heartbeat.inc = 1;
	m->heartbeat.protocol = (struct nfs4r_versions){ 9, 9 };
	m->heartbeat.disk_format = (struct nfs4r_versions){ 1, 1 };
}

static void make_grant(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_GRANT;
	m->grant.clock_ms = 0x0000000123456789;
	m->grant.lease_ms = 2000;
}

static void set_room(struct nfs4r_room *r, uint64_t total)
{
	r->total = total;
	r->free = total / 2 + 1;
	r->reserve = total / 20;
}

static void make_space(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_SPACE;
	m->space.applied = 0x0000020000000123;
	set_room(&m->space.space.tree, 0x0000012345678900);
	set_room(&m->space.space.inodes, 0x0000000007654321);
	set_room(&m->space.space.store, 0x0000000987654321);
	m->space.space.shared = true;
	m->space.limits.file_max = 0x00000fffffffffff;
	m->space.limits.time_min = -0x80000000LL;
	m->space.limits.time_max = 0x000000037fffffff;
	m->space.limits.text_max = 1023;
	m->space.limits.xattr_max = 4000;
	m->space.limits.name_max = 255;
	m->space.limits.link_max = 65000;
	m->space.limits.has = NFS4R_HAS_XATTRS | NFS4R_HAS_BYTES;
	m->space.remarks = (struct nfs4r_remarks){ .is = NFS4R_IS_IMPORTING, .imported = 0x123456, .strays = 3, .conflicts = 2 };
}

static void make_space_unknown(void *p)
{
	((struct nfs4r_msg *)p)->type = NFS4R_MSG_SPACE;
}

static void make_halted(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_HALTED;
	m->halted.status = NFS4R_NOSPC;
	m->halted.files = true;
}

static void make_identities(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_IDENTITIES;
	m->identities.n = 2;
	m->identities.list[0] = (struct nfs4r_identity){ "alice@EXAMPLE.ORG", { .mapped = true, .uid = 2001, .gid = 100, .ngroups = 41, .groups = 0x123456789abcdef0 } };
	m->identities.list[1] = (struct nfs4r_identity){ .name = "nfs/client.example.org@EXAMPLE.ORG" };
}

static void make_prepare(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_PREPARE;
	m->prepare.num = 4 * NFS4R_VIEW_STEP + 2;
	m->prepare.remove = NFS4R_BIT(3) | NFS4R_BIT(4);
	m->prepare.add = NFS4R_BIT(5);
	m->prepare.seal = NFS4R_BIT(3) | NFS4R_BIT(7);
}

static void set_view(struct nfs4r_view *v, uint64_t num, uint64_t base, nfs4r_servers members)
{
	v->num = num;
	v->base = base;
	v->members = members;
	v->servers = v->voters = 0xfffe;
}

static void set_seals(struct nfs4r_view *v)
{
	v->open = NFS4R_BIT(1) | NFS4R_BIT(3);
	v->epoch = 2;
	v->nseals = 2;
	v->seals[0] = (struct nfs4r_seal){ 3, 0x0000000000000063 };
	v->seals[1] = (struct nfs4r_seal){ 3, 0x0000010000000000 };
}

static void set_key(struct nfs4r_address *a, uint8_t first)
{
	for (uint8_t i = 0; i < sizeof(a->keys[0].sha256); i++)
		a->keys[a->nkeys].sha256[i] = (uint8_t)(first + i);
	a->nkeys++;
}

/* Two that vote, and one that is new. One is known as configured, one by one key, one is changing its key. */
static void set_book(struct nfs4r_view *v)
{
	v->servers = NFS4R_BIT(1) | NFS4R_BIT(2) | NFS4R_BIT(15);
	v->voters = NFS4R_BIT(1) | NFS4R_BIT(15);
	v->nbook = 3;
	v->addresses[0] = (struct nfs4r_address){ .id = 1, .port = 20490, .address = "192.0.2.1" };
	v->addresses[1] = (struct nfs4r_address){ .id = 2, .port = 65535, .address = "new.example" };
	v->addresses[2] = (struct nfs4r_address){ .id = 15, .port = 1, .address = "2001:db8::15" };
	set_key(&v->addresses[1], 0x20);
	set_key(&v->addresses[2], 0x60);
	set_key(&v->addresses[2], 0x80);
	v->settings = (struct nfs4r_volume_settings){ .protocol = 9, .disk_format = 1, .keys = { 3, 2, 400, 4000, 5000, 20, 1 } };
	for (uint8_t i = 0; i < sizeof(v->secret); i++)
		v->secret[i] = (uint8_t)(0xa0 + i);
}

static void make_promise(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_PROMISE;
	m->promise.num = 258;
	m->promise.refused = true;
	m->promise.promised = 323;
	set_view(&m->promise.accepted, 195, 130, NFS4R_BIT(1) | NFS4R_BIT(2) | NFS4R_BIT(9));
	m->promise.complete = true;
	m->promise.applied[1] = 31;
	m->promise.applied[2] = 0x0000010000000007;
}

static void make_accept(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_ACCEPT;
	set_view(&m->view, 258, 195, NFS4R_BIT(1) | NFS4R_BIT(15));
	set_seals(&m->view);
	set_book(&m->view);
}

static void make_accepted(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_ACCEPTED;
	m->accepted.num = 0x0102030405060708;
	m->accepted.digest = 0x1020304050607080;
}

/* The first view. */
static void make_view(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_VIEW;
	set_view(&m->view, 0, 0, NFS4R_BIT(1) | NFS4R_BIT(2) | NFS4R_BIT(3));
}

static void make_join(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_JOIN;
	m->join.view = 258;
	m->join.offset = 64;
}

static void make_joinrows(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_JOINROWS;
	m->joinrows.view = 258;
	m->joinrows.offset = 5;
	m->joinrows.total = 9;
	m->joinrows.next_seq = 4096;
	m->joinrows.applied[1] = 21;
	m->joinrows.applied[3] = 23;
	m->joinrows.n = 3;
	m->joinrows.rows = calloc(3, sizeof(*m->joinrows.rows));
	for (uint32_t i = 0; i < 3; i++) {
		struct nfs4r_join_row *r = &m->joinrows.rows[i];

		set_pid(&r->pid, (nfs4r_server_id)(4 + i), 700 + i);
		r->kind = NFS4R_PROPOSED + i;
		r->lsn = i ? 800 + i : 0;
		set_prio(&r->prio, 3 - i, (nfs4r_server_id)(4 - i));
		r->ncontrols = i ? 1 : 2;
		for (uint32_t k = 0; k < r->ncontrols; k++) {
			r->controls[k].oid = oid(4, i, 90 + k);
			r->controls[k].depth = NFS4R_SHALLOW + (i + k) % 3;
		}
	}
}

static void make_joinrows_gap(void *p)
{
	struct nfs4r_msg *m = p;

	make_joinrows(p);
	m->joinrows.rows[2].kind = NFS4R_GAP;
	m->joinrows.rows[2].pid.seq = 0;
}

static void make_joinrows_none(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_JOINROWS;
	m->joinrows.view = 258;
	m->joinrows.next_seq = 1;
}

static void make_joined(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_JOINED;
	m->joined.view = 258;
}

static void make_journal_symlink(void *p)
{
	struct nfs4r_entry *e = p;

	entry_symlink(e, 600);
	e->handle_len = 11;
	memset(e->handle, 0xcd, 11);
}

static void make_journal_write(void *p)
{
	entry_write(p, 601);
}

static void make_hello(void *p)
{
	struct nfs4r_transport_msg_body *m = p;
	struct nfs4r_hello *h = &m->hello;

	m->type = NFS4R_MSG_HELLO;
	h->magic = NFS4R_HELLO_MAGIC;
	h->protocol = (struct nfs4r_versions){ 9, 10 };
	h->server = 2;
	h->to = 1;
	h->lane = 2;
	strcpy(h->version, "0.1+abcdef0");
	h->inc = 71;
	h->session = 72;
	h->index = 3;
	memset(h->volume, 0x5a, 16);
	h->export_id = 77;
	h->fsid_major = 78;
	h->fsid_minor = 79;
	h->disk_format = (struct nfs4r_versions){ 2, 3 };
	h->security = 1;
	h->lease_ms = 2000;
	h->silence_ms = 3000;
	h->drift_permille = 10;
	h->durability = 2;
	h->view = 0x10000000043;
	h->asks = true;
	h->nservers = 2;
	for (uint32_t i = 0; i < 2; i++) {
		h->servers[i].id = (nfs4r_server_id)(1 + i);
		h->servers[i].port = 20490 + i;
	}
	h->nkeys = 2;
	strcpy(h->keys[0].key, "Pseudo");
	strcpy(h->keys[0].value, "/data");
	strcpy(h->keys[1].key, "Server_Owner");
	strcpy(h->keys[1].value, "site2");
	h->keys[1].differs = true;
}

static void make_refused(void *p)
{
	struct nfs4r_transport_msg_body *m = p;

	m->type = NFS4R_MSG_REFUSED;
	m->refused.cause = NFS4R_REFUSED_EXPORT;
	strcpy(m->refused.text, "export id: 1 here, 2 there");
}

static void make_keepalive(void *p)
{
	struct nfs4r_transport_msg_body *m = p;

	m->type = NFS4R_MSG_KEEPALIVE;
	m->keepalive.answer = true;
	m->keepalive.clock_ns = 0x0807060504030201;
	m->keepalive.day_ns = -2;
}

static void make_token(void *p)
{
	struct nfs4r_transport_msg_body *m = p;

	m->type = NFS4R_MSG_TOKEN;
	m->security = 2;
	m->opaque = bytes(5, 0x80);
}

static void make_keys(void *p)
{
	struct nfs4r_transport_msg_body *m = p;

	m->type = NFS4R_MSG_KEYS;
}

static void make_number(void *p)
{
	struct nfs4r_transport_msg_body *m = p;

	m->type = NFS4R_MSG_NUMBER;
	m->number = 0x0102030405060708;
}

static void make_taken(void *p)
{
	struct nfs4r_transport_msg_body *m = p;

	m->type = NFS4R_MSG_TAKEN;
	m->number = 0x1112131415161718;
}

static void make_padding(void *p)
{
	struct nfs4r_transport_msg_body *m = p;

	m->type = NFS4R_MSG_PADDING;
	m->opaque = bytes(9, 0x40);
}

/* ---- locks, since protocol 10 ---- */

static void set_lock(struct nfs4r_lock *l, uint8_t owner, enum nfs4r_lock_type type, uint64_t start, uint64_t last)
{
	for (int i = 0; i < 2; i++) {
		l->owner.client[i] = 0x0101010101010100 * owner + (uint64_t)i;
		l->owner.owner[i] = 0x0202020202020200 * owner + (uint64_t)i;
	}
	l->life = 0x0303030303030300 + owner;
	l->type = type;
	l->start = start;
	l->last = last;
}

static void set_file_lock(struct nfs4r_file_lock *l, uint8_t owner, enum nfs4r_lock_type type, uint64_t start, uint64_t last)
{
	set_lock(&l->lock, owner, type, start, last);
	l->holder = owner;
	l->inc = 0x1020304050607080 + owner;
	l->n = 0x8070605040302010 + owner;
}

/* Two owners, one with two ranges, and a range up to the end. */
static void set_locks(struct nfs4r_file_lock *l)
{
	set_file_lock(&l[0], 1, NFS4R_LOCK_READ, 0, 9);
	set_file_lock(&l[1], 2, NFS4R_LOCK_READ, 5, 5);
	set_file_lock(&l[2], 1, NFS4R_LOCK_WRITE, 10, UINT64_MAX);
}

static void set_client(struct nfs4r_client *k, uint64_t first)
{
	k->id[0] = first;
	k->id[1] = 0x99aabbccddeeff00;
	k->minor = 2;
	strcpy(k->name, "Linux NFSv4.2 host");
	strcpy(k->address, "192.0.2.7");
}

static void make_ack_gap(void *p)
{
	struct nfs4r_msg *m = p;

	make_ack(p);
	m->ack.gap = true;
}

static void set_lock_op(struct nfs4r_msg *m, uint32_t msg, uint32_t type)
{
	m->type = msg;
	m->op = calloc(1, sizeof(*m->op));
	m->op->type = type;
	set_request(&m->op->id);
	m->op->lock.view = 195;
	m->op->lock.inc = 0x1112131415161718;
}

static void make_forward_lock(void *p)
{
	struct nfs4r_msg *m = p;

	set_lock_op(m, NFS4R_MSG_FORWARD, NFS4R_OP_LOCK);
	m->op->obj = oid(3, 4, 5);
	m->op->answered_below = 900;
	set_lock(&m->op->lock.lock, 3, NFS4R_LOCK_WRITE, 100, 199);
	m->op->lock.wait = NFS4R_LOCK_QUEUE;
	m->op->lock.reclaim = true;
	m->op->lock.n = 77;
}

static void make_forward_unwait(void *p)
{
	struct nfs4r_msg *m = p;

	set_lock_op(m, NFS4R_MSG_FORWARD, NFS4R_OP_UNWAIT);
	m->op->obj = oid(3, 4, 5);
	set_lock(&m->op->lock.lock, 3, NFS4R_LOCK_WRITE, 100, 199);
	m->op->lock.n = 78;
	m->op->lock.waited_ms = 77;
}

static void make_forward_answer_lock(void *p)
{
	struct nfs4r_msg *m = p;

	set_lock_op(m, NFS4R_MSG_FORWARD_ANSWER, NFS4R_OP_LOCK);
	m->op->status = NFS4R_BLOCKED;
	set_file_lock(&m->op->lock.conflict, 4, NFS4R_LOCK_READ, 150, 150);
}

static void make_forward_answer_granted(void *p)
{
	struct nfs4r_msg *m = p;

	set_lock_op(m, NFS4R_MSG_FORWARD_ANSWER, NFS4R_OP_LOCK);
	m->op->status = NFS4R_OK;
	m->op->lock.version = 78;
}

static void make_forward_answer_unwait(void *p)
{
	struct nfs4r_msg *m = p;

	set_lock_op(m, NFS4R_MSG_FORWARD_ANSWER, NFS4R_OP_UNWAIT);
	m->op->lock.was_granted = true;
}

static void make_forward_share(void *p)
{
	struct nfs4r_msg *m = p;

	set_lock_op(m, NFS4R_MSG_FORWARD, NFS4R_OP_SHARE);
	m->op->obj = oid(3, 4, 5);
	m->op->share.access = NFS4R_SHARE_BOTH;
	m->op->share.deny = NFS4R_SHARE_WRITE;
	m->op->share.reclaim = true;
	m->op->share.others = (struct nfs4r_opens){ 9, 8, 7, 6 };
	m->op->lock.n = 79;
}

static void make_forward_answer_share(void *p)
{
	struct nfs4r_msg *m = p;

	set_lock_op(m, NFS4R_MSG_FORWARD_ANSWER, NFS4R_OP_SHARE);
	m->op->status = NFS4R_SHARE_DENIED;
	m->op->share.guard = (uint64_t)7 << 32 | 1;
}

static void make_read_clients(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_READ;
	m->read = calloc(1, sizeof(*m->read));
	m->read->id = 33;
	m->read->type = NFS4R_RD_CLIENTS;
	m->read->offset = 4;
	m->read->copy = true;
}

static void make_read_answer_clients(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_READ_ANSWER;
	m->read = calloc(1, sizeof(*m->read));
	m->read->id = 33;
	m->read->type = NFS4R_RD_CLIENTS;
	m->read->nclients = 2;
	m->read->clients = calloc(2, sizeof(*m->read->clients));
	for (uint32_t i = 0; i < 2; i++) {
		m->read->clients[i].server = 4;
		m->read->clients[i].lsn = 600 + i;
		set_client(&m->read->clients[i].client, i + 1);
		m->read->clients[i].n = 0x1000 + i;
		m->read->clients[i].by = 4 + i;
		m->read->clients[i].by_lsn = 620 + i;
	}
}

static void make_read_answer_locks(void *p)
{
	struct nfs4r_msg *m = p;

	make_read_answer_row(p);
	m->read->type = NFS4R_RD_GETATTR;
	m->read->attrs.mask = NFS4R_ATTR_TYPE;
	m->read->attrs.type = m->read->row.type = NFS4R_TYPE_FILE;
	m->read->nlocks = 3;
	m->read->locks = calloc(3, sizeof(*m->read->locks));
	set_locks(m->read->locks);
}

static void entry_locks(struct nfs4r_entry *e, nfs4r_lsn lsn)
{
	entry_head(e, lsn, NFS4R_OP_LOCK, 1);
	e->parts[0].effect = NFS4R_EFF_LOCKS;
	nfs4r_part_locks(&e->parts[0], 3);
	set_locks(e->parts[0].locks);
}

static void entry_no_locks(struct nfs4r_entry *e, nfs4r_lsn lsn)
{
	entry_head(e, lsn, NFS4R_OP_LOCK, 1);
	e->parts[0].effect = NFS4R_EFF_LOCKS;
}

static void entry_client(struct nfs4r_entry *e, nfs4r_lsn lsn)
{
	entry_head(e, lsn, NFS4R_OP_CLIENT, 1);
	e->parts[0].oid = nfs4r_client_list_oid(e->log);
	e->parts[0].effect = NFS4R_EFF_CLIENT;
	e->parts[0].client = calloc(1, sizeof(*e->parts[0].client));
	set_client(e->parts[0].client, 1);
}

static void entry_client_gone(struct nfs4r_entry *e, nfs4r_lsn lsn)
{
	entry_client(e, lsn);
	e->parts[0].client_word = NFS4R_CLIENT_GONE;
	e->parts[0].client_n = 0x1234567890;
	memset(e->parts[0].client->name, 0, sizeof(e->parts[0].client->name));
	memset(e->parts[0].client->address, 0, sizeof(e->parts[0].client->address));
}

static void entry_client_reclaimed(struct nfs4r_entry *e, nfs4r_lsn lsn)
{
	entry_client_gone(e, lsn);
	e->parts[0].client_word = NFS4R_CLIENT_RECLAIMED;
}

static void entry_clients_ended(struct nfs4r_entry *e, nfs4r_lsn lsn)
{
	entry_client_gone(e, lsn);
	e->parts[0].oid = nfs4r_client_list_oid(e->log + 1);
	e->parts[0].client_word = NFS4R_CLIENTS_ENDED;
	e->parts[0].client_below = 77;
	memset(e->parts[0].client, 0, sizeof(*e->parts[0].client));
}

static void make_entries_locks(void *p)
{
	static void (*const make[])(struct nfs4r_entry *, nfs4r_lsn) = { entry_locks, entry_no_locks, entry_client, entry_client_gone, entry_client_reclaimed, entry_clients_ended };
	const uint32_t n = sizeof(make) / sizeof(make[0]);
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_ENTRIES;
	m->entries.log = 2;
	m->entries.end = 1000;
	m->entries.n = n;
	m->entries.entries = calloc(n, sizeof(*m->entries.entries));
	for (uint32_t i = 0; i < n; i++) {
		m->entries.entries[i] = nfs4r_entry_new();
		make[i](m->entries.entries[i], 500 + i);
	}
}

static void make_lock_ready(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_LOCK_READY;
	m->lock_ready.oid = oid(2, 3, 9);
	set_lock(&m->lock_ready.lock, 5, NFS4R_LOCK_WRITE, 7, 8);
	m->lock_ready.n = 1;
	m->lock_ready.view = 2;
	m->lock_ready.inc = 3;
	m->lock_ready.to_inc = 4;
	m->lock_ready.version = 5;
}

static void make_requeue(void *p)
{
	struct nfs4r_msg *m = p;

	make_lock_ready(p);
	m->type = NFS4R_MSG_REQUEUE;
	m->lock_ready.version = 0;
	m->lock_ready.heard = true;
}

static void make_locks_of(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_LOCKS_OF;
	m->locks_of.view = 131;
	m->locks_of.inc = 0x0908070605040302;
	m->locks_of.round = 4;
	m->locks_of.only_clients = true;
}

static void make_gap_over(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_GAP_OVER;
	m->gap_over.pid.server = 3;
	m->gap_over.pid.seq = 0x0102030405060708;
	m->gap_over.view = 131;
	m->gap_over.ncontrols = 1;
	m->gap_over.controls[0].oid = oid(2, 3, 9);
	m->gap_over.controls[0].depth = NFS4R_DEEP;
	m->gap_over.heard = true;
}

static void make_locks_list(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_LOCKS_LIST;
	m->locks_list.view = 131;
	m->locks_list.inc = 0x0908070605040302;
	m->locks_list.round = 4;
	m->locks_list.offset = 1024;
	m->locks_list.nclients = 2;
	for (uint32_t i = 0; i < 2; i++) {
		m->locks_list.clients[i][0] = 0x0807060504030201 + i;
		m->locks_list.clients[i][1] = i;
	}
	m->locks_list.more_clients = true;
	m->locks_list.last = true;
	m->locks_list.n = 2;
	m->locks_list.rows = calloc(2, sizeof(*m->locks_list.rows));
	for (uint32_t i = 0; i < 2; i++) {
		m->locks_list.rows[i].oid = oid(2, 3, 9 + i);
		set_file_lock(&m->locks_list.rows[i].lock, (uint8_t)(6 + i), NFS4R_LOCK_READ, i, 10 + i);
	}
}

static void make_guard(void *p)
{
	struct nfs4r_msg *m = p;

	m->type = NFS4R_MSG_GUARD;
	m->guard.oid = oid(2, 3, 9);
	m->guard.id = (uint64_t)7 << 32 | 1;
	m->guard.view = 2;
	m->guard.inc = 3;
	m->guard.to_inc = 4;
}

static void make_guard_answer(void *p)
{
	struct nfs4r_msg *m = p;

	make_guard(p);
	m->guard.heard = true;
	m->guard.opens = (struct nfs4r_opens){ 4, 3, 2, 1 };
	m->guard.nmarks = 2;
	m->guard.marks[0].by = 3;
	m->guard.marks[0].id = 5;
	m->guard.marks[1].by = 4;
	m->guard.marks[1].id = 6;
}

static void make_unguard(void *p)
{
	struct nfs4r_msg *m = p;

	make_guard(p);
	m->type = NFS4R_MSG_UNGUARD;
	m->guard.nmarks = 1;
	m->guard.marks[0].by = 3;
	m->guard.marks[0].id = 5;
}

static void make_journal_locks(void *p)
{
	entry_locks(p, 700);
}

static void make_journal_client(void *p)
{
	entry_client(p, 701);
}

const struct vector vectors[] = {
	{ "propose", VECTOR_MSG, make_propose, NFS4R_PROTOCOL_FIRST },
	{ "ack", VECTOR_MSG, make_ack, NFS4R_PROTOCOL_FIRST },
	{ "nack", VECTOR_MSG, make_nack, NFS4R_PROTOCOL_FIRST },
	{ "release", VECTOR_MSG, make_release, NFS4R_PROTOCOL_FIRST },
	{ "released", VECTOR_MSG, make_released, NFS4R_PROTOCOL_FIRST },
	{ "closing", VECTOR_MSG, make_closing, NFS4R_PROTOCOL_FIRST },
	{ "revoke", VECTOR_MSG, make_revoke, NFS4R_PROTOCOL_FIRST },
	{ "forward_rename", VECTOR_MSG, make_forward_rename, NFS4R_PROTOCOL_FIRST },
	{ "forward_write", VECTOR_MSG, make_forward_write, NFS4R_PROTOCOL_FIRST },
	{ "forward_setxattr", VECTOR_MSG, make_forward_setxattr, NFS4R_PROTOCOL_FIRST },
	{ "forward_create", VECTOR_MSG, make_forward_create, NFS4R_PROTOCOL_FIRST },
	{ "forward_answer", VECTOR_MSG, make_forward_answer, NFS4R_PROTOCOL_FIRST },
	{ "read_lookup", VECTOR_MSG, make_read_lookup, NFS4R_PROTOCOL_FIRST },
	{ "read_answer_data", VECTOR_MSG, make_read_answer_data, NFS4R_PROTOCOL_FIRST },
	{ "read_answer_dirents", VECTOR_MSG, make_read_answer_dirents, NFS4R_PROTOCOL_FIRST },
	{ "read_oids", VECTOR_MSG, make_read_oids, NFS4R_PROTOCOL_FIRST },
	{ "read_answer_oids", VECTOR_MSG, make_read_answer_oids, NFS4R_PROTOCOL_FIRST },
	{ "read_answer_row", VECTOR_MSG, make_read_answer_row, NFS4R_PROTOCOL_FIRST },
	{ "positions", VECTOR_MSG, make_positions, NFS4R_PROTOCOL_FIRST },
	{ "entries", VECTOR_MSG, make_entries, NFS4R_PROTOCOL_FIRST },
	{ "pull", VECTOR_MSG, make_pull, NFS4R_PROTOCOL_FIRST },
	{ "verify", VECTOR_MSG, make_verify, NFS4R_PROTOCOL_FIRST },
	{ "verify_answer", VECTOR_MSG, make_verify_answer, NFS4R_PROTOCOL_FIRST },
	{ "heartbeat", VECTOR_MSG, make_heartbeat, NFS4R_PROTOCOL_FIRST },
	{ "heartbeat_joining", VECTOR_MSG, make_heartbeat_joining, NFS4R_PROTOCOL_FIRST },
	{ "grant", VECTOR_MSG, make_grant, NFS4R_PROTOCOL_FIRST },
	{ "prepare", VECTOR_MSG, make_prepare, NFS4R_PROTOCOL_FIRST },
	{ "promise", VECTOR_MSG, make_promise, NFS4R_PROTOCOL_FIRST },
	{ "accept", VECTOR_MSG, make_accept, NFS4R_PROTOCOL_FIRST },
	{ "accepted", VECTOR_MSG, make_accepted, NFS4R_PROTOCOL_FIRST },
	{ "view", VECTOR_MSG, make_view, NFS4R_PROTOCOL_FIRST },
	{ "join", VECTOR_MSG, make_join, NFS4R_PROTOCOL_FIRST },
	{ "joinrows", VECTOR_MSG, make_joinrows, NFS4R_PROTOCOL_FIRST },
	{ "joinrows_none", VECTOR_MSG, make_joinrows_none, NFS4R_PROTOCOL_FIRST },
	{ "joined", VECTOR_MSG, make_joined, NFS4R_PROTOCOL_FIRST },
	{ "space", VECTOR_MSG, make_space, NFS4R_PROTOCOL_FIRST },
	{ "space_unknown", VECTOR_MSG, make_space_unknown, NFS4R_PROTOCOL_FIRST },
	{ "halted", VECTOR_MSG, make_halted, NFS4R_PROTOCOL_FIRST },
	{ "identities", VECTOR_MSG, make_identities, NFS4R_PROTOCOL_FIRST },
	{ "10/heartbeat_known", VECTOR_MSG, make_heartbeat_known, NFS4R_PROTOCOL_LOCKS },
	{ "10/ack_gap", VECTOR_MSG, make_ack_gap, NFS4R_PROTOCOL_LOCKS },
	{ "10/forward_lock", VECTOR_MSG, make_forward_lock, NFS4R_PROTOCOL_LOCKS },
	{ "10/forward_unwait", VECTOR_MSG, make_forward_unwait, NFS4R_PROTOCOL_LOCKS },
	{ "10/forward_write", VECTOR_MSG, make_forward_write, NFS4R_PROTOCOL_LOCKS },
	{ "10/forward_answer", VECTOR_MSG, make_forward_answer, NFS4R_PROTOCOL_LOCKS },
	{ "10/forward_answer_lock", VECTOR_MSG, make_forward_answer_lock, NFS4R_PROTOCOL_LOCKS },
	{ "10/forward_answer_granted", VECTOR_MSG, make_forward_answer_granted, NFS4R_PROTOCOL_LOCKS },
	{ "10/forward_answer_unwait", VECTOR_MSG, make_forward_answer_unwait, NFS4R_PROTOCOL_LOCKS },
	{ "10/read_clients", VECTOR_MSG, make_read_clients, NFS4R_PROTOCOL_LOCKS },
	{ "10/read_answer_clients", VECTOR_MSG, make_read_answer_clients, NFS4R_PROTOCOL_LOCKS },
	{ "10/read_answer_locks", VECTOR_MSG, make_read_answer_locks, NFS4R_PROTOCOL_LOCKS },
	{ "10/entries_locks", VECTOR_MSG, make_entries_locks, NFS4R_PROTOCOL_LOCKS },
	{ "10/lock_ready", VECTOR_MSG, make_lock_ready, NFS4R_PROTOCOL_LOCKS },
	{ "10/requeue", VECTOR_MSG, make_requeue, NFS4R_PROTOCOL_LOCKS },
	{ "10/locks_of", VECTOR_MSG, make_locks_of, NFS4R_PROTOCOL_LOCKS },
	{ "10/locks_list", VECTOR_MSG, make_locks_list, NFS4R_PROTOCOL_LOCKS },
	{ "10/gap_over", VECTOR_MSG, make_gap_over, NFS4R_PROTOCOL_LOCKS },
	{ "10/joinrows_gap", VECTOR_MSG, make_joinrows_gap, NFS4R_PROTOCOL_LOCKS },
	{ "10/forward_share", VECTOR_MSG, make_forward_share, NFS4R_PROTOCOL_LOCKS },
	{ "10/forward_answer_share", VECTOR_MSG, make_forward_answer_share, NFS4R_PROTOCOL_LOCKS },
	{ "10/guard", VECTOR_MSG, make_guard, NFS4R_PROTOCOL_LOCKS },
	{ "10/guard_answer", VECTOR_MSG, make_guard_answer, NFS4R_PROTOCOL_LOCKS },
	{ "10/unguard", VECTOR_MSG, make_unguard, NFS4R_PROTOCOL_LOCKS },
	{ "10/journal_locks", VECTOR_JOURNAL, make_journal_locks, 0 },
	{ "10/journal_client", VECTOR_JOURNAL, make_journal_client, 0 },
	{ "journal_symlink", VECTOR_JOURNAL, make_journal_symlink, 0 },
	{ "journal_write", VECTOR_JOURNAL, make_journal_write, 0 },
	{ "hello", VECTOR_TRANSPORT, make_hello, 0 },
	{ "refused", VECTOR_TRANSPORT, make_refused, 0 },
	{ "keepalive", VECTOR_TRANSPORT, make_keepalive, 0 },
	{ "token", VECTOR_TRANSPORT, make_token, 0 },
	{ "number", VECTOR_TRANSPORT, make_number, 0 },
	{ "taken", VECTOR_TRANSPORT, make_taken, 0 },
	{ "padding", VECTOR_TRANSPORT, make_padding, 0 },
	{ "keys", VECTOR_TRANSPORT, make_keys, 0 },
};
const unsigned vector_count = sizeof(vectors) / sizeof(vectors[0]);
