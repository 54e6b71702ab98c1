/* SPDX-License-Identifier: Apache-2.0 */
/* StableHLO text: modules that JAX wrote print as they stand, value names and locations aside; programs traced here print with the
 * names of their ends and with locations; what is printed, as HLO text too, reads back to the same text. */
#include "hlo/hlo.h"
#include "ir/ir.h"
#include "kiln/trace.h"
#include "testing.h"

#include <ctype.h>

/* ---- texts without names of values and locations ---- */

typedef struct names {
    char (*v)[40];
    size_t n, cap;
} names;

static size_t number_of(names *l, const char *s, size_t n)
{
    for (size_t i = l->n; i-- > 0;)
        if (strlen(l->v[i]) == n && memcmp(l->v[i], s, n) == 0) return i;
    if (l->n == l->cap) {
        l->cap = 2 * l->cap + 64;
        l->v = realloc(l->v, l->cap * sizeof *l->v);
    }
    assert_true(n < sizeof *l->v);
    memcpy(l->v[l->n], s, n);
    l->v[l->n][n] = 0;
    return l->n++;
}

/* Behind ` loc(..)`, which begins at s. */
static const char *behind_loc(const char *s)
{
    int depth = 0;
    for (bool quoted = false;; s++) {
        if (*s == '"') quoted = !quoted;
        if (!quoted && *s == '(') depth++;
        if (!*s || (!quoted && *s == ')' && --depth == 0)) return *s ? s + 1 : s;
    }
}

static char *normal(kiln_ctx *ctx, const char *s, size_t n)
{
    names l = {0};
    kn_text t;
    const char *end = s + n;
    kn_text_init(&t, &ctx->alloc);
    while (s < end) {
        if (strncmp(s, "#loc", 4) == 0 && (t.n == 0 || t.s[t.n - 1] == '\n')) {
            s += strcspn(s, "\n");
            s += *s == '\n';
        } else if (strncmp(s, " loc(", 5) == 0) {
            s = behind_loc(s);
        } else if (*s == '%') {
            size_t k = 1;
            while (isalnum((unsigned char)s[k]) || s[k] == '_') k++;
            kn_text_printf(&t, "%%%zu", number_of(&l, s, k));
            s += k;
        } else {
            if (strncmp(s, "func.func", 9) == 0) l.n = 0;
            kn_text_char(&t, *s++);
        }
    }
    assert_false(t.failed);
    char *out = strdup(t.s);
    kn_text_fini(&t);
    free(l.v);
    return out;
}

static kn_text print(kiln_ctx *ctx, const kiln_prog *p)
{
    kn_text t;
    kn_text_init(&t, &ctx->alloc);
    assert_ok(ctx, kn_hlo_print_stablehlo(ctx, p, &t));
    return t;
}

/* ---- the shared programs ---- */

static kn_text print_hlo(kiln_ctx *ctx, const kiln_prog *p)
{
    kn_text t;
    kn_text_init(&t, &ctx->alloc);
    assert_ok(ctx, kn_hlo_print_hlo(ctx, p, 0, &t));
    return t;
}

/* HLO text, metadata included, is the same again once it has been read. */
static void stands_in_hlo(kiln_ctx *ctx, const char *path, const kiln_prog *p)
{
    kiln_prog *q;
    kn_text first = print_hlo(ctx, p);
    assert_ok(ctx, kiln_prog_parse(ctx, first.s, first.n, path, &q));
    kn_text again = print_hlo(ctx, q);
    assert_string_equal(first.s, again.s);
    kn_text_fini(&first);
    kn_text_fini(&again);
    kiln_prog_release(q);
}

static void prints_as_it_stands(kiln_ctx *ctx, const char *path)
{
    kn_bytes b;
    kiln_prog *p, *q;
    assert_ok(ctx, kn_file_read(ctx, path, &b));
    assert_ok(ctx, kiln_prog_parse(ctx, b.s, b.n, path, &p));
    kn_text first = print(ctx, p);
    char *want = normal(ctx, b.s, b.n), *got = normal(ctx, first.s, first.n);
    if (strcmp(want, got) != 0) print_error("%s prints differently\n", path);
    assert_string_equal(want, got);
    assert_ok(ctx, kiln_prog_parse(ctx, first.s, first.n, "printed", &q));
    kn_text again = print(ctx, q);
    assert_string_equal(first.s, again.s);
    assert_true(kn_jaxpr_equal(p->main, q->main));
    stands_in_hlo(ctx, path, p);
    free(want);
    free(got);
    kn_text_fini(&first);
    kn_text_fini(&again);
    kn_bytes_free(ctx, &b);
    kiln_prog_release(p);
    kiln_prog_release(q);
}

static uint32_t folder(kiln_ctx *ctx, const char *path, int depth)
{
    DIR *d = opendir(path);
    uint32_t n = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        char inner[1024];
        const char *dot = strrchr(e->d_name, '.');
        if (e->d_name[0] == '.') continue;
        snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        if (dot && strcmp(dot, ".mlir") == 0) {
            prints_as_it_stands(ctx, inner);
            n++;
        } else if (depth > 0 && test_is_folder(inner)) n += folder(ctx, inner, depth - 1);
    }
    if (d) closedir(d);
    return n;
}

static void shared_programs(void **state)
{
    if (!test_is_folder(KILN_CASES "/programs")) {
        print_message("skipped: no shared cases at %s/programs\n", KILN_CASES);
        skip();
    }
    assert_true(folder(*state, KILN_CASES "/programs", 1) > 60);
}

/* ---- constants that bodies see from around them ---- */

static const char seen_text[] =
    "module @seen attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {\n"
    "  func.func public @main(%arg0: tensor<i32>) -> tensor<i32> {\n"
    "    %c = stablehlo.constant dense<1> : tensor<i32>\n"
    "    %c_0 = stablehlo.constant dense<10> : tensor<i32>\n"
    "    %0 = stablehlo.while(%iterArg = %arg0) : tensor<i32>\n"
    "    cond {\n"
    "      %1 = stablehlo.compare LT, %iterArg, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "      stablehlo.return %1 : tensor<i1>\n"
    "    } do {\n"
    "      %1 = stablehlo.while(%iterArg_1 = %iterArg) : tensor<i32>\n"
    "      cond {\n"
    "        %3 = stablehlo.compare LT, %iterArg_1, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "        stablehlo.return %3 : tensor<i1>\n"
    "      } do {\n"
    "        %3 = stablehlo.add %iterArg_1, %c : tensor<i32>\n"
    "        stablehlo.return %3 : tensor<i32>\n"
    "      }\n"
    "      %2 = stablehlo.add %1, %c : tensor<i32>\n"
    "      stablehlo.return %2 : tensor<i32>\n"
    "    }\n"
    "    return %0 : tensor<i32>\n"
    "  }\n"
    "}\n";

static void seen_constants(void **state)
{
    kiln_prog *p;
    assert_ok(*state, kiln_prog_parse(*state, seen_text, sizeof seen_text - 1, "seen", &p));
    kn_text t = print(*state, p);
    assert_string_equal(t.s, seen_text);
    kn_text_fini(&t);
    kiln_prog_release(p);
}

/* ---- numbers, as LLVM writes them ---- */

static void numbers(void **state)
{
    static const char *const lines[] = {
        "dense<1.000000e+00> : tensor<f64>", "dense<-0.000000e+00> : tensor<f64>", "dense<9.9999999999999995E-7> : tensor<f64>",
        "dense<1.610000e-01> : tensor<f64>", "dense<9.22337203E+18> : tensor<f32>",
        "dense<9.99999974E-6> : tensor<f32>", "dense<0x4996B438> : tensor<f32>", "dense<0x7FC00000> : tensor<f32>",
        "dense<0xFFF0000000000000> : tensor<f64>", "dense<4.940660e-324> : tensor<f64>", "dense<6.550400e+04> : tensor<f16>",
        "dense<(1.500000e+00,-2.000000e+00)> : tensor<complex<f32>>", "dense<true> : tensor<i1>", "dense<-128> : tensor<i8>",
        "dense<18446744073709551615> : tensor<ui64>", "dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>", "dense<> : tensor<0x3xf32>",
        "dense<2.500000e-01> : tensor<bf16>", "dense<7> : tensor<i4>", "dense<1.000000e+10> : tensor<40x50xf32>",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[512];
        const char *type = strstr(lines[i], " : ") + 3;
        kiln_prog *p;
        snprintf(text, sizeof text, "func.func @main() -> %s {\n  %%0 = stablehlo.constant %s\n  return %%0 : %s\n}\n", type, lines[i], type);
        assert_ok(*state, kiln_prog_parse(*state, text, strlen(text), "numbers", &p));
        kn_text t = print(*state, p);
        if (!strstr(t.s, lines[i])) fail_msg("%s is not in\n%s", lines[i], t.s);
        kn_text_fini(&t);
        kiln_prog_release(p);
    }
}

/* ---- traced here ---- */

static const char traced_text[] =
    "#loc = loc(unknown)\n"
    "module @jit_main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {\n"
    "  func.func public @main(%arg0: tensor<f64> loc(\"mass\"), %arg1: tensor<3xf64> loc(\"velocity\")) -> (tensor<f64> {jax.result_info = \"energy\"}) {\n"
    "    %0 = stablehlo.multiply %arg1, %arg1 : tensor<3xf64> loc(#loc2)\n"
    "    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64> loc(#loc)\n"
    "    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64> loc(#loc3)\n"
    "    %2 = stablehlo.multiply %arg0, %1 : tensor<f64> loc(#loc2)\n"
    "    return %2 : tensor<f64> loc(#loc)\n"
    "  } loc(#loc)\n"
    "} loc(#loc)\n"
    "#loc1 = loc(\"model.yaml\":7:1)\n"
    "#loc2 = loc(\"kinetic/mul\"(#loc1))\n"
    "#loc3 = loc(\"kinetic/reduce_sum\"(#loc1))\n";

static void traced(void **state)
{
    kiln_trace *t;
    kiln_prog *p, *q;
    assert_ok(*state, kiln_trace_begin(*state, &t));
    kiln_place(t, "model.yaml", 7, 1);
    kiln_scope_push(t, "kinetic");
    kiln_val m = kiln_input(t, "mass", KILN_SCALAR(KILN_F64)), v = kiln_input(t, "velocity", KILN_VECTOR(KILN_F64, 3));
    kiln_output(t, "energy", kiln_mul(t, m, kiln_sum_all(t, kiln_mul(t, v, v))));
    kiln_scope_pop(t);
    assert_ok(*state, kiln_trace_finish(t, &p));
    kn_text first = print(*state, p);
    assert_string_equal(first.s, traced_text);
    assert_ok(*state, kiln_prog_parse(*state, first.s, first.n, "printed", &q));
    assert_string_equal(kiln_prog_input_name(q, 1), "velocity");
    assert_string_equal(kiln_prog_output_name(q, 0), "energy");
    kn_text again = print(*state, q);
    assert_string_equal(first.s, again.s);
    kn_text_fini(&first);
    kn_text_fini(&again);
    kiln_prog_release(p);
    kiln_prog_release(q);
}

/* ---- what has no form ---- */

static void refused(void **state)
{
    static const char *const texts[][2] = {
        {"{ lambda a:f32[3]; b:f32[3]. let c:f32[3] = add a b in (c,) }", "has no value"},
        {"{ lambda ; a:f32[3] b:key<fry>[3]. let c:f32[3] d:key<fry>[3] = sort[dimension=0 is_stable=True num_keys=1] a b in (c, d) }", "sort of keys"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kiln_prog *p;
        kn_text t;
        assert_ok(*state, kiln_prog_parse(*state, texts[i][0], strlen(texts[i][0]), "text", &p));
        kn_text_init(&t, &((kiln_ctx *)*state)->alloc);
        assert_int_equal(kn_hlo_print_stablehlo(*state, p, &t), KILN_UNSUPPORTED);
        assert_says(*state, texts[i][1]);
        kn_text_fini(&t);
        kiln_prog_release(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shared_programs), cmocka_unit_test(seen_constants), cmocka_unit_test(numbers), cmocka_unit_test(traced),
                                       cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
