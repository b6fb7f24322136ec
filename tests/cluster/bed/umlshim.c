/*
 * Preloaded into User-mode Linux; everything else passes through unchanged.
 *
 * ptrace: on processors with AMX the host takes the XSTATE register set only at its full size, while
 * UML 6.1 has a smaller fixed buffer and panics at once. The shim widens what UML writes, with the
 * components that did not fit masked out of XSTATE_BV.
 *
 * socket: the default buffer of a packet socket (208 KB) loses every burst on a long link.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define NT_XSTATE 0x202
#define LEGACY_SIZE 576		/* legacy area and header */
#define XSTATE_BV_OFFSET 512
#define PACKET_BUFFER (32 << 20)

static char wide[65536] __attribute__((aligned(64)));
static size_t host_size;

static unsigned long components_that_fit(size_t len)
{
	if (len >= 2696)
		return 0x2e7;
	if (len >= 2432)
		return 0xe7;
	return len >= 832 ? 7 : 3;
}

static void learn_host_size(long pid)
{
	struct iovec v = { wide, sizeof(wide) };

	if (!syscall(SYS_ptrace, (long)PTRACE_GETREGSET, pid, (void *)NT_XSTATE, &v))
		host_size = v.iov_len;
	memset(wide, 0, sizeof(wide));
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list ap;

	va_start(ap, request);
	long pid = va_arg(ap, pid_t);
	void *addr = va_arg(ap, void *);
	void *data = va_arg(ap, void *);
	va_end(ap);

	if (request >= PTRACE_PEEKTEXT && request <= PTRACE_PEEKUSER) {
		long value;

		if (syscall(SYS_ptrace, (long)request, pid, addr, &value) < 0)
			return -1;
		errno = 0;
		return value;
	}
	if (request == PTRACE_SETREGSET && (long)addr == NT_XSTATE) {
		struct iovec *io = data;

		if (!host_size)
			learn_host_size(pid);
		if (host_size > io->iov_len && io->iov_len >= LEGACY_SIZE) {
			struct iovec v = { wide, host_size };
			unsigned long *bv = (unsigned long *)(wide + XSTATE_BV_OFFSET);

			memcpy(wide, io->iov_base, io->iov_len);
			*bv &= components_that_fit(io->iov_len);
			return syscall(SYS_ptrace, (long)request, pid, addr, &v);
		}
	}
	return syscall(SYS_ptrace, (long)request, pid, addr, data);
}

int socket(int domain, int type, int protocol)
{
	int fd = syscall(SYS_socket, domain, type, protocol);
	int size = PACKET_BUFFER;

	if (fd >= 0 && domain == AF_PACKET) {
		syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
		syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	}
	return fd;
}
