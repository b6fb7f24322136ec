/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Steps that many tests of the engine make; what does not come out as it should fails the test. */
#ifndef NFS4R_TESTS_STEPS_H
#define NFS4R_TESTS_STEPS_H

#include "cluster.h"
#include "core/core.h"

struct nfs4r_oid make(struct site *s, uint32_t type, const struct nfs4r_oid *dir, const char *name);
/* A file with these bytes; it is not closed. */
struct nfs4r_oid make_file(struct site *s, const struct nfs4r_oid *dir, const char *name, const char *text);
void write_text(struct site *s, const struct nfs4r_oid *f, const char *text);
void expect_content(struct site *s, const struct nfs4r_oid *f, const char *want);
/* Each server of @c makes a file of that name and its number, commits and closes it, and all read it. */
void each_makes_a_file(struct cluster *c, const char *name);

/* What a shell says on standard output. */
void shell(char *out, size_t len, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void expect_shell(const char *want, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void get_view(struct site *s, struct nfs4r_core_view *v);
/* Until all are members and serve. */
void wait_all_serve(struct cluster *c);
/* An administrator finishes the upgrade, and all servers go by it. All of the cluster's first ones run. */
void finish_upgrade(struct cluster *c);
/* A file of one byte in the root, made and controlled at @id, that all of the cluster's first servers have. */
struct nfs4r_oid file_at(struct cluster *c, int id, const char *name);
/* Until server @s goes by a view that ended the log of @who. */
void wait_sealed(struct site *s, nfs4r_server_id who);
/* Until so many tasks wait for an executor. */
void wait_queued(struct nfs4r_engine *eng, size_t n);

#endif
