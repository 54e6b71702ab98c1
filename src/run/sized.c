/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sized.h"

#include "ir/size.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "transform/lanes.h"

enum { MOST_LEAST = 64 };

/* Sizes that are no usual dimension, small and large. */
static const int64_t samples[] = {2, 37, 1048583};

static const char accepted[] = "a number in place of n, for which it is compiled";

static kiln_status needs_size(kiln_ctx *ctx, const kn_prog *p, const kn_eqn *e, kn_loc loc, const char *why)
{
    kn_place at = {.file = loc.file < p->files.n ? p->files.v[loc.file] : "", .line = (int)loc.line, .column = (int)loc.column};
    return kn_fail_at(ctx, KILN_UNSUPPORTED, "needs-size", at, accepted, "compile: %s needs the size n: %s", e ? e->prim->name : "the program", why);
}

/* ---- types ---- */

static kiln_status types_at(kiln_ctx *ctx, const kn_prog *p, int64_t n)
{
    kn_prog *sized;
    KILN_TRY(kn_prog_at(ctx, p, n, &sized));
    kiln_prog_release(sized);
    return KILN_OK;
}

kiln_status kn_sized_least(kiln_ctx *ctx, const kn_prog *traced, int64_t *least)
{
    kiln_diag before = ctx->error;
    kiln_status status = KILN_OK;
    for (*least = 0; *least <= MOST_LEAST; ++*least) {
        status = types_at(ctx, traced, *least);
        if (status == KILN_OK || status == KILN_NOMEM) break;
    }
    if (status == KILN_OK) ctx->error = before;
    KILN_TRY(status);
    for (int64_t n = *least + 1; n <= *least + 2; n++) KILN_TRY(types_at(ctx, traced, n));
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
    kn_prog *sized, *own = NULL, *general = NULL;
    KILN_TRY(kn_prog_at(ctx, traced, n, &sized));
    kiln_status status = lower_all(ctx, sized, &own);
    if (status == KILN_OK) status = kn_prog_at(ctx, lowered, n, &general);
    if (status == KILN_OK && !kn_jaxpr_equal(own->main, general->main)) {
        const kn_eqn *e = kn_jaxpr_differs(own->main, general->main);
        status = needs_size(ctx, own, e, e ? e->loc : (kn_loc){0}, "it becomes other operations at other sizes");
    }
    kiln_prog_release(general);
    kiln_prog_release(own);
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
        if (by_size(j, e)) w->status = needs_size(w->ctx, w->p, e, e->loc, "its code is made for one");
        if (w->status == KILN_OK) kn_eqn_bodies(e, check_kinds, w);
    }
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

int64_t kn_sized_rows(const kn_prog *optimised, int64_t least)
{
    rows r = {.n = least, .none = true};
    for (; r.none && r.n < least + MOST_LEAST; r.n += r.none) {
        r.none = false;
        check_rows(&r, optimised->main);
    }
    return r.n;
}

kiln_status kn_sized_optimised(kiln_ctx *ctx, const kn_prog *optimised, int64_t least)
{
    walk w = {ctx, optimised, KILN_OK};
    check_kinds(&w, optimised->main);
    KILN_TRY(w.status);
    int64_t first = least > 1 ? least : 1; /* loops over nothing hold what has no type without a row */
    for (int64_t n = first; n <= first + 1; n++) {
        const kn_eqn *failed = NULL;
        kn_prog *scratch;
        const kn_jaxpr *j;
        KILN_TRY(kn_prog_new(ctx, optimised, &scratch));
        kiln_status status = kn_jaxpr_size(ctx, scratch, optimised->main, n, &j, &failed);
        kiln_prog_release(scratch);
        if (status == KILN_NOMEM) return status;
        if (status != KILN_OK) return needs_size(ctx, optimised, failed, failed ? failed->loc : (kn_loc){0}, "it is another operation at small sizes");
    }
    return KILN_OK;
}

/* ---- loops ---- */

static kiln_status make_again(kiln_ctx *ctx, const kn_prog *traced, int64_t at, const kn_loop_options *o, kn_arena *arena, kn_loops **out)
{
    kn_prog *other, *lowered = NULL, *optimised = NULL;
    KILN_TRY(kn_prog_at(ctx, traced, at, &other));
    kiln_status status = lower_all(ctx, other, &lowered);
    if (status == KILN_OK) status = kn_optimise(ctx, lowered, NULL, &optimised);
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
    if (status == KILN_OK && !kn_loops_alike(loops, again, at, &differs)) {
        const kn_linst *in = &loops->inst.v[differs];
        status = needs_size(ctx, traced, NULL, in->loc, "its loops are made for one");
    }
    kn_arena_fini(&temp);
    return status;
}
