/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The locks of this server's clients for an administrator. Rows are copied while the table of locks stands still; whose they are is looked up after that, in Ganesha's table of clients. A
 * client that has gone meanwhile has no name.
 */
#include "repl.h"
#include "sal_data.h"
#include "sal_functions.h"
#include "client_mgr.h"

struct copy {
	struct nfs4r_lock_info *out;
	uint32_t max, total;
};

static void add(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t age_ms)
{
	struct copy *c = arg;

	if (c->total++ < c->max)
		c->out[c->total - 1] = (struct nfs4r_lock_info){ .oid = *oid, .lock = *lock, .state = state, .age_ms = age_ms };
}

/* What the client calls itself may have any bytes. */
static void name_of(const nfs_client_record_t *record, char *out, size_t len)
{
	size_t n = record == NULL || record->cr_client_val_len < 0 ? 0 : MIN((size_t)record->cr_client_val_len, len - 1);

	for (size_t i = 0; i < n; i++)
		out[i] = record->cr_client_val[i] == '\0' ? ' ' : record->cr_client_val[i];
	out[n] = '\0';
}

/* An IPv4 address is one also where the socket has both kinds. */
static const char *address_of(const struct gsh_client *host)
{
	static const char mapped[] = "::ffff:";
	bool is_mapped = strncmp(host->hostaddr_str, mapped, strlen(mapped)) == 0 && strchr(host->hostaddr_str, '.') != NULL;

	return host->hostaddr_str + (is_mapped ? strlen(mapped) : 0);
}

void repl_client_words(const nfs_client_id_t *client, char *name, size_t name_len, char *address, size_t address_len)
{
	name_of(client->cid_client_record, name, name_len);
	address[0] = '\0';
	if (client->gsh_client != NULL)
		snprintf(address, address_len, "%.63s", address_of(client->gsh_client));
}

static void say_who(const nfs_client_id_t *client, void *arg)
{
	struct nfs4r_lock_info *i = arg;

	repl_client_words(client, i->client, sizeof(i->client), i->address, sizeof(i->address));
}

static void look_up(struct repl_export *exp, bool shared, struct nfs4r_lock_info *i)
{
	(void)repl_with_client(shared ? repl_lock_client_number(exp, i->lock.owner.client) : i->lock.owner.client[0], say_who, i);
}

uint32_t repl_lops_locks(void *ctx, const struct nfs4r_oid *oid, struct nfs4r_lock_info *out, uint32_t max)
{
	struct copy c = { .out = out, .max = max };
	struct repl_export *exp = ctx;
	bool shared = repl_locks_are_shared(exp);

	repl_locks_walk(exp, oid, add, &c);
	for (uint32_t i = 0; i < MIN(c.total, max); i++) {
		if (i > 0 && out[i].lock.owner.client[0] == out[i - 1].lock.owner.client[0]) {
			memcpy(out[i].client, out[i - 1].client, sizeof(out[i].client));
			memcpy(out[i].address, out[i - 1].address, sizeof(out[i].address));
		} else {
			look_up(exp, shared, &out[i]);
		}
	}
	return c.total;
}
