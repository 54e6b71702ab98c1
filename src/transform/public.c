/* SPDX-License-Identifier: Apache-2.0 */
/* One public function a transformation: what the words of word.c apply, on a whole program. */
#include "transform/functions.h"
#include "transform/prog.h"

typedef enum which { JVP, LINEARIZE, LINEARIZE_APART, TRANSPOSE, VJP, GRAD, JACFWD, JACREV, HESSIAN, HVP, CHECKPOINT } which;
typedef struct request {
    which what;
    const uint32_t *wrt;
    uint32_t n;
    unsigned how; /* GRAD */
    const char *const *names;
    uint32_t n_names;
} request;

static kiln_status make(const kn_rules *r, const kn_jaxpr *j, const request *q, const kn_jaxpr **out)
{
    switch (q->what) {
    case JVP: return kn_jvp(r, j, q->wrt, q->n, out);
    case LINEARIZE: return kn_linearize(r, j, q->wrt, q->n, out);
    case LINEARIZE_APART: return kn_linearize_apart(r, j, q->wrt, q->n, &out[0], &out[1]);
    case TRANSPOSE: return kn_transposed(r, j, q->wrt, q->n, out);
    case VJP: return kn_vjp(r, j, q->wrt, q->n, out);
    case GRAD: return kn_grad(r, j, q->wrt, q->n, q->how, out);
    case JACFWD: return kn_jacobian(r, j, q->wrt, q->n, false, out);
    case JACREV: return kn_jacobian(r, j, q->wrt, q->n, true, out);
    case HESSIAN: return kn_hessian(r, j, q->wrt, q->n, out);
    case HVP: return kn_hvp(r, j, q->wrt[0], out);
    case CHECKPOINT: return kn_checkpoint(r, j, q->names, q->n_names, out);
    }
    return kn_fail(r->ctx, KILN_INTERNAL, "no transformation %d", (int)q->what);
}

static kiln_status apply(const kn_rules *r, const kn_jaxpr *j, const void *how, const kn_jaxpr **out)
{
    static const char *const names[] = {"jvp", "linearize", "linearize", "transpose", "vjp", "grad", "jacfwd", "jacrev", "hessian", "hvp", "checkpoint"};
    const request *q = how;
    KILN_TRY_NOTE(r->ctx, make(r, j, q, out), "while transforming by %s", names[q->what]);
    for (uint32_t i = 0; i < (q->what == LINEARIZE_APART ? 2u : 1u); i++) {
        KILN_TRY(kn_trim(r, out[i], &out[i]));
        if (q->what != LINEARIZE_APART) KILN_TRY(kn_no_forward_left(r, out[i]));
    }
    return KILN_OK;
}

static kiln_status one(kiln_ctx *ctx, const kiln_prog *p, request q, kiln_prog **out) { return kn_prog_apply(ctx, p, apply, &q, out); }

static kiln_status some(kiln_ctx *ctx, const kiln_prog *p, which what, const uint32_t *wrt, uint32_t n, kiln_prog **out)
{
    return one(ctx, p, (request){.what = what, .wrt = wrt, .n = n}, out);
}

static kiln_status listed(kiln_ctx *ctx, const kiln_prog *p, const char *name, request q, kiln_prog **out)
{
    *out = NULL;
    if (q.n == 0) return kn_fail(ctx, KILN_INVALID, "%s: no operand to differentiate in", name);
    return one(ctx, p, q, out);
}

kiln_status kiln_prog_jvp(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *wrt, uint32_t n, kiln_prog **out) { return some(ctx, p, JVP, wrt, n, out); }

kiln_status kiln_prog_linearize(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *wrt, uint32_t n, kiln_prog **forward, kiln_prog **map)
{
    const request q = {.what = LINEARIZE_APART, .wrt = wrt, .n = n};
    kiln_prog *both[2];
    *map = NULL;
    if (!forward) return some(ctx, p, LINEARIZE, wrt, n, map);
    *forward = NULL;
    KILN_TRY(kn_prog_apply_all(ctx, p, apply, &q, 2, both));
    *forward = both[0];
    *map = both[1];
    return KILN_OK;
}

kiln_status kiln_prog_transpose(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *linear, uint32_t n, kiln_prog **out)
{
    return some(ctx, p, TRANSPOSE, linear, n, out);
}

kiln_status kiln_prog_vjp(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *wrt, uint32_t n, kiln_prog **out) { return some(ctx, p, VJP, wrt, n, out); }

kiln_status kiln_prog_grad(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *wrt, uint32_t n, bool has_aux, kiln_prog **out)
{
    return listed(ctx, p, "grad", (request){.what = GRAD, .wrt = wrt, .n = n, .how = has_aux ? KN_GRAD_AUX : 0}, out);
}

kiln_status kiln_prog_value_and_grad(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *wrt, uint32_t n, bool has_aux, kiln_prog **out)
{
    const unsigned how = KN_GRAD_VALUE | (has_aux ? (unsigned)KN_GRAD_AUX : 0);
    return listed(ctx, p, "value_and_grad", (request){.what = GRAD, .wrt = wrt, .n = n, .how = how}, out);
}

kiln_status kiln_prog_jacfwd(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *wrt, uint32_t n, kiln_prog **out)
{
    return listed(ctx, p, "jacfwd", (request){.what = JACFWD, .wrt = wrt, .n = n}, out);
}

kiln_status kiln_prog_jacrev(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *wrt, uint32_t n, kiln_prog **out)
{
    return listed(ctx, p, "jacrev", (request){.what = JACREV, .wrt = wrt, .n = n}, out);
}

kiln_status kiln_prog_hessian(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *wrt, uint32_t n, kiln_prog **out)
{
    return listed(ctx, p, "hessian", (request){.what = HESSIAN, .wrt = wrt, .n = n}, out);
}

kiln_status kiln_prog_hvp(kiln_ctx *ctx, const kiln_prog *p, uint32_t wrt, kiln_prog **out)
{
    return one(ctx, p, (request){.what = HVP, .wrt = &wrt, .n = 1}, out);
}

kiln_status kiln_prog_checkpoint(kiln_ctx *ctx, const kiln_prog *p, const char *const *saved, uint32_t n, kiln_prog **out)
{
    return one(ctx, p, (request){.what = CHECKPOINT, .names = saved, .n_names = n}, out);
}
