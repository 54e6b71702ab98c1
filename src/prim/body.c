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
