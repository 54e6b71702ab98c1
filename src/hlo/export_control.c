/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow and calls. What a body is handed besides its own arguments is seen from inside by its name. */
#include "hlo/export.h"

#include "prim/control.h"

static void while_loop(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    if (kn_has_lane_condition(e)) {
        kn_xlowered(x, j, e);
        return;
    }
    kn_while_parts p = kn_while_parts_of(e);
    uint32_t consts = p.cond_consts + p.body_consts;
    kn_xends n;
    if (!kn_xends_of(x, j, e, consts, &n)) return;
    kn_mop *op = kn_xop(x, row->name, n.in, n.nin, n.out, e->nout);
    kn_xregion(x, op, 0, 2, p.cond, e->in, p.cond_consts);
    kn_xregion(x, op, 1, 2, p.body, e->in + p.cond_consts, p.body_consts);
    kn_xset(x, e, op);
}

static const kn_eqn *definition(const kn_jaxpr *j, const kn_eqn *before, kn_atom a)
{
    if (before < j->eqns || before >= j->eqns + j->neqns) return NULL;
    for (const kn_eqn *e = before; e-- > j->eqns;)
        for (uint32_t i = 0; i < e->nout; i++)
            if (e->out[i] == a) return e;
    return NULL;
}

static bool literal_at_least_zero(const kn_jaxpr *j, kn_atom a) { return kn_is_literal(a) && j->lits[kn_literal_index(a)].value.i >= 0; }

static bool never_negative(const kn_jaxpr *j, const kn_eqn *e, kn_atom index)
{
    if (kn_is_literal(index)) return literal_at_least_zero(j, index);
    const kn_eqn *d = definition(j, e, index);
    if (!d) return false;
    if (d->prim == &kn_prim_clamp) return literal_at_least_zero(j, d->in[0]);
    if (d->prim == &kn_prim_select_n && d->nin == 3) { /* negative ? a number : x */
        const kn_eqn *test = kn_is_literal(d->in[0]) ? NULL : definition(j, d, d->in[0]);
        return test && test->prim == &kn_prim_lt && test->in[0] == d->in[1] && kn_is_literal(test->in[1]) &&
               j->lits[kn_literal_index(test->in[1])].value.i == 0 && literal_at_least_zero(j, d->in[2]);
    }
    return d->prim == &kn_prim_convert_element_type && kn_type_of(j, d->in[0]).dtype == KILN_BOOL;
}

/* An index below 0 means the first branch here and the last one there; beyond the last it means the last on both sides. What was read
 * from StableHLO is written as it was. */
static void cond(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kn_atom written;
    bool known = kn_xwritten(x, e, &written);
    uint32_t n = kn_cond_branches(e), index = kn_xatom(x, known ? written : e->in[0]);
    kiln_type i32 = KILN_SCALAR(KILN_I32), *types = KN_NEWN(x->arena, kiln_type, e->nout);
    KN_XCHECK(x, types);
    if (x->status != KILN_OK) return;
    if (!known && n > 1 && !never_negative(j, e, e->in[0])) {
        uint32_t low = kn_xscalar(x, KILN_I32, (kn_scalar){.i = 0}), high = kn_xscalar(x, KILN_I32, (kn_scalar){.i = (int64_t)n - 1});
        index = kn_xop1(x, "stablehlo.clamp", (uint32_t[]){low, index, high}, 3, i32);
    }
    for (uint32_t i = 1; i < e->nin; i++) kn_xatom(x, e->in[i]);
    for (uint32_t i = 0; i < e->nout; i++) types[i] = j->vars[e->out[i]].type;
    bool choice = kn_xtype_of(x, index).dtype == KILN_BOOL && n == 2; /* `if`, whose first region is the true one */
    kn_mop *op = kn_xop(x, choice ? "stablehlo.if" : row->name, &index, 1, types, e->nout);
    for (uint32_t i = 0; i < n; i++) kn_xregion(x, op, i, n, kn_cond_branch(e, choice ? 1 - i : i), e->in + 1, e->nin - 1);
    kn_xset(x, e, op);
}

static const kn_jaxpr *callee(const kn_eqn *e)
{
    for (uint32_t i = 0; i < e->prim->nparams; i++)
        if (e->params[i].kind == KN_P_JAXPR) return e->params[i].jaxpr;
    return NULL;
}

static void call(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    const kn_param *name = kn_param_of(e, "name");
    kn_xcall(x, j, e, callee(e), name && name->kind == KN_P_TEXT ? name->text : row->name);
}

/* Rules of derivatives mean nothing in StableHLO: only what is computed stays. */
static void inlined(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    uint32_t *out = KN_NEWN(x->arena, uint32_t, e->nout);
    kn_xends n;
    (void)row;
    KN_XCHECK(x, out);
    if (!kn_xends_of(x, j, e, 0, &n)) return;
    kn_xinline(x, callee(e), n.in, out);
    for (uint32_t i = 0; i < e->nout; i++) kn_xset1(x, e, i, out[i]);
}

const kn_xrow kn_xrows_control[] = {
    {&kn_prim_after_all, kn_xplain, "stablehlo.after_all", 0},
    {&kn_prim_checkpoint, call, "checkpoint", 0},
    {&kn_prim_closed_call, call, "f", 0},
    {&kn_prim_cond, cond, "stablehlo.case", 0},
    {&kn_prim_create_token, kn_xplain, "stablehlo.create_token", 0},
    {&kn_prim_custom_jvp_call, inlined, NULL, 0},
    {&kn_prim_custom_vjp_call, inlined, NULL, 0},
    {&kn_prim_jit, call, "f", 0},
    {&kn_prim_optimization_barrier, kn_xplain, "stablehlo.optimization_barrier", 0},
    {&kn_prim_pjit, call, "f", 0},
    {&kn_prim_remat2, call, "checkpoint", 0},
    {&kn_prim_while, while_loop, "stablehlo.while", 0},
};
const uint32_t kn_xrows_n_control = sizeof kn_xrows_control / sizeof *kn_xrows_control;
