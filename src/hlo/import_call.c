/* SPDX-License-Identifier: Apache-2.0 */
/* Functions, calls, the entry of a module, names and places. */
#include "array/size.h"
#include "hlo/import.h"

#include <stdio.h>

/* ---- locations ---- */

/* The scope and the file place of a location: the outermost name is `jit(f)/scope/add`, whose last part is the operation. */
static kiln_status resolve(kn_himport *h, const kn_mloc *l, const char **scope, kn_loc *loc, int depth)
{
    if (!l || depth > 64) return KILN_OK;
    switch (l->kind) {
    case KN_ML_UNKNOWN: return KILN_OK;
    case KN_ML_FILE:
        if (loc->line) return KILN_OK;
        char *file = kn_arena_textn(h->arena, l->text.s, l->text.n);
        KILN_TRY_MEM(h->ctx, file);
        KILN_TRY(kn_prog_file(h->ctx, h->prog, file, &loc->file));
        loc->line = l->line;
        loc->column = l->column;
        return KILN_OK;
    case KN_ML_NAME: {
        const char *slash = NULL;
        for (const char *p = l->text.s; p < l->text.s + l->text.n; p++)
            if (*p == '/') slash = p;
        if (slash && !**scope) KILN_TRY_MEM(h->ctx, *scope = kn_arena_textn(h->arena, l->text.s, (size_t)(slash - l->text.s)));
        return resolve(h, l->child, scope, loc, depth + 1);
    }
    default: return resolve(h, l->child, scope, loc, depth + 1);
    }
}

/* Sets the place of the equations that follow. */
static kiln_status place(kn_himport *h, const kn_mop *o)
{
    kn_loc loc = {0};
    const char *scope = "";
    KILN_TRY(resolve(h, o->loc, &scope, &loc, 0));
    if (*scope) KILN_TRY(kn_prog_scope(h->ctx, h->prog, scope, &h->b->scope));
    if (!loc.line) {
        const char *p = o->at;
        while (p > h->m->src.text && p[-1] != '\n') p--;
        loc = (kn_loc){h->file, o->line, (uint32_t)(o->at - p) + 1};
    }
    h->b->loc = loc;
    return KILN_OK;
}

/* Sizes, and what follows from them for every n (refine.c), are not counted out again: scalars are made as what they are, and shapes, which
 * operations take from refine.c, only where an operation uses one as an array (kn_hin). */
static kiln_status size(kn_himport *h, const kn_mop *o, bool *done)
{
    const kn_mknown *v = kn_hnumbers(h, o->out);
    kiln_type t;
    kn_atom y;
    *done = false;
    if (!v || o->nout != 1 || kn_span_is(o->name, "stablehlo.constant")) return KILN_OK;
    KILN_TRY(kn_hresult(h, o, 0, &t));
    for (uint32_t i = 0; t.rank && i < v->n; i++) *done = *done || kn_size_open(v->v[i]);
    if (t.rank) return KILN_OK;
    *done = true;
    KILN_TRY(kn_hsize(h, o, t.dtype, v->v[0], &y));
    return kn_hset(h, o, 0, y);
}

kiln_status kn_himport_op(kn_himport *h, const kn_mop *o)
{
    const kn_himporter *row = kn_himporter_find(o->name);
    bool done;
    if (!row) return kn_hunknown(h, o);
    KILN_TRY(place(h, o));
    KILN_TRY(size(h, o, &done));
    return done ? KILN_OK : row->fn(h, o, row);
}

/* ---- functions ---- */

typedef struct made {
    const kn_jaxpr *jaxpr; /* NULL while it is being made */
    bool has_checks;
} made;

typedef struct outer {
    const kn_mfunc *func;
    kn_hvalue *vals;
    uint32_t *mark, epoch;
} outer;

static kiln_status enter(kn_himport *h, const kn_mfunc *f, outer *saved)
{
    *saved = (outer){h->func, h->vals, h->mark, h->epoch};
    h->func = f;
    h->vals = KN_NEWN(h->arena, kn_hvalue, f->nvalues);
    h->mark = KN_NEWN(h->arena, uint32_t, f->nvalues);
    h->epoch = 0;
    KILN_TRY_MEM(h->ctx, h->vals && h->mark);
    return KILN_OK;
}
static void leave(kn_himport *h, const outer *saved)
{
    h->func = saved->func;
    h->vals = saved->vals;
    h->mark = saved->mark;
    h->epoch = saved->epoch;
}

bool kn_hregion_checks(const kn_mregion *r)
{
    for (const kn_mop *o = r->ops; o; o = o->next) {
        const kn_mattr *target = kn_span_is(o->name, "stablehlo.custom_call") ? kn_mop_attr(o, "call_target_name") : NULL;
        if (o->name.n > 6 && memcmp(o->name.s, "check.", 6) == 0) return true;
        if (target && target->text.n > 6 && memcmp(target->text.s, "check.", 6) == 0) return true;
        for (uint32_t i = 0; i < o->nregions; i++)
            if (kn_hregion_checks(&o->regions[i])) return true;
    }
    return false;
}

static kiln_status find_callee(kn_himport *h, const kn_mop *o, kn_span name, const kn_mfunc **out)
{
    const kn_mfunc *f = kn_mfunc_find(h->m, h->func->chunk, name);
    if (!f) return kn_hbad(h, o, "there is no function @%.*s", KN_SPAN_ARG(name));
    if (!f->has_body) return kn_hbad(h, o, "the function @%.*s has no body", KN_SPAN_ARG(name));
    if (f->nargs != o->nin) return kn_hbad(h, o, "@%.*s takes %u arguments, %u are given", KN_SPAN_ARG(name), f->nargs, o->nin);
    for (uint32_t i = 0; i < f->nargs; i++)
        if (!kn_mtype_same(f->values[i].type, h->func->values[o->in[i]].type))
            return kn_hbad(h, o, "argument %u of @%.*s is %.*s, but %.*s is given", i, KN_SPAN_ARG(name), KN_SPAN_ARG(f->values[i].type->text),
                           KN_SPAN_ARG(h->func->values[o->in[i]].type->text));
    *out = f;
    return KILN_OK;
}

static kiln_status check_results(kn_himport *h, const kn_mfunc *f)
{
    const kn_mop *last = f->body.ops;
    while (last && last->next) last = last->next;
    if (!last) return kn_source_fail(&h->m->src, f->at, KILN_INVALID, "operation", NULL, "the function @%.*s is empty", KN_SPAN_ARG(f->name));
    bool good = last->nin == f->nresults;
    for (uint32_t i = 0; good && i < f->nresults; i++) good = kn_mtype_same(f->values[last->in[i]].type, f->results[i]);
    if (good) return KILN_OK;
    return kn_source_fail(&h->m->src, last->at, KILN_INVALID, "type", NULL, "what is returned does not have the types that @%.*s promises",
                          KN_SPAN_ARG(f->name));
}

/* The body of a function: made once, shared by its calls. */
static kiln_status function(kn_himport *h, const kn_mop *o, kn_mfunc *f, const kn_jaxpr **out)
{
    made *m = f->made;
    if (m) {
        if (!m->jaxpr) return kn_hrefuse(h, o, "stablehlo.while", "the function @%.*s calls itself", KN_SPAN_ARG(f->name));
        *out = m->jaxpr;
        return KILN_OK;
    }
    KILN_TRY_MEM(h->ctx, m = f->made = KN_NEW(h->arena, made));
    KILN_TRY(check_results(h, f));
    outer saved;
    KILN_TRY(enter(h, f, &saved));
    KILN_TRY(kn_hregion(h, &f->body, NULL, 0, out));
    leave(h, &saved);
    m->jaxpr = *out;
    return KILN_OK;
}

kiln_status kn_hbody_named(kn_himport *h, const kn_mop *o, kn_span name, const kn_jaxpr **out)
{
    const kn_mfunc *f = kn_mfunc_find(h->m, h->func->chunk, name);
    if (!f) return kn_hbad(h, o, "there is no function @%.*s", KN_SPAN_ARG(name));
    if (!f->has_body) return kn_hbad(h, o, "the function @%.*s has no body", KN_SPAN_ARG(name));
    return function(h, o, h->m->funcs.v[f->index], out);
}

/* A function with checks is read into its caller, so that what it compares can be a result of the program. */
static kiln_status inlined(kn_himport *h, const kn_mop *o, const kn_mfunc *f)
{
    outer saved;
    kn_hvalue *args = KN_NEWN(h->arena, kn_hvalue, f->nargs);
    kn_hatoms results = {0};
    KILN_TRY_MEM(h->ctx, args);
    for (uint32_t i = 0; i < f->nargs; i++) args[i] = h->vals[o->in[i]];
    KILN_TRY(check_results(h, f));
    KILN_TRY(enter(h, f, &saved));
    for (uint32_t i = 0; i < f->nargs; i++) h->vals[i] = args[i];
    KILN_TRY(kn_hinline(h, &f->body, &results));
    leave(h, &saved);
    return kn_hset_flat(h, o, results.v, results.n);
}

kiln_status kn_hcall(kn_himport *h, const kn_mop *o, kn_span callee)
{
    const kn_mfunc *f = NULL;
    const kn_jaxpr *body;
    kn_hatoms in = {0};
    KILN_TRY(find_callee(h, o, callee, &f));
    if (h->checks && kn_hregion_checks(&f->body)) return inlined(h, o, f);
    KILN_TRY(function(h, o, h->m->funcs.v[f->index], &body));
    for (uint32_t i = 0; i < o->nin; i++) KILN_TRY(kn_hin_flat(h, o, i, &in));
    kn_atom *out = KN_NEWN(h->arena, kn_atom, body->nout);
    kn_param params[16];
    const char *name = kn_arena_textn(h->arena, callee.s, callee.n);
    KILN_TRY_MEM(h->ctx, out && name);
    for (uint32_t i = 0; i < kn_prim_jit.nparams; i++) {
        const kn_param_spec *spec = &kn_prim_jit.params[i];
        params[i] = spec->kind == KN_P_JAXPR ? KN_JAXPR(body) : strcmp(spec->name, "name") == 0 ? KN_TEXT(name) : KN_NONE;
    }
    KILN_TRY(kn_heqn(h, o, &kn_prim_jit, params, in.v, in.n, out, body->nout));
    return kn_hset_flat(h, o, out, body->nout);
}

/* ---- the program ---- */

/* A name that says something: that of the location, or the value's where it is not arg0, 0, .. */
static kiln_status input_name(kn_himport *h, const kn_mvalue *v, const char **out)
{
    const kn_mloc *l = v->loc;
    for (int i = 0; i < 64 && l && l->kind == KN_ML_ALIAS; i++) l = l->child;
    kn_span s = v->name;
    if (l && l->kind == KN_ML_NAME) {
        KILN_TRY_MEM(h->ctx, *out = kn_arena_textn(h->arena, l->text.s, l->text.n));
        return KILN_OK;
    }
    const char *p = s.s, *end = s.s + s.n;
    if (s.n > 3 && memcmp(p, "arg", 3) == 0) p += 3;
    while (p < end && *p >= '0' && *p <= '9') p++;
    if (p == end) s.n = 0;
    return kn_mattr_text(h->m, s, out);
}

static kiln_status name_ends(kn_himport *h, const kn_mfunc *f)
{
    kn_arena *arena = &h->prog->arena;
    const char **in = kn_arena_newn(arena, f->nargs, sizeof *in), **out = kn_arena_newn(arena, f->nresults, sizeof *out);
    KILN_TRY_MEM(h->ctx, in && out);
    for (uint32_t i = 0; i < f->nargs; i++) {
        KILN_TRY(input_name(h, &f->values[i], &in[i]));
        KILN_TRY_MEM(h->ctx, in[i] = kn_arena_text(arena, in[i]));
    }
    for (uint32_t i = 0; i < f->nresults; i++) {
        const kn_mattr *a = f->result_attrs[i].kind == KN_MA_DICT ? kn_mattr_find(f->result_attrs[i].fields, f->result_attrs[i].n, "jax.result_info") : NULL;
        out[i] = "";
        if (a && a->kind == KN_MA_STRING) KILN_TRY(kn_mattr_text(h->m, a->text, &out[i]));
        KILN_TRY_MEM(h->ctx, out[i] = kn_arena_text(arena, out[i]));
    }
    h->prog->in_names = in;
    if (!h->checks) h->prog->out_names = out;
    return KILN_OK;
}

static kiln_status ends_are_arrays(kn_himport *h, const kn_mfunc *f)
{
    for (uint32_t i = 0; i < f->nargs + f->nresults; i++) {
        const kn_mtype *t = i < f->nargs ? f->values[i].type : f->results[i - f->nargs];
        if (t->kind == KN_MT_TENSOR && t->known && !t->dynamic && kiln_type_size(t->type) >= 0) continue;
        bool quantized = kn_span_holds(t->text, "!quant");
        bool large = t->kind == KN_MT_TENSOR && t->known && !t->dynamic;
        const char *accepted = quantized    ? "the same program in floating point"
                               : large      ? "a tensor that fits in memory"
                               : t->dynamic ? "tensors of a fixed shape, or jaxpr text: its leading dimension may be left open, f32[n,64]"
                                            : "tensors of a fixed shape";
        return kn_source_fail(&h->m->src, f->at, KILN_UNSUPPORTED, "unsupported", accepted, "%s %u of @%.*s is %.*s%s",
                              i < f->nargs ? "argument" : "result", i < f->nargs ? i : i - f->nargs, KN_SPAN_ARG(f->name), KN_SPAN_ARG(t->text),
                              quantized ? "; quantized types are not supported" : t->dynamic ? "; dynamic shapes are not supported" : large ? ", larger than memory" : "");
    }
    return KILN_OK;
}

kiln_status kn_himport_function(kn_mmodule *m, const kn_mfunc *f, kn_hchecks *checks, kn_prog **out)
{
    kiln_ctx *ctx = m->src.ctx;
    kn_build b;
    kn_hwritten written = {0};
    kn_himport h = {.ctx = ctx, .arena = m->arena, .m = m, .b = &b, .written = &written, .checks = checks};
    kn_hatoms results = {0};
    outer saved;
    *out = NULL;
    for (uint32_t i = 0; i < m->funcs.n; i++) m->funcs.v[i]->made = NULL;
    KILN_TRY(ends_are_arrays(&h, f));
    KILN_TRY(kn_prog_new(ctx, NULL, &h.prog));
    kn_build_init(&b, ctx, h.prog);
    kiln_status s = kn_prog_file(ctx, h.prog, m->src.file, &h.file);
    h.prog->own_file = h.file;
    if (s == KILN_OK && m->name.n) s = kn_mattr_text(m, m->name, &h.prog->name);
    if (s == KILN_OK && h.prog->name && !h.prog->name[0]) h.prog->name = NULL; /* it begins with a NUL */
    if (s == KILN_OK && h.prog->name && !(h.prog->name = kn_arena_text(&h.prog->arena, h.prog->name))) s = kn_nomem(ctx);
    if (s == KILN_OK) s = check_results(&h, f);
    if (s == KILN_OK) s = enter(&h, f, &saved);
    for (uint32_t i = 0; s == KILN_OK && i < f->nargs; i++) {
        h.vals[i].kind = KN_H_ARRAY;
        s = kn_build_input(&b, f->values[i].type->type, &h.vals[i].atom);
    }
    if (s == KILN_OK) s = kn_hinline(&h, &f->body, &results);
    if (s == KILN_OK && checks) results.v = checks->atoms.v, results.n = checks->atoms.n;
    if (s == KILN_OK) s = name_ends(&h, f);
    if (s == KILN_OK) s = kn_hwrote(&h);
    if (s == KILN_OK) s = kn_build_finish(&b, results.v, results.n, &h.prog->main);
    if (s == KILN_OK) *out = h.prog;
    else kiln_prog_release(h.prog);
    return s;
}

/* @main, or the only function that is not private, or the only one. */
static kiln_status entry(const kn_mmodule *m, const kn_mfunc **out)
{
    const kn_mfunc *found = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->funcs.n; i++)
        if (kn_span_is(m->funcs.v[i]->name, "main") && m->funcs.v[i]->has_body) {
            *out = m->funcs.v[i];
            return KILN_OK;
        }
    for (uint32_t i = 0; i < m->funcs.n; i++)
        if (m->funcs.v[i]->has_body && (!m->funcs.v[i]->is_private || m->funcs.n == 1)) found = m->funcs.v[i], n++;
    if (n == 1) {
        *out = found;
        return KILN_OK;
    }
    return kn_source_fail(&m->src, m->funcs.v[0]->at, KILN_INVALID, "entry", "a function @main, or one public function", "the module has no @main and %u public functions", n);
}

kiln_status kn_hlo_parse_packed(kiln_ctx *ctx, const kn_packed *text, const char *file, kn_prog **out)
{
    kn_arena arena;
    kn_mmodule *m;
    const kn_mfunc *f = NULL;
    *out = NULL;
    kn_arena_init(&arena, &ctx->alloc);
    kiln_status s = kn_mlir_read(ctx, &arena, text, file, &m);
    if (s == KILN_OK) s = kn_hone_replica(m);
    if (s == KILN_OK) s = entry(m, &f);
    if (s == KILN_OK) s = kn_hrefine(m, f);
    if (s == KILN_OK) s = kn_himport_function(m, f, NULL, out);
    kn_arena_fini(&arena);
    return s;
}

kiln_status kn_hlo_parse(kiln_ctx *ctx, const char *text, size_t n, const char *file, kn_prog **out)
{
    kn_packed t = kn_packed_text(text, n);
    return kn_hlo_parse_packed(ctx, &t, file, out);
}

/* #name = .. or !name = ..: an alias. A comment of YAML looks otherwise. */
static bool is_alias(const char *p, const char *end)
{
    if (p >= end || (*p != '#' && *p != '!')) return false;
    const char *name = ++p;
    while (p < end && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || *p == '_' || *p == '.' || *p == '$')) p++;
    if (p == name) return false;
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    return p < end && *p == '=';
}

bool kn_hlo_is(const char *text, size_t n)
{
    static const char *const words[] = {"module", "func.func", "func @", "builtin.module", "\"builtin.module\"", "\"func.func\"", "vhlo.", "\"vhlo.",
                                        "ML\xef\x52"};
    const char *p = text, *end = text + n;
    for (;;) {
        while (p < end && kn_is_one_of(*p, " \t\r\n")) p++;
        if (end - p < 2 || p[0] != '/' || p[1] != '/') break;
        while (p < end && *p != '\n') p++;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t k = strlen(words[i]);
        if ((size_t)(end - p) >= k && memcmp(p, words[i], k) == 0) return true;
    }
    return is_alias(p, end);
}
