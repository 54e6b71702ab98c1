/* SPDX-License-Identifier: Apache-2.0 */
/* From a program to the tree of a module (mlir.h), which the printers of StableHLO and of HLO text write. One row of a table says
 * how a primitive is written; the files export_*.c hold them by family. Captured values of bodies are named where they stand;
 * bodies of calls become functions. The first error sticks in `status`; later calls do nothing and give value 0. */
#ifndef KN_HLO_EXPORT_H
#define KN_HLO_EXPORT_H

#include "base/text.h"
#include "hlo/hlo.h"
#include "hlo/mlir.h"
#include "ir/prim.h"

#include "prims.gen.h"

typedef struct kn_xframe kn_xframe;
struct kn_xframe {
    const kn_jaxpr *j;
    uint32_t *vars, *lits; /* value + 1, or 0: not yet */
    uint32_t *const_of;    /* per variable: number of the constant that it is, + 1 */
    uint32_t constant; /* of what the text had (kn_written): constants already met */
    const kn_xframe *outer; /* of the body around, whose values are seen; NULL in functions */
};

typedef struct kn_xfunc {
    const kn_jaxpr *body;
    const kn_mfunc *f;
} kn_xfunc;

typedef struct kn_export {
    kiln_ctx *ctx;
    kn_arena *arena;
    const kn_prog *prog;
    kn_mmodule *m;
    kiln_status status;
    KN_VEC(kn_xfunc) funcs, decompositions;
    KN_VEC(kn_prog *) lowerings; /* programs made on the way, released at the end */
    KN_VEC(kn_mvalue) values; /* of the function that is being made */
    kn_mregion *block;        /* that operations are appended to */
    kn_mop *last;             /* of it */
    kn_xframe *frame;
    bool closed;              /* bodies over scalars see scalars only (HLO), and those of select_and_scatter nothing around them */
    uint32_t depth, lowered; /* regions around; equations around that are written as what they lower to */
    int64_t draws;           /* of rng_uniform, written so far */
    const kn_mloc *loc;
    const char *at; /* place in the text that is read, given to what follows; "" where there is none */
    uint32_t line;
    kn_mop nowhere; /* what is made behind an error */
} kn_export;

typedef struct kn_xrow kn_xrow;
typedef void (*kn_xfn)(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row);
struct kn_xrow {
    const kn_prim *prim;
    kn_xfn fn;
    const char *name; /* of the operation */
    int64_t extra;
};
extern const kn_xrow kn_xrows_element[], kn_xrows_shape[], kn_xrows_reduce[], kn_xrows_control[], kn_xrows_linalg[];
extern const uint32_t kn_xrows_n_element, kn_xrows_n_shape, kn_xrows_n_reduce, kn_xrows_n_control, kn_xrows_n_linalg;

/* Makes the tree of a program: @main and the functions that it calls, in the order of their first calls, callers first. */
kiln_status kn_export_program(kiln_ctx *ctx, kn_arena *arena, const kn_prog *p, bool hlo, kn_mmodule **out);

/* The operation that a primitive is written as, without its dialect; its own name where it has none or several. */
const char *kn_export_name(const kn_prim *p);

/* ---- export.c ---- */
void kn_xfail(kn_export *x, kiln_status s);
#define KN_XCHECK(x, cond)                                                                                            \
    if (!(cond)) kn_xfail((x), kn_nomem((x)->ctx))
const kn_mtype *kn_xtype(kn_export *x, kiln_type t);
kiln_type kn_xtype_of(const kn_export *x, uint32_t value);
uint32_t kn_xatom(kn_export *x, kn_atom a); /* the value of an atom of the current body; literals are written where they are met */

/* An operation at the end of the block; results are numbered from op->out on. */
kn_mop *kn_xop(kn_export *x, const char *name, const uint32_t *in, uint32_t nin, const kiln_type *out, uint32_t nout);
uint32_t kn_xop1(kn_export *x, const char *name, const uint32_t *in, uint32_t nin, kiln_type out); /* gives the one result */
/* The values of an equation's operands, those behind `captured` first ones, and the types of its results; false: an error. */
typedef struct kn_xends {
    uint32_t *in, nin;
    kiln_type *out;
} kn_xends;
bool kn_xends_of(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, uint32_t captured, kn_xends *n);
void kn_xplain(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row); /* row->name of the operands as they stand */
void kn_xset(kn_export *x, const kn_eqn *e, const kn_mop *op);                                   /* results of the equation, in order */
void kn_xset1(kn_export *x, const kn_eqn *e, uint32_t k, uint32_t value);

void kn_xattr(kn_export *x, kn_mop *op, const char *name, kn_mattr a);
void kn_xattr_int(kn_export *x, kn_mop *op, const char *name, int64_t v); /* 64 bits, typed */
void kn_xattr_number(kn_export *x, kn_mop *op, const char *name, int64_t v); /* without a type, for pretty forms */
void kn_xattr_bool(kn_export *x, kn_mop *op, const char *name, bool v);
void kn_xattr_word(kn_export *x, kn_mop *op, const char *name, const char *v);
void kn_xattr_list(kn_export *x, kn_mop *op, const char *name, const int64_t *v, uint32_t n);  /* [..] */
void kn_xattr_array(kn_export *x, kn_mop *op, const char *name, const int64_t *v, uint32_t n); /* array<i64: ..> */
void kn_xattr_text(kn_export *x, kn_mop *op, const char *name, const char *dialect, const char *text); /* #dialect<text>, or text as it stands */
/* What t holds, kept in the arena; t is emptied and can be used again. */
const char *kn_xkeep(kn_export *x, kn_text *t);
kn_mattr kn_xtyped_int(kn_export *x, kiln_dtype d, int64_t v);
kn_span kn_xspan(const char *s);

uint32_t kn_xscalar(kn_export *x, kiln_dtype d, kn_scalar v);         /* a constant */
uint32_t kn_xarray(kn_export *x, const kiln_array *a);                /* a constant */
uint32_t kn_xints(kn_export *x, const int64_t *v, uint32_t n);        /* a constant i64[n] */
uint32_t kn_xsplat(kn_export *x, kiln_type t, kn_scalar v);           /* a constant of equal elements */
bool kn_xis_wide(const kn_export *x, kn_atom a); /* a literal that the text wrote as such a constant where it is broadcast */
uint32_t kn_xbroadcast(kn_export *x, uint32_t value, kiln_type shape); /* to the shape, with its own element type: scalars, size 1 against n */
uint32_t kn_xcompare(kn_export *x, const char *direction, uint32_t a, uint32_t b, bool total); /* in the total order: of floats */
uint32_t kn_xconvert(kn_export *x, uint32_t value, kiln_dtype to);
uint32_t kn_xfirst(kn_export *x, const kn_eqn *e, kiln_dtype d, kn_scalar v); /* the first value of a reduction */

/* What the text that the program was read from named as the equation's first value or index. */
bool kn_xwritten(const kn_export *x, const kn_eqn *e, kn_atom *a);

/* A region of the operation whose arguments are the last `nargs` of the body's; the first ones are `captured` values. */
void kn_xregion(kn_export *x, kn_mop *op, uint32_t k, uint32_t nregions, const kn_jaxpr *body, const kn_atom *captured, uint32_t ncaptured);
/* A region whose block is open until kn_xclose. */
enum { KN_XDEEPEST = 190 }; /* bodies within bodies: what the readers take */

typedef struct kn_xopen {
    kn_mop *op; /* whose region number k it is, of nregions */
    uint32_t k, nregions;
    kn_mregion *region, *outer;
    kn_mop *outer_last;
    uint32_t arg;
} kn_xopen;
kn_xopen kn_xopen_region(kn_export *x, kn_mop *op, uint32_t k, uint32_t nregions, const kiln_type *args, uint32_t nargs);
void kn_xclose(kn_export *x, kn_xopen o, const uint32_t *results, uint32_t n);
/* Region 0 of 1: of two scalars one operation is made. */
void kn_xcombine_region(kn_export *x, kn_mop *op, const char *name, kiln_dtype d, kiln_dtype result);
/* What belongs to the function that is being made is put aside, since callees are made where they are first called; kn_xleave gives f
 * the values that were made since, and goes on where kn_xenter was. */
kn_export kn_xenter(kn_export *x);
void kn_xleave(kn_export *x, const kn_export *saved, kn_mfunc *f);
/* The function of a body, by name. */
const kn_mfunc *kn_xfunction(kn_export *x, const kn_jaxpr *body, const char *name);
void kn_xcall(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_jaxpr *body, const char *name);
/* A body's operations at the end of the block: args are the values of its arguments, out receives those of its results. */
void kn_xinline(kn_export *x, const kn_jaxpr *body, const uint32_t *args, uint32_t *out);
/* The same for what a composite stands for: equal bodies become one function. */
const kn_mfunc *kn_xdecomposition(kn_export *x, const kn_jaxpr *body, const char *name);
/* What StableHLO knows under no name: a composite of ours, whose decomposition anyone can run (row->extra: how it is made). */
void kn_xcomposite(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row);
void kn_xparams(kn_export *x, const kn_eqn *e, kn_mattr *out); /* the equation's parameters as a dictionary */
/* What the primitive's lowering gives for the equation, as a body of its operands; with `literals` for these very values of those that are
 * literals. */
const kn_jaxpr *kn_xlowering(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, bool literals);
void kn_xeqn(kn_export *x, const kn_jaxpr *j, const kn_eqn *e);
void kn_xlowered(kn_export *x, const kn_jaxpr *j, const kn_eqn *e); /* as what the primitive's lowering gives */

/* The program with keys as pairs of words (export_keys.c); NULL in `out` where it has no keys. Scopes, files and names are those of p. */
kiln_status kn_xwords(kiln_ctx *ctx, const kn_prog *p, kn_prog **out);

/* Contents of dense<..>. */
kiln_status kn_dense_text(kiln_ctx *ctx, kn_arena *arena, kiln_type t, const void *data, kn_span *out);
const char *kn_mlir_dtype(kiln_dtype d); /* i32, ui8, complex<f32>; NULL when there is none */

#endif
