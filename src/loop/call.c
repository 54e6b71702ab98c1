/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of routines on whole arrays: operands are brought into memory, workspace is a slot of scratch. */
#include "loop/maker.h"

uint32_t operand_slot(maker *m, frame *f, kn_atom a)
{
    place *p = place_of_atom(m, f, a);
    if (m->status != KILN_OK || !p) return 0;
    if (p->kind == PLACE_MEMORY) return p->slot;
    uint32_t slot = new_slot(m, KN_SLOT_SCRATCH, 0, p->type.dtype, kiln_type_size(p->type));
    store_place(m, f, p, slot);
    return slot;
}

void put_whole(maker *m, frame *f, uint32_t var, uint32_t slot)
{
    put_memory(m, f, var, slot);
    if (!small(m, f->j->vars[var].type)) return;
    const kn_lv *v = registers_of(m, f->at[var]);
    if (v) put_registers(m, f, var, v);
}

static uint32_t workspace(maker *m, const kn_call *c)
{
    size_t bytes = 0;
    if (m->status == KILN_OK) m->status = c->routine->bind(m->ctx, NULL, c, NULL, &bytes);
    if (m->status == KILN_OK && bytes > INT64_MAX) m->status = kn_fail(m->ctx, KILN_NOMEM, "%s: its workspace does not fit in memory", c->routine->name);
    return m->status == KILN_OK && bytes ? new_slot(m, KN_SLOT_SCRATCH, 0, KILN_U8, (int64_t)bytes) + 1 : 0;
}

void emit_call(maker *m, frame *f, const kn_eqn *e)
{
    kn_lcall *c = KN_NEW(m->arena, kn_lcall);
    uint32_t *slots = KN_NEWN(m->arena, uint32_t, e->nout + e->nin);
    if (m->status != KILN_OK || !MAKER_TRY_MEM(m, c && slots)) return;
    m->status = kn_call_of(m->ctx, m->arena, f->j, e, &c->call);
    for (uint32_t i = 0; i < e->nin && m->status == KILN_OK; i++) slots[e->nout + i] = operand_slot(m, f, e->in[i]);
    for (uint32_t i = 0; i < e->nout && m->status == KILN_OK; i++) slots[i] = slot_for(m, f, e->out[i]);
    c->slots = slots;
    c->work = workspace(m, &c->call);
    c->number = m->l->calls.n;
    if (m->status != KILN_OK || !MAKER_TRY_MEM(m, kn_push(m->arena, &m->l->calls, c))) return;
    add_plain(m, (kn_linst){.op = KN_L_CALL, .call = c});
    for (uint32_t i = 0; i < e->nout && m->status == KILN_OK; i++) put_whole(m, f, e->out[i], slots[i]);
}
