/* SPDX-License-Identifier: Apache-2.0 */
/* StableHLO that is refused by name, with a place and what would be accepted; what looks like it and is taken: collectives on one
 * replica, dynamic operations whose shapes are constant; comparators that hold arrays of their own. */
#include "hlo/check.h"
#include "ir/ir.h"
#include "kiln/kiln.h"
#include "testing.h"

#define F4 "tensor<4xf32>"
#define MAIN(body) "func.func @main(%a: " F4 ") -> " F4 " {\n" body "\n}\n"
#define CALL(target) MAIN("%0 = stablehlo.custom_call @" target "(%a) : (" F4 ") -> " F4 "\nreturn %0 : " F4)
#define ALL_REDUCE(groups)                                                                                                     \
    MAIN("%0 = \"stablehlo.all_reduce\"(%a) ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %s = stablehlo.add %x, %y : "            \
         "tensor<f32> stablehlo.return %s : tensor<f32> }) {replica_groups = " groups "} : (" F4 ") -> " F4 "\nreturn %0 : " F4)
#define MODULE(attributes) "module attributes {" attributes "} {\n" MAIN("return %a : " F4) "}\n"
#define UNARY(name, attributes) MAIN("%0 = \"" name "\"(%a) " attributes " : (" F4 ") -> " F4 "\nreturn %0 : " F4)
#define MODULE_OF(op) MAIN("%0 = " op "\nreturn %0 : " F4)
#define TOKEN(op) MAIN("%t = stablehlo.create_token : !stablehlo.token\n" op "\nreturn %a : " F4)
#define QUANTIZED "tensor<4x!quant.uniform<i8:f32, 0.1>>"

#define CONSTANT(name, value, type) "%" name " = stablehlo.constant dense<" value "> : tensor<" type ">\n"

static kiln_status read_text(kiln_ctx *ctx, const char *text, kiln_prog **p) { return kn_hlo_parse(ctx, text, strlen(text), "text.mlir", p); }

/* A refusal by name, with a place, that says this and what would be accepted. */
static bool is_refused(kiln_ctx *ctx, kiln_status (*read)(kiln_ctx *, const char *, size_t, const char *, kn_prog **), const char *text, const char *says,
                       const char *accepted)
{
    kn_prog *p = NULL;
    char found[2048];
    kiln_status status = read(ctx, text, strlen(text), "text", &p);
    if (status == KILN_OK) kiln_prog_release(p);
    else kiln_diag_format(kiln_ctx_error(ctx), found, sizeof found);
    if (status == KILN_OK) snprintf(found, sizeof found, "read without an error");
    if (status == KILN_UNSUPPORTED && strstr(found, "text:") == found && strstr(found, says) && (!accepted || strstr(found, accepted))) return true;
    print_error("%s\nis not refused with '%s' and '%s': %s\n", text, says, accepted ? accepted : "", found);
    return false;
}

static void refused(void **state)
{
    static const struct {
        const char *text, *says, *accepted;
    } cases[] = {
        {"func.func @main(%a: " QUANTIZED ") -> " F4 " {\n%0 = stablehlo.uniform_dequantize %a : (" QUANTIZED ") -> " F4 "\nreturn %0 : " F4 "\n}\n",
         "quantized types are not supported", "floating point"},
        {MAIN("%0 = stablehlo.uniform_quantize %a : (" F4 ") -> " QUANTIZED "\n%1 = stablehlo.uniform_dequantize %0 : (" QUANTIZED
              ") -> " F4 "\nreturn %1 : " F4),
         "quantized types are not supported", "floating point"},
        {MODULE("mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32"), "2 replicas", "one device"},
        {MODULE("mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32"), "4 partitions", "one device"},
        {ALL_REDUCE("dense<[[0, 1]]> : tensor<1x2xi64>"), "between several replicas", "one device"},
        {CALL("xla_ffi_python_cpu_callback"), "calls back into Python", "pure_callback"},
        {CALL("xla_python_cpu_callback"), "calls back into Python", "pure_callback"},
        {CALL("xla_ffi_partitioned_python_cpu_callback"), "calls back into Python", "pure_callback"},
        {CALL("AllocateBuffer"), "leaves contents undefined", NULL},
        {CALL("no_such_target"), "@no_such_target is not known", "lapack_"},
        {"func.func @main(%a: " F4 ", %n: tensor<1xi32>) -> " F4 " {\n%0 = stablehlo.dynamic_reshape %a, %n : (" F4 ", tensor<1xi32>) -> tensor<?xf32>\n"
         "%1 = stablehlo.convert %0 : (tensor<?xf32>) -> " F4 "\nreturn %1 : " F4 "\n}\n",
         "dynamic shapes are not supported", "fixed shapes"},
        {"func.func @main(%a: " F4 ", %n: tensor<i32>) -> " F4 " {\n%0 = stablehlo.set_dimension_size %a, %n, dim = 0 : (" F4
         ", tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<4>>\nreturn %a : " F4 "\n}\n",
         "dynamic shapes are not supported", "fixed shapes"},
        {MAIN("%t = stablehlo.create_token : !stablehlo.token\n%0 = \"stablehlo.send\"(%a, %t) {channel_handle = #stablehlo.channel_handle<handle "
              "= 1, type = 1>} : (" F4 ", !stablehlo.token) -> !stablehlo.token\nreturn %a : " F4),
         "messages between processes", "one device"},
        {"ML\xef" "R\r", "MLIR bytecode", "as_text"},
        {MAIN("%0 = stablehlo.custom_call @ApproxTopK(%a, %a) {called_computations = [@main], mhlo.backend_config = {aggregate_to_topk = false, "
              "reduction_dim = 0 : i64, top_k = 3 : i64}} : (" F4 ", " F4 ") -> " F4 "\nreturn %0 : " F4),
         "depends on a machine", "aggregate_to_topk = true"},
        {CALL("stablehlo.dynamic_top_k"), "its k is an operand", "fixed k"},
        {CALL("xla.sdy.GlobalToLocalShape"), "it works on several devices", "one device"},
        {CALL("lapack_sfoo_ffi"), "@lapack_sfoo_ffi is not known", "potrf"},
        {MAIN("%m = stablehlo.reshape %a : (" F4 ") -> tensor<2x2xf32>\n%0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%m) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 0]> : "
              "tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<2x2xf32>) -> "
              "(tensor<2x2xf32>, tensor<i32>)\nreturn %a : " F4),
         "a LAPACK call on row-major matrices", "column-major"},
        {UNARY("stablehlo.collective_permute", "{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}"), "between several replicas", "one device"},
        {MODULE_OF("stablehlo.einsum %a, %a, config = \"i,i->i\" : (" F4 ", " F4 ") -> " F4), "einsum is not supported", "dot_general"},
        {UNARY("stablehlo.unary_einsum", "{einsum_config = \"i->i\"}"), "einsum is not supported", "reduce"},
        {TOKEN("%0:2 = \"stablehlo.infeed\"(%t) : (!stablehlo.token) -> (" F4 ", !stablehlo.token)"), "host queue", "arguments of @main"},
        {TOKEN("%0 = \"stablehlo.outfeed\"(%a, %t) : (" F4 ", !stablehlo.token) -> !stablehlo.token"), "host queue", "results of @main"},
        {TOKEN("%0:2 = \"stablehlo.recv\"(%t) : (!stablehlo.token) -> (" F4 ", !stablehlo.token)"), "messages between processes", "one device"},
        {UNARY("stablehlo.async_start", ""), "asynchronous operations are not supported", "the operation itself"},
        {UNARY("vhlo.abs_v1", ""), "the operation vhlo.abs_v1 is not known", "stablehlo-translate"},
        {UNARY("mhlo.erf", ""), "the operation mhlo.erf is not known", "StableHLO"},
        {UNARY("tosa.abs", ""), "the operation tosa.abs is not known", "stablehlo.*"},
        {"module {\n  vhlo.func_v1 @main(%arg0: !vhlo.tensor_v1<4x!vhlo.f32_v1>) {\n  }\n}\n", "VHLO", "as_text"},
        {"\"vhlo.func_v1\"() ({\n}) : () -> ()\n", "VHLO", "stablehlo-translate"},
        {"func.func @main(%a: " F4 ") -> " F4 " {\n%0 = call @main(%a) : (" F4 ") -> " F4 "\nreturn %0 : " F4 "\n}\n", "calls itself", "while"},
        {MAIN("%0 = \"stablehlo.transpose\"(%a) {permutation = dense<0> : tensor<?xi64>} : (" F4 ") -> " F4 "\nreturn %a : " F4), "a constant of tensor<?xi64>", "fixed shape"},
        {MAIN("%0 = stablehlo.constant sparse<0, 1.0> : tensor<4xf32>\nreturn %a : " F4), "a sparse constant", "dense"},
        {"func.func @main(%a: " F4 ", %n: tensor<1xi32>, %v: tensor<f32>) -> tensor<5xf32> {\n%0 = stablehlo.dynamic_pad %a, %v, %n, %n, %n : (" F4
         ", tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<5xf32>\nreturn %0 : tensor<5xf32>\n}\n",
         "is not constant", "fixed shapes"},
        {"func.func @main(%a: tensor<*xf32>) -> " F4 " {\nreturn %a : " F4 "\n}\n", "a tensor without a rank", "fixed rank"},
        {"func.func @main(%b: tensor<99999999999x99999999999xf32>) -> tensor<99999999999x99999999999xf32> {\nreturn %b : tensor<99999999999x99999999999xf32>\n}\n", "larger than memory", "fits in memory"},
        {MAIN("%0 = stablehlo.iota dim = 0 : tensor<99999999999x99999999999xf32>\nreturn %a : " F4), "larger than memory", "fits in memory"},
        {"func.func @main(%b: memref<4xf32>, %a: " F4 ") -> " F4 " {\nreturn %a : " F4 "\n}\n", "argument 0 of @main is memref<4xf32>", "fixed shape"},
        {"func.func @main(%b: tensor<4xf8E1M2>, %a: " F4 ") -> " F4 " {\nreturn %a : " F4 "\n}\n", "tensor<4xf8E1M2>", "fixed shape"},
        {"func.func @main(%a: " F4 ") -> " F4 " {\n  cf.br ^bb1\n^bb1:\n  return %a : " F4 "\n}\n", "a branch to another block", "regions of one block"},
        {"func.func @main(%a: " F4 ", %c: i1) -> " F4 " {\n  cf.cond_br %c, ^bb1, ^bb2\n^bb1:\n  return %a : " F4 "\n}\n", "a branch to another block",
         "regions of one block"},
        {MAIN("return %a : " F4 "\n^bb1:\n  return %a : " F4), "a second block", "regions of one block"},
        {MAIN("\"cf.br\"(%a) [^bb1] : (" F4 ") -> ()\nreturn %a : " F4), "a branch to another block", "regions of one block"},
        {"!t = " F4 "\nfunc.func @main(%a: !t) -> !t {\nreturn %a : !t\n}\n", "an alias of a type", "written out"},
    };
    int bad = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) bad += !is_refused(*state, kn_hlo_parse, cases[i].text, cases[i].says, cases[i].accepted);
    assert_int_equal(bad, 0);
}

/* Bytes that are no text are told by what they are. */
static void binary(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *says, *accepted;
    } cases[] = {
        {"ML\xefR\r\x01", 6, "this is MLIR bytecode", "as_text()"},
        {"\x08\0\0\0\x34\0\0\0serialized", 18, "as jax.export serializes", "exported.mlir_module()"},
        {"\x80\x04\x95pickle", 9, "a Python pickle", "make_jaxpr"},
        {"\x93NUMPY\1\0", 8, "an array (.npy)", "a program as text"},
        {"PK\3\4", 4, "an archive", "a program as text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kiln_prog *p;
        assert_int_equal(kiln_prog_parse(*state, cases[i].bytes, cases[i].n, "f.bin", &p), KILN_UNSUPPORTED);
        const kiln_diag *d = kiln_ctx_error(*state);
        assert_says(*state, cases[i].says);
        assert_non_null(strstr(d->accepted, cases[i].accepted));
        assert_int_equal(d->line, 1);
        assert_string_equal(d->file, "f.bin");
    }
}

/* What is nested too deep, too wide, or never ends is refused before it does harm. */
static void limits(void **state)
{
    enum { CALLS = 500, DEEP = 300, NAMES = 65 };
    kn_text t[6];
    static const char *const says[] = {"calls and regions are nested too deep", "nested deeper than", "more than 64 names", "more than 64 dimensions",
                                       "brackets are nested deeper", "nested deeper than"};
    for (int i = 0; i < 6; i++) kn_text_init(&t[i], NULL);
    for (int k = 0; k < CALLS; k++)
        kn_text_printf(&t[0], "func.func %s @f%d(%%a: " F4 ") -> " F4 " {\n%%0 = call @f%d(%%a) : (" F4 ") -> " F4 "\nreturn %%0 : " F4 "\n}\n",
                       k ? "private" : "public", k, k + 1);
    kn_text_printf(&t[0], "func.func private @f%d(%%a: " F4 ") -> " F4 " {\nreturn %%a : " F4 "\n}\n", CALLS);
    kn_text_add(&t[1], "func.func @main(%p: tensor<i1>) -> tensor<i1> {\n");
    for (int k = 0; k < DEEP; k++) kn_text_printf(&t[1], "%%%d = \"stablehlo.if\"(%%p) ({\n", k);
    kn_text_add(&t[2], "func.func @main(%a: " F4 ") -> " F4 " {\n%x0");
    for (int k = 1; k < NAMES; k++) kn_text_printf(&t[2], ", %%x%d", k);
    kn_text_add(&t[2], " = stablehlo.optimization_barrier %a : " F4 "\nreturn %x0 : " F4 "\n}\n");
    kn_text_add(&t[3], "func.func @main(%a: tensor<");
    for (int k = 0; k < 100; k++) kn_text_add(&t[3], "1x");
    kn_text_add(&t[3], "f32>) {\nreturn\n}\n");
    kn_text_add(&t[4], MAIN("%0 = stablehlo.constant dense<") );
    t[4].n = strlen("func.func @main(%a: " F4 ") -> " F4 " {\n%0 = stablehlo.constant dense<");
    for (int k = 0; k < DEEP; k++) kn_text_char(&t[4], '[');
    kn_text_add(&t[5], "module attributes {a = ");
    for (int k = 0; k < DEEP; k++) kn_text_char(&t[5], '[');
    int bad = 0;
    for (int i = 0; i < 6; i++) {
        bad += !is_refused(*state, kn_hlo_parse, t[i].s, says[i], NULL);
        kn_text_fini(&t[i]);
    }
    assert_int_equal(bad, 0);
}

static kiln_status run_checks(kiln_ctx *ctx, const char *text, size_t n, const char *file, kn_prog **out)
{
    const kn_check_options o = {.interpret = true};
    kn_check_result r;
    *out = NULL;
    kn_packed t = kn_packed_text(text, n);
    return kn_hlo_check(ctx, &t, file, &o, &r);
}

static void checks(void **state)
{
    int bad = 0;
    bad += !is_refused(*state, run_checks, "func.func @main() {\n" CONSTANT("a", "1", "i32") "stablehlo.custom_call @check.expect_nothing(%a, %a) : (tensor<i32>, tensor<i32>) -> ()\nreturn\n}\n",
                       "the check expect_nothing is not known", "expect_eq");
    bad += !is_refused(*state, run_checks,
                       "func.func @main() {\n" CONSTANT("a", "true", "i1") "%0 = \"stablehlo.if\"(%a) ({\ncheck.expect_eq %a, %a : tensor<i1>\n"
                       "stablehlo.return %a : tensor<i1>\n}, {\nstablehlo.return %a : tensor<i1>\n}) : (tensor<i1>) -> tensor<i1>\nreturn\n}\n",
                       "a check inside of a region", "level of a function");
    assert_int_equal(bad, 0);
}

/* ---- HLO text ---- */

#define CONDITIONAL(shape, more, result)                                                                                        \
    "HloModule m\n\na {\n  p = " shape " parameter(0)\n" more "  ROOT s = " shape " " result "\n}\n\n"                          \
    "ENTRY main {\n  c = pred[] parameter(0)\n  x = f32[4] parameter(1)\n"                                                      \
    "  ROOT r = f32[4] conditional(c, x, x), true_computation=a, false_computation=a\n}\n"

/* Branches that want more than they are given, or something else. */
#define ENTRY(instructions) "HloModule m\n\nENTRY main {\n  x = f32[4] parameter(0)\n" instructions "}\n"

static void hlo_text(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {CONDITIONAL("f32[4]", "  q = f32[4] parameter(1)\n", "add(p, q)"), "is not given what its parameters are"},
        {CONDITIONAL("f32[2]", "", "add(p, p)"), "is not given what its parameters are"},
        {ENTRY("  k = token[2] after-all()\n  ROOT r = f32[4] add-dependency(x, k)\n"), "tokens stand alone"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kiln_prog *p = NULL;
        assert_int_equal(kn_hlo_text_parse(*state, cases[i].text, strlen(cases[i].text), "text.hlo", &p), KILN_INVALID);
        assert_says(*state, cases[i].says);
    }
}

static void hlo_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {ENTRY("  ROOT r = f32[4] no-such-operation(x)\n"), "this operation is not known"},
        {ENTRY("  ROOT r = (f32[], f32[]) constant((1, 2))\n"), "constants that are tuples"},
        {ENTRY("  ROOT r = f32[<=4] negate(x)\n"), "the dimensions [<=4]"},
        {ENTRY("  ROOT r = f32[4] custom-call(x), custom_call_target=\"no_such_target\"\n"), "@no_such_target is not known"},
        {"HloModule m, num_partitions=2\n\nENTRY main {\n  ROOT x = f32[4]{0} parameter(0)\n}\n", "made for several partitions"},
        {"HloModule m, is_scheduled=true, replica_count=16\n\nENTRY main {\n  ROOT x = f32[4]{0} parameter(0)\n}\n", "made for several replicas"},
        {"HloModule m\n\nENTRY main {\n  x = f32[4]{0} parameter(0)\n  ROOT r = f32[8]{0} all-gather(x), replica_groups={{0,1}}, dimensions={0}\n}\n", "between several replicas"},
        {"HloModule m\n\nENTRY main {\n  x = f32[4]{0} parameter(0)\n  ROOT r = f32[4]{0} all-gather(x), replica_groups=[1,2]<=[2], dimensions={0}\n}\n", "between several replicas"},
        {"HloModule m\n\nENTRY main {\n  x = f32[4]{0} parameter(0)\n  ROOT r = f32[4]{0} collective-permute(x), source_target_pairs={{0,1}}\n}\n", "between several replicas"},
        {"HloModule m\n\nENTRY main {\n  k = token[] after-all()\n  i = (f32[4]{0}, token[]) infeed(k)\n  ROOT r = f32[4]{0} get-tuple-element(i), index=0\n}\n", "host queue"},
        {"HloModule m\n\nENTRY main {\n  ROOT r = u64[1]{0} rng-get-and-update-state(), delta=1\n}\n", "state of its own"},
        {"HloModule m\n\nENTRY main {\n  x = f32[4]{0} parameter(0)\n  ROOT r = s32[2,2]{1,0} bitcast(x)\n}\n", "not both"},
        {"HloModule m\n\nENTRY main {\n  x = f32[4]{0} parameter(0)\n  ROOT r = (f32[2]{0}, s32[2]{0}) topk(x), k=2, largest=false\n}\n", "largest=true"},
    };
    int bad = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) bad += !is_refused(*state, kn_hlo_text_parse, cases[i].text, cases[i].says, NULL);
    kn_text t;
    kn_text_init(&t, NULL);
    kn_text_add(&t, "HloModule m\n\nENTRY main {\n  x = ");
    for (int k = 0; k < 300; k++) kn_text_char(&t, '(');
    bad += !is_refused(*state, kn_hlo_text_parse, t.s, "tuples are nested too deep", NULL);
    kn_text_fini(&t);
    kn_text_init(&t, NULL);
    kn_text_add(&t, "HloModule m\n\nc0 {\n  ROOT p = f32[] parameter(0)\n}\n\n");
    for (int k = 1; k < 500; k++)
        kn_text_printf(&t, "c%d {\n  p = f32[] parameter(0)\n  ROOT r = f32[] call(p), to_apply=c%d\n}\n\n", k, k - 1);
    kn_text_add(&t, "ENTRY main {\n  x = f32[] parameter(0)\n  ROOT r = f32[] call(x), to_apply=c499\n}\n");
    bad += !is_refused(*state, kn_hlo_text_parse, t.s, "nested more than 190 deep", NULL);
    kn_text_fini(&t);
    bad += !is_refused(*state, kn_hlo_text_parse,
                       "HloModule m\n\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                       "  ROOT r = f32[] reduce(a, b), dimensions={}, to_apply=add\n}\n\n"
                       "ENTRY main {\n  x = f32[4] parameter(0)\n  z = f32[] constant(0)\n"
                       "  ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=add\n}\n",
                       "add calls itself", NULL);
    assert_int_equal(bad, 0);
}

/* A text that ends with the beginning of an attribute's name is read no further than it goes (in memory of just its size). */
static void hlo_text_cut(void **state)
{
    static const char text[] = "HloModule m\n\na {\n  ROOT p = f32[4] parameter(0)\n}\n\nENTRY main {\n  x = f32[4] parameter(0)\n"
                               "  ROOT r = f32[4] call(x), to_apply=a, is_composite=true, frontend_attributes={composite.name=\"x\" composite.attrib}}";
    kiln_prog *p = NULL;
    char *own = malloc(sizeof text - 1);
    assert_non_null(own);
    memcpy(own, text, sizeof text - 1);
    assert_ok(*state, kn_hlo_text_parse(*state, own, sizeof text - 1, "text.hlo", &p));
    free(own);
    kiln_prog_release(p);
}

static void check_equal(kiln_ctx *ctx, const char *text)
{
    kiln_prog *p;
    kiln_exec *f;
    kiln_array *x, *want[4] = {0}, *got[4] = {0};
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    static const float values[4] = {3, 1, 2, 0};
    assert_ok(ctx, read_text(ctx, text, &p));
    assert_ok(ctx, kiln_array_create(ctx, (kiln_type){KILN_F32, 1, (int64_t[]){4}}, &x));
    memcpy(kiln_array_data(x), values, sizeof values);
    assert_ok(ctx, kiln_prog_eval(ctx, p, &x, want));
    assert_ok(ctx, kiln_compile(ctx, p, &o, &f));
    assert_ok(ctx, kiln_exec_call(ctx, f, &x, got));
    for (uint32_t i = 0; i < kiln_prog_n_outputs(p); i++) {
        kiln_type t = kiln_array_type(want[i]);
        assert_memory_equal(kiln_array_data(got[i]), kiln_array_data(want[i]), (size_t)kiln_type_size(t) * kiln_dtype_bytes(t.dtype));
        kiln_array_release(want[i]);
        kiln_array_release(got[i]);
    }
    kiln_array_release(x);
    kiln_exec_release(f);
    kiln_prog_release(p);
}

static void taken(void **state)
{
    check_equal(*state, ALL_REDUCE("dense<0> : tensor<1x1xi64>"));
    check_equal(*state, MAIN(CONSTANT("n", "[2, 2]", "2xi32") "%0 = stablehlo.dynamic_reshape %a, %n : (" F4 ", tensor<2xi32>) -> tensor<2x2xf32>\n"
                             "%1 = stablehlo.reshape %0 : (tensor<2x2xf32>) -> " F4 "\nreturn %1 : " F4));
    check_equal(*state, "func.func @main(%a: " F4 ") -> tensor<2x4xf32> {\n" CONSTANT("n", "[2, 4]", "2xi32")
                        "%0 = stablehlo.dynamic_broadcast_in_dim %a, %n, dims = [1] : (" F4 ", tensor<2xi32>) -> tensor<2x4xf32>\nreturn %0 : tensor<2x4xf32>\n}\n");
    check_equal(*state, "func.func @main(%a: " F4 ") -> tensor<7xf32> {\n" CONSTANT("l", "1", "1xi32") CONSTANT("h", "2", "1xi32") CONSTANT("i", "0", "1xi32")
                        CONSTANT("v", "7.0", "f32") "%0 = stablehlo.dynamic_pad %a, %v, %l, %h, %i : (" F4
                        ", tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<7xf32>\nreturn %0 : tensor<7xf32>\n}\n");
    check_equal(*state, "func.func @main(%a: " F4 ") -> tensor<3xi32> {\n" CONSTANT("n", "3", "1xi32")
                        "%0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> tensor<3xi32>\nreturn %0 : tensor<3xi32>\n}\n");
}

/* By the place in a table: a comparator that holds an array, and one that also sees a value from around it. */
#define SORTED(table, size, around)                                                                                            \
    MAIN(around "%0 = \"stablehlo.sort\"(%a) ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n" CONSTANT("t", table, size "xf32")       \
         "%i = stablehlo.convert %x : (tensor<f32>) -> tensor<i32>\n%j = stablehlo.convert %y : (tensor<f32>) -> tensor<i32>\n"   \
         "%u = stablehlo.dynamic_slice %t, %i, sizes = [1] : (tensor<" size "xf32>, tensor<i32>) -> tensor<1xf32>\n"             \
         "%v = stablehlo.dynamic_slice %t, %j, sizes = [1] : (tensor<" size "xf32>, tensor<i32>) -> tensor<1xf32>\n"             \
         "%p = stablehlo.reshape %u : (tensor<1xf32>) -> tensor<f32>\n%q = stablehlo.reshape %v : (tensor<1xf32>) -> tensor<f32>\n" \
         "%r = stablehlo.multiply %p, %scale : tensor<f32>\n%s = stablehlo.multiply %q, %scale : tensor<f32>\n"                   \
         "%c = stablehlo.compare LT, %r, %s : (tensor<f32>, tensor<f32>) -> tensor<i1>\nstablehlo.return %c : tensor<i1>\n})"      \
         " {dimension = 0 : i64, is_stable = true} : (" F4 ") -> " F4 "\nreturn %0 : " F4)
#define FIRST "%w = stablehlo.slice %a [0:1] : (" F4 ") -> tensor<1xf32>\n%scale = stablehlo.reshape %w : (tensor<1xf32>) -> tensor<f32>\n"
#define LONG "4.0, 9.0, 2.0, 7.0, 1.0, 3.0, 5.0, 8.0, 6.0, 0.0, 14.0, 19.0, 12.0, 17.0, 11.0, 13.0, 15.0, 18.0, 16.0, 10.0"

static void comparators_with_arrays(void **state)
{
    check_equal(*state, SORTED("[4.0, 9.0, 2.0, 7.0]", "4", CONSTANT("scale", "-1.0", "f32")));
    check_equal(*state, SORTED("[4.0, 9.0, 2.0, 7.0]", "4", FIRST));
    check_equal(*state, SORTED("[" LONG ", " LONG ", " LONG "]", "60", FIRST));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(refused),     cmocka_unit_test(binary),   cmocka_unit_test(limits),
                                       cmocka_unit_test(checks),      cmocka_unit_test(hlo_text), cmocka_unit_test(hlo_text_cut),
                                       cmocka_unit_test(hlo_refused), cmocka_unit_test(taken),    cmocka_unit_test(comparators_with_arrays)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
