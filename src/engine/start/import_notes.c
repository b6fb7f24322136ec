/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What an import (import.c) could not take, or not as it was: a line in the log, a line in a file of the Store directory, and numbers for `nfs4rctl status`.
 *
 *   import-skipped.txt  objects that are not in the volume. It is written anew by every start that imports, for such a start meets them again.
 *   import-changed.txt  objects that are in it, but not as they were. It grows, for the next start finds nothing odd about them any more.
 *
 * A line is the path, a tab, and the reason. In the path a control character, a backslash and a byte that is no UTF-8 are written as \ooo, so that
 * every path is one line. Lines that are there at a start count, with or without `Import = true`: an administrator who has seen to them takes the file away.
 * An object counts once, whatever its lines: a file that changes at two passes has two, and so has one whose owner and whose bytes are missing.
 *
 * Failure modes: a file that cannot be written (a full disk) costs its lines, which the log has, too; the numbers stay right until the next start.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uthash.h>

#include "base/fnv.h"
#include "base/text.h"
#include "engine/start/start.h"

#define LOGGED_MAX 1000 /* lines of one start and kind; the rest is in the file only */

struct import_noted {
	uint64_t path; /* FNV of it, as it is in the file */
	UT_hash_handle hh;
};

static const char *const names[] = { [IMPORT_SKIPPED] = "import-skipped.txt", [IMPORT_CHANGED] = "import-changed.txt" };

void start_import_notes_path(const struct nfs4r_engine *eng, enum import_note kind, char out[1100])
{
	snprintf(out, 1100, "%s/%s", eng->cfg.store_dir, names[kind]);
}

/* @path of @len bytes is noted. No memory: it counts, whatever was noted before. eng->lock held, or before threads run. */
static void count(struct nfs4r_engine *eng, enum import_note kind, const char *path, size_t len)
{
	uint64_t key = nfs4r_fnv(NFS4R_FNV_BEGIN, path, len);
	struct import_noted *n;

	HASH_FIND(hh, eng->start.import.paths[kind], &key, sizeof(key), n);
	if (n)
		return;
	eng->start.import.noted[kind]++;
	n = malloc(sizeof(*n));
	if (!n)
		return;
	n->path = key;
	HASH_ADD(hh, eng->start.import.paths[kind], path, sizeof(key), n);
}

/* None of @kind is noted. */
static void forget(struct nfs4r_engine *eng, enum import_note kind)
{
	struct import_noted *n, *next;

	HASH_ITER(hh, eng->start.import.paths[kind], n, next) {
		HASH_DEL(eng->start.import.paths[kind], n);
		free(n);
	}
	eng->start.import.noted[kind] = 0;
}

static void count_lines(struct nfs4r_engine *eng, enum import_note kind, const char *file)
{
	FILE *f = fopen(file, "re");
	char *line = NULL;
	size_t cap = 0;

	while (f && getline(&line, &cap, f) > 0)
		count(eng, kind, line, strcspn(line, "\t\n"));
	free(line);
	if (f)
		fclose(f);
}

void start_import_notes_load(struct nfs4r_engine *eng)
{
	char path[1100];

	for (int kind = IMPORT_SKIPPED; kind <= IMPORT_CHANGED; kind++) {
		start_import_notes_path(eng, kind, path);
		count_lines(eng, kind, path);
	}
}

void start_import_notes_free(struct nfs4r_engine *eng)
{
	for (int kind = IMPORT_SKIPPED; kind <= IMPORT_CHANGED; kind++)
		forget(eng, kind);
}

void start_import_notes_begin(struct nfs4r_engine *eng)
{
	char path[1100];

	start_import_notes_path(eng, IMPORT_SKIPPED, path);
	if (unlink(path) != 0 && errno != ENOENT)
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: %s of an earlier start cannot be removed (%s); the lines of this start are appended to it", eng->cfg.volume_name,
			   path, strerror(errno));
	pthread_mutex_lock(&eng->lock);
	forget(eng, IMPORT_SKIPPED);
	pthread_mutex_unlock(&eng->lock);
}

static bool add_line(const char *file, const char *path, const char *why)
{
	FILE *f = fopen(file, "ae");
	bool ok = f && fprintf(f, "%s\t%s\n", path, why) > 0;

	return f && fclose(f) == 0 && ok;
}

void start_import_notes_add(struct nfs4r_engine *eng, enum import_note kind, const char *path, const char *why)
{
	static const char *const says[] = { [IMPORT_SKIPPED] = "is skipped", [IMPORT_CHANGED] = "is changed" };
	char *text = nfs4r_text_name_new(path), file[1100];

	start_import_notes_path(eng, kind, file);
	pthread_mutex_lock(&eng->lock);
	count(eng, kind, text ? text : path, strlen(text ? text : path));
	bool first = ++eng->start.import.logged[kind] == 1;
	bool log = eng->start.import.logged[kind] <= LOGGED_MAX, last = eng->start.import.logged[kind] == LOGGED_MAX;
	pthread_mutex_unlock(&eng->lock);
	if (log)
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: import: %s %s: %s", eng->cfg.volume_name, text ? text : path, says[kind], why);
	if (last)
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: import: further objects are listed only in %s", eng->cfg.volume_name, file);
	if (!add_line(file, text ? text : path, why) && (first || last))
		engine_log(eng, NFS4R_LOG_ERROR, "volume %s: %s cannot be written (%s); objects that the import skips or changes are only in the log", eng->cfg.volume_name,
			   file, strerror(errno));
	free(text);
}
