/* SPDX-License-Identifier: Apache-2.0 */
/* Laying out text in groups (P. Wadler, "A prettier printer", 2003; D. C. Oppen, "Prettyprinting", 1980): a group is printed
 * on the rest of the line if it fits there as a whole, else every break that stands directly in it becomes a new line. Whether
 * what follows the group fits too is not asked. The document is a stream: only groups not yet decided are held, so memory is
 * that of a line whatever the size of the text, and time is linear. */
#ifndef KN_IR_LAYOUT_H
#define KN_IR_LAYOUT_H

#include "base/text.h"

typedef struct kn_layout_token {
    unsigned char kind;
    int by;            /* NEST: columns */
    size_t at, n;      /* TEXT, BREAK: in `held` */
    size_t start, flat; /* OPEN: columns held before it; its own when flat, SIZE_MAX while open */
} kn_layout_token;

typedef struct kn_layout {
    kn_arena arena;
    kn_text *out;
    size_t width, column;
    int indent;
    size_t held_columns; /* of all tokens so far, flat */
    kn_text held;        /* texts of the tokens that wait */
    KN_VEC(kn_layout_token) queue;
    uint32_t head;
    size_t passed; /* tokens that have left the queue: index 0 of the queue is token `passed` */
    KN_VEC(size_t) open; /* groups of the input that are not closed, as token numbers */
    KN_VEC(bool) modes;  /* groups of the output that are not closed: broken? */
    bool failed;         /* out of memory */
    bool muted;          /* what comes in is dropped: of a group all or nothing */
} kn_layout;

/* `width` 0 is unlimited. Text is appended to `out`. */
void kn_layout_init(kn_layout *l, const kn_alloc *alloc, size_t width, kn_text *out);
bool kn_layout_fini(kn_layout *l); /* false: out of memory happened */
void kn_layout_text(kn_layout *l, const char *s, size_t n);
void kn_layout_word(kn_layout *l, const char *s);
void kn_layout_break(kn_layout *l, const char *flat); /* new line, or this text in a flat group */
void kn_layout_open(kn_layout *l);
void kn_layout_close(kn_layout *l);
void kn_layout_nest(kn_layout *l, int by); /* columns added to the indentation of the lines that follow */

#endif
