/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow: each body is traced into a frame of its own; what it captured becomes its first inputs and the first
 * operands of the equation. */
#include "trace/trace.h"

kn_tframe *kn_tframe_open(kiln_trace *t)
{
    if (t->failed) return NULL;
    kn_tframe *f = KN_NEW(&t->arena, kn_tframe);
    if (!f) {
        kn_tstatus(t, kn_nomem(t->ctx), (kn_site){0});
        return NULL;
    }
    kn_build_init(&f->b, t->ctx, t->prog);
    f->outer = t->frame;
    t->frame = f;
    return f;
}

void kn_tframe_inputs(kiln_trace *t, kn_tframe *f, const kiln_type *types, uint32_t n, kiln_val *out)
{
    for (uint32_t i = 0; i < n; i++) {
        kn_atom a;
        out[i] = (kiln_val){0};
        if (t->failed) continue;
        kn_tstatus(t, kn_build_input(&f->b, types[i], &a), (kn_site){0});
        if (!t->failed) out[i] = kn_tval_variable(t, f, a);
    }
}

/* Puts the captured inputs in front of the n own ones. */
static bool captured_first(kiln_trace *t, kn_tframe *f, const kn_atom *captured, uint32_t n_captured, uint32_t n_own)
{
    kn_atom *own = KN_NEWN(&t->arena, kn_atom, n_own);
    if (!own) {
        kn_tstatus(t, kn_nomem(t->ctx), (kn_site){0});
        return false;
    }
    if (n_own) memcpy(own, f->b.args.v, n_own * sizeof *own);
    if (n_captured) memcpy(f->b.args.v, captured, n_captured * sizeof *own);
    if (n_own) memcpy(f->b.args.v + n_captured, own, n_own * sizeof *own);
    return true;
}

const kn_jaxpr *kn_tframe_close(kiln_trace *t, kn_tframe *f, const kiln_val *out, uint32_t n_out, uint32_t n_own)
{
    const kn_jaxpr *j = NULL;
    kn_atom few[8], *atoms = few;
    if (!t->failed && n_out > 8 && !(atoms = KN_NEWN(&t->arena, kn_atom, n_out))) kn_tstatus(t, kn_nomem(t->ctx), (kn_site){0});
    for (uint32_t i = 0; i < n_out && !t->failed; i++) kn_tatom(t, f, out[i], &atoms[i]);
    if (!t->failed && captured_first(t, f, f->captured_atoms.v, f->captured.n, n_own))
        kn_tstatus(t, kn_build_finish(&f->b, atoms, n_out, &j), (kn_site){0});
    t->frame = f->outer;
    return t->failed ? NULL : j;
}

void kn_tframe_operands(kiln_trace *t, const kn_tframe *f, kn_atom *out)
{
    for (uint32_t i = 0; i < f->captured.n && !t->failed; i++) kn_tatom(t, t->frame, f->captured.v[i], &out[i]);
}

bool kn_tvals_typed(kiln_trace *t, const char *op, const char *what, const kiln_val *v, uint32_t n, kn_site site)
{
    if (!kn_tvals_usable(t, op, v, n, site) || kn_topen_refused(t, op, v, n, site)) return false;
    for (uint32_t i = 0; i < n; i++)
        if (kn_tval_of(t, v[i])->kind == KN_T_NUMBER) {
            kn_type_text text;
            kn_tfail(t, KILN_DTYPE, "kiln_scalar, which gives a number a type", site, "%s: %s %u is %s, without a type", op, what, i,
                     kn_tshow(t, v[i], &text));
            return false;
        }
    return true;
}

/* One loop, from the trace's arena. */
typedef struct loop_space {
    const char *op; /* for messages */
    uint32_t own;   /* carries in front that are not the caller's */
    kiln_type *types;
    kiln_val *in, *next;
    kn_topen **open; /* per carry: NULL where it has a type from the start */
    kiln_val *open_in;
} loop_space;

/* Types of first carries; the error when one has none and cannot get one. */
static bool carry_types(kiln_trace *t, const kiln_val *v, uint32_t n, loop_space *s, kn_site site)
{
    if (!kn_tvals_usable(t, s->op, v + s->own, n - s->own, site) || kn_topen_refused(t, s->op, v + s->own, n - s->own, site)) return false;
    for (uint32_t i = 0; i < n && !t->failed; i++) {
        const kn_tval *x = kn_tval_of(t, v[i]);
        s->types[i] = x->type;
        if (x->kind == KN_T_NUMBER) s->open[i] = kn_topen_new(t, x->value.f);
    }
    return !t->failed;
}

/* The carries among the inputs of a body. */
static void open_carries(kiln_trace *t, const loop_space *s, uint32_t n)
{
    for (uint32_t i = 0; i < n && !t->failed; i++)
        if (s->open[i]) kn_topen_join(t, s->open[i], s->open_in[i] = s->in[i]);
}

static bool space_for(kiln_trace *t, const char *op, uint32_t own, uint32_t n_in, uint32_t n_next, loop_space *s)
{
    s->op = op;
    s->own = own;
    s->types = KN_NEWN(&t->arena, kiln_type, n_in);
    s->in = KN_NEWN(&t->arena, kiln_val, n_in);
    s->next = KN_NEWN(&t->arena, kiln_val, n_next);
    s->open = KN_NEWN(&t->arena, kn_topen *, n_in);
    s->open_in = KN_NEWN(&t->arena, kiln_val, n_in);
    if (s->types && s->in && s->next && s->open && s->open_in) return true;
    kn_tstatus(t, kn_nomem(t->ctx), (kn_site){0});
    return false;
}

/* Carries that begin as numbers, by what they become; where only numbers meet, f32, which is what kiln_jit makes of numbers. */
static void settle(kiln_trace *t, const loop_space *s, uint32_t n, kn_site site)
{
    for (uint32_t i = 0; i < n && !t->failed; i++) {
        if (!s->open[i] || kn_topen_known(s->open[i])) continue;
        kn_topen_meet(t, (kiln_val[]){s->open_in[i], s->next[i]}, 2, site);
    }
    for (uint32_t i = 0; i < n && !t->failed; i++) {
        if (!s->open[i]) continue;
        kn_topen_close(t, s->open[i], KILN_F32, site);
        s->types[i].dtype = kn_topen_dtype(s->open[i]);
    }
}

/* The next carry must have the carry's types; numbers take them. */
static void check_next(kiln_trace *t, const loop_space *s, uint32_t n, kn_site site)
{
    kiln_type *want = s->types;
    kiln_val *next = s->next;
    if (!kn_tvals_usable(t, s->op, next + s->own, n - s->own, site)) return;
    settle(t, s, n, site);
    for (uint32_t i = 0; i < n && !t->failed; i++) {
        if (want[i].rank == 0) next[i] = kn_tval_adopt(t, s->op, next[i], want[i].dtype, site);
        const kn_tval *x = kn_tval_of(t, next[i]);
        if (t->failed || (x->kind != KN_T_NUMBER && kiln_type_equal(x->type, want[i]))) continue;
        kn_type_text text;
        kn_tfail(t, KILN_SHAPE, "the type that the carry begins with", site, "%s: carry %u begins as %s and becomes %s", s->op, i - s->own,
                 kn_type_show(want[i]).s, kn_tshow(t, next[i], &text));
    }
}

static void no_results(kiln_val *out, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) out[i] = (kiln_val){0};
}

/* First carries as operands: numbers have the types that the body gave them. */
static void first_carries(kiln_trace *t, const loop_space *s, const kiln_val *init, uint32_t n, kn_atom *out, kn_site site)
{
    for (uint32_t i = 0; i < n && !t->failed; i++) kn_tatom(t, t->frame, kn_tval_adopt(t, s->op, init[i], s->types[i].dtype, site), &out[i]);
}

/* ---- while ---- */

typedef struct while_call {
    kiln_cond_fn cond;
    kiln_body_fn body;
    void *user;
    const kiln_loop_opts *opts;
    const char *op;
    uint32_t own;
    kn_site site;
} while_call;

static void trace_while(kiln_trace *t, const while_call *w, const kiln_val *init, uint32_t n_carry, kiln_val *out)
{
    const kiln_loop_opts *opts = w->opts;
    kn_site site = w->site;
    kiln_loop_opts said = KILN_LOOP_OPTS_INIT;
    loop_space s;
    if (opts) memcpy(&said, opts, opts->size && opts->size < sizeof said ? opts->size : sizeof said);
    if (t->failed || !space_for(t, w->op, w->own, n_carry, n_carry, &s) || !carry_types(t, init, n_carry, &s, site)) {
        no_results(out, n_carry);
        return;
    }

    kn_tframe *fc = kn_tframe_open(t);
    const kn_jaxpr *jc = NULL, *jb = NULL;
    if (fc) {
        kn_tframe_inputs(t, fc, s.types, n_carry, s.in);
        open_carries(t, &s, n_carry);
        kiln_val go = w->cond(t, w->user, s.in);
        if (!t->failed && kn_tvals_typed(t, "while", "condition", &go, 1, site)) {
            kiln_type x = kn_tval_of(t, go)->type;
            if (x.rank != 0 || x.dtype != KILN_BOOL)
                kn_tfail(t, KILN_DTYPE, "a bool scalar, such as a comparison gives", site, "while: the condition is %s",
                         kn_type_show(x).s);
        }
        jc = kn_tframe_close(t, fc, &go, 1, n_carry);
    }
    kn_tframe *fb = kn_tframe_open(t);
    if (fb) {
        for (uint32_t i = 0; i < n_carry; i++)
            if (s.open[i]) s.types[i].dtype = kn_topen_dtype(s.open[i]); /* the condition may have told */
        kn_tframe_inputs(t, fb, s.types, n_carry, s.in);
        open_carries(t, &s, n_carry);
        w->body(t, w->user, s.in, s.next);
        check_next(t, &s, n_carry, site);
        jb = kn_tframe_close(t, fb, s.next, n_carry, n_carry);
    }
    if (t->failed || !jc || !jb) {
        no_results(out, n_carry);
        return;
    }
    uint32_t nc = fc->captured.n, nb = fb->captured.n;
    kn_atom *operands = KN_NEWN(&t->arena, kn_atom, (size_t)nc + nb + n_carry);
    if (!operands) {
        kn_tstatus(t, kn_nomem(t->ctx), site);
        no_results(out, n_carry);
        return;
    }
    kn_tframe_operands(t, fc, operands);
    kn_tframe_operands(t, fb, operands + nc);
    first_carries(t, &s, init, n_carry, operands + nc + nb, site);
    kn_named params[] = {{"body_jaxpr", KN_JAXPR(jb)}, {"body_nconsts", KN_INT(nb)}, {"cond_jaxpr", KN_JAXPR(jc)}, {"cond_nconsts", KN_INT(nc)},
                         {"max_trips", said.max_trips ? KN_INT(said.max_trips) : KN_NONE}, {"record", said.record ? KN_TEXT(said.record) : KN_NONE}};
    kn_temit_atoms(t, "while", params, 6, operands, nc + nb + n_carry, out, n_carry, site);
}

void kiln_while_with_at(kiln_trace *t, kiln_cond_fn cond, kiln_body_fn body, void *user, const kiln_val *init, uint32_t n_carry,
                        const kiln_loop_opts *opts, kiln_val *out, const char *file, int line)
{
    trace_while(t, &(while_call){cond, body, user, opts, "while", 0, {file, line}}, init, n_carry, out);
}

void kiln_while_at(kiln_trace *t, kiln_cond_fn cond, kiln_body_fn body, void *user, const kiln_val *init, uint32_t n_carry,
                   kiln_val *out, const char *file, int line)
{
    kiln_while_with_at(t, cond, body, user, init, n_carry, NULL, out, file, line);
}

/* ---- scan ---- */

/* The trees that the text form prints for a scan: one None a value; RightsOnly(Right(None)) a stacked result. */
static bool scan_trees(kiln_trace *t, uint32_t n_const, uint32_t n_carry, uint32_t n_x, uint32_t n_y, kn_param *in, kn_param *out)
{
    uint32_t most = n_const > n_carry ? n_const : n_carry;
    if (n_x > most) most = n_x;
    kn_param *nones = KN_NEWN(&t->arena, kn_param, most + 1), *ins = KN_NEWN(&t->arena, kn_param, 3);
    kn_param *ys = KN_NEWN(&t->arena, kn_param, n_y), *right = KN_NEW(&t->arena, kn_param), *outs = KN_NEWN(&t->arena, kn_param, 2);
    if (!nones || !ins || !ys || !right || !outs) {
        kn_tstatus(t, kn_nomem(t->ctx), (kn_site){0});
        return false;
    }
    ins[0] = KN_TUPLE(n_const, nones), ins[1] = KN_TUPLE(n_carry, nones), ins[2] = KN_TUPLE(n_x, nones);
    *right = (kn_param){.kind = KN_P_RECORD, .n = 1, .items = nones, .name = "Right"};
    for (uint32_t i = 0; i < n_y; i++) ys[i] = (kn_param){.kind = KN_P_RECORD, .n = 1, .items = right, .name = "RightsOnly"};
    outs[0] = KN_TUPLE(n_carry, nones), outs[1] = KN_TUPLE(n_y, ys);
    *in = KN_TUPLE(3, ins), *out = KN_TUPLE(2, outs);
    return true;
}

/* Types of the slices of xs; the error when one has another leading extent. */
static bool slice_types(kiln_trace *t, const kiln_val *xs, uint32_t n_x, int64_t length, kiln_type *out, kn_site site)
{
    for (uint32_t i = 0; i < n_x; i++) {
        kiln_type x = kn_tval_of(t, xs[i])->type;
        if (x.rank == 0 || x.dims[0] != length) {
            kn_tfail(t, KILN_SHAPE, "arrays whose first extent is the length", site, "scan over %lld: array %u is %s",
                     (long long)length, i, kn_type_show(x).s);
            return false;
        }
        out[i] = (kiln_type){x.dtype, x.rank - 1, x.dims + 1};
    }
    return true;
}

typedef struct scan_call {
    kiln_scan_fn body;
    void *user;
    uint32_t n_x, n_y;
    int64_t length;
    bool reverse;
    const char *op;
    uint32_t own;
    kn_site site;
} scan_call;

static void trace_scan(kiln_trace *t, const scan_call *c, const kiln_val *init, uint32_t n_carry, const kiln_val *xs, kiln_val *out)
{
    uint32_t n_x = c->n_x, n_y = c->n_y;
    int64_t length = c->length;
    kn_site site = c->site;
    loop_space s;
    no_results(out, n_carry + n_y);
    if (!t->failed && length < 0) kn_tfail(t, KILN_SHAPE, "0 and more", site, "scan: a length of %lld", (long long)length);
    if (!kn_tvals_typed(t, "scan", "array", xs, n_x, site) || !space_for(t, c->op, c->own, n_carry + n_x, n_carry + n_y, &s)) return;
    if (!carry_types(t, init, n_carry, &s, site)) return;
    if (!slice_types(t, xs, n_x, length, s.types + n_carry, site)) return;
    kn_tframe *f = kn_tframe_open(t);
    if (!f) return;
    kn_tframe_inputs(t, f, s.types, n_carry + n_x, s.in);
    open_carries(t, &s, n_carry);
    c->body(t, c->user, s.in, s.in + n_carry, s.next, s.next + n_carry);
    check_next(t, &s, n_carry, site);
    kn_tvals_typed(t, "scan", "stacked result", s.next + n_carry, n_y, site);
    const kn_jaxpr *j = kn_tframe_close(t, f, s.next, n_carry + n_y, n_carry + n_x);
    if (!j) return;
    uint32_t nc = f->captured.n, nin = nc + n_carry + n_x;
    kn_atom *operands = KN_NEWN(&t->arena, kn_atom, nin);
    if (!operands) {
        kn_tstatus(t, kn_nomem(t->ctx), site);
        return;
    }
    kn_tframe_operands(t, f, operands);
    first_carries(t, &s, init, n_carry, operands + nc, site);
    for (uint32_t i = 0; i < n_x; i++) kn_tatom(t, t->frame, xs[i], &operands[nc + n_carry + i]);
    kn_param in_tree, out_tree;
    if (!scan_trees(t, nc, n_carry, n_x, n_y, &in_tree, &out_tree)) return;
    kn_named params[] = {{"ft_in", in_tree},           {"ft_out", out_tree},         {"jaxpr", KN_JAXPR(j)},
                         {"length", KN_INT(length)},   {"reverse", KN_BOOL(c->reverse)}, {"unroll", KN_INT(1)},
                         {"num_consts", KN_INT(nc)},   {"num_carry", KN_INT(n_carry)}};
    kn_temit_atoms(t, "scan", params, 8, operands, nin, out, n_carry + n_y, site);
}

void kiln_scan_at(kiln_trace *t, kiln_scan_fn body, void *user, const kiln_val *init, uint32_t n_carry, const kiln_val *xs, uint32_t n_x,
                  uint32_t n_y, int64_t length, bool reverse, kiln_val *out, const char *file, int line)
{
    trace_scan(t, &(scan_call){body, user, n_x, n_y, length, reverse, "scan", 0, {file, line}}, init, n_carry, xs, out);
}
/* ---- fori ---- */

typedef struct counting {
    kiln_fori_fn body;
    void *user;
    kiln_val hi;
    kn_site site;
} counting;

static kiln_val count_below(kiln_trace *t, void *user, const kiln_val *carry)
{
    const counting *f = user;
    return kiln_op2(t, "lt", carry[0], f->hi, f->site.file, f->site.line);
}
static void count_body(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    const counting *f = user;
    f->body(t, f->user, carry[0], carry + 1, next + 1);
    next[0] = kiln_op2(t, "add", carry[0], kiln_num(t, 1), f->site.file, f->site.line);
}
static void count_slice(kiln_trace *t, void *user, const kiln_val *carry, const kiln_val *x, kiln_val *next, kiln_val *y)
{
    (void)x, (void)y;
    count_body(t, user, carry, next);
}

/* Bounds of one integer type: numbers take that of the other, or i32, or i64. */
static bool bounds(kiln_trace *t, kiln_val v[2], kn_site site)
{
    if (!kn_tvals_usable(t, "fori", v, 2, site) || kn_topen_refused(t, "fori", v, 2, site)) return false;
    kiln_dtype d = KILN_I32;
    for (int i = 0; i < 2; i++) {
        const kn_tval *x = kn_tval_of(t, v[i]);
        kn_scalar ignored;
        if (x->kind != KN_T_NUMBER) d = x->type.dtype;
        else if (d == KILN_I32 && !kn_tnumber_fits(x->value.f, d, &ignored)) d = KILN_I64;
    }
    for (int i = 0; i < 2; i++) v[i] = kn_tval_adopt(t, "fori", v[i], d, site);
    bool good = !t->failed;
    for (int i = 0; i < 2 && good; i++) {
        kiln_type x = kn_tval_of(t, v[i])->type;
        good = !x.rank && strchr("iu", kiln_dtype_kind(x.dtype)) && x.dtype == d;
    }
    kn_type_text lo, hi;
    if (!good) kn_tfail(t, KILN_DTYPE, "integer scalars of one type, or numbers", site, "fori: from %s to %s", kn_tshow(t, v[0], &lo), kn_tshow(t, v[1], &hi));
    return good;
}

void kiln_fori_at(kiln_trace *t, kiln_val lo, kiln_val hi, kiln_fori_fn body, void *user, const kiln_val *init, uint32_t n_carry,
                  const kiln_loop_opts *opts, kiln_val *out, const char *file, int line)
{
    kn_site site = {file, line};
    kiln_val v[2] = {lo, hi}, *first = NULL, *last = NULL;
    no_results(out, n_carry);
    if (!bounds(t, v, site)) return;
    if (!(first = KN_NEWN(&t->arena, kiln_val, n_carry + 1)) || !(last = KN_NEWN(&t->arena, kiln_val, n_carry + 1))) {
        kn_tstatus(t, kn_nomem(t->ctx), site);
        return;
    }
    counting f = {body, user, v[1], site};
    first[0] = v[0];
    if (n_carry) memcpy(first + 1, init, n_carry * sizeof *init);
    const kn_tval *a = kn_tval_of(t, v[0]), *b = kn_tval_of(t, v[1]);
    bool sign = kiln_dtype_kind(a->type.dtype) == 'i', fixed = a->kind == KN_T_LITERAL && b->kind == KN_T_LITERAL;
    uint64_t n = !fixed || (sign ? b->value.i <= a->value.i : b->value.u <= a->value.u) ? 0 : b->value.u - a->value.u;
    if (fixed && n <= INT64_MAX) trace_scan(t, &(scan_call){count_slice, &f, 0, 0, (int64_t)n, false, "fori", 1, site}, first, n_carry + 1, NULL, last);
    else trace_while(t, &(while_call){count_below, count_body, &f, opts, "fori", 1, site}, first, n_carry + 1, last);
    if (n_carry && !t->failed) memcpy(out, last + 1, n_carry * sizeof *out);
}

/* ---- map ---- */

typedef struct mapping {
    kiln_map_fn body;
    void *user;
} mapping;

static void map_slice(kiln_trace *t, void *user, const kiln_val *carry, const kiln_val *x, kiln_val *next, kiln_val *y)
{
    const mapping *m = user;
    (void)carry, (void)next;
    m->body(t, m->user, x, y);
}

void kiln_map_at(kiln_trace *t, kiln_map_fn body, void *user, const kiln_val *xs, uint32_t n_x, uint32_t n_y, int64_t length, kiln_val *out,
                 const char *file, int line)
{
    kiln_scan_at(t, map_slice, &(mapping){body, user}, NULL, 0, xs, n_x, n_y, length, false, out, file, line);
}

/* ---- cond ---- */

/* Equal types in all branches; numbers take the type that another branch gives. */
static void unify_results(kiln_trace *t, kiln_val *results, uint32_t n_branches, uint32_t n_out, kn_site site)
{
    for (uint32_t i = 0; i < n_out && !t->failed; i++) {
        const kn_tval *first = NULL;
        for (uint32_t k = 0; k < n_branches && !first; k++) {
            const kn_tval *x = kn_tval_of(t, results[k * n_out + i]);
            if (x->kind == KN_T_LITERAL || x->kind == KN_T_VARIABLE) first = x;
        }
        if (!first) {
            kn_tfail(t, KILN_DTYPE, "kiln_scalar, which gives a number a type", site, "cond: result %u has no type in any branch", i);
            return;
        }
        kiln_type want = first->type;
        for (uint32_t k = 0; k < n_branches && !t->failed; k++) {
            kiln_val *v = &results[k * n_out + i];
            if (want.rank == 0) *v = kn_tval_adopt(t, "cond", *v, want.dtype, site);
            const kn_tval *x = kn_tval_of(t, *v);
            if (t->failed || (x->kind != KN_T_NUMBER && kiln_type_equal(x->type, want))) continue;
            kn_type_text text;
            kn_tfail(t, KILN_SHAPE, "one type in all branches", site, "cond: result %u is %s in one branch and %s in branch %u", i,
                     kn_type_show(want).s, kn_tshow(t, *v, &text), k);
        }
    }
}

/* The values that any branch captured, each once. */
static bool union_of_captures(kiln_trace *t, kn_tframe **frames, uint32_t n, kn_tframe *all)
{
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < frames[k]->captured.n; i++) {
            kn_atom unused;
            kiln_val v = frames[k]->captured.v[i];
            /* `all` collects as a frame does, so that looking up stays cheap */
            if (!kn_tatom(t, all, v, &unused)) return false;
        }
    return true;
}

static bool close_branch(kiln_trace *t, kn_tframe *f, const kn_tframe *all, const kiln_val *results, uint32_t n_out, const kn_jaxpr **j)
{
    kn_atom *atoms = KN_NEWN(&t->arena, kn_atom, n_out), *captured = KN_NEWN(&t->arena, kn_atom, all->captured.n);
    if (!atoms || !captured) {
        kn_tstatus(t, kn_nomem(t->ctx), (kn_site){0});
        return false;
    }
    for (uint32_t i = 0; i < n_out; i++)
        if (!kn_tatom(t, f, results[i], &atoms[i])) return false;
    for (uint32_t i = 0; i < all->captured.n; i++)
        if (!kn_tatom(t, f, all->captured.v[i], &captured[i])) return false;
    if (!captured_first(t, f, captured, all->captured.n, 0)) return false;
    kn_tstatus(t, kn_build_finish(&f->b, atoms, n_out, j), (kn_site){0});
    return !t->failed;
}

/* An i32 index: a bool becomes 0 or 1. */
static bool branch_index(kiln_trace *t, kiln_val which, uint32_t n_branches, kiln_val *out, kn_site site)
{
    if (!t->failed && n_branches == 0) kn_tfail(t, KILN_INVALID, "at least one branch", site, "cond: no branches");
    if (!kn_tvals_usable(t, "cond", &which, 1, site)) return false;
    which = kn_tval_adopt(t, "cond", which, KILN_I32, site);
    if (t->failed) return false;
    kiln_type x = kn_tval_of(t, which)->type;
    if (x.rank != 0 || (x.dtype != KILN_BOOL && x.dtype != KILN_I32)) {
        kn_tfail(t, KILN_DTYPE, "a bool or i32 scalar", site, "cond: branches by %s", kn_type_show(x).s);
        return false;
    }
    if (x.dtype == KILN_BOOL && n_branches != 2) {
        kn_tfail(t, KILN_INVALID, "two branches, or an i32 index", site, "cond: %u branches chosen by a bool", n_branches);
        return false;
    }
    *out = kiln_convert_at(t, which, KILN_I32, site.file, site.line);
    return !t->failed;
}

void kiln_cond_at(kiln_trace *t, kiln_val which, uint32_t n_branches, kiln_branch_fn branch, void *user, kiln_val *out, uint32_t n_out,
                  const char *file, int line)
{
    kn_site site = {file, line};
    no_results(out, n_out);
    kiln_val index;
    if (!branch_index(t, which, n_branches, &index, site)) return;
    kn_tframe **frames = KN_NEWN(&t->arena, kn_tframe *, n_branches), *all = KN_NEW(&t->arena, kn_tframe);
    kiln_val *results = KN_NEWN(&t->arena, kiln_val, (size_t)n_branches * n_out);
    kn_param *bodies = KN_NEWN(&t->arena, kn_param, n_branches);
    if (!frames || !all || !results || !bodies) {
        kn_tstatus(t, kn_nomem(t->ctx), site);
        return;
    }
    for (uint32_t k = 0; k < n_branches; k++) {
        if (!(frames[k] = kn_tframe_open(t))) return;
        branch(t, user, k, &results[k * n_out]);
        kn_tvals_usable(t, "cond", &results[k * n_out], n_out, site);
        t->frame = frames[k]->outer;
    }
    unify_results(t, results, n_branches, n_out, site);
    if (t->failed) return;
    /* results that are values of outer frames are captured by their branch now, before the union is taken */
    for (uint32_t k = 0; k < n_branches; k++)
        for (uint32_t i = 0; i < n_out; i++) {
            kn_atom unused;
            if (kn_tval_of(t, results[k * n_out + i])->kind == KN_T_VARIABLE && !kn_tatom(t, frames[k], results[k * n_out + i], &unused))
                return;
        }
    kn_build_init(&all->b, t->ctx, t->prog);
    if (!union_of_captures(t, frames, n_branches, all)) return;
    for (uint32_t k = 0; k < n_branches; k++) {
        const kn_jaxpr *j;
        if (!close_branch(t, frames[k], all, &results[k * n_out], n_out, &j)) return;
        bodies[k] = KN_JAXPR(j);
    }
    kn_atom *operands = KN_NEWN(&t->arena, kn_atom, (size_t)all->captured.n + 1);
    if (!operands) {
        kn_tstatus(t, kn_nomem(t->ctx), site);
        return;
    }
    kn_tatom(t, t->frame, index, &operands[0]);
    kn_tframe_operands(t, all, operands + 1);
    kn_named params[] = {{"branches", KN_TUPLE(n_branches, bodies)}};
    kn_temit_atoms(t, "cond", params, 1, operands, all->captured.n + 1, out, n_out, site);
}
