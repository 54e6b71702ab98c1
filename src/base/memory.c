/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void *default_alloc(void *ud, void *p, size_t old_bytes, size_t new_bytes, size_t align)
{
    (void)ud;
    if (new_bytes == 0) {
        free(p);
        return NULL;
    }
    size_t rounded;
    if (!kn_add_size(new_bytes, align - 1, &rounded)) return NULL;
    rounded &= ~(align - 1);
    void *q = align <= 16 ? malloc(rounded) : aligned_alloc(align, rounded);
    if (q && p) {
        memcpy(q, p, old_bytes < new_bytes ? old_bytes : new_bytes);
        free(p);
    }
    return q;
}

const kn_alloc kn_alloc_default = {default_alloc, NULL};

void *kn_new_aligned(const kn_alloc *a, size_t bytes, size_t align)
{
    return a->fn(a->ud, NULL, 0, bytes ? bytes : 1, align);
}

void *kn_new(const kn_alloc *a, size_t bytes)
{
    void *p = kn_new_aligned(a, bytes, 16);
    if (p) memset(p, 0, bytes);
    return p;
}

void kn_free_aligned(const kn_alloc *a, void *p, size_t bytes, size_t align)
{
    if (p) a->fn(a->ud, p, bytes ? bytes : 1, 0, align);
}

void kn_free(const kn_alloc *a, void *p, size_t bytes) { kn_free_aligned(a, p, bytes, 16); }

struct kn_chunk {
    struct kn_chunk *next;
    size_t bytes;
};

enum { FIRST_CHUNK = 4096, LARGEST_CHUNK = 1 << 20, APART = LARGEST_CHUNK / 8, ROUND = 16 };

void kn_arena_init(kn_arena *a, const kn_alloc *alloc)
{
    *a = (kn_arena){.alloc = alloc ? *alloc : kn_alloc_default};
}

void kn_arena_fini(kn_arena *a)
{
    for (struct kn_chunk *c = a->chunk, *next; c; c = next) {
        next = c->next;
        kn_free(&a->alloc, c, c->bytes);
    }
    a->chunk = NULL;
    a->at = a->end = NULL;
    a->bytes = 0;
}

static const size_t head = (sizeof(struct kn_chunk) + ROUND - 1) & ~(size_t)(ROUND - 1);

/* A chunk for one large piece, behind the current one, whose rest is not lost. */
static void *take_apart(kn_arena *a, size_t need)
{
    size_t size;
    if (!kn_add_size(need, head, &size)) return NULL;
    struct kn_chunk *c = kn_new_aligned(&a->alloc, size, ROUND);
    if (!c) return NULL;
    *c = (struct kn_chunk){a->chunk->next, size};
    a->chunk->next = c;
    a->bytes += size;
    return (char *)c + head;
}

/* Not zeroed. */
static void *take(kn_arena *a, size_t bytes)
{
    size_t need;
    if (!kn_add_size(bytes, ROUND - 1, &need)) return NULL;
    need &= ~(size_t)(ROUND - 1);
    if (need == 0) need = ROUND;
    if (need > (size_t)(a->end - a->at)) {
        if (need >= APART && a->chunk) return take_apart(a, need);
        size_t size = a->chunk ? a->chunk->bytes * 2 : FIRST_CHUNK;
        if (size > LARGEST_CHUNK) size = LARGEST_CHUNK;
        size_t least;
        if (!kn_add_size(need, head, &least)) return NULL;
        if (size < least) size = least;
        struct kn_chunk *c = kn_new_aligned(&a->alloc, size, ROUND);
        if (!c) return NULL;
        c->next = a->chunk;
        c->bytes = size;
        a->chunk = c;
        a->bytes += size;
        a->at = (char *)c + head;
        a->end = (char *)c + size;
    }
    void *p = a->at;
    a->at += need;
    return p;
}

void *kn_arena_new(kn_arena *a, size_t bytes)
{
    void *p = take(a, bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

void *kn_arena_newn(kn_arena *a, size_t n, size_t size)
{
    size_t bytes;
    return kn_mul_size(n, size, &bytes) ? kn_arena_new(a, bytes) : NULL;
}

void *kn_arena_copy(kn_arena *a, const void *p, size_t bytes)
{
    void *q = take(a, bytes);
    if (q && bytes) memcpy(q, p, bytes);
    return q;
}

char *kn_arena_textn(kn_arena *a, const char *s, size_t n)
{
    char *q = n < SIZE_MAX ? kn_arena_new(a, n + 1) : NULL;
    if (q && n) memcpy(q, s, n);
    return q;
}

char *kn_arena_text(kn_arena *a, const char *s) { return kn_arena_textn(a, s, strlen(s)); }

char *kn_arena_printf(kn_arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *q = n < 0 ? NULL : kn_arena_new(a, (size_t)n + 1);
    if (!q) return NULL;
    va_start(ap, fmt);
    vsnprintf(q, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return q;
}

bool kn_vec_grow(kn_arena *a, void *pv, uint32_t *cap, uint32_t n, size_t size)
{
    uint32_t want = *cap ? *cap : 4;
    while (want < n) {
        if (want > UINT32_MAX / 2) return false;
        want *= 2;
    }
    void *old, *q = kn_arena_newn(a, want, size);
    if (!q) return false;
    memcpy(&old, pv, sizeof old);
    if (*cap) memcpy(q, old, (size_t)*cap * size);
    memcpy(pv, &q, sizeof q);
    *cap = want;
    return true;
}
