/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Statuses, types, credentials and attributes, between Ganesha's and the engine's. Nothing here can
 * fail or block; what has no counterpart becomes an I/O error (status) or is left out (attributes).
 */
#include "base/fnv.h"
#include "repl.h"

#define NS_PER_S INT64_C(1000000000)

static const struct {
	enum nfs4r_status st;
	fsal_errors_t err;
} statuses[] = {
	/* first match counts, both ways */
	{ NFS4R_OK, ERR_FSAL_NO_ERROR },
	{ NFS4R_PERM, ERR_FSAL_PERM },
	{ NFS4R_NOENT, ERR_FSAL_NOENT },
	{ NFS4R_IO, ERR_FSAL_IO },
	{ NFS4R_NXIO, ERR_FSAL_NXIO },
	{ NFS4R_ACCES, ERR_FSAL_ACCESS },
	{ NFS4R_EXIST, ERR_FSAL_EXIST },
	{ NFS4R_XDEV, ERR_FSAL_XDEV },
	{ NFS4R_NOTDIR, ERR_FSAL_NOTDIR },
	{ NFS4R_ISDIR, ERR_FSAL_ISDIR },
	{ NFS4R_INVAL, ERR_FSAL_INVAL },
	{ NFS4R_FBIG, ERR_FSAL_FBIG },
	{ NFS4R_NOSPC, ERR_FSAL_NOSPC },
	{ NFS4R_ROFS, ERR_FSAL_ROFS },
	{ NFS4R_MLINK, ERR_FSAL_MLINK },
	{ NFS4R_NAMETOOLONG, ERR_FSAL_NAMETOOLONG },
	{ NFS4R_NOTEMPTY, ERR_FSAL_NOTEMPTY },
	{ NFS4R_DQUOT, ERR_FSAL_DQUOT },
	{ NFS4R_STALE, ERR_FSAL_STALE },
	{ NFS4R_NOXATTR, ERR_FSAL_NOXATTR },
	{ NFS4R_XATTR2BIG, ERR_FSAL_XATTR2BIG },
	{ NFS4R_NOTSUPP, ERR_FSAL_NOTSUPP },
	{ NFS4R_SYMLINK, ERR_FSAL_SYMLINK },
	{ NFS4R_BADTYPE, ERR_FSAL_BADTYPE },
	{ NFS4R_DELAY, ERR_FSAL_DELAY },
	/* what the engine may say of its own, seen by a client */
	{ NFS4R_NOT_PRIMARY, ERR_FSAL_DELAY },
	{ NFS4R_UNKNOWN, ERR_FSAL_DELAY },
	{ NFS4R_ORPHAN, ERR_FSAL_STALE },
	{ NFS4R_NOMEM, ERR_FSAL_DELAY },
	{ NFS4R_TOOBIG, ERR_FSAL_INVAL },
	{ NFS4R_SHUTDOWN, ERR_FSAL_DELAY },
	/* what the sub-FSAL may say */
	{ NFS4R_STALE, ERR_FSAL_FHEXPIRED },
	{ NFS4R_STALE, ERR_FSAL_BADHANDLE },
	{ NFS4R_NOENT, ERR_FSAL_NO_DATA },
	{ NFS4R_DELAY, ERR_FSAL_LOCKED },
	{ NFS4R_DELAY, ERR_FSAL_SHARE_DENIED },
	{ NFS4R_SHARE_DENIED, ERR_FSAL_SHARE_DENIED }, /* of the volume */
	{ NFS4R_DELAY, ERR_FSAL_FILE_OPEN },
	{ NFS4R_NOTSUPP, ERR_FSAL_ATTRNOTSUPP },
	{ NFS4R_NOTSUPP, ERR_FSAL_UNION_NOTSUPP },
	{ NFS4R_INVAL, ERR_FSAL_BAD_RANGE },
	{ NFS4R_INVAL, ERR_FSAL_BADNAME },
	{ NFS4R_XDEV, ERR_FSAL_CROSS_JUNCTION },
};

fsal_status_t repl_fsal_status(enum nfs4r_status st)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(statuses); i++)
		if (statuses[i].st == st)
			return fsalstat(statuses[i].err, nfs4r_status_to_errno(st));
	return fsalstat(ERR_FSAL_IO, EIO);
}

enum nfs4r_status repl_status(fsal_status_t st)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(statuses); i++)
		if (statuses[i].err == st.major)
			return statuses[i].st;
	return NFS4R_IO;
}

bool repl_own_words(enum nfs4r_status st, fsal_status_t own)
{
	return st != NFS4R_OK && FSAL_IS_ERROR(own) && (st != NFS4R_DELAY || repl_status(own) == NFS4R_DELAY);
}

static const struct {
	uint32_t type;
	object_file_type_t fsal;
} types[] = {
	{ NFS4R_TYPE_FILE, REGULAR_FILE },
	{ NFS4R_TYPE_DIR, DIRECTORY },
	{ NFS4R_TYPE_SYMLINK, SYMBOLIC_LINK },
	{ NFS4R_TYPE_FIFO, FIFO_FILE },
	{ NFS4R_TYPE_SOCKET, SOCKET_FILE },
	{ NFS4R_TYPE_CHR, CHARACTER_FILE },
	{ NFS4R_TYPE_BLK, BLOCK_FILE },
};

object_file_type_t repl_fsal_type(uint32_t type)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		if (types[i].type == type)
			return types[i].fsal;
	return NO_FILE_TYPE;
}

uint32_t repl_type(object_file_type_t type)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		if (types[i].fsal == type)
			return types[i].type;
	return 0;
}

/* Once a minute, whoever they are. */
static void say_too_many(const struct user_cred *c)
{
	static time_t next;
	time_t now = time(NULL), due = __atomic_load_n(&next, __ATOMIC_RELAXED);

	if (now < due || !__atomic_compare_exchange_n(&next, &due, now + 60, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	LogWarn(COMPONENT_FSAL, "user %u is in %u supplementary groups: updates of users with more than %d are refused (EACCES); remove the user from some groups", c->caller_uid,
		c->caller_glen, NFS4R_GROUPS_MAX);
}

void repl_cred(struct nfs4r_cred *out)
{
	const struct user_cred *c = &op_ctx->creds;
	uint32_t *groups;

	out->uid = c->caller_uid;
	out->gid = c->caller_gid;
	out->ngroups = c->caller_glen;
	out->groups = NULL;
	if (c->caller_glen == 0)
		return;
	if (c->caller_glen > NFS4R_GROUPS_MAX) {
		say_too_many(c);
		return;
	}
	groups = nfs4r_cred_set_groups(out, c->caller_glen);
	if (groups == NULL) {
		out->ngroups = UINT32_MAX; /* fewer groups may be more rights */
		return;
	}
	memcpy(groups, c->caller_garray, c->caller_glen * sizeof(*groups));
}

/* NFSv4.1 names its clients; before, only some operations do, but the address always stands for one. */
static uint64_t client_id(void)
{
	uint64_t h;

	if (op_ctx->client == NULL)
		return op_ctx->clientid != NULL ? *op_ctx->clientid : 0;
	h = nfs4r_fnv(NFS4R_FNV_BEGIN, op_ctx->client->hostaddr_str, strlen(op_ctx->client->hostaddr_str));
	if (op_ctx->nfs_minorvers > 0 && op_ctx->clientid != NULL)
		h ^= *op_ctx->clientid;
	return h != 0 ? h : 1;
}

struct nfs4r_op *repl_op_new(uint32_t type)
{
	struct nfs4r_op *op = gsh_calloc(1, sizeof(*op));

	op->type = type;
	repl_cred(&op->cred);
	op->client = client_id();
	return op;
}

void repl_op_free(struct nfs4r_op *op)
{
	nfs4r_op_fini(op);
	gsh_free(op);
}

/* What 64 bits of nanoseconds cannot say, before 1677 or after 2262, becomes the first or the last that they can. */
static int64_t to_ns(struct timespec t)
{
	int64_t ns;

	if (__builtin_mul_overflow(t.tv_sec, NS_PER_S, &ns) || __builtin_add_overflow(ns, t.tv_nsec, &ns))
		return t.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

struct timespec repl_timespec(int64_t ns)
{
	struct timespec t = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };

	if (t.tv_nsec < 0) { /* before 1970 */
		t.tv_sec--;
		t.tv_nsec += NS_PER_S;
	}
	return t;
}

/* Members that mean the same in a request and in a report. */
static void copy_common(struct nfs4r_attrs *out, const struct fsal_attrlist *in)
{
	static const struct {
		attrmask_t fsal;
		uint32_t mask;
	} bits[] = {
		{ ATTR_MODE, NFS4R_ATTR_MODE },
		{ ATTR_OWNER, NFS4R_ATTR_UID },
		{ ATTR_GROUP, NFS4R_ATTR_GID },
		{ ATTR_SIZE, NFS4R_ATTR_SIZE },
		{ ATTR_ATIME, NFS4R_ATTR_ATIME },
		{ ATTR_MTIME, NFS4R_ATTR_MTIME },
		{ ATTR_RAWDEV, NFS4R_ATTR_RDEV },
	};
	size_t i;

	memset(out, 0, sizeof(*out));
	for (i = 0; i < ARRAY_SIZE(bits); i++)
		if (FSAL_TEST_MASK(in->valid_mask, bits[i].fsal))
			out->mask |= bits[i].mask;
	out->mode = in->mode & 07777;
	out->uid = in->owner;
	out->gid = in->group;
	out->size = in->filesize;
	out->atime = to_ns(in->atime);
	out->mtime = to_ns(in->mtime);
	out->rdev_major = in->rawdev.major;
	out->rdev_minor = in->rawdev.minor;
	if (FSAL_TEST_MASK(in->valid_mask, ATTR_ACL) && in->acl != NULL) {
		out->acl = repl_acl_encode(in->acl);
		if (out->acl != NULL)
			out->mask |= NFS4R_ATTR_ACL;
	}
}

fsal_status_t repl_attrs_from_request(struct nfs4r_attrs *out, const struct fsal_attrlist *in)
{
	copy_common(out, in);
	if (FSAL_TEST_MASK(in->valid_mask, ATTR_ACL) && in->acl != NULL && out->acl == NULL)
		return repl_acl_fits(in->acl) ? fsalstat(ERR_FSAL_DELAY, ENOMEM) : fsalstat(ERR_FSAL_FBIG, EFBIG);
	if (FSAL_TEST_MASK(in->valid_mask, ATTR_ATIME_SERVER)) {
		out->mask &= ~NFS4R_ATTR_ATIME;
		out->mask |= NFS4R_ATTR_ATIME_NOW;
	}
	if (FSAL_TEST_MASK(in->valid_mask, ATTR_MTIME_SERVER)) {
		out->mask &= ~NFS4R_ATTR_MTIME;
		out->mask |= NFS4R_ATTR_MTIME_NOW;
	}
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

void repl_attrs_from_sub(struct nfs4r_attrs *out, const struct fsal_attrlist *in)
{
	copy_common(out, in);
	out->type = repl_type(in->type);
	out->nlink = in->numlinks;
	out->space = in->spaceused;
	out->ctime = to_ns(in->ctime);
	out->mask |= NFS4R_ATTR_TYPE | NFS4R_ATTR_NLINK | NFS4R_ATTR_SPACE | NFS4R_ATTR_CTIME;
}

static const struct {
	uint32_t mask;
	attrmask_t fsal;
} to_fsal[] = {
	{ NFS4R_ATTR_MODE, ATTR_MODE },
	{ NFS4R_ATTR_UID, ATTR_OWNER },
	{ NFS4R_ATTR_GID, ATTR_GROUP },
	{ NFS4R_ATTR_SIZE, ATTR_SIZE },
	{ NFS4R_ATTR_ATIME, ATTR_ATIME },
	{ NFS4R_ATTR_MTIME, ATTR_MTIME },
	{ NFS4R_ATTR_ATIME_NOW, ATTR_ATIME_SERVER },
	{ NFS4R_ATTR_MTIME_NOW, ATTR_MTIME_SERVER },
	{ NFS4R_ATTR_RDEV, ATTR_RAWDEV },
	{ NFS4R_ATTR_CTIME, ATTR_CTIME },
	{ NFS4R_ATTR_NLINK, ATTR_NUMLINKS },
	{ NFS4R_ATTR_SPACE, ATTR_SPACEUSED },
	{ NFS4R_ATTR_VERSION, ATTR_CHANGE },
	{ NFS4R_ATTR_TYPE, ATTR_TYPE },
};

/* Everything of @in but the ACL, into an attribute list that keeps its request mask. */
static void copy_to_fsal(struct fsal_attrlist *out, const struct nfs4r_attrs *in)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(to_fsal); i++)
		if (in->mask & to_fsal[i].mask)
			out->valid_mask |= to_fsal[i].fsal;
	out->type = repl_fsal_type(in->type);
	out->mode = in->mode;
	out->owner = in->uid;
	out->group = in->gid;
	out->filesize = in->size;
	out->spaceused = in->space;
	out->numlinks = in->nlink;
	out->atime = repl_timespec(in->atime);
	out->mtime = repl_timespec(in->mtime);
	out->ctime = repl_timespec(in->ctime);
	out->rawdev.major = in->rdev_major;
	out->rawdev.minor = in->rdev_minor;
	out->change = in->version;
}

static void copy_acl(struct fsal_attrlist *out, const struct nfs4r_attrs *in)
{
	if ((in->mask & NFS4R_ATTR_ACL) == 0 || in->acl == NULL)
		return;
	out->acl = repl_acl_decode(in->acl);
	if (out->acl != NULL)
		out->valid_mask |= ATTR_ACL;
}

void repl_attrs_to_request(struct fsal_attrlist *out, const struct nfs4r_attrs *in)
{
	fsal_prepare_attrs(out, 0);
	copy_to_fsal(out, in);
	out->valid_mask &= ~(ATTR_CTIME | ATTR_NUMLINKS | ATTR_SPACEUSED | ATTR_CHANGE | ATTR_TYPE);
	copy_acl(out, in);
}

static void put_identity(struct repl_export *exp, const struct nfs4r_oid *oid, struct fsal_attrlist *out)
{
	out->fileid = nfs4r_oid_fileid(oid);
	out->fsid = exp->fsid;
	out->valid_mask |= ATTR_FILEID | ATTR_FSID;
	out->valid_mask &= ~(ATTR_RDATTR_ERR | ATTR4_FS_LOCATIONS);
	out->supported = ATTRS_POSIX | ATTR_ACL;
}

void repl_attrs_to_fsal(struct repl_export *exp, const struct nfs4r_oid *oid, const struct nfs4r_attrs *in,
			struct fsal_attrlist *out)
{
	out->valid_mask = 0;
	copy_to_fsal(out, in);
	if (!(in->mask & NFS4R_ATTR_SPACE)) { /* local to each server; a good guess serves */
		out->spaceused = in->size;
		out->valid_mask |= ATTR_SPACEUSED;
	}
	out->valid_mask |= ATTR_RAWDEV;
	if (FSAL_TEST_MASK(out->request_mask, ATTR_ACL))
		copy_acl(out, in);
	put_identity(exp, oid, out);
}

void repl_attrs_overlay(struct repl_export *exp, const struct nfs4r_oid *oid, const struct nfs4r_attrs *in,
			struct fsal_attrlist *out)
{
	if (in->mask & NFS4R_ATTR_VERSION)
		out->change = in->version;
	/* The root of a new volume has no times of the volume's before its first update. */
	if ((in->mask & NFS4R_ATTR_CTIME) && in->ctime != 0)
		out->ctime = repl_timespec(in->ctime);
	if (in->mask & NFS4R_ATTR_MTIME)
		out->mtime = repl_timespec(in->mtime);
	if (in->mask & NFS4R_ATTR_NLINK)
		out->numlinks = in->nlink;
	put_identity(exp, oid, out);
}
