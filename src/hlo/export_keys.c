/* SPDX-License-Identifier: Apache-2.0 */
/* Keys as StableHLO has them: key<fry>[s] becomes u32[s,2], its words, through bodies and calls, before anything is written.
 *
 *   random_wrap, random_unwrap     nothing
 *   other random_ primitives       what they are lowered to: threefry2x32 of words
 *   moves                          the same of the words, with one dimension more, behind the others
 *   moves that are not listed      their batch rule: two lanes, which go to the front before and to the back behind it
 *
 * before  { lambda ; a:key<fry>[4] i:i32[]. let b:key<fry>[1] = dynamic_slice[slice_sizes=(1,)] a i in (b,) }
 * after   { lambda ; a:u32[4,2] i:i32[]. let b:u32[1,2] = dynamic_slice[slice_sizes=(1, 2)] a i 0:i32[] in (b,) } */
#include "hlo/export.h"

#include "base/map.h"
#include "prim/common.h"
#include "prim/lowering.h"

typedef struct rewriting {
    kiln_ctx *ctx;
    kn_prog *out;
    kn_arena scratch;
    kn_map bodies; /* address -> number + 1 in done */
    KN_VEC(const kn_jaxpr *) done;
    uint32_t lowered; /* equations around that are replaced by what they lower to */
} rewriting;

typedef struct walk {
    rewriting *w;
    kn_low l;
    kn_build b;
    const kn_jaxpr *from;
    kn_atom *map;
} walk;

static bool is_key(kiln_type t) { return t.dtype == KILN_KEY; }

/* The words' type; dims: room for the rank and one more. */
static kiln_type words_type(kiln_type t, int64_t *dims)
{
    if (!is_key(t)) return t;
    for (uint32_t d = 0; d < t.rank; d++) dims[d] = t.dims[d];
    dims[t.rank] = 2;
    return (kiln_type){KILN_U32, t.rank + 1, dims};
}

static kiln_status check_rank(kiln_ctx *ctx, kiln_type t)
{
    if (!is_key(t) || t.rank < KN_MAX_RANK) return KILN_OK;
    return kn_fail(ctx, KILN_UNSUPPORTED, "the words of %s have more than %d dimensions", kn_type_show(t).s, KN_MAX_RANK);
}

/* ---- constants and operands ---- */

static kiln_status constant(walk *k, kiln_array *a, kn_atom *out)
{
    int64_t dims[KN_MAX_RANK + 1];
    kiln_array *words;
    if (!is_key(a->type)) return kn_build_const(&k->b, a, out);
    KILN_TRY(check_rank(k->w->ctx, a->type));
    KILN_TRY(kiln_array_create(k->w->ctx, words_type(a->type, dims), &words));
    if (a->bytes) memcpy(words->data, a->data, a->bytes);
    kiln_status status = kn_build_const(&k->b, words, out);
    kiln_array_release(words);
    return status;
}

/* A key that is a literal stands as two words in their order in memory. */
static kn_atom literal(walk *k, const kn_lit *l)
{
    kn_atom word[2];
    for (int i = 0; i < 2; i++)
        word[i] = kn_low_fill(&k->l, (kiln_type){KILN_U32, 1, &(int64_t){1}}, (kn_scalar){.u = (uint32_t)(l->value.u >> 32 * i)});
    return kn_low_op(&k->l, &kn_prim_concatenate, &KN_INT(0), word, 2);
}

static kn_atom operand(walk *k, kn_atom a)
{
    if (kn_is_literal(a) && k->from->lits[kn_literal_index(a)].dtype == KILN_KEY) return literal(k, &k->from->lits[kn_literal_index(a)]);
    return kn_build_map(&k->b, k->from, a, k->map, &k->l.status);
}

/* ---- parameters ---- */

static kiln_status words_body(rewriting *w, const kn_jaxpr *j, const kn_jaxpr **out);

static kiln_status words_params(rewriting *w, const kn_param *p, uint32_t n, kn_param **out)
{
    kn_param *own = kn_arena_copy(&w->out->arena, p, n * sizeof *own);
    KILN_TRY_MEM(w->ctx, own || n == 0);
    for (uint32_t i = 0; i < n; i++) {
        if (p[i].kind == KN_P_DTYPE && p[i].dtype == KILN_KEY) own[i].dtype = KILN_U32;
        if (p[i].kind == KN_P_JAXPR) KILN_TRY(words_body(w, p[i].jaxpr, &own[i].jaxpr));
        if (p[i].kind != KN_P_TUPLE && p[i].kind != KN_P_RECORD) continue;
        kn_param *items;
        KILN_TRY(words_params(w, p[i].items, p[i].n, &items));
        own[i].items = items;
    }
    *out = own;
    return KILN_OK;
}

/* One more number at the end of a parameter that holds one for each dimension. */
static void append(walk *k, kn_param *p, int64_t v)
{
    if (p->kind == KN_P_NONE || k->l.status != KILN_OK) return;
    int64_t *own = KN_NEWN(&k->w->out->arena, int64_t, p->n + 1);
    if (!own) {
        k->l.status = kn_nomem(k->w->ctx);
        return;
    }
    for (uint32_t i = 0; i < p->n; i++) own[i] = kn_ints(p)[i];
    own[p->n] = v;
    *p = KN_INTS(p->n + 1, own);
}

/* ---- moves ---- */

typedef enum dims_of { NO_DIMS, FULL, ZERO, ONE, RANK, OPERAND_RANK } dims_of; /* what is appended: 2, 0, 1, the result's rank or an operand's */
typedef struct move {
    const kn_prim *prim;
    const char *name; /* of the parameters that get one more number */
    dims_of what;
} move;
static const move moves[] = {
    {&kn_prim_broadcast_in_dim, "shape", FULL},
    {&kn_prim_broadcast_in_dim, "broadcast_dimensions", RANK},
    {&kn_prim_concatenate, NULL, NO_DIMS},
    {&kn_prim_copy, NULL, NO_DIMS},
    {&kn_prim_copy_p, NULL, NO_DIMS},
    {&kn_prim_dynamic_slice, "slice_sizes", FULL},
    {&kn_prim_dynamic_update_slice, NULL, NO_DIMS},
    {&kn_prim_name, NULL, NO_DIMS},
    {&kn_prim_optimization_barrier, NULL, NO_DIMS},
    {&kn_prim_reshape, "dimensions", OPERAND_RANK},
    {&kn_prim_reshape, "new_sizes", FULL},
    {&kn_prim_rev, NULL, NO_DIMS},
    {&kn_prim_slice, "limit_indices", FULL},
    {&kn_prim_slice, "start_indices", ZERO},
    {&kn_prim_slice, "strides", ONE},
    {&kn_prim_split, NULL, NO_DIMS},
    {&kn_prim_squeeze, NULL, NO_DIMS},
    {&kn_prim_stack, NULL, NO_DIMS},
    {&kn_prim_stop_gradient, NULL, NO_DIMS},
    {&kn_prim_tile, "reps", ONE},
    {&kn_prim_transpose, "permutation", OPERAND_RANK},
    {&kn_prim_unstack, NULL, NO_DIMS},
};

/* The parameters of a move that is listed; NULL: it is not, or the rewriting has failed. */
static kn_param *move_params(walk *k, const kn_eqn *e)
{
    kn_param *own = NULL;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        if (moves[i].prim != e->prim) continue;
        if (!own) {
            own = KN_NEWN(&k->w->out->arena, kn_param, e->prim->nparams + 1);
            if (!own) {
                k->l.status = kn_nomem(k->w->ctx);
                return NULL;
            }
            for (uint32_t q = 0; q < e->prim->nparams; q++) own[q] = e->params[q];
        }
        int64_t v[] = {[FULL] = 2, [ZERO] = 0, [ONE] = 1, [RANK] = k->from->vars[e->out[0]].type.rank, [OPERAND_RANK] = kn_type_of(k->from, e->in[0]).rank};
        const kn_param *p = moves[i].name ? kn_param_of(e, moves[i].name) : NULL;
        if (p) append(k, &own[p - e->params], v[moves[i].what]);
    }
    return own;
}

static kn_atom moved_axis(walk *k, kn_atom a, uint32_t from, uint32_t to)
{
    int64_t p[KN_MAX_RANK + 1];
    if (k->l.status != KILN_OK || from == to) return a;
    uint32_t rank = kn_build_type(&k->b, a).rank, next = 0;
    for (uint32_t d = 0; d < rank; d++) {
        next += next == from;
        p[d] = d == to ? from : next++;
    }
    return kn_low_op(&k->l, &kn_prim_transpose, &KN_INTS(rank, p), &a, 1);
}

static kiln_status no_operation(walk *k, const kn_eqn *e)
{
    return kn_fail(k->w->ctx, KILN_UNSUPPORTED, "StableHLO has no operation for %s of keys; accepted: moves, and draws by random_bits", e->prim->name);
}

/* The words are two lanes: in front of the equation axis 0, behind it the last axis again. */
static kiln_status as_lanes(walk *k, const kn_eqn *e, kn_atom *in, kn_atom *y)
{
    kn_rules rules = {.ctx = k->w->ctx, .prog = k->w->out};
    uint32_t n = e->nin + e->nout;
    int *axis = KN_NEWN(&k->w->scratch, int, n + 1);
    kn_jaxpr words = *k->from; /* in which keys have the types of one word */
    kn_var *vars = kn_arena_copy(&k->w->scratch, words.vars, words.nvars * sizeof *vars);
    KILN_TRY_MEM(k->w->ctx, axis && vars);
    for (uint32_t v = 0; v < words.nvars; v++)
        if (is_key(vars[v].type)) vars[v].type.dtype = KILN_U32;
    words.vars = vars;
    for (uint32_t i = 0; i < e->nin; i++) {
        kiln_type t = kn_type_of(k->from, e->in[i]);
        axis[i] = is_key(t) ? 0 : KN_NO_LANES;
        if (is_key(t)) in[i] = moved_axis(k, in[i], t.rank, 0);
    }
    for (uint32_t i = 0; i < e->nout; i++) axis[e->nin + i] = 0;
    KILN_TRY(k->l.status);
    KILN_TRY(e->prim->batch(&rules, &k->b, &words, e, in, axis, y, axis + e->nin));
    for (uint32_t i = 0; i < e->nout; i++)
        if (axis[e->nin + i] != KN_NO_LANES && !is_key(k->from->vars[e->out[i]].type)) return no_operation(k, e);
    for (uint32_t i = 0; i < e->nout; i++)
        if (axis[e->nin + i] != KN_NO_LANES) y[i] = moved_axis(k, y[i], 0, k->from->vars[e->out[i]].type.rank);
    return k->l.status;
}

/* ---- equations ---- */

static kiln_status equations(walk *k);

/* The equation as what it lowers to, which is rewritten in its place. */
static kiln_status as_lowered(walk *k, const kn_eqn *e, const kn_atom *in, kn_atom *y)
{
    enum { MOST = 64 }; /* a rule that gives its own primitive again would not end */
    rewriting *w = k->w;
    kn_build b;
    const kn_jaxpr *body;
    kn_atom *args = KN_NEWN(&w->scratch, kn_atom, e->nin + e->nout + 1), *out = args + e->nin;
    KILN_TRY_MEM(w->ctx, args);
    kn_build_init(&b, w->ctx, w->out);
    for (uint32_t i = 0; i < e->nin; i++) KILN_TRY(kn_build_input(&b, kn_type_of(k->from, e->in[i]), &args[i]));
    KILN_TRY_NOTE(w->ctx, kn_lower_rule(k->from, e)(NULL, &b, k->from, e, args, out), "while lowering %s", e->prim->name);
    KILN_TRY(kn_build_finish(&b, out, e->nout, &body));
    if (++w->lowered > MOST) return kn_fail(w->ctx, KILN_INTERNAL, "lowering %s does not end", e->prim->name);
    const kn_jaxpr *around = k->from;
    kn_atom *map = k->map;
    k->from = body;
    k->map = KN_NEWN(&w->scratch, kn_atom, body->nvars + 1);
    KILN_TRY_MEM(w->ctx, k->map);
    for (uint32_t i = 0; i < e->nin; i++) k->map[body->in[i]] = in[i];
    KILN_TRY(equations(k));
    for (uint32_t i = 0; i < e->nout; i++) y[i] = operand(k, body->out[i]);
    k->from = around, k->map = map;
    w->lowered--;
    return k->l.status;
}

static bool has_body(const kn_param *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (p[i].kind == KN_P_JAXPR || ((p[i].kind == KN_P_TUPLE || p[i].kind == KN_P_RECORD) && has_body(p[i].items, p[i].n))) return true;
    return false;
}

/* A reinterpretation of bits: words are what keys are made of. */
static kn_atom as_bits(walk *k, const kn_eqn *e, kn_atom x)
{
    kiln_type from = kn_type_of(k->from, e->in[0]), to = k->from->vars[e->out[0]].type;
    int64_t dims[KN_MAX_RANK + 1];
    kiln_type want = words_type(to, dims);
    if (!is_key(from) && from.dtype != KILN_U32) x = kn_low_op(&k->l, &kn_prim_bitcast_convert_type, &KN_DTYPE(KILN_U32), &x, 1);
    if (!is_key(to) && to.dtype != KILN_U32) x = kn_low_op(&k->l, &kn_prim_bitcast_convert_type, &KN_DTYPE(to.dtype), &x, 1);
    if (k->l.status != KILN_OK || kiln_type_equal(kn_build_type(&k->b, x), want)) return x;
    return kn_low_reshape(&k->l, x, want.rank, want.dims);
}

static kiln_status key_eqn(walk *k, const kn_eqn *e, kn_atom *in, kn_atom *y)
{
    const kn_prim *p = e->prim;
    kiln_type t = e->nin ? kn_type_of(k->from, e->in[0]) : KILN_SCALAR(KILN_BOOL);
    if (p == &kn_prim_random_wrap || p == &kn_prim_random_unwrap || (p == &kn_prim_convert_element_type && is_key(t))) {
        y[0] = in[0];
        return KILN_OK;
    }
    if (p == &kn_prim_bitcast_convert_type) {
        y[0] = as_bits(k, e, in[0]);
        return k->l.status;
    }
    kn_param *params = move_params(k, e);
    KILN_TRY(k->l.status);
    if (p == &kn_prim_dynamic_slice || p == &kn_prim_dynamic_update_slice) {
        uint32_t arrays = p == &kn_prim_dynamic_slice ? 1 : 2;
        kiln_dtype index = e->nin > arrays ? kn_type_of(k->from, e->in[arrays]).dtype : KILN_I32;
        in[e->nin] = kn_low_num(&k->l, index, 0);
        KILN_TRY(k->l.status);
        return kn_build_eqn(&k->b, p, params, in, e->nin + 1, y, e->nout);
    }
    if (params) return kn_build_eqn(&k->b, p, params, in, e->nin, y, e->nout);
    bool draws = strncmp(p->name, "random_", 7) == 0;
    if (!draws && p->batch && !has_body(e->params, p->nparams)) return as_lanes(k, e, in, y);
    if (kn_lower_rule(k->from, e)) return as_lowered(k, e, in, y);
    return no_operation(k, e);
}

/* Bodies that see whole arrays: what goes into them and comes out may be keys. */
static bool is_control(const kn_prim *p)
{
    return p->loop == KN_LOOP_WHILE || p->loop == KN_LOOP_COND || p == &kn_prim_scan || p == &kn_prim_jit || p == &kn_prim_pjit || p == &kn_prim_closed_call || p == &kn_prim_eval_jaxpr ||
           p == &kn_prim_remat2 || p == &kn_prim_checkpoint || p == &kn_prim_remat || p == &kn_prim_custom_jvp_call || p == &kn_prim_custom_vjp_call;
}

static kiln_status rewrite(walk *k, const kn_eqn *e)
{
    bool keys = false;
    kn_atom *in = KN_NEWN(&k->w->scratch, kn_atom, e->nin + e->nout + 1), *y = in + e->nin + 1;
    KILN_TRY_MEM(k->w->ctx, in);
    for (uint32_t i = 0; i < e->nin; i++) keys = keys || is_key(kn_type_of(k->from, e->in[i]));
    for (uint32_t i = 0; i < e->nout; i++) {
        keys = keys || is_key(k->from->vars[e->out[i]].type);
        KILN_TRY(check_rank(k->w->ctx, k->from->vars[e->out[i]].type));
    }
    k->b.scope = e->scope, k->b.loc = e->loc;
    for (uint32_t i = 0; i < e->nin; i++) in[i] = operand(k, e->in[i]);
    KILN_TRY(k->l.status);
    if (keys && !is_control(e->prim)) {
        KILN_TRY(key_eqn(k, e, in, y));
    } else {
        kn_param *params;
        KILN_TRY(words_params(k->w, e->params, e->prim->nparams, &params));
        KILN_TRY(kn_build_eqn(&k->b, e->prim, params, in, e->nin, y, e->nout));
    }
    for (uint32_t i = 0; i < e->nout; i++) k->map[e->out[i]] = y[i];
    return KILN_OK;
}

static kiln_status equations(walk *k)
{
    for (uint32_t i = 0; i < k->from->neqns; i++) KILN_TRY(rewrite(k, &k->from->eqns[i]));
    return KILN_OK;
}

/* ---- bodies ---- */

static void see_body(void *ud, const kn_jaxpr *body);
static bool any_keys(const kn_jaxpr *j)
{
    bool any = false;
    for (uint32_t i = 0; i < j->nvars; i++) any = any || is_key(j->vars[i].type);
    for (uint32_t i = 0; i < j->nlits; i++) any = any || j->lits[i].dtype == KILN_KEY;
    for (uint32_t k = 0; !any && k < j->neqns; k++) kn_eqn_bodies(&j->eqns[k], see_body, &any);
    return any;
}
static void see_body(void *ud, const kn_jaxpr *body)
{
    bool *any = ud;
    if (!*any) *any = any_keys(body);
}

static kiln_status whole(rewriting *w, const kn_jaxpr *j, const kn_jaxpr **out)
{
    walk k = {.w = w, .from = j, .map = KN_NEWN(&w->scratch, kn_atom, j->nvars + 1)};
    kn_atom *y = KN_NEWN(&w->scratch, kn_atom, j->nout + 1);
    KILN_TRY_MEM(w->ctx, k.map && y);
    kn_build_init(&k.b, w->ctx, w->out);
    k.l = (kn_low){&k.b, KILN_OK};
    for (uint32_t i = 0; i < j->nin; i++) {
        int64_t dims[KN_MAX_RANK + 1];
        kiln_type t = j->vars[j->in[i]].type;
        kn_atom *a = &k.map[j->in[i]];
        KILN_TRY(check_rank(w->ctx, t));
        if (i >= j->nconsts) KILN_TRY(kn_build_input(&k.b, words_type(t, dims), a));
        else if (j->consts[i]) KILN_TRY(constant(&k, j->consts[i], a));
        else KILN_TRY(kn_build_hole(&k.b, words_type(t, dims), a));
    }
    KILN_TRY(equations(&k));
    for (uint32_t i = 0; i < j->nout; i++) y[i] = operand(&k, j->out[i]);
    KILN_TRY(k.l.status);
    return kn_build_finish(&k.b, y, j->nout, out);
}

static kiln_status words_body(rewriting *w, const kn_jaxpr *j, const kn_jaxpr **out)
{
    uint32_t known = kn_map_get(&w->bodies, kn_map_address(j));
    if (known) {
        *out = w->done.v[known - 1];
        return KILN_OK;
    }
    KILN_TRY(whole(w, j, out));
    KILN_TRY_MEM(w->ctx, kn_push(&w->scratch, &w->done, *out) && kn_map_put(&w->scratch, &w->bodies, kn_map_address(j), w->done.n));
    return KILN_OK;
}

kiln_status kn_xwords(kiln_ctx *ctx, const kn_prog *p, kn_prog **out)
{
    *out = NULL;
    if (!any_keys(p->main)) return KILN_OK;
    rewriting w = {.ctx = ctx};
    KILN_TRY(kn_prog_new(ctx, p, &w.out));
    kn_arena_init(&w.scratch, &ctx->alloc);
    kiln_status status = whole(&w, p->main, &w.out->main);
    kn_arena_fini(&w.scratch);
    if (status == KILN_OK) *out = w.out;
    else kiln_prog_release(w.out);
    return status;
}
