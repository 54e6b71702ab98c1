/* SPDX-License-Identifier: Apache-2.0 */
/* What refine.c and the files of its rules share. */
#ifndef KN_HLO_REFINE_H
#define KN_HLO_REFINE_H

#include "array/size.h"
#include "hlo/import.h"

typedef struct kn_hrefined kn_hrefined;

typedef struct kn_hrefining {
    kn_himport h; /* of its members: what attributes and errors need */
    kn_mfunc *f;
    kn_mvalue *values; /* of the function */
    kn_mknown *known;
    kn_hrefined *functions; /* by index in the module */
    uint32_t depth;
} kn_hrefining;

static inline const kn_mtype *kn_hrefined_type(const kn_hrefining *r, uint32_t value) { return r->values[value].type; }
static inline bool kn_hopen_type(const kn_mtype *t) { return t->kind == KN_MT_TENSOR && t->dynamic; }
/* Result k of the operation has these dimensions, if it was written with `?`; what is written must agree. */
kiln_status kn_hset_dims(kn_hrefining *r, const kn_mop *o, uint32_t k, const int64_t *dims, uint32_t rank);

/* refine_numbers.c: what is known of small arrays of integers. */
static inline const kn_mknown *kn_hknown_numbers(const kn_hrefining *r, const kn_mop *o, uint32_t k)
{
    static const kn_mknown nothing;
    return k < o->nin && !r->known[o->in[k]].positive ? &r->known[o->in[k]] : &nothing;
}
/* What an operation on small integers gives, where its operands are known. */
kiln_status kn_hfollow_numbers(kn_hrefining *r, const kn_mop *o);
typedef enum kn_hfold { KN_HFOLD_ADD, KN_HFOLD_SUB, KN_HFOLD_MUL, KN_HFOLD_DIV, KN_HFOLD_MAX, KN_HFOLD_MIN } kn_hfold;
bool kn_hfold_two(kn_hfold op, int64_t x, int64_t y, int64_t *z); /* false: not linear in n, too large, or it depends on n */

/* refine_dims.c: types of the results of an operation without control flow. `name`: of the operation or the custom call. */
kiln_status kn_hrefine_dims(kn_hrefining *r, const kn_mop *o, kn_span name);

#endif
