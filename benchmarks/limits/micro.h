/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of programs/, written by hand. Every function takes the inputs of its program and then its outputs, in order. */
#ifndef BENCH_LIMITS_MICRO_H
#define BENCH_LIMITS_MICRO_H

void limit_while_max_i32(void *const *b);
void limit_while_max_f32(void *const *b);
void limit_fori_at_set(void *const *b);
void limit_scan_matmul3(void *const *b);
void limit_scatter_add(void *const *b);
void limit_segment_sum(void *const *b);
void limit_sin_exp_1e6(void *const *b);
void limit_softmax(void *const *b);
void limit_layernorm(void *const *b);
void limit_matmul_8(void *const *b);
void limit_matmul_32(void *const *b);
void limit_matmul_64(void *const *b);
void limit_matmul_512(void *const *b);
void limit_sum(void *const *b);
void limit_heat_rod(void *const *b);

#endif
