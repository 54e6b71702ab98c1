/* SPDX-License-Identifier: Apache-2.0 */
/* HLO text as computations of instructions. */
#include "hlo/hread.h"

typedef struct reader {
    kn_htext *h;
    kiln_ctx *ctx;
    const char *p, *end;
    uint32_t line;
    uint32_t depth;
} reader;

static kiln_status expected(const reader *r, const char *what)
{
    if (r->p >= r->end) return kn_source_fail(&r->h->src, r->end, KILN_INVALID, "syntax", NULL, "%s was expected, the text ends", what);
    return kn_source_fail(&r->h->src, r->p, KILN_INVALID, "syntax", NULL, "%s was expected, found '%c'", what, *r->p);
}

static void blanks(reader *r)
{
    for (;;) {
        while (r->p < r->end && kn_is_one_of(*r->p, " \t\r\n")) r->line += *r->p++ == '\n';
        if (r->end - r->p < 2 || r->p[0] != '/' || (r->p[1] != '/' && r->p[1] != '*')) return;
        bool block = r->p[1] == '*';
        for (r->p += 2; r->p < r->end; r->p++) {
            if (!block && *r->p == '\n') break;
            r->line += *r->p == '\n';
            if (block && *r->p == '/' && r->p[-1] == '*') {
                r->p++;
                break;
            }
        }
    }
}

static bool take(reader *r, char c)
{
    blanks(r);
    if (r->p >= r->end || *r->p != c) return false;
    r->p++;
    return true;
}
static kiln_status want(reader *r, char c)
{
    char what[4] = {'\'', c, '\'', 0};
    return take(r, c) ? KILN_OK : expected(r, what);
}

static bool in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c == '$' || c == ':';
}
static kn_span word(reader *r)
{
    blanks(r);
    const char *begin = r->p;
    while (r->p < r->end && in_name(*r->p)) r->p++;
    return (kn_span){begin, (size_t)(r->p - begin)};
}

/* Up to one of `stop` outside of brackets and strings, blanks at both ends left out. */
static kiln_status until(reader *r, const char *stop, kn_span *out)
{
    int depth = 0;
    blanks(r);
    const char *begin = r->p;
    for (bool quoted = false; r->p < r->end; r->p++) {
        char c = *r->p;
        r->line += c == '\n';
        if (quoted && c == '\\' && r->p + 1 < r->end) r->p++;
        else if (c == '"') quoted = !quoted;
        else if (!quoted && depth == 0 && strchr(stop, c)) break;
        else if (!quoted && kn_is_one_of(c, "{[(")) depth++;
        else if (!quoted && kn_is_one_of(c, "}])") && depth-- == 0) break;
    }
    if (r->p >= r->end) return expected(r, "the end of an attribute");
    const char *end = r->p;
    while (end > begin && kn_is_one_of(end[-1], " \t\r\n")) end--;
    *out = (kn_span){begin, (size_t)(end - begin)};
    return KILN_OK;
}

bool kn_htext_ints(kn_span s, int64_t *v, uint32_t *n, uint32_t most)
{
    const char *p = s.s, *end = s.s + s.n;
    for (*n = 0; p < end;) {
        bool negative = *p == '-';
        const char *q = p + negative;
        if (q < end && *q >= '0' && *q <= '9') {
            int64_t x = 0;
            for (; q < end && *q >= '0' && *q <= '9'; q++)
                if (__builtin_mul_overflow(x, 10, &x) || __builtin_add_overflow(x, *q - '0', &x)) return false;
            if (*n == most) return false;
            v[(*n)++] = negative ? -x : x;
            p = q;
        } else if (kn_is_one_of(*p, "{},x_ \n\t\r")) p++;
        else return false;
    }
    return true;
}

/* ---- shapes ---- */

static kiln_status shape(reader *r, const kn_htext_shape **out)
{
    enum { DEEPEST = 100 };
    kn_htext_shape *s = KN_NEW(r->h->arena, kn_htext_shape);
    KILN_TRY_MEM(r->ctx, s);
    *out = s;
    if (++r->depth > DEEPEST) return kn_source_fail(&r->h->src, r->p, KILN_UNSUPPORTED, "unsupported", NULL, "tuples are nested too deep");
    if (take(r, '(')) {
        KN_VEC(const kn_htext_shape *) items = {0};
        s->tuple = true;
        while (!take(r, ')')) {
            const kn_htext_shape *item;
            if (items.n) KILN_TRY(want(r, ','));
            KILN_TRY(shape(r, &item));
            KILN_TRY_MEM(r->ctx, kn_push(r->h->arena, &items, item));
            s->leaves += item->leaves;
        }
        s->items = items.v;
        s->n = items.n;
        r->depth--;
        return KILN_OK;
    }
    kn_span name = word(r), dims, layout;
    const char *at = name.s;
    int64_t v[KN_RANK_LIMIT];
    uint32_t n;
    bool found = false;
    for (int d = 0; d < KILN_N_DTYPES && !found; d++) {
        const char *own = kn_hlo_dtype((kiln_dtype)d);
        if (own && kn_span_is(name, own)) s->type.dtype = (kiln_dtype)d, found = true;
    }
    if (!found) return kn_source_fail(&r->h->src, at, KILN_INVALID, "type", "f32[2,3], pred[], (f32[], s32[2])", "'%.*s' is no shape", KN_SPAN_ARG(name));
    KILN_TRY(want(r, '['));
    KILN_TRY(until(r, "]", &dims));
    KILN_TRY(want(r, ']'));
    if (!kn_htext_ints(dims, v, &n, KN_RANK_LIMIT))
        return kn_source_fail(&r->h->src, dims.s, KILN_UNSUPPORTED, "unsupported", "arrays of a fixed shape", "the dimensions [%.*s]", KN_SPAN_ARG(dims));
    for (uint32_t i = 0; i < n; i++)
        if (v[i] < 0) return kn_source_fail(&r->h->src, dims.s, KILN_INVALID, "type", NULL, "a dimension is negative");
    if (n && s->type.dtype == KILN_TOKEN) return kn_source_fail(&r->h->src, at, KILN_INVALID, "type", "token[]", "tokens stand alone");
    s->type.rank = n;
    KILN_TRY_MEM(r->ctx, s->type.dims = kn_arena_copy(r->h->arena, v, n * sizeof *v));
    if (kiln_type_size(s->type) < 0) return kn_source_fail(&r->h->src, dims.s, KILN_INVALID, "shape", NULL, "an array has too many elements");
    s->leaves = 1;
    if (r->p < r->end && *r->p == '{') { /* the layout does not matter: arrays are logical here */
        r->p++;
        KILN_TRY(until(r, "}", &layout));
        KILN_TRY(want(r, '}'));
    }
    r->depth--;
    return KILN_OK;
}

void kn_htext_leaves(const kn_htext_shape *s, kiln_type *out, uint32_t *n)
{
    if (s->tuple)
        for (uint32_t i = 0; i < s->n; i++) kn_htext_leaves(s->items[i], out, n);
    else out[(*n)++] = s->type;
}

/* ---- instructions ---- */

/* `f32[2]{0} %name`, `name`: the last word. */
static kn_span operand_name(kn_span s)
{
    size_t k = s.n;
    while (k && in_name(s.s[k - 1])) k--;
    return (kn_span){s.s + k, s.n - k};
}

static kiln_status operands(reader *r, kn_htext_inst *i)
{
    KN_VEC(kn_span) names = {0};
    kn_span all;
    bool constant = kn_span_is(i->opcode, "constant") || kn_span_is(i->opcode, "parameter");
    KILN_TRY(want(r, '('));
    if (constant) {
        KILN_TRY(until(r, ")", &all));
        i->literal = all;
        return want(r, ')');
    }
    while (!take(r, ')')) {
        if (names.n) KILN_TRY(want(r, ','));
        KILN_TRY(until(r, ",)", &all));
        kn_span name = operand_name(all);
        if (!name.n) return expected(r, "the name of an instruction");
        KILN_TRY_MEM(r->ctx, kn_push(r->h->arena, &names, name));
    }
    i->operands = names.v;
    i->nin = names.n;
    return KILN_OK;
}

static kiln_status instruction(reader *r, kn_htext_comp *c)
{
    kn_htext_inst i = {.nin = 0};
    KN_VEC(kn_htext_attr) attrs = {0};
    bool percent = take(r, '%'), root = false;
    i.name = word(r);
    if (!percent && kn_span_is(i.name, "ROOT")) {
        root = true;
        take(r, '%');
        i.name = word(r);
    }
    if (!i.name.n) return expected(r, "an instruction");
    KILN_TRY(want(r, '='));
    KILN_TRY(shape(r, &i.shape));
    i.opcode = word(r);
    if (!i.opcode.n) return expected(r, "an opcode");
    i.at = i.opcode.s;
    i.line = r->line;
    KILN_TRY(operands(r, &i));
    while (take(r, ',')) {
        kn_htext_attr a;
        a.key = word(r);
        if (!a.key.n) return expected(r, "an attribute, key=value");
        KILN_TRY(want(r, '='));
        KILN_TRY(until(r, ",\n", &a.value));
        KILN_TRY_MEM(r->ctx, kn_push(r->h->arena, &attrs, a));
    }
    i.attrs = attrs.v;
    i.nattrs = attrs.n;
    if (root) c->root = c->inst.n;
    KILN_TRY_MEM(r->ctx, kn_push(r->h->arena, &c->inst, i));
    return KILN_OK;
}

/* ---- computations ---- */

/* Names of operands as numbers of instructions, which stand before. */
static kiln_status resolve(reader *r, kn_htext_comp *c)
{
    uint32_t size = 16;
    while (size < 2 * c->inst.n) size *= 2;
    uint32_t *table = KN_NEWN(r->h->arena, uint32_t, size);
    KILN_TRY_MEM(r->ctx, table);
    for (uint32_t k = 0; k < c->inst.n; k++) {
        kn_htext_inst *i = &c->inst.v[k];
        uint32_t *in = KN_NEWN(r->h->arena, uint32_t, i->nin);
        KILN_TRY_MEM(r->ctx, in);
        for (uint32_t o = 0; o < i->nin; o++) {
            uint32_t at = (uint32_t)kn_span_hash(i->operands[o]) & (size - 1);
            while (table[at] && !kn_span_same(c->inst.v[table[at] - 1].name, i->operands[o])) at = (at + 1) & (size - 1);
            if (!table[at])
                return kn_source_fail(&r->h->src, i->operands[o].s, KILN_INVALID, "unbound", NULL, "there is no instruction %.*s before", KN_SPAN_ARG(i->operands[o]));
            in[o] = table[at] - 1;
        }
        i->in = in;
        uint32_t at = (uint32_t)kn_span_hash(i->name) & (size - 1);
        while (table[at]) {
            if (kn_span_same(c->inst.v[table[at] - 1].name, i->name))
                return kn_source_fail(&r->h->src, i->name.s, KILN_INVALID, "duplicate", NULL, "the name %.*s is given twice", KN_SPAN_ARG(i->name));
            at = (at + 1) & (size - 1);
        }
        table[at] = k + 1;
    }
    return KILN_OK;
}

static kiln_status parameters(reader *r, kn_htext_comp *c)
{
    for (uint32_t k = 0; k < c->inst.n; k++) c->nparams += kn_span_is(c->inst.v[k].opcode, "parameter");
    uint32_t *params = KN_NEWN(r->h->arena, uint32_t, c->nparams);
    KILN_TRY_MEM(r->ctx, params);
    for (uint32_t k = 0; k < c->nparams; k++) params[k] = UINT32_MAX;
    for (uint32_t k = 0; k < c->inst.n; k++) {
        const kn_htext_inst *i = &c->inst.v[k];
        int64_t number[1];
        uint32_t n;
        if (!kn_span_is(i->opcode, "parameter")) continue;
        bool good = kn_htext_ints(i->literal, number, &n, 1) && n == 1 && number[0] >= 0 && number[0] < (int64_t)c->nparams && params[number[0]] == UINT32_MAX;
        if (!good) return kn_source_fail(&r->h->src, i->at, KILN_INVALID, "operation", NULL, "parameters must be numbered 0, 1, .. once each");
        params[number[0]] = k;
    }
    c->params = params;
    return KILN_OK;
}

static kiln_status computation(reader *r, bool entry, kn_span name)
{
    kn_span skipped;
    kn_htext_comp *c = KN_NEW(r->h->arena, kn_htext_comp);
    KILN_TRY_MEM(r->ctx, c);
    *c = (kn_htext_comp){.name = name, .at = name.s, .root = UINT32_MAX, .entry = entry};
    if (take(r, '(')) { /* the signature says what parameters and root say again */
        KILN_TRY(until(r, ")", &skipped));
        KILN_TRY(want(r, ')'));
        KILN_TRY(want(r, '-'));
        KILN_TRY(want(r, '>'));
        const kn_htext_shape *result;
        KILN_TRY(shape(r, &result));
    }
    KILN_TRY(want(r, '{'));
    while (!take(r, '}')) KILN_TRY(instruction(r, c));
    if (!c->inst.n) return kn_source_fail(&r->h->src, c->at, KILN_INVALID, "operation", NULL, "the computation %.*s is empty", KN_SPAN_ARG(c->name));
    if (c->root == UINT32_MAX) c->root = c->inst.n - 1;
    KILN_TRY(resolve(r, c));
    KILN_TRY(parameters(r, c));
    KILN_TRY_MEM(r->ctx, kn_push(r->h->arena, &r->h->comps, c));
    if (entry) r->h->entry = c;
    if (take(r, ',')) KILN_TRY(until(r, "\n", &skipped)); /* execution_thread="main" */
    return KILN_OK;
}

/* FileNames and the like: numbered lines up to an empty one. */
static void skip_table(reader *r)
{
    for (; r->p < r->end; r->p++) {
        r->line += *r->p == '\n';
        if (r->end - r->p >= 2 && r->p[0] == '\n' && r->p[1] == '\n') return;
    }
}

static kiln_status header(reader *r)
{
    kn_span s = word(r), rest;
    if (!kn_span_is(s, "HloModule")) return kn_source_fail(&r->h->src, s.s, KILN_INVALID, "syntax", NULL, "HloModule was expected");
    r->h->name = word(r);
    if (r->h->name.n && r->h->name.s[r->h->name.n - 1] == ',') r->h->name.n--;
    if (r->p >= r->end || *r->p != ',') return KILN_OK;
    KILN_TRY(until(r, "\n", &rest));
    static const char *const counts[] = {"replica_count=", "num_partitions="};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t n = strlen(counts[i]);
        for (size_t k = 0; k + n < rest.n; k++) {
            if (memcmp(rest.s + k, counts[i], n) != 0) continue;
            bool one = rest.s[k + n] == '1' && (k + n + 1 >= rest.n || rest.s[k + n + 1] < '0' || rest.s[k + n + 1] > '9');
            if (!one)
                return kn_source_fail(&r->h->src, rest.s + k, KILN_UNSUPPORTED, "unsupported", "a module lowered for one device: jax.jit without shardings over several",
                                      "the module is made for several %s", i ? "partitions" : "replicas");
        }
    }
    return KILN_OK;
}

kn_htext_comp *kn_htext_find(const kn_htext *h, kn_span name)
{
    if (name.n && name.s[0] == '%') name.s++, name.n--;
    for (uint32_t i = 0; i < h->comps.n; i++)
        if (kn_span_same(h->comps.v[i]->name, name)) return h->comps.v[i];
    return NULL;
}

kiln_status kn_htext_read(kiln_ctx *ctx, kn_arena *arena, const char *text, size_t n, const char *file, kn_htext *out)
{
    static const char *const tables[] = {"FileNames", "FunctionNames", "FileLocations", "StackFrames"};
    *out = (kn_htext){.src = {.ctx = ctx, .file = file, .text = text, .n = n}, .arena = arena};
    reader r = {.h = out, .ctx = ctx, .p = text, .end = text + n, .line = 1};
    KILN_TRY(header(&r));
    for (blanks(&r); r.p < r.end; blanks(&r)) {
        bool percent = take(&r, '%'), entry = false, table = false;
        kn_span name = word(&r);
        for (int i = 0; i < 4; i++) table = table || kn_span_is(name, tables[i]);
        if (!percent && table) {
            skip_table(&r);
            continue;
        }
        if (!percent && kn_span_is(name, "ENTRY")) {
            entry = true;
            take(&r, '%');
            name = word(&r);
        }
        if (!name.n) return expected(&r, "a computation");
        KILN_TRY(computation(&r, entry, name));
    }
    if (!out->comps.n) return kn_source_fail(&out->src, text + n, KILN_INVALID, "entry", NULL, "the module has no computations");
    if (!out->entry) out->entry = out->comps.v[out->comps.n - 1];
    return KILN_OK;
}
