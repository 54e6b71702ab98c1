/* SPDX-License-Identifier: Apache-2.0 */
/* The printer. Variables are named a..z, ba, bb, ... in the order of their first appearance in the text; a result of the
 * program itself (not of a body) that nobody reads is `_`. Which parameters show, and in which order, is said by the primitive's descriptor. */
#include "ir/print.h"

#include "array/size.h"
#include "array/text.h"
#include "base/fpmode.h"
#include "ir/layout.h"

#include <stdlib.h>

/* Names of one body's variables: 0 not named yet, k + 1 the k-th letters, or this: */
static const uint32_t UNREAD = UINT32_MAX;

typedef struct printer {
    kiln_ctx *ctx;
    kn_arena arena;
    kn_layout layout;
    kn_shared shared;
    bool old, brief; /* style */
    uint32_t n_names;       /* letters given out */
    uint32_t *taken, n_taken; /* letters that shared bodies have as names, rising; those still to come */
    uint32_t n_calls, n_numbered;
    uint32_t depth;
    kn_text piece;
} printer;

typedef struct body {
    const kn_jaxpr *j;
    uint32_t *names; /* per variable */
    uint32_t *calls; /* per variable, made when needed: the last call that passed it */
} body;

static kiln_status print_body(printer *p, body *b);

static kiln_status print_apart(kiln_ctx *ctx, const kn_jaxpr *j, bool is_program, kn_print_style style, kn_text *out);

/* ---- values ---- */

static void print_size(int64_t v, kn_text *out)
{
    char text[KN_SIZE_TEXT];
    kn_size_format(v, text, sizeof text);
    kn_text_add(out, text);
}

static void print_int(const kn_param *p, uint32_t i, kn_text *out)
{
    bool numpy = p->name && p->name[i] == '1';
    if (numpy) kn_text_printf(out, "np.int64(%lld)", (long long)p->ints[i]);
    else print_size(p->ints[i], out);
}

static kiln_status print_plain(kiln_ctx *ctx, const kn_param *p, bool old, kn_text *out);

static kiln_status print_items(kiln_ctx *ctx, const kn_param *p, bool old, kn_text *out)
{
    for (uint32_t i = 0; i < p->n; i++) {
        if (i) kn_text_add(out, ", ");
        if (p->kind == KN_P_INTS) print_int(p, i, out);
        else {
            if (p->kind == KN_P_RECORD && p->keys) kn_text_printf(out, "%s=", p->keys[i]);
            KILN_TRY(print_plain(ctx, &p->items[i], old, out));
        }
    }
    return KILN_OK;
}

static kiln_status print_plain(kiln_ctx *ctx, const kn_param *p, bool old, kn_text *out)
{
    switch (p->kind) {
    case KN_P_NONE: kn_text_add(out, "None"); break;
    case KN_P_BOOL: kn_text_add(out, p->b ? "True" : "False"); break;
    case KN_P_INT: print_size(p->i, out); break;
    case KN_P_FLOAT: kn_text_double(out, p->f); break;
    case KN_P_TEXT: kn_text_add(out, p->text); break;
    case KN_P_DTYPE: kn_text_add(out, kiln_dtype_numpy(p->dtype)); break;
    case KN_P_INTS:
    case KN_P_TUPLE:
        kn_text_char(out, p->list ? '[' : '(');
        KILN_TRY(print_items(ctx, p, old, out));
        if (p->n == 1 && !p->list) kn_text_char(out, ',');
        kn_text_char(out, p->list ? ']' : ')');
        break;
    case KN_P_RECORD:
        kn_text_printf(out, "%s(", p->name);
        KILN_TRY(print_items(ctx, p, old, out));
        kn_text_char(out, ')');
        break;
    case KN_P_JAXPR: {
        enum { PYTHON_WIDTH = 80 }; /* inside a value a body is str(jaxpr), whatever the width of the text around it */
        return print_apart(ctx, p->jaxpr, false, (kn_print_style){.width = PYTHON_WIDTH, .old = old}, out);
    }
    }
    return KILN_OK;
}

kiln_status kn_print_param(kiln_ctx *ctx, const kn_param *p, kn_text *out) { return print_plain(ctx, p, false, out); }

/* ---- names ---- */

enum { NAME_SIZE = 16 };

/* k in base 26 with the digits a..z: 0 is "a", 26 is "ba". */
static const char *letters(uint32_t k, char out[NAME_SIZE])
{
    char *s = out + NAME_SIZE;
    *--s = 0;
    do *--s = (char)('a' + k % 26);
    while (k /= 26);
    return s;
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Names of shared bodies that are letters are not given to variables. */
static kiln_status take_letters(printer *p)
{
    KILN_TRY_MEM(p->ctx, p->taken = KN_NEWN(&p->arena, uint32_t, p->shared.names.n));
    for (uint32_t i = 0; i < p->shared.names.n; i++) {
        const char *s = p->shared.names.v[i];
        size_t n = strlen(s);
        uint32_t k = 0;
        if (n == 0 || n > 6 || strspn(s, "abcdefghijklmnopqrstuvwxyz") != n || (n > 1 && s[0] == 'a')) continue;
        for (size_t c = 0; c < n; c++) k = k * 26 + (uint32_t)(s[c] - 'a');
        p->taken[p->n_taken++] = k;
    }
    qsort(p->taken, p->n_taken, sizeof *p->taken, by_size);
    return KILN_OK;
}

static void name_var(printer *p, const body *b, kn_atom a)
{
    if (b->names[a]) return;
    for (; p->n_taken && *p->taken <= p->n_names; p->taken++, p->n_taken--)
        if (*p->taken == p->n_names) p->n_names++;
    b->names[a] = ++p->n_names;
}

static kiln_status body_begin(printer *p, const kn_jaxpr *j, body *out)
{
    *out = (body){.j = j, .names = KN_NEWN(&p->arena, uint32_t, j->nvars)};
    KILN_TRY_MEM(p->ctx, out->names);
    return KILN_OK;
}

static void find_unread(const body *b)
{
    const kn_jaxpr *j = b->j;
    for (uint32_t k = 0; k < j->neqns; k++)
        for (uint32_t i = 0; i < j->eqns[k].nout; i++) b->names[j->eqns[k].out[i]] = UNREAD;
    for (uint32_t k = 0; k < j->neqns; k++)
        for (uint32_t i = 0; i < j->eqns[k].nin; i++)
            if (!kn_is_literal(j->eqns[k].in[i])) b->names[j->eqns[k].in[i]] = 0;
    for (uint32_t i = 0; i < j->nout; i++)
        if (!kn_is_literal(j->out[i])) b->names[j->out[i]] = 0;
}

/* Variables of a called body take the names of what they stand for; a name of the caller serves once. */
static kiln_status follow(printer *p, const body *inner, const kn_atom *mine, uint32_t n, body *outer, const kn_atom *theirs)
{
    if (!outer->calls) KILN_TRY_MEM(p->ctx, outer->calls = KN_NEWN(&p->arena, uint32_t, outer->j->nvars));
    p->n_calls++;
    for (uint32_t i = 0; i < n; i++) {
        if (kn_is_literal(mine[i]) || kn_is_literal(theirs[i])) continue;
        if (inner->names[mine[i]] || outer->names[theirs[i]] == UNREAD || outer->calls[theirs[i]] == p->n_calls) continue;
        outer->calls[theirs[i]] = p->n_calls;
        name_var(p, outer, theirs[i]);
        inner->names[mine[i]] = outer->names[theirs[i]];
    }
    return KILN_OK;
}

/* ---- structure ---- */

static void print_atom(printer *p, const body *b, kn_atom a, bool typed)
{
    kn_text *t = &p->piece;
    char s[NAME_SIZE];
    t->n = 0;
    if (kn_is_literal(a)) {
        const kn_lit *l = &b->j->lits[kn_literal_index(a)];
        if (l->written != 0) kn_scalar_print(KILN_F64, (kn_scalar){.f = l->written}, t);
        else kn_scalar_print(l->dtype, l->value, t);
        typed = !p->old;
    } else {
        name_var(p, b, a);
        kn_text_add(t, b->names[a] == UNREAD ? "_" : letters(b->names[a] - 1, s));
    }
    if (typed) {
        char type[KN_TYPE_TEXT];
        kiln_type ty = kn_type_of(b->j, a);
        size_t n = kiln_type_format(ty, type, sizeof type);
        kn_text_char(t, ':');
        if (n < sizeof type) kn_text_addn(t, type, n);
        else { /* a type of many dimensions */
            char *big = kn_arena_new(&p->arena, n + 1);
            if (big) kiln_type_format(ty, big, n + 1);
            if (big) kn_text_addn(t, big, n);
            t->failed |= !big;
        }
    }
    kn_layout_text(&p->layout, t->s, t->n);
}

static void print_atoms(printer *p, const body *b, const kn_atom *a, uint32_t n, bool typed, const char *separator)
{
    kn_layout *l = &p->layout;
    kn_layout_nest(l, 2);
    kn_layout_open(l);
    for (uint32_t i = 0; i < n; i++) {
        if (i) {
            kn_layout_word(l, separator);
            kn_layout_open(l); /* a group of its own: breaks only where the line is full */
            kn_layout_break(l, " ");
            kn_layout_close(l);
        }
        print_atom(p, b, a[i], typed);
    }
    kn_layout_close(l);
    kn_layout_nest(l, -2);
}

static bool all_bodies(const kn_param *v)
{
    if (v->list || (v->kind != KN_P_TUPLE && !(v->kind == KN_P_INTS && v->n == 0))) return false;
    for (uint32_t i = 0; i < v->n; i++)
        if (v->items[i].kind != KN_P_JAXPR) return false;
    return true;
}

static kiln_status print_named_body(printer *p, const kn_jaxpr *j)
{
    const char *name = kn_shared_name(&p->shared, j);
    body b;
    if (name) {
        kn_layout_word(&p->layout, name);
        return KILN_OK;
    }
    KILN_TRY(body_begin(p, j, &b));
    return print_body(p, &b);
}

/* `called` is the body of an equation that shares names with its caller, prepared by print_eqn. */
static kiln_status print_value(printer *p, const kn_param *v, body *called)
{
    kn_layout *l = &p->layout;
    if (v->kind == KN_P_JAXPR) return called && called->j == v->jaxpr ? print_body(p, called) : print_named_body(p, v->jaxpr);
    if (all_bodies(v)) {
        kn_layout_open(l);
        kn_layout_nest(l, 2);
        kn_layout_word(l, "(");
        kn_layout_break(l, "");
        for (uint32_t i = 0; i < v->n; i++) {
            if (i) kn_layout_break(l, " ");
            KILN_TRY(print_named_body(p, v->items[i].jaxpr));
        }
        kn_layout_nest(l, -2);
        kn_layout_break(l, "");
        kn_layout_word(l, ")");
        kn_layout_close(l);
        return KILN_OK;
    }
    p->piece.n = 0;
    KILN_TRY(print_plain(p->ctx, v, p->old, &p->piece));
    if (p->piece.failed) return kn_nomem(p->ctx);
    kn_layout_text(l, p->piece.s, p->piece.n);
    return KILN_OK;
}

bool kn_param_shows(const kn_eqn *e, uint32_t i, bool old_dialect)
{
    const kn_param_spec *s = &e->prim->params[i];
    const kn_param *v = &e->params[i];
    if (s->flags & KN_PARAM_RULE) return false;
    if (s->flags & KN_PARAM_FROM_RESULT) return old_dialect && v->kind != KN_P_NONE;
    if (s->flags & KN_PARAM_INTERNAL) return (old_dialect || e->params[KN_PARAM_SOURCE(s->flags)].kind == KN_P_NONE) && v->kind != KN_P_NONE;
    if ((s->flags & KN_PARAM_HIDE_NONE) && v->kind == KN_P_NONE) return false;
    return old_dialect || !((s->flags & KN_PARAM_HIDE_EMPTY) && (v->kind == KN_P_INTS || v->kind == KN_P_TUPLE) && v->n == 0);
}

/* ---- brief parameters: one alone stays, a call keeps its name, of loops and branches the bodies are left out ---- */

typedef enum shown { WHOLE, BODY_LEFT_OUT, LEFT_OUT } shown;

typedef struct briefly {
    uint32_t n;        /* parameters that show */
    bool loop, named;
} briefly;

static briefly look(const printer *p, const kn_eqn *e)
{
    briefly b = {0};
    bool any_body = false, name = false;
    if (!p->brief) return b;
    for (uint32_t i = 0; i < e->prim->nparams; i++) {
        const kn_param_spec *s = &e->prim->params[i];
        const kn_param *v = &e->params[i];
        bool is_name = strcmp(s->name, "name") == 0, shows = kn_param_shows(e, i, p->old);
        name |= is_name;
        b.named |= is_name && shows && v->kind != KN_P_NONE;
        any_body |= v->kind == KN_P_JAXPR || (v->kind == KN_P_TUPLE && v->n && all_bodies(v));
        b.n += shows;
    }
    b.loop = any_body && !name;
    b.named &= b.n > 1;
    return b;
}

static shown how(const printer *p, const briefly *b, const char *name, const kn_param *v)
{
    bool is_body = v->kind == KN_P_JAXPR || (v->kind == KN_P_TUPLE && v->n && all_bodies(v));
    if (!p->brief) return WHOLE;
    if (b->loop) return is_body ? BODY_LEFT_OUT : *name == '_' ? LEFT_OUT : WHOLE;
    if (b->named) return strcmp(name, "name") == 0 ? WHOLE : LEFT_OUT;
    return b->n > 1 || is_body ? LEFT_OUT : WHOLE;
}

/* Nothing is written, but variables get the names that they have in the whole text. */
static kiln_status pass_over(printer *p, const kn_param *v, body *called)
{
    bool muted = p->layout.muted;
    p->layout.muted = true;
    kiln_status s = print_value(p, v, called);
    p->layout.muted = muted;
    return s;
}

static void left_out(printer *p, const kn_param *v)
{
    if (v->kind == KN_P_JAXPR) {
        kn_layout_word(&p->layout, "{...}");
        return;
    }
    kn_layout_word(&p->layout, "(");
    for (uint32_t i = 0; i < v->n; i++) kn_layout_word(&p->layout, i ? ", {...}" : "{...}");
    kn_layout_word(&p->layout, v->n == 1 ? ",)" : ")");
}

static kiln_status print_params(printer *p, const kn_eqn *e, body *called)
{
    kn_layout *l = &p->layout;
    bool any = false, rest = false;
    const briefly b = look(p, e);
    for (uint32_t i = 0; i < e->prim->nparams; i++) {
        const kn_param *v = &e->params[i];
        if (!kn_param_shows(e, i, p->old)) continue;
        if (i == 0 && (e->prim->flags & KN_NUMBERED) && v->kind == KN_P_INT && v->i == p->n_numbered++) continue;
        const shown s = how(p, &b, e->prim->params[i].name, v);
        if (s != WHOLE) KILN_TRY(pass_over(p, v, called));
        rest |= s == LEFT_OUT && !b.loop;
        if (s == LEFT_OUT) continue;
        if (!any) {
            kn_layout_open(l);
            kn_layout_nest(l, 2);
            kn_layout_word(l, "[");
        }
        kn_layout_break(l, any ? " " : "");
        any = true;
        kn_layout_word(l, e->prim->params[i].name);
        kn_layout_word(l, "=");
        if (s == BODY_LEFT_OUT) left_out(p, v);
        else KILN_TRY(print_value(p, v, called));
    }
    if (!any) {
        if (rest) kn_layout_word(l, "[...]");
        return KILN_OK;
    }
    if (rest) kn_layout_break(l, " "), kn_layout_word(l, "...");
    kn_layout_nest(l, -2);
    kn_layout_break(l, "");
    kn_layout_word(l, "]");
    kn_layout_close(l);
    return KILN_OK;
}

static kiln_status print_eqn(printer *p, body *b, const kn_eqn *e)
{
    body called = {0};
    const kn_param *j = e->prim->flags & KN_SHARES_NAMES ? kn_param_of(e, "jaxpr") : NULL;
    if (j && j->kind == KN_P_JAXPR && !kn_shared_name(&p->shared, j->jaxpr)) {
        const kn_jaxpr *inner = j->jaxpr;
        KILN_TRY(body_begin(p, inner, &called));
        if (kn_nargs(inner) == e->nin) KILN_TRY(follow(p, &called, inner->in + inner->nconsts, e->nin, b, e->in));
        if (inner->nout == e->nout) KILN_TRY(follow(p, &called, inner->out, e->nout, b, e->out));
    }
    if (e->nout) {
        print_atoms(p, b, e->out, e->nout, true, "");
        kn_layout_word(&p->layout, " = ");
    }
    kn_layout_word(&p->layout, e->prim->name);
    KILN_TRY(print_params(p, e, called.j ? &called : NULL));
    kn_layout_word(&p->layout, " ");
    print_atoms(p, b, e->in, e->nin, false, "");
    return KILN_OK;
}

static kiln_status print_body(printer *p, body *b)
{
    kn_layout *l = &p->layout;
    const kn_jaxpr *j = b->j;
    if (p->depth == KN_MAX_NESTING) return kn_fail(p->ctx, KILN_UNSUPPORTED, "bodies are nested more than %d deep", KN_MAX_NESTING);
    p->depth++;
    kn_layout_open(l);
    kn_layout_nest(l, 2);
    kn_layout_word(l, "{ lambda ");
    print_atoms(p, b, j->in, j->nconsts, true, "");
    kn_layout_word(l, "; ");
    print_atoms(p, b, j->in + j->nconsts, kn_nargs(j), true, "");
    kn_layout_word(l, ". let");
    kn_layout_nest(l, 2);
    kn_layout_break(l, " ");
    for (uint32_t k = 0; k < j->neqns; k++) {
        if (k) kn_layout_break(l, "; ");
        KILN_TRY(print_eqn(p, b, &j->eqns[k]));
    }
    kn_layout_nest(l, -2);
    kn_layout_break(l, " ");
    kn_layout_word(l, "in (");
    print_atoms(p, b, j->out, j->nout, false, ",");
    kn_layout_word(l, j->nout == 1 ? ",)" : ")");
    kn_layout_nest(l, -2);
    kn_layout_word(l, " }");
    kn_layout_close(l);
    p->depth--;
    return l->failed || p->piece.failed ? kn_nomem(p->ctx) : KILN_OK;
}

static kiln_status print_all(printer *p, const kn_jaxpr *j, bool is_program)
{
    body b;
    KILN_TRY(kn_shared_find(p->ctx, &p->arena, j, &p->shared));
    KILN_TRY(take_letters(p));
    p->layout.muted = p->brief;
    for (uint32_t i = 0; i < p->shared.bodies.n; i++) {
        kn_layout_word(&p->layout, "let ");
        kn_layout_word(&p->layout, p->shared.names.v[i]);
        kn_layout_word(&p->layout, " = ");
        KILN_TRY(body_begin(p, p->shared.bodies.v[i], &b));
        KILN_TRY(print_body(p, &b));
        kn_layout_word(&p->layout, " in");
        kn_layout_break(&p->layout, " "); /* in no group: always a new line */
    }
    p->layout.muted = false;
    KILN_TRY(body_begin(p, j, &b));
    if (is_program) find_unread(&b);
    return print_body(p, &b);
}

static kiln_status print_apart(kiln_ctx *ctx, const kn_jaxpr *j, bool is_program, kn_print_style style, kn_text *out)
{
    printer p = {.ctx = ctx, .old = style.old, .brief = style.brief};
    kn_arena_init(&p.arena, &ctx->alloc);
    kn_text_init(&p.piece, &ctx->alloc);
    kn_layout_init(&p.layout, &ctx->alloc, style.width, out);
    kiln_status status = print_all(&p, j, is_program);
    bool ok = kn_layout_fini(&p.layout) && !p.piece.failed;
    kn_text_fini(&p.piece);
    kn_arena_fini(&p.arena);
    return status == KILN_OK && !ok ? kn_nomem(ctx) : status;
}

kiln_status kn_print_jaxpr(kiln_ctx *ctx, const kn_jaxpr *j, kn_print_style style, kn_text *out)
{
    kn_fpmode mode = kn_fpmode_enter();
    kiln_status status = print_apart(ctx, j, true, style, out);
    kn_fpmode_leave(mode);
    return status;
}

kiln_status kiln_prog_print(kiln_ctx *ctx, const kiln_prog *p, unsigned width, char **text, size_t *n)
{
    kn_text t;
    *text = NULL;
    *n = 0;
    kn_text_init(&t, &ctx->alloc);
    kiln_status status = kn_print_jaxpr(ctx, p->main, (kn_print_style){.width = width, .old = p->old_dialect}, &t);
    kn_text_char(&t, '\n');
    if (status == KILN_OK && t.failed) status = kn_nomem(ctx);
    if (status == KILN_OK) {
        /* given away with exactly n + 1 bytes, so that kiln_text_free knows the size */
        char *s = kn_new(&ctx->alloc, t.n + 1);
        if (!s) status = kn_nomem(ctx);
        else *text = memcpy(s, t.s, *n = t.n);
    }
    kn_text_fini(&t);
    return status;
}

void kiln_text_free(kiln_ctx *ctx, char *text, size_t n) { kn_free(&ctx->alloc, text, n + 1); }
