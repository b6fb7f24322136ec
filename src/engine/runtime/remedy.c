/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What an administrator can do about an update of another server that cannot be applied here (log 4.11), or about a server that has halted (log 4.15). For the log and for status, so the same words in both. */
#include <stdio.h>

#include "engine/runtime/runtime.h"

const char *engine_remedy(enum nfs4r_status st)
{
	switch (st) {
	case NFS4R_DQUOT:
		return "enlarge its quota on the exported file system, or turn quotas off there";
	case NFS4R_NOSPC:
		return "free space on the exported file system";
	case NFS4R_EXIST:
	case NFS4R_NOTEMPTY:
	case NFS4R_NOTDIR:
	case NFS4R_ISDIR:
		return "a foreign file or directory is in the way: move it out of the exported directory";
	case NFS4R_PERM:
	case NFS4R_ACCES:
		return "the exported file system forbids it: look for the flags immutable and append-only (lsattr), and clear them (chattr -ia)";
	case NFS4R_STALE:
	case NFS4R_NOENT:
		return "the object was removed from the exported directory, and no other server provides it now: make sure that another server is connected and serves, then run nfs4rctl repair";
	case NFS4R_ROFS:
		return "mount the exported file system read-write";
	case NFS4R_FBIG:
	case NFS4R_MLINK:
	case NFS4R_NAMETOOLONG:
	case NFS4R_XATTR2BIG:
	case NFS4R_NOTSUPP:
		return "the exported file system cannot hold the object: remove the object at another server, or move this copy to a file system like theirs";
	case NFS4R_HUNG:
		return "the exported file system does not answer: look for a device that hangs (dmesg), or thaw the file system (fsfreeze -u)";
	default:
		return "check the exported file system and its disk";
	}
}

const char *engine_stuck_on(const struct nfs4r_core_view *v, nfs4r_server_id self, char *buf, size_t len)
{
	if (v->trouble_log == self && v->trouble == NFS4R_HUNG)
		snprintf(buf, len, "update %llu of its own", (unsigned long long)v->trouble_lsn);
	else if (v->trouble_log == self)
		snprintf(buf, len, "the repair of an object in doubt after a crash");
	else
		snprintf(buf, len, "update %llu of server %u", (unsigned long long)v->trouble_lsn, v->trouble_log);
	return buf;
}

const char *engine_halt_of_peer(enum nfs4r_status st, bool files, char *buf, size_t len)
{
	if (st == NFS4R_CORRUPT)
		snprintf(buf, len, "it has halted: its log and nfs4rctl status there say why and what to do");
	else if (!nfs4r_status_is_full(st))
		snprintf(buf, len, "it has halted (%s): its log and nfs4rctl status there say what to do", nfs4r_status_str(st));
	else if (files)
		snprintf(buf, len, "it has halted: its exported directory could not be synced (%s). Free space on that file system; the server returns by itself", nfs4r_status_str(st));
	else
		snprintf(buf, len, "it has halted: its journal cannot be written (%s). Free space on the file system of its Store; the server returns by itself", nfs4r_status_str(st));
	return buf;
}
