/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * nfs4r-bench-channel: what security between servers costs. Three transports of one process on 127.0.0.1, .2 and .3; the first sends entries of 256 KiB to both
 * others on lane BULK, with `none` and `tls` in turns.
 *
 *   nfs4r-bench-channel [--rate MBIT] [--seconds N] [--rounds N]
 *
 * --rate: so much is sent to each of the two; default: as fast as it goes. A line says bits that arrived in a second, summed over both, and processors that the whole
 * process used, its three servers together. The last line compares the medians.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "lib/unit.h"

#include "contract/rpc/pki.h"
#include "contract/rpc/world.h"
#include "lib/ports.h"

#define PEERS 2
#define PAYLOAD (256u << 10)
#define ROUNDS_MAX 64

struct result {
	double mbit, cores;
};

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static void make_keys(struct world *w)
{
	const struct pki_cert says = { .name = "nfs4r" };

	for (uint32_t i = 0; i < w->n; i++) {
		struct nfs4r_rpc_config *cfg = &w->s[i].cfg;
		EVP_PKEY *key = pki_key();
		X509 *cert = pki_sign(key, &says);
		char name[32];

		snprintf(name, sizeof(name), "cert%u", i);
		snprintf(cfg->tls_certificate, sizeof(cfg->tls_certificate), "%s", pki_path(name));
		snprintf(name, sizeof(name), "key%u", i);
		snprintf(cfg->tls_key, sizeof(cfg->tls_key), "%s", pki_path(name));
		pki_save_key(cfg->tls_key, key, 0600);
		pki_save_cert(cfg->tls_certificate, cert, NULL);
		for (uint32_t k = 0; k < w->n; k++) {
			w->s[k].cfg.servers[i].nkeys = 1;
			pki_fingerprint(key, &w->s[k].cfg.servers[i].key[0]);
		}
		X509_free(cert);
		EVP_PKEY_free(key);
	}
}

static struct nfs4r_msg *message(void)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m));
	struct nfs4r_entry *e = nfs4r_entry_new();

	world_write(e, 1, 1, PAYLOAD);
	e->payload = nfs4r_buf_new(PAYLOAD);
	memset(e->payload->data, 0x5a, PAYLOAD);
	m->type = NFS4R_MSG_ENTRIES;
	m->entries.log = 1;
	m->entries.n = 1;
	m->entries.entries = malloc(sizeof(*m->entries.entries));
	m->entries.entries[0] = e;
	return m;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* What may have been sent to each after @ns. */
static uint64_t allowed(double mbit, uint64_t ns)
{
	return mbit > 0 ? (uint64_t)(mbit / 8000 * (double)ns) : UINT64_MAX;
}

static void send_for(struct world *w, struct nfs4r_msg *m, double mbit, uint64_t until, uint64_t begun)
{
	uint64_t sent[PEERS] = { 0 }, number[PEERS] = { 0 }, now;

	while ((now = world_now_ns()) < until) {
		bool any = false;

		for (uint32_t i = 0; i < PEERS; i++) {
			if (sent[i] + PAYLOAD > allowed(mbit, now - begun))
				continue;
			m->entries.end = number[i] + 1;
			if (nfs4r_rpc_send(w->s[0].rpc, (nfs4r_server_id)(i + 2), NFS4R_LANE_BULK, m) != NFS4R_OK)
				continue;
			number[i]++;
			sent[i] += PAYLOAD;
			any = true;
		}
		if (!any)
			nap();
	}
}

static uint64_t received(struct world *w)
{
	uint64_t bytes = 0;

	for (uint32_t i = 1; i <= PEERS; i++)
		bytes += world_get(&w->s[i], w_s->bytes);
	return bytes;
}

static struct result run(enum nfs4r_security security, double mbit, uint64_t seconds)
{
	struct world *w = malloc(sizeof(*w));
	struct nfs4r_msg *m = message();
	struct result r;

	world_init(w, PEERS + 1);
	make_keys(w);
	for (uint32_t i = 0; i < w->n; i++) {
		w->s[i].cfg.security = security;
		w->s[i].cfg.queue_bytes_max = 32ull << 20;
	}
	world_start_all(w);
	world_wait_all_up(w);
	uint64_t begun = world_now_ns(), cpu = cpu_ns(), took;

	send_for(w, m, mbit, begun + seconds * 1000000000ull, begun);
	took = world_now_ns() - begun;
	r.mbit = (double)received(w) * 8000 / (double)took;
	r.cores = (double)(cpu_ns() - cpu) / (double)took;
	nfs4r_msg_fini(m);
	free(m);
	for (uint32_t i = 0; i < w->n; i++)
		nfs4r_rpc_stop(w->s[i].rpc);
	free(w);
	return r;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const struct result *r, int n, bool cores)
{
	double v[ROUNDS_MAX];

	for (int i = 0; i < n; i++)
		v[i] = cores ? r[i].cores : r[i].mbit;
	qsort(v, (size_t)n, sizeof(v[0]), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "rate", 1, NULL, 'r' }, { "seconds", 1, NULL, 's' }, { "rounds", 1, NULL, 'n' }, { NULL, 0, NULL, 0 } };
	struct result none[ROUNDS_MAX], tls[ROUNDS_MAX];
	int rounds = 3, c;
	uint64_t seconds = 5;
	double rate = 0;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'r')
			rate = atof(optarg);
		else if (c == 's')
			seconds = (uint64_t)atoi(optarg);
		else if (c == 'n' && atoi(optarg) > 0 && atoi(optarg) <= ROUNDS_MAX)
			rounds = atoi(optarg);
		else
			return 2;
	}
	for (int i = 0; i < rounds; i++) {
		none[i] = run(NFS4R_SECURITY_NONE, rate, seconds);
		tls[i] = run(NFS4R_SECURITY_TLS, rate, seconds);
		printf("none %.0f Mbit/s with %.2f cores, tls %.0f Mbit/s with %.2f cores\n", none[i].mbit, none[i].cores, tls[i].mbit, tls[i].cores);
		fflush(stdout);
	}
	printf("medians of %d: tls has %.1f %% of the bits of none, and %.3f cores more for three servers\n", rounds, 100 * median(tls, rounds, false) / median(none, rounds, false),
	       median(tls, rounds, true) - median(none, rounds, true));
	return 0;
}
