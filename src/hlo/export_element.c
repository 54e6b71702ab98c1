/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise primitives: operands are broadcast first where the primitive does that by itself. */
#include "hlo/export.h"

#include "prim/lowering.h"

static kiln_type result_type(const kn_jaxpr *j, const kn_eqn *e, uint32_t k) { return j->vars[e->out[k]].type; }

/* Operands in the shape of the result; literals are written before what spreads them. */
static void operands(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, uint32_t n, uint32_t *in)
{
    for (uint32_t i = 0; i < n; i++) in[i] = kn_xatom(x, e->in[i]);
    for (uint32_t i = 0; i < n; i++) in[i] = kn_xbroadcast(x, in[i], result_type(j, e, 0));
}

static void accuracy(kn_export *x, const kn_eqn *e, kn_mop *op)
{
    const kn_param *p = kn_param_of(e, "accuracy");
    if (!p || p->kind != KN_P_TEXT) return;
    const char *dot = strrchr(p->text, '.');
    char *text = kn_arena_printf(x->arena, "mode = #stablehlo.result_accuracy_mode<%s>", dot ? dot + 1 : p->text);
    KN_XCHECK(x, text);
    if (text) kn_xattr_text(x, op, "result_accuracy", "stablehlo.result_accuracy", text);
}

static void element(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    uint32_t in[3];
    kiln_type t = result_type(j, e, 0);
    operands(x, j, e, e->nin, in);
    kn_mop *op = kn_xop(x, row->name, in, e->nin, &t, 1);
    accuracy(x, e, op);
    kn_xset(x, e, op);
}

/* Where the operation exists for some types only, what else there is. */
static void square(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kiln_type t = result_type(j, e, 0);
    if (!strchr("iu", kiln_dtype_kind(t.dtype))) {
        element(x, j, e, row);
        return;
    }
    uint32_t v = kn_xatom(x, e->in[0]);
    kn_xset(x, e, kn_xop(x, "stablehlo.multiply", (uint32_t[]){v, v}, 2, &t, 1));
}

static void identity(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    (void)j, (void)row;
    for (uint32_t i = 0; i < e->nout; i++) kn_xset1(x, e, i, kn_xatom(x, e->in[i]));
}

/* A real operand gets an imaginary part of -0.0. */
static void conjugate(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kiln_type from = kn_type_of(j, e->in[0]), t = result_type(j, e, 0);
    if (kiln_dtype_kind(from.dtype) == 'c') {
        element(x, j, e, row);
        return;
    }
    uint32_t re = kn_xatom(x, e->in[0]), im = kn_xbroadcast(x, kn_xscalar(x, from.dtype, (kn_scalar){.f = -0.0}), from);
    kn_xset(x, e, kn_xop(x, "stablehlo.complex", (uint32_t[]){re, im}, 2, &t, 1));
}

static void convert(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kiln_type from = kn_type_of(j, e->in[0]), to = result_type(j, e, 0);
    uint32_t v = kn_xatom(x, e->in[0]);
    (void)row;
    if (kiln_dtype_kind(from.dtype) == 'c' && kiln_dtype_kind(to.dtype) != 'c' && to.dtype != KILN_BOOL) {
        kiln_type part = from;
        part.dtype = from.dtype == KILN_C64 ? KILN_F32 : KILN_F64;
        v = kn_xop1(x, "stablehlo.real", &v, 1, part);
        if (part.dtype == to.dtype) {
            kn_xset1(x, e, 0, v);
            return;
        }
    }
    kn_xset(x, e, kn_xop(x, "stablehlo.convert", &v, 1, &to, 1));
}

static void reduce_precision(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kiln_type t = result_type(j, e, 0);
    uint32_t v = kn_xatom(x, e->in[0]);
    kn_mop *op = kn_xop(x, row->name, &v, 1, &t, 1);
    char *format = kn_arena_printf(x->arena, "e%lldm%lld", (long long)e->params[0].i, (long long)e->params[1].i);
    KN_XCHECK(x, format);
    if (format) kn_xattr_word(x, op, "format", format);
    kn_xset(x, e, op);
}

static void round_to(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    const kn_param *p = &e->params[0];
    bool even = p->kind == KN_P_INT ? p->i == 1 : p->kind == KN_P_TEXT && strstr(p->text, "EVEN");
    kn_xrow own = *row;
    own.name = even ? "stablehlo.round_nearest_even" : "stablehlo.round_nearest_afz";
    element(x, j, e, &own);
}

/* ---- comparison and choice ---- */

uint32_t kn_xcompare(kn_export *x, const char *direction, uint32_t a, uint32_t b, bool total)
{
    kiln_type t = kn_xtype_of(x, a);
    total = total && strchr("f8", kiln_dtype_kind(t.dtype));
    char kind = kiln_dtype_kind(t.dtype);
    const char *type = total ? "TOTALORDER" : kind == 'i' ? "SIGNED" : kind == 'u' || kind == 'b' ? "UNSIGNED" : "FLOAT";
    t.dtype = KILN_BOOL;
    kn_mop *op = kn_xop(x, "stablehlo.compare", (uint32_t[]){a, b}, 2, &t, 1);
    kn_xattr_word(x, op, "comparison_direction", direction);
    kn_xattr_word(x, op, "compare_type", type);
    return op->out;
}

static void comparison(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    uint32_t in[2];
    operands(x, j, e, 2, in);
    kn_xset1(x, e, 0, kn_xcompare(x, row->name, in[0], in[1], row->extra));
}

/* Cases from..to-1: a tree of comparisons with the number of the first case of the right half. */
static uint32_t choose(kn_export *x, uint32_t which, const uint32_t *cases, uint32_t from, uint32_t to)
{
    if (to - from == 1) return cases[from];
    kiln_type t = kn_xtype_of(x, which), y = kn_xtype_of(x, cases[0]);
    uint32_t mid = from + (to - from) / 2;
    uint32_t border = kn_xbroadcast(x, kn_xscalar(x, t.dtype, (kn_scalar){.i = mid}), t);
    uint32_t below = kn_xcompare(x, "LT", which, border, false);
    uint32_t left = choose(x, which, cases, from, mid), right = choose(x, which, cases, mid, to);
    return kn_xop1(x, "stablehlo.select", (uint32_t[]){below, left, right}, 3, y);
}

static void select_n(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kiln_type t = result_type(j, e, 0);
    uint32_t n = e->nin - 1, *cases = KN_NEWN(x->arena, uint32_t, n);
    (void)row;
    KN_XCHECK(x, cases);
    if (x->status != KILN_OK) return;
    uint32_t which = kn_xatom(x, e->in[0]);
    for (uint32_t i = 0; i < n; i++) cases[i] = kn_xatom(x, e->in[1 + i]);
    for (uint32_t i = 0; i < n; i++) cases[i] = kn_xbroadcast(x, cases[i], t);
    if (kn_xtype_of(x, which).dtype == KILN_BOOL && n == 2) {
        kn_xset(x, e, kn_xop(x, "stablehlo.select", (uint32_t[]){which, cases[1], cases[0]}, 3, &t, 1));
        return;
    }
    if (n > 1 && kn_xtype_of(x, which).dtype == KILN_BOOL) which = kn_xconvert(x, which, KILN_I32);
    kn_xset1(x, e, 0, choose(x, which, cases, 0, n));
}

/* ---- functions that StableHLO knows under no name: a composite of ours, whose decomposition anyone can run ---- */

static kn_atom exp2_of(kn_low *l, kiln_type t, const kn_atom *in)
{
    return kn_low1(l, &kn_prim_exp, kn_low2(l, &kn_prim_mul, in[0], kn_low_num(l, t.dtype, 0.69314718055994530942)));
}
static kn_atom hypot_of(kn_low *l, kiln_type t, const kn_atom *in)
{
    (void)t;
    return kn_low1(l, &kn_prim_sqrt, kn_low2(l, &kn_prim_add, kn_low2(l, &kn_prim_mul, in[0], in[0]), kn_low2(l, &kn_prim_mul, in[1], in[1])));
}
static kn_atom fma_of(kn_low *l, kiln_type t, const kn_atom *in)
{
    (void)t;
    return kn_low2(l, &kn_prim_add, kn_low2(l, &kn_prim_mul, in[0], in[1]), in[2]);
}

enum { BY_LOWERING, BY_EXP2, BY_HYPOT, BY_FMA };

static kiln_status formula(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, int64_t which, const kn_jaxpr **out)
{
    static kn_atom (*const makers[])(kn_low *l, kiln_type t, const kn_atom *in) = {[BY_EXP2] = exp2_of, [BY_HYPOT] = hypot_of, [BY_FMA] = fma_of};
    kn_prog *p;
    kn_build b;
    kn_atom in[3], y;
    KILN_TRY(kn_prog_new(x->ctx, NULL, &p));
    if (!kn_push(x->arena, &x->lowerings, p)) {
        kiln_prog_release(p);
        return kn_nomem(x->ctx);
    }
    kn_build_init(&b, x->ctx, p);
    for (uint32_t i = 0; i < e->nin; i++) KILN_TRY(kn_build_input(&b, kn_type_of(j, e->in[i]), &in[i]));
    kn_low l = {&b, KILN_OK};
    y = makers[which](&l, result_type(j, e, 0), in);
    KILN_TRY(l.status);
    return kn_build_finish(&b, &y, 1, out);
}

void kn_xcomposite(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    const kn_jaxpr *body = NULL;
    kn_xends n;
    kn_mattr attrs;
    if (x->status != KILN_OK) return;
    if (row->extra != BY_LOWERING) kn_xfail(x, formula(x, j, e, row->extra, &body));
    else body = kn_xlowering(x, j, e, false); /* one decomposition for all operands: a constant may be read back as a literal */
    if (!kn_xends_of(x, j, e, 0, &n)) return;
    kn_xparams(x, e, &attrs);
    const char *name = kn_arena_printf(x->arena, "kiln.%s", e->prim->name);
    KN_XCHECK(x, name);
    if (x->status != KILN_OK) return;
    x->lowered++;
    const kn_mfunc *f = kn_xdecomposition(x, body, name);
    x->lowered--;
    if (!f) return;
    kn_mop *op = kn_xop(x, "stablehlo.composite", n.in, n.nin, n.out, e->nout);
    kn_xattr(x, op, "name", (kn_mattr){.kind = KN_MA_STRING, .at = "", .text = kn_xspan(name)});
    if (attrs.n) kn_xattr(x, op, "composite_attributes", attrs);
    kn_xattr(x, op, "decomposition", (kn_mattr){.kind = KN_MA_SYMBOL, .at = "", .text = f->name});
    kn_xset(x, e, op);
}

#define E(id, op) {&kn_prim_##id, element, op, 0}
#define C(id, direction, total) {&kn_prim_##id, comparison, direction, total}
const kn_xrow kn_xrows_element[] = {
    E(abs, "stablehlo.abs"),
    E(acos, "chlo.acos"),
    E(acosh, "chlo.acosh"),
    E(add, "stablehlo.add"),
    E(add_any, "stablehlo.add"),
    E(and, "stablehlo.and"),
    E(asin, "chlo.asin"),
    E(asinh, "chlo.asinh"),
    E(atan, "chlo.atan"),
    E(atan2, "stablehlo.atan2"),
    E(atanh, "chlo.atanh"),
    E(bessel_i1e, "chlo.bessel_i1e"),
    E(cbrt, "stablehlo.cbrt"),
    E(ceil, "stablehlo.ceil"),
    E(clz, "stablehlo.count_leading_zeros"),
    E(complex, "stablehlo.complex"),
    E(cos, "stablehlo.cosine"),
    E(cosh, "chlo.cosh"),
    E(digamma, "chlo.digamma"),
    E(div, "stablehlo.divide"),
    E(erf, "chlo.erf"),
    E(erf_inv, "chlo.erf_inv"),
    E(erfc, "chlo.erfc"),
    E(exp, "stablehlo.exponential"),
    E(expm1, "stablehlo.exponential_minus_one"),
    E(floor, "stablehlo.floor"),
    E(imag, "stablehlo.imag"),
    E(int_pow, "stablehlo.power"),
    E(is_finite, "stablehlo.is_finite"),
    E(lgamma, "chlo.lgamma"),
    E(log, "stablehlo.log"),
    E(log1p, "stablehlo.log_plus_one"),
    E(logistic, "stablehlo.logistic"),
    E(max, "stablehlo.maximum"),
    E(min, "stablehlo.minimum"),
    E(mul, "stablehlo.multiply"),
    E(mulhi, "chlo.mulhi"),
    E(neg, "stablehlo.negate"),
    E(nextafter, "chlo.next_after"),
    E(not, "stablehlo.not"),
    E(or, "stablehlo.or"),
    E(polygamma, "chlo.polygamma"),
    E(population_count, "stablehlo.popcnt"),
    E(pow, "stablehlo.power"),
    E(real, "stablehlo.real"),
    E(rem, "stablehlo.remainder"),
    E(rsqrt, "stablehlo.rsqrt"),
    E(shift_left, "stablehlo.shift_left"),
    E(shift_right_arithmetic, "stablehlo.shift_right_arithmetic"),
    E(shift_right_logical, "stablehlo.shift_right_logical"),
    E(sign, "stablehlo.sign"),
    E(sin, "stablehlo.sine"),
    E(sinh, "chlo.sinh"),
    E(sqrt, "stablehlo.sqrt"),
    E(sub, "stablehlo.subtract"),
    E(tan, "stablehlo.tan"),
    E(tanh, "stablehlo.tanh"),
    E(xor, "stablehlo.xor"),
    E(zeta, "chlo.zeta"),
    C(eq, "EQ", 0),
    C(eq_to, "EQ", 1),
    C(ge, "GE", 0),
    C(gt, "GT", 0),
    C(le, "LE", 0),
    C(le_to, "LE", 1),
    C(lt, "LT", 0),
    C(lt_to, "LT", 1),
    C(ne, "NE", 0),
    {&kn_prim_bessel_i0e, kn_xcomposite, NULL, BY_LOWERING},
    {&kn_prim_bitcast_convert_type, kn_xplain, "stablehlo.bitcast_convert", 0},
    {&kn_prim_clamp, kn_xplain, "stablehlo.clamp", 0},
    {&kn_prim_conj, conjugate, "chlo.conj", 0},
    {&kn_prim_convert_element_type, convert, NULL, 0},
    {&kn_prim_copy, identity, NULL, 0},
    {&kn_prim_copy_p, identity, NULL, 0},
    {&kn_prim_exp2, kn_xcomposite, NULL, BY_EXP2},
    {&kn_prim_fma, kn_xcomposite, NULL, BY_FMA},
    {&kn_prim_hypot, kn_xcomposite, NULL, BY_HYPOT},
    {&kn_prim_igamma, kn_xcomposite, NULL, BY_LOWERING},
    {&kn_prim_igamma_grad_a, kn_xcomposite, NULL, BY_LOWERING},
    {&kn_prim_igammac, kn_xcomposite, NULL, BY_LOWERING},
    {&kn_prim_name, identity, NULL, 0},
    {&kn_prim_random_gamma_grad, kn_xcomposite, NULL, BY_LOWERING},
    {&kn_prim_reduce_precision, reduce_precision, "stablehlo.reduce_precision", 0},
    {&kn_prim_regularized_incomplete_beta, kn_xcomposite, NULL, BY_LOWERING},
    {&kn_prim_round, round_to, NULL, 0},
    {&kn_prim_select_n, select_n, NULL, 0},
    {&kn_prim_square, square, "chlo.square", 0},
    {&kn_prim_stop_gradient, identity, NULL, 0},
    {&kn_prim_threefry2x32, kn_xcomposite, NULL, BY_LOWERING},
};
const uint32_t kn_xrows_n_element = sizeof kn_xrows_element / sizeof *kn_xrows_element;
