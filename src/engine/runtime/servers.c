/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Questions about the servers of the volume. Who they are is membership/server_list.c's business. */
#include <stdio.h>

#include "engine/runtime/runtime.h"

const char *engine_server_list(nfs4r_servers set, char *buf, size_t len)
{
	size_t n = 0;

	snprintf(buf, len, "none");
	EACH_OF(set, s)
		if (n < len)
			n += (size_t)snprintf(buf + n, len - n, "%s%u", n ? ", " : "", s);
	return buf;
}

nfs4r_servers engine_servers_surviving(struct nfs4r_engine *eng)
{
	struct nfs4r_core_view v;

	pthread_mutex_lock(&eng->lock);
	nfs4r_core_get_view(eng->core, &v);
	pthread_mutex_unlock(&eng->lock);
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if ((v.reconf_set & NFS4R_BIT(s)) && s != eng->cfg.rpc.self && (v.peer[s].reconf_epoch != v.reconf_epoch || v.peer[s].reconf_set != v.reconf_set))
			return v.adopted.servers; /* it was told, and not all of them were: that may be a mistake */
	return v.reconf_epoch ? v.reconf_set : v.adopted.servers;
}

bool engine_is_alone(const struct nfs4r_engine *eng)
{
	return eng->membership.servers == NFS4R_BIT(eng->cfg.rpc.self);
}
