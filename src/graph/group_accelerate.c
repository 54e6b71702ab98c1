/* SPDX-License-Identifier: Apache-2.0 */
/* From the iterate x and y = F(x) to the next iterate. r = y - x:
 *   none     y
 *   fixed    x + omega r
 *   aitken   x + omega r, omega <- -omega (r' . (r - r')) / |r - r'|^2 within [0.01, 2], r' the r of the pass before;
 *            omega starts at 1 and stays while r' is none or 0 (Irons and Tuck 1969). Dot products in f64. */
#include "graph/group.h"

enum { OMEGA, NONZERO, FIRST_R };

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
    to[OMEGA] = kiln_scalar(t, s->c->p->real, 1);
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

static void aitken(kn_solver *s, kiln_val before, const kiln_val *y, const kiln_val *x, kiln_val *next, const kiln_val *carry,
                   kiln_val *next_carry)
{
    kn_stepping *c = s->c;
    kiln_trace *t = c->t;
    const kiln_val *was = carry + s->at_aitken;
    kiln_val *will = next_carry + s->at_aitken, along = {0}, length = {0}, largest = {0};
    uint32_t most = s->n_slots + 1;
    kiln_val *xs = KN_STEP_ARRAY(c, kiln_val, most), *ys = KN_STEP_ARRAY(c, kiln_val, most), *r = will + FIRST_R;
    if (!xs || !ys) return;
    uint32_t n = blocks_of(s, x, xs);
    blocks_of(s, y, ys);
    for (uint32_t i = 0; i < n; i++) {
        const kiln_val *r_was = was + FIRST_R;
        r[i] = kiln_sub(t, ys[i], xs[i]);
        kiln_val d = kiln_sub(t, r[i], r_was[i]), a = dot(t, r_was[i], d), l = dot(t, d, d), m = kiln_max_all(t, kiln_abs(t, r[i]));
        along = along.id ? kiln_add(t, along, a) : a;
        length = length.id ? kiln_add(t, length, l) : l;
        largest = largest.id ? kiln_max(t, largest, m) : m;
    }
    will[OMEGA] = was[OMEGA], will[NONZERO] = was[NONZERO];
    if (n == 0) return;
    kiln_val zero = kiln_scalar(t, KILN_F64, 0), omega = kiln_convert(t, was[OMEGA], KILN_F64);
    kiln_val usable = kiln_and(t, was[NONZERO], kiln_and(t, kiln_gt(t, length, zero), kiln_is_finite(t, length)));
    omega = kiln_div(t, kiln_mul(t, kiln_neg(t, omega), along), length);
    omega = kiln_min(t, kiln_max(t, omega, kiln_num(t, 0.01)), kiln_num(t, 2));
    omega = kiln_select(t, usable, kiln_convert(t, omega, c->p->real), was[OMEGA]);
    will[OMEGA] = kiln_select(t, before, was[OMEGA], omega);
    will[NONZERO] = kiln_and(t, kiln_not(t, before), kiln_ne(t, largest, kiln_num(t, 0)));
    for (uint32_t i = 0; i < n; i++) xs[i] = kiln_select(t, before, ys[i], kiln_add(t, xs[i], kiln_mul(t, omega, r[i])));
    blocks_to(s, xs, next);
}

void kn_group_accelerate(kn_solver *s, kiln_val before, const kiln_val *y, const kiln_val *x, kiln_val *next, const kiln_val *carry,
                         kiln_val *next_carry)
{
    kiln_trace *t = s->c->t;
    if (s->m->group->acceleration == KN_ACC_AITKEN) {
        aitken(s, before, y, x, next, carry, next_carry);
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
