/* SPDX-License-Identifier: Apache-2.0 */
/* lapack: one LAPACK routine on batches of matrices. `options` holds its letters in the order of LAPACK's arguments. Results are
 * what the routine leaves behind, its status (info, i32) last where it has one.
 *   potrf uplo           a -> factor, info                gesdd jobz        a -> a, s, u, vt, info
 *   getrf                a -> lu, pivots, info            gesvd jobu jobvt  a -> a, s, u, vt, info
 *   geqrf                a -> qr, tau                     geev jobvl jobvr  a -> w (real: wr, wi), vl, vr, info
 *   orgqr (ungqr)        qr, tau -> q                     gehrd             a -> a, tau, info
 *   ormqr side trans     qr, tau, c -> c                  sytrd uplo        a -> a, d, e, tau, info
 *   syevd jobz uplo      a -> vectors, w, info            gtsv              dl, d, du, b -> dl, d, du, b, info
 *   geqp3                a, jpvt -> qr, jpvt, tau         gees jobvs sort   a -> t, vs, w (real: wr, wi), sdim, info */
#include "rt/lapack.h"
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/routine.h"
#include "prim/sample.h"

#include <math.h>

enum { OPTIONS, ROUTINE };
static const kn_param_spec lapack_params[] = {{"options", KN_P_TEXT, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE}, {"routine", KN_P_TEXT, 0}};

enum { MOST_ARRAYS = 6, COLUMN_MAJOR = 102 };
typedef int lapack_int;

/* One call: sizes of the matrices, and the batch in front of them. */
typedef struct sizes {
    int64_t m, n, k, p, q, batch;
    uint32_t batch_rank;
    const int64_t *batch_dims;
    char option[4];
} sizes;

/* Workspace; a length of -1 asks for the lengths, which are left in the first elements. */
typedef struct workspace {
    void *work, *rwork;
    lapack_int *iwork;
    lapack_int lwork, lrwork, liwork;
    bool complex;
} workspace;

/* Buffers of operands and of results, in the order of the table; results that begin as an operand hold it already. */
typedef lapack_int (*call_fn)(const sizes *z, kn_lapack_fn fn, void *const *in, void *const *out, const workspace *w);

#define CALL(...) ((lapack_int(*)(int, __VA_ARGS__))fn)
typedef void *P;
typedef lapack_int I;
static I at_least_one(int64_t v) { return v > 1 ? (I)v : 1; }
static I M(const sizes *z) { return (I)z->m; }
static I N(const sizes *z) { return (I)z->n; }

static I potrf(const sizes *z, kn_lapack_fn fn, void *const *in, void *const *out, const workspace *w)
{
    (void)in, (void)w;
    return CALL(char, I, P, I)(COLUMN_MAJOR, z->option[0], N(z), out[0], at_least_one(z->n));
}
static I getrf(const sizes *z, kn_lapack_fn fn, void *const *in, void *const *out, const workspace *w)
{
    (void)in, (void)w;
    return CALL(I, I, P, I, P)(COLUMN_MAJOR, M(z), N(z), out[0], at_least_one(z->m), out[1]);
}
static I geqrf(const sizes *z, kn_lapack_fn fn, void *const *in, void *const *out, const workspace *w)
{
    (void)in;
    return CALL(I, I, P, I, P, P, I)(COLUMN_MAJOR, M(z), N(z), out[0], at_least_one(z->m), out[1], w->work, w->lwork);
}
static I orgqr(const sizes *z, kn_lapack_fn fn, void *const *in, void *const *out, const workspace *w)
{
    return CALL(I, I, I, P, I, P, P, I)(COLUMN_MAJOR, M(z), N(z), (I)z->k, out[0], at_least_one(z->m), in[1], w->work, w->lwork);
}
static I ormqr(const sizes *z, kn_lapack_fn fn, void *const *in, void *const *out, const workspace *w)
{
    return CALL(char, char, I, I, I, P, I, P, P, I, P, I)(COLUMN_MAJOR, z->option[0], z->option[1], (I)z->p, (I)z->q, (I)z->k, in[0],
                                                          at_least_one(z->m), in[1], out[0], at_least_one(z->p), w->work, w->lwork);
}
static I syevd(const sizes *z, kn_lapack_fn fn, void *const *in, void *const *out, const workspace *w)
{
    (void)in;
    if (w->complex)
        return CALL(char, char, I, P, I, P, P, I, P, I, P, I)(COLUMN_MAJOR, z->option[0], z->option[1], N(z), out[0], at_least_one(z->n), out[1],
                                                              w->work, w->lwork, w->rwork, w->lrwork, w->iwork, w->liwork);
    return CALL(char, char, I, P, I, P, P, I, P, I)(COLUMN_MAJOR, z->option[0], z->option[1], N(z), out[0], at_least_one(z->n), out[1], w->work,
                                                    w->lwork, w->iwork, w->liwork);
}
static I sytrd(const sizes *z, kn_lapack_fn fn, void *const *in, void *const *out, const workspace *w)
{
    (void)in;
    return CALL(char, I, P, I, P, P, P, P, I)(COLUMN_MAJOR, z->option[0], N(z), out[0], at_least_one(z->n), out[1], out[2], out[3], w->work, w->lwork);
}
static I gehrd(const sizes *z, kn_lapack_fn fn, void *const *in, void *const *out, const workspace *w)
{
    (void)in;
    return CALL(I, I, I, P, I, P, P, I)(COLUMN_MAJOR, N(z), 1, N(z), out[0], at_least_one(z->n), out[1], w->work, w->lwork);
}
static I rows_of_vt(const sizes *z)
{
    int64_t small = z->m < z->n ? z->m : z->n;
    return at_least_one(z->option[0] == 'S' ? small : z->n);
}
static I gesdd(const sizes *z, kn_lapack_fn fn, void *const *in, void *const *out, const workspace *w)
{
    (void)in;
    I lda = at_least_one(z->m), ldv = rows_of_vt(z);
    if (w->complex)
        return CALL(char, I, I, P, I, P, P, I, P, I, P, I, P, P)(COLUMN_MAJOR, z->option[0], M(z), N(z), out[0], lda, out[1], out[2], lda, out[3],
                                                                 ldv, w->work, w->lwork, w->rwork, w->iwork);
    return CALL(char, I, I, P, I, P, P, I, P, I, P, I, P)(COLUMN_MAJOR, z->option[0], M(z), N(z), out[0], lda, out[1], out[2], lda, out[3], ldv,
                                                          w->work, w->lwork, w->iwork);
}
static I gesvd(const sizes *z, kn_lapack_fn fn, void *const *in, void *const *out, const workspace *w)
{
    (void)in;
    I lda = at_least_one(z->m), ldv = rows_of_vt(z);
    if (w->complex)
        return CALL(char, char, I, I, P, I, P, P, I, P, I, P, I, P)(COLUMN_MAJOR, z->option[0], z->option[1], M(z), N(z), out[0], lda, out[1], out[2],
                                                                    lda, out[3], ldv, w->work, w->lwork, w->rwork);
    return CALL(char, char, I, I, P, I, P, P, I, P, I, P, I)(COLUMN_MAJOR, z->option[0], z->option[1], M(z), N(z), out[0], lda, out[1], out[2], lda,
                                                             out[3], ldv, w->work, w->lwork);
}
/* Real matrices: vectors come as real columns, a pair of columns for a pair of conjugate values; they are unpacked afterwards. */
static I geev(const sizes *z, kn_lapack_fn fn, void *const *in, void *const *out, const workspace *w)
{
    I n = at_least_one(z->n);
    if (w->complex)
        return CALL(char, char, I, P, I, P, P, I, P, I, P, I, P)(COLUMN_MAJOR, z->option[0], z->option[1], N(z), in[0], n, out[0], out[1], n, out[2],
                                                                 n, w->work, w->lwork, w->rwork);
    return CALL(char, char, I, P, I, P, P, P, I, P, I, P, I)(COLUMN_MAJOR, z->option[0], z->option[1], N(z), in[0], n, out[0], out[1], out[2], n,
                                                             out[3], n, w->work, w->lwork);
}
/* The status is not handed on: only a wrong argument gives one. */
static I geqp3(const sizes *z, kn_lapack_fn fn, void *const *in, void *const *out, const workspace *w)
{
    (void)in;
    if (w->complex)
        return CALL(I, I, P, I, P, P, P, I, P)(COLUMN_MAJOR, M(z), N(z), out[0], at_least_one(z->m), out[1], out[2], w->work, w->lwork, w->rwork);
    return CALL(I, I, P, I, P, P, P, I)(COLUMN_MAJOR, M(z), N(z), out[0], at_least_one(z->m), out[1], out[2], w->work, w->lwork);
}
/* Without a selection of values to sort. */
static I gees(const sizes *z, kn_lapack_fn fn, void *const *in, void *const *out, const workspace *w)
{
    I n = at_least_one(z->n);
    (void)in;
    if (w->complex)
        return CALL(char, char, P, I, P, I, P, P, P, I, P, I, P, P)(COLUMN_MAJOR, z->option[0], z->option[1], NULL, N(z), out[0], n, out[3], out[2],
                                                                    out[1], n, w->work, w->lwork, w->rwork, NULL);
    return CALL(char, char, P, I, P, I, P, P, P, P, I, P, I, P)(COLUMN_MAJOR, z->option[0], z->option[1], NULL, N(z), out[0], n, out[4], out[2],
                                                                out[3], out[1], n, w->work, w->lwork, NULL);
}
/* The first element of the lower diagonal stands outside of the matrix. */
static I gtsv(const sizes *z, kn_lapack_fn fn, void *const *in, void *const *out, const workspace *w)
{
    (void)in;
    char *dl = (char *)out[0] + w->lrwork;
    return CALL(I, I, P, P, P, P, I)(COLUMN_MAJOR, N(z), (I)z->q, dl, out[1], out[2], out[3], at_least_one(z->n));
}

/* Shapes by letters: m, n those of the first operand; k = min(m, n); e = n - 1; p, q those of the last operand; U, V columns of u
 * and rows of vt by option; ? as given. Element types: t that of the operand, r its real part, c its complex form, i i32. */
typedef struct shape {
    char dtype;
    const char *dims;
} shape;
typedef struct routine {
    const char *name, *complex_name; /* LAPACK's, of real and of complex matrices */
    call_fn call;
    uint32_t nin, nout, noptions;
    bool square, queries, status; /* must be square; has a workspace; the last result is the status */
    const char *kinds;
    shape in[4], out[MOST_ARRAYS];
} routine;

static const routine routines[] = {
    {"gees", "gees", gees, 1, 5, 2, true, true, true, "c", {{'t', "nn"}}, {{'t', "nn"}, {'t', "nn"}, {'t', "n"}, {'i', ""}, {'i', ""}}},
    {"gees", "gees", gees, 1, 6, 2, true, true, true, "f", {{'t', "nn"}}, {{'t', "nn"}, {'t', "nn"}, {'t', "n"}, {'t', "n"}, {'i', ""}, {'i', ""}}},
    {"geev", "geev", geev, 1, 4, 2, true, true, true, "c", {{'t', "nn"}}, {{'t', "n"}, {'t', "nn"}, {'t', "nn"}, {'i', ""}}},
    {"geev", "geev", geev, 1, 5, 2, true, true, true, "f", {{'t', "nn"}}, {{'t', "n"}, {'t', "n"}, {'c', "nn"}, {'c', "nn"}, {'i', ""}}},
    {"gehrd", "gehrd", gehrd, 1, 3, 0, true, true, true, "fc", {{'t', "nn"}}, {{'t', "nn"}, {'t', "e"}, {'i', ""}}},
    {"geqp3", "geqp3", geqp3, 2, 3, 0, false, true, false, "fc", {{'t', "mn"}, {'i', "n"}}, {{'t', "mn"}, {'i', "n"}, {'t', "k"}}},
    {"geqrf", "geqrf", geqrf, 1, 2, 0, false, true, false, "fc", {{'t', "mn"}}, {{'t', "mn"}, {'t', "k"}}},
    {"gesdd", "gesdd", gesdd, 1, 5, 1, false, true, true, "fc", {{'t', "mn"}}, {{'t', "mn"}, {'r', "k"}, {'t', "mU"}, {'t', "Vn"}, {'i', ""}}},
    {"gesvd", "gesvd", gesvd, 1, 5, 2, false, true, true, "fc", {{'t', "mn"}}, {{'t', "mn"}, {'r', "k"}, {'t', "mU"}, {'t', "Vn"}, {'i', ""}}},
    {"getrf", "getrf", getrf, 1, 3, 0, false, false, true, "fc", {{'t', "mn"}}, {{'t', "mn"}, {'i', "k"}, {'i', ""}}},
    {"gtsv", "gtsv", gtsv, 4, 5, 0, false, false, true, "fc", {{'t', "n"}, {'t', "n"}, {'t', "n"}, {'t', "nq"}},
     {{'t', "n"}, {'t', "n"}, {'t', "n"}, {'t', "nq"}, {'i', ""}}},
    {"orgqr", "ungqr", orgqr, 2, 1, 0, false, true, false, "fc", {{'t', "mn"}, {'t', "?"}}, {{'t', "mn"}}},
    {"ormqr", "unmqr", ormqr, 3, 1, 2, false, true, false, "fc", {{'t', "mn"}, {'t', "?"}, {'t', "pq"}}, {{'t', "pq"}}},
    {"potrf", "potrf", potrf, 1, 2, 1, true, false, true, "fc", {{'t', "nn"}}, {{'t', "nn"}, {'i', ""}}},
    {"syevd", "heevd", syevd, 1, 3, 2, true, true, true, "fc", {{'t', "nn"}}, {{'t', "nn"}, {'r', "n"}, {'i', ""}}},
    {"sytrd", "hetrd", sytrd, 1, 5, 1, true, true, true, "fc", {{'t', "nn"}}, {{'t', "nn"}, {'r', "n"}, {'r', "e"}, {'t', "e"}, {'i', ""}}},
};

static const routine *find(const char *name, kiln_dtype d)
{
    for (size_t i = 0; i < sizeof routines / sizeof *routines; i++)
        if (strcmp(routines[i].name, name) == 0 && strchr(routines[i].kinds, kiln_dtype_kind(d))) return &routines[i];
    return NULL;
}

static uint32_t rank_of(const shape *s) { return (uint32_t)strlen(s->dims); }

static int64_t dim(const sizes *z, char c)
{
    int64_t small = z->m < z->n ? z->m : z->n;
    bool all = z->option[0] == 'A', thin = z->option[0] == 'S';
    switch (c) {
    case 'm': return z->m;
    case 'n': return z->n;
    case 'k': return small;
    case 'e': return z->n > 0 ? z->n - 1 : 0;
    case 'p': return z->p;
    case 'q': return z->q;
    case 'U': return all ? z->m : thin ? small : z->m;
    case 'V': return all ? z->n : thin ? small : z->n;
    default: return z->k;
    }
}

static bool read_sizes(const routine *r, const kiln_type *in, uint32_t nin, const char *options, sizes *z)
{
    *z = (sizes){.p = 0};
    uint32_t own = rank_of(&r->in[0]);
    if (nin != r->nin || strlen(options) != r->noptions || in[0].rank < own) return false;
    memcpy(z->option, options, r->noptions);
    z->batch_rank = in[0].rank - own;
    z->batch_dims = in[0].dims;
    z->m = in[0].dims[z->batch_rank];
    z->n = in[0].dims[in[0].rank - 1];
    for (uint32_t i = 0; i < nin; i++) {
        if (in[i].rank != z->batch_rank + rank_of(&r->in[i])) return false;
        const char *d = r->in[i].dims;
        if (d[0] == '?') z->k = in[i].dims[z->batch_rank];
        if (d[0] == 'p') z->p = in[i].dims[z->batch_rank];
        if (d[0] && d[1] == 'q') z->q = in[i].dims[in[i].rank - 1];
    }
    for (uint32_t i = 0; i < nin; i++) {
        for (uint32_t b = 0; b < z->batch_rank; b++)
            if (in[i].dims[b] != z->batch_dims[b]) return false;
        for (uint32_t d = 0; d < rank_of(&r->in[i]); d++)
            if (in[i].dims[z->batch_rank + d] != dim(z, r->in[i].dims[d])) return false;
    }
    z->batch = kiln_type_size((kiln_type){KILN_BOOL, z->batch_rank, z->batch_dims});
    bool applies = r->call == ormqr;
    int64_t order = z->option[0] == 'L' ? z->p : z->q;
    if (applies && (order != z->m || z->k > z->m || z->k > z->n)) return false;
    return !r->square || z->m == z->n;
}

static kiln_dtype dtype_of(char c, kiln_dtype t)
{
    bool wide = t == KILN_F64 || t == KILN_C128;
    return c == 't' ? t : c == 'i' ? KILN_I32 : c == 'r' ? wide ? KILN_F64 : KILN_F32 : wide ? KILN_C128 : KILN_C64;
}

static const char *letters(const kn_param *p) { return p->kind == KN_P_TEXT ? p->text : ""; }

static kiln_status type_lapack(kn_typing *t)
{
    sizes z;
    const kn_param *name = &t->params[ROUTINE], *options = &t->params[OPTIONS];
    KILN_TRY(kn_typing_count(t, 1));
    kiln_dtype d = t->in[0].dtype;
    bool known = d == KILN_F32 || d == KILN_F64 || d == KILN_C64 || d == KILN_C128;
    const routine *r = known && name->kind == KN_P_TEXT && (options->kind == KN_P_TEXT || options->kind == KN_P_NONE) ? find(name->text, d) : NULL;
    if (!r) return kn_fail(t->ctx, KILN_UNSUPPORTED, "lapack: there is no routine '%s' for %s", name->kind == KN_P_TEXT ? name->text : "", kn_type_show(t->in[0]).s);
    for (uint32_t i = 1; i < t->nin; i++) {
        bool counts = i < r->nin && r->in[i].dtype == 'i';
        if (!counts) KILN_TRY(kn_typing_same_dtype(t, 0, i));
        if (counts && t->in[i].dtype != KILN_I32)
            return kn_fail(t->ctx, KILN_DTYPE, "lapack: operand %u of %s is i32, %s given", i, r->name, kn_type_show(t->in[i]).s);
    }
    if (r->call == gees && letters(options)[0] && letters(options)[1] != 'N')
        return kn_fail(t->ctx, KILN_UNSUPPORTED, "lapack: gees sorts eigenvalues by a function of the caller's, which no text holds; sort 'N' is supported");
    if (!read_sizes(r, t->in, t->nin, letters(options), &z))
        return kn_fail(t->ctx, KILN_SHAPE, "lapack: %s with options '%s' does not fit operands such as %s", r->name, letters(options), kn_type_show(t->in[0]).s);
    KILN_TRY(kn_typing_out(t, r->nout));
    for (uint32_t i = 0; i < r->nout; i++) {
        int64_t *dims;
        uint32_t own = rank_of(&r->out[i]);
        KILN_TRY(kn_typing_shape(t, i, dtype_of(r->out[i].dtype, d), z.batch_rank + own, &dims));
        for (uint32_t b = 0; b < z.batch_rank; b++) dims[b] = z.batch_dims[b];
        for (uint32_t k = 0; k < own; k++) dims[z.batch_rank + k] = dim(&z, r->out[i].dims[k]);
    }
    return KILN_OK;
}

/* ---- the routine: complex, m, n, k, p, q, batch, then the letters ---- */

enum { I_COMPLEX, I_M, I_N, I_K, I_P, I_Q, I_BATCH, I_LETTERS };

/* A matrix of an array; a vector has one column. */
typedef struct extent {
    int64_t rows, columns;
    size_t width, bytes; /* of an element, of all */
} extent;

typedef struct lapack {
    const routine *r;
    sizes z;
    kiln_dtype dtype; /* of a matrix: f32, f64, c64, c128 */
    kn_lapack_fn fn;
    workspace w; /* its lengths */
    kn_parts parts[4 + MOST_ARRAYS]; /* results, then operands, still without data */
    extent matrix[4 + MOST_ARRAYS];
    int from[MOST_ARRAYS]; /* the operand that a result begins as, or -1 */
    size_t in[4], out[MOST_ARRAYS], packed[2], work, rwork, iwork; /* places in the workspace */
    bool nothing; /* results are zero */
} lapack;

static int64_t count_of(const sizes *z, const shape *s)
{
    int64_t n = 1;
    for (const char *c = s->dims; *c; c++) n *= dim(z, *c);
    return n;
}
static const shape *shape_at(const routine *r, uint32_t i) { return i < r->nout ? &r->out[i] : &r->in[i - r->nout]; }

static extent extent_of(const sizes *z, const shape *own, const kn_parts *p)
{
    uint32_t rank = rank_of(own);
    size_t width = kiln_dtype_bytes(p->dtype) * (p->complex ? 2 : 1);
    return (extent){rank ? dim(z, own->dims[0]) : 1, rank == 2 ? dim(z, own->dims[1]) : 1, width, (size_t)count_of(z, own) * width};
}

/* Which operand a result begins as, or -1: those of the same shape at the front, c of ormqr. */
static int begins_as(const routine *r, uint32_t result)
{
    if (r->call == geev) return -1;
    if (r->call == ormqr) return 2;
    return result < r->nin && strcmp(r->in[result].dims, r->out[result].dims) == 0 && r->out[result].dtype == r->in[result].dtype ? (int)result : -1;
}

/* Sizes and element types, and that every array fits. */
static bool read_call(const kn_call *c, lapack *s)
{
    const int64_t *v = c->ints;
    const char *name = c->routine->name + strlen("lapack_");
    if (c->n_ints < I_LETTERS || c->nin == 0) return false;
    kiln_dtype part = c->arrays[c->nout].dtype;
    if (part != KILN_F32 && part != KILN_F64) return false;
    s->dtype = !v[I_COMPLEX] ? part : part == KILN_F64 ? KILN_C128 : KILN_C64;
    s->r = find(name, s->dtype);
    if (!s->r || c->n_ints != I_LETTERS + s->r->noptions || c->nout != s->r->nout || c->nin != s->r->nin) return false;
    s->z = (sizes){.m = v[I_M], .n = v[I_N], .k = v[I_K], .p = v[I_P], .q = v[I_Q], .batch = v[I_BATCH]};
    for (uint32_t i = 0; i < s->r->noptions; i++) s->z.option[i] = (char)v[I_LETTERS + i];
    for (int i = I_M; i <= I_Q; i++)
        if (v[i] < 0 || v[i] > INT32_MAX) return false;
    if (s->r->square && s->z.m != s->z.n) return false;
    for (uint32_t i = 0; i < c->nout + c->nin; i++) {
        const shape *own = shape_at(s->r, i);
        kn_parts *p = &s->parts[i];
        *p = (kn_parts){own->dtype == 'i' ? KILN_I32 : part, own->dtype == 'c' || (own->dtype == 't' && v[I_COMPLEX]), NULL};
        int64_t n = kn_call_product((int64_t[]){s->z.batch, count_of(&s->z, own)}, 2);
        if (!kn_parts_fit(c, i, p->dtype, p->complex, n)) return false;
        s->matrix[i] = extent_of(&s->z, own, p);
        if (i < c->nout) s->from[i] = begins_as(s->r, i);
    }
    bool none = s->r->call == ormqr ? s->z.p == 0 || s->z.q == 0 : s->z.n == 0 || s->z.m == 0; /* no reflections leave c as it is */
    s->nothing = s->z.batch == 0 || none;
    return true;
}

/* The lengths of LAPACK's own workspace. */
static kiln_status ask_lengths(kiln_ctx *ctx, lapack *s)
{
    kn_scalar length = {.c = {1, 0}}, rlength = {.f = 1};
    double first[8] = {0}, rfirst[8] = {0};
    lapack_int ifirst[8] = {1};
    void *none[MOST_ARRAYS] = {NULL};
    s->w.complex = kiln_dtype_kind(s->dtype) == 'c';
    if (s->r->queries) {
        workspace query = {first, rfirst, ifirst, -1, -1, -1, s->w.complex};
        if (s->r->call(&s->z, s->fn, none, none, &query) != 0) return kn_fail(ctx, KILN_INTERNAL, "lapack: %s refuses to say its workspace", s->r->name);
        length = kn_scalar_load(s->dtype, first, 0);
        rlength = kn_scalar_load(s->dtype == KILN_F32 || s->dtype == KILN_C64 ? KILN_F32 : KILN_F64, rfirst, 0);
    }
    double n = s->w.complex ? length.c[0] : length.f;
    s->w.lwork = (lapack_int)(n > 1 ? n : 1);
    s->w.lrwork = (lapack_int)(rlength.f > 1 ? rlength.f : 1);
    s->w.liwork = ifirst[0] > 1 ? ifirst[0] : 1;
    return KILN_OK;
}

/* What a routine wants of real workspace for complex matrices without being asked: as its manual page says. */
static int64_t real_work(const lapack *s)
{
    int64_t m = s->z.m, n = s->z.n, small = m < n ? m : n, large = m < n ? n : m;
    if (!s->w.complex) return 0;
    if (s->r->call == gesdd) return s->z.option[0] == 'N' ? 7 * small : 5 * small * small + 2 * large * small + 5 * small;
    return s->r->call == gesvd ? 5 * small : s->r->call == geev || s->r->call == geqp3 || s->r->call == gees ? 2 * n : 0;
}

/* Copies of the matrices of one call, column-major, then LAPACK's workspace. */
static bool lay_out(lapack *s, size_t *bytes)
{
    int64_t small = s->z.m < s->z.n ? s->z.m : s->z.n, large = s->z.m < s->z.n ? s->z.n : s->z.m;
    size_t element = kiln_dtype_bytes(s->dtype);
    bool good = s->r->call == gtsv || kn_call_product((int64_t[]){8, large, large}, 3) >= 0;
    for (uint32_t i = 0; good && i < s->r->nin; i++) good = kn_call_room(bytes, (int64_t)s->matrix[s->r->nout + i].bytes + 16, 1, &s->in[i]);
    for (uint32_t i = 0; good && i < s->r->nout; i++) good = kn_call_room(bytes, (int64_t)s->matrix[i].bytes + 16, 1, &s->out[i]);
    for (int i = 0; good && i < 2 && s->r->call == geev; i++) good = kn_call_room(bytes, s->z.n * s->z.n, element, &s->packed[i]);
    if (!good) return false;
    good = kn_call_room(bytes, s->w.lwork, element, &s->work) && kn_call_room(bytes, s->w.lrwork + real_work(s), sizeof(double), &s->rwork) &&
           kn_call_room(bytes, s->w.liwork + (s->r->call == gesdd ? 8 * small : 0), sizeof(lapack_int), &s->iwork);
    if (s->r->call == gtsv) s->w.lrwork = (lapack_int)element; /* where the lower diagonal begins */
    return good;
}

static kiln_status bind_lapack(kiln_ctx *ctx, kn_arena *arena, const kn_call *c, const void **self, size_t *work_bytes)
{
    lapack s = {.r = NULL};
    *work_bytes = 0;
    KN_CALL_CHECK(ctx, c, read_call(c, &s));
    if (!s.nothing) {
        KILN_TRY(kn_lapack_find(ctx, kiln_dtype_kind(s.dtype) == 'c' ? s.r->complex_name : s.r->name, s.dtype, &s.fn));
        KILN_TRY(ask_lengths(ctx, &s));
        if (!lay_out(&s, work_bytes)) return kn_fail(ctx, KILN_NOMEM, "lapack: the workspace of %s does not fit in memory", s.r->name);
    }
    if (arena) KILN_TRY_MEM(ctx, *self = kn_arena_copy(arena, &s, sizeof s));
    return KILN_OK;
}

/* ---- one matrix ---- */

#define TRANSPOSED(name, T) \
    static void name(void *to, const void *from, int64_t rows, int64_t columns) \
    { \
        for (int64_t k = 0; k < columns; k++) \
            for (int64_t i = 0; i < rows; i++) ((T *)to)[k * rows + i] = ((const T *)from)[i * columns + k]; \
    }
typedef struct sixteen {
    uint64_t part[2];
} sixteen;
TRANSPOSED(transposed_4, uint32_t)
TRANSPOSED(transposed_8, uint64_t)
TRANSPOSED(transposed_16, sixteen)

/* Between a row-major matrix of an array and a column-major buffer. */
static void copy_matrix(const extent *x, char *array, char *buffer, bool to_array)
{
    char *to = to_array ? array : buffer, *from = to_array ? buffer : array;
    int64_t rows = to_array ? x->columns : x->rows, columns = to_array ? x->rows : x->columns;
    if (x->bytes == 0) return;
    if (rows == 1 || columns == 1) memcpy(to, from, x->bytes);
    else (x->width == 4 ? transposed_4 : x->width == 8 ? transposed_8 : transposed_16)(to, from, rows, columns);
}

/* Vectors of a real matrix: columns k and k + 1 are real and imaginary part where value k has an imaginary part. */
static void unpack(const void *packed, const void *wi, int64_t n, kiln_dtype real, void *out)
{
    kiln_dtype whole = real == KILN_F32 ? KILN_C64 : KILN_C128;
    for (int64_t k = 0; k < n; k++) {
        bool pair = kn_scalar_load(real, wi, k).f != 0 && k + 1 < n;
        for (int64_t i = 0; i < n; i++) {
            double re = kn_scalar_load(real, packed, k * n + i).f, im = pair ? kn_scalar_load(real, packed, (k + 1) * n + i).f : 0;
            kn_scalar_store(whole, out, k * n + i, (kn_scalar){.c = {re, im}});
            if (pair) kn_scalar_store(whole, out, (k + 1) * n + i, (kn_scalar){.c = {re, -im}});
        }
        k += pair;
    }
}

/* Iterations on what is not finite need not end, or end the process, and no column of NaN is the largest; they are not begun. */
static bool iterates(const routine *r) { return r->call == geqp3 || r->call == gees || r->call == geev || r->call == gesdd || r->call == gesvd || r->call == syevd; }

static bool all_finite(const lapack *s, const void *matrix)
{
    bool narrow = s->dtype == KILN_F32 || s->dtype == KILN_C64;
    int64_t n = s->z.m * s->z.n * (kiln_dtype_kind(s->dtype) == 'c' ? 2 : 1);
    for (int64_t k = 0; k < n; k++)
        if (!isfinite(narrow ? (double)((const float *)matrix)[k] : ((const double *)matrix)[k])) return false;
    return true;
}

static void fill_nan(const lapack *s, void *const *out)
{
    for (uint32_t i = 0; i < s->r->nout; i++) {
        int64_t n = s->parts[i].dtype == KILN_I32 ? 0 : count_of(&s->z, &s->r->out[i]) * (s->parts[i].complex ? 2 : 1);
        for (int64_t k = 0; k < n; k++) kn_scalar_store(s->parts[i].dtype, out[i], k, (kn_scalar){.f = (double)NAN});
    }
}

static lapack_int call_once(const lapack *s, char *work, void *const *in, void **out, const workspace *w)
{
    bool packs = s->r->call == geev && s->r->nout == 5;
    void *vectors[2] = {out[2], out[3]};
    for (uint32_t i = 0; i < s->r->nout; i++) {
        if (s->from[i] >= 0) memcpy(out[i], in[s->from[i]], s->matrix[i].bytes);
        else memset(out[i], 0, s->matrix[i].bytes);
    }
    if (iterates(s->r) && !all_finite(s, in[0])) {
        fill_nan(s, out);
        for (lapack_int k = 0; s->r->call == geqp3 && k < s->z.n; k++) ((lapack_int *)out[1])[k] = k + 1; /* columns stay where they are */
        return -1; /* as LAPACK says of its first argument */
    }
    if (packs) out[2] = work + s->packed[0], out[3] = work + s->packed[1];
    lapack_int status = s->r->call(&s->z, s->fn, in, out, w);
    for (int i = 0; i < 2 && packs; i++) {
        if (s->z.option[i] == 'V') unpack(out[2 + i], out[1], s->z.n, s->dtype, vectors[i]);
        out[2 + i] = vectors[i];
    }
    return status;
}

static void run_lapack(const void *self, void *const *arrays, void *workspace_bytes)
{
    const lapack *s = self;
    char *work = workspace_bytes;
    uint32_t nout = s->r->nout;
    void *in[4] = {NULL}, *out[MOST_ARRAYS] = {NULL};
    for (uint32_t i = 0; s->nothing && i < nout; i++)
        if (s->matrix[i].bytes > 0) memset(arrays[i], 0, (size_t)s->z.batch * s->matrix[i].bytes);
    if (s->nothing) return;
    for (uint32_t i = 0; i < s->r->nin; i++) in[i] = work + s->in[i];
    for (uint32_t i = 0; i < nout; i++) out[i] = work + s->out[i];
    workspace w = s->w;
    w.work = work + s->work, w.rwork = work + s->rwork, w.iwork = (lapack_int *)(void *)(work + s->iwork);
    for (size_t b = 0; b < (size_t)s->z.batch; b++) {
        for (uint32_t i = 0; i < s->r->nin; i++) copy_matrix(&s->matrix[nout + i], (char *)arrays[nout + i] + b * s->matrix[nout + i].bytes, in[i], false);
        lapack_int status = call_once(s, work, in, out, &w);
        if (s->r->status) memcpy(out[nout - 1], &status, sizeof status);
        for (uint32_t i = 0; i < nout; i++) copy_matrix(&s->matrix[i], (char *)arrays[i] + b * s->matrix[i].bytes, out[i], true);
    }
}

#define ROUTINES(X) X(gees) X(geev) X(gehrd) X(geqp3) X(geqrf) X(gesdd) X(gesvd) X(getrf) X(gtsv) X(orgqr) X(ormqr) X(potrf) X(syevd) X(sytrd)
#define DEFINE(call)                                                                               \
    extern const kn_routine kn_routine_lapack_##call;                                              \
    const kn_routine kn_routine_lapack_##call = {.name = "lapack_" #call, .bind = bind_lapack, .run = run_lapack};
ROUTINES(DEFINE)

static const kn_routine *own_routine(const char *name)
{
#define FIND(id)                                                                                   \
    if (strcmp(name, #id) == 0) return &kn_routine_lapack_##id;
    ROUTINES(FIND)
    return NULL;
}

static kiln_status call_lapack(kiln_ctx *ctx, kn_arena *arena, const kn_jaxpr *j, const kn_eqn *e, kn_call *c)
{
    sizes z;
    kiln_type types[4];
    for (uint32_t i = 0; i < e->nin; i++) types[i] = kn_in_type(j, e, i);
    const routine *r = find(e->params[ROUTINE].text, types[0].dtype);
    read_sizes(r, types, e->nin, letters(&e->params[OPTIONS]), &z);
    int64_t ints[I_LETTERS + sizeof z.option] = {kiln_dtype_kind(types[0].dtype) == 'c', z.m, z.n, z.k, z.p, z.q, z.batch};
    if (z.m > INT32_MAX || z.n > INT32_MAX || z.q > INT32_MAX) return kn_fail(ctx, KILN_UNSUPPORTED, "lapack: a matrix has more than 2^31 rows or columns");
    for (uint32_t i = 0; i < r->noptions; i++) ints[I_LETTERS + i] = z.option[i];
    c->routine = own_routine(r->name);
    return kn_call_ints(ctx, arena, c, ints, I_LETTERS + r->noptions);
}

KILN_PRIM(lapack) = {
    .name = "lapack",
    .nin = KN_VARIADIC,
    .nout = KN_VARIADIC,
    .flags = KN_EXPENSIVE,
    KN_PARAMS(lapack_params),
    .loop = KN_LOOP_CALL,
    .type = type_lapack,
    .eval = kn_eval_call,
    .call = call_lapack,
    .batch = kn_batch_full,
    .sample = kn_sample_lapack,
    .doc = "A routine of LAPACK on batches of matrices: potrf, getrf, geqrf, geqp3, orgqr, ormqr, syevd, sytrd, gehrd, gesdd, gesvd, geev, gees, gtsv, "
           "with their letters (uplo, jobz, ..) in `options`; the last result is the routine's status.",
};
