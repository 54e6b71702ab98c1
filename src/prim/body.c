/* SPDX-License-Identifier: Apache-2.0 */
#include "prim/body.h"

kiln_status kn_typing_consts(const kn_typing *t, uint32_t k, uint32_t *n)
{
    int64_t v = 0;
    if (!kn_is_none(&t->params[k])) KILN_TRY(kn_typing_int(t, k, &v));
    if (v < 0 || v > (int64_t)t->nin)
        return kn_fail(t->ctx, KILN_INVALID, "%s: num_consts is %lld, there are %u operands", t->prim->name, (long long)v, t->nin);
    *n = (uint32_t)v;
    return KILN_OK;
}

uint32_t kn_body_consts(const kn_eqn *e, uint32_t k) { return kn_is_none(&e->params[k]) ? 0 : (uint32_t)e->params[k].i; }

kiln_status kn_typing_scalar_body(const kn_typing *t, uint32_t k, uint32_t consts, const kiln_dtype *args, uint32_t nargs,
                                  const kiln_dtype *out, uint32_t nout)
{
    const kn_jaxpr *j;
    const char *name = t->prim->params[k].name;
    KILN_TRY(kn_typing_jaxpr(t, k, &j));
    kiln_type *want;
    KILN_TRY_MEM(t->ctx, want = KN_NEWN(t->arena, kiln_type, consts + nargs));
    for (uint32_t i = 0; i < consts; i++) want[i] = t->in[i];
    for (uint32_t i = 0; i < nargs; i++) want[consts + i] = KILN_SCALAR(args[i]);
    KILN_TRY(kn_typing_body_in(t, j, name, want, consts + nargs, 0));
    if (j->nout != nout) return kn_fail(t->ctx, KILN_INVALID, "%s: %s gives %u results, %u are needed", t->prim->name, name, j->nout, nout);
    for (uint32_t i = 0; i < nout; i++) {
        kiln_type y = kn_type_of(j, j->out[i]);
        if (y.rank || y.dtype != out[i])
            return kn_fail(t->ctx, KILN_DTYPE, "%s: result %u of %s is %s, %s[] is needed", t->prim->name, i, name, kn_type_show(y).s,
                           kiln_dtype_name(out[i]));
    }
    return KILN_OK;
}

kn_sop kn_body_sop(const kn_jaxpr *j)
{
    if (kn_nargs(j) != 2 || j->nconsts || j->neqns != 1 || j->nout != 1) return KN_S_NONE;
    const kn_eqn *e = &j->eqns[0];
    if (e->nin != 2 || j->out[0] != e->out[0]) return KN_S_NONE;
    bool straight = e->in[0] == j->in[0] && e->in[1] == j->in[1], crossed = e->in[0] == j->in[1] && e->in[1] == j->in[0];
    if (!straight && !crossed) return KN_S_NONE;
    switch (e->prim->scalar_op) {
    case KN_S_add:
    case KN_S_mul:
    case KN_S_min:
    case KN_S_max:
    case KN_S_and:
    case KN_S_or:
    case KN_S_xor: return (kn_sop)e->prim->scalar_op;
    default: return KN_S_NONE;
    }
}

bool kn_body_takes_second(const kn_jaxpr *j)
{
    return kn_nargs(j) == 2 && j->nout == 1 && j->out[0] == j->in[j->nconsts + 1];
}

/* ---- evaluation ---- */

kiln_status kn_caller_init(kn_caller *c, kn_eval *ev, const kn_jaxpr *body, kiln_array *const *consts, uint32_t nconsts)
{
    *c = (kn_caller){.ev = ev, .body = body, .nconsts = nconsts, .nargs = kn_nargs(body) - nconsts};
    KILN_TRY_MEM(ev->ctx, c->in = kn_new(&ev->ctx->alloc, ((size_t)kn_nargs(body) + body->nout + 1) * sizeof *c->in));
    c->out = c->in + kn_nargs(body);
    for (uint32_t i = 0; i < nconsts; i++) c->in[i] = consts[i];
    kiln_status s = KILN_OK;
    for (uint32_t i = 0; s == KILN_OK && i < c->nargs; i++)
        s = kiln_array_create(ev->ctx, kn_type_of(body, body->in[body->nconsts + nconsts + i]), &c->in[nconsts + i]);
    if (s != KILN_OK) kn_caller_fini(c);
    return s;
}

static void drop(kn_caller *c)
{
    for (uint32_t i = 0; i < c->body->nout; i++) kiln_array_release(c->out[i]), c->out[i] = NULL;
}

void kn_caller_fini(kn_caller *c)
{
    if (!c->in) return;
    drop(c);
    for (uint32_t i = 0; i < c->nargs; i++) kiln_array_release(c->in[c->nconsts + i]);
    kn_free(&c->ev->ctx->alloc, c->in, ((size_t)kn_nargs(c->body) + c->body->nout + 1) * sizeof *c->in);
    c->in = NULL;
}

kiln_status kn_caller_run(kn_caller *c)
{
    drop(c);
    return c->ev->run(c->ev, c->body, c->in, c->out);
}

/* ---- lowering ---- */

bool kn_body_is_elementwise(const kn_jaxpr *j)
{
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_prim *p = j->eqns[k].prim;
        bool composite = !(p->flags & KN_ELEMENTWISE) && p->lower && p->nin == 1 && p->nout == 1; /* functions made of others */
        bool scalar = p == &kn_prim_broadcast_in_dim || p == &kn_prim_reshape; /* of a scalar to a scalar */
        if (!(p->flags & KN_ELEMENTWISE) && !composite && !scalar) return false;
    }
    return true;
}

/* An equation over arrays: operands that must have the result's shape are widened to it. */
static kiln_status apply_eqn(kn_low *l, const kn_jaxpr *j, const kn_eqn *e, kn_atom *map, kiln_type shape)
{
    kn_atom in[8], out;
    if (e->nin > 8 || e->nout != 1) return kn_fail(l->b->ctx, KILN_UNSUPPORTED, "%s in a body that is applied to whole arrays", e->prim->name);
    kiln_status s = KILN_OK;
    bool wide = false;
    for (uint32_t i = 0; i < e->nin; i++) {
        in[i] = kn_build_map(l->b, j, e->in[i], map, &s);
        KILN_TRY(s);
        wide = wide || kn_build_type(l->b, in[i]).rank > 0;
    }
    if (e->prim == &kn_prim_broadcast_in_dim || e->prim == &kn_prim_reshape) {
        map[e->out[0]] = in[0];
        return KILN_OK;
    }
    bool choice = strcmp(e->prim->name, "select_n") == 0, clamped = strcmp(e->prim->name, "clamp") == 0;
    for (uint32_t i = 0; wide && i < e->nin; i++) {
        bool must = (choice && i > 0) || (clamped && i == 1);
        if (must && kn_build_type(l->b, in[i]).rank == 0) in[i] = kn_low_widen(l, in[i], shape);
    }
    out = kn_low_op(l, e->prim, e->params, in, e->nin);
    map[e->out[0]] = out;
    return l->status;
}

kiln_status kn_low_apply(kn_low *l, const kn_jaxpr *j, const kn_atom *args, kiln_type shape, kn_atom *out)
{
    KILN_TRY(l->status);
    kn_atom *map = KN_NEWN(&l->b->prog->arena, kn_atom, j->nvars);
    KILN_TRY_MEM(l->b->ctx, map);
    for (uint32_t i = 0; i < j->nin; i++) {
        if (i < j->nconsts) KILN_TRY(kn_build_const(l->b, j->consts[i], &map[j->in[i]]));
        else map[j->in[i]] = args[i - j->nconsts];
    }
    for (uint32_t k = 0; k < j->neqns; k++) KILN_TRY(apply_eqn(l, j, &j->eqns[k], map, shape));
    for (uint32_t i = 0; i < j->nout; i++) {
        kiln_status s = KILN_OK;
        out[i] = kn_build_map(l->b, j, j->out[i], map, &s);
        KILN_TRY(s);
        if (shape.rank && kn_build_type(l->b, out[i]).rank == 0) out[i] = kn_low_widen(l, out[i], shape);
    }
    return l->status;
}
