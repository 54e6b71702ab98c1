/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the MLIR printer share. */
#ifndef KN_HLO_MPRINT_H
#define KN_HLO_MPRINT_H

#include "base/map.h"
#include "base/text.h"
#include "hlo/mlir.h"

typedef struct kn_mprint {
    kiln_ctx *ctx;
    kn_arena *arena;
    const kn_mmodule *m;
    const kn_mfunc *f;
    kn_text *t;
    const char **names; /* per value of the function, without % */
    uint32_t *first;    /* per value: the first result of its operation, when that has several; else itself */
    bool *several;
    uint32_t next_value, next_arg, next_conflict;
    unsigned used; /* which of the common names are visible: a bit each */
    bool locations;            /* does any operation have one? */
    KN_VEC(const kn_mloc *) locs;
    kn_map loc_of;           /* hash -> the newest of locs that has it, + 1 */
    KN_VEC(uint32_t) older; /* per location: another one + 1 with its hash, or 0 */
    bool failed;
} kn_mprint;

/* ---- mprint_name.c: names as MLIR gives them ---- */
void kn_mprint_names(kn_mprint *p, const kn_mfunc *f);

/* ---- mprint_attr.c ---- */
void kn_mprint_type(kn_text *t, const kn_mtype *type);
void kn_mprint_attr(kn_text *t, const kn_mattr *a, bool pretty); /* pretty: integers without their types */
void kn_mprint_dict(kn_text *t, const kn_mfield *fields, uint32_t n, const char *left_out); /* {a = b, ..}; names between | in left_out are not printed */
bool kn_mprint_listed(const char *names, kn_span name); /* is it one of those between | in names (NULL: none)? */
void kn_mprint_string(kn_text *t, kn_span s);
void kn_mprint_symbol(kn_text *t, kn_span name); /* @name, quoted where it must be */
void kn_mprint_loc(kn_mprint *p, const kn_mloc *l); /* a reference, " loc(#loc3)" */
void kn_mprint_loc_aliases(kn_mprint *p);

/* ---- mprint.c ---- */
kiln_status kn_mlir_print(kiln_ctx *ctx, kn_arena *arena, const kn_mmodule *m, kn_text *t);

#endif
