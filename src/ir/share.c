/* SPDX-License-Identifier: Apache-2.0 */
/* Which bodies of a program are printed once under a name. A body counts once for each way that leads to it; bodies are met
 * breadth first, which is the order of their definitions, and are named after the equation that is met first. */
#include "ir/print.h"

enum { LONG_BODY = 10, ENOUGH = 2 }; /* after two visits everything below has been met twice: more would tell nothing new */

typedef struct entry {
    const kn_jaxpr *body;
    const char *name; /* of the equation met first; NULL: it has none */
    uint32_t n;
} entry;

typedef struct finder {
    kiln_ctx *ctx;
    kn_arena *arena;
    KN_VEC(entry) met;        /* in order of the first visit */
    uint32_t *slots, n_slots; /* hash table: index into met + 1, 0 empty */
    KN_VEC(uint32_t) queue;   /* indices into met */
    const char *name;         /* of the equation whose bodies are being visited */
    kiln_status status;
} finder;

static uint32_t first_slot(const kn_jaxpr *body, uint32_t n_slots)
{
    uint64_t h = (uint64_t)(uintptr_t)body * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32) & (n_slots - 1);
}

static uint32_t slot_of(const finder *f, const kn_jaxpr *body)
{
    uint32_t k = first_slot(body, f->n_slots);
    while (f->slots[k] && f->met.v[f->slots[k] - 1].body != body) k = (k + 1) & (f->n_slots - 1);
    return k;
}

static bool grow(finder *f)
{
    if (f->met.n * 2 < f->n_slots) return true;
    f->n_slots = f->n_slots ? f->n_slots * 2 : 64;
    f->slots = KN_NEWN(f->arena, uint32_t, f->n_slots);
    if (!f->slots) return false;
    for (uint32_t i = 0; i < f->met.n; i++) f->slots[slot_of(f, f->met.v[i].body)] = i + 1;
    return true;
}

static void meet(finder *f, const kn_jaxpr *body)
{
    if (f->status != KILN_OK) return;
    bool ok = grow(f);
    uint32_t k = ok ? slot_of(f, body) : 0;
    if (ok && !f->slots[k]) {
        entry e = {.body = body, .name = f->name};
        ok = kn_push(f->arena, &f->met, e);
        if (ok) f->slots[k] = f->met.n;
    }
    if (ok && !f->met.v[f->slots[k] - 1].name) f->met.v[f->slots[k] - 1].name = f->name;
    ok = ok && kn_push(f->arena, &f->queue, f->slots[k] - 1);
    if (!ok) f->status = kn_nomem(f->ctx);
}

/* The called function's name without the angle brackets of <lambda>, or NULL. */
static kiln_status name_of(finder *f, const kn_eqn *e)
{
    const kn_param *p = kn_param_of(e, "jaxpr") ? kn_param_of(e, "name") : NULL; /* jit, pjit */
    f->name = NULL;
    if (!p || p->kind != KN_P_TEXT) return KILN_OK;
    const char *s = p->text + strspn(p->text, "<>");
    size_t n = strlen(s);
    while (n && (s[n - 1] == '<' || s[n - 1] == '>')) n--;
    KILN_TRY_MEM(f->ctx, f->name = kn_arena_textn(f->arena, s, n));
    return KILN_OK;
}

static void meet_param(finder *f, const kn_param *p)
{
    if (p->kind == KN_P_JAXPR) meet(f, p->jaxpr);
    else if (p->kind == KN_P_TUPLE || p->kind == KN_P_RECORD)
        for (uint32_t i = 0; i < p->n; i++) meet_param(f, &p->items[i]);
}

static kiln_status visit(finder *f, const kn_jaxpr *j)
{
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        bool any = false;
        for (uint32_t i = 0; i < e->prim->nparams; i++) any |= e->params[i].kind >= KN_P_TUPLE;
        if (!any) continue;
        KILN_TRY(name_of(f, e));
        for (unsigned first = KN_PARAM_FIRST;; first = 0) {
            for (uint32_t i = 0; i < e->prim->nparams; i++)
                if ((e->prim->params[i].flags & KN_PARAM_FIRST) == first && !(e->prim->params[i].flags & KN_PARAM_RULE)) meet_param(f, &e->params[i]);
            if (!first) break;
        }
        KILN_TRY(f->status);
    }
    return KILN_OK;
}

/* Names that could not be read back are not used. */
static bool readable(const char *name)
{
    static const char marks[] = "_.- ";
    bool first = true;
    for (const char *s = name; *s; s++, first = false) {
        bool letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_' || (unsigned char)*s >= 128;
        if (!letter && (first || !((*s >= '0' && *s <= '9') || strchr(marks, *s)))) return false;
    }
    size_t n = strlen(name);
    return n > 0 && name[n - 1] != ' ' && name[n - 1] != '-' && name[n - 1] != '.' && strcmp(name, "None") != 0 && strcmp(name, "True") != 0 &&
           strcmp(name, "False") != 0;
}

static bool taken(const kn_shared *s, const char *name)
{
    for (uint32_t i = 0; i < s->names.n; i++)
        if (strcmp(s->names.v[i], name) == 0) return true;
    return false;
}

/* A name not taken yet: the bare one first, then with a count. */
static kiln_status name_body(finder *f, const kn_shared *s, const char *name, const char **out)
{
    *out = name;
    for (uint32_t k = 1; taken(s, *out); k++) KILN_TRY_MEM(f->ctx, *out = kn_arena_printf(f->arena, "%s%u", name, k));
    return KILN_OK;
}

static kiln_status index_bodies(finder *f, kn_shared *s)
{
    s->n_slots = 16;
    while (s->n_slots < 2 * s->bodies.n) s->n_slots *= 2;
    KILN_TRY_MEM(f->ctx, s->slots = KN_NEWN(f->arena, uint32_t, s->n_slots));
    for (uint32_t i = 0; i < s->bodies.n; i++) {
        uint32_t k = first_slot(s->bodies.v[i], s->n_slots);
        while (s->slots[k]) k = (k + 1) & (s->n_slots - 1);
        s->slots[k] = i + 1;
    }
    return KILN_OK;
}

kiln_status kn_shared_find(kiln_ctx *ctx, kn_arena *arena, const kn_jaxpr *main, kn_shared *out)
{
    finder f = {.ctx = ctx, .arena = arena};
    *out = (kn_shared){0};
    KILN_TRY(visit(&f, main));
    for (uint32_t at = 0; at < f.queue.n; at++) {
        entry *e = &f.met.v[f.queue.v[at]];
        if (e->n == ENOUGH) continue;
        e->n++;
        KILN_TRY(visit(&f, e->body));
    }
    for (uint32_t i = 0; i < f.met.n; i++) {
        const entry *e = &f.met.v[i];
        if (e->n < ENOUGH && e->body->neqns <= LONG_BODY) continue;
        const char *name;
        KILN_TRY(name_body(&f, out, e->name && readable(e->name) ? e->name : "jaxpr", &name));
        KILN_TRY_MEM(ctx, kn_push(arena, &out->bodies, e->body) && kn_push(arena, &out->names, name));
    }
    return index_bodies(&f, out);
}

const char *kn_shared_name(const kn_shared *s, const kn_jaxpr *body)
{
    for (uint32_t k = first_slot(body, s->n_slots); s->slots[k]; k = (k + 1) & (s->n_slots - 1))
        if (s->bodies.v[s->slots[k] - 1] == body) return s->names.v[s->slots[k] - 1];
    return NULL;
}
