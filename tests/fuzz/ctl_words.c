/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "ctl_words.h"
#include "ctl/ctl.h"
#include "fuzz/fuzz.h"
#include "rpc/rpc_internal.h"

void fuzz_ctl_words(bool reconfigure, char *words)
{
	struct server_args a = { .what = reconfigure ? SERVER_RECONFIGURE : 0 };
	char *list[32], *word;
	const char *wrong;
	int n = 0;

	while (n < 32 && (word = strsep(&words, " ")) != NULL)
		list[n++] = word;
	wrong = reconfigure ? parse_set(&a, n, list) : parse_servers(&a, n, list);
	if (wrong) {
		FUZZ_CHECK(wrong[0]);
		return;
	}
	FUZZ_CHECK(a.server <= CTL_SERVERS_MAX && a.port <= 65535 && a.n <= CTL_SERVERS_MAX);
	FUZZ_CHECK(strlen(a.host) < sizeof(a.host) && (a.what != SERVER_ADD || (a.server && a.host[0])));
	for (unsigned i = 0; i < a.n; i++)
		FUZZ_CHECK(a.set[i] >= 1 && a.set[i] <= CTL_SERVERS_MAX);
}

void fuzz_address(const struct nfs4r_endpoint *e)
{
	struct sockaddr_storage source;
	struct rpc_addrs addrs;
	char why[NFS4R_WHY] = "", text[64];

	if (rpc_addrs_resolve(e->host, e->port, true, &addrs, why) != NFS4R_OK) {
		FUZZ_CHECK(why[0]);
		return;
	}
	FUZZ_CHECK(addrs.n >= 1 && addrs.n <= RPC_ADDRS_MAX);
	for (uint32_t i = 0; i < addrs.n; i++) {
		rpc_addr_text(&addrs.a[i], text, sizeof(text));
		FUZZ_CHECK(rpc_addrs_have(&addrs, &addrs.a[i]));
	}
	rpc_addrs_source(&addrs, AF_INET, &source);
}
