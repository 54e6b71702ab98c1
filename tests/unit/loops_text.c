/* SPDX-License-Identifier: Apache-2.0 */
/* The text of loops: errors have their line and column; what is read prints as it was written. */
#include "loop/loop.h"
#include "testing.h"

#define HEAD "kiln loops inputs 1 outputs 1 scratch 64\nslot a: f32[9] input 0 slot x: f32[9] output 0\nslot s: f32[9] scratch 0\n"

/* A matrix of 2 x 2 factored: operand, result, what is there besides, scratch with room for the workspace, and with too little. */
#define CALLS                                                                                                                  \
    "kiln loops inputs 1 outputs 1 constants 1 scratch 512\nslot a: f64[4] input 0 slot x: f64[4] output 0 slot k: f64[4] "      \
    "constant 0\nslot w: u8[192] scratch 0 slot n: u8[8] scratch 192 slot y: f32[4] scratch 256 slot z: f64[4] scratch 320\n"

static const struct {
    const char *text;
    int line, column;
    const char *says;
} wrong[] = {
    {"", 1, 1, "the text ends where 'kiln' is expected"},
    {"kiln jaxpr", 1, 6, "'jaxpr' where 'loops' is expected"},
    {"kiln loops\ninputs x {}", 2, 8, "'x' where a number is expected"},
    {"kiln loops\nslot loop: f32[1] input 0 {}", 2, 6, "'loop' cannot name a slot"},
    {"kiln loops inputs 1\nslot a: f32[1] input 0\nslot a: f32[1] input 0 {}", 3, 6, "a second slot of the name 'a'"},
    {"kiln loops slot a: f33[1] input 0 {}", 1, 20, "'f33' where an element type is expected"},
    {HEAD "{ %1 = a[9] }", 4, 3, "load: element 9 of 9"},
    {HEAD "{ %1 = b[0] }", 4, 8, "'b' is no slot"},
    {HEAD "{\n  x[0] = %3 }", 5, 10, "%3 is not defined here"},
    {HEAD "{ %1 = a[0] %1 = a[1] }", 4, 13, "%1 is defined twice"},
    {HEAD "{ %1 = a[0] x[%1] = 1.0 }", 4, 13, "store: the index has type f32 where i64 is needed"},
    {HEAD "{ %1 = add f32 1.0 }", 4, 20, "'}' where ',' is expected"},
    {HEAD "{ %1 = and f32 1.0, 2.0 }", 4, 3, "and: does not take f32"},
    {HEAD "{ %1 = add i32 1, 2000000000000 }", 4, 19, "'2000000000000' is no number of type i32"},
    {HEAD "{ %1 = plus i32 1, 2 }", 4, 8, "'plus' where an operation is expected"},
    {HEAD "{ loop %1 in 0 .. 9 { %2 = a[%1] } x[0] = %2 }", 4, 36, "store: the value stored is defined in a block that has ended"},
    {HEAD "{ loop %1 in 0 .. 9 width 3 { } }", 4, 3, "loop: width 3 is no power of two up to 64"},
    {HEAD "{ %9 = loop %1 in 0 .. 9 width 4 carry %2 = i32 1 { yield %2 } }", 4, 3, "loop: a loop of width 4 carries values"},
    {HEAD "{ loop %1 in 0 .. 9 width 4 { x[3] = 1.0 } }", 4, 31, "store: in lanes, every lane stores to the same element"},
    {HEAD "{ loop %1 in 0 .. 9 width 4 { loop %2 in 0 .. %1 { } } }", 4, 31, "loop: bounds that differ between lanes"},
    {HEAD "{ loop %1 in 0 .. 9 width 4 { swap x, s } }", 4, 31, "swap: inside code that runs in lanes"},
    {HEAD "{ %9 = loop %1 in 0 .. 9 carry %2 = i32 1 { yield f32 1.0 } }", 4, 3, "loop: carries i32, yields f32"},
    {HEAD "{ %9 = loop %1 in 0 .. 9 carry %2 = i32 1 { } }", 4, 3, "loop: yields 0 values where 1 are needed"},
    {HEAD "{ %9 = loop %1 in 0 .. 9 split 5 carry %2 = i32 1 { yield %2 } }", 4, 3, "loop: a loop that is split carries values"},
    {HEAD "{ loop %1 in 0 .. 9 split 5 { loop %2 in 0 .. 9 split 5 { } } }", 4, 31, "loop: a loop that is split inside another one"},
    {HEAD "{ loop %1 in 0 .. 9 split 5 { swap x, s } }", 4, 31, "swap: inside a loop that is split"},
    {HEAD "{ loop %1 in 0 .. 9 split 0 { } }", 4, 29, "a loop that is split costs nothing"},
    {HEAD "part 64 slot p: f32[9] part 0 { p[0] = 1.0 }", 4, 33, "store: memory of a thread's own outside of loops that are split"},
    {HEAD "{ while { yield f32 1.0 } do { } }", 4, 3, "while: the condition is no bool"},
    {HEAD "{ %1 = lanes 8 add f32 from -0.0 block 12 for %2 in 0 .. 9 { yield f32 1.0 } }", 4, 3, "lanes: a block of 12 elements is no multiple of 8"},
    {HEAD "{ %1 = lanes 8 sub f32 from -0.0 block 16 for %2 in 0 .. 9 { yield f32 1.0 } }", 4, 3, "lanes: no such reduction of f32"},
    {HEAD "{ %1 = if 0 { yield f32 1.0 } else { yield i32 1 } }", 4, 3, "if: block 1 yields another type as result 0"},
    {HEAD "{ tick 3 }", 4, 3, "tick: scope 3 of 0"},
    {HEAD "{ x[0] = 1.0 ", 4, 14, "the text ends where a statement or '}' is expected"},
    {HEAD "{ } more", 4, 5, "'more' where the end of the text is expected"},
    {CALLS "{ call nothing(0) x = a work w }", 4, 8, "'nothing' where the name of a routine is expected"},
    {CALLS "{ call cholesky 0 x = a work w }", 4, 17, "'0' where '(' is expected"},
    {CALLS "{ call cholesky(0 2 1) x = a work w }", 4, 19, "'2' where ')' is expected"},
    {CALLS "{ call cholesky(0, 2.5, 1) x = a work w }", 4, 20, "'2.5' is no number of type i64"},
    {CALLS "{ call cholesky(0, 2, 1) x a work w }", 4, 28, "'a' where '=' is expected"},
    {CALLS "{ call cholesky(0, 2, 1) q = a work w }", 4, 26, "'q' is no slot"},
    {CALLS "{ call cholesky(0, 2, 1) x = a work q }", 4, 37, "'q' is no slot"},
    {CALLS "{ %1 = call cholesky(0, 2, 1) x = a work w }", 4, 8, "'call' where an operation is expected"},
    {CALLS "{ call cholesky(0, 3, 1) x = a work w }", 4, 3, "call: call of cholesky(0, 3, 1)"},
    {CALLS "{ call cholesky(0, 2) x = a work w }", 4, 3, "call: call of cholesky(0, 2)"},
    {CALLS "{ call cholesky(0, 2, 1) x = a, a work w }", 4, 3, "call: call of cholesky(0, 2, 1)"},
    {CALLS "{ call cholesky(0, 2, 1) y = a work w }", 4, 3, "call: call of cholesky(0, 2, 1)"},
    {CALLS "{ call cholesky(0, 2, 1) k = a work w }", 4, 3, "call: a constant is written"},
    {CALLS "{ call cholesky(0, 2, 1) x = x work w }", 4, 3, "call: result 0 is used twice"},
    {CALLS "{ call cholesky(0, 2, 1) x, x = a work w }", 4, 3, "call: result 0 is used twice"},
    {CALLS "{ call cholesky(0, 2, 1) x = a work x }", 4, 3, "call: the workspace is an array of the call"},
    {CALLS "{ call cholesky(0, 2, 1) x = a work k }", 4, 3, "call: the workspace is no scratch"},
    {CALLS "{ call cholesky(0, 2, 1) x = a work n }", 4, 3, "call: a workspace of 8 bytes where"},
    {CALLS "{ call cholesky(0, 2, 1) x = a }", 4, 3, "call: a workspace of 0 bytes where"},
    {CALLS "{ call cholesky(0, 2, 1) x = a work w parts n }", 4, 3, "call: cholesky is not shared by threads"},
    {CALLS "{ call fft(0, 1, 2, 1) x = a parts w }", 4, 3, "call: what each thread needs is not its own"},
    {CALLS "{ loop %1 in 0 .. 8 width 4 { call cholesky(0, 2, 1) x = a work w } }", 4, 31, "call: inside code that runs in lanes"},
    {CALLS "slot v: f64[4] scratch 64\n{ call cholesky(0, 2, 1) v = a work w }", 5, 3, "call: arrays 0 and 2 share scratch"},
    {HEAD "{ % }", 4, 3, "'%' without the number of a value"},
};

static void errors(void **state)
{
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        kn_arena arena;
        kn_loops *l;
        kn_arena_init(&arena, NULL);
        kiln_status status = kn_loops_parse(ctx, &arena, wrong[i].text, strlen(wrong[i].text), "f", &l);
        const kiln_diag *d = kiln_ctx_error(ctx);
        if (status != KILN_INVALID || !strstr(d->message, wrong[i].says) || d->line != wrong[i].line || d->column != wrong[i].column) {
            print_error("%s\ngave %d:%d: %s\nnot %d:%d: %s\n", wrong[i].text, d->line, d->column, d->message, wrong[i].line, wrong[i].column, wrong[i].says);
            fail();
        }
        kn_arena_fini(&arena);
    }
}

static const char printed[] =
    "kiln loops\n"
    "inputs 1 outputs 1 constants 1 scratch 128 ticks\n"
    "counts 3 1 0 2 # nests, time loops, copies, exit copies\n"
    "scope \"\"\n"
    "scope \"node:\\x22spring\\x22\"\n"
    "file \"\"\n"
    "file \"model.yaml\"\n"
    "slot in0: f32[9] input 0\n"
    "slot out0: f32[9] output 0\n"
    "slot const0: u8[3] constant 0\n"
    "slot s3: f32[9] scratch 64\n"
    "{\n"
    "  at 1 1:12:5\n"
    "  loop %1 in 0 .. 9 width 16 {\n"
    "    %2 = in0[%1]\n"
    "    at 1 1:13:1\n"
    "    %3 = mul f32 %2, 0x7ff8000000000001\n"
    "    s3[%1] = %3\n"
    "  }\n"
    "  %4 = lanes 16 fma f32 from -0.0 block 64 for %5 in 0 .. 9 {\n"
    "    %6 = s3[%5]\n"
    "    yield %6, f32 1e-07\n"
    "  }\n"
    "  %7 = const0[1]\n"
    "  %8 = convert u8 %7 to i32\n"
    "  %9, %10 = if %8 {\n"
    "    yield %4, bool true\n"
    "  } else {\n"
    "    swap s3, out0\n"
    "    yield f32 inf, bool false\n"
    "  }\n"
    "  %11 = while carry %12 = %9 {\n"
    "    %13 = lt f32 %12, 100.0\n"
    "    yield %13\n"
    "  } do %14 {\n"
    "    %15 = add f32 %14, 1.0\n"
    "    tick 1\n"
    "    yield %15\n"
    "  }\n"
    "  copy s3 = in0\n"
    "}\n";

static const char printed_calls[] =
    "kiln loops\n"
    "inputs 1 outputs 2 constants 0 scratch 448\n"
    "counts 0 0 0 0 # nests, time loops, copies, exit copies\n"
    "# calls 3: cholesky 1, triangular_solve 2\n"
    "scope \"\"\n"
    "file \"\"\n"
    "slot in0: f64[4] input 0\n"
    "slot out0: f64[4] output 0\n"
    "slot out1: f64[4] output 1\n"
    "slot s3: u8[192] scratch 0\n"
    "slot s4: f64[4] scratch 192\n"
    "slot s5: u8[192] scratch 256\n"
    "{\n"
    "  call cholesky(0, 2, 1) s4 = in0 work s3\n"
    "  loop %1 in 0 .. 3 {\n"
    "    call triangular_solve(0, 1, 1, 0, 0, 0, 2, 2, 1) out0 = s4, in0 work s5\n"
    "  }\n"
    "  call triangular_solve(0, 1, 1, 0, 0, 0, 2, 2, 1) out1 = s4, s4 work s5\n"
    "}\n";

static void prints_again(kiln_ctx *ctx, const char *want, size_t size, uint32_t calls)
{
    kn_arena arena;
    kn_loops *l;
    char *text;
    size_t n;
    kn_arena_init(&arena, NULL);
    assert_ok(ctx, kn_loops_parse(ctx, &arena, want, size, "f", &l));
    assert_int_equal(l->calls.n, calls);
    for (uint32_t i = 0; i < calls; i++) assert_int_equal(l->calls.v[i]->number, i);
    assert_ok(ctx, kn_loops_print(ctx, l, &text, &n));
    assert_string_equal(text, want);
    assert_int_equal(n, size);
    kiln_text_free(ctx, text, n);
    kn_arena_fini(&arena);
}

static void prints(void **state)
{
    prints_again(*state, printed, sizeof printed - 1, 0);
    prints_again(*state, printed_calls, sizeof printed_calls - 1, 3);
}

/* Any prefix and many damaged texts: a status, never a crash. */
static void damage(kiln_ctx *ctx, const char *text, size_t size)
{
    char copy[2000];
    uint64_t seed = 3;
    assert_true(size < sizeof copy);
    for (size_t k = 0; k < 3000; k++) {
        kn_arena arena;
        kn_loops *l;
        size_t n = k < size ? k : size;
        memcpy(copy, text, size);
        for (int i = 0; k > size && i < 3; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            copy[(seed >> 33) % n] = text[(seed >> 13) % n];
        }
        kn_arena_init(&arena, NULL);
        kiln_status status = kn_loops_parse(ctx, &arena, copy, n, "f", &l);
        assert_true(status == KILN_OK || status == KILN_INVALID);
        kn_arena_fini(&arena);
    }
}

static void survives_damage(void **state)
{
    damage(*state, printed, sizeof printed - 1);
    damage(*state, printed_calls, sizeof printed_calls - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(errors, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(prints, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(survives_damage, test_setup, test_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
