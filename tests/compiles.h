/* SPDX-License-Identifier: Apache-2.0 */
/* Does the compiler take a primitive? Routines of the run-time library and complex numbers are the interpreter's. */
#ifndef KN_TESTS_COMPILES_H
#define KN_TESTS_COMPILES_H

#include "ir/prim.h"

static inline bool prim_compiles(const kn_prim *p) { return p->lower || (p->loop != KN_LOOP_NONE && p->loop != KN_LOOP_CALL); }

#endif
