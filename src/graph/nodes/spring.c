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

/* -k (x - anchor - rest) - c v */
static kiln_val force(const kn_node_frame *f)
{
    kiln_trace *t = f->t;
    kiln_val anchor = kn_frame_in(f, "anchor_position"), stretch = kn_frame_state(f, "position");
    if (anchor.id) stretch = kiln_sub(t, stretch, anchor);
    stretch = kiln_sub(t, stretch, kn_frame_param(f, "rest_length"));
    kiln_val pull = kiln_mul(t, kiln_neg(t, kn_frame_param(f, "stiffness")), stretch);
    return kiln_sub(t, pull, kiln_mul(t, kn_frame_param(f, "damping"), kn_frame_state(f, "velocity")));
}

static void update(kn_node_frame *f)
{
    kiln_trace *t = f->t;
    kiln_val dt_over_m = kiln_div(t, f->dt, kn_frame_param(f, "mass"));
    kiln_val v = kiln_add(t, kn_frame_state(f, "velocity"), kiln_mul(t, force(f), dt_over_m));
    kn_frame_out(f, "position", kiln_add(t, kn_frame_state(f, "position"), kiln_mul(t, v, f->dt)));
    kn_frame_out(f, "velocity", v);
}

static kiln_val flux(kn_node_frame *f, int which)
{
    (void)which;
    return force(f);
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
