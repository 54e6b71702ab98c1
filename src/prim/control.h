/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the parameters of while, cond and scan. */
#ifndef KN_PRIM_CONTROL_H
#define KN_PRIM_CONTROL_H

#include "ir/prim.h"

typedef struct kn_while_parts {
    const kn_jaxpr *cond, *body;
    uint32_t cond_consts, body_consts; /* the operands: those of cond, those of body, then the carries */
} kn_while_parts;
kn_while_parts kn_while_parts_of(const kn_eqn *e);

static inline uint32_t kn_cond_branches(const kn_eqn *e) { return e->params[0].n; }
static inline const kn_jaxpr *kn_cond_branch(const kn_eqn *e, uint32_t i) { return e->params[0].items[i].jaxpr; }

typedef struct kn_scan_parts {
    const kn_jaxpr *body;
    int64_t length;
    bool reverse;
    uint32_t consts, carries, xs; /* operands and arguments of the body, in this order */
    uint32_t ys;                  /* results: carries, then ys */
} kn_scan_parts;
kn_scan_parts kn_scan_parts_of(const kn_eqn *e);

/* Parameters of such equations. n: how many constants, carries and arrays; ys: stacked results. Length, direction and unrolling are
 * those of `like`, whose primitive's parameters `params` has room for. */
kiln_status kn_scan_params(kiln_ctx *ctx, kn_arena *arena, const kn_eqn *like, const kn_jaxpr *body, const uint32_t n[3], uint32_t ys,
                           kn_param *params);
enum { KN_SCAN_PARAMS = 10, KN_WHILE_PARAMS = 7 };
void kn_scan_plain(int64_t length, bool reverse, kn_param *params); /* fills what kn_scan_params takes from `like` */
void kn_while_params(kn_param *params, const kn_jaxpr *cond, uint32_t cond_consts, const kn_jaxpr *body, uint32_t body_consts);
/* The rest of the parameters: how many lanes a trip steps, how many trips there may be, what the way back keeps. Those of `like`, or: */
enum { KN_WHILE_LANES = 4, KN_WHILE_MAX_TRIPS, KN_WHILE_RECORD };
void kn_while_keep(kn_param *params, const kn_eqn *like);
/* What the way back keeps may be said as `root`, `log` or `all` of so many trips. */
bool kn_while_record(const char *name);

/* A body whose arguments, which come in groups of these sizes, stand in another order of the groups: turn[k] is the group that
 * comes k-th. */
kiln_status kn_body_regroup(kiln_ctx *ctx, kn_arena *arena, const kn_jaxpr *body, const uint32_t *sizes, const uint32_t *turn, uint32_t n,
                            const kn_jaxpr **out);
kiln_status kn_body_regroup_results(kiln_ctx *ctx, kn_arena *arena, const kn_jaxpr *body, const uint32_t *sizes, const uint32_t *turn, uint32_t n,
                                    const kn_jaxpr **out);
/* The derivative of a loop's body, whose n carries are the arguments from `first` on. nonzero: arguments that have a tangent; carries that
 * get one in some trip are added. */
kiln_status kn_loop_tangents(const kn_rules *r, kn_build *b, const kn_jaxpr *body, uint32_t first, uint32_t n, bool *nonzero, const kn_jaxpr **out,
                             bool *found);
kiln_status kn_transpose_while(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const kn_atom *ct,
                               kn_atom *ct_in);

/* A while whose condition is an array, one element for each lane (while_lanes.c): do its types fit, the loop with one condition that
 * it stands for, and a call of a body that holds this loop, for the rules of transformations. */
kiln_status kn_while_lanes_check(const kn_typing *t, const kn_jaxpr *cond, const kiln_type *carry, uint32_t n);
kiln_status kn_lower_while_lanes(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y);
kiln_status kn_while_lanes_call(kn_build *b, const kn_jaxpr *j, const kn_eqn *e, kn_eqn *call);

/* How many states of so many bytes the way back through a while keeps, and in how many sweeps it goes (may be NULL). */
int64_t kn_while_slots(const kn_eqn *e, double bytes, int *sweeps);

/* The policy of a remat2, as JAX names it: what may be saved is one of nothing, everything, dots; or names, which dots may stand
 * among. */
kiln_status kn_policy_text(kiln_ctx *ctx, kn_arena *arena, const char *const *saved, uint32_t n, const char **out);

/* Parameters of custom_linear_solve and custom_root. lengths: how many operands belong to matvec, vecmat, solve, transpose_solve; to f,
 * solve, tangent_solve, transpose_solve. bodies: the same four; f, matvec, vecmat, solve, tangent_solve, transpose_solve. */
enum { KN_LINEAR_SOLVE_PARAMS = 2, KN_ROOT_PARAMS = 2 };
kiln_status kn_linear_solve_params(kiln_ctx *ctx, kn_arena *arena, const uint32_t lengths[4], const kn_jaxpr *const bodies[4], kn_param *out);
kiln_status kn_root_params(kiln_ctx *ctx, kn_arena *arena, const uint32_t lengths[4], const kn_jaxpr *const bodies[6], kn_param *out);

#endif
