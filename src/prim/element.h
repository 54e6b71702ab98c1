/* SPDX-License-Identifier: Apache-2.0 */
/* What an `element` rule may ask. Given the index of one element of an equation's result, the rule gives its value from
 * elements of the operands; an operand that is not stored is computed on the spot by its own rule, so that slices, pads,
 * concatenations, transposes and broadcasts are index maps of one fused nest. Indices are values of the loop language of
 * type i64; constants fold. Errors are sticky: a failed call returns a value that may be passed on. */
#ifndef KN_PRIM_ELEMENT_H
#define KN_PRIM_ELEMENT_H

#include "ir/prim.h"
#include "rt/scalar.h"

struct kn_element {
    const kn_jaxpr *j;
    kn_lv (*operand)(kn_element *m, const kn_eqn *e, uint32_t operand, const kn_lv *ix); /* element of an operand */
    kn_lv (*part)(kn_element *m, const kn_eqn *e, uint32_t operand, const kn_lv *ix, bool imaginary); /* of a complex operand's element */
    kn_lv (*op)(kn_element *m, kn_sop op, kiln_dtype d, kiln_dtype to, kn_lv a, kn_lv b, kn_lv c); /* as kn_sop_eval */
    kn_lv (*integer)(kn_element *m, int64_t c); /* an i64 constant */
    kn_lv (*constant)(kn_element *m, kiln_dtype d, kn_scalar v);
    /* Is index ix always below `at` (-1), never below (+1), or sometimes (0)? Loops are cut at such places, so that in
     * most pieces the answer is known. */
    int (*below)(kn_element *m, kn_lv ix, int64_t at);
    bool (*known)(kn_element *m, kn_lv ix, int64_t *value); /* is the index a constant? */
};

static inline kn_lv kn_e_add(kn_element *m, kn_lv a, kn_lv b) { return m->op(m, KN_S_add, KILN_I64, KILN_I64, a, b, 0); }
static inline kn_lv kn_e_sub(kn_element *m, kn_lv a, kn_lv b) { return m->op(m, KN_S_sub, KILN_I64, KILN_I64, a, b, 0); }
static inline kn_lv kn_e_mul(kn_element *m, kn_lv a, kn_lv b) { return m->op(m, KN_S_mul, KILN_I64, KILN_I64, a, b, 0); }
static inline kn_lv kn_e_addi(kn_element *m, kn_lv a, int64_t c) { return kn_e_add(m, a, m->integer(m, c)); }
static inline kn_lv kn_e_muli(kn_element *m, kn_lv a, int64_t c) { return kn_e_mul(m, a, m->integer(m, c)); }

#endif
