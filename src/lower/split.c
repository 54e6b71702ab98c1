/* SPDX-License-Identifier: Apache-2.0 */
/* Splitting: body by body, each variable maps to one atom or, when complex, to those of its parts. Keys become the integers of
 * their bits on the way.
 *
 *   KN_BY_PARTS    the equation once for each part
 *   while, cond    bodies take and give parts in place of complex values, in their order
 *   sort           the parts are keys one after the other; a comparator takes both elements of one part, then both of the other
 *   other calls    take complex arrays in memory, joined before and split behind; so do the program's borders
 *
 * before  { lambda ; a:c64[8]. let b:c64[8] = rev[dimensions=(0,)] a in (b,) }
 * after   { lambda ; a:c64[8]. let b:f32[8] = real a; c:f32[8] = imag a; d:f32[8] = rev[dimensions=(0,)] b;
 *           e:f32[8] = rev[dimensions=(0,)] c; f:c64[8] = complex d e in (f,) } */
#include "lower/split.h"

#include "base/map.h"
#include "prim/control.h"
#include "prim/lowering.h"

extern const kn_prim kn_prim_complex, kn_prim_imag, kn_prim_real;

typedef struct value {
    kn_atom part[2]; /* a real value has one */
    kn_atom whole;
    bool has_parts, has_whole;
} value;

typedef struct splitting {
    kiln_ctx *ctx;
    kn_prog *out;
    kn_arena scratch;
    kn_map bodies; /* address -> number + 1 in done */
    KN_VEC(const kn_jaxpr *) done;
} splitting;

typedef struct scope {
    splitting *sp;
    kn_build b;
    const kn_jaxpr *from;
    value *map;
} scope;

static bool is_complex(kiln_type t) { return kiln_dtype_kind(t.dtype) == 'c'; }

/* A key is the integer of its bits, a token a byte. */
static kiln_dtype bits_of(kiln_dtype d) { return d == KILN_KEY ? KILN_U64 : d == KILN_TOKEN ? KILN_U8 : d; }
static bool is_number(kiln_dtype d) { return bits_of(d) == d; }
static kiln_type type_of(kiln_type t)
{
    t.dtype = bits_of(t.dtype);
    return t;
}

/* ---- parts and wholes ---- */

static kiln_status one(scope *s, const kn_prim *p, const kn_atom *in, uint32_t nin, kn_atom *out)
{
    kn_low l = {&s->b, KILN_OK};
    *out = nin == 1 ? kn_low1(&l, p, in[0]) : kn_low2(&l, p, in[0], in[1]);
    return l.status;
}

static kiln_status need_parts(scope *s, value *v)
{
    static const kn_prim *const prims[2] = {&kn_prim_real, &kn_prim_imag};
    for (int i = 0; !v->has_parts && i < 2; i++) KILN_TRY(one(s, prims[i], &v->whole, 1, &v->part[i]));
    v->has_parts = true;
    return KILN_OK;
}

static kiln_status need_whole(scope *s, value *v)
{
    if (!v->has_whole) KILN_TRY(one(s, &kn_prim_complex, v->part, 2, &v->whole));
    v->has_whole = true;
    return KILN_OK;
}

/* The operand, with its parts when it is complex. A literal's are literals. */
static kiln_status operand(scope *s, kn_atom a, value *few, value **v)
{
    if (!kn_is_literal(a)) {
        *v = &s->map[a];
        return is_complex(kn_type_of(s->from, a)) ? need_parts(s, *v) : KILN_OK;
    }
    const kn_lit *l = &s->from->lits[kn_literal_index(a)];
    *few = (value){.has_parts = true};
    *v = few;
    if (kiln_dtype_kind(l->dtype) != 'c') return kn_build_literal(&s->b, bits_of(l->dtype), l->value, &few->part[0]);
    for (int i = 0; i < 2; i++) KILN_TRY(kn_build_literal(&s->b, kn_part_dtype(l->dtype), (kn_scalar){.f = l->value.c[i]}, &few->part[i]));
    return KILN_OK;
}

/* Operands from..to-1 with parts in the place of complex ones; returns how many. */
static kiln_status flat_operands(scope *s, const kn_eqn *e, uint32_t from, uint32_t to, kn_atom *in, uint32_t *n)
{
    *n = 0;
    for (uint32_t i = from; i < to; i++) {
        value few, *v;
        KILN_TRY(operand(s, e->in[i], &few, &v));
        in[(*n)++] = v->part[0];
        if (is_complex(kn_type_of(s->from, e->in[i]))) in[(*n)++] = v->part[1];
    }
    return KILN_OK;
}

static uint32_t flat_results(const scope *s, const kn_eqn *e)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->nout; i++) n += is_complex(s->from->vars[e->out[i]].type) ? 2 : 1;
    return n;
}

static void take_flat(scope *s, const kn_eqn *e, const kn_atom *y)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < e->nout; i++) {
        value *v = &s->map[e->out[i]];
        *v = (value){.part = {y[k++]}, .has_parts = true};
        if (is_complex(s->from->vars[e->out[i]].type)) v->part[1] = y[k++];
    }
}

/* ---- equations ---- */

static const uint32_t NO_PAIRS = UINT32_MAX;
/* Arguments from number `pairs` on are two each of what is compared. */
static kiln_status split_body(splitting *sp, const kn_jaxpr *j, uint32_t pairs, const kn_jaxpr **out);

/* One equation on flat operands that stand in `in`. */
static kiln_status flat_eqn(scope *s, const kn_eqn *e, const kn_param *params, const kn_atom *in, uint32_t nin)
{
    uint32_t nout = flat_results(s, e);
    kn_atom *y = KN_NEWN(&s->sp->scratch, kn_atom, nout);
    KILN_TRY_MEM(s->sp->ctx, y);
    KILN_TRY(kn_build_eqn(&s->b, e->prim, params, in, nin, y, nout));
    take_flat(s, e, y);
    return KILN_OK;
}

static kiln_status split_params(splitting *sp, const kn_param *p, uint32_t n, uint32_t pairs, kn_param **out)
{
    kn_param *own = kn_arena_copy(&sp->scratch, p, n * sizeof *own);
    KILN_TRY_MEM(sp->ctx, own || n == 0);
    for (uint32_t i = 0; i < n; i++) {
        if (p[i].kind == KN_P_DTYPE) own[i].dtype = bits_of(p[i].dtype);
        if (p[i].kind == KN_P_JAXPR) KILN_TRY(split_body(sp, p[i].jaxpr, pairs, &own[i].jaxpr));
        if (p[i].kind != KN_P_TUPLE && p[i].kind != KN_P_RECORD) continue;
        kn_param *items;
        KILN_TRY(split_params(sp, p[i].items, p[i].n, pairs, &items));
        own[i].items = items;
    }
    *out = own;
    return KILN_OK;
}

/* Bodies, sorts and barriers: everything in its order, parts in the place of complex values. */
static kiln_status split_flat(scope *s, const kn_eqn *e)
{
    kn_param *params;
    const kn_param *keys = kn_param_of(e, "num_keys"), *consts = kn_param_of(e, "num_consts");
    kn_atom *in = KN_NEWN(&s->sp->scratch, kn_atom, 2 * (size_t)e->nin + 1);
    uint32_t n[3], first[3] = {0, 0, 0};
    KILN_TRY_MEM(s->sp->ctx, in);
    KILN_TRY(split_params(s->sp, e->params, e->prim->nparams, kn_param_of(e, "comparator") ? e->nin - e->nout : NO_PAIRS, &params));
    bool loop = e->prim->loop == KN_LOOP_WHILE;
    for (uint32_t i = 0; consts && consts->kind == KN_P_INT && i < (uint32_t)consts->i; i++)
        params[consts - e->params].i += is_complex(kn_type_of(s->from, e->in[i]));
    for (uint32_t i = 0; keys && i < (uint32_t)keys->i; i++) params[keys - e->params].i += is_complex(kn_type_of(s->from, e->in[i]));
    if (loop) {
        kn_while_parts p = kn_while_parts_of(e);
        first[1] = p.cond_consts, first[2] = p.cond_consts + p.body_consts;
    }
    uint32_t all = 0;
    for (int k = 0; k < 3; k++) {
        KILN_TRY(flat_operands(s, e, first[k], k < 2 ? first[k + 1] : e->nin, in + all, &n[k]));
        all += n[k];
    }
    if (loop) {
        params[kn_param_of(e, "cond_nconsts") - e->params].i = n[0];
        params[kn_param_of(e, "body_nconsts") - e->params].i = n[1];
    }
    return flat_eqn(s, e, params, in, all);
}

/* The equation of each part; complex operands give that part, others are the same in both. */
static kiln_status split_by_parts(scope *s, const kn_eqn *e)
{
    kn_arena *scratch = &s->sp->scratch;
    kn_atom *in[2], *y[2];
    for (int k = 0; k < 2; k++) {
        in[k] = KN_NEWN(scratch, kn_atom, e->nin + 1), y[k] = KN_NEWN(scratch, kn_atom, e->nout);
        KILN_TRY_MEM(s->sp->ctx, in[k] && y[k]);
    }
    for (uint32_t i = 0; i < e->nin; i++) {
        value few, *v;
        KILN_TRY(operand(s, e->in[i], &few, &v));
        bool both = is_complex(kn_type_of(s->from, e->in[i]));
        in[0][i] = v->part[0], in[1][i] = v->part[both];
    }
    for (int k = 0; k < 2; k++) {
        const kn_param *fill = kn_param_of(e, "fill_value"), *params = e->params;
        if (k == 1 && fill && fill->kind != KN_P_NONE) { /* a number that is given is real */
            kn_param *own = kn_arena_copy(scratch, e->params, e->prim->nparams * sizeof *own);
            KILN_TRY_MEM(s->sp->ctx, own);
            own[fill - e->params] = KN_INT(0);
            params = own;
        }
        KILN_TRY(kn_build_eqn(&s->b, e->prim, params, in[k], e->nin, y[k], e->nout));
    }
    for (uint32_t i = 0; i < e->nout; i++) s->map[e->out[i]] = (value){.part = {y[0][i], y[1][i]}, .has_parts = true};
    return KILN_OK;
}

/* A routine: complex operands stand in memory as they are. */
static kiln_status split_call(scope *s, const kn_eqn *e)
{
    kn_arena *scratch = &s->sp->scratch;
    kn_atom *in = KN_NEWN(scratch, kn_atom, e->nin), *y = KN_NEWN(scratch, kn_atom, e->nout);
    kn_param *params;
    KILN_TRY_MEM(s->sp->ctx, in && y);
    KILN_TRY(split_params(s->sp, e->params, e->prim->nparams, NO_PAIRS, &params));
    for (uint32_t i = 0; i < e->nin; i++) {
        bool both = is_complex(kn_type_of(s->from, e->in[i]));
        value few, *v = kn_is_literal(e->in[i]) ? &few : &s->map[e->in[i]];
        if (kn_is_literal(e->in[i])) KILN_TRY(operand(s, e->in[i], &few, &v));
        if (both) KILN_TRY(need_whole(s, v));
        in[i] = both ? v->whole : v->part[0];
    }
    KILN_TRY(kn_build_eqn(&s->b, e->prim, params, in, e->nin, y, e->nout));
    for (uint32_t i = 0; i < e->nout; i++) {
        bool both = is_complex(s->from->vars[e->out[i]].type);
        s->map[e->out[i]] = both ? (value){.whole = y[i], .has_whole = true} : (value){.part = {y[i]}, .has_parts = true};
    }
    return KILN_OK;
}

/* complex, real, imag: names of parts. */
static kiln_status split_names(scope *s, const kn_eqn *e)
{
    value few[2], *v[2];
    value *y = &s->map[e->out[0]];
    for (uint32_t i = 0; i < e->nin; i++) KILN_TRY(operand(s, e->in[i], &few[i], &v[i]));
    *y = (value){.has_parts = true};
    if (e->prim != &kn_prim_complex) {
        y->part[0] = v[0]->part[e->prim == &kn_prim_imag];
        return KILN_OK;
    }
    kn_low l = {&s->b, KILN_OK};
    for (int i = 0; i < 2; i++) y->part[i] = kn_low_in_shape(&l, v[i]->part[0], s->from->vars[e->out[0]].type);
    return l.status;
}

static bool any_complex(const kn_jaxpr *j, const kn_eqn *e)
{
    for (uint32_t i = 0; i < e->nin; i++)
        if (is_complex(kn_type_of(j, e->in[i]))) return true;
    for (uint32_t i = 0; i < e->nout; i++)
        if (is_complex(j->vars[e->out[i]].type)) return true;
    return false;
}

static void see_body(void *ud, const kn_jaxpr *body);

static bool must_split(const kn_jaxpr *j)
{
    bool any = false;
    for (uint32_t i = 0; i < j->nvars; i++) any = any || is_complex(j->vars[i].type) || !is_number(j->vars[i].type.dtype);
    for (uint32_t i = 0; i < j->nlits; i++) any = any || kiln_dtype_kind(j->lits[i].dtype) == 'c' || !is_number(j->lits[i].dtype);
    for (uint32_t k = 0; !any && k < j->neqns; k++) kn_eqn_bodies(&j->eqns[k], see_body, &any);
    return any;
}

static void see_body(void *ud, const kn_jaxpr *body)
{
    bool *any = ud;
    if (!*any) *any = must_split(body);
}

/* A barrier holds what goes through it together. */
static bool is_flat(const kn_eqn *e)
{
    const kn_prim *p = e->prim;
    bool sorts = kn_param_of(e, "num_keys") || kn_param_of(e, "comparator");
    bool barrier = (p->flags & KN_BY_PARTS) && p->nin == KN_VARIADIC && p->nout == KN_VARIADIC;
    return p->loop == KN_LOOP_WHILE || p->loop == KN_LOOP_COND || sorts || barrier;
}

static kiln_status split_eqn(scope *s, const kn_eqn *e)
{
    s->b.scope = e->scope;
    s->b.loc = e->loc;
    if (is_flat(e) || !any_complex(s->from, e)) return split_flat(s, e);
    if (e->prim->loop == KN_LOOP_CALL) return split_call(s, e);
    if (e->prim->flags & KN_BY_PARTS) return split_by_parts(s, e);
    if (e->prim == &kn_prim_complex || e->prim == &kn_prim_real || e->prim == &kn_prim_imag) return split_names(s, e);
    kn_place at = {.file = s->sp->out->files.v[e->loc.file], .line = (int)e->loc.line, .column = (int)e->loc.column};
    return kn_fail_at(s->sp->ctx, KILN_UNSUPPORTED, "unsupported", at, NULL, "compile: %s of complex numbers, giving %s", e->prim->name,
                      kn_type_show(s->from->vars[e->out[0]].type).s);
}

/* ---- bodies ---- */

static kiln_status begin(splitting *sp, scope *s, const kn_jaxpr *j)
{
    *s = (scope){.sp = sp, .from = j};
    kn_build_init(&s->b, sp->ctx, sp->out);
    s->map = KN_NEWN(&sp->scratch, value, j->nvars);
    KILN_TRY_MEM(sp->ctx, s->map || j->nvars == 0);
    return KILN_OK;
}

static kiln_status equations(scope *s)
{
    for (uint32_t k = 0; k < s->from->neqns; k++) KILN_TRY(split_eqn(s, &s->from->eqns[k]));
    return KILN_OK;
}

static kiln_status body_input(scope *s, uint32_t i, int part)
{
    kiln_type t = type_of(s->from->vars[s->from->in[i]].type);
    value *v = &s->map[s->from->in[i]];
    v->has_parts = true;
    if (is_complex(t)) t.dtype = kn_part_dtype(t.dtype);
    return kn_build_input(&s->b, t, &v->part[part]);
}

static kiln_status body_inputs(scope *s, uint32_t pairs)
{
    const kn_jaxpr *j = s->from;
    for (uint32_t i = 0; i < j->nin;) {
        uint32_t next = i >= pairs ? i + 2 : i + 1;
        int parts = is_complex(j->vars[j->in[i]].type) ? 2 : 1;
        for (int k = 0; k < parts; k++)
            for (uint32_t a = i; a < next && a < j->nin; a++) KILN_TRY(body_input(s, a, k));
        i = next;
    }
    return KILN_OK;
}

static kiln_status split_body(splitting *sp, const kn_jaxpr *j, uint32_t pairs, const kn_jaxpr **out)
{
    uint32_t known = pairs == NO_PAIRS ? kn_map_get(&sp->bodies, kn_map_address(j)) : 0, n = 0;
    if (known) {
        *out = sp->done.v[known - 1];
        return KILN_OK;
    }
    scope s;
    KILN_TRY(begin(sp, &s, j));
    KILN_TRY(body_inputs(&s, pairs));
    KILN_TRY(equations(&s));
    kn_atom *y = KN_NEWN(&sp->scratch, kn_atom, 2 * (size_t)j->nout + 1);
    KILN_TRY_MEM(sp->ctx, y);
    for (uint32_t i = 0; i < j->nout; i++) {
        value few, *v;
        KILN_TRY(operand(&s, j->out[i], &few, &v));
        y[n++] = v->part[0];
        if (is_complex(kn_type_of(j, j->out[i]))) y[n++] = v->part[1];
    }
    KILN_TRY(kn_build_finish(&s.b, y, n, out));
    if (pairs != NO_PAIRS) return KILN_OK;
    KILN_TRY_MEM(sp->ctx, kn_push(&sp->scratch, &sp->done, *out) && kn_map_put(&sp->scratch, &sp->bodies, kn_map_address(j), sp->done.n));
    return KILN_OK;
}

static kiln_status constant(scope *s, kiln_array *a, kn_atom *out)
{
    if (is_number(a->type.dtype)) return kn_build_const(&s->b, a, out);
    kiln_array *bits;
    KILN_TRY(kiln_array_create(s->sp->ctx, type_of(a->type), &bits));
    if (a->bytes) memcpy(bits->data, a->data, a->bytes);
    kiln_status status = kn_build_const(&s->b, bits, out);
    kiln_array_release(bits);
    return status;
}

/* The program itself: complex inputs, constants and results are whole. */
static kiln_status split_main(splitting *sp, const kn_jaxpr *j)
{
    scope s;
    KILN_TRY(begin(sp, &s, j));
    for (uint32_t i = 0; i < j->nin; i++) {
        kiln_type t = j->vars[j->in[i]].type;
        kn_atom a;
        if (i < j->nconsts) KILN_TRY(constant(&s, j->consts[i], &a));
        else KILN_TRY(kn_build_input(&s.b, type_of(t), &a));
        s.map[j->in[i]] = is_complex(t) ? (value){.whole = a, .has_whole = true} : (value){.part = {a}, .has_parts = true};
    }
    KILN_TRY(equations(&s));
    kn_atom *y = KN_NEWN(&sp->scratch, kn_atom, j->nout);
    KILN_TRY_MEM(sp->ctx, y || j->nout == 0);
    for (uint32_t i = 0; i < j->nout; i++) {
        bool both = is_complex(kn_type_of(j, j->out[i]));
        value few, *v = kn_is_literal(j->out[i]) ? &few : &s.map[j->out[i]];
        if (kn_is_literal(j->out[i])) KILN_TRY(operand(&s, j->out[i], &few, &v));
        if (both) KILN_TRY(need_whole(&s, v));
        y[i] = both ? v->whole : v->part[0];
    }
    return kn_build_finish(&s.b, y, j->nout, &sp->out->main);
}

kiln_status kn_split(kiln_ctx *ctx, kn_prog *lowered, kn_prog **out)
{
    *out = NULL;
    if (!must_split(lowered->main)) {
        *out = kiln_prog_retain(lowered);
        return KILN_OK;
    }
    splitting sp = {.ctx = ctx};
    KILN_TRY(kn_prog_new(ctx, lowered, &sp.out));
    sp.out->level = KN_LOWERED;
    kn_arena_init(&sp.scratch, &ctx->alloc);
    kiln_status status = split_main(&sp, lowered->main);
#ifdef KN_DEBUG
    if (status == KILN_OK) status = kn_verify(ctx, sp.out);
#endif
    kn_arena_fini(&sp.scratch);
    if (status == KILN_OK) *out = sp.out;
    else kiln_prog_release(sp.out);
    return status;
}
