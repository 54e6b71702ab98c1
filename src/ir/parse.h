/* SPDX-License-Identifier: Apache-2.0 */
/* Reading jaxpr text: parse.c reads programs and equations, parse_value.c parameters and literals, lex.c words. */
#ifndef KN_IR_PARSE_H
#define KN_IR_PARSE_H

#include "ir/print.h"

/* How primitives are found; the parser stands below them. */
typedef struct kn_parse_prims {
    kn_prim_finder find;
    const kn_prim *const *(*all)(uint32_t *n); /* for "did you mean"; may be NULL */
} kn_parse_prims;

kiln_status kn_parse(kiln_ctx *ctx, const char *text, size_t n, const char *file, const kn_parse_prims *prims, kn_prog **out);

/* ---- inside ---- */

typedef struct kn_word {
    const char *s;
    size_t n;
} kn_word;

typedef struct kn_cursor {
    const char *at;
    const char *line_start;
    uint32_t line;
} kn_cursor;

/* `let NAME = { ... } in` before a program. A body may be used before the text of its definition. */
typedef struct kn_definition {
    const char *name;
    size_t n;
    kn_cursor at; /* its opening brace */
    const kn_jaxpr *j; /* once it has been read */
    bool reading;
} kn_definition;

typedef struct kn_definitions {
    struct kn_definitions *outer; /* of the program around this one */
    KN_VEC(kn_definition) v;
    uint32_t *slots, n_slots; /* hash table by name: index + 1, 0 empty */
} kn_definitions;

typedef struct kn_parser {
    kiln_ctx *ctx;
    const char *text, *end, *file;
    kn_cursor c;
    const kn_parse_prims *prims;
    kn_prog *prog;
    kn_arena arena; /* definitions */
    kn_definitions *definitions;
    uint32_t file_index, depth;
    kn_word size; /* what a text calls the size that is given when it runs; empty: it has none so far */
    bool any_typed, any_untyped; /* literals: the new dialect, the old one */
    bool any_implied;            /* parameters that the new dialect leaves to the results' types */
    const kiln_type *wanted;     /* results of the equation whose parameters are being read: a body's literals may be them */
    uint32_t n_wanted;
} kn_parser;

/* lex.c */
void kn_skip(kn_parser *p); /* blanks and line ends */
static inline char kn_peek(const kn_parser *p) { return p->c.at < p->end ? *p->c.at : 0; } /* 0 at the end */
bool kn_take(kn_parser *p, char c);                                             /* after blanks */
bool kn_take_word(kn_parser *p, const char *word);                              /* after blanks; a whole word */
kn_word kn_read_name(kn_parser *p); /* letters, digits, '_', '.', and '-' between letters; empty when there is none */
kn_word kn_peek_name(const kn_parser *p);
bool kn_word_is(kn_word w, const char *s);
bool kn_skip_balanced(kn_parser *p); /* from an opening brace over its closing one; false at the end of the text */
kiln_status kn_syntax(kn_parser *p, const char *at, const char *kind, const char *accepted, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* Puts the place into an error that has none. */
kiln_status kn_locate(kn_parser *p, const char *at, kiln_status status);

/* parse.c */
kiln_status kn_parse_program(kn_parser *p, const kn_jaxpr **out); /* definitions, then a body */
kiln_status kn_parse_reference(kn_parser *p, kn_word name, const char *at, const kn_jaxpr **out);
kn_definition *kn_definition_find(kn_parser *p, kn_word name);

/* parse_size.c: a whole number, or a multiple of the size that is given at run time and a number: n, 64*n, n + 1. May the text here be
 * one? `declares`: a new name is taken for that size. *found: there is one, and the cursor is behind it. */
kiln_status kn_parse_size(kn_parser *p, bool declares, bool *found, int64_t *out);

/* parse_value.c */
kiln_status kn_parse_type(kn_parser *p, kn_arena *arena, kiln_type *out);
/* A parameter's value, up to the blank or bracket behind it. Lives in the arena and the program. */
kiln_status kn_parse_value(kn_parser *p, kn_arena *arena, kn_param_kind kind, kn_param *out);
/* `value:type`. The old dialect leaves the type out: then only the text is given, to be read by kn_literal_value. */
kiln_status kn_parse_literal(kn_parser *p, kn_arena *arena, kn_word *text, bool *typed, kiln_dtype *dtype, kn_scalar *value);
kiln_status kn_literal_value(kn_parser *p, kn_word text, kiln_dtype d, kn_scalar *value);

#endif
