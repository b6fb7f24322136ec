/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See steps.h. */
#include "steps.h"

#include "lib/unit.h"
#include <stdio.h>
#include <stdlib.h>

#include "engine/admin/admin_int.h"
#include "engine/engine_int.h"

#define SHELL_MAX 4096

struct nfs4r_oid make(struct site *s, uint32_t type, const struct nfs4r_oid *dir, const char *name)
{
	struct nfs4r_oid oid;

	assert_int_equal(site_make(s, type, dir, name, &oid), NFS4R_OK);
	return oid;
}

void write_text(struct site *s, const struct nfs4r_oid *f, const char *text)
{
	assert_int_equal(site_write(s, f, 0, text, (uint32_t)strlen(text)), NFS4R_OK);
}

struct nfs4r_oid make_file(struct site *s, const struct nfs4r_oid *dir, const char *name, const char *text)
{
	struct nfs4r_oid f = make(s, NFS4R_OP_CREATE, dir, name);

	write_text(s, &f, text);
	return f;
}

void expect_content(struct site *s, const struct nfs4r_oid *f, const char *want)
{
	char got[200];
	uint32_t len = sizeof(got);

	assert_int_equal(site_read(s, f, 0, got, &len), NFS4R_OK);
	assert_int_equal(len, strlen(want));
	assert_memory_equal(got, want, len);
}

void each_makes_a_file(struct cluster *c, const char *name)
{
	struct nfs4r_oid root = site_root(&c->site[1]), f;
	char own[60];

	for (int id = 1; id <= SITES; id++) {
		snprintf(own, sizeof(own), "%s%d", name, id);
		f = make_file(&c->site[id], &root, own, own);
		assert_int_equal(site_commit(&c->site[id], &f), NFS4R_OK);
		assert_int_equal(site_close(&c->site[id], &f), NFS4R_OK);
		for (int at = 1; at <= SITES; at++)
			expect_content(&c->site[at], &f, own);
	}
}

__attribute__((format(printf, 3, 0))) static void run_shell(char *out, size_t len, const char *fmt, va_list ap)
{
	char cmd[800];

	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	FILE *p = popen(cmd, "r");
	assert_non_null(p);
	size_t n = fread(out, 1, len - 1, p);
	out[n] = '\0';
	pclose(p);
}

void shell(char *out, size_t len, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	run_shell(out, len, fmt, ap);
	va_end(ap);
}

void expect_shell(const char *want, const char *fmt, ...)
{
	char out[SHELL_MAX];
	va_list ap;

	va_start(ap, fmt);
	run_shell(out, sizeof(out), fmt, ap);
	va_end(ap);
	assert_string_equal(out, want);
}

void get_view(struct site *s, struct nfs4r_core_view *v)
{
	pthread_mutex_lock(&s->eng->lock);
	nfs4r_core_get_view(s->eng->core, v);
	pthread_mutex_unlock(&s->eng->lock);
}

static bool all_serve(struct cluster *c)
{
	for (int i = 1; i <= c->first; i++) {
		struct nfs4r_core_view v;

		if (!c->site[i].eng || !engine_has_lease(c->site[i].eng))
			return false;
		get_view(&c->site[i], &v);
		if (!v.member || v.joining || v.repairing)
			return false;
	}
	return true;
}

void wait_all_serve(struct cluster *c)
{
	for (int i = 0; i < 3000 && !all_serve(c); i++)
		pause_ms(10);
	assert_true(all_serve(c));
}

void finish_upgrade(struct cluster *c)
{
	json_t *req = json_pack("{s:b}", "yes", true);
	struct nfs4r_core_view v;
	int ready = 0;

	for (int i = 0; i < 1000 && ready < c->first; i++) {
		json_decref(admin_finish_upgrade(c->site[1].eng, req));
		pause_ms(10);
		ready = 0;
		for (int id = 1; id <= c->first; id++) {
			get_view(&c->site[id], &v);
			ready += v.adopted.settings.protocol == c->site[id].eng->cfg.rpc.protocol.highest;
		}
	}
	json_decref(req);
	if (ready < c->first)
		fail_msg("%d of %d servers have the new protocol", ready, c->first);
}

void wait_sealed(struct site *s, nfs4r_server_id who)
{
	struct nfs4r_core_view v;

	for (int i = 0; i < 2000; i++) {
		get_view(s, &v);
		if (v.adopted.epoch && !(v.adopted.open & NFS4R_BIT(who)))
			return;
		pause_ms(10);
	}
	fail_msg("server %d sees no end of the log of server %d", s->id, who);
}

void wait_queued(struct nfs4r_engine *eng, size_t n)
{
	for (int i = 0; i < 2000 && engine_pool_queued(eng->runtime.executors) != n; i++)
		pause_ms(5);
	assert_int_equal(engine_pool_queued(eng->runtime.executors), n);
}

struct nfs4r_oid file_at(struct cluster *c, int id, const char *name)
{
	struct nfs4r_oid root = site_root(&c->site[id]), f, found;

	f = make_file(&c->site[id], &root, name, "0");
	assert_int_equal(site_close(&c->site[id], &f), NFS4R_OK);
	for (int i = 1; i <= SITES; i++)
		assert_int_equal(site_lookup(&c->site[i], &root, name, &found), NFS4R_OK);
	return f;
}
