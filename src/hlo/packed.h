/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of modules with large constants, read so that the digits are never in memory together: a long run of hexadecimal digits,
 *
 *      dense<"0x0000803F..."> : tensor<25000000xf32>         name: "0x040000000000803F..."
 *
 * leaves the text while it is read and becomes bytes, half as many, which the constant's array then uses where they lie. So 100 MB of
 * constants take 100 MB. Columns of messages count the digits that are gone. */
#ifndef KN_HLO_PACKED_H
#define KN_HLO_PACKED_H

#include "array/array.h"
#include "base/file.h"

/* Shorter runs stay in the text. */
enum { KN_HEX_LONG = 1 << 16 };

typedef struct kn_hex_run {
    size_t at;         /* where in the text the digits were */
    kiln_array *bytes; /* u8 */
} kn_hex_run;

typedef struct kn_packed {
    kn_bytes text;
    kn_hex_run *run;
    uint32_t n, cap;
} kn_packed;

/* A text that is in memory as it is: borrowed, not to be freed. */
static inline kn_packed kn_packed_text(const char *text, size_t n)
{
    kn_packed p = {.text = {.n = n}};
    memcpy(&p.text.s, &text, sizeof text); /* nobody writes there */
    return p;
}

/* Reads a file to its end; only texts that kn_hlo_is recognises are packed. Errors: KILN_NOTFOUND, KILN_IO, KILN_NOMEM. */
kiln_status kn_packed_read(kiln_ctx *ctx, const char *path, kn_packed *out);
kiln_status kn_packed_read_fd(kiln_ctx *ctx, int fd, const char *name, kn_packed *out); /* does not close it */
void kn_packed_free(kiln_ctx *ctx, kn_packed *p);

/* Two digits a byte; false where one is none. */
bool kn_hex_bytes(const char *digits, size_t n, unsigned char *to);

#endif
