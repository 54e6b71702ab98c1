/* SPDX-License-Identifier: Apache-2.0 */
/* From the iterate x and y = F(x) to the next iterate. r = y - x:
 *   none     y
 *   fixed    x + omega r
 *   aitken   x + omega r, omega <- -omega (r' . (r - r')) / |r - r'|^2 within [0.01, 2], r' the r of the pass before;
 *            omega starts at 1 and stays while r' is none or 0 (Irons and Tuck 1969). Dot products, omega and the sum
 *            x + omega r in f64, rounded once. */
#include "graph/group.h"

enum { OMEGA, NONZERO, FIRST_R };

/* Near the edge of convergence the factor shows every rounding of its two sums, and the number of passes with it. Few scalars
 * are therefore added up in the plain order that other codes use: r'.(r - r') as one chain of fma, behind four lanes of four
 * products where there are 16; |r - r'|^2 one after the other, from 8 entries on in 8 chains that combine pairwise, the rest
 * after them. Longer vectors keep the order of reductions. */
enum { FEW_SCALARS = 32, CHAINS = 8, LANES = 4, TILE = LANES * LANES };

/* Scalars of the members are one vector. */
kiln_val kn_group_stack(kn_solver *s, const kiln_val *slots)
{
    static const int64_t one = 1;
    kiln_val *parts = KN_STEP_ARRAY(s->c, kiln_val, s->n_slots);
    uint32_t n = 0;
    if (!parts) return (kiln_val){0};
    for (uint32_t i = 0; i < s->n_slots; i++)
        if (kn_is_real(s, s->slot[i]) && kn_is_scalar(s, s->slot[i])) parts[n++] = kiln_reshape(s->c->t, slots[s->slot[i]], 1, &one);
    return n ? kiln_concatenate(s->c->t, parts, n, 0) : (kiln_val){0};
}

static int64_t count_scalars(const kn_solver *s)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < s->n_slots; i++) n += kn_is_real(s, s->slot[i]) && kn_is_scalar(s, s->slot[i]);
    return n;
}

static uint32_t count_arrays(const kn_solver *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_slots; i++) n += kn_is_real(s, s->slot[i]) && !kn_is_scalar(s, s->slot[i]);
    return n;
}

/* Blocks of the float state: the scalars as one vector (when there are any), then each array. */
static uint32_t blocks_of(kn_solver *s, const kiln_val *slots, kiln_val *out)
{
    uint32_t n = 0;
    kiln_val stacked = kn_group_stack(s, slots);
    if (stacked.id) out[n++] = stacked;
    for (uint32_t i = 0; i < s->n_slots; i++)
        if (kn_is_real(s, s->slot[i]) && !kn_is_scalar(s, s->slot[i])) out[n++] = slots[s->slot[i]];
    return n;
}

static void blocks_to(kn_solver *s, const kiln_val *blocks, kiln_val *slots)
{
    uint32_t n = count_scalars(s) ? 1 : 0;
    int64_t k = 0;
    for (uint32_t i = 0; i < s->n_slots; i++) {
        if (!kn_is_real(s, s->slot[i])) continue;
        if (kn_is_scalar(s, s->slot[i])) slots[s->slot[i]] = kiln_item(s->c->t, blocks[0], k++);
        else slots[s->slot[i]] = blocks[n++];
    }
}

uint32_t kn_aitken_size(const kn_solver *s) { return FIRST_R + (count_scalars(s) ? 1 : 0) + count_arrays(s); }

void kn_aitken_start(kn_solver *s, kiln_val *carry)
{
    kiln_trace *t = s->c->t;
    kiln_val *to = carry + s->at_aitken, zero = kiln_scalar(t, s->c->p->real, 0);
    int64_t scalars = count_scalars(s);
    uint32_t n = FIRST_R;
    to[OMEGA] = kiln_scalar(t, KILN_F64, 1);
    to[NONZERO] = kiln_scalar(t, KILN_BOOL, 0);
    if (scalars) to[n++] = kiln_broadcast(t, zero, 1, &scalars, NULL);
    for (uint32_t i = 0; i < s->n_slots; i++) {
        const kn_slot *slot = &s->c->p->slots[s->slot[i]];
        if (slot->real && slot->type.rank) to[n++] = kiln_broadcast(t, zero, slot->type.rank, slot->type.dims, NULL);
    }
}

static kiln_val dot(kiln_trace *t, kiln_val a, kiln_val b)
{
    return kiln_sum_all(t, kiln_mul(t, kiln_convert(t, a, KILN_F64), kiln_convert(t, b, KILN_F64)));
}

static int64_t length_of(kiln_trace *t, kiln_val v) { return kiln_val_type(t, v).rank ? kiln_val_type(t, v).dims[0] : 0; }

static bool few(kiln_trace *t, kiln_val v)
{
    int64_t n = length_of(t, v);
    return n > 0 && n < FEW_SCALARS && kiln_val_type(t, v).rank == 1;
}

/* One chain of fma: a product whose right side has two columns keeps its k in order. */
static kiln_val chain_dot(kiln_trace *t, kiln_val a, kiln_val b)
{
    static const int64_t zero = 0;
    int64_t column[2] = {length_of(t, a), 1};
    kiln_val c = kiln_reshape(t, kiln_convert(t, b, KILN_F64), 2, column), twice[2] = {c, c};
    c = kiln_concatenate(t, twice, 2, 1);
    return kiln_item(t, kiln_dot(t, kiln_convert(t, a, KILN_F64), c, &zero, &zero, 1, NULL, NULL, 0), 0);
}

/* Row `row` of a [rows, columns] array, after a running sum down its columns: their totals. */
static kiln_val column_totals(kiln_trace *t, kiln_val v, int64_t rows, int64_t columns)
{
    int64_t shape[2] = {rows, columns}, at[2] = {rows - 1, 0};
    v = kiln_cumulative(t, "cumsum", kiln_reshape(t, v, 2, shape), 0, false);
    return kiln_reshape(t, kiln_slice(t, v, at, shape, NULL), 1, &shape[1]);
}

static kiln_val few_dot(kiln_trace *t, kiln_val a, kiln_val b)
{
    int64_t n = length_of(t, a), zero = 0, tile = TILE, one = 1;
    if (n < TILE) return chain_dot(t, a, b);
    a = kiln_convert(t, a, KILN_F64);
    b = kiln_convert(t, b, KILN_F64);
    kiln_val p = kiln_mul(t, kiln_slice(t, a, &zero, &tile, NULL), kiln_slice(t, b, &zero, &tile, NULL));
    p = column_totals(t, p, LANES, LANES);
    kiln_val even = kiln_add(t, kiln_item(t, p, 0), kiln_item(t, p, 2)), odd = kiln_add(t, kiln_item(t, p, 1), kiln_item(t, p, 3));
    kiln_val sum = kiln_reshape(t, kiln_add(t, even, odd), 1, &one);
    if (n == TILE) return kiln_item(t, sum, 0);
    kiln_val left[2] = {sum, kiln_slice(t, a, &tile, &n, NULL)};
    kiln_val right[2] = {kiln_reshape(t, kiln_scalar(t, KILN_F64, 1), 1, &one), kiln_slice(t, b, &tile, &n, NULL)};
    return chain_dot(t, kiln_concatenate(t, left, 2, 0), kiln_concatenate(t, right, 2, 0)); /* goes on from the sum */
}

static kiln_val few_squares(kiln_trace *t, kiln_val v)
{
    v = kiln_convert(t, v, KILN_F64);
    v = kiln_mul(t, v, v);
    int64_t n = length_of(t, v), rows = n / CHAINS, first = rows * CHAINS;
    if (!rows) return kiln_item(t, kiln_cumulative(t, "cumsum", v, 0, false), n - 1);
    int64_t zero = 0;
    kiln_val chains = column_totals(t, kiln_slice(t, v, &zero, &first, NULL), rows, CHAINS), r[CHAINS];
    for (int64_t k = 0; k < CHAINS; k++) r[k] = kiln_item(t, chains, k);
    for (int64_t w = 1; w < CHAINS; w *= 2)
        for (int64_t k = 0; k < CHAINS; k += 2 * w) r[k] = kiln_add(t, r[k], r[k + w]);
    for (int64_t k = first; k < n; k++) r[0] = kiln_add(t, r[0], kiln_item(t, v, k));
    return r[0];
}

typedef struct aitken {
    kn_stepping *c;
    uint32_t n; /* blocks */
    const kiln_val *was, *x, *y;
} aitken;

/* Results: OMEGA, NONZERO, from FIRST_R on the blocks of r, after them those of the next iterate. Branch 0: y; the factor stays, and
 * so does r, which nothing reads while NONZERO is false. Branch 1: the factor from r and the r of the pass before, and x + omega r. */
static void aitken_step(kiln_trace *t, void *user, uint32_t branch, kiln_val *out)
{
    const aitken *a = user;
    const kiln_val *r_was = a->was + FIRST_R;
    kiln_val *r = out + FIRST_R, *next = r + a->n;
    kiln_val along = {0}, length = {0}, largest = {0};
    out[OMEGA] = a->was[OMEGA];
    out[NONZERO] = kiln_scalar(t, KILN_BOOL, 0);
    for (uint32_t i = 0; i < a->n; i++) r[i] = r_was[i], next[i] = a->y[i];
    if (branch == 0) return;
    for (uint32_t i = 0; i < a->n; i++) {
        r[i] = kiln_sub(t, a->y[i], a->x[i]);
        kiln_val d = kiln_sub(t, r[i], r_was[i]), m = kiln_convert(t, kiln_max_all(t, kiln_abs(t, r[i])), KILN_F64);
        kiln_val p = few(t, d) ? few_dot(t, r_was[i], d) : dot(t, r_was[i], d), q = few(t, d) ? few_squares(t, d) : dot(t, d, d);
        along = i ? kiln_add(t, along, p) : p;
        length = i ? kiln_add(t, length, q) : q;
        largest = i ? kiln_max(t, largest, m) : m;
    }
    kiln_val zero = kiln_scalar(t, KILN_F64, 0), omega = a->was[OMEGA];
    kiln_val usable = kiln_and(t, a->was[NONZERO], kiln_and(t, kiln_gt(t, length, zero), kiln_is_finite(t, length)));
    omega = kiln_div(t, kiln_mul(t, kiln_neg(t, omega), along), length);
    omega = kiln_min(t, kiln_max(t, omega, kiln_num(t, 0.01)), kiln_num(t, 2));
    out[OMEGA] = kiln_select(t, usable, omega, a->was[OMEGA]);
    out[NONZERO] = kiln_ne(t, largest, kiln_num(t, 0));
    for (uint32_t i = 0; i < a->n; i++) {
        kiln_val along_r = kiln_mul(t, out[OMEGA], kiln_convert(t, r[i], KILN_F64));
        next[i] = kiln_convert(t, kiln_add(t, kiln_convert(t, a->x[i], KILN_F64), along_r), a->c->p->real);
    }
}

/* `idle`: a trip whose iterate is not accelerated. With arrays in the group the step, which costs more than all else, is then left
 * out; a few scalars are computed and thrown away. */
static void accelerate_aitken(kn_solver *s, kiln_val before, kiln_val idle, const kiln_val *y, const kiln_val *x, kiln_val *next,
                              const kiln_val *carry, kiln_val *next_carry)
{
    kn_stepping *c = s->c;
    kiln_trace *t = c->t;
    kiln_val *will = next_carry + s->at_aitken;
    uint32_t blocks = s->n_slots + 1, most = FIRST_R + 2 * blocks;
    kiln_val *xs = KN_STEP_ARRAY(c, kiln_val, blocks), *ys = KN_STEP_ARRAY(c, kiln_val, blocks), *out = KN_STEP_ARRAY(c, kiln_val, most);
    if (!xs || !ys || !out) return;
    aitken a = {.c = c, .n = blocks_of(s, x, xs), .was = carry + s->at_aitken, .x = xs, .y = ys};
    uint32_t n = FIRST_R + 2 * a.n;
    blocks_of(s, y, ys);
    will[OMEGA] = a.was[OMEGA], will[NONZERO] = a.was[NONZERO];
    if (a.n == 0) return;
    if (count_arrays(s)) {
        kiln_cond(t, kiln_not(t, idle), 2, aitken_step, &a, out, n);
    } else {
        kiln_val *none = KN_STEP_ARRAY(c, kiln_val, most);
        if (!none) return;
        aitken_step(t, &a, 0, none);
        aitken_step(t, &a, 1, out);
        for (uint32_t k = 0; k < n; k++) out[k] = kiln_select(t, before, none[k], out[k]);
    }
    memcpy(will, out, (FIRST_R + a.n) * sizeof *out);
    blocks_to(s, out + FIRST_R + a.n, next);
}

void kn_group_accelerate(kn_solver *s, kiln_val before, kiln_val idle, const kiln_val *y, const kiln_val *x, kiln_val *next, const kiln_val *carry,
                         kiln_val *next_carry)
{
    kiln_trace *t = s->c->t;
    if (s->m->group->acceleration == KN_ACC_AITKEN) {
        accelerate_aitken(s, before, idle, y, x, next, carry, next_carry);
        return;
    }
    bool fixed = s->m->group->acceleration == KN_ACC_FIXED;
    kiln_val omega = kiln_convert(t, s->option[KN_TUNE_RELAXATION], s->c->p->real);
    for (uint32_t i = 0; i < s->n_slots; i++) {
        uint32_t k = s->slot[i];
        next[k] = y[k];
        if (!fixed || !kn_is_real(s, k)) continue;
        next[k] = kiln_select(t, before, y[k], kiln_add(t, x[k], kiln_mul(t, omega, kiln_sub(t, y[k], x[k]))));
    }
}
