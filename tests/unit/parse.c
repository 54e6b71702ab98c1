/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of jaxprs: one error at its place, whatever the text; any blanks; names that look like words of the language. */
#include "ir/kinds.h"
#include "ir/print.h"
#include "testing.h"

#include <math.h>

static kiln_prog *read_text(kiln_ctx *ctx, const char *text)
{
    kiln_prog *p = NULL;
    return kiln_prog_parse(ctx, text, strlen(text), "t.jaxpr", &p) == KILN_OK ? p : NULL;
}

static kiln_prog *must_read(kiln_ctx *ctx, const char *text)
{
    kiln_prog *p = NULL;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "t.jaxpr", &p));
    return p;
}

static char *print_flat(kiln_ctx *ctx, const kiln_prog *p)
{
    char *s, *copy;
    size_t n;
    assert_ok(ctx, kiln_prog_print(ctx, p, 0, &s, &n));
    copy = malloc(n + 1);
    memcpy(copy, s, n + 1);
    kiln_text_free(ctx, s, n);
    return copy;
}

static void refuses(void **state)
{
    kiln_ctx *ctx = *state;
    static const struct {
        const char *text;
        int line, column;
        const char *kind, *message;
    } bad[] = {
        {"", 1, 1, "syntax", "no program begins here"},
        {"{ lambda", 1, 9, "syntax", "not closed"},
        {"{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,)", 1, 50, "syntax", "not closed"},
        {"{ lambda ; a:f32[3]. let b:f32[3] = sin a", 1, 42, "syntax", "not closed"},
        {"{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) } x", 1, 53, "syntax", "text after the program"},
        {"{ lambda ; a. let in (a,) }", 1, 13, "syntax", "variable a has no type"},
        {"{ lambda ; a:f33[]. let in (a,) }", 1, 14, "syntax", "no element type 'f33'"},
        {"{ lambda ; a:f32. let in (a,) }", 1, 17, "syntax", "a shape is missing"},
        {"{ lambda ; a:f32[?]. let in (a,) }", 1, 18, "syntax", "no whole number"},
        {"{ lambda ; a:f32[2,99999999999999999999]. let in (a,) }", 1, 20, "syntax", "63 bits"},
        {"{ lambda ; a:f32[4294967296,4294967296]. let in (a,) }", 1, 14, "syntax", "larger than memory"},
        {"{ lambda ; a:f32[]. let\n  b:f32[] = sinus a\n in (b,) }", 2, 13, "unknown-primitive", "did you mean sin?"},
        {"{ lambda ; a:f32[]. let b:f32[] = zzzzzz a in (b,) }", 1, 35, "unknown-primitive", "no primitive zzzzzz"},
        {"{ lambda ; a:f32[]. let b:f32[] = sin c in (b,) }", 1, 39, "unbound", "variable c is not bound"},
        {"{ lambda ; a:f32[]. let b:f32[] = sin _ in (b,) }", 1, 39, "unbound", "variable _ is not bound"},
        {"{ lambda ; a:f32[] a:f32[]. let in (a,) }", 1, 20, "bound-twice", "variable a is bound twice"},
        {"{ lambda ; a:f32[]. let b:f32[] = sin a in (c,) }", 1, 45, "unbound", "variable c is not bound"},
        {"{ lambda ; a:f32[2]. let b:f32[3] = sin a in (b,) }", 1, 26, "type", "sin gives f32[2], the binder says f32[3]"},
        {"{ lambda ; a:f32[2]. let b:f32[2] = add a in (b,) }", 1, 26, "type", "add takes 2 operands, found 1"},
        {"{ lambda ; a:f32[2] b:f64[2]. let c:f32[2] = add a b in (c,) }", 1, 35, "type", "f64[2]"},
        {"{ lambda ; a:f32[2]. let b:f32[] = reduce_sum a in (b,) }", 1, 36, "missing-parameter", "reduce_sum needs axes"},
        {"{ lambda ; a:f32[2]. let b:f32[] = reduce_sum[axis=(0,)] a in (b,) }", 1, 47, "unknown-parameter", "reduce_sum has no parameter axis"},
        {"{ lambda ; a:f32[2]. let b:f32[] = reduce_sum[axes=(0,) axes=(0,)] a in (b,) }", 1, 57, "syntax", "given twice"},
        {"{ lambda ; a:f32[2]. let b:f32[] = reduce_sum[axes=(0, a in (b,) }", 1, 66, "syntax", "a comma or ')'"},
        {"{ lambda ; a:f32[2]. let b:f32[] = reduce_sum[axes=(0,)", 1, 46, "syntax", "not closed"},
        {"{ lambda ; a:f32[2]. let b:f32[] = reduce_sum[...] a in (b,) }", 1, 47, "elided", "left out"},
        {"{ lambda ; a:f32[2]. let b:f32[] = reduce_sum[axes=...] a in (b,) }", 1, 52, "elided", "left out"},
        {"{ lambda ; a:f32[2]. let b:f32[2] = add a [...]:f32[2] in (b,) }", 1, 43, "elided", "left out"},
        {"{ lambda ; a:f32[]. let b:f32[] = add a 2.0; c:f32[] = add b 1.0:f32[] in (c,) }", 1, 62, "syntax", "are mixed"},
        {"{ lambda ; a:i32[]. let b:i32[] = add a 2.5 in (b,) }", 1, 25, "type", "i32[] and f32[] given"},
        {"{ lambda ; a:f32[2]. let b:f32[2] = add a 2.0:f32[2] in (b,) }", 1, 43, "syntax", "type of an array"},
        {"{ lambda ; a:i32[]. let b:i32[] = add a 2.5:i32[] in (b,) }", 1, 41, "syntax", "'2.5' is no value of i32[]"},
        {"{ lambda ; a:i32[]. let b:i32[] = add a 2147483648:i32[] in (b,) }", 1, 41, "syntax", "does not fit in i32"},
        {"{ lambda ; a:bool[]. let b:bool[] = and a 1:bool[] in (b,) }", 1, 43, "syntax", "no value of bool"},
        {"{ lambda ; a:f32[]. let b:f32[] = jit[name=f jaxpr=g] a in (b,) }", 1, 52, "unbound", "no body is called g"},
        {"let f = { lambda ; a:f32[]. let b:f32[] = jit[name=f jaxpr=f] a in (b,) } in { lambda ; . let in () }", 1, 60, "syntax", "contains itself"},
        {"let f = { lambda ; . let in () } in let f = { lambda ; . let in () } in { lambda ; . let in () }", 1, 41, "bound-twice", "defined twice"},
        {"let f = { lambda ; a:f32[]. let b:f32[] = sinus a in (b,) } in { lambda ; . let in () }", 1, 43, "unknown-primitive", "sinus"},
        {"{ lambda ; a:f32[]. let in (a,) : { IO } }", 1, 33, "unsupported", "effects"},
        {"{ lambda ; a:Ref{f32[]}. let in () }", 1, 14, "unsupported", "Ref"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kiln_prog *p = read_text(ctx, bad[i].text);
        const kiln_diag *d = kiln_ctx_error(ctx);
        if (p) fail_msg("accepted: %s", bad[i].text);
        if (d->line != bad[i].line || d->column != bad[i].column || strcmp(d->kind, bad[i].kind) != 0 || !strstr(d->message, bad[i].message))
            fail_msg("%s\ngave %d:%d [%s] %s\nwant %d:%d [%s] %s", bad[i].text, d->line, d->column, d->kind, d->message, bad[i].line,
                     bad[i].column, bad[i].kind, bad[i].message);
        assert_string_equal(d->file, "t.jaxpr");
    }
}

/* A body may give back the one variable that is called _; of two, neither is meant. */
static void unread_results(void **state)
{
    static const char one[] = "{ lambda ; a:f64[]. let b:f64[] = jit[name=f jaxpr={ lambda ; c:f64[]. let _:f64[] = sin c in (_,) }] a in (b,) }";
    static const char two[] = "{ lambda ; a:f64[]. let _:f64[] = sin a; _:f64[] = cos a in (_,) }";
    kiln_prog *p;
    kiln_prog_release(must_read(*state, one));
    assert_int_equal(kiln_prog_parse(*state, two, strlen(two), "t.jaxpr", &p), KILN_INVALID);
    assert_says(*state, "variable _ is not bound");
}

/* Trees of operands as JAX's derivatives of scans print them: of one constant, one carry and one array, with or without a tangent. */
static void scan_trees(void **state)
{
    static const char *const trees[] = {
        "ft_in=((None,), (None,), (None,)) ft_out=((None,), (None,))",
        "ft_in=(((None,), (RightsOnly(Left(None)),)), ((None,), (RightsOnly(Left(None)),)), ((), (RightsOnly(Right(None)),))) ft_out=((None,), (None,))",
        "ft_in=((RightsOnly(RightsOnly(Right(Right(None)))), RightsOnly(RightsOnly(Left(None)))), (RightsOnly(RightsOnly(Right(Left(None)))), None), (None,)) ft_out=((None,), (None,))",
        "ft_in=RightsOnly(((Left(None), Right(None)), (Right(None),), (Right(None), Left(None)))) ft_out=((None,), (None,))",
        "ft_in=RightsOnly(Pytree(vals=[Left(None), Right(None), Right(None), Right(None)], tree=PyTreeDef(([*, *], [*], [*])))) ft_out=((None,), (None,))",
        "ft_in=((Pytree(vals=[None], tree=PyTreeDef(([*], []))), RightsOnly(Pytree(vals=[Left(None)], tree=PyTreeDef(([*], []))))), (None,), (None,)) ft_out=((None,), (None,))",
    };
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "{ lambda ; a:f64[2] b:f64[] c:f64[3]. let\n"
                 "    d:f64[] e:f64[3] = scan[\n"
                 "      %s\n"
                 "      jaxpr={ lambda ; f:f64[2] g:f64[] h:f64[]. let  in (h, g) } length=3 reverse=False unroll=1\n"
                 "    ] a b c\n"
                 "  in (d, e) }\n",
                 trees[i]);
        kiln_prog_release(must_read(*state, text));
    }
}

static const char sample[] = "let sq = { lambda ; a:f64[]. let b:f64[] = mul a a in (b,) } in\n"
                             "{ lambda ; a:f64[2,3] b:i32[]. let\n"
                             "    c:f64[3,2] = transpose[permutation=(1, 0)] a\n"
                             "    d:f64[] = jit[name=sq jaxpr=sq] -1e-3:f64[]\n"
                             "    e:f64[2,2] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a c\n"
                             "    f:f64[] = cond[\n      branches=(\n        { lambda ; g:f64[]. let  in (g,) }\n        sq\n      )\n    ] b d\n"
                             "    g:f64[] h:f64[4] = scan[ft_in=((), (None,), ()) ft_out=((None,), (None,)) jaxpr={ lambda ; i:f64[]. let\n"
                             "        j:f64[] = add i nan:f64[] in (j, i) } length=4 reverse=False unroll=1] f\n"
                             "  in (e, h, inf:f64[]) }\n";

/* Cut anywhere, the text is refused, and nothing is read beyond the cut. */
static void cuts(void **state)
{
    size_t n = strlen(sample);
    for (size_t k = 0; k < n - 2; k++) {
        char *cut = malloc(k ? k : 1);
        memcpy(cut, sample, k);
        kiln_prog *p;
        kiln_status status = kiln_prog_parse(*state, cut, k, "cut", &p);
        assert_true(status == KILN_INVALID || status == KILN_UNSUPPORTED);
        assert_null(p);
        free(cut);
    }
    kiln_prog_release(must_read(*state, sample));
}

/* Bytes changed at random: refused, or a program whose print reads back. */
static void changes(void **state)
{
    static const char bytes[] = "{}()[]:;=., abz019-+\n_\"'\x80";
    uint64_t r = 88172645463325252u;
    size_t n = strlen(sample), read = 0;
    for (int round = 0; round < 20000; round++) {
        char *s = malloc(n + 1);
        memcpy(s, sample, n + 1);
        for (int k = 0; k < 1 + round % 3; k++) {
            r ^= r << 13, r ^= r >> 7, r ^= r << 17;
            s[r % n] = bytes[(r >> 32) % (sizeof bytes - 1)];
        }
        kiln_prog *p, *q;
        if (kiln_prog_parse(*state, s, n, "changed", &p) == KILN_OK) {
            char *a = print_flat(*state, p);
            q = must_read(*state, a);
            assert_true(kn_jaxpr_equal(p->main, q->main));
            char *b = print_flat(*state, q);
            assert_string_equal(a, b);
            kiln_prog_release(p);
            kiln_prog_release(q);
            free(a);
            free(b);
            read++;
        }
        free(s);
    }
    assert_true(read > 100);
}

/* Line ends are blanks, and blanks line ends. */
static void any_blanks(void **state)
{
    kiln_prog *p = must_read(*state, sample);
    char *flat = print_flat(*state, p), wide[4096];
    size_t k = 0;
    for (const char *s = flat; *s && k + 4 < sizeof wide; s++) {
        wide[k++] = *s == ';' && s[1] == ' ' && s[-1] != 'a' ? ';' : *s;
        if (*s == ' ') wide[k++] = '\n', wide[k++] = '\t', wide[k++] = '\r';
    }
    wide[k] = 0;
    kiln_prog *q = must_read(*state, wide);
    assert_true(kn_jaxpr_equal(p->main, q->main));
    kiln_prog_release(p);
    kiln_prog_release(q);
    free(flat);
}

/* A long chain has variables called in, let, nan, inf; its print reads back whatever the width, and in a body, too. */
static void names_like_words(void **state)
{
    enum { N = 9000 };
    kiln_ctx *ctx = *state;
    kn_text t;
    kn_text_init(&t, NULL);
    kn_text_add(&t, "{ lambda ; x:f64[] y:c64[]. let\n");
    for (int i = 0; i < N; i++) kn_text_printf(&t, "v%d:f64[] = %s %s%d nan:f64[]\n", i, i % 2 ? "add" : "mul", i ? "v" : "x", i - 1);
    kn_text_printf(&t, "in (v%d, x, y, nan:f64[], (2+0j):c64[]) }", N - 1);
    char *bare = strstr(t.s, "x-1");
    memcpy(bare, "x  ", 3);
    kiln_prog *p = must_read(ctx, t.s);
    static const unsigned widths[] = {80, 0, 12};
    for (int w = 0; w < 3; w++) {
        char *text;
        size_t n;
        assert_ok(ctx, kiln_prog_print(ctx, p, widths[w], &text, &n));
        if (w < 2) {
            assert_non_null(strstr(text, "nan:f64[] = "));
            assert_non_null(strstr(text, "in:f64[] = "));
            assert_non_null(strstr(text, "add inf nan:f64[]") ? text : strstr(text, "mul inf nan:f64[]"));
        }
        kiln_prog *q = must_read(ctx, text);
        assert_true(kn_jaxpr_equal(p->main, q->main));
        kiln_prog_release(q);
        kiln_text_free(ctx, text, n);
    }
    kiln_prog_release(p);
    kn_text_fini(&t);
}

static void in_before_a_complex_number(void **state)
{
    kiln_prog *p = must_read(*state, "{ lambda ; in:c64[]. let a:c64[] = add in (2-1j):c64[]; b:c64[] = add a in\n in (in, b, 1j:c64[]) }");
    char *flat = print_flat(*state, p);
    assert_string_equal(flat, "{ lambda ; a:c64[]. let b:c64[] = add a (2-1j):c64[]; c:c64[] = add b a in (a, c, 1j:c64[]) }\n");
    free(flat);
    kiln_prog_release(p);
}

/* The old dialect: a literal has the type of what it meets; its print has none again. */
static void old_literals(void **state)
{
    static const char text[] = "{ lambda ; a:f64[2] b:i64[] c:bool[]. let d:f64[2] = mul a 2.0; e:i64[] = add 1 b; f:bool[] = and c True; "
                               "g:f64[2] = select_n f a d; h:f64[3] = broadcast_in_dim[broadcast_dimensions=() shape=(3,)] nan; "
                               "i:i64[] = pjit[name=f jaxpr={ lambda ; j:i64[] k:i64[]. let l:i64[] = mul j k in (l,) }] 7 e in (g, h, i, 1.0) }\n";
    kiln_prog *p = must_read(*state, text);
    assert_true(p->old_dialect);
    char *flat = print_flat(*state, p);
    assert_string_equal(flat, text);
    free(flat);
    kiln_prog_release(p);
}

static void scalars_keep_their_bits(void **state)
{
    static const char *const values[] = {"0.1:f64[]", "-0.0:f64[]", "5e-324:f64[]", "1.7976931348623157e+308:f64[]", "0.10000000149011612:f32[]",
                                         "1.401298464324817e-45:f32[]", "nan:f32[]", "-inf:f32[]", "9223372036854775807:i64[]",
                                         "-9223372036854775808:i64[]", "18446744073709551615:u64[]", "255:u8[]", "-7:i4[]", "True:bool[]",
                                         "(0.5+nanj):c128[]", "(-0-1.5j):c64[]", "-2j:c64[]", "0.33203125:bf16[]", "65504.0:f16[]",
                                         "-0.3125:f8_e4m3fn[]", "inf:f8_e5m2[]", "nan:f8_e4m3fnuz[]", "2.0:f8_e8m0fnu[]", "-6.0:f4_e2m1fn[]",
                                         /* Python numbers, which JAX prints as they were given */
                                         "1e-05:f32[]", "6.283185307179586:f32[]", "0.01:bf16[]", "16777217.0:f32[]"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[128], want[160];
        snprintf(text, sizeof text, "{ lambda ; . let  in (%s,) }", values[i]);
        snprintf(want, sizeof want, "%s\n", text);
        kiln_prog *p = must_read(*state, text);
        char *flat = print_flat(*state, p);
        assert_string_equal(flat, want);
        free(flat);
        kiln_prog_release(p);
    }
}

static char *nested(int depth)
{
    kn_text t;
    kn_text_init(&t, NULL);
    for (int i = 0; i < depth; i++) kn_text_add(&t, "{ lambda ; a:f64[]. let b:f64[] = jit[name=f jaxpr=");
    kn_text_add(&t, "{ lambda ; a:f64[]. let  in (a,) }");
    for (int i = 0; i < depth; i++) kn_text_add(&t, "] a in (b,) }");
    return t.s;
}

static void depth_is_bounded(void **state)
{
    char *s = nested(KN_MAX_NESTING - 1);
    kiln_prog *p = must_read(*state, s);
    char *flat = print_flat(*state, p);
    free(flat);
    kiln_prog_release(p);
    kn_free(&kn_alloc_default, s, strlen(s) + 1);
    s = nested(100000);
    assert_null(read_text(*state, s));
    assert_says(*state, "nested more than 256 deep");
    kn_free(&kn_alloc_default, s, strlen(s) + 1);
    char deep[4000] = "{ lambda ; a:f64[]. let b:f64[] = reduce_sum[axes=";
    memset(deep + strlen(deep), '(', 3000);
    assert_null(read_text(*state, deep));
    assert_says(*state, "nested more than 64 deep");
}

/* Bodies shared a million times over: each is read and printed once. */
static void sharing_stays_small(void **state)
{
    kn_text t;
    kn_text_init(&t, NULL);
    for (int i = 0; i < 40; i++) {
        kn_text_printf(&t, "let f%d = { lambda ; a:f64[]. let ", i);
        if (i) kn_text_printf(&t, "b:f64[] = jit[name=f%d jaxpr=f%d] a; c:f64[] = jit[name=f%d jaxpr=f%d] b in (c,) } in\n", i - 1, i - 1, i - 1, i - 1);
        else kn_text_add(&t, "b:f64[] = sin a in (b,) } in\n");
    }
    kn_text_add(&t, "{ lambda ; a:f64[]. let b:f64[] = jit[name=f39 jaxpr=f39] a in (b,) }");
    kiln_prog *p = must_read(*state, t.s);
    assert_int_equal(kiln_prog_n_equations(p), 80);
    char *flat = print_flat(*state, p);
    kiln_prog *q = must_read(*state, flat);
    free(flat);
    kiln_prog_release(p);
    kiln_prog_release(q);
    kn_text_fini(&t);
}

static void equations_know_their_place(void **state)
{
    kiln_prog *p = must_read(*state, "{ lambda ; a:f64[]. let\n    b:f64[] = sin a\n    c:f64[] = cos b\n  in (c,) }");
    const kn_eqn *e = &p->main->eqns[1];
    assert_string_equal(p->files.v[e->loc.file], "t.jaxpr");
    assert_int_equal(e->loc.line, 3);
    assert_int_equal(e->loc.column, 5);
    assert_string_equal(kiln_prog_input_name(p, 0), "a");
    kiln_prog_release(p);
}

static void constants_without_values_do_not_run(void **state)
{
    kiln_prog *p = must_read(*state, "{ lambda a:f64[2]; b:f64[2]. let c:f64[2] = add a b in (c,) }");
    kiln_array *x, *y;
    assert_ok(*state, kiln_array_parse(*state, "f64[2]:1,2", &x));
    assert_int_equal(kiln_prog_eval(*state, p, &x, &y), KILN_UNSUPPORTED);
    assert_says(*state, "constants");
    kiln_array_release(x);
    kiln_prog_release(p);
}

static void locale_changes_nothing(void **state)
{
    if (!test_set_comma_locale()) {
        print_message("skipped: no locale with a decimal comma, and localedef cannot make one\n");
        skip();
    }
    char text[16];
    snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, "0,5");
    scalars_keep_their_bits(state);
    setlocale(LC_ALL, "C");
}

/* Every kind of the table is what its example gives. */
static void kinds_have_examples(void **state)
{
    unsigned n = 0;
    for (const kn_text_kind *k = kn_text_kinds; k->name; k++) {
        if (!k->example) continue;
        if (read_text(*state, k->example)) fail_msg("the example of %s is accepted", k->name);
        assert_string_equal(kiln_ctx_error(*state)->kind, k->name);
        n++;
    }
    assert_true(n >= 9);
}

static void memory_runs_out(void **state)
{
    (void)state;
    for (int n = 1;; n++) {
        kiln_ctx *ctx = test_ctx_failing(n);
        if (!ctx) continue;
        kiln_prog *p = NULL;
        char *s = NULL;
        size_t k = 0;
        kiln_status status = kiln_prog_parse(ctx, sample, strlen(sample), "t", &p);
        if (status == KILN_OK) status = kiln_prog_print(ctx, p, 40, &s, &k);
        kiln_text_free(ctx, s, k);
        kiln_prog_release(p);
        bool failed = test_ctx_failed(ctx);
        assert_int_equal(status, failed ? KILN_NOMEM : KILN_OK);
        test_ctx_release(ctx);
        if (!failed) break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses),
        cmocka_unit_test(scan_trees), cmocka_unit_test(unread_results), cmocka_unit_test(cuts),
        cmocka_unit_test(changes),
        cmocka_unit_test(any_blanks),
        cmocka_unit_test(names_like_words),
        cmocka_unit_test(in_before_a_complex_number),
        cmocka_unit_test(old_literals),
        cmocka_unit_test(scalars_keep_their_bits),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(sharing_stays_small),
        cmocka_unit_test(equations_know_their_place),
        cmocka_unit_test(constants_without_values_do_not_run),
        cmocka_unit_test(locale_changes_nothing),
        cmocka_unit_test(kinds_have_examples),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
