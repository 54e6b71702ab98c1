/* SPDX-License-Identifier: Apache-2.0 */
/* Implicit functions in traces: linear solves, roots, fixed points. The bodies of their equations are traced, those that derivatives need
 * are made of them: the linear map of f by linearization, its transpose, and the solver traced with one and with the other. */
#include "run/implicit.h"

#include "prim/control.h"
#include "prim/lowering.h"
#include "transform/transform.h"

typedef struct site {
    kiln_trace *t;
    const char *op;
    kn_site at;
} site;

/* ---- linear maps ---- */

uint32_t kiln_linear_n(const kiln_linear *a) { return a->n; }

void kiln_linear_apply_at(kiln_trace *t, const kiln_linear *a, const kiln_val *x, kiln_val *y, const char *file, int line)
{
    kn_site at = {file, line};
    for (uint32_t i = 0; i < a->n; i++) y[i] = (kiln_val){0};
    if (!kn_tvals_typed(t, "linear map", "operand", x, a->n, at)) return;
    uint32_t n = a->nconsts + a->n;
    kn_atom *in = KN_NEWN(&t->arena, kn_atom, (size_t)n + a->n + 1), *out = in + n;
    if (!in) {
        kn_tstatus(t, kn_nomem(t->ctx), at);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        kiln_val v = i < a->nconsts ? a->consts[i] : x[i - a->nconsts];
        kiln_type want = kn_type_of(a->body, a->body->in[a->body->nconsts + i]);
        if (i >= a->nconsts && !kiln_type_equal(kn_tval_of(t, v)->type, want)) {
            kn_type_text text;
            kn_tfail(t, KILN_SHAPE, "the type of the unknown", at, "linear map: operand %u is %s, the map takes %s", i - a->nconsts, kn_tshow(t, v, &text),
                     kn_type_show(want).s);
            return;
        }
        if (!kn_tatom(t, t->frame, v, &in[i])) return;
    }
    static const kn_eqn none = {.prim = NULL};
    kn_tstatus(t, kn_low_inline(&t->frame->b, a->body, &none, in, out), at);
    for (uint32_t i = 0; i < a->n && !t->failed; i++) {
        if (kn_is_literal(out[i])) {
            const kn_lit *l = &t->frame->b.lits.v[kn_literal_index(out[i])];
            y[i] = kn_tval_literal(t, l->dtype, l->value);
        } else {
            y[i] = kn_tval_variable(t, t->frame, out[i]);
        }
    }
}

/* The solver for maps of this many elements when none is given. */
static kiln_linear_solve_fn solver(const kiln_trace *t, kiln_linear_solve_fn given, const kiln_val *x, uint32_t n)
{
    enum { DENSE_MOST = 64 };
    int64_t size = 0;
    for (uint32_t i = 0; i < n; i++) size += kiln_type_size(kn_tval_of(t, x[i])->type);
    return given ? given : size <= DENSE_MOST ? kiln_solve_dense : kiln_solve_bicgstab;
}

/* ---- bodies ---- */

typedef struct body {
    const kn_jaxpr *j;
    kn_tframe *f;
} body;

static void *room(const site *s, size_t n, size_t bytes)
{
    void *p = kn_arena_newn(&s->t->arena, n + 1, bytes);
    if (!p) kn_tstatus(s->t, kn_nomem(s->t->ctx), s->at);
    return p;
}

/* fn over inputs of these types; its first n_same results have the types `same`. */
static bool trace_body(const site *s, kiln_call_fn fn, void *user, const kiln_type *types, uint32_t n_in, const kiln_type *same, uint32_t n_same,
                       uint32_t n_out, body *out)
{
    kiln_trace *t = s->t;
    kiln_val *v = room(s, (size_t)n_in + n_out, sizeof *v);
    if (!v || !(out->f = kn_tframe_open(t))) return false;
    kn_tframe_inputs(t, out->f, types, n_in, v);
    if (!t->failed) fn(t, user, v, v + n_in);
    for (uint32_t i = 0; i < n_same && !t->failed; i++)
        if (same[i].rank == 0) v[n_in + i] = kn_tval_adopt(t, s->op, v[n_in + i], same[i].dtype, s->at);
    if (!t->failed && kn_tvals_typed(t, s->op, "result", v + n_in, n_out, s->at))
        for (uint32_t i = 0; i < n_same && !t->failed; i++) {
            kn_type_text text;
            if (!kiln_type_equal(kn_tval_of(t, v[n_in + i])->type, same[i]))
                kn_tfail(t, KILN_SHAPE, "the type of the unknown", s->at, "%s: result %u is %s, the unknown is %s", s->op, i,
                         kn_tshow(t, v[n_in + i], &text), kn_type_show(same[i]).s);
        }
    out->j = kn_tframe_close(t, out->f, v + n_in, n_out, n_in);
    return out->j != NULL;
}

/* A solver in a body: (captured, constants of the map, right sides) -> unknowns. */
typedef struct solving {
    kiln_linear a;
    kiln_linear_solve_fn solve;
    void *user;
} solving;
static void solve_inside(kiln_trace *t, void *user, const kiln_val *in, kiln_val *out)
{
    solving *s = user;
    s->a.consts = in;
    s->solve(t, s->user, &s->a, in + s->a.nconsts, out);
}

/* consts: types of the map's constants, then of the unknowns. */
static bool trace_solver(const site *s, const kn_jaxpr *map, kiln_linear_solve_fn solve, void *user, const kiln_type *types, uint32_t nconsts, uint32_t n,
                         body *out)
{
    solving in = {{map, NULL, nconsts, n}, solve, user};
    return trace_body(s, solve_inside, &in, types, nconsts + n, types + nconsts, n, n, out);
}

/* Operands of the frame that is current: what a body captured. */
static void operands(const site *s, const body *b, kn_atom *in, uint32_t *n)
{
    kn_tframe_operands(s->t, b->f, in + *n);
    *n += b->f->captured.n;
}

static bool transposed(const site *s, const kn_jaxpr *j, uint32_t first, uint32_t n, const kn_jaxpr **out)
{
    kn_rules r;
    uint32_t *which = room(s, n, sizeof *which);
    for (uint32_t i = 0; which && i < n; i++) which[i] = first + i;
    if (!which) return false;
    kiln_status status = kn_rules_init(&r, s->t->ctx, s->t->prog);
    if (status == KILN_OK) status = kn_transposed(&r, j, which, n, out);
    kn_tstatus(s->t, status, s->at);
    return status == KILN_OK;
}

static bool linearized(const site *s, const kn_jaxpr *j, uint32_t first, uint32_t n, const kn_jaxpr **out)
{
    kn_rules r;
    uint32_t *which = room(s, n, sizeof *which);
    for (uint32_t i = 0; which && i < n; i++) which[i] = first + i;
    if (!which) return false;
    kiln_status status = kn_rules_init(&r, s->t->ctx, s->t->prog);
    if (status == KILN_OK) status = kn_linearize(&r, j, which, n, out);
    kn_tstatus(s->t, status, s->at);
    return status == KILN_OK;
}

/* Types of the unknowns, which must be floats. */
static kiln_type *unknowns(const site *s, const kiln_val *v, uint32_t n, kiln_val *out, uint32_t n_out)
{
    for (uint32_t i = 0; i < n_out; i++) out[i] = (kiln_val){0};
    if (!kn_tvals_typed(s->t, s->op, "unknown", v, n, s->at)) return NULL;
    kiln_type *types = room(s, n, sizeof *types);
    for (uint32_t i = 0; types && i < n; i++) {
        types[i] = kn_tval_of(s->t, v[i])->type;
        if (kn_has_tangent(types[i])) continue;
        kn_tfail(s->t, KILN_DTYPE, "floats", s->at, "%s: unknown %u is %s", s->op, i, kn_type_show(types[i]).s);
        return NULL;
    }
    return types;
}

/* Types of what a body captured, then of the unknowns, `times` over. */
static kiln_type *map_types(const site *s, const body *b, const kiln_type *x, uint32_t n, uint32_t times)
{
    uint32_t k = b->f->captured.n;
    kiln_type *types = room(s, (size_t)k + (size_t)times * n, sizeof *types);
    for (uint32_t i = 0; types && i < k; i++) types[i] = kn_tval_of(s->t, b->f->captured.v[i])->type;
    for (uint32_t r = 0; types && r < times; r++)
        for (uint32_t i = 0; i < n; i++) types[k + r * n + i] = x[i];
    return types;
}

static bool pass(const site *s, const kiln_val *v, uint32_t n, kn_atom *in, uint32_t *at)
{
    for (uint32_t i = 0; i < n; i++)
        if (!kn_tatom(s->t, s->t->frame, v[i], &in[(*at)++])) return false;
    return true;
}

/* ---- the equations ---- */

void kiln_custom_linear_solve_at(kiln_trace *t, kiln_call_fn matvec, void *user, kiln_linear_solve_fn solve, void *solve_user, bool symmetric,
                                 const kiln_val *b, uint32_t n, kiln_val *x, const char *file, int line)
{
    const site s = {t, "custom_linear_solve", {file, line}};
    kiln_type *types = unknowns(&s, b, n, x, n), *all;
    body a, own, other;
    const kn_jaxpr *map[2];
    if (!types || !trace_body(&s, matvec, user, types, n, types, n, n, &a) || !(all = map_types(&s, &a, types, n, 1))) return;
    uint32_t nc = a.f->captured.n, at = 0;
    map[0] = map[1] = a.j;
    solve = solver(t, solve, b, n);
    if (!symmetric && !transposed(&s, a.j, nc, n, &map[1])) return;
    if (!trace_solver(&s, map[0], solve, solve_user, all, nc, n, &own)) return;
    other = own;
    if (!symmetric && !trace_solver(&s, map[1], solve, solve_user, all, nc, n, &other)) return;
    const uint32_t lengths[4] = {nc, nc, own.f->captured.n + nc, other.f->captured.n + nc};
    kn_param p[KN_LINEAR_SOLVE_PARAMS];
    kn_atom *in = room(&s, (size_t)lengths[0] + lengths[1] + lengths[2] + lengths[3] + n, sizeof *in);
    if (!in) return;
    operands(&s, &a, in, &at);
    operands(&s, &a, in, &at);
    operands(&s, &own, in, &at);
    operands(&s, &a, in, &at);
    operands(&s, &other, in, &at);
    operands(&s, &a, in, &at);
    if (t->failed || !pass(&s, b, n, in, &at)) return;
    kn_tstatus(t, kn_linear_solve_params(t->ctx, &t->prog->arena, lengths, (const kn_jaxpr *const[4]){map[0], map[1], own.j, other.j}, p), s.at);
    if (!t->failed) kn_temit_atoms(t, s.op, (kn_named[]){{"const_lengths", p[0]}, {"jaxprs", p[1]}}, 2, in, at, x, n, s.at);
}

void kiln_custom_root_at(kiln_trace *t, const kiln_root *q, const kiln_val *guess, uint32_t n, kiln_val *out, const char *file, int line)
{
    const site s = {t, "custom_root", {file, line}};
    kiln_type *types = unknowns(&s, guess, n, out, n + q->n_aux), *all;
    body f, solve, own, other;
    const kn_jaxpr *map[2];
    if (!types || !trace_body(&s, q->f, q->f_user, types, n, types, n, n, &f)) return;
    if (!trace_body(&s, q->solve, q->solve_user, types, n, types, n, n + q->n_aux, &solve) || !(all = map_types(&s, &f, types, n, 2))) return;
    uint32_t nf = f.f->captured.n, at = 0;
    kiln_linear_solve_fn tangent = solver(t, q->tangent_solve, guess, n);
    if (!linearized(&s, f.j, nf, n, &map[0]) || !transposed(&s, map[0], nf + n, n, &map[1])) return;
    if (!trace_solver(&s, map[0], tangent, q->tangent_user, all, nf + n, n, &own)) return;
    if (!trace_solver(&s, map[1], tangent, q->tangent_user, all, nf + n, n, &other)) return;
    const uint32_t lengths[4] = {nf, solve.f->captured.n, own.f->captured.n, other.f->captured.n};
    kn_param p[KN_ROOT_PARAMS];
    kn_atom *in = room(&s, (size_t)lengths[0] + lengths[1] + lengths[2] + lengths[3] + n, sizeof *in);
    if (!in) return;
    operands(&s, &f, in, &at);
    operands(&s, &solve, in, &at);
    operands(&s, &own, in, &at);
    operands(&s, &other, in, &at);
    if (t->failed || !pass(&s, guess, n, in, &at)) return;
    kn_tstatus(t, kn_root_params(t->ctx, &t->prog->arena, lengths, (const kn_jaxpr *const[6]){f.j, map[0], map[1], solve.j, own.j, other.j}, p), s.at);
    if (!t->failed) kn_temit_atoms(t, s.op, (kn_named[]){{"const_lengths", p[0]}, {"jaxprs", p[1]}}, 2, in, at, out, n + q->n_aux, s.at);
}

/* ---- fixed points ---- */

typedef struct fixed {
    kiln_call_fn g;
    void *user;
    double tolerance;
    int32_t most;
    uint32_t n;
    kn_site at;
} fixed;

static void minus_x(kiln_trace *t, void *user, const kiln_val *x, kiln_val *out)
{
    const fixed *f = user;
    f->g(t, f->user, x, out);
    for (uint32_t i = 0; i < f->n; i++) out[i] = kiln_op2(t, "sub", out[i], x[i], f->at.file, f->at.line);
}

/* carry: x, how often g was applied, the last change */
static kiln_val goes_on(kiln_trace *t, void *user, const kiln_val *carry)
{
    const fixed *f = user;
    kiln_val far = kiln_gt(t, carry[f->n + 1], kiln_num(t, f->tolerance));
    return kiln_and(t, far, kiln_lt(t, carry[f->n], kiln_num(t, f->most)));
}
static void once(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    const fixed *f = user;
    kiln_val most = {0};
    kiln_dtype d = kiln_val_type(t, carry[f->n + 1]).dtype;
    f->g(t, f->user, carry, next);
    for (uint32_t i = 0; i < f->n; i++) {
        kiln_val size = kiln_add(t, kiln_abs(t, next[i]), kiln_num(t, 1));
        kiln_val change = kiln_div(t, kiln_abs(t, kiln_sub(t, next[i], carry[i])), size);
        change = kiln_convert(t, kiln_val_type(t, change).rank ? kiln_max_all(t, change) : change, d);
        most = i ? kiln_max(t, most, change) : change;
    }
    next[f->n] = kiln_add(t, carry[f->n], kiln_num(t, 1));
    next[f->n + 1] = most;
}

static void repeat(kiln_trace *t, void *user, const kiln_val *guess, kiln_val *out)
{
    const fixed *f = user;
    kiln_val *init = KN_NEWN(&t->arena, kiln_val, 2 * ((size_t)f->n + 2)), *last = init + f->n + 2;
    if (!init) {
        kn_tstatus(t, kn_nomem(t->ctx), f->at);
        return;
    }
    memcpy(init, guess, f->n * sizeof *init);
    init[f->n] = kiln_int(t, KILN_I32, 0);
    init[f->n + 1] = kn_tval_literal(t, kiln_dtype_kind(kiln_val_type(t, guess[0]).dtype) == 'c' ? KILN_F64 : kiln_val_type(t, guess[0]).dtype,
                                     (kn_scalar){.f = __builtin_inf()});
    kiln_while_at(t, goes_on, once, user, init, f->n + 2, last, f->at.file, f->at.line);
    memcpy(out, last, (f->n + 1) * sizeof *out);
}

void kiln_fixed_point_at(kiln_trace *t, kiln_call_fn g, void *user, const kiln_fixed_point_opts *opts, const kiln_val *guess, uint32_t n, kiln_val *out,
                         const char *file, int line)
{
    const kiln_fixed_point_opts o = opts ? *opts : (kiln_fixed_point_opts){0};
    kn_site at = {file, line};
    for (uint32_t i = 0; i <= n; i++) out[i] = (kiln_val){0};
    if (!kn_tvals_typed(t, "fixed_point", "unknown", guess, n, at)) return;
    if (n == 0 || o.tolerance < 0 || o.most < 0) {
        kn_tfail(t, KILN_INVALID, "at least one unknown, a tolerance and a number of iterations of 0 and more", at, "fixed_point: %u unknowns", n);
        return;
    }
    double tolerance = kn_tval_of(t, guess[0])->type.dtype == KILN_F32 ? 1e-6 : 1e-13;
    fixed f = {g, user, o.tolerance > 0 ? o.tolerance : tolerance, o.most ? o.most : 1000, n, at};
    const kiln_root q = {minus_x, &f, repeat, &f, 1, o.tangent_solve, o.tangent_user};
    kiln_custom_root_at(t, &q, guess, n, out, file, line);
}
