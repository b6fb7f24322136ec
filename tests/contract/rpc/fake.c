/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/unit.h"

#include "contract/rpc/fake.h"

void fake_hello(struct nfs4r_hello *h, const struct world_server *as, const struct world_server *to)
{
	memset(h, 0, sizeof(*h));
	h->magic = NFS4R_HELLO_MAGIC;
	h->protocol = as->cfg.protocol;
	h->server = as->cfg.self;
	h->to = to->cfg.self;
	memcpy(h->version, as->cfg.version, sizeof(h->version));
	h->inc = as->cfg.inc;
	h->session = 1;
	memcpy(h->volume, as->cfg.volume, 16);
	h->export_id = as->cfg.export_id;
	h->fsid_major = as->cfg.fsid_major;
	h->fsid_minor = as->cfg.fsid_minor;
	h->disk_format = as->cfg.disk_format;
	h->security = as->cfg.security;
	h->lease_ms = as->cfg.keys_now.lease_ms;
	h->silence_ms = as->cfg.keys_now.silence_ms;
	h->drift_permille = as->cfg.keys_now.drift_permille;
	h->durability = as->cfg.keys_now.durability;
	h->view = as->cfg.view;
	h->nservers = as->cfg.nservers;
	for (uint32_t i = 0; i < h->nservers; i++) {
		h->servers[i].id = as->cfg.servers[i].id;
		h->servers[i].port = as->cfg.servers[i].port;
	}
	h->nkeys = as->cfg.nkeys;
	memcpy(h->keys, as->cfg.keys, sizeof(h->keys));
}

void fake_write(int fd, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len > 0) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		p += n;
		len -= (size_t)n;
	}
}

void fake_record(int fd, struct nfs4r_buf *b)
{
	uint32_t mark = htonl(0x80000000u | b->len);

	fake_write(fd, &mark, 4);
	fake_write(fd, b->data, b->len);
	nfs4r_buf_put(b);
}

void fake_tell(int fd, const struct nfs4r_transport_msg_body *m)
{
	fake_record(fd, nfs4r_transport_msg_encode(m));
}

void fake_tell_number(int fd, uint64_t number)
{
	struct nfs4r_transport_msg_body m = { .type = NFS4R_MSG_NUMBER, .number = number };

	fake_tell(fd, &m);
}

void fake_tell_hello(int fd, const struct nfs4r_hello *h)
{
	struct nfs4r_transport_msg_body m = { .type = NFS4R_MSG_HELLO };

	m.hello = *h;
	fake_tell(fd, &m);
}

static bool read_all(int fd, void *to, size_t len)
{
	char *p = to;

	while (len > 0) {
		ssize_t n = recv(fd, p, len, 0);

		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

bool fake_hear(int fd, struct nfs4r_transport_msg_body *m)
{
	uint32_t mark;
	char body[8192];

	do {
		if (!read_all(fd, &mark, 4))
			return false;
		mark = ntohl(mark) & 0x7fffffff;
		assert_true(mark <= sizeof(body));
		if (!read_all(fd, body, mark))
			return false;
		assert_int_equal(nfs4r_transport_msg_decode(body, mark, NFS4R_PROTOCOL_VERSION, m), NFS4R_OK);
	} while (m->type == NFS4R_MSG_KEEPALIVE || m->type == NFS4R_MSG_TAKEN);
	return true;
}

void fake_call(struct fake *f, const struct world_server *as, struct world_server *to, uint64_t session)
{
	struct nfs4r_transport_msg_body m;
	nfs4r_server_id id = as->cfg.self;
	uint32_t ups = (uint32_t)world_get(to, w_s->ups[id]);

	f->to = to;
	fake_hello(&f->hello, as, to);
	f->hello.session = session;
	for (uint32_t lane = 0; lane < NFS4R_LANES; lane++) {
		f->fd[lane] = raw_connect(as->cfg.servers[id - 1].host, &to->cfg.servers[to->cfg.self - 1]);
		assert_true(f->fd[lane] >= 0);
		f->hello.lane = lane;
		fake_tell_hello(f->fd[lane], &f->hello);
		assert_true(fake_hear(f->fd[lane], &m));
		if (m.type == NFS4R_MSG_REFUSED)
			fail_msg("%s", m.refused.text);
		assert_int_equal(m.type, NFS4R_MSG_HELLO);
		assert_int_equal(m.hello.session, session);
		memset(&m, 0, sizeof(m));
		m.type = NFS4R_MSG_KEEPALIVE;
		fake_tell(f->fd[lane], &m);
	}
	world_wait(to, w_s->ups[id] == ups + 1);
}

void fake_close(struct fake *f)
{
	for (int i = 0; i < NFS4R_LANES; i++)
		close(f->fd[i]);
}
