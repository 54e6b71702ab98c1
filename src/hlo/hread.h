/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the HLO reader. The text becomes computations (hread_text.c); these become functions and regions of a module's tree
 * (hread_make.c, hread_op.c), from which the importer of StableHLO makes the program. Tuples are taken apart on the way: a value of
 * HLO is the list of its arrays. */
#ifndef KN_HLO_HREAD_H
#define KN_HLO_HREAD_H

#include "hlo/hprint.h"

typedef struct kn_htext_shape kn_htext_shape;
struct kn_htext_shape {
    bool tuple;
    kiln_type type; /* an array */
    uint32_t n;     /* TUPLE */
    const kn_htext_shape *const *items;
    uint32_t leaves; /* arrays in it */
};

typedef struct kn_htext_attr {
    kn_span key, value;
} kn_htext_attr;

typedef struct kn_htext_inst {
    kn_span name, opcode, literal;
    const kn_htext_shape *shape;
    const char *at; /* of the opcode */
    uint32_t line, nin, nattrs;
    const uint32_t *in; /* instructions of the computation */
    const kn_htext_attr *attrs;
    const kn_span *operands; /* names, until they are resolved */
} kn_htext_inst;

typedef struct kn_htext_comp {
    kn_span name;
    const char *at;
    KN_VEC(kn_htext_inst) inst;
    uint32_t root, nparams;
    const uint32_t *params; /* instructions by number of the parameter */
    bool entry;
    const kn_mfunc *made; /* once it has been called */
    bool making;
} kn_htext_comp;

typedef struct kn_htext {
    kn_source src;
    kn_arena *arena;
    kn_span name; /* of the module */
    KN_VEC(kn_htext_comp *) comps;
    kn_htext_comp *entry;
} kn_htext;

void kn_htext_leaves(const kn_htext_shape *s, kiln_type *out, uint32_t *n); /* types of its arrays, behind *n others */
kiln_status kn_htext_read(kiln_ctx *ctx, kn_arena *arena, const char *text, size_t n, const char *file, kn_htext *out);
kn_htext_comp *kn_htext_find(const kn_htext *h, kn_span name);
static inline const kn_span *kn_htext_attr_of(const kn_htext_inst *i, const char *key)
{
    for (uint32_t k = 0; k < i->nattrs; k++)
        if (kn_span_is(i->attrs[k].key, key)) return &i->attrs[k].value;
    return NULL;
}

/* ---- hread_make.c ---- */

typedef struct kn_hmake {
    kn_htext *h;
    kn_export x;            /* makes operations */
    const kn_htext_comp *c; /* that is being made */
    const uint32_t **at;    /* per instruction: values of its arrays */
    uint32_t depth;
} kn_hmake;

kiln_status kn_hmake_fail(kn_hmake *m, const kn_htext_inst *i, kiln_status code, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The named computation as region k: its parameters are the region's arguments, or (args, not NULL) `nargs` values from around. */
void kn_hmake_region(kn_hmake *m, const kn_htext_inst *i, kn_mop *op, uint32_t k, uint32_t nregions, const char *key, kn_span name, const uint32_t *args,
                     uint32_t nargs);
void kn_hmake_inst(kn_hmake *m, const kn_htext_inst *i, uint32_t *out); /* hread_op.c: values of the instruction's arrays */
const kn_mfunc *kn_hmake_function(kn_hmake *m, const kn_htext_inst *i, kn_span name);
/* Integers of {1,2}, or of 1x2 with `x` between them. */
bool kn_htext_ints(kn_span s, int64_t *v, uint32_t *n, uint32_t most);

#endif
