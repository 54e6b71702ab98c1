/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of whole functions, made of three pieces: forward derivative, partial evaluation, transpose.
 *
 *     known   (operands)            -> results, residuals
 *     linear  (residuals, tangents) -> tangents
 *     back    (residuals, cotangents) -> cotangents */
#include "transform/functions.h"

#include "prim/control.h"
#include "prim/derive.h"
#include "prims.gen.h"
#include "transform/segment.h"

static const kn_eqn no_call = {.prim = NULL};
kiln_status kn_append(kn_build *b, const kn_jaxpr *body, const kn_atom *args, kn_atom *out)
{
    return kn_low_inline(b, body, &no_call, args, out);
}

kn_atom *kn_arguments_of(const kn_rules *r, const kn_jaxpr *j, const kn_atom *map)
{
    kn_atom *x = kn_new_atoms(r, kn_nargs(j));
    for (uint32_t i = 0; x && i < kn_nargs(j); i++) x[i] = map[j->in[j->nconsts + i]];
    return x;
}

/* ---- the pieces ---- */

kiln_status kn_linear_of(const kn_rules *r, const kn_jaxpr *j, const bool *which, bool all, kn_linear *out)
{
    uint32_t n = kn_nargs(j), nt = 0;
    const kn_jaxpr *both;
    bool *must = kn_new_flags(r, j->nout);
    KILN_TRY_MEM(r->ctx, must && (out->tangent_out = kn_new_flags(r, j->nout)));
    memset(must, all, j->nout);
    KILN_TRY(kn_jvp_body(r, j, which, must, &both, out->tangent_out));
    KILN_TRY(kn_trim(r, both, &both));
    bool *unknown = kn_new_flags(r, kn_nargs(both)), *wanted = kn_new_flags(r, both->nout);
    KILN_TRY_MEM(r->ctx, unknown && wanted);
    for (uint32_t i = n; i < kn_nargs(both); i++) unknown[i] = true, nt++;
    for (uint32_t i = j->nout; i < both->nout; i++) wanted[i] = true;
    kn_split s;
    KILN_TRY(kn_partial_body(r, both, unknown, wanted, NULL, &s));
    for (uint32_t i = 0; i < j->nout; i++)
        if (s.unknown_out[i])
            return kn_fail(r->ctx, KILN_INVALID, "result %u depends on a tangent: the values that the jvp of a custom_jvp gives must follow from its operands alone", i);
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
    kn_linear f;
    KILN_TRY(kn_linear_of(r, j, which, false, &f));
    kn_atom *made = kn_new_atoms(r, f.known->nout), *in = kn_new_atoms(r, f.residuals + j->nout), *out = kn_new_atoms(r, kn_nargs(j));
    bool *lin = kn_new_flags(r, f.residuals + f.ntangents), *given = kn_new_flags(r, j->nout), *found = kn_new_flags(r, f.residuals + f.ntangents);
    KILN_TRY_MEM(r->ctx, made && in && out && lin && given && found);
    KILN_TRY(kn_append(b, f.known, x, made));
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
    KILN_TRY(kn_append(b, back, in, out));
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
    bool *lin = kn_new_flags(r, total), *given = kn_new_flags(r, s.unknown->nout), *found = kn_new_flags(r, total), *must = kn_new_flags(r, total), *add = kn_new_flags(r, total);
    kn_atom *in = kn_new_atoms(r, n), *made = kn_new_atoms(r, s.known->nout), *args = kn_new_atoms(r, s.residuals + j->nout + n), *outs = kn_new_atoms(r, n);
    KILN_TRY_MEM(r->ctx, lin && given && found && must && add && in && made && args && outs);
    kn_build b;
    kn_build_init(&b, r->ctx, r->prog);
    for (uint32_t i = 0; i < n; i++)
        if (!which[i]) KILN_TRY(kn_build_input(&b, kn_arg_type(j, i), &in[nin++]));
    KILN_TRY(kn_append(&b, s.known, in, made));
    memcpy(args, made + s.known->nout - s.residuals, s.residuals * sizeof *args);
    nin = s.residuals;
    for (uint32_t i = 0; i < j->nout; i++) {
        if (ct_nonzero[i]) KILN_TRY(kn_build_input(&b, kn_result_type(j, i), &args[nin++]));
        if (s.unknown_out[i]) given[m++] = ct_nonzero[i];
    }
    m = s.residuals;
    for (uint32_t i = 0; i < n; i++) {
        if (!which[i]) continue;
        lin[m] = true;
        must[m] = wanted && wanted[i];
        if ((add[m++] = onto && onto[i])) KILN_TRY(kn_build_input(&b, kn_arg_type(j, i), &args[nin++]));
    }
    const kn_jaxpr *back;
    KILN_TRY(kn_transpose_body(r, s.unknown, lin, given, must, add, &back, found));
    KILN_TRY(kn_append(&b, back, args, outs));
    m = s.residuals;
    for (uint32_t i = 0; i < n; i++) nonzero_out[i] = which[i] && found[m++];
    KILN_TRY(kn_build_finish(&b, outs, back->nout, out));
    return kn_trim(r, *out, out);
}

/* ---- words ---- */

kiln_status kn_wrt_check(const kn_rules *r, const kn_jaxpr *j, const char *name, const uint32_t *wrt, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (wrt[i] >= kn_nargs(j))
            return kn_fail(r->ctx, KILN_INVALID, "%s: operand %u is asked for, but there are only %u operands", name, wrt[i], kn_nargs(j));
        if (!kn_has_tangent(kn_arg_type(j, wrt[i])))
            return kn_fail(r->ctx, KILN_DTYPE, "%s: operand %u is %s; only floats have derivatives", name, wrt[i],
                           kn_type_show(kn_arg_type(j, wrt[i])).s);
    }
    return KILN_OK;
}

/* Flags of the operands wrt, or of all floats. A tangent or cotangent belongs to each once. */
static kiln_status chosen(const kn_rules *r, const kn_jaxpr *j, const char *name, const uint32_t *wrt, uint32_t n, bool **which)
{
    KILN_TRY_MEM(r->ctx, *which = kn_new_flags(r, kn_nargs(j)));
    KILN_TRY(kn_wrt_check(r, j, name, wrt, n));
    for (uint32_t i = 0; i < kn_nargs(j); i++) (*which)[i] = n == 0 && kn_has_tangent(kn_arg_type(j, i));
    for (uint32_t i = 0; i < n; i++) {
        if (i && wrt[i] <= wrt[i - 1])
            return kn_fail(r->ctx, KILN_INVALID, "%s: operand %u stands behind operand %u; accepted: numbers that rise", name, wrt[i], wrt[i - 1]);
        (*which)[wrt[i]] = true;
    }
    return KILN_OK;
}

kiln_status kn_jvp(const kn_rules *r, const kn_jaxpr *j, const uint32_t *wrt, uint32_t n, const kn_jaxpr **out)
{
    bool *which, *wanted = kn_new_flags(r, j->nout), *found = kn_new_flags(r, j->nout);
    KILN_TRY(chosen(r, j, "jvp", wrt, n, &which));
    KILN_TRY_MEM(r->ctx, wanted && found);
    memset(wanted, 1, j->nout);
    return kn_jvp_body(r, j, which, wanted, out, found);
}

kiln_status kn_linearize(const kn_rules *r, const kn_jaxpr *j, const uint32_t *wrt, uint32_t n, const kn_jaxpr **out)
{
    bool *which;
    KILN_TRY(chosen(r, j, "linearize", wrt, n, &which));
    KILN_TRY(kn_jvp(r, j, wrt, n, out));
    bool *used = kn_new_flags(r, (*out)->nout);
    KILN_TRY_MEM(r->ctx, used);
    for (uint32_t i = j->nout; i < (*out)->nout; i++) used[i] = true;
    return kn_trim_body(r, *out, used, out, NULL);
}

kiln_status kn_linearize_apart(const kn_rules *r, const kn_jaxpr *j, const uint32_t *wrt, uint32_t n, const kn_jaxpr **forward, const kn_jaxpr **map)
{
    bool *which;
    kn_linear f;
    KILN_TRY(chosen(r, j, "linearize", wrt, n, &which));
    KILN_TRY(kn_linear_of(r, j, which, true, &f));
    *forward = f.known;
    *map = f.map;
    return KILN_OK;
}

kiln_status kn_transposed(const kn_rules *r, const kn_jaxpr *j, const uint32_t *linear, uint32_t n, const kn_jaxpr **out)
{
    bool *which, *given = kn_new_flags(r, j->nout), *found = kn_new_flags(r, kn_nargs(j));
    KILN_TRY(chosen(r, j, "transpose", linear, n, &which));
    KILN_TRY_MEM(r->ctx, given && found);
    for (uint32_t i = 0; i < j->nout; i++) given[i] = kn_has_tangent(kn_result_type(j, i));
    return kn_pull_back_body(r, j, which, given, which, NULL, out, found);
}

kiln_status kn_vjp(const kn_rules *r, const kn_jaxpr *j, const uint32_t *wrt, uint32_t n, const kn_jaxpr **out)
{
    kn_build b;
    kn_atom *map, *x, *ct = kn_new_atoms(r, j->nout), *ct_in = kn_new_atoms(r, kn_nargs(j)), *outs = kn_new_atoms(r, kn_nargs(j));
    bool *which;
    KILN_TRY(chosen(r, j, "vjp", wrt, n, &which));
    KILN_TRY_MEM(r->ctx, ct && ct_in && outs);
    KILN_TRY(kn_open(r, &b, j, &map));
    KILN_TRY_MEM(r->ctx, x = kn_arguments_of(r, j, map));
    for (uint32_t i = 0; i < j->nout; i++) {
        ct[i] = KN_SYMBOLIC_ZERO;
        if (kn_has_tangent(kn_result_type(j, i))) KILN_TRY(kn_build_input(&b, kn_result_type(j, i), &ct[i]));
    }
    KILN_TRY(pull_back(r, &b, j, x, which, ct, NULL, ct_in));
    uint32_t m = 0;
    for (uint32_t i = 0; i < kn_nargs(j); i++) {
        if (!which[i]) continue;
        if (ct_in[i] == KN_SYMBOLIC_ZERO) KILN_TRY(kn_zeros(&b, kn_arg_type(j, i), &ct_in[i]));
        outs[m++] = ct_in[i];
    }
    return kn_build_finish(&b, outs, m, out);
}

static const char *grad_name(unsigned how) { return how & KN_GRAD_VALUE ? "value_and_grad" : "grad"; }

static kiln_status check_scalar(const kn_rules *r, const kn_jaxpr *j, unsigned how)
{
    if (j->nout == 0 || (!(how & KN_GRAD_AUX) && j->nout != 1))
        return kn_fail(r->ctx, KILN_INVALID, "%s: the program has %u results; a gradient is that of one, unless the others are said to be auxiliary",
                       grad_name(how), j->nout);
    kiln_type t = kn_result_type(j, 0);
    if (t.rank || kiln_dtype_kind(t.dtype) != 'f')
        return kn_fail(r->ctx, KILN_SHAPE, "%s: the result is %s; a gradient is that of a real scalar", grad_name(how), kn_type_show(t).s);
    return KILN_OK;
}

kiln_status kn_grad(const kn_rules *r, const kn_jaxpr *j, const uint32_t *wrt, uint32_t n, unsigned how, const kn_jaxpr **out)
{
    KILN_TRY(kn_wrt_check(r, j, grad_name(how), wrt, n));
    KILN_TRY(check_scalar(r, j, how));
    kn_build b;
    kn_atom *map, *x, *ct = kn_new_atoms(r, j->nout), *ct_in = kn_new_atoms(r, kn_nargs(j)), *y = kn_new_atoms(r, j->nout);
    kn_atom *outs = kn_new_atoms(r, j->nout + n);
    bool *which = kn_new_flags(r, kn_nargs(j));
    KILN_TRY_MEM(r->ctx, ct && ct_in && y && outs && which);
    KILN_TRY(kn_open(r, &b, j, &map));
    KILN_TRY_MEM(r->ctx, x = kn_arguments_of(r, j, map));
    for (uint32_t i = 0; i < n; i++) which[wrt[i]] = true;
    for (uint32_t i = 1; i < j->nout; i++) ct[i] = KN_SYMBOLIC_ZERO;
    KILN_TRY(kn_build_literal(&b, kn_result_type(j, 0).dtype, (kn_scalar){.f = 1}, &ct[0]));
    KILN_TRY(pull_back(r, &b, j, x, which, ct, y, ct_in));
    uint32_t m = 0;
    for (uint32_t i = 0; i < j->nout && how & KN_GRAD_VALUE; i++) outs[m++] = y[i];
    for (uint32_t i = 0; i < n; i++) {
        kn_atom *g = &ct_in[wrt[i]];
        if (*g == KN_SYMBOLIC_ZERO) KILN_TRY(kn_zeros(&b, kn_arg_type(j, wrt[i]), g));
        outs[m++] = *g;
    }
    for (uint32_t i = 1; i < j->nout && !(how & KN_GRAD_VALUE); i++) outs[m++] = y[i];
    return kn_build_finish(&b, outs, m, out);
}

kiln_status kn_hvp(const kn_rules *r, const kn_jaxpr *j, uint32_t wrt, const kn_jaxpr **out)
{
    const kn_jaxpr *g;
    KILN_TRY(kn_grad(r, j, &wrt, 1, 0, &g));
    KILN_TRY(kn_trim(r, g, &g));
    bool *which = kn_new_flags(r, kn_nargs(g)), wanted = true, found;
    KILN_TRY_MEM(r->ctx, which);
    which[wrt] = true;
    KILN_TRY(kn_jvp_body(r, g, which, &wanted, out, &found));
    return kn_trim_body(r, *out, (bool[]){false, true}, out, NULL);
}

kiln_status kn_sum_first(const kn_rules *r, const kn_jaxpr *j, const kn_jaxpr **out)
{
    kn_build b;
    kn_atom *map, *x, *y = kn_new_atoms(r, j->nout);
    KILN_TRY_MEM(r->ctx, y);
    if (j->nout == 0) return kn_fail(r->ctx, KILN_INVALID, "sum: the program has no result");
    KILN_TRY(kn_open(r, &b, j, &map));
    KILN_TRY_MEM(r->ctx, x = kn_arguments_of(r, j, map));
    KILN_TRY(kn_append(&b, j, x, y));
    kn_low l = {&b, KILN_OK};
    kn_atom total = kn_derive_sum_all(&l, y[0]);
    KILN_TRY(l.status);
    return kn_build_finish(&b, &total, 1, out);
}

/* Is a value called this anywhere in the program? */
typedef struct search {
    const char *name;
    bool found;
} search;

static void look_for_name(void *ud, const kn_jaxpr *j)
{
    search *s = ud;
    for (uint32_t k = 0; k < j->neqns && !s->found; k++) {
        const kn_param *name = j->eqns[k].prim == &kn_prim_name ? kn_param_of(&j->eqns[k], "name") : NULL;
        s->found = name && name->kind == KN_P_TEXT && strcmp(name->text, s->name) == 0;
        if (!s->found) kn_eqn_bodies(&j->eqns[k], look_for_name, s);
    }
}

kiln_status kn_checkpoint_named(const kn_rules *r, const kn_jaxpr *j, const char *const *saved, uint32_t n)
{
    static const char *const policies[] = {"nothing", "everything", "dots", "log", "root"};
    for (uint32_t i = 0; i < n; i++) {
        search s = {saved[i], saved[i][0] && !saved[i][strspn(saved[i], "0123456789")]}; /* or a number of trips */
        for (size_t k = 0; k < sizeof policies / sizeof *policies; k++) s.found = s.found || strcmp(saved[i], policies[k]) == 0;
        if (!s.found) look_for_name(&s, j);
        if (!s.found)
            return kn_fail(r->ctx, KILN_INVALID, "checkpoint: no value of the program is called '%.100s'; accepted: nothing, root, log, everything, dots, and names that its `name` equations give",
                           saved[i]);
    }
    return KILN_OK;
}

/* A number stands last, or alone. */
static kiln_status bound_of(const kn_rules *r, const char *const *saved, uint32_t *n, int64_t *max_trips)
{
    *max_trips = -1;
    const char *s = *n ? saved[*n - 1] : "";
    size_t digits = strspn(s, "0123456789");
    if (!digits || s[digits]) return KILN_OK;
    static const char *const with[] = {"nothing", "root", "log", "everything"};
    bool fits = *n == 1;
    for (size_t i = 0; i < sizeof with / sizeof *with; i++) fits = fits || (*n == 2 && strcmp(saved[0], with[i]) == 0);
    if (!fits || digits > 18)
        return kn_fail(r->ctx, KILN_INVALID, "checkpoint: '%s' trips of while loops; accepted: a number of at most 18 digits, alone or behind one of root, log, everything", s);
    *max_trips = 0;
    for (; *s; s++) *max_trips = 10 * *max_trips + (*s - '0');
    --*n;
    return KILN_OK;
}

kiln_status kn_checkpoint(const kn_rules *r, const kn_jaxpr *j, const char *const *saved, uint32_t n, const kn_jaxpr **out)
{
    int64_t max_trips;
    KILN_TRY(bound_of(r, saved, &n, &max_trips));
    const char *only = n == 1 ? saved[0] : n ? "" : "root";
    bool logarithm = strcmp(only, "log") == 0, root = strcmp(only, "root") == 0 || strcmp(only, "nothing") == 0, all = strcmp(only, "everything") == 0;
    const kn_loop_plan plan = {!all, logarithm, max_trips, all ? "all" : logarithm ? "log" : "root"};
    if (logarithm || root || all) KILN_TRY(kn_plan_loops(r, j, &plan, &j));
    if (logarithm || strcmp(only, "root") == 0) n = 0;
    kn_param params[] = {KN_BOOL(false), KN_JAXPR(j), KN_NONE, KN_BOOL(true)};
    const char *policy;
    if (n) {
        KILN_TRY(kn_policy_text(r->ctx, &r->prog->arena, saved, n, &policy));
        params[2] = KN_TEXT(policy);
    }
    kn_build b;
    kn_atom *x = kn_new_atoms(r, kn_nargs(j)), *y = kn_new_atoms(r, j->nout);
    KILN_TRY_MEM(r->ctx, x && y);
    kn_build_init(&b, r->ctx, r->prog);
    for (uint32_t i = 0; i < kn_nargs(j); i++) KILN_TRY(kn_build_input(&b, kn_arg_type(j, i), &x[i]));
    KILN_TRY(kn_build_eqn(&b, &kn_prim_remat2, params, x, kn_nargs(j), y, j->nout));
    return kn_build_finish(&b, y, j->nout, out);
}
