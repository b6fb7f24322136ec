/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See ports.h. */
#include "lib/ports.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_free(uint16_t port, uint16_t address)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)address - 1) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is;

	if (fd < 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	is = bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 1) == 0;
	close(fd);
	return is;
}

static bool all_free(uint16_t first, uint16_t n, uint16_t addresses)
{
	for (uint16_t i = 0; i < n; i++)
		for (uint16_t address = 1; address <= addresses; address++)
			if (!is_free((uint16_t)(first + i), address))
				return false;
	return true;
}

uint16_t ports_free(uint16_t from, uint16_t span, uint16_t n, uint16_t addresses)
{
	static uint32_t used; /* another one for each set of servers of a process, too */
	uint32_t groups = span / n, begin = (uint32_t)getpid() * 101 + used++;

	for (uint32_t i = 0; i < groups; i++) {
		uint16_t first = (uint16_t)(from + (begin + i * 7) % groups * n);

		if (all_free(first, n, addresses))
			return first;
	}
	return 0;
}
