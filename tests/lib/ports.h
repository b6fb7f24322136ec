/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* TCP ports for servers of a test, while other tests run beside it. */
#ifndef NFS4R_TESTS_PORTS_H
#define NFS4R_TESTS_PORTS_H

#include <stdint.h>

/*
 * Below 32768: from there on the kernel gives ports to connections, and may while a server is down. Ranges of their own, so that
 * tests of the transport, which take many at a time, do not meet those of the engine, and nobody takes a port whose KDC is stopped.
 */
#define PORTS_KDC 10000, 2000
#define PORTS_TRANSPORT 12000, 8000
#define PORTS_ENGINE 20000, 12000

/* The first of @n ports in a row, of the @span from @from on, that nobody listens at on 127.0.0.1 to 127.0.0.@addresses. 0: there are none. */
uint16_t ports_free(uint16_t from, uint16_t span, uint16_t n, uint16_t addresses);

#endif
