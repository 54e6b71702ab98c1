/* SPDX-License-Identifier: Apache-2.0 */
/* Running graphs: the same bits however a run is cut, compiled or interpreted; records, parameters, state, flux edges, groups
 * that must converge, files. */
#include "testing.h"

#include "kiln/kiln.h"

#include <math.h>

static const char rods[] =
    "timestep: 0.2*(1/64)^2/0.1\n"
    "nodes:\n"
    "  hot:  {type: heat, n_cells: 64, thermal_diffusivity: 0.1, initial_temperature: 300 + 50*sin(pi*x)}\n"
    "  cold: {type: heat, n_cells: 64, thermal_diffusivity: 0.1, initial_temperature: 280}\n"
    "edges:\n"
    "  - cold.left_temperature = hot.temperature[-1]\n"
    "  - hot.right_temperature = cold.temperature[0]\n"
    "coupling_groups:\n"
    "  - {nodes: [hot, cold], acceleration: aitken, tolerance: 1e-5}\n"
    "external_inputs:\n"
    "  - {input: hot.left_temperature, value: 300 + 20*sin(2*pi*t)}\n";

/* Three rates, two groups (one held between its firings), a flux read back, checks, all kinds of inputs. */
static const char mixed[] =
    "nodes:\n"
    "  - {for: i in 0..2, name: \"c{i}\", type: spring, timestep: 0.02, stiffness: 900, damping: 30, rest_length: 0, initial_position: 1 - i}\n"
    "  - {name: rod, type: heat, timestep: 0.01, n_cells: 7, thermal_diffusivity: 0.02, initial_temperature: 10 + i}\n"
    "  - {name: bar, type: heat, timestep: 0.01, n_cells: 5, stencil_order: 4, thermal_diffusivity: 0.02, initial_temperature: 20}\n"
    "  - {name: ball, type: ball, timestep: 0.005, initial_position: 1}\n"
    "  - {name: table, type: table, timestep: 0.005}\n"
    "  - {name: heart, type: heart_pump, timestep: 0.02}\n"
    "  - {name: body, type: rigid_body, timestep: 0.01, constraints: {rx: 0.1, z: 2}}\n"
    "  - {name: watch, type: health_check, timestep: 0.02, checks: {v: {finite: true, max_abs: 0.3}, w: {min: 0}}}\n"
    "edges:\n"
    "  - {for: i in 0..1, edge: \"c{i}.anchor_position += 0.4*c{i+1}.position\"}\n"
    "  - {for: i in 1..2, edge: \"c{i}.anchor_position += 0.4*c{i-1}.position\"}\n"
    "  - c0.anchor_position += 0.01*rod.right_heat_flux\n"
    "  - rod.left_temperature = 12 + c2.spring_force/100\n"
    "  - rod.right_temperature = bar.temperature[0]\n"
    "  - bar.left_temperature = rod.temperature[-1]\n"
    "  - ball.table_position = table.position\n"
    "  - heart.backpressure = 10*c0.position\n"
    "  - body.force[1] = sin(2*c1.position) + 0.5\n"
    "  - watch.v = c1.velocity\n"
    "  - watch.w = rod.temperature\n"
    "coupling_groups:\n"
    "  - {nodes: \"c*\", acceleration: aitken, max_iterations: 30, tolerance: 1e-4}\n"
    "  - {nodes: [rod, bar], convergence_norm: interface, rtol: 1e-5, acceleration: fixed, relaxation: 0.9, iteration_mode: jacobi}\n"
    "external_inputs:\n"
    "  - {input: rod.heat_source, value: x*sin(9*t) + i + 0.01*step}\n"
    "  - {input: body.torque, value: [0.1, \"cos(t)\", 0]}\n";

static kiln_graph *load_text(kiln_ctx *ctx, const char *text, bool interpret, int precision)
{
    kiln_graph *g;
    kiln_graph_opts o = KILN_GRAPH_OPTS_INIT;
    o.text = text;
    o.interpret = interpret;
    o.precision = precision;
    assert_ok(ctx, kiln_graph_load(ctx, "test.yaml", &o, &g));
    return g;
}

static kiln_graph_result *run_graph(kiln_ctx *ctx, kiln_graph *g, int64_t steps, int64_t every)
{
    kiln_graph_run_opts o = KILN_GRAPH_RUN_OPTS_INIT;
    kiln_graph_result *r;
    o.steps = steps, o.every = every;
    assert_ok(ctx, kiln_graph_run(ctx, g, &o, &r));
    return r;
}

static void same_memory(const char *what, const void *a, const void *b, size_t n)
{
    if (memcmp(a, b, n) != 0) fail_msg("%s differs", what);
}

static void same_results(const kiln_graph_result *a, const kiln_graph_result *b)
{
    int64_t rows = kiln_graph_result_n_rows(a);
    assert_int_equal(rows, kiln_graph_result_n_rows(b));
    same_memory("steps", kiln_graph_result_row_steps(a), kiln_graph_result_row_steps(b), (size_t)rows * sizeof(int64_t));
    same_memory("times", kiln_graph_result_row_times(a), kiln_graph_result_row_times(b), (size_t)rows * sizeof(double));
    assert_int_equal(kiln_graph_result_n_fields(a), kiln_graph_result_n_fields(b));
    for (uint32_t i = 0; i < kiln_graph_result_n_fields(a); i++) {
        kiln_array *x = kiln_graph_result_field(a, i), *y = kiln_graph_result_field(b, i);
        assert_int_equal(kiln_array_bytes(x), kiln_array_bytes(y));
        same_memory(kiln_graph_result_field_name(a, i), kiln_array_read(x), kiln_array_read(y), kiln_array_bytes(x));
    }
    for (uint32_t i = 0; i < kiln_graph_result_n_groups(a); i++) {
        kiln_graph_records x = kiln_graph_result_group(a, i), y = kiln_graph_result_group(b, i);
        assert_int_equal(x.n, y.n);
        same_memory("iterations", x.iterations, y.iterations, (size_t)x.n * sizeof *x.iterations);
        same_memory("residual", x.residual, y.residual, (size_t)x.n * sizeof *x.residual);
        same_memory("estimate", x.error_estimate, y.error_estimate, (size_t)x.n * sizeof *x.error_estimate);
        same_memory("converged", x.converged, y.converged, (size_t)x.n * sizeof *x.converged);
        assert_int_equal(x.total_iterations, y.total_iterations);
    }
}

static void same_state(kiln_ctx *ctx, const kiln_graph *a, const kiln_graph *b)
{
    for (uint32_t i = 0; i < kiln_graph_n_fields(a); i++) {
        kiln_array *x, *y;
        assert_ok(ctx, kiln_graph_get(ctx, a, kiln_graph_field_name(a, i), &x));
        assert_ok(ctx, kiln_graph_get(ctx, b, kiln_graph_field_name(b, i), &y));
        same_memory(kiln_graph_field_name(a, i), kiln_array_read(x), kiln_array_read(y), kiln_array_bytes(x));
        kiln_array_release(x);
        kiln_array_release(y);
    }
}

/* ---- cutting a run ---- */

static void cuts_of(kiln_ctx *ctx, const char *text, int precision)
{
    enum { STEPS = 83, EVERY = 5 };
    kiln_graph *whole = load_text(ctx, text, false, precision);
    kiln_graph_result *want = run_graph(ctx, whole, STEPS, EVERY);
    for (int how = 0; how < 7; how++) {
        kiln_graph *g = load_text(ctx, text, how >= 4, precision);
        kiln_graph_run_opts o = KILN_GRAPH_RUN_OPTS_INIT;
        kiln_graph_result *r;
        o.steps = STEPS, o.every = EVERY;
        o.single_steps = how == 3 || how == 5;
        o.chunk_steps = (const int64_t[]){1, 7, STEPS, 0, 0, 0, 7}[how];
        assert_ok(ctx, kiln_graph_run(ctx, g, &o, &r));
        same_results(want, r);
        same_state(ctx, whole, g);
        if (how == 0) assert_int_equal(kiln_graph_result_calls(r), STEPS);
        if (how == 1) assert_int_equal(kiln_graph_result_calls(r), (STEPS + 6) / 7);
        kiln_graph_result_release(r);
        kiln_graph_release(g);
    }
    kiln_graph_result_release(want);
    kiln_graph_release(whole);
}

static void cuts_and_sides(void **state)
{
    for (int precision = 32; precision <= 64; precision += 32) {
        cuts_of(*state, rods, precision);
        cuts_of(*state, mixed, precision);
    }
}

/* Lengths around a vector's, and independent nodes in another order: the interpreter agrees. */
static void lengths(void **state)
{
    static const int cells[] = {1, 2, 63, 65, 67};
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        for (int swapped = 0; swapped < 2; swapped++) {
            char text[1024], a[128], b[128];
            snprintf(a, sizeof a, "  hot: {type: heat, n_cells: %d, thermal_diffusivity: 1e-5, initial_temperature: 300 + i}\n", cells[i]);
            snprintf(b, sizeof b, "  cold: {type: heat, n_cells: %d, thermal_diffusivity: 1e-5, initial_temperature: 280}\n", cells[i]);
            snprintf(text, sizeof text,
                     "timestep: 0.5\nnodes:\n%s%s"
                     "edges: [\"cold.left_temperature = hot.temperature[-1]\", \"hot.right_temperature = cold.temperature[0]\"]\n"
                     "coupling_groups: [{nodes: [hot, cold], acceleration: aitken}]\n", swapped ? b : a, swapped ? a : b);
            kiln_graph *g = load_text(ctx, text, false, 0), *h = load_text(ctx, text, true, 0);
            kiln_graph_result *r = run_graph(ctx, g, 20, 1), *s = run_graph(ctx, h, 20, 1);
            same_results(r, s);
            kiln_graph_result_release(r);
            kiln_graph_result_release(s);
            kiln_graph_release(g);
            kiln_graph_release(h);
        }
}

static void runs_go_on(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_graph *a = load_text(ctx, mixed, false, 0), *b = load_text(ctx, mixed, false, 0);
    kiln_graph_result *r = run_graph(ctx, a, 25, 1);
    for (int i = 0; i < 3; i++) kiln_graph_result_release(run_graph(ctx, b, i == 1 ? 11 : 7, 2));
    assert_int_equal(kiln_graph_step_count(b), 25);
    same_state(ctx, a, b);
    kiln_graph_result_release(r);
    /* and a reset begins again */
    assert_ok(ctx, kiln_graph_reset(ctx, a));
    assert_ok(ctx, kiln_graph_reset(ctx, b));
    for (int i = 0; i < 9; i++) assert_ok(ctx, kiln_graph_step(ctx, a));
    kiln_graph_result_release(run_graph(ctx, b, 9, 0));
    same_state(ctx, a, b);
    kiln_graph_release(a);
    kiln_graph_release(b);
}

/* ---- nothing compiles twice ---- */

static void nothing_compiles_twice(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_graph *g = load_text(ctx, rods, false, 0);
    kiln_graph_result_release(run_graph(ctx, g, 5, 1));
    uint64_t compiles = ctx->counters.compiles, traces = ctx->counters.traces;
    assert_true(compiles > 0);
    kiln_graph_result_release(run_graph(ctx, g, 4321, 17));
    kiln_graph_result_release(run_graph(ctx, g, 3, 0));
    assert_ok(ctx, kiln_graph_set(ctx, g, "hot.thermal_diffusivity", 0.05));
    assert_ok(ctx, kiln_graph_reset(ctx, g));
    kiln_graph_result_release(run_graph(ctx, g, 100, 100));
    assert_int_equal(ctx->counters.compiles, compiles);
    assert_int_equal(ctx->counters.traces, traces);
    kiln_graph_release(g);
}

/* ---- what is recorded ---- */

static void assert_rows(kiln_ctx *ctx, const char *record, int64_t steps, int64_t every, const int64_t *want, size_t n)
{
    char text[512];
    snprintf(text, sizeof text, "timestep: 0.1\nnodes: {a: {type: spring}, b: {type: ball}}\nedges: [a.anchor_position = b.position]\nrun: {steps: 10%s%s}\n",
             *record ? ", record: " : "", record);
    kiln_graph *g = load_text(ctx, text, false, 64);
    kiln_graph_result *r = run_graph(ctx, g, steps, every);
    assert_int_equal(kiln_graph_result_n_rows(r), n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(kiln_graph_result_row_steps(r)[i], want[i]);
        assert_true(kiln_graph_result_row_times(r)[i] == 0.1 * (double)want[i]);
    }
    /* row i holds the state after that step */
    kiln_graph *h = load_text(ctx, text, true, 64);
    for (size_t i = 0; i < n; i++) {
        while (kiln_graph_step_count(h) < want[i]) assert_ok(ctx, kiln_graph_step(ctx, h));
        for (uint32_t f = 0; f < kiln_graph_result_n_fields(r); f++) {
            kiln_array *a;
            assert_ok(ctx, kiln_graph_get(ctx, h, kiln_graph_result_field_name(r, f), &a));
            size_t size = kiln_array_bytes(a);
            same_memory(kiln_graph_result_field_name(r, f), (const char *)kiln_array_read(kiln_graph_result_field(r, f)) + i * size, kiln_array_read(a), size);
            kiln_array_release(a);
        }
    }
    kiln_graph_release(h);
    kiln_graph_result_release(r);
    kiln_graph_release(g);
}

#define ROWS(...) (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

static void rows(void **state)
{
    kiln_ctx *ctx = *state;
    assert_rows(ctx, "", -1, 0, ROWS(0, 10));
    assert_rows(ctx, "4", -1, 0, ROWS(0, 4, 8, 10));
    assert_rows(ctx, "5", -1, 0, ROWS(0, 5, 10));
    assert_rows(ctx, "[7, 2, 2, 10]", -1, 0, ROWS(2, 7, 10));
    assert_rows(ctx, "[7, 2]", 5, 0, ROWS(2));
    assert_rows(ctx, "4", 9, 3, ROWS(0, 3, 6, 9));
    assert_rows(ctx, "", 0, 0, ROWS(0));
    assert_rows(ctx, "100", 3, 0, ROWS(0, 3));
}

static void many_rows(void **state)
{
    /* more rows, and more records of a group, than one call holds */
    kiln_ctx *ctx = *state;
    static const char text[] = "timestep: 0.01\nnodes: {a: {type: spring}, b: {type: spring, initial_position: 2}}\n"
                               "edges: [a.anchor_position = b.position, b.anchor_position = a.position]\n"
                               "coupling_groups: [{nodes: [a, b]}]\n";
    kiln_graph *g = load_text(ctx, text, false, 0), *h = load_text(ctx, text, false, 0);
    kiln_graph_result *r = run_graph(ctx, g, 10001, 1);
    assert_int_equal(kiln_graph_result_n_rows(r), 10002);
    assert_int_equal(kiln_graph_result_group(r, 0).n, 10001);
    for (int64_t i = 0; i < 10002; i++) assert_int_equal(kiln_graph_result_row_steps(r)[i], i);
    kiln_graph_run_opts o = KILN_GRAPH_RUN_OPTS_INIT;
    kiln_graph_result *s;
    o.steps = 10001, o.no_record = true;
    assert_ok(ctx, kiln_graph_run(ctx, h, &o, &s));
    assert_int_equal(kiln_graph_result_n_rows(s), 0);
    assert_int_equal(kiln_graph_result_group(s, 0).n, 0);
    assert_int_equal(kiln_graph_result_group(s, 0).steps, 10001);
    assert_int_equal(kiln_graph_result_group(s, 0).total_iterations, kiln_graph_result_group(r, 0).total_iterations);
    same_state(ctx, g, h);
    kiln_graph_result_release(r);
    kiln_graph_result_release(s);
    kiln_graph_release(g);
    kiln_graph_release(h);
}

static void large_state(void **state)
{
    /* rows too large to be written after every step are copied between calls */
    kiln_ctx *ctx = *state;
    static const char text[] = "timestep: 1e-9\nnodes: {a: {type: heat, n_cells: 20000, initial_temperature: sin(x)}}\n"
                               "external_inputs: [{input: a.left_temperature, value: 5}]\nrun: {steps: 7, record: 3}\n";
    kiln_graph *g = load_text(ctx, text, false, 0), *h = load_text(ctx, text, false, 0);
    kiln_graph_result *r = run_graph(ctx, g, -1, 0), *s;
    kiln_graph_run_opts o = KILN_GRAPH_RUN_OPTS_INIT;
    o.single_steps = true;
    assert_ok(ctx, kiln_graph_run(ctx, h, &o, &s));
    assert_int_equal(kiln_graph_result_n_rows(r), 4);
    same_results(r, s);
    kiln_graph_result_release(r);
    kiln_graph_result_release(s);
    kiln_graph_release(g);
    kiln_graph_release(h);
}

static void steps_or_time(void **state)
{
    kiln_ctx *ctx = *state;
    static const char text[] = "timestep: 0.1\nnodes: {b: {type: ball}}\n";
    kiln_graph *g = load_text(ctx, text, false, 0);
    kiln_graph_run_opts o = KILN_GRAPH_RUN_OPTS_INIT;
    kiln_graph_result *r;
    assert_int_equal(kiln_graph_run(ctx, g, &o, &r), KILN_INVALID);
    assert_says(ctx, "no number of steps");
    assert_null(r);
    o.time = 1.5;
    assert_ok(ctx, kiln_graph_run(ctx, g, &o, &r));
    assert_int_equal(kiln_graph_result_steps(r), 15);
    kiln_graph_result_release(r);
    kiln_graph_release(g);
}

static volatile bool stop_now;
static void stop_at_40(void *ud, int64_t done, int64_t steps)
{
    (void)ud;
    assert_int_equal(steps, 100);
    stop_now = done >= 40;
}

static void stopping(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_graph *g = load_text(ctx, rods, false, 0);
    kiln_graph_run_opts o = KILN_GRAPH_RUN_OPTS_INIT;
    kiln_graph_result *r;
    stop_now = false;
    o.steps = 100, o.every = 30, o.chunk_steps = 8, o.stop = &stop_now, o.progress = stop_at_40;
    assert_ok(ctx, kiln_graph_run(ctx, g, &o, &r));
    assert_true(kiln_graph_result_stopped(r));
    assert_int_equal(kiln_graph_result_steps(r), 40);
    const int64_t want[] = {0, 30, 40};
    assert_int_equal(kiln_graph_result_n_rows(r), 3);
    same_memory("steps", kiln_graph_result_row_steps(r), want, sizeof want);
    kiln_graph_result_release(r);
    kiln_graph_release(g);
}

/* ---- parameters and state from outside ---- */

static double field_number(kiln_ctx *ctx, const kiln_graph *g, const char *name, int64_t i)
{
    kiln_array *a;
    assert_ok(ctx, kiln_graph_get(ctx, g, name, &a));
    double v = kiln_array_type(a).dtype == KILN_F64 ? ((const double *)kiln_array_read(a))[i] : (double)((const float *)kiln_array_read(a))[i];
    kiln_array_release(a);
    return v;
}

static void parameters(void **state)
{
    kiln_ctx *ctx = *state;
    static const char text[] = "timestep: 0.01\nnodes:\n  a: {type: spring, stiffness: %s, initial_position: %s}\n  body: {type: rigid_body, gravity: [0, %s, 0]}\n"
                               "edges: [\"body.force[0] = a.position\"]\n";
    char first[512], second[512];
    snprintf(first, sizeof first, text, "100", "0", "1");
    snprintf(second, sizeof second, text, "250", "3", "-2");
    kiln_graph *g = load_text(ctx, first, false, 0), *h = load_text(ctx, second, false, 0);
    assert_ok(ctx, kiln_graph_set(ctx, g, "a.stiffness", 250));
    assert_ok(ctx, kiln_graph_set(ctx, g, "a.initial_position", 3));
    assert_ok(ctx, kiln_graph_set(ctx, g, "body.gravity[1]", -2));
    kiln_graph_result_release(run_graph(ctx, g, 20, 0));
    kiln_graph_result_release(run_graph(ctx, h, 20, 0));
    same_state(ctx, g, h);

    static const struct {
        const char *name, *says;
        double value;
        kiln_status code;
    } bad[] = {
        {"b.stiffness", "no node 'b' (did you mean 'a'?)", 1, KILN_NOTFOUND},
        {"a.stifness", "did you mean 'stiffness'?", 1, KILN_NOTFOUND},
        {"a", "names no parameter", 1, KILN_INVALID},
        {"body.gravity", "cannot be set", 1, KILN_INVALID},
        {"body.gravity[3]", "cannot be set", 1, KILN_INVALID},
        {"body.gravity[x]", "names no parameter", 1, KILN_INVALID},
        {"a.mass", "not allowed", 0, KILN_INVALID},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(kiln_graph_set(ctx, g, bad[i].name, bad[i].value), bad[i].code);
        assert_says(ctx, bad[i].says);
    }
    kiln_graph_release(g);
    kiln_graph_release(h);
    g = load_text(ctx, rods, false, 0);
    assert_int_equal(kiln_graph_set(ctx, g, "hot.thermal_diffusivity", 1), KILN_INVALID); /* above the limit of stability */
    assert_says(ctx, "Fourier number");
    assert_int_equal(kiln_graph_set(ctx, g, "hot.n_cells", 4), KILN_INVALID);
    kiln_graph_release(g);
}

static void state_from_outside(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_graph *g = load_text(ctx, mixed, false, 0);
    const int64_t seven = 7, six = 6;
    kiln_array *v;
    assert_ok(ctx, kiln_array_create(ctx, (kiln_type){KILN_F64, 1, &seven}, &v));
    for (int i = 0; i < 7; i++) ((double *)kiln_array_data(v))[i] = 0.1 * i;
    assert_ok(ctx, kiln_graph_put(ctx, g, "rod.temperature", v));
    kiln_array_release(v);
    assert_true(field_number(ctx, g, "rod.temperature", 3) == (double)(float)(0.1 * 3));
    assert_ok(ctx, kiln_array_create(ctx, (kiln_type){KILN_F64, 1, &six}, &v));
    assert_int_equal(kiln_graph_put(ctx, g, "rod.temperature", v), KILN_SHAPE);
    assert_says(ctx, "field 'rod.temperature' is f32[7], the value is f64[6]");
    assert_int_equal(kiln_graph_put(ctx, g, "rod.temperatur", v), KILN_NOTFOUND);
    assert_says(ctx, "did you mean 'rod.temperature'?");
    kiln_array_release(v);
    assert_int_equal(kiln_graph_get(ctx, g, "nothing", &v), KILN_NOTFOUND);
    kiln_graph_release(g);
}

/* ---- flux edges ---- */

/* A spring's force drives a ball's table from the step before; the ball's place anchors the spring. */
static void flux_read_back(void **state)
{
    kiln_ctx *ctx = *state;
    static const char text[] = "precision: f64\ntimestep: 0.1\n"
                               "nodes:\n"
                               "  a: {type: spring, stiffness: 2, damping: 0.5, rest_length: 0, initial_position: 1}\n"
                               "  b: {type: spring, stiffness: 3, damping: 0, rest_length: 0, initial_position: -1}\n"
                               "edges:\n"
                               "  - a.anchor_position = b.spring_force\n" /* back: b runs after a */
                               "  - b.anchor_position = a.spring_force\n"; /* forward */
    kiln_graph *g = load_text(ctx, text, false, 0);
    kiln_graph_result_release(run_graph(ctx, g, 12, 0));
    double xa = 1, va = 0, xb = -1, vb = 0, dt = 0.1;
    /* seeded by one evaluation on the initial state; a's force without its input first, then b's with it, then again */
    double fa = -2 * xa - 0.5 * va, fb = -3 * (xb - fa);
    fa = -2 * (xa - fb) - 0.5 * va;
    fb = -3 * (xb - fa);
    for (int i = 0; i < 12; i++) {
        double anchor = fb;
        va += (-2 * (xa - anchor) - 0.5 * va) * dt, xa += va * dt;
        fa = -2 * (xa - anchor) - 0.5 * va;
        vb += -3 * (xb - fa) * dt, xb += vb * dt;
        fb = -3 * (xb - fa);
    }
    assert_true(fabs(field_number(ctx, g, "a.position", 0) - xa) < 1e-12 * fabs(xa));
    assert_true(fabs(field_number(ctx, g, "b.velocity", 0) - vb) < 1e-12 * fabs(vb));
    kiln_graph_release(g);
}

/* A flux that is read inside its group is that of the pass, or of the iterate. */
static void fluxes_inside_a_group(void **state)
{
    kiln_ctx *ctx = *state;
    for (int jacobi = 0; jacobi < 2; jacobi++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "precision: f64\ntimestep: 0.001\nnodes:\n"
                 "  a: {type: heat, n_cells: 8, thermal_diffusivity: 0.1, initial_temperature: 3}\n"
                 "  b: {type: heat, n_cells: 8, thermal_diffusivity: 0.1, initial_temperature: 1}\n"
                 "edges:\n  - b.left_temperature = a.temperature[-1]\n  - b.left_temperature += -0.1*a.right_heat_flux\n  - a.right_temperature = b.temperature[0]\n"
                 "coupling_groups: [{nodes: [a, b], max_iterations: 50, tolerance: 1e-12, iteration_mode: %s}]\n",
                 jacobi ? "jacobi" : "gauss-seidel");
        kiln_graph *g = load_text(ctx, text, false, 0), *h = load_text(ctx, text, true, 0);
        kiln_graph_result *r = run_graph(ctx, g, 10, 1), *s = run_graph(ctx, h, 10, 1);
        same_results(r, s);
        assert_int_equal(kiln_graph_result_group(r, 0).unconverged, 0);
        kiln_graph_result_release(r);
        kiln_graph_result_release(s);
        kiln_graph_release(g);
        kiln_graph_release(h);
    }
}

/* ---- groups ---- */

static const char diverging[] = "timestep: 0.1\nnodes:\n"
                                "  a: {type: spring, stiffness: 90, damping: 1, rest_length: 0, initial_position: 1}\n"
                                "  b: {type: spring, stiffness: 90, damping: 1, rest_length: 0, initial_position: -1}\n"
                                "edges: [a.anchor_position = 2*b.position, b.anchor_position = -2*a.position]\n"
                                "coupling_groups: [{nodes: [a, b], max_iterations: 4, strict_convergence: %s}]\n";

static void strict_groups(void **state)
{
    kiln_ctx *ctx = *state;
    char text[1024];
    snprintf(text, sizeof text, diverging, "false");
    kiln_graph *g = load_text(ctx, text, false, 0);
    kiln_graph_result *r = run_graph(ctx, g, 3, 1), *s;
    assert_int_equal(kiln_graph_result_group(r, 0).unconverged, 3);
    assert_int_equal(kiln_graph_result_group(r, 0).iterations[0], 4);
    snprintf(text, sizeof text, diverging, "true");
    for (int single = 0; single < 2; single++) {
        kiln_graph *h = load_text(ctx, text, false, 0);
        kiln_graph_run_opts o = KILN_GRAPH_RUN_OPTS_INIT;
        o.steps = 100, o.every = 1, o.single_steps = single;
        assert_int_equal(kiln_graph_run(ctx, h, &o, &s), KILN_NUMERIC);
        assert_says(ctx, "group 'a+b' has not converged in base step 1");
        assert_string_equal(kiln_ctx_error(ctx)->kind, "not-converged");
        assert_int_equal(kiln_ctx_error(ctx)->line, 6);
        assert_int_equal(kiln_graph_step_count(h), 1);
        assert_int_equal(kiln_graph_result_steps(s), 1);
        kiln_graph_result_release(s);
        assert_int_equal(kiln_graph_step(ctx, h), KILN_NUMERIC);
        kiln_graph_release(h);
    }
    kiln_graph_result_release(r);
    kiln_graph_release(g);
}

/* A group scaled by a power of two takes the same passes to bit-scaled states. */
static void scaled_units(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_graph_result *r[2];
    kiln_graph *g[2];
    for (int i = 0; i < 2; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "precision: f64\ntimestep: 0.05\nlet: {u: %s}\nnodes:\n"
                 "  a: {type: spring, stiffness: 400, damping: 16, rest_length: 0, initial_position: u}\n"
                 "  b: {type: spring, stiffness: 400, damping: 16, rest_length: 0, initial_position: -3*u}\n"
                 "edges: [a.anchor_position = 0.7*b.position, b.anchor_position = 0.7*a.position]\n"
                 "coupling_groups: [{nodes: [a, b], acceleration: aitken, max_iterations: 40}]\n", i ? "2^-300" : "1");
        g[i] = load_text(ctx, text, false, 0);
        r[i] = run_graph(ctx, g[i], 30, 1);
    }
    kiln_graph_records x = kiln_graph_result_group(r[0], 0), y = kiln_graph_result_group(r[1], 0);
    same_memory("iterations", x.iterations, y.iterations, 30 * sizeof(int32_t));
    same_memory("residual", x.residual, y.residual, 30 * sizeof(double));
    for (uint32_t f = 0; f < kiln_graph_result_n_fields(r[0]); f++) {
        const double *p = kiln_array_read(kiln_graph_result_field(r[0], f)), *q = kiln_array_read(kiln_graph_result_field(r[1], f));
        for (int i = 0; i < 31; i++) assert_true(ldexp(p[i], -300) == q[i]);
    }
    for (int i = 0; i < 2; i++) {
        kiln_graph_result_release(r[i]);
        kiln_graph_release(g[i]);
    }
}

static void not_finite(void **state)
{
    kiln_ctx *ctx = *state;
    for (int norm = 0; norm < 2; norm++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "timestep: 0.1\nnodes:\n  a: {type: spring, initial_position: 3e38}\n  b: {type: spring, initial_velocity: -3e38}\n"
                 "edges: [a.anchor_position = 8*b.position, b.anchor_position = -8*a.position]\n"
                 "coupling_groups: [{nodes: [a, b], convergence_norm: %s}]\n", norm ? "interface" : "l2");
        kiln_graph *g = load_text(ctx, text, false, 0);
        kiln_graph_result *r = run_graph(ctx, g, 2, 0);
        kiln_graph_records x = kiln_graph_result_group(r, 0);
        assert_int_equal(x.unconverged, 2);
        assert_true(isinf(x.residual[1]) && isinf(x.error_estimate[1]));
        kiln_graph_result_release(r);
        kiln_graph_release(g);
    }
}

/* ---- files ---- */

static void assert_same_text(kiln_ctx *ctx, const char *path, const char *want)
{
    kn_bytes b;
    assert_ok(ctx, kn_file_read(ctx, path, &b));
    assert_string_equal(b.s, want);
    kn_bytes_free(ctx, &b);
}

static void files(void **state)
{
    kiln_ctx *ctx = *state;
    static const char text[] = "timestep: 0.5\nnodes: {a: {type: table, position: 0.1}, c: {type: spring, stiffness: 0, damping: 0, initial_velocity: 3}, h: {type: health_check, checks: {v: {max: 2}}}}\n"
                               "edges: [c.anchor_position = a.position, h.v = c.position]\n"
                               "coupling_groups: [{nodes: [c]}]\nrun: {steps: 2, record: 1}\n";
    kiln_graph *g = load_text(ctx, text, false, 0);
    kiln_graph_result *r = run_graph(ctx, g, -1, 0);
    uint32_t n;
    char folder[1000], name[1020];
    snprintf(folder, sizeof folder, "%.900s/", test_path("out"));
    assert_ok(ctx, kiln_graph_save(ctx, r, folder, &n));
    assert_int_equal(n, 2 + kiln_graph_result_n_fields(r) + 1);
    snprintf(name, sizeof name, "%sc.position.npy", folder);
    kiln_array *a;
    assert_ok(ctx, kiln_array_load(ctx, name, &a));
    const float want[] = {0, 1.5f, 3};
    same_memory("c.position", kiln_array_read(a), want, sizeof want);
    kiln_array_release(a);
    snprintf(name, sizeof name, "%scoupling.json", folder);
    assert_same_text(ctx, name,
                     "{\n  \"c\": {\n    \"iterations\": [1, 1],\n    \"total_iterations\": [1, 1],\n    \"residual\": [0.0, 0.0],\n"
                     "    \"error_estimate\": [0.0, 0.0],\n    \"converged\": [true, true]\n  }\n}\n");
    assert_ok(ctx, kiln_graph_save(ctx, r, test_path("out.csv"), &n));
    assert_same_text(ctx, test_path("out.csv"),
                     "step,time,a.position,c.position,c.velocity,h.all_passed,h.n_checks,h.n_passed,h.n_failed\n"
                     "0,0.0,0.1,0,3,1,1,1,0\n1,0.5,0.1,1.5,3,1,1,1,0\n2,1.0,0.1,3,3,0,1,0,1\n");
    assert_ok(ctx, kiln_graph_save(ctx, r, test_path("out.npz"), &n));
    kiln_npz *z;
    assert_ok(ctx, kiln_npz_open(ctx, test_path("out.npz"), &z));
    assert_true(kiln_npz_find(z, "c.position") >= 0 && kiln_npz_find(z, "step") >= 0 && kiln_npz_find(z, "coupling.c.iterations") >= 0);
    kiln_npz_close(z);
    assert_int_equal(kiln_graph_save(ctx, r, test_path("out.txt"), &n), KILN_INVALID);
    assert_int_equal(kiln_graph_save_check(ctx, test_path("out.txt")), KILN_INVALID);
    assert_ok(ctx, kiln_graph_save_check(ctx, folder));
    assert_ok(ctx, kiln_graph_save_check(ctx, test_path("new.csv")));
    assert_int_equal(test_count_files(test_path("new.csv")), 0);
    assert_int_not_equal(kiln_graph_save_check(ctx, test_path("absent/new.csv")), KILN_OK);
    /* whichever system call fails: an error, and no half of a file */
    for (int k = 1;; k++) {
        snprintf(name, sizeof name, "%s", test_path("half.csv"));
        unlink(name);
        test_io_fail(ctx, k);
        kiln_status s = kiln_graph_save(ctx, r, name, &n);
        bool failed = test_io_failed(ctx);
        test_io_fail(ctx, 0);
        if (!failed) {
            assert_ok(ctx, s);
            break;
        }
        assert_int_not_equal(s, KILN_OK);
        assert_int_equal(test_count_files(name), 0);
    }
    kiln_graph_result_release(r);
    kiln_graph_release(g);
}

static void rows_of_a_file(void **state)
{
    kiln_ctx *ctx = *state;
    const int64_t three = 3;
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, (kiln_type){KILN_F64, 1, &three}, &a));
    memcpy(kiln_array_data(a), (const double[]){1, 4, 2}, 3 * sizeof(double));
    assert_ok(ctx, kiln_array_save(ctx, test_path("drive.npy"), a));
    kiln_array_release(a);
    kiln_graph_opts o = KILN_GRAPH_OPTS_INIT;
    o.text = "precision: f64\ntimestep: 1\nnodes: {s: {type: spring, stiffness: 1, damping: 0, rest_length: 0}}\n"
             "external_inputs: [{input: s.anchor_position, value: {file: drive.npy}}]\n";
    kiln_graph *g;
    assert_ok(ctx, kiln_graph_load(ctx, test_path("drive.yaml"), &o, &g));
    kiln_graph_result_release(run_graph(ctx, g, 5, 0));
    double x = 0, v = 0;
    static const double drive[] = {1, 4, 2, 2, 2}; /* the last row is kept */
    for (int i = 0; i < 5; i++) v += drive[i] - x, x += v;
    assert_true(field_number(ctx, g, "s.position", 0) == x);
    kiln_graph_release(g);
}

static void bad_options(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_graph *g;
    kiln_graph_opts o = KILN_GRAPH_OPTS_INIT;
    o.text = rods;
    o.precision = 16;
    assert_int_equal(kiln_graph_load(ctx, "x.yaml", &o, &g), KILN_INVALID);
    assert_null(g);
    o.precision = 0;
    o.text = "nodes: {a: {type: spring}}\n";
    assert_int_not_equal(kiln_graph_load(ctx, "x.yaml", &o, &g), KILN_OK);
    assert_string_equal(kiln_ctx_error(ctx)->kind, "missing-key");
    kiln_graph_release(NULL);
    kiln_graph_result_release(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_and_sides), cmocka_unit_test(lengths),            cmocka_unit_test(runs_go_on), cmocka_unit_test(nothing_compiles_twice),
        cmocka_unit_test(rows),           cmocka_unit_test(many_rows),          cmocka_unit_test(large_state), cmocka_unit_test(steps_or_time),
        cmocka_unit_test(stopping),       cmocka_unit_test(parameters),         cmocka_unit_test(state_from_outside),
        cmocka_unit_test(flux_read_back), cmocka_unit_test(fluxes_inside_a_group), cmocka_unit_test(strict_groups),
        cmocka_unit_test(scaled_units),   cmocka_unit_test(not_finite),         cmocka_unit_test(files),       cmocka_unit_test(rows_of_a_file),
        cmocka_unit_test(bad_options),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
