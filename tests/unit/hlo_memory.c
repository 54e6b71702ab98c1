/* SPDX-License-Identifier: Apache-2.0 */
/* StableHLO, HLO and graphs are printed, and read, under every failing allocation: the error is that memory is short, or the text is the right one.
 * Names of many lengths move what fails, since most of the memory is an arena's. */
#include "hlo/hlo.h"
#include "ir/ir.h"
#include "testing.h"

static const char format[] = "module @m {\n"
                             "  func.func public @main(%%arg0: tensor<f32>, %%arg1: tensor<i32>) -> tensor<f32> {\n"
                             "    %%2 = func.call @%s(%%arg0) : (tensor<f32>) -> tensor<f32>\n"
                             "    %%c = stablehlo.constant dense<3> : tensor<i32>\n"
                             "    %%0 = stablehlo.while(%%iterArg = %%arg1) : tensor<i32>\n"
                             "    cond {\n"
                             "      %%3 = stablehlo.compare LT, %%iterArg, %%c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                             "      stablehlo.return %%3 : tensor<i1>\n"
                             "    } do {\n"
                             "      %%3 = stablehlo.add %%iterArg, %%c : tensor<i32>\n"
                             "      stablehlo.return %%3 : tensor<i32>\n"
                             "    }\n"
                             "    %%1 = \"stablehlo.case\"(%%0) ({\n"
                             "      stablehlo.return %%arg0 : tensor<f32>\n"
                             "    }, {\n"
                             "      stablehlo.return %%2 : tensor<f32>\n"
                             "    }) : (tensor<i32>) -> tensor<f32>\n"
                             "    return %%1 : tensor<f32>\n"
                             "  }\n"
                             "  func.func private @%s(%%arg0: tensor<f32>) -> tensor<f32> {\n"
                             "    %%0 = stablehlo.negate %%arg0 : tensor<f32>\n"
                             "    return %%0 : tensor<f32>\n"
                             "  }\n"
                             "}\n";

enum { STABLEHLO, HLO, GRAPH, N_FORMS };

static kiln_status there_and_back(kiln_ctx *ctx, const char *text, int form, kn_text *t)
{
    kiln_prog *p = NULL, *q = NULL;
    kiln_status s = kiln_prog_parse(ctx, text, strlen(text), "text.mlir", &p);
    if (s == KILN_OK && form == STABLEHLO) s = kn_hlo_print_stablehlo(ctx, p, t);
    if (s == KILN_OK && form == HLO) s = kn_hlo_print_hlo(ctx, p, KN_HLO_OPTIMISED, t);
    if (s == KILN_OK && form == GRAPH) s = kn_dot_print(ctx, p, false, t, NULL);
    if (s == KILN_OK && form != GRAPH) s = kiln_prog_parse(ctx, t->s, t->n, "printed", &q);
    kiln_prog_release(p);
    kiln_prog_release(q);
    return s;
}

static void every_allocation(const char *text, int form)
{
    char *want = NULL;
    for (int n = 0;; n++) { /* 0: none fails */
        kiln_ctx *ctx = test_ctx_failing(n);
        if (!ctx) continue;
        kn_text t;
        kn_text_init(&t, &ctx->alloc);
        kiln_status s = there_and_back(ctx, text, form, &t);
        bool failed = test_ctx_failed(ctx);
        if (n == 0) want = strdup(t.s);
        assert_int_equal(s, failed ? KILN_NOMEM : KILN_OK);
        if (!failed) assert_string_equal(t.s, want);
        kn_text_fini(&t);
        test_ctx_release(ctx);
        if (n && !failed) break;
    }
    free(want);
}

static void memory(void **state)
{
    (void)state;
    char name[4096], text[sizeof format + 2 * sizeof name];
    for (size_t length = 1; length < sizeof name; length += 16) {
        memset(name, 'f', length);
        name[length] = 0;
        snprintf(text, sizeof text, format, name, name);
        for (int form = 0; form < N_FORMS; form++) every_allocation(text, form);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
