/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Servers with Peer_Security = tls: who is let in, what somebody on the way can do, and how keys and flavours change while they work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "lib/unit.h"

#include "contract/rpc/fake.h"
#include "contract/rpc/flips.h"
#include "contract/rpc/pki_world.h"
#include "contract/rpc/proxy.h"
#include "contract/rpc/traffic.h"

#define MAX 4
#define NONE_TOO NFS4R_SECURITY_BIT(NFS4R_SECURITY_NONE)

#define UUID "42424242-4242-4242-4242-424242424242"
#define OTHER_UUID "43434343-4242-4242-4242-424242424242"
#define LONG_AGO_S (-9 * PKI_DAY)

static EVP_PKEY *keys[MAX + 1]; /* by server; the last one is a new one */
static EVP_PKEY *ca_key, *other_ca_key, *next_ca_key;
static X509 *ca, *other_ca, *next_ca; /* other_ca pretends to be ca; next_ca has another name */

static int keys_make(void **state)
{
	const struct pki_cert root = { .name = "root", .ca = true }, next = { .name = "next root", .ca = true };

	ca_key = pki_key();
	other_ca_key = pki_key();
	ca = pki_sign(ca_key, &root);
	other_ca = pki_sign(other_ca_key, &root);
	next_ca_key = pki_key();
	next_ca = pki_sign(next_ca_key, &next);
	pki_save_cert(pki_path("ca"), ca, NULL);
	for (int i = 0; i <= MAX; i++)
		keys[i] = pki_key();
	return 0;
}

static int keys_free(void **state)
{
	X509_free(ca);
	X509_free(other_ca);
	X509_free(next_ca);
	EVP_PKEY_free(ca_key);
	EVP_PKEY_free(other_ca_key);
	EVP_PKEY_free(next_ca_key);
	for (int i = 0; i <= MAX; i++)
		EVP_PKEY_free(keys[i]);
	return 0;
}

/* Server with index @i shows a certificate of the key @of from now on. */
static void show_one(struct world *w, uint32_t i, uint32_t of, const struct pki_cert *says)
{
	pki_world_show(w, i, keys[of], says);
}

static void show(struct world *w, uint32_t i, uint32_t of)
{
	const struct pki_cert says = { .name = "nfs4r" };

	show_one(w, i, of, &says);
}

/* Everybody has a key, and knows those of all. */
static struct world *world_of(uint32_t n, enum nfs4r_security security)
{
	struct world *w = malloc(sizeof(*w));

	world_init(w, n);
	for (uint32_t i = 0; i < n; i++) {
		w->s[i].cfg.security = security;
		w->s[i].cfg.connections = 2;
		show(w, i, i);
		for (uint32_t k = 0; k < n; k++) {
			w->s[i].cfg.servers[k].nkeys = 1;
			pki_fingerprint(keys[k], &w->s[i].cfg.servers[k].key[0]);
		}
	}
	return w;
}

static void end(struct world *w)
{
	world_fini(w);
	free(w);
}

static void test_up(void **state)
{
	struct world *w = world_of(3, NFS4R_SECURITY_TLS);
	struct nfs4r_rpc_peer_stats st;

	world_start_all(w);
	world_wait_all_up(w);
	struct traffic to = { w, 0, 1, 0, 0, 0 }, back = { w, 1, 0, 0, 0, 0 };

	traffic_some(&to, 200);
	traffic_some(&back, 200);
	traffic_entry(&to, NFS4R_IO_MAX);
	traffic_arrived(&to);
	traffic_arrived(&back);
	assert_true(nfs4r_rpc_get_stats(w->s[0].rpc, 2, &st));
	assert_int_equal(st.security, NFS4R_SECURITY_TLS);
	assert_int_equal(world_logged(&w->s[0], "security tls"), 2);
	end(w);
}

/* ---- who is not let in ---- */

/* Server 3's key under the name of server 2. */
static void test_another_servers_key(void **state)
{
	struct world *w = world_of(3, NFS4R_SECURITY_TLS);

	show(w, 1, 2);
	world_start(w, 0);
	world_start(w, 1);
	world_wait(&w->s[0], strstr(w_s->log, "refused server 2 (127.0.0.2"));
	assert_int_equal(world_logged(&w->s[0], "is of server 3"), 1);
	world_wait(&w->s[0], world_state_has(w_s, 2, "says that it is server 2"));
	world_wait(&w->s[1], world_state_has(w_s, 1, "security differs, or its handshake failed"));
	assert_int_equal(world_logged(&w->s[1], "is of server 3"), 0);
	assert_int_equal(world_get(&w->s[0], w_s->ups[2]) + world_get(&w->s[1], w_s->ups[1]), 0);
	end(w);
}

/* A key that the volume does not know, or not any more: its server has only the number of the cause, and says what that may mean. */
static void test_unknown_key(void **state)
{
	struct world *w = world_of(2, NFS4R_SECURITY_TLS);

	w->s[0].cfg.servers[1].nkeys = 0;
	world_start_all(w);
	world_wait(&w->s[0], strstr(w_s->log, "a caller shows server 1 the certificate"));
	world_wait(&w->s[1], world_state_has(w_s, 1, "security differs, or its handshake failed"));
	assert_in_range(world_logged(&w->s[1], "nfs4rctl server add 2 ADDRESS --key FINGERPRINT at a member"), 1, 1);
	assert_int_equal(world_get(&w->s[0], w_s->ups[2]), 0);
	end(w);
}

/*
 * Certificates that are good for something else. Server 1 refuses each with one line, which names the server that was meant and the certificate that was shown, and shows the
 * same as the state of that server. The caller hears a cause, and says where to look.
 */
struct wrong_one {
	const char *what;
	struct pki_cert says;
	uint32_t key_of; /* index */
	enum {
		BY_ITSELF,
		BY_CA,
		BY_OTHER_CA
	} by;
	const char *meant, *shown; /* in the line, and in the state */
	bool removed; /* the caller is server 3, which is not in the list of server 1 any more */
};

static const struct wrong_one wrong_ones[] = {
	{ "the key of server 3", { .name = "site3" }, 2, BY_ITSELF, "says that it is server 2", "is of server 3", false },
	{ "the name of server 3", { .name = "site3", .san = "URI:nfs4r:" UUID ":3" }, 3, BY_CA, "says that it is server 2", "it names URI:nfs4r:" UUID ":3", false },
	{ "another volume", { .name = "site2", .san = "URI:nfs4r:" OTHER_UUID ":2" }, 3, BY_CA, "says that it is server 2", "it names URI:nfs4r:" OTHER_UUID ":2", false },
	{ "expired", { .name = "site2", .san = "URI:nfs4r:" UUID ":2", .from_s = LONG_AGO_S, .until_s = -PKI_DAY }, 3, BY_CA, "server 2 is expected", "the certificate /CN=site2", false },
	{ "another authority", { .name = "site2", .san = "URI:nfs4r:" UUID ":2" }, 3, BY_OTHER_CA, "server 2 is expected", "the certificate /CN=site2", false },
	{ "self-signed", { .name = "site2", .san = "URI:nfs4r:" UUID ":2" }, 3, BY_ITSELF, "server 2 is expected", "the certificate /CN=site2", false },
	{ "a removed server", { .name = "site3" }, 2, BY_ITSELF, "127.0.0.3", "the certificate /CN=site3", true },
};

static struct world *world_with(const struct wrong_one *o)
{
	struct world *w = world_of(o->removed ? 3 : 2, NFS4R_SECURITY_TLS);
	struct nfs4r_rpc_config *cfg = &w->s[0].cfg;
	struct pki_cert says = o->says;

	if (o->by != BY_ITSELF) {
		says.by = o->by == BY_CA ? ca : other_ca;
		says.by_key = o->by == BY_CA ? ca_key : other_ca_key;
	}
	show_one(w, o->removed ? 2 : 1, o->key_of, &says);
	cfg->view = 1;
	cfg->nservers = o->removed ? 2 : 3; /* server 3 belongs to the volume, and does not run */
	snprintf(cfg->tls_ca, sizeof(cfg->tls_ca), "%s", pki_path("ca"));
	if (!o->removed) {
		cfg->servers[2] = cfg->servers[1];
		cfg->servers[2].id = 3;
		strcpy(cfg->servers[2].host, "127.0.0.3");
		cfg->servers[2].nkeys = 1;
		pki_fingerprint(keys[2], &cfg->servers[2].key[0]);
		w->s[1].cfg.view = 1;
	}
	return w;
}

static void test_one_line_for_each_wrong_certificate(void **state)
{
	for (size_t i = 0; i < sizeof(wrong_ones) / sizeof(wrong_ones[0]); i++) {
		const struct wrong_one *o = &wrong_ones[i];
		struct world *w = world_with(o);
		uint32_t caller = o->removed ? 2 : 1;

		world_start(w, 0);
		world_start(w, caller);
		world_wait(&w->s[0], strstr(w_s->log, o->shown));
		world_wait(&w->s[caller], world_state_has(w_s, 1, "security differs, or its handshake failed"));
		if (world_logged(&w->s[0], "refused ") != 1 || world_logged(&w->s[0], o->meant) != 1 || world_logged(&w->s[0], "server 1") != 1)
			fail_msg("%s: the log is\n%s", o->what, w->s[0].log);
		if (!o->removed) /* a moment after the line */
			world_wait(&w->s[0], world_state_has(w_s, 2, o->shown) && world_state_has(w_s, 2, o->meant));
		assert_int_equal(world_logged(&w->s[caller], o->shown), 0);
		assert_int_equal(world_get(&w->s[0], w_s->ups[caller + 1]) + world_get(&w->s[caller], w_s->ups[1]), 0);
		end(w);
	}
}

/* The number of a cause, and no text. */
static void hears_nothing(int fd, uint32_t cause)
{
	struct nfs4r_transport_msg_body m;

	assert_true(fake_hear(fd, &m));
	assert_int_equal(m.type, NFS4R_MSG_REFUSED);
	assert_int_equal(m.refused.cause, cause);
	assert_string_equal(m.refused.text, "");
	assert_true(raw_closed(fd, WORLD_WAIT_MS));
	close(fd);
}

static void test_a_caller_without_security(void **state)
{
	struct world *w = world_of(2, NFS4R_SECURITY_TLS);
	struct nfs4r_hello h;
	int fd;

	world_start(w, 0);
	fake_hello(&h, &w->s[1], &w->s[0]);
	h.security = NFS4R_SECURITY_NONE;
	fd = raw_connect("127.0.0.2", &w->s[0].cfg.servers[0]);
	fake_tell_hello(fd, &h);
	hears_nothing(fd, NFS4R_REFUSED_SECURITY);
	assert_int_equal(world_logged(&w->s[0], "security differs: it calls with Peer_Security = none"), 1);
	assert_false(world_state_has(&w->s[0], 2, "up"));
	end(w);
}

static void test_garbage_as_a_token(void **state)
{
	struct world *w = world_of(2, NFS4R_SECURITY_TLS);
	struct nfs4r_transport_msg_body m = { .type = NFS4R_MSG_TOKEN, .security = NFS4R_SECURITY_TLS };

	world_start(w, 0);
	for (int i = 0; i < 3; i++) {
		int fd = raw_connect("127.0.0.2", &w->s[0].cfg.servers[0]);

		m.security = i < 2 ? NFS4R_SECURITY_TLS : NFS4R_SECURITY_KRB5P;
		m.opaque = nfs4r_buf_copy("GET / HTTP/1.1\r\n\r\n", 18);
		fake_tell(fd, &m);
		nfs4r_buf_put(m.opaque);
		if (i == 1) { /* and another one before the first is looked at */
			m.opaque = nfs4r_buf_copy("x", 1);
			fake_tell(fd, &m);
			nfs4r_buf_put(m.opaque);
		}
		hears_nothing(fd, NFS4R_REFUSED_SECURITY);
	}
	end(w);
}

/* Where none is taken, too, it is taken from ports of root only, unless Peer_Ports = any. */
static void test_none_from_any_port(void **state)
{
	struct world *w = world_of(2, NFS4R_SECURITY_TLS);
	struct nfs4r_hello h;
	int fd;

	w->s[0].cfg.any_port = false;
	w->s[0].cfg.security_accept = NONE_TOO;
	world_start(w, 0);
	fake_hello(&h, &w->s[1], &w->s[0]);
	h.security = NFS4R_SECURITY_NONE;
	fd = raw_connect("127.0.0.2", &w->s[0].cfg.servers[0]);
	fake_tell_hello(fd, &h);
	hears_nothing(fd, NFS4R_REFUSED_PORT);
	world_start(w, 1); /* with tls the port is of no account */
	world_wait(&w->s[0], w_s->up[2]);
	end(w);
}

/* ---- somebody on the way ---- */

/* Server 2 finds server 1 at the proxy, and calls from there. */
static struct world *world_behind(struct proxy *p)
{
	struct world *w = world_of(2, NFS4R_SECURITY_TLS);
	struct nfs4r_endpoint at = w->s[0].cfg.servers[0];

	strcpy(at.host, "127.0.0.9");
	for (int i = 0; i < 2; i++) {
		w->s[i].cfg.view = 1; /* else the lists have to be the same */
		w->s[i].cfg.connections = 1;
		w->s[i].cfg.connect_retry_ms = w->s[i].cfg.connect_retry_most_ms = 2; /* each connection is cut soon after it came */
	}
	proxy_start(p, &at, &w->s[0].cfg.servers[0]);
	strcpy(w->s[1].cfg.servers[0].host, at.host);
	world_start_all(w);
	world_wait_all_up(w);
	return w;
}

/* NAT: the address is not the one of the server, and its key is. */
static void test_another_address(void **state)
{
	struct proxy p;
	struct world *w = world_behind(&p);

	assert_int_equal(world_logged(&w->s[0], "which is no address of 127.0.0.2: it is let in"), 1);
	end(w);
	proxy_stop(&p);
}

static void nudge(struct world *w, uint32_t from, uint32_t to, uint64_t number)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m));

	m->type = NFS4R_MSG_VERIFY;
	m->verify.id = number;
	(void)nfs4r_rpc_send(w->s[from].rpc, (nfs4r_server_id)(to + 1), NFS4R_LANE_REQUEST, m); /* until it is down */
	free(m);
}

/* Whatever is done to a record, the connections end, and nothing is delivered that was not sent, or twice, or out of order: the world looks at that. */
static void test_attacks_on_records(void **state)
{
	struct proxy p;
	struct world *w = world_behind(&p);

	for (int round = 0; round < 4 * (PROXY_ACTIONS - 1); round++) {
		uint32_t dir = (uint32_t)round % 2, from = !dir, to = dir; /* direction 0 is that of server 2, who calls */
		uint32_t downs = (uint32_t)world_get(&w->s[to], w_s->downs[from + 1]);
		struct traffic t = { w, from, to, 0, 0, 0 };

		world_get(&w->s[to], w_s->bytes = 0);
		traffic_some(&t, 20);
		traffic_arrived(&t);
		atomic_store(&p.direction, (int)dir);
		atomic_store(&p.bit, (unsigned)round * 104729u);
		atomic_store(&p.action, 1 + round / 4);
		for (uint64_t n = t.questions + 1; world_get(&w->s[to], w_s->downs[from + 1]) == downs; n++) {
			assert_true(n < t.questions + 100000);
			nudge(w, from, to, n);
			usleep(500); /* pace of the loop, nothing depends on it */
		}
		world_wait(&w->s[from], w_s->downs[to + 1] == downs + 1);
		atomic_store(&p.closed, false);
		world_wait(&w->s[to], w_s->ups[from + 1] == downs + 2);
		world_wait(&w->s[from], w_s->ups[to + 1] == downs + 2);
	}
	end(w);
	proxy_stop(&p);
}

static void test_a_bit_of_each_record(void **state)
{
	struct proxy p;
	struct world *w = world_behind(&p);

	flips(w, &p, 40); /* the header of a record of TLS is in the clear */
	end(w);
	proxy_stop(&p);
}

/* ---- changes ---- */

static void list_of(struct world *w, struct nfs4r_rpc_servers *list)
{
	memset(list, 0, sizeof(*list));
	list->view = 1;
	list->n = w->n;
	memcpy(list->list, w->s[0].cfg.servers, sizeof(list->list));
}

static void list_give(struct world *w, const struct nfs4r_rpc_servers *list)
{
	char why[NFS4R_WHY];

	for (uint32_t i = 0; i < w->n; i++)
		assert_int_equal(nfs4r_rpc_set_servers(w->s[i].rpc, list, why), NFS4R_OK);
}

static uint32_t all_downs(struct world *w)
{
	return (uint32_t)(world_get(&w->s[0], w_s->downs[2]) + world_get(&w->s[1], w_s->downs[1]));
}

/* From one key to the next with both known for a while: no connection ends. A key that is taken away while it is in use: all of its connections end. */
static void test_key_changes(void **state)
{
	struct world *w = world_of(2, NFS4R_SECURITY_TLS);
	struct nfs4r_rpc_servers list;

	world_start_all(w);
	world_wait_all_up(w);
	list_of(w, &list);
	list.list[1].nkeys = 2;
	pki_fingerprint(keys[MAX], &list.list[1].key[1]);
	list_give(w, &list);
	show(w, 1, MAX);
	for (uint32_t i = 0; i < 2; i++) /* lanes CONTROL and REQUEST, and two connections of BULK */
		world_wait(&w->s[i], ({
			const char *at = w_s->log;
			int n = 0;
			while ((at = strstr(at, "was renewed")) != NULL)
				n++, at++;
			n >= 4;
		}));
	list.list[1].nkeys = 1;
	pki_fingerprint(keys[MAX], &list.list[1].key[0]);
	list_give(w, &list);
	struct traffic to = { w, 0, 1, 0, 0, 0 }, back = { w, 1, 0, 0, 0, 0 };

	traffic_some(&to, 50);
	traffic_some(&back, 50);
	traffic_arrived(&to);
	traffic_arrived(&back);
	assert_int_equal(all_downs(w), 0);
	pki_fingerprint(keys[1], &list.list[1].key[0]); /* not the one it shows */
	list_give(w, &list);
	world_wait(&w->s[0], w_s->downs[2] == 1);
	world_wait(&w->s[0], strstr(w_s->log, "is of no server of the volume"));
	end(w);
}

/* ---- certificates that end ---- */

#define SOON (20 * PKI_DAY)

static atomic_llong today_s; /* the clock of the day of all servers */

static int64_t day_ns(void)
{
	return atomic_load(&today_s) * 1000000000;
}

static void show_until(struct world *w, uint32_t i, long until_s)
{
	const struct pki_cert says = { .name = "site", .san = i ? "URI:nfs4r:" UUID ":2" : "URI:nfs4r:" UUID ":1", .by = ca, .by_key = ca_key, .from_s = -PKI_DAY, .until_s = until_s };

	show_one(w, i, i, &says);
}

static struct world *world_that_ends(bool with_keys)
{
	struct world *w = world_of(2, NFS4R_SECURITY_TLS);

	for (uint32_t i = 0; i < 2; i++) {
		w->s[i].cfg.day_ns = day_ns;
		snprintf(w->s[i].cfg.tls_ca, sizeof(w->s[i].cfg.tls_ca), "%s", pki_path("ca"));
		show_until(w, i, i ? SOON + 60 : 400 * PKI_DAY);
		for (uint32_t k = 0; k < 2; k++)
			w->s[i].cfg.servers[k].nkeys = with_keys;
	}
	atomic_store(&today_s, time(NULL));
	return w;
}

/* Both sides say so, once a day; a certificate that lasts for longer ends that. */
static void test_a_certificate_that_ends_is_told_each_day(void **state)
{
	struct world *w = world_that_ends(false);
	struct nfs4r_rpc_peer_stats st;
	struct nfs4r_rpc_own own;

	world_start_all(w);
	world_wait_all_up(w);
	world_wait(&w->s[0], strstr(w_s->log, "the certificate of server 2 ends on ") && strstr(w_s->log, ", in 20 days: after that day it is refused"));
	world_wait(&w->s[1], strstr(w_s->log, "the certificate of this server ends on ") && strstr(w_s->log, ", in 20 days: after that day the others refuse it"));
	assert_true(nfs4r_rpc_get_own(w->s[1].rpc, &own) && own.ends_s > time(NULL) + 19 * PKI_DAY && own.ends_s < time(NULL) + 21 * PKI_DAY);
	assert_true(nfs4r_rpc_get_stats(w->s[0].rpc, 2, &st) && st.ends_s == own.ends_s);
	atomic_fetch_add(&today_s, PKI_DAY + 1);
	world_wait(&w->s[0], strstr(w_s->log, ", in 19 days: "));
	world_wait(&w->s[1], strstr(w_s->log, ", in 19 days: "));
	assert_int_equal(world_logged(&w->s[0], "the certificate of server 2 "), 2);
	assert_int_equal(world_logged(&w->s[1], "the certificate of this server "), 2);
	show_until(w, 1, 400 * PKI_DAY);
	world_wait(&w->s[0], nfs4r_rpc_get_stats(w_s->rpc, 2, &st) && st.ends_s > own.ends_s);
	atomic_fetch_add(&today_s, 2 * PKI_DAY);
	world_wait(&w->s[1], nfs4r_rpc_get_own(w_s->rpc, &own) && own.ends_s == st.ends_s);
	assert_int_equal(world_logged(&w->s[0], "the certificate of server 2 "), 2);
	assert_int_equal(world_logged(&w->s[1], "the certificate of this server "), 2);
	assert_int_equal(world_logged(&w->s[0], "the certificate of this server ") + world_logged(&w->s[1], "the certificate of server "), 0);
	end(w);
}

/* A key that is known counts for itself. */
static void test_a_key_does_not_end(void **state)
{
	struct world *w = world_that_ends(true);
	struct nfs4r_rpc_peer_stats st;
	struct nfs4r_rpc_own own;

	world_start_all(w);
	world_wait_all_up(w);
	world_wait(&w->s[1], nfs4r_rpc_get_own(w_s->rpc, &own));
	assert_true(own.ends_s == 0);
	assert_true(nfs4r_rpc_get_stats(w->s[0].rpc, 2, &st) && st.ends_s == 0);
	assert_int_equal(world_logged(&w->s[0], "the certificate of ") + world_logged(&w->s[1], "the certificate of "), 0);
	end(w);
}

/* The new files are told together with the connections that do not have them yet; at last none is left. */
static void test_connections_with_old_files_are_counted(void **state)
{
	struct world *w = world_of(2, NFS4R_SECURITY_TLS);
	struct nfs4r_key_fingerprint next;
	struct nfs4r_rpc_servers list;
	struct nfs4r_rpc_peer_stats st;
	struct nfs4r_rpc_own own;

	world_start_all(w);
	world_wait_all_up(w);
	list_of(w, &list);
	list.list[1].nkeys = 2;
	pki_fingerprint(keys[MAX], &next);
	list.list[1].key[1] = next;
	list_give(w, &list);
	show(w, 1, MAX);
	world_wait(&w->s[1], nfs4r_rpc_get_own(w_s->rpc, &own) && memcmp(&own.key, &next, sizeof(next)) == 0 && nfs4r_rpc_get_stats(w_s->rpc, 1, &st) && st.to_renew == 0);
	list.list[1].nkeys = 1;
	list.list[1].key[0] = next;
	list_give(w, &list); /* the old key goes at once, and ends no connection */
	struct traffic to = { w, 0, 1, 0, 0, 0 };

	traffic_some(&to, 50);
	traffic_arrived(&to);
	assert_int_equal(all_downs(w), 0);
	assert_int_equal(world_get(&w->s[0], w_s->ups[2]), 1);
	end(w);
}

/* ---- from one authority to the next ---- */

static void trust(struct world *w, X509 *one, X509 *other)
{
	for (uint32_t i = 0; i < w->n; i++)
		pki_save_cert(w->s[i].cfg.tls_ca, one, other);
}

/* A certificate by @by that ends in @days. */
static void show_by(struct world *w, uint32_t i, X509 *by, EVP_PKEY *by_key, long days)
{
	char uri[64];
	const struct pki_cert says = { .name = "site", .san = uri, .by = by, .by_key = by_key, .from_s = -PKI_DAY, .until_s = days * PKI_DAY };

	snprintf(uri, sizeof(uri), "URI:nfs4r:" UUID ":%u", i + 1);
	show_one(w, i, i, &says);
}

static bool ends_in(int64_t ends_s, long days)
{
	int64_t left_s = ends_s - (int64_t)time(NULL);

	return left_s > (days - 1) * PKI_DAY && left_s < (days + 1) * PKI_DAY;
}

/* Until server @i shows what ends in @days on every connection. It has read what was written before, too. */
static void wait_shown(struct world *w, uint32_t i, long days)
{
	struct nfs4r_rpc_own own;
	struct nfs4r_rpc_peer_stats st;

	world_wait(&w->s[i], nfs4r_rpc_get_own(w_s->rpc, &own) && ends_in(own.ends_s, days));
	world_wait(&w->s[1 - i], nfs4r_rpc_get_stats(w_s->rpc, i + 1, &st) && ends_in(st.ends_s, days) && st.to_renew == 0);
}

/* Both are known for a while, then each server has a certificate by the new one, then the old one goes: no server is started again, no connection ends. */
static void test_from_one_authority_to_the_next(void **state)
{
	struct world *w = world_of(2, NFS4R_SECURITY_TLS);
	struct traffic to = { w, 0, 1, 0, 0, 0 }, back = { w, 1, 0, 0, 0, 0 };

	for (uint32_t i = 0; i < 2; i++) {
		snprintf(w->s[i].cfg.tls_ca, sizeof(w->s[i].cfg.tls_ca), "%s", pki_path(i ? "trusted1" : "trusted0"));
		w->s[i].cfg.servers[0].nkeys = w->s[i].cfg.servers[1].nkeys = 0;
		show_by(w, i, ca, ca_key, 100);
	}
	trust(w, ca, NULL);
	world_start_all(w);
	world_wait_all_up(w);
	trust(w, ca, next_ca);
	for (uint32_t i = 0; i < 2; i++)
		show_by(w, i, ca, ca_key, 120);
	for (uint32_t i = 0; i < 2; i++)
		wait_shown(w, i, 120);
	for (uint32_t i = 0; i < 2; i++) {
		show_by(w, i, next_ca, next_ca_key, 140);
		wait_shown(w, i, 140);
		traffic_some(&to, 50);
		traffic_some(&back, 50);
	}
	trust(w, next_ca, NULL);
	for (uint32_t i = 0; i < 2; i++)
		show_by(w, i, next_ca, next_ca_key, 160);
	for (uint32_t i = 0; i < 2; i++)
		wait_shown(w, i, 160);
	traffic_some(&to, 50);
	traffic_some(&back, 50);
	traffic_arrived(&to);
	traffic_arrived(&back);
	assert_int_equal(all_downs(w), 0);
	/* And the old one counts for nothing: who comes with a certificate by it is not let in. */
	world_stop(w, 1);
	world_wait(&w->s[0], !w_s->up[2]);
	show_by(w, 1, ca, ca_key, 180);
	w->s[1].cfg.inc += 1000;
	world_start(w, 1);
	world_wait(&w->s[0], strstr(w_s->log, "no authority in Peer_CA"));
	assert_false(world_get(&w->s[0], w_s->up[2]));
	end(w);
}

/* The steps of docs/security.md: at each one server after the other is started again, and all come up. */
static void test_from_none_to_tls(void **state)
{
	static const struct {
		enum nfs4r_security security;
		uint32_t accept;
	} steps[] = {
		{ NFS4R_SECURITY_NONE, NFS4R_SECURITY_BIT(NFS4R_SECURITY_TLS) },
		{ NFS4R_SECURITY_TLS, NONE_TOO },
		{ NFS4R_SECURITY_TLS, 0 },
	};
	struct world *w = world_of(3, NFS4R_SECURITY_NONE);
	struct nfs4r_rpc_peer_stats st;

	world_start_all(w);
	world_wait_all_up(w);
	for (size_t step = 0; step < sizeof(steps) / sizeof(steps[0]); step++) {
		for (uint32_t i = 0; i < 3; i++) {
			world_stop(w, i);
			for (uint32_t k = 0; k < 3; k++)
				if (k != i)
					world_wait(&w->s[k], !w_s->up[i + 1]);
			w->s[i].cfg.security = steps[step].security;
			w->s[i].cfg.security_accept = steps[step].accept;
			w->s[i].cfg.inc += 1000;
			world_start(w, i);
			world_wait_all_up(w);
		}
	}
	for (uint32_t i = 0; i < 3; i++) {
		for (uint32_t k = 0; k < 3; k++) {
			if (i == k)
				continue;
			assert_true(nfs4r_rpc_get_stats(w->s[i].rpc, (nfs4r_server_id)(k + 1), &st));
			assert_int_equal(st.security, NFS4R_SECURITY_TLS);
		}
	}
	end(w);
}

/* The argument: one test by its name, or a pattern of names. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_up),
		cmocka_unit_test(test_another_servers_key),
		cmocka_unit_test(test_unknown_key),
		cmocka_unit_test(test_one_line_for_each_wrong_certificate),
		cmocka_unit_test(test_a_caller_without_security),
		cmocka_unit_test(test_garbage_as_a_token),
		cmocka_unit_test(test_none_from_any_port),
		cmocka_unit_test(test_another_address),
		cmocka_unit_test(test_attacks_on_records),
		cmocka_unit_test(test_a_bit_of_each_record),
		cmocka_unit_test(test_key_changes),
		cmocka_unit_test(test_a_certificate_that_ends_is_told_each_day),
		cmocka_unit_test(test_a_key_does_not_end),
		cmocka_unit_test(test_connections_with_old_files_are_counted),
		cmocka_unit_test(test_from_one_authority_to_the_next),
		cmocka_unit_test(test_from_none_to_tls),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, keys_make, keys_free);
}
