/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering: calls and composites gone at every depth, constants of bodies passed as operands, scopes and places kept, limits. */
#include "kiln/prog.h"
#include "lower/lower.h"
#include "prim/control.h"
#include "testing.h"

static const kn_prim *prim(const char *name) { return kn_prim_find(name, strlen(name)); }

static kn_prog *parsed(kiln_ctx *ctx, const char *text)
{
    kn_prog *p;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "case", &p));
    return p;
}

static void check(kiln_ctx *ctx, const char *before, const char *after)
{
    kn_prog *p = parsed(ctx, before), *want = parsed(ctx, after), *got;
    char *x, *y;
    size_t n, m;
    assert_ok(ctx, kn_lower(ctx, p, &got));
    assert_int_equal(got->level, KN_LOWERED);
    assert_ok(ctx, kn_verify(ctx, got));
    assert_ok(ctx, kiln_prog_print(ctx, got, 0, &x, &n));
    assert_ok(ctx, kiln_prog_print(ctx, want, 0, &y, &m));
    assert_string_equal(x, y);
    kiln_text_free(ctx, x, n);
    kiln_text_free(ctx, y, m);
    kiln_prog_release(p);
    kiln_prog_release(want);
    kiln_prog_release(got);
}

static void calls(void **state)
{
    check(*state,
          "let f = { lambda ; a:f64[]. let b:f64[] = sin a in (b, a) } in { lambda ; x:f64[]. let "
          "c:f64[] d:f64[] = jit[name=f jaxpr=f] x; e:f64[] g:f64[] = jit[name=f jaxpr=f] c; h:f64[] = add e d in (h, g) }",
          "{ lambda ; x:f64[]. let c:f64[] = sin x; e:f64[] = sin c; h:f64[] = add e x in (h, c) }");
    check(*state,
          "{ lambda ; x:f64[]. let c:f64[] = jit[name=f jaxpr={ lambda ; a:f64[]. let b:f64[] = custom_jvp_call[name=g call_jaxpr={ lambda ; a:f64[]. let "
          "b:f64[] = integer_pow[y=3] a in (b,) } jvp=g symbolic_zeros=False] a in (b,) }] x in (c,) }",
          "{ lambda ; x:f64[]. let a:f64[] = mul x x; b:f64[] = mul x a in (b,) }");
    check(*state,
          "{ lambda ; k:i32[] x:f64[]. let c:f64[] = cond[branches=({ lambda ; a:f64[]. let b:f64[] = square a in (b,) } { lambda ; a:f64[]. let "
          "b:f64[] = remat2[differentiated=False jaxpr={ lambda ; a:f64[]. let b:f64[] = cos a in (b,) } policy=None prevent_cse=True] a in (b,) })] k x in (c,) }",
          "{ lambda ; k:i32[] x:f64[]. let c:f64[] = cond[branches=({ lambda ; a:f64[]. let b:f64[] = mul a a in (b,) } { lambda ; a:f64[]. let "
          "b:f64[] = cos a in (b,) })] k x in (c,) }");
}

static kn_atom eqn(kn_build *b, const char *name, const kn_param *params, const kn_atom *in, uint32_t nin)
{
    static const kn_param none[4];
    kn_atom out;
    assert_ok(b->ctx, kn_build_eqn(b, prim(name), params ? params : none, in, nin, &out, 1));
    return out;
}

static kiln_array *vector(kiln_ctx *ctx, double v)
{
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, KILN_VECTOR(KILN_F64, 2), &a));
    ((double *)kiln_array_data(a))[0] = v;
    return a;
}

/* A body that adds the constants c to its argument; with `inner`, inside a branch of a cond. */
static const kn_jaxpr *adding(kiln_ctx *ctx, kn_prog *p, kiln_array **c, uint32_t n, const kn_jaxpr *inner, const char *scope)
{
    kn_build b;
    kn_atom i, x, k;
    kn_build_init(&b, ctx, p);
    assert_ok(ctx, kn_prog_scope(ctx, p, scope, &b.scope));
    assert_ok(ctx, kn_build_input(&b, KILN_SCALAR(KILN_I32), &i));
    assert_ok(ctx, kn_build_input(&b, KILN_VECTOR(KILN_F64, 2), &x));
    for (uint32_t q = 0; q < n; q++) {
        assert_ok(ctx, kn_build_const(&b, c[q], &k));
        x = eqn(&b, "add", NULL, (kn_atom[]){x, k}, 2);
    }
    if (inner) {
        kn_param branch[] = {KN_JAXPR(inner), KN_JAXPR(inner)}, params[] = {KN_TUPLE(2, branch), KN_NONE, KN_NONE};
        kn_atom y[2];
        assert_ok(ctx, kn_build_eqn(&b, prim("cond"), params, (kn_atom[]){i, i, x}, 3, y, 2));
        x = y[1];
    }
    assert_ok(ctx, kn_build_literal(&b, KILN_I32, (kn_scalar){.i = 1}, &k));
    kn_atom out[2] = {eqn(&b, "add", NULL, (kn_atom[]){i, k}, 2), x};
    const kn_jaxpr *j;
    assert_ok(ctx, kn_build_finish(&b, out, 2, &j));
    return j;
}

static void has_constants(void *ud, const kn_jaxpr *j)
{
    *(uint32_t *)ud += j->nconsts;
    for (uint32_t k = 0; k < j->neqns; k++) kn_eqn_bodies(&j->eqns[k], has_constants, ud);
}

/* Constants two bodies deep, one of them used at both depths and by the program itself. */
static void constants(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_array *c[3] = {vector(ctx, 1), vector(ctx, 10), vector(ctx, 100)};
    kn_prog *p, *low;
    kn_build b;
    assert_ok(ctx, kn_prog_new(ctx, NULL, &p));
    const kn_jaxpr *inner = adding(ctx, p, c + 1, 2, NULL, ""), *body = adding(ctx, p, c, 2, inner, ""), *cond;
    kn_atom i, x, k, y[2];
    kn_build_init(&b, ctx, p);
    assert_ok(ctx, kn_build_input(&b, KILN_SCALAR(KILN_I32), &i));
    assert_ok(ctx, kn_build_input(&b, KILN_VECTOR(KILN_F64, 2), &x));
    assert_ok(ctx, kn_build_literal(&b, KILN_I32, (kn_scalar){.i = 3}, &k));
    kn_atom go = eqn(&b, "lt", NULL, (kn_atom[]){i, k}, 2);
    assert_ok(ctx, kn_build_finish(&b, &go, 1, &cond));

    kn_build_init(&b, ctx, p);
    assert_ok(ctx, kn_build_input(&b, KILN_VECTOR(KILN_F64, 2), &x));
    assert_ok(ctx, kn_build_const(&b, c[1], &k));
    x = eqn(&b, "mul", NULL, (kn_atom[]){x, k}, 2);
    assert_ok(ctx, kn_build_literal(&b, KILN_I32, (kn_scalar){.i = 0}, &i));
    kn_param params[KN_WHILE_PARAMS] = {KN_JAXPR(body), KN_INT(0), KN_JAXPR(cond), KN_INT(0)};
    assert_ok(ctx, kn_build_eqn(&b, prim("while"), params, (kn_atom[]){i, x}, 2, y, 2));
    assert_ok(ctx, kn_build_finish(&b, &y[1], 1, &p->main));
    assert_ok(ctx, kn_verify(ctx, p));

    assert_ok(ctx, kn_lower(ctx, p, &low));
    assert_ok(ctx, kn_verify(ctx, low));
    uint32_t left = 0;
    for (uint32_t q = 0; q < low->main->neqns; q++) kn_eqn_bodies(&low->main->eqns[q], has_constants, &left);
    assert_int_equal(left, 0);
    assert_int_equal(low->main->nconsts, 3);
    assert_int_equal(low->arrays.n, 3);
    kiln_array *in = vector(ctx, 2), *want, *got;
    assert_ok(ctx, kiln_prog_eval(ctx, p, &in, &want));
    assert_ok(ctx, kiln_prog_eval(ctx, low, &in, &got));
    assert_memory_equal(kiln_array_read(want), kiln_array_read(got), kiln_array_bytes(got));
    assert_true(((const double *)kiln_array_read(got))[0] == 2 * 10 + 3 * (1 + 10 + 10 + 100));
    kiln_array_release(in);
    kiln_array_release(want);
    kiln_array_release(got);
    for (int q = 0; q < 3; q++) kiln_array_release(c[q]);
    kiln_prog_release(p);
    kiln_prog_release(low);
}

static void scopes_and_places(void **state)
{
    kiln_ctx *ctx = *state;
    kn_prog *p, *low;
    kn_build b;
    kn_atom i, x, y[2];
    assert_ok(ctx, kn_prog_new(ctx, NULL, &p));
    const kn_jaxpr *body = adding(ctx, p, NULL, 0, NULL, "inside"), *plain = adding(ctx, p, NULL, 0, NULL, "");
    kn_build_init(&b, ctx, p);
    assert_ok(ctx, kn_build_input(&b, KILN_SCALAR(KILN_I32), &i));
    assert_ok(ctx, kn_build_input(&b, KILN_VECTOR(KILN_F64, 2), &x));
    assert_ok(ctx, kn_prog_file(ctx, p, "model.yaml", &b.loc.file));
    b.loc.line = 7;
    assert_ok(ctx, kn_prog_scope(ctx, p, "node:a", &b.scope));
    kn_param jit[11] = {KN_TEXT("f")};
    for (int k = 0; k < 2; k++) {
        jit[7] = KN_JAXPR(k ? plain : body);
        assert_ok(ctx, kn_build_eqn(&b, prim("jit"), jit, (kn_atom[]){i, x}, 2, y, 2));
    }
    y[1] = eqn(&b, "integer_pow", &KN_INT(2), &x, 1);
    assert_ok(ctx, kn_build_finish(&b, y, 2, &p->main));
    assert_ok(ctx, kn_lower(ctx, p, &low));
    assert_int_equal(low->main->neqns, 3);
    static const char *const want[] = {"node:a/inside", "node:a", "node:a"};
    for (uint32_t k = 0; k < 3; k++) {
        const kn_eqn *e = &low->main->eqns[k];
        assert_string_equal(low->scopes.v[e->scope], want[k]);
        assert_string_equal(low->files.v[e->loc.file], "model.yaml"); /* what has no place takes the call's */
        assert_int_equal(e->loc.line, 7);
    }
    kiln_prog_release(p);
    kiln_prog_release(low);
}

/* Calls that double at every level: refused by the number of equations, not by the memory of the machine. */
static void limits(void **state)
{
    kiln_ctx *ctx = *state;
    kn_prog *p, *low;
    assert_ok(ctx, kn_prog_new(ctx, NULL, &p));
    const kn_jaxpr *j = adding(ctx, p, NULL, 0, NULL, "");
    for (int level = 0; level < 40; level++) {
        kn_build b;
        kn_atom x[2];
        kn_build_init(&b, ctx, p);
        assert_ok(ctx, kn_build_input(&b, KILN_SCALAR(KILN_I32), &x[0]));
        assert_ok(ctx, kn_build_input(&b, KILN_VECTOR(KILN_F64, 2), &x[1]));
        kn_param jit[11] = {KN_TEXT("f")};
        jit[7] = KN_JAXPR(j);
        for (int k = 0; k < 2; k++) assert_ok(ctx, kn_build_eqn(&b, prim("jit"), jit, x, 2, x, 2));
        assert_ok(ctx, kn_build_finish(&b, x, 2, &j));
    }
    p->main = j;
    assert_int_equal(kn_lower(ctx, p, &low), KILN_INVALID);
    assert_null(low);
    assert_says(ctx, "more than");
    kiln_prog_release(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls), cmocka_unit_test(constants), cmocka_unit_test(scopes_and_places), cmocka_unit_test(limits)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
