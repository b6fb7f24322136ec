/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Entries on their way to peers. The core says which (SEND_ENTRIES, within the peer's window); a thread per peer
 * fetches them and hands them to the transport, so that reading for a slow peer delays nobody else.
 *
 * The newest own entries are kept in memory with their payload, up to payload_bytes_max and until everybody has them; older ones
 * come from the journal, and their bytes are read back from the file (log 3.6), which costs disk reads
 * and no memory. Such an entry says so by its mark: the newest entry of the file when the read ended, also one that is being executed. What a mark
 * names is in the journal for good before the bytes leave: nobody could bring it, if this machine lost it, and those bytes would stay as they are.
 *
 * Each message costs several wake-ups here, at the peer, and here again for its positions. So a peer hears from us at most
 * every GAP_US: what comes after a pause goes at once, a stream goes in batches. Positions wait in the same place, the newest only. Those that an answer
 * may hang on go at once: that a checkpoint is wanted, and that more of the peer's log is stable here, which a checkpoint says and so is rare.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/locked.h"
#include "engine/replicate/replicate.h"

#define RECENT 16384 /* own entries kept in memory at most */
#define BATCH_ENTRIES 256 /* entries of one message */
#define BATCH_BYTES (1u << 20) /* payload of one message, about */
#define FUZZY_WAIT_MS 1000 /* for an update that is being executed, of whose bytes some may have been read */
#define GAP_US 4000 /* from one message of a stream to the next; little beside any round trip that is worth replicating over */

struct range {
	struct range *next;
	nfs4r_server_id log;
	nfs4r_lsn from, until;
};

struct peer_sender {
	struct distributor *d;
	nfs4r_server_id to;
	pthread_t thread;
	pthread_cond_t cond;
	bool running, idle, sending; /* sending: entries have left the list and are not with the transport yet */
	struct range *head, *last;
	nfs4r_lsn queued; /* of the own log, over this connection */
	struct nfs4r_msg *positions; /* to be sent, or NULL */
	nfs4r_lsn stable; /* of its log here, as the newest ones say */
	bool urgent; /* they wait for no gap */
	uint64_t generation; /* connection; what belongs to an older one is dropped */
};

struct distributor {
	struct nfs4r_engine *eng;
	pthread_mutex_t lock;
	bool begun, stop;
	struct nfs4r_entry *recent[RECENT]; /* by lsn % RECENT */
	nfs4r_lsn first, last; /* kept: first..last; first > last = none */
	uint64_t payload_bytes;
	struct peer_sender peers[NFS4R_SERVERS_MAX + 1];
};

/* ---- recent entries; d->lock held ---- */

/* Bytes of any number: a message has a limit, and so has what is kept. */
static uint64_t payload_of(const struct nfs4r_entry *e)
{
	uint64_t n = e->payload ? e->payload->len : 0;

	for (uint32_t i = 0; i < e->nparts; i++) {
		n += e->parts[i].attrs.acl ? e->parts[i].attrs.acl->len : 0;
		n += e->parts[i].nlocks * sizeof(*e->parts[i].locks) + (e->parts[i].client ? sizeof(*e->parts[i].client) : 0);
	}
	return n;
}

static void forget_first(struct distributor *d)
{
	struct nfs4r_entry **slot = &d->recent[d->first % RECENT];

	if (*slot) {
		d->payload_bytes -= payload_of(*slot);
		nfs4r_entry_put(*slot);
		*slot = NULL;
	}
	d->first++;
}

void replicate_sender_keep(struct distributor *d, struct nfs4r_entry *e)
{
	if (e->has_payload && !e->payload)
		return; /* its bytes are in the file only */
	pthread_mutex_lock(&d->lock);
	if (d->first > d->last || e->lsn >= d->last + RECENT || e->lsn + RECENT <= d->first) {
		while (d->first <= d->last)
			forget_first(d);
		if (e->lsn < d->first || e->lsn >= d->first + RECENT)
			d->first = e->lsn; /* else an older one may still come: they are done in any order */
		d->last = e->lsn - 1;
	}
	if (e->lsn >= d->first) { /* entries are done in any order within a small window */
		while (e->lsn >= d->first + RECENT)
			forget_first(d);
		d->recent[e->lsn % RECENT] = nfs4r_entry_get(e);
		d->payload_bytes += payload_of(e);
		if (e->lsn > d->last)
			d->last = e->lsn;
	}
	while (d->payload_bytes > d->eng->cfg.payload_bytes_max && d->first <= d->last)
		forget_first(d);
	pthread_mutex_unlock(&d->lock);
}

void replicate_sender_forget(struct distributor *d, nfs4r_lsn until)
{
	pthread_mutex_lock(&d->lock);
	while (d->first <= d->last && d->first <= until)
		forget_first(d);
	pthread_mutex_unlock(&d->lock);
}

static struct nfs4r_entry *recent_get(struct distributor *d, nfs4r_lsn lsn)
{
	struct nfs4r_entry *e = NULL;

	pthread_mutex_lock(&d->lock);
	if (lsn >= d->first && lsn <= d->last && d->recent[lsn % RECENT] && d->recent[lsn % RECENT]->lsn == lsn)
		e = nfs4r_entry_get(d->recent[lsn % RECENT]);
	pthread_mutex_unlock(&d->lock);
	return e;
}

uint64_t replicate_sender_payload_bytes(struct distributor *d)
{
	pthread_mutex_lock(&d->lock);
	uint64_t n = d->payload_bytes;
	pthread_mutex_unlock(&d->lock);
	return n;
}

/* ---- reading bytes back ---- */

struct awaited { /* index = server id: positions that marks of a batch name; 0: none */
	nfs4r_lsn lsn[NFS4R_SERVERS_MAX + 1];
};

/* After the read. Of a deleted object nothing tells by which entry: by all that are here. False: not now. */
static bool fuzzy(struct nfs4r_engine *eng, struct nfs4r_entry *e, struct awaited *w)
{
	struct nfs4r_row row;
	bool ok, await;

	pthread_mutex_lock(&eng->lock);
	if (nfs4r_store_row(eng->store, &e->parts[0].oid, &row) != NFS4R_KNOWN) {
		row.last_log = e->log;
		row.last_lsn = nfs4r_core_applied(eng->core, e->log);
	}
	ok = nfs4r_core_fuzzy(eng->core, e, row.last_log, row.last_lsn, &await);
	pthread_mutex_unlock(&eng->lock);
	if (ok && e->fuzzy_log && await && w->lsn[e->fuzzy_log] < e->fuzzy_lsn)
		w->lsn[e->fuzzy_log] = e->fuzzy_lsn;
	return ok;
}

/* eng->lock held. */
static bool is_here(struct nfs4r_engine *eng, const struct awaited *w, bool *any)
{
	bool here = true;

	*any = false;
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++) {
		*any |= w->lsn[s] != 0;
		here &= nfs4r_core_applied(eng->core, s) >= w->lsn[s];
	}
	return here;
}

/* False: not now, the peer asks again. */
static bool await_marks(struct nfs4r_engine *eng, const struct awaited *w)
{
	struct timespec until = engine_after_us(FUZZY_WAIT_MS * 1000L);
	bool any, here;
	int rc = 0;

	pthread_mutex_lock(&eng->lock);
	while (!(here = is_here(eng, w, &any)) && !eng->door.stopping && !rc)
		rc = engine_step_await(eng, &until);
	pthread_mutex_unlock(&eng->lock);
	return here && (!any || nfs4r_store_sync(eng->store, nfs4r_store_position(eng->store)) == NFS4R_OK);
}

static bool read_back(struct nfs4r_engine *eng, struct nfs4r_entry *e, struct awaited *w)
{
	struct nfs4r_part *p = &e->parts[0];
	struct nfs4r_lhandle h;
	uint32_t len = p->effect == NFS4R_EFF_WRITE ? (uint32_t)p->len : NFS4R_XATTR_VALUE_MAX;
	enum nfs4r_status st = NFS4R_NOENT;
	bool eof;

	struct nfs4r_buf *b = nfs4r_buf_new(len);
	if (!b)
		return false;
	nfs4r_handle(eng, &p->oid, &h);
	if (h.len && p->effect == NFS4R_EFF_WRITE)
		st = eng->ops->read(eng->ctx, &h, p->off, b->data, &len, &eof);
	else if (h.len && p->effect == NFS4R_EFF_XATTR && !p->xremove)
		st = eng->ops->getxattr(eng->ctx, &h, p->xname, b->data, &len);
	if (st == NFS4R_OK) {
		b->len = len;
		e->payload = b;
	} else if (eng->door.stopping) { /* that may be why */
		nfs4r_buf_put(b);
		return false;
	} else {
		nfs4r_buf_put(b); /* gone: the entry travels without bytes, a later one explains it */
	}
	return fuzzy(eng, e, w);
}

/* NULL: it is truncated, or its bytes cannot be had now. */
static struct nfs4r_entry *fetch(struct nfs4r_engine *eng, nfs4r_server_id log, nfs4r_lsn lsn, struct awaited *w)
{
	struct nfs4r_entry *e = log == eng->cfg.rpc.self ? recent_get(eng->replicate.distributor, lsn) : NULL;

	if (e)
		return e;
	e = nfs4r_store_log_read(eng->store, log, lsn);
	if (e && e->has_payload && !e->payload && !read_back(eng, e, w)) {
		nfs4r_entry_put(e);
		return NULL;
	}
	return e;
}

/* ---- sending ---- */

static nfs4r_lsn end_of_log(struct nfs4r_engine *eng, nfs4r_server_id log)
{
	nfs4r_lsn first, last;

	nfs4r_store_log_range(eng->store, log, &first, &last);
	return last;
}

/* They wait for no entries: the peer's answers and releases hang on them. No lock held. */
static void send_positions(struct distributor *d, struct peer_sender *p, uint64_t generation)
{
	struct nfs4r_msg *m;

	pthread_mutex_lock(&d->lock);
	m = p->positions;
	p->positions = NULL;
	p->urgent = false;
	pthread_mutex_unlock(&d->lock);
	if (m && generation == __atomic_load_n(&p->generation, __ATOMIC_ACQUIRE))
		engine_send(d->eng, p->to, m);
	free(m);
}

static void send_range(struct nfs4r_engine *eng, struct peer_sender *p, const struct range *r, uint64_t generation)
{
	nfs4r_lsn lsn = r->from;

	while (lsn <= r->until && generation == __atomic_load_n(&p->generation, __ATOMIC_ACQUIRE) && !eng->door.stopping) {
		struct nfs4r_entry *batch[BATCH_ENTRIES];
		struct nfs4r_msg *m = calloc(1, sizeof(*m));
		struct awaited w = { { 0 } };
		uint64_t bytes = 0;

		if (!m)
			return;
		send_positions(p->d, p, generation);
		m->type = NFS4R_MSG_ENTRIES;
		m->entries.log = r->log;
		m->entries.end = end_of_log(eng, r->log);
		while (lsn <= r->until && m->entries.n < BATCH_ENTRIES && bytes < BATCH_BYTES) {
			struct nfs4r_entry *e = fetch(eng, r->log, lsn, &w);

			if (!e) { /* the peer has it, or will ask again */
				lsn = r->until + 1;
				break;
			}
			batch[m->entries.n++] = e;
			bytes += payload_of(e) + 512;
			lsn++;
		}
		m->entries.entries = batch;
		if (!await_marks(eng, &w))
			lsn = r->until + 1;
		else if (m->entries.n)
			engine_send(eng, p->to, m);
		for (uint32_t i = 0; i < m->entries.n; i++)
			nfs4r_entry_put(batch[i]);
		free(m);
	}
}

/* All that has gathered. d->lock held on entry and exit. */
static void send_gathered(struct distributor *d, struct peer_sender *p)
{
	struct range *list = p->head;
	uint64_t generation = p->generation;

	assert(nfs4r_is_locked(&d->lock));
	p->head = p->last = NULL;
	p->sending = list;
	pthread_mutex_unlock(&d->lock);
	while (list) {
		struct range *r = list;

		list = r->next;
		send_range(d->eng, p, r, generation);
		free(r);
	}
	send_positions(d, p, generation);
	pthread_mutex_lock(&d->lock);
	p->sending = false;
}

/* d->lock held on entry and exit. */
static void rest(struct distributor *d, struct peer_sender *p)
{
	struct timespec until = engine_after_us(GAP_US);

	while (!p->urgent && !d->stop && pthread_cond_clockwait(&p->cond, &d->lock, CLOCK_MONOTONIC, &until) != ETIMEDOUT)
		;
}

static void *sender(void *arg)
{
	struct peer_sender *p = arg;
	struct distributor *d = p->d;

	pthread_mutex_lock(&d->lock);
	for (;;) {
		while ((!d->begun || (!p->head && !p->positions)) && !d->stop) {
			p->idle = true;
			pthread_cond_wait(&p->cond, &d->lock);
		}
		p->idle = false;
		pthread_mutex_unlock(&d->lock);
		engine_doubt_wait(d->eng); /* bytes in doubt are given to nobody (log 4.6) */
		pthread_mutex_lock(&d->lock);
		if (d->stop)
			break;
		send_gathered(d, p);
		rest(d, p);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

/* After something was queued for @p: its thread, unless it looks by itself. Releases d->lock. */
static void call_and_unlock(struct distributor *d, struct peer_sender *p)
{
	bool call = p->idle || p->urgent;

	p->idle = false;
	pthread_mutex_unlock(&d->lock);
	if (call) /* not under the lock, which the thread would find taken */
		pthread_cond_signal(&p->cond);
}

void replicate_sender_queue(struct distributor *d, nfs4r_server_id to, nfs4r_server_id log, nfs4r_lsn from, nfs4r_lsn until)
{
	struct peer_sender *p = &d->peers[to];

	pthread_mutex_lock(&d->lock);
	if (log == d->eng->cfg.rpc.self && until > p->queued)
		p->queued = until;
	if (p->last && p->last->log == log && p->last->until + 1 == from) {
		p->last->until = until;
	} else {
		struct range *r = malloc(sizeof(*r));

		if (!r)
			abort();
		*r = (struct range){ .log = log, .from = from, .until = until };
		if (p->last)
			p->last->next = r;
		else
			p->head = r;
		p->last = r;
	}
	call_and_unlock(d, p);
}

bool replicate_sender_was_queued(struct distributor *d, nfs4r_server_id to, nfs4r_lsn lsn)
{
	pthread_mutex_lock(&d->lock);
	bool was = lsn <= d->peers[to].queued;
	pthread_mutex_unlock(&d->lock);
	return was;
}

bool replicate_sender_on_its_way(struct distributor *d, nfs4r_server_id to)
{
	struct peer_sender *p = &d->peers[to];

	pthread_mutex_lock(&d->lock);
	bool here = p->head || p->sending;
	pthread_mutex_unlock(&d->lock);
	return here || nfs4r_rpc_pending(d->eng->rpc, to, NFS4R_LANE_BULK) > 0;
}

static bool more_is_stable(struct peer_sender *p, const struct nfs4r_msg *msg)
{
	nfs4r_lsn was = p->stable;

	for (uint32_t i = 0; i < msg->positions.n; i++)
		if (msg->positions.pos[i].log == p->to)
			p->stable = msg->positions.pos[i].stable;
	return p->stable != was;
}

void replicate_sender_positions(struct distributor *d, nfs4r_server_id to, const struct nfs4r_msg *msg)
{
	struct peer_sender *p = &d->peers[to];

	pthread_mutex_lock(&d->lock);
	if (!p->running || d->stop) {
		pthread_mutex_unlock(&d->lock);
		return;
	}
	if (!p->positions)
		p->positions = malloc(sizeof(*p->positions));
	if (!p->positions)
		abort();
	*p->positions = *msg;
	p->urgent |= msg->positions.wanted || more_is_stable(p, msg);
	call_and_unlock(d, p);
}

static void drop_queue(struct peer_sender *p)
{
	while (p->head) {
		struct range *r = p->head;

		p->head = r->next;
		free(r);
	}
	p->last = NULL;
	free(p->positions);
	p->positions = NULL;
}

void replicate_sender_reset(struct distributor *d, nfs4r_server_id peer)
{
	struct peer_sender *p = &d->peers[peer];

	pthread_mutex_lock(&d->lock);
	__atomic_add_fetch(&p->generation, 1, __ATOMIC_RELEASE);
	p->queued = 0;
	drop_queue(p);
	pthread_mutex_unlock(&d->lock);
}

struct distributor *replicate_sender_create(struct nfs4r_engine *eng)
{
	struct distributor *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->eng = eng;
	d->first = 1;
	pthread_mutex_init(&d->lock, NULL);
	for (nfs4r_server_id id = 0; id <= NFS4R_SERVERS_MAX; id++) {
		d->peers[id].d = d;
		d->peers[id].to = id;
		pthread_cond_init(&d->peers[id].cond, NULL);
	}
	return d;
}

void replicate_sender_serve(struct distributor *d, nfs4r_servers peers)
{
	pthread_mutex_lock(&d->lock);
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++) {
		struct peer_sender *p = &d->peers[id];

		if (p->running || d->stop || id == d->eng->cfg.rpc.self || !(peers & NFS4R_BIT(id)))
			continue;
		if (pthread_create(&p->thread, NULL, sender, p) != 0)
			continue;
		pthread_setname_np(p->thread, "nfs4r-sender");
		p->running = true;
	}
	pthread_mutex_unlock(&d->lock);
}

static void call_all(struct distributor *d)
{
	for (size_t i = 0; i <= NFS4R_SERVERS_MAX; i++)
		if (d->peers[i].running)
			pthread_cond_signal(&d->peers[i].cond);
}

void replicate_sender_begin(struct distributor *d)
{
	pthread_mutex_lock(&d->lock);
	d->begun = true;
	call_all(d);
	pthread_mutex_unlock(&d->lock);
}

void replicate_sender_stop(struct distributor *d)
{
	pthread_mutex_lock(&d->lock);
	d->stop = true;
	call_all(d);
	pthread_mutex_unlock(&d->lock);
	for (size_t i = 0; i <= NFS4R_SERVERS_MAX; i++)
		if (d->peers[i].running)
			pthread_join(d->peers[i].thread, NULL);
}

void replicate_sender_destroy(struct distributor *d)
{
	if (!d)
		return;
	for (size_t i = 0; i <= NFS4R_SERVERS_MAX; i++) {
		drop_queue(&d->peers[i]);
		if (d->peers[i].d)
			pthread_cond_destroy(&d->peers[i].cond);
	}
	while (d->first <= d->last)
		forget_first(d);
	pthread_mutex_destroy(&d->lock);
	free(d);
}
