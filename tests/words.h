/* SPDX-License-Identifier: Apache-2.0 */
/* Words over jvp, vjp, vmap and checkpoint, letter by letter from the inside, and that what they make compiles to the same bits. */
#ifndef KN_TESTS_WORDS_H
#define KN_TESTS_WORDS_H

#include "eval/eval.h"
#include "ir/prim.h"
#include "kiln/exec.h"
#include "kiln/transform.h"
#include "same.h"
#include "testing.h"

enum { WORD_OUT = 256, WORD_IN = 512, WORD_LENGTH = 4, WORD_LETTERS = 4 };

static const char *const word_letters[] = {"jvp", "vjp", "vmap", "checkpoint"};

/* Every third operand is shared by the lanes. */
static kiln_status word_apply(kiln_ctx *ctx, const kiln_prog *p, unsigned letter, uint64_t where, kiln_prog **out)
{
    int axes[WORD_IN];
    uint32_t n = kiln_prog_n_inputs(p);
    assert_true(n <= WORD_IN);
    if (letter != 2) return kiln_prog_transform(ctx, p, word_letters[letter], NULL, 0, out);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t rank = kiln_prog_input_type(p, i).rank;
        axes[i] = (where + i) % 3 == 2 && n > 1 ? KILN_NO_AXIS : (int)((where + i) % (rank + 1));
    }
    return kiln_prog_vmap(ctx, p, 2, axes, NULL, out);
}

static kiln_array *word_numbers(kiln_ctx *ctx, kiln_type t, uint64_t *state)
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

/* Verifies, and gives the interpreter's bits when compiled; else a complaint in `why`. */
static bool word_bits(kiln_ctx *ctx, const kiln_prog *p, uint64_t seed, const bool *stop, char *why, size_t room)
{
    kiln_array *in[WORD_IN], *want[WORD_OUT] = {NULL}, *got[WORD_OUT] = {NULL};
    kiln_exec *f = NULL;
    bool good = true;
    uint32_t nin = kiln_prog_n_inputs(p), nout = kiln_prog_n_outputs(p);
    assert_true(nout <= WORD_OUT && nin <= WORD_IN);
    for (uint32_t i = 0; i < nin; i++) in[i] = word_numbers(ctx, kiln_prog_input_type(p, i), &seed);
    kiln_status s = kn_verify(ctx, p);
    if (s == KILN_OK) s = kn_prog_eval(ctx, p, in, want, stop);
    bool ran = s == KILN_OK;
    if (s == KILN_OK) s = kiln_compile(ctx, p, NULL, &f);
    if (s == KILN_OK) s = kiln_exec_call(ctx, f, in, got);
    if (s != KILN_OK && s != KILN_CANCELLED) snprintf(why, room, "%s", kiln_ctx_error(ctx)->message), good = false;
    for (uint32_t k = 0; k < nout; k++) {
        int64_t at = 0;
        if (good && ran && !same_array(got[k], want[k], &at)) {
            snprintf(why, room, "result %u, element %lld: compiled and interpreted differ", k, (long long)at);
            good = false;
        }
        kiln_array_release(got[k]);
        kiln_array_release(want[k]);
    }
    for (uint32_t i = 0; i < nin; i++) kiln_array_release(in[i]);
    kiln_exec_release(f);
    return good;
}

#endif
