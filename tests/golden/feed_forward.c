/* SPDX-License-Identifier: Apache-2.0 */
/* A feed-forward layer as HLO: with its call of relu before optimisation, as two fusions after it; places in the source. */
#include "hlo/hlo.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "run/stages.h"
#include "testing.h"

static const char source[] =
    "module @jit_layer_forward attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {\n"
    "  func.func public @main(%arg0: tensor<32x64xf32>, %arg1: tensor<32xf32>, %arg2: tensor<64xf32>) -> (tensor<32xf32> {jax.result_info = \"result[0]\"}) {\n"
    "    %0 = stablehlo.dot_general %arg0, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64xf32>) -> tensor<32xf32>\n"
    "    %1 = stablehlo.add %0, %arg1 : tensor<32xf32>\n"
    "    %2 = call @relu(%1) : (tensor<32xf32>) -> tensor<32xf32>\n"
    "    return %2 : tensor<32xf32>\n"
    "  }\n"
    "  func.func private @relu(%arg0: tensor<32xf32>) -> tensor<32xf32> {\n"
    "    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>\n"
    "    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32xf32>\n"
    "    %1 = stablehlo.maximum %arg0, %0 : tensor<32xf32>\n"
    "    return %1 : tensor<32xf32>\n"
    "  }\n"
    "}\n";

static const char unoptimised_hlo[] =
    "HloModule jit_layer_forward, entry_computation_layout={(f32[32,64]{1,0}, f32[32]{0}, f32[64]{0})->f32[32]{0}}\n"
    "\n"
    "relu.6 {\n"
    "  constant.8 = f32[] constant(0)\n"
    "  broadcast.9 = f32[32]{0} broadcast(constant.8), dimensions={}\n"
    "  Arg_0.7 = f32[32]{0} parameter(0)\n"
    "  ROOT maximum.10 = f32[32]{0} maximum(Arg_0.7, broadcast.9)\n"
    "}\n"
    "\n"
    "ENTRY main.12 {\n"
    "  Arg_0.1 = f32[32,64]{1,0} parameter(0)\n"
    "  Arg_2.3 = f32[64]{0} parameter(2)\n"
    "  dot.4 = f32[32]{0} dot(Arg_0.1, Arg_2.3), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  Arg_1.2 = f32[32]{0} parameter(1)\n"
    "  add.5 = f32[32]{0} add(dot.4, Arg_1.2)\n"
    "  ROOT call.11 = f32[32]{0} call(add.5), to_apply=relu.6\n"
    "}\n";

static const char optimised_hlo[] =
    "HloModule jit_layer_forward, is_scheduled=true, entry_computation_layout={(f32[32,64]{1,0}, f32[32]{0}, f32[64]{0})->f32[32]{0}}\n"
    "\n"
    "%fused_dot.4 (Arg_0.5: f32[32,64], Arg_1.6: f32[64]) -> f32[32] {\n"
    "  %Arg_0.5 = f32[32,64]{1,0} parameter(0)\n"
    "  %Arg_1.6 = f32[64]{0} parameter(1)\n"
    "  ROOT %dot.7 = f32[32]{0} dot(%Arg_0.5, %Arg_1.6), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "}\n"
    "\n"
    "%fused_maximum.9 (Arg_0.10: f32[32], Arg_1.11: f32[32]) -> f32[32] {\n"
    "  %Arg_0.10 = f32[32]{0} parameter(0)\n"
    "  %Arg_1.11 = f32[32]{0} parameter(1)\n"
    "  %add.12 = f32[32]{0} add(%Arg_0.10, %Arg_1.11)\n"
    "  %constant.13 = f32[] constant(0)\n"
    "  %broadcast.14 = f32[32]{0} broadcast(%constant.13), dimensions={}\n"
    "  ROOT %maximum.15 = f32[32]{0} maximum(%add.12, %broadcast.14)\n"
    "}\n"
    "\n"
    "ENTRY %main.17 (Arg_0.1: f32[32,64], Arg_1.2: f32[32], Arg_2.3: f32[64]) -> f32[32] {\n"
    "  %Arg_0.1 = f32[32,64]{1,0} parameter(0)\n"
    "  %Arg_2.3 = f32[64]{0} parameter(2)\n"
    "  %input_dot_fusion.8 = f32[32]{0} fusion(%Arg_0.1, %Arg_2.3), kind=kInput, calls=%fused_dot.4\n"
    "  %Arg_1.2 = f32[32]{0} parameter(1)\n"
    "  ROOT %loop_maximum_fusion.16 = f32[32]{0} fusion(%input_dot_fusion.8, %Arg_1.2), kind=kLoop, calls=%fused_maximum.9\n"
    "}\n";

static void assert_hlo(kiln_ctx *ctx, const kiln_prog *p, bool optimised, const char *want)
{
    kn_text t;
    kn_text_init(&t, &ctx->alloc);
    assert_ok(ctx, kn_hlo_print_hlo(ctx, p, optimised ? KN_HLO_OPTIMISED : 0, &t));
    assert_string_equal(t.s, want);
    kn_text_fini(&t);
}

static void layer(void **state)
{
    kiln_prog *p, *lowered, *optimised, *fused;
    const kn_opt_options o = {.after = NULL};
    assert_ok(*state, kiln_prog_parse(*state, source, sizeof source - 1, "layer", &p));
    assert_hlo(*state, p, false, unoptimised_hlo);
    assert_ok(*state, kn_lower(*state, p, &lowered));
    assert_ok(*state, kn_optimise(*state, lowered, &o, &optimised));
    assert_ok(*state, kn_fused_program(*state, optimised, &fused));
    assert_hlo(*state, fused, true, optimised_hlo);
    kiln_prog_release(p);
    kiln_prog_release(lowered);
    kiln_prog_release(optimised);
    kiln_prog_release(fused);
}

/* ---- places ---- */

static const char placed[] = /* %1 repeats a dimension of size 1: HLO needs a reshape first; the callee has places of its own */
    "module @placed {\n"
    "  func.func public @main(%arg0: tensor<1x4xf32>) -> tensor<3x4xf32> {\n"
    "    %0 = call @twice(%arg0) : (tensor<1x4xf32>) -> tensor<1x4xf32> loc(#loc5)\n"
    "    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x4xf32>) -> tensor<3x4xf32> loc(#loc4)\n"
    "    return %1 : tensor<3x4xf32>\n"
    "  }\n"
    "  func.func private @twice(%arg0: tensor<1x4xf32>) -> tensor<1x4xf32> {\n"
    "    %0 = stablehlo.add %arg0, %arg0 : tensor<1x4xf32> loc(#loc3)\n"
    "    return %0 : tensor<1x4xf32>\n"
    "  }\n"
    "}\n"
    "#loc1 = loc(\"model.py\":7:1)\n"
    "#loc2 = loc(\"twice.py\":9:1)\n"
    "#loc3 = loc(\"jit(main)/inner/add\"(#loc2))\n"
    "#loc4 = loc(\"jit(main)/outer/broadcast_in_dim\"(#loc1))\n"
    "#loc5 = loc(\"jit(main)/jit\"(#loc1))\n";

static const char placed_hlo[] =
    "HloModule placed, entry_computation_layout={(f32[1,4]{1,0})->f32[3,4]{1,0}}\n"
    "\n"
    "twice.2 {\n"
    "  Arg_0.3 = f32[1,4]{1,0} parameter(0)\n"
    "  ROOT add.4 = f32[1,4]{1,0} add(Arg_0.3, Arg_0.3), metadata={op_name=\"jit(main)/inner/add\" source_file=\"twice.py\" source_line=9}\n"
    "}\n"
    "\n"
    "ENTRY main.8 {\n"
    "  Arg_0.1 = f32[1,4]{1,0} parameter(0)\n"
    "  call.5 = f32[1,4]{1,0} call(Arg_0.1), to_apply=twice.2, metadata={op_name=\"jit(main)/jit\" source_file=\"model.py\" source_line=7}\n"
    "  reshape.6 = f32[4]{0} reshape(call.5), metadata={op_name=\"jit(main)/outer/reshape\" source_file=\"model.py\" source_line=7}\n"
    "  ROOT broadcast.7 = f32[3,4]{1,0} broadcast(reshape.6), dimensions={1}, metadata={op_name=\"jit(main)/outer/broadcast_in_dim\" "
    "source_file=\"model.py\" source_line=7}\n"
    "}\n";

/* Metadata says where each instruction comes from, and is the same once it has been read. */
static void places(void **state)
{
    kiln_prog *p, *q;
    assert_ok(*state, kiln_prog_parse(*state, placed, sizeof placed - 1, "placed", &p));
    assert_hlo(*state, p, false, placed_hlo);
    assert_ok(*state, kiln_prog_parse(*state, placed_hlo, sizeof placed_hlo - 1, "placed.hlo", &q));
    assert_hlo(*state, q, false, placed_hlo);
    kiln_prog_release(p);
    kiln_prog_release(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layer), cmocka_unit_test(places)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
