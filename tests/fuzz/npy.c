/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a .npy file in memory. */
#include "array/npy.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    kiln_ctx *ctx;
    kiln_array *a;
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK) return 0;
    kiln_status status = kn_npy_decode(ctx, "fuzz", data, n, &a);
    if ((status == KILN_OK) != (a != NULL)) abort();
    kiln_array_release(a);
    kiln_ctx_release(ctx);
    return 0;
}
