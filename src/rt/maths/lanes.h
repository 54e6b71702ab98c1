/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of this folder as C on LANES elements of REAL_BITS bits, functions kn_maths_NAME_FORM; ISA says what the processor has: 2
 * (SSE4.2), 3 (AVX2, FMA), 4 (AVX-512) or 8 (NEON). Included once a form, which undefines what it defines but for the names.
 *
 *   F, I, M              floats, integers of their width, truths
 *   K, KI                constants
 *   ADD SUB MUL DIV FMA  of floats; FMA rounds once where the processor has it, else the product first
 *   LEAST, MOST          a < b ? a : b, a > b ? a : b: the machine's, b where either is NaN
 *   BITS, REAL           the same bits as integers, as floats
 *   IADD ISUB IAND IOR IXOR SHL SHRL   of integers, wrapping; shifts by a constant
 *   LT LE EQ, SELECT     false for NaN; M ? a : b
 *   SCALE                scale.h, or an instruction with its result */
#ifndef KN_PASTE
#define KN_PASTE_(a, b) a##b
#define KN_PASTE(a, b) KN_PASTE_(a, b)
#endif
#define OF_FORM(name) KN_PASTE(name, FORM)
#define F OF_FORM(kn_maths_real_)
#define I OF_FORM(kn_maths_int_)
#define M OF_FORM(kn_maths_truth_)

#if REAL_BITS == 32
#define SCALAR float
#define INTEGER uint32_t
#define TRUTH int32_t
#define SUFFIX ps
#else
#define SCALAR double
#define INTEGER uint64_t
#define TRUTH int64_t
#define SUFFIX pd
#endif

#if ISA == 2
#define HAVE __attribute__((target("sse4.2")))
#elif ISA == 3
#define HAVE __attribute__((target("avx2,fma")))
#elif ISA == 4
#define HAVE __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#else
#define HAVE
#endif

#define K(v) OF_FORM(kn_maths_all_)((SCALAR)(v))
#define KI(v) OF_FORM(kn_maths_int_all_)((INTEGER)(v))
#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define DIV(a, b) ((a) / (b))
#define IADD(a, b) ((a) + (b))
#define ISUB(a, b) ((a) - (b))
#define IAND(a, b) ((a) & (b))
#define IOR(a, b) ((a) | (b))
#define IXOR(a, b) ((a) ^ (b))
#define SHL(a, n) ((a) << (n))
#define SHRL(a, n) ((a) >> (n))
#define INLINE static inline __attribute__((always_inline, unused)) HAVE

#if LANES == 1
typedef SCALAR F;
typedef INTEGER I;
typedef int M;
INLINE F OF_FORM(kn_maths_all_)(SCALAR v) { return v; }
INLINE I OF_FORM(kn_maths_int_all_)(INTEGER v) { return v; }
INLINE I OF_FORM(kn_maths_bits_)(F a)
{
    I i;
    __builtin_memcpy(&i, &a, sizeof i);
    return i;
}
INLINE F OF_FORM(kn_maths_from_bits_)(I i)
{
    F a;
    __builtin_memcpy(&a, &i, sizeof a);
    return a;
}
#define BITS(a) OF_FORM(kn_maths_bits_)(a)
#define REAL(a) OF_FORM(kn_maths_from_bits_)(a)
#else
typedef SCALAR F __attribute__((vector_size(LANES * REAL_BITS / 8)));
typedef INTEGER I __attribute__((vector_size(LANES * REAL_BITS / 8)));
#if LANES * REAL_BITS < 512
typedef TRUTH M __attribute__((vector_size(LANES * REAL_BITS / 8)));
#else
typedef uint16_t M;
#endif
INLINE F OF_FORM(kn_maths_all_)(SCALAR v) { return v - (F){0}; }
INLINE I OF_FORM(kn_maths_int_all_)(INTEGER v) { return v - (I){0}; }
#define BITS(a) ((I)(a))
#define REAL(a) ((F)(a))
#endif

#if LANES == 1
#define LT(a, b) ((a) < (b))
#define LE(a, b) ((a) <= (b))
#define EQ(a, b) ((a) == (b))
#define SELECT(m, a, b) ((m) ? (a) : (b))
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define MOST(a, b) ((a) > (b) ? (a) : (b))
#if ISA == 2
#define FMA(a, b, c) ((a) * (b) + (c))
#elif REAL_BITS == 32
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#else
#define FMA(a, b, c) __builtin_fma(a, b, c)
#endif

#elif ISA == 8
#define LT(a, b) ((M)((a) < (b)))
#define LE(a, b) ((M)((a) <= (b)))
#define EQ(a, b) ((M)((a) == (b)))
#define SELECT(m, a, b) ((F)(((m) & (M)(a)) | (~(m) & (M)(b))))
#define LEAST(a, b) SELECT(LT(a, b), a, b)
#define MOST(a, b) SELECT(LT(b, a), a, b)
#if REAL_BITS == 32
#define FMA(a, b, c) vfmaq_f32(c, a, b)
#else
#define FMA(a, b, c) vfmaq_f64(c, a, b)
#endif

#else
#if LANES * REAL_BITS == 128
#define PREFIX _mm_
#elif LANES * REAL_BITS == 256
#define PREFIX _mm256_
#else
#define PREFIX _mm512_
#endif
#define MACHINE(name) KN_PASTE(KN_PASTE(PREFIX, name), SUFFIX)
#define LEAST(a, b) MACHINE(min_)(a, b)
#define MOST(a, b) MACHINE(max_)(a, b)
#if ISA == 2
#define FMA(a, b, c) ((a) * (b) + (c))
#else
#define FMA(a, b, c) MACHINE(fmadd_)(a, b, c)
#endif
#if LANES * REAL_BITS == 512
#define LT(a, b) KN_PASTE(MACHINE(cmp_), _mask)(a, b, _CMP_LT_OQ)
#define LE(a, b) KN_PASTE(MACHINE(cmp_), _mask)(a, b, _CMP_LE_OQ)
#define EQ(a, b) KN_PASTE(MACHINE(cmp_), _mask)(a, b, _CMP_EQ_OQ)
#define SELECT(m, a, b) MACHINE(mask_blend_)(m, b, a)
#define SCALE(p, t) MACHINE(scalef_)(p, SUB(t, K(ROUNDER)))
#else
#define LT(a, b) ((M)((a) < (b)))
#define LE(a, b) ((M)((a) <= (b)))
#define EQ(a, b) ((M)((a) == (b)))
#define SELECT(m, a, b) MACHINE(blendv_)(b, a, (F)(m))
#endif
#endif
#ifndef SCALE
#define SCALE(p, t) OF_FORM(kn_maths_scale_)(p, t)
#endif

#ifndef MATHS_INLINE
#define MATHS_1(name, x)                                                                                               \
    HAVE F OF_FORM(kn_maths_##name##_)(F x);                                                                            \
    HAVE F OF_FORM(kn_maths_##name##_)(F x)
#else
#define MATHS_1(name, x) INLINE F OF_FORM(kn_maths_##name##_)(F x)
#endif
#define MATHS_PART_2(name, a, b) INLINE F OF_FORM(kn_maths_##name##_)(F a, F b)

#if REAL_BITS == 32
#include "rt/maths/f32.h"
#else
#include "rt/maths/f64.h"
#endif

#undef OF_FORM
#undef F
#undef I
#undef M
#undef SCALAR
#undef INTEGER
#undef TRUTH
#undef SUFFIX
#undef HAVE
#undef K
#undef KI
#undef ADD
#undef SUB
#undef MUL
#undef DIV
#undef IADD
#undef ISUB
#undef IAND
#undef IOR
#undef IXOR
#undef SHL
#undef SHRL
#undef INLINE
#undef BITS
#undef REAL
#undef LT
#undef LE
#undef EQ
#undef SELECT
#undef LEAST
#undef MOST
#undef FMA
#undef PREFIX
#undef MACHINE
#undef SCALE
#undef MATHS_1
#undef MATHS_PART_2
#undef FORM
#undef LANES
#undef REAL_BITS
#undef ISA
