/* SPDX-License-Identifier: Apache-2.0 */
/* What a call holds at its peak: arguments, results and scratch are at most a fifth more than the arrays that the program needs at one time. */
#include "beside.h"

#include "ir/prim.h"
#include "lower/lower.h"
#include "opt/opt.h"

#define DOT "dot_general[dimension_numbers=(([1], [0]), ([], [])) precision=None preferred_element_type=float32]"

static size_t bytes_of(kiln_type t) { return (size_t)kiln_type_size(t) * (size_t)kiln_dtype_bytes(t.dtype); }

/* ---- what a program needs: every value of the optimised program as an array, from the equation that makes it to the last that reads it ---- */

#define ALWAYS UINT32_MAX

static size_t most_needed(const kn_jaxpr *j, bool whole);

static void of_body(void *most, const kn_jaxpr *body)
{
    size_t n = most_needed(body, false);
    if (n > *(size_t *)most) *(size_t *)most = n;
}

/* Operands of a body are the arrays of the equation around it. */
static size_t most_needed(const kn_jaxpr *j, bool whole)
{
    uint32_t *last = calloc(j->nvars + 1, sizeof *last);
    size_t *bytes = calloc(j->nvars + 1, sizeof *bytes), live = 0, most;
    for (uint32_t v = 0; v < j->nvars; v++) bytes[v] = bytes_of(j->vars[v].type);
    for (uint32_t k = 0; k < j->neqns; k++)
        for (uint32_t i = 0; i < j->eqns[k].nin; i++)
            if (!kn_is_literal(j->eqns[k].in[i])) last[j->eqns[k].in[i]] = k;
    for (uint32_t i = 0; i < j->nout; i++)
        if (!kn_is_literal(j->out[i])) last[j->out[i]] = ALWAYS;
    for (uint32_t i = 0; i < j->nin; i++) {
        if (whole) live += bytes[j->in[i]];
        last[j->in[i]] = ALWAYS;
    }
    most = live;
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        bool updates = strstr(e->prim->name, "update_slice") || strncmp(e->prim->name, "scatter", 7) == 0;
        size_t inner = 0, made = 0, freed = 0, unused = 0;
        for (uint32_t r = 0; r < e->nout; r++) {
            made += bytes[e->out[r]];
            if (!last[e->out[r]]) unused += bytes[e->out[r]];
        }
        for (uint32_t i = 0; i < e->nin; i++) {
            bool again = false;
            for (uint32_t q = 0; q < i; q++) again = again || e->in[q] == e->in[i];
            if (!again && !kn_is_literal(e->in[i]) && last[e->in[i]] == k) freed += bytes[e->in[i]];
        }
        kn_eqn_bodies(e, of_body, &inner);
        size_t here = live + made + inner - (updates ? (freed < made ? freed : made) : 0);
        if (here > most) most = here;
        live += made - freed - unused;
    }
    free(last);
    free(bytes);
    return most;
}


/* ---- what a call holds ---- */

static kiln_exec *compile(kiln_ctx *ctx, const kiln_prog *p, int tier, unsigned bits)
{
    kiln_exec *f;
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    o.tier = tier;
    o.vector_bits = bits;
    assert_ok(ctx, kiln_compile(ctx, p, &o, &f));
    return f;
}

/* One thread, and small memory of routines (LAPACK's blocks), is allowed for. */
static void check(kiln_ctx *ctx, const char *name, const kiln_prog *p)
{
    const double small = 8192;
    kn_prog *lowered, *optimised;
    size_t held = 0;
    assert_ok(ctx, kn_lower(ctx, p, &lowered));
    assert_ok(ctx, kn_optimise(ctx, lowered, NULL, &optimised));
    for (uint32_t i = 0; i < optimised->main->nin; i++) held += bytes_of(optimised->main->vars[optimised->main->in[i]].type);
    for (uint32_t i = 0; i < kiln_prog_n_outputs(p); i++) held += bytes_of(kiln_prog_output_type(p, i));
    size_t needed = most_needed(optimised->main, true);
    if (needed < held) needed = held;
    for (int tier = 0; tier <= 2; tier += 2) {
        kiln_exec *f = compile(ctx, p, tier, 0);
        size_t scratch = kiln_exec_scratch_bytes(f);
        if ((double)(held + scratch) > 1.2 * (double)needed + small)
            fail_msg("%s, level %d: %zu bytes of arguments and results and %zu of scratch; %zu are needed", name, tier, held, scratch, needed);
        kiln_exec_release(f);
    }
    kiln_prog_release(lowered);
    kiln_prog_release(optimised);
}

static int check_folder(kiln_ctx *ctx, const char *folder, const char *suffix, int depth)
{
    struct dirent *e;
    int n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    while ((e = readdir(d))) {
        char path[1024];
        const char *end = strrchr(e->d_name, '.');
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.' && depth > 0 && test_is_folder(path)) n += check_folder(ctx, path, suffix, depth - 1);
        if (!end || strcmp(end, suffix) != 0) continue;
        kiln_prog *p;
        assert_ok(ctx, kiln_prog_load(ctx, path, &p));
        check(ctx, path, p);
        kiln_prog_release(p);
        n++;
    }
    closedir(d);
    return n;
}

static void programs(void **state)
{
    (void)state;
    kiln_ctx_opts one = KILN_CTX_OPTS_INIT;
    kiln_ctx *ctx;
    one.threads = 1;
    assert_int_equal(kiln_ctx_create(&one, &ctx), KILN_OK);
    assert_true(check_folder(ctx, KILN_SOURCE_DIR "/benchmarks/programs", ".jaxpr", 0) > 10);
    if (test_is_folder(KILN_CASES "/programs")) assert_true(check_folder(ctx, KILN_CASES "/programs", ".mlir", 1) > 60);
    else print_message("skipped: no shared cases at %s/programs\n", KILN_CASES);
    kiln_ctx_release(ctx);
}

/* ---- where arrays live ---- */

enum { ONE = 40 * 40 * 4 };

static size_t scratch_of(kiln_ctx *ctx, const char *text, int64_t n)
{
    kiln_prog *p;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "memory", &p));
    kiln_exec *f = compile(ctx, p, 0, 512);
    size_t bytes = n ? kiln_exec_scratch_bytes_at(f, n) : kiln_exec_scratch_bytes(f);
    kiln_exec_release(f);
    kiln_prog_release(p);
    return bytes;
}

#define SQUARE "f32[40,40]"
#define PRODUCT(y, x) y ":" SQUARE " = " DOT " " x " w\n"

/* What is read no more makes room: of a chain two arrays live at a time, the one that is read and the one that is made. */
static void lives(void **state)
{
    static const struct {
        const char *text;
        size_t arrays;
    } table[] = {
        {"{ lambda ; w:" SQUARE ". let " PRODUCT("a", "w") PRODUCT("b", "a") PRODUCT("c", "b") PRODUCT("d", "c") PRODUCT("e", "d") "in (e,) }", 2},
        /* the first one is read last */
        {"{ lambda ; w:" SQUARE ". let " PRODUCT("a", "w") PRODUCT("b", "a") PRODUCT("c", "b") PRODUCT("d", "c") "e:" SQUARE " = " DOT " d a in (e,) }", 3},
        /* in trips: what goes from trip to trip is in the result, what is made in a trip leaves it */
        {"{ lambda ; w:" SQUARE ". let x:" SQUARE " = scan[jaxpr={ lambda ; w:" SQUARE " x:" SQUARE ". let " PRODUCT("a", "x") PRODUCT("b", "a") PRODUCT("c", "b")
         PRODUCT("d", "c") PRODUCT("e", "d") "in (e,) } length=3 num_carry=1 num_consts=1 reverse=False unroll=1] w w in (x,) }", 2},
        /* branches, of which one runs */
        {"{ lambda ; i:i32[] w:" SQUARE ". let x:" SQUARE " = cond[branches=({ lambda ; w:" SQUARE ". let " PRODUCT("a", "w") PRODUCT("b", "a") PRODUCT("c", "b")
         PRODUCT("d", "c") "in (d,) } { lambda ; w:" SQUARE ". let " PRODUCT("a", "w") PRODUCT("b", "a") PRODUCT("c", "b") PRODUCT("d", "c") "in (d,) })] i w in (x,) }", 2},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        check_beside(*state, table[i].text, 997);
        size_t bytes = scratch_of(*state, table[i].text, 0);
        if (bytes != table[i].arrays * ONE) fail_msg("%zu bytes of scratch, not %zu arrays of %d:\n%s", bytes, table[i].arrays, ONE, table[i].text);
    }
}

/* The same of a size that is given at each call. */
static void rows(void **state)
{
    static const char text[] = "{ lambda ; x:f32[n,40] w:" SQUARE ". let a:f32[n,40] = " DOT " x w b:f32[n,40] = " DOT " a w c:f32[n,40] = " DOT " b w "
                               "d:f32[n,40] = " DOT " c w e:f32[n,40] = " DOT " d w in (e,) }";
    for (int64_t n = 64; n <= 640; n *= 10) assert_int_equal(scratch_of(*state, text, n), 2 * n * 40 * 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs), cmocka_unit_test(lives), cmocka_unit_test(rows)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
