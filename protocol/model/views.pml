/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Views, leases and joining of three servers (docs/protocol/, log 6 and 8.4), for the model checker Spin. README.md says
 * what is modelled, what is left out and why that is safe, how to run it, and what came out.
 *
 * One process makes one step of one server at a time; after each step the properties of check() are looked at. There are no
 * queues: a message that was sent stays there and may be taken in at any later time, by anybody it was sent to, in any order,
 * more than once, or never. Servers are 0, 1, 2; sets of servers are masks.
 *
 * Bounds: NUMS     view numbers that can be proposed (1 to 3)
 *         RESTARTS restarts, of any server, with loss of everything that is not saved
 *         WRITERS  mask of the servers that want control of the one object, each once
 *         OUT      1: server 0 is outside the view at first, and knows it
 *                  2: and before that it acked the control of server 1, which won by that
 *         TIMERS   grants and ends of leases are steps of their own (else see README.md, "Time")
 *         LEAVES   mask of the servers that may give their leases back
 * Each rule that can be switched off has a macro, with the rule beside it.
 */
#ifndef NUMS
#define NUMS 2
#endif
#ifndef RESTARTS
#define RESTARTS 1
#endif
#ifndef WRITERS
#define WRITERS 0
#endif
#ifndef OUT
#define OUT 0
#endif

#define BIT(s) (1 << (s))
#define HAS(set, s) ((set) & BIT(s))
#define MAJORITY(set) ((set) & ((set) - 1)) /* two of three */
#define ALL 7

/* A view: number, number of its base, members. */
#define VIEW(num, base, members) ((num) | (base) << 2 | (members) << 4)
#define NUM(v) ((v) & 3)
#define BASE(v) ((v) >> 2 & 3)
#define MEMBERS(v) ((v) >> 4)
#if OUT
#define FIRST VIEW(0, 0, 6)
#else
#define FIRST VIEW(0, 0, ALL)
#endif

/* ---- state --------------------------------------------------------------------------------- */

/* Of server s; saved before anybody hears of it. */
byte promised[3]; /* highest number */
byte accepted[3]; /* highest view */
byte adopted[3];  /* the view it acts on */
bool complete[3]; /* a member that has the rows of all members */
byte frozen[9];	  /* [3*s + t]: s promised this number, which removes t, and has not adopted it or a later one; 0: none */

/* [s]: whose grant to s may not have run out. Its own grant always counts, so one of these makes a majority. */
byte lease[3];
#ifdef TIMERS
byte granted[3];  /* [g]: grants that g remembers */
#endif
#ifdef NO_START_WAIT
bool forgot[3];	  /* [g]: it restarted and granted nothing since */
#endif

#ifdef LEAVES
byte start[3];	  /* [s]: restarts of s */
bool given[3];	  /* [s]: this start gave its lease back */
byte said[3];	  /* [s]: starts that did; the HEARTBEATs that say so are under way */
byte over[3];	  /* [g]: those whose lease g takes for given back, and that it granted nothing since */
byte newest[9];	  /* [3*g + s]: which start of s g granted last */
#if WITNESS == 6
byte not_waited;  /* promises to remove these did not wait for a lease */
#endif
#ifdef GRANT_OF_OLD_START
byte late[3];	  /* [s]: GRANTs to older starts of s, under way */
#endif
#endif

/* What the proposer of number n remembers of it, until it is CLOSED: given up, adopted, or lost by a restart. */
#define UNUSED 0
#define PREPARING 1
#define ACCEPTING 2
#define CLOSED 3
byte phase[4], proposer[4], add[4], base[4], promises[4], votes[4];
byte known[4];	  /* the view that its proposer had adopted when it took the number */
byte told[12];	  /* [3*n + s]: the accepted view in the PROMISE of s */

/* Messages, under way for ever. */
byte remove[4];	  /* PREPARE of number n */
byte accept[4];	  /* ACCEPT: the view; 0: not sent */
byte view[4];	  /* VIEW: what somebody adopted; 0: nobody has */

/* The one object. [t]: of owner t; [s]: at server s. */
#define NONE 0
#define PROPOSING 1
#define WON 2
#define EXECUTED 3 /* won, and the update is in the owner's log */
#define RELEASED 4
#define ABORTED 5
byte claim[3];	  /* [t] */
byte acks[3];	  /* [t] ACKs under way for ever */
byte need[3];	  /* [t] updates that those who acked had (control 4.5) */
byte before[3];	  /* [t] updates that its own one follows */
byte row[3];	  /* [s] owners whose control is in its table */
byte has[3];	  /* [s] updates that it applied */
byte lists[3], join_rows[3], join_has[3]; /* [s] joining: whose JOINROWS it has; rows and positions in them */
byte executed, done; /* updates: executed by their owner; answered to the client */

byte restarts;

#ifdef ADOPTED_UNSAVED
byte was_promised[3], was_accepted[3], was_adopted[3]; /* [s] before it adopted what is not saved yet */
bool was_complete[3], unsaved[3];
#define SAVED(s) unsaved[s] = false
#else
#define SAVED(s) skip
#endif
#ifdef JOINED_COUNTS_PROPOSING
byte doubtful[3]; /* [s] whose list was made while the claim was proposing */
#endif
#ifdef REFETCH_DROPS_PROPOSING
byte refetched[3]; /* [s] whose list was made while the claim was proposing */
#endif

hidden byte i, j, k, m, v, w;

/* Seen when a run is replayed. */
mtype = { Grants, Has_no_lease_of, Adopts_its_own, Adopts, Gives_up, Promises, Accepts, Restarts,
	Grants_again, Takes_list_of, Has_joined, Makes_list_for, Puts_in_list_of, Proposes_control, Acks, Aborts,
	Wins, Executes, Applies_update_of, Gives_back, Releases, Forgets_control_of, Has_answered, Gives_lease_back, Hears_it_of, Counts_late_grant_of };
#define SAY(what, s) printf("%d %e\n", s, what)
#define SAY2(what, s, t) printf("%d %e %d\n", s, what, t)
#define SAYN(what, s, n) printf("%d %e number %d\n", s, what, n)
#define SAYC(s, n, x) printf("%d Prepares number %d: members %d changed by %d\n", s, n, MEMBERS(adopted[s]), x)
#define SAYV(s, x) printf("%d Asks_to_accept number %d with base %d, members %d\n", s, NUM(x), BASE(x), MEMBERS(x))

/* ---- who may do what ------------------------------------------------------------------------- */

#define MEMBER(s) HAS(MEMBERS(adopted[s]), s)

#ifdef SERVE_WHILE_JOINING /* log 8.4: a new member serves when it has all rows */
#define READY(s) MEMBER(s)
#else
#define READY(s) (MEMBER(s) && complete[s])
#endif

#ifdef LEASE_IGNORED /* log 6.7: nobody serves without a lease */
#define SERVES(s) READY(s)
#else
#define SERVES(s) (READY(s) && lease[s])
#endif

#if !defined(LEAVES)
#define CAN_HAVE(g, s) 1
#elif defined(LEFT_KEEPS_LEASE) /* log 6.11: who has given its lease back has none, whatever is granted */
#define CAN_HAVE(g, s) (!given[s] || !HAS(over[g], s))
#else
#define CAN_HAVE(g, s) (!given[s])
#endif

#ifdef GRANT_AFTER_PROMISE /* log 6.3: grants to the removed end with the promise */
#define MAY_GRANT(g, s) ((g) != (s) && HAS(MEMBERS(accepted[g]), s) && CAN_HAVE(g, s))
#else
#define MAY_GRANT(g, s) ((g) != (s) && HAS(MEMBERS(accepted[g]), s) && CAN_HAVE(g, s) && !frozen[3*(g) + (s)])
#endif

#define ACTING(t) (claim[t] == WON || claim[t] == EXECUTED)

/*
 * The control of t keeps s, which has the row, from reading its own copy. An owner that released it is asked too, and answers
 * "not primary"; who was not among "all" at the release may not have applied what was done before.
 */
#ifdef NOT_PRIMARY_AT_ONCE /* control 6.3, log 8.4: that answer counts only when the owner's list has been taken in */
#define IN_THE_WAY(s, t) (ACTING(t) || (claim[t] == RELEASED && !SERVES(t)))
#else
#define IN_THE_WAY(s, t) (ACTING(t) || (claim[t] == RELEASED && !HAS(has[s], t)))
#endif

/* ---- properties --------------------------------------------------------------------------------- */

/* The number shows in the verifier's message. ONLY=n: the others are not looked at. */
#ifdef ONLY
#define HOLDS(property, x) assert(property != ONLY || (x) || property == 0)
#else
#define HOLDS(property, x) assert((x) || property == 0)
#endif

/* Somebody adopts number n as @new, the first to do so. */
inline check_chain(n, new)
{
	HOLDS(2, view[n] == 0 || view[n] == new); /* adopted views of one number are equal */
	view[n] = new;
	i = 0;
	do
	:: i > NUMS -> break
	:: else ->
		if
		:: i != n && (i == 0 || view[i]) ->
			j = (i > n -> i : n);
			k = (i > n -> n : i);
			m = BASE(view[j]);
			do
			:: m > k && BASE(accept[m]) < m -> m = BASE(accept[m])
			:: else -> break
			od;
			HOLDS(1, m == k) /* the later one descends from the earlier one */
		:: else
		fi;
		i++
	od
}

/* Server i serves. */
inline check_served()
{
	/* of two servers that serve, the views have a majority in common */
	for (j : 0 .. 2) {
		HOLDS(4, !SERVES(j) || MAJORITY(MEMBERS(adopted[i]) & MEMBERS(adopted[j])))
	}
	/* a read misses no completed update, whether it is answered for others or from here because no row is in the way */
	k = 0;
	for (j : 0 .. 2) {
		if :: j != i && HAS(row[i], j) && IN_THE_WAY(i, j) -> k = 1 :: else fi
	}
	HOLDS(5, (k && !ACTING(i)) || !(done & ~has[i]))
}

/* States that must be reached, else the model checks less than it seems to (run --faults). */
#ifndef WITNESS
#define WITNESS 0
#endif
#if WITNESS == 1 /* one that was removed is back and serves */
#define SEEN(s) (SERVES(s) && NUM(adopted[s]) == 2 && view[1] && !HAS(MEMBERS(view[1]), s))
#elif WITNESS == 2 /* an adopted view changes one that nobody adopted */
#define SEEN(s) (view[2] && BASE(view[2]) == 1 && !view[1])
#elif WITNESS == 3 /* a new member sends its readers to an owner, by a row from a list */
#define SEEN(s) (SERVES(s) && s == 0 && HAS(row[s], 1) && HAS(done, 1) && !HAS(acks[1] | has[s], s) && ACTING(1))
#elif WITNESS == 4 /* two servers updated the object, one after the other, in different views */
#define SEEN(s) (done == 3 && view[2])
#elif WITNESS == 5 /* an owner that does not know that it was removed releases */
#define SEEN(s) (claim[s] == RELEASED && MEMBER(s) && view[2] && NUM(adopted[s]) < 2 && !HAS(MEMBERS(view[2]), s))
#elif WITNESS == 6 /* a promise did not wait, since the lease was given back, and who gave it back is back and serves */
#define SEEN(s) (SERVES(s) && NUM(adopted[s]) == 2 && view[1] && !HAS(MEMBERS(view[1]), s) && HAS(not_waited, s))
#else
#define SEEN(s) 0
#endif

inline check()
{
	for (i : 0 .. 2) {
		HOLDS(9, !SEEN(i)); /* not a property: see SEEN */
		/* after a view without i, no lease under an older one */
		if
		:: MEMBER(i) && lease[i] ->
			j = NUM(adopted[i]) + 1;
			do
			:: j > NUMS -> break
			:: else ->
				HOLDS(3, !view[j] || HAS(MEMBERS(view[j]), i));
				j++
			od
		:: else
		fi;
		if :: SERVES(i) -> check_served() :: else fi
	}
}

/* ---- leases (log 6.7) --------------------------------------------------------------------------------- */

#ifdef LEAVES
#define GRANTED(g, s) over[g] = over[g] & ~BIT(s); newest[3*(g) + (s)] = start[s]
#else
#define GRANTED(g, s) skip
#endif
#ifdef GRANT_OF_OLD_START
#define RAN_OUT(g, s) late[s] = late[s] & ~BIT(g)
#else
#define RAN_OUT(g, s) skip
#endif

#ifdef TIMERS

/* May g promise a view without t? Only when its own clock says that no lease of t stands on it. */
#if defined(NO_LEASE_WAIT) /* log 6.3: the promise waits for leases that it remembers */
#define LEASE_OVER(g, t) (!HAS(lease[t], g) || HAS(granted[g], t))
#elif defined(NO_START_WAIT) /* log 6.3: and as long after a start as one can last that it has forgotten */
#define LEASE_OVER(g, t) !HAS(granted[g], t)
#elif defined(LEAVES) /* log 6.11: or it was given back */
#define LEASE_OVER(g, t) (!HAS(lease[t], g) || HAS(over[g], t))
#else
#define LEASE_OVER(g, t) !HAS(lease[t], g)
#endif
#define GRANTS(g, s) \
	:: d_step { MAY_GRANT(g, s) && !(HAS(granted[g], s) && HAS(lease[s], g)) -> SAY2(Grants, g, s); \
		lease[s] = lease[s] | BIT(g); granted[g] = granted[g] | BIT(s); GRANTED(g, s) }
#define RUNS_OUT(g, s) \
	:: d_step { HAS(lease[s], g) || HAS(granted[g], s) -> SAY2(Has_no_lease_of, s, g); \
		lease[s] = lease[s] & ~BIT(g); granted[g] = granted[g] & ~BIT(s) }
#define wait_for_leases(g, set) skip
#define renew_leases() skip

#else

#define LEASE_OVER(g, t) 1
#define GRANTS(g, s)
#define RUNS_OUT(g, s)

/* The promise comes when they have run out, and no earlier step needs that they have. */
inline wait_for_leases(g, set)
{
#ifndef NO_LEASE_WAIT
#ifdef NO_START_WAIT
	w = (forgot[g] -> 0 : set);
#else
	w = set;
#endif
#ifdef LEAVES /* log 6.11: not for those that were given back */
#if WITNESS == 6
	not_waited = not_waited | (w & over[g]);
#endif
	w = w & ~over[g];
#endif
	for (i : 0 .. 2) {
		if :: HAS(w, i) -> lease[i] = lease[i] & ~BIT(g); RAN_OUT(g, i) :: else fi
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
			if
#ifdef NO_START_WAIT
			:: MAY_GRANT(i, j) && !forgot[i] -> lease[j] = lease[j] | BIT(i); GRANTED(i, j)
#else
			:: MAY_GRANT(i, j) -> lease[j] = lease[j] | BIT(i); GRANTED(i, j)
#endif
			:: else
			fi
		}
	}
}

#endif

#define LEASES_OVER(g, set) \
	((g == 0 || !HAS(set, 0) || LEASE_OVER(g, 0)) && (g == 1 || !HAS(set, 1) || LEASE_OVER(g, 1)) && \
	 (g == 2 || !HAS(set, 2) || LEASE_OVER(g, 2)))

/* ---- a lease is given back (log 6.11) ----------------------------------------------------------------------- */

#ifdef LEAVES

#ifdef LEFT_OF_OLD_START /* log 6.11: it says nothing of what a newer start was granted */
#define NEWEST(g, s, i) 1
#else
#define NEWEST(g, s, i) ((i) >= newest[3*(g) + (s)])
#endif

#define LEAVES_NOW(s) \
	:: d_step { HAS(LEAVES, s) && !given[s] && lease[s] -> SAY(Gives_lease_back, s); given[s] = true; said[s] = said[s] | BIT(start[s]); \
		WAS_GRANTED(s); NO_LEASE(s) }
#define HEARS_IT(g, s, i) \
	:: d_step { HAS(said[s], i) && !HAS(over[g], s) && NEWEST(g, s, i) -> SAY2(Hears_it_of, g, s); over[g] = over[g] | BIT(s) }
#define HEARS_LEFT(g, s) HEARS_IT(g, s, 0) HEARS_IT(g, s, 1)
#define STARTS_ANEW(s) given[s] = false; start[s]++

#ifdef LEFT_KEEPS_LEASE
#define NO_LEASE(s) skip
#else
#define NO_LEASE(s) lease[s] = 0
#endif

#ifdef GRANT_OF_OLD_START /* log 6.11: nor does a newer start count what this one was granted */
#define WAS_GRANTED(s) late[s] = lease[s]
#define COUNTS_LATE(s, g) \
	:: d_step { HAS(late[s], g) && !given[s] && !HAS(lease[s], g) -> SAY2(Counts_late_grant_of, s, g); lease[s] = lease[s] | BIT(g) }
#else
#define WAS_GRANTED(s) skip
#define COUNTS_LATE(s, g)
#endif

#else
#define LEAVES_NOW(s)
#define HEARS_LEFT(g, s)
#define COUNTS_LATE(s, g)
#define STARTS_ANEW(s) skip
#endif

/* ---- adopting (log 6.6) ----------------------------------------------------------------------------------- */

/* The proposer of n thinks of it no more. */
inline close(n)
{
	phase[n] = CLOSED;
#ifndef NUMBER_UNSAVED
	proposer[n] = 0;
#endif
	add[n] = 0; base[n] = 0; known[n] = 0; promises[n] = 0; votes[n] = 0;
	told[3*n] = 0; told[3*n + 1] = 0; told[3*n + 2] = 0
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

inline forget_lists(s)
{
	lists[s] = 0; join_rows[s] = 0; join_has[s] = 0;
#ifdef JOINED_COUNTS_PROPOSING
	doubtful[s] = 0
#endif
}

/* The claim of s ends. RELEASE is under way to all. */
inline end_claim(s, how)
{
	claim[s] = how;
	row[s] = row[s] & ~BIT(s);
	need[s] = 0; acks[s] = 0
}

inline adopt(s, new)
{
#ifdef ADOPTED_UNSAVED
	unsaved[s] = true;
	was_promised[s] = promised[s]; was_accepted[s] = accepted[s];
	was_adopted[s] = adopted[s]; was_complete[s] = complete[s];
#endif
	if :: !MEMBER(s) || !HAS(MEMBERS(new), s) -> complete[s] = false :: else fi;
	adopted[s] = new;
	if :: NUM(accepted[s]) < NUM(new) -> accepted[s] = new :: else fi;
	if :: promised[s] < NUM(new) -> promised[s] = NUM(new) :: else fi;
	for (i : 0 .. 2) {
		if :: frozen[3*s + i] <= NUM(new) -> frozen[3*s + i] = 0 :: else fi
	}
	close_up_to(s, NUM(new));
	forget_lists(s);
#ifndef KEEPS_PROPOSALS /* control 11: a proposal ends with the view that it was made in */
	if :: claim[s] == PROPOSING -> end_claim(s, ABORTED) :: else fi
#endif
}

#define ADOPTS_OWN(n) \
	:: d_step { phase[n] == ACCEPTING && MAJORITY(votes[n]) -> SAYN(Adopts_its_own, proposer[n], n); \
		check_chain(n, accept[n]); v = proposer[n]; adopt(v, view[n]) }
#define ADOPTS(s, n) \
	:: d_step { view[n] && n > NUM(adopted[s]) -> SAYN(Adopts, s, n); adopt(s, view[n]) }

/* ---- proposing (log 6.4) ------------------------------------------------------------------------------------- */

#ifdef ADD_UNINFORMED /* log 8.2: only who knows the current view is added to it */
#define INFORMED(p, t, x) 1
#else
#define INFORMED(p, t, x) (!HAS(x, t) || HAS(MEMBERS(adopted[p]), t) || NUM(adopted[t]) >= NUM(adopted[p]))
#endif

#ifdef NUMBER_UNSAVED /* log 6.4: a number is saved as used before PREPARE leaves */
#define FREE(p, n) (phase[n] == UNUSED || (phase[n] == CLOSED && proposer[n] == p))
#else
#define FREE(p, n) (phase[n] == UNUSED)
#endif

#ifdef OWN_BASE /* log 6.4: the base is the highest view accepted among the promises */
#define OWN_VIEW(p) adopted[p]
#define HIGHER(a, b) 0
#else
#define OWN_VIEW(p) accepted[p]
#define HIGHER(a, b) (NUM(a) > NUM(b))
#endif

#ifdef REMOVED_VOTES /* log 6.4: the promise of a removed one does not count */
#define COUNTED(n) ALL
#else
#define COUNTED(n) (ALL & ~remove[n])
#endif

/* The first proposal of all: servers that differ in nothing are interchangeable (README.md, "Symmetry"). */
#if OUT == 1 && ((WRITERS & 6) == 0 || (WRITERS & 6) == 6)
#define FIRST_BY(p, x) (p == 1)
#elif OUT || WRITERS == 7
#define FIRST_BY(p, x) 1
#elif defined(LEAVES)
#define FIRST_BY(p, x) (LEAVES != 1 || (WRITERS & 6) == 2 || (WRITERS & 6) == 4 || (p == 0 && x != 4) || p == 1)
#elif WRITERS == 0
#define FIRST_BY(p, x) (p == 0 && x != 4)
#elif WRITERS == 1
#define FIRST_BY(p, x) ((p == 0 && x != 4) || p == 1)
#elif WRITERS == 3
#define FIRST_BY(p, x) (p == 0 || (p == 2 && x != 2))
#else
#define FIRST_BY(p, x) 1
#endif
#define IS_FIRST (!phase[1] && !phase[2] && !phase[3])

/* Member p takes number n to change the membership of those in x. */
#define PROPOSES(p, n, x) \
	:: d_step { !HAS(x, p) && FREE(p, n) && n > promised[p] && MEMBER(p) && MAJORITY(MEMBERS(adopted[p]) ^ x) && \
		INFORMED(p, 0, x) && INFORMED(p, 1, x) && INFORMED(p, 2, x) && (!IS_FIRST || FIRST_BY(p, x)) -> SAYC(p, n, x); \
		close_up_to(p, NUMS); \
		phase[n] = PREPARING; proposer[n] = p; base[n] = OWN_VIEW(p); known[n] = NUM(adopted[p]); \
		remove[n] = x & MEMBERS(adopted[p]); add[n] = x & ~MEMBERS(adopted[p]) }

/* Its proposer decides on the promises of two. A third may be there and counts as late. */
inline decide(n, two)
{
	v = base[n];
	for (i : 0 .. 2) {
		if :: HAS(two, i) && HIGHER(told[3*n + i], v) -> v = told[3*n + i] :: else fi
	}
	w = add[n];
#ifdef ADD_TO_NEWER_BASE /* log 8.2: added only to the view that was current to the proposer when it took the number */
	if :: NUM(v) != NUM(adopted[proposer[n]]) -> w = 0 :: else fi;
#else
	if :: NUM(v) != known[n] -> w = 0 :: else fi;
#endif
	w = (MEMBERS(v) & ~remove[n]) | w;
	if
	:: MAJORITY(w) ->
		j = proposer[n];
		close(n);
		phase[n] = ACCEPTING; proposer[n] = j;
		accept[n] = VIEW(n, NUM(v), w);
		SAYV(j, accept[n])
	:: else -> SAYN(Gives_up, proposer[n], n); close(n)
	fi
}

#define DECIDES(n, two) \
	:: d_step { phase[n] == PREPARING && (two & promises[n] & COUNTED(n)) == two -> decide(n, two) }

/* ---- voting (log 6.3, 6.5) -------------------------------------------------------------------------------------- */

inline promise(s, n)
{
	if
	:: n > promised[s] ->
		promised[s] = n;
		SAVED(s);
#ifdef FREEZE_FORGOTTEN /* log 6.3: no later promise ends an earlier one's stop of grants */
		frozen[3*s] = 0; frozen[3*s + 1] = 0; frozen[3*s + 2] = 0;
#endif
		wait_for_leases(s, remove[n]);
		for (i : 0 .. 2) {
			if :: HAS(remove[n], i) && i != s -> frozen[3*s + i] = n :: else fi
		}
	:: else
	fi;
	if
	:: phase[n] == PREPARING -> promises[n] = promises[n] | BIT(s); told[3*n + s] = accepted[s]
	:: else
	fi
}

/* What is promised already is answered again; that matters only when numbers are used twice. */
#ifdef NUMBER_UNSAVED
#define NEW_TO(s, n) (n > promised[s] || (n == promised[s] && phase[n] == PREPARING && !HAS(promises[n], s)))
#define NOT_ACCEPTED(s, n) (accepted[s] != accept[n])
#else
#define NEW_TO(s, n) (n > promised[s])
#define NOT_ACCEPTED(s, n) (NUM(accepted[s]) < n)
#endif

#define PROMISES(s, n) \
	:: d_step { phase[n] && NEW_TO(s, n) && HAS(COUNTED(n), s) && LEASES_OVER(s, remove[n]) -> SAYN(Promises, s, n); promise(s, n) }
#define ACCEPTS(s, n) \
	:: d_step { accept[n] && n >= promised[s] && n > NUM(adopted[s]) && NOT_ACCEPTED(s, n) -> SAYN(Accepts, s, n); \
		promised[s] = n; accepted[s] = accept[n]; SAVED(s); \
		if :: phase[n] == ACCEPTING -> votes[n] = votes[n] | BIT(s) :: else fi }

/* ---- restarts (log 8) ---------------------------------------------------------------------------------------------- */

inline restart(s)
{
	restarts++;
	close_up_to(s, NUMS);
	forget_lists(s);
	if :: claim[s] == PROPOSING -> end_claim(s, ABORTED) :: else fi;
	lease[s] = 0;
	STARTS_ANEW(s);
#ifdef LEAVES
	over[s] = 0;
	newest[3*s] = 0; newest[3*s + 1] = 0; newest[3*s + 2] = 0;
#endif
#ifdef TIMERS
	granted[s] = 0;
#endif
#ifdef NO_START_WAIT
	forgot[s] = true;
#endif
#ifdef VOTE_UNSAVED /* log 6.5: promises are saved */
	promised[s] = NUM(accepted[s]);
	frozen[3*s] = 0; frozen[3*s + 1] = 0; frozen[3*s + 2] = 0;
#endif
#ifdef ADOPTED_UNSAVED /* log 6.5: the adopted view is saved before VIEW or HEARTBEAT tells of it */
	if
	:: unsaved[s] ->
		unsaved[s] = false;
		promised[s] = was_promised[s]; accepted[s] = was_accepted[s];
		adopted[s] = was_adopted[s]; complete[s] = was_complete[s]
	:: else
	fi;
#endif
#ifdef JOIN_FORGOTTEN /* log 8.4: who restarts while joining is joining */
	complete[s] = MEMBER(s) != 0
#endif
}

#define MAY_RESTART(s) \
	:: d_step { restarts < RESTARTS -> SAY(Restarts, s); restart(s) }
#if defined(NO_START_WAIT) && !defined(TIMERS)
#define GRANTS_AGAIN(g) \
	:: d_step { forgot[g] -> SAY(Grants_again, g); forgot[g] = false }
#else
#define GRANTS_AGAIN(g)
#endif

/* ---- joining (log 8.4) ------------------------------------------------------------------------------------------------ */

/* Member t makes its list for the new member s, which takes it in. What is still proposing is not in it, and newer than it. */
#define LISTS(s, t) \
	:: d_step { s != t && MEMBER(s) && !complete[s] && !HAS(lists[s], t) && adopted[t] == adopted[s] && READY(t) -> SAY2(Takes_list_of, s, t); \
		lists[s] = lists[s] | BIT(t); \
		if :: ACTING(t) -> join_rows[s] = join_rows[s] | BIT(t) :: else fi; \
		join_rows[s] = join_rows[s] | (row[t] & ~MEMBERS(adopted[t])); \
		join_has[s] = join_has[s] | has[t]; \
		NOTE_DOUBT(s, t) }

#ifdef JOINED_COUNTS_PROPOSING /* log 8.4: who joined counts as having acked what was in the list, and no more */
#define NOTE_DOUBT(s, t) if :: claim[t] == PROPOSING -> doubtful[s] = doubtful[s] | BIT(t) :: else fi
#else
#define NOTE_DOUBT(s, t) skip
#endif

#ifdef JOIN_EARLY /* log 8.4: not before it has applied what the others had */
#define CAUGHT_UP(s) 1
#else
#define CAUGHT_UP(s) !(join_has[s] & ~has[s])
#endif

inline join(s)
{
	complete[s] = true;
	SAVED(s);
#ifdef ROWS_REPLACED /* log 6.9: rows of owners outside the view stay */
	row[s] = row[s] & (MEMBERS(adopted[s]) | BIT(s));
#endif
#ifndef JOIN_NO_ROWS /* log 8.4: the rows in the lists are taken over */
	row[s] = row[s] | (join_rows[s] & ~BIT(s));
#endif
#ifdef JOINED_COUNTS_PROPOSING
	for (i : 0 .. 2) {
		if :: HAS(doubtful[s], i) && ACTING(i) -> acks[i] = acks[i] | BIT(s) :: else fi
	}
#endif
	forget_lists(s)
}

#define JOINS(s) \
	:: d_step { MEMBER(s) && !complete[s] && (lists[s] | BIT(s)) == (MEMBERS(adopted[s]) | BIT(s)) && CAUGHT_UP(s) -> SAY(Has_joined, s); join(s) }

/* Members ask who joined for its list too, and drop what is not in it. */
#ifdef REFETCH_DROPS_PROPOSING /* log 8.4: what was proposing when the list was made is newer than it */
#define REFETCHES(s, t) \
	:: d_step { t == 0 && s != t && complete[s] && complete[t] && NUM(adopted[t]) && adopted[s] == adopted[t] && \
		claim[t] == PROPOSING && !HAS(refetched[s], t) -> SAY2(Makes_list_for, t, s); refetched[s] = refetched[s] | BIT(t) } \
	:: d_step { t == 0 && HAS(refetched[s], t) && HAS(row[s], t) -> SAY2(Puts_in_list_of, s, t); \
		refetched[s] = refetched[s] & ~BIT(t); row[s] = row[s] & ~BIT(t) }
#else
#define REFETCHES(s, t)
#endif

/* ---- the object (control 4 to 7, log 3) --------------------------------------------------------------------------------- */

#if WRITERS

#ifdef OUTSIDER_ACKS /* log 6.6: who is outside acks nothing, and nobody acks for one who is */
#define MAY_ACK(s, t) 1
#else
#define MAY_ACK(s, t) (READY(s) && HAS(MEMBERS(adopted[s]), t))
#endif

/* ACKs count from members of the owner's view. */
#define COUNTS(t) ((acks[t] | BIT(t)) & MEMBERS(adopted[t]))

#define WANTS(t) \
	:: d_step { HAS(WRITERS, t) && claim[t] == NONE && !row[t] && SERVES(t) -> SAY(Proposes_control, t); claim[t] = PROPOSING; row[t] = BIT(t) }
#define ACKS(s, t) \
	:: d_step { s != t && (claim[t] == PROPOSING || ACTING(t)) && !(row[s] & ~BIT(t)) && MAY_ACK(s, t) && \
		(!HAS(row[s] & acks[t], s) || !HAS(row[s], t) || (claim[t] == PROPOSING && (has[s] & ~need[t]))) -> SAY2(Acks, s, t); \
		row[s] = row[s] | BIT(t); acks[t] = acks[t] | BIT(s); \
		if :: claim[t] == PROPOSING -> need[t] = need[t] | has[s] :: else fi }
#define YIELDS(t) \
	:: d_step { claim[t] == PROPOSING -> SAY(Aborts, t); end_claim(t, ABORTED) }
#define WINS(t) \
	:: d_step { claim[t] == PROPOSING && MEMBER(t) && MAJORITY(COUNTS(t)) && !(need[t] & ~has[t]) -> SAY(Wins, t); \
		for (i : 0 .. 2) { \
			HOLDS(6, !ACTING(i)) /* one owner */ \
		} \
		claim[t] = WON; need[t] = 0 }
#define EXECUTES(t) \
	:: d_step { claim[t] == WON -> SAY(Executes, t); \
		HOLDS(7, !(executed & ~has[t])); /* an update starts from the latest version */ \
		claim[t] = EXECUTED; before[t] = executed; executed = executed | BIT(t); has[t] = has[t] | BIT(t) }
#define APPLIES(s, t) \
	:: d_step { HAS(executed, t) && !HAS(has[s], t) && !(before[t] & ~has[s]) -> SAY2(Applies_update_of, s, t); has[s] = has[s] | BIT(t) }

/* Applied by all members. */
#define AT(t, s) (!HAS(MEMBERS(adopted[t]), s) || HAS(has[s], t))
#define APPLIED_BY_ALL(t) (AT(t, 0) && AT(t, 1) && AT(t, 2))
#define GIVES_BACK(t) \
	:: d_step { READY(t) && claim[t] == WON -> SAY(Gives_back, t); end_claim(t, ABORTED) } \
	:: d_step { READY(t) && claim[t] == EXECUTED && APPLIED_BY_ALL(t) -> SAY(Releases, t); end_claim(t, RELEASED) }
#ifdef RELEASE_TO_NEW /* log 8.4: RELEASE goes to those who were members when all had applied the update, others ask for the list */
#define KNOWS_ALL(s, t) HAS(MEMBERS(adopted[t]), s)
#else
#define KNOWS_ALL(s, t) HAS(has[s], t)
#endif
#define FORGETS(s, t) \
	:: d_step { s != t && HAS(row[s], t) && (claim[t] == ABORTED || (claim[t] == RELEASED && KNOWS_ALL(s, t))) -> SAY2(Forgets_control_of, s, t); \
		row[s] = row[s] & ~BIT(t) }

/* The client has its answer as soon as it may have it (log 5.2); nothing else asks whether it has. */
inline complete_updates()
{
	for (i : 0 .. 2) {
		if
		:: HAS(executed, i) && SERVES(i) &&
		   ((claim[i] == EXECUTED && COUNTS(i) == MEMBERS(adopted[i])) || APPLIED_BY_ALL(i)) ->
			if :: HAS(done, i) -> skip :: else -> SAY(Has_answered, i) fi;
			done = done | BIT(i)
		:: else
		fi
	}
}

#else

#define WANTS(t)
#define ACKS(s, t)
#define YIELDS(t)
#define WINS(t)
#define EXECUTES(t)
#define APPLIES(s, t)
#define GIVES_BACK(t)
#define FORGETS(s, t)
#define complete_updates() skip

#endif

/* ---- all steps ------------------------------------------------------------------------------------------------------------- */

#define SERVER(s) MAY_RESTART(s) LEAVES_NOW(s) GRANTS_AGAIN(s) JOINS(s) WANTS(s) YIELDS(s) WINS(s) EXECUTES(s) GIVES_BACK(s)
#define PAIR(s, t) GRANTS(s, t) RUNS_OUT(s, t) HEARS_LEFT(s, t) COUNTS_LATE(s, t) LISTS(s, t) REFETCHES(s, t) ACKS(s, t) APPLIES(s, t) FORGETS(s, t)
#define SERVER_NUMBER(s, n) PROMISES(s, n) ACCEPTS(s, n) ADOPTS(s, n)
#define PROPOSER(p, n) PROPOSES(p, n, 0) PROPOSES(p, n, 1) PROPOSES(p, n, 2) PROPOSES(p, n, 3) PROPOSES(p, n, 4) \
	PROPOSES(p, n, 5) PROPOSES(p, n, 6)
#define NUMBER(n) \
	PROPOSER(0, n) PROPOSER(1, n) PROPOSER(2, n) SERVER_NUMBER(0, n) SERVER_NUMBER(1, n) SERVER_NUMBER(2, n) \
	DECIDES(n, 3) DECIDES(n, 5) DECIDES(n, 6) ADOPTS_OWN(n)

active proctype servers()
{
	d_step {
		for (i : 0 .. 2) {
			accepted[i] = FIRST; adopted[i] = FIRST;
			complete[i] = MEMBER(i) != 0
		}
		view[0] = FIRST;
#if OUT == 2
		claim[1] = WON; row[1] = BIT(1); row[0] = BIT(1); acks[1] = BIT(0);
#endif
		renew_leases();
		i = 0
	}
end:
	do
	:: atomic {
		if
		SERVER(0) SERVER(1) SERVER(2)
		PAIR(0, 1) PAIR(0, 2) PAIR(1, 0) PAIR(1, 2) PAIR(2, 0) PAIR(2, 1)
		NUMBER(1)
#if NUMS > 1
		NUMBER(2)
#endif
#if NUMS > 2
		NUMBER(3)
#endif
		fi;
		d_step { renew_leases(); complete_updates(); check(); i = 0 }
	   }
	od
}
