/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Start with a store that has a past. The core gets back its rows and positions; own entries that were begun and not
 * decided when the process died are decided by what the local tree shows (log 4.5), in log order. What a
 * machine crash lost of the own log comes from the peers: the core asks for it before it serves (log 4.7), and nothing
 * is decided here then.
 *
 * Deciding is left to an executor, since the local file system may not be used for everything while the server as a whole still
 * starts (Ganesha makes exports before its table of ACLs). The core serves and executes nothing until all is decided.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/membership/membership.h"
#include "engine/replicate/replicate.h"
#include "engine/start/start.h"

struct restore {
	struct nfs4r_engine *eng;
	enum nfs4r_status st;
};

static void restore_row(void *arg, const uint8_t *key, uint16_t key_len, const uint8_t *val, uint16_t val_len)
{
	struct restore *r = arg;

	if (r->st == NFS4R_OK)
		r->st = engine_import_is_row(key, key_len) ? engine_import_restore(r->eng, key, key_len, val, val_len) :
							     nfs4r_core_restore_row(r->eng->core, key, key_len, val, val_len);
}

/*
 * Last LSN of the own log that was given out for good. Own entries end in any order: with every record there (process crash) the
 * last decided one counts, and holes before it come as intents; else only the contiguous prefix, the rest was never sent.
 */
static nfs4r_lsn own_last(struct nfs4r_engine *eng, const struct nfs4r_store_info *info)
{
	nfs4r_lsn first, last;

	nfs4r_store_log_range(eng->store, eng->cfg.rpc.self, &first, &last);
	if (!info->tail_intact || last < info->logs[eng->cfg.rpc.self].applied)
		return info->logs[eng->cfg.rpc.self].applied;
	return last;
}

static bool is_stored(const struct nfs4r_store_info *info, nfs4r_server_id id)
{
	return info->logs[id].base || info->logs[id].applied || info->logs[id].stable;
}

/* It is a server of the volume, or was one. */
static bool has_log(const struct nfs4r_engine *eng, nfs4r_server_id id, const struct nfs4r_store_info *info)
{
	return eng->membership.servers & NFS4R_BIT(id) || is_stored(info, id);
}

/* Others' entries that are here though some before them are not: a seal may come to lie between. */
static enum nfs4r_status restore_beyond(struct nfs4r_engine *eng, nfs4r_server_id id, const struct nfs4r_store_info *info)
{
	nfs4r_lsn first, last;

	nfs4r_store_log_range(eng->store, id, &first, &last);
	if (id == eng->cfg.rpc.self || last <= info->logs[id].applied)
		return NFS4R_OK;
	return nfs4r_core_restore_beyond(eng->core, id, last);
}

static void restore_given_back(struct nfs4r_engine *eng)
{
	const struct nfs4r_given_back *list;
	uint32_t n = nfs4r_store_given_back(eng->store, &list);

	for (uint32_t i = 0; i < n; i++)
		nfs4r_core_restore_given_back(eng->core, list[i].log, list[i].lsn, &list[i].oid, list[i].version);
}

static enum nfs4r_status restore_own_entries(struct nfs4r_engine *eng, const struct nfs4r_store_info *info)
{
	nfs4r_server_id self = eng->cfg.rpc.self;
	nfs4r_lsn last = own_last(eng, info), lsn = 0;

	while ((lsn = nfs4r_store_log_next(eng->store, self, lsn)) && lsn <= last) {
		struct nfs4r_entry *e = nfs4r_store_log_read(eng->store, self, lsn);

		if (!e)
			return NFS4R_CORRUPT;
		enum nfs4r_status st = nfs4r_core_restore_entry(eng->core, lsn, nfs4r_entry_bytes(e));
		nfs4r_entry_put(e);
		if (st != NFS4R_OK)
			return st;
	}
	return NFS4R_OK;
}

/* Who the servers are. Until some are added or taken out the Server blocks say it. */
static enum nfs4r_status take_servers(struct nfs4r_engine *eng, const struct nfs4r_store_info *info, char *why)
{
	nfs4r_servers logs = 0, set;
	char list[64];

	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++)
		if (is_stored(info, id))
			logs |= NFS4R_BIT(id);
	set = membership_begin(eng, logs);
	if (!set)
		return NFS4R_OK;
	snprintf(why, NFS4R_WHY, "the store in %s knows server %s, which has no Server block: if that Server block was removed, write it again; to remove a server, use "
				 "`nfs4rctl server remove`",
		 eng->cfg.store_dir, engine_server_list(set, list, sizeof(list)));
	return NFS4R_INVAL;
}

enum nfs4r_status start_recover_restore(struct nfs4r_engine *eng, const struct nfs4r_store_info *info, char *why)
{
	struct restore r = { .eng = eng, .st = NFS4R_OK };
	struct nfs4r_volume_settings has;
	char knows[NFS4R_VERSIONS_TEXT];

	nfs4r_store_each_core_row(eng->store, restore_row, &r);
	if (r.st == NFS4R_OK && !nfs4r_core_knows_volume(eng->core, &has)) {
		snprintf(why, NFS4R_WHY, "the volume has protocol %u and disk format %u, but this release (%s) knows protocol %s: install the release that the other servers have", has.protocol, has.disk_format,
			 eng->cfg.rpc.version, nfs4r_versions_text(eng->cfg.rpc.protocol, knows));
		return NFS4R_MISMATCH;
	}
	if (r.st == NFS4R_OK && take_servers(eng, info, why) != NFS4R_OK)
		return NFS4R_INVAL;
	for (nfs4r_server_id id = 1; r.st == NFS4R_OK && id <= NFS4R_SERVERS_MAX; id++) {
		if (!has_log(eng, id, info))
			continue;
		r.st = nfs4r_core_restore_log(eng->core, id, info->logs[id].base, id == eng->cfg.rpc.self ? own_last(eng, info) : info->logs[id].applied,
					      info->logs[id].stable);
	}
	for (nfs4r_server_id id = 1; r.st == NFS4R_OK && id <= NFS4R_SERVERS_MAX; id++)
		if (has_log(eng, id, info))
			r.st = restore_beyond(eng, id, info);
	restore_given_back(eng);
	if (r.st == NFS4R_OK)
		r.st = restore_own_entries(eng, info);
	for (uint32_t i = 0; r.st == NFS4R_OK && i < info->nintents; i++) {
		struct nfs4r_entry *e = nfs4r_store_intent_at(eng->store, i);

		r.st = nfs4r_core_restore_intent(eng->core, e);
		nfs4r_entry_put(e);
	}
	if (r.st != NFS4R_OK)
		snprintf(why, NFS4R_WHY, "the store in %s cannot be read (%s): it is lost, see docs/failures.md",
			 eng->cfg.store_dir, nfs4r_status_str(r.st));
	return r.st;
}

/* ---- the exported directory ---- */

static bool see_name(void *arg, const char *name)
{
	char *found = arg;

	if (strcmp(name, "lost+found") == 0)
		return true;
	snprintf(found, NFS4R_NAME_MAX + 1, "%s", name);
	return replicate_staging_is_name(name); /* another one says more */
}

static const char *remedy(const struct nfs4r_engine *eng)
{
	return engine_lease_ms(eng) && !engine_is_alone(eng) ? "move the store away, too: this server then copies everything from the others" : "see docs/failures.md";
}

/* The store knows of objects, and nothing at all is there. Updates that were under way may have taken the last ones away. */
static bool content_is_lost(struct nfs4r_engine *eng, const struct nfs4r_store_info *info, const char *found, char *why)
{
	uint32_t may_be_gone = 1 + info->nintents + eng->cfg.appliers; /* the root counts */
	struct nfs4r_oid *list, none = { { 0 } };
	bool some;

	if (found[0] || !info->tail_intact || engine_memory(eng) == NFS4R_MEMORY_FORGOT) /* that one is made anew */
		return false;
	list = calloc(may_be_gone + 1, sizeof(*list));
	some = list && nfs4r_store_each_oid(eng->store, &none, list, may_be_gone + 1) > may_be_gone;
	free(list);
	if (!some)
		return false;
	snprintf(why, NFS4R_WHY, "the exported directory is empty, but the store in %s has records of files in it: mount its file system, if it is not mounted. If its content is "
				 "lost, %s",
		 eng->cfg.store_dir, remedy(eng));
	return true;
}

/*
 * A store that never took the directory into use. Unless it is empty, or to be imported, nobody can say what is in it before the others were asked whether they
 * know of an earlier store (log 8.6): until then, or until it is repaired, it stays so.
 */
static enum nfs4r_status first_use(struct nfs4r_engine *eng, char *why)
{
	if (eng->start.export_fd >= 0 && !eng->cfg.import && start_places_whose(eng->start.export_fd, &eng->cfg, why, NFS4R_WHY) != NFS4R_OK)
		return NFS4R_MISMATCH;
	if (!membership_view_is_strange(eng, why, NFS4R_WHY))
		return nfs4r_store_set_handle(eng->store, &eng->root, eng->start.root_handle.b, eng->start.root_handle.len);
	return engine_memory(eng) == NFS4R_MEMORY_KNOWN ? NFS4R_NOTEMPTY : NFS4R_OK;
}

/* Nobody else is to export it from now on. */
static void mark_root(struct nfs4r_engine *eng)
{
	struct nfs4r_lhandle known;
	int err = 0;

	if (eng->start.export_fd >= 0 && nfs4r_store_handle(eng->store, &eng->root, known.b))
		err = start_places_mark(eng->start.export_fd, &eng->cfg);
	if (err)
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: the exported directory cannot be marked as this server's copy (%s): another export without REPL could serve it; "
						"run the server as root with CAP_SYS_ADMIN, on a file system with trusted extended attributes",
			   eng->cfg.volume_name, strerror(err));
}

static enum nfs4r_status take_root(struct nfs4r_engine *eng, const struct nfs4r_store_info *info, char *why)
{
	struct nfs4r_lhandle *root = &eng->start.root_handle, known;
	char found[NFS4R_NAME_MAX + 1] = "";
	enum nfs4r_status st = eng->ops->root(eng->ctx, root);

	if (st != NFS4R_OK) {
		snprintf(why, NFS4R_WHY, "the exported directory cannot be opened: %s", nfs4r_status_str(st));
		return st;
	}
	if (nfs4r_store_row(eng->store, &eng->root, NULL) != NFS4R_KNOWN) {
		snprintf(why, NFS4R_WHY, "the store in %s is damaged: it has no record of the exported directory; this store is lost, see docs/failures.md",
			 eng->cfg.store_dir);
		return NFS4R_CORRUPT;
	}
	known.len = nfs4r_store_handle(eng->store, &eng->root, known.b);
	if (known.len && (known.len != root->len || memcmp(known.b, root->b, root->len) != 0)) {
		snprintf(why, NFS4R_WHY, "the store in %s does not belong to the exported directory; export the right one (was it restored from a backup, "
					 "or is its file system not mounted?). If that directory is lost, %s",
			 eng->cfg.store_dir, remedy(eng));
		return NFS4R_MISMATCH;
	}
	st = eng->ops->readdir(eng->ctx, root, see_name, found);
	if (st == NFS4R_OK && known.len)
		return content_is_lost(eng, info, found, why) ? NFS4R_NOTEMPTY : NFS4R_OK;
	snprintf(eng->start.found, sizeof(eng->start.found), "%s", found);
	if (st == NFS4R_OK)
		st = first_use(eng, why);
	if (st != NFS4R_OK && st != NFS4R_NOTEMPTY && st != NFS4R_MISMATCH)
		snprintf(why, NFS4R_WHY, "cannot use the exported directory: %s", nfs4r_status_str(st));
	return st;
}

enum nfs4r_status start_recover_root(struct nfs4r_engine *eng, const struct nfs4r_store_info *info, char *why)
{
	enum nfs4r_status st = take_root(eng, info, why);

	if (st == NFS4R_OK)
		mark_root(eng);
	return st;
}

/* ---- undecided entries ---- */

static bool name_shows(struct nfs4r_engine *eng, const struct nfs4r_part *dir, uint32_t i, struct nfs4r_lhandle *out)
{
	struct nfs4r_lhandle dirh;

	nfs4r_handle(eng, &dir->oid, &dirh);
	return dirh.len && eng->ops->lookup(eng->ctx, &dirh, dir->names[i].name.s, out) == NFS4R_OK;
}

static bool created_shows(struct nfs4r_engine *eng, struct nfs4r_entry *e, struct nfs4r_part *p)
{
	struct nfs4r_part *dir = nfs4r_entry_part_with(e, NFS4R_EFF_NAMES);
	struct nfs4r_lhandle h;
	struct nfs4r_oid other;
	struct nfs4r_attrs now = { 0 };

	if (!dir || !name_shows(eng, dir, 0, &h) || nfs4r_by_handle(eng, &h, &other))
		return false;
	if (eng->ops->getattr(eng->ctx, &h, &now) != NFS4R_OK)
		return false;
	p->attrs.mode = now.mode;
	p->attrs.uid = now.uid;
	p->attrs.gid = now.gid;
	p->attrs.mask |= NFS4R_ATTR_MODE | NFS4R_ATTR_UID | NFS4R_ATTR_GID;
	if (e->op == NFS4R_OP_ADOPT) { /* it brought its own past along */
		p->attrs.atime = now.atime;
		p->attrs.mtime = p->mtime = now.mtime;
		p->attrs.rdev_major = now.rdev_major;
		p->attrs.rdev_minor = now.rdev_minor;
		p->attrs.size = now.size;
		p->attrs.mask |= NFS4R_ATTR_RDEV | (now.type == NFS4R_TYPE_FILE && now.size ? NFS4R_ATTR_SIZE : 0);
	}
	nfs4r_buf_put(now.acl);
	nfs4r_entry_set_handle(e, &h);
	return true;
}

static bool renamed_shows(struct nfs4r_engine *eng, struct nfs4r_entry *e, const struct nfs4r_part *moved)
{
	struct nfs4r_lhandle h, want;
	bool source_gone = false, target_right = false;

	nfs4r_handle(eng, &moved->oid, &want);
	for (uint32_t i = 0; i < e->nparts; i++) {
		struct nfs4r_part *d = &e->parts[i];

		for (uint32_t j = 0; d->effect == NFS4R_EFF_NAMES && j < d->nnames; j++) {
			bool there = name_shows(eng, d, j, &h);

			if (nfs4r_oid_is_zero(&d->names[j].oid))
				source_gone = !there;
			else
				target_right = there && nfs4r_lhandle_eq(&h, &want);
		}
	}
	return source_gone && target_right;
}

static bool linked_shows(struct nfs4r_engine *eng, struct nfs4r_entry *e, const struct nfs4r_part *links)
{
	struct nfs4r_part *dir = nfs4r_entry_part_with(e, NFS4R_EFF_NAMES);
	struct nfs4r_lhandle h, want;

	if (!dir)
		return false;
	bool there = name_shows(eng, dir, 0, &h);
	if (nfs4r_oid_is_zero(&dir->names[0].oid))
		return !there; /* unlink, rmdir */
	nfs4r_handle(eng, &links->oid, &want);
	return there && nfs4r_lhandle_eq(&h, &want);
}

static bool was_executed(struct nfs4r_engine *eng, struct nfs4r_entry *e)
{
	struct nfs4r_part *p;

	if (e->nparts == 0)
		return false;
	p = nfs4r_entry_part_with(e, NFS4R_EFF_CREATE);
	if (p)
		return created_shows(eng, e, p);
	p = nfs4r_entry_part_with(e, NFS4R_EFF_PARENT);
	if (p)
		return renamed_shows(eng, e, p);
	p = nfs4r_entry_part_with(e, NFS4R_EFF_LINKS);
	if (p)
		return linked_shows(eng, e, p);
	if (e->nparts && e->parts[0].effect == NFS4R_EFF_ALLOC && e->parts[0].punch && engine_import_is_open(eng, &e->parts[0].oid, NULL))
		return false; /* it may have been found to be no hole any more (import.c); all of the file is sent again anyway */
	/* Values are absolute: set them again. Bytes of a write: what is on the disk is the content of this version, nobody has another. */
	return engine_sync_inline(eng, e) == NFS4R_OK && replicate_apply_entry(eng, e, ~0u, false) == NFS4R_OK;
}

static void decide_intents(struct nfs4r_engine *eng, void *arg)
{
	struct nfs4r_entry *e;

	(void)arg;
	for (uint32_t i = 0; !eng->door.stopping && (e = nfs4r_store_intent_at(eng->store, i)); i++) {
		struct nfs4r_event ev = { .type = NFS4R_EV_OP_EXECUTED, .entry = e, .ok = was_executed(eng, e) };

		engine_log(eng, NFS4R_LOG_INFO, "volume %s: update %llu (%s) was in progress when the process ended: %s", eng->cfg.volume_name,
			   (unsigned long long)e->lsn, nfs4r_op_name(e->op), ev.ok ? "it had been executed" : "it had not been executed");
		pthread_mutex_lock(&eng->lock);
		engine_step(eng, &ev);
		pthread_mutex_unlock(&eng->lock);
		nfs4r_entry_put(e);
	}
	if (!engine_is_alone(eng) || eng->door.stopping)
		return;
	engine_doubt_wait(eng);
	if (eng->door.stopping)
		return;
	enum nfs4r_status st = nfs4r_store_recovered(eng->store); /* nobody has more of the log */

	if (st != NFS4R_OK) {
		pthread_mutex_lock(&eng->lock);
		engine_journal_failed(eng, st);
		pthread_mutex_unlock(&eng->lock);
	}
}

void start_recover_intents(struct nfs4r_engine *eng, const struct nfs4r_store_info *info)
{
	if ((info->nintents && info->tail_intact) || engine_is_alone(eng))
		engine_pool_run(eng->runtime.executors, decide_intents, NULL);
}
