/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The room of this server, for the core, which compares it with what the others told (log 4.12).
 *
 * A thread of its own measures, since a disk that hangs may hold it up: twice in a second, and more often while some member has little room.
 * How far each log was applied is noted before, so that what is in the measurement is never counted as under way too late. Limits are found
 * once, before the server is heard by others.
 *
 * Failure modes: the file system is full at the start, so that nothing can be tried with: the limits found by an earlier start count. A
 * measurement that fails is left out, and the one before it counts on.
 *
 * Set aside for removals (src/store/journal/spare.c): a 64th of the file system of Store, 512 KiB to 64 MiB, while that has more than its reserve.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/membership/membership.h"
#include "engine/replicate/replicate.h"
#include "engine/resync/resync.h"
#include "engine/runtime/fs.h"
#include "engine/runtime/quota.h"

#define MEASURE_MS 500
#define MEASURE_LOW_MS 100
#define LOW_BYTES (UINT64_C(256) << 20) /* smallest room of all members: measured more often */
#define RESERVE_MIN (UINT64_C(1) << 30)
#define RESERVE_INODES 1024
#define QUOTA_ROUNDS 20 /* measurements between two looks at quotas */
#define LOOK_MS 1000 /* after a halt */
#define REMARK_MS 2000 /* between two looks at directories whose names are counted */
#define SPARE_SHARE 64
#define SPARE_MIN (UINT64_C(512) << 10)
#define SPARE_MAX (UINT64_C(64) << 20)

struct spacer {
	struct nfs4r_engine *eng;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	pthread_t thread;
	bool running, stop; /* stop: under lock */
	int tree_fd, store_fd;
	struct nfs4r_limits limits;
	bool refusing; /* the thread's */
	uint32_t quotas; /* QUOTA_*: what was said last; the thread's */
	struct nfs4r_remarks remarks; /* the thread's, but for the first measurement */
	uint64_t remarked_ms;
};

/* ---- measuring; no lock held ---- */

static uint64_t reserve(uint64_t configured, uint64_t total, uint64_t least)
{
	uint64_t r = total / 50;

	if (configured)
		return configured < total / 2 ? configured : total / 2;
	if (r < least)
		r = least;
	return r < total / 20 ? r : total / 20;
}

static uint64_t spare_of(const struct nfs4r_room *store)
{
	uint64_t want = store->total / SPARE_SHARE;

	return want < SPARE_MIN ? SPARE_MIN : want > SPARE_MAX ? SPARE_MAX :
								 want;
}

static void keep_spare(struct nfs4r_engine *eng, const struct nfs4r_room *store)
{
	uint64_t want = spare_of(store);

	if (!nfs4r_store_spare(eng->store) && store->free > store->reserve + 2 * want)
		(void)nfs4r_store_keep_spare(eng->store, want);
}

static bool measure_all(struct spacer *s, struct nfs4r_space *out)
{
	const struct nfs4r_config *cfg = &s->eng->cfg;
	struct fs_room tree, store;

	if (s->tree_fd < 0 || !engine_fs_room(s->tree_fd, &tree) || !engine_fs_room(s->store_fd, &store))
		return false;
	out->tree = tree.bytes;
	out->tree.reserve = reserve(cfg->free_min, tree.bytes.total, RESERVE_MIN);
	out->inodes = tree.inodes;
	out->inodes.reserve = reserve(0, tree.inodes.total, RESERVE_INODES);
	out->store = store.bytes;
	out->store.reserve = reserve(cfg->free_min, store.bytes.total, RESERVE_MIN);
	out->shared = tree.dev == store.dev;
	keep_spare(s->eng, &out->store);
	out->store.free += nfs4r_store_spare(s->eng->store);
	if (out->store.free > out->store.total)
		out->store.free = out->store.total;
	return true;
}

/* ---- what is said of this server to the people who ask another one ---- */

static uint32_t import_is(enum import_phase phase)
{
	return phase == IMPORT_RUNNING ? NFS4R_IS_IMPORTING : phase == IMPORT_STOPPED ? NFS4R_IS_IMPORT_STOPPED :
											0;
}

static void remark(struct spacer *s)
{
	struct behind_counts n;
	uint64_t now = engine_now_ms();

	pthread_mutex_lock(&s->eng->lock);
	s->remarks.is = import_is(s->eng->start.import.phase);
	s->remarks.imported = s->eng->start.import.objects;
	pthread_mutex_unlock(&s->eng->lock);
	if (s->remarked_ms && now < s->remarked_ms + REMARK_MS)
		return;
	s->remarked_ms = now;
	resync_heal_count(s->eng, &n);
	s->remarks.strays = n.strays;
	s->remarks.conflicts = resync_saved(s->eng);
}

static void measure(struct spacer *s)
{
	struct nfs4r_engine *eng = s->eng;
	struct nfs4r_space space;
	struct nfs4r_event ev = { .type = NFS4R_EV_SPACE, .space = &space, .limits = &s->limits, .remarks = &s->remarks };

	pthread_mutex_lock(&eng->lock);
	for (nfs4r_server_id l = 1; l <= NFS4R_SERVERS_MAX; l++)
		ev.stable[l] = nfs4r_core_applied(eng->core, l);
	pthread_mutex_unlock(&eng->lock);
	if (!measure_all(s, &space))
		return;
	remark(s);
	pthread_mutex_lock(&eng->lock);
	engine_step(eng, &ev);
	pthread_mutex_unlock(&eng->lock);
}

/* ---- saying it ---- */

static void say(struct spacer *s, const struct nfs4r_core_room *room)
{
	struct nfs4r_engine *eng = s->eng;
	char text[300];
	bool refuses = engine_room_refuses(room, text, sizeof(text));

	if (refuses && !s->refusing)
		engine_log_often(eng, SAYING_ROOM, 0, NFS4R_LOG_WARN, "volume %s: updates that need space are refused with \"no space\" at all sites: %s; remove files, or enlarge that file system",
				 eng->cfg.volume_name, text);
	else if (!refuses && s->refusing)
		engine_log_often(eng, SAYING_ROOM, 0, NFS4R_LOG_INFO, "volume %s: every server has space again: updates are no longer refused", eng->cfg.volume_name);
	s->refusing = refuses;
}

/* At the start, with Quotas = ignore; and whenever somebody turns them on or off. */
static void say_quotas(struct spacer *s)
{
	struct nfs4r_engine *eng = s->eng;
	struct quota_facts f;
	uint32_t kinds;
	char what[80];

	engine_quota_look(s->tree_fd, &f);
	kinds = engine_quota_kinds(&f);
	engine_quota_name(kinds, what, sizeof(what));
	if (kinds && kinds != s->quotas)
		engine_log(eng, NFS4R_LOG_WARN,
			   "volume %s: %s are enforced on the file system of the exported directory: if a quota refuses an update of another server, this server leaves the "
			   "view until there is space. Turn quotas off: %s",
			   eng->cfg.volume_name, what, engine_quota_remedy(&f));
	else if (!kinds && s->quotas)
		engine_log(eng, NFS4R_LOG_INFO, "volume %s: quotas are no longer enforced on the file system of the exported directory", eng->cfg.volume_name);
	s->quotas = kinds;
}

/* Clients make set-id programs and device nodes, and every server has them in a real tree, where its own users could use them (decision 0037). */
static void say_live(struct spacer *s)
{
	bool suid, dev;

	if (s->tree_fd >= 0 && engine_fs_is_live(s->tree_fd, &suid, &dev))
		engine_log(s->eng, NFS4R_LOG_WARN,
			   "volume %s: the file system of the exported directory is mounted without %s: set-id programs and device nodes that clients create also work for the users of this machine. "
			   "Mount it with nosuid,nodev, in a directory of mode 0700",
			   s->eng->cfg.volume_name, suid && dev ? "nosuid and nodev" : suid ? "nosuid" :
											      "nodev");
}

/* ---- after a halt for want of room (log 4.15) ---- */

static bool store_room(const struct spacer *s, struct nfs4r_room *store)
{
	struct fs_room r;

	if (!engine_fs_room(s->store_fd, &r))
		return false;
	*store = r.bytes;
	store->reserve = reserve(s->eng->cfg.free_min, r.bytes.total, RESERVE_MIN);
	return true;
}

/* Above the reserve, or its return would have all sites refused; and for what is set aside. */
static uint64_t wanted(const struct nfs4r_room *store)
{
	return store->reserve + 2 * spare_of(store);
}

/* What the file system says does not count alone: a quota or a thin pool says no only when it is tried. */
static bool suffices(const struct spacer *s, enum halt kind)
{
	struct nfs4r_room store;

	if (kind == HALT_MEMORY)
		return true;
	if (!store_room(s, &store) || store.free <= wanted(&store) || !engine_fs_takes(s->store_fd))
		return false;
	return kind != HALT_FILES || s->tree_fd < 0 || engine_fs_takes(s->tree_fd);
}

static void look_after_halt(struct spacer *s, uint64_t *looked_ms)
{
	enum halt kind = engine_halt_waits(s->eng);
	uint64_t now = engine_now_ms();

	if (!kind || now < *looked_ms + LOOK_MS)
		return;
	*looked_ms = now;
	if (suffices(s, kind))
		engine_halt_ends(s->eng);
}

/* ---- the thread ---- */

static uint64_t pause_ms(const struct nfs4r_core_room *room)
{
	bool low = (room->bytes.server && room->bytes.room < LOW_BYTES) || (room->store.server && room->store.room < LOW_BYTES);

	return low ? MEASURE_LOW_MS : MEASURE_MS;
}

/* False: it is to end. */
static bool rest(struct spacer *s, uint64_t ms)
{
	struct timespec ts = engine_after_us(ms * 1000);
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	while (!s->stop && rc == 0)
		rc = pthread_cond_clockwait(&s->cond, &s->lock, CLOCK_MONOTONIC, &ts);
	bool stop = s->stop;
	pthread_mutex_unlock(&s->lock);
	return !stop;
}

static void *space_thread(void *arg)
{
	struct spacer *s = arg;
	struct nfs4r_core_room room;
	uint64_t looked_ms = 0;

	for (uint32_t round = 1;; round++) {
		measure(s);
		engine_get_room(s->eng, &room);
		say(s, &room);
		if (s->tree_fd >= 0 && round % QUOTA_ROUNDS == 0)
			say_quotas(s);
		look_after_halt(s, &looked_ms);
		if (!rest(s, pause_ms(&room)))
			return NULL;
	}
}

struct spacer *membership_space_create(struct nfs4r_engine *eng)
{
	struct spacer *s = calloc(1, sizeof(*s));
	struct nfs4r_room store;

	if (!s)
		return NULL;
	s->eng = eng;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->cond, NULL);
	s->tree_fd = eng->ops->dir_fd ? eng->ops->dir_fd(eng->ctx) : -1;
	s->store_fd = open(eng->cfg.store_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store_room(s, &store))
		eng->membership.store_wanted = wanted(&store);
	return s;
}

/* In the hidden directory, which clients do not see. */
static void try_names(struct spacer *s, struct fs_names *names)
{
	char scratch[STAGING_NAME_MAX];

	replicate_staging_name(s->eng, scratch);
	replicate_staging_expect(s->eng);
	engine_fs_try_names(s->tree_fd, scratch, names);
	replicate_staging_look(s->eng);
}

enum nfs4r_status membership_space_begin(struct spacer *s, char *why)
{
	struct nfs4r_core_room room;
	const struct nfs4r_limits *before;
	struct fs_names names;

	if (s->tree_fd < 0)
		return NFS4R_OK;
	engine_get_room(s->eng, &room);
	before = room.of[s->eng->cfg.rpc.self].limits_known ? &room.of[s->eng->cfg.rpc.self].limits : NULL;
	if (!engine_fs_limits(s->tree_fd, &s->limits) && before)
		s->limits = *before;
	try_names(s, &names);
	if (names.folds) {
		snprintf(why, NFS4R_WHY, "the file system of the exported directory treats different names as equal (upper and lower case, or two encodings of a letter): files that clients "
					 "distinguish would be one file here. Export a directory without that property (ext4: chattr -F on an empty directory)");
		return NFS4R_BADCONFIG;
	}
	s->limits.text_max = names.text_max ? names.text_max : before ? before->text_max :
									0;
	say_quotas(s);
	say_live(s);
	measure(s);
	return NFS4R_OK;
}

bool membership_space_run(struct spacer *s)
{
	s->running = pthread_create(&s->thread, NULL, space_thread, s) == 0;
	return s->running;
}

void membership_space_stop(struct spacer *s)
{
	if (!s || !s->running)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->cond);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	s->running = false;
}

void membership_space_destroy(struct spacer *s)
{
	if (!s)
		return;
	if (s->store_fd >= 0)
		close(s->store_fd);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->cond);
	free(s);
}
