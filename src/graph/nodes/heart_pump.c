/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/frame.h"

static const kn_param_desc params[] = {
    {.name = "resistance", .kind = KN_PARAM_NUMBER, .number = 1, .unit = "", .doc = "R"},
    {.name = "compliance", .kind = KN_PARAM_NUMBER, .number = 1, .unit = "", .doc = "C"},
    {.name = "heart_rate", .kind = KN_PARAM_NUMBER, .number = 72, .unit = "1/min", .doc = ""},
    {.name = "stroke_volume", .kind = KN_PARAM_NUMBER, .number = 70, .unit = "", .doc = "SV"},
    {.name = "venous_pressure", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "", .doc = "Pdown when nothing drives backpressure"},
    {.name = "systole_fraction", .kind = KN_PARAM_NUMBER, .number = 0.35,
     .unit = "", .doc = "sf, part of a beat"},
    {.name = "initial_pressure", .kind = KN_PARAM_NUMBER, .number = 80,
     .unit = "", .doc = "arterial pressure at the start", .start = true},
};

static const kn_field_desc state[] = {
    {"arterial_pressure", "", KN_FLOAT, "", ""},
    {"phase", "", KN_FLOAT, "", "part of the beat done, from 0 to 1"},
    {"flow_rate", "", KN_FLOAT, "", "Q"},
};

static const kn_input_desc inputs[] = {
    {"backpressure", "", NULL, "Pa", "venous_pressure"},
};

static const kn_flux_desc fluxes[] = {
    {"inlet_pressure", "", "the arterial pressure"},
};

static void init(const kn_node *n, int field, double *out, size_t count)
{
    if (field == 0) kn_node_fill(n, "initial_pressure", out, count);
    else memset(out, 0, count * sizeof *out);
}

/* Two-element Windkessel; the flow is a half sine during systole. */
static void update(kn_node_frame *f)
{
    kiln_trace *t = f->t;
    const double pi = 3.14159265358979323846;
    kiln_val systole = kn_frame_param(f, "systole_fraction");
    kiln_val beats = kiln_div(t, kn_frame_param(f, "heart_rate"), kiln_num(t, 60)); /* 1/s */
    kiln_val phase = kiln_rem(t, kiln_add(t, kn_frame_state(f, "phase"), kiln_mul(t, f->dt, beats)), kiln_num(t, 1));
    kiln_val most = kiln_div(t, kiln_mul(t, kiln_mul(t, kn_frame_param(f, "stroke_volume"), kiln_num(t, pi)), beats),
                             kiln_mul(t, kiln_num(t, 2), systole));
    kiln_val wave = kiln_mul(t, most, kiln_sin(t, kiln_div(t, kiln_mul(t, kiln_num(t, pi), phase), systole)));
    kiln_val flow = kiln_select(t, kiln_lt(t, phase, systole), wave, kiln_num(t, 0));
    kiln_val down = kn_frame_in(f, "backpressure"), p = kn_frame_state(f, "arterial_pressure");
    if (!down.id) down = kn_frame_param(f, "venous_pressure");
    kiln_val out = kiln_div(t, kiln_sub(t, p, down), kn_frame_param(f, "resistance"));
    kiln_val rise = kiln_div(t, kiln_sub(t, flow, out), kn_frame_param(f, "compliance"));
    kn_frame_out(f, "arterial_pressure", kiln_add(t, p, kiln_mul(t, rise, f->dt)));
    kn_frame_out(f, "phase", phase);
    kn_frame_out(f, "flow_rate", flow);
}

static kiln_val flux(kn_node_frame *f, int which)
{
    (void)which;
    return kn_frame_state(f, "arterial_pressure");
}

const kn_node_type kn_node_heart_pump = {
    .name = "HeartPumpNode",
    .short_name = "heart_pump",
    .doc = "A heart that pumps into a compliant artery (two-element Windkessel). ph1 = fmod(ph + dt hr/60, "
           "1); qmax = SV pi (hr/60)/(2 sf); Q = qmax sin(pi ph1/sf) while ph1 < sf, else 0; P1 = P + dt (Q "
           "- (P - Pdown)/R)/C.",
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
