/* SPDX-License-Identifier: Apache-2.0 */
/* Counts calls of the C library's heap and locks while `interposed.on`. To be included by one file of a program. Under the
 * sanitizers, which replace the heap themselves, nothing is counted and INTERPOSED is 0. _GNU_SOURCE is needed. */
#ifndef KN_TESTS_INTERPOSE_H
#define KN_TESTS_INTERPOSE_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static struct {
    _Atomic int on;
    _Atomic long heap, locks;
} interposed;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INTERPOSED 0
#else
#define INTERPOSED 1

/* The C library's own names of its heap. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);
extern void __libc_free(void *p);

#define OURS __attribute__((visibility("default")))
#define COUNT(what)                                                                                                   \
    do {                                                                                                              \
        if (interposed.on) interposed.what++;                                                                         \
    } while (0)

OURS void *malloc(size_t n)
{
    COUNT(heap);
    return __libc_malloc(n);
}
OURS void *calloc(size_t n, size_t size)
{
    COUNT(heap);
    return __libc_calloc(n, size);
}
OURS void *realloc(void *p, size_t n)
{
    COUNT(heap);
    return __libc_realloc(p, n);
}
OURS void *aligned_alloc(size_t align, size_t n)
{
    COUNT(heap);
    return __libc_memalign(align, n);
}
OURS void free(void *p)
{
    COUNT(heap);
    __libc_free(p);
}

/* The function of this name that stands behind ours. */
typedef int (*lock_fn)(void *);
static int lock_behind(_Atomic(lock_fn) *known, const char *name, void *lock)
{
    lock_fn f = *known;
    if (!f) {
        void *symbol = dlsym(RTLD_NEXT, name);
        memcpy(&f, &symbol, sizeof f);
        *known = f;
    }
    return f(lock);
}
#define LOCK(name, type)                                                                                              \
    OURS int name(type *lock)                                                                                         \
    {                                                                                                                 \
        static _Atomic(lock_fn) known;                                                                                \
        COUNT(locks);                                                                                                 \
        return lock_behind(&known, #name, lock);                                                                      \
    }
LOCK(pthread_mutex_lock, pthread_mutex_t)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
#undef LOCK
#undef COUNT
#endif
#endif
