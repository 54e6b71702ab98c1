/* SPDX-License-Identifier: Apache-2.0 */
/* Loops to an executable: code generation, loading, and the parts that a call needs. */
#include "array/size.h"
#include "base/file.h"
#include "base/text.h"
#include "loop/cost.h"
#include "loop/statements.h"
#include "run/cached.h"
#include "run/codegen.h"
#include "run/exec.h"
#include "run/pool.h"
#include "run/stages.h"

#include <stdio.h>
#include <time.h>

double kn_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- which tier ---- */

/* An instruction of level 2 costs some 20 us more to make and saves a fraction of a nanosecond each time it runs: code that runs fewer
 * times a call than this never earns that back. Straight code of any length is level 0, whose time is linear. */
static const double worth_it = 50000, least_trips = 20;

int kn_tier_of(const kn_loops *l)
{
    double c = kn_loops_cost_of_block(l, &l->top, true);
    if (l->sized) return 2; /* the same code for all sizes */
    return c > worth_it && c > least_trips * (double)kn_loops_statements(l, &l->top) ? 2 : 0;
}

/* ---- code generation ---- */

static int table_index(kn_sop op, kiln_dtype d, unsigned lanes) { return kn_table_index(op, d, (int)lanes); }

static kiln_status generate(kiln_ctx *ctx, const kn_loops *l, const char *target, int tier, bool flush, bool ir, bool assembly,
                            const kn_codegen **table, kn_codegen_result *out)
{
    char error[400];
    kn_codegen_options o = {.target = target, .tier = tier, .flush = flush, .want_ir = ir, .want_asm = assembly, .cost = kn_loops_cost, .table_index = table_index,
                            .table_lanes = kn_table_lanes};
    KILN_TRY(kn_loops_verify(ctx, l));
    KILN_TRY(kn_codegen_open(ctx, target, table));
    if ((*table)->generate(l, &o, out, error, sizeof error) != 0) return kn_fail(ctx, KILN_COMPILE, "code generation: %s", error);
    return KILN_OK;
}

static kiln_status dump(kiln_ctx *ctx, const char *prefix, unsigned number, const char *ending, const void *s, size_t n)
{
    char path[600];
    snprintf(path, sizeof path, "%s%u.%s", prefix, number, ending);
    return kn_file_save(ctx, path, s, n);
}

static kiln_status dump_all(kiln_ctx *ctx, const kn_loops *l, const kn_build_opts *o, const kn_codegen_result *r)
{
    char *text;
    size_t n;
    KILN_TRY(kn_loops_print(ctx, l, &text, &n));
    kiln_status status = dump(ctx, o->dump, o->dumped + 1, "loops", text, n);
    kiln_text_free(ctx, text, n);
    KILN_TRY(status);
    KILN_TRY(dump(ctx, o->dump, o->dumped + 2, "ll", r->ir, strlen(r->ir)));
    KILN_TRY(dump(ctx, o->dump, o->dumped + 3, "s", r->assembly, strlen(r->assembly)));
    return dump(ctx, o->dump, o->dumped + 4, "o", r->object, r->object_bytes);
}

/* ---- the executable ---- */

static kiln_status copy_types(kiln_ctx *ctx, kiln_exec *f, const kiln_type *from, uint32_t n, kiln_type **to)
{
    *to = KN_NEWN(&f->arena, kiln_type, n);
    KILN_TRY_MEM(ctx, *to);
    for (uint32_t i = 0; i < n; i++) KILN_TRY(kn_type_copy(ctx, &f->arena, from[i], &(*to)[i]));
    return KILN_OK;
}

static kiln_status copy_signature(kiln_ctx *ctx, kiln_exec *f, const kn_signature *s, const bool *donated)
{
    KILN_TRY(copy_types(ctx, f, s->in, s->nin, &f->in));
    KILN_TRY(copy_types(ctx, f, s->out, s->nout, &f->out));
    f->least = s->least;
    for (uint32_t i = 0; i < s->nin; i++) f->sized = f->sized || kn_type_open(s->in[i]);
    f->nin = s->nin;
    f->nout = s->nout;
    f->donated = KN_NEWN(&f->arena, bool, s->nin);
    f->consts = KN_NEWN(&f->arena, kiln_array *, s->nconsts);
    const void **data = KN_NEWN(&f->arena, const void *, s->nconsts);
    KILN_TRY_MEM(ctx, f->donated && f->consts && data);
    for (uint32_t i = 0; donated && i < s->nin; i++) f->donated[i] = donated[i];
    for (uint32_t i = 0; i < s->nconsts; i++) {
        f->consts[i] = kiln_array_retain(s->consts[i]);
        data[i] = kiln_array_read(s->consts[i]);
    }
    f->nconsts = s->nconsts;
    f->table.consts = data;
    return KILN_OK;
}

static kiln_status copy_scopes(kiln_ctx *ctx, kiln_exec *f, const kn_image *image)
{
    uint32_t n = image->info.n_scopes;
    f->scopes = KN_NEWN(&f->arena, const char *, n);
    KILN_TRY_MEM(ctx, f->scopes);
    for (uint32_t i = 0; i < n; i++) KILN_TRY_MEM(ctx, f->scopes[i] = kn_arena_text(&f->arena, image->scopes[i]));
    return KILN_OK;
}

/* Scratch, common and then of each thread; then the table of buffers. */
static kiln_status size_frame(kiln_ctx *ctx, kiln_exec *f, const kn_image *image)
{
    size_t common = 0, parts = 0, bytes = image->scratch_bytes;
    bool fits = kn_add_size(bytes, 63, &common);
    common &= ~(size_t)63;
    if (image->part_bytes) fits = fits && kn_mul_size(image->part_bytes, f->table.parts, &parts) && kn_add_size(common, parts, &bytes);
    fits = fits && kn_add_size(bytes, 63, &common) && kn_add_size(common & ~(size_t)63, ((size_t)f->nin + f->nout) * sizeof(void *), &f->frame_bytes);
    if (!fits) return kn_fail(ctx, KILN_NOMEM, "%zu bytes of scratch and %zu for each of %u threads", image->scratch_bytes, image->part_bytes, f->table.parts);
    f->scratch_bytes = bytes;
    f->common_per = image->scratch_per, f->part_per = image->part_per;
    return KILN_OK;
}

/* Loops that may be split ask the pool. */
static void set_threads(kiln_ctx *ctx, kiln_exec *f, const kn_image *image)
{
    f->table.split = kn_pool_split;
    f->table.share = image->share > 0 ? image->share : KN_POOL_SHARE;
    f->table.threads = ctx->threads;
    f->table.parts = image->part_bytes || image->part_per ? kiln_ctx_threads(ctx) : KN_POOL_MOST;
    if (image->info.splits) kn_pool_enter(ctx);
}

/* The routines of the program's calls, bound. */
static kiln_status bind_calls(kiln_ctx *ctx, kiln_exec *f, const kn_image *image)
{
    kn_bound *bound = KN_NEWN(&f->arena, kn_bound, image->n_calls);
    KILN_TRY_MEM(ctx, bound);
    f->table.calls = bound;
    for (uint32_t i = 0; i < image->n_calls; i++) {
        const kn_call *c = &image->calls[i];
        size_t bytes;
        bound[i].run = c->routine->run;
        bound[i].run_shared = c->routine->run_shared;
        KILN_TRY(c->routine->bind(ctx, &f->arena, c, &bound[i].self, &bytes));
    }
    return KILN_OK;
}

static kiln_status assemble(kiln_ctx *ctx, kiln_exec *f, const kn_image *image, const kn_signature *s, const char *target, const bool *donated)
{
    const struct kiln_table *table = kn_table_for(target);
    if (!table) return kn_fail(ctx, KILN_COMPILE, "no routines for target '%s'", target);
    f->table = *table;
    KILN_TRY(copy_signature(ctx, f, s, donated));
    KILN_TRY(copy_scopes(ctx, f, image));
    KILN_TRY(bind_calls(ctx, f, image));
    set_threads(ctx, f, image);
    KILN_TRY(size_frame(ctx, f, image));
    void *entry;
    KILN_TRY(kn_code_load(ctx, image->object, image->object_bytes, "kiln_entry", &f->code, &entry));
    memcpy(&f->entry, &entry, sizeof f->entry);
    return KILN_OK;
}

kiln_status kn_exec_load(kiln_ctx *ctx, const kn_image *image, const kn_signature *s, const char *target, const bool *donated, kiln_exec **out)
{
    double start = kn_now_ms();
    kiln_exec *f = kn_new(&ctx->alloc, sizeof *f);
    *out = NULL;
    KILN_TRY_MEM(ctx, f);
    atomic_init(&f->refs, 1);
    atomic_init(&f->spare, NULL);
    f->alloc = ctx->alloc;
    f->info = image->info;
    kn_arena_init(&f->arena, &ctx->alloc);
    kiln_status status = assemble(ctx, f, image, s, target, donated);
    if (status != KILN_OK) {
        kiln_exec_release(f);
        return status;
    }
    f->info.code_bytes = f->code.code_bytes + f->code.data_bytes;
    f->info.scratch_bytes = f->scratch_bytes;
    f->info.load_ms = kn_now_ms() - start;
    *out = f;
    return KILN_OK;
}

static void count(kiln_ctx *ctx, const kiln_exec_info *i)
{
    kn_counters *c = &ctx->counters;
    c->compiles++;
    c->equations += i->equations;
    c->lowered_ops += i->lowered_ops;
    c->time_loops += i->time_loops;
    c->nests += i->nests;
    c->splits += i->splits;
    c->epilogues += i->epilogues;
    c->copies += i->copies;
    c->exit_copies += i->exit_copies;
    c->calls_out += i->calls_out;
    c->routine_calls += i->routine_calls;
    c->scalar_calls += i->scalar_calls;
    c->code_bytes += i->code_bytes;
    c->scratch_bytes += i->scratch_bytes;
    c->record_bytes += i->record_bytes;
}

static kiln_status image_of(kiln_ctx *ctx, kn_arena *arena, const kn_loops *l, const kn_codegen_result *code, const kiln_exec_info *info,
                            double share, kn_image *out)
{
    kn_call *calls = KN_NEWN(arena, kn_call, l->calls.n);
    KILN_TRY_MEM(ctx, calls);
    for (uint32_t i = 0; i < l->calls.n; i++) calls[i] = l->calls.v[i]->call;
    *out = (kn_image){.object = code->object, .object_bytes = code->object_bytes, .scratch_bytes = l->scratch_bytes, .part_bytes = l->part_bytes,
                      .scratch_per = l->scratch_per, .part_per = l->part_per, .calls = calls,
                      .n_calls = l->calls.n, .scopes = l->scopes, .info = *info};
    out->share = share;
    kiln_exec_info *i = &out->info;
    i->time_loops = l->time_loops;
    i->nests = l->nests;
    i->splits = l->splits;
    i->epilogues = l->epilogues;
    i->copies = l->copies;
    i->exit_copies = l->exit_copies;
    i->calls_out = code->calls_out;
    i->routine_calls = l->calls.n;
    i->scalar_calls = code->scalar_calls;
    i->n_scopes = l->n_scopes;
    return KILN_OK;
}

static kiln_status load(kiln_ctx *ctx, const kn_loops *l, const kn_signature *s, const kn_build_opts *o, const kn_codegen_result *code,
                        const kiln_exec_info *info, kiln_exec **out)
{
    kn_arena temp;
    kn_image image;
    kn_arena_init(&temp, &ctx->alloc);
    kiln_status status = image_of(ctx, &temp, l, code, info, o->share, &image);
    if (status == KILN_OK && out) status = kn_exec_load(ctx, &image, s, o->target, o->donated, out);
    if (status == KILN_OK) count(ctx, out ? &(*out)->info : &image.info);
    if (status == KILN_OK && o->cached) kn_cache.keep(o->cached, &image);
    kn_arena_fini(&temp);
    return status;
}

kiln_status kn_exec_build(kiln_ctx *ctx, const kn_loops *l, const kn_signature *s, const kn_build_opts *o, const kiln_exec_info *info,
                          kiln_exec **out)
{
    kiln_exec_info i = *info;
    const kn_codegen *table;
    kn_codegen_result code;
    if (out) *out = NULL;
    i.tier = o->tier >= 0 ? o->tier : kn_tier_of(l);
    double start = kn_now_ms();
    KILN_TRY(generate(ctx, l, o->target, i.tier, o->flush, o->dump, o->dump, &table, &code));
    i.emit_ms = kn_now_ms() - start;
    kiln_status status = o->dump ? dump_all(ctx, l, o, &code) : KILN_OK;
    if (status == KILN_OK) status = load(ctx, l, s, o, &code, &i, out);
    table->release(&code);
    return status;
}

/* ---- loops on their own ---- */

kiln_status kn_loops_stage(kiln_ctx *ctx, const kn_loops *l, const kn_resolved *r, const char *stage, char **text, size_t *n)
{
    const kn_codegen *table;
    kn_codegen_result code;
    bool ir = strcmp(stage, "llvm") == 0, assembly = strcmp(stage, "asm") == 0;
    *text = NULL;
    if (!ir && !assembly && strcmp(stage, "object") != 0)
        return kn_fail(ctx, KILN_NOTFOUND, "no stage '%s' of loops; accepted: llvm, asm, object", stage);
    int tier = r->o.tier >= 0 ? r->o.tier : kn_tier_of(l);
    KILN_TRY(generate(ctx, l, r->o.target, tier, r->loops.flush, ir, assembly, &table, &code));
    const char *s = ir ? code.ir : assembly ? code.assembly : code.object;
    *n = ir || assembly ? strlen(s) : code.object_bytes;
    *text = kn_new_aligned(&ctx->alloc, *n + 1, 16);
    if (*text) {
        memcpy(*text, s, *n);
        (*text)[*n] = 0;
    }
    table->release(&code);
    return *text ? KILN_OK : kn_nomem(ctx);
}

kiln_status kn_compile_loops(kiln_ctx *ctx, const kn_loops *l, kiln_array *const *consts, const kiln_compile_opts *opts, kiln_exec **out)
{
    kn_resolved r;
    *out = NULL;
    KILN_TRY(kn_compile_resolve(ctx, opts, &r));
    KILN_TRY(kn_runs_here(ctx, r.o.target));
    kn_arena temp;
    kn_arena_init(&temp, &ctx->alloc);
    kiln_type *types = KN_NEWN(&temp, kiln_type, l->n_inputs + l->n_outputs);
    int64_t *sizes = KN_NEWN(&temp, int64_t, l->n_inputs + l->n_outputs);
    kiln_status status = types && sizes ? KILN_OK : kn_nomem(ctx);
    for (uint32_t i = 0; status == KILN_OK && i < l->n_inputs + l->n_outputs; i++) types[i] = (kiln_type){KILN_F32, 1, &sizes[i]};
    for (uint32_t i = 0; status == KILN_OK && i < l->slots.n; i++) {
        const kn_slot *s = &l->slots.v[i];
        if (s->kind > KN_SLOT_OUTPUT || s->index >= (s->kind == KN_SLOT_INPUT ? l->n_inputs : l->n_outputs)) continue;
        uint32_t k = s->index + (s->kind == KN_SLOT_OUTPUT ? l->n_inputs : 0);
        types[k].dtype = s->dtype;
        sizes[k] = s->elements;
    }
    if (status == KILN_OK) {
        kn_signature s = {types, types + l->n_inputs, l->n_inputs, l->n_outputs, consts, l->n_consts, 0};
        kn_build_opts o = {.target = r.o.target, .tier = r.o.tier, .donated = r.o.donated, .flush = r.loops.flush, .share = kn_split_share(&r)};
        status = kn_exec_build(ctx, l, &s, &o, &(kiln_exec_info){0}, out);
    }
    kn_arena_fini(&temp);
    return status;
}
