/* SPDX-License-Identifier: Apache-2.0 */
/* The tracing front end's inside.
 *
 * A value is a number without a type (weak), a typed scalar known now (literal), or a variable of one frame. A frame is
 * one open body; frames stand on each other, and a variable of an outer frame used in an inner one is captured: every
 * frame between them gets an input for it, and the equation that closes a frame passes the captured variables first. */
#ifndef KN_TRACE_TRACE_H
#define KN_TRACE_TRACE_H

#include "ir/prim.h"
#include "kiln/trace.h"

typedef enum kn_tkind { KN_T_BAD, KN_T_NUMBER, KN_T_LITERAL, KN_T_VARIABLE } kn_tkind;

typedef struct kn_tframe kn_tframe;
typedef struct kn_topen kn_topen;

typedef struct kn_tval {
    kn_tkind kind;
    kiln_type type;
    kn_scalar value; /* NUMBER (as a double), LITERAL */
    kn_atom atom;    /* VARIABLE, in its frame */
    kn_tframe *frame;
    kn_topen *open;  /* VARIABLE whose element type is or was not known: see trace_weak.c */
} kn_tval;

struct kn_tframe {
    kn_tframe *outer;
    kn_build b;
    KN_VEC(kiln_val) captured; /* in the order of their inputs in kn_build.args[first_captured...] */
    KN_VEC(kn_atom) captured_atoms;
    uint32_t *slots, n_slots; /* hash from a captured value's id to its place + 1 */
};

typedef struct kn_tscope {
    const char *path;
    uint32_t id;
} kn_tscope;

/* Where an operation stands in the caller's source. */
typedef struct kn_site {
    const char *file;
    int line;
} kn_site;

struct kiln_trace {
    kiln_ctx *ctx;
    kn_prog *prog;
    kn_arena arena;
    KN_VEC(kn_tval) vals; /* id - 1 */
    kn_tframe root, *frame;
    KN_VEC(kn_tscope) scopes;
    KN_VEC(const char *) in_names, out_names;
    KN_VEC(kiln_val) outs;
    KN_VEC(kiln_val) consts; /* one value an array */
    bool failed;
    kiln_diag error;
    const char *place_file; /* set by kiln_place, or NULL */
    kn_loc place;
    bool takes_open;       /* the equation that is being appended may have operands without a type yet */
    const char *last_file; /* interned as last_file_id */
    uint32_t last_file_id;
};

/* ---- values (trace.c) ---- */

const kn_tval *kn_tval_of(const kiln_trace *t, kiln_val v); /* never NULL: a bad one when there is none */
kiln_val kn_tval_new(kiln_trace *t, kn_tval v);
kiln_val kn_tval_variable(kiln_trace *t, kn_tframe *f, kn_atom atom);
kiln_val kn_tval_literal(kiln_trace *t, kiln_dtype d, kn_scalar value);
/* Is every operand a value that may be used here? The first that is not is the error. */
bool kn_tvals_usable(kiln_trace *t, const char *op, const kiln_val *v, uint32_t n, kn_site site);
/* A number without a type becomes a literal of type d; other values stay. */
kiln_val kn_tval_adopt(kiln_trace *t, const char *op, kiln_val v, kiln_dtype d, kn_site site);
bool kn_tnumber_fits(double v, kiln_dtype d, kn_scalar *out);
/* The operand of an equation of frame f: captures or makes a literal as needed. */
bool kn_tatom(kiln_trace *t, kn_tframe *f, kiln_val v, kn_atom *out);

/* ---- bodies (trace_control.c): open, inputs, what the caller's function makes, close, operands ---- */

kn_tframe *kn_tframe_open(kiln_trace *t); /* NULL: the trace has failed */
void kn_tframe_inputs(kiln_trace *t, kn_tframe *f, const kiln_type *types, uint32_t n, kiln_val *out);
/* Ends the innermost frame with these results: captured values come first among its arguments, then the n_own inputs. The trace may
 * have failed meanwhile: NULL then. */
const kn_jaxpr *kn_tframe_close(kiln_trace *t, kn_tframe *f, const kiln_val *out, uint32_t n_out, uint32_t n_own);
/* The captured values as operands of the frame that is current again. */
void kn_tframe_operands(kiln_trace *t, const kn_tframe *f, kn_atom *out);
/* Usable, and none is a number without a type. */
bool kn_tvals_typed(kiln_trace *t, const char *op, const char *what, const kiln_val *v, uint32_t n, kn_site site);

/* ---- carries without a type (trace_weak.c): a group of values that will have one type ---- */

kn_topen *kn_topen_new(kiln_trace *t, double number); /* NULL: the trace has failed */
void kn_topen_join(kiln_trace *t, kn_topen *g, kiln_val v);
/* Operands of an equation that was appended: its literals in f64 get the group's type. */
void kn_topen_literals(kiln_trace *t, kn_topen *g, kn_build *b, const kn_atom *in, uint32_t n);
kn_topen *kn_topen_of(const kiln_trace *t, kiln_val v); /* NULL: its type is known */
bool kn_topen_known(kn_topen *g);
kiln_dtype kn_topen_dtype(kn_topen *g);
/* Operands of one operation on equal types: one group of them, or NULL when their type is known (as by one of them). */
kn_topen *kn_topen_meet(kiln_trace *t, const kiln_val *v, uint32_t n, kn_site site);
void kn_topen_close(kiln_trace *t, kn_topen *g, kiln_dtype d, kn_site site); /* its type is d */
/* Is one of the values without a type yet? That is the error. */
bool kn_topen_refused(kiln_trace *t, const char *op, const kiln_val *v, uint32_t n, kn_site site);

/* ---- errors (trace.c) ---- */

void kn_tfail(kiln_trace *t, kiln_status code, const char *accepted, kn_site site, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void kn_tstatus(kiln_trace *t, kiln_status s, kn_site site); /* keeps the context's error when s is not KILN_OK */
const char *kn_tshow(const kiln_trace *t, kiln_val v, kn_type_text *buffer); /* "f32[3]", "the number 2.5" */

/* ---- equations (trace_op.c) ---- */

typedef struct kn_named {
    const char *name;
    kn_param value;
} kn_named;

/* Appends an equation; parameters that are not named are None. On failure every result is 0. */
bool kn_temit(kiln_trace *t, const char *prim, const kn_named *params, uint32_t n_params, const kiln_val *in, uint32_t nin,
              kiln_val *out, uint32_t nout, kn_site site);
/* The same with operands that are atoms of the current frame. */
bool kn_temit_atoms(kiln_trace *t, const char *prim, const kn_named *params, uint32_t n_params, const kn_atom *in, uint32_t nin,
                    kiln_val *out, uint32_t nout, kn_site site);

#endif
