/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/frame.h"

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
     .unit = "m", .doc = "position at the start", .start = true},
    {.name = "initial_velocity", .kind = KN_PARAM_VECTOR, .length = 3, .vector = zeros,
     .unit = "m/s", .doc = "velocity at the start", .start = true},
    {.name = "initial_orientation", .kind = KN_PARAM_VECTOR, .length = 4, .vector = upright,
     .unit = "", .doc = "quaternion w, x, y, z", .start = true},
    {.name = "initial_angular_velocity", .kind = KN_PARAM_VECTOR, .length = 3, .vector = zeros,
     .unit = "rad/s", .doc = "about the world axes", .start = true},
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

static void init(const kn_node *n, int field, double *out, size_t count)
{
    static const char *const from[] = {"initial_position", "initial_orientation", "initial_velocity", "initial_angular_velocity"};
    kn_node_fill(n, from[field], out, count);
}

static kiln_val sum_of_products(kiln_trace *t, kiln_val a0, kiln_val b0, kiln_val a1, kiln_val b1, kiln_val a2, kiln_val b2)
{
    return kiln_add(t, kiln_add(t, kiln_mul(t, a0, b0), kiln_mul(t, a1, b1)), kiln_mul(t, a2, b2));
}

/* The quaternion after dt with angular velocity w (world axes), of length 1. */
static void rotate(kn_node_frame *f, const kiln_val *w, kiln_val *q)
{
    kiln_trace *t = f->t;
    kiln_val half = kiln_mul(t, kiln_num(t, 0.5), f->dt), d[4];
    d[0] = kiln_neg(t, sum_of_products(t, w[0], q[1], w[1], q[2], w[2], q[3]));
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        kiln_val cross = kiln_sub(t, kiln_mul(t, w[j], q[1 + k]), kiln_mul(t, w[k], q[1 + j]));
        d[1 + i] = kiln_add(t, kiln_mul(t, w[i], q[0]), cross);
    }
    for (int i = 0; i < 4; i++) q[i] = kiln_add(t, q[i], kiln_mul(t, half, d[i]));
    kiln_val square = kiln_add(t, kiln_mul(t, q[0], q[0]), sum_of_products(t, q[1], q[1], q[2], q[2], q[3], q[3]));
    kiln_val length = kiln_sqrt(t, square);
    for (int i = 0; i < 4; i++) q[i] = kiln_div(t, q[i], length);
}

static void update(kn_node_frame *f)
{
    kiln_trace *t = f->t;
    kiln_val mass = kn_frame_param(f, "mass"), acceleration = kn_frame_param(f, "gravity");
    kiln_val force = kn_frame_in(f, "force"), torque = kn_frame_in(f, "torque"), spin = kn_frame_state(f, "angular_velocity");
    if (force.id) acceleration = kiln_add(t, kiln_div(t, force, mass), acceleration);
    if (torque.id) spin = kiln_add(t, spin, kiln_mul(t, kiln_div(t, torque, kn_frame_param(f, "inertia")), f->dt));
    kiln_val x[3], v[3], w[3], q[4], locks[6];
    kiln_val speed = kiln_add(t, kn_frame_state(f, "velocity"), kiln_mul(t, acceleration, f->dt));
    kn_frame_items(f, speed, 3, v);
    kn_frame_items(f, kiln_add(t, kn_frame_state(f, "position"), kiln_mul(t, speed, f->dt)), 3, x);
    kn_frame_items(f, spin, 3, w);
    kn_frame_items(f, kn_frame_state(f, "orientation"), 4, q);
    rotate(f, w, q);
    const kn_param *p = kn_node_param(f->node, "constraints");
    if (p->n) kn_frame_items(f, kn_frame_param(f, "constraints"), (uint32_t)p->n, locks);
    for (size_t i = 0; i < p->n; i++) {
        int axis = p->locks[i].axis;
        if (axis < 3) x[axis] = locks[i], v[axis] = kn_frame_zero(f);
        else w[axis - 3] = locks[i];
    }
    kn_frame_out(f, "position", kn_frame_stack(f, x, 3));
    kn_frame_out(f, "velocity", kn_frame_stack(f, v, 3));
    kn_frame_out(f, "angular_velocity", kn_frame_stack(f, w, 3));
    kn_frame_out(f, "orientation", kn_frame_stack(f, q, 4));
}

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
    .init = init,
    .update = update,
};
