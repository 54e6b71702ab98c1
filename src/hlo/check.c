/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing: equal elements, elements near in absolute terms, elements near in units of the last place (the number of floats
 * between them, through zero where signs differ). NaN equals NaN, an infinity only itself. Complex numbers compare part by part. */
#include "hlo/check.h"

#include "hlo/import.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* ---- elements ---- */

/* Floats between two of them, through zero where signs differ. */
static uint64_t ulps(kiln_dtype d, double a, double b)
{
    uint64_t x = 0, y = 0;
    if (a == b || (isnan(a) && isnan(b))) return 0;
    if (!isfinite(a) || !isfinite(b)) return UINT64_MAX;
    kn_scalar_store(d, &x, 0, (kn_scalar){.f = a});
    kn_scalar_store(d, &y, 0, (kn_scalar){.f = b});
    uint64_t sign = (uint64_t)1 << (kiln_dtype_bytes(d) * 8 - 1), mx = x & ~sign, my = y & ~sign;
    if ((x & sign) != (y & sign)) return mx + my;
    return mx > my ? mx - my : my - mx;
}

typedef struct verdict {
    bool good;
    uint64_t ulps; /* of floats */
} verdict;

static verdict compare_floats(const kn_hcheck *c, kiln_dtype d, double a, double b)
{
    verdict v = {.ulps = ulps(d, a, b)};
    bool both_nan = isnan(a) && isnan(b);
    if (c->kind == KN_CHECK_EQUAL) v.good = a == b || both_nan;
    else if (c->kind == KN_CHECK_BITS) v.good = both_nan || (a == b && signbit(a) == signbit(b));
    else if (c->kind == KN_CHECK_CLOSE) v.good = v.ulps <= c->max_ulp && v.ulps >= c->min_ulp;
    else v.good = both_nan || a == b || fabs(a - b) <= c->tolerance;
    return v;
}

static verdict compare(const kn_hcheck *c, kiln_dtype d, kn_scalar a, kn_scalar b)
{
    switch (kiln_dtype_kind(d)) {
    case 'f': return compare_floats(c, d, a.f, b.f);
    case '8': return (verdict){(isnan(a.f) && isnan(b.f)) || (a.f == b.f && (c->kind != KN_CHECK_BITS || signbit(a.f) == signbit(b.f))), 0};
    case 'c': {
        kiln_dtype part = d == KILN_C64 ? KILN_F32 : KILN_F64;
        verdict re = compare_floats(c, part, a.c[0], b.c[0]), im = compare_floats(c, part, a.c[1], b.c[1]);
        return (verdict){re.good && im.good, re.ulps > im.ulps ? re.ulps : im.ulps};
    }
    case 'b': return (verdict){a.b == b.b, 0};
    default: return (verdict){a.u == b.u, 0};
    }
}

static void show(kiln_dtype d, kn_scalar v, char *out, size_t n)
{
    switch (kiln_dtype_kind(d)) {
    case 'f':
    case '8': snprintf(out, n, "%.17g", v.f); break;
    case 'c': snprintf(out, n, "(%.17g, %.17g)", v.c[0], v.c[1]); break;
    case 'b': snprintf(out, n, "%s", v.b ? "true" : "false"); break;
    case 'i': snprintf(out, n, "%" PRId64, v.i); break;
    default: snprintf(out, n, "%" PRIu64, v.u); break;
    }
}

static void index_of(kiln_type t, int64_t k, char *out, size_t n)
{
    int64_t ix[64];
    size_t at = 0;
    for (uint32_t d = t.rank; d-- > 0;) ix[d % 64] = k % t.dims[d], k /= t.dims[d];
    out[0] = 0;
    for (uint32_t d = 0; d < t.rank && d < 64 && at + 24 < n; d++) at += (size_t)snprintf(out + at, n - at, "%s%" PRId64, d ? "," : "", ix[d]);
}

/* ---- one function ---- */

typedef struct run {
    kiln_ctx *ctx;
    const kn_check_options *o;
    kn_check_result *r;
    const kn_mmodule *m;
    const kn_mfunc *f;
    const kn_hchecks *checks;
} run;

static void report(const run *r, const kn_hcheck *c, const char *side, const kiln_array *got, const kiln_array *want)
{
    kiln_type t = got->type;
    int64_t n = kiln_type_size(t), bad = 0, first = -1;
    uint64_t worst = 0;
    for (int64_t k = 0; k < n; k++) {
        verdict v = compare(c, t.dtype, kn_scalar_load(t.dtype, got->data, k), kn_scalar_load(t.dtype, want->data, k));
        if (v.good) continue;
        if (!bad++) first = k;
        if (v.ulps > worst) worst = v.ulps;
    }
    if (!bad) return;
    char a[96], b[96], ix[128], line[640];
    show(t.dtype, kn_scalar_load(t.dtype, got->data, first), a, sizeof a);
    show(t.dtype, kn_scalar_load(t.dtype, want->data, first), b, sizeof b);
    index_of(t, first, ix, sizeof ix);
    int k = snprintf(line, sizeof line, "%s:%u:%u: @%.*s %s%s: %" PRId64 " of %" PRId64 " differ, first [%s]: %s, should be %s", r->m->src.file, c->line,
                     c->column, KN_SPAN_ARG(r->f->name), c->name, side, bad, n, ix, a, b);
    if (worst && worst != UINT64_MAX && k > 0 && (size_t)k < sizeof line)
        snprintf(line + k, sizeof line - (size_t)k, "; at most %" PRIu64 " ULP", worst);
    r->r->failures++;
    r->o->failure(r->o->ud, line);
}

static void compare_all(const run *r, const char *side, kiln_array *const *out)
{
    for (uint32_t i = 0; i < r->checks->v.n; i++) {
        const kn_hcheck *c = &r->checks->v.v[i];
        report(r, c, side, out[c->got], out[c->want]);
    }
}

static void release(kiln_array **v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) kiln_array_release(v[i]), v[i] = NULL;
}

/* Both sides must agree to the last bit; two NaNs are equal. */
static void compare_sides(const run *r, kiln_array *const *a, kiln_array *const *b)
{
    for (uint32_t i = 0; i < r->checks->v.n; i++) {
        kn_hcheck c = r->checks->v.v[i];
        c.kind = KN_CHECK_BITS;
        report(r, &c, ", compiled beside interpreted", b[c.got], a[c.got]);
    }
}

static kiln_status run_function(const run *r, const kiln_prog *p)
{
    uint32_t n = kiln_prog_n_outputs(p);
    kiln_array **out = kn_new(&r->ctx->alloc, (2 * (size_t)n + 1) * sizeof *out), **compiled = out + n;
    KILN_TRY_MEM(r->ctx, out);
    kiln_status s = KILN_OK;
    bool both = r->o->interpret && r->o->compiled;
    if (r->o->interpret) s = kiln_prog_eval(r->ctx, p, NULL, out);
    if (s == KILN_OK && r->o->interpret) compare_all(r, both ? ", interpreted" : "", out);
    if (s == KILN_OK && r->o->compiled) s = r->o->run_compiled(r->ctx, p, compiled);
    if (s == KILN_OK && r->o->compiled) {
        compare_all(r, both ? ", compiled" : "", compiled);
        if (both) compare_sides(r, out, compiled);
    }
    release(out, n);
    if (s == KILN_OK && r->o->compiled) release(compiled, n);
    kn_free(&r->ctx->alloc, out, (2 * (size_t)n + 1) * sizeof *out);
    r->r->functions++;
    r->r->checks += r->checks->v.n;
    return s;
}

/* ---- the module ---- */

kiln_status kn_hlo_has_checks(kiln_ctx *ctx, const kn_packed *text, const char *file, bool *yes)
{
    kn_arena arena;
    kn_mmodule *m;
    kn_arena_init(&arena, &ctx->alloc);
    kiln_status s = kn_mlir_read(ctx, &arena, text, file, &m);
    *yes = false;
    for (uint32_t i = 0; s == KILN_OK && i < m->funcs.n; i++) *yes = *yes || kn_hregion_checks(&m->funcs.v[i]->body);
    kn_arena_fini(&arena);
    return s;
}

static kiln_status check_function(kiln_ctx *ctx, kn_mmodule *m, const kn_mfunc *f, const kn_check_options *o, kn_check_result *r)
{
    kn_hchecks checks = {0};
    kn_prog *p;
    KILN_TRY(kn_himport_function(m, f, &checks, &p));
    run own = {ctx, o, r, m, f, &checks};
    kiln_status s = run_function(&own, p);
    kiln_prog_release(p);
    return s;
}

kiln_status kn_hlo_check(kiln_ctx *ctx, const kn_packed *text, const char *file, const kn_check_options *o, kn_check_result *r)
{
    kn_arena arena;
    kn_mmodule *m;
    *r = (kn_check_result){0};
    kn_arena_init(&arena, &ctx->alloc);
    kiln_status s = kn_mlir_read(ctx, &arena, text, file, &m);
    if (s == KILN_OK) s = kn_hone_replica(m);
    for (uint32_t i = 0; s == KILN_OK && i < m->funcs.n; i++) {
        const kn_mfunc *f = m->funcs.v[i];
        if (f->has_body && f->nargs == 0 && !f->is_private) s = check_function(ctx, m, f, o, r);
    }
    kn_arena_fini(&arena);
    return s;
}
