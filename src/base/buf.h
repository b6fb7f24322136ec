/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Refcounted byte buffer: file payload on its way through log, transport and disk. Any thread. */
#ifndef NFS4R_BASE_BUF_H
#define NFS4R_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct nfs4r_buf {
	uint32_t refs; /* atomic */
	uint32_t len; /* bytes used; may be lowered by the only holder */
	uint8_t data[];
};

/* New buffer of @len bytes with one reference; NULL when out of memory. */
struct nfs4r_buf *nfs4r_buf_new(uint32_t len);
struct nfs4r_buf *nfs4r_buf_copy(const void *src, uint32_t len);
/* Both accept NULL. get returns its argument. */
struct nfs4r_buf *nfs4r_buf_get(struct nfs4r_buf *b);
void nfs4r_buf_put(struct nfs4r_buf *b);

#endif
