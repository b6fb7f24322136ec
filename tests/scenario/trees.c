/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See trees.h. */
#include "scenario/trees.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/unit.h"

/* ---- trees ------------------------------------------------------------------------- */

struct nfs4r_oid at(struct net *n, const char *path)
{
	struct nfs4r_oid oid = n->root, child;
	char name[32];

	while (*path) {
		size_t len = strcspn(path, "/");

		snprintf(name, sizeof(name), "%.*s", (int)len, path);
		path += len + (path[len] == '/');
		if (!memtree_lookup(n->s[P].tree, &oid, name, &child))
			fail_msg("no %s", name);
		oid = child;
	}
	return oid;
}

/* Cuts the last component off; returns it. */
static const char *split(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		return NULL;
	*slash = 0;
	return slash + 1;
}

static void make_one(struct net *n, const char *word)
{
	char path[64], same[64] = "";
	const char *name;
	struct nfs4r_oid dir, old;
	bool is_dir;

	sscanf(word, "%63[^=]=%63s", path, same);
	is_dir = path[strlen(path) - 1] == '/';
	if (is_dir)
		path[strlen(path) - 1] = 0;
	name = split(path);
	dir = at(n, name ? path : "");
	if (!name)
		name = path;
	if (*same) {
		old = at(n, same);
		assert_int_equal(finish(n, op_link(n, P, &old, &dir, name)), NFS4R_OK);
		net_quiet(n);
	} else {
		make(n, P, &dir, name, is_dir ? NFS4R_OP_MKDIR : NFS4R_OP_CREATE);
	}
}

void tree(struct net *n, const char *paths)
{
	char *copy = strdup(paths), *save = NULL;

	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		make_one(n, w);
	free(copy);
}

struct net *net_policy(const char *paths)
{
	struct net *n = net_new(3);

	tree(n, paths);
	n->cfg.deep = true;
	n->cfg.revoke_ms = 100;
	net_retune(n);
	return n;
}

/* ---- operations ---------------------------------------------------------------------- */

struct client *create(struct net *n, nfs4r_server_id s, const char *dir, const char *name)
{
	struct nfs4r_oid d = at(n, dir);

	return op_name(n, s, NFS4R_OP_CREATE, &d, name);
}

struct client *unlink_(struct net *n, nfs4r_server_id s, const char *dir, const char *name)
{
	struct nfs4r_oid d = at(n, dir);

	return op_name(n, s, NFS4R_OP_REMOVE, &d, name);
}

struct client *chmod_(struct net *n, nfs4r_server_id s, const char *path)
{
	struct nfs4r_oid f = at(n, path);

	return op_setattr(n, s, &f, 0600);
}

struct client *write_(struct net *n, nfs4r_server_id s, const char *path)
{
	struct nfs4r_oid f = at(n, path);

	return op_write(n, s, &f, "text", true);
}

static void well(struct net *n, struct client *c)
{
	assert_int_equal(finish(n, c), NFS4R_OK);
	net_run(n, 3 * n->delay);
}

void do_create(struct net *n, nfs4r_server_id s, const char *dir, const char *name)
{
	well(n, create(n, s, dir, name));
}

void do_chmod(struct net *n, nfs4r_server_id s, const char *path)
{
	well(n, chmod_(n, s, path));
}

void do_claim(struct net *n, nfs4r_server_id s, const char *path, uint32_t depth)
{
	struct nfs4r_oid o = at(n, path);

	well(n, op_claim(n, s, &o, depth));
}

/* ---- questions ------------------------------------------------------------------------- */

struct ask {
	nfs4r_server_id owner;
	struct nfs4r_oid oid;
	uint32_t depth;
	bool asking;
};

static bool look(void *arg, const struct nfs4r_control_info *i)
{
	struct ask *a = arg;

	if (i->owner != a->owner || !nfs4r_oid_eq(&i->control.oid, &a->oid))
		return true;
	a->asking |= !i->acting;
	if (i->acting && !i->closing && i->control.depth > a->depth)
		a->depth = i->control.depth;
	return true;
}

uint32_t depth_of(struct net *n, nfs4r_server_id owner, const char *path)
{
	struct ask a = { owner, at(n, path), 0, false };

	nfs4r_core_each_control(n->s[owner].core, look, &a);
	return a.depth;
}

bool asking(struct net *n, nfs4r_server_id owner, const char *path)
{
	struct ask a = { owner, at(n, path), 0, false };

	nfs4r_core_each_control(n->s[owner].core, look, &a);
	return a.asking;
}

void reads(struct net *n, nfs4r_server_id owner, const char *path, uint32_t count)
{
	struct nfs4r_oid oid = at(n, path);

	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(nfs4r_core_may_serve(n->s[owner].core, &oid), NFS4R_OK);
		nfs4r_core_served(n->s[owner].core, &oid);
	}
	net_tick(n, owner);
}

void revoke(struct net *n, nfs4r_server_id from, nfs4r_server_id to, const char *path, uint32_t attempts)
{
	struct nfs4r_msg m = { .type = NFS4R_MSG_REVOKE };

	m.revoke.oid = at(n, path);
	m.revoke.prio.attempts = attempts;
	m.revoke.prio.server = from;
	net_msg(n, from, to, &m);
	net_run(n, n->delay);
}

struct nfs4r_core_stats stats(struct net *n, nfs4r_server_id s)
{
	struct nfs4r_core_stats st;

	nfs4r_core_get_stats(n->s[s].core, &st);
	return st;
}

struct nfs4r_oid mkdir_in(struct net *n, const struct nfs4r_oid *d, const char *name)
{
	return make(n, P, d, name, NFS4R_OP_MKDIR);
}

struct nfs4r_oid file_in(struct net *n, const struct nfs4r_oid *d, const char *name)
{
	return make(n, P, d, name, NFS4R_OP_CREATE);
}

bool soon(struct net *n, const struct client *c)
{
	net_run_until(n, &c->done, 200);
	return c->done;
}

void deaf(struct net *n)
{
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	net_hold(n, P, S, NFS4R_MSG_PROPOSE);
}

bool counts_right(struct net *n)
{
	char why[200];

	for (nfs4r_server_id s = 1; s <= n->n; s++)
		if (!nfs4r_core_check(n->s[s].core, why, sizeof(why)))
			return false;
	return true;
}
