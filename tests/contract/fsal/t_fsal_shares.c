/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the volume hears of opens (FSAL_REPL/open.c, shares.c, state_table.c), and when: Ganesha's calls come in, the sub-FSAL and the engine are the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "config.h"
#include "repl.h"
#include "sal_data.h"

#define R FSAL_O_READ
#define W FSAL_O_WRITE
#define DENY_W FSAL_O_DENY_WRITE_MAND
#define DENY_R FSAL_O_DENY_READ

void never_called(void); /* CMakeLists.txt */

void never_called(void)
{
	fail_msg("this is not called here");
}

/* Nobody has set the log up. */
void DisplayLogComponentLevel(log_components_t component, const char *file, int line, const char *function, log_levels_t level, const char *format, ...)
{
}

/* ---- what is said, in order: opens of the volume as ACCESS/DENY, from and to; o, r, c: open2, reopen2, close2 of the sub-FSAL; w: writes are complete ---- */

static char said[1024];

static void say(const char *text)
{
	assert_true(strlen(said) + strlen(text) + 2 < sizeof(said));
	if (said[0])
		strcat(said, " ");
	strcat(said, text);
}

static void heard(const char *expected)
{
	assert_string_equal(said, expected);
	said[0] = '\0';
}

/* ---- the volume ---- */

static bool shared;
static enum nfs4r_status answer[4]; /* of the next ones; then OK */
static enum nfs4r_status made; /* answer to CREATE */
static void (*meanwhile)(void); /* once, while the volume is asked */

bool repl_locks_are_shared(struct repl_export *e)
{
	return shared;
}

static uint32_t looks; /* for opens of which the volume has not heard */

void repl_locks_open_unknown(struct repl_export *e)
{
	looks++;
}

uint64_t repl_locks_now_ms(void)
{
	return 0;
}

enum nfs4r_status repl_share_ask(struct repl_export *e, struct nfs4r_op *op)
{
	const struct nfs4r_share_request *s = &op->share;
	enum nfs4r_status st = answer[0];
	char text[64];

	assert_int_equal(op->type, NFS4R_OP_SHARE);
	assert_int_equal(op->obj.b[0], 7);
	snprintf(text, sizeof(text), "%u/%u>%u/%u%s", s->had_access, s->had_deny, s->access, s->deny, s->reclaim ? "!" : "");
	say(text);
	memmove(answer, answer + 1, sizeof(answer) - sizeof(answer[0]));
	answer[3] = NFS4R_OK;
	if (meanwhile != NULL) {
		void (*fn)(void) = meanwhile;

		meanwhile = NULL;
		fn();
	}
	return st;
}

enum nfs4r_status repl_update(struct repl_export *e, struct nfs4r_op *op, nfs4r_exec_fn exec, void *arg)
{
	if (op->type == NFS4R_OP_CLOSE) {
		say("w");
		return NFS4R_OK;
	}
	assert_int_equal(op->type, NFS4R_OP_CREATE);
	op->result.b[0] = 7;
	return made;
}

/* ---- the sub-FSAL ---- */

static fsal_errors_t refuses; /* once */
static bool becomes_shared; /* while the sub-FSAL opens */

static fsal_status_t sub_says(const char *what)
{
	fsal_status_t st = fsalstat(refuses, 0);

	refuses = ERR_FSAL_NO_ERROR;
	shared |= becomes_shared;
	becomes_shared = false;
	say(what);
	return st;
}

static fsal_status_t sub_open2(struct fsal_obj_handle *h, struct state_t *state, fsal_openflags_t flags, enum fsal_create_mode mode, const char *name, struct fsal_attrlist *in, fsal_verifier_t verifier,
			       struct fsal_obj_handle **out, struct fsal_attrlist *attrs, bool *check, struct fsal_attrlist *pre, struct fsal_attrlist *post)
{
	return sub_says("o");
}

static fsal_status_t sub_reopen2(struct fsal_obj_handle *h, struct state_t *state, fsal_openflags_t flags)
{
	return sub_says("r");
}

static fsal_status_t sub_close2(struct fsal_obj_handle *h, struct state_t *state)
{
	return sub_says("c");
}

static struct fsal_obj_ops sub_ops = { .open2 = sub_open2, .reopen2 = sub_reopen2, .close2 = sub_close2 };
static struct fsal_obj_handle sub = { .type = REGULAR_FILE, .obj_ops = &sub_ops };

/* ---- the module's surroundings ---- */

static struct repl_export exp_;
static struct repl_obj file, dir;
static struct req_op_context context;
static struct state_t state, other;
static fsal_errors_t no_attributes; /* once */

struct repl_module repl_module;

struct fsal_obj_handle *repl_obj_sub(struct repl_export *e, struct repl_obj *obj, fsal_status_t *st)
{
	*st = fsalstat(ERR_FSAL_NO_ERROR, 0);
	obj->sub = &sub;
	return &sub;
}

struct repl_obj *repl_obj_new(struct repl_export *e, const struct nfs4r_oid *oid, object_file_type_t type, struct fsal_obj_handle *h)
{
	return &file;
}

void repl_obj_release(struct fsal_obj_handle *h)
{
}

fsal_status_t repl_fill_attrs(struct repl_export *e, struct repl_obj *obj, const struct nfs4r_attrs *known, struct fsal_attrlist *out)
{
	fsal_status_t st = fsalstat(no_attributes, 0);

	no_attributes = ERR_FSAL_NO_ERROR;
	return st;
}

bool repl_obj_is_stale(struct repl_export *e, struct repl_obj *obj)
{
	return false;
}

bool repl_is_gone(struct repl_export *e, const struct nfs4r_oid *oid)
{
	return false;
}

fsal_status_t repl_gone_here(struct repl_export *e, const struct nfs4r_oid *oid, fsal_status_t st)
{
	return st;
}

bool repl_open_comes_early(const struct state_t *s)
{
	return false;
}

bool repl_compound_opens_by_name(void)
{
	return false;
}

void repl_opened(struct repl_export *e, const struct nfs4r_oid *oid)
{
}

void repl_closed(struct repl_export *e, const struct nfs4r_oid *oid)
{
}

void repl_open_begun(const struct state_t *s)
{
}

void repl_open_failed(const struct state_t *s)
{
}

void repl_close_over(const struct state_t *s)
{
}

void repl_state_moved(struct repl_export *e, struct repl_obj *obj, struct state_t *s)
{
}

void repl_read_nothing_ahead(void)
{
}

void repl_change_info(nfs4r_version before, nfs4r_version after, struct fsal_attrlist *pre, struct fsal_attrlist *post)
{
}

/* ---- clients ---- */

static fsal_verifier_t no_verifier;

static int set_up(void **unused)
{
	static struct fsal_obj_ops ops;

	memset(&exp_, 0, sizeof(exp_));
	memset(&file, 0, sizeof(file));
	memset(&dir, 0, sizeof(dir));
	ops = (struct fsal_obj_ops){ 0 };
	file.handle.type = REGULAR_FILE;
	file.handle.obj_ops = dir.handle.obj_ops = &ops;
	file.oid.b[0] = 7;
	dir.handle.type = DIRECTORY;
	dir.oid.b[0] = 1;
	context = (struct req_op_context){ .fsal_export = &exp_.export };
	op_ctx = &context;
	for (size_t i = 0; i < ARRAY_SIZE(answer); i++)
		answer[i] = NFS4R_OK;
	shared = true;
	made = NFS4R_OK;
	refuses = no_attributes = ERR_FSAL_NO_ERROR;
	said[0] = '\0';
	return 0;
}

/* No state is left in the table. */
static int tear_down(void **unused)
{
	struct repl_open_state open;

	assert_false(repl_state_get(&state, &open));
	assert_false(repl_state_get(&other, &open));
	return 0;
}

static fsal_errors_t opens(struct state_t *s, fsal_openflags_t flags)
{
	bool check;

	return repl_open2(&file.handle, s, flags, FSAL_NO_CREATE, NULL, NULL, no_verifier, NULL, NULL, &check, NULL, NULL).major;
}

static fsal_errors_t creates(struct state_t *s, fsal_openflags_t flags)
{
	struct fsal_obj_handle *out = NULL;
	struct fsal_attrlist in = { .request_mask = ATTR_MODE, .valid_mask = ATTR_MODE, .mode = 0644 };
	bool check;

	return repl_open2(&dir.handle, s, flags, FSAL_GUARDED, "f", &in, no_verifier, &out, NULL, &check, NULL, NULL).major;
}

static fsal_errors_t reopens(struct state_t *s, fsal_openflags_t flags)
{
	return repl_reopen2(&file.handle, s, flags).major;
}

static void closes(struct state_t *s)
{
	assert_int_equal(repl_close2(&file.handle, s).major, ERR_FSAL_NO_ERROR);
}

static void close_state(void)
{
	closes(&state);
}

static void raise_state(void)
{
	assert_int_equal(reopens(&state, R | W), ERR_FSAL_NO_ERROR);
}

static void make_known(void)
{
	repl_shares_make_known(&exp_, 1);
}

/* ---- tests ---- */

static void the_volume_hears_of_opens_before_and_of_closes_after(void **unused)
{
	assert_int_equal(opens(&state, R | W | DENY_W), ERR_FSAL_NO_ERROR);
	heard("0/0>3/2 o");
	assert_int_equal(opens(&other, R), ERR_FSAL_NO_ERROR);
	heard("0/0>1/0 o");
	file.wrote = 1;
	closes(&state);
	heard("w c 3/2>0/0");
	closes(&other);
	heard("c 1/0>0/0");
}

static void an_open_is_raised_before_and_lowered_after(void **unused)
{
	assert_int_equal(opens(&state, R), ERR_FSAL_NO_ERROR);
	heard("0/0>1/0 o");
	assert_int_equal(reopens(&state, R | W | DENY_R | DENY_W), ERR_FSAL_NO_ERROR);
	heard("1/0>3/3 r");
	assert_int_equal(reopens(&state, R | W | DENY_R | DENY_W), ERR_FSAL_NO_ERROR);
	heard("r");
	file.wrote = 1;
	assert_int_equal(reopens(&state, R | DENY_W), ERR_FSAL_NO_ERROR);
	heard("r w 3/3>1/2");
	closes(&state);
	heard("c 1/2>0/0");
}

static void who_is_denied_has_what_it_had(void **unused)
{
	answer[0] = NFS4R_SHARE_DENIED;
	assert_int_equal(opens(&state, W), ERR_FSAL_SHARE_DENIED);
	heard("0/0>2/0");
	answer[0] = NFS4R_DELAY;
	assert_int_equal(opens(&state, W), ERR_FSAL_DELAY);
	heard("0/0>2/0");
	assert_int_equal(opens(&state, R), ERR_FSAL_NO_ERROR);
	heard("0/0>1/0 o");
	answer[0] = NFS4R_SHARE_DENIED;
	assert_int_equal(reopens(&state, R | W), ERR_FSAL_SHARE_DENIED);
	heard("1/0>3/0");
	closes(&state);
	heard("c 1/0>0/0");
}

static void what_is_not_opened_is_given_back(void **unused)
{
	refuses = ERR_FSAL_ACCESS;
	assert_int_equal(opens(&state, W | DENY_W), ERR_FSAL_ACCESS);
	heard("0/0>2/2 o 2/2>0/0");
	no_attributes = ERR_FSAL_IO;
	assert_int_equal(opens(&state, W | DENY_W), ERR_FSAL_IO);
	heard("0/0>2/2 o c 2/2>0/0");
	assert_int_equal(opens(&state, R), ERR_FSAL_NO_ERROR);
	heard("0/0>1/0 o");
	refuses = ERR_FSAL_ACCESS;
	assert_int_equal(reopens(&state, R | W | DENY_W), ERR_FSAL_ACCESS);
	heard("1/0>3/2 r 3/2>1/0");
	closes(&state);
	heard("c 1/0>0/0");
}

static void a_file_that_is_made_denies_from_the_start(void **unused)
{
	assert_int_equal(creates(&state, R | W | DENY_W), ERR_FSAL_NO_ERROR);
	heard("0/0>3/2 o");
	closes(&state);
	heard("c 3/2>0/0");
	answer[0] = answer[1] = NFS4R_DELAY; /* who comes again would hear that it exists */
	assert_int_equal(creates(&state, R | DENY_W), ERR_FSAL_NO_ERROR);
	heard("0/0>1/2 0/0>1/2 0/0>1/2 o");
	closes(&state);
	heard("c 1/2>0/0");
	answer[0] = NFS4R_SHARE_DENIED; /* another site was faster */
	assert_int_equal(creates(&state, R | DENY_W), ERR_FSAL_SHARE_DENIED);
	heard("0/0>1/2");
}

static void a_reclaim_is_said_to_be_one(void **unused)
{
	assert_int_equal(opens(&state, R | DENY_W | FSAL_O_RECLAIM), ERR_FSAL_NO_ERROR);
	heard("0/0>1/2! o");
	closes(&state);
	heard("c 1/2>0/0");
}

/* What another engine had heard went with it: nothing may be taken from what this one knows. */
static void an_engine_hears_only_of_what_it_was_told(void **unused)
{
	assert_int_equal(opens(&state, R | W), ERR_FSAL_NO_ERROR);
	assert_int_equal(opens(&other, R), ERR_FSAL_NO_ERROR);
	said[0] = '\0';
	exp_.engines++;
	closes(&state);
	heard("c");
	assert_int_equal(reopens(&other, R | W), ERR_FSAL_NO_ERROR);
	heard("0/0>3/0 r");
	closes(&other);
	heard("c 3/0>0/0");
}

/* Nor may a close take away what was opened before the volume counted. */
static void a_volume_of_before_hears_nothing(void **unused)
{
	shared = false;
	assert_int_equal(opens(&state, R | W | DENY_W), ERR_FSAL_NO_ERROR);
	assert_int_equal(opens(&other, R), ERR_FSAL_NO_ERROR);
	assert_int_equal(reopens(&other, R | W), ERR_FSAL_NO_ERROR);
	heard("o o r");
	shared = true;
	closes(&state);
	closes(&other);
	heard("c c");
}

/* What another site had granted as well stays open at both. */
static void opens_of_before_are_made_known(void **unused)
{
	shared = false;
	assert_int_equal(opens(&state, R | W | DENY_W), ERR_FSAL_NO_ERROR);
	heard("o");
	shared = true;
	answer[0] = NFS4R_DELAY;
	repl_shares_make_known(&exp_, 1);
	heard("0/0>3/2! 0/0>3/2!");
	repl_shares_make_known(&exp_, 1);
	heard("");
	exp_.engines++; /* another one knows nothing */
	repl_shares_make_known(&exp_, 1);
	heard("0/0>3/2!");
	closes(&state);
	heard("c 3/2>0/0");
	shared = false;
	assert_int_equal(opens(&state, R | W | DENY_W), ERR_FSAL_NO_ERROR);
	heard("o");
	shared = true;
	answer[0] = NFS4R_SHARE_DENIED;
	repl_shares_make_known(&exp_, 1);
	heard("0/0>3/2!");
	closes(&state);
	heard("c");
}

/* Between the question and the answer. */
static void what_changes_while_it_is_made_known_is_counted_once(void **unused)
{
	shared = false;
	assert_int_equal(opens(&state, R), ERR_FSAL_NO_ERROR);
	shared = true;
	meanwhile = close_state;
	repl_shares_make_known(&exp_, 1);
	heard("o 0/0>1/0! c 1/0>0/0");
	shared = false;
	assert_int_equal(opens(&state, R), ERR_FSAL_NO_ERROR);
	shared = true;
	meanwhile = raise_state;
	repl_shares_make_known(&exp_, 1);
	heard("o 0/0>1/0! 0/0>3/0 r 1/0>0/0");
	closes(&state);
	heard("c 3/0>0/0");
	shared = false;
	assert_int_equal(opens(&state, R), ERR_FSAL_NO_ERROR);
	shared = true;
	meanwhile = make_known;
	assert_int_equal(reopens(&state, R | W), ERR_FSAL_NO_ERROR);
	heard("o 0/0>3/0 0/0>1/0! r 1/0>0/0");
	closes(&state);
	heard("c 3/0>0/0");
}

/* It began before opens held everywhere. */
static void an_open_that_was_under_way_is_looked_for(void **unused)
{
	uint32_t before = looks;

	shared = false;
	becomes_shared = true;
	assert_int_equal(opens(&state, R), ERR_FSAL_NO_ERROR);
	assert_int_equal(looks, before + 1);
	repl_shares_make_known(&exp_, 1);
	heard("o 0/0>1/0!");
	assert_int_equal(opens(&other, R), ERR_FSAL_NO_ERROR);
	assert_int_equal(looks, before + 1);
	closes(&state);
	closes(&other);
	heard("0/0>1/0 o c 1/0>0/0 c 1/0>0/0");
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(the_volume_hears_of_opens_before_and_of_closes_after),
		T(an_open_is_raised_before_and_lowered_after),
		T(who_is_denied_has_what_it_had),
		T(what_is_not_opened_is_given_back),
		T(a_file_that_is_made_denies_from_the_start),
		T(a_reclaim_is_said_to_be_one),
		T(an_engine_hears_only_of_what_it_was_told),
		T(a_volume_of_before_hears_nothing),
		T(opens_of_before_are_made_known),
		T(what_changes_while_it_is_made_known_is_counted_once),
		T(an_open_that_was_under_way_is_looked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
