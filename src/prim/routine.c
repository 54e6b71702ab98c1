/* SPDX-License-Identifier: Apache-2.0 */
#include "prim/routine.h"

#include <inttypes.h>
#include <stdio.h>

/* In the order of their names. */
#define ROUTINES(X)                                                                                \
    X(cholesky) X(fft) X(lapack_gees) X(lapack_geev) X(lapack_gehrd) X(lapack_geqp3) X(lapack_geqrf) \
    X(lapack_gesdd) X(lapack_gesvd) X(lapack_getrf) X(lapack_gtsv) X(lapack_orgqr) \
    X(lapack_ormqr) X(lapack_potrf) X(lapack_syevd) X(lapack_sytrd) \
    X(sort) X(top_k) X(triangular_solve)

#define DECLARE(name) extern const kn_routine kn_routine_##name;
ROUTINES(DECLARE)

#define ENTRY(name) &kn_routine_##name,
static const kn_routine *const table[] = {ROUTINES(ENTRY)};

const kn_routine *const *kn_routines(uint32_t *n)
{
    *n = sizeof table / sizeof *table;
    return table;
}

static int compare(const char *a, const char *s, size_t n)
{
    int c = strncmp(a, s, n);
    return c ? c : a[n] != 0;
}

const kn_routine *kn_routine_find(const char *name, size_t n)
{
    size_t lo = 0, hi = sizeof table / sizeof *table;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = compare(table[mid]->name, name, n);
        if (c == 0) return table[mid];
        if (c < 0) lo = mid + 1;
        else hi = mid;
    }
    return NULL;
}

/* ---- calls ---- */

kiln_status kn_call_of(kiln_ctx *ctx, kn_arena *arena, const kn_jaxpr *j, const kn_eqn *e, kn_call *c)
{
    kn_call_array *a = KN_NEWN(arena, kn_call_array, e->nout + e->nin);
    KILN_TRY_MEM(ctx, a);
    *c = (kn_call){.arrays = a, .nout = e->nout, .nin = e->nin};
    for (uint32_t i = 0; i < e->nout + e->nin; i++) {
        kiln_type t = i < e->nout ? j->vars[e->out[i]].type : kn_type_of(j, e->in[i - e->nout]);
        bool complex = kiln_dtype_kind(t.dtype) == 'c';
        a[i] = (kn_call_array){complex ? kn_part_dtype(t.dtype) : t.dtype, kiln_type_size(t) * (complex ? 2 : 1)};
    }
    return e->prim->call(ctx, arena, j, e, c);
}

static kiln_status run_once(kn_eval *ev, kn_arena *temp, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    kn_call c;
    const void *self;
    size_t bytes;
    KILN_TRY(kn_call_of(ev->ctx, temp, j, e, &c));
    KILN_TRY(c.routine->bind(ev->ctx, temp, &c, &self, &bytes));
    void **arrays = KN_NEWN(temp, void *, e->nout + e->nin), *work = kn_new_aligned(&ev->ctx->alloc, bytes + 1, 64);
    if (arrays && work) {
        for (uint32_t i = 0; i < e->nout; i++) arrays[i] = out[i]->data;
        for (uint32_t i = 0; i < e->nin; i++) arrays[e->nout + i] = in[i]->data;
        c.routine->run(self, arrays, work);
    }
    kn_free_aligned(&ev->ctx->alloc, work, bytes + 1, 64);
    return arrays && work ? KILN_OK : kn_nomem(ev->ctx);
}

kiln_status kn_eval_call(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    kn_arena temp;
    kn_arena_init(&temp, &ev->ctx->alloc);
    kiln_status s = run_once(ev, &temp, j, e, in, out);
    kn_arena_fini(&temp);
    return s;
}

/* ---- for routines ---- */

kiln_status kn_call_ints(kiln_ctx *ctx, kn_arena *arena, kn_call *c, const int64_t *ints, uint32_t n)
{
    KILN_TRY_MEM(ctx, c->ints = kn_arena_copy(arena, ints, n * sizeof *ints));
    c->n_ints = n;
    return KILN_OK;
}

kiln_status kn_call_refuse(kiln_ctx *ctx, const kn_call *c)
{
    char s[200];
    size_t n = 0;
    for (uint32_t i = 0; i < c->n_ints && n + 24 < sizeof s; i++) n += (size_t)snprintf(s + n, sizeof s - n, "%s%" PRId64, i ? ", " : "", c->ints[i]);
    s[n] = 0;
    return kn_fail(ctx, KILN_INVALID, "call of %s(%s) with %u results and %u operands: they do not fit together", c->routine->name, s, c->nout, c->nin);
}

int64_t kn_call_product(const int64_t *v, uint32_t n)
{
    int64_t p = 1;
    for (uint32_t i = 0; i < n; i++)
        if (v[i] < 0 || __builtin_mul_overflow(p, v[i], &p)) return -1;
    return p;
}

bool kn_call_room(size_t *work_bytes, int64_t n, size_t size, size_t *at)
{
    size_t bytes;
    *at = *work_bytes;
    return n >= 0 && kn_mul_size((size_t)n, size, &bytes) && kn_add_size(bytes, 63, &bytes) && kn_add_size(*work_bytes, bytes & ~(size_t)63, work_bytes);
}

bool kn_parts_fit(const kn_call *c, uint32_t at, kiln_dtype d, bool complex, int64_t n)
{
    return at < c->nout + c->nin && c->arrays[at].dtype == d && n >= 0 && n <= INT64_MAX / 2 && c->arrays[at].elements == (complex ? 2 * n : n);
}
