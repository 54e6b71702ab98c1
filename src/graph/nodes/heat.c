/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/kinds.h"

#include <math.h>

/* Largest stable alpha dt/dx^2. */
static const double most_order_2 = 0.5, most_order_4 = 5.0 / 16.0;

/* alpha dt over the smallest product of neighbouring spacings, those at the ends mirrored; false: not increasing */
static bool fourier_of_points(const double *x, size_t n, double alpha_dt, double *out)
{
    double least = INFINITY;
    for (size_t i = 0; i < n && n > 1; i++) {
        double left = i > 0 ? x[i] - x[i - 1] : x[1] - x[0];
        double right = i + 1 < n ? x[i + 1] - x[i] : x[n - 1] - x[n - 2];
        if (!(left > 0 && right > 0)) return false;
        if (left * right < least) least = left * right;
    }
    *out = alpha_dt / least;
    return true;
}

static kiln_status check(kiln_ctx *ctx, const kn_graph_model *g, const kn_node *n)
{
    const kn_param *order = kn_node_param(n, "stencil_order"), *points = kn_node_param(n, "grid_points");
    int64_t cells = kn_node_int(n, "n_cells");
    double alpha_dt = n->timestep * kn_node_number(n, "thermal_diffusivity");
    if (order->integer != 2 && order->integer != 4)
        return kn_graph_fail(ctx, g, KN_KIND_BAD_VALUE, order->at, "2 or 4",
                          "stencil_order must be 2 or 4, found %lld", (long long)order->integer);
    if (order->integer == 4 && cells < 5)
        return kn_graph_fail(ctx, g, KN_KIND_BAD_VALUE, order->at, "2, or n_cells of at least 5",
                          "order 4 needs at least 5 cells, '%s' has %lld", n->name, (long long)cells);
    double most = order->integer == 4 ? most_order_4 : most_order_2, fourier;
    if (points->none) {
        double dx = kn_node_number(n, "length") / (double)cells;
        fourier = alpha_dt / (dx * dx);
    } else {
        most = most_order_2;
        if (!fourier_of_points(points->v, points->n, alpha_dt, &fourier))
            return kn_graph_fail(ctx, g, KN_KIND_BAD_VALUE, points->at, "cell centres from left to right, in m",
                              "grid_points must increase");
    }
    if (fourier > most)
        return kn_graph_fail(ctx, g, KN_KIND_UNSTABLE, n->at, "a smaller timestep or wider cells",
                          "Fourier number %.4g of rod '%s' is above %g: timestep %.4g s is too long", fourier, n->name, most,
                          n->timestep);
    return KILN_OK;
}

static const kn_param_desc params[] = {
    {.name = "n_cells", .kind = KN_PARAM_INT, .number = 10, .constraint = KN_AT_LEAST_ONE,
     .unit = "", .doc = "number of cells"},
    {.name = "length", .kind = KN_PARAM_NUMBER, .number = 1, .constraint = KN_POSITIVE,
     .unit = "m", .doc = "of the rod; ignored with grid_points"},
    {.name = "thermal_diffusivity", .kind = KN_PARAM_NUMBER, .number = 0.01, .constraint = KN_NOT_NEGATIVE,
     .unit = "m^2/s", .doc = "alpha"},
    {.name = "initial_temperature", .kind = KN_PARAM_CELLS, .number = 0,
     .unit = "K", .doc = "one value, or one a cell"},
    {.name = "stencil_order", .kind = KN_PARAM_INT, .number = 2,
     .unit = "", .doc = "2 or 4; 4 needs at least 5 cells"},
    {.name = "grid_points", .kind = KN_PARAM_CELLS, .has = KN_DEFAULT_NONE,
     .unit = "m", .doc = "increasing cell centres; then length is ignored and order 2 is used"},
    {.name = "geometry_source", .kind = KN_PARAM_TEXT, .has = KN_DEFAULT_NONE,
     .unit = "", .doc = "not used"},
};

static const kn_field_desc state[] = {
    {"temperature", "n_cells", KN_FLOAT, "K", "cell values"},
};

static const kn_input_desc inputs[] = {
    {"left_temperature", "", NULL, "K", "insulated end"},
    {"right_temperature", "", NULL, "K", "insulated end"},
    {"heat_source", "n_cells", NULL, "K/s", "0"},
};

static const kn_flux_desc fluxes[] = {
    {"left_heat_flux", "K m/s", "-alpha dT/dx at the left end"},
    {"right_heat_flux", "K m/s", "-alpha dT/dx at the right end"},
};

const kn_node_type kn_node_heat = {
    .name = "HeatNode",
    .short_name = "heat",
    .doc = "A rod with heat conduction, cell centred, explicit Euler. T1 = T + alpha dt Lap(T) + s dt; Lap "
           "of order 2 or 4, or the three-point form on grid_points; ghosts from the temperature at the rod "
           "end.",
    .params = params,
    .n_params = sizeof params / sizeof *params,
    .state = state,
    .n_state = sizeof state / sizeof *state,
    .inputs = inputs,
    .n_inputs = sizeof inputs / sizeof *inputs,
    .fluxes = fluxes,
    .n_fluxes = sizeof fluxes / sizeof *fluxes,
    .cells = KN_CELLS_ROD,
    .cell_shape = "n_cells",
    .check = check,
};
