/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What fuzz_config.c needs of the transport and of nfs4rctl, whose headers do not go with Ganesha's. */
#ifndef NFS4R_TESTS_FUZZ_CTL_WORDS_H
#define NFS4R_TESTS_FUZZ_CTL_WORDS_H

#include <stdbool.h>

struct nfs4r_endpoint;

void fuzz_ctl_words(bool reconfigure, char *words); /* changes @words */
void fuzz_address(const struct nfs4r_endpoint *e); /* a numeric one is resolved, compared and shown */

#endif
