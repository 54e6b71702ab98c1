/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/kinds.h"

static kiln_status check(kiln_ctx *ctx, const kn_graph_model *g, const kn_node *n)
{
    const kn_param *x = kn_node_param(n, "propeller_x"), *r = kn_node_param(n, "propeller_radius");
    int64_t nx = kn_node_int(n, "nx");
    if (x->integer < 0 || x->integer >= nx)
        return kn_graph_fail(ctx, g, KN_KIND_BAD_VALUE, x->at, "a cell index from 0 to nx - 1",
                          "propeller_x must be in 0..%lld, found %lld", (long long)(nx - 1), (long long)x->integer);
    if (!(r->number > 0 && r->number <= 1))
        return kn_graph_fail(ctx, g, KN_KIND_BAD_VALUE, r->at, "above 0, at most 1",
                          "propeller_radius is a part of the pipe's radius, found %g", r->number);
    return KILN_OK;
}

static const kn_param_desc params[] = {
    {.name = "nx", .kind = KN_PARAM_INT, .number = 64, .constraint = KN_AT_LEAST_ONE,
     .unit = "", .doc = "cells along the pipe"},
    {.name = "ny", .kind = KN_PARAM_INT, .number = 32, .constraint = KN_AT_LEAST_ONE,
     .unit = "", .doc = "cells across"},
    {.name = "nz", .kind = KN_PARAM_INT, .number = 32, .constraint = KN_AT_LEAST_ONE,
     .unit = "", .doc = "cells across"},
    {.name = "tau", .kind = KN_PARAM_NUMBER, .number = 0.8, .constraint = KN_ABOVE_HALF,
     .unit = "lattice", .doc = "relaxation time"},
    {.name = "pipe_radius", .kind = KN_PARAM_NUMBER, .number = 0.9,
     .unit = "", .doc = "part of min(ny, nz)/2"},
    {.name = "propeller_x", .kind = KN_PARAM_INT, .number = 10, .unit = "", .doc = "slice of the disc"},
    {.name = "propeller_radius", .kind = KN_PARAM_NUMBER, .number = 0.8,
     .unit = "", .doc = "part of the pipe radius"},
    {.name = "propeller_strength", .kind = KN_PARAM_NUMBER, .number = 0.0005,
     .unit = "lattice", .doc = "force in the disc"},
    {.name = "initial_velocity", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "lattice", .doc = "along x"},
    {.name = "gravity", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "lattice", .doc = "z component, signed"},
    {.name = "fill_fraction", .kind = KN_PARAM_NUMBER, .number = 1,
     .unit = "", .doc = "part filled with tracer or liquid"},
    {.name = "tau_tracer", .kind = KN_PARAM_NUMBER, .number = 0.6, .constraint = KN_ABOVE_HALF,
     .unit = "lattice", .doc = "relaxation time of the tracer"},
    {.name = "G", .kind = KN_PARAM_NUMBER, .number = 0,
     .unit = "lattice", .doc = "interaction; 0: one phase"},
    {.name = "rho_liquid", .kind = KN_PARAM_NUMBER, .number = 1, .unit = "lattice", .doc = ""},
    {.name = "rho_gas", .kind = KN_PARAM_NUMBER, .number = 0.25, .unit = "lattice", .doc = ""},
    {.name = "rho_0", .kind = KN_PARAM_NUMBER, .number = 1, .unit = "lattice", .doc = ""},
    {.name = "rho_wall", .kind = KN_PARAM_NUMBER, .has = KN_DEFAULT_NONE,
     .unit = "lattice", .doc = "rho_liquid without it"},
    {.name = "initial_rho_liquid", .kind = KN_PARAM_NUMBER, .has = KN_DEFAULT_NONE,
     .unit = "lattice", .doc = "rho_liquid without it"},
    {.name = "initial_rho_gas", .kind = KN_PARAM_NUMBER, .has = KN_DEFAULT_NONE,
     .unit = "lattice", .doc = "rho_gas without it"},
};

static const kn_field_desc state[] = {
    {"f", "nx,ny,nz,19", KN_FLOAT, "lattice", "populations"},
    {"density", "nx,ny,nz", KN_FLOAT, "lattice", ""},
    {"velocity", "nx,ny,nz,3", KN_FLOAT, "lattice", ""},
    {"tracer", "nx,ny,nz", KN_FLOAT, "", ""},
    {"tracer_f", "nx,ny,nz,7", KN_FLOAT, "", "populations of the tracer"},
};

static const kn_input_desc inputs[] = {
    {"propeller_force", "", NULL, "", "propeller_strength"},
};

const kn_node_type kn_node_lbm_pipe = {
    .name = "LBMPipeNode",
    .short_name = "lbm_pipe",
    .doc = "A round pipe along x with a propeller disc and a tracer, D3Q19 with D3Q7 for the tracer, one or "
           "two phases, lattice units, periodic on every axis.",
    .params = params,
    .n_params = sizeof params / sizeof *params,
    .state = state,
    .n_state = sizeof state / sizeof *state,
    .inputs = inputs,
    .n_inputs = sizeof inputs / sizeof *inputs,
    .cells = KN_CELLS_GRID,
    .cell_shape = "nx,ny,nz",
    .refused = "lattice Boltzmann nodes are not part of this version",
    .check = check,
};
