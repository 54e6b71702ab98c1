/* SPDX-License-Identifier: Apache-2.0 */
/* Products, convolutions, transforms, factorisations, random bits. */
#include "hlo/export.h"

#include "base/text.h"
#include "hlo/lapack.h"
#include "prim/common.h"
#include "prim/dot.h"
#include "prim/ragged.h"

/* ---- products ---- */

static const char *precision_word(const kn_param *p, uint32_t side)
{
    if (p && p->kind == KN_P_TUPLE && side < p->n) p = &p->items[side];
    if (!p || p->kind != KN_P_TEXT) return "DEFAULT";
    const char *dot = strrchr(p->text, '.'), *word = dot ? dot + 1 : p->text;
    static const char *const known[] = {"DEFAULT", "HIGH", "HIGHEST"};
    for (int i = 0; i < 3; i++)
        if (strcmp(word, known[i]) == 0) return known[i];
    return "DEFAULT";
}

static void precision_config(kn_export *x, kn_mop *op, const kn_eqn *e, const char *dialect)
{
    kn_mattr *words = KN_NEWN(x->arena, kn_mattr, 2);
    KN_XCHECK(x, words);
    for (uint32_t i = 0; words && i < 2; i++) {
        char *text = kn_arena_printf(x->arena, "precision %s", precision_word(kn_param_of(e, "precision"), i));
        KN_XCHECK(x, text);
        words[i] = (kn_mattr){.kind = KN_MA_DIALECT, .at = "", .text = kn_xspan(text ? text : ""), .name = kn_xspan(dialect)};
    }
    kn_xattr(x, op, "precision_config", (kn_mattr){.kind = KN_MA_LIST, .at = "", .n = 2, .items = words});
}

static void dot_general(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kn_dot_dims d = kn_dot_dims_of(e);
    kiln_type t = kn_out_type(j, e, 0);
    uint32_t in[2] = {kn_xatom(x, e->in[0]), kn_xatom(x, e->in[1])};
    kn_mop *op = kn_xop(x, row->name, in, 2, &t, 1);
    static const char *const batch[] = {"lhs_batching_dimensions", "rhs_batching_dimensions"};
    static const char *const contract[] = {"lhs_contracting_dimensions", "rhs_contracting_dimensions"};
    for (int i = 0; i < 2 && d.n_batch; i++) kn_xattr_list(x, op, batch[i], d.batch[i], d.n_batch);
    for (int i = 0; i < 2; i++) kn_xattr_list(x, op, contract[i], d.contract[i], d.n_contract);
    kn_mattr *words = KN_NEWN(x->arena, kn_mattr, 2);
    KN_XCHECK(x, words);
    for (uint32_t i = 0; words && i < 2; i++)
        words[i] = (kn_mattr){.kind = KN_MA_WORD, .at = "", .text = kn_xspan(precision_word(kn_param_of(e, "precision"), i))};
    kn_xattr(x, op, "precision_config", (kn_mattr){.kind = KN_MA_LIST, .at = "", .n = 2, .items = words});
    kn_xset(x, e, op);
}

static void ragged_dot(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    static const char *const names[] = {"lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions", "rhs_contracting_dimensions",
                                        "lhs_ragged_dimensions", "rhs_group_dimensions"};
    kiln_type t = kn_out_type(j, e, 0);
    kn_ragged_lists v;
    kn_text text;
    uint32_t in[3];
    for (int i = 0; i < 3; i++) in[i] = kn_xatom(x, e->in[i]);
    kn_mop *op = kn_xop(x, row->name, in, 3, &t, 1);
    precision_config(x, op, e, "chlo");
    kn_ragged_lists_of(e, &v);
    kn_text_init(&text, &x->ctx->alloc);
    for (int i = 0; i < KN_RAGGED_LISTS; i++) {
        const kn_param *p = &v.list[i < 4 ? i ^ 2 : i]; /* the batch comes first */
        if (p->n) kn_text_printf(&text, "%s%s = [", text.n ? ", " : "", names[i]);
        for (uint32_t k = 0; k < p->n; k++) kn_text_printf(&text, "%s%lld", k ? ", " : "", (long long)kn_ints(p)[k]);
        if (p->n) kn_text_char(&text, ']');
    }
    kn_xattr_text(x, op, "ragged_dot_dimension_numbers", "chlo.ragged_dot", kn_xkeep(x, &text));
    kn_text_fini(&text);
    kn_xset(x, e, op);
}

/* ---- convolution ---- */

/* [b, 0, 1, f]: which dimension each place of the array is. */
static kn_mattr spec(kn_export *x, const kn_param *p, const char *first, const char *second)
{
    const int64_t *v = kn_ints(p);
    kn_mattr *items = KN_NEWN(x->arena, kn_mattr, p->n);
    KN_XCHECK(x, items);
    for (uint32_t i = 0; items && i < p->n; i++) {
        kn_mattr a = {.kind = KN_MA_INT, .at = "", .i = (int64_t)i - 2};
        if (i < 2) a = (kn_mattr){.kind = KN_MA_WORD, .at = "", .text = kn_xspan(i ? second : first)};
        items[v[i]] = a;
    }
    return (kn_mattr){.kind = KN_MA_LIST, .at = "", .n = items ? p->n : 0, .items = items};
}

static void convolution(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kiln_type t = kn_out_type(j, e, 0);
    uint32_t in[2] = {kn_xatom(x, e->in[0]), kn_xatom(x, e->in[1])}, n = t.rank - 2;
    const kn_param *dims = kn_param_of(e, "dimension_numbers"), *padding = kn_param_of(e, "padding");
    kn_mattr *specs = KN_NEWN(x->arena, kn_mattr, 3), *pads = KN_NEWN(x->arena, kn_mattr, n), *flags = KN_NEWN(x->arena, kn_mattr, n);
    kn_mattr *pair = KN_NEWN(x->arena, kn_mattr, 2 * n);
    KN_XCHECK(x, specs && pads && flags && pair);
    if (x->status != KILN_OK) return;
    for (int i = 0; i < 3; i++) specs[i] = spec(x, &dims->items[i], i == 1 ? "o" : "b", i == 1 ? "i" : "f");
    for (uint32_t d = 0; d < n; d++) {
        for (uint32_t k = 0; k < 2; k++) pair[2 * d + k] = (kn_mattr){.kind = KN_MA_INT, .at = "", .i = kn_ints(&padding->items[d])[k]};
        pads[d] = (kn_mattr){.kind = KN_MA_LIST, .at = "", .n = 2, .items = pair + 2 * d};
        flags[d] = (kn_mattr){.kind = KN_MA_BOOL, .at = ""};
    }
    kn_mop *op = kn_xop(x, row->name, in, 2, &t, 1);
    kn_xattr(x, op, "dimension_numbers", (kn_mattr){.kind = KN_MA_LIST, .at = "", .n = 3, .items = specs});
    kn_xattr_list(x, op, "window_strides", kn_ints(kn_param_of(e, "window_strides")), n);
    kn_xattr(x, op, "padding", (kn_mattr){.kind = KN_MA_LIST, .at = "", .n = n, .items = pads});
    kn_xattr_list(x, op, "lhs_dilation", kn_ints(kn_param_of(e, "lhs_dilation")), n);
    kn_xattr_list(x, op, "rhs_dilation", kn_ints(kn_param_of(e, "rhs_dilation")), n);
    kn_xattr(x, op, "window_reversal", (kn_mattr){.kind = KN_MA_LIST, .at = "", .n = n, .items = flags});
    kn_xattr_int(x, op, "batch_group_count", kn_param_of(e, "batch_group_count")->i);
    kn_xattr_int(x, op, "feature_group_count", kn_param_of(e, "feature_group_count")->i);
    precision_config(x, op, e, "stablehlo");
    kn_xset(x, e, op);
}

/* ---- transforms ---- */

static void fft(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    static const char *const names[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
    kiln_type t = kn_out_type(j, e, 0);
    uint32_t in = kn_xatom(x, e->in[0]);
    const kn_param *type = kn_param_of(e, "fft_type"), *lengths = kn_param_of(e, "fft_lengths");
    const char *dot = type->kind == KN_P_TEXT ? strrchr(type->text, '.') : NULL;
    kn_mop *op = kn_xop(x, row->name, &in, 1, &t, 1);
    kn_xattr_word(x, op, "fft_type", type->kind == KN_P_INT ? names[type->i & 3] : dot ? dot + 1 : type->text);
    kn_xattr_list(x, op, "fft_length", kn_ints(lengths), lengths->n);
    kn_xset(x, e, op);
}

static void cholesky(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kiln_type t = kn_out_type(j, e, 0);
    uint32_t in = kn_xatom(x, e->in[0]);
    kn_mop *op = kn_xop(x, row->name, &in, 1, &t, 1);
    kn_xattr_bool(x, op, "lower", true);
    kn_xset(x, e, op);
}

static void rng(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kiln_type t[2] = {kn_out_type(j, e, 0), kn_out_type(j, e, 1)};
    uint32_t in = kn_xatom(x, e->in[0]);
    kn_mop *op = kn_xop(x, row->name, &in, 1, t, 2);
    kn_xattr_word(x, op, "rng_algorithm", e->params[0].text);
    kn_xset(x, e, op);
}

/* Operations of the text are counted again when it is read: a draw that has another number by now is written out. */
static void uniform(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kiln_type t = kn_out_type(j, e, 0);
    kn_atom shape;
    if (e->params[0].i != x->draws) {
        kn_xlowered(x, j, e);
        return;
    }
    x->draws++;
    uint32_t in[3] = {kn_xatom(x, e->in[0]), kn_xatom(x, e->in[1]), 0}, nin = x->closed ? 2 : 3; /* HLO takes the shape from the result */
    if (!x->closed) in[2] = kn_xwritten(x, e, &shape) ? kn_xatom(x, shape) : kn_xints(x, t.dims, t.rank);
    kn_mop *op = kn_xop(x, row->name, in, nin, &t, 1);
    kn_xattr_word(x, op, "rng_distribution", "UNIFORM");
    kn_xset(x, e, op);
}

/* ---- LAPACK's custom calls, as JAX writes them on a CPU ---- */

static void put_layout(kn_text *t, kiln_type type, uint32_t batch)
{
    uint32_t n = type.rank;
    bool matrix = n == batch + 2;
    kn_text_add(t, "dense<");
    if (n > 1) kn_text_char(t, '[');
    for (uint32_t i = 0; i < n; i++) kn_text_printf(t, "%s%u", i ? ", " : "", matrix && i < 2 ? n - 2 + i : n - 1 - i);
    if (n > 1) kn_text_char(t, ']');
    kn_text_printf(t, "> : tensor<%uxindex>", n);
}

/* One letter a dimension: those of the batch are common, every other one has its own. */
typedef struct letters {
    kn_text *t, sizes;
    uint32_t n, batch;
} letters;

static void put_letter(kn_text *t, uint32_t k)
{
    if (k < 18) kn_text_char(t, (char)('i' + k));
    else kn_text_printf(t, "z_%u", k - 17);
}

static void put_factors(letters *l, kiln_type type)
{
    kn_text_char(l->t, '[');
    for (uint32_t d = 0; d < type.rank; d++) {
        bool common = d < l->batch && l->n >= l->batch;
        uint32_t k = common ? d : l->n++;
        if (d) kn_text_add(l->t, ", ");
        put_letter(l->t, k);
        if (common) continue;
        if (l->sizes.n) kn_text_add(&l->sizes, ", ");
        put_letter(&l->sizes, k);
        kn_text_printf(&l->sizes, "=%lld", (long long)type.dims[d]);
    }
    kn_text_char(l->t, ']');
}

static void layouts(kn_export *x, kn_mop *op, const char *name, kn_text *t, const kiln_type *types, uint32_t n, uint32_t batch)
{
    kn_text_char(t, '[');
    for (uint32_t i = 0; i < n; i++) {
        if (i) kn_text_add(t, ", ");
        put_layout(t, types[i], batch);
    }
    kn_text_char(t, ']');
    kn_xattr_text(x, op, name, NULL, kn_xkeep(x, t));
}

static void aliases(kn_export *x, kn_mop *op, kn_text *t, const kn_lapack_target *r, uint32_t nout)
{
    if (!r->naliases) return;
    kn_text_char(t, '[');
    for (uint32_t i = 0; i < r->naliases; i++) {
        kn_text_add(t, i ? ", " : "");
        kn_text_add(t, "#stablehlo.output_operand_alias<output_tuple_indices = [");
        if (nout > 1) kn_text_printf(t, "%u", i);
        kn_text_printf(t, "], operand_index = %u, operand_tuple_indices = []>", r->alias + i);
    }
    kn_text_char(t, ']');
    kn_xattr_text(x, op, "output_operand_aliases", NULL, kn_xkeep(x, t));
}

static void sharding_rule(kn_export *x, kn_mop *op, kn_text *t, const kiln_type *in, uint32_t nin, const kiln_type *out, uint32_t nout, uint32_t batch)
{
    letters l = {.t = t, .batch = batch};
    kn_text_init(&l.sizes, &x->ctx->alloc);
    for (uint32_t i = 0; i < nin + nout; i++) {
        kn_text_add(t, i == 0 ? "(" : i == nin ? ")->(" : ", ");
        put_factors(&l, i < nin ? in[i] : out[i - nin]);
    }
    kn_text_printf(t, ") {%s}, custom", l.sizes.n ? l.sizes.s : "");
    t->failed = t->failed || l.sizes.failed;
    kn_text_fini(&l.sizes);
    kn_xattr_text(x, op, "sdy.sharding_rule", "sdy.op_sharding_rule", kn_xkeep(x, t));
}

/* config: what stands in mhlo.backend_config, alphabetical. */
static void lapack_call(kn_export *x, const kn_eqn *e, const kn_lapack_target *r, const char *config, uint32_t *in, const kiln_type *types, uint32_t batch)
{
    kiln_dtype d = types[0].dtype;
    const kiln_type *out = types + e->nin;
    char letter = d == KILN_F32 ? 's' : d == KILN_F64 ? 'd' : d == KILN_C64 ? 'c' : 'z';
    char *target = kn_arena_printf(x->arena, "lapack_%c%s_ffi", letter, kiln_dtype_kind(d) == 'c' ? r->complex_name : r->name);
    kn_text t;
    KN_XCHECK(x, target);
    if (x->status != KILN_OK) return;
    kn_text_init(&t, &x->ctx->alloc);
    kn_mop *op = kn_xop(x, "stablehlo.custom_call", in, e->nin, out, e->nout);
    kn_xattr(x, op, "call_target_name", (kn_mattr){.kind = KN_MA_SYMBOL, .at = "", .text = kn_xspan(target)});
    kn_xattr(x, op, "backend_config", (kn_mattr){.kind = KN_MA_STRING, .at = "", .text = {"", 0}});
    kn_text_printf(&t, "{%s}", config);
    kn_xattr_text(x, op, "mhlo.backend_config", NULL, kn_xkeep(x, &t));
    kn_text_printf(&t, "{num_batch_dims = \"%u\"}", batch);
    kn_xattr_text(x, op, "mhlo.frontend_attributes", NULL, kn_xkeep(x, &t));
    layouts(x, op, "operand_layouts", &t, types, e->nin, batch);
    aliases(x, op, &t, r, e->nout);
    layouts(x, op, "result_layouts", &t, out, e->nout, batch);
    sharding_rule(x, op, &t, types, e->nin, out, e->nout, batch);
    kn_text_fini(&t);
    kn_xset(x, e, op);
}

static kiln_type *types_of(kn_export *x, const kn_jaxpr *j, const kn_eqn *e)
{
    kiln_type *types = KN_NEWN(x->arena, kiln_type, e->nin + e->nout);
    KN_XCHECK(x, types);
    for (uint32_t i = 0; types && i < e->nin; i++) types[i] = kn_in_type(j, e, i);
    for (uint32_t i = 0; types && i < e->nout; i++) types[e->nin + i] = kn_out_type(j, e, i);
    return types;
}

static void lapack(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    const kn_lapack_target *r = kn_lapack_find_target(e->params[1].text);
    const char *letters_of = e->params[0].kind == KN_P_TEXT ? e->params[0].text : "";
    kiln_type *types = types_of(x, j, e);
    uint32_t *in = KN_NEWN(x->arena, uint32_t, e->nin);
    kn_text config;
    (void)row;
    KN_XCHECK(x, in);
    if (x->status == KILN_OK && !r) kn_xfail(x, kn_fail(x->ctx, KILN_INTERNAL, "LAPACK's %s has no custom call", e->params[1].text));
    if (x->status != KILN_OK) return;
    for (uint32_t i = 0; i < e->nin; i++) in[i] = kn_xatom(x, e->in[i]);
    kn_text_init(&config, &x->ctx->alloc);
    bool flags = strcmp(r->name, "ormqr") == 0;
    if (flags) kn_text_printf(&config, "left = %s, transpose = %s", letters_of[0] == 'L' ? "true" : "false", letters_of[1] == 'N' ? "false" : "true");
    for (uint32_t i = 0; !flags && r->options[i] && letters_of[i]; i++)
        if (!i || strcmp(r->options[i], r->options[i - 1]) != 0)
            kn_text_printf(&config, "%s%s = %d : ui8", i ? ", " : "", r->options[i], letters_of[i]);
    if (strcmp(r->name, "gehrd") == 0) kn_text_printf(&config, "high = %lld : i32, low = 1 : i32", (long long)types[0].dims[types[0].rank - 1]);
    const char *text = kn_xkeep(x, &config);
    kn_text_fini(&config);
    bool vector = strcmp(r->name, "gtsv") == 0; /* whose first operand is a diagonal */
    lapack_call(x, e, r, text, in, types, types[0].rank - (vector ? 1 : 2));
}

static void triangular_solve(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    enum { CONJUGATE, LEFT, LOWER, TRANSPOSE, UNIT };
    static const kn_lapack_target trsm = {"trsm", "trsm", "trsm", {NULL, NULL, NULL}, 1, 1};
    const kn_param *p = e->params;
    kiln_type *types = types_of(x, j, e);
    uint32_t in[2] = {kn_xatom(x, e->in[0]), kn_xatom(x, e->in[1])};
    if (x->status != KILN_OK) return;
    kiln_dtype d = types[0].dtype;
    if (p[CONJUGATE].b && !p[TRANSPOSE].b && kiln_dtype_kind(d) == 'c') in[0] = kn_xop1(x, "chlo.conj", in, 1, types[0]);
    bool adjoint = p[CONJUGATE].b && p[TRANSPOSE].b;
    if (d == KILN_F32 || d == KILN_F64 || kiln_dtype_kind(d) == 'c') {
        char *config = kn_arena_printf(x->arena, "diag = %d : ui8, side = %d : ui8, trans_x = %d : ui8, uplo = %d : ui8", p[UNIT].b ? 'U' : 'N',
                                       p[LEFT].b ? 'L' : 'R', adjoint ? 'C' : p[TRANSPOSE].b ? 'T' : 'N', p[LOWER].b ? 'L' : 'U');
        KN_XCHECK(x, config);
        if (config) lapack_call(x, e, &trsm, config, in, types, types[0].rank - 2);
        return;
    }
    kn_mop *op = kn_xop(x, row->name, in, 2, &types[2], 1);
    kn_xattr_bool(x, op, "left_side", p[LEFT].b);
    kn_xattr_bool(x, op, "lower", p[LOWER].b);
    kn_xattr_text(x, op, "transpose_a", "stablehlo", adjoint ? "transpose ADJOINT" : p[TRANSPOSE].b ? "transpose TRANSPOSE" : "transpose NO_TRANSPOSE");
    kn_xattr_bool(x, op, "unit_diagonal", p[UNIT].b);
    kn_xset(x, e, op);
}

const kn_xrow kn_xrows_linalg[] = {
    {&kn_prim_cholesky, cholesky, "stablehlo.cholesky", 0},
    {&kn_prim_conv_general_dilated, convolution, "stablehlo.convolution", 0},
    {&kn_prim_dot_general, dot_general, "stablehlo.dot_general", 0},
    {&kn_prim_fft, fft, "stablehlo.fft", 0},
    {&kn_prim_lapack, lapack, NULL, 0},
    {&kn_prim_ragged_dot_general, ragged_dot, "chlo.ragged_dot", 0},
    {&kn_prim_rng_bit_generator, rng, "stablehlo.rng_bit_generator", 0},
    {&kn_prim_rng_uniform, uniform, "stablehlo.rng", 0},
    {&kn_prim_triangular_solve, triangular_solve, "stablehlo.triangular_solve", 0},
};
const uint32_t kn_xrows_n_linalg = sizeof kn_xrows_linalg / sizeof *kn_xrows_linalg;
