/* SPDX-License-Identifier: Apache-2.0 */
/* What the primitives share: reading parameters, checking operands, broadcasting, walking over elements. */
#ifndef KN_PRIM_COMMON_H
#define KN_PRIM_COMMON_H

#include "ir/prim.h"
#include "prim/element.h"

enum { KN_MAX_RANK = KN_RANK_LIMIT };

/* ---- reading parameters (no checks: the type rule has made them) ---- */

/* The integers of a tuple parameter; an empty tuple of either kind is an empty list. */
static inline const int64_t *kn_ints(const kn_param *p) { return p->kind == KN_P_INTS ? p->ints : NULL; }
static inline bool kn_is_none(const kn_param *p) { return p->kind == KN_P_NONE; }

/* ---- type rules ---- */

/* Parameter k of the equation, which must be of this kind; the message names it. */
kiln_status kn_typing_int(const kn_typing *t, uint32_t k, int64_t *v);
kiln_status kn_typing_bool(const kn_typing *t, uint32_t k, bool *v);
kiln_status kn_typing_dtype(const kn_typing *t, uint32_t k, kiln_dtype *v);
kiln_status kn_typing_ints(const kn_typing *t, uint32_t k, const int64_t **v, uint32_t *n);
kiln_status kn_typing_jaxpr(const kn_typing *t, uint32_t k, const kn_jaxpr **v);
/* As kn_typing_ints: distinct dimensions of something of this rank (rising, when asked). */
kiln_status kn_typing_axes(const kn_typing *t, uint32_t k, uint32_t rank, bool rising, const int64_t **v, uint32_t *n);
kiln_status kn_typing_axis(const kn_typing *t, uint32_t k, uint32_t rank, int64_t *v);
kiln_status kn_typing_count(const kn_typing *t, uint32_t least); /* at least so many operands */

/* The element kind of an operand must be one of these. */
kiln_status kn_typing_kinds(const kn_typing *t, uint32_t operand, const char *kinds);
kiln_status kn_typing_same_dtype(const kn_typing *t, uint32_t a, uint32_t b);
kiln_status kn_typing_scalar_int(const kn_typing *t, uint32_t operand);

/* Result k: this element type and fresh dims to fill (NULL for rank 0), or the dims of `shape`. */
kiln_status kn_typing_shape(kn_typing *t, uint32_t k, kiln_dtype d, uint32_t rank, int64_t **dims);
kiln_status kn_typing_like(kn_typing *t, uint32_t k, kiln_dtype d, kiln_type shape);
/* Broadcasts the shapes of operands from..to-1 (equal, scalar, or 1 against n at equal rank). The dims stand in the arena. */
kiln_status kn_typing_broadcast(kn_typing *t, uint32_t from, uint32_t to, kiln_type *common);

kiln_status kn_type_same_number(kn_typing *t);  /* unary: iufc -> same */
kiln_status kn_type_same_float(kn_typing *t);   /* unary: f -> same */
kiln_status kn_type_same_fc(kn_typing *t);      /* unary: fc -> same */
kiln_status kn_type_same_any(kn_typing *t);     /* unary: anything -> same */
kiln_status kn_type_nary_float(kn_typing *t);   /* equal f, broadcast */
kiln_status kn_type_nary_number(kn_typing *t);  /* equal iufc, broadcast */
kiln_status kn_type_nary_real(kn_typing *t);    /* equal iuf */
kiln_status kn_type_nary_bits(kn_typing *t);    /* equal biu */

/* Compares a body's operands or results with types; `what` and `first` for the message. */
kiln_status kn_typing_body_in(const kn_typing *t, const kn_jaxpr *body, const char *what, const kiln_type *want, uint32_t n,
                              uint32_t first);

/* What a primitive that reduces by one operation starts from; `d` is the accumulator's type. */
kn_scalar kn_reduction_first(const kn_prim *p, kiln_dtype d);

/* ---- element rules ---- */

/* The index of an operand that broadcasts to the result: scalars have none, dimensions of size 1 are 0. */
kn_lv kn_element_broadcast(kn_element *m, const kn_eqn *e, uint32_t operand, const kn_lv *ix);
kn_lv kn_element_sop(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix); /* prim->scalar_op over the operands */
kn_lv kn_element_identity(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix);
/* A start index as dynamic_slice takes it: operand's value as i64, clamped into 0..most. */
kn_lv kn_element_start(kn_element *m, const kn_eqn *e, uint32_t operand, int64_t most);
static inline kiln_type kn_in_type(const kn_jaxpr *j, const kn_eqn *e, uint32_t k) { return kn_type_of(j, e->in[k]); }
static inline kiln_type kn_out_type(const kn_jaxpr *j, const kn_eqn *e, uint32_t k) { return j->vars[e->out[k]].type; }

/* ---- eval rules ---- */

/* One element of the result from one element of each operand. */
typedef kn_scalar (*kn_map_fn)(const kn_jaxpr *j, const kn_eqn *e, const kn_scalar *x);
kiln_status kn_eval_map(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array *out, kn_map_fn f);
kiln_status kn_eval_sop(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out);
kiln_status kn_eval_identity(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out);

/* Row-major strides, in elements. */
void kn_strides(kiln_type t, int64_t *stride);
/* Steps ix to the next index in row-major order; false after the last. Start from zeros, and only where there are elements. */
bool kn_next(kiln_type t, int64_t *ix);
/* Copies element `from` of one array to element `to` of another of the same element type, bits and all. */
static inline void kn_move(kiln_array *dst, int64_t to, const kiln_array *src, int64_t from)
{
    size_t w = kiln_dtype_bytes(src->type.dtype);
    if (w) memcpy((char *)dst->data + (size_t)to * w, (const char *)src->data + (size_t)from * w, w);
}
/* An integer scalar of any type, saturated to i64. */
int64_t kn_index_value(const kiln_array *a);

#endif
