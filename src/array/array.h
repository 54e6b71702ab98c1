/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KN_ARRAY_ARRAY_H
#define KN_ARRAY_ARRAY_H

#include "base/ctx.h"
#include "kiln/array.h"

#include <stdatomic.h>

struct kiln_array {
    atomic_int refs;
    kn_alloc alloc;
    kiln_type type; /* dims stand behind this struct */
    void *data;
    size_t bytes;
    bool owned;
    void (*release)(void *ud, void *data);
    void *release_ud;
};

/* Bits that count in one element: 1 for bool, 2 and 4 for the narrow types, else all bits in memory. */
unsigned kn_dtype_width(kiln_dtype d);

/* The element type of a complex number's parts. */
static inline kiln_dtype kn_part_dtype(kiln_dtype d) { return d == KILN_C64 ? KILN_F32 : KILN_F64; }

/* One element, of any type; complex numbers are re, im. */
typedef union kn_scalar {
    bool b;
    int64_t i; /* every signed type, sign-extended */
    uint64_t u;
    double f; /* every float type, exact */
    double c[2];
} kn_scalar;

/* Reads and writes element k of memory of this dtype. Writing rounds to nearest even once. */
kn_scalar kn_scalar_load(kiln_dtype d, const void *data, int64_t k);
void kn_scalar_store(kiln_dtype d, void *data, int64_t k, kn_scalar v);
/* The same value after rounding to d (v.f for float kinds, wrapped for integers). */
kn_scalar kn_scalar_round(kiln_dtype d, kn_scalar v);
bool kn_scalar_same(kiln_dtype d, kn_scalar a, kn_scalar b); /* bitwise */

/* Programs hold arrays of at most so many dimensions (ir/build.c refuses more): index vectors are arrays of this size. */
enum { KN_RANK_LIMIT = 32 };

/* Copies the dims into the arena. */
kiln_status kn_type_copy(kiln_ctx *ctx, kn_arena *arena, kiln_type t, kiln_type *out);
#define KN_TYPE_TEXT 128
typedef struct kn_type_text {
    char s[KN_TYPE_TEXT];
} kn_type_text;
kn_type_text kn_type_show(kiln_type t); /* for messages: kn_type_show(t).s */

#endif
