/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The security of a connection: how its flavour is chosen, proved and renewed.
 *
 * Choice: a server calls with its own flavour (Peer_Security), always; it never falls back to another. The server that is called learns the flavour from the first
 * record. A HELLO means `none`. A TOKEN names its flavour. What is neither the own flavour nor one of those that are accepted beside it is refused.
 *
 * Happy path: tokens go to and fro until the flavour is content. The server that calls then asks who answered, before it says anything (is_server), and sends HELLO,
 * wrapped. The other one asks the same when it knows from HELLO who that claims to be (hello.c). A step of a handshake may block; it then runs on another thread, and
 * the connection takes no record meanwhile.
 *
 * Renewal: a session whose end comes near, or whose certificate was replaced, is followed by another one. Its tokens are records of the connection like others, and
 * nothing waits for them. The server that called begins; the other one may ask for that. When the server that was called is content it sends KEYS, the last record with the
 * old session, and the other one does the same when it has that. So nobody writes with keys that the other side might still refuse.
 *
 * Failure: a handshake that fails ends its connection with REFUSED and the number of a cause. A renewal that fails is told with an empty TOKEN; the old session stays as
 * long as it lives, and the next attempt comes a minute later.
 *
 * Invariants: a session proves one server, the one that the connection belongs to. A token of one handshake has to wait until the step before is done.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/rpc_internal.h"

struct step_work {
	struct rpc_work work;
	struct rpc_conn *c;
	struct rpc_peer *called; /* NULL: it called us */
	const struct nfs4r_security_ops *ops;
	struct nfs4r_security_session *session;
	struct nfs4r_buf *in;
	bool renews;
	enum nfs4r_status st;
	struct nfs4r_security_step step;
};

static nfs4r_server_id peer_id(const struct rpc_conn *c)
{
	return c->peer ? c->peer->ep.id : 0;
}

static struct nfs4r_security_session *session_open(struct rpc_conn *c, bool begins)
{
	return c->ops->open(c->rpc->setups[c->ops->flavour], &c->rpc->cfg, begins ? &c->peer->ep : NULL);
}

static void token_tell(struct rpc_conn *c, enum nfs4r_security flavour, struct nfs4r_buf *token)
{
	struct nfs4r_transport_msg_body m = { .type = NFS4R_MSG_TOKEN, .security = flavour, .opaque = token };

	rpc_conn_tell(c, &m);
}

/* ---- steps ---- */

static void step_run(struct rpc_work *work)
{
	struct step_work *w = (struct step_work *)work;

	w->st = w->ops->handshake(w->session, &w->step);
}

static void handshake_stepped(struct rpc_conn *c, struct step_work *w);
static void renewal_stepped(struct rpc_conn *c, struct step_work *w);

/* The other side did not wait for it, and an operator wants to know what took so long. */
static void failed_late(struct step_work *w)
{
	struct rpc_peer *p = w->called;

	if (!p || w->st == NFS4R_OK || w->st == NFS4R_DELAY || !w->step.why[0] || !p->known)
		return;
	rpc_cannot_prove(p, w->step.why);
	rpc_peer_state(p, w->step.why);
}

static void step_done(struct rpc_work *work)
{
	struct step_work *w = (struct step_work *)work;
	struct rpc_conn *c = w->c;

	c->stepping = false;
	if (w->called)
		w->called->steps--;
	if (rpc_conn_dead(c) && !atomic_load(&c->rpc->stopping))
		failed_late(w);
	if (!rpc_conn_dead(c) && !atomic_load(&c->rpc->stopping)) {
		if (w->step.note[0])
			rpc_log_often(c->rpc, w->step.plain ? NFS4R_LOG_INFO : NFS4R_LOG_WARN, rpc_log_key(RPC_LOG_SECURITY, 0, NULL), w->step.note, "%s", w->step.note);
		if (w->renews)
			renewal_stepped(c, w);
		else
			handshake_stepped(c, w);
		if (!rpc_conn_dead(c))
			rpc_conn_go_on(c);
	}
	nfs4r_buf_put(w->step.out);
	nfs4r_buf_put(w->in);
	free(w);
	rpc_conn_leave(c);
}

/* @in: NULL for the first step of the side that begins. */
static void step_begin(struct rpc_conn *c, struct nfs4r_security_session *s, const struct nfs4r_buf *in, bool renews)
{
	struct step_work *w = calloc(1, sizeof(*w));

	if (!w) {
		rpc_conn_fail(c, "no memory");
		return;
	}
	w->work = (struct rpc_work){ NULL, step_run, step_done };
	w->c = c;
	w->called = c->caller ? c->peer : NULL;
	w->ops = c->ops;
	w->session = s;
	w->renews = renews;
	w->in = nfs4r_buf_get((struct nfs4r_buf *)in);
	w->step.in = in ? in->data : NULL;
	w->step.len = in ? in->len : 0;
	c->stepping = in || !renews;
	c->works++;
	if (w->called)
		w->called->steps++;
	if (c->ops->blocks) {
		rpc_work_begin(c->rpc, &w->work, c->caller ? RPC_CREW_CALLS : RPC_CREW_CALLED);
		return;
	}
	step_run(&w->work);
	step_done(&w->work);
}

/* ---- the first handshake ---- */

/* From here on records are wrapped, the first is HELLO. */
static void secured(struct rpc_conn *c)
{
	char why[NFS4R_WHY] = "";

	if (c->caller && c->ops->is_server) {
		if (c->ops->is_server(c->security, &c->peer->ep, why) != NFS4R_OK) {
			rpc_refuse(c, c->peer->ep.id, NFS4R_REFUSED_SECURITY, why);
			return;
		}
		c->proven = true;
	}
	c->wraps = c->unwraps = c->security;
	c->secured = true;
	c->state = RPC_CONN_HELLO;
	if (c->caller)
		rpc_hello_send(c, c->peer->ep.id, c->peer->session);
}

/* The only server at the address of a caller; 0: there is none, or several share it. */
static nfs4r_server_id expected_at(const struct rpc_conn *c)
{
	nfs4r_server_id found = 0;

	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++) {
		const struct rpc_peer *p = &c->rpc->peers[id];

		if (!p->known || !rpc_addrs_have(&p->addrs, &c->addr))
			continue;
		if (found)
			return 0;
		found = id;
	}
	return found;
}

/* A caller whose handshake fails has not said which server it is. Its address tells an administrator where to look: whoever is expected there does not connect, and this is why. */
static void refuse_unproven(struct rpc_conn *c, const char *why)
{
	struct nfs4r_rpc *rpc = c->rpc;
	nfs4r_server_id at = c->peer ? 0 : expected_at(c);
	char text[NFS4R_WHY];

	snprintf(text, sizeof(text), "%s", why);
	if (at)
		snprintf(text, sizeof(text), "%.*s (at this address server %u is expected)", NFS4R_WHY - 64, why, at);
	if (at) /* as rpc_refuse() does: before the other side hears of it */
		rpc_peer_state(&rpc->peers[at], text);
	rpc_refuse(c, peer_id(c), NFS4R_REFUSED_SECURITY, text);
}

static void handshake_stepped(struct rpc_conn *c, struct step_work *w)
{
	const char *why = w->step.why[0] ? w->step.why : nfs4r_status_str(w->st);

	if (w->st != NFS4R_OK && w->st != NFS4R_DELAY) {
		if (c->caller && !w->in) /* what it lacks is this server's: a keytab, a KDC */
			rpc_end_call(c, why);
		else
			refuse_unproven(c, why);
		return;
	}
	if (c->caller) /* the other side's time begins now */
		c->created_ms = uv_now(&c->rpc->loop);
	if (w->step.out)
		token_tell(c, c->ops->flavour, w->step.out);
	if (w->st == NFS4R_OK && !rpc_conn_dead(c))
		secured(c);
}

static bool choose(struct rpc_conn *c, const struct nfs4r_security_ops *ops)
{
	c->ops = ops;
	c->chosen = true;
	if (!ops->open)
		return true;
	c->security = session_open(c, c->caller);
	if (!c->security)
		rpc_conn_fail(c, "no memory for its security session");
	return c->security;
}

void rpc_handshake_start(struct rpc_conn *c)
{
	c->state = RPC_CONN_TOKEN;
	if (!c->caller || !choose(c, nfs4r_security_find(c->rpc->cfg.security)))
		return;
	if (c->ops->handshake)
		step_begin(c, c->security, NULL, false);
	else
		secured(c);
}

static void flavours_text(uint32_t set, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (unsigned f = 1; f < NFS4R_SECURITY_FLAVOURS && len < size; f++)
		if (set & NFS4R_SECURITY_BIT(f))
			len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "", nfs4r_security_name(f));
}

static void refuse_flavour(struct rpc_conn *c, nfs4r_server_id who, enum nfs4r_security flavour)
{
	char text[NFS4R_WHY], set[64];

	flavours_text(c->rpc->accepts, set, sizeof(set));
	snprintf(text, sizeof(text), "security differs: it calls with Peer_Security = %s, and server %u takes calls with %s; write the same Peer_Security on all servers, or Peer_Security_Accept = %s on server %u while they change",
		 nfs4r_security_name(flavour), c->rpc->cfg.self, set, nfs4r_security_name(flavour), c->rpc->cfg.self);
	rpc_refuse(c, who, NFS4R_REFUSED_SECURITY, text);
}

bool rpc_handshake_none(struct rpc_conn *c, nfs4r_server_id who)
{
	if (c->chosen || !(c->rpc->accepts & NFS4R_SECURITY_BIT(NFS4R_SECURITY_NONE))) {
		refuse_flavour(c, c->chosen ? peer_id(c) : who, NFS4R_SECURITY_NONE);
		return false;
	}
	if (rpc_ports_heard(c->rpc) && !rpc_port_privileged(&c->addr)) {
		rpc_refuse(c, 0, NFS4R_REFUSED_PORT, RPC_PORT_TEXT);
		return false;
	}
	if (!choose(c, nfs4r_security_find(NFS4R_SECURITY_NONE)))
		return false;
	secured(c);
	return true;
}

static void first_token(struct rpc_conn *c, enum nfs4r_security flavour, const struct nfs4r_buf *token)
{
	const struct nfs4r_security_ops *ops = nfs4r_security_find(flavour);

	if (!c->chosen && (!ops || !ops->handshake || !(c->rpc->accepts & NFS4R_SECURITY_BIT(flavour)))) {
		refuse_flavour(c, peer_id(c), flavour);
		return;
	}
	if (!c->chosen && !choose(c, ops))
		return;
	if (c->ops->flavour != flavour || !token || !token->len || !c->ops->handshake)
		rpc_conn_fail(c, "sent a token that belongs to no handshake");
	else
		step_begin(c, c->security, token, false);
}

/* ---- renewal ---- */

static void renewal_drop(struct rpc_conn *c, uint64_t wait_ms)
{
	if (c->renewal.session && c->ops->close)
		c->ops->close(c->renewal.session);
	c->renewal.session = NULL;
	c->renewal.done = false;
	c->renewal.again_ms = uv_now(&c->rpc->loop) + wait_ms;
}

static void renewal_failed(struct rpc_conn *c, const char *why)
{
	rpc_log_often(c->rpc, NFS4R_LOG_WARN, rpc_log_key(RPC_LOG_RENEWAL, c->peer->ep.id, NULL), why,
		      "the security of the connections with server %u cannot be renewed: %s; what it was proved with before stays in use as long as it lasts", c->peer->ep.id, why);
	token_tell(c, c->ops->flavour, NULL);
	renewal_drop(c, RPC_RENEW_AGAIN_MS);
}

static void renewal_begin(struct rpc_conn *c)
{
	c->renewal.session = session_open(c, true);
	if (!c->renewal.session)
		return; /* the next tick tries again */
	c->renewal.begun_ms = uv_now(&c->rpc->loop);
	c->renewal.running = true;
	step_begin(c, c->renewal.session, NULL, true);
}

static void renewal_stepped(struct rpc_conn *c, struct step_work *w)
{
	char why[NFS4R_WHY] = "";

	c->renewal.running = false;
	if (w->st != NFS4R_OK && w->st != NFS4R_DELAY) {
		renewal_failed(c, w->step.why[0] ? w->step.why : nfs4r_status_str(w->st));
		return;
	}
	if (w->step.out)
		token_tell(c, c->ops->flavour, w->step.out);
	if (w->st != NFS4R_OK || rpc_conn_dead(c))
		return;
	if (c->ops->is_server && c->ops->is_server(c->renewal.session, &c->peer->ep, why) != NFS4R_OK) {
		renewal_failed(c, why);
		return;
	}
	c->renewal.done = true;
	if (!c->caller)
		rpc_conn_tell_keys(c);
}

/* An empty token: please begin. */
static void renewal_asked(struct rpc_conn *c)
{
	uint64_t now = uv_now(&c->rpc->loop);

	if (c->caller && !c->renewal.session && now >= c->renewal.begun_ms + RPC_RENEW_LEAST_MS)
		renewal_begin(c);
}

/* An empty token: no, or forget it. */
static void renewal_ended(struct rpc_conn *c)
{
	if (!c->renewal.session) /* as this side has said itself */
		return;
	if (c->renewal.running || c->unwraps == c->renewal.session || (c->renewal.done && !c->caller)) {
		rpc_conn_fail(c, "gave up a renewal that was done");
		return;
	}
	if (c->caller)
		rpc_log_often(c->rpc, NFS4R_LOG_WARN, rpc_log_key(RPC_LOG_RENEWAL, c->peer->ep.id, NULL), NULL,
			      "server %u does not take what the connections with it are to be renewed with; its log says why. What they were proved with before stays in use as long as it lasts",
			      c->peer->ep.id);
	renewal_drop(c, RPC_RENEW_AGAIN_MS);
}

static void renewal_token(struct rpc_conn *c, const struct nfs4r_buf *token)
{
	uint64_t now = uv_now(&c->rpc->loop);

	if (!c->renewal.session && !c->caller) {
		if (now >= c->renewal.begun_ms + RPC_RENEW_AGAIN_MS) {
			c->renewal.begun_ms = now;
			c->renewal.n = 0;
		}
		if (++c->renewal.n > RPC_RENEW_MOST) {
			token_tell(c, c->ops->flavour, NULL);
			return;
		}
		c->renewal.session = session_open(c, false);
	}
	if (!c->renewal.session || c->renewal.running || c->renewal.done) {
		rpc_conn_fail(c, "sent a token that belongs to no handshake");
		return;
	}
	c->renewal.running = true;
	step_begin(c, c->renewal.session, token, true);
}

void rpc_token_received(struct rpc_conn *c, enum nfs4r_security flavour, const struct nfs4r_buf *token)
{
	bool is_empty = !token || !token->len;

	if (c->state == RPC_CONN_TOKEN)
		first_token(c, flavour, token);
	else if (c->state == RPC_CONN_READY && c->ops->is_due && !flavour && is_empty)
		renewal_asked(c);
	else if (c->state == RPC_CONN_READY && c->ops->is_due && c->ops->flavour == flavour && is_empty)
		renewal_ended(c);
	else if (c->state == RPC_CONN_READY && c->ops->is_due && c->ops->flavour == flavour)
		renewal_token(c, token);
	else if (!c->ops->handshake && c->state == RPC_CONN_HELLO) /* it was called without, and answers with one */
		refuse_flavour(c, peer_id(c), flavour);
	else
		rpc_conn_fail(c, "sent a token after the handshake");
}

void rpc_keys_received(struct rpc_conn *c)
{
	if (!c->renewal.done || c->unwraps == c->renewal.session) {
		rpc_conn_fail(c, "changed keys without a handshake");
		return;
	}
	c->unwraps = c->renewal.session;
	if (c->caller)
		rpc_conn_tell_keys(c);
	rpc_renewal_finish(c);
}

void rpc_renewal_finish(struct rpc_conn *c)
{
	if (!c->renewal.session || c->wraps != c->renewal.session || c->unwraps != c->renewal.session)
		return;
	if (c->ops->close)
		c->ops->close(c->security);
	c->security = c->renewal.session;
	c->renewal.session = NULL;
	c->renewal.done = false;
	if (!c->caller)
		c->renewal.again_ms = uv_now(&c->rpc->loop) + RPC_RENEW_LEAST_MS; /* it was successful, so it may be asked for again soon */
	rpc_log_often(c->rpc, NFS4R_LOG_INFO, rpc_log_key(RPC_LOG_RENEWAL, c->peer->ep.id, NULL), NULL, "the security of a connection with server %u was renewed", c->peer->ep.id);
}

void rpc_renewal_tick(struct rpc_conn *c, uint64_t now)
{
	char why[NFS4R_WHY];

	if (c->ops->has_ended && c->ops->has_ended(c->security, why)) {
		rpc_conn_fail(c, "%s", why);
		return;
	}
	if (!c->ops->is_due || c->state != RPC_CONN_READY || c->paused || c->renewal.session || now < c->renewal.again_ms || !c->ops->is_due(c->security))
		return;
	c->renewal.again_ms = now + (c->caller ? RPC_RENEW_LEAST_MS : RPC_RENEW_AGAIN_MS);
	if (c->caller)
		renewal_begin(c);
	else
		token_tell(c, 0, NULL);
}

void rpc_peer_prove_again(struct rpc_peer *p)
{
	char why[NFS4R_WHY] = "";

	for (int i = 0; i < RPC_SLOTS; i++) {
		struct rpc_conn *c = p->conns[i];

		if (!c || !c->proven || !c->ops->is_server || c->ops->is_server(c->security, &p->ep, why) == NFS4R_OK)
			continue;
		rpc_peer_down(p, false, why);
		return;
	}
}

/* ---- the flavours of a transport ---- */

/* Of the first one that shows a certificate: tls. Blocks. */
static void own_of(struct nfs4r_rpc *rpc, struct nfs4r_rpc_own *own)
{
	memset(own, 0, sizeof(*own));
	for (unsigned f = 1; f < NFS4R_SECURITY_FLAVOURS && !own->has_key; f++) {
		const struct nfs4r_security_ops *ops = rpc->setups[f] ? nfs4r_security_find(f) : NULL;

		if (ops && ops->shows)
			ops->shows(rpc->setups[f], own);
	}
}

enum nfs4r_status rpc_security_start(struct nfs4r_rpc *rpc, char *why)
{
	enum nfs4r_status st = NFS4R_OK;

	rpc->accepts = rpc->cfg.security_accept | NFS4R_SECURITY_BIT(rpc->cfg.security);
	for (unsigned f = 1; f < NFS4R_SECURITY_FLAVOURS && st == NFS4R_OK; f++) {
		const struct nfs4r_security_ops *ops = rpc->accepts & NFS4R_SECURITY_BIT(f) ? nfs4r_security_find(f) : NULL;

		if (ops && ops->start)
			st = ops->start(&rpc->cfg, &rpc->setups[f], why);
	}
	return st;
}

void rpc_security_stop(struct nfs4r_rpc *rpc)
{
	for (unsigned f = 1; f < NFS4R_SECURITY_FLAVOURS; f++) {
		if (rpc->setups[f])
			nfs4r_security_find(f)->stop(rpc->setups[f]);
		rpc->setups[f] = NULL;
	}
}

struct look_work {
	struct rpc_work work;
	struct nfs4r_rpc *rpc;
	struct nfs4r_rpc_own own;
	char note[NFS4R_SECURITY_FLAVOURS][NFS4R_WHY];
};

static void look_run(struct rpc_work *work)
{
	struct look_work *w = (struct look_work *)work;

	for (unsigned f = 1; f < NFS4R_SECURITY_FLAVOURS; f++) {
		const struct nfs4r_security_ops *ops = w->rpc->setups[f] ? nfs4r_security_find(f) : NULL;

		if (ops && ops->look)
			ops->look(w->rpc->setups[f], w->note[f]);
	}
	own_of(w->rpc, &w->own);
}

static void look_done(struct rpc_work *work)
{
	struct look_work *w = (struct look_work *)work;

	w->rpc->looking = false;
	rpc_certificates_tick(w->rpc);
	rpc_certificates_own(w->rpc, &w->own);
	for (unsigned f = 1; f < NFS4R_SECURITY_FLAVOURS; f++)
		if (w->note[f][0])
			rpc_log_often(w->rpc, NFS4R_LOG_WARN, rpc_log_key(RPC_LOG_SECURITY, 0, NULL), w->note[f], "%s", w->note[f]);
	free(w);
}

void rpc_security_look(struct nfs4r_rpc *rpc, uint64_t now)
{
	struct look_work *w;
	bool any = false;

	for (unsigned f = 1; f < NFS4R_SECURITY_FLAVOURS; f++)
		any = any || (rpc->setups[f] && nfs4r_security_find(f)->look);
	if (!any || rpc->looking || now < rpc->looked_ms + RPC_LOOK_MS)
		return;
	rpc->looked_ms = now;
	w = calloc(1, sizeof(*w));
	if (!w)
		return; /* next time */
	w->work = (struct rpc_work){ NULL, look_run, look_done };
	w->rpc = rpc;
	rpc->looking = true;
	rpc_work_begin(rpc, &w->work, RPC_CREW_CALLS);
}

void rpc_security_warn(struct nfs4r_rpc *rpc)
{
	if (rpc->cfg.security == NFS4R_SECURITY_NONE || !(rpc->accepts & NFS4R_SECURITY_BIT(NFS4R_SECURITY_NONE)))
		return;
	rpc_log(rpc, NFS4R_LOG_WARN,
		"Peer_Security_Accept = none: a server may still connect without any proof, and whoever has its address is taken for it; remove none from Peer_Security_Accept once all servers call with %s",
		nfs4r_security_name(rpc->cfg.security));
}
