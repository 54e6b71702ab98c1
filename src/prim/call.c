/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a body: jit (pjit), custom_jvp_call, custom_vjp_call, remat2. All compute what the body computes; what differs is what
 * transformations make of them. */
#include "prim/batch.h"
#include "prim/common.h"
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
static const kn_param_spec custom_jvp_params[] = {
    {"name", KN_P_TEXT, HIDDEN},
    {"call_jaxpr", KN_P_JAXPR, 0},
    {"jvp", KN_P_TEXT, HIDDEN},
    {"jvp_jaxpr_fun", KN_P_TEXT, HIDDEN},
    {"jvp_jaxpr_thunk", KN_P_TEXT, HIDDEN},
    {"num_consts", KN_P_INT, HIDDEN},
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

static kiln_status batch_call(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis,
                              kn_atom *y, int *out_axis)
{
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
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

#define CALL(id, spec, more, text)                                                                                    \
    {                                                                                                                  \
        .name = #id, .nin = KN_VARIADIC, .nout = KN_VARIADIC, .flags = KN_LEVEL_TRACED | (more), KN_PARAMS(spec),      \
        .type = type_call, .eval = eval_call, .lower = lower_call,                                                     \
        .batch = batch_call,                                                                                           \
        .sample = kn_sample_call, .doc = (text)                                                                        \
    }
KILN_PRIM(jit) = CALL(jit, jit_params, KN_SHARES_NAMES, "Calls the program `jaxpr`.");
KILN_PRIM(pjit) = CALL(pjit, jit_params, 0, "Calls the program `jaxpr`: how the old dialect spells jit.");
KILN_PRIM(custom_jvp_call) = CALL(custom_jvp_call, custom_jvp_params, 0, "Calls `call_jaxpr`, whose forward derivative is given separately.");
KILN_PRIM(custom_vjp_call) = CALL(custom_vjp_call, custom_vjp_params, 0, "Calls `call_jaxpr`, whose reverse derivative is given separately.");
KILN_PRIM(remat2) = CALL(remat2, remat_params, 0, "Calls `jaxpr`, which reverse derivatives compute again instead of saving its values.");
