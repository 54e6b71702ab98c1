/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that transformations treat in a way of their own: names and checkpoints, custom derivatives. */
#include "trace/trace.h"

#include "prim/control.h"

kiln_val kiln_name_at(kiln_trace *t, kiln_val a, const char *name, const char *file, int line)
{
    kn_site site = {file, line};
    kiln_val out = {0};
    if (!kn_tvals_typed(t, "name", "operand", &a, 1, site)) return out;
    const char *copy = kn_arena_text(&t->prog->arena, name);
    if (!copy || !*copy || strpbrk(copy, ",()[]= ")) {
        if (copy) kn_tfail(t, KILN_INVALID, "text without spaces, commas and brackets", site, "name: '%s' is no name", name);
        else kn_tstatus(t, kn_nomem(t->ctx), site);
        return out;
    }
    kn_temit(t, "name", (kn_named[]){{"name", KN_TEXT(copy)}}, 1, &a, 1, &out, 1, site);
    return out;
}

/* ---- bodies ---- */

typedef struct call {
    kiln_trace *t;
    const char *op;
    kn_site site;
} call;

/* Traces fn over inputs of these types; captured values come first. frame NULL: there must be none. */
static const kn_jaxpr *body_of(const call *c, kiln_call_fn fn, void *user, const kiln_type *types, uint32_t n_in, uint32_t n_out, kn_tframe **frame)
{
    kiln_trace *t = c->t;
    kiln_val *v = KN_NEWN(&t->arena, kiln_val, (size_t)n_in + n_out + 1);
    kn_tframe *f = kn_tframe_open(t);
    if (!f || !v) {
        if (f) t->frame = f->outer;
        if (!v) kn_tstatus(t, kn_nomem(t->ctx), c->site);
        return NULL;
    }
    kn_tframe_inputs(t, f, types, n_in, v);
    if (!t->failed) fn(t, user, v, v + n_in);
    if (!t->failed) kn_tvals_typed(t, c->op, "result", v + n_in, n_out, c->site);
    const kn_jaxpr *j = kn_tframe_close(t, f, v + n_in, n_out, n_in);
    if (j && !frame && f->captured.n) {
        kn_tfail(t, KILN_INVALID, "operands: what a custom derivative reads must be differentiated by it", c->site,
                 "%s: %s is used inside, and is no operand", c->op, kn_type_show(kn_tval_of(t, f->captured.v[0])->type).s);
        return NULL;
    }
    if (frame) *frame = f;
    return j;
}

static bool start(const call *c, const kiln_val *in, uint32_t n_in, kiln_val *out, uint32_t n_out)
{
    for (uint32_t i = 0; i < n_out; i++) out[i] = (kiln_val){0};
    return kn_tvals_typed(c->t, c->op, "operand", in, n_in, c->site);
}

static kiln_type *types_of(const call *c, const kiln_val *in, uint32_t n, uint32_t more)
{
    kiln_type *types = KN_NEWN(&c->t->arena, kiln_type, (size_t)n + more + 1);
    if (!types) kn_tstatus(c->t, kn_nomem(c->t->ctx), c->site);
    for (uint32_t i = 0; types && i < n; i++) types[i] = kn_tval_of(c->t, in[i])->type;
    return types;
}

void kiln_checkpoint_at(kiln_trace *t, kiln_call_fn body, void *user, const kiln_val *in, uint32_t n_in, const char *const *saved, uint32_t n_saved,
                        kiln_val *out, uint32_t n_out, const char *file, int line)
{
    const call c = {t, "checkpoint", {file, line}};
    const char *policy = NULL;
    kn_tframe *f;
    if (!start(&c, in, n_in, out, n_out)) return;
    if (n_saved) kn_tstatus(t, kn_policy_text(t->ctx, &t->prog->arena, saved, n_saved, &policy), c.site);
    kiln_type *types = types_of(&c, in, n_in, 0);
    const kn_jaxpr *j = types && !t->failed ? body_of(&c, body, user, types, n_in, n_out, &f) : NULL;
    if (!j) return;
    kn_atom *operands = KN_NEWN(&t->arena, kn_atom, (size_t)f->captured.n + n_in + 1);
    if (!operands) {
        kn_tstatus(t, kn_nomem(t->ctx), c.site);
        return;
    }
    kn_tframe_operands(t, f, operands);
    for (uint32_t i = 0; i < n_in; i++) kn_tatom(t, t->frame, in[i], &operands[f->captured.n + i]);
    const kn_named params[] = {{"differentiated", KN_BOOL(false)}, {"jaxpr", KN_JAXPR(j)}, {"policy", policy ? KN_TEXT(policy) : KN_NONE},
                               {"prevent_cse", KN_BOOL(true)}};
    kn_temit_atoms(t, "remat2", params, 4, operands, f->captured.n + n_in, out, n_out, c.site);
}

/* ---- custom derivatives ---- */

/* Types of all, then of the floats among them; returns how many. */
static uint32_t and_floats(kiln_type *types, uint32_t n)
{
    uint32_t k = n;
    for (uint32_t i = 0; i < n; i++)
        if (kn_has_tangent(types[i])) types[k++] = types[i];
    return k;
}

static bool gives(const call *c, const char *what, const kn_jaxpr *j, const kiln_type *want, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        kiln_type have = kn_type_of(j, j->out[i]);
        if (kiln_type_equal(have, want[i])) continue;
        kn_tfail(c->t, KILN_SHAPE, "that type", c->site, "%s: result %u of %s is %s, %s is needed", c->op, i, what, kn_type_show(have).s,
                 kn_type_show(want[i]).s);
        return false;
    }
    return true;
}

/* Types of a body's results, then of the floats among them. */
static kiln_type *results_of(const call *c, const kn_jaxpr *j)
{
    kiln_type *types = KN_NEWN(&c->t->arena, kiln_type, 2 * (size_t)j->nout + 1);
    if (!types) kn_tstatus(c->t, kn_nomem(c->t->ctx), c->site);
    for (uint32_t i = 0; types && i < j->nout; i++) types[i] = kn_type_of(j, j->out[i]);
    return types;
}

void kiln_custom_jvp_at(kiln_trace *t, const char *name, kiln_call_fn body, kiln_call_fn jvp, void *user, const kiln_val *in, uint32_t n_in, kiln_val *out,
                        uint32_t n_out, const char *file, int line)
{
    const call c = {t, "custom_jvp", {file, line}};
    if (!start(&c, in, n_in, out, n_out)) return;
    kiln_type *types = types_of(&c, in, n_in, n_in), *made;
    const kn_jaxpr *j = types ? body_of(&c, body, user, types, n_in, n_out, NULL) : NULL;
    if (!j || !(made = results_of(&c, j))) return;
    uint32_t n = and_floats(types, n_in), m = and_floats(made, n_out);
    const kn_jaxpr *rule = body_of(&c, jvp, user, types, n, m, NULL);
    const char *copy = rule ? kn_arena_text(&t->prog->arena, name) : NULL;
    if (rule && !copy) kn_tstatus(t, kn_nomem(t->ctx), c.site);
    if (!copy || !gives(&c, "the derivative", rule, made, m)) return;
    const kn_named params[] = {{"name", KN_TEXT(copy)}, {"call_jaxpr", KN_JAXPR(j)}, {"rule", KN_JAXPR(rule)}, {"symbolic_zeros", KN_BOOL(false)}};
    kn_temit(t, "custom_jvp_call", params, 4, in, n_in, out, n_out, c.site);
}

void kiln_custom_vjp_at(kiln_trace *t, const char *name, kiln_call_fn body, kiln_call_fn fwd, kiln_call_fn bwd, void *user, const kiln_val *in,
                        uint32_t n_in, uint32_t n_residuals, kiln_val *out, uint32_t n_out, const char *file, int line)
{
    const call c = {t, "custom_vjp", {file, line}};
    if (!start(&c, in, n_in, out, n_out)) return;
    kiln_type *types = types_of(&c, in, n_in, n_in), *made, *kept;
    const kn_jaxpr *j = types ? body_of(&c, body, user, types, n_in, n_out, NULL) : NULL;
    if (!j || !(made = results_of(&c, j))) return;
    uint32_t n = and_floats(types, n_in), m = and_floats(made, n_out);
    const kn_jaxpr *forward = body_of(&c, fwd, user, types, n_in, n_out + n_residuals, NULL), *back = NULL;
    if (!forward || !gives(&c, "fwd", forward, made, n_out)) return;
    if (!(kept = KN_NEWN(&t->arena, kiln_type, (size_t)n_residuals + m + 1))) {
        kn_tstatus(t, kn_nomem(t->ctx), c.site);
        return;
    }
    for (uint32_t i = 0; i < n_residuals; i++) kept[i] = kn_type_of(forward, forward->out[n_out + i]);
    for (uint32_t i = n_out; i < m; i++) kept[n_residuals + i - n_out] = made[i];
    back = body_of(&c, bwd, user, kept, n_residuals + m - n_out, n - n_in, NULL);
    kn_param *parts = KN_NEWN(&t->prog->arena, kn_param, 3);
    const char *copy = kn_arena_text(&t->prog->arena, name);
    if (!parts || !copy) kn_tstatus(t, kn_nomem(t->ctx), c.site);
    if (!back || !parts || !copy || !gives(&c, "bwd", back, types + n_in, n - n_in)) return;
    parts[0] = KN_JAXPR(forward), parts[1] = KN_JAXPR(back), parts[2] = KN_INT(n_residuals);
    const kn_named params[] = {{"name", KN_TEXT(copy)}, {"call_jaxpr", KN_JAXPR(j)}, {"rule", KN_TUPLE(3, parts)}, {"symbolic_zeros", KN_BOOL(false)}};
    kn_temit(t, "custom_vjp_call", params, 4, in, n_in, out, n_out, c.site);
}
