/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The control socket's own parts, one file each:
 *
 *   ctl.c          socket, threads, who may ask, requests
 *   ctl_json.c     numbers, text of any bytes, refusals and sets of servers as JSON
 *   ctl_report.c   status as JSON
 *   ctl_view.c     the active view's part of it
 *   ctl_seals.c    ends of logs, repairs, the loss window; giving a server up
 *   ctl_servers.c  who the servers are; adding one, taking one out
 *   ctl_keys.c     by which keys they know each other; changing one
 *   ctl_controls.c controls and waiting operations as JSON
 *   ctl_locks.c    byte-range locks of this server's clients as JSON
 *   ctl_paths.c    paths of objects
 *   ctl_stats.c    counters and latencies as JSON
 *   ctl_lag.c      how old is what a peer has not applied. Pure
 *   verify.c       asking side of `verify`: the walk, the peers, the comparison
 *   verify_fix.c   what a repair does with what differs
 *   verify_walk.c  the tree below a directory, one object at a time
 *   verify_sum.c   checksum of one object; serving side
 *   verify_disk.c  names of a directory on the disk and in the store
 *   verify_diff.c  what is said about two copies of an object. Pure
 *
 * What goes over the socket: docs/decisions/0006-control-socket.md.
 */
#ifndef NFS4R_ENGINE_ADMIN_INT_H
#define NFS4R_ENGINE_ADMIN_INT_H

#include <jansson.h>
#include <nettle/sha2.h>
#include <stdio.h>

#include "engine/admin/admin.h"

#define CTL_REQUEST_MAX 65536 /* bytes of one request line */
#define CTL_CONTROLS_MAX 10000 /* rows of one `controls` answer */
#define CTL_LOCKS_MAX 10000 /* rows of one `locks` answer */
#define CTL_WAITING_MAX 1000 /* waiting operations of one `controls` answer */
#define CTL_CLIENTS_MAX 32 /* connections at the same time */
#define CTL_PATH_MAX (64u << 10) /* bytes of a path that is shown or given */

/* ---- ctl_json.c; NULL when out of memory ---- */

json_t *admin_num(uint64_t v); /* below 2^63 */
json_t *admin_json_text(const char *s); /* of a name, or of a line with names in it, as base/text.h writes them */
json_t *admin_error(const char *why); /* {"error": why}: the answer to a request that is refused */
json_t *admin_server_list(nfs4r_servers set); /* their numbers */

/* ---- ctl_lag.c ---- */

#define CTL_LAG_SAMPLES 4096

struct ctl_lag { /* when the end of our log was first seen where; ascending in both */
	uint32_t n;
	struct {
		uint64_t at_ms;
		nfs4r_lsn end;
	} s[CTL_LAG_SAMPLES];
};

/* Note where the log ends now. Call at least every 250 ms. When the ring is full it is thinned out, the more the older. */
void admin_lag_sample(struct ctl_lag *l, uint64_t at_ms, nfs4r_lsn end);
/* Age of the oldest entry after @applied, in ms; 0 if there is none. What is older than the first sample counts from there. */
uint64_t admin_lag_ms(const struct ctl_lag *l, uint64_t at_ms, nfs4r_lsn applied);

/* ---- ctl_report.c, ctl_view.c, ctl_controls.c, ctl_stats.c ---- */

struct ctl_facts { /* what status says; copied under eng->lock */
	struct nfs4r_core_stats core;
	struct nfs4r_core_peer peer[NFS4R_SERVERS_MAX + 1];
	bool known[NFS4R_SERVERS_MAX + 1];
	struct nfs4r_core_view view;
	nfs4r_servers servers;
	struct nfs4r_rpc_servers list;
	uint64_t lease_remaining_ms; /* 0: none */
	nfs4r_lsn end;
	char halted[NFS4R_WHY], starting[NFS4R_WHY];
	enum import_phase import_phase;
	enum nfs4r_status import_st;
	uint64_t import_objects, import_bytes, import_noted[IMPORT_NOTES];
	bool may_finish; /* an upgrade (log 6.16), and the volume would have `finished`; else why not */
	struct nfs4r_volume_settings finished;
	char finish_why[NFS4R_CORE_TEXT];
	struct nfs4r_remarks remarks[NFS4R_SERVERS_MAX + 1]; /* of other servers, as they said last */
	bool ready;
	uint64_t loss_entries, loss_bytes, loss_age_ms; /* own updates that no majority holds */
	struct {
		bool running;
		nfs4r_server_id from;
		const char *phase;
		uint64_t done, all, bytes, since_ms, fetch_ms;
	} repair;
};

json_t *admin_space_json(struct nfs4r_engine *eng); /* takes the lock */
json_t *admin_view_json(const struct nfs4r_engine *eng, const struct ctl_facts *f);
/* Its store is new, or an old one, and it promises nothing. */
bool admin_is_forgetful(const struct ctl_facts *f);
/* "new", "needs full resync", "outside the view", "joining", "no lease", with the reason; NULL: as far as the view is concerned this server serves. */
const char *admin_view_state(const struct nfs4r_engine *eng, const struct ctl_facts *f, char *why, size_t len);

/* How many entries lie between two positions of a log, as far as that can be said across an end of it. Pure. */
uint64_t admin_entries(nfs4r_lsn from, nfs4r_lsn until);
void admin_release(struct nfs4r_engine *eng, nfs4r_server_id s, json_t *row); /* @row gets version, commit, protocol spoken, protocols and disk formats of that server */
void admin_seals_collect(struct nfs4r_engine *eng, struct ctl_facts *f); /* eng->lock held */
json_t *admin_seals_json(const struct nfs4r_engine *eng, const struct ctl_facts *f);
/* The answer to `abandon`; without @sure nothing is changed. */
json_t *admin_abandon(struct nfs4r_engine *eng, json_int_t server, bool sure);

void admin_collect(struct nfs4r_engine *eng, struct ctl_facts *f); /* takes eng->lock for a moment */
/* "serves" is NULL, as for admin_view_state(); @s: another server. "member", "silent", "catching up", ... */
const char *admin_view_other(const struct nfs4r_engine *eng, const struct ctl_facts *f, nfs4r_server_id s);
/* Entries of other servers' logs that were announced and are not applied here. */
uint64_t admin_own_lag(const struct ctl_facts *f);

/* ---- ctl_servers.c: answers to requests of these names ---- */
/* Server @s belongs to the volume. false: @why says so, and who does. eng->lock held */
bool admin_is_server(const struct nfs4r_engine *eng, nfs4r_server_id s, char *why, size_t len);
json_t *admin_servers(struct nfs4r_engine *eng);
json_t *admin_add_server(struct nfs4r_engine *eng, const json_t *req);
json_t *admin_remove_server(struct nfs4r_engine *eng, const json_t *req);
json_t *admin_finish_upgrade(struct nfs4r_engine *eng, const json_t *req);
json_t *admin_settings(struct nfs4r_engine *eng); /* ctl_settings.c */
json_t *admin_set(struct nfs4r_engine *eng, const json_t *req);
json_t *admin_settings_json(const struct nfs4r_engine *eng, const struct nfs4r_volume_keys *has); /* durability 0: as the file has them */
json_t *admin_force_reconfigure(struct nfs4r_engine *eng, const json_t *req);

/* The addresses and keys that this server goes by, as a view keeps them. INVAL: one is too long. eng->lock held */
enum nfs4r_status admin_addresses(const struct nfs4r_engine *eng, struct nfs4r_address *out, uint32_t *n, char *why);

/* ---- ctl_keys.c: the keys by which servers know each other (log 6.18) ---- */
json_t *admin_keys(struct nfs4r_engine *eng);
json_t *admin_set_keys(struct nfs4r_engine *eng, const json_t *req);
/* A list of fingerprints as text; NULL: none. INVAL: @why (NFS4R_WHY bytes) says which is none, or that there are too many. */
enum nfs4r_status admin_keys_of(const json_t *list, struct nfs4r_key_fingerprint out[NFS4R_KEYS_MAX], uint16_t *n, char *why);
/* What a row about a server says of its keys: "keys", and "keys_from" "view", "file" or null. */
json_t *admin_key_facts(const struct nfs4r_engine *eng, const struct ctl_facts *f, const struct nfs4r_endpoint *e);
void admin_add_days(json_t *out, int64_t ends_s); /* "certificate_days" until then, -1: over; 0: nothing, there is no end */
void admin_add_security(const struct nfs4r_engine *eng, json_t *out); /* "security", "accepts", and with tls "certificate", its path */
const char *admin_flavour(enum nfs4r_security flavour); /* its word in the configuration */

/* Each takes eng->lock for a moment only. NULL when out of memory. */
json_t *admin_report_status(struct nfs4r_engine *eng, const struct ctl_lag *lag);
json_t *admin_report_controls(struct nfs4r_engine *eng);
json_t *admin_report_locks(struct nfs4r_engine *eng, const json_t *req);
json_t *admin_locks_json(struct nfs4r_engine *eng); /* how many, for status; null: this server's are not kept here */
json_t *admin_report_stats(struct nfs4r_engine *eng);
json_t *admin_report_journal(struct nfs4r_engine *eng);
json_t *admin_retention_json(struct nfs4r_engine *eng); /* what is kept for servers that are away (ctl_retention.c) */
struct ctl_paths; /* what was found for one answer */
struct ctl_paths *admin_paths_new(struct nfs4r_engine *eng); /* NULL: no memory */
struct nfs4r_engine *admin_paths_engine(const struct ctl_paths *pf);
json_t *admin_path_json(struct ctl_paths *pf, const struct nfs4r_oid *oid); /* null: not found, or too much was looked at. Reads the store */
void admin_paths_free(struct ctl_paths *pf);

/*
 * The latency in ms that @percent (1..100) of those counted do not exceed, as far as buckets can tell: exact below 2 ms, elsewhere
 * read off a straight line through the bucket; never above the longest. 0 when there are none. Pure.
 */
double admin_percentile(const struct nfs4r_core_hist *h, unsigned percent);

/* ---- verify_diff.c ---- */

struct verify_side { /* what one server has of an object */
	enum nfs4r_status status; /* OK; DELAY: it changed meanwhile; UNKNOWN: not there yet; ORPHAN: deleted;
				   * STALE: its file is gone from the exported directory; else what reading it said */
	nfs4r_version version;
	uint64_t bytes; /* size of a file, number of names of a directory */
	uint8_t sum[SHA256_DIGEST_SIZE];
	uint32_t odd; /* names of a directory that lead elsewhere on the disk than in the volume; what clients see is not changed by them */
	struct nfs4r_buf *names; /* some of them, as in nfs4r.x; one reference, or NULL */
};

/* Also one that goes on with the next name of side->names; NULL: no more. *what: in words. */
const char *admin_verify_odd_next(const struct verify_side *side, uint32_t *at, const char **what);
/* Two sides that cannot be read are not equal. */
bool admin_verify_differs(const struct verify_side *here, const struct verify_side *there);
/* "version", "version only" (same sum), "content", "missing there", ...; static. For sides that differ. */
const char *admin_verify_what(const struct verify_side *here, const struct verify_side *there);
/* {"version", "bytes"} or {"problem"}. */
json_t *admin_verify_side_json(const struct verify_side *side);

/* ---- verify_sum.c ---- */

#define VERIFY_PIECE (1u << 20) /* bytes of a file read at once */

enum verify_phase {
	VERIFY_BYTES = 1,
	VERIFY_NAMES,
	VERIFY_DISK,
	VERIFY_OVER
};

struct verify_sum { /* checksum of one object of this server's copy, being made piece by piece */
	struct nfs4r_oid oid;
	enum verify_phase phase;
	struct nfs4r_row row; /* at the beginning */
	struct nfs4r_lhandle h;
	struct sha256_ctx sha;
	uint64_t next; /* offset or cookie */
	struct verify_side side; /* result, when phase is OVER */
};

/* ---- verify_disk.c ---- */

/* The name @d of the directory @dir of the store: does it lead to its object on the disk? If not, that is noted. */
void admin_verify_disk_name(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, const struct nfs4r_lhandle *dirh, const struct nfs4r_dirent *d, struct verify_side *side);
/* All names on the disk that the store does not have are noted. */
enum nfs4r_status admin_verify_disk_rest(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, const struct nfs4r_lhandle *dirh, struct verify_side *side);

/* Row, attributes, link text, extended attributes. Blocks on the local disk. After it, phase is OVER when nothing more is to be read. */
void admin_verify_sum_begin(struct nfs4r_engine *eng, struct verify_sum *s, const struct nfs4r_oid *oid);
/* One piece of at most VERIFY_PIECE bytes or NFS4R_READDIR_MAX names; of the names on the disk all. */
void admin_verify_sum_step(struct nfs4r_engine *eng, struct verify_sum *s);
void admin_verify_sum_end(struct verify_sum *s); /* gives back what it holds */

/* ---- verify_walk.c ---- */

struct verify_walk; /* by the store's names; no lock is held between two calls */

struct verify_found {
	char *path; /* the caller's to free */
	struct nfs4r_oid oid, dir;
	struct nfs4r_name name; /* len 0: where the walk began */
	uint32_t type;
};

/* Resolve @path ("/a/b", names of the volume) and begin there. NULL and a text in @why (>= 200 bytes) if that is not possible. */
struct verify_walk *admin_verify_walk_new(struct nfs4r_engine *eng, const char *path, char *why);
/* false: the end, or out of memory (then *st = NOMEM, else OK). A directory comes before what is in it. */
bool admin_verify_walk_next(struct verify_walk *w, struct verify_found *out, enum nfs4r_status *st);
void admin_verify_walk_free(struct verify_walk *w);

/* ---- verify_fix.c: what a repair does with what differs ---- */

struct fix_job {
	struct nfs4r_oid oid;
	nfs4r_servers from; /* whose copies are right */
	bool content, names; /* the object is gone or wrong here; names of it lead elsewhere on the disk */
	bool gone;
	nfs4r_server_id took; /* out: from whom; 0: only names were wrong */
	char why[300]; /* out: why it could not be mended; empty: it was */
	void *owner;
	struct fix_job *next;
};

/*
 * What is wrong at @self, by the sides of all servers that could be asked (NULL: not asked)? False: nothing that could be mended here; *why, if that is because nobody can tell whose copy is right.
 * @from 0: any. Pure.
 */
bool admin_fix_plan(const struct verify_side *const sides[NFS4R_SERVERS_MAX + 1], nfs4r_server_id self, nfs4r_server_id newest, nfs4r_server_id from, struct fix_job *job,
		    const char **why);
const char *admin_fix_what(const struct fix_job *job); /* in words */

struct fixer; /* some threads that mend */
struct fixer *admin_fixer_new(struct nfs4r_engine *eng); /* NULL: no memory or no thread */
void admin_fixer_put(struct fixer *f, struct fix_job *job); /* NULL: it fails at once */
struct fix_job *admin_fixer_take(struct fixer *f); /* one that is done, or NULL. Never blocks */
void admin_fixer_free(struct fixer *f); /* jobs under way end first */

struct fix_list { /* everything that was done, in a file under the Conflicts directory */
	char path[1200]; /* empty: there is none yet */
	FILE *out;
	bool failed;
};
void admin_fix_list_add(struct fix_list *l, struct nfs4r_engine *eng, const char *what, const char *path, const char *why);
void admin_fix_list_end(struct fix_list *l);

/* ---- verify.c ---- */

struct verify_sink {
	void *arg;
	/* One line for the client; takes the reference. false: the client is gone. Not called under any lock. */
	bool (*emit)(void *arg, json_t *line);
	bool (*cancelled)(void *arg);
};

struct verify_repair { /* make this copy equal, too */
	nfs4r_server_id from; /* the server whose copy is right; 0: the majority's, else that of the server which made the newest version */
	bool dry_run; /* only say what would be done */
};

/* The whole comparison, on the caller's thread; the last line is {"result": ...} or {"error": ...}. @repair NULL: nothing is changed. */
void admin_verify_run(struct nfs4r_engine *eng, const char *path, const struct verify_repair *repair, const struct verify_sink *sink);

#endif
