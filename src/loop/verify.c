/* SPDX-License-Identifier: Apache-2.0 */
/* Are the loops well formed? Definitions before uses and inside their blocks, types, slots, and what may stand in code that
 * runs in lanes: there every bound and selector is the same in all lanes, and every store goes to an element of its own. */
#include "loop/verify.h"

#include "loop/vary.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { DEEPEST = 200, WIDEST = 64 };

enum { UNDEFINED, VISIBLE, GONE };

typedef struct verifier {
    kiln_ctx *ctx;
    const kn_loops *l;
    const kn_loops_text *where;
    kn_arena temp;
    uint8_t *state, *varying;
    KN_VEC(kn_lv) visible; /* in the order of definition */
    unsigned depth;
    bool split; /* inside a loop that is split */
} verifier;

kn_place kn_loops_place(const kn_loops_text *where, uint32_t offset)
{
    kn_place at = {.file = where->file, .line = 1, .column = 1, .text = where->text};
    for (const char *q = where->text; q < where->text + offset; q++) {
        if (*q == '\n') at.line++, at.column = 1;
        else at.column += ((unsigned char)*q & 0xc0) != 0x80;
    }
    return at;
}

static const char *op_name(const kn_linst *in)
{
    static const char *const names[] = {"none", "const", "", "load", "same", "store", "parameter", "result",
                                        "loop", "lanes", "while", "if", "swap", "point", "copy", "call", "tick"};
    if (in->op == KN_L_SOP) return in->sop > KN_S_NONE && in->sop < KN_N_SOPS ? kn_sops[in->sop].name : "operation";
    return in->op <= KN_L_TICK ? names[in->op] : "?";
}

static kiln_status fail(verifier *v, kn_lv at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static kiln_status fail(verifier *v, kn_lv at, const char *fmt, ...)
{
    char message[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    const char *name = at < v->l->inst.n ? op_name(&v->l->inst.v[at]) : "?";
    if (v->where && at < v->where->n)
        return kn_fail_at(v->ctx, KILN_INVALID, "loops", kn_loops_place(v->where, v->where->offsets[at]), NULL, "%s: %s", name,
                          message);
    return kn_fail(v->ctx, KILN_INTERNAL, "loops: instruction %u (%s): %s", at, name, message);
}

#define CHECK(v, at, ok, ...)                                                                      \
    do {                                                                                           \
        if (!(ok)) return fail((v), (at), __VA_ARGS__);                                            \
    } while (0)

/* ---- values ---- */

static kiln_status define(verifier *v, kn_lv x, kn_lop op, kn_lv at)
{
    CHECK(v, at, x > 0 && x < v->l->inst.n, "defines value %u of %u", x, v->l->inst.n);
    CHECK(v, at, v->state[x] == UNDEFINED, "value %u is defined twice", x);
    const kn_linst *in = &v->l->inst.v[x];
    if (op != KN_L_NONE) CHECK(v, at, in->op == op, "value %u is a %s", x, op_name(in));
    v->state[x] = VISIBLE;
    KILN_TRY_MEM(v->ctx, kn_push(&v->temp, &v->visible, x));
    return KILN_OK;
}

static kiln_status use(verifier *v, kn_lv at, kn_lv x, const char *what)
{
    CHECK(v, at, x > 0 && x < v->l->inst.n, "%s is missing", what);
    CHECK(v, at, v->state[x] != UNDEFINED, "%s is not defined yet", what);
    CHECK(v, at, v->state[x] == VISIBLE, "%s is defined in a block that has ended", what);
    kn_lop op = v->l->inst.v[x].op;
    CHECK(v, at, op == KN_L_CONST || op == KN_L_SOP || op == KN_L_LOAD || op == KN_L_SAME || op == KN_L_PARAM || op == KN_L_RESULT,
          "%s is a %s, no value", what, op_name(&v->l->inst.v[x]));
    return KILN_OK;
}

static kiln_status typed(verifier *v, kn_lv at, kn_lv x, kiln_dtype d, const char *what)
{
    KILN_TRY(use(v, at, x, what));
    kiln_dtype found = v->l->inst.v[x].dtype;
    CHECK(v, at, found == d, "%s has type %s where %s is needed", what, kiln_dtype_name(found), kiln_dtype_name(d));
    return KILN_OK;
}

/* ---- single instructions ---- */

static kiln_status operation(verifier *v, kn_lv at, const kn_linst *in)
{
    CHECK(v, at, in->sop > KN_S_NONE && in->sop < KN_N_SOPS, "an operation of number %d", (int)in->sop);
    const kn_sop_info *info = &kn_sops[in->sop];
    CHECK(v, at, in->from < KILN_N_DTYPES && strchr(info->kinds, kiln_dtype_kind(in->from)), "does not take %s",
          kiln_dtype_name(in->from));
    const kn_lv operands[] = {in->a, in->b, in->c};
    static const char *const what[] = {"the first operand", "the second operand", "the third operand"};
    for (int k = 0; k < info->arity; k++)
        KILN_TRY(typed(v, at, operands[k], in->sop == KN_S_select && k == 0 ? KILN_BOOL : in->from, what[k]));
    kiln_dtype result = info->result == 'b' ? KILN_BOOL : in->from;
    if (in->sop == KN_S_bitcast)
        CHECK(v, at, strchr("iuf8", kiln_dtype_kind(in->dtype)) && kiln_dtype_bytes(in->dtype) == kiln_dtype_bytes(in->from), "to %s, of another width",
              kiln_dtype_name(in->dtype));
    if (info->result == 'c') CHECK(v, at, strchr("biuf8", kiln_dtype_kind(in->dtype)), "to %s", kiln_dtype_name(in->dtype));
    else CHECK(v, at, in->dtype == result, "gives %s, not %s", kiln_dtype_name(result), kiln_dtype_name(in->dtype));
    return KILN_OK;
}

static bool may_be_written(const kn_slot *s) { return s->kind != KN_SLOT_CONST && s->kind != KN_SLOT_SIZE; }

static kiln_status element(verifier *v, kn_lv at, const kn_linst *in)
{
    CHECK(v, at, in->slot < v->l->slots.n, "slot %u of %u", in->slot, v->l->slots.n);
    const kn_slot *s = &v->l->slots.v[in->slot];
    KILN_TRY(typed(v, at, in->a, KILN_I64, "the index"));
    CHECK(v, at, !s->part || v->split, "memory of a thread's own outside of loops that are split");
    CHECK(v, at, in->dtype == s->dtype, "an element of type %s in a slot of %s", kiln_dtype_name(in->dtype), kiln_dtype_name(s->dtype));
    const kn_linst *index = &v->l->inst.v[in->a];
    if (index->op == KN_L_CONST)
        CHECK(v, at, index->imm.i >= 0 && index->imm.i < s->elements, "element %" PRId64 " of %" PRId64, index->imm.i, s->elements);
    if (in->op == KN_L_LOAD) return KILN_OK;
    CHECK(v, at, may_be_written(s), "a store to a constant");
    KILN_TRY(typed(v, at, in->b, s->dtype, "the value stored"));
    return KILN_OK;
}

static kiln_status two_slots(verifier *v, kn_lv at, const kn_linst *in)
{
    CHECK(v, at, in->slot < v->l->slots.n && in->slot2 < v->l->slots.n, "slots %u and %u of %u", in->slot, in->slot2, v->l->slots.n);
    const kn_slot *a = &v->l->slots.v[in->slot], *b = &v->l->slots.v[in->slot2];
    CHECK(v, at, !a->part && !b->part, "memory of a thread's own outside of loops that are split");
    CHECK(v, at, a->dtype == b->dtype && a->elements == b->elements, "slots of %s[%" PRId64 "] and %s[%" PRId64 "]",
          kiln_dtype_name(a->dtype), a->elements, kiln_dtype_name(b->dtype), b->elements);
    return KILN_OK;
}

static bool share_scratch(const kn_slot *a, const kn_slot *b)
{
    if (a->kind != KN_SLOT_SCRATCH || b->kind != KN_SLOT_SCRATCH || a->elements == 0 || b->elements == 0) return false;
    const kn_slot *low = a->offset <= b->offset ? a : b, *high = low == a ? b : a;
    return high->offset - low->offset < (size_t)low->elements * kiln_dtype_bytes(low->dtype);
}

/* Workspace of a call, shared or of each thread: of `bytes` at least. */
static kiln_status workspace(verifier *v, kn_lv at, const kn_lcall *c, uint32_t slot, bool part, size_t bytes)
{
    size_t room = 0;
    for (uint32_t i = 0; i < c->call.nout + c->call.nin; i++) CHECK(v, at, slot != c->slots[i] + 1, "the workspace is an array of the call");
    if (slot) {
        CHECK(v, at, slot <= v->l->slots.n && v->l->slots.v[slot - 1].kind == KN_SLOT_SCRATCH, "the workspace is no scratch");
        const kn_slot *s = &v->l->slots.v[slot - 1];
        CHECK(v, at, s->part == part, part ? "what each thread needs is not its own" : "memory of a thread's own outside of loops that are split");
        CHECK(v, at, kn_mul_size((size_t)s->elements, kiln_dtype_bytes(s->dtype), &room), "a workspace of %" PRId64 " elements", s->elements);
    }
    CHECK(v, at, room >= bytes, "a workspace of %zu bytes where %zu are needed", room, bytes);
    return KILN_OK;
}

/* The call's k-th array, or its workspace behind them. */
static const kn_slot *call_slot(const verifier *v, const kn_lcall *c, uint32_t k)
{
    return &v->l->slots.v[k < c->call.nout + c->call.nin ? c->slots[k] : c->work - 1];
}

static kiln_status call_fits(verifier *v, kn_lv at, const kn_lcall *c, size_t *work_bytes)
{
    kiln_status s = c->call.routine->bind(v->ctx, NULL, &c->call, NULL, work_bytes);
    if (s != KILN_INVALID) return s;
    char message[KILN_DIAG_TEXT];
    snprintf(message, sizeof message, "%s", kiln_ctx_error(v->ctx)->message);
    return fail(v, at, "%.200s", message);
}

/* What a call writes overlaps nothing else of it: the slots are all different, but that operands may come twice. */
static kiln_status call(verifier *v, kn_lv at, const kn_linst *in)
{
    const kn_lcall *c = in->call;
    CHECK(v, at, c && c->call.routine && c->call.nout > 0, "without routine or result");
    uint32_t n = c->call.nout + c->call.nin;
    for (uint32_t i = 0; i < n; i++) {
        CHECK(v, at, c->slots[i] < v->l->slots.n, "slot %u of %u", c->slots[i], v->l->slots.n);
        const kn_slot *s = &v->l->slots.v[c->slots[i]];
        CHECK(v, at, s->dtype == c->call.arrays[i].dtype && s->elements == c->call.arrays[i].elements, "array %u is not of its slot's type", i);
        CHECK(v, at, i >= c->call.nout || may_be_written(s), "a constant is written");
        for (uint32_t k = 0; k < i && k < c->call.nout; k++) CHECK(v, at, c->slots[k] != c->slots[i], "result %u is used twice", k);
    }
    CHECK(v, at, c->number < v->l->calls.n && v->l->calls.v[c->number] == c, "number %u is not its own", c->number);
    kn_call_share share = {0};
    size_t bytes;
    KILN_TRY(call_fits(v, at, c, &bytes));
    CHECK(v, at, !c->parts || c->call.routine->share, "%s is not shared by threads", c->call.routine->name);
    if (c->parts) c->call.routine->share(&c->call, &share);
    KILN_TRY(workspace(v, at, c, c->work, false, c->parts ? share.work_bytes : bytes));
    KILN_TRY(workspace(v, at, c, c->parts, true, share.own_bytes));
    for (uint32_t i = 0; i < n + (c->work != 0); i++)
        for (uint32_t k = 0; k < i && (k < c->call.nout || i == n); k++)
            CHECK(v, at, !share_scratch(call_slot(v, c, k), call_slot(v, c, i)), "arrays %u and %u share scratch", k, i);
    return KILN_OK;
}

/* ---- statements ---- */

static kiln_status block(verifier *v, const kn_lblock *b, kn_lv at, uint32_t nparams, uint32_t nyields);

static void leave(verifier *v, uint32_t n)
{
    while (v->visible.n > n) v->state[v->visible.v[--v->visible.n]] = GONE;
}

static kiln_status shape(verifier *v, kn_lv at, const kn_lregion *r, uint32_t nblocks, uint32_t nresults)
{
    CHECK(v, at, r && r->blocks && (nblocks == 0 ? r->nblocks > 0 : r->nblocks == nblocks), "%u blocks", r ? r->nblocks : 0);
    CHECK(v, at, r->results.n == nresults, "%u results where %u are made", r->results.n, nresults);
    for (uint32_t b = 0; b < r->nblocks; b++)
        for (uint32_t i = 0; i < r->blocks[b].params.n; i++) {
            kn_lv x = r->blocks[b].params.v[i];
            CHECK(v, at, x > 0 && x < v->l->inst.n, "parameter %u has no value", i);
        }
    return KILN_OK;
}

static kiln_status bounds(verifier *v, kn_lv at, const kn_lregion *r)
{
    KILN_TRY(typed(v, at, r->lo, KILN_I64, "the lower bound"));
    return typed(v, at, r->hi, KILN_I64, "the upper bound");
}

/* Parameters, yields and results have the types of the initial values. */
static kiln_status carries(verifier *v, kn_lv at, const kn_lregion *r, uint32_t first)
{
    for (uint32_t i = 0; i < r->init.n; i++) {
        KILN_TRY(use(v, at, r->init.v[i], "an initial value"));
        kiln_dtype d = v->l->inst.v[r->init.v[i]].dtype;
        for (uint32_t b = 0; b < r->nblocks; b++) {
            CHECK(v, at, r->blocks[b].params.n == first + r->init.n, "%u parameters where %u are given", r->blocks[b].params.n,
                  first + r->init.n);
            CHECK(v, at, v->l->inst.v[r->blocks[b].params.v[first + i]].dtype == d, "parameter %u is not of its initial value's type", i);
        }
    }
    return KILN_OK;
}

static kiln_status carried_yields(verifier *v, kn_lv at, const kn_lregion *r)
{
    const kn_lblock *last = &r->blocks[r->nblocks - 1];
    for (uint32_t i = 0; i < r->init.n; i++) {
        kiln_dtype d = v->l->inst.v[r->init.v[i]].dtype, next = v->l->inst.v[last->yields.v[i]].dtype;
        CHECK(v, at, next == d, "carries %s, yields %s", kiln_dtype_name(d), kiln_dtype_name(next));
        kn_lv x = r->results.v[i];
        CHECK(v, at, x < v->l->inst.n && v->l->inst.v[x].dtype == d, "result %u is not of its initial value's type", i);
    }
    return KILN_OK;
}

static bool power_of_two(uint32_t w) { return w && !(w & (w - 1)); }

static kiln_status width(verifier *v, kn_lv at, uint32_t w)
{
    CHECK(v, at, power_of_two(w) && w <= WIDEST, "width %u is no power of two up to %d", w, WIDEST);
    return KILN_OK;
}

/* What may stand in code that runs in lanes. */
static kiln_status lane_rules(verifier *v, const kn_lblock *b)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        kn_lv at = b->inst.v[i];
        const kn_linst *in = &v->l->inst.v[at];
        const kn_lregion *r = in->region;
        switch (in->op) {
        case KN_L_STORE: CHECK(v, at, v->varying[in->a], "in lanes, every lane stores to the same element"); break;
        case KN_L_LOOP:
            CHECK(v, at, r->width <= 1 && !r->cost, "a loop in lanes, or one that is split, inside code that runs in lanes");
            CHECK(v, at, !v->varying[r->lo] && !v->varying[r->hi], "bounds that differ between lanes");
            KILN_TRY(lane_rules(v, &r->blocks[0]));
            break;
        case KN_L_IF:
            CHECK(v, at, !v->varying[r->selector], "a selector that differs between lanes");
            for (uint32_t k = 0; k < r->nblocks; k++) KILN_TRY(lane_rules(v, &r->blocks[k]));
            break;
        case KN_L_LANES:
        case KN_L_WHILE:
        case KN_L_SWAP:
        case KN_L_POINT:
        case KN_L_COPY:
        case KN_L_CALL:
        case KN_L_TICK: return fail(v, at, "inside code that runs in lanes");
        default: break;
        }
    }
    return KILN_OK;
}

/* The body of a loop or of lanes; `w` above 1: in lanes. */
static kiln_status body(verifier *v, kn_lv at, const kn_lregion *r, uint32_t w, uint32_t nyields)
{
    CHECK(v, at, r->blocks[0].params.n == 1 + r->init.n, "%u parameters where %u are given", r->blocks[0].params.n, 1 + r->init.n);
    CHECK(v, at, v->l->inst.v[r->blocks[0].params.v[0]].dtype == KILN_I64, "the counter is no i64");
    KILN_TRY(block(v, &r->blocks[0], at, 1 + r->init.n, nyields));
    if (w <= 1) return KILN_OK;
    kn_loops_vary(v->l, at, v->varying);
    return lane_rules(v, &r->blocks[0]);
}

static kiln_status loop(verifier *v, kn_lv at, const kn_linst *in)
{
    const kn_lregion *r = in->region;
    KILN_TRY(shape(v, at, r, 1, r ? r->init.n : 0));
    KILN_TRY(bounds(v, at, r));
    if (r->width) KILN_TRY(width(v, at, r->width));
    CHECK(v, at, !r->width || !r->init.n, "a loop of width %u carries values", r->width);
    CHECK(v, at, r->cost >= 0 && (!r->cost || !r->init.n), "a loop that is split carries values");
    CHECK(v, at, !r->cost || !v->split, "a loop that is split inside another one");
    KILN_TRY(carries(v, at, r, 1));
    bool outside = v->split;
    v->split = v->split || r->cost;
    KILN_TRY(body(v, at, r, r->width, r->init.n));
    v->split = outside;
    return carried_yields(v, at, r);
}

static kiln_status lanes(verifier *v, kn_lv at, const kn_linst *in)
{
    const kn_lregion *r = in->region;
    KILN_TRY(shape(v, at, r, 1, 1));
    KILN_TRY(bounds(v, at, r));
    KILN_TRY(width(v, at, r->width));
    CHECK(v, at, (r->block > 0 || (v->l->sized && r->block == 0)) && r->block % r->width == 0, "a block of %" PRId64 " elements is no multiple of %u", r->block, r->width);
    CHECK(v, at, !r->init.n, "with carries");
    char kind = kiln_dtype_kind(in->dtype);
    bool bits = r->acc == KN_S_and || r->acc == KN_S_or || r->acc == KN_S_xor;
    bool sums = r->acc == KN_S_add || r->acc == KN_S_mul, fma = r->acc == KN_S_fma;
    bool known = r->acc == KN_S_min || r->acc == KN_S_max || (bits && kind != 'f') || (sums && kind != 'b') || (fma && kind == 'f');
    CHECK(v, at, known && strchr("biuf", kind), "no such reduction of %s", kiln_dtype_name(in->dtype));
    KILN_TRY(body(v, at, r, r->width, fma ? 2 : 1));
    for (uint32_t i = 0; i < r->blocks[0].yields.n; i++)
        CHECK(v, at, v->l->inst.v[r->blocks[0].yields.v[i]].dtype == in->dtype, "yields another type than %s", kiln_dtype_name(in->dtype));
    CHECK(v, at, r->results.v[0] < v->l->inst.n && v->l->inst.v[r->results.v[0]].dtype == in->dtype, "the result is of another type");
    return KILN_OK;
}

static kiln_status loop_while(verifier *v, kn_lv at, const kn_linst *in)
{
    const kn_lregion *r = in->region;
    KILN_TRY(shape(v, at, r, 2, r ? r->init.n : 0));
    KILN_TRY(carries(v, at, r, 0));
    KILN_TRY(block(v, &r->blocks[0], at, r->init.n, 1));
    CHECK(v, at, v->l->inst.v[r->blocks[0].yields.v[0]].dtype == KILN_BOOL, "the condition is no bool");
    KILN_TRY(block(v, &r->blocks[1], at, r->init.n, r->init.n));
    return carried_yields(v, at, r);
}

static kiln_status loop_if(verifier *v, kn_lv at, const kn_linst *in)
{
    const kn_lregion *r = in->region;
    KILN_TRY(shape(v, at, r, 0, r ? r->results.n : 0));
    CHECK(v, at, !r->init.n, "with carries");
    KILN_TRY(typed(v, at, r->selector, KILN_I32, "the selector"));
    for (uint32_t b = 0; b < r->nblocks; b++) {
        KILN_TRY(block(v, &r->blocks[b], at, 0, r->results.n));
        for (uint32_t i = 0; i < r->results.n; i++) {
            kn_lv x = r->results.v[i];
            CHECK(v, at, x < v->l->inst.n && v->l->inst.v[x].dtype == v->l->inst.v[r->blocks[b].yields.v[i]].dtype,
                  "block %u yields another type as result %u", b, i);
        }
    }
    return KILN_OK;
}

static kiln_status statement(verifier *v, kn_lv at, const kn_linst *in)
{
    CHECK(v, at, ++v->depth <= DEEPEST, "blocks are nested more than %d deep", DEEPEST);
    kiln_status status = in->op == KN_L_LOOP    ? loop(v, at, in)
                         : in->op == KN_L_LANES ? lanes(v, at, in)
                         : in->op == KN_L_WHILE ? loop_while(v, at, in)
                                                : loop_if(v, at, in);
    v->depth--;
    KILN_TRY(status);
    for (uint32_t i = 0; i < in->region->results.n; i++) {
        kn_lv x = in->region->results.v[i];
        KILN_TRY(define(v, x, KN_L_RESULT, at));
        CHECK(v, at, v->l->inst.v[x].a == at && v->l->inst.v[x].index == i, "value %u is not its result %u", x, i);
    }
    return KILN_OK;
}

/* ---- blocks ---- */

static kiln_status instruction(verifier *v, kn_lv at)
{
    CHECK(v, at, at > 0 && at < v->l->inst.n, "instruction %u of %u", at, v->l->inst.n);
    const kn_linst *in = &v->l->inst.v[at];
    bool whole = in->op == KN_L_SWAP || in->op == KN_L_POINT || in->op == KN_L_COPY || in->op == KN_L_SAME || in->op == KN_L_CALL || in->op == KN_L_TICK;
    CHECK(v, at, !whole || !v->split, "inside a loop that is split");
    switch (in->op) {
    case KN_L_CONST: return define(v, at, KN_L_NONE, at);
    case KN_L_SOP: KILN_TRY(operation(v, at, in)); return define(v, at, KN_L_NONE, at);
    case KN_L_LOAD: KILN_TRY(element(v, at, in)); return define(v, at, KN_L_NONE, at);
    case KN_L_STORE: KILN_TRY(element(v, at, in)); break;
    case KN_L_LOOP:
    case KN_L_LANES:
    case KN_L_WHILE:
    case KN_L_IF: KILN_TRY(statement(v, at, in)); break;
    case KN_L_SAME:
        CHECK(v, at, in->dtype == KILN_BOOL, "gives bool");
        KILN_TRY(two_slots(v, at, in));
        return define(v, at, KN_L_NONE, at);
    case KN_L_SWAP:
        CHECK(v, at, in->index <= v->l->slots.n, "slot %u of %u", in->index - 1, v->l->slots.n);
        KILN_TRY(two_slots(v, at, in));
        break;
    case KN_L_POINT:
    case KN_L_COPY: KILN_TRY(two_slots(v, at, in)); break;
    case KN_L_CALL: KILN_TRY(call(v, at, in)); break;
    case KN_L_TICK: CHECK(v, at, in->index < v->l->n_scopes, "scope %u of %u", in->index, v->l->n_scopes); break;
    default: return fail(v, at, "stands among the instructions of a block");
    }
    CHECK(v, at, v->state[at] == UNDEFINED, "stands in two places");
    v->state[at] = GONE;
    return KILN_OK;
}

static kiln_status block(verifier *v, const kn_lblock *b, kn_lv at, uint32_t nparams, uint32_t nyields)
{
    uint32_t before = v->visible.n;
    CHECK(v, at, b->params.n == nparams, "%u parameters where %u are given", b->params.n, nparams);
    for (uint32_t i = 0; i < b->params.n; i++) KILN_TRY(define(v, b->params.v[i], KN_L_PARAM, at));
    for (uint32_t i = 0; i < b->inst.n; i++) KILN_TRY(instruction(v, b->inst.v[i]));
    CHECK(v, at, b->yields.n == nyields, "yields %u values where %u are needed", b->yields.n, nyields);
    for (uint32_t i = 0; i < b->yields.n; i++) KILN_TRY(use(v, at, b->yields.v[i], "a yield"));
    leave(v, before);
    return KILN_OK;
}

static size_t rounded(size_t bytes) { return bytes > SIZE_MAX - 63 ? bytes : (bytes + 63) & ~(size_t)63; }

static kiln_status slots(verifier *v)
{
    const kn_loops *l = v->l;
    for (uint32_t i = 0; i < l->slots.n; i++) {
        const kn_slot *s = &l->slots.v[i];
        const uint32_t most[] = {l->n_inputs, l->n_outputs, l->n_consts, 0, 1};
        kn_slot room = *s;
        size_t end = s->offset, per = s->per;
        if (s->kind > KN_SLOT_SIZE || s->dtype >= KILN_N_DTYPES || s->elements < 0 || kiln_dtype_bytes(s->dtype) == 0)
            return kn_fail(v->ctx, KILN_INVALID, "loops: slot %u has no type that memory can hold", i);
        if (s->kind != KN_SLOT_SCRATCH && s->index >= most[s->kind])
            return kn_fail(v->ctx, KILN_INVALID, "loops: slot %u has index %u of %u", i, s->index, most[s->kind]);
        if (s->kind != KN_SLOT_SCRATCH) continue;
        if (s->offset % 64 || !kn_slot_place(&room, &end, &per) || end > rounded(s->part ? l->part_bytes : l->scratch_bytes) ||
            per > (s->part ? l->part_per : l->scratch_per))
            return kn_fail(v->ctx, KILN_INVALID, "loops: slot %u of %" PRId64 " elements at %zu is no aligned part of %zu bytes of scratch", i,
                           s->elements, s->offset, s->part ? l->part_bytes : l->scratch_bytes);
    }
    return KILN_OK;
}

kiln_status kn_loops_verify_at(kiln_ctx *ctx, const kn_loops *l, const kn_loops_text *where)
{
    verifier v = {.ctx = ctx, .l = l, .where = where};
    kn_arena_init(&v.temp, &ctx->alloc);
    v.state = KN_NEWN(&v.temp, uint8_t, l->inst.n);
    v.varying = KN_NEWN(&v.temp, uint8_t, l->inst.n);
    kiln_status status = v.state && v.varying ? slots(&v) : kn_nomem(ctx);
    if (status == KILN_OK) status = block(&v, &l->top, 0, 0, 0);
    kn_arena_fini(&v.temp);
    return status;
}

kiln_status kn_loops_verify(kiln_ctx *ctx, const kn_loops *l) { return kn_loops_verify_at(ctx, l, NULL); }
