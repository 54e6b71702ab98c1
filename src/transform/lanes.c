/* SPDX-License-Identifier: Apache-2.0 */
/* A loop over lanes that runs a while in each (what vmap makes of a while that lanes leave at different times), as long as the while
 * works on scalars and there are many lanes: instead of one lane after another, a number of slots works on as many lanes at once, in
 * vectors. A slot whose lane has ended takes the next lane that waits.
 *
 *   scan over lanes { while c(x) { x = f(x) } }
 *   ->
 *   while a slot has a lane {
 *       while enough slots run { x = run ? f(x) : x; run = run and c(x) }      over all slots
 *       results of the slots that have ended go to their lanes; these slots get new lanes
 *   }
 *
 * Lanes are taken in again when an eighth of the slots has ended, and there are at most a 60th as many slots as lanes: with a tenth of
 * all steps useful, steps of slots that have ended add at most 0.3 of the useful ones (an eighth while lanes wait, (slots - 1)/(lanes/10)
 * when none does any more). Each lane's bits are its own: a step of the slots is the step of each lane. Run before lowering; the
 * interpreter runs the loop as it was. */
#include "transform/lanes.h"

#include "prim/batch.h"
#include "prim/body.h"
#include "prim/control.h"
#include "prim/index.h"
#include "transform/prog.h"
#include "transform/vmap.h"

#include "prims.gen.h"

/* The least number of slots makes arrays that do not fit into registers one element at a time, so that steps are vectors. */
enum { MOST_SLOTS = 64, LEAST_SLOTS = 17, LANES_A_SLOT = 60, MOST_CARRIES = 12, USEFUL_STEPS = 8 };

typedef struct slots {
    const kn_rules *r;
    const kn_jaxpr *j, *body; /* the scan's */
    const kn_eqn *e, *loop;   /* the scan, the while in it */
    kn_while_parts w;
    uint32_t consts, n;    /* operands of the while: constants, carries */
    uint32_t own;          /* constants that differ between lanes */
    int64_t lanes, width;
    const kn_jaxpr *cond, *step; /* over the slots */
} slots;

/* ---- which loops ---- */

/* The operand of the scan that operand i of the while is; the scan's constants come first. */
static uint32_t operand(const slots *s, uint32_t i)
{
    uint32_t k = 0;
    while (s->body->in[k] != s->loop->in[i]) k++;
    return k;
}
static bool differs(const slots *s, uint32_t i) /* between lanes */
{
    return !kn_is_literal(s->loop->in[i]) && operand(s, i) >= kn_scan_parts_of(s->e).consts;
}

static bool scalar_body(const kn_jaxpr *j)
{
    if (j->nconsts || !kn_body_is_elementwise(j)) return false;
    for (uint32_t i = 0; i < j->nvars; i++)
        if (j->vars[i].type.rank || !strchr("biuf", kiln_dtype_kind(j->vars[i].type.dtype))) return false;
    return true;
}

int64_t kn_slots_for(int64_t lanes)
{
    int64_t width = LEAST_SLOTS;
    while (width < MOST_SLOTS && (width / 8 + 1) * 8 * LANES_A_SLOT <= lanes) width = (width / 8 + 1) * 8;
    return lanes < LEAST_SLOTS * LANES_A_SLOT ? 0 : width;
}

static bool matches(const kn_jaxpr *j, const kn_eqn *e, slots *s)
{
    if (e->prim != &kn_prim_scan) return false;
    kn_scan_parts p = kn_scan_parts_of(e);
    if (p.carries || p.body->neqns != 1 || p.body->nconsts || p.body->eqns[0].prim != &kn_prim_while) return false;
    *s = (slots){.j = j, .e = e, .body = p.body, .loop = &p.body->eqns[0], .lanes = p.length, .width = kn_slots_for(p.length)};
    s->w = kn_while_parts_of(s->loop);
    s->consts = s->w.cond_consts + s->w.body_consts;
    s->n = s->loop->nin - s->consts;
    if (s->width == 0 || s->n == 0 || s->n > MOST_CARRIES || s->consts > MOST_CARRIES || !scalar_body(s->w.cond) || !scalar_body(s->w.body)) return false;
    for (uint32_t i = 0; i < s->loop->nin; i++)
        if (kn_type_of(p.body, s->loop->in[i]).rank) return false;
    for (uint32_t k = 0; k < p.body->nout; k++) {
        kn_atom a = p.body->out[k];
        bool result = false;
        for (uint32_t i = 0; i < s->loop->nout; i++) result = result || (!kn_is_literal(a) && a == s->loop->out[i]);
        if (!result) return false;
    }
    for (uint32_t i = 0; i < s->consts; i++) s->own += differs(s, i);
    return true;
}

/* ---- pieces ---- */

static kiln_type over(const slots *s, kiln_dtype d) { return (kiln_type){d, 1, &s->width}; }
static kiln_dtype carry_dtype(const slots *s, uint32_t k) { return kn_type_of(s->body, s->loop->in[s->consts + k]).dtype; }
static kn_atom integer(kn_low *l, int64_t v)
{
    kn_atom a = 0;
    if (l->status == KILN_OK) l->status = kn_build_literal(l->b, KILN_I64, (kn_scalar){.i = v}, &a);
    return a;
}
/* How many of the slots; there are no more than narrow integers count. */
static kn_atom count(kn_low *l, kn_atom flags)
{
    static const int64_t axis = 0;
    kn_atom v = kn_low_convert(l, flags, KILN_I64);
    v = kn_low_op(l, &kn_prim_reduce_sum, (kn_param[]){KN_INTS(1, &axis), KN_NONE}, &v, 1);
    return v;
}
static kn_atom literal(kn_low *l, const slots *s, uint32_t i)
{
    const kn_lit *v = &s->body->lits[kn_literal_index(s->loop->in[i])];
    kn_atom a = 0;
    if (l->status == KILN_OK) l->status = kn_build_literal(l->b, v->dtype, v->value, &a);
    return a;
}
/* Elements `at` (of the slots) of an array over the lanes. */
static kn_atom take(kn_low *l, const slots *s, kn_atom array, kn_atom at)
{
    static const int64_t zero = 0, one = 1;
    const kn_ints_list first = {&zero, 1};
    const kn_index_dims d = {.collapsed = first, .map = first};
    kn_param lists[KN_INDEX_LISTS];
    kn_param params[] = {kn_index_param(&d, false, lists), KN_NONE, KN_BOOL(false), KN_TEXT("GatherScatterMode.CLIP"), KN_INTS(1, &one), KN_BOOL(false)};
    at = kn_low_reshape(l, at, 2, (int64_t[]){s->width, 1});
    return kn_low_op(l, &kn_prim_gather, params, (kn_atom[]){array, at}, 2);
}
static kn_atom put(kn_low *l, const slots *s, kn_atom array, kn_atom at, kn_atom v)
{
    static const int64_t zero = 0;
    const kn_ints_list first = {&zero, 1};
    const kn_index_dims d = {.collapsed = first, .map = first};
    kn_param lists[KN_INDEX_LISTS];
    kn_param params[] = {kn_index_param(&d, true, lists), KN_BOOL(false), KN_TEXT("GatherScatterMode.FILL_OR_DROP"), KN_NONE, KN_BOOL(true), KN_NONE, KN_NONE};
    at = kn_low_reshape(l, at, 2, (int64_t[]){s->width, 1});
    return kn_low_op(l, &kn_prim_scatter, params, (kn_atom[]){array, at, v}, 3);
}

static void open(const slots *s, kn_build *b)
{
    kn_build_init(b, s->r->ctx, s->r->prog);
    b->scope = s->e->scope, b->loc = s->e->loc;
}

/* Arguments of the condition and of the step over the slots: constants by number, then carries. */
static kiln_status call_cond(const slots *s, kn_build *b, const kn_atom *constants, const kn_atom *carry, kn_atom *out)
{
    kn_atom in[2 * MOST_CARRIES];
    memcpy(in, constants, s->w.cond_consts * sizeof *in);
    memcpy(in + s->w.cond_consts, carry, s->n * sizeof *in);
    return kn_low_inline(b, s->cond, s->loop, in, out);
}
static kiln_status call_step(const slots *s, kn_build *b, const kn_atom *constants, const kn_atom *carry, kn_atom *out)
{
    kn_atom in[2 * MOST_CARRIES];
    memcpy(in, constants + s->w.cond_consts, s->w.body_consts * sizeof *in);
    memcpy(in + s->w.body_consts, carry, s->n * sizeof *in);
    return kn_low_inline(b, s->step, s->loop, in, out);
}

/* ---- the loop over steps: carries are what may be lost, how many run, run, then those of the while ---- */

enum { LOST, RUNNING, RUN, STEPS };

/* How many slots do not run. */
static kn_atom idle(const slots *s, kn_low *l, kn_atom running) { return kn_low2(l, &kn_prim_sub, integer(l, s->width), running); }

/* Goes on while a slot runs, and while the steps of slots that have ended are few beside the useful ones: `weight` 0 says that no lane waits. */
static kiln_status inner_cond(const slots *s, const kn_jaxpr **out)
{
    kn_build b;
    kn_atom weight, state[STEPS], ignored;
    open(s, &b);
    kn_low l = {&b, KILN_OK};
    KILN_TRY(kn_build_input(&b, KILN_SCALAR(KILN_I64), &weight));
    KILN_TRY(kn_build_input(&b, KILN_SCALAR(KILN_I64), &state[LOST]));
    KILN_TRY(kn_build_input(&b, KILN_SCALAR(KILN_I64), &state[RUNNING]));
    KILN_TRY(kn_build_input(&b, over(s, KILN_BOOL), &state[RUN]));
    for (uint32_t k = 0; k < s->n; k++) KILN_TRY(kn_build_input(&b, over(s, carry_dtype(s, k)), &ignored));
    kn_atom lost = kn_low2(&l, &kn_prim_mul, weight, idle(s, &l, state[RUNNING]));
    kn_atom more = kn_low2(&l, &kn_prim_and, kn_low2(&l, &kn_prim_gt, state[RUNNING], integer(&l, 0)), kn_low2(&l, &kn_prim_ge, state[LOST], lost));
    KILN_TRY(l.status);
    return kn_build_finish(&b, &more, 1, out);
}

/* Constants of the while that are literals are made where they are used, the others handed in. */
static kiln_status constants_in(const slots *s, kn_low *l, kn_atom *c)
{
    for (uint32_t i = 0; i < s->consts; i++) {
        kiln_dtype d = kn_type_of(s->body, s->loop->in[i]).dtype;
        if (kn_is_literal(s->loop->in[i])) c[i] = literal(l, s, i);
        else KILN_TRY(kn_build_input(l->b, differs(s, i) ? over(s, d) : KILN_SCALAR(d), &c[i]));
    }
    return l->status;
}

static kiln_status inner_body(const slots *s, const kn_jaxpr **out)
{
    kn_build b;
    kn_atom weight, c[MOST_CARRIES], state[STEPS], carry[MOST_CARRIES], next[STEPS + MOST_CARRIES], go;
    open(s, &b);
    kn_low l = {&b, KILN_OK};
    KILN_TRY(kn_build_input(&b, KILN_SCALAR(KILN_I64), &weight));
    KILN_TRY(constants_in(s, &l, c));
    KILN_TRY(kn_build_input(&b, KILN_SCALAR(KILN_I64), &state[LOST]));
    KILN_TRY(kn_build_input(&b, KILN_SCALAR(KILN_I64), &state[RUNNING]));
    KILN_TRY(kn_build_input(&b, over(s, KILN_BOOL), &state[RUN]));
    for (uint32_t k = 0; k < s->n; k++) KILN_TRY(kn_build_input(&b, over(s, carry_dtype(s, k)), &carry[k]));
    KILN_TRY(call_step(s, &b, c, carry, next + STEPS));
    for (uint32_t k = 0; k < s->n; k++) next[STEPS + k] = kn_low_select(&l, state[RUN], next[STEPS + k], carry[k]);
    KILN_TRY(l.status);
    KILN_TRY(call_cond(s, &b, c, next + STEPS, &go));
    kn_atom lost = kn_low2(&l, &kn_prim_mul, weight, idle(s, &l, state[RUNNING]));
    next[LOST] = kn_low2(&l, &kn_prim_sub, kn_low2(&l, &kn_prim_add, state[LOST], state[RUNNING]), lost);
    next[RUN] = kn_low2(&l, &kn_prim_and, state[RUN], go);
    next[RUNNING] = count(&l, next[RUN]);
    KILN_TRY(l.status);
    return kn_build_finish(&b, next, STEPS + s->n, out);
}

/* ---- the loop over lanes: carries are the next lane, the slots' lanes, carries, own constants, results ---- */

typedef struct state {
    kn_atom next, lane, carry[MOST_CARRIES], own[MOST_CARRIES], *result;
} state;

static uint32_t state_size(const slots *s) { return 2 + s->n + s->own + s->e->nout; }
static void state_list(const slots *s, const state *x, kn_atom *v)
{
    *v++ = x->next, *v++ = x->lane;
    for (uint32_t k = 0; k < s->n; k++) *v++ = x->carry[k];
    for (uint32_t k = 0; k < s->own; k++) *v++ = x->own[k];
    for (uint32_t k = 0; k < s->e->nout; k++) *v++ = x->result[k];
}
static kiln_status state_inputs(const slots *s, kn_build *b, state *x)
{
    KILN_TRY_MEM(b->ctx, x->result = KN_NEWN(&b->prog->arena, kn_atom, s->e->nout + 1));
    KILN_TRY(kn_build_input(b, KILN_SCALAR(KILN_I64), &x->next));
    KILN_TRY(kn_build_input(b, over(s, KILN_I64), &x->lane));
    for (uint32_t k = 0; k < s->n; k++) KILN_TRY(kn_build_input(b, over(s, carry_dtype(s, k)), &x->carry[k]));
    for (uint32_t i = 0, k = 0; i < s->consts; i++)
        if (differs(s, i)) KILN_TRY(kn_build_input(b, over(s, kn_type_of(s->body, s->loop->in[i]).dtype), &x->own[k++]));
    for (uint32_t k = 0; k < s->e->nout; k++) KILN_TRY(kn_build_input(b, kn_out_type(s->j, s->e, k), &x->result[k]));
    return KILN_OK;
}

static kiln_status outer_cond(const slots *s, const kn_jaxpr **out)
{
    static const int64_t axis = 0;
    kn_build b;
    state x;
    open(s, &b);
    kn_low l = {&b, KILN_OK};
    KILN_TRY(state_inputs(s, &b, &x));
    kn_atom busy = kn_low2(&l, &kn_prim_lt, x.lane, integer(&l, s->lanes));
    busy = kn_low_op(&l, &kn_prim_reduce_or, &KN_INTS(1, &axis), &busy, 1);
    KILN_TRY(l.status);
    return kn_build_finish(&b, &busy, 1, out);
}

/* What operand i of the while is in the lanes `at`. */
static kn_atom in_lanes(kn_low *l, const slots *s, uint32_t i, const kn_atom *operands, kn_atom at)
{
    if (differs(s, i)) return take(l, s, operands[operand(s, i)], at);
    kn_atom v = kn_is_literal(s->loop->in[i]) ? literal(l, s, i) : operands[operand(s, i)];
    return kn_low_widen(l, v, over(s, kn_type_of(s->body, s->loop->in[i]).dtype));
}

/* The constants of the while as the slots see them. */
static void constants_of(kn_low *l, const slots *s, const state *x, const kn_atom *operands, kn_atom *c)
{
    for (uint32_t i = 0, k = 0; i < s->consts; i++)
        c[i] = differs(s, i) ? x->own[k++] : kn_is_literal(s->loop->in[i]) ? literal(l, s, i) : operands[operand(s, i)];
}

/* Steps until enough slots have ended; which run is left in *run. */
static kiln_status steps(const slots *s, kn_low *l, state *x, const kn_atom *c, kn_atom live, kn_atom *run)
{
    const kn_jaxpr *cond, *body;
    kn_atom in[2 + STEPS + 2 * MOST_CARRIES], out[STEPS + MOST_CARRIES], go;
    uint32_t n = 0, consts;
    KILN_TRY(inner_cond(s, &cond));
    KILN_TRY(inner_body(s, &body));
    kn_atom waits = kn_low2(l, &kn_prim_lt, x->next, integer(l, s->lanes));
    kn_atom weight = kn_low_select(l, waits, integer(l, USEFUL_STEPS), integer(l, 0));
    in[n++] = in[1] = weight;
    n = 2;
    for (uint32_t i = 0; i < s->consts; i++)
        if (!kn_is_literal(s->loop->in[i])) in[n++] = c[i];
    consts = n - 1;
    KILN_TRY(l->status);
    KILN_TRY(call_cond(s, l->b, c, x->carry, &go));
    in[n + RUN] = kn_low2(l, &kn_prim_and, live, go);
    in[n + RUNNING] = count(l, in[n + RUN]);
    in[n + LOST] = integer(l, 0);
    n += STEPS;
    for (uint32_t k = 0; k < s->n; k++) in[n++] = x->carry[k];
    kn_param params[KN_WHILE_PARAMS];
    kn_while_params(params, cond, 1, body, consts);
    params[KN_WHILE_LANES] = KN_INT(s->width);
    KILN_TRY(l->status);
    KILN_TRY(kn_build_eqn(l->b, &kn_prim_while, params, in, n, out, STEPS + s->n));
    *run = out[RUN];
    memcpy(x->carry, out + STEPS, s->n * sizeof *out);
    return KILN_OK;
}

static kiln_status outer_body(const slots *s, const kn_jaxpr **out)
{
    kn_build b;
    state x;
    open(s, &b);
    kn_low l = {&b, KILN_OK};
    kn_atom *operands = KN_NEWN(&b.prog->arena, kn_atom, s->e->nin + 1), *v = KN_NEWN(&b.prog->arena, kn_atom, state_size(s));
    kn_atom c[MOST_CARRIES], run;
    KILN_TRY_MEM(b.ctx, operands && v);
    for (uint32_t i = 0; i < s->e->nin; i++) KILN_TRY(kn_build_input(&b, kn_in_type(s->j, s->e, i), &operands[i]));
    KILN_TRY(state_inputs(s, &b, &x));
    constants_of(&l, s, &x, operands, c);
    kn_atom live = kn_low2(&l, &kn_prim_lt, x.lane, integer(&l, s->lanes));
    KILN_TRY(l.status);
    KILN_TRY(steps(s, &l, &x, c, live, &run));
    kn_atom ended = kn_low2(&l, &kn_prim_and, live, kn_low1(&l, &kn_prim_not, run));
    kn_atom to = kn_low_select(&l, ended, x.lane, integer(&l, s->lanes)); /* out of bounds: nothing is written */
    for (uint32_t k = 0; k < s->e->nout; k++) {
        uint32_t i = 0;
        while (s->loop->out[i] != s->body->out[k]) i++;
        x.result[k] = put(&l, s, x.result[k], to, x.carry[i]);
    }
    kn_atom wide = kn_low_convert(&l, ended, KILN_I64);
    kn_atom rank = kn_low_op(&l, &kn_prim_cumsum, (kn_param[]){KN_INT(0), KN_BOOL(false)}, &wide, 1);
    kn_atom taken = kn_low2(&l, &kn_prim_sub, kn_low2(&l, &kn_prim_add, rank, x.next), integer(&l, 1));
    x.lane = kn_low_select(&l, ended, taken, x.lane);
    x.next = kn_low2(&l, &kn_prim_add, x.next, count(&l, ended));
    for (uint32_t k = 0; k < s->n; k++) x.carry[k] = kn_low_select(&l, ended, in_lanes(&l, s, s->consts + k, operands, x.lane), x.carry[k]);
    for (uint32_t i = 0, k = 0; i < s->consts; i++)
        if (differs(s, i)) x.own[k] = kn_low_select(&l, ended, in_lanes(&l, s, i, operands, x.lane), x.own[k]), k++;
    state_list(s, &x, v);
    KILN_TRY(l.status);
    return kn_build_finish(&b, v, state_size(s), out);
}

/* ---- in place of the scan ---- */

static kiln_status over_slots(slots *s)
{
    bool lanes[2 * MOST_CARRIES], wanted[MOST_CARRIES], found[MOST_CARRIES];
    for (uint32_t k = 0; k < s->n; k++) wanted[k] = true;
    for (uint32_t i = 0; i < s->w.cond_consts + s->n; i++) lanes[i] = i >= s->w.cond_consts || differs(s, i);
    KILN_TRY(kn_vmap_body(s->r, s->w.cond, s->width, lanes, wanted, &s->cond, found));
    for (uint32_t i = 0; i < s->w.body_consts + s->n; i++) lanes[i] = i >= s->w.body_consts || differs(s, s->w.cond_consts + i);
    KILN_TRY(kn_vmap_body(s->r, s->w.body, s->width, lanes, wanted, &s->step, found));
    return KILN_OK;
}

static kiln_status replace(slots *s, kn_build *b, const kn_atom *operands, kn_atom *y)
{
    const kn_jaxpr *cond, *body;
    state x = {.result = y};
    uint32_t n = state_size(s), nin = s->e->nin;
    kn_low l = {b, KILN_OK};
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, nin + n), *out = KN_NEWN(&b->prog->arena, kn_atom, n);
    KILN_TRY_MEM(b->ctx, in && out);
    KILN_TRY(over_slots(s));
    KILN_TRY(outer_cond(s, &cond));
    KILN_TRY(outer_body(s, &body));
    x.lane = kn_low_op(&l, &kn_prim_iota, (kn_param[]){KN_INT(0), KN_DTYPE(KILN_I64), KN_INTS(1, &s->width), KN_NONE}, NULL, 0);
    x.next = integer(&l, s->width);
    for (uint32_t k = 0; k < s->n; k++) x.carry[k] = in_lanes(&l, s, s->consts + k, operands, x.lane);
    for (uint32_t i = 0, k = 0; i < s->consts; i++)
        if (differs(s, i)) x.own[k++] = in_lanes(&l, s, i, operands, x.lane);
    for (uint32_t k = 0; k < s->e->nout; k++) y[k] = kn_low_fill(&l, kn_out_type(s->j, s->e, k), (kn_scalar){.u = 0});
    memcpy(in, operands, nin * sizeof *in);
    state_list(s, &x, in + nin);
    kn_param params[KN_WHILE_PARAMS];
    kn_while_params(params, cond, 0, body, nin);
    params[KN_WHILE_LANES] = KN_INT(0); /* only what the slots do counts */
    KILN_TRY(l.status);
    KILN_TRY(kn_build_eqn(b, &kn_prim_while, params, in, nin + n, out, n));
    memcpy(y, out + n - s->e->nout, s->e->nout * sizeof *y);
    return KILN_OK;
}

/* ---- the program ---- */

static bool may_slot(const kn_jaxpr *j, const kn_eqn *e)
{
    slots s;
    return matches(j, e, &s);
}

static kiln_status slot(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *operands, kn_atom *y, bool *done)
{
    slots s;
    *done = matches(j, e, &s);
    s.r = r;
    return *done ? replace(&s, b, operands, y) : KILN_OK;
}

kiln_status kn_lanes_in_slots(kiln_ctx *ctx, const kn_prog *p, kn_prog **out) { return kn_prog_replace(ctx, p, may_slot, slot, out); }

kiln_status kn_arrays_in_slots(kiln_ctx *ctx, const kn_prog *p, kn_prog **out)
{
    kn_prog *lanes;
    *out = NULL;
    KILN_TRY(kn_prog_replace(ctx, p, kn_may_unbatch, kn_unbatch, &lanes));
    kiln_status status = lanes ? kn_lanes_in_slots(ctx, lanes, out) : KILN_OK;
    kiln_prog_release(lanes);
    return status;
}
