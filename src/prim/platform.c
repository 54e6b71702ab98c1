/* SPDX-License-Identifier: Apache-2.0 */
/* platform_index: which branch of jax.lax.platform_dependent this machine takes. */
#include "prim/common.h"
#include "prim/lowering.h"
#include "prim/sample.h"

static const kn_param_spec platform_params[] = {{"platforms", KN_P_TUPLE, 0}};

static bool is_cpu(const kn_param *p)
{
    return p->kind == KN_P_TEXT && (strcmp(p->text, "'cpu'") == 0 || strcmp(p->text, "cpu") == 0);
}

/* The first entry that is None, the default, or a tuple of names with the CPU's in it; -1 where there is none. */
static int64_t taken(const kn_param *platforms)
{
    for (uint32_t i = 0; i < platforms->n; i++) {
        const kn_param *p = &platforms->items[i];
        if (p->kind == KN_P_NONE || is_cpu(p)) return i;
        for (uint32_t k = 0; p->kind == KN_P_TUPLE && k < p->n; k++)
            if (is_cpu(&p->items[k])) return i;
    }
    return -1;
}

static kiln_status type_platform(kn_typing *t)
{
    if (t->params[0].kind != KN_P_TUPLE || taken(&t->params[0]) < 0)
        return kn_fail(t->ctx, KILN_UNSUPPORTED, "platform_index: no branch is for a CPU; accepted: a tuple of platforms with 'cpu' or None in it");
    KILN_TRY(kn_typing_out(t, 1));
    return kn_typing_like(t, 0, KILN_I32, KILN_SCALAR(KILN_I32));
}

static kiln_status lower_platform(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j, (void)x;
    return kn_build_literal(b, KILN_I32, (kn_scalar){.i = taken(&e->params[0])}, &y[0]);
}

KILN_PRIM(platform_index) = {
    .name = "platform_index",
    .nin = 0,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(platform_params),
    .type = type_platform,
    .lower = lower_platform,
    .sample = kn_sample_platform,
    .doc = "The number of the first entry of `platforms` that is None or names the CPU.",
};
