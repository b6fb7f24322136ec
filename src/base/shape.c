/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The table of shapes, and what it cannot say in a table: which part names the object of another, and which numbers are too large.
 *
 * Failure: none. Whoever asks decides; a decoder refuses the message and the connection it came by.
 *
 * Invariants: an entry that passes is applied without a look at whether a part, a name, a text or a parent is there. core/ops/entry_build.c and core/recovery/fuzzy.c
 * make no other entries (tests/sim checks each), and the engine takes no operation of a client that would (nfs4r_op_fits).
 */
#include <stdlib.h>

#include "base/shape.h"
#include "base/xattr.h"

#define MAJOR_MAX 0xfffu
#define MINOR_MAX 0xfffffu
#define COOKIE_MIN 3u
#define PIECE_WORDS_MIN 3u /* of a promise: version, size, bytes of a piece */
#define PIECE_WORDS_MAX 1026u
#define OIDS_BYTES (NFS4R_SERVERS_MAX * 24u)

/* Those that an entry says of an object; the others are a server's own, or a client's wish. */
#define ENTRY_ATTRS                                                                                                                                      \
	(NFS4R_ATTR_MODE | NFS4R_ATTR_UID | NFS4R_ATTR_GID | NFS4R_ATTR_SIZE | NFS4R_ATTR_ATIME | NFS4R_ATTR_MTIME | NFS4R_ATTR_RDEV | NFS4R_ATTR_TYPE | \
	 NFS4R_ATTR_ACL)
#define REQUEST_ATTRS (ENTRY_ATTRS | NFS4R_ATTR_ATIME_NOW | NFS4R_ATTR_MTIME_NOW)

static const struct pattern {
	uint32_t op;
	uint32_t effects[NFS4R_PARTS_MAX];
} patterns[] = {
	{ NFS4R_OP_CREATE, { NFS4R_EFF_CREATE, NFS4R_EFF_NAMES } },
	{ NFS4R_OP_MKDIR, { NFS4R_EFF_CREATE, NFS4R_EFF_NAMES } },
	{ NFS4R_OP_SYMLINK, { NFS4R_EFF_CREATE, NFS4R_EFF_NAMES } },
	{ NFS4R_OP_MKNOD, { NFS4R_EFF_CREATE, NFS4R_EFF_NAMES } },
	{ NFS4R_OP_ADOPT, { NFS4R_EFF_CREATE, NFS4R_EFF_NAMES } },
	{ NFS4R_OP_LINK, { NFS4R_EFF_NAMES, NFS4R_EFF_LINKS } },
	{ NFS4R_OP_REMOVE, { NFS4R_EFF_NAMES, NFS4R_EFF_LINKS } },
	{ NFS4R_OP_RENAME, { NFS4R_EFF_NAMES, NFS4R_EFF_PARENT } },
	{ NFS4R_OP_RENAME, { NFS4R_EFF_NAMES, NFS4R_EFF_PARENT, NFS4R_EFF_LINKS } },
	{ NFS4R_OP_RENAME, { NFS4R_EFF_NAMES, NFS4R_EFF_NAMES, NFS4R_EFF_PARENT } },
	{ NFS4R_OP_RENAME, { NFS4R_EFF_NAMES, NFS4R_EFF_NAMES, NFS4R_EFF_PARENT, NFS4R_EFF_LINKS } },
	{ NFS4R_OP_SETATTR, { NFS4R_EFF_ATTRS } },
	{ NFS4R_OP_WRITE, { NFS4R_EFF_WRITE } },
	{ NFS4R_OP_ALLOCATE, { NFS4R_EFF_ALLOC } },
	{ NFS4R_OP_DEALLOCATE, { NFS4R_EFF_ALLOC } },
	{ NFS4R_OP_SETXATTR, { NFS4R_EFF_XATTR } },
	{ NFS4R_OP_REMOVEXATTR, { NFS4R_EFF_XATTR } },
	{ NFS4R_OP_LOCK, { NFS4R_EFF_LOCKS } },
	{ NFS4R_OP_CLIENT, { NFS4R_EFF_CLIENT } },
};

#define NPATTERNS (sizeof(patterns) / sizeof(patterns[0]))

/* ---- numbers ---------------------------------------------------------------------------------- */

static bool is_extent(uint64_t off, uint64_t len)
{
	return off <= INT64_MAX && len <= INT64_MAX - off;
}

static bool is_cookie(uint64_t cookie)
{
	return cookie >= COOKIE_MIN && cookie <= INT64_MAX;
}

static bool is_device(const struct nfs4r_attrs *a)
{
	return !(a->mask & NFS4R_ATTR_RDEV) || (a->rdev_major <= MAJOR_MAX && a->rdev_minor <= MINOR_MAX);
}

static bool is_size(const struct nfs4r_attrs *a)
{
	return !(a->mask & NFS4R_ATTR_SIZE) || a->size <= INT64_MAX;
}

static const char *attrs_shape(const struct nfs4r_attrs *a, uint32_t allowed)
{
	if (a->mask & ~allowed)
		return "it sets an attribute that cannot be set";
	if (!is_size(a))
		return "its size is too large";
	if (!is_device(a))
		return "its device number is too large";
	if (a->acl && !(a->mask & NFS4R_ATTR_ACL))
		return "it carries an ACL that it does not set";
	return NULL;
}

/* Has @op this type of object to make? */
static bool is_made_by(uint32_t op, uint32_t type)
{
	switch (op) {
	case NFS4R_OP_CREATE:
		return type == NFS4R_TYPE_FILE;
	case NFS4R_OP_MKDIR:
		return type == NFS4R_TYPE_DIR;
	case NFS4R_OP_SYMLINK:
		return type == NFS4R_TYPE_SYMLINK;
	case NFS4R_OP_MKNOD:
		return type >= NFS4R_TYPE_FIFO && type <= NFS4R_TYPE_BLK;
	default:
		return op == NFS4R_OP_ADOPT && type >= NFS4R_TYPE_FILE && type <= NFS4R_TYPE_BLK;
	}
}

static bool makes(uint32_t op)
{
	return (op >= NFS4R_OP_CREATE && op <= NFS4R_OP_MKNOD) || op == NFS4R_OP_ADOPT;
}

/* ---- which parts -------------------------------------------------------------------------------- */

static uint32_t count(const struct pattern *p, bool existed)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < NFS4R_PARTS_MAX && p->effects[i]; i++)
		n += !existed || p->effects[i] != NFS4R_EFF_CREATE;
	return n;
}

static bool is_void(const struct nfs4r_entry *e)
{
	for (uint32_t i = 0; i < e->nparts; i++)
		if (e->parts[i].effect != NFS4R_EFF_NONE)
			return false;
	return e->nparts > 0;
}

static bool is_pattern(const struct nfs4r_entry *e, const struct pattern *p)
{
	if (p->op != e->op || count(p, false) != e->nparts)
		return false;
	for (uint32_t i = 0; i < e->nparts; i++)
		if (e->parts[i].effect != p->effects[i])
			return false;
	return true;
}

static bool has_parts(const struct nfs4r_entry *e, bool nothing)
{
	for (size_t i = 0; i < NPATTERNS; i++)
		if (nothing ? patterns[i].op == e->op && count(&patterns[i], true) == e->nparts : is_pattern(e, &patterns[i]))
			return true;
	return false;
}

/* ---- each operation ----------------------------------------------------------------------------- */

/* Of a directory: its @n-th change is a name that is given, or taken. */
static bool gives(const struct nfs4r_part *dir, uint32_t n, const struct nfs4r_oid *oid)
{
	return n < dir->nnames && nfs4r_oid_eq(&dir->names[n].oid, oid) && is_cookie(dir->names[n].cookie);
}

static bool takes(const struct nfs4r_part *dir, uint32_t n)
{
	return n < dir->nnames && nfs4r_oid_is_zero(&dir->names[n].oid) && dir->names[n].cookie <= INT64_MAX;
}

static const char *create_shape(const struct nfs4r_entry *e)
{
	const struct nfs4r_part *p = &e->parts[0], *dir = &e->parts[1];

	if (p->before != 0)
		return "a new object has an old version";
	if (!is_made_by(e->op, p->attrs.type) || !(p->attrs.mask & NFS4R_ATTR_TYPE))
		return "the object's type is not the operation's";
	if ((p->attrs.type == NFS4R_TYPE_SYMLINK) != (p->linktext != NULL && *p->linktext))
		return "a symbolic link has no target, or another object has one";
	if (dir->nnames != 1 || !gives(dir, 0, &p->oid) || dir->names[0].type != p->attrs.type)
		return "the directory does not add the new object's name";
	if (!nfs4r_oid_eq(&p->parent, &dir->oid))
		return "the parent is not the directory";
	return attrs_shape(&p->attrs, ENTRY_ATTRS);
}

static const char *link_shape(const struct nfs4r_entry *e)
{
	const struct nfs4r_part *dir = &e->parts[0], *p = &e->parts[1];

	if (dir->nnames != 1 || !gives(dir, 0, &p->oid) || dir->names[0].type == NFS4R_TYPE_DIR)
		return "the directory does not add the object's name";
	if (!p->parent_gained || !nfs4r_oid_eq(&p->parent, &dir->oid))
		return "the object does not gain the directory";
	return p->nlink ? NULL : "the object has no name afterwards";
}

static const char *lost_shape(const struct nfs4r_part *p, const struct nfs4r_part *dir)
{
	return p->parent_gained || !nfs4r_oid_eq(&p->parent, &dir->oid) ? "the object does not lose the directory" : NULL;
}

static const char *remove_shape(const struct nfs4r_entry *e)
{
	const struct nfs4r_part *dir = &e->parts[0];

	return dir->nnames != 1 || !takes(dir, 0) ? "the directory does not remove exactly one name" : lost_shape(&e->parts[1], dir);
}

static const char *rename_shape(const struct nfs4r_entry *e)
{
	bool cross = e->parts[1].effect == NFS4R_EFF_NAMES;
	const struct nfs4r_part *from = &e->parts[0], *to = cross ? &e->parts[1] : from, *p = &e->parts[cross ? 2 : 1];
	uint32_t n = cross ? 3 : 2;

	if (from->nnames != (cross ? 1 : 2) || to->nnames != from->nnames || !takes(from, 0) || !gives(to, cross ? 0 : 1, &p->oid))
		return "the directories do not remove one name and add one";
	if (!nfs4r_oid_eq(&p->parent_from, &from->oid) || !nfs4r_oid_eq(&p->parent, &to->oid))
		return "the parents are not the directories";
	return e->nparts > n ? lost_shape(&e->parts[n], to) : NULL;
}

static const char *xattr_shape(const struct nfs4r_entry *e)
{
	const struct nfs4r_part *p = &e->parts[0];

	if (!p->xname || !nfs4r_xattr_is_carried(p->xname))
		return "the attribute's name is not allowed";
	return p->xremove != (e->op == NFS4R_OP_REMOVEXATTR) ? "the attribute is set by a removal, or removed by a setting" : NULL;
}

/* By owner, and of one owner as in the list. */
static int by_owner(const void *a, const void *b, void *list)
{
	const struct nfs4r_file_lock *locks = list;
	uint16_t i = *(const uint16_t *)a, j = *(const uint16_t *)b;
	int d = memcmp(&locks[i].lock.owner, &locks[j].lock.owner, sizeof(locks[i].lock.owner));

	return d ? d : (i > j) - (i < j);
}

const char *nfs4r_shape_of_locks(const struct nfs4r_file_lock *locks, uint32_t n)
{
	uint16_t at[NFS4R_LOCKS_LIST_MAX];

	if (n > NFS4R_LOCKS_LIST_MAX)
		return "there are too many locks";
	for (uint32_t i = 0; i < n; i++) {
		const struct nfs4r_lock *l = &locks[i].lock;

		at[i] = (uint16_t)i;
		if ((l->type != NFS4R_LOCK_READ && l->type != NFS4R_LOCK_WRITE) || l->start > l->last || !locks[i].holder || locks[i].holder > NFS4R_SERVERS_MAX)
			return "a lock has no type, no range or no server";
		if (i && l->start < locks[i - 1].lock.start)
			return "the locks are not in order";
	}
	if (n)
		qsort_r(at, n, sizeof(at[0]), by_owner, (void *)(uintptr_t)locks);
	for (uint32_t i = 1; i < n; i++) {
		const struct nfs4r_lock *l = &locks[at[i]].lock, *before = &locks[at[i - 1]].lock;

		if (memcmp(&l->owner, &before->owner, sizeof(l->owner)) == 0 && l->start <= before->last)
			return "two locks of one owner overlap";
	}
	return NULL;
}

static const char *client_shape(const struct nfs4r_entry *e)
{
	const struct nfs4r_part *p = &e->parts[0];
	struct nfs4r_oid list = nfs4r_client_list_oid(e->log), other = nfs4r_client_list_oid(nfs4r_oid_creator(&p->oid));
	bool all = p->client_word == NFS4R_CLIENTS_ENDED;

	if (!p->client || !(p->client->id[0] || p->client->id[1]) != all)
		return "no client";
	if (all)
		return nfs4r_oid_creator(&p->oid) && nfs4r_oid_eq(&p->oid, &other) ? NULL : "no server's list of clients";
	return nfs4r_oid_eq(&p->oid, &list) ? NULL : "the client is of another server than the log";
}

static const char *file_shape(const struct nfs4r_entry *e)
{
	const struct nfs4r_part *p = &e->parts[0];

	switch (p->effect) {
	case NFS4R_EFF_ATTRS:
		return attrs_shape(&p->attrs, ENTRY_ATTRS);
	case NFS4R_EFF_WRITE:
		return is_extent(p->off, p->len) && p->len <= NFS4R_IO_MAX ? NULL : "the offset or length of the bytes is too large";
	case NFS4R_EFF_ALLOC:
		if (!is_extent(p->off, p->len) || p->len == 0)
			return "the offset or length of the space is too large, or the length is 0";
		return p->punch != (e->op == NFS4R_OP_DEALLOCATE) ? "the operation and the entry differ in space and hole" : NULL;
	case NFS4R_EFF_LOCKS:
		return nfs4r_shape_of_locks(p->locks, p->nlocks);
	case NFS4R_EFF_CLIENT:
		return client_shape(e);
	default:
		return xattr_shape(e);
	}
}

static const char *op_shape(const struct nfs4r_entry *e)
{
	switch (e->op) {
	case NFS4R_OP_LINK:
		return link_shape(e);
	case NFS4R_OP_REMOVE:
		return remove_shape(e);
	case NFS4R_OP_RENAME:
		return rename_shape(e);
	default:
		return makes(e->op) ? create_shape(e) : file_shape(e);
	}
}

/* ---- the whole entry ------------------------------------------------------------------------------ */

static const char *parts_shape(const struct nfs4r_entry *e)
{
	for (uint32_t i = 0; i < e->nparts; i++) {
		const struct nfs4r_part *p = &e->parts[i];

		if (nfs4r_oid_is_zero(&p->oid))
			return "a part names no object";
		if (p->before >= p->after)
			return "a version does not increase";
		for (uint32_t j = 0; j < i; j++)
			if (nfs4r_oid_eq(&p->oid, &e->parts[j].oid))
				return "two parts name the same object";
	}
	return NULL;
}

static const char *joined_shape(const struct nfs4r_entry *e)
{
	const struct nfs4r_joined *j = &e->joined;
	const struct nfs4r_part *moved = &e->parts[e->nparts > 1 && e->parts[1].effect == NFS4R_EFF_NAMES ? 2 : 1];
	bool made = makes(e->op);

	if (j->pid.server == 0)
		return NULL;
	if (j->pid.server != e->log)
		return "its claim belongs to another server";
	if (!made && e->op != NFS4R_OP_RENAME)
		return "it carries a claim that its operation does not allow";
	if (j->kind != (made ? NFS4R_CREATED : NFS4R_MOVED) || !nfs4r_oid_eq(&j->control.oid, made ? &e->parts[0].oid : &moved->oid))
		return "its claim does not name the created or moved object";
	return j->control.depth == NFS4R_SHALLOW || j->control.depth == NFS4R_DEEP ? NULL : "its claim is not shallow";
}

static const char *payload_shape(const struct nfs4r_entry *e, bool nothing)
{
	bool bytes = !nothing && (e->op == NFS4R_OP_WRITE || e->op == NFS4R_OP_SETXATTR);
	uint64_t max = e->op == NFS4R_OP_WRITE ? e->parts[0].len : NFS4R_XATTR_VALUE_MAX;

	if (e->has_payload != bytes || (e->payload && !bytes))
		return bytes ? "its bytes are missing" : "it has bytes";
	if (e->payload && e->payload->len > max)
		return "it has more bytes than it declares";
	return (e->fuzzy_log == 0) != (e->fuzzy_lsn == 0) ? "its fuzzy mark has no log, or no number" : NULL;
}

static const char *rest_shape(const struct nfs4r_entry *e, bool nothing)
{
	bool answers = e->request.origin || !nfs4r_oid_is_zero(&e->result);

	if (nothing && (answers || e->joined.pid.server || e->handle_len))
		return "it changed nothing but has a result";
	if (!nfs4r_oid_is_zero(&e->result) && (!makes(e->op) || !nfs4r_oid_eq(&e->result, &e->parts[0].oid)))
		return "its result is not the created object";
	if (e->handle_len && e->parts[0].effect != NFS4R_EFF_CREATE)
		return "a local handle without a new object";
	for (uint32_t i = 0; i <= NFS4R_SERVERS_MAX; i++)
		if (e->after[i] && (e->op != NFS4R_OP_RENAME || i == 0))
			return "it depends on other logs, which its operation does not allow";
	return NULL;
}

const char *nfs4r_shape_of_entry(const struct nfs4r_entry *e)
{
	bool nothing = is_void(e);
	const char *why = NULL;

	if (e->log < 1 || e->log > NFS4R_SERVERS_MAX || !(e->lsn & (((nfs4r_lsn)1 << NFS4R_GEN_SHIFT) - 1)))
		return "it has no position in a log";
	if (!has_parts(e, nothing))
		return "its parts are not those of its operation";
	why = parts_shape(e);
	if (!why && !nothing)
		why = op_shape(e);
	if (!why)
		why = payload_shape(e, nothing);
	if (!why)
		why = rest_shape(e, nothing);
	return why ? why : joined_shape(e);
}

/* ---- operations ------------------------------------------------------------------------------------ */

static bool is_forwarded(uint32_t type)
{
	return (type >= NFS4R_OP_CREATE && type <= NFS4R_OP_REMOVEXATTR) || nfs4r_op_at_authority(type);
}

/* Only MKNOD has to say it. */
static bool has_type(const struct nfs4r_op *op)
{
	return !makes(op->type) || is_made_by(op->type, op->attrs.type) || (op->type < NFS4R_OP_MKNOD && op->attrs.type == 0);
}

enum nfs4r_status nfs4r_op_fits(const struct nfs4r_op *op)
{
	bool space = op->type == NFS4R_OP_ALLOCATE || op->type == NFS4R_OP_DEALLOCATE;
	uint64_t len = op->data ? op->data->len : op->length;

	if (op->cred.ngroups > NFS4R_GROUPS_MAX && op->type != NFS4R_OP_CLOSE)
		return NFS4R_ACCES; /* at every server alike, or who controls the object would decide what he may (control 6.10) */
	if (((space || op->type == NFS4R_OP_WRITE) && !is_extent(op->offset, len)) || !is_size(&op->attrs))
		return NFS4R_FBIG;
	if (op->type == NFS4R_OP_WRITE && len > NFS4R_IO_MAX)
		return NFS4R_FBIG;
	if (!op->data && !op->here_only && (op->type == NFS4R_OP_WRITE || op->type == NFS4R_OP_SETXATTR))
		return NFS4R_INVAL;
	if ((space && len == 0) || !is_device(&op->attrs) || (op->type == NFS4R_OP_SYMLINK && (!op->text || !*op->text)))
		return NFS4R_INVAL;
	return has_type(op) ? NFS4R_OK : NFS4R_BADTYPE;
}

static const char *objects_shape(const struct nfs4r_op *op)
{
	bool dir = nfs4r_op_is_dirop(op->type), obj = !dir || op->type == NFS4R_OP_LINK;

	if (dir && (nfs4r_oid_is_zero(&op->dir) || !op->name.len))
		return "the directory or the name is missing";
	if (obj && nfs4r_oid_is_zero(&op->obj))
		return "no object";
	if (op->type == NFS4R_OP_RENAME && (nfs4r_oid_is_zero(&op->dir2) || !op->name2.len))
		return "the target directory or name is missing";
	return NULL;
}

const char *nfs4r_shape_of_request(const struct nfs4r_op *op)
{
	bool bytes = op->type == NFS4R_OP_WRITE || op->type == NFS4R_OP_SETXATTR, sets = makes(op->type) || op->type == NFS4R_OP_SETATTR;
	bool names = op->type == NFS4R_OP_SETXATTR || op->type == NFS4R_OP_REMOVEXATTR;
	const char *why;

	if (!is_forwarded(op->type))
		return "the operation cannot be forwarded";
	if (bytes != (op->data != NULL))
		return bytes ? "its bytes are missing" : "it has bytes";
	if ((names || op->type == NFS4R_OP_SYMLINK) != (op->text != NULL && *op->text))
		return "a text is missing, or unexpected";
	if (names && !nfs4r_xattr_is_carried(op->text))
		return "the attribute's name is not allowed";
	if (!has_type(op))
		return "the object's type is not the operation's";
	why = objects_shape(op);
	if (!why)
		why = attrs_shape(&op->attrs, sets ? REQUEST_ATTRS : 0);
	if (!why && nfs4r_op_fits(op) != NFS4R_OK)
		why = "a number is too large, or the operation changes nothing";
	return why;
}

const char *nfs4r_shape_of_result(const struct nfs4r_op *op)
{
	if (!is_forwarded(op->type))
		return "the operation cannot be forwarded";
	if (op->status == NFS4R_OK && makes(op->type) && (nfs4r_oid_is_zero(&op->result) || !is_made_by(op->type, op->result_type)))
		return "the created object is missing or has another type";
	return op->lsn && !op->primary ? "the entry names no log" : NULL;
}

const char *nfs4r_shape_of_result_to(const struct nfs4r_op *asked, const struct nfs4r_op *answer)
{
	if (answer->type != asked->type)
		return "the answer belongs to another operation";
	if (answer->status == NFS4R_OK && asked->type == NFS4R_OP_MKNOD && answer->result_type != asked->attrs.type)
		return "the created object has another type than requested";
	return NULL;
}

/* ---- reads ----------------------------------------------------------------------------------------- */

static const char *dirents_shape(const struct nfs4r_read *r, bool named)
{
	for (uint32_t i = 0; i < r->ndirents; i++) {
		const struct nfs4r_dirent *d = &r->dirents[i];

		if (nfs4r_oid_is_zero(&d->oid) || (named ? !is_cookie(d->cookie) : d->cookie == 0))
			return "a name leads to no object";
		if (i && (named ? d->cookie <= d[-1].cookie : memcmp(d->oid.b, d[-1].oid.b, sizeof(d->oid.b)) <= 0))
			return "the names are not in order";
	}
	return r->ndirents || r->eof ? NULL : "there are no names, but not the end of the directory";
}

/* Each ended by a NUL, none empty; @lead: bytes before each. */
static bool are_names(const struct nfs4r_buf *b, uint32_t lead)
{
	for (uint32_t at = 0; at < b->len;) {
		uint32_t n = (uint32_t)strnlen((const char *)b->data + at, b->len - at);

		if (n <= lead || at + n == b->len)
			return false;
		at += n + 1;
	}
	return true;
}

static const char *data_shape(const struct nfs4r_read *r)
{
	uint32_t len = r->data->len;

	switch (r->type) {
	case NFS4R_RD_READ:
		if (!r->verifier)
			return NULL;
		if (len % 8 || len / 8 < PIECE_WORDS_MIN || len / 8 > PIECE_WORDS_MAX)
			return "the pieces cannot be decoded";
		return r->result_offset && r->result_offset <= NFS4R_IO_MAX ? NULL : "the promise covers no bytes, or too many";
	case NFS4R_RD_READLINK:
		return len && len <= NFS4R_PATH_MAX && !memchr(r->data->data, '\0', len) ? NULL : "the target of the symbolic link is invalid";
	case NFS4R_RD_GETXATTR:
		return len <= NFS4R_XATTR_VALUE_MAX ? NULL : "the value of the attribute is too long";
	case NFS4R_RD_OIDS:
		return len == OIDS_BYTES ? NULL : "the positions cannot be decoded";
	default:
		return len <= NFS4R_XATTR_VALUE_MAX && are_names(r->data, 0) ? NULL : "the names of attributes cannot be decoded";
	}
}

static const char *ok_shape(const struct nfs4r_read *r)
{
	bool bytes = r->type == NFS4R_RD_READ || r->type == NFS4R_RD_READLINK || r->type == NFS4R_RD_GETXATTR || r->type == NFS4R_RD_LISTXATTR ||
		r->type == NFS4R_RD_OIDS;
	bool typed = r->type == NFS4R_RD_GETATTR || r->type == NFS4R_RD_LOOKUP;
	const char *why = NULL;

	if (bytes != (r->data != NULL))
		return bytes ? "its bytes are missing" : "it has bytes";
	if (typed && !(r->attrs.mask & NFS4R_ATTR_TYPE))
		return "the object's type is missing";
	if ((r->type == NFS4R_RD_LOOKUP || r->type == NFS4R_RD_LOOKUPP) && nfs4r_oid_is_zero(&r->result))
		return "no object";
	if (r->type == NFS4R_RD_SEEK && r->result_offset > INT64_MAX)
		return "the offset is too large";
	if (r->type == NFS4R_RD_READDIR || r->type == NFS4R_RD_OIDS)
		why = dirents_shape(r, r->type == NFS4R_RD_READDIR);
	else if (r->ndirents)
		why = "it has names";
	return why || !bytes ? why : data_shape(r);
}

const char *nfs4r_shape_of_answer(const struct nfs4r_read *r)
{
	if (r->status != NFS4R_OK)
		return r->data || r->ndirents || r->nlocks || r->nclients ? "a failure carries bytes, names, locks or clients" : NULL;
	if (r->nlocks && (r->type != NFS4R_RD_GETATTR || r->row.type != NFS4R_TYPE_FILE))
		return "locks without the row of their file";
	if (r->nclients && r->type != NFS4R_RD_CLIENTS)
		return "it has clients";
	if (!is_size(&r->attrs))
		return "its size is too large";
	return ok_shape(r);
}

const char *nfs4r_shape_of_answer_to(const struct nfs4r_read *asked, const struct nfs4r_read *r)
{
	if (r->type != asked->type)
		return "the answer belongs to another request";
	if (r->status != NFS4R_OK)
		return NULL;
	if (r->type == NFS4R_RD_READ && (r->verifier ? r->result_offset : r->data->len) > asked->length)
		return "there are more bytes than requested";
	if (r->type == NFS4R_RD_READ && r->verifier && !asked->cookie)
		return "a promise was not requested";
	if (r->type == NFS4R_RD_READDIR && r->ndirents && r->dirents[0].cookie <= asked->cookie)
		return "the names start before the cookie";
	if (r->type == NFS4R_RD_OIDS && r->ndirents && memcmp(r->dirents[0].oid.b, asked->oid.b, sizeof(asked->oid.b)) <= 0)
		return "the objects start before the requested one";
	if (r->row.version == 0 && asked->copy && (r->type == NFS4R_RD_GETATTR || r->type == NFS4R_RD_READDIR || r->type == NFS4R_RD_LISTXATTR))
		return "its row is missing";
	for (uint32_t i = 0; i < r->nclients; i++)
		if (r->clients[i].server != asked->offset)
			return "a client is of another server than was asked for";
	return NULL;
}

const char *nfs4r_shape_of_odd_names(const struct nfs4r_buf *names)
{
	static const char leads[] = "+-!";

	if (!names)
		return NULL;
	if (!are_names(names, 1))
		return "the names cannot be decoded";
	for (uint32_t at = 0; at < names->len; at += (uint32_t)strlen((const char *)names->data + at) + 1)
		if (!strchr(leads, names->data[at]))
			return "the names cannot be decoded";
	return NULL;
}
