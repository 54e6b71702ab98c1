/* SPDX-License-Identifier: Apache-2.0 */
/* LAPACK's custom calls, lapack_dpotrf_ffi and the like: letters of the routine stand in mhlo.backend_config, matrices are asked for
 * in column-major memory. */
#include "hlo/import.h"
#include "hlo/lapack.h"

#include "prim/lowering.h"

typedef kn_lapack_target target;

static const target targets[] = {
    {"gees", "gees", "gees", {"mode", "sort", NULL}, 0, 1},
    {"geev", "geev", "geev", {"compute_left", "compute_right", NULL}, 0, 0},
    {"gehrd", "gehrd", "gehrd", {NULL, NULL, NULL}, 0, 1},
    {"geqp3", "geqp3", "geqp3", {NULL, NULL, NULL}, 0, 2},
    {"geqrf", "geqrf", "geqrf", {NULL, NULL, NULL}, 0, 1},
    {"gesdd", "gesdd", "gesdd", {"mode", NULL, NULL}, 0, 1},
    {"gesvd", "gesvd", "gesvd", {"mode", "mode", NULL}, 0, 1},
    {"getrf", "getrf", "getrf", {NULL, NULL, NULL}, 0, 1},
    {"gtsv", "gtsv", "gtsv", {NULL, NULL, NULL}, 0, 4},
    {"orgqr", "ungqr", "orgqr", {NULL, NULL, NULL}, 0, 1},
    {"ormqr", "unmqr", "ormqr", {"side", "transpose", NULL}, 2, 1},
    {"potrf", "potrf", "potrf", {"uplo", NULL, NULL}, 0, 1},
    {"syevd", "heevd", "syevd", {"mode", "uplo", NULL}, 0, 1},
    {"sytrd", "hetrd", "sytrd", {"uplo", NULL, NULL}, 0, 1},
    {"trsm", "trsm", "trsm", {NULL, NULL, NULL}, 1, 1},
};

const kn_lapack_target *kn_lapack_targets(uint32_t *n)
{
    *n = sizeof targets / sizeof *targets;
    return targets;
}

const kn_lapack_target *kn_lapack_find_target(const char *routine)
{
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (strcmp(targets[i].routine, routine) == 0) return &targets[i];
    return NULL;
}

/* A letter of the configuration: its ASCII code, or a string of one letter. */
static kiln_status letter(kn_himport *h, const kn_mop *o, const char *name, char *out)
{
    const kn_mattr *config = kn_mop_attr(o, "mhlo.backend_config");
    const kn_mattr *a = config && config->kind == KN_MA_DICT ? kn_mattr_find(config->fields, config->n, name) : NULL;
    if (!a) return kn_hbad(h, o, "mhlo.backend_config lacks %s", name);
    if (a->kind == KN_MA_INT && a->i > 32 && a->i < 127) *out = (char)a->i;
    else if (a->kind == KN_MA_STRING && a->text.n == 1) *out = a->text.s[0];
    else return kn_hbad(h, o, "%s in mhlo.backend_config is no letter", name);
    return KILN_OK;
}

/* Matrices must lie column by column: layouts name dimensions from the fastest, so the last but one comes first. */
static kiln_status column_major(kn_himport *h, const kn_mop *o)
{
    const kn_mattr *a = kn_mop_attr(o, "operand_layouts");
    const int64_t *v;
    uint32_t n;
    if (!a || a->kind != KN_MA_LIST || a->n == 0) return KILN_OK;
    const kn_mattr *first = &a->items[a->n - 1]; /* the last operand is a matrix in every routine but orgqr and geqp3, whose first one is */
    KILN_TRY(kn_mattr_ints(h->m, first, &v, &n));
    if (a->n == 2) KILN_TRY(kn_mattr_ints(h->m, &a->items[0], &v, &n));
    if (n < 2 || v[0] == (int64_t)n - 2) return KILN_OK;
    return kn_hrefuse(h, o, "column-major layouts, as jax.numpy.linalg asks for", "a LAPACK call on row-major matrices");
}

/* gehrd can be told that only rows low..high are left to reduce. */
static kiln_status whole_matrix(kn_himport *h, const kn_mop *o)
{
    const kn_mattr *config = kn_mop_attr(o, "mhlo.backend_config");
    bool given = config && config->kind == KN_MA_DICT;
    const kn_mattr *low = given ? kn_mattr_find(config->fields, config->n, "low") : NULL;
    const kn_mattr *high = given ? kn_mattr_find(config->fields, config->n, "high") : NULL;
    kn_atom x;
    KILN_TRY(kn_hcount(h, o, 1, 3));
    KILN_TRY(kn_hin(h, o, 0, &x));
    kiln_type t = kn_htype(h, x);
    if ((!low || low->i == 1) && (!high || t.rank == 0 || high->i == t.dims[t.rank - 1])) return KILN_OK;
    return kn_hrefuse(h, o, "low = 1 and high = n, the whole matrix", "gehrd on some of the rows");
}

static kiln_status trsm(kn_himport *h, const kn_mop *o)
{
    char side, uplo, trans, diag;
    kn_atom in[2], y;
    KILN_TRY(kn_hcount(h, o, 2, 1));
    for (uint32_t k = 0; k < 2; k++) KILN_TRY(kn_hin(h, o, k, &in[k]));
    KILN_TRY(letter(h, o, "side", &side));
    KILN_TRY(letter(h, o, "uplo", &uplo));
    KILN_TRY(letter(h, o, "trans_x", &trans));
    KILN_TRY(letter(h, o, "diag", &diag));
    kn_param params[] = {KN_BOOL(trans == 'C'), KN_BOOL(side == 'L'), KN_BOOL(uplo == 'L'), KN_BOOL(trans != 'N'), KN_BOOL(diag == 'U')};
    KILN_TRY(kn_heqn1(h, o, &kn_prim_triangular_solve, params, in, 2, &y));
    return kn_hset(h, o, 0, y);
}

/* gesdd and gesvd without vectors: what stands in their place is not looked at, and the text may name it in the thin shape. */
static kiln_status without_vectors(kn_himport *h, const kn_mop *o, kn_atom *out)
{
    kiln_type full[2] = {kn_htype(h, out[2]), kn_htype(h, out[3])};
    uint32_t r = full[0].rank;
    int64_t m = full[0].dims[r - 1], n = full[1].dims[r - 1], small = m < n ? m : n;
    for (uint32_t k = 0; k < 2; k++) {
        kiln_type want;
        uint32_t thin = r - 1 - k; /* columns of u, rows of vt */
        KILN_TRY(kn_hresult(h, o, 2 + k, &want));
        bool fits = want.rank == r && want.dtype == full[k].dtype && want.dims[thin] == small && small != full[k].dims[thin];
        for (uint32_t d = 0; fits && d < r; d++) fits = d == thin || want.dims[d] == full[k].dims[d];
        if (!fits) continue;
        kn_low l = {h->b, KILN_OK};
        out[2 + k] = kn_low_fill(&l, want, (kn_scalar){.c = {0, 0}});
        KILN_TRY(kn_hplaced(h, o, l.status));
    }
    return KILN_OK;
}

kiln_status kn_hlapack(kn_himport *h, const kn_mop *o, kn_span name)
{
    enum { PREFIX = 7, SUFFIX = 4 }; /* lapack_ and _ffi */
    bool ffi = name.n > PREFIX + SUFFIX + 1 && memcmp(name.s + name.n - SUFFIX, "_ffi", SUFFIX) == 0;
    kn_span routine = {name.s + PREFIX + 1, ffi ? name.n - PREFIX - SUFFIX - 1 : 0};
    bool complex = ffi && (name.s[PREFIX] == 'c' || name.s[PREFIX] == 'z');
    const target *t = NULL;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (ffi && kn_span_is(routine, complex ? targets[i].complex_name : targets[i].name)) t = &targets[i];
    if (!t)
        return kn_hrefuse(h, o, "lapack_*_ffi of potrf getrf geqrf geqp3 orgqr ormqr syevd sytrd gehrd gesdd gesvd geev gees gtsv trsm", "the custom call @%.*s is not known",
                          KN_SPAN_ARG(name));
    KILN_TRY(column_major(h, o));
    if (strcmp(t->routine, "trsm") == 0) return trsm(h, o);
    if (strcmp(t->routine, "gehrd") == 0) KILN_TRY(whole_matrix(h, o));
    char options[4] = {0};
    for (int i = 0; t->options[i]; i++) KILN_TRY(letter(h, o, t->options[i], &options[i]));
    kn_atom *in, *out = KN_NEWN(h->arena, kn_atom, o->nout);
    KILN_TRY_MEM(h->ctx, out);
    KILN_TRY(kn_hin_all(h, o, &in));
    KILN_TRY(kn_heqn(h, o, &kn_prim_lapack, (kn_param[]){options[0] ? KN_TEXT(options) : KN_NONE, KN_TEXT(t->routine)}, in, o->nin, out, o->nout));
    if (strncmp(t->routine, "ges", 3) == 0 && o->nout == 5 && options[0] == 'N') KILN_TRY(without_vectors(h, o, out));
    for (uint32_t i = 0; i < o->nout; i++) KILN_TRY(kn_hset(h, o, i, out[i]));
    return KILN_OK;
}
