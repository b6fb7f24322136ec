/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Bytes that a client or another server chose, in a line for people: a log, a list, the output of nfs4rctl.
 *
 * A name may contain anything but '/' and NUL: a newline forges a line, an escape sequence drives the terminal that shows it, and an
 * override of the writing direction shows another name. Each such byte is written as \ooo, its octal value, as ls(1) -b does: control characters (C0, C1 and
 * DEL), line and paragraph separators, overrides of the direction, and bytes that are no UTF-8. All functions are pure; any thread.
 */
#ifndef NFS4R_BASE_TEXT_H
#define NFS4R_BASE_TEXT_H

#include <stddef.h>

#define NFS4R_TEXT_TIMES 4 /* an escaped text has at most so many times the bytes */

/*
 * The NUL-terminated @in into @out of @size bytes (at least 1), always terminated; what does not fit is cut between two characters. A backslash stays, so
 * that names that were escaped before stay as they are. Returns @out. The two must not overlap.
 */
char *nfs4r_text_line(char *out, size_t size, const char *in);
/* The same, and a backslash becomes \134: two names never look the same. */
char *nfs4r_text_name(char *out, size_t size, const char *in);
/* As nfs4r_text_name() and nfs4r_text_line(), of whatever length; the caller's to free. NULL: no memory. */
char *nfs4r_text_name_new(const char *in);
char *nfs4r_text_line_new(const char *in);

#endif
