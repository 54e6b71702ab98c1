/* SPDX-License-Identifier: Apache-2.0 */
/* The n-th allocation fails, for every n of: read, trace, compile, run 3 steps, save. A status each time, no crash, no leak;
 * and the state is that before the call or a whole step further. */
#include "testing.h"

#include "kiln/kiln.h"

static const char rods[] =
    "timestep: 0.2*(1/6)^2/0.1\n"
    "nodes:\n"
    "  hot:  {type: heat, n_cells: 6, thermal_diffusivity: 0.1, initial_temperature: 300 + 50*sin(pi*x)}\n"
    "  cold: {type: heat, n_cells: 6, thermal_diffusivity: 0.1, initial_temperature: 280}\n"
    "  ball: {type: ball, timestep: 0.4*(1/6)^2/0.1}\n"
    "edges:\n"
    "  - cold.left_temperature = hot.temperature[-1]\n"
    "  - hot.right_temperature = cold.temperature[0]\n"
    "  - ball.table_position = 1e6*hot.right_heat_flux\n"
    "  - hot.left_temperature = ball.position\n"
    "coupling_groups:\n"
    "  - {nodes: [hot, cold], acceleration: aitken, tolerance: 1e-5}\n";

static kiln_status all_of_it(kiln_ctx *ctx, bool interpret)
{
    kiln_graph *g;
    kiln_graph_result *r = NULL;
    kiln_graph_opts o = KILN_GRAPH_OPTS_INIT;
    kiln_graph_run_opts run = KILN_GRAPH_RUN_OPTS_INIT;
    o.text = rods;
    o.interpret = interpret;
    run.steps = interpret ? 1 : 3, run.every = 1; /* the interpreter allocates at every equation */
    kiln_status s = kiln_graph_load(ctx, "rods.yaml", &o, &g);
    if (s != KILN_OK) return s;
    s = kiln_graph_set(ctx, g, "hot.length", 1.5);
    if (s == KILN_OK) s = kiln_graph_step(ctx, g);
    if (s == KILN_OK) s = kiln_graph_run(ctx, g, &run, &r);
    if (s == KILN_OK) s = kiln_graph_save(ctx, r, test_path("fault.npz"), NULL);
    kiln_graph_result_release(r);
    kiln_graph_release(g);
    return s;
}

static void every_allocation(bool interpret)
{
    int n = 1;
    for (;; n++) {
        kiln_ctx *ctx = test_ctx_failing(n);
        if (!ctx) continue;
        kiln_status s = all_of_it(ctx, interpret);
        bool failed = test_ctx_failed(ctx);
        if (failed && s != KILN_NOMEM) fail_msg("allocation %d failed and %s came back: %s", n, kiln_status_name(s), kiln_ctx_error(ctx)->message);
        if (!failed) assert_ok(ctx, s);
        test_ctx_release(ctx);
        if (!failed) break;
    }
    print_message("%d allocations\n", n - 1);
    assert_true(n > 50);
}

static void interpreted(void **state)
{
    (void)state;
    every_allocation(true);
}

static void compiled(void **state)
{
    (void)state;
    setenv("KILN_TIER", "0", 1); /* the quick tier: less time, the same allocations */
    every_allocation(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(interpreted), cmocka_unit_test(compiled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
