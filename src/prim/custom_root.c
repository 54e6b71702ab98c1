/* SPDX-License-Identifier: Apache-2.0 */
/* custom_root: x with f(a, x) = 0, found by the body `solve`. Its derivative is that of the implicit function theorem,
 *
 *     df/dx dx = -(df/da) da,
 *
 * one linear system at the root, however it was found: a custom_linear_solve whose bodies stand in this equation. `f` is (constants,
 * x) -> f; `matvec` (constants of f, x, v) -> df/dx v, `vecmat` its transpose; `tangent_solve` and `transpose_solve` (constants of
 * their own, constants of f, x, right sides) solve with one and the other. Operands: constants of f, of solve, of tangent_solve, of
 * transpose_solve, first guesses; results: the root, then what else solve gives, which has no derivative. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/control.h"
#include "prim/derive.h"
#include "prim/sample.h"

enum { LENGTHS, BODIES };
static const kn_param_spec params[] = {{"const_lengths", KN_P_RECORD, 0}, {"jaxprs", KN_P_RECORD, 0}};
enum { F, MATVEC, VECMAT, SOLVE, TANGENT, TRANSPOSED, PARTS };
static const char *const parts[PARTS] = {"f", "matvec", "vecmat", "solve", "tangent_solve", "transpose_solve"};

typedef struct root {
    const kn_jaxpr *body[PARTS];
    uint32_t consts[PARTS], first[PARTS]; /* of f, solve, tangent_solve, transpose_solve: among the operands */
    uint32_t guess, n;                    /* first guess; unknowns */
} root;

static const kn_param *field(const kn_param *record, const char *name)
{
    for (uint32_t i = 0; record->keys && i < record->n; i++)
        if (strcmp(record->keys[i], name) == 0) return &record->items[i];
    return NULL;
}

static bool parts_of(const kn_param *p, uint32_t nin, root *out)
{
    uint64_t at = 0;
    *out = (root){.n = 0};
    for (int k = 0; k < PARTS; k++) {
        const kn_param *body = field(&p[BODIES], parts[k]), *length = field(&p[LENGTHS], parts[k]);
        if (!body || body->kind != KN_P_JAXPR) return false;
        out->body[k] = body->jaxpr;
        if (k == MATVEC || k == VECMAT) continue; /* they have the constants of f */
        if (!length || length->kind != KN_P_INT || length->i < 0 || length->i > nin) return false;
        out->first[k] = (uint32_t)at;
        out->consts[k] = (uint32_t)length->i;
        at += (uint64_t)length->i;
    }
    if (at > nin) return false;
    out->guess = (uint32_t)at;
    out->n = nin - (uint32_t)at;
    return true;
}

/* Arguments of a body: own constants, those of f where it has them, the unknowns `times` over. */
static kiln_status check_body(kn_typing *t, const root *o, int part, uint32_t times)
{
    bool with_f = part != SOLVE;
    uint32_t own = part == TANGENT || part == TRANSPOSED || part == SOLVE ? o->consts[part] : 0, nf = with_f ? o->consts[F] : 0, k = 0;
    kiln_type *want = KN_NEWN(t->arena, kiln_type, own + nf + times * o->n);
    const kn_jaxpr *j = o->body[part];
    KILN_TRY_MEM(t->ctx, want);
    for (uint32_t i = 0; i < own; i++) want[k++] = t->in[o->first[part] + i];
    for (uint32_t i = 0; i < nf; i++) want[k++] = t->in[o->first[F] + i];
    for (uint32_t r = 0; r < times; r++)
        for (uint32_t i = 0; i < o->n; i++) want[k++] = t->in[o->guess + i];
    KILN_TRY(kn_typing_body_in(t, j, parts[part], want, k, 0));
    for (uint32_t i = 0; i < o->n; i++)
        if (i >= j->nout || !kiln_type_equal(kn_type_of(j, j->out[i]), t->in[o->guess + i]))
            return kn_fail(t->ctx, KILN_SHAPE, "custom_root: result %u of %s is %s, the unknown is %s", i, parts[part],
                           i < j->nout ? kn_type_show(kn_type_of(j, j->out[i])).s : "missing", kn_type_show(t->in[o->guess + i]).s);
    if (part != SOLVE && j->nout != o->n)
        return kn_fail(t->ctx, KILN_INVALID, "custom_root: %s gives %u results of %u unknowns", parts[part], j->nout, o->n);
    return KILN_OK;
}

static kiln_status type_root(kn_typing *t)
{
    root o;
    if (!parts_of(t->params, t->nin, &o))
        return kn_fail(t->ctx, KILN_INVALID, "custom_root: const_lengths must hold numbers and jaxprs programs for f, matvec, vecmat, solve, "
                                             "tangent_solve, transpose_solve, which fit %u operands", t->nin);
    static const uint32_t times[PARTS] = {1, 2, 2, 1, 2, 2};
    for (int k = 0; k < PARTS; k++) KILN_TRY(check_body(t, &o, k, times[k]));
    const kn_jaxpr *j = o.body[SOLVE];
    KILN_TRY(kn_typing_out(t, j->nout));
    for (uint32_t i = 0; i < j->nout; i++) KILN_TRY(kn_typing_like(t, i, kn_type_of(j, j->out[i]).dtype, kn_type_of(j, j->out[i])));
    return KILN_OK;
}

static kiln_status lower_root(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    root o;
    (void)r, (void)j;
    if (!parts_of(e->params, e->nin, &o)) return kn_fail(b->ctx, KILN_INTERNAL, "custom_root: parameters do not fit");
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, o.consts[SOLVE] + o.n);
    KILN_TRY_MEM(b->ctx, in);
    memcpy(in, x + o.first[SOLVE], o.consts[SOLVE] * sizeof *in);
    memcpy(in + o.consts[SOLVE], x + o.guess, o.n * sizeof *in);
    return kn_low_inline(b, o.body[SOLVE], e, in, y);
}

/* ---- the derivative ---- */

/* -(df/da) da at the root. */
static kiln_status right_sides(const kn_rules *r, kn_build *b, const kn_eqn *e, const root *o, const kn_atom *x, const kn_atom *dx,
                               const kn_atom *y, kn_atom *out)
{
    kn_arena *arena = &b->prog->arena;
    uint32_t nf = o->consts[F], k = nf + o->n;
    bool *nonzero = KN_NEWN(arena, bool, nf + o->n), *wanted = KN_NEWN(arena, bool, o->n), *found = KN_NEWN(arena, bool, o->n);
    kn_atom *in = KN_NEWN(arena, kn_atom, 2 * nf + o->n), *made = KN_NEWN(arena, kn_atom, 2 * o->n);
    const kn_jaxpr *both;
    KILN_TRY_MEM(b->ctx, nonzero && wanted && found && in && made);
    memcpy(in, x + o->first[F], nf * sizeof *in);
    memcpy(in + nf, y, o->n * sizeof *in);
    for (uint32_t i = 0; i < nf; i++)
        if ((nonzero[i] = dx[o->first[F] + i] != KN_SYMBOLIC_ZERO)) in[k++] = dx[o->first[F] + i];
    for (uint32_t i = 0; i < o->n; i++) wanted[i] = true;
    KILN_TRY(r->jvp(r, o->body[F], nonzero, wanted, &both, found));
    KILN_TRY(kn_low_inline(b, both, e, in, made));
    kn_low l = {b, KILN_OK};
    k = o->n;
    for (uint32_t i = 0; i < o->n; i++) out[i] = found[i] ? kn_derive_neg(&l, made[k++]) : KN_SYMBOLIC_ZERO;
    return l.status;
}

static kiln_status jvp_root(KN_JVP_ARGS)
{
    root o;
    bool any = false;
    if (!parts_of(e->params, e->nin, &o)) return kn_fail(b->ctx, KILN_INTERNAL, "custom_root: parameters do not fit");
    uint32_t nf = o.consts[F], nt = o.consts[TANGENT], ns = o.consts[TRANSPOSED], at = nf + o.n, n = 0;
    for (uint32_t i = 0; i < nf; i++) any |= dx[o.first[F] + i] != KN_SYMBOLIC_ZERO;
    for (uint32_t i = 0; i < o.n; i++)
        if (!kn_has_tangent(kn_in_type(j, e, o.guess + i)))
            return kn_fail(b->ctx, KILN_DTYPE, "custom_root: unknown %u is %s; only floats have derivatives", i, kn_type_show(kn_in_type(j, e, o.guess + i)).s);
    if (!any) return KILN_OK; /* neither the guess nor how the root is found has a part in it */
    kn_arena *arena = &b->prog->arena;
    kn_atom *in = KN_NEWN(arena, kn_atom, 4 * at + nt + ns + o.n);
    KILN_TRY_MEM(b->ctx, in);
    for (int k = 0; k < 4; k++) { /* matvec, vecmat, solve, transpose_solve */
        int own = k == 2 ? TANGENT : TRANSPOSED;
        for (uint32_t i = 0; k >= 2 && i < o.consts[own]; i++) in[n++] = x[o.first[own] + i];
        for (uint32_t i = 0; i < nf; i++) in[n++] = x[o.first[F] + i];
        for (uint32_t i = 0; i < o.n; i++) in[n++] = y[i];
    }
    KILN_TRY(right_sides(r, b, e, &o, x, dx, y, in + n));
    kn_low l = {b, KILN_OK};
    for (uint32_t i = 0; i < o.n; i++) in[n + i] = kn_derive_value(&l, in[n + i], kn_in_type(j, e, o.guess + i));
    KILN_TRY(l.status);
    kn_param linear[KN_LINEAR_SOLVE_PARAMS];
    KILN_TRY(kn_linear_solve_params(b->ctx, arena, (const uint32_t[4]){at, at, nt + at, ns + at},
                                    (const kn_jaxpr *const[4]){o.body[MATVEC], o.body[VECMAT], o.body[TANGENT], o.body[TRANSPOSED]}, linear));
    return kn_build_eqn(b, &kn_prim_custom_linear_solve, linear, in, n + o.n, dy, o.n);
}

/* ---- lanes ---- */

/* All bodies over the lanes; guesses, unknowns and all results have lanes in any case. */
static kiln_status batch_root(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis,
                              kn_atom *y, int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    kn_arena *arena = &b->prog->arena;
    kn_param *own = kn_lanes_params(&m);
    const kn_param *bodies = &e->params[BODIES];
    kn_param *items = KN_NEWN(arena, kn_param, bodies->n);
    root o;
    if (!parts_of(e->params, e->nin, &o)) return kn_fail(b->ctx, KILN_INTERNAL, "custom_root: parameters do not fit");
    bool *lanes = KN_NEWN(arena, bool, e->nin + 2 * o.n), *wanted = KN_NEWN(arena, bool, e->nout), *found = KN_NEWN(arena, bool, e->nout);
    kn_atom *in = KN_NEWN(arena, kn_atom, e->nin);
    KILN_TRY_MEM(b->ctx, own && items && lanes && wanted && found && in);
    for (uint32_t i = 0; i < e->nout; i++) wanted[i] = true;
    for (uint32_t i = 0; i < e->nin; i++) in[i] = i < o.guess ? x[i] : kn_lanes_full(&m, i);
    KILN_TRY(m.l.status);
    for (uint32_t k = 0; k < bodies->n; k++) {
        int part = 0;
        uint32_t n = 0;
        items[k] = bodies->items[k];
        while (part < PARTS && strcmp(parts[part], bodies->keys[k]) != 0) part++;
        if (part == PARTS) continue;
        bool mine = part == SOLVE || part == TANGENT || part == TRANSPOSED;
        for (uint32_t i = 0; mine && i < o.consts[part]; i++) lanes[n++] = kn_has_lanes(&m, o.first[part] + i);
        for (uint32_t i = 0; part != SOLVE && i < o.consts[F]; i++) lanes[n++] = kn_has_lanes(&m, o.first[F] + i);
        while (n < kn_nargs(o.body[part])) lanes[n++] = true;
        KILN_TRY(r->batch(r, o.body[part], m.size, lanes, wanted, &items[k].jaxpr, found));
    }
    own[BODIES].items = items;
    return kn_lanes_emit(&m, own, in, y);
}

/* ---- a sample: a x = b by division ---- */

static kiln_status sample_body(kn_sample *s, int part, kiln_type t, const kn_jaxpr **out)
{
    kn_build b;
    kn_atom in[4], y;
    uint32_t n = part == SOLVE ? 3 : part == F ? 3 : 4; /* a, b, then guess, x, or x and v */
    kn_build_init(&b, s->ctx, s->b.prog);
    for (uint32_t i = 0; i < n; i++) KILN_TRY(kn_build_input(&b, t, &in[i]));
    kn_low l = {&b, KILN_OK};
    if (part == F) y = kn_low2(&l, &kn_prim_sub, kn_low2(&l, &kn_prim_mul, in[0], in[2]), in[1]);
    else if (part == SOLVE) y = kn_low2(&l, &kn_prim_div, in[1], in[0]);
    else y = part == MATVEC || part == VECMAT ? kn_low2(&l, &kn_prim_mul, in[0], in[3]) : kn_low2(&l, &kn_prim_div, in[3], in[0]);
    KILN_TRY(l.status);
    return kn_build_finish(&b, &y, 1, out);
}

static kiln_status sample_root(kn_sample *s)
{
    kiln_dtype d = s->dtypes >> KILN_F64 & 1 ? KILN_F64 : KILN_F32;
    kiln_type t = {d, 1, &s->length};
    const kn_jaxpr *bodies[PARTS];
    kn_atom x[5];
    kn_param own[2];
    if (s->dtypes && !(s->dtypes >> d & 1)) return kn_fail(s->ctx, KILN_DTYPE, "custom_root takes none of the element types to draw from");
    for (int k = 0; k < PARTS; k++) KILN_TRY(sample_body(s, k, t, &bodies[k]));
    for (int i = 0; i < 2; i++) KILN_TRY(kn_sample_input(s, t, &x[i]));
    x[2] = x[0], x[3] = x[1]; /* the constants of solve; the guess */
    x[4] = x[0];
    KILN_TRY(kn_root_params(s->ctx, &s->b.prog->arena, (const uint32_t[4]){2, 2, 0, 0}, bodies, own));
    return kn_sample_emit(s, own, x, 5, 1);
}

kiln_status kn_root_params(kiln_ctx *ctx, kn_arena *arena, const uint32_t lengths[4], const kn_jaxpr *const bodies[6], kn_param *out)
{
    static const int with_consts[4] = {F, SOLVE, TANGENT, TRANSPOSED};
    kn_param *counts = KN_NEWN(arena, kn_param, 4), *items = KN_NEWN(arena, kn_param, PARTS);
    const char **keys = KN_NEWN(arena, const char *, 4 + PARTS);
    KILN_TRY_MEM(ctx, counts && items && keys);
    for (int k = 0; k < 4; k++) counts[k] = KN_INT(lengths[k]), keys[k] = parts[with_consts[k]];
    for (int k = 0; k < PARTS; k++) items[k] = KN_JAXPR(bodies[k]), keys[4 + k] = parts[k];
    out[LENGTHS] = (kn_param){.kind = KN_P_RECORD, .n = 4, .items = counts, .name = "Root", .keys = keys};
    out[BODIES] = (kn_param){.kind = KN_P_RECORD, .n = PARTS, .items = items, .name = "Root", .keys = keys + 4};
    return KILN_OK;
}

kiln_status kn_linear_solve_params(kiln_ctx *ctx, kn_arena *arena, const uint32_t lengths[4], const kn_jaxpr *const bodies[4], kn_param *out)
{
    static const char *const names[4] = {"matvec", "vecmat", "solve", "transpose_solve"};
    kn_param *counts = KN_NEWN(arena, kn_param, 4), *items = KN_NEWN(arena, kn_param, 4);
    const char **keys = KN_NEWN(arena, const char *, 4);
    KILN_TRY_MEM(ctx, counts && items && keys);
    for (int k = 0; k < 4; k++) counts[k] = KN_INT(lengths[k]), items[k] = KN_JAXPR(bodies[k]), keys[k] = names[k];
    out[LENGTHS] = (kn_param){.kind = KN_P_RECORD, .n = 4, .items = counts, .name = "_LinearSolveTuple", .keys = keys};
    out[BODIES] = (kn_param){.kind = KN_P_RECORD, .n = 4, .items = items, .name = "_LinearSolveTuple", .keys = keys};
    return KILN_OK;
}

KILN_PRIM(custom_root) = {
    .name = "custom_root",
    .nin = KN_VARIADIC,
    .nout = KN_VARIADIC,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(params),
    .type = type_root,
    .lower = lower_root,
    .jvp = jvp_root,
    .batch = batch_root,
    .sample = sample_root,
    .doc = "The x with f(x) = 0, found by the program `solve`; its derivative follows from f at the root, by one linear solve.",
};

/* ---- CustomRoot, the same in JAX's text: it shows how the root is found, and not of what. So it has no derivative. ---- */

static const kn_param_spec written_params[] = {{"solve_jaxpr", KN_P_JAXPR, 0}, {"has_aux", KN_P_BOOL, KN_PARAM_OPTIONAL}};

/* The operands of `solve_jaxpr` come first; the others are those of programs that the text leaves out. */
static kiln_status type_written(kn_typing *t)
{
    const kn_jaxpr *solve;
    KILN_TRY(kn_typing_jaxpr(t, 0, &solve));
    if (kn_nargs(solve) > t->nin) return kn_fail(t->ctx, KILN_INVALID, "CustomRoot: %u operands for a solve_jaxpr of %u", t->nin, kn_nargs(solve));
    KILN_TRY(kn_typing_body_in(t, solve, "solve_jaxpr", t->in, kn_nargs(solve), 0));
    KILN_TRY(kn_typing_out(t, solve->nout));
    for (uint32_t i = 0; i < solve->nout; i++) {
        kiln_type y = kn_type_of(solve, solve->out[i]);
        KILN_TRY(kn_typing_like(t, i, y.dtype, y));
    }
    return KILN_OK;
}

static kiln_status lower_written(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j;
    return kn_low_inline(b, e->params[0].jaxpr, e, x, y);
}

static kiln_status batch_written(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    kn_param *own = kn_lanes_params(&m);
    const kn_jaxpr *solve = e->params[0].jaxpr;
    bool *lanes = KN_NEWN(&b->prog->arena, bool, e->nin + 1), *found = KN_NEWN(&b->prog->arena, bool, e->nout + 1);
    KILN_TRY_MEM(b->ctx, own && lanes && found);
    for (uint32_t i = 0; i < kn_nargs(solve); i++) lanes[i] = kn_has_lanes(&m, i);
    KILN_TRY(r->batch(r, solve, m.size, lanes, NULL, &own[0].jaxpr, found));
    for (uint32_t i = 0; i < e->nout; i++) out_axis[i] = found[i] ? 0 : KN_NO_LANES;
    return kn_lanes_emit(&m, own, x, y);
}

KILN_PRIM(CustomRoot) = {
    .name = "CustomRoot",
    .nin = KN_VARIADIC,
    .nout = KN_VARIADIC,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(written_params),
    .type = type_written,
    .lower = lower_written,
    .batch = batch_written,
    .sample = kn_sample_call,
    .doc = "A root, found by the program `solve_jaxpr`, as JAX writes custom_root. The text does not say of which function: without a derivative.",
};
