/* SPDX-License-Identifier: Apache-2.0 */
/* What a function is kept by, as bytes: parts, each a tag, the number of an argument, and contents. */
#ifndef KN_RUN_JIT_KEY_H
#define KN_RUN_JIT_KEY_H

#include "array/array.h"
#include "kiln/jit.h"

typedef struct kn_key {
    unsigned char *v;
    size_t n, cap;
} kn_key;

/* The type that an argument is traced with; its dims are those of the array, or in `dims`. */
kiln_type kn_arg_type(const kiln_arg *a, int64_t dims[KN_RANK_LIMIT]);
/* `alloc` holds the key. */
kiln_status kn_key_of_call(kiln_ctx *ctx, const kn_alloc *alloc, const kiln_fn *f, const kiln_arg *args, uint32_t n_args, kn_key *out);
/* inner: types of the body's arguments that are not static. */
kiln_status kn_key_of_trace(kiln_ctx *ctx, const kn_alloc *alloc, const kiln_fn *f, const kiln_arg *args, uint32_t n_args, const kiln_type *inner,
                            uint32_t n_inner, kn_key *out);
kiln_status kn_key_of_options(kiln_ctx *ctx, const kn_alloc *alloc, const kiln_compile_opts *o, kn_key *out);
void kn_key_free(const kn_alloc *alloc, kn_key *k);

bool kn_key_equal(const kn_key *a, const kn_key *b);
uint64_t kn_key_hash(const kn_key *k);

/* How many parts of two traces differ; KN_KEY_OTHER: they are not of one callback. */
#define KN_KEY_OTHER (~0u)
unsigned kn_key_distance(const kn_key *a, const kn_key *b);
/* "f: argument 0 (x) is f32[4], before f32[3]". before == NULL: a first call. Names are those of the arguments now. */
void kn_key_explain(const kn_key *before, const kn_key *now, const char *name, const kiln_arg *args, uint32_t n_args, char *out, size_t out_bytes);

#endif
