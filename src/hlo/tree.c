/* SPDX-License-Identifier: Apache-2.0 */
/* Modules and functions. */
#include "base/text.h"
#include "hlo/mread.h"

#include <stdio.h>

static uint32_t slot_of(const kn_mmodule *m, uint32_t chunk, kn_span name)
{
    uint32_t mask = m->n_func_table - 1, k = (uint32_t)(kn_span_hash(name) + chunk * 0x9e3779b9u) & mask;
    for (; m->func_table[k]; k = (k + 1) & mask) {
        const kn_mfunc *f = m->funcs.v[m->func_table[k] - 1];
        if (f->chunk == chunk && kn_span_same(f->name, name)) break;
    }
    return k;
}

const kn_mfunc *kn_mfunc_find(const kn_mmodule *m, uint32_t chunk, kn_span name)
{
    uint32_t k = m->n_func_table ? m->func_table[slot_of(m, chunk, name)] : 0;
    return k ? m->funcs.v[k - 1] : NULL;
}

kiln_status kn_mfunc_add(kn_mmodule *m, kn_mfunc *f)
{
    if (kn_mfunc_find(m, f->chunk, f->name))
        return kn_source_fail(&m->src, f->at, KILN_INVALID, "name", NULL, "there are two functions @%.*s", KN_SPAN_ARG(f->name));
    KILN_TRY_MEM(m->src.ctx, kn_push(m->arena, &m->funcs, f));
    f->index = m->funcs.n - 1;
    bool grow = 2 * m->funcs.n > m->n_func_table;
    if (grow) {
        m->n_func_table = m->n_func_table ? 2 * m->n_func_table : 16;
        KILN_TRY_MEM(m->src.ctx, m->func_table = KN_NEWN(m->arena, uint32_t, m->n_func_table));
    }
    for (uint32_t i = grow ? 0 : m->funcs.n - 1; i < m->funcs.n; i++)
        m->func_table[slot_of(m, m->funcs.v[i]->chunk, m->funcs.v[i]->name)] = i + 1;
    return KILN_OK;
}

/* ---- functions ---- */

/* (%arg0: type {attributes} loc, ..), or types only where there is no body */
static kiln_status read_args(kn_mreader *r, kn_mfunc *f)
{
    kn_lexer *lx = &r->lx;
    KN_VEC(kn_mattr) attrs = {0};
    KILN_TRY(kn_lex_want(lx, '('));
    while (!kn_lex_take(lx, ')')) {
        const kn_mtype *type;
        kn_mattr own;
        uint32_t id;
        if (f->nargs) KILN_TRY(kn_lex_want(lx, ','));
        kn_token name = lx->tok;
        bool named = name.kind == KN_T_VALUE;
        if (named) {
            kn_lex_next(lx);
            KILN_TRY(kn_lex_want(lx, ':'));
        }
        KILN_TRY(kn_mread_type(r, &type));
        KILN_TRY(kn_mread_value(r, type, named ? name.text : (kn_span){name.at, 0}, name.at, &id));
        if (named) KILN_TRY(kn_mread_bind(r, name.text, name.at, id, 1));
        KILN_TRY(kn_mread_dict_attr(r, &own));
        KILN_TRY(kn_mread_loc(r, &r->values.v[id].loc));
        KILN_TRY_MEM(r->ctx, kn_push(r->arena, &attrs, own));
        f->nargs++;
    }
    f->arg_attrs = attrs.v;
    return KILN_OK;
}

/* -> type, or -> (type {attributes}, ..) */
static kiln_status read_results(kn_mreader *r, kn_mfunc *f)
{
    kn_lexer *lx = &r->lx;
    KN_VEC(kn_mattr) attrs = {0};
    uint32_t base = r->type_list.n;
    if (lx->tok.kind != KN_T_ARROW) return KILN_OK;
    kn_lex_next(lx);
    if (kn_lex_take(lx, '(')) {
        for (bool any = false; !kn_lex_take(lx, ')'); any = true) {
            const kn_mtype *type;
            kn_mattr own;
            if (any) KILN_TRY(kn_lex_want(lx, ','));
            KILN_TRY(kn_mread_type(r, &type));
            KILN_TRY(kn_mread_dict_attr(r, &own));
            KILN_TRY_MEM(r->ctx, kn_push(r->arena, &r->type_list, type) && kn_push(r->arena, &attrs, own));
        }
    } else {
        kn_mattr none = {.kind = KN_MA_UNIT, .at = lx->tok.at};
        KILN_TRY(kn_mread_types(r));
        for (uint32_t i = base; i < r->type_list.n; i++) KILN_TRY_MEM(r->ctx, kn_push(r->arena, &attrs, none));
    }
    f->result_attrs = attrs.v;
    return kn_mtype_list(r, base, &f->results, &f->nresults);
}

/* The generic form: "func.func"() <{function_type = .., sym_name = ".."}> ({..}) : () -> () */
static kiln_status generic_func(kn_mreader *r, kn_mfunc *f)
{
    kn_lexer *lx = &r->lx;
    const kn_mfield *fields;
    uint32_t base = r->field_list.n, n;
    KILN_TRY(kn_lex_want(lx, '('));
    KILN_TRY(kn_lex_want(lx, ')'));
    if (kn_lex_take(lx, '<')) {
        KILN_TRY(kn_mread_dict(r));
        KILN_TRY(kn_lex_want(lx, '>'));
    }
    KILN_TRY(kn_lex_want(lx, '('));
    KILN_TRY(kn_mread_region(r, &f->body));
    KILN_TRY(kn_lex_want(lx, ')'));
    if (kn_lex_is(lx, '{')) KILN_TRY(kn_mread_dict(r));
    KILN_TRY(kn_lex_want(lx, ':'));
    const kn_mtype *ignored;
    KILN_TRY(kn_mread_type(r, &ignored));
    KILN_TRY(kn_mfield_list(r, base, &fields, &n));
    const kn_mattr *name = kn_mattr_find(fields, n, "sym_name"), *type = kn_mattr_find(fields, n, "function_type");
    if (!name || name->kind != KN_MA_STRING || !type || type->kind != KN_MA_TYPE || type->type->kind != KN_MT_FUNCTION)
        return kn_source_fail(lx->src, f->at, KILN_INVALID, "syntax", NULL, "a function needs sym_name and function_type");
    f->name = name->text;
    f->nargs = f->body.nargs;
    f->nresults = type->type->nresults;
    f->results = type->type->items + (type->type->n - f->nresults);
    f->has_body = true;
    kn_mattr *none = KN_NEWN(r->arena, kn_mattr, f->nargs + f->nresults); /* zero is UNIT */
    KILN_TRY_MEM(r->ctx, none);
    f->arg_attrs = none;
    f->result_attrs = none + f->nargs;
    const kn_mattr *own = kn_mattr_find(fields, n, "arg_attrs"), *results = kn_mattr_find(fields, n, "res_attrs");
    if (own && own->kind == KN_MA_LIST && own->n == f->nargs) f->arg_attrs = own->items;
    if (results && results->kind == KN_MA_LIST && results->n == f->nresults) f->result_attrs = results->items;
    return KILN_OK;
}

static kiln_status pretty_func(kn_mreader *r, kn_mfunc *f)
{
    kn_lexer *lx = &r->lx;
    if (kn_lex_take_word(lx, "private")) f->is_private = true;
    else if (!kn_lex_take_word(lx, "public")) kn_lex_take_word(lx, "nested");
    if (lx->tok.kind != KN_T_SYMBOL) return kn_lex_expected(lx, "a function's name, as @main,");
    f->name = lx->tok.text;
    kn_lex_next(lx);
    KILN_TRY(read_args(r, f));
    KILN_TRY(read_results(r, f));
    if (kn_lex_take_word(lx, "attributes")) {
        kn_mattr ignored;
        KILN_TRY(kn_mread_dict_attr(r, &ignored));
    }
    f->body = (kn_mregion){.args = 0, .nargs = f->nargs, .first = 0, .at = lx->tok.at};
    if (!kn_lex_is(lx, '{')) return KILN_OK;
    kn_lex_next(lx);
    if (lx->tok.kind == KN_T_BLOCK) { /* the entry block may be named */
        kn_lex_next(lx);
        KILN_TRY(kn_lex_want(lx, ':'));
    }
    KILN_TRY(kn_mread_ops(r, &f->body));
    KILN_TRY(kn_lex_want(lx, '}'));
    f->body.end = r->values.n;
    f->has_body = true;
    return KILN_OK;
}

static kiln_status read_func(kn_mreader *r, bool generic)
{
    kn_mfunc *f = KN_NEW(r->arena, kn_mfunc);
    const kn_mloc *loc;
    KILN_TRY_MEM(r->ctx, f);
    f->at = r->lx.tok.at;
    f->line = r->lx.tok.line;
    f->chunk = r->chunk;
    memset(&r->values, 0, sizeof r->values);
    uint32_t scope = kn_mread_scope(r);
    kn_lex_next(&r->lx);
    KILN_TRY(generic ? generic_func(r, f) : pretty_func(r, f));
    KILN_TRY(kn_mread_loc(r, &loc));
    kn_mread_leave(r, scope);
    f->values = r->values.v;
    f->nvalues = r->values.n;
    return kn_mfunc_add(r->module, f);
}

/* ---- modules ---- */

/* {-# dialect_resources: { builtin: { name: "0x..", .. } } #-}: every `name: "0x.."` in it is a resource */
static kiln_status read_file_metadata(kn_mreader *r)
{
    kn_lexer *lx = &r->lx;
    const char *begin = lx->tok.at;
    kn_lex_next(lx);
    while (lx->tok.kind != KN_T_CLOSE_FILE) {
        kn_token name = lx->tok;
        if (name.kind == KN_T_END || name.kind == KN_T_BAD)
            return kn_source_fail(lx->src, begin, KILN_INVALID, "syntax", NULL, "the text ends inside '{-#'");
        kn_lex_next(lx);
        if ((name.kind != KN_T_WORD && name.kind != KN_T_STRING) || !kn_lex_is(lx, ':')) continue;
        kn_lex_next(lx);
        if (lx->tok.kind != KN_T_STRING || lx->tok.text.n < 2 || memcmp(lx->tok.text.s, "0x", 2) != 0) continue;
        kn_mresource own = {name.text, {lx->tok.text.s + 2, lx->tok.text.n - 2}};
        KILN_TRY_MEM(r->ctx, kn_push(r->arena, &r->module->resources, own));
        kn_lex_next(lx);
    }
    kn_lex_next(lx);
    return KILN_OK;
}

/* #name = loc(..) or #name = attribute; !name = type */
static kiln_status read_alias(kn_mreader *r)
{
    kn_lexer *lx = &r->lx;
    kn_mfield f = {.name = lx->tok.text};
    bool type = lx->tok.kind == KN_T_BANG;
    kn_lex_next(lx);
    KILN_TRY(kn_lex_want(lx, '='));
    if (type) return kn_source_fail(lx->src, f.name.s, KILN_UNSUPPORTED, "unsupported", "types written out", "an alias of a type");
    if (kn_lex_word(lx, "loc")) {
        kn_mloc *alias;
        const kn_mloc *loc;
        KILN_TRY(kn_mread_loc(r, &loc));
        KILN_TRY(kn_mread_loc_alias(r, f.name, &alias));
        alias->child = loc;
        return KILN_OK;
    }
    KILN_TRY(kn_mread_attr(r, &f.value));
    KILN_TRY_MEM(r->ctx, kn_push(r->arena, &r->module->aliases, f));
    return KILN_OK;
}

/* An operation of another dialect beside the functions, as a mesh: skipped up to where the next one begins. */
static kiln_status skip_op(kn_mreader *r)
{
    kn_lexer *lx = &r->lx;
    uint32_t line = lx->tok.line;
    while (lx->tok.kind != KN_T_END && !kn_lex_is(lx, '}') && lx->tok.line == line) {
        kn_span skipped;
        bool opens = lx->tok.kind == KN_T_CHAR && kn_is_one_of(lx->tok.c, "<([{");
        if (opens) KILN_TRY(kn_lex_balanced(lx, &skipped));
        else kn_lex_next(lx);
    }
    return KILN_OK;
}

/* The serialized form of the dialect, printed: @main is a vhlo.func_v1. */
static kiln_status refuse_vhlo(const kn_mreader *r)
{
    return kn_source_fail(r->lx.src, r->lx.tok.at, KILN_UNSUPPORTED, "unsupported",
                          "StableHLO text: jax.jit(f).lower(*args).as_text(), or stablehlo-translate --deserialize of what was serialized",
                          "VHLO, the form in which StableHLO is serialized, is not read");
}

static kiln_status read_items(kn_mreader *r, bool inside);

static kiln_status read_module(kn_mreader *r)
{
    kn_lexer *lx = &r->lx;
    kn_mattr attrs = {.kind = KN_MA_UNIT};
    const kn_mloc *loc;
    kn_lex_next(lx);
    if (lx->tok.kind == KN_T_SYMBOL) {
        if (!r->module->name.n) r->module->name = lx->tok.text;
        kn_lex_next(lx);
    }
    if (kn_lex_take_word(lx, "attributes")) KILN_TRY(kn_mread_dict_attr(r, &attrs));
    if (r->module->attrs.kind == KN_MA_UNIT) r->module->attrs = attrs;
    KILN_TRY(kn_lex_want(lx, '{'));
    KILN_TRY(kn_mread_deeper(r));
    KILN_TRY(read_items(r, true));
    r->depth--;
    KILN_TRY(kn_lex_want(lx, '}'));
    return kn_mread_loc(r, &loc);
}

/* "builtin.module"() <{..}> ({..}) {..} : () -> () */
static kiln_status read_generic_module(kn_mreader *r)
{
    kn_lexer *lx = &r->lx;
    kn_mattr ignored;
    const kn_mtype *type;
    const kn_mloc *loc;
    kn_lex_next(lx);
    KILN_TRY(kn_lex_want(lx, '('));
    KILN_TRY(kn_lex_want(lx, ')'));
    if (kn_lex_take(lx, '<')) {
        KILN_TRY(kn_mread_dict_attr(r, &ignored));
        KILN_TRY(kn_lex_want(lx, '>'));
    }
    KILN_TRY(kn_lex_want(lx, '('));
    KILN_TRY(kn_lex_want(lx, '{'));
    if (lx->tok.kind == KN_T_BLOCK) {
        kn_lex_next(lx);
        KILN_TRY(kn_lex_want(lx, ':'));
    }
    KILN_TRY(kn_mread_deeper(r));
    KILN_TRY(read_items(r, true));
    r->depth--;
    KILN_TRY(kn_lex_want(lx, '}'));
    KILN_TRY(kn_lex_want(lx, ')'));
    KILN_TRY(kn_mread_dict_attr(r, &ignored));
    if (r->module->attrs.kind == KN_MA_UNIT) r->module->attrs = ignored;
    KILN_TRY(kn_lex_want(lx, ':'));
    KILN_TRY(kn_mread_type(r, &type));
    return kn_mread_loc(r, &loc);
}

/* A line "// -----" between `from` and `to` begins a new chunk. */
static bool split_between(const char *from, const char *to)
{
    for (const char *p = from; p < to; p++) {
        p = memchr(p, '/', (size_t)(to - p));
        if (!p) return false;
        if (to - p >= 8 && memcmp(p, "// -----", 8) == 0) return true;
        const char *line = memchr(p, '\n', (size_t)(to - p));
        if (!line) return false;
        p = line;
    }
    return false;
}

static kiln_status read_items(kn_mreader *r, bool inside)
{
    kn_lexer *lx = &r->lx;
    while (lx->tok.kind != KN_T_END && !(inside && kn_lex_is(lx, '}'))) {
        if (!inside && split_between(lx->tail, lx->tok.at)) r->chunk++;
        bool string = lx->tok.kind == KN_T_STRING;
        bool vhlo = (string || lx->tok.kind == KN_T_WORD) && lx->tok.text.n > 5 && memcmp(lx->tok.text.s, "vhlo.", 5) == 0;
        if (vhlo) return refuse_vhlo(r);
        if (kn_lex_word(lx, "module") || kn_lex_word(lx, "builtin.module")) KILN_TRY(read_module(r));
        else if (string && kn_span_is(lx->tok.text, "builtin.module")) KILN_TRY(read_generic_module(r));
        else if (kn_lex_word(lx, "func.func") || kn_lex_word(lx, "func")) KILN_TRY(read_func(r, false));
        else if (string && kn_span_is(lx->tok.text, "func.func")) KILN_TRY(read_func(r, true));
        else if (lx->tok.kind == KN_T_HASH || lx->tok.kind == KN_T_BANG) KILN_TRY(read_alias(r));
        else if (lx->tok.kind == KN_T_OPEN_FILE) KILN_TRY(read_file_metadata(r));
        else if (lx->tok.kind == KN_T_WORD && lx->tok.text.n > 4 && memcmp(lx->tok.text.s, "sdy.", 4) == 0) KILN_TRY(skip_op(r));
        else return kn_lex_expected(lx, inside ? "a function, func.func @name(..)," : "a module or a function");
    }
    return KILN_OK;
}

kiln_status kn_mlir_read(kiln_ctx *ctx, kn_arena *arena, const kn_packed *t, const char *file, kn_mmodule **out)
{
    *out = NULL;
    const char *text = t->text.s;
    size_t n = t->text.n;
    kn_source src = {ctx, file, text, n, t};
    if (n >= 4 && memcmp(text, "ML\xef" "R", 4) == 0)
        return kn_source_fail(&src, text, KILN_UNSUPPORTED, "unsupported", "text: jax.jit(f).lower(*args).as_text(), or exported.mlir_module()",
                              "this is MLIR bytecode");
    kn_mreader *r = KN_NEW(arena, kn_mreader);
    kn_mmodule *m = KN_NEW(arena, kn_mmodule);
    KILN_TRY_MEM(ctx, r && m);
    m->src = src;
    m->arena = arena;
    r->ctx = ctx;
    r->arena = arena;
    r->module = m;
    KILN_TRY_MEM(ctx, kn_reserve(arena, &r->ids, 64) && kn_reserve(arena, &r->field_list, 64));
    kn_lex_init(&r->lx, &m->src, text, text + n, 1);
    KILN_TRY(read_items(r, false));
    m->nchunks = r->chunk + 1;
    if (m->funcs.n == 0) return kn_source_fail(&m->src, text + n, KILN_INVALID, "syntax", NULL, "there is no function in this text");
    *out = m;
    return KILN_OK;
}
