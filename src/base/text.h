/* SPDX-License-Identifier: Apache-2.0 */
/* A growing text buffer, numbers as text in the C locale whatever the user's is, "did you mean". */
#ifndef KN_BASE_TEXT_H
#define KN_BASE_TEXT_H

#include "base/memory.h"

typedef struct kn_text {
    kn_alloc alloc;
    char *s; /* always ended, never NULL after a successful call */
    size_t n, cap;
    bool failed; /* out of memory happened; later appends do nothing */
} kn_text;

void kn_text_init(kn_text *t, const kn_alloc *alloc);
void kn_text_fini(kn_text *t);
void kn_text_add(kn_text *t, const char *s);
void kn_text_addn(kn_text *t, const char *s, size_t n);
void kn_text_char(kn_text *t, char c);
void kn_text_printf(kn_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The shortest decimal that reads back to the same double, as Python's repr spells it: 1.0 1e-06 nan inf. */
void kn_text_double(kn_text *t, double v);
size_t kn_double_repr(double v, char out[40]);
void kn_text_float(kn_text *t, float v); /* the shortest that reads back to the same float */

/* Reads a decimal number at s (C locale, no hex, no leading space); returns the end, or s when there is none. */
const char *kn_read_double(const char *s, const char *end, double *out);

/* Is the byte one of these? Not as strchr, which finds the end of the list for a NUL. */
static inline bool kn_is_one_of(char c, const char *list)
{
    while (*list && *list != c) list++;
    return *list != 0;
}

/* The name nearest to `word` (edit distance at most 2 and under half its length), or NULL. */
const char *kn_nearest(const char *word, const char *const *names, size_t n);

#endif
