/* SPDX-License-Identifier: Apache-2.0 */
/* An entry as a file. Numbers are 64 bits, least byte first.
 *
 *   "KILNCODE", format, bytes of the file, checksum (XXH3, 128 bits, of all that follows)
 *   key: its length, its bytes
 *   scratch bytes, common and of each thread, and of both for each of the size that is given at a call, tier, counts
 *   calls of routines on whole arrays: how many; each: name, results, operands, integers, element type and size of each array
 *   object code: its length, its bytes. It holds no address: functions and routines are reached through the call's table */
#include "cache/cache.h"

#include <xxhash.h>

enum { FORMAT = 3, HEADER = 40 };
static const char magic[8] = {'K', 'I', 'L', 'N', 'C', 'O', 'D', 'E'};

/* The counts that are kept. */
#define COUNTS(X) X(time_loops) X(nests) X(splits) X(epilogues) X(copies) X(exit_copies) X(calls_out) X(scalar_calls)

/* ---- bytes ---- */

void kn_blob_put(kn_blob *b, const void *p, size_t n)
{
    if (b->failed || n == 0) return;
    if (n > b->cap - b->n) {
        size_t cap = b->cap ? b->cap : 4096;
        while (cap - b->n < n && cap < SIZE_MAX / 2) cap *= 2;
        char *v = cap - b->n < n ? NULL : kn_arena_new(b->arena, cap);
        if (!v) {
            b->failed = true;
            return;
        }
        if (b->n) memcpy(v, b->v, b->n);
        b->v = v;
        b->cap = cap;
    }
    memcpy(b->v + b->n, p, n);
    b->n += n;
}

void kn_blob_u64(kn_blob *b, uint64_t v)
{
    unsigned char s[8];
    for (unsigned i = 0; i < 8; i++) s[i] = (unsigned char)(v >> 8 * i);
    kn_blob_put(b, s, sizeof s);
}

void kn_blob_text(kn_blob *b, const char *s)
{
    kn_blob_u64(b, strlen(s));
    kn_blob_put(b, s, strlen(s));
}

static uint64_t number_at(const char *p)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < 8; i++) v |= (uint64_t)(unsigned char)p[i] << 8 * i;
    return v;
}

/* ---- writing ---- */

static void put_call(kn_blob *b, const kn_call *c)
{
    kn_blob_text(b, c->routine->name);
    kn_blob_u64(b, c->nout);
    kn_blob_u64(b, c->nin);
    kn_blob_u64(b, c->n_ints);
    for (uint32_t i = 0; i < c->n_ints; i++) kn_blob_u64(b, (uint64_t)c->ints[i]);
    for (uint32_t i = 0; i < c->nout + c->nin; i++) {
        kn_blob_u64(b, (uint64_t)c->arrays[i].dtype);
        kn_blob_u64(b, (uint64_t)c->arrays[i].elements);
    }
}

static void put_at(char *p, uint64_t v)
{
    for (unsigned i = 0; i < 8; i++) p[i] = (char)(unsigned char)(v >> 8 * i);
}

void kn_entry_write(kn_blob *b, const char *key, size_t key_bytes, const kn_image *image)
{
    static const char blank[HEADER] = {0};
    kn_blob_put(b, blank, HEADER);
    kn_blob_u64(b, key_bytes);
    kn_blob_put(b, key, key_bytes);
    kn_blob_u64(b, image->scratch_bytes);
    kn_blob_u64(b, image->part_bytes);
    kn_blob_u64(b, image->scratch_per);
    kn_blob_u64(b, image->part_per);
    kn_blob_u64(b, (uint64_t)image->info.tier);
#define PUT(name) kn_blob_u64(b, image->info.name);
    COUNTS(PUT)
#undef PUT
    kn_blob_u64(b, image->n_calls);
    for (uint32_t i = 0; i < image->n_calls; i++) put_call(b, &image->calls[i]);
    kn_blob_u64(b, image->object_bytes);
    kn_blob_put(b, image->object, image->object_bytes);
    if (b->failed) return;
    XXH128_hash_t sum = XXH3_128bits(b->v + HEADER, b->n - HEADER);
    memcpy(b->v, magic, sizeof magic);
    put_at(b->v + 8, FORMAT);
    put_at(b->v + 16, b->n);
    put_at(b->v + 24, sum.low64);
    put_at(b->v + 32, sum.high64);
}

/* ---- reading ---- */

typedef struct reader {
    kn_arena *arena;
    const char *p, *end;
    bool bad, nomem;
} reader;

static const char *take(reader *r, uint64_t n)
{
    const char *p = r->p;
    if (r->bad || n > (uint64_t)(r->end - p)) {
        r->bad = true;
        return NULL;
    }
    r->p += n;
    return p;
}

static uint64_t number(reader *r)
{
    const char *p = take(r, 8);
    return p ? number_at(p) : 0;
}

/* How many of something that takes `each` bytes at least in the file. */
static uint32_t how_many(reader *r, uint64_t each)
{
    uint64_t n = number(r);
    if (n > (uint64_t)(r->end - r->p) / each || n > UINT32_MAX) r->bad = true;
    return r->bad ? 0 : (uint32_t)n;
}

static void *room(reader *r, size_t n, size_t size)
{
    void *p = kn_arena_newn(r->arena, n, size);
    if (!p) r->bad = r->nomem = true;
    return p;
}

static void take_call(reader *r, kn_call *c)
{
    uint32_t n = how_many(r, 1);
    const char *name = take(r, n);
    c->routine = name ? kn_routine_find(name, n) : NULL;
    if (!c->routine) r->bad = true;
    uint64_t nout = number(r), nin = number(r);
    c->n_ints = how_many(r, 8);
    int64_t *ints = room(r, c->n_ints, sizeof *ints);
    for (uint32_t i = 0; i < c->n_ints && !r->bad; i++) ints[i] = (int64_t)number(r);
    c->ints = ints;
    uint64_t most = (uint64_t)(r->end - r->p) / 16;
    if (r->bad || nout > most || nin > most - nout) {
        r->bad = true;
        return;
    }
    c->nout = (uint32_t)nout, c->nin = (uint32_t)nin;
    kn_call_array *arrays = room(r, nout + nin, sizeof *arrays);
    for (uint64_t i = 0; i < nout + nin && !r->bad; i++) {
        uint64_t d = number(r);
        if (d >= KILN_N_DTYPES) r->bad = true;
        arrays[i] = (kn_call_array){(kiln_dtype)d, (int64_t)number(r)};
    }
    c->arrays = arrays;
}

kn_entry_state kn_entry_read(kn_arena *arena, const char *s, size_t n, const char *key, size_t key_bytes, kn_image *out)
{
    if (n < HEADER || memcmp(s, magic, sizeof magic) != 0 || number_at(s + 8) != FORMAT || number_at(s + 16) != n) return KN_ENTRY_DAMAGED;
    XXH128_hash_t sum = XXH3_128bits(s + HEADER, n - HEADER);
    if (number_at(s + 24) != sum.low64 || number_at(s + 32) != sum.high64) return KN_ENTRY_DAMAGED;
    reader r = {.arena = arena, .p = s + HEADER, .end = s + n};
    uint64_t k = number(&r);
    const char *its_key = take(&r, k);
    if (!its_key) return KN_ENTRY_DAMAGED;
    if (k != key_bytes || memcmp(its_key, key, key_bytes) != 0) return KN_ENTRY_OTHER;
    *out = (kn_image){.scratch_bytes = number(&r)};
    out->part_bytes = number(&r);
    out->scratch_per = number(&r);
    out->part_per = number(&r);
    out->info.tier = (int)number(&r);
#define TAKE(name) out->info.name = number(&r);
    COUNTS(TAKE)
#undef TAKE
    out->n_calls = how_many(&r, 32);
    out->info.routine_calls = out->n_calls;
    kn_call *calls = room(&r, out->n_calls, sizeof *calls);
    for (uint32_t i = 0; i < out->n_calls && !r.bad; i++) take_call(&r, &calls[i]);
    out->calls = calls;
    out->object_bytes = number(&r);
    out->object = take(&r, out->object_bytes);
    return r.nomem ? KN_ENTRY_NOMEM : r.bad || r.p != r.end ? KN_ENTRY_DAMAGED : KN_ENTRY_GOOD;
}
