/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about samples. */
#ifndef KN_BASE_STATISTICS_H
#define KN_BASE_STATISTICS_H

#include <stddef.h>

typedef struct kn_statistics {
    size_t n;
    double mean, least, most, total;
    double std;      /* of the population: divided by n */
    double variance; /* of the sample: divided by n - 1; 0 for fewer than two */
    double median, p95;
} kn_statistics;

/* Sorts the samples. All zero when there are none. */
kn_statistics kn_statistics_of(double *v, size_t n);
/* At fraction q of sorted samples, linear between neighbours. */
double kn_percentile(const double *sorted, size_t n, double q);
/* Standard error of the difference of two means. */
double kn_difference_error(const kn_statistics *a, const kn_statistics *b);

#endif
