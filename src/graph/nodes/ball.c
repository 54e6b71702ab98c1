/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/frame.h"

static const kn_param_desc params[] = {
    {.name = "initial_position", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "m", .doc = "height at the start", .start = true},
    {.name = "initial_velocity", .kind = KN_PARAM_NUMBER, .number = 0, .unit = "m/s", .doc = "upwards", .start = true},
    {.name = "elasticity", .kind = KN_PARAM_NUMBER, .number = 0.8,
     .unit = "", .doc = "part of the speed that a bounce keeps"},
    {.name = "gravity", .kind = KN_PARAM_NUMBER, .number = -9.81,
     .unit = "m/s^2", .doc = "signed acceleration"},
};

static const kn_field_desc state[] = {
    {"position", "", KN_FLOAT, "m", "height"},
    {"velocity", "", KN_FLOAT, "m/s", "upwards"},
};

static const kn_input_desc inputs[] = {
    {"table_position", "", NULL, "m", "no table"},
};

static void init(const kn_node *n, int field, double *out, size_t count)
{
    kn_node_fill(n, field == 0 ? "initial_position" : "initial_velocity", out, count);
}

static void update(kn_node_frame *f)
{
    kiln_trace *t = f->t;
    kiln_val v = kiln_add(t, kn_frame_state(f, "velocity"), kiln_mul(t, kn_frame_param(f, "gravity"), f->dt));
    kiln_val x = kiln_add(t, kn_frame_state(f, "position"), kiln_mul(t, v, f->dt));
    kiln_val table = kn_frame_in(f, "table_position");
    if (table.id) {
        kiln_val below = kiln_lt(t, x, table), fast = kiln_gt(t, kiln_abs(t, v), kiln_num(t, 1e-4));
        kiln_val up = kiln_mul(t, kiln_neg(t, v), kn_frame_param(f, "elasticity"));
        x = kiln_select(t, below, table, x);
        v = kiln_select(t, below, kiln_select(t, fast, up, kiln_num(t, 0)), v);
    }
    kn_frame_out(f, "position", x);
    kn_frame_out(f, "velocity", v);
}

const kn_node_type kn_node_ball = {
    .name = "BallNode",
    .short_name = "ball",
    .doc = "A point mass that falls and bounces. v1 = v + g dt; x1 = x + v1 dt; below the table: x = table, "
           "v = -elasticity v1 if |v1| > 1e-4, else 0.",
    .params = params,
    .n_params = sizeof params / sizeof *params,
    .state = state,
    .n_state = sizeof state / sizeof *state,
    .inputs = inputs,
    .n_inputs = sizeof inputs / sizeof *inputs,
    .init = init,
    .update = update,
};
