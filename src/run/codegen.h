/* SPDX-License-Identifier: Apache-2.0 */
/* The code generator as a table: run/ opens libkiln-llvm.so on first need and asks it for this, by the symbol
 * kn_codegen_table. The module calls nothing of libkiln; what it needs comes through these structures. */
#ifndef KN_RUN_CODEGEN_H
#define KN_RUN_CODEGEN_H

#include "loop/loop.h"

/* Differs wherever module and library would read the same loops differently. */
#define KN_CODEGEN_ABI                                                                             \
    ((uint32_t)((((5 * 131 + sizeof(kn_loops)) * 131 + sizeof(kn_linst)) * 131 + sizeof(kn_lregion)) * 131 +         \
                (unsigned)KN_N_SOPS * 4 + (unsigned)KILN_N_DTYPES))

typedef struct kn_codegen_options {
    const char *target; /* base/cpu.h */
    int tier;           /* 0 or 2 */
    bool flush;         /* subnormal numbers are read and made as zeros */
    bool want_ir, want_asm;
    double (*cost)(const kn_loops *l, kn_lv stmt, bool quick); /* loop/cost.h */
    /* Index into the call table of function `op` on `lanes` elements of dtype, or -1; and the lane counts that exist, widest
     * first, 0 at the end. */
    int (*table_index)(kn_sop op, kiln_dtype dtype, unsigned lanes);
    const unsigned *(*table_lanes)(kn_sop op, kiln_dtype dtype, const char *target);
} kn_codegen_options;

typedef struct kn_codegen_result {
    char *object; /* relocatable ELF; all three come from malloc and are freed with `release` */
    size_t object_bytes;
    char *ir, *assembly; /* or NULL */
    uint64_t calls_out, scalar_calls; /* call sites */
    uint64_t slow; /* level 0: instructions for the slow one of LLVM's instruction selectors */
} kn_codegen_result;

typedef struct kn_codegen {
    uint32_t abi; /* KN_CODEGEN_ABI */
    const char *version; /* "LLVM 19.1.7" */
    /* 0, or -1 with a message in `error`. The object defines the function kiln_entry and has no undefined symbol. */
    int (*generate)(const kn_loops *l, const kn_codegen_options *o, kn_codegen_result *out, char *error, size_t error_bytes);
    void (*release)(kn_codegen_result *r);
} kn_codegen;

typedef const kn_codegen *(*kn_codegen_getter)(void);

/* Opens the module that makes code for a target, once a process: libkiln-llvm.so for processors of this kind, libkiln-llvm-NAME.so for
 * others. Errors: KILN_COMPILE it is not there, or is of another version. Threads: any. */
kiln_status kn_codegen_open(kiln_ctx *ctx, const char *target, const kn_codegen **out);

#endif
