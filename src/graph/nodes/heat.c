/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/frame.h"
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
     .unit = "K", .doc = "one value, or one a cell", .start = true},
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

static void init(const kn_node *n, int field, double *out, size_t count)
{
    (void)field;
    kn_node_fill(n, "initial_temperature", out, count);
}

static kiln_val vector_of_one(kiln_trace *t, kiln_val v)
{
    static const int64_t one = 1;
    return kiln_reshape(t, v, 1, &one);
}

static kiln_val part(kiln_trace *t, kiln_val v, int64_t from, int64_t n)
{
    int64_t to = from + n;
    return kiln_slice(t, v, &from, &to, NULL);
}

/* 2a - b: the value, or the place, mirrored at a. */
static kiln_val mirrored(kiln_trace *t, kiln_val a, kiln_val b) { return kiln_sub(t, kiln_mul(t, kiln_num(t, 2), a), b); }

/* Adds one entry at each end; the left one stands a spacing before the first. */
static kiln_val with_ends(kiln_trace *t, kiln_val left, kiln_val v, kiln_val right)
{
    return kiln_concatenate(t, ((kiln_val[]){vector_of_one(t, left), v, vector_of_one(t, right)}), 3, 0);
}

/* The ghost cell of order 2: it makes the rod end (half a spacing outside) have the datum; without datum the end is insulated. */
static kiln_val ghost(kiln_trace *t, kiln_val datum, kiln_val end) { return datum.id ? mirrored(t, datum, end) : end; }

/* alpha dt Lap(T) of the three-point form, from the cells and their neighbours. */
static kiln_val second_difference(kiln_trace *t, kiln_val c, kiln_val left, kiln_val mid, kiln_val right)
{
    return kiln_mul(t, c, kiln_add(t, kiln_sub(t, right, kiln_mul(t, kiln_num(t, 2), mid)), left));
}

/* (a b0 + c b1 + d b2 + e b3)/5: the ghost cells of order 4, b0 the datum, the others the nearest cells */
static kiln_val ghost_of_order_4(kiln_trace *t, const double *weights, const kiln_val *b)
{
    kiln_val sum = kiln_mul(t, kiln_num(t, weights[0]), b[0]);
    for (int i = 1; i < 4; i++) sum = kiln_add(t, sum, kiln_mul(t, kiln_num(t, weights[i]), b[i]));
    return kiln_div(t, sum, kiln_num(t, 5));
}

/* Cells 1..n-2 by five points, the end cells by three; two ghost cells at each end. */
static kiln_val change_of_order_4(const kn_node_frame *f, kiln_val c, kiln_val T, int64_t n, kiln_val left, kiln_val right)
{
    static const double near[] = {16, -15, 5, -1}, far[] = {64, -90, 40, -9};
    kiln_trace *t = f->t;
    kiln_val l[4], r[4], p[5];
    for (int i = 0; i < 3; i++) l[1 + i] = kiln_item(t, T, i), r[1 + i] = kiln_item(t, T, n - 1 - i);
    l[0] = left.id ? left : l[1], r[0] = right.id ? right : r[1];
    kiln_val l1 = ghost_of_order_4(t, near, l), r1 = ghost_of_order_4(t, near, r);
    kiln_val padded = kiln_concatenate(t, ((kiln_val[]){vector_of_one(t, ghost_of_order_4(t, far, l)), vector_of_one(t, l1), T,
                                                        vector_of_one(t, r1), vector_of_one(t, ghost_of_order_4(t, far, r))}), 5, 0);
    for (int i = 0; i < 5; i++) p[i] = part(t, padded, 1 + i, n - 2);
    kiln_val sum = kiln_sub(t, kiln_mul(t, kiln_num(t, 16), p[1]), p[0]);
    sum = kiln_sub(t, sum, kiln_mul(t, kiln_num(t, 30), p[2]));
    sum = kiln_add(t, sum, kiln_mul(t, kiln_num(t, 16), p[3]));
    sum = kiln_sub(t, sum, p[4]);
    kiln_val inner = kiln_mul(t, kiln_div(t, c, kiln_num(t, 12)), sum);
    return with_ends(t, second_difference(t, c, l1, l[1], l[2]), inner, second_difference(t, c, r[2], r[1], r1));
}

/* 2 [(Tr-T)/hr - (T-Tl)/hl]/(hl+hr); the weights depend on the grid alone */
static kiln_val change_on_points(const kn_node_frame *f, kiln_val alpha_dt, kiln_val T, int64_t n, kiln_val left, kiln_val right)
{
    kiln_trace *t = f->t;
    kiln_val x = kn_frame_param(f, "grid_points");
    kiln_val xp = with_ends(t, mirrored(t, kiln_item(t, x, 0), kiln_item(t, x, 1)), x,
                            mirrored(t, kiln_item(t, x, -1), kiln_item(t, x, -2)));
    kiln_val Tp = with_ends(t, left, T, right);
    kiln_val hr = kiln_sub(t, part(t, xp, 2, n), x), hl = kiln_sub(t, x, part(t, xp, 0, n));
    kiln_val twice = kiln_mul(t, kiln_num(t, 2), alpha_dt), both = kiln_add(t, hl, hr);
    kiln_val to_right = kiln_mul(t, kiln_div(t, twice, kiln_mul(t, hr, both)), kiln_sub(t, part(t, Tp, 2, n), T));
    kiln_val to_left = kiln_mul(t, kiln_div(t, twice, kiln_mul(t, hl, both)), kiln_sub(t, T, part(t, Tp, 0, n)));
    return kiln_sub(t, to_right, to_left);
}

static void update(kn_node_frame *f)
{
    kiln_trace *t = f->t;
    kiln_val T = kn_frame_state(f, "temperature"), source = kn_frame_in(f, "heat_source");
    kiln_val left = kn_frame_in(f, "left_temperature"), right = kn_frame_in(f, "right_temperature"), change;
    int64_t n = kn_node_int(f->node, "n_cells");
    kiln_val alpha_dt = kiln_mul(t, kn_frame_param(f, "thermal_diffusivity"), f->dt);
    kiln_val left_ghost = ghost(t, left, kiln_item(t, T, 0)), right_ghost = ghost(t, right, kiln_item(t, T, -1));
    if (!kn_node_param(f->node, "grid_points")->none) {
        change = change_on_points(f, alpha_dt, T, n, left_ghost, right_ghost);
    } else {
        kiln_val dx = kiln_div(t, kn_frame_param(f, "length"), kiln_num(t, (double)n));
        kiln_val c = kiln_div(t, alpha_dt, kiln_mul(t, dx, dx));
        if (kn_node_int(f->node, "stencil_order") == 4) {
            change = change_of_order_4(f, c, T, n, left, right);
        } else {
            kiln_val padded = with_ends(t, left_ghost, T, right_ghost);
            change = second_difference(t, c, part(t, padded, 0, n), T, part(t, padded, 2, n));
        }
    }
    kiln_val next = kiln_add(t, T, change);
    if (source.id) next = kiln_add(t, next, kiln_mul(t, source, f->dt));
    kn_frame_out(f, "temperature", next);
}

/* Sum of weights and values, where weight j is the derivative at 0 of the polynomial that is 1 at place j and 0 at the others. */
static kiln_val derivative_at_0(kiln_trace *t, const kiln_val *place, const kiln_val *value, int n)
{
    kiln_val sum = {0};
    for (int j = 0; j < n; j++) {
        kiln_val weight = {0};
        for (int i = 0; i < n; i++) {
            if (i == j) continue;
            kiln_val term = kiln_div(t, kiln_num(t, 1), kiln_sub(t, place[j], place[i]));
            for (int k = 0; k < n; k++)
                if (k != i && k != j)
                    term = kiln_mul(t, term, kiln_div(t, kiln_neg(t, place[k]), kiln_sub(t, place[j], place[k])));
            weight = weight.id ? kiln_add(t, weight, term) : term;
        }
        if (!weight.id) weight = kiln_num(t, 0);
        kiln_val part_of_sum = kiln_mul(t, weight, value[j]);
        sum = sum.id ? kiln_add(t, sum, part_of_sum) : part_of_sum;
    }
    return sum;
}

/* -alpha dT/dx at a rod end, from the datum (if driven) and the nearest cells. Places are measured from the end inwards, in
 * spacings or (grid_points) in m. */
static kiln_val flux(kn_node_frame *f, int which)
{
    kiln_trace *t = f->t;
    kiln_val T = kn_frame_state(f, "temperature"), datum = kn_frame_in(f, which == 0 ? "left_temperature" : "right_temperature");
    int64_t cells = kn_node_int(f->node, "n_cells");
    bool points = !kn_node_param(f->node, "grid_points")->none;
    int64_t k = datum.id ? (points ? 2 : kn_node_int(f->node, "stencil_order")) : 3;
    if (k > cells) k = cells;
    kiln_val place[5], value[5], x = kn_frame_param(f, "grid_points"), edge = {0};
    int n = 0;
    if (datum.id) place[n] = kiln_num(t, 0), value[n++] = datum;
    if (points) /* the end stands half a spacing outside: 1.5 x0 - 0.5 x1 */
        edge = kiln_sub(t, kiln_mul(t, kiln_num(t, 1.5), kiln_item(t, x, which == 0 ? 0 : -1)),
                        kiln_mul(t, kiln_num(t, 0.5), kiln_item(t, x, which == 0 ? 1 : -2)));
    for (int64_t i = 0; i < k; i++) {
        int64_t at = which == 0 ? i : cells - 1 - i;
        value[n] = kiln_item(t, T, at);
        if (!points) place[n++] = kiln_num(t, (double)(2 * i + 1) / 2);
        else if (which == 0) place[n++] = kiln_sub(t, kiln_item(t, x, at), edge);
        else place[n++] = kiln_sub(t, edge, kiln_item(t, x, at));
    }
    kiln_val slope = derivative_at_0(t, place, value, n);
    if (!points) slope = kiln_div(t, slope, kiln_div(t, kn_frame_param(f, "length"), kiln_num(t, (double)cells)));
    kiln_val alpha = kn_frame_param(f, "thermal_diffusivity");
    return kiln_mul(t, which == 0 ? kiln_neg(t, alpha) : alpha, slope);
}

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
    .init = init,
    .update = update,
    .flux = flux,
};
