/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of the transformations, as functions of bodies, and what they share. Flags stand for arguments (constants left
 * out) or results; a NULL list of flags is all false. */
#ifndef KN_TRANSFORM_ENGINE_H
#define KN_TRANSFORM_ENGINE_H

#include "base/map.h"
#include "prim/derive.h"
#include "transform/transform.h"

/* ---- memory of bodies ---- */

typedef enum kn_made_kind { KN_MADE_JVP, KN_MADE_TRANSPOSE, KN_MADE_TRIM, KN_MADE_PICK, KN_MADE_RULES } kn_made_kind;
typedef struct kn_made {
    kn_made_kind kind;
    const kn_jaxpr *from;
    const bool *in, *in2, *out; /* what was asked: flags of arguments; of results (transpose); wanted (transpose: and onto) */
    const kn_jaxpr *to;
    const bool *flags; /* what was found */
    uint32_t next;     /* number + 1 of another one of this body */
} kn_made;
/* What partial evaluation did instead of keeping a value, for those who ask (residuals.c). */
typedef enum kn_log_kind { KN_LOG_AGAIN, KN_LOG_BEFORE } kn_log_kind;
typedef struct kn_log_entry {
    kn_log_kind kind;
    const kn_jaxpr *body; /* in which the equation stands */
    const kn_prim *prim;  /* NULL: an operand */
    kn_loc loc;
    kiln_type type;
    int64_t trips;
    bool by_policy;
} kn_log_entry;
typedef struct kn_logs {
    KN_VEC(kn_log_entry) v;
    int64_t trips; /* of the loops that are being divided */
    bool by_policy;
} kn_logs;
typedef struct kn_memo {
    kn_map first; /* address of a body -> number + 1 of the last one made */
    KN_VEC(kn_made *) made;
    kn_logs *log; /* or NULL */
} kn_memo;
kn_made *kn_memo_find(const kn_rules *r, kn_made_kind kind, const kn_jaxpr *j, const bool *in, const bool *in2, const bool *out);
kiln_status kn_memo_add(const kn_rules *r, kn_made d, kn_made **out);

/* ---- pieces ---- */


/* r->jvp and r->transpose. */
kiln_status kn_jvp_body(const kn_rules *r, const kn_jaxpr *j, const bool *nonzero, const bool *wanted, const kn_jaxpr **out, bool *nonzero_out);
kiln_status kn_transpose_body(const kn_rules *r, const kn_jaxpr *j, const bool *linear, const bool *ct_nonzero, const bool *wanted,
                              const bool *onto, const kn_jaxpr **out, bool *nonzero_out);

/* r->pull_back */
kiln_status kn_pull_back_body(const kn_rules *r, const kn_jaxpr *j, const bool *linear, const bool *ct_nonzero, const bool *wanted,
                              const bool *onto, const kn_jaxpr **out, bool *nonzero_out);
kiln_status kn_depends_body(const kn_rules *r, const kn_jaxpr *j, const bool *on, bool *out); /* r->depends */

/* Partial evaluation: what depends on unknown arguments is put off.
 *   known    arguments: the known ones; results: the known ones, then residuals
 *   unknown  arguments: residuals, then the unknown ones; results: the unknown ones */
typedef struct kn_split {
    const kn_jaxpr *known, *unknown;
    const bool *unknown_out;
    uint32_t residuals;
    const uint32_t *from_arg; /* per residual: number + 1 of the argument of j that it is, or 0 */
} kn_split;
/* What a checkpoint saves: products, values with these names, else nothing. */
typedef struct kn_policy {
    bool dots;
    const char *const *names;
    uint32_t n;
} kn_policy;
/* wanted (may be NULL): results that are to be unknown in any case. policy: NULL: all that is needed is saved. */
kiln_status kn_partial_body(const kn_rules *r, const kn_jaxpr *j, const bool *unknown, const bool *wanted, const kn_policy *policy,
                            kn_split *out);

/* The same of a body that runs many times; kinds: per argument. What is cheaper to compute again than to keep for each trip is not kept. */
typedef enum kn_arg_kind { KN_ARG_SAME, KN_ARG_SLICE, KN_ARG_CARRIED } kn_arg_kind;
kiln_status kn_partial_loop(const kn_rules *r, const kn_jaxpr *j, const bool *unknown, const bool *wanted, const kn_policy *policy,
                            const kn_arg_kind *kinds, kn_split *out);

/* Without what the results in used (NULL: all) do not need. The other results leave; arguments not needed leave when used_in is
 * given, which then says which stayed. */
kiln_status kn_trim_body(const kn_rules *r, const kn_jaxpr *j, const bool *used, const kn_jaxpr **out, bool *used_in);

kiln_status kn_no_rule(const kn_rules *r, const kn_eqn *e, const char *what); /* "sort has no jvp rule", with the place */

#endif
