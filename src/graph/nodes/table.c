/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/frame.h"

static const kn_param_desc params[] = {
    {.name = "position", .kind = KN_PARAM_NUMBER, .number = 0, .unit = "m", .doc = "height"},
};

static const kn_field_desc state[] = {
    {"position", "", KN_FLOAT, "m", "height, constant"},
};

static void init(const kn_node *n, int field, double *out, size_t count)
{
    (void)field;
    kn_node_fill(n, "position", out, count);
}

static void update(kn_node_frame *f) { kn_frame_out(f, "position", kn_frame_state(f, "position")); }

const kn_node_type kn_node_table = {
    .name = "TableNode",
    .short_name = "table",
    .doc = "A table that stands still.",
    .params = params,
    .n_params = sizeof params / sizeof *params,
    .state = state,
    .n_state = sizeof state / sizeof *state,
    .init = init,
    .update = update,
};
