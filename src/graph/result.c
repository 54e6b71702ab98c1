/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/result.h"

/* Memory that nobody has touched yet costs nothing: large blocks are not cleared. */
static kiln_status block(kiln_ctx *ctx, kiln_graph_result *r, size_t n, size_t size, size_t *bytes, void *out)
{
    void *p = NULL;
    size_t total;
    if (!kn_mul_size(n, size, &total)) return kn_nomem(ctx);
    KILN_TRY_MEM(ctx, p = kn_new_aligned(&r->alloc, total ? total : 1, 64));
    *bytes = total ? total : 1;
    memcpy(out, &p, sizeof p);
    return KILN_OK;
}

static kiln_status make_fields(kiln_ctx *ctx, kiln_graph_result *r, const kn_plan *p, const kn_recording *rec, int64_t rows)
{
    KILN_TRY_MEM(ctx, r->tables = KN_NEWN(&r->arena, kn_result_table, rec->n_tables));
    r->n_tables = rec->n_tables;
    for (uint32_t i = 0; i < rec->n_tables; i++) {
        r->tables[i].row_bytes = kn_type_bytes(rec->tables[i].row);
        KILN_TRY(block(ctx, r, (size_t)(rows + rec->rows), r->tables[i].row_bytes, &r->tables[i].bytes, &r->tables[i].data));
    }
    KILN_TRY_MEM(ctx, r->fields = KN_NEWN(&r->arena, kn_result_field, rec->n_slots));
    r->n_fields = rec->n_slots;
    for (uint32_t i = 0; i < rec->n_slots; i++) {
        const kn_slot *s = &p->slots[rec->slots[i]];
        kn_result_field *f = &r->fields[i];
        int64_t *dims = kn_arena_copy(&r->arena, s->type.dims, s->type.rank * sizeof *dims);
        KILN_TRY_MEM(ctx, dims && (f->name = kn_arena_text(&r->arena, s->name)));
        f->type = (kiln_type){s->type.dtype, s->type.rank, dims};
    }
    return KILN_OK;
}

static kiln_status make_groups(kiln_ctx *ctx, kiln_graph_result *r, const kn_plan *p, const kn_recording *rec, int64_t steps)
{
    r->n_groups = p->g->n_groups;
    KILN_TRY_MEM(ctx, r->groups = KN_NEWN(&r->arena, kn_result_group, r->n_groups));
    for (uint32_t i = 0; i < r->n_groups; i++) {
        kn_result_group *g = &r->groups[i];
        KILN_TRY_MEM(ctx, g->r.key = kn_arena_text(&r->arena, p->groups[i].key));
        for (int k = 0; k < KN_N_RECORDS; k++)
            KILN_TRY(block(ctx, r, (size_t)((r->keeps ? steps : 0) + rec->steps), kiln_dtype_bytes(kn_diag_dtype(kn_record_diag[k])),
                           &g->bytes[k], &g->list[k]));
        g->r.least = INT32_MAX;
    }
    return KILN_OK;
}

kiln_status kn_result_make(kiln_ctx *ctx, const kn_plan *p, const kn_recording *rec, bool keeps, int64_t rows, int64_t steps,
                           kiln_graph_result **out)
{
    kiln_graph_result *r = kn_new(&ctx->alloc, sizeof *r);
    KILN_TRY_MEM(ctx, r);
    r->alloc = ctx->alloc;
    r->base = p->g->base_timestep;
    r->keeps = keeps;
    r->cap_rows = rows;
    kn_arena_init(&r->arena, &ctx->alloc);
    kiln_status s = make_fields(ctx, r, p, rec, rows);
    if (s == KILN_OK) s = make_groups(ctx, r, p, rec, steps);
    if (s == KILN_OK) s = block(ctx, r, (size_t)rows, sizeof *r->row_steps, &r->steps_bytes, &r->row_steps);
    if (s == KILN_OK) s = block(ctx, r, (size_t)rows, sizeof *r->row_times, &r->times_bytes, &r->row_times);
    if (s == KILN_OK) *out = r;
    else kiln_graph_result_release(r);
    return s;
}

void kiln_graph_result_release(kiln_graph_result *r)
{
    if (!r) return;
    for (uint32_t i = 0; i < r->n_fields; i++) kiln_array_release(r->fields[i].array);
    for (uint32_t i = 0; i < r->n_tables; i++)
        if (r->tables[i].data) kn_free_aligned(&r->alloc, r->tables[i].data, r->tables[i].bytes, 64);
    for (uint32_t i = 0; i < r->n_groups; i++)
        for (int k = 0; k < KN_N_RECORDS; k++)
            if (r->groups[i].list[k]) kn_free_aligned(&r->alloc, r->groups[i].list[k], r->groups[i].bytes[k], 64);
    if (r->row_steps) kn_free_aligned(&r->alloc, r->row_steps, r->steps_bytes, 64);
    if (r->row_times) kn_free_aligned(&r->alloc, r->row_times, r->times_bytes, 64);
    kn_arena_fini(&r->arena);
    kn_alloc alloc = r->alloc;
    kn_free(&alloc, r, sizeof *r);
}

void kn_result_row(kiln_graph_result *r, int64_t step)
{
    r->row_steps[r->n_rows] = step;
    r->row_times[r->n_rows] = (double)step * r->base;
    r->n_rows++;
}

void kn_result_count(kn_result_group *g, int64_t at, int64_t n)
{
    const int32_t *iterations = (const int32_t *)g->list[0] + at;
    const bool *converged = (const bool *)g->list[3] + at;
    for (int64_t i = 0; i < n; i++) {
        g->r.total_iterations += iterations[i];
        g->r.unconverged += !converged[i];
        if (iterations[i] < g->r.least) g->r.least = iterations[i];
        if (iterations[i] > g->r.most) g->r.most = iterations[i];
        g->r.last = iterations[i];
    }
    g->r.steps += n;
}

/* One column of a table of scalars. */
static void take_column(const kn_result_table *t, size_t at, size_t size, int64_t rows, char *out)
{
    const char *from = t->data + at * size;
    for (int64_t i = 0; i < rows; i++, from += t->row_bytes, out += size) memcpy(out, from, size);
}

static kiln_status close_field(kiln_ctx *ctx, kiln_graph_result *r, const kn_recording *rec, uint32_t table, uint32_t column)
{
    kn_result_table *t = &r->tables[table];
    kn_result_field *f = &r->fields[rec->tables[table].fields[column]];
    int64_t *dims = KN_NEWN(&r->arena, int64_t, (size_t)f->type.rank + 1);
    KILN_TRY_MEM(ctx, dims);
    dims[0] = r->n_rows;
    if (f->type.rank) memcpy(dims + 1, f->type.dims, f->type.rank * sizeof *dims);
    kiln_type type = {f->type.dtype, f->type.rank + 1, dims};
    if (f->type.rank) return kiln_array_wrap(ctx, type, t->data, NULL, NULL, &f->array);
    KILN_TRY(kiln_array_create(ctx, type, &f->array));
    take_column(t, column, kiln_dtype_bytes(type.dtype), r->n_rows, kiln_array_data(f->array));
    return KILN_OK;
}

kiln_status kn_result_close(kiln_ctx *ctx, kiln_graph_result *r, const kn_recording *rec)
{
    for (uint32_t i = 0; i < rec->n_tables; i++)
        for (uint32_t k = 0; k < rec->tables[i].n; k++) KILN_TRY(close_field(ctx, r, rec, i, k));
    for (uint32_t i = 0; i < r->n_groups; i++) {
        kn_result_group *g = &r->groups[i];
        if (g->r.steps == 0) g->r.least = 0;
        if (!r->keeps) continue;
        g->r.n = g->r.steps;
        g->r.iterations = g->list[0], g->r.residual = g->list[1], g->r.error_estimate = g->list[2], g->r.converged = g->list[3];
    }
    return KILN_OK;
}

bool kiln_graph_result_stopped(const kiln_graph_result *r) { return r->stopped; }
int64_t kiln_graph_result_steps(const kiln_graph_result *r) { return r->steps; }
uint64_t kiln_graph_result_calls(const kiln_graph_result *r) { return r->calls; }
double kiln_graph_result_seconds(const kiln_graph_result *r) { return r->seconds; }
int64_t kiln_graph_result_n_rows(const kiln_graph_result *r) { return r->n_rows; }
const int64_t *kiln_graph_result_row_steps(const kiln_graph_result *r) { return r->row_steps; }
const double *kiln_graph_result_row_times(const kiln_graph_result *r) { return r->row_times; }
uint32_t kiln_graph_result_n_fields(const kiln_graph_result *r) { return r->n_fields; }
const char *kiln_graph_result_field_name(const kiln_graph_result *r, uint32_t field) { return r->fields[field].name; }
kiln_array *kiln_graph_result_field(const kiln_graph_result *r, uint32_t field) { return r->fields[field].array; }
uint32_t kiln_graph_result_n_groups(const kiln_graph_result *r) { return r->n_groups; }
kiln_graph_records kiln_graph_result_group(const kiln_graph_result *r, uint32_t group) { return r->groups[group].r; }
