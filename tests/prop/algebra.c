/* SPDX-License-Identifier: Apache-2.0 */
/* Algebra keeps bits: every elementwise primitive of every operand out of x, y and the constants that rules look for, and every
 * primitive of every primitive, on all pairs of edge values. */
#include "opt/opt.h"
#include "random_program.h"
#include "testing.h"

enum { EDGES = 16, ROOM = 64, LITERALS = 14 };

typedef struct bench {
    kiln_ctx *ctx;
    kiln_dtype d;
    kn_prog *p;
    kn_build b;
    kn_atom operand[2 + LITERALS]; /* x, y, literals */
    uint32_t noperands;
    kn_atom out[ROOM];
    uint32_t nout;
    uint64_t compared;
    kiln_array *in[2];
} bench;

static kn_scalar edge(kiln_dtype d, uint32_t k)
{
    bool wide = d == KILN_F64 || d == KILN_I64;
    double least = wide ? 0x1p-1074 : 0x1p-149, most = wide ? 0x1.fffffffffffffp1023 : 0x1.fffffep127;
    double f[EDGES] = {0.0, -0.0, 1.0, -1.0, 2.0, -4.0, 0.5, 3.0, (double)INFINITY, -(double)INFINITY, (double)NAN, least, -3 * least, most, 1.5, -2.5};
    int64_t max = wide ? INT64_MAX : INT32_MAX;
    int64_t n[EDGES] = {0, 0, 1, -1, 2, -4, 31, 3, max, -max - 1, -max, 64, 7, -7, 1, -2};
    if (d == KILN_BOOL) return (kn_scalar){.b = k & 1};
    return kiln_dtype_kind(d) == 'f' ? (kn_scalar){.f = f[k]} : (kn_scalar){.i = n[k]};
}

static void begin(bench *t)
{
    assert_ok(t->ctx, kn_prog_new(t->ctx, NULL, &t->p));
    t->p->level = KN_LOWERED;
    kn_build_init(&t->b, t->ctx, t->p);
    t->nout = 0;
    for (uint32_t i = 0; i < 2; i++) assert_ok(t->ctx, kn_build_input(&t->b, KILN_VECTOR(t->d, EDGES * EDGES), &t->operand[i]));
    t->noperands = 2;
    for (uint32_t i = 0; i < LITERALS; i++) assert_ok(t->ctx, kn_build_literal(&t->b, t->d, edge(t->d, i), &t->operand[t->noperands++]));
}

static bool same_bits(const kiln_array *a, const kiln_array *b)
{
    kiln_dtype d = a->type.dtype;
    for (int64_t k = 0; k < kiln_type_size(a->type); k++) {
        kn_scalar x = kn_scalar_load(d, a->data, k), y = kn_scalar_load(d, b->data, k);
        bool complex = kiln_dtype_kind(d) == 'c';
        for (int part = 0; part < 2 && complex; part++)
            if (isnan(x.c[part]) && isnan(y.c[part])) x.c[part] = y.c[part];
        if (!kn_scalar_same(d, x, y) && !(kiln_dtype_kind(d) == 'f' && isnan(x.f) && isnan(y.f))) return false;
    }
    return true;
}

static void end(bench *t)
{
    kiln_array *want[ROOM], *got[ROOM];
    kn_prog *opt;
    assert_ok(t->ctx, kn_build_finish(&t->b, t->out, t->nout, &t->p->main));
    assert_ok(t->ctx, kn_optimise(t->ctx, t->p, NULL, &opt));
    assert_ok(t->ctx, kiln_prog_eval(t->ctx, t->p, t->in, want));
    assert_ok(t->ctx, kiln_prog_eval(t->ctx, opt, t->in, got));
    for (uint32_t i = 0; i < t->nout; i++) {
        if (!same_bits(want[i], got[i])) {
            char *x, *y;
            size_t n, m;
            assert_ok(t->ctx, kiln_prog_print(t->ctx, t->p, 100, &x, &n));
            assert_ok(t->ctx, kiln_prog_print(t->ctx, opt, 100, &y, &m));
            fail_msg("result %u of\n%s\ndiffers after optimisation:\n%s", i, x, y);
        }
        kiln_array_release(want[i]);
        kiln_array_release(got[i]);
    }
    t->compared += t->nout;
    kiln_prog_release(opt);
    kiln_prog_release(t->p);
}

static void keep(bench *t, kn_atom a)
{
    t->out[t->nout++] = a;
    if (t->nout < ROOM) return;
    end(t);
    begin(t);
}

/* Does the primitive take operands of these element types? */
static bool takes(bench *t, const kn_prim *prim, const kn_atom *in, uint32_t n)
{
    static const kn_param none[4];
    kiln_type types[3];
    for (uint32_t i = 0; i < n; i++) types[i] = kn_build_type(&t->b, in[i]);
    kn_typing typing = {.ctx = t->ctx, .arena = &t->p->arena, .prim = prim, .params = none, .in = types, .nin = n};
    return prim->type(&typing) == KILN_OK;
}
static bool apply(bench *t, const kn_prim *prim, const kn_atom *in, uint32_t n, kn_atom *out)
{
    static const kn_param none[4];
    if (!takes(t, prim, in, n)) return false;
    assert_ok(t->ctx, kn_build_eqn(&t->b, prim, none, in, n, out, 1));
    return true;
}

/* Elementwise, without parameters that must be given, at most two operands. */
static uint32_t primitives(const kn_prim **v)
{
    uint32_t n, m = 0;
    const kn_prim *const *all = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++) {
        const kn_prim *p = all[i];
        bool given = false;
        for (uint32_t k = 0; k < p->nparams; k++) given = given || !(p->params[k].flags & KN_PARAM_OPTIONAL);
        if ((p->flags & KN_ELEMENTWISE) && !given && p->eval && p->nin <= 2) v[m++] = p;
    }
    return m;
}

static void one_deep(bench *t, const kn_prim *f)
{
    kn_atom y;
    for (uint32_t i = 0; i < t->noperands; i++) {
        if (f->nin == 1 && apply(t, f, &t->operand[i], 1, &y)) keep(t, y);
        for (uint32_t k = 0; f->nin == 2 && k < t->noperands; k++)
            if (apply(t, f, (kn_atom[]){t->operand[i], t->operand[k]}, 2, &y)) keep(t, y);
    }
}

static void two_deep(bench *t, const kn_prim *f, const kn_prim *g, rp *r)
{
    static const uint32_t pick[] = {0, 1, 0, 1, 0, 1, 2, 3, 4, 5, 6, 8};
    for (int k = 0; k < 20; k++) {
        kn_atom in[2], inner, other, y;
        for (int i = 0; i < 2; i++) in[i] = t->operand[pick[rp_below(r, 12)]];
        if (!apply(t, g, in, g->nin, &inner)) return;
        other = t->operand[pick[rp_below(r, 12)]];
        if (rp_below(r, 3) == 0) {
            for (int i = 0; i < 2; i++) in[i] = t->operand[pick[rp_below(r, 12)]];
            if (!apply(t, g, in, g->nin, &other)) return;
        }
        kn_atom args[2] = {inner, other};
        if (rp_below(r, 2)) args[0] = other, args[1] = inner;
        if (f->nin == 1) args[0] = inner;
        if (!apply(t, f, args, f->nin, &y)) return;
        keep(t, y);
    }
}

static void algebra(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_F64, KILN_F32, KILN_I32, KILN_I64, KILN_BOOL};
    const kn_prim *prims[128];
    uint32_t n = primitives(prims);
    uint64_t compared = 0;
    assert_true(n > 40);
    for (size_t q = 0; q < sizeof dtypes / sizeof *dtypes; q++) {
        bench t = {.ctx = *state, .d = dtypes[q]};
        rp r = {.ctx = *state, .state = q};
        for (uint32_t i = 0; i < 2; i++) {
            assert_ok(*state, kiln_array_create(*state, KILN_VECTOR(t.d, EDGES * EDGES), &t.in[i]));
            for (uint32_t k = 0; k < EDGES * EDGES; k++) kn_scalar_store(t.d, t.in[i]->data, k, edge(t.d, i ? k % EDGES : k / EDGES));
        }
        begin(&t);
        for (uint32_t f = 0; f < n; f++) one_deep(&t, prims[f]);
        for (uint32_t f = 0; f < n; f++)
            for (uint32_t g = 0; g < n; g++) two_deep(&t, prims[f], prims[g], &r);
        if (!t.nout) t.out[t.nout++] = t.operand[0];
        end(&t);
        compared += t.compared;
        for (uint32_t i = 0; i < 2; i++) kiln_array_release(t.in[i]);
    }
    assert_true(compared > 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(algebra)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
