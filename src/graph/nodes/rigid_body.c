/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/model.h"

static const double ones[] = {1, 1, 1}, zeros[] = {0, 0, 0}, down[] = {0, 0, -9.81}, upright[] = {1, 0, 0, 0};

static const kn_param_desc params[] = {
    {.name = "mass", .kind = KN_PARAM_NUMBER, .number = 1, .constraint = KN_POSITIVE,
     .unit = "kg", .doc = ""},
    {.name = "inertia", .kind = KN_PARAM_VECTOR, .length = 3, .vector = ones, .constraint = KN_POSITIVE,
     .unit = "kg m^2", .doc = "principal moments"},
    {.name = "gravity", .kind = KN_PARAM_VECTOR, .length = 3, .vector = down,
     .unit = "m/s^2", .doc = "acceleration"},
    {.name = "constraints", .kind = KN_PARAM_LOCKS,
     .unit = "m, rad/s", .doc = "x y z rx ry rz -> locked value; none are locked by default"},
    {.name = "initial_position", .kind = KN_PARAM_VECTOR, .length = 3, .vector = zeros,
     .unit = "m", .doc = "position at the start"},
    {.name = "initial_velocity", .kind = KN_PARAM_VECTOR, .length = 3, .vector = zeros,
     .unit = "m/s", .doc = "velocity at the start"},
    {.name = "initial_orientation", .kind = KN_PARAM_VECTOR, .length = 4, .vector = upright,
     .unit = "", .doc = "quaternion w, x, y, z"},
    {.name = "initial_angular_velocity", .kind = KN_PARAM_VECTOR, .length = 3, .vector = zeros,
     .unit = "rad/s", .doc = "about the world axes"},
};

static const kn_field_desc state[] = {
    {"position", "3", KN_FLOAT, "m", "centre of mass"},
    {"orientation", "4", KN_FLOAT, "", "unit quaternion w, x, y, z"},
    {"velocity", "3", KN_FLOAT, "m/s", "of the centre of mass"},
    {"angular_velocity", "3", KN_FLOAT, "rad/s", "about the world axes"},
};

static const kn_input_desc inputs[] = {
    {"force", "3", NULL, "N", "0"},
    {"torque", "3", NULL, "N*m", "0"},
};

const kn_node_type kn_node_rigid_body = {
    .name = "RigidBodyNode",
    .short_name = "rigid_body",
    .doc = "A free rigid body in three dimensions. v1 = v + (F/m + g) dt; p1 = p + v1 dt; w1 = w + "
           "torque/inertia dt (world axes, no gyroscopic term); q1 = normalise(q + dt/2 (0,w1) q); then the "
           "locks: x y z set the position and stop the velocity, rx ry rz set the angular velocity.",
    .params = params,
    .n_params = sizeof params / sizeof *params,
    .state = state,
    .n_state = sizeof state / sizeof *state,
    .inputs = inputs,
    .n_inputs = sizeof inputs / sizeof *inputs,
};
