/* SPDX-License-Identifier: Apache-2.0 */
/* The persistent cache: one file an entry, named after a hash of its key, which stands in the file whole.
 *
 *   key.c     a program and its options as bytes
 *   entry.c   what is kept, as a file: header, checksum, key, counts, calls, object code
 *   store.c   the folder: finding, writing, locks, what leaves it
 *   cache.c   the table that compiling uses, and the public functions
 *
 * Inside, a function that fails says so by false; the context's error is put back by cache.c. */
#ifndef KN_CACHE_CACHE_H
#define KN_CACHE_CACHE_H

#include "base/file.h"
#include "run/cached.h"

/* Bytes that grow. */
typedef struct kn_blob {
    kn_arena *arena;
    char *v;
    size_t n, cap;
    bool failed; /* out of memory */
} kn_blob;
void kn_blob_put(kn_blob *b, const void *p, size_t n);
void kn_blob_u64(kn_blob *b, uint64_t v);
void kn_blob_text(kn_blob *b, const char *s);

/* ---- key.c ---- */

/* Everything that the code depends on. */
void kn_cache_key(kn_blob *b, const kn_prog *optimised, const kn_resolved *r);

/* ---- entry.c ---- */

typedef enum kn_entry_state { KN_ENTRY_GOOD, KN_ENTRY_OTHER, KN_ENTRY_DAMAGED, KN_ENTRY_NOMEM } kn_entry_state;

void kn_entry_write(kn_blob *b, const char *key, size_t key_bytes, const kn_image *image);
/* The image points into the bytes and the arena. OTHER: an entry of another key. */
kn_entry_state kn_entry_read(kn_arena *arena, const char *s, size_t n, const char *key, size_t key_bytes, kn_image *out);

/* ---- store.c ---- */

typedef struct kn_store {
    kiln_ctx *ctx;
    const char *dir;
    char path[KN_CACHE_PATH + 64]; /* of the entry */
    uint64_t lock_at;              /* its place in the file of locks */
    int locks;                     /* that file, -1: not open */
    bool locked;
} kn_store;

void kn_store_begin(kn_store *s, kiln_ctx *ctx, const char *dir, const char *key, size_t key_bytes);
bool kn_store_load(kn_store *s, kn_bytes *out); /* false: no such file, or it cannot be read */
void kn_store_lock(kn_store *s);                /* waits for others that make the same entry, but not for ever */
bool kn_store_save(kn_store *s, const void *p, size_t n);
void kn_store_remove(kn_store *s);
void kn_store_end(kn_store *s);

#endif
