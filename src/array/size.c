/* SPDX-License-Identifier: Apache-2.0 */
#include "array/size.h"

#include <stdio.h>

bool kn_size_split(int64_t d, int64_t *a, int64_t *b)
{
    int64_t half = KILN_DIM_N / 2;
    *a = 0;
    *b = d;
    if (!kn_size_open(d)) return true;
    *a = d >= 0 ? d / KILN_DIM_N : -(-(d + 1) / KILN_DIM_N);
    *b = d - *a * KILN_DIM_N;
    if (*b > half) ++*a, *b -= KILN_DIM_N;
    if (*b < -half) --*a, *b += KILN_DIM_N;
    bool small_factor = *a <= KN_SIZE_MOST_FACTOR && *a >= -KN_SIZE_MOST_FACTOR;
    return small_factor && *b <= KN_SIZE_MOST_SUMMAND && *b >= -KN_SIZE_MOST_SUMMAND;
}

bool kn_size_small(int64_t d)
{
    int64_t a, b;
    return kn_size_split(d, &a, &b) && b >= INT32_MIN && a >= 0 && a * KN_SIZE_MOST + b <= INT32_MAX;
}

bool kn_type_open(kiln_type t)
{
    int64_t a, b;
    for (uint32_t i = 0; i < t.rank; i++)
        if (kn_size_open(t.dims[i]) && kn_size_split(t.dims[i], &a, &b)) return true;
    return false;
}

int64_t kn_size_at(int64_t d, int64_t at)
{
    int64_t a, b;
    return kn_size_split(d, &a, &b) ? a * at + b : d;
}

bool kn_size_at_most(int64_t x, int64_t y)
{
    int64_t a, b, c, d;
    if (!kn_size_open(x) && !kn_size_open(y)) return x <= y;
    if (x == y) return true;
    if (x == INT64_MIN || y == INT64_MAX) return true;
    return kn_size_split(x, &a, &b) && kn_size_split(y, &c, &d) && a <= c && b <= d;
}

bool kn_size_less(int64_t x, int64_t y)
{
    int64_t a, b, c, d;
    if (!kn_size_open(x) && !kn_size_open(y)) return x < y;
    if ((x == INT64_MIN) != (y == INT64_MIN)) return x == INT64_MIN;
    if ((x == INT64_MAX) != (y == INT64_MAX)) return y == INT64_MAX;
    return kn_size_split(x, &a, &b) && kn_size_split(y, &c, &d) && a <= c && b < d;
}

int kn_size_format(int64_t d, char *out, size_t out_bytes)
{
    int64_t a, b;
    char factor[24] = "", summand[24] = "";
    if (!kn_size_split(d, &a, &b) || a == 0) return snprintf(out, out_bytes, "%lld", (long long)d);
    if (a == -1) snprintf(factor, sizeof factor, "-");
    else if (a != 1) snprintf(factor, sizeof factor, "%lld*", (long long)a);
    if (b) snprintf(summand, sizeof summand, " %c %lld", b > 0 ? '+' : '-', (long long)(b > 0 ? b : -b));
    return snprintf(out, out_bytes, "%sn%s", factor, summand);
}

bool kn_type_fits(kiln_type have, kiln_type want, int64_t *n)
{
    if (have.dtype != want.dtype || have.rank != want.rank) return false;
    for (uint32_t i = 0; i < have.rank; i++) {
        int64_t a, b, x = have.dims[i];
        if (!kn_size_split(want.dims[i], &a, &b)) return false;
        if (a) {
            if (x < b || (x - b) % a) return false;
            if (*n >= 0 && *n != (x - b) / a) return false;
            *n = (x - b) / a;
        } else if (x != want.dims[i]) {
            return false;
        }
    }
    return true;
}
