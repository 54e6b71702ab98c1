/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/model.h"

static const double down[] = {0, -9.81};

static const kn_param_desc params[] = {
    {.name = "mass", .kind = KN_PARAM_NUMBER, .number = 1, .unit = "kg", .doc = ""},
    {.name = "inertia", .kind = KN_PARAM_NUMBER, .number = 1,
     .unit = "kg m^2", .doc = "about the centre of mass"},
    {.name = "gravity", .kind = KN_PARAM_VECTOR, .length = 2, .vector = down,
     .unit = "m/s^2", .doc = "acceleration"},
    {.name = "initial_x", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "m", .doc = "position at the start"},
    {.name = "initial_y", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "m", .doc = "position at the start"},
    {.name = "initial_vx", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "m/s", .doc = "velocity at the start"},
    {.name = "initial_vy", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "m/s", .doc = "velocity at the start"},
    {.name = "initial_angle", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "rad", .doc = "angle at the start"},
    {.name = "initial_omega", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "rad/s", .doc = "angular velocity at the start"},
};

static const kn_field_desc state[] = {
    {"x", "2", KN_FLOAT, "m", "centre of mass"},
    {"angle", "", KN_FLOAT, "rad", ""},
    {"v", "2", KN_FLOAT, "m/s", "of the centre of mass"},
    {"omega", "", KN_FLOAT, "rad/s", "angular velocity"},
};

static const kn_input_desc inputs[] = {
    {"force", "2", NULL, "N", "0"},
    {"torque", "", NULL, "N*m", "0"},
};

const kn_node_type kn_node_rigid_body_2d = {
    .name = "RigidBody2DNode",
    .short_name = "rigid_body_2d",
    .doc = "A rigid body in the plane. v1 = v + (F/m + g) dt; x1 = x + v1 dt; omega1 = omega + "
           "torque/inertia dt; angle1 = angle + omega1 dt.",
    .params = params,
    .n_params = sizeof params / sizeof *params,
    .state = state,
    .n_state = sizeof state / sizeof *state,
    .inputs = inputs,
    .n_inputs = sizeof inputs / sizeof *inputs,
};
