/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The part of struct nfs4r_engine that belongs to runtime/. */
#ifndef NFS4R_ENGINE_RUNTIME_STATE_H
#define NFS4R_ENGINE_RUNTIME_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/said.h"
#include "engine/engine.h"

/* Causes of lines that another server can bring about as often as it likes: engine_log_often() */
enum saying {
	SAYING_UP,
	SAYING_DOWN,
	SAYING_MEMBER,
	SAYING_MEMORY,
	SAYING_UNENDED,
	SAYING_TROUBLE,
	SAYING_CLOCK,
	SAYING_ROOM,
	SAYING_NAMES,
	SAYINGS
};

enum halt { /* what ends it */
	HALT_FOR_GOOD = 1, /* a person, and a restart */
	HALT_STORE, /* room under Store */
	HALT_FILES, /* room on the file system of the exported directory */
	HALT_MEMORY, /* nothing: it is tried again */
};

#define VAIN 256 /* objects that somebody waited for in vain, of the last second */

#define HANDLE_KEYS 4 /* secrets a server may have had since its start: the last is in use, and a worker may still look at the one before */

struct behind;
struct durable;
struct fastpath;
struct import_open;
struct in_doubt;
struct locks;
struct pool;
struct set_ids;
struct touched;

struct runtime_state { /* eng->runtime; "under lock": eng->lock */
	/* Set before threads run; each has its own lock */
	struct pool *executors, *menders;
	struct locks *locks; /* update_locks.c */
	struct fastpath *fastpath; /* control_filter.c */
	struct durable *durable; /* group_commit.c */
	struct touched *touched; /* byte_versions.c */
	struct set_ids *set_ids; /* suid.c */
	struct behind *behind; /* missing.c */
	struct in_doubt *in_doubt; /* in_doubt.c; NULL: the last run ended without a crash of the machine */

	/* core_driver.c */
	struct { /* under lock */
		pthread_cond_t cond;
		uint64_t next_ms; /* when the core wants a step */
		bool look_soon; /* at the questions that wait */
	} timer;
	struct {
		pthread_cond_t cond; /* goes with lock: the core has made a step, or the engine is over, and somebody waits for what came of it */
		uint32_t waiters; /* under lock */
		_Atomic uint64_t count;
	} step; /* engine_step_await() */
	uint64_t peer_inc[NFS4R_SERVERS_MAX + 1]; /* under lock; part of the verifier. Written by the door, which hears the transport */
	_Atomic uint64_t verifier;
	struct {
		pthread_mutex_t lock;
		struct nfs4r_said by[SAYINGS][NFS4R_SERVERS_MAX + 1]; /* under its lock, by cause and server; 0: of no one server */
	} said; /* engine_log_often() */

	/* halt.c */
	_Atomic bool ready; /* recovered and not halted */
	_Atomic bool mute; /* halted: nothing may leave that depends on what could not be written */
	struct {
		char why[NFS4R_WHY]; /* it does not serve; empty: it has not halted */
		enum halt kind; /* 0: it has not halted */
		enum nfs4r_status st; /* of what failed */
		uint64_t said_ms; /* to the others, last */
		bool again; /* lops.again was called */
	} halt; /* under lock */

	_Atomic uint32_t fence; /* 0, or the number of a fence that is under way: no client of this server is answered (update/fence.c) */

	/* lease.c: of the core after its last step. Written under lock */
	struct {
		_Atomic uint64_t until_ms;
		_Atomic uint32_t era;
	} lease;
	_Atomic uint32_t epoch; /* loss epoch of the adopted view */

	/* volume_keys.c: what the adopted view says (log 6.17), and before any view does the configuration. Written under lock */
	struct {
		_Atomic uint32_t durability, directory_reads, lease_ms, silence_ms;
		_Atomic uint32_t changes; /* of durability, since the start */
		_Atomic bool locks_shared; /* once true, it stays so */
	} volume;

	/* checkpoint.c */
	struct {
		pthread_mutex_t lock;
		pthread_cond_t cond;
		bool wanted, hurried; /* under its lock */
		_Atomic uint64_t urgent_until_ms;
	} checkpoint;

	/* peer_requests.c */
	struct asked {
		pthread_mutex_t lock; /* of all below, and of eng->admin.sums */
		uint32_t n;
		uint64_t bytes;
		bool paused;
		uint64_t window_ms; /* when it began */
		uint32_t taken; /* since then */
	} asked[NFS4R_SERVERS_MAX + 1]; /* by server */
	_Atomic uint32_t asked_era[NFS4R_SERVERS_MAX + 1]; /* how often the connection with it was lost */

	/* wait_limit.c */
	struct {
		_Atomic uint32_t all, unanswered; /* threads */
		_Atomic uint64_t refused; /* since the start */
		_Atomic nfs4r_servers up, mute; /* who is connected; who let a question run into its time, and answered none since */
		pthread_mutex_t lock;
		struct vain {
			struct nfs4r_oid oid;
			uint64_t until_ms;
		} vain[VAIN]; /* under its lock */
	} waiting;

	/* handle_key.c; written under lock */
	struct {
		_Atomic uint32_t n; /* how many there were; the last is key[n % HANDLE_KEYS] */
		uint8_t key[HANDLE_KEYS][NFS4R_SECRET];
	} keys;

	/* import_open.c; under lock */
	struct {
		struct import_open *v;
		uint32_t n;
	} imports;

	_Atomic uint32_t labels_refused; /* xattrs.c */
};

#endif
