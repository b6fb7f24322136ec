/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Filter in front of the control table: most reads are of objects that nobody else controls, and they must
 * not take a lock that others take. Objects with a control of another server, or newer at one (control 6.9), are in a lock-free hash table
 * (liburcu); deep controls of others are only counted. "Surely local" is answered here, everything else by the core.
 *
 * Written under the engine's lock, before any message that depends on the change leaves (core.h, ACT_CONTROL);
 * read by anybody. The "bp" flavour registers Ganesha's threads by itself.
 */
#include <stdlib.h>
#include <urcu-bp.h>
#include <urcu/rculfhash.h>

#include "engine/runtime/runtime.h"

struct node {
	struct cds_lfht_node ht;
	struct rcu_head rcu;
	struct nfs4r_oid oid;
	uint32_t count; /* controls of others on this object; changed under the engine's lock only */
};

struct fastpath {
	struct cds_lfht *table;
	nfs4r_server_id self;
	_Atomic uint32_t foreign_deep, foreign_deep_plus, foreign;
	_Atomic bool blocked; /* a commit brought an object and its control; the control is not in the table yet */
};

static int match(struct cds_lfht_node *ht, const void *key)
{
	return nfs4r_oid_eq(&caa_container_of(ht, struct node, ht)->oid, key);
}

static void free_node(struct rcu_head *head)
{
	free(caa_container_of(head, struct node, rcu));
}

struct fastpath *engine_filter_create(nfs4r_server_id self)
{
	struct fastpath *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->self = self;
	f->table = cds_lfht_new(1024, 1024, 0, CDS_LFHT_AUTO_RESIZE, NULL);
	if (!f->table) {
		free(f);
		return NULL;
	}
	return f;
}

void engine_filter_destroy(struct fastpath *f)
{
	struct cds_lfht_iter it;
	struct node *n;

	if (!f)
		return;
	rcu_read_lock();
	cds_lfht_for_each_entry(f->table, &it, n, ht)
	{
		cds_lfht_del(f->table, &n->ht);
		call_rcu(&n->rcu, free_node);
	}
	rcu_read_unlock();
	rcu_barrier();
	cds_lfht_destroy(f->table, NULL);
	free(f);
}

static struct node *find(struct fastpath *f, const struct nfs4r_oid *oid)
{
	struct cds_lfht_iter it;

	cds_lfht_lookup(f->table, nfs4r_oid_hash(oid), match, oid, &it);
	struct cds_lfht_node *ht = cds_lfht_iter_get_node(&it);
	return ht ? caa_container_of(ht, struct node, ht) : NULL;
}

static void count_depth(struct fastpath *f, uint32_t depth, int by)
{
	f->foreign += (uint32_t)by;
	if (depth >= NFS4R_DEEP)
		f->foreign_deep += (uint32_t)by;
	if (depth == NFS4R_DEEP_PLUS)
		f->foreign_deep_plus += (uint32_t)by;
}

void engine_filter_change(struct fastpath *f, const struct nfs4r_oid *oid, nfs4r_server_id owner, uint32_t depth, bool added)
{
	if (owner == f->self)
		return;
	rcu_read_lock();
	struct node *n = find(f, oid);
	if (added) {
		if (n) {
			n->count++;
		} else {
			n = calloc(1, sizeof(*n));
			if (!n)
				abort();
			n->oid = *oid;
			n->count = 1;
			cds_lfht_add(f->table, nfs4r_oid_hash(oid), &n->ht);
		}
		count_depth(f, depth, 1);
	} else if (n) {
		count_depth(f, depth, -1);
		if (--n->count == 0) {
			cds_lfht_del(f->table, &n->ht);
			call_rcu(&n->rcu, free_node);
		}
	}
	rcu_read_unlock();
}

void engine_filter_block(struct fastpath *f)
{
	f->blocked = true;
}

void engine_filter_unblock(struct fastpath *f)
{
	if (f->blocked)
		f->blocked = false;
}

bool engine_filter_local(struct fastpath *f, const struct nfs4r_oid *oid, bool is_dir)
{
	if (f->blocked)
		return false;
	if (f->foreign == 0)
		return true;
	if (is_dir ? f->foreign_deep != 0 : f->foreign_deep_plus != 0)
		return false;
	rcu_read_lock();
	bool found = find(f, oid) != NULL;
	rcu_read_unlock();
	return !found;
}
