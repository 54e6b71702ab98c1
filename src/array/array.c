/* SPDX-License-Identifier: Apache-2.0 */
#include "array/size.h"

enum { ALIGN = 64 };

static size_t head_bytes(uint32_t rank) { return sizeof(kiln_array) + rank * sizeof(int64_t); }

static kiln_status make(kiln_ctx *ctx, kiln_type type, kiln_array **out)
{
    *out = NULL;
    int64_t n = kiln_type_size(type);
    size_t bytes;
    if (kn_type_open(type)) return kn_fail(ctx, KILN_SHAPE, "an array of type %s: the size n has no value", kn_type_show(type).s);
    if (n < 0 || !kn_mul_size((size_t)n, kiln_dtype_bytes(type.dtype), &bytes) || bytes > SIZE_MAX / 2)
        return kn_fail(ctx, KILN_SHAPE, "an array of type %s has no size that memory can hold", kn_type_show(type).s);
    kiln_array *a = kn_new(&ctx->alloc, head_bytes(type.rank));
    KILN_TRY_MEM(ctx, a);
    atomic_init(&a->refs, 1);
    a->alloc = ctx->alloc;
    int64_t *dims = (int64_t *)(a + 1);
    if (type.rank) memcpy(dims, type.dims, type.rank * sizeof *dims);
    a->type = (kiln_type){type.dtype, type.rank, type.rank ? dims : NULL};
    a->bytes = bytes;
    *out = a;
    return KILN_OK;
}

kiln_status kiln_array_create(kiln_ctx *ctx, kiln_type type, kiln_array **out)
{
    KILN_TRY(make(ctx, type, out));
    kiln_array *a = *out;
    a->owned = true;
    a->data = kn_new_aligned(&a->alloc, a->bytes, ALIGN);
    if (!a->data) {
        kiln_array_release(a);
        *out = NULL;
        return kn_nomem(ctx);
    }
    memset(a->data, 0, a->bytes);
    return KILN_OK;
}

kiln_status kiln_array_wrap(kiln_ctx *ctx, kiln_type type, void *data, void (*release)(void *ud, void *data), void *ud,
                            kiln_array **out)
{
    KILN_TRY(make(ctx, type, out));
    (*out)->data = data;
    (*out)->release = release;
    (*out)->release_ud = ud;
    return KILN_OK;
}

kiln_array *kiln_array_retain(kiln_array *a)
{
    if (a) atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
    return a;
}

void kiln_array_release(kiln_array *a)
{
    if (!a || atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) != 1) return;
    if (a->owned) kn_free_aligned(&a->alloc, a->data, a->bytes, ALIGN);
    else if (a->release) a->release(a->release_ud, a->data);
    kn_alloc alloc = a->alloc;
    kn_free(&alloc, a, head_bytes(a->type.rank));
}

kiln_type kiln_array_type(const kiln_array *a) { return a->type; }
void *kiln_array_data(kiln_array *a) { return a->data; }
const void *kiln_array_read(const kiln_array *a) { return a->data; }
size_t kiln_array_bytes(const kiln_array *a) { return a->bytes; }
