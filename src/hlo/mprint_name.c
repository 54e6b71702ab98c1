/* SPDX-License-Identifier: Apache-2.0 */
/* Names of values, numbered as MLIR's printer does it: all of a block first, then the regions inside of it, each of which goes on
 * from where the block ended and forgets its names at its end. */
#include "hlo/mprint.h"

enum { BASES = 7 };
static const char *const bases[BASES] = {"c", "cst", "iterArg", "values", "indices", "output_state", "output"};

/* The first one visible has the bare name; others count on. */
static const char *unique(kn_mprint *p, const char *name)
{
    unsigned bit = 0;
    for (unsigned i = 0; i < BASES; i++)
        if (strcmp(bases[i], name) == 0) bit = 1u << i;
    bool taken = (p->used & bit) != 0;
    p->used |= bit;
    const char *own = taken ? kn_arena_printf(p->arena, "%s_%u", name, p->next_conflict++) : name;
    if (!own) p->failed = true;
    return own ? own : "";
}

static void number(kn_mprint *p, uint32_t value)
{
    const char *name = kn_arena_printf(p->arena, "%u", p->next_value++);
    if (!name) p->failed = true;
    p->names[value] = name ? name : "";
}

static void argument(kn_mprint *p, uint32_t value)
{
    const char *name = kn_arena_printf(p->arena, "arg%u", p->next_arg++);
    if (!name) p->failed = true;
    p->names[value] = name ? name : "";
}

static void results(kn_mprint *p, const kn_mop *o)
{
    static const struct {
        const char *op, *names[2];
    } known[] = {{"chlo.top_k", {"values", "indices"}}, {"stablehlo.rng_bit_generator", {"output_state", "output"}}};
    for (uint32_t i = 0; i < o->nout; i++) p->first[o->out + i] = o->out + i;
    if (!o->nout) return;
    if (kn_span_is(o->name, "stablehlo.constant")) {
        const kn_mtype *t = p->f->values[o->out].type;
        bool integer = t->kind == KN_MT_TENSOR && strchr("biu", kiln_dtype_kind(t->type.dtype));
        p->names[o->out] = unique(p, integer ? "c" : "cst");
        return;
    }
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (kn_span_is(o->name, known[k].op) && o->nout == 2) {
            for (uint32_t i = 0; i < 2; i++) p->names[o->out + i] = unique(p, known[k].names[i]);
            return;
        }
    number(p, o->out);
    for (uint32_t i = 0; o->nout > 1 && i < o->nout; i++) {
        p->names[o->out + i] = p->names[o->out];
        p->first[o->out + i] = o->out;
        p->several[o->out + i] = true;
    }
}

static void region(kn_mprint *p, const kn_mregion *r, const kn_mop *owner)
{
    uint32_t value = p->next_value, arg = p->next_arg, conflict = p->next_conflict;
    unsigned used = p->used;
    bool loop = owner && kn_span_is(owner->name, "stablehlo.while");
    for (uint32_t i = 0; i < r->nargs; i++) {
        if (loop) p->names[r->args + i] = unique(p, "iterArg");
        else argument(p, r->args + i);
    }
    for (const kn_mop *o = r->ops; o; o = o->next) results(p, o);
    for (const kn_mop *o = r->ops; o; o = o->next)
        for (uint32_t i = 0; i < o->nregions; i++) region(p, &o->regions[i], o);
    p->next_value = value, p->next_arg = arg, p->next_conflict = conflict;
    p->used = used;
}

void kn_mprint_names(kn_mprint *p, const kn_mfunc *f)
{
    p->f = f;
    p->names = kn_arena_newn(p->arena, f->nvalues, sizeof *p->names);
    p->first = KN_NEWN(p->arena, uint32_t, f->nvalues);
    p->several = KN_NEWN(p->arena, bool, f->nvalues);
    p->next_value = p->next_arg = p->next_conflict = 0;
    p->used = 0;
    p->failed = p->failed || !p->names || !p->first || !p->several;
    if (!p->failed) region(p, &f->body, NULL);
}
