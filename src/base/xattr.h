/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Names of extended attributes. Between servers, in entries and in the store they are the kernel's, with the name of their
 * space: "user.comment", "security.capability". Clients (RFC 8276) see those of user. only, without that prefix.
 */
#ifndef NFS4R_BASE_XATTR_H
#define NFS4R_BASE_XATTR_H

#include <stdbool.h>
#include <stdint.h>

#define NFS4R_XATTR_USER "user."
#define NFS4R_XATTR_USER_LEN (sizeof(NFS4R_XATTR_USER) - 1)

/*
 * Does a volume have this attribute? All of user., trusted. and security., and POSIX ACLs (system.posix_acl_access and
 * system.posix_acl_default). Not security.evm, a seal over one machine's inode, nor a server's own mark of its copy
 * (trusted.nfs4r.), nor what is a file system's own business.
 */
bool nfs4r_xattr_is_carried(const char *name);
/*
 * Is it a label that a kernel gives to new objects by itself (SELinux, Smack, IMA)? An import brings it along where the other
 * kernel takes it. It may differ from server to server, so copies are not compared by it.
 */
bool nfs4r_xattr_is_label(const char *name);
/* Of @len bytes of names, each NUL terminated, keeps those that a volume has. Returns their bytes. */
uint32_t nfs4r_xattr_list_carried(char *names, uint32_t len);

#endif
