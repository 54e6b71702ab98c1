/* SPDX-License-Identifier: Apache-2.0 */
/* Scatters and gathers that are loops: the interpreter's bits for every combination, type of index, mode and form of window, with places
 * named again and again and indices out of bounds; how many nests and copies they take. */
#include "same.h"
#include "testing.h"

#include "kiln/exec.h"

enum { SIZE = 1024 };

/* What is scattered where: types but for the elements' and the indices', dimension numbers. */
typedef struct form {
    const char *operand, *indices, *updates, *dims;
    const char *back; /* the same as a gather: dimension numbers, then slice sizes */
    const char *sizes;
} form;

#define BATCHES(o, i) "operand_batching_dims=(" o "), scatter_indices_batching_dims=(" i ")"
static const form forms[] = {
    {"37", "300,1", "300", "update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), " BATCHES("", ""), "offset_dims=(), collapsed_slice_dims=(0,)", "1"},
    {"5", "20,4,1", "20,4", "update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), " BATCHES("", ""), "offset_dims=(), collapsed_slice_dims=(0,)", "1"},
    {"40", "3,1", "3", "update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), " BATCHES("", ""), "offset_dims=(), collapsed_slice_dims=(0,)", "1"},
    {"3", "2,1", "2", "update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), " BATCHES("", ""), "offset_dims=(), collapsed_slice_dims=(0,)", "1"},
    {"20,8", "50,1", "50,8", "update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), " BATCHES("", ""), "offset_dims=(1,), collapsed_slice_dims=(0,)", "1,8"},
    {"20,3", "50,1", "50,3", "update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), " BATCHES("", ""), "offset_dims=(1,), collapsed_slice_dims=(0,)", "1,3"},
    {"11,2,35", "9,1", "9,2,35", "update_window_dims=(1, 2), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), " BATCHES("", ""), "offset_dims=(1, 2), collapsed_slice_dims=(0,)", "1,2,35"},
    {"90", "6,1", "6,70", "update_window_dims=(1,), inserted_window_dims=(), scatter_dims_to_operand_dims=(0,), " BATCHES("", ""), "offset_dims=(1,), collapsed_slice_dims=()", "70"},
    {"70,9", "1", "70", "update_window_dims=(0,), inserted_window_dims=(1,), scatter_dims_to_operand_dims=(1,), " BATCHES("", ""), "offset_dims=(0,), collapsed_slice_dims=(1,)", "70,1"},
    {"9,12", "60,2", "60,2,3", "update_window_dims=(1, 2), inserted_window_dims=(), scatter_dims_to_operand_dims=(1, 0), " BATCHES("", ""), "offset_dims=(1, 2), collapsed_slice_dims=()", "2,3"},
    {"4,30", "4,25,1", "4,25", "update_window_dims=(), inserted_window_dims=(1,), scatter_dims_to_operand_dims=(1,), " BATCHES("0,", "0,"), "offset_dims=(), collapsed_slice_dims=(1,)", "1,1"},
};

typedef struct combination {
    const char *prim, *element, *index, *mode;
    bool sorted, gathers;
} combination;

static void write_dims(char *to, size_t n, const form *f, bool gather)
{
    if (!gather) {
        snprintf(to, n, "%s", f->dims);
        return;
    }
    const char *map = strstr(f->dims, "scatter_dims_to_operand_dims=") + strlen("scatter_dims_to_operand_dims="), *end = strchr(map, ')');
    bool batches = strstr(f->dims, "operand_batching_dims=(0,)") != NULL;
    snprintf(to, n, "%s, start_index_map=%.*s), operand_batching_dims=(%s), start_indices_batching_dims=(%s)", f->back, (int)(end - map), map,
             batches ? "0," : "", batches ? "0," : "");
}

static kiln_prog *program(kiln_ctx *ctx, const form *f, const combination *c)
{
    char text[2 * SIZE], dims[SIZE];
    write_dims(dims, sizeof dims, f, c->gathers);
    if (c->gathers)
        snprintf(text, sizeof text,
                 "{ lambda ; x:%s[%s] i:%s[%s]. let y:%s[%s] = gather[dimension_numbers=GatherDimensionNumbers(%s) fill_value=None indices_are_sorted=False "
                 "mode=GatherScatterMode.%s slice_sizes=(%s,) unique_indices=False] x i in (y,) }",
                 c->element, f->operand, c->index, f->indices, c->element, f->updates, dims, c->mode, f->sizes);
    else
        snprintf(text, sizeof text,
                 "{ lambda ; x:%s[%s] i:%s[%s] u:%s[%s]. let y:%s[%s] = %s[dimension_numbers=ScatterDimensionNumbers(%s) indices_are_sorted=%s "
                 "mode=GatherScatterMode.%s unique_indices=False] x i u in (y,) }",
                 c->element, f->operand, c->index, f->indices, c->element, f->updates, c->element, f->operand, c->prim, dims, c->sorted ? "True" : "False",
                 c->mode);
    kiln_prog *p;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "scatter", &p));
    return p;
}

/* Elements of all sizes; indices mostly in bounds, some far outside; in order where that is promised, but for a few. */
static kiln_array *values(kiln_ctx *ctx, kiln_type t, bool indices, int64_t bound, bool sorted, uint32_t seed)
{
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, t, &a));
    int64_t n = kiln_type_size(t);
    for (int64_t k = 0; k < n; k++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t r = seed >> 8;
        kn_scalar v = {.c = {0, 0}};
        if (!indices && kiln_dtype_kind(t.dtype) == 'f') v.f = ((double)(r % 20001) - 10000) * (r % 7 ? 1e-3 : 1e7);
        else if (!indices) v.i = (int64_t)(r % 101) - (kiln_dtype_kind(t.dtype) == 'u' ? 0 : 50);
        else if (sorted && r % 16) v.i = k * bound / n;
        else if (r % 11 == 0) v.i = kiln_dtype_kind(t.dtype) == 'u' ? 120 : r % 2 ? -1 - (int64_t)(r % 5) : 127;
        else v.i = (int64_t)(r % (uint32_t)bound);
        kn_scalar_store(t.dtype, a->data, k, v);
    }
    return a;
}

static void check(kiln_ctx *ctx, const form *f, const combination *c, const kiln_compile_opts *o)
{
    kiln_prog *p = program(ctx, f, c);
    kiln_exec *code;
    kiln_array *in[3], *want, *got;
    uint32_t n = kiln_prog_n_inputs(p);
    for (uint32_t i = 0; i < n; i++) in[i] = values(ctx, kiln_prog_input_type(p, i), i == 1, kiln_prog_input_type(p, 0).dims[0], c->sorted, i + 1);
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, &want));
    assert_ok(ctx, kiln_compile(ctx, p, o, &code));
    assert_ok(ctx, kiln_exec_call(ctx, code, in, &got));
    int64_t where = -1;
    if (!same_array(want, got, &where))
        fail_msg("%s of %s[%s] at %s[%s], %s%s: element %lld differs", c->gathers ? "gather" : c->prim, c->element, f->operand, c->index, f->indices, c->mode,
                 c->sorted ? ", sorted" : "", (long long)where);
    kiln_array_release(want);
    kiln_array_release(got);
    for (uint32_t i = 0; i < n; i++) kiln_array_release(in[i]);
    kiln_exec_release(code);
    kiln_prog_release(p);
}

static void bits(void **state)
{
    kiln_ctx *ctx = *state;
    static const char *const prims[] = {"scatter", "scatter-add", "scatter-mul", "scatter-min", "scatter-max", "scatter-sub"};
    static const char *const elements[] = {"f32", "f64", "i32", "bf16", "u8"}, *const indices[] = {"i32", "i8", "u8", "i64", "u32", "u64"};
    static const char *const modes[] = {"FILL_OR_DROP", "CLIP", "PROMISE_IN_BOUNDS"};
    uint32_t k = 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (int turn = 0; turn < 24; turn++, k++) {
            combination c = {prims[k % 6], elements[k % 5], indices[k / 3 % 6], modes[k / 2 % 3], k % 4 == 1, k % 6 == 5 && turn % 2};
            kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
            if (turn % 5 == 4) o.register_elements = 0;
            if (turn % 7 == 6) o.vector_bits = 256;
            o.tier = turn % 3 ? 2 : 0;
            check(ctx, &forms[i], &c, &o);
        }
}

/* ---- what they are made of ---- */

static kiln_exec_info info_of(kiln_ctx *ctx, const char *text)
{
    kiln_prog *p;
    kiln_exec *f;
    kiln_exec_info info;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "scatter", &p));
    assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
    kiln_exec_info_get(f, &info);
    kiln_exec_release(f);
    kiln_prog_release(p);
    return info;
}

#define DIMS "dimension_numbers=ScatterDimensionNumbers(" \
             "update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=()) " \
             "indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP unique_indices=False"
#define ZEROS "z:f32[100,8] = broadcast_in_dim[broadcast_dimensions=() shape=(100, 8) sharding=None] 0.0:f32[] "
#define COLUMN "j:i32[5000,1] = broadcast_in_dim[broadcast_dimensions=(0,) shape=(5000, 1) sharding=None] i "

/* The array stands where the result belongs; indices are read as they are; updates are made where they are added. */
static void counts(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_exec_info a = info_of(ctx, "{ lambda ; i:i32[5000] u:f32[5000,8]. let " ZEROS COLUMN "y:f32[100,8] = scatter-add[" DIMS "] z j u in (y,) }");
    assert_int_equal(a.nests, 2);
    assert_int_equal(a.time_loops, 0);
    assert_int_equal(a.copies + a.exit_copies, 0);
    assert_int_equal(a.scratch_bytes, 0);
    a = info_of(ctx, "{ lambda ; i:i32[5000] u:f32[5000,8]. let " ZEROS COLUMN
                     "v:f32[5000,8] = exp u w:f32[5000,8] = mul v u y:f32[100,8] = scatter-add[" DIMS "] z j w in (y,) }");
    assert_int_equal(a.nests, 2);
    assert_int_equal(a.scratch_bytes, 0);
    assert_int_equal(a.scalar_calls, 0);
    a = info_of(ctx, "{ lambda ; x:f32[100,8] i:i32[5000] u:f32[5000,8]. let " COLUMN "y:f32[100,8] = scatter-add[" DIMS "] x j u in (y,) }");
    assert_int_equal(a.copies + a.exit_copies, 1);
    a = info_of(ctx, "{ lambda ; x:f32[100,8] i:i32[5000] u:f32[5000,8]. let " COLUMN "t:f32[100,8] = mul x 2.0:f32[] "
                     "y:f32[100,8] = scatter-add[" DIMS "] t j u in (y,) }");
    assert_int_equal(a.copies + a.exit_copies, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits),
        cmocka_unit_test(counts),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
