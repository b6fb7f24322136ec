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
 */
#include "repl.h"
#include "sal_data.h"
#include "hashtable.h"

#include "base/client.h"
#include "base/siphash.h"

#define BUCKETS 64

struct give_back {
	struct give_back *next;
	struct nfs4r_oid oid;
	struct nfs4r_lock what;
};

struct client {
	struct client *next;
	uint64_t name[2]; /* in the volume */
	clientid4 number; /* Ganesha's */
	bool goes; /* the volume has not heard that yet */
	struct give_back *first, **end; /* in their order; of one that goes */
};

struct repl_lock_clients {
	pthread_mutex_t lock;
	struct client *buckets[BUCKETS]; /* under lock */
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

struct nfs4r_lock_owner repl_lock_owner(const state_owner_t *owner)
{
	const nfs_client_id_t *client = owner->so_owner.so_nfs4_owner.so_clientrec;
	struct nfs4r_lock_owner out;

	name_of(client->cid_client_record, out.client);
	hash(out.owner, owner->so_owner_val, (size_t)owner->so_owner_len, 0);
	return out;
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
	else if (c != NULL && c->number == number)
		st = NFS4R_OK;
	PTHREAD_MUTEX_unlock(&t->lock);
	return st;
}

static void keep(struct repl_lock_clients *t, const uint64_t name[2], clientid4 number)
{
	struct client **c;

	PTHREAD_MUTEX_lock(&t->lock);
	c = place_of(t, name);
	if (*c == NULL) {
		*c = gsh_calloc(1, sizeof(**c));
		memcpy((*c)->name, name, sizeof((*c)->name));
	}
	(*c)->number = number;
	(*c)->end = &(*c)->first;
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

enum nfs4r_status repl_lock_client_begins(struct repl_export *exp, const state_owner_t *owner)
{
	const nfs_client_id_t *client = owner->so_owner.so_nfs4_owner.so_clientrec;
	enum nfs4r_status st;
	uint64_t name[2];
	struct words w;

	name_of(client->cid_client_record, name);
	st = state_of(exp->lock_clients, name, client->cid_clientid);
	if (st != NFS4R_NOENT)
		return st;
	words_of(client, &w);
	return begin(exp, name, client->cid_clientid, &w);
}

/* ---- end ---- */

bool repl_lock_client_goes(struct repl_export *exp, const state_owner_t *owner, const struct nfs4r_oid *oid, const struct nfs4r_lock *what)
{
	const nfs_client_id_t *client = owner->so_owner.so_nfs4_owner.so_clientrec;
	struct give_back *g;
	struct client *c;

	if (client->cid_confirmed != EXPIRED_CLIENT_ID)
		return false;
	PTHREAD_MUTEX_lock(&exp->lock_clients->lock);
	c = find(exp->lock_clients, what->owner.client, client->cid_clientid);
	if (c != NULL) {
		g = gsh_malloc(sizeof(*g));
		*g = (struct give_back){ .oid = *oid, .what = *what };
		*c->end = g;
		c->end = &g->next;
		c->goes = true;
	}
	PTHREAD_MUTEX_unlock(&exp->lock_clients->lock);
	return c != NULL;
}

static bool is_confirmed(clientid4 number)
{
	struct gsh_buffdesc key = { .addr = &number, .len = sizeof(number) }, value;
	struct hash_latch latch;
	hash_error_t rc = hashtable_getlatch(ht_confirmed_client_id, &key, &value, false, &latch);

	if (rc == HASHTABLE_SUCCESS || rc == HASHTABLE_ERROR_NO_SUCH_KEY)
		hashtable_releaselatched(ht_confirmed_client_id, &latch);
	return rc != HASHTABLE_ERROR_NO_SUCH_KEY;
}

/* One that goes, in the bucket *at or a later one. */
static bool next_that_goes(struct repl_lock_clients *t, int *at, uint64_t name[2])
{
	struct client *c = NULL;

	PTHREAD_MUTEX_lock(&t->lock);
	for (; *at < BUCKETS && c == NULL; (*at)++) {
		for (c = t->buckets[*at]; c != NULL; c = c->next) {
			if (!c->goes && !is_confirmed(c->number))
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

bool repl_lock_clients_look(struct repl_export *exp)
{
	uint64_t name[2];
	bool all = true;
	int at = 0;

	while (all && next_that_goes(exp->lock_clients, &at, name)) {
		all = has_gone(exp, name);
		at--; /* the rest of that bucket */
	}
	return all;
}

/* ---- numbers ---- */

bool repl_lock_client_known(struct repl_export *exp, uint64_t number, uint64_t name[2])
{
	struct gsh_buffdesc key = { .addr = &number, .len = sizeof(number) }, value;
	struct hash_latch latch;
	hash_error_t rc = hashtable_getlatch(ht_confirmed_client_id, &key, &value, false, &latch);
	struct words w;

	if (rc == HASHTABLE_SUCCESS) {
		const nfs_client_id_t *client = value.addr;

		name_of(client->cid_client_record, name);
		words_of(client, &w);
	}
	if (rc == HASHTABLE_SUCCESS || rc == HASHTABLE_ERROR_NO_SUCH_KEY)
		hashtable_releaselatched(ht_confirmed_client_id, &latch);
	if (rc == HASHTABLE_SUCCESS && state_of(exp->lock_clients, name, number) == NFS4R_NOENT)
		(void)begin(exp, name, number, &w);
	return rc == HASHTABLE_SUCCESS;
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
