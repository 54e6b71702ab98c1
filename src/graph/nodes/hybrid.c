/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/model.h"

static const kn_param_desc params[] = {
    {.name = "base", .kind = KN_PARAM_NODE, .has = KN_DEFAULT_REQUIRED,
     .unit = "", .doc = "{type, parameters}"},
    {.name = "correction", .kind = KN_PARAM_CORRECTION, .has = KN_DEFAULT_REQUIRED,
     .unit = "", .doc = "state field -> expression, added to the base's new value"},
};

const kn_node_type kn_node_hybrid = {
    .name = "HybridNode",
    .short_name = "hybrid",
    .doc = "A node with a correction: the base's new state plus an expression over its state before the "
           "step, its inputs and dt. State, inputs and fluxes are the base's.",
    .params = params,
    .n_params = sizeof params / sizeof *params,
    .refused = "hybrid nodes are not part of this version",
};
