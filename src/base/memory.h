/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: the allocator hook, arenas that die as a whole, growing vectors in an arena, checked sizes. */
#ifndef KN_BASE_MEMORY_H
#define KN_BASE_MEMORY_H

#include "kiln/base.h"

#include <string.h>

typedef struct kn_alloc {
    kiln_alloc_fn fn;
    void *ud;
} kn_alloc;

extern const kn_alloc kn_alloc_default; /* the C library's heap */

void *kn_new(const kn_alloc *a, size_t bytes); /* zeroed, 16-byte aligned; NULL on failure */
void *kn_new_aligned(const kn_alloc *a, size_t bytes, size_t align); /* not zeroed */
void kn_free(const kn_alloc *a, void *p, size_t bytes);
void kn_free_aligned(const kn_alloc *a, void *p, size_t bytes, size_t align);

/* false when the result would not fit */
static inline bool kn_mul_size(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool kn_add_size(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }

/* An arena: allocations are 16-byte aligned, zeroed, and freed together. Not thread-safe. */
typedef struct kn_arena {
    kn_alloc alloc;
    struct kn_chunk *chunk; /* newest first */
    char *at, *end;
    size_t bytes; /* taken from the allocator */
} kn_arena;

void kn_arena_init(kn_arena *a, const kn_alloc *alloc);
void kn_arena_fini(kn_arena *a);
void *kn_arena_new(kn_arena *a, size_t bytes); /* NULL on failure */
void *kn_arena_copy(kn_arena *a, const void *p, size_t bytes);
char *kn_arena_text(kn_arena *a, const char *s);             /* copies a string */
char *kn_arena_textn(kn_arena *a, const char *s, size_t n);  /* copies n characters and ends them */
char *kn_arena_printf(kn_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define KN_NEW(arena, T) ((T *)kn_arena_new((arena), sizeof(T)))
#define KN_NEWN(arena, T, n) ((T *)kn_arena_newn((arena), (size_t)(n), sizeof(T)))
void *kn_arena_newn(kn_arena *a, size_t n, size_t size);

/* A growing vector in an arena: struct { T *v; uint32_t n, cap; }, zero beyond n until it is used. kn_push is false when out of memory. */
#define KN_VEC(T)                                                                                  \
    struct {                                                                                       \
        T *v;                                                                                      \
        uint32_t n, cap;                                                                           \
    }
bool kn_vec_grow(kn_arena *a, void *pv, uint32_t *cap, uint32_t n, size_t size);
#define kn_reserve(arena, vec, extra)                                                              \
    ((vec)->n + (uint32_t)(extra) <= (vec)->cap ||                                                 \
     kn_vec_grow((arena), (void *)&(vec)->v, &(vec)->cap, (vec)->n + (uint32_t)(extra), sizeof *(vec)->v))
#define kn_push(arena, vec, ...) (kn_reserve((arena), (vec), 1) && ((vec)->v[(vec)->n++] = __VA_ARGS__, true))

#endif
