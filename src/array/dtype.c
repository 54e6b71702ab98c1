/* SPDX-License-Identifier: Apache-2.0 */
#include "array/array.h"

static const struct {
    const char *name, *numpy;
    unsigned bits;
    char kind;
} table[KILN_N_DTYPES] = {
#define ROW(id, text, np, bits, kind) [KILN_##id] = {text, np, bits, kind},
    KILN_DTYPE_LIST(ROW)
#undef ROW
};

const char *kiln_dtype_name(kiln_dtype d) { return (unsigned)d < KILN_N_DTYPES ? table[d].name : "?"; }
const char *kiln_dtype_numpy(kiln_dtype d) { return (unsigned)d < KILN_N_DTYPES ? table[d].numpy : "?"; }
size_t kiln_dtype_bytes(kiln_dtype d) { return (unsigned)d < KILN_N_DTYPES ? table[d].bits / 8 : 0; }
char kiln_dtype_kind(kiln_dtype d) { return (unsigned)d < KILN_N_DTYPES ? table[d].kind : '?'; }

bool kiln_dtype_from_name(const char *name, size_t n, kiln_dtype *out)
{
    for (int d = 0; d < KILN_N_DTYPES; d++)
        for (int which = 0; which < 2; which++) {
            const char *s = which ? table[d].numpy : table[d].name;
            if (strlen(s) == n && memcmp(s, name, n) == 0) {
                *out = (kiln_dtype)d;
                return true;
            }
        }
    return false;
}

unsigned kn_dtype_width(kiln_dtype d)
{
    switch (d) {
    case KILN_BOOL: return 1;
    case KILN_I2:
    case KILN_U2: return 2;
    case KILN_I4:
    case KILN_U4:
    case KILN_F4E2M1FN: return 4;
    case KILN_F6E2M3FN:
    case KILN_F6E3M2FN: return 6;
    default: return (unsigned)kiln_dtype_bytes(d) * 8;
    }
}
