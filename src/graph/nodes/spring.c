/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/frame.h"

static const kn_param_desc params[] = {
    {.name = "stiffness", .kind = KN_PARAM_NUMBER, .number = 100, .unit = "N/m", .doc = "k"},
    {.name = "damping", .kind = KN_PARAM_NUMBER, .number = 1, .unit = "N s/m", .doc = "c"},
    {.name = "mass", .kind = KN_PARAM_NUMBER, .number = 1, .constraint = KN_POSITIVE,
     .unit = "kg", .doc = "m"},
    {.name = "rest_length", .kind = KN_PARAM_NUMBER, .number = 1,
     .unit = "m", .doc = "distance from the anchor without force"},
    {.name = "initial_position", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "m", .doc = "position at the start", .start = true},
    {.name = "initial_velocity", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "m/s", .doc = "velocity at the start", .start = true},
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

static void init(const kn_node *n, int field, double *out, size_t count)
{
    kn_node_fill(n, field == 0 ? "initial_position" : "initial_velocity", out, count);
}

/* x - rest - anchor; what does not depend on the anchor comes first, so that a coupling iteration computes it once */
static kiln_val stretch(const kn_node_frame *f)
{
    kiln_val anchor = kn_frame_in(f, "anchor_position");
    kiln_val s = kiln_sub(f->t, kn_frame_state(f, "position"), kn_frame_param(f, "rest_length"));
    return anchor.id ? kiln_sub(f->t, s, anchor) : s;
}

/* v1 = (v - c dt/m v) - k stretch dt/m */
static void update(kn_node_frame *f)
{
    kiln_trace *t = f->t;
    kiln_val dt_over_m = kiln_div(t, f->dt, kn_frame_param(f, "mass")), v = kn_frame_state(f, "velocity");
    kiln_val damping = kiln_mul(t, kn_frame_param(f, "damping"), dt_over_m);
    v = kiln_sub(t, v, kiln_mul(t, damping, v));
    kiln_val pull = kiln_mul(t, kn_frame_param(f, "stiffness"), stretch(f));
    v = kiln_sub(t, v, kiln_mul(t, pull, dt_over_m));
    kn_frame_out(f, "position", kiln_add(t, kn_frame_state(f, "position"), kiln_mul(t, v, f->dt)));
    kn_frame_out(f, "velocity", v);
}

/* -k stretch - c v */
static kiln_val flux(kn_node_frame *f, int which)
{
    kiln_trace *t = f->t;
    (void)which;
    kiln_val pull = kiln_mul(t, kiln_neg(t, kn_frame_param(f, "stiffness")), stretch(f));
    return kiln_sub(t, pull, kiln_mul(t, kn_frame_param(f, "damping"), kn_frame_state(f, "velocity")));
}

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
    .init = init,
    .update = update,
    .flux = flux,
};
