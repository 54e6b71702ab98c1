/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar operations, one definition each (numerics 1 and 2): evaluated here for the interpreter, emitted by llvm/. */
#ifndef KN_RT_SCALAR_H
#define KN_RT_SCALAR_H

#include "array/array.h"

typedef enum kn_sop {
    KN_S_NONE,
#define KN_SOP(name, arity, kinds, result, function) KN_S_##name,
#include "rt/scalar.def"
#undef KN_SOP
    KN_N_SOPS
} kn_sop;

typedef struct kn_sop_info {
    const char *name;
    int arity;
    const char *kinds;
    char result;
    const char *function;
} kn_sop_info;
extern const kn_sop_info kn_sops[KN_N_SOPS];
kn_sop kn_sop_find(const char *name, size_t n); /* KN_S_NONE when unknown */

/* Operands have dtype d (select: the second and third; its first is bool). For convert, d is the operand's dtype and
 * `to` the result's; for all others `to` is ignored. The result is rounded to its dtype. */
kn_scalar kn_sop_eval(kn_sop op, kiln_dtype d, kiln_dtype to, kn_scalar a, kn_scalar b, kn_scalar c);

#endif
