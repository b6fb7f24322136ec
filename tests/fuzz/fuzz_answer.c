/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Bytes from a peer that are said to be a message, and what FSAL_REPL makes of the answers among them. The decoders, the shapes and the named files of FSAL_REPL
 * are the shipped ones; in place of the engine stands a peer that answers with the input.
 *
 * Input: a byte (enum call), another one for what the call leaves open (of a message: odd for protocol 10), then messages: two bytes of length and the bytes, one for each question that FSAL_REPL asks. For
 * the first three calls all that is left is one message.
 */
#include "fuzz/fuzz.h"
#include "repl.h"
#include "base/shape.h"
#include "base/xattr.h"
#include "xdr_hello.h"
#include "xdr_map.h"

enum call {
	MESSAGE,
	JOURNAL,
	TRANSPORT,
	LOOKUP,
	PARENT,
	READDIR,
	READLINK,
	GETXATTR,
	LISTXATTR,
	READ,
	MKDIR,
	SYMLINK,
	RENAME,
	SETXATTR,
	CALLS
};

__thread struct req_op_context *op_ctx;
struct repl_module repl_module;
static struct req_op_context context;
static struct repl_export export;
static struct fuzz_in *in;

/* ---- the peer ---- */

/* The next message of the input; NULL: it is none, and the connection would end. */
static struct nfs4r_msg *next_message(void)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m));
	const char *why = NULL;
	size_t len;
	uint8_t *bytes = fuzz_bytes(in, fuzz_u16(in), &len);
	enum nfs4r_status st = nfs4r_msg_decode(bytes, len, NFS4R_PROTOCOL_VERSION, m, &why);

	free(bytes);
	if (st == NFS4R_OK)
		return m;
	FUZZ_CHECK(why && why[0]);
	free(m);
	return NULL;
}

/* As read_router_answer(). */
static enum nfs4r_status ask(struct nfs4r_read *rd)
{
	struct nfs4r_msg *m = next_message();
	struct nfs4r_read *a;

	rd->status = NFS4R_DELAY;
	if (!m)
		return rd->status;
	a = m->type == NFS4R_MSG_READ_ANSWER ? m->read : NULL;
	if (a && !nfs4r_shape_of_answer_to(rd, a)) {
		uint64_t id = rd->id;
		struct nfs4r_read asked = *rd;

		*rd = *a;
		*a = (struct nfs4r_read){ .type = a->type };
		rd->id = id;
		rd->type = asked.type;
		rd->oid = asked.oid;
		rd->offset = asked.offset;
		rd->length = asked.length;
		rd->cookie = asked.cookie;
		memcpy(rd->name, asked.name, sizeof(rd->name));
	}
	nfs4r_msg_fini(m);
	free(m);
	return rd->status;
}

enum nfs4r_status repl_read_any(struct repl_export *exp, struct nfs4r_read *rd)
{
	return ask(rd);
}

enum nfs4r_status repl_read(struct repl_export *exp, struct nfs4r_read *rd, bool *local)
{
	*local = false;
	return ask(rd);
}

void repl_read_async(struct repl_export *exp, struct nfs4r_read *rd, nfs4r_read_done_fn done, void *arg)
{
	ask(rd);
	done(arg, rd, false);
}

/* As the core's forward_on_answer(). */
enum nfs4r_status repl_update(struct repl_export *exp, struct nfs4r_op *op, nfs4r_exec_fn exec, void *arg)
{
	struct nfs4r_msg *m = next_message();
	struct nfs4r_op *a = m && m->type == NFS4R_MSG_FORWARD_ANSWER ? m->op : NULL;
	enum nfs4r_status st = NFS4R_DELAY;

	if (a && !nfs4r_shape_of_result_to(op, a)) {
		st = op->status = a->status;
		op->result = a->result;
		op->result_type = a->result_type;
		op->dir_before = a->dir_before;
		op->dir_after = a->dir_after;
		op->dir2_before = a->dir2_before;
		op->dir2_after = a->dir2_after;
		op->lsn = a->lsn;
		op->primary = a->primary;
	}
	if (m)
		nfs4r_msg_fini(m);
	free(m);
	return st;
}

/* ---- the rest of the module ---- */

void never_called(void);
void never_called(void)
{
	FUZZ_CHECK(!"nothing of the local file system is asked");
}

/* All is asked elsewhere, and nobody else waits. */
bool repl_may_wait(struct repl_export *exp, const struct nfs4r_oid *oid)
{
	return true;
}

bool repl_is_read_elsewhere(struct repl_export *exp, const struct nfs4r_oid *oid)
{
	return true;
}

void repl_wait_begin(struct repl_export *exp)
{
}

void repl_wait_end(struct repl_export *exp)
{
}

enum repl_lost repl_obj_lost(struct repl_export *exp, struct repl_obj *obj, enum nfs4r_status st)
{
	return REPL_PLAIN;
}

fsal_status_t repl_obj_status(enum repl_lost lost, enum nfs4r_status st)
{
	return repl_fsal_status(st);
}

struct repl_obj *repl_obj_new(struct repl_export *exp, const struct nfs4r_oid *oid, object_file_type_t type, struct fsal_obj_handle *sub)
{
	struct repl_obj *obj = gsh_calloc(1, sizeof(*obj));

	FUZZ_CHECK(type != NO_FILE_TYPE && !nfs4r_oid_is_zero(oid));
	obj->oid = *oid;
	obj->handle.type = type;
	return obj;
}

void repl_obj_release(struct fsal_obj_handle *h)
{
	gsh_free(repl_obj(h));
}

fsal_status_t repl_fill_attrs(struct repl_export *exp, struct repl_obj *obj, const struct nfs4r_attrs *attrs, struct fsal_attrlist *out)
{
	if (out && attrs)
		repl_attrs_to_fsal(exp, &obj->oid, attrs, out);
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

void repl_compound_remember(const struct repl_export *exp, const struct nfs4r_oid *oid, const struct nfs4r_attrs *attrs, bool local)
{
}

void repl_compound_remember_taken(const struct repl_export *exp, const struct nfs4r_oid *dir, const char *name)
{
	FUZZ_CHECK(strlen(name) <= NFS4R_NAME_MAX);
}

void repl_compound_forget(void)
{
}

void repl_read_nothing_ahead(void)
{
}

bool repl_read_nothing(void)
{
	return false;
}

bool repl_is_gone(struct repl_export *exp, const struct nfs4r_oid *oid)
{
	return false;
}

enum nfs4r_known repl_row(struct repl_export *exp, const struct nfs4r_oid *oid, struct nfs4r_row *row)
{
	return NFS4R_NOT_YET;
}

void repl_change_info(nfs4r_version before, nfs4r_version after, struct fsal_attrlist *pre, struct fsal_attrlist *post)
{
}

/* ---- Ganesha ---- */

log_levels_t *component_log_level = (log_levels_t[COMPONENT_COUNT]){ 0 };
pthread_mutexattr_t default_mutex_attr;

void DisplayLogComponentLevel(log_components_t component, const char *file, int line, const char *function, log_levels_t level, const char *format, ...)
{
}

/* Walks the names as Ganesha's own does. */
fsal_status_t fsal_listxattr_helper(const char *buf, size_t len, uint32_t max, nfs_cookie4 *cookie, bool_t *eof, xattrlist4 *names)
{
	for (const char *name = buf; name < buf + len; name += strnlen(name, (size_t)(buf + len - name)) + 1)
		FUZZ_CHECK(strnlen(name, (size_t)(buf + len - name)) >= NFS4R_XATTR_USER_LEN);
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

fsal_acl_t *nfs4_acl_new_entry(fsal_acl_data_t *data, fsal_acl_status_t *st)
{
	fsal_acl_t *acl = gsh_calloc(1, sizeof(*acl));

	acl->naces = data->naces;
	acl->aces = data->aces;
	return acl;
}

fsal_ace_t *nfs4_ace_alloc(int naces)
{
	return gsh_calloc((size_t)naces + 1, sizeof(fsal_ace_t));
}

void nfs4_acl_release_entry(fsal_acl_t *acl)
{
	gsh_free(acl->aces);
	gsh_free(acl);
}

void nfs4_fs_locations_release(fsal_fs_locations_t *locations)
{
}

static fsal_status_t allowed(struct fsal_obj_handle *h, fsal_accessflags_t type, fsal_accessflags_t *yes, fsal_accessflags_t *no, bool skip)
{
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

/* Takes the handle, as MDCACHE does. */
static enum fsal_dir_result list_entry(const char *name, struct fsal_obj_handle *h, struct fsal_attrlist *attrs, void *state, fsal_cookie_t cookie)
{
	uint64_t *last = state;
	size_t len = strlen(name);

	FUZZ_CHECK(len > 0 && len <= NFS4R_NAME_MAX && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, ".."));
	FUZZ_CHECK(cookie > *last);
	*last = cookie;
	repl_obj_release(h);
	return DIR_CONTINUE;
}

static void read_over(struct fsal_obj_handle *h, fsal_status_t st, void *arg, void *caller)
{
	struct fsal_io_arg *io = arg;

	*(bool *)caller = true;
	FUZZ_CHECK(FSAL_IS_ERROR(st) || io->io_amount <= io->iov[0].iov_len + io->iov[1].iov_len);
}

/* ---- calls ---- */

static void decode_message(struct fuzz_in *f, uint32_t protocol)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m));
	struct nfs4r_buf *again;
	const char *why = NULL;
	size_t len;
	uint8_t *bytes = fuzz_bytes(f, f->left, &len);

	if (nfs4r_msg_decode(bytes, len, protocol, m, &why) == NFS4R_OK) {
		again = nfs4r_msg_encode(m, protocol);
		FUZZ_CHECK(again && again->len == len && (!len || !memcmp(again->data, bytes, len)));
		nfs4r_buf_put(again);
		nfs4r_msg_fini(m);
	} else {
		FUZZ_CHECK(why && why[0]);
	}
	free(bytes);
	free(m);
}

static void decode_entry(struct fuzz_in *f)
{
	struct nfs4r_entry *e;
	struct nfs4r_buf *again;
	const char *why = NULL;
	size_t len;
	uint8_t *bytes = fuzz_bytes(f, f->left, &len);

	if (nfs4r_entry_decode(bytes, len, false, &e, &why) == NFS4R_OK) {
		again = nfs4r_entry_encode(e, false);
		FUZZ_CHECK(again && again->len == len && (!len || !memcmp(again->data, bytes, len)));
		nfs4r_buf_put(again);
		nfs4r_entry_put(e);
	}
	free(bytes);
}

static void decode_transport(struct fuzz_in *f)
{
	struct nfs4r_transport_msg_body m;
	size_t len;
	uint8_t *bytes = fuzz_bytes(f, f->left, &len);

	if (nfs4r_transport_msg_decode(bytes, len, NFS4R_PROTOCOL_VERSION, &m) == NFS4R_OK)
		nfs4r_transport_msg_fini(&m);
	free(bytes);
}

static void list(struct fsal_obj_handle *dir, bool acl)
{
	uint64_t last = 0;
	bool eof;

	repl_readdir(dir, NULL, &last, list_entry, ATTRS_POSIX | (acl ? ATTR_ACL : 0), &eof);
}

static void read_bytes(struct fsal_obj_handle *h, uint8_t how)
{
	char first[16], *second = malloc(how + 1u);
	struct iovec iov[2] = { { first, sizeof(first) }, { second, how + 1u } };
	struct fsal_io_arg arg = { .iov_count = 2, .iov = iov };
	bool over = false;

	repl_read2(h, false, read_over, &arg, &over);
	FUZZ_CHECK(over);
	free(second);
}

static void xattrs(enum call call, struct fsal_obj_handle *h, uint8_t how)
{
	char name[] = "name", *bytes = malloc(how + 1u);
	xattrkey4 key = { .utf8string_len = 4, .utf8string_val = name };
	xattrvalue4 value = { .utf8string_len = how, .utf8string_val = bytes };
	nfs_cookie4 cookie = 0;
	xattrlist4 names = { 0 };
	bool_t eof;

	memset(bytes, 'v', how + 1u);
	if (call == GETXATTR)
		repl_getxattrs(h, &key, &value);
	else if (call == SETXATTR)
		repl_setxattrs(h, SETXATTR4_EITHER, &key, &value);
	else
		repl_listxattrs(h, 1000, &cookie, &eof, &names);
	free(bytes);
}

static void make(enum call call, struct fsal_obj_handle *dir)
{
	struct fsal_attrlist want, got, pre = { 0 }, post = { 0 };
	struct fsal_obj_handle *out = NULL;

	fsal_prepare_attrs(&want, 0);
	fsal_prepare_attrs(&got, ATTRS_POSIX | ATTR_ACL);
	if (call == MKDIR)
		repl_mkdir(dir, "new", &want, &out, &got, &pre, &post);
	else if (call == SYMLINK)
		repl_symlink(dir, "new", "target", &want, &out, &got, &pre, &post);
	else if (call == RENAME)
		repl_rename(dir, dir, "old", dir, "new", &pre, &post, &pre, &post);
	else
		repl_lookup(dir, call == PARENT ? ".." : "name", &out, &got);
	fsal_release_attrs(&got);
	if (out)
		repl_obj_release(out);
}

static void use(enum call call, uint8_t how)
{
	struct fsal_obj_ops ops = { .test_access = allowed };
	struct repl_obj obj = { .handle = { .obj_ops = &ops, .type = DIRECTORY } };
	struct gsh_buffdesc target = { 0 };

	obj.oid.b[0] = 1;
	context.fsal_export = &export.export;
	op_ctx = &context;
	switch (call) {
	case READDIR:
		list(&obj.handle, how & 1);
		break;
	case READLINK:
		obj.handle.type = SYMBOLIC_LINK;
		if (!FSAL_IS_ERROR(repl_readlink(&obj.handle, &target, false)))
			FUZZ_CHECK(target.len == strlen(target.addr) + 1);
		gsh_free(target.addr);
		break;
	case READ:
		obj.handle.type = REGULAR_FILE;
		read_bytes(&obj.handle, how);
		break;
	case GETXATTR:
	case LISTXATTR:
	case SETXATTR:
		obj.handle.type = REGULAR_FILE;
		xattrs(call, &obj.handle, how);
		break;
	default:
		make(call, &obj.handle);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in f = { data, len };
	enum call call = fuzz_u8(&f) % CALLS;
	uint8_t how = fuzz_u8(&f);

	in = &f;
	switch (call) {
	case MESSAGE:
		decode_message(&f, how & 1 ? NFS4R_PROTOCOL_LOCKS : NFS4R_PROTOCOL_FIRST);
		break;
	case JOURNAL:
		decode_entry(&f);
		break;
	case TRANSPORT:
		decode_transport(&f);
		break;
	default:
		use(call, how);
	}
	return 0;
}
