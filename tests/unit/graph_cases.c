/* SPDX-License-Identifier: Apache-2.0 */
/* The shared graph cases: each reads, or is refused as unsupported; base timestep, dividers and warnings are the expected
 * ones; MADDENING's own document of a graph means the same graph. */
#include "testing.h"

#include "graph/kinds.h"

#include <jansson.h>
#include <math.h>

typedef struct reading {
    kiln_ctx *ctx;
    kn_arena arena;
    kn_graph_model *g; /* NULL: unsupported */
    struct {
        char kind[32];
        int line, column;
    } warnings[32];
    int n_warnings;
} reading;

static void warn(void *ud, const kiln_diag *d)
{
    reading *r = ud;
    assert_true(r->n_warnings < 32);
    snprintf(r->warnings[r->n_warnings].kind, sizeof r->warnings[0].kind, "%s", d->kind);
    r->warnings[r->n_warnings].line = d->line;
    r->warnings[r->n_warnings++].column = d->column;
}

static void open_graph(reading *r, const char *path)
{
    memset(r, 0, sizeof *r);
    kiln_ctx_opts o = KILN_CTX_OPTS_INIT;
    o.warn = warn;
    o.warn_ud = r;
    assert_int_equal(kiln_ctx_create(&o, &r->ctx), KILN_OK);
    kn_arena_init(&r->arena, &r->ctx->alloc);
    kiln_status s = kn_graph_read(r->ctx, &r->arena, path, NULL, NULL, 0, &r->g);
    if (s != KILN_UNSUPPORTED) assert_ok(r->ctx, s);
    else assert_string_equal(kiln_ctx_error(r->ctx)->kind, "unsupported");
}

static void close_graph(reading *r)
{
    kn_arena_fini(&r->arena);
    kiln_ctx_release(r->ctx);
}

/* Calls `visit` for the path of each case folder; false when there are no cases. */
static bool each_case(void (*visit)(const char *folder, void *ud), void *ud)
{
    DIR *d = opendir(KILN_CASES "/graphs");
    if (!d) return false;
    for (struct dirent *e; (e = readdir(d));) {
        char path[1024];
        snprintf(path, sizeof path, "%s/graphs/%s/graph.yaml", KILN_CASES, e->d_name);
        if (access(path, R_OK) != 0) continue;
        *strrchr(path, '/') = 0;
        visit(path, ud);
    }
    closedir(d);
    return true;
}

static bool file_of(char path[1200], const char *folder, const char *name)
{
    snprintf(path, 1200, "%s/%s", folder, name);
    return access(path, R_OK) == 0;
}

static void compare_expected(const char *folder, void *ud)
{
    char path[1200];
    int *n_read = ud;
    reading r;
    file_of(path, folder, "graph.yaml");
    open_graph(&r, path);
    json_t *x = file_of(path, folder, "expected.json") ? json_load_file(path, 0, NULL) : NULL;
    if (r.g && x) {
        double base = json_number_value(json_object_get(x, "base_timestep"));
        assert_true(fabs(r.g->base_timestep - base) <= 1e-14 * base);
        json_t *dividers = json_object_get(x, "rate_dividers");
        for (uint32_t i = 0; i < r.g->n_nodes && dividers; i++)
            assert_int_equal(r.g->nodes[i].divider, json_integer_value(json_object_get(dividers, r.g->nodes[i].name)));
        json_t *warnings = json_object_get(x, "warnings"), *w;
        size_t i;
        assert_int_equal(r.n_warnings, json_array_size(warnings));
        json_array_foreach(warnings, i, w) {
            assert_string_equal(r.warnings[i].kind, json_string_value(json_object_get(w, "kind")));
            assert_int_equal(r.warnings[i].line, json_integer_value(json_object_get(w, "line")));
            assert_int_equal(r.warnings[i].column, json_integer_value(json_object_get(w, "column")));
        }
        (*n_read)++;
    }
    json_decref(x);
    close_graph(&r);
}

static void test_expected(void **state)
{
    (void)state;
    int n = 0;
    if (!each_case(compare_expected, &n)) {
        print_message("skipped: no shared cases at %s/graphs\n", KILN_CASES);
        skip();
    }
    assert_true(n > 10);
}

/* The documents' numbers went through float32. */
static void assert_near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b)))) fail_msg("%.17g is not near %.17g", a, b);
}

static void compare_param(const kn_param_desc *d, const kn_param *a, const kn_param *b)
{
    assert_int_equal(a->none, b->none);
    if (a->none) return;
    if (d->kind == KN_PARAM_TEXT) assert_string_equal(a->text, b->text);
    if (d->kind == KN_PARAM_INT) assert_int_equal(a->integer, b->integer);
    if (d->kind == KN_PARAM_NUMBER) assert_near(a->number, b->number);
    bool numbers = d->kind == KN_PARAM_VECTOR || d->kind == KN_PARAM_CELLS || d->kind == KN_PARAM_MASK;
    size_t n = numbers ? (a->n > b->n ? a->n : b->n) : 0;
    for (size_t i = 0; i < n; i++) assert_near(a->n ? a->v[i] : a->number, b->n ? b->v[i] : b->number);
}

static void compare_nodes(const kn_graph_model *a, const kn_graph_model *b)
{
    assert_int_equal(a->n_nodes, b->n_nodes);
    for (uint32_t i = 0; i < a->n_nodes; i++) {
        const kn_node *x = &a->nodes[i], *y = &b->nodes[i];
        assert_ptr_equal(x->type, y->type);
        assert_string_equal(x->name, y->name);
        assert_near(x->timestep, y->timestep);
        assert_int_equal(x->divider, y->divider);
        assert_int_equal(x->group, y->group);
        for (int k = 0; k < x->type->n_params; k++) compare_param(&x->type->params[k], &x->params[k], &y->params[k]);
    }
}

static void compare_edges(const kn_graph_model *a, const kn_graph_model *b)
{
    assert_int_equal(a->n_edges, b->n_edges);
    for (uint32_t i = 0; i < a->n_edges; i++) {
        const kn_edge *x = &a->edges[i], *y = &b->edges[i];
        assert_true(x->source == y->source && x->target == y->target && x->source_field == y->source_field);
        assert_true(x->is_flux == y->is_flux && x->target_input == y->target_input && x->additive == y->additive);
        assert_true(x->indexed == y->indexed && x->index == y->index && x->op == y->op && !x->placed && !y->placed);
        assert_string_equal(x->target_field, y->target_field);
        assert_near(x->factor, y->factor);
        assert_true(kn_shape_equal(&x->shape, &y->shape));
    }
    assert_int_equal(a->n_inputs, b->n_inputs);
    for (uint32_t i = 0; i < a->n_inputs; i++) {
        assert_true(a->inputs[i].target == b->inputs[i].target && a->inputs[i].target_input == b->inputs[i].target_input);
        assert_true(kn_shape_equal(&a->inputs[i].value.shape, &b->inputs[i].value.shape));
    }
}

static void compare_groups(const kn_graph_model *a, const kn_graph_model *b)
{
    assert_int_equal(a->n_groups, b->n_groups);
    for (uint32_t i = 0; i < a->n_groups; i++) {
        const kn_group *x = &a->groups[i], *y = &b->groups[i];
        assert_true(x->n_nodes == y->n_nodes && x->max_iterations == y->max_iterations);
        assert_true(x->convergence_norm == y->convergence_norm && x->acceleration == y->acceleration);
        assert_true(x->iteration_mode == y->iteration_mode && x->solver == y->solver && x->predictor == y->predictor);
        assert_near(x->tolerance, y->tolerance);
        assert_near(x->rtol, y->rtol);
        assert_near(x->atol, y->atol);
        assert_near(x->relaxation, y->relaxation);
    }
}

static void compare_document(const char *folder, void *ud)
{
    char path[1200], document[1200];
    int *n_compared = ud;
    if (!file_of(document, folder, "maddening.json") || !file_of(path, folder, "graph.yaml")) return;
    reading a, b;
    open_graph(&b, document);
    open_graph(&a, path);
    if (a.g) assert_non_null(b.g);
    if (a.g && b.g) {
        compare_nodes(a.g, b.g);
        compare_edges(a.g, b.g);
        compare_groups(a.g, b.g);
        (*n_compared)++;
    }
    close_graph(&a);
    close_graph(&b);
}

static void test_documents(void **state)
{
    (void)state;
    int n = 0;
    if (!each_case(compare_document, &n)) {
        print_message("skipped: no shared cases at %s/graphs\n", KILN_CASES);
        skip();
    }
    assert_true(n > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expected),
        cmocka_unit_test(test_documents),
    };
    return cmocka_run_group_tests_name("graph_cases", tests, NULL, NULL);
}
