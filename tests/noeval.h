/* SPDX-License-Identifier: Apache-2.0 */
/* What the two programs of the comparison without an interpreter share: which samples, and the file of results between them. */
#ifndef KN_TESTS_NOEVAL_H
#define KN_TESTS_NOEVAL_H

#include "samples.h"

#define NOEVAL_FILE KILN_BUILD_DIR "/tests/noeval.results"

static void noeval_each(kiln_ctx *ctx, void (*visit)(kiln_ctx *ctx, FILE *f, sample *s), FILE *f)
{
    static const int64_t lengths[] = {0, 1, 3, 8, 17, 65};
    uint32_t n;
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
            for (uint64_t seed = 0; seed < 2; seed++) {
                sample s;
                if (!sample_make(ctx, prims[i], 1000 + seed * 31 + k, lengths[k], &s)) continue;
                visit(ctx, f, &s);
                sample_free(&s);
            }
}

#endif
