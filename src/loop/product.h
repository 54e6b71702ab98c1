/* SPDX-License-Identifier: Apache-2.0 */
/* A dot_general being made: what dot.c (one element at a time) and tile.c (register tiles) share. */
#ifndef KN_LOOP_PRODUCT_H
#define KN_LOOP_PRODUCT_H

#include "loop/maker.h"
#include "prim/dot.h"
#include "rt/dot.h"

typedef struct product {
    frame *f;
    const kn_eqn *e;
    place *side[2];
    kiln_type type[2], y;
    kn_dot_dims dims;
    kn_dot_order order;
    uint32_t slot;        /* of the result, or of the sums of blocks where that is not stored */
    place *into;          /* what is made of each element and stored in its place, at its own index; NULL: nothing is */
    place *element;       /* the product's own place meanwhile */
    uint32_t into_slot;
    bool plain;           /* `into` reads nothing but arrays of the product's shape, so that an index may run on through dimensions */
} product;

/* Indices of one operand but for the contracting dimensions, from the result's index. */
void product_outer(const product *p, int side, const kn_lv *out, kn_lv *ix);
bool product_contracts(const product *p, int side, uint32_t d);
bool product_batches(const product *p, int side, uint32_t d);
/* Element k of the chain of one operand, as the accumulator's type. */
kn_lv product_factor(maker *m, const product *p, int side, kn_lv *ix, kn_lv k);
kn_lv product_step(maker *m, const product *p, kn_lv x, kn_lv y, kn_lv acc);
kn_lv product_zero(maker *m, const product *p);
/* Is k known only when the program runs? Then: how many blocks it has; and v, or +0 where there is no k at all. */
bool product_open(const maker *m, const product *p);
kn_lv product_blocks(maker *m, const product *p);
kn_lv product_or_nothing(maker *m, const product *p, kn_lv v);
kn_lv product_rounded(maker *m, const product *p, kn_lv acc); /* to the result's type */
/* Is it made in tiles? True of a product that has a dimension of its own side and chains along k. */
bool makes_tiles(const kn_jaxpr *j, const kn_eqn *e);

/* In register tiles; false: nothing was made, the product has no shape for it. */
bool emit_tiles(maker *m, const product *p);

#endif
