/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See tap.h. Two threads for each pair of connections, one in each direction. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/unit.h"

#include "contract/rpc/tap.h"

#define PAIRS_MAX 512
#define LAST_FRAGMENT 0x80000000u

struct record {
	uint32_t len; /* with the mark */
	uint8_t *bytes;
};

struct pair {
	struct tap *p;
	int call, answer; /* sockets */
	pthread_t thread[2];
};

struct tap {
	int listener;
	struct nfs4r_endpoint to;
	char from[64];
	pthread_t thread;
	pthread_mutex_t lock;
	/* under the lock: */
	struct pair pairs[PAIRS_MAX];
	uint32_t n;
	enum tap_act act;
	uint32_t least, flips;
	bool done;
	char text[TAP_TEXTS][TAP_TEXT + 1];
	uint64_t seen[TAP_TEXTS], bytes;
	uint8_t first[65536 + 64];
	size_t first_len;
};

static bool read_all(int fd, void *to, size_t len)
{
	uint8_t *at = to;

	while (len > 0) {
		ssize_t n = recv(fd, at, len, 0);

		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

static bool write_all(int fd, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	while (len > 0) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

/* NULL: the connection ended. */
static struct record *record_read(int fd)
{
	struct record *r;
	uint32_t mark;

	if (!read_all(fd, &mark, sizeof(mark)))
		return NULL;
	r = malloc(sizeof(*r));
	assert_true(r != NULL);
	r->len = 4 + (ntohl(mark) & ~LAST_FRAGMENT);
	r->bytes = malloc(r->len);
	memcpy(r->bytes, &mark, sizeof(mark));
	if (read_all(fd, r->bytes + 4, r->len - 4))
		return r;
	free(r->bytes);
	free(r);
	return NULL;
}

static void record_free(struct record *r)
{
	if (r)
		free(r->bytes);
	free(r);
}

static void look_for(struct tap *p, uint32_t i, const struct record *r)
{
	const uint8_t *at = r->bytes, *end = r->bytes + r->len;
	size_t len = strlen(p->text[i]);

	while (len && (at = memmem(at, (size_t)(end - at), p->text[i], len)) != NULL) {
		p->seen[i]++;
		at += len;
	}
}

static void look_at(struct tap *p, const struct record *r, bool calls)
{
	pthread_mutex_lock(&p->lock);
	p->bytes += r->len;
	if (calls && !p->first_len && r->len <= sizeof(p->first)) {
		memcpy(p->first, r->bytes, r->len);
		p->first_len = r->len;
	}
	for (uint32_t i = 0; i < TAP_TEXTS; i++)
		look_for(p, i, r);
	pthread_mutex_unlock(&p->lock);
}

/* What is to be done with this record. */
static enum tap_act act_of(struct tap *p, const struct record *r, bool calls, uint32_t *bit)
{
	enum tap_act act = TAP_NOTHING;

	pthread_mutex_lock(&p->lock);
	if (calls && !p->done && r->len >= p->least) {
		act = p->act;
		p->done = act != TAP_NOTHING;
	}
	if (act == TAP_FLIP)
		*bit = p->flips++ * 7919;
	pthread_mutex_unlock(&p->lock);
	return act;
}

static bool act_on(struct pair *pair, int to, int from, struct record *r, enum tap_act act, uint32_t bit)
{
	struct record *other;
	bool well = true;

	switch (act) {
	case TAP_FLIP:
		bit %= 8 * (r->len - 4); /* not of the mark: it would only change where records end */
		r->bytes[4 + bit / 8] ^= (uint8_t)(1u << bit % 8);
		return write_all(to, r->bytes, r->len);
	case TAP_DROP:
		return true;
	case TAP_REPEAT:
		return write_all(to, r->bytes, r->len) && write_all(to, r->bytes, r->len);
	case TAP_SWAP:
		other = record_read(from);
		well = other && write_all(to, other->bytes, other->len) && write_all(to, r->bytes, r->len);
		record_free(other);
		return well;
	case TAP_CUT:
		write_all(to, r->bytes, r->len / 2);
		return false;
	default:
		return write_all(to, r->bytes, r->len);
	}
}

static void hand_over(struct pair *pair, int from, int to, bool calls)
{
	struct record *r;
	uint32_t bit = 0;
	bool well = true;

	while (well && (r = record_read(from)) != NULL) {
		enum tap_act act = act_of(pair->p, r, calls, &bit);

		look_at(pair->p, r, calls);
		well = act_on(pair, to, from, r, act, bit);
		record_free(r);
	}
	shutdown(to, SHUT_RDWR);
	shutdown(from, SHUT_RDWR);
}

static void *there(void *arg)
{
	struct pair *pair = arg;

	hand_over(pair, pair->call, pair->answer, true);
	return NULL;
}

static void *back(void *arg)
{
	struct pair *pair = arg;

	hand_over(pair, pair->answer, pair->call, false);
	return NULL;
}

static void *listens(void *arg)
{
	struct tap *p = arg;
	int fd, to;

	while ((fd = accept(p->listener, NULL, NULL)) >= 0) {
		to = raw_connect(p->from, &p->to);
		pthread_mutex_lock(&p->lock);
		if (to < 0 || p->n == PAIRS_MAX) {
			close(fd);
			if (to >= 0)
				close(to);
		} else {
			struct pair *pair = &p->pairs[p->n++];

			*pair = (struct pair){ .p = p, .call = fd, .answer = to };
			pthread_create(&pair->thread[0], NULL, there, pair);
			pthread_create(&pair->thread[1], NULL, back, pair);
		}
		pthread_mutex_unlock(&p->lock);
	}
	return NULL;
}

struct tap *tap_start(const struct nfs4r_endpoint *at, const struct nfs4r_endpoint *to, const char *from)
{
	struct tap *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->to = *to;
	snprintf(p->from, sizeof(p->from), "%s", from);
	pthread_mutex_init(&p->lock, NULL);
	p->listener = raw_listen(at);
	assert_int_equal(pthread_create(&p->thread, NULL, listens, p), 0);
	return p;
}

void tap_stop(struct tap *p)
{
	shutdown(p->listener, SHUT_RDWR);
	pthread_join(p->thread, NULL);
	close(p->listener);
	for (uint32_t i = 0; i < p->n; i++) {
		shutdown(p->pairs[i].call, SHUT_RDWR);
		shutdown(p->pairs[i].answer, SHUT_RDWR);
		pthread_join(p->pairs[i].thread[0], NULL);
		pthread_join(p->pairs[i].thread[1], NULL);
		close(p->pairs[i].call);
		close(p->pairs[i].answer);
	}
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void tap_do(struct tap *p, enum tap_act act, uint32_t least)
{
	pthread_mutex_lock(&p->lock);
	p->act = act;
	p->least = least;
	p->done = false;
	pthread_mutex_unlock(&p->lock);
}

bool tap_done(struct tap *p)
{
	pthread_mutex_lock(&p->lock);
	bool done = p->done;
	pthread_mutex_unlock(&p->lock);
	return done;
}

void tap_look_for(struct tap *p, uint32_t i, const char *text)
{
	assert_true(i < TAP_TEXTS && strlen(text) <= TAP_TEXT);
	pthread_mutex_lock(&p->lock);
	strcpy(p->text[i], text);
	p->seen[i] = 0;
	pthread_mutex_unlock(&p->lock);
}

uint64_t tap_seen(struct tap *p, uint32_t i)
{
	pthread_mutex_lock(&p->lock);
	uint64_t seen = p->seen[i];
	pthread_mutex_unlock(&p->lock);
	return seen;
}

uint64_t tap_bytes(struct tap *p)
{
	pthread_mutex_lock(&p->lock);
	uint64_t bytes = p->bytes;
	pthread_mutex_unlock(&p->lock);
	return bytes;
}

size_t tap_first(struct tap *p, void *out, size_t size)
{
	pthread_mutex_lock(&p->lock);
	size_t len = p->first_len <= size ? p->first_len : 0;
	memcpy(out, p->first, len);
	pthread_mutex_unlock(&p->lock);
	return len;
}
