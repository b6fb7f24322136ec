/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The life of an export: EXPORT { FSAL { Name = REPL; FSAL { Name = VFS; } } }.
 *
 *   create:   check what Ganesha is configured to do above us, make the sub export, start the engine
 *   unexport: stop the engine (its threads hold no reference afterwards), then the sub export
 *
 * Everything that is wrong gives one CRIT line with the key and the remedy, and the export is refused;
 * the daemon and its other exports go on. One volume, hence one REPL export, per process.
 *
 * The store lies outside the exported directory; the engine's threads are started here, but what they
 * call below waits until the daemon is up (context.c), and so does the first word to the other servers.
 */
#include "repl.h"
#include "mdcache_ext.h"
#include "nfs_core.h"
#include "nfs_init.h"
#include "nfs4r_build.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct export_args {
	struct subfsal_args sub;
};

static struct config_item sub_params[] = { CONF_ITEM_STR("name", 1, 32, NULL, subfsal_args, name), CONFIG_EOL };

static struct config_item export_params[] = { CONF_ITEM_NOOP("name"),
					      CONF_RELAX_BLOCK("FSAL", sub_params, noop_conf_init, subfsal_commit,
							       export_args, sub),
					      CONFIG_EOL };

static struct config_block export_block = {
	.dbus_interface_name = "org.ganesha.nfsd.config.fsal.repl-export%d",
	.blk_desc.name = "FSAL",
	.blk_desc.type = CONFIG_BLOCK,
	.blk_desc.u.blk.init = noop_conf_init,
	.blk_desc.u.blk.params = export_params,
	.blk_desc.u.blk.commit = noop_conf_commit,
};

/* ---- refusing ---- */

/*
 * While the daemon starts, a volume that is refused ends it with a non-zero status, so that whoever started it (systemd) knows, and tries
 * again. One that serves already, and was told to read its configuration again, goes on.
 */
static fsal_status_t refuse(const char *why)
{
	static const char prefix[] = "REPL: ";
	bool starting = nfs_init_wait_timeout(0) != 0;

	if (strncmp(why, prefix, strlen(prefix)) == 0) /* the log line begins with it, too */
		why += strlen(prefix);
	REPL_LOG(Crit, "export %d is refused: %s%s", op_ctx->ctx_export->export_id, why, starting ? ". The daemon ends" : "");
	if (starting) {
		if (repl_module.exp != NULL) /* another one: it lets go in order */
			repl_export_stop(repl_module.exp);
		_exit(EXIT_FAILURE);
	}
	return fsalstat(ERR_FSAL_INVAL, EINVAL);
}

/*
 * What Ganesha is told in its own blocks and must be so for the volume. MDCACHE must not answer in our place: it cannot know when an
 * answer has stopped being true.
 */
static const char *wrong_above(const struct gsh_export *gsh)
{
	if (nfs_param.nfsv4_param.server_scope == NULL || nfs_param.nfsv4_param.server_scope[0] == '\0')
		return "NFSv4 must have Server_Scope = \"NAME\"; the same on every server of the volume";
	if (nfs_param.nfsv4_param.allow_delegations)
		return "NFSv4 must have Delegations = false; (an update at another site could not recall them)";
	if (!(gsh->export_perms.set & EXPORT_OPTION_EXPIRE_SET) || gsh->export_perms.expire_time_attr != 0)
		return "EXPORT must have Attr_Expiration_Time = 0; (attributes are cached by the volume, not by MDCACHE)";
	if (mdcache_param.dir.avl_chunk != 0)
		return "MDCACHE must have Dir_Chunk = 0; (directories are cached by the volume, not by MDCACHE)";
	if (mdcache_param.use_cached_owner_on_owner_override)
		return "MDCACHE must have Use_Cached_Owner_On_Owner_Override = false; (it would use an owner that another site may have changed)";
	if (gsh->options & EXPORT_OPTION_TRUST_READIR_NEGATIVE_CACHE)
		return "EXPORT must have Trust_Readdir_Negative_Cache = false; (a name that is not in MDCACHE may have been created at another site)";
	if (!(gsh->options_set & EXPORT_OPTION_FSID_SET))
		return "EXPORT must have Filesystem_Id = N.M; the same on every server of the volume";
	return NULL;
}

/* What costs, and breaks no promise. */
static void unwise_above(void)
{
	if (nfs_param.core_param.getattrs_in_complete_read)
		REPL_LOG(Warn, "NFS_CORE_PARAM should have Getattrs_In_Complete_Read = false; true costs a round trip for each READ that another site answers");
	if (nfs_param.nfsv4_param.expired_client_threshold != 0)
		REPL_LOG(Warn, "NFSv4 should have Expired_Client_Threshold = 0; with %u, vanished clients keep files open, and other sites wait for these files",
			 nfs_param.nfsv4_param.expired_client_threshold);
}

/*
 * Whether Ganesha will get its NFS port, which it asks for only when all exports are made, and ends without. Asked the same way: SO_REUSEADDR, IPv6 for
 * both where the machine has it.
 */
static fsal_status_t check_nfs_port(void)
{
	const struct sockaddr *bound = (const struct sockaddr *)&nfs_param.core_param.bind_addr;
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = htons(nfs_param.core_param.port[P_NFS]) };
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = a6.sin6_port };
	int fd, one = 1, err = 0;
	char why[256];

	if (nfs_init_wait_timeout(0) == 0)
		return fsalstat(ERR_FSAL_NO_ERROR, 0); /* it has it */
	if (bound->sa_family == AF_INET)
		a4.sin_addr = ((const struct sockaddr_in *)bound)->sin_addr;
	else if (bound->sa_family == AF_INET6)
		a6.sin6_addr = ((const struct sockaddr_in6 *)bound)->sin6_addr;
	fd = bound->sa_family == AF_INET && a4.sin_addr.s_addr != INADDR_ANY ? -1 : socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool v6 = fd >= 0;
	if (!v6)
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, v6 ? (struct sockaddr *)&a6 : (struct sockaddr *)&a4, v6 ? sizeof(a6) : sizeof(a4)) != 0)
		err = errno;
	close(fd);
	if (err != EADDRINUSE && err != EADDRNOTAVAIL)
		return fsalstat(ERR_FSAL_NO_ERROR, 0); /* Ganesha says it */
	if (err == EADDRINUSE)
		snprintf(why, sizeof(why), "NFS_Port = %u is in use by another process (the kernel's NFS server, another Ganesha): stop that process, or write another "
					   "NFS_Port in NFS_CORE_PARAM",
			 nfs_param.core_param.port[P_NFS]);
	else
		snprintf(why, sizeof(why), "Bind_addr is not an address of this machine: write one of its addresses in NFS_CORE_PARAM, or omit Bind_addr");
	return refuse(why);
}

static fsal_status_t check_config(void)
{
	const char *why;

	if (!repl_module.configured)
		return refuse(repl_module.why[0] ? repl_module.why : "there is no REPL block in the configuration");
	if (repl_module.exp != NULL)
		return refuse("there is a REPL export already; one daemon serves one volume, so remove one of them");
	why = wrong_above(op_ctx->ctx_export);
	return why != NULL ? refuse(why) : check_nfs_port();
}

/* ---- making ---- */

static fsal_status_t make_sub_export(struct repl_export *exp, void *node, struct config_error_type *err)
{
	struct export_args args = { { 0 } };
	struct fsal_module *sub;
	fsal_status_t st;

	if (load_config_from_node(node, &export_block, &args, true, err) != 0 || args.sub.name == NULL)
		return refuse("its FSAL block must contain the block of the file system below: FSAL { Name = REPL; FSAL { Name = VFS; } }");
	sub = lookup_fsal(args.sub.name);
	if (sub == NULL)
		return refuse("the FSAL below REPL cannot be found; check its Name and Plugins_Dir");
	st = sub->m_ops.create_export(sub, args.sub.fsal_node, err, &exp->sub_up);
	fsal_put(sub);
	if (FSAL_IS_ERROR(st))
		return refuse("the FSAL below REPL refuses the export; see the lines before this one");
	fsal_export_stack(op_ctx->fsal_export, &exp->export);
	return st;
}

static void release_sub_export(struct repl_export *exp)
{
	struct fsal_export *sub = exp->export.sub_export;
	struct fsal_module *fsal = sub->fsal;

	repl_sub_cache_flush();
	repl_places_flush();
	sub->exp_ops.release(sub);
	fsal_put(fsal);
}

/* The keys of Ganesha that have to be equal on every server (nfs4r.conf(5)). Its own default of Server_Owner is the host's name. */
static void compare_keys(struct nfs4r_rpc_config *rpc)
{
	char host[MAXNAMLEN + 1] = "", policy[4096], identity[1024];
	const char *owner = nfs_param.nfsv4_param.server_owner;

	if (owner == NULL && gethostname(host, sizeof(host) - 1) == 0)
		owner = host;
	rpc->nkeys = 0;
	nfs4r_rpc_compare(rpc, "Server_Scope", nfs_param.nfsv4_param.server_scope, false);
	nfs4r_rpc_compare(rpc, "Server_Owner", owner, true);
	nfs4r_rpc_compare(rpc, "Pseudo", CTX_PSEUDOPATH(op_ctx), false);
	repl_export_policy(op_ctx->ctx_export, policy, sizeof(policy));
	nfs4r_rpc_tell(rpc, "Export policy", policy);
	repl_identity_conf(op_ctx->ctx_export, identity, sizeof(identity));
	nfs4r_rpc_tell(rpc, "Identity mapping", identity);
}

/* Of which directories the volume is made: where they lie is looked at before anything is opened in them. */
static fsal_status_t check_places(const struct repl_export *exp)
{
	struct nfs4r_config *cfg = &repl_module.cfg;
	char why[NFS4R_WHY] = "";

	if (strlen(exp->path) >= sizeof(cfg->export_dir))
		return refuse("its Path is longer than 1023 bytes; write a shorter one");
	snprintf(cfg->export_dir, sizeof(cfg->export_dir), "%s", exp->path);
	snprintf(cfg->recovery_dir, sizeof(cfg->recovery_dir), "%s", nfs_param.nfsv4_param.recov_root ? nfs_param.nfsv4_param.recov_root : "");
	if (nfs4r_places_check(cfg, why, sizeof(why)) != NFS4R_OK || nfs4r_key_files_check(cfg, why, sizeof(why)) != NFS4R_OK)
		return refuse(why);
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static fsal_status_t start_engine(struct repl_export *exp)
{
	struct nfs4r_config *cfg = &repl_module.cfg;
	char why[NFS4R_WHY] = "";

	cfg->rpc.export_id = exp->gsh->export_id;
	cfg->rpc.fsid_major = exp->fsid.major;
	cfg->rpc.fsid_minor = exp->fsid.minor;
	compare_keys(&cfg->rpc);
	repl_locks_limit_protocol(&cfg->rpc.protocol);
	cfg->lock_grace_ms = (nfs_param.nfsv4_param.lease_lifetime + 10) * 1000; /* who is still there has come back by then */
	if (repl_restart_first(exp, why) != NFS4R_OK)
		return refuse(why);
	REPL_LOG(Event, "NFSv4.r %s, protocol " NFS4R_BUILD_PROTOCOL ", serves export %d", cfg->rpc.version, exp->gsh->export_id);
	nfs4r_root(exp->eng, &exp->root);
	repl_gate_open(exp, exp->eng);
	repl_kerberos_watch();
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static void export_free(struct repl_export *exp)
{
	if (exp->dir_fd >= 0)
		close(exp->dir_fd);
	repl_attr_cache_free(exp->attr_cache);
	repl_verifier_fini(exp);
	repl_upcalls_fini(exp);
	repl_restart_fini(exp);
	repl_locks_fini(exp);
	repl_lock_clients_fini(exp);
	PTHREAD_COND_destroy(&exp->arrive);
	PTHREAD_MUTEX_destroy(&exp->arrive_lock);
	PTHREAD_RWLOCK_destroy(&exp->gate);
	gsh_free(exp->path);
	gsh_free(exp);
}

static struct repl_export *export_new(struct fsal_module *fsal, const struct fsal_up_vector *up_ops)
{
	struct repl_export *exp = gsh_calloc(1, sizeof(*exp));

	exp->gsh = op_ctx->ctx_export;
	exp->stopped = true;
	exp->fsid = exp->gsh->filesystem_id;
	exp->path = gsh_strdup(CTX_FULLPATH(op_ctx));
	exp->dir_fd = open(exp->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	exp->op_wait_ms = repl_module.cfg.op_wait_ms;
	PTHREAD_RWLOCK_init(&exp->gate, NULL);
	PTHREAD_MUTEX_init(&exp->written_lock, NULL);
	PTHREAD_MUTEX_init(&exp->arrive_lock, NULL);
	PTHREAD_COND_init(&exp->arrive, NULL);
	exp->attr_cache = repl_attr_cache_new();
	repl_upcalls_init(exp, up_ops);
	repl_restart_init(exp);
	repl_lock_clients_init(exp);
	fsal_export_init(&exp->export);
	repl_export_ops_init(&exp->export.exp_ops);
	exp->export.up_ops = up_ops;
	exp->export.fsal = fsal;
	return exp;
}

fsal_status_t repl_create_export(struct fsal_module *fsal, void *node, struct config_error_type *err,
				 const struct fsal_up_vector *up_ops)
{
	struct repl_export *exp;
	fsal_status_t st = check_config();

	if (FSAL_IS_ERROR(st))
		return st;
	exp = export_new(fsal, up_ops);
	if (!repl_locks_init(exp, repl_module.cfg.lock_max)) {
		st = refuse("there is no memory for the table of locks");
		goto free;
	}
	if (exp->dir_fd < 0) {
		st = refuse("its Path cannot be opened as a directory");
		goto free;
	}
	st = check_places(exp);
	if (FSAL_IS_ERROR(st))
		goto free;
	st = make_sub_export(exp, node, err);
	if (FSAL_IS_ERROR(st))
		goto free;
	op_ctx->fsal_export = &exp->export;
	op_ctx->fsal_module = fsal;
	st = start_engine(exp);
	if (FSAL_IS_ERROR(st))
		goto release_sub;
	if (fsal_attach_export(fsal, &exp->export.exports) != 0) {
		st = fsalstat(ERR_FSAL_INVAL, EINVAL);
		goto stop;
	}
	if (!repl_locks_start(exp)) {
		st = refuse("a thread cannot be started");
		goto detach;
	}
	repl_module.exp = exp;
	unwise_above();
	return st;
detach:
	fsal_detach_export(fsal, &exp->export.exports);
stop:
	repl_export_stop(exp);
release_sub:
	op_ctx->fsal_export = exp->export.sub_export;
	release_sub_export(exp);
	op_ctx->fsal_export = NULL;
free:
	repl_restart_end(exp);
	free_export_ops(&exp->export);
	export_free(exp);
	return st;
}

fsal_status_t repl_update_export(struct fsal_module *fsal, void *node, struct config_error_type *err,
				 struct fsal_export *original, struct fsal_module *super)
{
	struct export_args args = { { 0 } };
	struct fsal_module *sub;
	fsal_status_t st = update_export(fsal, node, err, original, super);

	if (FSAL_IS_ERROR(st))
		return st;
	if (load_config_from_node(node, &export_block, &args, true, err) != 0 || args.sub.name == NULL)
		return fsalstat(ERR_FSAL_INVAL, EINVAL);
	sub = lookup_fsal(args.sub.name);
	if (sub == NULL)
		return fsalstat(ERR_FSAL_INVAL, EINVAL);
	st = sub->m_ops.update_export(sub, args.sub.fsal_node, err, original->sub_export, fsal);
	fsal_put(sub);
	return st;
}

/* ---- ending ---- */

static void prepare_unexport(struct fsal_export *e)
{
	struct repl_export *exp = repl_export(e);

	repl_export_stop(exp);
	REPL_SUBCALL(exp, exp->export.sub_export->exp_ops.prepare_unexport(exp->export.sub_export));
}

static void unexport(struct fsal_export *e, struct fsal_obj_handle *root)
{
	struct repl_export *exp = repl_export(e);
	struct fsal_obj_handle *sub = repl_obj(root)->sub;

	if (sub != NULL)
		REPL_SUBCALL(exp, exp->export.sub_export->exp_ops.unexport(exp->export.sub_export, sub));
}

static void release(struct fsal_export *e)
{
	struct repl_export *exp = repl_export(e);

	repl_export_stop(exp);
	repl_module.exp = NULL;
	release_sub_export(exp);
	fsal_detach_export(e->fsal, &e->exports);
	free_export_ops(e);
	export_free(exp);
}

void repl_export_life_ops(struct export_ops *ops)
{
	ops->prepare_unexport = prepare_unexport;
	ops->unexport = unexport;
	ops->release = release;
}
