/* SPDX-License-Identifier: Apache-2.0 */
/** Kiln: traces array programs, compiles each whole program to one native function, runs it and says where the time goes. */
#ifndef KILN_KILN_H
#define KILN_KILN_H

#include "kiln/array.h"
#include "kiln/base.h"
#include "kiln/cache.h"
#include "kiln/exec.h"
#include "kiln/graph.h"
#include "kiln/jit.h"
#include "kiln/prog.h"
#include "kiln/trace.h"
#include "kiln/transform.h"

#endif
