/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See cluster.h. */
#include "cluster.h"

#include "lib/unit.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/engine_int.h"
#include "lib/ports.h"

static const uint8_t volume[16] = "a test's volume";

static void log_line(void *ctx, enum nfs4r_log_level level, const char *text)
{
	void (*heard)(struct site * s, const char *text);
	struct site *s = ctx;
	size_t at;

	if (getenv("NFS4R_TEST_LOG") || level <= NFS4R_LOG_ERROR)
		fprintf(stderr, "[%d] %s\n", s->id, text);
	pthread_mutex_lock(&s->lock);
	at = strlen(s->logged);
	snprintf(s->logged + at, sizeof(s->logged) - at, "%s\n", text);
	heard = s->heard;
	pthread_mutex_unlock(&s->lock);
	if (heard)
		heard(s, text);
}

void site_heard(struct site *s, void (*heard)(struct site *s, const char *text))
{
	pthread_mutex_lock(&s->lock);
	s->heard = heard;
	pthread_mutex_unlock(&s->lock);
}

void cluster_init(struct cluster *c)
{
	struct nfs4r_config defaults;

	memset(c, 0, sizeof(*c));
	nfs4r_config_init(&defaults);
	c->first = SITES;
	c->lease_ms = defaults.lease_ms;
	c->silence_ms = defaults.silence_ms;
	c->durability = defaults.durability;
	c->executors = defaults.executors;
	c->idle_ms = 200;
	c->checkpoint_ms = 500;
	snprintf(c->dir, sizeof(c->dir), "/tmp/nfs4r-engine-XXXXXX");
	assert_non_null(mkdtemp(c->dir));
	c->port = ports_free(PORTS_ENGINE, 1, SITES_MAX);
	assert_int_not_equal(c->port, 0);
	for (int i = 1; i <= SITES_MAX; i++) {
		static const struct timespec made[2]; /* they begin equal: the root has the local directory's time until something changes in it */
		struct site *s = &c->site[i];

		s->id = i;
		s->cluster = c;
		pthread_mutex_init(&s->lock, NULL);
		pthread_rwlock_init(&s->gate, NULL);
		snprintf(s->data, sizeof(s->data), "%s/data%d", c->dir, i);
		snprintf(s->store, sizeof(s->store), "%s/store%d", c->dir, i);
		snprintf(s->grave, sizeof(s->grave), "%s/grave%d", c->dir, i);
		snprintf(s->boot, sizeof(s->boot), "boot 0");
		assert_int_equal(mkdir(s->data, 0755), 0);
		assert_int_equal(utimensat(AT_FDCWD, s->data, made, 0), 0);
		assert_int_equal(mkdir(s->grave, 0755), 0);
	}
}

/* Nobody is inside any more who came before. */
static void open_gate(struct site *s, struct nfs4r_engine *eng)
{
	pthread_rwlock_wrlock(&s->gate);
	s->eng = eng;
	pthread_rwlock_unlock(&s->gate);
}

static void close_tree(struct site *s)
{
	dirlops_close(s->ops);
	s->ops = NULL;
}
/* ---- hooks: an engine reads its table without a lock, so that never changes while it runs ---- */

static struct {
	_Atomic(void *) ctx; /* the file system of a site that runs */
	_Atomic(const struct site_hooks *) by;
	struct nfs4r_lops table; /* what the hooks stand in front of; set before the site runs */
	struct site *site;
} hooked[SITES_MAX + 1];

const struct nfs4r_lops *site_unhooked(const struct site *s)
{
	return &hooked[s->id].table;
}

void site_hook(struct site *s, const struct site_hooks *hooks)
{
	hooked[s->id].by = hooks;
}

static int site_of(void *ctx)
{
	int i = 1;

	while (hooked[i].ctx != ctx)
		assert_true(++i <= SITES_MAX);
	return i;
}

static enum nfs4r_status hooked_allocate(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, uint64_t len, bool punch, const struct nfs4r_cred *cred)
{
	int i = site_of(ctx);
	const struct site_hooks *h = hooked[i].by;

	return (h && h->allocate ? h->allocate : hooked[i].table.allocate)(ctx, obj, off, len, punch, cred);
}

static enum nfs4r_status hooked_commit(void *ctx, const struct nfs4r_lhandle *obj)
{
	int i = site_of(ctx);
	const struct site_hooks *h = hooked[i].by;

	return (h && h->commit ? h->commit : hooked[i].table.commit)(ctx, obj);
}

static int hooked_sync_all(void *ctx)
{
	int i = site_of(ctx);
	const struct site_hooks *h = hooked[i].by;

	return (h && h->sync_all ? h->sync_all : hooked[i].table.sync_all)(ctx);
}

static void lock_news(void *ctx, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, bool ready)
{
	struct site *s = hooked[site_of(ctx)].site;

	if (s->lock_news)
		s->lock_news(s, oid, lock, ready);
}

static void lock_ready(void *ctx, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock)
{
	lock_news(ctx, oid, lock, true);
}

static void lock_again(void *ctx, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock)
{
	lock_news(ctx, oid, lock, false);
}

static void locks_shared(void *ctx)
{
	hooked[site_of(ctx)].site->locks_shared++;
}

static void fence(void *ctx, uint32_t number, uint32_t nlost)
{
	struct site *s = hooked[site_of(ctx)].site;

	s->fence(s, number, nlost);
}

enum nfs4r_status cluster_try_start(struct cluster *c, int id, char *why)
{
	struct site *s = &c->site[id];
	struct nfs4r_config cfg;

	nfs4r_config_init(&cfg);
	cfg.rpc.any_port = true; /* tests beside each other */
	cfg.rpc.warm_bytes = 0; /* tests count what is sent */
	snprintf(cfg.volume_name, sizeof(cfg.volume_name), "data");
	snprintf(cfg.export_dir, sizeof(cfg.export_dir), "%s", s->data);
	snprintf(cfg.store_dir, sizeof(cfg.store_dir), "%s", s->store);
	snprintf(cfg.control_socket, sizeof(cfg.control_socket), "%s/ctl%d", c->dir, id);
	cfg.import = s->import;
	cfg.checkpoint_ms = c->checkpoint_ms;
	cfg.idle_ms = c->idle_ms;
	if (c->idle_ms > cfg.deep_idle_ms)
		cfg.deep_idle_ms = c->idle_ms;
	cfg.durability = c->durability;
	cfg.executors = c->executors;
	cfg.retention_bytes = c->retention_bytes;
	cfg.segment_bytes = c->segment_bytes;
	cfg.stop_wait_ms = c->stop_wait_ms;
	if (c->lock_grace_ms)
		cfg.lock_grace_ms = c->lock_grace_ms;
	cfg.restart_pause_ms = c->restart_pause_ms;
	cfg.lease_ms = c->lease_ms;
	if (c->silence_ms) /* 0 with a fixed view, which does not use it */
		cfg.silence_ms = c->silence_ms;
	cfg.stale_reads = c->stale_reads;
	cfg.rpc.self = (nfs4r_server_id)id;
	cfg.rpc.day_ns = c->site[id].day_ns;
	if (c->no_locks) {
		cfg.rpc.protocol.highest = NFS4R_PROTOCOL_LOCKS - 1;
		cfg.rpc.disk_format.highest = NFS4R_DISK_FORMAT_LOCKS - 1;
	}
	if (s->next_release) {
		cfg.rpc.protocol.highest = NFS4R_PROTOCOL_REHEARSED;
		cfg.rpc.disk_format.highest = NFS4R_DISK_FORMAT_REHEARSED;
	}
	memcpy(cfg.rpc.volume, volume, sizeof(cfg.rpc.volume));
	cfg.rpc.export_id = 77;
	cfg.rpc.security = NFS4R_SECURITY_NONE;
	for (int i = 1; i <= c->first || i <= id; i++) {
		struct nfs4r_endpoint *e = &cfg.rpc.servers[cfg.rpc.nservers++];

		e->id = (nfs4r_server_id)i;
		snprintf(e->host, sizeof(e->host), "127.0.0.%d", i);
		e->port = c->port;
		e->nkeys = c->written_key[i] != 0;
		e->key[0].sha256[0] = c->written_key[i];
	}
	s->ops = dirlops_open(s->data);
	assert_non_null(s->ops);
	if (c->machines) {
		if (!s->power)
			s->power = power_begin(s->grave);
		power_attach(s->power, s->ops);
		cfg.boot_id = s->boot;
	}
	s->table = hooked[id].table = c->machines ? *power_table() : *dirlops_table();
	hooked[id].by = NULL;
	hooked[id].ctx = s->ops;
	hooked[id].site = s;
	s->table.lock_ready = lock_ready;
	s->table.lock_again = lock_again;
	s->table.fence = s->fence ? fence : NULL;
	s->table.locks_shared = c->locks_before ? locks_shared : NULL;
	s->table.ready = s->ready;
	s->table.allocate = hooked_allocate;
	s->table.commit = hooked_commit;
	s->table.sync_all = hooked_sync_all;

	struct nfs4r_engine *eng = NULL;
	enum nfs4r_status st = nfs4r_engine_start(&cfg, &s->table, s->ops, log_line, s, &eng, why);
	if (st != NFS4R_OK)
		close_tree(s);
	open_gate(s, eng);
	return st;
}

void cluster_start(struct cluster *c, int id)
{
	char why[NFS4R_WHY] = "";
	enum nfs4r_status st = cluster_try_start(c, id, why);

	if (st != NFS4R_OK)
		fail_msg("server %d does not start: %s", id, why);
}

void cluster_stop(struct cluster *c, int id)
{
	struct site *s = &c->site[id];

	struct nfs4r_engine *eng = s->eng;

	open_gate(s, NULL);
	nfs4r_engine_stop(eng);
	close_tree(s);
}

void cluster_fini(struct cluster *c)
{
	char cmd[128];

	for (int i = 1; i <= SITES_MAX; i++) {
		if (c->site[i].power)
			power_release(c->site[i].power);
		if (c->site[i].eng)
			cluster_stop(c, i);
		if (c->site[i].power)
			power_end(c->site[i].power);
	}
	snprintf(cmd, sizeof(cmd), "rm -rf %s", c->dir);
	assert_int_equal(system(cmd), 0);
}

struct cluster *cluster_new(void)
{
	struct cluster *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	cluster_init(c);
	return c;
}

int cluster_begin(struct cluster *c, void **state)
{
	*state = c;
	for (int i = 1; i <= c->first; i++)
		cluster_start(c, i);
	return 0;
}

int cluster_setup(void **state)
{
	return cluster_begin(cluster_new(), state);
}

int cluster_teardown(void **state)
{
	cluster_fini(*state);
	free(*state);
	return 0;
}

void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

void pace_connections(uint32_t bytes_per_second)
{
	for (int fd = 3; fd < 256; fd++) {
		struct sockaddr_storage peer;
		socklen_t len = sizeof(peer);

		if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 && peer.ss_family == AF_INET)
			assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_per_second, sizeof(bytes_per_second)), 0);
	}
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

static bool tree_differs(struct cluster *c, int first, int id, bool show)
{
	char cmd[1200];

	/* Names, types, bytes, modes, owners, link counts of the plain directories (times: rows_differ), but for what is kept for people. */
	snprintf(cmd, sizeof(cmd),
		 "cd %s && for i in %d %d; do (cd data$i && find . -mindepth 1 ! -path './.nfs4r-hold' ! -path './.nfs4r-hold/stray.*' -printf '%%y %%m %%U %%G %%n %%p %%l\\n' | sed 's/^\\(d [^ ]* [^ ]* [^ ]*\\) [0-9]*/\\1 -/' | sort -k6; "
		 "find . -type f ! -path './.nfs4r-hold/stray.*' | sort | xargs -r -d '\\n' sha1sum) >list$i 2>&1; done; %s list%d list%d %s",
		 c->dir, first, id, show ? "diff" : "cmp -s", first, id, show ? "1>&2" : "");
	return system(cmd) != 0;
}

static int first_of(nfs4r_servers set)
{
	int id = 1;

	while (!(set & NFS4R_BIT(id)))
		id++;
	return id;
}

static bool trees_differ(struct cluster *c, nfs4r_servers set, bool show)
{
	bool differ = false;

	for (int i = first_of(set) + 1; i <= SITES_MAX && (show || !differ); i++)
		if (set & NFS4R_BIT(i))
			differ |= tree_differs(c, first_of(set), i, show);
	return differ;
}

/* What clients see of an object and all below it, at the servers of @set. */
static bool rows_differ(struct cluster *c, nfs4r_servers set, const struct nfs4r_oid *oid, bool show)
{
	struct nfs4r_attrs a[SITES_MAX + 1];
	struct nfs4r_read list = { .type = NFS4R_RD_READDIR, .oid = *oid };
	char buf[NFS4R_OID_STRLEN];
	int first = first_of(set);
	bool differ = false;

	for (int i = first; i <= SITES_MAX; i++) {
		struct nfs4r_read rd = { .type = NFS4R_RD_GETATTR, .oid = *oid };

		if (!(set & NFS4R_BIT(i)))
			continue;
		if (nfs4r_read_here(c->site[i].eng, &rd) != NFS4R_OK)
			return true;
		a[i] = rd.attrs;
		a[i].acl = NULL;
		a[i].atime = 0;
		a[i].space = 0;
		nfs4r_read_fini(&rd);
		if (memcmp(&a[i], &a[first], sizeof(a[i])) != 0) {
			if (show)
				print_message("%s: version %lx %lx ctime %ld %ld mtime %ld %ld\n", nfs4r_oid_str(oid, buf), a[first].version, a[i].version,
					      a[first].ctime, a[i].ctime, a[first].mtime, a[i].mtime);
			return true;
		}
	}
	if (a[first].type != NFS4R_TYPE_DIR)
		return false;
	if (nfs4r_read_here(c->site[first].eng, &list) != NFS4R_OK)
		return true;
	for (uint32_t i = 0; i < list.ndirents && !differ; i++)
		differ = rows_differ(c, set, &list.dirents[i].oid, show);
	nfs4r_read_fini(&list);
	return differ;
}

static bool differs(struct cluster *c, nfs4r_servers set, bool disks, bool show)
{
	struct nfs4r_oid root = site_root(&c->site[1]);
	bool differ = disks && trees_differ(c, set, show);

	if (!differ || show)
		differ |= rows_differ(c, set, &root, show);
	return differ;
}

static void settle(struct cluster *c, nfs4r_servers set, bool disks)
{
	for (int tries = 0; tries < 200; tries++) {
		if (!differs(c, set, disks, false))
			return;
		pause_ms(100);
	}
	differs(c, set, disks, true);
	fail_msg("the %s stay different", disks ? "trees" : "attributes");
}

void cluster_settle_of(struct cluster *c, nfs4r_servers set)
{
	settle(c, set, true);
}

void cluster_settle(struct cluster *c)
{
	settle(c, NFS4R_BIT(1) | NFS4R_BIT(2) | NFS4R_BIT(3), true);
}

void cluster_settle_rows(struct cluster *c)
{
	settle(c, NFS4R_BIT(1) | NFS4R_BIT(2) | NFS4R_BIT(3), false);
}

/* ---- operations ---- */

struct nfs4r_oid site_root(struct site *s)
{
	struct nfs4r_oid o;

	nfs4r_oid_root(&o, volume);
	return o;
}

/*
 * On machines that lose power the engine may be stopped while a thread wants something of it: nobody waits inside.
 */
struct waiter {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool done, local;
};

static void wait_done(struct waiter *w)
{
	pthread_mutex_lock(&w->lock);
	while (!w->done)
		pthread_cond_wait(&w->cond, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

static void set_done(struct waiter *w, bool local)
{
	pthread_mutex_lock(&w->lock);
	w->done = true;
	w->local = local;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
}

static void update_done(void *arg, struct nfs4r_op *op)
{
	(void)op;
	set_done(arg, false);
}

static void read_done(void *arg, struct nfs4r_read *rd, bool local)
{
	(void)rd;
	set_done(arg, local);
}

static enum nfs4r_status update_once(struct site *s, struct nfs4r_op *op)
{
	struct waiter w = { .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };

	if (!s->cluster->machines)
		return nfs4r_update(s->eng, op, NULL, NULL);
	op->status = NFS4R_DELAY;
	pthread_rwlock_rdlock(&s->gate);
	if (s->eng)
		nfs4r_update_async(s->eng, op, NULL, NULL, update_done, &w);
	else
		update_done(&w, op);
	pthread_rwlock_unlock(&s->gate);
	wait_done(&w);
	return op->status;
}

static enum nfs4r_status read_here(struct site *s, struct nfs4r_read *rd)
{
	enum nfs4r_status st = NFS4R_DELAY;

	pthread_rwlock_rdlock(&s->gate);
	if (s->eng)
		st = nfs4r_read_here(s->eng, rd);
	pthread_rwlock_unlock(&s->gate);
	return st;
}

static enum nfs4r_status read_once(struct site *s, struct nfs4r_read *rd)
{
	struct waiter w = { .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };
	enum nfs4r_status st;

	if (!s->cluster->machines) {
		st = nfs4r_read(s->eng, rd, &w.local);
		return w.local ? nfs4r_read_here(s->eng, rd) : st;
	}
	rd->status = NFS4R_DELAY;
	pthread_rwlock_rdlock(&s->gate);
	if (s->eng)
		nfs4r_read_async(s->eng, rd, read_done, &w);
	else
		set_done(&w, false);
	pthread_rwlock_unlock(&s->gate);
	wait_done(&w);
	return w.local ? read_here(s, rd) : rd->status;
}

static enum nfs4r_status update(struct site *s, struct nfs4r_op *op)
{
	enum nfs4r_status st;

	op->client = (uint64_t)s->id << 32 | (uint64_t)gettid();
	for (int i = 0; i < 600; i++) {
		st = update_once(s, op);
		if (st != NFS4R_DELAY || s->cluster->hurry)
			return st;
		pause_ms(20);
	}
	return st;
}

static enum nfs4r_status do_read(struct site *s, struct nfs4r_read *rd)
{
	for (int i = 0; i < 600; i++) {
		enum nfs4r_status st = read_once(s, rd);

		if ((st != NFS4R_DELAY && st != NFS4R_UNKNOWN) || s->cluster->hurry)
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

static enum nfs4r_status make_of(struct site *s, uint32_t type, const struct nfs4r_oid *dir, const char *name, const char *text, struct nfs4r_oid *out)
{
	struct nfs4r_op op = { .type = type, .dir = *dir };

	nfs4r_name_set(&op.name, name, strlen(name));
	op.attrs.mask = NFS4R_ATTR_MODE;
	op.attrs.mode = type == NFS4R_OP_MKDIR ? 0755 : 0640;
	if (type == NFS4R_OP_SYMLINK)
		op.text = strdup(text);
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

enum nfs4r_status site_make(struct site *s, uint32_t type, const struct nfs4r_oid *dir, const char *name, struct nfs4r_oid *out)
{
	return make_of(s, type, dir, name, "../somewhere", out);
}

enum nfs4r_status site_symlink(struct site *s, const struct nfs4r_oid *dir, const char *name, const char *text, struct nfs4r_oid *out)
{
	return make_of(s, NFS4R_OP_SYMLINK, dir, name, text, out);
}

static enum nfs4r_status write_bytes(struct site *s, const struct nfs4r_oid *oid, uint64_t off, const void *bytes, uint32_t len, bool stable)
{
	struct nfs4r_op op = { .type = NFS4R_OP_WRITE, .obj = *oid, .offset = off, .length = len, .stable = stable, .under_open = true };

	op.data = nfs4r_buf_copy(bytes, len);
	enum nfs4r_status st = update(s, &op);
	nfs4r_op_fini(&op);
	return st;
}

enum nfs4r_status site_write(struct site *s, const struct nfs4r_oid *oid, uint64_t off, const void *bytes, uint32_t len)
{
	return write_bytes(s, oid, off, bytes, len, false);
}

enum nfs4r_status site_write_stable(struct site *s, const struct nfs4r_oid *oid, uint64_t off, const void *bytes, uint32_t len)
{
	return write_bytes(s, oid, off, bytes, len, true);
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

enum nfs4r_status site_commit(struct site *s, const struct nfs4r_oid *oid)
{
	struct nfs4r_read rd = { .type = NFS4R_RD_COMMIT, .oid = *oid };
	enum nfs4r_status st = do_read(s, &rd);

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

enum nfs4r_status site_setxattr(struct site *s, const struct nfs4r_oid *oid, const char *name, const char *value)
{
	struct nfs4r_op op = { .type = value ? NFS4R_OP_SETXATTR : NFS4R_OP_REMOVEXATTR, .obj = *oid };
	char full[NFS4R_XATTR_NAME_MAX + 1];

	snprintf(full, sizeof(full), "user.%s", name);
	op.text = strdup(full);
	if (value) {
		op.data = nfs4r_buf_new((uint32_t)strlen(value));
		memcpy(op.data->data, value, strlen(value));
		op.data->len = (uint32_t)strlen(value);
	}
	enum nfs4r_status st = update(s, &op);

	nfs4r_op_fini(&op);
	return st;
}

static enum nfs4r_status update_range(struct site *s, uint32_t type, const struct nfs4r_oid *oid, uint64_t off, uint64_t len)
{
	struct nfs4r_op op = { .type = type, .obj = *oid, .offset = off, .length = len };
	enum nfs4r_status st = update(s, &op);

	nfs4r_op_fini(&op);
	return st;
}

enum nfs4r_status site_allocate(struct site *s, const struct nfs4r_oid *oid, uint64_t off, uint64_t len)
{
	return update_range(s, NFS4R_OP_ALLOCATE, oid, off, len);
}

enum nfs4r_status site_punch(struct site *s, const struct nfs4r_oid *oid, uint64_t off, uint64_t len)
{
	return update_range(s, NFS4R_OP_DEALLOCATE, oid, off, len);
}

void site_random_op(struct site *s, unsigned *seed)
{
	struct nfs4r_oid root = site_root(s), dir, dir2, f;
	char d[8], n[8], d2[8], n2[8], text[64];
	unsigned what = (unsigned)rand_r(seed) % 10;

	snprintf(d, sizeof(d), "d%d", rand_r(seed) % 3);
	snprintf(n, sizeof(n), "f%d", rand_r(seed) % 6);
	snprintf(d2, sizeof(d2), "d%d", rand_r(seed) % 3);
	snprintf(n2, sizeof(n2), "f%d", rand_r(seed) % 6);
	if (site_lookup(s, &root, d, &dir) != NFS4R_OK || site_lookup(s, &root, d2, &dir2) != NFS4R_OK) {
		site_make(s, NFS4R_OP_MKDIR, &root, d, NULL);
		return;
	}
	bool there = site_lookup(s, &dir, n, &f) == NFS4R_OK;
	if (what < 3 || !there) {
		site_make(s, rand_r(seed) % 8 ? NFS4R_OP_CREATE : NFS4R_OP_MKDIR, &dir, n, NULL);
	} else if (what < 6) {
		snprintf(text, sizeof(text), "site %d %u", s->id, *seed);
		site_write(s, &f, (uint64_t)(rand_r(seed) % 5000), text, (uint32_t)strlen(text));
		site_close(s, &f);
	} else if (what == 6) {
		site_remove(s, &dir, n);
	} else if (what == 7) {
		site_rename(s, &dir, n, &dir2, n2);
	} else if (what == 8) {
		site_link(s, &f, &dir2, n2);
	} else {
		struct nfs4r_attrs a = { .mask = NFS4R_ATTR_MODE | NFS4R_ATTR_SIZE, .mode = 0600 | (*seed & 077), .size = *seed % 3000 };
		struct nfs4r_attrs now;

		if (site_getattr(s, &f, &now) == NFS4R_OK && now.type == NFS4R_TYPE_FILE)
			site_setattr(s, &f, &a);
	}
}

void must_shell(const char *fmt, ...)
{
	char cmd[2000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	if (system(cmd) != 0)
		fail_msg("failed: %s", cmd);
}

void site_mute(struct site *s, bool mute)
{
	pthread_mutex_lock(&s->eng->lock);
	s->eng->runtime.mute = mute;
	pthread_mutex_unlock(&s->eng->lock);
}
