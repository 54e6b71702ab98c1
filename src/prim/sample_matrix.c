/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of the factorisations: small matrices of numbers that stay finite. */
#include "prim/common.h"
#include "prim/sample.h"

#include "prims.gen.h"

/* f64 or f32; complex numbers where only they, or now and then they too, may be drawn. */
static kiln_status precision(kn_sample *s, kiln_dtype *d)
{
    static const kiln_dtype order[] = {KILN_F64, KILN_F32, KILN_C128, KILN_C64};
    bool whole = (s->dtypes >> KILN_C128 | s->dtypes >> KILN_C64) & 1, real = s->dtypes == 0 || ((s->dtypes >> KILN_F64 | s->dtypes >> KILN_F32) & 1);
    uint32_t first = whole && (!real || kn_sample_below(s, 2)) ? 2 : 0;
    for (uint32_t i = first; i < first + 2; i++) {
        *d = order[i];
        if (!s->dtypes || s->dtypes >> *d & 1) return KILN_OK;
    }
    return kn_fail(s->ctx, KILN_DTYPE, "%s takes none of the element types to draw from", s->prim->name);
}

static kiln_status small_matrix(kn_sample *s, bool square, kiln_type *t, int64_t *dims, kn_atom *x)
{
    kiln_dtype d;
    KILN_TRY(precision(s, &d));
    int64_t n = s->length < 6 ? s->length : 6;
    s->tame = true;
    dims[0] = 2;
    dims[1] = square ? n : kn_sample_between(s, 1, 4);
    dims[2] = n;
    if (!square && kn_sample_below(s, 2)) dims[2] = dims[1], dims[1] = n;
    *t = (kiln_type){d, 3, dims};
    return kn_sample_input(s, *t, x);
}

kiln_status kn_sample_matrix(kn_sample *s)
{
    int64_t dims[3];
    kiln_type t;
    kn_atom x;
    const char *name = s->prim->name;
    bool lower = kn_sample_below(s, 2) != 0, other = kn_sample_below(s, 2) != 0;
    bool square = strcmp(name, "eigh") == 0 || strcmp(name, "eig") == 0 || strcmp(name, "schur") == 0 || strcmp(name, "hessenberg") == 0 ||
                  strcmp(name, "tridiagonal") == 0;
    KILN_TRY(small_matrix(s, square, &t, dims, &x));
    if (strcmp(name, "eig") == 0) return kn_sample_emit(s, (kn_param[]){KN_BOOL(lower), KN_BOOL(other), KN_NONE, KN_NONE}, &x, 1, 1u + lower + other);
    if (strcmp(name, "schur") == 0) return kn_sample_emit(s, (kn_param[]){KN_BOOL(lower), KN_NONE, KN_BOOL(false)}, &x, 1, lower ? 2 : 1);
    if (strcmp(name, "tridiagonal") == 0) return kn_sample_emit(s, &KN_BOOL(lower), &x, 1, 4);
    if (strcmp(name, "eigh") == 0) return kn_sample_emit(s, (kn_param[]){KN_NONE, KN_BOOL(lower), KN_NONE, KN_NONE}, &x, 1, 2);
    if (strcmp(name, "svd") == 0) return kn_sample_emit(s, (kn_param[]){KN_NONE, KN_BOOL(lower), KN_BOOL(other), KN_NONE}, &x, 1, lower ? 3 : 1);
    if (strcmp(name, "qr") == 0) return kn_sample_emit(s, (kn_param[]){KN_BOOL(lower), KN_BOOL(other), KN_NONE}, &x, 1, other ? 3 : 2);
    return kn_sample_emit(s, NULL, &x, 1, strcmp(name, "lu") == 0 ? 3 : 2);
}

kiln_status kn_sample_pivots(kn_sample *s)
{
    int64_t n = s->length < 20 ? s->length : 20, dims[2] = {2, n};
    kiln_type t = {KILN_I32, 2, dims};
    kn_atom x;
    KILN_TRY(kn_sample_input(s, t, &x));
    int32_t *v = s->in[s->nin - 1]->data; /* pivot i is a row from i on */
    for (int64_t k = 0; k < 2 * n; k++) v[k] = (int32_t)kn_sample_between(s, k % n, n);
    return kn_sample_emit(s, &KN_INT(n + 1), &x, 1, 1);
}

kiln_status kn_sample_tridiagonal(kn_sample *s)
{
    int64_t n = s->length < 9 ? s->length : 9, dims[3] = {2, n, 2};
    kiln_dtype d;
    kn_atom x[4];
    KILN_TRY(precision(s, &d));
    s->tame = true;
    for (uint32_t i = 0; i < 4; i++) KILN_TRY(kn_sample_input(s, (kiln_type){d, i < 3 ? 2 : 3, dims}, &x[i]));
    return kn_sample_emit(s, (kn_param[]){KN_BOOL(false)}, x, 4, 1);
}

kiln_status kn_sample_householder(kn_sample *s)
{
    kiln_dtype d;
    KILN_TRY(precision(s, &d));
    int64_t n = s->length < 6 ? s->length : 6, dims[3] = {2, n + kn_sample_below(s, 3), n};
    kn_atom x[2];
    s->tame = true;
    KILN_TRY(kn_sample_input(s, (kiln_type){d, 3, dims}, &x[0]));
    KILN_TRY(kn_sample_input(s, (kiln_type){d, 2, (int64_t[]){2, n}}, &x[1]));
    return kn_sample_emit(s, NULL, x, 2, 1);
}

/* A matrix and what an update of it is made with. */
kiln_status kn_sample_rank(kn_sample *s)
{
    bool product = s->prim->nparams > 0;
    int64_t n = s->length < 6 ? s->length : 6, square[3] = {2, n, n}, wide[3] = {2, n, kn_sample_between(s, 0, 4)};
    kiln_dtype d;
    kn_atom x[2];
    kn_param factors[2] = {{.kind = KN_P_FLOAT, .f = 0.5}, KN_INT(kn_sample_between(s, -1, 2))};
    s->tame = true;
    KILN_TRY(product ? precision(s, &d) : kn_sample_dtype(s, "f", &d));
    KILN_TRY(kn_sample_input(s, product ? (kiln_type){d, 3, wide} : (kiln_type){d, 2, square + 1}, &x[0]));
    KILN_TRY(kn_sample_input(s, product ? (kiln_type){d, 3, square} : (kiln_type){d, 1, &n}, &x[1]));
    return kn_sample_emit(s, product ? factors : NULL, x, 2, 1);
}

/* Columns that are free and some that are to come first. */
kiln_status kn_sample_pivoted(kn_sample *s)
{
    int64_t dims[3];
    kiln_type t;
    kn_atom x[2];
    KILN_TRY(small_matrix(s, false, &t, dims, &x[0]));
    KILN_TRY(kn_sample_input(s, (kiln_type){KILN_I32, 2, (int64_t[]){dims[0], dims[2]}}, &x[1]));
    int32_t *v = s->in[s->nin - 1]->data;
    for (int64_t k = 0; k < dims[0] * dims[2]; k++) v[k] = kn_sample_below(s, 3) == 0;
    return kn_sample_emit(s, &KN_NONE, x, 2, 3);
}

kiln_status kn_sample_reflections(kn_sample *s)
{
    kiln_dtype d;
    KILN_TRY(precision(s, &d));
    bool left = kn_sample_below(s, 2) != 0, adjoint = kn_sample_below(s, 2) != 0;
    int64_t n = s->length < 6 ? s->length : 6, m = n + kn_sample_below(s, 3), k = kn_sample_between(s, 0, n), other = kn_sample_between(s, 0, 4);
    kn_atom x[3];
    s->tame = true;
    KILN_TRY(kn_sample_input(s, (kiln_type){d, 3, (int64_t[]){2, m, n}}, &x[0]));
    KILN_TRY(kn_sample_input(s, (kiln_type){d, 2, (int64_t[]){2, k}}, &x[1]));
    KILN_TRY(kn_sample_input(s, (kiln_type){d, 3, (int64_t[]){2, left ? m : other, left ? other : m}}, &x[2]));
    return kn_sample_emit(s, (kn_param[]){KN_BOOL(left), KN_BOOL(adjoint)}, x, 3, 1);
}

/* A system of one unknown each: a x = b by division, whose other programs are products. */
kiln_status kn_sample_linear_solve(kn_sample *s)
{
    static const char *const keys[] = {"matvec", "vecmat", "solve", "transpose_solve"};
    kiln_dtype d;
    KILN_TRY(precision(s, &d));
    kiln_type t = {d, 1, &s->length};
    kn_param counts[4], bodies[4];
    kn_atom x[5], in[2], y;
    for (int i = 0; i < 4; i++) {
        const kn_jaxpr *body;
        kn_build own;
        kn_build_init(&own, s->ctx, s->b.prog);
        for (int k = 0; k < 2; k++) KILN_TRY(kn_build_input(&own, t, &in[k]));
        if (i < 2) KILN_TRY(kn_build_eqn(&own, &kn_prim_mul, &KN_NONE, in, 2, &y, 1));
        else KILN_TRY(kn_build_eqn(&own, &kn_prim_div, NULL, (kn_atom[]){in[1], in[0]}, 2, &y, 1));
        KILN_TRY(kn_build_finish(&own, &y, 1, &body));
        counts[i] = KN_INT(1);
        bodies[i] = KN_JAXPR(body);
    }
    for (int i = 0; i < 2; i++) KILN_TRY(kn_sample_input(s, t, &x[i ? 4 : 0]));
    for (int i = 1; i < 4; i++) x[i] = x[0];
    kn_param params[] = {{.kind = KN_P_RECORD, .n = 4, .items = counts, .name = "_LinearSolveTuple", .keys = keys},
                         {.kind = KN_P_RECORD, .n = 4, .items = bodies, .name = "_LinearSolveTuple", .keys = keys}};
    return kn_sample_emit(s, params, x, 5, 1);
}

/* Keys are made of words that are inputs, so that every value that is compared is a number. */
kiln_status kn_sample_key(kn_sample *s)
{
    const char *name = s->prim->name;
    int64_t n = s->length < 5 ? s->length : 5, dims[2] = {n, 2}, shape[2] = {kn_sample_between(s, 0, 3), s->length};
    kn_atom words, x[2];
    bool wide = kn_sample_below(s, 2) != 0;
    if (strcmp(name, "random_seed") == 0) {
        KILN_TRY(kn_sample_input(s, (kiln_type){wide ? KILN_I64 : KILN_U32, 1, dims}, &words));
        return kn_sample_emit(s, &KN_TEXT("fry"), &words, 1, 1);
    }
    KILN_TRY(kn_sample_input(s, (kiln_type){KILN_U32, 2, dims}, &words));
    if (strcmp(name, "random_wrap") == 0) return kn_sample_emit(s, &KN_TEXT("fry"), &words, 1, 1);
    KILN_TRY(kn_build_eqn(&s->b, &kn_prim_random_wrap, &KN_TEXT("fry"), &words, 1, &x[0], 1));
    if (strcmp(name, "random_unwrap") == 0 || strcmp(name, "random_clone") == 0) return kn_sample_emit(s, NULL, x, 1, 1);
    if (strcmp(name, "random_split") == 0) return kn_sample_emit(s, &KN_INTS(2, shape), x, 1, 1);
    if (strcmp(name, "random_bits") == 0)
        return kn_sample_emit(s, (kn_param[]){KN_INT(8 << kn_sample_below(s, 4)), KN_INTS(2, shape)}, x, 1, 1);
    if (strcmp(name, "random_gamma") == 0) {
        kiln_type a = {.rank = wide ? 2 : 1, .dims = dims};
        KILN_TRY(kn_sample_dtype(s, "f", &a.dtype));
        KILN_TRY(kn_sample_input(s, a, &x[1]));
        return kn_sample_emit(s, &KN_BOOL(kn_sample_below(s, 2) != 0), x, 2, 1);
    }
    KILN_TRY(kn_sample_input(s, (kiln_type){KILN_U32, wide ? 1 : 0, dims}, &x[1]));
    return kn_sample_emit(s, NULL, x, 2, 1);
}
