/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The update under construction: actions in order, the messages they point to, the rows of the
 * commit in progress, and the one timer.
 *
 * Everything in here lives until the next step. What actions point to (messages, rows, texts) is allocated one
 * by one (a RELEASE is 8 KB), so that the pointers survive the growth of the arrays. Memory is not
 * allowed to run out: a core that lost an action in the middle of a step could no longer keep any
 * promise, so the allocation is asserted, and the tables that peers can fill have limits.
 */
#include "core/state/state_int.h"

#include <stdio.h>

#include "base/said.h"

void *out_xcalloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	assert(p);
	return p;
}

void *out_grow(void *v, uint32_t *cap, uint32_t n, size_t size)
{
	if (n < *cap)
		return v;
	*cap = *cap ? *cap * 2 : 16;
	while (*cap <= n)
		*cap *= 2;
	v = realloc(v, *cap * size);
	assert(v);
	return v;
}

void out_act(struct nfs4r_core *c, const struct nfs4r_action *a)
{
	c->out.acts = out_grow(c->out.acts, &c->out.acts_cap, c->out.nacts, sizeof(*c->out.acts));
	c->out.acts[c->out.nacts++] = *a;
}

void out_give(struct nfs4r_core *c, void *p)
{
	c->out.kept = out_grow(c->out.kept, &c->out.inline_cap, c->out.nkept, sizeof(*c->out.kept));
	c->out.kept[c->out.nkept++] = p;
}

void *out_keep(struct nfs4r_core *c, size_t size)
{
	void *p = out_xcalloc(1, size);

	out_give(c, p);
	return p;
}

static const char *keep_text(struct nfs4r_core *c, const char *text)
{
	size_t len = strlen(text);

	if (len >= NFS4R_CORE_TEXT)
		len = NFS4R_CORE_TEXT - 1;
	return memcpy(out_keep(c, len + 1), text, len);
}

struct nfs4r_msg *out_msg(struct nfs4r_core *c, uint32_t type)
{
	struct nfs4r_msg *m = out_keep(c, sizeof(*m));

	m->type = type;
	return m;
}

/* A peer whose connection is known to be down hears everything again at PEER_UP. */
void out_send(struct nfs4r_core *c, nfs4r_server_id to, struct nfs4r_msg *m, bool durable)
{
	assert(to && to <= NFS4R_SERVERS_MAX && to != c->self);
	if (c->peers[to].down)
		return;
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_SEND, .durable = durable, .send = { .to = to, .msg = m } });
}

void out_timer_at(struct nfs4r_core *c, uint64_t t)
{
	if (t < c->out.timer)
		c->out.timer = t;
}

void out_row(struct nfs4r_core *c, const struct nfs4r_put *p)
{
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_PUT, .put = { .put = memcpy(out_keep(c, sizeof(*p)), p, sizeof(*p)) } });
}

void out_put(struct nfs4r_core *c, const struct nfs4r_put *p)
{
	out_row(c, p);
	out_wrote(c);
}

void out_wrote(struct nfs4r_core *c)
{
	c->wrote_ms = c->now;
}

void out_commit_begin(struct nfs4r_core *c)
{
	c->out.nputs = 0;
}

void out_commit_put(struct nfs4r_core *c, const struct nfs4r_put *p)
{
	c->out.puts = out_grow(c->out.puts, &c->out.puts_cap, c->out.nputs, sizeof(*c->out.puts));
	c->out.puts[c->out.nputs++] = *p;
}

void out_begin(struct nfs4r_core *c)
{
	for (uint32_t i = 0; i < c->out.nkept; i++)
		free(c->out.kept[i]); /* whatever a message points to belongs to somebody else */
	c->out.nkept = 0;
	c->out.nacts = 0;
	if (c->out.acts_cap > ACTS_POOLED) { /* one step that released thousands of claims does not take memory for good */
		free(c->out.acts);
		c->out.acts = NULL;
		c->out.acts_cap = 0;
	}
}

const struct nfs4r_update *out_end(struct nfs4r_core *c)
{
	c->out.upd.n = c->out.nacts;
	c->out.upd.actions = c->out.acts;
	c->out.upd.next_timer_ms = c->out.timer;
	return &c->out.upd;
}

void out_no_timer(struct nfs4r_core *c)
{
	c->out.timer = UINT64_MAX;
}

void out_durable(struct nfs4r_core *c, uint64_t step)
{
	if (step > c->durable_step)
		c->durable_step = step;
}

void out_stuck(struct nfs4r_core *c, const char *text)
{
	if (c->out.stuck_at && c->now < c->out.stuck_at + STUCK_EVERY_MS)
		return;
	c->out.stuck_at = c->now ? c->now : 1;
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_STUCK, .stuck = { .text = keep_text(c, text) } });
}

void out_stuck_again(struct nfs4r_core *c)
{
	c->out.stuck_at = 0;
}

static bool is_recent(const struct nfs4r_core *c, const struct complaint *o)
{
	return o->said_ms && c->now < o->said_ms + STUCK_EVERY_MS;
}

/* Each text once in a while, and not too many different ones. */
static bool may_complain(struct nfs4r_core *c, nfs4r_server_id from, const char *text)
{
	struct complaint *list = c->peers[from].complaints, *o = &list[0];
	uint64_t key = nfs4r_said_key(text);

	for (uint32_t i = 0; i < COMPLAINTS; i++) {
		if (is_recent(c, &list[i]) && list[i].key == key)
			return false;
		if (list[i].said_ms < o->said_ms)
			o = &list[i];
	}
	if (is_recent(c, o))
		return false;
	*o = (struct complaint){ key, c->now ? c->now : 1 };
	return true;
}

void out_complain(struct nfs4r_core *c, nfs4r_server_id from, const char *text)
{
	char line[NFS4R_CORE_TEXT];

	c->st.bad_messages++;
	if (!may_complain(c, from, text))
		return;
	snprintf(line, sizeof(line), "server %u %s", from, text);
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_STUCK, .stuck = { .text = keep_text(c, line) } });
}

void out_servers_text(nfs4r_servers set, char *buf, size_t len)
{
	size_t n = 0;

	buf[0] = 0;
	for (uint32_t s = 1; s <= NFS4R_SERVERS_MAX && n < len; s++)
		if (set & NFS4R_BIT(s))
			n += (size_t)snprintf(buf + n, len - n, "%s%u", n ? ", " : "", s);
}

void out_halt(struct nfs4r_core *c, const char *text)
{
	if (c->halted)
		return;
	c->halted = true;
	c->dirty |= DIRTY_OPS | DIRTY_OBJECTS;
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_HALT, .halt = { .text = keep_text(c, text) } });
}
