/* SPDX-License-Identifier: Apache-2.0 */
/* The profile: it leaves the graph as it was, bit for bit; its record has the names of the shared reports; what does not depend
 * on time is exact; integers of compiles do not depend on what ran before. */
#include "testing.h"

#include "base/text.h"
#include "graph/engine.h"
#include "graph/profile_number.h"

#include <jansson.h>
#include <math.h>

static const char pair[] = "format: graph/1\n"
                           "title: \"a \\\"pair\\\"\"\n"
                           "timestep: 0.01\n"
                           "nodes:\n"
                           "  a: {type: spring, stiffness: 30, damping: 2, initial_position: 0}\n"
                           "  b: {type: spring, stiffness: 30, damping: 2, initial_position: 3}\n"
                           "edges:\n"
                           "  - a.anchor_position = b.position\n"
                           "  - b.anchor_position = a.position\n"
                           "coupling_groups:\n"
                           "  - {nodes: [a, b], max_iterations: 25, tolerance: 1e-8}\n";

static const char single[] = "format: graph/1\n"
                             "timestep: 0.01\n"
                             "nodes:\n"
                             "  spring: {type: spring, stiffness: 30, damping: 2, initial_position: 0.5}\n";

/* A group that fires every second step, a rod with all kinds of inputs, a flux that is read before its node runs, a check. */
static const char rich[] = "format: graph/1\n"
                           "nodes:\n"
                           "  a: {type: spring, timestep: 0.02, stiffness: 90, damping: 3, initial_position: 1}\n"
                           "  b: {type: spring, timestep: 0.02, stiffness: 90, damping: 3, initial_position: -1}\n"
                           "  rod: {type: heat, timestep: 0.01, n_cells: 33, thermal_diffusivity: 0.001, initial_temperature: 300 + 10*x}\n"
                           "  ball: {type: ball, timestep: 0.01}\n"
                           "  look: {type: health_check, timestep: 0.01, checks: {t: {finite: true, max: 1000}, p: {max_abs: 50}}}\n"
                           "edges:\n"
                           "  - a.anchor_position = b.position\n"
                           "  - b.anchor_position = a.position\n"
                           "  - rod.left_temperature = 300 + a.position\n"
                           "  - look.t = rod.temperature\n"
                           "  - look.p = b.position\n"
                           "external_inputs:\n"
                           "  - {input: rod.heat_source, value: 5*sin(t)*x}\n"
                           "coupling_groups:\n"
                           "  - {nodes: [a, b], max_iterations: 30, tolerance: 1e-6}\n";

static kiln_graph *load(kiln_ctx *ctx, const char *text)
{
    kiln_graph *g;
    kiln_graph_opts o = KILN_GRAPH_OPTS_INIT;
    o.text = text;
    assert_ok(ctx, kiln_graph_load(ctx, "folder/test.yaml", &o, &g));
    return g;
}

static kiln_profile *profile(kiln_ctx *ctx, kiln_graph *g, int64_t steps, int64_t stat_steps, int64_t scan_steps)
{
    kiln_profile *p;
    kiln_graph_profile_opts o = KILN_GRAPH_PROFILE_OPTS_INIT;
    o.steps = steps, o.warmup = 3, o.stat_steps = stat_steps, o.scan_steps = scan_steps;
    assert_ok(ctx, kiln_graph_profile(ctx, g, &o, &p));
    return p;
}

static json_t *as_json(kiln_ctx *ctx, const kiln_profile *p)
{
    char *text;
    size_t n;
    json_error_t error;
    assert_ok(ctx, kiln_profile_json(ctx, p, &text, &n));
    json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    if (!j) fail_msg("line %d: %s", error.line, error.text);
    kiln_text_free(ctx, text, n);
    return j;
}

/* ---- the graph stays ---- */

/* All that a graph holds, one after the other. */
static void image(const kiln_graph *g, kn_text *t)
{
    kn_text_init(t, NULL);
    for (uint32_t i = 0; i < kn_n_state(g); i++) kn_text_addn(t, kiln_array_read(g->state[i]), kiln_array_bytes(g->state[i]));
    for (uint32_t i = 0; i < g->model->n_groups * KN_N_DIAG; i++) kn_text_addn(t, kiln_array_read(g->diag[i]), kiln_array_bytes(g->diag[i]));
    for (uint32_t i = 0; i < g->settings.n; i++) kn_text_addn(t, kiln_array_read(g->setting[i]), kiln_array_bytes(g->setting[i]));
    kn_text_printf(t, "%lld %d %d %p %p %p %u %u", (long long)g->step, g->initial, g->seeded, (void *)g->step_program.exec,
                   (void *)g->step_program.prog, (void *)g->run_program.exec, g->builds[KN_PROGRAM_STEP], g->builds[KN_PROGRAM_RUN]);
    assert_false(t->failed);
}

static void assert_stays(kiln_ctx *ctx, const char *text, int64_t steps_before)
{
    kiln_graph *g = load(ctx, text), *other = load(ctx, text);
    kiln_graph_result *r;
    kiln_graph_run_opts o = KILN_GRAPH_RUN_OPTS_INIT;
    o.steps = steps_before + 1;
    assert_ok(ctx, kiln_graph_run(ctx, g, &o, &r));
    kiln_graph_result_release(r);
    assert_ok(ctx, kiln_graph_step(ctx, g));
    kn_text before, after;
    image(g, &before);
    kiln_profile_release(profile(ctx, g, 20, 0, 8));
    image(g, &after);
    assert_int_equal(before.n, after.n);
    assert_memory_equal(before.s, after.s, before.n);
    kn_text_fini(&before), kn_text_fini(&after);
    /* and it goes on as one that was never profiled */
    for (int64_t i = 0; i < steps_before + 2 + 7; i++) assert_ok(ctx, kiln_graph_step(ctx, other));
    for (int i = 0; i < 7; i++) assert_ok(ctx, kiln_graph_step(ctx, g));
    for (uint32_t i = 0; i < kn_n_state(g); i++)
        assert_memory_equal(kiln_array_read(g->state[i]), kiln_array_read(other->state[i]), kiln_array_bytes(g->state[i]));
    kiln_graph_release(g);
    kiln_graph_release(other);
}

static void test_graph_stays(void **state)
{
    assert_stays(*state, single, 0);
    assert_stays(*state, pair, 12);
    assert_stays(*state, rich, 5);
}

/* A graph that has not begun has not begun afterwards: parameters of the start still act. */
static void test_initial_stays(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_graph *g = load(ctx, single);
    kiln_profile_release(profile(ctx, g, 5, 0, 0));
    assert_int_equal(kiln_graph_step_count(g), 0);
    assert_ok(ctx, kiln_graph_set(ctx, g, "spring.initial_position", 2));
    kiln_array *x;
    assert_ok(ctx, kiln_graph_get(ctx, g, "spring.position", &x));
    assert_true(*(const float *)kiln_array_read(x) == 2.0f);
    kiln_array_release(x);
    kiln_graph_release(g);
}

/* The instrumented step computes the same bits, and leaves ticks in the scopes of all nodes. */
static void test_ticks_change_nothing(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_graph *g = load(ctx, rich), *plain = load(ctx, rich);
    kn_program p;
    assert_ok(ctx, kiln_graph_step(ctx, g));
    assert_ok(ctx, kiln_graph_step(ctx, plain));
    kn_program_opts o = {.label = "ticks", .ticks = true, .n_donated = kn_n_state(g)};
    assert_ok(ctx, kn_program_make(ctx, kiln_prog_retain(g->step_program.prog), &o, &p));
    memcpy(p.buffers, g->step_program.buffers, (p.n_in + (size_t)p.n_out) * sizeof *p.buffers);
    kiln_exec_info info;
    kiln_exec_info_get(p.exec, &info);
    uint64_t *ticks = calloc(info.n_scopes + 1, sizeof *ticks);
    for (int i = 0; i < 20; i++) {
        assert_ok(ctx, kn_program_call(ctx, &p, ticks));
        g->step++;
        assert_ok(ctx, kiln_graph_step(ctx, plain));
        for (uint32_t k = 0; k < kn_n_state(g); k++)
            assert_memory_equal(kiln_array_read(g->state[k]), kiln_array_read(plain->state[k]), kiln_array_bytes(g->state[k]));
    }
    for (uint32_t n = 0; n < kiln_graph_n_nodes(g); n++) {
        char name[64];
        uint64_t sum = 0;
        snprintf(name, sizeof name, "node:%s", kiln_graph_node_name(g, n));
        for (uint32_t i = 0; i < info.n_scopes; i++)
            if (strstr(kiln_exec_scope(p.exec, i), name)) sum += ticks[i];
        if (sum == 0) fail_msg("no ticks for %s", name);
    }
    free(ticks);
    kn_program_free(&p);
    kiln_graph_release(g), kiln_graph_release(plain);
}

/* ---- names ---- */

static void same_names(const json_t *got, const json_t *want, const char *where)
{
    if (json_is_string(want)) {
        const char *type = json_string_value(want);
        bool fits = strcmp(type, "str") == 0 ? json_is_string(got) : strcmp(type, "int") == 0 ? json_is_integer(got) : json_is_real(got);
        if (!fits) fail_msg("%s is no %s", where, type);
    }
    if (json_is_array(want)) assert_true(json_is_array(got));
    if (!json_is_object(want)) return;
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)want, key, v)
    {
        if (strcmp(key, "trace") == 0 && json_is_null(json_object_get(got, key))) continue; /* not recorded */
        if (!json_object_get(got, key)) fail_msg("%s has no %s", where, key);
        same_names(json_object_get(got, key), v, key);
    }
    json_object_foreach((json_t *)(uintptr_t)got, key, v) if (!json_object_get(want, key) && strcmp(key, "node_scope_ms") != 0)
        fail_msg("%s has %s besides", where, key);
}

/* The names of the record, written down here too: groups and nodes are the graph's. */
static const char fields[] =
    "{\"graph_name\": \"str\", \"n_steps\": \"int\", \"n_nodes\": \"int\", \"jit_compile_ms\": \"float\", \"mean_step_ms\": \"float\","
    " \"std_step_ms\": \"float\", \"median_step_ms\": \"float\", \"p95_step_ms\": \"float\", \"total_run_ms\": \"float\","
    " \"steps_per_second\": \"float\", \"dispatch_floor_ms\": \"float\", \"device\": \"str\", \"node_times_ms\": {}, \"sum_node_ms\": \"float\","
    " \"n_coupling_groups\": \"int\", \"coupling_overhead_method\": \"str\", \"coupling_overhead_ms\": \"float\","
    " \"coupling_overhead_se_ms\": \"float\", \"one_iteration_step_ms\": \"float\", \"coupling_per_iteration_ms\": \"float\","
    " \"coupling_iters\": {}, \"coupling_iter_stats\": {}, \"trace\": {}, \"counts\": {\"retrace_count\": \"int\","
    " \"jaxpr_primitive_count\": \"int\", \"hlo_op_count\": \"int\"}, \"node_sizes\": {}, \"total_state_elements\": \"int\","
    " \"bottleneck\": \"str\", \"recommendations\": []}";

static void expect_nodes(json_t *want, const kiln_graph *g)
{
    static const char *const tables[][2] = {{"node_times_ms", "float"}, {"node_sizes", "int"}};
    for (size_t k = 0; k < 2; k++)
        for (uint32_t i = 0; i < kiln_graph_n_nodes(g); i++)
            json_object_set_new(json_object_get(want, tables[k][0]), kiln_graph_node_name(g, i), json_string(tables[k][1]));
}

static void expect_groups(json_t *want, const kiln_graph *g)
{
    static const char stats[] = "{\"mean\": \"float\", \"min\": \"int\", \"max\": \"int\", \"cap\": \"int\", \"total_mean\": \"float\", \"sweeps\": \"int\","
                                " \"at_cap_fraction\": \"float\", \"converged_fraction\": \"float\", \"n\": \"int\"}";
    for (uint32_t i = 0; i < kiln_graph_n_groups(g); i++) {
        json_object_set_new(json_object_get(want, "coupling_iters"), kiln_graph_group_key(g, i), json_string("int"));
        json_object_set_new(json_object_get(want, "coupling_iter_stats"), kiln_graph_group_key(g, i), json_loads(stats, 0, NULL));
    }
}

static void test_names(void **state)
{
    kiln_ctx *ctx = *state;
    static const char *const texts[] = {single, pair, rich};
    for (size_t i = 0; i < 3; i++) {
        kiln_graph *g = load(ctx, texts[i]);
        kiln_profile *p = profile(ctx, g, 10, 0, 0);
        json_t *got = as_json(ctx, p), *want = json_loads(fields, 0, NULL), *scopes = json_object_get(got, "node_scope_ms");
        assert_non_null(want);
        expect_nodes(want, g);
        expect_groups(want, g);
        same_names(got, want, "the record");
        assert_int_equal(json_object_size(scopes), kiln_graph_n_nodes(g));
        for (uint32_t k = 0; k < kiln_graph_n_nodes(g); k++) assert_true(json_is_real(json_object_get(scopes, kiln_graph_node_name(g, k))));
        assert_string_equal(p->name, i == 1 ? "a \"pair\"" : "test");
        json_decref(got);
        json_decref(want);
        kiln_profile_release(p);
        kiln_graph_release(g);
    }
}

/* ---- numbers ---- */

static void test_counts(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_graph *fresh = load(ctx, pair), *used = load(ctx, pair);
    for (int i = 0; i < 100; i++) assert_ok(ctx, kiln_graph_step(ctx, used));
    kiln_profile *a = profile(ctx, fresh, 10, 0, 16), *b = profile(ctx, used, 30, 0, 7), *again = profile(ctx, used, 10, 0, 16);
    assert_int_equal(b->counts.scan_steps, 7);
    b->counts.scan_steps = 16;
    assert_memory_equal(&a->counts, &b->counts, sizeof a->counts);
    assert_memory_equal(&a->counts, &again->counts, sizeof a->counts);
    assert_int_equal(a->counts.builds, 1);
    assert_int_equal(a->counts.scan_builds, 1);
    assert_true(a->counts.equations > 20 && a->counts.lowered_ops > 20 && a->counts.scan_equations > a->counts.equations);
    kiln_profile_release(a), kiln_profile_release(b), kiln_profile_release(again);
    kiln_graph_release(fresh), kiln_graph_release(used);
}

/* A step is called again and again: it is made well, unless the context says otherwise. */
static void test_levels(void **state)
{
    kiln_ctx *quick;
    kiln_ctx_opts o = KILN_CTX_OPTS_INIT;
    o.tier = 0, o.tier_set = true;
    assert_int_equal(kiln_ctx_create(&o, &quick), KILN_OK);
    kiln_ctx *const contexts[] = {*state, quick};
    for (int i = 0; i < 2; i++) {
        kiln_exec_info info;
        kiln_graph *g = load(contexts[i], single);
        assert_ok(contexts[i], kiln_graph_step(contexts[i], g));
        kiln_exec_info_get(g->step_program.exec, &info);
        assert_int_equal(info.tier, i == 0 ? 2 : 0);
        kiln_graph_release(g);
    }
    kiln_ctx_release(quick);
}

static void test_stat_steps(void **state)
{
    kiln_ctx *ctx = *state;
    static const char *const texts[] = {pair, rich};
    for (size_t i = 0; i < 2; i++) {
        kiln_graph *g = load(ctx, texts[i]);
        kiln_profile *a = profile(ctx, g, 20, 40, 0), *b = profile(ctx, g, 200, 40, 0);
        const kiln_profile_group *x = a->groups, *y = b->groups;
        assert_int_equal(a->n_groups, 1);
        assert_int_equal(x->n, i ? 20 : 40); /* held steps are no solves */
        assert_true(x->n == y->n && x->least == y->least && x->most == y->most && x->last == y->last && x->mean == y->mean);
        assert_true(x->at_cap_fraction == y->at_cap_fraction && x->converged_fraction == y->converged_fraction && x->cap == y->cap);
        assert_true(x->least >= 1 && x->most >= x->least && x->mean >= x->least && x->mean <= x->most);
        kiln_profile_release(a), kiln_profile_release(b);
        kiln_graph_release(g);
    }
}

/* Iterations are those that single steps report, counted here by themselves. */
static void test_iterations(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_graph *g = load(ctx, rich), *other = load(ctx, rich);
    kiln_profile *p = profile(ctx, g, 20, 30, 0);
    double sum = 0;
    int n = 0;
    for (int i = 0; i < 33; i++) {
        assert_ok(ctx, kiln_graph_step(ctx, other));
        if (i >= 3 && i % 2 == 0) sum += kiln_graph_last_coupling(other, 0).iterations, n++;
    }
    assert_int_equal(p->groups[0].n, n);
    assert_true(fabs(p->groups[0].mean - sum / n) < 1e-12);
    assert_int_equal(p->groups[0].last, kiln_graph_last_coupling(other, 0).iterations);
    kiln_profile_release(p);
    kiln_graph_release(g), kiln_graph_release(other);
}

/* The cap is reached in every step: said, and recommended against. */
static void test_at_cap(void **state)
{
    kiln_ctx *ctx = *state;
    char text[1024];
    snprintf(text, sizeof text, "%s", pair);
    memcpy(strstr(text, "25"), " 2", 2);
    memcpy(strstr(text, "1e-8"), "1e-30", 5);
    memcpy(strstr(text, "1e-30") + 5, "}\n", 3);
    kiln_graph *g = load(ctx, text);
    kiln_profile *p = profile(ctx, g, 10, 0, 0);
    assert_int_equal(p->groups[0].cap, 2);
    assert_true(p->groups[0].at_cap_fraction > 0);
    assert_true(p->n_recommendations > 0);
    assert_non_null(strstr(p->recommendations[0], "max_iterations"));
    kiln_profile_release(p);
    kiln_graph_release(g);
}

/* A field that decays into subnormal numbers is named; where these are made zeros, the report says so. */
static void test_subnormal(void **state)
{
    static const char still[] = "format: graph/1\n"
                                "timestep: 0.01\n"
                                "nodes:\n"
                                "  spring: {type: spring, stiffness: 30, damping: 2, initial_position: 1, initial_velocity: 1e-42}\n";
    kiln_ctx *contexts[2] = {*state, NULL};
    kiln_ctx_opts o = KILN_CTX_OPTS_INIT;
    o.fast = "flush";
    assert_int_equal(kiln_ctx_create(&o, &contexts[1]), KILN_OK);
    for (int flush = 0; flush < 2; flush++) {
        kiln_graph *g = load(contexts[flush], still);
        kiln_profile *p = profile(contexts[flush], g, 10, 0, 0);
        char *text;
        size_t n;
        bool named = false;
        for (uint32_t i = 0; i < p->n_recommendations; i++) named = named || strstr(p->recommendations[i], "spring.velocity (1 of 1). ");
        assert_int_equal(named, !flush);
        assert_ok(contexts[flush], kiln_profile_text(contexts[flush], p, &text, &n));
        assert_int_equal(strstr(text, "Fast:         flush") != NULL, flush);
        kiln_text_free(contexts[flush], text, n);
        kiln_profile_release(p);
        kiln_graph_release(g);
    }
    kiln_ctx_release(contexts[1]);
}

static void test_times(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_graph *g = load(ctx, rich);
    kiln_profile *p = profile(ctx, g, 60, 0, 0);
    assert_int_equal(p->n_steps, 60);
    assert_int_equal(p->elements, 2 + 2 + 33 + 2 + 4 + 2);
    assert_true(p->mean_ms > 0 && p->median_ms > 0 && p->p95_ms >= p->median_ms && p->floor_ms > 0 && p->clock_ms > 0);
    assert_true(fabs(p->total_ms - 60 * p->mean_ms) < 1e-9 * p->total_ms && p->first_step_ms > p->mean_ms);
    assert_string_equal(p->overhead_method, "measured");
    assert_true(p->overhead_ms == p->mean_ms - p->one_iteration_ms && p->overhead_error_ms > 0);
    double sum = 0, scopes = 0;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        assert_true(p->nodes[i].alone_ms > 0);
        sum += p->nodes[i].alone_ms, scopes += p->nodes[i].scope_ms;
    }
    assert_true(sum == p->sum_alone_ms && scopes > 0 && p->n_scopes > 0 && p->instrumented_ms > 0);
    kiln_profile_release(p);
    kiln_graph_profile_opts o = KILN_GRAPH_PROFILE_OPTS_INIT;
    o.steps = 10, o.no_measure_coupling = true, o.no_counts = true;
    assert_ok(ctx, kiln_graph_profile(ctx, g, &o, &p));
    assert_string_equal(p->overhead_method, "estimated");
    assert_true(p->overhead_ms == p->mean_ms - p->sum_alone_ms && !p->counted && p->one_iteration_ms == 0);
    kiln_profile_release(p);
    kiln_graph_release(g);
}

/* More cells, more time: nothing of the update leaves the loop. */
static void test_nodes_alone_scale(void **state)
{
    kiln_ctx *ctx = *state;
    double ms[2];
    for (int i = 0; i < 2; i++) {
        char text[400];
        snprintf(text, sizeof text, "format: graph/1\ntimestep: 1e-9\nnodes:\n  rod: {type: heat, n_cells: %d, thermal_diffusivity: 0.1}\n"
                 "  look: {type: health_check, checks: {t: {max: 1000}}}\nedges: [look.t = rod.temperature]\n", i ? 20000 : 1000);
        kiln_graph *g = load(ctx, text);
        kiln_profile *p = profile(ctx, g, 20, 0, 0);
        for (uint32_t k = 0; k < p->n_nodes; k++)
            if (i == 1) assert_true(p->nodes[k].alone_ms > 0.0005); /* 20000 cells: at least 0.025 ns a cell */
        ms[i] = p->sum_alone_ms;
        kiln_profile_release(p);
        kiln_graph_release(g);
    }
    assert_true(ms[1] > 3 * ms[0]);
}

static void test_refused(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_graph *g = load(ctx, single);
    kiln_profile *p;
    kiln_graph_profile_opts o = KILN_GRAPH_PROFILE_OPTS_INIT;
    o.steps = -1;
    assert_int_equal(kiln_graph_profile(ctx, g, &o, &p), KILN_INVALID);
    assert_null(p);
    o.steps = 0;
    volatile bool stop = true;
    o.stop = &stop;
    assert_int_equal(kiln_graph_profile(ctx, g, &o, &p), KILN_CANCELLED);
    assert_null(p);
    assert_int_equal(kiln_graph_step_count(g), 0);
    kiln_graph_release(g);
    kiln_graph_opts i = KILN_GRAPH_OPTS_INIT;
    i.text = single, i.interpret = true;
    assert_ok(ctx, kiln_graph_load(ctx, "test.yaml", &i, &g));
    assert_int_equal(kiln_graph_profile(ctx, g, NULL, &p), KILN_INVALID);
    kiln_graph_release(g);
}

/* ---- text ---- */

static void test_text(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_graph *g = load(ctx, pair);
    kiln_profile *p = profile(ctx, g, 10, 0, 16);
    char *text;
    size_t n;
    assert_ok(ctx, kiln_profile_text(ctx, p, &text, &n));
    static const char *const parts[] = {"=== Graph Profile: a \"pair\" ===\n\n  Nodes: 2\n  Total state: 4 elements (0 KB float32)\n\n  Device:       cpu:0",
        "\n  JIT compile:  ", "\n  Mean step:    ", "\n  Dispatch floor: ", "\n  Throughput:   ", "\n\n  Per-node estimated cost:\n    ",
        "[2 elems]\n\n  Coupling groups: 1\n  Coupling overhead: ", " ms per extra iteration)\n    a+b: ", "cap 25); at cap 0% of steps, converged 100%\n\n",
        "    step retraces:           1\n    primitives:        ", "\n    scan (16 steps) retraces:   1\n", "node:a  ", "\n  Bottleneck: "};
    const char *at = text;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *found = strstr(at, parts[i]);
        if (!found) fail_msg("'%s' does not follow in\n%s", parts[i], text);
        at = found;
    }
    kiln_text_free(ctx, text, n);
    kiln_profile_release(p);
    kiln_graph_release(g);
}

static void test_number_text(void **state)
{
    (void)state;
    kn_number x;
    assert_string_equal(kn_ms(0, &x), "0.00");
    assert_string_equal(kn_ms(0.0000123, &x), "0.000012");
    assert_string_equal(kn_ms(-0.0123456, &x), "-0.01235");
    assert_string_equal(kn_ms(0.5, &x), "0.5000");
    assert_string_equal(kn_ms(1234.567, &x), "1234.57");
    assert_string_equal(kn_fixed(-0.04, 1, &x), "0.0");
    assert_string_equal(kn_fixed(99.96, 1, &x), "100.0");
    assert_string_equal(kn_thousands(0, &x), "0");
    assert_string_equal(kn_thousands(-1234567, &x), "-1,234,567");
    assert_string_equal(kn_thousands(100, &x), "100");
}

/* ---- the shared reports ---- */

static void compare_exact(const json_t *got, const json_t *want, const char *where)
{
    const char *key;
    json_t *v;
    if (!json_is_object(want)) {
        bool equal = json_is_number(want) ? fabs(json_number_value(got) - json_number_value(want)) <= 1e-12 : json_equal(got, want);
        if (!equal) fail_msg("%s is not that of the report", where);
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)want, key, v)
    {
        bool theirs = strstr(key, "primitive_count") || strstr(key, "op_count"); /* of another program */
        if (!theirs) compare_exact(json_object_get(got, key), v, key);
    }
}

static void test_reports(void **state)
{
    kiln_ctx *ctx = *state;
    static const char *const cases[] = {"ball-free-fall", "rods-coupled-64", "group-multi-rate"};
    for (size_t i = 0; i < 3; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/graphs/reports/%s/report.json", KILN_CASES, cases[i]);
        json_t *report = json_load_file(path, 0, NULL);
        if (!report) {
            print_message("skipped: no shared report %s\n", path);
            skip();
        }
        snprintf(path, sizeof path, "%s/graphs/%s/graph.yaml", KILN_CASES, cases[i]);
        kiln_graph *g;
        kiln_status status = kiln_graph_load(ctx, path, NULL, &g);
        if (status == KILN_UNSUPPORTED) {
            print_message("%s is not supported: %s\n", cases[i], kiln_ctx_error(ctx)->message);
            json_decref(report);
            continue;
        }
        assert_ok(ctx, status);
        kiln_profile *p;
        kiln_graph_profile_opts o = KILN_GRAPH_PROFILE_OPTS_INIT;
        o.steps = 50, o.warmup = 5, o.stat_steps = 50, o.scan_steps = 16;
        assert_ok(ctx, kiln_graph_profile(ctx, g, &o, &p));
        json_t *got = as_json(ctx, p);
        compare_exact(got, json_object_get(report, "exact"), "exact");
        same_names(got, json_object_get(report, "fields"), cases[i]);
        json_decref(got);
        json_decref(report);
        kiln_profile_release(p);
        kiln_graph_release(g);
    }
}

/* ---- memory ---- */

/* The n-th allocation of a profile fails: a status, no leak, and the graph is as it was. */
static void test_allocations(void **state)
{
    (void)state;
    int n = 1;
    for (bool failed = true; failed; n++) {
        kiln_ctx *ctx = test_ctx_failing(0);
        kiln_graph *g = load(ctx, pair);
        assert_ok(ctx, kiln_graph_step(ctx, g));
        kn_text before, after;
        image(g, &before);
        kiln_graph_profile_opts o = KILN_GRAPH_PROFILE_OPTS_INIT;
        o.steps = 2, o.warmup = 1, o.stat_steps = 2;
        kiln_profile *p;
        char *text = NULL, *json = NULL;
        size_t n_text = 0, n_json = 0;
        test_memory.left = n, test_memory.failed = false;
        kiln_status s = kiln_graph_profile(ctx, g, &o, &p);
        if (s == KILN_OK) s = kiln_profile_text(ctx, p, &text, &n_text);
        if (s == KILN_OK) s = kiln_profile_json(ctx, p, &json, &n_json);
        failed = test_ctx_failed(ctx);
        test_memory.left = 0;
        assert_int_equal(s, failed ? KILN_NOMEM : KILN_OK);
        image(g, &after);
        assert_int_equal(before.n, after.n);
        assert_memory_equal(before.s, after.s, before.n);
        kn_text_fini(&before), kn_text_fini(&after);
        if (text) kiln_text_free(ctx, text, n_text);
        if (json) kiln_text_free(ctx, json, n_json);
        kiln_profile_release(p);
        kiln_graph_release(g);
        test_ctx_release(ctx);
    }
    assert_true(n > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_stays), cmocka_unit_test(test_initial_stays), cmocka_unit_test(test_names),
        cmocka_unit_test(test_ticks_change_nothing), cmocka_unit_test(test_levels),
        cmocka_unit_test(test_counts),      cmocka_unit_test(test_stat_steps),    cmocka_unit_test(test_iterations),
        cmocka_unit_test(test_at_cap), cmocka_unit_test(test_subnormal),      cmocka_unit_test(test_times),         cmocka_unit_test(test_nodes_alone_scale),
        cmocka_unit_test(test_refused),     cmocka_unit_test(test_text),          cmocka_unit_test(test_number_text),
        cmocka_unit_test(test_reports),     cmocka_unit_test(test_allocations),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
