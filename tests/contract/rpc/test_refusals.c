/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Who is not let in, and that both sides say why: a text with both values and what to do,
 * kept as the peer's state, logged once and not in a busy loop.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/unit.h"

#include "contract/rpc/fake.h"

/* Servers 1 and 2 of @w differ: both say so, the first with @here and @there, the other with @told, and log it once. */
static void refused(struct world *w, const char *cause, const char *here, const char *there, const char *told)
{
	uint64_t end;

	world_start_all(w);
	for (int i = 0; i < 2; i++) {
		struct world_server *s = &w->s[i];

		if (i == 1 && told)
			here = there = told;
		world_wait(s, strstr(w_s->log, cause) && strstr(w_s->log, here) && strstr(w_s->log, there));
		world_wait(s, world_state_has(w_s, (nfs4r_server_id)(2 - i), "refused: "));
		/* The whole sentence, both values and the remedy behind them. */
		if (!world_state_has(s, (nfs4r_server_id)(2 - i), cause) || !world_state_has(s, (nfs4r_server_id)(2 - i), here) ||
		    !world_state_has(s, (nfs4r_server_id)(2 - i), there))
			fail_msg("not all of '%s', '%s' and '%s' in the state", cause, here, there);
	}
	/* 20, 40, 80, 160 ...: some attempts in this time, and one line. */
	end = world_now_ns() + 400000000;
	world_wait(&w->s[0], world_now_ns() > end);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(world_logged(&w->s[i], cause), 1);
		assert_int_equal(world_get(&w->s[i], w_s->ups[2 - i]), 0);
	}
	world_fini(w);
	free(w);
}

static void refused_both_sides(struct world *w, const char *cause, const char *here, const char *there)
{
	refused(w, cause, here, there, NULL);
}

static struct world *two(void)
{
	struct world *w = malloc(sizeof(*w));

	world_init(w, 2);
	return w;
}

static void test_wrong_volume(void **state)
{
	struct world *w = two();

	memset(w->s[1].cfg.volume, 0x43, 16);
	/* The UUID of the volume is what nobody hears who does not know it. */
	refused(w, "volume differs", "42424242-4242-4242-4242-424242424242", "43434343-4343-4343-4343-434343434343",
		"server 2 has 43434343-4343-4343-4343-434343434343; correct Volume_UUID or the server list, or use a store of the same volume (the log of server 1 at 127.0.0.1 says more)");
}

static void test_wrong_export_id(void **state)
{
	struct world *w = two();

	w->s[1].cfg.export_id = 78;
	refused_both_sides(w, "export id differs", "has 77", "has 78");
}

static void test_wrong_fsid(void **state)
{
	struct world *w = two();

	w->s[1].cfg.fsid_minor = 9;
	refused_both_sides(w, "fsid differs", "7.8", "7.9");
}

static void test_wrong_disk_format(void **state)
{
	struct world *w = two();

	w->s[1].cfg.disk_format = (struct nfs4r_versions){ 2, 3 };
	refused_both_sides(w, "no common disk format", "has 1", "has 2 to 3");
}

/* A view that is fixed does not go with one that changes. What the times are is no matter: they change at one server before another (log 6.17). */
static void test_wrong_views(void **state)
{
	struct world *w = two();

	w->s[1].cfg.keys_now.lease_ms = 3000;
	refused_both_sides(w, "timing differs", "Lease = 0", "has 3000");
	w = two();
	w->s[0].cfg.keys_now = (struct nfs4r_volume_keys){ .durability = 1, .lease_ms = 2000, .silence_ms = 2000, .drift_permille = 10 };
	w->s[1].cfg.keys_now = (struct nfs4r_volume_keys){ .durability = 2, .lease_ms = 4000, .silence_ms = 3000, .drift_permille = 20 };
	world_start_all(w);
	world_wait_all_up(w);
	world_fini(w);
	free(w);
}

/* Keys that the transport knows nothing about: a line has the key, both values, and what to write. */
static void test_another_value_of_a_key(void **state)
{
	struct world *w = two();

	for (int i = 0; i < 2; i++) {
		nfs4r_rpc_compare(&w->s[i].cfg, "Volume", "data", false);
		nfs4r_rpc_compare(&w->s[i].cfg, "Server_Owner", i ? "oslo" : "paris", true);
		nfs4r_rpc_compare(&w->s[i].cfg, "Pseudo", i ? "/date" : "/data", false);
	}
	refused_both_sides(w, "Pseudo differs", "has \"/data\"", "has \"/date\"; write the same");
}

static void test_the_same_value_where_each_has_its_own(void **state)
{
	struct world *w = two();

	for (int i = 0; i < 2; i++)
		nfs4r_rpc_compare(&w->s[i].cfg, "Server_Owner", "paris", true);
	refused_both_sides(w, "Server_Owner must differ", "both have \"paris\"", "write another value on each server");
}

/* Does one line of @log say both? */
static bool has_line(const char *log, const char *who, const char *what)
{
	size_t len;

	for (; *log; log += len + (log[len] == '\n')) {
		len = strcspn(log, "\n");
		if (memmem(log, len, who, strlen(who)) && memmem(log, len, what, strlen(what)))
			return true;
	}
	return false;
}

/* Somebody corrects a key, and makes a mistake in another one: the log has that at once, not when a minute is over. */
static void test_the_next_mistake_is_said(void **state)
{
	struct world *w = two();

	for (int i = 0; i < 2; i++) {
		nfs4r_rpc_compare(&w->s[i].cfg, "Server_Owner", i ? "oslo" : "paris", true);
		nfs4r_rpc_compare(&w->s[i].cfg, "Pseudo", i ? "/date" : "/data", false);
	}
	world_start_all(w);
	world_wait(&w->s[0], has_line(w_s->log, "refused server 2 ", "Pseudo differs"));
	world_stop(w, 1);
	w->s[1].cfg.nkeys = 0;
	nfs4r_rpc_compare(&w->s[1].cfg, "Server_Owner", "paris", true);
	nfs4r_rpc_compare(&w->s[1].cfg, "Pseudo", "/data", false);
	world_start(w, 1);
	world_wait(&w->s[0], has_line(w_s->log, "refused server 2 ", "Server_Owner must differ"));
	world_fini(w);
	free(w);
}

static void test_a_key_that_only_one_has(void **state)
{
	struct world *w = two();

	nfs4r_rpc_compare(&w->s[0].cfg, "Pseudo", "/data", false);
	nfs4r_rpc_compare(&w->s[1].cfg, "Volume", "data", false);
	refused_both_sides(w, "differs", "\"\"", "write the same");
}

/* Beyond what a HELLO carries two values still count as two. */
static void test_long_values_of_a_key(void **state)
{
	struct world *w = two();
	char path[2001];

	memset(path, 'p', 2000);
	path[2000] = '\0';
	for (int i = 0; i < 2; i++) {
		path[1999] = i ? 'q' : 'p';
		nfs4r_rpc_compare(&w->s[i].cfg, "Pseudo", path, false);
	}
	refused_both_sides(w, "Pseudo differs", "(2000 bytes, checksum", "write the same on all servers");
	w = two();
	for (int i = 0; i < 2; i++)
		nfs4r_rpc_compare(&w->s[i].cfg, "Pseudo", path, false);
	world_start_all(w);
	world_wait_all_up(w);
	world_fini(w);
	free(w);
}

/* What is only told refuses nobody: both work, and both say it. */
static void test_a_policy_that_differs_is_told(void **state)
{
	struct nfs4r_rpc_peer_stats st;
	struct world *w = two();

	for (int i = 0; i < 2; i++)
		nfs4r_rpc_tell(&w->s[i].cfg, "Export policy", i ? "Squash = Root_Squash" : "Squash = No_Root_Squash");
	world_start_all(w);
	world_wait_all_up(w);
	for (int i = 0; i < 2; i++) {
		assert_true(nfs4r_rpc_get_stats(w->s[i].rpc, i ? 1 : 2, &st));
		assert_non_null(strstr(st.differs, "Export policy differs"));
		assert_non_null(strstr(st.differs, i ? "server 2 has \"Squash = Root_Squash\", server 1 has \"Squash = No_Root_Squash\"" : "server 1 has \"Squash = No_Root_Squash\", server 2 has \"Squash = Root_Squash\""));
	}
	world_fini(w);
	free(w);
	w = two();
	for (int i = 0; i < 2; i++)
		nfs4r_rpc_tell(&w->s[i].cfg, "Export policy", "Squash = Root_Squash");
	world_start_all(w);
	world_wait_all_up(w);
	assert_true(nfs4r_rpc_get_stats(w->s[0].rpc, 2, &st));
	assert_string_equal(st.differs, "");
	world_fini(w);
	free(w);
}

static void test_wrong_server_set(void **state)
{
	struct world *w = two();

	w->s[1].cfg.nservers = 3;
	w->s[1].cfg.servers[2] = (struct nfs4r_endpoint){ .id = 3, .host = "127.0.0.3", .port = 5555 };
	refused_both_sides(w, "server lists differ", " 3:5555", "same list");
}

/* Says @h to server 1 from @from; the refusal that comes back. */
static void refusal_of(struct world *w, const char *from, const struct nfs4r_hello *h,
		       struct nfs4r_transport_msg_body *m)
{
	int fd = raw_connect(from, &w->s[0].cfg.servers[0]);

	assert_true(fd >= 0);
	fake_tell_hello(fd, h);
	assert_true(fake_hear(fd, m));
	assert_int_equal(m->type, NFS4R_MSG_REFUSED);
	assert_true(raw_closed(fd, WORLD_WAIT_MS));
	close(fd);
}

static void test_wrong_protocol_version(void **state)
{
	struct world *w = two();
	struct nfs4r_transport_msg_body m;
	struct nfs4r_hello h;
	struct nfs4r_rpc_peer_stats st;

	w->s[0].cfg.protocol = (struct nfs4r_versions){ 9, 10 };
	world_start(w, 0);
	fake_hello(&h, &w->s[1], &w->s[0]);
	h.protocol = (struct nfs4r_versions){ 11, 12 };
	refusal_of(w, "127.0.0.2", &h, &m);
	assert_int_equal(m.refused.cause, NFS4R_REFUSED_PROTOCOL);
	assert_string_equal(m.refused.text, "no common protocol version: server 1 speaks 9 to 10 (NFSv4.r 0.1+build1), server 2 speaks 11 to 12 (NFSv4.r 0.1+build2); "
					    "install on server 1 a release that speaks protocol 11");
	world_wait(&w->s[0], world_state_has(w_s, 2, m.refused.text));
	assert_true(nfs4r_rpc_get_stats(w->s[0].rpc, 2, &st));
	assert_string_equal(st.version, "0.1+build2"); /* known, though it was refused */
	assert_int_equal(st.protocol.lowest, 11);
	assert_int_equal(st.protocol.highest, 12);
	/* Protocol 8 has no range, and what is behind its release nobody knows: it has not named the volume. */
	h.protocol = (struct nfs4r_versions){ 8, 8 };
	refusal_of(w, "127.0.0.2", &h, &m);
	assert_int_equal(m.refused.cause, NFS4R_REFUSED_PROTOCOL);
	assert_string_equal(m.refused.text, "");
	world_wait(&w->s[0], world_state_has(w_s, 2, "server 2 speaks 8 (NFSv4.r 0.1+build2); install on server 2 a release that speaks protocol 9"));
	world_fini(w);
	free(w);
}

static void test_wrong_identity(void **state)
{
	struct world *w = malloc(sizeof(*w));
	struct nfs4r_transport_msg_body m;
	struct nfs4r_hello h;

	world_init(w, 3);
	world_start(w, 0);
	fake_hello(&h, &w->s[1], &w->s[0]);
	h.server = 1; /* our own id */
	refusal_of(w, "127.0.0.2", &h, &m);
	assert_int_equal(m.refused.cause, NFS4R_REFUSED_IDENTITY);
	assert_non_null(strstr(m.refused.text, "duplicate id"));
	h.server = 9;
	refusal_of(w, "127.0.0.2", &h, &m);
	assert_int_equal(m.refused.cause, NFS4R_REFUSED_UNKNOWN);
	assert_non_null(strstr(m.refused.text, "unknown id"));
	h.server = 3; /* known, but elsewhere */
	refusal_of(w, "127.0.0.2", &h, &m);
	assert_non_null(strstr(m.refused.text, "wrong address"));
	h.server = 2;
	h.to = 3;
	refusal_of(w, "127.0.0.2", &h, &m);
	assert_non_null(strstr(m.refused.text, "wrong id"));
	world_fini(w);
	free(w);
}

/* Two processes with one id: the newer start stays, the older one is told. */
static void test_duplicate_start(void **state)
{
	struct world *w = two();
	struct nfs4r_transport_msg_body m;
	struct nfs4r_hello h;

	world_start_all(w);
	world_wait_all_up(w);
	fake_hello(&h, &w->s[1], &w->s[0]);
	h.inc = 50;
	refusal_of(w, "127.0.0.2", &h, &m);
	assert_int_equal(m.refused.cause, NFS4R_REFUSED_DUPLICATE);
	assert_non_null(strstr(m.refused.text, "start 101"));
	assert_non_null(strstr(m.refused.text, "start 50"));
	assert_int_equal(world_get(&w->s[0], w_s->downs[2]), 0);
	world_fini(w);
	free(w);
}

/* What differs is told to nobody that has not named the volume, whatever else is right or wrong, and whatever it is asked for. */
static void test_nothing_is_told_before_the_volume_is_named(void **state)
{
	struct world *w = two();
	struct nfs4r_transport_msg_body m;
	struct nfs4r_hello good, h;

	nfs4r_rpc_compare(&w->s[0].cfg, "Pseudo", "/data", false);
	world_start(w, 0);
	fake_hello(&good, &w->s[1], &w->s[0]);
	for (int i = 0; i < 6; i++) {
		h = good;
		h.volume[7]++;
		h.server = i == 1 ? 1 : i == 2 ? 9 :
						 2;
		h.to = i == 3 ? 3 : 1;
		h.export_id += i == 4;
		h.asks = i == 5;
		refusal_of(w, "127.0.0.2", &h, &m);
		assert_int_equal(m.refused.cause, NFS4R_REFUSED_VOLUME);
		assert_string_equal(m.refused.text, "");
	}
	/* The same address, the right volume: all of it. */
	refusal_of(w, "127.0.0.2", &good, &m);
	assert_int_equal(m.refused.cause, NFS4R_REFUSED_KEYS);
	assert_non_null(strstr(m.refused.text, "Pseudo differs: server 1 has \"/data\", server 2 has \"\""));
	world_fini(w);
	free(w);
}

/* More addresses than the log has places for: a bounded number of lines. */
static void test_many_addresses_do_not_flood_the_log(void **state)
{
	struct world *w = two();
	struct nfs4r_hello h;
	char from[24];

	world_start(w, 0);
	fake_hello(&h, &w->s[1], &w->s[0]);
	h.volume[3]++;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 200; i++) {
			int fd;

			snprintf(from, sizeof(from), "127.0.7.%d", i + 1);
			fd = raw_connect(from, &w->s[0].cfg.servers[0]);
			assert_true(fd >= 0);
			fake_tell_hello(fd, &h);
			assert_true(raw_closed(fd, WORLD_WAIT_MS));
			close(fd);
		}
	}
	assert_in_range(world_logged(&w->s[0], "no server of the volume has that address"), 1, 32);
	world_fini(w);
	free(w);
}

/* Who does not name the volume is closed without a word, and is one line in the log. */
static void test_unknown_address(void **state)
{
	struct nfs4r_transport_msg_body m;
	struct world *w = two();
	struct nfs4r_hello h;

	world_start(w, 0);
	fake_hello(&h, &w->s[1], &w->s[0]);
	h.volume[3]++;
	for (int i = 0; i < 5; i++) {
		int fd = raw_connect("127.0.0.9", &w->s[0].cfg.servers[0]);

		assert_true(fd >= 0);
		fake_tell_hello(fd, &h);
		assert_false(fake_hear(fd, &m));
		close(fd);
	}
	assert_int_equal(world_logged(&w->s[0], "127.0.0.9"), 1);
	assert_int_equal(world_logged(&w->s[0], "no server of the volume has that address"), 1);
	/* An id of the list from somewhere else, with all that it takes: refused, and told the cause. */
	h.volume[3]--;
	refusal_of(w, "127.0.0.9", &h, &m);
	assert_int_equal(m.refused.cause, NFS4R_REFUSED_ADDRESS);
	assert_string_equal(m.refused.text, "");
	assert_int_equal(world_logged(&w->s[0], "wrong address"), 1);
	assert_int_equal(world_get(&w->s[0], w_s->ups[2]), 0);
	world_fini(w);
	free(w);
}

/* Many that say nothing take no place from the servers. */
static void test_many_strangers(void **state)
{
	struct world *w = two();
	int fd[24], open = 0;

	world_start(w, 0);
	for (int i = 0; i < 24; i++)
		fd[i] = raw_connect("127.0.0.9", &w->s[0].cfg.servers[0]);
	world_wait(&w->s[0], strstr(w_s->log, "17 such connections are open"));
	world_start(w, 1);
	world_wait_all_up(w);
	for (int i = 0; i < 24; i++) {
		if (fd[i] < 0)
			continue;
		open += !raw_closed(fd[i], 0);
		close(fd[i]);
	}
	assert_true(open <= 16);
	world_fini(w);
	free(w);
}

/* A server that is held found its port free, and disturbs nobody; when it begins it is as any other. */
static void test_held_until_it_begins(void **state)
{
	struct world *w = two();
	char why[NFS4R_WHY] = "";
	uint64_t end;
	int fd;

	w->s[1].cfg.paused = true;
	world_start_all(w);
	assert_int_equal(raw_connect("127.0.0.1", &w->s[0].cfg.servers[1]), -1);
	end = world_now_ns() + 300000000;
	world_wait(&w->s[0], world_now_ns() > end);
	assert_int_equal(world_get(&w->s[0], w_s->ups[2]), 0);
	assert_int_equal(world_get(&w->s[1], w_s->ups[1]), 0);
	assert_int_equal(nfs4r_rpc_begin(w->s[1].rpc, why), NFS4R_OK);
	world_wait_all_up(w);
	assert_int_equal(nfs4r_rpc_begin(w->s[1].rpc, why), NFS4R_OK);
	world_stop(w, 1);
	world_start_fails(w, 0, "cannot listen on 127.0.0.1"); /* held or not, a port that is in use is found at once */
	w->s[0].cfg.paused = true;
	world_start_fails(w, 0, "cannot listen on 127.0.0.1");
	world_start(w, 1);
	fd = raw_listen(&w->s[1].cfg.servers[1]); /* somebody is quicker */
	if (fd >= 0)
		assert_int_equal(nfs4r_rpc_begin(w->s[1].rpc, why), NFS4R_BADCONFIG);
	if (fd >= 0)
		close(fd);
	world_fini(w); /* also of one that never began */
	free(w);
}

static void test_bad_configuration(void **state)
{
	struct world *w = two();

	world_start(w, 0);
	world_start_fails(w, 0, "cannot listen on 127.0.0.1"); /* in use */
	w->s[1].cfg.self = 5;
	world_start_fails(w, 1, "not in the server list");
	w->s[1].cfg.self = 2;
	w->s[1].cfg.servers[0].id = 2;
	world_start_fails(w, 1, "occurs twice");
	w->s[1].cfg.servers[0].id = 0;
	world_start_fails(w, 1, "needs an id");
	w->s[1].cfg.servers[0] = w->s[1].cfg.servers[1];
	w->s[1].cfg.servers[0].id = 1;
	world_start_fails(w, 1, "same address");
	strcpy(w->s[1].cfg.servers[0].host, "127.0.0.1");
	strcpy(w->s[1].cfg.servers[1].host, "no such host");
	world_start_fails(w, 1, "cannot be resolved");
	strcpy(w->s[1].cfg.servers[1].host, "192.0.2.1"); /* not of this machine */
	world_start_fails(w, 1, "cannot listen");
	w->s[1].cfg.nservers = 0;
	world_start_fails(w, 1, "servers are configured");
	w->s[1].cfg.nservers = 2;
	w->s[1].cfg.security = 9;
	world_start_fails(w, 1, "security flavour 9");
	world_fini(w);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong_volume),
		cmocka_unit_test(test_wrong_export_id),
		cmocka_unit_test(test_wrong_fsid),
		cmocka_unit_test(test_wrong_disk_format),
		cmocka_unit_test(test_another_value_of_a_key),
		cmocka_unit_test(test_the_same_value_where_each_has_its_own),
		cmocka_unit_test(test_the_next_mistake_is_said),
		cmocka_unit_test(test_a_key_that_only_one_has),
		cmocka_unit_test(test_a_policy_that_differs_is_told),
		cmocka_unit_test(test_long_values_of_a_key),
		cmocka_unit_test(test_wrong_server_set),
		cmocka_unit_test(test_wrong_views),
		cmocka_unit_test(test_wrong_protocol_version),
		cmocka_unit_test(test_wrong_identity),
		cmocka_unit_test(test_duplicate_start),
		cmocka_unit_test(test_nothing_is_told_before_the_volume_is_named),
		cmocka_unit_test(test_many_addresses_do_not_flood_the_log),
		cmocka_unit_test(test_unknown_address),
		cmocka_unit_test(test_many_strangers),
		cmocka_unit_test(test_held_until_it_begins),
		cmocka_unit_test(test_bad_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
