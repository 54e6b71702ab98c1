/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KN_PRIM_TEXT_H
#define KN_PRIM_TEXT_H

#include "ir/ir.h"

/* Reads jaxpr text; kiln_prog_parse takes other forms, too. */
kiln_status kn_jaxpr_parse(kiln_ctx *ctx, const char *text, size_t n, const char *file, kiln_prog **out);

#endif
