/* SPDX-License-Identifier: Apache-2.0 */
/* A transformation works on a copy of the program, in whose arena everything it makes lives; the result is copied out, so that
 * what was left behind is freed. */
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

kiln_status kn_prog_apply(kiln_ctx *ctx, const kn_prog *p, kn_change change, const void *how, kn_prog **out)
{
    kn_prog *work;
    const kn_jaxpr *made;
    *out = NULL;
    KILN_TRY(copied(ctx, p, p->main, &work));
    kn_rules r;
    kiln_status s = kn_rules_init(&r, ctx, work);
    if (s == KILN_OK) s = change(&r, work->main, how, &made);
    if (s == KILN_OK) s = copied(ctx, work, made, out);
#ifdef KN_DEBUG
    if (s == KILN_OK && (s = kn_verify(ctx, *out)) != KILN_OK) kiln_prog_release(*out), *out = NULL;
#endif
    kiln_prog_release(work);
    return s;
}
