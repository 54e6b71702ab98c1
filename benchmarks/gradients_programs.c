/* SPDX-License-Identifier: Apache-2.0 */
#include "gradients.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

/* ---- a network ---- */

static kiln_val matrix(kiln_trace *t, const char *name, int64_t m, int64_t n) { return kiln_input(t, name, (kiln_type){KILN_F64, 2, DIMS(m, n)}); }

static kiln_val layer(kiln_trace *t, kiln_val x, kiln_val w, kiln_val b, int64_t batch, int64_t n)
{
    kiln_val y = kiln_dot(t, x, w, DIMS(1), DIMS(0), 1, NULL, NULL, 0);
    return kiln_add(t, y, kiln_broadcast(t, b, 2, DIMS(batch, n), DIMS(1)));
}

void gradients_mlp(kiln_trace *t)
{
    enum { BATCH = 64, N = 64 };
    kiln_val x = matrix(t, "x", BATCH, N), w1 = matrix(t, "w1", N, N), b1 = kiln_input(t, "b1", KILN_VECTOR(KILN_F64, N));
    kiln_val w2 = matrix(t, "w2", N, N), b2 = kiln_input(t, "b2", KILN_VECTOR(KILN_F64, N)), w3 = matrix(t, "w3", N, 8);
    kiln_val h = kiln_tanh(t, layer(t, kiln_tanh(t, layer(t, x, w1, b1, BATCH, N)), w2, b2, BATCH, N));
    kiln_val y = kiln_dot(t, h, w3, DIMS(1), DIMS(0), 1, NULL, NULL, 0);
    kiln_output(t, "loss", kiln_mul(t, kiln_sum_all(t, kiln_mul(t, y, y)), kiln_num(t, 1.0 / (double)BATCH)));
}

/* ---- a lattice gas: collide, then stream along each of nine velocities ---- */

enum { LATTICE = 32 };

static kiln_val rolled(kiln_trace *t, kiln_val a, int axis, int by)
{
    if (by == 0) return a;
    int64_t cut = by > 0 ? LATTICE - 1 : 1, lo[2] = {0, 0}, hi[2] = {LATTICE, LATTICE}, lo2[2] = {0, 0}, hi2[2] = {LATTICE, LATTICE};
    hi[axis] = cut, lo2[axis] = cut;
    kiln_val parts[2] = {kiln_slice(t, a, lo2, hi2, NULL), kiln_slice(t, a, lo, hi, NULL)};
    return kiln_concatenate(t, parts, 2, axis);
}

static void lattice_step(kiln_trace *t, void *user, const kiln_val *carry, const kiln_val *x, kiln_val *next, kiln_val *y)
{
    static const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const kiln_val *omega = user;
    kiln_val f[9], rho = {0}, ux = {0}, uy = {0}, moved[9];
    (void)x, (void)y;
    for (int k = 0; k < 9; k++) {
        f[k] = kiln_reshape(t, kiln_slice(t, carry[0], DIMS(k, 0, 0), DIMS(k + 1, LATTICE, LATTICE), NULL), 2, DIMS(LATTICE, LATTICE));
        rho = k ? kiln_add(t, rho, f[k]) : f[k];
    }
    for (int k = 1; k < 9; k++) {
        kiln_val px = kiln_mul(t, f[k], kiln_num(t, cx[k])), py = kiln_mul(t, f[k], kiln_num(t, cy[k]));
        ux = k > 1 ? kiln_add(t, ux, px) : px;
        uy = k > 1 ? kiln_add(t, uy, py) : py;
    }
    ux = kiln_div(t, ux, rho), uy = kiln_div(t, uy, rho);
    kiln_val u2 = kiln_mul(t, kiln_num(t, 1.5), kiln_add(t, kiln_mul(t, ux, ux), kiln_mul(t, uy, uy)));
    for (int k = 0; k < 9; k++) {
        double w = k == 0 ? 4.0 / 9 : k < 5 ? 1.0 / 9 : 1.0 / 36;
        kiln_val c = kiln_mul(t, kiln_num(t, 3), kiln_add(t, kiln_mul(t, ux, kiln_num(t, cx[k])), kiln_mul(t, uy, kiln_num(t, cy[k]))));
        kiln_val s = kiln_add(t, kiln_num(t, 1), kiln_add(t, c, kiln_mul(t, kiln_num(t, 0.5), kiln_mul(t, c, c))));
        kiln_val eq = kiln_mul(t, kiln_mul(t, rho, kiln_num(t, w)), kiln_sub(t, s, u2));
        kiln_val g = kiln_add(t, f[k], kiln_mul(t, *omega, kiln_sub(t, eq, f[k])));
        moved[k] = kiln_reshape(t, rolled(t, rolled(t, g, 0, cx[k]), 1, cy[k]), 3, DIMS(1, LATTICE, LATTICE));
    }
    next[0] = kiln_concatenate(t, moved, 9, 0);
}

void gradients_lbm(kiln_trace *t)
{
    kiln_val f = kiln_input(t, "f", (kiln_type){KILN_F64, 3, DIMS(9, LATTICE, LATTICE)}), omega = kiln_input(t, "omega", KILN_SCALAR(KILN_F64)), last;
    kiln_scan(t, lattice_step, &omega, &f, 1, NULL, 0, 0, 20, false, &last);
    kiln_output(t, "sum", kiln_sum_all(t, kiln_mul(t, last, last)));
}

/* ---- three bodies ---- */

static kiln_val forces(kiln_trace *t, kiln_val q, kiln_val m)
{
    kiln_val a = kiln_broadcast(t, q, 3, DIMS(3, 3, 2), DIMS(0, 2)), b = kiln_broadcast(t, q, 3, DIMS(3, 3, 2), DIMS(1, 2)), d = kiln_sub(t, b, a);
    kiln_val r2 = kiln_add(t, kiln_reduce(t, "reduce_sum", kiln_mul(t, d, d), DIMS(2), 1), kiln_num(t, 0.05));
    kiln_val w = kiln_div(t, kiln_broadcast(t, m, 2, DIMS(3, 3), DIMS(1)), kiln_mul(t, r2, kiln_sqrt(t, r2)));
    return kiln_reduce(t, "reduce_sum", kiln_mul(t, d, kiln_broadcast(t, w, 3, DIMS(3, 3, 2), DIMS(0, 1))), DIMS(1), 1);
}
static void kick_drift(kiln_trace *t, void *user, const kiln_val *c, const kiln_val *x, kiln_val *next, kiln_val *y)
{
    kiln_val h = kiln_num(t, 1e-3);
    (void)x, (void)y;
    next[1] = kiln_add(t, c[1], kiln_mul(t, h, forces(t, c[0], *(const kiln_val *)user)));
    next[0] = kiln_add(t, c[0], kiln_mul(t, h, next[1]));
}
void gradients_leapfrog(kiln_trace *t)
{
    kiln_val init[2], m, last[2];
    init[0] = matrix(t, "q", 3, 2);
    init[1] = matrix(t, "v", 3, 2);
    m = kiln_input(t, "m", KILN_VECTOR(KILN_F64, 3));
    kiln_scan(t, kick_drift, &m, init, 2, NULL, 0, 0, 1000, false, last);
    kiln_output(t, "sum", kiln_add(t, kiln_sum_all(t, kiln_mul(t, last[0], last[0])), kiln_sum_all(t, kiln_mul(t, last[1], last[1]))));
}

/* ---- a rod ---- */

enum { ROD = 256 };
static void rod_step(kiln_trace *t, void *user, const kiln_val *c, const kiln_val *x, kiln_val *next, kiln_val *y)
{
    kiln_val l = kiln_slice(t, c[0], DIMS(0), DIMS(ROD - 2), NULL), m = kiln_slice(t, c[0], DIMS(1), DIMS(ROD - 1), NULL), r = kiln_slice(t, c[0], DIMS(2), DIMS(ROD), NULL);
    kiln_val flow = kiln_sub(t, kiln_add(t, l, r), kiln_mul(t, m, kiln_num(t, 2)));
    (void)x, (void)y;
    next[0] = kiln_add(t, c[0], kiln_mul(t, *(const kiln_val *)user, kiln_pad(t, flow, kiln_scalar(t, KILN_F64, 0), DIMS(1), DIMS(1), DIMS(0))));
}
void gradients_heat_rod(kiln_trace *t)
{
    kiln_val u = kiln_input(t, "u", KILN_VECTOR(KILN_F64, ROD)), k = kiln_input(t, "k", KILN_SCALAR(KILN_F64)), last;
    kiln_scan(t, rod_step, &k, &u, 1, NULL, 0, 0, 1000, false, &last);
    kiln_output(t, "sum", kiln_sum_all(t, kiln_mul(t, last, last)));
}

/* ---- particles: offsets from the points of a lattice ---- */

void gradients_lennard_jones(kiln_trace *t)
{
    enum { N = 64, SIDE = 4 };
    const double box = 6.4, cut = 2.5;
    kiln_val dx = matrix(t, "dx", N, 3), k = kiln_iota(t, KILN_VECTOR(KILN_I32, N), 0), at[3], lattice[3];
    at[0] = kiln_rem(t, k, kiln_num(t, SIDE));
    at[1] = kiln_rem(t, kiln_div(t, k, kiln_num(t, SIDE)), kiln_num(t, SIDE));
    at[2] = kiln_div(t, k, kiln_num(t, SIDE * SIDE));
    for (int d = 0; d < 3; d++) lattice[d] = kiln_reshape(t, kiln_convert(t, at[d], KILN_F64), 2, DIMS(N, 1));
    kiln_val x = kiln_add(t, dx, kiln_mul(t, kiln_concatenate(t, lattice, 3, 1), kiln_num(t, box / (double)SIDE)));
    kiln_val d = kiln_sub(t, kiln_broadcast(t, x, 3, DIMS(N, N, 3), DIMS(0, 2)), kiln_broadcast(t, x, 3, DIMS(N, N, 3), DIMS(1, 2)));
    d = kiln_sub(t, d, kiln_mul(t, kiln_num(t, box), kiln_round(t, kiln_mul(t, d, kiln_num(t, 1 / box)))));
    kiln_val r2 = kiln_reduce(t, "reduce_sum", kiln_mul(t, d, d), DIMS(2), 1), i = kiln_iota(t, ((kiln_type){KILN_I32, 2, DIMS(N, N)}), 0);
    kiln_val other = kiln_and(t, kiln_ne(t, i, kiln_iota(t, ((kiln_type){KILN_I32, 2, DIMS(N, N)}), 1)), kiln_lt(t, r2, kiln_num(t, cut * cut)));
    kiln_val safe = kiln_select(t, other, r2, kiln_broadcast(t, kiln_scalar(t, KILN_F64, 1), 2, DIMS(N, N), NULL));
    kiln_val s = kiln_div(t, kiln_num(t, 1), safe), s3 = kiln_mul(t, kiln_mul(t, s, s), s);
    kiln_val e = kiln_mul(t, kiln_num(t, 4), kiln_sub(t, kiln_mul(t, s3, s3), s3));
    kiln_val pairs = kiln_select(t, other, e, kiln_broadcast(t, kiln_scalar(t, KILN_F64, 0), 2, DIMS(N, N), NULL));
    kiln_output(t, "energy", kiln_mul(t, kiln_num(t, 0.5), kiln_sum_all(t, pairs)));
}

/* ---- many equations ---- */

void gradients_chain(kiln_trace *t, int n)
{
    kiln_val x = kiln_input(t, "x", KILN_VECTOR(KILN_F64, 4)), y = x;
    for (int k = 0; k + 1 < n; k++)
        y = k % 4 == 0 ? kiln_sin(t, y) : k % 4 == 1 ? kiln_mul(t, y, x) : k % 4 == 2 ? kiln_add(t, y, x) : kiln_mul(t, y, kiln_num(t, 0.5));
    kiln_output(t, "sum", kiln_sum_all(t, y));
}
