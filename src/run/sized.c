/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sized.h"

#include "ir/size.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "transform/lanes.h"

/* Sizes that are no usual dimension, small and large. */
static const int64_t samples[] = {2, 37, 1048583};

static kiln_status needs_size(kiln_ctx *ctx, const kn_prog *p, const kn_eqn *e, const char *why)
{
    return kn_needs_size(ctx, p, e ? e->prim->name : "the program", e ? e->loc : (kn_loc){0}, why);
}

/* ---- the least size ---- */

static kiln_status types_at(kiln_ctx *ctx, const kn_prog *p, int64_t n, const kn_eqn **failed)
{
    kn_prog *scratch;
    const kn_jaxpr *j;
    KILN_TRY(kn_prog_new(ctx, p, &scratch));
    kiln_status status = kn_jaxpr_size(ctx, scratch, p->main, n, &j, failed);
    kiln_prog_release(scratch);
    return status;
}

/* The smallest size, `from` or more, at which p has types. What has to fit does so at all larger sizes, too: it grows no faster than
 * where it has to fit, or there would be no type at the size that stands for a very large one. */
static kiln_status least_size(kiln_ctx *ctx, const kn_prog *p, int64_t from, int64_t *least)
{
    kiln_diag before = ctx->error;
    const kn_eqn *failed = NULL;
    int64_t without = from - 1, with = from; /* sizes without and with types */
    kiln_status status = types_at(ctx, p, with, &failed);
    while (status != KILN_OK && status != KILN_NOMEM && with < KN_SIZE_MOST) {
        without = with;
        with += with - from + 1;
        status = types_at(ctx, p, with, &failed);
    }
    while (status == KILN_OK && with - without > 1) {
        int64_t middle = without + (with - without) / 2;
        kiln_status there = types_at(ctx, p, middle, &failed);
        if (there == KILN_NOMEM) status = there;
        else if (there == KILN_OK) with = middle;
        else without = middle;
    }
    *least = with;
    for (int64_t n = with + 1; n <= with + 2 && status == KILN_OK; n++) status = types_at(ctx, p, n, &failed);
    if (status == KILN_NOMEM) return status;
    if (status != KILN_OK) return needs_size(ctx, p, failed, "it is another operation at other sizes");
    ctx->error = before;
    return KILN_OK;
}

static bool is_empty(kiln_type t, int64_t n)
{
    for (uint32_t d = 0; d < t.rank; d++)
        if (kn_size_at(t.dims[d], n) == 0) return true;
    return false;
}

/* Elements of the result are made of operands at indices that are clamped into them: there has to be an element. */
static bool reads_nothing(const kn_jaxpr *j, const kn_eqn *e, int64_t n)
{
    bool joins = strcmp(e->prim->name, "pad") == 0 || strcmp(e->prim->name, "concatenate") == 0;
    if (!joins || is_empty(j->vars[e->out[0]].type, n)) return false;
    for (uint32_t i = 0; i < e->nin; i++)
        if (kn_type_open(kn_type_of(j, e->in[i])) && is_empty(kn_type_of(j, e->in[i]), n)) return true;
    return false;
}

typedef struct rows {
    int64_t n;
    bool none;
} rows;

static void check_rows(void *ud, const kn_jaxpr *j)
{
    rows *r = ud;
    for (uint32_t k = 0; k < j->neqns && !r->none; k++) {
        r->none = reads_nothing(j, &j->eqns[k], r->n);
        kn_eqn_bodies(&j->eqns[k], check_rows, r);
    }
}

kiln_status kn_sized_least(kiln_ctx *ctx, const kn_prog *traced, const kn_prog *lowered, const kn_prog *optimised, int64_t *least)
{
    const kn_prog *const made[] = {lowered, optimised};
    KILN_TRY(least_size(ctx, traced, 0, least));
    for (int i = 0; i < 2; i++) { /* loops over nothing hold what has no type without a row */
        int64_t own;
        KILN_TRY(least_size(ctx, made[i], *least ? *least : 1, &own));
        if (own > 1) *least = own;
    }
    rows r = {.n = *least};
    check_rows(&r, optimised->main);
    if (r.none) ++*least; /* an open dimension is empty at the least size only */
    return KILN_OK;
}

/* ---- the lowered program ---- */

static kiln_status lower_all(kiln_ctx *ctx, const kn_prog *p, kn_prog **out)
{
    kn_prog *slots;
    KILN_TRY(kn_lanes_in_slots(ctx, p, &slots));
    kiln_status status = kn_lower(ctx, slots ? slots : p, out);
    kiln_prog_release(slots);
    return status;
}

static kiln_status lowered_at(kiln_ctx *ctx, const kn_prog *traced, const kn_prog *lowered, int64_t n)
{
    kn_prog *sized, *made = NULL, *own = NULL, *general = NULL;
    KILN_TRY(kn_prog_at(ctx, traced, n, &sized));
    kiln_status status = lower_all(ctx, sized, &made);
    if (status == KILN_OK) status = kn_prog_at(ctx, made, n, &own); /* numbers values as the other copy does: constants of callees stand anywhere */
    if (status == KILN_OK) status = kn_prog_at(ctx, lowered, n, &general);
    if (status == KILN_OK && !kn_jaxpr_equal(own->main, general->main)) {
        const kn_eqn *e = kn_jaxpr_differs(own->main, general->main);
        status = needs_size(ctx, own, e, "it becomes other operations at other sizes");
    }
    kiln_prog_release(general);
    kiln_prog_release(own);
    kiln_prog_release(made);
    kiln_prog_release(sized);
    return status;
}

kiln_status kn_sized_lowered(kiln_ctx *ctx, const kn_prog *traced, const kn_prog *lowered, int64_t least)
{
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        if (samples[i] >= least) KILN_TRY(lowered_at(ctx, traced, lowered, samples[i]));
    return KILN_OK;
}

typedef struct walk {
    kiln_ctx *ctx;
    const kn_prog *p;
    kiln_status status;
} walk;

/* Of these the code is made for one size. */
static bool by_size(const kn_jaxpr *j, const kn_eqn *e)
{
    bool open = false;
    for (uint32_t i = 0; i < e->nin; i++) open = open || kn_type_open(kn_type_of(j, e->in[i]));
    for (uint32_t i = 0; i < e->nout; i++) open = open || kn_type_open(j->vars[e->out[i]].type);
    kn_loop_kind k = e->prim->loop;
    return open && (k == KN_LOOP_CALL || k == KN_LOOP_SORT || k == KN_LOOP_CONV || k == KN_LOOP_NONE);
}

static void check_kinds(void *ud, const kn_jaxpr *j)
{
    walk *w = ud;
    for (uint32_t k = 0; k < j->neqns && w->status == KILN_OK; k++) {
        const kn_eqn *e = &j->eqns[k];
        if (by_size(j, e)) w->status = needs_size(w->ctx, w->p, e, "its code is made for one");
        if (w->status == KILN_OK) kn_eqn_bodies(e, check_kinds, w);
    }
}

kiln_status kn_sized_kinds(kiln_ctx *ctx, const kn_prog *optimised)
{
    walk w = {ctx, optimised, KILN_OK};
    check_kinds(&w, optimised->main);
    return w.status;
}

/* ---- loops ---- */

static kiln_status make_again(kiln_ctx *ctx, const kn_prog *traced, int64_t at, const kn_loop_options *o, kn_arena *arena, kn_loops **out)
{
    kn_prog *other, *lowered = NULL, *optimised = NULL;
    KILN_TRY(kn_prog_at(ctx, traced, at, &other));
    kiln_status status = lower_all(ctx, other, &lowered);
    if (status == KILN_OK) status = kn_optimise(ctx, lowered, &(kn_opt_options){.flush = o->flush}, &optimised);
    if (status == KILN_OK) status = kn_loops_make(ctx, arena, optimised, o, out);
    kiln_prog_release(optimised);
    kiln_prog_release(lowered);
    kiln_prog_release(other);
    return status;
}

kiln_status kn_sized_loops(kiln_ctx *ctx, const kn_prog *traced, const kn_loop_options *o, const kn_loops *loops)
{
    /* 3 * n + 1: divided by a power of two it leaves another number than n; it may be 1 */
    const int64_t at = 3 * KILN_DIM_N + 1;
    kn_arena temp;
    kn_loops *again = NULL;
    kn_loop_options quiet = *o;
    kn_lv differs;
    quiet.kept = NULL;
    kn_arena_init(&temp, &ctx->alloc);
    kiln_status status = make_again(ctx, traced, at, &quiet, &temp, &again);
    if (status == KILN_OK && !kn_loops_alike(loops, again, at, &differs))
        status = kn_needs_size(ctx, traced, "the program", loops->inst.v[differs].loc, "its loops are made for one");
    kn_arena_fini(&temp);
    return status;
}
