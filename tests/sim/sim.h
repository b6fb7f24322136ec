/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The simulator: several servers, each the shipped core with an in-memory tree and a
 * simulated journal, on one virtual clock and one random stream. See sim.c for how a
 * run goes; the checkers are check_*.c and know nothing but the facts written here.
 */
#ifndef NFS4R_TESTS_SIM_H
#define NFS4R_TESTS_SIM_H

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/core.h"
#include "locker.h"

#define SERVERS_MAX 7
#define CLIENTS_MAX 16 /* of one server */
#define CONTENT_MAX 64 /* bytes of a file; writers put 4-byte identities */
#define PARENTS_MAX 32
#define NAMES_MAX 48 /* different names in use in the whole run */
#define LINK_LANES 2
#define MS 1000ull /* virtual time is in us */
#define SECOND 1000000ull
#define NEVER UINT64_MAX

/* ---- rng.c: random numbers and the trace hash ---------------------------------- */

struct rng {
	uint64_t s;
};

uint64_t rng_next(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n); /* 0..n-1; 0 when n is 0 */
uint64_t rng_range(struct rng *r, uint64_t lo, uint64_t hi); /* both included */
bool rng_chance(struct rng *r, uint32_t per_mille);
/* Mostly around @typical, now and then far above it: how long things take. */
uint64_t rng_time(struct rng *r, uint64_t typical);
uint64_t hash_mix(uint64_t h, uint64_t v);
uint64_t hash_bytes(uint64_t h, const void *p, size_t n);

/* ---- configuration of one run ---------------------------------------------------- */

struct plan { /* drawn from the seed and the mode; printed with a failure */
	uint64_t seed;
	const struct mode *mode;
	uint32_t servers, clients; /* clients of each server */
	uint32_t base; /* so many of the servers are in the first view; the others are no part of the volume then */
	bool secret; /* the volume has a secret, and each start of a server one of its own for it (log 6.13) */
	uint64_t work_us; /* clients start operations and faults happen for so long */
	uint32_t fault; /* of the faulty core */
	/* network, per mille and us */
	uint32_t loss, dup;
	uint64_t lag_us, bulk_lag_us;
	uint64_t cut_every_us, cut_for_us; /* 0 = none */
	/* machines */
	uint64_t crash_every_us, down_for_us; /* 0 = none */
	uint32_t machine_crash; /* of thousand crashes */
	uint32_t hole_crash; /* of thousand entries that are committed behind a hole: all machines crash */
	uint32_t hole_process; /* 1: but where it was committed only the process does */
	uint32_t owners_unheard; /* 1: no store is told what the owners of logs have for good */
	uint32_t hole_saved; /* 1: when a checkpoint there has given up waiting for the hole to close */
	uint64_t sync_us, exec_us, apply_us, checkpoint_us;
	uint32_t exec_fails; /* per mille of local executions */
	uint64_t think_us;
	uint32_t deep_claims; /* per mille of a client's operations */
	uint32_t shared; /* per mille: picks among the objects of the first tree */
	uint32_t window, idle_ms; /* of the core */
	bool deep; /* policy of hierarchical control, and its knobs */
	uint32_t deep_ms, read_ms, revoke_ms, turn_ms, announce_ms, holdoff_ms, escalate_count, deep_plus_count, contested_ms, share_reads;
	uint32_t slow_paths; /* (from, to, lane) that are much slower than the rest */
	uint64_t slow_us;
	uint32_t rooms; /* objects that fit on a disk besides the first tree, about; 0 = any number (room.c) */
	uint32_t cancels; /* per mille of the operations */
	uint32_t bursts; /* per mille: a random client begins one */
	bool hierarchy; /* the policy is what the mode is about: on, and mostly with its defaults */
	bool busy; /* nobody pauses */
	uint32_t elections_max; /* that operations waited for, in the whole run; 0 = any number */
	/* views: the core's knobs (lease 0 = the view is fixed), and what happens to the servers, see trouble.c */
	uint32_t lease_ms, silence_ms, drift_permille;
	uint32_t troubles; /* set of enum trouble: those that may happen */
	uint64_t trouble_every_us, trouble_for_us; /* trouble_for: typically; longer than silence and lease together */
	bool one_trouble; /* one at a time, and nothing else goes wrong: then a removal may not take long */
	uint32_t leaves; /* per mille of the servers that go down: stopped in order (control 7.12) */
	uint32_t stuck; /* per mille of the troubles: a server cannot apply entries of some objects for a while (log 4.11) */
	uint32_t fills; /* per mille of the troubles: something else fills the disks of some servers for a while (log 4.12) */
	bool join_restarts; /* who comes back restarts while it joins, and does not hear one of the others */
	bool seals; /* logs are sealed; what follows is drawn */
	uint32_t durability; /* enum nfs4r_durability */
	uint32_t commits; /* per mille: a client that wrote asks for COMMIT next */
	uint32_t stable_writes; /* per mille of the writes */
	uint64_t give_up_us; /* an administrator gives up who is outside for so long; 0 = never */
	uint32_t abandon_ms; /* the core does; 0 = never */
	uint32_t calm_between; /* so many times as long as else */
	uint32_t repair_crash; /* per mille of the objects repaired: a crash */
	uint32_t losses; /* per mille of the troubles: a server loses its disk, or has an older one put back */
	bool newest_images; /* also to what it was earlier in the same start */
	bool members; /* an administrator adds servers and takes them out, once in members_us */
	uint64_t members_us;
	bool reconfigure; /* a majority is lost for good, and an administrator says who goes on (reconfigure.c) */
	bool liar; /* one server speaks for others (liar.c) */
	bool releases; /* servers are replaced by the next release, and put back (releases.c) */
	bool settings; /* the lease is set to other values (settings.c) */
	bool durabilities; /* and so is the durability, once in durability_us */
	uint64_t durability_us;
	uint64_t away_us; /* one server is cut off soon after the start for so long; 0 = none */
	uint32_t keep; /* entries of all logs together that a server keeps for those who are away; 0 = any number */
	/* a real store; segment_bytes 0: none */
	uint64_t segment_bytes, ahead_bytes, disk_every_us;
	uint32_t disk_dies, disk_full, disk_breaks; /* how often one of the troubles of disks is which */
	uint32_t closes, open_dies; /* per mille: ends in order; deaths while the store is opened */
	/* locking.c; lockers 0: nobody locks anything, and the volume has the protocol of this release */
	uint32_t lockers; /* clients of each server that lock ranges */
	uint32_t lock_files; /* so many of the first tree's files */
	uint64_t lock_think_us;
	uint32_t lock_waits, lock_deaths; /* per mille of the requests; of the moments in which a client does something */
	uint32_t lock_more; /* per cent of these in which one that has locks asks for more */
	uint32_t lock_reserve_ms, lock_grace_ms; /* of the core */
	bool lock_stable; /* writes are stable */
	bool lock_clients; /* clients are listed (locks 7): they begin, end, lose their leases */
	uint32_t lock_away, lock_late; /* per mille: of the moments, the client is cut off from its server for a while; of the restarts, it does not come back in time */
	uint32_t late; /* per mille of the entries that are sent: their bytes are read back then; others' entries always are, unless 0 */
};

/* ---- trees ------------------------------------------------------------------------ */

enum row_state {
	ROW_NONE = 0,
	ROW_KNOWN,
	ROW_DEAD
};

struct name_row {
	uint16_t name; /* index in sim->names */
	uint32_t obj, type;
	uint64_t cookie;
};

struct row { /* of one object on one server; objects by their index in sim->objs */
	uint8_t state;
	uint8_t multi;
	uint8_t type;
	uint8_t nparents;
	uint8_t nnames, names_cap;
	uint32_t nlink, mode, size;
	nfs4r_version version;
	uint32_t parents[PARENTS_MAX];
	struct name_row *names;
	uint8_t *bytes; /* CONTENT_MAX of a file; NULL = zeros */
	uint64_t xattr;
	uint32_t nlocks;
	struct nfs4r_file_lock *locks; /* of the newest LOCKS entry */
	nfs4r_server_id last_log; /* entry that made this version */
	nfs4r_lsn last_lsn;
};

struct tree {
	uint32_t n; /* rows that exist; all above are ROW_NONE */
	struct row *rows;
};

struct sim;
struct server;

void tree_fini(struct tree *t);
void tree_copy(struct tree *to, const struct tree *from);
struct row *tree_row(struct tree *t, uint32_t obj); /* made on demand */
void row_copy(struct row *to, const struct row *from); /* @to has nothing that would have to be freed */
void row_fini(struct row *r);
void row_effect(struct sim *s, struct row *r, const struct nfs4r_part *p, const struct nfs4r_entry *e); /* of one part; not the version */
void tree_install(struct tree *t, uint32_t obj, const struct row *row); /* in place of what is there */
const struct row *tree_get(const struct tree *t, uint32_t obj); /* never NULL: an empty row when there is none */
int tree_lookup(const struct tree *t, uint32_t dir, uint16_t name); /* object or -1 */
/* Is @obj strictly below @dir? A multi file is below nothing. */
bool tree_below(const struct tree *t, uint32_t obj, uint32_t dir);
uint64_t row_hash(const struct row *r);
/*
 * Make the parts of @e whose object is older part of the tree. NULL, or what is wrong with it:
 * a part that does not follow the version that is there.
 */
const char *tree_apply(struct sim *s, struct tree *t, const struct nfs4r_entry *e, bool own);
void row_print(struct sim *s, const struct row *r, char *buf, size_t len);

/* ---- objects, entries: what really happened ---------------------------------------- */

struct version_seen { /* one version of one object */
	nfs4r_version version;
	uint32_t ent; /* index in sim->ents; 0 = there from the start */
	bool hashed; /* the content is known */
	bool completed; /* a client was told; every later read has to show it */
	uint64_t hash;
};

struct obj {
	struct nfs4r_oid oid;
	uint32_t nvers, cap;
	struct version_seen *vers; /* live chain, ascending; last = newest (may be executing) */
	uint32_t ndead, dead_cap;
	struct version_seen *dead; /* sealed away; never to be given out again */
	uint32_t last_dead; /* counts versions taken back after a machine crash */
	bool lost; /* its creation was: dead by what is known of its creator's mint (log 2.2) */
	struct {
		nfs4r_version version;
		uint32_t last_dead; /* was so then */
	} told[SERVERS_MAX + 1]; /* by this server to its clients: what they know of it does not get older, also over its restarts */
	uint32_t left; /* entry whose primary let go of it while somebody outside the view did not have it */
};

enum ent_state {
	ENT_EXECUTING = 1,
	ENT_LIVE,
	ENT_LIMBO,
	ENT_LOST,
	ENT_SEALED, /* beyond a seal of an adopted view: it never happened, though some copies may have it for a while */
};

enum promise {
	PROMISED_NOTHING = 0,
	PROMISED_DISK /* its primary's */,
	PROMISED_MAJORITY
};

struct ent { /* one entry of one log, as the checkers see it */
	nfs4r_server_id log;
	nfs4r_lsn lsn;
	uint32_t op, state;
	bool is_void;
	enum promise promised;
	bool told_local; /* a client was told by `local`: it is its primary's alone, and stays */
	uint32_t result_by, commit_by; /* the weakest durability by which its primary has answered another server: the operation, a COMMIT; 0: it has not */
	uint64_t sealed_by; /* the view */
	struct nfs4r_request_id request;
	struct nfs4r_entry *e; /* own copy, since the commit */
	struct row *content; /* a copy that was taken for right (fuzzy.c): what its object is then */
	struct nfs4r_oid result;
	uint32_t nparts;
	struct {
		uint32_t obj, effect;
		nfs4r_version before, after;
		bool multi; /* a file that has had several names by then */
	} parts[NFS4R_PARTS_MAX];
};

#include "disk.h"

/* ---- events ---------------------------------------------------------------------------- */

typedef void (*event_fn)(struct sim *s, void *arg, uint64_t a, uint64_t b);

struct event {
	uint64_t at, order;
	event_fn fn;
	void *arg;
	void (*drop)(void *arg); /* for what is left at the end of a run; NULL = nothing to free */
	uint64_t a, b;
	struct server *on; /* whose process it happens in, NULL = in nobody's: waits while that is stopped */
	bool asked; /* a client's doing: it does so after the stop */
};

/* In the world, and in the process of a server. */
void sim_at(struct sim *s, uint64_t at, event_fn fn, void *arg, uint64_t a, uint64_t b);
void sim_at_owned(struct sim *s, uint64_t at, event_fn fn, void *arg, void (*drop)(void *), uint64_t a, uint64_t b);
void server_at(struct server *v, uint64_t at, event_fn fn, void *arg, uint64_t a, uint64_t b);
void server_at_owned(struct server *v, uint64_t at, event_fn fn, void *arg, void (*drop)(void *), uint64_t a, uint64_t b);
void client_at(struct server *v, uint64_t at, event_fn fn, void *arg, uint64_t a, uint64_t b);
void sim_again(struct sim *s, const struct event *e); /* one that was held back: now */

/* ---- servers ----------------------------------------------------------------------------- */

struct client;

struct simop { /* engine part of an operation (op->engine) */
	struct nfs4r_op *op;
	struct server *server;
	struct client *client; /* NULL: came by FORWARD */
	bool given, executing, remote, done;
	bool skipped; /* its server took everything from another one meanwhile, and cannot know its result any more (log 5.6) */
	uint64_t started_us;
	nfs4r_version close_wants; /* CLOSE: newest own write when it was submitted */
	nfs4r_version dir_wants[2]; /* of dir and dir2: completed when it was submitted */
	uint32_t dir_taken_back; /* versions of dir that had been lost with a machine by then: their numbers come again */
	uint32_t epoch; /* loss epoch when it was submitted */
	uint32_t nlocks;
	struct {
		uint32_t obj;
		bool whole;
		uint64_t off, len;
	} locks[NFS4R_PARTS_MAX];
	bool locked, waiting;
	struct nfs4r_entry *intent;
	bool begun; /* its files change: what had to be on the disk before is there */
	struct simop *next;
};

struct delayed { /* a durable action that waits for the journal */
	uint32_t need; /* records that must be synced */
	struct nfs4r_action action;
	uint32_t by; /* durability by which it was decided */
	struct nfs4r_msg *msg; /* SEND: our copy */
	struct delayed *next;
};

struct applying {
	struct nfs4r_entry *e;
	uint32_t mask;
	bool begun, aside;
	struct applying *next;
};

struct reader; /* a read under way, read.c */
struct committing; /* a COMMIT that waits, commit.c */

struct repair { /* seal.c */
	bool on, all;
	bool changed; /* the tree, under the core, which hears of it at the end */
	bool list; /* just these objects, which are inexact */
	nfs4r_server_id to;
	uint64_t number; /* counts, to recognise the newest */
	uint32_t patience; /* asks again so many times for what is not exact yet at the source, or when that does not answer */
	bool told; /* positions is what the source said first */
	uint64_t inc; /* the start of the source when it began */
	uint32_t nleft;
	struct nfs4r_fuzzy_object *left; /* inexact there, too */
	uint32_t nseals;
	struct nfs4r_seal seals[NFS4R_SERVERS_MAX];
	uint32_t n, cap, at;
	uint32_t *objs;
	bool fetched;
	struct row row; /* of the source's tree, on its way */
	nfs4r_lsn positions[SERVERS_MAX + 1];
	uint32_t nclients; /* of all servers, as the source had them when it said its positions */
	struct nfs4r_client_entry *clients;
};

#define POLICY_ASKED_MAX 32
struct policy_asked { /* a claim of the policy, not won yet */
	uint64_t seq, since;
};

struct server {
	struct sim *sim;
	nfs4r_server_id id;
	bool up, ready; /* ready: its log's tail is here */
	uint64_t inc, inc_random, generation; /* generation: of this start, to recognise late events */
	struct nfs4r_core *core;
	struct tree tree;
	struct journal journal;
	uint32_t room; /* objects that fit on its disk */
	uint32_t ballast; /* so much of that is taken by something else, until ballast_until */
	uint64_t ballast_until;
	bool room_unsure, room_marked; /* room.c: not everybody knows how much room it has; that may be over when it has applied room_mark */
	nfs4r_lsn room_mark[SERVERS_MAX + 1];
	struct storage *storage; /* store.h */
	struct kept kept[SERVERS_MAX + 1];
	nfs4r_lsn own_next; /* LSN of the next entry, as the checkers expect it */
	nfs4r_lsn applied[SERVERS_MAX + 1]; /* contiguous, as the journal has it */
	nfs4r_lsn stable[SERVERS_MAX + 1]; /* reported to the core */
	uint64_t oid_seq, request_seq, read_seq;
	uint64_t timer_at;
	bool syncing, checkpointing, checkpoint_wanted;
	struct delayed *delayed, **delayed_tail;
	struct simop *ops;
	struct applying *applying;
	struct reader *readers;
	struct committing *committing;
	uint64_t holds;
	struct repair repair;
	uint64_t peer_epoch[SERVERS_MAX + 1]; /* connection this side sees, 0 = none */
	uint64_t peer_inc[SERVERS_MAX + 1];
	uint32_t crash_after; /* actions; 0 = no crash armed */
	bool crash_machine, in_step;
	bool tail_lost; /* machine crash, and not recovered since */
	nfs4r_lsn truncated[SERVERS_MAX + 1];
	uint32_t nclients;
	struct client *clients[CLIENTS_MAX];
	/* newest version this server wrote under an open, by object, not closed yet */
	uint32_t nwrote;
	struct {
		uint32_t obj;
		nfs4r_version version;
	} wrote[64];
	uint64_t ticks_since, executed_us; /* check_policy.c; last EXECUTE */
	uint32_t ticks, nasked, actions; /* actions: of the last step */
	struct policy_asked asked[POLICY_ASKED_MAX];
	/* clock.c */
	uint64_t booted, clock_off, clock_rate; /* world time of the machine's start; its clock then, us; its us in a second */
	bool stopped;
	uint64_t stops, stop_for; /* stop_for: it stops at its next event */
	uint64_t sampled_ms; /* clock as it was read before a stop, for what goes on with it; 0 = none */
	uint32_t nheld, held_cap;
	struct event *held; /* happened while it was stopped */
	/* trouble.c */
	uint32_t crash_on; /* type of a message: crashes soon after sending one */
	uint64_t down_us; /* how long it is down after its next crash; 0 = as the plan says */
	bool join_restart; /* will restart when it joins next */
	bool next_release; /* releases.c */
	bool leaving; /* is to be stopped in order, and has not let go of everything */
	uint64_t stuck_until; /* it cannot apply entries of objects whose number modulo stuck_of is stuck_rest */
	uint32_t stuck_of, stuck_rest;
	nfs4r_lsn failed[SERVERS_MAX + 1]; /* of each log, of this start: the last entry that could not be applied */
	uint64_t failed_since[SERVERS_MAX + 1], failed_stops; /* and when that was so first; how often it had stopped by then */
	bool stuck_hangs; /* the attempt does not fail, and does not end before that time (log 4.18) */
	bool stuck_content; /* only those that make an object, move it or change its content: a later one may make them moot (log 4.13) */
	nfs4r_lsn beyond[SERVERS_MAX + 1]; /* of this start: up to here it keeps more than the plan says */
	/* lose.c */
	bool disk_lost; /* and it does not serve again since */
	bool told_of_all; /* its disk is new, and its configuration, too: it names all servers of the run */
	bool dead, dead_store; /* reconfigure.c: it is off for good, or for long; it came back with its old store */
	nfs4r_lsn had_stable[SERVERS_MAX + 1]; /* then: others may count on it until they hear of it */
	struct {
		bool taken;
		uint32_t records; /* of the journal */
		uint64_t end; /* of the journal, by its own count of positions */
		uint64_t inc, start; /* counter; as the core says it */
		nfs4r_lsn truncated[SERVERS_MAX + 1];
	} image;
	/* check_views.c */
	uint64_t seen_adopted, seen_accepted; /* of this start */
	nfs4r_servers view_servers, view_voters; /* of the view it adopted last */
	bool view_known, seen_lease, seen_joining, adopts;
	uint64_t lease_was, view_was; /* before this step: what it adopts may come after what it answers */
	uint32_t epoch_was, durability_was;
	uint32_t decided_by; /* durability by which the core decided what is carried out just now (check_promises.c) */
	uint64_t outside_since; /* world time; 0 = it is a member of the newest view */
	uint64_t removed_by; /* newest adopted view without it */
	uint64_t joined_in; /* newest view in which it was seen joining */
	uint64_t heard[SERVERS_MAX + 1]; /* world time of the last message from each */
	uint64_t away_since; /* one_trouble */
};

struct link { /* between two servers */
	bool up, cut; /* cut: stays down although both are there */
	uint64_t epoch, cut_until;
};

struct totals {
	uint64_t steps, ops, ok, delays, errors, reads, reads_forwarded, read_delays, entries, applied, crashes,
		machine_crashes, lost, cuts, messages, not_primary, checks;
	uint64_t elections, elections_waited, deep_asked, deep_refused, escalations, escalations_lost, raises, raises_lost, drops, deescalations, yielded, yield_regrets, turns; /* of the cores */
	uint64_t with_views, stops, troubles, views, removals, returns, leases_lost, joins, ok_without; /* ok_without: updates while one was outside */
	uint64_t seals, sealed_away, crossings, repairs, repairs_all, repairs_failed, repairs_anew, commits, commits_ok, holds, give_ups, promised, leaves, left, lies;
	uint64_t stuck, failed, hung, passed, asides, disks_lost, disks_put_back, newest_put_back, disks_back;
	uint64_t deaths_to_come; /* a copy was made anew without what its source had deleted, and it had not made yet */
	uint64_t dropped; /* entries beyond the bound, that somebody outside does not have */
	uint64_t added, taken_out, new_disks;
	uint64_t replaced, upgrades, settings_changed;
	uint64_t durability_changed, logs_end_again, told_local, told_behind, told_between; /* told_behind: by another durability than that of the newest view; told_between: by the primary's, which was not that of who told it */
	uint64_t reconfigured, reconf_words, reconf_late, reconf_as_is; /* views; sets said; who came back with its old store; copies taken as they are */
	uint64_t store_starts, store_checkpoints, store_tells, store_behind, store_torn, store_closes, store_open_dies, store_halts;
	uint64_t late, inexact, taken; /* entries whose bytes were read back and newer; objects that a seal made inexact; taken for right */
	uint64_t no_room, filled, crowded; /* operations that were refused for lack of room; disks that something else filled; entries that found no room */
	uint64_t lock_asks, lock_grants, lock_denied, lock_waits, lock_ready, lock_again, lock_cancels, lock_changes, lock_tests, lock_delays, lock_writes, lock_reads, lock_reads_here, lock_deaths,
		lock_lists, lock_reclaims, lock_lost, lock_begins, lock_gone, lock_away, lock_expired, lock_fenced, lock_moves; /* locking.c */
	uint64_t removal_max_us; /* the last: not summed up, but the highest */
};

struct view_seen { /* check_views.c */
	struct nfs4r_view view;
	nfs4r_servers accepted; /* by whom, durably */
	bool adopted, left; /* left: its proposer has told others of it */
};

struct seal_seen {
	struct nfs4r_seal seal;
	uint64_t view;
};

struct sim {
	struct plan plan;
	uint32_t asked[SERVERS_MAX + 1][SERVERS_MAX + 1]; /* [who][whom]: for entries of these logs */
	struct rng rng, lies, locks_rng; /* chance; that of a server that lies, of clients that lock */
	uint64_t now, hash, order;
	bool trace, healed, over;
	bool finish_asked; /* releases.c */
	uint64_t put_back_at;
	uint32_t volume_protocol; /* the highest of any view */
	bool unknown; /* what is true is not known any more: the run ends */
	nfs4r_servers survivors; /* reconfigure.c: 0 before */
	uint32_t nevents, events_cap;
	struct event *events;
	struct server servers[SERVERS_MAX + 1];
	struct link links[SERVERS_MAX + 1][SERVERS_MAX + 1]; /* [lower][higher] */
	uint64_t slow[SERVERS_MAX + 1][SERVERS_MAX + 1][2]; /* [from][to][bulk], us more */
	uint64_t mute[SERVERS_MAX + 1][SERVERS_MAX + 1]; /* [from][to]: nothing arrives until then */
	uint32_t nviews, views_cap;
	struct view_seen *views;
	uint8_t secret[NFS4R_SECRET]; /* of the volume; all 0: nobody has served yet */
	uint64_t top_view; /* newest adopted */
	uint32_t nseals, seals_cap;
	struct seal_seen *seals; /* check_seals.c: of all adopted views, in order */
	uint64_t gen[SERVERS_MAX + 1]; /* newest generation of each log */
	struct tree base; /* what everybody starts from */
	struct tree oracle; /* every live entry, at the moment of its execution */
	uint32_t nobjs, objs_cap;
	struct obj *objs;
	uint32_t *obj_index, obj_index_size;
	uint32_t nents, ents_cap;
	struct ent *ents; /* [0] unused */
	uint32_t nrefused, refused_cap;
	struct nfs4r_request_id *refused; /* clients were told that nothing happened */
	uint32_t nnames;
	char names[NAMES_MAX][16];
	uint32_t first_objs; /* objects of the first tree: indexes 0.. */
	uint32_t next_write;
	struct totals totals;
	uint32_t rooms_first; /* objects of the first tree */
	uint64_t limit_us, last_limit_us;
	uint64_t idle_since; /* healed, and no client wants anything; NEVER = not yet */
	char failure[1024];
	jmp_buf failed;
	void *script; /* state of a scripted mode */
	struct locker *locker; /* NULL: nobody locks */
	uint32_t nlock_files, lock_files[LOCKER_FILES]; /* objects, by the checker's number */
	uint32_t nlock_owners;
	uint64_t lock_client_waits; /* EV_CLIENT: numbers */
	uint64_t lock_outside[SERVERS_MAX + 1]; /* locking.c: since when, in world time, somebody goes by a view without the server; 0: nobody does */
};

/* ---- sim.c ------------------------------------------------------------------------------ */

/* A server got an update that it did not have: what takes long is no failure yet. */
void sim_progress(struct sim *s);
/* Runs it to its end. 0 = good; else sim->failure says what is wrong. */
int sim_run(struct sim *s, const struct plan *plan, bool trace);
void sim_fini(struct sim *s);
/* A checker found something: ends the run. */
_Noreturn void sim_fail(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sim_trace(struct sim *s, const struct server *v, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define TRACE(s, v, ...)                                  \
	do {                                              \
		if ((s)->trace)                           \
			sim_trace((s), (v), __VA_ARGS__); \
	} while (0)
void sim_note(struct sim *s, uint64_t kind, uint64_t a, uint64_t b); /* into the trace hash */
uint32_t obj_of(struct sim *s, const struct nfs4r_oid *oid); /* index, made on demand */
const char *obj_str(struct sim *s, uint32_t obj); /* static ring of buffers */
const char *oid_name(struct sim *s, const struct nfs4r_oid *oid);
uint16_t name_of(struct sim *s, const struct nfs4r_name *n);
uint16_t name_id(struct sim *s, const char *text);
void name_set(struct sim *s, struct nfs4r_name *n, uint16_t name);

/* ---- server.c ----------------------------------------------------------------------------- */

void server_start(struct server *v);
void server_stop(struct server *v, bool machine); /* a crash */
void server_arm_crash(struct server *v, uint32_t actions, bool machine);
void server_step(struct server *v, struct nfs4r_event *ev);
void server_soon(struct server *v, struct nfs4r_event *ev); /* in an event of its own; takes @ev (malloc) */
/* Carries out an update; false if the server crashed in the middle. */
bool server_carry_out(struct server *v, const struct nfs4r_update *u);
void server_fini(struct server *v);
void server_checkpoint(struct server *v);
void server_safe(struct server *v, const nfs4r_lsn *stable); /* a checkpoint's early word (log 4.3) */
void server_checkpointed(struct server *v);
void server_synced(struct server *v); /* run what waits for the journal */
uint32_t open_intents(const struct server *v, struct nfs4r_entry **out, uint32_t max); /* references to those without a decision, ascending */
void server_commit(struct server *v, struct nfs4r_entry *e, bool own, const struct nfs4r_put *puts, uint32_t n);
void server_peer(struct server *v, nfs4r_server_id peer, uint64_t epoch); /* connection seen (0 = gone) */

/* clock.c: clocks of their own, and stops (SIGSTOP) */
void clock_init(struct server *v);
void clock_reboot(struct server *v);
uint64_t clock_true_ms(const struct server *v); /* what it shows */
uint64_t server_start_name(const struct server *v); /* peer_inc of the core */
uint64_t clock_ms(const struct server *v); /* what the server goes by: it may have looked before a stop */
uint64_t clock_world(const struct server *v, uint64_t ms); /* when it shows @ms */
bool clock_held(struct sim *s, const struct event *e); /* its server is stopped: kept for later */
void clock_stop(struct server *v, uint64_t us);
void clock_go(struct server *v); /* on again; also of one that was not stopped */

/* seal.c: logs that end, and copies that are ahead of a seal */
void server_sealed(struct server *v, nfs4r_server_id log, nfs4r_lsn seal);
void seal_cut(struct server *v, nfs4r_server_id log, nfs4r_lsn seal); /* memory only: what the record means */
void set_positions(struct server *v, const nfs4r_lsn *applied); /* the same */
void repair_begin(struct server *v, const struct nfs4r_act_repair *a);
void repair_drop(struct server *v);

/* commit.c: COMMIT */
struct verifier { /* log 5.3 */
	nfs4r_server_id server;
	uint64_t inc;
	uint32_t epoch;
};
uint32_t epoch_of(const struct server *v);
/* Of this server for itself (from = 0) or another's READ; answered with read_answer(). */
void commit_begin(struct server *v, nfs4r_server_id from, const struct nfs4r_read *r);
void commit_quorum_durable(struct server *v, uint64_t hold);
void commit_stable(struct server *v);
void commit_drop_all(struct server *v);

/* exec.c: local execution of operations and entries */
void exec_locks(struct server *v, const struct nfs4r_act_execute *a);
void exec_unlock(struct server *v, struct simop *so);
void exec_started(struct server *v, struct nfs4r_op *op, struct nfs4r_entry *e);
void exec_apply(struct server *v, const struct nfs4r_act_apply *p);
struct simop *simop_new(struct server *v, struct nfs4r_op *op, struct client *c);
void simop_free(struct simop *so);

/* ---- net.c ---------------------------------------------------------------------------------- */

void net_send(struct server *v, nfs4r_server_id to, const struct nfs4r_msg *m);
void net_send_entries(struct server *v, nfs4r_server_id to, nfs4r_server_id log, nfs4r_lsn from, nfs4r_lsn until);
void net_cut(struct sim *s, nfs4r_server_id a, nfs4r_server_id b); /* for about as long as the plan says */
void net_cut_for(struct sim *s, nfs4r_server_id a, nfs4r_server_id b, uint64_t us); /* at least so long */
void net_down(struct sim *s, nfs4r_server_id a, nfs4r_server_id b); /* one of them crashed */
void net_join(struct sim *s, nfs4r_server_id a, nfs4r_server_id b);
void net_try(struct sim *s, nfs4r_server_id a, nfs4r_server_id b); /* connect, unless cut or dead */
bool net_linked(struct sim *s, nfs4r_server_id a, nfs4r_server_id b);
void net_post_entries(struct server *v, nfs4r_server_id to, struct nfs4r_msg *m); /* takes @m */
void net_post(struct server *v, nfs4r_server_id to, struct nfs4r_msg *m, bool bulk); /* the same, of any type */
/* fuzzy.c: bytes that are read back when they are sent (log 3.6, 7.5) */
void as_it_is(struct server *v, uint32_t obj, struct row *out); /* with what is being executed or applied half done; row_fini() it */
bool late_read(struct server *v, struct nfs4r_entry *e, struct nfs4r_seal *await); /* false: not now. @await: first this has to be committed and synced */
void late_send(struct server *v, nfs4r_server_id to, struct nfs4r_msg *m, const struct nfs4r_seal *await);
bool is_exact(const struct server *v, uint32_t obj);
void check_exact(struct server *v, const char *when);
void check_stable_told(struct server *v, const struct nfs4r_msg *m);
void check_taken_bytes(struct server *v, uint32_t obj); /* it takes its copy for right */
/* copy.c */
struct nfs4r_msg *msg_copy(const struct nfs4r_msg *m);
void msg_free(void *m);
struct nfs4r_entry *entry_copy(const struct nfs4r_entry *e);
struct nfs4r_op *op_copy(const struct nfs4r_op *op);
void op_free(struct nfs4r_op *op);
void msg_print(struct sim *s, const struct nfs4r_msg *m, char *buf, size_t len);
void op_print(struct sim *s, const struct nfs4r_op *op, char *buf, size_t len);
const char *lsn_str(nfs4r_lsn lsn); /* ring of buffers; versions, too */
void entry_print(struct sim *s, const struct nfs4r_entry *e, char *buf, size_t len);

/* ---- read.c ----------------------------------------------------------------------------------- */

/* A client's read of @obj; @done(client) when it is over. */
void read_start(struct server *v, struct client *c, uint32_t type, uint32_t obj, uint16_t name);
void read_on_msg(struct server *v, nfs4r_server_id from, struct nfs4r_msg *m);
void read_answer(struct server *v, nfs4r_server_id to, const struct nfs4r_read *r); /* to = 0: to itself */
void read_drop_all(struct server *v);

/* ---- trouble.c: what views are for ----------------------------------------------------------- */

enum trouble {
	TROUBLE_DOWN = 1, /* a server is down for long */
	TROUBLE_CUT, /* a link is cut */
	TROUBLE_ALONE, /* all links of a server are cut */
	TROUBLE_SPLIT, /* the servers are cut into two groups */
	TROUBLE_MUTE, /* nothing arrives from one at another */
	TROUBLE_DEAF, /* nothing arrives at a server, or nothing from it */
	TROUBLE_STOP, /* a server is stopped, and goes on */
	TROUBLE_SENT, /* a server restarts just after it sent a certain message */
	TROUBLE_ALL, /* all restart at once */
	TROUBLE_MAJORITY, /* a majority is down */
	TROUBLES
};
#define TROUBLE(x) (1u << (x))
#define ADOPTED_VIEW 255 /* in place of the type of a message: it adopted a view */

void trouble_unapplied(struct server *v, const struct nfs4r_entry *e);
bool trouble_stuck(const struct server *v, const struct nfs4r_entry *e, uint32_t mask); /* can it not apply that now? */
void trouble_begin(struct sim *s);
void trouble_hole(struct server *v); /* an entry of another server is committed before one that precedes it */
void trouble_step(struct server *v); /* a step of it is over */
void trouble_sent(struct server *v, uint32_t type); /* it sent a message of this type, or ADOPTED_VIEW */
void trouble_caught_up(struct server *v); /* it said so, and will be a member soon */

/* ---- lose.c ---------------------------------------------------------------------------------------- */

void lose_image(struct server *v); /* now and then: what may be put back later */
bool lose_disk(struct server *v, uint64_t down_us); /* false: another one has lost its disk */
void lose_over(struct server *v);
void disk_empty(struct server *v); /* it is down, and its disk is a new one */

/* ---- members.c ------------------------------------------------------------------------------------- */

nfs4r_servers view_servers(const struct server *v); /* of the view it has adopted */
void members_begin(struct sim *s);
void members_count(struct sim *s, const struct nfs4r_view *old, const struct nfs4r_view *w);
void members_check_book(struct sim *s, const struct nfs4r_view *w);
void members_print(const struct totals *t);

/* ---- releases.c ---- */

void releases_begin(struct sim *s);
void release_configure(const struct server *v, struct nfs4r_core_config *cfg);
void release_started(struct server *v); /* its core has all rows */
void release_travels(struct sim *s, nfs4r_server_id from, nfs4r_server_id to, struct nfs4r_msg *m);
void release_check(struct sim *s, const struct nfs4r_view *base, const struct nfs4r_view *w);
void releases_print(const struct totals *t);

/* ---- settings.c ---- */

void settings_begin(struct sim *s);
void settings_check(struct sim *s, const struct nfs4r_view *base, const struct nfs4r_view *w);
bool settings_quiet(struct sim *s, char *why, size_t len); /* the newest view has what it is to have in the end */
void settings_print(const struct totals *t);

/* ---- reconfigure.c ------------------------------------------------------------------------------------ */

void reconfigure_begin(struct sim *s);

/* liar.c */
void liar_begin(struct sim *s);
bool liar_takes_back(struct sim *s, nfs4r_server_id from, nfs4r_server_id to, const struct nfs4r_msg *m);
void liar_print(const struct totals *t);
bool reconf_first(const struct nfs4r_view *w); /* the first view of an epoch */
void reconf_check(struct server *v, const struct nfs4r_view *base, const struct nfs4r_view *w);
void reconf_seen(struct server *v, const struct nfs4r_view *w);
bool reconf_again(struct sim *s, const struct nfs4r_view *w); /* it is alone, adopted such a view, and lost that with its machine */
bool reconf_may_lose(struct sim *s, const struct ent *t);
void reconf_print(const struct totals *t);

/* ---- client.c, script.c, modes.c -------------------------------------------------------------------------- */

#define UNCOMMITTED_MAX 16

struct client {
	struct server *server;
	uint32_t nuncommitted;
	struct uncommitted { /* WRITEs that were answered, not stable */
		uint32_t obj, ent;
		struct verifier verifier;
	} uncommitted[UNCOMMITTED_MAX];
	bool busy, open;
	uint32_t file, writes_left; /* of the open file */
	struct nfs4r_op *retry; /* answered DELAY: to be sent again */
	uint32_t tries;
	uint64_t wakes; /* counts, to recognise the newest */
	const char *script; /* steps, NULL = random */
	uint32_t pc;
	bool loop;
	char bind[12]; /* symbol that the object made gets */
	uint32_t burst_left, burst_dir, burst_kind, burst_at;
	struct locking *locking; /* it locks ranges, and does nothing else; NULL: any other */
};

void clients_init(struct sim *s);
void clients_fini(struct server *v);
void client_op_done(struct client *c, struct simop *so);
void client_read_done(struct client *c, const struct nfs4r_read *r);
void client_server_down(struct server *v);
bool clients_idle(const struct sim *s);
void clients_blame(struct sim *s, char *buf, size_t len);
struct client *client_new(struct server *v);
struct nfs4r_op *client_op(uint32_t type);
void client_submit(struct client *c, struct nfs4r_op *op);
void client_wake_in(struct client *c, uint64_t us);
void client_open(struct client *c, uint32_t obj);
void client_write(struct client *c, uint32_t obj);
void client_close(struct client *c);
void client_commit(struct client *c, uint32_t obj);
/* burst.c */
enum burst_kind {
	BURST_BUILD = 1,
	BURST_STORM,
	BURST_CHURN
};
void burst_begin(struct client *c, uint32_t dir, enum burst_kind kind, uint32_t n);
bool burst_random(struct client *c, uint32_t dir); /* false: nothing could be done there */
bool burst_step(struct client *c); /* the next operation; false at the end */
/* locking.c: clients that lock ranges; nothing unless plan.lockers */
void locking_begin(struct sim *s);
void locking_step(struct client *c);
void locking_op_done(struct client *c, const struct nfs4r_op *op);
void locking_server_down(struct client *c);
void locking_server_up(struct server *v);
void locking_fence(struct server *v, const struct nfs4r_act_fence *a);
void locking_client_said(struct server *v, uint64_t wait_id, enum nfs4r_status st);
void locking_read(struct client *c, struct nfs4r_read *r); /* what it asks for */
void locking_read_done(struct client *c, const struct nfs4r_read *r);
void locking_ready(struct server *v, const struct nfs4r_act_lock_note *a);
void locking_again(struct server *v, const struct nfs4r_act_lock_note *a);
void locking_look(struct sim *s); /* after each event */
bool locking_idle(const struct client *c);
void locking_blame(const struct client *c, char *buf, size_t len);
bool locking_quiet(struct sim *s, char *why, size_t len); /* no server has anything of a lock */
void locking_end(struct sim *s);
void locking_print(const struct totals *t);
const char *locking_never(const struct totals *t); /* what of all that did not happen, or NULL */
/* script.c */
void script_tree(struct sim *s, const char *text); /* "D/ D/f E/h=f": the first tree */
void script_clients(struct sim *s, const char *text);
void script_step(struct client *c);
void script_bind(struct client *c, const struct nfs4r_oid *oid);
extern const char default_tree[];

struct mode {
	const char *name;
	const char *tree; /* NULL = default */
	const char *text; /* scripts; NULL = random clients only */
	void (*tune)(struct plan *p, struct rng *r);
	const char *what;
};

#define TROUBLE_EACH ((TROUBLE(TROUBLES) - 1) & ~TROUBLE(0))

/* All write, more than there is room for (room.c). */
#define FULL_TREE "D/ D/f D/x/ D/x/g E/ E/h"
#define FULL_TEXT                                                                                                                                               \
	"A*: burst D build 40; wait 100; burst D churn 10\nB*: burst D build 30; wait 200; burst E churn 10\nC*: burst E build 40; wait 50; burst x churn 10\n" \
	"A*: burst x churn 20; read f; wait 100\nB*: burst E churn 20; list D; wait 300\n"

extern const struct mode modes[];
/* modes_seals.c */
void draw_seals(struct plan *p);
void tune_seals_commit(struct plan *p, struct rng *r);
void tune_seals_majority(struct plan *p, struct rng *r);
void tune_seals_local(struct plan *p, struct rng *r);
void tune_process_holes(struct plan *p, struct rng *r);
void tune_seals_power(struct plan *p, struct rng *r);
void tune_seals_stop(struct plan *p, struct rng *r);
void tune_seals_twice(struct plan *p, struct rng *r);
void tune_seals_busy(struct plan *p, struct rng *r);
void tune_seals_ahead(struct plan *p, struct rng *r);
void tune_seals_forward(struct plan *p, struct rng *r);
void tune_views_amnesia(struct plan *p, struct rng *r);
void tune_seals_amnesia(struct plan *p, struct rng *r);
void tune_views_image(struct plan *p, struct rng *r);
void tune_seals_image(struct plan *p, struct rng *r);
void tune_seals_away(struct plan *p, struct rng *r);
void tune_members(struct plan *p, struct rng *r);
void tune_members_commit(struct plan *p, struct rng *r);
void tune_members_power(struct plan *p, struct rng *r);
void tune_seals_late(struct plan *p, struct rng *r);
void tune_seals_leave(struct plan *p, struct rng *r);
void tune_seals_stuck(struct plan *p, struct rng *r);
void tune_seals_full(struct plan *p, struct rng *r);
void tune_seals_liar(struct plan *p, struct rng *r);
void tune_reconfigure(struct plan *p, struct rng *r);
void tune_reconfigure_power(struct plan *p, struct rng *r);
extern const uint32_t nmodes;
/* modes_locks.c */
#define LOCKS_TREE "D/ D/f D/g D/x/ D/x/k E/ E/h"
#define LOCKS_TEXT                                                                                                                                 \
	"A*: chmod f; wait 400; claim D deep; wait 800; get k\nB*: read f; get g; wait 300; chmod h; wait 600; create D n; remove D n; wait 900\n" \
	"C*: rename D g E g; wait 300; rename E g D g; wait 900; read g; read h; wait 300\nB*: claim E deep; wait 1500; claim D deep+; wait 2000\n"
#define LOCKS_DEEP_TREE "D/ D/f D/g D/h D/k D/x/ D/x/a D/x/b D/x/c D/x/d D/y/ D/y/l D/y/m D/y/o D/y/p E/ E/q E/r E/s E/t"
#define LOCKS_DEEP_TEXT                                                                                                               \
	"A*: claim D deep; wait 300; create D n; remove D n; wait 700\nB*: claim E deep; wait 400; claim x deep; wait 900; chmod f\n" \
	"C*: claim D deep+; wait 500; create y n1; remove y n1; wait 600; rename D y E y; wait 300; rename E y D y; wait 800\n"       \
	"B: wait 1500; remove E t; wait 900; remove E s\n"
void draw_locks(struct plan *p);
void tune_locks(struct plan *p, struct rng *r);
void tune_locks_hot(struct plan *p, struct rng *r);
void tune_locks_deep(struct plan *p, struct rng *r);
void tune_locks_restart(struct plan *p, struct rng *r);
void tune_locks_power(struct plan *p, struct rng *r);
void tune_locks_cut(struct plan *p, struct rng *r);
void tune_locks_storm(struct plan *p, struct rng *r);
/* modes_store.c */
extern const struct mode named_modes[];
extern const uint32_t nnamed_modes;
extern const struct mode store_modes[];
extern const uint32_t nstore_modes;
void draw_store(struct plan *p);
const struct mode *mode_find(const char *name);
/* @mode NULL: the seed chooses. @servers 0: the seed chooses. @stores: real ones in any mode. */
void plan_draw(struct plan *p, uint64_t seed, const struct mode *mode, uint32_t servers, bool stores);
void plan_print(const struct plan *p, char *buf, size_t len);

/* room.c: disks that are too small; nothing unless plan.rooms */
void room_draw(struct sim *s); /* the first tree is made */
void room_start(struct server *v);
void room_check(struct server *v); /* after each step */
void room_fill(struct server *v, uint64_t us);
void room_forget(struct server *v); /* from now on not everybody knows how much room it has */
bool room_lacks(struct server *v, const struct nfs4r_entry *e, uint32_t mask); /* for what it makes. Fails the run if somebody should have known */
bool room_lacks_for(const struct server *v, uint32_t more);
void room_answer(struct server *v, const struct nfs4r_op *op);

#include "store.h"
#include "check.h"

#endif
