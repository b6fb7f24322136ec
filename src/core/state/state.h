/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* state/: what every room uses: questions about the state, quorums, the list of actions, stable rows. What it offers to the rooms above it. */
#ifndef NFS4R_CORE_STATE_STATE_H
#define NFS4R_CORE_STATE_STATE_H

#include "core/core_state.h"

/* claims.c: look-ups of claims */
struct claim *claim_find(const struct nfs4r_core *c, nfs4r_server_id s, uint64_t seq);
bool is_dead_seq(const struct nfs4r_core *c, nfs4r_server_id s, uint64_t seq);
bool claim_acked_by_all(const struct nfs4r_core *c, const struct claim *cl);

/* copy_state.c: how good this copy is */
bool is_ahead(const struct nfs4r_core *c, nfs4r_server_id log);
bool reach_lost(const struct nfs4r_core *c, nfs4r_server_id log);
bool needs_repair(const struct nfs4r_core *c, bool *all); /* @all: of everything */
bool repair_is_whole(const struct nfs4r_core *c);
nfs4r_lsn repair_counts(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn pos);
nfs4r_lsn repair_counts_stable(const struct nfs4r_core *c, nfs4r_server_id log);
bool is_repairing(const struct nfs4r_core *c);
bool self_ended(const struct nfs4r_core *c);
struct taint *taint_find(const struct nfs4r_core *c, const struct nfs4r_oid *oid);
nfs4r_lsn taint_limit(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn stable);
bool taint_allows_more(const struct nfs4r_core *c, nfs4r_server_id log);

/* heap.c */
void heap_in(struct minheap *h, struct heap_item *it, uint64_t key); /* nothing if it is in already */
void heap_out(struct minheap *h, struct heap_item *it);		     /* nothing if it is in none */
struct heap_item *heap_first(const struct minheap *h);		     /* the smallest key; NULL: empty */

/* log_ends.c: where logs end */
const struct nfs4r_seal *seal_at(const struct nfs4r_view *v, nfs4r_server_id log, nfs4r_lsn pos); /* of the generation of @pos; NULL: it goes on, or it is forgotten */
nfs4r_servers seal_logs(const struct nfs4r_view *v);
nfs4r_lsn seal_begin(const struct nfs4r_view *v, nfs4r_server_id log); /* position 0 of the newest generation */
bool is_sealed_away(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn); /* an entry that never happened */
bool is_ended(const struct nfs4r_core *c, nfs4r_server_id log); /* it has a seal that this server has not crossed */
bool seals_open(const struct nfs4r_core *c);
nfs4r_lsn gen_end(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn pos);
nfs4r_lsn seal_limit(const struct nfs4r_core *c, nfs4r_server_id log);
bool seal_may_begin(const struct nfs4r_core *c, const struct nfs4r_entry *e);
nfs4r_version next_version(const struct nfs4r_core *c, nfs4r_version before); /* log 2.3 */

/* memory.c: whose words count, because of what stores remember (log 8.6) */
bool memory_known(const struct nfs4r_core *c);
bool memory_counts(const struct nfs4r_core *c, nfs4r_server_id s);
bool memory_votes(const struct nfs4r_core *c);
bool memory_may_send(const struct nfs4r_core *c, nfs4r_server_id s);
bool memory_judged(const struct nfs4r_core *c);
bool memory_whole(const struct nfs4r_core *c);
bool memory_tells_nothing(const struct nfs4r_core *c);
bool memory_wants_all(const struct nfs4r_core *c);
enum nfs4r_memory memory_said(const struct nfs4r_core *c);
nfs4r_servers memory_unheard(const struct nfs4r_core *c);
nfs4r_servers memory_unclaimed(const struct nfs4r_core *c);
bool memory_claimed(const struct nfs4r_core *c, nfs4r_server_id s, bool *sure);
void memory_say(const struct nfs4r_core *c, nfs4r_server_id to, struct nfs4r_msg *m);

/* outbox.c: the list of actions, and stable rows */
void *xcalloc(size_t n, size_t size); /* never NULL: without memory no promise can be kept, so it aborts */
void *grow(void *v, uint32_t *cap, uint32_t n, size_t size);
struct nfs4r_action *act(struct nfs4r_core *c, uint32_t type);
struct nfs4r_msg *msg_new(struct nfs4r_core *c, uint32_t type);
void send_to(struct nfs4r_core *c, nfs4r_server_id to, struct nfs4r_msg *m, bool durable);
void timer_at(struct nfs4r_core *c, uint64_t t);
void act_put(struct nfs4r_core *c, const struct nfs4r_put *p);
void commit_put(struct nfs4r_core *c, const struct nfs4r_put *p);
void update_begin(struct nfs4r_core *c);
void stuck(struct nfs4r_core *c, const char *text);
/* What server @from sent is not taken; for the log, "server 2 <text>", once in a while for each server. */
void complain(struct nfs4r_core *c, nfs4r_server_id from, const char *text);
void halt(struct nfs4r_core *c, const char *text);
void servers_text(nfs4r_servers set, char *buf, size_t len); /* "1, 3" */

/* peers.c: what is known of a server */
void peer_forget(struct nfs4r_core *c, nfs4r_server_id s); /* what an older start of it had reported */

/* quorum.c: the only place that knows who "all" are */
bool is_quorum(nfs4r_servers set, nfs4r_servers voters);
bool is_majority(const struct nfs4r_core *c, nfs4r_servers set);
bool is_all(const struct nfs4r_core *c, nfs4r_servers set);
nfs4r_server_id who_is_away(const struct nfs4r_core *c);
nfs4r_servers who_is_here(const struct nfs4r_core *c);
nfs4r_lsn applied_by_all(const struct nfs4r_core *c, nfs4r_server_id log);
nfs4r_lsn stable_by_all(const struct nfs4r_core *c, nfs4r_server_id log);
nfs4r_lsn stable_everywhere(const struct nfs4r_core *c, nfs4r_server_id log); /* members or not */

/* rows.c: keys and values of the stable rows */
void row_claim(const struct claim *cl, struct nfs4r_put *p, bool del);
void row_dead(nfs4r_server_id s, uint64_t seq, struct nfs4r_put *p, bool del);
void row_limits(nfs4r_server_id s, const struct nfs4r_limits *l, struct nfs4r_put *p);
void row_floor(nfs4r_server_id s, uint64_t floor, struct nfs4r_put *p);
void row_seq(uint64_t reserved, struct nfs4r_put *p);
void row_reply(const struct reply *r, struct nfs4r_put *p, bool del);
void row_origin(nfs4r_server_id s, const struct origin *o, struct nfs4r_put *p);
void row_reach(const struct reach *r, struct nfs4r_put *p);
void row_taint(const struct taint *t, struct nfs4r_put *p, bool del);
void row_trouble(const struct trouble *t, struct nfs4r_put *p);
void row_told(const struct told *n, struct nfs4r_put *p, bool del);
void row_view(const struct view *w, struct nfs4r_put *p);
void row_address(uint64_t view, const struct nfs4r_address *a, struct nfs4r_put *p, bool del);
void row_memory(const struct memory *m, struct nfs4r_put *p);
void row_peer_start(nfs4r_server_id s, const struct start *st, struct nfs4r_put *p);

/* standing.c: what this server is, and which servers count */
bool views_on(const struct nfs4r_core *c);
bool is_member(const struct nfs4r_core *c, nfs4r_server_id s);
bool is_learner(const struct nfs4r_core *c, nfs4r_server_id s);
bool is_taken_out(const struct nfs4r_core *c);
bool views_enough(const struct nfs4r_core *c, nfs4r_servers set);
bool lease_valid(const struct nfs4r_core *c);
bool view_hears(const struct nfs4r_core *c, nfs4r_server_id s);
bool secret_is_used(const struct nfs4r_core *c);   /* the volume needs one */
bool secret_is(const struct nfs4r_view *v);	    /* it has one */
bool secret_settled(const struct nfs4r_core *c);    /* handles may be given out */
bool trouble_is(const struct nfs4r_core *c);
bool can_be_spared(const struct nfs4r_core *c);
bool lets_go(const struct nfs4r_core *c); /* of everything: before a stop, or to be removed */
nfs4r_servers join_unsure(const struct nfs4r_core *c);
bool reconf_said(const struct nfs4r_core *c);
void view_set_ready(struct nfs4r_core *c);
void view_check_ready(struct nfs4r_core *c); /* and what waited for it goes on */

/* stats.c: how long things took */
void hist_add(struct nfs4r_core_hist *h, uint64_t ms);

/* Of the view that counts here, and of one that may count soon. */
static inline nfs4r_servers servers_of(const struct nfs4r_core *c)
{
	return c->view.adopted.servers | c->view.accepted.servers;
}
#define EACH_SERVER(c, s) EACH_OF(servers_of(c), s)
#define EACH_PEER(c, s) EACH_SERVER(c, s) if (s != (c)->self)
/* Logs outlive their servers. */
#define EACH_LOG(c, s) EACH_OF((c)->known, s)
#define EACH_OTHER_LOG(c, s) EACH_LOG(c, s) if (s != (c)->self)
/* Those that "all" is about. */
#define EACH_MEMBER(c, s) EACH_PEER(c, s) if (is_member(c, s))

static inline bool has_peers(const struct nfs4r_core *c)
{
	return servers_of(c) & ~NFS4R_BIT(c->self);
}

static inline bool not_recovered(const struct nfs4r_core *c)
{
	return c->recovering || c->undecided;
}

static inline bool not_ready(const struct nfs4r_core *c)
{
	return not_recovered(c) || !c->view.ready;
}

#endif
