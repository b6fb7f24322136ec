/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which users the names of Kerberos are, here and at the other servers (docs/decisions/0045-kerberos-for-clients.md).
 *
 * Each server asks its own name service. Where two of them say different things, one person is two users of the volume, or two persons are one. No update can show that: what travels
 * between servers are numbers. So each server notes the names that its clients used and what they became, and tells the others: all of them to a peer that has connected, then what is new or has
 * changed. A name that both have used is compared. Nothing is refused: a name service that is changed at one site after the other, or a list of groups that one server has read an hour ago,
 * differs for a while.
 *
 * A Ganesha worker only notes. The timer's thread sends, and what finds no room in the peer's lane waits for the next turn. A table that is full compares no further names, and says so once.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/text.h"
#include "engine/membership/membership.h"

#define NAMES_MAX 4096 /* that clients of this server used; and as many that only others reported of */

struct name {
	char *text;
	uint64_t serial; /* when its mapping here was last changed; 0: nobody used it here */
	nfs4r_servers known, differs, said; /* others that reported what it is there; where it differs; and where that was logged */
	struct nfs4r_mapping here, there[NFS4R_SERVERS_MAX + 1];
	UT_hash_handle hh; /* those with a serial stand in its order, whatever is between them */
};

struct identities {
	pthread_mutex_t lock; /* of all below; nothing is called under it but the transport */
	struct name *names;
	uint32_t own, foreign; /* with a serial, and without */
	bool full_said;
	uint64_t serial, reported[NFS4R_SERVERS_MAX + 1];
	nfs4r_servers up;
};

struct identities *membership_identities_create(void)
{
	struct identities *ids = calloc(1, sizeof(*ids));

	if (ids)
		pthread_mutex_init(&ids->lock, NULL);
	return ids;
}

void membership_identities_destroy(struct identities *ids)
{
	struct name *n, *next;

	if (!ids)
		return;
	HASH_ITER(hh, ids->names, n, next) {
		HASH_DEL(ids->names, n);
		free(n->text);
		free(n);
	}
	pthread_mutex_destroy(&ids->lock);
	free(ids);
}

static bool same(const struct nfs4r_mapping *a, const struct nfs4r_mapping *b)
{
	return a->mapped == b->mapped && a->uid == b->uid && a->gid == b->gid && a->ngroups == b->ngroups && a->groups == b->groups;
}

/* ---- what is said ---- */

static const char *mapping_text(const struct nfs4r_mapping *m, char *buf, size_t len)
{
	if (m->mapped)
		snprintf(buf, len, "uid %u, gid %u and %u groups", m->uid, m->gid, m->ngroups);
	else
		snprintf(buf, len, "the anonymous user (the name is unknown)");
	return buf;
}

static void difference_text(const struct nfs4r_engine *eng, const struct name *n, nfs4r_server_id peer, char *out, size_t len)
{
	const struct nfs4r_mapping *a = &n->here, *b = &n->there[peer];
	bool others = a->mapped && b->mapped && a->uid == b->uid && a->gid == b->gid && a->ngroups == b->ngroups;
	char name[2 * NFS4R_PRINCIPAL_MAX], here[80], there[80];

	nfs4r_text_line(name, sizeof(name), n->text);
	snprintf(out, len, "%s is %s at server %u, and %s%s at server %u", name, mapping_text(a, here, sizeof(here)), eng->cfg.rpc.self, mapping_text(b, there, sizeof(there)),
		 others ? ", not the same ones," : "", peer);
}

static void say(struct nfs4r_engine *eng, struct name *n, nfs4r_server_id peer)
{
	char text[1024], name[2 * NFS4R_PRINCIPAL_MAX];
	nfs4r_servers bit = NFS4R_BIT(peer);

	if ((n->differs & bit) && !(n->said & bit)) {
		difference_text(eng, n, peer, text, sizeof(text));
		engine_log_often(eng, SAYING_NAMES, peer, NFS4R_LOG_WARN,
				 "volume %s: a name maps differently: %s; make idmapd.conf and the name service (passwd, group, LDAP) say the same on all servers, then restart the server that was wrong", eng->cfg.volume_name, text);
		n->said |= bit;
	} else if (!(n->differs & bit) && (n->said & bit)) {
		engine_log_often(eng, SAYING_NAMES, peer, NFS4R_LOG_INFO, "volume %s: %s is the same user here and at server %u again", eng->cfg.volume_name,
				 nfs4r_text_line(name, sizeof(name), n->text), peer);
		n->said &= ~bit;
	}
}

static void say_full(struct nfs4r_engine *eng, struct identities *ids)
{
	if (!ids->full_said)
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: more than %u names were used: which users further names are is not compared with the other servers until this server is restarted", eng->cfg.volume_name, NAMES_MAX);
	ids->full_said = true;
}

/* ---- names; ids->lock held ---- */

static struct name *add_name(struct identities *ids, const char *text)
{
	struct name *n = calloc(1, sizeof(*n));

	if (!n || !(n->text = strdup(text))) {
		free(n);
		return NULL;
	}
	HASH_ADD_KEYPTR(hh, ids->names, n->text, strlen(n->text), n);
	ids->foreign++;
	return n;
}

static void compare(struct nfs4r_engine *eng, struct name *n, nfs4r_server_id peer)
{
	nfs4r_servers bit = NFS4R_BIT(peer);

	if (n->serial == 0 || !(n->known & bit))
		return;
	n->differs &= ~bit;
	if (!same(&n->here, &n->there[peer]))
		n->differs |= bit;
	say(eng, n, peer);
}

/* It is the last one now. */
static void set_here(struct identities *ids, struct name *n, const struct nfs4r_mapping *to)
{
	if (n->serial == 0) {
		ids->foreign--;
		ids->own++;
	}
	n->serial = ++ids->serial;
	n->here = *to;
	HASH_DEL(ids->names, n);
	HASH_ADD_KEYPTR(hh, ids->names, n->text, strlen(n->text), n);
}

static void note_here(struct nfs4r_engine *eng, struct identities *ids, const struct nfs4r_identity *id)
{
	struct name *n;

	HASH_FIND_STR(ids->names, id->name, n);
	if (n && n->serial && same(&n->here, &id->to))
		return;
	if (!(n && n->serial) && ids->own >= NAMES_MAX) {
		say_full(eng, ids);
		return;
	}
	if (!n)
		n = add_name(ids, id->name);
	if (!n)
		return; /* the next request of that user tries again */
	set_here(ids, n, &id->to);
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		compare(eng, n, s);
}

static void note_there(struct nfs4r_engine *eng, struct identities *ids, nfs4r_server_id peer, const struct nfs4r_identity *id)
{
	struct name *n;

	HASH_FIND_STR(ids->names, id->name, n);
	if (!n && ids->foreign < NAMES_MAX)
		n = add_name(ids, id->name);
	if (!n)
		return;
	n->known |= NFS4R_BIT(peer);
	n->there[peer] = id->to;
	compare(eng, n, peer);
}

/* ---- the door ---- */

void nfs4r_identity_used(struct nfs4r_engine *eng, const struct nfs4r_identity *id)
{
	struct identities *ids = eng->membership.identities;

	pthread_mutex_lock(&ids->lock);
	note_here(eng, ids, id);
	pthread_mutex_unlock(&ids->lock);
}

void membership_identities_heard(struct nfs4r_engine *eng, nfs4r_server_id peer, const struct nfs4r_msg *m)
{
	struct identities *ids = eng->membership.identities;

	pthread_mutex_lock(&ids->lock);
	for (uint32_t i = 0; i < m->identities.n; i++)
		note_there(eng, ids, peer, &m->identities.list[i]);
	pthread_mutex_unlock(&ids->lock);
}

/* What it said before its connection was lost may be of an earlier start of it. */
void membership_identities_connected(struct nfs4r_engine *eng, nfs4r_server_id peer, bool is)
{
	struct identities *ids = eng->membership.identities;
	nfs4r_servers bit = NFS4R_BIT(peer);

	pthread_mutex_lock(&ids->lock);
	ids->reported[peer] = 0;
	ids->up &= ~bit;
	if (is) {
		ids->up |= bit;
		for (struct name *n = ids->names; n; n = n->hh.next) {
			n->known &= ~bit;
			n->differs &= ~bit;
		}
	}
	pthread_mutex_unlock(&ids->lock);
}

/* As much as its lane takes. */
static void tell(struct nfs4r_engine *eng, struct identities *ids, nfs4r_server_id peer, struct nfs4r_msg *m)
{
	m->identities.n = 0;
	for (struct name *n = ids->names; n; n = n->hh.next) {
		struct nfs4r_identity *id = &m->identities.list[m->identities.n];

		if (n->serial <= ids->reported[peer])
			continue;
		memset(id, 0, sizeof(*id));
		snprintf(id->name, sizeof(id->name), "%s", n->text);
		id->to = n->here;
		if (++m->identities.n < NFS4R_IDENTITIES_MAX && n->serial < ids->serial)
			continue;
		if (nfs4r_rpc_send(eng->rpc, peer, NFS4R_LANE_CONTROL, m) != NFS4R_OK)
			return;
		ids->reported[peer] = n->serial;
		m->identities.n = 0;
	}
}

void membership_identities_tell(struct nfs4r_engine *eng)
{
	struct identities *ids = eng->membership.identities;
	struct nfs4r_msg *m = NULL;

	pthread_mutex_lock(&ids->lock);
	EACH_OF(ids->up, s) {
		if (ids->reported[s] == ids->serial)
			continue;
		if (!m && !(m = calloc(1, sizeof(*m))))
			break;
		m->type = NFS4R_MSG_IDENTITIES;
		tell(eng, ids, s, m);
	}
	pthread_mutex_unlock(&ids->lock);
	free(m);
}

void membership_identities_differ(struct nfs4r_engine *eng, nfs4r_server_id peer, char *text, size_t len)
{
	struct identities *ids = eng->membership.identities;
	const struct name *first = NULL;
	uint32_t n = 0;
	size_t used;

	text[0] = '\0';
	pthread_mutex_lock(&ids->lock);
	for (const struct name *at = ids->names; at; at = at->hh.next) {
		if (!(at->differs & NFS4R_BIT(peer)))
			continue;
		first = first ? first : at;
		n++;
	}
	if (first)
		difference_text(eng, first, peer, text, len);
	pthread_mutex_unlock(&ids->lock);
	used = strlen(text);
	if (n > 1)
		snprintf(text + used, len - used, ", and %u more names differ", n - 1);
}
