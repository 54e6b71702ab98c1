/* SPDX-License-Identifier: Apache-2.0 */
/* ragged_dot_general: products of groups of rows, whose sizes are an operand. The dimension of the left operand that is divided into groups
 * (the ragged one) is
 *
 *     free:        each row is multiplied by the matrix of its group, which the group dimension of the right operand counts;
 *     contracted:  of each group the rows of both sides are multiplied and summed, one result a group, in a new first dimension;
 *     a batch:     the products of all rows, whatever the sizes.
 *
 * Rows of no group give 0. Rows are taken in tiles of one group, as many tiles as the groups have: a loop whose trips depend on the sizes,
 * without a product of the rows with each group. A tile of the first kind is written whole; what stands behind its group's end is put right by
 * the tiles that come later. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/control.h"
#include "prim/derive.h"
#include "prim/dot.h"
#include "prim/ragged.h"
#include "prim/sample.h"

enum { GROUP_OFFSET, OUT_SHARDING, PRECISION, PREFERRED, DIMENSIONS, N_PARAMS };
static const kn_param_spec ragged_params[] = {{"group_offset", KN_P_NONE, KN_PARAM_OPTIONAL},
                                              {"out_sharding", KN_P_NONE, KN_PARAM_OPTIONAL},
                                              {"precision", KN_P_NONE, KN_PARAM_OPTIONAL},
                                              {"preferred_element_type", KN_P_DTYPE, KN_PARAM_OPTIONAL},
                                              {"ragged_dot_dimension_numbers", KN_P_RECORD, 0}};
enum { LEFT, RIGHT, SIZES };
enum { TILE = 32, TILE_OF_SUMS = 64 };
static const kiln_dtype index_type = KILN_I64;

typedef enum mode { FREE, CONTRACTED, BATCH } mode;

typedef struct ragged {
    kn_dot_dims d;
    mode mode;
    uint32_t place;    /* of the ragged dimension among the free, contracted or batch ones of the left */
    int64_t dim[2];    /* the ragged dimension of each side; where it is free, on the right the one that counts groups */
    uint32_t nfree[2]; /* free dimensions, in order, without the one that counts groups */
    int64_t free[2][KN_MAX_RANK];
} ragged;

/* ---- dimensions ---- */

static const char *const keys[] = {"dot_dimension_numbers", "lhs_ragged_dimensions", "rhs_group_dimensions"};

kn_param kn_ragged_numbers(kn_ragged_lists *v)
{
    v->pair[0] = KN_TUPLE(2, v->list + KN_RAGGED_CONTRACT), v->pair[1] = KN_TUPLE(2, v->list + KN_RAGGED_BATCH);
    v->items[0] = KN_TUPLE(2, v->pair), v->items[1] = v->list[KN_RAGGED_ROWS], v->items[2] = v->list[KN_RAGGED_GROUPS];
    return (kn_param){.kind = KN_P_RECORD, .n = 3, .items = v->items, .name = "RaggedDotDimensionNumbers", .keys = keys};
}

static bool list_of(const kn_param *p, const int64_t **v, uint32_t *n)
{
    *v = kn_ints(p), *n = p->kind == KN_P_INTS ? p->n : 0;
    return p->kind == KN_P_INTS || (p->kind == KN_P_TUPLE && p->n == 0);
}

static const kn_param *field(const kn_param *record, const char *name)
{
    for (uint32_t i = 0; record->keys && i < record->n; i++)
        if (strcmp(record->keys[i], name) == 0) return &record->items[i];
    return NULL;
}

static bool lists_of(const kn_param *numbers, kn_dot_dims *d)
{
    bool good = numbers && numbers->kind == KN_P_TUPLE && numbers->n == 2;
    for (uint32_t i = 0; good && i < 2; i++) {
        const kn_param *pair = &numbers->items[i];
        uint32_t n[2];
        good = pair->kind == KN_P_TUPLE && pair->n == 2;
        for (int s = 0; good && s < 2; s++) good = list_of(&pair->items[s], i ? &d->batch[s] : &d->contract[s], &n[s]);
        good = good && n[0] == n[1];
        if (good) *(i ? &d->n_batch : &d->n_contract) = n[0];
    }
    return good;
}

static bool find(const int64_t *v, uint32_t n, int64_t what, uint32_t *at)
{
    for (*at = 0; *at < n; ++*at)
        if (v[*at] == what) return true;
    return false;
}

/* False where a dimension is named twice, does not exist, or has no place in the product. */
static bool ragged_of(const kn_param *p, uint32_t left_rank, uint32_t right_rank, ragged *v)
{
    const kn_param *lhs = p->kind == KN_P_RECORD ? field(p, keys[1]) : NULL, *rhs = lhs ? field(p, keys[2]) : NULL;
    const int64_t *dim, *group;
    uint32_t n, ngroup;
    if (!rhs || !lists_of(field(p, keys[0]), &v->d) || !list_of(lhs, &dim, &n) || !list_of(rhs, &group, &ngroup)) return false;
    if (n != 1 || ngroup > 1 || left_rank > KN_MAX_RANK || right_rank > KN_MAX_RANK) return false;
    for (int s = 0; s < 2; s++) {
        uint32_t seen = 0, rank = s ? right_rank : left_rank;
        for (uint32_t i = 0; i < v->d.n_batch + v->d.n_contract; i++) {
            int64_t k = i < v->d.n_batch ? v->d.batch[s][i] : v->d.contract[s][i - v->d.n_batch];
            if (k < 0 || k >= (int64_t)rank || (seen >> k & 1)) return false;
            seen |= 1u << k;
        }
        v->nfree[s] = 0;
        for (uint32_t k = 0; k < rank; k++)
            if (!(seen >> k & 1) && !(s && ngroup && group[0] == k)) v->free[s][v->nfree[s]++] = k;
        if (s && ngroup && (group[0] < 0 || group[0] >= (int64_t)rank || (seen >> group[0] & 1))) return false;
    }
    v->dim[0] = dim[0];
    if (find(v->free[0], v->nfree[0], dim[0], &v->place)) v->mode = FREE, v->dim[1] = ngroup ? group[0] : 0;
    else if (find(v->d.contract[0], v->d.n_contract, dim[0], &v->place)) v->mode = CONTRACTED, v->dim[1] = v->d.contract[1][v->place];
    else if (find(v->d.batch[0], v->d.n_batch, dim[0], &v->place)) v->mode = BATCH, v->dim[1] = v->d.batch[1][v->place];
    else return false;
    return (ngroup == 1) == (v->mode == FREE);
}

static ragged dims_of(const kn_jaxpr *j, const kn_eqn *e)
{
    ragged v;
    ragged_of(&e->params[DIMENSIONS], kn_in_type(j, e, LEFT).rank, kn_in_type(j, e, RIGHT).rank, &v);
    return v;
}

/* ---- type ---- */

static kiln_status check_sizes(const kn_typing *t, const ragged *v)
{
    kiln_type s = t->in[SIZES], left = t->in[LEFT];
    bool fits = s.rank > 0 && (v->mode != FREE || s.dims[s.rank - 1] == t->in[RIGHT].dims[v->dim[1]]);
    uint32_t before = v->mode == BATCH ? v->place : v->d.n_batch;
    if (fits && s.rank > 1 && v->mode != BATCH && v->place && s.rank == before + v->place + 1)
        return kn_fail(t->ctx, KILN_UNSUPPORTED, "ragged_dot_general: group sizes %s that differ along a dimension beside the batch; accepted: one list of sizes, or one for each of the batch",
                       kn_type_show(s).s);
    fits = fits && (s.rank == 1 || s.rank == before + 1);
    for (uint32_t i = 0; fits && i + 1 < s.rank; i++) fits = s.dims[i] == left.dims[v->d.batch[0][i]];
    if (fits) return KILN_OK;
    return kn_fail(t->ctx, KILN_SHAPE, "ragged_dot_general: group sizes %s do not fit %s and %s", kn_type_show(s).s, kn_type_show(left).s, kn_type_show(t->in[RIGHT]).s);
}

static kiln_status type_ragged(kn_typing *t)
{
    ragged v;
    int64_t *dims;
    kiln_dtype result = t->in[LEFT].dtype;
    if (!kn_is_none(&t->params[GROUP_OFFSET])) return kn_fail(t->ctx, KILN_UNSUPPORTED, "ragged_dot_general: group_offset; accepted: None");
    KILN_TRY(kn_typing_kinds(t, LEFT, "iufc"));
    KILN_TRY(kn_typing_same_dtype(t, LEFT, RIGHT));
    KILN_TRY(kn_typing_kinds(t, SIZES, "iu"));
    if (!kn_is_none(&t->params[PREFERRED])) KILN_TRY(kn_typing_dtype(t, PREFERRED, &result));
    if (!kn_product_kinds(kiln_dtype_kind(t->in[LEFT].dtype), kiln_dtype_kind(result)))
        return kn_fail(t->ctx, KILN_DTYPE, "ragged_dot_general: preferred_element_type %s does not fit %s", kiln_dtype_name(result), kn_type_show(t->in[LEFT]).s);
    if (!ragged_of(&t->params[DIMENSIONS], t->in[LEFT].rank, t->in[RIGHT].rank, &v))
        return kn_fail(t->ctx, KILN_INVALID, "ragged_dot_general: ragged_dot_dimension_numbers do not fit %s and %s; accepted: one ragged dimension of the left, "
                       "and one dimension of groups of the right where that is neither contracted nor a batch", kn_type_show(t->in[LEFT]).s, kn_type_show(t->in[RIGHT]).s);
    for (uint32_t i = 0; i < v.d.n_batch + v.d.n_contract; i++) {
        int64_t n[2];
        for (int s = 0; s < 2; s++) n[s] = t->in[s].dims[i < v.d.n_batch ? v.d.batch[s][i] : v.d.contract[s][i - v.d.n_batch]];
        if (n[0] != n[1])
            return kn_fail(t->ctx, KILN_SHAPE, "ragged_dot_general: sizes %lld and %lld differ, in %s and %s", (long long)n[0], (long long)n[1], kn_type_show(t->in[LEFT]).s,
                           kn_type_show(t->in[RIGHT]).s);
    }
    KILN_TRY(check_sizes(t, &v));
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_shape(t, 0, result, (v.mode == CONTRACTED) + v.d.n_batch + v.nfree[0] + v.nfree[1], &dims));
    if (v.mode == CONTRACTED) *dims++ = t->in[SIZES].dims[t->in[SIZES].rank - 1];
    for (uint32_t i = 0; i < v.d.n_batch; i++) *dims++ = t->in[LEFT].dims[v.d.batch[0][i]];
    for (int s = 0; s < 2; s++)
        for (uint32_t i = 0; i < v.nfree[s]; i++) *dims++ = t->in[s].dims[v.free[s][i]];
    return KILN_OK;
}

/* ---- products ---- */

static kn_atom index_of(kn_low *l, int64_t v) { return kn_low_num(l, index_type, (double)v); }

/* The plain product of a and b. */
static kn_atom product(kn_low *l, const kn_eqn *e, const kn_dot_dims *d, kn_atom a, kn_atom b, kiln_dtype result)
{
    kn_param contract[2] = {KN_INTS(d->n_contract, d->contract[0]), KN_INTS(d->n_contract, d->contract[1])};
    kn_param batch[2] = {KN_INTS(d->n_batch, d->batch[0]), KN_INTS(d->n_batch, d->batch[1])}, pair[2] = {KN_TUPLE(2, contract), KN_TUPLE(2, batch)};
    kn_param params[4] = {KN_TUPLE(2, pair), KN_NONE, e->params[PRECISION], KN_DTYPE(result)};
    return kn_low_op(l, &kn_prim_dot_general, params, (kn_atom[]){a, b}, 2);
}

/* n elements along a dimension from `at` on, which lies inside. */
static kn_atom part(kn_low *l, kn_atom a, int64_t axis, kn_atom at, int64_t n)
{
    int64_t sizes[KN_MAX_RANK];
    kn_atom in[KN_MAX_RANK + 1] = {a};
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, a);
    for (uint32_t k = 0; k < t.rank; k++) sizes[k] = k == axis ? n : t.dims[k], in[1 + k] = k == axis ? at : index_of(l, 0);
    return kn_low_op(l, &kn_prim_dynamic_slice, &KN_INTS(t.rank, sizes), in, t.rank + 1);
}

static kn_atom with_part(kn_low *l, kn_atom a, int64_t axis, kn_atom at, kn_atom new)
{
    kn_atom in[KN_MAX_RANK + 2] = {a, new};
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, a);
    for (uint32_t k = 0; k < t.rank; k++) in[2 + k] = k == axis ? at : index_of(l, 0);
    return kn_low_op(l, &kn_prim_dynamic_update_slice, NULL, in, t.rank + 2);
}

/* a where `which`, a list along one of its dimensions, is true; else other, or 0. */
static kn_atom where(kn_low *l, kn_atom which, kn_atom a, int64_t axis, const kn_atom *other)
{
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, a);
    kn_atom wide = kn_low_op(l, &kn_prim_broadcast_in_dim, (kn_param[]){KN_INTS(1, &axis), KN_INTS(t.rank, t.dims), KN_NONE}, &which, 1);
    return kn_low_select(l, wide, a, other ? *other : kn_low_fill(l, t, (kn_scalar){.c = {0, 0}}));
}

static kn_atom without_dimension(kn_low *l, kn_atom a, int64_t axis)
{
    int64_t dims[KN_MAX_RANK];
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, a);
    for (uint32_t k = 0; k + 1 < t.rank; k++) dims[k] = t.dims[k + (k >= axis)];
    return kn_low_reshape(l, a, t.rank - 1, dims);
}

/* ---- tiles ---- */

enum { STARTS, ENDS, TILES, TILE_ENDS, LISTS }; /* per group: its rows, its tiles, and those up to its end */

typedef struct tiles {
    ragged v;
    const kn_eqn *e;
    int64_t rows, groups, tile;
    kiln_dtype sums;
    kn_atom list[LISTS], total, operand[2], out;
} tiles;

static kn_atom running(kn_low *l, kn_atom a) { return kn_low_op(l, &kn_prim_cumsum, (kn_param[]){KN_INT(0), KN_BOOL(false)}, &a, 1); }

static void divide(kn_low *l, tiles *s, kn_atom sizes)
{
    kn_atom rows = index_of(l, s->rows), own = kn_low_convert(l, sizes, index_type);
    own = kn_low2(l, &kn_prim_min, kn_low2(l, &kn_prim_max, own, index_of(l, 0)), rows);
    kn_atom ends = running(l, own);
    s->list[STARTS] = kn_low2(l, &kn_prim_min, kn_low2(l, &kn_prim_sub, ends, own), rows);
    s->list[ENDS] = kn_low2(l, &kn_prim_min, ends, rows);
    own = kn_low2(l, &kn_prim_add, kn_low2(l, &kn_prim_sub, s->list[ENDS], s->list[STARTS]), index_of(l, s->tile - 1));
    s->list[TILES] = kn_low2(l, &kn_prim_div, own, index_of(l, s->tile));
    s->list[TILE_ENDS] = running(l, s->list[TILES]);
    s->total = without_dimension(l, part(l, s->list[TILE_ENDS], 0, index_of(l, s->groups - 1), 1), 0);
}

static kn_atom entry(kn_low *l, kn_atom list, kn_atom at) { return without_dimension(l, part(l, list, 0, at, 1), 0); }

/* Trip k: its group, its first row (so that a whole tile lies inside), and which rows of the tile are the group's and come at its turn. */
static void tile_of(kn_low *l, const tiles *s, kn_atom k, kn_atom *group, kn_atom *first, kn_atom *own)
{
    kn_atom before = kn_low_convert(l, kn_low2(l, &kn_prim_le, s->list[TILE_ENDS], k), index_type);
    *group = kn_derive_sum_all(l, before);
    kn_atom number = kn_low2(l, &kn_prim_sub, k, kn_low2(l, &kn_prim_sub, entry(l, s->list[TILE_ENDS], *group), entry(l, s->list[TILES], *group)));
    kn_atom row = kn_low2(l, &kn_prim_add, entry(l, s->list[STARTS], *group), kn_low2(l, &kn_prim_mul, number, index_of(l, s->tile)));
    *first = kn_low2(l, &kn_prim_min, row, index_of(l, s->rows - s->tile));
    kn_atom rows = kn_low2(l, &kn_prim_add, kn_low_iota(l, (kiln_type){index_type, 1, &s->tile}, 0), *first);
    *own = kn_low2(l, &kn_prim_and, kn_low2(l, &kn_prim_ge, rows, row), kn_low2(l, &kn_prim_lt, rows, entry(l, s->list[ENDS], *group)));
}

/* Rows of the result that the tile gives. */
static kn_atom free_tile(kn_low *l, const tiles *s, kn_atom out, kn_atom group, kn_atom first, kn_atom own)
{
    kn_dot_dims d = s->v.d;
    int64_t at = s->v.dim[1], lists[2][KN_MAX_RANK], axis = (int64_t)(d.n_batch + s->v.place);
    for (uint32_t i = 0; i < d.n_contract; i++) lists[0][i] = d.contract[1][i] - (d.contract[1][i] > at);
    for (uint32_t i = 0; i < d.n_batch; i++) lists[1][i] = d.batch[1][i] - (d.batch[1][i] > at);
    d.contract[1] = lists[0], d.batch[1] = lists[1];
    kn_atom left = part(l, s->operand[0], s->v.dim[0], first, s->tile), right = without_dimension(l, part(l, s->operand[1], at, group, 1), at);
    kn_atom made = product(l, s->e, &d, left, right, s->sums), old = part(l, out, axis, first, s->tile);
    return with_part(l, out, axis, first, where(l, own, made, axis, &old));
}

/* What the tile adds to the result of its group. */
static kn_atom contracted_tile(kn_low *l, const tiles *s, kn_atom out, kn_atom group, kn_atom first, kn_atom own)
{
    kn_atom side[2];
    for (int k = 0; k < 2; k++) side[k] = where(l, own, part(l, s->operand[k], s->v.dim[k], first, s->tile), s->v.dim[k], NULL);
    kn_atom made = product(l, s->e, &s->v.d, side[0], side[1], s->sums), old = part(l, out, 0, group, 1);
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, old);
    return with_part(l, out, 0, group, kn_low2(l, &kn_prim_add, old, kn_low_reshape(l, made, t.rank, t.dims)));
}

static kiln_status loop_bodies(kn_build *around, const tiles *outer, const kn_jaxpr **cond, const kn_jaxpr **body)
{
    kn_build b;
    kn_atom k, total, out, more, next[2], group, first, own;
    tiles s = *outer;
    kn_low l = {&b, KILN_OK};
    kn_build_init(&b, around->ctx, around->prog);
    KILN_TRY(kn_build_input(&b, KILN_SCALAR(index_type), &total));
    KILN_TRY(kn_build_input(&b, KILN_SCALAR(index_type), &k));
    KILN_TRY(kn_build_input(&b, kn_build_type(around, outer->out), &out));
    more = kn_low2(&l, &kn_prim_lt, k, total);
    KILN_TRY(l.status);
    KILN_TRY(kn_build_finish(&b, &more, 1, cond));
    kn_build_init(&b, around->ctx, around->prog);
    for (int i = 0; i < LISTS; i++) KILN_TRY(kn_build_input(&b, kn_build_type(around, outer->list[i]), &s.list[i]));
    for (int i = 0; i < 2; i++) KILN_TRY(kn_build_input(&b, kn_build_type(around, outer->operand[i]), &s.operand[i]));
    KILN_TRY(kn_build_input(&b, KILN_SCALAR(index_type), &k));
    KILN_TRY(kn_build_input(&b, kn_build_type(around, outer->out), &out));
    tile_of(&l, &s, k, &group, &first, &own);
    next[0] = kn_low2(&l, &kn_prim_add, k, index_of(&l, 1));
    next[1] = (s.v.mode == FREE ? free_tile : contracted_tile)(&l, &s, out, group, first, own);
    KILN_TRY(l.status);
    return kn_build_finish(&b, next, 2, body);
}

static kiln_status by_tiles(kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    enum { NIN = 1 + LISTS + 2 + 2 };
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_out_type(j, e, 0);
    tiles s = {.v = dims_of(j, e), .e = e, .operand = {x[LEFT], x[RIGHT]}, .groups = kn_in_type(j, e, SIZES).dims[0]};
    s.rows = kn_in_type(j, e, LEFT).dims[s.v.dim[0]];
    s.tile = s.v.mode == FREE ? TILE : TILE_OF_SUMS;
    if (s.tile > s.rows) s.tile = s.rows;
    bool small = t.dtype == KILN_F16 || t.dtype == KILN_BF16;
    s.sums = s.v.mode == CONTRACTED && small ? KILN_F32 : t.dtype;
    s.out = kn_low_fill(&l, (kiln_type){s.sums, t.rank, t.dims}, (kn_scalar){.c = {0, 0}});
    if (s.rows && s.groups && kiln_type_size(t)) {
        kn_param params[KN_WHILE_PARAMS];
        kn_atom in[NIN], out[2];
        const kn_jaxpr *cond, *body;
        uint32_t n = 0;
        divide(&l, &s, x[SIZES]);
        KILN_TRY(l.status);
        KILN_TRY(loop_bodies(b, &s, &cond, &body));
        in[n++] = s.total;
        for (int i = 0; i < LISTS; i++) in[n++] = s.list[i];
        for (int i = 0; i < 2; i++) in[n++] = s.operand[i];
        in[n++] = index_of(&l, 0);
        in[n++] = s.out;
        KILN_TRY(l.status);
        kn_while_params(params, cond, 1, body, LISTS + 2);
        KILN_TRY(kn_build_eqn(b, &kn_prim_while, params, in, n, out, 2));
        s.out = out[1];
    }
    y[0] = kn_low_convert(&l, s.out, t.dtype);
    return l.status;
}

/* ---- sizes that differ over the batch ---- */

/* Dimensions past one that is gone. */
static kn_param lowered_past(int64_t gone, const int64_t *v, uint32_t n, int64_t *room)
{
    for (uint32_t i = 0; i < n; i++) room[i] = v[i] - (v[i] > gone);
    return KN_INTS(n, room);
}

/* The product of one entry of the first batch dimension. */
static kiln_status entry_body(kn_build *around, const kn_eqn *e, const ragged *v, const kn_atom *all, const kn_jaxpr **out)
{
    kn_build b;
    kn_atom row[3], made;
    int64_t room[KN_RAGGED_LISTS][KN_MAX_RANK];
    kn_ragged_lists lists;
    kn_build_init(&b, around->ctx, around->prog);
    for (int i = 0; i < 3; i++) {
        kiln_type t = kn_build_type(around, all[i]);
        KILN_TRY(kn_build_input(&b, (kiln_type){t.dtype, t.rank - 1, t.rank > 1 ? t.dims + 1 : NULL}, &row[i]));
    }
    for (int s = 0; s < 2; s++) {
        int64_t gone = v->d.batch[s][0];
        lists.list[KN_RAGGED_CONTRACT + s] = lowered_past(gone, v->d.contract[s], v->d.n_contract, room[KN_RAGGED_CONTRACT + s]);
        lists.list[KN_RAGGED_BATCH + s] = lowered_past(gone, v->d.batch[s] + 1, v->d.n_batch - 1, room[KN_RAGGED_BATCH + s]);
        lists.list[KN_RAGGED_ROWS + s] = lowered_past(gone, &v->dim[s], s == 0 || v->mode == FREE, room[KN_RAGGED_ROWS + s]);
    }
    kn_param params[N_PARAMS];
    memcpy(params, e->params, sizeof params);
    params[DIMENSIONS] = kn_ragged_numbers(&lists);
    KILN_TRY(kn_build_eqn(&b, e->prim, params, row, 3, &made, 1));
    return kn_build_finish(&b, &made, 1, out);
}

static kiln_status by_entries(kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    ragged v = dims_of(j, e);
    kn_low l = {b, KILN_OK};
    kn_param plain[KN_SCAN_PARAMS], params[KN_SCAN_PARAMS];
    const kn_jaxpr *body;
    kn_atom in[3] = {0, 0, x[SIZES]};
    for (int i = 0; i < 2; i++) in[i] = kn_derive_axis_first(&l, x[i], (uint32_t)v.d.batch[i][0]);
    KILN_TRY(l.status);
    KILN_TRY(entry_body(b, e, &v, in, &body));
    kn_scan_plain(kn_in_type(j, e, SIZES).dims[0], false, plain);
    KILN_TRY(kn_scan_params(b->ctx, &b->prog->arena, &(kn_eqn){.params = plain}, body, (uint32_t[]){0, 0, 3}, 1, params));
    KILN_TRY(kn_build_eqn(b, &kn_prim_scan, params, in, 3, y, 1));
    if (v.mode == CONTRACTED) y[0] = kn_derive_axis_back(&l, y[0], 1);
    return l.status;
}

static kiln_status lower_ragged(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    ragged v = dims_of(j, e);
    kn_low l = {b, KILN_OK};
    (void)r;
    if (v.mode == BATCH) {
        y[0] = product(&l, e, &v.d, x[LEFT], x[RIGHT], kn_out_type(j, e, 0).dtype);
        return l.status;
    }
    return kn_in_type(j, e, SIZES).rank > 1 ? by_entries(b, j, e, x, y) : by_tiles(b, j, e, x, y);
}

/* ---- derivatives ---- */

static kiln_status jvp_ragged(KN_JVP_ARGS)
{
    (void)r, (void)j, (void)y;
    kn_low l = {b, KILN_OK};
    for (int i = 0; i < 2; i++) {
        kn_atom in[3] = {i ? x[0] : dx[0], i ? dx[1] : x[1], x[SIZES]};
        if (dx[i] != KN_SYMBOLIC_ZERO) dy[0] = kn_derive_add(&l, dy[0], kn_low_op(&l, e->prim, e->params, in, 3));
    }
    return l.status;
}

/* Of a product over the batch: that of the plain product. */
static kiln_status transpose_batch(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const ragged *v, const kn_atom *x, const kn_atom *ct, kn_atom *ct_in)
{
    kn_param lists[4], pair[2] = {KN_TUPLE(2, lists), KN_TUPLE(2, lists + 2)};
    for (int s = 0; s < 2; s++) lists[s] = KN_INTS(v->d.n_contract, v->d.contract[s]), lists[2 + s] = KN_INTS(v->d.n_batch, v->d.batch[s]);
    kn_param params[] = {KN_TUPLE(2, pair), KN_NONE, e->params[PRECISION], e->params[PREFERRED]};
    kn_eqn plain = *e;
    plain.prim = &kn_prim_dot_general, plain.params = params, plain.nin = 2;
    return kn_prim_dot_general.transpose(r, b, j, &plain, x, ct, ct_in);
}

/* The cotangent times the other operand, contracted over that one's free dimensions. Where the ragged dimension is free in the product that is
 * asked for, the operand that has it is the left one. */
static kiln_status transpose_ragged(KN_TRANSPOSE_ARGS)
{
    kn_low l = {b, KILN_OK};
    ragged v = dims_of(j, e);
    int side = x[LEFT] == KN_LINEAR ? LEFT : RIGHT, other = 1 - side;
    if (x[other] == KN_LINEAR) return kn_not_linear(b, e, "both its operands together");
    if (v.mode == BATCH) return transpose_batch(r, b, j, e, &v, x, ct, ct_in);
    uint32_t base = v.mode == CONTRACTED, nb = v.d.n_batch, n = 0;
    int64_t batch_ct[KN_MAX_RANK], rest_ct[KN_MAX_RANK], at[KN_MAX_RANK], back[KN_MAX_RANK], zero = 0, row = base + nb + v.place;
    for (uint32_t i = 0; i < nb; i++) batch_ct[i] = base + i;
    for (uint32_t i = 0; i < v.nfree[other]; i++) rest_ct[i] = base + nb + (side ? 0 : v.nfree[0]) + i;
    bool ct_left = v.mode == FREE && side == LEFT; /* else the other operand is the left one */
    const int64_t *contract[2] = {v.free[other], rest_ct}, *batch[2] = {v.d.batch[other], batch_ct};
    kn_ragged_lists m;
    for (int s = 0; s < 2; s++) {
        m.list[KN_RAGGED_CONTRACT + s] = KN_INTS(v.nfree[other], contract[s ^ ct_left]);
        m.list[KN_RAGGED_BATCH + s] = KN_INTS(nb, batch[s ^ ct_left]);
    }
    bool counted = v.mode == CONTRACTED || side == LEFT; /* the right operand has a dimension of groups */
    m.list[KN_RAGGED_ROWS] = KN_INTS(1, ct_left ? &row : &v.dim[other]);
    m.list[KN_RAGGED_GROUPS] = KN_INTS(counted, v.mode == CONTRACTED ? &zero : &v.dim[1]);
    kiln_type t = kn_in_type(j, e, (uint32_t)side), o = kn_in_type(j, e, (uint32_t)other);
    kn_param preferred = e->params[PREFERRED].kind == KN_P_NONE ? KN_NONE : KN_DTYPE(t.dtype);
    kn_param params[N_PARAMS] = {KN_NONE, KN_NONE, e->params[PRECISION], preferred, kn_ragged_numbers(&m)};
    kn_atom with = kn_low_convert(&l, x[other], kn_out_type(j, e, 0).dtype);
    kn_atom made = kn_low_op(&l, e->prim, params, (kn_atom[]){ct_left ? ct[0] : with, ct_left ? with : ct[0], x[SIZES]}, 3);
    if (v.mode == FREE && side == RIGHT) at[n++] = v.dim[1];
    for (uint32_t i = 0; i < nb; i++) at[n++] = v.d.batch[side][i];
    for (uint32_t i = 0; ct_left && i < v.nfree[side]; i++) at[n++] = v.free[side][i];
    for (uint32_t k = 0; k < o.rank; k++) /* contracted dimensions as they stand in the other operand */
        for (uint32_t i = 0; i < v.d.n_contract; i++)
            if (v.d.contract[other][i] == (int64_t)k) at[n++] = v.d.contract[side][i];
    for (uint32_t i = 0; !ct_left && i < v.nfree[side]; i++) at[n++] = v.free[side][i];
    for (uint32_t k = 0; k < n; k++) back[at[k]] = k;
    ct_in[side] = kn_low_convert(&l, kn_derive_turn(&l, made, back), t.dtype);
    return l.status;
}

void kn_ragged_lists_of(const kn_eqn *e, kn_ragged_lists *v)
{
    const kn_param *p = &e->params[DIMENSIONS], *dot = field(p, keys[0]);
    for (int i = 0; i < 4; i++) v->list[i] = dot->items[i / 2].items[i % 2];
    for (int i = 0; i < 2; i++) v->list[KN_RAGGED_ROWS + i] = *field(p, keys[1 + i]);
}

KILN_PRIM(ragged_dot_general) = {
    .name = "ragged_dot_general",
    .nin = 3,
    .nout = 1,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    KN_PARAMS(ragged_params),
    .type = type_ragged,
    .lower = lower_ragged,
    .jvp = jvp_ragged,
    .transpose = transpose_ragged,
    .batch = kn_batch_loop,
    .sample = kn_sample_ragged,
    .doc = "Products of groups of rows: each row with the matrix of its group, or one sum of products a group. The sizes of the groups, one behind the other, are "
           "the last operand.",
};
