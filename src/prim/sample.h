/* SPDX-License-Identifier: Apache-2.0 */
/* Random legal instances of primitives, for property tests. Operands always include the edge values of their type as far as
 * there is room: both zeros, infinities, NaN, subnormals, the extreme numbers. The same request gives the same instance. */
#ifndef KN_PRIM_SAMPLE_H
#define KN_PRIM_SAMPLE_H

#include "ir/prim.h"

enum { KN_SAMPLE_INPUTS = 16 };

typedef struct kn_sample_opts {
    uint64_t seed;
    int64_t length;  /* size of the longest dimension; 0 and 1 are good sizes */
    uint64_t dtypes; /* set of 1u << dtype to draw from; 0: f32 f64 i32 i64 bool */
} kn_sample_opts;

/* A program of one equation (bodies have more) and its inputs, which the caller releases as the program. KILN_UNSUPPORTED:
 * the primitive has no sample rule; KILN_DTYPE: it takes none of the dtypes. */
kiln_status kn_sample_program(kiln_ctx *ctx, const kn_prim *prim, const kn_sample_opts *opts, kiln_prog **prog,
                              kiln_array *in[KN_SAMPLE_INPUTS], uint32_t *nin);

/* ---- for sample rules: an error sticks in `status` ---- */
struct kn_sample {
    kiln_ctx *ctx;
    const kn_prim *prim;
    kn_build b;
    uint64_t state;
    int64_t length;
    uint64_t dtypes;
    bool tame; /* floats stay finite when summed and multiplied a little, so that the order of sums shows */
    kiln_array *in[KN_SAMPLE_INPUTS];
    uint32_t nin;
    KN_VEC(kn_atom) out;
};

uint64_t kn_sample_bits(kn_sample *s);
int64_t kn_sample_below(kn_sample *s, int64_t n);                /* 0..n-1 */
int64_t kn_sample_between(kn_sample *s, int64_t lo, int64_t hi); /* inclusive */
kiln_status kn_sample_dtype(kn_sample *s, const char *kinds, kiln_dtype *out);
/* Some shape of this rank: one dimension is the length, the others are small. */
void kn_sample_shape(kn_sample *s, uint32_t rank, int64_t *dims);
/* A new input of the program with random values. */
kiln_status kn_sample_input(kn_sample *s, kiln_type type, kn_atom *out);
/* An integer scalar input lo..hi, now and then an extreme value. */
kiln_status kn_sample_index(kn_sample *s, kiln_dtype d, int64_t lo, int64_t hi, kn_atom *out);
/* The equation; its results become the program's outputs. */
kiln_status kn_sample_emit(kn_sample *s, const kn_param *params, const kn_atom *in, uint32_t nin, uint32_t nout);

/* ---- the rules ---- */
#define KN_SAMPLE_RULES(X)                                                                                            \
    X(elementwise) X(convert) X(select_n) X(broadcast_in_dim) X(reshape) X(squeeze) X(transpose) X(rev) X(iota)        \
    X(slice) X(dynamic_slice) X(dynamic_update_slice) X(split) X(concatenate) X(stack) X(pad) X(reduce) X(cumulative)  \
    X(arg) X(dot) X(call) X(while) X(cond) X(scan)                                                                                  \
    X(barrier) X(fold) X(window) X(window_any) X(select_and_scatter) X(gather) X(scatter) X(sort) X(top_k) X(bitcast)   \
    X(reduce_precision) X(integers) X(threefry) X(rng) X(complex) X(fft) X(cholesky) X(triangular_solve) X(lapack) X(conv) \
    X(matrix) X(pivots) X(tridiagonal) X(householder) X(linear_solve) X(key) \
    X(unstack) X(tile) X(pivoted) X(reflections) X(polynomial) X(platform) X(empty) X(token) X(uniform) X(scale) X(search) X(ragged) X(rank)
#define X(rule) kiln_status kn_sample_##rule(kn_sample *s);
KN_SAMPLE_RULES(X)
#undef X

#endif
