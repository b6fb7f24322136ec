/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Entries that cannot be applied here, and that need not be, since a later entry undoes them (log 4.13).
 *
 * Happy path: a file became too large for this server's file system, and was removed or cut later. This server has received the later entry, which waits behind
 * the one that fails. So it passes over what fails: the part counts as applied, and nothing is done for it. The copy is then not what its version says, exactly as if bytes had been
 * read back late (log 3.6), and is treated so: it is not exact until the later entry is here, too, and nothing of it is stable before that.
 *
 * A new object cannot be passed over, for entries that follow may use it. It is made in the hidden directory, without its name, when a later
 * entry removes it or moves it elsewhere; in the same way an object is put aside whose move fails.
 *
 * Failure modes: the later entry is given up by a seal: the object is inexact, and is taken from another server (log 7.5). It has not been received yet: then the entry is
 * tried again every second, and looked at again each time.
 *
 * Invariants: only a server in trouble passes over anything, so nobody reads the copy meanwhile but by what other servers control.
 */
#include <string.h>

#include "core/log/log_int.h"

/* Does @k leave nothing of what @p does to the same object? */
static bool undoes(const struct nfs4r_part *k, const struct nfs4r_part *p)
{
	if (k->effect == NFS4R_EFF_LINKS && !k->nlink)
		return true;
	switch (p->effect) {
	case NFS4R_EFF_WRITE:
	case NFS4R_EFF_ALLOC:
		return k->effect == NFS4R_EFF_ATTRS && k->attrs.mask & NFS4R_ATTR_SIZE && k->attrs.size <= p->off;
	case NFS4R_EFF_ATTRS:
		return k->effect == NFS4R_EFF_ATTRS && !(p->attrs.mask & ~k->attrs.mask);
	case NFS4R_EFF_XATTR:
		return k->effect == NFS4R_EFF_XATTR && p->xname && k->xname && strcmp(p->xname, k->xname) == 0;
	case NFS4R_EFF_CREATE:
	case NFS4R_EFF_PARENT:
		return k->effect == NFS4R_EFF_PARENT;
	default:
		return false;
	}
}

/* The first entry that does, of those that are received and come after it. */
static const struct nfs4r_entry *undone_by(const struct nfs4r_core *c, const struct pend *p, uint32_t i)
{
	const struct nfs4r_part *part = &p->entry->parts[i], *k;
	const struct pref *r;

	EACH_LOG(c, s)
		DL_FOREACH(p->pref[i].q->fifo[s], r) {
			k = nfs4r_entry_part(r->pend->entry, &part->oid);
			if (r->pend != p && k->before >= part->after && undoes(k, part))
				return r->pend->entry;
		}
	return NULL;
}

static bool is_content(uint32_t effect)
{
	return effect == NFS4R_EFF_WRITE || effect == NFS4R_EFF_ALLOC || effect == NFS4R_EFF_ATTRS || effect == NFS4R_EFF_XATTR;
}

/* One after the other of a file that goes: the first was tried, the others need not be. */
static bool was_passed(const struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_entry *by)
{
	const struct fuzzy *t = state_fuzzy_find(c, oid);

	return t && t->passed && t->state == FUZZY_OPEN && t->until[by->log] == by->lsn;
}

/* A link that fails is not made: its name goes before its object does. */
static bool passes_link(const struct nfs4r_core *c, const struct pend *p, uint32_t mask)
{
	const struct nfs4r_entry *e = p->entry;

	for (uint32_t i = 0; i < e->nparts; i++)
		if (mask & 1u << i && e->parts[i].effect == NFS4R_EFF_LINKS && e->op == NFS4R_OP_LINK && undone_by(c, p, i))
			return true;
	return false;
}

/* It failed, and this server is in trouble. */
static bool is_failing(const struct nfs4r_core *c, const struct pend *p)
{
	return p->failed_ms && state_trouble_is(c);
}

/* A rename in place of something: that has to go, too. */
static bool replaces(const struct pend *p, uint32_t mask)
{
	for (uint32_t i = 0; i < p->entry->nparts; i++)
		if (mask & 1u << i && p->entry->parts[i].effect == NFS4R_EFF_LINKS)
			return true;
	return false;
}

uint32_t log_moot_parts(struct nfs4r_core *c, struct pend *p, uint32_t mask)
{
	const struct nfs4r_entry *by;
	uint32_t moot = 0;

	p->aside = false;
	if (!p->failed_ms && !c->log.npassed)
		return 0;
	if (is_failing(c, p) && passes_link(c, p, mask))
		return mask;
	for (uint32_t i = 0; i < p->entry->nparts; i++) {
		uint32_t effect = p->entry->parts[i].effect;

		if (!(mask & 1u << i) || !(by = undone_by(c, p, i)))
			continue;
		if (is_content(effect) && (is_failing(c, p) || was_passed(c, &p->entry->parts[i].oid, by))) {
			p->by[i] = by;
			moot |= 1u << i;
		} else if (is_failing(c, p) && !replaces(p, mask) && (effect == NFS4R_EFF_CREATE || effect == NFS4R_EFF_PARENT)) {
			p->aside = true;
		}
	}
	return moot;
}

/* In its commit: what was passed over is not exact before the entry is here that undoes it. */
void log_moot_commit(struct nfs4r_core *c, struct pend *p)
{
	for (uint32_t i = 0; i < p->entry->nparts; i++) {
		if (!p->by[i])
			continue;
		log_fuzzy_passed(c, p->entry, i, p->by[i]);
		c->st.entries_passed++;
	}
}
