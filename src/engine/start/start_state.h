/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The part of struct nfs4r_engine that belongs to start/. */
#ifndef NFS4R_ENGINE_START_STATE_H
#define NFS4R_ENGINE_START_STATE_H

#include <pthread.h>

#include "engine/engine.h"

enum import_phase {
	IMPORT_NONE = 0,
	IMPORT_RUNNING,
	IMPORT_STOPPED,
	IMPORT_COMPLETE
};
enum import_note {
	IMPORT_SKIPPED = 0,
	IMPORT_CHANGED,
	IMPORT_NOTES
};

struct start_state { /* eng->start */
	/* places.c, recover.c: set before threads run */
	int export_fd; /* on the exported directory by its path; -1 = its path is not known */
	struct nfs4r_lhandle root_handle;
	char found[NFS4R_NAME_MAX + 1]; /* in the exported directory before the store took it into use; empty: nothing, or long ago */

	/* online.c */
	char starting[NFS4R_WHY]; /* under lock: why it does not take part yet; empty = it does */
	pthread_cond_t online_cond; /* goes with lock */
	pthread_t online_thread;
	bool online_running; /* of the thread that starts and stops the engine, like import_running */

	/* import.c, import_notes.c */
	struct {
		enum import_phase phase;
		enum nfs4r_status st; /* why it stopped */
		uint64_t objects, bytes; /* of this start */
		uint64_t noted[IMPORT_NOTES]; /* objects, by kind */
		uint64_t logged[IMPORT_NOTES]; /* lines, by kind */
		struct import_noted *paths[IMPORT_NOTES];
	} import; /* under lock */
	pthread_t import_thread;
	bool import_running;
};

#endif
