/* SPDX-License-Identifier: Apache-2.0 */
/* The loop language run as its header defines it, one element at a time: what compiled loops are compared with. */
#ifndef KN_TESTS_LOOP_EVAL_H
#define KN_TESTS_LOOP_EVAL_H

#include "loop/loop.h"
#include "testing.h"

typedef struct loop_eval {
    const kn_loops *l;
    kn_scalar *v;
    char **slot;  /* current pointers */
    bool stop;    /* as the call's flag; set by `stop_after` trips of while loops */
    long stop_after;
    bool cancelled;
} loop_eval;

static void loop_eval_block(loop_eval *e, const kn_lblock *b);

static kn_scalar loop_eval_combine(const kn_linst *in, kn_scalar a, kn_scalar b)
{
    kn_sop op = in->region->acc == KN_S_fma ? KN_S_add : in->region->acc;
    return kn_sop_eval(op, in->dtype, in->dtype, a, b, (kn_scalar){0});
}

static kn_scalar loop_eval_lanes(loop_eval *e, const kn_linst *in)
{
    const kn_lregion *r = in->region;
    const kn_lblock *b = &r->blocks[0];
    int64_t lo = e->v[r->lo].i, hi = e->v[r->hi].i;
    kn_scalar total = r->identity;
    for (int64_t at = lo; at < hi; at += r->block) {
        kn_scalar lane[64];
        for (uint32_t i = 0; i < r->width; i++) lane[i] = r->identity;
        for (int64_t k = at; k < hi && k < at + r->block; k++) {
            e->v[b->params.v[0]].i = k;
            loop_eval_block(e, b);
            kn_scalar x = e->v[b->yields.v[0]], *acc = &lane[(k - lo) % r->width];
            if (r->acc == KN_S_fma) *acc = kn_sop_eval(KN_S_fma, in->dtype, in->dtype, x, e->v[b->yields.v[1]], *acc);
            else *acc = kn_sop_eval(r->acc, in->dtype, in->dtype, *acc, x, (kn_scalar){0});
        }
        for (uint32_t w = r->width / 2; w; w /= 2)
            for (uint32_t i = 0; i < w; i++) lane[i] = loop_eval_combine(in, lane[i], lane[i + w]);
        total = at == lo ? lane[0] : loop_eval_combine(in, total, lane[0]);
    }
    return total;
}

static void loop_eval_give(loop_eval *e, const kn_lv *to, const kn_scalar *from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) e->v[to[i]] = from[i];
}

static void loop_eval_take(const loop_eval *e, const kn_lv *from, kn_scalar *to, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) to[i] = e->v[from[i]];
}

static void loop_eval_region(loop_eval *e, const kn_linst *in)
{
    const kn_lregion *r = in->region;
    kn_scalar c[16] = {0};
    loop_eval_take(e, r->init.v, c, r->init.n);
    if (in->op == KN_L_LOOP) {
        for (int64_t i = e->v[r->lo].i, hi = e->v[r->hi].i; i < hi; i++) {
            e->v[r->blocks[0].params.v[0]].i = i;
            loop_eval_give(e, r->blocks[0].params.v + 1, c, r->init.n);
            loop_eval_block(e, &r->blocks[0]);
            loop_eval_take(e, r->blocks[0].yields.v, c, r->init.n);
        }
    } else if (in->op == KN_L_LANES) {
        c[0] = loop_eval_lanes(e, in);
    } else if (in->op == KN_L_WHILE) {
        for (;;) {
            if (e->stop) {
                e->cancelled = true;
                break;
            }
            loop_eval_give(e, r->blocks[0].params.v, c, r->init.n);
            loop_eval_block(e, &r->blocks[0]);
            if (!e->v[r->blocks[0].yields.v[0]].b) break;
            loop_eval_give(e, r->blocks[1].params.v, c, r->init.n);
            loop_eval_block(e, &r->blocks[1]);
            loop_eval_take(e, r->blocks[1].yields.v, c, r->init.n);
        }
    } else {
        int64_t k = e->v[r->selector].i;
        const kn_lblock *b = &r->blocks[k >= 0 && k < r->nblocks ? k : r->nblocks - 1];
        loop_eval_block(e, b);
        loop_eval_take(e, b->yields.v, c, r->results.n);
    }
    loop_eval_give(e, r->results.v, c, r->results.n);
}

static void loop_eval_call(loop_eval *e, const kn_lcall *c)
{
    kiln_ctx *ctx;
    kn_arena temp;
    const void *self;
    size_t bytes;
    void *arrays[16];
    assert_int_equal(kiln_ctx_create(NULL, &ctx), KILN_OK);
    kn_arena_init(&temp, &ctx->alloc);
    for (uint32_t i = 0; i < c->call.nout + c->call.nin; i++) arrays[i] = e->slot[c->slots[i]];
    assert_int_equal(c->call.routine->bind(ctx, &temp, &c->call, &self, &bytes), KILN_OK);
    void *work = c->work ? e->slot[c->work - 1] : NULL;
    if (c->parts) c->call.routine->run_shared(self, arrays, work, &(kn_crew){.own = e->slot[c->parts - 1]});
    else c->call.routine->run(self, arrays, work);
    kn_arena_fini(&temp);
    kiln_ctx_release(ctx);
}

static void loop_eval_block(loop_eval *e, const kn_lblock *b)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        kn_lv v = b->inst.v[i];
        const kn_linst *in = &e->l->inst.v[v];
        const kn_slot *s = in->slot < e->l->slots.n ? &e->l->slots.v[in->slot] : NULL;
        char *p;
        switch (in->op) {
        case KN_L_CONST: e->v[v] = in->imm; break;
        case KN_L_SOP: e->v[v] = kn_sop_eval(in->sop, in->from, in->dtype, e->v[in->a], e->v[in->b], e->v[in->c]); break;
        case KN_L_LOAD: e->v[v] = kn_scalar_load(in->dtype, e->slot[in->slot], e->v[in->a].i); break;
        case KN_L_SAME: e->v[v] = (kn_scalar){.b = e->slot[in->slot] == e->slot[in->slot2]}; break;
        case KN_L_STORE: kn_scalar_store(in->dtype, e->slot[in->slot], e->v[in->a].i, e->v[in->b]); break;
        case KN_L_SWAP:
            if (in->index && e->slot[in->index - 1] != e->slot[in->slot2]) break;
            p = e->slot[in->slot];
            e->slot[in->slot] = e->slot[in->slot2];
            e->slot[in->slot2] = p;
            break;
        case KN_L_POINT: e->slot[in->slot] = e->slot[in->slot2]; break;
        case KN_L_COPY:
            if (e->slot[in->slot] != e->slot[in->slot2])
                memcpy(e->slot[in->slot], e->slot[in->slot2], (size_t)s->elements * kiln_dtype_bytes(s->dtype));
            break;
        case KN_L_TICK: break;
        case KN_L_CALL: loop_eval_call(e, in->call); break;
        default: loop_eval_region(e, in); break;
        }
    }
}

/* buffers: inputs, outputs; consts: data of constants. Gives the status that the entry gives. */
static int loop_eval_run(const kn_loops *l, void *const *buffers, const void *const *consts, void *scratch, bool stop)
{
    loop_eval e = {.l = l, .stop = stop};
    e.v = calloc(l->inst.n + 1, sizeof *e.v);
    e.slot = calloc(l->slots.n + 1, sizeof *e.slot);
    for (uint32_t i = 0; i < l->slots.n; i++) {
        const kn_slot *s = &l->slots.v[i];
        e.slot[i] = s->kind == KN_SLOT_INPUT    ? (char *)buffers[s->index]
                    : s->kind == KN_SLOT_OUTPUT ? (char *)buffers[l->n_inputs + s->index]
                    : s->kind == KN_SLOT_CONST  ? (char *)(uintptr_t)consts[s->index]
                                                : (char *)scratch + s->offset + (s->part ? (l->scratch_bytes + 63) & ~(size_t)63 : 0);
    }
    loop_eval_block(&e, &l->top);
    free(e.v);
    free(e.slot);
    return e.cancelled ? KILN_CANCELLED : 0;
}

#endif
