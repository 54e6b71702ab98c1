/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptor of a primitive: every fact about it stands here and only here. Instances live in src/prim, one file a
 * family; tools/mkprims collects them. A rule that is NULL is a visible "not supported" and a clear error. */
#ifndef KN_IR_PRIM_H
#define KN_IR_PRIM_H

#include "ir/ir.h"

#define KN_VARIADIC 255

enum {
    KN_ELEMENTWISE = 1u << 0, /* result element depends on the same element of each operand (scalars broadcast) */
    KN_LEVEL_TRACED = 1u << 1,  /* may occur in traced programs only (composites): lowering removes it */
    KN_LEVEL_LOWERED = 1u << 2, /* made by lowering only */
    KN_COMMUTES = 1u << 3,
    KN_EXPENSIVE = 1u << 4, /* not worth computing twice: transcendental functions, division */
    KN_MOVES = 1u << 5,     /* moves elements without changing them */
    KN_EFFECT = 1u << 6,    /* must be kept although nobody reads its results */
    KN_BY_PARTS = 1u << 8,  /* of complex numbers: the same of each part */
    KN_SHARES_NAMES = 1u << 7 /* printing: variables of the body `jaxpr` take the names of the operands and results (jit) */
};

/* How a base primitive becomes loops. */
typedef enum kn_loop_kind {
    KN_LOOP_NONE,    /* composite, or no loop rule */
    KN_LOOP_ELEMENT, /* `element` computes one element of the result: fuses freely */
    KN_LOOP_PARTS,   /* `complex`: both operands' elements are stored, one behind the other */
    KN_LOOP_REDUCE,
    KN_LOOP_CUMULATE,
    KN_LOOP_DOT,
    KN_LOOP_UPDATE, /* dynamic_update_slice: in place when the operand dies here */
    KN_LOOP_WHILE,
    KN_LOOP_COND,
    KN_LOOP_CALL /* a routine of the run-time library (sort, transforms, factorisations): not compiled yet */
} kn_loop_kind;

/* One parameter in the order of printing. */
typedef struct kn_param_spec {
    const char *name;
    kn_param_kind kind; /* KN_P_NONE: any */
    unsigned flags;
} kn_param_spec;
enum {
    KN_PARAM_OPTIONAL = 1u << 0,    /* may be None or left out (then None) */
    KN_PARAM_HIDE_NONE = 1u << 1,   /* not printed when None */
    KN_PARAM_FROM_RESULT = 1u << 2, /* never printed: follows from the type of the result */
    KN_PARAM_HIDE_EMPTY = 1u << 3,  /* not printed when an empty tuple */
    KN_PARAM_INTERNAL = 1u << 4,    /* never printed: follows from the other parameters and operands */
    KN_PARAM_FIRST = 1u << 5        /* its bodies are met before those of the others when shared bodies are named (while's cond) */
};

/* What a type rule sees and fills. */
typedef struct kn_typing {
    kiln_ctx *ctx;
    kn_arena *arena;
    const kn_prim *prim;
    const kn_param *params;
    const kiln_type *in;
    uint32_t nin;
    kiln_type *out; /* filled by the rule through kn_typing_out */
    uint32_t nout;
} kn_typing;
kiln_status kn_typing_out(kn_typing *t, uint32_t nout); /* room for nout results */

/* What an eval rule may ask of the interpreter. */
typedef struct kn_eval kn_eval;
struct kn_eval {
    kiln_ctx *ctx;
    /* Runs a body: `in` holds its arguments without the constants; `out` receives new arrays that the caller releases. */
    kiln_status (*run)(kn_eval *ev, const kn_jaxpr *body, kiln_array *const *in, kiln_array **out);
    const bool *stop; /* may be NULL; loops ask it once a trip and return KILN_CANCELLED */
};

typedef struct kn_sample kn_sample;   /* prim/sample.h */
typedef struct kn_element kn_element; /* prim/element.h */
typedef struct kn_rules kn_rules;     /* functions of upper layers for rules that need them */
typedef uint32_t kn_lv;               /* a value of the loop language */

struct kn_prim {
    const char *name; /* spelled in the text IR, in cache keys, in traces */
    uint16_t rev;     /* raise when any rule changes meaning: enters the cache key */
    uint8_t nin, nout; /* KN_VARIADIC where not fixed */
    uint32_t flags;
    const kn_param_spec *params;
    uint32_t nparams;
    int scalar_op; /* kn_sop of an elementwise primitive, or 0 */
    kn_loop_kind loop;
    kiln_status (*type)(kn_typing *t);
    /* Fills `out`, whose arrays have the result types and are zero; control flow may replace the pointers. */
    kiln_status (*eval)(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out);
    kiln_status (*jvp)(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const kn_atom *dx,
                       kn_atom *y, kn_atom *dy);
    kiln_status (*transpose)(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *ct, kn_atom *ct_in);
    kiln_status (*batch)(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis,
                         kn_atom *y, int *out_axis);
    /* Composites: gives the equation's results in `y` by lower-level equations; `x` are the operands in b. */
    kiln_status (*lower)(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y);
    /* The same for complex numbers, of a primitive that is no composite of real ones: they are made of operations on parts. */
    kiln_status (*lower_complex)(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y);
    /* KN_LOOP_ELEMENT: the element of result `result` at index ix. */
    kn_lv (*element)(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix);
    kiln_status (*sample)(kn_sample *s); /* a random legal instance: feeds the property tests */
    const char *doc; /* one paragraph: manual and `kiln prims NAME` */
};

/* The lowering that applies to an equation, or NULL. */
typedef kiln_status (*kn_lower_fn)(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y);
static inline bool kn_is_complex_eqn(const kn_jaxpr *j, const kn_eqn *e)
{
    return (e->nin && kiln_dtype_kind(kn_type_of(j, e->in[0]).dtype) == 'c') ||
           (e->nout && kiln_dtype_kind(j->vars[e->out[0]].type.dtype) == 'c');
}
static inline kn_lower_fn kn_lower_rule(const kn_jaxpr *j, const kn_eqn *e)
{
    return e->prim->lower_complex && kn_is_complex_eqn(j, e) ? e->prim->lower_complex : e->prim->lower;
}

#define KILN_PRIM(id) const kn_prim kn_prim_##id
#define KN_PARAMS(array) .params = (array), .nparams = sizeof(array) / sizeof *(array)

/* The sorted table, NULL at its end, and lookup by name (prim/registry.c). */
const kn_prim *const *kn_prims(uint32_t *n);
const kn_prim *kn_prim_find(const char *name, size_t n);
typedef const kn_prim *(*kn_prim_finder)(const char *name, size_t n); /* given to the parser, which stands below prim */

#endif
