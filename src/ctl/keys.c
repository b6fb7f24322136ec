/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * `nfs4rctl key make|show|replace|trust`: by which keys the servers of a volume know each other (log 6.18).
 *
 * Happy path of a replacement: the next key and its certificate are made beside the present ones (.new). The server announces the next fingerprint beside the present
 * one. When all others have both, the new files take the place of the old ones, and the server announces the new fingerprint alone. New
 * connections use the new files at once; those that stand are renewed with them before, while the others know both keys.
 *
 * Failure: the command can be ended at any point and run again. It finds what was done: by the files that are there, and by what the servers know. While another server is
 * away the old key stays in use, because that server knows no other one.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/config_keys.h"
#include "base/text.h"
#include "ctl/ctl.h"
#include "ctl/key_file.h"

#define NEXT ".new"
#define RENEWAL_S 60u /* files are looked at every five seconds, and a renewal is a few round trips */

struct change { /* of the keys by which one server is known */
	struct ctl_conn *c;
	const struct key_args *args;
	unsigned server;
	const char *now, *next; /* fingerprints; now NULL: whichever the others know */
	char said[CTL_WHY]; /* printed last */
};

static json_t *ask_keys(struct ctl_conn *c)
{
	return ctl_request(c, json_pack("{s:s}", "cmd", "keys"));
}

static bool has_text(const json_t *list, const char *text)
{
	json_t *one;
	size_t i;

	json_array_foreach((json_t *)list, i, one) if (strcmp(json_string_value(one), text) == 0) return true;
	return false;
}

static bool knows(const json_t *row, const char *fingerprint)
{
	return has_text(json_object_get(row, "keys"), fingerprint);
}

static void pause_a_moment(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = CTL_POLL_NS }, NULL);
}

/* ---- make ---- */

static int make(const struct key_args *args)
{
	struct key_certificate cert;
	struct key_files f;
	char why[CTL_WHY];
	json_t *a;

	if (!key_files_of(&f, args->files ? args->files : NFS4R_PEER_FILES, ""))
		return ctl_complain("the path after --files is too long");
	if (!key_files_make(&f, why) || !key_certificate_read(f.certificate, &cert, why))
		return ctl_complain(why);
	if (args->json) {
		a = json_pack("{s:s, s:s, s:s}", "key", f.key, "certificate", f.certificate, "fingerprint", cert.fingerprint);
		ctl_print_json(a);
		json_decref(a);
		return CTL_OK;
	}
	printf("The key of this server is %s, its certificate %s.\nWrite this line into its Server block on every server of the volume:\n\n    Key = \"%s\";\n\n"
	       "Keep the first file secret: with it every program is this server.\n",
	       f.key, f.certificate, cert.fingerprint);
	return CTL_OK;
}

/* ---- show ---- */

/* What the files say is added to what the server says: only who may read them sees it. */
static void add_own(json_t *a, const struct key_files *f)
{
	struct key_certificate cert;
	char why[CTL_WHY];
	json_t *own;

	if (!key_certificate_read(f->certificate, &cert, why)) {
		json_object_set_new(a, "own", json_pack("{s:s}", "problem", why));
		return;
	}
	own = json_pack("{s:s, s:b, s:o}", "fingerprint", cert.fingerprint, "self_signed", cert.self_signed, "ends",
			cert.ends_s == KEY_NEVER ? json_null() : json_integer(cert.ends_s));
	if (access(f->key, R_OK) == 0 && !key_files_match(f, why))
		json_object_set_new(own, "problem", json_string(why));
	json_object_set_new(a, "own", own);
}

void keys_add_end(json_t *status)
{
	struct key_certificate cert;
	char why[CTL_WHY];

	if (*get_text(status, "certificate") && key_certificate_read(get_text(status, "certificate"), &cert, why) && cert.ends_s != KEY_NEVER)
		json_object_set_new(status, "certificate_ends", json_integer(cert.ends_s));
}

static int tell(const json_t *a, bool json)
{
	if (json)
		return ctl_print_json(a);
	show_keys(a, stdout);
	return CTL_OK;
}

static int show_files(const struct key_args *args)
{
	struct key_files f;
	json_t *a;
	int rc;

	if (!key_files_of(&f, args->files ? args->files : NFS4R_PEER_FILES, ""))
		return ctl_complain("the path after --files is too long");
	a = json_pack("{s:s, s:s}", "key", f.key, "certificate", f.certificate);
	add_own(a, &f);
	rc = tell(a, args->json);
	if (json_object_get(json_object_get(a, "own"), "problem"))
		rc = CTL_FAILED;
	json_decref(a);
	return rc;
}

int run_key_files(const struct key_args *args)
{
	return args->what == KEY_MAKE ? make(args) : show_files(args);
}

/* false: this server's flavours need no such files. */
static bool files_of(const json_t *a, struct key_files *f)
{
	snprintf(f->key, sizeof(f->key), "%s", get_text(a, "key"));
	snprintf(f->certificate, sizeof(f->certificate), "%s", get_text(a, "certificate"));
	return f->key[0] && f->certificate[0];
}

static int show(struct ctl_conn *c, const struct key_args *args)
{
	json_t *a = ask_keys(c);
	struct key_files f;
	int rc;

	if (!a)
		return CTL_FAILED;
	if (files_of(a, &f) && access(f.certificate, F_OK) == 0)
		add_own(a, &f);
	rc = tell(a, args->json);
	json_decref(a);
	return rc;
}

/* ---- changing by which keys a server is known ---- */

static void say(struct change *ch, const char *text)
{
	char *safe;

	if (ch->args->json || strcmp(text, ch->said) == 0)
		return;
	snprintf(ch->said, sizeof(ch->said), "%s", text);
	safe = nfs4r_text_line_new(text);
	printf("%s\n", safe ? safe : text);
	free(safe);
	fflush(stdout);
}

/* @with NULL: @ch->next alone. */
static json_t *request(const struct change *ch, const char *with, bool dry_run)
{
	json_t *keys = json_array();

	if (with)
		json_array_append_new(keys, json_string(with));
	json_array_append_new(keys, json_string(ch->next));
	return json_pack("{s:s, s:i, s:o, s:b, s:b}", "cmd", "set-keys", "server", ch->server, "keys", keys, "abandon", ch->args->abandon, "dry_run", dry_run);
}

enum outcome {
	AGAIN = 1,
	ACCEPTED,
	REFUSED
};

/* One request. AGAIN: other servers do not know the key yet; who is missing is printed. */
static enum outcome try(struct change *ch, const char *with, bool dry_run)
{
	json_t *a = ctl_answer(ch->c, request(ch, with, dry_run));
	const char *error = get_text(a, "error");
	char text[CTL_WHY];
	enum outcome o = !a ? REFUSED : !json_object_get(a, "error") ? ACCEPTED :
		json_is_true(json_object_get(a, "wait"))	     ? AGAIN :
								       REFUSED;

	if (o == AGAIN) {
		snprintf(text, sizeof(text), "waiting: %s", error);
		say(ch, text);
	} else if (a && o == REFUSED) {
		ctl_complain(error);
	}
	json_decref(a);
	return o;
}

/* Until the servers know it by these. A view that comes in between takes the request with it, so it is made again. */
static bool until_known(struct change *ch, const char *with)
{
	for (;;) {
		json_t *list = ask_keys(ch->c);
		const json_t *row = list ? ctl_server_row(list, ch->server) : NULL;
		bool there = row && knows(row, ch->next) && json_array_size(json_object_get(row, "keys")) == (with ? 2 : 1), busy = list && get_num(list, "changing_keys") == ch->server;

		if (list && !row)
			ctl_complain_of("server %u does not belong to this volume; `nfs4rctl server list` shows the servers", ch->server);
		json_decref(list);
		if (!row || there)
			return there;
		if (!busy && try(ch, with, false) == REFUSED)
			return false;
		pause_a_moment();
	}
}

/* The key that stays beside the next one: the one that is used, if the others know it. "" with *ok: they know nothing of it, so the next one is enough. */
static bool one_that_stays(struct change *ch, char out[NFS4R_FINGERPRINT_TEXT])
{
	json_t *list = ask_keys(ch->c);
	const json_t *row = list ? ctl_server_row(list, ch->server) : NULL;
	const json_t *keys = json_object_get(row, "keys");
	const char *first = "";

	if (list && !row)
		ctl_complain_of("server %u does not belong to this volume; `nfs4rctl server list` shows the servers", ch->server);
	for (size_t i = json_array_size(keys); i-- > 0;)
		if (strcmp(json_string_value(json_array_get(keys, i)), ch->next) != 0)
			first = json_string_value(json_array_get(keys, i));
	if (row && ch->now && (knows(row, ch->now) || !json_array_size(keys)))
		first = ch->now;
	snprintf(out, NFS4R_FINGERPRINT_TEXT, "%s", first);
	json_decref(list);
	return row != NULL;
}

/* All others know the next key beside the present one. */
static bool announce(struct change *ch)
{
	char stays[NFS4R_FINGERPRINT_TEXT];

	return one_that_stays(ch, stays) && until_known(ch, stays[0] && strcmp(stays, ch->next) ? stays : NULL);
}

/* Until the old one may go. */
static bool until_free(struct change *ch)
{
	enum outcome o = try(ch, NULL, true);

	for (; o == AGAIN; o = try(ch, NULL, true))
		pause_a_moment();
	return o == ACCEPTED;
}

static int finish(struct change *ch)
{
	json_t *list;
	int rc = CTL_OK;

	if (!until_known(ch, NULL))
		return CTL_FAILED;
	list = ask_keys(ch->c);
	if (!list)
		return CTL_FAILED;
	if (ch->args->json)
		rc = ctl_print_json(list);
	else
		printf("Server %u is known by %s alone.\n", ch->server, ch->next);
	json_decref(list);
	return rc;
}

/* ---- trust ---- */

static int trust(struct ctl_conn *c, const struct key_args *args)
{
	struct change ch = { .c = c, .args = args, .server = args->server, .next = args->fingerprint };

	if (!announce(&ch))
		return CTL_FAILED;
	say(&ch, "The other servers accept that key now.");
	if (args->no_wait)
		return CTL_OK;
	return until_free(&ch) ? finish(&ch) : CTL_FAILED;
}

/* ---- replace ---- */

/* The next ones are there. A key without a certificate is what an interrupted attempt left; nobody knows it. */
static bool make_next(const struct key_files *next, char *why)
{
	if (access(next->certificate, F_OK) == 0)
		return true;
	unlink(next->key);
	return key_files_make(next, why);
}

/* The files of an earlier attempt that was interrupted while they took their place. */
static bool is_half_done(const struct key_files *next)
{
	return access(next->key, F_OK) != 0 && access(next->certificate, F_OK) == 0;
}

static const char *not_replaceable(const json_t *a, const struct key_certificate *now)
{
	if (strcmp(get_text(a, "security"), "tls") != 0 && !json_array_size(json_object_get(a, "accepts")))
		return "this server does not use its key: Peer_Security is not tls";
	if (!now->self_signed)
		return "the certificate of this server is signed by an authority: get a new one there, and put the two files in their place; new connections use them at once";
	return NULL;
}

/* The server reads the new files, and then renews the connections that stand: the old key is in the way of nobody then. */
enum renewal {
	RENEWED = 1,
	NOT_READ, /* it does not show the new key */
	OLD_ONES, /* connections are proved with the old one */
	NO_ANSWER
};

static enum renewal look_at_renewal(struct change *ch, uint64_t *n)
{
	json_t *list = ask_keys(ch->c);
	const json_t *shown = json_object_get(list, "in_use");
	enum renewal r = NO_ANSWER;

	*n = get_num(list, "to_renew");
	if (list)
		r = !has_text(shown, ch->next) ? NOT_READ : *n ? OLD_ONES :
								 RENEWED;
	json_decref(list);
	return r;
}

static int64_t clock_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec;
}

static void complain_of_renewal(enum renewal r, uint64_t n)
{
	if (r == NOT_READ)
		ctl_complain_of("the server does not use the new key after %u seconds: its log says what is wrong with the files. The others know both keys. Run `nfs4rctl key replace` again to continue", RENEWAL_S);
	else if (r == OLD_ONES)
		ctl_complain_of("%u connection%s still proved with the old key after %u seconds: the logs of both sides say why. The others know both keys. Run `nfs4rctl key replace` again to continue, or with --abandon not to wait for that",
				(unsigned)n, n == 1 ? " is" : "s are", RENEWAL_S);
}

/* False: not in time, and that was said. */
static bool until_renewed(struct change *ch)
{
	int64_t end = clock_s() + RENEWAL_S;
	uint64_t n = 0;
	enum renewal r = look_at_renewal(ch, &n);

	if (r == NOT_READ || r == OLD_ONES)
		say(ch, "waiting: the connections are renewed with the new key");
	while ((r == NOT_READ || r == OLD_ONES) && clock_s() < end && !(r == OLD_ONES && ch->args->abandon)) {
		pause_a_moment();
		r = look_at_renewal(ch, &n);
	}
	if (r == RENEWED || (r == OLD_ONES && ch->args->abandon))
		return true;
	complain_of_renewal(r, n);
	return false;
}

static int replace_with(struct change *ch, const struct key_files *files, const struct key_files *next)
{
	char why[CTL_WHY];

	if (!announce(ch))
		return CTL_FAILED;
	say(ch, "The new key is announced. The old one stays in use until all other servers have the new one.");
	if (ch->args->no_wait) {
		say(ch, "Run `nfs4rctl key replace` again to continue.");
		return CTL_OK;
	}
	if (!until_free(ch))
		return CTL_FAILED;
	if (!key_files_replace(next, files, why))
		return ctl_complain(why);
	say(ch, "The new key is in use.");
	return until_renewed(ch) ? finish(ch) : CTL_FAILED;
}

/* The present files are read before the next ones are made: nothing is left behind when there is nothing to replace. */
static int replace_files(struct ctl_conn *c, const struct key_args *args, const json_t *a, const struct key_files *files, const struct key_files *next)
{
	struct change ch = { .c = c, .args = args, .server = (unsigned)get_num(a, "server") };
	struct key_certificate now, then;
	const char *wrong;
	char why[CTL_WHY];

	if (is_half_done(next) && !key_files_replace(next, files, why))
		return ctl_complain(why);
	if (!key_certificate_read(files->certificate, &now, why) || !key_files_match(files, why))
		return ctl_complain(why);
	wrong = not_replaceable(a, &now);
	if (wrong)
		return ctl_complain(wrong);
	if (ctl_server_row(a, ch.server) && json_array_size(json_object_get(ctl_server_row(a, ch.server), "keys")) == 2 && knows(ctl_server_row(a, ch.server), now.fingerprint) &&
	    access(next->certificate, F_OK) != 0) { /* the files have taken their place, and the old key has not gone yet */
		ch.next = now.fingerprint;
		return until_free(&ch) && until_renewed(&ch) ? finish(&ch) : CTL_FAILED;
	}
	if (!make_next(next, why) || !key_certificate_read(next->certificate, &then, why))
		return ctl_complain(why);
	ch.now = now.fingerprint;
	ch.next = then.fingerprint;
	return replace_with(&ch, files, next);
}

static int replace(struct ctl_conn *c, const struct key_args *args)
{
	struct key_files files, next;
	json_t *a = ask_keys(c);
	int rc = CTL_FAILED;

	if (!a)
		return CTL_FAILED;
	if (!files_of(a, &files) || !key_files_with(&next, &files, NEXT))
		ctl_complain("this server has no file for its key: write Peer_Key and Peer_Certificate");
	else
		rc = replace_files(c, args, a, &files, &next);
	json_decref(a);
	return rc;
}

int run_keys(struct ctl_conn *c, const struct key_args *args)
{
	switch (args->what) {
	case KEY_REPLACE:
		return replace(c, args);
	case KEY_TRUST:
		return trust(c, args);
	default:
		return show(c, args);
	}
}

/* ---- the command line ---- */

const char *parse_keys(struct key_args *a, int n, char **args)
{
	static const struct {
		const char *name;
		enum key_command what;
		int words;
	} subs[] = { { "make", KEY_MAKE, 1 }, { "show", KEY_SHOW, 1 }, { "replace", KEY_REPLACE, 1 }, { "trust", KEY_TRUST, 3 } };
	struct nfs4r_key_fingerprint fp;

	for (size_t i = 0; n > 0 && i < sizeof(subs) / sizeof(subs[0]); i++)
		if (strcmp(args[0], subs[i].name) == 0 && n == subs[i].words)
			a->what = subs[i].what;
	if (!a->what)
		return "key needs one of: make, show, replace, trust N SHA256:...";
	if (a->files && a->what != KEY_MAKE && a->what != KEY_SHOW)
		return "--files belongs to key make and key show; a server that runs says where its files are";
	if ((a->no_wait || a->abandon) && a->what != KEY_REPLACE && a->what != KEY_TRUST)
		return "--no-wait and --abandon belong to key replace and key trust";
	if (a->what != KEY_TRUST)
		return NULL;
	a->server = server_number(args[1]);
	a->fingerprint = args[2];
	if (!a->server)
		return "give the number of the server, 1 to 15";
	return nfs4r_fingerprint_parse(args[2], &fp) ? NULL : "that is no fingerprint: `nfs4rctl key show` prints one on its server, SHA256: and 43 letters";
}
