/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a repair undoes: the objects that entries beyond seals touched, and what is kept of them for people (log 8.3).
 *
 * conflicts/<server>-<date>-<n>/ gets LIST.txt, one line for each undone update, files/, a copy of each regular file that one of them
 * touched, under its path as it is known here, and by-oid/, under their OIDs, those that have no path or whose path cannot be made here. No name that
 * a client chose meets a name of ours so. It is written beside, synced, and then gets its name; so a directory
 * with such a name is whole. Its first line names the undone entries: after a crash in the middle of a repair the same entries are not
 * saved again, for by then the files may already be those of the source.
 *
 * Failure modes: no space, no right to write: nothing is changed, the repair fails and says why.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <dirent.h>
#include <unistd.h>

#include "base/text.h"
#include "engine/runtime/fs.h"
#include "engine/resync/resync_int.h"

#define CHUNK (1u << 20)

/* ---- undone entries ---- */

/* The first entry beyond the seal @i that is still here, after @lsn; NULL: no more. */
static struct nfs4r_entry *undone_after(const struct repair *r, uint32_t i, nfs4r_lsn lsn)
{
	const struct nfs4r_seal *s = &r->seals[i];
	nfs4r_lsn next = nfs4r_store_log_next(r->eng->store, s->log, lsn > s->lsn ? lsn : s->lsn);

	return next && NFS4R_GEN(next) == NFS4R_GEN(s->lsn) ? nfs4r_store_log_read(r->eng->store, s->log, next) : NULL;
}

static enum nfs4r_status collect_entry(struct repair *r, const struct nfs4r_entry *e)
{
	for (uint32_t i = 0; i < e->nparts; i++)
		if (e->parts[i].effect != NFS4R_EFF_CLIENT && !resync_add(r, &e->parts[i].oid, true))
			return NFS4R_NOMEM;
	return NFS4R_OK;
}

enum nfs4r_status resync_collect(struct repair *r)
{
	for (uint32_t i = 0; i < r->nseals; i++) {
		struct nfs4r_entry *e;
		nfs4r_lsn first, last;

		nfs4r_store_log_range(r->eng->store, r->seals[i].log, &first, &last);
		if (!first || first > r->seals[i].lsn + 1)
			r->everything = true; /* they were truncated: nobody can say what they touched */
		for (nfs4r_lsn lsn = 0; (e = undone_after(r, i, lsn)); nfs4r_entry_put(e)) {
			lsn = e->lsn;
			if (collect_entry(r, e) != NFS4R_OK) {
				nfs4r_entry_put(e);
				return resync_fails(r, NFS4R_NOMEM, "out of memory");
			}
		}
	}
	return NFS4R_OK;
}

/* ---- the directory ---- */

struct save {
	struct repair *r;
	char tmp[1100], dir[1100]; /* while it is written; when it is whole */
	FILE *list;
	bool failed;
	char why[NFS4R_WHY];
};

static enum nfs4r_status save_failed(struct save *s, const char *what)
{
	if (!s->failed)
		snprintf(s->why, sizeof(s->why), "%.1900s: %s", what, strerror(errno));
	s->failed = true;
	return NFS4R_IO;
}

/* What is undone, in one line; also what an earlier attempt is known by. */
static void first_line(const struct repair *r, char *out, size_t len)
{
	size_t n = (size_t)snprintf(out, len, "Undone at server %u:", r->eng->cfg.rpc.self);

	for (uint32_t i = 0; i < r->nseals && n < len; i++) {
		unsigned long long first = 0, last = 0, count = 0;
		struct nfs4r_entry *e;

		for (nfs4r_lsn lsn = 0; (e = undone_after(r, i, lsn)); nfs4r_entry_put(e), count++) {
			lsn = last = e->lsn;
			first = first ? first : lsn;
		}
		n += (size_t)snprintf(out + n, len - n, " %llu updates of server %u (%llx to %llx).", count, r->seals[i].log, first, last);
	}
}

static bool begins_with(const char *path, const char *line)
{
	char got[1200] = "";
	FILE *f = fopen(path, "re");
	bool same = f && fgets(got, sizeof(got), f);

	if (f)
		fclose(f);
	got[strcspn(got, "\n")] = '\0';
	return same && strcmp(got, line) == 0;
}

uint64_t resync_saved(const struct nfs4r_engine *eng)
{
	DIR *dir = opendir(eng->cfg.conflicts_dir);
	struct dirent *e;
	uint64_t n = 0;

	while (dir && (e = readdir(dir))) {
		char list[300];

		snprintf(list, sizeof(list), "%s/LIST.txt", e->d_name);
		n += e->d_name[0] != '.' && faccessat(dirfd(dir), list, F_OK, 0) == 0;
	}
	if (dir)
		closedir(dir);
	return n;
}

/* Saved before a crash; the name goes to @out. */
static bool saved_before(const struct repair *r, const char *line, char *out, size_t len)
{
	DIR *dir = opendir(r->eng->cfg.conflicts_dir);
	bool found = false;
	struct dirent *e;

	while (dir && !found && (e = readdir(dir))) {
		char path[1400];

		snprintf(path, sizeof(path), "%s/%s/LIST.txt", r->eng->cfg.conflicts_dir, e->d_name);
		found = e->d_name[0] != '.' && begins_with(path, line);
		if (found && (size_t)snprintf(out, len, "%s/%s", r->eng->cfg.conflicts_dir, e->d_name) >= len)
			out[0] = '\0';
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool make_dir(struct save *s, const char *path)
{
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return true;
	save_failed(s, path);
	return false;
}

/* <server>-<date>-<n>, free; and its name while it is written. */
static bool choose_dir(struct save *s)
{
	const struct nfs4r_config *cfg = &s->r->eng->cfg;
	time_t now = time(NULL);
	struct stat sb;
	struct tm tm;
	char date[32];

	if (engine_fs_private("Conflicts", cfg->conflicts_dir, s->why, sizeof(s->why)) != NFS4R_OK) {
		s->failed = true;
		return false;
	}
	if (!make_dir(s, cfg->conflicts_dir))
		return false;
	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", gmtime_r(&now, &tm));
	for (int n = 1; n < 1000; n++) {
		snprintf(s->dir, sizeof(s->dir), "%s/%u-%s-%d", cfg->conflicts_dir, cfg->rpc.self, date, n);
		snprintf(s->tmp, sizeof(s->tmp), "%s/.%u-%s-%d.partial", cfg->conflicts_dir, cfg->rpc.self, date, n);
		if (stat(s->dir, &sb) != 0 && mkdir(s->tmp, 0700) == 0)
			return true;
	}
	save_failed(s, s->tmp);
	return false;
}

/* ---- LIST.txt ---- */

/* @inside: what follows is a name in it. */
static void say_path(struct save *s, const struct nfs4r_oid *oid, bool inside)
{
	char path[4200], line[NFS4R_TEXT_TIMES * sizeof(path)];

	engine_path_of(s->r->eng, oid, path, sizeof(path));
	fprintf(s->list, "%s%s", nfs4r_text_name(line, sizeof(line), path), inside && strcmp(path, "/") ? "/" : "");
}

static void say_detail(struct save *s, const struct nfs4r_entry *e)
{
	char name[NFS4R_TEXT_TIMES * NFS4R_XATTR_NAME_MAX + 1];

	for (uint32_t i = 0; i < e->nparts; i++) {
		const struct nfs4r_part *p = &e->parts[i];

		if (p->effect == NFS4R_EFF_WRITE || p->effect == NFS4R_EFF_ALLOC)
			fprintf(s->list, ", %llu bytes at %llu", (unsigned long long)p->len, (unsigned long long)p->off);
		else if (p->effect == NFS4R_EFF_ATTRS && p->attrs.mask & NFS4R_ATTR_SIZE)
			fprintf(s->list, ", size %llu", (unsigned long long)p->attrs.size);
		else if (p->effect == NFS4R_EFF_XATTR)
			fprintf(s->list, ", attribute %s", nfs4r_text_name(name, sizeof(name), p->xname));
		for (uint32_t j = 0; p->effect == NFS4R_EFF_NAMES && j < p->nnames; j++) {
			fputs(nfs4r_oid_is_zero(&p->names[j].oid) ? ", away from " : ", now at ", s->list);
			say_path(s, &p->oid, true);
			fputs(nfs4r_text_name(name, sizeof(name), p->names[j].name.s), s->list);
		}
	}
}

static void say_entry(struct save *s, const struct nfs4r_entry *e)
{
	time_t at = e->nparts ? (time_t)(e->parts[0].ctime / 1000000000) : 0;
	char date[32];
	struct tm tm;

	if (!e->nparts || e->op == NFS4R_OP_CLIENT)
		return; /* it did nothing to an object */
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", gmtime_r(&at, &tm));
	fprintf(s->list, "%s  server %u  %-10s ", date, e->log, nfs4r_op_name(e->op));
	say_path(s, &e->parts[0].oid, false);
	say_detail(s, e);
	fputc('\n', s->list);
}

static bool write_list(struct save *s, const char *line)
{
	char path[1200];

	snprintf(path, sizeof(path), "%s/LIST.txt", s->tmp);
	s->list = fopen(path, "wxe");
	if (!s->list) {
		save_failed(s, path);
		return false;
	}
	fprintf(s->list, "%s\n"
			 "These updates had reached no other server when its log was ended, and the others have continued without them. Times are UTC; paths are those\n"
			 "on this server before the resync. Copies of the affected files, as they were then, are below files/ (by-oid/ for files without a path).\n\n",
		line);
	for (uint32_t i = 0; i < s->r->nseals; i++) {
		struct nfs4r_entry *e;

		for (nfs4r_lsn lsn = 0; (e = undone_after(s->r, i, lsn)); nfs4r_entry_put(e)) {
			lsn = e->lsn;
			say_entry(s, e);
		}
	}
	return true;
}

/* ---- files ---- */

/* Every directory of @path below the first @from bytes. */
static bool make_parents(char *path, size_t from)
{
	for (char *p = path + from + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
		*p = '/';
		if (!ok)
			return false;
	}
	return true;
}

/* Below files/, by path; below by-oid/ where that is not possible. */
static int open_copy(struct save *s, const struct nfs4r_oid *oid, char *path, size_t len)
{
	char in_volume[4200], text[NFS4R_OID_STRLEN];
	size_t base;
	int fd = -1;

	snprintf(path, len, "%s/files", s->tmp);
	if (!make_dir(s, path))
		return -1;
	base = strlen(path);
	engine_path_of(s->r->eng, oid, in_volume, sizeof(in_volume));
	if (in_volume[0] == '/' && (size_t)snprintf(path + base, len - base, "%s", in_volume) < len - base && make_parents(path, base))
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	snprintf(path, len, "%s/by-oid", s->tmp);
	if (!make_dir(s, path))
		return -1;
	snprintf(path, len, "%s/by-oid/%s", s->tmp, nfs4r_oid_str(oid, text));
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		save_failed(s, path);
	return fd;
}

static bool copy_bytes(struct save *s, const struct nfs4r_lhandle *h, int fd, const char *path)
{
	struct nfs4r_engine *eng = s->r->eng;
	uint8_t *buf = malloc(CHUNK);
	bool eof = buf == NULL;

	for (uint64_t off = 0; !eof && !s->failed;) {
		uint32_t len = CHUNK;
		enum nfs4r_status st = eng->ops->read(eng->ctx, h, off, buf, &len, &eof);

		errno = EIO;
		if (st != NFS4R_OK || (len && pwrite(fd, buf, len, (off_t)off) != (ssize_t)len))
			save_failed(s, path);
		off += len;
		eof |= len == 0;
	}
	free(buf);
	return buf && !s->failed;
}

static void write_file(struct save *s, const struct nfs4r_oid *oid)
{
	struct nfs4r_engine *eng = s->r->eng;
	struct nfs4r_attrs a = { 0 };
	struct nfs4r_lhandle h;
	struct nfs4r_row row;
	char path[5600];
	int fd;

	nfs4r_handle(eng, oid, &h);
	if (nfs4r_store_row(eng->store, oid, &row) != NFS4R_KNOWN || row.type != NFS4R_TYPE_FILE || !h.len)
		return; /* what was deleted here is not here */
	if (eng->ops->getattr(eng->ctx, &h, &a) != NFS4R_OK)
		return;
	nfs4r_buf_put(a.acl);
	fd = open_copy(s, oid, path, sizeof(path));
	if (fd < 0)
		return;
	if (copy_bytes(s, &h, fd, path)) {
		long ns = (long)(row.mtime % 1000000000), before = ns < 0; /* before 1970 */
		struct timespec t[2] = { { .tv_nsec = UTIME_OMIT }, { row.mtime / 1000000000 - before, ns + before * 1000000000 } };

		fchmod(fd, a.mode & 0777);
		futimens(fd, t);
	}
	if (close(fd) != 0)
		save_failed(s, path);
}

/* Whole and on the disk, or not there. */
static bool put_in_place(struct save *s)
{
	int fd = open(s->tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC), up;

	if (s->list && (ferror(s->list) || fclose(s->list) != 0))
		save_failed(s, "LIST.txt");
	s->list = NULL;
	if (fd < 0 || syncfs(fd) != 0)
		save_failed(s, s->tmp);
	if (fd >= 0)
		close(fd);
	if (!s->failed && rename(s->tmp, s->dir) != 0)
		save_failed(s, s->dir);
	up = open(s->r->eng->cfg.conflicts_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (up < 0 || fsync(up) != 0)
		save_failed(s, s->dir);
	if (up >= 0)
		close(up);
	return !s->failed;
}

static void remove_tree(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		char below[5600];

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if ((size_t)snprintf(below, sizeof(below), "%s/%s", path, e->d_name) >= sizeof(below))
			continue;
		if (unlink(below) != 0)
			remove_tree(below);
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}

enum nfs4r_status resync_save(struct repair *r)
{
	struct save s = { .r = r };
	char line[1100];

	if (!r->n)
		return NFS4R_OK;
	first_line(r, line, sizeof(line));
	if (saved_before(r, line, r->saved, sizeof(r->saved)))
		return NFS4R_OK;
	if (choose_dir(&s) && write_list(&s, line))
		for (uint32_t i = 0; i < r->n && !s.failed && !resync_over(r); i++)
			write_file(&s, &r->objs[i].oid);
	if (s.tmp[0] && !resync_over(r) && !s.failed && put_in_place(&s)) {
		snprintf(r->saved, sizeof(r->saved), "%s", s.dir);
		return NFS4R_OK;
	}
	if (s.list)
		fclose(s.list);
	if (s.tmp[0])
		remove_tree(s.tmp);
	return resync_fails(r, NFS4R_IO, "cannot save the undone updates (%s); free space under the Conflicts directory, or correct Conflicts", s.why);
}
