/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Preloaded into User-mode Linux; everything else passes through unchanged.
 *
 * ptrace: on processors with AMX the host takes the XSTATE register set only at its full size, while
 * UML 6.1 has a smaller fixed buffer and panics at once. The shim widens what UML writes, with the
 * components that did not fit masked out of XSTATE_BV.
 *
 * socket: the default buffer of a packet socket (208 KB) loses every burst on a long link.
 *
 * sigaction, sigsuspend, epoll_wait: two ways in which a guest misses a frame until its next timer or the sender's
 * next try, 10 to 15 ms (one in 33 creates of a burst, a quarter of its time). UML 6.1 goes idle by sigsuspend with its
 * interrupts off and does not look whether a SIGIO came meanwhile: here such a SIGIO ends the sleep before it begins.
 * And the host sends SIGIO for a tap device before poll shows the frame, so a guest that is quick finds nothing: here a
 * look that follows a SIGIO and finds nothing goes on for some microseconds.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define NT_XSTATE 0x202
#define LEGACY_SIZE 576 /* legacy area and header */
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

#define SET_BYTES (_NSIG / 8) /* what the kernel takes for a set of signals */
#define LOOK_NS 50000 /* a frame shows so long after its signal, at most */

static void (*on_input)(int, siginfo_t *, void *);
static volatile sig_atomic_t came_awake; /* a SIGIO since the guest was last about to sleep */
static volatile sig_atomic_t came_unseen; /* a SIGIO since the guest last looked what there is */

static void note_input(int sig, siginfo_t *info, void *context)
{
	came_awake = came_unseen = 1;
	on_input(sig, info, context);
}

/* UML sees its own handler: it reads what it has set, changes it, and puts it back. */
int sigaction(int sig, const struct sigaction *new, struct sigaction *old)
{
	static int (*real)(int, const struct sigaction *, struct sigaction *);
	void (*before)(int, siginfo_t *, void *) = on_input;
	struct sigaction noting;

	if (!real)
		real = dlsym(RTLD_NEXT, "sigaction");
	if (sig == SIGIO && new && (new->sa_flags &SA_SIGINFO)) {
		on_input = new->sa_sigaction;
		noting = *new;
		noting.sa_sigaction = note_input;
		new = &noting;
	}
	int rc = real(sig, new, old);

	if (old && old->sa_sigaction == note_input)
		old->sa_sigaction = before;
	return rc;
}

/* Returns after one signal, as sigsuspend does, or at once when a SIGIO came since the last call. */
int sigsuspend(const sigset_t *mask)
{
	sigset_t input, before;

	sigemptyset(&input);
	sigaddset(&input, SIGIO);
	sigprocmask(SIG_BLOCK, &input, &before); /* from here on it ends the sleep */
	if (!came_awake)
		syscall(SYS_rt_sigsuspend, mask, SET_BYTES);
	came_awake = 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = EINTR;
	return -1;
}

static long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* A timeout of 0 lasts up to LOOK_NS when it is the first look since a SIGIO. */
int epoll_wait(int fd, struct epoll_event *events, int most, int timeout)
{
	static int (*real)(int, struct epoll_event *, int, int);

	if (!real)
		real = dlsym(RTLD_NEXT, "epoll_wait");
	int unseen = came_unseen;

	came_unseen = 0;
	int n = real(fd, events, most, timeout);

	if (n == 0 && timeout == 0 && unseen)
		for (long end = now_ns() + LOOK_NS; n == 0 && now_ns() < end;)
			n = real(fd, events, most, 0);
	return n;
}
