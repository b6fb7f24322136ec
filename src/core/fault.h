/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Rules that the faulty test build (nfs4r_core_faulty, -DNFS4R_FAULTS) can switch off one at a
 * time, so that the simulator can show that it would notice. In the shipped core FAULT() is 0 and
 * the compiler removes it.
 */
#ifndef NFS4R_CORE_FAULT_H
#define NFS4R_CORE_FAULT_H

#include <stdint.h>

/* X(name, rule, what is wrong with it on). The numbers count from 1. */
#define NFS4R_FAULTS_EACH(X)                                                                                                 \
	X(F_MULTI_COVERED, "control 0", "a multi-link file counts as covered by deep control of a parent")                   \
	X(F_CHILD_NOT_NEEDED, "control 3.1", "unlink and rename do not need control of the child")                           \
	X(F_MOVE_SHALLOW, "control 3.2", "a directory changes parents under shallow control")                                \
	X(F_NO_MOVED_CLAIM, "control 3.3", "an entry that moves an object carries no claim for it")                          \
	X(F_NO_RESOLVE_AGAIN, "control 3.4", "names are not resolved again under the locks")                                 \
	X(F_IN_NOT_RAISED, "control 3.9", "`in` is not raised by a move into a deep+ directory")                             \
	X(F_IN_STARTS_AT_ZERO, "control 3.9", "`in` does not start at last_move")                                            \
	X(F_PROPOSE_UNSAVED, "control 4.1", "PROPOSE is sent and nothing is written")                                        \
	X(F_NO_TOMBSTONES, "control 4.3b", "released claims are not remembered")                                             \
	X(F_GRANT_UNKNOWN, "control 4.3d", "an unknown object is granted")                                                   \
	X(F_GRANT_ALL, "control 4.3d", "every proposal is granted")                                                          \
	X(F_NO_DEEP_BELOW, "control 4.3d", "deep is granted over controls below")                                            \
	X(F_ACK_UNSAVED, "control 4.3e", "ACK is sent and nothing is written")                                               \
	X(F_NO_BARRIER, "control 4.5", "the winner does not catch up with its granters")                                     \
	X(F_WON_UNSAVED, "control 4.5", "the win is not written before the first update")                                    \
	X(F_WIN_WITHOUT_MAJORITY, "control 4.5", "one ack less than a majority wins")                                        \
	X(F_ABORT_TO_ACKERS, "control 4.7", "abort goes only to those who acked")                                            \
	X(F_FLOOR_TOO_HIGH, "control 4.8", "floor is always next_seq")                                                       \
	X(F_RESTART_FORGETS_WON, "control 4.9", "won claims are released at restart")                                        \
	X(F_RESTART_KEEPS_ACKS, "control 4.9", "claims count as acked by all after a restart")                               \
	X(F_RESTART_IN_ZERO, "control 4.9", "`in` is 0 after a restart")                                                     \
	X(F_LAST_NOT_RAISED, "control 5.1", "`last` of a closing claim is not raised")                                       \
	X(F_REPLY_AT_ONCE, "control 5.2", "directory operations reply at once")                                              \
	X(F_REPLY_OWN_CONTROL, "control 5.2", "one control acked by all anywhere on the path is enough")                     \
	X(F_MOVED_COUNTS, "control 5.2", "a moved claim counts as acked by all from the start")                              \
	X(F_CLOSE_AT_ONCE, "control 5.3", "CLOSE waits for nothing")                                                         \
	X(F_PLAIN_DEEP_COUNTS, "control 5.3b", "plain deep control completes a file update")                                 \
	X(F_5_3B_NOT_ACKED, "control 5.3b", "a deep+ not acked by all completes a file update")                              \
	X(F_5_3B_MULTI, "control 5.3b", "a deep+ completes an update of a multi-link file")                                  \
	X(F_5_3B_IN, "control 5.3b", "`in` is not looked at")                                                                \
	X(F_5_3B_LAST, "control 5.3b", "`last` of a closing deep+ is not looked at")                                         \
	X(F_READ_NO_DEEP_PLUS, "control 6.2", "readers do not look at deep+")                                                \
	X(F_READ_NEAREST_DEEP, "control 6.2", "the nearest deep control hides a deep+ further up")                           \
	X(F_NOT_PRIMARY_LOCAL, "control 6.3", "NOT_PRIMARY sends the reader straight to its copy")                           \
	X(F_SERVE_ALWAYS, "control 6.3", "an owner answers reads it does not cover")                                         \
	X(F_RELEASE_AT_ONCE, "control 7.2", "a closing claim is released without waiting")                                   \
	X(F_RELEASE_APPLIED, "log 3.10", "release waits for applied instead of stable")                                      \
	X(F_COUNT_MOVE, "control 8.2", "a move does not carry the counts along")                                             \
	X(F_COUNT_FIRST_LINK, "control 8.2", "the first LINK does not take the file out of the counts")                      \
	X(F_COUNT_DEAD, "control 8.2", "a deleted object stays in the counts")                                               \
	X(F_NO_VERSION_WAIT, "log 3.4", "an entry does not wait for its predecessor")                                        \
	X(F_NO_SKIP, "log 3.4", "an old part is applied again")                                                              \
	X(F_NO_OBJECT_FIFO, "log 3.8", "entries of one object are applied in any order")                                     \
	X(F_MOVE_OVERTAKES, "control 9", "a move or link is applied before older entries of its log")                        \
	X(F_APPLIED_NOT_PREFIX, "log 3.8", "applied is the highest, not the contiguous")                                     \
	X(F_NO_DEDUP, "log 5.6", "a repeated request is executed again")                                                     \
	X(F_DUPLICATE_AT_ONCE, "log 5.6", "a duplicate is answered without 5.2")                                             \
	X(F_NO_CREATED_CLAIM, "control 3", "a create entry carries no claim")                                                \
	X(F_LINK_NOT_EXPLICIT, "control 3", "LINK is content with deep control of the file")                                 \
	X(F_MOVED_OUT_BARE, "control 3.3", "a move by an owner of deep+ carries no claim")                                   \
	X(F_ASK_DROPS_MULTI, "control 4.1", "optional deep control counts as asked for a multi-link child, too")             \
	X(F_GRANT_BELOW_DEEP, "control 4.3d", "deep control above an object does not block")                                 \
	X(F_GRANT_OVER_OWN, "control 4.3d", "a granter overlooks its own controls below a deep request")                     \
	X(F_GRANT_PLUS, "control 4.3d", "deep+ is granted over controls below")                                              \
	X(F_SIDE_NO_DEADLINE, "control 4.6", "a claim of the policy is asked for without end")                               \
	X(F_LAST_NOT_ACKED, "control 5.1", "`last` is not raised although the other control is not acked by all")            \
	X(F_SIDE_MAJORITY, "control 5.2", "a claim of the policy is won by a majority")                                      \
	X(F_SIDE_COUNTS, "control 5.2", "answers wait for what the policy only asks for")                                    \
	X(F_NAMES_OF_MULTI, "control 5.3", "unlink and rename of a multi-link file do not wait for its readers")             \
	X(F_SERVE_PROPOSING, "control 6.3", "an owner answers reads under a claim that is not won")                          \
	X(F_PINS_IGNORED, "control 7.2", "a claim is released while an operation executes under it")                         \
	X(F_SIDE_WINS_ALONE, "control 7.4", "a claim of the policy is won without acks")                                     \
	X(F_NARROW_AT_ONCE, "control 7.4", "a deep claim closes before what replaces it is won")                             \
	X(F_WAIT_FOR_LOST, "control 7.4", "a claim waits for a replacement that was lost")                                   \
	X(F_DIRS_KEEP_PLUS, "control 7.9", "updates of directories keep a deep+")                                            \
	X(F_DROP_AT_ONCE, "control 7.9", "a deep+ is released without waiting")                                              \
	X(F_COUNT_JOINED, "control 8.2", "controls that come with an entry are not counted")                                 \
	X(F_COUNT_RELEASED, "control 8.2", "a released control stays in the counts")                                         \
	X(F_COUNT_RESTART, "control 8", "the counts are empty after a restart")                                              \
	X(F_MOVE_BEFORE_OTHERS, "log 3.4", "a move of a directory overtakes what was before it in other logs")               \
	X(F_KEEPS_PROPOSALS, "control 11", "a proposal outlives the view it was made in")                                    \
	X(F_LEASE_IGNORED, "log 6.7", "a server answers without a lease")                                                    \
	X(F_PROMISE_AT_ONCE, "log 6.3", "a removal is promised while the removed one has a lease")                           \
	X(F_NO_START_WAIT, "log 6.3", "a removal is promised right after a start")                                           \
	X(F_GRANT_REMOVED, "log 6.3", "grants go on after the promise of a removal")                                         \
	X(F_REMOVED_VOTES, "log 6.4", "the promise of the removed server counts")                                            \
	X(F_OWN_BASE, "log 6.4", "a view is based on what its proposer believes current")                                    \
	X(F_VIEW_UNSAVED, "log 6.5", "promises and views are not saved")                                                     \
	X(F_JOIN_NO_ROWS, "log 8.4", "a new member takes over no controls")                                                  \
	X(F_JOIN_EARLY, "log 8.4", "a new member serves before it has applied what the others had")                          \
	X(F_JOIN_FORGOTTEN, "log 8.4", "a restart while joining serves at once")                                             \
	X(F_RELEASE_UNLEASED, "control 7.2", "a server releases without a lease")                                            \
	X(F_WITNESS_CAME_LATER, "log 6.9", "one that came later shows that a claim is lost")                                 \
	X(F_NO_EPOCH, "log 2.3", "versions go on after a seal as if nothing had been lost")                                  \
	X(F_VIEW_NOT_AWAITED, "log 3.4", "an entry made after a seal is applied before the view is known")                   \
	X(F_NOT_QUORUM_DURABLE, "log 5.2", "answers do not wait until a majority holds the update")                          \
	X(F_ANSWER_UNDONE, "log 5.2", "what lies beyond the own seal is answered")                                           \
	X(F_WRITE_OVER_SEAL, "log 5.3", "a write is answered although something was sealed meanwhile")                       \
	X(F_ANSWER_BEFORE_VIEW, "log 5.6", "a result of a sealed server is answered before all members know of the seal")    \
	X(F_NO_FREEZE, "log 6.3", "a log goes on after a promise to end it")                                                 \
	X(F_OLD_ACCEPT_LIFTS, "log 6.3", "an acceptance goes on after a promise for a higher view")                          \
	X(F_SEAL_UNPROMISED, "log 6.4", "a member that did not promise stays in a view that seals")                          \
	X(F_SEAL_INCOMPLETE, "log 6.4", "logs are sealed although nobody has a complete copy")                               \
	X(F_ACCEPT_WITHOUT_LOG, "log 6.5", "a view is accepted without the entries up to its seals")                         \
	X(F_LIST_UNCROSSED, "log 6.6", "a list of controls is made before all seals are crossed")                            \
	X(F_SERVE_UNCROSSED, "log 6.6", "the claims of a sealed server go, and a member serves, before its log is applied")  \
	X(F_CROSS_AHEAD, "log 8.3", "a copy that is ahead of a seal is not repaired")                                        \
	X(F_UNDONE_REPLIES, "log 8.3", "results of undone entries are kept")                                                 \
	X(F_REACH_FORGOTTEN, "log 8.3", "a repaired copy counts as no further than its positions")                           \
	X(F_FORGOT_VOTES, "log 8.6", "a server that forgot promises and accepts views")                                      \
	X(F_FORGOT_GRANTS, "log 8.6", "a server that forgot grants leases")                                                  \
	X(F_FORGOT_ACKS, "log 8.6", "a server that forgot acks proposals")                                                   \
	X(F_FORGOT_RELEASES, "log 8.6", "a server that forgot releases what an older image of its store asked for")          \
	X(F_FORGOT_STAYS, "log 8.6", "a member that forgot is not removed")                                                  \
	X(F_NEW_HEARS_SOME, "log 8.6", "a new store takes the word of a majority")                                           \
	X(F_STARTS_FORGOTTEN, "log 8.6", "servers do not remember each other's starts")                                      \
	X(F_KNOWN_AT_ONCE, "log 8.6", "a server says that it remembers before it heard the receiver's word")                 \
	X(F_OUTSIDE_AT_ONCE, "log 8.6", "any view without it tells a server that forgot that it was removed")                \
	X(F_REPAIR_UNSEALED, "log 8.6", "a copy is made anew before the own log has ended")                                  \
	X(F_SEAL_CLAIMED, "log 8.6", "the log of who forgot is ended although its claims are known")                         \
	X(F_SEQ_AGAIN, "log 8.6", "claim numbers are used again")                                                            \
	X(F_FUZZY_IN_FLIGHT, "log 3.6", "what is being executed is not in the mark")                                         \
	X(F_FUZZY_OWN, "log 3.6", "a sender's own marks are not handed on")                                                  \
	X(F_FUZZY_STABLE, "log 3.9", "an entry counts as stable though its object is not exact")                             \
	X(F_FUZZY_SEALED, "log 7.5", "objects that a seal makes inexact count as exact")                                     \
	X(F_OLD_REQUEST, "log 5.6", "a copy of a request from before a seal is executed")                                    \
	X(F_UNDO_EMPTIES, "log 8.3", "a repair takes bytes that were exact for less long than those here")                   \
	X(F_DROP_UNSTABLE, "log 3.11", "entries beyond the bound go although a member does not have them")                   \
	X(F_SLOW_STAYS, "log 3.12", "a member that is behind by more than the bound is not removed")                         \
	X(F_LATE_WAITS, "log 8.5", "a server waits for entries that nobody has any more")                                    \
	X(F_VOTERS_UNASKED, "log 9.1", "a view is adopted without a majority of its own voters")                             \
	X(F_VOTERS_AT_ONCE, "log 9.1", "voters change before all members have arrived in the view")                          \
	X(F_VOTERS_UNACKED, "log 9.1", "voters change while claims count on those of an older view")                         \
	X(F_VOTERS_NOT_DURABLE, "log 9.1", "voters change while updates are quorum-durable by those of an older view only")  \
	X(F_LEASE_OLD_VOTERS, "log 9.1", "a lease that voters of an older view granted goes on")                             \
	X(F_LEARNER_KNOWN, "log 9.1", "a new server counts as one that remembers")                                           \
	X(F_OWN_VOTE_UNSAVED, "log 6.5", "a proposer counts its own ACCEPTED before it is on disk")                          \
	X(F_RECONF_UNSAVED, "log 9.3", "the word of an administrator is not kept over a restart")                            \
	X(F_RECONF_OLD_VOTES, "log 9.3", "a view of the old configuration is promised after the word")                       \
	X(F_RECONF_OLD_GRANTS, "log 9.3", "a lease is granted to one that is left out")                                      \
	X(F_RECONF_SERVES, "log 9.3", "a server goes on serving after the word")                                             \
	X(F_RECONF_SOME, "log 9.3", "a majority of the survivors is enough")                                                 \
	X(F_RECONF_ANY_SET, "log 9.3", "who was told another set promises all the same")                                     \
	X(F_RECONF_HEARD, "log 9.3", "it goes on although one that is left out can be heard")                                \
	X(F_RECONF_INCOMPLETE, "log 9.3", "the lowest goes on although only another one has a complete copy")                \
	X(F_RECONF_LOGS_GO_ON, "log 9.3", "the logs of the others do not end")                                               \
	X(F_RECONF_KEEPS_COPY, "log 9.3", "others keep their copies beside one that is taken as it is")                      \
	X(F_ANNOUNCED_COMPLETES, "control 7.10", "control that was announced as closing completes an update")                \
	X(F_ANNOUNCED_AT_ONCE, "control 7.10", "a copy is read before it has what was announced")                            \
	X(F_ANNOUNCED_FORGOTTEN, "control 7.10", "a restart forgets what it has announced")                                  \
	X(F_BUILDS_ON_HOLE, "log 3.4", "an entry is applied on what another log has behind a hole")                          \
	X(F_POSITION_IGNORED, "log 8.6", "a server whose journal was longer in its last start remembers")                    \
	X(F_COMPLETES_UNSAVED, "control 4.5", "a claim completes an update before its win is on disk")                       \
	X(F_FORGOT_APPLIES, "log 8.6", "a server applies what it had taken before it was found to have forgotten")           \
	X(F_MOVE_HALF_COVERED, "control 5.1", "a shallow claim of a directory that is moved covers what is below it")        \
	X(F_GIVES_HALF_COPY, "log 8.6", "a copy that is not whole is given to others")                                       \
	X(F_KNOWN_UNNOTICED, "log 5.1", "no answer is looked at again when a peer says that it remembers")                   \
	X(F_TAKES_LOST_NUMBER, "log 7.5", "a copy is taken for right in the step that ends the recovery of the log")         \
	X(F_TOLD_FORGOTTEN, "control 6.9", "a copy is read although an owner has told a newer version")                      \
	X(F_NEWER_FORGOTTEN, "log 4.6", "content that is taken from a newer copy counts as exact")                           \
	X(F_TOLD_RESTART, "control 6.9", "a restart forgets what owners have told")                                          \
	X(F_FORGOT_AWAITED, "log 4.7", "who recovers waits for the own log of one who forgot")                               \
	X(F_LAST_ANNOUNCED, "control 5.1", "`last` is not raised although the other control was announced")                  \
	X(F_OLD_COPY_COUNTS, "log 8.5", "a learner needs of a source what its old copy has")                                 \
	X(F_REMOVAL_STAYS, "log 9.1", "who cannot be taken out any more is still to be taken out")                           \
	X(F_COUNTED_BEFORE, "log 8.6", "for how long a new member said outside that it has forgotten counts against it")     \
	X(F_REVOKE_CANCELLED, "control 7.1", "closing is taken back though a revoke came")                                   \
	X(F_YIELDS_AGAIN, "control 7.11", "a directory yields to readers at every pause of who updates it")                  \
	X(F_PROMOTES_OVER_OTHERS, "control 7.4", "a directory below which others were just elected is promoted")             \
	X(F_CLIMBS_OVER_CONTESTED, "control 7.4", "a directory above a contested one is promoted or raised")                 \
	X(F_YIELD_IN_USE, "control 7.11", "what yields to readers ends although it is used")                                 \
	X(F_NO_TURNS, "control 7.5", "who works without a pause keeps for ever what others ask for")                         \
	X(F_TURN_NOW_AND_THEN, "control 7.5", "use ends for who asks now and then")                                          \
	X(F_NARROWS_TWICE, "control 7.4", "what is kept is asked for once for each claim above it")                          \
	X(F_SOURCE_ANEW, "log 8.3", "a repair goes on from a source that has started anew")                                  \
	X(F_ANNOUNCED_COUNTS, "control 7.10", "control of a directory that was announced completes an update")               \
	X(F_ANNOUNCED_UNSAVED, "control 7.10", "a restart forgets which control of directories it has announced")            \
	X(F_ANNOUNCED_BARE, "control 5.2", "control that was announced counts for nothing, also where it is not known")      \
	X(F_YIELD_WRITTEN, "control 7.11", "a directory yields while files in it are written")                               \
	X(F_LEFT_UNCONFIRMED, "control 7.12", "a server has left before all know what it let go of")                         \
	X(F_LEFT_KEEPS_LEASE, "log 6.11", "who has given its lease back counts grants")                                      \
	X(F_LEFT_OF_OLD_START, "log 6.11", "that an older start gave its lease back ends what a newer one was granted")      \
	X(F_GRANT_OF_OLD_START, "log 6.11", "a start counts what an older one was granted")                                  \
	X(F_STUCK_STAYS, "log 6.12", "a server that cannot apply an entry stays a member")                                   \
	X(F_STUCK_RETURNS, "log 6.12", "a server that cannot apply an entry is added again")                                 \
	X(F_BEGUN_IS_EXACT, "log 4.11", "an entry that failed and is given back has left nothing behind")                    \
	X(F_SPACE_IGNORED, "log 4.12", "an update is executed although it does not fit at another server")                   \
	X(F_SPACE_UNDER_WAY, "log 4.12", "own entries under way take no room")                                               \
	X(F_SPACE_WHOLE, "log 4.12", "a primary uses all the room that a member has")                                        \
	X(F_LIMITS_OWN, "log 4.12", "what another server's file system cannot hold is executed")                             \
	X(F_PASSED_IS_EXACT, "log 4.13", "a copy is exact though an entry was passed over")                                  \
	X(F_REFUSED_EXECUTES, "control 6.10", "what the primary has refused is executed")                                    \
	X(F_SECRET_ANEW, "log 6.13", "who makes a view gives the volume another secret")                                     \
	X(F_SECRET_UNDECIDED, "log 6.13", "a server serves without the volume's secret")                                     \
	X(F_SECRET_UNHEARD, "log 6.13", "with a fixed view a secret is made before all have said that they have none")       \
	X(F_VIEW_BELIEVED, "log 6.14", "a view is adopted on one server's word")                                             \
	X(F_ACCEPT_UNPROMISED, "log 6.14", "a view is accepted that was not promised")                                       \
	X(F_ENTRIES_OF_ANYBODY, "log 4.17", "entries of a log are taken from anybody")                                       \
	X(F_HALTED_UNHEARD, "log 4.15", "a server that says that it has halted is waited for until it is silent")            \
	X(F_LIST_AT_ONCE, "log 7.5", "a repair of a list that changed nothing is begun again at once")                       \
	X(F_GIVEN_BACK_STAYS, "log 4.11", "an object stays inexact although the entry that was given back has been applied") \
	X(F_INCOMPLETE_AGAIN, "log 6.4", "a view that seals is asked for again and again while no copy is complete")         \
	X(F_NUMBERS_LEAP, "log 6.15", "one server's word raises the numbers of views as far as it likes")                    \
	X(F_VERSION_EARLY, "log 6.16", "what a later protocol has is said before the volume has it")                         \
	X(F_FORMAT_EARLY, "log 6.16", "what a later disk format has is written before the volume has it")                    \
	X(F_FINISH_UNHEARD, "log 6.16", "an upgrade is finished while the release of a server is not known")                 \
	X(F_VERSION_UNKNOWN, "log 6.16", "a server accepts a view whose protocol it does not know")                          \
	X(F_VERSION_ANEW, "log 6.16", "a new view takes back the volume's protocol")                                         \
	X(F_KEY_AT_ONCE, "log 6.18", "a server's key goes although a server is away that knows no other")                    \
	X(F_LEASE_BY_VIEW, "log 6.17", "a lease runs as long as the view says, and not as its voter did")                    \
	X(F_GRANT_SHORTENS, "log 6.17", "a shorter grant ends the wait for a longer one")                                    \
	X(F_START_SHORT, "log 6.17", "a voter that started waits only as long as its view says")                             \
	X(F_GRANT_UNSAVED, "log 6.17", "a longer lease is granted before its view is on disk")                               \
	X(F_ENDS_AT_ONCE, "log 6.17", "logs end although their servers may have answered with local")                        \
	X(F_HUNG_WAITS, "log 4.18", "an update whose execution does not end is waited for")                                  \
	X(F_ANSWERS_BY_OLD, "log 6.17", "an answer goes by the durability of when its update began")                         \
	X(F_DURABILITY_OF_FILE, "log 6.17", "answers go by the durability of the configuration file")                        \
	X(F_LOCK_WHILE_CLOSING, "locks 1", "a lock is granted under control that has begun to close")                        \
	X(F_LOCK_NO_LIST, "locks 2", "control of a file is released without a list of its locks")                            \
	X(F_LOCK_EMPTY_LIST, "locks 3", "that a file has no locks any more is not written")                                  \
	X(F_LOCK_UNNUMBERED, "locks 4", "a late copy of a lock request is carried out again")                                \
	X(F_LOCK_OLD_GRANT, "locks 5", "an answer counts although the server that gave it has started anew")                 \
	X(F_LOCK_ROW_AGAIN, "locks 6", "what a file's row says of locks counts while the file is controlled")                \
	X(F_UNLOCK_INCOMPLETE, "locks 15", "a lock is given back before what was written under it is complete")              \
	X(F_UNLOCK_ONCE, "locks 16", "an unlock that could not be delivered is forgotten")                                   \
	X(F_LOCK_NOT_RESERVED, "locks 17", "a waiter is told of a lock that is not reserved for it")                         \
	X(F_LOCK_NO_REQUEUE, "locks 20", "control ends, and who waits for a lock does not hear of it")                       \
	X(F_CLIENT_UNHELD, "locks 7", "a client counts as listed before a majority holds that")                              \
	X(F_LOCK_NO_GAP, "locks 8", "a server that started grants what it has forgotten to have granted")                    \
	X(F_LOCK_RECLAIM_ANY, "locks 12", "a lock is given back to a client that has lost it")                               \
	X(F_LOCK_NUMBERS_ANEW, "locks 4", "a server that started anew numbers lock requests from the beginning")             \
	X(F_LOCK_GONE_ANY, "locks 7", "an entry that says that a client is gone takes away what it got since")               \
	X(F_LOCK_GONE_BACK, "locks 12", "a client that has not reclaimed everything in time is gone")                        \
	X(F_LOCK_RECLAIM_NEW, "locks 12", "a client that is in no list gets a lock back")                                    \
	X(F_LOCK_NOT_COMPLETED, "locks 12", "what a client has not reclaimed stays locked")                                  \
	X(F_LOCK_ORPHANS_AT_ONCE, "locks 13", "locks of a server that is outside are given up at once")                      \
	X(F_LOCK_LOST_UNHELD, "locks 13", "a lock goes before a majority holds that")                                        \
	X(F_LOCK_ORPHANS_IN_ROWS, "locks 13", "nobody looks at locks of files that nobody controls")                         \
	X(F_LOCK_NO_FENCE, "locks 14", "a server that was outside goes on with the locks of its clients")                    \
	X(F_LOCK_GAP_UNNOTED, "locks 11", "what a server controlled when its log ended is not noted")                        \
	X(F_LOCK_ACK_NO_GAP, "locks 11", "an ACK does not say that what is asked for is in a gap")                           \
	X(F_LOCK_JOIN_KEEPS_GAPS, "locks 11", "a server that joins keeps the gaps that it knew before")                      \
	X(F_LOCK_RELEASE_IN_GAP, "locks 11", "control is released although its gap has not ended")                           \
	X(F_LOCK_END_ONCE, "locks 11", "the end of a gap is said once")                                                      \
	X(F_LOCK_AWAITS_MEMBERS, "locks 9", "clients of servers outside the view are not awaited")                           \
	X(F_LOCK_LIST_NO_OPEN, "locks 9", "clients that have not reclaimed yet are not awaited")                             \
	X(F_LOCK_HEARD_ONLY, "locks 10", "a gap ends without the list of a member that is silent")                           \
	X(F_LOCK_ANSWER_AFTER_LIST, "locks 5", "an answer counts that was asked for before a list was made")                 \
	X(F_LOCK_OLD_END, "locks 11", "the end of an older gap ends a newer one")                                            \
	X(F_LOCK_ORDER_ANEW, "locks 20", "who waited for longest is the last in the queue when control has moved")           \
	X(F_LOCK_QUEUE_SENT_AROUND, "locks 20", "control of a file for which servers wait goes to whoever asks for a lock")  \
	X(F_GUARD_SOME, "locks 19", "an open that denies others is granted before all members have answered")                \
	X(F_GUARD_UNMARKED, "locks 19", "a member says how many opens it has, and goes on opening the file")                 \
	X(F_UNGUARD_ANY, "locks 19", "a late word that a guard is over ends the next one")                                   \
	X(F_SHARE_OLD_GRANT, "locks 19", "an open is granted by an authority that the next one has not heard of")            \
	X(F_SHARE_ONCE, "locks 19", "a close that could not be delivered is forgotten")                                      \
	X(F_SHARE_UNNUMBERED, "locks 19", "a late copy of a close or an open is carried out again")                          \
	X(F_LOCK_LIST_OLDER, "locks 8", "what a list names does not count beside what its owner has reclaimed")              \
	X(F_LOCK_LOST_WAITS, "locks 7", "what is reserved for a client stays so when it is gone")                            \
	X(F_LOCK_ANSWER_KEPT, "locks 8", "a LOCK that comes again hears what it heard under a table that is lost")           \
	X(F_LOCK_WAITS_ON, "locks 17", "who waits and hears that it is to ask again, and does not, waits on")                \
	X(F_LAST_BEFORE_GAP, "locks 11", "what was kept for its gap is released with the end of the log that it closed at")  \
	X(F_LOCK_GAP_ROWS, "locks 13", "nobody looks at the row of a file whose authority is gone")                          \
	X(F_WRITE_OF_OUTSIDE, "locks 14", "a WRITE counts that was forwarded before its server was outside")                 \
	X(F_LOCK_LOWERED_UNHEARD, "locks 22", "a write lock is lowered before its client has heard that")                    \
	X(F_CLIENT_GONE_SINCE, "locks 7", "a client hears that it is listed, although it was taken out of the list since")   \
	X(F_LOCK_JOIN_DROPS_GAPS, "locks 11", "a server that joins drops gaps that it noted in the view that it joins")      \
	X(F_LOCK_BEFORE_ALL_KNOWN, "locks 21", "a lock is granted before others have said what their clients had")           \
	X(F_LOCK_FENCED_EARLY, "locks 21", "who was outside before locks held at all servers fences its clients then")       \
	X(F_LOCK_PAST_UNLOCK, "locks 16", "a LOCK is asked for before the UNLOCK that its client knows of")                  \
	X(F_LOCK_LOST_AHEAD, "locks 15", "a lock of a client that is gone is free before what it wrote is everywhere")       \
	X(F_LOCK_READY_STAYS, "locks 17", "what is reserved stays so although its owner has given back those bytes")         \
	X(F_LOCK_JOIN_OF_FEW, "locks 11", "a server that joins drops its gaps although few were in the view all the time")   \
	X(F_LOCK_READY_AGAIN, "locks 17", "what was not fetched and given back is ready when the word of that comes again")  \
	X(F_READ_LOCKED_OLD, "locks 23", "who has a lock reads a copy that is older than its grant")                         \
	X(F_READ_LOCKED_MORE, "locks 23", "who has a lock of some bytes reads others here, too")                             \
	X(F_READ_LOCKED_TOLD, "locks 23", "who has a lock reads bytes that are older than the attributes it was told")       \
	X(F_READ_LOCKED_LAGS, "locks 23", "who has a lock does not see what it wrote itself")                                \
	X(F_LOCK_ASKED_IN_TURN, "locks 17", "two requests of an owner for the same bytes are granted in turn for ever")

enum nfs4r_fault {
	NFS4R_FAULT_NONE = 0,
#define X(name, rule, text) name,
	NFS4R_FAULTS_EACH(X)
#undef X
	NFS4R_FAULT_COUNT
};

/* "control 3.1: ..." or NULL if no fault has the number; also in the shipped core, so that a test can print it. */
const char *nfs4r_core_fault_text(uint32_t fault);

#endif
