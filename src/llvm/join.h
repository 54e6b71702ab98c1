/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KN_LLVM_JOIN_H
#define KN_LLVM_JOIN_H

#include <stdbool.h>
#include <stddef.h>

/* One relocatable object (ELF, 64 bits) of two that LLVM made for the same target. From malloc; NULL: out of memory. */
char *kn_objects_join(const char *a, size_t a_bytes, const char *b, size_t b_bytes, size_t *bytes);

#endif
