/* SPDX-License-Identifier: Apache-2.0 */
/* StableHLO that is refused by name, with a place and what would be accepted; what looks like it and is taken: collectives on one
 * replica, dynamic operations whose shapes are constant; comparators that hold arrays of their own. */
#include "hlo/hlo.h"
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
#define QUANTIZED "tensor<4x!quant.uniform<i8:f32, 0.1>>"

static kiln_status read_text(kiln_ctx *ctx, const char *text, kiln_prog **p) { return kn_hlo_parse(ctx, text, strlen(text), "text.mlir", p); }

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
        {"func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\nreturn %a : tensor<?xf32>\n}\n", "dynamic shapes are not supported", "fixed shape"},
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
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kiln_prog *p = NULL;
        kiln_status status = read_text(*state, cases[i].text, &p);
        if (status != KILN_UNSUPPORTED) fail_msg("%s\ngave %s, not a refusal", cases[i].text, kiln_status_name(status));
        assert_says(*state, cases[i].says);
        char text[2048];
        kiln_diag_format(kiln_ctx_error(*state), text, sizeof text);
        if (!strstr(text, "text.mlir:")) fail_msg("no place: %s", text);
        if (cases[i].accepted && !strstr(text, cases[i].accepted)) fail_msg("does not say '%s': %s", cases[i].accepted, text);
    }
}

/* ---- HLO text ---- */

#define CONDITIONAL(shape, more, result)                                                                                        \
    "HloModule m\n\na {\n  p = " shape " parameter(0)\n" more "  ROOT s = " shape " " result "\n}\n\n"                          \
    "ENTRY main {\n  c = pred[] parameter(0)\n  x = f32[4] parameter(1)\n"                                                      \
    "  ROOT r = f32[4] conditional(c, x, x), true_computation=a, false_computation=a\n}\n"

/* Branches that want more than they are given, or something else. */
static void hlo_text(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {CONDITIONAL("f32[4]", "  q = f32[4] parameter(1)\n", "add(p, q)"), "is not given what its parameters are"},
        {CONDITIONAL("f32[2]", "", "add(p, p)"), "is not given what its parameters are"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kiln_prog *p = NULL;
        assert_int_equal(kn_hlo_text_parse(*state, cases[i].text, strlen(cases[i].text), "text.hlo", &p), KILN_INVALID);
        assert_says(*state, cases[i].says);
    }
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

#define CONSTANT(name, value, type) "%" name " = stablehlo.constant dense<" value "> : tensor<" type ">\n"

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
    const struct CMUnitTest tests[] = {cmocka_unit_test(refused), cmocka_unit_test(hlo_text), cmocka_unit_test(hlo_text_cut), cmocka_unit_test(taken), cmocka_unit_test(comparators_with_arrays)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
