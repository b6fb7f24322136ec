/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* state/: what every room uses: questions about the state, quorums, the list of actions, stable rows. What it offers to the rooms above it. */
#ifndef NFS4R_CORE_STATE_STATE_H
#define NFS4R_CORE_STATE_STATE_H

#include "core/core_state.h"

/* claims.c: look-ups of claims */
struct claim *state_claim_find(const struct nfs4r_core *c, nfs4r_server_id s, uint64_t seq);
bool state_is_dead_seq(const struct nfs4r_core *c, nfs4r_server_id s, uint64_t seq);
bool state_claim_acked_by_all(const struct nfs4r_core *c, const struct claim *cl);

/* copy_state.c: how good this copy is */
bool state_is_ahead(const struct nfs4r_core *c, nfs4r_server_id log);
bool state_reach_lost(const struct nfs4r_core *c, nfs4r_server_id log);
bool state_needs_repair(const struct nfs4r_core *c, bool *all); /* @all: of everything */
bool state_repair_is_whole(const struct nfs4r_core *c);
nfs4r_lsn state_repair_counts(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn pos);
nfs4r_lsn state_repair_counts_stable(const struct nfs4r_core *c, nfs4r_server_id log);
bool state_is_repairing(const struct nfs4r_core *c);
bool state_self_ended(const struct nfs4r_core *c);
struct fuzzy *state_fuzzy_find(const struct nfs4r_core *c, const struct nfs4r_oid *oid);
nfs4r_lsn state_fuzzy_limit(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn stable);
bool state_fuzzy_allows_more(const struct nfs4r_core *c, nfs4r_server_id log);

/* heap.c */
void heap_in(struct minheap *h, struct heap_item *it, uint64_t key); /* nothing if it is in already */
void heap_out(struct minheap *h, struct heap_item *it); /* nothing if it is in none */
struct heap_item *heap_first(const struct minheap *h); /* the smallest key; NULL: empty */

/* log_ends.c: where logs end */
const struct nfs4r_seal *state_seal_at(const struct nfs4r_view *v, nfs4r_server_id log, nfs4r_lsn pos); /* of the generation of @pos; NULL: it goes on, or it is forgotten */
nfs4r_servers state_seal_logs(const struct nfs4r_view *v);
nfs4r_lsn state_seal_begin(const struct nfs4r_view *v, nfs4r_server_id log); /* position 0 of the newest generation */
bool state_is_sealed_away(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn); /* an entry that never happened */
bool state_is_ended(const struct nfs4r_core *c, nfs4r_server_id log); /* it has a seal that this server has not crossed */
bool state_seals_open(const struct nfs4r_core *c);
nfs4r_lsn state_gen_end(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn pos);
nfs4r_lsn state_seal_limit(const struct nfs4r_core *c, nfs4r_server_id log);
bool state_seal_may_begin(const struct nfs4r_core *c, const struct nfs4r_entry *e);
void state_log_heard(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn); /* somebody has @log up to here */
void state_log_ends(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn); /* nobody is known to have more */
void state_log_want(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn); /* its owner waits for `stable` here */
void state_logs_known(struct nfs4r_core *c, nfs4r_servers logs);
nfs4r_version state_next_version(const struct nfs4r_core *c, nfs4r_version before); /* log 2.3 */

/* memory.c: whose words count, because of what stores remember (log 8.6) */
bool state_memory_known(const struct nfs4r_core *c);
bool state_memory_counts(const struct nfs4r_core *c, nfs4r_server_id s);
bool state_memory_votes(const struct nfs4r_core *c);
bool state_memory_may_send(const struct nfs4r_core *c, nfs4r_server_id s);
bool state_memory_judged(const struct nfs4r_core *c);
bool state_memory_whole(const struct nfs4r_core *c);
bool state_memory_tells_nothing(const struct nfs4r_core *c);
bool state_memory_wants_all(const struct nfs4r_core *c);
enum nfs4r_memory state_memory_said(const struct nfs4r_core *c);
nfs4r_servers state_memory_unheard(const struct nfs4r_core *c);
nfs4r_servers state_memory_unclaimed(const struct nfs4r_core *c);
bool state_memory_claimed(const struct nfs4r_core *c, nfs4r_server_id s, bool *sure);
void state_memory_say(const struct nfs4r_core *c, nfs4r_server_id to, struct nfs4r_msg *m);

/* outbox.c: the list of actions, and stable rows */
void *out_xcalloc(size_t n, size_t size); /* never NULL: without memory no promise can be kept, so it aborts */
void *out_grow(void *v, uint32_t *cap, uint32_t n, size_t size);
void out_act(struct nfs4r_core *c, const struct nfs4r_action *a); /* appends a copy */
void *out_keep(struct nfs4r_core *c, size_t size); /* zeroed memory for what an action points to: until the next step */
struct nfs4r_msg *out_msg(struct nfs4r_core *c, uint32_t type);
void out_send(struct nfs4r_core *c, nfs4r_server_id to, struct nfs4r_msg *m, bool durable);
void out_give(struct nfs4r_core *c, void *p); /* freed at the next step, since actions may point to it */
void out_timer_at(struct nfs4r_core *c, uint64_t t);
void out_row(struct nfs4r_core *c, const struct nfs4r_put *p); /* the PUT; it does not count as something that was written (wrote_ms) */
void out_put(struct nfs4r_core *c, const struct nfs4r_put *p);
void out_commit_put(struct nfs4r_core *c, const struct nfs4r_put *p);
void out_commit_begin(struct nfs4r_core *c);
void out_wrote(struct nfs4r_core *c); /* more than a position of a peer's journal */
void out_begin(struct nfs4r_core *c);
const struct nfs4r_update *out_end(struct nfs4r_core *c);
void out_no_timer(struct nfs4r_core *c); /* all that are needed are set anew */
void out_durable(struct nfs4r_core *c, uint64_t step); /* what steps up to this one put is on disk */
void out_stuck(struct nfs4r_core *c, const char *text);
void out_stuck_again(struct nfs4r_core *c); /* the next text is said, however short ago the last was */
/* What server @from sent is not taken; for the log, "server 2 <text>", once in a while for each server. */
void out_complain(struct nfs4r_core *c, nfs4r_server_id from, const char *text);
void out_halt(struct nfs4r_core *c, const char *text);
void out_servers_text(nfs4r_servers set, char *buf, size_t len); /* "1, 3" */

/* quorum.c: the only place that knows who "all" are */
bool quorum_is(nfs4r_servers set, nfs4r_servers voters);
bool quorum_is_majority(const struct nfs4r_core *c, nfs4r_servers set);
bool quorum_is_all(const struct nfs4r_core *c, nfs4r_servers set);
nfs4r_server_id quorum_away(const struct nfs4r_core *c);
nfs4r_servers quorum_here(const struct nfs4r_core *c);
nfs4r_lsn quorum_applied_by_all(const struct nfs4r_core *c, nfs4r_server_id log);
nfs4r_lsn quorum_applied_by_all_but(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_servers assumed); /* these are taken to have applied it */
nfs4r_lsn quorum_stable_by_all(const struct nfs4r_core *c, nfs4r_server_id log);
nfs4r_lsn quorum_stable_everywhere(const struct nfs4r_core *c, nfs4r_server_id log); /* members or not */

/* rows.c: keys and values of the stable rows */
void row_claim(const struct claim *cl, struct nfs4r_put *p, bool del);
void row_dead(nfs4r_server_id s, uint64_t seq, struct nfs4r_put *p, bool del);
void row_limits(nfs4r_server_id s, const struct nfs4r_limits *l, struct nfs4r_put *p);
void row_floor(nfs4r_server_id s, uint64_t floor, struct nfs4r_put *p);
void row_seq(uint64_t reserved, struct nfs4r_put *p);
void row_reply(const struct reply *r, struct nfs4r_put *p, bool del);
void row_origin(nfs4r_server_id s, const struct origin *o, struct nfs4r_put *p);
void row_reach(const struct reach *r, struct nfs4r_put *p);
void row_fuzzy(const struct fuzzy *t, struct nfs4r_put *p, bool del);
void row_trouble(const struct trouble *t, struct nfs4r_put *p);
void row_monotonic_read(const struct monotonic_read *n, struct nfs4r_put *p, bool del);
void row_view(const struct view *w, struct nfs4r_put *p);
void row_settings(uint64_t view, const struct nfs4r_volume_settings *s, uint32_t longest_ms, bool rehearsed, struct nfs4r_put *p, bool del);
void row_address(uint64_t view, const struct nfs4r_address *a, struct nfs4r_put *p, bool del);
void row_client(const struct client_row *r, struct nfs4r_put *p, bool del);
void row_gap(const struct gap_row *g, struct nfs4r_put *p, bool del);
void row_memory(const struct memory *m, struct nfs4r_put *p);
void row_peer_start(nfs4r_server_id s, const struct start *st, struct nfs4r_put *p);

/* standing.c: what this server is, and which servers count */
bool state_views_on(const struct nfs4r_core *c);
/* What the adopted view says (log 6.17), and before any view says it the configuration. */
uint32_t state_lease_ms(const struct nfs4r_core *c);
uint32_t state_silence_ms(const struct nfs4r_core *c);
uint32_t state_drift_permille(const struct nfs4r_core *c);
uint32_t state_repeat_ms(const struct nfs4r_core *c); /* follows Max_Round_Trip, if the configuration says no other */
enum nfs4r_durability state_durability(const struct nfs4r_core *c);
bool state_ends_logs(const struct nfs4r_core *c); /* of servers that are removed from the view */
bool state_is_member(const struct nfs4r_core *c, nfs4r_server_id s);
bool state_is_learner(const struct nfs4r_core *c, nfs4r_server_id s);
bool state_is_taken_out(const struct nfs4r_core *c);
bool state_views_enough(const struct nfs4r_core *c, nfs4r_servers set);
bool state_lease_valid(const struct nfs4r_core *c);
bool state_view_hears(const struct nfs4r_core *c, nfs4r_server_id s);
bool state_secret_is_used(const struct nfs4r_core *c); /* the volume needs one */
bool state_secret_is(const struct nfs4r_view *v); /* it has one */
bool state_secret_agreed(const struct nfs4r_core *c); /* handles may be given out */
bool state_volume_speaks(const struct nfs4r_core *c, uint32_t protocol); /* what came with it may be said */
bool state_volume_has_format(const struct nfs4r_core *c, uint32_t format); /* what came with it may be written */
bool state_locks_shared(const struct nfs4r_core *c); /* locks hold at all servers (locks.md) */
bool state_trouble_is(const struct nfs4r_core *c);
bool state_can_be_spared(const struct nfs4r_core *c);
bool state_lets_go(const struct nfs4r_core *c); /* of everything: before a stop, or to be removed */
nfs4r_servers state_join_unsure(const struct nfs4r_core *c);
bool state_reconf_reported(const struct nfs4r_core *c);
void state_view_set_ready(struct nfs4r_core *c);
void state_view_check_ready(struct nfs4r_core *c); /* and what waited for it goes on */

/* stats.c: how long things took */
void state_hist_add(struct nfs4r_core_hist *h, uint64_t ms);

/* Of the view that counts here, and of one that may count soon. */
static inline nfs4r_servers servers_of(const struct nfs4r_core *c)
{
	return c->view.adopted.servers | c->view.accepted.servers;
}
#define EACH_SERVER(c, s) EACH_OF(servers_of(c), s)
#define EACH_PEER(c, s)   \
	EACH_SERVER(c, s) \
		if (s != (c)->self)
/* Logs outlive their servers. */
#define EACH_LOG(c, s) EACH_OF((c)->known, s)
#define EACH_OTHER_LOG(c, s) \
	EACH_LOG(c, s)       \
		if (s != (c)->self)
/* Those that "all" is about. */
#define EACH_MEMBER(c, s) \
	EACH_PEER(c, s)   \
		if (state_is_member(c, s))

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

/* All of a hash table whose entries own nothing else. */
#define FREE_TABLE(head)                        \
	do {                                    \
		__typeof__(head) x_, tmp_;      \
		HASH_ITER(hh, head, x_, tmp_) { \
			HASH_DEL(head, x_);     \
			free(x_);               \
		}                               \
	} while (0)

#endif
