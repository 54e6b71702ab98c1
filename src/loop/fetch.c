/* SPDX-License-Identifier: Apache-2.0 */
/* What processors do not fetch by themselves.
 *
 * They fetch ahead along rising addresses, up to the end of a page. Rows shorter than a page that are read from the last to the first, as the
 * way back through a scan does, give them nothing to go by; a load then says `behind n`: the line n elements before is fetched, too. A
 * reduction that goes through megabytes, in one run or row after row, says `ahead n`.
 *
 * Needs:  finished loops.   Leaves: the same program.   Cost: linear in the instructions of loops with state, and of reductions. */
#include "loop/maker.h"

enum { LEAST_ROW_BYTES = 256, MOST_ROW_BYTES = 4096, MOST_BYTES = 16384, FAR_BYTES = 1 << 17, MOST_LOOKED_AT = 200 };
enum { STREAM_BYTES = 1 << 23, AHEAD_BYTES = 1 << 13, LEAST_RUN_BYTES = 1 << 12 };

typedef struct walker {
    kn_loops *l;
    const kn_lregion *loop; /* whose trips are meant: a while, a loop or lanes */
    int64_t bytes;          /* of the rows that are fetched in each trip */
    uint32_t budget;        /* instructions that may still be looked at for one index */
} walker;

static const kn_linst *inst(const walker *w, kn_lv v) { return &w->l->inst.v[v]; }

static bool constant(const walker *w, kn_lv v, int64_t *x)
{
    const kn_linst *in = inst(w, v);
    if (!v || in->op != KN_L_CONST || (in->dtype != KILN_I64 && in->dtype != KILN_I32)) return false;
    *x = in->imm.i;
    return true;
}

/* What a trip adds to the parameter, or 0. */
static int64_t step_of(const walker *w, kn_lv param)
{
    const kn_lblock *body = &w->loop->blocks[w->loop->nblocks - 1];
    int64_t c;
    if (w->loop->nblocks == 1) return body->params.v[0] == param; /* the counter of a loop or of lanes */
    for (uint32_t k = 0; k < body->params.n; k++) {
        const kn_linst *next = inst(w, body->yields.v[k]);
        if (body->params.v[k] != param || next->op != KN_L_SOP || next->sop != KN_S_add) continue;
        if ((next->a == param && constant(w, next->b, &c)) || (next->b == param && constant(w, next->a, &c))) return c;
    }
    return 0;
}

/* How far an index moves from trip to trip; what cannot be told does not move. */
static int64_t moves_by(walker *w, kn_lv v)
{
    const kn_linst *in = inst(w, v);
    int64_t c, a, b;
    if (!v || w->budget == 0) return 0;
    w->budget--;
    if (in->op == KN_L_PARAM) return step_of(w, v);
    if (in->op != KN_L_SOP) return 0;
    switch (in->sop) {
    case KN_S_add: return __builtin_add_overflow(moves_by(w, in->a), moves_by(w, in->b), &a) ? 0 : a;
    case KN_S_sub: return __builtin_sub_overflow(moves_by(w, in->a), moves_by(w, in->b), &a) ? 0 : a;
    case KN_S_mul:
        b = moves_by(w, in->a);
        return constant(w, in->b, &c) && !__builtin_mul_overflow(b, c, &a) ? a : 0;
    case KN_S_convert:
    case KN_S_min:
    case KN_S_max: return moves_by(w, in->a);
    default: return 0;
    }
}

static void look_at_load(walker *w, kn_linst *in)
{
    const kn_slot *s = &w->l->slots.v[in->slot];
    int64_t bytes = (int64_t)kiln_dtype_bytes(s->dtype);
    if (s->elements <= FAR_BYTES / bytes) return;
    w->budget = MOST_LOOKED_AT;
    int64_t by = moves_by(w, in->a);
    if (by >= 0 || by < -MOST_ROW_BYTES || -by * bytes < LEAST_ROW_BYTES || -by * bytes > MOST_ROW_BYTES) return;
    w->bytes += -by * bytes;
    if (w->bytes <= MOST_BYTES) in->index = (uint32_t)-by;
}

/* Loads in vectors within the body. */
static void look_at_block(walker *w, const kn_lblock *b, bool lanes)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        kn_linst *in = &w->l->inst.v[b->inst.v[i]];
        if (in->op == KN_L_LOAD && lanes) look_at_load(w, in);
        if (in->op != KN_L_LOOP && in->op != KN_L_LANES && in->op != KN_L_IF) continue;
        bool inside = lanes || in->op == KN_L_LANES || (in->op == KN_L_LOOP && in->region->width > 1);
        for (uint32_t k = 0; k < in->region->nblocks; k++) look_at_block(w, &in->region->blocks[k], inside);
    }
}

/* Trips of a loop from constant to constant, else 0. */
static int64_t trips(kn_loops *l, const kn_lregion *loop)
{
    walker w = {.l = l};
    int64_t lo, hi, n;
    return constant(&w, loop->lo, &lo) && constant(&w, loop->hi, &hi) && !__builtin_sub_overflow(hi, lo, &n) && n > 0 ? n : 0;
}

/* How far a trip of the loop moves an index. */
static int64_t moves_in(walker *w, const kn_lregion *loop, kn_lv index)
{
    w->loop = loop;
    w->budget = MOST_LOOKED_AT;
    return moves_by(w, index);
}

/* A reduction, and the loop around it or NULL: row by row it goes on where it stopped. */
static void look_at_stream(kn_loops *l, const kn_lregion *lanes, const kn_lregion *around)
{
    walker w = {.l = l};
    int64_t row = trips(l, lanes);
    for (uint32_t i = 0; i < lanes->blocks[0].inst.n; i++) {
        kn_linst *in = &l->inst.v[lanes->blocks[0].inst.v[i]];
        int64_t bytes = (int64_t)kiln_dtype_bytes(in->dtype);
        if (in->op != KN_L_LOAD || row < LEAST_RUN_BYTES / bytes || moves_in(&w, lanes, in->a) != 1) continue;
        int64_t rows = around && moves_in(&w, around, in->a) == row ? trips(l, around) : 1;
        if (rows > STREAM_BYTES / bytes / row) in->index = (uint32_t)-(AHEAD_BYTES / bytes);
    }
}

static void find_loops(kn_loops *l, const kn_lblock *b, const kn_lregion *around)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *in = &l->inst.v[b->inst.v[i]];
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++)
            find_loops(l, &in->region->blocks[k], in->op == KN_L_LOOP ? in->region : NULL);
        if (in->op == KN_L_LANES) look_at_stream(l, in->region, around);
        if (in->op != KN_L_WHILE) continue;
        walker w = {.l = l, .loop = in->region};
        look_at_block(&w, &in->region->blocks[1], false);
    }
}

void fetch_lines(maker *m)
{
    for (uint32_t i = 0; i < m->l->inst.n; i++)
        if (m->l->inst.v[i].op == KN_L_LOAD) m->l->inst.v[i].index = 0; /* while they were made it told loads apart */
    find_loops(m->l, &m->l->top, NULL);
}
