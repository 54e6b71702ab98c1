/* SPDX-License-Identifier: Apache-2.0 */
/* Functions by width: ours (maths.h), and SLEEF's. Only their addresses are taken, so the declarations here leave the vector types out. */
#include "rt/math_table.h"

#include "base/cpu.h"
#include "rt/maths.h"
#include "rt/sleef_names.h"

#include <math.h>

#define SLEEF(X) KN_SLEEF_UNARY(X) KN_SLEEF_BINARY(X)

/* Forms of one function, in the order of the table. */
enum { D1, D2, D4, D8, F1, F4, F8, F16, FORMS };

enum {
#define FIRST_OWN(f) FIRST_##f, LAST_##f = FIRST_##f + FORMS - 1,
#define FIRST(f, u) FIRST_OWN(f)
    KN_MATHS_UNARY(FIRST_OWN) SLEEF(FIRST)
#undef FIRST_OWN
#undef FIRST
        REM_D1,
    REM_F1,
    N_ROUTINES
};
_Static_assert((int)N_ROUTINES <= (int)KN_TABLE_MAX, "the table is too small");

#define REMAINDERS [REM_D1] = (kn_function)fmod, [REM_F1] = (kn_function)fmodf
#define OWN(f, form, at, isa) [FIRST_##f + at] = (kn_function)kn_maths_##f##_##form##_##isa
#define OWN_VECTOR(f, form, isa) extern void kn_maths_##f##_##form##_##isa(void)

#if defined(__x86_64__)
#define DECLARE(f, u)                                                                                                 \
    extern void Sleef_finz_##f##d1_##u##purecfma(void), Sleef_finz_##f##f1_##u##purecfma(void),                        \
        Sleef_finz_##f##d4_##u##avx2(void), Sleef_finz_##f##f8_##u##avx2(void), Sleef_finz_##f##d8_##u##avx512f(void), \
        Sleef_finz_##f##f16_##u##avx512f(void), Sleef_finz_##f##d2_##u##avx2128(void),                                 \
        Sleef_finz_##f##f4_##u##avx2128(void), Sleef_cinz_##f##d1_##u##purec(void), Sleef_cinz_##f##f1_##u##purec(void), \
        Sleef_cinz_##f##d2_##u##sse4(void), Sleef_cinz_##f##f4_##u##sse4(void);
#define DECLARE_OWN(f)                                                                                                \
    OWN_VECTOR(f, f64_x2, v2); OWN_VECTOR(f, f32_x4, v2); OWN_VECTOR(f, f64_x2, v3); OWN_VECTOR(f, f32_x4, v3);         \
    OWN_VECTOR(f, f64_x4, v3); OWN_VECTOR(f, f32_x8, v3); OWN_VECTOR(f, f64_x8, v4); OWN_VECTOR(f, f32_x16, v4);
SLEEF(DECLARE)
KN_MATHS_UNARY(DECLARE_OWN)

#define PLAIN(f, u)                                                                                                   \
    [FIRST_##f + D1] = Sleef_cinz_##f##d1_##u##purec, [FIRST_##f + F1] = Sleef_cinz_##f##f1_##u##purec,                \
    [FIRST_##f + D2] = Sleef_cinz_##f##d2_##u##sse4, [FIRST_##f + F4] = Sleef_cinz_##f##f4_##u##sse4,
#define COMMON(f, u)                                                                                                  \
    [FIRST_##f + D1] = Sleef_finz_##f##d1_##u##purecfma, [FIRST_##f + F1] = Sleef_finz_##f##f1_##u##purecfma,          \
    [FIRST_##f + D2] = Sleef_finz_##f##d2_##u##avx2128, [FIRST_##f + F4] = Sleef_finz_##f##f4_##u##avx2128,            \
    [FIRST_##f + D4] = Sleef_finz_##f##d4_##u##avx2, [FIRST_##f + F8] = Sleef_finz_##f##f8_##u##avx2,
#define WIDE(f, u)                                                                                                    \
    [FIRST_##f + D8] = Sleef_finz_##f##d8_##u##avx512f, [FIRST_##f + F16] = Sleef_finz_##f##f16_##u##avx512f,
#define OWN_PLAIN(f) OWN(f, f64_x1, D1, v2), OWN(f, f32_x1, F1, v2), OWN(f, f64_x2, D2, v2), OWN(f, f32_x4, F4, v2),
#define OWN_COMMON(f)                                                                                                 \
    OWN(f, f64_x1, D1, v3), OWN(f, f32_x1, F1, v3), OWN(f, f64_x2, D2, v3), OWN(f, f32_x4, F4, v3), OWN(f, f64_x4, D4, v3), \
        OWN(f, f32_x8, F8, v3),
#define OWN_WIDE(f) OWN(f, f64_x8, D8, v4), OWN(f, f32_x16, F16, v4),

static const struct kiln_table v2 = {.fn = {KN_MATHS_UNARY(OWN_PLAIN) SLEEF(PLAIN) REMAINDERS}};
static const struct kiln_table v3 = {.fn = {KN_MATHS_UNARY(OWN_COMMON) SLEEF(COMMON) REMAINDERS}};
static const struct kiln_table v4 = {
    .fn = {KN_MATHS_UNARY(OWN_COMMON) KN_MATHS_UNARY(OWN_WIDE) SLEEF(COMMON) SLEEF(WIDE) REMAINDERS}};
static const struct kiln_table *const tables[KN_N_TARGETS] = {[KN_X86_64_V2] = &v2, [KN_X86_64_V3] = &v3, [KN_X86_64_V4] = &v4};
#else
#define DECLARE(f, u)                                                                                                 \
    extern void Sleef_finz_##f##d1_##u##purecfma(void), Sleef_finz_##f##f1_##u##purecfma(void),                        \
        Sleef_finz_##f##d2_##u##advsimd(void), Sleef_finz_##f##f4_##u##advsimd(void);
#define DECLARE_OWN(f) OWN_VECTOR(f, f64_x2, neon); OWN_VECTOR(f, f32_x4, neon);
SLEEF(DECLARE)
KN_MATHS_UNARY(DECLARE_OWN)

#define COMMON(f, u)                                                                                                  \
    [FIRST_##f + D1] = Sleef_finz_##f##d1_##u##purecfma, [FIRST_##f + F1] = Sleef_finz_##f##f1_##u##purecfma,          \
    [FIRST_##f + D2] = Sleef_finz_##f##d2_##u##advsimd, [FIRST_##f + F4] = Sleef_finz_##f##f4_##u##advsimd,
#define OWN_COMMON(f) OWN(f, f64_x1, D1, neon), OWN(f, f32_x1, F1, neon), OWN(f, f64_x2, D2, neon), OWN(f, f32_x4, F4, neon),

static const struct kiln_table aarch64 = {.fn = {KN_MATHS_UNARY(OWN_COMMON) SLEEF(COMMON) REMAINDERS}};
static const struct kiln_table *const tables[KN_N_TARGETS] = {[KN_AARCH64] = &aarch64};
#endif

const struct kiln_table *kn_table_for(const char *target)
{
    const kn_target *t = kn_target_find(target);
    return t ? tables[t - kn_targets] : NULL;
}

static int first_of(kn_sop op)
{
    switch (op) {
#define CASE_OWN(f)                                                                                                    \
    case KN_S_##f: return FIRST_##f;
#define CASE(f, u) CASE_OWN(f)
        KN_MATHS_UNARY(CASE_OWN) SLEEF(CASE)
#undef CASE
#undef CASE_OWN
    default: return -1;
    }
}

int kn_table_index(kn_sop op, kiln_dtype d, int lanes)
{
    if (d != KILN_F64 && d != KILN_F32) return -1;
    bool wide = d == KILN_F64;
    if (op == KN_S_rem) return lanes == 1 ? wide ? REM_D1 : REM_F1 : -1;
    int first = first_of(op), form;
    switch (lanes) {
    case 1: form = wide ? D1 : F1; break;
    case 2: form = wide ? D2 : -1; break;
    case 4: form = wide ? D4 : F4; break;
    case 8: form = wide ? D8 : F8; break;
    case 16: form = wide ? -1 : F16; break;
    default: form = -1; break;
    }
    return first < 0 || form < 0 ? -1 : first + form;
}

const unsigned *kn_table_lanes(kn_sop op, kiln_dtype d, const char *target)
{
    static const unsigned one[] = {1, 0}, lanes[] = {16, 8, 4, 2, 1, 0}, f32[] = {16, 8, 4, 1, 0};
    const kn_target *t = kn_target_find(target);
    if (op == KN_S_rem || !t) return one;
    unsigned most = t->vector_bits / (d == KILN_F64 ? 64 : 32);
    const unsigned *from = d == KILN_F64 ? lanes : f32;
    while (*from > most) from++;
    return from;
}
