/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Clients: each sits at one server and does one thing at a time, at random (or by a script,
 * script.c), on few directories and few names, so that they get into one another's way. After
 * DELAY it tries the same again; when its server dies it forgets everything and goes on there
 * later. After the healing it only finishes: what was answered DELAY must work in the end, what
 * is open is closed.
 */
#include "sim.h"

static void submit_random(struct client *c);

/* ---- life ------------------------------------------------------------------------ */

static void wake(struct sim *s, void *arg, uint64_t n, uint64_t b)
{
	struct client *c = arg;
	struct nfs4r_op *op = c->retry;

	if (c->wakes != n || c->busy)
		return;
	if (!c->server->up) {
		client_wake_in(c, 200 * MS);
		return;
	}
	if (op) {
		c->retry = NULL;
		client_submit(c, op);
		return;
	}
	if (c->locking) {
		locking_step(c);
		return;
	}
	if (s->healed) {
		if (c->open)
			client_close(c);
		return;
	}
	if (burst_step(c))
		return;
	if (c->script)
		script_step(c);
	else
		submit_random(c);
}

void client_wake_in(struct client *c, uint64_t us)
{
	client_at(c->server, c->server->sim->now + us, wake, c, ++c->wakes, 0);
}

static void think(struct client *c)
{
	struct sim *s = c->server->sim;

	client_wake_in(c, rng_time(&s->rng, c->burst_left ? s->plan.think_us / 8 : s->plan.think_us));
}

struct client *client_new(struct server *v)
{
	struct client *c = calloc(1, sizeof(*c));

	c->server = v;
	if (v->nclients == CLIENTS_MAX)
		sim_fail(v->sim, "simulator: too many clients");
	v->clients[v->nclients++] = c;
	client_wake_in(c, rng_below(&v->sim->rng, 200 * MS));
	return c;
}

void clients_init(struct sim *s)
{
	const struct mode *m = s->plan.mode;

	for (uint32_t i = 1; i <= s->plan.servers; i++) {
		s->servers[i].sim = s;
		s->servers[i].id = (nfs4r_server_id)i;
		s->servers[i].own_next = 1;
	}
	script_tree(s, m->tree ? m->tree : default_tree);
	if (m->text)
		script_clients(s, m->text);
	for (uint32_t i = 1; i <= s->plan.servers; i++)
		for (uint32_t k = 0; k < s->plan.clients; k++)
			client_new(&s->servers[i]);
	if (s->plan.lockers)
		locking_begin(s);
}

void clients_fini(struct server *v)
{
	for (uint32_t i = 0; i < v->nclients; i++) {
		op_free(v->clients[i]->retry);
		free(v->clients[i]->locking);
		free(v->clients[i]);
	}
	v->nclients = 0;
}

void client_server_down(struct server *v)
{
	for (uint32_t i = 0; i < v->nclients; i++) {
		struct client *c = v->clients[i];

		c->busy = c->open = false;
		if (c->locking)
			locking_server_down(c);
		c->burst_left = c->nuncommitted = 0; /* this client is gone, too */
		op_free(c->retry);
		c->retry = NULL;
		client_wake_in(c, 300 * MS);
	}
}

bool clients_idle(const struct sim *s)
{
	for (uint32_t i = 1; i <= s->plan.servers; i++)
		for (uint32_t k = 0; k < s->servers[i].nclients; k++) {
			const struct client *c = s->servers[i].clients[k];

			if (c->busy || c->retry || c->open || (c->locking && !locking_idle(c)))
				return false;
		}
	return true;
}

void clients_blame(struct sim *s, char *buf, size_t len)
{
	size_t n = 0;
	char text[200];

	buf[0] = 0;
	for (uint32_t i = 1; i <= s->plan.servers && n < len; i++) {
		struct server *v = &s->servers[i];

		for (struct simop *so = v->ops; so && n < len; so = so->next) {
			op_print(s, so->op, text, sizeof(text));
			n += snprintf(buf + n, len - n, "S%u has %s%s since %llu ms; ", i, text,
				      so->remote ? " (remote)" : "", (unsigned long long)(so->started_us / 1000));
		}
		for (uint32_t k = 0; k < v->nclients && n < len; k++) {
			if (v->clients[k]->locking && !locking_idle(v->clients[k])) {
				locking_blame(v->clients[k], text, sizeof(text));
				n += snprintf(buf + n, len - n, "%s", text);
			}
			if (!v->clients[k]->retry)
				continue;
			op_print(s, v->clients[k]->retry, text, sizeof(text));
			n += snprintf(buf + n, len - n, "S%u still answers DELAY to %s; ", i, text);
		}
	}
}

/* ---- operations --------------------------------------------------------------------- */

struct nfs4r_op *client_op(uint32_t type)
{
	struct nfs4r_op *op = calloc(1, sizeof(*op));

	op->type = type;
	return op;
}

static void cancel(struct sim *s, void *arg, uint64_t generation, uint64_t began)
{
	struct server *v = arg;
	struct nfs4r_event ev = { .type = NFS4R_EV_OP_CANCEL };

	if (!v->up || v->generation != generation)
		return;
	for (struct simop *so = v->ops; so; so = so->next)
		if (so->client && so->started_us == began && !so->given && !so->done && !ev.op &&
		    !so->op->id.origin) /* what was forwarded may be executed already */
			ev.op = so->op;
	if (ev.op)
		server_step(v, &ev);
}

void client_submit(struct client *c, struct nfs4r_op *op)
{
	struct server *v = c->server;
	struct sim *s = v->sim;
	struct nfs4r_event ev = { .type = NFS4R_EV_OP, .op = op };
	struct simop *so = simop_new(v, op, c);
	char text[200];

	check_submitted(v, so);
	c->busy = true;
	if (s->trace) {
		op_print(s, op, text, sizeof(text));
		sim_trace(s, v, "asked %s", text);
	}
	if (!s->healed && rng_chance(&s->rng, s->plan.cancels))
		client_at(v, s->now + rng_below(&s->rng, 300 * MS), cancel, v, v->generation, s->now);
	server_step(v, &ev);
}

void client_op_done(struct client *c, struct simop *so)
{
	struct server *v = c->server;
	struct sim *s = v->sim;
	struct nfs4r_op *op = so->op;

	c->busy = false;
	if (c->locking) {
		locking_op_done(c, op);
		return;
	}
	if (op->status == NFS4R_DELAY && (s->healed || ++c->tries < 20)) {
		op_free(c->retry);
		c->retry = op_copy(op); /* what the core set for the first try is not sent again */
		c->retry->status = NFS4R_OK;
		memset(&c->retry->id, 0, sizeof(c->retry->id));
		memset(&c->retry->result, 0, sizeof(c->retry->result));
		client_wake_in(c, rng_range(&s->rng, 10 * MS, 200 * MS));
		return;
	}
	c->tries = 0;
	if (c->bind[0] && op->status == NFS4R_OK)
		script_bind(c, &op->result);
	c->bind[0] = 0;
	if (op->type == NFS4R_OP_CLOSE) {
		struct nfs4r_event *ev = calloc(1, sizeof(*ev));

		ev->type = NFS4R_EV_CLOSED;
		ev->oid = op->obj;
		c->open = false;
		server_soon(v, ev);
	}
	think(c);
}

void client_read_done(struct client *c, const struct nfs4r_read *r)
{
	c->busy = false;
	if (c->locking)
		locking_read_done(c, r);
	else
		think(c);
}

void client_open(struct client *c, uint32_t obj)
{
	struct nfs4r_event *ev = calloc(1, sizeof(*ev));
	struct sim *s = c->server->sim;

	ev->type = NFS4R_EV_OPENED;
	ev->oid = s->objs[obj].oid;
	c->open = true;
	c->file = obj;
	c->writes_left = 1 + (uint32_t)rng_below(&s->rng, 4);
	server_soon(c->server, ev);
	think(c);
}

void client_write(struct client *c, uint32_t obj)
{
	struct sim *s = c->server->sim;
	struct nfs4r_op *op = client_op(NFS4R_OP_WRITE);
	uint32_t words = 1 + (uint32_t)rng_below(&s->rng, 6), word = ++s->next_write;

	op->obj = s->objs[obj].oid;
	op->offset = 4 * rng_below(&s->rng, CONTENT_MAX / 4 - words + 1);
	op->length = words * 4;
	op->data = nfs4r_buf_new(words * 4);
	for (uint32_t i = 0; i < words; i++)
		memcpy(op->data->data + 4 * i, &word, 4);
	op->under_open = c->open && c->file == obj;
	op->stable = s->plan.stable_writes && rng_chance(&s->rng, s->plan.stable_writes);
	client_submit(c, op);
}

void client_commit(struct client *c, uint32_t obj)
{
	c->busy = true;
	c->server->sim->totals.commits++;
	read_start(c->server, c, NFS4R_RD_COMMIT, obj, 0);
}

void client_close(struct client *c)
{
	struct nfs4r_op *op = client_op(NFS4R_OP_CLOSE);

	op->obj = c->server->sim->objs[c->file].oid;
	client_submit(c, op);
}

/* ---- at random ---------------------------------------------------------------------------- */

/* Some object of @type (0 = any) that this server knows; the root when there is none. */
static uint32_t pick(struct client *c, uint32_t type)
{
	struct sim *s = c->server->sim;
	const struct tree *t = &c->server->tree;
	uint32_t n = rng_chance(&s->rng, s->plan.shared) ? s->first_objs : s->nobjs;
	uint32_t at = (uint32_t)rng_below(&s->rng, n);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t obj = (at + i) % n;
		const struct row *r = tree_get(t, obj);

		if (r->state == ROW_KNOWN && (!type || r->type == type) && (type || obj))
			return obj;
	}
	return 0;
}

static void pick_name(struct client *c, uint32_t dir, bool old, struct nfs4r_name *out)
{
	struct sim *s = c->server->sim;
	const struct row *r = tree_get(&c->server->tree, dir);
	char text[2] = { (char)('a' + rng_below(&s->rng, 5)), 0 };

	if (old && r->nnames && rng_chance(&s->rng, 850))
		name_set(s, out, r->names[rng_below(&s->rng, r->nnames)].name);
	else
		name_set(s, out, name_id(s, text));
}

static void in_dir(struct client *c, struct nfs4r_op *op, bool old)
{
	uint32_t dir = pick(c, NFS4R_TYPE_DIR);

	op->dir = c->server->sim->objs[dir].oid;
	pick_name(c, dir, old, &op->name);
}

static void random_read(struct client *c)
{
	struct sim *s = c->server->sim;
	uint32_t dir;
	struct nfs4r_name name;

	c->busy = true;
	switch (rng_below(&s->rng, 4)) {
	case 0:
		read_start(c->server, c, NFS4R_RD_GETATTR, pick(c, 0), 0);
		break;
	case 1:
		read_start(c->server, c, NFS4R_RD_READDIR, pick(c, NFS4R_TYPE_DIR), 0);
		break;
	case 2:
		read_start(c->server, c, NFS4R_RD_READ, pick(c, NFS4R_TYPE_FILE), 0);
		break;
	default:
		dir = pick(c, NFS4R_TYPE_DIR);
		pick_name(c, dir, true, &name);
		read_start(c->server, c, NFS4R_RD_LOOKUP, dir, name_of(s, &name));
	}
}

static struct nfs4r_op *random_setattr(struct client *c)
{
	struct sim *s = c->server->sim;
	struct nfs4r_op *op = client_op(NFS4R_OP_SETATTR);
	uint32_t obj = pick(c, rng_chance(&s->rng, 700) ? NFS4R_TYPE_FILE : 0);

	op->obj = s->objs[obj].oid;
	if (tree_get(&c->server->tree, obj)->type == NFS4R_TYPE_FILE && rng_chance(&s->rng, 500)) {
		op->attrs.mask = NFS4R_ATTR_SIZE;
		op->attrs.size = rng_below(&s->rng, CONTENT_MAX);
	} else {
		op->attrs.mask = NFS4R_ATTR_MODE;
		op->attrs.mode = (uint32_t)rng_below(&s->rng, 512);
	}
	return op;
}

static struct nfs4r_op *random_claim(struct client *c)
{
	struct sim *s = c->server->sim;
	struct nfs4r_op *op = client_op(NFS4R_OP_CLAIM);

	op->obj = s->objs[pick(c, NFS4R_TYPE_DIR)].oid;
	op->depth = rng_chance(&s->rng, 600) ? NFS4R_DEEP_PLUS : NFS4R_DEEP;
	return op;
}

static struct nfs4r_op *random_dirop(struct client *c)
{
	struct sim *s = c->server->sim;
	struct nfs4r_op *op;
	uint32_t k = (uint32_t)rng_below(&s->rng, 100), dir;

	if (k < 28) {
		op = client_op(k < 18 ? NFS4R_OP_CREATE : k < 25 ? NFS4R_OP_MKDIR :
				       k < 27			 ? NFS4R_OP_SYMLINK :
								   NFS4R_OP_MKNOD);
		op->attrs.mask = NFS4R_ATTR_MODE;
		op->attrs.mode = (uint32_t)rng_below(&s->rng, 512);
		if (op->type == NFS4R_OP_MKNOD) {
			op->attrs.mask |= NFS4R_ATTR_TYPE;
			op->attrs.type = NFS4R_TYPE_FIFO;
		}
		if (op->type == NFS4R_OP_SYMLINK)
			op->text = strdup("text");
		in_dir(c, op, rng_chance(&s->rng, 100));
	} else if (k < 40) {
		op = client_op(NFS4R_OP_LINK);
		op->obj = s->objs[pick(c, NFS4R_TYPE_FILE)].oid;
		in_dir(c, op, false);
	} else if (k < 66) {
		op = client_op(NFS4R_OP_REMOVE);
		in_dir(c, op, true);
	} else {
		op = client_op(NFS4R_OP_RENAME);
		in_dir(c, op, true);
		op->dir2 = op->dir;
		dir = obj_of(s, &op->dir);
		if (rng_chance(&s->rng, 750)) {
			dir = pick(c, NFS4R_TYPE_DIR);
			op->dir2 = s->objs[dir].oid;
		}
		pick_name(c, dir, rng_chance(&s->rng, 300), &op->name2);
	}
	return op;
}

static struct nfs4r_op *random_xattr(struct client *c)
{
	struct sim *s = c->server->sim;
	struct nfs4r_op *op = client_op(NFS4R_OP_SETXATTR);
	uint32_t word = ++s->next_write;

	op->obj = s->objs[pick(c, 0)].oid;
	op->text = strdup("user.x");
	op->data = nfs4r_buf_copy(&word, sizeof(word));
	return op;
}

static void submit_random(struct client *c)
{
	struct sim *s = c->server->sim;
	uint32_t k = (uint32_t)rng_below(&s->rng, 100), file;

	if (c->nuncommitted && s->plan.commits && rng_chance(&s->rng, s->plan.commits)) {
		client_commit(c, c->uncommitted[rng_below(&s->rng, c->nuncommitted)].obj);
	} else if (c->open && c->writes_left) {
		c->writes_left--;
		client_write(c, c->file);
	} else if (c->open) {
		client_close(c);
	} else if (rng_chance(&s->rng, s->plan.bursts)) {
		if (!burst_random(c, pick(c, NFS4R_TYPE_DIR)))
			think(c);
	} else if (rng_chance(&s->rng, s->plan.deep_claims)) {
		client_submit(c, random_claim(c));
	} else if (k < 34) {
		random_read(c);
	} else if (k < 64) {
		client_submit(c, random_dirop(c));
	} else if (k < 72) {
		client_submit(c, random_setattr(c));
	} else if (k < 74) {
		client_submit(c, random_xattr(c));
	} else {
		file = pick(c, NFS4R_TYPE_FILE);
		if (!file)
			think(c);
		else if (k < 80)
			client_write(c, file);
		else
			client_open(c, file);
	}
}
