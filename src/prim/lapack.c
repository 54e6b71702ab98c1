/* SPDX-License-Identifier: Apache-2.0 */
/* lapack: one LAPACK routine on batches of matrices. `options` holds its letters in the order of LAPACK's arguments. Results are
 * what the routine leaves behind, its status (info, i32) last where it has one.
 *   potrf uplo           a -> factor, info                gesdd jobz        a -> a, s, u, vt, info
 *   getrf                a -> lu, pivots, info            gesvd jobu jobvt  a -> a, s, u, vt, info
 *   geqrf                a -> qr, tau                     geev jobvl jobvr  a -> w (real: wr, wi), vl, vr, info
 *   orgqr (ungqr)        qr, tau -> q                     gehrd             a -> a, tau, info
 *   ormqr side trans     qr, tau, c -> c                  sytrd uplo        a -> a, d, e, tau, info
 *   syevd jobz uplo      a -> vectors, w, info            gtsv              dl, d, du, b -> dl, d, du, b, info */
#include "rt/lapack.h"
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/sample.h"

enum { OPTIONS, ROUTINE };
static const kn_param_spec lapack_params[] = {{"options", KN_P_TEXT, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE}, {"routine", KN_P_TEXT, 0}};

enum { MOST_ARRAYS = 5, COLUMN_MAJOR = 102 };
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
    {"geev", "geev", geev, 1, 4, 2, true, true, true, "c", {{'t', "nn"}}, {{'t', "n"}, {'t', "nn"}, {'t', "nn"}, {'i', ""}}},
    {"geev", "geev", geev, 1, 5, 2, true, true, true, "f", {{'t', "nn"}}, {{'t', "n"}, {'t', "n"}, {'c', "nn"}, {'c', "nn"}, {'i', ""}}},
    {"gehrd", "gehrd", gehrd, 1, 3, 0, true, true, true, "fc", {{'t', "nn"}}, {{'t', "nn"}, {'t', "e"}, {'i', ""}}},
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
    for (uint32_t i = 1; i < t->nin; i++) KILN_TRY(kn_typing_same_dtype(t, 0, i));
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

/* ---- evaluation ---- */

typedef struct buffers {
    kiln_ctx *ctx;
    void *in[4], *out[MOST_ARRAYS], *packed[2];
    size_t in_bytes[4], out_bytes[MOST_ARRAYS], packed_bytes;
    workspace w;
    size_t work_bytes, rwork_bytes, iwork_bytes;
} buffers;

static kiln_status reserve(kiln_ctx *ctx, void **p, size_t *bytes, size_t need)
{
    *bytes = need + 64;
    KILN_TRY_MEM(ctx, *p = kn_new(&ctx->alloc, *bytes));
    return KILN_OK;
}

static void drop_all(buffers *b)
{
    const kn_alloc *a = &b->ctx->alloc;
    for (int i = 0; i < 4; i++) kn_free(a, b->in[i], b->in_bytes[i]);
    for (int i = 0; i < MOST_ARRAYS; i++) kn_free(a, b->out[i], b->out_bytes[i]);
    for (int i = 0; i < 2; i++) kn_free(a, b->packed[i], b->packed_bytes);
    kn_free(a, b->w.work, b->work_bytes);
    kn_free(a, b->w.rwork, b->rwork_bytes);
    kn_free(a, b->w.iwork, b->iwork_bytes);
}

static size_t bytes_of(const sizes *z, const shape *s, kiln_dtype d)
{
    size_t n = kiln_dtype_bytes(dtype_of(s->dtype, d));
    for (const char *c = s->dims; *c; c++) n *= (size_t)dim(z, *c);
    return n;
}

/* Asks for the lengths of the workspace, then makes it. */
static kiln_status make_workspace(buffers *b, const routine *r, const sizes *z, kiln_dtype d, kn_lapack_fn fn)
{
    size_t element = kiln_dtype_bytes(d), most = (size_t)(z->m > z->n ? z->m : z->n) + 1;
    b->w.complex = kiln_dtype_kind(d) == 'c';
    kn_scalar length = {.c = {1, 0}}, rlength = {.f = 1};
    double first[8] = {0}, rfirst[8] = {0};
    lapack_int ifirst[8] = {1};
    if (r->queries) {
        workspace query = {first, rfirst, ifirst, -1, -1, -1, b->w.complex};
        if (r->call(z, fn, b->in, b->out, &query) != 0) return kn_fail(b->ctx, KILN_INTERNAL, "lapack: %s refuses to say its workspace", r->name);
        length = kn_scalar_load(d, first, 0);
        rlength = kn_scalar_load(d == KILN_F32 || d == KILN_C64 ? KILN_F32 : KILN_F64, rfirst, 0);
    }
    double n = b->w.complex ? length.c[0] : length.f;
    b->w.lwork = (lapack_int)(n > 1 ? n : 1);
    b->w.lrwork = (lapack_int)(rlength.f > 1 ? rlength.f : 1);
    b->w.liwork = ifirst[0] > 1 ? ifirst[0] : 1;
    size_t fixed = 5 * most * most + 7 * most; /* what gesdd, gesvd and geev want of real workspace without asking */
    KILN_TRY(reserve(b->ctx, &b->w.work, &b->work_bytes, (size_t)b->w.lwork * element));
    KILN_TRY(reserve(b->ctx, &b->w.rwork, &b->rwork_bytes, ((size_t)b->w.lrwork + fixed) * sizeof(double)));
    void *iwork = NULL;
    KILN_TRY(reserve(b->ctx, &iwork, &b->iwork_bytes, ((size_t)b->w.liwork + 8 * most) * sizeof(lapack_int)));
    b->w.iwork = iwork;
    if (r->call == gtsv) b->w.lrwork = (lapack_int)element; /* where the lower diagonal begins */
    return KILN_OK;
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

static void get(const sizes *z, const shape *s, const kiln_array *a, int64_t b, void *buffer)
{
    bool matrix = rank_of(s) == 2;
    int64_t rows = rank_of(s) ? dim(z, s->dims[0]) : 1, columns = matrix ? dim(z, s->dims[1]) : 1;
    kn_lapack_get(a, b * rows * columns, rows, columns, buffer);
}
static void put(const sizes *z, const shape *s, kiln_array *a, int64_t b, const void *buffer)
{
    bool matrix = rank_of(s) == 2;
    int64_t rows = rank_of(s) ? dim(z, s->dims[0]) : 1, columns = matrix ? dim(z, s->dims[1]) : 1;
    kn_lapack_put(a, b * rows * columns, rows, columns, buffer);
}

/* Which operand a result begins as, or -1: those of the same shape at the front, c of ormqr. */
static int begins_as(const routine *r, uint32_t result)
{
    if (r->call == geev) return -1;
    if (r->call == ormqr) return 2;
    return result < r->nin && strcmp(r->in[result].dims, r->out[result].dims) == 0 && r->out[result].dtype == 't' ? (int)result : -1;
}

static void one_matrix(const routine *r, const sizes *z, kn_lapack_fn fn, buffers *b, kiln_array *const *in, kiln_array **out, int64_t k)
{
    kiln_dtype d = in[0]->type.dtype;
    bool packs = r->call == geev && r->nout == 5;
    void *vectors[2] = {b->out[2], b->out[3]};
    for (uint32_t i = 0; i < r->nin; i++) get(z, &r->in[i], in[i], k, b->in[i]);
    for (uint32_t i = 0; i < r->nout; i++) {
        int from = begins_as(r, i);
        if (from >= 0) memcpy(b->out[i], b->in[from], bytes_of(z, &r->out[i], d));
    }
    if (packs) b->out[2] = b->packed[0], b->out[3] = b->packed[1];
    lapack_int status = r->call(z, fn, b->in, b->out, &b->w);
    if (packs) {
        b->out[2] = vectors[0], b->out[3] = vectors[1];
        for (int i = 0; i < 2; i++)
            if (z->option[i] == 'V') unpack(b->packed[i], b->out[1], z->n, d, vectors[i]);
    }
    if (r->status) memcpy(b->out[r->nout - 1], &status, sizeof status);
    for (uint32_t i = 0; i < r->nout; i++) put(z, &r->out[i], out[i], k, b->out[i]);
}

static kiln_status eval_lapack(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    sizes z;
    kiln_type types[4];
    kiln_dtype d = in[0]->type.dtype;
    const routine *r = find(e->params[ROUTINE].text, d);
    buffers b = {.ctx = ev->ctx};
    kn_lapack_fn fn;
    (void)j;
    for (uint32_t i = 0; i < e->nin; i++) types[i] = in[i]->type;
    read_sizes(r, types, e->nin, letters(&e->params[OPTIONS]), &z);
    if (z.m > INT32_MAX || z.n > INT32_MAX || z.q > INT32_MAX) return kn_fail(ev->ctx, KILN_UNSUPPORTED, "lapack: a matrix has more than 2^31 rows or columns");
    if (z.batch == 0 || z.n == 0 || z.m == 0) return KILN_OK; /* results are zero, the status too */
    KILN_TRY(kn_lapack_find(ev->ctx, kiln_dtype_kind(d) == 'c' ? r->complex_name : r->name, d, &fn));
    kiln_status s = KILN_OK;
    for (uint32_t i = 0; s == KILN_OK && i < r->nin; i++) s = reserve(ev->ctx, &b.in[i], &b.in_bytes[i], bytes_of(&z, &r->in[i], d));
    for (uint32_t i = 0; s == KILN_OK && i < r->nout; i++) s = reserve(ev->ctx, &b.out[i], &b.out_bytes[i], bytes_of(&z, &r->out[i], d));
    for (int i = 0; s == KILN_OK && i < 2 && r->call == geev; i++) s = reserve(ev->ctx, &b.packed[i], &b.packed_bytes, (size_t)(z.n * z.n) * kiln_dtype_bytes(d));
    if (s == KILN_OK) s = make_workspace(&b, r, &z, d, fn);
    for (int64_t k = 0; s == KILN_OK && k < z.batch; k++) one_matrix(r, &z, fn, &b, in, out, k);
    drop_all(&b);
    return s;
}

KILN_PRIM(lapack) = {
    .name = "lapack",
    .nin = KN_VARIADIC,
    .nout = KN_VARIADIC,
    .flags = KN_EXPENSIVE,
    KN_PARAMS(lapack_params),
    .loop = KN_LOOP_CALL,
    .type = type_lapack,
    .eval = eval_lapack,
    .batch = kn_batch_full,
    .sample = kn_sample_lapack,
    .doc = "A routine of LAPACK on batches of matrices: potrf, getrf, geqrf, orgqr, ormqr, syevd, sytrd, gehrd, gesdd, gesvd, geev, gtsv, "
           "with their letters (uplo, jobz, ..) in `options`; the last result is the routine's status.",
};
