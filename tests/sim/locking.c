/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Clients that lock ranges of files, and read and write under their locks. Each is a process with one lock owner at one server, and does one thing at a time. It takes the
 * part of Ganesha, too: the client is told of what is reserved for it, and asks again, or does not. All of that is told to the checker (locker.h). So is, after each event, which servers can serve.
 *
 * What a client believes it knows from the checker: there is no second list that could be wrong. A lock is given up, or lowered, when the client asks for that, since
 * the server may have done so long before the answer comes.
 *
 * Deadlocks are not detected by anybody. So whoever waits gives up after a while, and after the healing at once if it has another lock; that is a CANCEL. Clients die,
 * too: then everything is unlocked in their place, and a new client with another name comes.
 *
 * With plan.lock_clients every server lists its clients (locks 7), as the module does. A client begins before its first lock. It may be cut off from its server for a while. Then its lease may end: the server
 * says that it is gone, and when that is held gives back what it had. The client hears of the loss when it is back. After a restart of its server, and after FENCE, it reclaims what it had and says that it
 * has done with that. It may come back too late for that, and the core says that it is gone.
 *
 * All chance comes from a stream of its own: modes without locks draw nothing for it.
 */
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))
#define PATIENCE_LONG (8 * SECOND)
#define PIECES_MAX 128 /* of all files */

enum locking_state {
	LOCKING_IDLE = 1,
	LOCKING_ASKS, /* LOCK is under way, or is to be sent again */
	LOCKING_WAITS,
	LOCKING_READY, /* what it waited for is reserved */
	LOCKING_TESTS,
	LOCKING_WRITES,
	LOCKING_READS,
	LOCKING_ENDS /* UNLOCK, UNWAIT, CLOSE */
};

struct locking {
	enum locking_state state;
	/* What its server knows, and forgets when it ends. */
	bool begun; /* it is listed */
	bool goes, to_unlock, gone; /* its lease has ended: that is to be said; it is held, and what it had is to be given back; that is done, too */
	uint64_t said; /* EV_CLIENT is under way; 0: none */
	bool says_gone;
	/* It is cut off, or has died. */
	bool away, dead;
	uint64_t back_at;
	uint32_t owner; /* the checker's number */
	struct locker_range follows; /* another owner at its server has just given that back: it tries to get it next; type 0: nothing */
	struct locker_range want; /* LOCK, LOCK_TEST, UNLOCK; the words of READ and WRITE */
	enum nfs4r_lock_wait how;
	bool fetches; /* what it asks for is reserved */
	bool early; /* a notice came before the answer it belongs to */
	uint64_t patience_until, asks_again_at;
	uint32_t word;
	uint32_t opened, closing; /* set of files; the one whose CLOSE is under way */
	/* Its server forgot everything, or has fenced it; what it has is reclaimed first, piece by piece, and the state is that of before. */
	bool recovers, reclaims; /* a reclaim is under way, or to be sent again */
	bool fenced; /* an operation is under way that it asked for before it was fenced: it does not hear the answer */
	uint32_t npieces, at;
	struct locker_range pieces[PIECES_MAX];
};

static struct rng *chance(struct client *c)
{
	return &c->server->sim->locks_rng;
}

static bool maybe(struct client *c, uint32_t per_mille)
{
	return rng_chance(chance(c), per_mille);
}

static const char *const places[] = { "?", "as authority", "as holder", "given back" };
static const char *const lock_states[] = { "?", "set", "waits", "reserved" };

static bool print_lock(void *arg, const struct nfs4r_core_lock *i)
{
	struct server *v = arg;

	TRACE(v->sim, v, "   %s %s %s %llu..%llu of %llu at S%u, %s, n %llu", places[i->place & 3], oid_name(v->sim, &i->oid), i->lock.lock.type == NFS4R_LOCK_WRITE ? "W" : "R",
	      ULL(i->lock.lock.start), ULL(i->lock.lock.last), ULL(i->lock.lock.owner.owner[0]), i->lock.holder, lock_states[i->state & 3], ULL(i->lock.n));
	return true;
}

/* With a trace: what all servers know of locks at that moment. */
static void failed_by(struct sim *s)
{
	if (!locker_failure(s->locker))
		return;
	for (uint32_t i = 1; i <= s->plan.servers && s->trace; i++)
		if (s->servers[i].up)
			nfs4r_core_each_lock(s->servers[i].core, NULL, print_lock, &s->servers[i]);
	sim_fail(s, "locks: %s", locker_failure(s->locker));
}

static const struct nfs4r_oid *oid_of_file(struct sim *s, uint32_t file)
{
	return &s->objs[s->lock_files[file]].oid;
}

static struct nfs4r_lock_owner owner_of(uint32_t owner)
{
	return (struct nfs4r_lock_owner){ { 0x10cc, hash_mix(7, owner) }, { owner, 1 } };
}

static bool has(const struct client *c, uint32_t file)
{
	return locker_has_any(c->server->sim->locker, c->locking->owner, file);
}

/* ---- what is asked ---- */

static void think(struct client *c)
{
	struct sim *s = c->server->sim;

	client_wake_in(c, rng_time(chance(c), s->healed ? 5 * MS : s->plan.lock_think_us));
}

static void idle(struct client *c)
{
	c->locking->state = LOCKING_IDLE;
	c->locking->fetches = false;
	think(c);
}

static struct nfs4r_op *lock_op(struct client *c, uint32_t type, const struct locker_range *r)
{
	struct nfs4r_op *op = client_op(type);
	struct locking *k = c->locking;

	op->obj = *oid_of_file(c->server->sim, r->file);
	op->lock.lock.owner = owner_of(k->owner);
	op->lock.lock.type = r->type == LOCKER_WRITE ? NFS4R_LOCK_WRITE : NFS4R_LOCK_READ;
	op->lock.lock.start = r->start;
	op->lock.lock.last = r->last;
	if (type == NFS4R_OP_LOCK)
		op->lock.wait = k->how;
	return op;
}

static void submit(struct client *c, uint32_t type, const struct locker_range *r)
{
	client_submit(c, lock_op(c, type, r));
}

/* Of a client that locks something: within a step or not. */
static void say_client(struct client *c, bool begins)
{
	struct server *v = c->server;
	struct locking *k = c->locking;
	struct nfs4r_client who = { .minor = 1 };

	memcpy(who.id, owner_of(k->owner).client, sizeof(who.id));
	snprintf(who.name, sizeof(who.name), "client of owner %u", k->owner);
	k->said = ++v->sim->lock_client_waits;
	k->says_gone = !begins;
	server_step(v, &(struct nfs4r_event){ .type = NFS4R_EV_CLIENT, .wait_id = k->said, .client = &who, .ok = begins });
}

/* It has asked for all that it wants back. */
static void say_reclaimed(struct client *c)
{
	struct nfs4r_client who = { .minor = 1 };

	if (!c->server->sim->plan.lock_clients)
		return;
	memcpy(who.id, owner_of(c->locking->owner).client, sizeof(who.id));
	server_step(c->server, &(struct nfs4r_event){ .type = NFS4R_EV_CLIENT_RECLAIMED, .client = &who });
}

static bool is_listed(const struct client *c)
{
	return nfs4r_core_has_client(c->server->core, c->server->id, owner_of(c->locking->owner).client);
}

static void ask(struct client *c)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	k->state = LOCKING_ASKS;
	k->early = false;
	if (s->plan.lock_clients && !k->begun) {
		say_client(c, true);
		return;
	}
	if (!k->fetches && !locker_is_waiting(s->locker, k->owner))
		locker_asks(s->locker, s->now, k->owner, &k->want);
	submit(c, NFS4R_OP_LOCK, &k->want);
}

static void unlock(struct client *c, const struct locker_range *r)
{
	struct sim *s = c->server->sim;

	c->locking->state = LOCKING_ENDS;
	locker_unlocks(s->locker, s->now, c->locking->owner, r);
	submit(c, NFS4R_OP_UNLOCK, r);
}

/* It waits no more, or does not want what is reserved for it. */
static void give_up(struct client *c)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	s->totals.lock_cancels++;
	locker_gives_up(s->locker, s->now, k->owner);
	locker_gives_back(s->locker, s->now, k->owner);
	TRACE(s, c->server, "owner %u waits no more", k->owner);
	k->state = LOCKING_ENDS;
	submit(c, NFS4R_OP_UNWAIT, &k->want);
}

static void send_write(struct client *c)
{
	struct sim *s = c->server->sim;
	struct nfs4r_op *op = client_op(NFS4R_OP_WRITE);
	const struct locker_range *r = &c->locking->want;

	op->obj = *oid_of_file(s, r->file);
	op->offset = r->start;
	op->length = r->last + 1 - r->start;
	op->data = nfs4r_buf_new(op->length);
	for (uint32_t i = 0; i < op->length / 4; i++)
		memcpy(op->data->data + 4 * i, &c->locking->word, 4);
	op->under_open = true;
	op->stable = s->plan.lock_stable;
	client_submit(c, op);
}

/* Some words within @r; false: there is none. */
static bool some_words(struct client *c, const struct locker_range *r, struct locker_range *out)
{
	uint64_t last = r->last < LOCKER_BYTES ? r->last : LOCKER_BYTES - 1;
	uint32_t first = (uint32_t)(r->start + 3) / 4, end = (uint32_t)(last + 1) / 4;

	if (first >= end)
		return false;
	first += (uint32_t)rng_below(chance(c), end - first);
	end = first + 1 + (uint32_t)rng_below(chance(c), end - first);
	*out = (struct locker_range){ r->file, r->type, 4 * first, 4 * end - 1 };
	return true;
}

static void write_some(struct client *c, const struct locker_range *piece)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	if (!some_words(c, piece, &k->want)) {
		idle(c);
		return;
	}
	k->state = LOCKING_WRITES;
	k->word = ++s->next_write;
	TRACE(s, c->server, "owner %u writes %u to %s %llu..%llu", k->owner, k->word, oid_name(s, oid_of_file(s, k->want.file)), ULL(k->want.start), ULL(k->want.last));
	s->totals.lock_writes++;
	locker_write_begins(s->locker, k->owner, k->want.file, (uint32_t)k->want.start / 4, (uint32_t)(k->want.last + 1 - k->want.start) / 4, k->word);
	send_write(c);
}

static void read_some(struct client *c, const struct locker_range *piece)
{
	struct locking *k = c->locking;

	if (!some_words(c, piece, &k->want)) {
		idle(c);
		return;
	}
	k->state = LOCKING_READS;
	c->busy = true;
	c->server->sim->totals.lock_reads++;
	read_start(c->server, c, NFS4R_RD_READ, c->server->sim->lock_files[k->want.file], 0);
}

void locking_read(struct client *c, struct nfs4r_read *r)
{
	const struct locker_range *want = &c->locking->want;

	r->locked = true;
	r->owner = owner_of(c->locking->owner);
	r->offset = want->start;
	r->length = want->last + 1 - want->start;
}

static void close_file(struct client *c, uint32_t file)
{
	struct nfs4r_op *op = client_op(NFS4R_OP_CLOSE);

	op->obj = *oid_of_file(c->server->sim, file);
	c->locking->state = LOCKING_ENDS;
	c->locking->closing = file;
	client_submit(c, op);
}

static void opens(struct client *c, uint32_t file, bool more)
{
	struct nfs4r_event *ev = calloc(1, sizeof(*ev));

	ev->type = more ? NFS4R_EV_OPENED : NFS4R_EV_CLOSED;
	ev->oid = *oid_of_file(c->server->sim, file);
	if (more)
		c->locking->opened |= 1u << file;
	else
		c->locking->opened &= ~(1u << file);
	server_soon(c->server, ev);
}

/* ---- what is wanted ---- */

static void random_range(struct client *c, struct locker_range *r)
{
	struct rng *g = chance(c);

	r->file = (uint32_t)rng_below(g, c->server->sim->nlock_files);
	r->type = rng_chance(g, 500) ? LOCKER_WRITE : LOCKER_READ;
	switch (rng_below(g, 4)) {
	case 0: /* flock(), or fcntl() of all */
		r->start = 0;
		r->last = LOCKER_END;
		break;
	case 1: /* a record */
		r->start = 16 * rng_below(g, 4);
		r->last = r->start + 15;
		break;
	case 2:
		r->start = rng_below(g, LOCKER_BYTES);
		r->last = r->start + rng_below(g, LOCKER_BYTES - r->start);
		break;
	default: /* to the end, or from there */
		r->start = rng_below(g, LOCKER_BYTES + 1);
		r->last = LOCKER_END;
	}
}

static void lock_some(struct client *c)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	if (k->follows.type) {
		k->want = k->follows;
		k->how = NFS4R_LOCK_TRY;
	} else {
		random_range(c, &k->want);
		k->how = maybe(c, s->plan.lock_waits) ? NFS4R_LOCK_QUEUE : NFS4R_LOCK_TRY;
	}
	k->follows.type = 0;
	k->patience_until = s->now + (maybe(c, 200) ? rng_below(chance(c), 200 * MS) : SECOND + rng_below(chance(c), PATIENCE_LONG));
	if (!(k->opened & 1u << k->want.file))
		opens(c, k->want.file, true);
	s->totals.lock_asks++;
	ask(c);
}

/* A part of a piece: its middle, a side, all. */
static struct locker_range part_of(struct client *c, const struct locker_range *piece)
{
	struct locker_range r = *piece;
	uint64_t last = r.last == LOCKER_END ? LOCKER_BYTES : r.last;

	if (maybe(c, 400))
		r.start += rng_below(chance(c), last - r.start + 1);
	if (maybe(c, 400) && last > r.start)
		r.last = r.start + rng_below(chance(c), last - r.start);
	return r;
}

static void change_type(struct client *c, const struct locker_range *piece)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	k->want = part_of(c, piece);
	k->how = maybe(c, s->plan.lock_waits) ? NFS4R_LOCK_QUEUE : NFS4R_LOCK_TRY;
	k->patience_until = s->now + rng_below(chance(c), SECOND);
	k->want.type = piece->type == LOCKER_WRITE ? LOCKER_READ : LOCKER_WRITE;
	s->totals.lock_changes++;
	ask(c);
}

static void unlock_some(struct client *c, const struct locker_range *piece)
{
	struct locker_range r = maybe(c, 300) ? part_of(c, piece) : *piece;

	if (maybe(c, 200)) {
		r.start = 0;
		r.last = LOCKER_END;
	}
	unlock(c, &r);
}

static void test_some(struct client *c)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	random_range(c, &k->want);
	k->state = LOCKING_TESTS;
	locker_asks(s->locker, s->now, k->owner, &k->want);
	locker_tests(s->locker, k->owner, &k->want);
	submit(c, NFS4R_OP_LOCK_TEST, &k->want);
}

/* Some piece of what it has; false: nothing. */
static bool some_piece(struct client *c, struct locker_range *out)
{
	struct sim *s = c->server->sim;
	uint32_t at = (uint32_t)rng_below(chance(c), s->nlock_files), n;

	for (uint32_t i = 0; i < s->nlock_files; i++) {
		uint32_t file = (at + i) % s->nlock_files;

		for (n = 0; locker_piece(s->locker, c->locking->owner, file, n, out); n++)
			;
		if (n)
			return locker_piece(s->locker, c->locking->owner, file, (uint32_t)rng_below(chance(c), n), out);
	}
	return false;
}

static bool close_some(struct client *c)
{
	struct locking *k = c->locking;

	for (uint32_t f = 0; f < c->server->sim->nlock_files; f++)
		if (k->opened & 1u << f && !has(c, f)) {
			close_file(c, f);
			return true;
		}
	return false;
}

/* ---- life ---- */

static bool new_owner(struct client *c)
{
	struct sim *s = c->server->sim;

	if (s->nlock_owners == LOCKER_OWNERS)
		return false;
	c->locking->owner = s->nlock_owners++;
	locker_owner(s->locker, c->locking->owner, c->server->id);
	return true;
}

/* False: the server has ended meanwhile. */
static bool unlock_all(struct client *c)
{
	struct sim *s = c->server->sim;
	struct server *v = c->server;
	const uint64_t generation = v->generation;

	for (uint32_t f = 0; f < s->nlock_files && v->up && v->generation == generation; f++) {
		const struct locker_range r = { f, LOCKER_READ, 0, LOCKER_END };

		if (c->locking->away)
			submit(c, NFS4R_OP_UNLOCK, &r);
		else if (has(c, f))
			unlock(c, &r);
	}
	return v->up && v->generation == generation;
}

static void close_all(struct client *c)
{
	for (uint32_t f = 0; f < c->server->sim->nlock_files; f++)
		if (c->locking->opened & 1u << f)
			opens(c, f, false);
}

/* Nobody has any use for its locks. */
static void forget_all(struct client *c)
{
	struct sim *s = c->server->sim;

	for (uint32_t f = 0; f < s->nlock_files; f++)
		locker_unlocks(s->locker, s->now, c->locking->owner, &(struct locker_range){ f, LOCKER_READ, 0, LOCKER_END });
}

static void goes_away(struct client *c, uint64_t back_at)
{
	struct sim *s = c->server->sim;

	c->locking->away = true;
	c->locking->back_at = back_at;
	locker_recovers(s->locker, c->locking->owner, true);
}

static void lease_ends(struct client *c)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	TRACE(s, c->server, "the lease of owner %u ends", k->owner);
	s->totals.lock_expired++;
	k->goes = true;
	locker_may_lose(s->locker, k->owner);
}

/* Its server unlocks everything in its place, as for a client whose lease has ended. */
static void die(struct client *c)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	if (s->nlock_owners == LOCKER_OWNERS) { /* no new one could come */
		idle(c);
		return;
	}
	TRACE(s, c->server, "the client of owner %u dies", k->owner);
	s->totals.lock_deaths++;
	if (k->state == LOCKING_WAITS || k->state == LOCKING_READY)
		give_up(c);
	if (s->plan.lock_clients) {
		k->dead = true;
		forget_all(c);
		goes_away(c, NEVER);
		lease_ends(c);
		think(c);
		return;
	}
	if (!unlock_all(c))
		return;
	close_all(c);
	(void)new_owner(c);
	idle(c);
}

/* It is cut off from its server; that sees its lease end, or not. */
static void cut_off(struct client *c)
{
	struct sim *s = c->server->sim;

	TRACE(s, c->server, "the client of owner %u is cut off", c->locking->owner);
	s->totals.lock_away++;
	goes_away(c, s->now + 50 * MS + rng_below(chance(c), 2 * s->plan.lock_grace_ms * MS));
	if (maybe(c, 600))
		lease_ends(c);
	think(c);
}

static void lost(struct client *c, const struct locker_range *r)
{
	struct sim *s = c->server->sim;

	TRACE(s, c->server, "owner %u hears that its lock of %s %llu..%llu is lost", c->locking->owner, oid_name(s, oid_of_file(s, r->file)), ULL(r->start), ULL(r->last));
	s->totals.lock_lost++;
	locker_lost(s->locker, s->now, c->locking->owner, r);
	failed_by(s);
}

static void lost_all(struct client *c)
{
	struct locker_range r;

	for (uint32_t f = 0; f < c->server->sim->nlock_files; f++)
		while (locker_piece(c->server->sim->locker, c->locking->owner, f, 0, &r))
			lost(c, &r);
}

/* What is done in the place of a client that is away; it is back, perhaps. */
static void be_away(struct client *c)
{
	struct server *v = c->server;
	struct sim *s = v->sim;
	struct locking *k = c->locking;

	if (k->said)
		return;
	if (k->goes && !k->to_unlock) {
		say_client(c, false);
		return;
	}
	if (k->to_unlock) {
		if (!unlock_all(c))
			return;
		k->goes = k->to_unlock = false;
		k->gone = true;
	}
	k->gone |= k->dead && v->ready && !is_listed(c); /* the core has said it, after a start */
	if (k->dead && k->gone) {
		close_all(c);
		k->away = k->dead = k->gone = k->begun = k->recovers = false;
		locker_recovers(s->locker, k->owner, false);
		(void)new_owner(c);
		idle(c);
		return;
	}
	if (k->dead || (s->now < k->back_at && !s->healed)) {
		client_wake_in(c, k->dead || s->healed || k->back_at > s->now + 100 * MS ? 100 * MS : k->back_at - s->now);
		return;
	}
	TRACE(s, c->server, "the client of owner %u is back", k->owner);
	k->away = false;
	if (k->gone) {
		lost_all(c);
		close_all(c);
		locker_gives_up(s->locker, s->now, k->owner);
		k->recovers = k->begun = k->gone = k->fetches = false;
		k->state = LOCKING_IDLE;
	}
	if (!k->recovers)
		locker_recovers(s->locker, k->owner, false);
	failed_by(s);
	think(c);
}

void locking_client_said(struct server *v, uint64_t wait_id, enum nfs4r_status st)
{
	struct sim *s = v->sim;
	struct client *c = NULL;
	struct locking *k;

	for (uint32_t i = 0; i < v->nclients; i++)
		if (v->clients[i]->locking && v->clients[i]->locking->said == wait_id)
			c = v->clients[i];
	if (!c)
		sim_fail(s, "S%u answers what nobody has said of a client", v->id);
	k = c->locking;
	k->said = 0;
	TRACE(s, v, "client of owner %u %s: %s", k->owner, k->says_gone ? "is gone" : "begins", nfs4r_status_str(st));
	if (st != NFS4R_OK && st != NFS4R_DELAY && (st != NFS4R_NOTSUPP || nfs4r_core_adopted(v->core)->num)) /* before the first view nothing is known of the volume */
		sim_fail(s, "S%u answers with %s that a client %s", v->id, nfs4r_status_str(st), k->says_gone ? "is gone" : "begins");
	if (st == NFS4R_OK) {
		check_client_held(v, owner_of(k->owner).client, k->says_gone);
		k->begun = !k->says_gone;
		k->to_unlock = k->says_gone;
		s->totals.lock_begins += !k->says_gone;
		s->totals.lock_gone += k->says_gone;
	}
	client_wake_in(c, st == NFS4R_OK ? 1 * MS : rng_range(chance(c), 10 * MS, 100 * MS));
}

static void act(struct client *c)
{
	struct sim *s = c->server->sim;
	struct locker_range piece;
	uint32_t k = (uint32_t)rng_below(chance(c), 100);
	bool any = some_piece(c, &piece);

	if (s->healed) {
		if (any)
			unlock(c, &(struct locker_range){ piece.file, piece.type, 0, LOCKER_END });
		else if (!close_some(c))
			think(c);
		return;
	}
	if (maybe(c, s->plan.lock_deaths)) {
		die(c);
	} else if (s->plan.lock_away && maybe(c, s->plan.lock_away)) {
		cut_off(c);
	} else if (c->locking->follows.type) {
		lock_some(c);
	} else if (!any || k < s->plan.lock_more) {
		if (k >= 95)
			test_some(c);
		else if (k < 90 || !close_some(c))
			lock_some(c);
	} else if (k < 70) {
		if (piece.type == LOCKER_WRITE && maybe(c, 700))
			write_some(c, &piece);
		else
			read_some(c, &piece);
	} else if (k < 78) {
		change_type(c, &piece);
	} else {
		unlock_some(c, &piece);
	}
}

static bool is_dead(const struct server *v, uint32_t file)
{
	return tree_get(&v->tree, v->sim->lock_files[file])->state == ROW_DEAD;
}

/* Until it has no patience any more, or asks again by itself, as clients do that miss a notice. */
static void wait_more(struct client *c)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;
	uint64_t until = s->healed ? NEVER : k->patience_until;

	k->asks_again_at = s->now + (s->healed ? SECOND : 100 * MS) + rng_below(chance(c), 3 * SECOND);
	client_wake_in(c, (until < k->asks_again_at ? until : k->asks_again_at) - s->now);
}

static void wait_on(struct client *c)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	if ((s->healed ? has(c, UINT32_MAX) : s->now >= k->patience_until) || is_dead(c->server, k->want.file))
		give_up(c);
	else if (k->asks_again_at && s->now >= k->asks_again_at)
		ask(c);
	else
		wait_more(c);
}

/* ---- its server starts again ---- */

/* Its server knows nothing of its locks any more. */
static void has_to_recover(struct client *c)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	k->recovers = true;
	if (!k->away && !s->healed && s->plan.lock_late && maybe(c, s->plan.lock_late)) {
		TRACE(s, c->server, "the client of owner %u stays away", k->owner);
		s->totals.lock_away++;
		goes_away(c, s->now + rng_below(chance(c), 3 * s->plan.lock_grace_ms * MS));
	}
	k->npieces = k->at = 0;
	k->reclaims = k->fetches = false;
	k->early = false;
	locker_no_answer(s->locker, k->owner);
	locker_gives_back(s->locker, s->now, k->owner); /* the client was told to ask again, and does */
	locker_recovers(s->locker, k->owner, true);
	if (k->state == LOCKING_WAITS || k->state == LOCKING_READY)
		k->state = LOCKING_ASKS;
}

void locking_server_down(struct client *c)
{
	struct locking *k = c->locking;

	k->begun = k->goes = k->to_unlock = k->gone = k->fenced = false;
	k->said = 0;
	has_to_recover(c);
}

/* Lock_Grace by the fastest clock. */
static uint64_t grace_us(const struct sim *s)
{
	return s->plan.lock_grace_ms * MS * 1000 / (1000 + s->plan.drift_permille) - 1 * MS;
}

/* The core says of those that are not back in time that they are gone. */
static void grace_over(struct sim *s, void *arg, uint64_t generation, uint64_t b)
{
	struct server *v = arg;

	if (!v->up || v->generation != generation)
		return;
	for (uint32_t i = 0; i < v->nclients; i++) {
		struct locking *k = v->clients[i]->locking;

		if (k && k->recovers && !k->reclaims) {
			TRACE(s, v, "the client of owner %u is not back", k->owner);
			locker_may_lose(s->locker, k->owner);
			k->begun = false; /* also if it was told so behind the fence, by an answer from before */
		}
	}
}

void locking_server_up(struct server *v)
{
	struct sim *s = v->sim;

	if (s->plan.lock_clients) /* not later than by the clock of the server */
		server_at(v, s->now + grace_us(s), grace_over, v, v->generation, 0);
}

/* It was outside the view: its clients get new sessions, and reclaim. */
void locking_fence(struct server *v, const struct nfs4r_act_fence *a)
{
	struct sim *s = v->sim;

	TRACE(s, v, "fences its clients, %u have lost all", a->nlost);
	s->totals.lock_fenced++;
	for (uint32_t i = 0; i < v->nclients; i++) {
		struct client *c = v->clients[i];
		struct locking *k = c->locking;
		bool all = false;

		if (!k)
			continue;
		for (uint32_t l = 0; l < a->nlost; l++)
			all |= !memcmp(a->lost[l], owner_of(k->owner).client, sizeof(a->lost[l]));
		k->begun = false; /* it may be gone by the time that it is back */
		k->fenced |= c->busy;
		has_to_recover(c);
		if (all && k->away)
			k->gone = true;
		else if (all)
			lost_all(c);
		if (!c->busy && !k->said)
			client_wake_in(c, rng_below(chance(c), 100 * MS));
	}
	locking_server_up(v);
}

static void begin_to_recover(struct client *c)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	for (uint32_t f = 0; f < s->nlock_files; f++) {
		if (k->opened & 1u << f)
			opens(c, f, true);
		for (uint32_t n = 0; k->npieces < PIECES_MAX && locker_piece(s->locker, k->owner, f, n, &k->pieces[k->npieces]); n++)
			k->npieces++;
	}
	if (k->npieces == PIECES_MAX)
		sim_fail(s, "simulator: owner %u has too many locks", k->owner);
	k->reclaims = true;
}

static void recovered(struct client *c)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	k->recovers = k->reclaims = false;
	locker_recovers(s->locker, k->owner, false);
	failed_by(s);
	if ((k->state == LOCKING_WRITES || k->state == LOCKING_READS) && !locker_has(s->locker, k->owner, &k->want))
		idle(c); /* EIO */
	else
		think(c);
	say_reclaimed(c); /* the last: the server may end in this step */
}

static void recover(struct client *c)
{
	struct locking *k = c->locking;
	struct nfs4r_op *op;

	if (!k->reclaims)
		begin_to_recover(c);
	if (k->at == k->npieces) {
		recovered(c);
		return;
	}
	c->server->sim->totals.lock_reclaims++;
	op = lock_op(c, NFS4R_OP_LOCK, &k->pieces[k->at]);
	op->lock.wait = NFS4R_LOCK_TRY;
	op->lock.reclaim = true;
	client_submit(c, op);
}

static void reclaim_answered(struct client *c, const struct nfs4r_op *op)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;
	const struct locker_range *r = &k->pieces[k->at];

	if (op->status == NFS4R_OK) {
		locker_reclaimed(s->locker, s->now, k->owner, r);
		failed_by(s);
		k->at++;
	} else if (op->status == NFS4R_DENIED) {
		lost(c, r);
		k->at++;
	} else if (op->status != NFS4R_DELAY) {
		sim_fail(s, "S%u answers the reclaim of a lock with %s", c->server->id, nfs4r_status_str(op->status));
	}
	client_wake_in(c, op->status == NFS4R_DELAY ? 50 * MS : 1 * MS);
}

void locking_step(struct client *c)
{
	struct locking *k = c->locking;

	if (k->away) {
		be_away(c);
		return;
	}
	if (k->recovers) {
		recover(c);
		return;
	}
	switch (k->state) {
	case LOCKING_IDLE:
		act(c);
		break;
	case LOCKING_ASKS:
		ask(c);
		break;
	case LOCKING_WAITS:
		if (maybe(c, c->server->sim->healed ? 0 : c->server->sim->plan.lock_deaths * 4))
			die(c);
		else
			wait_on(c);
		break;
	case LOCKING_READY:
		if (!c->server->sim->healed && maybe(c, 50)) {
			give_up(c);
			break;
		}
		k->fetches = true;
		ask(c);
		break;
	case LOCKING_TESTS:
		submit(c, NFS4R_OP_LOCK_TEST, &k->want);
		break;
	case LOCKING_WRITES:
		send_write(c);
		break;
	case LOCKING_READS:
	case LOCKING_ENDS:
		idle(c);
		break;
	}
}

/* ---- answers ---- */

static void again_soon(struct client *c)
{
	client_wake_in(c, rng_range(chance(c), 10 * MS, 100 * MS));
}

static void reserved(struct client *c)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	s->totals.lock_ready++;
	if (tree_get(&s->oracle, s->lock_files[k->want.file])->state == ROW_DEAD) { /* it is told to ask again, and will hear of that */
		locker_gives_up(s->locker, s->now, k->owner);
		return;
	}
	locker_reserved(s->locker, s->now, k->owner, &k->want);
	failed_by(s);
}

/* The client is told, and asks again soon. Or it is not there any more, and its server hears of that later. */
static void tell_ready(struct client *c)
{
	struct sim *s = c->server->sim;

	c->locking->state = LOCKING_READY;
	client_wake_in(c, maybe(c, 80) && !s->healed ? rng_below(chance(c), 3 * s->plan.lock_reserve_ms * MS) : rng_below(chance(c), 10 * MS));
}

/* It was given back, and waits again; another notice follows. */
static void not_ready(struct client *c)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	s->totals.lock_again++;
	locker_gives_back(s->locker, s->now, k->owner);
	k->fetches = false;
	if (k->state != LOCKING_READY)
		return;
	locker_waits(s->locker, s->now, k->owner, &k->want);
	k->state = LOCKING_WAITS;
	wait_more(c);
}

static void blocked(struct client *c, const struct nfs4r_op *op)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	if (k->how == NFS4R_LOCK_TRY)
		sim_fail(s, "S%u lets owner %u wait, which did not want to", c->server->id, k->owner);
	if (k->fetches)
		sim_fail(s, "S%u had reserved a lock for owner %u, and lets it wait", c->server->id, k->owner);
	s->totals.lock_waits++;
	if (k->early) {
		reserved(c);
		tell_ready(c);
		return;
	}
	locker_waits(s->locker, s->now, k->owner, &k->want);
	k->state = LOCKING_WAITS;
	wait_more(c);
}

/* What is said to be in the way has to be. */
static void check_conflict(struct client *c, const struct nfs4r_op *op)
{
	const struct nfs4r_lock *l = &op->lock.conflict.lock;
	const struct nfs4r_lock_owner me = owner_of(c->locking->owner);

	if (!l->type)
		return;
	if (l->start > c->locking->want.last || l->last < c->locking->want.start || !memcmp(&l->owner, &me, sizeof(me)) ||
	    (l->type == NFS4R_LOCK_READ && op->lock.lock.type == NFS4R_LOCK_READ))
		sim_fail(c->server->sim, "S%u says that %s %llu..%llu is in the way of owner %u", c->server->id, l->type == NFS4R_LOCK_WRITE ? "W" : "R", ULL(l->start),
			 ULL(l->last), c->locking->owner);
}

/* The only other answer: the file is removed. */
static void check_gone(struct client *c, const struct nfs4r_op *op)
{
	struct sim *s = c->server->sim;

	if (op->status != NFS4R_STALE || tree_get(&s->oracle, obj_of(s, &op->obj))->state != ROW_DEAD)
		sim_fail(s, "S%u answers %s with %s", c->server->id, nfs4r_op_name(op->type), nfs4r_status_str(op->status));
}

/* Who has all that it asks for, or more, can only get it: others may wait for just that. */
static void check_has_not(struct client *c)
{
	struct sim *s = c->server->sim;
	const struct locking *k = c->locking;

	if (locker_has(s->locker, k->owner, &k->want))
		sim_fail(s, "S%u does not give owner %u the lock %s %llu..%llu, which it has already", c->server->id, k->owner, k->want.type == LOCKER_WRITE ? "W" : "R",
			 ULL(k->want.start), ULL(k->want.last));
}

static void lock_answered(struct client *c, const struct nfs4r_op *op)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	switch (op->status) {
	case NFS4R_OK:
		s->totals.lock_grants++;
		locker_granted(s->locker, s->now, k->owner, &k->want);
		failed_by(s);
		idle(c);
		break;
	case NFS4R_DENIED:
		check_has_not(c);
		if (k->how != NFS4R_LOCK_TRY)
			sim_fail(s, "S%u refuses a lock to owner %u, which would wait", c->server->id, k->owner);
		s->totals.lock_denied++;
		check_conflict(c, op);
		locker_denied(s->locker, s->now, k->owner);
		failed_by(s);
		idle(c);
		break;
	case NFS4R_BLOCKED:
		check_has_not(c);
		check_conflict(c, op);
		blocked(c, op);
		break;
	case NFS4R_DELAY:
		s->totals.lock_delays++;
		locker_no_answer(s->locker, k->owner);
		if (k->fetches || locker_is_waiting(s->locker, k->owner) || (!s->healed && maybe(c, 850)))
			again_soon(c);
		else
			idle(c);
		break;
	default:
		check_gone(c, op);
		locker_no_answer(s->locker, k->owner);
		locker_gives_up(s->locker, s->now, k->owner);
		locker_gives_back(s->locker, s->now, k->owner);
		idle(c);
	}
}

static void test_answered(struct client *c, const struct nfs4r_op *op)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	if (op->status == NFS4R_DELAY) {
		again_soon(c);
		return;
	}
	if (op->status != NFS4R_OK && op->status != NFS4R_DENIED)
		check_gone(c, op);
	s->totals.lock_tests++;
	locker_tested(s->locker, k->owner, op->status == NFS4R_OK);
	if (op->status == NFS4R_DENIED) {
		check_conflict(c, op);
		locker_denied(s->locker, s->now, k->owner);
	}
	locker_no_answer(s->locker, k->owner);
	failed_by(s);
	idle(c);
}

static void write_answered(struct client *c, const struct nfs4r_op *op)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	if (op->status == NFS4R_DELAY) {
		again_soon(c);
		return;
	}
	locker_write_ends(s->locker, k->owner, k->want.file, (uint32_t)k->want.start / 4, (uint32_t)(k->want.last + 1 - k->want.start) / 4, k->word, op->status == NFS4R_OK);
	failed_by(s);
	idle(c);
}

/* The answer goes to a session that is no more. What was written may be there all the same. */
static void answered_before(struct client *c, const struct nfs4r_op *op)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;

	k->fenced = false;
	if (op->type == NFS4R_OP_LOCK && op->status != NFS4R_DELAY)
		sim_fail(s, "S%u has fenced owner %u, and answers the lock that it had asked for before with %s", c->server->id, k->owner, nfs4r_status_str(op->status));
	if (op->type == NFS4R_OP_CLOSE && op->status == NFS4R_OK)
		opens(c, k->closing, false);
	if (op->type == NFS4R_OP_LOCK_TEST)
		locker_tested(s->locker, k->owner, false);
	if (k->state == LOCKING_TESTS || k->state == LOCKING_ENDS)
		k->state = LOCKING_IDLE;
	again_soon(c);
}

/* Within a step: what the client does about it comes later. */
/* Somebody else at that server wants at once what was given back. */
static void follow(struct client *c, const struct locker_range *r)
{
	struct server *v = c->server;
	uint32_t at = (uint32_t)rng_below(chance(c), v->nclients);

	for (uint32_t i = 0; i < v->nclients; i++) {
		struct client *other = v->clients[(at + i) % v->nclients];
		struct locking *k = other->locking;

		if (other == c || !k || other->busy || k->away || k->recovers || k->state != LOCKING_IDLE)
			continue;
		k->follows = *r;
		k->follows.type = LOCKER_WRITE;
		client_wake_in(other, 1 + rng_below(chance(c), 5 * MS));
		return;
	}
}

static void unlock_answered(struct client *c, const struct nfs4r_op *op)
{
	struct sim *s = c->server->sim;
	struct locker_range r = { 0, LOCKER_READ, op->lock.lock.start, op->lock.lock.last };

	while (!nfs4r_oid_eq(oid_of_file(s, r.file), &op->obj))
		r.file++;
	locker_unlocked(s->locker, s->now, c->locking->owner, &r);
	idle(c);
	if (!s->healed && maybe(c, 200))
		follow(c, &r);
}

void locking_op_done(struct client *c, const struct nfs4r_op *op)
{
	struct locking *k = c->locking;

	if (k->away && op->type == NFS4R_OP_UNLOCK)
		return;
	if (k->fenced) {
		answered_before(c, op);
		return;
	}
	if (k->recovers) {
		reclaim_answered(c, op);
		return;
	}
	switch (op->type) {
	case NFS4R_OP_LOCK:
		lock_answered(c, op);
		break;
	case NFS4R_OP_LOCK_TEST:
		test_answered(c, op);
		break;
	case NFS4R_OP_WRITE:
		write_answered(c, op);
		break;
	case NFS4R_OP_CLOSE:
		if (op->status == NFS4R_OK)
			opens(c, k->closing, false);
		idle(c);
		break;
	default:
		if (op->status != NFS4R_OK) /* whoever asked has forgotten it already */
			sim_fail(c->server->sim, "S%u answers %s with %s", c->server->id, nfs4r_op_name(op->type), nfs4r_status_str(op->status));
		if (op->type == NFS4R_OP_UNLOCK)
			unlock_answered(c, op);
		else
			idle(c);
	}
}

void locking_read_done(struct client *c, const struct nfs4r_read *r)
{
	struct sim *s = c->server->sim;
	struct locking *k = c->locking;
	uint32_t words[LOCKER_WORDS], first = (uint32_t)k->want.start / 4, n = (uint32_t)(k->want.last + 1 - k->want.start) / 4;

	if (r->status == NFS4R_OK && r->data && !k->fenced) {
		memcpy(words, r->data->data + k->want.start, n * 4);
		locker_reads(s->locker, k->owner, k->want.file, first, n, words);
		failed_by(s);
	}
	k->fenced = false;
	idle(c);
}

/* ---- notices ---- */

static struct client *client_of(struct server *v, const struct nfs4r_lock_owner *owner)
{
	for (uint32_t i = 0; i < v->nclients; i++) {
		struct locking *k = v->clients[i]->locking;
		struct nfs4r_lock_owner o;

		if (!k)
			continue;
		o = owner_of(k->owner);
		if (!memcmp(&o, owner, sizeof(o)))
			return v->clients[i];
	}
	return NULL;
}

static bool is_about(const struct client *c, const struct nfs4r_act_lock_note *a)
{
	const struct locking *k = c->locking;

	return nfs4r_oid_eq(&a->oid, oid_of_file(c->server->sim, k->want.file)) && a->lock.start == k->want.start && a->lock.last == k->want.last &&
		a->lock.type == (k->want.type == LOCKER_WRITE ? NFS4R_LOCK_WRITE : NFS4R_LOCK_READ);
}

void locking_ready(struct server *v, const struct nfs4r_act_lock_note *a)
{
	struct client *c = client_of(v, &a->lock.owner);
	struct locking *k = c ? c->locking : NULL;

	TRACE(v->sim, v, "lock of %s %llu..%llu is ready for owner %llu, n %llu", oid_name(v->sim, &a->oid), ULL(a->lock.start), ULL(a->lock.last), ULL(a->lock.owner.owner[0]), ULL(a->n));
	if (!k || !is_about(c, a))
		return;
	if (k->state == LOCKING_WAITS) {
		reserved(c);
		tell_ready(c);
	} else if (k->state == LOCKING_ASKS && c->busy) {
		k->early = true;
	}
}

void locking_again(struct server *v, const struct nfs4r_act_lock_note *a)
{
	struct client *c = client_of(v, &a->lock.owner);
	struct locking *k = c ? c->locking : NULL;

	TRACE(v->sim, v, "lock of %s %llu..%llu: owner %llu has to ask again, n %llu", oid_name(v->sim, &a->oid), ULL(a->lock.start), ULL(a->lock.last), ULL(a->lock.owner.owner[0]),
	      ULL(a->n));
	if (!k || !is_about(c, a))
		return;
	if (k->state == LOCKING_READY || k->fetches)
		not_ready(c);
	else if (k->state == LOCKING_ASKS)
		k->early = false;
}

/* ---- the whole ---- */

void locking_begin(struct sim *s)
{
	const struct plan *p = &s->plan;
	uint64_t bound_us = 4 * SECOND + 16 * (p->lag_us + p->bulk_lag_us + p->slow_us * (p->slow_paths != 0)) + 80 * p->sync_us + 2 * p->checkpoint_us +
		2 * p->lock_grace_ms * MS * (p->crash_every_us || p->troubles); /* control goes when all have what it covered */

	s->locks_rng.s = hash_mix(s->plan.seed, 0x10c5);
	s->locker = locker_create(bound_us + (p->loss ? 2 * SECOND : 0));
	for (uint32_t i = 0; i < s->first_objs && s->nlock_files < s->plan.lock_files && s->nlock_files < LOCKER_FILES; i++)
		if (tree_get(&s->base, i)->type == NFS4R_TYPE_FILE)
			s->lock_files[s->nlock_files++] = i;
	for (uint32_t i = 1; i <= s->plan.servers; i++)
		for (uint32_t k = 0; k < s->plan.lockers; k++) {
			struct client *c = client_new(&s->servers[i]);

			c->locking = calloc(1, sizeof(*c->locking));
			c->locking->state = LOCKING_IDLE;
			(void)new_owner(c);
		}
}

static bool links_are_up(struct sim *s)
{
	for (nfs4r_server_id a = 1; a <= s->plan.servers; a++)
		for (nfs4r_server_id b = a + 1; b <= s->plan.servers; b++)
			if (!net_linked(s, a, b) || s->servers[a].peer_epoch[b] != s->servers[b].peer_epoch[a] || s->now < s->mute[a][b] || s->now < s->mute[b][a] || s->servers[a].stopped ||
			    s->servers[b].stopped)
				return false;
	return true;
}

/* It hears of that when it asks again. */
static bool waits_for_the_dead(const struct client *c)
{
	return c->locking && c->locking->state == LOCKING_WAITS && tree_get(&c->server->sim->oracle, c->server->sim->lock_files[c->locking->want.file])->state == ROW_DEAD;
}

/* @v was outside for long enough, unless it was back meanwhile. */
static void outside_over(struct sim *s, void *arg, uint64_t since, uint64_t b)
{
	struct server *v = arg;

	if (s->lock_outside[v->id] != since)
		return;
	TRACE(s, v, "is outside for long enough: what its clients have may be lost");
	for (uint32_t k = 0; k < v->nclients; k++)
		if (v->clients[k]->locking)
			locker_may_lose(s->locker, v->clients[k]->locking->owner);
}

/* Until when does nobody give up the locks of @v's clients? What the others have adopted counts, since each of them goes by its own view. */
static void look_outside(struct server *v)
{
	struct sim *s = v->sim;
	uint64_t *since = &s->lock_outside[v->id];
	bool is_outside = false;

	for (uint32_t q = 1; q <= s->plan.servers; q++)
		if (q != v->id && s->servers[q].up && view_members(&s->servers[q]))
			is_outside |= !(view_members(&s->servers[q]) & NFS4R_BIT(v->id));
	if (is_outside && !*since)
		sim_at(s, s->now + grace_us(s), outside_over, v, s->now, 0);
	*since = !is_outside ? 0 : *since ? *since :
					    s->now;
}

void locking_look(struct sim *s)
{
	for (uint32_t i = 1; i <= s->plan.servers && s->plan.troubles; i++)
		look_outside(&s->servers[i]);
	for (uint32_t i = 1; i <= s->plan.servers; i++) {
		struct server *v = &s->servers[i];

		locker_serves(s->locker, i, v->up && !v->stopped && clock_true_ms(v) < nfs4r_core_lease_until(v->core)); /* what a stop came into ends, and begins nothing */
	}
	for (uint32_t i = 1; i <= s->plan.servers; i++)
		for (uint32_t k = 0; k < s->servers[i].nclients; k++)
			if (waits_for_the_dead(s->servers[i].clients[k]))
				locker_gives_up(s->locker, s->now, s->servers[i].clients[k]->locking->owner);
	locker_time(s->locker, s->now, !links_are_up(s));
	failed_by(s);
}

bool locking_idle(const struct client *c)
{
	return !c->busy && !c->locking->away && !c->locking->recovers && c->locking->state == LOCKING_IDLE && !has(c, UINT32_MAX) && !c->locking->opened;
}

void locking_blame(const struct client *c, char *buf, size_t len)
{
	static const char *const states[] = { "?", "is idle", "asks for", "waits for", "could have", "tests", "writes", "reads", "ends" };
	const struct locking *k = c->locking;

	snprintf(buf, len, "owner %u at S%u%s%s%s %s %s f%u %llu..%llu%s; ", k->owner, c->server->id, k->dead ? " (dead)" : k->away ? " (away)" :
																      "",
		 k->goes ? " (goes)" : "",
		 k->recovers ? " recovers and" : "", states[k->state], k->want.type == LOCKER_WRITE ? "W" : "R", k->want.file,
		 ULL(k->want.start), ULL(k->want.last), has(c, UINT32_MAX) ? " and has locks" : "");
}

struct left {
	struct sim *s;
	const struct server *v;
	char *why;
	size_t len;
	bool any;
};

/* Does @v, of which @arg is true, list who is not there? */
static bool client_left(void *arg, const struct nfs4r_client_entry *k)
{
	struct left *l = arg;
	struct server *v = &l->s->servers[k->server];

	for (uint32_t i = 0; i < v->nclients; i++)
		if (v->clients[i]->locking && nfs4r_client_is(&k->client, owner_of(v->clients[i]->locking->owner).client))
			return true;
	snprintf(l->why, l->len, "S%u has the %s in the list of S%u, and that one is not there", l->v->id, k->client.name, k->server);
	l->any = true;
	return false;
}

/* All have the same lists of clients: those who are there, and each who has begun. */
static bool lists_quiet(struct sim *s, const struct server *v, char *why, size_t len)
{
	struct left l = { s, v, why, len, false };

	for (nfs4r_server_id q = 1; q <= s->plan.servers && !l.any; q++) {
		nfs4r_core_each_client(v->core, q, client_left, &l);
		for (uint32_t k = 0; k < s->servers[q].nclients; k++) {
			const struct locking *c = s->servers[q].clients[k]->locking;

			if (!c || !c->begun || nfs4r_core_has_client(v->core, q, owner_of(c->owner).client) || l.any)
				continue;
			snprintf(why, len, "S%u does not have the client of owner %u in the list of S%u", v->id, c->owner, q);
			l.any = true;
		}
	}
	return !l.any;
}

static bool lock_left(void *arg, const struct nfs4r_core_lock *i)
{
	struct left *l = arg;

	l->any = true;
	snprintf(l->why, l->len, "S%u still has a lock (%s) of %s %llu..%llu, owner %llu at S%u, %s", l->v->id, places[i->place & 3], oid_name(l->s, &i->oid),
		 ULL(i->lock.lock.start), ULL(i->lock.lock.last), ULL(i->lock.lock.owner.owner[0]), i->lock.holder, lock_states[i->state & 3]);
	return false;
}

bool locking_quiet(struct sim *s, char *why, size_t len)
{
	for (uint32_t i = 1; i <= s->plan.servers; i++) {
		struct server *v = &s->servers[i];
		struct left l = { s, v, why, len, false };
		struct nfs4r_lock_counts n;

		if (!v->up || !v->core) {
			snprintf(why, len, "S%u is down", i);
			return false;
		}
		nfs4r_core_each_lock(v->core, NULL, lock_left, &l);
		if (l.any || !lists_quiet(s, v, why, len))
			return false;
		nfs4r_core_count_locks(v->core, &n);
		if (n.files || n.ranges || n.waiting || n.own_ranges || n.own_waiting || n.own_ready || n.returning || n.gaps) {
			snprintf(why, len, "S%u counts %u files, %u ranges, %u waiters, %u + %u + %u own, %u on their way, %u gaps", i, n.files, n.ranges, n.waiting, n.own_ranges,
				 n.own_waiting, n.own_ready, n.returning, n.gaps);
			return false;
		}
		for (uint32_t f = 0; f < s->nlock_files; f++) {
			const struct row *r = tree_get(&v->tree, s->lock_files[f]);

			if (!r->nlocks)
				continue;
			snprintf(why, len, "S%u: the row of %s lists %u locks, the first of owner %llu at S%u, n %llu", i, obj_str(s, s->lock_files[f]), r->nlocks,
				 ULL(r->locks[0].lock.owner.owner[0]), r->locks[0].holder, ULL(r->locks[0].n));
			return false;
		}
	}
	return true;
}

void locking_end(struct sim *s)
{
	locker_ends(s->locker);
	failed_by(s);
}

void locking_print(const struct totals *t)
{
	printf("locks: %llu asked for, %llu granted, %llu refused, %llu waits, %llu reserved, %llu asked again, %llu given up, %llu raised or lowered, %llu tests, %llu delays, "
	       "%llu writes and %llu reads under them (%llu of those from an own copy that another server controls), %llu clients died, %llu reclaims, %llu locks lost, %llu entries with lists; clients: %llu begun, %llu gone, %llu away, %llu leases ended, %llu fences\n",
	       ULL(t->lock_asks), ULL(t->lock_grants), ULL(t->lock_denied), ULL(t->lock_waits), ULL(t->lock_ready), ULL(t->lock_again), ULL(t->lock_cancels), ULL(t->lock_changes),
	       ULL(t->lock_tests), ULL(t->lock_delays), ULL(t->lock_writes), ULL(t->lock_reads), ULL(t->lock_reads_here), ULL(t->lock_deaths), ULL(t->lock_reclaims), ULL(t->lock_lost), ULL(t->lock_lists),
	       ULL(t->lock_begins), ULL(t->lock_gone), ULL(t->lock_away), ULL(t->lock_expired), ULL(t->lock_fenced));
}

const char *locking_never(const struct totals *t)
{
	return !t->lock_grants	    ? "no lock was granted" :
		!t->lock_denied	    ? "no lock was refused" :
		!t->lock_ready	    ? "no waiter was served" :
		!t->lock_again	    ? "no reservation ended" :
		!t->lock_cancels    ? "no waiter gave up" :
		!t->lock_changes    ? "no lock was raised or lowered" :
		!t->lock_tests	    ? "no lock was tested" :
		!t->lock_reads	    ? "nothing was read under a lock" :
		!t->lock_reads_here ? "nothing was read under a lock where another server controls" :
		!t->lock_writes	    ? "nothing was written under a lock" :
		!t->lock_deaths	    ? "no client died" :
		!t->lock_lists	    ? "no lock outlived the control of its file" :
				      NULL;
}
