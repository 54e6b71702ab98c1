/* SPDX-License-Identifier: Apache-2.0 */
/* Every word of length up to 4 over jvp, vjp, vmap and checkpoint makes, of some programs with loops, branches, calls and updates, a
 * program that verifies, compiles, and gives the interpreter's bits. KILN_TEST_WORDS=N: words up to this length (default 3). */
#include "words.h"

static const char *const programs[] = {
    "{ lambda ; a:f64[3] b:f64[]. let c:f64[3] = sin a; d:f64[3] = mul c b; e:f64[] = reduce_sum[axes=(0,) out_sharding=None] d;\n"
    "    f:f64[3] = mul d e in (f, e) }\n",
    "{ lambda ; a:f64[] b:f64[4]. let\n"
    "    c:f64[] d:f64[4] = scan[\n"
    "      jaxpr={ lambda ; e:f64[] f:f64[]. let g:f64[] = mul e f; h:f64[] = sin g in (h, g) }\n"
    "      length=4 num_carry=1 num_consts=0 reverse=False unroll=1\n"
    "    ] a b\n"
    "  in (c, d) }\n",
    "{ lambda ; i:i32[] a:f64[] b:f64[]. let\n"
    "    c:f64[] = cond[branches=(\n"
    "        { lambda ; d:f64[] e:f64[]. let f:f64[] = sin e; g:f64[] = mul d f in (g,) }\n"
    "        { lambda ; h:f64[] j:f64[]. let k:f64[] = exp h in (k,) }\n"
    "      )] i a b\n"
    "  in (c,) }\n",
    "{ lambda ; a:f64[5] i:i32[] b:f64[2]. let\n"
    "    c:f64[5] = dynamic_update_slice a b i; d:f64[5] = mul c c; e:f64[3] = dynamic_slice[slice_sizes=(3,)] d i\n"
    "    f:f64[] = jit[name=f jaxpr={ lambda ; g:f64[3]. let h:f64[3] = exp g; j:f64[] = reduce_max[axes=(0,) out_sharding=None] h in (j,) }] e\n"
    "  in (e, f) }\n",
    "{ lambda ; a:f64[2,3] b:f64[3]. let\n"
    "    c:f64[2] = dot_general[dimension_numbers=(([1], [0]), ([], [])) preferred_element_type=float64] a b; d:f64[2] = tanh c\n"
    "    e:f64[2] = cumsum[axis=0 reverse=False] d in (e,) }\n",
};
/* All words that begin (from inside) with what made p. */
static unsigned words(kiln_ctx *ctx, kiln_prog *p, const char *word, unsigned length, unsigned most)
{
    unsigned bad = 0;
    char why[KILN_DIAG_TEXT];
    if (length && !word_bits(ctx, p, 99, NULL, why, sizeof why)) {
        print_error("%s: %s\n", word, why);
        bad++;
    }
    for (unsigned letter = 0; letter < 4 && length < most && bad < 5; letter++) {
        char longer[200];
        kiln_prog *q;
        snprintf(longer, sizeof longer, "%s%s%s%s", word_letters[letter], length ? "(" : "", word, length ? ")" : "");
        kiln_status status = word_apply(ctx, p, letter, length + letter, &q);
        if (status != KILN_OK) {
            print_error("%s: %s\n", longer, kiln_ctx_error(ctx)->message);
            bad++;
            continue;
        }
        bad += words(ctx, q, longer, length + 1, most);
        kiln_prog_release(q);
    }
    return bad;
}

static void all_words(void **state)
{
    kiln_ctx *ctx = *state;
    const char *more = getenv("KILN_TEST_WORDS");
    unsigned most = more ? (unsigned)atoi(more) : 3, bad = 0;
    assert_true(most <= WORD_LENGTH);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        kiln_prog *p;
        assert_ok(ctx, kiln_prog_parse(ctx, programs[i], strlen(programs[i]), "text", &p));
        bad += words(ctx, p, "", 0, most);
        kiln_prog_release(p);
    }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_words)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
