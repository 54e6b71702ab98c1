/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: a number, an expression, a nested list of both, or {file: name.npy}. An array becomes a set of leaves, each of
 * which fills an entry or a strided run of entries; leaves without time are evaluated at once. */
#include "graph/reader.h"

#include "kiln/array.h"

#include <stdio.h>

typedef struct array_reader {
    kn_reader *r;
    const kn_scope *scope;
    const char *what;
    KN_VEC(kn_leaf) leaves;
    bool timed;
} array_reader;

static const uint64_t cell_vars = 1u << KN_VAR_I | 1u << KN_VAR_J | 1u << KN_VAR_K | 1u << KN_VAR_X;
static const uint64_t time_vars = 1u << KN_VAR_TIME | 1u << KN_VAR_STEP;

/* ---- files ---- */

kiln_status kn_read_path(kn_reader *r, const kn_yaml *y, const char **out)
{
    if (y->kind != KN_YAML_TEXT)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "a path relative to this file",
                             "a file must be a path, found %s", kn_yaml_kind_name(y));
    bool up = false;
    for (const char *s = y->text; s; s = strchr(s, '/')) {
        if (*s == '/') s++;
        if (s[0] == '.' && s[1] == '.' && (s[2] == 0 || s[2] == '/')) up = true;
        if (!*s) break;
    }
    if (up || y->text[0] == '/' || y->n == 0)
        return kn_read_error(r, KN_KIND_BAD_PATH, y->at, "a path relative to this file, without '..'",
                             "'%.100s' must be relative and stay inside the folder", y->text);
    KILN_TRY_MEM(r->ctx, *out = kn_arena_printf(&r->scratch, "%s%s", r->folder, y->text));
    return KILN_OK;
}

static bool to_doubles(kiln_dtype d, const void *data, size_t n, double *out)
{
#define CASE(name, T)                                                                                                \
    case KILN_##name:                                                                                                \
        for (size_t i = 0; i < n; i++) out[i] = (double)((const T *)data)[i];                                        \
        return true;
    switch (d) {
        CASE(BOOL, uint8_t)
        CASE(I8, int8_t)
        CASE(I16, int16_t)
        CASE(I32, int32_t)
        CASE(I64, int64_t)
        CASE(U8, uint8_t)
        CASE(U16, uint16_t)
        CASE(U32, uint32_t)
        CASE(U64, uint64_t)
        CASE(F32, float)
        CASE(F64, double)
    default: return false;
    }
#undef CASE
}

static kiln_status convert(kn_reader *r, const kn_yaml *y, const kiln_array *a, kn_shape *shape, const double **out)
{
    kiln_type t = kiln_array_type(a);
    if (t.rank > KN_MAX_RANK)
        return kn_read_error(r, KN_KIND_SHAPE_MISMATCH, y->at, NULL, "'%.100s' has %u axes", y->text, t.rank);
    *shape = (kn_shape){.rank = (int)t.rank};
    for (uint32_t i = 0; i < t.rank; i++) shape->dim[i] = t.dims[i];
    size_t n = kn_shape_count(shape);
    double *v = KN_NEWN(r->arena, double, n);
    KILN_TRY_MEM(r->ctx, v);
    if (!to_doubles(t.dtype, kiln_array_read(a), n, v))
        return kn_read_error(r, KN_KIND_BAD_VALUE, y->at, "real numbers of 64 bits at most", "'%.100s' holds %s",
                             y->text, kiln_dtype_numpy(t.dtype));
    *out = v;
    return KILN_OK;
}

kiln_status kn_read_npy(kn_reader *r, const kn_yaml *y, kn_shape *shape, const double **out)
{
    const char *path;
    KILN_TRY(kn_read_path(r, y, &path));
    kiln_array *a;
    kiln_status s = kiln_array_load(r->ctx, path, &a);
    if (s == KILN_NOMEM) return s;
    if (s != KILN_OK) {
        char why[160];
        snprintf(why, sizeof why, "%.150s", kiln_ctx_error(r->ctx)->message);
        bool absent = s == KILN_NOTFOUND || s == KILN_IO;
        kn_read_error(r, absent ? KN_KIND_MISSING_FILE : KN_KIND_BAD_VALUE, y->at, "a .npy file beside this one",
                      "cannot read '%.100s'", y->text);
        kn_note(r->ctx, "%s", why);
        return r->ctx->error.code;
    }
    s = convert(r, y, a, shape, out);
    kiln_array_release(a);
    return s;
}

static const kn_yaml *file_of(kn_reader *r, const kn_yaml *y, const char *what, kiln_status *status)
{
    static const char *const keys[] = {"file", NULL};
    *status = kn_read_keys(r, y, keys, what);
    if (*status != KILN_OK) return NULL;
    const kn_yaml *f = kn_yaml_get(y, "file");
    if (!f) *status = kn_read_error(r, KN_KIND_MISSING_KEY, y->at, "{file: name.npy}", "%.64s needs 'file'", what);
    return f;
}

/* ---- leaves ---- */

static kiln_status add_leaf(array_reader *a, kn_leaf leaf)
{
    leaf.stride = 1;
    KILN_TRY_MEM(a->r->ctx, kn_push(&a->r->scratch, &a->leaves, leaf));
    return KILN_OK;
}

static kiln_status read_file(array_reader *a, const kn_yaml *y, kn_shape *shape)
{
    kiln_status s;
    const kn_yaml *f = file_of(a->r, y, a->what, &s);
    KILN_TRY(s);
    kn_leaf leaf = {0};
    KILN_TRY(kn_read_npy(a->r, f, shape, &leaf.v));
    leaf.count = kn_shape_count(shape);
    if (shape->rank == 0) leaf.number = leaf.v[0], leaf.v = NULL;
    return add_leaf(a, leaf);
}

static kiln_status read_text(array_reader *a, const kn_yaml *y, kn_shape *shape)
{
    kn_reader *r = a->r;
    kn_leaf leaf = {.count = 1};
    *shape = (kn_shape){0};
    if (a->scope->long_form && kn_quoted_number(y, &leaf.number)) return add_leaf(a, leaf);
    kiln_expr *e;
    KILN_TRY(kn_read_expr(r, y, a->scope, a->scope->time ? r->arena : &r->scratch, &e));
    if (kiln_expr_constant(e, &leaf.number)) return add_leaf(a, leaf);
    leaf.expr = e;
    if (kiln_expr_vars(e) & time_vars) a->timed = true;
    if (kiln_expr_vars(e) & cell_vars) {
        *shape = kn_node_cells(a->scope->cells);
        leaf.count = kn_shape_count(shape);
    }
    return add_leaf(a, leaf);
}

static bool plain_number(const kn_yaml *y, double *out)
{
    *out = y->kind == KN_YAML_BOOL ? y->truth : y->number;
    return y->kind == KN_YAML_BOOL || y->kind == KN_YAML_INT || y->kind == KN_YAML_NUMBER;
}

static kiln_status read_row(array_reader *a, const kn_yaml *y, kn_shape *shape)
{
    double *v = KN_NEWN(a->r->arena, double, y->n);
    KILN_TRY_MEM(a->r->ctx, v);
    for (uint32_t i = 0; i < y->n; i++) plain_number(y->items[i], &v[i]);
    *shape = (kn_shape){1, {y->n}};
    return add_leaf(a, (kn_leaf){.v = v, .count = y->n});
}

static kiln_status read_piece(array_reader *a, const kn_yaml *y, kn_shape *shape);

/* Items of one shape (single numbers are repeated) become a new first axis, or the last one when each of them covers a
 * grid of cells: then they are components. */
static kiln_status read_list(array_reader *a, const kn_yaml *y, kn_shape *shape)
{
    kn_reader *r = a->r;
    double ignored;
    bool numbers = true;
    for (uint32_t i = 0; i < y->n; i++) numbers = numbers && plain_number(y->items[i], &ignored);
    if (numbers) return read_row(a, y, shape);
    uint32_t *first = KN_NEWN(&r->scratch, uint32_t, y->n + 1);
    KILN_TRY_MEM(r->ctx, first);
    kn_shape common = {0};
    for (uint32_t i = 0; i < y->n; i++) {
        kn_shape item;
        first[i] = a->leaves.n;
        KILN_TRY(read_piece(a, y->items[i], &item));
        if (item.rank && common.rank && !kn_shape_equal(&item, &common))
            return kn_read_error(r, KN_KIND_SHAPE_MISMATCH, y->at, "items of one shape",
                                 "%.64s: the rows have different lengths", a->what);
        if (item.rank) common = item;
    }
    first[y->n] = a->leaves.n;
    if (common.rank == KN_MAX_RANK)
        return kn_read_error(r, KN_KIND_SHAPE_MISMATCH, y->at, NULL,
                             "%.64s: lists are nested too deeply for an array", a->what);
    const kn_node *cells = a->scope->cells;
    kn_shape grid = cells ? kn_node_cells(cells) : (kn_shape){0};
    bool components = cells && cells->type->cells == KN_CELLS_GRID && kn_shape_equal(&common, &grid);
    size_t count = kn_shape_count(&common);
    for (uint32_t i = 0; i < y->n; i++)
        for (uint32_t k = first[i]; k < first[i + 1]; k++) {
            kn_leaf *l = &a->leaves.v[k];
            if (first[i + 1] - first[i] == 1 && l->count == 1 && !l->v)
                l->count = count; /* one number for the whole item */
            l->offset = components ? l->offset * y->n + i : l->offset + i * count;
            if (components) l->stride *= y->n;
        }
    *shape = common;
    shape->rank++;
    for (int k = common.rank; k > 0 && !components; k--) shape->dim[k] = shape->dim[k - 1];
    shape->dim[components ? common.rank : 0] = y->n;
    return KILN_OK;
}

static kiln_status read_piece(array_reader *a, const kn_yaml *y, kn_shape *shape)
{
    double number;
    *shape = (kn_shape){0};
    if (y->kind == KN_YAML_MAP) return read_file(a, y, shape);
    if (y->kind == KN_YAML_TEXT) return read_text(a, y, shape);
    if (y->kind == KN_YAML_LIST) return read_list(a, y, shape);
    if (plain_number(y, &number)) return add_leaf(a, (kn_leaf){.number = number, .count = 1});
    return kn_read_error(a->r, KN_KIND_WRONG_TYPE, y->at,
                         "a number, an expression, a list of them, or {file: name.npy}",
                         "%.64s must be a number or a list of numbers, found %s", a->what, kn_yaml_kind_name(y));
}

/* ---- fitting to the shape wanted ---- */

/* A value of the last axis alone, repeated over the cells. */
static kiln_status repeat(array_reader *a, const kn_shape *one, const kn_shape *whole)
{
    size_t n = kn_shape_count(one), cells = kn_shape_count(whole) / (n ? n : 1);
    uint32_t n_leaves = a->leaves.n;
    kn_leaf *old = a->leaves.v;
    memset(&a->leaves, 0, sizeof a->leaves);
    for (uint32_t i = 0; i < n_leaves; i++)
        for (size_t k = 0; k < (old[i].v ? old[i].count : 1); k++) {
            kn_leaf l = {.expr = old[i].expr, .number = old[i].v ? old[i].v[k] : old[i].number};
            l.offset = old[i].offset + k * old[i].stride;
            l.count = cells;
            KILN_TRY(add_leaf(a, l));
            a->leaves.v[a->leaves.n - 1].stride = n;
        }
    return KILN_OK;
}

static kiln_status fit(array_reader *a, const kn_yaml *y, const kn_array_rules *rules, kn_shape *got)
{
    if (kn_shape_equal(got, rules->shape) || (rules->also && kn_shape_equal(got, rules->also))) return KILN_OK;
    if (got->rank == 0) {
        if (rules->keep_scalar) return KILN_OK;
        a->leaves.v[0].count = kn_shape_count(rules->shape);
    } else if (rules->one_shape && kn_shape_equal(got, rules->one_shape)) {
        KILN_TRY(repeat(a, got, rules->shape));
    } else {
        char found[128], wanted[128];
        return kn_read_error(a->r, KN_KIND_SHAPE_MISMATCH, y->at, kn_shape_text(rules->shape, wanted),
                             "%.64s has shape %s, expected %s", a->what, kn_shape_text(got, found),
                             kn_shape_text(rules->shape, wanted));
    }
    *got = *rules->shape;
    return KILN_OK;
}

static kiln_status finish(array_reader *a, const kn_shape *shape, kn_value *out)
{
    kn_reader *r = a->r;
    *out = (kn_value){.kind = KN_VALUE_TIME, .shape = *shape, .n_leaves = a->leaves.n};
    if (a->timed) {
        out->leaves = kn_arena_copy(r->arena, a->leaves.v, a->leaves.n * sizeof *a->leaves.v);
        KILN_TRY_MEM(r->ctx, out->leaves);
        return KILN_OK;
    }
    if (a->leaves.n == 1 && a->leaves.v[0].v) { /* a row or a file as it is */
        *out = (kn_value){.kind = KN_VALUE_CONST, .shape = *shape, .v = a->leaves.v[0].v};
        return KILN_OK;
    }
    double *v = KN_NEWN(r->arena, double, kn_shape_count(shape));
    KILN_TRY_MEM(r->ctx, v);
    out->leaves = a->leaves.v;
    KILN_TRY(kn_value_eval(r->ctx, out, a->scope->cells, 0, 0, v));
    *out = (kn_value){.kind = KN_VALUE_CONST, .shape = *shape, .v = v};
    return KILN_OK;
}

kiln_status kn_read_value(kn_reader *r, const kn_yaml *y, const kn_scope *scope, const kn_array_rules *rules,
                          kn_value *out)
{
    array_reader a = {.r = r, .scope = scope, .what = rules->what};
    kn_shape got;
    KILN_TRY(read_piece(&a, y, &got));
    KILN_TRY(fit(&a, y, rules, &got));
    return finish(&a, &got, out);
}

kiln_status kn_read_any_array(kn_reader *r, const kn_yaml *y, const kn_scope *scope, const char *what,
                              kn_shape *shape, const double **out)
{
    array_reader a = {.r = r, .scope = scope, .what = what};
    KILN_TRY(read_piece(&a, y, shape));
    kn_value v;
    KILN_TRY(finish(&a, shape, &v));
    *out = v.v;
    return KILN_OK;
}

kiln_status kn_read_rows(kn_reader *r, const kn_yaml *y, const kn_shape *shape, kn_value *out)
{
    kiln_status s;
    const kn_yaml *f = file_of(r, y, "value", &s);
    KILN_TRY(s);
    kn_shape got;
    const double *v;
    KILN_TRY(kn_read_npy(r, f, &got, &v));
    kn_shape row = {.rank = got.rank - 1};
    for (int i = 1; i < got.rank; i++) row.dim[i - 1] = got.dim[i];
    if (got.rank == 0 || got.dim[0] == 0 || !kn_shape_equal(&row, shape)) {
        char found[128], wanted[128];
        return kn_read_error(r, KN_KIND_SHAPE_MISMATCH, y->at, "one row per base step",
                             "the file has shape %s, each row must have %s", kn_shape_text(&got, found),
                             kn_shape_text(shape, wanted));
    }
    *out = (kn_value){.kind = KN_VALUE_ROWS, .shape = *shape, .v = v, .n_rows = (size_t)got.dim[0]};
    return KILN_OK;
}
