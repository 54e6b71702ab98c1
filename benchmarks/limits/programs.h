/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of the shared cases, written by hand, by the case's name. Every function takes the inputs of its program and then its
 * outputs, in order. */
#ifndef BENCH_LIMITS_PROGRAMS_H
#define BENCH_LIMITS_PROGRAMS_H

void limit_fori_at_set_40000(void *const *b);
void limit_segment_sum_of(void *const *b); /* rows first, then where they go */
void limit_grad_scan_at_set_500(void *const *b);
void limit_grad_scan_at_set_1000(void *const *b);
void limit_leapfrog_3body(void *const *b);
void limit_lbm(void *const *b);

#endif
