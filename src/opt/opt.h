/* SPDX-License-Identifier: Apache-2.0 */
/* Optimisation of lowered programs: a table of passes, run in order, again until nothing changes.
 *
 * The law of every pass: the result computes the same bits for all inputs (two NaNs are equal), in the floating-point mode that the program
 * runs in, and every reduction and product
 * keeps its operand's shape and axes, from which its order follows. A pass never writes to what it was given: it gives a new jaxpr
 * that shares what stayed the same, or the one it got when it found nothing to do. All of them live in one program that lives as
 * long as the optimisation; the result is a copy of the last.
 *
 * Why it ends: a measure goes down with every change. In order of weight: operations that are executed (a loop's body weighs
 * more than what stands before it), inputs and results of bodies, the cost of each operation's kind, the distance from each
 * operand to the equation that made its elements. A bound on the number of rounds cuts off long tails. */
#ifndef KN_OPT_OPT_H
#define KN_OPT_OPT_H

#include "ir/prim.h"

typedef struct kn_pm kn_pm;

typedef struct kn_pass {
    const char *name, *doc;
    kiln_status (*run)(kn_pm *pm, const kn_jaxpr *main, const kn_jaxpr **out);
} kn_pass;

extern const kn_pass kn_pipeline[]; /* ends with name NULL */
uint32_t kn_pass_bit(const char *name); /* 1 << place in the pipeline; 0 when there is no such pass */

/* Every rewrite that a pass may do has a text; how often each was done is counted. */
uint32_t kn_rule_count(void);
const char *kn_rule_text(uint32_t rule);
const char *kn_rule_pass(uint32_t rule);

typedef struct kn_opt_stats {
    uint32_t rounds;
    uint64_t equations_before, equations_after; /* nested ones counted once */
    uint32_t *fired; /* kn_rule_count() counters of the caller's, or NULL */
} kn_opt_stats;

/* A rewrite was done n times at an equation of this place; prim NULL: at none in particular. */
typedef void (*kn_fired_fn)(void *ud, uint32_t rule, uint32_t n, const kn_prim *prim, kn_loc loc);

typedef struct kn_opt_options {
    uint32_t skip;         /* bits of passes left out */
    const char *after;     /* stop after this pass has run once; NULL: to the end */
    uint32_t max_rounds;   /* 0: KN_OPT_ROUNDS */
    bool flush;            /* the program runs with subnormal numbers read and made as zeros (numerics 12) */
    /* Called after every pass that changed something; the program lives during the call. May be NULL. */
    kiln_status (*hook)(void *ud, const char *pass, uint32_t round, const kn_prog *p);
    void *hook_ud;
    kn_opt_stats *stats; /* may be NULL */
    kn_fired_fn fired;   /* may be NULL */
    void *fired_ud;
} kn_opt_options;

enum { KN_OPT_ROUNDS = 10 };

/* A new program. `o` may be NULL. Errors: KILN_NOTFOUND no pass is called `after`; KILN_NOMEM; a status of the hook's.
 * Cost: about a microsecond an equation and round; two or three rounds. */
kiln_status kn_optimise(kiln_ctx *ctx, const kn_prog *lowered, const kn_opt_options *o, kn_prog **out);

#endif
