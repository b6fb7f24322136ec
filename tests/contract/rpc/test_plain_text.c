/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What somebody who listens between two servers can read, of everything that they say. `none` and `krb5i` hide nothing, which shows that the listener hears. `tls` and `krb5p` hide
 * everything.
 *
 * Looked for are bytes of files, names, texts of symbolic links and names of extended attributes. So is what a view says, with the secret that file handles are checked by, and what a
 * HELLO tells of the program. Each of these is marked with a text of eight bytes of its own. So eight bytes in the clear would be noticed, and no hundred megabytes of anything encrypted have such a text by chance.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/unit.h"

#include "contract/rpc/krb5_world.h"
#include "contract/rpc/pki_world.h"
#include "contract/rpc/tap.h"
#include "rpc/security/security.h"

#define TAP_PORT_STEP 4 /* world_init() keeps eight ports */
#define PAYLOAD (256u << 10)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PAYLOADS 40u
#else
#define PAYLOADS 200u /* in each direction: 100 MiB in all */
#endif
#define SMALL 20u /* of each small message */

enum mark {
	MARK_DATA,
	MARK_NAME,
	MARK_TEXT,
	MARK_VIEW,
	MARK_HELLO,
	MARKS
};

static const char *const marks[MARKS] = { "MarkData", "MarkName", "MarkText", "MarkView", "MarkHELO" };

static struct nfs4r_buf *data(uint32_t len)
{
	struct nfs4r_buf *b = nfs4r_buf_new(len);

	for (uint32_t i = 0; i < len; i++)
		b->data[i] = (uint8_t)marks[MARK_DATA][i % 8];
	return b;
}

/* ---- one message of each kind that has something to hide ---- */

static struct nfs4r_entry *made(nfs4r_server_id from, uint64_t number)
{
	struct nfs4r_entry *e = nfs4r_entry_new();
	struct nfs4r_part *file = &e->parts[0], *dir = &e->parts[1];

	e->log = from;
	e->lsn = number;
	e->op = NFS4R_OP_SYMLINK;
	e->nparts = 2;
	nfs4r_oid_make(&e->result, from, 1, number + 1);
	file->oid = e->result;
	file->after = 1;
	file->effect = NFS4R_EFF_CREATE;
	file->attrs.mask = NFS4R_ATTR_TYPE;
	file->attrs.type = NFS4R_TYPE_SYMLINK;
	file->linktext = strdup(marks[MARK_TEXT]);
	nfs4r_oid_make(&file->parent, from, 1, 1);
	dir->oid = file->parent;
	dir->before = number;
	dir->after = number + 1;
	dir->effect = NFS4R_EFF_NAMES;
	assert_true(nfs4r_part_names(dir, 1));
	nfs4r_name_set(&dir->names[0].name, marks[MARK_NAME], 8);
	dir->names[0].oid = e->result;
	dir->names[0].type = NFS4R_TYPE_SYMLINK;
	dir->names[0].cookie = number + 10;
	return e;
}

static struct nfs4r_entry *written(nfs4r_server_id from, uint64_t number)
{
	struct nfs4r_entry *e = nfs4r_entry_new();

	world_write(e, from, number, PAYLOAD);
	e->payload = data(PAYLOAD);
	return e;
}

static void make_entries(struct nfs4r_msg *m, nfs4r_server_id from, uint64_t number)
{
	m->type = NFS4R_MSG_ENTRIES;
	m->entries.log = from;
	m->entries.end = number;
	m->entries.n = 1;
	m->entries.entries = malloc(sizeof(*m->entries.entries));
	m->entries.entries[0] = number % 2 ? written(from, number) : made(from, number);
}

static void make_forward(struct nfs4r_msg *m, nfs4r_server_id from, uint64_t number)
{
	struct nfs4r_op *op = calloc(1, sizeof(*op));

	m->type = NFS4R_MSG_FORWARD;
	m->op = op;
	op->id = (struct nfs4r_request_id){ from, 100, number };
	nfs4r_oid_make(&op->obj, from, 1, 2);
	nfs4r_oid_make(&op->dir, from, 1, 1);
	switch (number % 3) {
	case 0:
		op->type = NFS4R_OP_WRITE;
		op->data = data(4096);
		op->length = 4096;
		break;
	case 1:
		op->type = NFS4R_OP_SETXATTR;
		assert_true(asprintf(&op->text, "user.%s", marks[MARK_TEXT]) > 0);
		op->data = data(64);
		break;
	default:
		op->type = NFS4R_OP_SYMLINK;
		nfs4r_name_set(&op->name, marks[MARK_NAME], 8);
		op->text = strdup(marks[MARK_TEXT]);
	}
}

static void make_read(struct nfs4r_msg *m, nfs4r_server_id from, uint64_t number)
{
	m->type = NFS4R_MSG_READ;
	m->read = calloc(1, sizeof(*m->read));
	m->read->id = number;
	m->read->type = NFS4R_RD_LOOKUP;
	nfs4r_oid_make(&m->read->oid, from, 1, 1);
	strcpy(m->read->name, marks[MARK_NAME]);
}

static void make_answer(struct nfs4r_msg *m, nfs4r_server_id from, uint64_t number)
{
	m->type = NFS4R_MSG_READ_ANSWER;
	m->read = calloc(1, sizeof(*m->read));
	m->read->id = number;
	m->read->type = NFS4R_RD_READ;
	m->read->status = NFS4R_OK;
	m->read->data = data(4096);
}

static void make_view(struct nfs4r_msg *m, nfs4r_server_id from, uint64_t number)
{
	struct nfs4r_view *v = &m->view;

	m->type = NFS4R_MSG_VIEW;
	v->num = number;
	v->members = v->voters = v->servers = NFS4R_BIT(1) | NFS4R_BIT(2);
	v->nbook = 2;
	for (uint32_t i = 0; i < 2; i++) {
		v->addresses[i].id = (nfs4r_server_id)(i + 1);
		v->addresses[i].port = 1;
		snprintf(v->addresses[i].address, sizeof(v->addresses[i].address), "%s.example", marks[MARK_VIEW]);
	}
	memcpy(v->secret, marks[MARK_VIEW], 8);
	memcpy(v->secret + 8, marks[MARK_VIEW], 8);
}

#define VIEW_MARKS 4u

/* ---- servers, and a listener between them ---- */

typedef void (*make_fn)(struct nfs4r_msg *m, nfs4r_server_id from, uint64_t number);

static void send_one(struct world *w, uint32_t from, make_fn make, uint64_t number)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m));
	uint64_t end = world_now_ns() + WORLD_WAIT_MS * 1000000ull;
	enum nfs4r_status st;

	make(m, (nfs4r_server_id)(from + 1), number);
	while ((st = nfs4r_rpc_send(w->s[from].rpc, (nfs4r_server_id)(2 - from), nfs4r_rpc_lane_of(m->type), m)) == NFS4R_DELAY && world_now_ns() < end)
		sched_yield();
	if (st != NFS4R_OK)
		fail_msg("%s is not sent: %s; logs:\n%s\n%s", nfs4r_msg_name(m->type), nfs4r_status_str(st), w->s[from].log, w->s[!from].log);
	nfs4r_msg_fini(m);
	free(m);
}

static void say_all(struct world *w)
{
	static const make_fn small[] = { make_forward, make_read, make_answer, make_view };

	for (uint32_t from = 0; from < 2; from++) {
		for (uint64_t number = 1; number <= 2 * PAYLOADS; number++)
			send_one(w, from, make_entries, number);
		for (uint64_t number = 1; number <= SMALL; number++)
			for (uint32_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
				send_one(w, from, small[i], number);
	}
	for (uint32_t at = 0; at < 2; at++)
		world_wait(&w->s[at], w_s->bytes == (uint64_t)PAYLOADS * PAYLOAD && w_s->messages >= 2 * PAYLOADS + 4 * SMALL);
}

/* What the listener saw of each mark, after all was said with flavour @security. */
static void listen_to(enum nfs4r_security security, uint64_t *seen)
{
	struct world *w = kerberos_world(2, security);
	struct nfs4r_endpoint at = w->s[0].cfg.servers[0];
	struct tap *p;

	pki_world_keys(w);
	at.port = (uint16_t)(at.port + TAP_PORT_STEP);
	p = tap_start(&at, &w->s[0].cfg.servers[0], "127.0.0.2");
	for (uint32_t i = 0; i < MARKS; i++)
		tap_look_for(p, i, marks[i]);
	w->s[1].cfg.servers[0].port = at.port;
	for (uint32_t i = 0; i < 2; i++) {
		w->s[i].cfg.view = 1; /* the lists of the configurations are of no account then */
		snprintf(w->s[i].cfg.version, sizeof(w->s[i].cfg.version), "%s", marks[MARK_HELLO]);
	}
	world_start_all(w);
	world_wait_all_up(w);
	say_all(w);
	assert_true(tap_bytes(p) > 2ull * PAYLOADS * PAYLOAD);
	world_fini(w);
	for (uint32_t i = 0; i < MARKS; i++)
		seen[i] = tap_seen(p, i);
	tap_stop(p);
	free(w);
}

static void shows_all(enum nfs4r_security security)
{
	uint64_t seen[MARKS];

	listen_to(security, seen);
	assert_true(seen[MARK_DATA] >= 2ull * PAYLOADS * PAYLOAD / 8 + 2ull * SMALL * 4096 / 8);
	assert_true(seen[MARK_NAME] >= 2ull * (PAYLOADS + SMALL + SMALL / 3));
	assert_true(seen[MARK_TEXT] >= 2ull * (PAYLOADS + 2 * SMALL / 3));
	assert_true(seen[MARK_VIEW] >= 2ull * SMALL * VIEW_MARKS);
	assert_true(seen[MARK_HELLO] >= 2ull * NFS4R_LANES);
}

static void hides_all(enum nfs4r_security security)
{
	uint64_t seen[MARKS];

	listen_to(security, seen);
	for (uint32_t i = 0; i < MARKS; i++)
		if (seen[i])
			fail_msg("%s: %s is in the clear, %llu times", nfs4r_security_name(security), marks[i], (unsigned long long)seen[i]);
}

static void test_none_shows_everything(void **state)
{
	shows_all(NFS4R_SECURITY_NONE);
}

static void test_krb5i_shows_everything(void **state)
{
	shows_all(NFS4R_SECURITY_KRB5I);
}

static void test_tls_shows_nothing(void **state)
{
	hides_all(NFS4R_SECURITY_TLS);
}

static void test_krb5p_shows_nothing(void **state)
{
	hides_all(NFS4R_SECURITY_KRB5P);
}

/* The argument: one test by its name, or a pattern of names. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none_shows_everything),
		cmocka_unit_test(test_krb5i_shows_everything),
		cmocka_unit_test(test_tls_shows_nothing),
		cmocka_unit_test(test_krb5p_shows_nothing),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, kerberos_setup, kerberos_teardown);
}
