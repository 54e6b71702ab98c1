/* SPDX-License-Identifier: Apache-2.0 */
/* What a graph file means: forms, expressions, loops, arrays, edges, groups, warnings; size; lack of memory. */
#include "testing.h"

#include "graph/kinds.h"
#include "kiln/array.h"

#include <math.h>

typedef struct fixture {
    kiln_ctx *ctx;
    kn_arena arena;
    char kinds[1024]; /* of the warnings, each with a space behind it */
    int n_warnings;
} fixture;

static void warn(void *ud, const kiln_diag *d)
{
    fixture *f = ud;
    size_t n = strlen(f->kinds);
    snprintf(f->kinds + n, sizeof f->kinds - n, "%s ", d->kind);
    f->n_warnings++;
}

static int setup(void **state)
{
    static fixture f;
    memset(&f, 0, sizeof f);
    kiln_ctx_opts o = KILN_CTX_OPTS_INIT;
    o.warn = warn;
    o.warn_ud = &f;
    if (kiln_ctx_create(&o, &f.ctx) != KILN_OK) return -1;
    kn_arena_init(&f.arena, &f.ctx->alloc);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    kn_arena_fini(&f->arena);
    kiln_ctx_release(f->ctx);
    return 0;
}

static kn_graph_model *graph_of(fixture *f, const char *text)
{
    kn_graph_model *g = NULL;
    f->kinds[0] = 0;
    assert_ok(f->ctx, kn_graph_read(f->ctx, &f->arena, "test.yaml", text, NULL, 0, &g));
    return g;
}

static void assert_fails(fixture *f, const char *text, const char *kind)
{
    kn_graph_model *g;
    assert_int_not_equal(kn_graph_read(f->ctx, &f->arena, "test.yaml", text, NULL, 0, &g), KILN_OK);
    assert_string_equal(kiln_ctx_error(f->ctx)->kind, kind);
    assert_null(g);
}

static const kn_node *node_of(const kn_graph_model *g, const char *name)
{
    int64_t i = kn_graph_find(g, name);
    assert_true(i >= 0);
    assert_string_equal(g->nodes[i].name, name);
    return &g->nodes[i];
}

static double number(const kn_graph_model *g, const char *node, const char *param)
{
    return kn_node_number(node_of(g, node), param);
}

/* ---- forms ---- */

static const char *const forms[] = {
    "timestep: 0.5\n"
    "nodes:\n"
    "  a: {type: spring, mass: 2, timestep: 0.25}\n"
    "  b: {type: ball}\n"
    "edges: [a.anchor_position = 2.5*b.position]\n",

    "format: graph/1\n"
    "nodes:\n"
    "- {type: SpringDamperNode, name: a, timestep: 0.25, params: {mass: 2.0}}\n"
    "- {type: BallNode, name: b, timestep: 0.5, gravity: null}\n"
    "edges:\n"
    "- source_node: b\n"
    "  source_field: position\n"
    "  target_node: a\n"
    "  target_field: anchor_position\n"
    "  transform: scale_2.5\n",

    "{\"nodes\": [{\"type\": \"SpringDamperNode\", \"name\": \"a\", \"timestep\": 0.25, \"params\": {\"mass\": "
    "2.0}},\r\n"
    "  {\"type\": \"BallNode\", \"name\": \"b\", \"timestep\": 0.5, \"params\": {}}],\r\n"
    " \"param_specs\": {}, \"coupling_groups\": [], \"external_inputs\": [],\r\n"
    " \"edges\": [{\"source_node\": \"b\", \"target_node\": \"a\", \"source_field\": \"position\",\r\n"
    "   \"target_field\": \"anchor_position\", \"transform\": \"scale_2.5\", \"additive\": false, \"mapping\": "
    "null}]}\r\n",

    "\xef\xbb\xbf" /* a byte order mark */
    "let: {h: 1/4}\n"
    "timestep: 2*h\n"
    "nodes:\n"
    "  - {for: i in 1..1, name: a, type: spring, timestep: h*i, mass: &two 2}\n"
    "  - {name: b, type: ball}\n"
    "edges:\n"
    "  - {edge: a.anchor_position = b.position, transform: scale_2.5}\n",
};

static void test_forms(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        kn_graph_model *g = graph_of(f, forms[i]);
        assert_int_equal(g->n_nodes, 2);
        assert_int_equal(g->n_edges, 1);
        const kn_node *a = node_of(g, "a"), *b = node_of(g, "b");
        assert_ptr_equal(a->type, &kn_node_spring);
        assert_true(a->timestep == 0.25 && b->timestep == 0.5);
        assert_true(g->base_timestep == 0.25 && a->divider == 1 && b->divider == 2);
        assert_true(number(g, "a", "mass") == 2 && number(g, "a", "stiffness") == 100);
        assert_true(number(g, "b", "gravity") == -9.81);
        const kn_edge *e = &g->edges[0];
        assert_true(e->source == 1 && e->target == 0 && e->source_field == 0 && !e->is_flux && e->target_input == 0);
        assert_int_equal(e->op, KN_EDGE_SCALE);
        assert_true(e->factor == 2.5 && !e->additive && !e->indexed && !e->placed && e->shape.rank == 0);
        assert_string_equal(f->kinds, "");
    }
}

/* ---- numbers ---- */

static void test_let(void **state)
{
    fixture *f = *state;
    kn_graph_model *g = graph_of(f, "title: \"is {text}\"\nnotes: |\n  two\n  lines\nprecision: f64\n"
                                    "let:\n  n: 4\n  h: 1/n\n  m: max(n, 2)^2\n"
                                    "timestep: h\n"
                                    "nodes:\n  a: {type: spring, stiffness: m + timestep, mass: .5, damping: '1'}\n");
    assert_string_equal(g->title, "is {text}");
    assert_string_equal(g->notes, "two\nlines\n");
    assert_true(g->f64);
    assert_int_equal(g->n_lets, 3);
    assert_true(g->lets[1].value == 0.25 && g->lets[2].value == 16);
    assert_true(number(g, "a", "stiffness") == 16.25 && number(g, "a", "mass") == 0.5);
    const char *text = "let: {n: 4, h: 1/n}\nnodes: {a: {type: ball, timestep: h}}\n";
    kn_let_override lets[] = {{"n", 2}, {"n", 8}};
    assert_ok(f->ctx, kn_graph_read(f->ctx, &f->arena, "test.yaml", text, lets, 2, &g));
    assert_true(g->nodes[0].timestep == 0.125);
    lets[1].name = "m";
    assert_int_equal(kn_graph_read(f->ctx, &f->arena, "test.yaml", text, lets, 2, &g), KILN_NOTFOUND);
    assert_says(f->ctx, "the file lets no name 'm'");
    assert_fails(f, "let: {yes: 1, big: 0x10}\nnodes: {}\n", "expression-syntax"); /* YAML 1.2: no hexadecimal */
    assert_fails(f, "let: {a: 1_000}\nnodes: {}\n", "expression-syntax");
    assert_fails(f, "let: {b: a, a: 1}\nnodes: {}\n", "unknown-name");
}

/* MADDENING's spelling of what JSON cannot say counts in quotes and in the long form. */
static void test_not_finite(void **state)
{
    fixture *f = *state;
    kn_graph_model *g = graph_of(f,
                                 "nodes:\n- {type: BallNode, name: b, timestep: 1,"
                                 " params: {gravity: \"-Infinity\", elasticity: \"NaN\", initial_position: .inf}}\n");
    assert_true(number(g, "b", "gravity") == -HUGE_VAL && isnan(number(g, "b", "elasticity")));
    assert_true(number(g, "b", "initial_position") == HUGE_VAL);
    assert_fails(f, "nodes: {b: {type: ball, timestep: 1, gravity: \"NaN\"}}\n", "unknown-name");
    assert_fails(f, "nodes: [{name: b, type: ball, timestep: 1, gravity: NaN}]\n", "unknown-name");
}

/* ---- parameters ---- */

static void test_parameters(void **state)
{
    fixture *f = *state;
    kn_graph_model *g = graph_of(
        f, "timestep: 0.1\n"
           "nodes:\n"
           "  body: {type: rigid_body, inertia: [1, 2*2, 3], constraints: {z: 0.5, rx: 1 - 1}}\n"
           "  watch:\n"
           "    type: health_check\n"
           "    checks: {a: {finite: true, min: -1}, b: {max_abs: 2*3}, c: {finite: false, max: null}}\n"
           "  mud: {type: rigid_body_2d}\n"
           "edges:\n  - watch.b = body.position\n  - watch.other = body.velocity\n"
           "  - mud.force[1] = body.position[2]\n"
           "external_inputs: [{input: mud.torque}]\n");
    const kn_param *p = kn_node_param(node_of(g, "body"), "inertia");
    assert_true(p->given && p->n == 3 && p->v[1] == 4);
    p = kn_node_param(node_of(g, "body"), "gravity");
    assert_true(!p->given && p->n == 3 && p->v[2] == -9.81);
    p = kn_node_param(node_of(g, "body"), "constraints");
    assert_true(p->n == 2 && p->locks[0].axis == 2 && p->locks[0].value == 0.5 && p->locks[1].axis == 3);
    const kn_node *watch = node_of(g, "watch");
    p = kn_node_param(watch, "checks");
    assert_true(p->n == 3 && p->checks[0].has_finite && p->checks[0].finite && p->checks[0].min == -1);
    assert_true(p->checks[1].max_abs == 6 && !p->checks[1].has_min && !p->checks[2].has_max && !p->checks[2].finite);
    kn_shape shape = kn_node_shape(watch, "checks");
    assert_true(shape.rank == 1 && shape.dim[0] == 3);
    assert_int_equal(g->edges[0].target_input, 1);
    assert_int_equal(g->edges[1].target_input, -1);
    assert_string_equal(g->edges[1].target_field, "other");
    assert_true(g->edges[2].indexed && g->edges[2].index == 2 && g->edges[2].placed && g->edges[2].place == 1);
    assert_int_equal(g->inputs[0].value.kind, KN_VALUE_ZERO);
}

static const double *cells(const kn_graph_model *g, const char *node, const char *param, size_t n)
{
    const kn_param *p = kn_node_param(node_of(g, node), param);
    assert_int_equal(p->n, n);
    return p->v;
}

static void test_cells(void **state)
{
    fixture *f = *state;
    double rows[4] = {1, 2, 3, 4};
    kiln_array *array;
    assert_ok(f->ctx, kiln_array_create(f->ctx, KILN_VECTOR(KILN_F64, 4), &array));
    memcpy(kiln_array_data(array), rows, sizeof rows);
    assert_ok(f->ctx, kiln_array_save(f->ctx, test_path("start.npy"), array));
    kiln_array_release(array);
    kn_graph_model *g = NULL;
    const char *text = "let: {n: 4}\n"
                       "timestep: 1e-6\n"
                       "nodes:\n"
                       "  x:    {type: heat, n_cells: n, length: 2, initial_temperature: 100*x + i + n + L}\n"
                       "  one:  {type: heat, n_cells: n, initial_temperature: 2*n}\n"
                       "  list: {type: heat, n_cells: n, initial_temperature: [1, 2*n, -3, \"if(n > 2, 7, 0)\"]}\n"
                       "  grid: {type: heat, n_cells: n, initial_temperature: x, grid_points: 0.5*i^2 + i}\n"
                       "  file: {type: heat, n_cells: n, initial_temperature: {file: start.npy}}\n"
                       "edges: []\n"
                       "initial_state: {x: {temperature: i*i}, one: {temperature: 3}}\n";
    assert_ok(f->ctx, kn_graph_read(f->ctx, &f->arena, test_path("graph.yaml"), text, NULL, 0, &g));
    const double *v = cells(g, "x", "initial_temperature", 4);
    for (int i = 0; i < 4; i++) assert_true(v[i] == 100 * ((i + 0.5) * 0.5) + i + 4 + 2);
    const kn_param *one = kn_node_param(node_of(g, "one"), "initial_temperature");
    assert_true(one->n == 0 && one->number == 8);
    v = cells(g, "list", "initial_temperature", 4);
    assert_true(v[0] == 1 && v[1] == 8 && v[2] == -3 && v[3] == 7);
    v = cells(g, "grid", "grid_points", 4);
    const double *x = cells(g, "grid", "initial_temperature", 4);
    for (int i = 0; i < 4; i++) assert_true(v[i] == 0.5 * i * i + i && x[i] == v[i]);
    v = cells(g, "file", "initial_temperature", 4);
    assert_true(v[0] == 1 && v[3] == 4);
    assert_int_equal(g->n_initial, 2);
    assert_true(g->initial[0].v[3] == 9 && g->initial[1].v[2] == 3 && g->initial[1].shape.dim[0] == 4);
}

/* ---- loops ---- */

static void test_loops(void **state)
{
    fixture *f = *state;
    kn_graph_model *g = graph_of(
        f, "let: {N: 4}\n"
           "timestep: 1\n"
           "nodes:\n"
           "  - {for: i in 1..N-1, name: \"s{i}\", type: spring, mass: i/2}\n"
           "  - {for: 'i in 0..2, j in 0..i', name: \"p_{10*i + j}\", type: table, position: 10*i + j}\n"
           "  - {for: i in 3..2, name: none, type: table}\n"
           "edges:\n"
           "  - {for: i in 1..2, edge: \"s{i}.anchor_position += {i/4}*s{i + 1}.position\"}\n"
           "  - {for: \"i in min(1, 2)..1\", source_node: \"s{i}\", source_field: velocity, target_node: \"s{i+2}\","
           " target_field: anchor_position, transform: \"scale_{i}\"}\n"
           "coupling_groups:\n"
           "  - {for: i in 1..2, nodes: [\"p_{i}0\", \"p_{i}1\"], max_iterations: 3*i}\n");
    assert_int_equal(g->n_nodes, 9);
    assert_true(number(g, "s3", "mass") == 1.5 && number(g, "p_21", "position") == 21);
    assert_int_equal(kn_graph_find(g, "none"), -1);
    assert_int_equal(g->n_edges, 3);
    assert_true(g->edges[1].factor == 0.5 && g->edges[1].source == 2 && g->edges[1].additive);
    assert_true(g->edges[2].factor == 1 && g->edges[2].target == 2 && g->edges[2].source_field == 1);
    assert_int_equal(g->n_groups, 2);
    assert_true(g->groups[1].max_iterations == 6 && g->groups[1].n_nodes == 2);
    assert_int_equal(node_of(g, "p_21")->group, 1);
    assert_int_equal(node_of(g, "s1")->group, -1);
}

/* ---- edges ---- */

static const struct {
    const char *text;
    kn_edge_op op;
    double factor;
    bool indexed;
    int index, place, rank;
} edges[] = {
    {"p.anchor_position = q.position", KN_EDGE_NONE, 0, false, 0, -1, 0},
    {"p.anchor_position=+q.position", KN_EDGE_NONE, 0, false, 0, -1, 0},
    {"p.anchor_position = -q.position", KN_EDGE_NEGATE, 0, false, 0, -1, 0},
    {"p.anchor_position = 2*k*q.position", KN_EDGE_SCALE, 6, false, 0, -1, 0},
    {"p.anchor_position += rod.temperature[0]", KN_EDGE_NONE, 0, true, 0, -1, 0},
    {"p.anchor_position += 0.5*rod.temperature[-2]", KN_EDGE_SCALE, 0.5, true, 2, -1, 0},
    {"p.anchor_position += q.spring_force", KN_EDGE_NONE, 0, false, 0, -1, 0},
    {"p.anchor_position += 1 + q.position", KN_EDGE_EXPR, 0, false, 0, -1, 0},
    {"p.anchor_position += q.position/2", KN_EDGE_EXPR, 0, false, 0, -1, 0},
    {"body.force [ 1 ] = q.position", KN_EDGE_NONE, 0, false, 0, 1, 0},
    {"body.force[2] += 1.5*rod.temperature[3]", KN_EDGE_SCALE, 1.5, true, 3, 2, 0},
    {"rod.heat_source = -rod.temperature", KN_EDGE_NEGATE, 0, false, 0, -1, 1},
    {"rod.heat_source += 3*q.velocity", KN_EDGE_SCALE, 3, false, 0, -1, 0},
    {"rod.left_temperature = tanh(rod.temperature[1])", KN_EDGE_EXPR, 0, true, 1, -1, 0},
    {"{edge: body.torque = body.velocity, transform: negate}", KN_EDGE_NEGATE, 0, false, 0, -1, 1},
    {"{edge: body.torque += body.velocity, additive: true}", KN_EDGE_NONE, 0, false, 0, -1, 1},
    {"{source_node: rod, source_field: temperature, target_node: p, target_field: anchor_position, transform: "
     "extract_second_last}",
     KN_EDGE_NONE, 0, true, 2, -1, 0},
    {"{source_node: q, source_field: position, target_node: p, target_field: anchor_position, transform: "
     "scale_-1e-3}",
     KN_EDGE_SCALE, -1e-3, false, 0, -1, 0},
};

static void test_edges(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "let: {k: 3}\ntimestep: 0.01\nnodes:\n  p: {type: spring}\n  q: {type: spring}\n  rod: {type: heat, "
                 "n_cells: 4}\n"
                 "  body: {type: rigid_body}\nedges:\n  - %s\n",
                 edges[i].text);
        const kn_edge *e = &graph_of(f, text)->edges[0];
        bool ok = e->op == edges[i].op && (e->op != KN_EDGE_SCALE || e->factor == edges[i].factor) &&
                  e->indexed == edges[i].indexed && (!e->indexed || e->index == edges[i].index) &&
                  (e->placed ? e->place : -1) == edges[i].place && e->shape.rank == edges[i].rank &&
                  e->additive == (strstr(edges[i].text, "+=") != NULL) &&
                  (e->expr != NULL) == (e->op == KN_EDGE_EXPR) && e->at.line == 9;
        if (!ok) fail_msg("%s is read as something else", edges[i].text);
    }
#define NODES "timestep: 1\nnodes: {p: {type: spring}, q: {type: spring}}\nedges: "
    assert_fails(f, NODES "[{edge: p.anchor_position = 2*q.position, transform: negate}]", "bad-value");
    assert_fails(f, NODES "[{edge: p.anchor_position += q.position, additive: false}]", "bad-value");
#undef NODES
}

static void test_mapping(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *mapping, *kind;
    } rows[] = {
        {"nearest_neighbor, points: {source_points: {node: a, field: grid_x}, target_points: {node: b, field: "
         "grid_x}}",
         "unsupported"},
        {"projection_1d, points: {source_boundaries: {linspace: [0, 1, 5]}, target_boundaries: [0, 0.5, 1]}",
         "unsupported"},
        {"matrix, points: {H: [[1, 0, 0, 0], [0, 0, 0, 1]]}", "unsupported"},
        {"matrix, points: {H: {inline: [[1, 0], [0, 1]], dtype: float64}}", "shape-mismatch"},
        {"matrix, points: {H: [1, 2]}", "shape-mismatch"},
        {"matrix, points: {H: [[1, 2], [3]]}", "shape-mismatch"},
        {"projection_1d, points: {source_boundaries: {linspace: [0, 1, 5]}}", "missing-key"},
        {"rbf, kernel: cubic", "bad-value"},
        {"rbf, label: x", "unknown-key"},
        {"rbf, points: {source_points: {node: c, field: grid_x}}", "unknown-node"},
        {"rbf, points: {source_points: {node: a, field: grid}}", "unknown-field"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char all[1024];
        snprintf(all, sizeof all,
                 "timestep: 1e-3\nnodes: {a: {type: heat, n_cells: 4}, b: {type: heat, n_cells: 2}}\n"
                 "edges:\n  - edge: b.heat_source = a.temperature\n    mapping: {kind: %s}\n",
                 rows[i].mapping);
        assert_fails(f, all, rows[i].kind);
    }
}

/* ---- inputs ---- */

static void test_inputs(void **state)
{
    fixture *f = *state;
    kn_graph_model *g = graph_of(
        f, "let: {w: 2}\n"
           "timestep: 0.01\n"
           "nodes: {a: {type: spring}, rod: {type: heat, n_cells: 3}, body: {type: rigid_body}}\n"
           "external_inputs:\n"
           "  - {input: a.anchor_position, value: w*t + step}\n"
           "  - {input: rod.heat_source, value: x*t + i}\n"
           "  - {input: rod.left_temperature, value: 300 + timestep}\n"
           "  - {target_node: body, target_field: force, shape: [3], dtype: float32, value: [1, \"w*t\", -1]}\n"
           "  - {input: body.torque, value: 7}\n"
           "  - {input: rod.right_temperature}\n");
    double v[3];
    assert_int_equal(g->n_inputs, 6);
    assert_int_equal(g->inputs[0].value.kind, KN_VALUE_TIME);
    assert_ok(f->ctx, kn_value_eval(f->ctx, &g->inputs[0].value, &g->nodes[0], 0.5, 3, v));
    assert_true(v[0] == 4);
    assert_ok(f->ctx, kn_value_eval(f->ctx, &g->inputs[1].value, &g->nodes[1], 3, 0, v));
    for (int i = 0; i < 3; i++) assert_true(v[i] == (i + 0.5) * (1.0 / 3) * 3 + i);
    assert_true(g->inputs[2].value.kind == KN_VALUE_CONST && g->inputs[2].value.v[0] == 300.01);
    assert_ok(f->ctx, kn_value_eval(f->ctx, &g->inputs[3].value, &g->nodes[2], 0.25, 0, v));
    assert_true(v[0] == 1 && v[1] == 0.5 && v[2] == -1);
    assert_int_equal(g->inputs[3].value.n_leaves, 3);
    assert_string_equal(g->inputs[3].dtype, "float32");
    assert_true(g->inputs[4].value.v[2] == 7 && g->inputs[4].value.shape.dim[0] == 3);
    assert_int_equal(g->inputs[5].value.kind, KN_VALUE_ZERO);
}

static void test_rows(void **state)
{
    fixture *f = *state;
    kiln_array *array;
    assert_ok(f->ctx, kiln_array_create(f->ctx, (kiln_type){KILN_F32, 2, (int64_t[]){2, 3}}, &array));
    for (int i = 0; i < 6; i++) ((float *)kiln_array_data(array))[i] = (float)i / 2;
    assert_ok(f->ctx, kiln_array_save(f->ctx, test_path("rows.npy"), array));
    kiln_array_release(array);
#define ROD "timestep: 0.01\nnodes: {rod: {type: heat, n_cells: 3}}\nexternal_inputs: "
    const char *all = ROD "[{input: rod.heat_source, value: {file: rows.npy}}]";
    kn_graph_model *g;
    assert_ok(f->ctx, kn_graph_read(f->ctx, &f->arena, test_path("graph.yaml"), all, NULL, 0, &g));
    assert_int_equal(g->inputs[0].value.n_rows, 2);
    double v[3];
    assert_ok(f->ctx, kn_value_eval(f->ctx, &g->inputs[0].value, &g->nodes[0], 0, 0, v));
    assert_true(v[2] == 1);
    assert_ok(f->ctx, kn_value_eval(f->ctx, &g->inputs[0].value, &g->nodes[0], 0, 9, v)); /* the last row is kept */
    assert_true(v[0] == 1.5 && v[2] == 2.5);
    all = ROD "[{input: rod.left_temperature, value: {file: rows.npy}}]";
    assert_int_equal(kn_graph_read(f->ctx, &f->arena, test_path("graph.yaml"), all, NULL, 0, &g), KILN_SHAPE);
}

/* ---- groups, warnings, rates ---- */

static void test_groups(void **state)
{
    fixture *f = *state;
    kn_graph_model *g = graph_of(
        f, "timestep: 0.1\n"
           "nodes:\n  - {for: i in 1..4, name: \"n{i}\", type: spring}\n"
           "  - {for: i in 1..2, name: \"m{i}\", type: spring}\n"
           "edges:\n"
           "  - {for: i in 1..3, edge: \"n{i}.anchor_position = n{i+1}.position\"}\n"
           "  - m1.anchor_position = m2.position\n"
           "coupling_groups:\n"
           "  - nodes: [n2, n1]\n"
           "    acceleration: fixed\n"
           "    relaxation: 1/2\n"
           "    iteration_mode: jacobi\n"
           "    max_iterations: 30\n"
           "    tolerance: 1e-3\n"
           "  - {nodes: [n3, n4], convergence_norm: mixed, rtol: 1e-4, atol: 0.1, tolerance: null, solver: ift,"
           " accelerated_fields: null, subcycling: false, linear_solver: gmres}\n"
           "  - {nodes: \"m*\"}\n");
    assert_string_equal(f->kinds, "");
    assert_int_equal(g->n_groups, 3);
    const kn_group *a = &g->groups[0], *b = &g->groups[1], *c = &g->groups[2];
    assert_true(a->n_nodes == 2 && a->nodes[0] == 1 && a->nodes[1] == 0 && a->timestep == 0.1);
    assert_true(a->acceleration == KN_ACC_FIXED && a->relaxation == 0.5 && a->iteration_mode == KN_JACOBI);
    assert_true(a->max_iterations == 30 && a->tolerance == 1e-3 && a->convergence_norm == KN_NORM_L2 &&
                a->rtol == 1e-6);
    assert_true(b->convergence_norm == KN_NORM_MIXED && b->rtol == 1e-4 && b->atol == 0.1 && b->tolerance == 1e-6);
    assert_int_equal(b->option_at[KN_OPTION_TOLERANCE].line, 0);
    assert_true(c->n_nodes == 2 && c->nodes[0] == 4 && c->max_iterations == 10 && c->waveform_iterations == 1);
    assert_true(c->boundary_interpolation == KN_INTERP_LINEAR && !c->subcycling && !c->accelerated_fields);
    assert_int_equal(g->nodes[4].group, 2);
}

static void test_warnings(void **state)
{
    fixture *f = *state;
    graph_of(f, "timestep: 0.1\n"
                "nodes: {a: {type: spring}, b: {type: spring}, c: {type: table}}\n"
                "edges:\n"
                "  - a.anchor_position += b.position\n"
                "  - a.anchor_position = b.position\n"
                "  - {edge: b.anchor_position = a.position, source_units: K, target_units: K}\n"
                "  - {edge: b.anchor_position += 2*a.position, source_units: K, target_units: m}\n"
                "coupling_groups:\n"
                "  - {nodes: [a, b], rtol: 1e-3, tolerance: 1e-6, relaxation: 2, max_iterations: 1}\n");
    assert_string_equal(f->kinds,
                        "overwritten-input unit-mismatch unit-mismatch inert-option inert-option disconnected ");
}

static void test_rates(void **state)
{
    fixture *f = *state;
    kn_graph_model *g = graph_of(
        f, "nodes:\n"
           "  fast: {type: ball, timestep: 0.002}\n"
           "  middle: {type: ball, timestep: 0.006}\n"
           "  slow: {type: ball, timestep: 0.03}\n"
           "edges: [fast.table_position = middle.position, slow.table_position = middle.position]\n");
    assert_true(fabs(g->base_timestep - 0.002) < 1e-15);
    assert_true(g->nodes[0].divider == 1 && g->nodes[1].divider == 3 && g->nodes[2].divider == 15);
}

static void test_run(void **state)
{
    fixture *f = *state;
    kn_graph_model *g = graph_of(f, "timestep: 1\nnodes: {ab: {type: ball}, rod1: {type: spring}}\n"
                                    "edges: [ab.table_position = rod1.position]\n"
                                    "run: {steps: 10*2, record: [0, 5, 20], fields: [\"r*.pos*\", ab.velocity]}\n");
    assert_true(g->run.has_steps && g->run.steps == 20 && g->run.record == KN_RECORD_LIST && g->run.n_list == 3);
    assert_true(kn_run_records(g, node_of(g, "rod1"), "position") &&
                !kn_run_records(g, node_of(g, "rod1"), "velocity"));
    assert_true(kn_run_records(g, node_of(g, "ab"), "velocity") && !kn_run_records(g, node_of(g, "ab"), "position"));
    g = graph_of(f, "nodes: {}\nrun: {steps: null, record: 5}\n");
    assert_true(!g->run.has_steps && g->run.record == KN_RECORD_EVERY && g->run.every == 5 && g->n_nodes == 0);
    assert_true(kn_match("*", "") && kn_match("a*c?", "abbcd") && !kn_match("a*c", "abbcd") && kn_match("**a", "a"));
}

/* ---- the table of node types ---- */

static void test_types(void **state)
{
    (void)state;
    size_t n;
    const kn_node_type *const *types = kn_node_types(&n);
    assert_int_equal(n, 11);
    for (size_t i = 0; i < n; i++) {
        const kn_node_type *t = types[i];
        if (i) assert_true(strcmp(types[i - 1]->name, t->name) < 0);
        assert_ptr_equal(kn_node_type_find(t->name), t);
        assert_ptr_equal(kn_node_type_find(t->short_name), t);
        assert_true(t->doc && t->doc[0]);
        for (int k = 0; k < t->n_params; k++) {
            assert_true(t->params[k].unit && t->params[k].doc);
            assert_int_equal(kn_node_type_param(t, t->params[k].name), k);
        }
        for (int k = 0; k < t->n_inputs; k++) assert_true(t->inputs[k].unit && t->inputs[k].without[0]);
        for (int k = 0; k < t->n_state; k++) assert_true(t->state[k].shape && t->state[k].unit);
    }
}

/* ---- size ---- */

/* 10^5 nodes spelled out, each with an edge, an entry in a group and an input by name; and again by repetition. */
static void test_large(void **state)
{
    fixture *f = *state;
    enum { N = 40000 };
    size_t cap = (size_t)N * 160 + 1000, n = 0;
    char *s = malloc(cap);
    assert_non_null(s);
    n += (size_t)snprintf(s + n, cap - n, "timestep: 1\nnodes:\n");
    for (int i = 0; i < N; i++) n += (size_t)snprintf(s + n, cap - n, "  s%d: {type: spring, mass: %d + 1}\n", i, i);
    n += (size_t)snprintf(s + n, cap - n, "edges:\n");
    for (int i = 1; i < N; i++)
        n += (size_t)snprintf(s + n, cap - n, "- s%d.anchor_position = 0.5*s%d.position\n", i, i - 1);
    n += (size_t)snprintf(s + n, cap - n, "coupling_groups:\n- nodes:\n");
    for (int i = 0; i < N; i++) n += (size_t)snprintf(s + n, cap - n, "  - s%d\n", i);
    snprintf(s + n, cap - n, "external_inputs: [{input: s0.anchor_position, value: 1}]\n");
    kn_graph_model *g = graph_of(f, s);
    assert_int_equal(g->n_nodes, N);
    assert_int_equal(g->n_edges, N - 1);
    assert_int_equal(g->groups[0].n_nodes, N);
    assert_true(number(g, "s777", "mass") == 778);
    g = graph_of(
        f,
        "timestep: 1\nnodes:\n- {for: i in 1..100000, name: \"t{i}\", type: table, position: i}\n"
        "- {name: a, type: spring}\nedges:\n- {for: i in 1..100000, edge: \"a.anchor_position += t{i}.position\"}\n");
    assert_int_equal(g->n_nodes, 100001);
    assert_int_equal(g->n_edges, 100000);
    assert_true(number(g, "t99999", "position") == 99999);
    /* A warning for each of very many nodes. */
    f->n_warnings = 0;
    n = (size_t)snprintf(s, cap, "timestep: 1\nnodes:\n");
    for (int i = 0; i < N; i++) n += (size_t)snprintf(s + n, cap - n, "  s%d: {type: table}\n", i);
    graph_of(f, s);
    assert_int_equal(f->n_warnings, N);
    free(s);
}

/* ---- the n-th allocation fails ---- */

static const char rich[] =
    "title: everything\n"
    "let: {n: 6, h: 1/n}\n"
    "timestep: 1e-3\n"
    "nodes:\n"
    "  - {for: 'i in 1..2, j in 1..i', name: \"s{i}_{j}\", type: spring, mass: i}\n"
    "  - {name: rod, type: heat, n_cells: n, initial_temperature: [1, 2, \"sin(h)\", 4, 5, 6]}\n"
    "  - {name: rod2, type: heat, n_cells: n, initial_temperature: 300 + 5*sin(pi*x)}\n"
    "  - {name: body, type: rigid_body, constraints: {x: 1}}\n"
    "  - {name: w, type: health_check, checks: {v: {min: 0}}}\n"
    "edges:\n"
    "  - &e s1_1.anchor_position = 2*s2_1.position\n"
    "  - {edge: \"s2_{1}.anchor_position += 1 + rod.temperature[-1]^2\", target_units: K}\n"
    "  - {source_node: rod, source_field: temperature, target_node: rod2, target_field: heat_source}\n"
    "  - body.force[1] = s1_1.spring_force\n"
    "  - w.v = body.position\n"
    "external_inputs:\n"
    "  - {input: rod.heat_source, value: x*t}\n"
    "  - {input: body.torque, value: [1, 2*t, 3]}\n"
    "coupling_groups:\n"
    "  - {nodes: \"s?_1\", tolerance: 1e-3, atol: 1}\n"
    "initial_state: {rod: {temperature: i}}\n"
    "run: {steps: 3, record: [0, 1], fields: [\"rod*.*\"]}\n";

static void test_no_memory(void **state)
{
    (void)state;
    bool failed = true;
    int n = 1;
    for (; failed; n++) {
        kiln_ctx *ctx = test_ctx_failing(n);
        if (!ctx) continue;
        kn_arena arena;
        kn_arena_init(&arena, &ctx->alloc);
        kn_graph_model *g;
        kiln_status s = kn_graph_read(ctx, &arena, "test.yaml", rich, NULL, 0, &g);
        failed = test_ctx_failed(ctx);
        assert_int_equal(s, failed ? KILN_NOMEM : KILN_OK);
        assert_int_equal(g == NULL, failed);
        kn_arena_fini(&arena);
        test_ctx_release(ctx);
    }
    assert_true(n > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_forms, setup, teardown),
        cmocka_unit_test_setup_teardown(test_let, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_finite, setup, teardown),
        cmocka_unit_test_setup_teardown(test_parameters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cells, setup, teardown),
        cmocka_unit_test_setup_teardown(test_loops, setup, teardown),
        cmocka_unit_test_setup_teardown(test_edges, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mapping, setup, teardown),
        cmocka_unit_test_setup_teardown(test_inputs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_groups, setup, teardown),
        cmocka_unit_test_setup_teardown(test_warnings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rates, setup, teardown),
        cmocka_unit_test_setup_teardown(test_run, setup, teardown),
        cmocka_unit_test_setup_teardown(test_types, setup, teardown),
        cmocka_unit_test_setup_teardown(test_large, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
    };
    return cmocka_run_group_tests_name("graph_read", tests, NULL, NULL);
}
