/* SPDX-License-Identifier: Apache-2.0 */
/* A while over arrays of lanes, as a text holds it: it runs in slots when each lane is on its own, with the bits of the loop as it stands. */
#include "array/array.h"
#include "kiln/exec.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "same.h"
#include "testing.h"
#include "transform/lanes.h"

typedef struct loop {
    const char *what;
    bool slots;
    const char *text; /* N: the number of lanes; operands: counts of trips, then floats */
} loop;

#define COND "      cond_jaxpr={ lambda ; c:f64[N] k:i32[N]. let g:bool[N] = gt k 0:i32[]; h:bool[] = reduce_or[axes=(0,)] g in (h,) }\n      cond_nconsts=0\n"
#define SPREAD "broadcast_in_dim[broadcast_dimensions=() shape=(N,)]"
#define SPREAD_ROWS "broadcast_in_dim[broadcast_dimensions=(1,) shape=(4, N)]"

static const loop loops[] = {
    {"constants of all lanes and of each", true,
     "{ lambda ; n:i32[N] a:f64[N] s:f64[]. let\n"
     "    x:f64[N] m:i32[N] = while[\n"
     "      body_jaxpr={ lambda ; p:f64[N] q:f64[] c:f64[N] k:i32[N]. let\n"
     "          g:bool[N] = gt k 0:i32[]; r:f64[N] = " SPREAD " q; u:f64[N] = mul c r; v:f64[N] = add u p; w:f64[N] = sin v;\n"
     "          z:i32[N] = sub k 1:i32[]; d:f64[N] = select_n g c w; l:i32[N] = select_n g k z in (d, l) }\n"
     "      body_nconsts=2\n" COND
     "    ] a s a n\n"
     "  in (x, m) }\n"},
    {"rows of lanes, what stays is spread over them, a number for all is asked", true,
     "{ lambda ; n:i32[4,N] a:f64[N] s:f64[]. let\n"
     "    b:f64[4,N] = " SPREAD_ROWS " a\n"
     "    _:f64[N] _:f64[] x:f64[4,N] m:i32[4,N] = while[\n"
     "      body_jaxpr={ lambda ; p:f64[N] s:f64[] c:f64[4,N] k:i32[4,N]. let\n"
     "          t:f64[4,N] = broadcast_in_dim[broadcast_dimensions=() shape=(4, N)] s; e:bool[4,N] = lt c t; f:bool[4,N] = gt k 0:i32[]; g:bool[4,N] = and e f;\n"
     "          r:f64[4,N] = " SPREAD_ROWS " p; u:f64[4,N] = mul c 0.75:f64[]; v:f64[4,N] = add u r;\n"
     "          z:i32[4,N] = sub k 1:i32[]; d:f64[4,N] = select_n g c v; l:i32[4,N] = select_n g k z in (p, s, d, l) }\n"
     "      body_nconsts=0\n"
     "      cond_jaxpr={ lambda ; p:f64[N] s:f64[] c:f64[4,N] k:i32[4,N]. let\n"
     "          t:f64[4,N] = broadcast_in_dim[broadcast_dimensions=() shape=(4, N)] s; e:bool[4,N] = lt c t; f:bool[4,N] = gt k 0:i32[]; g:bool[4,N] = and e f;\n"
     "          h:bool[] = reduce_or[axes=(0, 1)] g in (h,) }\n"
     "      cond_nconsts=0\n"
     "    ] a s b n\n"
     "  in (x, m) }\n"},
    {"lanes that meet", false,
     "{ lambda ; n:i32[N] a:f64[N] s:f64[]. let\n"
     "    x:f64[N] m:i32[N] = while[\n"
     "      body_jaxpr={ lambda ; c:f64[N] k:i32[N]. let\n"
     "          g:bool[N] = gt k 0:i32[]; u:f64[N] = rev[dimensions=(0,)] c; v:f64[N] = mul u 0.5:f64[]; w:f64[N] = add c v;\n"
     "          z:i32[N] = sub k 1:i32[]; d:f64[N] = select_n g c w; l:i32[N] = select_n g k z in (d, l) }\n"
     "      body_nconsts=0\n" COND
     "    ] a n\n"
     "  in (x, m) }\n"},
    {"lanes chosen by something else than what is asked", false,
     "{ lambda ; n:i32[N] a:f64[N] s:f64[]. let\n"
     "    x:f64[N] m:i32[N] = while[\n"
     "      body_jaxpr={ lambda ; c:f64[N] k:i32[N]. let\n"
     "          g:bool[N] = gt k 1:i32[]; w:f64[N] = sin c; z:i32[N] = sub k 1:i32[]; d:f64[N] = select_n g c w in (d, z) }\n"
     "      body_nconsts=0\n" COND
     "    ] a n\n"
     "  in (x, m) }\n"},
    {"lanes that are chosen the other way round", false,
     "{ lambda ; n:i32[N] a:f64[N] s:f64[]. let\n"
     "    x:f64[N] m:i32[N] = while[\n"
     "      body_jaxpr={ lambda ; c:f64[N] k:i32[N]. let\n"
     "          g:bool[N] = gt k 0:i32[]; w:f64[N] = sin c; y:i32[N] = sub k 1:i32[]; z:i32[N] = max y 0:i32[];\n"
     "          d:f64[N] = select_n g w c; l:i32[N] = select_n g k z in (d, l) }\n"
     "      body_nconsts=0\n" COND
     "    ] a n\n"
     "  in (x, m) }\n"},
    {"a carry that goes on in lanes that have ended", false,
     "{ lambda ; n:i32[N] a:f64[N] s:f64[]. let\n"
     "    x:f64[N] m:i32[N] = while[\n"
     "      body_jaxpr={ lambda ; c:f64[N] k:i32[N]. let\n"
     "          g:bool[N] = gt k 0:i32[]; w:f64[N] = sin c; z:i32[N] = sub k 1:i32[]; l:i32[N] = select_n g k z in (w, l) }\n"
     "      body_nconsts=0\n" COND
     "    ] a n\n"
     "  in (x, m) }\n"},
    {"a number of trips for all lanes", false,
     "{ lambda ; n:i32[N] a:f64[N] s:f64[]. let\n"
     "    i:i32[] x:f64[N] m:i32[N] = while[\n"
     "      body_jaxpr={ lambda ; i:i32[] c:f64[N] k:i32[N]. let\n"
     "          g:bool[N] = gt k 0:i32[]; w:f64[N] = sin c; z:i32[N] = sub k 1:i32[]; j:i32[] = add i 1:i32[];\n"
     "          d:f64[N] = select_n g c w; l:i32[N] = select_n g k z in (j, d, l) }\n"
     "      body_nconsts=0\n"
     "      cond_jaxpr={ lambda ; i:i32[] c:f64[N] k:i32[N]. let g:bool[N] = gt k 0:i32[]; h:bool[] = reduce_or[axes=(0,)] g in (h,) }\n"
     "      cond_nconsts=0\n"
     "    ] 0:i32[] a n\n"
     "  in (x, m, i) }\n"},
};

static kiln_status parse(kiln_ctx *ctx, const loop *g, int lanes, kiln_prog **out)
{
    char text[4000];
    size_t n = 0;
    for (const char *c = g->text; *c; c++) {
        assert_true(n + 16 < sizeof text);
        if (*c == 'N') n += (size_t)snprintf(text + n, sizeof text - n, "%d", lanes);
        else text[n++] = *c;
    }
    return kiln_prog_parse(ctx, text, n, g->what, out);
}

/* One lane of ten makes many trips. */
static uint64_t inputs(kiln_ctx *ctx, const kiln_prog *p, int trips, kiln_array **in)
{
    uint32_t state = 12345;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < kiln_prog_n_inputs(p); i++) {
        kiln_type t = kiln_prog_input_type(p, i);
        assert_ok(ctx, kiln_array_create(ctx, t, &in[i]));
        for (int64_t k = 0, n = kiln_type_size(t); k < n; k++) {
            state = state * 1664525u + 1013904223u;
            kn_scalar v = {.f = t.rank ? (double)(state >> 8) / (1 << 24) : 3.75};
            if (t.dtype == KILN_I32) sum += (uint64_t)(v.i = (int64_t)(state >> 8) % (k % 10 ? 3 : trips));
            kn_scalar_store(t.dtype, in[i]->data, k, v);
        }
    }
    return sum;
}

static bool in_slots(kiln_ctx *ctx, const kiln_prog *p)
{
    kn_prog *lowered, *optimised, *slots;
    assert_ok(ctx, kn_lower(ctx, p, &lowered));
    assert_ok(ctx, kn_optimise(ctx, lowered, NULL, &optimised));
    assert_ok(ctx, kn_arrays_in_slots(ctx, optimised, &slots));
    if (slots) assert_ok(ctx, kn_verify(ctx, slots));
    bool is = slots != NULL;
    kiln_prog_release(slots);
    kiln_prog_release(optimised);
    kiln_prog_release(lowered);
    return is;
}

static void check(kiln_ctx *ctx, const loop *g, int lanes, int trips, bool slots)
{
    kiln_prog *p;
    kiln_array *in[3], *want[3], *got[3];
    assert_ok(ctx, parse(ctx, g, lanes, &p));
    if (in_slots(ctx, p) != slots) fail_msg("%s, %d lanes: %sin slots", g->what, lanes, slots ? "not " : "");
    inputs(ctx, p, trips, in);
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, want));
    for (int tier = 0; tier <= 2; tier += 2) {
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        kiln_exec *f;
        o.tier = tier;
        assert_ok(ctx, kiln_compile(ctx, p, &o, &f));
        assert_ok(ctx, kiln_exec_call(ctx, f, in, got));
        for (uint32_t k = 0; k < kiln_prog_n_outputs(p); k++) {
            if (!same_array(got[k], want[k], NULL)) fail_msg("%s, %d lanes, up to %d trips, tier %d: result %u differs", g->what, lanes, trips, tier, k);
            kiln_array_release(got[k]);
        }
        kiln_exec_release(f);
    }
    for (uint32_t k = 0; k < kiln_prog_n_outputs(p); k++) kiln_array_release(want[k]);
    for (uint32_t i = 0; i < kiln_prog_n_inputs(p); i++) kiln_array_release(in[i]);
    kiln_prog_release(p);
}

static void bits(void **state)
{
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        check(*state, &loops[i], 1500, 20, loops[i].slots);
        check(*state, &loops[i], 200, 20, false); /* rows of it are 800 lanes */
        check(*state, &loops[i], 2300, 1, loops[i].slots);
        check(*state, &loops[i], 4099, 3, loops[i].slots);
    }
}

/* Steps for lanes that have ended are few, which calls count. */
static void few_steps(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *p;
    kiln_array *in[3], *out[2];
    kiln_exec *f;
    kiln_run_counts before, after;
    assert_ok(ctx, parse(ctx, &loops[0], 4096, &p));
    uint64_t useful = inputs(ctx, p, 1000, in);
    assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
    kiln_run_counts_get(ctx, &before);
    assert_ok(ctx, kiln_exec_call(ctx, f, in, out));
    kiln_run_counts_get(ctx, &after);
    uint64_t steps = after.lane_steps - before.lane_steps;
    if (steps < useful || 10 * steps > 13 * useful) fail_msg("%llu steps of slots, %llu useful", (unsigned long long)steps, (unsigned long long)useful);
    for (int i = 0; i < 3; i++) kiln_array_release(in[i]);
    for (int i = 0; i < 2; i++) kiln_array_release(out[i]);
    kiln_exec_release(f);
    kiln_prog_release(p);
}

/* Whichever allocation fails, that is said and nothing leaks. */
static void no_memory(void **state)
{
    (void)state;
    bool done = false;
    for (int n = 1; !done; n++) {
        kiln_ctx *ctx = test_ctx_failing(n);
        kiln_prog *p = NULL;
        kn_prog *lowered = NULL, *slots = NULL;
        if (!ctx) continue;
        kiln_status status = parse(ctx, &loops[1], 1024, &p);
        if (status == KILN_OK) status = kn_lower(ctx, p, &lowered);
        if (status == KILN_OK) status = kn_arrays_in_slots(ctx, lowered, &slots);
        done = !test_ctx_failed(ctx);
        assert_int_equal(status, done ? KILN_OK : KILN_NOMEM);
        assert_true(!done || slots);
        kiln_prog_release(slots);
        kiln_prog_release(lowered);
        kiln_prog_release(p);
        test_ctx_release(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bits), cmocka_unit_test(few_steps), cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
