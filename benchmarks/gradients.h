/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of the suite "gradients": scalars of f64 operands. */
#ifndef GRADIENTS_H
#define GRADIENTS_H

#include "kiln/trace.h"

void gradients_mlp(kiln_trace *t);
void gradients_lbm(kiln_trace *t);
void gradients_leapfrog(kiln_trace *t);
void gradients_heat_rod(kiln_trace *t);
void gradients_lennard_jones(kiln_trace *t);
void gradients_chain(kiln_trace *t, int n); /* a scalar of one vector, in n equations */

#endif
