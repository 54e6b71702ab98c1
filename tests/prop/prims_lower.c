/* SPDX-License-Identifier: Apache-2.0 */
/* Lower rules on every composite's samples: the lowered program verifies and evaluates to the same bits, and repeated
 * lowering ends with base primitives only. */
#include "prim/common.h"
#include "prim/lowering.h"
#include "prim/sample.h"
#include "testing.h"

enum { MAX_OUT = 64 };

static void count_composites(void *ud, const kn_jaxpr *j)
{
    for (uint32_t k = 0; k < j->neqns; k++) {
        *(uint32_t *)ud += j->eqns[k].prim->lower != NULL;
        kn_eqn_bodies(&j->eqns[k], count_composites, ud);
    }
}

static kiln_status lower_body(kiln_ctx *ctx, kn_prog *into, const kn_jaxpr *j, const kn_jaxpr **out);

/* One level of lowering of a jaxpr that lives in `into`. */
static kiln_status lower_param(kiln_ctx *ctx, kn_prog *into, const kn_param *p, kn_param *out)
{
    *out = *p;
    if (p->kind == KN_P_JAXPR) return lower_body(ctx, into, p->jaxpr, &out->jaxpr);
    if (p->kind != KN_P_TUPLE) return KILN_OK;
    kn_param *items = KN_NEWN(&into->arena, kn_param, p->n);
    KILN_TRY_MEM(ctx, items);
    for (uint32_t i = 0; i < p->n; i++) KILN_TRY(lower_param(ctx, into, &p->items[i], &items[i]));
    out->items = items;
    return KILN_OK;
}

static kiln_status lower_body(kiln_ctx *ctx, kn_prog *into, const kn_jaxpr *j, const kn_jaxpr **out)
{
    kn_build b;
    kn_build_init(&b, ctx, into);
    kn_atom *map = KN_NEWN(&into->arena, kn_atom, j->nvars), *y = KN_NEWN(&into->arena, kn_atom, j->nout);
    KILN_TRY_MEM(ctx, map && y);
    for (uint32_t i = 0; i < j->nin; i++) KILN_TRY(kn_build_input(&b, j->vars[j->in[i]].type, &map[j->in[i]]));
    kiln_status status = KILN_OK;
    for (uint32_t k = 0; k < j->neqns; k++) {
        kn_eqn e = j->eqns[k];
        if (e.prim->lower) {
            kn_atom x[KN_SAMPLE_INPUTS], r[MAX_OUT];
            for (uint32_t i = 0; i < e.nin; i++) x[i] = kn_build_map(&b, j, e.in[i], map, &status);
            KILN_TRY(status);
            KILN_TRY(e.prim->lower(NULL, &b, j, &e, x, r));
            for (uint32_t i = 0; i < e.nout; i++) map[e.out[i]] = r[i];
            continue;
        }
        kn_param *params = KN_NEWN(&into->arena, kn_param, e.prim->nparams);
        KILN_TRY_MEM(ctx, params);
        for (uint32_t i = 0; i < e.prim->nparams; i++) KILN_TRY(lower_param(ctx, into, &e.params[i], &params[i]));
        e.params = params;
        KILN_TRY(kn_build_copy(&b, j, &e, map));
    }
    for (uint32_t i = 0; i < j->nout; i++) y[i] = kn_build_map(&b, j, j->out[i], map, &status);
    KILN_TRY(status);
    return kn_build_finish(&b, y, j->nout, out);
}

static void same_results(kiln_array *const *a, kiln_array *const *b, uint32_t n, const char *what)
{
    for (uint32_t i = 0; i < n; i++) {
        assert_true(kiln_type_equal(a[i]->type, b[i]->type));
        if (memcmp(a[i]->data, b[i]->data, a[i]->bytes) != 0) fail_msg("%s: result %u differs after lowering", what, i);
    }
}

static void one(kiln_ctx *ctx, const kn_prim *prim, const kn_sample_opts *opts)
{
    kiln_prog *p;
    kiln_array *in[KN_SAMPLE_INPUTS], *out[MAX_OUT], *again[MAX_OUT];
    uint32_t nin, left = 1;
    assert_ok(ctx, kn_sample_program(ctx, prim, opts, &p, in, &nin));
    uint32_t nout = kiln_prog_n_outputs(p);
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, out));
    kn_prog *low;
    assert_ok(ctx, kn_prog_new(ctx, p, &low));
    assert_ok(ctx, kn_jaxpr_copy(ctx, low, p->main, &low->main));
    for (int level = 0; left; level++) {
        assert_true(level < 8);
        assert_ok(ctx, lower_body(ctx, low, low->main, &low->main));
        left = 0;
        count_composites(&left, low->main);
    }
    low->level = KN_LOWERED;
    assert_ok(ctx, kn_verify(ctx, low));
    assert_ok(ctx, kiln_prog_eval(ctx, low, in, again));
    same_results(out, again, nout, prim->name);
    for (uint32_t i = 0; i < nin; i++) kiln_array_release(in[i]);
    for (uint32_t i = 0; i < nout; i++) kiln_array_release(out[i]), kiln_array_release(again[i]);
    kiln_prog_release(low);
    kiln_prog_release(p);
}

static void test_lowering(void **state)
{
    static const int64_t lengths[] = {0, 1, 2, 5, 17, 70};
    uint32_t n;
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++) {
        if (!prims[i]->lower) continue;
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (uint64_t seed = 0; seed < 30; seed++)
                one(*state, prims[i], &(kn_sample_opts){.seed = seed, .length = lengths[l]});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lowering)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
