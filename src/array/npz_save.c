/* SPDX-License-Identifier: Apache-2.0 */
/* Writing .npz: members are stored, so that a reader may map them; long fields (zip64) only where they are needed. Times are
 * fixed, so that equal arrays give equal files. */
#include "array/npz.h"

#include <stdlib.h>
#include <zlib.h>

enum { DATE = 0x21, UTF8 = 1 << 11, VERSION = 20, VERSION64 = 45 }; /* DATE: 1 January 1980 */

typedef struct saved {
    char *name; /* with ".npy" */
    uint16_t name_bytes, flags;
    uint64_t at, bytes;
    uint32_t crc;
    kn_npy_header header;
} saved;

/* A header being put together. */
typedef struct block {
    unsigned char b[128];
    size_t n;
} block;

static void put(block *k, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) k->b[k->n++] = (unsigned char)(v >> (8 * i));
}
static void put32(block *k, uint64_t v) { put(k, v < UINT32_MAX ? v : UINT32_MAX, 4); }

static uint32_t checksum(const saved *s, const kiln_array *a)
{
    uLong crc = crc32(0, (const Bytef *)s->header.s, (uInt)s->header.n);
    kn_npy_piece p = {.a = a};
    while (kn_npy_next(&p))
        for (size_t at = 0; at < p.n;) {
            uInt k = (uInt)(p.n - at < (1u << 30) ? p.n - at : 1u << 30);
            crc = crc32(crc, p.at + at, k);
            at += k;
        }
    return (uint32_t)crc;
}

static bool wide(const saved *s) { return s->bytes >= UINT32_MAX; }

static kiln_status write_member(kn_file *f, const saved *s, const kiln_array *a)
{
    block k = {.n = 0};
    put(&k, KN_ZIP_LOCAL, 4);
    put(&k, wide(s) ? VERSION64 : VERSION, 2);
    put(&k, s->flags, 2);
    put(&k, 0, 2); /* stored */
    put(&k, 0, 2);
    put(&k, DATE, 2);
    put(&k, s->crc, 4);
    put32(&k, s->bytes);
    put32(&k, s->bytes);
    put(&k, s->name_bytes, 2);
    put(&k, wide(s) ? 20 : 0, 2);
    KILN_TRY(kn_file_write(f, k.b, k.n));
    KILN_TRY(kn_file_write(f, s->name, s->name_bytes));
    if (wide(s)) {
        k.n = 0;
        put(&k, KN_ZIP_EXTRA64, 2);
        put(&k, 16, 2);
        put(&k, s->bytes, 8);
        put(&k, s->bytes, 8);
        KILN_TRY(kn_file_write(f, k.b, k.n));
    }
    KILN_TRY(kn_file_write(f, s->header.s, s->header.n));
    return kn_npy_write(f, a);
}

static kiln_status write_entry(kn_file *f, const saved *s)
{
    bool far = s->at >= UINT32_MAX;
    unsigned extra = wide(s) * 16u + far * 8u;
    block k = {.n = 0};
    put(&k, KN_ZIP_CENTRAL, 4);
    put(&k, VERSION64 | 3 << 8, 2); /* made on Unix */
    put(&k, extra ? VERSION64 : VERSION, 2);
    put(&k, s->flags, 2);
    put(&k, 0, 2);
    put(&k, 0, 2);
    put(&k, DATE, 2);
    put(&k, s->crc, 4);
    put32(&k, s->bytes);
    put32(&k, s->bytes);
    put(&k, s->name_bytes, 2);
    put(&k, extra ? extra + 4 : 0, 2);
    put(&k, 0, 2); /* no comment */
    put(&k, 0, 2); /* first disk */
    put(&k, 0, 2);
    put(&k, (uint64_t)0100644 << 16, 4); /* a regular file, rw-r--r-- */
    put32(&k, s->at);
    KILN_TRY(kn_file_write(f, k.b, k.n));
    KILN_TRY(kn_file_write(f, s->name, s->name_bytes));
    if (!extra) return KILN_OK;
    k.n = 0;
    put(&k, KN_ZIP_EXTRA64, 2);
    put(&k, extra, 2);
    if (wide(s)) put(&k, s->bytes, 8), put(&k, s->bytes, 8);
    if (far) put(&k, s->at, 8);
    return kn_file_write(f, k.b, k.n);
}

static kiln_status write_end(kn_file *f, uint64_t count, uint64_t directory)
{
    uint64_t size = f->at - directory, end64 = f->at;
    bool big = count >= UINT16_MAX || directory >= UINT32_MAX || size >= UINT32_MAX;
    block k = {.n = 0};
    if (big) {
        put(&k, KN_ZIP_END64, 4);
        put(&k, 44, 8); /* bytes of this record that follow */
        put(&k, VERSION64 | 3 << 8, 2);
        put(&k, VERSION64, 2);
        put(&k, 0, 4);
        put(&k, 0, 4);
        put(&k, count, 8);
        put(&k, count, 8);
        put(&k, size, 8);
        put(&k, directory, 8);
        put(&k, KN_ZIP_LOCATOR64, 4);
        put(&k, 0, 4);
        put(&k, end64, 8);
        put(&k, 1, 4);
    }
    put(&k, KN_ZIP_END, 4);
    put(&k, 0, 2);
    put(&k, 0, 2);
    put(&k, count < UINT16_MAX ? count : UINT16_MAX, 2);
    put(&k, count < UINT16_MAX ? count : UINT16_MAX, 2);
    put32(&k, size);
    put32(&k, directory);
    put(&k, 0, 2);
    return kn_file_write(f, k.b, k.n);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static kiln_status check_names(kiln_ctx *ctx, kn_arena *arena, uint32_t n, const char *const *names)
{
    const char **sorted = kn_arena_copy(arena, names, n * sizeof *names);
    KILN_TRY_MEM(ctx, sorted);
    qsort(sorted, n, sizeof *sorted, by_name);
    for (uint32_t i = 0; i < n; i++) {
        if (!*sorted[i] || strlen(sorted[i]) > 60000) return kn_fail(ctx, KILN_INVALID, "an array of an archive needs a name of at most 60000 bytes");
        if (i && strcmp(sorted[i], sorted[i - 1]) == 0) return kn_fail(ctx, KILN_INVALID, "two arrays of an archive are called '%.200s'", sorted[i]);
    }
    return KILN_OK;
}

static kiln_status prepare(kiln_ctx *ctx, kn_arena *arena, const char *path, uint32_t n, const char *const *names, kiln_array *const *arrays,
                           saved *s)
{
    KILN_TRY(check_names(ctx, arena, n, names));
    for (uint32_t i = 0; i < n; i++) {
        KILN_TRY(kn_npy_header_make(ctx, path, kiln_array_type(arrays[i]), &s[i].header));
        KILN_TRY_MEM(ctx, s[i].name = kn_arena_printf(arena, "%s.npy", names[i]));
        s[i].name_bytes = (uint16_t)strlen(s[i].name);
        for (const char *c = s[i].name; *c; c++)
            if ((unsigned char)*c >= 128) s[i].flags = UTF8;
        s[i].bytes = s[i].header.n + kiln_array_bytes(arrays[i]);
        s[i].crc = checksum(&s[i], arrays[i]);
    }
    return KILN_OK;
}

static kiln_status write_all(kn_file *f, uint32_t n, saved *s, kiln_array *const *arrays)
{
    for (uint32_t i = 0; i < n; i++) {
        s[i].at = f->at;
        KILN_TRY(write_member(f, &s[i], arrays[i]));
    }
    uint64_t directory = f->at;
    for (uint32_t i = 0; i < n; i++) KILN_TRY(write_entry(f, &s[i]));
    return write_end(f, n, directory);
}

kiln_status kiln_npz_save(kiln_ctx *ctx, const char *path, uint32_t n, const char *const *names, kiln_array *const *arrays)
{
    kn_arena arena;
    kn_arena_init(&arena, &ctx->alloc);
    saved *s = KN_NEWN(&arena, saved, n);
    kn_file *f = NULL;
    kiln_status status = s ? prepare(ctx, &arena, path, n, names, arrays, s) : kn_nomem(ctx);
    if (status == KILN_OK) status = kn_file_create(ctx, path, &f);
    if (status == KILN_OK) status = write_all(f, n, s, arrays);
    if (status == KILN_OK) status = kn_file_commit(f);
    else kn_file_cancel(f);
    kn_arena_fini(&arena);
    return status;
}
