/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules of primitives may ask, and what the transformations remember: a body that many equations share is transformed
 * once for each set of flags. */
#include "transform/engine.h"

kiln_status kn_rules_init(kn_rules *r, kiln_ctx *ctx, kn_prog *prog)
{
    *r = (kn_rules){.ctx = ctx, .prog = prog, .jvp = kn_jvp_body, .transpose = kn_transpose_body, .pull_back = kn_pull_back_body, .depends = kn_depends_body};
    KILN_TRY_MEM(ctx, r->memo = KN_NEW(&prog->arena, kn_memo));
    return KILN_OK;
}

kiln_status kn_open(const kn_rules *r, kn_build *b, const kn_jaxpr *j, kn_atom **map)
{
    kn_build_init(b, r->ctx, r->prog);
    KILN_TRY_MEM(r->ctx, *map = KN_NEWN(&r->prog->arena, kn_atom, j->nvars));
    KILN_TRY(kn_build_consts(b, j, *map));
    for (uint32_t i = j->nconsts; i < j->nin; i++) KILN_TRY(kn_build_input(b, kn_type_of(j, j->in[i]), &(*map)[j->in[i]]));
    return KILN_OK;
}

static bool same_flags(const bool *a, const bool *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if ((a && a[i]) != (b && b[i])) return false;
    return true;
}

kn_made *kn_memo_find(const kn_rules *r, kn_made_kind kind, const kn_jaxpr *j, const bool *in, const bool *in2, const bool *out)
{
    const kn_memo *m = r->memo;
    for (uint32_t k = kn_map_get(&m->first, kn_map_address(j)); k; k = m->made.v[k - 1]->next) {
        kn_made *d = m->made.v[k - 1];
        if (d->kind == kind && same_flags(d->in, in, kn_nargs(j)) && same_flags(d->in2, in2, kind == KN_MADE_TRANSPOSE ? j->nout : 0) &&
            same_flags(d->out, out, kind == KN_MADE_TRANSPOSE ? 2 * kn_nargs(j) : j->nout))
            return d;
    }
    return NULL;
}

static bool *keep(const kn_rules *r, const bool *v, uint32_t n) { return v ? kn_arena_copy(&r->prog->arena, v, n) : NULL; }

kiln_status kn_memo_add(const kn_rules *r, kn_made d, kn_made **out)
{
    kn_memo *m = r->memo;
    kn_arena *arena = &r->prog->arena;
    uint32_t nargs = kn_nargs(d.from), nout = d.from->nout;
    bool back = d.kind == KN_MADE_TRANSPOSE;
    kn_made *e = KN_NEW(arena, kn_made);
    KILN_TRY_MEM(r->ctx, e);
    *e = d;
    e->in = keep(r, d.in, nargs);
    e->in2 = keep(r, d.in2, nout);
    e->out = keep(r, d.out, back ? 2 * nargs : nout);
    e->flags = keep(r, d.flags, d.kind == KN_MADE_TRIM || back ? nargs : nout);
    KILN_TRY_MEM(r->ctx, (e->in || !d.in) && (e->in2 || !d.in2) && (e->out || !d.out) && (e->flags || !d.flags));
    e->next = kn_map_get(&m->first, kn_map_address(d.from));
    KILN_TRY_MEM(r->ctx, kn_push(arena, &m->made, e) && kn_map_put(arena, &m->first, kn_map_address(d.from), m->made.n));
    if (out) *out = e;
    return KILN_OK;
}

kiln_status kn_no_rule(const kn_rules *r, const kn_eqn *e, const char *what)
{
    const char *file = e->loc.file < r->prog->files.n ? r->prog->files.v[e->loc.file] : "";
    kn_place at = {.file = file, .line = (int)e->loc.line, .column = (int)e->loc.column};
    return kn_fail_at(r->ctx, KILN_UNSUPPORTED, "unsupported", at, NULL, "%s has no %s rule", e->prim->name, what);
}
