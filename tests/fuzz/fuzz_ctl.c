/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Both ends of the control socket. A client's bytes go to the shipped server side, on servers in memory (tests/unit/ctl); a server's bytes go to nfs4rctl's reader and from there into
 * everything that shows an answer. What comes out is JSON, a line each, or text that is harmless on a terminal.
 *
 * Input: a byte (0: requests; 1: answers, with the filter of `controls` in the next byte), then lines.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "unit/ctl/fake_engine.h"

static ssize_t socket_send(int fd, const void *bytes, size_t len, int flags);
#define send socket_send
#include "engine/admin/ctl.c"
#undef send
#include "ctl/client.c"

static struct fake *server;
static char answer[1 << 20]; /* a line that is not whole yet */
static size_t answer_len;

/* Every line that a client gets is one object. */
static ssize_t socket_send(int fd, const void *bytes, size_t len, int flags)
{
	FUZZ_CHECK(len <= sizeof(answer) - answer_len);
	memcpy(answer + answer_len, bytes, len);
	answer_len += len;
	if (answer[answer_len - 1] == '\n') {
		json_t *a = json_loadb(answer, answer_len, JSON_REJECT_DUPLICATES, NULL);

		FUZZ_CHECK(json_is_object(a));
		FUZZ_CHECK(memchr(answer, '\n', answer_len) == answer + answer_len - 1);
		json_decref(a);
		answer_len = 0;
	}
	return (ssize_t)len;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	return 0;
}

/* ---- the server's end ---- */

static void serve(const uint8_t *bytes, size_t len)
{
	struct ctl *ctl = calloc(1, sizeof(*ctl));
	struct client *cl = calloc(1, sizeof(*cl));
	int pair[2];

	server = fake_new(1, "/nonexistent");
	fake_add(server, 0, "file", NFS4R_TYPE_FILE, "bytes");
	server->may_give_up = 3;
	server->may_change = 0xffff;
	FUZZ_CHECK(ctl && cl && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	pthread_mutex_init(&ctl->lock, NULL);
	ctl->eng = &server->eng;
	cl->ctl = ctl;
	cl->fd = pair[1];
	answer_len = 0;
	FUZZ_CHECK(write(pair[0], bytes, len) == (ssize_t)len && shutdown(pair[0], SHUT_WR) == 0);
	client_thread(cl);
	FUZZ_CHECK(cl->over && answer_len == 0);
	close(pair[0]);
	close(pair[1]);
	pthread_mutex_destroy(&ctl->lock);
	fake_stop(server);
	fake_free(server);
	free(cl);
	free(ctl);
}

/* ---- nfs4rctl's end ---- */

static void check_text(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i], next = i + 1 < len ? (unsigned char)text[i + 1] : 0;

		if (c == '\n' || (c >= ' ' && c != 0x7f && !(c == 0xc2 && next >= 0x80 && next < 0xa0)))
			continue;
		fprintf(stderr, "byte %zu, %02x, of this text:\n%.*s\n", i, (unsigned char)text[i], (int)len, text);
		abort();
	}
}

static void show(const json_t *a, uint8_t how, struct show_verify *v, FILE *out)
{
	struct show_filter filter = { .deep = how & 1, .own = how & 2, .owner = how >> 4, .waiting = how & 4 };
	json_t *h = health_of(a, 10);

	show_status(a, out);
	show_servers(a, out);
	show_controls(a, &filter, out);
	controls_know(a, how >> 4);
	show_stats(a, out);
	show_verify_line(v, a);
	FUZZ_CHECK(json_is_object(h));
	show_health(h, out);
	json_decref(h);
}

static void read_answers(uint8_t how, const uint8_t *bytes, size_t len)
{
	struct ctl_conn c = { .fd = -1 };
	char *text = NULL, why[CTL_WHY] = "";
	size_t text_len;
	FILE *out = open_memstream(&text, &text_len);
	struct show_verify v = { .out = out };
	json_t *a, *h;

	c.in = len ? fmemopen((void *)(uintptr_t)bytes, len, "r") : NULL;
	while (c.in && (a = ctl_next(&c, why)) != NULL) {
		show(a, how, &v, out);
		json_decref(a);
	}
	h = health_unknown(HEALTH_UNKNOWN, why);
	FUZZ_CHECK(json_is_object(h));
	show_health(h, out);
	json_decref(h);
	fclose(out);
	check_text(text, text_len);
	free(text);
	free(c.line);
	if (c.in)
		fclose(c.in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in in = { data, len };
	uint8_t answers = fuzz_u8(&in) & 1, how = answers ? fuzz_u8(&in) : 0;

	if (answers)
		read_answers(how, in.p, in.left);
	else
		serve(in.p, in.left);
	return 0;
}
