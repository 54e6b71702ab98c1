/* SPDX-License-Identifier: Apache-2.0 */
/* Traces: life, values, inputs and outputs, scopes and places, the sticky error. */
#include "trace/trace.h"

#include "base/fpmode.h"
#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* Rank 0, yet safe to index: callers of a failed trace may look at the extents of what they asked for. */
static const int64_t no_dims[8];
static const kn_tval bad = {.kind = KN_T_BAD, .type = {KILN_F32, 0, no_dims}};

/* ---- the error ---- */

static void keep_error(kiln_trace *t)
{
    t->failed = true;
    t->error = t->ctx->error;
}

void kn_tfail(kiln_trace *t, kiln_status code, const char *accepted, kn_site site, const char *fmt, ...)
{
    if (t->failed) return;
    char text[KILN_DIAG_TEXT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    kn_fail_at(t->ctx, code, "trace", (kn_place){.file = site.file, .line = site.line}, accepted, "%s", text);
    if (t->place_file) kn_note(t->ctx, "while tracing %s:%u:%u", t->place_file, t->place.line, t->place.column);
    keep_error(t);
}

void kn_tstatus(kiln_trace *t, kiln_status s, kn_site site)
{
    if (s == KILN_OK || t->failed) return;
    kiln_diag *d = &t->ctx->error;
    if (d->code == KILN_OK) kn_fail(t->ctx, s, "%s", kiln_status_name(s));
    if (!d->file[0] && site.file) {
        snprintf(d->file, sizeof d->file, "%s", site.file);
        d->line = site.line;
        snprintf(d->kind, sizeof d->kind, "trace");
    }
    if (t->place_file) kn_note(t->ctx, "while tracing %s:%u:%u", t->place_file, t->place.line, t->place.column);
    keep_error(t);
}

void kiln_trace_fail(kiln_trace *t, kiln_status code, const char *message)
{
    kn_tfail(t, code == KILN_OK ? KILN_INVALID : code, NULL, (kn_site){0}, "%s", message);
}

bool kiln_trace_ok(const kiln_trace *t) { return !t->failed; }

const char *kn_tshow(const kiln_trace *t, kiln_val v, kn_type_text *buffer)
{
    const kn_tval *x = kn_tval_of(t, v);
    if (x->kind == KN_T_BAD) {
        snprintf(buffer->s, sizeof buffer->s, "no value");
    } else if (x->kind == KN_T_NUMBER) {
        char number[40];
        kn_double_repr(x->value.f, number);
        snprintf(buffer->s, sizeof buffer->s, "the number %s", number);
    } else {
        *buffer = kn_type_show(x->type);
    }
    return buffer->s;
}

/* ---- life ---- */

kiln_status kiln_trace_begin(kiln_ctx *ctx, kiln_trace **out)
{
    *out = NULL;
    kiln_trace *t = kn_new(&ctx->alloc, sizeof *t);
    KILN_TRY_MEM(ctx, t);
    t->ctx = ctx;
    kiln_status s = kn_prog_new(ctx, NULL, &t->prog);
    if (s != KILN_OK) {
        kn_free(&ctx->alloc, t, sizeof *t);
        return s;
    }
    kn_arena_init(&t->arena, &ctx->alloc);
    kn_build_init(&t->root.b, ctx, t->prog);
    t->frame = &t->root;
    *out = t;
    return KILN_OK;
}

void kiln_trace_cancel(kiln_trace *t)
{
    if (!t) return;
    kn_alloc alloc = t->ctx->alloc;
    kiln_prog_release(t->prog);
    kn_arena_fini(&t->arena);
    kn_free(&alloc, t, sizeof *t);
}

static kiln_status name_list(kiln_trace *t, const char *const *from, uint32_t n, const char *const **out)
{
    const char **names = KN_NEWN(&t->prog->arena, const char *, n);
    KILN_TRY_MEM(t->ctx, names);
    for (uint32_t i = 0; i < n; i++) KILN_TRY_MEM(t->ctx, names[i] = kn_arena_text(&t->prog->arena, from[i]));
    *out = names;
    return KILN_OK;
}

static kiln_status close_program(kiln_trace *t)
{
    kn_atom *outs = KN_NEWN(&t->arena, kn_atom, t->outs.n);
    KILN_TRY_MEM(t->ctx, outs);
    for (uint32_t i = 0; i < t->outs.n; i++)
        if (!kn_tatom(t, &t->root, t->outs.v[i], &outs[i])) return t->error.code;
    KILN_TRY(kn_build_finish(&t->root.b, outs, t->outs.n, &t->prog->main));
    KILN_TRY(name_list(t, t->in_names.v, t->in_names.n, &t->prog->in_names));
    KILN_TRY(name_list(t, t->out_names.v, t->out_names.n, &t->prog->out_names));
    return kn_verify(t->ctx, t->prog);
}

kiln_status kiln_trace_finish(kiln_trace *t, kiln_prog **out)
{
    *out = NULL;
    if (t->scopes.n)
        kn_tfail(t, KILN_INVALID, NULL, (kn_site){0}, "scope '%s' is still open at the end of the trace",
                 t->scopes.v[t->scopes.n - 1].path);
    if (!t->failed) kn_tstatus(t, close_program(t), (kn_site){0});
    kiln_status s = t->failed ? t->error.code : KILN_OK;
    if (t->failed) {
        t->ctx->error = t->error;
    } else {
        t->ctx->counters.traces++;
        *out = t->prog;
        t->prog = NULL;
    }
    kiln_trace_cancel(t);
    return s;
}

/* ---- values ---- */

const kn_tval *kn_tval_of(const kiln_trace *t, kiln_val v) { return v.id && v.id <= t->vals.n ? &t->vals.v[v.id - 1] : &bad; }

kiln_val kn_tval_new(kiln_trace *t, kn_tval v)
{
    if (t->failed) return (kiln_val){0};
    if (!v.type.dims) v.type.dims = no_dims;
    if (t->vals.n == UINT32_MAX || !kn_push(&t->arena, &t->vals, v)) {
        kn_tstatus(t, kn_nomem(t->ctx), (kn_site){0});
        return (kiln_val){0};
    }
    return (kiln_val){t->vals.n};
}

kiln_val kn_tval_variable(kiln_trace *t, kn_tframe *f, kn_atom atom)
{
    return kn_tval_new(t, (kn_tval){.kind = KN_T_VARIABLE, .type = kn_build_type(&f->b, atom), .atom = atom, .frame = f});
}

kiln_val kn_tval_literal(kiln_trace *t, kiln_dtype d, kn_scalar value)
{
    kn_fpmode mode = kn_fpmode_enter();
    value = kn_scalar_round(d, value);
    kn_fpmode_leave(mode);
    return kn_tval_new(t, (kn_tval){.kind = KN_T_LITERAL, .type = {.dtype = d}, .value = value});
}

static bool frame_is_open(const kiln_trace *t, const kn_tframe *f)
{
    for (const kn_tframe *g = t->frame; g; g = g->outer)
        if (g == f) return true;
    return false;
}

bool kn_tvals_usable(kiln_trace *t, const char *op, const kiln_val *v, uint32_t n, kn_site site)
{
    if (t->failed) return false;
    for (uint32_t i = 0; i < n; i++) {
        const kn_tval *x = kn_tval_of(t, v[i]);
        if (x->kind == KN_T_BAD) {
            kn_tfail(t, KILN_INVALID, "values of this trace", site, "%s: operand %u is no value", op, i + 1);
            return false;
        }
        if (x->kind == KN_T_VARIABLE && !frame_is_open(t, x->frame)) {
            kn_tfail(t, KILN_INVALID, "results of the loop or branch, or values made outside it", site,
                     "%s: operand %u (%s) belongs to a body that has ended", op, i + 1, kn_type_show(x->type).s);
            return false;
        }
    }
    return true;
}

/* Can a number stand for an element of type d? */
static bool fits_exactly(double v, kiln_dtype d, kn_scalar *out)
{
    char kind = kiln_dtype_kind(d);
    *out = (kn_scalar){.f = v};
    if (kind == 'f') return true;
    if (kind == 'c') {
        *out = (kn_scalar){.c = {v, 0}};
        return true;
    }
    if (v != floor(v) || fabs(v) > 9007199254740992.0) return false;
    if (kind == 'b') {
        *out = (kn_scalar){.b = v != 0};
        return v == 0 || v == 1;
    }
    if (kind == 'u') {
        *out = (kn_scalar){.u = v >= 0 ? (uint64_t)v : 0};
        return v >= 0 && kn_scalar_round(d, *out).u == out->u;
    }
    *out = (kn_scalar){.i = (int64_t)v};
    return kind == 'i' && kn_scalar_round(d, *out).i == out->i;
}

bool kn_tnumber_fits(double v, kiln_dtype d, kn_scalar *out)
{
    kn_fpmode mode = kn_fpmode_enter();
    bool fits = fits_exactly(v, d, out);
    kn_fpmode_leave(mode);
    return fits;
}

kiln_val kn_tval_adopt(kiln_trace *t, const char *op, kiln_val v, kiln_dtype d, kn_site site)
{
    const kn_tval *x = kn_tval_of(t, v);
    if (x->kind != KN_T_NUMBER) return v;
    kn_scalar s;
    if (!kn_tnumber_fits(x->value.f, d, &s)) {
        kn_type_text text;
        kn_tfail(t, KILN_DTYPE, "a number of that type, or kiln_convert on the other operand", site, "%s: %s is no %s", op,
                 kn_tshow(t, v, &text), kiln_dtype_name(d));
        return (kiln_val){0};
    }
    return kn_tval_literal(t, d, s);
}

/* ---- captures ---- */

static uint32_t slot_of(const kn_tframe *f, uint32_t id)
{
    uint32_t at = (id * 2654435769u) & (f->n_slots - 1);
    while (f->slots[at] && f->captured.v[f->slots[at] - 1].id != id) at = (at + 1) & (f->n_slots - 1);
    return at;
}

static bool grow_slots(kiln_trace *t, kn_tframe *f)
{
    if (2 * (f->captured.n + 1) <= f->n_slots) return true;
    uint32_t n = f->n_slots ? 2 * f->n_slots : 16;
    uint32_t *slots = KN_NEWN(&t->arena, uint32_t, n);
    if (!slots) return false;
    f->slots = slots;
    f->n_slots = n;
    for (uint32_t i = 0; i < f->captured.n; i++) slots[slot_of(f, f->captured.v[i].id)] = i + 1;
    return true;
}

static kiln_status capture(kiln_trace *t, kn_tframe *f, kiln_val v, kn_atom *out)
{
    KILN_TRY_MEM(t->ctx, grow_slots(t, f));
    uint32_t at = slot_of(f, v.id);
    if (f->slots[at]) {
        *out = f->captured_atoms.v[f->slots[at] - 1];
        return KILN_OK;
    }
    KILN_TRY(kn_build_input(&f->b, kn_tval_of(t, v)->type, out));
    KILN_TRY_MEM(t->ctx, kn_push(&t->arena, &f->captured, v) && kn_push(&t->arena, &f->captured_atoms, *out));
    f->slots[at] = f->captured.n;
    return KILN_OK;
}

bool kn_tatom(kiln_trace *t, kn_tframe *f, kiln_val v, kn_atom *out)
{
    *out = 0;
    if (t->failed) return false;
    const kn_tval *x = kn_tval_of(t, v);
    kiln_status s = KILN_OK;
    if (x->kind == KN_T_LITERAL) {
        kn_fpmode mode = kn_fpmode_enter();
        s = kn_build_literal(&f->b, x->type.dtype, x->value, out);
        kn_fpmode_leave(mode);
    } else if (x->kind == KN_T_VARIABLE && x->frame == f) *out = x->atom;
    else if (kn_topen_refused(t, "a body", &v, 1, (kn_site){0})) return false;
    else if (x->kind == KN_T_VARIABLE) s = capture(t, f, v, out);
    else s = kn_fail(t->ctx, KILN_INTERNAL, "a value without a type reached an equation");
    kn_tstatus(t, s, (kn_site){0});
    return !t->failed;
}

/* ---- inputs, outputs, constants ---- */

static const char *name_or_empty(const char *name) { return name ? name : ""; }

kiln_val kiln_input_at(kiln_trace *t, const char *name, kiln_type type, const char *file, int line)
{
    kn_site site = {file, line};
    name = name_or_empty(name);
    if (t->failed) return (kiln_val){0};
    if (t->frame != &t->root) {
        kn_tfail(t, KILN_INVALID, "kiln_input before the loop or branch; its value may be used inside", site,
                 "input '%s' inside a body", name);
        return (kiln_val){0};
    }
    if (kiln_type_size(type) < 0) {
        kn_tfail(t, KILN_SHAPE, "extents of 0 and more whose product fits in 63 bits", site, "input '%s' has type %s", name,
                 kn_type_show(type).s);
        return (kiln_val){0};
    }
    kn_atom a;
    const char *copy = kn_arena_text(&t->arena, name);
    kiln_status s = copy && kn_push(&t->arena, &t->in_names, copy) ? kn_build_input(&t->root.b, type, &a) : kn_nomem(t->ctx);
    kn_tstatus(t, s, site);
    return t->failed ? (kiln_val){0} : kn_tval_variable(t, &t->root, a);
}

void kiln_output_at(kiln_trace *t, const char *name, kiln_val v, const char *file, int line)
{
    kn_site site = {file, line};
    name = name_or_empty(name);
    if (t->failed) return;
    if (t->frame != &t->root) {
        kn_tfail(t, KILN_INVALID, "kiln_output after the loop or branch", site, "output '%s' inside a body", name);
        return;
    }
    if (kn_tval_of(t, v)->kind == KN_T_NUMBER) {
        kn_type_text text;
        kn_tfail(t, KILN_DTYPE, "kiln_scalar, which gives a number a type", site, "output '%s' is %s, without a type", name,
                 kn_tshow(t, v, &text));
        return;
    }
    char op[80];
    snprintf(op, sizeof op, "output '%.60s'", name);
    if (!kn_tvals_usable(t, op, &v, 1, site)) return;
    const char *copy = kn_arena_text(&t->arena, name);
    if (!copy || !kn_push(&t->arena, &t->out_names, copy) || !kn_push(&t->arena, &t->outs, v))
        kn_tstatus(t, kn_nomem(t->ctx), site);
}

kiln_val kiln_const_at(kiln_trace *t, kiln_array *value, const char *file, int line)
{
    kn_site site = {file, line};
    if (t->failed) return (kiln_val){0};
    if (!value) {
        kn_tfail(t, KILN_INVALID, "an array", site, "a constant without an array");
        return (kiln_val){0};
    }
    for (uint32_t i = 0; i < t->consts.n; i++)
        if (t->root.b.consts.v[i] == value) return t->consts.v[i];
    kn_atom a;
    kn_tstatus(t, kn_build_const(&t->root.b, value, &a), site);
    if (t->failed) return (kiln_val){0};
    kiln_val v = kn_tval_variable(t, &t->root, a);
    if (!t->failed && !kn_push(&t->arena, &t->consts, v)) kn_tstatus(t, kn_nomem(t->ctx), site);
    return v;
}

kiln_val kiln_num(kiln_trace *t, double v)
{
    return kn_tval_new(t, (kn_tval){.kind = KN_T_NUMBER, .type = {.dtype = KILN_F64}, .value = {.f = v}});
}

kiln_val kiln_scalar_at(kiln_trace *t, kiln_dtype dtype, double v, const char *file, int line)
{
    kn_scalar s;
    if (kn_tnumber_fits(v, dtype, &s)) return kn_tval_literal(t, dtype, s);
    char number[40];
    kn_double_repr(v, number);
    kn_tfail(t, KILN_DTYPE, "a number of that type", (kn_site){file, line}, "%s is no %s", number, kiln_dtype_name(dtype));
    return (kiln_val){0};
}

kiln_val kiln_int_at(kiln_trace *t, kiln_dtype dtype, int64_t v, const char *file, int line)
{
    char kind = kiln_dtype_kind(dtype);
    kn_scalar s = {.i = v};
    bool fits = kind == 'f' || kind == 'c';
    if (kind == 'f') s = (kn_scalar){.f = (double)v};
    else if (kind == 'c') s = (kn_scalar){.c = {(double)v, 0}};
    else if (kind == 'b') s = (kn_scalar){.b = v != 0}, fits = v == 0 || v == 1;
    else if (kind == 'u') fits = v >= 0 && kn_scalar_round(dtype, s).u == (uint64_t)v;
    else if (kind == 'i') fits = kn_scalar_round(dtype, s).i == v;
    if (fits) return kn_tval_literal(t, dtype, s);
    kn_tfail(t, KILN_DTYPE, "a number of that type", (kn_site){file, line}, "%lld is no %s", (long long)v, kiln_dtype_name(dtype));
    return (kiln_val){0};
}

kiln_type kiln_val_type(const kiln_trace *t, kiln_val v) { return kn_tval_of(t, v)->type; }

/* ---- scopes and places ---- */

void kiln_scope_push(kiln_trace *t, const char *name)
{
    if (t->failed) return;
    const char *outer = t->scopes.n ? t->scopes.v[t->scopes.n - 1].path : NULL;
    kn_tscope s = {outer ? kn_arena_printf(&t->arena, "%s/%s", outer, name) : kn_arena_text(&t->arena, name), 0};
    kiln_status status = s.path ? kn_prog_scope(t->ctx, t->prog, s.path, &s.id) : kn_nomem(t->ctx);
    if (status == KILN_OK && !kn_push(&t->arena, &t->scopes, s)) status = kn_nomem(t->ctx);
    kn_tstatus(t, status, (kn_site){0});
}

void kiln_scope_pop(kiln_trace *t)
{
    if (t->failed) return;
    if (t->scopes.n) t->scopes.n--;
    else kn_tfail(t, KILN_INVALID, "one kiln_scope_pop for each kiln_scope_push", (kn_site){0}, "no scope is open");
}

void kiln_place(kiln_trace *t, const char *file, int line, int column)
{
    if (t->failed) return;
    t->place_file = NULL;
    if (!file) return;
    t->place = (kn_loc){0, (uint32_t)line, (uint32_t)column};
    kn_tstatus(t, kn_prog_file(t->ctx, t->prog, file, &t->place.file), (kn_site){0});
    if (!t->failed) t->place_file = t->prog->files.v[t->place.file];
}
