/* SPDX-License-Identifier: Apache-2.0 */
/* The text form of loops, read back by parse.c. Values are numbered in the order of their definition; constants stand where
 * they are used. Both make the text independent of how the loops were built.
 *
 *      kiln loops
 *      inputs 1 outputs 1 constants 0 scratch 0
 *      slot in0: f32[1000] input 0
 *      slot out0: f32[1000] output 0
 *      {
 *        loop %1 in 0 .. 1000 width 16 {
 *          %2 = in0[%1]
 *          %3 = mul f32 %2, 2.0
 *          out0[%1] = %3
 *        }
 *      }
 *
 * A call of a routine (behind the counts a remark lists them): call cholesky(0, 8, 1) out0 = in0 work s2 */
#include "array/size.h"
#include "base/fpmode.h"
#include "base/text.h"
#include "loop/loop.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct printer {
    const kn_loops *l;
    kn_text t;
    kn_arena arena;
    uint32_t *number; /* per value, 0: not printed yet */
    uint32_t numbers;
    char (*slot)[24]; /* names */
    unsigned depth;
    uint32_t scope; /* place printed last */
    kn_loc loc;
} printer;

static void line(printer *p)
{
    kn_text_char(&p->t, '\n');
    for (unsigned i = 0; i < p->depth; i++) kn_text_add(&p->t, "  ");
}

static void quoted(printer *p, const char *s)
{
    kn_text_char(&p->t, '"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\' || c < 32 || c == 127) kn_text_printf(&p->t, "\\x%02x", c);
        else kn_text_char(&p->t, *s);
    }
    kn_text_char(&p->t, '"');
}

static void literal(printer *p, kiln_dtype d, kn_scalar v)
{
    switch (kiln_dtype_kind(d)) {
    case 'b': kn_text_add(&p->t, v.b ? "true" : "false"); break;
    case 'i': kn_text_printf(&p->t, "%" PRId64, v.i); break;
    case 'f':
        if (isnan(v.f)) kn_text_printf(&p->t, "0x%016" PRIx64, v.u); /* the double's bits: a NaN keeps its payload */
        else if (d == KILN_F32) kn_text_float(&p->t, (float)v.f);
        else kn_text_double(&p->t, v.f);
        break;
    default: kn_text_printf(&p->t, "%" PRIu64, v.u); break;
    }
}

/* An operand; constants with their type where the position does not tell it. */
static void operand(printer *p, kn_lv v, bool typed)
{
    const kn_linst *in = v < p->l->inst.n ? &p->l->inst.v[v] : NULL;
    if (!in || (in->op != KN_L_CONST && !p->number[v])) {
        kn_text_add(&p->t, "%?");
        return;
    }
    if (in->op != KN_L_CONST) {
        kn_text_printf(&p->t, "%%%u", p->number[v]);
        return;
    }
    if (typed) kn_text_printf(&p->t, "%s ", kiln_dtype_name(in->dtype));
    literal(p, in->dtype, in->imm);
}

static void define(printer *p, kn_lv v)
{
    if (v >= p->l->inst.n) {
        kn_text_add(&p->t, "%?");
        return;
    }
    p->number[v] = ++p->numbers;
    kn_text_printf(&p->t, "%%%u", p->numbers);
}

static const char *slot_name(const printer *p, uint32_t s) { return s < p->l->slots.n ? p->slot[s] : "?"; }

static void statements(printer *p, const kn_lblock *b);

static void block(printer *p, const kn_lblock *b)
{
    kn_text_add(&p->t, " {");
    p->depth++;
    statements(p, b);
    if (b->yields.n) {
        line(p);
        kn_text_add(&p->t, "yield ");
        for (uint32_t i = 0; i < b->yields.n; i++) {
            if (i) kn_text_add(&p->t, ", ");
            operand(p, b->yields.v[i], true);
        }
    }
    p->depth--;
    line(p);
    kn_text_char(&p->t, '}');
}

static void carries(printer *p, const kn_lregion *r, uint32_t first)
{
    if (!r->init.n) return;
    kn_text_add(&p->t, " carry ");
    for (uint32_t i = 0; i < r->init.n; i++) {
        if (i) kn_text_add(&p->t, ", ");
        define(p, r->blocks[0].params.v[first + i]);
        kn_text_add(&p->t, " = ");
        operand(p, r->init.v[i], true);
    }
}

static void bounds(printer *p, const kn_lregion *r)
{
    define(p, r->blocks[0].params.v[0]);
    kn_text_add(&p->t, " in ");
    operand(p, r->lo, false);
    kn_text_add(&p->t, " .. ");
    operand(p, r->hi, false);
}

/* Results are numbered before the statement's own values: they are written first. */
static void results(printer *p, const kn_lregion *r)
{
    for (uint32_t i = 0; i < r->results.n; i++) {
        if (i) kn_text_add(&p->t, ", ");
        define(p, r->results.v[i]);
    }
    if (r->results.n) kn_text_add(&p->t, " = ");
}

static void statement(printer *p, const kn_linst *in)
{
    const kn_lregion *r = in->region;
    results(p, r);
    switch (in->op) {
    case KN_L_LOOP:
        kn_text_add(&p->t, "loop ");
        bounds(p, r);
        if (r->width) kn_text_printf(&p->t, " width %u", r->width);
        if (r->cost) kn_text_printf(&p->t, " split %" PRId64, r->cost);
        carries(p, r, 1);
        block(p, &r->blocks[0]);
        break;
    case KN_L_LANES:
        kn_text_printf(&p->t, "lanes %u %s %s from ", r->width, kn_sops[r->acc].name, kiln_dtype_name(in->dtype));
        literal(p, in->dtype, r->identity);
        kn_text_printf(&p->t, " block %" PRId64 " for ", r->block);
        bounds(p, r);
        block(p, &r->blocks[0]);
        break;
    case KN_L_WHILE:
        kn_text_add(&p->t, "while");
        if (r->steps) kn_text_printf(&p->t, " steps %u", r->steps);
        carries(p, r, 0);
        block(p, &r->blocks[0]);
        kn_text_add(&p->t, " do");
        for (uint32_t i = 0; i < r->blocks[1].params.n; i++) {
            kn_text_add(&p->t, i ? ", " : " ");
            define(p, r->blocks[1].params.v[i]);
        }
        block(p, &r->blocks[1]);
        break;
    default:
        kn_text_add(&p->t, "if ");
        operand(p, r->selector, false);
        for (uint32_t i = 0; i < r->nblocks; i++) {
            if (i) kn_text_add(&p->t, " else");
            block(p, &r->blocks[i]);
        }
    }
}

static void operation(printer *p, kn_lv v, const kn_linst *in)
{
    define(p, v);
    kn_text_printf(&p->t, " = %s %s ", kn_sops[in->sop].name, kiln_dtype_name(in->from));
    operand(p, in->a, false);
    for (int k = 1; k < kn_sops[in->sop].arity; k++) {
        kn_text_add(&p->t, ", ");
        operand(p, k == 1 ? in->b : in->c, false);
    }
    if (kn_sops[in->sop].result == 'c') kn_text_printf(&p->t, " to %s", kiln_dtype_name(in->dtype));
}

static void names(printer *p, const uint32_t *slots, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) kn_text_printf(&p->t, "%s%s", i ? ", " : "", slot_name(p, slots[i]));
}

static void call(printer *p, const kn_lcall *c)
{
    kn_text_printf(&p->t, "call %s(", c->call.routine->name);
    for (uint32_t i = 0; i < c->call.n_ints; i++) kn_text_printf(&p->t, "%s%" PRId64, i ? ", " : "", c->call.ints[i]);
    kn_text_add(&p->t, ") ");
    names(p, c->slots, c->call.nout);
    kn_text_add(&p->t, " = ");
    names(p, c->slots + c->call.nout, c->call.nin);
    if (c->work) kn_text_printf(&p->t, " work %s", slot_name(p, c->work - 1));
    if (c->parts) kn_text_printf(&p->t, " parts %s", slot_name(p, c->parts - 1));
}

static void place(printer *p, const kn_linst *in)
{
    if (in->scope == p->scope && in->loc.file == p->loc.file && in->loc.line == p->loc.line && in->loc.column == p->loc.column)
        return;
    p->scope = in->scope;
    p->loc = in->loc;
    line(p);
    kn_text_printf(&p->t, "at %u %u:%u:%u", in->scope, in->loc.file, in->loc.line, in->loc.column);
}

static void statements(printer *p, const kn_lblock *b)
{
    for (uint32_t i = 0; i < b->inst.n && !p->t.failed; i++) {
        kn_lv v = b->inst.v[i];
        const kn_linst *in = &p->l->inst.v[v];
        if (in->op == KN_L_CONST) continue;
        place(p, in);
        line(p);
        switch (in->op) {
        case KN_L_SOP: operation(p, v, in); break;
        case KN_L_LOAD:
            define(p, v);
            kn_text_printf(&p->t, " = %s[", slot_name(p, in->slot));
            operand(p, in->a, false);
            kn_text_char(&p->t, ']');
            if (in->index) kn_text_printf(&p->t, (int32_t)in->index < 0 ? " ahead %u" : " behind %u", (unsigned)abs((int32_t)in->index));
            break;
        case KN_L_SAME:
            define(p, v);
            kn_text_printf(&p->t, " = same %s, %s", slot_name(p, in->slot), slot_name(p, in->slot2));
            break;
        case KN_L_STORE:
            kn_text_printf(&p->t, "%s[", slot_name(p, in->slot));
            operand(p, in->a, false);
            kn_text_add(&p->t, "] = ");
            operand(p, in->b, false);
            if (in->index) kn_text_printf(&p->t, " ahead %u", in->index);
            break;
        case KN_L_SWAP:
            kn_text_printf(&p->t, "swap %s, %s", slot_name(p, in->slot), slot_name(p, in->slot2));
            if (in->index) kn_text_printf(&p->t, " if %s", slot_name(p, in->index - 1));
            break;
        case KN_L_POINT: kn_text_printf(&p->t, "point %s = %s", slot_name(p, in->slot), slot_name(p, in->slot2)); break;
        case KN_L_COPY: kn_text_printf(&p->t, "copy %s = %s", slot_name(p, in->slot), slot_name(p, in->slot2)); break;
        case KN_L_CALL: call(p, in->call); break;
        case KN_L_TICK: kn_text_printf(&p->t, "tick %u", in->index); break;
        case KN_L_LOOP:
        case KN_L_LANES:
        case KN_L_WHILE:
        case KN_L_IF: statement(p, in); break;
        default: kn_text_add(&p->t, "?"); break;
        }
    }
}

/* in0, out0, const0 where there is one slot of that, s3 otherwise. */
static void name_slots(printer *p)
{
    static const char *const kinds[] = {"in", "out", "const", "s", "size"};
    for (uint32_t i = 0; i < p->l->slots.n; i++) {
        const kn_slot *s = &p->l->slots.v[i];
        bool taken = s->kind == KN_SLOT_SCRATCH;
        for (uint32_t j = 0; j < i && !taken; j++) taken = p->l->slots.v[j].kind == s->kind && p->l->slots.v[j].index == s->index;
        if (taken) snprintf(p->slot[i], sizeof p->slot[i], "s%u", i);
        else snprintf(p->slot[i], sizeof p->slot[i], "%s%u", kinds[s->kind], s->index);
    }
}

/* What is compiled as a call of a routine, by name. */
static void calls_out(printer *p)
{
    const kn_loops *l = p->l;
    if (!l->calls.n) return;
    kn_text_printf(&p->t, "# calls %u:", l->calls.n);
    for (uint32_t i = 0; i < l->calls.n; i++) {
        const char *name = l->calls.v[i]->call.routine->name;
        uint32_t n = 0;
        bool met = false;
        for (uint32_t k = 0; k < l->calls.n; k++) {
            bool same = strcmp(l->calls.v[k]->call.routine->name, name) == 0;
            met |= same && k < i;
            n += same;
        }
        if (!met) kn_text_printf(&p->t, "%s %s %u", i ? "," : "", name, n);
    }
    kn_text_char(&p->t, '\n');
}

/* And so many more for each of n. */
static void each(printer *p, int64_t v)
{
    if (v) kn_text_printf(&p->t, " each %" PRId64, v);
}

static void header(printer *p)
{
    static const char *const kinds[] = {"input", "output", "constant", "scratch", "size"};
    const kn_loops *l = p->l;
    kn_text_printf(&p->t, "kiln loops\ninputs %u outputs %u constants %u scratch %zu", l->n_inputs, l->n_outputs, l->n_consts, l->scratch_bytes);
    each(p, (int64_t)l->scratch_per);
    if (l->part_bytes || l->part_per) kn_text_printf(&p->t, " part %zu", l->part_bytes);
    each(p, (int64_t)l->part_per);
    kn_text_add(&p->t, l->ticks ? " ticks\n" : "\n");
    kn_text_printf(&p->t, "counts %u %u %u %u # nests, time loops, copies, exit copies\n", l->nests, l->time_loops, l->copies,
                   l->exit_copies);
    if (l->epilogues) kn_text_printf(&p->t, "epilogues %u # products that are stored only as what is made of them\n", l->epilogues);
    calls_out(p);
    for (uint32_t i = 0; i < l->n_scopes; i++) {
        kn_text_add(&p->t, "scope ");
        quoted(p, l->scopes[i]);
        kn_text_char(&p->t, '\n');
    }
    for (uint32_t i = 0; i < l->n_files; i++) {
        kn_text_add(&p->t, "file ");
        quoted(p, l->files[i]);
        kn_text_char(&p->t, '\n');
    }
    for (uint32_t i = 0; i < l->slots.n; i++) {
        const kn_slot *s = &l->slots.v[i];
        int64_t factor, summand;
        if (!l->sized || !kn_size_split(s->elements, &factor, &summand)) factor = 0, summand = s->elements;
        kn_text_printf(&p->t, "slot %s: %s[%" PRId64, p->slot[i], kiln_dtype_name(s->dtype), summand);
        each(p, factor);
        kn_text_printf(&p->t, "] %s %zu", s->part ? "part" : kinds[s->kind], s->kind == KN_SLOT_SCRATCH ? s->offset : s->index);
        each(p, s->kind == KN_SLOT_SCRATCH ? (int64_t)s->per : 0);
        kn_text_char(&p->t, '\n');
    }
}

/* Exactly n + 1 bytes, as kiln_text_free expects. */
static kiln_status take(kiln_ctx *ctx, const kn_text *t, char **text, size_t *n)
{
    char *s = t->failed ? NULL : kn_new_aligned(&ctx->alloc, t->n + 1, 16);
    KILN_TRY_MEM(ctx, s);
    memcpy(s, t->s, t->n + 1);
    *text = s;
    *n = t->n;
    return KILN_OK;
}

kiln_status kn_loops_print(kiln_ctx *ctx, const kn_loops *l, char **text, size_t *n)
{
    *text = NULL;
    *n = 0;
    printer p = {.l = l};
    kn_arena_init(&p.arena, &ctx->alloc);
    kn_text_init(&p.t, &ctx->alloc);
    p.number = KN_NEWN(&p.arena, uint32_t, l->inst.n);
    p.slot = kn_arena_newn(&p.arena, l->slots.n, sizeof *p.slot);
    kiln_status status = KILN_OK;
    if (!p.number || !p.slot) {
        status = kn_nomem(ctx);
    } else {
        kn_fpmode mode = kn_fpmode_enter();
        name_slots(&p);
        header(&p);
        kn_text_char(&p.t, '{');
        p.depth = 1;
        statements(&p, &l->top);
        kn_text_add(&p.t, "\n}\n");
        kn_fpmode_leave(mode);
        status = take(ctx, &p.t, text, n);
    }
    kn_text_fini(&p.t);
    kn_arena_fini(&p.arena);
    return status;
}
