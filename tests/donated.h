/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of compiled code that may overwrite some of its inputs. */
#ifndef KN_TESTS_DONATED_H
#define KN_TESTS_DONATED_H

#include "array/array.h"

#include "kiln/exec.h"
#include "testing.h"

enum { DONATED_INPUTS = 64 };

/* Bit i mod 8 of the mask: input i is donated. */
static bool may_give(uint32_t mask, uint32_t input) { return mask >> input % 8 & 1; }

/* Calls with copies of the inputs; outputs take the memory of donated ones. `kept`: no input that is not donated changed. */
static kiln_status call_donated(kiln_ctx *ctx, const kiln_prog *p, const kiln_exec *f, uint32_t mask, kiln_array *const *in,
                                kiln_array **got, bool *kept)
{
    uint32_t nin = kiln_prog_n_inputs(p), nout = kiln_prog_n_outputs(p);
    kiln_array *copy[DONATED_INPUTS];
    bool taken[DONATED_INPUTS] = {false};
    assert_true(nin <= DONATED_INPUTS);
    for (uint32_t i = 0; i < nin; i++) {
        assert_ok(ctx, kiln_array_create(ctx, in[i]->type, &copy[i]));
        if (in[i]->bytes) memcpy(copy[i]->data, in[i]->data, in[i]->bytes);
    }
    for (uint32_t i = 0; i < nout; i++) {
        kiln_type t = kiln_prog_output_type(p, i);
        for (uint32_t k = 0; k < nin && !got[i]; k++) {
            if (!may_give(mask, k) || taken[k] || in[k]->bytes == 0 || !kiln_type_equal(in[k]->type, t)) continue;
            got[i] = kiln_array_retain(copy[k]);
            taken[k] = true;
        }
        if (!got[i]) assert_ok(ctx, kiln_array_create(ctx, t, &got[i]));
    }
    kiln_status s = kiln_exec_call_into(ctx, f, copy, got);
    *kept = true;
    for (uint32_t i = 0; i < nin; i++) {
        *kept = *kept && (may_give(mask, i) || in[i]->bytes == 0 || memcmp(copy[i]->data, in[i]->data, in[i]->bytes) == 0);
        kiln_array_release(copy[i]);
    }
    return s;
}

#endif
