/* SPDX-License-Identifier: Apache-2.0 */
/* The reference interpreter. */
#ifndef KN_EVAL_EVAL_H
#define KN_EVAL_EVAL_H

#include "ir/prim.h"

/* As kiln_prog_eval; loops ask `stop` (may be NULL) once a trip and give KILN_CANCELLED. */
kiln_status kn_prog_eval(kiln_ctx *ctx, const kn_prog *p, kiln_array *const *in, kiln_array **out, const bool *stop);

#endif
