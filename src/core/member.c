/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Servers added, taken out, and a volume that lost a majority for good (log 9.1, 9.3).
 */
#include <stdio.h>

#include "core/core_int.h"

static enum nfs4r_status not_possible(char *why, size_t why_len)
{
	snprintf(why, why_len, "the servers of a volume are those of the configuration");
	return NFS4R_INVAL;
}

enum nfs4r_status nfs4r_core_may_add(const struct nfs4r_core *c, nfs4r_server_id s, char *why, size_t why_len)
{
	(void)c;
	(void)s;
	return not_possible(why, why_len);
}

enum nfs4r_status nfs4r_core_may_remove(const struct nfs4r_core *c, nfs4r_server_id s, bool give_up, uint64_t *lost, char *why, size_t why_len)
{
	(void)c;
	(void)s;
	(void)give_up;
	*lost = 0;
	return not_possible(why, why_len);
}

enum nfs4r_status nfs4r_core_may_reconfigure(const struct nfs4r_core *c, nfs4r_servers set, char *why, size_t why_len)
{
	(void)c;
	(void)set;
	return not_possible(why, why_len);
}
