/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse Jacobians. The pattern is that of the linear map itself: what its result elements depend on (sparsity.h). Columns that share no
 * row share a colour (colour.h), and one application of the map to their sum gives them all; or rows, by the transposed map, where
 * that takes fewer. A loop over the colours, and a gather that takes each element from where it was added alone. */
#include "transform/sparse.h"

#include "base/fpmode.h"
#include "prim/control.h"
#include "prim/derive.h"
#include "prim/index.h"
#include "prims.gen.h"
#include "transform/colour.h"
#include "transform/prog.h"
#include "transform/sparsity.h"

typedef struct sparse {
    const kn_rules *r;
    const kn_jaxpr *j;
    uint32_t wrt;
    kn_linear f;
    kn_pattern p, back; /* rows: elements of all float results, one behind the other */
    uint32_t *colour, colours;
    bool reverse;
    kn_build b;
    kn_atom *residuals;
    kn_atom *found; /* forward: per float result that has a tangent, [colours size]; reverse: one, [colours columns] */
} sparse;

static bool has_rows(const sparse *s, uint32_t q) { return kn_has_tangent(kn_result_type(s->j, q)); }
static int64_t size_of(const sparse *s, uint32_t q) { return kiln_type_size(kn_result_type(s->j, q)); }

/* ---- the pattern ---- */

static kiln_status columns_of(sparse *s, kn_walk *w, kn_arena *room, const kn_spread **out)
{
    uint32_t n = kn_nargs(s->j), nres = s->f.residuals;
    kn_spread *in = KN_NEWN(room, kn_spread, (size_t)n + nres + 1), *made = KN_NEWN(room, kn_spread, s->f.known->nout);
    kn_spread *y = KN_NEWN(room, kn_spread, s->f.map->nout);
    uint32_t *ones = KN_NEWN(room, uint32_t, w->sets.columns);
    KILN_TRY_MEM(s->r->ctx, in && made && y && ones);
    KILN_TRY(kn_walk_body(w, room, s->f.known, in, made)); /* operands: nothing is known of them */
    memcpy(in, made + s->j->nout, nres * sizeof *in);
    for (uint32_t k = 0; k < w->sets.columns; k++) KILN_TRY(kn_sets_one(&w->sets, k, &ones[k]));
    in[nres] = (kn_spread){ones, NULL};
    KILN_TRY(kn_walk_body(w, room, s->f.map, in, y));
    *out = y;
    return KILN_OK;
}

static kiln_status collect(sparse *s, const kn_walk *w, const kn_spread *y, int64_t rows)
{
    kn_arena *arena = &s->r->prog->arena;
    uint64_t nnz = 0;
    uint32_t *first = KN_NEWN(arena, uint32_t, (size_t)rows + 1), row = 0, m = 0;
    KN_VEC(uint32_t) index = {NULL, 0, 0};
    KILN_TRY_MEM(s->r->ctx, first);
    for (uint32_t q = 0; q < s->j->nout; q++) {
        if (!has_rows(s, q)) continue;
        const kn_spread *own = s->f.tangent_out[q] ? &y[m++] : NULL;
        for (int64_t i = 0; i < size_of(s, q); i++) {
            const kn_set *set = &w->sets.all.v[own ? kn_set_at(own, i) : 0];
            nnz += set->n;
            if (nnz > INT32_MAX) return kn_fail(s->r->ctx, KILN_UNSUPPORTED, "sparse_jacobian: more than %d elements", INT32_MAX);
            for (uint32_t k = 0; k < set->n; k++) KILN_TRY_MEM(s->r->ctx, kn_push(arena, &index, set->v[k]));
            first[++row] = (uint32_t)nnz;
        }
    }
    s->p = (kn_pattern){(uint32_t)rows, w->sets.columns, first, index.v};
    return kn_pattern_transpose(s->r->ctx, arena, &s->p, &s->back);
}

static kiln_status find_pattern(sparse *s)
{
    kn_walk w;
    kn_arena room;
    const kn_spread *y = NULL;
    int64_t columns = kiln_type_size(kn_arg_type(s->j, s->wrt)), rows = 0;
    for (uint32_t q = 0; q < s->j->nout; q++) rows += has_rows(s, q) ? size_of(s, q) : 0;
    if (columns >= INT32_MAX || rows >= INT32_MAX)
        return kn_fail(s->r->ctx, KILN_UNSUPPORTED, "sparse_jacobian: %lld rows and %lld columns; accepted: less than 2^31", (long long)rows, (long long)columns);
    KILN_TRY(kn_walk_init(&w, s->r, (uint32_t)columns));
    kn_arena_init(&room, &s->r->ctx->alloc);
    kn_fpmode mode = kn_fpmode_enter();
    kiln_status status = columns_of(s, &w, &room, &y);
    kn_fpmode_leave(mode);
    if (status == KILN_OK) status = collect(s, &w, y, rows);
    kn_arena_fini(&room);
    kn_walk_fini(&w);
    return status;
}

static kiln_status choose(sparse *s)
{
    kn_arena *arena = &s->r->prog->arena;
    uint32_t *rows = KN_NEWN(arena, uint32_t, s->p.rows), n;
    KILN_TRY_MEM(s->r->ctx, rows && (s->colour = KN_NEWN(arena, uint32_t, s->p.columns)));
    KILN_TRY(kn_colour_columns(s->r->ctx, arena, &s->p, &s->back, s->colour, &s->colours));
    if (s->colours <= 1) return KILN_OK;
    KILN_TRY(kn_colour_columns(s->r->ctx, arena, &s->back, &s->p, rows, &n));
    if (2 * (uint64_t)s->colours <= 3 * (uint64_t)n) return KILN_OK; /* a pass backwards costs half as much again */
    s->reverse = true;
    s->colour = rows;
    s->colours = n;
    return KILN_OK;
}

/* ---- the program ---- */

static kiln_status constant(sparse *s, const uint32_t *v, int64_t n, kn_atom *out)
{
    kiln_array *a;
    KILN_TRY(kiln_array_create(s->r->ctx, KILN_VECTOR(KILN_I32, n), &a));
    for (int64_t i = 0; i < n; i++) ((int32_t *)a->data)[i] = (int32_t)v[i];
    kiln_status status = kn_build_const(&s->b, a, out);
    kiln_array_release(a);
    return status;
}

/* 1 where the colour is the k-th, as a value of this type. */
static kn_atom seed(kn_low *l, kiln_type t, kn_atom colours, kn_atom k)
{
    return kn_low_reshape(l, kn_low_convert(l, kn_low2(l, &kn_prim_eq, colours, k), t.dtype), t.rank, t.dims);
}

/* body (residuals, seeds) for each colour; types: of the seeds, colours: theirs, flat. Results are flat and stacked. */
static kiln_status passes(sparse *s, const kn_jaxpr *body, const kiln_type *types, const kn_atom *colours, uint32_t n, kn_atom *out)
{
    const kn_rules *r = s->r;
    uint32_t nres = s->f.residuals;
    kn_atom *in = kn_new_atoms(r, nres + n + 1), *res = kn_new_atoms(r, body->nout), *args = kn_new_atoms(r, nres + n);
    kn_param params[KN_SCAN_PARAMS];
    kn_build inner;
    const kn_jaxpr *one;
    KILN_TRY_MEM(r->ctx, in && res && args);
    kn_build_init(&inner, r->ctx, r->prog);
    kn_low l = {&inner, KILN_OK};
    for (uint32_t i = 0; i < nres; i++) KILN_TRY(kn_build_input(&inner, kn_arg_type(body, i), &args[i]));
    for (uint32_t i = 0; i < n; i++) KILN_TRY(kn_build_input(&inner, kn_build_type(&s->b, colours[i]), &in[i]));
    KILN_TRY(kn_build_input(&inner, KILN_SCALAR(KILN_I32), &in[n]));
    for (uint32_t i = 0; i < n; i++) args[nres + i] = seed(&l, types[i], in[i], in[n]);
    KILN_TRY(l.status);
    KILN_TRY(kn_append(&inner, body, args, res));
    for (uint32_t i = 0; i < body->nout; i++) res[i] = kn_low_reshape(&l, res[i], 1, (int64_t[]){kiln_type_size(kn_result_type(body, i))});
    KILN_TRY(l.status);
    KILN_TRY(kn_build_finish(&inner, res, body->nout, &one));
    KILN_TRY(kn_trim(r, one, &one));
    memcpy(in, s->residuals, nres * sizeof *in);
    memcpy(in + nres, colours, n * sizeof *in);
    l = (kn_low){&s->b, KILN_OK};
    in[nres + n] = kn_low_iota(&l, KILN_VECTOR(KILN_I32, s->colours), 0);
    KILN_TRY(l.status);
    const uint32_t counts[3] = {nres + n, 0, 1};
    kn_scan_plain(s->colours, false, params);
    KILN_TRY(kn_scan_params(r->ctx, &r->prog->arena, NULL, one, counts, one->nout, params));
    return kn_build_eqn(&s->b, &kn_prim_scan, params, in, nres + n + 1, out, one->nout);
}

static kiln_status forward(sparse *s)
{
    kn_atom colours;
    kiln_type t = kn_arg_type(s->j, s->wrt);
    KILN_TRY(constant(s, s->colour, s->p.columns, &colours));
    KILN_TRY_MEM(s->r->ctx, s->found = kn_new_atoms(s->r, s->f.map->nout));
    return passes(s, s->f.map, &t, &colours, 1, s->found);
}

static kiln_status backward(sparse *s)
{
    const kn_rules *r = s->r;
    uint32_t nres = s->f.residuals, n = 0, row = 0;
    const kn_jaxpr *back;
    bool *linear = kn_new_flags(r, nres + 1), *given = kn_new_flags(r, s->f.map->nout), *found = kn_new_flags(r, nres + 1);
    kn_atom *colours = kn_new_atoms(r, s->f.map->nout);
    kiln_type *types = KN_NEWN(&r->prog->arena, kiln_type, s->f.map->nout);
    KILN_TRY_MEM(r->ctx, linear && given && found && colours && types && (s->found = kn_new_atoms(r, 1)));
    linear[nres] = true;
    for (uint32_t q = 0; q < s->j->nout; q++) {
        if (s->f.tangent_out[q]) {
            given[n] = true;
            types[n] = kn_result_type(s->j, q);
            KILN_TRY(constant(s, s->colour + row, size_of(s, q), &colours[n++]));
        }
        row += has_rows(s, q) ? (uint32_t)size_of(s, q) : 0;
    }
    KILN_TRY(kn_transpose_body(r, s->f.map, linear, given, linear, NULL, &back, found));
    return passes(s, back, types, colours, n, s->found);
}

/* indptr, indices, values of one result. */
static kiln_status csr(sparse *s, uint32_t q, uint32_t row, uint32_t m, kn_atom *out)
{
    const kn_pattern *p = &s->p;
    int64_t size = size_of(s, q);
    uint32_t from = p->first[row], nnz = p->first[row + (uint32_t)size] - from, *v = KN_NEWN(&s->r->prog->arena, uint32_t, (size_t)size + nnz + 1);
    kiln_type t = kn_result_type(s->j, q);
    if (s->reverse) t.dtype = kn_arg_type(s->j, s->wrt).dtype;
    KILN_TRY_MEM(s->r->ctx, v);
    for (int64_t i = 0; i <= size; i++) v[i] = p->first[row + i] - from;
    KILN_TRY(constant(s, v, size + 1, &out[0]));
    KILN_TRY(constant(s, p->index + from, nnz, &out[1]));
    if (!nnz) return kn_zeros(&s->b, KILN_VECTOR(t.dtype, 0), &out[2]);
    int64_t width = s->reverse ? p->columns : size;
    if ((double)s->colours * (double)width > INT32_MAX) return kn_fail(s->r->ctx, KILN_UNSUPPORTED, "sparse_jacobian: too many elements in %u passes", s->colours);
    for (uint32_t i = 0, k = 0; i < (uint32_t)size; i++)
        for (uint32_t c = p->first[row + i]; c < p->first[row + i + 1]; c++, k++)
            v[k] = s->reverse ? s->colour[row + i] * p->columns + p->index[c] : s->colour[p->index[c]] * (uint32_t)size + i;
    kn_atom at, flat;
    KILN_TRY(constant(s, v, nnz, &at));
    kn_low l = {&s->b, KILN_OK};
    flat = kn_low_reshape(&l, s->found[s->reverse ? 0 : m], 1, (int64_t[]){s->colours * width});
    KILN_TRY(l.status);
    return kn_build_take(&s->b, flat, at, 0, &out[2]);
}

kiln_status kn_sparse_jacobian(const kn_rules *r, const kn_jaxpr *j, uint32_t wrt, kn_sparse_info *info, const kn_jaxpr **out)
{
    sparse s = {.r = r, .j = j, .wrt = wrt};
    KILN_TRY(kn_wrt_check(r, j, "sparse_jacobian", &wrt, 1));
    bool *which = kn_new_flags(r, kn_nargs(j));
    kn_atom *map, *x, *made, *outs = kn_new_atoms(r, 3 * j->nout);
    KILN_TRY_MEM(r->ctx, which && outs);
    which[wrt] = true;
    KILN_TRY(kn_linear_of(r, j, which, false, &s.f));
    KILN_TRY(find_pattern(&s));
    KILN_TRY(choose(&s));
    KILN_TRY(kn_open(r, &s.b, j, &map));
    KILN_TRY_MEM(r->ctx, (x = kn_arguments_of(r, j, map)) && (made = kn_new_atoms(r, s.f.known->nout)));
    KILN_TRY(kn_append(&s.b, s.f.known, x, made));
    s.residuals = made + j->nout;
    if (s.colours) KILN_TRY(s.reverse ? backward(&s) : forward(&s));
    uint32_t n = 0, row = 0, m = 0;
    for (uint32_t q = 0; q < j->nout; q++) {
        if (!has_rows(&s, q)) continue;
        KILN_TRY(csr(&s, q, row, m, outs + n));
        n += 3;
        row += (uint32_t)size_of(&s, q);
        m += s.f.tangent_out[q];
    }
    if (info) *info = (kn_sparse_info){s.p.rows, s.p.columns, s.p.first[s.p.rows], s.colours, s.reverse};
    return kn_build_finish(&s.b, outs, n, out);
}

typedef struct request {
    uint32_t wrt;
    kn_sparse_info *info;
} request;
static kiln_status apply(const kn_rules *r, const kn_jaxpr *j, const void *how, const kn_jaxpr **out)
{
    const request *q = how;
    KILN_TRY_NOTE(r->ctx, kn_sparse_jacobian(r, j, q->wrt, q->info, out), "while transforming by sparse_jacobian");
    KILN_TRY(kn_trim(r, *out, out));
    return kn_no_forward_left(r, *out);
}

kiln_status kiln_prog_sparse_jacobian(kiln_ctx *ctx, const kiln_prog *p, uint32_t wrt, kiln_sparse_info *info, kiln_prog **out)
{
    kn_sparse_info found = {0};
    kiln_status status = kn_prog_apply(ctx, p, apply, &(request){wrt, &found}, out);
    if (info) *info = (kiln_sparse_info){found.rows, found.columns, found.elements, found.colours, found.reverse};
    return status;
}
