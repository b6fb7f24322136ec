/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Views that end logs (docs/protocol/, log 5.1, 6, 7, 8.3 and 9.2), three servers, for the model checker Spin. README.md says what is
 * modelled, what is left out and why that is safe, how to run it, and what came out. views.pml has what is folded here: elections, lists,
 * timers of leases.
 *
 * One process makes one step of one server at a time; what a server does by itself at once (granting, crossing a seal) follows in the
 * same step, and then the properties of check() are looked at. There are no queues: a message that was sent stays there and may be
 * taken in at any later time, more than once, or never. Servers are 0, 1, 2, and so are their logs; sets are masks.
 *
 * Server 0 controls the one object at first. Each update is an entry in the log of its primary, and stands on the one before it.
 *
 * Bounds: NUMS     view numbers that can be proposed (1 to 3)
 *         ENTRIES  updates in all (1 to 3)
 *         WRITERS  mask of the servers that make updates
 *         RIVALS   mask of the servers that may win control (server 0 has it at first)
 *         LET_GO   control may be released, too
 *         ASK1, ASK2, ASK3  what that number may be taken for: 1, 2, 4 to change the membership of that server, 8 for nothing; sums of these
 *         RESTARTS restarts, of any server, with loss of everything that is not saved
 *         LOCAL    durability local: a log ends only when its owner, outside, is given up (else commit: it ends with the removal)
 * Each rule that can be switched off has a macro, with the rule beside it.
 */
#ifndef NUMS
#define NUMS 1
#endif
#ifndef ENTRIES
#define ENTRIES 2
#endif
#ifndef WRITERS
#define WRITERS 1
#endif
#ifndef RIVALS
#define RIVALS 0
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#ifndef ASK1
#define ASK1 15
#endif
#ifndef ASK2
#define ASK2 15
#endif
#ifndef ASK3
#define ASK3 15
#endif
#define ASKS(n, c) (((c) -> (c) : 8) & (n == 1 -> ASK1 : (n == 2 -> ASK2 : ASK3)))

#define BIT(s) (1 << (s))
#define HAS(set, s) ((set) & BIT(s))
#define MAJORITY(set) ((set) & ((set) - 1)) /* two of three */
#define ALL 7

/* A position in a log: generation and number; number 0 is before the first entry of that generation. */
#define POS(gen, num) ((gen) << 2 | (num))
#define GEN(p) ((p) >> 2)
#define NUMBER(p) ((p) & 3)

/* Ends of one log: how many generations ended, and where. */
#define GENS(ends) ((ends) >> 4)
#define SEAL(ends, gen) ((ends) >> 2 * (gen) & 3)
#define END(ends, num) (((ends) & 15) | (num) << 2 * GENS(ends) | (GENS(ends) + 1) << 4)

/* A view: number of its base, members, whose logs go on, ends of the three logs. Its own number is where it stands. */
#define VIEW(base, members, open) ((base) | (members) << 2 | (open) << 5)
#define BASE(v) ((v) & 3)
#define MEMBERS(v) ((v) >> 2 & 7)
#define OPEN(v) ((v) >> 5 & 7)
#define ENDS(v, log) ((v) >> (8 + 6 * (log)) & 63)
#define WITH_ENDS(v, log, ends) (((v) & ~(63 << (8 + 6 * (log)))) | (ends) << (8 + 6 * (log)))
#define EPOCH(v) (GENS(ENDS(v, 0)) + GENS(ENDS(v, 1)) + GENS(ENDS(v, 2))) /* never two logs in one view: two of three are members */

/* ---- state --------------------------------------------------------------------------------- */

/* Of server s; saved before anybody hears of it. */
byte promised[3];  /* highest number */
byte accepted[3];  /* number of the highest view */
byte adopted[3];   /* number of the view it acts on */
byte frozen[3];	   /* servers that it grants nothing */
byte sealing[3];   /* logs of which it takes nothing */
byte until[3];	   /* the number whose adoption ends both */
bool complete[3];  /* a member that has the rows of all members */
byte pos[9];	   /* [3*s + log]: how far s has applied it */
byte head[3];	   /* the update that its copy of the object has, with all that this one stands on */
bool copied[3];	   /* its copy came from another server and may be ahead of its positions */
byte reach[9];	   /* [3*s + log]: that server's positions */

byte accepting[3]; /* [s]: number of the view whose entries it fetches; 0: none */
byte lease[3];	   /* [s]: whose grant to s may not have run out. Its own always counts, so one of these makes a majority. */

/* What the proposer of number n remembers of it, until it is CLOSED: given up, adopted, or lost by a restart. */
#define UNUSED 0
#define PREPARING 1
#define ACCEPTING 2
#define CLOSED 3
byte phase[4], proposer[4], add[4], on[4], base[4], promises[4], entire[4], votes[4];
byte told[12], applied[12]; /* [3*n + s]: the accepted view and the position, in the log to end, in the PROMISE of s */

/* Messages, under way for ever. */
byte remove[4], seal[4]; /* PREPARE of number n */
int view[4];		 /* ACCEPT, and VIEW when it is in viewed; 0: not sent */
byte viewed;		 /* numbers that somebody adopted */

/* Control of the one object. */
bool won[3];	   /* [t]: t has it */
byte acks[3];	   /* [t]: who acked it */
byte row[3];	   /* [s]: owners whose control is in its table */
byte release[3];   /* [t]: whom the RELEASE of t goes to */

/* Updates, 1 to ENTRIES; 0 is what was there at first. */
byte place[4];	   /* log << 4 | position */
byte chain[4];	   /* this update and all that it stands on */
byte below[4];	   /* the one that it stands on */
byte version[4];   /* epoch << 3 | count */
byte updates;
byte done;	   /* answered to the client */
#define LOG(k) (place[k] >> 4)
#define AT(k) (place[k] & 15)

byte restarts;

hidden byte i, j, k, m, w, x;
hidden int v;

/* Seen when a run is replayed. */
mtype = { Adopts_its_own, Adopts, Gives_up, Promises, Accepts, Has_accepted, Restarts, Has_joined, Wins_control_with, Acks_control_of, Releases,
	Drops_control_of, Writes_update, Applies_update, Skips_update, Is_repaired_from, Crosses_log, Has_answered };
#define SAY(what, s) printf("%d %e\n", s, what)
#define SAYN(what, s, n) printf("%d %e %d\n", s, what, n)
#define SAYC(s, n, c) printf("%d Prepares number %d: members %d changed by %d\n", s, n, MEMBERS(VIEW_OF(s)), c)
#define SAYV(s, n, a) printf("%d Asks_to_accept %d: base %d, members %d, open %d, ends %d %d %d\n", s, n, BASE(a), MEMBERS(a), OPEN(a), \
	ENDS(a, 0), ENDS(a, 1), ENDS(a, 2))

/* ---- what a server is ------------------------------------------------------------------------- */

#define P(s, log) pos[3*(s) + (log)]
#define VIEW_OF(s) view[adopted[s]]
#define MEMBER(s) HAS(MEMBERS(VIEW_OF(s)), s)

/* The log has ended in the generation where s is; beyond its end; never to be reached; what was copied is beyond. */
#define ENDED(s, log) (GEN(P(s, log)) < GENS(ENDS(VIEW_OF(s), log)))
#define END_HERE(s, log) POS(GEN(P(s, log)), SEAL(ENDS(VIEW_OF(s), log), GEN(P(s, log))))
#ifdef CROSS_AHEAD /* log 8.3: a copy that is ahead of a seal is repaired before it crosses */
#define AHEAD(s, log) 0
#else
#define AHEAD(s, log) (ENDED(s, log) && P(s, log) > END_HERE(s, log))
#endif
#define TOO_OLD(s, log) (ENDED(s, log) && P(s, log) < END_HERE(s, log) && GEN(P(s, log)) + 1 < GENS(ENDS(VIEW_OF(s), log)))
#define REACH_LOST(s, log) (copied[s] && ENDED(s, log) && GEN(reach[3*(s) + (log)]) == GEN(P(s, log)) && reach[3*(s) + (log)] > END_HERE(s, log))
#define ANY(what, s) (what(s, 0) || what(s, 1) || what(s, 2))
#define UNCROSSED(s) ANY(ENDED, s)
#define REPAIRS_ALL(s) (ANY(TOO_OLD, s) || ANY(REACH_LOST, s))
#define NEEDS_REPAIR(s) (ANY(AHEAD, s) || REPAIRS_ALL(s))

#ifdef SERVE_UNCROSSED /* log 6.6: a member that has not crossed all seals serves nothing */
#define READY(s) (MEMBER(s) && complete[s] && !copied[s] && !NEEDS_REPAIR(s))
#else
#define READY(s) (MEMBER(s) && complete[s] && !copied[s] && !UNCROSSED(s))
#endif
#define SERVES(s) (READY(s) && lease[s])

/* ---- properties --------------------------------------------------------------------------------- */

/* The number shows in the verifier's message. ONLY=n: the others are not looked at. */
#ifdef ONLY
#define HOLDS(property, x) assert(property != ONLY || (x) || property == 0)
#else
#define HOLDS(property, x) assert((x) || property == 0)
#endif

/* Update k never happened, by that view. */
#define SEALED_AWAY(k, v) (GEN(AT(k)) < GENS(ENDS(v, LOG(k))) && NUMBER(AT(k)) > SEAL(ENDS(v, LOG(k)), GEN(AT(k))))

/* What ended at some place in the older view ended there in the newer one. */
#define SAME_ENDS(old, new, log) \
	(GENS(ENDS(old, log)) <= GENS(ENDS(new, log)) && \
	 (GENS(ENDS(old, log)) < 1 || SEAL(ENDS(old, log), 0) == SEAL(ENDS(new, log), 0)) && \
	 (GENS(ENDS(old, log)) < 2 || SEAL(ENDS(old, log), 1) == SEAL(ENDS(new, log), 1)))

#define HAS_LOG(s, v, log) (!GENS(ENDS(v, log)) || P(s, log) >= POS(GENS(ENDS(v, log)) - 1, SEAL(ENDS(v, log), GENS(ENDS(v, log)) - 1)))
#define HAS_ALL(s, v) (HAS_LOG(s, v, 0) && HAS_LOG(s, v, 1) && HAS_LOG(s, v, 2))

/* Somebody adopts number n, the first to do so. */
inline check_chain(n)
{
	viewed = viewed | BIT(n);
	for (i : 0 .. NUMS) {
		if
		:: i != n && HAS(viewed, i) ->
			j = (i > n -> i : n);
			k = (i > n -> n : i);
			m = BASE(view[j]);
			do
			:: m > k -> m = BASE(view[m])
			:: else -> break
			od;
			HOLDS(1, m == k); /* the later one descends from the earlier one */
			HOLDS(2, SAME_ENDS(view[k], view[j], 0) && SAME_ENDS(view[k], view[j], 1) && SAME_ENDS(view[k], view[j], 2)) /* no seal moves */
		:: else
		fi
	}
	w = 0;
	for (i : 0 .. 2) {
		if :: accepted[i] >= n && HAS_ALL(i, view[n]) -> w = w | BIT(i) :: else fi
	}
	HOLDS(7, MAJORITY(w) || view[n] >> 8 == view[BASE(view[n])] >> 8) /* a majority has accepted the new ends, and has the logs up to them */
}

/* Server i is ready: its copy has what its positions say. */
inline check_copy()
{
	for (j : 1 .. ENTRIES) {
		if
		:: j <= updates ->
			HOLDS(6, (HAS(chain[head[i]], j) != 0) == (P(i, LOG(j)) >= AT(j) && !SEALED_AWAY(j, VIEW_OF(i))))
		:: else
		fi
	}
	for (j : 0 .. 2) {
		/* no control is left that nobody will release */
		HOLDS(4, !HAS(row[i], j) || j == i || won[j] || HAS(release[j], i) || GENS(ENDS(VIEW_OF(i), j)) == 0 || HAS(MEMBERS(VIEW_OF(i)), j))
	}
}

/* Server i serves, v is the newest view that was adopted. */
inline check_served()
{
	for (j : 0 .. 2) {
		HOLDS(4, j == i || !won[i] || !won[j] || !SERVES(j)) /* one primary */
	}
	/* a read misses no update that was answered, and sees none that was sealed away */
	if
	:: won[i] || !(row[i] & ~BIT(i)) ->
		for (j : 1 .. ENTRIES) {
			HOLDS(5, !HAS(done, j) || SEALED_AWAY(j, v) || HAS(chain[head[i]], j));
			HOLDS(5, j > updates || !SEALED_AWAY(j, v) || !HAS(chain[head[i]], j))
		}
	:: else
	fi
}

/* States that must be reached, else the model checks less than it seems to (run --faults). */
#ifndef WITNESS
#define WITNESS 0
#endif
#if WITNESS == 1 /* another server is primary after a seal, and an update was lost */
#define SEEN (won[1] && SERVES(1) && updates && SEALED_AWAY(1, VIEW_OF(1)) && !SEALED_AWAY(1, view[0]))
#elif WITNESS == 2 /* the sealed server undid an update, is back, and primary in the next generation */
#define SEEN (updates == 2 && GEN(AT(2)) == 1 && chain[2] == BIT(2) && LOG(2) == 0 && won[0] && SERVES(0))
#elif WITNESS == 3 /* two generations of a log ended */
#define SEEN (GENS(ENDS(view[3], 0)) == 2 && HAS(viewed, 3))
#elif WITNESS == 4 /* a copy is made anew */
#define SEEN TOO_OLD(2, 0)
#elif WITNESS == 5 /* who accepts has to fetch what was answered */
#define SEEN (done && accepting[2] && !HAS_ALL(2, view[1]))
#else
#define SEEN 0
#endif

inline check()
{
	HOLDS(9, !SEEN); /* not a property: see SEEN */
	m = NUMS;
	do
	:: m > 0 && !HAS(viewed, m) -> m--
	:: else -> break
	od;
	v = view[m];
	for (i : 0 .. 2) {
		/* after a view without i, no lease under an older one */
		if
		:: MEMBER(i) && lease[i] ->
			for (j : 1 .. NUMS) {
				HOLDS(3, j <= adopted[i] || !HAS(viewed, j) || HAS(MEMBERS(view[j]), i))
			}
		:: else
		fi;
		if :: READY(i) -> check_copy() :: else fi;
		if :: SERVES(i) -> check_served() :: else fi;
		/* no member is beyond an end of log i */
		if
		:: GENS(ENDS(v, i)) ->
			x = GENS(ENDS(v, i)) - 1;
			for (j : 0 .. 2) {
				HOLDS(7, !HAS(MEMBERS(v), j) || GEN(P(j, i)) > x || NUMBER(P(j, i)) <= SEAL(ENDS(v, i), GEN(P(j, i))))
			}
		:: else
		fi
	}
#ifndef LOCAL
	for (i : 1 .. ENTRIES) {
		HOLDS(8, !HAS(done, i) || !SEALED_AWAY(i, v)) /* what was answered is beyond no seal */
	}
#endif
}

/* ---- leases (log 6.7; views.pml has their timers) ------------------------------------------------ */

#ifdef GRANT_OLD_VIEW /* log 6.5: nobody grants one that goes by a view older than the base of the accepted one */
#define KNOWS_BASE(g, s) 1
#else
#define KNOWS_BASE(g, s) (adopted[s] >= BASE(view[accepted[g]]))
#endif
#define MAY_GRANT(g, s) ((g) != (s) && HAS(MEMBERS(view[accepted[g]]), s) && !HAS(frozen[g], s) && KNOWS_BASE(g, s))

/* The promise comes when they have run out, and no earlier step needs that they have. */
inline wait_for_leases(g, set)
{
#ifndef NO_LEASE_WAIT /* log 6.3: a promise waits for the leases of the removed */
	for (i : 0 .. 2) {
		if :: HAS(set, i) -> lease[i] = lease[i] & ~BIT(g) :: else fi
	}
#else
	skip
#endif
}

/* Whoever may have a grant has one. */
inline renew_leases()
{
	for (i : 0 .. 2) {
		for (j : 0 .. 2) {
			if :: MAY_GRANT(i, j) -> lease[j] = lease[j] | BIT(i) :: else fi
		}
	}
}

/* ---- control of the object (views.pml has its messages) --------------------------------------------- */

#define ACKS(s, t) (READY(s) && HAS(MEMBERS(VIEW_OF(s)), t) && HAS(MEMBERS(VIEW_OF(t)), s) && !(row[s] & ~BIT(t)))

/* The winner has applied what those who acked had (control 4.5). */
#define NOT_BEHIND(t, s) (P(t, 0) >= P(s, 0) && P(t, 1) >= P(s, 1) && P(t, 2) >= P(s, 2))

#define WINS(t, s) \
	:: d_step { HAS(RIVALS, t) && !won[t] && READY(t) && !row[t] && ACKS(s, t) && NOT_BEHIND(t, s) -> SAYN(Wins_control_with, t, s); \
		won[t] = true; row[t] = BIT(t); row[s] = BIT(t); acks[t] = BIT(s); release[t] = 0 }
#define ACKS_LATE(s, t) \
	:: d_step { won[t] && !HAS(acks[t], s) && ACKS(s, t) -> SAYN(Acks_control_of, s, t); \
		row[s] = BIT(t); acks[t] = acks[t] | BIT(s) }

inline let_go(t)
{
	won[t] = false;
	row[t] = row[t] & ~BIT(t);
	acks[t] = 0
}

/* Control 7.2: when all members have its log. */
#define HAS_LOG_OF(s, t) (!HAS(MEMBERS(VIEW_OF(t)), s) || P(s, t) == P(t, t))
#ifdef LET_GO
#define RELEASES(t) \
	:: d_step { won[t] && SERVES(t) && HAS_LOG_OF(0, t) && HAS_LOG_OF(1, t) && HAS_LOG_OF(2, t) -> SAY(Releases, t); \
		let_go(t); release[t] = MEMBERS(VIEW_OF(t)) }
#else
#define RELEASES(t)
#endif
#define DROPS(s, t) \
	:: d_step { HAS(row[s], t) && HAS(release[t], s) -> SAYN(Drops_control_of, s, t); \
		row[s] = row[s] & ~BIT(t) }

/* ---- updates (log 3.4, 5.1, 5.2) ----------------------------------------------------------------------- */

#ifdef NO_EPOCH /* log 2.3: the epoch is in the versions */
#define NEXT_VERSION(s) (version[head[s]] + 1)
#else
#define NEXT_VERSION(s) (version[head[s]] + 1 > (EPOCH(VIEW_OF(s)) << 3 | 1) -> version[head[s]] + 1 : EPOCH(VIEW_OF(s)) << 3 | 1)
#endif

/* It began under a lease, and ends whatever came since, until the server knows that its log has ended. */
inline write(t)
{
	updates++;
	k = updates;
	for (i : 1 .. ENTRIES) {
		HOLDS(6, i >= k || place[i] != (t << 4 | P(t, t) + 1))
	}
	place[k] = t << 4 | P(t, t) + 1;
	version[k] = NEXT_VERSION(t);
	below[k] = head[t];
	chain[k] = chain[head[t]] | BIT(k);
	head[t] = k;
	P(t, t) = P(t, t) + 1;
	k = 0
}

#define WRITES(t) \
	:: d_step { HAS(WRITERS, t) && updates < ENTRIES && won[t] && !ENDED(t, t) && !NEEDS_REPAIR(t) -> SAYN(Writes_update, t, updates + 1); \
		write(t) }

/* Where s takes nothing of the log any more: an adopted seal, that of a view that is being accepted, a promise. */
#ifdef NO_FREEZE /* log 6.3: a promise freezes the logs that are to end */
#define FREEZES(s, log) 0
#else
#define FREEZES(s, log) HAS(sealing[s], log)
#endif
#define ACCEPTED_END(s, log) (accepting[s] && GEN(P(s, log)) < GENS(ENDS(view[accepting[s]], log)))
#define MAY_TAKE(s, log) \
	(!NEEDS_REPAIR(s) && \
	 (ENDED(s, log) -> P(s, log) < END_HERE(s, log) : \
	  (ACCEPTED_END(s, log) -> NUMBER(P(s, log)) < SEAL(ENDS(view[accepting[s]], log), GEN(P(s, log))) : !FREEZES(s, log))))

#ifdef VIEW_NOT_AWAITED /* log 3.4: what was executed after a seal waits for the view with that seal */
#define TOO_NEW(s, k) 0
#else
#define TOO_NEW(s, k) ((version[k] >> 3) > EPOCH(VIEW_OF(s)))
#endif

/* Any entry that was made may be on its way, or come from whoever has it. */
#ifdef NUMBER_ONLY /* log 7: positions are told apart by their generation */
#define IS_NEXT(s, k) (NUMBER(AT(k)) == NUMBER(P(s, LOG(k))) + 1)
#define CROSSED(p) POS(GEN(p) + 1, NUMBER(p))
#define TAKEN(s, k) POS(GEN(P(s, LOG(k))), NUMBER(AT(k)))
#else
#define IS_NEXT(s, k) (AT(k) == P(s, LOG(k)) + 1)
#define CROSSED(p) POS(GEN(p) + 1, 0)
#define TAKEN(s, k) AT(k)
#endif
#define NEXT(s, k) (k <= updates && s != LOG(k) && IS_NEXT(s, k) && MAY_TAKE(s, LOG(k)) && !TOO_NEW(s, k))
#define SKIPS(s, k) (version[k] <= version[head[s]])
#define WAITS(s, k) (version[below[k]] > version[head[s]])
#define APPLIES(s, k) \
	:: d_step { NEXT(s, k) && SKIPS(s, k) -> SAYN(Skips_update, s, k); \
		P(s, LOG(k)) = TAKEN(s, k) } \
	:: d_step { NEXT(s, k) && !SKIPS(s, k) && !WAITS(s, k) -> SAYN(Applies_update, s, k); \
		HOLDS(6, below[k] == head[s]); /* else this copy is corrupt (log 3.4) */ \
		head[s] = k; P(s, LOG(k)) = TAKEN(s, k) }

/* t heard that s has update k of t, or that the log goes on behind it (log 5.2). */
#ifdef ANSWER_UNDONE /* log 5.2: positions of a generation count only when the view is known, and what is beyond the seal is not answered */
#define HEARD(t, s, k) (P(s, t) >= AT(k))
#define UNDONE(t, k) 0
#else
#define HEARD(t, s, k) (P(s, t) >= AT(k) && GEN(P(s, t)) <= GENS(ENDS(VIEW_OF(t), t)))
#define UNDONE(t, k) SEALED_AWAY(k, VIEW_OF(t))
#endif
#define HOLDERS(t, k) ((HEARD(t, 0, k) -> 1 : 0) | (HEARD(t, 1, k) -> 2 : 0) | (HEARD(t, 2, k) -> 4 : 0))
#if defined(NOT_HELD) || defined(LOCAL) /* log 5.1: what is promised is held by a majority */
#define HELD(t, k) HEARD(t, t, k)
#else
#define HELD(t, k) (HEARD(t, t, k) && MAJORITY(HOLDERS(t, k) & (MEMBERS(VIEW_OF(t)) | BIT(t))))
#endif
#define ALL_KNOW(t, k) \
	((won[t] && !(MEMBERS(VIEW_OF(t)) & ~(acks[t] | BIT(t)))) || !(MEMBERS(VIEW_OF(t)) & ~HOLDERS(t, k)))

/* Clients have their answers as soon as they may have them; nothing but the properties asks whether they have. */
inline answer()
{
	for (i : 1 .. ENTRIES) {
		if
		:: i <= updates && !HAS(done, i) && SERVES(LOG(i)) && !UNDONE(LOG(i), i) && HELD(LOG(i), i) && ALL_KNOW(LOG(i), i) ->
			SAYN(Has_answered, LOG(i), i);
			done = done | BIT(i)
		:: else
		fi
	}
}

/* ---- crossing, repair (log 7, 8.3, 8.5) -------------------------------------------------------------------- */

/* Server i is where the log ends, and has let go of what it controlled. */
#ifdef CROSS_AHEAD
#define AT_END(i, log) (P(i, log) >= END_HERE(i, log))
#else
#define AT_END(i, log) (P(i, log) == END_HERE(i, log))
#endif
inline cross_all()
{
	for (i : 0 .. 2) {
		if
		:: ENDED(i, i) && won[i] ->
			let_go(i);
#ifdef RELEASE_SEALED /* log 6.6: claims of a sealed server leave a table when its log is crossed there, not before */
			release[i] = MEMBERS(VIEW_OF(i))
#endif
		:: else
		fi;
		for (j : 0 .. 2) {
#ifdef SERVE_UNCROSSED
			if :: ENDED(i, j) -> row[i] = row[i] & ~BIT(j) :: else fi;
#endif
			do
			:: ENDED(i, j) && AT_END(i, j) && !NEEDS_REPAIR(i) -> SAYN(Crosses_log, i, j);
				P(i, j) = CROSSED(P(i, j));
				row[i] = row[i] & ~BIT(j)
			:: else -> break
			od
		}
		if
		:: copied[i] && P(i, 0) >= reach[3*i] && P(i, 1) >= reach[3*i + 1] && P(i, 2) >= reach[3*i + 2] ->
			copied[i] = false; reach[3*i] = 0; reach[3*i + 1] = 0; reach[3*i + 2] = 0
		:: else
		fi
	}
}

#define MUST_HAVE(s, log) (ENDED(s, log) -> POS(GENS(ENDS(VIEW_OF(s), log)), 0) : P(s, log))
#ifdef SOURCE_BEHIND /* log 8.3: the source has applied every log at least as far as this copy */
#define NEAR_ENOUGH(s, t) 1
#else
#define NEAR_ENOUGH(s, t) (P(t, 0) >= MUST_HAVE(s, 0) && P(t, 1) >= MUST_HAVE(s, 1) && P(t, 2) >= MUST_HAVE(s, 2))
#endif

/* The object is made equal to the copy of t. What t has on top of the positions of s is remembered. */
inline repair(s, t)
{
	x = (REPAIRS_ALL(s) -> 1 : 0);
	for (i : 0 .. 2) {
		if
		:: x ->
			if :: ENDED(s, i) -> row[s] = row[s] & ~BIT(i) :: else fi;
			reach[3*s + i] = P(t, i)
		:: else ->
			if :: reach[3*s + i] < P(t, i) -> reach[3*s + i] = P(t, i) :: else fi
		fi
	}
	for (i : 0 .. 2) {
		if
		:: x -> P(s, i) = P(t, i)
		:: !x && AHEAD(s, i) -> P(s, i) = END_HERE(s, i)
		:: else
		fi
	}
	head[s] = head[t];
	complete[s] = false;
#ifdef REACH_FORGOTTEN /* log 8.3: until the own positions are where the source's were, the copy is not ready */
	reach[3*s] = 0; reach[3*s + 1] = 0; reach[3*s + 2] = 0
#else
	copied[s] = true
#endif
}

#define REPAIRS(s, t) \
	:: d_step { NEEDS_REPAIR(s) && HAS(MEMBERS(VIEW_OF(s)), t) && adopted[t] == adopted[s] && !copied[t] && !NEEDS_REPAIR(t) && \
		NEAR_ENOUGH(s, t) -> SAYN(Is_repaired_from, s, t); repair(s, t) }

/* ---- joining (log 8.4; views.pml has the lists) -------------------------------------------------------------- */

#ifdef LIST_UNCROSSED /* log 6.6: who has not crossed makes no list */
#define MAKES_LIST(t) 1
#else
#define MAKES_LIST(t) !UNCROSSED(t)
#endif
#define LISTED(s, t) (!HAS(MEMBERS(VIEW_OF(s)), t) || (adopted[t] == adopted[s] && MAKES_LIST(t) && NOT_BEHIND_OTHERS(s, t)))
#define NOT_BEHIND_OTHERS(s, t) ((s == 0 || P(s, 0) >= P(t, 0)) && (s == 1 || P(s, 1) >= P(t, 1)) && (s == 2 || P(s, 2) >= P(t, 2)))

inline join(s)
{
	w = row[s] & (BIT(s) | ~MEMBERS(VIEW_OF(s)));
	for (i : 0 .. 2) {
		if
		:: i != s && MEMBER(i) && adopted[i] == adopted[s] ->
			w = w | (row[i] & BIT(i)) | (row[i] & ~MEMBERS(VIEW_OF(i)) & ~BIT(s));
			if :: won[i] && READY(i) -> acks[i] = acks[i] | BIT(s) :: else fi
		:: else
		fi
	}
	row[s] = w;
	complete[s] = true
}

#define JOINS(s, t, u) \
	:: d_step { MEMBER(s) && !complete[s] && !UNCROSSED(s) && !NEEDS_REPAIR(s) && LISTED(s, t) && LISTED(s, u) -> SAY(Has_joined, s); \
		join(s) }

/* ---- adopting (log 6.6) ------------------------------------------------------------------------------------ */

/* The proposer of n thinks of it no more. */
inline close(n)
{
	phase[n] = CLOSED; proposer[n] = 0;
	add[n] = 0; on[n] = 0; base[n] = 0; promises[n] = 0; entire[n] = 0; votes[n] = 0;
	told[3*n] = 0; told[3*n + 1] = 0; told[3*n + 2] = 0;
	applied[3*n] = 0; applied[3*n + 1] = 0; applied[3*n + 2] = 0
}

inline close_up_to(s, n)
{
	for (i : 1 .. NUMS) {
		if
		:: i <= n && (phase[i] == PREPARING || phase[i] == ACCEPTING) && proposer[i] == s -> close(i)
		:: else
		fi
	}
}

inline adopt(s, n)
{
	/* members that were in all views since the one adopted here */
	w = 0;
	if
	:: BASE(view[n]) == adopted[s] -> w = MEMBERS(VIEW_OF(s))
	:: BASE(view[n]) != adopted[s] && BASE(view[n]) == accepted[s] && BASE(view[accepted[s]]) == adopted[s] ->
		w = MEMBERS(VIEW_OF(s)) & MEMBERS(view[accepted[s]])
	:: else
	fi;
	w = MEMBERS(view[n]) & w;
	if :: !HAS(w, s) -> complete[s] = false :: else fi;
	acks[s] = acks[s] & w;
	adopted[s] = n;
	if :: accepted[s] < n -> accepted[s] = n :: else fi;
	if :: promised[s] < n -> promised[s] = n :: else fi;
	if :: until[s] <= n -> frozen[s] = 0; sealing[s] = 0; until[s] = 0 :: else fi;
	if :: accepting[s] <= n -> accepting[s] = 0 :: else fi;
	close_up_to(s, n)
}

#define ADOPTS_OWN(n) \
	:: d_step { phase[n] == ACCEPTING && MAJORITY(votes[n]) -> SAYN(Adopts_its_own, proposer[n], n); \
		check_chain(n); x = proposer[n]; adopt(x, n); i = 0 }
#define ADOPTS(s, n) \
	:: d_step { HAS(viewed, n) && n > adopted[s] -> SAYN(Adopts, s, n); adopt(s, n); i = 0 }

/* ---- proposing (log 6.4, 7.1, 9.2) ------------------------------------------------------------------------------ */

/* Added is who knows the current view without it, has crossed, and needs no repair. */
#define RETURNING(p, t) (adopted[t] > adopted[p] || (adopted[t] == adopted[p] && !UNCROSSED(t)))
#define INFORMED(p, t, c) (!HAS(c, t) || HAS(MEMBERS(VIEW_OF(p)), t) || RETURNING(p, t))
#define OUTSIDE(p) (OPEN(VIEW_OF(p)) & ~MEMBERS(VIEW_OF(p)))
#ifdef LOCAL
#define TO_SEAL(p, c, give_up) (give_up -> OUTSIDE(p) : 0)
#define MAY_GIVE_UP(p, c) (OUTSIDE(p) & ~(c))
#else
#define TO_SEAL(p, c, give_up) (((c) & MEMBERS(VIEW_OF(p))) | (OUTSIDE(p) & ~(c)))
#define MAY_GIVE_UP(p, c) 0
#endif

/* 1 and 2 differ in nothing until the first proposal. */
#if WRITERS == 1
#define FIRST_BY(p, c) ((p == 0 && c != 4) || p == 1)
#else
#define FIRST_BY(p, c) 1
#endif
#define IS_FIRST (!phase[1] && !phase[2] && !phase[3])

#define MAY_PROPOSE(p, n, c) (!HAS(c, p) && !phase[n] && n > promised[p] && n > until[p] && MEMBER(p) && MAJORITY(MEMBERS(VIEW_OF(p)) ^ (c)) && \
	INFORMED(p, 0, c) && INFORMED(p, 1, c) && INFORMED(p, 2, c) && ASKS(n, c) && (!IS_FIRST || FIRST_BY(p, c)))

inline propose(p, n, c, give_up)
{
	close_up_to(p, NUMS);
	phase[n] = PREPARING; proposer[n] = p; base[n] = accepted[p]; on[n] = adopted[p];
#ifdef OWN_BASE /* log 6.4: the base is the highest view accepted among the promises */
	base[n] = adopted[p];
#endif
	remove[n] = c & MEMBERS(VIEW_OF(p));
	seal[n] = TO_SEAL(p, c, give_up);
	add[n] = c & ~MEMBERS(VIEW_OF(p)) & ~seal[n];
	until[p] = n
}

/* Member p takes number n to change the membership of those in c. */
#define PROPOSES(p, n, c) \
	:: d_step { MAY_PROPOSE(p, n, c) -> SAYC(p, n, c); propose(p, n, c, 0) } \
	:: d_step { MAY_PROPOSE(p, n, c) && MAY_GIVE_UP(p, c) -> SAYC(p, n, c); propose(p, n, c, 1) }

#ifdef REMOVED_VOTES /* log 6.4: the promise of a removed one, or one whose log ends, does not count */
#define COUNTED(n) ALL
#else
#define COUNTED(n) (ALL & ~(remove[n] | seal[n]))
#endif
#ifdef UNPROMISED_MEMBER /* log 6.4: every member of a view that seals has promised it */
#define ALL_PROMISED(members, two) 1
#else
#define ALL_PROMISED(members, two) (!((members) & ~(two)))
#endif
#ifdef INCOMPLETE_VOTES /* log 6.4: one of those who promised has a complete copy */
#define ONE_ENTIRE(n, members) 1
#else
#define ONE_ENTIRE(n, members) (entire[n] & (members))
#endif
#ifdef SHORTEST /* log 6.4: a log ends at the longest copy among the promises */
#define BETTER(a, b) ((a) < (b))
#define WORST 15
#else
#define BETTER(a, b) ((a) > (b))
#define WORST 0
#endif
#ifdef OWN_BASE
#define HIGHER(a, b) 0
#else
#define HIGHER(a, b) ((a) > (b))
#endif

/* The log j ends in the view v that is based on number m. */
inline end_log(n, two)
{
	w = WORST;
	for (i : 0 .. 2) {
		if :: HAS(two & ~(remove[n] | seal[n]), i) && BETTER(applied[3*n + i], w) -> w = applied[3*n + i] :: else fi
	}
	if :: GEN(w) < GENS(ENDS(view[m], j)) -> w = 0 :: else fi;
	v = WITH_ENDS(v, j, END(ENDS(view[m], j), NUMBER(w)))
}

/* Its proposer decides on the promises of two. A third may be there and counts as late. */
inline decide(n, two)
{
	m = base[n];
	for (i : 0 .. 2) {
		if :: HAS(two, i) && HIGHER(told[3*n + i], m) -> m = told[3*n + i] :: else fi
	}
	k = (MEMBERS(view[m]) & ~remove[n]) | (m == on[n] -> add[n] : 0); /* members */
	x = seal[n];
	if
	:: m != on[n] && (x || !MAJORITY(k)) -> k = MEMBERS(view[m]); x = 0
	:: else
	fi;
	x = x & OPEN(view[m]) & ~k; /* logs that end */
	if
	:: MAJORITY(k) && (!x || (ALL_PROMISED(k, two) && ONE_ENTIRE(n, k))) ->
		v = (view[m] & ~255) | VIEW(m, k, (OPEN(view[m]) & ~x) | k);
		for (j : 0 .. 2) {
			if :: HAS(x, j) -> end_log(n, two) :: else fi
		}
		x = proposer[n];
		close(n);
		phase[n] = ACCEPTING; proposer[n] = x;
		view[n] = v;
		SAYV(x, n, v)
	:: else -> SAYN(Gives_up, proposer[n], n); close(n)
	fi
}

#define DECIDES(n, two) \
	:: d_step { phase[n] == PREPARING && (two & promises[n] & COUNTED(n)) == two -> decide(n, two) }

/* ---- voting (log 6.3, 6.5) -------------------------------------------------------------------------------------- */

inline promise(s, n)
{
	promised[s] = n;
#ifndef OLD_ACCEPT_LIFTS /* log 6.3: a promise for a higher number ends an acceptance */
	accepting[s] = 0;
#endif
	wait_for_leases(s, remove[n]);
	frozen[s] = frozen[s] | (remove[n] & ~BIT(s));
	sealing[s] = sealing[s] | seal[n];
	if :: remove[n] | seal[n] -> until[s] = (until[s] > n -> until[s] : n) :: else fi;
	if
	:: phase[n] == PREPARING ->
		promises[n] = promises[n] | BIT(s);
		told[3*n + s] = accepted[s];
		if :: !copied[s] && !NEEDS_REPAIR(s) -> entire[n] = entire[n] | BIT(s) :: else fi;
		for (i : 0 .. 2) {
			if :: HAS(seal[n], i) -> applied[3*n + s] = P(s, i) :: else fi
		}
	:: else
	fi
}

#define PROMISES(s, n) \
	:: d_step { phase[n] && n > promised[s] && HAS(COUNTED(n), s) -> SAYN(Promises, s, n); promise(s, n); i = 0 }

inline has_accepted(s, n)
{
	accepting[s] = 0;
	accepted[s] = n;
	if :: phase[n] == ACCEPTING -> votes[n] = votes[n] | BIT(s) :: else fi
}

#ifdef ACCEPT_WITHOUT_LOG /* log 6.5: who accepts has the log up to the seal */
#define REACHED(s, v) 1
#else
#define REACHED(s, v) HAS_ALL(s, v)
#endif
#ifdef OLD_ACCEPT_LIFTS
#define STILL(s, n) 1
#else
#define STILL(s, n) (n >= promised[s])
#endif

/* A view with new ends is accepted in two steps: it lifts the freeze as far as they are, and then all of that is here. */
#define ACCEPTS(s, n) \
	:: d_step { view[n] && n >= promised[s] && n > adopted[s] && accepted[s] < n && accepting[s] != n -> SAYN(Accepts, s, n); \
		promised[s] = n; accepting[s] = 0; \
		if \
		:: EPOCH(view[n]) == EPOCH(VIEW_OF(s)) -> has_accepted(s, n) \
		:: else -> \
			accepting[s] = n; \
			sealing[s] = sealing[s] | (OPEN(VIEW_OF(s)) & ~OPEN(view[n])); \
			until[s] = (until[s] > n -> until[s] : n) \
		fi } \
	:: d_step { accepting[s] == n && STILL(s, n) && REACHED(s, view[n]) -> SAYN(Has_accepted, s, n); has_accepted(s, n) }

/* ---- restarts (log 8) ---------------------------------------------------------------------------------------------- */

inline restart(s)
{
	restarts++;
	close_up_to(s, NUMS);
	lease[s] = 0;
	accepting[s] = 0;
	acks[s] = 0;
#ifdef VOTE_UNSAVED /* log 6.3: promises are saved, with the logs that they freeze */
	promised[s] = accepted[s];
	frozen[s] = 0; sealing[s] = 0; until[s] = 0;
#endif
}

#define MAY_RESTART(s) \
	:: d_step { restarts < RESTARTS -> SAY(Restarts, s); restart(s) }

/* What nobody can look at any more is not told apart. */
inline forget()
{
	for (i : 1 .. NUMS) {
		if
		:: phase[i] >= ACCEPTING && promised[0] >= i && promised[1] >= i && promised[2] >= i -> remove[i] = 0; seal[i] = 0
		:: else
		fi;
		if
		:: phase[i] == CLOSED && phase[1] != PREPARING && phase[2] != PREPARING && phase[3] != PREPARING && view[i] && !HAS(viewed, i) && accepted[0] != i && accepted[1] != i && accepted[2] != i &&
		   promised[0] > i && promised[1] > i && promised[2] > i && BASE(view[NUMS]) != i && (NUMS < 3 || BASE(view[2]) != i) ->
			view[i] = 0
		:: else
		fi
	}
	for (i : 0 .. 2) {
		if :: !HAS(row[0] | row[1] | row[2], i) -> release[i] = 0 :: else fi
	}
}

/* ---- all steps ------------------------------------------------------------------------------------------------------------- */

#define SERVER(s, t, u) MAY_RESTART(s) WRITES(s) RELEASES(s) JOINS(s, t, u) APPLIES(s, 1) \
	APPLIES_2(s) APPLIES_3(s) PAIR(s, t) PAIR(s, u)
#if ENTRIES > 1
#define APPLIES_2(s) APPLIES(s, 2)
#else
#define APPLIES_2(s)
#endif
#if ENTRIES > 2
#define APPLIES_3(s) APPLIES(s, 3)
#else
#define APPLIES_3(s)
#endif
#define PAIR(s, t) WINS(s, t) ACKS_LATE(s, t) DROPS(s, t) REPAIRS(s, t)
#define SERVER_NUMBER(s, n) PROMISES(s, n) ACCEPTS(s, n) ADOPTS(s, n)
#define PROPOSER(p, n) PROPOSES(p, n, 0) PROPOSES(p, n, 1) PROPOSES(p, n, 2) PROPOSES(p, n, 4)
#define STEPS_OF(n) \
	PROPOSER(0, n) PROPOSER(1, n) PROPOSER(2, n) SERVER_NUMBER(0, n) SERVER_NUMBER(1, n) SERVER_NUMBER(2, n) \
	DECIDES(n, 3) DECIDES(n, 5) DECIDES(n, 6) ADOPTS_OWN(n)

active proctype servers()
{
	d_step {
		view[0] = VIEW(0, ALL, ALL);
		viewed = 1;
		complete[0] = true; complete[1] = true; complete[2] = true;
		won[0] = true; acks[0] = 6;
		row[0] = 1; row[1] = 1; row[2] = 1;
		renew_leases();
		i = 0; j = 0
	}
end:
	do
	:: atomic {
		if
		SERVER(0, 1, 2) SERVER(1, 0, 2) SERVER(2, 0, 1)
		STEPS_OF(1)
#if NUMS > 1
		STEPS_OF(2)
#endif
#if NUMS > 2
		STEPS_OF(3)
#endif
		fi;
		d_step { cross_all(); renew_leases(); answer(); check(); forget(); i = 0 }
	   }
	od
}
