/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* cmocka.h, and what it wants included before it. */
#ifndef NFS4R_TESTS_UNIT_H
#define NFS4R_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
