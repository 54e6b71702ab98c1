/* SPDX-License-Identifier: Apache-2.0 */
/* MLIR text as a tree: what StableHLO modules are written in. Pretty and generic forms of an operation give the same node;
 * names of values are resolved, so that a node knows its operands by number. The tree borrows the text, which must outlive it:
 * contents of constants stay where they are until they are asked for.
 *
 *   kn_mmodule   functions, aliases, resources
 *   kn_mfunc     arguments are values 0..nargs-1; values of nested regions are numbered on, in order of definition
 *   kn_mop       operands by number; results are the values out..out+nout-1
 *   kn_mregion   the values first..end-1 are its own (and its regions'); a smaller number is a capture */
#ifndef KN_HLO_MLIR_H
#define KN_HLO_MLIR_H

#include "array/array.h"
#include "hlo/packed.h"

/* ---- text and places ---- */

typedef struct kn_span {
    const char *s;
    size_t n;
} kn_span;

static inline bool kn_span_is(kn_span a, const char *word) { return strlen(word) == a.n && memcmp(a.s, word, a.n) == 0; }
static inline bool kn_span_holds(kn_span a, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= a.n; i++)
        if (memcmp(a.s + i, word, n) == 0) return true;
    return false;
}
static inline bool kn_span_same(kn_span a, kn_span b) { return a.n == b.n && memcmp(a.s, b.s, a.n) == 0; }
uint64_t kn_span_hash(kn_span s);

typedef struct kn_source {
    kiln_ctx *ctx;
    const char *file; /* as messages show it */
    const char *text;
    size_t n;
    const kn_packed *packed; /* the digits that are not in the text; NULL: all are */
} kn_source;

/* An error at a place of the text; `kind` names it ("syntax"), `accepted` (may be NULL) says what would be. */
kiln_status kn_source_fail(const kn_source *s, const char *at, kiln_status code, const char *kind, const char *accepted,
                           const char *fmt, ...) __attribute__((format(printf, 6, 7)));
#define KN_SHOW_SPAN 48
#define KN_SPAN_ARG(sp) (int)((sp).n < KN_SHOW_SPAN ? (sp).n : KN_SHOW_SPAN), (sp).s /* for %.*s */

/* ---- tokens ---- */

typedef enum kn_token_kind {
    KN_T_END,
    KN_T_WORD,   /* letters, digits, _ $ . */
    KN_T_VALUE,  /* %name, with #number in `index` */
    KN_T_SYMBOL, /* @name or @"name" */
    KN_T_BLOCK,  /* ^name */
    KN_T_HASH,   /* #name, or a bare # */
    KN_T_BANG,   /* !name */
    KN_T_INT,    /* 12, -3, 0x1F */
    KN_T_FLOAT,
    KN_T_STRING, /* span inside the quotes, escapes kept */
    KN_T_ARROW,  /* -> */
    KN_T_OPEN_FILE,  /* {-# */
    KN_T_CLOSE_FILE, /* #-} */
    KN_T_CHAR,   /* any other character, in c */
    KN_T_BAD     /* a string without an end */
} kn_token_kind;

typedef struct kn_token {
    kn_token_kind kind;
    char c;
    kn_span text;    /* names without their sign */
    const char *at;  /* where it begins */
    uint32_t line;
    uint32_t index;  /* VALUE: number behind #, else 0 */
    bool indexed;
} kn_token;

typedef struct kn_lexer {
    const kn_source *src;
    const char *at, *end;
    uint32_t line; /* of `at` */
    const char *tail; /* behind the token before the next one */
    kn_token tok;  /* the next token, not taken yet */
} kn_lexer;

void kn_lex_init(kn_lexer *lx, const kn_source *src, const char *at, const char *end, uint32_t line);
void kn_lex_next(kn_lexer *lx);
void kn_lex_at(kn_lexer *lx, const char *at); /* goes on from there, which is not before the next token */
/* The next token opens a bracket: skips to behind its partner, strings and nested brackets counted; the span is the inside.
 * An error when the text ends first. */
kiln_status kn_lex_balanced(kn_lexer *lx, kn_span *inside);
/* "found ..." for messages */
typedef struct kn_found {
    char s[64];
} kn_found;
kn_found kn_lex_found(const kn_lexer *lx);
kiln_status kn_lex_expected(const kn_lexer *lx, const char *what); /* the error: `what` was expected */

static inline bool kn_lex_is(const kn_lexer *lx, char c) { return lx->tok.kind == KN_T_CHAR && lx->tok.c == c; }
static inline bool kn_lex_word(const kn_lexer *lx, const char *word) { return lx->tok.kind == KN_T_WORD && kn_span_is(lx->tok.text, word); }
bool kn_lex_take(kn_lexer *lx, char c);
bool kn_lex_take_word(kn_lexer *lx, const char *word);
kiln_status kn_lex_want(kn_lexer *lx, char c);
kiln_status kn_lex_want_word(kn_lexer *lx, const char *word);
/* An integer as 64 bits (negative ones wrapped); false when it does not fit. Hexadecimal in `hex`. */
bool kn_lex_integer(kn_span text, uint64_t *bits, bool *negative, bool *hex);

/* ---- types ---- */

typedef enum kn_mtype_kind {
    KN_MT_TENSOR, /* or a token, an array without contents */
    KN_MT_SCALAR, /* an element type by itself, as in attributes */
    KN_MT_TUPLE,
    KN_MT_FUNCTION,
    KN_MT_OTHER /* read, not understood: refused when used */
} kn_mtype_kind;

typedef struct kn_mtype kn_mtype;
struct kn_mtype {
    kn_mtype_kind kind;
    bool known;   /* the element type is one of ours */
    bool index;   /* element type `index`, held as i64 */
    bool dynamic; /* has a dimension `?`, held as -1 */
    kiln_type type;
    kn_span text; /* as written */
    const kn_mtype *const *items; /* TUPLE: members. FUNCTION: operands, then results */
    uint32_t n, nresults;         /* n counts all items */
};
bool kn_mtype_same(const kn_mtype *a, const kn_mtype *b);

/* ---- locations ---- */

typedef enum kn_mloc_kind { KN_ML_UNKNOWN, KN_ML_FILE, KN_ML_NAME, KN_ML_GROUP, KN_ML_ALIAS } kn_mloc_kind;
typedef struct kn_mloc kn_mloc;
struct kn_mloc {
    kn_mloc_kind kind;
    kn_span text;        /* FILE: the file; NAME: the name; ALIAS: the alias */
    uint32_t line, column;
    const kn_mloc *child; /* NAME: may be NULL. GROUP: the first, the callee. ALIAS: what it stands for, or NULL */
    bool visited;         /* guards against aliases that name themselves */
    bool resolved;
    uint32_t scope, file; /* of the program that is being made, once resolved */
};

/* ---- attributes ---- */

typedef enum kn_mattr_kind {
    KN_MA_UNIT,
    KN_MA_BOOL,
    KN_MA_INT,
    KN_MA_FLOAT,
    KN_MA_STRING,
    KN_MA_WORD, /* a bare word, as DEFAULT in a list */
    KN_MA_SYMBOL,
    KN_MA_TYPE,
    KN_MA_LIST, /* [..] and array<..> */
    KN_MA_DICT,
    KN_MA_DENSE,    /* `text` is what stands inside dense<..> */
    KN_MA_RESOURCE, /* `text` is the name */
    KN_MA_DIALECT,  /* #name<text> */
    KN_MA_ALIAS,    /* #name */
    KN_MA_OTHER
} kn_mattr_kind;

typedef struct kn_mattr kn_mattr;
typedef struct kn_mfield kn_mfield;
struct kn_mattr {
    kn_mattr_kind kind;
    uint32_t n; /* LIST, DICT */
    const char *at;
    const kn_mtype *type; /* INT, FLOAT, DENSE, RESOURCE: as given, or NULL; LIST from array<..>: of the elements */
    union {
        bool b;
        int64_t i; /* INT: 64 bits */
        double f;
        const kn_mattr *items;
        const kn_mfield *fields;
    };
    kn_span text;
    kn_span name; /* DIALECT */
};
struct kn_mfield {
    kn_span name;
    kn_mattr value;
};

/* ---- operations ---- */

typedef struct kn_mop kn_mop;
typedef struct kn_mregion kn_mregion;

struct kn_mop {
    kn_mop *next; /* in its region */
    kn_span name; /* with its dialect: stablehlo.add, func.return */
    const uint32_t *in;
    const kn_mfield *attrs;
    const kn_mregion *regions;
    const kn_mloc *loc; /* may be NULL */
    const char *at;
    uint32_t nin, out, nout, nattrs, nregions, line;
};

struct kn_mregion {
    uint32_t args, nargs; /* values */
    uint32_t first, end;
    uint32_t nops;
    const kn_mop *ops; /* the last is the terminator */
    const char *at;
};

typedef struct kn_mvalue {
    const kn_mtype *type;
    const char *at;     /* where it is defined */
    kn_span name;       /* without % */
    const kn_mloc *loc; /* of arguments; may be NULL */
} kn_mvalue;

/* Numbers of a small array of integers, linear in n as dimensions are. */
typedef struct kn_mknown {
    const int64_t *v; /* NULL: not known */
    uint32_t n;
    bool positive; /* known only where n is at least 1 */
} kn_mknown;

typedef struct kn_mfunc {
    kn_span name;
    const char *at;
    uint32_t line;
    bool is_private, has_body;
    uint32_t chunk; /* files are split at lines "// -----"; names are unique inside a chunk */
    uint32_t nargs, nresults;
    const kn_mtype *const *results;
    const kn_mattr *arg_attrs, *result_attrs; /* DICT or UNIT (none), one for each */
    kn_mregion body;
    const kn_mvalue *values;
    uint32_t nvalues;
    const kn_mknown *known; /* by value, where sizes were open (refine.c); else NULL */
    uint32_t index; /* in the module */
    void *made;     /* for the importer */
} kn_mfunc;

typedef struct kn_mresource {
    kn_span name, hex; /* "0x.." without the quotes and 0x */
} kn_mresource;

typedef struct kn_mmodule {
    kn_source src;
    kn_arena *arena;
    KN_VEC(kn_mfunc *) funcs;
    uint32_t *func_table; /* open addressing by chunk and name: index + 1, or 0 */
    uint32_t n_func_table;
    KN_VEC(kn_mresource) resources;
    KN_VEC(kn_mfield) aliases; /* #name = attribute */
    KN_VEC(kn_mloc *) locs; /* #name = loc(..), and those only named */
    uint32_t nchunks;
    kn_mattr attrs; /* of the first module: DICT or UNIT */
    kn_span name;   /* of the first module */
} kn_mmodule;

/* The pretty form of an operation (tree_pretty.c says how a format is written). */
typedef struct kn_mform {
    const char *name, *format;
    char types;
} kn_mform;
const kn_mform *kn_mform_find(kn_span name);

/* Reads a whole text. Everything lives in the arena, or in the text. */
kiln_status kn_mlir_read(kiln_ctx *ctx, kn_arena *arena, const kn_packed *t, const char *file, kn_mmodule **out);

kiln_status kn_mfunc_add(kn_mmodule *m, kn_mfunc *f); /* the error where its name is taken */
const kn_mfunc *kn_mfunc_find(const kn_mmodule *m, uint32_t chunk, kn_span name);
const kn_mattr *kn_mattr_find(const kn_mfield *fields, uint32_t n, const char *name);
static inline const kn_mattr *kn_mop_attr(const kn_mop *o, const char *name) { return kn_mattr_find(o->attrs, o->nattrs, name); }

/* Reads `key = value, key = value` (a DICT) out of a dialect attribute's inside. */
kiln_status kn_mattr_body(kn_mmodule *m, const kn_mattr *dialect, kn_mattr *dict);
/* Dimension numbers of a convolution, #stablehlo.conv<[..]x[..]->[..]>, as a list of three lists. */
kiln_status kn_mattr_conv(kn_mmodule *m, const kn_mattr *dialect, kn_mattr *out);
/* Integers of a list, an array or a dense constant. */
kiln_status kn_mattr_ints(const kn_mmodule *m, const kn_mattr *a, const int64_t **v, uint32_t *n);
/* A new array of the contents of a dense constant or a resource. */
kiln_status kn_mattr_array(const kn_mmodule *m, const kn_mattr *a, kiln_array **out);
/* Has the constant one value only? Then it is in *v. */
kiln_status kn_mattr_splat(const kn_mmodule *m, const kn_mattr *a, bool *is, kn_scalar *v);
/* A string without its escapes, ended. */
kiln_status kn_mattr_text(const kn_mmodule *m, kn_span raw, const char **out);

#endif
