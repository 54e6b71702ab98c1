/* SPDX-License-Identifier: Apache-2.0 */
/* Programs as owners: creation, the tables of scopes and files, reference counts, queries. */
#include "ir/size.h"

kiln_status kn_prog_new(kiln_ctx *ctx, const kn_prog *like, kn_prog **out)
{
    *out = NULL;
    kn_prog *p = kn_new(&ctx->alloc, sizeof *p);
    KILN_TRY_MEM(ctx, p);
    atomic_init(&p->refs, 1);
    kn_arena_init(&p->arena, &ctx->alloc);
    bool ok = true;
    for (uint32_t i = 0; ok && i < (like ? like->scopes.n : 1); i++)
        ok = kn_push(&p->arena, &p->scopes, like ? kn_arena_text(&p->arena, like->scopes.v[i]) : "") && p->scopes.v[i];
    for (uint32_t i = 0; ok && i < (like ? like->files.n : 1); i++)
        ok = kn_push(&p->arena, &p->files, like ? kn_arena_text(&p->arena, like->files.v[i]) : "") && p->files.v[i];
    if (like) {
        p->level = like->level;
        p->old_dialect = like->old_dialect;
        p->own_file = like->own_file;
        if (ok && like->name) ok = (p->name = kn_arena_text(&p->arena, like->name)) != NULL;
        for (int which = 0; ok && which < 2; which++) {
            const char *const *names = which ? like->out_names : like->in_names;
            if (!names || !like->main) continue;
            uint32_t n = which ? like->main->nout : kn_nargs(like->main);
            const char **copy = KN_NEWN(&p->arena, const char *, n);
            ok = copy != NULL;
            for (uint32_t i = 0; ok && i < n; i++) ok = (copy[i] = kn_arena_text(&p->arena, names[i])) != NULL;
            if (which) p->out_names = copy;
            else p->in_names = copy;
        }
    }
    if (!ok) {
        kiln_prog_release(p);
        return kn_nomem(ctx);
    }
    *out = p;
    return KILN_OK;
}

kiln_prog *kiln_prog_retain(kiln_prog *p)
{
    if (p) atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

void kiln_prog_release(kiln_prog *p)
{
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
    for (uint32_t i = 0; i < p->arrays.n; i++) kiln_array_release(p->arrays.v[i]);
    kn_alloc alloc = p->arena.alloc;
    kn_arena_fini(&p->arena);
    kn_free(&alloc, p, sizeof *p);
}

/* Tables of names are short and mostly asked for their newest entry: searched backwards. */
static kiln_status intern(kiln_ctx *ctx, kn_prog *p, const char ***v, uint32_t *n, uint32_t *cap, const char *name, uint32_t *out)
{
    for (uint32_t i = *n; i-- > 0;)
        if (strcmp((*v)[i], name) == 0) {
            *out = i;
            return KILN_OK;
        }
    if (*n == *cap) KILN_TRY_MEM(ctx, kn_vec_grow(&p->arena, (void *)v, cap, *n + 1, sizeof **v));
    KILN_TRY_MEM(ctx, (*v)[*n] = kn_arena_text(&p->arena, name));
    *out = (*n)++;
    return KILN_OK;
}

kiln_status kn_prog_scope(kiln_ctx *ctx, kn_prog *p, const char *scope, uint32_t *out)
{
    return intern(ctx, p, &p->scopes.v, &p->scopes.n, &p->scopes.cap, scope, out);
}

kiln_status kn_prog_file(kiln_ctx *ctx, kn_prog *p, const char *file, uint32_t *out)
{
    return intern(ctx, p, &p->files.v, &p->files.n, &p->files.cap, file, out);
}

uint32_t kiln_prog_n_inputs(const kiln_prog *p) { return kn_nargs(p->main); }
uint32_t kiln_prog_n_outputs(const kiln_prog *p) { return p->main->nout; }

kiln_type kiln_prog_input_type(const kiln_prog *p, uint32_t i) { return kn_type_of(p->main, p->main->in[p->main->nconsts + i]); }
kiln_type kiln_prog_output_type(const kiln_prog *p, uint32_t i) { return kn_type_of(p->main, p->main->out[i]); }
const char *kiln_prog_input_name(const kiln_prog *p, uint32_t i) { return p->in_names ? p->in_names[i] : ""; }
const char *kiln_prog_output_name(const kiln_prog *p, uint32_t i) { return p->out_names ? p->out_names[i] : ""; }

static int64_t find_name(const char *const *names, uint32_t n, const char *name)
{
    for (uint32_t i = 0; names && i < n; i++)
        if (*name && strcmp(names[i], name) == 0) return i;
    return -1;
}
int64_t kiln_prog_find_input(const kiln_prog *p, const char *name) { return find_name(p->in_names, kn_nargs(p->main), name); }
int64_t kiln_prog_find_output(const kiln_prog *p, const char *name) { return find_name(p->out_names, p->main->nout, name); }

uint64_t kiln_prog_n_equations(const kiln_prog *p) { return kn_jaxpr_count(p->main); }

kiln_status kn_prog_runnable(kiln_ctx *ctx, const kn_prog *p)
{
    if (!kn_prog_open(p) && p->main->sized)
        return kn_fail(ctx, KILN_INVALID, "nothing says what n is: no input of the program has a dimension that depends on it");
    if (!p->has_holes) return KILN_OK;
    return kn_fail(ctx, KILN_UNSUPPORTED,
                   "the program has constants whose values its text does not hold (binders before the semicolon): pass them as inputs instead");
}
