/* SPDX-License-Identifier: Apache-2.0 */
/* sort by keys, sort by a comparator, top_k. Every line along the dimension is sorted by itself, stably, all arrays alike. */
#include "rt/sort.h"
#include "prim/derive.h"
#include "prim/batch.h"
#include "prim/body.h"
#include "prim/index.h"
#include "prim/routine.h"
#include "prim/sample.h"

/* The lines of a type along a dimension: element i of line k stands at start(k) + i * step. */
typedef struct lines {
    int64_t n, count, step;
} lines;
static lines lines_of(kiln_type t, int64_t axis)
{
    lines l = {t.dims[axis], 1, 1};
    for (uint32_t d = 0; d < t.rank; d++) {
        if ((int64_t)d != axis) l.count *= t.dims[d];
        if ((int64_t)d > axis) l.step *= t.dims[d];
    }
    return l;
}
static int64_t line_start(const lines *l, int64_t k) { return k / l->step * l->step * l->n + k % l->step; }

static kiln_status same_shapes(const kn_typing *t, uint32_t from)
{
    for (uint32_t i = from; i < t->nin; i++) {
        bool same = t->in[i].rank == t->in[from].rank;
        for (uint32_t d = 0; same && d < t->in[i].rank; d++) same = t->in[i].dims[d] == t->in[from].dims[d];
        if (!same)
            return kn_fail(t->ctx, KILN_SHAPE, "%s: arrays must have one shape, %s and %s given", t->prim->name, kn_type_show(t->in[from]).s,
                           kn_type_show(t->in[i]).s);
    }
    return KILN_OK;
}

/* Elements of one array in their new order. */
static void place_all(size_t width, const char *from, char *to, int64_t start, int64_t step, const int64_t *place, int64_t n)
{
#define MOVE(w)                                                                                    \
    for (int64_t i = 0; i < n; i++) memcpy(to + (size_t)(start + i * step) * (w), from + (size_t)(start + place[i] * step) * (w), (w))
    switch (width) {
    case 1: MOVE(1); break;
    case 2: MOVE(2); break;
    case 4: MOVE(4); break;
    case 8: MOVE(8); break;
    default: MOVE(width); break;
    }
#undef MOVE
}

/* ---- sort ---- */

enum { SORT_DIMENSION, SORT_STABLE, SORT_KEYS };
static const kn_param_spec sort_params[] = {{"dimension", KN_P_INT, 0}, {"is_stable", KN_P_BOOL, 0}, {"num_keys", KN_P_INT, 0}};

static kiln_status type_sort(kn_typing *t)
{
    int64_t axis, keys;
    KILN_TRY(kn_typing_count(t, 1));
    KILN_TRY(kn_typing_axis(t, SORT_DIMENSION, t->in[0].rank, &axis));
    KILN_TRY(kn_typing_int(t, SORT_KEYS, &keys));
    if (keys < 1 || keys > (int64_t)t->nin) return kn_fail(t->ctx, KILN_INVALID, "sort: num_keys is %lld, there are %u operands", (long long)keys, t->nin);
    KILN_TRY(same_shapes(t, 0));
    KILN_TRY(kn_typing_out(t, t->nin));
    for (uint32_t i = 0; i < t->nin; i++) KILN_TRY(kn_typing_like(t, i, t->in[i].dtype, t->in[i]));
    return KILN_OK;
}

/* The routine: lines, then how many arrays are keys; where some are complex, also the number of parts of each array. */
enum { I_LENGTH, I_LINES, I_STEP, I_LAST, I_COUNT };
typedef struct sorting {
    lines l;
    uint32_t n, keys;
    const kn_parts *arrays; /* without data */
    size_t room;
} sorting;

static bool lines_from(const kn_call *c, lines *l)
{
    if (c->n_ints < I_COUNT) return false;
    *l = (lines){c->ints[I_LENGTH], c->ints[I_LINES], c->ints[I_STEP]};
    return l->step > 0 && l->count % l->step == 0 && kn_call_product((int64_t[]){l->n, l->count}, 2) >= 0;
}
/* Sorted along with the places that the elements come from; tangents follow them. */
static kiln_status jvp_sort(KN_JVP_ARGS)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_in_type(j, e, 0);
    uint32_t axis = (uint32_t)e->params[SORT_DIMENSION].i;
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, 2 * e->nin + 2), *out = in + e->nin + 1;
    KILN_TRY_MEM(b->ctx, in);
    memcpy(in, x, e->nin * sizeof *in);
    in[e->nin] = kn_low_iota(&l, (kiln_type){KILN_I32, t.rank, t.dims}, axis);
    KILN_TRY(l.status);
    KILN_TRY(kn_build_eqn(b, e->prim, e->params, in, e->nin + 1, out, e->nin + 1));
    memcpy(y, out, e->nin * sizeof *y);
    for (uint32_t i = 0; i < e->nin; i++)
        if (dx[i] != KN_SYMBOLIC_ZERO) KILN_TRY(kn_build_take(b, dx[i], out[e->nin], axis, &dy[i]));
    return KILN_OK;
}

static void lines_to(lines l, int64_t last, int64_t *ints)
{
    ints[I_LENGTH] = l.n, ints[I_LINES] = l.count, ints[I_STEP] = l.step > 0 ? l.step : 1, ints[I_LAST] = last;
}
/* Items first, then places at *room. */
static bool items_room(int64_t n, int64_t places, size_t *work_bytes, size_t *room)
{
    size_t items;
    return kn_call_room(work_bytes, n, sizeof(kn_sort_item), &items) && kn_call_room(work_bytes, places, sizeof(int64_t), room);
}

static kiln_status bind_sort(kiln_ctx *ctx, kn_arena *arena, const kn_call *c, const void **self, size_t *work_bytes)
{
    sorting s = {.n = c->nout};
    *work_bytes = 0;
    KN_CALL_CHECK(ctx, c, c->nout == c->nin && lines_from(c, &s.l) && c->ints[I_LAST] >= 1 && c->ints[I_LAST] <= (int64_t)c->nin);
    bool some_complex = c->n_ints == I_COUNT + s.n;
    KN_CALL_CHECK(ctx, c, some_complex || c->n_ints == I_COUNT);
    for (uint32_t i = 0; i < c->nout + c->nin; i++)
        KN_CALL_CHECK(ctx, c, kn_parts_fit(c, i, c->arrays[i % s.n].dtype, some_complex && c->ints[I_COUNT + i % s.n] == 2, s.l.n * s.l.count));
    KN_CALL_CHECK(ctx, c, s.l.n <= INT64_MAX / 2 && items_room(2 * s.l.n, s.l.n, work_bytes, &s.room));
    if (!arena) return KILN_OK;
    s.keys = (uint32_t)c->ints[I_LAST];
    kn_parts *arrays = KN_NEWN(arena, kn_parts, s.n);
    KILN_TRY_MEM(ctx, arrays);
    for (uint32_t i = 0; i < s.n; i++) arrays[i] = (kn_parts){c->arrays[i].dtype, some_complex && c->ints[I_COUNT + i] == 2, NULL};
    s.arrays = arrays;
    KILN_TRY_MEM(ctx, *self = kn_arena_copy(arena, &s, sizeof s));
    return KILN_OK;
}

/* The sort being stable, the last key goes first; of a complex one the imaginary part, then the real one. */
static void sort_line(const sorting *s, void *const *arrays, int64_t start, void *work, int64_t *place)
{
    const kn_parts *first = s->arrays;
    if (s->n == 1 && !first->complex && kn_sort_alone(first->dtype, arrays[1], arrays[0], start, s->l.step, work, s->l.n)) return;
    for (int64_t i = 0; i < s->l.n; i++) place[i] = i;
    for (uint32_t key = s->keys; key-- > 0;) {
        int64_t parts = s->arrays[key].complex ? 2 : 1;
        for (int64_t k = parts; k-- > 0;) kn_sort_by(s->arrays[key].dtype, arrays[s->n + key], parts * start + k, parts * s->l.step, work, s->l.n, place);
    }
    for (uint32_t a = 0; a < s->n; a++)
        place_all(kiln_dtype_bytes(s->arrays[a].dtype) * (s->arrays[a].complex ? 2 : 1), arrays[s->n + a], arrays[a], start, s->l.step, place, s->l.n);
}

static void run_sort(const void *self, void *const *arrays, void *work)
{
    const sorting *s = self;
    for (int64_t k = 0; k < s->l.count && s->l.n > 0; k++) sort_line(s, arrays, line_start(&s->l, k), work, (int64_t *)(void *)((char *)work + s->room));
}

extern const kn_routine kn_routine_sort;
const kn_routine kn_routine_sort = {.name = "sort", .bind = bind_sort, .run = run_sort};

static kiln_status call_sort(kiln_ctx *ctx, kn_arena *arena, const kn_jaxpr *j, const kn_eqn *e, kn_call *c)
{
    lines l = lines_of(kn_in_type(j, e, 0), e->params[SORT_DIMENSION].i);
    int64_t *ints = KN_NEWN(arena, int64_t, I_COUNT + e->nin);
    KILN_TRY_MEM(ctx, ints);
    c->routine = &kn_routine_sort;
    c->ints = ints;
    c->n_ints = I_COUNT;
    lines_to(l, e->params[SORT_KEYS].i, ints);
    for (uint32_t i = 0; i < e->nin; i++) {
        ints[I_COUNT + i] = kiln_dtype_kind(kn_in_type(j, e, i).dtype) == 'c' ? 2 : 1;
        if (ints[I_COUNT + i] == 2) c->n_ints = I_COUNT + e->nin;
    }
    return KILN_OK;
}

KILN_PRIM(sort) = {
    .name = "sort",
    .nin = KN_VARIADIC,
    .nout = KN_VARIADIC,
    .flags = KN_EXPENSIVE | KN_JVP_WHOLE,
    KN_PARAMS(sort_params),
    .loop = KN_LOOP_CALL,
    .type = type_sort,
    .jvp = jvp_sort,
    .eval = kn_eval_call,
    .call = call_sort,
    .batch = kn_batch_dimensions,
    .sample = kn_sample_sort,
    .doc = "Sorts along a dimension by the first num_keys arrays, stably; the other arrays go along. -0 equals 0, NaN is last; complex "
           "numbers by real, then imaginary part.",
};

/* ---- sort_by ---- */

enum { BY_COMPARATOR, BY_DIMENSION, BY_STABLE, BY_CONSTS };
static const kn_param_spec by_params[] = {
    {"comparator", KN_P_JAXPR, 0},
    {"dimension", KN_P_INT, 0},
    {"is_stable", KN_P_BOOL, 0},
    {"num_consts", KN_P_INT, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
};

static kiln_status type_sort_by(kn_typing *t)
{
    int64_t axis;
    uint32_t consts;
    KILN_TRY(kn_typing_consts(t, BY_CONSTS, &consts));
    KILN_TRY(kn_typing_count(t, consts + 1));
    KILN_TRY(kn_typing_axis(t, BY_DIMENSION, t->in[consts].rank, &axis));
    KILN_TRY(same_shapes(t, consts));
    uint32_t n = t->nin - consts;
    kiln_dtype *args = KN_NEWN(t->arena, kiln_dtype, 2 * n), flag = KILN_BOOL;
    KILN_TRY_MEM(t->ctx, args);
    KILN_TRY(kn_typing_out(t, n));
    for (uint32_t i = 0; i < n; i++) {
        args[2 * i] = args[2 * i + 1] = t->in[consts + i].dtype;
        KILN_TRY(kn_typing_like(t, i, t->in[consts + i].dtype, t->in[consts + i]));
    }
    return kn_typing_scalar_body(t, BY_COMPARATOR, consts, args, 2 * n, &flag, 1);
}

/* One line: elements are compared by running the comparator on them. */
typedef struct comparing {
    kn_caller *comparator;
    kiln_array *const *in;
    uint32_t n;
    int64_t start, step;
    kiln_status status;
} comparing;

static int before(void *ud, int64_t a, int64_t b)
{
    comparing *s = ud;
    int64_t at[2] = {s->start + a * s->step, s->start + b * s->step};
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t k = 0; k < 2; k++) kn_move(kn_caller_arg(s->comparator, 2 * i + k), 0, s->in[i], at[k]);
    s->status = kn_caller_run(s->comparator);
    return s->status == KILN_OK ? *(const unsigned char *)s->comparator->out[0]->data != 0 : -1;
}

static kiln_status sort_lines(kn_eval *ev, comparing *s, int64_t axis, kiln_array **out)
{
    lines l = lines_of(s->in[0]->type, axis);
    size_t bytes = 2 * (size_t)l.n * sizeof(int64_t) + 1;
    int64_t *place = kn_new(&ev->ctx->alloc, bytes);
    KILN_TRY_MEM(ev->ctx, place);
    s->step = l.step;
    bool good = true;
    for (int64_t k = 0; good && k < l.count && l.n > 0; k++) {
        s->start = line_start(&l, k);
        for (int64_t i = 0; i < l.n; i++) place[i] = i;
        good = kn_merge_sort(place, place + l.n, l.n, before, s);
        for (uint32_t a = 0; good && a < s->n; a++)
            for (int64_t i = 0; i < l.n; i++) kn_move(out[a], s->start + i * l.step, s->in[a], s->start + place[i] * l.step);
    }
    kn_free(&ev->ctx->alloc, place, bytes);
    return good ? KILN_OK : s->status;
}

static kiln_status eval_sort_by(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)j;
    kn_caller c;
    uint32_t consts = kn_body_consts(e, BY_CONSTS);
    KILN_TRY(kn_caller_init(&c, ev, e->params[BY_COMPARATOR].jaxpr, in, consts));
    comparing s = {.comparator = &c, .in = in + consts, .n = e->nin - consts};
    kiln_status status = sort_lines(ev, &s, e->params[BY_DIMENSION].i, out);
    kn_caller_fini(&c);
    return status;
}
/* A comparator that sees captures with lanes is used lane by lane. */
static kiln_status batch_sort_by(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    uint32_t consts = kn_body_consts(e, BY_CONSTS);
    if (kn_any_lanes(&m, 0, consts)) return kn_batch_loop(r, b, j, e, x, axis, y, out_axis);
    kn_param *p = kn_lanes_params(&m);
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, e->nin);
    KILN_TRY_MEM(b->ctx, p && in);
    kn_lanes_shift(&m, &p[BY_DIMENSION]);
    for (uint32_t i = 0; i < e->nin; i++) in[i] = i < consts ? x[i] : kn_lanes_full(&m, i);
    return kn_lanes_emit(&m, p, in, y);
}
/* The comparator of arrays with one more behind them, which it does not see. */
static kiln_status with_places(kn_build *outer, const kn_jaxpr *body, const kn_eqn *e, const kn_jaxpr **out)
{
    kn_build b;
    uint32_t n = kn_nargs(body);
    kn_atom *in = KN_NEWN(&outer->prog->arena, kn_atom, n), place, y;
    KILN_TRY_MEM(outer->ctx, in);
    kn_build_init(&b, outer->ctx, outer->prog);
    b.scope = e->scope, b.loc = e->loc;
    for (uint32_t i = 0; i < n; i++) KILN_TRY(kn_build_input(&b, kn_type_of(body, body->in[body->nconsts + i]), &in[i]));
    for (int i = 0; i < 2; i++) KILN_TRY(kn_build_input(&b, KILN_SCALAR(KILN_I32), &place));
    KILN_TRY(kn_low_inline(&b, body, e, in, &y));
    return kn_build_finish(&b, &y, 1, out);
}

/* Sorted with their places, which the tangents are taken from. */
static kiln_status jvp_sort_by(KN_JVP_ARGS)
{
    kn_low l = {b, KILN_OK};
    uint32_t consts = kn_body_consts(e, BY_CONSTS), n = e->nin;
    int64_t axis = e->params[BY_DIMENSION].i;
    kiln_type t = kn_in_type(j, e, consts), places = {KILN_I32, t.rank, t.dims};
    kn_param params[4];
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, n + 1), *out = KN_NEWN(&b->prog->arena, kn_atom, n + 1);
    const kn_jaxpr *comparator;
    (void)r;
    KILN_TRY_MEM(b->ctx, in && out);
    memcpy(params, e->params, sizeof params);
    KILN_TRY(with_places(b, e->params[BY_COMPARATOR].jaxpr, e, &comparator));
    params[BY_COMPARATOR] = KN_JAXPR(comparator);
    memcpy(in, x, n * sizeof *in);
    in[n] = kn_low_iota(&l, places, (uint32_t)axis);
    KILN_TRY(l.status);
    KILN_TRY(kn_build_eqn(b, e->prim, params, in, n + 1, out, e->nout + 1));
    for (uint32_t i = 0; i < e->nout; i++) {
        y[i] = out[i];
        if (dx[consts + i] != KN_SYMBOLIC_ZERO) KILN_TRY(kn_build_take(b, dx[consts + i], out[e->nout], (uint32_t)axis, &dy[i]));
    }
    return KILN_OK;
}

KILN_PRIM(sort_by) = {
    .name = "sort_by",
    .nin = KN_VARIADIC,
    .nout = KN_VARIADIC,
    .flags = KN_EXPENSIVE | KN_JVP_WHOLE,
    KN_PARAMS(by_params),
    .loop = KN_LOOP_SORT,
    .type = type_sort_by,
    .jvp = jvp_sort_by,
    .eval = eval_sort_by,
    .batch = batch_sort_by,
    .sample = kn_sample_sort,
    .doc = "Sorts along a dimension, stably: elements a come before elements b where the comparator is true of (a0, b0, a1, b1, ..).",
};

/* ---- top_k ---- */

enum { TOP_AXIS, TOP_STABLE, TOP_K, TOP_OPERAND };
static const kn_param_spec top_params[] = {
    {"axis", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
    {"is_stable", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
    {"k", KN_P_INT, 0},
};

static int64_t top_axis(const kn_param *params, kiln_type x) { return params[TOP_AXIS].kind == KN_P_INT ? params[TOP_AXIS].i : (int64_t)x.rank - 1; }

static kiln_status type_top_k(kn_typing *t)
{
    int64_t k, *dims[2];
    kiln_type x = t->in[0];
    KILN_TRY(kn_typing_kinds(t, 0, "biuf"));
    KILN_TRY(kn_typing_int(t, TOP_K, &k));
    if (x.rank == 0) return kn_fail(t->ctx, KILN_SHAPE, "top_k of a scalar, %s", kn_type_show(x).s);
    if (!kn_is_none(&t->params[TOP_AXIS])) KILN_TRY(kn_typing_axis(t, TOP_AXIS, x.rank, &(int64_t){0}));
    int64_t axis = top_axis(t->params, x);
    if (k < 0 || k > x.dims[axis])
        return kn_fail(t->ctx, KILN_SHAPE, "top_k: k is %lld, but dimension %lld of %s has fewer elements", (long long)k, (long long)axis, kn_type_show(x).s);
    KILN_TRY(kn_typing_out(t, 2));
    for (uint32_t i = 0; i < 2; i++) {
        KILN_TRY(kn_typing_shape(t, i, i ? KILN_I32 : x.dtype, x.rank, &dims[i]));
        for (uint32_t d = 0; d < x.rank; d++) dims[i][d] = (int64_t)d == axis ? k : x.dims[d];
    }
    return KILN_OK;
}

/* The routine: lines, then k. */
typedef struct selecting {
    lines l, top;
    kiln_dtype dtype;
    size_t room;
} selecting;

static kiln_status bind_top_k(kiln_ctx *ctx, kn_arena *arena, const kn_call *c, const void **self, size_t *work_bytes)
{
    selecting s = {.room = 0};
    *work_bytes = 0;
    KN_CALL_CHECK(ctx, c, c->n_ints == I_COUNT && c->nout == 2 && c->nin == 1 && lines_from(c, &s.l) && c->ints[I_LAST] >= 0 && c->ints[I_LAST] <= s.l.n && s.l.n <= INT32_MAX);
    s.dtype = c->arrays[2].dtype;
    s.top = (lines){c->ints[I_LAST], s.l.count, s.l.step};
    bool fits = strchr("biuf8", kiln_dtype_kind(s.dtype)) && c->arrays[2].elements == s.l.n * s.l.count && c->arrays[0].dtype == s.dtype && c->arrays[1].dtype == KILN_I32;
    KN_CALL_CHECK(ctx, c, fits && c->arrays[0].elements == s.top.n * s.top.count && c->arrays[1].elements == s.top.n * s.top.count);
    KN_CALL_CHECK(ctx, c, items_room(kn_sort_first_room(s.l.n, s.top.n), s.top.n, work_bytes, &s.room));
    if (arena) KILN_TRY_MEM(ctx, *self = kn_arena_copy(arena, &s, sizeof s));
    return KILN_OK;
}
static kiln_status jvp_top_k(KN_JVP_ARGS)
{
    (void)r, (void)x;
    return kn_build_take(b, dx[0], y[1], (uint32_t)top_axis(e->params, kn_in_type(j, e, 0)), &dy[0]);
}

static void run_top_k(const void *self, void *const *arrays, void *work)
{
    const selecting *s = self;
    int64_t *place = (int64_t *)(void *)((char *)work + s->room);
    size_t w = kiln_dtype_bytes(s->dtype);
    for (int64_t k = 0; k < s->l.count && s->top.n > 0; k++) {
        int64_t start = line_start(&s->l, k), to = line_start(&s->top, k);
        kn_sort_first(s->dtype, arrays[2], start, s->l.step, work, s->l.n, s->top.n, place);
        for (int64_t i = 0; i < s->top.n; i++) {
            int64_t at = to + i * s->top.step;
            memcpy((char *)arrays[0] + (size_t)at * w, (const char *)arrays[2] + (size_t)(start + place[i] * s->l.step) * w, w);
            ((int32_t *)arrays[1])[at] = (int32_t)place[i];
        }
    }
}

extern const kn_routine kn_routine_top_k;
const kn_routine kn_routine_top_k = {.name = "top_k", .bind = bind_top_k, .run = run_top_k};

static kiln_status call_top_k(kiln_ctx *ctx, kn_arena *arena, const kn_jaxpr *j, const kn_eqn *e, kn_call *c)
{
    kiln_type x = kn_in_type(j, e, 0);
    int64_t ints[I_COUNT];
    c->routine = &kn_routine_top_k;
    lines_to(lines_of(x, top_axis(e->params, x)), e->params[TOP_K].i, ints);
    return kn_call_ints(ctx, arena, c, ints, I_COUNT);
}

KILN_PRIM(top_k) = {
    .name = "top_k",
    .nin = 1,
    .nout = 2,
    .flags = KN_EXPENSIVE,
    KN_PARAMS(top_params),
    .loop = KN_LOOP_CALL,
    .type = type_top_k,
    .jvp = jvp_top_k,
    .eval = kn_eval_call,
    .call = call_top_k,
    .batch = kn_batch_dimensions,
    .sample = kn_sample_top_k,
    .doc = "The k greatest elements along a dimension (the last one unless given), greatest first, and their indices; the lower index "
           "first at a tie. Floats stand in their total order: -NaN least, -0 below 0, NaN greatest.",
};
