/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Named limits. Whatever comes from a peer, a disk or a client is checked against these before memory is taken. */
#ifndef NFS4R_BASE_LIMITS_H
#define NFS4R_BASE_LIMITS_H

#define NFS4R_NAME_MAX 255 /* bytes of one directory entry name */
#define NFS4R_PATH_MAX 4096 /* bytes of a symbolic link's text */
#define NFS4R_XATTR_NAME_MAX 255
#define NFS4R_XATTR_VALUE_MAX 65536
#define NFS4R_ACL_MAX (512u << 10) /* bytes of an encoded ACL: of a directory with two POSIX ACLs of XFS (5,461 entries, each of which allows and denies) 436,888 */
#define NFS4R_LOCAL_HANDLE_MAX 64 /* bytes of a sub-FSAL handle */
#define NFS4R_GROUPS_MAX 1024 /* supplementary groups carried with a credential; who is in more is refused */
#define NFS4R_IO_MAX (4u << 20) /* bytes of one READ or WRITE payload between servers */
#define NFS4R_MESSAGE_MAX (8u << 20) /* bytes of one peer message, all included */
#define NFS4R_CLAIM_CONTROLS_MAX 8 /* controls acquired together under one pid */
#define NFS4R_PARTS_MAX 4 /* objects of one log entry */
#define NFS4R_NAME_CHANGES_MAX 2 /* names changed in one directory by one entry */
#define NFS4R_PARENTS_MAX 64 /* parents of one multi-link file that are looked at */
#define NFS4R_BATCH_MAX 1024 /* pids or entries in one message */
#define NFS4R_CLOSING_MAX 512 /* claims in one CLOSING */
#define NFS4R_ODD_NAMES_MAX 65536 /* bytes of names in one answer to VERIFY */
#define NFS4R_READDIR_MAX 512 /* names in one forwarded listing */
#define NFS4R_SEALS_MAX 16 /* ends of logs that a view remembers; who is behind a forgotten one gets its copy anew */
#define NFS4R_WHY 2048 /* bytes of a text that says what is wrong and what to do, with a path and a name in it: none is cut */
#define NFS4R_LIST_TEXT 64 /* bytes of the numbers of all servers: "1, 2, ... 15" */
#define NFS4R_DEPTH_MAX 512 /* directory depth; a longer parent chain is corruption */

#endif
