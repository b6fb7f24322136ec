/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See ask.h. */
#include "ask.h"

#include "lib/unit.h"
#include <stdio.h>
#include <string.h>

#define UNREACHED 2 /* exit status of a verify that could not ask every server */

struct ctl_conn *cluster_ctl(struct cluster *c, int id)
{
	char path[108], why[CTL_WHY] = "";

	snprintf(path, sizeof(path), "%s/ctl%d", c->dir, id);
	struct ctl_conn *k = ctl_connect(path, why);
	if (!k)
		fail_msg("%s", why);
	return k;
}

uint64_t cluster_verify(struct cluster *c, int id, char text[VERIFY_TEXT])
{
	char why[CTL_WHY] = "";
	struct ctl_conn *k = cluster_ctl(c, id);
	uint64_t status = 99;
	json_t *a;

	text[0] = '\0';
	assert_true(ctl_ask(k, "verify", "/", 60, why));
	while (status == 99 && (a = ctl_next(k, why))) {
		json_t *d = json_object_get(a, "difference");
		size_t at = strlen(text);

		if (d)
			snprintf(text + at, VERIFY_TEXT - at, "%s %d %s;", get_text(d, "path"), (int)get_num(d, "server"), get_text(d, "what"));
		if ((d = json_object_get(a, "name")))
			snprintf(text + at, VERIFY_TEXT - at, "%s/%s %d %s;", strcmp(get_text(d, "directory"), "/") ? get_text(d, "directory") : "", get_text(d, "name"),
				 (int)get_num(d, "server"), get_text(d, "what"));
		if (json_object_get(a, "error"))
			fail_msg("%s", get_text(a, "error"));
		if (json_object_get(a, "result"))
			status = get_num(json_object_get(a, "result"), "status");
		json_decref(a);
	}
	ctl_close(k);
	return status;
}

void cluster_verify_equal(struct cluster *c, int id)
{
	char text[VERIFY_TEXT];
	uint64_t status = cluster_verify(c, id, text);

	for (int tries = 0; tries < 50 && status == UNREACHED; tries++) {
		pause_ms(100);
		status = cluster_verify(c, id, text);
	}
	if (status)
		fail_msg("verify at server %d: status %d: %s", id, (int)status, text);
}
