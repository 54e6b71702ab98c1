/* SPDX-License-Identifier: Apache-2.0 */
/* The optimiser as a whole: options, refusals, what the passes leave alone, scopes, size, failing allocations. */
#include "kiln/prog.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "random_program.h"
#include "testing.h"

static kn_prog *lowered(kiln_ctx *ctx, const char *text)
{
    kn_prog *p, *low;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "case", &p));
    assert_ok(ctx, kn_lower(ctx, p, &low));
    kiln_prog_release(p);
    return low;
}

/* ---- options ---- */

static const char straight[] = "{ lambda ; a:f64[]. let b:f64[] = mul a 1.0:f64[]; c:f64[] = sin b; d:f64[] = sin a; e:f64[] = add c d; f:f64[] = exp a in (e,) }";

enum { SEEN = 256 };
static kiln_status note_pass(void *ud, const char *pass, uint32_t round, const kn_prog *p)
{
    (void)round;
    assert_non_null(p->main);
    char *seen = ud;
    size_t n = strlen(seen);
    snprintf(seen + n, SEEN - n, "%s ", pass);
    return KILN_OK;
}
static kiln_status refuse(void *ud, const char *pass, uint32_t round, const kn_prog *p)
{
    (void)pass, (void)round, (void)p;
    return kn_fail(ud, KILN_IO, "no room");
}

static void options(void **state)
{
    kiln_ctx *ctx = *state;
    kn_prog *low = lowered(ctx, straight), *p;
    char seen[SEEN] = "";
    kn_opt_stats stats = {0};
    kn_opt_options o = {.hook = note_pass, .hook_ud = seen, .stats = &stats};
    assert_ok(ctx, kn_optimise(ctx, low, &o, &p));
    assert_string_equal(seen, "simplify cse dce ");
    assert_int_equal(stats.rounds, 2);
    assert_int_equal(stats.equations_before, 5);
    assert_int_equal(stats.equations_after, 2);
    assert_int_equal(p->level, KN_LOWERED);
    kiln_prog_release(p);

    seen[0] = 0;
    o.after = "simplify";
    assert_ok(ctx, kn_optimise(ctx, low, &o, &p));
    assert_string_equal(seen, "simplify ");
    assert_int_equal(stats.equations_after, 4);
    kiln_prog_release(p);

    seen[0] = 0;
    o.after = NULL;
    o.skip = kn_pass_bit("simplify") | kn_pass_bit("cse");
    assert_ok(ctx, kn_optimise(ctx, low, &o, &p));
    assert_string_equal(seen, "dce ");
    kiln_prog_release(p);

    assert_int_equal(kn_pass_bit("inline"), 0);
    o.after = "inline";
    assert_int_equal(kn_optimise(ctx, low, &o, &p), KILN_NOTFOUND);
    assert_says(ctx, "there is no pass 'inline'; accepted: simplify, cse, alike, licm, updates, dce");
    o = (kn_opt_options){.hook = refuse, .hook_ud = ctx};
    assert_int_equal(kn_optimise(ctx, low, &o, &p), KILN_IO);
    assert_null(p);
    low->level = KN_TRACED;
    assert_int_equal(kn_optimise(ctx, low, NULL, &p), KILN_INVALID);
    kiln_prog_release(low);
}

/* ---- what moves out of loops and what stays ---- */

typedef struct loop_case {
    const char *body; /* constants s:f64[] x:f64[4] y:f64[3]; carries i:i32[] c:f64[4] d:f64[4,3] */
    const char *next; /* of c and d */
    const char *limit; /* of i, which starts at 0 */
    uint32_t moved;
} loop_case;

#define INNER                                                                                                                 \
    "u:i32[] v:f64[] = while[body_jaxpr={ lambda ; a:i32[] b:f64[]. let e:i32[] = add a 1:i32[]; f:f64[] = sin b in (e, f) } " \
    "body_nconsts=0 cond_jaxpr={ lambda ; a:i32[] b:f64[]. let e:bool[] = lt a 9:i32[] in (e,) } cond_nconsts=0] 3:i32[] s; "
#define COLUMN "p:f64[4,3] = broadcast_in_dim[broadcast_dimensions=(0,)] x; "
#define ROW "r:f64[4,3] = broadcast_in_dim[broadcast_dimensions=(1,)] y; "

static const loop_case loops[] = {
    {"p:f64[] = mul s s; q:f64[4] = mul c p", "q, d", "k", 1},                                    /* a scalar */
    {"p:f64[4] = mul x x; q:f64[4] = add c p", "q, d", "k", 0}, /* cheap: costs less than to read it */
    {"p:f64[4] = sqrt x; q:f64[4] = add c p", "q, d", "k", 1},
    {"p:f64[4] = rev[dimensions=(0,)] x; q:f64[4] = add c p", "q, d", "k", 0}, /* an index map */
    {"p:f64[4] = rev[dimensions=(0,)] x; r:f64[4] = div p s; q:f64[4] = add c r", "q, d", "k", 1}, /* goes with the quotient */
    {"p:f64[4] = broadcast_in_dim s; q:f64[4] = div p c", "q, d", "k", 0},
    {"p:f64[1] = slice[limit_indices=(2,) start_indices=(1,) strides=None] x; r:f64[] = squeeze[dimensions=(0,)] p; q:f64[4] = mul c r", "q, d", "k", 1},
    {COLUMN ROW "q:f64[4,3] = mul p r; t:f64[4,3] = add d q", "c, t", "k", 0},
    {COLUMN ROW "q:f64[4,3] = mul p r; w:f64[4,3] = exp q; t:f64[4,3] = add d w", "c, t", "k", 1}, /* no larger than the loop */
    {"p:f64[4,3,9] = broadcast_in_dim[broadcast_dimensions=(0,)] x; w:f64[4,3,9] = exp p; "
     "t:f64[4,3] = reduce_max[axes=(2,) out_sharding=None] w; u:f64[4,3] = add d t", "c, u", "k", 1}, /* what is made of it moves */
    {"p:f64[4] = iota[dimension=0 dtype=float64 shape=(4,) sharding=None] ; q:f64[4] = add c p", "q, d", "k", 0},
    {"p:f64[4] = iota[dimension=0 dtype=float64 shape=(4,) sharding=None] ; r:f64[4] = sin p; q:f64[4] = add c r", "q, d", "k", 1},
    {"p:f64[4] = dynamic_update_slice x y 0:i32[]; q:f64[4] = add c p", "q, d", "k", 1}, /* copies in every trip */
    {"p:bool[4] = lt x 0.0:f64[]; w:f64[4] = neg x; r:f64[4] = select_n p x w; q:f64[4] = add c r", "q, d", "k", 0},
    {INNER "q:f64[4] = mul c v", "q, d", "k", 0}, /* the loop around may make no trip */
    {INNER "q:f64[4] = mul c v", "q, d", "7:i32[]", 1},
    {"p:f64[] = reduce_sum[axes=(0,) out_sharding=None] x; q:f64[4] = mul c p", "q, d", "k", 1},
    {"p:f64[] = reduce_sum[axes=(0,) out_sharding=None] c; r:f64[] = mul p s; q:f64[4] = mul c r", "q, d", "k", 0},
};

static void hoisting(void **state)
{
    kiln_ctx *ctx = *state;
    for (const loop_case *l = loops; l < loops + sizeof loops / sizeof *loops; l++) {
        char text[4096];
        snprintf(text, sizeof text,
                 "{ lambda ; k:i32[] s:f64[] x:f64[4] y:f64[3] c:f64[4] d:f64[4,3]. let g:i32[] h:f64[4] j:f64[4,3] = while["
                 "body_jaxpr={ lambda ; s:f64[] x:f64[4] y:f64[3] i:i32[] c:f64[4] d:f64[4,3]. let z:i32[] = add i 1:i32[]; %s in (z, %s) } "
                 "body_nconsts=3 cond_jaxpr={ lambda ; k:i32[] i:i32[] c:f64[4] d:f64[4,3]. let z:bool[] = lt i k in (z,) } cond_nconsts=1] "
                 "%s s x y 0:i32[] c d in (h, j) }",
                 l->body, l->next, l->limit);
        kn_prog *low = lowered(ctx, text), *p;
        uint32_t *fired = calloc(kn_rule_count(), sizeof *fired), moved = 0;
        kn_opt_stats stats = {.fired = fired};
        kn_opt_options o = {.stats = &stats};
        assert_ok(ctx, kn_optimise(ctx, low, &o, &p));
        for (uint32_t r = 0; r < kn_rule_count(); r++)
            if (strcmp(kn_rule_pass(r), "licm") == 0) moved += fired[r];
        if (moved != l->moved) fail_msg("%s: %u moved, %u wanted", l->body, moved, l->moved);
        free(fired);
        kiln_prog_release(low);
        kiln_prog_release(p);
    }
}

/* ---- scopes, constants ---- */

static void scopes(void **state)
{
    kiln_ctx *ctx = *state;
    kn_prog *p, *low, *opt;
    kn_build b;
    kn_atom x, y[2], z;
    assert_ok(ctx, kn_prog_new(ctx, NULL, &p));
    kn_build_init(&b, ctx, p);
    assert_ok(ctx, kn_build_input(&b, KILN_SCALAR(KILN_F64), &x));
    for (int i = 0; i < 2; i++) {
        assert_ok(ctx, kn_prog_scope(ctx, p, i ? "node:second" : "node:first", &b.scope));
        assert_ok(ctx, kn_build_eqn(&b, rp_prim("sin"), (kn_param[]){KN_NONE}, &x, 1, &y[i], 1));
    }
    assert_ok(ctx, kn_build_eqn(&b, rp_prim("add"), NULL, y, 2, &z, 1));
    assert_ok(ctx, kn_build_finish(&b, &z, 1, &p->main));
    assert_ok(ctx, kn_lower(ctx, p, &low));
    assert_ok(ctx, kn_optimise(ctx, low, NULL, &opt));
    assert_int_equal(opt->main->neqns, 2);
    assert_string_equal(opt->scopes.v[opt->main->eqns[0].scope], "node:first"); /* the first of equal equations stays */
    assert_string_equal(opt->scopes.v[opt->main->eqns[1].scope], "node:second");
    kiln_prog_release(p);
    kiln_prog_release(low);
    kiln_prog_release(opt);
}

static void constants(void **state)
{
    kiln_ctx *ctx = *state;
    kn_prog *p, *low, *opt;
    kn_build b;
    kn_atom c[3], x, y, z;
    kiln_array *a[3];
    assert_ok(ctx, kn_prog_new(ctx, NULL, &p));
    kn_build_init(&b, ctx, p);
    for (int i = 0; i < 3; i++) {
        assert_ok(ctx, kiln_array_create(ctx, KILN_VECTOR(KILN_F64, 5), &a[i]));
        ((double *)kiln_array_data(a[i]))[4] = i == 2 ? 7 : 3;
        assert_ok(ctx, kn_build_const(&b, a[i], &c[i]));
        kiln_array_release(a[i]);
    }
    assert_ok(ctx, kn_build_input(&b, KILN_VECTOR(KILN_F64, 5), &x));
    assert_ok(ctx, kn_build_eqn(&b, rp_prim("add"), NULL, (kn_atom[]){x, c[0]}, 2, &y, 1));
    assert_ok(ctx, kn_build_eqn(&b, rp_prim("sub"), NULL, (kn_atom[]){y, c[1]}, 2, &z, 1));
    assert_ok(ctx, kn_build_finish(&b, &z, 1, &p->main));
    assert_ok(ctx, kn_lower(ctx, p, &low));
    assert_ok(ctx, kn_optimise(ctx, low, NULL, &opt));
    assert_int_equal(opt->main->nconsts, 1); /* two were equal, one was not read */
    assert_int_equal(opt->arrays.n, 1);
    assert_int_equal(kn_nargs(opt->main), 1);
    kiln_prog_release(p);
    kiln_prog_release(low);
    kiln_prog_release(opt);
}

/* ---- size ---- */

/* Linear in practice: the rounds do not grow with the program, and 10^5 equations are no matter of seconds. */
static void large(void **state)
{
    enum { N = 100000, LIVE = 64 };
    kiln_ctx *ctx = *state;
    static const char *const names[] = {"add", "mul", "sub", "max"};
    kn_prog *p, *low, *opt;
    kn_build b;
    kn_atom x[LIVE];
    uint32_t seed = 1;
    static const kn_param none[2];
    assert_ok(ctx, kn_prog_new(ctx, NULL, &p));
    kn_build_init(&b, ctx, p);
    for (int i = 0; i < LIVE; i++) assert_ok(ctx, kn_build_input(&b, KILN_VECTOR(KILN_F64, 1000), &x[i]));
    for (int k = 0; k < N; k++) {
        seed = seed * 1664525 + 1013904223;
        kn_atom in[2] = {x[seed >> 8 & 63], x[seed >> 16 & 63]};
        if ((seed >> 24 & 3) == 0) assert_ok(ctx, kn_build_literal(&b, KILN_F64, (kn_scalar){.f = seed >> 28 & 3}, &in[1]));
        assert_ok(ctx, kn_build_eqn(&b, rp_prim(names[seed >> 26 & 3]), none, in, 2, &x[k % LIVE], 1));
    }
    assert_ok(ctx, kn_build_finish(&b, x, LIVE, &p->main));
    assert_ok(ctx, kn_lower(ctx, p, &low));
    kn_opt_stats stats = {0};
    kn_opt_options o = {.stats = &stats};
    assert_ok(ctx, kn_optimise(ctx, low, &o, &opt));
    assert_true(stats.rounds <= 3);
    assert_true(stats.equations_after < N && stats.equations_after > 0);
    kiln_prog_release(p);
    kiln_prog_release(low);
    kiln_prog_release(opt);
}

/* A chain in which every link looks through all links before it: `fuel` keeps each step short, the rounds go on where it ended, and
 * their number is bounded. */
static uint32_t chain(kiln_ctx *ctx, int n, uint32_t *rounds)
{
    kn_prog *p, *low, *opt;
    kn_build b;
    kn_atom x, y, part, sum;
    static const kn_param none[2];
    assert_ok(ctx, kn_prog_new(ctx, NULL, &p));
    kn_build_init(&b, ctx, p);
    assert_ok(ctx, kn_build_input(&b, KILN_VECTOR(KILN_F64, 1), &x));
    y = sum = x;
    for (int k = 1; k < n; k++) {
        kn_param axis = KN_INT(0), slice[] = {KN_INTS(1, (int64_t[]){1}), KN_INTS(1, (int64_t[]){0}), KN_NONE};
        assert_ok(ctx, kn_build_eqn(&b, rp_prim("concatenate"), &axis, (kn_atom[]){y, sum}, 2, &y, 1));
        assert_ok(ctx, kn_build_eqn(&b, rp_prim("slice"), slice, &y, 1, &part, 1));
        assert_ok(ctx, kn_build_eqn(&b, rp_prim("add"), none, (kn_atom[]){sum, part}, 2, &sum, 1));
    }
    assert_ok(ctx, kn_build_finish(&b, &sum, 1, &p->main));
    assert_ok(ctx, kn_lower(ctx, p, &low));
    kn_opt_stats stats = {0};
    kn_opt_options o = {.stats = &stats};
    assert_ok(ctx, kn_optimise(ctx, low, &o, &opt));
    assert_ok(ctx, kn_verify(ctx, opt));
    uint32_t left = opt->main->neqns;
    kiln_prog_release(p);
    kiln_prog_release(low);
    kiln_prog_release(opt);
    *rounds = stats.rounds;
    return left;
}

static void long_chain(void **state)
{
    uint32_t rounds;
    assert_int_equal(chain(*state, 100, &rounds), 99); /* every slice is x, every concatenation is dead */
    assert_true(rounds < KN_OPT_ROUNDS);
    assert_true(chain(*state, 8000, &rounds) < 3 * 7999);
    assert_int_equal(rounds, KN_OPT_ROUNDS);
}

/* ---- failing allocations ---- */

static void no_memory(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        kiln_ctx *ctx;
        kn_prog *p = NULL;
        kiln_array *in[RP_INPUTS];
        uint32_t nin;
        assert_int_equal(kiln_ctx_create(NULL, &ctx), KILN_OK);
        assert_ok(ctx, random_program(ctx, seed, 25, &p, in, &nin));
        bool failed = true;
        for (int n = 2; failed; n += n < 200 ? 1 : n / 20) {
            kiln_ctx *poor = test_ctx_failing(n);
            if (!poor) continue;
            kn_prog *low = NULL, *opt = NULL;
            kiln_status status = kn_lower(poor, p, &low);
            if (status == KILN_OK) status = kn_optimise(poor, low, NULL, &opt);
            failed = test_ctx_failed(poor);
            assert_int_equal(status, failed ? KILN_NOMEM : KILN_OK);
            kiln_prog_release(low);
            kiln_prog_release(opt);
            test_ctx_release(poor);
        }
        for (uint32_t i = 0; i < nin; i++) kiln_array_release(in[i]);
        kiln_prog_release(p);
        kiln_ctx_release(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(options), cmocka_unit_test(hoisting),   cmocka_unit_test(scopes),   cmocka_unit_test(constants),
                                       cmocka_unit_test(large),   cmocka_unit_test(long_chain), cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
