/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of whole functions, made of three pieces: forward derivative, partial evaluation, transpose.
 *
 *     known   (operands)            -> results, residuals
 *     linear  (residuals, tangents) -> tangents
 *     back    (residuals, cotangents) -> cotangents */
#include "transform/engine.h"

#include "prim/control.h"
#include "prim/derive.h"
#include "prims.gen.h"

static kiln_type arg_type(const kn_jaxpr *j, uint32_t i) { return kn_type_of(j, j->in[j->nconsts + i]); }
static kiln_type out_type(const kn_jaxpr *j, uint32_t i) { return kn_type_of(j, j->out[i]); }

static kn_atom *atoms(const kn_rules *r, uint32_t n) { return KN_NEWN(&r->prog->arena, kn_atom, n); }
static bool *flags(const kn_rules *r, uint32_t n) { return KN_NEWN(&r->prog->arena, bool, n); }

static const kn_eqn no_call = {.prim = NULL};
static kiln_status append(kn_build *b, const kn_jaxpr *body, const kn_atom *args, kn_atom *out)
{
    return kn_low_inline(b, body, &no_call, args, out);
}

/* The arguments of j in b, in order. */
static kn_atom *arguments(const kn_rules *r, const kn_jaxpr *j, const kn_atom *map)
{
    kn_atom *x = atoms(r, kn_nargs(j));
    for (uint32_t i = 0; x && i < kn_nargs(j); i++) x[i] = map[j->in[j->nconsts + i]];
    return x;
}

/* ---- the pieces ---- */

typedef struct linear {
    const kn_jaxpr *known, *map;
    bool *tangent_out; /* per result of j */
    uint32_t residuals, ntangents; /* arguments of `map` */
} linear;

static kiln_status linearize(const kn_rules *r, const kn_jaxpr *j, const bool *which, linear *out)
{
    uint32_t n = kn_nargs(j), nt = 0;
    const kn_jaxpr *both;
    KILN_TRY_MEM(r->ctx, out->tangent_out = flags(r, j->nout));
    KILN_TRY(kn_jvp_body(r, j, which, NULL, &both, out->tangent_out));
    KILN_TRY(kn_trim(r, both, &both));
    bool *unknown = flags(r, kn_nargs(both)), *wanted = flags(r, both->nout);
    KILN_TRY_MEM(r->ctx, unknown && wanted);
    for (uint32_t i = n; i < kn_nargs(both); i++) unknown[i] = true, nt++;
    for (uint32_t i = j->nout; i < both->nout; i++) wanted[i] = true;
    kn_split s;
    KILN_TRY(kn_partial_body(r, both, unknown, wanted, NULL, &s));
    for (uint32_t i = 0; i < j->nout; i++)
        if (s.unknown_out[i]) return kn_fail(r->ctx, KILN_INTERNAL, "result %u depends on a tangent", i);
    out->known = s.known;
    out->map = s.unknown;
    out->residuals = s.residuals;
    out->ntangents = nt;
    return KILN_OK;
}

/* Cotangents of the operands `which` from those of the results (KN_SYMBOLIC_ZERO: none). y (may be NULL) receives the results. */
static kiln_status pull_back(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_atom *x, const bool *which, const kn_atom *ct,
                             kn_atom *y, kn_atom *ct_in)
{
    linear f;
    KILN_TRY(linearize(r, j, which, &f));
    kn_atom *made = atoms(r, f.known->nout), *in = atoms(r, f.residuals + j->nout), *out = atoms(r, kn_nargs(j));
    bool *lin = flags(r, f.residuals + f.ntangents), *given = flags(r, j->nout), *found = flags(r, f.residuals + f.ntangents);
    KILN_TRY_MEM(r->ctx, made && in && out && lin && given && found);
    KILN_TRY(append(b, f.known, x, made));
    for (uint32_t i = 0; y && i < j->nout; i++) y[i] = made[i];
    uint32_t n = f.residuals, m = 0;
    memcpy(in, made + j->nout, n * sizeof *in);
    for (uint32_t i = 0; i < j->nout; i++) {
        if (!f.tangent_out[i]) continue;
        if ((given[m++] = ct[i] != KN_SYMBOLIC_ZERO)) in[n++] = ct[i];
    }
    for (uint32_t i = 0; i < f.ntangents; i++) lin[f.residuals + i] = true;
    const kn_jaxpr *back;
    KILN_TRY(kn_transpose_body(r, f.map, lin, given, NULL, NULL, &back, found));
    KILN_TRY(append(b, back, in, out));
    m = 0;
    n = f.residuals;
    for (uint32_t i = 0; i < kn_nargs(j); i++) {
        ct_in[i] = KN_SYMBOLIC_ZERO;
        if (which[i] && found[n++]) ct_in[i] = out[m++];
    }
    return KILN_OK;
}

kiln_status kn_depends_body(const kn_rules *r, const kn_jaxpr *j, const bool *on, bool *out)
{
    kn_split s;
    KILN_TRY(kn_partial_body(r, j, on, NULL, NULL, &s));
    memcpy(out, s.unknown_out, j->nout * sizeof *out);
    return KILN_OK;
}

kiln_status kn_pull_back_body(const kn_rules *r, const kn_jaxpr *j, const bool *which, const bool *ct_nonzero, const bool *wanted,
                              const bool *onto, const kn_jaxpr **out, bool *nonzero_out)
{
    uint32_t n = kn_nargs(j), nl = 0, m = 0;
    kn_split s;
    KILN_TRY(kn_partial_body(r, j, which, ct_nonzero, NULL, &s));
    for (uint32_t i = 0; i < n; i++) nl += which[i];
    uint32_t total = s.residuals + nl, nin = 0;
    bool *lin = flags(r, total), *given = flags(r, s.unknown->nout), *found = flags(r, total), *must = flags(r, total), *add = flags(r, total);
    kn_atom *in = atoms(r, n), *made = atoms(r, s.known->nout), *args = atoms(r, s.residuals + j->nout + n), *outs = atoms(r, n);
    KILN_TRY_MEM(r->ctx, lin && given && found && must && add && in && made && args && outs);
    kn_build b;
    kn_build_init(&b, r->ctx, r->prog);
    for (uint32_t i = 0; i < n; i++)
        if (!which[i]) KILN_TRY(kn_build_input(&b, arg_type(j, i), &in[nin++]));
    KILN_TRY(append(&b, s.known, in, made));
    memcpy(args, made + s.known->nout - s.residuals, s.residuals * sizeof *args);
    nin = s.residuals;
    for (uint32_t i = 0; i < j->nout; i++) {
        if (ct_nonzero[i]) KILN_TRY(kn_build_input(&b, out_type(j, i), &args[nin++]));
        if (s.unknown_out[i]) given[m++] = ct_nonzero[i];
    }
    m = s.residuals;
    for (uint32_t i = 0; i < n; i++) {
        if (!which[i]) continue;
        lin[m] = true;
        must[m] = wanted && wanted[i];
        if ((add[m++] = onto && onto[i])) KILN_TRY(kn_build_input(&b, arg_type(j, i), &args[nin++]));
    }
    const kn_jaxpr *back;
    KILN_TRY(kn_transpose_body(r, s.unknown, lin, given, must, add, &back, found));
    KILN_TRY(append(&b, back, args, outs));
    m = s.residuals;
    for (uint32_t i = 0; i < n; i++) nonzero_out[i] = which[i] && found[m++];
    KILN_TRY(kn_build_finish(&b, outs, back->nout, out));
    return kn_trim(r, *out, out);
}

static bool *float_args(const kn_rules *r, const kn_jaxpr *j)
{
    bool *which = flags(r, kn_nargs(j));
    for (uint32_t i = 0; which && i < kn_nargs(j); i++) which[i] = kn_has_tangent(arg_type(j, i));
    return which;
}

/* ---- words ---- */

kiln_status kn_jvp(const kn_rules *r, const kn_jaxpr *j, const kn_jaxpr **out)
{
    bool *which = float_args(r, j), *wanted = flags(r, j->nout), *found = flags(r, j->nout);
    KILN_TRY_MEM(r->ctx, which && wanted && found);
    memset(wanted, 1, j->nout);
    return kn_jvp_body(r, j, which, wanted, out, found);
}

kiln_status kn_linearize(const kn_rules *r, const kn_jaxpr *j, const kn_jaxpr **out)
{
    KILN_TRY(kn_jvp(r, j, out));
    bool *used = flags(r, (*out)->nout);
    KILN_TRY_MEM(r->ctx, used);
    for (uint32_t i = j->nout; i < (*out)->nout; i++) used[i] = true;
    return kn_trim_body(r, *out, used, out, NULL);
}

kiln_status kn_vjp(const kn_rules *r, const kn_jaxpr *j, const kn_jaxpr **out)
{
    kn_build b;
    kn_atom *map, *x, *ct = atoms(r, j->nout), *ct_in = atoms(r, kn_nargs(j)), *outs = atoms(r, kn_nargs(j));
    bool *which = float_args(r, j);
    KILN_TRY_MEM(r->ctx, ct && ct_in && outs && which);
    KILN_TRY(kn_open(r, &b, j, &map));
    KILN_TRY_MEM(r->ctx, x = arguments(r, j, map));
    for (uint32_t i = 0; i < j->nout; i++) {
        ct[i] = KN_SYMBOLIC_ZERO;
        if (kn_has_tangent(out_type(j, i))) KILN_TRY(kn_build_input(&b, out_type(j, i), &ct[i]));
    }
    KILN_TRY(pull_back(r, &b, j, x, which, ct, NULL, ct_in));
    uint32_t n = 0;
    for (uint32_t i = 0; i < kn_nargs(j); i++) {
        if (!which[i]) continue;
        if (ct_in[i] == KN_SYMBOLIC_ZERO) KILN_TRY(kn_zeros(&b, arg_type(j, i), &ct_in[i]));
        outs[n++] = ct_in[i];
    }
    return kn_build_finish(&b, outs, n, out);
}

static kiln_status check_scalar(const kn_rules *r, const kn_jaxpr *j, bool with_value)
{
    const char *name = with_value ? "value_and_grad" : "grad";
    if (j->nout == 0 || (!with_value && j->nout != 1))
        return kn_fail(r->ctx, KILN_INVALID, "%s: the program has %u results; a gradient is that of one (value_and_grad takes more: the others are auxiliary)",
                       name, j->nout);
    kiln_type t = out_type(j, 0);
    if (t.rank || kiln_dtype_kind(t.dtype) != 'f')
        return kn_fail(r->ctx, KILN_SHAPE, "%s: the result is %s; a gradient is that of a real scalar", name, kn_type_show(t).s);
    return KILN_OK;
}

kiln_status kn_grad(const kn_rules *r, const kn_jaxpr *j, const uint32_t *wrt, uint32_t n, bool with_value, const kn_jaxpr **out)
{
    KILN_TRY(check_scalar(r, j, with_value));
    kn_build b;
    kn_atom *map, *x, *ct = atoms(r, j->nout), *ct_in = atoms(r, kn_nargs(j)), *outs = atoms(r, j->nout + n);
    bool *which = flags(r, kn_nargs(j));
    KILN_TRY_MEM(r->ctx, ct && ct_in && outs && which);
    KILN_TRY(kn_open(r, &b, j, &map));
    KILN_TRY_MEM(r->ctx, x = arguments(r, j, map));
    for (uint32_t i = 0; i < n; i++) which[wrt[i]] = true;
    for (uint32_t i = 1; i < j->nout; i++) ct[i] = KN_SYMBOLIC_ZERO;
    KILN_TRY(kn_build_literal(&b, out_type(j, 0).dtype, (kn_scalar){.f = 1}, &ct[0]));
    KILN_TRY(pull_back(r, &b, j, x, which, ct, outs, ct_in));
    uint32_t m = with_value ? j->nout : 0;
    for (uint32_t i = 0; i < n; i++) {
        kn_atom *g = &ct_in[wrt[i]];
        if (*g == KN_SYMBOLIC_ZERO) KILN_TRY(kn_zeros(&b, arg_type(j, wrt[i]), g));
        outs[m++] = *g;
    }
    return kn_build_finish(&b, outs, m, out);
}

kiln_status kn_hvp(const kn_rules *r, const kn_jaxpr *j, uint32_t wrt, const kn_jaxpr **out)
{
    const kn_jaxpr *g;
    KILN_TRY(kn_grad(r, j, &wrt, 1, false, &g));
    KILN_TRY(kn_trim(r, g, &g));
    bool *which = flags(r, kn_nargs(g)), wanted = true, found;
    KILN_TRY_MEM(r->ctx, which);
    which[wrt] = true;
    KILN_TRY(kn_jvp_body(r, g, which, &wanted, out, &found));
    return kn_trim_body(r, *out, (bool[]){false, true}, out, NULL);
}

kiln_status kn_sum_first(const kn_rules *r, const kn_jaxpr *j, const kn_jaxpr **out)
{
    kn_build b;
    kn_atom *map, *x, *y = atoms(r, j->nout);
    KILN_TRY_MEM(r->ctx, y);
    if (j->nout == 0) return kn_fail(r->ctx, KILN_INVALID, "sum: the program has no result");
    KILN_TRY(kn_open(r, &b, j, &map));
    KILN_TRY_MEM(r->ctx, x = arguments(r, j, map));
    KILN_TRY(append(&b, j, x, y));
    kn_low l = {&b, KILN_OK};
    kn_atom total = kn_derive_sum_all(&l, y[0]);
    KILN_TRY(l.status);
    return kn_build_finish(&b, &total, 1, out);
}

kiln_status kn_checkpoint(const kn_rules *r, const kn_jaxpr *j, const char *const *policy, uint32_t n, const kn_jaxpr **out)
{
    static const struct {
        const char *word, *name;
    } known[] = {{"nothing", "nothing_saveable"}, {"everything", "everything_saveable"}, {"dots", "dots_saveable"}};
    kn_param params[] = {KN_BOOL(false), KN_JAXPR(j), KN_NONE, KN_BOOL(true)};
    char *text = NULL;
    for (size_t i = 0; n == 1 && i < sizeof known / sizeof *known; i++)
        if (strcmp(policy[0], known[i].word) == 0) params[2] = KN_TEXT(known[i].name);
    if (n && params[2].kind == KN_P_NONE) {
        text = kn_arena_printf(&r->prog->arena, "save_only_these_names(");
        for (uint32_t i = 0; text && i < n; i++) text = kn_arena_printf(&r->prog->arena, "%s%s%s", text, i ? "," : "", policy[i]);
        if (text) text = kn_arena_printf(&r->prog->arena, "%s)", text);
        KILN_TRY_MEM(r->ctx, text);
        params[2] = KN_TEXT(text);
    }
    kn_build b;
    kn_atom *x = atoms(r, kn_nargs(j)), *y = atoms(r, j->nout);
    KILN_TRY_MEM(r->ctx, x && y);
    kn_build_init(&b, r->ctx, r->prog);
    for (uint32_t i = 0; i < kn_nargs(j); i++) KILN_TRY(kn_build_input(&b, arg_type(j, i), &x[i]));
    KILN_TRY(kn_build_eqn(&b, &kn_prim_remat2, params, x, kn_nargs(j), y, j->nout));
    return kn_build_finish(&b, y, j->nout, out);
}

/* ---- Jacobians ---- */

/* Unit arrays of a type: [size, shape...]. */
static kn_atom unit_arrays(kn_low *l, kiln_type t)
{
    int64_t n = kiln_type_size(t), square[2] = {n, n}, dims[KN_RANK_LIMIT + 1] = {n};
    kn_atom at[2];
    for (int k = 0; k < 2; k++)
        at[k] = kn_low_op(l, &kn_prim_iota, (kn_param[]){KN_INT(k), KN_DTYPE(KILN_I64), KN_INTS(2, square), KN_NONE}, NULL, 0);
    kn_atom one = kn_low_convert(l, kn_low2(l, &kn_prim_eq, at[0], at[1]), t.dtype);
    for (uint32_t d = 0; d < t.rank; d++) dims[d + 1] = t.dims[d];
    return kn_low_reshape(l, one, t.rank + 1, dims);
}

/* Applies body to (shared..., each row of rows): its results stacked. */
static kiln_status each_row(const kn_rules *r, kn_build *b, const kn_jaxpr *body, const kn_atom *shared, uint32_t nshared, kn_atom rows, kn_atom *out)
{
    kn_atom *in = atoms(r, nshared + 1);
    kn_param params[KN_SCAN_PARAMS];
    KILN_TRY_MEM(r->ctx, in);
    if (nshared) memcpy(in, shared, nshared * sizeof *in);
    in[nshared] = rows;
    const uint32_t n[3] = {nshared, 0, 1};
    kn_scan_plain(kn_build_type(b, rows).dims[0], false, params);
    KILN_TRY(kn_scan_params(r->ctx, &r->prog->arena, NULL, body, n, body->nout, params));
    return kn_build_eqn(b, &kn_prim_scan, params, in, nshared + 1, out, body->nout);
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
    linear f;
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
        kn_atom *args = atoms(r, nres + c->f.ntangents), *res = atoms(r, c->f.map->nout), *made = atoms(r, c->f.map->nout);
        KILN_TRY_MEM(r->ctx, args && res && made);
        kn_build_init(&b, r->ctx, r->prog);
        const kn_jaxpr *map = c->f.map, *one;
        for (uint32_t q = 0; q < nres; q++) KILN_TRY(kn_build_input(&b, arg_type(map, q), &args[q]));
        for (uint32_t q = nres; q < nres + c->f.ntangents; q++) {
            if (q - nres == at) KILN_TRY(kn_build_input(&b, arg_type(map, q), &args[q]));
            else KILN_TRY(kn_zeros(&b, arg_type(map, q), &args[q]));
        }
        KILN_TRY(append(&b, map, args, res));
        KILN_TRY(kn_build_finish(&b, res, map->nout, &one));
        KILN_TRY(kn_trim(r, one, &one));
        kn_low l = {&c->b, KILN_OK};
        kn_atom rows = unit_arrays(&l, arg_type(c->j, i));
        KILN_TRY(l.status);
        KILN_TRY(each_row(r, &c->b, one, c->residuals, nres, rows, made));
        for (uint32_t q = 0, m = 0; q < c->j->nout; q++)
            if (c->f.tangent_out[q]) {
                kn_atom a = arrange(&l, made[m++], out_type(c->j, q), arg_type(c->j, i), true);
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
        bool *lin = flags(r, n), *given = flags(r, c->f.map->nout), *found = flags(r, n);
        kn_atom *made = atoms(r, c->f.ntangents);
        const kn_jaxpr *back;
        KILN_TRY_MEM(r->ctx, lin && given && found && made);
        for (uint32_t i = nres; i < n; i++) lin[i] = true;
        given[m++] = true;
        KILN_TRY(kn_transpose_body(r, c->f.map, lin, given, NULL, NULL, &back, found));
        KILN_TRY(kn_trim(r, back, &back));
        kn_low l = {&c->b, KILN_OK};
        kn_atom rows = unit_arrays(&l, out_type(c->j, q));
        KILN_TRY(l.status);
        KILN_TRY(each_row(r, &c->b, back, c->residuals, nres, rows, made));
        for (uint32_t i = 0, at = nres, got = 0; i < kn_nargs(c->j); i++) {
            if (!which[i] || !found[at++]) continue;
            kn_atom a = arrange(&l, made[got++], arg_type(c->j, i), out_type(c->j, q), false);
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
    bool *which = flags(r, kn_nargs(j));
    kn_atom *map, *x, *made, *outs = atoms(r, j->nout * n);
    KILN_TRY_MEM(r->ctx, which && outs && (c.out = atoms(r, j->nout * n)));
    for (uint32_t i = 0; i < n; i++) which[wrt[i]] = true;
    for (uint32_t i = 0; i < j->nout * n; i++) c.out[i] = KN_SYMBOLIC_ZERO;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t q = 0; q < j->nout; q++)
            if (arg_type(j, wrt[i]).rank + out_type(j, q).rank > KN_RANK_LIMIT)
                return kn_fail(r->ctx, KILN_UNSUPPORTED, "a Jacobian would have %u dimensions; accepted: at most %d",
                               arg_type(j, wrt[i]).rank + out_type(j, q).rank, KN_RANK_LIMIT);
    KILN_TRY(linearize(r, j, which, &c.f));
    KILN_TRY(kn_open(r, &c.b, j, &map));
    KILN_TRY_MEM(r->ctx, (x = arguments(r, j, map)) && (made = atoms(r, c.f.known->nout)));
    KILN_TRY(append(&c.b, c.f.known, x, made));
    c.residuals = made + j->nout;
    KILN_TRY(reverse ? lines(&c, which) : columns(&c));
    uint32_t m = 0;
    for (uint32_t q = 0; q < j->nout; q++) {
        if (!kn_has_tangent(out_type(j, q))) continue;
        for (uint32_t k = 0; k < n; k++) {
            kn_atom a = c.out[q * n + k];
            if (a == KN_SYMBOLIC_ZERO) {
                int64_t dims[2 * KN_RANK_LIMIT];
                kiln_type y = out_type(j, q), t = arg_type(j, wrt[k]);
                for (uint32_t d = 0; d < y.rank; d++) dims[d] = y.dims[d];
                for (uint32_t d = 0; d < t.rank; d++) dims[y.rank + d] = t.dims[d];
                KILN_TRY(kn_zeros(&c.b, (kiln_type){reverse ? t.dtype : y.dtype, y.rank + t.rank, dims}, &a));
            }
            outs[m++] = a;
        }
    }
    return kn_build_finish(&c.b, outs, m, out);
}
