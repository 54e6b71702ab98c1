/* SPDX-License-Identifier: Apache-2.0 */
/* Partial evaluation of calls and branches. Each becomes one equation for the known half, which gives residuals too, and one for
 * the unknown half. A residual that is an operand is passed as it is. */
#include "transform/divide.h"

#include "prim/lowering.h"
#include "prims.gen.h"

kiln_status kn_divide_flags(kn_partial *p, const kn_eqn *e, uint32_t first, bool **out)
{
    KILN_TRY_MEM(p->r->ctx, *out = KN_NEWN(&p->r->prog->arena, bool, e->nin - first));
    for (uint32_t i = first; i < e->nin; i++) (*out)[i - first] = kn_is_unknown(p, e->in[i]);
    return KILN_OK;
}

kiln_status kn_divide_known(kn_partial *p, const kn_eqn *e, const bool *unknown_out, const kn_atom *out)
{
    uint32_t n = 0;
    (void)e;
    for (uint32_t i = 0; i < e->nout; i++) {
        p->put_off[e->out[i]] = unknown_out[i];
        if (!unknown_out[i]) p->in_known[e->out[i]] = out[n++];
    }
    return KILN_OK;
}

void kn_divide_unknown(kn_partial *p, const kn_eqn *e, const bool *unknown_out, const kn_atom *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->nout; i++)
        if (unknown_out[i]) p->in_unknown[e->out[i]] = out[n++];
}

/* Divides a body inside of what is being divided, and says so to the log. */
kiln_status kn_log_inside(kn_partial *p, int64_t trips, bool by_policy, const kn_jaxpr *j, const bool *unknown, const bool *wanted, const kn_policy *policy,
                          const kn_arg_kind *kinds, kn_split *out)
{
    kn_logs *log = kn_log_of(p), before = {0};
    if (log) {
        before = *log;
        log->trips = trips > 0 && before.trips > INT64_MAX / trips ? INT64_MAX : before.trips * trips;
        log->by_policy |= by_policy;
    }
    KILN_TRY(kn_partial_loop(p->r, j, unknown, wanted, policy, kinds, out));
    if (log) log->trips = before.trips, log->by_policy = before.by_policy;
    return KILN_OK;
}

kiln_status kn_divide_place(kn_partial *p, const kn_eqn *e)
{
    p->known.scope = p->unknown.scope = e->scope;
    p->known.loc = p->unknown.loc = e->loc;
    return KILN_OK;
}

kn_atom *kn_divide_atoms(kn_partial *p, uint32_t n) { return KN_NEWN(&p->r->prog->arena, kn_atom, n); }

/* A call of `body` in b, or its equations where there are none to speak of. */
static kiln_status call(kn_partial *p, kn_build *b, const kn_eqn *e, const kn_jaxpr *body, const kn_atom *in, kn_atom *out, const kn_param *differentiated)
{
    if (body->neqns == 0) return kn_low_inline(b, body, e, in, out);
    kn_param *params = kn_arena_copy(&p->r->prog->arena, e->params, e->prim->nparams * sizeof *params);
    KILN_TRY_MEM(p->r->ctx, params);
    params[kn_body_param(e->prim)] = KN_JAXPR(body);
    kn_forget_layouts(e->prim, params);
    for (uint32_t i = 0; differentiated && i < e->prim->nparams; i++)
        if (strcmp(e->prim->params[i].name, "differentiated") == 0) params[i] = *differentiated;
    return kn_build_eqn(b, e->prim, params, in, kn_nargs(body), out, body->nout);
}

static kiln_status barrier(kn_partial *p, kn_atom *in, uint32_t n)
{
    kn_atom *vars = kn_divide_atoms(p, n), *out = kn_divide_atoms(p, n);
    uint32_t m = 0;
    KILN_TRY_MEM(p->r->ctx, vars && out);
    for (uint32_t i = 0; i < n; i++)
        if (!kn_is_literal(in[i])) vars[m++] = in[i];
    if (!m) return KILN_OK;
    KILN_TRY(kn_build_eqn(&p->unknown, &kn_prim_optimization_barrier, NULL, vars, m, out, m));
    m = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!kn_is_literal(in[i])) in[i] = out[m++];
    return KILN_OK;
}

/* Of a call in a loop's body: what of its operands the loop is passed. */
static kiln_status inside_kinds(kn_partial *p, const kn_eqn *e, kn_arg_kind **out)
{
    if (!p->kinds) return KILN_OK;
    KILN_TRY_MEM(p->r->ctx, *out = KN_NEWN(&p->r->prog->arena, kn_arg_kind, e->nin));
    for (uint32_t i = 0; i < e->nin; i++) {
        uint32_t arg = kn_is_literal(e->in[i]) || p->in_known[e->in[i]] == KN_NO_ATOM ? 0 : kn_map_get(&p->args, (uint64_t)p->in_known[e->in[i]] + 1);
        (*out)[i] = kn_is_literal(e->in[i]) ? KN_ARG_SLICE : arg ? p->kinds[arg - 1] : KN_ARG_CARRIED;
    }
    return KILN_OK;
}

static kiln_status divide_call(kn_partial *p, const kn_eqn *e, const kn_policy *policy)
{
    bool *unknown;
    kn_split s;
    KILN_TRY(kn_divide_flags(p, e, 0, &unknown));
    kn_arg_kind *kinds = NULL;
    KILN_TRY(inside_kinds(p, e, &kinds));
    KILN_TRY(kn_log_inside(p, 1, policy != NULL, e->params[kn_body_param(e->prim)].jaxpr, unknown, NULL, policy, kinds, &s));
    KILN_TRY(kn_divide_place(p, e));
    kn_atom *in = kn_divide_atoms(p, e->nin + s.residuals), *out = kn_divide_atoms(p, s.known->nout + s.unknown->nout);
    KILN_TRY_MEM(p->r->ctx, in && out);
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->nin; i++)
        if (!unknown[i]) KILN_TRY(kn_known_of(p, e->in[i], &in[n++]));
    KILN_TRY(call(p, &p->known, e, s.known, in, out, NULL));
    KILN_TRY(kn_divide_known(p, e, s.unknown_out, out));
    const kn_atom *saved = out + s.known->nout - s.residuals;
    for (n = 0; n < s.residuals; n++) {
        if (s.from_arg[n]) KILN_TRY(kn_residual_of(p, e->in[s.from_arg[n] - 1], &in[n]));
        else KILN_TRY(kn_residual(p, saved[n], &in[n]));
    }
    if (policy && s.unknown->neqns) KILN_TRY(barrier(p, in, n));
    for (uint32_t i = 0; i < e->nin; i++)
        if (unknown[i]) in[n++] = p->in_unknown[e->in[i]];
    KILN_TRY(call(p, &p->unknown, e, s.unknown, in, out, policy ? &KN_BOOL(true) : NULL));
    kn_divide_unknown(p, e, s.unknown_out, out);
    return KILN_OK;
}

/* ---- policies ---- */

kiln_status kn_policy_of(const kn_rules *r, const kn_eqn *e, kn_policy *out, bool *everything)
{
    static const char only[] = "save_only_these_names(";
    const kn_param *p = kn_param_of(e, "policy");
    const char *s = p && p->kind == KN_P_TEXT ? p->text : "";
    KN_VEC(const char *) names = {NULL, 0, 0};
    const char *list = strstr(s, only), *dots = strstr(s, "dots_"), *every = strstr(s, "everything_saveable");
    *out = (kn_policy){.dots = dots && (!list || dots < list)};
    *everything = every && (!list || every < list);
    if (list) {
        for (s = list + sizeof only - 1; *s && *s != ')';) {
            size_t n = strcspn(s, ",)");
            char *name = kn_arena_textn(&r->prog->arena, s, n);
            KILN_TRY_MEM(r->ctx, name && kn_push(&r->prog->arena, &names, name));
            s += n;
            s += strspn(s, ", ");
        }
    }
    out->names = names.v;
    out->n = names.n;
    return KILN_OK;
}

/* ---- cond ---- */

typedef struct branches {
    uint32_t n, nargs, nslots, nforward;
    const bool *unknown; /* per operand behind the index */
    bool *unknown_out;
    kn_split *split;
    kiln_type *slots;    /* residuals that branches make: a branch leaves zeros where it has none of this type */
    uint32_t **slot;     /* per branch, per residual: the slot, when it is no operand */
    bool *forward;       /* per operand: it is a residual of a branch */
} branches;

static kiln_status split_branches(kn_partial *p, const kn_eqn *e, branches *c)
{
    kn_arena *arena = &p->r->prog->arena;
    bool again = true;
    KILN_TRY_MEM(p->r->ctx, (c->split = KN_NEWN(arena, kn_split, c->n)) && (c->unknown_out = KN_NEWN(arena, bool, e->nout)));
    while (again) {
        again = false;
        for (uint32_t k = 0; k < c->n; k++) {
            KILN_TRY(kn_partial_body(p->r, kn_cond_branch(e, k), c->unknown, c->unknown_out, NULL, &c->split[k]));
            for (uint32_t i = 0; i < e->nout; i++)
                if (c->split[k].unknown_out[i] && !c->unknown_out[i]) c->unknown_out[i] = again = true;
        }
    }
    return KILN_OK;
}

static kiln_status assign_slots(kn_partial *p, branches *c)
{
    kn_arena *arena = &p->r->prog->arena;
    uint32_t most = 0;
    for (uint32_t k = 0; k < c->n; k++) most += c->split[k].residuals;
    KILN_TRY_MEM(p->r->ctx, (c->slots = KN_NEWN(arena, kiln_type, most)) && (c->slot = KN_NEWN(arena, uint32_t *, c->n)) &&
                                (c->forward = KN_NEWN(arena, bool, c->nargs)));
    for (uint32_t k = 0; k < c->n; k++) {
        const kn_split *s = &c->split[k];
        bool *taken = KN_NEWN(arena, bool, most);
        KILN_TRY_MEM(p->r->ctx, taken && (c->slot[k] = KN_NEWN(arena, uint32_t, s->residuals)));
        for (uint32_t i = 0; i < s->residuals; i++) {
            if (s->from_arg[i]) {
                c->forward[s->from_arg[i] - 1] = true;
                continue;
            }
            kiln_type t = kn_type_of(s->unknown, s->unknown->in[s->unknown->nconsts + i]);
            uint32_t at = 0;
            while (at < c->nslots && (taken[at] || !kiln_type_equal(c->slots[at], t))) at++;
            if (at == c->nslots) c->slots[c->nslots++] = t;
            taken[c->slot[k][i] = at] = true;
        }
    }
    for (uint32_t i = 0; i < c->nargs; i++) c->nforward += c->forward[i];
    return KILN_OK;
}

/* A branch of the known half: known results, then the slots. */
static kiln_status known_branch(kn_partial *p, const branches *c, uint32_t k, uint32_t nknown, const kn_jaxpr **out)
{
    const kn_split *s = &c->split[k];
    kn_build b;
    kn_atom *map, *outs = kn_divide_atoms(p, nknown + c->nslots), *all = kn_divide_atoms(p, s->known->nout);
    KILN_TRY_MEM(p->r->ctx, outs && all);
    KILN_TRY(kn_open(p->r, &b, s->known, &map));
    for (uint32_t i = 0; i < s->known->neqns; i++) KILN_TRY(kn_build_copy(&b, s->known, &s->known->eqns[i], map));
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < s->known->nout; i++) all[i] = kn_build_map(&b, s->known, s->known->out[i], map, &status);
    KILN_TRY(status);
    memcpy(outs, all, nknown * sizeof *outs);
    for (uint32_t i = 0; i < c->nslots; i++) outs[nknown + i] = KN_SYMBOLIC_ZERO;
    for (uint32_t i = 0; i < s->residuals; i++)
        if (!s->from_arg[i]) outs[nknown + c->slot[k][i]] = all[nknown + i];
    for (uint32_t i = 0; i < c->nslots; i++)
        if (outs[nknown + i] == KN_SYMBOLIC_ZERO) KILN_TRY(kn_zeros(&b, c->slots[i], &outs[nknown + i]));
    return kn_build_finish(&b, outs, nknown + c->nslots, out);
}

/* A branch of the unknown half: arguments are the slots, operands that are residuals, unknown operands. */
static kiln_status unknown_branch(kn_partial *p, const kn_eqn *e, const branches *c, uint32_t k, const kn_jaxpr **out)
{
    const kn_split *s = &c->split[k];
    kn_build b;
    kn_build_init(&b, p->r->ctx, p->r->prog);
    kn_atom *slots = kn_divide_atoms(p, c->nslots), *forward = kn_divide_atoms(p, c->nargs), *own = kn_divide_atoms(p, c->nargs);
    kn_atom *args = kn_divide_atoms(p, s->residuals + c->nargs), *outs = kn_divide_atoms(p, s->unknown->nout);
    KILN_TRY_MEM(p->r->ctx, slots && forward && own && args && outs);
    for (uint32_t i = 0; i < c->nslots; i++) KILN_TRY(kn_build_input(&b, c->slots[i], &slots[i]));
    for (uint32_t i = 0; i < c->nargs; i++)
        if (c->forward[i]) KILN_TRY(kn_build_input(&b, kn_type_of(p->j, e->in[1 + i]), &forward[i]));
    for (uint32_t i = 0; i < c->nargs; i++)
        if (c->unknown[i]) KILN_TRY(kn_build_input(&b, kn_type_of(p->j, e->in[1 + i]), &own[i]));
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->residuals; i++) args[n++] = s->from_arg[i] ? forward[s->from_arg[i] - 1] : slots[c->slot[k][i]];
    for (uint32_t i = 0; i < c->nargs; i++)
        if (c->unknown[i]) args[n++] = own[i];
    KILN_TRY(kn_low_inline(&b, s->unknown, e, args, outs));
    return kn_build_finish(&b, outs, s->unknown->nout, out);
}

static kiln_status emit_cond(kn_partial *p, const kn_eqn *e, const branches *c)
{
    uint32_t nunknown = c->split[0].unknown->nout, nknown = e->nout - nunknown, n = 0;
    kn_param *known = KN_NEWN(&p->r->prog->arena, kn_param, c->n), *unknown = KN_NEWN(&p->r->prog->arena, kn_param, c->n);
    kn_atom *in = kn_divide_atoms(p, 1 + 2 * c->nargs + c->nslots), *out = kn_divide_atoms(p, e->nout + c->nslots);
    KILN_TRY_MEM(p->r->ctx, known && unknown && in && out);
    for (uint32_t k = 0; k < c->n; k++) {
        known[k] = unknown[k] = (kn_param){.kind = KN_P_JAXPR};
        KILN_TRY(known_branch(p, c, k, nknown, &known[k].jaxpr));
        KILN_TRY(unknown_branch(p, e, c, k, &unknown[k].jaxpr));
    }
    KILN_TRY(kn_known_of(p, e->in[0], &in[n++]));
    for (uint32_t i = 0; i < c->nargs; i++)
        if (!c->unknown[i]) KILN_TRY(kn_known_of(p, e->in[1 + i], &in[n++]));
    KILN_TRY(kn_divide_place(p, e));
    kn_param params[3] = {KN_TUPLE(c->n, known), KN_NONE, KN_NONE};
    KILN_TRY(kn_build_eqn(&p->known, e->prim, params, in, n, out, nknown + c->nslots));
    KILN_TRY(kn_divide_known(p, e, c->unknown_out, out));
    n = 0;
    KILN_TRY(kn_residual_of(p, e->in[0], &in[n++]));
    for (uint32_t i = 0; i < c->nslots; i++) KILN_TRY(kn_residual(p, out[nknown + i], &in[n++]));
    for (uint32_t i = 0; i < c->nargs; i++)
        if (c->forward[i]) KILN_TRY(kn_residual_of(p, e->in[1 + i], &in[n++]));
    for (uint32_t i = 0; i < c->nargs; i++)
        if (c->unknown[i]) in[n++] = p->in_unknown[e->in[1 + i]];
    params[0] = KN_TUPLE(c->n, unknown);
    KILN_TRY(kn_build_eqn(&p->unknown, e->prim, params, in, n, out, nunknown));
    kn_divide_unknown(p, e, c->unknown_out, out);
    return KILN_OK;
}

static kiln_status divide_cond(kn_partial *p, const kn_eqn *e, bool *done)
{
    bool *unknown;
    *done = !kn_is_unknown(p, e->in[0]);
    if (!*done) return KILN_OK;
    KILN_TRY(kn_divide_flags(p, e, 1, &unknown));
    branches c = {.n = kn_cond_branches(e), .nargs = e->nin - 1, .unknown = unknown};
    KILN_TRY(split_branches(p, e, &c));
    KILN_TRY(assign_slots(p, &c));
    return emit_cond(p, e, &c);
}

kiln_status kn_partial_control(kn_partial *p, const kn_eqn *e, bool *done)
{
    kn_policy policy;
    bool everything;
    *done = true;
    switch (kn_control_of(e)) {
    case KN_C_CALL: return divide_call(p, e, NULL);
    case KN_C_REMAT:
        KILN_TRY(kn_policy_of(p->r, e, &policy, &everything));
        return divide_call(p, e, everything ? NULL : &policy);
    case KN_C_COND: return divide_cond(p, e, done);
    case KN_C_SCAN: return kn_divide_scan(p, e);
    case KN_C_WHILE: return kn_divide_while(p, e, done);
    case KN_C_NONE: break;
    }
    *done = false;
    return KILN_OK;
}
