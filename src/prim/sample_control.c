/* SPDX-License-Identifier: Apache-2.0 */
/* Sample rules of primitives with bodies. Bodies add, multiply and compare, so that values move from trip to trip. */
#include "prim/common.h"
#include "prim/control.h"
#include "prim/lowering.h"
#include "prim/sample.h"

/* A body over arguments of these types, whose result i is argument `from[i]` combined with others of its type. */
static kiln_status make_body(kn_sample *s, const kiln_type *args, uint32_t nargs, const kiln_type *results, uint32_t nresults,
                             const kn_jaxpr **out)
{
    kn_build b;
    kn_build_init(&b, s->ctx, s->b.prog);
    kn_low l = {&b, KILN_OK};
    kn_atom in[KN_SAMPLE_INPUTS], y[KN_SAMPLE_INPUTS];
    for (uint32_t i = 0; i < nargs; i++) KILN_TRY(kn_build_input(&b, args[i], &in[i]));
    for (uint32_t r = 0; r < nresults; r++) {
        kn_atom v = kn_low_fill(&l, results[r], (kn_scalar){.c = {0, 0}});
        bool any = false;
        for (uint32_t i = 0; i < nargs; i++) {
            if (args[i].dtype != results[r].dtype || (args[i].rank && !kiln_type_equal(args[i], results[r]))) continue;
            if (any && kn_sample_below(s, 3) == 0) continue;
            bool flag = results[r].dtype == KILN_BOOL;
            const kn_prim *op = flag ? &kn_prim_or : kn_sample_below(s, 2) ? &kn_prim_add : &kn_prim_mul;
            if (!any && args[i].rank == results[r].rank) v = in[i];
            else v = kn_low2(&l, any || flag ? op : &kn_prim_add, v, in[i]);
            any = true;
        }
        y[r] = v;
    }
    KILN_TRY(l.status);
    return kn_build_finish(&b, y, nresults, out);
}

static kiln_status some_types(kn_sample *s, uint32_t n, kiln_type *t, int64_t dims[][4])
{
    s->tame = kn_sample_below(s, 2) != 0;
    for (uint32_t i = 0; i < n; i++) {
        t[i].rank = (uint32_t)kn_sample_below(s, 3);
        t[i].dims = dims[i];
        KILN_TRY(kn_sample_dtype(s, "biufc", &t[i].dtype));
        kn_sample_shape(s, t[i].rank, dims[i]);
    }
    return KILN_OK;
}

kiln_status kn_sample_call(kn_sample *s)
{
    kiln_type t[3];
    int64_t dims[3][4];
    kn_atom x[3];
    const kn_jaxpr *body;
    uint32_t n = (uint32_t)kn_sample_between(s, 1, 3), k = 0;
    KILN_TRY(some_types(s, n, t, dims));
    KILN_TRY(make_body(s, t, n, t, n, &body));
    for (uint32_t i = 0; i < n; i++) KILN_TRY(kn_sample_input(s, t[i], &x[i]));
    kn_param params[16];
    while (k < s->prim->nparams) {
        const kn_param_spec *spec = &s->prim->params[k];
        params[k++] = spec->kind == KN_P_JAXPR                  ? KN_JAXPR(body)
                      : strcmp(spec->name, "name") == 0         ? KN_TEXT("sampled")
                      : spec->flags & KN_PARAM_HIDE_NONE        ? KN_NONE
                      : spec->kind == KN_P_BOOL                 ? KN_BOOL(false)
                                                                : KN_NONE;
    }
    return kn_sample_emit(s, params, x, n, n);
}

/* i < limit; limit is a constant of the condition, i the first carry. */
static kiln_status counting_cond(kn_sample *s, const kiln_type *carry, uint32_t n, const kn_jaxpr **out)
{
    kn_build b;
    kn_build_init(&b, s->ctx, s->b.prog);
    kn_low l = {&b, KILN_OK};
    kn_atom limit, in, i = 0;
    KILN_TRY(kn_build_input(&b, carry[0], &limit));
    for (uint32_t k = 0; k < n; k++) {
        KILN_TRY(kn_build_input(&b, carry[k], &in));
        if (k == 0) i = in;
    }
    kn_atom go = kn_low2(&l, &kn_prim_lt, i, limit);
    KILN_TRY(l.status);
    return kn_build_finish(&b, &go, 1, out);
}

/* Adds 1 to the first carry and runs the made body on the rest. */
static kiln_status counting_body(kn_sample *s, const kiln_type *args, uint32_t nconsts, uint32_t ncarry, const kn_jaxpr *rest,
                                 const kn_jaxpr **out)
{
    kn_build b;
    kn_build_init(&b, s->ctx, s->b.prog);
    kn_low l = {&b, KILN_OK};
    kn_atom in[KN_SAMPLE_INPUTS], y[KN_SAMPLE_INPUTS];
    for (uint32_t i = 0; i < nconsts + ncarry; i++) KILN_TRY(kn_build_input(&b, args[i], &in[i]));
    y[0] = kn_low2(&l, &kn_prim_add, in[nconsts], kn_low_num(&l, args[nconsts].dtype, 1));
    KILN_TRY(l.status);
    KILN_TRY(kn_low_inline(&b, rest, &(kn_eqn){0}, in, y + 1));
    return kn_build_finish(&b, y, ncarry, out);
}

kiln_status kn_sample_while(kn_sample *s)
{
    /* operands: limit; one constant of the body; carries: index, others */
    kiln_type t[6];
    int64_t dims[6][4];
    kn_atom x[6];
    const kn_jaxpr *cond, *rest, *body;
    uint32_t n = (uint32_t)kn_sample_between(s, 1, 4); /* carries */
    kiln_dtype index;
    KILN_TRY(kn_sample_dtype(s, "i", &index));
    KILN_TRY(some_types(s, n + 2, t, dims));
    t[0] = t[2] = KILN_SCALAR(index);
    KILN_TRY(counting_cond(s, t + 2, n, &cond));
    KILN_TRY(make_body(s, t + 1, 1 + n, t + 3, n - 1, &rest));
    KILN_TRY(counting_body(s, t + 1, 1, n, rest, &body));
    for (uint32_t i = 0; i < n + 2; i++) {
        KILN_TRY(kn_sample_input(s, t[i], &x[i]));
        if (i == 0) kn_scalar_store(index, s->in[0]->data, 0, (kn_scalar){.i = kn_sample_between(s, -1, 5)});
        if (i == 2) kn_scalar_store(index, s->in[2]->data, 0, (kn_scalar){.i = 0});
    }
    static const char *const records[] = {"root", "log", "all"};
    kn_param params[KN_WHILE_PARAMS] = {KN_JAXPR(body), KN_INT(1), KN_JAXPR(cond), KN_INT(1)};
    if (kn_sample_below(s, 2)) params[KN_WHILE_MAX_TRIPS] = KN_INT(kn_sample_below(s, 7));
    if (params[KN_WHILE_MAX_TRIPS].kind == KN_P_INT && kn_sample_below(s, 4)) params[KN_WHILE_RECORD] = KN_TEXT(records[kn_sample_below(s, 3)]);
    return kn_sample_emit(s, params, x, n + 2, n);
}

kiln_status kn_sample_cond(kn_sample *s)
{
    kiln_type t[3];
    int64_t dims[3][4];
    kn_atom x[4];
    kn_param branch[3];
    uint32_t n = (uint32_t)kn_sample_between(s, 1, 3), branches = (uint32_t)kn_sample_between(s, 1, 3);
    KILN_TRY(some_types(s, n, t, dims));
    for (uint32_t k = 0; k < branches; k++) {
        const kn_jaxpr *body;
        KILN_TRY(make_body(s, t, n, t, n, &body));
        branch[k] = KN_JAXPR(body);
    }
    KILN_TRY(kn_sample_index(s, KILN_I32, -1, branches, &x[0]));
    for (uint32_t i = 0; i < n; i++) KILN_TRY(kn_sample_input(s, t[i], &x[1 + i]));
    return kn_sample_emit(s, (kn_param[]){KN_TUPLE(branches, branch), KN_NONE}, x, n + 1, n);
}

kiln_status kn_sample_scan(kn_sample *s)
{
    kiln_type t[8], arg[8];
    int64_t dims[8][4], whole[8][4];
    kn_atom x[8];
    const kn_jaxpr *body;
    uint32_t nc = (uint32_t)kn_sample_below(s, 2), n = (uint32_t)kn_sample_below(s, 3), nx = (uint32_t)kn_sample_below(s, 3);
    uint32_t ny = (uint32_t)kn_sample_below(s, 3), nin = nc + n + nx;
    int64_t length = kn_sample_below(s, 3) ? kn_sample_below(s, 5) : s->length;
    if (n + ny == 0) ny = 1;
    if (nin == 0) n = nin = 1;
    KILN_TRY(some_types(s, nin, t, dims));
    for (uint32_t i = 0; i < nin; i++) {
        arg[i] = t[i];
        if (i < nc + n) continue;
        whole[i][0] = length;
        for (uint32_t d = 0; d < t[i].rank; d++) whole[i][d + 1] = dims[i][d];
        t[i] = (kiln_type){t[i].dtype, t[i].rank + 1, whole[i]};
    }
    kiln_type result[8];
    for (uint32_t i = 0; i < n + ny; i++) result[i] = i < n ? arg[nc + i] : arg[kn_sample_below(s, nin)];
    KILN_TRY(make_body(s, arg, nin, result, n + ny, &body));
    for (uint32_t i = 0; i < nin; i++) KILN_TRY(kn_sample_input(s, t[i], &x[i]));
    kn_param leaf[8], group[3], none[8], out[2];
    for (uint32_t i = 0; i < 8; i++) none[i] = leaf[i] = KN_NONE;
    group[0] = KN_TUPLE(nc, leaf), group[1] = KN_TUPLE(n, leaf), group[2] = KN_TUPLE(nx, leaf);
    out[0] = KN_TUPLE(n, none), out[1] = KN_TUPLE(ny, none);
    kn_param params[] = {KN_NONE,         KN_TUPLE(3, group), KN_TUPLE(2, out),   KN_JAXPR(body), KN_INT(length), KN_NONE,
                         KN_INT(n), KN_INT(nc),         KN_BOOL(kn_sample_below(s, 2) != 0), KN_INT(1)};
    return kn_sample_emit(s, params, x, nin, n + ny);
}
