/* SPDX-License-Identifier: Apache-2.0 */
/* What a transformation makes lives in the arena of a program of its own, a stage, and shares what it takes over with the program that is
 * transformed; the result is copied out, so that what was left behind is freed. */
#include "transform/prog.h"

static kiln_status copied(kiln_ctx *ctx, const kn_prog *like, const kn_jaxpr *main, kn_prog **out)
{
    KILN_TRY(kn_prog_new(ctx, like, out));
    (*out)->level = KN_TRACED;
    (*out)->in_names = (*out)->out_names = NULL; /* they belong to the old lists */
    kiln_status s = kn_jaxpr_copy(ctx, *out, main, &(*out)->main);
    if (s != KILN_OK) kiln_prog_release(*out), *out = NULL;
    return s;
}

kiln_status kn_prog_apply_all(kiln_ctx *ctx, const kn_prog *p, kn_change change, const void *how, uint32_t n, kn_prog **out)
{
    enum { MOST = 2 };
    kn_prog *work;
    const kn_jaxpr *made[MOST];
    for (uint32_t i = 0; i < n; i++) out[i] = NULL;
    KILN_TRY(kn_prog_new(ctx, p, &work));
    work->level = KN_TRACED;
    work->stage = true;
    kn_rules r;
    kiln_status s = n <= MOST ? kn_rules_init(&r, ctx, work) : kn_fail(ctx, KILN_INTERNAL, "%u programs of one", n);
    if (s == KILN_OK) s = change(&r, p->main, how, made);
    for (uint32_t i = 0; i < n && s == KILN_OK; i++) {
        s = copied(ctx, work, made[i], &out[i]);
#ifdef KN_DEBUG
        if (s == KILN_OK) s = kn_verify(ctx, out[i]);
#endif
    }
    for (uint32_t i = 0; i < n && s != KILN_OK; i++) kiln_prog_release(out[i]), out[i] = NULL;
    kiln_prog_release(work);
    return s;
}

kiln_status kn_prog_apply(kiln_ctx *ctx, const kn_prog *p, kn_change change, const void *how, kn_prog **out)
{
    return kn_prog_apply_all(ctx, p, change, how, 1, out);
}
