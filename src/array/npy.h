/* SPDX-License-Identifier: Apache-2.0 */
/* The .npy format in memory, shared by files of one array and by archives. */
#ifndef KN_ARRAY_NPY_H
#define KN_ARRAY_NPY_H

#include "array/array.h"
#include "base/file.h"

/* Reads an array; `name` is the file in messages. */
kiln_status kn_npy_decode(kiln_ctx *ctx, const char *name, const void *bytes, size_t n, kiln_array **out);

/* The header that stands before the array's memory. `name` is the file in messages. */
typedef struct kn_npy_header {
    char s[2048];
    size_t n;
} kn_npy_header;
kiln_status kn_npy_header_make(kiln_ctx *ctx, const char *name, kiln_type type, kn_npy_header *out);

/* The bytes behind it, piece by piece: p.at points to p.n of them until kn_npy_next says that there are none left. They are the array's
 * memory, but that numbers of less than 8 bits with a sign have it in all of their byte. */
typedef struct kn_npy_piece {
    const kiln_array *a;
    const unsigned char *at;
    size_t n, done;
    unsigned char own[4096];
} kn_npy_piece;
bool kn_npy_next(kn_npy_piece *p); /* begins with all but `a` zero */
kiln_status kn_npy_write(kn_file *f, const kiln_array *a); /* all pieces */

#endif
