/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a program that fails a check smaller while it still fails: outputs are left out, equations become inputs with the values
 * that the interpreter gave, or give way to an operand or to zeros, bodies are inlined, carries become constants. */
#ifndef KN_SHRINK_H
#define KN_SHRINK_H

#include "ir/prim.h"
#include "prim/control.h"

#include <stdio.h>
#include <stdlib.h>

enum { SHRINK_INPUTS = 400 };

typedef struct shrink_case {
    kiln_prog *p;
    kiln_array *in[SHRINK_INPUTS]; /* all owned */
    uint32_t nin;
} shrink_case;

static void shrink_release(shrink_case *c)
{
    for (uint32_t i = 0; i < c->nin; i++) kiln_array_release(c->in[i]);
    kiln_prog_release(c->p);
    *c = (shrink_case){0};
}

typedef enum shrink_kind {
    SHRINK_DEAD,    /* only what is used stays */
    SHRINK_OUTPUTS, /* output `variant` alone */
    SHRINK_INPUT,   /* equation `target` of the top becomes inputs */
    SHRINK_OPERAND, /* equation `target` anywhere: an operand of the same type, or zeros */
    SHRINK_INLINE,  /* equation `target` anywhere: its body number `variant`, once */
    SHRINK_CARRY    /* loop `target`: carry `variant` stays as it was */
} shrink_kind;

typedef struct shrink {
    kiln_ctx *ctx;
    shrink_kind kind;
    uint32_t target, variant, seen;
    bool done; /* the edit found its place */
    kiln_status status;
    kiln_array *const *values; /* of the top's variables */
    const shrink_case *from;
    shrink_case *into;
} shrink;

static const kn_jaxpr *shrink_jaxpr(shrink *s, const kn_jaxpr *j, bool top);

static void shrink_note(shrink *s, kiln_status status)
{
    if (s->status == KILN_OK) s->status = status;
}

static kn_atom shrink_zeros(shrink *s, kn_build *b, kiln_type t)
{
    kn_atom a = 0;
    shrink_note(s, kn_build_literal(b, t.dtype, (kn_scalar){.u = 0}, &a));
    if (t.rank == 0 || s->status != KILN_OK) return a;
    kn_param p[] = {KN_INTS(0, NULL), KN_INTS(t.rank, t.dims), KN_NONE};
    shrink_note(s, kn_build_eqn(b, kn_prim_find("broadcast_in_dim", 16), p, &a, 1, &a, 1));
    return a;
}

static bool shrink_body(const kn_param *p, uint32_t *k, const kn_jaxpr **out)
{
    if (p->kind == KN_P_JAXPR && (*k)-- == 0) {
        *out = p->jaxpr;
        return true;
    }
    for (uint32_t i = 0; (p->kind == KN_P_TUPLE || p->kind == KN_P_RECORD) && i < p->n; i++)
        if (shrink_body(&p->items[i], k, out)) return true;
    return false;
}

/* Body k of an equation that may be replaced by one run of it. */
static const kn_jaxpr *shrink_inlined(const kn_eqn *e, uint32_t k)
{
    const kn_jaxpr *body = NULL;
    if (strcmp(e->prim->name, "scan") == 0) return NULL;
    if (strcmp(e->prim->name, "while") == 0) return k == 0 ? kn_param_of(e, "body_jaxpr")->jaxpr : NULL;
    for (uint32_t i = 0; i < e->prim->nparams; i++)
        if (shrink_body(&e->params[i], &k, &body)) return body;
    return NULL;
}

static void shrink_inline(shrink *s, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_jaxpr *body, kn_atom *map)
{
    bool loop = strcmp(e->prim->name, "while") == 0, branch = strcmp(e->prim->name, "cond") == 0;
    uint32_t skip = loop ? (uint32_t)kn_param_of(e, "cond_nconsts")->i : branch;
    const kn_jaxpr *own = NULL;
    s->status = s->status == KILN_OK ? kn_jaxpr_copy(s->ctx, b->prog, body, &own) : s->status;
    kn_atom *inner = calloc((size_t)body->nvars + 1, sizeof *inner);
    for (uint32_t i = 0; i < body->nin && s->status == KILN_OK; i++) {
        if (i < body->nconsts) shrink_note(s, kn_build_const(b, body->consts[i], &inner[own->in[i]]));
        else inner[own->in[i]] = kn_build_map(b, j, e->in[skip + i - body->nconsts], map, &s->status);
    }
    for (uint32_t k = 0; own && k < own->neqns && s->status == KILN_OK; k++) shrink_note(s, kn_build_copy(b, own, &own->eqns[k], inner));
    for (uint32_t i = 0; i < e->nout && s->status == KILN_OK; i++) map[e->out[i]] = kn_build_map(b, own, own->out[i], inner, &s->status);
    free(inner);
}

/* The jaxpr with its result k gone. */
static const kn_jaxpr *shrink_without_result(shrink *s, const kn_jaxpr *j, uint32_t k)
{
    kn_jaxpr *c = KN_NEW(&s->into->p->arena, kn_jaxpr);
    kn_atom *out = KN_NEWN(&s->into->p->arena, kn_atom, j->nout);
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->nout; i++)
        if (i != k) out[n++] = j->out[i];
    *c = *j;
    c->out = out, c->nout = n;
    return c;
}
/* The jaxpr with argument k moved to the front (after its constants). */
static const kn_jaxpr *shrink_first_argument(shrink *s, const kn_jaxpr *j, uint32_t k)
{
    kn_jaxpr *c = KN_NEW(&s->into->p->arena, kn_jaxpr);
    kn_atom *in = KN_NEWN(&s->into->p->arena, kn_atom, j->nin);
    memcpy(in, j->in, j->nin * sizeof *in);
    memmove(in + j->nconsts + 1, in + j->nconsts, k * sizeof *in);
    in[j->nconsts] = j->in[j->nconsts + k];
    *c = *j;
    c->in = in;
    return c;
}

/* Carry v of a while loop becomes a constant of both bodies. */
static bool shrink_carry(shrink *s, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, uint32_t v, kn_atom *map)
{
    if (strcmp(e->prim->name, "while") != 0 || v >= e->nout || e->nout < 2) return false;
    uint32_t nc = (uint32_t)kn_param_of(e, "cond_nconsts")->i, nb = (uint32_t)kn_param_of(e, "body_nconsts")->i, k = 0;
    const kn_jaxpr *cond = shrink_first_argument(s, kn_param_of(e, "cond_jaxpr")->jaxpr, nc + v);
    const kn_jaxpr *body = shrink_first_argument(s, kn_param_of(e, "body_jaxpr")->jaxpr, nb + v), *own[2] = {NULL, NULL};
    body = shrink_without_result(s, body, v);
    shrink_note(s, kn_jaxpr_copy(s->ctx, b->prog, cond, &own[0]));
    shrink_note(s, kn_jaxpr_copy(s->ctx, b->prog, body, &own[1]));
    kn_atom *in = calloc(e->nin + 2, sizeof *in), *out = calloc(e->nout + 1, sizeof *out);
    kn_atom kept = kn_build_map(b, j, e->in[nc + nb + v], map, &s->status);
    in[k++] = kept;
    for (uint32_t i = 0; i < nc; i++) in[k++] = kn_build_map(b, j, e->in[i], map, &s->status);
    in[k++] = kept;
    for (uint32_t i = 0; i < nb + e->nout; i++)
        if (i != nb + v) in[k++] = kn_build_map(b, j, e->in[nc + i], map, &s->status);
    kn_param p[KN_WHILE_PARAMS] = {KN_JAXPR(own[1]), KN_INT(nb + 1), KN_JAXPR(own[0]), KN_INT(nc + 1)};
    kn_while_keep(p, e);
    if (s->status == KILN_OK) shrink_note(s, kn_build_eqn(b, e->prim, p, in, k, out, e->nout - 1));
    for (uint32_t i = 0; i < e->nout; i++) map[e->out[i]] = i == v ? kept : out[i - (i > v)];
    free(in);
    free(out);
    return true;
}

/* Equation e with its bodies edited. */
static void shrink_params(shrink *s, kn_arena *arena, const kn_param *p, kn_param *out)
{
    *out = *p;
    if (p->kind == KN_P_JAXPR) out->jaxpr = shrink_jaxpr(s, p->jaxpr, false);
    if (p->kind != KN_P_TUPLE && p->kind != KN_P_RECORD) return;
    kn_param *items = KN_NEWN(arena, kn_param, p->n);
    for (uint32_t i = 0; i < p->n; i++) shrink_params(s, arena, &p->items[i], &items[i]);
    out->items = items;
}

static void shrink_eqn(shrink *s, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, kn_atom *map, bool top)
{
    bool here = s->seen++ == s->target && !s->done;
    const kn_jaxpr *body = NULL;
    if (here && s->kind == SHRINK_INPUT && top && s->into->nin + e->nout < SHRINK_INPUTS) {
        for (uint32_t i = 0; i < e->nout; i++) {
            shrink_note(s, kn_build_input(b, kn_type_of(j, e->out[i]), &map[e->out[i]]));
            s->into->in[s->into->nin++] = kiln_array_retain(s->values[e->out[i]]);
        }
        s->done = true;
        return;
    }
    if (here && s->kind == SHRINK_OPERAND) {
        for (uint32_t i = 0; i < e->nout; i++) {
            kn_atom a = 0;
            bool found = false;
            for (uint32_t k = 0; k < e->nin && !found; k++) {
                found = kiln_type_equal(kn_type_of(j, e->in[k]), kn_type_of(j, e->out[i]));
                if (found) a = kn_build_map(b, j, e->in[k], map, &s->status);
            }
            bool zeros = strcmp(e->prim->name, "broadcast_in_dim") == 0 && kn_is_literal(e->in[0]); /* small already */
            map[e->out[i]] = found ? a : shrink_zeros(s, b, kn_type_of(j, e->out[i]));
            s->done = s->done || !zeros;
        }
        return;
    }
    if (here && s->kind == SHRINK_INLINE && (body = shrink_inlined(e, s->variant))) {
        shrink_inline(s, b, j, e, body, map);
        s->done = true;
        return;
    }
    if (here && s->kind == SHRINK_CARRY && shrink_carry(s, b, j, e, s->variant, map)) {
        s->done = true;
        return;
    }
    kn_eqn copy = *e;
    kn_param *params = KN_NEWN(&b->prog->arena, kn_param, e->prim->nparams);
    for (uint32_t i = 0; i < e->prim->nparams; i++) shrink_params(s, &b->prog->arena, &e->params[i], &params[i]);
    copy.params = params;
    if (s->status == KILN_OK) shrink_note(s, kn_build_copy(b, j, &copy, map));
}

static bool *shrink_live(const kn_jaxpr *j, uint32_t only)
{
    bool *live = calloc((size_t)j->nvars + 1, sizeof *live);
    for (uint32_t i = 0; i < j->nout; i++)
        if (!kn_is_literal(j->out[i]) && (only == UINT32_MAX || only == i)) live[j->out[i]] = true;
    for (uint32_t k = j->neqns; k-- > 0;) {
        const kn_eqn *e = &j->eqns[k];
        bool used = false;
        for (uint32_t i = 0; i < e->nout; i++) used = used || live[e->out[i]];
        for (uint32_t i = 0; used && i < e->nin; i++)
            if (!kn_is_literal(e->in[i])) live[e->in[i]] = true;
    }
    return live;
}

static const kn_jaxpr *shrink_jaxpr(shrink *s, const kn_jaxpr *j, bool top)
{
    kn_build b;
    const kn_jaxpr *result = NULL;
    uint32_t only = top && s->kind == SHRINK_OUTPUTS ? s->variant : UINT32_MAX;
    bool *live = shrink_live(j, only);
    kn_atom *map = calloc((size_t)j->nvars + 1, sizeof *map);
    kn_build_init(&b, s->ctx, s->into->p);
    for (uint32_t i = 0; i < j->nin; i++) {
        bool constant = i < j->nconsts;
        if ((top || constant) && !live[j->in[i]]) continue; /* an input that nobody reads goes, and its value */
        if (top && !constant) s->into->in[s->into->nin++] = kiln_array_retain(s->from->in[i - j->nconsts]);
        if (constant) shrink_note(s, kn_build_const(&b, j->consts[i], &map[j->in[i]]));
        else shrink_note(s, kn_build_input(&b, kn_type_of(j, j->in[i]), &map[j->in[i]]));
    }
    for (uint32_t k = 0; k < j->neqns && s->status == KILN_OK; k++) {
        bool used = false;
        for (uint32_t i = 0; i < j->eqns[k].nout; i++) used = used || live[j->eqns[k].out[i]];
        if (used) shrink_eqn(s, &b, j, &j->eqns[k], map, top);
    }
    kn_atom *out = KN_NEWN(&s->into->p->arena, kn_atom, j->nout);
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->nout && s->status == KILN_OK; i++)
        if (only == UINT32_MAX || only == i) out[n++] = kn_build_map(&b, j, j->out[i], map, &s->status);
    if (s->status == KILN_OK) shrink_note(s, kn_build_finish(&b, out, n, &result));
    free(live);
    free(map);
    return result;
}

/* The edited case, or false when the edit has no place or makes no program. */
static bool shrink_edit(kiln_ctx *ctx, const shrink_case *from, kiln_array *const *values, shrink_kind kind, uint32_t target, uint32_t variant,
                        shrink_case *into)
{
    *into = (shrink_case){0};
    shrink s = {.ctx = ctx, .kind = kind, .target = target, .variant = variant, .values = values, .from = from, .into = into};
    if (kn_prog_new(ctx, NULL, &into->p) != KILN_OK) return false;
    into->p->main = shrink_jaxpr(&s, from->p->main, true);
    bool placed = s.done || kind == SHRINK_DEAD || kind == SHRINK_OUTPUTS;
    if (s.status == KILN_OK && placed && kn_verify(ctx, into->p) == KILN_OK) return true;
    shrink_release(into);
    return false;
}

/* Values of all variables of the top, by the interpreter; NULL where there is none. */
static kiln_array **shrink_values(kiln_ctx *ctx, const shrink_case *c)
{
    const kn_jaxpr *j = c->p->main;
    kiln_array **values = calloc((size_t)j->nvars + 1, sizeof *values), **got = calloc((size_t)j->nvars + 1, sizeof *got);
    kn_jaxpr all = *j;
    kn_atom *out = calloc((size_t)j->nvars + 1, sizeof *out);
    kiln_prog p = {.level = c->p->level, .scopes = c->p->scopes, .files = c->p->files};
    all.nout = 0;
    for (uint32_t k = 0; k < j->neqns; k++)
        for (uint32_t i = 0; i < j->eqns[k].nout; i++) out[all.nout++] = j->eqns[k].out[i];
    all.out = out;
    memcpy(&p.main, &(const kn_jaxpr *){&all}, sizeof p.main);
    if (kiln_prog_eval(ctx, &p, c->in, got) == KILN_OK)
        for (uint32_t i = 0; i < all.nout; i++) values[out[i]] = got[i];
    free(out);
    free(got);
    return values;
}

typedef bool (*shrink_fails)(void *ud, const kiln_prog *p, kiln_array *const *in);

static bool shrink_try(kiln_ctx *ctx, shrink_case *c, kiln_array *const *values, shrink_kind kind, uint32_t target, uint32_t variant,
                       shrink_fails fails, void *ud)
{
    shrink_case next, clean;
    if (!shrink_edit(ctx, c, values, kind, target, variant, &next)) return false;
    if (shrink_edit(ctx, &next, NULL, SHRINK_DEAD, 0, 0, &clean)) {
        shrink_release(&next);
        next = clean;
    }
    if (!fails(ud, next.p, next.in)) {
        shrink_release(&next);
        return false;
    }
    shrink_release(c);
    *c = next;
    return true;
}

/* One round of each edit; true when something became smaller. */
static bool shrink_round(kiln_ctx *ctx, shrink_case *c, shrink_fails fails, void *ud)
{
    bool any = false;
    for (uint32_t i = c->p->main->nout; c->p->main->nout > 1 && i-- > 0;)
        if (shrink_try(ctx, c, NULL, SHRINK_OUTPUTS, i, i, fails, ud)) any = true;
    for (int kind = SHRINK_INPUT; kind <= SHRINK_CARRY; kind++) {
        kiln_array **values = NULL;
        uint32_t nvars = 0;
        for (uint32_t t = (uint32_t)kn_jaxpr_count(c->p->main); t-- > 0;) {
            for (uint32_t v = kind < SHRINK_INLINE ? 1 : 8; v-- > 0;) {
                if (kind == SHRINK_INPUT && !values) nvars = c->p->main->nvars, values = shrink_values(ctx, c);
                if (!shrink_try(ctx, c, values, (shrink_kind)kind, t, v, fails, ud)) continue;
                any = true;
                for (uint32_t i = 0; values && i < nvars; i++) kiln_array_release(values[i]);
                free(values);
                values = NULL;
                break;
            }
        }
        for (uint32_t i = 0; values && i < nvars; i++) kiln_array_release(values[i]);
        free(values);
    }
    return any;
}

/* Takes over the program and its inputs. */
static void shrink_program(kiln_ctx *ctx, shrink_case *c, shrink_fails fails, void *ud)
{
    for (int round = 0; round < 12 && shrink_round(ctx, c, fails, ud); round++) continue;
}

#endif
