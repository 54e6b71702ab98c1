/* SPDX-License-Identifier: Apache-2.0 */
/* How two programs differ. Each becomes lines, an equation one, its bodies more. Lines are aligned by what they say without names (the
 * shortest script of Myers, "An O(ND) difference algorithm", 1986); then both sides get names together: a value of aligned lines has one
 * name, and so has one of lines that stand in each other's place and give the same types. What still reads differently differs. */
#include "cli/difference.h"

#include "array/array.h"
#include "array/text.h"
#include "base/text.h"
#include "ir/print.h"

#include <stdlib.h>

enum { CONTEXT = 3, MOST_EDITS = 3000 };
#define VALUE '\1' /* in the text of a line, before the number of a value, which ends with END */
#define END '\2'

typedef struct line {
    const char *text; /* with values as VALUE number END */
    const char *key;  /* without their numbers */
    size_t result;    /* of the key: up to here what the line gives; 0: nothing */
    uint64_t hash;
    const char *shown;
} line;

typedef struct side {
    kn_arena *arena;
    kiln_ctx *ctx;
    KN_VEC(line) lines;
    uint32_t n_values;
    uint32_t *names; /* per value: letters + 1 */
    kn_text t;
    bool failed;
} side;

/* ---- lines ---- */

static void finish_line(side *s)
{
    line l = {.text = kn_arena_textn(s->arena, s->t.n ? s->t.s : "", s->t.n), .hash = 1469598103934665603u};
    char *key = kn_arena_textn(s->arena, l.text ? l.text : "", l.text ? strlen(l.text) : 0), *to = key;
    if (!l.text || !key || s->t.failed) {
        s->failed = true;
        return;
    }
    for (const char *p = l.text; *p; p++) {
        *to++ = *p;
        if (*p == VALUE)
            while (*p != END) p++;
    }
    *to = 0;
    l.key = key;
    const char *equals = strstr(key, " = ");
    if (equals) l.result = (size_t)(equals - key);
    for (const char *p = key; *p; p++) l.hash = (l.hash ^ (unsigned char)*p) * 1099511628211u;
    s->failed = s->failed || !kn_push(s->arena, &s->lines, l);
    s->t.n = 0;
}

static void indent(side *s, uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++) kn_text_add(&s->t, "  ");
}

static void put_value(side *s, uint32_t number) { kn_text_printf(&s->t, "%c%u%c", VALUE, number, END); }

static void put_binders(side *s, const kn_jaxpr *j, uint32_t base, const uint32_t *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i) kn_text_char(&s->t, ' ');
        put_value(s, base + v[i]);
        kn_text_printf(&s->t, ":%s", kn_type_show(kn_type_of(j, v[i])).s);
    }
}

static void put_atoms(side *s, const kn_jaxpr *j, uint32_t base, const kn_atom *a, uint32_t n, const char *between)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i) kn_text_add(&s->t, between);
        if (!kn_is_literal(a[i])) {
            put_value(s, base + a[i]);
            continue;
        }
        const kn_lit *l = &j->lits[kn_literal_index(a[i])];
        kn_scalar_print(l->dtype, l->value, &s->t);
        kn_text_printf(&s->t, ":%s[]", kiln_dtype_name(l->dtype));
    }
}

static void put_body(side *s, const kn_jaxpr *j, uint32_t depth);

static bool is_bodies(const kn_param *p)
{
    bool all = p->kind == KN_P_TUPLE && p->n > 0;
    for (uint32_t i = 0; all && i < p->n; i++) all = p->items[i].kind == KN_P_JAXPR;
    return all;
}

static void put_body_param(side *s, const kn_param *p, uint32_t depth)
{
    if (p->kind == KN_P_JAXPR) {
        put_body(s, p->jaxpr, depth);
        return;
    }
    for (uint32_t i = 0; i < p->n; i++) {
        if (i) finish_line(s), indent(s, depth + 1);
        put_body(s, p->items[i].jaxpr, depth + 1);
    }
}

static void put_eqn(side *s, const kn_jaxpr *j, uint32_t base, const kn_eqn *e, uint32_t depth)
{
    bool bodies = false, any = false;
    indent(s, depth);
    put_binders(s, j, base, e->out, e->nout);
    kn_text_printf(&s->t, "%s%s", e->nout ? " = " : "", e->prim->name);
    for (uint32_t i = 0; i < e->prim->nparams; i++) bodies = bodies || e->params[i].kind == KN_P_JAXPR || is_bodies(&e->params[i]);
    for (uint32_t i = 0; i < e->prim->nparams; i++) {
        const kn_param *p = &e->params[i];
        if (!kn_param_shows(e, i, false)) continue;
        kn_text_add(&s->t, any ? bodies ? "" : " " : "[");
        any = true;
        if (bodies) finish_line(s), indent(s, depth + 1);
        kn_text_printf(&s->t, "%s=", e->prim->params[i].name);
        if (p->kind == KN_P_JAXPR || is_bodies(p)) put_body_param(s, p, depth + 1);
        else s->failed = s->failed || kn_print_param(s->ctx, p, &s->t) != KILN_OK;
    }
    if (any && bodies) finish_line(s), indent(s, depth);
    kn_text_add(&s->t, any ? "] " : " ");
    put_atoms(s, j, base, e->in, e->nin, " ");
    finish_line(s);
}

static void put_constant(side *s, const kn_jaxpr *j, uint32_t base, uint32_t i, uint32_t depth)
{
    enum { FEW = 8 };
    const kiln_array *a = j->consts[i];
    char text[256] = "without a value";
    indent(s, depth);
    put_binders(s, j, base, &j->in[i], 1);
    if (a) kiln_array_format(a, FEW, text, sizeof text);
    kn_text_printf(&s->t, " = constant %s", text);
    if (a && kiln_type_size(a->type) > FEW) {
        uint64_t hash = 1469598103934665603u;
        for (size_t k = 0; k < a->bytes; k++) hash = (hash ^ ((const unsigned char *)a->data)[k]) * 1099511628211u;
        kn_text_printf(&s->t, ", of all %016llx", (unsigned long long)hash);
    }
    finish_line(s);
}

/* The last line stays open, for what stands behind the body. */
static void put_body(side *s, const kn_jaxpr *j, uint32_t depth)
{
    uint32_t base = s->n_values;
    s->n_values += j->nvars;
    kn_text_add(&s->t, "{ lambda ; ");
    put_binders(s, j, base, j->in + j->nconsts, kn_nargs(j));
    kn_text_add(&s->t, ". let");
    finish_line(s);
    for (uint32_t i = 0; i < j->nconsts; i++) put_constant(s, j, base, i, depth + 1);
    for (uint32_t k = 0; k < j->neqns && !s->failed; k++) put_eqn(s, j, base, &j->eqns[k], depth + 1);
    indent(s, depth);
    kn_text_add(&s->t, "in (");
    put_atoms(s, j, base, j->out, j->nout, ", ");
    kn_text_add(&s->t, j->nout == 1 ? ",) }" : ") }");
}

static void begin(side *s, kiln_ctx *ctx, kn_arena *arena, const cli_side *from)
{
    *s = (side){.arena = arena, .ctx = ctx};
    kn_text_init(&s->t, &ctx->alloc);
    if (from->p) {
        put_body(s, from->p->main, 0);
        finish_line(s);
    }
    for (size_t at = 0; !from->p && at < from->n && !s->failed;) {
        const char *nl = memchr(from->text + at, '\n', from->n - at);
        size_t end = nl ? (size_t)(nl - from->text) : from->n;
        for (size_t k = at; k < end; k++) /* no line holds the marks */
            if (from->text[k] != VALUE && from->text[k] != END) kn_text_addn(&s->t, from->text + k, 1);
        finish_line(s);
        at = end + 1;
    }
    s->names = KN_NEWN(arena, uint32_t, s->n_values + 1);
    s->failed = s->failed || !s->names;
}

/* ---- the script ---- */

typedef struct script {
    const line *a, *b;
    uint32_t na, nb;
    uint32_t *of_a; /* per line of a: number + 1 of its line in b, 0: none */
} script;

static bool same(const line *a, const line *b) { return a->hash == b->hash && strcmp(a->key, b->key) == 0; }

/* Lines lo_a.. and lo_b.. up to hi: furthest reaching paths for each number of edits, all kept, and walked back. */
static bool align(kn_arena *arena, script *s, int64_t lo_a, int64_t hi_a, int64_t lo_b, int64_t hi_b)
{
    int64_t n = hi_a - lo_a, m = hi_b - lo_b, most = n + m < MOST_EDITS ? n + m : MOST_EDITS, found = -1, d;
    int32_t *reach = KN_NEWN(arena, int32_t, 2 * most + 3), *at = reach + most + 1, **kept = kn_arena_newn(arena, (size_t)most + 1, sizeof *kept);
    if (!reach || !kept) return false;
    for (d = 0; d <= most && found < 0; d++) {
        for (int64_t k = -d; k <= d; k += 2) {
            int64_t x = k == -d || (k != d && at[k - 1] < at[k + 1]) ? at[k + 1] : at[k - 1] + 1, y = x - k;
            if (x > n || y > m) {
                at[k] = (int32_t)x;
                continue;
            }
            while (x < n && y < m && same(&s->a[lo_a + x], &s->b[lo_b + y])) x++, y++;
            at[k] = (int32_t)x;
            if (x >= n && y >= m) found = d;
        }
        kept[d] = kn_arena_copy(arena, at - d, (size_t)(2 * d + 1) * sizeof *at);
        if (!kept[d]) return false;
    }
    int64_t x = n, y = m;
    for (d = found; d >= 0; d--) { /* nothing where there are too many edits: all lines differ */
        const int32_t *v = d ? kept[d - 1] + d - 1 : NULL;
        int64_t k = x - y, from = 0, start_x = 0, start_y = 0;
        if (d) {
            bool down = k == -d || (k != d && (k - 1 < 1 - d ? INT32_MIN : v[k - 1]) < (k + 1 > d - 1 ? INT32_MIN : v[k + 1]));
            from = down ? k + 1 : k - 1;
            start_x = v[from], start_y = start_x - from;
            start_x += !down, start_y += down;
        }
        for (; x > start_x && y > start_y; x--, y--) s->of_a[lo_a + x - 1] = (uint32_t)(lo_b + y);
        if (d) x = v[from], y = x - from;
    }
    return true;
}

static bool make_script(kn_arena *arena, script *s)
{
    uint32_t first = 0, last = 0, least = s->na < s->nb ? s->na : s->nb;
    s->of_a = KN_NEWN(arena, uint32_t, s->na + 1);
    if (!s->of_a) return false;
    while (first < least && same(&s->a[first], &s->b[first])) first++, s->of_a[first - 1] = first;
    while (last < least - first && same(&s->a[s->na - 1 - last], &s->b[s->nb - 1 - last])) {
        s->of_a[s->na - 1 - last] = s->nb - last;
        last++;
    }
    return align(arena, s, first, s->na - last, first, s->nb - last);
}

/* ---- names ---- */

static const char *next_value(const char *p, uint32_t *number)
{
    while (p && *p && *p != VALUE) p++;
    if (!p || !*p) return NULL;
    *number = (uint32_t)strtoul(p + 1, NULL, 10);
    return strchr(p, END);
}

/* Values that have no name yet get one, together with those in the same places of the other line; `results`: those of the results alone. */
static void name_line(side *s, const line *l, side *o, const line *other, bool results, uint32_t *n)
{
    const char *p = l->text, *q = other ? other->text : NULL, *equals = strstr(l->text, " = ");
    uint32_t v, w;
    while ((p = next_value(p, &v)) && !(results && p > equals)) {
        if (q) q = next_value(q, &w);
        if (s->names[v]) continue;
        s->names[v] = ++*n;
        if (q && !o->names[w]) o->names[w] = *n;
    }
}

static void show(side *s, line *l)
{
    s->t.n = 0;
    for (const char *p = l->text; *p; p++) {
        if (*p != VALUE) {
            kn_text_addn(&s->t, p, 1);
            continue;
        }
        char name[16], *c = name + sizeof name;
        uint32_t k = s->names[strtoul(p + 1, NULL, 10)] - 1;
        *--c = 0;
        do *--c = (char)('a' + k % 26);
        while (k /= 26);
        kn_text_add(&s->t, c);
        p = strchr(p, END);
    }
    l->shown = kn_arena_textn(s->arena, s->t.n ? s->t.s : "", s->t.n);
    s->failed = s->failed || s->t.failed || !l->shown;
}

typedef struct edit {
    char mark; /* ' ', '-', '+' */
    const char *text;
    uint32_t at[2]; /* number of the line on either side, or of the next one */
} edit;
typedef KN_VEC(edit) edits;

static bool add(kn_arena *arena, edits *out, char mark, const line *l, uint32_t i, uint32_t k)
{
    edit e = {mark, l->shown, {i, k}};
    return kn_push(arena, out, e);
}

/* The lines that do not stand on the other side, from i and k on. */
static void run_of(const script *s, uint32_t i, uint32_t k, uint32_t *ni, uint32_t *nk)
{
    *ni = *nk = 0;
    while (i + *ni < s->na && !s->of_a[i + *ni]) ++*ni;
    *nk = (i + *ni < s->na ? s->of_a[i + *ni] - 1 : s->nb) - k;
}

static bool make_edits(kn_arena *arena, const script *s, side *a, side *b, edits *out)
{
    uint32_t names = 0, i = 0, k = 0;
    bool ok = true;
    while (ok && (i < s->na || k < s->nb)) {
        uint32_t ni, nk;
        run_of(s, i, k, &ni, &nk);
        for (uint32_t q = 0; q < ni || q < nk; q++) {
            line *x = q < ni ? &a->lines.v[i + q] : NULL, *y = q < nk ? &b->lines.v[k + q] : NULL;
            if (x && y && x->result && x->result == y->result && memcmp(x->key, y->key, x->result) == 0) name_line(a, x, b, y, true, &names);
            if (x) name_line(a, x, b, NULL, false, &names), show(a, x);
            if (y) name_line(b, y, a, NULL, false, &names), show(b, y);
        }
        for (uint32_t q = 0; q < ni; q++) ok = ok && add(arena, out, '-', &a->lines.v[i + q], i + q, k);
        for (uint32_t q = 0; q < nk; q++) ok = ok && add(arena, out, '+', &b->lines.v[k + q], i + ni, k + q);
        i += ni, k += nk;
        if (i >= s->na || k >= s->nb || ni || nk) continue;
        line *x = &a->lines.v[i], *y = &b->lines.v[k];
        name_line(a, x, b, y, false, &names);
        show(a, x), show(b, y);
        bool equal = x->shown && y->shown && strcmp(x->shown, y->shown) == 0;
        ok = ok && add(arena, out, equal ? ' ' : '-', x, i, k);
        if (!equal) ok = ok && add(arena, out, '+', y, i + 1, k);
        i++, k++;
    }
    return ok && !a->failed && !b->failed;
}

/* ---- writing ---- */

static void put_hunk(kn_text *t, const edits *e, uint32_t from, uint32_t to)
{
    uint32_t n[2] = {0, 0};
    for (uint32_t i = from; i < to; i++) n[0] += e->v[i].mark != '+', n[1] += e->v[i].mark != '-';
    kn_text_printf(t, "@@ -%u,%u +%u,%u @@\n", e->v[from].at[0] + 1, n[0], e->v[from].at[1] + 1, n[1]);
    for (uint32_t i = from; i < to; i++) kn_text_printf(t, "%c%s\n", e->v[i].mark, e->v[i].text);
}

static bool put_hunks(kn_text *t, const edits *e, const cli_side *a, const cli_side *b)
{
    bool any = false;
    for (uint32_t i = 0; i < e->n; i++) {
        if (e->v[i].mark == ' ') continue;
        uint32_t from = i < CONTEXT ? 0 : i - CONTEXT, last = i, to;
        for (uint32_t k = i; k < e->n && k <= last + 2 * CONTEXT; k++)
            if (e->v[k].mark != ' ') last = k;
        to = last + 1 + CONTEXT < e->n ? last + 1 + CONTEXT : e->n;
        if (!any) kn_text_printf(t, "--- %s\n+++ %s\n", a->name, b->name);
        any = true;
        put_hunk(t, e, from, to);
        i = to - 1;
    }
    return any;
}

int cli_difference(cli *c, const cli_side *a, const cli_side *b)
{
    kn_arena arena;
    side x, y;
    edits e = {0};
    kn_text t;
    kn_arena_init(&arena, &c->ctx->alloc);
    kn_text_init(&t, &c->ctx->alloc);
    begin(&x, c->ctx, &arena, a);
    begin(&y, c->ctx, &arena, b);
    script s = {.a = x.lines.v, .b = y.lines.v, .na = x.lines.n, .nb = y.lines.n};
    bool ok = !x.failed && !y.failed && make_script(&arena, &s) && make_edits(&arena, &s, &x, &y, &e);
    bool differ = ok && put_hunks(&t, &e, a, b);
    int code = !ok || t.failed ? cli_broken(c, "out of memory") : differ ? CLI_NO : CLI_DONE;
    if (code == CLI_NO && cli_write(c, cli_text(c, "output", "-"), t.s, t.n) != KILN_OK) code = cli_fail(c);
    kn_text_fini(&x.t);
    kn_text_fini(&y.t);
    kn_text_fini(&t);
    kn_arena_fini(&arena);
    return code;
}
