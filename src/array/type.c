/* SPDX-License-Identifier: Apache-2.0 */
#include "array/size.h"

#include <stdio.h>

bool kiln_type_equal(kiln_type a, kiln_type b)
{
    if (a.dtype != b.dtype || a.rank != b.rank) return false;
    for (uint32_t i = 0; i < a.rank; i++)
        if (a.dims[i] != b.dims[i]) return false;
    return true;
}

int64_t kiln_type_size(kiln_type t)
{
    int64_t n = 1;
    bool zero = false;
    for (uint32_t i = 0; i < t.rank; i++) {
        if (t.dims[i] < 0) return -1;
        if (t.dims[i] == 0) zero = true;
        else if (__builtin_mul_overflow(n, t.dims[i], &n)) return -1;
    }
    return zero ? 0 : n;
}

size_t kiln_type_format(kiln_type t, char *out, size_t out_bytes)
{
    size_t n = 0;
    char piece[KN_SIZE_TEXT + 2];
    if (t.dtype == KILN_TOKEN && t.rank == 0) return (size_t)snprintf(out, out_bytes, "%s", kiln_dtype_name(t.dtype)); /* as JAX prints it */
    for (uint32_t i = 0; i < t.rank + 2; i++) {
        bool later = i > 1 && i <= t.rank;
        piece[0] = ',';
        int k = i == 0             ? snprintf(piece, sizeof piece, "%s[", kiln_dtype_name(t.dtype))
                : i == t.rank + 1 ? snprintf(piece, sizeof piece, "]")
                                  : later + kn_size_format(t.dims[i - 1], piece + later, sizeof piece - later);
        for (int c = 0; c < k; c++, n++)
            if (n + 1 < out_bytes) out[n] = piece[c];
    }
    if (out_bytes) out[n < out_bytes ? n : out_bytes - 1] = 0;
    return n;
}

kn_type_text kn_type_show(kiln_type t)
{
    kn_type_text s;
    kiln_type_format(t, s.s, sizeof s.s);
    return s;
}

kiln_status kn_type_copy(kiln_ctx *ctx, kn_arena *arena, kiln_type t, kiln_type *out)
{
    *out = t;
    out->dims = NULL;
    if (t.rank) KILN_TRY_MEM(ctx, out->dims = kn_arena_copy(arena, t.dims, t.rank * sizeof *t.dims));
    return KILN_OK;
}
