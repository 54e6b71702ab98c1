/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that many lanes leave at different times run in slots when they are compiled: the bits stay those of each lane alone, and few
 * steps are made for lanes that have ended. */
#include "array/array.h"
#include "kiln/exec.h"
#include "kiln/transform.h"
#include "same.h"
#include "testing.h"
#include "transform/lanes.h"

typedef struct program {
    const char *what, *text, *word, *rest; /* the number of lanes stands between the parts of the word */
    const char *inputs;             /* per operand: l lanes of trips, i lanes of integers, k one integer, f lanes of floats, s one float; L, F three of each lane */
} program;

static const program programs[] = {
    {"own, shared and literal constants",
     "{ lambda ; n:i32[] a:f64[] s:f64[]. let\n"
     "    x:f64[] m:i32[] = while[\n"
     "      body_jaxpr={ lambda ; p:f64[] q:f64[] r:f64[] c:f64[] k:i32[]. let\n"
     "          u:f64[] = sin c; v:f64[] = mul u q; w:f64[] = add v p; y:f64[] = mul w r; z:i32[] = sub k 1:i32[] in (y, z) }\n"
     "      body_nconsts=3\n"
     "      cond_jaxpr={ lambda ; f:f64[] h:i32[]. let g:bool[] = gt h 0:i32[] in (g,) }\n"
     "      cond_nconsts=0\n"
     "    ] a s 0.75:f64[] a n\n"
     "  in (x, m) }\n",
     "vmap:0*", ",0,None", "lfs"},
    {"integers, and a condition on constants",
     "{ lambda ; n:i32[] a:i32[]. let\n"
     "    x:i32[] = while[\n"
     "      body_jaxpr={ lambda ; c:i32[]. let d:i32[] = and c 1:i32[]; e:bool[] = ne d 0:i32[]; f:i32[] = mul c 3:i32[]; g:i32[] = add f 1:i32[];\n"
     "          h:i32[] = shift_right_logical c 1:i32[]; i:i32[] = select_n e h g in (i,) }\n"
     "      body_nconsts=0\n"
     "      cond_jaxpr={ lambda ; n:i32[] o:i32[] c:i32[]. let p:bool[] = gt c n; q:bool[] = lt c o; r:bool[] = and p q in (r,) }\n"
     "      cond_nconsts=2\n"
     "    ] n 1000000:i32[] a\n"
     "  in (x,) }\n",
     "vmap:None,0*", "", "ki"},
    {"composites, f32, a bool",
     "{ lambda ; n:i32[] a:f32[]. let\n"
     "    x:f32[] b:bool[] m:i32[] = while[\n"
     "      body_jaxpr={ lambda ; c:f32[] t:bool[] k:i32[]. let\n"
     "          u:f32[] = logistic c; v:f32[] = log1p u; w:f32[] = select_n t u v; y:bool[] = not t; z:i32[] = sub k 1:i32[] in (w, y, z) }\n"
     "      body_nconsts=0\n"
     "      cond_jaxpr={ lambda ; f:f32[] t:bool[] h:i32[]. let g:bool[] = gt h 0:i32[] in (g,) }\n"
     "      cond_nconsts=0\n"
     "    ] a True:bool[] n\n"
     "  in (b, x, x) }\n",
     "vmap:0*", ",0", "lf"},
    {"a vmap in a vmap",
     "{ lambda ; n:i32[] a:f64[]. let\n"
     "    x:f64[] m:i32[] = while[\n"
     "      body_jaxpr={ lambda ; p:f64[] c:f64[] k:i32[]. let u:f64[] = add c p; z:i32[] = sub k 1:i32[] in (u, z) }\n"
     "      body_nconsts=1\n"
     "      cond_jaxpr={ lambda ; f:f64[] h:i32[]. let g:bool[] = gt h 0:i32[] in (g,) }\n"
     "      cond_nconsts=0\n"
     "    ] a a n\n"
     "  in (x,) }\n",
     "vmap:1*", ",1(vmap:0*3,0)", "LF"},
};

static kiln_array *input(kiln_ctx *ctx, char kind, int lanes, int trips)
{
    bool one = kind == 's' || kind == 'k';
    kiln_dtype d = strchr("lLik", kind) ? KILN_I32 : KILN_F64;
    int64_t dims[] = {3, lanes};
    kiln_type t = {d, one ? 0u : strchr("LF", kind) ? 2u : 1u, strchr("LF", kind) ? dims : dims + 1};
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, t, &a));
    uint32_t state = 12345;
    for (int64_t i = 0, n = kiln_type_size(t); i < n; i++) {
        state = state * 1664525u + 1013904223u;
        kn_scalar v = {.f = (double)(state >> 8) / (1 << 24)};
        if (kind == 'k') v.i = 1;
        else if (d == KILN_I32) v.i = kind == 'i' ? 1 + (state >> 8) % 3000 : trips ? (state >> 8) % (uint32_t)trips : 0;
        kn_scalar_store(d, a->data, i, v);
    }
    return a;
}

/* f32 programs take the same floats, narrowed. */
static kiln_array *fitting(kiln_ctx *ctx, kiln_array *a, kiln_type want)
{
    if (a->type.dtype == want.dtype) return a;
    kiln_array *b;
    kiln_type t = a->type;
    t.dtype = want.dtype;
    assert_ok(ctx, kiln_array_create(ctx, t, &b));
    for (int64_t i = 0, n = kiln_type_size(t); i < n; i++) kn_scalar_store(t.dtype, b->data, i, kn_scalar_load(a->type.dtype, a->data, i));
    kiln_array_release(a);
    return b;
}

static void check(kiln_ctx *ctx, const program *g, int lanes, int trips, bool slots)
{
    char word[80];
    kiln_prog *single, *p, *q;
    kiln_array *in[4], *want[4], *got[4];
    snprintf(word, sizeof word, "%s%d%s", g->word, lanes, g->rest);
    assert_ok(ctx, kiln_prog_parse(ctx, g->text, strlen(g->text), g->what, &single));
    assert_ok(ctx, kiln_prog_transform(ctx, single, word, NULL, 0, &p));
    kiln_prog_release(single);
    assert_ok(ctx, kn_lanes_in_slots(ctx, p, &q));
    assert_true((q != NULL) == slots);
    if (q) assert_ok(ctx, kn_verify(ctx, q));
    kiln_prog_release(q);
    uint32_t nin = kiln_prog_n_inputs(p), nout = kiln_prog_n_outputs(p);
    for (uint32_t i = 0; i < nin; i++) in[i] = fitting(ctx, input(ctx, g->inputs[i], lanes, trips), kiln_prog_input_type(p, i));
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, want));
    for (int tier = 0; tier <= 2; tier += 2) {
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        kiln_exec *f;
        o.tier = tier;
        assert_ok(ctx, kiln_compile(ctx, p, &o, &f));
        assert_ok(ctx, kiln_exec_call(ctx, f, in, got));
        for (uint32_t k = 0; k < nout; k++) {
            int64_t at = 0;
            if (!same_array(got[k], want[k], &at)) fail_msg("%s, %d lanes, up to %d trips, tier %d: result %u differs at %lld", g->what, lanes, trips, tier, k, (long long)at);
            kiln_array_release(got[k]);
        }
        kiln_exec_release(f);
    }
    for (uint32_t k = 0; k < nout; k++) kiln_array_release(want[k]);
    for (uint32_t i = 0; i < nin; i++) kiln_array_release(in[i]);
    kiln_prog_release(p);
}

static void bits(void **state)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        check(*state, &programs[i], 100, 10, false);
        check(*state, &programs[i], 1019, 4, false);
        check(*state, &programs[i], 1020, 20, true);
        check(*state, &programs[i], 1500, 5, true);
        check(*state, &programs[i], 2300, 1, true);
        check(*state, &programs[i], 4099, 3, true);
    }
}

/* One lane of ten makes many steps: the slots make at most 1.3 times the useful ones, which calls count. */
static void few_steps_of(kiln_ctx *ctx, int lanes, int slots, int most)
{
    const program *g = &programs[3];
    kiln_prog *single, *p, *q;
    kiln_exec *f;
    assert_ok(ctx, kiln_prog_parse(ctx, g->text, strlen(g->text), g->what, &single));
    assert_ok(ctx, kiln_prog_vmap(ctx, single, lanes, (int[]){0, 0}, NULL, &p));
    assert_ok(ctx, kn_lanes_in_slots(ctx, p, &q));
    assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
    for (int place = 0; place < 3; place++) { /* the long ones are spread, first, last */
        kiln_array *in[2] = {input(ctx, 'l', lanes, 1), input(ctx, 'f', lanes, 1)}, *out;
        int32_t *trips = in[0]->data;
        uint64_t useful = 0;
        for (int l = 0; l < lanes; l++) {
            bool more = place == 0 ? l % 10 == 7 : place == 1 ? l < lanes / 10 : l >= lanes - lanes / 10;
            useful += (uint64_t)(trips[l] = more ? most : l % 3);
        }
        kiln_run_counts before, after, last;
        kiln_run_counts_get(ctx, &before);
        assert_ok(ctx, kiln_prog_eval(ctx, q, in, &out));
        kiln_run_counts_get(ctx, &after);
        kiln_array_release(out);
        assert_ok(ctx, kiln_exec_call(ctx, f, in, &out));
        kiln_run_counts_get(ctx, &last);
        uint64_t steps = after.lane_steps - before.lane_steps;
        assert_int_equal(steps, (after.trips - before.trips) * (uint64_t)slots);
        assert_int_equal(steps, last.lane_steps - after.lane_steps);
        if (10 * steps > 13 * useful)
            fail_msg("%d lanes: %llu steps of slots, %llu useful", lanes, (unsigned long long)steps, (unsigned long long)useful);
        kiln_array_release(out);
        kiln_array_release(in[0]);
        kiln_array_release(in[1]);
    }
    kiln_exec_release(f);
    kiln_prog_release(single);
    kiln_prog_release(p);
    kiln_prog_release(q);
}
static void few_steps(void **state)
{
    static const int sizes[][2] = {{1024, 17}, {2000, 32}, {4096, 64}}; /* lanes, slots */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) few_steps_of(*state, sizes[i][0], sizes[i][1], 1000);
}

/* Whichever allocation fails, that is said and nothing leaks. */
static void no_memory(void **state)
{
    (void)state;
    bool done = false;
    const program *g = &programs[0];
    for (int n = 1; !done; n++) {
        kiln_ctx *ctx = test_ctx_failing(n);
        kiln_prog *single = NULL, *p = NULL, *q = NULL;
        if (!ctx) continue;
        kiln_status status = kiln_prog_parse(ctx, g->text, strlen(g->text), g->what, &single);
        if (status == KILN_OK) status = kiln_prog_vmap(ctx, single, 2048, (int[]){0, 0, KILN_NO_AXIS}, NULL, &p);
        if (status == KILN_OK) status = kn_lanes_in_slots(ctx, p, &q);
        done = !test_ctx_failed(ctx);
        assert_int_equal(status, done ? KILN_OK : KILN_NOMEM);
        kiln_prog_release(single);
        kiln_prog_release(p);
        kiln_prog_release(q);
        test_ctx_release(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bits), cmocka_unit_test(few_steps), cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
