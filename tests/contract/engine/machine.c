/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * See machine.h. The engine runs in this process, so what it does after the moment of the loss must count for nothing: the tree does not change any more
 * (power.h), no message leaves (mute), and the store goes on with a copy that was made then, without the end of the journal. That happens inside a checkpoint
 * that fails, since nobody else writes LMDB meanwhile.
 */
#include "machine.h"

#include "lib/unit.h"
#include <errno.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/engine_int.h"
#include "store/internal.h"

/* The journal ends at @end. */
static void cut_journal(const char *store, nfs4r_journal_pos end)
{
	DIR *dir = opendir(store);
	unsigned long start;
	struct dirent *e;
	struct stat sb;
	char path[512];

	assert_non_null(dir);
	while ((e = readdir(dir))) {
		if (sscanf(e->d_name, "journal-%lx", &start) != 1)
			continue;
		snprintf(path, sizeof(path), "%s/%s", store, e->d_name);
		assert_int_equal(stat(path, &sb), 0);
		if (start >= end)
			assert_int_equal(unlink(path), 0);
		else if ((uint64_t)sb.st_size > end - start)
			assert_int_equal(truncate(path, (off_t)(end - start)), 0);
	}
	closedir(dir);
}

struct copy {
	struct site *s;
	unsigned seed;
	bool whole;
	nfs4r_journal_pos end;
};

static int copy_store(void *arg)
{
	struct copy *c = arg;
	struct nfs4r_journal *j = &c->s->eng->store->jnl;
	nfs4r_journal_pos tail = atomic_load(&j->tail);

	c->end = c->whole ? tail : atomic_load(&j->synced);
	if (c->seed && tail > c->end)
		c->end += (unsigned)rand_r(&c->seed) % (tail - c->end + 1);
	must_shell("cp -r %s %s.then", c->s->store, c->s->store);
	return EIO;
}

static void power_off(struct site *s)
{
	s->losses++;
	power_freeze(s->power);
	pthread_mutex_lock(&s->eng->lock);
	s->eng->runtime.mute = true;
	s->eng->runtime.ready = false;
	pthread_mutex_unlock(&s->eng->lock);
}

static void come_back_as_then(struct site *s, unsigned seed, bool machine)
{
	struct copy c = { .s = s, .seed = seed, .whole = !machine };

	while (!c.end) { /* else another checkpoint ended while this one waited for its turn */
		atomic_store(&s->eng->store->files_failed, false); /* nothing but that is lost */
		assert_int_not_equal(nfs4r_store_checkpoint(s->eng->store, copy_store, &c, NULL), NFS4R_OK);
	}
	if (machine)
		power_lose(s->power, seed);
	else
		power_release(s->power);
	cluster_stop(s->cluster, s->id);
	must_shell("rm -rf %s && mv %s.then %s && rm -f %s/files-failed", s->store, s->store, s->store, s->store);
	cut_journal(s->store, c.end);
	if (machine)
		snprintf(s->boot, sizeof(s->boot), "boot %u", s->losses);
}

void cluster_lose_power(struct cluster *c, nfs4r_servers which, unsigned seed)
{
	for (int i = 1; i <= SITES; i++)
		if (which & NFS4R_BIT(i))
			power_off(&c->site[i]);
	for (int i = 1; i <= SITES; i++)
		if (which & NFS4R_BIT(i))
			come_back_as_then(&c->site[i], seed ? seed + (unsigned)i : 0, true);
}

void cluster_kill(struct cluster *c, int id)
{
	power_off(&c->site[id]);
	come_back_as_then(&c->site[id], 0, false);
}

bool site_journal_is_synced(struct site *s)
{
	struct nfs4r_journal *j = &s->eng->store->jnl;

	return atomic_load(&j->synced) == atomic_load(&j->tail);
}
