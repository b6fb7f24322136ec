/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Refcounted buffers. The count is atomic, the bytes are whoever's turn it is. */
#include "base/buf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct nfs4r_buf *nfs4r_buf_new(uint32_t len)
{
	struct nfs4r_buf *b = malloc(sizeof(*b) + len);

	if (b) {
		b->refs = 1;
		b->len = len;
	}
	return b;
}

struct nfs4r_buf *nfs4r_buf_copy(const void *src, uint32_t len)
{
	struct nfs4r_buf *b = nfs4r_buf_new(len);

	if (b && len)
		memcpy(b->data, src, len);
	return b;
}

struct nfs4r_buf *nfs4r_buf_get(struct nfs4r_buf *b)
{
	if (b) {
		uint32_t before = __atomic_fetch_add(&b->refs, 1, __ATOMIC_RELAXED);

		assert(before > 0);
	}
	return b;
}

void nfs4r_buf_put(struct nfs4r_buf *b)
{
	uint32_t before = b ? __atomic_fetch_sub(&b->refs, 1, __ATOMIC_ACQ_REL) : 0;

	assert(!b || before > 0);
	if (before == 1)
		free(b);
}
