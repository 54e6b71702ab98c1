/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/control.h"

#include "prims.gen.h"

kn_control kn_control_of(const kn_eqn *e)
{
    const kn_prim *p = e->prim;
    if (p == &kn_prim_jit || p == &kn_prim_pjit || p == &kn_prim_closed_call || p == &kn_prim_eval_jaxpr) return KN_C_CALL;
    if (p == &kn_prim_remat2 || p == &kn_prim_checkpoint || p == &kn_prim_remat) return KN_C_REMAT;
    if (p == &kn_prim_cond) return KN_C_COND;
    if (p == &kn_prim_scan) return KN_C_SCAN;
    if (p == &kn_prim_while) return KN_C_WHILE;
    return KN_C_NONE;
}

uint32_t kn_body_param(const kn_prim *p)
{
    for (uint32_t i = 0; i < p->nparams; i++)
        if (p->params[i].kind == KN_P_JAXPR && !(p->params[i].flags & KN_PARAM_INTERNAL)) return i;
    return 0;
}

void kn_forget_layouts(const kn_prim *p, kn_param *params)
{
    static const char *const lists[] = {"donated_invars", "in_layouts", "in_shardings", "out_layouts", "out_shardings"};
    for (uint32_t i = 0; i < p->nparams; i++)
        for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
            if (strcmp(p->params[i].name, lists[k]) == 0) params[i] = KN_NONE;
}
