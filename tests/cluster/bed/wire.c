/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The router of `testbed up --wire`: one process instead of a guest with netem, because netem in User-mode Linux
 * paces 260 Mbit/s at most. Frames of site I come from interface wI and leave by wJ, after the link's delay, loss and rate.
 *
 * Happy path: a frame read from wI gets the time at which it is due (the moment at which the link's rate has let it
 * through, plus the delay) and a place in the ring of its direction, which is in order of time. Due frames leave in batches. Its time of
 * arrival is the kernel's: when this process was late, frames may be late, but no queue was longer for it.
 * The router's own address 10.0.I.254 answers ARP; the hosts' addresses follow from 10.0.I.H (bed/lib.sh:mac).
 * Settings are the files of link.sh, read at the start and at each SIGHUP.
 *
 * Failure modes: a queue longer than 50 ms of the link's rate, or a full ring, drops the frame, as netem's limit does. Whatever
 * is neither IPv4 between two sites nor ARP is dropped.
 *
 * Invariants: a direction neither reorders nor duplicates.
 *
 * wire LINKS SITES
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SITES_MAX 9
#ifndef MTU
#define MTU 1500
#endif
#define FRAME (MTU + 18)
#define RING 131072u /* frames of one direction; memory only as they are used */
#define BATCH 64
#define BUFFER_NS 50000000
#define SOCKET_BYTES (32 << 20)

struct slot {
	uint64_t due;
	uint16_t len;
	uint8_t frame[FRAME];
};

struct direction {
	struct slot *ring;
	uint32_t head, n;
	uint64_t delay_ns, free_ns; /* the rate lets the next frame through then */
	double loss, ns_per_byte; /* 0: unlimited */
};

static struct direction dirs[SITES_MAX + 1][SITES_MAX + 1];
static int sockets[SITES_MAX + 1];
static int sites;
static const char *links;
static volatile sig_atomic_t reread = 1;
static uint8_t in[BATCH][FRAME];
static uint64_t seed = 88172645463325252u;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t); /* as the kernel's stamps */
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static double random_part(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(seed >> 11) / 9007199254740992.0;
}

static void on_hup(int number)
{
	(void)number;
	reread = 1;
}

/* ---- settings ---- */

static void set(int a, int b, double rtt_us, double loss, double mbit, bool cut)
{
	struct direction *d = &dirs[a][b];

	d->delay_ns = (uint64_t)(rtt_us * 500);
	d->loss = cut ? 1 : loss / 100;
	d->ns_per_byte = mbit > 0 ? 8000 / mbit : 0;
	d->free_ns = 0;
}

static void read_links(void)
{
	reread = 0;
	for (int a = 1; a <= sites; a++)
		for (int b = a + 1; b <= sites; b++) {
			char path[512];
			double rtt, loss, mbit;
			int cut;

			snprintf(path, sizeof(path), "%s/%d-%d", links, a, b);
			FILE *f = fopen(path, "r");
			if (!f || fscanf(f, "%lf %lf %lf %d", &rtt, &loss, &mbit, &cut) != 4)
				die(path);
			fclose(f);
			set(a, b, rtt, loss, mbit, cut == 1 || cut == 2);
			set(b, a, rtt, loss, mbit, cut == 1 || cut == 3);
		}
}

/* ---- frames in ---- */

static void mac_of(uint8_t *mac, int site, uint8_t host)
{
	memcpy(mac, (uint8_t[]){ 2, 0, 0, 0, (uint8_t)site, host }, 6);
}

/* Who has 10.0.I.254? */
static void arp(int site, uint8_t *f, uint32_t len)
{
	uint8_t *p = f + ETH_HLEN;

	if (len < ETH_HLEN + 28 || p[7] != 1 || memcmp(p + 24, (uint8_t[]){ 10, 0, (uint8_t)site, 254 }, 4) != 0)
		return;
	memcpy(f, p + 8, 6);
	mac_of(f + 6, site, 254);
	p[7] = 2;
	memcpy(p + 18, p + 8, 10); /* to whom: who asked */
	mac_of(p + 8, site, 254);
	memcpy(p + 14, (uint8_t[]){ 10, 0, (uint8_t)site, 254 }, 4);
	if (send(sockets[site], f, ETH_HLEN + 28, 0) < 0 && errno != ENOBUFS)
		die("send");
}

static void take(int from, uint8_t *f, uint32_t len, uint64_t now)
{
	uint8_t *ip = f + ETH_HLEN;

	if (len >= ETH_HLEN && f[12] == 8 && f[13] == 6)
		arp(from, f, len);
	if (len < ETH_HLEN + 20 || len > FRAME || f[12] != 8 || f[13] != 0 || ip[16] != 10 || ip[17] != 0)
		return;
	int to = ip[18];
	if (to < 1 || to > sites || to == from || f[5] != 254)
		return;
	struct direction *d = &dirs[from][to];
	if (d->n == RING || (d->loss > 0 && random_part() < d->loss))
		return;
	uint64_t start = d->free_ns > now ? d->free_ns : now;
	if (d->ns_per_byte > 0 && start - now > BUFFER_NS)
		return;
	d->free_ns = start + (uint64_t)(len * d->ns_per_byte);
	if (!d->n)
		d->head = 0; /* memory that is warm */
	struct slot *s = &d->ring[(d->head + d->n++) % RING];
	s->due = d->free_ns + d->delay_ns;
	s->len = (uint16_t)len;
	memcpy(s->frame, f, len);
	mac_of(s->frame, to, ip[19]);
	mac_of(s->frame + 6, to, 254);
}

static uint64_t arrival(struct msghdr *m, uint64_t now)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
			struct timespec t;

			memcpy(&t, CMSG_DATA(c), sizeof(t));
			return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
		}
	return now;
}

/* True: there may be more. */
static bool read_frames(int site)
{
	struct mmsghdr m[BATCH];
	struct iovec v[BATCH];
	struct sockaddr_ll from[BATCH];
	static union {
		char bytes[CMSG_SPACE(sizeof(struct timespec))];
		struct cmsghdr align;
	} stamp[BATCH];

	for (int i = 0; i < BATCH; i++) {
		v[i] = (struct iovec){ in[i], FRAME };
		m[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &v[i], .msg_iovlen = 1, .msg_name = &from[i], .msg_namelen = sizeof(from[i]), .msg_control = &stamp[i], .msg_controllen = sizeof(stamp[i]) } };
	}
	int n = recvmmsg(sockets[site], m, BATCH, MSG_DONTWAIT, NULL);
	uint64_t now = now_ns();
	for (int i = 0; i < n; i++)
		if (from[i].sll_pkttype != PACKET_OUTGOING)
			take(site, in[i], m[i].msg_len, arrival(&m[i].msg_hdr, now));
	return n == BATCH;
}

/* ---- frames out ---- */

/* The next frame's time, or UINT64_MAX. */
static uint64_t send_due(int from, int to, uint64_t now)
{
	struct direction *d = &dirs[from][to];

	while (d->n && d->ring[d->head].due <= now) {
		struct mmsghdr m[BATCH] = { 0 };
		struct iovec v[BATCH];
		int n = 0, sent;

		for (; n < BATCH && (uint32_t)n < d->n; n++) {
			struct slot *s = &d->ring[(d->head + (uint32_t)n) % RING];

			if (s->due > now)
				break;
			v[n] = (struct iovec){ s->frame, s->len };
			m[n].msg_hdr = (struct msghdr){ .msg_iov = &v[n], .msg_iovlen = 1 };
		}
		sent = sendmmsg(sockets[to], m, (unsigned)n, 0);
		if (sent < 0 && errno != ENOBUFS && errno != EINTR && errno != ENETDOWN)
			die("sendmmsg");
		n = sent > 0 ? sent : 1; /* a frame that the interface refuses is lost */
		d->head = (d->head + (uint32_t)n) % RING;
		d->n -= (uint32_t)n;
	}
	return d->n ? d->ring[d->head].due : UINT64_MAX;
}

static void open_sites(void)
{
	for (int i = 1; i <= sites; i++) {
		char name[IFNAMSIZ];
		int bytes = SOCKET_BYTES, one = 1;
		struct sockaddr_ll a = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };

		snprintf(name, sizeof(name), "w%d", i);
		a.sll_ifindex = (int)if_nametoindex(name);
		sockets[i] = socket(AF_PACKET, SOCK_RAW, 0);
		if (!a.sll_ifindex || sockets[i] < 0 || bind(sockets[i], (struct sockaddr *)&a, sizeof(a)) != 0)
			die(name);
		setsockopt(sockets[i], SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
		setsockopt(sockets[i], SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
		setsockopt(sockets[i], SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one));
		setsockopt(sockets[i], SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one));
		for (int j = 1; j <= sites; j++) {
			dirs[i][j].ring = mmap(NULL, RING * sizeof(struct slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
			if (dirs[i][j].ring == MAP_FAILED)
				die("mmap");
		}
	}
}

static void wait_for_frames(uint64_t next)
{
	struct pollfd p[SITES_MAX];
	uint64_t now = now_ns(), left = next > now ? next - now : 0;
	struct timespec t = { .tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000) };

	for (int i = 0; i < sites; i++)
		p[i] = (struct pollfd){ .fd = sockets[i + 1], .events = POLLIN };
	if (ppoll(p, (nfds_t)sites, next == UINT64_MAX ? NULL : &t, NULL) < 0 && errno != EINTR)
		die("ppoll");
}

int main(int argc, char **argv)
{
	sites = argc == 3 ? atoi(argv[2]) : 0;
	if (sites < 1 || sites > SITES_MAX)
		return 2;
	links = argv[1];
	sigaction(SIGHUP, &(struct sigaction){ .sa_handler = on_hup }, NULL);
	prctl(PR_SET_TIMERSLACK, 1000); /* delays are to be exact, also when all processors are busy */
	if (sched_setscheduler(0, SCHED_RR, &(struct sched_param){ .sched_priority = 1 }) != 0)
		setpriority(PRIO_PROCESS, 0, -15);
	open_sites();
	for (;;) {
		uint64_t next = UINT64_MAX, due;

		if (reread)
			read_links();
		for (int i = 1; i <= sites; i++)
			if (read_frames(i))
				next = 0;
		for (int i = 1; i <= sites; i++)
			for (int j = 1; j <= sites; j++)
				if ((due = send_due(i, j, now_ns())) < next)
					next = due;
		if (next)
			wait_for_frames(next);
	}
}
