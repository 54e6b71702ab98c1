/* SPDX-License-Identifier: Apache-2.0 */
/* What the format allows and the engine cannot run. Every line here is one such thing; to support it, remove the line. */
#include "graph/kinds.h"

typedef struct refusal {
    kiln_ctx *ctx;
    const kn_graph_model *g;
    kiln_status status; /* of the first */
} refusal;

static void refuse(refusal *f, bool used, kn_spot at, const char *what, const char *accepted)
{
    if (used && f->status == KILN_OK)
        f->status = kn_graph_fail(f->ctx, f->g, KN_KIND_UNSUPPORTED, at, accepted, "%s not part of this version",
                                  what);
}

static void refuse_group(refusal *f, const kn_group *g)
{
    const kn_spot *at = g->option_at;
    refuse(f, g->acceleration == KN_ACC_IQN_ILS || g->acceleration == KN_ACC_IQN_IMVJ, at[KN_OPTION_ACCELERATION],
           "quasi-Newton accelerations are", "none, fixed, aitken");
    refuse(f, g->predictor != KN_PREDICT_NONE, at[KN_OPTION_PREDICTOR], "predictors are", "none");
    refuse(f, g->subcycling, at[KN_OPTION_SUBCYCLING], "sub-cycling is", "false, and equal timesteps");
    refuse(f, g->solver == KN_LOOP_FORI, at[KN_OPTION_SOLVER], "the fixed trip count is", "ift");
    refuse(f, g->diagnostics, at[KN_OPTION_DIAGNOSTICS], "spectral diagnostics are", "false");
}

kiln_status kn_graph_refuse_unsupported(kiln_ctx *ctx, const kn_graph_model *g)
{
    refusal f = {ctx, g, KILN_OK};
    refuse(&f, g->include_at.line > 0, g->include_at, "include is", "the parts in one file");
    for (uint32_t i = 0; i < g->n_nodes && f.status == KILN_OK; i++) {
        const kn_node *n = &g->nodes[i];
        if (n->type->refused)
            f.status = kn_graph_fail(ctx, g, KN_KIND_UNSUPPORTED, n->type_at, "the other types of `kiln nodes`",
                                     "node '%.64s': %s", n->name, n->type->refused);
    }
    refuse(&f, g->param_specs_at.line > 0, g->param_specs_at, "param_specs are",
           "no param_specs: they are for fitting only");
    for (uint32_t i = 0; i < g->n_edges && f.status == KILN_OK; i++)
        refuse(&f, g->edges[i].mapping != NULL, g->edges[i].mapping_at, "mappings are",
               "an edge between equal shapes");
    for (uint32_t i = 0; i < g->n_groups && f.status == KILN_OK; i++) refuse_group(&f, &g->groups[i]);
    const kn_run *run = &g->run;
    refuse(&f, run->adaptive != NULL, run->adaptive_at, "adaptive runs are", "steps");
    refuse(&f, run->checkpoint > 0, run->checkpoint_at, "checkpoints are", "a run without `checkpoint`");
    refuse(&f, run->ensemble != NULL, run->ensemble_at, "ensembles are", "a run without `ensemble`");
    refuse(&f, run->gradient != NULL, run->gradient_at, "gradients are", "a run without `gradient`");
    return f.status;
}
