/* SPDX-License-Identifier: Apache-2.0 */
/* Traced program -> lowered program: only base primitives, no calls, no constants inside bodies, complex numbers in parts. */
#ifndef KN_LOWER_LOWER_H
#define KN_LOWER_LOWER_H

#include "ir/prim.h"

/* A new program at level KN_LOWERED that computes the same bits.
 *   calls         (jit, custom_jvp_call, custom_vjp_call, remat2, ...) are inlined; the path of a call's scope comes before the
 *                 scopes of its body; an equation without a place takes the call's
 *   composites    are replaced by what their `lower` rule gives, again and again until none is left
 *   complex       numbers are split into parts (split.h); inputs, constants and outputs keep their types
 *   constants     of bodies become constants of the program, handed down as operands of while and cond
 * Operands of reductions and products keep their layout: the order of these is a property of the equation (numerics 0).
 * Errors: KILN_UNSUPPORTED a composite without a rule, with its place, or a constant without a value; KILN_INVALID the program is too large once inlined;
 * KILN_NOMEM. Cost: linear in the result. */
kiln_status kn_lower(kiln_ctx *ctx, const kn_prog *traced, kn_prog **out);

#endif
