/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrite rules of the pass simplify. A rule is a row: its text, where it applies, and a function that tries it on one equation
 * whose operands are simplified already. Every rule keeps every bit for every input: what would need a promise about NaN, zeros
 * or rounding has no place here.
 *
 * A rule looks back through the equations that made the operands. It answers in one of three ways: it does not apply; every result
 * is forwarded to an atom that existed before; or the equation was changed in place, and rules are tried on it again. */
#ifndef KN_OPT_RULES_H
#define KN_OPT_RULES_H

#include "opt/rewrite.h"
#include "rt/scalar.h"

#include "prims.gen.h"

typedef enum kn_fix { KN_NO, KN_FORWARDED, KN_CHANGED } kn_fix;

typedef struct kn_simp {
    kn_pm *pm;
    kn_rw rw;
    kiln_status status; /* of a rule that ran out of memory */
    uint32_t depth;     /* equations being emitted by rules */
    bool changed;
} kn_simp;

/* Operands of a row of arithmetic. */
typedef enum kn_pat {
    KN_ANY,
    KN_X,         /* an operand of the result's type; where both are X they are the same */
    KN_ZERO,      /* integer 0, false */
    KN_PLUS_ZERO, /* +0.0 */
    KN_MINUS_ZERO,
    KN_ONE,
    KN_MINUS_ONE,
    KN_ALL_ONES, /* true, or all bits */
    KN_TRUE,     /* as a result: of bool */
    KN_FALSE
} kn_pat;

struct kn_rule {
    const char *text;
    int sop;             /* of an elementwise primitive, or 0 */
    const kn_prim *prim; /* or NULL; neither: every elementwise primitive */
    kn_fix (*try)(kn_simp *s, kn_eqn *e, const kn_rule *row);
    const char *kinds; /* of the first operand's elements; NULL: any */
    kn_pat l, r, result; /* arithmetic: the operands asked for (either way round where the primitive commutes) */
    bool moves; /* a result is an operand as it stands, which arithmetic on subnormal numbers would have made a zero: not where these are */
    int inner; /* functions of functions: the scalar operation inside */
};

extern const kn_rule kn_arithmetic_rules[], kn_nested_rules[], kn_element_rules[], kn_move_rules[], kn_control_rules[];

/* ---- questions ---- */

static inline const kn_eqn *kn_def(const kn_simp *s, kn_atom a) { return kn_rw_def(&s->rw, a); }
static inline kiln_type kn_atype(const kn_simp *s, kn_atom a) { return kn_build_type(&s->rw.b, a); }
static inline kiln_type kn_etype(const kn_simp *s, const kn_eqn *e) { return kn_atype(s, e->out[0]); }
const kn_eqn *kn_def_by(const kn_simp *s, kn_atom a, const kn_prim *prim); /* the equation when it is of this primitive */
bool kn_same_atom(const kn_simp *s, kn_atom a, kn_atom b);               /* one variable, or equal literals */
/* Every element is this scalar: the atom itself when it is one, or what is broadcast. */
bool kn_uniform(const kn_simp *s, kn_atom a, kn_atom *scalar);
bool kn_known(const kn_simp *s, kn_atom a, kn_scalar *v); /* every element has this value */
static inline bool kn_is_int(char kind) { return kind == 'i' || kind == 'u'; }
/* Integers of a parameter; NULL for none. */
static inline const int64_t *kn_ints_of(const kn_eqn *e, const char *name)
{
    const kn_param *p = kn_param_of(e, name);
    return p && p->kind == KN_P_INTS ? p->ints : NULL;
}

/* ---- answers ---- */

kn_fix kn_give(kn_simp *s, kn_eqn *e, kn_atom a); /* forwards the one result; KN_NO when types differ */
kn_fix kn_give_value(kn_simp *s, kn_eqn *e, kn_scalar v); /* every element */
kn_fix kn_give_uniform(kn_simp *s, kn_eqn *e, kn_atom scalar);
/* The equation becomes another one of the same result. */
kn_fix kn_become(kn_simp *s, kn_eqn *e, const kn_prim *prim, const kn_param *params, const kn_atom *in, uint32_t nin);
/* A new equation before this one, simplified itself. */
kn_atom kn_emit(kn_simp *s, const kn_eqn *like, const kn_prim *prim, const kn_param *params, const kn_atom *in, uint32_t nin);
kn_atom kn_literal_of(kn_simp *s, kiln_dtype d, kn_scalar v);
kn_fix kn_failed(kn_simp *s, kiln_status status); /* KN_NO; the status ends the pass */

/* Parameters of a primitive by name; all others None. NULL when out of memory (then the status is set). */
typedef struct kn_named {
    const char *name;
    kn_param value;
} kn_named;
kn_param *kn_params_of(kn_simp *s, const kn_prim *prim, const kn_named *v, uint32_t n);
int64_t *kn_new_ints(kn_simp *s, uint32_t n);

/* Simplifies one equation and pushes what is left of it. */
kiln_status kn_simplify_eqn(kn_simp *s, kn_eqn *e);

#endif
