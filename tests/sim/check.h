/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The checkers, check_*.c; the last part of sim.h. */
#ifndef NFS4R_TESTS_SIM_CHECK_H
#define NFS4R_TESTS_SIM_CHECK_H

/* check_entries.c: the truth about objects, and everything that is held against it */
void check_started(struct server *v, const struct nfs4r_op *op, const struct nfs4r_entry *e);
void check_commit(struct server *v, const struct nfs4r_entry *e, bool own);
void check_crashed(struct server *v, nfs4r_lsn have); /* own entries above @have are in doubt */
void check_recovered(struct server *v, nfs4r_lsn end);
void truth_sealed(struct sim *s, uint32_t ent); /* it never happened */
void truth_again(struct sim *s); /* the oracle without it */
struct ent *ent_find(struct sim *s, nfs4r_server_id log, nfs4r_lsn lsn);
struct version_seen *version_find(struct sim *s, uint32_t obj, nfs4r_version v);
nfs4r_version obj_head(const struct sim *s, uint32_t obj);
nfs4r_version obj_completed(const struct sim *s, uint32_t obj);
/* check_names.c: names mean what was resolved */
void check_names_started(struct server *v, const struct nfs4r_op *op, const struct nfs4r_entry *e);
/* Was the name there (or not there) in some version of @dir from @since on? */
bool name_was(struct sim *s, uint32_t dir, uint16_t name, bool there, nfs4r_version since);
/* check_answers.c: what clients are told */
void check_submitted(struct server *v, struct simop *so);
void check_done(struct server *v, const struct simop *so);
struct read_want {
	uint32_t obj, taken_back;
	nfs4r_version version, told; /* completed; told here before */
};
void check_read_start(struct server *v, uint32_t obj, struct read_want *w);
void check_read_end(struct server *v, const struct read_want *w, const struct nfs4r_read *r, nfs4r_server_id answered);
/* check_control.c */
void check_controls(struct sim *s);
void check_core(struct server *v);
void check_control_gone(struct server *v, const struct nfs4r_oid *oid);
bool acting_cover(struct server *v, uint32_t obj);
/* check_policy.c */
void policy_count(struct server *v); /* what its core did so far, before it is gone */
void policy_print(const struct totals *t);
const char *policy_never(const struct totals *t); /* what of all that did not happen, or NULL */
void check_tick(struct server *v);
void check_idle(struct sim *s, bool idle);
void check_elections(struct sim *s);
/* check_views.c */
void check_view(struct server *v); /* after each of its steps */
void check_view_sent(struct server *v, const struct nfs4r_msg *m);
void check_view_answer(struct server *v, const struct nfs4r_op *op);
void check_adopted(struct server *v); /* after a step, before its actions are carried out */
void check_late(struct sim *s, struct server *v);
const struct nfs4r_view *view_find(struct sim *s, uint64_t num); /* NULL: nobody accepted it */
nfs4r_servers view_members(const struct server *v); /* of the view it has adopted */
bool views_quiet(struct sim *s, char *why, size_t len);
void views_print(const struct totals *t);
const char *views_never(const struct totals *t); /* what of all that did not happen, or NULL */
/* check_seals.c */
void check_seals_inherited(struct server *v, const struct nfs4r_view *base, const struct nfs4r_view *w);
void check_seals_adopted(struct server *v, const struct nfs4r_view *w); /* the first time that anybody does */
void check_sealed(struct server *v, nfs4r_server_id log, nfs4r_lsn seal); /* it crosses */
void check_repair(struct server *v, const struct nfs4r_act_repair *a);
void check_repaired(struct server *v);
void check_serves(struct server *v); /* it has a lease */
nfs4r_lsn seal_within(const struct server *v, nfs4r_server_id log, nfs4r_lsn lsn); /* no further than the seal of its generation, if that is crossed */
bool sealed_out(const struct server *v); /* its log ended in an adopted view, and its own copy does not know it yet */
struct version_seen *dead_find(struct sim *s, uint32_t obj, nfs4r_version v); /* sealed away */
bool was_sealed_away(struct sim *s, uint32_t obj, nfs4r_version v, uint64_t view); /* in a view up to @view */
void seals_print(const struct totals *t);
const char *seals_never(const struct totals *t); /* what of all that did not happen, or NULL */
/* check_promises.c */
void check_promised(struct server *v, const struct nfs4r_op *op, uint32_t ent);
void check_client_held(struct server *v, const uint64_t id[2], bool gone);
void check_held(struct server *v, uint32_t obj, nfs4r_lsn until); /* a COMMIT is answered: every own WRITE of it up to there */
void check_answered(struct server *v, const struct nfs4r_op *op); /* to another server */
uint32_t durability_of(const struct server *v); /* by the view that it has adopted */
bool view_ends(const struct sim *s, const struct nfs4r_view *w); /* the logs of servers that are removed from it */
void check_wrote(struct client *c, const struct nfs4r_op *op, uint32_t ent);
void check_committed(struct client *c, uint32_t obj, const struct verifier *w);
uint32_t ent_index(struct sim *s, const struct ent *t);
/* check_end.c */
bool check_quiet(struct sim *s, char *why, size_t len);
void check_equal(struct sim *s);

#endif
