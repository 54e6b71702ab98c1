/* SPDX-License-Identifier: Apache-2.0 */
/* The mathematical functions that are ours: each a program in maths/, from which the interpreter's C, the table's vectors (maths.c) and what
 * loops have in their place (llvm/maths.c) are made. */
#ifndef KN_RT_MATHS_H
#define KN_RT_MATHS_H

#define KN_MATHS_UNARY(X) X(exp)

/* On one element, by processor: kn_maths_exp_f32_x1_v3(x). */
#define KN_MATHS_DECLARE(f, isa)                                                                                      \
    float kn_maths_##f##_f32_x1_##isa(float);                                                                          \
    double kn_maths_##f##_f64_x1_##isa(double);
#if defined(__x86_64__)
#define KN_MATHS_EACH(f) KN_MATHS_DECLARE(f, v2) KN_MATHS_DECLARE(f, v3)
#else
#define KN_MATHS_EACH(f) KN_MATHS_DECLARE(f, neon)
#endif
KN_MATHS_UNARY(KN_MATHS_EACH)

#endif
