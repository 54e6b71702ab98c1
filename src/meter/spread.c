/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about samples. */
#include "meter/samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts. */
static double median_of(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_size);
    return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

kn_spread kn_spread_of(const double *v, size_t n)
{
    kn_spread s = {.n = n};
    double *w = n ? malloc(n * sizeof *w) : NULL, squares = 0;
    if (!w) return (kn_spread){.median = NAN, .mad = NAN, .min = NAN, .mean = NAN, .sd = NAN};
    memcpy(w, v, n * sizeof *w);
    s.median = median_of(w, n);
    s.min = w[0];
    for (size_t i = 0; i < n; i++) s.mean += v[i] / (double)n;
    for (size_t i = 0; i < n; i++) squares += (v[i] - s.mean) * (v[i] - s.mean);
    s.sd = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
    for (size_t i = 0; i < n; i++) w[i] = fabs(v[i] - s.median);
    s.mad = median_of(w, n);
    free(w);
    return s;
}

const char *kn_seconds_text(double s, char out[32])
{
    static const struct {
        double one;
        const char *unit;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    size_t i = 0;
    while (i < 3 && fabs(s) < units[i].one) i++;
    double v = s / units[i].one;
    snprintf(out, 32, "%.*f %s", fabs(v) >= 100 ? 0 : fabs(v) >= 10 ? 1 : 2, v, units[i].unit);
    return out;
}
