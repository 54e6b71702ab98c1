/* SPDX-License-Identifier: Apache-2.0 */
/* Element rules against eval rules, on every primitive's samples: each element of each result, computed by the element rule on
 * concrete indices, has the bits that eval gives. `below` answers truthfully, or "sometimes" as the rule must allow; operands
 * are never asked for outside their shape. */
#include "prim/common.h"
#include "prim/sample.h"
#include "testing.h"

enum { MAX_VALUES = 4096, MAX_OUT = 64 };

typedef struct machine {
    kn_element m; /* first */
    kn_scalar v[MAX_VALUES];
    uint32_t n;
    kiln_array *const *in;
    bool unsure;
} machine;

static kn_lv give(machine *w, kn_scalar v)
{
    assert_true(w->n < MAX_VALUES);
    w->v[w->n] = v;
    return w->n++;
}
static kn_scalar get(const machine *w, kn_lv a)
{
    assert_true(a < w->n);
    return w->v[a];
}
static kn_scalar element_of(machine *w, const kn_eqn *e, uint32_t operand, const kn_lv *ix)
{
    const kiln_array *a = w->in[operand];
    assert_true(operand < e->nin);
    int64_t at = 0;
    for (uint32_t d = 0; d < a->type.rank; d++) {
        int64_t i = get(w, ix[d]).i;
        assert_in_range(i, 0, a->type.dims[d] - 1);
        at = at * a->type.dims[d] + i;
    }
    return kn_scalar_load(a->type.dtype, a->data, at);
}
static kn_lv do_operand(kn_element *m, const kn_eqn *e, uint32_t operand, const kn_lv *ix)
{
    machine *w = (machine *)m;
    return give(w, element_of(w, e, operand, ix));
}
static kn_lv do_part(kn_element *m, const kn_eqn *e, uint32_t operand, const kn_lv *ix, bool imaginary)
{
    machine *w = (machine *)m;
    assert_int_equal(kiln_dtype_kind(w->in[operand]->type.dtype), 'c');
    return give(w, (kn_scalar){.f = element_of(w, e, operand, ix).c[imaginary]});
}
static kn_lv do_op(kn_element *m, kn_sop op, kiln_dtype d, kiln_dtype to, kn_lv a, kn_lv b, kn_lv c)
{
    machine *w = (machine *)m;
    return give(w, kn_sop_eval(op, d, to, get(w, a), get(w, b), get(w, c)));
}
static kn_lv do_integer(kn_element *m, int64_t c) { return give((machine *)m, (kn_scalar){.i = c}); }
static kn_lv do_constant(kn_element *m, kiln_dtype d, kn_scalar v) { return (void)d, give((machine *)m, v); }
static int do_below(kn_element *m, kn_lv ix, int64_t at)
{
    machine *w = (machine *)m;
    return w->unsure ? 0 : get(w, ix).i < at ? -1 : 1;
}
static bool do_known(kn_element *m, kn_lv ix, int64_t *value)
{
    machine *w = (machine *)m;
    *value = get(w, ix).i;
    return !w->unsure;
}

static void check_result(const kn_jaxpr *j, const kn_eqn *e, uint32_t r, kiln_array *const *in, const kiln_array *want, bool unsure)
{
    static machine w;
    int64_t ix[KN_MAX_RANK] = {0}, n = kiln_type_size(want->type);
    for (int64_t k = 0; k < n; k++) {
        w = (machine){.m = {j, do_operand, do_part, do_op, do_integer, do_constant, do_below, do_known}, .n = 1, .in = in, .unsure = unsure};
        kn_lv at[KN_MAX_RANK];
        for (uint32_t i = 0; i < want->type.rank; i++) at[i] = give(&w, (kn_scalar){.i = ix[i]});
        kiln_dtype d = want->type.dtype;
        kn_scalar got = get(&w, e->prim->element(&w.m, e, r, at)), value = kn_scalar_load(d, want->data, k);
        bool both_nan = kiln_dtype_kind(d) == 'f' && got.f != got.f && value.f != value.f;
        if (!both_nan && !kn_scalar_same(d, got, value))
            fail_msg("%s, result %u, element %lld of %s differs", e->prim->name, r, (long long)k, kn_type_show(want->type).s);
        kn_next(want->type, ix);
    }
}

static void one(kiln_ctx *ctx, const kn_prim *prim, const kn_sample_opts *opts)
{
    kiln_prog *p;
    kiln_array *in[KN_SAMPLE_INPUTS], *out[MAX_OUT], *operand[KN_SAMPLE_INPUTS];
    uint32_t nin;
    assert_ok(ctx, kn_sample_program(ctx, prim, opts, &p, in, &nin));
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, out));
    const kn_jaxpr *j = p->main;
    const kn_eqn *e = &j->eqns[0];
    assert_ptr_equal(e->prim, prim);
    for (uint32_t i = 0; i < e->nin; i++)
        for (uint32_t k = 0; k < nin; k++)
            if (e->in[i] == j->in[k]) operand[i] = in[k];
    for (uint32_t r = 0; r < e->nout; r++) {
        check_result(j, e, r, operand, out[r], false);
        check_result(j, e, r, operand, out[r], true);
    }
    for (uint32_t i = 0; i < nin; i++) kiln_array_release(in[i]);
    for (uint32_t i = 0; i < e->nout; i++) kiln_array_release(out[i]);
    kiln_prog_release(p);
}

/* Primitives that take complex numbers only. */
static bool of_complex(const kn_prim *p) { return strcmp(p->name, "real") == 0 || strcmp(p->name, "imag") == 0; }
static const uint32_t complex_types = 1u << KILN_C64 | 1u << KILN_C128;

static void test_elements(void **state)
{
    static const int64_t lengths[] = {0, 1, 2, 5, 17, 40};
    uint32_t n, seen = 0;
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++) {
        if (!prims[i]->element) continue;
        seen++;
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (uint64_t seed = 100; seed < 130; seed++)
                one(*state, prims[i], &(kn_sample_opts){.seed = seed, .length = lengths[l], .dtypes = of_complex(prims[i]) ? complex_types : 0});
    }
    assert_true(seen >= 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_elements)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
