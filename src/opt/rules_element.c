/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of elementwise operations: constants, scalars that were broadcast, select, conversions. */
#include "opt/rules.h"

/* ---- constants and broadcast scalars ---- */

static kn_fix fold(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    enum { MOST = 8 };
    kn_scalar in[MOST], out;
    bool known;
    if (e->nout != 1 || e->nin == 0 || e->nin > MOST || kn_etype(s, e).rank) return KN_NO;
    for (uint32_t i = 0; i < e->nin; i++)
        if (!kn_is_literal(e->in[i]) || !kn_known(s, e->in[i], &in[i])) return KN_NO;
    kn_jaxpr types = kn_rw_view(&s->rw);
    kiln_status status = kn_fold(s->pm, &types, e, in, &out, &known);
    if (status != KILN_OK) return kn_failed(s, status);
    return known ? kn_give_value(s, e, out) : KN_NO;
}

static kn_fix lift(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    enum { MOST = 8 };
    kn_atom in[MOST];
    if (e->nout != 1 || e->nin == 0 || e->nin > MOST || kn_etype(s, e).rank == 0 || (e->prim->flags & KN_EFFECT)) return KN_NO;
    if (kiln_dtype_kind(kn_etype(s, e).dtype) == 'c') return KN_NO; /* wholes are made of parts where they leave, nowhere else */
    for (uint32_t i = 0; i < e->nin; i++)
        if (!kn_uniform(s, e->in[i], &in[i])) return KN_NO;
    kn_atom scalar = kn_emit(s, e, e->prim, e->params, in, e->nin);
    return s->status == KILN_OK ? kn_give_uniform(s, e, scalar) : KN_NO;
}

static bool same_shape(kiln_type a, kiln_type b)
{
    b.dtype = a.dtype;
    return kiln_type_equal(a, b);
}

/* An operand that is a broadcast scalar becomes the scalar where the others already have the shape of the result. */
static kn_fix unbroadcast(kn_simp *s, kn_eqn *e, uint32_t first, uint32_t last, uint32_t shaped)
{
    kn_atom scalar;
    if (!same_shape(kn_atype(s, e->in[shaped]), kn_etype(s, e))) return KN_NO;
    for (uint32_t i = first; i <= last; i++) {
        if (i == shaped || kn_atype(s, e->in[i]).rank == 0 || !kn_uniform(s, e->in[i], &scalar)) continue;
        kn_atom *in = kn_arena_copy(&s->pm->prog->arena, e->in, e->nin * sizeof *in);
        if (!in) return kn_failed(s, kn_nomem(s->pm->ctx));
        in[i] = scalar;
        return kn_become(s, e, e->prim, e->params, in, e->nin);
    }
    return KN_NO;
}

static kn_fix scalar_operand(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    if (e->nin != 2 || e->nout != 1 || e->prim == &kn_prim_add_any || e->prim == &kn_prim_select_n) return KN_NO;
    kn_fix fix = unbroadcast(s, e, 0, 1, 0);
    return fix == KN_NO ? unbroadcast(s, e, 0, 1, 1) : fix;
}
static kn_fix scalar_bound(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    return unbroadcast(s, e, 0, 2, 1);
}
static kn_fix scalar_choice(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    return unbroadcast(s, e, 0, 0, 1);
}

/* ---- select ---- */

static kn_fix select_known(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    kn_scalar v;
    if (!kn_known(s, e->in[0], &v)) return KN_NO;
    int64_t which = kn_atype(s, e->in[0]).dtype == KILN_BOOL ? v.b : v.i, last = (int64_t)e->nin - 2;
    which = which < 0 ? 0 : which > last ? last : which; /* as the primitive clamps */
    return kn_give(s, e, e->in[1 + which]);
}

static kn_fix select_equal(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    for (uint32_t i = 2; i < e->nin; i++)
        if (!kn_same_atom(s, e->in[1], e->in[i])) return KN_NO;
    return kn_give(s, e, e->in[1]);
}

static bool is_bool_choice(const kn_simp *s, const kn_eqn *e) { return e->nin == 3 && kn_atype(s, e->in[0]).dtype == KILN_BOOL; }

static kn_fix select_not(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    const kn_eqn *d = kn_def_by(s, e->in[0], &kn_prim_not);
    if (!d || !is_bool_choice(s, e)) return KN_NO;
    return kn_become(s, e, e->prim, e->params, (kn_atom[]){d->in[0], e->in[2], e->in[1]}, 3);
}

static kn_fix select_bools(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    kn_scalar no, yes;
    if (!is_bool_choice(s, e) || kn_etype(s, e).dtype != KILN_BOOL) return KN_NO;
    if (!kn_known(s, e->in[1], &no) || !kn_known(s, e->in[2], &yes) || no.b == yes.b) return KN_NO;
    if (no.b) {
        if (!kiln_type_equal(kn_atype(s, e->in[0]), kn_etype(s, e))) return KN_NO;
        return kn_become(s, e, &kn_prim_not, NULL, e->in, 1);
    }
    kn_fix fix = kn_give(s, e, e->in[0]);
    return fix == KN_NO && kn_atype(s, e->in[0]).rank == 0 ? kn_give_uniform(s, e, e->in[0]) : fix;
}

/* A case that is a select by the same choice can only be its own case of that number. */
static kn_fix select_select(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    for (uint32_t i = 1; i < e->nin; i++) {
        const kn_eqn *d = kn_def_by(s, e->in[i], &kn_prim_select_n);
        if (!d || d->nin != e->nin || !kn_same_atom(s, d->in[0], e->in[0])) continue;
        kn_atom *in = kn_arena_copy(&s->pm->prog->arena, e->in, e->nin * sizeof *in);
        if (!in) return kn_failed(s, kn_nomem(s->pm->ctx));
        in[i] = d->in[i];
        return kn_become(s, e, e->prim, e->params, in, e->nin);
    }
    return KN_NO;
}

/* ---- conversions ---- */

static int significand(kiln_dtype d)
{
    return d == KILN_F64 ? 53 : d == KILN_F32 ? 24 : d == KILN_F16 ? 11 : d == KILN_BF16 ? 8 : 0;
}
static int int_bits(kiln_dtype d) /* of the magnitude */
{
    char kind = kiln_dtype_kind(d);
    int bits = d == KILN_I4 || d == KILN_U4 ? 4 : (int)kiln_dtype_bytes(d) * 8;
    return kind == 'b' ? 1 : kind == 'u' ? bits : bits - 1;
}

/* Does every value of `a` exist in `b`? */
static bool exact(kiln_dtype a, kiln_dtype b)
{
    char ka = kiln_dtype_kind(a), kb = kiln_dtype_kind(b);
    if (a == b) return true;
    if (kb == 'b' || kb == 'c' || ka == 'c') return false;
    if (kb == 'f') {
        if (ka != 'f') return int_bits(a) <= significand(b) && b != KILN_F16; /* f16 ends at 65504 */
        return a == KILN_F16 || a == KILN_BF16 ? b == KILN_F32 || b == KILN_F64 : a == KILN_F32 && b == KILN_F64;
    }
    return ka != 'f' && int_bits(a) <= int_bits(b) && !(ka == 'i' && kb == 'u');
}

static bool is_real(char kind) { return strchr("biuf", kind) != NULL; }

/* (a -> b) -> c as a -> c. The value survives a -> b, so it only matters whether the second step is the same one from a: integers
 * wrap where they come from integers and saturate where they come from floats. */
static bool composes(kiln_dtype a, kiln_dtype b, kiln_dtype c)
{
    char ka = kiln_dtype_kind(a), kb = kiln_dtype_kind(b), kc = kiln_dtype_kind(c);
    if (!is_real(ka) || !is_real(kb) || !is_real(kc) || !exact(a, b)) return false;
    return !(kb == 'f' && ka != 'f' && kn_is_int(kc)) || exact(a, c);
}

static kn_fix convert_same(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    return kn_give(s, e, e->in[0]);
}

/* Does the first step make zeros of subnormal numbers, in programs that flush them? */
static bool wide_step(kiln_dtype from, kiln_dtype to) { return (from == KILN_F32 || from == KILN_BF16) && to == KILN_F64; }

static kn_fix convert_convert(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    const kn_eqn *d = kn_def_by(s, e->in[0], &kn_prim_convert_element_type);
    if (!d || (s->pm->flush && wide_step(kn_atype(s, d->in[0]).dtype, kn_atype(s, e->in[0]).dtype))) return KN_NO;
    if (!composes(kn_atype(s, d->in[0]).dtype, kn_atype(s, e->in[0]).dtype, kn_etype(s, e).dtype)) return KN_NO;
    return kn_become(s, e, e->prim, e->params, d->in, 1);
}

#define E(prim_, try_, text_) {.text = text_, .prim = &kn_prim_##prim_, .try = try_}

const kn_rule kn_element_rules[] = {
    {.text = "f(constants) = constant", .try = fold},
    E(select_n, select_known, "select of a known choice = that case"),
    E(select_n, select_equal, "select(p, x, x) = x"),
    E(select_n, select_not, "select(not p, x, y) = select(p, y, x)"),
    E(select_n, select_bools, "select(p, false, true) = p, select(p, true, false) = not p"),
    E(select_n, select_select, "select(p, select(p, x, y), z) = select(p, x, z)"),
    E(convert_element_type, convert_same, "convert to the same type = x"),
    E(convert_element_type, convert_convert, "convert(convert x) = convert x where the first is exact"),
    {.text = "f(broadcast x, broadcast y) = broadcast f(x, y), scalars", .try = lift},
    {.text = "f(x, broadcast s) = f(x, s), scalars", .try = scalar_operand},
    E(clamp, scalar_bound, "clamp(broadcast a, x, broadcast b) = clamp(a, x, b), scalars"),
    E(select_n, scalar_choice, "select(broadcast p, x, y) = select(p, x, y), scalars"),
    {.text = NULL},
};
