/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of log/ share, and the rooms that it may call. */
#ifndef NFS4R_CORE_LOG_LOG_INT_H
#define NFS4R_CORE_LOG_LOG_INT_H

#include "core/state/state.h"
#include "core/control/control.h"
#include "core/policy/policy.h"
#include "core/log/log.h"

/* durability.c: durability beyond one server (log 5.1) */
bool log_is_quorum_durable(const struct nfs4r_core *c, nfs4r_lsn lsn);
void log_quorum_note(struct nfs4r_core *c, nfs4r_lsn lsn);

/* failed.c: entries that could not be applied (log 4.11) */
void log_trouble_failed(struct nfs4r_core *c, struct pend *p, enum nfs4r_status st);
void log_trouble_begun(struct nfs4r_core *c, struct pend *p);
void log_trouble_forget(struct nfs4r_core *c, struct pend *p);
bool log_trouble_waits(const struct nfs4r_core *c, const struct pend *p); /* it failed, and is not to be tried yet */

/* fuzzy.c: bytes newer than their version (log 3.6, 3.9, 7.5) */
void log_fuzzy_stable(struct nfs4r_core *c, const nfs4r_lsn *stable);
void log_fuzzy_passed(struct nfs4r_core *c, const struct nfs4r_entry *e, uint32_t part, const struct nfs4r_entry *by);
void log_fuzzy_begun(struct nfs4r_core *c, const struct nfs4r_entry *e, uint32_t mask);

/* replicate.c: own log, distribution, positions */
void log_drop(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn until); /* entries up to @until, if there are any; TRUNCATE */
void log_truncate(struct nfs4r_core *c);
uint64_t log_bytes_between(const struct nfs4r_core *c, nfs4r_lsn from, nfs4r_lsn until);
void log_written_gc(struct nfs4r_core *c);

/* retention.c: what is kept for those who are away */
void log_retention_drop(struct nfs4r_core *c);
void log_retention_look(struct nfs4r_core *c);
bool log_retention_forgot_log(const struct nfs4r_core *c, nfs4r_server_id s, nfs4r_server_id log);
bool log_retention_has(const struct nfs4r_core *c, nfs4r_server_id s, nfs4r_server_id log, nfs4r_lsn lsn);

/* superseded.c: what fails and is undone later */
uint32_t log_moot_parts(struct nfs4r_core *c, struct pend *p, uint32_t mask); /* those of @mask that are passed over; sets p->aside, p->by */

#endif
