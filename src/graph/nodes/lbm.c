/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/kinds.h"

static const double grid[] = {64, 32, 32};
static const char *const lattices[] = {"D2Q9", "D3Q19", NULL};
static const char *const faces[] = {"x_min", "x_max", "y_min", "y_max", "z_min", "z_max", NULL};

static kiln_status check(kiln_ctx *ctx, const kn_graph_model *g, const kn_node *n)
{
    const kn_param *shape = kn_node_param(n, "grid_shape"), *inlet = kn_node_param(n, "inlet_face"),
                   *outlet = kn_node_param(n, "outlet_face");
    bool planar = strcmp(kn_node_param(n, "lattice")->text, "D2Q9") == 0;
    if (shape->n != (planar ? 2 : 3))
        return kn_graph_fail(ctx, g, KN_KIND_BAD_VALUE, shape->at, planar ? "[nx, ny]" : "[nx, ny, nz]",
                          "%s needs %d extents, grid_shape has %zu", planar ? "D2Q9" : "D3Q19", planar ? 2 : 3, shape->n);
    const kn_param *faces_given[] = {inlet, outlet};
    for (int i = 0; i < 2; i++)
        if (planar && faces_given[i]->text[0] == 'z')
            return kn_graph_fail(ctx, g, KN_KIND_BAD_VALUE, faces_given[i]->at, "x_min, x_max, y_min, y_max",
                              "a D2Q9 grid has no face '%s'", faces_given[i]->text);
    if (strcmp(inlet->text, outlet->text) == 0)
        return kn_graph_fail(ctx, g, KN_KIND_BAD_VALUE, outlet->given ? outlet->at : inlet->at, "two different faces",
                             "inlet_face and outlet_face are both '%s'", inlet->text);
    return KILN_OK;
}

static const kn_param_desc params[] = {
    {.name = "grid_shape", .kind = KN_PARAM_INTS, .length = 3, .vector = grid, .constraint = KN_AT_LEAST_ONE,
     .unit = "", .doc = "cells along each axis; 2 extents for D2Q9"},
    {.name = "viscosity", .kind = KN_PARAM_NUMBER, .number = 0.1, .constraint = KN_POSITIVE,
     .unit = "lattice", .doc = "kinematic"},
    {.name = "lattice", .kind = KN_PARAM_TEXT, .text = "D3Q19", .choices = lattices,
     .unit = "", .doc = "set of velocities"},
    {.name = "wall_mask", .kind = KN_PARAM_MASK, .has = KN_DEFAULT_NONE,
     .unit = "", .doc = "non-zero: a wall; without it there are no walls"},
    {.name = "inlet_face", .kind = KN_PARAM_TEXT, .text = "x_min", .choices = faces,
     .unit = "", .doc = "face that inlet_pressure acts on"},
    {.name = "outlet_face", .kind = KN_PARAM_TEXT, .text = "x_max", .choices = faces,
     .unit = "", .doc = "face that outlet_pressure acts on"},
    {.name = "geometry_source", .kind = KN_PARAM_TEXT, .has = KN_DEFAULT_NONE,
     .unit = "", .doc = "not used"},
};

static const kn_field_desc state[] = {
    {"f", "grid,Q", KN_FLOAT, "lattice", "populations"},
    {"density", "grid", KN_FLOAT, "lattice", ""},
    {"velocity", "grid,D", KN_FLOAT, "lattice", ""},
    {"pressure", "grid", KN_FLOAT, "lattice", "density/3"},
    {"wall_mask", "grid", KN_UINT8, "", "1: a wall"},
};

static const kn_input_desc inputs[] = {
    {"inlet_pressure", "", NULL, "", "face open: periodic"},
    {"outlet_pressure", "", NULL, "", "face open: periodic"},
    {"body_force", "grid,D", "D", "", "0"},
    {"wall_mask_update", "grid", NULL, "", "the state's wall_mask"},
};

static const kn_flux_desc fluxes[] = {
    {"outlet_pressure_avg", "lattice", "mean pressure of the fluid cells of the outlet face"},
};

const kn_node_type kn_node_lbm = {
    .name = "LBMNode",
    .short_name = "lbm",
    .doc = "Lattice Boltzmann flow in lattice units, one lattice step a firing: BGK with tau = 1/2 + 3 "
           "viscosity, Guo force, periodic streaming, full-way bounce-back in wall cells, then Zou-He "
           "pressure faces.",
    .params = params,
    .n_params = sizeof params / sizeof *params,
    .state = state,
    .n_state = sizeof state / sizeof *state,
    .inputs = inputs,
    .n_inputs = sizeof inputs / sizeof *inputs,
    .fluxes = fluxes,
    .n_fluxes = sizeof fluxes / sizeof *fluxes,
    .cells = KN_CELLS_GRID,
    .cell_shape = "grid",
    .refused = "lattice Boltzmann nodes are not part of this version",
    .check = check,
};
