/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/frame.h"

static const double down[] = {0, -9.81};

static const kn_param_desc params[] = {
    {.name = "mass", .kind = KN_PARAM_NUMBER, .number = 1, .unit = "kg", .doc = ""},
    {.name = "inertia", .kind = KN_PARAM_NUMBER, .number = 1,
     .unit = "kg m^2", .doc = "about the centre of mass"},
    {.name = "gravity", .kind = KN_PARAM_VECTOR, .length = 2, .vector = down,
     .unit = "m/s^2", .doc = "acceleration"},
    {.name = "initial_x", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "m", .doc = "position at the start", .start = true},
    {.name = "initial_y", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "m", .doc = "position at the start", .start = true},
    {.name = "initial_vx", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "m/s", .doc = "velocity at the start", .start = true},
    {.name = "initial_vy", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "m/s", .doc = "velocity at the start", .start = true},
    {.name = "initial_angle", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "rad", .doc = "angle at the start", .start = true},
    {.name = "initial_omega", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "rad/s", .doc = "angular velocity at the start", .start = true},
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

static void init(const kn_node *n, int field, double *out, size_t count)
{
    static const char *const from[][2] = {
        {"initial_x", "initial_y"}, {"initial_angle", NULL}, {"initial_vx", "initial_vy"}, {"initial_omega", NULL}};
    for (size_t i = 0; i < count; i++) kn_node_fill(n, from[field][i], &out[i], 1);
}

static void update(kn_node_frame *f)
{
    kiln_trace *t = f->t;
    kiln_val acceleration = kn_frame_param(f, "gravity"), force = kn_frame_in(f, "force"), torque = kn_frame_in(f, "torque");
    kiln_val omega = kn_frame_state(f, "omega");
    if (force.id) acceleration = kiln_add(t, kiln_div(t, force, kn_frame_param(f, "mass")), acceleration);
    if (torque.id) omega = kiln_add(t, omega, kiln_mul(t, kiln_div(t, torque, kn_frame_param(f, "inertia")), f->dt));
    kiln_val v = kiln_add(t, kn_frame_state(f, "v"), kiln_mul(t, acceleration, f->dt));
    kn_frame_out(f, "v", v);
    kn_frame_out(f, "x", kiln_add(t, kn_frame_state(f, "x"), kiln_mul(t, v, f->dt)));
    kn_frame_out(f, "omega", omega);
    kn_frame_out(f, "angle", kiln_add(t, kn_frame_state(f, "angle"), kiln_mul(t, omega, f->dt)));
}

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
    .init = init,
    .update = update,
};
