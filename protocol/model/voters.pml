/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Voters that change (docs/protocol/, log 9.1), for the model checker Spin: views that add a server to those whose majority
 * decides or take one out, leases, and what two servers that serve may disagree about. README.md says what is modelled, how to
 * run it, and what came out.
 *
 * As in views.pml one process makes one step of one server at a time, messages stay for ever, and leases last until a promise
 * waits for their end. Servers are 0 to 4. The first ones are voters at first; the rest are learners that have caught up.
 *
 * Bounds: NUMS          view numbers that can be proposed (1 to 4)
 *         VOTERS        how many are voters at first (2 to 4)
 *         OUT           1: the last one of them is outside the view at first
 *         ASK1 .. ASK4  what each number may be taken for, a sum of: 1 a member out, 2 a voter in that is outside, 4 a learner in, as a voter,
 *                       8 a voter that is outside taken out, 16 nothing; without it: anything
 * Each rule that can be switched off has a macro, with the rule beside it.
 */
#ifndef NUMS
#define NUMS 2
#endif
#ifndef VOTERS
#define VOTERS 3
#endif
#ifndef OUT
#define OUT 0
#endif
#ifndef ASK1
#define ASK1 31
#endif
#ifndef ASK2
#define ASK2 31
#endif
#ifndef ASK3
#define ASK3 31
#endif
#ifndef ASK4
#define ASK4 31
#endif
#define ASKED(n, what) (((n) == 1 -> ASK1 : ((n) == 2 -> ASK2 : ((n) == 3 -> ASK3 : ASK4))) & (what))

#define BIT(s) (1 << (s))
#define HAS(set, s) ((set) & BIT(s))
#define COUNT(x) (((x) & 1) + ((x) >> 1 & 1) + ((x) >> 2 & 1) + ((x) >> 3 & 1) + ((x) >> 4 & 1))
#define MAJORITY(set, voters) (2 * COUNT((set) & (voters)) > COUNT(voters))
/* Any two majorities have somebody in common. */
#define MEET(v, w) (COUNT(v) / 2 + 1 + COUNT(w) / 2 + 1 > COUNT((v) | (w)))

/* ---- state --------------------------------------------------------------------------------- */

/* Of server s, saved: numbers. */
byte promised[5], accepted[5], adopted[5];
byte frozen[25];  /* [5*s + t]: s promised this number, which removes t, and has not adopted it or a later one; 0: none */
byte lease[5];	  /* [t] whose grant to t may not have run out; its own always counts */

/* Of number n: the view that ACCEPT names, and what its proposer remembers. View 0 is the first one. */
byte members[5], voters[5], base[5];
bool asked[5];	  /* ACCEPT was sent */
bool adopts[5];	  /* somebody has adopted it */
#define UNUSED 0
#define PREPARING 1
#define CLOSED 2
byte phase[5], remove[5], add[5], swap[5], known[5], promises[5], votes[5];
/* remove: PREPARE's; add: to the members; swap: voters that come or go; known: the view that the proposer had adopted */

hidden byte i, j, k, v;

mtype = { Promises, Accepts, Adopts, Prepares, Gives_up };
#define SAYN(what, s, n) printf("%d %e number %d\n", s, what, n)
#define SAYC(s, n) printf("%d Prepares number %d: out %d in %d voters changed by %d, knows view %d\n", s, n, remove[n], add[n], swap[n], known[n])
#define SAYV(n) printf("0 Asks_to_accept number %d with base %d, members %d, voters %d\n", n, base[n], members[n], voters[n])

/* ---- properties ------------------------------------------------------------------------------ */

#define MEMBER(s) HAS(members[adopted[s]], s)
#ifdef LEASE_OLD_VOTERS /* log 9.1: a lease is counted anew when the voters change */
byte counted[5]; /* the view by whose voters it was counted first */
#define LEASED(s) (MEMBER(s) && (MAJORITY(lease[s] | BIT(s), voters[adopted[s]]) || MAJORITY(lease[s] | BIT(s), voters[counted[s]])))
#else
#define LEASED(s) (MEMBER(s) && MAJORITY(lease[s] | BIT(s), voters[adopted[s]]))
#endif

#ifdef ONLY
#define HOLDS(property, x) assert(property != ONLY || (x) || property == 0)
#else
#define HOLDS(property, x) assert((x) || property == 0)
#endif

/* Somebody adopts number n first. */
inline check_chain(n)
{
	for (i : 0 .. NUMS) {
		if
		:: i != n && adopts[i] ->
			k = (i > n -> n : i);
			j = (i > n -> i : n);
			do
			:: j > k -> j = base[j]
			:: else -> break
			od;
			HOLDS(1, j == k) /* the later one descends from the earlier one */
		:: else
		fi
	};
	i = 0
}

#ifndef WITNESS
#define WITNESS 0
#endif
#if WITNESS == 1 /* five voters, one of the first three is out */
#define SEEN(s) (LEASED(s) && voters[adopted[s]] == 31 && !HAS(members[adopted[s]], 2))
#elif WITNESS == 2 /* one that does not know that it was taken out, after it was a member */
#define SEEN(s) (MEMBER(s) && adopted[s] == 0 && adopts[NUMS] && !HAS(voters[NUMS], s))
#elif WITNESS == 3 /* two with leases, whose voters differ */
#define SEEN(s) (LEASED(s) && s != 0 && LEASED(0) && voters[adopted[s]] != voters[adopted[0]])
#else
#define SEEN(s) 0
#endif

inline check()
{
	for (i : 0 .. 4) {
		HOLDS(9, !SEEN(i)); /* not a property: see SEEN */
		if
		:: LEASED(i) ->
			for (j : 1 .. NUMS) { /* after a view without i, no lease under an older one */
				HOLDS(2, j <= adopted[i] || !adopts[j] || HAS(members[j], i))
			}
			for (j : 0 .. 4) { /* what one wins or is told to be held, by a majority of its voters, is known to a majority of the other's */
				HOLDS(3, !LEASED(j) || MEET(voters[adopted[i]], voters[adopted[j]]))
			}
		:: else
		fi
	}
}

/* ---- leases (log 6.7) ------------------------------------------------------------------------- */

#ifdef GRANT_OLD_VIEW /* log 6.5: nobody grants a member whose heartbeat names a view older than the base of the accepted one */
#define NEW_ENOUGH(g, t) 1
#else
#define NEW_ENOUGH(g, t) (adopted[t] >= base[accepted[g]])
#endif
#define MAY_GRANT(g, t) ((g) != (t) && HAS(members[accepted[g]], t) && !frozen[5*(g) + (t)] && NEW_ENOUGH(g, t))

inline renew_leases()
{
	for (i : 0 .. 4) {
		for (j : 0 .. 4) {
			if :: MAY_GRANT(i, j) -> lease[j] = lease[j] | BIT(i) :: else fi
		}
	}
}

/* ---- proposing (log 6.4, 6.8, 9.1) ------------------------------------------------------------------- */

#ifdef UNHEARD /* log 9.1: voters change only when all members are known to go by the base */
#define INFORMED(m, a) 1
#else
#define INFORMED(m, a) (!HAS(members[a], m) || adopted[m] >= (a))
#endif
#define ALL_INFORMED(a) (INFORMED(0, a) && INFORMED(1, a) && INFORMED(2, a) && INFORMED(3, a) && INFORMED(4, a))

/* Majorities that promises need, and acceptances. */
#ifdef KNOWN_VOTERS_ONLY /* log 9.1: promises of a majority of the base's voters, too, when that is not the view that the proposer knew */
#define PROMISED(n, set) MAJORITY(set, voters[known[n]])
#else
#define PROMISED(n, set) (MAJORITY(set, voters[known[n]]) && MAJORITY(set, voters[base[n]]))
#endif
#if defined(NEW_VOTERS_ONLY) /* log 9.1: a view is adopted by a majority of its base's voters */
#define ACCEPTED(n) MAJORITY(votes[n], voters[n])
#elif defined(OLD_VOTERS_ONLY) /* log 9.1: and by one of its own */
#define ACCEPTED(n) MAJORITY(votes[n], voters[base[n]])
#else
#define ACCEPTED(n) (MAJORITY(votes[n], voters[base[n]]) && MAJORITY(votes[n], voters[n]))
#endif

inline prepare(p, n, out, in, change)
{
	phase[n] = PREPARING; remove[n] = out; add[n] = in; swap[n] = change; known[n] = adopted[p];
	base[n] = (accepted[p] > adopted[p] -> accepted[p] : adopted[p]);
	SAYC(p, n);
	promise(p, n)
}

#define FIRST(p) ((p) == 0 || phase[1] || phase[2] || phase[3] || phase[4])
#define FREE(p, n) (!phase[n] && n > promised[p] && MEMBER(p) && FIRST(p))

/* Learners differ in nothing at first: one comes when somebody has asked for the one before it. Members neither: the first to ask is 0. */
#define WANTED (voters[1] | voters[2] | voters[3] | voters[4] | add[1] | add[2] | add[3] | add[4])
#define IN_ORDER(x) ((x) <= VOTERS || HAS(WANTED, (x) - 1))

#define KNOWN(p) adopted[p]
#define CHANGES(p, n, what) ASKED(n, what) && FREE(p, n)
#define PROPOSES(p, n, t) \
	:: d_step { CHANGES(p, n, 1) && p != t && HAS(members[KNOWN(p)], t) && MAJORITY(members[KNOWN(p)] & ~BIT(t), voters[KNOWN(p)]) -> \
		prepare(p, n, BIT(t), 0, 0) } \
	:: d_step { CHANGES(p, n, 2) && p != t && HAS(voters[KNOWN(p)] & ~members[KNOWN(p)], t) && adopted[t] >= KNOWN(p) -> \
		prepare(p, n, 0, BIT(t), 0) } \
	:: d_step { CHANGES(p, n, 4) && !HAS(voters[KNOWN(p)], t) && adopted[t] >= KNOWN(p) && ALL_INFORMED(KNOWN(p)) && IN_ORDER(t) -> \
		prepare(p, n, 0, BIT(t), BIT(t)) } \
	:: d_step { CHANGES(p, n, 8) && HAS(voters[KNOWN(p)] & ~members[KNOWN(p)], t) && ALL_INFORMED(KNOWN(p)) -> \
		prepare(p, n, BIT(t), 0, BIT(t)) }
#ifdef TWO_AT_ONCE /* log 9.1: one voter comes or goes at a time */
#define PROPOSES_MORE(p, n) \
	:: d_step { CHANGES(p, n, 4) && voters[KNOWN(p)] == 7 && adopted[3] >= KNOWN(p) && adopted[4] >= KNOWN(p) && ALL_INFORMED(KNOWN(p)) -> \
		prepare(p, n, 0, BIT(3) | BIT(4), BIT(3) | BIT(4)) }
#else
#define PROPOSES_MORE(p, n)
#endif
#define PROPOSES_SAME(p, n) \
	:: d_step { CHANGES(p, n, 16) -> prepare(p, n, 0, 0, 0) }

#define FIRST(p) ((p) == 0 || phase[1] || phase[2] || phase[3] || phase[4])
#define FREE(p, n) (!phase[n] && n > promised[p] && MEMBER(p) && FIRST(p))

#ifdef CHANGE_NEWER_BASE /* log 9.1: and only of the view that the proposer knew */
#define SAME_BASE(n) 1
#else
#define SAME_BASE(n) (base[n] == known[n])
#endif

#ifdef OTHER_VOTERS /* log 9.1: if the base has other voters it is proposed as it is first */
#define SAME_VOTERS(n) 1
#else
#define SAME_VOTERS(n) (voters[base[n]] == voters[known[n]] || !remove[n])
#endif

inline decide(n)
{
	v = base[n];
	phase[n] = CLOSED;
	voters[n] = voters[v];
	if
	:: SAME_BASE(n) -> members[n] = (members[v] & ~remove[n]) | add[n]; voters[n] = (voters[v] & ~(swap[n] & remove[n])) | (swap[n] & add[n])
	:: !SAME_BASE(n) && MAJORITY(members[v] & ~remove[n], voters[v]) -> members[n] = members[v] & ~remove[n]
	:: else -> members[n] = members[v]
	fi;
	if
	:: SAME_VOTERS(n) && MAJORITY(members[n], voters[n]) -> asked[n] = true; SAYV(n)
	:: else -> SAYN(Gives_up, 0, n); members[n] = 0; voters[n] = 0; base[n] = 0
	fi;
	remove[n] = 0; add[n] = 0; swap[n] = 0; known[n] = 0; promises[n] = 0
}

/* ---- voting (log 6.3, 6.5) -------------------------------------------------------------------------- */

inline promise(s, n)
{
	SAYN(Promises, s, n);
	promised[s] = n;
	for (i : 0 .. 4) {
		if :: HAS(remove[n], i) && i != s -> frozen[5*s + i] = n; lease[i] = lease[i] & ~BIT(s) :: else fi
	}
	promises[n] = promises[n] | BIT(s);
	if :: accepted[s] > base[n] -> base[n] = accepted[s] :: else fi
}

inline adopt(s, n)
{
	SAYN(Adopts, s, n);
#ifdef LEASE_OLD_VOTERS
	if :: LEASED(s) && MAJORITY(lease[s] | BIT(s), voters[counted[s]]) :: else -> counted[s] = adopted[s] fi;
#endif
	adopted[s] = n;
	if :: accepted[s] < n -> accepted[s] = n :: else fi;
	if :: promised[s] < n -> promised[s] = n :: else fi;
	for (i : 0 .. 4) {
		if :: frozen[5*s + i] <= n -> frozen[5*s + i] = 0 :: else fi
	};
	i = 0
}

/* Whoever is no voter of any view so far is not asked: its word counts nowhere. */
#define IS_VOTER(s) HAS(voters[0] | voters[1] | voters[2] | voters[3] | voters[4], s)

#define PROMISES(s, n) \
	:: d_step { phase[n] == PREPARING && n > promised[s] && IS_VOTER(s) && !HAS(remove[n], s) -> promise(s, n) }
#define ACCEPTS(s, n) \
	:: d_step { asked[n] && n >= promised[s] && accepted[s] < n && IS_VOTER(s) -> SAYN(Accepts, s, n); promised[s] = n; accepted[s] = n; \
		votes[n] = votes[n] | BIT(s) }
#define ADOPTS(s, n) \
	:: d_step { adopts[n] && n > adopted[s] -> adopt(s, n) }
#define DECIDES(n) \
	:: d_step { phase[n] == PREPARING && PROMISED(n, promises[n]) -> decide(n) }
#define IS_ADOPTED(n) \
	:: d_step { asked[n] && !adopts[n] && ACCEPTED(n) -> adopts[n] = true; check_chain(n) }

/* ---- all steps ------------------------------------------------------------------------------------------ */

#define PROPOSER(p, n) PROPOSES(p, n, 0) PROPOSES(p, n, 1) PROPOSES(p, n, 2) PROPOSES(p, n, 3) PROPOSES(p, n, 4) PROPOSES_MORE(p, n) PROPOSES_SAME(p, n)
#define VOTER(s, n) PROMISES(s, n) ACCEPTS(s, n) ADOPTS(s, n)
#define NUMBER(n) PROPOSER(0, n) PROPOSER(1, n) PROPOSER(2, n) PROPOSER(3, n) PROPOSER(4, n) \
	VOTER(0, n) VOTER(1, n) VOTER(2, n) VOTER(3, n) VOTER(4, n) DECIDES(n) IS_ADOPTED(n)

active proctype servers()
{
	d_step {
		voters[0] = BIT(VOTERS) - 1; members[0] = BIT(VOTERS - OUT) - 1; adopts[0] = true;
		renew_leases();
		i = 0
	}
end:
	do
	:: atomic {
		if
		NUMBER(1)
#if NUMS > 1
		NUMBER(2)
#endif
#if NUMS > 2
		NUMBER(3)
#endif
#if NUMS > 3
		NUMBER(4)
#endif
		fi;
		d_step { renew_leases(); check(); i = 0; j = 0; k = 0; v = 0 }
	   }
	od
}
