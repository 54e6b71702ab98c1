/* SPDX-License-Identifier: Apache-2.0 */
/* Printing of jaxprs, as Python prints them. */
#ifndef KN_IR_PRINT_H
#define KN_IR_PRINT_H

#include "base/text.h"
#include "ir/prim.h"

enum { KN_MAX_NESTING = 256 }; /* bodies within bodies that text may hold */

typedef struct kn_print_style {
    unsigned width; /* 0 is unlimited */
    bool old;       /* dialect: literals without types; shows what the new one leaves to the results' types */
    bool brief;     /* a listing to be read by people: parameters are left out, and the definitions of shared bodies; the names are those
                     * of the whole text */
} kn_print_style;
/* Appends `j` with the definitions of the bodies that it shares. No newline at the end. */
kiln_status kn_print_jaxpr(kiln_ctx *ctx, const kn_jaxpr *j, kn_print_style style, kn_text *out);
/* Does the parameter stand in the text? */
bool kn_param_shows(const kn_eqn *e, uint32_t i, bool old_dialect);
/* Appends a parameter as Python's str() spells it. */
kiln_status kn_print_param(kiln_ctx *ctx, const kn_param *p, kn_text *out);

/* The bodies that are printed once, before the program, under a name of their own (ir/share.c). */
typedef struct kn_shared {
    KN_VEC(const kn_jaxpr *) bodies; /* in the order of printing */
    KN_VEC(const char *) names;
    uint32_t *slots, n_slots; /* hash table over bodies: index + 1, 0 empty */
} kn_shared;
/* Those that occur more than once, and those of more than ten equations. */
kiln_status kn_shared_find(kiln_ctx *ctx, kn_arena *arena, const kn_jaxpr *main, kn_shared *out);
const char *kn_shared_name(const kn_shared *s, const kn_jaxpr *body); /* or NULL */

#endif
