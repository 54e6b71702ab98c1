/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/sparsity.h"

#include <stdlib.h>

kiln_status kn_sets_init(kn_sets *s, kiln_ctx *ctx, uint32_t columns)
{
    *s = (kn_sets){.ctx = ctx, .columns = columns};
    kn_arena_init(&s->arena, &ctx->alloc);
    s->stamps = KN_NEWN(&s->arena, uint32_t, columns);
    if (s->stamps && kn_push(&s->arena, &s->all, (kn_set){NULL, 0, 0})) return KILN_OK;
    kn_arena_fini(&s->arena);
    return kn_nomem(ctx);
}

void kn_sets_fini(kn_sets *s) { kn_arena_fini(&s->arena); }

static uint64_t hash_of(const uint32_t *v, uint32_t n)
{
    uint64_t h = n;
    for (uint32_t i = 0; i < n; i++) h = kn_mix(h ^ v[i]);
    return h;
}

static kiln_status keep(kn_sets *s, const uint32_t *v, uint32_t n, uint32_t *out)
{
    uint64_t h = hash_of(v, n);
    uint32_t first = kn_map_get(&s->by_hash, h);
    for (uint32_t k = first; k; k = s->all.v[k - 1].next) {
        const kn_set *x = &s->all.v[k - 1];
        if (x->n == n && memcmp(x->v, v, n * sizeof *v) == 0) {
            *out = k - 1;
            return KILN_OK;
        }
    }
    const uint32_t *copy = kn_arena_copy(&s->arena, v, n * sizeof *v);
    KILN_TRY_MEM(s->ctx, copy && kn_push(&s->arena, &s->all, (kn_set){copy, n, first}) && kn_map_put(&s->arena, &s->by_hash, h, s->all.n));
    *out = s->all.n - 1;
    return KILN_OK;
}

kiln_status kn_sets_one(kn_sets *s, uint32_t column, uint32_t *out) { return keep(s, &column, 1, out); }

void kn_sets_begin(kn_sets *s)
{
    s->found.n = 0;
    if (++s->stamp == 0) memset(s->stamps, 0, s->columns * sizeof *s->stamps), s->stamp = 1;
}

kiln_status kn_sets_add(kn_sets *s, uint32_t set)
{
    const kn_set x = s->all.v[set];
    for (uint32_t i = 0; i < x.n; i++) {
        if (s->stamps[x.v[i]] == s->stamp) continue;
        s->stamps[x.v[i]] = s->stamp;
        KILN_TRY_MEM(s->ctx, kn_push(&s->arena, &s->found, x.v[i]));
    }
    return KILN_OK;
}

static int rising(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

kiln_status kn_sets_end(kn_sets *s, uint32_t *out)
{
    *out = 0;
    if (!s->found.n) return KILN_OK;
    qsort(s->found.v, s->found.n, sizeof *s->found.v, rising);
    return keep(s, s->found.v, s->found.n, out);
}

kiln_status kn_sets_union(kn_sets *s, uint32_t a, uint32_t b, uint32_t *out)
{
    *out = a ? a : b;
    if (a == b || !a || !b) return KILN_OK;
    uint64_t key = a < b ? kn_map_pair(a, b) : kn_map_pair(b, a);
    if ((*out = kn_map_get(&s->unions, key))) return KILN_OK;
    kn_sets_begin(s);
    KILN_TRY(kn_sets_add(s, a));
    KILN_TRY(kn_sets_add(s, b));
    KILN_TRY(kn_sets_end(s, out));
    KILN_TRY_MEM(s->ctx, kn_map_put(&s->arena, &s->unions, key, *out));
    return KILN_OK;
}
