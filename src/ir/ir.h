/* SPDX-License-Identifier: Apache-2.0 */
/* The program: SSA equations over typed arrays with nested, closed bodies.
 *
 *   kn_prog    owns everything: arena, tables of scopes and files, the main jaxpr
 *   kn_jaxpr   a function: inputs (constants first), equations, outputs; a body is a jaxpr too, closed: it sees its own inputs only
 *   kn_eqn     primitive, parameters, operands, results, scope, source place
 *   kn_atom    a variable (index into vars) or a scalar literal (index into lits, top bit set)
 *   kn_param   a parameter: a small tagged value, printed as Python would
 *
 * A finished program is immutable and may be shared between threads. The same structure serves traced and lowered
 * programs; which primitives may occur is what the level says. Passes never edit: they build a new program. */
#ifndef KN_IR_IR_H
#define KN_IR_IR_H

#include "array/array.h"
#include "kiln/prog.h"

typedef struct kn_prim kn_prim; /* ir/prim.h */
typedef struct kn_jaxpr kn_jaxpr;

typedef uint32_t kn_atom;
#define KN_LITERAL 0x80000000u
static inline bool kn_is_literal(kn_atom a) { return (a & KN_LITERAL) != 0; }
static inline uint32_t kn_literal_index(kn_atom a) { return a & ~KN_LITERAL; }

typedef enum kn_param_kind {
    KN_P_NONE,
    KN_P_BOOL,
    KN_P_INT,
    KN_P_FLOAT,
    KN_P_TEXT,   /* printed without quotes: names, enum values */
    KN_P_DTYPE,  /* printed with numpy's name */
    KN_P_INTS,   /* a tuple (or list) of integers */
    KN_P_TUPLE,  /* a tuple (or list) of parameters */
    KN_P_RECORD, /* Name(key=value, ...) or, with keys == NULL, Name(value, ...) */
    KN_P_JAXPR
} kn_param_kind;

typedef struct kn_param {
    kn_param_kind kind;
    bool list;  /* INTS, TUPLE: [..] instead of (..) */
    uint32_t n; /* INTS, TUPLE, RECORD: how many */
    union {
        bool b;
        int64_t i;
        double f;
        const char *text;
        kiln_dtype dtype;
        const int64_t *ints;
        const struct kn_param *items;
        const kn_jaxpr *jaxpr;
    };
    const char *name;        /* RECORD: its name. INTS: which elements print as np.int64(v), a '0' or '1' each; NULL: none */
    const char *const *keys; /* RECORD */
} kn_param;

#define KN_NONE ((kn_param){.kind = KN_P_NONE})
#define KN_BOOL(v) ((kn_param){.kind = KN_P_BOOL, .b = (v)})
#define KN_INT(v) ((kn_param){.kind = KN_P_INT, .i = (v)})
#define KN_TEXT(v) ((kn_param){.kind = KN_P_TEXT, .text = (v)})
#define KN_DTYPE(v) ((kn_param){.kind = KN_P_DTYPE, .dtype = (v)})
#define KN_INTS(count, v) ((kn_param){.kind = KN_P_INTS, .n = (uint32_t)(count), .ints = (v)})
#define KN_JAXPR(v) ((kn_param){.kind = KN_P_JAXPR, .jaxpr = (v)})
#define KN_TUPLE(count, v) ((kn_param){.kind = KN_P_TUPLE, .n = (uint32_t)(count), .items = (v)})

typedef struct kn_loc {
    uint32_t file; /* index into the program's files; 0 is "" */
    uint32_t line, column;
} kn_loc;

typedef struct kn_eqn {
    const kn_prim *prim;
    const kn_param *params; /* as many as the primitive names, in its order */
    const kn_atom *in;
    const uint32_t *out; /* variables */
    uint32_t nin, nout;
    uint32_t scope; /* index into the program's scopes; 0 is "" */
    kn_loc loc;
} kn_eqn;

typedef struct kn_var {
    kiln_type type;
} kn_var;

typedef struct kn_lit {
    kiln_dtype dtype; /* literals are scalars */
    kn_scalar value;
    double written; /* of a float: the number that the text gave before it was rounded to the type, where it is another; else 0 */
} kn_lit;

/* How StableHLO text wrote a body, where that does not follow from its equations: lets the printer write the same text again.
 * Nothing else looks at it; what passes make has none. */
typedef struct kn_written_constant {
    kn_atom atom; /* a literal or a constant */
    uint32_t at;  /* stands before this equation */
} kn_written_constant;
typedef struct kn_written_capture {
    uint32_t literal, outer; /* a literal of this body is the constant of that literal of the body around */
} kn_written_capture;
typedef struct kn_written_first {
    uint32_t eqn;
    kn_atom atom; /* the first value of a reduction, the index of a branch; KN_NOT_WRITTEN: the equation has no text of its own */
} kn_written_first;
#define KN_NOT_WRITTEN UINT32_MAX
typedef struct kn_written {
    const kn_written_constant *constants; /* in the order of the text */
    const kn_written_capture *captures;
    const kn_written_first *firsts; /* equations rise */
    const uint32_t *wide;           /* literals that are written as arrays of equal elements where they are broadcast */
    uint32_t nconstants, ncaptures, nfirsts, nwide;
} kn_written;

struct kn_jaxpr {
    const kn_var *vars;
    const kn_lit *lits;
    const kn_atom *in;          /* variables; the first nconsts are constants */
    kiln_array *const *consts;  /* their values; NULL where the text that the program was read from holds none */
    const kn_eqn *eqns;
    const kn_atom *out;
    const kn_written *written;  /* or NULL */
    uint32_t nvars, nlits, nin, nconsts, neqns, nout;
    bool sized; /* a parameter in it holds a size that is given when it runs (ir/size.h) */
};

typedef enum kn_level { KN_TRACED, KN_LOWERED } kn_level;

struct kiln_prog {
    atomic_int refs;
    kn_arena arena;
    const kn_jaxpr *main;
    kn_level level;
    const char *const *in_names;  /* per non-constant input of main, or NULL */
    const char *const *out_names; /* per output of main, or NULL */
    KN_VEC(const char *) scopes;  /* [0] is "" */
    KN_VEC(const char *) files;   /* [0] is "" */
    KN_VEC(kiln_array *) arrays;  /* every constant's value, released with the program */
    const char *name;             /* of the module that it was read from, or NULL */
    uint32_t numbered;            /* equations that have been given a number (KN_NUMBERED) */
    uint32_t own_file;            /* index of the file that is the program's own text, 0: none */
    bool old_dialect;             /* read from the old jaxpr dialect; the printer's default */
    bool has_holes;               /* a constant has no value: it prints, but cannot run */
    bool stage;                   /* of a transformation: what is copied into it lives longer, so parameters and types are shared */
};
typedef struct kiln_prog kn_prog;

static inline kiln_type kn_type_of(const kn_jaxpr *j, kn_atom a)
{
    return kn_is_literal(a) ? (kiln_type){.dtype = j->lits[kn_literal_index(a)].dtype} : j->vars[a].type;
}
static inline uint32_t kn_nargs(const kn_jaxpr *j) { return j->nin - j->nconsts; } /* inputs that are not constants */

/* ---- making a program (ir/build.c) ---- */

/* An empty program; `like` (may be NULL) gives its scopes, files, names and dialect. */
kiln_status kn_prog_new(kiln_ctx *ctx, const kn_prog *like, kn_prog **out);
kiln_status kn_prog_scope(kiln_ctx *ctx, kn_prog *p, const char *scope, uint32_t *out); /* interned */
kiln_status kn_prog_file(kiln_ctx *ctx, kn_prog *p, const char *file, uint32_t *out);

/* Builds one jaxpr of a program. Everything lives in the program's arena; nothing needs freeing. */
typedef struct kn_build {
    kiln_ctx *ctx;
    kn_prog *prog;
    KN_VEC(kn_var) vars;
    KN_VEC(kn_lit) lits;
    KN_VEC(kn_atom) args;
    KN_VEC(kn_atom) const_vars;
    KN_VEC(kiln_array *) consts;
    KN_VEC(kn_eqn) eqns;
    uint32_t scope; /* given to the equations that follow */
    kn_loc loc;
    const kn_written *written; /* given to the jaxpr */
} kn_build;

void kn_build_init(kn_build *b, kiln_ctx *ctx, kn_prog *prog);
kiln_status kn_build_input(kn_build *b, kiln_type type, kn_atom *out);
kiln_status kn_build_const(kn_build *b, kiln_array *value, kn_atom *out); /* a constvar; retains the array */
kiln_status kn_build_hole(kn_build *b, kiln_type type, kn_atom *out); /* a constvar whose value is not known */
kiln_status kn_build_consts(kn_build *b, const kn_jaxpr *j, kn_atom *map); /* all constants of j, with or without values */
kiln_status kn_build_literal(kn_build *b, kiln_dtype dtype, kn_scalar value, kn_atom *out); /* value is rounded to dtype */
/* Appends an equation: checks parameters and operands by the primitive's type rule and makes `nout` results
 * (KILN_INTERNAL when the primitive gives another number). Parameters and operands are copied. */
kiln_status kn_build_eqn(kn_build *b, const kn_prim *prim, const kn_param *params, const kn_atom *in, uint32_t nin, kn_atom *out,
                         uint32_t nout);
/* Equation e of jaxpr `from` on the operands `in`: where they have the types that it had, its results have those that they had. */
kiln_status kn_build_like(kn_build *b, const kn_jaxpr *from, const kn_eqn *e, const kn_atom *in, kn_atom *out);
bool kn_build_reserve(kn_build *b, uint32_t vars, uint32_t eqns); /* for so many more; false: out of memory */
kiln_type kn_build_type(const kn_build *b, kn_atom a);
kiln_status kn_build_finish(kn_build *b, const kn_atom *out, uint32_t nout, const kn_jaxpr **j);
/* Appends equation e of jaxpr `from` with operands mapped (map[var] for variables; literals are copied), result variables
 * entered into map. */
kiln_status kn_build_copy(kn_build *b, const kn_jaxpr *from, const kn_eqn *e, kn_atom *map);
kn_atom kn_build_map(kn_build *b, const kn_jaxpr *from, kn_atom a, const kn_atom *map, kiln_status *status);
/* Copies a whole jaxpr (of another program, too). */
kiln_status kn_jaxpr_copy(kiln_ctx *ctx, kn_prog *into, const kn_jaxpr *j, const kn_jaxpr **out);

/* The same where the size that is given at run time is n. *failed: the equation that has no type there, or NULL. */
kiln_status kn_jaxpr_size(kiln_ctx *ctx, kn_prog *into, const kn_jaxpr *j, int64_t n, const kn_jaxpr **out, const kn_eqn **failed);

/* ---- looking at a program ---- */

bool kn_param_equal(const kn_param *a, const kn_param *b);
const kn_param *kn_param_of(const kn_eqn *e, const char *name); /* NULL when the primitive has no such parameter */
uint64_t kn_param_hash(const kn_param *p, uint64_t seed);
/* Calls f for each nested body of an equation, in order. */
void kn_eqn_bodies(const kn_eqn *e, void (*f)(void *ud, const kn_jaxpr *body), void *ud);
bool kn_eqn_has_effect(const kn_eqn *e); /* it, or an equation in its bodies */
/* 128 bits over structure, types, parameters, literals, contents of constants; names, scopes and places do not count. */
typedef struct kn_hash {
    uint64_t lo, hi;
} kn_hash;
kn_hash kn_jaxpr_hash(const kn_jaxpr *j);
/* The bytes that the hash is made of, piece by piece: equal for equal programs only, but that a constant's contents are their own hash. */
typedef void (*kn_feed_fn)(void *ud, const void *p, size_t n);
void kn_jaxpr_feed(const kn_jaxpr *j, kn_feed_fn to, void *ud);
/* Of jaxprs that are not equal: the first equation of `a` that is not b's; NULL: it has none. */
const kn_eqn *kn_jaxpr_differs(const kn_jaxpr *a, const kn_jaxpr *b);
bool kn_jaxpr_equal(const kn_jaxpr *a, const kn_jaxpr *b);
uint64_t kn_jaxpr_count(const kn_jaxpr *j); /* equations, nested bodies counted once each */
/* Every variable bound once and before use, results as the type rules say, bodies too, level respected. */
kiln_status kn_verify(kiln_ctx *ctx, const kn_prog *p);
/* Refuses programs with constants that have no value; to be asked before running or compiling. */
kiln_status kn_prog_runnable(kiln_ctx *ctx, const kn_prog *p);

#endif
