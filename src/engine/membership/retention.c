/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What is kept for servers that are away (log 3.11, 3.12): after each checkpoint the store is asked how much that is, and the core is told which
 * entries lie beyond the bound; what it lets go of is removed by the next checkpoint. And how that is said: in the log when the bound is near, once
 * in an hour; nfs4rctl asks for it.
 *
 * Without a configured number the bound is a tenth of the file system of the store: a server that is away may not stop those that are there.
 */
#include <stdio.h>
#include <sys/statvfs.h>
#include <time.h>

#include "engine/membership/membership.h"

#define SHARE 10 /* of the file system */
#define WARN_MS 3600000
#define NEAR(part, all) ((part) >= (all) / 10 * 9)
#define DAY 86400

void membership_retention_init(struct nfs4r_engine *eng)
{
	struct statvfs fs;

	eng->membership.retention.bytes_max = eng->cfg.retention_bytes;
	if (eng->membership.retention.bytes_max)
		return;
	eng->membership.retention.bytes_max = NFS4R_RETENTION_MIN;
	if (!statvfs(eng->cfg.store_dir, &fs) && (uint64_t)fs.f_blocks * fs.f_frsize / SHARE > NFS4R_RETENTION_MIN)
		eng->membership.retention.bytes_max = (uint64_t)fs.f_blocks * fs.f_frsize / SHARE;
}

/* How long it has been: "29 days", "5 hours". */
static const char *how_long(char buf[32], uint64_t s)
{
	if (s >= 2 * DAY)
		snprintf(buf, 32, "%llu days", (unsigned long long)(s / DAY));
	else
		snprintf(buf, 32, "%llu hours", (unsigned long long)(s / 3600));
	return buf;
}

static const char *when(char buf[32], uint64_t left_s)
{
	if (left_s <= DAY)
		return "tomorrow";
	snprintf(buf, 32, "in %llu days", (unsigned long long)((left_s + DAY - 1) / DAY));
	return buf;
}

bool membership_retention_warning(const struct nfs4r_engine *eng, const struct retention_facts *f, char *text, size_t len)
{
	uint64_t age_max = eng->cfg.retention_s, age = f->kept.age_s;
	char who[64], since[32], left[32];

	if (f->late) {
		snprintf(text, len, "server %s has been away for longer than Retention_Bytes or Retention_Time allow: it needs a full copy when it returns",
			 engine_server_list(f->late, who, sizeof(who)));
		return true;
	}
	if (!f->retained_for)
		return false;
	engine_server_list(f->retained_for, who, sizeof(who));
	if (age_max && NEAR(age, age_max)) {
		snprintf(text, len, "server %s has been away for %s: %s it will need a full copy", who, how_long(since, age),
			 when(left, age < age_max ? age_max - age : 0));
		return true;
	}
	if (NEAR(f->kept.bytes, eng->membership.retention.bytes_max)) {
		snprintf(text, len, "the updates retained for server %s (%llu MiB, for %s) are near the limit of %llu MiB: soon it will need a full copy", who,
			 (unsigned long long)(f->kept.bytes >> 20), how_long(since, age), (unsigned long long)(eng->membership.retention.bytes_max >> 20));
		return true;
	}
	return false;
}

void membership_retention_collect(struct nfs4r_engine *eng, struct retention_facts *f)
{
	nfs4r_store_retained(eng->store, eng->membership.retention.bytes_max, eng->cfg.retention_s, (uint64_t)time(NULL), &f->kept);
	nfs4r_core_retained_for(eng->core, &f->retained_for, &f->late);
}

/* After a checkpoint; eng->lock held. */
void membership_retention_look_at_bound(struct nfs4r_engine *eng)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_BEYOND };
	struct retention_facts f;
	char text[300];

	membership_retention_collect(eng, &f);
	memcpy(ev.stable, f.kept.beyond, sizeof(ev.stable));
	engine_step(eng, &ev);
	if (!membership_retention_warning(eng, &f, text, sizeof(text)) || (eng->membership.retention.warned_ms && engine_now_ms() < eng->membership.retention.warned_ms + WARN_MS))
		return;
	eng->membership.retention.warned_ms = engine_now_ms();
	engine_log(eng, NFS4R_LOG_WARN, "volume %s: %s", eng->cfg.volume_name, text);
}
