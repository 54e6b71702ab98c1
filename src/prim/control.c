/* SPDX-License-Identifier: Apache-2.0 */
/* while and cond. */
#include "prim/batch_control.h"
#include "prim/control.h"
#include "prim/common.h"
#include "prim/derive.h"
#include "prim/sample.h"

static kiln_status body_out(const kn_typing *t, const kn_jaxpr *body, const char *what, const kiln_type *want, uint32_t n)
{
    if (body->nout != n)
        return kn_fail(t->ctx, KILN_INVALID, "%s: %s gives %u results, %u are needed", t->prim->name, what, body->nout, n);
    for (uint32_t i = 0; i < n; i++) {
        kiln_type have = kn_type_of(body, body->out[i]);
        if (!kiln_type_equal(have, want[i]))
            return kn_fail(t->ctx, have.dtype == want[i].dtype ? KILN_SHAPE : KILN_DTYPE, "%s: result %u of %s is %s, but %s is needed",
                           t->prim->name, i, what, kn_type_show(have).s, kn_type_show(want[i]).s);
    }
    return KILN_OK;
}

/* ---- while ---- */

enum { WHILE_BODY, WHILE_BODY_CONSTS, WHILE_COND, WHILE_COND_CONSTS };
static const kn_param_spec while_params[] = {
    {"body_jaxpr", KN_P_JAXPR, 0},
    {"body_nconsts", KN_P_INT, 0},
    {"cond_jaxpr", KN_P_JAXPR, KN_PARAM_FIRST},
    {"cond_nconsts", KN_P_INT, 0},
    {"lanes", KN_P_INT, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
    {"max_trips", KN_P_INT, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
    {"record", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
};

kn_while_parts kn_while_parts_of(const kn_eqn *e)
{
    const kn_param *p = e->params;
    return (kn_while_parts){p[WHILE_COND].jaxpr, p[WHILE_BODY].jaxpr, (uint32_t)p[WHILE_COND_CONSTS].i, (uint32_t)p[WHILE_BODY_CONSTS].i};
}

/* Groups of these sizes from `from` on, in the order of turn. */
static void regroup(const kn_atom *from, const uint32_t *sizes, const uint32_t *turn, uint32_t n, kn_atom *to)
{
    for (uint32_t k = 0; k < n; k++) {
        const kn_atom *start = from;
        for (uint32_t g = 0; g < turn[k]; g++) start += sizes[g];
        memcpy(to, start, sizes[turn[k]] * sizeof *to);
        to += sizes[turn[k]];
    }
}

kiln_status kn_body_regroup(kiln_ctx *ctx, kn_arena *arena, const kn_jaxpr *body, const uint32_t *sizes, const uint32_t *turn, uint32_t n,
                            const kn_jaxpr **out)
{
    kn_jaxpr *made = kn_arena_copy(arena, body, sizeof *body);
    kn_atom *in = KN_NEWN(arena, kn_atom, body->nin);
    KILN_TRY_MEM(ctx, made && in);
    memcpy(in, body->in, body->nconsts * sizeof *in);
    regroup(body->in + body->nconsts, sizes, turn, n, in + body->nconsts);
    made->in = in;
    *out = made;
    return KILN_OK;
}

kiln_status kn_body_regroup_results(kiln_ctx *ctx, kn_arena *arena, const kn_jaxpr *body, const uint32_t *sizes, const uint32_t *turn, uint32_t n,
                                    const kn_jaxpr **out)
{
    kn_jaxpr *made = kn_arena_copy(arena, body, sizeof *body);
    kn_atom *to = KN_NEWN(arena, kn_atom, body->nout);
    KILN_TRY_MEM(ctx, made && to);
    regroup(body->out, sizes, turn, n, to);
    made->out = to;
    *out = made;
    return KILN_OK;
}

void kn_while_params(kn_param *params, const kn_jaxpr *cond, uint32_t cond_consts, const kn_jaxpr *body, uint32_t body_consts)
{
    params[WHILE_BODY] = KN_JAXPR(body);
    params[WHILE_BODY_CONSTS] = KN_INT(body_consts);
    params[WHILE_COND] = KN_JAXPR(cond);
    params[WHILE_COND_CONSTS] = KN_INT(cond_consts);
    for (uint32_t i = KN_WHILE_LANES; i < KN_WHILE_PARAMS; i++) params[i] = KN_NONE;
}

void kn_while_keep(kn_param *params, const kn_eqn *like)
{
    for (uint32_t i = KN_WHILE_LANES; i < KN_WHILE_PARAMS; i++) params[i] = like->params[i];
}

bool kn_while_record(const char *name) { return strcmp(name, "root") == 0 || strcmp(name, "log") == 0 || strcmp(name, "all") == 0; }

/* What is said beside the bodies. A number as record: the loop is itself a way back, over a record with room for so many states. */
static kiln_status check_said(const kn_typing *t)
{
    const kn_param *lanes = &t->params[KN_WHILE_LANES], *most = &t->params[KN_WHILE_MAX_TRIPS], *record = &t->params[KN_WHILE_RECORD];
    if (lanes->kind == KN_P_INT && lanes->i < 0) return kn_fail(t->ctx, KILN_INVALID, "while: lanes is %lld; accepted: 0 or more", (long long)lanes->i);
    if (most->kind == KN_P_INT && most->i < 0)
        return kn_fail(t->ctx, KILN_INVALID, "while: max_trips is %lld; accepted: 0 or more", (long long)most->i);
    if (record->kind == KN_P_NONE || (record->kind == KN_P_INT && record->i >= 0)) return KILN_OK;
    if (record->kind != KN_P_TEXT || !kn_while_record(record->text))
        return kn_fail(t->ctx, KILN_INVALID, "while: record is %s%s%s; accepted: root, log or all", record->kind == KN_P_TEXT ? "'" : "",
                       record->kind == KN_P_TEXT ? record->text : "no name", record->kind == KN_P_TEXT ? "'" : "");
    if (most->kind != KN_P_INT)
        return kn_fail(t->ctx, KILN_INVALID, "while: record=%s needs max_trips, about how many trips there are at most", record->text);
    return KILN_OK;
}

static kiln_status type_while(kn_typing *t)
{
    const kn_jaxpr *cond, *body;
    int64_t nc, nb;
    KILN_TRY(check_said(t));
    KILN_TRY(kn_typing_jaxpr(t, WHILE_COND, &cond));
    KILN_TRY(kn_typing_jaxpr(t, WHILE_BODY, &body));
    KILN_TRY(kn_typing_int(t, WHILE_COND_CONSTS, &nc));
    KILN_TRY(kn_typing_int(t, WHILE_BODY_CONSTS, &nb));
    if (nc < 0 || nb < 0 || nc > (int64_t)t->nin || nb > (int64_t)t->nin - nc)
        return kn_fail(t->ctx, KILN_INVALID, "while: cond_nconsts %lld and body_nconsts %lld do not fit %u operands", (long long)nc,
                       (long long)nb, t->nin);
    uint32_t c = (uint32_t)nc, b = (uint32_t)nb, n = t->nin - c - b;
    const kiln_type *init = t->in + c + b;
    kiln_type *args;
    KILN_TRY_MEM(t->ctx, args = KN_NEWN(t->arena, kiln_type, c + b + n));
    for (uint32_t i = 0; i < c + n; i++) args[i] = i < c ? t->in[i] : init[i - c];
    KILN_TRY(kn_typing_body_in(t, cond, "cond_jaxpr", args, c + n, 0));
    KILN_TRY(kn_while_lanes_check(t, cond, init, n));
    KILN_TRY(kn_typing_body_in(t, body, "body_jaxpr", t->in + c, b + n, c));
    KILN_TRY(body_out(t, body, "body_jaxpr", init, n));
    KILN_TRY(kn_typing_out(t, n));
    for (uint32_t i = 0; i < n; i++) KILN_TRY(kn_typing_like(t, i, init[i].dtype, init[i]));
    return KILN_OK;
}

static void release(kiln_array **v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) kiln_array_release(v[i]), v[i] = NULL;
}

static kiln_status trips(kn_eval *ev, const kn_while_parts *p, uint64_t lanes, kiln_array **cond_args, kiln_array **body_args, kiln_array **next, uint32_t n)
{
    for (;;) {
        if (ev->stop && *ev->stop) return kn_fail(ev->ctx, KILN_CANCELLED, "stopped on request inside a while");
        kiln_array *go = NULL, **carry = body_args + p->body_consts;
        KILN_TRY(ev->run(ev, p->cond, cond_args, &go));
        bool more = *(const unsigned char *)go->data != 0;
        kiln_array_release(go);
        if (!more) return KILN_OK;
        ev->ctx->trips += lanes > 0;
        ev->ctx->lane_steps += lanes;
        KILN_TRY(ev->run(ev, p->body, body_args, next));
        for (uint32_t i = 0; i < n; i++) {
            kiln_array_release(carry[i]);
            carry[i] = cond_args[p->cond_consts + i] = next[i];
        }
    }
}

static kiln_status eval_while(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)j;
    kn_while_parts p = kn_while_parts_of(e);
    uint32_t c = p.cond_consts, b = p.body_consts, n = e->nin - c - b;
    size_t room = (size_t)(c + n) + (b + n) + n;
    kiln_array **v = kn_new(&ev->ctx->alloc, room * sizeof *v);
    KILN_TRY_MEM(ev->ctx, v);
    kiln_array **cond_args = v, **body_args = v + c + n;
    for (uint32_t i = 0; i < c; i++) cond_args[i] = in[i];
    for (uint32_t i = 0; i < b; i++) body_args[i] = in[c + i];
    for (uint32_t i = 0; i < n; i++) cond_args[c + i] = body_args[b + i] = kiln_array_retain(in[c + b + i]);
    const kn_param *lanes = &e->params[KN_WHILE_LANES];
    kiln_status s = trips(ev, &p, lanes->kind == KN_P_INT ? (uint64_t)lanes->i : 1, cond_args, body_args, body_args + b + n, n);
    if (s == KILN_OK) {
        release(out, n);
        for (uint32_t i = 0; i < n; i++) out[i] = body_args[b + i];
    } else {
        release(body_args + b, n);
    }
    kn_free(&ev->ctx->alloc, v, room * sizeof *v);
    return s;
}

/* The condition with arguments that it does not read: tangents of the carries. */
static kiln_status widen_cond(kn_build *b, const kn_jaxpr *cond, const kiln_type *more, uint32_t n, const kn_jaxpr **out)
{
    kn_build inner;
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, kn_nargs(cond)), result, unused;
    KILN_TRY_MEM(b->ctx, in);
    kn_build_init(&inner, b->ctx, b->prog);
    for (uint32_t i = 0; i < kn_nargs(cond); i++) KILN_TRY(kn_build_input(&inner, kn_type_of(cond, cond->in[cond->nconsts + i]), &in[i]));
    for (uint32_t i = 0; i < n; i++) KILN_TRY(kn_build_input(&inner, more[i], &unused));
    KILN_TRY(kn_low_inline(&inner, cond, &(kn_eqn){.scope = 0}, in, &result));
    return kn_build_finish(&inner, &result, 1, out);
}

kiln_status kn_loop_tangents(const kn_rules *r, kn_build *b, const kn_jaxpr *body, uint32_t first, uint32_t n, bool *nonzero, const kn_jaxpr **out,
                             bool *found)
{
    bool *wanted = KN_NEWN(&b->prog->arena, bool, body->nout), again = true;
    KILN_TRY_MEM(b->ctx, wanted);
    while (again) {
        again = false;
        for (uint32_t i = 0; i < n; i++) wanted[i] = nonzero[first + i];
        KILN_TRY(r->jvp(r, body, nonzero, wanted, out, found));
        for (uint32_t i = 0; i < n; i++)
            if (found[i] && !nonzero[first + i]) nonzero[first + i] = again = true;
    }
    return KILN_OK;
}

/* Carries: the carries, then their tangents; so the body's constants. */
static kiln_status jvp_while(KN_JVP_ARGS)
{
    if (kn_has_lane_condition(e)) return kn_jvp_made(r, b, j, e, x, dx, y, dy, kn_lower_while_lanes);
    kn_while_parts p = kn_while_parts_of(e);
    uint32_t c = p.cond_consts, nb = p.body_consts, n = e->nout, nt = 0, nbt = 0, at = 0;
    kn_arena *arena = &b->prog->arena;
    bool *nonzero = KN_NEWN(arena, bool, nb + n), *found = KN_NEWN(arena, bool, n);
    kn_atom *in = KN_NEWN(arena, kn_atom, 2 * e->nin), *out = KN_NEWN(arena, kn_atom, 2 * n);
    kiln_type *more = KN_NEWN(arena, kiln_type, n);
    KILN_TRY_MEM(b->ctx, nonzero && found && in && out && more);
    for (uint32_t i = 0; i < nb + n; i++) nonzero[i] = dx[c + i] != KN_SYMBOLIC_ZERO;
    const kn_jaxpr *body, *cond;
    KILN_TRY(kn_loop_tangents(r, b, p.body, nb, n, nonzero, &body, found));
    for (uint32_t i = 0; i < nb; i++) nbt += nonzero[i];
    for (uint32_t i = 0; i < n; i++)
        if (found[i]) more[nt++] = kn_out_type(j, e, i);
    KILN_TRY(widen_cond(b, p.cond, more, nt, &cond));
    uint32_t order[4] = {nb, n, nbt, nt}, turn[4] = {0, 2, 1, 3}; /* constants, carries, their tangents */
    KILN_TRY(kn_body_regroup(b->ctx, arena, body, order, turn, 4, &body));
    kn_low l = {b, KILN_OK};
    for (uint32_t i = 0; i < c + nb; i++) in[at++] = x[i];
    for (uint32_t i = 0; i < nb; i++)
        if (nonzero[i]) in[at++] = dx[c + i];
    for (uint32_t i = 0; i < n; i++) in[at++] = x[c + nb + i];
    for (uint32_t i = 0; i < n; i++)
        if (found[i]) in[at++] = kn_derive_value(&l, dx[c + nb + i], kn_out_type(j, e, i));
    KILN_TRY(l.status);
    kn_param params[KN_WHILE_PARAMS];
    kn_while_params(params, cond, c, body, nb + nbt);
    kn_while_keep(params, e);
    KILN_TRY(kn_build_eqn(b, e->prim, params, in, at, out, n + nt));
    memcpy(y, out, n * sizeof *y);
    nt = n;
    for (uint32_t i = 0; i < n; i++)
        if (found[i]) dy[i] = out[nt++];
    return KILN_OK;
}

KILN_PRIM(while) = {
    .name = "while",
    .nin = KN_VARIADIC,
    .nout = KN_VARIADIC,
    .flags = KN_JVP_WHOLE,
    KN_PARAMS(while_params),
    .loop = KN_LOOP_WHILE,
    .type = type_while,
    .eval = eval_while,
    .jvp = jvp_while,
    .transpose = kn_transpose_while,
    .lower_lanes = kn_lower_while_lanes,
    .batch = kn_batch_while,
    .sample = kn_sample_while,
    .doc = "Repeats body_jaxpr on the carries as long as cond_jaxpr is true of them. Operands: constants of the condition, constants "
           "of the body, first carries; results: last carries.",
};

/* ---- cond ---- */

static const kn_param_spec cond_params[] = {
    {"branches", KN_P_TUPLE, 0},
    {"branches_platforms", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE}, /* the index is that of platform_index */
    {"linear", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
};

static kiln_status type_cond(kn_typing *t)
{
    const kn_param *branches = &t->params[0];
    KILN_TRY(kn_typing_count(t, 1));
    bool good = branches->kind == KN_P_TUPLE && branches->n > 0;
    for (uint32_t i = 0; good && i < branches->n; i++) good = branches->items[i].kind == KN_P_JAXPR;
    if (!good) return kn_fail(t->ctx, KILN_INVALID, "cond: branches must be a tuple of programs, at least one");
    if (t->in[0].dtype != KILN_I32 || t->in[0].rank)
        return kn_fail(t->ctx, KILN_DTYPE, "cond: the index is %s, i32[] is needed", kn_type_show(t->in[0]).s);
    const kn_jaxpr *first = branches->items[0].jaxpr;
    KILN_TRY(kn_typing_out(t, first->nout));
    for (uint32_t k = 0; k < first->nout; k++) {
        kiln_type y = kn_type_of(first, first->out[k]);
        KILN_TRY(kn_typing_like(t, k, y.dtype, y));
    }
    for (uint32_t i = 0; i < branches->n; i++) {
        char what[32] = "a branch";
        KILN_TRY(kn_typing_body_in(t, branches->items[i].jaxpr, what, t->in + 1, t->nin - 1, 1));
        KILN_TRY(body_out(t, branches->items[i].jaxpr, what, t->out, t->nout));
    }
    return KILN_OK;
}
static kiln_status eval_cond(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)j;
    int64_t k = kn_index_value(in[0]), n = kn_cond_branches(e);
    release(out, e->nout);
    return ev->run(ev, kn_cond_branch(e, (uint32_t)(k < 0 ? 0 : k >= n ? n - 1 : k)), in + 1, out);
}

static kiln_status branch_list(kn_build *b, const kn_eqn *e, kn_param **out)
{
    KILN_TRY_MEM(b->ctx, *out = KN_NEWN(&b->prog->arena, kn_param, kn_cond_branches(e)));
    for (uint32_t k = 0; k < kn_cond_branches(e); k++) (*out)[k] = KN_JAXPR(kn_cond_branch(e, k));
    return KILN_OK;
}

/* Every branch gives the tangents that any of them has. */
static kiln_status jvp_cond(KN_JVP_ARGS)
{
    (void)j;
    kn_arena *arena = &b->prog->arena;
    kn_param *branches;
    bool *nonzero = KN_NEWN(arena, bool, e->nin), *wanted = KN_NEWN(arena, bool, e->nout), *found = KN_NEWN(arena, bool, e->nout), again = true;
    kn_atom *in = KN_NEWN(arena, kn_atom, 2 * e->nin), *out = KN_NEWN(arena, kn_atom, 2 * e->nout);
    KILN_TRY_MEM(b->ctx, nonzero && wanted && found && in && out);
    KILN_TRY(branch_list(b, e, &branches));
    uint32_t n = e->nin, m = e->nout;
    memcpy(in, x, e->nin * sizeof *in);
    for (uint32_t i = 1; i < e->nin; i++)
        if ((nonzero[i - 1] = dx[i] != KN_SYMBOLIC_ZERO)) in[n++] = dx[i];
    while (again) {
        again = false;
        for (uint32_t k = 0; k < kn_cond_branches(e); k++) {
            KILN_TRY(r->jvp(r, kn_cond_branch(e, k), nonzero, wanted, &branches[k].jaxpr, found));
            for (uint32_t i = 0; i < e->nout; i++)
                if (found[i] && !wanted[i]) wanted[i] = again = true;
        }
    }
    for (uint32_t i = 0; i < e->nout; i++) m += wanted[i];
    kn_param params[] = {KN_TUPLE(kn_cond_branches(e), branches), KN_NONE, KN_NONE};
    KILN_TRY(kn_build_eqn(b, e->prim, params, in, n, out, m));
    memcpy(y, out, e->nout * sizeof *y);
    m = e->nout;
    for (uint32_t i = 0; i < e->nout; i++)
        if (wanted[i]) dy[i] = out[m++];
    return KILN_OK;
}

static kiln_status transpose_cond(KN_TRANSPOSE_ARGS)
{
    (void)j;
    kn_arena *arena = &b->prog->arena;
    kn_param *branches;
    bool *linear = KN_NEWN(arena, bool, e->nin), *given = KN_NEWN(arena, bool, e->nout), *found = KN_NEWN(arena, bool, e->nin);
    bool *wanted = KN_NEWN(arena, bool, e->nin), again = true;
    kn_atom *in = KN_NEWN(arena, kn_atom, e->nin + e->nout), *out = KN_NEWN(arena, kn_atom, e->nin);
    KILN_TRY_MEM(b->ctx, linear && given && found && wanted && in && out);
    KILN_TRY(branch_list(b, e, &branches));
    if (x[0] == KN_LINEAR) return kn_not_linear(b, e, "what chooses the branch");
    uint32_t n = 0, m = 0;
    in[n++] = x[0];
    for (uint32_t i = 1; i < e->nin; i++)
        if (!(linear[i - 1] = x[i] == KN_LINEAR)) in[n++] = x[i];
    for (uint32_t i = 0; i < e->nout; i++)
        if ((given[i] = ct[i] != KN_SYMBOLIC_ZERO)) in[n++] = ct[i];
    while (again) {
        again = false;
        for (uint32_t k = 0; k < kn_cond_branches(e); k++) {
            KILN_TRY(r->transpose(r, kn_cond_branch(e, k), linear, given, wanted, NULL, &branches[k].jaxpr, found));
            for (uint32_t i = 0; i + 1 < e->nin; i++)
                if (found[i] && !wanted[i]) wanted[i] = again = true;
        }
    }
    for (uint32_t i = 0; i + 1 < e->nin; i++) m += wanted[i];
    kn_param params[] = {KN_TUPLE(kn_cond_branches(e), branches), KN_NONE, KN_NONE};
    KILN_TRY(kn_build_eqn(b, e->prim, params, in, n, out, m));
    m = 0;
    for (uint32_t i = 1; i < e->nin; i++)
        if (wanted[i - 1]) ct_in[i] = out[m++];
    return KILN_OK;
}

KILN_PRIM(cond) = {
    .name = "cond",
    .nin = KN_VARIADIC,
    .nout = KN_VARIADIC,
    .flags = KN_JVP_WHOLE,
    KN_PARAMS(cond_params),
    .loop = KN_LOOP_COND,
    .type = type_cond,
    .eval = eval_cond,
    .jvp = jvp_cond,
    .transpose = transpose_cond,
    .batch = kn_batch_cond,
    .sample = kn_sample_cond,
    .doc = "Runs the branch that the first operand names, clamped into range, on the other operands.",
};
