/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/model.h"

static const kn_param_desc params[] = {
    {.name = "initial_position", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "m", .doc = "height at the start"},
    {.name = "initial_velocity", .kind = KN_PARAM_NUMBER, .number = 0, .unit = "m/s", .doc = "upwards"},
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
};
