/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where the directories of a server lie.
 *
 * A store in the exported directory would be a part of the volume: the server takes what it does not know for strays, and moves its own open
 * store away. So before anything is opened or made, each directory of the configuration is compared with the others, and with the
 * copies and stores of other volumes that are above it.
 *
 * "A lies in B" is asked in two ways, and one yes is enough. Going up from A by "..", B is met: by device and inode, so links and spellings do not count.
 * Or both are on one file system, and A's path *in that file system* begins with B's: this finds a bind mount of something in B, from which ".." leads
 * elsewhere. The place of a mount in its file system comes from /proc/self/mountinfo. A directory that is not there yet lies where its nearest
 * existing parent lies.
 *
 * A copy is known by a mark on it, an extended attribute that clients cannot see or change; a store by its files.
 *
 * Failure modes: without /proc the second way says no. A mark that cannot be written is no reason not to serve.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "engine/start/start.h"
#include "engine/runtime/fs.h"
#include "engine/runtime/quota.h"

#define PATH_BYTES 4096
#define MARK_BYTES 128

struct place {
	const char *key; /* of the configuration */
	const char *path; /* as written there */
	int fd; /* O_PATH on it, or on its nearest parent that is there; -1 = none */
	bool there; /* it is there itself */
	struct stat st; /* of fd */
	char device[32]; /* of its file system, as in mountinfo; empty = not known */
	char in_fs[PATH_BYTES]; /* path of fd in its file system */
};

/* ---- finding out where a directory lies ---- */

/* mountinfo writes blanks and backslashes of a path as \ooo. */
static void unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] && s[2] && s[3]) {
			*out++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

static int mount_id(int fd)
{
	char name[64], line[256];
	int id = -1;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	f = fopen(name, "re");
	while (f && id < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "mnt_id: %d", &id) != 1)
			id = -1;
	if (f)
		fclose(f);
	return id;
}

/* @line of mountinfo is that of @id: device, root and mount point, the latter two in @line. */
static bool mount_line(char *line, int id, char **device, char **root, char **point)
{
	char *save = NULL, *word = strtok_r(line, " ", &save);

	if (!word || atoi(word) != id || !strtok_r(NULL, " ", &save))
		return false;
	*device = strtok_r(NULL, " ", &save);
	*root = strtok_r(NULL, " ", &save);
	*point = strtok_r(NULL, " ", &save);
	if (!*point)
		return false;
	unescape(*root);
	unescape(*point);
	return true;
}

/* Path of @path below the mount point @point, beginning with / or empty; NULL when it is not below it. */
static const char *below(const char *path, const char *point)
{
	size_t len = strcmp(point, "/") == 0 ? 0 : strlen(point);

	if (strncmp(path, point, len) != 0 || (path[len] != '/' && path[len]))
		return NULL;
	return path + len;
}

static void find_in_fs(struct place *p)
{
	char name[64], path[PATH_BYTES], *line = NULL, *device, *root, *point;
	ssize_t len;
	size_t size = 0;
	int id = mount_id(p->fd);
	FILE *f;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", p->fd);
	len = readlink(name, path, sizeof(path) - 1);
	f = id >= 0 && len > 0 ? fopen("/proc/self/mountinfo", "re") : NULL;
	if (!f)
		return;
	path[len] = '\0';
	while (getline(&line, &size, f) > 0) {
		if (!mount_line(line, id, &device, &root, &point))
			continue;
		const char *rest = below(path, point);
		if (rest) {
			snprintf(p->device, sizeof(p->device), "%s", device);
			snprintf(p->in_fs, sizeof(p->in_fs), "%s%s", strcmp(root, "/") == 0 ? "" : root, strcmp(rest, "/") == 0 ? "" : rest);
		}
		break;
	}
	free(line);
	fclose(f);
}

static void place_close(struct place *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* @path, or its nearest parent that is a directory. */
static void place_open(struct place *p, const char *key, const char *path)
{
	char up[PATH_BYTES], *slash;

	memset(p, 0, sizeof(*p));
	p->key = key;
	p->path = path;
	p->fd = -1;
	if (!path[0])
		return;
	snprintf(up, sizeof(up), "%s", path);
	p->there = true;
	while ((p->fd = open(up, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0 && (slash = strrchr(up, '/'))) {
		p->there = false;
		if (slash == up && !slash[1])
			return;
		slash[slash == up] = '\0';
	}
	if (p->fd >= 0 && fstat(p->fd, &p->st) != 0)
		place_close(p);
	if (p->fd >= 0)
		find_in_fs(p);
}

/* ---- what lies in what ---- */

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/*
 * Calls @fn for the directory of @p, as far as it is there, and all above it until @fn says true. @level: 0 for the first. What @fn said.
 */
static bool going_up(const struct place *p, bool (*fn)(void *arg, int fd, const struct stat *st, int level), void *arg)
{
	struct stat st = p->st, up_st;
	int fd = p->fd < 0 ? -1 : fcntl(p->fd, F_DUPFD_CLOEXEC, 0), up;
	bool found = false;

	for (int level = 0; fd >= 0; level++) {
		found = fn(arg, fd, &st, level);
		up = found ? -1 : openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = up;
		if (fd >= 0 && (fstat(fd, &up_st) != 0 || same(&up_st, &st))) {
			close(fd);
			fd = -1;
		}
		st = up_st;
	}
	return found;
}

static bool is_it(void *arg, int fd, const struct stat *st, int level)
{
	return same(arg, st);
}

static bool lies_in(const struct place *in, const struct place *out)
{
	size_t len = strlen(out->in_fs);
	struct stat st = out->st;

	if (in->fd < 0 || out->fd < 0 || !out->there)
		return false;
	if (going_up(in, is_it, &st))
		return true;
	return in->device[0] && strcmp(in->device, out->device) == 0 && strncmp(in->in_fs, out->in_fs, len) == 0 &&
		(in->in_fs[len] == '/' || !in->in_fs[len]);
}

/* ---- marks ---- */

static void own_mark(const struct nfs4r_config *cfg, char out[MARK_BYTES])
{
	const uint8_t *u = cfg->rpc.volume;
	char *p = out;

	for (int i = 0; i < 16; i++)
		p += sprintf(p, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
	sprintf(p, " server %u", cfg->rpc.self);
}

/* Of what @fd is open on, by O_PATH, too. False: it has none. */
static bool read_mark(int fd, char out[MARK_BYTES])
{
	char name[64];
	ssize_t len;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	len = getxattr(name, PLACES_MARK, out, MARK_BYTES - 1);
	if (len <= 0)
		return false;
	out[len] = '\0';
	for (char *c = out; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return true;
}

static bool is_store(int fd)
{
	return faccessat(fd, "lock", F_OK, 0) == 0 && faccessat(fd, "lmdb/data.mdb", F_OK, 0) == 0;
}

struct above {
	int marks, stores; /* levels from which a mark, or a store, counts */
	char mark[MARK_BYTES]; /* what was found: of a copy, or else it is a store */
};

static bool is_used(void *arg, int fd, const struct stat *st, int level)
{
	struct above *a = arg;

	return (level >= a->marks && read_mark(fd, a->mark)) || (level >= a->stores && is_store(fd));
}

enum nfs4r_status start_places_lock(int fd, const struct nfs4r_config *cfg, char *why, size_t len)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return NFS4R_OK;
	snprintf(why, len, "the exported directory %.200s is in use by another server on this machine: stop that server, or write another Path (and Store)",
		 cfg->export_dir);
	return NFS4R_LOCKED;
}

enum nfs4r_status start_places_whose(int fd, const struct nfs4r_config *cfg, char *why, size_t len)
{
	char own[MARK_BYTES], mark[MARK_BYTES];

	own_mark(cfg, own);
	if (!read_mark(fd, mark) || strcmp(mark, own) == 0)
		return NFS4R_OK;
	snprintf(why, len, "the exported directory %.120s is the copy of another server or volume (%.80s), but this new store is that of %.60s: write the right Path, "
			   "Store, Server_Id and Volume_UUID; if this is intended, run setfattr -x " PLACES_MARK " %.120s",
		 cfg->export_dir, mark, own, cfg->export_dir);
	return NFS4R_MISMATCH;
}

int start_places_mark(int fd, const struct nfs4r_config *cfg)
{
	char own[MARK_BYTES], mark[MARK_BYTES];

	own_mark(cfg, own);
	if (read_mark(fd, mark) && strcmp(mark, own) == 0)
		return 0;
	return fsetxattr(fd, PLACES_MARK, own, strlen(own), 0) == 0 ? 0 : errno;
}

/* ---- the file system of the exported directory ---- */

static const char *unfit(uint32_t type)
{
	switch (type) {
	case 0x65735546:
		return "FUSE";
	case 0x6969:
		return "NFS";
	case 0xff534d42:
	case 0xfe534d42:
		return "SMB";
	case 0x01021997:
		return "9p";
	case 0x9fa0:
		return "proc";
	case 0x62656572:
		return "sysfs";
	}
	return NULL;
}

/* It needs handles that outlive the process, extended attributes, and to be written to. */
static enum nfs4r_status check_fs(const struct place *e, char *why, size_t len)
{
	union {
		struct file_handle h;
		char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} handle = { .h.handle_bytes = MAX_HANDLE_SZ };
	struct statfs fs;
	char name[64], value[8];
	int id;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", e->fd);
	if (fstatfs(e->fd, &fs) != 0)
		return NFS4R_OK;
	const char *kind = unfit((uint32_t)fs.f_type);
	if (kind || (name_to_handle_at(e->fd, "", &handle.h, &id, AT_EMPTY_PATH) != 0 && errno == EOPNOTSUPP)) {
		snprintf(why, len, "Path = \"%.200s\" is on a file system%s%s without persistent file handles; write a directory on ext4, XFS or btrfs", e->path,
			 kind ? " of type " : "", kind ? kind : "");
		return NFS4R_BADCONFIG;
	}
	if (fs.f_flags & ST_RDONLY) {
		snprintf(why, len, "Path = \"%.200s\" is on a file system that is mounted read-only; mount it read-write, or write another directory", e->path);
		return NFS4R_BADCONFIG;
	}
	if (getxattr(name, "user.nfs4r.none", value, sizeof(value)) < 0 && errno == EOPNOTSUPP) {
		snprintf(why, len, "Path = \"%.200s\" is on a file system without extended attributes; mount it with extended attributes, or write a directory on ext4, XFS or btrfs",
			 e->path);
		return NFS4R_BADCONFIG;
	}
	return NFS4R_OK;
}

/* Each server's quotas are its own (log 4.16). */
static enum nfs4r_status check_quotas(const struct place *e, char *why, size_t len)
{
	struct quota_facts f;
	char what[80];

	engine_quota_look(e->fd, &f);
	if (!engine_quota_kinds(&f))
		return NFS4R_OK;
	engine_quota_name(engine_quota_kinds(&f), what, sizeof(what));
	snprintf(why, len, "Path = \"%.200s\" is on a file system with %s: this server would refuse updates that the others have applied, and leave the view each time. Turn "
			   "quotas off (%s); or write Quotas = ignore in the block REPL",
		 e->path, what, engine_quota_remedy(&f));
	return NFS4R_BADCONFIG;
}

/* ---- the check ---- */

enum {
	EXPORTED,
	STORE,
	CONFLICTS,
	SOCKET,
	RECOVERY,
	PLACES
};

static enum nfs4r_status bad(char *why, size_t len, const struct place *in, const char *what, const struct place *out, const char *instead)
{
	snprintf(why, len, "%s = \"%.200s\" lies in %s %.200s: write %s", in->key, in->path, what, out->path, instead);
	return NFS4R_BADCONFIG;
}

static const char *instead_of(int which)
{
	switch (which) {
	case STORE:
		return "a directory outside it, for example Store = \"/var/lib/nfs4r/NAME\"";
	case CONFLICTS:
		return "a directory outside it, or omit Conflicts for Store/conflicts";
	case SOCKET:
		return "a path outside it, for example Control_Socket = \"/run/nfs4r/NAME.sock\"";
	default:
		return "a directory outside it";
	}
}

static enum nfs4r_status check_own(const struct place *p, char *why, size_t len)
{
	const struct place *e = &p[EXPORTED];

	for (int i = STORE; i < PLACES; i++)
		if (lies_in(&p[i], e))
			return bad(why, len, &p[i], "the exported directory", e, instead_of(i));
	if (lies_in(e, &p[STORE]))
		return bad(why, len, e, "Store", &p[STORE], "another Path, or another Store");
	if (p[CONFLICTS].there && lies_in(e, &p[CONFLICTS]))
		return bad(why, len, e, "Conflicts", &p[CONFLICTS], "another Path, or another directory for Conflicts");
	if (p[CONFLICTS].there && p[STORE].there && same(&p[CONFLICTS].st, &p[STORE].st)) {
		snprintf(why, len, "Conflicts = \"%.200s\" is Store itself: write another directory, or omit it for Store/conflicts", p[CONFLICTS].path);
		return NFS4R_BADCONFIG;
	}
	return NFS4R_OK;
}

#define NEVER INT_MAX

/* Levels above @p[i] from which another's copy or store is a mistake. The marks of the exported directory itself: start_places_whose(). */
static struct above levels_of(const struct place *p, int i)
{
	switch (i) {
	case EXPORTED:
		return (struct above){ .marks = 1, .stores = 0 };
	case STORE:
		return (struct above){ .marks = 0, .stores = p[i].there ? 1 : 0 };
	case CONFLICTS:
		return (struct above){ .marks = 0, .stores = lies_in(&p[i], &p[STORE]) ? NEVER : 0 };
	default:
		return (struct above){ .marks = 0, .stores = NEVER };
	}
}

static enum nfs4r_status check_others(const struct place *p, char *why, size_t len)
{
	for (int i = 0; i < PLACES; i++) {
		struct above a = levels_of(p, i);

		if (!going_up(&p[i], is_used, &a))
			continue;
		if (a.mark[0])
			snprintf(why, len, "%s = \"%.200s\" lies in a directory that is the copy of another server or volume (%.80s): write %s", p[i].key, p[i].path,
				 a.mark, instead_of(i));
		else
			snprintf(why, len, "%s = \"%.200s\" lies in the Store of another server: write %s", p[i].key, p[i].path, instead_of(i));
		return NFS4R_BADCONFIG;
	}
	return NFS4R_OK;
}

/* The file system below opens the exported directory itself, and not what a link there leads to. */
static bool is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static bool is_root(const struct place *p)
{
	struct stat root;

	return stat("/", &root) == 0 && same(&p->st, &root);
}

/* Both hold what clients may not read or change. */
static enum nfs4r_status check_private(const struct place *p, char *why, size_t len)
{
	enum nfs4r_status st = engine_fs_private("Store", p[STORE].path, why, len);
	char conflicts[PATH_BYTES];

	if (st != NFS4R_OK)
		return st;
	snprintf(conflicts, sizeof(conflicts), "%s", p[CONFLICTS].path);
	if (!conflicts[0])
		snprintf(conflicts, sizeof(conflicts), "%.1000s/conflicts", p[STORE].path);
	return engine_fs_private("Conflicts", conflicts, why, len);
}

static enum nfs4r_status check(const struct place *p, bool quotas_ignored, char *why, size_t len)
{
	enum nfs4r_status st;

	if (p[EXPORTED].fd < 0 || !p[EXPORTED].there) {
		snprintf(why, len, "Path = \"%.200s\" cannot be opened as a directory", p[EXPORTED].path);
		return NFS4R_BADCONFIG;
	}
	if (is_link(p[EXPORTED].path)) {
		char to[PATH_MAX];

		snprintf(why, len, "Path = \"%.150s\" is a symbolic link, which is not followed here: write its target instead, Path = \"%.250s\"", p[EXPORTED].path,
			 realpath(p[EXPORTED].path, to) ? to : "?");
		return NFS4R_BADCONFIG;
	}
	if (is_root(&p[EXPORTED])) {
		snprintf(why, len, "Path = \"/\" would make the whole machine the volume; write a separate directory, for example Path = \"/srv/data\"");
		return NFS4R_BADCONFIG;
	}
	st = check_own(p, why, len);
	if (st == NFS4R_OK)
		st = check_others(p, why, len);
	if (st == NFS4R_OK)
		st = check_private(p, why, len);
	if (st == NFS4R_OK)
		st = check_fs(&p[EXPORTED], why, len);
	return st == NFS4R_OK && !quotas_ignored ? check_quotas(&p[EXPORTED], why, len) : st;
}

/* The directory in which the socket is made. */
static void socket_dir(const struct nfs4r_config *cfg, char out[sizeof(cfg->control_socket)])
{
	char *slash;

	snprintf(out, sizeof(cfg->control_socket), "%s", cfg->control_socket);
	slash = strrchr(out, '/');
	if (slash)
		slash[slash == out] = '\0';
	else
		out[0] = '\0';
}

enum nfs4r_status nfs4r_places_check(const struct nfs4r_config *cfg, char *why, size_t why_len)
{
	struct place *p = calloc(PLACES, sizeof(*p));
	char socket[sizeof(cfg->control_socket)];
	enum nfs4r_status st;

	if (!p) {
		snprintf(why, why_len, "out of memory");
		return NFS4R_NOMEM;
	}
	socket_dir(cfg, socket);
	place_open(&p[EXPORTED], "Path", cfg->export_dir);
	place_open(&p[STORE], "Store", cfg->store_dir);
	place_open(&p[CONFLICTS], "Conflicts", cfg->conflicts_dir);
	place_open(&p[SOCKET], "Control_Socket", socket);
	p[SOCKET].path = cfg->control_socket;
	place_open(&p[RECOVERY], "RecoveryRoot", cfg->recovery_dir);
	st = check(p, cfg->quotas_ignored, why, why_len);
	for (int i = 0; i < PLACES; i++)
		place_close(&p[i]);
	free(p);
	return st;
}
