/* SPDX-License-Identifier: Apache-2.0 */
/* Object code into memory. The object is a relocatable ELF file for x86-64 with read-only and executable sections only and
 * without undefined symbols; nothing else is accepted, and a damaged object is an error, never a crash. */
#ifndef KN_RUN_LOADER_H
#define KN_RUN_LOADER_H

#include "base/ctx.h"

typedef struct kn_code {
    char *base; /* pages of code, then pages of read-only data; NULL: nothing loaded */
    size_t bytes; /* mapped */
    size_t code_bytes, data_bytes; /* of the sections */
} kn_code;

/* Maps the object's sections, relocates them, protects them (never writable and executable at once) and finds `symbol`.
 * Errors: KILN_CORRUPT; KILN_COMPILE an undefined symbol, named; KILN_NOMEM. */
kiln_status kn_code_load(kiln_ctx *ctx, const void *object, size_t n, const char *symbol, kn_code *out, void **address);
void kn_code_free(kn_code *c);

#endif
