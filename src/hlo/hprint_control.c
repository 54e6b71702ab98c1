/* SPDX-License-Identifier: Apache-2.0 */
/* Loops and branches: HLO's bodies see nothing around them, so what they use goes in with a tuple. */
#include "hlo/hprint.h"

typedef struct capture {
    kn_hprint *p;
    uint32_t first; /* values from here on belong to the regions */
    bool *seen;
    kn_hcaptured found;
} capture;

static void walk(capture *c, const kn_mregion *r)
{
    for (const kn_mop *o = r->ops; o; o = o->next) {
        for (uint32_t i = 0; i < o->nin; i++) {
            uint32_t v = o->in[i];
            const kn_mop *def = c->p->def[v];
            bool constant = def && kn_span_is(def->name, "stablehlo.constant"); /* made again inside */
            if (v >= c->first || c->seen[v] || constant) continue;
            c->seen[v] = true;
            if (!kn_push(c->p->arena, &c->found.values, v)) kn_hfail(c->p, kn_nomem(c->p->ctx));
        }
        for (uint32_t i = 0; i < o->nregions; i++) walk(c, &o->regions[i]);
    }
}

static uint32_t tuple(kn_hprint *p, const uint32_t *values, uint32_t n, const char **shape)
{
    uint32_t *in = KN_NEWN(p->arena, uint32_t, n);
    if (!in) kn_hfail(p, kn_nomem(p->ctx));
    if (p->status != KILN_OK) return 0;
    for (uint32_t i = 0; i < n; i++) in[i] = kn_hvalue_at(p, values[i]);
    *shape = kn_htuple_shape(p, values, n);
    return kn_hadd(p, "tuple", *shape, in, n, "");
}

static void while_loop(kn_hprint *p, const kn_mop *o, const uint32_t *captured, uint32_t n)
{
    uint32_t all = n + o->nin, *values = KN_NEWN(p->arena, uint32_t, all);
    const char *shape = "", *percent = p->optimised ? "%" : "";
    if (!values) kn_hfail(p, kn_nomem(p->ctx));
    if (p->status != KILN_OK) return;
    for (uint32_t i = 0; i < all; i++) values[i] = i < n ? captured[i] : o->in[i - n];
    uint32_t in = tuple(p, values, all, &shape);
    const kn_hcomp *body = kn_htuple_region(p, &o->regions[1], captured, n, true), *cond = kn_htuple_region(p, &o->regions[0], captured, n, false);
    if (p->status != KILN_OK) return;
    char *attrs = kn_arena_printf(p->arena, ", condition=%s%s, body=%s%s", percent, cond->name, percent, body->name);
    if (!attrs) kn_hfail(p, kn_nomem(p->ctx));
    uint32_t k = kn_hadd(p, "while", shape, &in, 1, attrs);
    if (p->status == KILN_OK) p->c->inst.v[k].loc = o->loc;
    for (uint32_t i = 0; i < all && p->status == KILN_OK; i++) { /* of what only goes in, too: read back, it is a carry like the others */
        char *index = kn_arena_printf(p->arena, ", index=%u", i);
        if (!index) kn_hfail(p, kn_nomem(p->ctx));
        uint32_t at = kn_hadd(p, "get-tuple-element", kn_hshape_of(p, &values[i], 1), &k, 1, index);
        if (i >= n) p->at[o->out + i - n] = at + 1;
    }
}

static void branches(kn_hprint *p, const kn_mop *o, const uint32_t *captured, uint32_t n)
{
    const char *shape = "", *percent = p->optimised ? "%" : "";
    bool choice = kn_span_is(o->name, "stablehlo.if");
    uint32_t *in = KN_NEWN(p->arena, uint32_t, 1 + (size_t)o->nregions), *out = KN_NEWN(p->arena, uint32_t, o->nout);
    kn_text t;
    if (!in || !out) kn_hfail(p, kn_nomem(p->ctx));
    if (p->status != KILN_OK) return;
    in[0] = kn_hvalue_at(p, o->in[0]);
    uint32_t arg = tuple(p, captured, n, &shape);
    kn_text_init(&t, &p->ctx->alloc);
    if (!choice) kn_text_add(&t, ", branch_computations={");
    for (uint32_t i = 0; i < o->nregions && p->status == KILN_OK; i++) {
        const kn_hcomp *c = kn_htuple_region(p, &o->regions[i], captured, n, false);
        in[1 + i] = arg;
        if (choice) kn_text_printf(&t, ", %s=", i ? "false_computation" : "true_computation");
        else if (i) kn_text_add(&t, ", ");
        kn_text_printf(&t, "%s%s", percent, c ? c->name : "");
    }
    if (!choice) kn_text_char(&t, '}');
    for (uint32_t i = 0; i < o->nout; i++) out[i] = o->out + i;
    uint32_t k = kn_hadd(p, "conditional", kn_hshape_of(p, out, o->nout), in, 1 + o->nregions, kn_hkeep(p, &t));
    kn_text_fini(&t);
    if (p->status != KILN_OK) return;
    p->c->inst.v[k].loc = o->loc;
    kn_hset_results(p, o, k);
}

kn_hcaptured kn_hcaptured_by(kn_hprint *p, const kn_mop *o)
{
    capture c = {.p = p, .first = o->nregions ? o->regions[0].first : 0};
    if (o->nregions && !(c.seen = KN_NEWN(p->arena, bool, p->f->nvalues))) kn_hfail(p, kn_nomem(p->ctx));
    for (uint32_t i = 0; i < o->nregions && p->status == KILN_OK; i++) walk(&c, &o->regions[i]);
    return c.found;
}

void kn_hcontrol(kn_hprint *p, const kn_mop *o)
{
    kn_hcaptured c = kn_hcaptured_by(p, o);
    if (p->status != KILN_OK) return;
    if (kn_span_is(o->name, "stablehlo.while")) while_loop(p, o, c.values.v, c.values.n);
    else branches(p, o, c.values.v, c.values.n);
}
