/* SPDX-License-Identifier: Apache-2.0 */
/* Results as files: a folder of .npy and JSON, one .npz, or a table of the scalars as .csv. */
#include "graph/result.h"

#include "base/file.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>

typedef struct saver {
    kiln_ctx *ctx;
    const kiln_graph_result *r;
    const char *folder;
    uint32_t written;
} saver;

/* ---- arrays of the rows ---- */

static kiln_status rows_array(kiln_ctx *ctx, const kiln_graph_result *r, bool times, kiln_array **out)
{
    return kiln_array_wrap(ctx, (kiln_type){times ? KILN_F64 : KILN_I64, 1, &r->n_rows}, times ? (void *)r->row_times : (void *)r->row_steps,
                           NULL, NULL, out);
}

/* ---- coupling.json ---- */

static void json_double(kn_text *t, double v)
{
    if (isnan(v)) kn_text_add(t, "\"NaN\"");
    else if (isinf(v)) kn_text_add(t, v > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    else kn_text_double(t, v);
}

static void json_list(kn_text *t, const char *name, const kiln_graph_records *g, int which, bool last)
{
    kn_text_printf(t, "    \"%s\": [", name);
    for (int64_t i = 0; i < g->n; i++) {
        if (i) kn_text_add(t, ", ");
        if (which == 0) kn_text_printf(t, "%d", (int)g->iterations[i]);
        else if (which == 3) kn_text_add(t, g->converged[i] ? "true" : "false");
        else json_double(t, which == 1 ? g->residual[i] : g->error_estimate[i]);
    }
    kn_text_add(t, last ? "]\n" : "],\n");
}

/* Keys are made of the names of nodes, which need no escapes. */
static void coupling_json(kn_text *t, const kiln_graph_result *r)
{
    kn_text_add(t, "{\n");
    for (uint32_t i = 0; i < r->n_groups; i++) {
        const kiln_graph_records *g = &r->groups[i].r;
        kn_text_printf(t, "  \"%s\": {\n", g->key);
        json_list(t, "iterations", g, 0, false);
        json_list(t, "total_iterations", g, 0, false); /* one sweep a step */
        json_list(t, "residual", g, 1, false);
        json_list(t, "error_estimate", g, 2, false);
        json_list(t, "converged", g, 3, true);
        kn_text_add(t, i + 1 < r->n_groups ? "  },\n" : "  }\n");
    }
    kn_text_add(t, "}\n");
}

/* ---- a folder ---- */

static kiln_status save_array(saver *s, const char *name, const kiln_array *a)
{
    char path[4096];
    if ((size_t)snprintf(path, sizeof path, "%s%s.npy", s->folder, name) >= sizeof path)
        return kn_fail(s->ctx, KILN_INVALID, "the name of %s%s.npy is too long", s->folder, name);
    s->written++;
    return kiln_array_save(s->ctx, path, a);
}

static kiln_status save_text(saver *s, const char *path, kn_text *t)
{
    kiln_status status = t->failed ? kn_nomem(s->ctx) : kn_file_save(s->ctx, path, t->s, t->n);
    kn_text_fini(t);
    s->written++;
    return status;
}

static kiln_status save_folder(saver *s)
{
    const kiln_graph_result *r = s->r;
    KILN_TRY(kn_folder_make(s->ctx, s->folder));
    for (int times = 0; times < 2; times++) {
        kiln_array *a;
        KILN_TRY(rows_array(s->ctx, r, times, &a));
        kiln_status status = save_array(s, times ? "time" : "step", a);
        kiln_array_release(a);
        KILN_TRY(status);
    }
    for (uint32_t i = 0; i < r->n_fields; i++) KILN_TRY(save_array(s, r->fields[i].name, r->fields[i].array));
    if (!r->n_groups || !r->keeps) return KILN_OK;
    char path[4096];
    if ((size_t)snprintf(path, sizeof path, "%scoupling.json", s->folder) >= sizeof path)
        return kn_fail(s->ctx, KILN_INVALID, "the name of the folder is too long");
    kn_text t;
    kn_text_init(&t, &s->ctx->alloc);
    coupling_json(&t, r);
    return save_text(s, path, &t);
}

/* ---- an archive ---- */

/* The same arrays; of groups, a list each under "coupling.KEY.name". */
static kiln_status save_archive(saver *s, const char *path)
{
    static const char *const lists[KN_N_RECORDS] = {"iterations", "residual", "error_estimate", "converged"};
    const kiln_graph_result *r = s->r;
    kn_arena arena;
    kn_arena_init(&arena, &s->ctx->alloc);
    uint32_t most = 2 + r->n_fields + r->n_groups * KN_N_RECORDS, n = 0;
    const char **names = KN_NEWN(&arena, const char *, most);
    kiln_array **arrays = KN_NEWN(&arena, kiln_array *, most);
    kiln_status status = names && arrays ? KILN_OK : kn_nomem(s->ctx);
    for (int times = 1; times >= 0 && status == KILN_OK; times--) {
        names[n] = times ? "time" : "step";
        status = rows_array(s->ctx, r, times, &arrays[n++]);
    }
    for (uint32_t i = 0; i < r->n_fields && status == KILN_OK; i++) names[n] = r->fields[i].name, arrays[n++] = kiln_array_retain(r->fields[i].array);
    for (uint32_t i = 0; r->keeps && i < r->n_groups; i++)
        for (int k = 0; k < KN_N_RECORDS && status == KILN_OK; k++) {
            names[n] = kn_arena_printf(&arena, "coupling.%s.%s", r->groups[i].r.key, lists[k]);
            if (!names[n]) status = kn_nomem(s->ctx);
            else status = kiln_array_wrap(s->ctx, (kiln_type){kn_diag_dtype(kn_record_diag[k]), 1, &r->groups[i].r.n},
                                          r->groups[i].list[k], NULL, NULL, &arrays[n++]);
        }
    if (status == KILN_OK) status = kiln_npz_save(s->ctx, path, n, names, arrays);
    for (uint32_t i = 0; arrays && i < n; i++) kiln_array_release(arrays[i]);
    kn_arena_fini(&arena);
    s->written++;
    return status;
}

/* ---- a table ---- */

/* The shortest of 6 to 9 digits that reads back to the same float; the user's decimal point becomes a dot. */
static void add_float(kn_text *t, float v)
{
    char text[40];
    double back;
    for (int digits = 6; digits <= 9; digits++) {
        size_t n = 0;
        snprintf(text, sizeof text, "%.*g", digits, (double)v);
        for (const char *c = text; *c; c++) {
            bool plain = strchr("0123456789+-einfa", *c) != NULL;
            if (plain || (n && text[n - 1] != '.')) text[n++] = plain ? *c : '.';
        }
        text[n] = 0;
        if (kn_read_double(text, text + n, &back) != text && (float)back == v) break;
    }
    kn_text_add(t, text);
}

static void csv_value(kn_text *t, const kn_result_field *f, int64_t row)
{
    const char *p = (const char *)kiln_array_read(f->array) + (size_t)row * kiln_dtype_bytes(f->type.dtype);
    switch (f->type.dtype) {
    case KILN_F64: kn_text_double(t, *(const double *)(const void *)p); break;
    case KILN_F32: add_float(t, *(const float *)(const void *)p); break;
    case KILN_I32: kn_text_printf(t, "%d", *(const int32_t *)(const void *)p); break;
    default: kn_text_printf(t, "%d", (uint8_t)*p); break;
    }
}

static kiln_status save_table(saver *s, const char *path)
{
    const kiln_graph_result *r = s->r;
    kn_text t;
    kn_text_init(&t, &s->ctx->alloc);
    kn_text_add(&t, "step,time");
    for (uint32_t i = 0; i < r->n_fields; i++)
        if (r->fields[i].type.rank == 0) kn_text_printf(&t, ",%s", r->fields[i].name);
    kn_text_char(&t, '\n');
    for (int64_t row = 0; row < r->n_rows; row++) {
        kn_text_printf(&t, "%lld,", (long long)r->row_steps[row]);
        kn_text_double(&t, r->row_times[row]);
        for (uint32_t i = 0; i < r->n_fields; i++) {
            if (r->fields[i].type.rank) continue;
            kn_text_char(&t, ',');
            csv_value(&t, &r->fields[i], row);
        }
        kn_text_char(&t, '\n');
    }
    return save_text(s, path, &t);
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n > m && strcmp(s + n - m, end) == 0;
}

static kiln_status unknown_ending(kiln_ctx *ctx, const char *path)
{
    return kn_fail(ctx, KILN_INVALID, "'%s' has no known ending: a folder (\"%s/\"), .npz or .csv would be accepted", path, path);
}

kiln_status kiln_graph_save_check(kiln_ctx *ctx, const char *path)
{
    char probe[4096];
    bool folder = ends_with(path, "/");
    if (!folder && !ends_with(path, ".npz") && !ends_with(path, ".csv")) return unknown_ending(ctx, path);
    if (folder) KILN_TRY(kn_folder_make(ctx, path));
    if ((size_t)snprintf(probe, sizeof probe, "%s%s", path, folder ? "step.npy" : "") >= sizeof probe)
        return kn_fail(ctx, KILN_INVALID, "the name of %s is too long", path);
    kn_file *f;
    KILN_TRY(kn_file_create(ctx, probe, &f));
    kn_file_cancel(f);
    return KILN_OK;
}

kiln_status kiln_graph_save(kiln_ctx *ctx, const kiln_graph_result *r, const char *path, uint32_t *written)
{
    saver s = {ctx, r, path, 0};
    kiln_status status;
    if (ends_with(path, "/")) status = save_folder(&s);
    else if (ends_with(path, ".npz")) status = save_archive(&s, path);
    else if (ends_with(path, ".csv")) status = save_table(&s, path);
    else status = unknown_ending(ctx, path);
    if (written) *written = s.written;
    return status;
}
