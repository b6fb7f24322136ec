/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "base/said.h"

#include "base/fnv.h"

bool nfs4r_said_may(struct nfs4r_said *s, uint64_t now_ms, uint32_t max, uint64_t *more)
{
	if (!s->lines || now_ms - s->begun_ms >= NFS4R_SAID_INTERVAL_MS) {
		s->begun_ms = now_ms;
		s->lines = 0;
	}
	if (s->lines >= max) {
		s->more++;
		return false;
	}
	s->lines++;
	*more = s->more;
	s->more = 0;
	return true;
}

uint64_t nfs4r_said_key(const char *text)
{
	uint64_t h = NFS4R_FNV_BEGIN;

	for (; *text; text++)
		if (*text < '0' || *text > '9')
			h = nfs4r_fnv(h, text, 1);
	return h;
}
