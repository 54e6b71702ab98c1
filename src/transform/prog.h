/* SPDX-License-Identifier: Apache-2.0 */
/* From functions of jaxprs to functions of programs. */
#ifndef KN_TRANSFORM_PROG_H
#define KN_TRANSFORM_PROG_H

#include "kiln/transform.h"
#include "transform/transform.h"

typedef kiln_status (*kn_change)(const kn_rules *r, const kn_jaxpr *j, const void *how, const kn_jaxpr **out);
/* A new program: what `change` makes of p's main jaxpr. Scopes, files, places stay. */
kiln_status kn_prog_apply(kiln_ctx *ctx, const kn_prog *p, kn_change change, const void *how, kn_prog **out);
/* The same where `change` makes n jaxprs of one. */
kiln_status kn_prog_apply_all(kiln_ctx *ctx, const kn_prog *p, kn_change change, const void *how, uint32_t n, kn_prog **out);
/* replace.c: a program with other equations in place of some, in bodies too; NULL where there are none. `may`: a quick look. `replace` gives
 * the results y, or says that it is not done: then the equation stays. */
typedef bool (*kn_may_replace)(const kn_jaxpr *j, const kn_eqn *e);
typedef kiln_status (*kn_replace)(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *operands, kn_atom *y, bool *done);
kiln_status kn_prog_replace(kiln_ctx *ctx, const kn_prog *p, kn_may_replace may, kn_replace replace, kn_prog **out);
/* What stands for tangents that only a reverse derivative could give must be gone. */
kiln_status kn_no_forward_left(const kn_rules *r, const kn_jaxpr *j);

#endif
