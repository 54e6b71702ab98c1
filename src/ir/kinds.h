/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of error of programs, arrays and the command line. Those of graphs stand in graph/kinds.h. */
#ifndef KN_IR_KINDS_H
#define KN_IR_KINDS_H

typedef struct kn_text_kind {
    const char *name, *text;
    const char *example; /* a program that is refused with this kind, or NULL */
} kn_text_kind;

extern const kn_text_kind kn_text_kinds[]; /* ends with name NULL */

#endif
