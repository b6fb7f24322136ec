/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Rules of the store that the faulty test build (nfs4r_store_faulty, -DNFS4R_FAULTS) can switch off one at a time, as src/core/fault.h
 * does for the core; numbers go on where those end. In the shipped store FAULT() is 0 and the compiler removes it.
 */
#ifndef NFS4R_STORE_FAULT_H
#define NFS4R_STORE_FAULT_H

#include <stdint.h>

#define NFS4R_STORE_FAULT_FIRST 300

/* X(name, rule, what is wrong with it on) */
#define NFS4R_STORE_FAULTS_EACH(X)                                                                       \
	X(F_STORE_SYNC_LATE, "log 4.1", "what is appended while the journal is synced counts as synced") \
	X(F_STORE_NO_NAMES, "log 4.1", "the names of new journal files are not synced")                  \
	X(F_STORE_TORN, "log 4.1", "a record counts whatever its checksum")                              \
	X(F_STORE_REPLAY_LATE, "log 4.1", "replay leaves out the first record after the checkpoint")     \
	X(F_STORE_MARK_UNSYNCED, "log 4.2", "objects are changed before their marks are on the disk")    \
	X(F_STORE_POS_AHEAD, "log 4.3", "a checkpoint notes a later position than what it holds")        \
	X(F_STORE_LMDB_AHEAD, "log 4.3", "LMDB is written before the journal is synced")                 \
	X(F_STORE_NO_CARRY, "log 4.3", "a checkpoint forgets the marks of what is being changed")        \
	X(F_STORE_HOLE, "log 4.3", "LMDB gets own entries behind a hole")                                \
	X(F_STORE_TAIL_WHOLE, "log 4.7", "a lost tail counts as whole after the next start")             \
	X(F_STORE_BEHIND_HOLE, "log 4.7", "entries behind a hole count after a crash")                   \
	X(F_STORE_HOLE_STAYS, "log 4.3", "LMDB gets others' entries behind a hole that lasts")

#define NFS4R_STORE_TOLD_FAULT_FIRST 314

/* The same, of what a checkpoint tells before it is over. */
#define NFS4R_STORE_TOLD_FAULTS_EACH(X)                                                           \
	X(F_STORE_TELL_FILES, "log 4.3", "stable positions are told before the files are synced") \
	X(F_STORE_TELL_JOURNAL, "log 4.3", "stable positions are told before the journal is synced")

#define NFS4R_STORE_END_FAULT_FIRST 316

/* The same, of where the journal ends, and what was under way then. */
#define NFS4R_STORE_END_FAULTS_EACH(X)                                                     \
	X(F_STORE_ZEROS_END, "log 4.1", "zeros end the journal whatever lies behind them") \
	X(F_STORE_BEGUN, "log 4.5", "what was being applied when the process ended is in no doubt")

#define NFS4R_STORE_ASIDE_FAULT_FIRST 318

/* The same, of what a checkpoint sets aside, and what it marks. */
#define NFS4R_STORE_ASIDE_FAULTS_EACH(X)                                                                            \
	X(F_STORE_NOT_ASIDE, "log 4.3", "a checkpoint amid a hole that lasts takes along what it should set aside") \
	X(F_STORE_HOT_UNSAVED, "log 4.3", "what a checkpoint marks for the next interval is marked in memory only")

#define NFS4R_STORE_BYTES_FAULT_FIRST 320

/* The same, of files' bytes that are kept in the journal. The simulator does not model files: tests/contract/store/t_kept.c has these on. */
#define NFS4R_STORE_BYTES_FAULTS_EACH(X)                                                                                \
	X(F_STORE_BYTES_OLD, "log 4.10", "bytes that are kept from before a change that is not kept are written again") \
	X(F_STORE_BYTES_LOOSE, "log 4.10", "kept bytes count whether their entry does or not")

enum nfs4r_store_fault {
	NFS4R_STORE_FAULT_BEFORE = NFS4R_STORE_FAULT_FIRST - 1,
#define X(name, rule, text) name,
	NFS4R_STORE_FAULTS_EACH(X)
	NFS4R_STORE_TOLD_FAULT_BEFORE = NFS4R_STORE_TOLD_FAULT_FIRST - 1,
	NFS4R_STORE_TOLD_FAULTS_EACH(X)
	NFS4R_STORE_END_FAULT_BEFORE = NFS4R_STORE_END_FAULT_FIRST - 1,
	NFS4R_STORE_END_FAULTS_EACH(X)
	NFS4R_STORE_ASIDE_FAULT_BEFORE = NFS4R_STORE_ASIDE_FAULT_FIRST - 1,
	NFS4R_STORE_ASIDE_FAULTS_EACH(X)
	NFS4R_STORE_FAULT_END, /* of those that the simulator looks for */
	NFS4R_STORE_BYTES_FAULT_BEFORE = NFS4R_STORE_BYTES_FAULT_FIRST - 1,
	NFS4R_STORE_BYTES_FAULTS_EACH(X)
#undef X
};

#ifdef NFS4R_FAULTS
extern uint32_t nfs4r_store_fault; /* the one that is on, for all stores of the process; 0 = none */
#define FAULT(n) (nfs4r_store_fault == (n))
#else
#define FAULT(n) 0
#endif

#endif
