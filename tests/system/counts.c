/* SPDX-License-Identifier: Apache-2.0 */
/* What a compile makes of the example rods, as integers: one loop over time steps, one fused nest a rod's update, no copy of the
 * state, no scalar library call, as many entry calls as pieces; changing steps, the record interval or parameters compiles nothing,
 * and names are no part of a program.
 *   counts instructions   runs rods of several sizes for several lengths under callgrind (instructions.sh) */
#include "kiln/graph.h"
#include "run/stages.h"
#include "testing.h"

#if __has_include(<valgrind/callgrind.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <valgrind/callgrind.h>
#endif

#define RODS KILN_SOURCE_DIR "/examples/graphs/rods.yaml"

static kiln_graph *load(kiln_ctx *ctx, const char *text)
{
    kiln_graph *g;
    kiln_graph_opts o = KILN_GRAPH_OPTS_INIT;
    o.text = text;
    assert_ok(ctx, kiln_graph_load(ctx, RODS, &o, &g));
    return g;
}

static uint64_t run(kiln_ctx *ctx, kiln_graph *g, int64_t steps, int64_t every, int64_t chunk)
{
    kiln_graph_result *r;
    kiln_graph_run_opts o = KILN_GRAPH_RUN_OPTS_INIT;
    o.steps = steps, o.every = every, o.chunk_steps = chunk;
    assert_ok(ctx, kiln_graph_run(ctx, g, &o, &r));
    uint64_t calls = kiln_graph_result_calls(r);
    kiln_graph_result_release(r);
    return calls;
}

static void integers(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_graph *g = load(ctx, NULL);
    kiln_prog *p;
    kiln_exec *f;
    kiln_exec_info i;
    assert_ok(ctx, kiln_graph_program(ctx, g, true, &p));
    assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
    kiln_exec_info_get(f, &i);
    assert_int_equal(i.time_loops, 1);
    assert_int_equal(i.copies, 0);
    assert_int_equal(i.scalar_calls, 0);
    assert_int_equal(i.calls_out, 0);
    assert_int_equal(i.nests, 21); /* nests_by_scope says which */
    kiln_exec_release(f);
    kiln_prog_release(p);
    assert_int_equal(run(ctx, g, 50, 5, 7), 8);
    assert_int_equal(run(ctx, g, 50, 5, 1), 50);
    assert_int_equal(run(ctx, g, 50, 0, 50), 1);
    kiln_graph_release(g);
}

enum { SCOPES = 9, AROUND = SCOPES };

typedef struct tally {
    unsigned nests[SCOPES + 1]; /* of the loop over time steps, by scope; around it */
    unsigned copies;            /* in that loop */
} tally;

/* A nest is a loop with vectors or a reduction. One that is cut where its guards change counts by its first piece, which starts at 0; of
 * branches, the one that has more counts. */
static tally count_nests(const kn_loops *l, const kn_lblock *b, bool inside)
{
    tally t = {{0}, 0};
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *in = &l->inst.v[b->inst.v[i]];
        if (inside && in->op == KN_L_COPY) t.copies++;
        if (in->op == KN_L_LANES || (in->op == KN_L_LOOP && in->region->width > 0)) {
            t.nests[inside ? in->scope : AROUND] += l->inst.v[in->region->lo].imm.i == 0;
            continue;
        }
        tally all = {{0}, 0};
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) {
            tally one = count_nests(l, &in->region->blocks[k], inside || in->op == KN_L_WHILE);
            all.copies += one.copies;
            for (int s = 0; s <= SCOPES; s++)
                if (in->op != KN_L_IF) all.nests[s] += one.nests[s];
                else if (all.nests[s] < one.nests[s]) all.nests[s] = one.nests[s];
        }
        t.copies += all.copies;
        for (int s = 0; s <= SCOPES; s++) t.nests[s] += all.nests[s];
    }
    return t;
}

static void nests_by_scope(void **state)
{
    static const struct {
        const char *scope;
        unsigned nests;
    } want[SCOPES + 1] = {
        {"", 2}, /* the differences of the last pass, zero before the first one: a nest a rod */
        {"coupling:cold+hot", 0},
        {"edge:hot.right_temperature", 0},
        {"node:hot", 1},
        {"edge:cold.left_temperature", 0},
        {"node:cold", 1},
        {"coupling:cold+hot/residual", 4},    /* two reductions a rod */
        {"coupling:cold+hot/accelerate", 10}, /* a difference and three reductions a rod; the next state; what a pass leaves, by branch */
        {"record", 2},                        /* a row a rod */
        {"(around the loop)", 1},             /* both rods, brought home to the memory of the outputs */
    };
    kiln_ctx *ctx = *state;
    kiln_graph *g = load(ctx, NULL);
    kiln_prog *p;
    kn_arena arena;
    kn_loops *l;
    char *text;
    size_t n;
    unsigned sum = 0, bad = 0;
    assert_ok(ctx, kiln_graph_program(ctx, g, true, &p));
    assert_ok(ctx, kn_compile_stage(ctx, p, NULL, "loops", &text, &n));
    kn_arena_init(&arena, &ctx->alloc);
    assert_ok(ctx, kn_loops_parse(ctx, &arena, text, n, "rods.loops", &l));
    assert_int_equal(l->n_scopes, SCOPES);
    tally t = count_nests(l, &l->top, false);
    for (int s = 0; s <= SCOPES; s++) {
        if (s < SCOPES) assert_string_equal(l->scopes[s], want[s].scope);
        if (t.nests[s] != want[s].nests) print_error("'%s': %u nests, expected %u\n", want[s].scope, t.nests[s], want[s].nests), bad++;
        sum += t.nests[s];
    }
    if (bad || t.copies) fail_msg("%u copies in\n%s", t.copies, text);
    assert_int_equal(l->nests, sum);
    kn_arena_fini(&arena);
    kiln_text_free(ctx, text, n);
    kiln_prog_release(p);
    kiln_graph_release(g);
}

static void compiles_once(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_graph *g = load(ctx, NULL);
    run(ctx, g, 10, 1, 0);
    kn_counters before = ctx->counters;
    assert_int_equal(before.compiles, 1);
    run(ctx, g, 1000, 7, 0);
    run(ctx, g, 3, 3, 1);
    static const char *const params[] = {"hot.thermal_diffusivity", "cold.thermal_diffusivity", "hot.length"};
    for (int i = 0; i < 3; i++) {
        assert_ok(ctx, kiln_graph_set(ctx, g, params[i], i == 2 ? 1.25 : 0.05));
        run(ctx, g, 20, 4, 6);
    }
    assert_ok(ctx, kiln_graph_reset(ctx, g));
    run(ctx, g, 20, 4, 6);
    assert_memory_equal(&before, &ctx->counters, sizeof before);
    kiln_graph_release(g);
}

#define NAMED(a, b)                                                                                                   \
    "timestep: 1e-4\nnodes:\n"                                                                                        \
    "  " a ": {type: heat, n_cells: 20, thermal_diffusivity: 0.1, initial_temperature: 300}\n"                       \
    "  " b ": {type: heat, n_cells: 20, thermal_diffusivity: 0.1, initial_temperature: 280}\n"                       \
    "edges: [\"" a ".right_temperature = " b ".temperature[0]\", \"" b ".left_temperature = " a ".temperature[-1]\"]\n" \
    "coupling_groups: [{nodes: [" a ", " b "]}]\n"

/* Names are labels: the program is the same one, and so is its code. */
static void names_are_no_part(void **state)
{
    static const char *const texts[] = {NAMED("hot", "warm"), NAMED("inner_rod", "outer_rod")};
    kiln_ctx *ctx = *state;
    kn_hash hash[2];
    for (int i = 0; i < 2; i++) {
        kiln_graph *g = load(ctx, texts[i]);
        kiln_prog *p;
        assert_ok(ctx, kiln_graph_program(ctx, g, true, &p));
        hash[i] = kn_jaxpr_hash(p->main);
        kiln_prog_release(p);
        kiln_graph_release(g);
    }
    assert_memory_equal(&hash[0], &hash[1], sizeof hash[0]);
}

#if defined(CALLGRIND_DUMP_STATS_AT)
/* Runs two coupled rods of so many cells; the instructions of the runs alone are counted, each under the name CELLS:STEPS. */
static kiln_status run_counted(kiln_ctx *ctx, int cells, const int64_t *steps, int n)
{
    char text[1024], name[64];
    kiln_graph *g;
    kiln_graph_opts o = KILN_GRAPH_OPTS_INIT;
    snprintf(text, sizeof text,
             "timestep: 0.2/%d^2/0.1\nnodes:\n"
             "  hot:  {type: heat, n_cells: %d, thermal_diffusivity: 0.1, initial_temperature: 300 + i}\n"
             "  cold: {type: heat, n_cells: %d, thermal_diffusivity: 0.1, initial_temperature: 280}\n"
             "edges: [\"hot.right_temperature = cold.temperature[0]\", \"cold.left_temperature = hot.temperature[-1]\"]\n"
             "coupling_groups: [{nodes: [hot, cold], acceleration: none, max_iterations: 2, tolerance: 0}]\n", cells, cells, cells);
    o.text = text;
    o.precision = 64; /* in f32 two passes may agree to the bit, and then there is one */
    KILN_TRY(kiln_graph_load(ctx, "rods", &o, &g));
    kiln_status status = KILN_OK;
    for (int i = -1; i < n && status == KILN_OK; i++) {
        kiln_graph_result *r = NULL;
        kiln_graph_run_opts run_opts = KILN_GRAPH_RUN_OPTS_INIT;
        run_opts.steps = run_opts.chunk_steps = i < 0 ? 1 : steps[i]; /* the first compiles */
        run_opts.no_record = true;
        if (i >= 0) CALLGRIND_START_INSTRUMENTATION;
        status = kiln_graph_run(ctx, g, &run_opts, &r);
        snprintf(name, sizeof name, "%d:%lld", cells, (long long)run_opts.steps);
        if (i >= 0) CALLGRIND_DUMP_STATS_AT(name);
        if (i >= 0) CALLGRIND_STOP_INSTRUMENTATION;
        kiln_graph_result_release(r);
    }
    kiln_graph_release(g);
    return status;
}

static int instructions(void)
{
    static const int64_t lengths[] = {200, 1000, 3000}, two[] = {200, 600};
    static const int wider[] = {128, 256, 512};
    kiln_ctx *ctx;
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK) return 1;
    kiln_status status = run_counted(ctx, 64, lengths, 3);
    for (int i = 0; i < 3 && status == KILN_OK; i++) status = run_counted(ctx, wider[i], two, 2);
    if (status != KILN_OK) fprintf(stderr, "%s\n", kiln_ctx_error(ctx)->message);
    kiln_ctx_release(ctx);
    return status != KILN_OK;
}
#else
static int instructions(void) { return 77; } /* built without valgrind's header */
#endif

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "instructions") == 0) return instructions();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(integers, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(nests_by_scope, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(compiles_once, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(names_are_no_part, test_setup, test_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
