/* SPDX-License-Identifier: Apache-2.0 */
/* Dense Jacobians: the linear map, or its transpose, of one unit array after another. */
#include "transform/functions.h"

#include "prim/control.h"
#include "prim/derive.h"
#include "prims.gen.h"

/* The k-th unit array of a type. */
static kn_atom unit_array(kn_low *l, kiln_type t, kn_atom k)
{
    int64_t n = kiln_type_size(t);
    kn_atom at = kn_low_iota(l, KILN_VECTOR(KILN_I64, n), 0);
    return kn_low_reshape(l, kn_low_convert(l, kn_low2(l, &kn_prim_eq, at, k), t.dtype), t.rank, t.dims);
}

/* Results of body (shared..., unit array) for each unit array of the type, stacked: no matrix of them is made. */
static kiln_status each_unit(const kn_rules *r, kn_build *b, const kn_jaxpr *body, const kn_atom *shared, uint32_t nshared, kiln_type t, kn_atom *out)
{
    kn_atom *in = kn_new_atoms(r, nshared + 1), *res = kn_new_atoms(r, body->nout);
    kn_param params[KN_SCAN_PARAMS];
    kn_build inner;
    const kn_jaxpr *one;
    KILN_TRY_MEM(r->ctx, in && res);
    kn_build_init(&inner, r->ctx, r->prog);
    kn_low l = {&inner, KILN_OK};
    for (uint32_t i = 0; i < nshared; i++) KILN_TRY(kn_build_input(&inner, kn_arg_type(body, i), &in[i]));
    KILN_TRY(kn_build_input(&inner, KILN_SCALAR(KILN_I64), &in[nshared]));
    in[nshared] = unit_array(&l, t, in[nshared]);
    KILN_TRY(l.status);
    KILN_TRY(kn_append(&inner, body, in, res));
    KILN_TRY(kn_build_finish(&inner, res, body->nout, &one));
    if (nshared) memcpy(in, shared, nshared * sizeof *in);
    l = (kn_low){b, KILN_OK};
    in[nshared] = kn_low_iota(&l, KILN_VECTOR(KILN_I64, kiln_type_size(t)), 0);
    KILN_TRY(l.status);
    const uint32_t n[3] = {nshared, 0, 1};
    kn_scan_plain(kiln_type_size(t), false, params);
    KILN_TRY(kn_scan_params(r->ctx, &r->prog->arena, NULL, one, n, one->nout, params));
    return kn_build_eqn(b, &kn_prim_scan, params, in, nshared + 1, out, one->nout);
}

/* From [n, own...] with n = size of `other`: own + other when the rows are operands, other + own when they are results. */
static kn_atom arrange(kn_low *l, kn_atom a, kiln_type own, kiln_type other, bool rows_last)
{
    int64_t dims[2 * KN_RANK_LIMIT], turn[KN_RANK_LIMIT + 1];
    kiln_type first = rows_last ? own : other, second = rows_last ? other : own;
    for (uint32_t d = 0; d <= own.rank; d++) turn[d] = d < own.rank ? d + 1 : 0;
    if (rows_last && own.rank) a = kn_low_op(l, &kn_prim_transpose, &KN_INTS(own.rank + 1, turn), &a, 1);
    for (uint32_t d = 0; d < first.rank; d++) dims[d] = first.dims[d];
    for (uint32_t d = 0; d < second.rank; d++) dims[first.rank + d] = second.dims[d];
    return kn_low_reshape(l, a, first.rank + second.rank, dims);
}

typedef struct jacobian {
    const kn_rules *r;
    kn_build b;
    const kn_jaxpr *j;
    const uint32_t *wrt;
    uint32_t n;
    kn_linear f;
    kn_atom *residuals;
    kn_atom *out; /* [results of j][n] or KN_SYMBOLIC_ZERO */
} jacobian;

/* One pass per listed operand: tangents are unit arrays of it. */
static kiln_status columns(jacobian *c)
{
    const kn_rules *r = c->r;
    uint32_t nres = c->f.residuals, at = 0;
    for (uint32_t i = 0; i < kn_nargs(c->j); i++) {
        uint32_t k = 0;
        while (k < c->n && c->wrt[k] != i) k++;
        if (k == c->n) continue;
        kn_build b; /* the linear map in this tangent alone */
        kn_atom *args = kn_new_atoms(r, nres + c->f.ntangents), *res = kn_new_atoms(r, c->f.map->nout), *made = kn_new_atoms(r, c->f.map->nout);
        KILN_TRY_MEM(r->ctx, args && res && made);
        kn_build_init(&b, r->ctx, r->prog);
        const kn_jaxpr *map = c->f.map, *one;
        for (uint32_t q = 0; q < nres; q++) KILN_TRY(kn_build_input(&b, kn_arg_type(map, q), &args[q]));
        for (uint32_t q = nres; q < nres + c->f.ntangents; q++) {
            if (q - nres == at) KILN_TRY(kn_build_input(&b, kn_arg_type(map, q), &args[q]));
            else KILN_TRY(kn_zeros(&b, kn_arg_type(map, q), &args[q]));
        }
        KILN_TRY(kn_append(&b, map, args, res));
        KILN_TRY(kn_build_finish(&b, res, map->nout, &one));
        KILN_TRY(kn_trim(r, one, &one));
        kn_low l = {&c->b, KILN_OK};
        KILN_TRY(each_unit(r, &c->b, one, c->residuals, nres, kn_arg_type(c->j, i), made));
        for (uint32_t q = 0, m = 0; q < c->j->nout; q++)
            if (c->f.tangent_out[q]) {
                kn_atom a = arrange(&l, made[m++], kn_result_type(c->j, q), kn_arg_type(c->j, i), true);
                for (k = 0; k < c->n; k++)
                    if (c->wrt[k] == i) c->out[q * c->n + k] = a;
            }
        KILN_TRY(l.status);
        at++;
    }
    return KILN_OK;
}

/* One pass per result: cotangents are unit arrays of it. */
static kiln_status lines(jacobian *c, const bool *which)
{
    const kn_rules *r = c->r;
    uint32_t nres = c->f.residuals, n = nres + c->f.ntangents, m = 0;
    for (uint32_t q = 0; q < c->j->nout; q++) {
        if (!c->f.tangent_out[q]) continue;
        bool *lin = kn_new_flags(r, n), *given = kn_new_flags(r, c->f.map->nout), *found = kn_new_flags(r, n);
        kn_atom *made = kn_new_atoms(r, c->f.ntangents);
        const kn_jaxpr *back;
        KILN_TRY_MEM(r->ctx, lin && given && found && made);
        for (uint32_t i = nres; i < n; i++) lin[i] = true;
        given[m++] = true;
        KILN_TRY(kn_transpose_body(r, c->f.map, lin, given, NULL, NULL, &back, found));
        KILN_TRY(kn_trim(r, back, &back));
        kn_low l = {&c->b, KILN_OK};
        KILN_TRY(each_unit(r, &c->b, back, c->residuals, nres, kn_result_type(c->j, q), made));
        for (uint32_t i = 0, at = nres, got = 0; i < kn_nargs(c->j); i++) {
            if (!which[i] || !found[at++]) continue;
            kn_atom a = arrange(&l, made[got++], kn_arg_type(c->j, i), kn_result_type(c->j, q), false);
            for (uint32_t k = 0; k < c->n; k++)
                if (c->wrt[k] == i) c->out[q * c->n + k] = a;
        }
        KILN_TRY(l.status);
    }
    return KILN_OK;
}

kiln_status kn_jacobian(const kn_rules *r, const kn_jaxpr *j, const uint32_t *wrt, uint32_t n, bool reverse, const kn_jaxpr **out)
{
    jacobian c = {.r = r, .j = j, .wrt = wrt, .n = n};
    KILN_TRY(kn_wrt_check(r, j, reverse ? "jacrev" : "jacfwd", wrt, n));
    bool *which = kn_new_flags(r, kn_nargs(j));
    kn_atom *map, *x, *made, *outs = kn_new_atoms(r, j->nout * n);
    KILN_TRY_MEM(r->ctx, which && outs && (c.out = kn_new_atoms(r, j->nout * n)));
    for (uint32_t i = 0; i < n; i++) which[wrt[i]] = true;
    for (uint32_t i = 0; i < j->nout * n; i++) c.out[i] = KN_SYMBOLIC_ZERO;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t q = 0; q < j->nout; q++)
            if (kn_arg_type(j, wrt[i]).rank + kn_result_type(j, q).rank > KN_RANK_LIMIT)
                return kn_fail(r->ctx, KILN_UNSUPPORTED, "a Jacobian would have %u dimensions; accepted: at most %d",
                               kn_arg_type(j, wrt[i]).rank + kn_result_type(j, q).rank, KN_RANK_LIMIT);
    KILN_TRY(kn_linear_of(r, j, which, false, &c.f));
    KILN_TRY(kn_open(r, &c.b, j, &map));
    KILN_TRY_MEM(r->ctx, (x = kn_arguments_of(r, j, map)) && (made = kn_new_atoms(r, c.f.known->nout)));
    KILN_TRY(kn_append(&c.b, c.f.known, x, made));
    c.residuals = made + j->nout;
    KILN_TRY(reverse ? lines(&c, which) : columns(&c));
    uint32_t m = 0;
    for (uint32_t q = 0; q < j->nout; q++) {
        if (!kn_has_tangent(kn_result_type(j, q))) continue;
        for (uint32_t k = 0; k < n; k++) {
            kn_atom a = c.out[q * n + k];
            if (a == KN_SYMBOLIC_ZERO) {
                int64_t dims[2 * KN_RANK_LIMIT];
                kiln_type y = kn_result_type(j, q), t = kn_arg_type(j, wrt[k]);
                for (uint32_t d = 0; d < y.rank; d++) dims[d] = y.dims[d];
                for (uint32_t d = 0; d < t.rank; d++) dims[y.rank + d] = t.dims[d];
                KILN_TRY(kn_zeros(&c.b, (kiln_type){reverse ? t.dtype : y.dtype, y.rank + t.rank, dims}, &a));
            }
            outs[m++] = a;
        }
    }
    return kn_build_finish(&c.b, outs, m, out);
}

kiln_status kn_hessian(const kn_rules *r, const kn_jaxpr *j, const uint32_t *wrt, uint32_t n, const kn_jaxpr **out)
{
    const kn_jaxpr *first;
    KILN_TRY(kn_wrt_check(r, j, "hessian", wrt, n));
    KILN_TRY(kn_jacobian(r, j, wrt, n, true, &first));
    return kn_jacobian(r, first, wrt, n, false, out);
}
