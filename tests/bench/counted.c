/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "bench/counted.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>

static _Atomic int64_t in_use;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
void __wrap_free(void *p);

static void *counted(void *p)
{
	in_use += (int64_t)malloc_usable_size(p);
	return p;
}

void *__wrap_malloc(size_t n)
{
	return counted(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
	int64_t before = (int64_t)malloc_usable_size(p);
	void *q = __real_realloc(p, n);

	if (q)
		in_use -= before;
	return counted(q);
}

char *__wrap_strdup(const char *s)
{
	return counted(__real_strdup(s));
}

char *__wrap_strndup(const char *s, size_t n)
{
	return counted(__real_strndup(s, n));
}

void __wrap_free(void *p)
{
	in_use -= (int64_t)malloc_usable_size(p);
	__real_free(p);
}

int64_t bench_in_use(void)
{
	return in_use;
}
