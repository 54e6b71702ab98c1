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

/* x - anchor - rest */
static kiln_val stretch(const kn_node_frame *f)
{
    kiln_val anchor = kn_frame_in(f, "anchor_position"), s = kn_frame_state(f, "position");
    if (anchor.id) s = kiln_sub(f->t, s, anchor);
    return kiln_sub(f->t, s, kn_frame_param(f, "rest_length"));
}

/* -k stretch - c v */
static kiln_val force(const kn_node_frame *f)
{
    kiln_trace *t = f->t;
    kiln_val pull = kiln_mul(t, kiln_neg(t, kn_frame_param(f, "stiffness")), stretch(f));
    return kiln_sub(t, pull, kiln_mul(t, kn_frame_param(f, "damping"), kn_frame_state(f, "velocity")));
}

/* v1 = v + F/m dt; x1 = x + v1 dt, in this order of operations: iterated groups near the edge of stability show every bit of it.
 * The sum for v1 is formed in f64: a group in f32 then settles, too, where v1 is a small difference of large terms. */
static void update(kn_node_frame *f)
{
    kiln_trace *t = f->t;
    kiln_val v = kn_frame_state(f, "velocity"), rate = kiln_div(t, force(f), kn_frame_param(f, "mass"));
    kiln_dtype real = kiln_val_type(t, v).dtype;
    kiln_val change = kiln_mul(t, kiln_convert(t, rate, KILN_F64), kiln_convert(t, f->dt, KILN_F64));
    v = kiln_convert(t, kiln_add(t, kiln_convert(t, v, KILN_F64), change), real);
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
