/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, texts, choices, names. */
#include "graph/reader.h"

#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

kiln_status kn_read_error(kn_reader *r, kn_kind kind, kn_spot at, const char *accepted, const char *fmt, ...)
{
    char text[KILN_DIAG_TEXT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return kn_graph_fail(r->ctx, r->g, kind, at, accepted, "%s", text);
}

const char *kn_did_you_mean(kn_reader *r, const char *word, const char *const *names, size_t n)
{
    const char *near = kn_nearest(word, names, n);
    const char *text = near ? kn_arena_printf(&r->scratch, " (did you mean '%.64s'?)", near) : "";
    return text ? text : "";
}

const char *kn_read_list(kn_reader *r, const char *const *names, size_t n)
{
    kn_text t;
    kn_text_init(&t, &r->ctx->alloc);
    for (size_t i = 0; i < n; i++) {
        if (i) kn_text_add(&t, ", ");
        kn_text_add(&t, names[i]);
    }
    const char *s = t.failed || !t.s ? NULL : kn_arena_text(&r->scratch, t.s);
    kn_text_fini(&t);
    return s ? s : "";
}

static size_t count_names(const char *const *names)
{
    size_t n = 0;
    while (names[n]) n++;
    return n;
}

kiln_status kn_read_keys(kn_reader *r, const kn_yaml *y, const char *const *keys, const char *what)
{
    if (y->kind != KN_YAML_MAP)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "a mapping", "%s must be a mapping, found %s", what,
                             kn_yaml_kind_name(y));
    for (uint32_t i = 0; i < y->n; i++) {
        const kn_yaml *k = y->pairs[i].key;
        size_t n = count_names(keys);
        bool known = false;
        for (size_t j = 0; j < n; j++) known = known || strcmp(keys[j], k->text) == 0;
        if (!known)
            return kn_read_error(r, KN_KIND_UNKNOWN_KEY, k->at, kn_read_list(r, keys, n), "'%.64s' is no key of %s%s",
                                 k->text, what, kn_did_you_mean(r, k->text, keys, n));
    }
    return KILN_OK;
}

/* ---- names ---- */

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool kn_is_name(const char *s, size_t n)
{
    if (n == 0 || !is_letter(*s)) return false;
    for (size_t i = 1; i < n; i++)
        if (!is_letter(s[i]) && !(s[i] >= '0' && s[i] <= '9')) return false;
    return true;
}

kiln_status kn_read_node_name(kn_reader *r, const char *name, size_t n, kn_spot at, uint32_t *out)
{
    char few[64], *word = few;
    if (n >= sizeof few) KILN_TRY_MEM(r->ctx, word = kn_arena_new(&r->scratch, n + 1));
    memcpy(word, name, n);
    word[n] = 0;
    int64_t id = kn_names_find(&r->node_ids, word);
    if (id >= 0) {
        *out = (uint32_t)id;
        return KILN_OK;
    }
    const char **names = KN_NEWN(&r->scratch, const char *, r->nodes.n);
    KILN_TRY_MEM(r->ctx, names);
    for (uint32_t i = 0; i < r->nodes.n; i++) names[i] = r->nodes.v[i].name;
    const char *all = r->nodes.n <= 12 ? kn_read_list(r, names, r->nodes.n) : NULL;
    return kn_read_error(r, KN_KIND_UNKNOWN_NODE, at, all, "no node '%.64s'%s", word,
                         kn_did_you_mean(r, word, names, r->nodes.n));
}

/* Cell names: constants are returned as values. */
static bool resolve_cell(const kn_scope *s, const char *name, kiln_expr_name *out)
{
    static const char axes[] = "ijk", extents[] = "xyz";
    const kn_node *n = s->cells;
    kn_shape cells = kn_node_cells(n);
    if (n->type->cells == KN_CELLS_ROD) {
        if (strcmp(name, "i") == 0) *out = (kiln_expr_name){.is_var = true, .var = KN_VAR_I};
        else if (strcmp(name, "x") == 0 && !s->no_x) *out = (kiln_expr_name){.is_var = true, .var = KN_VAR_X};
        else if (strcmp(name, "n") == 0) *out = (kiln_expr_name){.value = (double)cells.dim[0]};
        else if (strcmp(name, "L") == 0) *out = (kiln_expr_name){.value = kn_node_number(n, "length")};
        else return false;
        return true;
    }
    for (int a = 0; n->type->cells == KN_CELLS_GRID && a < cells.rank && a < 3; a++) {
        bool axis = name[0] == axes[a] && !name[1], extent = name[0] == 'n' && name[1] == extents[a] && !name[2];
        if (axis) *out = (kiln_expr_name){.is_var = true, .var = (uint32_t)(KN_VAR_I + a)};
        else if (extent) *out = (kiln_expr_name){.value = (double)cells.dim[a]};
        if (axis || extent) return true;
    }
    return false;
}

/* A correction's names: dt, state fields, inputs of the base. */
static bool resolve_field(const kn_node *base, const char *name, kiln_expr_name *out)
{
    int field = kn_node_field(base, name), input = kn_node_input(base, name);
    int var = strcmp(name, "dt") == 0 ? 0
              : field >= 0            ? 1 + field
              : input >= 0            ? 1 + base->type->n_state + input
                                      : -1;
    *out = (kiln_expr_name){.is_var = true, .var = (uint32_t)(KN_VAR_FIRST_FIELD + var)};
    return var >= 0;
}

static bool resolve_place(const kn_scope *s, const char *name, kiln_expr_name *out)
{
    if (s->fields && resolve_field(s->fields, name, out)) return true;
    if (s->cells && resolve_cell(s, name, out)) return true;
    if (s->time && (strcmp(name, "t") == 0 || strcmp(name, "step") == 0)) {
        *out = (kiln_expr_name){.is_var = true, .var = name[1] ? KN_VAR_STEP : KN_VAR_TIME};
        return true;
    }
    *out = (kiln_expr_name){0};
    if (s->timestep && strcmp(name, "timestep") == 0) out->value = *s->timestep;
    else if (s->member && strcmp(name, "b") == 0) out->value = s->member[0];
    else if (s->member && strcmp(name, "B") == 0) out->value = s->member[1];
    else return false;
    return true;
}

static const char *near_name(kn_resolver *q, const char *name)
{
    kn_reader *r = q->r;
    uint32_t n_loop = q->scope->loop ? q->scope->loop->n : 0, n = 0;
    const char **names = KN_NEWN(&r->scratch, const char *, r->lets.n + n_loop + 1);
    for (uint32_t i = 0; names && i < r->lets.n; i++) names[n++] = r->lets.v[i].name;
    for (uint32_t i = 0; names && i < n_loop; i++) names[n++] = q->scope->loop->names[i];
    if (names && q->scope->timestep) names[n++] = "timestep";
    return names ? kn_nearest(name, names, n) : NULL;
}

bool kn_resolve(void *ud, const char *name, kiln_expr_name *out)
{
    kn_resolver *q = ud;
    if (resolve_place(q->scope, name, out)) return true;
    const kn_loop *loop = q->scope->loop;
    for (uint32_t i = loop ? loop->n : 0; i-- > 0;)
        if (strcmp(loop->names[i], name) == 0) {
            *out = (kiln_expr_name){.value = (double)loop->values[i]};
            return true;
        }
    int64_t id = kn_names_find(&q->r->let_ids, name);
    if (id >= 0) {
        *out = (kiln_expr_name){.value = q->r->lets.v[id].value};
        return true;
    }
    *out = (kiln_expr_name){.hint = near_name(q, name)};
    return false;
}

/* ---- expressions and numbers ---- */

typedef struct located {
    const kn_reader *r;
    const kn_yaml *y;
} located;

static void locate(void *ud, size_t offset, int *line, int *column)
{
    const located *l = ud;
    kn_spot s = kn_yaml_locate(l->r->g, l->y, offset);
    *line = (int)s.line;
    *column = (int)s.column;
}

kiln_status kn_read_parsed(kn_reader *r, const kn_yaml *y, const kiln_expr_text *src, kiln_expr **out)
{
    kiln_status s = kiln_expr_parse(r->ctx, src, out);
    kiln_diag *d = &r->ctx->error;
    if (s == KILN_INVALID && !d->accepted[0] && kn_yaml_cut_by_comma(r->g, y))
        snprintf(d->accepted, sizeof d->accepted, "quotes around the whole: inside { } and [ ] a comma ends the value");
    return s;
}

static kiln_status parse_and_bind(kn_reader *r, const kn_yaml *y, const kiln_expr_text *src, const kn_scope *scope, kiln_expr **out)
{
    kiln_expr *e;
    KILN_TRY(kn_read_parsed(r, y, src, &e));
    kiln_status s = kiln_expr_bind(r->ctx, e, kn_resolve, &(kn_resolver){r, scope});
    if (s == KILN_OK) *out = e;
    else kiln_expr_release(e);
    return s;
}

static kiln_expr_text text_of(kn_reader *r, const kn_yaml *y, located *l, kn_arena *arena)
{
    const kn_source_file *f = &r->g->files[y->at.file];
    *l = (located){r, y};
    return (kiln_expr_text){.size = sizeof(kiln_expr_text),
                            .text = y->text,
                            .n = y->n,
                            .file = f->name,
                            .source = f->text,
                            .locate = locate,
                            .ud = l,
                            .arena = arena};
}

kiln_status kn_read_expr(kn_reader *r, const kn_yaml *y, const kn_scope *scope, kn_arena *arena, kiln_expr **out)
{
    located l;
    kiln_expr_text src = text_of(r, y, &l, arena);
    return parse_and_bind(r, y, &src, scope, out);
}

/* MADDENING's JSON has no literals for these. */
bool kn_quoted_number(const kn_yaml *y, double *out)
{
    if (!kn_yaml_quoted(y)) return false;
    if (strcmp(y->text, "NaN") == 0) *out = NAN;
    else if (strcmp(y->text, "Infinity") == 0) *out = INFINITY;
    else if (strcmp(y->text, "-Infinity") == 0) *out = -INFINITY;
    else return false;
    return true;
}

kiln_status kn_read_number(kn_reader *r, const kn_yaml *y, const kn_scope *scope, const char *what, double *out)
{
    if (y->kind == KN_YAML_NUMBER || y->kind == KN_YAML_INT) {
        *out = y->number;
        return KILN_OK;
    }
    if (y->kind != KN_YAML_TEXT)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "a number or an expression",
                             "%.64s must be a number, found %s", what, kn_yaml_kind_name(y));
    if (scope->long_form && kn_quoted_number(y, out)) return KILN_OK;
    kiln_expr *e;
    KILN_TRY(kn_read_expr(r, y, scope, NULL, &e));
    bool constant = kiln_expr_constant(e, out);
    kiln_expr_release(e);
    if (!constant)
        return kn_read_error(r, KN_KIND_SHAPE_MISMATCH, y->at, "an expression without names of cells",
                             "%.64s must be one number", what);
    return KILN_OK;
}

kiln_status kn_read_int(kn_reader *r, const kn_yaml *y, const kn_scope *scope, const char *what, int64_t *out)
{
    double v;
    KILN_TRY(kn_read_number(r, y, scope, what, &v));
    if (!(fabs(v) < 9007199254740992.0 && v == floor(v)))
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "an integer", "%.64s must be an integer, found %g", what,
                             v);
    *out = (int64_t)v;
    return KILN_OK;
}

kiln_status kn_read_bool(kn_reader *r, const kn_yaml *y, const char *what, bool *out)
{
    if (y->kind != KN_YAML_BOOL)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "true or false", "%s is true or false, found %s", what,
                             kn_yaml_kind_name(y));
    *out = y->truth;
    return KILN_OK;
}

kiln_status kn_read_choice(kn_reader *r, const kn_yaml *y, const char *const *choices, const char *what, int *out)
{
    int n = 0;
    for (; choices[n]; n++)
        if (y->kind == KN_YAML_TEXT && strcmp(choices[n], y->text) == 0) {
            *out = n;
            return KILN_OK;
        }
    bool scalar = y->kind < KN_YAML_LIST;
    return kn_read_error(r, KN_KIND_BAD_VALUE, y->at, kn_read_list(r, choices, (size_t)n), "%s cannot be %s%.64s%s%s",
                         what, scalar ? "'" : "", scalar ? y->text : kn_yaml_kind_name(y), scalar ? "'" : "",
                         scalar ? kn_did_you_mean(r, y->text, choices, (size_t)n) : "");
}

/* ---- text ---- */

kiln_status kn_read_plain(kn_reader *r, const kn_yaml *y, const char *what, const char **out)
{
    if (y->kind != KN_YAML_TEXT)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "text", "%.64s must be text, found %s", what,
                             kn_yaml_kind_name(y));
    KILN_TRY_MEM(r->ctx, *out = kn_arena_text(r->arena, y->text));
    return KILN_OK;
}

typedef struct inside {
    located l;
    size_t offset;
} inside;

static void locate_inside(void *ud, size_t offset, int *line, int *column)
{
    inside *i = ud;
    locate(&i->l, i->offset + offset, line, column);
}

/* A piece of a scalar's text as one number. */
static kiln_status number_inside(kn_reader *r, const kn_yaml *y, size_t offset, size_t n, const kn_scope *scope,
                                 double *out)
{
    inside i = {.offset = offset};
    kiln_expr_text src = text_of(r, y, &i.l, NULL);
    src.text = n ? y->text + offset : "";
    src.n = n;
    src.locate = locate_inside;
    src.ud = &i;
    kiln_expr *e;
    KILN_TRY(parse_and_bind(r, y, &src, scope, &e));
    bool constant = kiln_expr_constant(e, out);
    kiln_expr_release(e);
    if (!constant)
        return kn_read_error(r, KN_KIND_SHAPE_MISMATCH, kn_yaml_locate(r->g, y, offset), NULL,
                             "this must be one number");
    return KILN_OK;
}

static kiln_status add_text(kn_reader *r, const char *s, size_t n)
{
    KILN_TRY_MEM(r->ctx, kn_reserve(&r->scratch, &r->text, n + 1));
    memcpy(r->text.v + r->text.n, s, n);
    r->text.n += (uint32_t)n;
    r->text.v[r->text.n] = 0;
    return KILN_OK;
}

static kiln_status add_segment(kn_reader *r, size_t in, bool replaced)
{
    kn_segment s = {r->text.n, (uint32_t)in, replaced};
    KILN_TRY_MEM(r->ctx, kn_push(&r->scratch, &r->segments, s));
    return KILN_OK;
}

kiln_status kn_read_text(kn_reader *r, const kn_yaml *y, const kn_scope *scope, const char *what, kn_words *out)
{
    if (y->kind != KN_YAML_TEXT)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "text", "%s must be text, found %s", what,
                             kn_yaml_kind_name(y));
    r->text.n = r->segments.n = 0;
    const char *text = y->text;
    size_t from = 0;
    for (const char *open = strchr(text, '{'); open; open = strchr(open + 1, '{')) {
        size_t n = strcspn(open + 1, "{}");
        if (open[1 + n] != '}') continue;
        size_t at = (size_t)(open - text);
        double v;
        KILN_TRY(number_inside(r, y, at + 1, n, scope, &v));
        char digits[400];
        int length = v == floor(v) && isfinite(v) ? snprintf(digits, sizeof digits, "%.0f", v)
                                                  : (int)kn_double_repr(v, digits);
        KILN_TRY(add_segment(r, from, false));
        KILN_TRY(add_text(r, text + from, at - from));
        KILN_TRY(add_segment(r, at, true));
        KILN_TRY(
            add_text(r, strcmp(digits, "-0") == 0 ? "0" : digits, strcmp(digits, "-0") == 0 ? 1 : (size_t)length));
        from = at + n + 2;
    }
    KILN_TRY(add_segment(r, from, false));
    KILN_TRY(add_text(r, text + from, y->n - from));
    *out = (kn_words){y, r->text.v, r->text.n};
    return KILN_OK;
}

kn_spot kn_words_spot(const kn_reader *r, const kn_words *w, size_t offset)
{
    uint32_t i = r->segments.n - 1;
    while (i > 0 && r->segments.v[i].out > offset) i--;
    const kn_segment *s = &r->segments.v[i];
    return kn_yaml_locate(r->g, w->y, s->replaced ? s->in : s->in + (offset - s->out));
}

/* ---- for ---- */

typedef struct part {
    const char *name;
    size_t low, n_low, high, n_high; /* the two ends, in the text */
} part;

static kiln_status for_syntax(kn_reader *r, const kn_yaml *y)
{
    return kn_read_error(r, KN_KIND_EXPRESSION_SYNTAX, y->at, "i in 0..9, or i in 0..3, j in 0..i",
                         "`for` must be like 'i in 0..9'");
}

/* `name in low..high` in text[at, end) */
static kiln_status read_part(kn_reader *r, const kn_yaml *y, size_t at, size_t end, part *out)
{
    const char *s = y->text;
    while (at < end && s[at] == ' ') at++;
    size_t name = at;
    while (at < end && (is_letter(s[at]) || (s[at] >= '0' && s[at] <= '9'))) at++;
    if (!kn_is_name(s + name, at - name)) return for_syntax(r, y);
    KILN_TRY_MEM(r->ctx, out->name = kn_arena_textn(&r->scratch, s + name, at - name));
    size_t gap = at;
    while (at < end && s[at] == ' ') at++;
    if (at == gap || end - at < 3 || memcmp(s + at, "in ", 3) != 0) return for_syntax(r, y);
    out->low = at + 3;
    size_t dots = out->low;
    while (dots + 1 < end && !(s[dots] == '.' && s[dots + 1] == '.')) dots++;
    if (dots + 1 >= end) return for_syntax(r, y);
    out->n_low = dots - out->low;
    out->high = dots + 2;
    out->n_high = end - out->high;
    return KILN_OK;
}

static kiln_status read_end(kn_reader *r, const kn_yaml *y, size_t at, size_t n, const kn_scope *scope, int64_t *out)
{
    double v;
    KILN_TRY(number_inside(r, y, at, n, scope, &v));
    while (n && y->text[at] == ' ') at++, n--;
    if (!(fabs(v) < 9007199254740992.0 && v == floor(v)))
        return kn_read_error(r, KN_KIND_WRONG_TYPE, kn_yaml_locate(r->g, y, at), "an integer",
                             "the ends of a `for` are integers, found %g", v);
    *out = (int64_t)v;
    return KILN_OK;
}

/* Repeats every set of values so far over one more name. */
static kiln_status multiply(kn_reader *r, const kn_yaml *y, const part *p, kn_loops *l)
{
    const char **names = KN_NEWN(&r->scratch, const char *, l->n_names + 1);
    KILN_TRY_MEM(r->ctx, names);
    for (uint32_t i = 0; i < l->n_names; i++) names[i] = l->names[i];
    names[l->n_names] = p->name;
    KN_VEC(int64_t) values = {0};
    size_t rounds = 0;
    uint32_t width = l->n_names + 1;
    for (size_t k = 0; k < l->n_rounds; k++) {
        kn_loop loop = kn_loops_at(l, k);
        kn_scope scope = {.loop = &loop};
        int64_t low, high;
        KILN_TRY(read_end(r, y, p->low, p->n_low, &scope, &low));
        KILN_TRY(read_end(r, y, p->high, p->n_high, &scope, &high));
        if (high < low) continue;
        if (high - low >= KN_FOR_MOST - (int64_t)rounds)
            return kn_read_error(r, KN_KIND_TOO_LARGE, y->at, NULL, "more than %d repetitions", KN_FOR_MOST);
        size_t n = (size_t)(high - low + 1);
        if ((rounds + n) * width > UINT32_MAX / 2)
            return kn_read_error(r, KN_KIND_TOO_LARGE, y->at, NULL, "too many names in one `for`");
        KILN_TRY_MEM(r->ctx, kn_reserve(&r->scratch, &values, n * width));
        for (size_t i = 0; i < n; i++) {
            for (uint32_t j = 0; j < l->n_names; j++) values.v[values.n++] = loop.values[j];
            values.v[values.n++] = low + (int64_t)i;
        }
        rounds += n;
    }
    *l = (kn_loops){names, width, values.v, rounds};
    return KILN_OK;
}

kiln_status kn_read_for(kn_reader *r, const kn_yaml *y, kn_loops *out)
{
    *out = (kn_loops){.n_rounds = 1};
    if (!y) return KILN_OK;
    if (y->kind != KN_YAML_TEXT)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "i in 0..9",
                             "`for` must be text like 'i in 0..9', found %s", kn_yaml_kind_name(y));
    int depth = 0;
    for (size_t i = 0, from = 0; i <= y->n; i++) { /* commas inside parentheses belong to the ends */
        char c = y->text[i];
        depth += (c == '(') - (c == ')');
        if (i < y->n && !(c == ',' && depth == 0)) continue;
        part p = {0};
        KILN_TRY(read_part(r, y, from, i, &p));
        KILN_TRY(multiply(r, y, &p, out));
        from = i + 1;
    }
    return KILN_OK;
}

kn_loop kn_loops_at(const kn_loops *l, size_t round)
{
    return (kn_loop){l->names, l->values ? l->values + round * l->n_names : NULL, l->n_names};
}
