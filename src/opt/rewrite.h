/* SPDX-License-Identifier: Apache-2.0 */
/* What the passes share: the pass manager and the rewriting of one jaxpr into another.
 *
 * A rewriter begins with the variables and literals of its source, so that equations that stay keep their numbers and cost one
 * copy of a small struct; new variables and literals come behind. All memory that a jaxpr holds comes from the program's arena,
 * everything else from the scratch arena, which is emptied after every pass. */
#ifndef KN_OPT_REWRITE_H
#define KN_OPT_REWRITE_H

#include "base/map.h"
#include "opt/opt.h"

struct kn_pm {
    kiln_ctx *ctx;
    kn_prog *prog;  /* owns what the passes make; its main is the newest jaxpr */
    kn_arena scratch;
    bool flush;       /* opt.h */
    uint64_t changes; /* rewrites of the pass that runs */
    uint32_t *fired;  /* per rule, or NULL */
    kn_fired_fn tell; /* or NULL */
    void *tell_ud;
    kn_map rows;      /* simplify: address of a primitive -> its list of rules + 1 */
    KN_VEC(uint32_t) row_lists; /* each ends with UINT32_MAX */
    kn_arena lasting; /* of rows and fired */
};

typedef struct kn_rw {
    kn_pm *pm;
    const kn_jaxpr *from;
    kn_build b; /* vars, lits, eqns of the result */
    KN_VEC(kn_atom) map;  /* what a variable has become; itself when beyond the end */
    KN_VEC(uint32_t) def; /* number + 1 of the equation in b that binds a variable; 0: an input */
} kn_rw;

kiln_status kn_rw_begin(kn_rw *rw, kn_pm *pm, const kn_jaxpr *from);
/* Follows: one result of an equation may stand for another that is forwarded later. */
static inline kn_atom kn_rw_map(const kn_rw *rw, kn_atom a)
{
    while (!kn_is_literal(a) && a < rw->map.n && rw->map.v[a] != a) a = rw->map.v[a];
    return a;
}
/* From now on `to` (an atom of the result) stands for variable v. */
kiln_status kn_rw_forward(kn_rw *rw, uint32_t v, kn_atom to);
/* An equation of the source with its operands mapped; its results are as they were. */
kiln_status kn_rw_take(kn_rw *rw, const kn_eqn *from, kn_eqn *e);
kiln_status kn_rw_push(kn_rw *rw, const kn_eqn *e);
/* A new equation, checked by its type rule but not pushed, in the place of `like`. */
kiln_status kn_rw_new(kn_rw *rw, const kn_eqn *like, const kn_prim *prim, const kn_param *params, const kn_atom *in, uint32_t nin,
                      kn_eqn *e);
/* The equation that gives an atom, or NULL (literals, inputs). */
const kn_eqn *kn_rw_def(const kn_rw *rw, kn_atom a);
kn_jaxpr kn_rw_view(const kn_rw *rw); /* for kn_type_of and rules that read types; short-lived */
kiln_status kn_rw_finish(kn_rw *rw, const kn_jaxpr **out);

/* The same jaxpr with variables numbered in order of definition and literals in order of use. */
kiln_status kn_renumber(kn_pm *pm, const kn_jaxpr *j, const kn_jaxpr **out);

/* ---- rows ---- */

typedef struct kn_rule kn_rule;
/* The rows of every pass, in the order that numbers them. */
typedef struct kn_rule_group {
    const char *pass;
    const kn_rule *rows; /* ends with text NULL */
} kn_rule_group;
extern const kn_rule_group kn_rule_groups[]; /* ends with pass NULL */
void kn_count(kn_pm *pm, const kn_rule *row, uint32_t n);
void kn_count_at(kn_pm *pm, const kn_rule *row, uint32_t n, const kn_prim *prim, kn_loc loc);

/* ---- control flow, seen by position ---- */

typedef struct kn_while {
    const kn_jaxpr *cond, *body;
    uint32_t cond_nconsts, body_nconsts, ncarry;
    const kn_atom *cond_in, *body_in, *init; /* operands */
} kn_while;
bool kn_is_while(const kn_eqn *e);
bool kn_is_cond(const kn_eqn *e);
kn_while kn_while_of(const kn_eqn *e);
/* Writes the parts back: parameters, operands; results are the caller's. */
kiln_status kn_while_set(kn_pm *pm, kn_eqn *e, const kn_while *w);
static inline const kn_param *kn_branches(const kn_eqn *e) { return kn_param_of(e, "branches"); }
kiln_status kn_branches_set(kn_pm *pm, kn_eqn *e, const kn_jaxpr *const *branches);

typedef kiln_status (*kn_body_fn)(void *ud, const kn_jaxpr *body, const kn_jaxpr **out);
/* Replaces every body of the equation by what f gives; parameters are copied when one changed. */
kiln_status kn_map_bodies(kn_pm *pm, kn_eqn *e, kn_body_fn f, void *ud, bool *changed);

/* Elements of a type; saturates. */
int64_t kn_elements(kiln_type t);

/* ---- what is known (known.c) ---- */

typedef struct kn_value {
    bool known;
    kn_scalar value;
} kn_value;

kn_value kn_value_of(const kn_rw *rw, kn_atom a); /* of a literal */
/* Evaluates an elementwise equation of scalars with the primitive's own eval rule; not known: it has no value at this time. */
kiln_status kn_fold(kn_pm *pm, const kn_jaxpr *types, const kn_eqn *e, const kn_scalar *in, kn_scalar *out, bool *known);
/* The results of a body that scalar arithmetic of the known inputs gives. */
kiln_status kn_evaluate_known(kn_pm *pm, const kn_jaxpr *j, const kn_value *in, kn_value *out);
/* Follows a loop as long as its condition is known: it makes at least `trips` trips, and no more if it `ends`. Runs the body at
 * most `most` times. */
kiln_status kn_first_trips(kn_rw *rw, const kn_while *w, uint32_t most, uint32_t *trips, bool *ends);

/* The passes (pipeline.c lists them). */
kiln_status kn_pass_simplify(kn_pm *pm, const kn_jaxpr *main, const kn_jaxpr **out);
kiln_status kn_pass_cse(kn_pm *pm, const kn_jaxpr *main, const kn_jaxpr **out);
kiln_status kn_pass_alike(kn_pm *pm, const kn_jaxpr *main, const kn_jaxpr **out);
kiln_status kn_pass_licm(kn_pm *pm, const kn_jaxpr *main, const kn_jaxpr **out);
kiln_status kn_pass_updates(kn_pm *pm, const kn_jaxpr *main, const kn_jaxpr **out);
kiln_status kn_pass_dce(kn_pm *pm, const kn_jaxpr *main, const kn_jaxpr **out);

#endif
