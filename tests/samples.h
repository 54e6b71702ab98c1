/* SPDX-License-Identifier: Apache-2.0 */
/* One sample of a primitive: its program and inputs. */
#ifndef KN_TESTS_SAMPLES_H
#define KN_TESTS_SAMPLES_H

#include "kiln/exec.h"
#include "prim/sample.h"
#include "testing.h"

#include <stdio.h>

enum { SAMPLE_OUT = 64 };

typedef struct sample {
    const kn_prim *prim;
    uint64_t seed;
    int64_t length;
    kiln_prog *p;
    kiln_array *in[KN_SAMPLE_INPUTS];
    uint32_t nin, nout;
} sample;

/* false: the primitive has no sample rule. */
static void sample_free(sample *s)
{
    for (uint32_t i = 0; i < s->nin; i++) kiln_array_release(s->in[i]);
    kiln_prog_release(s->p);
}

static bool sample_make(kiln_ctx *ctx, const kn_prim *prim, uint64_t seed, int64_t length, sample *s)
{
    *s = (sample){.prim = prim, .seed = seed, .length = length};
    kiln_status status = kn_sample_program(ctx, prim, &(kn_sample_opts){.seed = seed, .length = length}, &s->p, s->in, &s->nin);
    if (status == KILN_UNSUPPORTED || status == KILN_DTYPE) return false;
    assert_ok(ctx, status);
    s->nout = kiln_prog_n_outputs(s->p);
    assert_true(s->nout <= SAMPLE_OUT);
    return true;
}

static void sample_report(kiln_ctx *ctx, const sample *s, const char *what)
{
    char *text;
    size_t n;
    print_error("%s, seed %llu, length %lld: %s\n", s->prim->name, (unsigned long long)s->seed, (long long)s->length, what);
    if (kiln_prog_print(ctx, s->p, 100, &text, &n) != KILN_OK) return;
    print_error("%s", text);
    kiln_text_free(ctx, text, n);
}

#endif
