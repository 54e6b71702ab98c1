/* SPDX-License-Identifier: Apache-2.0 */
/* A simulation graph from C: loaded, run, saved, run again with another parameter, profiled.
 *
 *     graph examples/graphs/rods.yaml out/ */
#include <kiln/kiln.h>
#include <stdio.h>

static void warn(void *user, const kiln_diag *warning)
{
    (void)user;
    char text[1024];
    kiln_diag_format(warning, text, sizeof text);
    fprintf(stderr, "%s\n", text);
}

/* Runs as the file says, from the initial state, and prints the middle of the first rod. */
static kiln_status run(kiln_ctx *ctx, kiln_graph *g, const char *folder)
{
    kiln_graph_result *r = NULL;
    kiln_array *hot = NULL;
    kiln_status status = kiln_graph_reset(ctx, g);
    if (status == KILN_OK) status = kiln_graph_run(ctx, g, NULL, &r);
    if (status == KILN_OK) status = kiln_graph_get(ctx, g, "hot.temperature", &hot);
    if (status == KILN_OK) {
        const float *v = kiln_array_read(hot);
        kiln_graph_records group = kiln_graph_result_group(r, 0);
        printf("%lld steps, %lld recorded: %.7g K; %s took %lld iterations\n", (long long)kiln_graph_result_steps(r),
               (long long)kiln_graph_result_n_rows(r), v[32], group.key, (long long)group.total_iterations);
    }
    uint32_t written = 0;
    if (status == KILN_OK && folder) status = kiln_graph_save(ctx, r, folder, &written);
    if (written) printf("%u files\n", written);
    kiln_array_release(hot);
    kiln_graph_result_release(r);
    return status;
}

static kiln_status profile(kiln_ctx *ctx, kiln_graph *g)
{
    kiln_profile *p = NULL;
    kiln_status status = kiln_graph_profile(ctx, g, NULL, &p);
    if (status != KILN_OK) return status;
    printf("profile of %u nodes, %lld elements of state\n", p->n_nodes, (long long)p->elements);
    printf("time: a step %.3f us", 1e3 * p->median_ms);
    for (uint32_t i = 0; i < p->n_nodes; i++) printf(", %s alone %.3f us", p->nodes[i].name, 1e3 * p->nodes[i].alone_ms);
    printf("\n");
    kiln_profile_release(p);
    return KILN_OK;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s GRAPH.yaml FOLDER/\n", argv[0]);
        return 2;
    }
    kiln_ctx_opts opts = KILN_CTX_OPTS_INIT;
    opts.warn = warn;
    kiln_ctx *ctx = NULL;
    kiln_graph *g = NULL;
    if (kiln_ctx_create(&opts, &ctx) != KILN_OK) return 1;
    kiln_status status = kiln_graph_load(ctx, argv[1], NULL, &g);
    if (status == KILN_OK) status = run(ctx, g, argv[2]);
    if (status == KILN_OK) status = kiln_graph_set(ctx, g, "hot.thermal_diffusivity", 0.05); /* compiles nothing */
    if (status == KILN_OK) status = run(ctx, g, NULL);
    if (status == KILN_OK) status = profile(ctx, g);
    if (status != KILN_OK) {
        char text[1024];
        kiln_diag_format(kiln_ctx_error(ctx), text, sizeof text);
        fprintf(stderr, "%s\n", text);
    }
    kiln_graph_release(g);
    kiln_ctx_release(ctx);
    return status != KILN_OK;
}
