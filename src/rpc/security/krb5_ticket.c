/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Tickets for the servers that are called: the keytab, and the KDC.
 *
 * Happy path: the keytab is opened anew, so a key that was added a moment ago counts. The KDC gives a ticket for this server, and with that one for
 * the other server, both into a cache in memory. The connections that are made to that server within a few seconds share them, so a server that calls
 * another one asks the KDC once and not for each lane.
 *
 * Failure: no KDC answers. A ticket of before is used as long as it lasts, so that a link that was cut comes back without the KDC. A KDC that lets
 * questions run into their time holds one thread: there is one question at a time. The others wait for its end for a while, and then do without.
 *
 * After a handshake that failed the KDC is asked for another ticket, because the other side may have a new key.
 *
 * Invariants: a cache is destroyed with the last connection that uses it; the list has one ticket for each pair of principals and keytab, and is bounded.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "rpc/security/krb5_int.h"

#define TICKETS_MAX 64 /* in the list: servers of a volume, times volumes */
#define SHARE_S 10 /* a ticket is new for so long, or a tenth of its life */
#define LEAST_S 60 /* of its life that one of before has to have left, or a tenth */
#define WAIT_S 3 /* for the question of another connection */

struct rpc_krb5_ticket {
	struct rpc_krb5_ticket *next;
	uint32_t refs; /* the list's among them */
	char self[RPC_KRB5_NAME], peer[RPC_KRB5_NAME], keytab[RPC_KRB5_PATH];
	struct stat file; /* of the keytab, when it was read */
	krb5_context k; /* of the cache; used by one thread at a time */
	krb5_ccache cc;
	char cache[128];
	uint64_t got_s, life_s; /* by the monotonic clock; how long it lasts from then on */
	krb5_enctype enctype;
	bool refused; /* under the lock */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t answered;
	struct rpc_krb5_ticket *list; /* the newest first */
	bool asking;
	uint64_t since_s;
} tickets = { .lock = PTHREAD_MUTEX_INITIALIZER, .answered = PTHREAD_COND_INITIALIZER };

static uint64_t now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec;
}

/* ---- the keytab ---- */

static enum nfs4r_status keytab_stat(const struct rpc_krb5_names *n, struct stat *st, char *why)
{
	const char *path = n->setup->keytab;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), err = errno;

	if (fd < 0 || fstat(fd, st) != 0) {
		if (fd >= 0)
			close(fd);
		rpc_krb5_explain(n, err, strerror(err), why);
		return NFS4R_ACCES;
	}
	close(fd);
	if ((st->st_uid == geteuid() || st->st_uid == 0) && !(st->st_mode & (S_IRWXG | S_IRWXO)))
		return NFS4R_OK;
	snprintf(why, NFS4R_WHY, "Kerberos: the keytab %.500s belongs to user %u and has mode %03o, so that others can use its keys; as root: chown root %.500s; chmod 600 %.500s", path,
		 (unsigned)st->st_uid, (unsigned)st->st_mode & 0777, path, path);
	return NFS4R_ACCES;
}

static krb5_error_code keytab_resolve(krb5_context k, const struct rpc_krb5_names *n, krb5_keytab *out)
{
	char name[RPC_KRB5_PATH + sizeof("FILE:")];

	snprintf(name, sizeof(name), "FILE:%s", n->setup->keytab);
	return krb5_kt_resolve(k, name, out);
}

static krb5_error_code has_key(krb5_context k, const struct rpc_krb5_names *n)
{
	krb5_keytab_entry entry;
	krb5_keytab keytab = NULL;
	krb5_principal self = NULL;
	krb5_error_code code = keytab_resolve(k, n, &keytab);

	if (!code)
		code = krb5_parse_name(k, n->self, &self);
	if (!code)
		code = krb5_kt_get_entry(k, keytab, self, 0, 0, &entry);
	if (!code)
		krb5_free_keytab_entry_contents(k, &entry);
	krb5_free_principal(k, self);
	if (keytab)
		krb5_kt_close(k, keytab);
	return code;
}

enum nfs4r_status rpc_krb5_keytab_check(krb5_context k, const struct rpc_krb5_names *n, char *why)
{
	struct stat st;
	enum nfs4r_status status = keytab_stat(n, &st, why);
	krb5_error_code code = status == NFS4R_OK ? has_key(k, n) : 0;
	const char *text;

	if (!code)
		return status;
	text = krb5_get_error_message(k, code);
	rpc_krb5_explain(n, code, text, why);
	krb5_free_error_message(k, text);
	return NFS4R_ACCES;
}

/* ---- the KDC ---- */

/* The first ticket, which proves this server to the KDC. */
static krb5_error_code ask_initial(krb5_context k, const struct rpc_krb5_names *n, krb5_principal self, krb5_ccache cc)
{
	krb5_get_init_creds_opt *opt = NULL;
	krb5_keytab keytab = NULL;
	krb5_creds creds;
	krb5_error_code code = keytab_resolve(k, n, &keytab);

	memset(&creds, 0, sizeof(creds));
	if (!code)
		code = krb5_get_init_creds_opt_alloc(k, &opt);
	if (!code) {
		krb5_get_init_creds_opt_set_forwardable(opt, 0);
		krb5_get_init_creds_opt_set_proxiable(opt, 0);
		code = krb5_get_init_creds_keytab(k, &creds, self, keytab, 0, NULL, opt);
	}
	if (!code) /* only now: it takes the KDC's clock from the context */
		code = krb5_cc_initialize(k, cc, self);
	if (!code)
		code = krb5_cc_store_cred(k, cc, &creds);
	krb5_free_cred_contents(k, &creds);
	krb5_get_init_creds_opt_free(k, opt);
	if (keytab)
		krb5_kt_close(k, keytab);
	return code;
}

static bool is_weaker(krb5_enctype a, krb5_enctype b)
{
	return rpc_krb5_is_weak(a) && !rpc_krb5_is_weak(b);
}

static krb5_enctype weakest_of(krb5_context k, const krb5_creds *creds)
{
	krb5_ticket *ticket = NULL;
	krb5_enctype type = creds->keyblock.enctype;

	if (krb5_decode_ticket(&creds->ticket, &ticket) != 0)
		return type;
	if (is_weaker(ticket->enc_part.enctype, type))
		type = ticket->enc_part.enctype;
	krb5_free_ticket(k, ticket);
	return type;
}

/* The one for the peer. */
static krb5_error_code ask_service(struct rpc_krb5_ticket *t, krb5_principal self, krb5_principal peer)
{
	krb5_creds in, *creds = NULL;
	krb5_timestamp now;
	krb5_error_code code;

	memset(&in, 0, sizeof(in));
	in.client = self;
	in.server = peer;
	code = krb5_get_credentials(t->k, 0, t->cc, &in, &creds);
	if (!code)
		code = krb5_timeofday(t->k, &now);
	if (!code) {
		int64_t left = (int64_t)(uint32_t)creds->times.endtime - (uint32_t)now;

		t->life_s = left > 0 ? (uint64_t)left : 0;
		t->enctype = weakest_of(t->k, creds);
	}
	krb5_free_creds(t->k, creds);
	return code;
}

static krb5_error_code ask(struct rpc_krb5_ticket *t, const struct rpc_krb5_names *n)
{
	krb5_principal self = NULL, peer = NULL;
	char *full = NULL;
	krb5_error_code code = krb5_parse_name(t->k, n->self, &self);

	if (!code)
		code = krb5_parse_name(t->k, n->peer, &peer);
	if (!code)
		code = krb5_cc_new_unique(t->k, "MEMORY", NULL, &t->cc);
	if (!code)
		code = ask_initial(t->k, n, self, t->cc);
	if (!code)
		code = ask_service(t, self, peer);
	if (!code)
		code = krb5_cc_get_full_name(t->k, t->cc, &full);
	if (!code)
		snprintf(t->cache, sizeof(t->cache), "%s", full);
	krb5_free_string(t->k, full);
	krb5_free_principal(t->k, self);
	krb5_free_principal(t->k, peer);
	return code;
}

/* ---- what is shared ---- */

static void ticket_free(struct rpc_krb5_ticket *t)
{
	if (t->cc)
		krb5_cc_destroy(t->k, t->cc);
	if (t->k)
		krb5_free_context(t->k);
	free(t);
}

/* Under the lock; it is freed by the caller, if it is returned. */
static struct rpc_krb5_ticket *ticket_unref(struct rpc_krb5_ticket *t)
{
	assert(t->refs > 0);
	return --t->refs == 0 ? t : NULL;
}

static bool is_for(const struct rpc_krb5_ticket *t, const struct rpc_krb5_names *n)
{
	return strcmp(t->self, n->self) == 0 && strcmp(t->peer, n->peer) == 0 && strcmp(t->keytab, n->setup->keytab) == 0;
}

static uint64_t share_of(uint64_t life_s, uint64_t most_s)
{
	return life_s / 10 < most_s ? life_s / 10 : most_s;
}

static bool is_new(const struct rpc_krb5_ticket *t, const struct stat *file)
{
	return !t->refused && now_s() - t->got_s < share_of(t->life_s, SHARE_S) && t->file.st_ino == file->st_ino && t->file.st_size == file->st_size &&
		t->file.st_mtim.tv_sec == file->st_mtim.tv_sec && t->file.st_mtim.tv_nsec == file->st_mtim.tv_nsec;
}

static bool lasts(const struct rpc_krb5_ticket *t)
{
	return now_s() + share_of(t->life_s, LEAST_S) < t->got_s + t->life_s;
}

/* Under the lock. */
static struct rpc_krb5_ticket *find(const struct rpc_krb5_names *n)
{
	for (struct rpc_krb5_ticket *t = tickets.list; t; t = t->next)
		if (is_for(t, n))
			return t;
	return NULL;
}

/* Under the lock: @t, which has a reference for the list, takes the place of the one of before. What is to be freed. */
static struct rpc_krb5_ticket *enlist(struct rpc_krb5_ticket *t, const struct rpc_krb5_names *n)
{
	struct rpc_krb5_ticket **p = &tickets.list, *old;
	uint32_t count = 0;

	while (*p && !is_for(*p, n) && ++count < TICKETS_MAX)
		p = &(*p)->next;
	old = *p;
	if (old)
		*p = old->next;
	t->next = tickets.list;
	tickets.list = t;
	return old ? ticket_unref(old) : NULL;
}

/* Under the lock: false if another connection's question takes too long. */
static bool may_ask(void)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += WAIT_S;
	while (tickets.asking && now_s() - tickets.since_s < WAIT_S)
		if (pthread_cond_clockwait(&tickets.answered, &tickets.lock, CLOCK_MONOTONIC, &until) == ETIMEDOUT)
			break;
	return !tickets.asking;
}

static struct rpc_krb5_ticket *ticket_new(const struct rpc_krb5_names *n, const struct stat *file)
{
	struct rpc_krb5_ticket *t = calloc(1, sizeof(*t));

	if (!t || krb5_init_context(&t->k) != 0) {
		free(t);
		return NULL;
	}
	snprintf(t->self, sizeof(t->self), "%s", n->self);
	snprintf(t->peer, sizeof(t->peer), "%s", n->peer);
	snprintf(t->keytab, sizeof(t->keytab), "%s", n->setup->keytab);
	t->file = *file;
	t->refs = 2;
	return t;
}

/* Without the lock. A ticket with two references, or NULL and *code, with its text in @why. */
static struct rpc_krb5_ticket *fetch(const struct rpc_krb5_names *n, const struct stat *file, krb5_error_code *code, char *why)
{
	struct rpc_krb5_ticket *t = ticket_new(n, file);
	const char *text;

	*code = t ? ask(t, n) : ENOMEM;
	if (t && !*code) {
		t->got_s = now_s();
		return t;
	}
	text = t ? krb5_get_error_message(t->k, *code) : NULL;
	rpc_krb5_explain(n, *code, text ? text : "no memory, or krb5.conf cannot be read", why);
	if (t) {
		krb5_free_error_message(t->k, text);
		ticket_free(t);
	}
	return NULL;
}

/* Another connection's question has had no answer for a while. The log is to have one line for both, so the words are those that the library has when it gives up. */
static void explain_no_turn(const struct rpc_krb5_names *n, char *why)
{
	const char *at = strrchr(n->self, '@');
	char words[RPC_KRB5_NAME + 64];

	snprintf(words, sizeof(words), "Cannot contact any KDC for realm '%s'", at ? at + 1 : "");
	rpc_krb5_explain(n, KRB5_KDC_UNREACH, words, why);
}

static bool no_kdc(krb5_error_code code)
{
	return code == KRB5_KDC_UNREACH || code == KRB5_REALM_CANT_RESOLVE || code == KRB5KDC_ERR_SVC_UNAVAILABLE;
}

/* Under the lock, which is released meanwhile. NULL: @why. A ticket of before: @why, too. *unused is for the caller to free, without the lock. */
static struct rpc_krb5_ticket *get_locked(const struct rpc_krb5_names *n, const struct stat *file, struct rpc_krb5_ticket **unused, char *why)
{
	bool turn = may_ask();
	struct rpc_krb5_ticket *t = find(n);
	krb5_error_code code = KRB5_KDC_UNREACH;

	why[0] = '\0';
	if (t && is_new(t, file)) {
		t->refs++;
		return t;
	}
	if (turn) {
		tickets.asking = true;
		tickets.since_s = now_s();
		pthread_mutex_unlock(&tickets.lock);
		t = fetch(n, file, &code, why);
		pthread_mutex_lock(&tickets.lock);
		tickets.asking = false;
		pthread_cond_broadcast(&tickets.answered);
		if (t)
			*unused = enlist(t, n);
	} else {
		explain_no_turn(n, why);
	}
	if (code == 0) {
		why[0] = '\0';
		return t;
	}
	t = no_kdc(code) ? find(n) : NULL;
	if (t && !lasts(t))
		t = NULL;
	if (t)
		t->refs++;
	return t;
}

enum nfs4r_status rpc_krb5_ticket_get(const struct rpc_krb5_names *n, struct rpc_krb5_ticket **out, char *why)
{
	struct rpc_krb5_ticket *unused = NULL;
	struct stat file;
	enum nfs4r_status st = keytab_stat(n, &file, why);

	*out = NULL;
	if (st != NFS4R_OK)
		return st;
	pthread_mutex_lock(&tickets.lock);
	*out = get_locked(n, &file, &unused, why);
	pthread_mutex_unlock(&tickets.lock);
	if (unused)
		ticket_free(unused);
	return *out ? NFS4R_OK : NFS4R_ACCES;
}

void rpc_krb5_ticket_put(struct rpc_krb5_ticket *t, bool refused)
{
	struct rpc_krb5_ticket *unused;

	if (!t)
		return;
	pthread_mutex_lock(&tickets.lock);
	t->refused = t->refused || refused;
	unused = ticket_unref(t);
	pthread_mutex_unlock(&tickets.lock);
	if (unused)
		ticket_free(unused);
}

const char *rpc_krb5_ticket_cache(const struct rpc_krb5_ticket *t)
{
	return t->cache;
}

krb5_enctype rpc_krb5_ticket_enctype(const struct rpc_krb5_ticket *t)
{
	return t->enctype;
}
