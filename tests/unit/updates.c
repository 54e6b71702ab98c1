/* SPDX-License-Identifier: Apache-2.0 */
/* The pass updates: sums with an update of zeros where no -0 can be, the order of updates and readers; the bits stay. */
#include "kiln/prog.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "testing.h"

#include <math.h>

typedef struct example {
    const char *what, *text;
    uint32_t sums, later; /* rewrites */
} example;

#define UPDATE "u:f64[100] = broadcast_in_dim 0.0:f64[]; d:f64[100] = dynamic_update_slice u b c; "
#define OWN "v:f64[4] = dynamic_slice[slice_sizes=(4,)] w c; m:f64[4] = mul v b; u:f64[100] = broadcast_in_dim 0.0:f64[]; d:f64[100] = dynamic_update_slice u m c; "
/* w with x at the row c, as scatters are written that are read from StableHLO. */
#define SCATTER(x) \
    "i:i32[1] = broadcast_in_dim c; s:f64[100] = scatter[dimension_numbers=ScatterDimensionNumbers(update_window_dims=(0,), inserted_window_dims=()," \
    " scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=()) indices_are_sorted=True" \
    " mode=GatherScatterMode.FILL_OR_DROP unique_indices=True update_consts=() update_jaxpr=None] w i " x "; "
#define LOOP(from, body) \
    "{ lambda ; a:f64[100] b:f64[4] c:i32[]. let " from " _:i32[] r:f64[100] = while[\n" \
    "  body_jaxpr={ lambda ; b:f64[4] c:i32[] k:i32[] w:f64[100]. let " body " l:i32[] = add k 1:i32[] in (l, z) }\n  body_nconsts=2\n" \
    "  cond_jaxpr={ lambda ; k:i32[] w:f64[100]. let t:bool[] = lt k 5:i32[] in (t,) }\n  cond_nconsts=0\n] b c 0:i32[] s in (r,) }"

static const example examples[] = {
    {"an input may be -0", "{ lambda ; a:f64[100] b:f64[4] c:i32[]. let " UPDATE "g:f64[100] = add a d in (g,) }", 0, 0},
    {"a minuend is not", "{ lambda ; a:f64[100] b:f64[4] c:i32[]. let " UPDATE "x:f64[100] = exp a; y:f64[100] = sub x a; g:f64[100] = add d y in (g,) }", 1, 0},
    {"zeros of the other sign are no zeros",
     "{ lambda ; a:f64[100] b:f64[4] c:i32[]. let u:f64[100] = broadcast_in_dim -0.0:f64[]; d:f64[100] = dynamic_update_slice u b c; x:f64[100] = exp a;"
     " g:f64[100] = add x d in (g,) }", 0, 0},
    {"an update that somebody else reads stays", "{ lambda ; a:f64[100] b:f64[4] c:i32[]. let " UPDATE "x:f64[100] = exp a; g:f64[100] = add x d in (g, d) }", 0, 0},
    {"a carry that is never -0", LOOP("s:f64[100] = exp a;", OWN "z:f64[100] = add w d;"), 1, 0},
    {"a carry that begins with -0", LOOP("s:f64[100] = neg a;", OWN "z:f64[100] = add w d;"), 0, 0},
    {"a carry that may become -0", LOOP("s:f64[100] = exp a;", OWN "y:f64[100] = add w d; z:f64[100] = mul y -0.5:f64[];"), 0, 0},
    {"a carry that a scatter keeps from -0", LOOP("s:f64[100] = exp a;", "o:f64[4] = broadcast_in_dim 0.0:f64[]; " SCATTER("o")
     "v:f64[4] = dynamic_slice[slice_sizes=(4,)] s c; m:f64[4] = mul v b; u:f64[100] = broadcast_in_dim 0.0:f64[]; d:f64[100] = dynamic_update_slice u m c;"
     " z:f64[100] = add s d;"), 1, 0},
    {"a carry that a scatter may make -0", LOOP("s:f64[100] = exp a;", SCATTER("b") "v:f64[4] = dynamic_slice[slice_sizes=(4,)] s c; m:f64[4] = mul v b;"
     " u:f64[100] = broadcast_in_dim 0.0:f64[]; d:f64[100] = dynamic_update_slice u m c; z:f64[100] = add s d;"), 0, 0},
    {"a scatter behind a reader",
     "{ lambda ; a:f64[100] b:f64[4] c:i32[]. let w:f64[100] = exp a; " SCATTER("b")
     "e:f64[] = reduce_sum[axes=(0,) out_sharding=None] w; f:f64[100] = mul s 3.0:f64[] in (e, f) }", 0, 1},
    {"an update behind a reader",
     "{ lambda ; a:f64[100] b:f64[4] c:i32[]. let x:f64[100] = exp a; d:f64[100] = dynamic_update_slice x b c;"
     " e:f64[] = reduce_sum[axes=(0,) out_sharding=None] x; f:f64[100] = mul d 3.0:f64[] in (e, f) }", 0, 1},
    {"a reader of both", "{ lambda ; a:f64[100] b:f64[4] c:i32[]. let x:f64[100] = exp a; d:f64[100] = dynamic_update_slice x b c; f:f64[100] = sub d x in (d, f) }", 0, 0},
};

/* How often rules whose text begins so have been used. */
static uint32_t used(const uint32_t *fired, const char *begins)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < kn_rule_count(); i++)
        if (strcmp(kn_rule_pass(i), "updates") == 0 && strncmp(kn_rule_text(i), begins, strlen(begins)) == 0) n += fired[i];
    return n;
}

static kiln_array *array(kiln_ctx *ctx, kiln_type t)
{
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, t, &a));
    int64_t n = kiln_type_size(t);
    if (t.dtype == KILN_I32) *(int32_t *)kiln_array_data(a) = 50;
    else
        for (int64_t i = 0; i < n; i++) ((double *)kiln_array_data(a))[i] = n == 4 ? (i % 2 ? -0.0 : 1.5) : i % 3 == 0 ? -0.0 : i % 3 == 1 ? 0.0 : sin((double)i);
    return a;
}

static void same_results(kiln_ctx *ctx, const example *x, const kiln_prog *p, const kiln_prog *q)
{
    kiln_array *in[3], *want[2] = {NULL}, *got[2] = {NULL};
    for (uint32_t i = 0; i < 3; i++) in[i] = array(ctx, kiln_prog_input_type(p, i));
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, want));
    assert_ok(ctx, kiln_prog_eval(ctx, q, in, got));
    for (uint32_t i = 0; i < kiln_prog_n_outputs(p); i++) {
        if (memcmp(kiln_array_read(want[i]), kiln_array_read(got[i]), kiln_array_bytes(want[i])) != 0) fail_msg("%s: result %u has other bits", x->what, i);
        kiln_array_release(want[i]);
        kiln_array_release(got[i]);
    }
    for (uint32_t i = 0; i < 3; i++) kiln_array_release(in[i]);
}

static void rules(void **state)
{
    kiln_ctx *ctx = *state;
    for (size_t k = 0; k < sizeof examples / sizeof *examples; k++) {
        const example *x = &examples[k];
        kiln_prog *p, *low, *best;
        uint32_t *fired = calloc(kn_rule_count(), sizeof *fired);
        assert_non_null(fired);
        kn_opt_stats stats = {.fired = fired};
        assert_ok(ctx, kiln_prog_parse(ctx, x->text, strlen(x->text), "case", &p));
        assert_ok(ctx, kn_lower(ctx, p, &low));
        assert_ok(ctx, kn_optimise(ctx, low, &(kn_opt_options){.stats = &stats}, &best));
        if (used(fired, "x + ") != x->sums || used(fired, "an update") != x->later)
            fail_msg("%s: %u sums, %u moved", x->what, used(fired, "x + "), used(fired, "an update"));
        same_results(ctx, x, low, best);
        kiln_prog_release(p);
        kiln_prog_release(low);
        kiln_prog_release(best);
        free(fired);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rules)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
