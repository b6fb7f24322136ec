/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Quotas of the file system under an exported directory (log 4.16). Each server's file system enforces its own, so what one server has executed
 * another may refuse. Any thread.
 */
#ifndef NFS4R_ENGINE_QUOTA_H
#define NFS4R_ENGINE_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUOTA_USER 1u
#define QUOTA_GROUP 2u
#define QUOTA_PROJECT 4u
#define QUOTA_QGROUP 8u /* Btrfs */

/* What the kernel says. */
struct quota_facts {
	char type[16]; /* of the file system, as in mountinfo; empty = not known */
	char options[2048]; /* of the mount and of the file system, with commas */
	uint32_t enforced; /* QUOTA_*, as quotactl(2) and the qgroups of Btrfs say */
	bool whole_project; /* the directory is a project with all that is made in it: statvfs(3) counts by the project's limit, so log 4.12 knows it as room */
};

/* Finds out about the directory @fd (O_PATH will do). What cannot be told is left empty. Blocks on the disk. */
void engine_quota_look(int fd, struct quota_facts *f);

/* The kinds of quotas that other servers cannot know: QUOTA_*, 0 = none. Also what mount options are there for, though it is not on yet. Pure. */
uint32_t engine_quota_kinds(const struct quota_facts *f);

/* "user and group quotas". Pure. */
void engine_quota_name(uint32_t kinds, char *text, size_t len);

/* What an administrator does to have none. Pure; static text. */
const char *engine_quota_remedy(const struct quota_facts *f);

/*
 * From the line @line of mountinfo, which is changed: type and options, if the line is that of the mount @id. False: it is not. Pure; see proc(5).
 */
bool engine_quota_mount(char *line, uint64_t id, struct quota_facts *f);

#endif
