/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Three engines or more in one process, over loopback and plain directories. */
#ifndef NFS4R_TESTS_CLUSTER_H
#define NFS4R_TESTS_CLUSTER_H

#include <pthread.h>

#include "engine/engine.h"
#include "lib/dirlops.h"
#include "lib/power.h"

#define SITES 3 /* that every configuration file has, unless a test says otherwise */
#define SITES_MAX 5 /* those above are added by a test; the file of such a one has all up to itself */

struct cluster {
	char dir[64];
	uint16_t port;
	int first; /* so many servers are in every configuration file, and started at first: SITES */
	uint32_t stop_wait_ms; /* 0, unless a test says otherwise: what a server controls when it is stopped stays its own */
	uint32_t lock_grace_ms; /* 0: the default */
	uint32_t restart_pause_ms; /* 0, unless a test says otherwise: tests end servers soon */
	uint32_t lease_ms, silence_ms; /* for starts from now on; the defaults, unless a test says otherwise */
	bool stale_reads;
	uint32_t durability, idle_ms, checkpoint_ms;
	uint64_t retention_bytes, segment_bytes; /* 0: the defaults */
	uint32_t executors;
	bool locks_before; /* for starts from now on: nothing new is granted in a volume that was raised before each site has called nfs4r_locks_known() */
	bool no_locks; /* for starts from now on: the servers do not know the protocol of locks that hold at all of them. A volume that was made by such ones gets it with finish_upgrade() (steps.h) */
	uint8_t written_key[SITES_MAX + 1]; /* first byte of the fingerprint that every configuration file has as Key of that server; 0: none */
	bool machines; /* the servers are on machines that can lose power: machine.h */
	_Atomic bool hurry; /* operations do not try again after DELAY */
	struct site {
		int id;
		struct nfs4r_engine *eng;
		struct dirlops *ops;
		struct power *power;
		char boot[24];
		_Atomic unsigned losses;
		struct cluster *cluster;
		char data[128], store[128], grave[128];
		bool import;
		bool next_release; /* as that of the rehearsed protocol and disk format (src/base/version.h); for its next start */
		int64_t (*day_ns)(void); /* its clock of the day, as it tells it to the others; NULL: the machine's */
		pthread_rwlock_t gate; /* of eng, while threads use it that do not know whether it runs */
		pthread_mutex_t lock;
		char logged[65536]; /* under lock: what it said since cluster_init() */
		bool (*ready)(void *ops); /* NULL, or the ready of struct nfs4r_lops */
		struct nfs4r_lops table; /* in use when there is one */
		void (*lock_news)(struct site *s, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, bool ready); /* NULL, or lock_ready and lock_again of struct nfs4r_lops */
		_Atomic unsigned locks_shared; /* how often it said that locks hold at all servers, as lops.h */
		void (*fence)(struct site *s, uint32_t number, uint32_t nlost); /* as lops.h; NULL: its clients are not fenced */
		void (*heard)(struct site *s, const char *text); /* under lock; NULL, or called without it for each line, on the thread that says it */
	} site[SITES_MAX + 1]; /* 1.. */
};

/* What a test puts in the way of a site's file system; NULL: as it is. */
struct site_hooks {
	enum nfs4r_status (*allocate)(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, uint64_t len, bool punch, const struct nfs4r_cred *cred);
	enum nfs4r_status (*commit)(void *ctx, const struct nfs4r_lhandle *obj);
	int (*sync_all)(void *ctx);
};

/* From now on until the site starts again, also for its threads that run. @hooks stays valid for so long. NULL: none any more. */
void site_hook(struct site *s, const struct site_hooks *hooks);
const struct nfs4r_lops *site_unhooked(const struct site *s); /* for a hook that goes on to what it stands in front of */

void cluster_init(struct cluster *c);
void cluster_start(struct cluster *c, int id);
void cluster_stop(struct cluster *c, int id);
void cluster_fini(struct cluster *c);
void pause_ms(long ms);
/* Every TCP connection of this process: three servers are not more than that many descriptors. */
void pace_connections(uint32_t bytes_per_second);
/* For cmocka: a cluster with the defaults, started; one that is set up in between; and its end. */
int cluster_setup(void **state);
struct cluster *cluster_new(void);
int cluster_begin(struct cluster *c, void **state);
int cluster_teardown(void **state);
/* Status of a start that is expected to fail; text in why. */
enum nfs4r_status cluster_try_start(struct cluster *c, int id, char *why);
/* Wait until the server has said it; fails the test after @seconds. */
void site_heard(struct site *s, void (*heard)(struct site *s, const char *text)); /* sets it, also while the server runs */
void site_says(struct site *s, const char *text, int seconds);
/* Wait until every server has applied everything and no difference is left; fails the test after a while. */
void cluster_settle(struct cluster *c);
void cluster_settle_of(struct cluster *c, nfs4r_servers set); /* these servers only */
void cluster_settle_rows(struct cluster *c); /* what clients see of attributes; bytes on the disks may still differ */

/* Operations by name; DELAY is retried like a client does. On machines that can lose power also while the server does not run. */
enum nfs4r_status site_lookup(struct site *s, const struct nfs4r_oid *dir, const char *name, struct nfs4r_oid *out);
enum nfs4r_status site_make(struct site *s, uint32_t type, const struct nfs4r_oid *dir, const char *name, struct nfs4r_oid *out);
enum nfs4r_status site_symlink(struct site *s, const struct nfs4r_oid *dir, const char *name, const char *text, struct nfs4r_oid *out);
enum nfs4r_status site_write(struct site *s, const struct nfs4r_oid *oid, uint64_t off, const void *bytes, uint32_t len);
enum nfs4r_status site_write_stable(struct site *s, const struct nfs4r_oid *oid, uint64_t off, const void *bytes, uint32_t len);
enum nfs4r_status site_close(struct site *s, const struct nfs4r_oid *oid);
enum nfs4r_status site_read(struct site *s, const struct nfs4r_oid *oid, uint64_t off, void *bytes, uint32_t *len);
enum nfs4r_status site_commit(struct site *s, const struct nfs4r_oid *oid);
enum nfs4r_status site_getattr(struct site *s, const struct nfs4r_oid *oid, struct nfs4r_attrs *out);
enum nfs4r_status site_remove(struct site *s, const struct nfs4r_oid *dir, const char *name);
enum nfs4r_status site_rename(struct site *s, const struct nfs4r_oid *dir, const char *name, const struct nfs4r_oid *dir2, const char *name2);
enum nfs4r_status site_link(struct site *s, const struct nfs4r_oid *obj, const struct nfs4r_oid *dir, const char *name);
enum nfs4r_status site_setxattr(struct site *s, const struct nfs4r_oid *oid, const char *name, const char *value); /* of user.; NULL: removes it */
enum nfs4r_status site_allocate(struct site *s, const struct nfs4r_oid *oid, uint64_t off, uint64_t len);
enum nfs4r_status site_punch(struct site *s, const struct nfs4r_oid *oid, uint64_t off, uint64_t len);
enum nfs4r_status site_setattr(struct site *s, const struct nfs4r_oid *oid, const struct nfs4r_attrs *a);
/* Something in a small tree of directories d0 to d2, with names f0 to f5. */
void site_mute(struct site *s, bool mute); /* its messages do not leave */
void site_random_op(struct site *s, unsigned *seed);
struct nfs4r_oid site_root(struct site *s);

/* The test fails if the command does. */
void must_shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
