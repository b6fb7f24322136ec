/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * See locker.h. What each owner believes is kept byte by byte, without any arithmetic of ranges: that is in the code under test.
 *
 * Of two beliefs that conflict one is older. If the older one is usable when the younger one begins, that is a finding. Else it is *gone*: its owner may have it in mind,
 * and has to hear of the loss before it can use it. So a look at the gone beliefs of a server that begins to serve is enough; no pairs are compared after each step.
 */
#include "locker.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS (LOCKER_BYTES + 1) /* the last one is all that is beyond */
#define WORDS_MAX 8 /* that one place may have at a time */
#define SEEN_MAX 16
#define NEVER UINT64_MAX

struct in_the_way { /* of a test, when it left */
	uint32_t owner;
	uint64_t changes;
};

struct asked {
	bool on;
	struct locker_range r;
	uint64_t since;
	uint64_t calm; /* of a request: the same, in calm time */
};

struct person { /* an owner */
	uint32_t server;
	struct asked ask, wait, test, reserved;
	bool reserved_gone, recovers;
	uint64_t free_since; /* of the wait; NEVER: somebody is in the way */
	bool blocked;
	uint32_t overtaken; /* while it waits */
	uint32_t nseen;
	struct in_the_way seen[SEEN_MAX];
};

struct belief { /* of one owner in one file */
	uint8_t type[CELLS]; /* 0 or enum locker_type */
	bool gone[CELLS];
	bool loose[CELLS]; /* it may be lost */
	uint64_t free_since[CELLS]; /* as its own server has to know: it gave back what it had, or was refused; NEVER: it may have something, or get it */
	uint64_t changes;
	uint64_t until[LOCKER_WRITE + 1]; /* by type: when it last had, asked or waited for something of it */
	uint64_t calm_until[LOCKER_WRITE + 1]; /* the same, in calm time */
};

struct words {
	bool any; /* too many to know */
	uint32_t n, w[WORDS_MAX];
};

struct locker {
	uint64_t bound, now;
	uint64_t calm, calm_at; /* calm time, in which messages arrive, from 1 on; as of then */
	bool trouble; /* since then */
	uint32_t nowners;
	bool serves[LOCKER_SERVERS];
	uint64_t serves_since[LOCKER_SERVERS]; /* what it knew before it may have forgotten */
	bool changed; /* since waiters were looked at */
	struct person owners[LOCKER_OWNERS];
	struct belief beliefs[LOCKER_FILES][LOCKER_OWNERS];
	struct words words[LOCKER_FILES][LOCKER_WORDS];
	char failure[400];
};

struct locker *locker_create(uint64_t bound_us)
{
	struct locker *l = calloc(1, sizeof(*l));

	l->bound = bound_us;
	l->calm = 1;
	for (uint32_t f = 0; f < LOCKER_FILES; f++)
		for (uint32_t w = 0; w < LOCKER_WORDS; w++)
			l->words[f][w].n = 1; /* zero */
	return l;
}

void locker_destroy(struct locker *l)
{
	free(l);
}

const char *locker_failure(const struct locker *l)
{
	return l->failure[0] ? l->failure : NULL;
}

__attribute__((format(printf, 2, 3))) static void finding(struct locker *l, const char *fmt, ...)
{
	va_list ap;

	if (l->failure[0])
		return;
	va_start(ap, fmt);
	vsnprintf(l->failure, sizeof(l->failure), fmt, ap);
	va_end(ap);
}

/* ---- ranges ---- */

static uint32_t cell_of(uint64_t byte)
{
	return byte < LOCKER_BYTES ? (uint32_t)byte : LOCKER_BYTES;
}

static bool conflict(uint32_t a, uint32_t b)
{
	return a && b && (a == LOCKER_WRITE || b == LOCKER_WRITE);
}

static bool meet(const struct locker_range *a, const struct locker_range *b)
{
	return a->file == b->file && conflict(a->type, b->type) && cell_of(a->start) <= cell_of(b->last) && cell_of(b->start) <= cell_of(a->last);
}

/* The first byte of @r in which owner @o is in its way; CELLS: none. What is gone is in nobody's way. */
static uint32_t meets(const struct locker *l, uint32_t o, const struct locker_range *r)
{
	const struct belief *b = &l->beliefs[r->file][o];
	const struct person *p = &l->owners[o];

	if (p->reserved.on && !p->reserved_gone && meet(&p->reserved.r, r))
		return cell_of(p->reserved.r.start > r->start ? p->reserved.r.start : r->start);
	for (uint32_t c = cell_of(r->start); c <= cell_of(r->last); c++)
		if (!b->gone[c] && conflict(b->type[c], r->type))
			return c;
	return CELLS;
}

/* The same, of what it cannot have lost by now. */
static bool meets_for_sure(const struct locker *l, uint32_t o, const struct locker_range *r)
{
	const struct belief *b = &l->beliefs[r->file][o];
	const struct person *p = &l->owners[o];

	if (p->reserved.on && !p->reserved_gone && meet(&p->reserved.r, r))
		return true;
	for (uint32_t c = cell_of(r->start); c <= cell_of(r->last); c++)
		if (!b->gone[c] && !b->loose[c] && conflict(b->type[c], r->type))
			return true;
	return false;
}

static const char *range_text(const struct locker_range *r, char out[64])
{
	int n = snprintf(out, 64, "%s f%u %llu..", r->type == LOCKER_WRITE ? "W" : "R", r->file, (unsigned long long)r->start);

	if (r->last == LOCKER_END)
		snprintf(out + n, 64 - n, "end");
	else
		snprintf(out + n, 64 - n, "%llu", (unsigned long long)r->last);
	return out;
}

/* ---- owners, servers ---- */

void locker_owner(struct locker *l, uint32_t owner, uint32_t server)
{
	l->owners[owner].server = server;
	if (owner >= l->nowners)
		l->nowners = owner + 1;
}

static bool can_use(const struct locker *l, uint32_t owner)
{
	return l->serves[l->owners[owner].server] && !l->owners[owner].recovers;
}

static void heard_nothing(struct locker *l, uint32_t server)
{
	for (uint32_t o = 0; o < l->nowners; o++) {
		if (!can_use(l, o))
			continue;
		if (l->owners[o].server == server && l->owners[o].reserved.on && l->owners[o].reserved_gone)
			finding(l, "owner %u at S%u can have a lock of f%u that was reserved for it, which somebody else has had since", o, server, l->owners[o].reserved.r.file);
		for (uint32_t f = 0; l->owners[o].server == server && f < LOCKER_FILES; f++)
			for (uint32_t c = 0; c < CELLS; c++)
				if (l->beliefs[f][o].type[c] && l->beliefs[f][o].gone[c]) {
					finding(l, "owner %u at S%u can use its lock of f%u byte %u, which somebody else has had since: it has not heard of the loss", o, server, f, c);
					return;
				}
	}
}

void locker_serves(struct locker *l, uint32_t server, bool serves)
{
	if (l->serves[server] == serves)
		return;
	l->serves[server] = serves;
	if (!serves)
		return;
	l->serves_since[server] = l->now;
	heard_nothing(l, server);
}

void locker_recovers(struct locker *l, uint32_t owner, bool recovers)
{
	l->owners[owner].recovers = recovers;
	if (!recovers)
		heard_nothing(l, l->owners[owner].server);
}

void locker_may_lose(struct locker *l, uint32_t owner)
{
	for (uint32_t f = 0; f < LOCKER_FILES; f++)
		for (uint32_t c = 0; c < CELLS; c++)
			l->beliefs[f][owner].loose[c] |= l->beliefs[f][owner].type[c] != 0;
}

/* ---- locks ---- */

static uint64_t calm_time(const struct locker *l, uint64_t now)
{
	return l->calm + (l->trouble || now < l->calm_at ? 0 : now - l->calm_at);
}

static void seen_until(struct locker *l, uint64_t now, struct belief *b, enum locker_type type)
{
	b->until[type] = now;
	b->calm_until[type] = calm_time(l, now);
}

static void touch(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r)
{
	struct belief *b = &l->beliefs[r->file][owner];

	l->changed = true;
	b->changes++;
	seen_until(l, now, b, LOCKER_READ);
	seen_until(l, now, b, LOCKER_WRITE);
}

static void may_get(struct locker *l, uint32_t owner, const struct locker_range *r)
{
	for (uint32_t c = cell_of(r->start); c <= cell_of(r->last); c++)
		l->beliefs[r->file][owner].free_since[c] = NEVER;
}

static void has_not(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r)
{
	struct belief *b = &l->beliefs[r->file][owner];

	for (uint32_t c = cell_of(r->start); c <= cell_of(r->last); c++)
		if (!b->type[c])
			b->free_since[c] = now;
}

void locker_asks(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r)
{
	l->owners[owner].ask = (struct asked){ true, *r, now, calm_time(l, now) };
	seen_until(l, now, &l->beliefs[r->file][owner], r->type);
	may_get(l, owner, r);
}

void locker_no_answer(struct locker *l, uint32_t owner)
{
	struct asked *a = &l->owners[owner].ask;

	if (a->on)
		seen_until(l, l->now, &l->beliefs[a->r.file][owner], a->r.type);
	a->on = false;
}

static bool believed(const struct locker *l, uint32_t owner, const struct locker_range *r)
{
	for (uint32_t o = 0; o < l->nowners; o++)
		if (o != owner && meets(l, o, r) != CELLS)
			return true;
	return false;
}

/* The first byte of @r in which @b is in its way and may not be lost; CELLS: none. */
static uint32_t is_owed(const struct belief *b, const struct locker_range *r)
{
	for (uint32_t c = cell_of(r->start); c <= cell_of(r->last); c++)
		if (conflict(b->type[c], r->type) && !b->gone[c] && !b->loose[c])
			return c;
	return CELLS;
}

/* Whoever of the others is in the way of @owner's new lock or reservation must be one that cannot use it, and does not get it back. */
static void push_aside(struct locker *l, uint32_t owner, const struct locker_range *r, const char *how)
{
	char text[64];

	for (uint32_t o = 0; o < l->nowners; o++) {
		struct belief *b = &l->beliefs[r->file][o];
		struct person *p = &l->owners[o];
		uint32_t c = o == owner ? CELLS : meets(l, o, r);

		if (c == CELLS)
			continue;
		if (can_use(l, o))
			finding(l, "owner %u at S%u %s %s, of which owner %u at S%u has byte %u (%s)", owner, l->owners[owner].server, how, range_text(r, text), o, p->server, c,
				b->type[c] == LOCKER_WRITE ? "W" : b->type[c] == LOCKER_READ ? "R" :
											       "reserved");
		else if (is_owed(b, r) != CELLS)
			finding(l, "owner %u at S%u %s %s, of which owner %u at S%u may reclaim byte %u", owner, l->owners[owner].server, how, range_text(r, text), o, p->server,
				is_owed(b, r));
		p->reserved_gone |= p->reserved.on && meet(&p->reserved.r, r);
		for (c = cell_of(r->start); c <= cell_of(r->last); c++)
			b->gone[c] |= conflict(b->type[c], r->type);
	}
}

/* Not only what its owner cannot use now, and may have lost: to this one, perhaps. */
static bool others_may_have(const struct locker *l, uint32_t owner, const struct locker_range *r)
{
	for (uint32_t o = 0; o < l->nowners; o++)
		if (o != owner && meets(l, o, r) != CELLS && (can_use(l, o) || meets_for_sure(l, o, r)))
			return true;
	return false;
}

/* What @owner hears cannot be used: its server goes on after a stop, and says what it has heard before. So others may have it by now; and it may be lost. */
static void is_late(struct locker *l, uint32_t owner, const struct locker_range *r)
{
	struct belief *mine = &l->beliefs[r->file][owner];

	for (uint32_t c = cell_of(r->start); c <= cell_of(r->last); c++) {
		mine->loose[c] = true;
		for (uint32_t o = 0; o < l->nowners; o++) {
			const struct belief *b = &l->beliefs[r->file][o];

			mine->gone[c] |= o != owner && !b->gone[c] && conflict(b->type[c], r->type) && (can_use(l, o) || !b->loose[c]);
		}
	}
}

/* @owner has got what it waited for. */
static void overtakes(struct locker *l, uint32_t owner)
{
	const struct person *me = &l->owners[owner];
	char text[64];

	for (uint32_t o = 0; o < l->nowners && me->wait.on; o++) {
		struct person *p = &l->owners[o];

		if (o != owner && p->wait.on && p->wait.since < me->wait.since && meet(&p->wait.r, &me->wait.r) && ++p->overtaken == LOCKER_OVERTAKEN)
			finding(l, "owner %u at S%u waits for %s, and %u that came later have been served", o, p->server, range_text(&p->wait.r, text), LOCKER_OVERTAKEN);
	}
}

void locker_granted(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r)
{
	struct belief *mine = &l->beliefs[r->file][owner];
	struct person *p = &l->owners[owner];

	if (can_use(l, owner) || !others_may_have(l, owner, r))
		push_aside(l, owner, r, "is granted");
	overtakes(l, owner);
	for (uint32_t c = cell_of(r->start); c <= cell_of(r->last); c++) {
		mine->type[c] = (uint8_t)r->type;
		mine->gone[c] = mine->loose[c] = false;
	}
	if (!can_use(l, owner))
		is_late(l, owner, r);
	p->ask.on = p->wait.on = p->reserved.on = p->reserved_gone = false;
	may_get(l, owner, r);
	touch(l, now, owner, r);
}

void locker_reclaimed(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r)
{
	struct belief *mine = &l->beliefs[r->file][owner];
	char text[64];

	if (!l->serves[l->owners[owner].server]) { /* what it heard before a stop: as in is_late() */
		may_get(l, owner, r);
		touch(l, now, owner, r);
		return;
	}
	for (uint32_t c = cell_of(r->start); c <= cell_of(r->last); c++) {
		if (mine->gone[c]) {
			finding(l, "owner %u at S%u reclaims %s, of which somebody else has had byte %u since", owner, l->owners[owner].server, range_text(r, text), c);
			return;
		}
		mine->loose[c] = false;
	}
	push_aside(l, owner, r, "reclaims");
	touch(l, now, owner, r);
}

void locker_reserved(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r)
{
	struct person *p = &l->owners[owner];
	bool late = !can_use(l, owner) && others_may_have(l, owner, r);

	if (!late)
		push_aside(l, owner, r, "has reserved");
	overtakes(l, owner);
	p->wait.on = false;
	p->reserved_gone = late;
	p->reserved = (struct asked){ true, *r, now, 0 };
	may_get(l, owner, r);
	touch(l, now, owner, r);
}

void locker_gives_back(struct locker *l, uint64_t now, uint32_t owner)
{
	struct person *p = &l->owners[owner];

	if (p->reserved.on)
		touch(l, now, owner, &p->reserved.r);
	p->reserved.on = p->reserved_gone = false;
}

static void forget(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r)
{
	struct belief *b = &l->beliefs[r->file][owner];

	for (uint32_t c = cell_of(r->start); c <= cell_of(r->last); c++) {
		b->type[c] = 0;
		b->gone[c] = b->loose[c] = false;
	}
	touch(l, now, owner, r);
}

void locker_unlocks(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r)
{
	forget(l, now, owner, r);
}

void locker_unlocked(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r)
{
	has_not(l, now, owner, r);
}

void locker_lost(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r)
{
	const struct belief *b = &l->beliefs[r->file][owner];
	char text[64];

	for (uint32_t c = cell_of(r->start); c <= cell_of(r->last); c++)
		if (b->type[c] && !b->loose[c])
			finding(l, "owner %u at S%u loses %s, and byte %u is still its own: its lease has not ended, and its server was not outside for long", owner,
				l->owners[owner].server, range_text(r, text), c);
	forget(l, now, owner, r);
}

/* Owner @o lives where the asker does, and whoever asks there at @asked for any of @r finds nothing of it. */
static bool is_known_free(const struct locker *l, uint32_t o, const struct locker_range *r, uint64_t asked)
{
	const struct belief *b = &l->beliefs[r->file][o];
	uint64_t since = l->serves_since[l->owners[o].server];

	for (uint32_t c = cell_of(r->start); c <= cell_of(r->last); c++)
		if (b->free_since[c] >= asked || b->free_since[c] <= since)
			return false;
	return true;
}

/* Has anybody been in the way of @r since @since, in calm time, as far as can be told? A request or a wait of another one counts, since it may have been granted meanwhile. */
static bool was_in_the_way(const struct locker *l, uint32_t owner, const struct locker_range *r, uint64_t since, uint64_t asked)
{
	for (uint32_t o = 0; o < l->nowners; o++) {
		const struct belief *b = &l->beliefs[r->file][o];
		const struct person *p = &l->owners[o];

		if (o == owner)
			continue;
		if (meets(l, o, r) != CELLS || (p->ask.on && meet(&p->ask.r, r)) || (p->wait.on && meet(&p->wait.r, r)))
			return true;
		if (p->server == l->owners[owner].server && is_known_free(l, o, r, asked))
			continue;
		if ((b->calm_until[LOCKER_WRITE] && b->calm_until[LOCKER_WRITE] >= since) || (r->type == LOCKER_WRITE && b->calm_until[LOCKER_READ] && b->calm_until[LOCKER_READ] >= since))
			return true;
	}
	return false;
}

void locker_denied(struct locker *l, uint64_t now, uint32_t owner)
{
	struct asked *a = &l->owners[owner].ask;
	uint64_t since = a->calm > l->bound ? a->calm - l->bound : 0;
	char text[64];

	if (a->on && !was_in_the_way(l, owner, &a->r, since, a->since))
		finding(l, "owner %u at S%u is refused %s, and nobody has had anything of it for long", owner, l->owners[owner].server, range_text(&a->r, text));
	if (a->on)
		has_not(l, now, owner, &a->r);
	locker_no_answer(l, owner);
	l->now = now;
}

/* ---- tests ---- */

void locker_tests(struct locker *l, uint32_t owner, const struct locker_range *r)
{
	struct person *p = &l->owners[owner];

	p->test = (struct asked){ true, *r, l->now, 0 };
	p->nseen = 0;
	for (uint32_t o = 0; o < l->nowners && p->nseen < SEEN_MAX; o++)
		if (o != owner && meets(l, o, r) != CELLS && l->now > l->beliefs[r->file][o].until[LOCKER_WRITE] + l->bound)
			p->seen[p->nseen++] = (struct in_the_way){ o, l->beliefs[r->file][o].changes };
}

void locker_tested(struct locker *l, uint32_t owner, bool is_free)
{
	struct person *p = &l->owners[owner];
	const struct locker_range *r = &p->test.r;
	char text[64];

	for (uint32_t i = 0; i < p->nseen && is_free && p->test.on; i++) {
		const struct belief *b = &l->beliefs[r->file][p->seen[i].owner];

		if (b->changes == p->seen[i].changes && meets_for_sure(l, p->seen[i].owner, r))
			finding(l, "owner %u at S%u hears that %s is free, and owner %u has had a lock there all the while", owner, p->server, range_text(r, text),
				p->seen[i].owner);
	}
	p->test.on = false;
}

/* ---- waiters ---- */

void locker_waits(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r)
{
	struct person *p = &l->owners[owner];

	p->ask.on = false;
	if (p->wait.on)
		return; /* asked again in its place: it has waited all the time */
	may_get(l, owner, r);
	p->wait = (struct asked){ true, *r, now, 0 };
	p->overtaken = 0;
	p->free_since = NEVER;
	l->changed = true;
}

void locker_gives_up(struct locker *l, uint64_t now, uint32_t owner)
{
	struct asked *w = &l->owners[owner].wait;

	if (w->on)
		touch(l, now, owner, &w->r);
	w->on = false;
}

bool locker_is_waiting(const struct locker *l, uint32_t owner)
{
	return l->owners[owner].wait.on;
}

/* Blocked is also who waits for what a blocked one waits for: it came later, perhaps. */
static void find_blocked(struct locker *l)
{
	bool more = true;

	for (uint32_t o = 0; o < l->nowners; o++)
		l->owners[o].blocked = l->owners[o].wait.on && believed(l, o, &l->owners[o].wait.r);
	while (more) {
		more = false;
		for (uint32_t o = 0; o < l->nowners; o++) {
			struct person *p = &l->owners[o];

			for (uint32_t q = 0; q < l->nowners && p->wait.on && !p->blocked; q++)
				if (q != o && l->owners[q].wait.on && l->owners[q].blocked && meet(&p->wait.r, &l->owners[q].wait.r))
					p->blocked = more = true;
		}
	}
}

void locker_time(struct locker *l, uint64_t now, bool trouble)
{
	char text[64];

	l->calm = calm_time(l, now);
	l->calm_at = now;
	l->trouble = trouble;
	l->now = now;
	if (l->changed)
		find_blocked(l);
	l->changed = false;
	for (uint32_t o = 0; o < l->nowners; o++) {
		struct person *p = &l->owners[o];

		if (!p->wait.on)
			continue;
		if (p->blocked)
			p->free_since = NEVER;
		else if (p->free_since == NEVER || trouble || !can_use(l, o))
			p->free_since = now;
		else if (now - p->free_since > l->bound)
			finding(l, "owner %u at S%u waits for %s, and nobody has been in its way for %llu ms", o, p->server, range_text(&p->wait.r, text),
				(unsigned long long)((now - p->free_since) / 1000));
	}
}

/* ---- bytes ---- */

bool locker_has(const struct locker *l, uint32_t owner, const struct locker_range *r)
{
	const struct belief *b = &l->beliefs[r->file][owner];

	for (uint32_t c = cell_of(r->start); c <= cell_of(r->last); c++)
		if (b->type[c] < r->type)
			return false;
	return true;
}

bool locker_piece(const struct locker *l, uint32_t owner, uint32_t file, uint32_t n, struct locker_range *out)
{
	const struct belief *b = &l->beliefs[file][owner];

	for (uint32_t c = 0, end; c < CELLS; c = end) {
		for (end = c + 1; end < CELLS && b->type[end] == b->type[c]; end++)
			;
		if (!b->type[c] || n--)
			continue;
		*out = (struct locker_range){ file, b->type[c], c, end == CELLS ? LOCKER_END : end - 1 };
		return true;
	}
	return false;
}

bool locker_has_any(const struct locker *l, uint32_t owner, uint32_t file)
{
	for (uint32_t f = 0; f < LOCKER_FILES; f++)
		for (uint32_t c = 0; c < CELLS && (f == file || file == UINT32_MAX); c++)
			if (l->beliefs[f][owner].type[c])
				return true;
	return false;
}

/* False: it is the last word of a server that cannot serve any more, and others may have had the lock since. */
static bool under_lock(struct locker *l, uint32_t owner, uint32_t file, uint32_t first, uint32_t n, enum locker_type type)
{
	const struct locker_range r = { file, type, 4 * first, 4 * (first + n) - 1 };
	const struct belief *b = &l->beliefs[file][owner];

	if (!locker_has(l, owner, &r))
		finding(l, "simulator: owner %u uses f%u without a lock", owner, file);
	for (uint32_t c = cell_of(r.start); c <= cell_of(r.last); c++) {
		if (!b->gone[c])
			continue;
		if (!can_use(l, owner))
			return false;
		finding(l, "owner %u at S%u uses f%u byte %u, which somebody else has locked since", owner, l->owners[owner].server, file, c);
	}
	return true;
}

static bool may_be(const struct words *w, uint32_t word)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (w->w[i] == word)
			return true;
	return w->any;
}

static void is_now(struct words *w, uint32_t word)
{
	*w = (struct words){ .n = 1, .w = { word } };
}

void locker_write_begins(struct locker *l, uint32_t owner, uint32_t file, uint32_t first, uint32_t n, uint32_t word)
{
	(void)under_lock(l, owner, file, first, n, LOCKER_WRITE);
	for (uint32_t i = first; i < first + n; i++) {
		struct words *w = &l->words[file][i];

		if (may_be(w, word))
			continue;
		if (w->n == WORDS_MAX)
			w->any = true;
		else
			w->w[w->n++] = word;
	}
}

void locker_write_ends(struct locker *l, uint32_t owner, uint32_t file, uint32_t first, uint32_t n, uint32_t word, bool ok)
{
	if (!ok || !under_lock(l, owner, file, first, n, LOCKER_WRITE))
		return;
	for (uint32_t i = first; i < first + n; i++)
		is_now(&l->words[file][i], word);
}

void locker_reads(struct locker *l, uint32_t owner, uint32_t file, uint32_t first, uint32_t n, const uint32_t *words)
{
	if (!under_lock(l, owner, file, first, n, LOCKER_READ))
		return;
	for (uint32_t i = 0; i < n; i++) {
		struct words *w = &l->words[file][first + i];

		if (!may_be(w, words[i]))
			finding(l, "owner %u at S%u reads %u at f%u word %u under a lock, where %u was written under the last one", owner, l->owners[owner].server, words[i],
				file, first + i, w->w[w->n - 1]);
		is_now(w, words[i]);
	}
}

/* ---- the end ---- */

void locker_ends(struct locker *l)
{
	for (uint32_t o = 0; o < l->nowners; o++) {
		if (locker_has_any(l, o, UINT32_MAX))
			finding(l, "at the end owner %u at S%u has a lock", o, l->owners[o].server);
		if (l->owners[o].wait.on || l->owners[o].reserved.on)
			finding(l, "at the end owner %u at S%u waits", o, l->owners[o].server);
	}
}
