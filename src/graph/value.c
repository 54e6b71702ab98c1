/* SPDX-License-Identifier: Apache-2.0 */
/* Array values at a moment, in double. */
#include "graph/model.h"

enum { CHUNK = 1024 };

typedef struct moment {
    const kn_node *node;
    kn_shape cells;
    size_t first; /* cell of entry 0 */
    double t, step;
} moment;

/* Index along an axis of cells first, first+1, ... of a row-major grid. */
static void fill_axis(const kn_shape *cells, int axis, size_t first, size_t n, double *out)
{
    size_t inner = 1;
    for (int k = axis + 1; k < cells->rank; k++) inner *= (size_t)cells->dim[k];
    size_t extent = (size_t)cells->dim[axis];
    for (size_t i = 0; i < n; i++) out[i] = (double)((first + i) / inner % extent);
}

static void fill(void *ud, uint32_t var, size_t first, size_t n, double *out)
{
    const moment *m = ud;
    first += m->first;
    switch (var) {
    case KN_VAR_I:
    case KN_VAR_J:
    case KN_VAR_K: fill_axis(&m->cells, (int)(var - KN_VAR_I), first, n, out); break;
    case KN_VAR_X: kn_node_centres(m->node, first, n, out); break;
    default:
        for (size_t i = 0; i < n; i++) out[i] = var == KN_VAR_TIME ? m->t : m->step;
    }
}

static kiln_status eval_leaf(kiln_ctx *ctx, const kn_leaf *l, moment *m, double *out)
{
    double number = l->number, chunk[CHUNK];
    m->first = 0;
    bool cellwise = l->expr && (kiln_expr_vars(l->expr) & ~(1ull << KN_VAR_TIME | 1ull << KN_VAR_STEP)) != 0;
    if (l->expr && !cellwise) KILN_TRY(kiln_expr_eval(ctx, l->expr, 1, fill, m, NULL, &number));
    if (cellwise && l->stride == 1) return kiln_expr_eval(ctx, l->expr, l->count, fill, m, NULL, out + l->offset);
    for (size_t k = 0; k < l->count; k += CHUNK) {
        size_t n = l->count - k < CHUNK ? l->count - k : CHUNK;
        m->first = k;
        if (cellwise) KILN_TRY(kiln_expr_eval(ctx, l->expr, n, fill, m, NULL, chunk));
        for (size_t i = 0; i < n; i++)
            out[l->offset + (k + i) * l->stride] = cellwise ? chunk[i] : l->v ? l->v[k + i] : number;
    }
    return KILN_OK;
}

kiln_status kn_value_eval(kiln_ctx *ctx, const kn_value *v, const kn_node *n, double t, double step, double *out)
{
    size_t count = kn_shape_count(&v->shape);
    if (v->kind == KN_VALUE_ZERO) {
        memset(out, 0, count * sizeof *out);
    } else if (v->kind == KN_VALUE_CONST) {
        memcpy(out, v->v, count * sizeof *out);
    } else if (v->kind == KN_VALUE_ROWS) {
        size_t row = step < (double)v->n_rows ? (size_t)step : v->n_rows - 1;
        memcpy(out, v->v + row * count, count * sizeof *out);
    } else {
        moment m = {.node = n, .cells = n ? kn_node_cells(n) : (kn_shape){0}, .t = t, .step = step};
        for (size_t i = 0; i < v->n_leaves; i++) KILN_TRY(eval_leaf(ctx, &v->leaves[i], &m, out));
    }
    return KILN_OK;
}
