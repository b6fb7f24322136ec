/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Are there quotas under an exported directory (log 4.16)?
 *
 * Three places are asked, since none knows all. quotactl_fd(2) says what ext4, XFS, F2FS and others enforce now. Mount options say what quotaon(8) will
 * turn on, and they are there for kernels without quotactl_fd. Btrfs has neither: limits of its qgroups are in /sys.
 *
 * A project quota of the exported directory itself is no trouble. All that is made there belongs to the project, and statvfs(3) of the directory gives
 * the project's limit as its size, so every primary knows it as room (log 4.12).
 *
 * Failure modes: what the kernel does not tell counts as no quota. Then EDQUOT of a peer's update takes this server out of the view (log 4.11).
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/runtime/quota.h"

#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif

#define SUBVOLUME_ROOT 256 /* object id that stands for "this subvolume" in BTRFS_IOC_INO_LOOKUP */

/* ---- what mountinfo says; pure ---- */

static void take_options(struct quota_facts *f, const char *options)
{
	size_t len = strlen(f->options);

	if (options)
		snprintf(f->options + len, sizeof(f->options) - len, "%s%s", len ? "," : "", options);
}

bool engine_quota_mount(char *line, uint64_t id, struct quota_facts *f)
{
	char *save = NULL, *word = strtok_r(line, " \n", &save);

	if (!word || strtoull(word, NULL, 10) != id)
		return false;
	for (int i = 0; i < 4; i++) /* parent, device, root, mount point */
		if (!strtok_r(NULL, " \n", &save))
			return false;
	take_options(f, strtok_r(NULL, " \n", &save));
	while ((word = strtok_r(NULL, " \n", &save)) && strcmp(word, "-") != 0)
		;
	word = strtok_r(NULL, " \n", &save);
	if (word)
		snprintf(f->type, sizeof(f->type), "%s", word);
	(void)strtok_r(NULL, " \n", &save); /* device */
	take_options(f, strtok_r(NULL, " \n", &save));
	return true;
}

static const struct {
	const char *name; /* with "=": whatever follows */
	uint32_t kind;
} options[] = {
	{ "quota", QUOTA_USER },
	{ "usrquota", QUOTA_USER },
	{ "uquota", QUOTA_USER },
	{ "usrjquota=", QUOTA_USER },
	{ "grpquota", QUOTA_GROUP },
	{ "gquota", QUOTA_GROUP },
	{ "grpjquota=", QUOTA_GROUP },
	{ "prjquota", QUOTA_PROJECT },
	{ "pquota", QUOTA_PROJECT },
	{ "prjjquota=", QUOTA_PROJECT },
};

static uint32_t kind_of_option(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		size_t n = strlen(options[i].name);

		if (strncmp(word, options[i].name, n) == 0 && (len == n || (len > n && word[n - 1] == '=')))
			return options[i].kind;
	}
	return 0;
}

uint32_t engine_quota_kinds(const struct quota_facts *f)
{
	uint32_t kinds = f->enforced;

	for (const char *p = f->options; *p;) {
		size_t len = strcspn(p, ",");

		kinds |= kind_of_option(p, len);
		p += len + (p[len] == ',');
	}
	return f->whole_project ? kinds & ~QUOTA_PROJECT : kinds;
}

void engine_quota_name(uint32_t kinds, char *text, size_t len)
{
	static const char *const names[] = { "user", "group", "project", "qgroup" };
	size_t at = 0;

	for (uint32_t i = 0; i < 4; i++) {
		uint32_t later = kinds >> (i + 1);

		if (kinds & 1u << i)
			at += (size_t)snprintf(text + at, at < len ? len - at : 0, "%s%s", names[i], !later ? "" : later & (later - 1) ? ", " :
																	 " and ");
	}
	(void)snprintf(text + at, at < len ? len - at : 0, " quotas");
}

const char *engine_quota_remedy(const struct quota_facts *f)
{
	if (strcmp(f->type, "xfs") == 0)
		return "mount it without uquota, gquota and pquota";
	if (strcmp(f->type, "btrfs") == 0)
		return "btrfs qgroup limit none, or btrfs quota disable";
	return "quotaoff, and no usrquota, grpquota and prjquota among its mount options";
}

/* ---- asking the kernel ---- */

static void look_at_mount(int fd, struct quota_facts *f)
{
	struct statx st = { 0 };
	char *line = NULL;
	size_t size = 0;
	FILE *file;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) != 0 || !(st.stx_mask & STATX_MNT_ID))
		return;
	file = fopen("/proc/self/mountinfo", "re");
	while (file && getline(&line, &size, file) > 0 && !engine_quota_mount(line, st.stx_mnt_id, f))
		;
	free(line);
	if (file)
		fclose(file);
}

static void look_at_enforced(int fd, struct quota_facts *f)
{
	struct fs_quota_stat state = { 0 }; /* other file systems than XFS answer it, too, for all kinds at once */

	if (syscall(SYS_quotactl_fd, fd, QCMD(Q_XGETQSTAT, USRQUOTA), 0, &state) != 0)
		return;
	if (state.qs_flags & FS_QUOTA_UDQ_ENFD)
		f->enforced |= QUOTA_USER;
	if (state.qs_flags & FS_QUOTA_GDQ_ENFD)
		f->enforced |= QUOTA_GROUP;
	if (state.qs_flags & FS_QUOTA_PDQ_ENFD)
		f->enforced |= QUOTA_PROJECT;
}

static void look_at_project(int fd, struct quota_facts *f)
{
	struct fsxattr x = { 0 };

	f->whole_project = ioctl(fd, FS_IOC_FSGETXATTR, &x) == 0 && x.fsx_projid && x.fsx_xflags & FS_XFLAG_PROJINHERIT;
}

/* ---- Btrfs ---- */

static uint64_t number_in(int dirfd, const char *qgroup)
{
	char path[300], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/limit_flags", qgroup);
	fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t len = read(fd, text, sizeof(text) - 1);
	close(fd);
	return len > 0 ? strtoull(text, NULL, 0) : 0;
}

/* The qgroup of the subvolume, or one above subvolumes, which it may belong to. */
static bool may_concern(const char *name, uint64_t subvolume)
{
	unsigned long long level, id;

	return sscanf(name, "%llu_%llu", &level, &id) == 2 && (level > 0 || id == subvolume);
}

static void look_at_qgroups(int fd, struct quota_facts *f)
{
	struct btrfs_ioctl_ino_lookup_args where = { .objectid = SUBVOLUME_ROOT };
	struct btrfs_ioctl_fs_info_args info = { 0 };
	char path[128] = "/sys/fs/btrfs/", *p = path + strlen(path);
	struct dirent *d;
	DIR *dir;

	if (strcmp(f->type, "btrfs") != 0 || ioctl(fd, BTRFS_IOC_FS_INFO, &info) != 0 || ioctl(fd, BTRFS_IOC_INO_LOOKUP, &where) != 0)
		return;
	for (int i = 0; i < BTRFS_FSID_SIZE; i++)
		p += sprintf(p, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", info.fsid[i]);
	strcpy(p, "/qgroups");
	dir = opendir(path);
	while (dir && (d = readdir(dir)))
		if (may_concern(d->d_name, where.treeid) && number_in(dirfd(dir), d->d_name) & (BTRFS_QGROUP_LIMIT_MAX_RFER | BTRFS_QGROUP_LIMIT_MAX_EXCL))
			f->enforced |= QUOTA_QGROUP;
	if (dir)
		closedir(dir);
}

void engine_quota_look(int fd, struct quota_facts *f)
{
	int open_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	memset(f, 0, sizeof(*f));
	if (open_fd < 0)
		return;
	look_at_mount(open_fd, f);
	look_at_enforced(open_fd, f);
	look_at_project(open_fd, f);
	look_at_qgroups(open_fd, f);
	close(open_fd);
}
