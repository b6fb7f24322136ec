/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The module: what Ganesha finds when it loads libfsalrepl.so. Registers, reads REPL { }, makes exports.
 *
 * Ganesha compares its API number only, yet macros of its config.h change the layout of structures that
 * both sides use. So before registering we compare the sizes of what the daemon exports with what we
 * were compiled for, and refuse to register if they differ: better no server than a corrupting one.
 */
#include "repl.h"
#include "FSAL/fsal_init.h"
#include "config_parsing.h"
#include "mdcache_ext.h"
#include "nfs_core.h"

#include <dlfcn.h>
#include <link.h>

static const char module_name[] = "REPL";

struct repl_module repl_module = {
	.module.fs_info = {
		.maxfilesize = INT64_MAX,
		.maxlink = _POSIX_LINK_MAX,
		.maxnamelen = NFS4R_NAME_MAX,
		.maxpathlen = NFS4R_PATH_MAX,
		.no_trunc = true,
		.chown_restricted = true,
		.case_preserving = true,
		.link_support = true,
		.symlink_support = true,
		.lock_support = true,
		.named_attr = true,
		.unique_handles = true,
		.acl_support = FSAL_ACLSUPPORT_ALLOW | FSAL_ACLSUPPORT_DENY,
		.cansettime = true,
		.homogenous = true,
		.supported_attrs = ATTRS_POSIX | ATTR_ACL | ATTR4_XATTR,
		.maxread = NFS4R_IO_MAX,
		.maxwrite = NFS4R_IO_MAX,
		.link_supports_permission_checks = true,
		.compliant_eof_behavior = true,
		.xattr_support = true,
		.expire_time_parent = -1,
	},
};

/* Defined where the daemon's allocator is jemalloc, which the module links only where the daemon does. */
extern int mallctl(const char *name, void *oldp, size_t *oldlen, void *newp, size_t newlen) __attribute__((weak));

/*
 * jemalloc gives unused pages back while the arena that they belong to is used. A daemon has arenas that a burst of clients used and nobody uses afterwards; only
 * jemalloc's own threads return their pages. Any other allocator, and a jemalloc without such threads, works as it did (docs/decisions/0040-memory-is-given-back.md).
 * The daemon has forked by now, if it does: the threads would not survive that.
 */
static void give_memory_back(void)
{
	bool on = true;
	int error = mallctl == NULL ? ENOSYS : mallctl("background_thread", NULL, NULL, &on, sizeof(on));

	if (error != 0)
		REPL_LOG(Info, "the memory allocator has no thread that returns unused memory (%s); after a burst of clients the daemon may keep much memory",
			 strerror(error));
}

static fsal_status_t init_config(struct fsal_module *fsal, config_file_t parsed, struct config_error_type *err)
{
	give_memory_back();
	repl_config_load(parsed, err);
	return fsalstat(ERR_FSAL_NO_ERROR, 0); /* create_export refuses, with the reason */
}

static fsal_status_t update_config(struct fsal_module *fsal, config_file_t parsed, struct config_error_type *err)
{
	if (repl_module.exp != NULL)
		REPL_LOG(Event, "REPL { } is read when the daemon starts; changes in it need a restart");
	else
		repl_config_load(parsed, err);
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static bool size_fits(const char *name, const void *addr, size_t ours)
{
	const ElfW(Sym) *sym = NULL;
	Dl_info info;

	if (dladdr1(addr, &info, (void **)&sym, RTLD_DL_SYMENT) == 0 || sym == NULL || sym->st_size == ours)
		return true;
	fprintf(stderr, "FSAL_REPL: this Ganesha's %s has %zu bytes, FSAL_REPL was built for %zu: rebuild it against this Ganesha\n",
		name, (size_t)sym->st_size, ours);
	REPL_LOG(Crit, "this Ganesha's %s has %zu bytes, FSAL_REPL was built for %zu: rebuild it against this Ganesha", name,
		 (size_t)sym->st_size, ours);
	return false;
}

static bool ganesha_fits(void)
{
	return size_fits("nfs_param", &nfs_param, sizeof(nfs_param)) &&
		size_fits("mdcache_param", &mdcache_param, sizeof(mdcache_param));
}

MODULE_INIT void repl_init(void)
{
	struct fsal_module *module = &repl_module.module;

	if (!ganesha_fits())
		return;
	if (register_fsal(module, module_name, FSAL_MAJOR_VERSION, FSAL_MINOR_VERSION, FSAL_ID_NO_PNFS) != 0) {
		fprintf(stderr, "FSAL_REPL: cannot register; it was built for Ganesha %s\n", REPL_GANESHA_VERSION);
		return;
	}
	REPL_LOG(Event, "built for Ganesha %s, config.h %s", REPL_GANESHA_VERSION, REPL_GANESHA_CONFIG_HASH);
	module->m_ops.init_config = init_config;
	module->m_ops.update_config = update_config;
	module->m_ops.create_export = repl_create_export;
	module->m_ops.update_export = repl_update_export;
	repl_obj_ops_init(&repl_module.obj_ops);
}

MODULE_FINI void repl_unload(void)
{
	repl_kerberos_unwatch();
	if (unregister_fsal(&repl_module.module) != 0)
		fprintf(stderr, "FSAL_REPL: cannot unregister\n");
}
