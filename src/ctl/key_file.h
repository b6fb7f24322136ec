/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The files with a server's own key and certificate (PEM), for `nfs4rctl key`. All functions block on the disk. @why of each has CTL_WHY bytes and says what to do. */
#ifndef NFS4R_CTL_KEY_FILE_H
#define NFS4R_CTL_KEY_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fingerprint.h"

#define KEY_NEVER INT64_MAX

struct key_files {
	char key[PATH_MAX], certificate[PATH_MAX];
};

/* @prefix with .key and .crt behind it, and @suffix behind that. false: the paths are too long. */
bool key_files_of(struct key_files *f, const char *prefix, const char *suffix);
/* The same two files with @suffix behind them. false: as above. */
bool key_files_with(struct key_files *out, const struct key_files *f, const char *suffix);

/* A new P-256 key of mode 0600, and a certificate that it signs itself and that never ends. Neither file may be there; on failure none is made. */
bool key_files_make(const struct key_files *f, char *why);

struct key_certificate {
	char fingerprint[NFS4R_FINGERPRINT_TEXT];
	bool self_signed;
	int64_t ends_s; /* since 1970; KEY_NEVER: it does not end */
};
/* The first certificate of the file at @path. */
bool key_certificate_read(const char *path, struct key_certificate *out, char *why);
/* Whether the two belong together: the key at f->key is that of the certificate. Needs the right to read both. */
bool key_files_match(const struct key_files *f, char *why);
/* @from takes the place of @to, the key first. Done again after a crash in between, it ends what was begun. */
bool key_files_replace(const struct key_files *from, const struct key_files *to, char *why);

#endif
