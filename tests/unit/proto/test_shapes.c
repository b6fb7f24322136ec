/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * "Nothing without its parts, or with others, is decoded": for each operation every sequence of effects, then each member that another part has to agree with, each
 * number that can be too large, and what answers and forwarded operations have or lack. All of it through the decoders, as from a peer and as from the journal.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/unit.h"

#include "base/shape.h"
#include "unit/proto/vectors.h"
#include "xdr_map.h"

#define EFFECTS 9 /* NONE to ALLOC */

static struct nfs4r_oid oid(uint64_t seq)
{
	struct nfs4r_oid o;

	nfs4r_oid_make(&o, 2, 1, seq);
	return o;
}

static void add_name(struct nfs4r_part *p, bool gives, uint64_t to, uint32_t type)
{
	struct nfs4r_name_change *list = calloc(p->nnames + 1, sizeof(*list)), *nc = &list[p->nnames];

	if (p->nnames)
		memcpy(list, p->names, p->nnames * sizeof(*list));
	free(p->names);
	p->names = list;
	p->nnames++;
	nfs4r_name_set(&nc->name, gives ? "new" : "old", 3);
	nc->type = type;
	nc->cookie = 3;
	if (gives)
		nc->oid = oid(to);
}

static uint32_t type_made(uint32_t op)
{
	static const uint32_t types[] = { 0, NFS4R_TYPE_FILE, NFS4R_TYPE_DIR, NFS4R_TYPE_SYMLINK, NFS4R_TYPE_CHR };

	return op <= NFS4R_OP_MKNOD ? types[op] : NFS4R_TYPE_FILE;
}

/* One part of that effect, with all that belongs to it. Part i is of object i + 1. */
static void fill_part(struct nfs4r_entry *e, uint32_t i)
{
	struct nfs4r_part *p = &e->parts[i];

	p->oid = oid(i + 1);
	p->before = p->effect == NFS4R_EFF_CREATE ? 0 : 5;
	p->after = 9;
	switch (p->effect) {
	case NFS4R_EFF_CREATE:
		p->attrs.mask = NFS4R_ATTR_TYPE;
		p->attrs.type = type_made(e->op);
		p->parent = oid(2);
		p->linktext = e->op == NFS4R_OP_SYMLINK ? strdup("text") : NULL;
		break;
	case NFS4R_EFF_WRITE:
	case NFS4R_EFF_ALLOC:
		p->len = 4;
		p->punch = e->op == NFS4R_OP_DEALLOCATE;
		break;
	case NFS4R_EFF_ATTRS:
		p->attrs.mask = NFS4R_ATTR_MODE;
		break;
	case NFS4R_EFF_XATTR:
		p->xname = strdup("user.x");
		p->xremove = e->op == NFS4R_OP_REMOVEXATTR;
		break;
	case NFS4R_EFF_LINKS:
		p->nlink = 2;
		p->parent_gained = e->op == NFS4R_OP_LINK;
		p->parent = oid(e->op == NFS4R_OP_RENAME && e->parts[1].effect == NFS4R_EFF_NAMES ? 2 : 1);
		break;
	case NFS4R_EFF_PARENT:
		p->parent_from = oid(1);
		p->parent = oid(e->parts[1].effect == NFS4R_EFF_NAMES ? 2 : 1);
		break;
	default:
		break;
	}
}

static void fill_names(struct nfs4r_entry *e)
{
	bool cross = e->parts[1].effect == NFS4R_EFF_NAMES;

	for (uint32_t i = 0; i < e->nparts; i++) {
		struct nfs4r_part *p = &e->parts[i];

		if (p->effect != NFS4R_EFF_NAMES)
			continue;
		if (e->op == NFS4R_OP_REMOVE || (e->op == NFS4R_OP_RENAME && i == 0))
			add_name(p, false, 0, NFS4R_TYPE_FILE);
		if (e->op == NFS4R_OP_RENAME && (i == 1 || !cross))
			add_name(p, true, cross ? 3 : 2, NFS4R_TYPE_FILE);
		if (e->op == NFS4R_OP_LINK)
			add_name(p, true, 2, NFS4R_TYPE_FILE);
		if (p->nnames == 0)
			add_name(p, true, 1, type_made(e->op));
	}
}

static struct nfs4r_entry *entry_of(uint32_t op, const uint32_t *effects, uint32_t n)
{
	struct nfs4r_entry *e = nfs4r_entry_new();
	bool nothing = true;

	e->log = 2;
	e->lsn = e->view = 1;
	e->op = op;
	e->nparts = n;
	for (uint32_t i = 0; i < n; i++) {
		e->parts[i].effect = effects[i];
		nothing = nothing && effects[i] == NFS4R_EFF_NONE;
	}
	for (uint32_t i = 0; i < n; i++)
		fill_part(e, i);
	fill_names(e);
	e->has_payload = !nothing && (op == NFS4R_OP_WRITE || op == NFS4R_OP_SETXATTR);
	return e;
}

/* In both forms; both say the same. NULL: it is decoded. */
static const char *refused(const struct nfs4r_entry *e)
{
	const char *why[2] = { NULL, NULL };

	for (int journal = 0; journal < 2; journal++) {
		struct nfs4r_buf *b = nfs4r_entry_encode(e, !journal);
		struct nfs4r_entry *d = NULL;

		assert_non_null(b);
		if (nfs4r_entry_decode(b->data, b->len, !journal, &d, &why[journal]) == NFS4R_OK)
			why[journal] = NULL;
		else
			assert_null(d);
		nfs4r_entry_put(d);
		nfs4r_buf_put(b);
	}
	assert_true((why[0] == NULL) == (why[1] == NULL));
	return why[0];
}

/* ---- parts --------------------------------------------------------------------------------------- */

/* op, then digits that are effects (entry.h), in order; 1 is "no effect". */
static const char *const right[] = {
	"1:26",
	"1:1",
	"2:26",
	"2:1",
	"3:26",
	"3:1",
	"4:26",
	"4:1",
	"15:26",
	"15:1",
	"5:67",
	"5:11",
	"6:67",
	"6:11",
	"7:68",
	"7:687",
	"7:668",
	"7:6687",
	"7:11",
	"7:111",
	"7:1111",
	"8:4",
	"8:1",
	"9:3",
	"9:1",
	"10:9",
	"10:1",
	"11:9",
	"11:1",
	"12:5",
	"12:1",
	"13:5",
	"13:1",
};

static bool is_right(uint32_t op, const uint32_t *effects, uint32_t n)
{
	char text[16];
	int at = snprintf(text, sizeof(text), "%u:", op);

	for (uint32_t i = 0; i < n; i++)
		text[at++] = (char)('0' + effects[i]);
	text[at] = '\0';
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		if (strcmp(right[i], text) == 0)
			return true;
	return false;
}

static void try_parts(uint32_t op, uint32_t *effects, uint32_t n, uint32_t *taken)
{
	struct nfs4r_entry *e = entry_of(op, effects, n);
	const char *why = refused(e);

	if ((why == NULL) != is_right(op, effects, n))
		fail_msg("operation %u with %u parts %u %u %u %u: %s", op, n, effects[0], effects[1], effects[2], effects[3], why ? why : "taken");
	*taken += why == NULL;
	nfs4r_entry_put(e);
	if (n == NFS4R_PARTS_MAX)
		return;
	for (effects[n] = 1; effects[n] <= EFFECTS; effects[n]++)
		try_parts(op, effects, n + 1, taken);
	effects[n] = 0;
}

static void test_parts(void **state)
{
	uint32_t taken = 0;

	for (uint32_t op = NFS4R_OP_CREATE; op <= NFS4R_OP_CLAIM; op++) {
		uint32_t effects[NFS4R_PARTS_MAX] = { 0 };

		try_parts(op, effects, 0, &taken);
	}
	assert_int_equal(taken, sizeof(right) / sizeof(right[0]));
}

/* ---- members ------------------------------------------------------------------------------------- */

static void no_text(struct nfs4r_entry *e)
{
	free(e->parts[0].linktext);
	e->parts[0].linktext = NULL;
}

static void a_text(struct nfs4r_entry *e)
{
	e->parts[0].linktext = strdup("text");
}

static void other_type(struct nfs4r_entry *e)
{
	e->parts[0].attrs.type = e->op == NFS4R_OP_MKDIR ? NFS4R_TYPE_FILE : NFS4R_TYPE_DIR;
}

static void type_unsaid(struct nfs4r_entry *e)
{
	e->parts[0].attrs.mask = 0;
}

static void existed(struct nfs4r_entry *e)
{
	e->parts[0].before = 1;
}

static void stands_still(struct nfs4r_entry *e)
{
	e->parts[e->nparts - 1].after = e->parts[e->nparts - 1].before;
}

static void same_object(struct nfs4r_entry *e)
{
	e->parts[1].oid = e->parts[0].oid;
}

static void no_object(struct nfs4r_entry *e)
{
	memset(&e->parts[0].oid, 0, sizeof(e->parts[0].oid));
}

static void other_parent(struct nfs4r_entry *e)
{
	for (uint32_t i = 0; i < e->nparts; i++)
		e->parts[i].parent = oid(77);
}

static void other_origin(struct nfs4r_entry *e)
{
	e->parts[e->nparts - 1].parent_from = oid(77);
}

static void other_gain(struct nfs4r_entry *e)
{
	struct nfs4r_part *p = &e->parts[e->nparts - 1];

	p->parent_gained = !p->parent_gained;
}

static struct nfs4r_part *names_of(struct nfs4r_entry *e)
{
	for (uint32_t i = 0; i < e->nparts; i++)
		if (e->parts[i].effect == NFS4R_EFF_NAMES)
			return &e->parts[i];
	return NULL;
}

static void no_name(struct nfs4r_entry *e)
{
	names_of(e)->nnames = 0;
}

static void a_name(struct nfs4r_entry *e)
{
	add_name(names_of(e), true, 1, NFS4R_TYPE_FILE);
}

static void other_name(struct nfs4r_entry *e)
{
	struct nfs4r_part *p = names_of(e);

	p->names[p->nnames - 1].oid = oid(nfs4r_oid_is_zero(&p->names[p->nnames - 1].oid) ? 1 : 78);
}

static void other_name_type(struct nfs4r_entry *e)
{
	struct nfs4r_part *p = names_of(e);

	p->names[0].type = NFS4R_TYPE_DIR;
}

static void low_cookie(struct nfs4r_entry *e)
{
	struct nfs4r_part *p = names_of(e);

	p->names[p->nnames - 1].cookie = 2;
}

static void high_cookie(struct nfs4r_entry *e)
{
	names_of(e)->names[0].cookie = (uint64_t)INT64_MAX + 1;
}

static void no_links(struct nfs4r_entry *e)
{
	e->parts[1].nlink = 0;
}

static void far(struct nfs4r_entry *e)
{
	e->parts[0].off = (uint64_t)INT64_MAX - 3;
}

static void wraps(struct nfs4r_entry *e)
{
	e->parts[0].off = UINT64_MAX - 1;
}

static void many(struct nfs4r_entry *e)
{
	e->parts[0].len = (uint64_t)NFS4R_IO_MAX + 1;
}

static void none(struct nfs4r_entry *e)
{
	e->parts[0].len = 0;
}

static void other_punch(struct nfs4r_entry *e)
{
	e->parts[0].punch = !e->parts[0].punch;
}

static void other_removal(struct nfs4r_entry *e)
{
	e->parts[0].xremove = !e->parts[0].xremove;
}

static void own_attribute(struct nfs4r_entry *e)
{
	free(e->parts[0].xname);
	e->parts[0].xname = strdup("trusted.nfs4r.mark");
}

static void large(struct nfs4r_entry *e)
{
	e->parts[0].attrs.mask |= NFS4R_ATTR_SIZE;
	e->parts[0].attrs.size = (uint64_t)INT64_MAX + 1;
}

static void major(struct nfs4r_entry *e)
{
	e->parts[0].attrs.mask |= NFS4R_ATTR_RDEV;
	e->parts[0].attrs.rdev_major = 4096;
}

static void minor(struct nfs4r_entry *e)
{
	e->parts[0].attrs.mask |= NFS4R_ATTR_RDEV;
	e->parts[0].attrs.rdev_minor = 1u << 20;
}

static void links_set(struct nfs4r_entry *e)
{
	e->parts[0].attrs.mask |= NFS4R_ATTR_NLINK;
}

static void now(struct nfs4r_entry *e)
{
	e->parts[0].attrs.mask |= NFS4R_ATTR_MTIME_NOW;
}

static void acl_unsaid(struct nfs4r_entry *e)
{
	e->parts[0].attrs.acl = nfs4r_buf_copy("acl", 3);
}

static void no_bytes(struct nfs4r_entry *e)
{
	e->has_payload = false;
}

static void bytes(struct nfs4r_entry *e)
{
	e->has_payload = true;
}

static void half_a_fuzzy(struct nfs4r_entry *e)
{
	e->fuzzy_lsn = 5;
}

static void a_result(struct nfs4r_entry *e)
{
	e->result = oid(79);
}

static void a_request(struct nfs4r_entry *e)
{
	e->request.origin = 1;
}

static void waits(struct nfs4r_entry *e)
{
	e->after[1] = 1;
}

static void waits_for_nobody(struct nfs4r_entry *e)
{
	e->after[0] = 1;
}

static void claim(struct nfs4r_entry *e, uint32_t kind, uint64_t of)
{
	e->joined.pid = (struct nfs4r_pid){ 2, 1 };
	e->joined.kind = kind;
	e->joined.control = (struct nfs4r_control){ oid(of), NFS4R_SHALLOW };
}

static void claim_made(struct nfs4r_entry *e)
{
	claim(e, NFS4R_CREATED, 1);
}

static void claim_other(struct nfs4r_entry *e)
{
	claim(e, e->op == NFS4R_OP_RENAME ? NFS4R_MOVED : NFS4R_CREATED, 77);
}

static void claim_moved(struct nfs4r_entry *e)
{
	claim(e, NFS4R_MOVED, 1);
}

static void claim_of_another(struct nfs4r_entry *e)
{
	claim_made(e);
	e->joined.pid.server = 3;
}

static void claim_deep(struct nfs4r_entry *e)
{
	claim_made(e);
	e->joined.control.depth = NFS4R_DEEP_PLUS;
}

static void no_number(struct nfs4r_entry *e)
{
	e->lsn = (nfs4r_lsn)2 << NFS4R_GEN_SHIFT;
}

static const struct {
	const char *entry; /* as in right[] */
	const char *what;
	void (*spoil)(struct nfs4r_entry *e);
} wrong[] = {
	{ "3:26", "no text", no_text },
	{ "1:26", "a text", a_text },
	{ "2:26", "a text", a_text },
	{ "1:26", "type", other_type },
	{ "2:26", "type", other_type },
	{ "4:26", "type", other_type },
	{ "1:26", "no type", type_unsaid },
	{ "1:26", "existed", existed },
	{ "1:26", "version", stands_still },
	{ "9:3", "version", stands_still },
	{ "1:1", "version", stands_still },
	{ "1:26", "same object", same_object },
	{ "7:668", "same object", same_object },
	{ "9:3", "no object", no_object },
	{ "8:1", "no object", no_object },
	{ "1:26", "parent", other_parent },
	{ "5:67", "parent", other_parent },
	{ "6:67", "parent", other_parent },
	{ "7:68", "parent", other_parent },
	{ "7:668", "origin", other_origin },
	{ "5:67", "not gained", other_gain },
	{ "6:67", "gained", other_gain },
	{ "7:687", "gained", other_gain },
	{ "1:26", "no name", no_name },
	{ "5:67", "no name", no_name },
	{ "6:67", "no name", no_name },
	{ "7:68", "no name", no_name },
	{ "7:668", "no name", no_name },
	{ "1:26", "a name", a_name },
	{ "5:67", "a name", a_name },
	{ "6:67", "a name", a_name },
	{ "7:668", "a name", a_name },
	{ "1:26", "name of another", other_name },
	{ "5:67", "name of another", other_name },
	{ "6:67", "name given", other_name },
	{ "7:68", "name of another", other_name },
	{ "7:668", "name given", other_name },
	{ "1:26", "type of name", other_name_type },
	{ "5:67", "type of name", other_name_type },
	{ "1:26", "low cookie", low_cookie },
	{ "5:67", "low cookie", low_cookie },
	{ "7:68", "low cookie", low_cookie },
	{ "1:26", "high cookie", high_cookie },
	{ "6:67", "high cookie", high_cookie },
	{ "5:67", "no links", no_links },
	{ "9:3", "far", far },
	{ "9:3", "wraps", wraps },
	{ "9:3", "many", many },
	{ "10:9", "far", far },
	{ "10:9", "wraps", wraps },
	{ "10:9", "none", none },
	{ "11:9", "none", none },
	{ "10:9", "hole", other_punch },
	{ "11:9", "space", other_punch },
	{ "12:5", "removal", other_removal },
	{ "13:5", "setting", other_removal },
	{ "12:5", "own attribute", own_attribute },
	{ "13:5", "own attribute", own_attribute },
	{ "8:4", "size", large },
	{ "1:26", "size", large },
	{ "4:26", "major", major },
	{ "4:26", "minor", minor },
	{ "8:4", "major", major },
	{ "1:26", "links", links_set },
	{ "8:4", "links", links_set },
	{ "8:4", "now", now },
	{ "1:26", "now", now },
	{ "8:4", "ACL", acl_unsaid },
	{ "9:3", "no bytes", no_bytes },
	{ "12:5", "no bytes", no_bytes },
	{ "13:5", "bytes", bytes },
	{ "8:4", "bytes", bytes },
	{ "1:26", "bytes", bytes },
	{ "9:1", "bytes", bytes },
	{ "9:3", "mark", half_a_fuzzy },
	{ "1:26", "result", a_result },
	{ "9:3", "result", a_result },
	{ "1:1", "result", a_result },
	{ "9:1", "request", a_request },
	{ "9:3", "waits", waits },
	{ "7:68", "waits for nobody", waits_for_nobody },
	{ "9:3", "claim", claim_made },
	{ "1:1", "claim", claim_made },
	{ "1:26", "claim of another", claim_other },
	{ "7:668", "claim of another", claim_other },
	{ "1:26", "claim moved", claim_moved },
	{ "1:26", "claim of a server", claim_of_another },
	{ "1:26", "deep claim", claim_deep },
	{ "9:3", "no number", no_number },
};

static struct nfs4r_entry *entry_by(const char *text)
{
	uint32_t op = 0, n = 0, effects[NFS4R_PARTS_MAX];

	for (; *text != ':'; text++)
		op = 10 * op + (uint32_t)(*text - '0');
	for (text++; *text; text++)
		effects[n++] = (uint32_t)(*text - '0');
	return entry_of(op, effects, n);
}

static void test_members(void **state)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct nfs4r_entry *e = entry_by(wrong[i].entry);

		if (refused(e))
			fail_msg("%s as it should be: %s", wrong[i].entry, refused(e));
		wrong[i].spoil(e);
		if (!refused(e))
			fail_msg("%s, %s: taken", wrong[i].entry, wrong[i].what);
		nfs4r_entry_put(e);
	}
}

/* Bytes travel with the entry, or are read back, and are never more than it says. */
static void test_payload(void **state)
{
	static const struct {
		const char *entry;
		uint32_t len;
		bool ok;
	} cases[] = { { "9:3", 4, true }, { "9:3", 3, true }, { "9:3", 5, false }, { "12:5", 65536, true }, { "13:5", 1, false }, { "8:4", 1, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nfs4r_entry *e = entry_by(cases[i].entry), *d;
		struct nfs4r_buf *b;
		const char *why;

		e->payload = nfs4r_buf_new(cases[i].len);
		memset(e->payload->data, 1, cases[i].len);
		b = nfs4r_entry_encode(e, true);
		assert_int_equal(nfs4r_entry_decode(b->data, b->len, true, &d, &why), cases[i].ok ? NFS4R_OK : NFS4R_MALFORMED);
		nfs4r_entry_put(d);
		nfs4r_buf_put(b);
		nfs4r_entry_put(e);
	}
}

/* A handle is the journal's business, and only of what is made. */
static void test_handle(void **state)
{
	struct nfs4r_entry *e = entry_by("1:26");

	e->handle_len = 4;
	assert_null(refused(e));
	nfs4r_entry_put(e);
	e = entry_by("9:3");
	e->handle_len = 4;
	assert_non_null(nfs4r_shape_of_entry(e));
	nfs4r_entry_put(e);
}

/* ---- answers ------------------------------------------------------------------------------------- */

/* Why @m is refused when it comes; NULL: it is taken. */
static const char *msg_refused(const struct nfs4r_msg *m)
{
	struct nfs4r_buf *b = nfs4r_msg_encode(m, NFS4R_PROTOCOL_VERSION);
	struct nfs4r_msg *d = calloc(1, sizeof(*d));
	const char *why = NULL;

	assert_non_null(b);
	if (nfs4r_msg_decode(b->data, b->len, NFS4R_PROTOCOL_VERSION, d, &why) == NFS4R_OK) {
		nfs4r_msg_fini(d);
		why = NULL;
	}
	nfs4r_buf_put(b);
	free(d);
	return why;
}

static const char *answer_refused(struct nfs4r_read *r)
{
	return msg_refused(&(struct nfs4r_msg){ .type = NFS4R_MSG_READ_ANSWER, .read = r });
}

static void set_data(struct nfs4r_read *r, const void *p, uint32_t len)
{
	nfs4r_buf_put(r->data);
	r->data = p ? nfs4r_buf_copy(p, len) : NULL;
}

static void set_names(struct nfs4r_read *r, uint32_t n)
{
	free(r->dirents);
	r->dirents = n ? calloc(n, sizeof(*r->dirents)) : NULL;
	r->ndirents = n;
	for (uint32_t i = 0; i < n; i++) {
		if (r->type != NFS4R_RD_OIDS)
			nfs4r_name_set(&r->dirents[i].name, "name", 4);
		r->dirents[i].oid = oid(10 + i);
		r->dirents[i].type = NFS4R_TYPE_FILE;
		r->dirents[i].cookie = 10 + i;
	}
}

static bool has_data(uint32_t type)
{
	return (type >= NFS4R_RD_READ && type <= NFS4R_RD_LISTXATTR) || type == NFS4R_RD_OIDS;
}

static void good_answer(struct nfs4r_read *r, uint32_t type)
{
	static const char zeroes[NFS4R_SERVERS_MAX * 24];

	*r = (struct nfs4r_read){ .type = type, .result = oid(5) };
	r->attrs.mask = NFS4R_ATTR_TYPE;
	r->attrs.type = NFS4R_TYPE_FILE;
	r->eof = true;
	if (has_data(type))
		set_data(r, type == NFS4R_RD_OIDS ? zeroes : "name", type == NFS4R_RD_OIDS ? sizeof(zeroes) : type == NFS4R_RD_LISTXATTR ? 5 :
																	   4);
	if (type == NFS4R_RD_READDIR || type == NFS4R_RD_OIDS)
		set_names(r, 2);
}

static void test_answers(void **state)
{
	struct nfs4r_read r;

	for (uint32_t type = NFS4R_RD_GETATTR; type <= NFS4R_RD_OIDS; type++) {
		good_answer(&r, type);
		if (answer_refused(&r))
			fail_msg("read %u as it should be: %s", type, answer_refused(&r));
		r.status = NFS4R_DELAY;
		assert_true((answer_refused(&r) != NULL) == (has_data(type) || r.ndirents));
		set_names(&r, 0);
		assert_true((answer_refused(&r) != NULL) == has_data(type));
		set_data(&r, has_data(type) ? NULL : "name", 4);
		assert_true((answer_refused(&r) != NULL) == !has_data(type)); /* a failure without, or with */
		r.status = NFS4R_OK;
		if (!answer_refused(&r))
			fail_msg("read %u with bytes that do not belong to it, or without its own: taken", type);
		nfs4r_read_fini(&r);
		good_answer(&r, type);
		if (type != NFS4R_RD_READDIR && type != NFS4R_RD_OIDS) {
			set_names(&r, 1);
			assert_non_null(answer_refused(&r));
		} else {
			r.dirents[1].cookie = r.dirents[0].cookie;
			r.dirents[1].oid = r.dirents[0].oid;
			assert_non_null(answer_refused(&r));
			set_names(&r, 1);
			memset(&r.dirents[0].oid, 0, sizeof(r.dirents[0].oid));
			assert_non_null(answer_refused(&r));
			set_names(&r, 0);
			r.eof = false;
			assert_non_null(answer_refused(&r));
		}
		nfs4r_read_fini(&r);
	}
}

/* The bytes of each are what they should be. */
static void test_bytes_of_answers(void **state)
{
	static const struct {
		uint32_t type;
		const char *bytes;
		uint32_t len;
		bool ok;
	} cases[] = {
		{ NFS4R_RD_READLINK, "", 0, false },
		{ NFS4R_RD_READLINK, "a\0b", 3, false },
		{ NFS4R_RD_READ, "", 0, true },
		{ NFS4R_RD_GETXATTR, "", 0, true },
		{ NFS4R_RD_LISTXATTR, "", 0, true },
		{ NFS4R_RD_LISTXATTR, "user.x", 6, false },
		{ NFS4R_RD_LISTXATTR, "user.x", 7, true },
		{ NFS4R_RD_LISTXATTR, "a\0\0b", 5, false },
		{ NFS4R_RD_OIDS, "1234", 4, false },
	};
	char *long_text = malloc(NFS4R_XATTR_VALUE_MAX + 1);
	struct nfs4r_read r;

	memset(long_text, 'x', NFS4R_XATTR_VALUE_MAX + 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		good_answer(&r, cases[i].type);
		set_data(&r, cases[i].bytes, cases[i].len);
		if ((answer_refused(&r) == NULL) != cases[i].ok)
			fail_msg("case %zu", i);
		nfs4r_read_fini(&r);
	}
	for (uint32_t type = NFS4R_RD_READLINK; type <= NFS4R_RD_GETXATTR; type++) {
		uint32_t max = type == NFS4R_RD_READLINK ? NFS4R_PATH_MAX : NFS4R_XATTR_VALUE_MAX;

		good_answer(&r, type);
		set_data(&r, long_text, max);
		assert_null(answer_refused(&r));
		set_data(&r, long_text, max + 1);
		assert_non_null(answer_refused(&r));
		nfs4r_read_fini(&r);
	}
	good_answer(&r, NFS4R_RD_READ); /* a promise: whole words, three or more, and some bytes */
	r.verifier = 7;
	r.result_offset = 4096;
	for (uint32_t len = 8; len <= 32; len += 4) {
		set_data(&r, long_text, len);
		assert_true((answer_refused(&r) == NULL) == (len == 24 || len == 32));
	}
	r.result_offset = 0;
	assert_non_null(answer_refused(&r));
	nfs4r_read_fini(&r);
	good_answer(&r, NFS4R_RD_SEEK);
	r.result_offset = (uint64_t)INT64_MAX + 1;
	assert_non_null(answer_refused(&r));
	good_answer(&r, NFS4R_RD_GETATTR);
	r.attrs.mask = 0;
	assert_non_null(answer_refused(&r));
	good_answer(&r, NFS4R_RD_LOOKUP);
	memset(&r.result, 0, sizeof(r.result));
	assert_non_null(answer_refused(&r));
	free(long_text);
}

static void test_answers_to_questions(void **state)
{
	struct nfs4r_read asked = { .type = NFS4R_RD_READ, .length = 4 }, r;

	good_answer(&r, NFS4R_RD_READ);
	assert_null(nfs4r_shape_of_answer_to(&asked, &r));
	asked.length = 3;
	assert_non_null(nfs4r_shape_of_answer_to(&asked, &r));
	asked.type = NFS4R_RD_READLINK;
	assert_non_null(nfs4r_shape_of_answer_to(&asked, &r));
	nfs4r_read_fini(&r);
	good_answer(&r, NFS4R_RD_READDIR);
	asked = (struct nfs4r_read){ .type = NFS4R_RD_READDIR, .cookie = 9 };
	assert_null(nfs4r_shape_of_answer_to(&asked, &r));
	asked.cookie = 10;
	assert_non_null(nfs4r_shape_of_answer_to(&asked, &r));
	asked.cookie = 9;
	asked.copy = true; /* the row is missing */
	assert_non_null(nfs4r_shape_of_answer_to(&asked, &r));
	nfs4r_read_fini(&r);
}

/* ---- forwarded operations -------------------------------------------------------------------------- */

static const char *op_refused(struct nfs4r_op *op, uint32_t msg_type)
{
	return msg_refused(&(struct nfs4r_msg){ .type = msg_type, .op = op });
}

static void good_op(struct nfs4r_op *op, uint32_t type)
{
	*op = (struct nfs4r_op){ .type = type, .obj = oid(1), .dir = oid(2), .dir2 = oid(3), .length = 4, .offset = 8 };
	if (nfs4r_op_is_dirop(type))
		nfs4r_name_set(&op->name, "name", 4);
	if (type == NFS4R_OP_RENAME)
		nfs4r_name_set(&op->name2, "other", 5);
	if (type <= NFS4R_OP_MKNOD)
		op->attrs.type = type_made(type);
	if (type == NFS4R_OP_WRITE || type == NFS4R_OP_SETXATTR)
		op->data = nfs4r_buf_copy("data", 4);
	if (type == NFS4R_OP_SYMLINK || type == NFS4R_OP_SETXATTR || type == NFS4R_OP_REMOVEXATTR)
		op->text = strdup("user.text");
}

static void test_results_of_requests(void **state)
{
	struct nfs4r_op asked = { .type = NFS4R_OP_MKNOD, .attrs = { .type = NFS4R_TYPE_FIFO } };
	struct nfs4r_op answer = { .type = NFS4R_OP_MKNOD, .status = NFS4R_OK, .result = oid(1), .result_type = NFS4R_TYPE_FIFO };

	assert_null(nfs4r_shape_of_result_to(&asked, &answer));
	answer.result_type = NFS4R_TYPE_SOCKET;
	assert_non_null(nfs4r_shape_of_result_to(&asked, &answer));
	answer.status = NFS4R_NOSPC;
	assert_null(nfs4r_shape_of_result_to(&asked, &answer));
	answer.type = NFS4R_OP_MKDIR;
	assert_non_null(nfs4r_shape_of_result_to(&asked, &answer));
}

static void test_requests(void **state)
{
	struct nfs4r_op op;

	for (uint32_t type = NFS4R_OP_CREATE; type <= NFS4R_OP_CLAIM; type++) {
		bool sent = type <= NFS4R_OP_REMOVEXATTR, dir = nfs4r_op_is_dirop(type);

		good_op(&op, type);
		assert_true((op_refused(&op, NFS4R_MSG_FORWARD) == NULL) == sent);
		if (!sent)
			continue;
		struct nfs4r_buf *data = op.data;
		char *text = op.text;

		op.data = data ? NULL : nfs4r_buf_new(0);
		assert_non_null(op_refused(&op, NFS4R_MSG_FORWARD));
		nfs4r_buf_put(op.data);
		op.data = data;
		op.text = text ? NULL : strdup("text");
		assert_non_null(op_refused(&op, NFS4R_MSG_FORWARD));
		free(op.text);
		op.text = text;
		struct nfs4r_op spoilt = op;

		memset(dir ? &spoilt.dir : &spoilt.obj, 0, sizeof(spoilt.dir));
		assert_non_null(op_refused(&spoilt, NFS4R_MSG_FORWARD));
		spoilt = op;
		spoilt.attrs.mask |= NFS4R_ATTR_NLINK;
		assert_non_null(op_refused(&spoilt, NFS4R_MSG_FORWARD));
		spoilt = op;
		spoilt.attrs.mask = NFS4R_ATTR_SET_IDS_GO;
		assert_non_null(op_refused(&spoilt, NFS4R_MSG_FORWARD));
		spoilt = op;
		spoilt.attrs.mask = NFS4R_ATTR_MODE;
		assert_true((op_refused(&spoilt, NFS4R_MSG_FORWARD) == NULL) == (type <= NFS4R_OP_MKNOD || type == NFS4R_OP_SETATTR));
		spoilt = op;
		spoilt.offset = INT64_MAX - 3;
		assert_true((op_refused(&spoilt, NFS4R_MSG_FORWARD) != NULL) == (type >= NFS4R_OP_WRITE && type <= NFS4R_OP_DEALLOCATE));
		nfs4r_op_fini(&op);
	}
}

static void test_results(void **state)
{
	struct nfs4r_op op;

	for (uint32_t type = NFS4R_OP_CREATE; type <= NFS4R_OP_REMOVEXATTR; type++) {
		bool made = type <= NFS4R_OP_MKNOD;

		op = (struct nfs4r_op){ .type = type, .result = oid(1), .result_type = made ? type_made(type) : 0, .lsn = 1, .primary = 1 };
		assert_null(op_refused(&op, NFS4R_MSG_FORWARD_ANSWER));
		op.primary = 0;
		assert_non_null(op_refused(&op, NFS4R_MSG_FORWARD_ANSWER));
		op.primary = 1;
		op.result_type = !made ? 0 : type == NFS4R_OP_MKDIR ? NFS4R_TYPE_FILE :
								      NFS4R_TYPE_DIR;
		assert_true((op_refused(&op, NFS4R_MSG_FORWARD_ANSWER) != NULL) == made);
		op.status = NFS4R_EXIST;
		assert_null(op_refused(&op, NFS4R_MSG_FORWARD_ANSWER));
		op.status = NFS4R_OK;
		op.result_type = made ? type_made(type) : 0;
		memset(&op.result, 0, sizeof(op.result));
		assert_true((op_refused(&op, NFS4R_MSG_FORWARD_ANSWER) != NULL) == made);
	}
}

/* What a client of this server asks for hears an error before it becomes an entry that nobody takes. */
static void test_own_operations(void **state)
{
	struct nfs4r_op op = { .type = NFS4R_OP_WRITE, .offset = INT64_MAX, .length = 0, .data = nfs4r_buf_new(0) };

	assert_int_equal(nfs4r_op_fits(&op), NFS4R_OK);
	nfs4r_buf_put(op.data);
	op.data = nfs4r_buf_new(1);
	assert_int_equal(nfs4r_op_fits(&op), NFS4R_FBIG);
	nfs4r_buf_put(op.data);
	op = (struct nfs4r_op){ .type = NFS4R_OP_WRITE };
	assert_int_equal(nfs4r_op_fits(&op), NFS4R_INVAL); /* forwarded, it would end the connection */
	op.here_only = true;
	assert_int_equal(nfs4r_op_fits(&op), NFS4R_OK); /* of an import */
	op.here_only = false;
	op.type = NFS4R_OP_SETXATTR;
	assert_int_equal(nfs4r_op_fits(&op), NFS4R_INVAL);
	op = (struct nfs4r_op){ .type = NFS4R_OP_ALLOCATE };
	assert_int_equal(nfs4r_op_fits(&op), NFS4R_INVAL);
	op.length = UINT64_MAX;
	assert_int_equal(nfs4r_op_fits(&op), NFS4R_FBIG);
	op = (struct nfs4r_op){ .type = NFS4R_OP_SETATTR, .attrs.mask = NFS4R_ATTR_SIZE, .attrs.size = (uint64_t)INT64_MAX + 1 };
	assert_int_equal(nfs4r_op_fits(&op), NFS4R_FBIG);
	op = (struct nfs4r_op){ .type = NFS4R_OP_MKNOD, .attrs.type = NFS4R_TYPE_CHR, .attrs.mask = NFS4R_ATTR_RDEV, .attrs.rdev_major = 4096 };
	assert_int_equal(nfs4r_op_fits(&op), NFS4R_INVAL);
	op.attrs = (struct nfs4r_attrs){ .type = NFS4R_TYPE_DIR };
	assert_int_equal(nfs4r_op_fits(&op), NFS4R_BADTYPE);
	op = (struct nfs4r_op){ .type = NFS4R_OP_SYMLINK, .text = (char[]){ "" } };
	assert_int_equal(nfs4r_op_fits(&op), NFS4R_INVAL);
}

static void test_odd_names(void **state)
{
	static const struct {
		const char *bytes;
		uint32_t len;
		bool ok;
	} cases[] = { { "+a", 3, true }, { "+a\0-b\0!c", 9, true }, { "+a", 2, false }, { "+", 2, false }, { "a", 2, false }, { "xa", 3, false }, { "", 1, false } };

	assert_null(nfs4r_shape_of_odd_names(NULL));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nfs4r_buf *b = nfs4r_buf_copy(cases[i].bytes, cases[i].len);

		assert_true((nfs4r_shape_of_odd_names(b) == NULL) == cases[i].ok);
		nfs4r_buf_put(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_payload),
		cmocka_unit_test(test_handle),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_bytes_of_answers),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_results_of_requests),
		cmocka_unit_test(test_answers_to_questions),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_odd_names),
		cmocka_unit_test(test_own_operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
