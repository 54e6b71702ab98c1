/* SPDX-License-Identifier: Apache-2.0 */
/* The mathematical functions that are ours, of f32 and f64: each a program in maths/, from which the interpreter's C, the table's vectors (maths.c)
 * and what loops have in their place (llvm/maths.c) are made. The others are SLEEF's (sleef_names.h). */
#ifndef KN_RT_MATHS_H
#define KN_RT_MATHS_H

#define KN_MATHS(X) X(exp) X(exp2) X(expm1) X(log) X(sin) X(cos) X(tan) X(tanh) X(erf)
#define KN_MATHS_BINARY(X) X(pow)

/* On one element, by processor: kn_maths_exp_f32_x1_v3(x). */
#define KN_MATHS_DECLARE(f, isa)                                                                                      \
    float kn_maths_##f##_f32_x1_##isa(float);                                                                          \
    double kn_maths_##f##_f64_x1_##isa(double);
#define KN_MATHS_DECLARE_BINARY(f, isa)                                                                               \
    float kn_maths_##f##_f32_x1_##isa(float, float);                                                                   \
    double kn_maths_##f##_f64_x1_##isa(double, double);
#if defined(__x86_64__)
#define KN_MATHS_EACH(f) KN_MATHS_DECLARE(f, v2) KN_MATHS_DECLARE(f, v3)
#define KN_MATHS_EACH_BINARY(f) KN_MATHS_DECLARE_BINARY(f, v2) KN_MATHS_DECLARE_BINARY(f, v3)
#else
#define KN_MATHS_EACH(f) KN_MATHS_DECLARE(f, neon)
#define KN_MATHS_EACH_BINARY(f) KN_MATHS_DECLARE_BINARY(f, neon)
#endif
KN_MATHS(KN_MATHS_EACH)
KN_MATHS_BINARY(KN_MATHS_EACH_BINARY)

/* Operands beyond the range of the programs, the same on all processors (maths_far.c). */
float kn_maths_far_sin_f32(float x);
float kn_maths_far_cos_f32(float x);
float kn_maths_far_tan_f32(float x);
double kn_maths_far_sin_f64(double x);
double kn_maths_far_cos_f64(double x);
double kn_maths_far_tan_f64(double x);

#endif
