/* SPDX-License-Identifier: Apache-2.0 */
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double kn_percentile(const double *sorted, size_t n, double q)
{
    if (n == 0) return 0;
    double at = q * (double)(n - 1);
    size_t below = (size_t)at;
    if (below + 1 >= n) return sorted[n - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

kn_statistics kn_statistics_of(double *v, size_t n)
{
    kn_statistics s = {.n = n};
    double squares = 0;
    if (n == 0) return s;
    qsort(v, n, sizeof *v, by_size);
    for (size_t i = 0; i < n; i++) s.total += v[i];
    s.mean = s.total / (double)n;
    for (size_t i = 0; i < n; i++) squares += (v[i] - s.mean) * (v[i] - s.mean);
    s.std = sqrt(squares / (double)n);
    s.variance = n > 1 ? squares / (double)(n - 1) : 0;
    s.least = v[0], s.most = v[n - 1];
    s.median = kn_percentile(v, n, 0.5);
    s.p95 = kn_percentile(v, n, 0.95);
    return s;
}

double kn_difference_error(const kn_statistics *a, const kn_statistics *b)
{
    return sqrt((a->n ? a->variance / (double)a->n : 0) + (b->n ? b->variance / (double)b->n : 0));
}
