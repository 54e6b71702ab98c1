/* SPDX-License-Identifier: Apache-2.0 */
/* Making jaxprs equation by equation; every equation passes its primitive's type rule. */
#include "ir/size.h"
#include "ir/prim.h"

#include <math.h>
#include <stdlib.h>

void kn_build_init(kn_build *b, kiln_ctx *ctx, kn_prog *prog) { *b = (kn_build){.ctx = ctx, .prog = prog}; }

kiln_type kn_build_type(const kn_build *b, kn_atom a)
{
    return kn_is_literal(a) ? (kiln_type){.dtype = b->lits.v[kn_literal_index(a)].dtype} : b->vars.v[a].type;
}

/* A variable whose extents stand in the program's arena. */
static kiln_status own_var(kn_build *b, kiln_type type, kn_atom *out)
{
    if (type.rank > KN_RANK_LIMIT)
        return kn_fail(b->ctx, KILN_UNSUPPORTED, "an array has %u dimensions; accepted: at most %d", type.rank, KN_RANK_LIMIT);
    if (b->vars.n >= KN_LITERAL - 1) return kn_fail(b->ctx, KILN_INVALID, "a program has at most 2^31 variables");
    KILN_TRY_MEM(b->ctx, kn_push(&b->prog->arena, &b->vars, (kn_var){type}));
    *out = b->vars.n - 1;
    return KILN_OK;
}
static kiln_status new_var(kn_build *b, kiln_type type, kn_atom *out)
{
    kiln_type own = type;
    if (type.rank <= KN_RANK_LIMIT) KILN_TRY(kn_type_copy(b->ctx, &b->prog->arena, type, &own));
    return own_var(b, own, out);
}

bool kn_build_reserve(kn_build *b, uint32_t vars, uint32_t eqns)
{
    kn_arena *arena = &b->prog->arena;
    return kn_reserve(arena, &b->vars, vars) && kn_reserve(arena, &b->eqns, eqns);
}

kiln_status kn_build_input(kn_build *b, kiln_type type, kn_atom *out)
{
    KILN_TRY(new_var(b, type, out));
    KILN_TRY_MEM(b->ctx, kn_push(&b->prog->arena, &b->args, *out));
    return KILN_OK;
}

kiln_status kn_build_const(kn_build *b, kiln_array *value, kn_atom *out)
{
    kn_arena *arena = &b->prog->arena;
    KILN_TRY(new_var(b, kiln_array_type(value), out));
    KILN_TRY_MEM(b->ctx, kn_push(arena, &b->const_vars, *out) && kn_push(arena, &b->consts, value) &&
                             kn_push(arena, &b->prog->arrays, value));
    kiln_array_retain(value);
    return KILN_OK;
}

kiln_status kn_build_hole(kn_build *b, kiln_type type, kn_atom *out)
{
    kn_arena *arena = &b->prog->arena;
    KILN_TRY(new_var(b, type, out));
    KILN_TRY_MEM(b->ctx, kn_push(arena, &b->const_vars, *out) && kn_push(arena, &b->consts, NULL));
    b->prog->has_holes = true;
    return KILN_OK;
}

kiln_status kn_build_consts(kn_build *b, const kn_jaxpr *j, kn_atom *map)
{
    for (uint32_t i = 0; i < j->nconsts; i++) {
        kn_atom *to = &map[j->in[i]];
        if (j->consts[i]) KILN_TRY(kn_build_const(b, j->consts[i], to));
        else KILN_TRY(kn_build_hole(b, kn_type_of(j, j->in[i]), to));
    }
    return KILN_OK;
}

/* A dimension that depends on the size that is given at run time, taken for a number: the program would count with what stands for it. */
static kiln_status refuse_size(kn_build *b, kiln_dtype dtype, kn_scalar value)
{
    enum { NEAR = 1 << 12 };
    int64_t x = 0, factor, summand;
    char kind = kiln_dtype_kind(dtype), text[KN_SIZE_TEXT];
    if (kind == 'i' || kind == 'u') x = value.i;
    if (kind == 'f' && fabs(value.f) < 1e18 && trunc(value.f) == value.f) x = (int64_t)value.f;
    if (!kn_size_open(x) || !kn_size_split(x, &factor, &summand) || labs(factor) > NEAR || labs(summand) > NEAR) return KILN_OK;
    kn_size_format(x, text, sizeof text);
    kn_place at = {.file = b->loc.file < b->prog->files.n ? b->prog->files.v[b->loc.file] : "", .line = (int)b->loc.line, .column = (int)b->loc.column};
    return kn_fail_at(b->ctx, KILN_UNSUPPORTED, "needs-size", at, "dim_as_value, or a number in place of n", "an operation needs the size %s as a number", text);
}

kiln_status kn_build_literal(kn_build *b, kiln_dtype dtype, kn_scalar value, kn_atom *out)
{
    KILN_TRY(refuse_size(b, dtype, value));
    kn_lit l = {.dtype = dtype, .value = kn_scalar_round(dtype, value)};
    KILN_TRY_MEM(b->ctx, kn_push(&b->prog->arena, &b->lits, l));
    *out = (b->lits.n - 1) | KN_LITERAL;
    return KILN_OK;
}

kiln_status kn_typing_out(kn_typing *t, uint32_t nout)
{
    t->nout = nout;
    t->out = t->few;
    if (nout > sizeof t->few / sizeof *t->few) KILN_TRY_MEM(t->ctx, t->out = KN_NEWN(t->arena, kiln_type, nout));
    return KILN_OK;
}

/* Deep copy of a parameter into the arena; bodies are shared, they live in the same program. */
static kiln_status copy_param(kiln_ctx *ctx, kn_arena *arena, const kn_param *p, kn_param *out)
{
    *out = *p;
    switch (p->kind) {
    case KN_P_TEXT: KILN_TRY_MEM(ctx, out->text = kn_arena_text(arena, p->text)); break;
    case KN_P_INTS:
        KILN_TRY_MEM(ctx, out->ints = kn_arena_copy(arena, p->ints, p->n * sizeof *p->ints));
        if (p->name) KILN_TRY_MEM(ctx, out->name = kn_arena_textn(arena, p->name, p->n));
        break;
    case KN_P_RECORD:
        KILN_TRY_MEM(ctx, out->name = kn_arena_text(arena, p->name));
        if (p->keys) {
            const char **keys = KN_NEWN(arena, const char *, p->n);
            KILN_TRY_MEM(ctx, keys);
            for (uint32_t i = 0; i < p->n; i++) KILN_TRY_MEM(ctx, keys[i] = kn_arena_text(arena, p->keys[i]));
            out->keys = keys;
        } /* fall through */
    case KN_P_TUPLE: {
        kn_param *items = KN_NEWN(arena, kn_param, p->n);
        KILN_TRY_MEM(ctx, items);
        for (uint32_t i = 0; i < p->n; i++) KILN_TRY(copy_param(ctx, arena, &p->items[i], &items[i]));
        out->items = items;
        break;
    }
    default: break;
    }
    return KILN_OK;
}

/* Most equations are elementwise and have no parameter that says anything: they share these. */
static const kn_param nones[4];

static kiln_status copy_params(kn_build *b, const kn_prim *prim, const kn_param *params, const kn_param **out)
{
    kn_param *own;
    uint32_t said = prim->nparams;
    while (said && params[said - 1].kind == KN_P_NONE) said--;
    *out = nones;
    if (!said && prim->nparams <= sizeof nones / sizeof *nones) return KILN_OK;
    KILN_TRY_MEM(b->ctx, own = KN_NEWN(&b->prog->arena, kn_param, prim->nparams));
    for (uint32_t i = 0; i < prim->nparams; i++) KILN_TRY(copy_param(b->ctx, &b->prog->arena, &params[i], &own[i]));
    if ((prim->flags & KN_NUMBERED) && own[0].kind == KN_P_NONE) own[0] = KN_INT(b->prog->numbered++);
    *out = own;
    return KILN_OK;
}

/* Appends an equation; parameters and types stand in the arena. */
static kiln_status push_eqn(kn_build *b, const kn_prim *prim, const kn_param *own, const kn_atom *in, uint32_t nin, const kiln_type *types,
                            kn_atom *out, uint32_t nout)
{
    kn_arena *arena = &b->prog->arena;
    kn_atom *operands = KN_NEWN(arena, kn_atom, (size_t)nin + nout), *results = operands + nin;
    KILN_TRY_MEM(b->ctx, operands);
    if (nin) memcpy(operands, in, nin * sizeof *in);
    for (uint32_t i = 0; i < nout; i++) {
        KILN_TRY(own_var(b, types[i], &results[i]));
        out[i] = results[i];
    }
    kn_eqn e = {prim, own, operands, results, nin, nout, b->scope, b->loc};
    KILN_TRY_MEM(b->ctx, kn_push(arena, &b->eqns, e));
    return KILN_OK;
}

/* Rules read what is to be true or false without asking again. */
static kiln_status check_bools(kiln_ctx *ctx, const kn_prim *prim, const kn_param *params)
{
    for (uint32_t i = 0; i < prim->nparams; i++) {
        kn_param_kind kind = params[i].kind;
        if (prim->params[i].kind != KN_P_BOOL || kind == KN_P_BOOL || kind == KN_P_NONE) continue;
        return kn_fail(ctx, KILN_INVALID, "%s: parameter %s must be True or False", prim->name, prim->params[i].name);
    }
    return KILN_OK;
}

/* A result's dimension that is no a * n + b (array/size.h), of operands that have the size n. */
static kiln_status check_sizes(kiln_ctx *ctx, const kn_typing *t)
{
    int64_t x, y;
    for (uint32_t i = 0; i < t->nout; i++)
        for (uint32_t d = 0; d < t->out[i].rank; d++) {
            if (!kn_size_open(t->out[i].dims[d]) || kn_size_split(t->out[i].dims[d], &x, &y)) continue;
            for (uint32_t k = 0; k < t->nin; k++)
                if (kn_type_open(t->in[k]))
                    return kn_fail(ctx, KILN_UNSUPPORTED, "%s of %s needs the size n: dimension %u of its result is no multiple of n and a number; accepted: "
                                   "a number in place of n", t->prim->name, kn_type_show(t->in[k]).s, d);
        }
    return KILN_OK;
}

kiln_status kn_build_eqn(kn_build *b, const kn_prim *prim, const kn_param *params, const kn_atom *in, uint32_t nin, kn_atom *out,
                         uint32_t nout)
{
    kn_arena *arena = &b->prog->arena;
    if (prim->nin != KN_VARIADIC && prim->nin != nin)
        return kn_fail(b->ctx, KILN_INVALID, "%s takes %u operands, found %u", prim->name, prim->nin, nin);
    kiln_type few[8], *types = few;
    if (nin > 8) KILN_TRY_MEM(b->ctx, types = KN_NEWN(arena, kiln_type, nin));
    for (uint32_t i = 0; i < nin; i++) types[i] = kn_build_type(b, in[i]);
    const kn_param *own;
    KILN_TRY(copy_params(b, prim, params, &own));
    KILN_TRY(check_bools(b->ctx, prim, own));
    kn_typing t = {.ctx = b->ctx, .arena = arena, .prim = prim, .params = own, .in = types, .nin = nin};
    if (!prim->type) return kn_fail(b->ctx, KILN_UNSUPPORTED, "%s has no type rule", prim->name);
    KILN_TRY(prim->type(&t));
    KILN_TRY(check_sizes(b->ctx, &t));
    if (t.nout != nout)
        return kn_fail(b->ctx, KILN_INVALID, "%s gives %u results, %u are asked for", prim->name, t.nout, nout);
    return push_eqn(b, prim, own, in, nin, t.out, out, nout);
}

kiln_status kn_build_finish(kn_build *b, const kn_atom *out, uint32_t nout, const kn_jaxpr **result)
{
    kn_arena *arena = &b->prog->arena;
    kn_jaxpr *j = KN_NEW(arena, kn_jaxpr);
    uint32_t nconsts = b->const_vars.n, nin = nconsts + b->args.n;
    kn_atom *in = KN_NEWN(arena, kn_atom, nin);
    kn_atom *outs = kn_arena_copy(arena, out, nout * sizeof *out);
    KILN_TRY_MEM(b->ctx, j && in && outs);
    if (nconsts) memcpy(in, b->const_vars.v, nconsts * sizeof *in);
    if (b->args.n) memcpy(in + nconsts, b->args.v, b->args.n * sizeof *in);
    *j = (kn_jaxpr){.vars = b->vars.v, .lits = b->lits.v, .in = in, .consts = b->consts.v, .eqns = b->eqns.v, .out = outs, .written = b->written,
                    .nvars = b->vars.n, .nlits = b->lits.n, .nin = nin, .nconsts = nconsts, .neqns = b->eqns.n, .nout = nout,
                    .sized = kn_eqns_use_size(b->eqns.v, b->eqns.n)};
    *result = j;
    return KILN_OK;
}

kn_atom kn_build_map(kn_build *b, const kn_jaxpr *from, kn_atom a, const kn_atom *map, kiln_status *status)
{
    if (!kn_is_literal(a)) return map[a];
    const kn_lit *l = &from->lits[kn_literal_index(a)];
    kn_atom out = 0;
    kiln_status s = kn_build_literal(b, l->dtype, l->value, &out);
    if (s != KILN_OK) *status = s;
    else b->lits.v[kn_literal_index(out)].written = l->written;
    return out;
}

kiln_status kn_build_like(kn_build *b, const kn_jaxpr *from, const kn_eqn *e, const kn_atom *in, kn_atom *out)
{
    const kn_param *own = e->params;
    kiln_type types[8];
    bool same = e->nout <= 8;
    for (uint32_t i = 0; i < e->nin && same; i++) same = kiln_type_equal(kn_build_type(b, in[i]), kn_type_of(from, e->in[i]));
    if (!same) return kn_build_eqn(b, e->prim, e->params, in, e->nin, out, e->nout);
    for (uint32_t i = 0; i < e->nout; i++) types[i] = from->vars[e->out[i]].type;
    if (!b->prog->stage) {
        KILN_TRY(copy_params(b, e->prim, e->params, &own));
        for (uint32_t i = 0; i < e->nout; i++) KILN_TRY(kn_type_copy(b->ctx, &b->prog->arena, types[i], &types[i]));
    }
    return push_eqn(b, e->prim, own, in, e->nin, types, out, e->nout);
}

kiln_status kn_build_copy(kn_build *b, const kn_jaxpr *from, const kn_eqn *e, kn_atom *map)
{
    kn_atom few[8], *in = few;
    kn_atom outs[8], *out = outs;
    if (e->nin > 8) KILN_TRY_MEM(b->ctx, in = KN_NEWN(&b->prog->arena, kn_atom, e->nin));
    if (e->nout > 8) KILN_TRY_MEM(b->ctx, out = KN_NEWN(&b->prog->arena, kn_atom, e->nout));
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < e->nin; i++) in[i] = kn_build_map(b, from, e->in[i], map, &status);
    KILN_TRY(status);
    b->scope = e->scope;
    b->loc = e->loc;
    KILN_TRY(kn_build_like(b, from, e, in, out));
    for (uint32_t i = 0; i < e->nout; i++) map[e->out[i]] = out[i];
    return KILN_OK;
}
