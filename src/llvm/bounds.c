/* SPDX-License-Identifier: Apache-2.0 */
/* Between which numbers a value of index arithmetic lies, as far as constants say: bounds of loops, clamps, remainders. A vector of numbers
 * below 2^31 is divided by a constant in 32 bits, by a product; in 64 bits no processor here has one, and lanes divide one by one. */
#include "llvm/emit.h"

enum { MOST_STEPS = 12 }; /* down to the constants */

typedef struct bounds {
    int64_t lo, hi;
} bounds;

static const bounds any = {INT64_MIN, INT64_MAX};

static void note_indices(kn_emit *e)
{
    for (kn_lv v = 1; v < e->l->inst.n; v++) {
        const kn_linst *in = &e->l->inst.v[v];
        if (in->op == KN_L_LOOP || in->op == KN_L_LANES) e->loop_of[in->region->blocks[0].params.v[0]] = v;
    }
}

bool kn_bounds_init(kn_emit *e)
{
    e->loop_of = kn_emit_new(e, e->l->inst.n, sizeof *e->loop_of);
    if (e->loop_of) note_indices(e);
    return e->loop_of != NULL;
}

static bounds of_op(kn_sop op, bounds x, bounds y)
{
    bounds b;
    switch (op) {
    case KN_S_add: return __builtin_add_overflow(x.lo, y.lo, &b.lo) || __builtin_add_overflow(x.hi, y.hi, &b.hi) ? any : b;
    case KN_S_sub: return __builtin_sub_overflow(x.lo, y.hi, &b.lo) || __builtin_sub_overflow(x.hi, y.lo, &b.hi) ? any : b;
    case KN_S_min: return (bounds){x.lo < y.lo ? x.lo : y.lo, x.hi < y.hi ? x.hi : y.hi};
    case KN_S_max: return (bounds){x.lo > y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi};
    case KN_S_mul:
        if (x.lo < 0 || y.lo < 0) return any;
        return __builtin_mul_overflow(x.lo, y.lo, &b.lo) || __builtin_mul_overflow(x.hi, y.hi, &b.hi) ? any : b;
    case KN_S_div: return x.lo < 0 || y.lo <= 0 ? any : (bounds){x.lo / y.hi, x.hi / y.lo};
    case KN_S_rem: return x.lo < 0 || y.lo <= 0 ? any : (bounds){0, x.hi < y.hi - 1 ? x.hi : y.hi - 1};
    default: return any;
    }
}

static bounds bounds_of(const kn_emit *e, kn_lv v, unsigned steps)
{
    const kn_linst *in = &e->l->inst.v[v];
    if (in->dtype != KILN_I64 || steps == MOST_STEPS) return any;
    if (in->op == KN_L_CONST) return (bounds){in->imm.i, in->imm.i};
    if (in->op == KN_L_PARAM && e->loop_of[v]) {
        const kn_lregion *r = e->l->inst.v[e->loop_of[v]].region;
        bounds lo = bounds_of(e, r->lo, steps + 1), hi = bounds_of(e, r->hi, steps + 1);
        return lo.lo < hi.hi ? (bounds){lo.lo, hi.hi - 1} : any;
    }
    if (in->op != KN_L_SOP || in->from != KILN_I64 || !in->b) return any;
    return of_op(in->sop, bounds_of(e, in->a, steps + 1), bounds_of(e, in->b, steps + 1));
}

bool kn_divides_in_32_bits(const kn_emit *e, const kn_linst *in)
{
    if ((in->sop != KN_S_div && in->sop != KN_S_rem) || in->from != KILN_I64 || e->l->inst.v[in->b].op != KN_L_CONST) return false;
    bounds x = bounds_of(e, in->a, 0), y = bounds_of(e, in->b, 0);
    return x.lo >= 0 && x.hi <= INT32_MAX && y.lo > 0 && y.hi <= INT32_MAX;
}
