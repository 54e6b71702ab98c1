/* SPDX-License-Identifier: Apache-2.0 */
/* Routines on whole arrays: sorts, transforms, factorisations. The interpreter evaluates with them, and compiled code calls them
 * (statement `call` of the loop language), so both give the same bits by construction. A routine stands in the file of its
 * primitive; routine.c has the one table of their names.
 *
 * A call is: the routine, a few integers that say what to do and on which shapes, results and operands in memory, dense and
 * row-major; complex arrays are arrays of their parts, twice as many, and the integers say which. Binding checks that all of it fits and makes what the routine wants to know beforehand (tables of roots, a
 * function of LAPACK): calls themselves allocate nothing, lock nothing and may run in many threads at once. */
#ifndef KN_PRIM_ROUTINE_H
#define KN_PRIM_ROUTINE_H

#include "ir/prim.h"
#include "rt/math_table.h"

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

/* Of a call whose work threads share. */
typedef struct kn_call_share {
    size_t work_bytes, own_bytes; /* workspace of all together, and of each */
    double cost;                  /* of the most that they share at one time, as of a loop (loop/split.c); 0: nothing */
} kn_call_share;

struct kn_routine {
    const char *name;
    /* Is the call one that the routine can make? Says how many bytes of workspace each run needs (aligned to 64, contents of no
     * importance). With an arena, also makes what `run` gets as `self`, which lives as long as the arena and is only read.
     * Errors: KILN_INVALID the call does not fit; KILN_UNSUPPORTED a library is not there; KILN_NOMEM. */
    kiln_status (*bind)(kiln_ctx *ctx, kn_arena *arena, const kn_call *c, const void **self, size_t *work_bytes);
    /* Writes every element of every result. Results overlap no operand and no other result. */
    void (*run)(const void *self, void *const *arrays, void *work);
    /* Where threads may share the work, else NULL: what `run_shared` needs, of a call that fits. It gives the bits of `run`. */
    void (*share)(const kn_call *c, kn_call_share *out);
    void (*run_shared)(const void *self, void *const *arrays, void *work, const kn_crew *crew);
};

/* The sorted table. */
const kn_routine *kn_routine_find(const char *name, size_t n);
const kn_routine *const *kn_routines(uint32_t *n);

/* The call of an equation whose primitive has the rule `call`; ints and arrays stand in the arena. */
kiln_status kn_call_of(kiln_ctx *ctx, kn_arena *arena, const kn_jaxpr *j, const kn_eqn *e, kn_call *c);
/* The rule eval of such primitives. */
kiln_status kn_eval_call(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out);

/* ---- for routines ---- */

/* Iterations lo..hi, by those that come. */
static inline void kn_crew_run(const kn_crew *w, kn_range range, void *const *frame, int64_t lo, int64_t hi, int64_t cost)
{
    if (w->table) w->table->split(w->table, w->call, range, frame, lo, hi, 1, cost);
    else range(frame, lo, hi, 0);
}
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

/* Real or complex numbers in memory; the parts of a complex one stand side by side. */
typedef struct kn_parts {
    kiln_dtype dtype; /* of a part */
    bool complex;
    char *data;
} kn_parts;
/* Does array `at` hold n numbers with parts of type d? */
bool kn_parts_fit(const kn_call *c, uint32_t at, kiln_dtype d, bool complex, int64_t n);
static inline void kn_parts_load(const kn_parts *p, int64_t k, double *re, double *im)
{
    *re = kn_scalar_load(p->dtype, p->data, p->complex ? 2 * k : k).f;
    *im = p->complex ? kn_scalar_load(p->dtype, p->data, 2 * k + 1).f : 0;
}
static inline void kn_parts_store(const kn_parts *p, int64_t k, double re, double im)
{
    kn_scalar_store(p->dtype, p->data, p->complex ? 2 * k : k, (kn_scalar){.f = re});
    if (p->complex) kn_scalar_store(p->dtype, p->data, 2 * k + 1, (kn_scalar){.f = im});
}

#endif
