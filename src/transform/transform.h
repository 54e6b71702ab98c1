/* SPDX-License-Identifier: Apache-2.0 */
/* Transformations inside: from a jaxpr a new one in the same program, r->prog. Everything lives in that program's arena; what is
 * left over goes when the finished program is copied out. */
#ifndef KN_TRANSFORM_TRANSFORM_H
#define KN_TRANSFORM_TRANSFORM_H

#include "ir/prim.h"

/* The functions of this folder for rules; the program is one that may be added to. */
kiln_status kn_rules_init(kn_rules *r, kiln_ctx *ctx, kn_prog *prog);

/* ---- whole functions, as the words of kiln/transform.h ---- */

/* wrt: operands that have tangents or cotangents, rising; n 0: all floats */
kiln_status kn_jvp(const kn_rules *r, const kn_jaxpr *j, const uint32_t *wrt, uint32_t n, const kn_jaxpr **out);
kiln_status kn_linearize(const kn_rules *r, const kn_jaxpr *j, const uint32_t *wrt, uint32_t n, const kn_jaxpr **out);
/* forward (operands) -> results, residuals; map (residuals, tangents) -> tangents */
kiln_status kn_linearize_apart(const kn_rules *r, const kn_jaxpr *j, const uint32_t *wrt, uint32_t n, const kn_jaxpr **forward, const kn_jaxpr **map);
kiln_status kn_transposed(const kn_rules *r, const kn_jaxpr *j, const uint32_t *linear, uint32_t n, const kn_jaxpr **out);
kiln_status kn_vjp(const kn_rules *r, const kn_jaxpr *j, const uint32_t *wrt, uint32_t n, const kn_jaxpr **out);
/* Only the first result is differentiated. KN_GRAD_VALUE: the results come first; without it auxiliary ones come last. */
enum { KN_GRAD_VALUE = 1, KN_GRAD_AUX = 2 };
kiln_status kn_grad(const kn_rules *r, const kn_jaxpr *j, const uint32_t *wrt, uint32_t n, unsigned how, const kn_jaxpr **out);
kiln_status kn_hvp(const kn_rules *r, const kn_jaxpr *j, uint32_t wrt, const kn_jaxpr **out);
kiln_status kn_jacobian(const kn_rules *r, const kn_jaxpr *j, const uint32_t *wrt, uint32_t n, bool reverse, const kn_jaxpr **out);
kiln_status kn_hessian(const kn_rules *r, const kn_jaxpr *j, const uint32_t *wrt, uint32_t n, const kn_jaxpr **out);
kiln_status kn_sum_first(const kn_rules *r, const kn_jaxpr *j, const kn_jaxpr **out);
kiln_status kn_checkpoint(const kn_rules *r, const kn_jaxpr *j, const char *const *policy, uint32_t n, const kn_jaxpr **out);
/* Refuses names that no value of the program has; policies and numbers of trips are none. */
kiln_status kn_checkpoint_named(const kn_rules *r, const kn_jaxpr *j, const char *const *saved, uint32_t n);
/* Maps over axes[i] of argument i (KN_NO_AXIS: shared by all), which gets `size` lanes; the new axis stands at out_axes[k] of result k
 * (NULL: 0). */
enum { KN_NO_AXIS = -1 };
kiln_status kn_vmap(const kn_rules *r, const kn_jaxpr *j, int64_t size, const int *axes, const int *out_axes, const kn_jaxpr **out);

/* ---- pieces (see the files) ---- */

/* Removes what no result needs, inside bodies too. */
kiln_status kn_trim(const kn_rules *r, const kn_jaxpr *j, const kn_jaxpr **out);

/* Opens a builder with the constants of j and its arguments; map[var] is filled for both. */
kiln_status kn_open(const kn_rules *r, kn_build *b, const kn_jaxpr *j, kn_atom **map);

#endif
