/* SPDX-License-Identifier: Apache-2.0 */
/* Reverse mode through while, whose trips are not known before it runs. A record of at most `slots` states (carries that are not linear) grows
 * while the trips are counted: a call allocates nothing, so its room is fixed. Where all trips fit, they are walked back from it, and only the
 * trips that were made are visited. Else the states are run again from snapshots, placed as Griewank's binomial scheme places them (Achieving
 * logarithmic growth of temporal and spatial complexity in reverse automatic differentiation, 1992). With s free slots, r sweeps over the
 * trips reverse beta(s, r) = (s+r)!/(s! r!) of them, so memory is that of the slots however long the loop runs.
 *
 * Who knows about how many trips there are (`max_trips`) chooses by `record`: `root` makes two sweeps of 1.4 sqrt(trips) states, `log` as many
 * sweeps as states, about half of log2(trips), `all` one. More trips than that are right too, and take more sweeps.
 *
 *     trips = count(first carries), state k in stack[k] for k < slots
 *     stack = all of it where trips <= slots, else [(0, first carries)]; end = trips
 *     while end > 0:
 *         (i, state) = top of the stack; m = how far to go with the slots that are free
 *         state = m trips from state
 *         if i + m = end - 1: cotangents = one trip back at state; end = end - 1; if i = end: pop
 *         else: push (i + m, state) */
#include "prim/control.h"
#include "prim/common.h"
#include "prim/derive.h"

#include <math.h>

/* Without a bound: slots, sweeps that are told apart before the way is halved. With one: sweeps of `log` for the most trips. */
enum { LEAST_SLOTS = 8, MOST_SLOTS = 64, SNAPSHOT_BYTES = 1 << 20, SWEEPS = 8, MOST_SWEEPS = 32 };
static const int64_t MOST_TRIPS = (int64_t)1 << 40;
static const double MOST_BYTES = 1e15;
static const kiln_dtype index_type = KILN_I64;

typedef struct reversal {
    const kn_rules *r;
    kn_build *b;
    const kn_jaxpr *j;
    const kn_eqn *e;
    kn_while_parts w;
    uint32_t n;           /* carries */
    const bool *linear;   /* of the body's arguments: constants, then carries */
    const kn_jaxpr *back; /* (constants, state, cotangents of linear carries, found for linear constants) -> both */
    uint32_t consts, state, cts, sums; /* how many: constants and carries that are not linear; linear carries, linear constants */
    int64_t slots;
    int sweeps; /* for as many trips as are expected */
} reversal;

static kn_atom *atoms(const reversal *v, uint32_t n) { return KN_NEWN(&v->b->prog->arena, kn_atom, n); }
static kn_atom whole(kn_low *l, int64_t k)
{
    kn_atom a = 0;
    if (l->status == KILN_OK) l->status = kn_build_literal(l->b, index_type, (kn_scalar){.i = k}, &a);
    return a;
}
static void inner(const reversal *v, kn_build *b)
{
    kn_build_init(b, v->b->ctx, v->b->prog);
    b->scope = v->b->scope;
    b->loc = v->b->loc;
}

/* ---- types ---- */

static kiln_type carry_type(const reversal *v, uint32_t i) { return kn_out_type(v->j, v->e, i); }
static bool carry_linear(const reversal *v, uint32_t i) { return v->linear[v->w.body_consts + i]; }

/* The k-th constant or carry that is linear, or is not. */
static uint32_t pick(const reversal *v, bool of_carries, bool linear, uint32_t k)
{
    uint32_t first = of_carries ? v->w.body_consts : 0, i = first;
    for (;; i++)
        if (v->linear[i] == linear && k-- == 0) return i - first;
}
static kiln_type const_type(const reversal *v, bool linear, uint32_t k)
{
    return kn_in_type(v->j, v->e, v->w.cond_consts + pick(v, false, linear, k));
}
static kiln_type state_type(const reversal *v, uint32_t k) { return carry_type(v, pick(v, true, false, k)); }
static kiln_type ct_type(const reversal *v, uint32_t k) { return carry_type(v, pick(v, true, true, k)); }

/* A slot more than there are: what is not kept is written there. */
static kiln_type stack_type(const reversal *v, kiln_type row, int64_t *dims)
{
    dims[0] = v->slots + 1;
    for (uint32_t d = 0; d < row.rank; d++) dims[d + 1] = row.dims[d];
    return (kiln_type){row.dtype, row.rank + 1, dims};
}

/* ---- forwards ---- */

/* All carries of a state, zeros for the linear ones. */
static kiln_status full_carry(const reversal *v, kn_build *b, const kn_atom *state, kn_atom *out)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        if (carry_linear(v, i)) KILN_TRY(kn_zeros(b, carry_type(v, i), &out[i]));
        else out[i] = state[k++];
    }
    return KILN_OK;
}

/* The state after one trip. */
static kiln_status trip(const reversal *v, kn_build *b, const kn_atom *consts, const kn_atom *state, kn_atom *next)
{
    uint32_t nb = v->w.body_consts, k = 0;
    kn_atom *in = atoms(v, nb + v->n), *out = atoms(v, v->n);
    KILN_TRY_MEM(b->ctx, in && out);
    for (uint32_t i = 0; i < nb; i++) {
        if (v->linear[i]) KILN_TRY(kn_zeros(b, kn_in_type(v->j, v->e, v->w.cond_consts + i), &in[i]));
        else in[i] = consts[k++];
    }
    KILN_TRY(full_carry(v, b, state, in + nb));
    KILN_TRY(kn_low_inline(b, v->w.body, v->e, in, out));
    k = 0;
    for (uint32_t i = 0; i < v->n; i++)
        if (!carry_linear(v, i)) next[k++] = out[i];
    return KILN_OK;
}

/* Row `at` of a stack, and a stack with another row there. */
static kiln_status row_of(kn_low *l, kn_atom stack, kn_atom at, kn_atom *out)
{
    kiln_type t = kn_build_type(l->b, stack);
    int64_t sizes[KN_MAX_RANK];
    kn_atom in[KN_MAX_RANK + 1] = {stack, at};
    for (uint32_t d = 0; d < t.rank; d++) sizes[d] = d ? t.dims[d] : 1;
    for (uint32_t d = 1; d < t.rank; d++) in[1 + d] = whole(l, 0);
    kn_atom row = kn_low_op(l, &kn_prim_dynamic_slice, &KN_INTS(t.rank, sizes), in, t.rank + 1);
    *out = kn_low_reshape(l, row, t.rank - 1, sizes + 1);
    return l->status;
}
static kiln_status put_row(kn_low *l, kn_atom stack, kn_atom at, kn_atom row, kn_atom *out)
{
    kiln_type t = kn_build_type(l->b, stack);
    int64_t sizes[KN_MAX_RANK];
    kn_atom in[KN_MAX_RANK + 2] = {stack, 0, at};
    for (uint32_t d = 0; d < t.rank; d++) sizes[d] = d ? t.dims[d] : 1;
    in[1] = kn_low_reshape(l, row, t.rank, sizes);
    for (uint32_t d = 1; d < t.rank; d++) in[2 + d] = whole(l, 0);
    *out = kn_low_op(l, &kn_prim_dynamic_update_slice, NULL, in, t.rank + 2);
    return l->status;
}

/* A loop with carries (number, state, stacks): up from 0 as long as the condition holds, the states on the way entered into the stacks; or
 * (number, state), down to 0. */
static kiln_status stack_inputs(const reversal *v, kn_build *b, bool counting, kn_atom *stacks)
{
    int64_t dims[KN_MAX_RANK + 1];
    for (uint32_t i = 0; counting && i < v->state; i++) KILN_TRY(kn_build_input(b, stack_type(v, state_type(v, i), dims), &stacks[i]));
    return KILN_OK;
}
static kiln_status forward_cond(const reversal *v, bool counting, const kn_jaxpr **out)
{
    kn_build b;
    inner(v, &b);
    uint32_t c = counting ? v->w.cond_consts : 0;
    kn_atom number, *in = atoms(v, c + v->n), *state = atoms(v, v->state), more = 0;
    KILN_TRY_MEM(b.ctx, in && state);
    for (uint32_t i = 0; i < c; i++) KILN_TRY(kn_build_input(&b, kn_in_type(v->j, v->e, i), &in[i]));
    KILN_TRY(kn_build_input(&b, KILN_SCALAR(index_type), &number));
    for (uint32_t i = 0; i < v->state; i++) KILN_TRY(kn_build_input(&b, state_type(v, i), &state[i]));
    if (counting) {
        kn_atom *ignored = atoms(v, v->state);
        KILN_TRY_MEM(b.ctx, ignored);
        KILN_TRY(stack_inputs(v, &b, true, ignored));
        KILN_TRY(full_carry(v, &b, state, in + c));
        KILN_TRY(kn_low_inline(&b, v->w.cond, v->e, in, &more));
    } else {
        kn_low l = {&b, KILN_OK};
        more = kn_low2(&l, &kn_prim_gt, number, whole(&l, 0));
        KILN_TRY(l.status);
    }
    return kn_build_finish(&b, &more, 1, out);
}
static kiln_status forward_body(const reversal *v, bool counting, const kn_jaxpr **out)
{
    kn_build b;
    inner(v, &b);
    kn_atom *consts = atoms(v, v->consts), *state = atoms(v, v->state), *next = atoms(v, 1 + 2 * v->state), *stacks = next + 1 + v->state, number;
    KILN_TRY_MEM(b.ctx, consts && state && next);
    for (uint32_t i = 0; i < v->consts; i++) KILN_TRY(kn_build_input(&b, const_type(v, false, i), &consts[i]));
    KILN_TRY(kn_build_input(&b, KILN_SCALAR(index_type), &number));
    for (uint32_t i = 0; i < v->state; i++) KILN_TRY(kn_build_input(&b, state_type(v, i), &state[i]));
    KILN_TRY(stack_inputs(v, &b, counting, stacks));
    kn_low l = {&b, KILN_OK};
    kn_atom slot = counting ? kn_low2(&l, &kn_prim_min, number, whole(&l, v->slots)) : 0;
    next[0] = kn_low2(&l, counting ? &kn_prim_add : &kn_prim_sub, number, whole(&l, 1));
    KILN_TRY(l.status);
    for (uint32_t i = 0; counting && i < v->state; i++) KILN_TRY(put_row(&l, stacks[i], slot, state[i], &stacks[i]));
    KILN_TRY(trip(v, &b, consts, state, next + 1));
    return kn_build_finish(&b, next, 1 + (counting ? 2 : 1) * v->state, out);
}
/* From `state`: until the condition fails (number: 0), or `number` trips; out: the number, the state, and when counting the stacks. */
static kiln_status forward(const reversal *v, kn_build *b, bool counting, const kn_atom *cond_consts, const kn_atom *consts, kn_atom number,
                           const kn_atom *state, kn_atom *out)
{
    uint32_t c = counting ? v->w.cond_consts : 0, at = 0, n = 1 + (counting ? 2 : 1) * v->state;
    int64_t dims[KN_MAX_RANK + 1];
    const kn_jaxpr *cond, *body;
    kn_atom *in = atoms(v, c + v->consts + n);
    kn_low l = {b, KILN_OK};
    KILN_TRY_MEM(b->ctx, in);
    KILN_TRY(forward_cond(v, counting, &cond));
    KILN_TRY(forward_body(v, counting, &body));
    for (uint32_t i = 0; i < c; i++) in[at++] = cond_consts[i];
    for (uint32_t i = 0; i < v->consts; i++) in[at++] = consts[i];
    in[at++] = number;
    for (uint32_t i = 0; i < v->state; i++) in[at++] = state[i];
    for (uint32_t i = 0; counting && i < v->state; i++) in[at++] = kn_low_fill(&l, stack_type(v, state_type(v, i), dims), (kn_scalar){.c = {0, 0}});
    KILN_TRY(l.status);
    kn_param params[KN_WHILE_PARAMS];
    kn_while_params(params, cond, c, body, v->consts);
    return kn_build_eqn(b, &kn_prim_while, params, in, at, out, n);
}

/* ---- the stack ---- */

/* How far to go over d trips with `free` slots: beta(s, r - 1) for the least r with beta(s, r) >= d, s = free + 1. */
static kn_atom stride(const reversal *v, kn_low *l, kn_atom d, kn_atom free)
{
    kn_atom s = kn_low2(l, &kn_prim_add, free, whole(l, 1)), last = kn_low2(l, &kn_prim_sub, d, whole(l, 1)), beta[MOST_SWEEPS + 1];
    beta[0] = whole(l, 1);
    for (int r = 1; r <= v->sweeps; r++) {
        kn_atom product = kn_low2(l, &kn_prim_mul, beta[r - 1], kn_low2(l, &kn_prim_add, s, whole(l, r)));
        beta[r] = kn_low2(l, &kn_prim_div, product, whole(l, r));
    }
    kn_atom m = kn_low2(l, &kn_prim_max, beta[v->sweeps - 1], kn_low2(l, &kn_prim_div, d, whole(l, 2)));
    for (int r = v->sweeps; r >= 1; r--) m = kn_low_select(l, kn_low2(l, &kn_prim_le, d, beta[r]), beta[r - 1], m);
    m = kn_low_select(l, kn_low2(l, &kn_prim_eq, free, whole(l, 0)), last, m);
    return kn_low2(l, &kn_prim_min, m, last);
}

/* ---- backwards ---- */

/* The branch that goes a trip back, or the one that changes nothing. Arguments: constants, state, cotangents, sums. */
static kiln_status back_branch(const reversal *v, bool back, const kn_jaxpr **out)
{
    kn_build b;
    inner(v, &b);
    uint32_t n = v->consts + v->state, m = v->cts + v->sums;
    kn_atom *in = atoms(v, n + m), *res = atoms(v, m), *made = atoms(v, m);
    KILN_TRY_MEM(b.ctx, in && res && made);
    for (uint32_t i = 0; i < v->consts; i++) KILN_TRY(kn_build_input(&b, const_type(v, false, i), &in[i]));
    for (uint32_t i = 0; i < v->state; i++) KILN_TRY(kn_build_input(&b, state_type(v, i), &in[v->consts + i]));
    for (uint32_t i = 0; i < v->cts; i++) KILN_TRY(kn_build_input(&b, ct_type(v, i), &in[n + i]));
    for (uint32_t i = 0; i < v->sums; i++) KILN_TRY(kn_build_input(&b, const_type(v, true, i), &in[n + v->cts + i]));
    if (!back) return kn_build_finish(&b, in + n, m, out);
    KILN_TRY(kn_low_inline(&b, v->back, v->e, in, made)); /* in the order of the body's arguments: sums, then cotangents */
    memcpy(res, made + v->sums, v->cts * sizeof *res);
    memcpy(res + v->cts, made, v->sums * sizeof *res);
    return kn_build_finish(&b, res, m, out);
}

enum { END, TOP, PLACES, STACKS }; /* carries: end, top of the stack, places of the snapshots, snapshots, cotangents, sums */

static kiln_status one_step(const reversal *v, kn_build *b, const kn_atom *consts, const kn_atom *carry, kn_atom *next)
{
    kn_low l = {b, KILN_OK};
    uint32_t m = v->cts + v->sums;
    const kn_atom *stacks = carry + STACKS, *found = stacks + v->state;
    kn_atom place, *state = atoms(v, v->state), *there = atoms(v, 1 + v->state), *in = atoms(v, 1 + v->consts + v->state + m);
    KILN_TRY_MEM(b->ctx, state && there && in);
    KILN_TRY(row_of(&l, carry[PLACES], carry[TOP], &place));
    for (uint32_t i = 0; i < v->state; i++) KILN_TRY(row_of(&l, stacks[i], carry[TOP], &state[i]));
    kn_atom d = kn_low2(&l, &kn_prim_sub, carry[END], place), one = whole(&l, 1);
    kn_atom go = stride(v, &l, d, kn_low2(&l, &kn_prim_sub, whole(&l, v->slots - 1), carry[TOP]));
    KILN_TRY(l.status);
    KILN_TRY(forward(v, b, false, NULL, consts, go, state, there));
    kn_atom at = kn_low2(&l, &kn_prim_add, place, go), before = kn_low2(&l, &kn_prim_sub, carry[END], one);
    kn_atom back = kn_low2(&l, &kn_prim_eq, at, before), above = kn_low2(&l, &kn_prim_add, carry[TOP], one);
    kn_atom slot = kn_low_select(&l, back, whole(&l, v->slots), above);
    kn_atom empty = kn_low2(&l, &kn_prim_and, kn_low2(&l, &kn_prim_eq, place, before), kn_low2(&l, &kn_prim_gt, carry[TOP], whole(&l, 0)));
    kn_atom popped = kn_low_select(&l, empty, kn_low2(&l, &kn_prim_sub, carry[TOP], one), carry[TOP]);
    next[END] = kn_low_select(&l, back, before, carry[END]);
    next[TOP] = kn_low_select(&l, back, popped, above);
    in[0] = kn_low_convert(&l, back, KILN_I32);
    KILN_TRY(l.status);
    KILN_TRY(put_row(&l, carry[PLACES], slot, at, &next[PLACES]));
    for (uint32_t i = 0; i < v->state; i++) KILN_TRY(put_row(&l, stacks[i], slot, there[1 + i], &next[STACKS + i]));
    memcpy(in + 1, consts, v->consts * sizeof *in);
    memcpy(in + 1 + v->consts, there + 1, v->state * sizeof *in);
    memcpy(in + 1 + v->consts + v->state, found, m * sizeof *in);
    kn_param branches[2] = {{.kind = KN_P_JAXPR}, {.kind = KN_P_JAXPR}};
    for (int k = 0; k < 2; k++) KILN_TRY(back_branch(v, k, &branches[k].jaxpr));
    kn_param params[] = {KN_TUPLE(2, branches), KN_NONE, KN_NONE};
    return kn_build_eqn(b, &kn_prim_cond, params, in, 1 + v->consts + v->state + m, next + STACKS + v->state, m);
}

static kiln_status backward_bodies(const reversal *v, const kn_atom *init, uint32_t ncarry, const kn_jaxpr **cond, const kn_jaxpr **body)
{
    kn_build b;
    kn_atom *consts = atoms(v, v->consts), *carry = atoms(v, ncarry), *next = atoms(v, ncarry);
    KILN_TRY_MEM(v->b->ctx, consts && carry && next);
    inner(v, &b);
    for (uint32_t i = 0; i < ncarry; i++) KILN_TRY(kn_build_input(&b, kn_build_type(v->b, init[i]), &carry[i]));
    kn_low l = {&b, KILN_OK};
    kn_atom more = kn_low2(&l, &kn_prim_gt, carry[END], whole(&l, 0));
    KILN_TRY(l.status);
    KILN_TRY(kn_build_finish(&b, &more, 1, cond));
    inner(v, &b);
    for (uint32_t i = 0; i < v->consts; i++) KILN_TRY(kn_build_input(&b, const_type(v, false, i), &consts[i]));
    for (uint32_t i = 0; i < ncarry; i++) KILN_TRY(kn_build_input(&b, kn_build_type(v->b, init[i]), &carry[i]));
    KILN_TRY(one_step(v, &b, consts, carry, next));
    return kn_build_finish(&b, next, ncarry, body);
}

static kiln_status check_room(const reversal *v, double bytes)
{
    for (uint32_t i = 0; i < v->state; i++)
        if (state_type(v, i).rank + 1 > KN_MAX_RANK)
            return kn_fail(v->b->ctx, KILN_UNSUPPORTED, "reverse mode through while: carry %u is %s; its record needs one dimension more, accepted: %d",
                           pick(v, true, false, i), kn_type_show(state_type(v, i)).s, KN_MAX_RANK);
    if ((bytes + 8) * (double)(v->slots + 1) < MOST_BYTES) return KILN_OK;
    return kn_fail(v->b->ctx, KILN_UNSUPPORTED, "reverse mode through while: a record of %lld states of %.0f bytes; accepted: another record, root or log",
                   (long long)v->slots, bytes);
}

static kiln_status reverse(const reversal *v, const kn_atom *x, const kn_atom *ct, kn_atom *ct_in)
{
    uint32_t c = v->w.cond_consts, nb = v->w.body_consts, ncarry = STACKS + v->state + v->cts + v->sums, k = 0;
    kn_low l = {v->b, KILN_OK};
    kn_atom *consts = atoms(v, v->consts), *state = atoms(v, v->state), *counted = atoms(v, 1 + 2 * v->state);
    kn_atom *in = atoms(v, v->consts + ncarry), *out = atoms(v, ncarry);
    KILN_TRY_MEM(v->b->ctx, consts && state && counted && in && out);
    for (uint32_t i = 0; i < nb; i++)
        if (!v->linear[i]) consts[k++] = x[c + i];
    k = 0;
    for (uint32_t i = 0; i < v->n; i++)
        if (!carry_linear(v, i)) state[k++] = x[c + nb + i];
    KILN_TRY(forward(v, v->b, true, x, consts, whole(&l, 0), state, counted));
    kn_atom *init = in + v->consts, *found = init + STACKS + v->state;
    memcpy(in, consts, v->consts * sizeof *in);
    const int64_t rows = v->slots + 1;
    kn_atom zero = whole(&l, 0), last = kn_low2(&l, &kn_prim_sub, kn_low2(&l, &kn_prim_max, counted[0], whole(&l, 1)), whole(&l, 1));
    init[END] = counted[0];
    init[TOP] = kn_low_select(&l, kn_low2(&l, &kn_prim_le, counted[0], whole(&l, v->slots)), last, zero);
    init[PLACES] = kn_low_iota(&l, (kiln_type){index_type, 1, &rows}, 0);
    for (uint32_t i = 0; i < v->state; i++) init[STACKS + i] = counted[1 + v->state + i];
    for (uint32_t i = 0; i < v->cts; i++) found[i] = kn_derive_value(&l, ct[pick(v, true, true, i)], ct_type(v, i));
    for (uint32_t i = 0; i < v->sums; i++) found[v->cts + i] = kn_derive_value(&l, KN_SYMBOLIC_ZERO, const_type(v, true, i));
    KILN_TRY(l.status);
    const kn_jaxpr *cond, *body;
    KILN_TRY(backward_bodies(v, init, ncarry, &cond, &body));
    kn_param params[KN_WHILE_PARAMS];
    kn_while_params(params, cond, 0, body, v->consts);
    params[KN_WHILE_LANES] = KN_INT(0); /* the trips that it repeats count, not the ways back */
    params[KN_WHILE_RECORD] = KN_INT(v->slots + 1);
    KILN_TRY(kn_build_eqn(v->b, v->e->prim, params, in, v->consts + ncarry, out, ncarry));
    const kn_atom *results = out + STACKS + v->state;
    for (uint32_t i = 0; i < v->cts; i++) {
        uint32_t at = c + nb + pick(v, true, true, i);
        if (x[at] == KN_LINEAR) ct_in[at] = results[i];
    }
    for (uint32_t i = 0; i < v->sums; i++) ct_in[c + pick(v, false, true, i)] = results[v->cts + i];
    return KILN_OK;
}

/* Carries that are linear in any trip. */
static kiln_status find_linear(const kn_rules *r, const reversal *v, bool *linear)
{
    bool *found = KN_NEWN(&v->b->prog->arena, bool, v->n), again = true;
    KILN_TRY_MEM(v->b->ctx, found);
    while (again) {
        again = false;
        KILN_TRY(r->depends(r, v->w.body, linear, found));
        for (uint32_t i = 0; i < v->n; i++)
            if (found[i] && !linear[v->w.body_consts + i]) linear[v->w.body_consts + i] = again = true;
    }
    return KILN_OK;
}

/* beta(s, r), or what is beyond every number of trips. */
static double binomial(int64_t s, int r)
{
    double v = 1;
    for (int k = 1; k <= r; k++) v = v * (double)(s + k) / k;
    return v;
}

int64_t kn_while_slots(const kn_eqn *e, double bytes, int *sweeps)
{
    const kn_param *most = &e->params[KN_WHILE_MAX_TRIPS], *record = &e->params[KN_WHILE_RECORD];
    int64_t n = most->kind != KN_P_INT ? INT64_MAX : most->i > 1 ? most->i : 1, s = 1;
    int ignored;
    if (!sweeps) sweeps = &ignored;
    *sweeps = SWEEPS;
    if (record->kind != KN_P_TEXT) {
        double fit = (double)SNAPSHOT_BYTES / bytes; /* infinite where a snapshot is empty */
        s = fit >= (double)MOST_SLOTS ? MOST_SLOTS : fit <= (double)LEAST_SLOTS ? LEAST_SLOTS : (int64_t)fit;
        return n < s ? n : s;
    }
    if (n > MOST_TRIPS) n = MOST_TRIPS;
    if (strcmp(record->text, "all") == 0) s = n;
    else if (strcmp(record->text, "root") == 0) s = (int64_t)sqrt(2 * (double)n) + 1;
    while (s > 1 && record->text[0] == 'r' && binomial(s - 1, 2) >= (double)n) s--;
    while (record->text[0] == 'l' && binomial(s, (int)s) < (double)n) s++;
    for (*sweeps = 1; binomial(s, *sweeps) < (double)n;) ++*sweeps;
    return s;
}

kiln_status kn_transpose_while(KN_TRANSPOSE_ARGS)
{
    kn_eqn call;
    if (kn_has_lane_condition(e)) {
        KILN_TRY(kn_while_lanes_call(b, j, e, &call));
        return call.prim->transpose(r, b, j, &call, x, ct, ct_in);
    }
    reversal v = {.r = r, .b = b, .j = j, .e = e, .w = kn_while_parts_of(e), .n = e->nout};
    uint32_t c = v.w.cond_consts, nb = v.w.body_consts;
    kn_arena *arena = &b->prog->arena;
    bool *linear = KN_NEWN(arena, bool, nb + v.n), *onto = KN_NEWN(arena, bool, nb + v.n), *given = KN_NEWN(arena, bool, v.n);
    bool *wanted = KN_NEWN(arena, bool, nb + v.n), *found = KN_NEWN(arena, bool, nb + v.n);
    KILN_TRY_MEM(b->ctx, linear && onto && given && wanted && found);
    for (uint32_t i = 0; i < nb + v.n; i++) linear[i] = x[c + i] == KN_LINEAR;
    KILN_TRY(find_linear(r, &v, linear));
    bool *asked = KN_NEWN(arena, bool, c + v.n), decides = false;
    KILN_TRY_MEM(b->ctx, asked);
    for (uint32_t i = 0; i < c + v.n; i++) asked[i] = i < c ? x[i] == KN_LINEAR : linear[nb + i - c];
    KILN_TRY(r->depends(r, v.w.cond, asked, &decides));
    if (decides) return kn_not_linear(b, e, "what its condition reads");
    double bytes = 0;
    for (uint32_t i = 0; i < nb + v.n; i++) {
        bool carry = i >= nb;
        wanted[i] = linear[i];
        onto[i] = linear[i] && !carry;
        *(carry ? linear[i] ? &v.cts : &v.state : linear[i] ? &v.sums : &v.consts) += 1;
        if (carry) given[i - nb] = linear[i];
        if (carry && !linear[i]) bytes += (double)kiln_type_size(kn_out_type(j, e, i - nb)) * (double)kiln_dtype_bytes(kn_out_type(j, e, i - nb).dtype);
    }
    v.linear = linear;
    v.slots = kn_while_slots(e, bytes, &v.sweeps);
    KILN_TRY(check_room(&v, bytes));
    KILN_TRY(r->pull_back(r, v.w.body, linear, given, wanted, onto, &v.back, found));
    return reverse(&v, x, ct, ct_in);
}
