/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See cluster.h. */
#include "cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void log_line(void *ctx, enum nfs4r_log_level level, const char *text)
{
	struct site *s = ctx;
	size_t at;

	if (getenv("NFS4R_TEST_LOG") || level <= NFS4R_LOG_ERROR)
		fprintf(stderr, "[%d] %s\n", s->id, text);
	pthread_mutex_lock(&s->lock);
	at = strlen(s->logged);
	snprintf(s->logged + at, sizeof(s->logged) - at, "%s\n", text);
	pthread_mutex_unlock(&s->lock);
}

void cluster_init(struct cluster *c)
{
	struct nfs4r_config defaults;

	memset(c, 0, sizeof(*c));
	nfs4r_config_init(&defaults);
	c->lease_ms = defaults.lease_ms;
	c->silence_ms = defaults.silence_ms;
	c->durability = defaults.durability;
	c->idle_ms = 200;
	snprintf(c->dir, sizeof(c->dir), "/tmp/nfs4r-engine-XXXXXX");
	assert_non_null(mkdtemp(c->dir));
	c->port = (uint16_t)(20000 + getpid() % 20000);
	for (int i = 1; i <= SITES; i++) {
		struct site *s = &c->site[i];

		s->id = i;
		pthread_mutex_init(&s->lock, NULL);
		snprintf(s->data, sizeof(s->data), "%s/data%d", c->dir, i);
		snprintf(s->store, sizeof(s->store), "%s/store%d", c->dir, i);
		assert_int_equal(mkdir(s->data, 0755), 0);
	}
}

enum nfs4r_status cluster_try_start(struct cluster *c, int id, char *why)
{
	struct site *s = &c->site[id];
	struct nfs4r_config cfg;

	nfs4r_config_init(&cfg);
	snprintf(cfg.volume_name, sizeof(cfg.volume_name), "data");
	snprintf(cfg.store_dir, sizeof(cfg.store_dir), "%s", s->store);
	snprintf(cfg.control_socket, sizeof(cfg.control_socket), "%s/ctl%d", c->dir, id);
	cfg.import = s->import;
	cfg.checkpoint_ms = 500;
	cfg.idle_ms = c->idle_ms;
	if (c->idle_ms > cfg.deep_idle_ms)
		cfg.deep_idle_ms = c->idle_ms;
	cfg.durability = c->durability;
	cfg.lease_ms = c->lease_ms;
	cfg.silence_ms = c->silence_ms;
	cfg.stale_reads = c->stale_reads;
	cfg.rpc.self = (nfs4r_server_id)id;
	memset(cfg.rpc.volume, 0x5a, sizeof(cfg.rpc.volume));
	cfg.rpc.export_id = 77;
	cfg.rpc.security = NFS4R_SECURITY_NONE;
	for (int i = 1; i <= SITES; i++) {
		struct nfs4r_endpoint *e = &cfg.rpc.servers[cfg.rpc.nservers++];

		e->id = (nfs4r_server_id)i;
		snprintf(e->host, sizeof(e->host), "127.0.0.%d", i);
		e->port = c->port;
	}
	s->ops = dirlops_open(s->data);
	assert_non_null(s->ops);
	enum nfs4r_status st = nfs4r_engine_start(&cfg, dirlops_table(), s->ops, log_line, s, &s->eng, why);
	if (st != NFS4R_OK) {
		dirlops_close(s->ops);
		s->ops = NULL;
	}
	return st;
}

void cluster_start(struct cluster *c, int id)
{
	char why[512] = "";
	enum nfs4r_status st = cluster_try_start(c, id, why);

	if (st != NFS4R_OK)
		fail_msg("server %d does not start: %s", id, why);
}

void cluster_stop(struct cluster *c, int id)
{
	struct site *s = &c->site[id];

	nfs4r_engine_stop(s->eng);
	s->eng = NULL;
	dirlops_close(s->ops);
	s->ops = NULL;
}

void cluster_fini(struct cluster *c)
{
	char cmd[128];

	for (int i = 1; i <= SITES; i++)
		if (c->site[i].eng)
			cluster_stop(c, i);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", c->dir);
	assert_int_equal(system(cmd), 0);
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

void site_says(struct site *s, const char *text, int seconds)
{
	bool said = false;

	for (int i = 0; i < seconds * 50 && !said; i++) {
		pthread_mutex_lock(&s->lock);
		said = strstr(s->logged, text);
		pthread_mutex_unlock(&s->lock);
		if (!said)
			pause_ms(20);
	}
	if (!said)
		fail_msg("server %d does not say '%s' in %d s; it said:\n%s", s->id, text, seconds, s->logged);
}

static int trees_differ(struct cluster *c, bool show)
{
	char cmd[1024];

	/* Names, types, bytes, modes, owners, link counts of the plain directories (times: rows_differ). */
	snprintf(cmd, sizeof(cmd),
		 "cd %s && for i in 1 2 3; do (cd data$i && find . -mindepth 1 -printf '%%y %%m %%U %%G %%n %%p %%l\\n' | sed 's/^\\(d [^ ]* [^ ]* [^ ]*\\) [0-9]*/\\1 -/' | sort -k6; "
		 "find . -type f | sort | xargs -r -d '\\n' sha1sum) >list$i 2>&1; done; %s list1 list2 %s && %s list1 list3 %s",
		 c->dir, show ? "diff" : "cmp -s", show ? "1>&2" : "", show ? "diff" : "cmp -s", show ? "1>&2" : "");
	return system(cmd);
}

/* What clients see of an object and all below it, at the three servers. */
static bool rows_differ(struct cluster *c, const struct nfs4r_oid *oid, bool show)
{
	struct nfs4r_attrs a[SITES + 1];
	struct nfs4r_read list = { .type = NFS4R_RD_READDIR, .oid = *oid };
	char buf[NFS4R_OID_STRLEN];
	bool differ = false;

	for (int i = 1; i <= SITES; i++) {
		struct nfs4r_read rd = { .type = NFS4R_RD_GETATTR, .oid = *oid };

		if (nfs4r_read_here(c->site[i].eng, &rd) != NFS4R_OK)
			return true;
		a[i] = rd.attrs;
		a[i].acl = NULL;
		a[i].atime = 0;
		a[i].space = 0;
		nfs4r_read_fini(&rd);
		if (i > 1 && memcmp(&a[i], &a[1], sizeof(a[1])) != 0) {
			if (show)
				print_message("%s: version %lx %lx ctime %ld %ld mtime %ld %ld\n", nfs4r_oid_str(oid, buf), a[1].version, a[i].version,
					      a[1].ctime, a[i].ctime, a[1].mtime, a[i].mtime);
			return true;
		}
	}
	if (a[1].type != NFS4R_TYPE_DIR)
		return false;
	if (nfs4r_read_here(c->site[1].eng, &list) != NFS4R_OK)
		return true;
	for (uint32_t i = 0; i < list.ndirents && !differ; i++)
		differ = rows_differ(c, &list.dirents[i].oid, show);
	nfs4r_read_fini(&list);
	return differ;
}

void cluster_settle(struct cluster *c)
{
	struct nfs4r_oid root = site_root(&c->site[1]);

	for (int tries = 0; tries < 200; tries++) {
		if (trees_differ(c, false) == 0 && !rows_differ(c, &root, false))
			return;
		pause_ms(100);
	}
	trees_differ(c, true);
	rows_differ(c, &root, true);
	fail_msg("the trees stay different");
}

/* ---- operations ---- */

struct nfs4r_oid site_root(struct site *s)
{
	struct nfs4r_oid o;

	nfs4r_root(s->eng, &o);
	return o;
}

static enum nfs4r_status update(struct site *s, struct nfs4r_op *op)
{
	enum nfs4r_status st;

	op->client = (uint64_t)s->id << 32 | (uint64_t)gettid();
	for (int i = 0; i < 600; i++) {
		st = nfs4r_update(s->eng, op, NULL, NULL);
		if (st != NFS4R_DELAY)
			return st;
		pause_ms(20);
	}
	return st;
}

static enum nfs4r_status do_read(struct site *s, struct nfs4r_read *rd)
{
	for (int i = 0; i < 600; i++) {
		bool local;
		enum nfs4r_status st = nfs4r_read(s->eng, rd, &local);

		if (local)
			st = nfs4r_read_here(s->eng, rd);
		if (st != NFS4R_DELAY && st != NFS4R_UNKNOWN)
			return st;
		pause_ms(20);
	}
	return NFS4R_DELAY;
}

enum nfs4r_status site_lookup(struct site *s, const struct nfs4r_oid *dir, const char *name, struct nfs4r_oid *out)
{
	struct nfs4r_read rd = { .type = NFS4R_RD_LOOKUP, .oid = *dir };

	snprintf(rd.name, sizeof(rd.name), "%s", name);
	enum nfs4r_status st = do_read(s, &rd);
	*out = rd.result;
	nfs4r_read_fini(&rd);
	return st;
}

enum nfs4r_status site_make(struct site *s, uint32_t type, const struct nfs4r_oid *dir, const char *name, struct nfs4r_oid *out)
{
	struct nfs4r_op op = { .type = type, .dir = *dir };

	nfs4r_name_set(&op.name, name, strlen(name));
	op.attrs.mask = NFS4R_ATTR_MODE;
	op.attrs.mode = type == NFS4R_OP_MKDIR ? 0755 : 0640;
	if (type == NFS4R_OP_SYMLINK)
		op.text = strdup("../somewhere");
	if (type == NFS4R_OP_MKNOD) {
		op.attrs.mask |= NFS4R_ATTR_TYPE;
		op.attrs.type = NFS4R_TYPE_FIFO;
	}
	enum nfs4r_status st = update(s, &op);
	if (out)
		*out = op.result;
	nfs4r_op_fini(&op);
	return st;
}

enum nfs4r_status site_write(struct site *s, const struct nfs4r_oid *oid, uint64_t off, const void *bytes, uint32_t len)
{
	struct nfs4r_op op = { .type = NFS4R_OP_WRITE, .obj = *oid, .offset = off, .length = len, .under_open = true };

	op.data = nfs4r_buf_copy(bytes, len);
	enum nfs4r_status st = update(s, &op);
	nfs4r_op_fini(&op);
	return st;
}

enum nfs4r_status site_close(struct site *s, const struct nfs4r_oid *oid)
{
	struct nfs4r_op op = { .type = NFS4R_OP_CLOSE, .obj = *oid };

	return update(s, &op);
}

enum nfs4r_status site_read(struct site *s, const struct nfs4r_oid *oid, uint64_t off, void *bytes, uint32_t *len)
{
	struct nfs4r_read rd = { .type = NFS4R_RD_READ, .oid = *oid, .offset = off, .length = *len };
	enum nfs4r_status st = do_read(s, &rd);

	if (st == NFS4R_OK) {
		*len = rd.data->len;
		memcpy(bytes, rd.data->data, rd.data->len);
	}
	nfs4r_read_fini(&rd);
	return st;
}

enum nfs4r_status site_getattr(struct site *s, const struct nfs4r_oid *oid, struct nfs4r_attrs *out)
{
	struct nfs4r_read rd = { .type = NFS4R_RD_GETATTR, .oid = *oid };
	enum nfs4r_status st = do_read(s, &rd);

	*out = rd.attrs;
	out->acl = NULL;
	nfs4r_read_fini(&rd);
	return st;
}

enum nfs4r_status site_remove(struct site *s, const struct nfs4r_oid *dir, const char *name)
{
	struct nfs4r_op op = { .type = NFS4R_OP_REMOVE, .dir = *dir };

	nfs4r_name_set(&op.name, name, strlen(name));
	return update(s, &op);
}

enum nfs4r_status site_rename(struct site *s, const struct nfs4r_oid *dir, const char *name, const struct nfs4r_oid *dir2, const char *name2)
{
	struct nfs4r_op op = { .type = NFS4R_OP_RENAME, .dir = *dir, .dir2 = *dir2 };

	nfs4r_name_set(&op.name, name, strlen(name));
	nfs4r_name_set(&op.name2, name2, strlen(name2));
	return update(s, &op);
}

enum nfs4r_status site_link(struct site *s, const struct nfs4r_oid *obj, const struct nfs4r_oid *dir, const char *name)
{
	struct nfs4r_op op = { .type = NFS4R_OP_LINK, .obj = *obj, .dir = *dir };

	nfs4r_name_set(&op.name, name, strlen(name));
	return update(s, &op);
}

enum nfs4r_status site_setattr(struct site *s, const struct nfs4r_oid *oid, const struct nfs4r_attrs *a)
{
	struct nfs4r_op op = { .type = NFS4R_OP_SETATTR, .obj = *oid, .attrs = *a };
	enum nfs4r_status st = update(s, &op);

	nfs4r_op_fini(&op);
	return st;
}
