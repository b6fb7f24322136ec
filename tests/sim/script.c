/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Scripted clients, for what chance meets too rarely: a few lines say who does what in which
 * order, the seed still decides every delay, and with the usual faults around it.
 *
 * A tree is a list of paths ("D/ D/f E/h=f": directories end in /, h is a second name of f); the
 * last component is the symbol by which scripts call the object. A script has one line for each
 * client: a letter for its server (which one is the seed's choice), '*' if it starts over at the
 * end, steps between ';':
 *   claim D deep|deep+|s    create D n [sym]   mkdir D n [sym]   link f D n    remove D n
 *   rename D n E m          open f  write f  commit f  close   trunc f  chmod x
 *   get x   read f   lookup D n   list D           wait MS (up to)    stop
 *   burst D build|storm|churn N (so many operations below D, see burst.c)
 *   flag n   need n (waits for the flag)           slow A B MS   slowc A B MS (up to so much more
 *                                                  from A to B: entries, control messages)
 * A step on a symbol that does not exist yet is left out.
 */
#include "sim.h"

#define SYMBOLS_MAX 40

const char default_tree[] = "D/ E/ D/x/ D/x/f D/y/ E/z/ E/g D/h E/h2=h D/x/k E/z/m";

struct script {
	uint32_t n;
	struct {
		char name[12];
		uint32_t obj;
	} symbols[SYMBOLS_MAX];
	nfs4r_server_id actor[26];
	bool flags[10];
};

/* ---- symbols ---------------------------------------------------------------------- */

static struct script *script_of(struct sim *s)
{
	if (!s->script)
		s->script = calloc(1, sizeof(struct script));
	return s->script;
}

static void set_symbol(struct sim *s, const char *name, uint32_t obj)
{
	struct script *x = script_of(s);
	uint32_t i = 0;

	while (i < x->n && strcmp(x->symbols[i].name, name))
		i++;
	if (i == SYMBOLS_MAX)
		return;
	if (i == x->n)
		snprintf(x->symbols[x->n++].name, sizeof(x->symbols[0].name), "%s", name);
	x->symbols[i].obj = obj;
}

static int symbol(struct sim *s, const char *name)
{
	struct script *x = script_of(s);

	for (uint32_t i = 0; i < x->n; i++)
		if (!strcmp(x->symbols[i].name, name))
			return (int)x->symbols[i].obj;
	return -1;
}

void script_bind(struct client *c, const struct nfs4r_oid *oid)
{
	set_symbol(c->server->sim, c->bind, obj_of(c->server->sim, oid));
}

/* ---- the first tree ------------------------------------------------------------------ */

static void add_name(struct sim *s, uint32_t dir, const char *name, uint32_t obj, uint32_t type)
{
	struct row *r = tree_row(&s->base, dir);

	r->names = realloc(r->names, (r->nnames + 1) * sizeof(*r->names));
	r->names[r->nnames].name = name_id(s, name);
	r->names[r->nnames].obj = obj;
	r->names[r->nnames].type = type;
	r->names[r->nnames].cookie = 3 + r->nnames;
	r->names_cap = ++r->nnames;
}

static uint32_t add_object(struct sim *s, uint32_t type, int parent)
{
	struct nfs4r_oid oid;
	struct row *r;
	uint32_t obj;

	if (parent < 0)
		nfs4r_oid_root(&oid, (const uint8_t *)"simulated volume");
	else
		nfs4r_oid_make(&oid, 1, 0, s->nobjs); /* incarnation 0: before any start */
	obj = obj_of(s, &oid);
	r = tree_row(&s->base, obj);
	r->state = ROW_KNOWN;
	r->type = (uint8_t)type;
	r->version = 1;
	r->nlink = 1;
	r->mode = 0644;
	if (parent >= 0)
		r->parents[r->nparents++] = (uint32_t)parent;
	return obj;
}

static void add_path(struct sim *s, char *path)
{
	uint32_t dir = 0;
	char *slash, *same = strchr(path, '=');
	bool is_dir = path[strlen(path) - 1] == '/';

	if (is_dir)
		path[strlen(path) - 1] = 0;
	if (same)
		*same++ = 0;
	while ((slash = strchr(path, '/'))) {
		*slash = 0;
		dir = (uint32_t)tree_lookup(&s->base, dir, name_id(s, path));
		path = slash + 1;
	}
	if (same) {
		uint32_t obj = (uint32_t)symbol(s, same);
		struct row *r = tree_row(&s->base, obj);

		r->multi = true;
		r->nlink++;
		r->parents[r->nparents++] = dir;
		add_name(s, dir, path, obj, r->type);
	} else {
		uint32_t type = is_dir ? NFS4R_TYPE_DIR : NFS4R_TYPE_FILE;
		uint32_t obj = add_object(s, type, (int)dir);

		add_name(s, dir, path, obj, type);
		set_symbol(s, path, obj);
	}
}

void script_tree(struct sim *s, const char *text)
{
	char *copy = strdup(text), *save = NULL;

	set_symbol(s, "root", add_object(s, NFS4R_TYPE_DIR, -1));
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		add_path(s, w);
	free(copy);
	s->first_objs = s->nobjs;
	for (uint32_t i = 0; i < s->nobjs; i++) {
		struct obj *o = &s->objs[i];

		o->vers = calloc(o->cap = 8, sizeof(*o->vers));
		o->nvers = 1;
		o->vers[0].version = 1;
		o->vers[0].hashed = o->vers[0].completed = true;
		o->vers[0].hash = row_hash(tree_get(&s->base, i));
	}
	tree_copy(&s->oracle, &s->base);
}

/* ---- clients --------------------------------------------------------------------------- */

void script_clients(struct sim *s, const char *text)
{
	struct script *x = script_of(s);
	uint32_t n = s->plan.servers, first = (uint32_t)rng_below(&s->rng, n), stride = 1;

	if (rng_chance(&s->rng, 500))
		stride = n - 1;
	for (uint32_t i = 0; i < 26; i++)
		x->actor[i] = (nfs4r_server_id)(1 + (first + i * stride) % n);
	while (*text) {
		struct client *c = client_new(&s->servers[x->actor[text[0] - 'A']]);

		c->loop = text[1] == '*';
		c->script = strchr(text, ':') + 1;
		text = strchr(c->script, '\n');
		text = text ? text + 1 : "";
	}
}

/* The step at the client's place in its script; false at the end. */
static bool next_step(struct client *c, char *out, size_t len)
{
	const char *p = c->script;

	for (uint32_t i = 0; i < c->pc; i++) {
		p += strcspn(p, ";\n");
		if (*p != ';')
			return false;
		p++;
	}
	p += strspn(p, " ");
	snprintf(out, len, "%.*s", (int)strcspn(p, ";\n"), p);
	c->pc++;
	return true;
}

static void set_name(struct nfs4r_name *n, const char *text)
{
	nfs4r_name_set(n, text, strlen(text));
}

static bool file_step(struct client *c, const char *verb, int obj)
{
	struct sim *s = c->server->sim;
	struct nfs4r_op *op;

	if (!strcmp(verb, "close")) {
		if (!c->open)
			return false;
		client_close(c);
		return true;
	}
	if (obj < 0)
		return false;
	if (!strcmp(verb, "open")) {
		if (c->open)
			return false;
		client_open(c, (uint32_t)obj);
	} else if (!strcmp(verb, "write")) {
		client_write(c, (uint32_t)obj);
	} else if (!strcmp(verb, "commit")) {
		client_commit(c, (uint32_t)obj);
	} else if (!strcmp(verb, "trunc") || !strcmp(verb, "chmod")) {
		op = client_op(NFS4R_OP_SETATTR);
		op->obj = s->objs[obj].oid;
		op->attrs.mask = verb[0] == 't' ? NFS4R_ATTR_SIZE : NFS4R_ATTR_MODE;
		op->attrs.size = rng_below(&s->rng, CONTENT_MAX);
		op->attrs.mode = (uint32_t)rng_below(&s->rng, 512);
		client_submit(c, op);
	} else {
		return false;
	}
	return true;
}

static bool read_step(struct client *c, const char *verb, int obj, const char *name)
{
	struct sim *s = c->server->sim;
	uint32_t type = !strcmp(verb, "get") ? NFS4R_RD_GETATTR :
		!strcmp(verb, "read")	     ? NFS4R_RD_READ :
		!strcmp(verb, "lookup")	     ? NFS4R_RD_LOOKUP :
		!strcmp(verb, "list")	     ? NFS4R_RD_READDIR :
					       0;

	if (!type || obj < 0)
		return false;
	c->busy = true;
	read_start(c->server, c, type, (uint32_t)obj, type == NFS4R_RD_LOOKUP ? name_id(s, name) : 0);
	return true;
}

static bool dir_step(struct client *c, char w[6][16], int a, int n)
{
	struct sim *s = c->server->sim;
	struct nfs4r_op *op;
	int b;

	if (!strcmp(w[0], "link")) {
		b = symbol(s, w[2]);
		if (a < 0 || b < 0)
			return false;
		op = client_op(NFS4R_OP_LINK);
		op->obj = s->objs[a].oid;
		op->dir = s->objs[b].oid;
		set_name(&op->name, w[3]);
		client_submit(c, op);
		return true;
	}
	b = n > 3 ? symbol(s, w[3]) : -1;
	if (a < 0 || (!strcmp(w[0], "rename") && b < 0))
		return false;
	op = client_op(!strcmp(w[0], "create")	       ? NFS4R_OP_CREATE :
			       !strcmp(w[0], "mkdir")  ? NFS4R_OP_MKDIR :
			       !strcmp(w[0], "remove") ? NFS4R_OP_REMOVE :
							 NFS4R_OP_RENAME);
	op->dir = s->objs[a].oid;
	set_name(&op->name, w[2]);
	if (op->type == NFS4R_OP_RENAME) {
		op->dir2 = s->objs[b].oid;
		set_name(&op->name2, w[4]);
	} else if (op->type != NFS4R_OP_REMOVE) {
		op->attrs.mask = NFS4R_ATTR_MODE;
		snprintf(c->bind, sizeof(c->bind), "%.11s", n > 3 ? w[3] : "");
	}
	client_submit(c, op);
	return true;
}

static bool claim_step(struct client *c, int obj, const char *depth)
{
	struct nfs4r_op *op;

	if (obj < 0)
		return false;
	op = client_op(NFS4R_OP_CLAIM);
	op->obj = c->server->sim->objs[obj].oid;
	op->depth = !strcmp(depth, "deep") ? NFS4R_DEEP : !strcmp(depth, "deep+") ? NFS4R_DEEP_PLUS :
										    NFS4R_SHALLOW;
	client_submit(c, op);
	return true;
}

static bool begin_burst(struct client *c, int dir, const char *kind, const char *n)
{
	if (dir < 0)
		return false;
	burst_begin(c, (uint32_t)dir, kind[0] == 'b' ? BURST_BUILD : kind[0] == 's' ? BURST_STORM :
										      BURST_CHURN,
		    (uint32_t)strtoul(n, NULL, 10));
	return burst_step(c);
}

/* Steps that are no operations: true = came to rest, woken later; false = go on with the next. */
static bool other_step(struct client *c, char w[6][16])
{
	struct sim *s = c->server->sim;
	struct script *x = script_of(s);

	if (!strcmp(w[0], "wait")) {
		client_wake_in(c, rng_below(&s->rng, strtoull(w[1], NULL, 10) * MS + 1));
		return true;
	}
	if (!strcmp(w[0], "stop"))
		return true;
	if (!strcmp(w[0], "burst"))
		return begin_burst(c, symbol(s, w[1]), w[2], w[3]);
	if (!strcmp(w[0], "flag"))
		x->flags[w[1][0] - '0'] = true;
	if (!strcmp(w[0], "need") && !x->flags[w[1][0] - '0']) {
		c->pc--;
		client_wake_in(c, 1 + rng_below(&s->rng, 20 * MS));
		return true;
	}
	if (!strcmp(w[0], "slow") || !strcmp(w[0], "slowc"))
		s->slow[x->actor[w[1][0] - 'A']][x->actor[w[2][0] - 'A']][w[0][4] != 'c'] =
			strtoull(w[3], NULL, 10) * MS;
	return false;
}

void script_step(struct client *c)
{
	char step[96], w[6][16];
	struct sim *s = c->server->sim;

	for (;;) {
		int n, a;

		if (!next_step(c, step, sizeof(step))) {
			c->pc = 0;
			if (c->loop)
				client_wake_in(c, 1 + rng_time(&s->rng, s->plan.think_us));
			return;
		}
		memset(w, 0, sizeof(w));
		n = sscanf(step, "%15s %15s %15s %15s %15s %15s", w[0], w[1], w[2], w[3], w[4], w[5]);
		if (n < 1)
			continue;
		a = n > 1 ? symbol(s, w[1]) : -1;
		if (!strcmp(w[0], "claim") ? claim_step(c, a, w[2]) :
			    !strcmp(w[0], "create") || !strcmp(w[0], "mkdir") || !strcmp(w[0], "remove") ||
				    !strcmp(w[0], "rename") || !strcmp(w[0], "link") ?
					     dir_step(c, w, a, n) :
					     file_step(c, w[0], a) || read_step(c, w[0], a, w[2]) || other_step(c, w))
			return;
	}
}
