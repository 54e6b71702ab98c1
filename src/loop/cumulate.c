/* SPDX-License-Identifier: Apache-2.0 */
/* Running reductions: one after the other along the axis; the other dimensions are independent. */
#include "loop/maker.h"
#include "rt/reduce.h"

typedef struct running {
    place *x;
    kiln_type type;
    kn_sop op;
    uint32_t axis, slot;
    bool reverse;
} running;

static void running_body(maker *m, void *ud, const kn_lv *others)
{
    running *r = ud;
    kn_lv ix[MAX_RANK];
    for (uint32_t d = 0, k = 0; d < r->type.rank; d++)
        if (d != r->axis) ix[d] = others[k++];
    int64_t n = r->type.dims[r->axis];
    kn_lv s, start = lv_const(m, r->type.dtype, kn_reduce_identity(r->op, r->type.dtype)), step = open_loop(m, 0, n, 0, &s);
    kn_lv acc = add_carry(m, s, start);
    ix[r->axis] = r->reverse ? lv_sub(m, lv_int(m, n - 1), step) : step;
    kn_lv next = lv_sop(m, r->op, r->type.dtype, r->type.dtype, acc, element_of(m, r->x, ix), 0);
    lv_store(m, r->slot, linear_index(m, r->type, ix), next);
    close_carry_loop(m, s, next);
}

static void in_registers(maker *m, frame *f, const kn_eqn *e, const running *r)
{
    int64_t n = kiln_type_size(r->type), len = r->type.dims[r->axis], inner = 1;
    for (uint32_t d = r->axis + 1; d < r->type.rank; d++) inner *= r->type.dims[d];
    const kn_lv *x = registers_of(m, r->x);
    kn_lv start = lv_const(m, r->type.dtype, kn_reduce_identity(r->op, r->type.dtype));
    kn_lv *v = KN_NEWN(&m->temp, kn_lv, n + 1);
    if (m->status != KILN_OK || !MAKER_TRY_MEM(m, v)) return;
    for (int64_t k = 0; k < n; k++) { /* in an order where the predecessor is done */
        int64_t q = r->reverse ? n - 1 - k : k, at = q / inner % len;
        int64_t before = r->reverse ? q + inner : q - inner;
        bool first = at == (r->reverse ? len - 1 : 0);
        v[q] = first && !m->o.flush ? x[q] : lv_sop(m, r->op, r->type.dtype, r->type.dtype, first ? start : v[before], x[q], 0);
    }
    put_registers(m, f, e->out[0], v);
}

void emit_cumulate(maker *m, frame *f, const kn_eqn *e)
{
    running r = {.x = place_of_atom(m, f, e->in[0]), .type = f->j->vars[e->out[0]].type, .op = (kn_sop)e->prim->scalar_op,
                 .axis = (uint32_t)kn_param_of(e, "axis")->i, .reverse = kn_param_of(e, "reverse")->b};
    if (m->status != KILN_OK) return;
    if (small(m, r.type)) {
        in_registers(m, f, e, &r);
        return;
    }
    if (r.type.rank > MAX_RANK) {
        m->status = kn_fail(m->ctx, KILN_UNSUPPORTED, "%s of rank %u; at most %d dimensions are compiled", e->prim->name, r.type.rank, MAX_RANK);
        return;
    }
    r.slot = slot_for(m, f, e->out[0]);
    int64_t others[MAX_RANK];
    uint32_t n = 0;
    for (uint32_t d = 0; d < r.type.rank; d++)
        if (d != r.axis) others[n++] = r.type.dims[d];
    bool vector = r.axis + 1 < r.type.rank;
    if (kiln_type_size(r.type) > 0) make_nest(m, n, others, vector, running_body, &r);
    put_memory(m, f, e->out[0], r.slot);
}
