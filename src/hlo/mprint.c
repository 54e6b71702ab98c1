/* SPDX-License-Identifier: Apache-2.0 */
/* StableHLO text of a module's tree, in the pretty forms that the reader's table describes (tree_pretty.c), else in the generic one. */
#include "hlo/mprint.h"

#include "hlo/hlo.h"
#include "hlo/export.h"
#include "ir/size.h"

enum { STEP = 2 };

static void indent(kn_mprint *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) kn_text_char(p->t, ' ');
}

static void value(kn_mprint *p, uint32_t v)
{
    kn_text_char(p->t, '%');
    kn_text_add(p->t, p->names[v]);
    if (p->several[v]) kn_text_printf(p->t, "#%u", v - p->first[v]);
}

static void values(kn_mprint *p, const uint32_t *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i) kn_text_add(p->t, ", ");
        value(p, v[i]);
    }
}

static const kn_mtype *type_of(const kn_mprint *p, uint32_t v) { return p->f->values[v].type; }

static void operand_types(kn_mprint *p, const kn_mop *o)
{
    for (uint32_t i = 0; i < o->nin; i++) {
        if (i) kn_text_add(p->t, ", ");
        kn_mprint_type(p->t, type_of(p, o->in[i]));
    }
}
static void result_types(kn_mprint *p, const kn_mop *o)
{
    for (uint32_t i = 0; i < o->nout; i++) {
        if (i) kn_text_add(p->t, ", ");
        kn_mprint_type(p->t, type_of(p, o->out + i));
    }
}
static void functional(kn_mprint *p, const kn_mop *o, bool parens)
{
    if (parens) kn_text_char(p->t, '(');
    operand_types(p, o);
    kn_text_add(p->t, parens ? ") -> " : " -> ");
    if (o->nout != 1) kn_text_char(p->t, '(');
    result_types(p, o);
    if (o->nout != 1) kn_text_char(p->t, ')');
}

static bool one_type(const kn_mprint *p, const kn_mop *o)
{
    if (o->nout != 1 || o->nin == 0) return false;
    for (uint32_t i = 0; i < o->nin; i++)
        if (!kn_mtype_same(type_of(p, o->in[i]), type_of(p, o->out))) return false;
    return true;
}

/* select: the predicate's type, then the others'. */
static bool select_types(const kn_mprint *p, const kn_mop *o)
{
    return o->nin == 3 && o->nout == 1 && kn_mtype_same(type_of(p, o->in[1]), type_of(p, o->out)) && kn_mtype_same(type_of(p, o->in[2]), type_of(p, o->out));
}

/* Operations whose types are always written as those of a function. */
static bool spelled_out(kn_span name)
{
    static const char *const names[] = {"func.call", "stablehlo.bitcast_convert", "stablehlo.broadcast_in_dim", "stablehlo.compare", "stablehlo.composite",
                                        "stablehlo.concatenate", "stablehlo.convolution", "stablehlo.custom_call", "stablehlo.dot_general",
                                        "stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice", "stablehlo.fft", "stablehlo.pad", "stablehlo.reshape",
                                        "stablehlo.slice", "stablehlo.transpose"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (kn_span_is(name, names[i])) return true;
    return false;
}

static void signature(kn_mprint *p, const kn_mop *o, char mode)
{
    bool chlo = o->name.n > 5 && memcmp(o->name.s, "chlo.", 5) == 0;
    if (mode == 'C') return;
    if (mode == 'O') {
        if (!o->nin) return;
        kn_text_add(p->t, " : ");
        operand_types(p, o);
        return;
    }
    kn_text_add(p->t, " : ");
    if (mode == 'R' || mode == 'B') result_types(p, o);
    else if (mode == 'P' && select_types(p, o)) {
        kn_mprint_type(p->t, type_of(p, o->in[0]));
        kn_text_add(p->t, ", ");
        result_types(p, o);
    } else if (chlo) functional(p, o, false);
    else if (one_type(p, o) && !spelled_out(o->name))
        kn_mprint_type(p->t, type_of(p, o->out));
    else functional(p, o, true);
}

/* ---- pretty forms ---- */

typedef struct form_state {
    char consumed[512]; /* names of the attributes that the form has written, each with | behind it */
    uint32_t operand;
} form_state;

static void consume(form_state *s, const char *name)
{
    size_t used = strlen(s->consumed), n = strlen(name);
    if (used + n + 2 > sizeof s->consumed) return;
    memcpy(s->consumed + used, name, n);
    memcpy(s->consumed + used + n, "|", 2);
}

static const kn_mattr *take(const kn_mop *o, form_state *s, const char *f, char *kind, const char **after)
{
    char name[40];
    const char *end = strchr(f, '>');
    size_t n = (size_t)(end - f - 3);
    memcpy(name, f + 3, n);
    name[n] = 0;
    *kind = f[1];
    *after = end;
    consume(s, name);
    return kn_mop_attr(o, name);
}

static void ranges(kn_mprint *p, const kn_mop *o, form_state *s)
{
    const kn_mattr *from = kn_mop_attr(o, "start_indices"), *to = kn_mop_attr(o, "limit_indices"), *by = kn_mop_attr(o, "strides");
    kn_text_char(p->t, '[');
    for (uint32_t i = 0; from && to && i < from->n; i++) {
        kn_text_printf(p->t, "%s%lld:%lld", i ? ", " : "", (long long)from->items[i].i, (long long)to->items[i].i);
        if (by && by->items[i].i != 1) kn_text_printf(p->t, ":%lld", (long long)by->items[i].i);
    }
    kn_text_char(p->t, ']');
    consume(s, "start_indices");
    consume(s, "limit_indices");
    consume(s, "strides");
}

static void window(kn_mprint *p, const kn_mop *o, form_state *s)
{
    static const char *const names[][2] = {{"stride", "window_strides"}, {"pad", "padding"}, {"lhs_dilate", "lhs_dilation"}, {"rhs_dilate", "rhs_dilation"}, {"reverse", "window_reversal"}};
    bool any = false;
    kn_text_char(p->t, '{');
    for (int i = 0; i < 5; i++) {
        const kn_mattr *a = kn_mop_attr(o, names[i][1]);
        consume(s, names[i][1]);
        if (!a) continue;
        kn_text_printf(p->t, "%s%s = ", any ? ", " : "", names[i][0]);
        kn_mprint_attr(p->t, a, true);
        any = true;
    }
    kn_text_char(p->t, '}');
}

static void attribute(kn_mprint *p, const kn_mop *o, form_state *s, char kind, const kn_mattr *a)
{
    if (kind == 'r') ranges(p, o, s);
    else if (kind == 'v') window(p, o, s);
    else if (!a) return;
    else if (kind == 'n') kn_text_printf(p->t, "[%lld]", (long long)a->i);
    else if (kind == 'c' && a->kind == KN_MA_LIST && a->n == 3) {
        kn_mprint_attr(p->t, &a->items[0], true);
        kn_text_char(p->t, 'x');
        kn_mprint_attr(p->t, &a->items[1], true);
        kn_text_add(p->t, "->");
        kn_mprint_attr(p->t, &a->items[2], true);
    } else if (kind == 'd') {
        kn_text_char(p->t, '<');
        kn_text_addn(p->t, a->text.s, a->text.n);
        kn_text_char(p->t, '>');
    } else kn_mprint_attr(p->t, a, true);
}

/* Has the operation what the group (up to its bracket) needs? */
static bool group_present(const kn_mop *o, const char *f)
{
    for (; *f && *f != ']'; f++)
        if (*f == '<') {
            char kind;
            const char *end;
            form_state none = {.operand = 0};
            return take(o, &none, f, &kind, &end) != NULL;
        }
    return false;
}

static void follow(kn_mprint *p, const kn_mop *o, const char *f, form_state *s)
{
    for (; *f; f++) {
        if (*f == ']') continue;
        if (*f == '[') {
            if (!group_present(o, f + 1)) f = strchr(f, ']');
            else if (f[1] != ',' && p->t->n && p->t->s[p->t->n - 1] != ' ') kn_text_char(p->t, ' ');
        } else if (*f == '$' && f[1] == '*') {
            values(p, o->in + s->operand, o->nin - s->operand);
            s->operand = o->nin;
            f++;
        } else if (*f == '$') {
            if (s->operand < o->nin) value(p, o->in[s->operand]);
            s->operand++;
        } else if (*f == '<') {
            char kind;
            const kn_mattr *a = take(o, s, f, &kind, &f);
            attribute(p, o, s, kind, a);
        } else if (*f == '*') {
            if (p->t->n && p->t->s[p->t->n - 1] == ' ') p->t->n--, p->t->s[p->t->n] = 0;
        } else kn_text_char(p->t, *f);
    }
    while (p->t->n && p->t->s[p->t->n - 1] == ' ') p->t->s[--p->t->n] = 0;
}

static void rest_of_attributes(kn_mprint *p, const kn_mop *o, const form_state *s)
{
    bool any = false;
    for (uint32_t i = 0; i < o->nattrs; i++) any = any || !kn_mprint_listed(s->consumed, o->attrs[i].name);
    if (!any) return;
    kn_text_char(p->t, ' ');
    kn_mprint_dict(p->t, o->attrs, o->nattrs, s->consumed);
}

static void results(kn_mprint *p, const kn_mop *o)
{
    if (!o->nout) return;
    if (o->nout > 1 && p->several[o->out]) kn_text_printf(p->t, "%%%s:%u", p->names[o->out], o->nout);
    else
        for (uint32_t i = 0; i < o->nout; i++) kn_text_printf(p->t, "%s%%%s", i ? ", " : "", p->names[o->out + i]);
    kn_text_add(p->t, " = ");
}

static void ops(kn_mprint *p, const kn_mregion *r, unsigned depth, bool top);

/* ---- regions ---- */

static void block_arguments(kn_mprint *p, const kn_mregion *r)
{
    for (uint32_t i = 0; i < r->nargs; i++) {
        if (i) kn_text_add(p->t, ", ");
        value(p, r->args + i);
        kn_text_add(p->t, ": ");
        kn_mprint_type(p->t, type_of(p, r->args + i));
        kn_mprint_loc(p, p->f->values[r->args + i].loc);
    }
}

static void braces(kn_mprint *p, const kn_mregion *r, unsigned depth, bool header)
{
    kn_text_add(p->t, "{\n");
    if (header && r->nargs) {
        indent(p, depth);
        kn_text_add(p->t, "^bb0(");
        block_arguments(p, r);
        kn_text_add(p->t, "):\n");
    }
    ops(p, r, depth + STEP, false);
    indent(p, depth);
    kn_text_char(p->t, '}');
}

/* Does the region apply one operation of ours to its two arguments in order, and nothing else? */
static bool short_reducer(const kn_mprint *p, const kn_mop *o)
{
    const kn_mregion *r = &o->regions[0];
    const kn_mop *f = r->ops, *end = f ? f->next : NULL;
    if (o->nin != 2 || r->nargs != 2 || r->nops != 2 || !end || f->nin != 2 || f->nout != 1 || f->nattrs || f->nregions || end->nin != 1) return false;
    bool same = kn_mtype_same(type_of(p, r->args), type_of(p, r->args + 1)) && kn_mtype_same(type_of(p, r->args), type_of(p, f->out));
    bool ours = f->name.n > 10 && memcmp(f->name.s, "stablehlo.", 10) == 0;
    return same && ours && f->in[0] == r->args && f->in[1] == r->args + 1 && end->in[0] == f->out;
}

static void reduce(kn_mprint *p, const kn_mop *o, unsigned depth)
{
    uint32_t n = o->nin / 2;
    const kn_mregion *r = &o->regions[0];
    const kn_mattr *dims = kn_mop_attr(o, "dimensions");
    bool brief = short_reducer(p, o);
    kn_text_add(p->t, "stablehlo.reduce(");
    for (uint32_t i = 0; i < n; i++) {
        if (i) kn_text_add(p->t, ", (");
        value(p, o->in[i]);
        kn_text_add(p->t, " init: ");
        value(p, o->in[n + i]);
        kn_text_char(p->t, ')');
    }
    if (brief) kn_text_printf(p->t, " applies %.*s", (int)r->ops->name.n, r->ops->name.s);
    kn_text_add(p->t, " across dimensions = ");
    if (dims) kn_mprint_attr(p->t, dims, true);
    kn_text_add(p->t, " : ");
    functional(p, o, true);
    if (brief) return;
    kn_text_char(p->t, '\n');
    indent(p, depth + 1);
    kn_text_add(p->t, "reducer");
    for (uint32_t i = 0; i < n; i++) {
        kn_text_char(p->t, i ? ' ' : '(');
        if (i) kn_text_char(p->t, '(');
        for (uint32_t k = 0; k < 2; k++) {
            if (k) kn_text_add(p->t, ", ");
            value(p, r->args + k * n + i);
            kn_text_add(p->t, ": ");
            kn_mprint_type(p->t, type_of(p, r->args + k * n + i));
            kn_mprint_loc(p, NULL);
        }
        kn_text_char(p->t, ')');
    }
    kn_text_add(p->t, "  {\n");
    ops(p, r, depth + STEP, false);
    indent(p, depth);
    kn_text_char(p->t, '}');
}

static void while_loop(kn_mprint *p, const kn_mop *o, unsigned depth)
{
    kn_text_add(p->t, "stablehlo.while(");
    for (uint32_t i = 0; i < o->nin; i++) {
        if (i) kn_text_add(p->t, ", ");
        value(p, o->regions[0].args + i);
        kn_text_add(p->t, " = ");
        value(p, o->in[i]);
    }
    kn_text_char(p->t, ')');
    if (o->nout) kn_text_add(p->t, " : ");
    result_types(p, o);
    for (int i = 0; i < 2; i++) {
        if (i) kn_text_char(p->t, ' ');
        else kn_text_char(p->t, '\n'), indent(p, depth);
        kn_text_add(p->t, i ? "do " : "cond ");
        braces(p, &o->regions[i], depth, false);
    }
}

static void generic(kn_mprint *p, const kn_mop *o, unsigned depth)
{
    kn_text_printf(p->t, "\"%.*s\"(", (int)o->name.n, o->name.s);
    values(p, o->in, o->nin);
    kn_text_char(p->t, ')');
    if (o->nattrs) {
        kn_text_add(p->t, " <");
        kn_mprint_dict(p->t, o->attrs, o->nattrs, NULL);
        kn_text_char(p->t, '>');
    }
    if (o->nregions) kn_text_add(p->t, " (");
    for (uint32_t i = 0; i < o->nregions; i++) {
        if (i) kn_text_add(p->t, ", ");
        braces(p, &o->regions[i], depth, true);
    }
    if (o->nregions) kn_text_char(p->t, ')');
    kn_text_add(p->t, " : ");
    functional(p, o, true);
}

/* ---- operations ---- */

static bool is_generic(kn_span name)
{
    static const char *const names[] = {"chlo.ragged_dot", "stablehlo.case", "stablehlo.gather", "stablehlo.if", "stablehlo.map", "stablehlo.reduce_window", "stablehlo.scatter",
                                        "stablehlo.select_and_scatter", "stablehlo.sort", "stablehlo.triangular_solve"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (kn_span_is(name, names[i])) return true;
    return false;
}

static void pretty(kn_mprint *p, const kn_mop *o, bool top)
{
    const kn_mform *f = kn_mform_find(o->name);
    form_state s = {.operand = 0};
    bool function = o->name.n > 5 && memcmp(o->name.s, "func.", 5) == 0 && (top || kn_span_is(o->name, "func.return"));
    kn_text_addn(p->t, o->name.s + (function ? 5 : 0), o->name.n - (function ? 5 : 0));
    if (f->format[0] != '(') kn_text_char(p->t, ' ');
    follow(p, o, f->format, &s);
    rest_of_attributes(p, o, &s);
    signature(p, o, f->types);
}

static void one(kn_mprint *p, const kn_mop *o, unsigned depth, bool top)
{
    indent(p, depth);
    results(p, o);
    if (kn_span_is(o->name, "stablehlo.reduce")) reduce(p, o, depth);
    else if (kn_span_is(o->name, "stablehlo.while")) while_loop(p, o, depth);
    else if (is_generic(o->name) || o->nregions) generic(p, o, depth);
    else pretty(p, o, top);
    kn_mprint_loc(p, o->loc);
    kn_text_char(p->t, '\n');
}

static void ops(kn_mprint *p, const kn_mregion *r, unsigned depth, bool top)
{
    for (const kn_mop *o = r->ops; o; o = o->next) one(p, o, depth, top);
}

/* ---- functions ---- */

static void function(kn_mprint *p, const kn_mfunc *f)
{
    kn_mprint_names(p, f);
    if (p->failed) return;
    kn_text_printf(p->t, "  func.func %s ", f->is_private ? "private" : "public");
    kn_mprint_symbol(p->t, f->name);
    kn_text_char(p->t, '(');
    for (uint32_t i = 0; i < f->nargs; i++) {
        if (i) kn_text_add(p->t, ", ");
        value(p, i);
        kn_text_add(p->t, ": ");
        kn_mprint_type(p->t, f->values[i].type);
        if (f->arg_attrs[i].kind == KN_MA_DICT) {
            kn_text_char(p->t, ' ');
            kn_mprint_dict(p->t, f->arg_attrs[i].fields, f->arg_attrs[i].n, NULL);
        }
        const kn_mloc *l = f->values[i].loc;
        if (!l) continue;
        kn_text_add(p->t, " loc(");
        kn_mprint_string(p->t, l->text);
        kn_text_char(p->t, ')');
    }
    kn_text_char(p->t, ')');
    bool plain = f->nresults == 1 && f->result_attrs[0].kind != KN_MA_DICT;
    if (f->nresults) kn_text_add(p->t, plain ? " -> " : " -> (");
    for (uint32_t i = 0; i < f->nresults; i++) {
        if (i) kn_text_add(p->t, ", ");
        kn_mprint_type(p->t, f->results[i]);
        if (f->result_attrs[i].kind != KN_MA_DICT) continue;
        kn_text_char(p->t, ' ');
        kn_mprint_dict(p->t, f->result_attrs[i].fields, f->result_attrs[i].n, NULL);
    }
    if (f->nresults && !plain) kn_text_char(p->t, ')');
    kn_text_add(p->t, " {\n");
    ops(p, &f->body, 2 * STEP, true);
    kn_text_add(p->t, "  }");
    kn_mprint_loc(p, NULL);
    kn_text_char(p->t, '\n');
}

static bool has_locations(const kn_mregion *r)
{
    for (const kn_mop *o = r->ops; o; o = o->next) {
        if (o->loc) return true;
        for (uint32_t i = 0; i < o->nregions; i++)
            if (has_locations(&o->regions[i])) return true;
    }
    return false;
}

kiln_status kn_mlir_print(kiln_ctx *ctx, kn_arena *arena, const kn_mmodule *m, kn_text *t)
{
    kn_mprint p = {.ctx = ctx, .arena = arena, .m = m, .t = t};
    for (uint32_t i = 0; i < m->funcs.n && !p.locations; i++) p.locations = has_locations(&m->funcs.v[i]->body);
    if (p.locations) kn_text_add(t, "#loc = loc(unknown)\n");
    kn_text_add(t, "module ");
    if (m->name.n) kn_mprint_symbol(t, m->name), kn_text_char(t, ' ');
    if (m->attrs.kind == KN_MA_DICT) {
        kn_text_add(t, "attributes ");
        kn_mprint_dict(t, m->attrs.fields, m->attrs.n, NULL);
        kn_text_char(t, ' ');
    }
    kn_text_add(t, "{\n");
    for (uint32_t i = 0; i < m->funcs.n && !p.failed; i++) function(&p, m->funcs.v[i]);
    kn_text_char(t, '}');
    kn_mprint_loc(&p, NULL);
    kn_text_char(t, '\n');
    kn_mprint_loc_aliases(&p);
    return p.failed || t->failed ? kn_nomem(ctx) : KILN_OK;
}

kiln_status kn_hlo_print_stablehlo(kiln_ctx *ctx, const kn_prog *p, kn_text *t)
{
    if (kn_prog_open(p))
        return kn_fail(ctx, KILN_UNSUPPORTED, "StableHLO text is written for fixed shapes: a dimension of an input is n, which is given when the program runs");
    kn_arena arena;
    kn_mmodule *m;
    kn_arena_init(&arena, &ctx->alloc);
    kiln_status s = kn_export_program(ctx, &arena, p, false, &m);
    if (s == KILN_OK) s = kn_mlir_print(ctx, &arena, m, t);
    kn_arena_fini(&arena);
    return s;
}
