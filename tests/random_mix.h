/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs over every registered primitive: equations come from the primitives' sample rules, their operands from the pool
 * by reshaping, cutting, padding and converting what is there; scans, calls, products and reductions over random bodies and
 * shapes. A primitive that is added takes part without a line here. */
#ifndef KN_RANDOM_MIX_H
#define KN_RANDOM_MIX_H

#include "prim/sample.h"
#include "random_program.h"

enum { MIX_ELEMENTS = 3000 }; /* most elements of a value taken from a sample */

static kn_atom mix_reshape(rp *r, rp_body *b, kn_atom a, kiln_type t)
{
    kn_param p[] = {KN_NONE, KN_INTS(t.rank, t.dims), KN_NONE};
    return rp_eqn(r, b, "reshape", p, &a, 1);
}

/* Exactly n elements, out of a flat array of m > 0. */
static kn_atom mix_fit(rp *r, rp_body *b, kn_atom a, int64_t m, int64_t n)
{
    if (m > n) {
        int64_t lo = rp_below(r, (uint32_t)(m - n) + 1), hi = lo + n;
        if (rp_below(r, 3) == 0) { /* a place known at run time only */
            kn_atom in[2] = {a, rp_scalar_int(r, b)};
            return rp_eqn(r, b, "dynamic_slice", (kn_param[]){KN_INTS(1, &n)}, in, 2);
        }
        return rp_eqn(r, b, "slice", (kn_param[]){KN_INTS(1, &hi), KN_INTS(1, &lo), KN_NONE}, &a, 1);
    }
    if (rp_below(r, 2)) {
        int64_t rows[2] = {(n + m - 1) / m, m}, at = 1, flat = rows[0] * m, zero = 0;
        kn_param p[] = {KN_INTS(1, &at), KN_INTS(2, rows), KN_NONE};
        a = rp_eqn(r, b, "broadcast_in_dim", p, &a, 1);
        a = mix_reshape(r, b, a, (kiln_type){rp_of(b, a).dtype, 1, &flat});
        return flat == n ? a : rp_eqn(r, b, "slice", (kn_param[]){KN_INTS(1, &n), KN_INTS(1, &zero), KN_NONE}, &a, 1);
    }
    int64_t lo = rp_below(r, (uint32_t)(n - m) + 1), config[3] = {lo, n - m - lo, 0};
    kn_param item = KN_INTS(3, config), p = KN_TUPLE(1, &item);
    kiln_dtype d = rp_of(b, a).dtype;
    return rp_eqn(r, b, "pad", &p, (kn_atom[]){a, rp_some(r, b, KILN_SCALAR(d))}, 2);
}

/* Infinities and NaNs give way to a number, so that what follows still tells programs apart. */
static kn_atom mix_tame(rp *r, rp_body *b, kn_atom a)
{
    kiln_type t = rp_of(b, a);
    kn_atom ok = rp_eqn(r, b, "is_finite", NULL, &a, 1);
    kn_atom in[3] = {ok, rp_fill(r, b, rp_literal(r, b, t.dtype, (kn_scalar){.f = 0.5}), t), a};
    a = rp_eqn(r, b, "select_n", NULL, in, 3);
    return rp_below(r, 2) ? a : rp_eqn(r, b, "sin", NULL, &a, 1);
}

/* Does it look at the sign and the payload of NaNs? Those of a computed NaN are nobody's promise. */
static bool mix_sees_nan(const kn_prim *prim)
{
    static const char *const names[] = {"bitcast_convert_type", "eq_to", "le_to", "lt_to", "nextafter", "sort_by", "top_k"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(prim->name, names[i]) == 0) return true;
    return false;
}

/* Is nothing made of this value yet? */
static bool mix_unread(const rp_body *b, kn_atom a)
{
    for (uint32_t k = b->b.eqns.n; k-- > 0;)
        for (uint32_t i = 0; i < b->b.eqns.v[k].nin; i++)
            if (b->b.eqns.v[k].in[i] == a) return false;
    return !kn_is_literal(a);
}
/* A value out of the pool, one that nothing is made of more often than others: little is dead code. */
static kn_atom mix_pick(rp *r, rp_body *b)
{
    kn_atom a = 0;
    for (int tries = 0; tries < 6; tries++) {
        a = b->pool[rp_below(r, b->n)];
        if (mix_unread(b, a)) break;
    }
    return a;
}

/* A value of this type made of what the pool has. */
static kn_atom mix_adapt(rp *r, rp_body *b, kiln_type t)
{
    if (rp_below(r, 6) == 0 || b->n == 0) return rp_some(r, b, t);
    kn_atom a = mix_pick(r, b);
    kiln_type from = rp_of(b, a);
    int64_t m = kiln_type_size(from), n = kiln_type_size(t);
    if (m == 0 || r->status != KILN_OK) return rp_some(r, b, t);
    if (from.dtype != t.dtype) {
        kn_param p[] = {KN_DTYPE(t.dtype), KN_NONE, KN_BOOL(false)};
        a = rp_eqn(r, b, "convert_element_type", p, &a, 1);
    }
    if (!kiln_type_equal((kiln_type){t.dtype, from.rank, from.dims}, t)) {
        if (from.rank == 0 && rp_below(r, 2)) {
            a = rp_fill(r, b, a, t);
        } else {
            if (m != n) {
                if (from.rank != 1) a = mix_reshape(r, b, a, (kiln_type){t.dtype, 1, &m});
                a = mix_fit(r, b, a, m, n);
            }
            if (m == n || t.rank != 1) a = mix_reshape(r, b, a, t);
        }
    }
    return kiln_dtype_kind(t.dtype) == 'f' && rp_below(r, 2) ? mix_tame(r, b, a) : a;
}

static kiln_type mix_type(rp *r, kiln_dtype d, uint32_t rank, int64_t *dims)
{
    static const int64_t longer[] = {4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 100};
    for (uint32_t i = 0; i < rank; i++) dims[i] = 1 + rp_below(r, 4);
    if (rank) dims[rp_below(r, rank)] = rp_below(r, 12) == 0 ? 0 : longer[rp_below(r, 13)];
    return (kiln_type){d, rank, dims};
}

/* ---- an equation of some primitive, by its sample rule ---- */

static void mix_sampled(rp *r, rp_body *b)
{
    static const int64_t lengths[] = {0, 1, 2, 3, 5, 8, 9, 16, 17, 33, 65};
    uint32_t n;
    const kn_prim *const *prims = kn_prims(&n);
    const kn_prim *prim = prims[rp_below(r, n)];
    static const uint32_t with_complex = 1u << KILN_F32 | 1u << KILN_F64 | 1u << KILN_I32 | 1u << KILN_BOOL | 1u << KILN_C64 | 1u << KILN_C128;
    kn_sample_opts o = {.seed = rp_bits(r), .length = lengths[rp_below(r, 11)], .dtypes = rp_below(r, 3) ? 0 : with_complex};
    kiln_array *in[KN_SAMPLE_INPUTS];
    kiln_prog *p;
    uint32_t nin;
    kiln_status s = kn_sample_program(r->ctx, prim, &o, &p, in, &nin);
    if (s == KILN_UNSUPPORTED || s == KILN_DTYPE) return;
    if (s != KILN_OK) {
        r->status = s;
        return;
    }
    const kn_jaxpr *j = NULL;
    r->status = kn_jaxpr_copy(r->ctx, b->b.prog, p->main, &j); /* nested bodies live in this program now */
    kn_atom *map = j ? calloc(j->nvars + 1, sizeof *map) : NULL;
    bool good = map != NULL;
    for (uint32_t v = 0; good && v < j->nvars; v++) good = j->vars[v].type.dtype != KILN_TOKEN; /* nothing else takes one */
    for (uint32_t i = 0; i < nin && good && r->status == KILN_OK; i++) {
        kiln_type t = kiln_array_type(in[i]);
        /* Starts, trips and selectors are mostly as the rule means them; a loop never counts to something out of the pool. */
        bool index = t.rank == 0 && kiln_dtype_kind(t.dtype) == 'i', counts = strcmp(prim->name, "while") == 0 && (i == 0 || i == 2);
        if (kiln_type_size(t) > MIX_ELEMENTS) good = false;
        else if (counts || rp_below(r, index ? 4 : 12) < (index ? 3u : 1u)) r->status = kn_build_const(&b->b, in[i], &map[j->in[i]]);
        else map[j->in[i]] = mix_adapt(r, b, t);
        if (!good || !mix_sees_nan(prim) || r->status != KILN_OK) continue;
        if (kiln_dtype_kind(t.dtype) == 'f') map[j->in[i]] = mix_tame(r, b, map[j->in[i]]);
        else if (kiln_dtype_kind(t.dtype) == 'c') r->status = kn_build_const(&b->b, in[i], &map[j->in[i]]);
    }
    for (uint32_t k = 0; good && k < j->neqns && r->status == KILN_OK; k++) r->status = kn_build_copy(&b->b, j, &j->eqns[k], map);
    b->b.scope = 0, b->b.loc = (kn_loc){0};
    for (uint32_t i = 0; good && r->status == KILN_OK && i < j->nout; i++)
        if (!kn_is_literal(j->out[i])) rp_add(b, map[j->out[i]]);
    free(map);
    for (uint32_t i = 0; i < nin; i++) kiln_array_release(in[i]);
    kiln_prog_release(p);
}

/* ---- bodies ---- */

/* A body over arguments of these types. */
static const kn_jaxpr *mix_body(rp *r, rp_body *outer, const kiln_type *t, uint32_t nin, const kiln_type *to, uint32_t nout, uint32_t size)
{
    rp_body *b = calloc(1, sizeof *b);
    kn_atom out[16];
    kn_build_init(&b->b, r->ctx, outer->b.prog);
    for (uint32_t i = 0; i < nin; i++) rp_input(r, b, t[i]);
    r->depth++;
    rp_fill_body(r, b, size);
    r->depth--;
    for (uint32_t i = 0; i < nout; i++) out[i] = mix_adapt(r, b, to[i]);
    const kn_jaxpr *j = rp_finish(r, b, out, nout);
    free(b);
    return j;
}

/* Some type, sometimes that of a value that is there. */
static kiln_type mix_some_type(rp *r, rp_body *b, int64_t *dims)
{
    if (b->n && rp_below(r, 2)) {
        kiln_type t = rp_of(b, b->pool[rp_below(r, b->n)]);
        if (t.rank < 4 && kiln_type_size(t) < 300) return t;
    }
    return mix_type(r, rp_dtype(r), rp_below(r, 3), dims);
}

static void mix_scan(rp *r, rp_body *b)
{
    static const int64_t lengths[] = {0, 1, 2, 3, 4, 5, 7, 17};
    kiln_type t[12], arg[12], result[12];
    int64_t dims[12][4], whole[12][8];
    kn_atom x[12], y[12];
    uint32_t nc = rp_below(r, 3), n = rp_below(r, 4), nx = rp_below(r, 3), ny = rp_below(r, 3), nin = nc + n + nx;
    int64_t length = lengths[rp_below(r, r->depth ? 6 : 8)];
    if (n + ny == 0) ny = 1;
    for (uint32_t i = 0; i < nin; i++) {
        t[i] = arg[i] = mix_some_type(r, b, dims[i]);
        if (i < nc + n) continue;
        whole[i][0] = length;
        for (uint32_t d = 0; d < arg[i].rank; d++) whole[i][d + 1] = arg[i].dims[d];
        t[i] = (kiln_type){arg[i].dtype, arg[i].rank + 1, whole[i]};
    }
    for (uint32_t i = 0; i < n + ny; i++) result[i] = i < n ? arg[nc + i] : nin ? arg[rp_below(r, nin)] : KILN_SCALAR(KILN_F64);
    for (uint32_t i = 0; i < nin; i++) x[i] = mix_adapt(r, b, t[i]);
    const kn_jaxpr *body = mix_body(r, b, arg, nin, result, n + ny, 3 + rp_below(r, 8));
    kn_param leaf[12], group[3], out[2];
    for (uint32_t i = 0; i < 12; i++) leaf[i] = KN_NONE;
    group[0] = KN_TUPLE(nc, leaf), group[1] = KN_TUPLE(n, leaf), group[2] = KN_TUPLE(nx, leaf);
    out[0] = KN_TUPLE(n, leaf), out[1] = KN_TUPLE(ny, leaf);
    kn_param params[] = {KN_NONE,   KN_TUPLE(3, group), KN_TUPLE(2, out), KN_JAXPR(body), KN_INT(length), KN_NONE,
                         KN_INT(n), KN_INT(nc),         KN_BOOL(rp_below(r, 2) != 0), KN_INT(1)};
    if (r->status == KILN_OK) r->status = kn_build_eqn(&b->b, rp_prim("scan"), params, x, nin, y, n + ny);
    for (uint32_t i = 0; i < n + ny && r->status == KILN_OK; i++) rp_add(b, y[i]);
}

/* A loop with a random body, whose state may be large. */
static void mix_while(rp *r, rp_body *b)
{
    kiln_type t[12], cond[12];
    int64_t dims[12][4];
    kn_atom in[12], out[12];
    uint32_t nc = rp_below(r, 2), nb = rp_below(r, 3), n = 1 + rp_below(r, 4), k = 0;
    for (uint32_t i = 0; i < nc + nb + n; i++) {
        t[i] = i == nc + nb ? KILN_SCALAR(KILN_I32) : mix_some_type(r, b, dims[i]);
        in[i] = i == nc + nb ? rp_literal(r, b, KILN_I32, (kn_scalar){.i = 0}) : mix_adapt(r, b, t[i]);
    }
    for (uint32_t i = 0; i < nc; i++) cond[k++] = t[i];
    for (uint32_t i = 0; i < n; i++) cond[k++] = t[nc + nb + i];
    r->depth++;
    const kn_jaxpr *go = rp_cond_body(r, b, cond, nc, n);
    rp_body *inner = calloc(1, sizeof *inner);
    kn_atom next[12], count = 0;
    kn_build_init(&inner->b, r->ctx, b->b.prog);
    for (uint32_t i = 0; i < nb + n; i++) {
        kn_atom a = rp_input(r, inner, t[nc + i]);
        if (i == nb) count = a;
    }
    rp_fill_body(r, inner, 3 + rp_below(r, 8));
    next[0] = rp_eqn(r, inner, "add", NULL, (kn_atom[]){count, rp_literal(r, inner, KILN_I32, (kn_scalar){.i = 1})}, 2);
    for (uint32_t i = 1; i < n; i++) next[i] = rp_below(r, 5) ? mix_adapt(r, inner, t[nc + nb + i]) : inner->pool[nb + i];
    const kn_jaxpr *body = rp_finish(r, inner, next, n);
    free(inner);
    r->depth--;
    kn_param p[KN_WHILE_PARAMS] = {KN_JAXPR(body), KN_INT(nb), KN_JAXPR(go), KN_INT(nc)};
    if (r->status == KILN_OK) r->status = kn_build_eqn(&b->b, rp_prim("while"), p, in, nc + nb + n, out, n);
    for (uint32_t i = 0; i < n && r->status == KILN_OK; i++) rp_add(b, out[i]);
}

static void mix_cond(rp *r, rp_body *b)
{
    kiln_type t[6], to[6];
    int64_t dims[12][4];
    kn_atom in[7], out[6];
    kn_param branch[3];
    uint32_t nin = 1 + rp_below(r, 4), nout = 1 + rp_below(r, 3), n = 1 + rp_below(r, 3);
    for (uint32_t i = 0; i < nin; i++) t[i] = mix_some_type(r, b, dims[i]), in[1 + i] = mix_adapt(r, b, t[i]);
    for (uint32_t i = 0; i < nout; i++) to[i] = rp_below(r, 2) ? t[rp_below(r, nin)] : mix_some_type(r, b, dims[6 + i]);
    in[0] = rp_scalar_int(r, b);
    if (rp_of(b, in[0]).dtype != KILN_I32)
        in[0] = rp_eqn(r, b, "convert_element_type", (kn_param[]){KN_DTYPE(KILN_I32), KN_NONE, KN_BOOL(false)}, in, 1);
    for (uint32_t i = 0; i < n; i++) branch[i] = KN_JAXPR(mix_body(r, b, t, nin, to, nout, rp_below(r, 7)));
    kn_param p[] = {KN_TUPLE(n, branch), KN_NONE, KN_NONE};
    if (r->status == KILN_OK) r->status = kn_build_eqn(&b->b, rp_prim("cond"), p, in, 1 + nin, out, nout);
    for (uint32_t i = 0; i < nout && r->status == KILN_OK; i++) rp_add(b, out[i]);
}

static void mix_call(rp *r, rp_body *b)
{
    static const char *const names[] = {"jit", "custom_jvp_call", "custom_vjp_call", "remat2"};
    const kn_prim *prim = rp_prim(names[rp_below(r, 4)]);
    kiln_type t[4], to[4];
    int64_t dims[8][4];
    kn_atom in[4], out[4];
    uint32_t nin = 1 + rp_below(r, 3), nout = 1 + rp_below(r, 2);
    for (uint32_t i = 0; i < nin; i++) t[i] = mix_some_type(r, b, dims[i]), in[i] = mix_adapt(r, b, t[i]);
    for (uint32_t i = 0; i < nout; i++) to[i] = mix_some_type(r, b, dims[4 + i]);
    const kn_jaxpr *body = mix_body(r, b, t, nin, to, nout, 1 + rp_below(r, 5));
    kn_param p[16];
    for (uint32_t k = 0; k < prim->nparams; k++) {
        const kn_param_spec *spec = &prim->params[k];
        p[k] = spec->kind == KN_P_JAXPR                             ? KN_JAXPR(body)
               : strcmp(spec->name, "name") == 0                    ? KN_TEXT("f")
               : spec->kind == KN_P_BOOL && !(spec->flags & KN_PARAM_HIDE_NONE) ? KN_BOOL(false)
                                                                    : KN_NONE;
    }
    if (r->status == KILN_OK) r->status = kn_build_eqn(&b->b, prim, p, in, nin, out, nout);
    for (uint32_t i = 0; i < nout && r->status == KILN_OK; i++) rp_add(b, out[i]);
}

/* ---- shapes that rewrite one another ---- */

static void mix_reduce(rp *r, rp_body *b)
{
    static const char *const names[] = {"reduce_sum", "reduce_max", "reduce_min", "reduce_prod"};
    static const char *const bits[] = {"reduce_and", "reduce_or", "reduce_xor"};
    static const char *const running[] = {"cumsum", "cumprod", "cummax", "cummin"};
    int64_t dims[4], axes[4];
    kiln_dtype d = rp_dtype(r);
    kiln_type t = mix_type(r, d, 1 + rp_below(r, 3), dims);
    kn_atom a = mix_adapt(r, b, t);
    uint32_t n = 0;
    for (uint32_t i = 0; i < t.rank; i++)
        if (rp_below(r, 2)) axes[n++] = i;
    bool arith = d != KILN_BOOL, whole = d != KILN_F32 && d != KILN_F64;
    if (kiln_dtype_kind(d) == 'c') {
        static const char *const sums[] = {"reduce_sum", "reduce_prod", "cumsum", "cumprod"};
        uint32_t which = rp_below(r, 4);
        if (which < 2) rp_eqn(r, b, sums[which], (kn_param[]){KN_INTS(n, axes), KN_NONE}, &a, 1);
        else rp_eqn(r, b, sums[which], (kn_param[]){KN_INT(rp_below(r, t.rank)), KN_BOOL(rp_below(r, 2) != 0)}, &a, 1);
        return;
    }
    if (arith && rp_below(r, 4) == 0) {
        rp_eqn(r, b, running[rp_below(r, 4)], (kn_param[]){KN_INT(rp_below(r, t.rank)), KN_BOOL(rp_below(r, 2) != 0)}, &a, 1);
        return;
    }
    const char *name = !arith || (whole && rp_below(r, 3) == 0) ? bits[rp_below(r, 3)] : names[rp_below(r, 4)];
    rp_eqn(r, b, name, (kn_param[]){KN_INTS(n, axes), KN_NONE}, &a, 1);
}

static void mix_dot(rp *r, rp_body *b)
{
    static const kiln_dtype types[] = {KILN_F32, KILN_F64, KILN_I32, KILN_C64};
    kiln_dtype d = types[rp_below(r, 4)];
    int64_t k = 1 + rp_below(r, 40), m = 1 + rp_below(r, 6), n = 1 + rp_below(r, 6), x[2], y[2], cx, cy;
    uint32_t rx = 1 + rp_below(r, 2), ry = 1 + rp_below(r, 2);
    cx = rx == 1 ? 0 : rp_below(r, 2), cy = ry == 1 ? 0 : rp_below(r, 2);
    x[0] = x[1] = m, y[0] = y[1] = n;
    x[cx] = y[cy] = k;
    kn_atom in[2] = {mix_adapt(r, b, (kiln_type){d, rx, x}), mix_adapt(r, b, (kiln_type){d, ry, y})};
    kn_param pair[2][2] = {{KN_INTS(1, &cx), KN_INTS(1, &cy)}, {KN_INTS(0, NULL), KN_INTS(0, NULL)}}, two[2];
    for (uint32_t i = 0; i < 2; i++) {
        pair[i][0].list = pair[i][1].list = true;
        two[i] = KN_TUPLE(2, pair[i]);
    }
    rp_eqn(r, b, "dot_general", (kn_param[]){KN_TUPLE(2, two), KN_NONE, KN_NONE, rp_below(r, 2) ? KN_DTYPE(d) : KN_NONE}, in, 2);
}

/* A stencil or a row of updates: what simulations are made of. */
static void mix_update(rp *r, rp_body *b)
{
    int64_t n = 3 + rp_below(r, 70), lo[3] = {0, 1, 2}, hi[3] = {n - 2, n - 1, n};
    kiln_dtype d = rp_below(r, 6) == 0 ? KILN_C64 : rp_below(r, 2) ? KILN_F32 : KILN_F64;
    kn_atom u = mix_adapt(r, b, (kiln_type){d, 1, &n}), part[3];
    for (int i = 0; i < 3; i++) part[i] = rp_eqn(r, b, "slice", (kn_param[]){KN_INTS(1, &hi[i]), KN_INTS(1, &lo[i]), KN_NONE}, &u, 1);
    kn_atom sum = rp_eqn(r, b, "add", NULL, (kn_atom[]){part[0], part[2]}, 2);
    kn_atom v = rp_eqn(r, b, rp_below(r, 2) ? "sub" : "mul", NULL, (kn_atom[]){sum, part[1]}, 2);
    if (rp_below(r, 2)) {
        kn_atom in[3] = {u, v, rp_below(r, 2) ? rp_literal(r, b, KILN_I32, (kn_scalar){.i = 1}) : rp_scalar_int(r, b)};
        u = rp_eqn(r, b, "dynamic_update_slice", NULL, in, 3);
        if (rp_below(r, 2)) rp_eqn(r, b, "add", NULL, (kn_atom[]){u, mix_adapt(r, b, (kiln_type){d, 1, &n})}, 2);
        return;
    }
    int64_t one = 1, zero = 0, dims = 1;
    kn_atom first = rp_eqn(r, b, "slice", (kn_param[]){KN_INTS(1, &one), KN_INTS(1, &zero), KN_NONE}, &u, 1);
    kn_atom in[3] = {first, v, mix_adapt(r, b, (kiln_type){d, 1, &dims})};
    rp_eqn(r, b, "concatenate", (kn_param[]){KN_INT(0)}, in, 3);
}

static void mix_equation(rp *r, rp_body *b)
{
    uint32_t what = rp_below(r, 24);
    if (what < 10) mix_sampled(r, b);
    else if (what < 13) mix_reduce(r, b);
    else if (what < 15) mix_dot(r, b);
    else if (what < 17) mix_update(r, b);
    else if (what < 18) mix_call(r, b);
    else if (r->depth >= 2) rp_binary(r, b);
    else if (what < 20) mix_scan(r, b);
    else if (what < 22) mix_while(r, b);
    else mix_cond(r, b);
}

/* Data: an array of the program, or a row of numbers. */
static kn_atom mix_fresh(rp *r, rp_body *b, kiln_type t)
{
    kiln_array *a = NULL;
    kn_atom atom = 0;
    if (t.rank && strchr("iuf", kiln_dtype_kind(t.dtype)) && rp_below(r, 4) == 0)
        return rp_eqn(r, b, "iota", (kn_param[]){KN_INT(rp_below(r, t.rank)), KN_DTYPE(t.dtype), KN_INTS(t.rank, t.dims), KN_NONE}, NULL, 0);
    if (r->status == KILN_OK) r->status = rp_random_input(r, t, &a);
    if (r->status == KILN_OK) r->status = kn_build_const(&b->b, a, &atom);
    kiln_array_release(a);
    return atom;
}

static kiln_type mix_input(rp *r, int64_t *dims) { return mix_type(r, rp_dtype(r), rp_below(r, 4) ? 1 + rp_below(r, 2) : 0, dims); }

/* Most of the time all values that nothing is made of, else a few. */
static uint32_t mix_outputs(rp *r, rp_body *b, kn_atom *out)
{
    uint32_t m = 0, most = rp_below(r, 3) ? RP_OUTPUTS : 1 + rp_below(r, 6);
    for (uint32_t i = b->n; i-- > 0 && m < most;)
        if (mix_unread(b, b->pool[i]) && kiln_type_size(rp_of(b, b->pool[i])) > 0) out[m++] = b->pool[i];
    if (m == 0) out[m++] = b->pool[b->n - 1];
    return m;
}

static kiln_status random_mix(kiln_ctx *ctx, uint64_t seed, uint32_t size, kn_prog **out, kiln_array **in, uint32_t *nin)
{
    static const rp_style style = {mix_equation, mix_fresh, mix_input, mix_outputs};
    return random_program_with(ctx, seed, size, &style, out, in, nin);
}

#endif
