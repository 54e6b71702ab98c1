/* SPDX-License-Identifier: Apache-2.0 */
/* Functions by width: ours (maths.h), and SLEEF's. Only their addresses are taken, so the declarations here leave the vector types out. */
#include "rt/math_table.h"

#include "base/cpu.h"
#include "rt/maths.h"
#include "rt/remainder.h"
#include "rt/sleef_names.h"

#include <math.h>

/* Forms of one function, in the order of the table. */
enum { D1, D2, D4, D8, F1, F4, F8, F16, FORMS };

enum {
#define FIRST(f) FIRST_##f, LAST_##f = FIRST_##f + FORMS - 1,
#define FIRST_SLEEF(f, u) FIRST(f)
    KN_MATHS(FIRST) KN_SLEEF(FIRST_SLEEF) KN_SLEEF_BINARY(FIRST_SLEEF)
#undef FIRST
#undef FIRST_SLEEF
        FIRST_rem,
    N_ROUTINES = FIRST_rem + FORMS
};
_Static_assert((int)N_ROUTINES <= (int)KN_TABLE_MAX, "the table is too small");

/* Entries of a table, and declarations. */
#define OWN_32(f, n, isa) [FIRST_##f + F##n] = (kn_function)kn_maths_##f##_f32_x##n##_##isa,
#define OWN_64(f, n, isa) [FIRST_##f + D##n] = (kn_function)kn_maths_##f##_f64_x##n##_##isa,
#define VECTOR_32(f, n, isa) extern void kn_maths_##f##_f32_x##n##_##isa(void);
#define VECTOR_64(f, n, isa) extern void kn_maths_##f##_f64_x##n##_##isa(void);
#define SLEEF_32(name, n, kind, u, isa) [FIRST_##name + F##n] = Sleef_##kind##_##name##f##n##_##u##isa,
#define SLEEF_64(name, n, kind, u, isa) [FIRST_##name + D##n] = Sleef_##kind##_##name##d##n##_##u##isa,
#define DECLARE_32(name, n, kind, u, isa) extern void Sleef_##kind##_##name##f##n##_##u##isa(void);
#define DECLARE_64(name, n, kind, u, isa) extern void Sleef_##kind##_##name##d##n##_##u##isa(void);
#define FORM_f64(n) D##n
#define FORM_f32(n) F##n
#define DECLARE_REMAINDER(d, n, isa) extern void kn_rem_##d##_x##n##_##isa(void);
#define REMAINDER(d, n, isa) [FIRST_rem + FORM_##d(n)] = kn_rem_##d##_x##n##_##isa,
#define REMAINDERS_1 [FIRST_rem + D1] = (kn_function)fmod, [FIRST_rem + F1] = (kn_function)fmodf,

#if defined(__x86_64__)
#define OWN_V2_32(f) OWN_32(f, 1, v2) OWN_32(f, 4, v2)
#define OWN_V2_64(f) OWN_64(f, 1, v2) OWN_64(f, 2, v2)
#define OWN_V3_32(f) OWN_32(f, 1, v3) OWN_32(f, 4, v3) OWN_32(f, 8, v3)
#define OWN_V3_64(f) OWN_64(f, 1, v3) OWN_64(f, 2, v3) OWN_64(f, 4, v3)
#define OWN_V4_32(f) OWN_32(f, 16, v4)
#define OWN_V4_64(f) OWN_64(f, 8, v4)
#define V2_32(X, f, u) X(f, 1, cinz, u, purec) X(f, 4, cinz, u, sse4)
#define V2_64(X, f, u) X(f, 1, cinz, u, purec) X(f, 2, cinz, u, sse4)
#define V3_32(X, f, u) X(f, 1, finz, u, purecfma) X(f, 4, finz, u, avx2128) X(f, 8, finz, u, avx2)
#define V3_64(X, f, u) X(f, 1, finz, u, purecfma) X(f, 2, finz, u, avx2128) X(f, 4, finz, u, avx2)
#define V4_32(X, f, u) X(f, 16, finz, u, avx512f)
#define V4_64(X, f, u) X(f, 8, finz, u, avx512f)

#define DECLARE_OWN_32(f) VECTOR_32(f, 4, v2) VECTOR_32(f, 4, v3) VECTOR_32(f, 8, v3) VECTOR_32(f, 16, v4)
#define DECLARE_OWN_64(f) VECTOR_64(f, 2, v2) VECTOR_64(f, 2, v3) VECTOR_64(f, 4, v3) VECTOR_64(f, 8, v4)
#define DECLARE_SLEEF_32(f, u) V2_32(DECLARE_32, f, u) V3_32(DECLARE_32, f, u) V4_32(DECLARE_32, f, u)
#define DECLARE_SLEEF_64(f, u) V2_64(DECLARE_64, f, u) V3_64(DECLARE_64, f, u) V4_64(DECLARE_64, f, u)
#define SLEEF_V2_32(f, u) V2_32(SLEEF_32, f, u)
#define SLEEF_V2_64(f, u) V2_64(SLEEF_64, f, u)
#define SLEEF_V3_32(f, u) V3_32(SLEEF_32, f, u)
#define SLEEF_V3_64(f, u) V3_64(SLEEF_64, f, u)
#define SLEEF_V4_32(f, u) V4_32(SLEEF_32, f, u)
#define SLEEF_V4_64(f, u) V4_64(SLEEF_64, f, u)
#define REMAINDERS_V2 REMAINDERS_1
#define REMAINDERS_V3 REMAINDERS_1 KN_REMAINDERS_V3(REMAINDER)
#define REMAINDERS_V4 KN_REMAINDERS_V4(REMAINDER)
KN_REMAINDERS_V3(DECLARE_REMAINDER)
KN_REMAINDERS_V4(DECLARE_REMAINDER)
#else
#define OWN_NEON_32(f) OWN_32(f, 1, neon) OWN_32(f, 4, neon)
#define OWN_NEON_64(f) OWN_64(f, 1, neon) OWN_64(f, 2, neon)
#define NEON_32(X, f, u) X(f, 1, finz, u, purecfma) X(f, 4, finz, u, advsimd)
#define NEON_64(X, f, u) X(f, 1, finz, u, purecfma) X(f, 2, finz, u, advsimd)
#define DECLARE_OWN_32(f) VECTOR_32(f, 4, neon)
#define DECLARE_OWN_64(f) VECTOR_64(f, 2, neon)
#define DECLARE_SLEEF_32(f, u) NEON_32(DECLARE_32, f, u)
#define DECLARE_SLEEF_64(f, u) NEON_64(DECLARE_64, f, u)
#define SLEEF_NEON_32(f, u) NEON_32(SLEEF_32, f, u)
#define SLEEF_NEON_64(f, u) NEON_64(SLEEF_64, f, u)
#define REMAINDERS_NEON REMAINDERS_1 KN_REMAINDERS_NEON(REMAINDER)
KN_REMAINDERS_NEON(DECLARE_REMAINDER)
#endif

KN_MATHS(DECLARE_OWN_32)
KN_MATHS(DECLARE_OWN_64)
KN_SLEEF(DECLARE_SLEEF_32)
KN_SLEEF(DECLARE_SLEEF_64)
KN_SLEEF_BINARY(DECLARE_SLEEF_32)
KN_SLEEF_BINARY(DECLARE_SLEEF_64)

#define ALL(isa)                                                                                                      \
    KN_MATHS(OWN_##isa##_32) KN_MATHS(OWN_##isa##_64) KN_SLEEF(SLEEF_##isa##_32) KN_SLEEF(SLEEF_##isa##_64)             \
        KN_SLEEF_BINARY(SLEEF_##isa##_32) KN_SLEEF_BINARY(SLEEF_##isa##_64) REMAINDERS_##isa
#if defined(__x86_64__)
static const struct kiln_table v2 = {.fn = {ALL(V2)}};
static const struct kiln_table v3 = {.fn = {ALL(V3)}};
static const struct kiln_table v4 = {.fn = {ALL(V3) ALL(V4)}};
static const struct kiln_table *const tables[KN_N_TARGETS] = {[KN_X86_64_V2] = &v2, [KN_X86_64_V3] = &v3, [KN_X86_64_V4] = &v4};
#else
static const struct kiln_table aarch64 = {.fn = {ALL(NEON)}};
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
#define CASE(f)                                                                                                       \
    case KN_S_##f: return FIRST_##f;
#define CASE_SLEEF(f, u) CASE(f)
        KN_MATHS(CASE) KN_SLEEF(CASE_SLEEF) KN_SLEEF_BINARY(CASE_SLEEF)
#undef CASE
#undef CASE_SLEEF
    case KN_S_rem: return FIRST_rem;
    default: return -1;
    }
}

int kn_table_index(kn_sop op, kiln_dtype d, int lanes)
{
    if (d != KILN_F64 && d != KILN_F32) return -1;
    bool wide = d == KILN_F64;
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
    if (!t || (op == KN_S_rem && t == &kn_targets[KN_X86_64_V2])) return one;
    unsigned most = t->vector_bits / (d == KILN_F64 ? 64 : 32);
    const unsigned *from = d == KILN_F64 ? lanes : f32;
    while (*from > most) from++;
    return from;
}
