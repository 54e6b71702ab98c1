/* SPDX-License-Identifier: Apache-2.0 */
/* Loop carries that begin as a number without a type. In the body such a carry is open: a scalar whose element type is not known yet, so that
 * f64 stands in its place. What elementwise operations make of it and of numbers is open with it. The first value with a type that one of
 * them meets gives all of them its type, in the equations that were appended meanwhile too; so a body is traced once.
 *
 *     scan from the number 1: next = carry * 2 + x, x f32    carry and its double become f32 where x is added */
#include "trace/trace.h"

#include "base/fpmode.h"

static const kiln_dtype STANDS_IN = KILN_F64;

typedef struct open_literal {
    kn_build *b;
    uint32_t at; /* of b's literals */
    double number;
} open_literal;

struct kn_topen {
    kn_topen *into; /* NULL, or what it became one with */
    double number;  /* that the carry begins as */
    kiln_dtype dtype;
    bool known;
    KN_VEC(uint32_t) vals;
    KN_VEC(open_literal) lits;
    KN_VEC(double) numbers; /* of all carries */
};

static kn_topen *top(kn_topen *g)
{
    while (g && g->into) g = g->into;
    return g;
}

kn_topen *kn_topen_of(const kiln_trace *t, kiln_val v)
{
    kn_topen *g = top(kn_tval_of(t, v)->open);
    return g && !g->known ? g : NULL;
}

kiln_dtype kn_topen_dtype(kn_topen *g) { return top(g)->dtype; }
bool kn_topen_known(kn_topen *g) { return top(g)->known; }

static void out_of_memory(kiln_trace *t) { kn_tstatus(t, kn_nomem(t->ctx), (kn_site){0}); }

kn_topen *kn_topen_new(kiln_trace *t, double number)
{
    kn_topen *g = KN_NEW(&t->arena, kn_topen);
    if (!g || !kn_push(&t->arena, &g->numbers, number)) {
        out_of_memory(t);
        return NULL;
    }
    g->number = number;
    g->dtype = STANDS_IN;
    return g;
}

void kn_topen_join(kiln_trace *t, kn_topen *g, kiln_val v)
{
    if (t->failed) return;
    g = top(g);
    t->vals.v[v.id - 1].open = g;
    if (!kn_push(&t->arena, &g->vals, v.id)) out_of_memory(t);
}

void kn_topen_literals(kiln_trace *t, kn_topen *g, kn_build *b, const kn_atom *in, uint32_t n)
{
    for (uint32_t i = 0; i < n && !t->failed; i++) {
        if (!kn_is_literal(in[i]) || b->lits.v[kn_literal_index(in[i])].dtype != STANDS_IN) continue;
        uint32_t at = kn_literal_index(in[i]);
        if (!kn_push(&t->arena, &top(g)->lits, (open_literal){b, at, b->lits.v[at].value.f})) out_of_memory(t);
    }
}

static kn_topen *merge(kiln_trace *t, kn_topen *a, kn_topen *b)
{
    if (!a || !b || a == b) return a ? a : b;
    bool ok = true;
    for (uint32_t i = 0; ok && i < b->vals.n; i++) ok = kn_push(&t->arena, &a->vals, b->vals.v[i]);
    for (uint32_t i = 0; ok && i < b->lits.n; i++) ok = kn_push(&t->arena, &a->lits, b->lits.v[i]);
    for (uint32_t i = 0; ok && i < b->numbers.n; i++) ok = kn_push(&t->arena, &a->numbers, b->numbers.v[i]);
    if (!ok) out_of_memory(t);
    b->into = a;
    return a;
}

/* Do the equations of b stand with the types that its variables have now? The first that does not is *wrong. */
static kiln_status check(kiln_trace *t, const kn_build *b, const kn_eqn **wrong)
{
    *wrong = NULL;
    for (uint32_t k = 0; k < b->eqns.n; k++) {
        const kn_eqn *e = &b->eqns.v[k];
        kiln_type few[8];
        if (e->nin > 8 || !(e->prim->flags & KN_ELEMENTWISE)) continue;
        for (uint32_t i = 0; i < e->nin; i++) few[i] = kn_build_type(b, e->in[i]);
        kn_typing y = {.ctx = t->ctx, .arena = &t->arena, .prim = e->prim, .params = e->params, .in = few, .nin = e->nin};
        kiln_diag before = t->ctx->error;
        kiln_status s = e->prim->type(&y);
        if (s == KILN_NOMEM) return s;
        bool fits = s == KILN_OK && y.nout == e->nout;
        for (uint32_t i = 0; fits && i < e->nout; i++) fits = kiln_type_equal(y.out[i], b->vars.v[e->out[i]].type);
        t->ctx->error = before;
        if (!fits) {
            *wrong = e;
            return KILN_OK;
        }
    }
    return KILN_OK;
}

static bool numbers_fit(kiln_trace *t, const kn_topen *g, kiln_dtype d, kn_site site)
{
    kn_scalar s;
    for (uint32_t i = 0; i < g->numbers.n + g->lits.n; i++) {
        double v = i < g->numbers.n ? g->numbers.v[i] : g->lits.v[i - g->numbers.n].number;
        if (kn_tnumber_fits(v, d, &s)) continue;
        kn_type_text text;
        kiln_val number = kiln_num(t, v);
        kn_tfail(t, KILN_DTYPE, "a number of that type, or kiln_scalar, which gives the carry another one", site,
                 "a loop's carry becomes %s here, and %s is no %s", kiln_dtype_name(d), kn_tshow(t, number, &text), kiln_dtype_name(d));
        return false;
    }
    return true;
}

void kn_topen_close(kiln_trace *t, kn_topen *g, kiln_dtype d, kn_site site)
{
    const kn_eqn *wrong = NULL;
    kn_scalar s;
    g = top(g);
    if (t->failed || g->known || !numbers_fit(t, g, d, site)) return;
    for (uint32_t i = 0; i < g->vals.n; i++) {
        kn_tval *x = &t->vals.v[g->vals.v[i] - 1];
        x->type.dtype = x->frame->b.vars.v[x->atom].type.dtype = d;
    }
    for (uint32_t i = 0; i < g->lits.n; i++) {
        const open_literal *l = &g->lits.v[i];
        if (!kn_tnumber_fits(l->number, d, &s)) continue;
        kn_fpmode mode = kn_fpmode_enter();
        l->b->lits.v[l->at] = (kn_lit){.dtype = d, .value = kn_scalar_round(d, s)};
        kn_fpmode_leave(mode);
    }
    g->dtype = d;
    g->known = true;
    for (uint32_t i = 0; i < g->vals.n && !wrong && !t->failed; i++) {
        const kn_tframe *f = t->vals.v[g->vals.v[i] - 1].frame;
        bool seen = false;
        for (uint32_t k = 0; k < i && !seen; k++) seen = t->vals.v[g->vals.v[k] - 1].frame == f;
        if (!seen) kn_tstatus(t, check(t, &f->b, &wrong), site);
    }
    if (wrong)
        kn_tfail(t, KILN_DTYPE, "kiln_scalar, which gives the carry its type from the start", site,
                 "a loop's carry becomes %s here, an element type that '%s' before does not have", kiln_dtype_name(d), wrong->prim->name);
}

kn_topen *kn_topen_meet(kiln_trace *t, const kiln_val *v, uint32_t n, kn_site site)
{
    kn_topen *all = NULL;
    const kn_tval *typed = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const kn_tval *x = kn_tval_of(t, v[i]);
        kn_topen *g = kn_topen_of(t, v[i]);
        if (g) all = merge(t, all, g);
        else if (!typed && x->kind != KN_T_NUMBER && x->kind != KN_T_BAD) typed = x;
    }
    if (!all || !typed) return all;
    kn_topen_close(t, all, typed->type.dtype, site);
    return NULL;
}

bool kn_topen_refused(kiln_trace *t, const char *op, const kiln_val *v, uint32_t n, kn_site site)
{
    for (uint32_t i = 0; i < n && !t->failed; i++) {
        const kn_topen *g = kn_topen_of(t, v[i]);
        kn_type_text text;
        if (!g) continue;
        kiln_val number = kiln_num(t, g->number);
        kn_tfail(t, KILN_DTYPE, "kiln_scalar, which gives a number a type", site, "%s: operand %u is a carry that begins as %s and has no type yet",
                 op, i + 1, kn_tshow(t, number, &text));
        return true;
    }
    return t->failed;
}
