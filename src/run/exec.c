/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of executables. A checked call allocates nothing once its frame (scratch and table of buffers) exists: the frame is kept
 * with the executable, and a second call at the same time makes one of its own. */
#include "run/exec.h"

#include "ir/size.h"
#include "run/pool.h"

kiln_exec *kiln_exec_retain(kiln_exec *f)
{
    if (f) atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    return f;
}

/* A frame that holds its own size: that of the largest call so far. */
typedef struct sized_frame {
    size_t bytes;
    char pad[56];
} sized_frame;

void kiln_exec_release(kiln_exec *f)
{
    if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1) return;
    kn_alloc alloc = f->alloc;
    void *spare = atomic_load(&f->spare);
    kn_free_aligned(&alloc, spare, f->sized && spare ? ((sized_frame *)spare)->bytes : f->frame_bytes, 64);
    for (uint32_t i = 0; i < f->nconsts; i++) kiln_array_release(f->consts[i]);
    kn_code_free(&f->code);
    kn_arena_fini(&f->arena);
    kn_free(&alloc, f, sizeof *f);
}

kiln_entry kiln_exec_entry(const kiln_exec *f) { return f->entry; }
const struct kiln_table *kiln_exec_table(const kiln_exec *f) { return &f->table; }
size_t kiln_exec_scratch_bytes(const kiln_exec *f) { return f->scratch_bytes; }

size_t kiln_exec_scratch_bytes_at(const kiln_exec *f, int64_t n)
{
    size_t bytes = f->scratch_bytes, more = 0, parts = 0, whole = n > 0 ? ((size_t)n + 63) & ~(size_t)63 : 0;
    bool fits = !f->part_per || kn_mul_size(f->part_per, f->table.parts, &parts);
    fits = fits && kn_add_size(parts, f->common_per, &parts) && kn_mul_size(parts, whole, &more) && kn_add_size(bytes, more, &bytes);
    return fits ? bytes : SIZE_MAX;
}
void kiln_exec_info_get(const kiln_exec *f, kiln_exec_info *out) { *out = f->info; }
void kiln_run_counts_get(const kiln_ctx *ctx, kiln_run_counts *out) { *out = (kiln_run_counts){ctx->trips, ctx->lane_steps}; }
const char *kiln_exec_scope(const kiln_exec *f, uint32_t i) { return i < f->info.n_scopes ? f->scopes[i] : ""; }

int kiln_exec_run(const kiln_exec *f, void *const *buffers, void *scratch, kiln_call *call)
{
    return f->entry(buffers, scratch, &f->table, call);
}

/* ---- checked calls ---- */

static kiln_status wrong_type(kiln_ctx *ctx, const char *what, uint32_t i, const kiln_array *a, kiln_type want)
{
    if (!a) return kn_fail(ctx, KILN_INVALID, "call: %s %u is NULL; accepted: an array of type %s", what, i, kn_type_show(want).s);
    kiln_type t = kiln_array_type(a);
    return kn_fail(ctx, t.dtype != want.dtype ? KILN_DTYPE : KILN_SHAPE, "call: %s %u has type %s; accepted: %s", what, i,
                   kn_type_show(t).s, kn_type_show(want).s);
}

static inline bool fits(const kiln_array *a, const kiln_type *t)
{
    if (!a || a->type.dtype != t->dtype || a->type.rank != t->rank) return false;
    for (uint32_t i = 0; i < t->rank; i++)
        if (a->type.dims[i] != t->dims[i]) return false;
    return true;
}

/* *n: the size that the inputs have, -1 for an executable that needs none. */
static kiln_status check_inputs(kiln_ctx *ctx, const kiln_exec *f, kiln_array *const *in, int64_t *n)
{
    *n = -1;
    if (f->sized) {
        KILN_TRY(kn_size_of_arrays(ctx, f->in, NULL, f->nin, in, "call: ", n));
        if (*n >= f->least) return KILN_OK;
        return kn_fail(ctx, KILN_SHAPE, "call: the inputs have the size %lld; accepted: %lld at least", (long long)*n, (long long)f->least);
    }
    for (uint32_t i = 0; i < f->nin; i++)
        if (!fits(in[i], &f->in[i])) return wrong_type(ctx, "input", i, in[i], f->in[i]);
    return KILN_OK;
}

static bool overlap(const kiln_array *a, const kiln_array *b)
{
    uintptr_t x = (uintptr_t)a->data, y = (uintptr_t)b->data;
    return x < y + b->bytes && y < x + a->bytes;
}

static kiln_status check_outputs(kiln_ctx *ctx, const kiln_exec *f, kiln_array *const *in, kiln_array *const *out, int64_t n)
{
    for (uint32_t i = 0; i < f->nout; i++) {
        int64_t dims[KN_RANK_LIMIT];
        kiln_type want = f->sized ? kn_type_at(f->out[i], n, dims) : f->out[i];
        if (!fits(out[i], &want)) return wrong_type(ctx, "output", i, out[i], want);
        for (uint32_t k = 0; k < f->nin; k++)
            if (overlap(out[i], in[k]) && !f->donated[k])
                return kn_fail(ctx, KILN_INVALID, "call: output %u overlaps input %u, which is not donated", i, k);
        for (uint32_t k = 0; k < i; k++)
            if (overlap(out[i], out[k])) return kn_fail(ctx, KILN_INVALID, "call: outputs %u and %u overlap", k, i);
    }
    return KILN_OK;
}

static kiln_status run(kiln_ctx *ctx, const kiln_exec *f, void **buffers, void *scratch, kiln_array *const *in, kiln_array *const *out,
                       int64_t n)
{
    kiln_call call = {.threads = ctx->threads};
    if (f->info.splits) kn_pool_enter(ctx);
    for (uint32_t i = 0; i < f->nin; i++) buffers[i] = in[i]->data;
    for (uint32_t i = 0; i < f->nout; i++) buffers[f->nin + i] = out[i]->data;
    if (f->sized) buffers[f->nin + f->nout] = &n;
    int status = f->entry(buffers, scratch, &f->table, &call);
    ctx->trips += call.trips;
    ctx->lane_steps += call.lane_steps;
    return status == 0 ? KILN_OK : kn_fail(ctx, (kiln_status)status, "call: ended with %s", kiln_status_name((kiln_status)status));
}

static kiln_status run_sized(kiln_ctx *ctx, const kiln_exec *f, kiln_array *const *in, kiln_array *const *out, int64_t n)
{
    size_t scratch = kiln_exec_scratch_bytes_at(f, n), bytes;
    bool fits = scratch < SIZE_MAX / 2;
    if (!fits) return kn_fail(ctx, KILN_NOMEM, "call: the temporaries of size %lld do not fit in memory", (long long)n);
    scratch = (scratch + 63) & ~(size_t)63;
    bytes = sizeof(sized_frame) + scratch + ((size_t)f->nin + f->nout + 1) * sizeof(void *);
    _Atomic(void *) *spare = (_Atomic(void *) *)(uintptr_t)&f->spare;
    sized_frame *frame = atomic_exchange_explicit(spare, NULL, memory_order_acquire);
    if (frame && frame->bytes < bytes) {
        kn_free_aligned(&f->alloc, frame, frame->bytes, 64);
        frame = NULL;
    }
    if (!frame) {
        frame = kn_new_aligned(&f->alloc, bytes, 64);
        KILN_TRY_MEM(ctx, frame);
        frame->bytes = bytes;
    }
    char *at = (char *)(frame + 1);
    kiln_status status = run(ctx, f, (void **)(void *)(at + scratch), at, in, out, n);
    void *none = NULL;
    if (!atomic_compare_exchange_strong_explicit(spare, &none, frame, memory_order_release, memory_order_relaxed))
        kn_free_aligned(&f->alloc, frame, frame->bytes, 64);
    return status;
}

static kiln_status run_in_frame(kiln_ctx *ctx, const kiln_exec *constant, kiln_array *const *in, kiln_array *const *out, int64_t n)
{
    enum { FEW = 16 };
    void *few[FEW];
    const kiln_exec *f = constant;
    if (f->sized) return run_sized(ctx, f, in, out, n);
    if (f->scratch_bytes == 0 && f->nin + f->nout <= FEW) return run(ctx, f, few, NULL, in, out, n);
    _Atomic(void *) *spare = (_Atomic(void *) *)(uintptr_t)&f->spare; /* the one part of an executable that changes */
    char *frame = atomic_exchange_explicit(spare, NULL, memory_order_acquire);
    if (!frame) frame = kn_new_aligned(&f->alloc, f->frame_bytes, 64);
    KILN_TRY_MEM(ctx, frame);
    void **buffers = (void **)(void *)(frame + ((f->scratch_bytes + 63) & ~(size_t)63));
    kiln_status status = run(ctx, f, buffers, frame, in, out, n);
    void *none = NULL;
    if (!atomic_compare_exchange_strong_explicit(spare, &none, frame, memory_order_release, memory_order_relaxed))
        kn_free_aligned(&f->alloc, frame, f->frame_bytes, 64);
    return status;
}

kiln_status kiln_exec_call_into(kiln_ctx *ctx, const kiln_exec *f, kiln_array *const *in, kiln_array *const *out)
{
    int64_t n;
    KILN_TRY(check_inputs(ctx, f, in, &n));
    KILN_TRY(check_outputs(ctx, f, in, out, n));
    return run_in_frame(ctx, f, in, out, n);
}

kiln_status kiln_exec_call(kiln_ctx *ctx, const kiln_exec *f, kiln_array *const *in, kiln_array **out)
{
    for (uint32_t i = 0; i < f->nout; i++) out[i] = NULL;
    int64_t n, dims[KN_RANK_LIMIT];
    KILN_TRY(check_inputs(ctx, f, in, &n));
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < f->nout && status == KILN_OK; i++)
        status = kiln_array_create(ctx, f->sized ? kn_type_at(f->out[i], n, dims) : f->out[i], &out[i]);
    if (status == KILN_OK) status = run_in_frame(ctx, f, in, out, n);
    if (status == KILN_OK) return KILN_OK;
    for (uint32_t i = 0; i < f->nout; i++) {
        kiln_array_release(out[i]);
        out[i] = NULL;
    }
    return status;
}
