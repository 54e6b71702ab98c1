/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a body: jit (pjit, closed_call, eval_jaxpr), custom_jvp_call, custom_vjp_call, remat2 (checkpoint, remat). All compute what the body computes; what differs is what
 * transformations make of them. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/control.h"
#include "prim/derive.h"
#include "prim/lowering.h"
#include "prim/sample.h"

enum { HIDDEN = KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE };

static const kn_param_spec jit_params[] = {
    {"name", KN_P_TEXT, HIDDEN},
    {"compiler_options_kvs", KN_P_NONE, HIDDEN | KN_PARAM_HIDE_EMPTY},
    {"ctx_mesh", KN_P_NONE, HIDDEN},
    {"donated_invars", KN_P_NONE, HIDDEN},
    {"in_layouts", KN_P_NONE, HIDDEN},
    {"in_shardings", KN_P_NONE, HIDDEN},
    {"inline", KN_P_NONE, HIDDEN},
    {"jaxpr", KN_P_JAXPR, 0},
    {"keep_unused", KN_P_NONE, HIDDEN},
    {"out_layouts", KN_P_NONE, HIDDEN},
    {"out_shardings", KN_P_NONE, HIDDEN},
};
static const kn_param_spec closed_call_params[] = {{"call_jaxpr", KN_P_JAXPR, 0}};
static const kn_param_spec custom_jvp_params[] = {
    {"name", KN_P_TEXT, HIDDEN},
    {"call_jaxpr", KN_P_JAXPR, 0},
    {"jvp", KN_P_TEXT, HIDDEN},
    {"jvp_jaxpr_fun", KN_P_TEXT, HIDDEN},
    {"jvp_jaxpr_thunk", KN_P_TEXT, HIDDEN},
    {"num_consts", KN_P_INT, HIDDEN},
    {"rule", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_RULE}, /* the derivative: a jaxpr (operands, tangents) -> (results, tangents) */
    {"symbolic_zeros", KN_P_BOOL, KN_PARAM_OPTIONAL},
};
static const kn_param_spec custom_vjp_params[] = {
    {"name", KN_P_TEXT, HIDDEN},
    {"bwd", KN_P_TEXT, HIDDEN},
    {"call_jaxpr", KN_P_JAXPR, 0},
    {"fwd", KN_P_TEXT, HIDDEN},
    {"fwd_jaxpr_thunk", KN_P_TEXT, HIDDEN},
    {"num_consts", KN_P_INT, HIDDEN},
    {"out_trees", KN_P_NONE, HIDDEN},
    {"rule", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_RULE}, /* (forward, backward, number of residuals) */
    {"symbolic_zeros", KN_P_BOOL, KN_PARAM_OPTIONAL},
};
static const kn_param_spec remat_params[] = {
    {"differentiated", KN_P_BOOL, KN_PARAM_OPTIONAL},
    {"jaxpr", KN_P_JAXPR, 0},
    {"policy", KN_P_NONE, KN_PARAM_OPTIONAL},
    {"prevent_cse", KN_P_NONE, KN_PARAM_OPTIONAL},
};

static uint32_t body_param(const kn_prim *p)
{
    for (uint32_t i = 0; i < p->nparams; i++)
        if (p->params[i].kind == KN_P_JAXPR) return i;
    return 0;
}
static const kn_jaxpr *body_of(const kn_eqn *e) { return e->params[body_param(e->prim)].jaxpr; }

static kiln_status type_call(kn_typing *t)
{
    const kn_jaxpr *body;
    KILN_TRY(kn_typing_jaxpr(t, body_param(t->prim), &body));
    KILN_TRY(kn_typing_body_in(t, body, "the body", t->in, t->nin, 0));
    KILN_TRY(kn_typing_out(t, body->nout));
    for (uint32_t i = 0; i < body->nout; i++) {
        kiln_type y = kn_type_of(body, body->out[i]);
        KILN_TRY(kn_typing_like(t, i, y.dtype, y));
    }
    return KILN_OK;
}

const kn_jaxpr *kn_called(const kn_eqn *e) { return e->prim->type == type_call ? body_of(e) : NULL; }

static kiln_status eval_call(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)j;
    for (uint32_t i = 0; i < e->nout; i++) kiln_array_release(out[i]), out[i] = NULL;
    return ev->run(ev, body_of(e), in, out);
}
static kiln_status lower_call(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j;
    return kn_low_inline(b, body_of(e), e, x, y);
}

/* ---- checkpoints ---- */

kiln_status kn_policy_text(kiln_ctx *ctx, kn_arena *arena, const char *const *saved, uint32_t n, const char **out)
{
    static const char *const one[] = {"nothing", "everything", "dots"};
    char *names = kn_arena_text(arena, "");
    bool dots = false, any = false;
    for (size_t i = 0; i < 3; i++)
        if (n == 1 && strcmp(saved[0], one[i]) == 0) {
            KILN_TRY_MEM(ctx, *out = kn_arena_printf(arena, "%s_saveable", one[i]));
            return KILN_OK;
        }
    if (n == 1 && (strcmp(saved[0], "log") == 0 || strcmp(saved[0], "root") == 0))
        return kn_fail(ctx, KILN_INVALID, "checkpoint: '%s' divides the loops of a whole program: kiln_prog_checkpoint, or the word checkpoint:%s", saved[0], saved[0]);
    for (uint32_t i = 0; i < n && names; i++) {
        static const char *const alone[] = {"nothing", "everything", "root", "log"};
        for (size_t k = 0; k < 4 && n > 1; k++)
            if (strcmp(saved[i], alone[k]) == 0) return kn_fail(ctx, KILN_INVALID, "checkpoint: '%s' stands alone, not among %u", saved[i], n);
        if (!saved[i][0] || strpbrk(saved[i], ",()"))
            return kn_fail(ctx, KILN_INVALID, "checkpoint: '%s' is no name; accepted: text without commas and brackets", saved[i]);
        if (strcmp(saved[i], "dots") == 0) dots = true;
        else names = kn_arena_printf(arena, "%s%s%s", names, any ? "," : "", saved[i]), any = true;
    }
    if (names) names = kn_arena_printf(arena, dots ? "save_from_both_policies(dots_saveable,save_only_these_names(%s))" : "save_only_these_names(%s)", names);
    KILN_TRY_MEM(ctx, names);
    *out = names;
    return KILN_OK;
}

/* ---- derivatives ---- */

/* Arguments of the derivative of a body: the operands, then their tangents; results are told apart by `found`. */
typedef struct forward {
    const kn_jaxpr *body;
    kn_atom *in, *out;
    uint32_t nin;
    bool *found;
} forward;

static kiln_status forward_of(const kn_rules *r, kn_build *b, const kn_eqn *e, const kn_jaxpr *body, const kn_atom *x, const kn_atom *dx, forward *f)
{
    kn_arena *arena = &b->prog->arena;
    bool *nonzero = KN_NEWN(arena, bool, e->nin);
    *f = (forward){.in = KN_NEWN(arena, kn_atom, 2 * e->nin), .out = KN_NEWN(arena, kn_atom, 2 * e->nout), .found = KN_NEWN(arena, bool, e->nout)};
    KILN_TRY_MEM(b->ctx, nonzero && f->in && f->out && f->found);
    memcpy(f->in, x, e->nin * sizeof *x);
    f->nin = e->nin;
    for (uint32_t i = 0; i < e->nin; i++)
        if ((nonzero[i] = dx[i] != KN_SYMBOLIC_ZERO)) f->in[f->nin++] = dx[i];
    return r->jvp(r, body, nonzero, NULL, &f->body, f->found);
}
static void forward_results(const forward *f, const kn_eqn *e, kn_atom *y, kn_atom *dy)
{
    uint32_t n = e->nout;
    memcpy(y, f->out, e->nout * sizeof *y);
    for (uint32_t i = 0; i < e->nout; i++)
        if (f->found[i]) dy[i] = f->out[n++];
}

static kiln_status with_body(kn_build *b, const kn_eqn *e, const kn_jaxpr *body, const kn_atom *in, kn_atom *out)
{
    static const char *const lists[] = {"donated_invars", "in_layouts", "in_shardings", "out_layouts", "out_shardings"};
    kn_param params[16];
    memcpy(params, e->params, e->prim->nparams * sizeof *params);
    params[body_param(e->prim)] = KN_JAXPR(body);
    for (uint32_t i = 0; i < e->prim->nparams; i++)
        for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
            if (strcmp(e->prim->params[i].name, lists[k]) == 0) params[i] = KN_NONE;
    return kn_build_eqn(b, e->prim, params, in, kn_nargs(body), out, body->nout);
}

static kiln_status jvp_call(KN_JVP_ARGS)
{
    (void)j;
    forward f;
    KILN_TRY(forward_of(r, b, e, body_of(e), x, dx, &f));
    KILN_TRY(with_body(b, e, f.body, f.in, f.out));
    forward_results(&f, e, y, dy);
    return KILN_OK;
}

/* The transposed body, which may have parts that are not linear: a checkpoint holds the forward computation too. */
static kiln_status transpose_call(KN_TRANSPOSE_ARGS)
{
    (void)j;
    kn_arena *arena = &b->prog->arena;
    bool *linear = KN_NEWN(arena, bool, e->nin), *given = KN_NEWN(arena, bool, e->nout), *found = KN_NEWN(arena, bool, e->nin);
    bool *onto = KN_NEWN(arena, bool, e->nin);
    kn_atom *in = KN_NEWN(arena, kn_atom, 2 * e->nin + e->nout), *out = KN_NEWN(arena, kn_atom, e->nin);
    KILN_TRY_MEM(b->ctx, linear && given && found && onto && in && out);
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->nin; i++)
        if (!(linear[i] = x[i] == KN_LINEAR)) in[n++] = x[i];
    for (uint32_t i = 0; i < e->nout; i++)
        if ((given[i] = ct[i] != KN_SYMBOLIC_ZERO)) in[n++] = ct[i];
    for (uint32_t i = 0; i < e->nin; i++)
        if ((onto[i] = linear[i] && ct_in[i] != KN_SYMBOLIC_ZERO)) in[n++] = ct_in[i];
    const kn_jaxpr *body = body_of(e);
    if (e->prim->params == remat_params) KILN_TRY(r->pull_back(r, body, linear, given, NULL, onto, &body, found));
    else KILN_TRY(r->transpose(r, body, linear, given, NULL, onto, &body, found));
    KILN_TRY(with_body(b, e, body, in, out));
    n = 0;
    for (uint32_t i = 0; i < e->nin; i++) {
        ct_in[i] = KN_SYMBOLIC_ZERO;
        if (found[i]) ct_in[i] = out[n++];
    }
    return KILN_OK;
}

static const kn_param *rule_of(const kn_eqn *e)
{
    const kn_param *p = kn_param_of(e, "rule");
    return p && p->kind != KN_P_NONE ? p : NULL;
}

/* Tangents of the operands that have some, behind what stands in `in` already. */
static kiln_status all_tangents(kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *dx, kn_atom *in, uint32_t *n)
{
    kn_low l = {b, KILN_OK};
    for (uint32_t i = 0; i < e->nin; i++)
        if (kn_has_tangent(kn_in_type(j, e, i))) in[(*n)++] = kn_derive_value(&l, dx[i], kn_in_type(j, e, i));
    return l.status;
}

static kiln_status jvp_custom_jvp(KN_JVP_ARGS)
{
    const kn_param *rule = rule_of(e);
    if (!rule) {
        forward f;
        KILN_TRY(forward_of(r, b, e, body_of(e), x, dx, &f));
        KILN_TRY(kn_low_inline(b, f.body, e, f.in, f.out));
        forward_results(&f, e, y, dy);
        return KILN_OK;
    }
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, 2 * e->nin), *out = KN_NEWN(&b->prog->arena, kn_atom, 2 * e->nout);
    KILN_TRY_MEM(b->ctx, in && out);
    uint32_t n = e->nin;
    memcpy(in, x, e->nin * sizeof *in);
    KILN_TRY(all_tangents(b, j, e, dx, in, &n));
    KILN_TRY(kn_low_inline(b, rule->jaxpr, e, in, out));
    memcpy(y, out, e->nout * sizeof *y);
    n = e->nout;
    for (uint32_t i = 0; i < e->nout; i++)
        if (kn_has_tangent(kn_out_type(j, e, i))) dy[i] = out[n++];
    return KILN_OK;
}

/* With a rule: the forward half, and an equation that stands for the tangents until it is transposed. */
static kiln_status jvp_custom_vjp(KN_JVP_ARGS)
{
    const kn_param *rule = rule_of(e);
    if (!rule) return jvp_custom_jvp(r, b, j, e, x, dx, y, dy);
    const kn_jaxpr *fwd = rule->items[0].jaxpr;
    uint32_t residuals = (uint32_t)rule->items[2].i, n = residuals;
    kn_atom *made = KN_NEWN(&b->prog->arena, kn_atom, fwd->nout), *in = KN_NEWN(&b->prog->arena, kn_atom, residuals + e->nin);
    kn_atom *out = KN_NEWN(&b->prog->arena, kn_atom, e->nout);
    KILN_TRY_MEM(b->ctx, made && in && out);
    KILN_TRY(kn_low_inline(b, fwd, e, x, made));
    memcpy(y, made, e->nout * sizeof *y);
    memcpy(in, made + e->nout, residuals * sizeof *in);
    KILN_TRY(all_tangents(b, j, e, dx, in, &n));
    const kn_param *name = kn_param_of(e, "name");
    kn_param params[] = {rule->items[1], name && name->kind == KN_P_TEXT ? *name : KN_TEXT(""), KN_INT(residuals)};
    uint32_t m = 0;
    for (uint32_t i = 0; i < e->nout; i++) m += kn_has_tangent(kn_out_type(j, e, i));
    KILN_TRY(kn_build_eqn(b, &kn_prim_custom_lin, params, in, n, out, m));
    m = 0;
    for (uint32_t i = 0; i < e->nout; i++)
        if (kn_has_tangent(kn_out_type(j, e, i))) dy[i] = out[m++];
    return KILN_OK;
}

/* ---- custom_lin: the tangents of a call whose reverse derivative alone is known ---- */

enum { LIN_BWD, LIN_NAME, LIN_RESIDUALS };
static const kn_param_spec lin_params[] = {{"bwd", KN_P_JAXPR, 0}, {"name", KN_P_TEXT, 0}, {"residuals", KN_P_INT, 0}};

/* bwd takes residuals and cotangents of the results, and gives cotangents of the tangents. */
static kiln_status type_lin(kn_typing *t)
{
    const kn_jaxpr *bwd;
    int64_t n;
    KILN_TRY(kn_typing_jaxpr(t, LIN_BWD, &bwd));
    KILN_TRY(kn_typing_int(t, LIN_RESIDUALS, &n));
    if (n < 0 || n > (int64_t)t->nin || n > (int64_t)kn_nargs(bwd) || bwd->nout != t->nin - (uint32_t)n)
        return kn_fail(t->ctx, KILN_INVALID, "custom_lin: %lld residuals and %u cotangents do not fit %u operands", (long long)n, bwd->nout, t->nin);
    KILN_TRY(kn_typing_out(t, kn_nargs(bwd) - (uint32_t)n));
    for (uint32_t i = 0; i < t->nout; i++) {
        kiln_type y = kn_type_of(bwd, bwd->in[bwd->nconsts + (uint32_t)n + i]);
        KILN_TRY(kn_typing_like(t, i, y.dtype, y));
    }
    return KILN_OK;
}
static kiln_status jvp_lin(KN_JVP_ARGS)
{
    for (int64_t i = 0; i < e->params[LIN_RESIDUALS].i; i++)
        if (dx[i] != KN_SYMBOLIC_ZERO)
            return kn_fail(b->ctx, KILN_INVALID, "custom_vjp '%s' has a reverse derivative only; it cannot be differentiated forwards",
                           e->params[LIN_NAME].text);
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, e->nin);
    kn_low l = {b, KILN_OK};
    KILN_TRY_MEM(b->ctx, in);
    (void)r, (void)y;
    for (uint32_t i = 0; i < e->nin; i++)
        in[i] = i < (uint32_t)e->params[LIN_RESIDUALS].i ? x[i] : kn_derive_value(&l, dx[i], kn_in_type(j, e, i));
    KILN_TRY(l.status);
    return kn_build_eqn(b, e->prim, e->params, in, e->nin, dy, e->nout);
}
static kiln_status transpose_lin(KN_TRANSPOSE_ARGS)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    uint32_t n = (uint32_t)e->params[LIN_RESIDUALS].i;
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, n + e->nout);
    KILN_TRY_MEM(b->ctx, in);
    memcpy(in, x, n * sizeof *in);
    for (uint32_t i = 0; i < e->nout; i++) in[n + i] = kn_derive_value(&l, ct[i], kn_out_type(j, e, i));
    KILN_TRY(l.status);
    return kn_low_inline(b, e->params[LIN_BWD].jaxpr, e, in, ct_in + n);
}
static kiln_status eval_lin(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)j, (void)in, (void)out;
    return kn_fail(ev->ctx, KILN_INVALID, "custom_vjp '%s' has a reverse derivative only; it cannot be differentiated forwards",
                   e->params[LIN_NAME].text);
}

/* ---- lanes ---- */

/* A body whose arguments all have lanes, and whose results get them. */
static kiln_status all_lanes(const kn_rules *r, kn_build *b, const kn_jaxpr *body, int64_t size, kn_param *out)
{
    uint32_t n = kn_nargs(body);
    bool *flags = KN_NEWN(&b->prog->arena, bool, (size_t)n + 2 * (size_t)body->nout + 1);
    KILN_TRY_MEM(b->ctx, flags);
    for (uint32_t i = 0; i < n + body->nout; i++) flags[i] = true;
    *out = (kn_param){.kind = KN_P_JAXPR};
    return r->batch(r, body, size, flags, flags + n, &out->jaxpr, flags + n + body->nout);
}

/* With a rule of its own all operands and results have lanes, so that those of the rule do not depend on which had some before. */
static kiln_status batch_ruled(kn_lanes *m, const kn_param *rule, kn_atom *y)
{
    kn_build *b = m->l.b;
    kn_param *params = kn_lanes_params(m), *parts = KN_NEWN(&b->prog->arena, kn_param, 3);
    KILN_TRY_MEM(b->ctx, params && parts);
    KILN_TRY(all_lanes(m->r, b, body_of(m->e), m->size, &params[body_param(m->e->prim)]));
    kn_param *own = &params[rule - m->e->params];
    if (rule->kind == KN_P_JAXPR) {
        KILN_TRY(all_lanes(m->r, b, rule->jaxpr, m->size, own));
    } else {
        for (int i = 0; i < 2; i++) KILN_TRY(all_lanes(m->r, b, rule->items[i].jaxpr, m->size, &parts[i]));
        parts[2] = rule->items[2];
        *own = KN_TUPLE(3, parts);
    }
    return kn_lanes_emit_full(m, params, y);
}

static kiln_status batch_call(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis,
                              kn_atom *y, int *out_axis)
{
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    const kn_param *rule = rule_of(e);
    if (rule) return batch_ruled(&m, rule, y);
    kn_param *params = kn_lanes_params(&m);
    bool *lanes = KN_NEWN(&b->prog->arena, bool, e->nin + 1), *found = KN_NEWN(&b->prog->arena, bool, e->nout + 1);
    const kn_jaxpr *body;
    KILN_TRY_MEM(b->ctx, params && lanes && found);
    for (uint32_t i = 0; i < e->nin; i++) lanes[i] = kn_has_lanes(&m, i);
    KILN_TRY(r->batch(r, body_of(e), m.size, lanes, NULL, &body, found));
    params[body_param(e->prim)] = KN_JAXPR(body);
    for (uint32_t i = 0; i < e->nout; i++) out_axis[i] = found[i] ? 0 : KN_NO_LANES;
    return kn_lanes_emit(&m, params, x, y);
}

static kiln_status batch_lin(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis,
                             kn_atom *y, int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    kn_param *params = kn_lanes_params(&m);
    KILN_TRY(m.l.status);
    KILN_TRY(all_lanes(r, b, e->params[LIN_BWD].jaxpr, m.size, &params[LIN_BWD]));
    return kn_lanes_emit_full(&m, params, y);
}

KILN_PRIM(custom_lin) = {
    .name = "custom_lin",
    .nin = KN_VARIADIC,
    .nout = KN_VARIADIC,
    .flags = KN_LEVEL_TRACED | KN_TRANSIENT,
    KN_PARAMS(lin_params),
    .type = type_lin,
    .eval = eval_lin,
    .jvp = jvp_lin,
    .transpose = transpose_lin,
    .batch = batch_lin,
    .doc = "Stands for the tangents of a custom_vjp call until reverse differentiation replaces it by the rule; it cannot be run.",
};

#define CALL(id, spec, more, text)                                                                                    \
    {                                                                                                                  \
        .name = #id, .nin = KN_VARIADIC, .nout = KN_VARIADIC, .flags = KN_LEVEL_TRACED | KN_JVP_WHOLE | KN_ACCUMULATES | (more),         \
        KN_PARAMS(spec),                                                                                               \
        .type = type_call, .eval = eval_call, .lower = lower_call,                                                     \
        .jvp = jvp_##id, .transpose = transpose_call,                                                                  \
        .batch = batch_call,                                                                                           \
        .sample = kn_sample_call, .doc = (text)                                                                        \
    }
#define jvp_jit jvp_call
#define jvp_pjit jvp_call
#define jvp_closed_call jvp_call
#define jvp_eval_jaxpr jvp_call
#define jvp_remat2 jvp_call
#define jvp_remat jvp_call
#define jvp_checkpoint jvp_call
#define jvp_custom_jvp_call jvp_custom_jvp
#define jvp_custom_vjp_call jvp_custom_vjp
KILN_PRIM(jit) = CALL(jit, jit_params, KN_SHARES_NAMES, "Calls the program `jaxpr`.");
KILN_PRIM(pjit) = CALL(pjit, jit_params, 0, "Calls the program `jaxpr`: how the old dialect spells jit.");
KILN_PRIM(closed_call) = CALL(closed_call, closed_call_params, 0, "Calls the program `call_jaxpr`.");
KILN_PRIM(eval_jaxpr) = CALL(eval_jaxpr, closed_call_params, 0, "Calls the program `call_jaxpr`, as closed_call does.");
KILN_PRIM(custom_jvp_call) = CALL(custom_jvp_call, custom_jvp_params, 0, "Calls `call_jaxpr`, whose forward derivative is given separately.");
KILN_PRIM(custom_vjp_call) = CALL(custom_vjp_call, custom_vjp_params, 0, "Calls `call_jaxpr`, whose reverse derivative is given separately.");
KILN_PRIM(remat2) = CALL(remat2, remat_params, 0, "Calls `jaxpr`, which reverse derivatives compute again instead of saving its values.");
KILN_PRIM(checkpoint) = CALL(checkpoint, remat_params, 0, "Calls `jaxpr` as remat2 does: how other versions of JAX spell it.");
KILN_PRIM(remat) = CALL(remat, remat_params, 0, "Calls `jaxpr` as remat2 does: how other versions of JAX spell it.");
