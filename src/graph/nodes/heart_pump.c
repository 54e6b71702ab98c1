/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/model.h"

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
     .unit = "", .doc = "arterial pressure at the start"},
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
};
