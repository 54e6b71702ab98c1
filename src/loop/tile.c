/* SPDX-License-Identifier: Apache-2.0 */
/* Products in register tiles. Along one dimension of the result runs a panel, a few vectors wide; a tile is some rows of the
 * other operand times the panel, all of whose chains go along k side by side: each load serves many chains, and there are
 * enough of them to hide the latency of fma. The order of each chain is that of numerics 4 whatever the tile.
 *
 *   for each batch: for each chunk of rows: for each block of 256 k (of which the chunk fits in the second cache):
 *       [rows of the chunk copied to scratch]
 *       for each panel: [copied to scratch, k-major, when its rows are far apart or not vectors]
 *           for each tile: for each k: one row of the panel, one element of each row of the tile
 *
 * Rows are copied for all panels: tile by tile, k-major in each, where they are neighbours in memory while k is far apart (a transposed operand);
 * one after the other where the operand is larger than the second cache: at their distance in it they would share few sets of a cache.
 *
 * The sums of blocks pass through the result's memory, and those of the next tile are fetched meanwhile; where the result's type is not that of
 * the sums, blocks are the inner loop. What alone reads the product (epilogue.c) is made of the sums in registers, after the last block. */
#include "loop/product.h"

enum { MOST_ROWS = 16, MOST_VECTORS = 8, WIDEST = 64, MOST_UNROLLED = 64, PANEL_BYTES = 1 << 20, CHUNK_BYTES = 1 << 19, FAR_BYTES = 1 << 16 };
/* Copies of rows: of operands larger than SPREAD_BYTES, or FAR_ROW_BYTES along k, for at least so many panels. Tiles (rows along k) stand APART
 * (ROW_APART) elements more than they need, so that they share no set of a cache. */
enum { SPREAD_BYTES = 1 << 15, FAR_ROW_BYTES = 1 << 20, LEAST_PANELS = 4, MOST_ROW_BYTES = 1 << 22, APART = 2, ROW_APART = 16 };
enum { FAR_RESULT_BYTES = 1 << 19 }; /* of a result that no near cache holds from block to block */

/* Free dimensions of one operand, which stand side by side in the result. */
typedef struct group {
    uint32_t at;  /* dimension of the result that the tile runs along, with an index that runs through all that are in `flat` */
    int64_t size;
    uint32_t flat; /* dimensions before `at` that its index runs through too */
} group;

typedef struct tiles {
    maker *m;
    const product *p;
    int v, u; /* side that the panel is of, side of the rows */
    group panel, rows;
    unsigned lanes, width, most; /* elements of a vector and of a panel, rows of a tile */
    int64_t chunk;        /* rows at a time */
    bool packed, split;   /* split: blocks of k are the outer loop */
    uint32_t pack; /* slot: k-major panel */
    bool rows_packed, along_k; /* along_k: the copy is row by row */
    uint32_t row_pack; /* slot: rows of a chunk, k-major in each tile or one after the other */
    int64_t most_k;    /* of the blocks that are the outer loop, or all */
    kn_lv out[MAX_RANK];
    kn_lv first, lane, row; /* of the panel: its first element, the place in it; of the chunk: its first row */
    kn_lv lo, hi, block;    /* of k in the block at hand, and its number where they are the outer loop */
    kn_lv in_pack;          /* lane, and back from lo to the start of the copy */
} tiles;

static uint32_t free_dims(const product *p, int side) { return p->type[side].rank - p->dims.n_batch - p->dims.n_contract; }

/* `through`: may its index run through several dimensions? */
static group group_of(const product *p, int side, bool through)
{
    uint32_t first = p->dims.n_batch + (side ? free_dims(p, 0) : 0), n = free_dims(p, side);
    group g = {.at = first, .size = 1};
    if (n == 0) return g;
    int64_t before = -1;
    bool flat = through && p->side[side]->kind == PLACE_MEMORY;
    for (uint32_t d = 0; d < p->type[side].rank; d++) {
        if (product_batches(p, side, d) || product_contracts(p, side, d)) continue;
        flat = flat && (before < 0 || before + 1 == (int64_t)d);
        before = d;
    }
    g.at = first + n - 1;
    if (flat) {
        for (uint32_t k = 0; k < n; k++) g.size *= p->y.dims[first + k];
        g.flat = n - 1;
        return g;
    }
    while (g.at > first && p->y.dims[g.at] == 1) g.at--;
    g.size = p->y.dims[g.at];
    return g;
}

/* Is the operand in memory, its elements along the group neighbours? */
static bool is_dense(const product *p, int side, group g)
{
    uint32_t at = p->dims.n_batch + (side ? free_dims(p, 0) : 0);
    if (p->side[side]->kind != PLACE_MEMORY) return false;
    int64_t stride = 0;
    for (uint32_t d = 0; d < p->type[side].rank; d++) {
        if (stride) stride *= p->type[side].dims[d];
        if (product_batches(p, side, d) || product_contracts(p, side, d)) continue;
        if (at++ == g.at) stride = 1;
    }
    return stride == 1;
}

/* Is the operand in memory, k its last dimensions? */
static bool runs_along_k(const product *p, int side)
{
    uint32_t n = p->dims.n_contract;
    bool last = p->side[side]->kind == PLACE_MEMORY;
    for (uint32_t c = 0; c < n; c++) last = last && p->dims.contract[side][c] == (int64_t)(p->type[side].rank - n + c);
    return last;
}

/* Rows of a tile: a divisor of `rows` where there is one of a good size, else what leaves the most for the last tile. */
static unsigned rows_of_tile(int64_t rows, unsigned most)
{
    if (rows <= (int64_t)most) return (unsigned)rows;
    if (kn_size_open(rows)) return most;
    unsigned best = most;
    for (unsigned r = most; r >= (most + 1) / 2; r--) {
        if (rows % r == 0) return r;
        if (rows % r * best > rows % best * r) best = r;
    }
    return best;
}

static unsigned panel_width(unsigned lanes, unsigned vectors, int64_t size)
{
    unsigned w = lanes * vectors < WIDEST ? lanes * vectors : WIDEST;
    while (w > 1 && (int64_t)w / 2 >= size) w /= 2;
    while (w > lanes && (size + w - 1) / w * w > (size + w / 2 - 1) / (w / 2) * (w / 2) * 5 / 4) w /= 2;
    return w;
}

/* Lanes for a panel that may be the last and narrower: a power of two. */
static uint32_t lanes_for(unsigned width)
{
    uint32_t w = 1;
    while (w < width) w *= 2;
    return w;
}

static void choose(tiles *t)
{
    const product *p = t->p;
    unsigned bytes = (unsigned)kiln_dtype_bytes(p->order.accumulator), lanes = t->m->o.vector_bits / 8 / bytes;
    unsigned chains = t->m->o.vector_bits >= 512 ? 24 : 12; /* of 32 and of 16 registers */
    if (lanes == 0) lanes = 1;
    t->lanes = lanes;
    unsigned vectors = t->panel.size > (int64_t)lanes ? 2 : 1, most = vectors == 2 ? chains / 2 : chains * 2 / 3;
    t->most = rows_of_tile(t->rows.size, most);
    while (vectors * 2 <= MOST_VECTORS && vectors * 2 * t->most <= chains) vectors *= 2;
    t->width = panel_width(lanes, vectors, t->panel.size);
    int64_t k = p->order.k, rows = t->rows.size;
    bool dense = is_dense(p, t->v, t->panel), converts = p->type[t->v].dtype != p->order.accumulator;
    bool far = k > FAR_BYTES / bytes / t->panel.size && rows >= 4 * (int64_t)t->most;
    bool open = open_size(t->m, k), open_rows = open_size(t->m, rows);
    int64_t panels = (t->panel.size + t->width - 1) / t->width;
    t->split = !open && k > KN_DOT_BLOCK && rows > (int64_t)t->most && p->y.dtype == p->order.accumulator;
    t->packed = !open && rows > (int64_t)t->most && (t->split || k <= PANEL_BYTES / bytes / t->width) && (!dense || converts || far);
    t->along_k = t->split && k > FAR_ROW_BYTES / bytes / rows && runs_along_k(p, t->u);
    t->rows_packed = !open && !open_rows && panels >= LEAST_PANELS && k > SPREAD_BYTES / bytes / rows && (t->along_k || is_dense(p, t->u, t->rows));
    t->most_k = t->split ? KN_DOT_BLOCK : k;
    t->chunk = rows;
    while (!open_rows && t->chunk % 2 == 0 && t->chunk / 2 % t->most == 0 && t->chunk / 2 >= 4 * (int64_t)t->most && t->most_k > CHUNK_BYTES / bytes / t->chunk)
        t->chunk /= 2;
    t->rows_packed = t->rows_packed && t->most_k <= MOST_ROW_BYTES / bytes / t->chunk;
}

/* ---- a tile ---- */

typedef struct tile {
    const tiles *t;
    unsigned n; /* rows */
    kn_lv row[MOST_ROWS][MAX_RANK], column[MAX_RANK], acc[MOST_ROWS];
    kn_lv in_rows; /* where the tile's copy would begin if it began at k = 0 */
} tile;

static kn_lv panel_element(const tiles *t, kn_lv *column, kn_lv k)
{
    maker *m = t->m;
    if (!t->packed) return product_factor(m, t->p, t->v, column, k);
    return lv_load(m, t->pack, lv_add(m, lv_mul(m, k, lv_int(m, t->width)), t->in_pack));
}

static kn_lv row_element(tile *s, unsigned r, kn_lv k)
{
    const tiles *t = s->t;
    maker *m = t->m;
    if (!t->rows_packed) return product_factor(m, t->p, t->u, s->row[r], k);
    if (t->along_k) return lv_load(m, t->row_pack, lv_add(m, lv_add(m, k, s->in_rows), lv_int(m, r * (t->most_k + ROW_APART))));
    kn_lv first = lv_add(m, lv_mul(m, k, lv_int(m, t->most)), s->in_rows);
    return lv_load(m, t->row_pack, lv_add(m, first, lv_int(m, r)));
}

static void one_k(tile *s, kn_lv k)
{
    const tiles *t = s->t;
    kn_lv b = panel_element(t, s->column, k);
    for (unsigned r = 0; r < s->n; r++) {
        kn_lv a = row_element(s, r, k);
        s->acc[r] = t->v == 1 ? product_step(t->m, t->p, a, b, s->acc[r]) : product_step(t->m, t->p, b, a, s->acc[r]);
    }
}

/* Chains over k in lo..hi, from nothing. */
static void chains(tile *s, kn_lv lo, kn_lv hi)
{
    const product *p = s->t->p;
    maker *m = s->t->m;
    for (unsigned r = 0; r < s->n; r++) s->acc[r] = product_zero(m, p);
    if (p->order.k * s->n <= MOST_UNROLLED) {
        for (int64_t k = 0; k < p->order.k; k++) one_k(s, lv_int(m, k));
        return;
    }
    kn_lv loop, k = open_carries(m, lo, hi, p->order.k, s->n, s->acc, &loop);
    one_k(s, k);
    close_carries(m, loop, s->n, s->acc);
}

static void blocks(tile *s)
{
    const product *p = s->t->p;
    maker *m = s->t->m;
    kn_lv total[MOST_ROWS], loop;
    if (p->order.k <= KN_DOT_BLOCK || s->t->split) {
        chains(s, s->t->lo, s->t->hi);
        return;
    }
    for (unsigned r = 0; r < s->n; r++) s->acc[r] = product_zero(m, p);
    kn_lv block = open_carries(m, lv_int(m, 0), product_blocks(m, p), product_open(m, p) ? p->order.k : p->order.k / KN_DOT_BLOCK + 1, s->n, s->acc, &loop);
    for (unsigned r = 0; r < s->n; r++) total[r] = s->acc[r];
    kn_lv lo = lv_mul(m, block, lv_int(m, KN_DOT_BLOCK)), hi = lv_add(m, lo, lv_int(m, KN_DOT_BLOCK));
    chains(s, lo, lv_sop(m, KN_S_min, KILN_I64, KILN_I64, hi, lv_int(m, p->order.k), 0));
    for (unsigned r = 0; r < s->n; r++) s->acc[r] = lv_sop(m, KN_S_add, p->order.accumulator, p->order.accumulator, total[r], s->acc[r], 0);
    close_carries(m, loop, s->n, s->acc);
    for (unsigned r = 0; r < s->n && product_open(m, p); r++) s->acc[r] = product_or_nothing(m, p, s->acc[r]);
}

static void to_row(tiles *t, kn_lv start, unsigned r)
{
    if (t->rows.size > 1) t->out[t->rows.at] = lv_add(t->m, start, lv_int(t->m, r));
}

/* The sums of the blocks before, where blocks are the outer loop: what stands in the result, and nothing before the first block. */
static void add_before(tile *s, tiles *t, kn_lv start)
{
    maker *m = t->m;
    kiln_dtype d = t->p->order.accumulator;
    kn_lv later = lv_sop(m, KN_S_min, KILN_I64, KILN_I64, t->block, lv_int(m, 1), 0), branch;
    kn_lv selector = lv_sop(m, KN_S_convert, KILN_I64, KILN_I32, later, 0, 0);
    branch = open_statement(m, KN_L_IF, 2);
    if (m->status != KILN_OK) return;
    region_of(m, branch)->selector = selector;
    for (uint32_t which = 0; which < 2; which++) {
        open_region_block(m, branch, which, true);
        for (unsigned r = 0; r < s->n; r++) {
            to_row(t, start, r);
            add_yield(m, branch, which, which ? lv_load(m, t->p->slot, linear_index(m, t->p->y, t->out)) : product_zero(m, t->p));
        }
        close_block(m);
    }
    close_statement(m, branch);
    for (unsigned r = 0; r < s->n; r++) s->acc[r] = lv_sop(m, KN_S_add, d, d, add_result(m, branch, d), s->acc[r], 0);
}

/* The index of an element of the result whose dimensions are told apart. */
static void whole_index(const tiles *t, kn_lv *full)
{
    const group *g = &t->rows;
    memcpy(full, t->out, t->p->y.rank * sizeof *full);
    if (!t->p->plain && g->size > 1 && g->flat) split_index(t->m, t->out[g->at], g->flat + 1, &t->p->y.dims[g->at - g->flat], &full[g->at - g->flat]);
}

/* What reads the product, made of the sums of the tile and stored: all of it is read before anything is written. */
static void finish(tile *s, tiles *t, kn_lv start)
{
    maker *m = t->m;
    const product *p = t->p;
    kn_lv full[MOST_ROWS][MAX_RANK], v[MOST_ROWS];
    m->scope = p->into->e->scope;
    m->loc = p->into->e->loc;
    for (unsigned r = 0; r < s->n && m->status == KILN_OK; r++) {
        to_row(t, start, r);
        whole_index(t, full[r]);
        kn_lv sum = product_rounded(m, p, s->acc[r]);
        p->element->regs = &sum;
        v[r] = element_of(m, p->into, full[r]);
    }
    for (unsigned r = 0; r < s->n && m->status == KILN_OK; r++) lv_store(m, p->into_slot, linear_index(m, p->into->type, full[r]), v[r]);
    m->scope = p->e->scope;
    m->loc = p->e->loc;
}

/* From a row of the result to the same one of the next tile, in elements, where those are added to and no near cache holds them; else 0. */
static uint32_t to_next_tile(const tiles *t)
{
    const product *p = t->p;
    int64_t stride = 1, most = FAR_RESULT_BYTES / (int64_t)kiln_dtype_bytes(p->y.dtype);
    if (!t->split || open_size(t->m, kiln_type_size(p->y)) || kiln_type_size(p->y) <= most) return 0;
    for (uint32_t d = t->rows.at + 1; d < p->y.rank; d++) stride *= p->y.dims[d];
    return stride <= most ? (uint32_t)(stride * (int64_t)t->most) : 0;
}

static void store_sums(tile *s, tiles *t, kn_lv start)
{
    for (unsigned r = 0; r < s->n && t->m->status == KILN_OK; r++) {
        to_row(t, start, r);
        lv_store_ahead(t->m, t->p->slot, linear_index(t->m, t->p->y, t->out), product_rounded(t->m, t->p, s->acc[r]), to_next_tile(t));
    }
}

/* Where blocks are the outer loop: after the last one, and the sums are stored until then. */
static void finish_last(tile *s, tiles *t, kn_lv start)
{
    maker *m = t->m;
    kn_lv last = lv_int(m, (t->p->order.k + KN_DOT_BLOCK - 1) / KN_DOT_BLOCK - 1);
    kn_lv more = lv_sop(m, KN_S_min, KILN_I64, KILN_I64, lv_sub(m, last, t->block), lv_int(m, 1), 0);
    kn_lv selector = lv_sop(m, KN_S_convert, KILN_I64, KILN_I32, more, 0, 0), branch = open_statement(m, KN_L_IF, 2);
    if (m->status != KILN_OK) return;
    region_of(m, branch)->selector = selector;
    for (uint32_t which = 0; which < 2; which++) {
        open_region_block(m, branch, which, true);
        if (which) store_sums(s, t, start);
        else finish(s, t, start);
        close_block(m);
    }
    close_statement(m, branch);
}

/* Rows row .. row + n of the chunk, at the place in the panel that `lane` runs along. */
static void make_tile(tiles *t, kn_lv row, unsigned n)
{
    maker *m = t->m;
    tile *s = KN_NEW(&m->temp, tile);
    if (!MAKER_TRY_MEM(m, s)) return;
    s->t = t;
    s->n = n;
    t->out[t->panel.at] = lv_add(m, t->first, t->lane);
    product_outer(t->p, t->v, t->out, s->column);
    kn_lv start = lv_add(m, t->row, row);
    if (t->along_k) s->in_rows = lv_sub(m, lv_mul(m, row, lv_int(m, t->most_k + ROW_APART)), t->lo);
    else s->in_rows = lv_sub(m, lv_mul(m, row, lv_int(m, t->most_k + APART)), lv_mul(m, t->lo, lv_int(m, t->most)));
    for (unsigned r = 0; r < n && !t->rows_packed; r++) {
        to_row(t, start, r);
        product_outer(t->p, t->u, t->out, s->row[r]);
    }
    blocks(s);
    if (t->split) add_before(s, t, start);
    if (!t->p->into) store_sums(s, t, start);
    else if (t->split) finish_last(s, t, start);
    else finish(s, t, start);
}

/* ---- panels ---- */

static void pack(tiles *t, unsigned width)
{
    maker *m = t->m;
    kn_lv lanes, loop, column[MAX_RANK], lane = open_loop(m, 0, width, lanes_for(width), &lanes);
    t->out[t->panel.at] = lv_add(m, t->first, lane);
    if (t->rows.size > 1) t->out[t->rows.at] = lv_int(m, 0);
    kn_lv k = open_loop_between(m, t->lo, t->hi, 0, t->p->order.k, 0, &loop), start = lv_sub(m, lane, lv_mul(m, t->lo, lv_int(m, t->width)));
    product_outer(t->p, t->v, t->out, column);
    kn_lv x = product_factor(m, t->p, t->v, column, k);
    lv_store(m, t->pack, lv_add(m, lv_mul(m, k, lv_int(m, t->width)), start), x);
    close_loop(m, loop);
    close_loop(m, lanes);
}

/* Tiles first .. first + n of the chunk, `width` rows each. */
static void pack_tiles(tiles *t, int64_t first, int64_t n, unsigned width)
{
    maker *m = t->m;
    kn_lv ks, loop, lanes, ix[MAX_RANK], k = open_loop_between(m, t->lo, t->hi, 0, t->p->order.k, 0, &ks);
    kn_lv at = lv_mul(m, open_loop(m, first, first + n, 0, &loop), lv_int(m, t->most)), lane = open_loop(m, 0, width, lanes_for(width), &lanes);
    t->out[t->rows.at] = lv_add(m, lv_add(m, t->row, at), lane);
    t->out[t->panel.at] = lv_int(m, 0);
    product_outer(t->p, t->u, t->out, ix);
    kn_lv x = product_factor(m, t->p, t->u, ix, k), to = lv_mul(m, lv_sub(m, k, t->lo), lv_int(m, t->most));
    lv_store(m, t->row_pack, lv_add(m, lv_add(m, to, lv_mul(m, at, lv_int(m, t->most_k + APART))), lane), x);
    close_loop(m, lanes);
    close_loop(m, loop);
    close_loop(m, ks);
}

/* Rows of the chunk, one after the other. */
static void pack_along_k(tiles *t)
{
    maker *m = t->m;
    kn_lv loop, ks, ix[MAX_RANK], row = open_loop(m, 0, t->chunk, 0, &loop);
    t->out[t->rows.at] = lv_add(m, t->row, row);
    t->out[t->panel.at] = lv_int(m, 0);
    product_outer(t->p, t->u, t->out, ix);
    kn_lv k = open_loop_between(m, t->lo, t->hi, 0, t->p->order.k, t->lanes, &ks);
    kn_lv x = product_factor(m, t->p, t->u, ix, k);
    lv_store(m, t->row_pack, lv_add(m, lv_mul(m, row, lv_int(m, t->most_k + ROW_APART)), lv_sub(m, k, t->lo)), x);
    close_loop(m, ks);
    close_loop(m, loop);
}

static void pack_rows(tiles *t)
{
    if (t->along_k) {
        pack_along_k(t);
        return;
    }
    int64_t whole = t->chunk / t->most, rest = t->chunk % t->most;
    if (whole) pack_tiles(t, 0, whole, t->most);
    if (rest) pack_tiles(t, whole, 1, (unsigned)rest);
}

/* Rows whose number is known only when the program runs: whole tiles, then row by row. */
static void open_rows_of_tiles(tiles *t)
{
    maker *m = t->m;
    kn_lv loop, rows = lv_int(m, t->chunk), most = lv_int(m, t->most);
    kn_lv whole = lv_sop(m, KN_S_div, KILN_I64, KILN_I64, rows, most, 0), done = lv_mul(m, whole, most);
    kn_lv at = open_loop_between(m, lv_int(m, 0), whole, 0, t->chunk, 0, &loop);
    make_tile(t, lv_mul(m, at, most), t->most);
    close_loop(m, loop);
    kn_lv row = open_loop_between(m, done, rows, 0, t->chunk, 0, &loop);
    make_tile(t, row, 1);
    close_loop(m, loop);
}

static void known_rows_of_tiles(tiles *t)
{
    maker *m = t->m;
    kn_lv loop;
    int64_t whole = t->chunk / t->most;
    if (whole == 1) {
        make_tile(t, lv_int(m, 0), t->most);
    } else {
        kn_lv at = open_loop(m, 0, whole, 0, &loop);
        make_tile(t, lv_mul(m, at, lv_int(m, t->most)), t->most);
        close_loop(m, loop);
    }
    unsigned rest = (unsigned)(t->chunk % t->most);
    if (rest) make_tile(t, lv_int(m, whole * t->most), rest);
}

/* All tiles of the chunk, over the panel's k in lo..hi. */
static void make_tiles(tiles *t, unsigned width)
{
    maker *m = t->m;
    kn_lv lanes = 0;
    if (t->packed) pack(t, width);
    t->lane = width > 1 ? open_loop(m, 0, width, lanes_for(width), &lanes) : lv_int(m, 0);
    t->in_pack = lv_sub(m, t->lane, lv_mul(m, t->lo, lv_int(m, t->width)));
    if (open_size(m, t->chunk)) open_rows_of_tiles(t);
    else known_rows_of_tiles(t);
    if (lanes) close_loop(m, lanes);
}

/* The blocks of k, one after the other where they are a loop of their own; what it is closed with, or 0. */
static kn_lv open_blocks(tiles *t)
{
    maker *m = t->m;
    kn_lv loop = 0, k = lv_int(m, t->p->order.k);
    t->lo = lv_int(m, 0);
    t->hi = k;
    if (!t->split) return 0;
    t->block = open_loop(m, 0, (t->p->order.k + KN_DOT_BLOCK - 1) / KN_DOT_BLOCK, 0, &loop);
    t->lo = lv_mul(m, t->block, lv_int(m, KN_DOT_BLOCK));
    t->hi = lv_sop(m, KN_S_min, KILN_I64, KILN_I64, lv_add(m, t->lo, lv_int(m, KN_DOT_BLOCK)), k, 0);
    return loop;
}

static void make_panel(tiles *t, kn_lv first, unsigned width)
{
    t->first = first;
    make_tiles(t, width);
}

static void new_pack(tiles *t)
{
    if (t->packed) t->pack = new_slot(t->m, KN_SLOT_SCRATCH, 0, t->p->order.accumulator, t->most_k * t->width);
}

static void make_panels(tiles *t)
{
    maker *m = t->m;
    int64_t whole = t->panel.size / t->width, rest = t->panel.size % t->width;
    kn_lv loop;
    if (whole == 1) {
        make_panel(t, lv_int(m, 0), t->width);
    } else if (whole > 1) {
        kn_lv at = open_loop(m, 0, whole, 0, &loop);
        make_panel(t, lv_mul(m, at, lv_int(m, t->width)), t->width);
        close_loop(m, loop);
    }
    if (rest && whole) new_pack(t); /* of its own: the loop over whole panels shares its copy with nobody */
    if (rest) make_panel(t, lv_int(m, whole * t->width), (unsigned)rest);
}

static void make_chunk(tiles *t)
{
    kn_lv loop = open_blocks(t);
    if (t->rows_packed) pack_rows(t);
    make_panels(t);
    if (loop) close_loop(t->m, loop);
}

/* Dimensions of the result that no tile runs along, one loop each; then the chunks. */
static void outer_loops(tiles *t, uint32_t d)
{
    maker *m = t->m;
    const kiln_type *y = &t->p->y;
    kn_lv loop;
    if (m->status != KILN_OK) return;
    if (d == y->rank) {
        t->row = lv_int(m, 0);
        bool several = t->chunk < t->rows.size;
        if (several) t->row = lv_mul(m, open_loop(m, 0, t->rows.size / t->chunk, 0, &loop), lv_int(m, t->chunk));
        make_chunk(t);
        if (several) close_loop(m, loop);
        return;
    }
    bool in_panel = t->panel.size > 1 && d <= t->panel.at && d + t->panel.flat >= t->panel.at;
    bool in_rows = t->rows.size > 1 && d <= t->rows.at && d + t->rows.flat >= t->rows.at;
    if (in_panel || in_rows || y->dims[d] == 1) {
        t->out[d] = lv_int(m, 0);
        outer_loops(t, d + 1);
        return;
    }
    t->out[d] = open_loop(m, 0, y->dims[d], 0, &loop);
    outer_loops(t, d + 1);
    close_loop(m, loop);
}

bool emit_tiles(maker *m, const product *p)
{
    if (p->order.lanes || p->order.k == 0) return false;
    tiles *t = KN_NEW(&m->temp, tiles);
    if (!MAKER_TRY_MEM(m, t)) return true;
    *t = (tiles){.m = m, .p = p};
    t->v = group_of(p, 1, true).size > 1;
    t->u = 1 - t->v;
    t->panel = group_of(p, t->v, !p->into || p->plain);
    t->rows = group_of(p, t->u, true);
    if (t->panel.size == 1 || open_size(m, t->panel.size)) return false;
    choose(t);
    new_pack(t);
    int64_t tiles_of_chunk = (t->chunk + t->most - 1) / t->most;
    int64_t copied = t->along_k ? t->chunk * (t->most_k + ROW_APART) : tiles_of_chunk * t->most * (t->most_k + APART);
    if (t->rows_packed) t->row_pack = new_slot(m, KN_SLOT_SCRATCH, 0, p->order.accumulator, copied);
    outer_loops(t, 0);
    m->l->nests++;
    return true;
}
