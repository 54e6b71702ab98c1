/* SPDX-License-Identifier: Apache-2.0 */
/* Computations of HLO from the functions and regions of a module's tree. */
#include "hlo/hprint.h"

#include "ir/size.h"

#include <stdio.h>

void kn_hfail(kn_hprint *p, kiln_status s)
{
    if (p->status == KILN_OK) p->status = s;
}

const char *kn_hkeep(kn_hprint *p, kn_text *t)
{
    char *s = t->failed ? NULL : kn_arena_textn(p->arena, t->n ? t->s : "", t->n);
    if (!s) kn_hfail(p, kn_nomem(p->ctx));
    t->n = 0;
    return s ? s : "";
}

/* ---- shapes ---- */

const char *kn_hlo_dtype(kiln_dtype d)
{
    static const char *const names[KILN_N_DTYPES] = {
        [KILN_BOOL] = "pred", [KILN_I2] = "s2", [KILN_I4] = "s4", [KILN_I8] = "s8", [KILN_I16] = "s16", [KILN_I32] = "s32", [KILN_I64] = "s64",
        [KILN_U2] = "u2", [KILN_U4] = "u4", [KILN_U8] = "u8", [KILN_U16] = "u16", [KILN_U32] = "u32", [KILN_U64] = "u64",
        [KILN_F4E2M1FN] = "f4e2m1fn", [KILN_F6E2M3FN] = "f6e2m3fn", [KILN_F6E3M2FN] = "f6e3m2fn",
        [KILN_F8E3M4] = "f8e3m4", [KILN_F8E4M3] = "f8e4m3", [KILN_F8E4M3B11FNUZ] = "f8e4m3b11fnuz",
        [KILN_F8E4M3FN] = "f8e4m3fn", [KILN_F8E4M3FNUZ] = "f8e4m3fnuz", [KILN_F8E5M2] = "f8e5m2", [KILN_F8E5M2FNUZ] = "f8e5m2fnuz",
        [KILN_F8E8M0FNU] = "f8e8m0fnu", [KILN_F16] = "f16", [KILN_BF16] = "bf16", [KILN_F32] = "f32", [KILN_F64] = "f64", [KILN_C64] = "c64",
        [KILN_C128] = "c128",      [KILN_TOKEN] = "token",
    };
    return (unsigned)d < KILN_N_DTYPES ? names[d] : NULL;
}

static void put_shape(kn_text *t, kiln_type type, bool layout)
{
    const char *name = kn_hlo_dtype(type.dtype);
    kn_text_printf(t, "%s[", name ? name : "opaque");
    for (uint32_t d = 0; d < type.rank; d++) kn_text_printf(t, "%s%lld", d ? "," : "", (long long)type.dims[d]);
    kn_text_char(t, ']');
    if (!type.rank || !layout) return;
    kn_text_char(t, '{');
    for (uint32_t d = type.rank; d-- > 0;) kn_text_printf(t, "%u%s", d, d ? "," : "");
    kn_text_char(t, '}');
}

const char *kn_hshape(kn_hprint *p, kiln_type type)
{
    kn_text t;
    kn_text_init(&t, &p->ctx->alloc);
    put_shape(&t, type, true);
    const char *s = kn_hkeep(p, &t);
    kn_text_fini(&t);
    return s;
}

const char *kn_hshape_of(kn_hprint *p, const uint32_t *values, uint32_t n)
{
    return n == 1 ? kn_hshape(p, p->f->values[values[0]].type->type) : kn_htuple_shape(p, values, n);
}

const char *kn_htuple_shape(kn_hprint *p, const uint32_t *values, uint32_t n)
{
    kn_text t;
    kn_text_init(&t, &p->ctx->alloc);
    kn_text_char(&t, '(');
    for (uint32_t i = 0; i < n; i++) {
        if (i) kn_text_add(&t, ", ");
        if (i && i % 5 == 0) kn_text_printf(&t, "/*index=%u*/", i);
        put_shape(&t, p->f->values[values[i]].type->type, true);
    }
    kn_text_char(&t, ')');
    const char *s = kn_hkeep(p, &t);
    kn_text_fini(&t);
    return s;
}

/* ---- instructions ---- */

static const char *numbered(kn_hprint *p, const char *base)
{
    char *s = kn_arena_printf(p->arena, "%s.%u", base, p->next_id++);
    if (!s) kn_hfail(p, kn_nomem(p->ctx));
    return s ? s : "";
}

uint32_t kn_hadd(kn_hprint *p, const char *opcode, const char *shape, const uint32_t *in, uint32_t nin, const char *attrs)
{
    if (p->status != KILN_OK) return 0;
    uint32_t *own = kn_arena_copy(p->arena, in, nin * sizeof *in);
    kn_hinst i = {.opcode = opcode, .shape = shape, .attrs = attrs, .in = own, .nin = nin};
    i.name = numbered(p, opcode);
    if (!own || !kn_push(p->arena, &p->c->inst, i)) kn_hfail(p, kn_nomem(p->ctx));
    return p->c->inst.n ? p->c->inst.n - 1 : 0;
}

uint32_t kn_hvalue_at(kn_hprint *p, uint32_t value)
{
    if (p->status != KILN_OK) return 0;
    if (!p->at[value]) { /* a constant of what stands around is made again inside */
        const kn_mop *o = p->def[value];
        if (o && kn_span_is(o->name, "stablehlo.constant")) kn_hop(p, o);
        else kn_hfail(p, kn_fail(p->ctx, KILN_UNSUPPORTED, "HLO has no form for a body over scalars that uses a value from around it"));
    }
    return p->at[value] ? p->at[value] - 1 : 0;
}

void kn_hset_results(kn_hprint *p, const kn_mop *o, uint32_t inst)
{
    for (uint32_t i = 0; i < o->nout && p->status == KILN_OK; i++) {
        uint32_t at = inst;
        if (o->nout > 1) {
            char *index = kn_arena_printf(p->arena, ", index=%u", i);
            if (!index) kn_hfail(p, kn_nomem(p->ctx));
            at = kn_hadd(p, "get-tuple-element", kn_hshape(p, p->f->values[o->out + i].type->type), &inst, 1, index);
        }
        p->at[o->out + i] = at + 1;
    }
}

/* ---- computations ---- */

static void parameter(kn_hprint *p, uint32_t number, const char *shape, uint32_t *inst)
{
    if (p->status != KILN_OK) return;
    char base[32];
    char *literal = kn_arena_printf(p->arena, "%u", number);
    snprintf(base, sizeof base, "Arg_%u", number);
    kn_hinst i = {.opcode = "parameter", .shape = shape, .literal = literal, .attrs = "", .name = numbered(p, base)};
    if (!literal || !kn_push(p->arena, &p->c->inst, i) || !kn_push(p->arena, &p->c->params, p->c->inst.n - 1)) kn_hfail(p, kn_nomem(p->ctx));
    *inst = p->c->inst.n ? p->c->inst.n - 1 : 0;
}

static kn_hcomp *open(kn_hprint *p, const char *name)
{
    kn_hcomp *c = KN_NEW(p->arena, kn_hcomp);
    if (!c) kn_hfail(p, kn_nomem(p->ctx));
    else c->name = name;
    return c;
}

/* Operations of a region into the current computation; its root is the result, or a tuple of them and of the n `extra` values. */
static void fill(kn_hprint *p, const kn_mregion *r, const uint32_t *extra, uint32_t n)
{
    const kn_mop *o = r->ops;
    for (; o && o->next && p->status == KILN_OK; o = o->next) kn_hop(p, o);
    if (!o || p->status != KILN_OK) return;
    uint32_t all = o->nin + n, *in = KN_NEWN(p->arena, uint32_t, all), *values = KN_NEWN(p->arena, uint32_t, all);
    if (!in || !values) {
        kn_hfail(p, kn_nomem(p->ctx));
        return;
    }
    for (uint32_t i = 0; i < all; i++) values[i] = i < o->nin ? o->in[i] : extra[i - o->nin];
    for (uint32_t i = 0; i < all; i++) in[i] = kn_hvalue_at(p, values[i]);
    p->c->root = all == 1 ? in[0] : kn_hadd(p, "tuple", kn_hshape_of(p, values, all), in, all, "");
}

const char *kn_hregion_name(kn_hprint *p, const kn_mregion *r, const uint32_t *captured, uint32_t n, bool pairs)
{
    kn_hcomp *around = p->c, *c = open(p, "");
    uint32_t *at = p->at, half = pairs ? r->nargs : r->nargs / 2, nargs = r->nargs + 2 * n;
    if (p->status != KILN_OK || !c) return "";
    c->name = numbered(p, "region");
    p->c = c;
    p->at = KN_NEWN(p->arena, uint32_t, p->f->nvalues);
    if (!p->at) kn_hfail(p, kn_nomem(p->ctx));
    for (uint32_t i = 0; i < nargs && p->status == KILN_OK; i++) {
        uint32_t inst = 0, k = i < half ? i : i - half, value; /* among what is captured, twice n of pairs, n and once more n behind the others */
        bool own = i < half || (!pairs && k >= n && k - n < r->nargs - half), first = pairs ? k % 2 == 0 : k < n;
        if (own) value = r->args + (i < half ? i : i - n);
        else value = captured[pairs ? k / 2 : first ? k : i - n - r->nargs];
        parameter(p, i, kn_hshape(p, p->f->values[value].type->type), &inst);
        if (own || first) p->at[value] = inst + 1;
    }
    if (p->status == KILN_OK) fill(p, r, captured, pairs ? 0 : n);
    if (p->status == KILN_OK && !kn_push(p->arena, &p->comps, c)) kn_hfail(p, kn_nomem(p->ctx));
    p->c = around;
    p->at = at;
    return c->name;
}

kn_hcomp *kn_htuple_region(kn_hprint *p, const kn_mregion *r, const uint32_t *captured, uint32_t n, bool pass)
{
    kn_hcomp *around = p->c, *c = open(p, "");
    uint32_t *at = p->at, all = n + r->nargs, inst = 0, *values = KN_NEWN(p->arena, uint32_t, all), *out;
    if (!values) kn_hfail(p, kn_nomem(p->ctx));
    if (p->status != KILN_OK || !c) return c;
    c->name = numbered(p, "region");
    p->c = c;
    p->at = KN_NEWN(p->arena, uint32_t, p->f->nvalues);
    if (!p->at) kn_hfail(p, kn_nomem(p->ctx));
    for (uint32_t i = 0; i < all; i++) values[i] = i < n ? captured[i] : r->args + i - n;
    parameter(p, 0, kn_htuple_shape(p, values, all), &inst);
    for (uint32_t i = 0; i < all && p->status == KILN_OK; i++) {
        char *index = kn_arena_printf(p->arena, ", index=%u", i);
        if (!index) kn_hfail(p, kn_nomem(p->ctx));
        p->at[values[i]] = kn_hadd(p, "get-tuple-element", kn_hshape_of(p, &values[i], 1), &inst, 1, index) + 1;
    }
    const kn_mop *last = r->ops;
    for (; last && last->next && p->status == KILN_OK; last = last->next) kn_hop(p, last);
    if (p->status == KILN_OK && last) {
        uint32_t extra = pass ? n : 0, total = extra + last->nin;
        out = KN_NEWN(p->arena, uint32_t, total);
        uint32_t *types = KN_NEWN(p->arena, uint32_t, total);
        if (!out || !types) kn_hfail(p, kn_nomem(p->ctx));
        for (uint32_t i = 0; i < total && p->status == KILN_OK; i++) {
            types[i] = i < extra ? captured[i] : last->in[i - extra];
            out[i] = kn_hvalue_at(p, types[i]);
        }
        if (p->status == KILN_OK && !pass && total == 1) c->root = out[0];
        else if (p->status == KILN_OK) c->root = kn_hadd(p, "tuple", kn_htuple_shape(p, types, total), out, total, "");
    }
    if (p->status == KILN_OK && !kn_push(p->arena, &p->comps, c)) kn_hfail(p, kn_nomem(p->ctx));
    p->c = around;
    p->at = at;
    return c;
}

/* ---- functions ---- */

static void define(const kn_mop **def, const kn_mregion *r)
{
    for (const kn_mop *o = r->ops; o; o = o->next) {
        for (uint32_t i = 0; i < o->nout; i++) def[o->out + i] = o;
        for (uint32_t i = 0; i < o->nregions; i++) define(def, &o->regions[i]);
    }
}

static bool is_fused(const kn_mfunc *f) { return f->name.n > 6 && memcmp(f->name.s, "fused_", 6) == 0; }

kn_hcomp *kn_hfunction(kn_hprint *p, const kn_mfunc *f)
{
    if (p->status != KILN_OK) return NULL;
    if (p->of_func[f->index]) return p->of_func[f->index];
    kn_hprint saved = *p;
    char *base = kn_arena_textn(p->arena, f->name.s, f->name.n);
    bool entry = f->index == 0;
    kn_hcomp *c = open(p, "");
    if (!base) kn_hfail(p, kn_nomem(p->ctx));
    if (p->status != KILN_OK) return NULL;
    c->fused = p->optimised && is_fused(f);
    if (!entry) c->name = numbered(p, base); /* @main takes its number at the end */
    p->f = f;
    p->c = c;
    p->def = kn_arena_newn(p->arena, f->nvalues, sizeof *p->def);
    p->at = KN_NEWN(p->arena, uint32_t, f->nvalues);
    if (!p->def || !p->at) kn_hfail(p, kn_nomem(p->ctx));
    if (p->status == KILN_OK) define(p->def, &f->body);
    for (uint32_t i = 0; i < f->nargs && p->status == KILN_OK; i++) {
        uint32_t inst = 0;
        parameter(p, i, kn_hshape(p, f->values[i].type->type), &inst);
        p->at[i] = inst + 1;
    }
    if (p->status == KILN_OK) fill(p, &f->body, NULL, 0);
    if (entry) c->name = numbered(p, base);
    if (p->status == KILN_OK && !kn_push(p->arena, &p->comps, c)) kn_hfail(p, kn_nomem(p->ctx));
    p->of_func[f->index] = c;
    p->f = saved.f, p->c = saved.c, p->def = saved.def, p->at = saved.at;
    return c;
}

kiln_status kn_hmodule(kn_hprint *p)
{
    p->next_id = 1;
    p->of_func = kn_arena_newn(p->arena, p->m->funcs.n, sizeof *p->of_func);
    if (!p->of_func) return kn_nomem(p->ctx);
    kn_hfunction(p, p->m->funcs.v[0]);
    return p->status;
}

/* ---- text ---- */

static void put_name(const kn_hprint *p, kn_text *t, const char *name)
{
    if (p->optimised) kn_text_char(t, '%');
    kn_text_add(t, name);
}

/* With the escapes of HLO text, which are those of C. */
static void put_quoted(kn_text *t, const char *key, kn_span s)
{
    kn_text_printf(t, "%s\"", key);
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.s[i];
        if (c == '"' || c == '\\') kn_text_printf(t, "\\%c", c);
        else if (c < 32 || c == 127) kn_text_printf(t, "\\%03o", c);
        else kn_text_char(t, (char)c);
    }
    kn_text_char(t, '"');
}

static void put_loc(kn_text *t, const kn_mloc *l)
{
    const kn_mloc *place = l && l->kind == KN_ML_NAME ? l->child : l;
    if (!l) return;
    kn_text_add(t, ", metadata={");
    if (l->kind == KN_ML_NAME) put_quoted(t, "op_name=", l->text);
    if (place && place->kind == KN_ML_FILE) {
        put_quoted(t, l->kind == KN_ML_NAME ? " source_file=" : "source_file=", place->text);
        kn_text_printf(t, " source_line=%u", place->line);
    }
    kn_text_char(t, '}');
}

static void put_inst(const kn_hprint *p, kn_text *t, kn_hcomp *c, uint32_t k)
{
    const kn_hinst *i = &c->inst.v[k];
    kn_text_add(t, k == c->root ? "  ROOT " : "  ");
    put_name(p, t, i->name);
    kn_text_printf(t, " = %s %s(", i->shape, i->opcode);
    if (i->literal) kn_text_add(t, i->literal);
    bool hidden = p->brief && strcmp(i->opcode, "fusion") == 0;
    if (hidden) kn_text_add(t, "...");
    for (uint32_t n = 0; !i->literal && !hidden && n < i->nin; n++) {
        if (n) kn_text_add(t, ", ");
        put_name(p, t, c->inst.v[i->in[n]].name);
    }
    kn_text_char(t, ')');
    kn_text_add(t, i->attrs);
    if (!p->brief) put_loc(t, i->loc);
    kn_text_char(t, '\n');
}

static void put_once(const kn_hprint *p, kn_text *t, kn_hcomp *c, uint32_t k)
{
    if (c->inst.v[k].visited) return;
    c->inst.v[k].visited = true;
    put_inst(p, t, c, k);
}

/* In the order in which they were made; parameters stand before the first that uses them, those that nothing uses first. */
static void put_order(kn_hprint *p, kn_text *t, kn_hcomp *c)
{
    bool *used = KN_NEWN(p->arena, bool, c->inst.n);
    if (!used) kn_hfail(p, kn_nomem(p->ctx));
    for (uint32_t k = 0; used && k < c->inst.n; k++)
        for (uint32_t i = 0; i < c->inst.v[k].nin; i++) used[c->inst.v[k].in[i]] = true;
    for (uint32_t i = 0; used && i < c->params.n; i++)
        if (!used[c->params.v[i]]) put_once(p, t, c, c->params.v[i]);
    for (uint32_t k = c->params.n; used && k < c->inst.n; k++) {
        for (uint32_t i = 0; i < c->inst.v[k].nin; i++)
            if (c->inst.v[k].in[i] < c->params.n) put_once(p, t, c, c->inst.v[k].in[i]);
        put_once(p, t, c, k);
    }
}

static void put_comp(kn_hprint *p, kn_text *t, kn_hcomp *c, bool entry)
{
    if (entry) kn_text_add(t, "ENTRY ");
    put_name(p, t, c->name);
    if (p->optimised && c->inst.n) {
        kn_text_add(t, " (");
        for (uint32_t i = 0; i < c->params.n; i++) {
            const kn_hinst *a = &c->inst.v[c->params.v[i]];
            size_t n = a->shape[0] == '(' ? strlen(a->shape) : strcspn(a->shape, "{");
            kn_text_printf(t, "%s%s: %.*s", i ? ", " : "", a->name, (int)n, a->shape);
        }
        const char *shape = c->inst.v[c->root].shape;
        kn_text_printf(t, ") -> %.*s", (int)(shape[0] == '(' ? strlen(shape) : strcspn(shape, "{")), shape);
    }
    kn_text_add(t, " {\n");
    put_order(p, t, c);
    kn_text_add(t, "}\n");
}

/* What is no part of a word becomes `_`. */
static void put_word(kn_text *t, kn_span s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.s[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), later = (c >= '0' && c <= '9') || c == '.' || c == '-';
        kn_text_char(t, letter || (i && later) ? c : '_');
    }
}

static void put_header(const kn_hprint *p, kn_text *t)
{
    const kn_hcomp *c = p->comps.v[p->comps.n - 1];
    kn_text_add(t, "HloModule ");
    put_word(t, p->m->name);
    kn_text_add(t, ", ");
    if (p->optimised) kn_text_add(t, "is_scheduled=true, ");
    kn_text_add(t, "entry_computation_layout={(");
    for (uint32_t i = 0; i < c->params.n; i++) {
        if (i) kn_text_add(t, ", ");
        if (i && i % 5 == 0) kn_text_printf(t, "/*index=%u*/", i);
        kn_text_add(t, c->inst.v[c->params.v[i]].shape);
    }
    kn_text_printf(t, ")->%s}\n\n", c->inst.n ? c->inst.v[c->root].shape : "()");
}

kiln_status kn_hlo_print_hlo(kiln_ctx *ctx, const kn_prog *prog, unsigned flags, kn_text *t)
{
    if (kn_prog_open(prog))
        return kn_fail(ctx, KILN_UNSUPPORTED, "HLO text is written for fixed shapes: a dimension of an input is n, which is given when the program runs");
    kn_arena arena;
    kn_mmodule *m;
    kn_arena_init(&arena, &ctx->alloc);
    kiln_status s = kn_export_program(ctx, &arena, prog, true, &m);
    if (s == KILN_OK) {
        kn_hprint p = {.ctx = ctx, .arena = &arena, .m = m, .optimised = flags & KN_HLO_OPTIMISED, .brief = flags & KN_HLO_BRIEF};
        s = kn_hmodule(&p);
        if (s == KILN_OK && !p.brief) put_header(&p, t);
        for (uint32_t i = p.brief && p.comps.n ? p.comps.n - 1 : 0; s == KILN_OK && i < p.comps.n; i++) {
            put_comp(&p, t, p.comps.v[i], i + 1 == p.comps.n);
            if (i + 1 < p.comps.n) kn_text_char(t, '\n');
            s = p.status;
        }
        if (s == KILN_OK && t->failed) s = kn_nomem(ctx);
    }
    kn_arena_fini(&arena);
    return s;
}
