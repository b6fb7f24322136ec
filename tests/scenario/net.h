/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Several cores on one virtual clock, for protocol traces. Messages take `delay` ms and arrive in
 * the order sent, unless the test holds or drops them. Disks are at once; a checkpoint is taken
 * when asked for. Operations execute at once unless the test holds them (hold_exec, hold_apply).
 * No chance anywhere: the same test is the same trace.
 */
#ifndef NFS4R_TESTS_NET_H
#define NFS4R_TESTS_NET_H

#include "core/core.h"
#include "lib/memtree.h"

#define NET_MAX 7
#define UNDONE_MAX 64 /* objects of entries that a repair undoes */

struct packet {
	uint64_t at;
	nfs4r_server_id from, to;
	struct nfs4r_msg *msg;
	struct packet *prev, *next;
};

struct client { /* one operation of a test */
	struct nfs4r_op op;
	nfs4r_server_id server;
	bool done, executed;
	uint64_t started, done_at, executed_at;
	struct client *next;
};

struct job { /* operation or entry in execution at a server */
	struct nfs4r_op *op;
	struct nfs4r_entry *entry;
	bool apply, aside, held, waiting;
	uint32_t nlocks;
	struct nfs4r_oid locks[NFS4R_PARTS_MAX];
	bool whole[NFS4R_PARTS_MAX];
	uint32_t state; /* 0 wants locks, 1 locked, 2 started */
	struct job *prev, *next;
};

struct net_note { /* LOCK_READY, or LOCK_AGAIN */
	bool ready;
	struct nfs4r_act_lock_note note;
};

#define NET_NOTES 64

struct server {
	struct nfs4r_core *core;
	struct memtree *tree;
	struct job *jobs;
	uint64_t inc, next_timer;
	bool hold_exec, hold_apply, no_checkpoint, up;
	uint32_t servers_said; /* ACT_SERVERS */
	uint32_t fault, stuck, halted, recovered, checkpoints, hurried, applies, sealed, repairs, holds;
	uint64_t held; /* the last HOLD that ended */
	uint64_t client_said; /* the last CLIENT that was answered, and how */
	enum nfs4r_status client_status;
	uint32_t fences, lost; /* FENCEs, and how many clients had lost all at the last one */
	struct nfs4r_oid cannot; /* entries that make this object, move it or change its content cannot be applied here; zero: all can */
	bool cannot_make; /* only those that make it */
	uint32_t asides; /* APPLY said so */
	uint32_t failed; /* how often one could not */
	nfs4r_lsn recovered_end; /* of the own log when RECOVERED was heard */
	bool hold_repair; /* REPAIR is not carried out */
	struct nfs4r_versions protocol, disk_format; /* that its next start knows; 0: those of this release */
	bool too_old; /* its start found a volume, or a row, that it does not know */
	uint32_t nnotes;
	struct net_note notes[NET_NOTES]; /* of waiting locks, as they came */
	bool slow_disk; /* ACCEPTED that wait for it (`waits`) wait */
	bool waits;
	uint64_t accepted; /* ACCEPTED, not answered yet */
	uint64_t sync; /* SYNC, the same; a slow disk keeps it back */
	struct nfs4r_act_repair *repair;
	struct {
		nfs4r_server_id log;
		nfs4r_lsn lsn;
		struct nfs4r_oid oid;
		nfs4r_version version;
	} back; /* the next start finds it behind a hole of this log; 0: nothing */
};

struct rule { /* held or dropped messages; 0 = any */
	nfs4r_server_id from, to;
	uint32_t type;
	bool drop, used;
};

struct net {
	uint32_t n;
	uint64_t now, delay;
	struct nfs4r_oid root;
	struct server s[NET_MAX + 1];
	struct packet *wire, *held;
	struct rule rules[16];
	struct client *clients;
	uint32_t sent[48]; /* messages by type */
	uint64_t starts; /* of all servers; the random number of an incarnation */
	nfs4r_servers late; /* bytes for these are read back when they are sent: entries carry the mark that the sender's core gives them */
	uint32_t exec_fail; /* the next so many local executions fail */
	bool refuse; /* no caller may do what it asks for */
	bool trace;
	bool secrets; /* each start of a server has a secret of its own for the volume */
	struct nfs4r_core_config cfg; /* times for all */
};

struct net *net_new(uint32_t n);
void net_fault(struct net *n, uint32_t fault); /* before anything else; faulty build only */
void net_retune(struct net *n); /* all servers start anew, with n->cfg as it is now */
void net_free(struct net *n);
void net_run(struct net *n, uint64_t ms);
bool net_run_until(struct net *n, const bool *flag, uint64_t ms);
void net_tick(struct net *n, nfs4r_server_id s);

/* Messages that match wait in net->held / vanish, until released. 0 = any. */
void net_hold(struct net *n, nfs4r_server_id from, nfs4r_server_id to, uint32_t type);
void net_drop(struct net *n, nfs4r_server_id from, nfs4r_server_id to, uint32_t type);
void net_pass(struct net *n); /* no rules any more; what was held is delivered now */
void net_pass_from(struct net *n, nfs4r_server_id from, nfs4r_server_id to, uint32_t type);
void net_msg(struct net *n, nfs4r_server_id from, nfs4r_server_id to, const struct nfs4r_msg *m); /* copied */

void net_crash(struct net *n, nfs4r_server_id s);
void net_lose_disk(struct net *n, nfs4r_server_id s, struct memtree *image, uint64_t inc); /* it is down; NULL: the new one is empty; else what was there after start @inc */
void net_restart(struct net *n, nfs4r_server_id s, bool intact);
nfs4r_server_id net_new_server(struct net *n); /* one more, which is no part of the volume yet; its number */
bool net_add(struct net *n, nfs4r_server_id s, nfs4r_server_id id); /* an administrator at @s; false: refused */
/* An administrator at @s: @id is known by these keys, each a number; @second 0: by the first only. What the core says to that. */
enum nfs4r_status net_set_keys(struct net *n, nfs4r_server_id s, nfs4r_server_id id, uint8_t first, uint8_t second, bool abandon);
bool net_knows_key(struct net *n, nfs4r_server_id s, nfs4r_server_id id, uint8_t key); /* by the view that it goes by */
bool net_take_out(struct net *n, nfs4r_server_id s, nfs4r_server_id id, bool abandon);
bool net_reconfigure(struct net *n, nfs4r_server_id s, nfs4r_servers set); /* an administrator at @s says who goes on; 0: takes it back; false: refused */
bool net_set(struct net *n, nfs4r_server_id s, enum nfs4r_volume_key key, uint32_t value); /* an administrator at @s; false: refused */
bool net_finish(struct net *n, nfs4r_server_id s); /* an administrator at @s: the upgrade is finished; false: refused */
void net_give_up(struct net *n, nfs4r_server_id s, nfs4r_server_id gone); /* an administrator at @s */
void net_leave(struct net *n, nfs4r_server_id s); /* it is about to be stopped in order */
void net_hold_until_quorum_durable(struct net *n, nfs4r_server_id s, uint64_t id, const struct nfs4r_oid *oid); /* HOLD; `held` becomes id */
void net_client(struct net *n, nfs4r_server_id s, uint64_t id, const struct nfs4r_client *client, bool begins); /* a client of @s begins, or is gone; client_said becomes id */
void net_client_reclaimed(struct net *n, nfs4r_server_id s, const struct nfs4r_client *client); /* it has asked for all that it wants back */
void net_locks_known(struct net *n, nfs4r_server_id s); /* what its clients had before locks held at all servers has been asked for (cfg.locks_before) */
void net_let_repair(struct net *n, nfs4r_server_id s, bool ok);
void net_one_repair(struct net *n, nfs4r_server_id s); /* the one that is held back; further ones are, too */
void net_stable(struct net *n, nfs4r_server_id s);
void net_newer(struct net *n, nfs4r_server_id s, nfs4r_server_id from, const struct nfs4r_oid *oid); /* @s takes the content of a copy that is newer by the last entry of @from */
void net_beyond(struct net *n, nfs4r_server_id s, uint32_t keep); /* of each log all but the last @keep entries are beyond the bound */
/* What @s has measured (log 4.12): bytes above a reserve of 64 KiB, inodes above one of 4, the limits; the journal's disk is another one, with room. */
void net_space(struct net *n, nfs4r_server_id s, uint64_t bytes, uint64_t inodes, const struct nfs4r_limits *limits);
/* The same with a journal's disk that has so much, of which 64 KiB are kept back. */
void net_store_space(struct net *n, nfs4r_server_id s, uint64_t bytes);
extern const struct nfs4r_limits net_no_limits;
void net_remarks(struct net *n, nfs4r_server_id s, const struct nfs4r_remarks *remarks); /* it measures plenty of room, and says that of itself */
void net_writers(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, bool open); /* OPENED, CLOSED */
void net_told(struct net *n, nfs4r_server_id s, nfs4r_server_id by, const struct nfs4r_oid *oid, nfs4r_version version); /* what a READ_ANSWER says */
void net_finish_apply(struct net *n, nfs4r_server_id s, nfs4r_lsn lsn); /* one of those held */
void net_finish_exec(struct net *n, struct client *c); /* the same for an operation */
uint32_t net_jobs(struct net *n, nfs4r_server_id s);

/* Operations. They return a client whose `done` turns true. */
struct client *op_name(struct net *n, nfs4r_server_id s, uint32_t type, const struct nfs4r_oid *dir, const char *name);
struct client *op_symlink(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *dir, const char *name, const char *text);
struct client *op_link(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *obj, const struct nfs4r_oid *dir, const char *name);
struct client *op_rename(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *d, const char *a, const struct nfs4r_oid *d2, const char *b);
struct client *op_write(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, const char *text, bool under_open);
struct client *op_setattr(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint32_t mode);
struct client *op_size(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint64_t size);
struct client *op_times(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, int64_t atime, int64_t mtime); /* ns since 1970 */
struct client *op_xattr(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, const char *name, const void *value, uint32_t len);
struct client *op_close(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f);
struct client *op_here(struct net *n, nfs4r_server_id s, const struct nfs4r_op *op); /* a copy of it, with here_only */
struct client *op_claim(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint32_t depth);
/* Locks: a volume of protocol NFS4R_PROTOCOL_LOCKS. Notes about waiting ones are in s[].notes. */
struct client *op_lock(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, const struct nfs4r_lock *lock, enum nfs4r_lock_wait wait);
struct client *op_reclaim(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, const struct nfs4r_lock *lock);
struct client *op_lock_test(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, const struct nfs4r_lock *lock);
struct client *op_unlock(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, const struct nfs4r_lock *lock);
struct client *op_unwait(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, const struct nfs4r_lock *lock);
/* An open goes from what it has (0, 0: it is new) to @access and @deny (0, 0: it ends). */
struct client *op_share(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint32_t had_access, uint32_t had_deny, uint32_t access, uint32_t deny);
struct client *op_share_reclaim(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint32_t access, uint32_t deny);
void net_cancel(struct net *n, struct client *c); /* its caller no longer waits */
/* Run until done; returns the status. */
enum nfs4r_status finish(struct net *n, struct client *c);
/* Make an object from server @s and wait until everybody has it and nobody controls anything. */
struct nfs4r_oid make(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *dir, const char *name, uint32_t type);
void net_quiet(struct net *n); /* run until no control is left and trees are equal; fails the test otherwise */

/* Let held executions go on: all of server @s. */
void net_let_execute(struct net *n, nfs4r_server_id s);
void net_let_apply(struct net *n, nfs4r_server_id s);

bool controls(struct net *n, nfs4r_server_id at, nfs4r_server_id owner, const struct nfs4r_oid *oid); /* row in at's table */
bool acting(struct net *n, nfs4r_server_id owner, const struct nfs4r_oid *oid);
uint32_t rows(struct net *n, nfs4r_server_id at);
nfs4r_server_id route(struct net *n, nfs4r_server_id at, const struct nfs4r_oid *oid, bool is_dir);

#endif
