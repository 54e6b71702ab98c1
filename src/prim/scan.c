/* SPDX-License-Identifier: Apache-2.0 */
/* scan: a body repeated over the slices of arrays along dimension 0, carrying values. The counts of constants and carries
 * stand in num_consts and num_carry, or follow from ft_in, whose three groups hold one leaf an operand. */
#include "array/size.h"
#include "prim/batch_control.h"
#include "prim/common.h"
#include "prim/control.h"
#include "prim/derive.h"
#include "prim/lowering.h"
#include "prim/sample.h"

enum { SCAN_SPLIT, SCAN_FT_IN, SCAN_FT_OUT, SCAN_JAXPR, SCAN_LENGTH, SCAN_LINEAR, SCAN_CARRY, SCAN_CONSTS, SCAN_REVERSE, SCAN_UNROLL };
enum { HIDDEN = KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE };
static const kn_param_spec scan_params[] = {
    {"_split_transpose", KN_P_NONE, HIDDEN},
    {"ft_in", KN_P_NONE, HIDDEN},
    {"ft_out", KN_P_NONE, HIDDEN},
    {"jaxpr", KN_P_JAXPR, 0},
    {"length", KN_P_INT, 0},
    {"linear", KN_P_NONE, HIDDEN},
    {"num_carry", KN_P_INT, KN_PARAM_OPTIONAL | KN_PARAM_FROM(SCAN_FT_IN)},
    {"num_consts", KN_P_INT, KN_PARAM_OPTIONAL | KN_PARAM_FROM(SCAN_FT_IN)},
    {"reverse", KN_P_BOOL, 0},
    {"unroll", KN_P_NONE, KN_PARAM_OPTIONAL},
};

/* ft_in is a tree of operands, whose leaves print as None or *; Pytree(vals, tree) lists them beside its tree. RightsOnly(tree), which JAX's
 * derivatives leave, holds leaves that are Left(leaf) or Right(leaf), of which only the right ones are operands. */
static bool is_record(const kn_param *p, const char *name) { return p->kind == KN_P_RECORD && p->n > 0 && p->name && strcmp(p->name, name) == 0; }

static const kn_param *field(const kn_param *record, const char *key)
{
    for (uint32_t i = 0; record->keys && i < record->n; i++)
        if (strcmp(record->keys[i], key) == 0) return &record->items[i];
    return NULL;
}

/* Is a leaf inside of `filters` RightsOnly an operand? */
static bool is_operand(const kn_param *leaf, uint32_t filters)
{
    for (; filters; filters--, leaf = &leaf->items[0])
        if (!is_record(leaf, "Right")) return false;
    return true;
}

static uint32_t operands(const kn_param *p, uint32_t filters)
{
    uint32_t n = 0;
    if (p->kind == KN_P_INTS) return p->n;
    if (is_record(p, "RightsOnly")) return operands(&p->items[0], filters + 1);
    if (is_record(p, "Left") || is_record(p, "Right")) return is_operand(p, filters);
    const kn_param *vals = is_record(p, "Pytree") ? field(p, "vals") : NULL;
    if (vals) return operands(vals, filters);
    if (p->kind != KN_P_TUPLE && p->kind != KN_P_RECORD) return filters == 0;
    for (uint32_t i = 0; i < p->n; i++) n += operands(&p->items[i], filters);
    return n;
}

/* How many operands each of the three groups holds; false: there are no three groups. */
static bool group_sizes(const kn_param *p, uint32_t sizes[3])
{
    uint32_t filters = 0, at = 0;
    for (; is_record(p, "RightsOnly"); p = &p->items[0]) filters++;
    const kn_param *vals = is_record(p, "Pytree") ? field(p, "vals") : NULL, *tree = vals ? field(p, "tree") : p;
    while (tree && tree->kind == KN_P_RECORD && tree->n == 1) tree = &tree->items[0];
    if (!tree || tree->kind != KN_P_TUPLE || tree->n != 3) return false;
    for (uint32_t g = 0; g < 3; g++) {
        sizes[g] = operands(&tree->items[g], vals ? 0 : filters);
        if (!vals || filters == 0) continue;
        uint32_t end = at + sizes[g]; /* of the leaves that are listed */
        if (vals->kind != KN_P_TUPLE || end > vals->n) return false;
        for (sizes[g] = 0; at < end; at++) sizes[g] += is_operand(&vals->items[at], filters);
    }
    return true;
}

static bool counts(const kn_param *params, uint32_t *consts, uint32_t *carries)
{
    const kn_param *c = &params[SCAN_CONSTS], *n = &params[SCAN_CARRY];
    uint32_t sizes[3];
    if (c->kind == KN_P_INT && n->kind == KN_P_INT && c->i >= 0 && n->i >= 0 && c->i < UINT32_MAX / 2 && n->i < UINT32_MAX / 2) {
        *consts = (uint32_t)c->i, *carries = (uint32_t)n->i;
        return true;
    }
    if (!group_sizes(&params[SCAN_FT_IN], sizes)) return false;
    *consts = sizes[0], *carries = sizes[1];
    return true;
}

kn_scan_parts kn_scan_parts_of(const kn_eqn *e)
{
    kn_scan_parts p = {.body = e->params[SCAN_JAXPR].jaxpr, .length = e->params[SCAN_LENGTH].i, .reverse = e->params[SCAN_REVERSE].b};
    counts(e->params, &p.consts, &p.carries);
    p.xs = e->nin - p.consts - p.carries;
    p.ys = e->nout - p.carries;
    return p;
}

/* A tuple of tuples of None, one None an operand: the groups of ft_in and ft_out. */
static kiln_status tree_of(kiln_ctx *ctx, kn_arena *arena, const uint32_t *n, uint32_t groups_n, kn_param *out)
{
    kn_param *group = KN_NEWN(arena, kn_param, groups_n);
    KILN_TRY_MEM(ctx, group);
    for (uint32_t g = 0; g < groups_n; g++) {
        kn_param *leaf = KN_NEWN(arena, kn_param, n[g]);
        KILN_TRY_MEM(ctx, leaf);
        for (uint32_t i = 0; i < n[g]; i++) leaf[i] = KN_NONE;
        group[g] = KN_TUPLE(n[g], leaf);
    }
    *out = KN_TUPLE(groups_n, group);
    return KILN_OK;
}

void kn_scan_plain(int64_t length, bool reverse, kn_param *params)
{
    for (uint32_t i = 0; i < KN_SCAN_PARAMS; i++) params[i] = KN_NONE;
    params[SCAN_LENGTH] = KN_INT(length);
    params[SCAN_REVERSE] = KN_BOOL(reverse);
    params[SCAN_UNROLL] = KN_INT(1);
}

kiln_status kn_scan_params(kiln_ctx *ctx, kn_arena *arena, const kn_eqn *like, const kn_jaxpr *body, const uint32_t n[3], uint32_t ys,
                           kn_param *params)
{
    const uint32_t results[2] = {n[1], ys};
    if (like) memcpy(params, like->params, KN_SCAN_PARAMS * sizeof *params);
    params[SCAN_SPLIT] = params[SCAN_LINEAR] = KN_NONE;
    params[SCAN_JAXPR] = KN_JAXPR(body);
    params[SCAN_CONSTS] = KN_INT(n[0]);
    params[SCAN_CARRY] = KN_INT(n[1]);
    KILN_TRY(tree_of(ctx, arena, n, 3, &params[SCAN_FT_IN]));
    return tree_of(ctx, arena, results, 2, &params[SCAN_FT_OUT]);
}

static kiln_type row(kiln_type t) { return (kiln_type){t.dtype, t.rank - 1, t.rank > 1 ? t.dims + 1 : NULL}; }

static kiln_status type_scan(kn_typing *t)
{
    const kn_jaxpr *body;
    int64_t length, *dims;
    bool reverse;
    uint32_t consts, carries;
    KILN_TRY(kn_typing_jaxpr(t, SCAN_JAXPR, &body));
    KILN_TRY(kn_typing_int(t, SCAN_LENGTH, &length));
    KILN_TRY(kn_typing_bool(t, SCAN_REVERSE, &reverse));
    if (length < 0) return kn_fail(t->ctx, KILN_INVALID, "scan: length is %lld; accepted: 0 or more", (long long)length);
    if (!counts(t->params, &consts, &carries))
        return kn_fail(t->ctx, KILN_INVALID, "scan: ft_in must hold three groups (constants, carries, slices), or num_consts and num_carry be given");
    if (consts + carries > t->nin || carries > body->nout)
        return kn_fail(t->ctx, KILN_INVALID, "scan: %u constants and %u carries do not fit %u operands and %u results of the body", consts,
                       carries, t->nin, body->nout);
    kiln_type *args;
    KILN_TRY_MEM(t->ctx, args = KN_NEWN(t->arena, kiln_type, t->nin));
    for (uint32_t i = 0; i < t->nin; i++) {
        args[i] = t->in[i];
        if (i < consts + carries) continue;
        if (t->in[i].rank == 0 || t->in[i].dims[0] != length)
            return kn_fail(t->ctx, KILN_SHAPE, "scan: operand %u is %s; its dimension 0 must be the length, %lld", i,
                           kn_type_show(t->in[i]).s, (long long)length);
        args[i] = row(t->in[i]);
    }
    KILN_TRY(kn_typing_body_in(t, body, "the body", args, t->nin, 0));
    KILN_TRY(kn_typing_out(t, body->nout));
    for (uint32_t i = 0; i < body->nout; i++) {
        kiln_type y = kn_type_of(body, body->out[i]);
        if (i < carries) {
            if (!kiln_type_equal(y, t->in[consts + i]))
                return kn_fail(t->ctx, y.dtype == t->in[consts + i].dtype ? KILN_SHAPE : KILN_DTYPE,
                               "scan: carry %u enters the body as %s and leaves it as %s", i, kn_type_show(t->in[consts + i]).s,
                               kn_type_show(y).s);
            KILN_TRY(kn_typing_like(t, i, y.dtype, y));
            continue;
        }
        KILN_TRY(kn_typing_shape(t, i, y.dtype, y.rank + 1, &dims));
        dims[0] = length;
        for (uint32_t d = 0; d < y.rank; d++) dims[d + 1] = y.dims[d];
        if (kiln_type_size(t->out[i]) < 0)
            return kn_fail(t->ctx, KILN_SHAPE, "scan: stacked result %s is too large", kn_type_show(t->out[i]).s);
    }
    return KILN_OK;
}

static void release(kiln_array **v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) kiln_array_release(v[i]), v[i] = NULL;
}

/* One trip: args holds constants, carries (owned), then room for slices; results for what the body gives. */
static kiln_status trip(kn_eval *ev, const kn_scan_parts *p, kiln_array *const *xs, int64_t k, kiln_array **args, kiln_array **results,
                        kiln_array **out)
{
    kiln_array **slices = args + p->consts + p->carries, **carry = args + p->consts;
    kiln_status s = KILN_OK;
    for (uint32_t i = 0; s == KILN_OK && i < p->xs; i++) {
        s = kiln_array_create(ev->ctx, row(xs[i]->type), &slices[i]);
        if (s == KILN_OK && slices[i]->bytes)
            memcpy(slices[i]->data, (char *)xs[i]->data + (size_t)k * slices[i]->bytes, slices[i]->bytes);
    }
    if (s == KILN_OK) s = ev->run(ev, p->body, args, results);
    release(slices, p->xs);
    KILN_TRY(s);
    for (uint32_t i = 0; i < p->carries; i++) {
        kiln_array_release(carry[i]);
        carry[i] = results[i];
    }
    for (uint32_t i = p->carries; i < p->carries + p->ys; i++) {
        if (results[i]->bytes) memcpy((char *)out[i]->data + (size_t)k * results[i]->bytes, results[i]->data, results[i]->bytes);
        kiln_array_release(results[i]);
    }
    return KILN_OK;
}

static kiln_status eval_scan(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)j;
    kn_scan_parts p = kn_scan_parts_of(e);
    size_t room = (size_t)e->nin + e->nout;
    kiln_array **args = kn_new(&ev->ctx->alloc, room * sizeof *args), **carry = args + p.consts;
    KILN_TRY_MEM(ev->ctx, args);
    for (uint32_t i = 0; i < p.consts + p.carries; i++) args[i] = i < p.consts ? in[i] : kiln_array_retain(in[i]);
    kiln_status s = KILN_OK;
    for (int64_t i = 0; s == KILN_OK && i < p.length; i++) {
        if (ev->stop && *ev->stop) s = kn_fail(ev->ctx, KILN_CANCELLED, "stopped on request inside a scan");
        else s = trip(ev, &p, in + p.consts + p.carries, p.reverse ? p.length - 1 - i : i, args, args + e->nin, out);
    }
    if (s == KILN_OK) {
        release(out, p.carries);
        for (uint32_t i = 0; i < p.carries; i++) out[i] = carry[i];
    } else {
        release(carry, p.carries);
    }
    kn_free(&ev->ctx->alloc, args, room * sizeof *args);
    return s;
}

/* ---- lowering: a while whose carries are the index, the carries and the stacked results ---- */

typedef struct scan_low {
    kn_scan_parts p;
    const kn_jaxpr *j;
    const kn_eqn *e;
    kiln_dtype index;
    uint32_t n; /* carries of the while: index, carries, ys */
} scan_low;

static kiln_type while_type(const scan_low *s, uint32_t i) /* of carry i of the while */
{
    if (i == 0) return KILN_SCALAR(s->index);
    return kn_out_type(s->j, s->e, i - 1);
}

static kiln_status low_cond(const scan_low *s, kn_build *outer, const kn_jaxpr **out)
{
    kn_build b;
    kn_build_init(&b, outer->ctx, outer->prog);
    b.scope = s->e->scope, b.loc = s->e->loc;
    kn_atom in, index = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        KILN_TRY(kn_build_input(&b, while_type(s, i), &in));
        if (i == 0) index = in;
    }
    kn_low l = {&b, KILN_OK};
    kn_atom end = kn_low_size(&l, s->index, s->p.length);
    kn_atom more = kn_low2(&l, &kn_prim_lt, index, end);
    KILN_TRY(l.status);
    return kn_build_finish(&b, &more, 1, out);
}

/* start indices (index, 0, 0, ...) behind `first` operands */
static kiln_status starts(kn_build *b, const scan_low *s, kn_atom index, uint32_t rank, kn_atom *at)
{
    at[0] = index;
    for (uint32_t d = 1; d < rank; d++) KILN_TRY(kn_build_literal(b, s->index, (kn_scalar){.i = 0}, &at[d]));
    return KILN_OK;
}

static kiln_status take_row(kn_low *l, const scan_low *s, kn_atom xs, kn_atom index, kn_atom *out)
{
    kiln_type t = kn_build_type(l->b, xs);
    int64_t sizes[KN_MAX_RANK];
    kn_atom in[KN_MAX_RANK + 1] = {xs};
    for (uint32_t d = 0; d < t.rank; d++) sizes[d] = d ? t.dims[d] : 1;
    KILN_TRY(starts(l->b, s, index, t.rank, in + 1));
    kn_atom slice = kn_low_op(l, &kn_prim_dynamic_slice, &KN_INTS(t.rank, sizes), in, t.rank + 1);
    *out = kn_low_reshape(l, slice, t.rank - 1, sizes + 1);
    return l->status;
}

static kiln_status put_row(kn_low *l, const scan_low *s, kn_atom ys, kn_atom y, kn_atom index, kn_atom *out)
{
    kiln_type t = kn_build_type(l->b, ys);
    int64_t sizes[KN_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++) sizes[d] = d ? t.dims[d] : 1;
    kn_atom in[KN_MAX_RANK + 2] = {ys, kn_low_reshape(l, y, t.rank, sizes)};
    KILN_TRY(starts(l->b, s, index, t.rank, in + 2));
    *out = kn_low_op(l, &kn_prim_dynamic_update_slice, NULL, in, t.rank + 2);
    return l->status;
}

static kiln_status low_body(const scan_low *s, kn_build *outer, const kn_jaxpr **out)
{
    const kn_scan_parts *p = &s->p;
    kn_build b;
    kn_build_init(&b, outer->ctx, outer->prog);
    b.scope = s->e->scope, b.loc = s->e->loc;
    kn_arena *arena = &outer->prog->arena;
    kn_atom *in = KN_NEWN(arena, kn_atom, p->consts + p->xs + s->n), *args = KN_NEWN(arena, kn_atom, s->e->nin);
    kn_atom *results = KN_NEWN(arena, kn_atom, s->e->nout), *next = KN_NEWN(arena, kn_atom, s->n);
    KILN_TRY_MEM(b.ctx, in && args && results && next);
    uint32_t k = 0;
    for (uint32_t i = 0; i < s->e->nin; i++) /* the constants and the arrays are constants of the loop's body */
        if (i < p->consts || i >= p->consts + p->carries) KILN_TRY(kn_build_input(&b, kn_in_type(s->j, s->e, i), &in[k++]));
    for (uint32_t i = 0; i < s->n; i++) KILN_TRY(kn_build_input(&b, while_type(s, i), &in[k++]));
    const kn_atom *xs = in + p->consts, *carry = in + p->consts + p->xs;
    kn_low l = {&b, KILN_OK};
    kn_atom one, last, index = carry[0];
    KILN_TRY(kn_build_literal(&b, s->index, (kn_scalar){.i = 1}, &one));
    if (p->reverse) {
        last = kn_low_size(&l, s->index, p->length - 1);
        index = kn_low2(&l, &kn_prim_sub, last, index);
        KILN_TRY(l.status);
    }
    for (uint32_t i = 0; i < p->consts; i++) args[i] = in[i];
    for (uint32_t i = 0; i < p->carries; i++) args[p->consts + i] = carry[1 + i];
    for (uint32_t i = 0; i < p->xs; i++) KILN_TRY(take_row(&l, s, xs[i], index, &args[p->consts + p->carries + i]));
    KILN_TRY(kn_low_inline(&b, p->body, s->e, args, results));
    next[0] = kn_low2(&l, &kn_prim_add, carry[0], one);
    for (uint32_t i = 0; i < p->carries; i++) next[1 + i] = results[i];
    for (uint32_t i = p->carries; i < s->e->nout; i++) KILN_TRY(put_row(&l, s, carry[1 + i], results[i], index, &next[1 + i]));
    KILN_TRY(l.status);
    return kn_build_finish(&b, next, s->n, out);
}

static kiln_status lower_scan(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    scan_low s = {.p = kn_scan_parts_of(e), .j = j, .e = e, .n = 1 + e->nout};
    const kn_scan_parts *p = &s.p;
    s.index = kn_size_small(p->length) && p->length != INT32_MAX ? KILN_I32 : KILN_I64;
    kn_low l = {b, KILN_OK};
    if (p->length == 0) { /* no row can be taken of an empty array */
        for (uint32_t i = 0; i < e->nout; i++)
            y[i] = i < p->carries ? x[p->consts + i] : kn_low_fill(&l, kn_out_type(j, e, i), (kn_scalar){.u = 0});
        return l.status;
    }
    kn_arena *arena = &b->prog->arena;
    kn_atom *in = KN_NEWN(arena, kn_atom, p->consts + p->xs + s.n), *out = KN_NEWN(arena, kn_atom, s.n);
    KILN_TRY_MEM(b->ctx, in && out);
    const kn_jaxpr *cond, *body;
    KILN_TRY(low_cond(&s, b, &cond));
    KILN_TRY(low_body(&s, b, &body));
    uint32_t k = 0;
    for (uint32_t i = 0; i < e->nin; i++)
        if (i < p->consts || i >= p->consts + p->carries) in[k++] = x[i];
    KILN_TRY(kn_build_literal(b, s.index, (kn_scalar){.i = 0}, &in[k++]));
    for (uint32_t i = 0; i < e->nout; i++)
        in[k++] = i < p->carries ? x[p->consts + i] : kn_low_fill(&l, kn_out_type(j, e, i), (kn_scalar){.u = 0});
    KILN_TRY(l.status);
    kn_param params[KN_WHILE_PARAMS] = {KN_JAXPR(body), KN_INT(p->consts + p->xs), KN_JAXPR(cond), KN_INT(0)};
    KILN_TRY(kn_build_eqn(b, &kn_prim_while, params, in, k, out, s.n));
    for (uint32_t i = 0; i < e->nout; i++) y[i] = out[1 + i];
    return KILN_OK;
}

/* ---- derivatives ---- */

/* Constants, carries, arrays, each group followed by its tangents; results so too. */
static kiln_status jvp_scan(KN_JVP_ARGS)
{
    kn_scan_parts p = kn_scan_parts_of(e);
    kn_arena *arena = &b->prog->arena;
    bool *nonzero = KN_NEWN(arena, bool, e->nin), *found = KN_NEWN(arena, bool, e->nout);
    kn_atom *in = KN_NEWN(arena, kn_atom, 2 * e->nin), *out = KN_NEWN(arena, kn_atom, 2 * e->nout);
    KILN_TRY_MEM(b->ctx, nonzero && found && in && out);
    for (uint32_t i = 0; i < e->nin; i++) nonzero[i] = dx[i] != KN_SYMBOLIC_ZERO;
    const kn_jaxpr *body;
    KILN_TRY(kn_loop_tangents(r, b, p.body, p.consts, p.carries, nonzero, &body, found));
    const uint32_t first[4] = {0, p.consts, p.consts + p.carries, e->nin};
    uint32_t sizes[6] = {p.consts, p.carries, p.xs, 0, 0, 0}, at = 0;
    kn_low l = {b, KILN_OK};
    for (uint32_t g = 0; g < 3; g++) {
        for (uint32_t i = first[g]; i < first[g + 1]; i++) in[at++] = x[i];
        for (uint32_t i = first[g]; i < first[g + 1]; i++)
            if (nonzero[i]) in[at++] = kn_derive_value(&l, dx[i], kn_in_type(j, e, i)), sizes[3 + g]++;
    }
    KILN_TRY(l.status);
    KILN_TRY(kn_body_regroup(b->ctx, arena, body, sizes, (uint32_t[]){0, 3, 1, 4, 2, 5}, 6, &body));
    uint32_t results[4] = {p.carries, p.ys, 0, 0}, n[3] = {sizes[0] + sizes[3], sizes[1] + sizes[4], sizes[2] + sizes[5]};
    for (uint32_t i = 0; i < e->nout; i++) results[i < p.carries ? 2 : 3] += found[i];
    KILN_TRY(kn_body_regroup_results(b->ctx, arena, body, results, (uint32_t[]){0, 2, 1, 3}, 4, &body));
    kn_param params[KN_SCAN_PARAMS];
    KILN_TRY(kn_scan_params(b->ctx, arena, e, body, n, body->nout - n[1], params));
    KILN_TRY(kn_build_eqn(b, e->prim, params, in, at, out, body->nout));
    const kn_atom *from[4] = {out, out + n[1], out + p.carries, out + n[1] + p.ys};
    for (uint32_t i = 0; i < e->nout; i++) {
        uint32_t g = i >= p.carries;
        y[i] = *from[g]++;
        if (found[i]) dy[i] = *from[2 + g]++;
    }
    return KILN_OK;
}

typedef struct scan_back {
    bool *linear, *given, *wanted, *onto, *found; /* per operand or result of the equation */
    uint32_t consts, xs, linear_consts, given_ys; /* how many: operands that are not linear, ... */
} scan_back;

static kiln_status back_flags(kn_build *b, const kn_eqn *e, const kn_scan_parts *p, const kn_atom *x, const kn_atom *ct, scan_back *s)
{
    bool *all = KN_NEWN(&b->prog->arena, bool, 4 * e->nin + e->nout);
    KILN_TRY_MEM(b->ctx, all);
    s->linear = all, s->wanted = all + e->nin, s->onto = all + 2 * e->nin, s->found = all + 3 * e->nin, s->given = all + 4 * e->nin;
    for (uint32_t i = 0; i < e->nin; i++) {
        bool carry = i >= p->consts && i < p->consts + p->carries;
        s->linear[i] = carry || x[i] == KN_LINEAR;
        s->wanted[i] = carry;
        s->onto[i] = s->linear[i] && i < p->consts;
        s->linear_consts += s->onto[i];
        s->consts += !s->linear[i] && i < p->consts;
        s->xs += !s->linear[i] && i >= p->consts;
    }
    for (uint32_t i = 0; i < e->nout; i++) {
        s->given[i] = i < p->carries || ct[i] != KN_SYMBOLIC_ZERO;
        s->given_ys += i >= p->carries && s->given[i];
    }
    return KILN_OK;
}

/* The other way: carries are what has been found for the linear constants, and the cotangents of the carries; arrays are the cotangents
 * of the stacked results and the arrays that the body reads; stacked results are the cotangents of the linear arrays. */
static kiln_status transpose_scan(KN_TRANSPOSE_ARGS)
{
    kn_scan_parts p = kn_scan_parts_of(e);
    kn_arena *arena = &b->prog->arena;
    scan_back s = {.linear = NULL};
    kn_atom *in = KN_NEWN(arena, kn_atom, e->nin + e->nout), *out = KN_NEWN(arena, kn_atom, e->nin);
    KILN_TRY_MEM(b->ctx, in && out);
    KILN_TRY(back_flags(b, e, &p, x, ct, &s));
    const kn_jaxpr *body;
    KILN_TRY(r->transpose(r, p.body, s.linear, s.given, s.wanted, s.onto, &body, s.found));
    /* arguments: constants, arrays, cotangents of carries, of stacked results, found so far */
    uint32_t sizes[5] = {s.consts, s.xs, p.carries, s.given_ys, s.linear_consts}, at = 0, k = 0;
    KILN_TRY(kn_body_regroup(b->ctx, arena, body, sizes, (uint32_t[]){0, 4, 2, 3, 1}, 5, &body));
    kn_low l = {b, KILN_OK};
    for (uint32_t i = 0; i < p.consts; i++)
        if (!s.linear[i]) in[at++] = x[i];
    for (uint32_t i = 0; i < p.consts; i++)
        if (s.linear[i]) in[at++] = kn_derive_value(&l, ct_in[i], kn_in_type(j, e, i));
    for (uint32_t i = 0; i < e->nout; i++)
        if (s.given[i]) in[at++] = kn_derive_value(&l, ct[i], kn_out_type(j, e, i));
    for (uint32_t i = p.consts + p.carries; i < e->nin; i++)
        if (!s.linear[i]) in[at++] = x[i];
    KILN_TRY(l.status);
    uint32_t n[3] = {s.consts, s.linear_consts + p.carries, s.given_ys + s.xs};
    kn_param params[KN_SCAN_PARAMS];
    KILN_TRY(kn_scan_params(b->ctx, arena, e, body, n, body->nout - n[1], params));
    params[SCAN_REVERSE] = KN_BOOL(!p.reverse);
    KILN_TRY(kn_build_eqn(b, e->prim, params, in, at, out, body->nout));
    for (uint32_t i = 0; i < e->nin; i++) {
        if (!s.found[i]) continue;
        if (x[i] == KN_LINEAR) ct_in[i] = i < p.consts ? out[k] : kn_derive_add(&l, ct_in[i], out[k]);
        k++;
    }
    return l.status;
}

KILN_PRIM(scan) = {
    .name = "scan",
    .nin = KN_VARIADIC,
    .nout = KN_VARIADIC,
    .flags = KN_LEVEL_TRACED | KN_JVP_WHOLE | KN_ACCUMULATES,
    KN_PARAMS(scan_params),
    .type = type_scan,
    .eval = eval_scan,
    .jvp = jvp_scan,
    .transpose = transpose_scan,
    .lower = lower_scan,
    .batch = kn_batch_scan,
    .sample = kn_sample_scan,
    .doc = "Runs the body `length` times over the slices of arrays along dimension 0 (from the end when `reverse`), carrying values; "
           "what the body gives beyond the carries is stacked. Operands: constants, first carries, arrays; results: last carries, "
           "stacked values.",
};
