/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of whole arrays that remain, each with its reason, told by the one who makes it. */
#include "loop/maker.h"

#include "array/text.h"

static const char *kept(maker *m, const char *text)
{
    if (!text) MAKER_TRY_MEM(m, text);
    return text ? text : "";
}

static const char *reader(maker *m, const kn_eqn *e)
{
    if (!e->loc.line) return kept(m, kn_arena_printf(m->arena, "%s reads it afterwards", e->prim->name));
    return kept(m, kn_arena_printf(m->arena, "%s reads it afterwards (%s:%u:%u)", e->prim->name, m->prog->files.v[e->loc.file], e->loc.line, e->loc.column));
}

const char *why_not_over(maker *m, frame *f, kn_atom a, const kn_eqn *e)
{
    const place *p = f->at[a];
    const kn_slot *s = &m->l->slots.v[p->slot];
    if (p->owner) return "it stands in one of two buffers that a loop exchanges";
    if (!p->owned && s->kind == KN_SLOT_INPUT) return kept(m, kn_arena_printf(m->arena, "it is input %u of the program, which is not donated", s->index));
    if (!p->owned && s->kind == KN_SLOT_CONST) return "it is a constant of the program";
    if (!p->owned) return "it belongs to what stands around this body, where it is read again";
    const int64_t last = f->plan[a].last;
    if (last == (int64_t)f->j->neqns) return "it is a result itself";
    if (last > (int64_t)f->pos) return reader(m, &f->j->eqns[last]);
    uint32_t times = 0;
    for (uint32_t i = 0; i < e->nin; i++) times += e->in[i] == a;
    return times > 1 ? "it is an operand more than once" : "another operand is computed from it";
}

void note_copy(maker *m, bool in_loop, const char *what, kiln_type type, uint32_t scope, kn_loc loc, const char *why)
{
    if (m->status != KILN_OK) return;
    kn_lcopy c = {.in_loop = in_loop, .what = what, .type = kn_arena_text(m->arena, kn_type_show(type).s), .why = why, .scope = scope, .loc = loc};
    if (!MAKER_TRY_MEM(m, c.type && c.why) || !MAKER_TRY_MEM(m, kn_push(m->arena, &m->l->copied, c))) return;
    if (in_loop) m->l->copies++;
    else m->l->exit_copies++;
}

void count_copy(maker *m, const frame *f, const kn_eqn *e, kiln_type type, const char *why)
{
    note_copy(m, f->in_loop, e->prim->name, type, e->scope, e->loc, why);
}

/* ---- text ---- */

static void put_copy(const kn_loops *l, const kn_lcopy *c, kn_text *t)
{
    if (c->loc.line) kn_text_printf(t, "%s:%u:%u: ", l->files[c->loc.file], c->loc.line, c->loc.column);
    kn_text_printf(t, "%s copies %s %s", c->what, c->type, c->in_loop ? "in each trip" : "once");
    if (c->scope && c->scope < l->n_scopes && *l->scopes[c->scope]) kn_text_printf(t, " in %s", l->scopes[c->scope]);
    kn_text_printf(t, ": %s\n", c->why);
}

kiln_status kn_loops_print_copies(kiln_ctx *ctx, const kn_loops *l, char **text, size_t *n)
{
    kn_text t;
    *text = NULL;
    *n = 0;
    kn_text_init(&t, &ctx->alloc);
    kn_text_printf(&t, "copies: %u in loops, %u outside\n", l->copies, l->exit_copies);
    for (uint32_t i = 0; i < l->copied.n; i++) put_copy(l, &l->copied.v[i], &t);
    char *s = t.failed ? NULL : kn_new_aligned(&ctx->alloc, t.n + 1, 16);
    if (s) memcpy(s, t.s, t.n + 1), *text = s, *n = t.n;
    kn_text_fini(&t);
    return s ? KILN_OK : kn_nomem(ctx);
}
