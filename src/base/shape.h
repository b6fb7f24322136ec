/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Shapes: which parts belong to an operation, and what values they may have (log 3.14). The decoders of protocol/ ask here, so nobody behind
 * them has to ask again whether a part is there. Pure: any thread, no memory, no I/O.
 *
 * Each function returns NULL when the shape is right, else a static English text that says what is wrong, for a log.
 */
#ifndef NFS4R_BASE_SHAPE_H
#define NFS4R_BASE_SHAPE_H

#include "base/msg.h"

/*
 * An entry as it travels, or as it stands in the journal. A void entry has a part without effect for each object that existed, and nothing else. The payload may be
 * absent (it is read back), never longer than the operation.
 */
const char *nfs4r_shape_of_entry(const struct nfs4r_entry *e);
/* All locks of one file, as entries and copies list them: by first byte, ranges of one owner disjoint. @n: at most NFS4R_LOCKS_LIST_MAX. */
const char *nfs4r_shape_of_locks(const struct nfs4r_file_lock *locks, uint32_t n);
/* A forwarded operation. CLOSE, ADOPT and CLAIM are never forwarded. */
const char *nfs4r_shape_of_request(const struct nfs4r_op *op);
/* The answer to one. */
const char *nfs4r_shape_of_result(const struct nfs4r_op *op);
/* And as the answer to this operation: of its type, and what was made is what was to be made. */
const char *nfs4r_shape_of_result_to(const struct nfs4r_op *asked, const struct nfs4r_op *answer);
/* The answer to a READ, by itself. */
const char *nfs4r_shape_of_answer(const struct nfs4r_read *answer);
/* And as the answer to this question: of its type, no more bytes or names than were asked for, and names that come after the cookie. */
const char *nfs4r_shape_of_answer_to(const struct nfs4r_read *asked, const struct nfs4r_read *answer);
/* The answer to a VERIFY: @names is what nfs4r.x says of it; NULL: none. */
const char *nfs4r_shape_of_odd_names(const struct nfs4r_buf *names);

/*
 * Can an operation of a client of this server become an entry?
 * NFS4R_OK: yes.
 * NFS4R_FBIG: bytes or a size beyond 2^63 - 1, or more bytes than a WRITE has.
 * NFS4R_INVAL: a device number that Linux does not have (major 0..4095, minor 0..1048575); no bytes to allocate; an empty link text; a WRITE or SETXATTR without its
 * buffer. A buffer of no bytes is one. An import takes in what the file has, and needs none.
 * NFS4R_BADTYPE: an object that the operation does not make.
 * NFS4R_ACCES: the caller is in more than NFS4R_GROUPS_MAX groups.
 */
enum nfs4r_status nfs4r_op_fits(const struct nfs4r_op *op);

#endif
