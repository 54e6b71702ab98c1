/* SPDX-License-Identifier: Apache-2.0 */
/* Reading dot_general's parameters. */
#ifndef KN_PRIM_DOT_H
#define KN_PRIM_DOT_H

#include "ir/prim.h"
#include "rt/dot.h"

kn_dot_dims kn_dot_dims_of(const kn_eqn *e);

#endif
