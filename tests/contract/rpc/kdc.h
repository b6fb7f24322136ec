/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A KDC for tests: MIT's own, on a loopback port, with two realms that trust each other, in a directory that goes with it. Nothing of the machine's Kerberos is read
 * or changed. One per process, because its krb5.conf is in the environment.
 */
#ifndef NFS4R_TEST_RPC_KDC_H
#define NFS4R_TEST_RPC_KDC_H

#include <stdbool.h>
#include <stddef.h>

#define KDC_REALM "NFS4R.TEST"
#define KDC_OTHER_REALM "ELSEWHERE.TEST"

/* Both realms, with the principals krbtgt/REALM of the other one; the KDC is not started. Fails the test where the programs are missing. */
void kdc_create(void);
void kdc_destroy(void); /* with a KDC that runs */
/* Answers when it returns. @clock_s: how far its clock is ahead of this machine's; < 0: behind. */
void kdc_start(int clock_s);
void kdc_stop(void);
void kdc_freeze(bool frozen); /* it takes connections, and answers nothing */
/* One order to kadmin.local of @realm, as printf would write it. */
__attribute__((format(printf, 2, 3))) void kdc_admin(const char *realm, const char *fmt, ...);
/* Makes a keytab NAME.keytab in the directory, with the keys that @principal has now. Returns its path in @path. */
void kdc_keytab(const char *realm, const char *principal, const char *name, char *path, size_t size);
const char *kdc_directory(void);

#endif
