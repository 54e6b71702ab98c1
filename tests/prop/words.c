/* SPDX-License-Identifier: Apache-2.0 */
/* Every word of length up to 4 over jvp, vjp, vmap and checkpoint makes, of some programs with loops, branches, calls and updates, a
 * program that verifies, compiles, and gives the interpreter's bits. KILN_TEST_WORDS=N: words up to this length (default 3). */
#include "array/array.h"
#include "ir/prim.h"
#include "kiln/exec.h"
#include "kiln/transform.h"
#include "same.h"
#include "testing.h"

enum { MOST_OUT = 128, MOST_IN = 256, MOST_LENGTH = 4 };

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
static const char *const letters[] = {"jvp", "vjp", "vmap", "checkpoint"};

/* Every third operand is shared by the lanes. */
static kiln_status apply(kiln_ctx *ctx, const kiln_prog *p, unsigned letter, uint64_t where, kiln_prog **out)
{
    int axes[MOST_IN];
    uint32_t n = kiln_prog_n_inputs(p);
    assert_true(n <= MOST_IN);
    if (letter != 2) return kiln_prog_transform(ctx, p, letters[letter], NULL, 0, out);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t rank = kiln_prog_input_type(p, i).rank;
        axes[i] = (where + i) % 3 == 2 && n > 1 ? KILN_NO_AXIS : (int)((where + i) % (rank + 1));
    }
    return kiln_prog_vmap(ctx, p, 2, axes, NULL, out);
}

static kiln_array *numbers(kiln_ctx *ctx, kiln_type t, uint64_t *state)
{
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, t, &a));
    for (int64_t i = 0, n = kiln_type_size(t); i < n; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        kn_scalar v = {.f = (double)(*state >> 40) / (1 << 24) + 0.25};
        if (kiln_dtype_kind(t.dtype) != 'f') v = (kn_scalar){.i = (int64_t)(*state >> 62)};
        kn_scalar_store(t.dtype, a->data, i, v);
    }
    return a;
}

static bool same_bits(kiln_ctx *ctx, const kiln_prog *p, const char *word)
{
    kiln_array *in[MOST_IN], *want[MOST_OUT], *got[MOST_OUT];
    kiln_exec *f;
    bool good = true;
    uint32_t nin = kiln_prog_n_inputs(p), nout = kiln_prog_n_outputs(p);
    uint64_t state = 99;
    assert_true(nout <= MOST_OUT);
    for (uint32_t i = 0; i < nin; i++) in[i] = numbers(ctx, kiln_prog_input_type(p, i), &state);
    assert_ok(ctx, kn_verify(ctx, p));
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, want));
    assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
    assert_ok(ctx, kiln_exec_call(ctx, f, in, got));
    for (uint32_t k = 0; k < nout; k++) {
        int64_t at = 0;
        if (good && !same_array(got[k], want[k], &at)) {
            print_error("%s: result %u, element %lld\n", word, k, (long long)at);
            good = false;
        }
        kiln_array_release(got[k]);
        kiln_array_release(want[k]);
    }
    for (uint32_t i = 0; i < nin; i++) kiln_array_release(in[i]);
    kiln_exec_release(f);
    return good;
}

/* All words that begin (from inside) with what made p. */
static unsigned words(kiln_ctx *ctx, kiln_prog *p, const char *word, unsigned length, unsigned most)
{
    unsigned bad = 0;
    if (length) bad += !same_bits(ctx, p, word);
    for (unsigned letter = 0; letter < 4 && length < most && bad < 5; letter++) {
        char longer[200];
        kiln_prog *q;
        snprintf(longer, sizeof longer, "%s%s%s%s", letters[letter], length ? "(" : "", word, length ? ")" : "");
        kiln_status status = apply(ctx, p, letter, length + letter, &q);
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
    assert_true(most <= MOST_LENGTH);
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
