/* SPDX-License-Identifier: Apache-2.0 */
/* Computations of HLO text as functions and regions of a module's tree. */
#include "hlo/hread.h"

#include <stdarg.h>
#include <stdio.h>

#include "hlo/import.h"

kiln_status kn_hmake_fail(kn_hmake *m, const kn_htext_inst *i, kiln_status code, const char *fmt, ...)
{
    char text[KILN_DIAG_TEXT];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (m->x.status != KILN_OK) return m->x.status;
    kiln_status s = kn_source_fail(&m->h->src, i->at, code, code == KILN_UNSUPPORTED ? "unsupported" : "operation", NULL, "%.*s: %s", KN_SPAN_ARG(i->opcode), text);
    kn_xfail(&m->x, s);
    return s;
}

/* Instructions of the computation into the open block; parameters have their values. Gives those of the root. */
static const uint32_t *body(kn_hmake *m, const kn_htext_comp *c, const uint32_t *args)
{
    const kn_htext_comp *around = m->c;
    const uint32_t **at = m->at;
    uint32_t used = 0;
    if (++m->depth > KN_XDEEPEST) kn_hmake_fail(m, &c->inst.v[0], KILN_UNSUPPORTED, "computations are nested more than %d deep", KN_XDEEPEST);
    m->c = c;
    m->at = kn_arena_newn(m->h->arena, c->inst.n, sizeof *m->at);
    KN_XCHECK(&m->x, m->at);
    for (uint32_t k = 0; k < c->nparams && m->x.status == KILN_OK; k++) {
        m->at[c->params[k]] = args + used;
        used += c->inst.v[c->params[k]].shape->leaves;
    }
    for (uint32_t k = 0; k < c->inst.n && m->x.status == KILN_OK; k++) {
        const kn_htext_inst *i = &c->inst.v[k];
        if (kn_span_is(i->opcode, "parameter")) continue;
        uint32_t *out = KN_NEWN(m->h->arena, uint32_t, i->shape->leaves);
        KN_XCHECK(&m->x, out);
        if (m->x.status != KILN_OK) break;
        kn_hmake_inst(m, i, out);
        m->at[k] = out;
    }
    const uint32_t *root = m->x.status == KILN_OK ? m->at[c->root] : NULL;
    m->depth--;
    m->c = around;
    m->at = at;
    return root;
}

static kiln_type *types_of_params(kn_hmake *m, const kn_htext_comp *c, uint32_t *n)
{
    uint32_t all = 0;
    for (uint32_t k = 0; k < c->nparams; k++) all += c->inst.v[c->params[k]].shape->leaves;
    kiln_type *types = KN_NEWN(m->h->arena, kiln_type, all);
    KN_XCHECK(&m->x, types);
    *n = 0;
    for (uint32_t k = 0; types && k < c->nparams; k++) kn_htext_leaves(c->inst.v[c->params[k]].shape, types, n);
    return types;
}

static void calls_itself(kn_hmake *m, const kn_htext_inst *i, kn_span name)
{
    kn_hmake_fail(m, i, KILN_UNSUPPORTED, "the computation %.*s calls itself; write what repeats as a while", KN_SPAN_ARG(name));
}

void kn_hmake_region(kn_hmake *m, const kn_htext_inst *i, kn_mop *op, uint32_t k, uint32_t nregions, const char *key, kn_span name, const uint32_t *args,
                     uint32_t nargs)
{
    kn_htext_comp *c = kn_htext_find(m->h, name);
    uint32_t n = 0;
    if (!c) {
        kn_hmake_fail(m, i, KILN_INVALID, "%s names no computation of the module: %.*s", key, KN_SPAN_ARG(name));
        return;
    }
    if (c->making) {
        calls_itself(m, i, name);
        return;
    }
    if (m->x.depth >= KN_XDEEPEST) {
        kn_hmake_fail(m, i, KILN_UNSUPPORTED, "computations are nested more than %d deep", KN_XDEEPEST);
        return;
    }
    kiln_type *types = types_of_params(m, c, &n);
    if (m->x.status != KILN_OK) return;
    bool fits = !args || nargs == n;
    for (uint32_t a = 0; args && fits && a < n; a++) fits = kiln_type_equal(kn_xtype_of(&m->x, args[a]), types[a]);
    if (!fits) {
        kn_hmake_fail(m, i, KILN_INVALID, "%.*s is not given what its parameters are", KN_SPAN_ARG(name));
        return;
    }
    kn_xopen o = kn_xopen_region(&m->x, op, k, nregions, types, args ? 0 : n);
    uint32_t *own = KN_NEWN(m->h->arena, uint32_t, n);
    KN_XCHECK(&m->x, own);
    for (uint32_t a = 0; own && !args && a < n; a++) own[a] = o.arg + a;
    c->making = true;
    const uint32_t *root = m->x.status == KILN_OK ? body(m, c, args ? args : own) : NULL;
    c->making = false;
    kn_xclose(&m->x, o, root, c->inst.v[c->root].shape->leaves);
}

/* Numbers of computations are not part of their names; those of one name are told apart as JAX does it. */
static kn_span function_name(kn_hmake *m, const kn_htext_comp *c)
{
    kn_span own = c->entry ? kn_xspan("main") : c->name;
    size_t d = own.n;
    while (d > 1 && own.s[d - 1] >= '0' && own.s[d - 1] <= '9') d--;
    if (!c->entry && d > 1 && d < own.n && own.s[d - 1] == '.') own.n = d - 1;
    kn_span base = own;
    for (uint32_t k = 0; kn_mfunc_find(m->x.m, 0, own) && m->x.status == KILN_OK; k++) {
        char *s = kn_arena_printf(m->h->arena, "%.*s_%u", (int)base.n, base.s, k);
        KN_XCHECK(&m->x, s);
        if (s) own = kn_xspan(s);
    }
    return own;
}

const kn_mfunc *kn_hmake_function(kn_hmake *m, const kn_htext_inst *i, kn_span name)
{
    kn_htext_comp *c = kn_htext_find(m->h, name);
    if (!c) {
        kn_hmake_fail(m, i, KILN_INVALID, "there is no computation %.*s", KN_SPAN_ARG(name));
        return NULL;
    }
    if (c->made) return c->made;
    if (c->making) {
        calls_itself(m, i, name);
        return NULL;
    }
    c->making = true;
    uint32_t n = 0, nout = c->inst.v[c->root].shape->leaves, k = 0;
    kiln_type *types = types_of_params(m, c, &n), *results = KN_NEWN(m->h->arena, kiln_type, nout);
    kn_mfunc *f = KN_NEW(m->h->arena, kn_mfunc);
    kn_mattr *attrs = KN_NEWN(m->h->arena, kn_mattr, n + nout);
    const kn_mtype **out = kn_arena_newn(m->h->arena, nout, sizeof *out);
    uint32_t *args = KN_NEWN(m->h->arena, uint32_t, n);
    KN_XCHECK(&m->x, results && f && attrs && out && args);
    if (m->x.status != KILN_OK) return NULL;
    kn_htext_leaves(c->inst.v[c->root].shape, results, &k);
    for (k = 0; k < nout; k++) out[k] = kn_xtype(&m->x, results[k]);
    *f = (kn_mfunc){.name = function_name(m, c), .at = c->at, .line = 1, .is_private = !c->entry, .has_body = true, .nargs = n, .nresults = nout,
                    .results = out, .arg_attrs = attrs, .result_attrs = attrs + n};
    kn_xfail(&m->x, kn_mfunc_add(m->x.m, f));
    kn_export saved = kn_xenter(&m->x);
    kn_mop holder = {.name = {"", 0}};
    kn_xopen o = kn_xopen_region(&m->x, &holder, 0, 1, types, n);
    for (k = 0; k < n; k++) args[k] = o.arg + k;
    const uint32_t *root = m->x.status == KILN_OK ? body(m, c, args) : NULL;
    kn_xclose(&m->x, o, root, nout);
    if (m->x.status == KILN_OK) f->body = holder.regions[0];
    kn_xleave(&m->x, &saved, f);
    c->making = false;
    c->made = f;
    return f;
}

bool kn_hlo_text_is(const char *text, size_t n)
{
    const char *p = text, *end = text + n;
    for (;;) {
        while (p < end && kn_is_one_of(*p, " \t\r\n")) p++;
        if (end - p < 2 || p[0] != '/' || p[1] != '/') break;
        while (p < end && *p != '\n') p++;
    }
    return end - p > 9 && memcmp(p, "HloModule", 9) == 0;
}

kiln_status kn_hlo_text_parse(kiln_ctx *ctx, const char *text, size_t n, const char *file, kn_prog **out)
{
    kn_arena arena;
    kn_htext h;
    *out = NULL;
    kn_arena_init(&arena, &ctx->alloc);
    kiln_status s = kn_htext_read(ctx, &arena, text, n, file, &h);
    kn_mmodule *module = s == KILN_OK ? KN_NEW(&arena, kn_mmodule) : NULL;
    if (s == KILN_OK && !module) s = kn_nomem(ctx);
    if (s == KILN_OK) {
        *module = (kn_mmodule){.src = h.src, .arena = &arena, .nchunks = 1, .name = h.name};
        kn_hmake m = {.h = &h, .x = {.ctx = ctx, .arena = &arena, .m = module, .at = text, .line = 1}};
        const kn_mfunc *f = kn_hmake_function(&m, &h.entry->inst.v[0], h.entry->name);
        s = m.x.status;
        if (s == KILN_OK) s = kn_himport_function(module, f, NULL, out);
    }
    kn_arena_fini(&arena);
    return s;
}
