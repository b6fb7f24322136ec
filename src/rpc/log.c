/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Log lines. What can repeat without end (a refused peer that tries again, a stranger that
 * knocks) is said once a minute per cause and peer or address; the next line says how many
 * were left out. What an operator wants to see each time, such as a server that comes or goes, is said a few times a minute, so that one that comes and goes
 * without end fills no disk. Of the texts of a refusal a server of the volume sees each once, its numbers aside, and a few of them: who
 * corrects one mistake hears of the next at once. The table of what was said
 * is small: when it is full the oldest goes, which lets a line through early; so the lines of
 * one cause are bounded besides, for one who has many addresses.
 * Transport's thread, or start before there is one.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fnv.h"
#include "base/text.h"
#include "rpc/rpc_internal.h"

#define LOG_CAUSE_SHIFT 40

static void log_out(struct nfs4r_rpc *rpc, enum nfs4r_log_level level, const char *text)
{
	char line[NFS4R_TEXT_TIMES * (NFS4R_WHY + 512)];

	if (rpc->ev.log)
		rpc->ev.log(rpc->ev.ctx, level, nfs4r_text_line(line, sizeof(line), text));
}

void rpc_log(struct nfs4r_rpc *rpc, enum nfs4r_log_level level, const char *fmt, ...)
{
	char text[NFS4R_WHY + 512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_out(rpc, level, text);
}

/* Lines of one cause are bounded, whatever the number of addresses. */
static struct nfs4r_said *log_bucket(struct nfs4r_rpc *rpc, uint32_t cause)
{
	struct rpc_log_bucket *b = rpc->log_buckets;

	while (b < &rpc->log_buckets[RPC_LOG_CAUSES - 1] && b->cause && b->cause != cause)
		b++; /* causes are fewer; else the last ones share */
	b->cause = cause;
	return &b->said;
}

static struct rpc_log_slot *log_slot(struct nfs4r_rpc *rpc, uint64_t key)
{
	struct rpc_log_slot *oldest = &rpc->log_slots[0];

	for (uint32_t i = 0; i < RPC_LOG_SLOTS; i++) {
		struct rpc_log_slot *s = &rpc->log_slots[i];

		if (s->key == key)
			return s;
		if (s->at_ms < oldest->at_ms)
			oldest = s;
	}
	memset(oldest, 0, sizeof(*oldest));
	oldest->key = key;
	return oldest;
}

static bool slot_may(struct nfs4r_rpc *rpc, uint64_t key, uint32_t max, uint64_t *more)
{
	uint64_t now = uv_now(&rpc->loop), left_out = 0;
	struct rpc_log_slot *s = log_slot(rpc, key);

	s->at_ms = now ? now : 1;
	if (!nfs4r_said_may(&s->said, now, max, &left_out))
		return false;
	*more += left_out;
	return true;
}

static uint64_t key_of_text(uint64_t key, const char *text)
{
	uint64_t h = nfs4r_said_key(text);

	return key ^ ((h ^ h >> 32) & UINT32_MAX);
}

/* @each: a text of which one line is enough, or NULL. */
static __attribute__((format(printf, 6, 0))) void log_counted(struct nfs4r_rpc *rpc, enum nfs4r_log_level level, uint64_t key, uint32_t max, const char *each,
							      const char *fmt, va_list ap)
{
	struct nfs4r_said *all = log_bucket(rpc, (uint32_t)(key >> LOG_CAUSE_SHIFT));
	char text[NFS4R_WHY + 512];
	uint64_t more = 0;
	size_t len;

	if ((each && !slot_may(rpc, key_of_text(key, each), 1, &more)) || !slot_may(rpc, key, max, &more))
		return;
	all->more += more;
	if (!nfs4r_said_may(all, uv_now(&rpc->loop), RPC_LOG_BURST, &more))
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	len = strlen(text);
	if (more > 0)
		snprintf(text + len, sizeof(text) - len, " (%" PRIu64 " times more since the last such line)", more);
	log_out(rpc, level, text);
}

void rpc_log_limited(struct nfs4r_rpc *rpc, enum nfs4r_log_level level, uint64_t key,
		     const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_counted(rpc, level, key, 1, NULL, fmt, ap);
	va_end(ap);
}

void rpc_log_often(struct nfs4r_rpc *rpc, enum nfs4r_log_level level, uint64_t key, const char *each, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_counted(rpc, level, key, RPC_LOG_OFTEN, each, fmt, ap);
	va_end(ap);
}

uint64_t rpc_log_key(uint32_t cause, nfs4r_server_id peer, const struct sockaddr_storage *addr)
{
	char text[64] = "";
	uint64_t h;

	if (addr) {
		rpc_addr_text(addr, text, sizeof(text));
		/* Without the port: a caller has a new one each time. */
		if (strrchr(text, ':'))
			*strrchr(text, ':') = '\0';
	}
	h = nfs4r_fnv(NFS4R_FNV_BEGIN, text, strlen(text));
	h = addr ? (h ^ h >> 32) & UINT32_MAX : 0;
	return (uint64_t)cause << LOG_CAUSE_SHIFT | (uint64_t)(peer & 0xff) << 32 | h;
}
