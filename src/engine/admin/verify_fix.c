/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * `nfs4rctl repair`: what of an object is wrong at this server, and some threads that mend it (self_heal.c does the work). docs/decisions/0027-changes-behind-nfs.md.
 *
 * Whose copy is right: the one that the administrator names; else the one that more than half of the servers have alike, of those that could be asked; else that of the server which made the
 * newest version. If that is this one, the object stays as it is here, and the report says that it differs.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/text.h"
#include "engine/admin/admin_int.h"
#include "engine/resync/resync.h"
#include "engine/runtime/fs.h"

#define THREADS 8 /* an object costs some round trips */

/* ---- the plan ---- */

static bool same(const struct verify_side *a, const struct verify_side *b)
{
	return a->status == NFS4R_OK && b->status == NFS4R_OK && a->version == b->version && memcmp(a->sum, b->sum, sizeof(a->sum)) == 0;
}

/* Who has what @s has. */
static nfs4r_servers like(const struct verify_side *const sides[], nfs4r_server_id s)
{
	nfs4r_servers set = 0;

	for (nfs4r_server_id i = 1; i <= NFS4R_SERVERS_MAX; i++)
		if (sides[i] && same(sides[i], sides[s]))
			set |= NFS4R_BIT(i);
	return set;
}

static nfs4r_servers whose(const struct verify_side *const sides[], nfs4r_server_id newest, nfs4r_server_id from)
{
	nfs4r_servers set;
	int n = 0;

	if (from)
		return sides[from] && sides[from]->status == NFS4R_OK ? like(sides, from) : 0;
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		n += sides[s] != NULL;
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++) {
		set = sides[s] ? like(sides, s) : 0;
		if (2 * __builtin_popcountll(set) > n)
			return set;
	}
	if (newest && newest <= NFS4R_SERVERS_MAX && sides[newest] && sides[newest]->status == NFS4R_OK)
		return like(sides, newest);
	return 0;
}

/* The only sides that are whole, if they are all alike. */
static nfs4r_servers whole(const struct verify_side *const sides[])
{
	nfs4r_servers set = 0;

	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (sides[s] && sides[s]->status == NFS4R_OK) {
			if (set && !(set & NFS4R_BIT(s)))
				return 0;
			set = like(sides, s);
		}
	return set;
}

bool admin_fix_plan(const struct verify_side *const sides[NFS4R_SERVERS_MAX + 1], nfs4r_server_id self, nfs4r_server_id newest, nfs4r_server_id from, struct fix_job *job,
		    const char **why)
{
	const struct verify_side *here = sides[self];
	nfs4r_servers right = whose(sides, newest, from);
	bool differ = false;

	*job = (struct fix_job){ .names = here->odd != 0, .gone = here->status == NFS4R_STALE };
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		differ |= sides[s] && !same(sides[s], here);
	if (!differ || right & NFS4R_BIT(self))
		return job->names;
	if (!right && !from)
		right = whole(sides);
	if (!right) {
		*why = from ? "the server named with --from does not answer, or its copy is incomplete" : "the copies differ and no majority agrees; name the server to copy from with --from";
		return job->names;
	}
	if (here->status != NFS4R_OK && here->status != NFS4R_STALE && here->status != NFS4R_IO) {
		*why = "the object keeps changing or is not here yet; try again later";
		return job->names;
	}
	if (here->status == NFS4R_OK && here->version != sides[__builtin_ctzll(right)]->version) {
		*why = "updates of the object are still on their way; try again later";
		return job->names;
	}
	job->from = right;
	job->content = true;
	return true;
}

const char *admin_fix_what(const struct fix_job *job)
{
	return job->gone ? "was gone" : job->content ? "content or attributes" :
						       "names";
}

/* ---- the threads ---- */

struct fixer {
	struct nfs4r_engine *eng;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct fix_job *todo, **todo_tail, *done;
	bool over;
	uint32_t n;
	pthread_t threads[THREADS];
};

static void mend(struct nfs4r_engine *eng, struct fix_job *job)
{
	struct behind_want w = { .from = job->from, .content = job->content && !job->gone };
	uint64_t moved = 0;
	enum nfs4r_status st = NFS4R_OK;

	if (job->content)
		st = resync_heal(eng, &job->oid, &w);
	job->took = w.took;
	if (st != NFS4R_OK) {
		snprintf(job->why, sizeof(job->why), "%.290s", w.why[0] ? w.why : nfs4r_status_str(st));
		return;
	}
	if (job->names)
		st = resync_heal_names(eng, &job->oid, &moved);
	if (st != NFS4R_OK)
		snprintf(job->why, sizeof(job->why), "its names: %s", nfs4r_status_str(st));
}

static void *work(void *arg)
{
	struct fixer *f = arg;

	pthread_mutex_lock(&f->lock);
	for (;;) {
		struct fix_job *job = f->todo;

		if (!job && f->over)
			break;
		if (!job) {
			pthread_cond_wait(&f->cond, &f->lock);
			continue;
		}
		f->todo = job->next;
		if (!f->todo)
			f->todo_tail = &f->todo;
		pthread_mutex_unlock(&f->lock);
		if (f->over || f->eng->door.stopping)
			snprintf(job->why, sizeof(job->why), "the repair was interrupted");
		else
			mend(f->eng, job);
		pthread_mutex_lock(&f->lock);
		job->next = f->done;
		f->done = job;
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

struct fixer *admin_fixer_new(struct nfs4r_engine *eng)
{
	struct fixer *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->eng = eng;
	f->todo_tail = &f->todo;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->cond, NULL);
	while (f->n < THREADS && pthread_create(&f->threads[f->n], NULL, work, f) == 0)
		f->n++;
	if (f->n)
		return f;
	admin_fixer_free(f);
	return NULL;
}

void admin_fixer_put(struct fixer *f, struct fix_job *job)
{
	job->next = NULL;
	pthread_mutex_lock(&f->lock);
	*f->todo_tail = job;
	f->todo_tail = &job->next;
	pthread_cond_signal(&f->cond);
	pthread_mutex_unlock(&f->lock);
}

struct fix_job *admin_fixer_take(struct fixer *f)
{
	struct fix_job *job;

	pthread_mutex_lock(&f->lock);
	job = f->done;
	if (job)
		f->done = job->next;
	pthread_mutex_unlock(&f->lock);
	return job;
}

void admin_fixer_free(struct fixer *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->over = true;
	pthread_cond_broadcast(&f->cond);
	pthread_mutex_unlock(&f->lock);
	while (f->n)
		pthread_join(f->threads[--f->n], NULL);
	pthread_cond_destroy(&f->cond);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* ---- the list ---- */

static void open_list(struct fix_list *l, struct nfs4r_engine *eng)
{
	time_t now = time(NULL);
	char date[32] = "", why[NFS4R_WHY];
	struct tm tm;

	if (gmtime_r(&now, &tm))
		strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &tm);
	(void)mkdir(eng->cfg.conflicts_dir, 0700);
	snprintf(l->path, sizeof(l->path), "%.1000s/repair-%s.txt", eng->cfg.conflicts_dir, date);
	if (engine_fs_private("Conflicts", eng->cfg.conflicts_dir, why, sizeof(why)) == NFS4R_OK) {
		l->out = fopen(l->path, "ae");
		if (l->out)
			return;
		snprintf(why, sizeof(why), "%s; free space there or correct Conflicts", strerror(errno));
	}
	engine_log(eng, NFS4R_LOG_WARN, "volume %s: cannot write the list of repaired objects to %.300s: %.1000s", eng->cfg.volume_name, l->path, why);
	l->failed = true;
	l->path[0] = '\0';
}

void admin_fix_list_add(struct fix_list *l, struct nfs4r_engine *eng, const char *what, const char *path, const char *why)
{
	char *name = nfs4r_text_name_new(path);

	if (!l->out && !l->failed)
		open_list(l, eng);
	if (l->out)
		fprintf(l->out, "%s\t%s%s%s\n", what, name ? name : "?", why[0] ? "\t" : "", why);
	free(name);
}

void admin_fix_list_end(struct fix_list *l)
{
	if (l->out)
		fclose(l->out);
	l->out = NULL;
}
