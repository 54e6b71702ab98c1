/* SPDX-License-Identifier: Apache-2.0 */
/* Reading .npz: a zip archive of .npy files, stored or deflated (PKWARE's APPNOTE, sections 4.3 and 4.5.3 for zip64). The
 * directory at the end of the file is what counts; of a member's own header only its length is used. */
#include "array/npz.h"

#include <stdlib.h>
#include <zlib.h>

typedef struct member {
    char *name;
    uint64_t at;               /* of its own header in the file */
    uint64_t packed, unpacked; /* bytes */
    uint32_t crc;
    uint16_t method; /* 0 stored, 8 deflated */
} member;

struct kiln_npz {
    kn_arena arena;
    char *file;
    kn_bytes bytes;
    KN_VEC(member) members;
};

static kiln_status damaged(kiln_ctx *ctx, const kiln_npz *z, const char *what)
{
    return kn_fail_at(ctx, KILN_CORRUPT, "damaged-file", (kn_place){.file = z->file}, NULL, "not a whole .npz file: %s", what);
}

static uint64_t little(const kiln_npz *z, uint64_t at, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;) v = v << 8 | (unsigned char)z->bytes.s[at + (uint64_t)i];
    return v;
}

/* Do n bytes stand at `at`? */
static bool holds(const kiln_npz *z, uint64_t at, uint64_t n) { return at <= z->bytes.n && n <= z->bytes.n - at; }

/* ---- the directory ---- */

/* The end record, searched from the end over a comment of up to 64 KiB; false when there is none. */
static bool find_end(const kiln_npz *z, uint64_t *at)
{
    enum { RECORD = 22, COMMENT = 65535 };
    if (z->bytes.n < RECORD) return false;
    uint64_t last = z->bytes.n - RECORD, first = last > COMMENT ? last - COMMENT : 0;
    for (uint64_t k = last + 1; k-- > first;)
        if (little(z, k, 4) == KN_ZIP_END && little(z, k + 20, 2) == z->bytes.n - k - RECORD) {
            *at = k;
            return true;
        }
    return false;
}

static kiln_status find_directory(kiln_ctx *ctx, const kiln_npz *z, uint64_t *at, uint64_t *count)
{
    uint64_t end;
    if (!find_end(z, &end)) return damaged(ctx, z, "it has no directory of its arrays");
    *count = little(z, end + 10, 2);
    *at = little(z, end + 16, 4);
    if (*count != UINT16_MAX && *at != UINT32_MAX) return KILN_OK;
    if (end < 20 || little(z, end - 20, 4) != KN_ZIP_LOCATOR64) return KILN_OK; /* the numbers are meant */
    uint64_t big = little(z, end - 12, 8);
    if (!holds(z, big, 56) || little(z, big, 4) != KN_ZIP_END64) return damaged(ctx, z, "its long directory is missing");
    *count = little(z, big + 32, 8);
    *at = little(z, big + 48, 8);
    return KILN_OK;
}

/* Sizes that do not fit in 32 bits stand in an extra field, in a fixed order, only those that are marked. */
static bool read_zip64(const kiln_npz *z, uint64_t at, uint64_t n, member *m)
{
    uint64_t *wide[3] = {&m->unpacked, &m->packed, &m->at};
    for (uint64_t end = at + n; at + 4 <= end;) {
        uint64_t id = little(z, at, 2), size = little(z, at + 2, 2);
        at += 4;
        if (size > end - at) return false;
        if (id == KN_ZIP_EXTRA64) {
            uint64_t k = 0;
            for (int i = 0; i < 3; i++) {
                if (*wide[i] != UINT32_MAX) continue;
                if (k + 8 > size) return false;
                *wide[i] = little(z, at + k, 8);
                k += 8;
            }
            return true;
        }
        at += size;
    }
    return m->unpacked != UINT32_MAX && m->packed != UINT32_MAX && m->at != UINT32_MAX;
}

static kiln_status read_member(kiln_ctx *ctx, kiln_npz *z, uint64_t *at)
{
    enum { HEAD = 46, ENCRYPTED = 1 };
    uint64_t a = *at;
    member m;
    if (!holds(z, a, HEAD) || little(z, a, 4) != KN_ZIP_CENTRAL) return damaged(ctx, z, "its directory is cut");
    if (little(z, a + 8, 2) & ENCRYPTED)
        return kn_fail_at(ctx, KILN_UNSUPPORTED, "unsupported", (kn_place){.file = z->file}, NULL, "encrypted archives are not read");
    m = (member){.method = (uint16_t)little(z, a + 10, 2), .crc = (uint32_t)little(z, a + 16, 4), .packed = little(z, a + 20, 4),
                 .unpacked = little(z, a + 24, 4), .at = little(z, a + 42, 4)};
    uint64_t name = little(z, a + 28, 2), extra = little(z, a + 30, 2), comment = little(z, a + 32, 2);
    if (!holds(z, a + HEAD, name + extra + comment)) return damaged(ctx, z, "its directory is cut");
    if (!read_zip64(z, a + HEAD + name, extra, &m)) return damaged(ctx, z, "a size in its directory is missing");
    const char *s = z->bytes.s + a + HEAD;
    *at = a + HEAD + name + extra + comment;
    if (name && s[name - 1] == '/') return KILN_OK; /* a folder */
    if (memchr(s, 0, name)) return damaged(ctx, z, "a name in its directory is no text");
    if (name > 4 && memcmp(s + name - 4, ".npy", 4) == 0) name -= 4;
    KILN_TRY_MEM(ctx, m.name = kn_arena_textn(&z->arena, s, name));
    KILN_TRY_MEM(ctx, kn_push(&z->arena, &z->members, m));
    return KILN_OK;
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static kiln_status read_directory(kiln_ctx *ctx, kiln_npz *z)
{
    uint64_t at = 0, count = 0;
    if (z->bytes.n < 4 || memcmp(z->bytes.s, "PK", 2) != 0) return damaged(ctx, z, "it does not begin with PK");
    KILN_TRY(find_directory(ctx, z, &at, &count));
    for (uint64_t i = 0; i < count; i++) KILN_TRY(read_member(ctx, z, &at));
    const char **names = KN_NEWN(&z->arena, const char *, z->members.n);
    KILN_TRY_MEM(ctx, names);
    for (uint32_t i = 0; i < z->members.n; i++) names[i] = z->members.v[i].name;
    qsort(names, z->members.n, sizeof *names, by_name);
    for (uint32_t i = 1; i < z->members.n; i++)
        if (strcmp(names[i - 1], names[i]) == 0) return damaged(ctx, z, "two arrays have the same name");
    return KILN_OK;
}

kiln_status kiln_npz_open(kiln_ctx *ctx, const char *path, kiln_npz **out)
{
    *out = NULL;
    kiln_npz *z = kn_new(&ctx->alloc, sizeof *z);
    KILN_TRY_MEM(ctx, z);
    kn_arena_init(&z->arena, &ctx->alloc);
    z->file = kn_arena_text(&z->arena, path);
    kiln_status status = z->file ? kn_file_read(ctx, path, &z->bytes) : kn_nomem(ctx);
    if (status == KILN_OK) status = read_directory(ctx, z);
    if (status == KILN_OK) *out = z;
    else kiln_npz_close(z);
    return status;
}

void kiln_npz_close(kiln_npz *z)
{
    if (!z) return;
    kn_alloc alloc = z->arena.alloc;
    kn_free(&alloc, z->bytes.s, z->bytes.cap);
    kn_arena_fini(&z->arena);
    kn_free(&alloc, z, sizeof *z);
}

uint32_t kiln_npz_count(const kiln_npz *z) { return z->members.n; }
const char *kiln_npz_name(const kiln_npz *z, uint32_t i) { return i < z->members.n ? z->members.v[i].name : ""; }

int64_t kiln_npz_find(const kiln_npz *z, const char *name)
{
    for (uint32_t i = 0; i < z->members.n; i++)
        if (strcmp(z->members.v[i].name, name) == 0) return i;
    return -1;
}

/* ---- members ---- */

/* Inflates the whole member; false when it does not give exactly the bytes that the directory says. */
static bool inflate_member(const char *from, const member *m, char *to)
{
    z_stream s = {0};
    if (inflateInit2(&s, -MAX_WBITS) != Z_OK) return false;
    s.next_in = (Bytef *)(uintptr_t)from; /* zlib does not write there */
    s.next_out = (Bytef *)to;
    uint64_t in = m->packed, out = m->unpacked;
    int code = Z_OK;
    while (code == Z_OK) {
        if (s.avail_in == 0) s.avail_in = (uInt)(in < UINT32_MAX ? in : UINT32_MAX), in -= s.avail_in;
        if (s.avail_out == 0) s.avail_out = (uInt)(out < UINT32_MAX ? out : UINT32_MAX), out -= s.avail_out;
        code = inflate(&s, Z_NO_FLUSH);
        if (code == Z_BUF_ERROR && ((s.avail_in == 0 && in) || (s.avail_out == 0 && out))) code = Z_OK;
    }
    bool whole = code == Z_STREAM_END && s.avail_out == 0 && out == 0;
    inflateEnd(&s);
    return whole;
}

static uint32_t checksum(const char *p, uint64_t n)
{
    uLong crc = crc32(0, NULL, 0);
    while (n) {
        uInt k = (uInt)(n < (1u << 30) ? n : 1u << 30);
        crc = crc32(crc, (const Bytef *)p, k);
        p += k;
        n -= k;
    }
    return (uint32_t)crc;
}

static kiln_status decode(kiln_ctx *ctx, const kiln_npz *z, const member *m, const char *bytes, kiln_array **out)
{
    if (checksum(bytes, m->unpacked) != m->crc) return damaged(ctx, z, "an array does not have the checksum that the directory says");
    KILN_TRY_NOTE(ctx, kn_npy_decode(ctx, z->file, bytes, m->unpacked, out), "array '%.100s' of the archive", m->name);
    return KILN_OK;
}

kiln_status kiln_npz_read(kiln_ctx *ctx, const kiln_npz *z, uint32_t i, kiln_array **out)
{
    enum { HEAD = 30, DEFLATED = 8, RATIO = 1100 /* deflate packs 1032 to 1 at most */ };
    *out = NULL;
    if (i >= z->members.n) return kn_fail(ctx, KILN_NOTFOUND, "the archive has %u arrays, number %u is asked for", z->members.n, i);
    const member *m = &z->members.v[i];
    if (!holds(z, m->at, HEAD) || little(z, m->at, 4) != KN_ZIP_LOCAL) return damaged(ctx, z, "an array is not where the directory says");
    uint64_t at = m->at + HEAD + little(z, m->at + 26, 2) + little(z, m->at + 28, 2);
    if (!holds(z, at, m->packed)) return damaged(ctx, z, "an array is cut");
    if (m->method == 0) {
        if (m->packed != m->unpacked) return damaged(ctx, z, "an array has two sizes");
        return decode(ctx, z, m, z->bytes.s + at, out);
    }
    if (m->method != DEFLATED)
        return kn_fail_at(ctx, KILN_UNSUPPORTED, "unsupported", (kn_place){.file = z->file}, "stored and deflated arrays",
                          "array '%.100s' is packed by method %u", m->name, m->method);
    if (m->unpacked / RATIO > m->packed) return damaged(ctx, z, "an array is larger than its packed bytes can hold");
    char *bytes = kn_new_aligned(&ctx->alloc, m->unpacked, 16);
    KILN_TRY_MEM(ctx, bytes);
    kiln_status status = inflate_member(z->bytes.s + at, m, bytes) ? decode(ctx, z, m, bytes, out) : damaged(ctx, z, "an array does not unpack");
    kn_free(&ctx->alloc, bytes, m->unpacked);
    return status;
}
