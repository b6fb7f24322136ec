/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What an administrator is told when the active view changes: who came and went, whether this server serves, and what keeps it or another one from that.
 *
 * Log lines are written from within the engine's lock: they are rare, and one for each change.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/membership/membership.h"
#include "engine/replicate/replicate.h"

#define RTT_EVERY_MS 5000
#define LATE_EVERY_MS 10000
#define CLOCK_EVERY_MS 1000
#define CLOCK_OFF_MS 1000 /* from here on it is said; what NTP leaves is far less */

struct view_seen { /* what was said last; under eng->lock */
	enum nfs4r_status trouble[NFS4R_SERVERS_MAX + 1]; /* of each server, this one included: why it cannot apply an update */
	uint64_t num;
	nfs4r_servers members, voters;
	uint32_t era;
	bool joining, had_lease, lease_said;
	bool newcomer; /* this server was added since its start */
	uint64_t away_ms, lease_lost_ms; /* since when; 0 = not */
	enum nfs4r_memory memory;
	bool forgot; /* this server, at any time since its start */
	nfs4r_servers forgetful; /* others, by their own word */
	uint64_t unended_ms[NFS4R_SERVERS_MAX + 1]; /* a forgetful one waits for the end of its log; 0 = not, UINT64_MAX = said */
};

bool membership_view_create(struct nfs4r_engine *eng)
{
	eng->membership.seen = calloc(1, sizeof(*eng->membership.seen));
	return eng->membership.seen;
}

bool membership_view_forgot(const struct nfs4r_engine *eng)
{
	return eng->membership.seen->forgot;
}

/* ---- what is said about changes; eng->lock held ---- */

#define say(eng, fmt, ...) engine_log(eng, NFS4R_LOG_INFO, "volume %s: " fmt, (eng)->cfg.volume_name, __VA_ARGS__)
#define say_of(eng, what, s, level, fmt, ...) engine_log_often(eng, what, s, level, "volume %s: " fmt, (eng)->cfg.volume_name, __VA_ARGS__)

static double since_s(uint64_t ms)
{
	return ms ? (double)(engine_now_ms() - ms) / 1000 : 0;
}

/* This server is in or out by the view that it has adopted now. */
static void say_self(struct nfs4r_engine *eng, const struct nfs4r_core_view *v, const char *members)
{
	if (v->taken_out || v->left)
		return; /* server_list.c, or shutdown.c, says more */
	if (!v->member) {
		eng->membership.seen->away_ms = engine_now_ms();
		say(eng, "this server is outside the active view (members %s): it serves nothing and its clients wait until it has caught up and is a member again",
		    members);
	} else if (!(eng->membership.seen->voters & NFS4R_BIT(eng->cfg.rpc.self))) {
		say(eng, "this server has caught up: it is now a voter and a member of the active view (members %s); it serves when it knows all controls",
		    members);
	} else {
		say(eng, "this server is a member of the active view again (members %s); it serves when it knows all controls", members);
	}
}

#define say_member(fmt, ...) say_of(eng, SAYING_MEMBER, s, NFS4R_LOG_INFO, fmt, __VA_ARGS__)

static void say_other(struct nfs4r_engine *eng, const struct nfs4r_core_view *v, nfs4r_server_id s, const char *members)
{
	char silent[60], why[300];

	if (!(v->adopted.servers & NFS4R_BIT(s)))
		return; /* server_list.c says more */
	if (v->adopted.members & ~eng->membership.seen->voters & NFS4R_BIT(s)) {
		say_member("server %u has caught up: it is now a voter and a member of the active view; members now %s", s, members);
		return;
	}
	if (v->adopted.members & NFS4R_BIT(s)) {
		say_member("server %u is back in the active view; members now %s", s, members);
		return;
	}
	if (v->peer[s].left) {
		say_member("server %u was removed from the active view: it is shutting down; members now %s. No operation waits for it", s, members);
		return;
	}
	if (v->peer[s].halted) {
		say_member("server %u was removed from the active view: %s; members now %s", s, engine_halt_of_peer(v->peer[s].trouble, v->peer[s].halted_files, why, sizeof(why)), members);
		return;
	}
	if (v->peer[s].trouble && v->peer[s].silent_ms < engine_silence_ms(eng)) {
		say_member("server %u was removed from the active view: it cannot apply an update (%s), its log and status say which; members now %s. Only operations on controls that it "
			   "could not release wait for it",
			   s, nfs4r_status_str(v->peer[s].trouble), members);
		return;
	}
	if (v->removing == s)
		snprintf(silent, sizeof(silent), "it is being removed from the volume");
	else if (!v->peer[s].known)
		snprintf(silent, sizeof(silent), "not heard since this server's start");
	else if (v->peer[s].silent_ms >= engine_silence_ms(eng))
		snprintf(silent, sizeof(silent), "not heard for %.1f s", (double)v->peer[s].silent_ms / 1000);
	else
		snprintf(silent, sizeof(silent), "it was silent for too long, or an administrator removes it");
	say_member("server %u was removed from the active view: %s; members now %s. Updates of objects that it controls wait for its return", s, silent, members);
}

static void say_members(struct nfs4r_engine *eng, const struct nfs4r_core_view *v)
{
	nfs4r_servers changed = eng->membership.seen->members ^ v->adopted.members;
	nfs4r_server_id self = eng->cfg.rpc.self;
	char members[64];

	engine_server_list(v->adopted.members, members, sizeof(members));
	if (changed & NFS4R_BIT(self))
		say_self(eng, v, members);
	EACH_OF(changed & ~NFS4R_BIT(self), s)
		say_other(eng, v, s, members);
}

static void say_serving(struct nfs4r_engine *eng, const struct nfs4r_core_view *v)
{
	bool joining = v->member && v->joining;

	if (eng->membership.seen->joining && !joining && v->member)
		say(eng, "this server serves again; it was outside the active view, or starting, for %.1f s", since_s(eng->membership.seen->away_ms));
	eng->membership.seen->joining = joining;
}

/* A lease that ran out while nobody said that this server is outside: it hears too few, or stood still. */
static void say_lease(struct nfs4r_engine *eng, const struct nfs4r_core_view *v)
{
	bool has = engine_has_lease(eng), waits = v->member && !v->joining && !v->left && eng->runtime.ready;

	if (has || !waits) {
		if (has && eng->membership.seen->lease_said)
			say(eng, "this server has its lease again, after %.1f s; its clients continue", since_s(eng->membership.seen->lease_lost_ms));
		eng->membership.seen->lease_lost_ms = has ? 0 : eng->membership.seen->lease_lost_ms;
		eng->membership.seen->lease_said = false;
		eng->membership.seen->had_lease |= has;
		return;
	}
	if (!eng->membership.seen->lease_lost_ms)
		eng->membership.seen->lease_lost_ms = engine_now_ms();
	/* After a start the first grants need a moment, and longer if the others are not there yet. */
	if (eng->membership.seen->lease_said || (!eng->membership.seen->had_lease && since_s(eng->membership.seen->lease_lost_ms) * 1000 < 2 * engine_lease_ms(eng)))
		return;
	eng->membership.seen->lease_said = true;
	say(eng, "this server has no lease: fewer than a majority of the servers answer it. %s", eng->cfg.stale_reads ? "Its clients read its own copy (Stale_Reads); all other operations wait" : "Its clients wait");
}

bool membership_view_is_strange(const struct nfs4r_engine *eng, char *why, size_t len)
{
	if (!eng->start.found[0] || replicate_staging_is_name(eng->start.found) || eng->cfg.import)
		return false;
	snprintf(why, len, "the store in %s is new but the exported directory is not empty (it has '%s'): set Import = true on exactly one server to import "
			   "its tree as the volume's first copy, and start the others with an empty directory",
		 eng->cfg.store_dir, eng->start.found);
	return true;
}

/* What this server's own store is worth (log 8.6). */
static void say_memory(struct nfs4r_engine *eng, const struct nfs4r_core_view *v)
{
	enum nfs4r_memory was = eng->membership.seen->memory;
	char why[NFS4R_WHY];

	eng->membership.seen->memory = v->memory;
	if (v->memory == was)
		return;
	if (v->memory == NFS4R_MEMORY_FORGOT) {
		eng->membership.seen->forgot = true;
	}
	if (v->memory == NFS4R_MEMORY_FORGOT && !v->learner && !v->taken_out) {
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: the other servers know a later state of this server than its store in %s has: the store is new, or was restored from an older copy. "
						"It grants and serves nothing; when the others have removed it and ended its log, it copies everything from them",
			   eng->cfg.volume_name,
			   eng->cfg.store_dir);
	}
	if (was == NFS4R_MEMORY_FORGOT && v->memory == NFS4R_MEMORY_KNOWN && !eng->membership.seen->newcomer)
		say(eng, "this server was added again with a full copy from the others: the loss of its store is repaired (start %llu)",
		    (unsigned long long)eng->inc);
	if (was != NFS4R_MEMORY_FORGOT && v->memory == NFS4R_MEMORY_KNOWN && membership_view_is_strange(eng, why, sizeof(why))) {
		engine_log(eng, NFS4R_LOG_ERROR, "volume %s: %s", eng->cfg.volume_name, why);
		engine_halt(eng, "its store is new and the exported directory is not empty: Import = true on exactly one server, an empty directory on the others");
	}
}

/* A server that forgot, this one or another, is outside, and its log does not end: the others know of controls of it. */
static void say_unended(struct nfs4r_engine *eng, const struct nfs4r_core_view *v, nfs4r_server_id s, bool forgot)
{
	uint64_t *since = &eng->membership.seen->unended_ms[s], now = engine_now_ms();

	if (!forgot || v->adopted.members & NFS4R_BIT(s) || !(v->adopted.open & v->adopted.servers & NFS4R_BIT(s))) {
		*since = 0;
		return;
	}
	if (!*since)
		*since = now;
	if (*since == UINT64_MAX || now < *since + 2 * engine_lease_ms(eng) + engine_silence_ms(eng))
		return;
	*since = UINT64_MAX;
	say_of(eng, SAYING_UNENDED, s, NFS4R_LOG_WARN, "%s %u lost its store, or has an old one, and had controls that may cover updates which no other server has: it waits until it is "
						       "abandoned: run `nfs4rctl abandon %u` at a member",
	       s == eng->cfg.rpc.self ? "this server," : "server", s, s);
}

static void say_forgetful(struct nfs4r_engine *eng, const struct nfs4r_core_view *v)
{
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++) {
		bool self = s == eng->cfg.rpc.self;
		bool forgot = self ? v->memory == NFS4R_MEMORY_FORGOT : v->peer[s].known && v->peer[s].memory == NFS4R_MEMORY_FORGOT;

		if (forgot && !self && v->adopted.voters & ~eng->membership.seen->forgetful & NFS4R_BIT(s))
			say_of(eng, SAYING_MEMORY, s, NFS4R_LOG_INFO, "server %u has a new store, or an old one: it is removed from the view and copies everything from the others", s);
		eng->membership.seen->forgetful = forgot && !self ? eng->membership.seen->forgetful | NFS4R_BIT(s) : eng->membership.seen->forgetful & ~NFS4R_BIT(s);
		say_unended(eng, v, s, forgot);
	}
}

/* Log 6.12: this server cannot apply an update of another one. */
static void say_own_trouble(struct nfs4r_engine *eng, const struct nfs4r_core_view *v)
{
	char what[60];
	bool spared = __builtin_popcountll(v->adopted.members & v->adopted.voters & ~NFS4R_BIT(eng->cfg.rpc.self)) > __builtin_popcountll(v->adopted.voters) / 2;

	if (!v->trouble)
		say(eng, "%s", v->member ? "this server applied the update that it could not apply" : "this server applied the update that it could not apply: it catches up and becomes a member again");
	else
		engine_log(eng, NFS4R_LOG_ERROR, "volume %s: this server cannot apply %s: %s; %s. %s", eng->cfg.volume_name,
			   engine_stuck_on(v, eng->cfg.rpc.self, what, sizeof(what)), nfs4r_status_str(v->trouble), engine_remedy(v->trouble), !v->member ? "This server stays outside the active view until then, and returns by itself" : spared ? "This server releases its controls and withdraws from the active view, so that the others do not wait for it. It returns by itself, without a restart" :
																														     "No view has a majority without this server, so updates at all sites wait for it");
}

static void say_trouble(struct nfs4r_engine *eng, const struct nfs4r_core_view *v)
{
	nfs4r_server_id self = eng->cfg.rpc.self;
	char why[300];

	if (v->trouble != eng->membership.seen->trouble[self] && !eng->runtime.mute)
		say_own_trouble(eng, v);
	eng->membership.seen->trouble[self] = v->trouble;
	EACH_OF(v->adopted.servers & ~NFS4R_BIT(self), s) {
		enum nfs4r_status is = v->peer[s].known ? v->peer[s].trouble : NFS4R_OK;

		if (is && !eng->membership.seen->trouble[s] && v->peer[s].halted)
			say_of(eng, SAYING_TROUBLE, s, NFS4R_LOG_WARN, "server %u reports: %s. Until then it is removed from the active view, if the others have a majority", s,
			       engine_halt_of_peer(is, v->peer[s].halted_files, why, sizeof(why)));
		else if (is && !eng->membership.seen->trouble[s])
			say_of(eng, SAYING_TROUBLE, s, NFS4R_LOG_WARN, "server %u reports that it cannot apply an update: %s. Remedy, at that server: %s. Until then it is removed from the active "
								       "view, if the others have a majority",
			       s, nfs4r_status_str(is), engine_remedy(is));
		eng->membership.seen->trouble[s] = is;
	}
}

static bool may_have_changed(uint32_t type, uint32_t msg_type)
{
	return type == NFS4R_EV_TICK || (type == NFS4R_EV_MSG && ((msg_type >= NFS4R_MSG_HEARTBEAT && msg_type <= NFS4R_MSG_JOINED) || msg_type == NFS4R_MSG_HALTED));
}

void membership_view_watch(struct nfs4r_engine *eng, uint32_t type, uint32_t msg_type)
{
	struct nfs4r_core_view v;

	if (engine_lease_ms(eng) == 0 || (!may_have_changed(type, msg_type) && eng->membership.seen->era == eng->runtime.lease.era))
		return;
	eng->membership.seen->era = eng->runtime.lease.era;
	nfs4r_core_get_view(eng->core, &v);
	say_trouble(eng, &v);
	if (v.adopted.num != eng->membership.seen->num || v.adopted.members != eng->membership.seen->members)
		say_members(eng, &v);
	eng->membership.seen->num = v.adopted.num;
	eng->membership.seen->members = v.adopted.members;
	eng->membership.seen->voters = v.adopted.voters;
	eng->membership.seen->newcomer |= v.learner;
	say_memory(eng, &v);
	say_forgetful(eng, &v);
	say_serving(eng, &v);
	say_lease(eng, &v);
}

void membership_view_start(struct nfs4r_engine *eng)
{
	struct nfs4r_core_view v;
	char members[64];

	eng->membership.seen->away_ms = engine_now_ms();
	nfs4r_core_get_view(eng->core, &v);
	eng->membership.seen->num = v.adopted.num;
	eng->membership.seen->members = v.adopted.members;
	eng->membership.seen->voters = v.adopted.voters;
	if (engine_lease_ms(eng) == 0 || engine_is_alone(eng) || v.taken_out)
		return;
	say_memory(eng, &v);
	say(eng, "members of the active view: %s%s", engine_server_list(v.adopted.members, members, sizeof(members)),
	    v.member ? "" : "; this server is outside it and serves nothing until it has caught up");
	if (__builtin_popcount(v.adopted.voters) == 2)
		engine_log(eng, NFS4R_LOG_WARN,
			   "volume %s: with two servers, neither serves while the other is away, because one server is not a majority; use three, or Lease = 0, which "
			   "allows reads",
			   eng->cfg.volume_name);
}

/* ---- times that do not fit; the timer's thread, no lock held ---- */

void membership_view_check_rtt(struct nfs4r_engine *eng, uint64_t now)
{
	struct nfs4r_rpc_peer_stats rs;
	uint32_t least = engine_lease_ms(eng) < engine_silence_ms(eng) ? engine_lease_ms(eng) : engine_silence_ms(eng);

	if (engine_lease_ms(eng) == 0 || now < eng->membership.rtt_due_ms)
		return;
	eng->membership.rtt_due_ms = now + RTT_EVERY_MS;
	if (least != eng->membership.rtt_least_ms) /* log 6.17: another thing to say */
		memset(eng->membership.rtt_said_ms, 0, sizeof(eng->membership.rtt_said_ms));
	eng->membership.rtt_least_ms = least;
	EACH_OF(eng->membership.servers & ~NFS4R_BIT(eng->cfg.rpc.self), s) {
		if (!nfs4r_rpc_get_stats(eng->rpc, s, &rs) || !rs.up || 10 * rs.rtt_ms <= least)
			continue;
		if (rs.rtt_ms <= 2 * eng->membership.rtt_said_ms[s])
			continue; /* said before, and not much worse since */
		eng->membership.rtt_said_ms[s] = rs.rtt_ms;
		engine_log(eng, NFS4R_LOG_WARN,
			   "volume %s: the round trip to server %u takes %.0f ms: Lease = %u and Failure_Timeout = %u are too short for it, and servers that are only slow will be "
			   "removed; run `nfs4rctl set Max_Round_Trip %.0f` at a member, or with a longer time",
			   eng->cfg.volume_name, s, rs.rtt_ms,
			   engine_lease_ms(eng), engine_silence_ms(eng), rs.rtt_ms + 1);
	}
}

/* Its clock is @ahead_ms ahead of this server's. Said once, and again when it is off by something quite different. */
static void check_clock(struct nfs4r_engine *eng, nfs4r_server_id s, double ahead_ms)
{
	double *said = &eng->membership.clock_said_ms[s];

	if (fabs(ahead_ms) < CLOCK_OFF_MS) {
		if (*said != 0)
			say_of(eng, SAYING_CLOCK, s, NFS4R_LOG_INFO, "the clock of server %u agrees with this server's again", s);
		*said = 0;
		return;
	}
	if (*said != 0 && fabs(ahead_ms - *said) < CLOCK_OFF_MS)
		return;
	*said = ahead_ms;
	say_of(eng, SAYING_CLOCK, s, NFS4R_LOG_WARN,
	       "the clock of server %u is %.1f s %s this server's: files get their times from the server that executes an update, so make, rsync and backups "
	       "may mistake new files for old ones; correct the wrong clock, and run NTP on every server",
	       s, fabs(ahead_ms) / 1000, ahead_ms > 0 ? "ahead of" : "behind");
}

void membership_view_check_clocks(struct nfs4r_engine *eng, uint64_t now)
{
	struct nfs4r_rpc_peer_stats rs;

	if (now < eng->membership.clock_due_ms)
		return;
	eng->membership.clock_due_ms = now + CLOCK_EVERY_MS;
	EACH_OF(eng->membership.servers & ~NFS4R_BIT(eng->cfg.rpc.self), s)
		if (nfs4r_rpc_get_stats(eng->rpc, s, &rs) && rs.up && rs.clock_known)
			check_clock(eng, s, rs.clock_ahead_ms);
}

void membership_view_check_late(struct nfs4r_engine *eng, uint64_t late_ms, uint64_t now)
{
	if (engine_lease_ms(eng) == 0 || late_ms < engine_lease_ms(eng) / 2 || now < eng->membership.late_due_ms)
		return;
	eng->membership.late_due_ms = now + LATE_EVERY_MS;
	engine_log(eng, NFS4R_LOG_WARN,
		   "volume %s: this server did not run for %.1f s: it was suspended, or its processors or the disk under %s are overloaded. Its lease is %u ms; without a "
		   "lease its clients wait, and the others remove it from the view",
		   eng->cfg.volume_name, (double)late_ms / 1000, eng->cfg.store_dir, engine_lease_ms(eng));
}
