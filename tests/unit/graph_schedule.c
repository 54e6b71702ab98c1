/* SPDX-License-Identifier: Apache-2.0 */
/* The order of nodes, what edges read, what groups sum up; the shared cases give the expected orders. */
#include "testing.h"

#include "graph/plan.h"

#include <jansson.h>

typedef struct planned {
    kn_arena arena;
    kn_graph_model *g;
    kn_plan *p;
} planned;

static bool plan_text(kiln_ctx *ctx, planned *x, const char *path, const char *text)
{
    kn_arena_init(&x->arena, &ctx->alloc);
    kiln_status s = kn_graph_read(ctx, &x->arena, path, text, NULL, 0, &x->g);
    if (s == KILN_UNSUPPORTED) return false;
    assert_ok(ctx, s);
    assert_ok(ctx, kn_plan_make(ctx, &x->arena, x->g, KILN_F32, &x->p));
    return true;
}

static void assert_order(const planned *x, const char *want)
{
    char got[512] = "";
    for (uint32_t i = 0; i < x->g->n_nodes; i++) {
        strcat(got, i ? " " : "");
        strcat(got, x->g->nodes[x->p->order[i]].name);
    }
    assert_string_equal(got, want);
}

static void orders(void **state)
{
    static const struct {
        const char *nodes, *edges, *want;
    } cases[] = {
        /* first in, first out; successors by name */
        {"c, b, a", "", "c b a"},
        {"root, z, m, a", "z.anchor_position = root.position; m.anchor_position = root.position; a.anchor_position = root.position",
         "root a m z"},
        /* a self edge does not count */
        {"a, b", "a.anchor_position = -1*a.position; b.anchor_position = a.position", "a b"},
        /* a cycle stands together, behind what feeds it and before what it feeds, wherever the file has them */
        {"after, b, a, before", "a.anchor_position = b.position; b.anchor_position = a.position; b.anchor_position += before.position;"
                                "after.anchor_position = a.position", "before b a after"},
        {"p, q, r, s", "p.anchor_position = q.position; q.anchor_position = p.position; r.anchor_position = s.position;"
                       "s.anchor_position = r.position; p.anchor_position += s.position", "r s p q"},
    };
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048] = "timestep: 0.1\nnodes:\n", nodes[256], edges[1024], *at;
        snprintf(nodes, sizeof nodes, "%s", cases[i].nodes);
        snprintf(edges, sizeof edges, "%s", cases[i].edges);
        for (char *n = strtok_r(nodes, ", ", &at); n; n = strtok_r(NULL, ", ", &at)) {
            size_t len = strlen(text);
            snprintf(text + len, sizeof text - len, "  %s: {type: spring}\n", n);
        }
        if (*edges) strcat(text, "edges:\n");
        for (char *e = strtok_r(edges, ";", &at); e; e = strtok_r(NULL, ";", &at)) {
            size_t len = strlen(text);
            snprintf(text + len, sizeof text - len, "  - %s\n", e + strspn(e, " "));
        }
        planned x;
        assert_true(plan_text(ctx, &x, "order.yaml", text));
        assert_order(&x, cases[i].want);
        kn_arena_fini(&x.arena);
    }
}

static void edges_read(void **state)
{
    static const char text[] =
        "timestep: 0.01\n"
        "nodes:\n"
        "  rod: {type: heat, n_cells: 4}\n"
        "  a: {type: spring}\n"
        "  b: {type: spring}\n"
        "  c: {type: spring}\n"
        "edges:\n"
        "  - a.anchor_position = b.position\n"          /* inside the group */
        "  - b.anchor_position = a.position\n"
        "  - c.anchor_position = c.velocity\n"          /* a self edge outside a group: the start of the step */
        "  - a.anchor_position += rod.left_heat_flux\n" /* forward: the flux of this step */
        "  - rod.right_temperature = c.spring_force\n"; /* back: the flux of the step before */
    static const char with_group[] = "coupling_groups:\n  - {nodes: [b, a]}\n";
    kiln_ctx *ctx = *state;
    char whole[1024];
    planned x;
    snprintf(whole, sizeof whole, "%s  - c.anchor_position += b.position\n%s", text, with_group);
    assert_true(plan_text(ctx, &x, "edges.yaml", whole));
    /* rod -> a -> c -> rod is a cycle: rod, a, b, c in the order of the file, so that c.spring_force is read back */
    assert_order(&x, "rod a b c");
    assert_int_equal(x.p->reads[0], KN_READS_PASS);
    assert_int_equal(x.p->reads[1], KN_READS_PASS);
    assert_int_equal(x.p->reads[2], KN_READS_START);
    assert_int_equal(x.p->reads[3], KN_READS_NOW);
    assert_int_equal(x.p->reads[4], KN_READS_START);
    assert_int_equal(x.p->reads[5], KN_READS_NOW);
    assert_int_equal(x.p->n_hidden, 1);
    assert_string_equal(x.p->hidden[0].name, "previous:c.spring_force");
    assert_string_equal(x.p->groups[0].key, "a+b");
    assert_int_equal(x.p->groups[0].n_edges, 2);
    assert_int_equal(x.p->n_blocks, 3);
    kn_arena_fini(&x.arena);
}

static void compare_case(kiln_ctx *ctx, const char *name, int *n)
{
    char path[1200];
    planned x;
    snprintf(path, sizeof path, "%s/graphs/%s/expected.json", KILN_CASES, name);
    json_t *e = json_load_file(path, 0, NULL), *order, *one;
    if (!e) return;
    snprintf(path, sizeof path, "%s/graphs/%s/graph.yaml", KILN_CASES, name);
    if (access(path, R_OK) != 0) {
        json_decref(e);
        return;
    }
    if (plan_text(ctx, &x, path, NULL) && (order = json_object_get(e, "schedule"))) {
        size_t i;
        assert_int_equal(json_array_size(order), x.g->n_nodes);
        json_array_foreach(order, i, one) assert_string_equal(x.g->nodes[x.p->order[i]].name, json_string_value(one));
        ++*n;
    }
    kn_arena_fini(&x.arena);
    json_decref(e);
}

static void shared_cases(void **state)
{
    DIR *d = opendir(KILN_CASES "/graphs");
    int n = 0;
    if (!d) {
        print_message("skipped: no shared cases at %s/graphs\n", KILN_CASES);
        skip();
    }
    for (struct dirent *e; (e = readdir(d));) compare_case(*state, e->d_name, &n);
    closedir(d);
    assert_true(n > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders), cmocka_unit_test(edges_read), cmocka_unit_test(shared_cases)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
