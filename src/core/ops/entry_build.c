/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Building the entry of an operation that holds its locks (control 5.1, log 3.1): LSN, versions,
 * names, parents, the claim that comes with it. Attributes, times and cookies are the executor's.
 *
 * Versions build on the last one given out, not the last one committed: several writes of one
 * file may be under way at once. A void entry keeps its versions, with no effect, for the same
 * reason.
 */
#include "core/ops/ops_int.h"

static struct nfs4r_part *part(struct nfs4r_core *c, struct nfs4r_entry *e, const struct nfs4r_oid *oid, uint32_t effect)
{
	struct nfs4r_part *p = &e->parts[e->nparts++];
	struct nfs4r_facts f;

	assert(e->nparts <= NFS4R_PARTS_MAX);
	p->oid = *oid;
	p->effect = effect;
	if (effect != NFS4R_EFF_CREATE && !log_last_assigned(c, oid, &p->before)) {
		control_is_known(c, oid, &f);
		p->before = f.version;
	}
	p->after = state_next_version(c, p->before);
	return p;
}

static void names(struct nfs4r_part *p, uint32_t n)
{
	bool ok = nfs4r_part_names(p, n);

	assert(ok);
}

static void set_name(struct nfs4r_name_change *nc, const struct nfs4r_name *name, const struct nfs4r_oid *oid, uint32_t type)
{
	nc->name = *name;
	if (oid)
		nc->oid = *oid;
	nc->type = type;
}

static char *copy_text(const char *s)
{
	size_t n = s ? strlen(s) + 1 : 1;
	char *t = out_xcalloc(1, n);

	if (s)
		memcpy(t, s, n);
	return t;
}

static void copy_attrs(struct nfs4r_attrs *to, const struct nfs4r_attrs *from)
{
	*to = *from;
	to->acl = nfs4r_buf_get(from->acl);
}

static void join(struct nfs4r_core *c, struct nfs4r_entry *e, const struct nfs4r_oid *oid, uint32_t type, uint32_t kind)
{
	e->joined.pid = (struct nfs4r_pid){ c->self, control_seq_next(c) };
	e->joined.control = (struct nfs4r_control){ *oid, type == NFS4R_TYPE_DIR ? NFS4R_DEEP : NFS4R_SHALLOW };
	e->joined.kind = kind;
}

static void make_create(struct nfs4r_core *c, struct opx *o, struct nfs4r_entry *e)
{
	struct nfs4r_op *op = o->op;
	struct nfs4r_part *p;
	struct nfs4r_oid oid;
	uint32_t type;

	c->tree.oid_watermark(c->tree.ctx, &oid);
	switch (op->type) {
	case NFS4R_OP_CREATE:
		type = NFS4R_TYPE_FILE;
		break;
	case NFS4R_OP_MKDIR:
		type = NFS4R_TYPE_DIR;
		break;
	case NFS4R_OP_SYMLINK:
		type = NFS4R_TYPE_SYMLINK;
		break;
	default:
		type = op->attrs.type ? op->attrs.type : NFS4R_TYPE_FILE;
	}
	p = part(c, e, &oid, NFS4R_EFF_CREATE);
	copy_attrs(&p->attrs, &op->attrs);
	p->attrs.type = type;
	p->attrs.mask |= NFS4R_ATTR_TYPE;
	p->parent = op->dir;
	if (type == NFS4R_TYPE_SYMLINK)
		p->linktext = copy_text(op->text);
	p = part(c, e, &op->dir, NFS4R_EFF_NAMES);
	names(p, 1);
	set_name(&p->names[0], &op->name, &oid, type);
	e->result = op->result = oid;
	op->result_type = type;
	if (!FAULT(F_NO_CREATED_CLAIM))
		join(c, e, &oid, type, NFS4R_CREATED);
}

static void links(struct nfs4r_core *c, struct nfs4r_entry *e, const struct nfs4r_oid *oid, const struct nfs4r_oid *dir,
		  bool gained)
{
	struct nfs4r_part *p = part(c, e, oid, NFS4R_EFF_LINKS);
	struct nfs4r_facts f;

	control_is_known(c, oid, &f);
	p->parent = *dir;
	p->parent_gained = gained;
	p->multi = f.multi || gained; /* sticky (section 0) */
	if (gained)
		p->nlink = f.nlink + 1;
	else
		p->nlink = f.type == NFS4R_TYPE_DIR || f.nlink == 0 ? 0 : f.nlink - 1;
}

/* control 3.3: does this server own an explicit, acting, not closing control of @oid, deep for a directory? */
static bool has_explicit(struct nfs4r_core *c, const struct nfs4r_oid *oid, uint32_t type)
{
	struct ctl *k;

	for (k = control_of(c, oid); k; k = k->next)
		if (k->claim->own && own_may_close(k->claim->own) &&
		    (type != NFS4R_TYPE_DIR || k->depth >= NFS4R_DEEP))
			return true;
	return false;
}

static void make_rename(struct nfs4r_core *c, struct opx *o, const struct needs *nd, struct nfs4r_entry *e)
{
	bool cross = !nfs4r_oid_eq(&o->op->dir, &o->op->dir2);
	struct nfs4r_part *p;

	p = part(c, e, &o->op->dir, NFS4R_EFF_NAMES);
	names(p, cross ? 1 : 2);
	set_name(&p->names[0], &o->op->name, NULL, nd->obj_type);
	if (cross) {
		p = part(c, e, &o->op->dir2, NFS4R_EFF_NAMES);
		names(p, 1);
	}
	set_name(&p->names[cross ? 0 : 1], &o->op->name2, &nd->obj, nd->obj_type);
	p = part(c, e, &nd->obj, NFS4R_EFF_PARENT);
	p->parent_from = o->op->dir;
	p->parent = o->op->dir2;
	if (nd->has_target)
		links(c, e, &nd->target, &o->op->dir2, false);
	if (cross && !has_explicit(c, &nd->obj, nd->obj_type) && !FAULT(F_NO_MOVED_CLAIM) &&
	    !(FAULT(F_MOVED_OUT_BARE) && c->control.own_deep_plus))
		join(c, e, &nd->obj, nd->obj_type, NFS4R_MOVED);
}

static void make_object(struct nfs4r_core *c, struct opx *o, struct nfs4r_entry *e)
{
	struct nfs4r_op *op = o->op;
	struct nfs4r_part *p;

	switch (op->type) {
	case NFS4R_OP_SETATTR:
		p = part(c, e, &op->obj, NFS4R_EFF_ATTRS);
		copy_attrs(&p->attrs, &op->attrs);
		break;
	case NFS4R_OP_WRITE:
		p = part(c, e, &op->obj, NFS4R_EFF_WRITE);
		p->off = op->offset;
		p->len = op->data ? op->data->len : op->length;
		e->has_payload = true;
		e->payload = nfs4r_buf_get(op->data);
		break;
	case NFS4R_OP_ALLOCATE:
	case NFS4R_OP_DEALLOCATE:
		p = part(c, e, &op->obj, NFS4R_EFF_ALLOC);
		p->off = op->offset;
		p->len = op->length;
		p->punch = op->type == NFS4R_OP_DEALLOCATE;
		break;
	default:
		p = part(c, e, &op->obj, NFS4R_EFF_XATTR);
		p->xname = copy_text(op->text);
		p->xremove = op->type == NFS4R_OP_REMOVEXATTR;
		if (!p->xremove) {
			e->has_payload = true;
			e->payload = nfs4r_buf_get(op->data);
		}
	}
}

static void change_info(struct nfs4r_op *op, const struct nfs4r_entry *e)
{
	for (uint32_t i = 0; i < e->nparts; i++) {
		const struct nfs4r_part *p = &e->parts[i];

		if (p->effect == NFS4R_EFF_NAMES && nfs4r_oid_eq(&p->oid, &op->dir)) {
			op->dir_before = p->before;
			op->dir_after = p->after;
		}
		if (p->effect == NFS4R_EFF_NAMES && op->type == NFS4R_OP_RENAME && nfs4r_oid_eq(&p->oid, &op->dir2)) {
			op->dir2_before = p->before;
			op->dir2_after = p->after;
		}
	}
}

struct nfs4r_entry *ops_entry_make(struct nfs4r_core *c, struct opx *o, const struct needs *nd)
{
	struct nfs4r_entry *e = nfs4r_entry_new();
	struct nfs4r_op *op = o->op;
	struct nfs4r_part *p;

	assert(e);
	e->log = c->self;
	e->lsn = log_lsn_next(c);
	e->view = c->view.adopted.num ? c->view.adopted.num : 1;
	e->op = op->type;
	if (op->id.origin) {
		e->request = op->id;
		e->answered_below = o->remote ? op->answered_below : ops_answered_below(c);
	}
	switch (op->type) {
	case NFS4R_OP_LINK:
		p = part(c, e, &op->dir, NFS4R_EFF_NAMES);
		names(p, 1);
		set_name(&p->names[0], &op->name, &op->obj, nd->obj_type);
		links(c, e, &op->obj, &op->dir, true);
		break;
	case NFS4R_OP_REMOVE:
		p = part(c, e, &op->dir, NFS4R_EFF_NAMES);
		names(p, 1);
		set_name(&p->names[0], &op->name, NULL, nd->obj_type);
		links(c, e, &nd->obj, &op->dir, false);
		break;
	case NFS4R_OP_RENAME:
		make_rename(c, o, nd, e);
		break;
	default:
		if (nfs4r_op_is_file_update(op->type))
			make_object(c, o, e);
		else
			make_create(c, o, e);
	}
	if (nd->dirmove)
		EACH_OTHER_LOG(c, s)
			e->after[s] = c->log.logs[s].applied;
	change_info(op, e);
	op->lsn = e->lsn;
	op->primary = c->self;
	return e;
}

/* The request that this came from may be tried again: the entry is not its answer. */
void ops_entry_unanswered(struct nfs4r_entry *e)
{
	memset(&e->request, 0, sizeof(e->request));
	memset(&e->result, 0, sizeof(e->result));
}

/*
 * The update failed and changed nothing: what existed keeps its new version without an effect, an
 * object that was to be created never was, and the request may be tried again (log 4.2, 5.6).
 */
void ops_entry_void(struct nfs4r_entry *e)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < e->nparts; i++) {
		struct nfs4r_part *p = &e->parts[i];
		struct nfs4r_part keep = { .oid = p->oid, .before = p->before, .after = p->after, .effect = NFS4R_EFF_NONE };
		bool created = p->effect == NFS4R_EFF_CREATE;

		free(p->names);
		free(p->linktext);
		free(p->xname);
		nfs4r_buf_put(p->attrs.acl);
		memset(p, 0, sizeof(*p));
		if (!created)
			e->parts[n++] = keep;
	}
	for (uint32_t i = n; i < e->nparts; i++)
		memset(&e->parts[i], 0, sizeof(e->parts[i]));
	e->nparts = n;
	nfs4r_buf_put(e->payload);
	e->payload = NULL;
	e->has_payload = false;
	ops_entry_unanswered(e);
	memset(&e->joined, 0, sizeof(e->joined));
	e->handle_len = 0;
}
