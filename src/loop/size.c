/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of which one size n is given when they run. Loops are made as if n were the number that stands for it (array/size.h); at
 * the end every constant that stands for a size becomes a value made of n at the head of the program.
 *
 *         loop %3 in 0 .. KILN_DIM_N * 64     ==>     %1 = n[0]  %2 = mul i64 %1, 64  ..  loop %3 in 0 .. %2 */
#include "array/size.h"
#include "loop/loop.h"

enum { LINE = 64 };

static bool rounded(int64_t elements, kiln_dtype d, size_t *out)
{
    return kn_mul_size((size_t)elements, kiln_dtype_bytes(d), out) && kn_add_size(*out, LINE - 1, out) && (*out &= ~(size_t)(LINE - 1), true);
}

bool kn_slot_place(kn_slot *s, size_t *bytes, size_t *per)
{
    int64_t a, b;
    size_t fixed, each, end, end_per;
    s->offset = *bytes;
    s->per = *per;
    if (!kn_size_open(s->elements)) a = 0, b = s->elements;
    else if (!kn_size_split(s->elements, &a, &b) || a < 0) return false;
    if (!rounded(b > 0 ? b : 0, s->dtype, &fixed) || !kn_mul_size((size_t)a, kiln_dtype_bytes(s->dtype), &each)) return false;
    if (!kn_add_size(*bytes, fixed, &end) || !kn_add_size(*per, each, &end_per)) return false;
    *bytes = end;
    *per = end_per;
    return true;
}

/* ---- constants become values ---- */

typedef struct opener {
    kn_loops *l;
    kn_lblock head; /* what is put before the program */
    kn_lv n;
    bool nomem;
} opener;

static kn_lv add(opener *o, kn_linst in)
{
    if (!kn_push(o->l->arena, &o->l->inst, in) || !kn_push(o->l->arena, &o->head.inst, o->l->inst.n - 1)) o->nomem = true;
    return o->l->inst.n - 1;
}

static kn_lv number(opener *o, int64_t v) { return add(o, (kn_linst){.op = KN_L_CONST, .dtype = KILN_I64, .imm.i = v}); }

static kn_linst operation(kn_sop op, kn_lv a, kn_lv b)
{
    return (kn_linst){.op = KN_L_SOP, .sop = op, .dtype = KILN_I64, .from = KILN_I64, .a = a, .b = b};
}

/* Constant v, a * n + b, is made where the head ends. */
static void open_one(opener *o, kn_lv v)
{
    int64_t a, b;
    kn_linst made;
    kn_size_split(o->l->inst.v[v].imm.i, &a, &b);
    if (a == 1) made = operation(KN_S_add, o->n, number(o, b));
    else if (b == 0) made = operation(KN_S_mul, o->n, number(o, a));
    else {
        kn_lv product = add(o, operation(KN_S_mul, o->n, number(o, a)));
        made = operation(KN_S_add, product, number(o, b));
    }
    o->l->inst.v[v] = made;
    if (!kn_push(o->l->arena, &o->head.inst, v)) o->nomem = true;
}

static void walk(opener *o, kn_lblock *b)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->inst.n && !o->nomem; i++) {
        kn_lv v = b->inst.v[i];
        if (kn_is_size(&o->l->inst.v[v])) {
            open_one(o, v);
            continue;
        }
        kn_lregion *r = o->l->inst.v[v].region;
        for (uint32_t k = 0; r && k < r->nblocks; k++) walk(o, &r->blocks[k]);
        b->inst.v[n++] = v;
    }
    b->inst.n = n;
}

kiln_status kn_loops_open(kiln_ctx *ctx, kn_loops *l)
{
    opener o = {.l = l};
    kn_slot size = {.kind = KN_SLOT_SIZE, .dtype = KILN_I64, .elements = 1};
    KILN_TRY_MEM(ctx, kn_push(l->arena, &l->slots, size));
    kn_lv zero = number(&o, 0);
    o.n = add(&o, (kn_linst){.op = KN_L_LOAD, .dtype = KILN_I64, .slot = l->slots.n - 1, .a = zero});
    if (!o.nomem) walk(&o, &l->top);
    for (uint32_t i = 0; i < l->top.inst.n && !o.nomem; i++) o.nomem = !kn_push(l->arena, &o.head.inst, l->top.inst.v[i]);
    if (o.nomem) return kn_nomem(ctx);
    l->top.inst.v = o.head.inst.v, l->top.inst.n = o.head.inst.n, l->top.inst.cap = o.head.inst.cap;
    return KILN_OK;
}
