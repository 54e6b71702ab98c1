/* SPDX-License-Identifier: Apache-2.0 */
/* Routines on whole arrays: sorts, transforms, factorisations. The interpreter evaluates with them, and compiled code calls them
 * (statement `call` of the loop language), so both give the same bits by construction. A routine stands in the file of its
 * primitive; routine.c has the one table of their names.
 *
 * A call is: the routine, a few integers that say what to do and on which shapes, results and operands in memory, dense and
 * row-major. Binding checks that all of it fits and makes what the routine wants to know beforehand (tables of roots, a
 * function of LAPACK): calls themselves allocate nothing, lock nothing and may run in many threads at once. */
#ifndef KN_PRIM_ROUTINE_H
#define KN_PRIM_ROUTINE_H

#include "ir/prim.h"

typedef struct kn_call_array {
    kiln_dtype dtype;
    int64_t elements;
} kn_call_array;

struct kn_call {
    const kn_routine *routine;
    const int64_t *ints;
    uint32_t n_ints;
    const kn_call_array *arrays; /* results, then operands */
    uint32_t nout, nin;
};

struct kn_routine {
    const char *name;
    /* Is the call one that the routine can make? Says how many bytes of workspace each run needs (aligned to 64, contents of no
     * importance). With an arena, also makes what `run` gets as `self`, which lives as long as the arena and is only read.
     * Errors: KILN_INVALID the call does not fit; KILN_UNSUPPORTED a library is not there; KILN_NOMEM. */
    kiln_status (*bind)(kiln_ctx *ctx, kn_arena *arena, const kn_call *c, const void **self, size_t *work_bytes);
    /* Writes every element of every result. Results overlap no operand and no other result. */
    void (*run)(const void *self, void *const *arrays, void *work);
};

/* The sorted table. */
const kn_routine *kn_routine_find(const char *name, size_t n);
const kn_routine *const *kn_routines(uint32_t *n);

/* The call of an equation whose primitive has the rule `call`; ints and arrays stand in the arena. */
kiln_status kn_call_of(kiln_ctx *ctx, kn_arena *arena, const kn_jaxpr *j, const kn_eqn *e, kn_call *c);
/* The rule eval of such primitives. */
kiln_status kn_eval_call(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out);

/* ---- for routines ---- */

/* A copy of `ints` for a call. */
kiln_status kn_call_ints(kiln_ctx *ctx, kn_arena *arena, kn_call *c, const int64_t *ints, uint32_t n);
/* Of binding: */
kiln_status kn_call_refuse(kiln_ctx *ctx, const kn_call *c); /* KILN_INVALID, with the call in words */
#define KN_CALL_CHECK(ctx, c, ok)                                                                  \
    do {                                                                                           \
        if (!(ok)) return kn_call_refuse((ctx), (c));                                              \
    } while (0)
/* All of them at least 0, and their product representable: the product, else -1. */
int64_t kn_call_product(const int64_t *v, uint32_t n);
/* Room for `n` times `size` bytes more in a workspace, kept aligned to 64: where it begins. */
bool kn_call_room(size_t *work_bytes, int64_t n, size_t size, size_t *at);

/* Real or complex numbers in memory. Complex ones stand either in one array, or as real and imaginary parts in two. */
typedef struct kn_parts {
    kiln_dtype dtype; /* of a part */
    const char *re, *im; /* im NULL: real */
    int64_t step;        /* elements of `dtype` from one number to the next */
} kn_parts;
typedef struct kn_parts_kind {
    kiln_dtype dtype;
    bool complex, split;
} kn_parts_kind;
/* From the first array and the call's flag: real, complex in one array, complex in two. False where it is none of these. */
bool kn_parts_kind_of(kiln_dtype first, bool complex, kn_parts_kind *k);
static inline uint32_t kn_parts_count(kn_parts_kind k) { return k.split ? 2 : 1; }
/* Do arrays at, (at + 1) hold so many numbers? */
bool kn_parts_fit(const kn_call *c, kn_parts_kind k, uint32_t at, int64_t n);
kn_parts kn_parts_at(kn_parts_kind k, void *const *arrays, uint32_t at);
static inline void kn_parts_load(const kn_parts *p, int64_t k, double *re, double *im)
{
    *re = kn_scalar_load(p->dtype, p->re, k * p->step).f;
    *im = p->im ? kn_scalar_load(p->dtype, p->im, k * p->step).f : 0;
}
static inline void kn_parts_store(const kn_parts *p, int64_t k, double re, double im)
{
    kn_scalar_store(p->dtype, (char *)(uintptr_t)p->re, k * p->step, (kn_scalar){.f = re});
    if (p->im) kn_scalar_store(p->dtype, (char *)(uintptr_t)p->im, k * p->step, (kn_scalar){.f = im});
}

#endif
