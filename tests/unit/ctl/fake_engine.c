/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "unit/ctl/fake_engine.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct fake *servers[NFS4R_SERVERS_MAX + 1];

/* ---- objects ---- */

static struct fake *of(const void *port)
{
	return (struct fake *)(uintptr_t)port;
}

static struct fake_object *find(struct fake *f, const struct nfs4r_oid *oid)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (nfs4r_oid_eq(&f->obj[i].oid, oid))
			return &f->obj[i];
	return NULL;
}

uint32_t fake_add(struct fake *f, uint32_t parent, const char *name, uint32_t type, const char *bytes)
{
	struct fake_object *o = &f->obj[f->n];

	assert(f->n < FAKE_OBJECTS);
	if (f->n == 0)
		o->oid = f->eng.root;
	else
		nfs4r_oid_make(&o->oid, 1, 1, f->n);
	o->parent = f->obj[parent].oid;
	snprintf(o->name, sizeof(o->name), "%s", name);
	o->type = type;
	o->mode = 0644;
	o->version = 5;
	o->bytes = strdup(bytes);
	o->len = (uint32_t)strlen(bytes);
	return f->n++;
}

enum nfs4r_known nfs4r_store_row(struct nfs4r_store *s, const struct nfs4r_oid *oid, struct nfs4r_row *row)
{
	struct fake *f = of(s);
	struct nfs4r_row r = { .oid = *oid };

	pthread_mutex_lock(&f->lock);
	struct fake_object *o = find(f, oid);
	enum nfs4r_known k = o && !o->gone ? NFS4R_KNOWN : o && o->dead ? NFS4R_DEAD :
									  NFS4R_NOT_YET;
	if (k == NFS4R_KNOWN) {
		r.type = o->type;
		r.version = o->version;
		r.nlink = 1;
		r.mtime = 1000;
		r.nparents = o != f->obj;
		r.parent = o->parent;
	}
	pthread_mutex_unlock(&f->lock);
	if (row)
		*row = r;
	return k;
}

static void set_dirent(struct fake *f, uint32_t i, struct nfs4r_dirent *out)
{
	memset(out, 0, sizeof(*out));
	out->name.len = (uint16_t)strlen(f->obj[i].name);
	memcpy(out->name.s, f->obj[i].name, (size_t)out->name.len + 1);
	out->oid = f->obj[i].oid;
	out->type = f->obj[i].type;
	out->cookie = i + 3;
}

bool nfs4r_store_failed(const struct nfs4r_store *s)
{
	return false;
}

uint32_t nfs4r_store_locks(struct nfs4r_store *s, const struct nfs4r_oid *oid, struct nfs4r_file_lock *out, uint32_t max)
{
	const struct fake *f = of(s);

	if (!nfs4r_oid_eq(oid, &f->row_of))
		return 0;
	memcpy(out, f->row, (f->nrow < max ? f->nrow : max) * sizeof(out[0]));
	return f->nrow;
}

bool nfs4r_store_next_locked(struct nfs4r_store *s, const struct nfs4r_oid *after, struct nfs4r_oid *out)
{
	const struct fake *f = of(s);

	if (!f->nrow || nfs4r_oid_cmp(after, &f->row_of) >= 0)
		return false;
	*out = f->row_of;
	return true;
}

nfs4r_server_id nfs4r_read_server(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	const struct fake *f = of(eng->core);

	return f->decides && !(f->nrow && nfs4r_oid_eq(oid, &f->row_of)) ? f->decides : eng->cfg.rpc.self;
}

uint32_t nfs4r_store_readdir(struct nfs4r_store *s, const struct nfs4r_oid *dir, uint64_t after, struct nfs4r_dirent *out, uint32_t max)
{
	struct fake *f = of(s);
	uint32_t n = 0;

	pthread_mutex_lock(&f->lock);
	for (uint32_t i = 1; i < f->n && n < max; i++)
		if (!f->obj[i].gone && nfs4r_oid_eq(&f->obj[i].parent, dir) && i + 3 > after)
			set_dirent(f, i, &out[n++]);
	pthread_mutex_unlock(&f->lock);
	return n;
}

bool nfs4r_store_lookup(struct nfs4r_store *s, const struct nfs4r_oid *dir, const struct nfs4r_name *name, struct nfs4r_dirent *out)
{
	struct fake *f = of(s);
	bool found = false;

	pthread_mutex_lock(&f->lock);
	for (uint32_t i = 1; i < f->n && !found; i++)
		if (!f->obj[i].gone && nfs4r_oid_eq(&f->obj[i].parent, dir) && strcmp(f->obj[i].name, name->s) == 0) {
			set_dirent(f, i, out);
			found = true;
		}
	pthread_mutex_unlock(&f->lock);
	return found;
}

void nfs4r_store_log_range(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn *first, nfs4r_lsn *last)
{
	*last = of(s)->own_end;
	*first = *last ? 1 : 0;
}

void nfs4r_store_get_stats(struct nfs4r_store *s, struct nfs4r_store_stats *out)
{
	*out = (struct nfs4r_store_stats){ .journal_bytes = 3 << 20, .segments = 2, .rows_dirty = 7, .checkpoints = 4, .last_checkpoint_ms = 12 };
}

void nfs4r_handle(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct nfs4r_lhandle *out)
{
	struct fake *f = of(eng->store);

	pthread_mutex_lock(&f->lock);
	struct fake_object *o = find(f, oid);
	out->len = o && !o->lost ? sizeof(*oid) : 0;
	memcpy(out->b, oid, sizeof(*oid));
	pthread_mutex_unlock(&f->lock);
}

/* ---- local files ---- */

static struct fake_object *by_handle(struct fake *f, const struct nfs4r_lhandle *h)
{
	struct nfs4r_oid oid;

	memcpy(&oid, h->b, sizeof(oid));
	return find(f, &oid);
}

static enum nfs4r_status l_getattr(void *ctx, const struct nfs4r_lhandle *h, struct nfs4r_attrs *out)
{
	struct fake *f = ctx;

	pthread_mutex_lock(&f->lock);
	struct fake_object *o = by_handle(f, h);
	*out = (struct nfs4r_attrs){ .type = o->type, .mode = o->mode, .size = o->len };
	if (f->reads_changing) {
		f->reads_changing--;
		o->version++;
	}
	pthread_mutex_unlock(&f->lock);
	return NFS4R_OK;
}

static enum nfs4r_status l_read(void *ctx, const struct nfs4r_lhandle *h, uint64_t off, void *bytes, uint32_t *len, bool *eof)
{
	struct fake *f = ctx;

	pthread_mutex_lock(&f->lock);
	struct fake_object *o = by_handle(f, h);
	uint64_t left = off < o->len ? o->len - off : 0;
	if (*len > left)
		*len = (uint32_t)left;
	memcpy(bytes, o->bytes + (left ? off : 0), *len);
	*eof = off + *len >= o->len;
	f->reads++;
	pthread_mutex_unlock(&f->lock);
	return NFS4R_OK;
}

static enum nfs4r_status l_readlink(void *ctx, const struct nfs4r_lhandle *h, char *text, uint32_t *len)
{
	bool eof;

	return l_read(ctx, h, 0, text, len, &eof);
}

static enum nfs4r_status l_listxattr(void *ctx, const struct nfs4r_lhandle *h, char *names, uint32_t *len)
{
	static const char two[] = "b\0a"; /* in no order, as file systems do */
	struct fake *f = ctx;

	/* Odd servers list them the other way round: the order must not matter. */
	memcpy(names, f->eng.cfg.rpc.self % 2 ? "a\0b" : two, sizeof(two));
	*len = sizeof(two);
	return NFS4R_OK;
}

static enum nfs4r_status l_getxattr(void *ctx, const struct nfs4r_lhandle *h, const char *name, void *val, uint32_t *len)
{
	memcpy(val, name, 1);
	*len = 1;
	return NFS4R_OK;
}

static enum nfs4r_status l_lookup(void *ctx, const struct nfs4r_lhandle *dir, const char *name, struct nfs4r_lhandle *out)
{
	struct fake *f = ctx;
	enum nfs4r_status st = NFS4R_NOENT;

	pthread_mutex_lock(&f->lock);
	struct fake_object *d = by_handle(f, dir);
	for (uint32_t i = 0; i < f->n && st != NFS4R_OK; i++)
		if (nfs4r_oid_eq(&f->obj[i].parent, &d->oid) && strcmp(f->obj[i].name, name) == 0 && !f->obj[i].unnamed) {
			out->len = sizeof(f->obj[i].oid);
			memcpy(out->b, &f->obj[i].oid, sizeof(f->obj[i].oid));
			st = NFS4R_OK;
		}
	pthread_mutex_unlock(&f->lock);
	return st;
}

static enum nfs4r_status l_readdir(void *ctx, const struct nfs4r_lhandle *dir, bool (*fn)(void *arg, const char *name), void *arg)
{
	struct fake *f = ctx;

	if (f->foreign[0] && nfs4r_oid_eq(&by_handle(f, dir)->oid, &f->eng.root))
		fn(arg, f->foreign);
	return NFS4R_OK;
}

/* All bytes are stored. */
static enum nfs4r_status l_seek(void *ctx, const struct nfs4r_lhandle *h, uint64_t off, bool hole, uint64_t *result, bool *eof)
{
	struct fake *f = ctx;

	pthread_mutex_lock(&f->lock);
	uint64_t end = by_handle(f, h)->len;
	pthread_mutex_unlock(&f->lock);
	if (off >= end)
		return NFS4R_NXIO;
	*result = hole ? end : off;
	*eof = *result == end;
	return NFS4R_OK;
}

static uint32_t l_locks(void *ctx, const struct nfs4r_oid *oid, struct nfs4r_lock_info *out, uint32_t max)
{
	struct fake *f = ctx;
	uint32_t total = 0;

	for (uint32_t i = 0; i < f->nlocks + f->nlocks_more; i++) {
		const struct nfs4r_lock_info *l = &f->locks[i < f->nlocks ? i : f->nlocks - 1];

		if ((oid == NULL || nfs4r_oid_eq(oid, &l->oid)) && total++ < max)
			out[total - 1] = *l;
	}
	return total;
}

static void l_count_locks(void *ctx, struct nfs4r_locks_count *out)
{
	const struct fake *f = ctx;

	*out = (struct nfs4r_locks_count){ .files = f->nlocks > 0, .ranges = f->nlocks, .waiting = f->nlocks_more };
}

static const struct nfs4r_lops lops = {
	.lookup = l_lookup, .readdir = l_readdir, .getattr = l_getattr, .read = l_read, .readlink = l_readlink, .listxattr = l_listxattr, .getxattr = l_getxattr, .seek = l_seek, .locks = l_locks, .count_locks = l_count_locks
};

/* ---- core ---- */

void nfs4r_core_get_stats(const struct nfs4r_core *c, struct nfs4r_core_stats *out)
{
	*out = of(c)->stats;
	out->controls_own = of(c)->ncontrols;
	out->controls_foreign = 3;
	out->ops_waiting = of(c)->nwaiting;
}

bool nfs4r_core_get_peer(const struct nfs4r_core *c, nfs4r_server_id id, struct nfs4r_core_peer *out)
{
	struct fake *f = of(c);

	if (id > FAKE_SERVERS)
		return false;
	*out = f->peer[id];
	return true;
}

static void list_change(struct fake *f, nfs4r_server_id s, const struct nfs4r_address *a)
{
	struct nfs4r_rpc_servers *l = &f->eng.membership.list;
	uint32_t i = 0;

	while (i < l->n && l->list[i].id != s)
		i++;
	if (a) {
		l->list[i].id = s;
		l->list[i].port = a->port;
		snprintf(l->list[i].host, sizeof(l->list[i].host), "%s", a->address);
		l->list[i].nkeys = (uint8_t)a->nkeys;
		memcpy(l->list[i].key, a->keys, sizeof(a->keys));
		l->n += i == l->n;
		f->eng.membership.servers |= NFS4R_BIT(s);
	} else if (i < l->n) {
		l->list[i] = l->list[--l->n];
		f->eng.membership.servers &= ~NFS4R_BIT(s);
	}
}

/* Two looks after it was asked for it is done; or it came to nothing. */
static void carry_on(struct fake *f)
{
	struct nfs4r_core_view *v = &f->view;

	if (!f->changes || --f->changes)
		return;
	if (v->adding && v->adding != f->refuses)
		v->adopted.voters |= NFS4R_BIT(v->adding);
	if (v->removing)
		list_change(f, v->removing, NULL);
	if (v->reconf_epoch)
		v->adopted.num = v->reconf_epoch << NFS4R_RECONF_SHIFT;
	if (v->finishing) {
		v->adopted.settings = f->may_finish;
		f->may_finish.protocol = 0;
	}
	v->finishing = false;
	if (v->setting && !f->loses_set)
		*(v->setting == NFS4R_VOLUME_ROUND_TRIP ? &v->adopted.settings.keys.round_trip_ms : &v->adopted.settings.keys.durability) = f->sets;
	v->setting = 0;
	v->adding = v->removing = v->rekeying = 0;
	v->reconf_epoch = 0;
	snprintf(v->waits, sizeof(v->waits), "%s", f->refuses ? "its store is of another volume" : "");
}

void nfs4r_core_get_view(const struct nfs4r_core *c, struct nfs4r_core_view *out)
{
	struct fake *f = of(c);

	carry_on(f);
	*out = f->view;
}

bool nfs4r_core_locks_shared(const struct nfs4r_core *c)
{
	return of(c)->locks_shared;
}

void nfs4r_core_each_lock(const struct nfs4r_core *c, const struct nfs4r_oid *oid, bool (*fn)(void *arg, const struct nfs4r_core_lock *i), void *arg)
{
	for (uint32_t i = 0; i < of(c)->ndecided; i++)
		if (!oid || nfs4r_oid_eq(oid, &of(c)->decided[i].oid))
			fn(arg, &of(c)->decided[i]);
}

void nfs4r_core_count_locks(const struct nfs4r_core *c, struct nfs4r_lock_counts *out)
{
	const struct fake *f = of(c);

	*out = (struct nfs4r_lock_counts){ .ranges = f->ndecided, .denying = f->ndenies, .guarded = f->ndenies > 0, .gaps = f->gap.depth > 0, .gap_since_ms = f->gap.depth ? 1 : 0, .reclaiming = f->gap.depth > 0, .reclaim_until_ms = UINT64_MAX / 2 };
}

enum nfs4r_lock_source nfs4r_core_lock_source(const struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	const struct fake *f = of(c);

	for (uint32_t i = 0; i < f->ndecided; i++)
		if (nfs4r_oid_eq(oid, &f->decided[i].oid))
			return NFS4R_LOCKS_FROM_TABLE;
	return f->gap.depth && nfs4r_oid_eq(oid, &f->gap.oid) ? NFS4R_LOCKS_UNKNOWN : NFS4R_LOCKS_FROM_ROW;
}

void nfs4r_core_each_deny(const struct nfs4r_core *c, const struct nfs4r_oid *oid, bool (*fn)(void *arg, const struct nfs4r_core_deny *i), void *arg)
{
	const struct fake *f = of(c);

	for (uint32_t i = 0; i < f->ndenies; i++)
		if (!oid || nfs4r_oid_eq(oid, &f->denies[i].oid))
			fn(arg, &f->denies[i]);
}

void nfs4r_core_each_gap(const struct nfs4r_core *c, const struct nfs4r_oid *oid, bool (*fn)(void *arg, const struct nfs4r_core_gap *i), void *arg)
{
	const struct fake *f = of(c);

	if (f->gap.depth && (!oid || nfs4r_oid_eq(oid, &f->gap.oid)))
		fn(arg, &(struct nfs4r_core_gap){ .controls = &f->gap, .ncontrols = 1, .since_ms = 1, .lists = f->gap_lists, .clients = f->gap_clients, .until_ms = f->gap_until_ms });
}

void nfs4r_clients(struct nfs4r_engine *eng, nfs4r_server_id server, bool (*fn)(void *arg, const struct nfs4r_client_entry *k), void *arg)
{
	const struct fake *f = of(eng->core);

	for (uint32_t i = 0; i < f->nclients; i++)
		if (f->clients[i].server == server)
			fn(arg, &f->clients[i]);
}

nfs4r_lsn nfs4r_core_own_end(const struct nfs4r_core *c)
{
	return of(c)->own_end;
}

void nfs4r_core_each_control(const struct nfs4r_core *c, bool (*fn)(void *arg, const struct nfs4r_control_info *i), void *arg)
{
	struct fake *f = of(c);

	for (uint32_t i = 0; i < f->ncontrols; i++) {
		if (f->rows) {
			if (!fn(arg, &f->rows[i]))
				return;
			continue;
		}
		struct nfs4r_control_info info = { .owner = i % 2 ? 2 : 1, .pid = { 1, i }, .kind = NFS4R_PROPOSED, .won = true, .acked_by_all = i % 3 };

		info.control.oid = f->obj[i % f->n].oid;
		info.control.depth = i % 2 ? NFS4R_DEEP : NFS4R_SHALLOW;
		if (!fn(arg, &info))
			return;
	}
}

void nfs4r_core_each_waiting(const struct nfs4r_core *c, bool (*fn)(void *arg, const struct nfs4r_waiting_info *i), void *arg)
{
	struct fake *f = of(c);

	for (uint32_t i = 0; i < f->nwaiting; i++)
		if (!fn(arg, &f->waiting[i % 4]))
			return;
}

enum nfs4r_status nfs4r_core_may_abandon(const struct nfs4r_core *c, nfs4r_server_id s, uint64_t *lost, char *why, size_t why_len)
{
	struct fake *f = of(c);

	*lost = f->lost;
	snprintf(why, why_len, "it is a member of the view");
	return s == f->may_give_up ? NFS4R_OK : NFS4R_INVAL;
}

void nfs4r_core_get_room(const struct nfs4r_core *c, struct nfs4r_core_room *out)
{
	*out = of(c)->room;
}

void nfs4r_core_retained_for(const struct nfs4r_core *c, nfs4r_servers *retained_for, nfs4r_servers *late)
{
	*retained_for = of(c)->retained_for;
	*late = of(c)->late;
}

void nfs4r_store_retained(struct nfs4r_store *s, uint64_t max_bytes, uint64_t max_age_s, uint64_t now_s, struct nfs4r_store_retained *out)
{
	*out = ((struct fake *)s)->kept;
}

static enum nfs4r_status may_change(const struct fake *f, nfs4r_servers set, char *why, size_t why_len)
{
	snprintf(why, why_len, "do something else");
	return set & ~f->may_change ? NFS4R_INVAL : NFS4R_OK;
}

enum nfs4r_status nfs4r_core_may_finish_upgrade(const struct nfs4r_core *c, struct nfs4r_volume_settings *to, char *why, size_t why_len)
{
	*to = of(c)->may_finish;
	snprintf(why, why_len, "server 2 is not heard, so its release is not known");
	return to->protocol ? NFS4R_OK : NFS4R_INVAL;
}

/* Of Durability and Max_Round_Trip only. */
enum nfs4r_status nfs4r_core_may_set(const struct nfs4r_core *c, enum nfs4r_volume_key key, uint32_t value, struct nfs4r_volume_settings *to, char *why, size_t why_len)
{
	*to = of(c)->view.adopted.settings;
	if (key == NFS4R_VOLUME_ROUND_TRIP)
		to->keys.round_trip_ms = value;
	else
		to->keys.durability = value;
	snprintf(why, why_len, "another setting is being changed");
	return of(c)->refuses_set ? NFS4R_INVAL : NFS4R_OK;
}

const struct nfs4r_view *nfs4r_core_adopted(const struct nfs4r_core *c)
{
	return &of(c)->view.adopted;
}

enum nfs4r_status nfs4r_core_may_add(const struct nfs4r_core *c, nfs4r_server_id s, char *why, size_t why_len)
{
	if (of(c)->eng.membership.servers & NFS4R_BIT(s)) {
		snprintf(why, why_len, "it already belongs to this volume");
		return NFS4R_INVAL;
	}
	return may_change(of(c), NFS4R_BIT(s), why, why_len);
}

enum nfs4r_status nfs4r_core_may_remove(const struct nfs4r_core *c, nfs4r_server_id s, bool abandon, uint64_t *lost, char *why, size_t why_len)
{
	*lost = abandon ? of(c)->lost : 0;
	return may_change(of(c), NFS4R_BIT(s), why, why_len);
}

/* Of a server that has keys in the view, one stays, and another one goes when nobody is missing. */
enum nfs4r_status nfs4r_core_may_set_keys(const struct nfs4r_core *c, nfs4r_server_id s, const struct nfs4r_key_fingerprint *keys, uint32_t n, bool abandon, char *why,
					  size_t why_len)
{
	struct fake *f = of(c);
	const struct nfs4r_address *now = f->view.adopted.nbook && s && s <= f->view.adopted.nbook ? &f->view.adopted.addresses[s - 1] : NULL;

	if (!(f->eng.membership.servers & NFS4R_BIT(s)) || !n) {
		snprintf(why, why_len, "it does not belong to this volume");
		return NFS4R_INVAL;
	}
	if (!now || now->nkeys < 2 || n == 2 || abandon || !f->keys_wait)
		return NFS4R_OK;
	f->keys_wait--;
	snprintf(why, why_len, "the old key stays until these servers have the new one on their disks: 3");
	return NFS4R_DELAY;
}

enum nfs4r_status nfs4r_core_may_reconfigure(const struct nfs4r_core *c, nfs4r_servers set, char *why, size_t why_len)
{
	struct fake *f = of(c);

	if (++f->asked == f->silent_after) {
		f->view.peer[3].known = false;
		f->may_change = set;
	}
	return may_change(f, set, why, why_len);
}

void nfs4r_core_loss_window(const struct nfs4r_core *c, uint64_t *entries, uint64_t *bytes, uint64_t *age_ms)
{
	*entries = of(c)->lost;
	*bytes = 100 * *entries;
	*age_ms = 3;
}

/* ---- the rest of the engine ---- */

void engine_step(struct nfs4r_engine *eng, struct nfs4r_event *ev)
{
	struct fake *f = of(eng->store);

	f->changes = 3;
	switch (ev->type) {
	case NFS4R_EV_ABANDON:
		f->abandoned = ev->peer;
		break;
	case NFS4R_EV_ADD_SERVER:
		for (uint32_t i = 0; i < ev->nall; i++) {
			assert(i == 0 || ev->all[i].id > ev->all[i - 1].id);
			if (ev->peer != f->refuses)
				list_change(f, ev->all[i].id, &ev->all[i]);
		}
		f->view.adding = ev->peer;
		break;
	case NFS4R_EV_REMOVE_SERVER:
		f->view.removing = ev->peer;
		break;
	case NFS4R_EV_SERVER_KEYS:
		f->view.rekeying = ev->peer;
		if (ev->peer == f->keys_lost) {
			f->keys_lost = 0;
			break;
		}
		f->view.adopted.nbook = ev->nall;
		memcpy(f->view.adopted.addresses, ev->all, ev->nall * sizeof(ev->all[0]));
		for (uint32_t i = 0; i < ev->nall; i++)
			list_change(f, ev->all[i].id, &ev->all[i]);
		break;
	case NFS4R_EV_FINISH_UPGRADE:
		f->view.finishing = true;
		break;
	case NFS4R_EV_SET:
		f->view.setting = ev->key;
		f->sets = ev->value;
		break;
	case NFS4R_EV_RECONFIGURE:
		f->view.reconf_epoch = ev->set ? 1 : 0;
		f->view.reconf_set = ev->set;
		snprintf(f->view.waits, sizeof(f->view.waits), "forced reconfiguration: server 2 needs the same order");
		break;
	default:
		assert(false);
	}
}

bool replicate_staging_is_name(const char *name)
{
	return false;
}

bool replicate_staging_is_in(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, const struct nfs4r_oid *oid)
{
	return true;
}

bool engine_import_is_open(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct import_times *t)
{
	return false;
}

bool nfs4r_core_moves(const struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	return false;
}

bool engine_is_alone(const struct nfs4r_engine *eng)
{
	return false;
}

void resync_heal_count(struct nfs4r_engine *eng, struct behind_counts *out)
{
	*out = of(eng->store)->behind;
}

uint64_t resync_saved(const struct nfs4r_engine *eng)
{
	return of(eng->store)->saved;
}

/* The copy of @oid becomes that of one of @w->from. */
enum nfs4r_status resync_heal(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct behind_want *w)
{
	struct fake *f = of(eng->store), *src;

	w->took = (nfs4r_server_id)__builtin_ctzll(w->from);
	src = servers[w->took];
	pthread_mutex_lock(&f->lock);
	struct fake_object *mine = find(f, oid), *theirs = find(src, oid);
	free(mine->bytes);
	mine->bytes = strdup(theirs->bytes);
	mine->len = theirs->len;
	mine->mode = theirs->mode;
	mine->lost = false;
	f->mended++;
	pthread_mutex_unlock(&f->lock);
	return NFS4R_OK;
}

enum nfs4r_status resync_heal_names(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, uint64_t *moved)
{
	struct fake *f = of(eng->store);

	*moved = 1;
	f->foreign[0] = '\0';
	return NFS4R_OK;
}

void engine_log(struct nfs4r_engine *eng, enum nfs4r_log_level level, const char *fmt, ...)
{
}

void membership_identities_differ(struct nfs4r_engine *eng, nfs4r_server_id peer, char *text, size_t len)
{
	text[0] = '\0';
}

const char *membership_come_back(const struct nfs4r_engine *eng, char *buf, size_t len)
{
	snprintf(buf, len, "server %u was removed", eng->cfg.rpc.self);
	return buf;
}

const char *engine_server_list(nfs4r_servers set, char *buf, size_t len)
{
	snprintf(buf, len, "0x%x", (unsigned)set);
	return buf;
}

bool engine_filter_local(struct fastpath *fp, const struct nfs4r_oid *oid, bool is_dir)
{
	return true;
}

uint64_t replicate_sender_payload_bytes(struct distributor *d)
{
	return 1 << 20;
}

/* ---- transport ---- */

bool nfs4r_rpc_get_stats(struct nfs4r_rpc *rpc, nfs4r_server_id peer, struct nfs4r_rpc_peer_stats *out)
{
	struct fake *f = of(rpc);

	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&f->lock);
	out->up = f->up[peer];
	pthread_mutex_unlock(&f->lock);
	out->rtt_ms = out->up ? 80.25 : -1;
	out->connects = 1;
	out->security = out->up ? f->security : 0;
	snprintf(out->state, sizeof(out->state), "%s", out->up ? "up" : "connecting");
	snprintf(out->version, sizeof(out->version), "0.1+build%u", peer);
	out->protocol = (struct nfs4r_versions){ 9, 10 };
	out->disk_format = (struct nfs4r_versions){ 1, 1 };
	out->speaks = out->up ? 9 : 0;
	out->ends_s = f->ends_s;
	pthread_mutex_lock(&f->lock);
	out->to_renew = peer == 2 && !f->files_wait && f->renew_wait > 0 && f->view.adopted.addresses[f->eng.cfg.rpc.self - 1].nkeys == 2;
	f->renew_wait -= out->to_renew;
	pthread_mutex_unlock(&f->lock);
	return true;
}

/* The newest of the keys by which it is known, if it has read the files already. */
bool nfs4r_rpc_get_own(struct nfs4r_rpc *rpc, struct nfs4r_rpc_own *out)
{
	struct fake *f = of(rpc);
	const struct nfs4r_address *a = &f->view.adopted.addresses[f->eng.cfg.rpc.self - 1];

	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&f->lock);
	bool old = f->files_wait > 0;
	f->files_wait -= old && a->nkeys == 2;
	out->has_key = f->security == NFS4R_SECURITY_TLS || f->eng.cfg.rpc.security == NFS4R_SECURITY_TLS;
	if (a->nkeys)
		out->key = a->keys[old ? 0 : a->nkeys - 1];
	pthread_mutex_unlock(&f->lock);
	out->ends_s = f->ends_s;
	return out->has_key;
}

enum nfs4r_status nfs4r_rpc_send(struct nfs4r_rpc *rpc, nfs4r_server_id to, enum nfs4r_lane lane, const struct nfs4r_msg *msg)
{
	struct fake *f = of(rpc);

	pthread_mutex_lock(&f->lock);
	bool up = f->up[to], mute = f->mute[to];
	pthread_mutex_unlock(&f->lock);
	if (!up)
		return NFS4R_UNKNOWN;
	if (mute && msg->type == NFS4R_MSG_VERIFY)
		return NFS4R_OK;
	struct nfs4r_msg *copy = malloc(sizeof(*copy));
	*copy = *msg;
	if (msg->type == NFS4R_MSG_VERIFY_ANSWER)
		nfs4r_buf_get(copy->verify.names);
	if (msg->type == NFS4R_MSG_VERIFY)
		admin_verify_serve(&servers[to]->eng, f->eng.cfg.rpc.self, copy);
	else
		admin_verify_answer(&servers[to]->eng, f->eng.cfg.rpc.self, copy);
	return NFS4R_OK;
}

void nfs4r_rpc_pause(struct nfs4r_rpc *rpc, nfs4r_server_id peer, bool hold)
{
}

void nfs4r_rpc_blame(struct nfs4r_rpc *rpc, nfs4r_server_id peer, const char *why)
{
	abort(); /* no answer waits here */
}

uint64_t nfs4r_rpc_answers(struct nfs4r_rpc *rpc, nfs4r_server_id to)
{
	return 0;
}

void engine_send(struct nfs4r_engine *eng, nfs4r_server_id to, const struct nfs4r_msg *msg)
{
	(void)nfs4r_rpc_send(eng->rpc, to, NFS4R_LANE_REQUEST, msg);
}

/* ---- life ---- */

void fake_connect(struct fake **all, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < n; k++)
			all[i]->up[all[k]->eng.cfg.rpc.self] = i != k;
}

struct fake *fake_new(nfs4r_server_id self, const char *folder)
{
	struct fake *f = calloc(1, sizeof(*f));
	struct nfs4r_engine *eng = &f->eng;

	pthread_mutex_init(&f->lock, NULL);
	pthread_mutex_init(&eng->lock, NULL);
	snprintf(eng->cfg.volume_name, sizeof(eng->cfg.volume_name), "home");
	snprintf(eng->cfg.control_socket, sizeof(eng->cfg.control_socket), "%s/%u.sock", folder, self);
	eng->cfg.rpc.self = self;
	eng->cfg.rpc.protocol = (struct nfs4r_versions){ 9, 10 };
	eng->cfg.rpc.disk_format = (struct nfs4r_versions){ 1, 1 };
	eng->cfg.rpc.nservers = FAKE_SERVERS;
	for (uint32_t i = 0; i < FAKE_SERVERS; i++) {
		eng->cfg.rpc.servers[i].id = (nfs4r_server_id)(i + 1);
		snprintf(eng->cfg.rpc.servers[i].host, sizeof(eng->cfg.rpc.servers[i].host), "10.0.0.%u", i + 1);
		eng->cfg.rpc.servers[i].port = 294;
	}
	eng->cfg.rpc.volume[3] = 7;
	eng->cfg.durability = NFS4R_DURABILITY_LOCAL;
	eng->cfg.directory_reads = NFS4R_DIRECTORY_READS_STRICT;
	eng->cfg.max_round_trip_ms = 100;
	eng->cfg.lease_ms = eng->cfg.silence_ms = 1000;
	eng->cfg.drift_permille = 10;
	engine_volume_begin(eng);
	eng->membership.list.n = FAKE_SERVERS;
	memcpy(eng->membership.list.list, eng->cfg.rpc.servers, sizeof(eng->membership.list.list));
	eng->membership.servers = NFS4R_BIT(1) | NFS4R_BIT(2) | NFS4R_BIT(3);
	nfs4r_oid_root(&eng->root, eng->cfg.rpc.volume);
	eng->ops = &lops;
	eng->ctx = f;
	eng->store = (struct nfs4r_store *)f;
	eng->core = (struct nfs4r_core *)f;
	eng->rpc = (struct nfs4r_rpc *)f;
	eng->inc = 9;
	f->stats.elections = 42;
	f->view.fixed = f->view.member = true;
	f->view.adopted.members = f->view.adopted.voters = f->view.adopted.servers = eng->membership.servers;
	eng->runtime.ready = true;
	eng->started_at_ms = engine_now_ms();
	engine_asked_init(eng);
	eng->runtime.executors = engine_pool_create(eng, "exec", 1, NULL);
	eng->admin.verifiers = engine_pool_create(eng, "verify", 1, NULL);
	eng->replicate.appliers = engine_pool_create(eng, "apply", 1, NULL);
	engine_pool_begin(eng->admin.verifiers);
	engine_pool_begin(eng->replicate.appliers);
	fake_add(f, 0, "", NFS4R_TYPE_DIR, "");
	servers[self] = f;
	return f;
}

void fake_stop(struct fake *f)
{
	f->eng.door.stopping = true;
	for (nfs4r_server_id id = 1; id <= FAKE_SERVERS; id++)
		admin_verify_forget(&f->eng, id);
	engine_pool_destroy(f->eng.admin.verifiers);
	engine_pool_destroy(f->eng.runtime.executors);
	engine_pool_destroy(f->eng.replicate.appliers);
}

void fake_free(struct fake *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		free(f->obj[i].bytes);
	pthread_mutex_destroy(&f->lock);
	pthread_mutex_destroy(&f->eng.lock);
	engine_asked_fini(&f->eng);
	free(f);
}

void fake_end(struct fake **all, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fake_stop(all[i]);
	for (unsigned i = 0; i < n; i++)
		fake_free(all[i]);
}

/* ---- directories ---- */

enum nfs4r_status engine_fs_private(const char *key, const char *path, char *why, size_t len)
{
	return NFS4R_OK;
}
