/* SPDX-License-Identifier: Apache-2.0 */
/* The mathematical functions that are ours, by type: each a program in maths/, from which the interpreter's C, the table's vectors (maths.c)
 * and what loops have in their place (llvm/maths.c) are made. The others are SLEEF's (sleef_names.h). */
#ifndef KN_RT_MATHS_H
#define KN_RT_MATHS_H

#define KN_MATHS_F32(X) X(exp) X(sin) X(cos) X(tanh)
#define KN_MATHS_F64(X) X(exp)

/* On one element, by processor: kn_maths_exp_f32_x1_v3(x). */
#define KN_MATHS_DECLARE_F32(f, isa) float kn_maths_##f##_f32_x1_##isa(float);
#define KN_MATHS_DECLARE_F64(f, isa) double kn_maths_##f##_f64_x1_##isa(double);
#if defined(__x86_64__)
#define KN_MATHS_EACH_F32(f) KN_MATHS_DECLARE_F32(f, v2) KN_MATHS_DECLARE_F32(f, v3)
#define KN_MATHS_EACH_F64(f) KN_MATHS_DECLARE_F64(f, v2) KN_MATHS_DECLARE_F64(f, v3)
#else
#define KN_MATHS_EACH_F32(f) KN_MATHS_DECLARE_F32(f, neon)
#define KN_MATHS_EACH_F64(f) KN_MATHS_DECLARE_F64(f, neon)
#endif
KN_MATHS_F32(KN_MATHS_EACH_F32)
KN_MATHS_F64(KN_MATHS_EACH_F64)

/* Operands beyond the range of the programs, the same on all processors (maths_far.c). */
float kn_maths_far_sin(float x);
float kn_maths_far_cos(float x);

#endif
