/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Segment files of the journal: `journal-` and the position of their first byte in 16 hex digits. A
 * position counts every byte ever appended, file headers included, so position minus start is the offset
 * in the file and the next segment starts where the last one ends.
 *
 * Happy path: a new segment gets its header and becomes the one that is written; the next sync() brings
 * header and name to stable storage with the rest, so that beginning a segment waits for no disk. Failure
 * modes: no space or an I/O error while making a segment removes the half-made file and changes nothing. A
 * crash may leave last files without a whole header, or without a name; recover.c ends the journal there.
 *
 * Invariant: segments are contiguous; only the oldest are ever removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/room.h"
#include "base/uuid.h"
#include "store/bytes.h"
#include "store/internal.h"

static const char seg_magic[8] = "NFS4RJNL";

void store_seg_name(nfs4r_journal_pos start, char out[32])
{
	snprintf(out, 32, "journal-%016llx", (unsigned long long)start);
}

/* magic 8, format 4, header size 4, volume 16, server 2, zero 6, start 8, zero 12, checksum 4 */
void store_seg_header(uint8_t out[SEG_HEADER], const struct nfs4r_journal *j,
		      nfs4r_journal_pos start)
{
	memset(out, 0, SEG_HEADER);
	memcpy(out, seg_magic, sizeof(seg_magic));
	put_be32(out + 8, j->format);
	put_be32(out + 12, SEG_HEADER);
	memcpy(out + 16, j->volume, 16);
	put_be16(out + 32, j->self);
	put_be64(out + 40, start);
	put_be32(out + 60, store_crc32c(0, out, 60));
}

enum nfs4r_status store_seg_check_header(struct nfs4r_journal *j, const uint8_t *p, size_t len,
					 nfs4r_journal_pos start, char *why)
{
	char name[32];
	uint32_t format;

	store_seg_name(start, name);
	if (len < SEG_HEADER || memcmp(p, seg_magic, 8))
		return nfs4r_refuse(why, NFS4R_MALFORMED, "%s does not begin as a journal does", name);
	format = get_be32(p + 8);
	if (nfs4r_versions_have(j->formats, format) && get_be32(p + 60) != store_crc32c(0, p, 60))
		return nfs4r_refuse(why, NFS4R_MALFORMED, "%s: checksum of the file header at offset 0",
				    name);
	if (!nfs4r_versions_have(j->formats, format) || memcmp(p + 16, j->volume, 16) ||
	    get_be16(p + 32) != j->self) {
		struct nfs4r_store_config cfg = { .self = j->self, .formats = j->formats };

		memcpy(cfg.volume, j->volume, 16);
		return store_ident_check(&cfg, name, format, p + 16, get_be16(p + 32), why);
	}
	if (get_be64(p + 40) != start)
		return nfs4r_refuse(why, NFS4R_MALFORMED,
				    "%s says that it starts at position %llx: it was renamed or copied",
				    name, (unsigned long long)get_be64(p + 40));
	if (format > j->format)
		j->format = format;
	return NFS4R_OK;
}

/* A file system that does not say when: when it was written last. */
static uint64_t born(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME | STATX_MTIME, &st))
		return (uint64_t)time(NULL);
	return (uint64_t)(st.stx_mask & STATX_BTIME ? st.stx_btime.tv_sec : st.stx_mtime.tv_sec);
}

enum nfs4r_status store_seg_add(struct nfs4r_journal *j, nfs4r_journal_pos start, int fd, uint64_t size)
{
	enum nfs4r_status st = NFS4R_OK;

	pthread_rwlock_wrlock(&j->segs_lock);
	if (NFS4R_ROOM(j->segs, j->nsegs, j->cap))
		j->segs[j->nsegs++] = (struct nfs4r_segment){ .start = start, .size = size, .fd = fd, .born = born(fd) };
	else
		st = NFS4R_NOMEM;
	pthread_rwlock_unlock(&j->segs_lock);
	return st;
}

void store_seg_close(struct nfs4r_journal *j)
{
	pthread_rwlock_wrlock(&j->segs_lock);
	while (j->nsegs)
		close(j->segs[--j->nsegs].fd);
	pthread_rwlock_unlock(&j->segs_lock);
}

static enum nfs4r_status write_header(int fd, const uint8_t header[SEG_HEADER])
{
	ssize_t n = pwrite(fd, header, SEG_HEADER, 0);

	if (n < 0)
		return nfs4r_status_from_errno(errno);
	return n == SEG_HEADER ? NFS4R_OK : NFS4R_NOSPC;
}

enum nfs4r_status store_seg_create(struct nfs4r_journal *j, nfs4r_journal_pos start)
{
	enum nfs4r_status st;
	uint8_t header[SEG_HEADER];
	char name[32];
	int fd;

	store_seg_name(start, name);
	/* A file of that name can only be the rest of an attempt that failed before it was used. */
	fd = openat(j->dirfd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return nfs4r_status_from_errno(errno);
	store_seg_header(header, j, start);
	st = write_header(fd, header);
	if (st == NFS4R_OK)
		st = store_seg_add(j, start, fd, SEG_HEADER);
	if (st == NFS4R_OK) {
		j->laid = SEG_HEADER;
		j->roll = false;
	} else {
		unlinkat(j->dirfd, name, 0);
		close(fd);
	}
	return st;
}

int store_seg_open_again(const struct nfs4r_journal *j, nfs4r_journal_pos start)
{
	char name[32];

	store_seg_name(start, name);
	return openat(j->dirfd, name, O_RDWR | O_CLOEXEC);
}

static int cmp_pos(const void *a, const void *b)
{
	nfs4r_journal_pos x = *(const nfs4r_journal_pos *)a, y = *(const nfs4r_journal_pos *)b;

	return (x > y) - (x < y);
}

static bool parse_name(const char *name, nfs4r_journal_pos *start)
{
	char again[32];
	char *end;

	if (strncmp(name, "journal-", 8))
		return false;
	*start = strtoull(name + 8, &end, 16);
	store_seg_name(*start, again);
	return !strcmp(name, again);
}

enum nfs4r_status store_seg_list(int dirfd, nfs4r_journal_pos **starts, uint32_t *n)
{
	nfs4r_journal_pos *list = NULL, start;
	uint32_t cap = 0;
	struct dirent *d;
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	*starts = NULL;
	*n = 0;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return nfs4r_status_from_errno(errno);
	}
	while ((d = readdir(dir))) {
		if (!parse_name(d->d_name, &start))
			continue;
		if (!NFS4R_ROOM(list, *n, cap)) {
			free(list);
			closedir(dir);
			return NFS4R_NOMEM;
		}
		list[(*n)++] = start;
	}
	closedir(dir);
	if (*n)
		qsort(list, *n, sizeof(*list), cmp_pos);
	*starts = list;
	return NFS4R_OK;
}

struct nfs4r_segment *store_seg_at(struct nfs4r_journal *j, nfs4r_journal_pos pos)
{
	uint32_t lo = 0, hi = j->nsegs;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (j->segs[mid].start <= pos)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &j->segs[lo - 1] : NULL;
}

void store_seg_note(struct nfs4r_journal *j, nfs4r_journal_pos pos, nfs4r_server_id log,
		    nfs4r_lsn lsn)
{
	struct nfs4r_segment *seg;

	pthread_rwlock_wrlock(&j->segs_lock);
	seg = store_seg_at(j, pos);
	if (seg && seg->max[log] < lsn)
		seg->max[log] = lsn;
	pthread_rwlock_unlock(&j->segs_lock);
}

void store_seg_drop(struct nfs4r_journal *j, uint32_t n)
{
	struct nfs4r_segment *gone = n ? malloc(n * sizeof(*gone)) : NULL;
	char name[32];

	if (!gone)
		return; /* next time */
	pthread_rwlock_wrlock(&j->segs_lock);
	memcpy(gone, j->segs, n * sizeof(*gone));
	memmove(j->segs, j->segs + n, (j->nsegs - n) * sizeof(*j->segs));
	j->nsegs -= n;
	pthread_rwlock_unlock(&j->segs_lock);
	for (uint32_t i = 0; i < n; i++) {
		store_seg_name(gone[i].start, name);
		unlinkat(j->dirfd, name, 0);
		close(gone[i].fd);
	}
	free(gone);
	fsync(j->dirfd);
}

/* ---- whose it is: said in each segment, and in the store's identity ---- */

enum nfs4r_status store_ident_check(const struct nfs4r_store_config *cfg, const char *what,
				    uint32_t format, const uint8_t volume[16], nfs4r_server_id self,
				    char *why)
{
	char ours[NFS4R_UUID_TEXT], theirs[NFS4R_UUID_TEXT], reads[NFS4R_VERSIONS_TEXT];

	if (!nfs4r_versions_have(cfg->formats, format))
		return nfs4r_refuse(why, NFS4R_MISMATCH,
				    "%s has disk format %u, but this release reads format %s: install a release with that format",
				    what, format, nfs4r_versions_text(cfg->formats, reads));
	if (memcmp(volume, cfg->volume, 16)) {
		nfs4r_uuid_text(volume, theirs);
		nfs4r_uuid_text(cfg->volume, ours);
		return nfs4r_refuse(why, NFS4R_MISMATCH,
				    "%s belongs to volume %s, the configuration says %s: correct the directory or the volume",
				    what, theirs, ours);
	}
	if (self != cfg->self)
		return nfs4r_refuse(why, NFS4R_MISMATCH,
				    "%s belongs to server %u, the configuration says server %u: correct the directory or the server id; never copy a store to another server",
				    what, self, cfg->self);
	return NFS4R_OK;
}
