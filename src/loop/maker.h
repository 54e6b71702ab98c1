/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of kn_loops_make. The main path reads top to bottom: make.c walks equations, plan.c has said for each value whether
 * it lives in registers, in memory, or nowhere (it is computed where it is read), place.c fetches elements, nest.c makes the
 * loops over one stored value or several, roll.c lets them run along what is turned, row.c lets them write rows of arrays, reduce.c cumulate.c dot.c tile.c epilogue.c conv.c update.c scatter.c control.c sort.c the loops of their own
 * kind, call.c the calls of routines on whole arrays; copies.c keeps account of copies; merge.c (trips.c, keep.c) then makes one loop of neighbours over the same rows,
 * prune.c drops what nobody uses, flatten.c one loop of two over short rows, forward.c carries what the next trip would load, fetch.c has rows
 * fetched that are read backwards. */
#ifndef KN_LOOP_MAKER_H
#define KN_LOOP_MAKER_H

#include "ir/size.h"
#include "loop/loop.h"
#include "prim/element.h"

typedef struct maker maker;
typedef struct frame frame;

typedef enum place_kind {
    PLACE_NONE,
    PLACE_REGISTERS, /* every element is a value */
    PLACE_MEMORY,    /* stored in a slot */
    PLACE_TILE,      /* of a product: the element at hand in a tile (epilogue.c) */
    PLACE_ROW,       /* stored in a slot from element `base` on, in a piece of another value (row.c) */
    PLACE_LAZY       /* computed where it is read, by the equation's element rule */
} place_kind;

typedef struct place {
    place_kind kind;
    kiln_type type;
    uint32_t slot;       /* MEMORY, ROW; REGISTERS once spilled */
    kn_lv base;          /* ROW */
    bool spilled;        /* REGISTERS: a copy stands in `slot`, for indices that are not constant */
    bool owned;          /* MEMORY: may be overwritten when it is dead */
    uint32_t owner;      /* MEMORY: the slot + 1 that owns the buffer, if `slot` only points to it; else it points to `origin` */
    uint32_t origin;
    const kn_lv *regs;   /* REGISTERS; TILE: one */
    frame *frame;        /* LAZY */
    const kn_eqn *e;     /* LAZY */
    uint32_t result;     /* LAZY */
} place;

/* What the plan says of one variable. */
typedef struct var_plan {
    place_kind kind;
    int64_t last;      /* position of the last equation that reads it, through lazy values; neqns: it leaves the frame */
    uint32_t def;      /* position of the equation that makes it; UINT32_MAX: an input */
    uint32_t def_result;
    uint32_t want;     /* slot it should be stored in, + 1; 0: any */
    uint32_t guard;    /* the variable, + 1, that stands in that slot at first (later: whatever `standing` says): in the way until
                          it is dead; 0: none; GUARD_DONATED: every donated input too, since the slot may be the memory of one */
    float cost;        /* operations to compute one element where it is read */
    uint32_t reads;    /* how often an element is computed if it is not stored */
    int64_t nest;      /* the one equation whose nest reads it at its own index, or -1 */
    bool must_store;
    bool asked;        /* how one of its readers works asks for it in memory, whatever it costs */
    bool dear;         /* in the first round: stored because of what it costs to compute again */
    bool moved;        /* stored for a reduction, made of elements from elsewhere: in nests of their own (arrange.c) */
    bool row;          /* an update writes it into a row of its array */
    uint32_t into;     /* of a product: the value, + 1, that its tiles make of it and that is stored instead; 0: none */
    uint32_t product;  /* of such a value: position of the product, + 1 */
    bool whole;        /* read by what wants an array of its own: products, routines, loops, branches */
    uint32_t rolled;   /* the variable, + 1, that it is, or a window of it, turned: its element i along roll_dim is element (i + roll_by) mod its length; 0: none */
    uint32_t roll_dim;
    int64_t roll_by;
    const int64_t *roll_from; /* where the window starts */
} var_plan;

#define GUARD_DONATED UINT32_MAX

/* A row of an array: the elements of `var` in order, which the update at that position writes, or the nest that stores `host` (row.c). */
typedef struct stack_row {
    uint32_t update, var, host; /* host UINT32_MAX: none */
    bool written, stays; /* stays: nothing writes it in this frame afterwards */
} stack_row;

struct frame {
    stack_row *rows;
    uint32_t nrows;
    int64_t donated_last; /* last read of any donated input that stands in memory; -1: none */
    const kn_jaxpr *j, *source; /* j: in the order that they are made in (arrange.c) */
    place **at;     /* per variable */
    var_plan *plan; /* per variable */
    int in_loop;    /* loops around */
    uint32_t pos;   /* equation being emitted */
};

/* What a float is if it is a number at all. */
typedef enum kn_sure {
    KN_SURE_NOTHING,
    KN_SURE_PLUS, /* not -0 */
    KN_SURE_ZERO, /* +0 or NaN */
    KN_SURE_ONE   /* 1 or NaN */
} kn_sure;

/* Facts of a value, parallel to the instructions. */
typedef struct value_facts {
    uint32_t depth, block; /* open block it stands in: place on the stack, and number */
    int64_t lo, hi;        /* i64: bounds */
    kn_lv base;            /* i64: value = base + offset; base 0 for a constant */
    int64_t offset;
    kn_sure sure; /* f32, f64 */
} value_facts;

typedef struct open_block {
    kn_lblock *b;
    uint32_t id;
    bool barrier; /* nothing moves out of it */
} open_block;

typedef struct memo {
    const frame *f;
    uint32_t var, block;
    uint64_t epoch;
    kn_lv value;
    kn_lv ix[4];
} memo;

enum { MAX_RANK = 16, MOST_CUTS = 8 };

typedef struct cut_list {
    kn_lv iv;
    uint32_t n;
    int64_t at[MOST_CUTS];
    bool many; /* more places than fit: not cut */
    int64_t turn; /* not cut, but turned so far (roll.c); 0: not */
} cut_list;

/* A dimension of the nest that may run along what is turned: `from` counts, `to` is the index of what is made. */
enum { TURN_NONE = -1 };
typedef struct turn {
    kn_lv to, from;
    int64_t by; /* 0: nobody asked yet; TURN_NONE: some ask for other borders */
} turn;

/* Who stands in a slot. */
typedef struct stander {
    const frame *f;
    uint32_t var;
} stander;

struct maker {
    kn_element element; /* first: rules get a pointer to it */
    kiln_ctx *ctx;
    kn_arena *arena; /* of the result */
    kn_arena temp;   /* of this run */
    kn_loops *l;
    const kn_prog *prog;
    kn_loop_options o;
    kiln_status status; /* sticky */
    KN_VEC(value_facts) facts;
    KN_VEC(open_block) open;
    uint32_t next_block;
    uint64_t epoch; /* raised by every store: loads are shared only within one */
    uint32_t *cons; /* hash table of pure instructions and loads */
    uint32_t cons_cap, cons_n;
    uint32_t *memo_at; /* by hash: number of a memo, + 1 */
    KN_VEC(memo) memos;
    KN_VEC(uint32_t) swapped; /* slots whose pointers change */
    KN_VEC(stander) standing; /* per slot: the variable put there last that may be overwritten once it is dead */
    kn_lv chosen; /* a bool whose value is known in the code being made, or 0 */
    bool choice;  /* that value */
    frame *frame; /* whose equation an element rule is evaluating */
    uint32_t scope;
    kn_loc loc;
    /* probing: the rules run once for their cuts and element types */
    bool probing;
    cut_list cuts[MAX_RANK];
    turn turns[MAX_RANK];
    unsigned widest; /* bits of the widest element met */
    uint32_t depth_of_pull;
    uint32_t nest_number; /* of the nests over stored values, as they are told of */
};

static inline maker *maker_of(kn_element *m) { return (maker *)m; }
#define MAKER_TRY_MEM(m, p) ((p) ? true : ((m)->status == KILN_OK ? (void)((m)->status = kn_nomem((m)->ctx)) : (void)0, false))

/* ---- instructions (maker.c) ---- */
kn_lv lv_const(maker *m, kiln_dtype d, kn_scalar v);
kn_lv lv_int(maker *m, int64_t v); /* i64 */
kn_lv lv_sop(maker *m, kn_sop op, kiln_dtype d, kiln_dtype to, kn_lv a, kn_lv b, kn_lv c);
kn_lv lv_made(maker *m, kn_sop op, kiln_dtype d, kn_lv a, kn_lv b); /* that very operation, where it was made and can be seen from here; or 0 */
/* sure.c: the value that a float operation is known to give, or 0; and what is sure of its result. */
kn_lv fold_sure(maker *m, kn_sop op, kiln_dtype d, kn_lv a, kn_lv b, kn_sure *sure);
kn_lv lv_load(maker *m, uint32_t slot, kn_lv index);
kn_lv lv_same(maker *m, uint32_t slot, uint32_t slot2); /* do both point to the same memory now? */
void lv_store(maker *m, uint32_t slot, kn_lv index, kn_lv value);
/* The line so many elements on is fetched; 0: none. */
void lv_store_ahead(maker *m, uint32_t slot, kn_lv index, kn_lv value, uint32_t ahead);
/* A store among others that walks through memory far away: lines are fetched ahead, since stores retire in order. */
void lv_store_far(maker *m, uint32_t slot, kn_lv index, kn_lv value);
/* Does d stand for a size that is given when the program runs? */
static inline bool open_size(const maker *m, int64_t d) { return m->l->sized && kn_size_open(d); }
/* Equation e cannot be made for every size; the first one counts. */
void fail_sized(maker *m, const kn_eqn *e, const char *why);
bool lv_known(maker *m, kn_lv v, int64_t *value);      /* a number */
bool lv_known_size(maker *m, kn_lv v, int64_t *value); /* a number, or what stands for a size */
kiln_dtype lv_dtype(const maker *m, kn_lv v);
static inline kn_lv lv_add(maker *m, kn_lv a, kn_lv b) { return lv_sop(m, KN_S_add, KILN_I64, KILN_I64, a, b, 0); }
static inline kn_lv lv_mul(maker *m, kn_lv a, kn_lv b) { return lv_sop(m, KN_S_mul, KILN_I64, KILN_I64, a, b, 0); }
static inline kn_lv lv_sub(maker *m, kn_lv a, kn_lv b) { return lv_sop(m, KN_S_sub, KILN_I64, KILN_I64, a, b, 0); }

kn_lv open_statement(maker *m, kn_lop op, uint32_t nblocks); /* its region is empty; append with close_statement */
kn_lregion *region_of(maker *m, kn_lv statement);
void open_region_block(maker *m, kn_lv statement, uint32_t block, bool barrier);
void close_block(maker *m);
kn_lv add_param(maker *m, kn_lv statement, uint32_t block, kiln_dtype d, int64_t lo, int64_t hi);
void add_yield(maker *m, kn_lv statement, uint32_t block, kn_lv v);
void add_init(maker *m, kn_lv statement, kn_lv v);
void close_statement(maker *m, kn_lv statement); /* appends it to the open block */
kn_lv add_result(maker *m, kn_lv statement, kiln_dtype d);
void add_plain(maker *m, kn_linst i); /* swap, copy, tick */
/* loop lo..hi: opens its block and gives iv; carries are added with add_init/add_param before the body is written */
kn_lv open_loop(maker *m, int64_t lo, int64_t hi, uint32_t width, kn_lv *statement);
void close_loop(maker *m, kn_lv statement);
/* The same between values whose bounds are known to lie in lo_bound..hi_bound. */
kn_lv open_loop_between(maker *m, kn_lv lo, kn_lv hi, int64_t lo_bound, int64_t hi_bound, uint32_t width, kn_lv *statement);
kn_lv open_lanes(maker *m, int64_t n, uint32_t width, int64_t block, kn_sop acc, kiln_dtype d, kn_lv *statement);
kn_lv close_lanes(maker *m, kn_lv statement, kn_lv x, kn_lv y, kiln_dtype d); /* y: 0 but for fma */
kn_lv add_carry(maker *m, kn_lv statement, kn_lv init); /* in the block just opened: the parameter */
kn_lv close_carry_loop(maker *m, kn_lv statement, kn_lv next); /* of a loop with one carry: its result */
/* A loop that carries v, n values, from what they are; in it they are its parameters, and behind it, of what they have become, its results. */
kn_lv open_carries(maker *m, kn_lv lo, kn_lv hi, int64_t most, unsigned n, kn_lv *v, kn_lv *statement);
void close_carries(maker *m, kn_lv statement, unsigned n, kn_lv *v);

uint32_t new_slot(maker *m, kn_slot_kind kind, uint32_t index, kiln_dtype d, int64_t elements);
void append_at(maker *m, uint32_t depth, kn_lv inst);

/* ---- places (place.c) ---- */
place *new_place(maker *m, place_kind kind, kiln_type type);
/* The place of a constant of a body: seen, never overwritten. */
place *borrowed(maker *m, place *p);
place *place_of_atom(maker *m, frame *f, kn_atom a);
kn_lv element_of(maker *m, place *p, const kn_lv *ix);
kn_lv element_at(maker *m, place *p, int64_t linear); /* by constant row-major index */
/* Complex arrays stand in memory, part after part of each element, or are being made of two operands in the nest that is open. */
kn_lv part_of(maker *m, place *p, const kn_lv *ix, bool imaginary);
/* An element in v[0], or a complex one's parts in v[0] and v[1]; and its store. */
void element_parts(maker *m, place *p, const kn_lv *ix, kn_lv *v);
void store_element(maker *m, place *p, uint32_t slot, const kn_lv *ix, const kn_lv *v);
void place_registers(maker *m, place *p, const kn_lv *regs);
/* Elements as values, whatever the place: loads them where it is memory. */
const kn_lv *registers_of(maker *m, place *p);
kn_lv scalar_of(maker *m, frame *f, kn_atom a);
kn_lv linear_index(maker *m, kiln_type t, const kn_lv *ix);
void split_index(maker *m, kn_lv linear, uint32_t rank, const int64_t *dims, kn_lv *ix); /* row-major */
void place_init(maker *m);

/* ---- arrays turned (roll.c) ---- */
void find_roll(const maker *m, frame *f, const kn_eqn *e); /* when it is planned */
kn_lv rolled_element(maker *m, const place *p, const kn_lv *ix); /* 0: it is not known where it comes from */
kn_lv turned_index(maker *m, kn_lv from, int64_t n, int64_t by); /* (from - by) mod n */

/* ---- plan (plan.c) ---- */
bool small(const maker *m, kiln_type t);
void plan_frame(maker *m, frame *f);
bool same_index_only(maker *m, frame *f, kn_atom value, uint32_t var); /* reads `var` at its own index only */
bool reads_var(maker *m, frame *f, kn_atom value, uint32_t var);       /* reads it at all, through lazy values */
bool plain_closure(maker *m, frame *f, kn_atom value, kiln_type shape); /* elementwise down to arrays of this very shape */

/* ---- walking (make.c) ---- */
void run_frame(maker *m, frame *f); /* emits every equation */
frame *new_frame(maker *m, const kn_jaxpr *j, int in_loop);
void bind_input(maker *m, frame *f, uint32_t input, place *p);
void set_place(maker *m, frame *f, uint32_t var, place *p);
/* The variable, + 1, that is in the way of `var` in its wanted slot (0: none), and when donated inputs are read last. */
uint32_t guard_of(const maker *m, const frame *f, uint32_t var, int64_t *donated);
uint32_t slot_for(maker *m, frame *f, uint32_t var); /* the wanted slot, or fresh scratch */
void copy_slot(maker *m, uint32_t to, uint32_t from);
bool dead_after(frame *f, uint32_t var, uint32_t pos);
void want_through(frame *f); /* loops and updates hand a wanted slot on to what they start from */
/* Stores a value (any place) into a slot. */
void store_place(maker *m, frame *f, place *p, uint32_t slot);

/* ---- copies (copies.c) ---- */
void note_copy(maker *m, bool in_loop, const char *what, kiln_type type, uint32_t scope, kn_loc loc, const char *why);
void count_copy(maker *m, const frame *f, const kn_eqn *e, kiln_type type, const char *why); /* made for this equation */
/* Why equation e may not overwrite its operand, which stands in memory. */
const char *why_not_over(maker *m, frame *f, kn_atom a, const kn_eqn *e);

/* ---- kinds of loops ---- */
/* One nest that stores several values (equation, result) of one shape. */
typedef struct root {
    uint32_t pos, result;
} root;
void emit_stored(maker *m, frame *f, const root *roots, uint32_t n);

/* row.c: the rows of a frame, when it is planned; which nests write them; and those that this one does, at most f->nrows. */
typedef struct row_store {
    uint32_t var, slot;
    kn_lv base;
    place *from;
    bool only, stays; /* only: nothing else stores it */
} row_store;
void arrange(maker *m, frame *f); /* arrange.c: another order of equations */
bool one_piece(kiln_type x, kiln_type u); /* is a window of u's shape one piece of x in memory? */
void find_rows(maker *m, frame *f);
void choose_hosts(maker *m, frame *f);
uint32_t open_rows(maker *m, frame *f, const root *roots, uint32_t n, row_store *out);
/* The index into a value whose dimensions are those of `from` but for some of size 1. */
void like_index(kiln_type from, const kn_lv *ix, kiln_type to, kn_lv zero, kn_lv *out);
/* epilogue.c: which products are made together with what reads them. */
void find_epilogues(maker *m, frame *f);
bool row_is_written(const frame *f, uint32_t update);
/* Of a dynamic_update_slice: the start indices, clamped, i64. */
void update_starts(maker *m, frame *f, const kn_eqn *e, kiln_type x, kiln_type u, kn_lv *at);

/* May `var`, made at `pos`, be stored over its guard? Everything at positions pos..end reads the guard at its own index only. */
bool many_parts(const kn_eqn *e); /* a concatenation that is stored part by part */
bool may_overwrite(maker *m, frame *f, uint32_t var, const root *roots, uint32_t n);
void emit_reduce(maker *m, frame *f, const kn_eqn *e);
bool divides_index(const frame *f, const kn_eqn *e); /* of a reduction: are steps divided into several indices? */
void emit_cumulate(maker *m, frame *f, const kn_eqn *e);
void emit_dot(maker *m, frame *f, const kn_eqn *e);
/* The product and what is stored in its place (epilogue.c), where the latter stands. */
void emit_dot_into(maker *m, frame *f, uint32_t var);
void emit_conv(maker *m, frame *f, const kn_eqn *e);
void emit_update(maker *m, frame *f, const kn_eqn *e);
void emit_scatter(maker *m, frame *f, const kn_eqn *e);
bool scatter_rows(const kn_jaxpr *j, const kn_eqn *e); /* are its updates read in vectors? */
/* An operand that is read while the array operand 0 is changed: what would read that array is stored first. `same`: it is the array. */
place *read_beside(maker *m, frame *f, const kn_eqn *e, uint32_t operand, bool *same);
/* The slot that holds operand 0 and is to be changed: its own where it dies here, else a copy. */
uint32_t slot_to_change(maker *m, frame *f, const kn_eqn *e, bool same);
void emit_while(maker *m, frame *f, const kn_eqn *e);
void emit_cond(maker *m, frame *f, const kn_eqn *e);
void emit_call(maker *m, frame *f, const kn_eqn *e);
void emit_sort(maker *m, frame *f, const kn_eqn *e);
uint32_t operand_slot(maker *m, frame *f, kn_atom a);                /* the slot that holds an operand, whole */
void put_whole(maker *m, frame *f, uint32_t var, uint32_t slot); /* a result made in memory; small ones become registers */

/* A value made in memory: its place; a result made in registers: likewise. */
void put_memory(maker *m, frame *f, uint32_t var, uint32_t slot);
void put_registers(maker *m, frame *f, uint32_t var, const kn_lv *v);

/* nest.c: loops over `dims`, cut where rules ask; body(ix) is called once a piece with the innermost loop open. */
typedef void (*nest_body)(maker *m, void *ud, const kn_lv *ix);
void make_nest(maker *m, uint32_t rank, const int64_t *dims, bool vector, nest_body body, void *ud);

/* replace.c: another value in a block and inside it. */
void replace_value(kn_loops *l, kn_lblock *b, kn_lv old, kn_lv new);
/* lives.c: scratch whose lives do not meet is one memory; gives all scratch its place. */
void share_scratch(maker *m);
/* merge.c: neighbouring loops over the same rows become one. */
void merge_loops(maker *m);
/* flatten.c: rows that are no multiple of a vector are walked through as one. */
void flatten_rows(maker *m);
/* prune.c: what nobody uses is dropped. */
void prune_loops(maker *m);
/* forward.c: what a trip stores and the next one loads is carried; true: something was, and what made its index may be unused. */
bool forward_stores(maker *m);
/* fetch.c: loops that go backwards through rows fetch the next one. */
void fetch_lines(maker *m);
/* abreast.c: quotients by one divisor, and roots, stand side by side. */
void order_abreast(maker *m);

#endif
