/* SPDX-License-Identifier: Apache-2.0 */
/* Loops and branches that lanes leave at different times: no lane makes a step that it does not need, no branch runs for a lane that
 * does not take it, and small branches are chosen from without letting NaN into derivatives. Errors of vmap. */
#include "kiln/exec.h"
#include "kiln/transform.h"
#include "testing.h"

#include "array/array.h"
#include "ir/prim.h"

static kiln_prog *parse(kiln_ctx *ctx, const char *text)
{
    kiln_prog *p;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    return p;
}

static kiln_prog *vmap(kiln_ctx *ctx, kiln_prog *p, int64_t lanes, const int *axes)
{
    kiln_prog *q;
    assert_ok(ctx, kiln_prog_vmap(ctx, p, lanes, axes, NULL, &q));
    kiln_prog_release(p);
    return q;
}

typedef struct counter {
    const char *prim;
    uint64_t n;
} counter;
static void count_body(void *ud, const kn_jaxpr *j)
{
    counter *c = ud;
    for (uint32_t k = 0; k < j->neqns; k++) {
        c->n += strcmp(j->eqns[k].prim->name, c->prim) == 0;
        kn_eqn_bodies(&j->eqns[k], count_body, c);
    }
}
static uint64_t count(const kiln_prog *p, const char *prim)
{
    counter c = {prim, 0};
    count_body(&c, p->main);
    return c.n;
}

static const char counting[] = "{ lambda ; a:i32[] b:f64[]. let\n"
                               "    _:i32[] c:f64[] = while[\n"
                               "      body_jaxpr={ lambda ; d:i32[] e:f64[]. let f:i32[] = sub d 1:i32[]; g:f64[] = mul e 1.5:f64[] in (f, g) }\n"
                               "      body_nconsts=0\n"
                               "      cond_jaxpr={ lambda ; h:i32[] i:f64[]. let j:bool[] = gt h 0:i32[] in (j,) }\n"
                               "      cond_nconsts=0\n"
                               "    ] a b\n"
                               "  in (c,) }\n";

/* One lane of ten goes on for long. */
static void lanes_retire(void **state)
{
    enum { LANES = 200, LONG = 100 };
    kiln_ctx *ctx = *state;
    kiln_prog *p = vmap(ctx, parse(ctx, counting), LANES, (int[]){0, KILN_NO_AXIS});
    kiln_array *in[2], *out;
    assert_ok(ctx, kiln_array_create(ctx, KILN_VECTOR(KILN_I32, LANES), &in[0]));
    assert_ok(ctx, kiln_array_create(ctx, KILN_SCALAR(KILN_F64), &in[1]));
    uint64_t useful = 0;
    for (int l = 0; l < LANES; l++) useful += (uint64_t)(((int32_t *)in[0]->data)[l] = l % 10 == 3 ? LONG : l % 2);
    *(double *)in[1]->data = 1;
    uint64_t before = ctx->lane_steps;
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, &out));
    uint64_t steps = ctx->lane_steps - before;
    assert_true(10 * steps <= 13 * useful);
    assert_true(((double *)out->data)[3] > 4e17 && ((double *)out->data)[0] == 1 && ((double *)out->data)[1] == 1.5);
    kiln_array_release(out);
    kiln_array_release(in[0]);
    kiln_array_release(in[1]);
    kiln_prog_release(p);
}

/* A predicate that all lanes share keeps one loop over all of them. */
static void shared_predicate(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *p = vmap(ctx, parse(ctx, counting), 7, (int[]){KILN_NO_AXIS, 0});
    assert_int_equal(count(p, "while"), 1);
    assert_int_equal(count(p, "scan"), 0);
    kiln_prog_release(p);
}

/* Branch 1 never ends for numbers below 0: only lanes that take it may run it. */
static const char branching[] = "{ lambda ; a:i32[] b:f64[]. let\n"
                                "    c:f64[] = cond[\n"
                                "      branches=(\n"
                                "        { lambda ; d:f64[]. let e:f64[] = neg d in (e,) }\n"
                                "        { lambda ; f:f64[]. let\n"
                                "            g:f64[] = while[\n"
                                "              body_jaxpr={ lambda ; h:f64[]. let i:f64[] = mul h 2.0:f64[] in (i,) }\n"
                                "              body_nconsts=0\n"
                                "              cond_jaxpr={ lambda ; j:f64[]. let k:bool[] = lt j 100.0:f64[] in (k,) }\n"
                                "              cond_nconsts=0\n"
                                "            ] f\n"
                                "          in (g,) }\n"
                                "      )\n"
                                "    ] a b\n"
                                "  in (c,) }\n";
static void branches_that_may_not_end(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *p = vmap(ctx, parse(ctx, branching), 4, (int[]){0, 0});
    assert_int_equal(count(p, "cond"), 1);
    assert_int_equal(count(p, "select_n"), 0);
    kiln_array *in[2], *out;
    kiln_exec *f;
    assert_ok(ctx, kiln_array_parse(ctx, "i32[4]:0,1,0,1", &in[0]));
    assert_ok(ctx, kiln_array_parse(ctx, "f64[4]:-3,3,0,64", &in[1]));
    uint64_t before = ctx->lane_steps;
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, &out));
    assert_int_equal(ctx->lane_steps - before, 6 + 1);
    const double *v = out->data;
    assert_true(v[0] == 3 && v[1] == 192 && v[3] == 128);
    kiln_array_release(out);
    assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
    assert_ok(ctx, kiln_exec_call(ctx, f, in, &out));
    v = out->data;
    assert_true(v[0] == 3 && v[1] == 192 && v[3] == 128);
    kiln_array_release(out);
    kiln_array_release(in[0]);
    kiln_array_release(in[1]);
    kiln_exec_release(f);
    kiln_prog_release(p);
}

/* Small branches are chosen from, and see nothing of lanes that do not take them when derivatives are taken. */
static void small_branches(void **state)
{
    static const char text[] = "{ lambda ; a:i32[] b:f64[] c:f64[8]. let\n"
                               "    d:f64[8] = cond[branches=(\n"
                               "        { lambda ; e:f64[] f:f64[8]. let g:f64[8] = mul f e in (g,) }\n"
                               "        { lambda ; h:f64[] i:f64[8]. let j:f64[8] = log i in (j,) }\n"
                               "        { lambda ; k:f64[] l:f64[8]. let m:f64[8] = add l k in (m,) }\n"
                               "      )] a b c\n"
                               "  in (d,) }\n";
    kiln_ctx *ctx = *state;
    kiln_prog *p = vmap(ctx, parse(ctx, text), 5, (int[]){0, KILN_NO_AXIS, 1});
    assert_int_equal(count(p, "cond"), 0);
    assert_true(count(p, "stop_gradient") > 0);
    kiln_prog_release(p);
    p = vmap(ctx, parse(ctx, text), 5, (int[]){KILN_NO_AXIS, KILN_NO_AXIS, 1}); /* one index for all lanes */
    assert_int_equal(count(p, "cond"), 1);
    kiln_prog_release(p);
}

/* An update at a place that all lanes share stays an update; that, and one at places of their own, is done in the carry's memory. */
static void updates_in_place(void **state)
{
    static const char text[] = "{ lambda ; a:f64[500] b:i32[]. let\n"
                               "    c:f64[500] _:i32[] = scan[\n"
                               "      jaxpr={ lambda ; d:f64[500] e:i32[]. let\n"
                               "          f:f64[3] = dynamic_slice[slice_sizes=(3,)] d e\n"
                               "          g:f64[3] = add f 1.0:f64[]\n"
                               "          h:f64[500] = dynamic_update_slice d g e\n"
                               "          i:i32[] = add e 2:i32[]\n"
                               "        in (h, i) }\n"
                               "      length=20 num_carry=2 num_consts=0 reverse=False unroll=1\n"
                               "    ] a b\n"
                               "  in (c,) }\n";
    kiln_ctx *ctx = *state;
    for (int own = 0; own < 2; own++) {
        kiln_prog *p = vmap(ctx, parse(ctx, text), 40, (int[]){0, own ? 0 : KILN_NO_AXIS});
        kiln_exec *f;
        kiln_exec_info info;
        assert_int_equal(count(p, "dynamic_update_slice"), !own);
        assert_int_equal(count(p, "scatter"), own);
        assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
        kiln_exec_info_get(f, &info);
        assert_int_equal(info.copies, 0);
        kiln_exec_release(f);
        kiln_prog_release(p);
    }
}

static void refused(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *p = parse(ctx, "{ lambda ; a:f32[3] b:f32[]. let c:f32[3] = mul a b in (c, b) }"), *q;
    int none = KILN_NO_AXIS;
    assert_int_equal(kiln_prog_vmap(ctx, p, 2, (int[]){none, none}, NULL, &q), KILN_INVALID);
    assert_says(ctx, "no operand has lanes");
    assert_int_equal(kiln_prog_vmap(ctx, p, 2, (int[]){2, none}, NULL, &q), KILN_SHAPE);
    assert_says(ctx, "axis 2 for operand 0, which is f32[3] in a lane; accepted: 0 to 1");
    assert_int_equal(kiln_prog_vmap(ctx, p, -1, (int[]){0, none}, NULL, &q), KILN_SHAPE);
    assert_int_equal(kiln_prog_vmap(ctx, p, 2, (int[]){0, none}, (int[]){none, 0}, &q), KILN_INVALID);
    assert_says(ctx, "result 0 depends on the lane");
    assert_int_equal(kiln_prog_vmap(ctx, p, 2, (int[]){0, none}, (int[]){0, 1}, &q), KILN_SHAPE);
    assert_ok(ctx, kiln_prog_vmap(ctx, p, 2, (int[]){0, none}, (int[]){1, none}, &q));
    assert_int_equal(kiln_prog_output_type(q, 0).dims[1], 2);
    assert_int_equal(kiln_prog_output_type(q, 1).rank, 0);
    kiln_prog_release(q);
    assert_int_equal(kiln_prog_transform(ctx, p, "vmap:0,None", NULL, 0, &q), KILN_INVALID);
    assert_says(ctx, "vmap:0*8");
    assert_int_equal(kiln_prog_transform(ctx, p, "vmap:0*2,0*3", NULL, 0, &q), KILN_INVALID);
    assert_int_equal(kiln_prog_transform(ctx, p, "vmap:0*x,0", NULL, 0, &q), KILN_INVALID);
    kiln_type types[] = {{KILN_F32, 2, (int64_t[]){2, 3}}, {KILN_F32, 1, (int64_t[]){4}}};
    assert_int_equal(kiln_prog_transform(ctx, p, "vmap:0,0", types, 2, &q), KILN_SHAPE);
    assert_says(ctx, "has 4 lanes, not 2");
    assert_ok(ctx, kiln_prog_transform(ctx, p, "vmap:None,0(vmap:0*2,None)", types, 2, &q));
    assert_int_equal(kiln_prog_output_type(q, 0).rank, 3);
    kiln_prog_release(q);
    kiln_prog_release(p);
}

/* Whichever allocation fails, vmap says so and leaks nothing. */
static void no_memory(void **state)
{
    (void)state;
    bool done = false;
    for (int n = 1; !done; n++) {
        kiln_ctx *ctx = test_ctx_failing(n);
        kiln_prog *p = NULL, *q = NULL;
        if (!ctx) continue;
        kiln_status status = kiln_prog_parse(ctx, branching, sizeof branching - 1, "text", &p);
        if (status == KILN_OK) status = kiln_prog_transform(ctx, p, "vmap:0*3,None(vmap:0*2,0*2)", NULL, 0, &q);
        done = !test_ctx_failed(ctx);
        assert_int_equal(status, done ? KILN_OK : KILN_NOMEM);
        kiln_prog_release(p);
        kiln_prog_release(q);
        test_ctx_release(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lanes_retire), cmocka_unit_test(shared_predicate), cmocka_unit_test(branches_that_may_not_end),
                                       cmocka_unit_test(small_branches), cmocka_unit_test(updates_in_place), cmocka_unit_test(refused), cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
