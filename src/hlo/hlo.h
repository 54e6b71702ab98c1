/* SPDX-License-Identifier: Apache-2.0 */
/* StableHLO and HLO text in and out; programs as graphs. */
#ifndef KN_HLO_HLO_H
#define KN_HLO_HLO_H

#include "base/text.h"
#include "hlo/packed.h"
#include "ir/ir.h"

/* One comparison of a self-checking module: two results of the program. */
typedef enum kn_hcheck_kind { KN_CHECK_EQUAL, KN_CHECK_ALMOST, KN_CHECK_CLOSE, KN_CHECK_BITS /* zeros have signs */ } kn_hcheck_kind;
typedef struct kn_hcheck {
    kn_hcheck_kind kind;
    uint32_t got, want; /* outputs of the program */
    double tolerance;   /* ALMOST: largest absolute difference */
    uint64_t max_ulp, min_ulp;
    uint32_t line, column;
    const char *name; /* as written */
} kn_hcheck;
typedef struct kn_hchecks {
    KN_VEC(kn_hcheck) v;
    KN_VEC(kn_atom) atoms; /* while importing: got and want of each */
} kn_hchecks;

/* Refuses programs in binary forms by name: bytecode, what jax.export serializes, pickles; KILN_OK for anything that may be text. */
kiln_status kn_prog_refuse_binary(kiln_ctx *ctx, const char *text, size_t n, const char *file);

/* Does the text look like a StableHLO module (or bytecode, which is refused by name)? */
bool kn_hlo_is(const char *text, size_t n);

/* Reads a module and makes a program of @main (or of its one public function).
 * Errors: KILN_INVALID, KILN_UNSUPPORTED and the type rules', all with line and column. */
kiln_status kn_hlo_parse(kiln_ctx *ctx, const char *text, size_t n, const char *file, kn_prog **out);

kiln_status kn_hlo_parse_packed(kiln_ctx *ctx, const kn_packed *text, const char *file, kn_prog **out);

/* A program from text of any form, as kiln_prog_parse. */
kiln_status kn_prog_parse_packed(kiln_ctx *ctx, const kn_packed *text, const char *file, kn_prog **out);

/* The same for HLO text (HloModule ..): before or after optimisation, as XLA prints it. */
bool kn_hlo_text_is(const char *text, size_t n);
kiln_status kn_hlo_text_parse(kiln_ctx *ctx, const char *text, size_t n, const char *file, kn_prog **out);

/* Appends a program as a StableHLO module; what was read from one is written as it was read, names of values and locations aside.
 * Errors: KILN_UNSUPPORTED a type or primitive without a form, a constant without a value; KILN_NOMEM. */
kiln_status kn_hlo_print_stablehlo(kiln_ctx *ctx, const kn_prog *p, kn_text *t);

/* Appends a program as HLO text. Errors: as kn_hlo_print_stablehlo. */
enum {
    KN_HLO_OPTIMISED = 1u << 0, /* names and signatures as compiled HLO has them, calls of functions named fused_.. as fusions */
    KN_HLO_BRIEF = 1u << 1      /* the entry alone, without places and the operands of fusions */
};
kiln_status kn_hlo_print_hlo(kiln_ctx *ctx, const kn_prog *p, unsigned flags, kn_text *t);

/* Appends a program as a graph in Graphviz's language (hlo/dot.c); `brief` leaves parameters out; `nboxes` (may be NULL) is
 * told how many boxes there are. Errors: KILN_NOMEM; KILN_UNSUPPORTED bodies nested too deep. */
kiln_status kn_dot_print(kiln_ctx *ctx, const kn_prog *p, bool brief, kn_text *t, uint32_t *nboxes);

#endif
