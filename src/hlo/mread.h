/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the MLIR reader share. */
#ifndef KN_HLO_MREAD_H
#define KN_HLO_MREAD_H

#include "hlo/mlir.h"

enum { KN_DEEPEST = 200 }; /* nested regions, attributes, types, locations together */
enum { KN_TYPE_CACHE = 1024 };

/* A name that is visible: newest first in its chain, so that leaving a region only takes chain heads off. */
typedef struct kn_mbinding {
    kn_span name;
    uint32_t first, count; /* values */
    uint32_t next;         /* in the chain: index + 1, or 0 */
    uint32_t bucket;       /* the whole hash */
} kn_mbinding;

typedef struct kn_mreader {
    kn_lexer lx;
    kiln_ctx *ctx;
    kn_arena *arena;
    kn_mmodule *module;
    uint32_t depth, chunk;
    KN_VEC(kn_mvalue) values; /* of the function that is being read */
    KN_VEC(kn_mbinding) bindings;
    uint32_t *buckets; /* index + 1 of a binding, or 0 */
    uint32_t n_buckets;
    uint32_t *locs; /* open addressing over module->locs: index + 1, or 0 */
    uint32_t n_locs;
    const kn_mtype *types[KN_TYPE_CACHE]; /* recently read types by text */
    /* stacks: a list that is being read stands on top, then moves to the arena */
    KN_VEC(uint32_t) ids;
    KN_VEC(const kn_mtype *) type_list;
    KN_VEC(kn_mattr) attr_list;
    KN_VEC(kn_mfield) field_list;
} kn_mreader;

kiln_status kn_mread_deeper(kn_mreader *r); /* counts one level down; the caller counts back */

/* ---- tree_type.c ---- */
kiln_status kn_mread_type(kn_mreader *r, const kn_mtype **out);
bool kn_mread_is_type(const kn_mreader *r); /* can the next token begin a type? */
/* Types separated by commas, or in parentheses: pushed on type_list. */
kiln_status kn_mread_types(kn_mreader *r);
kiln_status kn_mread_types_in_parens(kn_mreader *r);
kiln_status kn_mtype_list(kn_mreader *r, uint32_t base, const kn_mtype *const **out, uint32_t *n); /* moves the top of the stack */

/* ---- tree_attr.c ---- */
kiln_status kn_mread_attr(kn_mreader *r, kn_mattr *out);
kiln_status kn_mread_dict(kn_mreader *r);                /* { .. }: pushed on field_list */
kiln_status kn_mread_fields(kn_mreader *r, char close);  /* key = value, .. up to the bracket (0: the end of the text), taken */
kiln_status kn_mfield_list(kn_mreader *r, uint32_t base, const kn_mfield **out, uint32_t *n);
kiln_status kn_mread_dict_attr(kn_mreader *r, kn_mattr *out); /* { .. } as one attribute; UNIT when there is none */
kiln_status kn_mread_list(kn_mreader *r, kn_mattr *out);      /* [ .. ] */
kiln_status kn_mread_number(kn_mreader *r, kn_mattr *out);    /* INT or FLOAT without a type */
kiln_status kn_mread_elements(kn_mreader *r, kn_mattr *out);  /* dense<..> or dense_resource<..>, and its type */

/* ---- tree_loc.c ---- */
kiln_status kn_mread_loc(kn_mreader *r, const kn_mloc **out); /* loc(..), or NULL when there is none */
kiln_status kn_mread_loc_alias(kn_mreader *r, kn_span name, kn_mloc **out);

/* ---- tree_op.c ---- */
kiln_status kn_mread_operand(kn_mreader *r);  /* one %value: pushed on ids */
kiln_status kn_mread_operands(kn_mreader *r); /* %a, %b, ..: none is fine */
kiln_status kn_mid_list(kn_mreader *r, uint32_t base, const uint32_t **out, uint32_t *n);
kiln_status kn_mread_region(kn_mreader *r, kn_mregion *out);
kiln_status kn_mread_value(kn_mreader *r, const kn_mtype *type, kn_span name, const char *at, uint32_t *id); /* defines one */
kiln_status kn_mread_bind(kn_mreader *r, kn_span name, const char *at, uint32_t first, uint32_t count);
uint32_t kn_mread_scope(const kn_mreader *r);
void kn_mread_leave(kn_mreader *r, uint32_t scope); /* forgets names bound since kn_mread_scope */
/* Block arguments `%a: type loc?, ..` up to `)`: defined and bound; returns how many in *n. */
kiln_status kn_mread_args(kn_mreader *r, uint32_t *n);
kiln_status kn_mread_refuse_branch(const kn_mreader *r);
/* Operations up to `}`, which is not taken. */
kiln_status kn_mread_ops(kn_mreader *r, kn_mregion *region);
/* Checks the operands' types as written against what they are. */
kiln_status kn_mread_check_types(kn_mreader *r, const char *at, const uint32_t *in, uint32_t nin, const kn_mtype *const *types, uint32_t n);

/* ---- tree_pretty.c ---- */

/* What an operation says between its name and its location. */
typedef struct kn_mopened {
    kn_mop *op;
    uint32_t ids, fields;              /* bases of the stacks */
    const kn_mtype *const *results;    /* types, once read */
    uint32_t nresults;
} kn_mopened;
kiln_status kn_mread_pretty(kn_mreader *r, kn_mopened *o);
kiln_status kn_mread_signature(kn_mreader *r, kn_mopened *o); /* `: (types) -> types`, for the generic form */
/* A field of the operation that is being read. */
kiln_status kn_mread_put(kn_mreader *r, const char *name, kn_mattr value);

/* ---- tree_region.c: pretty forms with regions ---- */
kiln_status kn_mread_reduce(kn_mreader *r, kn_mopened *o);
kiln_status kn_mread_while(kn_mreader *r, kn_mopened *o);
/* ---- tree_window.c ---- */
kiln_status kn_mread_conv_dims(kn_mreader *r, kn_mattr *out); /* [b, 0, f]x[0, i, o]->[b, 0, f] as a list of three lists */
kiln_status kn_mread_window(kn_mreader *r);                   /* {stride = .., ..}: fields of the operation */

#endif
