/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/model.h"

static const kn_param_desc params[] = {
    {.name = "stiffness", .kind = KN_PARAM_NUMBER, .number = 100, .unit = "N/m", .doc = "k"},
    {.name = "damping", .kind = KN_PARAM_NUMBER, .number = 1, .unit = "N s/m", .doc = "c"},
    {.name = "mass", .kind = KN_PARAM_NUMBER, .number = 1, .constraint = KN_POSITIVE,
     .unit = "kg", .doc = "m"},
    {.name = "rest_length", .kind = KN_PARAM_NUMBER, .number = 1,
     .unit = "m", .doc = "distance from the anchor without force"},
    {.name = "initial_position", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "m", .doc = "position at the start"},
    {.name = "initial_velocity", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "m/s", .doc = "velocity at the start"},
};

static const kn_field_desc state[] = {
    {"position", "", KN_FLOAT, "m", "of the mass"},
    {"velocity", "", KN_FLOAT, "m/s", "of the mass"},
};

static const kn_input_desc inputs[] = {
    {"anchor_position", "", NULL, "m", "0"},
};

static const kn_flux_desc fluxes[] = {
    {"spring_force", "N", "force on the mass, from the new state and the same anchor"},
};

const kn_node_type kn_node_spring = {
    .name = "SpringDamperNode",
    .short_name = "spring",
    .doc = "A mass on a damped spring. F = -k (x - anchor - rest) - c v; v1 = v + F/m dt; x1 = x + v1 dt.",
    .params = params,
    .n_params = sizeof params / sizeof *params,
    .state = state,
    .n_state = sizeof state / sizeof *state,
    .inputs = inputs,
    .n_inputs = sizeof inputs / sizeof *inputs,
    .fluxes = fluxes,
    .n_fluxes = sizeof fluxes / sizeof *fluxes,
};
