/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the HLO printer: computations are collected as instructions, then written in post-order, callees first. */
#ifndef KN_HLO_HPRINT_H
#define KN_HLO_HPRINT_H

#include "base/text.h"
#include "hlo/export.h"
#include "hlo/hlo.h"
#include "hlo/mprint.h"

typedef struct kn_hinst {
    const char *name, *opcode, *shape;
    const char *literal; /* what stands in the parentheses of parameters and constants; NULL: operands */
    const char *attrs;   /* ", key=value.." */
    const uint32_t *in;
    uint32_t nin;
    bool visited, called; /* printed; calls a computation */
    const char *callee;   /* of a fusion */
    const kn_mloc *loc;
} kn_hinst;

typedef struct kn_hcomp kn_hcomp;
struct kn_hcomp {
    const char *name;
    KN_VEC(kn_hinst) inst;
    KN_VEC(uint32_t) params;
    uint32_t root;
    bool fused; /* one nest of ours */
};

typedef struct kn_hprint {
    kiln_ctx *ctx;
    kn_arena *arena;
    const kn_mmodule *m;
    bool optimised; /* names with %, signatures, fusions */
    bool brief;
    kiln_status status;
    uint32_t next_id;
    KN_VEC(kn_hcomp *) comps; /* finished ones in the order of the text */
    kn_hcomp **of_func;       /* per function: its computation, or NULL */
    /* the function and the computation that are being made */
    const kn_mfunc *f;
    kn_hcomp *c;
    const kn_mop **def; /* per value of f: the operation that gives it, NULL: an argument */
    uint32_t *at;       /* per value of f: instruction + 1 in c, or 0 */
    uint32_t depth;
} kn_hprint;

/* ---- hprint_module.c: computations ---- */
kiln_status kn_hmodule(kn_hprint *p); /* makes all; the entry is the last of comps */
uint32_t kn_hvalue_at(kn_hprint *p, uint32_t value);
uint32_t kn_hadd(kn_hprint *p, const char *opcode, const char *shape, const uint32_t *in, uint32_t nin, const char *attrs);
const char *kn_hshape(kn_hprint *p, kiln_type t);
const char *kn_hshape_of(kn_hprint *p, const uint32_t *values, uint32_t n); /* one array, or a tuple */
const char *kn_htuple_shape(kn_hprint *p, const uint32_t *values, uint32_t n); /* a tuple, of one array too */
void kn_hfail(kn_hprint *p, kiln_status s);
const char *kn_hkeep(kn_hprint *p, kn_text *t); /* the text, ended; the buffer is emptied */
void kn_hset_results(kn_hprint *p, const kn_mop *o, uint32_t inst); /* one result, or those of a tuple */
/* The computation of a region over scalars. HLO's bodies see nothing around them, so that captured values enter as elements of one more array
 * each: of a comparator as a pair more, else as one accumulator and one element more, of which the accumulator is the result, too. */
const char *kn_hregion_name(kn_hprint *p, const kn_mregion *r, const uint32_t *captured, uint32_t n, bool pairs);

/* A region whose one parameter is a tuple of `captured` values and its arguments; `pass`: its result is a tuple that begins with them. */
kn_hcomp *kn_htuple_region(kn_hprint *p, const kn_mregion *r, const uint32_t *captured, uint32_t n, bool pass);
kn_hcomp *kn_hfunction(kn_hprint *p, const kn_mfunc *f);

/* ---- hprint_op.c: what an operation is in HLO ---- */
void kn_hop(kn_hprint *p, const kn_mop *o);

/* ---- hprint_control.c ---- */
void kn_hcontrol(kn_hprint *p, const kn_mop *o); /* while, case, if */
/* The values from around that regions of the operation use, constants aside. */
typedef struct kn_hcaptured {
    KN_VEC(uint32_t) values;
} kn_hcaptured;
kn_hcaptured kn_hcaptured_by(kn_hprint *p, const kn_mop *o);

const char *kn_hlo_dtype(kiln_dtype d);

#endif
