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
    KN_SHARES_NAMES = 1u << 7, /* printing: variables of the body `jaxpr` take the names of the operands and results (jit) */
    KN_JVP_WHOLE = 1u << 8,    /* the jvp rule makes the primal results too: control flow, calls */
    KN_ACCUMULATES = 1u << 9,  /* the transpose rule adds to the cotangents that ct_in holds on entry */
    KN_BY_PARTS = 1u << 10,    /* of complex numbers: the same of each part */
    KN_TRANSIENT = 1u << 11,   /* stands in programs only while they are transformed: no sample, never run */
    KN_FROM_NOTHING = 1u << 12, /* a sum that starts from -0.0, as if there were no first value */
    KN_NUMBERED = 1u << 13      /* parameter 0 tells such equations apart; where it is None, they are counted in the order of the text, in
                                 * which those numbers are not printed */
};

/* How a base primitive becomes loops. */
typedef enum kn_loop_kind {
    KN_LOOP_NONE,    /* composite, or no loop rule */
    KN_LOOP_ELEMENT, /* `element` computes one element of the result: fuses freely */
    KN_LOOP_PARTS,   /* `complex`: both operands' elements are stored, one behind the other */
    KN_LOOP_REDUCE,
    KN_LOOP_CUMULATE,
    KN_LOOP_DOT,
    KN_LOOP_CONV,
    KN_LOOP_UPDATE,  /* dynamic_update_slice: in place when the operand, which is its first, dies here */
    KN_LOOP_SCATTER, /* as UPDATE: windows one after the other */
    KN_LOOP_WHILE,
    KN_LOOP_COND,
    KN_LOOP_SORT, /* by a comparator of its own */
    KN_LOOP_CALL  /* a routine on whole arrays (sort, transforms, factorisations), named by `call` */
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
    KN_PARAM_INTERNAL = 1u << 4,    /* follows from another one (KN_PARAM_FROM), and is printed where that is None only */
    KN_PARAM_RULE = 1u << 6,        /* never printed: what transformations make of the equation */
    KN_PARAM_FIRST = 1u << 5        /* its bodies are met before those of the others when shared bodies are named (while's cond) */
};

/* Flags of a parameter that follows from parameter i. */
#define KN_PARAM_FROM(i) (KN_PARAM_INTERNAL | (unsigned)(i) << 8)
#define KN_PARAM_SOURCE(flags) ((flags) >> 8)

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
    kiln_type few[4]; /* room for them */
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
typedef struct kn_rules kn_rules;     /* functions of upper layers for rules that need them: below */
typedef struct kn_call kn_call;       /* prim/routine.h */
typedef struct kn_routine kn_routine;
typedef uint32_t kn_lv;               /* a value of the loop language */

#define KN_NO_LANES (-1) /* in place of an axis: a value that all lanes of a vmap share */

/* In place of a value: a tangent or cotangent that is zero, and an operand in which the equation is linear (no value). */
#define KN_SYMBOLIC_ZERO UINT32_MAX
#define KN_LINEAR (UINT32_MAX - 1)

/* Do values of this type have tangents? Integers, bools and keys have none. */
static inline bool kn_has_tangent(kiln_type t)
{
    char k = kiln_dtype_kind(t.dtype);
    return k == 'f' || k == 'c' || k == '8';
}

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
    /* Forward derivative. x: operands, dx: their tangents or KN_SYMBOLIC_ZERO (not all are), y: results (KN_JVP_WHOLE: made by the rule).
     * Fills dy, KN_SYMBOLIC_ZERO on entry. Integers and bools have no tangents. */
    kiln_status (*jvp)(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const kn_atom *dx,
                       kn_atom *y, kn_atom *dy);
    /* The transposed linear map. x: operands, KN_LINEAR where the equation is linear in them; ct: cotangents of the results or
     * KN_SYMBOLIC_ZERO (not all are). Fills ct_in for the linear operands; it is KN_SYMBOLIC_ZERO on entry (but see KN_ACCUMULATES). */
    kiln_status (*transpose)(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const kn_atom *ct,
                             kn_atom *ct_in);
    /* The equation over many lanes, at least one. axis[i]: 0 where operand x[i] has the lanes as its axis 0, KN_NO_LANES where all
     * lanes share it (not all are shared); out_axis[k], 0 on entry, says the same of result y[k]. Each lane's bits are those of the
     * equation on the lane alone. prim/batch.h has the parts that rules are made of. */
    kiln_status (*batch)(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis,
                         kn_atom *y, int *out_axis);
    /* Composites: gives the equation's results in `y` by lower-level equations; `x` are the operands in b. */
    kiln_status (*lower)(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y);
    /* The same for complex numbers, of a primitive that is no composite of real ones: they are made of operations on parts. */
    kiln_status (*lower_complex)(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y);
    /* The same for operands of another kind of number than the result, and for bools: products that convert them first. */
    kiln_status (*lower_mixed)(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y);
    /* The same for a loop with a condition for each lane (an array): the loop with one condition. */
    kiln_status (*lower_lanes)(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y);
    /* Of a composite that has a loop kind, too: is the equation better off as it is? Then lowering leaves it. */
    bool (*stays)(const kn_jaxpr *j, const kn_eqn *e);
    /* KN_LOOP_ELEMENT: the element of result `result` at index ix. */
    kn_lv (*element)(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix);
    /* KN_LOOP_CALL: the routine and its integers; results and operands are the equation's, and filled in. */
    kiln_status (*call)(kiln_ctx *ctx, kn_arena *arena, const kn_jaxpr *j, const kn_eqn *e, kn_call *c);
    /* What a text means by this name and these parameters, which are those of both; NULL: always this primitive. */
    const kn_prim *(*meant)(const kn_prim *named, const kn_param *params);
    kiln_status (*sample)(kn_sample *s); /* a random legal instance: feeds the property tests */
    const char *doc; /* one paragraph: manual and `kiln prims NAME` */
};

/* What rules of control flow ask of the layer above. Bodies are made in `prog`; flags stand for arguments without constants. */
struct kn_rules {
    kiln_ctx *ctx;
    kn_prog *prog;
    /* The forward derivative of a body. nonzero: arguments that have a tangent; wanted (may be NULL): results whose tangent must
     * be a value. Arguments of `out`: those of the body, then the tangents; results: those of the body, then the tangents of
     * nonzero_out. */
    kiln_status (*jvp)(const kn_rules *r, const kn_jaxpr *body, const bool *nonzero, const bool *wanted, const kn_jaxpr **out,
                       bool *nonzero_out);
    /* The transpose of a body that is linear in the arguments `linear`. Arguments of `out`: the others, then the cotangents of the
     * results ct_nonzero, then what has been found so far for the linear arguments `onto`, to which it adds; results: the
     * cotangents of the linear arguments that have nonzero_out (one flag an argument). wanted: arguments whose cotangent must be
     * a value. wanted and onto may be NULL. */
    kiln_status (*transpose)(const kn_rules *r, const kn_jaxpr *body, const bool *linear, const bool *ct_nonzero, const bool *wanted,
                             const bool *onto, const kn_jaxpr **out, bool *nonzero_out);
    /* The same of any body, which is divided into what depends on the arguments `linear` and the rest first. */
    kiln_status (*pull_back)(const kn_rules *r, const kn_jaxpr *body, const bool *linear, const bool *ct_nonzero, const bool *wanted,
                             const bool *onto, const kn_jaxpr **out, bool *nonzero_out);
    /* Which results depend on the arguments `on`. */
    kiln_status (*depends)(const kn_rules *r, const kn_jaxpr *body, const bool *on, bool *out);
    void *memo; /* of the transformation that runs */
    /* The body over `size` lanes. lanes: arguments that have a lane axis, as their axis 0; wanted (may be NULL): results that must have
     * one. lanes_out: results that have it, as their axis 0. */
    kiln_status (*batch)(const kn_rules *r, const kn_jaxpr *body, int64_t size, const bool *lanes, const bool *wanted,
                         const kn_jaxpr **out, bool *lanes_out);
};

/* Does the equation change its first operand, in place where that dies? */
static inline bool kn_updates(const kn_eqn *e) { return e->prim->loop == KN_LOOP_UPDATE || e->prim->loop == KN_LOOP_SCATTER; }
static inline bool kn_stays(const kn_jaxpr *j, const kn_eqn *e) { return e->prim->stays && e->prim->stays(j, e); }

/* The lowering that applies to an equation, or NULL. */
typedef kiln_status (*kn_lower_fn)(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y);
static inline bool kn_is_complex_eqn(const kn_jaxpr *j, const kn_eqn *e)
{
    return (e->nin && kiln_dtype_kind(kn_type_of(j, e->in[0]).dtype) == 'c') ||
           (e->nout && kiln_dtype_kind(j->vars[e->out[0]].type.dtype) == 'c');
}
static inline bool kn_is_mixed_eqn(const kn_jaxpr *j, const kn_eqn *e)
{
    char in = kiln_dtype_kind(kn_type_of(j, e->in[0]).dtype);
    return in == 'b' || in != kiln_dtype_kind(j->vars[e->out[0]].type.dtype);
}
/* Of a while: is its condition an array? */
static inline bool kn_has_lane_condition(const kn_eqn *e)
{
    const kn_jaxpr *cond = kn_param_of(e, "cond_jaxpr")->jaxpr;
    return kn_type_of(cond, cond->out[0]).rank > 0;
}
static inline kn_lower_fn kn_lower_rule(const kn_jaxpr *j, const kn_eqn *e)
{
    if (e->prim->lower_lanes && kn_has_lane_condition(e)) return e->prim->lower_lanes;
    if (e->prim->lower_mixed && kn_is_mixed_eqn(j, e)) return e->prim->lower_mixed;
    return e->prim->lower_complex && kn_is_complex_eqn(j, e) ? e->prim->lower_complex : e->prim->lower;
}

#define KILN_PRIM(id) const kn_prim kn_prim_##id
#define KN_PARAMS(array) .params = (array), .nparams = sizeof(array) / sizeof *(array)

/* The sorted table, NULL at its end, and lookup by name (prim/registry.c). */
const kn_prim *const *kn_prims(uint32_t *n);
const kn_prim *kn_prim_find(const char *name, size_t n);
typedef const kn_prim *(*kn_prim_finder)(const char *name, size_t n); /* given to the parser, which stands below prim */

#endif
