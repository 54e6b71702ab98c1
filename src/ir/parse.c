/* SPDX-License-Identifier: Apache-2.0 */
/* Programs, bodies and equations. Blanks and line ends mean the same: the printed layout is not needed, but where an equation
 * without results could be an operand of the one before, the column decides. */
#include "array/text.h"
#include "ir/parse.h"

#include <math.h>

/* One body being read. */
typedef struct scope {
    kn_build b;
    kn_arena arena; /* of one equation's parameters, emptied between equations */
    kn_arena names_arena;
    KN_VEC(kn_word) names; /* per variable */
    uint32_t *slots, n_slots; /* hash table by name: variable + 1, 0 empty */
    uint32_t unread, n_unread; /* the latest variable called _, and how many are */
} scope;

static uint64_t hash(kn_word w)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < w.n; i++) h = (h ^ (unsigned char)w.s[i]) * 0x100000001b3u;
    return h ^ h >> 32;
}

static bool same(kn_word a, kn_word b) { return a.n == b.n && memcmp(a.s, b.s, a.n) == 0; }

/* ---- variables ---- */

static uint32_t *slot_of(const scope *s, kn_word name)
{
    uint32_t k = (uint32_t)hash(name) & (s->n_slots - 1);
    while (s->slots[k] && !same(s->names.v[s->slots[k] - 1], name)) k = (k + 1) & (s->n_slots - 1);
    return &s->slots[k];
}

/* Enters the name of variable `var`, which is the newest. */
static kiln_status declare(kn_parser *p, scope *s, kn_word name, uint32_t var)
{
    bool unread = kn_word_is(name, "_");
    if (s->names.n * 2 >= s->n_slots) {
        s->n_slots = s->n_slots ? s->n_slots * 2 : 32;
        KILN_TRY_MEM(p->ctx, s->slots = KN_NEWN(&s->names_arena, uint32_t, s->n_slots));
        for (uint32_t i = 0; i < s->names.n; i++)
            if (!kn_word_is(s->names.v[i], "_")) *slot_of(s, s->names.v[i]) = i + 1;
    }
    KILN_TRY_MEM(p->ctx, kn_push(&s->names_arena, &s->names, name));
    if (unread) {
        s->n_unread++, s->unread = var;
        return KILN_OK;
    }
    uint32_t *slot = slot_of(s, name);
    if (*slot) return kn_syntax(p, name.s, "bound-twice", NULL, "variable %.*s is bound twice", (int)name.n, name.s);
    *slot = var + 1;
    return KILN_OK;
}

static bool is_bound(const scope *s, kn_word name) { return s->n_slots && *slot_of(s, name) != 0; }

static kiln_status read_variable(kn_parser *p, const scope *s, kn_word name, kn_atom *out)
{
    bool unread = kn_word_is(name, "_"); /* JAX gives back what it calls _ where a caller does not read it: the only one is meant */
    uint32_t var = unread ? (s->n_unread == 1 ? s->unread + 1 : 0) : s->n_slots ? *slot_of(s, name) : 0;
    if (!var) return kn_syntax(p, name.s, "unbound", NULL, "variable %.*s is not bound", (int)(name.n < 60 ? name.n : 60), name.s);
    *out = var - 1;
    return KILN_OK;
}

/* The element type that a literal of this form has when nothing else says it. */
static kiln_dtype default_dtype(kn_word text)
{
    char first = *text.s;
    if (first == 'T' || first == 'F') return KILN_BOOL;
    if (first == '(' || text.s[text.n - 1] == 'j') return KILN_C64;
    for (size_t i = 0; i < text.n; i++)
        if (kn_is_one_of(text.s[i], ".enif")) return KILN_F32;
    return KILN_I32;
}

/* Can a literal of this form be of that type? A float never stands for an integer, an integer may be meant as a float. */
static bool may_be(kn_word text, kiln_dtype d)
{
    char kind = kiln_dtype_kind(d);
    switch (kiln_dtype_kind(default_dtype(text))) {
    case 'b': return kind == 'b';
    case 'i': return kind == 'i' || kind == 'u' || kind == 'f' || kind == '8' || kind == 'c';
    case 'f': return kind == 'f' || kind == '8' || kind == 'c';
    default: return kind == 'c';
    }
}

/* An operand: a variable, a literal, or (old dialect) a literal whose type is still to be found. */
typedef struct operand {
    kn_atom atom;
    kn_word untyped; /* n 0: has its type */
} operand;
typedef KN_VEC(operand) operands;

/* A Python number that became a literal prints with all its digits, whatever its type: 0.01:f32[] is not 0.009999999776482582:f32[]. */
static kiln_status make_literal(scope *s, kn_word text, kiln_dtype d, kn_scalar v, kn_atom *out)
{
    kn_scalar all;
    KILN_TRY(kn_build_literal(&s->b, d, v, out));
    bool rounds = kiln_dtype_kind(d) == 'f' && d != KILN_F64 && !kn_scalar_read(KILN_F64, text.s, text.s + text.n, &all);
    if (rounds && isfinite(all.f) && all.f != s->b.lits.v[kn_literal_index(*out)].value.f) s->b.lits.v[kn_literal_index(*out)].written = all.f;
    return KILN_OK;
}

static kiln_status read_literal(kn_parser *p, scope *s, operand *out)
{
    kiln_dtype d;
    kn_scalar v;
    bool typed;
    KILN_TRY(kn_parse_literal(p, &s->arena, &out->untyped, &typed, &d, &v));
    if (!typed && out->untyped.n == 0) return kn_syntax(p, p->c.at, "syntax", "2.0:f32[]", "a literal is missing");
    if (typed ? p->any_untyped : p->any_typed)
        return kn_syntax(p, out->untyped.s, "syntax", NULL, "literals with a type (2.0:f32[]) and without one are mixed");
    *(typed ? &p->any_typed : &p->any_untyped) = true;
    if (!typed) return KILN_OK;
    KILN_TRY(make_literal(s, out->untyped, d, v, &out->atom));
    out->untyped.n = 0;
    return KILN_OK;
}

static kiln_status give_type(kn_parser *p, scope *s, operand *x, kiln_dtype d)
{
    kn_scalar v;
    KILN_TRY(kn_literal_value(p, x->untyped, d, &v));
    return make_literal(s, x->untyped, d, v, &x->atom);
}

static bool starts_number(char c) { return (c >= '0' && c <= '9') || c == '-' || c == '('; }

static bool is_constant_word(kn_word w)
{
    return kn_word_is(w, "nan") || kn_word_is(w, "inf") || kn_word_is(w, "True") || kn_word_is(w, "False");
}

/* ---- binders ---- */

typedef struct binders {
    KN_VEC(kn_word) names;
    KN_VEC(kiln_type) types;
} binders;

static kiln_status read_binder(kn_parser *p, kn_arena *arena, binders *b)
{
    kiln_type t;
    kn_word name = kn_read_name(p);
    if (!name.n) return kn_syntax(p, p->c.at, "syntax", "name:type, as a:f32[3]", "a variable is missing");
    if (kn_peek(p) != ':') return kn_syntax(p, p->c.at, "syntax", "name:type, as a:f32[3]", "variable %.*s has no type", (int)(name.n < 60 ? name.n : 60), name.s);
    p->c.at++;
    KILN_TRY(kn_parse_type(p, arena, &t));
    KILN_TRY_MEM(p->ctx, kn_push(arena, &b->names, name) && kn_push(arena, &b->types, t));
    return KILN_OK;
}

/* ---- parameters ---- */

static kiln_status no_parameter(kn_parser *p, const kn_prim *prim, kn_word key)
{
    char list[200] = "";
    size_t n = 0;
    for (uint32_t i = 0; i < prim->nparams; i++) {
        size_t k = strlen(prim->params[i].name);
        if (n + k + 3 > sizeof list) break;
        if (n) list[n++] = ',', list[n++] = ' ';
        memcpy(list + n, prim->params[i].name, k + 1);
        n += k;
    }
    return kn_syntax(p, key.s, "unknown-parameter", n ? list : "no parameters", "%s has no parameter %.*s", prim->name, (int)(key.n < 60 ? key.n : 60), key.s);
}

static kiln_status read_params(kn_parser *p, scope *s, const kn_prim *prim, kn_param *params, bool *given)
{
    const char *start = p->c.at - 1;
    while (!kn_take(p, ']')) {
        kn_skip(p);
        if (p->c.at == p->end) return kn_syntax(p, start, "syntax", NULL, "the parameters of %s are not closed", prim->name);
        const char *at = p->c.at;
        if (p->end - at >= 3 && memcmp(at, "...", 3) == 0)
            return kn_syntax(p, at, "elided", NULL, "parameters are left out ([...]): the text cannot be run");
        kn_word key = kn_read_name(p);
        if (!key.n || !kn_take(p, '=')) return kn_syntax(p, at, "syntax", "key=value", "a parameter of %s has no name", prim->name);
        uint32_t i = 0;
        while (i < prim->nparams && !kn_word_is(key, prim->params[i].name)) i++;
        if (i == prim->nparams) return no_parameter(p, prim, key);
        if (given[i]) return kn_syntax(p, key.s, "syntax", NULL, "parameter %s is given twice", prim->params[i].name);
        given[i] = true;
        if (prim->params[i].flags & (KN_PARAM_FROM_RESULT | KN_PARAM_INTERNAL)) p->any_implied = true;
        KILN_TRY(kn_parse_value(p, &s->arena, prim->params[i].kind, &params[i]));
    }
    return KILN_OK;
}

/* What the text does not show: left out, or said by the type of the result. */
static kiln_status complete(kn_parser *p, const char *at, const kn_prim *prim, kn_param *params, const bool *given, const binders *b)
{
    for (uint32_t i = 0; i < prim->nparams; i++) {
        const kn_param_spec *spec = &prim->params[i];
        if (given[i]) continue;
        params[i] = KN_NONE;
        if ((spec->flags & KN_PARAM_FROM_RESULT) && b->types.n) {
            if (spec->kind == KN_P_INTS) params[i] = KN_INTS(b->types.v[0].rank, b->types.v[0].dims);
            else if (spec->kind == KN_P_DTYPE) params[i] = KN_DTYPE(b->types.v[0].dtype);
        } else if ((spec->flags & KN_PARAM_HIDE_EMPTY) && !(spec->flags & KN_PARAM_HIDE_NONE)) {
            params[i] = KN_INTS(0, NULL);
        } else if (!(spec->flags & (KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE | KN_PARAM_INTERNAL | KN_PARAM_FROM_RESULT))) {
            return kn_syntax(p, at, "missing-parameter", NULL, "%s needs %s", prim->name, spec->name);
        }
    }
    return KILN_OK;
}

static kiln_status find_prim(kn_parser *p, kn_word name, const kn_prim **out)
{
    enum { MOST = 512 };
    const char *names[MOST], *near = NULL;
    char word[48];
    uint32_t n = 0;
    if (!name.n) return kn_syntax(p, p->c.at, "syntax", NULL, "a primitive is missing");
    *out = p->prims->find(name.s, name.n);
    if (*out) return KILN_OK;
    const kn_prim *const *all = p->prims->all ? p->prims->all(&n) : NULL;
    if (n > MOST) n = MOST;
    for (uint32_t i = 0; i < n; i++) names[i] = all[i]->name;
    size_t k = name.n < sizeof word - 1 ? name.n : sizeof word - 1;
    memcpy(word, name.s, k);
    word[k] = 0;
    if (name.n < sizeof word) near = kn_nearest(word, names, n);
    if (near) return kn_syntax(p, name.s, "unknown-primitive", NULL, "no primitive %s (did you mean %s?)", word, near);
    return kn_syntax(p, name.s, "unknown-primitive", "kiln prims lists them", "no primitive %s", word);
}

/* ---- equations ---- */

/* `in (` ends the equations, unless it is a variable called in before a complex literal. */
static bool at_outputs(const kn_parser *p)
{
    kn_parser look = *p;
    if (!kn_take_word(&look, "in") || !kn_take(&look, '(')) return false;
    const char *q = look.c.at;
    while (q < look.end && *q != ')' && *q != ',' && *q != ' ' && *q != ':') q++;
    bool complex = q + 1 < look.end && *q == ')' && q[1] == ':' && q > look.c.at && q[-1] == 'j' && *look.c.at != '(';
    return !complex;
}

/* Where an equation began, and the line of its last word so far. */
typedef struct start {
    const char *at;
    uint32_t line, column, last_line;
} start;

/* `nan:f32[]` is a literal, but variables may be called nan and inf, too: does one begin the next equation here? Only where the
 * text behind the type leaves both open does the layout decide. */
static bool binds(const kn_parser *p, kn_word w, const start *s)
{
    kn_parser look = *p;
    if (kn_word_is(w, "True") || kn_word_is(w, "False")) return false;
    look.c.at = w.s + w.n;
    while (look.c.at < look.end && *look.c.at != ']' && *look.c.at != '\n') look.c.at++;
    if (look.c.at < look.end) look.c.at++;
    if (kn_take(&look, '=')) return true;
    kn_word next = kn_peek_name(&look);
    bool binder_next = next.n && next.s + next.n < look.end && next.s[next.n] == ':';
    return binder_next && p->c.line > s->last_line && (uint32_t)(p->c.at - p->c.line_start) <= s->column;
}

static kiln_status read_operands(kn_parser *p, scope *s, start *begin, operands *into)
{
    for (;;) {
        operand a = {0};
        begin->last_line = p->c.line;
        kn_skip(p);
        if (p->c.at == p->end || kn_peek(p) == '}' || at_outputs(p)) return KILN_OK;
        if (kn_take(p, ';')) return KILN_OK;
        kn_word w = kn_peek_name(p);
        char after = w.s + w.n < p->end ? w.s[w.n] : 0;
        if (starts_number(kn_peek(p)) || kn_peek(p) == '[') {
            KILN_TRY(read_literal(p, s, &a));
        } else if (!w.n) {
            return kn_syntax(p, p->c.at, "syntax", "a variable, a literal, ';' or in", "'%c' cannot stand here", kn_peek(p));
        } else if (is_constant_word(w) && (after == ':' ? !binds(p, w, begin) : !is_bound(s, w))) {
            KILN_TRY(read_literal(p, s, &a));
        } else if (after == ':' || after == '[') {
            return KILN_OK; /* the next equation */
        } else {
            KILN_TRY(read_variable(p, s, w, &a.atom));
            p->c.at += w.n;
        }
        KILN_TRY_MEM(p->ctx, kn_push(&s->arena, into, a));
    }
}

/* The body of a call or a loop: its last inputs are the equation's last operands. */
static const kn_jaxpr *body_of(const kn_prim *prim, const kn_param *params)
{
    for (uint32_t i = 0; i < prim->nparams; i++) {
        const kn_param *v = &params[i];
        if (v->kind == KN_P_TUPLE && v->n) v = &v->items[0];
        if (v->kind == KN_P_JAXPR) return v->jaxpr;
    }
    return NULL;
}

/* The element type of an operand that says where something lies, or which of several is meant; false: it is no such operand. */
static bool is_place(const kn_prim *prim, uint32_t i, kiln_dtype *d)
{
    *d = KILN_I32;
    if (strcmp(prim->name, "dynamic_slice") == 0) return i >= 1;
    if (strcmp(prim->name, "dynamic_update_slice") == 0) return i >= 2;
    if (strcmp(prim->name, "random_fold_in") == 0) *d = KILN_U32;
    return i == (strcmp(prim->name, "random_fold_in") == 0) && (prim->loop == KN_LOOP_COND || *d == KILN_U32);
}

/* Old dialect: a literal has the type of what it meets. */
static kiln_status type_literals(kn_parser *p, scope *s, const kn_prim *prim, const kn_param *params, operands *in, const binders *b)
{
    const kn_jaxpr *body = body_of(prim, params);
    for (uint32_t i = 0; i < in->n; i++) {
        operand *x = &in->v[i];
        if (!x->untyped.n) continue;
        kiln_dtype d = default_dtype(x->untyped);
        bool found = false;
        uint32_t from_end = in->n - i;
        if (body && from_end <= kn_nargs(body)) {
            d = kn_type_of(body, body->in[body->nin - from_end]).dtype;
            found = true;
        } else {
            kiln_dtype place;
            found = is_place(prim, i, &place);
            if (found) d = place;
        }
        for (uint32_t k = 0; found && d == KILN_I32 && !body && k < in->n; k++) { /* all indices have one type */
            kiln_dtype other;
            if (!in->v[k].untyped.n && is_place(prim, k, &other)) d = kn_build_type(&s->b, in->v[k].atom).dtype;
        }
        for (uint32_t k = 0; !found && k < in->n; k++) {
            if (in->v[k].untyped.n) continue;
            kiln_dtype other = kn_build_type(&s->b, in->v[k].atom).dtype;
            if (may_be(x->untyped, other)) d = other, found = true;
        }
        if (!found && b->types.n && may_be(x->untyped, b->types.v[0].dtype)) d = b->types.v[0].dtype;
        KILN_TRY(give_type(p, s, x, d));
        x->untyped.n = 0;
    }
    return KILN_OK;
}

static kiln_status bind_results(kn_parser *p, scope *s, const kn_prim *prim, const start *begin, const kn_param *params,
                                const operands *args, const binders *b)
{
    uint32_t nout = b->names.n, nin = args->n;
    kn_atom *out = KN_NEWN(&s->arena, kn_atom, nout), *in = KN_NEWN(&s->arena, kn_atom, nin);
    KILN_TRY_MEM(p->ctx, out && in);
    for (uint32_t i = 0; i < nin; i++) in[i] = args->v[i].atom;
    s->b.loc = (kn_loc){p->file_index, begin->line, begin->column + 1};
    KILN_TRY(kn_locate(p, begin->at, kn_build_eqn(&s->b, prim, params, in, nin, out, nout)));
    for (uint32_t i = 0; i < nout; i++) {
        kiln_type t = kn_build_type(&s->b, out[i]);
        if (!kiln_type_equal(t, b->types.v[i]))
            return kn_syntax(p, b->names.v[i].s, "type", NULL, "%s gives %s, the binder says %s", prim->name, kn_type_show(t).s,
                             kn_type_show(b->types.v[i]).s);
        KILN_TRY(declare(p, s, b->names.v[i], out[i]));
    }
    return KILN_OK;
}

static kiln_status read_equation(kn_parser *p, scope *s)
{
    binders b = {0};
    operands in = {0};
    const kn_prim *prim;
    start begin = {p->c.at, p->c.line, (uint32_t)(p->c.at - p->c.line_start), p->c.line};
    kn_word w = kn_peek_name(p);
    if (w.s + w.n < p->end && w.s[w.n] == ':') {
        while (!kn_take(p, '=')) KILN_TRY(read_binder(p, &s->arena, &b));
    }
    kn_skip(p);
    const char *at = p->c.at;
    KILN_TRY(find_prim(p, kn_read_name(p), &prim));
    kn_param *params = KN_NEWN(&s->arena, kn_param, prim->nparams);
    bool *given = KN_NEWN(&s->arena, bool, prim->nparams);
    KILN_TRY_MEM(p->ctx, params && given);
    if (kn_peek(p) == '[') {
        p->c.at++;
        const kiln_type *around = p->wanted;
        uint32_t n_around = p->n_wanted;
        p->wanted = b.types.v, p->n_wanted = b.types.n;
        KILN_TRY(read_params(p, s, prim, params, given));
        p->wanted = around, p->n_wanted = n_around;
    }
    KILN_TRY(complete(p, at, prim, params, given, &b));
    if (prim->meant) prim = prim->meant(prim, params);
    KILN_TRY(read_operands(p, s, &begin, &in));
    if (p->any_untyped) KILN_TRY(type_literals(p, s, prim, params, &in, &b));
    return bind_results(p, s, prim, &begin, params, &in, &b);
}

/* ---- bodies ---- */

static kiln_status read_inputs(kn_parser *p, scope *s, char end, bool constants)
{
    binders b = {0};
    while (!kn_take(p, end)) {
        kn_skip(p);
        if (p->c.at == p->end) return kn_syntax(p, p->c.at, "syntax", NULL, "the program is not closed: '%c' is missing", end);
        KILN_TRY(read_binder(p, &s->arena, &b));
    }
    for (uint32_t i = 0; i < b.names.n; i++) {
        kn_atom a;
        KILN_TRY(constants ? kn_build_hole(&s->b, b.types.v[i], &a) : kn_build_input(&s->b, b.types.v[i], &a));
        KILN_TRY(declare(p, s, b.names.v[i], a));
    }
    return KILN_OK;
}

static kiln_status read_outputs(kn_parser *p, scope *s, const kn_jaxpr **out)
{
    KN_VEC(kn_atom) atoms = {0};
    if (!kn_take_word(p, "in") || !kn_take(p, '(')) return kn_syntax(p, p->c.at, "syntax", "in (a, b) }", "the program is not closed: 'in (' is missing");
    while (!kn_take(p, ')')) {
        operand a = {0};
        kn_skip(p);
        kn_word w = kn_peek_name(p);
        bool constant = (w.s + w.n < p->end && w.s[w.n] == ':') || (is_constant_word(w) && !is_bound(s, w));
        if (starts_number(kn_peek(p)) || kn_peek(p) == '[' || constant) {
            KILN_TRY(read_literal(p, s, &a));
            kiln_dtype d = a.untyped.n ? default_dtype(a.untyped) : KILN_I32;
            if (a.untyped.n && atoms.n < p->n_wanted && may_be(a.untyped, p->wanted[atoms.n].dtype)) d = p->wanted[atoms.n].dtype;
            if (a.untyped.n) KILN_TRY(give_type(p, s, &a, d));
        } else if (w.n) {
            KILN_TRY(read_variable(p, s, w, &a.atom));
            p->c.at += w.n;
        } else {
            return kn_syntax(p, p->c.at, "syntax", "in (a, b) }", "the program is not closed: an output is missing");
        }
        KILN_TRY_MEM(p->ctx, kn_push(&s->names_arena, &atoms, a.atom));
        if (!kn_take(p, ',') && kn_peek(p) != ')')
            return kn_syntax(p, p->c.at, "syntax", NULL, "the program is not closed: a comma or ')' is missing among the outputs");
    }
    if (kn_take(p, ':')) return kn_syntax(p, p->c.at - 1, "unsupported", NULL, "effects of a program are not read");
    if (!kn_take(p, '}')) return kn_syntax(p, p->c.at, "syntax", "}", "the program is not closed");
    return kn_build_finish(&s->b, atoms.v, atoms.n, out);
}

static kiln_status read_scope(kn_parser *p, scope *s, const char *begin, const kn_jaxpr **out)
{
    enum { PLENTY = 1 << 16 };
    if (!kn_take(p, '{') || !kn_take_word(p, "lambda")) return kn_syntax(p, begin, "syntax", "{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }", "no program begins here");
    KILN_TRY(read_inputs(p, s, ';', true));
    KILN_TRY(read_inputs(p, s, '.', false));
    if (!kn_take_word(p, "let")) return kn_syntax(p, p->c.at, "syntax", "let", "'let' is missing after the inputs");
    for (;;) {
        while (kn_take(p, ';')) {}
        kn_skip(p);
        if (at_outputs(p)) break;
        if (p->c.at == p->end || kn_peek(p) == '}') return kn_syntax(p, p->c.at, "syntax", "in (a, b) }", "the program is not closed: 'in (' is missing");
        KILN_TRY(read_equation(p, s));
        if (s->arena.bytes > PLENTY) {
            kn_arena_fini(&s->arena);
            kn_arena_init(&s->arena, &p->ctx->alloc);
        }
    }
    return read_outputs(p, s, out);
}

static kiln_status name_inputs(kn_parser *p, const scope *s, const kn_jaxpr *j)
{
    uint32_t n = kn_nargs(j);
    const char **names = KN_NEWN(&p->prog->arena, const char *, n);
    KILN_TRY_MEM(p->ctx, names);
    for (uint32_t i = 0; i < n; i++) {
        kn_word w = s->names.v[j->in[j->nconsts + i]];
        KILN_TRY_MEM(p->ctx, names[i] = kn_arena_textn(&p->prog->arena, w.s, w.n));
    }
    p->prog->in_names = names;
    return KILN_OK;
}

static kiln_status read_body(kn_parser *p, bool main, const kn_jaxpr **out)
{
    scope s = {0};
    kn_skip(p);
    const char *begin = p->c.at;
    if (p->depth == KN_MAX_NESTING) return kn_syntax(p, begin, "unsupported", NULL, "bodies are nested more than %d deep", KN_MAX_NESTING);
    p->depth++;
    kn_build_init(&s.b, p->ctx, p->prog);
    kn_arena_init(&s.arena, &p->ctx->alloc);
    kn_arena_init(&s.names_arena, &p->ctx->alloc);
    kiln_status status = read_scope(p, &s, begin, out);
    if (status == KILN_OK && main) status = name_inputs(p, &s, *out);
    kn_arena_fini(&s.arena);
    kn_arena_fini(&s.names_arena);
    p->depth--;
    return status;
}

/* ---- programs ---- */

static uint32_t *definition_slot(const kn_definitions *d, kn_word name)
{
    uint32_t k = (uint32_t)hash(name) & (d->n_slots - 1);
    while (d->slots[k]) {
        const kn_definition *x = &d->v.v[d->slots[k] - 1];
        if (same((kn_word){x->name, x->n}, name)) break;
        k = (k + 1) & (d->n_slots - 1);
    }
    return &d->slots[k];
}

kn_definition *kn_definition_find(kn_parser *p, kn_word name)
{
    for (kn_definitions *d = p->definitions; d; d = d->outer) {
        uint32_t k = d->n_slots ? *definition_slot(d, name) : 0;
        if (k) return &d->v.v[k - 1];
    }
    return NULL;
}

kiln_status kn_parse_reference(kn_parser *p, kn_word name, const char *at, const kn_jaxpr **out)
{
    kn_definition *d = kn_definition_find(p, name);
    if (!d) return kn_syntax(p, at, "unbound", "{ lambda ... }, or a name defined by let", "no body is called %.*s", (int)(name.n < 60 ? name.n : 60), name.s);
    if (d->reading) return kn_syntax(p, at, "syntax", NULL, "body %.*s contains itself", (int)name.n, name.s);
    if (!d->j) {
        kn_cursor back = p->c;
        p->c = d->at;
        d->reading = true;
        KILN_TRY(read_body(p, false, &d->j));
        d->reading = false;
        p->c = back;
    }
    *out = d->j;
    return KILN_OK;
}

static kiln_status add_definition(kn_parser *p, kn_definitions *d, kn_word name)
{
    kn_definition x = {.name = name.s, .n = name.n, .at = p->c};
    if (d->v.n * 2 >= d->n_slots) {
        d->n_slots = d->n_slots ? d->n_slots * 2 : 16;
        KILN_TRY_MEM(p->ctx, d->slots = KN_NEWN(&p->arena, uint32_t, d->n_slots));
        for (uint32_t i = 0; i < d->v.n; i++) *definition_slot(d, (kn_word){d->v.v[i].name, d->v.v[i].n}) = i + 1;
    }
    uint32_t *slot = definition_slot(d, name);
    if (*slot) return kn_syntax(p, name.s, "bound-twice", NULL, "body %.*s is defined twice", (int)name.n, name.s);
    KILN_TRY_MEM(p->ctx, kn_push(&p->arena, &d->v, x));
    *slot = d->v.n;
    return KILN_OK;
}

/* The text up to `= {`: functions may be called "unnamed function". Leaves the cursor at the brace. */
static kn_word read_definition_name(kn_parser *p)
{
    kn_skip(p);
    kn_word name = {p->c.at, 0};
    for (const char *q = p->c.at; q < p->end && *q != '{'; q++) {
        if (*q != '=') continue;
        kn_parser look = *p;
        look.c.at = q + 1;
        kn_skip(&look);
        if (kn_peek(&look) != '{') continue;
        name.n = (size_t)(q - name.s);
        while (name.n && (unsigned char)name.s[name.n - 1] <= ' ') name.n--;
        p->c = look.c;
        return name;
    }
    return name;
}

/* Finds the definitions without reading them: a body may use one that stands further down. */
static kiln_status find_definitions(kn_parser *p, kn_definitions *d)
{
    while (kn_take_word(p, "let")) {
        kn_word name = read_definition_name(p);
        if (!name.n) return kn_syntax(p, p->c.at, "syntax", "let NAME = { lambda ... } in", "a definition has no name or no body");
        const char *begin = p->c.at;
        KILN_TRY(add_definition(p, d, name));
        if (!kn_skip_balanced(p)) return kn_syntax(p, begin, "syntax", "}", "the program is not closed");
        if (!kn_take_word(p, "in")) return kn_syntax(p, p->c.at, "syntax", "in", "'in' is missing after body %.*s", (int)name.n, name.s);
    }
    return KILN_OK;
}

static kiln_status read_program(kn_parser *p, bool main, const kn_jaxpr **out)
{
    kn_definitions own = {.outer = p->definitions};
    KILN_TRY(find_definitions(p, &own));
    p->definitions = &own;
    KILN_TRY(read_body(p, main, out));
    for (uint32_t i = 0; i < own.v.n; i++) { /* those that nobody uses must be right, too */
        const kn_jaxpr *j;
        KILN_TRY(kn_parse_reference(p, (kn_word){own.v.v[i].name, own.v.v[i].n}, own.v.v[i].name, &j));
    }
    p->definitions = own.outer;
    return KILN_OK;
}

kiln_status kn_parse_program(kn_parser *p, const kn_jaxpr **out) { return read_program(p, false, out); }

static kiln_status read_text(kn_parser *p)
{
    const kn_jaxpr *j;
    KILN_TRY(kn_prog_new(p->ctx, NULL, &p->prog));
    KILN_TRY(kn_prog_file(p->ctx, p->prog, p->file, &p->file_index));
    p->prog->own_file = p->file_index;
    KILN_TRY(read_program(p, true, &j));
    kn_skip(p);
    if (p->c.at < p->end) return kn_syntax(p, p->c.at, "syntax", NULL, "text after the program");
    p->prog->main = j;
    p->prog->old_dialect = p->any_untyped || (p->any_implied && !p->any_typed);
    return KILN_OK;
}

kiln_status kn_parse(kiln_ctx *ctx, const char *text, size_t n, const char *file, const kn_parse_prims *prims, kn_prog **out)
{
    kn_parser p = {.ctx = ctx, .text = text, .end = text + n, .file = file ? file : "", .c = {text, text, 1}, .prims = prims};
    *out = NULL;
    kn_arena_init(&p.arena, &ctx->alloc);
    kiln_status status = read_text(&p);
    kn_arena_fini(&p.arena);
    if (status == KILN_OK) *out = p.prog;
    else kiln_prog_release(p.prog);
    return status;
}
