/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/size.h"

#include "ir/prim.h"

bool kn_prog_open(const kn_prog *p)
{
    for (uint32_t i = p->main->nconsts; i < p->main->nin; i++)
        if (kn_type_open(p->main->vars[p->main->in[i]].type)) return true;
    return false;
}

static bool is_size(int64_t v)
{
    int64_t a, b;
    return kn_size_open(v) && kn_size_split(v, &a, &b);
}

static bool in_param(const kn_param *p)
{
    bool found = p->kind == KN_P_INT ? is_size(p->i) : p->kind == KN_P_JAXPR && p->jaxpr->sized;
    for (uint32_t i = 0; p->kind == KN_P_INTS && i < p->n; i++) found = found || is_size(p->ints[i]);
    for (uint32_t i = 0; (p->kind == KN_P_TUPLE || p->kind == KN_P_RECORD) && i < p->n; i++) found = found || in_param(&p->items[i]);
    return found;
}

bool kn_eqns_use_size(const kn_eqn *e, uint32_t n)
{
    bool found = false;
    for (uint32_t k = 0; k < n && !found; k++)
        for (uint32_t i = 0; i < e[k].prim->nparams && !found; i++) found = in_param(&e[k].params[i]);
    return found;
}

static kiln_status misfit(kiln_ctx *ctx, const kiln_array *a, kiln_type want, const char *name, uint32_t i, const char *who)
{
    if (!a) return kn_fail(ctx, KILN_INVALID, "%sinput %u is NULL; accepted: an array of type %s", who, i, kn_type_show(want).s);
    kiln_type have = kiln_array_type(a);
    return kn_fail(ctx, want.dtype == have.dtype ? KILN_SHAPE : KILN_DTYPE, "%sinput %u%s%s is %s, but the program takes %s", who, i,
                   name[0] ? ", " : "", name, kn_type_show(have).s, kn_type_show(want).s);
}

kiln_status kn_size_of_arrays(kiln_ctx *ctx, const kiln_type *want, const char *const *names, uint32_t count, kiln_array *const *in, const char *who,
                              int64_t *n)
{
    uint32_t first = 0;
    *n = -1;
    for (uint32_t i = 0; i < count; i++) {
        int64_t own = -1, before = *n;
        if (in[i] && kn_type_fits(in[i]->type, want[i], n)) {
            if (before < 0 && *n >= 0) first = i;
            continue;
        }
        if (in[i] && kn_type_fits(in[i]->type, want[i], &own))
            return kn_fail(ctx, KILN_SHAPE, "%sinput %u is %s, where n is %lld, but it is %lld in input %u; accepted: one size in all inputs", who, i,
                           kn_type_show(in[i]->type).s, (long long)own, (long long)before, first);
        return misfit(ctx, in[i], want[i], names && names[i] ? names[i] : "", i, who);
    }
    if (*n < 0) *n = 0;
    if (*n <= KN_SIZE_MOST) return KILN_OK;
    return kn_fail(ctx, KILN_SHAPE, "%sa size of %lld; accepted: at most %lld", who, (long long)*n, (long long)KN_SIZE_MOST);
}

kiln_status kn_prog_size_of(kiln_ctx *ctx, const kn_prog *p, kiln_array *const *in, const char *who, int64_t *n)
{
    const kn_jaxpr *j = p->main;
    uint32_t count = kn_nargs(j);
    kn_arena temp;
    kn_arena_init(&temp, &ctx->alloc);
    kiln_type *want = KN_NEWN(&temp, kiln_type, count);
    for (uint32_t i = 0; want && i < count; i++) want[i] = j->vars[j->in[j->nconsts + i]].type;
    kiln_status status = want ? kn_size_of_arrays(ctx, want, p->in_names, count, in, who, n) : kn_nomem(ctx);
    kn_arena_fini(&temp);
    return status;
}

kiln_status kn_prog_at(kiln_ctx *ctx, const kn_prog *p, int64_t n, kn_prog **out)
{
    const kn_eqn *failed = NULL;
    KILN_TRY(kn_prog_new(ctx, p, out));
    kiln_status status = kn_jaxpr_size(ctx, *out, p->main, n, &(*out)->main, &failed);
    if (status == KILN_OK) return KILN_OK;
    kiln_prog_release(*out);
    *out = NULL;
    const char *file = failed && failed->loc.file < p->files.n ? p->files.v[failed->loc.file] : "";
    if (failed && failed->loc.line) kn_note(ctx, "at size n = %lld, of %s, from %s:%u:%u", (long long)n, failed->prim->name, file, failed->loc.line, failed->loc.column);
    else if (failed) kn_note(ctx, "at size n = %lld, of %s", (long long)n, failed->prim->name);
    return status;
}

kiln_status kn_needs_size(kiln_ctx *ctx, const kn_prog *p, const char *who, kn_loc loc, const char *why)
{
    kn_place at = {.file = loc.file < p->files.n ? p->files.v[loc.file] : "", .line = (int)loc.line, .column = (int)loc.column};
    return kn_fail_at(ctx, KILN_UNSUPPORTED, "needs-size", at, "a number in place of n, for which it is compiled", "compile: %s needs the size n: %s", who, why);
}

kiln_type kn_type_at(kiln_type t, int64_t at, int64_t dims[KN_RANK_LIMIT])
{
    for (uint32_t i = 0; i < t.rank; i++) dims[i] = kn_size_at(t.dims[i], at);
    t.dims = dims;
    return t;
}
