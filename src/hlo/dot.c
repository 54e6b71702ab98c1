/* SPDX-License-Identifier: Apache-2.0 */
/* A program as a graph in Graphviz's language: one box an equation, one cluster a body. What a call computes is drawn in its place, so
 * that the edges of operands and results go straight to the boxes inside (fusions, jit); other bodies have inputs and results of
 * their own. A body that stands in more than one place is drawn once, apart. Text and time are linear in the program. */
#include "array/text.h"
#include "base/map.h"
#include "hlo/hlo.h"
#include "ir/print.h"
#include "prim/lowering.h"

enum {
    MOST_TEXT = 48,   /* bytes of a parameter's text that a box shows */
    MOST_LINES = 8,   /* parameters, results, literals: lines of each that a box shows */
    MOST_VALUES = 6,  /* elements of a constant that are shown */
    MANY_BOXES = 1000 /* from here on the layout is told to hurry: in its full care it is cubic */
};

/* Where a value comes from. */
typedef struct end {
    uint32_t node;      /* + 1; 0: a literal */
    uint32_t port;      /* of several results which one, + 1; 0: the only one */
    const kn_jaxpr *j;  /* of the literal */
    kn_atom literal;
} end;

typedef struct met {
    const kn_jaxpr *body;
    const char *name; /* of the equation met first, for the cluster's title */
    uint32_t uses;
    uint32_t cluster, anchor; /* once it is drawn apart: + 1 */
} met;

typedef struct call {
    uint32_t node, body; /* an equation whose body, an index into `met`, is drawn apart */
} call;

typedef struct drawing {
    kiln_ctx *ctx;
    kn_arena arena;
    kn_map index; /* body -> index into met + 1 */
    KN_VEC(met) met;
    KN_VEC(call) calls;
    kn_text *t;
    kn_text edges, piece; /* edges follow the boxes: an edge inside a cluster would draw both its ends into it */
    const kn_prog *prog;
    uint32_t nodes, clusters, depth;
    bool brief;
} drawing;

/* ---- text ---- */

/* Bytes of the character at s, 0 where it is not UTF-8. */
static size_t character(const unsigned char *s, size_t n)
{
    size_t k = *s < 0x80 ? 1 : *s >= 0xc2 && *s < 0xe0 ? 2 : *s >= 0xe0 && *s < 0xf0 ? 3 : *s >= 0xf0 && *s < 0xf5 ? 4 : 0;
    if (k > n) return 0;
    for (size_t i = 1; i < k; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    return k;
}

/* Inside a quoted string; & begins an entity there, and \ a position. */
static void put_escaped(kn_text *t, const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    for (size_t i = 0, k; i < n; i += k ? k : 1) {
        k = character(s + i, n - i);
        if (k == 0 || s[i] < 32 || s[i] == 127) kn_text_char(t, s[i] == '\n' || s[i] == '\t' ? ' ' : '?');
        else if (s[i] == '&') kn_text_add(t, "&amp;");
        else {
            if (s[i] == '"' || s[i] == '\\') kn_text_char(t, '\\');
            kn_text_addn(t, text + i, k);
        }
    }
}

static void put_word(kn_text *t, const char *s) { put_escaped(t, s, strlen(s)); }

/* At most MOST_TEXT bytes of it, whole characters. */
static void put_short(kn_text *t, const char *s, size_t n)
{
    size_t k = n;
    if (n > MOST_TEXT) {
        k = MOST_TEXT - 3;
        while (k && ((unsigned char)s[k] & 0xc0) == 0x80) k--;
    }
    put_escaped(t, s, k);
    if (k < n) kn_text_add(t, "...");
}

static void put_type(drawing *d, kiln_type type)
{
    char small[KN_TYPE_TEXT], *s = small;
    size_t n = kiln_type_format(type, small, sizeof small);
    if (n >= sizeof small) { /* a type of many dimensions */
        s = kn_arena_new(&d->arena, n + 1);
        if (s) kiln_type_format(type, s, n + 1);
        d->t->failed |= !s;
    }
    if (s) kn_text_addn(d->t, s, n);
}

static const kn_text *literal_text(drawing *d, const kn_jaxpr *j, kn_atom a)
{
    const kn_lit *l = &j->lits[kn_literal_index(a)];
    d->piece.n = 0;
    kn_scalar_print(l->dtype, l->value, &d->piece);
    return &d->piece;
}

/* ---- which bodies there are ---- */

typedef void (*body_fn)(drawing *d, void *ud, const kn_jaxpr *body, const char *key, uint32_t k, bool several);

static void each_body(drawing *d, const kn_eqn *e, body_fn f, void *ud)
{
    for (uint32_t i = 0; i < e->prim->nparams; i++) {
        const kn_param *v = &e->params[i];
        const char *key = e->prim->params[i].name;
        if (e->prim->params[i].flags & KN_PARAM_RULE) continue;
        if (v->kind == KN_P_JAXPR) f(d, ud, v->jaxpr, key, 0, false);
        for (uint32_t k = 0; (v->kind == KN_P_TUPLE || v->kind == KN_P_RECORD) && k < v->n; k++)
            if (v->items[k].kind == KN_P_JAXPR) f(d, ud, v->items[k].jaxpr, v->kind == KN_P_RECORD && v->keys ? v->keys[k] : key, k, true);
    }
}

static const char *name_param(const kn_eqn *e)
{
    const kn_param *name = kn_param_of(e, "name");
    return name && name->kind == KN_P_TEXT ? name->text : NULL;
}

static void meet(drawing *d, void *ud, const kn_jaxpr *body, const char *key, uint32_t k, bool several)
{
    const kn_eqn *e = ud;
    uint32_t at = kn_map_get(&d->index, kn_map_address(body));
    (void)key, (void)k, (void)several;
    if (at) {
        d->met.v[at - 1].uses++;
        return;
    }
    met m = {.body = body, .name = name_param(e) ? name_param(e) : e->prim->name, .uses = 1};
    if (!kn_push(&d->arena, &d->met, m) || !kn_map_put(&d->arena, &d->index, kn_map_address(body), d->met.n)) d->t->failed = true;
}

/* Each body once, however many ways lead to it. */
static void meet_all(drawing *d)
{
    const kn_jaxpr *j = d->prog->main;
    for (uint32_t next = 0; !d->t->failed; j = d->met.v[next++].body) {
        for (uint32_t k = 0; k < j->neqns; k++) each_body(d, &j->eqns[k], meet, (void *)(uintptr_t)&j->eqns[k]);
        if (next == d->met.n) break;
    }
}

static met *met_of(drawing *d, const kn_jaxpr *body) { return &d->met.v[kn_map_get(&d->index, kn_map_address(body)) - 1]; }

/* ---- boxes ---- */

static void indent(drawing *d) { kn_text_printf(d->t, "%*s", (int)(2 * d->depth), ""); }

static uint32_t open_node(drawing *d)
{
    indent(d);
    kn_text_printf(d->t, "n%u [label=\"", ++d->nodes);
    return d->nodes;
}

static void close_node(drawing *d, const char *style) { kn_text_printf(d->t, "\"%s%s];\n", *style ? ", " : "", style); }

static void edge(drawing *d, end from, uint32_t to, uint32_t operand)
{
    kn_text_printf(&d->edges, "  n%u -> n%u", from.node, to);
    if (from.port || operand) {
        kn_text_add(&d->edges, " [");
        if (from.port) kn_text_printf(&d->edges, "taillabel=\"%u\"", from.port - 1);
        if (operand) kn_text_printf(&d->edges, "%sheadlabel=\"%u\"", from.port ? ", " : "", operand - 1);
        kn_text_char(&d->edges, ']');
    }
    kn_text_add(&d->edges, ";\n");
}

static uint32_t parameter_node(drawing *d, kiln_type type, uint32_t k, const char *name)
{
    uint32_t n = open_node(d);
    kn_text_printf(d->t, "parameter %u", k);
    if (name && *name) kn_text_add(d->t, "\\n"), put_short(d->t, name, strlen(name));
    kn_text_add(d->t, "\\n");
    put_type(d, type);
    close_node(d, "shape=ellipse, fillcolor=\"#ffd8a8\"");
    return n;
}

static void constant_values(drawing *d, const kiln_array *a)
{
    kiln_dtype t = kiln_array_type(a).dtype;
    int64_t n = kiln_type_size(kiln_array_type(a));
    if (n < 1 || n > MOST_VALUES || !strchr("biufc", kiln_dtype_kind(t))) return;
    kn_text_add(d->t, "\\n");
    for (int64_t i = 0; i < n; i++) {
        d->piece.n = 0;
        kn_scalar_print(t, kn_scalar_load(t, kiln_array_read(a), i), &d->piece);
        if (i) kn_text_char(d->t, ' ');
        put_short(d->t, d->piece.s, d->piece.n);
    }
}

static uint32_t constant_node(drawing *d, kiln_type type, const kiln_array *value)
{
    uint32_t n = open_node(d);
    kn_text_add(d->t, "constant");
    if (value) constant_values(d, value);
    kn_text_add(d->t, "\\n");
    put_type(d, type);
    close_node(d, "style=\"filled,dashed\", fillcolor=\"#eeeeee\"");
    return n;
}

static void result_node(drawing *d, const kn_jaxpr *j, kn_atom a, end from, uint32_t k, const char *name)
{
    uint32_t n = open_node(d);
    kn_text_printf(d->t, "result %u", k);
    if (name && *name) kn_text_add(d->t, "\\n"), put_short(d->t, name, strlen(name));
    if (!from.node) {
        const kn_text *s = literal_text(d, from.j, from.literal);
        kn_text_add(d->t, "\\n");
        put_short(d->t, s->s, s->n);
    }
    kn_text_add(d->t, "\\n");
    put_type(d, kn_type_of(j, a));
    close_node(d, "shape=ellipse, penwidth=2, fillcolor=\"#c3e6c3\"");
    if (from.node) edge(d, from, n, 0);
}

static bool is_body(const kn_param *v)
{
    if (v->kind == KN_P_JAXPR) return true;
    bool any = false;
    for (uint32_t i = 0; (v->kind == KN_P_TUPLE || v->kind == KN_P_RECORD) && i < v->n; i++) any |= v->items[i].kind == KN_P_JAXPR;
    return any;
}

static kiln_status put_params(drawing *d, const kn_eqn *e)
{
    uint32_t lines = 0;
    for (uint32_t i = 0; i < e->prim->nparams; i++) {
        const kn_param *v = &e->params[i];
        if (v->kind == KN_P_NONE || is_body(v) || !kn_param_shows(e, i, d->prog->old_dialect)) continue;
        if (lines++ == MOST_LINES) {
            kn_text_add(d->t, "\\n...");
            return KILN_OK;
        }
        d->piece.n = 0;
        KILN_TRY(kn_print_param(d->ctx, v, &d->piece));
        kn_text_printf(d->t, "\\n%s=", e->prim->params[i].name);
        put_short(d->t, d->piece.s, d->piece.n);
    }
    return KILN_OK;
}

static void put_literals(drawing *d, const kn_eqn *e, const end *in)
{
    uint32_t lines = 0;
    for (uint32_t i = 0; i < e->nin; i++) {
        if (in[i].node) continue;
        if (lines++ == MOST_LINES) {
            kn_text_add(d->t, "\\n...");
            return;
        }
        const kn_text *s = literal_text(d, in[i].j, in[i].literal);
        kn_text_printf(d->t, "\\noperand %u = ", i);
        put_short(d->t, s->s, s->n);
    }
}

static void put_results(drawing *d, const kn_jaxpr *j, const kn_eqn *e)
{
    for (uint32_t i = 0; i < e->nout; i++) {
        kn_text_add(d->t, "\\n");
        if (i == MOST_LINES) {
            kn_text_printf(d->t, "... %u results", e->nout);
            return;
        }
        if (e->nout > 1) kn_text_printf(d->t, "%u: ", i);
        put_type(d, j->vars[e->out[i]].type);
    }
}

/* What the equation does to arrays decides its colour. */
static const char *style_of(const kn_eqn *e)
{
    static const char *const styles[] = {
        [KN_LOOP_NONE] = "",
        [KN_LOOP_ELEMENT] = "fillcolor=\"#fff6c8\"",
        [KN_LOOP_PARTS] = "fillcolor=\"#fff6c8\"",
        [KN_LOOP_REDUCE] = "fillcolor=\"#e5d5f5\"",
        [KN_LOOP_CUMULATE] = "fillcolor=\"#e5d5f5\"",
        [KN_LOOP_DOT] = "fillcolor=\"#c9dff7\"",
        [KN_LOOP_CONV] = "fillcolor=\"#c9dff7\"",
        [KN_LOOP_UPDATE] = "fillcolor=\"#d5efe6\"",
        [KN_LOOP_SCATTER] = "fillcolor=\"#d5efe6\"",
        [KN_LOOP_WHILE] = "fillcolor=\"#dddddd\"",
        [KN_LOOP_COND] = "fillcolor=\"#dddddd\"",
        [KN_LOOP_SORT] = "peripheries=2, fillcolor=\"#f9cfd6\"",
        [KN_LOOP_CALL] = "peripheries=2, fillcolor=\"#f9cfd6\"",
    };
    if (e->prim->flags & KN_MOVES) return styles[KN_LOOP_UPDATE];
    return styles[e->prim->loop == KN_LOOP_NONE && e->prim->flags & KN_ELEMENTWISE ? KN_LOOP_ELEMENT : e->prim->loop];
}

/* Shown where the pointer rests: scope and source. */
static void put_place(drawing *d, const kn_eqn *e)
{
    const char *scope = d->prog->scopes.v[e->scope], *file = d->prog->files.v[e->loc.file];
    if (!*scope && !e->loc.line) return;
    kn_text_add(d->t, "\", tooltip=\"");
    put_word(d->t, scope);
    if (*scope && e->loc.line) kn_text_char(d->t, ' ');
    if (e->loc.line) put_word(d->t, file), kn_text_printf(d->t, ":%u:%u", e->loc.line, e->loc.column);
}

static kiln_status box(drawing *d, const kn_jaxpr *j, const kn_eqn *e, const end *in, uint32_t *out)
{
    const char *name = name_param(e);
    uint32_t n = *out = open_node(d);
    kn_text_add(d->t, e->prim->name);
    if (name && d->brief) kn_text_char(d->t, ' '), put_short(d->t, name, strlen(name));
    if (!d->brief) KILN_TRY(put_params(d, e));
    put_literals(d, e, in);
    put_results(d, j, e);
    put_place(d, e);
    close_node(d, style_of(e));
    bool order = e->nin > 1 && !(e->prim->flags & KN_COMMUTES);
    for (uint32_t i = 0; i < e->nin; i++)
        if (in[i].node) edge(d, in[i], n, order ? i + 1 : 0);
    return KILN_OK;
}

/* ---- bodies ---- */

static uint32_t open_cluster(drawing *d)
{
    indent(d);
    kn_text_printf(d->t, "subgraph cluster_%u {\n", ++d->clusters);
    d->depth++;
    indent(d);
    kn_text_add(d->t, "label=\"");
    return d->clusters;
}

static void close_cluster(drawing *d)
{
    d->depth--;
    indent(d);
    kn_text_add(d->t, "}\n");
}

static kiln_status draw_eqn(drawing *d, const kn_jaxpr *j, const kn_eqn *e, end *ends);

static end end_of(const kn_jaxpr *j, const end *ends, kn_atom a)
{
    return kn_is_literal(a) ? (end){.j = j, .literal = a} : ends[a];
}

static kiln_status draw_eqns(drawing *d, const kn_jaxpr *j, end *ends)
{
    if (d->depth > 2 * KN_MAX_NESTING) return kn_fail(d->ctx, KILN_UNSUPPORTED, "bodies are nested more than %d deep", KN_MAX_NESTING);
    for (uint32_t i = 0; i < j->nconsts; i++) ends[j->in[i]].node = constant_node(d, j->vars[j->in[i]].type, j->consts[i]);
    for (uint32_t k = 0; k < j->neqns; k++) KILN_TRY(draw_eqn(d, j, &j->eqns[k], ends));
    return d->t->failed || d->edges.failed || d->piece.failed ? kn_nomem(d->ctx) : KILN_OK;
}

/* With inputs and results of its own; they have the program's names where it is the whole. */
static kiln_status draw_closed(drawing *d, const kn_jaxpr *j, uint32_t *anchor)
{
    bool whole = j == d->prog->main;
    const char *const *in = whole ? d->prog->in_names : NULL, *const *out = whole ? d->prog->out_names : NULL;
    end *ends = KN_NEWN(&d->arena, end, j->nvars);
    KILN_TRY_MEM(d->ctx, ends);
    *anchor = d->nodes + 1;
    for (uint32_t i = j->nconsts; i < j->nin; i++) {
        uint32_t k = i - j->nconsts;
        ends[j->in[i]].node = parameter_node(d, j->vars[j->in[i]].type, k, in ? in[k] : NULL);
    }
    KILN_TRY(draw_eqns(d, j, ends));
    for (uint32_t i = 0; i < j->nout; i++) result_node(d, j, j->out[i], end_of(j, ends, j->out[i]), i, out ? out[i] : NULL);
    if (*anchor > d->nodes) { /* nothing to see, but something that an edge can lead to */
        open_node(d);
        close_node(d, "shape=point");
    }
    return KILN_OK;
}

static void to_body(drawing *d, uint32_t node, uint32_t cluster, uint32_t anchor)
{
    kn_text_printf(&d->edges, "  n%u -> n%u [style=dashed, lhead=cluster_%u];\n", node, anchor, cluster);
}

typedef struct around {
    uint32_t node;
    kiln_status status;
} around;

static void draw_body(drawing *d, void *ud, const kn_jaxpr *body, const char *key, uint32_t k, bool several)
{
    around *a = ud;
    uint32_t at = kn_map_get(&d->index, kn_map_address(body)) - 1, anchor;
    if (a->status != KILN_OK) return;
    if (d->met.v[at].uses > 1) {
        call c = {a->node, at};
        if (!kn_push(&d->arena, &d->calls, c)) a->status = kn_nomem(d->ctx);
        return;
    }
    uint32_t cluster = open_cluster(d);
    put_word(d->t, key);
    if (several) kn_text_printf(d->t, " %u", k);
    kn_text_add(d->t, "\"; style=dotted;\n");
    a->status = draw_closed(d, body, &anchor);
    close_cluster(d);
    to_body(d, a->node, cluster, anchor);
}

/* The equations of a call where it stands. */
static kiln_status draw_call(drawing *d, const kn_jaxpr *j, const kn_eqn *e, const kn_jaxpr *body, end *ends)
{
    end *inner = KN_NEWN(&d->arena, end, body->nvars);
    const char *name = name_param(e);
    bool nest = name && strncmp(name, "fused_", 6) == 0;
    KILN_TRY_MEM(d->ctx, inner);
    for (uint32_t i = 0; i < e->nin; i++) inner[body->in[body->nconsts + i]] = end_of(j, ends, e->in[i]);
    if (body->neqns || body->nconsts) {
        open_cluster(d);
        kn_text_add(d->t, nest ? "fusion" : e->prim->name);
        if (name) kn_text_char(d->t, ' '), put_short(d->t, name, strlen(name));
        kn_text_printf(d->t, "\"; style=\"filled,rounded\"; fillcolor=\"%s\";\n", nest ? "#eef4ff" : "#f7f7f7");
        KILN_TRY(draw_eqns(d, body, inner));
        close_cluster(d);
    }
    for (uint32_t i = 0; i < e->nout; i++) ends[e->out[i]] = end_of(body, inner, body->out[i]);
    return KILN_OK;
}

static void note_body(drawing *d, void *ud, const kn_jaxpr *body, const char *key, uint32_t k, bool several)
{
    (void)key, (void)k, (void)several;
    if (met_of(d, body)->uses == 1) *(bool *)ud = true;
}

static kiln_status draw_eqn(drawing *d, const kn_jaxpr *j, const kn_eqn *e, end *ends)
{
    const kn_jaxpr *body = kn_called(e);
    bool inside = false;
    if (body && met_of(d, body)->uses == 1) return draw_call(d, j, e, body, ends);
    each_body(d, e, note_body, &inside);
    end *in = KN_NEWN(&d->arena, end, e->nin);
    KILN_TRY_MEM(d->ctx, in);
    for (uint32_t i = 0; i < e->nin; i++) in[i] = end_of(j, ends, e->in[i]);
    around a = {.status = KILN_OK};
    if (inside) {
        open_cluster(d);
        kn_text_printf(d->t, "%s\"; style=rounded;\n", e->prim->name);
    }
    KILN_TRY(box(d, j, e, in, &a.node));
    each_body(d, e, draw_body, &a);
    if (inside) close_cluster(d);
    for (uint32_t i = 0; i < e->nout; i++) ends[e->out[i]] = (end){.node = a.node, .port = e->nout > 1 ? i + 1 : 0};
    return a.status;
}

/* Bodies that stand in several places, and the edges that lead to them. */
static kiln_status draw_apart(drawing *d)
{
    for (uint32_t i = 0; i < d->met.n; i++) {
        met *m = &d->met.v[i];
        if (m->uses == 1) continue;
        m->cluster = open_cluster(d);
        put_short(d->t, m->name, strlen(m->name));
        kn_text_printf(d->t, ", in %u places\"; style=\"filled,rounded\"; fillcolor=\"#f7f7f7\";\n", m->uses);
        KILN_TRY(draw_closed(d, m->body, &m->anchor));
        close_cluster(d);
    }
    for (uint32_t i = 0; i < d->calls.n; i++) {
        const met *m = &d->met.v[d->calls.v[i].body];
        to_body(d, d->calls.v[i].node, m->cluster, m->anchor);
    }
    return KILN_OK;
}

static kiln_status draw(drawing *d)
{
    uint32_t anchor;
    meet_all(d);
    if (d->t->failed) return kn_nomem(d->ctx);
    kn_text_add(d->t, "digraph \"");
    put_word(d->t, d->prog->name ? d->prog->name : "program");
    kn_text_add(d->t, "\" {\n  graph [compound=true, fontname=\"Helvetica\", fontsize=11, labeljust=l, nodesep=0.2, ranksep=0.35");
    kn_text_add(d->t, "];\n  node [shape=box, style=filled, fillcolor=\"#ffffff\", fontname=\"Helvetica\", fontsize=10, margin=\"0.08,0.04\"];\n"
                      "  edge [fontname=\"Helvetica\", fontsize=8, arrowsize=0.6, labeldistance=1.4, labelangle=30];\n");
    d->depth = 1;
    KILN_TRY(draw_closed(d, d->prog->main, &anchor));
    KILN_TRY(draw_apart(d));
    if (d->edges.failed || d->piece.failed) return kn_nomem(d->ctx);
    kn_text_addn(d->t, d->edges.n ? d->edges.s : "", d->edges.n);
    if (d->nodes >= MANY_BOXES) kn_text_add(d->t, "  splines=line; nslimit=0.1; nslimit1=0.1; mclimit=0.1; searchsize=5;\n");
    kn_text_add(d->t, "}\n");
    return d->t->failed ? kn_nomem(d->ctx) : KILN_OK;
}

kiln_status kn_dot_print(kiln_ctx *ctx, const kn_prog *p, bool brief, kn_text *t, uint32_t *nboxes)
{
    drawing d = {.ctx = ctx, .prog = p, .brief = brief, .t = t};
    kn_arena_init(&d.arena, &ctx->alloc);
    kn_text_init(&d.edges, &ctx->alloc);
    kn_text_init(&d.piece, &ctx->alloc);
    kiln_status status = draw(&d);
    if (nboxes) *nboxes = d.nodes;
    kn_text_fini(&d.edges);
    kn_text_fini(&d.piece);
    kn_arena_fini(&d.arena);
    return status;
}
