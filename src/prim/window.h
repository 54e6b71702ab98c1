/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that slide over an array: along dimension d, result element i and window element w meet the element at
 * i * stride + w * dilation - low of the array whose elements stand `base` apart; what is not an element is padding. */
#ifndef KN_PRIM_WINDOW_H
#define KN_PRIM_WINDOW_H

#include "prim/batch.h"
#include "prim/body.h"

typedef struct kn_window {
    uint32_t rank;
    const int64_t *size, *stride, *dilation, *base; /* dilation, base: NULL means 1 */
    const kn_param *padding;                        /* ((low, high), ..) */
} kn_window;

static inline int64_t kn_window_low(const kn_window *w, uint32_t d) { return kn_ints(&w->padding->items[d])[0]; }
static inline int64_t kn_window_high(const kn_window *w, uint32_t d) { return kn_ints(&w->padding->items[d])[1]; }
static inline int64_t kn_window_dilation(const kn_window *w, uint32_t d) { return w->dilation ? w->dilation[d] : 1; }
static inline int64_t kn_window_base(const kn_window *w, uint32_t d) { return w->base ? w->base[d] : 1; }

/* Reads parameters by place; negative: absent. Checks all but the array's shape. */
typedef struct kn_window_places {
    int base, padding, dilation, size, stride;
} kn_window_places;
kiln_status kn_window_typed(const kn_typing *t, kn_window_places at, uint32_t rank, kn_window *w);
kn_window kn_window_of(const kn_eqn *e, kn_window_places at);
/* The parameters of a window with a dimension in front over which it does not slide. */
void kn_window_lanes(kn_lanes *m, kn_window_places at, kn_param *params);
/* Sizes of the result for an array of these dims. */
kiln_status kn_window_result(const kn_typing *t, const kn_window *w, const int64_t *dims, int64_t *out);

/* Offset of the element that result index ix and window index wx meet, or -1 on padding. */
int64_t kn_window_offset(const kn_window *w, kiln_type x, const int64_t *ix, const int64_t *wx);

/* For lowering: the array with its padding written out. */
kn_atom kn_low_window_pad(kn_low *l, const kn_window *w, kn_atom x, kn_atom value);
/* A fold over window elements in row-major order: for each, `step` gets, for every padded array, the elements that stand there
 * for all result elements, and replaces acc. Written out when they are few, else a loop, into which `captured` are handed:
 * the step finds them, and the padded arrays, in the fold it is given. */
typedef struct kn_window_fold kn_window_fold;
struct kn_window_fold {
    const kn_window *w;
    kiln_type result; /* its shape */
    uint32_t n, nacc, ncaptured;
    const kn_atom *padded, *captured;
    kiln_status (*step)(kn_low *l, const kn_window_fold *f, kn_atom *acc, const kn_atom *slices);
    const void *ud;
};
kiln_status kn_low_window_fold(kn_low *l, const kn_window_fold *f, kn_atom *acc);

#endif
