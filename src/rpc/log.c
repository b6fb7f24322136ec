/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Log lines. What can repeat without end (a refused peer that tries again, a stranger that
 * knocks) is said once a minute per cause and peer or address; the next line says how many
 * were left out. For a server of the volume each text of a refusal is a cause of its own, its
 * numbers aside: who corrects one mistake hears of the next at once. The table of what was said
 * is small: when it is full the oldest goes, which lets a line through early; so the lines of
 * one cause are bounded besides, for one who has many addresses.
 * Transport's thread, or start before there is one.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

/* Lines of one cause are bounded, whatever the number of addresses. NULL: this one would be too many. */
static struct rpc_log_bucket *log_bucket(struct nfs4r_rpc *rpc, uint32_t cause, uint64_t now)
{
	struct rpc_log_bucket *b = rpc->log_buckets;

	while (b < &rpc->log_buckets[RPC_LOG_CAUSES - 1] && b->cause && b->cause != cause)
		b++; /* causes are fewer; else the last ones share */
	b->cause = cause;
	if (!b->lines || now - b->begun_ms >= RPC_LOG_INTERVAL_MS) {
		b->begun_ms = now;
		b->lines = 0;
	}
	if (b->lines < RPC_LOG_BURST) {
		b->lines++;
		return b;
	}
	b->suppressed++;
	return NULL;
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

void rpc_log_limited(struct nfs4r_rpc *rpc, enum nfs4r_log_level level, uint64_t key,
		     const char *fmt, ...)
{
	struct rpc_log_slot *s = log_slot(rpc, key);
	uint64_t now = uv_now(&rpc->loop), more;
	struct rpc_log_bucket *b;
	char text[NFS4R_WHY + 512];
	size_t len;
	va_list ap;

	if (s->at_ms != 0 && now - s->at_ms < RPC_LOG_INTERVAL_MS) {
		s->suppressed++;
		return;
	}
	s->at_ms = now ? now : 1;
	b = log_bucket(rpc, (uint32_t)(key >> LOG_CAUSE_SHIFT), now);
	if (!b) {
		s->suppressed = 0; /* the bucket counts it */
		return;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	len = strlen(text);
	more = s->suppressed + b->suppressed;
	if (more > 0)
		snprintf(text + len, sizeof(text) - len, " (%" PRIu64 " times more since the last such line)", more);
	s->suppressed = b->suppressed = 0;
	log_out(rpc, level, text);
}

static uint64_t mix(uint64_t h, char c)
{
	return (h ^ (uint8_t)c) * 0x100000001b3;
}

uint64_t rpc_log_key_of_text(uint64_t key, const char *text)
{
	uint64_t h = 0xcbf29ce484222325;

	for (; *text; text++)
		if (*text < '0' || *text > '9') /* they change from one time to the next */
			h = mix(h, *text);
	return key ^ ((h ^ h >> 32) & UINT32_MAX);
}

uint64_t rpc_log_key(uint32_t cause, nfs4r_server_id peer, const struct sockaddr_storage *addr)
{
	uint64_t h = 0xcbf29ce484222325;
	char text[64] = "";

	if (addr) {
		rpc_addr_text(addr, text, sizeof(text));
		/* Without the port: a caller has a new one each time. */
		if (strrchr(text, ':'))
			*strrchr(text, ':') = '\0';
	}
	for (const char *p = text; *p; p++)
		h = mix(h, *p);
	h = addr ? (h ^ h >> 32) & UINT32_MAX : 0;
	return (uint64_t)cause << LOG_CAUSE_SHIFT | (uint64_t)(peer & 0xff) << 32 | h;
}
