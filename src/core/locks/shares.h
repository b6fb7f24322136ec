/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Share reservations (locks 19). What they offer to the rooms above locks/. */
#ifndef NFS4R_CORE_LOCKS_SHARES_H
#define NFS4R_CORE_LOCKS_SHARES_H

#include "core/locks/locks.h"

/* shares.c: opens of this server's clients */
bool locks_shares_lower(struct nfs4r_core *c, const struct nfs4r_op *op); /* true: it gives something back, or nothing changes, and that is done */
bool locks_shares_free(struct nfs4r_core *c, const struct opx *o, const struct nfs4r_op *op); /* true: it concerns nobody else, and is done. @o: NULL when it has none yet */
bool locks_shares_begin(struct nfs4r_core *c, const struct opx *o, struct nfs4r_op *op); /* false: another request for the file is under way. Gives it its number */
bool locks_shares_is_void(struct nfs4r_core *c, const struct opx *o, nfs4r_server_id from, const struct nfs4r_op *answer); /* it has to be asked anew */
void locks_shares_end(struct nfs4r_core *c, const struct opx *o, const struct nfs4r_op *op, enum nfs4r_status st, enum locks_asker who);
/* What authorities have to hear: the next file after @after (NULL: the first) and its request, until NULL. Between run_begin and run_end files stay. */
void locks_shares_run_begin(struct nfs4r_core *c);
struct share_file *locks_shares_run_next(struct nfs4r_core *c, struct share_file *after, struct nfs4r_op *op);
void locks_shares_begin_own(struct nfs4r_core *c, struct share_file *f, const struct opx *o, struct nfs4r_op *op);
void locks_shares_run_end(struct nfs4r_core *c);
void locks_shares_say_denies(struct nfs4r_core *c);
void locks_shares_timers(struct nfs4r_core *c);
void locks_shares_on_msg(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m); /* GUARD, UNGUARD, and their answers */
void locks_shares_committed(struct nfs4r_core *c, const struct nfs4r_entry *e);
void locks_shares_fini(struct nfs4r_core *c);

/* guards.c: of the files that this server is the authority of */
enum locks_outcome locks_shares_request(struct nfs4r_core *c, struct nfs4r_op *op, nfs4r_server_id holder, uint64_t inc);
void locks_guards_timers(struct nfs4r_core *c);
void locks_guards_sweep(struct nfs4r_core *c); /* control may have ended */
void locks_guards_forget(struct nfs4r_core *c, nfs4r_servers removed);
void locks_guards_started(struct nfs4r_core *c, nfs4r_server_id s); /* anew */

#endif
