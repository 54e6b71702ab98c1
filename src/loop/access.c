/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/access.h"

#include "array/size.h"

kn_index_form kn_index_range(int64_t lo, int64_t hi)
{
    kn_index_form f = {.ok = true, .add = lo};
    if (__builtin_sub_overflow(hi, lo, &f.part[0].most)) return (kn_index_form){0};
    f.part[0].step = 1;
    f.n = hi > lo;
    return f;
}

/* Adds `by` times step * t. */
static bool add_part(kn_index_form *to, kn_index_part p, int64_t by)
{
    int64_t step, down;
    uint32_t k = 0;
    if (__builtin_mul_overflow(p.step, by, &step) || step == INT64_MIN) return false;
    if (step < 0) { /* counted from the other end */
        if (__builtin_mul_overflow(step, p.most, &down) || __builtin_add_overflow(to->add, down, &to->add)) return false;
        step = -step;
    }
    if (step == 0) return true;
    while (k < to->n && to->part[k].step != step) k++;
    if (k == KN_INDEX_PARTS) return false;
    if (k == to->n) to->part[to->n++] = (kn_index_part){step, 0};
    return !__builtin_add_overflow(to->part[k].most, p.most, &to->part[k].most);
}

static bool add_scaled(kn_index_form *to, const kn_index_form *f, int64_t by)
{
    int64_t x;
    if (__builtin_mul_overflow(f->coef, by, &x) || __builtin_add_overflow(to->coef, x, &to->coef)) return false;
    if (__builtin_mul_overflow(f->add, by, &x) || __builtin_add_overflow(to->add, x, &to->add)) return false;
    for (uint32_t k = 0; k < f->n; k++)
        if (!add_part(to, f->part[k], by)) return false;
    return true;
}

bool kn_index_bounds(const kn_index_form *f, int64_t *lo, int64_t *hi)
{
    int64_t most;
    *lo = *hi = f->add;
    for (uint32_t k = 0; k < f->n; k++)
        if (__builtin_mul_overflow(f->part[k].step, f->part[k].most, &most) || __builtin_add_overflow(*hi, most, hi)) return false;
    return f->ok;
}

static kn_index_form extreme(kn_sop op, const kn_index_form *a, const kn_index_form *b)
{
    int64_t x[2], y[2];
    if (a->coef || b->coef || !kn_index_bounds(a, &x[0], &x[1]) || !kn_index_bounds(b, &y[0], &y[1])) return (kn_index_form){0};
    for (int k = 0; k < 2; k++) {
        bool less = kn_size_at_most(x[k], y[k]);
        if (!less && !kn_size_at_most(y[k], x[k])) return (kn_index_form){0}; /* it depends on a size */
        if ((op == KN_S_min) != less) x[k] = y[k];
    }
    return kn_index_range(x[0], x[1]);
}

kn_index_form kn_index_combined(kn_sop op, const kn_index_form *a, const kn_index_form *b)
{
    kn_index_form r = {.ok = a->ok && b->ok};
    if (!r.ok) return r;
    switch (op) {
    case KN_S_add: r.ok = add_scaled(&r, a, 1) && add_scaled(&r, b, 1); break;
    case KN_S_sub: r.ok = add_scaled(&r, a, 1) && add_scaled(&r, b, -1); break;
    case KN_S_mul: r.ok = !b->coef && !b->n && add_scaled(&r, a, b->add); break;
    case KN_S_min:
    case KN_S_max: return extreme(op, a, b);
    default: r.ok = false;
    }
    return r;
}

bool kn_index_in_row(const kn_index_form *f, int64_t stride, int64_t reach, int64_t *start, int64_t *period)
{
    kn_index_form rest = *f;
    int64_t lo, hi;
    rest.n = 0;
    *period = 0;
    for (uint32_t k = 0; k < f->n; k++) {
        if (kn_size_at_most(reach, f->part[k].step)) *period = kn_gcd(f->part[k].step, *period);
        else rest.part[rest.n++] = f->part[k];
    }
    if (!kn_index_bounds(&rest, &lo, &hi) || lo < 0 || *period % stride) return false;
    *start = lo - lo % stride;
    return kn_size_less(hi - *start, stride);
}
