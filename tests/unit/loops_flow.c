/* SPDX-License-Identifier: Apache-2.0 */
/* Statements of the loop language compiled, against the language run as its header defines it: programs as text, every width,
 * lengths known and not, both tiers and targets, buffers between guards. In the texts W is a width, N a number or the value of
 * input n, and D the room for N. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "base/cpu.h"
#include "base/text.h"
#include "loop_eval.h"
#include "run/exec.h"
#include "run/stages.h"

#include <math.h>
#include <sys/mman.h>

enum { ROOM = 200 };

typedef struct example {
    const char *name, *header, *body;
    int64_t most; /* largest N */
} example;

static const example examples[] = {
    {"stencil and descending elements",
     "inputs 2 outputs 2\nslot a: f32[D] input 1 slot x: f32[D] output 0 slot y: f32[D] output 1",
     "%20 = sub i64 N, 1\n"
     "loop %1 in 1 .. %20 width W { %2 = sub i64 %1, 1 %3 = add i64 %1, 1 %4 = a[%2] %5 = a[%1] %6 = a[%3]\n"
     " %7 = add f32 %4, %6 %8 = fma f32 %5, -2.0, %7 x[%1] = %8 %9 = sub i64 N, %1 %10 = sub i64 %9, 1 %11 = a[%10]\n"
     " %12 = add f32 %11, %8 y[%10] = %12 }", 66},
    {"strides, gathers and scatters",
     "inputs 2 outputs 2\nslot a: f64[400] input 1 slot x: f64[600] output 0 slot y: i32[D] output 1",
     "loop %1 in 0 .. N width W { %2 = mul i64 %1, 3 %3 = add i64 %2, 1 %4 = a[%3] %5 = mul i64 %1, %1 %6 = rem i64 %5, 199\n"
     " %7 = a[%6] %8 = add f64 %4, %7 x[%3] = %8 %9 = convert i64 %2 to i32 y[%1] = %9 %10 = mul i64 %1, 2 %11 = add i64 %10, 400\n"
     " %13 = sub i64 %11, %1 x[%13] = %7 }", 66},
    {"small integers and bools",
     "inputs 2 outputs 3\nslot a: i8[D] input 1 slot x: bool[D] output 0 slot y: i16[D] output 1 slot z: u8[D] output 2",
     "loop %1 in 0 .. N width W { %2 = a[%1] %3 = lt i8 %2, 5 x[%1] = %3 %4 = convert i8 %2 to i16 %5 = mul i16 %4, %4 y[%1] = %5 }\n"
     "loop %10 in 0 .. N width W { %11 = x[%10] %12 = sub i64 N, %10 %13 = sub i64 %12, 1 %14 = x[%13] %15 = xor bool %11, %14\n"
     " %16 = convert bool %15 to u8 z[%13] = %16 }", 66},
    {"inner loop that carries",
     "inputs 2 outputs 2\nslot a: f32[5000] input 1 slot x: f32[D] output 0 slot y: f32[D] output 1",
     "loop %1 in 0 .. N width W {\n"
     " %2, %3, %30 = loop %4 in 0 .. 7 carry %5 = f32 -0.0, %6 = i64 5, %31 = %1 {\n"
     "  %7 = mul i64 %1, 7 %8 = add i64 %7, %4 %9 = a[%8] %10 = fma f32 %9, %9, %5 %11 = add i64 %6, %4 %32 = add i64 %31, 1 yield %10, %11, %32 }\n"
     " %12 = convert i64 %3 to f32 %13 = add f32 %2, %12 x[%1] = %13 %14 = convert i64 %30 to f32 y[%1] = %14 }", 66},
    {"inner loop with unknown bounds",
     "inputs 2 outputs 1\nslot a: f64[5000] input 1 slot x: f64[D] output 0",
     "%20 = rem i64 N, 5\n"
     "loop %1 in 0 .. N width W { %2 = loop %4 in 0 .. %20 carry %5 = f64 1.0 { %7 = mul i64 %4, 66 %8 = add i64 %7, %1 %9 = a[%8]\n"
     " %10 = add f64 %9, %5 yield %10 } x[%1] = %2 }", 66},
    {"choice in lanes",
     "inputs 2 outputs 2\nslot a: f32[D] input 1 slot x: f32[D] output 0 slot y: i64[D] output 1",
     "%20 = convert i64 N to i32 %21 = rem i32 %20, 4\n"
     "loop %1 in 0 .. N width W { %2 = a[%1] %3 = rem i64 %1, 3 %9, %10 = if %21 { %4 = neg f32 %2 yield %4, %1 } else { yield f32 2.0, i64 7 }\n"
     " else { x[%1] = %2 %5 = add i64 %1, 1 yield %2, %5 } x[%1] = %9 y[%1] = %10 }", 66},
    {"while, swap and copy",
     "inputs 2 outputs 2 scratch 2048\nslot a: f64[D] input 1 slot x: f64[D] output 0 slot t: f64[D] scratch 0 slot y: i64[1] output 1",
     "copy x = a\n"
     "%1, %2 = while carry %3 = i64 0, %4 = f64 0.5 { %5 = lt i64 %3, N %6 = lt f64 %4, 1e6 %7 = and bool %5, %6 yield %7 } do %8, %9 {\n"
     " loop %10 in 0 .. D width W { %11 = x[%10] %12 = mul f64 %11, %9 t[%10] = %12 } swap x, t\n"
     " %13 = add i64 %8, 1 %14 = mul f64 %9, 1.5 yield %13, %14 }\n"
     "y[0] = %1\n"
     "swap x, t %40 = rem i64 %1, 2 %41 = convert i64 %40 to i32 if %41 { swap x, t } else { } copy x = t copy t = x", 40},
    {"loops that swap, in a choice",
     "inputs 2 outputs 1 scratch 4096\nslot a: i32[D] input 1 slot x: i32[D] output 0 slot t: i32[D] scratch 0 slot u: i32[D] scratch 1024",
     "copy t = a copy u = a %20 = convert i64 N to i32 %21 = rem i32 %20, 3\n"
     "%30 = loop %1 in 0 .. N carry %2 = i32 1 { %3 = if %21 { swap t, u yield %2 } else { loop %5 in 0 .. 3 { swap t, u } %7 = add i32 %2, 1 yield %7 } else { yield i32 9 }\n"
     " loop %6 in 0 .. D width W { %8 = t[%6] %9 = mul i32 %8, 3 u[%6] = %9 } yield %3 }\n"
     "loop %10 in 0 .. D width W { %11 = t[%10] %12 = u[%10] %13 = sub i32 %11, %12 %14 = add i32 %13, %30 x[%10] = %14 }", 20},
    {"choices out of range",
     "inputs 2 outputs 1\nslot a: i32[D] input 1 slot x: i32[D] output 0",
     "loop %1 in 0 .. N { %2 = a[%1] %3 = rem i32 %2, 7 %4 = if %3 { yield i32 10 } else { yield %2 } else { %6 = add i32 %2, 1 yield %6 }\n"
     " else { yield i32 -1 } x[%1] = %4 %7 = if %3 { yield i32 4 } x[%1] = %7 %8 = if %3 { yield %7 } else { yield %4 } x[%1] = %8 }", 66},
    {"recurrence in plain code",
     "inputs 2 outputs 1\nslot a: f32[D] input 1 slot x: f32[D] output 0",
     "%30, %31 = loop %1 in 0 .. N carry %2 = f32 0.0, %3 = i32 3 { %4 = a[%1] %5 = max f32 %2, %4 x[%1] = %5 %6 = mul i32 %3, 5 yield %5, %6 }\n"
     "%32 = convert i32 %31 to f32 loop %7 in 0 .. 1 { x[%7] = %32 }", 66},
    {"functions",
     "inputs 2 outputs 2\nslot a: f32[D] input 1 slot x: f32[D] output 0 slot y: f64[D] output 1",
     "loop %1 in 0 .. N width W { %2 = a[%1] %3 = sin f32 %2 %4 = exp f32 %3 %5 = pow f32 %4, %2 %6 = rem f32 %5, 1.5 x[%1] = %6\n"
     " %7 = convert f32 %2 to f64 %8 = cos f64 %7 %9 = atan2 f64 %8, %7 y[%1] = %9 }", 66},
    {"bounds the wrong way round",
     "inputs 2 outputs 1\nslot a: f32[D] input 1 slot x: f32[D] output 0",
     "%2 = sub i64 5, N loop %1 in 5 .. %2 width W { x[%1] = 3.0 } %3 = loop %4 in N .. 7 carry %5 = i64 0 { %6 = add i64 %5, 1 yield %6 }\n"
     "%7 = convert i64 %3 to f32 x[9] = %7", 66},
};

/* Reductions: each accumulator with its types. */
static const struct {
    const char *acc, *type, *identity;
} sums[] = {{"add", "f32", "-0.0"}, {"add", "f64", "-0.0"}, {"mul", "f32", "1.0"}, {"min", "f32", "inf"}, {"max", "f64", "-inf"},
            {"add", "i32", "0"},    {"min", "i64", "9223372036854775807"}, {"max", "u8", "0"}, {"and", "bool", "true"},
            {"or", "bool", "false"}, {"xor", "u16", "0"}, {"fma", "f32", "-0.0"}, {"fma", "f64", "-0.0"}, {"min", "bool", "true"},
            {"mul", "i8", "1"}};

/* Memory that faults right behind (or before) the array. */
static char *guarded(size_t bytes, bool behind, void **map, size_t *mapped)
{
    size_t page = 4096, room = (bytes + page - 1) & ~(page - 1);
    *mapped = room + 2 * page;
    char *p = mmap(NULL, *mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    mprotect(p, page, PROT_NONE);
    mprotect(p + page + room, page, PROT_NONE);
    *map = p;
    return behind ? p + page + room - bytes : p + page;
}

static uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    return z ^ z >> 31;
}

static void fill(kiln_dtype d, void *p, int64_t n, uint64_t *seed)
{
    for (int64_t k = 0; k < n; k++) {
        uint64_t r = random_bits(seed);
        kn_scalar v = {.u = r};
        if (kiln_dtype_kind(d) == 'f') v.f = r % 13 == 0 ? (double)NAN : r % 11 == 0 ? -0.0 : (double)(int64_t)(r >> 20) / 1e12;
        if (d == KILN_BOOL) v.b = r >> 9 & 1;
        kn_scalar_store(d, p, k, v);
    }
}

static bool same(kiln_dtype d, const void *a, const void *b, int64_t k)
{
    size_t w = kiln_dtype_bytes(d);
    if (memcmp((const char *)a + (size_t)k * w, (const char *)b + (size_t)k * w, w) == 0) return true;
    kn_scalar x = kn_scalar_load(d, a, k), y = kn_scalar_load(d, b, k);
    return kiln_dtype_kind(d) == 'f' && isnan(x.f) && isnan(y.f);
}

/* One program against its meaning, with every output compared. */
static void check(kiln_ctx *ctx, const char *label, const kn_loops *l, kiln_exec *f, int64_t n, bool behind, bool stop)
{
    enum { MOST = 8 };
    void *want[MOST], *got[MOST], *map[MOST];
    size_t mapped[MOST];
    uint64_t seed = 7 + (uint64_t)n;
    uint32_t count = l->n_inputs + l->n_outputs;
    kiln_dtype types[MOST] = {0};
    int64_t sizes[MOST] = {0};
    (void)ctx;
    for (uint32_t i = 0; i < l->slots.n; i++) {
        const kn_slot *s = &l->slots.v[i];
        if (s->kind == KN_SLOT_SCRATCH) continue;
        uint32_t k = s->index + (s->kind == KN_SLOT_OUTPUT ? l->n_inputs : 0);
        types[k] = s->dtype;
        sizes[k] = s->elements;
    }
    for (uint32_t k = 0; k < count; k++) {
        size_t bytes = (size_t)sizes[k] * kiln_dtype_bytes(types[k]);
        want[k] = malloc(bytes + 1);
        got[k] = guarded(bytes, behind, &map[k], &mapped[k]);
        if (k == 0) *(int64_t *)want[k] = n;
        else if (k < l->n_inputs) fill(types[k], want[k], sizes[k], &seed);
        else memset(want[k], 0x11, bytes);
        memcpy(got[k], want[k], bytes);
    }
    void *scratch = aligned_alloc(64, 8192), *scratch2 = aligned_alloc(64, 8192);
    memset(scratch, 0, 8192);
    memset(scratch2, 0, 8192);
    const bool flag = stop;
    kiln_call call = {.stop = &flag};
    int a = loop_eval_run(l, want, NULL, scratch, stop), b = kiln_exec_run(f, got, scratch2, stop || n % 2 ? &call : NULL);
    assert_int_equal(a, b);
    if (stop) assert_int_equal(call.status, b);
    for (uint32_t k = 0; k < count; k++) {
        for (int64_t i = 0; i < sizes[k]; i++)
            if (!same(types[k], want[k], got[k], i)) {
                kn_scalar w = kn_scalar_load(types[k], want[k], i), g = kn_scalar_load(types[k], got[k], i);
                print_error("%s, N %lld: array %u, element %lld is %llx %g, not %llx %g\n", label, (long long)n, k, (long long)i,
                            (unsigned long long)g.u, g.f, (unsigned long long)w.u, w.f);
                _fail(__FILE__, __LINE__);
            }
        free(want[k]);
        munmap(map[k], mapped[k]);
    }
    free(scratch);
    free(scratch2);
}

/* The text with its letters replaced; N is a value when n < 0. */
static void instance(kn_text *t, const char *header, const char *body, unsigned width, int64_t n)
{
    kn_text_add(t, "kiln loops\n");
    for (int part = 0; part < 2; part++) {
        for (const char *s = part ? body : header; *s; s++) {
            bool letter = s[1] == 0 || !((s[1] >= 'a' && s[1] <= 'z') || (s[1] >= 'A' && s[1] <= 'Z'));
            if (*s == 'W' && letter) kn_text_printf(t, "%u", width);
            else if (*s == 'D' && letter) kn_text_printf(t, "%d", ROOM);
            else if (*s == 'N' && letter && n >= 0) kn_text_printf(t, "%lld", (long long)n);
            else if (*s == 'N' && letter) kn_text_add(t, "%900");
            else kn_text_char(t, *s);
        }
        if (!part) kn_text_add(t, "\nslot n: i64[1] input 0\n{ %900 = n[0]\n");
    }
    kn_text_add(t, "}\n");
}

static kn_loops *parse(kiln_ctx *ctx, kn_arena *arena, const char *s, size_t n)
{
    kn_loops *l = NULL;
    kn_arena_init(arena, NULL);
    if (kn_loops_parse(ctx, arena, s, n, "text", &l) != KILN_OK) {
        char e[1000];
        kiln_diag_format(kiln_ctx_error(ctx), e, sizeof e);
        print_error("%s\n", e);
    }
    return l;
}

static void run_text(kiln_ctx *ctx, const char *label, const char *header, const char *body, unsigned width, int64_t known, const int64_t *lengths,
                     const char *target, int tier, bool stop)
{
    kn_text t;
    kn_arena arena;
    kn_text_init(&t, NULL);
    instance(&t, header, body, width, known);
    kn_loops *l = parse(ctx, &arena, t.s, t.n);
    assert_non_null(l);
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    o.target = target;
    o.tier = tier;
    kiln_exec *f;
    char name[200];
    snprintf(name, sizeof name, "%s, width %u, %s tier %d%s", label, width, target, tier, known < 0 ? "" : ", known");
    assert_ok(ctx, kn_compile_loops(ctx, l, NULL, &o, &f));
    for (; *lengths >= 0; lengths++)
        if (known < 0 || *lengths == known) check(ctx, name, l, f, *lengths, (*lengths + width) % 2, stop);
    kiln_exec_release(f);
    kn_arena_fini(&arena);
    kn_text_fini(&t);
}

static const unsigned widths[] = {1, 2, 4, 8, 16};
static const char *const targets[] = {"x86-64-v3", "x86-64-v4"};

static bool runs(const char *target) { return strcmp(target, "x86-64-v3") == 0 || strcmp(kn_cpu_target(), target) == 0; }

static void statements(void **state)
{
    for (size_t e = 0; e < sizeof examples / sizeof *examples; e++) {
        const example *x = &examples[e];
        if (x->most < 0) continue;
        int64_t lengths[ROOM], n = 0;
        for (int64_t k = 0; k <= x->most; k += 1 + (k > 20 && k % 16 > 1 && k % 16 < 14)) lengths[n++] = k;
        lengths[n] = -1;
        for (int k = 0; k < 20; k++) {
            const char *target = targets[k % 2];
            int tier = k / 2 % 2 * 2;
            unsigned width = widths[k / 4];
            if (!runs(target)) continue;
            run_text(*state, x->name, x->header, x->body, width, -1, lengths, target, tier, false);
            static const int64_t known[] = {0, 1, 3, 15, 16, 17, 33};
            for (size_t i = 0; i < sizeof known / sizeof *known; i++)
                if ((i + (size_t)k) % 7 == 0 && known[i] <= x->most) run_text(*state, x->name, x->header, x->body, width, known[i], lengths, target, tier, false);
        }
    }
}

static void reductions(void **state)
{
    static const int64_t lengths[] = {0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 130, 191, 192, 199, -1};
    for (size_t e = 0; e < sizeof sums / sizeof *sums; e++)
        for (unsigned width = 1; width <= 64; width *= 4)
            for (int k = 0; k < 4; k++) {
                const char *target = targets[k % 2];
                if (!runs(target) || (e + width) % 2 != (unsigned)k / 2) continue;
                char header[400], body[600];
                bool fma = strcmp(sums[e].acc, "fma") == 0;
                snprintf(header, sizeof header, "inputs 3 outputs 1\nslot a: %s[D] input 1 slot b: %s[D] input 2 slot x: %s[3] output 0",
                         sums[e].type, sums[e].type, sums[e].type);
                snprintf(body, sizeof body,
                         "loop %%1 in 0 .. 3 { %%9 = sub i64 N, %%1 %%2 = lanes %u %s %s from %s block 64 for %%3 in %%1 .. %%9 {\n"
                         " %%4 = a[%%3] %%5 = sub i64 %d, %%3 %%6 = b[%%5] yield %%4%s } x[%%1] = %%2 }",
                         width, sums[e].acc, sums[e].type, sums[e].identity, ROOM - 1, fma ? ", %6" : "");
                run_text(*state, sums[e].acc, header, body, width, -1, lengths, target, k / 2 * 2, false);
                for (int64_t i = k + (int64_t)e % 5; i < 20; i += 11) run_text(*state, sums[e].acc, header, body, width, lengths[i], lengths, target, k / 2 * 2, false);
            }
}

/* The flag ends every loop at its next trip; what follows still runs. */
static void stops(void **state)
{
    static const int64_t lengths[] = {0, 1, 20, -1};
    for (int k = 0; k < 4; k++) {
        if (!runs(targets[k % 2])) continue;
        run_text(*state, examples[6].name, examples[6].header, examples[6].body, 8, -1, lengths, targets[k % 2], k / 2 * 2, true);
    }
}

/* Printed text parses back, prints the same and gives the same object. */
static void round_trip(void **state)
{
    kiln_ctx *ctx = *state;
    for (size_t e = 0; e < sizeof examples / sizeof *examples; e++) {
        if (examples[e].most < 0) continue;
        kn_text t;
        kn_arena arena, again;
        kn_text_init(&t, NULL);
        instance(&t, examples[e].header, examples[e].body, 8, -1);
        kn_loops *l = parse(ctx, &arena, t.s, t.n), *m;
        assert_non_null(l);
        char *a, *b, *x, *y;
        size_t na, nb, nx, ny;
        kn_resolved r;
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        o.tier = 2;
        assert_ok(ctx, kn_compile_resolve(ctx, &o, &r));
        assert_ok(ctx, kn_loops_print(ctx, l, &a, &na));
        m = parse(ctx, &again, a, na);
        assert_non_null(m);
        assert_ok(ctx, kn_loops_print(ctx, m, &b, &nb));
        assert_string_equal(a, b);
        assert_ok(ctx, kn_loops_stage(ctx, l, &r, "object", &x, &nx));
        assert_ok(ctx, kn_loops_stage(ctx, m, &r, "object", &y, &ny));
        assert_int_equal(nx, ny);
        assert_memory_equal(x, y, nx);
        kiln_text_free(ctx, a, na);
        kiln_text_free(ctx, b, nb);
        kiln_text_free(ctx, x, nx);
        kiln_text_free(ctx, y, ny);
        kn_arena_fini(&arena);
        kn_arena_fini(&again);
        kn_text_fini(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(statements, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(reductions, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(stops, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(round_trip, test_setup, test_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
