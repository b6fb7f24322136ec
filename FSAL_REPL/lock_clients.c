/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Clients that have locks which hold at all servers, and their names in the volume.
 *
 * Such a name survives the restarts of this server and of its daemon, since a client that reclaims its locks must be known again. So it is not Ganesha's number of the client but a hash of what the
 * client calls itself. Clients at different servers may call themselves the same (machines that were cloned from one image), so the server is in the hash as well.
 *
 * Before a client has its first lock, the volume has it in its list. Before the locks of a client whose lease is over are given back, the volume takes the client off that list (locks 7): a client that
 * comes back after a restart of this server must not find again what others have had since. Ganesha marks the record of such a client before it gives anything back. Its thread for that must not wait
 * for other servers, so the locks are kept here until the thread of locks.c has heard that the client is off the list. A client that has no locks by then goes without a word, so the table
 * is compared with Ganesha's from time to time.
 *
 * After a start of the daemon, and after a fence (lock_grace.c), the clients on the list are expected to come back and to reclaim what they had. No grace period keeps anybody else waiting meanwhile: a client
 * has no more to reclaim when it says so (RECLAIM_COMPLETE, which sets a mark in Ganesha's record of it; NFSv4.1 and later), or when a lease time is over. The volume hears that, since others
 * wait for what the client may still ask for. Of one that does not come back at all the core says by itself that it is gone.
 */
#include "repl.h"
#include "sal_data.h"
#include "hashtable.h"
#include "nfs_core.h"
#include "nfs_init.h"

#include "base/client.h"
#include "base/siphash.h"
#include "locks_int.h"

#define BUCKETS 64
#define LOOK_MS 10000 /* for clients that are gone */
#define LOOK_AGAIN_MS 1000
#define LOOK_BACK_MS 200 /* for those that are expected */

struct give_back {
	struct give_back *next;
	struct nfs4r_oid oid;
	struct nfs4r_lock what;
};

struct client {
	struct client *next;
	uint64_t name[2]; /* in the volume */
	clientid4 number; /* Ganesha's; 0: it is not back yet */
	bool begun; /* the volume has it in the list, by what it has answered to this one */
	bool goes; /* the volume has not heard that yet */
	bool reclaims; /* it may ask for what it had, until until_ms at the latest */
	bool says; /* the volume has to hear that it does not any more */
	uint64_t until_ms;
	struct give_back *first, **end; /* in their order; of one that goes */
};

struct repl_lock_clients {
	pthread_mutex_t lock;
	struct client *buckets[BUCKETS]; /* under lock */
	bool expects; /* the list has been read after the start; of the thread of locks.c */
};

static void client_free(struct client *c)
{
	for (struct give_back *g = c->first, *next; g != NULL; g = next) {
		next = g->next;
		gsh_free(g);
	}
	gsh_free(c);
}

void repl_lock_clients_init(struct repl_export *exp)
{
	exp->lock_clients = gsh_calloc(1, sizeof(*exp->lock_clients));
	PTHREAD_MUTEX_init(&exp->lock_clients->lock, NULL);
}

void repl_lock_clients_fini(struct repl_export *exp)
{
	struct repl_lock_clients *t = exp->lock_clients;

	for (int i = 0; i < BUCKETS; i++) {
		for (struct client *c = t->buckets[i], *next; c != NULL; c = next) {
			next = c->next;
			client_free(c);
		}
	}
	PTHREAD_MUTEX_destroy(&t->lock);
	gsh_free(t);
}

/* ---- names ---- */

static void hash(uint64_t out[2], const void *bytes, size_t len, uint64_t server)
{
	for (uint8_t i = 0; i < 2; i++) {
		uint8_t key[NFS4R_SIPHASH_KEY] = { (uint8_t)(i + 1) };

		memcpy(key + NFS4R_SIPHASH_KEY / 2, &server, sizeof(server));
		nfs4r_siphash((uint8_t *)&out[i], bytes, len, key);
	}
}

/* Ganesha has two clients of one name when they came to two addresses of this server, or want pNFS or not. */
static void name_of(const nfs_client_record_t *record, uint64_t out[2])
{
	size_t len = (size_t)record->cr_client_val_len;
	char *bytes = gsh_malloc(len + sizeof(record->cr_server_addr) + sizeof(record->cr_pnfs_flags)), *end = bytes;

	end = mempcpy(end, record->cr_client_val, len);
	end = mempcpy(end, &record->cr_server_addr, sizeof(record->cr_server_addr));
	end = mempcpy(end, &record->cr_pnfs_flags, sizeof(record->cr_pnfs_flags));
	hash(out, bytes, (size_t)(end - bytes), repl_module.cfg.rpc.self);
	gsh_free(bytes);
}

static const nfs_client_id_t *client_of(const state_owner_t *owner)
{
	return owner->so_owner.so_nfs4_owner.so_clientrec;
}

struct nfs4r_lock_owner repl_lock_owner(const state_owner_t *owner)
{
	struct nfs4r_lock_owner out;

	name_of(client_of(owner)->cid_client_record, out.client);
	hash(out.owner, owner->so_owner_val, (size_t)owner->so_owner_len, 0);
	return out;
}

/* While the daemon starts, Ganesha has no table of clients. */
static bool daemon_is_up(void)
{
	return nfs_init_wait_timeout(0) == 0;
}

bool repl_with_client(uint64_t number, void (*fn)(const nfs_client_id_t *client, void *arg), void *arg)
{
	struct gsh_buffdesc key = { .addr = &number, .len = sizeof(number) }, value;
	struct hash_latch latch;
	hash_error_t rc;

	if (!daemon_is_up())
		return false;
	rc = hashtable_getlatch(ht_confirmed_client_id, &key, &value, false, &latch);
	if (rc == HASHTABLE_SUCCESS)
		fn(value.addr, arg);
	if (rc == HASHTABLE_SUCCESS || rc == HASHTABLE_ERROR_NO_SUCH_KEY)
		hashtable_releaselatched(ht_confirmed_client_id, &latch);
	return rc == HASHTABLE_SUCCESS;
}

/* ---- the table ---- */

static struct client **place_of(struct repl_lock_clients *t, const uint64_t name[2])
{
	struct client **c = &t->buckets[name[0] % BUCKETS];

	while (*c != NULL && memcmp((*c)->name, name, sizeof((*c)->name)) != 0)
		c = &(*c)->next;
	return c;
}

/* NULL: it is not in the table, or another one by now. t->lock is taken. */
static struct client *find(struct repl_lock_clients *t, const uint64_t name[2], clientid4 number)
{
	struct client *c = *place_of(t, name);

	return c != NULL && c->number == number ? c : NULL;
}

static uint64_t lease_ms(void)
{
	return (uint64_t)nfs_param.nfsv4_param.lease_lifetime * 1000;
}

/* t->lock is taken. */
static struct client *add(struct repl_lock_clients *t, const uint64_t name[2])
{
	struct client **place = place_of(t, name), *c = *place;

	if (c != NULL)
		return c;
	c = gsh_calloc(1, sizeof(*c));
	memcpy(c->name, name, sizeof(c->name));
	c->end = &c->first;
	return *place = c;
}

static void expect(struct client *c, uint64_t until_ms)
{
	c->number = 0;
	c->begun = false;
	c->reclaims = true;
	c->says = false;
	c->until_ms = until_ms;
}

/* ---- beginning ---- */

/* OK: it has begun. NOENT: not yet. DELAY: the one of that name before it still goes. */
static enum nfs4r_status state_of(struct repl_lock_clients *t, const uint64_t name[2], clientid4 number)
{
	enum nfs4r_status st = NFS4R_NOENT;
	const struct client *c;

	PTHREAD_MUTEX_lock(&t->lock);
	c = *place_of(t, name);
	if (c != NULL && c->goes)
		st = NFS4R_DELAY;
	else if (c != NULL && c->number == number && c->begun)
		st = NFS4R_OK;
	PTHREAD_MUTEX_unlock(&t->lock);
	return st;
}

static void keep(struct repl_lock_clients *t, const uint64_t name[2], clientid4 number)
{
	struct client *c;

	PTHREAD_MUTEX_lock(&t->lock);
	c = add(t, name);
	c->number = number;
	c->begun = true;
	PTHREAD_MUTEX_unlock(&t->lock);
}

/* What is said of a client for people. */
struct words {
	char name[NFS4R_CLIENT_NAME_MAX + 1], address[NFS4R_CLIENT_ADDRESS_MAX + 1];
	uint32_t minor_version;
};

static void words_of(const nfs_client_id_t *client, struct words *out)
{
	repl_client_words(client, out->name, sizeof(out->name), out->address, sizeof(out->address));
	out->minor_version = client->cid_minorversion;
}

static enum nfs4r_status begin(struct repl_export *exp, const uint64_t name[2], clientid4 number, const struct words *w)
{
	enum nfs4r_status st = repl_client_begins(exp, name, w->name, w->address, w->minor_version);

	if (st == NFS4R_OK)
		keep(exp->lock_clients, name, number);
	return st;
}

enum nfs4r_status repl_lock_client_begins(struct repl_export *exp, const state_owner_t *owner, const uint64_t name[2])
{
	const nfs_client_id_t *client = client_of(owner);
	enum nfs4r_status st = state_of(exp->lock_clients, name, client->cid_clientid);
	struct words w;

	if (st != NFS4R_NOENT)
		return st;
	words_of(client, &w);
	return begin(exp, name, client->cid_clientid, &w);
}

/* ---- coming back ---- */

enum nfs4r_status repl_lock_client_reclaims(struct repl_export *exp, const state_owner_t *owner, const uint64_t name[2])
{
	struct repl_lock_clients *t = exp->lock_clients;
	enum nfs4r_status st = NFS4R_OK;
	struct client *c;

	PTHREAD_MUTEX_lock(&t->lock);
	c = *place_of(t, name);
	if (c != NULL && c->goes)
		st = NFS4R_DELAY;
	else if (c != NULL && !c->reclaims)
		st = NFS4R_DENIED;
	PTHREAD_MUTEX_unlock(&t->lock);
	return st;
}

void repl_lock_client_is_back(struct repl_export *exp, const state_owner_t *owner, const uint64_t name[2])
{
	struct repl_lock_clients *t = exp->lock_clients;

	PTHREAD_MUTEX_lock(&t->lock);
	if (*place_of(t, name) == NULL)
		expect(add(t, name), repl_locks_now_ms() + lease_ms());
	PTHREAD_MUTEX_unlock(&t->lock);
	keep(t, name, client_of(owner)->cid_clientid);
}

struct expecting {
	struct repl_lock_clients *t;
	uint64_t until_ms;
};

static bool expect_listed(void *arg, const struct nfs4r_client_entry *k)
{
	const struct expecting *e = arg;

	PTHREAD_MUTEX_lock(&e->t->lock);
	if (*place_of(e->t, k->client.id) == NULL)
		expect(add(e->t, k->client.id), e->until_ms);
	PTHREAD_MUTEX_unlock(&e->t->lock);
	return true;
}

static void is_back(struct client *c, const nfs_client_id_t *client)
{
	c->begun &= c->number == client->cid_clientid;
	c->number = client->cid_clientid;
	if (client->cid_minorversion > 0 && client->cid_cb.v41.cid_reclaim_complete) {
		c->reclaims = false;
		c->says = true;
	}
}

static void look_back(struct rbt_node *node, void *arg)
{
	const struct hash_data *entry = RBT_OPAQ(node);
	const nfs_client_id_t *client = entry->val.addr;
	struct repl_lock_clients *t = arg;
	uint64_t name[2];
	struct client *c;

	if (client->cid_confirmed != CONFIRMED_CLIENT_ID)
		return;
	name_of(client->cid_client_record, name);
	c = *place_of(t, name);
	if (c != NULL && c->reclaims && !c->goes)
		is_back(c, client);
}

/* One that the volume has to hear of, in the bucket *at or a later one. */
static bool next_that_says(struct repl_lock_clients *t, int *at, uint64_t name[2])
{
	struct client *c = NULL;

	PTHREAD_MUTEX_lock(&t->lock);
	for (; *at < BUCKETS && c == NULL; (*at)++)
		for (c = t->buckets[*at]; c != NULL && (!c->says || c->goes); c = c->next)
			;
	if (c != NULL) {
		memcpy(name, c->name, sizeof(c->name));
		c->says = false;
	}
	PTHREAD_MUTEX_unlock(&t->lock);
	return c != NULL;
}

static void say_all(struct repl_export *exp)
{
	uint64_t name[2];
	int at = 0;

	while (next_that_says(exp->lock_clients, &at, name)) {
		repl_client_reclaimed(exp, name);
		at--; /* the rest of that bucket */
	}
}

/* Its time is over. True: nobody has to know it any more. */
static bool is_late(struct client *c, uint64_t now)
{
	if (c->goes || !c->reclaims || now < c->until_ms)
		return false;
	if (c->number == 0)
		return true;
	c->reclaims = false;
	c->says = true;
	return false;
}

/* While this server does not serve, nobody can reclaim, and no time passes for them. t->lock is taken. True: some are still expected. */
static bool end_late(struct repl_lock_clients *t, uint64_t now, bool serves)
{
	bool more = false;

	for (int i = 0; i < BUCKETS; i++) {
		for (struct client **at = &t->buckets[i]; *at != NULL;) {
			struct client *c = *at;

			if (!serves)
				c->until_ms = now + lease_ms();
			if (is_late(c, now)) {
				*at = c->next;
				client_free(c);
				continue;
			}
			more |= c->reclaims && !c->goes;
			at = &c->next;
		}
	}
	return more;
}

static bool any_reclaims(const struct repl_lock_clients *t)
{
	for (int i = 0; i < BUCKETS; i++)
		for (const struct client *c = t->buckets[i]; c != NULL; c = c->next)
			if (c->reclaims)
				return true;
	return false;
}

/* True: some are still expected. */
static bool look_for_expected(struct repl_export *exp)
{
	struct repl_lock_clients *t = exp->lock_clients;
	struct expecting e = { .t = t, .until_ms = repl_locks_now_ms() + lease_ms() };
	bool more, serves = repl_serves(exp);

	if (!t->expects)
		t->expects = repl_clients(exp, expect_listed, &e);
	PTHREAD_MUTEX_lock(&t->lock);
	if (any_reclaims(t))
		hashtable_for_each(ht_confirmed_client_id, look_back, t);
	more = end_late(t, repl_locks_now_ms(), serves);
	PTHREAD_MUTEX_unlock(&t->lock);
	say_all(exp);
	return more || !t->expects;
}

void repl_lock_clients_expect_all(struct repl_export *exp)
{
	struct repl_lock_clients *t = exp->lock_clients;
	uint64_t until_ms = repl_locks_now_ms() + lease_ms();

	PTHREAD_MUTEX_lock(&t->lock);
	for (int i = 0; i < BUCKETS; i++)
		for (struct client *c = t->buckets[i]; c != NULL; c = c->next)
			if (!c->goes)
				expect(c, until_ms);
	PTHREAD_MUTEX_unlock(&t->lock);
}

void repl_lock_clients_have_all(struct repl_export *exp)
{
	struct repl_lock_clients *t = exp->lock_clients;

	PTHREAD_MUTEX_lock(&t->lock);
	for (int i = 0; i < BUCKETS; i++)
		for (struct client *c = t->buckets[i]; c != NULL; c = c->next)
			c->says = !c->reclaims && !c->goes; /* the volume has to hear first that those are gone */
	PTHREAD_MUTEX_unlock(&t->lock);
	say_all(exp);
}

/* ---- end ---- */

enum repl_given_back repl_lock_client_gives_back(struct repl_export *exp, const state_owner_t *owner, const struct nfs4r_oid *oid, const struct nfs4r_lock *what)
{
	const nfs_client_id_t *client = client_of(owner);
	enum repl_given_back when = REPL_GIVEN_BACK;
	struct give_back *g;
	struct client *c;

	if (client->cid_confirmed == STALE_CLIENT_ID)
		return REPL_RETAINED_FOR_RECLAIM;
	if (client->cid_confirmed != EXPIRED_CLIENT_ID)
		return REPL_GIVEN_BACK;
	PTHREAD_MUTEX_lock(&exp->lock_clients->lock);
	c = find(exp->lock_clients, what->owner.client, client->cid_clientid);
	if (c != NULL) {
		g = gsh_malloc(sizeof(*g));
		*g = (struct give_back){ .oid = *oid, .what = *what };
		*c->end = g;
		c->end = &g->next;
		c->goes = true;
		when = REPL_GIVEN_BACK_LATER;
	}
	PTHREAD_MUTEX_unlock(&exp->lock_clients->lock);
	return when;
}

static void see_confirmed(const nfs_client_id_t *client, void *arg)
{
	*(bool *)arg = client->cid_confirmed == CONFIRMED_CLIENT_ID;
}

static bool is_confirmed(clientid4 number)
{
	bool yes = false;

	return repl_with_client(number, see_confirmed, &yes) && yes;
}

/* One that goes, in the bucket *at or a later one. */
static bool next_that_goes(struct repl_lock_clients *t, int *at, uint64_t name[2])
{
	struct client *c = NULL;

	PTHREAD_MUTEX_lock(&t->lock);
	for (; *at < BUCKETS && c == NULL; (*at)++) {
		for (c = t->buckets[*at]; c != NULL; c = c->next) {
			if (!c->goes && c->number != 0 && !is_confirmed(c->number))
				c->goes = true;
			if (c->goes)
				break;
		}
	}
	if (c != NULL)
		memcpy(name, c->name, sizeof(c->name));
	PTHREAD_MUTEX_unlock(&t->lock);
	return c != NULL;
}

static void give_all_back(struct repl_export *exp, const struct client *c)
{
	for (const struct give_back *g = c->first; g != NULL; g = g->next) {
		struct nfs4r_op op = { .type = NFS4R_OP_UNLOCK, .obj = g->oid, .lock = { .lock = g->what } };

		(void)repl_lock_ask(exp, &op);
	}
}

/* Nobody of that name begins before it is out of the table. */
static bool has_gone(struct repl_export *exp, const uint64_t name[2])
{
	struct repl_lock_clients *t = exp->lock_clients;
	struct client **at, *c;

	if (repl_client_gone(exp, name) == NFS4R_DELAY)
		return false;
	PTHREAD_MUTEX_lock(&t->lock);
	at = place_of(t, name);
	c = *at;
	if (c != NULL)
		*at = c->next;
	PTHREAD_MUTEX_unlock(&t->lock);
	if (c != NULL) {
		give_all_back(exp, c);
		client_free(c);
	}
	return true;
}

uint64_t repl_lock_clients_look(struct repl_export *exp)
{
	bool expected, all = true;
	uint64_t name[2];
	int at = 0;

	if (!daemon_is_up())
		return LOOK_BACK_MS;
	expected = look_for_expected(exp);
	while (all && next_that_goes(exp->lock_clients, &at, name)) {
		all = has_gone(exp, name);
		at--; /* the rest of that bucket */
	}
	if (expected)
		return LOOK_BACK_MS;
	return all ? LOOK_MS : LOOK_AGAIN_MS;
}

/* ---- numbers ---- */

struct known {
	uint64_t *name;
	struct words words;
};

static void see_known(const nfs_client_id_t *client, void *arg)
{
	struct known *k = arg;

	name_of(client->cid_client_record, k->name);
	words_of(client, &k->words);
}

enum nfs4r_status repl_lock_client_known(struct repl_export *exp, uint64_t number, uint64_t name[2])
{
	struct known k = { .name = name };
	enum nfs4r_status st;

	if (!repl_with_client(number, see_known, &k))
		return NFS4R_NOENT;
	st = state_of(exp->lock_clients, name, number);
	return st == NFS4R_NOENT ? begin(exp, name, number, &k.words) : st;
}

uint64_t repl_lock_client_number(struct repl_export *exp, const uint64_t name[2])
{
	struct repl_lock_clients *t = exp->lock_clients;
	const struct client *c;
	uint64_t number;

	PTHREAD_MUTEX_lock(&t->lock);
	c = *place_of(t, name);
	number = c == NULL ? 0 : c->number;
	PTHREAD_MUTEX_unlock(&t->lock);
	return number;
}
