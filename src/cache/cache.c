/* SPDX-License-Identifier: Apache-2.0 */
/* Which folder, and one look-up. */
#include "cache/cache.h"

#include <stdio.h>

/* ---- the folder ---- */

static const char none[] = "none";

kiln_status kiln_cache_enable(kiln_ctx *ctx, const char *dir)
{
    kn_cache_place *p = &ctx->cache;
    if (!dir && *p->enabled && !p->off) return KILN_OK;
    if (!dir) dir = *p->variable ? p->variable : p->usual;
    if (dir == p->usual && !*dir)
        return kn_fail(ctx, KILN_NOTFOUND, "cache: there is no home folder to keep compiled code in; accepted: a folder, or KILN_CACHE, or none");
    if (!*dir) return kn_fail(ctx, KILN_INVALID, "cache: a folder without a name; accepted: a folder, or none");
    if (strlen(dir) > KN_CACHE_PATH - 24)
        return kn_fail(ctx, KILN_INVALID, "cache: a folder of %zu bytes; accepted: up to %d", strlen(dir), KN_CACHE_PATH - 24);
    p->off = strcmp(dir, none) == 0;
    if (p->off) p->enabled[0] = 0;
    else if (dir != p->enabled) memmove(p->enabled, dir, strlen(dir) + 1);
    return KILN_OK;
}

const char *kiln_cache_dir(const kiln_ctx *ctx) { return !ctx->cache.off && *ctx->cache.enabled ? ctx->cache.enabled : NULL; }

void kiln_cache_limit(kiln_ctx *ctx, uint64_t bytes) { ctx->cache.most_bytes = bytes ? bytes : KILN_CACHE_MOST_BYTES; }

void kiln_cache_counts_get(const kiln_ctx *ctx, kiln_cache_counts *out) { *out = ctx->cache.counts; }

kiln_status kiln_cache_warm(kiln_ctx *ctx, const char *dir, const struct kiln_prog *const *progs, size_t n, const kiln_compile_opts *opts)
{
    KILN_TRY(kiln_cache_enable(ctx, dir));
    for (size_t i = 0; i < n; i++) KILN_TRY(kn_compile_keep(ctx, progs[i], opts));
    return KILN_OK;
}

/* ---- one look-up ---- */

struct kn_cached {
    kiln_ctx *ctx;
    kn_arena arena;
    kn_blob key;
    kn_store store;
    kn_bytes bytes; /* of the entry that was found */
    kn_image image;
    bool found;
};

static void look(kn_cached *k)
{
    kiln_cache_counts *n = &k->ctx->cache.counts;
    if (!kn_store_load(&k->store, &k->bytes)) return;
    n->bytes_read += k->bytes.n;
    kn_entry_state state = kn_entry_read(&k->arena, k->bytes.s, k->bytes.n, k->key.v, k->key.n, &k->image);
    k->found = state == KN_ENTRY_GOOD;
    if (k->found) return;
    if (state == KN_ENTRY_DAMAGED) n->refused++;
    kn_bytes_free(k->ctx, &k->bytes);
}

static void finish(kn_cached *k)
{
    kn_alloc alloc = k->ctx->alloc;
    kn_bytes_free(k->ctx, &k->bytes);
    kn_arena_fini(&k->arena);
    kn_free(&alloc, k, sizeof *k);
}

static kn_cached *begin(kiln_ctx *ctx, const kn_prog *optimised, const kn_resolved *r)
{
    kn_cache_place *p = &ctx->cache;
    if (p->off || (!*p->enabled && !*p->variable)) return NULL;
    kiln_diag before = ctx->error;
    kn_cached *k = kiln_cache_enable(ctx, NULL) == KILN_OK && !p->off ? kn_new(&ctx->alloc, sizeof *k) : NULL;
    ctx->error = before;
    if (!k) return NULL;
    k->ctx = ctx;
    kn_arena_init(&k->arena, &ctx->alloc);
    k->key.arena = &k->arena;
    kn_cache_key(&k->key, optimised, r);
    if (k->key.failed) {
        finish(k);
        return NULL;
    }
    kn_store_begin(&k->store, ctx, p->enabled, k->key.v, k->key.n);
    look(k);
    if (!k->found) {
        kn_store_lock(&k->store);
        if (k->store.locked) look(k); /* another process may have made it meanwhile */
    }
    if (k->found) p->counts.hits++;
    else p->counts.misses++;
    ctx->error = before;
    return k;
}

static const kn_image *image(const kn_cached *k) { return k->found ? &k->image : NULL; }

static void refuse(kn_cached *k)
{
    kiln_cache_counts *n = &k->ctx->cache.counts;
    k->found = false;
    n->hits--;
    n->misses++;
    n->refused++;
    kn_store_remove(&k->store);
}

static void keep(kn_cached *k, const kn_image *made)
{
    kn_blob entry = {.arena = &k->arena};
    kiln_diag before = k->ctx->error;
    kn_entry_write(&entry, k->key.v, k->key.n, made);
    if (entry.failed || !kn_store_save(&k->store, entry.v, entry.n)) k->ctx->cache.counts.failures++;
    k->ctx->error = before;
}

static void end(kn_cached *k)
{
    if (!k) return;
    kn_store_end(&k->store);
    finish(k);
}

const kn_cache_table kn_cache = {begin, image, refuse, keep, end};
