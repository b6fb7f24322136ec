/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Locks when servers fail (docs/protocol/locks-failures.md), for the model checker Spin: three servers, one file, two clients that want its one exclusive lock.
 * README.md says what is modelled, what is left out and why that is safe, how to run it, and what came out.
 *
 * One process makes one step of one server or client at a time; after each step the properties of check() are looked at. There are no queues: a message
 * that was sent stays there and may be taken in at any later time, more than once, or never. Servers are 0, 1, 2 and clients 0, 1; sets are masks.
 *
 * Control is given (views.pml has its elections): at most one server has it, its claim ends by release or when its log does, and who wins it has what another member had applied.
 *
 * Bounds: NUMS     LOCK requests of a client (1 to 3)
 *         RESTARTS of any server in place, with loss of its memory
 *         REMOVALS views that remove a server
 *         RETURNS  views that add it again
 *         EXPIRES  clients whose leases end at their servers
 *         MOVES    clients of a server outside that go to another one
 *         CANCELS  requests that are given up
 *         SWITCHES releases of control
 *         LATE     messages that were sent before and come late, or once more
 *         SAME     both clients are at server 0 (else: client 0 at server 0, client 1 at server 1)
 *         LATE_RECORDS  the third member learns of records of clients late, and a restart may lose the end of the log
 * Each rule that can be switched off has a macro, with the rule beside it.
 */
#ifndef NUMS
#define NUMS 1
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#ifndef REMOVALS
#define REMOVALS 0
#endif
#ifndef RETURNS
#define RETURNS 0
#endif
#ifndef EXPIRES
#define EXPIRES 0
#endif
#ifndef MOVES
#define MOVES 0
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef LATE
#define LATE 0
#endif
#ifndef SWITCHES
#define SWITCHES 1
#endif

#define BIT(s) (1 << (s))
#define HAS(set, s) ((set) & BIT(s))
#define MAJORITY(set) ((set) & ((set) - 1)) /* two of three */
#define ALL 7
#define NONE 3	  /* no server */
#define NOBODY 2  /* no client */

/* ---- state --------------------------------------------------------------------------------- */

/* Views, by number. A view that is not there yet has all members. */
byte mem[5];
byte top;	  /* the newest */
byte view[3];	  /* [s]: the one it acts on */
bool joined[3];	  /* [s]: asserted what its clients have, since it was outside */
bool tail[3];	  /* [s]: has the end of the log, since its restart */

/* The claim of the file. */
byte auth;	  /* its owner; NONE */
byte claim_view;  /* the view in which it was won */
byte rows;	  /* servers that have its row */
byte gap;	  /* servers in whose tables the file is in a gap */
byte gap_end;	  /* servers that the word of its end is under way to */
byte row, row_num;	/* LR: the client; the number */

/* Memory of the authority. */
byte table, table_num;	/* LT */
bool unconfirmed;	/* the holder's server has not said that it knows of the lock */
byte heard;		/* gap: members whose lists it has */
byte awaited;		/* gap: clients that may still reclaim */

/* Of client c at its server. */
byte home[2];	  /* the server in whose CL it is, or would be */
bool has[2];	  /* the client believes that it has the lock */
byte ht[2];	  /* HT: the number of its lock; 0: none */
byte num[2];	  /* last number used */
byte asks[2];	  /* LOCK requests so far */
byte asked[2];	  /* the number asked for; 0: none */
bool reclaims[2]; /* it is asked for as a reclaim */
bool known[2];	  /* the client has a session with this start of the server, and has reclaimed all that it will */
byte unlock[2];	  /* number of the UNLOCK that is not confirmed; 0: none */

/* Messages, under way for ever. */
bool answer[2];	  /* OK for the number that is asked for */
byte locks[2];	  /* numbers of LOCKs in these views and starts */
byte recl[2];	  /* numbers of RECLAIMs in these views and starts */
byte unlocks[2];  /* numbers of UNLOCKs */
byte list;	  /* servers whose list is under way */
byte listed[2];	  /* number of the lock in it; 0: none */
byte open;	  /* clients that it says have not reclaimed yet */

/* The records of client c, in the log of a server. */
#define ABSENT 0
#define UP 1
#define GONE 2
byte rec[2];	  /* the newest, held by a majority */
byte gone_num[2]; /* the number up to which the last GONE took away; 0: there was none */
byte writer[2];	  /* in whose log */
byte at[2];	  /* servers that have it; the others have the one before */

/* Only the properties look at these. */
bool cause[2];	  /* its lock may be lost: its lease ended, or Lock_Grace was over */
bool broken[2];	  /* somebody else had the lock since it got it */

byte restarts, removals, returns, expires, moves, cancels, switches, late;

#ifdef LIST_GRANTED_ONLY
byte granted_by[2];
#endif
#ifdef OLD_ANSWER
byte old_answers[2];
#endif
#ifdef OLD_REQUEST
byte old_locks[2];
#endif
#ifdef LOST_UNRECORDED
byte given_up;
#endif
#ifdef GONE_LATE
byte to_write;
#endif
#ifdef MOVE_UNRECORDED
byte in_cl[2];
#endif
#ifdef LIST_OLD_GAP
byte old_lists;	  /* servers whose list, with no lock in it, may come once more */
#endif

hidden byte i, j, k;

/* Seen when a run is replayed. */
mtype = { Asks_for_number, Is_granted_number, Has_its_lock, Unlocks_number, Gives_up_number, Loses_lock_by_UNLOCK, Expires, Hears_that_it_expired, Asks_to_reclaim_as, Is_reclaimed_as,
	Is_refused_its_reclaim, Has_nothing_to_reclaim, Moves_to, Wins_control_with, Acks_control_of, Releases, Restarts, Is_removed_by_view, Is_added_by_view, Adopts_view, Has_the_end_of_its_log,
	Learns_records, Makes_its_list_for, Hears_list_of, Ends_the_gap, Hears_the_end_of_the_gap, Gives_up_the_lock_of, Gives_back_number, Has_joined, Fences_its_clients, UP_is_written_late, GONE_is_written_late };
#define SAY(what, s) printf("%d %e\n", s, what)
#define SAY2(what, s, t) printf("%d %e %d\n", s, what, t)
#define SAYC(what, c) printf("%c %e\n", 'a' + c, what)
#define SAYC2(what, c, n) printf("%c %e %d\n", 'a' + c, what, n)
#define SAYSC(what, s, c) printf("%d %e %c\n", s, what, 'a' + c)

/* ---- views ------------------------------------------------------------------------------------------- */

/* s is outside some view after u, up to v. */
#define OUT_OF(s, u, v, w) ((u) < w && w <= (v) && !HAS(mem[w], s))
#define OUT(s, u, v) (OUT_OF(s, u, v, 1) || OUT_OF(s, u, v, 2) || OUT_OF(s, u, v, 3) || OUT_OF(s, u, v, 4))
#define MEMBERS(s) mem[view[s]]
#define MEMBER(s) HAS(MEMBERS(s), s)

/* A view without s exists only when the lease of s is over (views.pml, property 3). */
#define LEASE(s) (MEMBER(s) && !OUT(s, view[s], top))

#ifdef NO_TAIL /* L12: a server that restarted does nothing before it has the end of the log */
#define SERVES(s) (LEASE(s) && joined[s])
#else
#define SERVES(s) (LEASE(s) && joined[s] && tail[s])
#endif

/* What s knows of c. */
#define KNOWS(s, c) HAS(at[c], s)
#define KNOWS_UP(s, c) ((rec[c] == UP && KNOWS(s, c)) || (rec[c] == GONE && !KNOWS(s, c)))
#define KNOWS_GONE(s, c, n) (gone_num[c] >= (n) && KNOWS(s, c))

/* The server that c is a client of, by the records. */
#ifdef MOVE_UNRECORDED /* L12: a client that goes to another server is taken into its CL, and out of the other, by one record */
#define CL_OF(c) in_cl[c]
#define RECORD_MOVE(c, t) skip
#else
#define CL_OF(c) home[c]
#define RECORD_MOVE(c, t) if :: KNOWS_UP(t, c) -> record(t, c, UP, 0) :: else fi
#endif

/* The claim is over, as x knows. */
#define OVER(x) (auth != NONE && OUT(auth, claim_view, view[x]))
#define AUTHORITY(x) (auth == x && !OVER(x))
#define IN_GAP(x) HAS(gap, x)
#define SAME_VIEW(s, t) (view[s] == view[t] && HAS(MEMBERS(s), t))

/* ---- properties --------------------------------------------------------------------------------------- */

/* The number shows in the verifier's message. ONLY=n: the others are not looked at. */
#ifdef ONLY
#define HOLDS(property, x) assert(property != ONLY || (x) || property == 0)
#else
#define HOLDS(property, x) assert((x) || property == 0)
#endif

#define USABLE(c) (has[c] && ht[c] && SERVES(home[c]))

#ifndef WITNESS
#define WITNESS 0
#endif
#if WITNESS == 1 /* a lock was moved to another server, and its first one is back */
#define SEEN (USABLE(0) && home[0] != 0 && SERVES(0))
#elif WITNESS == 2 /* a server that was outside is back, with its lock */
#define SEEN (USABLE(0) && home[0] == 0 && top == 2 && view[0] == 2 && !num[1])
#elif WITNESS == 3 /* one gap over two views */
#define SEEN (auth != NONE && IN_GAP(auth) && AUTHORITY(auth) && top >= 2 && claim_view == 1 && view[auth] >= 2)
#elif WITNESS == 4 /* a lock is reclaimed over a restart of both its server and the authority, and then had by the other client */
#define SEEN (USABLE(1) && restarts == 2 && num[0] > 1 && !has[0] && !cause[0] && !top)
#elif WITNESS == 5 /* a client lost its lock by Lock_Grace, the other one had it and has unlocked, and the first one does not know yet */
#define SEEN (has[0] && broken[0] && !has[1] && !expires)
#else
#define SEEN 0
#endif

inline check()
{
	HOLDS(9, !SEEN); /* not a property: see SEEN */
	HOLDS(1, !(USABLE(0) && USABLE(1)));
	HOLDS(2, !(USABLE(0) && broken[0]) && !(USABLE(1) && broken[1]))
}

/* Nothing can happen any more. */
inline check_end()
{
	HOLDS(4, table == NOBODY && auth != NONE && !(gap & mem[top]));
	HOLDS(4, (joined[0] || !HAS(mem[top], 0)) && (joined[1] || !HAS(mem[top], 1)) && (joined[2] || !HAS(mem[top], 2)));
	HOLDS(4, !HAS(mem[top], home[0]) || (!asked[0] && !unlock[0] && !has[0] && known[0]));
	HOLDS(4, !HAS(mem[top], home[1]) || (!asked[1] && !unlock[1] && !has[1] && known[1]))
}

/* ---- records of clients ------------------------------------------------------------------------------------ */

/* A record in the log of s, held by a majority; at the others at once, or not yet at those in late. */
#define MAY_BE_LATE(s, late) (!(late) || (!HAS(late, s) && MAJORITY(MEMBERS(s) & ~(late))))
inline record(s, c, what, late)
{
	rec[c] = what;
	writer[c] = s;
	at[c] = MEMBERS(s) & ~(late)
}

/* The authority s has learnt of GONE. */
inline drop_gone(s)
{
	if
#ifdef GONE_ANY /* L7: GONE takes away only what has a number not above its own */
	:: table != NOBODY && gone_num[table] && KNOWS(s, table) -> table = NOBODY; table_num = 0; unconfirmed = false
#else
	:: table != NOBODY && KNOWS_GONE(s, table, table_num) -> table = NOBODY; table_num = 0; unconfirmed = false
#endif
	:: else
	fi
}

#define LEARNABLE(s, c) (rec[c] && !HAS(at[c], s))
#ifdef LATE_RECORDS
#define LEARNS(s) \
	:: d_step { MEMBER(s) && (LEARNABLE(s, 0) || LEARNABLE(s, 1) || !tail[s]) -> SAY(Learns_records, s); \
		at[0] = (rec[0] -> at[0] | BIT(s) : 0); at[1] = (rec[1] -> at[1] | BIT(s) : 0); tail[s] = true; \
		if :: auth == s -> drop_gone(s) :: else fi }
#else
#define LEARNS(s)
#endif

/* ---- a client asks, has, unlocks ---------------------------------------------------------------------------- */

#ifdef NUMBERS_ANEW /* L4: numbers go on over restarts of the holder's server */
#define NEXT(c) num[c] = (reclaims[c] -> 1 : num[c] + 1)
#else
#define NEXT(c) num[c]++
#endif

#ifdef UNLOCK_UNORDERED /* L16: a LOCK waits until an earlier UNLOCK is confirmed */
#define IN_ORDER(c) 1
#else
#define IN_ORDER(c) (!unlock[c])
#endif

#ifdef UP_LATE /* L7: UP is held by a majority before the first LOCK */
#define WRITE_UP(c, late) skip
#define WRITES_UP(c) \
	:: d_step { rec[c] != UP && (ht[c] || asked[c]) && SERVES(home[c]) -> SAYC(UP_is_written_late, c); record(home[c], c, UP, 0) }
#else
#define WRITE_UP(c, late) if :: rec[c] != UP -> record(home[c], c, UP, late) :: else fi
#define WRITES_UP(c)
#endif

#define ASKS(c, late) \
	:: d_step { SERVES(home[c]) && known[c] && !has[c] && !asked[c] && IN_ORDER(c) && asks[c] < NUMS && MAY_BE_LATE(home[c], late) && (!(late) || rec[c] != UP) -> \
		asks[c]++; NEXT(c); asked[c] = num[c]; SAYC2(Asks_for_number, c, num[c]); locks[c] = locks[c] | BIT(num[c]); WRITE_UP(c, late) }

#if defined(OLD_REQUEST)
#define IS_SENT(c, n) HAS(locks[c] | old_locks[c], n)
#else /* L5: a request counts only in the view and between the starts in which it was asked */
#define IS_SENT(c, n) (SAME_VIEW(home[c], auth) && HAS(locks[c], n))
#endif
#ifdef LOCK_LOWERS /* L4: a LOCK with a smaller number than the lock that its owner has is dropped */
#define FREE_FOR(c, n) (table == NOBODY || table == c)
#else
#define FREE_FOR(c, n) (table == NOBODY || (table == c && table_num <= n))
#endif
#ifdef ROW_GRANTS /* L6: in a gap the row is nobody's right to be granted anew */
#define OPEN_FOR(x, c) (!IN_GAP(x) || (row == c && table == NOBODY))
#else /* L8 */
#define OPEN_FOR(x, c) (!IN_GAP(x))
#endif

#ifdef LOCK_OF_GONE /* L7: a LOCK with a number that GONE took away is dropped */
#define TAKEN_AWAY(x, c, n) 0
#else
#define TAKEN_AWAY(x, c, n) KNOWS_GONE(x, c, n)
#endif
#define GRANTABLE(x, c, n) (AUTHORITY(x) && SERVES(x) && OPEN_FOR(x, c) && FREE_FOR(c, n) && !TAKEN_AWAY(x, c, n))
#define GRANTS(x, c) \
	:: d_step { asked[c] && !reclaims[c] && GRANTABLE(x, c, asked[c]) && SAME_VIEW(home[c], x) && !(table == c && table_num == asked[c] && answer[c]) -> SAYC2(Is_granted_number, c, asked[c]); \
		table = c; table_num = asked[c]; unconfirmed = true; answer[c] = true }
/* One that was sent before, once more or late. */
#define GRANTS_LATE(x, c, n) \
	:: d_step { late < LATE && n != asked[c] && GRANTABLE(x, c, n) && IS_SENT(c, n) && !(table == c && table_num == n) -> SAYC2(Is_granted_number, c, n); \
		late++; table = c; table_num = n; unconfirmed = true }

inline has_it(c)
{
	ht[c] = asked[c];
	asked[c] = 0;
	answer[c] = false;
#ifdef LIST_GRANTED_ONLY
	granted_by[c] = auth;
#endif
	if
	:: reclaims[c] -> reclaims[c] = false; known[c] = true
	:: else -> has[c] = true; broken[c] = false; cause[c] = false
	fi;
	/* what is in the table under this number is confirmed */
	if :: table == c && table_num == ht[c] -> unconfirmed = false :: else fi;
	if :: has[1 - c] -> broken[1 - c] = true :: else fi
}

#ifdef OLD_ANSWER /* L5: an answer counts only in the view and between the starts in which it was asked for */
#define OLD(c) if :: answer[c] -> old_answers[c] = old_answers[c] | BIT(asked[c]) :: else fi
#define HAS_OLD(c) \
	:: d_step { late < LATE && SERVES(home[c]) && asked[c] && HAS(old_answers[c], asked[c]) -> SAYC(Has_its_lock, c); late++; has_it(c) }
#else
#define OLD(c) skip
#define HAS_OLD(c)
#endif
#ifdef OLD_REQUEST
#define OLD_LOCKS(c) old_locks[c] = old_locks[c] | locks[c]
#else
#define OLD_LOCKS(c) skip
#endif
#ifdef OLD_RECLAIM /* L5: nor does a reclaim */
#define OLD_RECLAIMS(c) skip
#else
#define OLD_RECLAIMS(c) recl[c] = 0
#endif
#define HAS_IT(c) \
	:: d_step { SERVES(home[c]) && asked[c] && answer[c] -> SAYC(Has_its_lock, c); has_it(c) }

/* The UNLOCK of number n is on the list, and repeated until it is confirmed. */
inline unlock_later(c, n)
{
	unlock[c] = n;
	unlocks[c] = unlocks[c] | BIT(n)
}

#define UNLOCKS(c) \
	:: d_step { SERVES(home[c]) && ht[c] && has[c] -> SAYC2(Unlocks_number, c, ht[c]); \
		unlock_later(c, ht[c]); ht[c] = 0; has[c] = false; broken[c] = false; cause[c] = false } \
	:: d_step { SERVES(home[c]) && asked[c] && !reclaims[c] && cancels < CANCELS -> SAYC2(Gives_up_number, c, asked[c]); \
		cancels++; unlock_later(c, asked[c]); asked[c] = 0; answer[c] = false }

#ifdef UNLOCK_ANY /* L4: an UNLOCK takes away only what has a number not above its own */
#define TAKES(c, n) (table == c)
#else
#define TAKES(c, n) (table == c && table_num <= n)
#endif
#ifdef UNLOCK_BEFORE_LIST /* L16: in a gap an UNLOCK counts after the list of its server was heard */
#define MAY_UNLOCK(x, c) 1
#else
#define MAY_UNLOCK(x, c) (!IN_GAP(x) || HAS(heard, home[c]))
#endif
#define IS_UNLOCKED(x, c) \
	:: d_step { AUTHORITY(x) && SERVES(x) && unlock[c] && MAY_UNLOCK(x, c) && HAS(MEMBERS(x), home[c]) -> SAYC2(Loses_lock_by_UNLOCK, c, unlock[c]); \
		if :: TAKES(c, unlock[c]) -> table = NOBODY; table_num = 0; unconfirmed = false :: else fi; \
		unlock[c] = 0 }
#define IS_UNLOCKED_LATE(x, c, n) \
	:: d_step { late < LATE && AUTHORITY(x) && SERVES(x) && HAS(unlocks[c], n) && n != unlock[c] && MAY_UNLOCK(x, c) && TAKES(c, n) -> SAYC2(Loses_lock_by_UNLOCK, c, n); \
		late++; table = NOBODY; table_num = 0; unconfirmed = false }

/* A grant is repeated until it is confirmed; what its holder's server does not wait for is given back. */
#ifdef NOT_GIVEN_BACK /* L4 */
#define GIVES_BACK(x, c)
#else
#define GIVES_BACK(x, c) \
	:: d_step { AUTHORITY(x) && SERVES(x) && table == c && unconfirmed && SERVES(home[c]) && SAME_VIEW(x, home[c]) && known[c] && !unlock[c] && asked[c] != table_num -> \
		if \
		:: ht[c] -> unconfirmed = false \
		:: else -> SAYC2(Gives_back_number, c, table_num); unlock_later(c, table_num) \
		fi }
#endif

/* ---- clients that expire, come back, reclaim, move ------------------------------------------------------------------------ */

inline lose_session(c)
{
	ht[c] = 0; asked[c] = 0; reclaims[c] = false; answer[c] = false; known[c] = false
}

inline gone(s, c, late)
{
	cause[c] = true;
	gone_num[c] = num[c];
	record(s, c, GONE, late);
	if :: auth < NONE && AUTHORITY(auth) && KNOWS(auth, c) -> k = auth; drop_gone(k) :: else fi
}

#ifdef GONE_LATE /* L7: GONE is held by a majority before the lock is given up */
#define EXPIRES_NOW(c, late) \
	:: d_step { expires < EXPIRES && SERVES(home[c]) && num[c] && KNOWS_UP(home[c], c) && rec[c] == UP && !HAS(to_write, c) -> SAYC(Expires, c); \
		expires++; lose_session(c); unlock_later(c, num[c]); cause[c] = true; to_write = to_write | BIT(c) } \
	:: d_step { HAS(to_write, c) && SERVES(home[c]) -> SAYC(GONE_is_written_late, c); to_write = to_write & ~BIT(c); gone(home[c], c, 0) }
#else
#define EXPIRES_NOW(c, late) \
	:: d_step { expires < EXPIRES && SERVES(home[c]) && num[c] && rec[c] == UP && MAY_BE_LATE(home[c], late) -> SAYC(Expires, c); \
		expires++; lose_session(c); gone(home[c], c, late); unlock_later(c, num[c]) }
#endif

/* The client comes back, and its server does not know it any more; or it had nothing to reclaim. What its server finds of it elsewhere is unlocked. */
#ifdef GONE_LATE
#define FORGOTTEN(c) (!KNOWS_UP(home[c], c) || HAS(to_write, c))
#else
#define FORGOTTEN(c) (!KNOWS_UP(home[c], c))
#endif
#ifdef RECLAIM_CL_HOME /* L12: the client's server refuses who is not in CL */
#define MAY_RECLAIM(c) 1
#else
#define MAY_RECLAIM(c) (!FORGOTTEN(c))
#endif
#ifdef NOT_COMPLETED /* L12: what a client has not reclaimed when it is done is unlocked */
#define COMPLETED(c) skip
#else
#define COMPLETED(c) if :: num[c] -> unlock_later(c, num[c]) :: else fi
#endif
#define COMES_BACK(c) \
	:: d_step { !known[c] && !asked[c] && SERVES(home[c]) && has[c] && FORGOTTEN(c) -> SAYC(Hears_that_it_expired, c); \
		HOLDS(3, cause[c]); has[c] = false; broken[c] = false; cause[c] = false; known[c] = true; COMPLETED(c) } \
	:: d_step { !known[c] && SERVES(home[c]) && !has[c] -> SAYC(Has_nothing_to_reclaim, c); cause[c] = false; known[c] = true; COMPLETED(c) } \
	:: d_step { !known[c] && !asked[c] && SERVES(home[c]) && has[c] && MAY_RECLAIM(c) -> \
		reclaims[c] = true; NEXT(c); asked[c] = num[c]; recl[c] = recl[c] | BIT(num[c]); SAYC2(Asks_to_reclaim_as, c, num[c]) }

#ifdef RECLAIM_CL_AUTHORITY /* L12: and so does the authority */
#define REFUSES(x, c) 0
#else
#define REFUSES(x, c) (rec[c] == GONE && KNOWS(x, c))
#endif
#if defined(ROW_BLOCKS) /* L6: in a gap the row is in no reclaim's way */
#define RECLAIMABLE(x, c) (IN_GAP(x) -> (table == NOBODY && (row == NOBODY || row == c)) || table == c : table == c)
#elif defined(RECLAIM_OVER) /* L12: in a gap a reclaim is granted if nothing conflicts */
#define RECLAIMABLE(x, c) (IN_GAP(x) || table == c)
#elif defined(RECLAIM_FREE) /* L12: outside a gap, what is in the table */
#define RECLAIMABLE(x, c) (table == NOBODY || table == c)
#elif defined(RECLAIM_IN_TABLE) /* L12: in a gap, what is not */
#define RECLAIMABLE(x, c) (table == c)
#else
#define RECLAIMABLE(x, c) ((IN_GAP(x) && table == NOBODY) || table == c)
#endif
#define RECLAIMS(x, c) \
	:: d_step { AUTHORITY(x) && SERVES(x) && asked[c] && reclaims[c] && SERVES(home[c]) && SAME_VIEW(x, home[c]) && !REFUSES(x, c) && RECLAIMABLE(x, c) && \
		!(table == c && table_num == asked[c] && answer[c]) -> SAYC2(Is_reclaimed_as, c, asked[c]); \
		table = c; table_num = asked[c]; unconfirmed = true; answer[c] = true } \
	:: d_step { AUTHORITY(x) && SERVES(x) && asked[c] && reclaims[c] && SERVES(home[c]) && SAME_VIEW(x, home[c]) && (REFUSES(x, c) || !RECLAIMABLE(x, c)) -> SAYC(Is_refused_its_reclaim, c); \
		HOLDS(3, cause[c]); has[c] = false; broken[c] = false; cause[c] = false; asked[c] = 0; reclaims[c] = false; answer[c] = false; known[c] = true; COMPLETED(c) }
/* One that was sent before, once more. */
#define RECLAIMS_LATE(x, c, n) \
	:: d_step { late < LATE && AUTHORITY(x) && SERVES(x) && IN_GAP(x) && HAS(recl[c], n) && n != asked[c] && SAME_VIEW(x, home[c]) && !REFUSES(x, c) && table == NOBODY -> SAYC2(Is_reclaimed_as, c, n); \
		late++; table = c; table_num = n; unconfirmed = true }

#if defined(AWAITS_FIRST_ONLY) || defined(MOVED_NOT_AWAITED) /* L9: who goes to another server is awaited, also when that server's list was heard before */
#define AWAIT_MOVED(c) skip
#else
#define AWAIT_MOVED(c) if :: auth < NONE && IN_GAP(auth) -> awaited = awaited | BIT(c) :: else fi
#endif
#define MOVES_TO(c, t) \
	:: d_step { moves < MOVES && home[c] != t && num[c] && SERVES(t) && !HAS(MEMBERS(t), home[c]) -> SAYC2(Moves_to, c, t); \
		moves++; lose_session(c); unlock[c] = 0; home[c] = t; locks[c] = 0; recl[c] = 0; RECORD_MOVE(c, t); AWAIT_MOVED(c) }

/* ---- control --------------------------------------------------------------------------------------------------------- */

#ifdef ACK_NO_GAP /* L11: an ACK names the gaps in the table of who sends it */
#define GAPS(x, y) (gap & BIT(x))
#else
#define GAPS(x, y) (gap & (BIT(x) | BIT(y)))
#endif

inline clear_memory()
{
	table = NOBODY; table_num = 0; unconfirmed = false; heard = 0; awaited = 0; list = 0; listed[0] = 0; listed[1] = 0; open = 0
}

/* The gap of x waits for the clients of those outside. */
#if defined(AWAITS_FIRST_ONLY) || defined(MOVED_NOT_AWAITED) /* L9: also of servers that are removed while it lasts; and they stay awaited when they go to another one */
#define await_outside(x) skip
#else
inline await_outside(x)
{
	for (i : 0 .. 1) {
		if :: KNOWS_UP(x, i) && !HAS(MEMBERS(x), CL_OF(i)) -> awaited = awaited | BIT(i) :: else fi
	}
}
#endif

inline win(x, y)
{
	auth = x; claim_view = view[x]; rows = BIT(x) | BIT(y);
	clear_memory();
	/* the barrier: it has what y has applied */
	for (i : 0 .. 1) {
		if :: HAS(at[i], y) -> at[i] = at[i] | BIT(x) :: else fi
	}
#ifdef NO_GAP /* L8: what a claim covered that ended with its log, or whose owner's memory is gone, is in a gap */
	k = 0;
#else
	k = GAPS(x, y);
#endif
	if
	:: k -> gap = gap | BIT(x); gap_end = gap_end & ~BIT(x); await_outside(x)
	:: else ->
		gap = gap & ~BIT(x);
		table = row; table_num = row_num; unconfirmed = row != NOBODY;
#ifdef ROW_CONFIRMED /* L4: what comes from the row is to be confirmed */
		unconfirmed = false;
#endif
		drop_gone(x)
	fi
}

#define WINS(x, y) \
	:: d_step { SERVES(x) && SAME_VIEW(x, y) && (auth == NONE || OVER(x)) -> SAY2(Wins_control_with, x, y); win(x, y); i = 0 }
#define ACKS(z) \
	:: d_step { auth < NONE && !HAS(rows, z) && SAME_VIEW(auth, z) && AUTHORITY(auth) -> SAY2(Acks_control_of, z, auth); rows = rows | BIT(z) }

#ifdef RELEASE_IN_GAP /* L11: a claim is not released while it has a gap */
#define MAY_RELEASE(x) 1
#else
#define MAY_RELEASE(x) (!IN_GAP(x))
#endif
#ifdef NO_SNAPSHOT /* L2: what outlives a claim is in the row */
#define SNAPSHOT row = NOBODY; row_num = 0
#else
#define SNAPSHOT row = table; row_num = table_num
#endif
#define RELEASES(x) \
	:: d_step { AUTHORITY(x) && SERVES(x) && MAY_RELEASE(x) && switches < SWITCHES -> SAY(Releases, x); \
		switches++; SNAPSHOT; auth = NONE; rows = 0; claim_view = 0; gap = gap & ~MEMBERS(x); gap_end = 0; clear_memory() }

/* ---- gaps ---------------------------------------------------------------------------------------------------------------- */

#ifdef LIST_GRANTED_ONLY /* L8: a list has all locks of its server's clients, whoever granted them */
#define IN_LIST(c) (granted_by[c] == auth -> ht[c] : 0)
#else
#define IN_LIST(c) ht[c]
#endif
#ifdef LIST_NO_OPEN /* L9: a list names the clients that have not reclaimed yet */
#define TO_RECLAIM(m, c) 0
#else
#define TO_RECLAIM(m, c) (!known[c] && KNOWS_UP(m, c))
#endif

/* Who has made a list counts no answer that was asked for before. */
inline old_answers_of(s)
{
	for (i : 0 .. 1) {
		if
		:: home[i] == s -> OLD(i); answer[i] = false
		:: else
		fi
	}
}

#ifdef ANSWER_AFTER_LIST /* L5: who has made a list for a start of the authority counts no answer of an older one */
#define NO_OLD_ANSWERS(m) skip
#else
#define NO_OLD_ANSWERS(m) old_answers_of(m)
#endif

#ifdef LISTED_GONE /* L8: what GONE took away is not taken from a list */
#define IS_LISTED(x, c) listed[c]
#else
#define IS_LISTED(x, c) (listed[c] && !KNOWS_GONE(x, c, listed[c]))
#endif
inline take_listed(x, c)
{
	if
	:: IS_LISTED(x, c) && (table == NOBODY || (table == c && table_num < listed[c])) -> table = c; table_num = listed[c]; unconfirmed = false
	:: listed[c] && table == c && table_num == listed[c] -> unconfirmed = false
	:: else
	fi;
	if :: HAS(open, c) -> awaited = awaited | BIT(c) :: else fi;
	listed[c] = 0;
	open = open & ~BIT(c)
}
inline hear(x, m)
{
	list = list & ~BIT(m);
	heard = heard | BIT(m);
#ifdef LIST_OLD_GAP
	if :: !(home[0] == m && listed[0]) && !(home[1] == m && listed[1]) && !open -> old_lists = old_lists | BIT(m) :: else fi;
#endif
	if :: home[0] == m -> take_listed(x, 0) :: else fi;
	if :: home[1] == m -> take_listed(x, 1) :: else fi
}
#define MAKES_LIST(x, m) \
	:: d_step { AUTHORITY(x) && SERVES(x) && IN_GAP(x) && SERVES(m) && SAME_VIEW(x, m) && !HAS(heard | list, m) -> SAY2(Makes_its_list_for, m, x); \
		list = list | BIT(m); \
		for (i : 0 .. 1) { \
			if \
			:: home[i] == m -> \
				listed[i] = IN_LIST(i); \
				open = (TO_RECLAIM(m, i) -> open | BIT(i) : open & ~BIT(i)) \
			:: else \
			fi \
		} \
		NO_OLD_ANSWERS(m); \
		if :: x == m -> hear(x, m) :: else fi; \
		i = 0 }

#define HEARS_LIST(x, m) \
	:: d_step { AUTHORITY(x) && SERVES(x) && IN_GAP(x) && HAS(list, m) -> SAY2(Hears_list_of, x, m); hear(x, m) }

#ifdef LIST_OLD_GAP /* L8: a list is for one gap */
#define HEARS_OLD_LIST(x, m) \
	:: d_step { late < LATE && AUTHORITY(x) && SERVES(x) && IN_GAP(x) && HAS(old_lists & ~heard, m) -> SAY2(Hears_list_of, x, m); late++; heard = heard | BIT(m) }
#else
#define HEARS_OLD_LIST(x, m)
#endif

#if defined(GAP_NO_LISTS) /* L8: a gap waits for lists */
#define ALL_HEARD(x) 1
#elif defined(HEARD_ONLY) /* L10: of all members of the view, not of those that are heard */
#define ALL_HEARD(x) MAJORITY(heard)
#else
#define ALL_HEARD(x) (!(MEMBERS(x) & ~heard))
#endif
#if defined(GAP_NO_CLIENTS) /* L8: and for clients */
#define AWAITED(x, c) 0
#elif defined(AWAITS_OWN_ONLY) /* L9: all clients that have not reclaimed, not only those of the authority */
#define AWAITED(x, c) (KNOWS_UP(x, c) && HAS(awaited, c) && !known[c] && home[c] == x)
#elif defined(AWAITS_FIRST_ONLY)
#define AWAITED(x, c) (KNOWS_UP(x, c) && HAS(awaited, c) && !known[c])
#elif defined(LOST_UNRECORDED)
#define AWAITED(x, c) (KNOWS_UP(x, c) && !HAS(given_up, c) && (!HAS(MEMBERS(x), CL_OF(c)) || (HAS(awaited, c) && !known[c])))
#else
#define AWAITED(x, c) (KNOWS_UP(x, c) && (!HAS(MEMBERS(x), CL_OF(c)) || (HAS(awaited, c) && !known[c])))
#endif
#define ENDS_GAP(x) \
	:: d_step { AUTHORITY(x) && SERVES(x) && IN_GAP(x) && ALL_HEARD(x) && !AWAITED(x, 0) && !AWAITED(x, 1) -> SAY(Ends_the_gap, x); \
		gap = gap & ~BIT(x); gap_end = gap; heard = 0; awaited = 0; list = 0; listed[0] = 0; listed[1] = 0; open = 0 }
#define HEARS_END(y) \
	:: d_step { HAS(gap & gap_end, y) -> SAY(Hears_the_end_of_the_gap, y); gap = gap & ~BIT(y); gap_end = gap_end & ~BIT(y) }
#ifdef GAP_ENDS_ALONE /* L8: a gap ends by an act of the authority, under its claim */
#define ENDS_ALONE(y) \
	:: d_step { IN_GAP(y) && SERVES(y) && !AUTHORITY(y) && !AWAITED(y, 0) && !AWAITED(y, 1) -> SAY(Ends_the_gap, y); gap = gap & ~BIT(y) }
#else
#define ENDS_ALONE(y)
#endif

/* Lock_Grace is over at x for c, whose server is outside. */
#ifdef LOST_UNRECORDED /* L13: that a client lost its lock is in a record */
#define GIVES_UP(x, c, late) \
	:: d_step { AUTHORITY(x) && SERVES(x) && !HAS(MEMBERS(x), CL_OF(c)) && KNOWS_UP(x, c) && ((IN_GAP(x) && !HAS(given_up, c)) || table == c) && !(late) -> SAYSC(Gives_up_the_lock_of, x, c); \
		cause[c] = true; given_up = given_up | BIT(c); \
		if :: table == c -> table = NOBODY; table_num = 0; unconfirmed = false :: else fi }
#else
#define GIVES_UP(x, c, late) \
	:: d_step { AUTHORITY(x) && SERVES(x) && !HAS(MEMBERS(x), CL_OF(c)) && KNOWS_UP(x, c) && (IN_GAP(x) || table == c) && MAY_BE_LATE(x, late) -> SAYSC(Gives_up_the_lock_of, x, c); \
		gone(x, c, late) }
#endif

/* ---- views -------------------------------------------------------------------------------------------------------------- */

#define IS_REMOVED(s) \
	:: d_step { removals < REMOVALS && mem[top] == ALL && (num[0] || num[1]) && (view[0] == top || view[1] == top || view[2] == top) -> \
		removals++; top++; mem[top] = ALL & ~BIT(s); SAY2(Is_removed_by_view, s, top) }
/* Added is who knows the view without it. */
#define IS_ADDED(s, t, u) \
	:: d_step { returns < RETURNS && !HAS(mem[top], s) && view[s] == top && (view[t] == top || view[u] == top) -> returns++; top++; mem[top] = ALL; SAY2(Is_added_by_view, s, top) }

#ifdef OWN_GAP_FORGOTTEN /* L11: the owner of a claim that ended with its log notes the gap, too */
#define NOTES_GAP(s) (auth != s)
#else
#define NOTES_GAP(s) 1
#endif
#ifdef OLD_END /* L11: the end of an older gap is not that of a newer one */
#define NEW_GAP(s) skip
#else
#define NEW_GAP(s) gap_end = gap_end & ~BIT(s)
#endif

inline adopt(s)
{
	if
	:: auth != NONE && HAS(rows, s) && OUT(auth, claim_view, top) && !OUT(auth, claim_view, view[s]) && NOTES_GAP(s) -> gap = gap | BIT(s); NEW_GAP(s)
	:: else
	fi;
	for (i : 0 .. 1) {
		/* it crosses the ends of the logs of those who were removed */
		if :: rec[i] && OUT(writer[i], view[s], top) && s != writer[i] -> at[i] = at[i] | BIT(s) :: else fi;
		if
		:: home[i] == s || auth == s -> OLD_LOCKS(i); locks[i] = 0; OLD_RECLAIMS(i)
		:: else
		fi
	}
	old_answers_of(s);
	if :: OUT(s, view[s], top) -> joined[s] = false :: else fi;
	view[s] = top;
	list = list & ~BIT(s);
	if
	:: auth == s && AUTHORITY(s) ->
		drop_gone(s);
		if :: IN_GAP(s) -> await_outside(s) :: else fi;
#ifdef ORPHANS_AT_ONCE /* L13: locks of a server outside stay for Lock_Grace */
		if :: table != NOBODY && !HAS(MEMBERS(s), home[table]) -> table = NOBODY; table_num = 0 :: else fi
#endif
	:: else
	fi
}
#define ADOPTS(s) \
	:: d_step { view[s] < top -> SAY2(Adopts_view, s, top); adopt(s); i = 0 }

/* ---- a server that was outside (L14) --------------------------------------------------------------------------------------- */

#ifdef JOIN_BEFORE_ALL /* L14: it asserts when all members are in its view */
#define ALL_THERE(s) 1
#define ASKABLE(x, s) HAS(MEMBERS(x), x)
#else
#define ALL_THERE(s) (view[0] == view[s] && view[1] == view[s] && view[2] == view[s])
#define ASKABLE(x, s) 1
#endif
#ifdef JOIN_NO_GAPS /* L11: who joins takes over the gaps of all members, as it takes over rows of claims */
#define join_gaps(s) gap = gap & ~BIT(s)
#else
inline join_gaps(s)
{
	k = gap & ~BIT(s);
	if
	:: k -> gap = gap | BIT(s);
#ifdef END_ONCE /* L11: the end of a gap is repeated while the claim lasts */
		gap_end = gap_end & ~BIT(s)
#else
		gap_end = (k & ~gap_end -> gap_end & ~BIT(s) : gap_end | BIT(s))
#endif
	:: else ->
#ifdef JOIN_KEEPS_GAPS /* L11: and drops its own older ones */
		skip
#else
		gap = gap & ~BIT(s)
#endif
	fi
}
#endif

#define ACTS(x) (x < NONE && AUTHORITY(x) && SERVES(x))
#ifdef NO_ASSERT /* L14: it asserts what its clients have, or fences them */
#define MISSING(s, c) 0
#else
#define MISSING(s, c) (home[c] == s && ht[c] && ((rec[c] == GONE) || (ACTS(auth) -> table != c && !(IN_GAP(auth) && table == NOBODY) : row != c)))
#endif

#if defined(NO_ASSERT) || defined(FENCE_MISSING) /* L14: it fences also when a client of its is GONE that had no lock */
#define FENCED(s) (MISSING(s, 0) || MISSING(s, 1))
#else
#define IS_GONE(s, c) (home[c] == s && rec[c] == GONE && known[c])
#define FENCED(s) (MISSING(s, 0) || MISSING(s, 1) || IS_GONE(s, 0) || IS_GONE(s, 1))
#endif

inline assert_one(s, c)
{
	if
	:: home[c] == s && ACTS(auth) && IN_GAP(auth) && ht[c] && table == NOBODY -> table = c; table_num = ht[c]; unconfirmed = false
	:: else
	fi;
	if :: home[c] == s && !known[c] && rec[c] == UP && ACTS(auth) && IN_GAP(auth) -> awaited = awaited | BIT(c) :: else fi
}

inline fence_one(s, c)
{
	if
	:: home[c] == s -> HOLDS(3, !MISSING(s, c) || cause[c]); lose_session(c)
	:: else
	fi
}

#ifdef ANSWER_AFTER_ASSERT /* L5: nor does who has asserted */
#define ASSERTED(s) skip
#else
#define ASSERTED(s) old_answers_of(s)
#endif
inline join(s)
{
	for (i : 0 .. 1) {
		if :: rec[i] -> at[i] = at[i] | BIT(s) :: else fi
	}
	if
	:: FENCED(s) -> SAY(Fences_its_clients, s); fence_one(s, 0); fence_one(s, 1)
	:: else
	fi;
	assert_one(s, 0);
	assert_one(s, 1);
	/* in a gap that is its list */
	if :: ACTS(auth) && IN_GAP(auth) -> heard = heard | BIT(s); ASSERTED(s) :: else fi;
	join_gaps(s);
	joined[s] = true;
	tail[s] = true
}

#define JOINS(s) \
	:: d_step { !joined[s] && LEASE(s) && ALL_THERE(s) && (ACTS(auth) || (auth == NONE && !gap)) -> SAY(Has_joined, s); join(s); i = 0 }

/* ---- restarts ---------------------------------------------------------------------------------------------------------------- */

#ifdef NO_GAP
#define GAP_OF(s) skip
#else
#define GAP_OF(s) gap = gap | BIT(s); NEW_GAP(s)
#endif

inline restart(s)
{
	restarts++;
	for (i : 0 .. 1) {
		if
		:: home[i] == s ->
			OLD(i);
			lose_session(i);
			unlock[i] = 0;
#ifdef GONE_LATE
			to_write = to_write & ~BIT(i)
#endif
		:: else
		fi;
		if
		:: home[i] == s || auth == s -> OLD_LOCKS(i); locks[i] = 0; OLD_RECLAIMS(i)
		:: else
		fi;
#ifdef LATE_RECORDS
		if :: rec[i] && (at[i] & ~BIT(s)) -> at[i] = at[i] & ~BIT(s) :: else fi
#endif
	}
#ifdef LATE_RECORDS
	tail[s] = false;
#endif
#ifndef LIST_OLD_START /* L8: a list of an older start of its server does not count */
	list = list & ~BIT(s);
#endif
	if
	:: auth == s -> clear_memory(); if :: AUTHORITY(s) -> GAP_OF(s) :: else fi
	:: else
	fi
}
#define MAY_RESTART(s) \
	:: d_step { restarts < RESTARTS && (num[0] || num[1]) -> SAY(Restarts, s); restart(s); i = 0 }

/* What nobody can look at any more is not told apart. */
#ifdef OLD_REQUEST
#define OLD_ONES(c) old_locks[c]
#else
#define OLD_ONES(c) 0
#endif
#define DONE(c) (!OLD_ONES(c) && asks[c] == NUMS && !has[c] && !ht[c] && !asked[c] && !unlock[c] && table != c && row != c && !listed[c] && known[c] && !locks[c] && !recl[c] && !unlocks[c])
inline forget_of(c)
{
	if
	:: late == LATE -> locks[c] = 0; recl[c] = 0; unlocks[c] = 0
	:: late < LATE && !unlock[c] && table != c && row != c && !listed[c] && !ht[c] && !asked[c] && !locks[c] && !recl[c] -> unlocks[c] = 0 /* there is nothing that they can take away */
	:: else
	fi;
	if :: !has[c] -> broken[c] = false; cause[c] = false :: else fi;
	if :: table == c && ht[c] == table_num -> unconfirmed = false :: else fi;
	if :: auth < NONE && known[c] && HAS(MEMBERS(auth), home[c]) -> awaited = awaited & ~BIT(c) :: else fi;
	if :: DONE(c) -> num[c] = (num[c] -> 1 : 0); gone_num[c] = 0 :: else fi
}
inline forget()
{
	forget_of(0); forget_of(1);
	gap_end = gap_end & gap;
	if
	:: auth != NONE && OVER(0) && OVER(1) && OVER(2) -> auth = NONE; rows = 0; claim_view = 0; clear_memory()
	:: else
	fi;
	/* views that all have gone beyond */
	k = (view[0] < view[1] -> view[0] : view[1]);
	k = (k < view[2] -> k : view[2]);
	if :: auth != NONE && claim_view < k && !OUT(auth, claim_view, k) -> claim_view = k :: else fi;
	j = (auth != NONE && claim_view < k -> claim_view : k);
	for (i : 1 .. 3) {
		if :: i < j -> mem[i] = ALL :: else fi
	}
}

/* ---- all steps ------------------------------------------------------------------------------------------------------------------- */

#ifdef LATE_RECORDS
#define EACH_LATE(STEP, c) STEP(c, 0) STEP(c, 1) STEP(c, 2) STEP(c, 4)
#define GIVES_UP_EACH(x, c) GIVES_UP(x, c, 0) GIVES_UP(x, c, 1) GIVES_UP(x, c, 2) GIVES_UP(x, c, 4)
#else
#define EACH_LATE(STEP, c) STEP(c, 0)
#define GIVES_UP_EACH(x, c) GIVES_UP(x, c, 0)
#endif
#define NUMBER(x, c, n) GRANTS_LATE(x, c, n) IS_UNLOCKED_LATE(x, c, n) RECLAIMS_LATE(x, c, n)
#define LATE_OF(x, c) NUMBER(x, c, 1) NUMBER(x, c, 2) NUMBER(x, c, 3) NUMBER(x, c, 4) NUMBER(x, c, 5) NUMBER(x, c, 6)
#define TABLE(x, c) GRANTS(x, c) IS_UNLOCKED(x, c) RECLAIMS(x, c) GIVES_BACK(x, c) GIVES_UP_EACH(x, c)
#define CLIENT(c) EACH_LATE(ASKS, c) WRITES_UP(c) HAS_IT(c) UNLOCKS(c) COMES_BACK(c)
#define CLIENT_FAULTS(c) EACH_LATE(EXPIRES_NOW, c) MOVES_TO(c, 0) MOVES_TO(c, 1) MOVES_TO(c, 2) HAS_OLD(c)
#define SERVER(s) LEARNS(s) TABLE(s, 0) TABLE(s, 1) ACKS(s) RELEASES(s) ENDS_GAP(s) HEARS_END(s) ENDS_ALONE(s) ADOPTS(s) JOINS(s) MAKES_LIST(s, s)
#define PAIR(s, t) WINS(s, t) MAKES_LIST(s, t) HEARS_LIST(s, t)

active proctype servers()
{
	d_step {
		mem[0] = ALL; mem[1] = ALL; mem[2] = ALL; mem[3] = ALL; mem[4] = ALL;
		joined[0] = true; joined[1] = true; joined[2] = true;
		tail[0] = true; tail[1] = true; tail[2] = true;
		auth = NONE; row = NOBODY; table = NOBODY;
		known[0] = true; known[1] = true;
#ifndef SAME
		home[1] = 1;
#ifdef MOVE_UNRECORDED
		in_cl[1] = 1;
#endif
#endif
		i = 0
	}
end:
	do
	:: atomic {
		if
		CLIENT(0) CLIENT(1) SERVER(0) SERVER(1) SERVER(2)
		PAIR(0, 1) PAIR(0, 2) PAIR(1, 0) PAIR(1, 2) PAIR(2, 0) PAIR(2, 1)
		:: else -> check_end()
		fi;
		d_step { check(); forget(); i = 0; j = 0; k = 0 }
	   }
	:: atomic {
		if
		CLIENT_FAULTS(0) CLIENT_FAULTS(1)
		HEARS_OLD_LIST(0, 1) HEARS_OLD_LIST(0, 2) HEARS_OLD_LIST(1, 0) HEARS_OLD_LIST(1, 2) HEARS_OLD_LIST(2, 0) HEARS_OLD_LIST(2, 1)
		LATE_OF(0, 0) LATE_OF(0, 1) LATE_OF(1, 0) LATE_OF(1, 1) LATE_OF(2, 0) LATE_OF(2, 1)
		MAY_RESTART(0) MAY_RESTART(1) MAY_RESTART(2)
		IS_REMOVED(0) IS_REMOVED(1) IS_REMOVED(2)
		IS_ADDED(0, 1, 2) IS_ADDED(1, 0, 2) IS_ADDED(2, 0, 1)
		fi;
		d_step { check(); forget(); i = 0; j = 0; k = 0 }
	   }
	od
}
