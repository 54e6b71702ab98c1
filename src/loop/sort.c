/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting by a comparator of the program's own: the merge sort of rt/sort.h with the comparator written into it, so that compiled
 * and interpreted sorts make the same comparisons. Places are sorted, in two slots that swap after each pass; then every array is
 * put into their order.
 *
 *      for each line
 *        places = 0, 1, 2, ..
 *        for each pass, runs of width 1, 2, 4, ..
 *          for each pair of runs [lo, mid) [mid, hi)
 *            loop k in lo .. hi carry a = lo, b = mid
 *              from the second run where b < hi and (a = mid or the element at b comes before that at a)
 *          swap places, merged */
#include "loop/maker.h"
#include "prim/body.h"

typedef struct sorting {
    frame *f;
    const kn_eqn *e;
    const kn_jaxpr *comparator;
    uint32_t consts, arrays;
    const uint32_t *in, *out; /* slots */
    uint32_t places, merged;
    int64_t n, count, step;
} sorting;

static kn_lv i64(maker *m, kn_sop op, kn_lv a, kn_lv b) { return lv_sop(m, op, KILN_I64, kn_sops[op].result == 'b' ? KILN_BOOL : KILN_I64, a, b, 0); }
static kn_lv both(maker *m, kn_sop op, kn_lv a, kn_lv b) { return lv_sop(m, op, KILN_BOOL, KILN_BOOL, a, b, 0); }

/* Index of element `place` of a line. */
static kn_lv element_index(maker *m, const sorting *s, kn_lv start, kn_lv at) { return lv_add(m, start, lv_mul(m, at, lv_int(m, s->step))); }

/* Does the element at place x come before that at y? */
static kn_lv comes_before(maker *m, const sorting *s, kn_lv start, kn_lv x, kn_lv y)
{
    frame *f = new_frame(m, s->comparator, s->f->in_loop + 1);
    if (!f) return 0;
    for (uint32_t i = 0; i < s->consts && m->status == KILN_OK; i++) bind_input(m, f, i, borrowed(m, place_of_atom(m, s->f, s->e->in[i])));
    for (uint32_t i = 0; i < s->arrays && m->status == KILN_OK; i++)
        for (uint32_t k = 0; k < 2; k++) {
            kn_lv v = lv_load(m, s->in[i], element_index(m, s, start, k ? y : x));
            place *p = new_place(m, PLACE_REGISTERS, (kiln_type){.dtype = m->l->slots.v[s->in[i]].dtype});
            if (m->status != KILN_OK || !p) return 0;
            place_registers(m, p, &v);
            bind_input(m, f, s->consts + 2 * i + k, p);
        }
    if (m->status != KILN_OK) return 0;
    run_frame(m, f);
    return scalar_of(m, f, s->comparator->out[0]);
}

/* One step of the merge: the places a and b go on to. */
static void take_one(maker *m, const sorting *s, kn_lv start, kn_lv loop, kn_lv k, kn_lv a, kn_lv b, kn_lv mid, kn_lv hi)
{
    kn_lv last = lv_int(m, s->n - 1), one = lv_int(m, 1);
    kn_lv x = lv_load(m, s->places, i64(m, KN_S_min, a, last)), y = lv_load(m, s->places, i64(m, KN_S_min, b, last));
    kn_lv before = comes_before(m, s, start, y, x);
    kn_lv second = both(m, KN_S_and, i64(m, KN_S_lt, b, hi), both(m, KN_S_or, i64(m, KN_S_ge, a, mid), before));
    lv_store(m, s->merged, k, lv_sop(m, KN_S_select, KILN_I64, KILN_I64, second, y, x));
    add_yield(m, loop, 0, lv_sop(m, KN_S_select, KILN_I64, KILN_I64, second, a, lv_add(m, a, one)));
    add_yield(m, loop, 0, lv_sop(m, KN_S_select, KILN_I64, KILN_I64, second, lv_add(m, b, one), b));
}

static void merge_pass(maker *m, const sorting *s, kn_lv start, kn_lv width)
{
    kn_lv n = lv_int(m, s->n), two = lv_mul(m, width, lv_int(m, 2)), pairs = i64(m, KN_S_div, lv_add(m, lv_add(m, two, lv_int(m, -1)), n), two);
    kn_lv outer, q = open_loop_between(m, lv_int(m, 0), pairs, 0, s->n, 0, &outer), inner;
    kn_lv lo = lv_mul(m, q, two), mid = i64(m, KN_S_min, lv_add(m, lo, width), n), hi = i64(m, KN_S_min, lv_add(m, lo, two), n);
    kn_lv k = open_loop_between(m, lo, hi, 0, s->n, 0, &inner);
    kn_lv a = add_carry(m, inner, lo), b = add_carry(m, inner, mid);
    take_one(m, s, start, inner, k, a, b, mid, hi);
    close_loop(m, inner);
    add_result(m, inner, KILN_I64);
    add_result(m, inner, KILN_I64);
    close_loop(m, outer);
}

static uint32_t lanes(const maker *m, int64_t n) { return n >= (int64_t)m->o.vector_bits / 64 ? m->o.vector_bits / 64 : 0; }

static void sort_line(maker *m, const sorting *s, kn_lv start)
{
    kn_lv loop, i = open_loop(m, 0, s->n, lanes(m, s->n), &loop);
    lv_store(m, s->places, i, i);
    close_loop(m, loop);
    int64_t passes = 0;
    while ((int64_t)1 << passes < s->n) passes++;
    if (passes > 0) {
        kn_lv first = lv_int(m, 1);
        open_loop(m, 0, passes, 0, &loop);
        kn_lv width = add_carry(m, loop, first);
        merge_pass(m, s, start, width);
        add_plain(m, (kn_linst){.op = KN_L_SWAP, .slot = s->places, .slot2 = s->merged});
        close_carry_loop(m, loop, lv_mul(m, width, lv_int(m, 2)));
    }
    i = open_loop(m, 0, s->n, 0, &loop);
    kn_lv from = lv_load(m, s->places, i);
    for (uint32_t k = 0; k < s->arrays && m->status == KILN_OK; k++)
        lv_store(m, s->out[k], element_index(m, s, start, i), lv_load(m, s->in[k], element_index(m, s, start, from)));
    close_loop(m, loop);
}

static void sort_lines(maker *m, const sorting *s)
{
    if (s->n == 0 || s->count == 0) return;
    kn_lv loop = 0, line = s->count > 1 ? open_loop(m, 0, s->count, 0, &loop) : lv_int(m, 0), step = lv_int(m, s->step);
    kn_lv start = s->step == 1 ? lv_mul(m, line, lv_int(m, s->n))
                               : lv_add(m, lv_mul(m, i64(m, KN_S_div, line, step), lv_int(m, s->step * s->n)), i64(m, KN_S_rem, line, step));
    sort_line(m, s, start);
    if (s->count > 1) close_loop(m, loop);
    m->l->nests++;
}

void emit_sort(maker *m, frame *f, const kn_eqn *e)
{
    sorting s = {.f = f, .e = e, .comparator = kn_param_of(e, "comparator")->jaxpr, .arrays = e->nout, .consts = e->nin - e->nout, .count = 1, .step = 1};
    uint32_t *slots = KN_NEWN(&m->temp, uint32_t, 2 * e->nout), axis = (uint32_t)kn_param_of(e, "dimension")->i;
    if (!MAKER_TRY_MEM(m, slots)) return;
    kiln_type t = f->j->vars[e->out[0]].type;
    s.n = t.dims[axis];
    for (uint32_t d = 0; d < t.rank; d++) {
        if (d != axis) s.count *= t.dims[d];
        if (d > axis) s.step *= t.dims[d];
    }
    for (uint32_t i = 0; i < e->nout && m->status == KILN_OK; i++) slots[i] = operand_slot(m, f, e->in[s.consts + i]);
    for (uint32_t i = 0; i < e->nout && m->status == KILN_OK; i++) slots[e->nout + i] = slot_for(m, f, e->out[i]);
    s.in = slots;
    s.out = slots + e->nout;
    s.places = new_slot(m, KN_SLOT_SCRATCH, 0, KILN_I64, s.n);
    s.merged = new_slot(m, KN_SLOT_SCRATCH, 0, KILN_I64, s.n);
    if (m->status == KILN_OK) sort_lines(m, &s);
    for (uint32_t i = 0; i < e->nout && m->status == KILN_OK; i++) put_whole(m, f, e->out[i], s.out[i]);
}
