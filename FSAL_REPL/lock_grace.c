/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What Ganesha is asked for when clients have to reclaim their locks, in a volume whose locks hold at all servers (docs/decisions/0059-grace-is-the-volumes.md).
 *
 * Ganesha has one grace period for the whole daemon: until it is over, no client opens, locks, renames, removes or changes attributes. Such a volume needs none. Its servers know which files may have locks
 * that are still to be reclaimed, and keep only those from others (locks 8); for OPEN and LOCK Ganesha leaves that to the module (fso_grace_method). So the grace period is ended as soon as the
 * daemon serves. Where the daemon exports something else besides, which may need it, it stays, and renames, removals and changes of attributes wait for it as before.
 *
 * A fence makes every client begin anew: Ganesha takes their records for those of an earlier start, so that the clients hear BADSESSION and STALE_CLIENTID, and reclaim. That is what Ganesha does when an address is taken
 * away from the daemon, here for all addresses. It starts a grace period on the way, which is ended again.
 *
 * Clients notice a start of the daemon by the time of that start, which their numbers and sessions contain. A configured number in its place would hide it from them.
 */
#include "repl.h"
#include "export_mgr.h"
#include "nfs_init.h"
#include "sal_data.h"
#include "sal_functions.h"

const char *repl_grace_unfit(void)
{
	if (nfs_param.nfsv4_param.graceless)
		return "clients cannot be made to reclaim their locks with Graceless = true. Write Graceless = false in NFSv4";
	if (nfs_param.nfsv4_param.sticky_grace)
		return "clients cannot be made to reclaim their locks at any time with Sticky_Grace = true. Write Sticky_Grace = false in NFSv4";
	if (nfs_param.core_param.unique_server_id != 0)
		return "clients do not notice a restart of this server with Unique_Server_Id. Omit it in NFS_CORE_PARAM";
	return NULL;
}

/* Takes over the reference to @gsh. */
static bool is_other(struct gsh_export *gsh, const struct repl_export *exp)
{
	struct req_op_context context;
	const struct fsal_export *below;
	bool other;

	init_op_context_simple(&context, gsh, gsh->fsal_export);
	below = gsh->fsal_export->sub_export; /* MDCACHE is above each */
	other = below != NULL && below != &exp->export && strcmp(below->fsal->name, "PSEUDO") != 0;
	release_op_context();
	return other;
}

static bool others_are_exported(const struct repl_export *exp)
{
	struct gsh_export *gsh;
	bool other = false;

	for (uint32_t id = 0; id <= UINT16_MAX && !other; id++) {
		gsh = get_gsh_export((uint16_t)id);
		if (gsh != NULL)
			other = is_other(gsh, exp);
	}
	return other;
}

bool repl_grace_end(struct repl_export *exp)
{
	if (!repl_locks_are_shared(exp) || nfs_init_wait_timeout(0) != 0)
		return false;
	if (others_are_exported(exp)) {
		REPL_LOG(Warn, "this daemon has other exports, so its grace period stays: clients of the volume wait with renames, removals and changes of attributes after each start of the daemon, up to Grace_Period. Export them from another daemon to avoid that");
		return true;
	}
	nfs_param.nfsv4_param.grace_period = 0;
	nfs_wait_for_grace_enforcement(); /* which first ends one that is over */
	return true;
}

void repl_grace_fence(struct repl_export *exp)
{
	char all[] = "";
	nfs_grace_start_t release = { .event = EVENT_RELEASE_IP, .ipaddr = all };

	if (nfs_start_grace(&release) != 0)
		REPL_LOG(Crit, "Ganesha does not make its clients reclaim their locks. Restart this server");
	nfs_wait_for_grace_enforcement();
}
