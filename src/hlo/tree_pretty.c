/* SPDX-License-Identifier: Apache-2.0 */
/* Pretty forms, each given by one line. A format is read from the left:
 *   $   one operand           $*  operands separated by commas, none is fine
 *   <k:name>  an attribute:   l list, i integer, b true or false, w word, s @symbol, q "text", n [integer],
 *             r [start:limit:stride, ..], c dimension numbers of a convolution, v its window, d <key = value>, e dense<..>
 *   [..]  left out unless its first words stand there     *  any number of `, key = value`
 *   anything else stands for itself
 * Behind it comes an optional {..} and the signature, `: (types) -> types`, or in short, as the last letter says:
 *   S one type for all operands and the result     P predicate, then the result (select)    R types of the results
 *   B types of operands and results alike          O types of operands                      C the constant's own type
 *   A types of operands, or one for all of them; no results */
#include "base/text.h"
#include "hlo/mread.h"

typedef kn_mform form;

static const form forms[] = {
    {"check.expect_almost_eq_const", "$, <e:value> *", 'C'},
    {"check.expect_eq_const", "$, <e:value> *", 'C'},
    {"chlo.constant", "<e:value>", 'C'},
    {"chlo.top_k", "($, k = <i:k>)", 'S'},
    {"func.call", "<s:callee>($*)", 'S'},
    {"func.return", "$*", 'O'},
    {"sdy.reshard", "$<d:sharding>", 'S'},
    {"sdy.sharding_constraint", "$<d:sharding>", 'S'},
    {"stablehlo.after_all", "$*", 'R'},
    {"stablehlo.bitcast_convert", "$", 'S'},
    {"stablehlo.broadcast", "$, sizes = <l:broadcast_sizes>", 'S'},
    {"stablehlo.broadcast_in_dim", "$, dims = <l:broadcast_dimensions>", 'S'},
    {"stablehlo.cholesky", "$[, lower = <b:lower>]", 'S'},
    {"stablehlo.compare", "<w:comparison_direction>, $, $[, <w:compare_type>]", 'S'},
    {"stablehlo.complex", "$, $", 'R'},
    {"stablehlo.composite", "<q:name> $*", 'S'},
    {"stablehlo.concatenate", "$*, dim = <i:dimension>", 'S'},
    {"stablehlo.constant", "<e:value>", 'C'},
    {"stablehlo.convolution", "($, $) dim_numbers = <c:dimension_numbers>, window = <v:window>", 'S'},
    {"stablehlo.create_token", "", 'R'},
    {"stablehlo.custom_call", "<s:call_target_name>($*)", 'S'},
    {"stablehlo.dot", "$, $[, precision = <l:precision_config>]", 'S'},
    {"stablehlo.dot_general",
     "$, $,[batching_dims = <l:lhs_batching_dimensions> x <l:rhs_batching_dimensions>,] contracting_dims = "
     "<l:lhs_contracting_dimensions> x <l:rhs_contracting_dimensions>[, precision = <l:precision_config>][, algorithm = <d:algorithm>]",
     'S'},
    {"stablehlo.dynamic_broadcast_in_dim", "$, $, dims = <l:broadcast_dimensions>", 'S'},
    {"stablehlo.dynamic_iota", "$, dim = <i:iota_dimension>", 'S'},
    {"stablehlo.dynamic_slice", "$*, sizes = <l:slice_sizes>", 'S'},
    {"stablehlo.einsum", "$, $, config = <q:einsum_config>", 'S'},
    {"stablehlo.fft", "$, type = <w:fft_type>, length = <l:fft_length>", 'S'},
    {"stablehlo.get_dimension_size", "$, dim = <i:dimension>", 'S'},
    {"stablehlo.get_tuple_element", "$<n:index>", 'S'},
    {"stablehlo.iota", "dim = <i:iota_dimension>", 'R'},
    {"stablehlo.optimization_barrier", "[($*)]$*", 'B'},
    {"stablehlo.pad", "$, $, low = <l:edge_padding_low>, high = <l:edge_padding_high>, interior = <l:interior_padding>", 'S'},
    {"stablehlo.partition_id", "", 'R'},
    {"stablehlo.reduce_precision", "$, format = <w:format>", 'S'},
    {"stablehlo.replica_id", "", 'R'},
    {"stablehlo.return", "$*", 'O'},
    {"stablehlo.reverse", "$, dims = <l:dimensions>", 'S'},
    {"stablehlo.rng", "$, $, $, distribution = <w:rng_distribution>", 'S'},
    {"stablehlo.rng_bit_generator", "$, algorithm = <w:rng_algorithm>", 'S'},
    {"stablehlo.select", "$, $, $", 'P'},
    {"stablehlo.set_dimension_size", "$, $, dim = <i:dimension>", 'S'},
    {"stablehlo.slice", "$ <r:ranges>", 'S'},
    {"stablehlo.torch_index_select", "$, $, dim = <i:dim>, batch_dims = <i:batch_dims>", 'S'},
    {"stablehlo.transpose", "$, dims = <l:permutation>", 'S'},
    {"stablehlo.tuple", "$*", 'R'},
};

static const form other = {NULL, "$* *", 'S'};
static const form old_constant = {NULL, "()", 'S'}; /* stablehlo.constant() {value = dense<..> : type} : () -> type */
static const form check = {NULL, "$* *", 'A'};

const kn_mform *kn_mform_find(kn_span name)
{
    size_t lo = 0, hi = sizeof forms / sizeof *forms;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2, n = strlen(forms[mid].name), least = n < name.n ? n : name.n;
        int c = memcmp(forms[mid].name, name.s, least);
        if (c == 0) c = n < name.n ? -1 : n > name.n;
        if (c == 0) return &forms[mid];
        if (c < 0) lo = mid + 1;
        else hi = mid;
    }
    return name.n > 6 && memcmp(name.s, "check.", 6) == 0 ? &check : &other;
}

kiln_status kn_mread_put(kn_mreader *r, const char *name, kn_mattr value)
{
    kn_mfield f = {{name, strlen(name)}, value};
    KILN_TRY_MEM(r->ctx, kn_push(r->arena, &r->field_list, f));
    return KILN_OK;
}

/* ---- attributes of formats ---- */

/* [0:4, 1:8:2] as the lists start_indices, limit_indices, strides */
static kiln_status ranges(kn_mreader *r)
{
    kn_lexer *lx = &r->lx;
    kn_mattr list[3] = {{0}};
    KN_VEC(kn_mattr) column[3] = {{0}};
    const char *at = lx->tok.at;
    KILN_TRY(kn_lex_want(lx, '['));
    while (!kn_lex_take(lx, ']')) {
        if (column[0].n) KILN_TRY(kn_lex_want(lx, ','));
        for (int k = 0; k < 3; k++) {
            kn_mattr v = {.kind = KN_MA_INT, .at = lx->tok.at, .i = 1};
            if (k == 1) KILN_TRY(kn_lex_want(lx, ':'));
            if (k < 2 || kn_lex_take(lx, ':')) KILN_TRY(kn_mread_number(r, &v));
            KILN_TRY_MEM(r->ctx, kn_push(r->arena, &column[k], v));
        }
    }
    static const char *const names[] = {"start_indices", "limit_indices", "strides"};
    for (int k = 0; k < 3; k++) {
        list[k] = (kn_mattr){.kind = KN_MA_LIST, .n = column[k].n, .at = at, .items = column[k].v};
        KILN_TRY(kn_mread_put(r, names[k], list[k]));
    }
    return KILN_OK;
}

static kiln_status text_token(kn_mreader *r, kn_token_kind token, const char *what, kn_mattr_kind kind, kn_mattr *out)
{
    if (r->lx.tok.kind != token) return kn_lex_expected(&r->lx, what);
    out->kind = kind;
    out->text = r->lx.tok.text;
    kn_lex_next(&r->lx);
    return KILN_OK;
}

static kiln_status attribute(kn_mreader *r, char kind, const char *name)
{
    kn_lexer *lx = &r->lx;
    kn_mattr a = {.kind = KN_MA_UNIT, .at = lx->tok.at};
    switch (kind) {
    case 'l': KILN_TRY(kn_mread_list(r, &a)); break;
    case 'i': KILN_TRY(kn_mread_number(r, &a)); break;
    case 'b':
        if (!kn_lex_word(lx, "true") && !kn_lex_word(lx, "false")) return kn_lex_expected(lx, "true or false");
        a.kind = KN_MA_BOOL;
        a.b = kn_lex_word(lx, "true");
        kn_lex_next(lx);
        break;
    case 'w': KILN_TRY(text_token(r, KN_T_WORD, "a word", KN_MA_WORD, &a)); break;
    case 's': KILN_TRY(text_token(r, KN_T_SYMBOL, "a symbol, as @name,", KN_MA_SYMBOL, &a)); break;
    case 'q': KILN_TRY(text_token(r, KN_T_STRING, "a name in quotes", KN_MA_STRING, &a)); break;
    case 'n':
        KILN_TRY(kn_lex_want(lx, '['));
        KILN_TRY(kn_mread_number(r, &a));
        KILN_TRY(kn_lex_want(lx, ']'));
        break;
    case 'r': return ranges(r);
    case 'c': KILN_TRY(kn_mread_conv_dims(r, &a)); break;
    case 'v': return kn_mread_window(r);
    case 'd':
        if (!kn_lex_is(lx, '<')) return kn_lex_expected(lx, "'<'");
        a.kind = KN_MA_DIALECT;
        KILN_TRY(kn_lex_balanced(lx, &a.text));
        break;
    default:
        if (kn_lex_is(lx, '{')) KILN_TRY(kn_mread_dict(r));
        KILN_TRY(kn_mread_elements(r, &a));
        break;
    }
    return kn_mread_put(r, name, a);
}

/* ---- formats ---- */

/* How long is the word or character of a format that stands for itself? */
static size_t literal_size(const char *f)
{
    size_t n = 0;
    while ((f[n] >= 'a' && f[n] <= 'z') || f[n] == '_') n++;
    return n ? n : 1;
}

static bool literal(kn_lexer *lx, const char *f, size_t n)
{
    if (*f < 'a') return kn_lex_take(lx, *f);
    if (lx->tok.kind != KN_T_WORD || !kn_span_same(lx->tok.text, (kn_span){f, n})) return false;
    kn_lex_next(lx);
    return true;
}

static bool is_literal(char c) { return c && !kn_is_one_of(c, "$<[]* "); }

/* Does what the group begins with stand here? */
static bool group_stands(const kn_mreader *r, const char *f)
{
    kn_lexer lx = r->lx;
    for (size_t n; ; f += n) {
        while (*f == ' ') f++;
        if (!is_literal(*f)) return true;
        n = literal_size(f);
        if (!literal(&lx, f, n)) return false;
    }
}

static kiln_status pairs(kn_mreader *r)
{
    while (kn_lex_take(&r->lx, ',')) {
        kn_mfield f = {.name = r->lx.tok.text, .value = {.kind = KN_MA_UNIT}};
        if (r->lx.tok.kind == KN_T_BLOCK) return kn_mread_refuse_branch(r);
        if (r->lx.tok.kind != KN_T_WORD) return kn_lex_expected(&r->lx, "an attribute's name");
        kn_lex_next(&r->lx);
        KILN_TRY(kn_lex_want(&r->lx, '='));
        if (r->lx.tok.kind == KN_T_INT || r->lx.tok.kind == KN_T_FLOAT) KILN_TRY(kn_mread_number(r, &f.value));
        else if (r->lx.tok.kind == KN_T_STRING) KILN_TRY(text_token(r, KN_T_STRING, "", KN_MA_STRING, &f.value));
        else KILN_TRY(kn_mread_attr(r, &f.value));
        KILN_TRY_MEM(r->ctx, kn_push(r->arena, &r->field_list, f));
    }
    return KILN_OK;
}

/* Operands; a comma is taken only where another operand follows it. */
static kiln_status operands(kn_mreader *r)
{
    while (r->lx.tok.kind == KN_T_VALUE) {
        KILN_TRY(kn_mread_operand(r));
        kn_lexer ahead = r->lx;
        if (!kn_lex_take(&ahead, ',') || ahead.tok.kind != KN_T_VALUE) break;
        r->lx = ahead;
    }
    return KILN_OK;
}

static kiln_status follow(kn_mreader *r, const char *f)
{
    for (; *f; f++) {
        if (*f == ' ' || *f == ']') continue;
        if (*f == '[') {
            if (!group_stands(r, f + 1)) f = strchr(f, ']');
        } else if (*f == '*') {
            KILN_TRY(pairs(r));
        } else if (*f == '$' && f[1] == '*') {
            KILN_TRY(operands(r));
            f++;
        } else if (*f == '$') {
            KILN_TRY(kn_mread_operand(r));
        } else if (*f == '<') {
            char kind = f[1], name[40];
            const char *end = strchr(f, '>');
            size_t n = (size_t)(end - f - 3);
            memcpy(name, f + 3, n);
            name[n] = 0;
            char *own = kn_arena_text(r->arena, name);
            KILN_TRY_MEM(r->ctx, own);
            KILN_TRY(attribute(r, kind, own));
            f = end;
        } else {
            size_t n = literal_size(f);
            if (!literal(&r->lx, f, n)) {
                char text[40] = "'";
                memcpy(text + 1, f, n);
                memcpy(text + 1 + n, "'", 2);
                return kn_lex_expected(&r->lx, text);
            }
            f += n - 1;
        }
    }
    return KILN_OK;
}

/* ---- signatures ---- */

/* Reads `(types) -> types` or `types -> types` or `types`; *nin is how many stand before the arrow, and UINT32_MAX without one. */
static kiln_status signature(kn_mreader *r, const kn_mtype *const **types, uint32_t *n, uint32_t *nin)
{
    uint32_t base = r->type_list.n;
    if (kn_lex_is(&r->lx, '(')) KILN_TRY(kn_mread_types_in_parens(r));
    else KILN_TRY(kn_mread_types(r));
    *nin = UINT32_MAX;
    if (r->lx.tok.kind == KN_T_ARROW) {
        *nin = r->type_list.n - base;
        kn_lex_next(&r->lx);
        if (kn_lex_is(&r->lx, '(')) KILN_TRY(kn_mread_types_in_parens(r));
        else KILN_TRY(kn_mread_types(r));
    }
    return kn_mtype_list(r, base, types, n);
}

kiln_status kn_mread_signature(kn_mreader *r, kn_mopened *o)
{
    const kn_mtype *const *types;
    uint32_t n, nin;
    KILN_TRY(kn_lex_want(&r->lx, ':'));
    if (!kn_lex_is(&r->lx, '(')) return kn_lex_expected(&r->lx, "'(' of the operands' types");
    KILN_TRY(signature(r, &types, &n, &nin));
    if (nin == UINT32_MAX) return kn_lex_expected(&r->lx, "'->'");
    KILN_TRY(kn_mread_check_types(r, o->op->at, r->ids.v + o->ids, r->ids.n - o->ids, types, nin));
    o->results = types + nin;
    o->nresults = n - nin;
    return KILN_OK;
}

/* The short signatures. */
static kiln_status apply(kn_mreader *r, kn_mopened *o, char mode, const kn_mtype *const *types, uint32_t n)
{
    const uint32_t *in = r->ids.v + o->ids;
    uint32_t nin = r->ids.n - o->ids;
    const char *at = o->op->at;
    if (mode == 'O' || (mode == 'A' && n != 1)) return kn_mread_check_types(r, at, in, nin, types, n);
    for (uint32_t i = 0; mode == 'A' && i < nin; i++) KILN_TRY(kn_mread_check_types(r, at, in + i, 1, types, 1));
    if (mode == 'A') return KILN_OK;
    if (mode == 'B') KILN_TRY(kn_mread_check_types(r, at, in, nin, types, n));
    if (mode == 'B' || mode == 'R') {
        o->results = types;
        o->nresults = n;
        return KILN_OK;
    }
    bool select = mode == 'P' && n == 2 && nin == 3;
    if (n != 1 && !select)
        return kn_source_fail(r->lx.src, at, KILN_INVALID, "type", "one type, or (types) -> types", "%.*s has %u types here", KN_SPAN_ARG(o->op->name), n);
    for (uint32_t i = 0; i < nin; i++) KILN_TRY(kn_mread_check_types(r, at, in + i, 1, &types[select && i > 0], 1));
    o->results = types + select;
    o->nresults = 1;
    return KILN_OK;
}

kiln_status kn_mread_pretty(kn_mreader *r, kn_mopened *o)
{
    kn_mop *op = o->op;
    if (kn_span_is(op->name, "stablehlo.reduce") && kn_lex_is(&r->lx, '(')) return kn_mread_reduce(r, o);
    if (kn_span_is(op->name, "stablehlo.while") && kn_lex_is(&r->lx, '(')) return kn_mread_while(r, o);
    if (r->lx.tok.kind == KN_T_BLOCK) return kn_mread_refuse_branch(r);
    const form *f = kn_mform_find(op->name);
    if (f->types == 'C' && kn_lex_is(&r->lx, '(')) f = &old_constant;
    KILN_TRY(follow(r, f->format));
    if (kn_lex_is(&r->lx, '{')) KILN_TRY(kn_mread_dict(r));
    if (f->types == 'C') {
        const kn_mattr *value = kn_mattr_find(r->field_list.v + o->fields, r->field_list.n - o->fields, "value");
        o->results = &value->type;
        o->nresults = r->ids.n == o->ids;
        if (o->nresults) {
            const kn_mtype **own = kn_arena_newn(r->arena, 1, sizeof *own);
            KILN_TRY_MEM(r->ctx, own);
            *own = value->type;
            o->results = own;
        } else KILN_TRY(kn_mread_check_types(r, op->at, r->ids.v + o->ids, 1, &value->type, 1));
        return KILN_OK;
    }
    if ((f->types == 'O' || f->types == 'A') && r->ids.n == o->ids && !kn_lex_is(&r->lx, ':')) return KILN_OK; /* a return of nothing */
    KILN_TRY(kn_lex_want(&r->lx, ':'));
    const kn_mtype *const *types;
    uint32_t n, nin;
    KILN_TRY(signature(r, &types, &n, &nin));
    if (nin == UINT32_MAX) return apply(r, o, f->types, types, n);
    KILN_TRY(kn_mread_check_types(r, op->at, r->ids.v + o->ids, r->ids.n - o->ids, types, nin));
    o->results = types + nin;
    o->nresults = n - nin;
    return KILN_OK;
}
