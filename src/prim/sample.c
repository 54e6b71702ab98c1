/* SPDX-License-Identifier: Apache-2.0 */
#include "prim/sample.h"
#include "prim/common.h"

#include <float.h>
#include <math.h>

uint64_t kn_sample_bits(kn_sample *s) /* splitmix64 */
{
    uint64_t z = s->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
int64_t kn_sample_below(kn_sample *s, int64_t n) { return n > 0 ? (int64_t)(kn_sample_bits(s) % (uint64_t)n) : 0; }
int64_t kn_sample_between(kn_sample *s, int64_t lo, int64_t hi) { return lo + kn_sample_below(s, hi - lo + 1); }

kiln_status kn_sample_dtype(kn_sample *s, const char *kinds, kiln_dtype *out)
{
    kiln_dtype fit[KILN_N_DTYPES];
    uint32_t n = 0;
    for (int d = 0; d < KILN_N_DTYPES; d++)
        if ((s->dtypes >> d & 1) && strchr(kinds, kiln_dtype_kind((kiln_dtype)d))) fit[n++] = (kiln_dtype)d;
    if (!n) return kn_fail(s->ctx, KILN_DTYPE, "%s takes none of the element types to draw from", s->prim->name);
    *out = fit[kn_sample_below(s, n)];
    return KILN_OK;
}

void kn_sample_shape(kn_sample *s, uint32_t rank, int64_t *dims)
{
    for (uint32_t d = 0; d < rank; d++) dims[d] = kn_sample_between(s, s->length == 0, 3);
    if (rank) dims[kn_sample_below(s, rank)] = s->length;
}

static double float_max(kiln_dtype d)
{
    return d == KILN_F64 ? DBL_MAX : d == KILN_F32 ? (double)FLT_MAX : d == KILN_F16 ? 65504 : 0x1.fep127;
}
static double float_min(kiln_dtype d) { return d == KILN_F64 ? DBL_MIN : d == KILN_F16 ? 0x1p-14 : 0x1p-126; }
static double float_tiny(kiln_dtype d)
{
    return d == KILN_F64 ? 0x1p-1074 : d == KILN_F32 ? 0x1p-149 : d == KILN_F16 ? 0x1p-24 : 0x1p-133;
}

enum { N_EDGES = 16 };
static kn_scalar edge(kiln_dtype d, int k)
{
    unsigned width = kn_dtype_width(d);
    switch (kiln_dtype_kind(d)) {
    case 'f': {
        double v[N_EDGES] = {0.0, -0.0, (double)NAN, (double)INFINITY, -(double)INFINITY, float_tiny(d), -3 * float_tiny(d),
                             float_min(d) - float_tiny(d), float_max(d), -float_max(d), 1.0, -1.0, 0.5, 2147483648.0, -0x1p63, 1.5};
        return (kn_scalar){.f = v[k]};
    }
    case 'i': {
        int64_t max = INT64_MAX >> (64 - width), v[] = {0, 1, -1, max, -max - 1, max - 1, 2, -2};
        return (kn_scalar){.i = v[k % 8]};
    }
    case 'u': {
        uint64_t max = UINT64_MAX >> (64 - width), v[] = {0, 1, max, max - 1, max / 2, max / 2 + 1, 2, 3};
        return (kn_scalar){.u = v[k % 8]};
    }
    case '8': return kn_scalar_load(d, &(uint8_t){(uint8_t)(17 * k)}, 0);
    case 'c': return (kn_scalar){.c = {edge(kn_part_dtype(d), k).f, edge(kn_part_dtype(d), (5 * k + 3) % N_EDGES).f}};
    default: return (kn_scalar){.b = k % 2 != 0};
    }
}

static kn_scalar value(kn_sample *s, kiln_dtype d)
{
    uint64_t bits = kn_sample_bits(s);
    double unit = (double)(bits >> 11) * 0x1p-53; /* [0, 1) */
    switch (kiln_dtype_kind(d)) {
    case 'f':
        if ((s->ctx->fast & KILN_FAST_FLUSH) && bits % 3 == 0) return (kn_scalar){.f = (4 * unit - 2) * float_min(d)}; /* on both sides of it */
        switch (kn_sample_below(s, s->tame ? 3 : 4)) {
        case 0: return (kn_scalar){.f = 2 * unit - 1};
        case 1: return (kn_scalar){.f = (2 * unit - 1) * 50};
        case 2: return (kn_scalar){.f = ldexp(2 * unit - 1, (int)kn_sample_between(s, -20, 20))};
        default: return kn_scalar_load(d, &bits, 0); /* any bit pattern */
        }
    case 'i': return (kn_scalar){.i = kn_sample_below(s, 2) ? kn_sample_between(s, -40, 40) : (int64_t)bits};
    case 'u': return (kn_scalar){.u = kn_sample_below(s, 2) ? bits % 41 : bits};
    case '8': return kn_scalar_load(d, &bits, 0);
    case 'c': {
        double re = value(s, kn_part_dtype(d)).f, im = value(s, kn_part_dtype(d)).f;
        return (kn_scalar){.c = {re, im}};
    }
    default: return (kn_scalar){.b = bits & 1};
    }
}

/* Edge value k, or one that leaves sums finite. */
static kn_scalar some_edge(const kn_sample *s, kiln_dtype d, int k)
{
    static const int harmless[] = {0, 1, 5, 6, 7, 10, 11, 12, 15};
    if (s->tame && kiln_dtype_kind(d) == 'c') {
        kiln_dtype part = kn_part_dtype(d);
        return (kn_scalar){.c = {some_edge(s, part, k).f, some_edge(s, part, k / 2 + 3).f}};
    }
    return edge(d, s->tame && kiln_dtype_kind(d) == 'f' ? harmless[k % (int)(sizeof harmless / sizeof *harmless)] : k);
}

static void fill(kn_sample *s, kiln_array *a)
{
    kiln_dtype d = a->type.dtype;
    int64_t n = kiln_type_size(a->type);
    for (int64_t k = 0; k < n; k++) kn_scalar_store(d, a->data, k, value(s, d));
    if (n == 0 || (n == 1 && kn_sample_below(s, 2))) return; /* a lone element is an edge value half of the time */
    for (int k = 0; k < N_EDGES / 2; k++) { /* draws in an order of our own: compilers differ in that of arguments */
        kn_scalar v = some_edge(s, d, (int)kn_sample_below(s, N_EDGES));
        kn_scalar_store(d, a->data, kn_sample_below(s, n), v);
    }
    if (n < 2 * N_EDGES) return;
    int64_t at = kn_sample_below(s, n - N_EDGES); /* where there is room, all of them */
    for (int k = 0; k < N_EDGES; k++) kn_scalar_store(d, a->data, at + k, some_edge(s, d, k));
}

static kiln_status new_input(kn_sample *s, kiln_type type, kiln_array **a, kn_atom *out)
{
    if (s->nin == KN_SAMPLE_INPUTS) return kn_fail(s->ctx, KILN_INTERNAL, "a sample has at most %d inputs", KN_SAMPLE_INPUTS);
    KILN_TRY(kn_build_input(&s->b, type, out));
    KILN_TRY(kiln_array_create(s->ctx, type, a));
    s->in[s->nin++] = *a;
    return KILN_OK;
}

kiln_status kn_sample_input(kn_sample *s, kiln_type type, kn_atom *out)
{
    kiln_array *a;
    KILN_TRY(new_input(s, type, &a, out));
    fill(s, a);
    return KILN_OK;
}

kiln_status kn_sample_index(kn_sample *s, kiln_dtype d, int64_t lo, int64_t hi, kn_atom *out)
{
    kiln_array *a;
    KILN_TRY(new_input(s, KILN_SCALAR(d), &a, out));
    kn_scalar v = {.i = kn_sample_between(s, lo, hi)};
    if (kn_sample_below(s, 8) == 0) v = edge(d, (int)kn_sample_below(s, N_EDGES));
    kn_scalar_store(d, a->data, 0, v);
    return KILN_OK;
}

kiln_status kn_sample_emit(kn_sample *s, const kn_param *params, const kn_atom *in, uint32_t nin, uint32_t nout)
{
    kn_atom *y = KN_NEWN(&s->b.prog->arena, kn_atom, nout);
    KILN_TRY_MEM(s->ctx, y);
    KILN_TRY(kn_build_eqn(&s->b, s->prim, params, in, nin, y, nout));
    for (uint32_t i = 0; i < nout; i++) KILN_TRY_MEM(s->ctx, kn_push(&s->b.prog->arena, &s->out, y[i]));
    return KILN_OK;
}

kiln_status kn_sample_program(kiln_ctx *ctx, const kn_prim *prim, const kn_sample_opts *opts, kiln_prog **prog,
                              kiln_array *in[KN_SAMPLE_INPUTS], uint32_t *nin)
{
    *prog = NULL;
    *nin = 0;
    if (!prim->sample) return kn_fail(ctx, KILN_UNSUPPORTED, "%s has no sample rule", prim->name);
    kn_sample s = {.ctx = ctx, .prim = prim, .state = opts->seed, .length = opts->length, .dtypes = opts->dtypes};
    for (const char *c = prim->name; *c; c++) s.state = s.state * 31 + (unsigned char)*c;
    s.state = s.state * 31 + (uint64_t)opts->length; /* other programs at other lengths */
    if (!s.dtypes) s.dtypes = 1u << KILN_F32 | 1u << KILN_F64 | 1u << KILN_I32 | 1u << KILN_I64 | 1u << KILN_BOOL;
    kn_prog *p;
    KILN_TRY(kn_prog_new(ctx, NULL, &p));
    kn_build_init(&s.b, ctx, p);
    kiln_status status = prim->sample(&s);
    if (status == KILN_OK) status = kn_build_finish(&s.b, s.out.v, s.out.n, &p->main);
    if (status != KILN_OK) {
        for (uint32_t i = 0; i < s.nin; i++) kiln_array_release(s.in[i]);
        kiln_prog_release(p);
        return status;
    }
    for (uint32_t i = 0; i < s.nin; i++) in[i] = s.in[i];
    *nin = s.nin;
    *prog = p;
    return KILN_OK;
}
