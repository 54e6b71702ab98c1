/* SPDX-License-Identifier: Apache-2.0 */
/* Every primitive's samples survive StableHLO, and HLO text: what is printed reads back, prints the same text again, computes the same bits, and
 * from then on is the same program. */
#include "hlo/hlo.h"
#include "ir/ir.h"
#include "same.h"
#include "samples.h"
#include "testing.h"

typedef enum form { STABLEHLO, HLO, HLO_OPTIMISED } form;

static kn_text print(kiln_ctx *ctx, const kiln_prog *p, form f)
{
    kn_text t;
    kn_text_init(&t, &ctx->alloc);
    kiln_status s = f == STABLEHLO ? kn_hlo_print_stablehlo(ctx, p, &t) : kn_hlo_print_hlo(ctx, p, f == HLO_OPTIMISED ? KN_HLO_OPTIMISED : 0, &t);
    if (s != KILN_OK) {
        char *text;
        size_t n;
        if (kiln_prog_print(ctx, p, 120, &text, &n) == KILN_OK) print_error("%s", text);
    }
    assert_ok(ctx, s);
    return t;
}

static kiln_prog *read_back(kiln_ctx *ctx, const sample *s, const kn_text *t)
{
    kiln_prog *p;
    kiln_status status = kiln_prog_parse(ctx, t->s, t->n, "printed", &p);
    if (status != KILN_OK) {
        sample_report(ctx, s, "cannot be read back");
        print_error("%s", t->s);
    }
    assert_ok(ctx, status);
    return p;
}

static void compare(kiln_ctx *ctx, const sample *s, const kiln_prog *q, const kn_text *t)
{
    kiln_array *a[SAMPLE_OUT], *b[SAMPLE_OUT];
    assert_int_equal(kiln_prog_n_outputs(q), s->nout);
    assert_ok(ctx, kiln_prog_eval(ctx, s->p, s->in, a));
    assert_ok(ctx, kiln_prog_eval(ctx, q, s->in, b));
    for (uint32_t i = 0; i < s->nout; i++) {
        int64_t where = 0;
        bool words = a[i]->type.dtype == KILN_KEY; /* which keys come back as */
        if (words ? a[i]->bytes != b[i]->bytes || memcmp(a[i]->data, b[i]->data, a[i]->bytes) != 0 : !same_array(a[i], b[i], &where)) {
            char what[100];
            snprintf(what, sizeof what, "result %u, element %lld differs behind StableHLO", i, (long long)where);
            sample_report(ctx, s, what);
            print_error("%s", t->s);
            fail();
        }
        kiln_array_release(a[i]);
        kiln_array_release(b[i]);
    }
}

/* ---- primitives that StableHLO has under another name, or as other operations ---- */

static bool becomes_others(const kn_prim *p)
{
    if (strncmp(p->name, "random_", 7) == 0) return strcmp(p->name, "random_gamma_grad") != 0; /* operations on words */
    static const char *const names[] = {"CustomRoot", "Frexp", "Ldexp", "SearchSorted", "add_any", "checkpoint", "cholesky_update", "closed_call", "copy", "copy_p", "custom_jvp_call", "custom_linear_solve", "custom_root", "custom_vjp_call", "dim_as_value", "eig", "eigh", "empty", "empty2", "eval_jaxpr", "geqp3", "geqrf", "hessenberg", "householder_product", "integer_pow", "log2", "lu",
                                        "lu_pivots_to_permutation", "name", "one_minus_square", "ormqr", "pjit", "platform_index", "polynomial", "qr", "remat", "remat2", "scan", "schur", "sort",
                                        "split", "squeeze", "stack", "stop_gradient", "svd", "symmetric_product", "tile", "tridiagonal", "tridiagonal_solve", "unstack"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(p->name, names[i]) == 0) return true;
    return false;
}

typedef struct search {
    const kn_prim *prim;
    bool found;
} search;
static void look(void *ud, const kn_jaxpr *j)
{
    search *s = ud;
    for (uint32_t i = 0; i < j->neqns; i++) {
        s->found = s->found || j->eqns[i].prim == s->prim;
        kn_eqn_bodies(&j->eqns[i], look, s);
    }
}

static uint32_t n_samples, n_kept;

static void through(kiln_ctx *ctx, sample *s, form f, search *kept)
{
    kn_text first = print(ctx, s->p, f);
    kiln_prog *q = read_back(ctx, s, &first);
    kn_text again = print(ctx, q, f);
    if (strcmp(first.s, again.s) != 0) sample_report(ctx, s, "prints differently once read back");
    assert_string_equal(first.s, again.s);
    kiln_prog *r = read_back(ctx, s, &again);
    assert_true(kn_jaxpr_equal(q->main, r->main));
    compare(ctx, s, q, &first);
    look(kept, q->main);
    kn_text_fini(&first);
    kn_text_fini(&again);
    kiln_prog_release(q);
    kiln_prog_release(r);
}

static void one(kiln_ctx *ctx, const kn_prim *prim, const kn_sample_opts *opts)
{
    sample s = {.prim = prim, .seed = opts->seed, .length = opts->length};
    kiln_status status = kn_sample_program(ctx, prim, opts, &s.p, s.in, &s.nin);
    if (status == KILN_UNSUPPORTED || status == KILN_DTYPE) return;
    assert_ok(ctx, status);
    s.nout = kiln_prog_n_outputs(s.p);
    search kept = {prim, false}, ignored = {prim, false};
    through(ctx, &s, STABLEHLO, &kept);
    through(ctx, &s, opts->seed % 2 ? HLO : HLO_OPTIMISED, &ignored);
    n_samples++;
    n_kept += kept.found;
    sample_free(&s);
}

static void test_round_trip(void **state)
{
    static const int64_t lengths[] = {0, 1, 3, 17};
    const char *only = getenv("KILN_TEST_PRIM");
    uint32_t n;
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++) {
        if (only && strcmp(only, prims[i]->name) != 0) continue;
        n_samples = n_kept = 0;
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (uint64_t seed = 0; seed < 20; seed++) one(*state, prims[i], &(kn_sample_opts){.seed = seed, .length = lengths[l]});
        if (n_samples && !becomes_others(prims[i]) && n_kept == 0) fail_msg("%s is not read back as itself", prims[i]->name);
        if (!n_samples && prims[i]->sample) fail_msg("%s has no sample that was tried", prims[i]->name);
    }
}

/* Every element type, where a sample can be had in it. */
static void test_types(void **state)
{
    uint32_t n;
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t d = 0; d <= KILN_C128; d++)
            for (uint64_t seed = 0; seed < 2; seed++) one(*state, prims[i], &(kn_sample_opts){.seed = seed, .length = 3, .dtypes = 1u << d});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip), cmocka_unit_test(test_types)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
