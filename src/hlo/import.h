/* SPDX-License-Identifier: Apache-2.0 */
/* From the tree of a StableHLO module to a program. One row of a table says which function imports an operation; the files
 * import_*.c hold them by family. Bodies of programs are closed: what a region captures becomes an explicit operand, scalar
 * constants excepted, which are made again inside. */
#ifndef KN_HLO_IMPORT_H
#define KN_HLO_IMPORT_H

#include "hlo/hlo.h"
#include "hlo/mlir.h"
#include "ir/prim.h"

#include "prims.gen.h"

/* What a value of the text stands for. */
typedef enum kn_hkind { KN_H_NONE, KN_H_ARRAY, KN_H_TUPLE } kn_hkind;
typedef struct kn_hvalue {
    kn_hkind kind;
    kn_atom atom;
    uint32_t n; /* TUPLE */
    const struct kn_hvalue *items;
} kn_hvalue;

typedef KN_VEC(kn_atom) kn_hatoms;

/* How the text wrote the body that is being made (kn_written), in the program's arena. */
typedef struct kn_hwritten {
    KN_VEC(kn_written_constant) constants;
    KN_VEC(kn_written_capture) captures;
    KN_VEC(kn_written_first) firsts;
    KN_VEC(uint32_t) wide;
} kn_hwritten;

typedef struct kn_himport {
    kiln_ctx *ctx;
    kn_arena *arena; /* scratch: dies with the tree */
    kn_mmodule *m;
    kn_prog *prog;
    kn_build *b;           /* the body that is being made */
    kn_hwritten *written;  /* its text */
    const kn_mfunc *func;  /* the function that is being read */
    kn_hvalue *vals;       /* per value of the function */
    uint32_t *mark, epoch; /* per value: seen in this walk */
    uint32_t file, depth;  /* the text's own name as a file of the program; functions and regions around */
    uint32_t region;       /* regions and called bodies around */
    bool elementwise;      /* inside a region that is applied to whole arrays */
    kn_hchecks *checks;    /* NULL: checks are left out */
} kn_himport;

typedef struct kn_himporter kn_himporter;
typedef kiln_status (*kn_himport_fn)(kn_himport *h, const kn_mop *o, const kn_himporter *row);
struct kn_himporter {
    const char *name;
    kn_himport_fn fn;
    const kn_prim *prim; /* what `fn` emits, where that differs by row */
    int64_t extra;
};

/* Rows of the custom calls that are known. */
typedef struct kn_hcall_row kn_hcall_row;
struct kn_hcall_row {
    const char *name;
    kiln_status (*fn)(kn_himport *h, const kn_mop *o, const kn_hcall_row *row);
    const kn_prim *prim;
    const char *reason, *remedy; /* of a refusal */
};
const kn_hcall_row *kn_hcall_rows(uint32_t *n);

/* Tables of the families, each sorted by name. */
extern const kn_himporter kn_himport_element[], kn_himport_shape[], kn_himport_index[], kn_himport_reduce[], kn_himport_control[],
    kn_himport_linalg[], kn_himport_chlo[], kn_himport_other[];
extern const uint32_t kn_himport_n_element, kn_himport_n_shape, kn_himport_n_index, kn_himport_n_reduce, kn_himport_n_control,
    kn_himport_n_linalg, kn_himport_n_chlo, kn_himport_n_other;
/* The row of an operation, or NULL. */
const kn_himporter *kn_himporter_find(kn_span name);

/* ---- import.c ---- */

/* An error at the operation: legal text that is refused (with what to do instead), or text that is not legal. */
kiln_status kn_hrefuse(kn_himport *h, const kn_mop *o, const char *remedy, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
kiln_status kn_hbad(kn_himport *h, const kn_mop *o, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
kiln_status kn_hplaced(kn_himport *h, const kn_mop *o, kiln_status s); /* gives an error without a place that of the operation */

kiln_status kn_hcount(kn_himport *h, const kn_mop *o, uint32_t nin, uint32_t nout); /* exactly so many operands and results */
kiln_status kn_hin(kn_himport *h, const kn_mop *o, uint32_t k, kn_atom *out);       /* operand k, an array */
kiln_status kn_hin_all(kn_himport *h, const kn_mop *o, kn_atom **out);
kiln_status kn_hset(kn_himport *h, const kn_mop *o, uint32_t k, kn_atom atom);      /* result k; its type is checked */
static inline kiln_type kn_htype(const kn_himport *h, kn_atom a) { return kn_build_type(h->b, a); }
kiln_status kn_hresult(kn_himport *h, const kn_mop *o, uint32_t k, kiln_type *out); /* the type written for result k */

/* Equations at the operation's place. */
kiln_status kn_heqn(kn_himport *h, const kn_mop *o, const kn_prim *p, const kn_param *params, const kn_atom *in, uint32_t nin, kn_atom *out,
                    uint32_t nout);
kiln_status kn_heqn1(kn_himport *h, const kn_mop *o, const kn_prim *p, const kn_param *params, const kn_atom *in, uint32_t nin, kn_atom *out);
kiln_status kn_hunary(kn_himport *h, const kn_mop *o, const kn_prim *p, kn_atom x, kn_atom *out);           /* no parameters that matter */
kiln_status kn_hbinary(kn_himport *h, const kn_mop *o, const kn_prim *p, kn_atom x, kn_atom y, kn_atom *out);
kiln_status kn_hconvert(kn_himport *h, const kn_mop *o, kn_atom x, kiln_dtype to, kn_atom *out);
kiln_status kn_htranspose(kn_himport *h, const kn_mop *o, kn_atom x, const int64_t *permutation, kn_atom *out);
kiln_status kn_hreshape(kn_himport *h, const kn_mop *o, kn_atom x, uint32_t rank, const int64_t *dims, kn_atom *out);
kiln_status kn_hliteral(kn_himport *h, kiln_dtype d, kn_scalar v, kn_atom *out);
kiln_status kn_hsize(kn_himport *h, const kn_mop *o, kiln_dtype d, int64_t size, kn_atom *out); /* a size as a number */

/* What the printer must know to write the same text: a constant stands here; the last equation's first value was this atom; the
 * body is finished. */
kiln_status kn_hwrote_constant(kn_himport *h, kn_atom a);
kiln_status kn_hwrote_first(kn_himport *h, kn_atom a);
kiln_status kn_hwrote(kn_himport *h);

/* ---- attributes ---- */
kiln_status kn_hints(kn_himport *h, const kn_mop *o, const char *name, const int64_t **v, uint32_t *n); /* absent: v NULL, n 0 */
kiln_status kn_hints_of(kn_himport *h, const kn_mop *o, const char *name, uint32_t n, int64_t otherwise, const int64_t **v); /* exactly n */
kiln_status kn_hint(kn_himport *h, const kn_mop *o, const char *name, int64_t otherwise, int64_t *v);
kiln_status kn_hflag(kn_himport *h, const kn_mop *o, const char *name, bool otherwise, bool *v);
/* The last word of an enumeration: LT of `LT`, "LT" and #stablehlo<comparison_direction LT>; empty when absent. */
kiln_status kn_henum(kn_himport *h, const kn_mop *o, const char *name, kn_span *word);
kn_span kn_hlast_word(const kn_mattr *a);
/* Fields of a dialect attribute, as #stablehlo.gather<..>. */
kiln_status kn_hfields(kn_himport *h, const kn_mop *o, const char *name, kn_mattr *dict);
kiln_status kn_hfield_ints(kn_himport *h, const kn_mattr *dict, const char *name, const int64_t **v, uint32_t *n);
kiln_status kn_hfield_int(kn_himport *h, const kn_mop *o, const kn_mattr *dict, const char *name, int64_t otherwise, int64_t *v);

/* The value of a scalar, where it is known: a literal, or one that was converted or reshaped. */
bool kn_hknown(const kn_himport *h, kn_atom a, kiln_dtype *d, kn_scalar *v);
/* The array of a constant, or NULL. */
const kiln_array *kn_hconstant(const kn_himport *h, kn_atom a);
const kn_eqn *kn_hdefinition(const kn_himport *h, kn_atom a); /* the equation that gives it, when it is among the last ones; else NULL */
/* Integers of an operand that must be constant. */
kiln_status kn_hoperand_ints(kn_himport *h, const kn_mop *o, uint32_t k, const int64_t **v, uint32_t *n);

/* ---- refine.c ---- */
/* Gives every value a type without `?`, from the arguments of the entry on, whose open dimensions are n. */
kiln_status kn_hrefine(kn_mmodule *m, const kn_mfunc *entry);
/* The numbers of a value of the function, where sizes are open and they are known; else NULL. */
static inline const kn_mknown *kn_hnumbers(const kn_himport *h, uint32_t value)
{
    const kn_mknown *v = h->func->known ? &h->func->known[value] : NULL;
    return v && v->v && !v->positive ? v : NULL;
}

/* ---- import_linalg.c ---- */
/* A list of a product, in the operation itself (pretty form) or inside of dot_dimension_numbers. */
kiln_status kn_hdot_list(kn_himport *h, const kn_mop *o, const char *name, kn_param *out);

/* ---- import_region.c ---- */

/* The values that the regions of an operation use and do not define. */
kiln_status kn_hcaptures(kn_himport *h, const kn_mregion *regions, uint32_t n, const uint32_t **ids, uint32_t *count);
/* Their atoms here, as the operands that stand for them; literals are left out. */
kiln_status kn_hcapture_atoms(kn_himport *h, const uint32_t *ids, uint32_t n, kn_hatoms *out);
/* A region as a body: arguments are the captures (literals left out), then its own. */
kiln_status kn_hregion(kn_himport *h, const kn_mregion *region, const uint32_t *captured, uint32_t n, const kn_jaxpr **out);
/* Imports a region's operations into the current body; its arguments have been set. The results are those of the terminator. */
kiln_status kn_hinline(kn_himport *h, const kn_mregion *region, kn_hatoms *results);
kiln_status kn_hflatten(kn_himport *h, const kn_hvalue *v, kn_hatoms *out); /* arrays of a value in order */
kiln_status kn_hin_flat(kn_himport *h, const kn_mop *o, uint32_t k, kn_hatoms *out); /* those of operand k */
/* The value of a type made of these atoms in order; *k counts on. */
kiln_status kn_hunflatten(kn_himport *h, const kn_mtype *t, const kn_atom *atoms, uint32_t *k, kn_hvalue *out);
/* Results of the operation, tuples included, from atoms in order. */
kiln_status kn_hset_flat(kn_himport *h, const kn_mop *o, const kn_atom *atoms, uint32_t n);
/* Does a body of two scalars apply one primitive to them? Gives it, or NULL; *swapped: the second argument comes first. */
const kn_prim *kn_hcombiner(const kn_jaxpr *j, bool *swapped);

/* ---- import_reduce.c ---- */
/* The custom call @stablehlo.dynamic_reduce_window: windows, strides, dilations of base and window, and padding are operands. */
kiln_status kn_hdynamic_window(kn_himport *h, const kn_mop *o, const kn_hcall_row *row);

/* ---- import_log_sum.c ---- */
/* Is the body of two complex scalars the log of the sum of their exponentials, as JAX writes it? */
kiln_status kn_hlog_sum(kn_himport *h, const kn_jaxpr *body, bool *is);

/* ---- import_call.c ---- */
kiln_status kn_himport_op(kn_himport *h, const kn_mop *o);
/* The function that an attribute of `o` names, as a body; made once. */
kiln_status kn_hbody_named(kn_himport *h, const kn_mop *o, kn_span name, const kn_jaxpr **out);
bool kn_hregion_checks(const kn_mregion *r); /* do operations of the check dialect stand in it? */
/* A program of a function; with `checks`, its results are what the checks compare. */
kiln_status kn_himport_function(kn_mmodule *m, const kn_mfunc *f, kn_hchecks *checks, kn_prog **out);
kiln_status kn_hcall(kn_himport *h, const kn_mop *o, kn_span callee); /* a call of a function of the module */

/* ---- import_lapack.c ---- */
kiln_status kn_hlapack(kn_himport *h, const kn_mop *o, kn_span target); /* lapack_dpotrf_ffi and the like */

/* ---- import_norm.c ---- */
enum { KN_HNORM_INFERENCE, KN_HNORM_TRAINING, KN_HNORM_GRAD }; /* `extra` of the row */
kiln_status kn_hbatch_norm(kn_himport *h, const kn_mop *o, const kn_himporter *row);

/* ---- import_table.c ---- */
kiln_status kn_hunknown(kn_himport *h, const kn_mop *o); /* the error for an operation that no row names */
kiln_status kn_hone_replica(const kn_mmodule *m);        /* refuses modules for several replicas or partitions */

#endif
