/* SPDX-License-Identifier: Apache-2.0 */
/* Products, convolutions, transforms, factorisations, random bits. */
#include "hlo/import.h"

#include "prim/common.h"
#include "prim/ragged.h"

#include <stdio.h>

/* ---- products ---- */

/* [DEFAULT, HIGHEST] or #stablehlo<precision DEFAULT> items as Precision.X; None where all are the default. */
static kiln_status precision_param(kn_himport *h, const kn_mop *o, kn_param *out)
{
    const kn_mattr *a = kn_mop_attr(o, "precision_config");
    *out = KN_NONE;
    if (!a || a->kind != KN_MA_LIST) return KILN_OK;
    kn_param *items = KN_NEWN(h->arena, kn_param, a->n);
    KILN_TRY_MEM(h->ctx, items);
    bool plain = true;
    for (uint32_t i = 0; i < a->n; i++) {
        kn_span w = kn_hlast_word(&a->items[i]);
        bool is_default = kn_span_is(w, "DEFAULT");
        plain = plain && is_default;
        char *text = kn_arena_printf(h->arena, "Precision.%.*s", KN_SPAN_ARG(w));
        KILN_TRY_MEM(h->ctx, text);
        items[i] = is_default ? KN_NONE : KN_TEXT(text);
    }
    if (!plain) *out = KN_TUPLE(a->n, items);
    return KILN_OK;
}

static bool float_named(kn_span name, kiln_dtype *d, bool *tf32)
{
    *tf32 = kn_span_is(name, "tf32");
    if (*tf32) *d = KILN_F32;
    else if (kn_span_is(name, "bf16")) *d = KILN_BF16;
    else if (kn_span_is(name, "f16")) *d = KILN_F16;
    else if (kn_span_is(name, "f32")) *d = KILN_F32;
    else if (kn_span_is(name, "f64")) *d = KILN_F64;
    else return false;
    return true;
}

/* The precision that an algorithm asks of one operand; several primitive operations approximate the full one, which is taken. */
static kiln_status operand_precision(kn_himport *h, const kn_mop *o, const kn_mattr *dict, const char *field, int64_t operations, kn_atom *x)
{
    const kn_mattr *a = kn_mattr_find(dict->fields, dict->n, field);
    kiln_dtype d;
    bool tf32;
    if (!a || operations > 1 || !float_named(a->kind == KN_MA_TYPE ? a->type->text : a->text, &d, &tf32)) return KILN_OK;
    kiln_dtype own = kn_htype(h, *x).dtype;
    if (tf32) return own == KILN_F32 ? kn_heqn1(h, o, &kn_prim_reduce_precision, (kn_param[]){KN_INT(8), KN_INT(10)}, x, 1, x) : KILN_OK;
    return d == own ? KILN_OK : kn_hconvert(h, o, *x, d, x);
}

/* An algorithm fixes what operands are rounded to and what sums are kept in. */
static kiln_status algorithm(kn_himport *h, const kn_mop *o, kn_atom in[2], kiln_dtype *accumulate)
{
    const kn_mattr *a = kn_mop_attr(o, "algorithm");
    kn_mattr dict;
    int64_t operations;
    bool tf32;
    if (!a || a->kind == KN_MA_UNIT) return KILN_OK;
    KILN_TRY(kn_mattr_body(h->m, a, &dict));
    KILN_TRY(kn_hfield_int(h, o, &dict, "num_primitive_operations", 1, &operations));
    KILN_TRY(operand_precision(h, o, &dict, "lhs_precision_type", operations, &in[0]));
    KILN_TRY(operand_precision(h, o, &dict, "rhs_precision_type", operations, &in[1]));
    const kn_mattr *acc = kn_mattr_find(dict.fields, dict.n, "accumulation_type");
    if (acc) float_named(acc->kind == KN_MA_TYPE ? acc->type->text : acc->text, accumulate, &tf32);
    return KILN_OK;
}

static kiln_status product(kn_himport *h, const kn_mop *o, kn_atom a, kn_atom b, kn_param contract[2], kn_param batch[2])
{
    kiln_type result;
    kn_atom in[] = {a, b}, y;
    kn_param precision;
    KILN_TRY(kn_hresult(h, o, 0, &result));
    kiln_dtype sums = result.dtype;
    KILN_TRY(algorithm(h, o, in, &sums));
    for (int i = 0; i < 2; i++) { /* kinds that differ (i8 by ui8, say) meet in the type of the sums */
        kiln_dtype d[2] = {kn_htype(h, in[0]).dtype, kn_htype(h, in[1]).dtype};
        if (d[0] != d[1] && d[i] != sums) KILN_TRY(kn_hconvert(h, o, in[i], sums, &in[i]));
    }
    KILN_TRY(precision_param(h, o, &precision));
    for (int i = 0; i < 2; i++) contract[i].list = batch[i].list = true;
    kn_param two[] = {KN_TUPLE(2, contract), KN_TUPLE(2, batch)};
    kn_param params[] = {KN_TUPLE(2, two), KN_NONE, precision, KN_DTYPE(sums)};
    KILN_TRY(kn_heqn1(h, o, &kn_prim_dot_general, params, in, 2, &y));
    if (sums != result.dtype) KILN_TRY(kn_hconvert(h, o, y, result.dtype, &y));
    return kn_hset(h, o, 0, y);
}

kiln_status kn_hdot_list(kn_himport *h, const kn_mop *o, const char *name, kn_param *out)
{
    const kn_mattr *dims = kn_mop_attr(o, "dot_dimension_numbers");
    const int64_t *v;
    uint32_t n;
    if (dims) {
        kn_mattr dict;
        KILN_TRY(kn_mattr_body(h->m, dims, &dict));
        KILN_TRY(kn_hfield_ints(h, &dict, name, &v, &n));
    } else KILN_TRY(kn_hints(h, o, name, &v, &n));
    *out = KN_INTS(n, v);
    return KILN_OK;
}

static kiln_status dot_general(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom a, b;
    kn_param contract[2], batch[2];
    (void)row;
    KILN_TRY(kn_hcount(h, o, 2, 1));
    KILN_TRY(kn_hin(h, o, 0, &a));
    KILN_TRY(kn_hin(h, o, 1, &b));
    KILN_TRY(kn_hdot_list(h, o, "lhs_contracting_dimensions", &contract[0]));
    KILN_TRY(kn_hdot_list(h, o, "rhs_contracting_dimensions", &contract[1]));
    KILN_TRY(kn_hdot_list(h, o, "lhs_batching_dimensions", &batch[0]));
    KILN_TRY(kn_hdot_list(h, o, "rhs_batching_dimensions", &batch[1]));
    return product(h, o, a, b, contract, batch);
}

static kiln_status ragged_dot(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    static const char *const names[] = {"lhs_contracting_dimensions", "rhs_contracting_dimensions", "lhs_batching_dimensions", "rhs_batching_dimensions",
                                        "lhs_ragged_dimensions", "rhs_group_dimensions"};
    const kn_mattr *a = kn_mop_attr(o, "ragged_dot_dimension_numbers");
    kn_mattr dict;
    kn_atom in[3], y;
    kn_ragged_lists v;
    kn_param precision;
    kiln_type result;
    KILN_TRY(kn_hcount(h, o, 3, 1));
    KILN_TRY(kn_hresult(h, o, 0, &result));
    for (uint32_t i = 0; i < 3; i++) KILN_TRY(kn_hin(h, o, i, &in[i]));
    if (!a) return kn_hbad(h, o, "ragged_dot_dimension_numbers is missing");
    KILN_TRY(kn_mattr_body(h->m, a, &dict));
    for (int i = 0; i < KN_RAGGED_LISTS; i++) {
        const int64_t *dims;
        uint32_t n;
        KILN_TRY(kn_hfield_ints(h, &dict, names[i], &dims, &n));
        v.list[i] = KN_INTS(n, dims);
    }
    KILN_TRY(precision_param(h, o, &precision));
    kn_param params[] = {KN_NONE, KN_NONE, precision, KN_DTYPE(result.dtype), kn_ragged_numbers(&v)};
    KILN_TRY(kn_heqn1(h, o, row->prim, params, in, 3, &y));
    return kn_hset(h, o, 0, y);
}

/* The older form: the last dimension of the left with the first of the right. */
static kiln_status dot(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom a, b;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 2, 1));
    KILN_TRY(kn_hin(h, o, 0, &a));
    KILN_TRY(kn_hin(h, o, 1, &b));
    kiln_type t = kn_htype(h, a);
    if (t.rank == 0 || kn_htype(h, b).rank == 0) return kn_hbad(h, o, "vectors or matrices are needed");
    int64_t last = (int64_t)t.rank - 1, zero = 0;
    kn_param contract[] = {KN_INTS(1, &last), KN_INTS(1, &zero)}, batch[] = {KN_INTS(0, NULL), KN_INTS(0, NULL)};
    return product(h, o, a, b, contract, batch);
}

/* ---- convolution ---- */

/* One of the three lists [b, 0, 1, f]: places of the two named dimensions, then of the spatial ones in order. */
static kiln_status spec(kn_himport *h, const kn_mop *o, const kn_mattr *list, const char *first, const char *second, kn_param *out)
{
    int64_t *v = KN_NEWN(h->arena, int64_t, list->n);
    KILN_TRY_MEM(h->ctx, v);
    for (uint32_t i = 0; i < list->n; i++) v[i] = -1;
    for (uint32_t i = 0; i < list->n; i++) {
        const kn_mattr *e = &list->items[i];
        int64_t at = e->kind == KN_MA_INT ? 2 + e->i : e->kind == KN_MA_WORD && kn_span_is(e->text, first) ? 0 : e->kind == KN_MA_WORD && kn_span_is(e->text, second) ? 1 : -1;
        if (at < 0 || at >= (int64_t)list->n || v[at] >= 0) return kn_hbad(h, o, "the dimension numbers must name %s, %s, 0, 1, .. once each", first, second);
        v[at] = i;
    }
    *out = KN_INTS(list->n, v);
    return KILN_OK;
}

/* #stablehlo.conv<[..]x[..]->[..]> or #stablehlo.conv<raw key = .., ..> */
static kiln_status conv_dims(kn_himport *h, const kn_mop *o, kn_param *out)
{
    static const char *const names[3][3] = {{"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"},
                                            {"kernel_output_feature_dimension", "kernel_input_feature_dimension", "kernel_spatial_dimensions"},
                                            {"output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"}};
    static const char *const words[3][2] = {{"b", "f"}, {"o", "i"}, {"b", "f"}};
    static const char *const keys[] = {"lhs_spec", "rhs_spec", "out_spec"};
    const kn_mattr *a = kn_mop_attr(o, "dimension_numbers");
    kn_mattr own;
    kn_param *lists = KN_NEWN(h->arena, kn_param, 3);
    KILN_TRY_MEM(h->ctx, lists);
    if (!a) return kn_hbad(h, o, "the attribute dimension_numbers is missing");
    bool raw = a->kind == KN_MA_DIALECT && a->text.n > 3 && memcmp(a->text.s, "raw", 3) == 0;
    if (a->kind == KN_MA_DIALECT && !raw) {
        KILN_TRY(kn_mattr_conv(h->m, a, &own));
        a = &own;
    }
    if (raw) {
        own = *a;
        own.text.s += 3, own.text.n -= 3;
        KILN_TRY(kn_mattr_body(h->m, &own, &own));
        a = &own;
    }
    for (int i = 0; i < 3; i++) {
        if (a->kind == KN_MA_LIST && a->n == 3) {
            KILN_TRY(spec(h, o, &a->items[i], words[i][0], words[i][1], &lists[i]));
            continue;
        }
        const int64_t *spatial;
        uint32_t n;
        int64_t first, second;
        KILN_TRY(kn_hfield_ints(h, a, names[i][2], &spatial, &n));
        KILN_TRY(kn_hfield_int(h, o, a, names[i][0], -1, &first));
        KILN_TRY(kn_hfield_int(h, o, a, names[i][1], -1, &second));
        int64_t *v = KN_NEWN(h->arena, int64_t, n + 2);
        KILN_TRY_MEM(h->ctx, v);
        v[0] = first, v[1] = second;
        for (uint32_t k = 0; k < n; k++) v[2 + k] = spatial[k];
        lists[i] = KN_INTS(n + 2, v);
    }
    *out = (kn_param){.kind = KN_P_RECORD, .n = 3, .items = lists, .name = "ConvDimensionNumbers", .keys = keys};
    return KILN_OK;
}

/* [[1, 1], [2, 2]], or dense<..> of n by 2: low and high by dimension. */
static kiln_status conv_padding(kn_himport *h, const kn_mop *o, uint32_t n, kn_param *out)
{
    const kn_mattr *a = kn_mop_attr(o, "padding");
    int64_t *v = KN_NEWN(h->arena, int64_t, 2 * n);
    kn_param *rows = KN_NEWN(h->arena, kn_param, n);
    const int64_t *flat;
    uint32_t count;
    KILN_TRY_MEM(h->ctx, v && rows);
    bool nested = a && a->kind == KN_MA_LIST && a->n && a->items[0].kind == KN_MA_LIST;
    for (uint32_t d = 0; nested && d < n; d++) {
        if (a->n != n) return kn_hbad(h, o, "padding has %u pairs, %u are needed", a->n, n);
        KILN_TRY(kn_mattr_ints(h->m, &a->items[d], &flat, &count));
        if (count != 2) return kn_hbad(h, o, "padding must hold pairs");
        v[2 * d] = flat[0], v[2 * d + 1] = flat[1];
    }
    if (a && !nested) {
        KILN_TRY(kn_mattr_ints(h->m, a, &flat, &count));
        if (count != 2 * n) return kn_hbad(h, o, "padding holds %u numbers, %u are needed", count, 2 * n);
        memcpy(v, flat, 2 * n * sizeof *v);
    }
    for (uint32_t d = 0; d < n; d++) rows[d] = KN_INTS(2, v + 2 * d);
    *out = KN_TUPLE(n, rows);
    return KILN_OK;
}

/* A kernel read backwards along some of its spatial dimensions. */
static kiln_status reversed_kernel(kn_himport *h, const kn_mop *o, const kn_param *dims, uint32_t n, kn_atom *kernel)
{
    const int64_t *flags, *spec_of = dims->items[1].ints;
    int64_t axes[KN_MAX_RANK];
    uint32_t k = 0;
    KILN_TRY(kn_hints_of(h, o, "window_reversal", n, 0, &flags));
    for (uint32_t d = 0; d < n && d + 2 < KN_MAX_RANK; d++)
        if (flags[d]) axes[k++] = spec_of[2 + d];
    return k ? kn_heqn1(h, o, &kn_prim_rev, &KN_INTS(k, axes), kernel, 1, kernel) : KILN_OK;
}

static kiln_status convolution(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom in[2], y;
    kn_param dims, padding, precision;
    const int64_t *stride, *lhs, *rhs;
    int64_t features, batches;
    kiln_type result;
    (void)row;
    KILN_TRY(kn_hcount(h, o, row->extra ? 3 : 2, 1));
    for (uint32_t k = 0; k < 2; k++) KILN_TRY(kn_hin(h, o, k, &in[k]));
    KILN_TRY(kn_hresult(h, o, 0, &result));
    KILN_TRY(conv_dims(h, o, &dims));
    uint32_t rank = kn_htype(h, in[0]).rank, n = rank > 2 ? rank - 2 : 0;
    if (dims.items[0].n != rank || dims.items[1].n != rank || rank < 2) return kn_hbad(h, o, "the dimension numbers do not fit %s", kn_type_show(kn_htype(h, in[0])).s);
    KILN_TRY(conv_padding(h, o, n, &padding));
    if (row->extra) { /* padding as an operand */
        const int64_t *v;
        uint32_t count;
        kn_param *rows = KN_NEWN(h->arena, kn_param, n);
        KILN_TRY_MEM(h->ctx, rows);
        KILN_TRY(kn_hoperand_ints(h, o, 2, &v, &count));
        if (count != 2 * n) return kn_hbad(h, o, "padding holds %u numbers, %u are needed", count, 2 * n);
        for (uint32_t d = 0; d < n; d++) rows[d] = KN_INTS(2, v + 2 * d);
        padding = KN_TUPLE(n, rows);
    }
    KILN_TRY(kn_hints_of(h, o, "window_strides", n, 1, &stride));
    KILN_TRY(kn_hints_of(h, o, "lhs_dilation", n, 1, &lhs));
    KILN_TRY(kn_hints_of(h, o, "rhs_dilation", n, 1, &rhs));
    KILN_TRY(kn_hint(h, o, "feature_group_count", 1, &features));
    KILN_TRY(kn_hint(h, o, "batch_group_count", 1, &batches));
    KILN_TRY(reversed_kernel(h, o, &dims, n, &in[1]));
    KILN_TRY(precision_param(h, o, &precision));
    kn_param params[] = {KN_INT(batches),  dims,      KN_INT(features), KN_INTS(n, lhs),         KN_NONE,
                         padding,          precision, KN_DTYPE(result.dtype), KN_INTS(n, rhs), KN_INTS(n, stride)};
    KILN_TRY(kn_heqn1(h, o, &kn_prim_conv_general_dilated, params, in, 2, &y));
    return kn_hset(h, o, 0, y);
}

/* ---- transforms and factorisations ---- */

static kiln_status fft(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    static const char *const names[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
    kn_atom x, y;
    kn_span type;
    const int64_t *lengths;
    uint32_t n;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_henum(h, o, "fft_type", &type));
    KILN_TRY(kn_hints(h, o, "fft_length", &lengths, &n));
    for (int i = 0; i < 4; i++) {
        if (!kn_span_is(type, names[i])) continue;
        KILN_TRY(kn_heqn1(h, o, &kn_prim_fft, (kn_param[]){KN_INTS(n, lengths), KN_INT(i)}, &x, 1, &y));
        return kn_hset(h, o, 0, y);
    }
    return kn_hbad(h, o, "the type '%.*s' is none of FFT, IFFT, RFFT, IRFFT", KN_SPAN_ARG(type));
}

/* The last two dimensions exchanged. */
static kiln_status flipped(kn_himport *h, const kn_mop *o, kn_atom x, kn_atom *y)
{
    int64_t p[KN_MAX_RANK];
    uint32_t rank = kn_htype(h, x).rank;
    for (uint32_t d = 0; d < rank && d < KN_MAX_RANK; d++) p[d] = d;
    if (rank >= 2) p[rank - 1] = rank - 2, p[rank - 2] = rank - 1;
    return kn_htranspose(h, o, x, p, y);
}

static kiln_status conjugated(kn_himport *h, const kn_mop *o, kn_atom *x)
{
    kiln_dtype d = kn_htype(h, *x).dtype;
    return kiln_dtype_kind(d) == 'c' ? kn_heqn1(h, o, &kn_prim_conj, &KN_DTYPE(d), x, 1, x) : KILN_OK;
}

/* The upper factor is the conjugate transpose of the lower factor of the conjugate transpose of what is given. */
static kiln_status cholesky(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom x, y;
    bool lower;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_hflag(h, o, "lower", false, &lower));
    if (kn_htype(h, x).rank < 2) return kn_hbad(h, o, "a matrix is needed, found %s", kn_type_show(kn_htype(h, x)).s);
    if (!lower) {
        KILN_TRY(flipped(h, o, x, &x));
        KILN_TRY(conjugated(h, o, &x));
    }
    KILN_TRY(kn_heqn1(h, o, &kn_prim_cholesky, NULL, &x, 1, &y));
    if (!lower) {
        KILN_TRY(flipped(h, o, y, &y));
        KILN_TRY(conjugated(h, o, &y));
    }
    return kn_hset(h, o, 0, y);
}

static kiln_status triangular_solve(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom in[2], y;
    bool left, lower, unit;
    kn_span transpose;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 2, 1));
    for (uint32_t k = 0; k < 2; k++) KILN_TRY(kn_hin(h, o, k, &in[k]));
    KILN_TRY(kn_hflag(h, o, "left_side", true, &left));
    KILN_TRY(kn_hflag(h, o, "lower", true, &lower));
    KILN_TRY(kn_hflag(h, o, "unit_diagonal", false, &unit));
    KILN_TRY(kn_henum(h, o, "transpose_a", &transpose));
    bool adjoint = kn_span_is(transpose, "ADJOINT"), plain = kn_span_is(transpose, "NO_TRANSPOSE");
    if (!adjoint && !plain && !kn_span_is(transpose, "TRANSPOSE"))
        return kn_hbad(h, o, "transpose_a '%.*s' is none of NO_TRANSPOSE, TRANSPOSE, ADJOINT", KN_SPAN_ARG(transpose));
    kn_param params[] = {KN_BOOL(adjoint), KN_BOOL(left), KN_BOOL(lower), KN_BOOL(!plain), KN_BOOL(unit)};
    KILN_TRY(kn_heqn1(h, o, &kn_prim_triangular_solve, params, in, 2, &y));
    return kn_hset(h, o, 0, y);
}

/* ---- random bits ---- */

static kiln_status rng_bit_generator(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    static const char *const names[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
    kn_atom key, out[2];
    kn_span word;
    kiln_type t;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 1, 2));
    KILN_TRY(kn_hin(h, o, 0, &key));
    KILN_TRY(kn_henum(h, o, "rng_algorithm", &word));
    KILN_TRY(kn_hresult(h, o, 1, &t));
    for (int i = 0; i < 3; i++) {
        if (!kn_span_is(word, names[i])) continue;
        kn_param params[] = {KN_TEXT(names[i]), KN_DTYPE(t.dtype), KN_INTS(t.rank, t.dims)};
        KILN_TRY(kn_heqn(h, o, &kn_prim_rng_bit_generator, params, &key, 1, out, 2));
        KILN_TRY(kn_hset(h, o, 0, out[0]));
        return kn_hset(h, o, 1, out[1]);
    }
    return kn_hbad(h, o, "the algorithm '%.*s' is none of DEFAULT, THREE_FRY, PHILOX", KN_SPAN_ARG(word));
}

const kn_himporter kn_himport_linalg[] = {
    {"chlo.ragged_dot", ragged_dot, &kn_prim_ragged_dot_general, 0},
    {"stablehlo.batch_norm_grad", kn_hbatch_norm, NULL, KN_HNORM_GRAD},
    {"stablehlo.batch_norm_inference", kn_hbatch_norm, NULL, KN_HNORM_INFERENCE},
    {"stablehlo.batch_norm_training", kn_hbatch_norm, NULL, KN_HNORM_TRAINING},
    {"stablehlo.cholesky", cholesky, NULL, 0},
    {"stablehlo.convolution", convolution, NULL, 0},
    {"stablehlo.dot", dot, NULL, 0},
    {"stablehlo.dot_general", dot_general, NULL, 0},
    {"stablehlo.dynamic_conv", convolution, NULL, 1},
    {"stablehlo.fft", fft, NULL, 0},
    {"stablehlo.rng_bit_generator", rng_bit_generator, NULL, 0},
    {"stablehlo.triangular_solve", triangular_solve, NULL, 0},
};
const uint32_t kn_himport_n_linalg = sizeof kn_himport_linalg / sizeof *kn_himport_linalg;
