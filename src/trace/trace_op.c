/* SPDX-License-Identifier: Apache-2.0 */
/* Equations of a trace: parameters by name, numbers that adopt a type, folding of scalars known now. */
#include "trace/trace.h"

#include "base/fpmode.h"
#include "rt/scalar.h"

enum { MAX_PARAMS = 16, MAX_OPERANDS = 3 };

/* ---- appending ---- */

static bool name_params(kiln_trace *t, const kn_prim *p, const kn_named *named, uint32_t n, kn_param *out)
{
    if (p->nparams > MAX_PARAMS) {
        kn_tstatus(t, kn_fail(t->ctx, KILN_INTERNAL, "%s has %u parameters", p->name, p->nparams), (kn_site){0});
        return false;
    }
    for (uint32_t i = 0; i < p->nparams; i++) out[i] = KN_NONE;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = 0;
        while (i < p->nparams && strcmp(p->params[i].name, named[k].name) != 0) i++;
        if (i == p->nparams) {
            kn_tstatus(t, kn_fail(t->ctx, KILN_INTERNAL, "%s has no parameter %s", p->name, named[k].name), (kn_site){0});
            return false;
        }
        out[i] = named[k].value;
    }
    return true;
}

static kiln_status here(kiln_trace *t, kn_site site)
{
    kn_build *b = &t->frame->b;
    b->scope = t->scopes.n ? t->scopes.v[t->scopes.n - 1].id : 0;
    if (t->place_file) {
        b->loc = t->place;
        return KILN_OK;
    }
    if (site.file && site.file != t->last_file) {
        KILN_TRY(kn_prog_file(t->ctx, t->prog, site.file, &t->last_file_id));
        t->last_file = site.file;
    }
    b->loc = site.file ? (kn_loc){t->last_file_id, (uint32_t)site.line, 0} : (kn_loc){0};
    return KILN_OK;
}

bool kn_temit_atoms(kiln_trace *t, const char *prim, const kn_named *named, uint32_t n_params, const kn_atom *in, uint32_t nin,
                    kiln_val *out, uint32_t nout, kn_site site)
{
    for (uint32_t i = 0; i < nout; i++) out[i] = (kiln_val){0};
    if (t->failed) return false;
    const kn_prim *p = kn_prim_find(prim, strlen(prim));
    if (!p) {
        kn_tfail(t, KILN_NOTFOUND, "a name that `kiln prims` lists", site, "no primitive '%s'", prim);
        return false;
    }
    kn_param params[MAX_PARAMS];
    if (!name_params(t, p, named, n_params, params)) return false;
    kn_atom few[8], *atoms = few;
    kiln_status s = here(t, site);
    if (s == KILN_OK && nout > 8 && !(atoms = KN_NEWN(&t->arena, kn_atom, nout))) s = kn_nomem(t->ctx);
    if (s == KILN_OK) s = kn_build_eqn(&t->frame->b, p, params, in, nin, atoms, nout);
    kn_tstatus(t, s, site);
    for (uint32_t i = 0; i < nout && !t->failed; i++) out[i] = kn_tval_variable(t, t->frame, atoms[i]);
    return !t->failed;
}

bool kn_temit(kiln_trace *t, const char *prim, const kn_named *named, uint32_t n_params, const kiln_val *in, uint32_t nin,
              kiln_val *out, uint32_t nout, kn_site site)
{
    for (uint32_t i = 0; i < nout; i++) out[i] = (kiln_val){0};
    if (!kn_tvals_usable(t, prim, in, nin, site)) return false;
    if (!t->takes_open && kn_topen_refused(t, prim, in, nin, site)) return false;
    kn_atom few[8], *atoms = few;
    if (nin > 8 && !(atoms = KN_NEWN(&t->arena, kn_atom, nin))) {
        kn_tstatus(t, kn_nomem(t->ctx), site);
        return false;
    }
    for (uint32_t i = 0; i < nin; i++)
        if (!kn_tatom(t, t->frame, in[i], &atoms[i])) return false;
    return kn_temit_atoms(t, prim, named, n_params, atoms, nin, out, nout, site);
}

/* An equation on operands that may be of group g; its result is when it has their type. */
static kiln_val emit_open(kiln_trace *t, kn_topen *g, const char *prim, const kiln_val *v, uint32_t n, kn_site site)
{
    kiln_val out;
    t->takes_open = g != NULL;
    bool done = kn_temit(t, prim, NULL, 0, v, n, &out, 1, site);
    t->takes_open = false;
    if (!done || !g) return out;
    kn_build *b = &t->frame->b;
    kn_topen_literals(t, g, b, b->eqns.v[b->eqns.n - 1].in, n);
    if (!t->failed && kn_tval_of(t, out)->type.dtype == kn_topen_dtype(g)) kn_topen_join(t, g, out);
    return out;
}

/* ---- elementwise operations ---- */

static void refuse_operands(kiln_trace *t, kiln_status code, const char *accepted, const char *prim, const kiln_val *v, uint32_t n,
                            kn_site site, const char *what)
{
    char list[300] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < n && at < sizeof list - 80; i++) {
        kn_type_text text;
        const char *s = kn_tshow(t, v[i], &text), *join = i == 0 ? "" : i + 1 == n ? " and " : ", ";
        size_t ns = strlen(s), nj = strlen(join);
        if (at + ns + nj + 1 > sizeof list) break;
        memcpy(list + at, join, nj);
        memcpy(list + at + nj, s, ns + 1);
        at += ns + nj;
    }
    kn_tfail(t, code, accepted, site, "%s: %s %s", prim, list, what);
}

/* The type that the numbers among the operands take: that of the first operand with a type. */
static bool partner(const kiln_trace *t, const kiln_val *v, uint32_t n, kiln_dtype *d)
{
    for (uint32_t i = 0; i < n; i++) {
        const kn_tval *x = kn_tval_of(t, v[i]);
        if (x->kind != KN_T_NUMBER) {
            *d = x->type.dtype;
            return true;
        }
    }
    return false;
}

/* Equal element types; shapes equal, scalar, or of equal rank with extents of 1. */
static bool operands_fit(kiln_trace *t, const char *prim, const kiln_val *v, uint32_t n, kn_site site)
{
    const kn_tval *shaped = NULL, *first = kn_tval_of(t, v[0]);
    for (uint32_t i = 0; i < n; i++) {
        const kn_tval *x = kn_tval_of(t, v[i]);
        if (x->type.dtype != first->type.dtype) {
            refuse_operands(t, KILN_DTYPE, "operands of one element type; kiln_convert changes it", prim, v, n, site,
                            "have different element types");
            return false;
        }
        if (x->type.rank == 0) continue;
        bool fits = !shaped || shaped->type.rank == x->type.rank;
        for (uint32_t k = 0; fits && shaped && k < x->type.rank; k++)
            fits = x->type.dims[k] == shaped->type.dims[k] || x->type.dims[k] == 1 || shaped->type.dims[k] == 1;
        if (!fits) {
            refuse_operands(t, KILN_SHAPE, "operands of one shape, or scalars", prim, v, n, site, "have different shapes");
            return false;
        }
        if (!shaped) shaped = x;
    }
    return true;
}

static bool takes_kind(const kn_prim *p, kiln_dtype d)
{
    if (p->scalar_op == KN_S_NONE) return true;
    return strchr(kn_sops[p->scalar_op].kinds, kiln_dtype_kind(d)) != NULL || kiln_dtype_kind(d) == 'c';
}

/* In the mode that programs run in, whatever the caller's. */
static kn_scalar known(kn_sop op, kiln_dtype d, kiln_dtype to, kn_scalar a, kn_scalar b, kn_scalar c)
{
    kn_fpmode mode = kn_fpmode_enter();
    kn_scalar r = kn_sop_eval(op, d, to, a, b, c);
    kn_fpmode_leave(mode);
    return r;
}

/* All operands are known scalars: the result is one too. Numbers without a type fold in double and stay without. */
static bool fold(kiln_trace *t, const kn_prim *p, const kiln_val *v, uint32_t n, kiln_val *out)
{
    if (p->scalar_op == KN_S_NONE || p->scalar_op == KN_S_select || kn_sops[p->scalar_op].arity != (int)n) return false;
    kn_scalar s[MAX_OPERANDS] = {{0}};
    bool numbers = true;
    for (uint32_t i = 0; i < n; i++) {
        const kn_tval *x = kn_tval_of(t, v[i]);
        if (x->kind == KN_T_VARIABLE) return false;
        numbers = numbers && x->kind == KN_T_NUMBER;
        s[i] = x->value;
    }
    kiln_dtype d = kn_tval_of(t, v[0])->type.dtype;
    if (kiln_dtype_kind(d) == 'c') return false;
    kn_scalar r = known(p->scalar_op, d, d, s[0], s[1], s[2]);
    if (kn_sops[p->scalar_op].result == 'b') *out = kn_tval_literal(t, KILN_BOOL, r);
    else *out = numbers ? kiln_num(t, r.f) : kn_tval_literal(t, d, r);
    return true;
}

static kiln_val elementwise(kiln_trace *t, const char *prim, kiln_val *v, uint32_t n, kn_site site)
{
    kiln_val out = {0};
    if (!kn_tvals_usable(t, prim, v, n, site)) return out;
    const kn_prim *p = kn_prim_find(prim, strlen(prim));
    if (!p || !(p->flags & KN_ELEMENTWISE)) {
        kn_tfail(t, KILN_NOTFOUND, "the name of an elementwise primitive", site, "no elementwise operation '%s'", prim);
        return out;
    }
    if (p->nin != KN_VARIADIC && p->nin != n) {
        kn_tfail(t, KILN_INVALID, NULL, site, "%s takes %u operands, found %u", prim, p->nin, n);
        return out;
    }
    kiln_dtype d;
    kn_topen *open = kn_topen_meet(t, v, n, site);
    if (t->failed) return out;
    if (partner(t, v, n, &d))
        for (uint32_t i = 0; i < n; i++) v[i] = kn_tval_adopt(t, prim, v[i], d, site);
    if (t->failed || !operands_fit(t, prim, v, n, site)) return out;
    d = kn_tval_of(t, v[0])->type.dtype;
    if (!takes_kind(p, d)) {
        refuse_operands(t, KILN_DTYPE, "an element type that the operation has", prim, v, n, site,
                        n == 1 ? "has an element type without this operation" : "have an element type without this operation");
        return out;
    }
    if (fold(t, p, v, n, &out)) return out;
    bool numbers = true;
    for (uint32_t i = 0; i < n; i++) numbers = numbers && kn_tval_of(t, v[i])->kind == KN_T_NUMBER;
    if (numbers) {
        refuse_operands(t, KILN_DTYPE, "kiln_scalar, which gives a number a type", prim, v, n, site, "without a type");
        return out;
    }
    return emit_open(t, open, prim, v, n, site);
}

kiln_val kiln_op1(kiln_trace *t, const char *prim, kiln_val a, const char *file, int line)
{
    return elementwise(t, prim, (kiln_val[]){a}, 1, (kn_site){file, line});
}

kiln_val kiln_op2(kiln_trace *t, const char *prim, kiln_val a, kiln_val b, const char *file, int line)
{
    return elementwise(t, prim, (kiln_val[]){a, b}, 2, (kn_site){file, line});
}

kiln_val kiln_round_at(kiln_trace *t, kiln_val a, const char *file, int line)
{
    kn_site site = {file, line};
    kiln_val out = {0};
    if (!kn_tvals_usable(t, "round", &a, 1, site)) return out;
    const kn_tval *x = kn_tval_of(t, a);
    if (x->kind == KN_T_NUMBER || (x->kind == KN_T_LITERAL && kiln_dtype_kind(x->type.dtype) == 'f')) {
        kn_scalar r = known(KN_S_round_even, x->type.dtype, x->type.dtype, x->value, x->value, x->value);
        return x->kind == KN_T_NUMBER ? kiln_num(t, r.f) : kn_tval_literal(t, x->type.dtype, r);
    }
    if (kiln_dtype_kind(x->type.dtype) != 'f') {
        refuse_operands(t, KILN_DTYPE, "a float", "round", &a, 1, site, "has an element type without this operation");
        return out;
    }
    kn_named params[] = {{"rounding_method", KN_INT(1)}};
    kn_temit(t, "round", params, 1, &a, 1, &out, 1, site);
    return out;
}

/* ---- select ---- */

static bool same_value(const kiln_trace *t, kiln_val a, kiln_val b)
{
    if (a.id == b.id) return true;
    const kn_tval *x = kn_tval_of(t, a), *y = kn_tval_of(t, b);
    return x->kind == KN_T_LITERAL && y->kind == KN_T_LITERAL && x->type.dtype == y->type.dtype &&
           kn_scalar_same(x->type.dtype, x->value, y->value);
}

/* which is bool, scalar or of the cases' shape; scalar cases are repeated to the shape of the others. */
static kiln_val select_n(kiln_trace *t, kiln_val which, kiln_val no, kiln_val yes, kn_site site)
{
    kiln_val v[] = {which, no, yes}, out = {0};
    if (!kn_tvals_usable(t, "select", v, 3, site)) return out;
    const kn_tval *w = kn_tval_of(t, which);
    if (w->kind == KN_T_NUMBER || w->type.dtype != KILN_BOOL) {
        kn_type_text text;
        kn_tfail(t, KILN_DTYPE, "a bool, such as a comparison gives", site, "select: chooses by %s", kn_tshow(t, which, &text));
        return out;
    }
    kiln_dtype d;
    kn_topen *open = kn_topen_meet(t, v + 1, 2, site);
    if (t->failed) return out;
    if (!partner(t, v + 1, 2, &d)) {
        if (w->kind == KN_T_LITERAL) return w->value.b ? yes : no;
        refuse_operands(t, KILN_DTYPE, "kiln_scalar, which gives a number a type", "select", v + 1, 2, site, "without a type");
        return out;
    }
    for (int i = 1; i < 3; i++) v[i] = kn_tval_adopt(t, "select", v[i], d, site);
    if (t->failed || !operands_fit(t, "select", v + 1, 2, site)) return out;
    kiln_type shape = w->type;
    for (int i = 1; i < 3; i++) {
        kiln_type c = kn_tval_of(t, v[i])->type;
        if (c.rank) shape = c;
    }
    if (w->type.rank && !kiln_type_equal((kiln_type){KILN_BOOL, shape.rank, shape.dims}, w->type)) {
        refuse_operands(t, KILN_SHAPE, "a bool scalar, or one bool for each element", "select", v, 3, site, "have different shapes");
        return out;
    }
    for (int i = 1; i < 3; i++)
        if (kn_tval_of(t, v[i])->type.rank == 0 && shape.rank)
            v[i] = kiln_broadcast_at(t, v[i], shape.rank, shape.dims, NULL, site.file, site.line);
    if (w->kind == KN_T_LITERAL) return w->value.b ? v[2] : v[1];
    if (same_value(t, v[1], v[2])) return v[1];
    return emit_open(t, open, "select_n", v, 3, site);
}

kiln_val kiln_op3(kiln_trace *t, const char *prim, kiln_val a, kiln_val b, kiln_val c, const char *file, int line)
{
    if (strcmp(prim, "select_n") == 0) return select_n(t, a, b, c, (kn_site){file, line});
    return elementwise(t, prim, (kiln_val[]){a, b, c}, 3, (kn_site){file, line});
}

/* ---- convert ---- */

kiln_val kiln_convert_at(kiln_trace *t, kiln_val a, kiln_dtype to, const char *file, int line)
{
    kn_site site = {file, line};
    kiln_val out = {0};
    if (!kn_tvals_usable(t, "convert", &a, 1, site)) return out;
    const kn_tval *x = kn_tval_of(t, a);
    if (x->kind == KN_T_NUMBER && kiln_dtype_kind(to) == 'f') return kn_tval_literal(t, to, x->value);
    if (x->kind != KN_T_NUMBER && x->type.dtype == to && !kn_topen_of(t, a)) return a;
    if (x->kind != KN_T_VARIABLE && strchr("bifu", kiln_dtype_kind(x->type.dtype)) && strchr("bifu", kiln_dtype_kind(to)))
        return kn_tval_literal(t, to, known(KN_S_convert, x->type.dtype, to, x->value, x->value, x->value));
    a = kn_tval_adopt(t, "convert", a, KILN_F64, site);
    kn_named params[] = {{"new_dtype", KN_DTYPE(to)}, {"weak_type", KN_BOOL(false)}};
    t->takes_open = true; /* it converts whatever type that will be */
    kn_temit(t, "convert_element_type", params, 2, &a, 1, &out, 1, site);
    t->takes_open = false;
    return out;
}
