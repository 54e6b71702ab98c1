/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the text form of loops (print.c) and verifies what it read; every error has its line and column. */
#include "array/size.h"
#include "base/fpmode.h"
#include "base/text.h"
#include "loop/verify.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEEPEST = 100 };

typedef enum token_kind { END, WORD, NUMBER, VALUE, TEXT, PUNCT } token_kind;

typedef struct token {
    token_kind kind;
    const char *s; /* VALUE: without the %, TEXT: without the quotes */
    size_t n;
    const char *first; /* where it begins */
} token;

typedef KN_VEC(uint32_t) slot_vec;

typedef struct parser {
    kiln_ctx *ctx;
    kn_arena *arena;
    kn_loops *l;
    const char *text, *at, *end, *file;
    token t; /* the next one */
    kn_arena temp;
    KN_VEC(kn_lv) names; /* value of %n; 0: not defined */
    KN_VEC(kn_lv) results;
    KN_VEC(uint32_t) offsets; /* in the text, of l->inst */
    KN_VEC(const char *) slots;
    KN_VEC(const char *) scopes;
    KN_VEC(const char *) files;
    unsigned depth;
    uint32_t scope;
    kn_loc loc;
} parser;

/* ---- tokens ---- */

static kn_place place_of(const parser *p, const char *s)
{
    return kn_loops_place(&(kn_loops_text){p->file, p->text, NULL, 0}, (uint32_t)(s - p->text));
}

#define FAIL(p, ...) kn_fail_at((p)->ctx, KILN_INVALID, "loops", place_of((p), (p)->t.first), __VA_ARGS__)

static bool is_word(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!first && c >= '0' && c <= '9');
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static kiln_status next(parser *p)
{
    const char *s = p->at, *end = p->end;
    for (;; s++) {
        while (s < end && (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r')) s++;
        if (s == end || *s != '#') break;
        while (s < end && *s != '\n') s++;
        if (s == end) break;
    }
    const char *first = s;
    p->t = (token){END, s, 0, s};
    if (s < end) {
        if (is_word(*s, true)) {
            while (s < end && is_word(*s, false)) s++;
            p->t = (token){WORD, first, (size_t)(s - first), first};
        } else if (is_digit(*s) || (*s == '-' && s + 1 < end && (is_digit(s[1]) || s[1] == 'i'))) {
            s++;
            while (s < end && (is_word(*s, false) || (*s == '.' && !(s + 1 < end && s[1] == '.')) ||
                               ((*s == '-' || *s == '+') && (s[-1] == 'e' || s[-1] == 'E') && first[1] != 'x')))
                s++;
            p->t = (token){NUMBER, first, (size_t)(s - first), first};
        } else if (*s == '%') {
            for (s++; s < end && is_digit(*s);) s++;
            p->t = (token){VALUE, first + 1, (size_t)(s - first - 1), first};
            if (p->t.n == 0 || p->t.n > 9) return FAIL(p, "a number of at most 9 digits", "'%%' without the number of a value");
        } else if (*s == '"') {
            for (s++; s < end && *s != '"' && *s != '\n';) s++;
            p->t = (token){TEXT, first + 1, (size_t)(s - first - 1), first};
            if (s == end || *s == '\n') return FAIL(p, NULL, "a text without its closing quote");
            s++;
        } else {
            s += s + 1 < end && s[0] == '.' && s[1] == '.' ? 2 : 1;
            p->t = (token){PUNCT, first, (size_t)(s - first), first};
        }
    }
    p->at = s;
    return KILN_OK;
}

static bool is(const parser *p, const char *s)
{
    return (p->t.kind == WORD || p->t.kind == PUNCT) && p->t.n == strlen(s) && memcmp(p->t.s, s, p->t.n) == 0;
}

static kiln_status unexpected(parser *p, const char *wanted)
{
    if (p->t.kind == END) return FAIL(p, NULL, "the text ends where %s is expected", wanted);
    return FAIL(p, NULL, "'%.*s' where %s is expected", (int)(p->t.n > 40 ? 40 : p->t.n), p->t.s, wanted);
}

static kiln_status expect(parser *p, const char *s)
{
    if (!is(p, s)) {
        char wanted[40];
        snprintf(wanted, sizeof wanted, "'%s'", s);
        return unexpected(p, wanted);
    }
    return next(p);
}

static kiln_status accept(parser *p, const char *s, bool *yes)
{
    *yes = is(p, s);
    return *yes ? next(p) : KILN_OK;
}

/* ---- numbers and names ---- */

static kiln_status integer(parser *p, uint64_t most, const char *what, uint64_t *out)
{
    char digits[32];
    if (p->t.kind != NUMBER || p->t.n >= sizeof digits || !is_digit(*p->t.s)) return unexpected(p, what);
    memcpy(digits, p->t.s, p->t.n);
    digits[p->t.n] = 0;
    char *end;
    errno = 0;
    unsigned long long v = strtoull(digits, &end, 10);
    if (*end || errno) return unexpected(p, what);
    if (v > most) return FAIL(p, NULL, "%s is %s, more than the %llu that are possible", what, digits, (unsigned long long)most);
    *out = v;
    return next(p);
}

static kiln_status small(parser *p, const char *what, uint32_t *out)
{
    uint64_t v;
    KILN_TRY(integer(p, INT32_MAX, what, &v));
    *out = (uint32_t)v;
    return KILN_OK;
}

static kiln_status dtype(parser *p, kiln_dtype *out)
{
    if (p->t.kind != WORD || !kiln_dtype_from_name(p->t.s, p->t.n, out)) return unexpected(p, "an element type");
    return next(p);
}

/* A number of this type; every spelling that print.c writes. */
static kiln_status literal(parser *p, kiln_dtype d, kn_scalar *out)
{
    char kind = kiln_dtype_kind(d), s[400];
    *out = (kn_scalar){.c = {0, 0}};
    if (kind == 'b') {
        if (!is(p, "true") && !is(p, "false")) return unexpected(p, "true or false");
        out->b = is(p, "true");
        return next(p);
    }
    bool word = p->t.kind == WORD && kind == 'f' && (is(p, "inf") || is(p, "nan"));
    if ((p->t.kind != NUMBER && !word) || p->t.n >= sizeof s) return unexpected(p, "a number");
    memcpy(s, p->t.s, p->t.n);
    s[p->t.n] = 0;
    char *end = s + p->t.n;
    errno = 0;
    if (kind == 'f') {
        if (s[0] == '0' && s[1] == 'x') out->u = strtoull(s, &end, 16);
        else if (strcmp(s, "inf") == 0 || strcmp(s, "-inf") == 0) out->f = s[0] == '-' ? -HUGE_VAL : HUGE_VAL;
        else if (strcmp(s, "nan") == 0) out->u = 0x7ff8000000000000u;
        else if (kn_read_double(s, end, &out->f) != end) return FAIL(p, NULL, "'%s' is no number", s);
    } else if (kind == 'i') {
        out->i = strtoll(s, &end, 10);
    } else {
        out->u = strtoull(s, &end, 10);
    }
    kn_scalar rounded = kn_scalar_round(d, *out);
    bool whole = kind == 'f' || (rounded.u == out->u && errno == 0 && !(kind == 'u' && s[0] == '-'));
    if (*end || !whole) return FAIL(p, NULL, "'%s' is no number of type %s", s, kiln_dtype_name(d));
    if (kind == 'f' && !isnan(out->f)) *out = rounded;
    return next(p);
}

static kiln_status text(parser *p, const char **out)
{
    if (p->t.kind != TEXT) return unexpected(p, "a text in quotes");
    char *s = kn_arena_new(p->arena, p->t.n + 1);
    KILN_TRY_MEM(p->ctx, s);
    *out = s;
    for (size_t i = 0; i < p->t.n; i++) {
        unsigned hex = 0;
        char digits[3] = {0};
        if (p->t.s[i] == '\\') {
            if (i + 3 >= p->t.n || p->t.s[i + 1] != 'x') return FAIL(p, "\\x and two digits", "an escape that is not known");
            memcpy(digits, p->t.s + i + 2, 2);
            hex = (unsigned)strtoul(digits, NULL, 16);
            i += 3;
        }
        *s++ = hex ? (char)hex : p->t.s[i];
    }
    return next(p);
}

/* ---- values ---- */

static kiln_status make(parser *p, kn_linst in, const char *at, kn_lv *out)
{
    in.scope = p->scope;
    in.loc = p->loc;
    KILN_TRY_MEM(p->ctx, kn_push(p->arena, &p->l->inst, in) && kn_push(&p->temp, &p->offsets, (uint32_t)(at - p->text)));
    *out = p->l->inst.n - 1;
    return KILN_OK;
}

/* Defines %n, the next token. */
static kiln_status define(parser *p, kn_linst in, kn_lv *out)
{
    if (p->t.kind != VALUE) return unexpected(p, "a value to define, as %1");
    uint32_t n = (uint32_t)strtoul(p->t.s, NULL, 10);
    if (n > 1000 && n > p->end - p->text) return FAIL(p, "numbers in the order of definition", "%%%u in a text of this size", n);
    while (p->names.n <= n) KILN_TRY_MEM(p->ctx, kn_push(&p->temp, &p->names, 0));
    if (p->names.v[n]) return FAIL(p, NULL, "%%%u is defined twice", n);
    KILN_TRY(make(p, in, p->t.first, out));
    p->names.v[n] = *out;
    return next(p);
}

/* A value, or a literal of type d, which becomes an instruction of block b. d == KILN_N_DTYPES: literals say their type. */
static kiln_status operand(parser *p, kn_lblock *b, kiln_dtype d, kn_lv *out)
{
    if (p->t.kind == VALUE) {
        uint32_t n = (uint32_t)strtoul(p->t.s, NULL, 10);
        if (n >= p->names.n || !p->names.v[n]) return FAIL(p, NULL, "%%%u is not defined here", n);
        *out = p->names.v[n];
        return next(p);
    }
    const char *at = p->t.first;
    if (d == KILN_N_DTYPES) KILN_TRY(dtype(p, &d));
    kn_linst in = {.op = KN_L_CONST, .dtype = d};
    KILN_TRY(literal(p, d, &in.imm));
    KILN_TRY(make(p, in, at, out));
    KILN_TRY_MEM(p->ctx, kn_push(p->arena, &b->inst, *out));
    return KILN_OK;
}

static kiln_status slot(parser *p, uint32_t *out)
{
    if (p->t.kind != WORD) return unexpected(p, "the name of a slot");
    for (uint32_t i = 0; i < p->slots.n; i++)
        if (strlen(p->slots.v[i]) == p->t.n && memcmp(p->slots.v[i], p->t.s, p->t.n) == 0) {
            *out = i;
            return next(p);
        }
    return FAIL(p, NULL, "'%.*s' is no slot", (int)(p->t.n > 40 ? 40 : p->t.n), p->t.s);
}

static kiln_status element(parser *p, kn_lblock *b, kn_linst *in)
{
    KILN_TRY(slot(p, &in->slot));
    in->dtype = p->l->slots.v[in->slot].dtype;
    KILN_TRY(expect(p, "["));
    KILN_TRY(operand(p, b, KILN_I64, &in->a));
    return expect(p, "]");
}

/* ---- statements ---- */

static kiln_status block(parser *p, kn_lblock *b);

static kiln_status region(parser *p, uint32_t nblocks, kn_lregion **out)
{
    kn_lregion *r = KN_NEW(p->arena, kn_lregion);
    KILN_TRY_MEM(p->ctx, r && (r->blocks = KN_NEWN(p->arena, kn_lblock, nblocks)));
    r->nblocks = nblocks;
    *out = r;
    return KILN_OK;
}

static kiln_status param(parser *p, kn_lblock *b, kiln_dtype d)
{
    kn_lv v;
    KILN_TRY(define(p, (kn_linst){.op = KN_L_PARAM, .dtype = d}, &v));
    KILN_TRY_MEM(p->ctx, kn_push(p->arena, &b->params, v));
    return KILN_OK;
}

static kiln_status bounds(parser *p, kn_lblock *outer, kn_lregion *r)
{
    KILN_TRY(param(p, &r->blocks[0], KILN_I64));
    KILN_TRY(expect(p, "in"));
    KILN_TRY(operand(p, outer, KILN_I64, &r->lo));
    KILN_TRY(expect(p, ".."));
    return operand(p, outer, KILN_I64, &r->hi);
}

/* carry %1 = x, %2 = f32 0.0. The initial value is read before its parameter is defined. */
static kiln_status carries(parser *p, kn_lblock *outer, kn_lregion *r)
{
    bool more;
    KILN_TRY(accept(p, "carry", &more));
    while (more) {
        token name = p->t;
        if (name.kind != VALUE) return unexpected(p, "a value to define, as %1");
        KILN_TRY(next(p));
        KILN_TRY(expect(p, "="));
        kn_lv init;
        KILN_TRY(operand(p, outer, KILN_N_DTYPES, &init));
        KILN_TRY_MEM(p->ctx, kn_push(p->arena, &r->init, init));
        token after = p->t;
        const char *at = p->at;
        p->t = name;
        KILN_TRY(param(p, &r->blocks[0], p->l->inst.v[init].dtype));
        p->t = after;
        p->at = at;
        KILN_TRY(accept(p, ",", &more));
    }
    return KILN_OK;
}

static kiln_status loop(parser *p, kn_lblock *outer, kn_linst *in)
{
    KILN_TRY(region(p, 1, &in->region));
    KILN_TRY(bounds(p, outer, in->region));
    bool yes;
    KILN_TRY(accept(p, "width", &yes));
    if (yes) KILN_TRY(small(p, "a width", &in->region->width));
    KILN_TRY(accept(p, "split", &yes));
    uint64_t cost = 0;
    if (yes) KILN_TRY(integer(p, INT64_MAX, "a cost", &cost));
    if (yes && cost == 0) return FAIL(p, "at least 1", "a loop that is split costs nothing");
    in->region->cost = (int64_t)cost;
    p->l->splits += yes;
    KILN_TRY(carries(p, outer, in->region));
    return block(p, &in->region->blocks[0]);
}

static kiln_status sop(parser *p, kn_sop *out)
{
    *out = p->t.kind == WORD ? kn_sop_find(p->t.s, p->t.n) : KN_S_NONE;
    return *out == KN_S_NONE ? unexpected(p, "an operation") : next(p);
}

static kiln_status lanes(parser *p, kn_lblock *outer, kn_linst *in)
{
    KILN_TRY(region(p, 1, &in->region));
    kn_lregion *r = in->region;
    KILN_TRY(small(p, "a number of lanes", &r->width));
    KILN_TRY(sop(p, &r->acc));
    KILN_TRY(dtype(p, &in->dtype));
    KILN_TRY(expect(p, "from"));
    KILN_TRY(literal(p, in->dtype, &r->identity));
    KILN_TRY(expect(p, "block"));
    uint64_t n;
    KILN_TRY(integer(p, INT64_MAX, "a number of elements", &n));
    r->block = (int64_t)n;
    KILN_TRY(expect(p, "for"));
    KILN_TRY(bounds(p, outer, r));
    return block(p, &r->blocks[0]);
}

static kiln_status loop_while(parser *p, kn_lblock *outer, kn_linst *in)
{
    KILN_TRY(region(p, 2, &in->region));
    kn_lregion *r = in->region;
    bool counted;
    KILN_TRY(accept(p, "steps", &counted));
    if (counted) KILN_TRY(small(p, "a number of lanes", &r->steps));
    KILN_TRY(carries(p, outer, r));
    KILN_TRY(block(p, &r->blocks[0]));
    KILN_TRY(expect(p, "do"));
    bool more = p->t.kind == VALUE;
    for (uint32_t i = 0; more; i++) {
        if (i >= r->init.n) return FAIL(p, NULL, "more parameters than the %u carried values", r->init.n);
        KILN_TRY(param(p, &r->blocks[1], p->l->inst.v[r->init.v[i]].dtype));
        KILN_TRY(accept(p, ",", &more));
    }
    return block(p, &r->blocks[1]);
}

static kiln_status loop_if(parser *p, kn_lblock *outer, kn_linst *in)
{
    KILN_TRY(region(p, 0, &in->region));
    kn_lregion *r = in->region;
    KILN_TRY(operand(p, outer, KILN_I32, &r->selector));
    KN_VEC(kn_lblock) blocks = {0};
    bool more = true;
    while (more) {
        KILN_TRY_MEM(p->ctx, kn_push(p->arena, &blocks, (kn_lblock){0}));
        KILN_TRY(block(p, &blocks.v[blocks.n - 1]));
        KILN_TRY(accept(p, "else", &more));
    }
    r->blocks = blocks.v;
    r->nblocks = blocks.n;
    return KILN_OK;
}

/* add f32 %1, %2 */
static kiln_status operation(parser *p, kn_lblock *b, kn_linst *in)
{
    in->op = KN_L_SOP;
    KILN_TRY(sop(p, &in->sop));
    KILN_TRY(dtype(p, &in->from));
    const kn_sop_info *info = &kn_sops[in->sop];
    kn_lv *const operands[] = {&in->a, &in->b, &in->c};
    for (int k = 0; k < info->arity; k++) {
        if (k) KILN_TRY(expect(p, ","));
        KILN_TRY(operand(p, b, in->sop == KN_S_select && k == 0 ? KILN_BOOL : in->from, operands[k]));
    }
    in->dtype = info->result == 'b' ? KILN_BOOL : in->from;
    if (info->result != 'c') return KILN_OK;
    KILN_TRY(expect(p, "to"));
    return dtype(p, &in->dtype);
}

/* What stands right of the results: a statement with blocks; false when it is none. */
static kiln_status statement(parser *p, kn_lblock *b, kn_linst *in, bool *found)
{
    static const struct {
        const char *word;
        kn_lop op;
        kiln_status (*read)(parser *p, kn_lblock *outer, kn_linst *in);
    } table[] = {
        {"loop", KN_L_LOOP, loop}, {"lanes", KN_L_LANES, lanes}, {"while", KN_L_WHILE, loop_while}, {"if", KN_L_IF, loop_if}};
    *found = false;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!is(p, table[i].word)) continue;
        *found = true;
        in->op = table[i].op;
        in->scope = p->scope;
        in->loc = p->loc;
        if (++p->depth > DEEPEST) return FAIL(p, NULL, "blocks are nested more than %d deep", DEEPEST);
        KILN_TRY(next(p));
        KILN_TRY(table[i].read(p, b, in));
        p->depth--;
        return KILN_OK;
    }
    return KILN_OK;
}

/* The type of result k. */
static kiln_dtype result_dtype(const parser *p, const kn_linst *in, uint32_t k)
{
    const kn_lregion *r = in->region;
    if (in->op == KN_L_LANES) return in->dtype;
    if (in->op != KN_L_IF) return k < r->init.n ? p->l->inst.v[r->init.v[k]].dtype : KILN_TOKEN;
    return k < r->blocks[0].yields.n ? p->l->inst.v[r->blocks[0].yields.v[k]].dtype : KILN_TOKEN;
}

/* The results become names only now: the statement's blocks do not see them. */
static kiln_status statement_results(parser *p, kn_lblock *b, const kn_linst *in, const char *at, const token *names, uint32_t n)
{
    kn_lv v;
    KILN_TRY(make(p, *in, at, &v));
    p->l->inst.v[v].scope = in->scope; /* its place is that before its blocks */
    p->l->inst.v[v].loc = in->loc;
    KILN_TRY_MEM(p->ctx, kn_push(p->arena, &b->inst, v));
    token after = p->t;
    const char *rest = p->at;
    for (uint32_t i = 0; i < n; i++) {
        p->t = names[i];
        kn_linst result = {.op = KN_L_RESULT, .dtype = result_dtype(p, in, i), .a = v, .index = i};
        kn_lv x;
        KILN_TRY(define(p, result, &x));
        KILN_TRY_MEM(p->ctx, kn_push(p->arena, &in->region->results, x));
    }
    p->t = after;
    p->at = rest;
    return KILN_OK;
}

/* %1, %2 = ... */
static kiln_status definition(parser *p, kn_lblock *b)
{
    KN_VEC(token) names = {0};
    const char *at = p->t.first;
    bool more = true, found, ahead;
    while (more) {
        if (p->t.kind != VALUE) return unexpected(p, "a value to define, as %1");
        KILN_TRY_MEM(p->ctx, kn_push(&p->temp, &names, p->t));
        KILN_TRY(next(p));
        KILN_TRY(accept(p, ",", &more));
    }
    KILN_TRY(expect(p, "="));
    kn_linst in = {0};
    KILN_TRY(statement(p, b, &in, &found));
    if (found) return statement_results(p, b, &in, at, names.v, names.n);
    const char *q = p->at;
    while (q < p->end && *q == ' ') q++;
    KILN_TRY(accept(p, "same", &found));
    if (found) {
        in.op = KN_L_SAME;
        in.dtype = KILN_BOOL;
        KILN_TRY(slot(p, &in.slot));
        KILN_TRY(expect(p, ","));
        KILN_TRY(slot(p, &in.slot2));
    } else if (p->t.kind == WORD && q < p->end && *q == '[') {
        in.op = KN_L_LOAD;
        KILN_TRY(element(p, b, &in));
        KILN_TRY(accept(p, "ahead", &ahead));
        if (!ahead) KILN_TRY(accept(p, "behind", &found));
        if (ahead || found) KILN_TRY(small(p, "a number of elements", &in.index));
        if (ahead) in.index = -in.index;
    } else {
        KILN_TRY(operation(p, b, &in));
    }
    token after = p->t;
    const char *rest = p->at;
    kn_lv v;
    p->t = names.v[0];
    KILN_TRY(define(p, in, &v));
    p->t = names.n > 1 ? names.v[1] : after;
    if (names.n > 1) return FAIL(p, NULL, "a second result of an instruction that has one");
    p->at = rest;
    KILN_TRY_MEM(p->ctx, kn_push(p->arena, &b->inst, v));
    return KILN_OK;
}

static kiln_status signed_integer(parser *p, int64_t *out)
{
    kn_scalar v;
    KILN_TRY(literal(p, KILN_I64, &v));
    *out = v.i;
    return KILN_OK;
}

static kiln_status slot_list(parser *p, slot_vec *list, uint32_t *n)
{
    bool more = true;
    for (*n = 0; more; ++*n) {
        uint32_t s;
        KILN_TRY(slot(p, &s));
        KILN_TRY_MEM(p->ctx, kn_push(p->arena, list, s));
        KILN_TRY(accept(p, ",", &more));
    }
    return KILN_OK;
}

/* NAME(1, 2) out0 = in0, in1 work s3 parts s4 */
static kiln_status call(parser *p, kn_linst *in)
{
    kn_lcall *c = KN_NEW(p->arena, kn_lcall);
    KILN_TRY_MEM(p->ctx, c);
    in->op = KN_L_CALL;
    in->call = c;
    if (p->t.kind == WORD) c->call.routine = kn_routine_find(p->t.s, p->t.n);
    if (!c->call.routine) return unexpected(p, "the name of a routine");
    KILN_TRY(next(p));
    KILN_TRY(expect(p, "("));
    KN_VEC(int64_t) ints = {0};
    bool done, more, work, parts;
    KILN_TRY(accept(p, ")", &done));
    while (!done) {
        int64_t v;
        KILN_TRY(signed_integer(p, &v));
        KILN_TRY_MEM(p->ctx, kn_push(p->arena, &ints, v));
        KILN_TRY(accept(p, ",", &more));
        if (!more) KILN_TRY(expect(p, ")"));
        done = !more;
    }
    c->call.ints = ints.v, c->call.n_ints = ints.n;
    slot_vec slots = {0};
    KILN_TRY(slot_list(p, &slots, &c->call.nout));
    KILN_TRY(expect(p, "="));
    KILN_TRY(slot_list(p, &slots, &c->call.nin));
    KILN_TRY(accept(p, "work", &work));
    if (work) KILN_TRY(slot(p, &c->work));
    c->work += work;
    KILN_TRY(accept(p, "parts", &parts));
    if (parts) KILN_TRY(slot(p, &c->parts));
    c->parts += parts;
    p->l->splits += parts;
    kn_call_array *a = KN_NEWN(p->arena, kn_call_array, slots.n);
    KILN_TRY_MEM(p->ctx, a);
    for (uint32_t i = 0; i < slots.n; i++) a[i] = (kn_call_array){p->l->slots.v[slots.v[i]].dtype, p->l->slots.v[slots.v[i]].elements};
    c->call.arrays = a;
    c->slots = slots.v, c->number = p->l->calls.n;
    KILN_TRY_MEM(p->ctx, kn_push(p->arena, &p->l->calls, c));
    return KILN_OK;
}

/* swap, copy, tick, a call, a store */
static kiln_status effect(parser *p, kn_lblock *b, kn_linst *in)
{
    bool swap, copy, point, tick, calls, condition = false, ahead;
    KILN_TRY(accept(p, "swap", &swap));
    KILN_TRY(accept(p, "copy", &copy));
    KILN_TRY(accept(p, "point", &point));
    KILN_TRY(accept(p, "tick", &tick));
    KILN_TRY(accept(p, "call", &calls));
    if (calls) return call(p, in);
    if (tick) {
        in->op = KN_L_TICK;
        return small(p, "the number of a scope", &in->index);
    }
    if (swap || copy || point) {
        in->op = swap ? KN_L_SWAP : copy ? KN_L_COPY : KN_L_POINT;
        KILN_TRY(slot(p, &in->slot));
        KILN_TRY(expect(p, swap ? "," : "="));
        KILN_TRY(slot(p, &in->slot2));
        if (swap) KILN_TRY(accept(p, "if", &condition));
        if (!swap || !condition) return KILN_OK;
        KILN_TRY(slot(p, &in->index));
        in->index++;
        return KILN_OK;
    }
    in->op = KN_L_STORE;
    KILN_TRY(element(p, b, in));
    KILN_TRY(expect(p, "="));
    KILN_TRY(operand(p, b, in->dtype, &in->b));
    KILN_TRY(accept(p, "ahead", &ahead));
    return ahead ? small(p, "a number of elements", &in->index) : KILN_OK;
}

/* at SCOPE FILE:LINE:COLUMN, for what follows */
static kiln_status place(parser *p)
{
    KILN_TRY(small(p, "the number of a scope", &p->scope));
    KILN_TRY(small(p, "the number of a file", &p->loc.file));
    KILN_TRY(expect(p, ":"));
    KILN_TRY(small(p, "a line", &p->loc.line));
    KILN_TRY(expect(p, ":"));
    return small(p, "a column", &p->loc.column);
}

static kiln_status yields(parser *p, kn_lblock *b)
{
    bool more = true;
    while (more) {
        kn_lv v;
        KILN_TRY(operand(p, b, KILN_N_DTYPES, &v));
        KILN_TRY_MEM(p->ctx, kn_push(p->arena, &b->yields, v));
        KILN_TRY(accept(p, ",", &more));
    }
    return is(p, "}") ? KILN_OK : unexpected(p, "'}' after the yield");
}

static kiln_status block(parser *p, kn_lblock *b)
{
    KILN_TRY(expect(p, "{"));
    while (!is(p, "}")) {
        bool yes, found;
        KILN_TRY(accept(p, "at", &yes));
        if (yes) {
            KILN_TRY(place(p));
            continue;
        }
        KILN_TRY(accept(p, "yield", &yes));
        if (yes) {
            KILN_TRY(yields(p, b));
            continue;
        }
        if (p->t.kind == VALUE) {
            KILN_TRY(definition(p, b));
            continue;
        }
        const char *at = p->t.first;
        kn_linst in = {0};
        KILN_TRY(statement(p, b, &in, &found));
        if (found) {
            KILN_TRY(statement_results(p, b, &in, at, NULL, 0));
            continue;
        }
        if (p->t.kind != WORD) return unexpected(p, "a statement or '}'");
        KILN_TRY(effect(p, b, &in));
        kn_lv v;
        KILN_TRY(make(p, in, at, &v));
        KILN_TRY_MEM(p->ctx, kn_push(p->arena, &b->inst, v));
    }
    return next(p);
}

/* ---- header ----
 * each N: so many more for each of the size that is given when the program runs; else 0. */
static kiln_status each(parser *p, uint64_t most, size_t *out)
{
    bool given;
    KILN_TRY(accept(p, "each", &given));
    return given ? integer(p, most, "a number", out) : (*out = 0, KILN_OK);
}

/* slot in0: f32[1000] input 0 */
static kiln_status slot_line(parser *p)
{
    static const char *const kinds[] = {"input", "output", "constant", "scratch", "size"};
    static const char *const reserved[] = {"loop", "lanes", "while", "if", "swap", "copy", "point", "tick", "call", "work", "parts", "at", "yield"};
    kn_slot s = {.kind = KN_SLOT_INPUT};
    if (p->t.kind != WORD) return unexpected(p, "the name of a slot");
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (is(p, reserved[i])) return FAIL(p, NULL, "'%s' cannot name a slot", reserved[i]);
    for (uint32_t i = 0; i < p->slots.n; i++)
        if (is(p, p->slots.v[i])) return FAIL(p, NULL, "a second slot of the name '%s'", p->slots.v[i]);
    const char *name = kn_arena_textn(&p->temp, p->t.s, p->t.n);
    KILN_TRY_MEM(p->ctx, name && kn_push(&p->temp, &p->slots, name));
    KILN_TRY(next(p));
    KILN_TRY(expect(p, ":"));
    KILN_TRY(dtype(p, &s.dtype));
    KILN_TRY(expect(p, "["));
    uint64_t n, more;
    KILN_TRY(integer(p, INT64_MAX / 2, "a number of elements", &n));
    KILN_TRY(each(p, KN_SIZE_MOST_FACTOR, &more));
    s.elements = (int64_t)n + (int64_t)more * KILN_DIM_N;
    KILN_TRY(expect(p, "]"));
    if ((s.part = is(p, "part"))) s.kind = KN_SLOT_SCRATCH;
    while (s.kind <= KN_SLOT_SIZE && !s.part && !is(p, kinds[s.kind])) s.kind++;
    if (s.kind > KN_SLOT_SIZE) return unexpected(p, "input, output, constant, scratch, part or size");
    p->l->sized |= s.kind == KN_SLOT_SIZE;
    KILN_TRY(next(p));
    KILN_TRY(integer(p, s.kind == KN_SLOT_SCRATCH ? SIZE_MAX : UINT32_MAX, "an index or an offset", &n));
    KILN_TRY(each(p, s.kind == KN_SLOT_SCRATCH ? SIZE_MAX / 2 : 0, &s.per));
    if (s.kind == KN_SLOT_SCRATCH) s.offset = n;
    else s.index = (uint32_t)n;
    KILN_TRY_MEM(p->ctx, kn_push(p->arena, &p->l->slots, s));
    return KILN_OK;
}

static kiln_status header(parser *p)
{
    kn_loops *l = p->l;
    KILN_TRY(expect(p, "kiln"));
    KILN_TRY(expect(p, "loops"));
    while (!is(p, "{")) {
        token word = p->t;
        if (word.kind != WORD) return unexpected(p, "a line of the header or '{'");
        const char *s = NULL;
        uint32_t *const counts[] = {&l->nests, &l->time_loops, &l->copies, &l->exit_copies};
        bool known = true;
        if (is(p, "ticks")) {
            l->ticks = true;
            KILN_TRY(next(p));
        } else if (is(p, "inputs") || is(p, "outputs") || is(p, "constants") || is(p, "epilogues")) {
            uint32_t *n = is(p, "inputs") ? &l->n_inputs : is(p, "outputs") ? &l->n_outputs : is(p, "constants") ? &l->n_consts : &l->epilogues;
            KILN_TRY(next(p));
            KILN_TRY(small(p, "a number", n));
        } else if (is(p, "scratch") || is(p, "part")) {
            size_t *bytes = is(p, "part") ? &l->part_bytes : &l->scratch_bytes;
            KILN_TRY(next(p));
            KILN_TRY(integer(p, SIZE_MAX / 2, "a number of bytes", bytes));
            KILN_TRY(each(p, SIZE_MAX / 2, bytes == &l->part_bytes ? &l->part_per : &l->scratch_per));
        } else if (is(p, "counts")) {
            KILN_TRY(next(p));
            for (int i = 0; i < 4; i++) KILN_TRY(small(p, "a count", counts[i]));
        } else if (is(p, "scope") || is(p, "file")) {
            bool scope = is(p, "scope");
            KILN_TRY(next(p));
            KILN_TRY(text(p, &s));
            KILN_TRY_MEM(p->ctx, scope ? kn_push(p->arena, &p->scopes, s) : kn_push(p->arena, &p->files, s));
        } else if (is(p, "slot")) {
            KILN_TRY(next(p));
            KILN_TRY(slot_line(p));
        } else {
            known = false;
        }
        if (!known) return unexpected(p, "a line of the header or '{'");
    }
    l->scopes = p->scopes.v;
    l->n_scopes = p->scopes.n;
    l->files = p->files.v;
    l->n_files = p->files.n;
    return KILN_OK;
}

static kiln_status whole(parser *p)
{
    kn_lv none;
    KILN_TRY(next(p));
    KILN_TRY(make(p, (kn_linst){0}, p->text, &none));
    KILN_TRY(header(p));
    KILN_TRY(block(p, &p->l->top));
    if (p->t.kind != END) return unexpected(p, "the end of the text");
    kn_loops_text where = {p->file, p->text, p->offsets.v, p->offsets.n};
    return kn_loops_verify_at(p->ctx, p->l, &where);
}

kiln_status kn_loops_parse(kiln_ctx *ctx, kn_arena *arena, const char *source, size_t n, const char *file, kn_loops **out)
{
    *out = NULL;
    if (n > INT32_MAX) return kn_fail(ctx, KILN_INVALID, "a text of %zu bytes, more than the %d that are possible", n, INT32_MAX);
    kn_loops *l = KN_NEW(arena, kn_loops);
    KILN_TRY_MEM(ctx, l);
    l->arena = arena;
    parser p = {.ctx = ctx, .arena = arena, .l = l, .file = file ? file : ""};
    kn_arena_init(&p.temp, &ctx->alloc);
    p.text = kn_arena_textn(&p.temp, source, n); /* ended, for messages */
    kiln_status status = p.text ? KILN_OK : kn_nomem(ctx);
    if (status == KILN_OK) {
        p.at = p.text;
        p.end = p.text + n;
        kn_fpmode mode = kn_fpmode_enter();
        status = whole(&p);
        kn_fpmode_leave(mode);
    }
    kn_arena_fini(&p.temp);
    if (status == KILN_OK) *out = l;
    return status;
}
