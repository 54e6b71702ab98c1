/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison of compiled with interpreted is worth what it catches: faults are planted in the loops of a program, one of
 * each kind that a compiler is likely to have, and each must show as a difference. */
#include "kiln/trace.h"
#include "loop/loop.h"
#include "run/stages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { N = 37 }; /* a tail in every vector width */

static kiln_val below(kiln_trace *t, void *user, const kiln_val *carry)
{
    (void)user;
    return kiln_lt(t, carry[0], kiln_int(t, KILN_I32, 5));
}

static void body(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    const kiln_val *in = user;
    next[0] = kiln_add(t, carry[0], kiln_int(t, KILN_I32, 1));
    kiln_val p = kiln_mul(t, carry[1], in[0]);
    next[1] = kiln_sub(t, kiln_add(t, kiln_add(t, p, in[1]), carry[1]), in[2]);
    next[2] = kiln_add(t, carry[2], kiln_mul(t, carry[2], kiln_scalar(t, KILN_F32, 0.3)));
}

static kiln_prog *program(kiln_ctx *ctx)
{
    kiln_trace *t;
    kiln_prog *p = NULL;
    assert_int_equal(kiln_trace_begin(ctx, &t), KILN_OK);
    kiln_val in[4];
    static const char *const names[] = {"a", "b", "c", "x"};
    for (int i = 0; i < 4; i++) in[i] = kiln_input(t, names[i], KILN_VECTOR(KILN_F32, N));
    kiln_val init[3] = {kiln_int(t, KILN_I32, 0), in[3], kiln_scalar(t, KILN_F32, 1.1)}, out[3];
    kiln_while(t, below, body, in, init, 3, out);
    kiln_output(t, "x", out[1]);
    kiln_output(t, "s", out[2]);
    assert_int_equal(kiln_trace_finish(t, &p), KILN_OK);
    return p;
}

/* Each plants its fault wherever it can; false: nowhere. */
typedef bool (*fault_fn)(kn_loops *l, kn_linst *i);

static bool is_sop(const kn_linst *i, kn_sop op) { return i->op == KN_L_SOP && i->sop == op && i->dtype == KILN_F32; }

static bool swapped_operands(kn_loops *l, kn_linst *i)
{
    (void)l;
    if (!is_sop(i, KN_S_sub)) return false;
    kn_lv a = i->a;
    i->a = i->b;
    i->b = a;
    return true;
}

static bool contract(kn_loops *l, kn_linst *i) /* a*b + c with one rounding */
{
    const kn_linst *m = &l->inst.v[i->a];
    if (!is_sop(i, KN_S_add) || !is_sop(m, KN_S_mul)) return false;
    i->sop = KN_S_fma;
    i->c = i->b;
    i->b = m->b;
    i->a = m->a;
    return true;
}

static bool reassociate(kn_loops *l, kn_linst *i) /* (p + q) + r becomes (p + r) + q */
{
    kn_linst *j = &l->inst.v[i->a];
    if (!is_sop(i, KN_S_add) || !is_sop(j, KN_S_add) || i->b > i->a) return false;
    kn_lv q = j->b;
    j->b = i->b;
    i->b = q;
    return true;
}

static bool lost_tail_lane(kn_loops *l, kn_linst *i)
{
    if (i->op != KN_L_LOOP || i->region->width < 2) return false;
    l->inst.v[i->region->hi].imm.i = N - 1;
    return true;
}

static bool stale_carry(kn_loops *l, kn_linst *i)
{
    (void)l;
    if (i->op != KN_L_WHILE) return false;
    kn_lblock *b = &i->region->blocks[1];
    b->yields.v[b->yields.n - 1] = b->params.v[b->params.n - 1];
    return true;
}

static bool stale_state(kn_loops *l, kn_linst *i) /* the new state goes to a place that nobody reads */
{
    if (i->op != KN_L_STORE || l->slots.v[i->slot].elements != N) return false;
    i->slot = l->slots.n - 1;
    return true;
}

static bool plant(kn_loops *l, fault_fn fault)
{
    bool any = false;
    for (uint32_t k = 1; k < l->inst.n; k++) any = fault(l, &l->inst.v[k]) || any;
    return any;
}

/* Runs the loops, with `fault` planted; true when the results are those of the interpreter. */
static bool agrees(kiln_ctx *ctx, const kiln_prog *p, kiln_array *const *in, kiln_array *const *want, fault_fn fault)
{
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    kn_resolved r;
    kn_arena arena;
    kn_loops *l;
    kiln_exec *f;
    kiln_array *got[2];
    kn_arena_init(&arena, NULL);
    assert_int_equal(kn_compile_resolve(ctx, &o, &r), KILN_OK);
    assert_int_equal(kn_loops_make(ctx, &arena, p, &r.loops, &l), KILN_OK);
    kn_slot spare = {.kind = KN_SLOT_SCRATCH, .dtype = KILN_F32, .elements = N, .offset = l->scratch_bytes};
    assert_true(kn_push(&arena, &l->slots, spare));
    l->scratch_bytes += 4096;
    if (fault) assert_true(plant(l, fault));
    assert_int_equal(kn_compile_loops(ctx, l, NULL, &o, &f), KILN_OK);
    for (uint32_t i = 0; i < 2; i++) assert_int_equal(kiln_array_create(ctx, kiln_prog_output_type(p, i), &got[i]), KILN_OK);
    void *buffers[6] = {in[0]->data, in[1]->data, in[2]->data, in[3]->data, got[0]->data, got[1]->data};
    size_t bytes = (kiln_exec_scratch_bytes(f) + 127) & ~(size_t)63;
    void *scratch = aligned_alloc(64, bytes);
    assert_non_null(scratch);
    memset(scratch, 0, bytes);
    kiln_call call = {0};
    assert_int_equal(kiln_exec_run(f, buffers, scratch, &call), 0);
    bool same = memcmp(got[0]->data, want[0]->data, want[0]->bytes) == 0 && memcmp(got[1]->data, want[1]->data, want[1]->bytes) == 0;
    free(scratch);
    for (uint32_t i = 0; i < 2; i++) kiln_array_release(got[i]);
    kiln_exec_release(f);
    kn_arena_fini(&arena);
    return same;
}

static void planted_faults_show(void **state)
{
    (void)state;
    kiln_ctx *ctx;
    kiln_array *in[4], *want[2];
    assert_int_equal(kiln_ctx_create(NULL, &ctx), KILN_OK);
    kiln_prog *p = program(ctx);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(kiln_array_create(ctx, KILN_VECTOR(KILN_F32, N), &in[i]), KILN_OK);
        for (int k = 0; k < N; k++) ((float *)in[i]->data)[k] = (float)((k * 37 + i * 11) % 101) / 97.0f - 0.3f;
    }
    assert_int_equal(kiln_prog_eval(ctx, p, in, want), KILN_OK);
    assert_true(agrees(ctx, p, in, want, NULL));
    assert_false(agrees(ctx, p, in, want, swapped_operands));
    assert_false(agrees(ctx, p, in, want, contract));
    assert_false(agrees(ctx, p, in, want, reassociate));
    assert_false(agrees(ctx, p, in, want, lost_tail_lane));
    assert_false(agrees(ctx, p, in, want, stale_carry));
    assert_false(agrees(ctx, p, in, want, stale_state));
    for (int i = 0; i < 4; i++) kiln_array_release(in[i]);
    for (int i = 0; i < 2; i++) kiln_array_release(want[i]);
    kiln_prog_release(p);
    kiln_ctx_release(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(planted_faults_show)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
