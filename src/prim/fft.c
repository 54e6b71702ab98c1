/* SPDX-License-Identifier: Apache-2.0 */
/* fft: transforms over the last dimensions. Computed in double, rounded once. */
#include "rt/fft.h"
#include "prim/derive.h"
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/sample.h"

enum { FFT_LENGTHS, FFT_TYPE };
enum { FFT, IFFT, RFFT, IRFFT };
static const kn_param_spec fft_params[] = {{"fft_lengths", KN_P_INTS, 0}, {"fft_type", KN_P_NONE, 0}};

static bool type_of(const kn_param *p, int64_t *type)
{
    static const char *const names[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
    if (p->kind == KN_P_INT && p->i >= 0 && p->i < 4) {
        *type = p->i;
        return true;
    }
    if (p->kind != KN_P_TEXT) return false;
    const char *dot = strrchr(p->text, '.');
    for (*type = 0; *type < 4; ++*type)
        if (strcmp(dot ? dot + 1 : p->text, names[*type]) == 0) return true;
    return false;
}

static kiln_status type_fft(kn_typing *t)
{
    const int64_t *lengths;
    int64_t *dims, type;
    uint32_t n;
    kiln_type x = t->in[0];
    if (!type_of(&t->params[FFT_TYPE], &type)) return kn_fail(t->ctx, KILN_INVALID, "fft: fft_type must be 0 (FFT), 1 (IFFT), 2 (RFFT) or 3 (IRFFT)");
    KILN_TRY(kn_typing_ints(t, FFT_LENGTHS, &lengths, &n));
    bool real = type == RFFT, wide = x.dtype == KILN_F64 || x.dtype == KILN_C128;
    if (real ? x.dtype != KILN_F32 && x.dtype != KILN_F64 : x.dtype != KILN_C64 && x.dtype != KILN_C128)
        return kn_fail(t->ctx, KILN_DTYPE, "fft: the operand is %s; accepted: %s", kn_type_show(x).s, real ? "f32, f64 for RFFT" : "c64, c128");
    if (n > x.rank || n > 3) return kn_fail(t->ctx, KILN_SHAPE, "fft over %u dimensions of %s; accepted: at most 3", n, kn_type_show(x).s);
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_shape(t, 0, type == IRFFT ? wide ? KILN_F64 : KILN_F32 : wide ? KILN_C128 : KILN_C64, x.rank, &dims));
    for (uint32_t d = 0; d < x.rank; d++) dims[d] = x.dims[d];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t d = x.rank - n + i;
        bool last = i + 1 == n;
        int64_t want = last && type == IRFFT ? (lengths[i] > 0 ? lengths[i] / 2 + 1 : 0) : lengths[i];
        if (lengths[i] < 0 || x.dims[d] != want)
            return kn_fail(t->ctx, KILN_SHAPE, "fft: length %lld does not fit dimension %u of %s", (long long)lengths[i], d, kn_type_show(x).s);
        if (last && type == RFFT) dims[d] = lengths[i] > 0 ? lengths[i] / 2 + 1 : 0;
        if (last && type == IRFFT) dims[d] = lengths[i];
    }
    return KILN_OK;
}

/* Transforms along dimension d of n-dimensional data (dims). */
static kiln_status along(kiln_ctx *ctx, kn_complex *x, const int64_t *dims, uint32_t n, uint32_t d, int sign)
{
    int64_t length = dims[d], step = 1, lines = 1;
    for (uint32_t i = 0; i < n; i++) {
        if (i > d) step *= dims[i];
        if (i != d) lines *= dims[i];
    }
    if (length <= 1) return KILN_OK;
    kn_fft *plan;
    size_t bytes = (size_t)length * sizeof *x;
    kn_complex *line = kn_new(&ctx->alloc, bytes);
    KILN_TRY_MEM(ctx, line);
    kiln_status s = kn_fft_new(ctx, length, sign, &plan);
    for (int64_t k = 0; s == KILN_OK && k < lines; k++) {
        kn_complex *at = x + k / step * step * length + k % step;
        for (int64_t i = 0; i < length; i++) line[i] = at[i * step];
        kn_fft_run(plan, line);
        for (int64_t i = 0; i < length; i++) at[i * step] = line[i];
    }
    if (s == KILN_OK) kn_fft_free(plan);
    kn_free(&ctx->alloc, line, bytes);
    return s;
}

/* The full spectrum of a real signal from its half: the rest is the conjugate at the negated index in all dimensions. */
static void mirror(kn_complex *full, const kn_complex *half, const int64_t *dims, uint32_t n)
{
    kiln_type t = {KILN_C128, n, dims};
    int64_t ix[KN_MAX_RANK] = {0}, total = kiln_type_size(t), last = n ? dims[n - 1] : 1, kept = last / 2 + 1;
    for (int64_t k = 0; k < total; k++, kn_next(t, ix)) {
        bool given = ix[n - 1] < kept;
        int64_t at = 0;
        for (uint32_t d = 0; d < n; d++) {
            int64_t i = given ? ix[d] : (dims[d] - ix[d]) % dims[d];
            at = at * (d + 1 == n ? kept : dims[d]) + i;
        }
        full[k] = half[at];
        if (!given) full[k].im = -full[k].im;
    }
}

/* One transform of the last n dimensions; x and y hold elements of the array's types. */
static kiln_status one(kiln_ctx *ctx, int64_t type, const int64_t *lengths, uint32_t n, const kiln_array *in, int64_t from, int64_t nin, kiln_array *out,
                       int64_t to, kn_complex *work, kn_complex *half)
{
    kiln_type full = {KILN_C128, n, lengths};
    int64_t total = kiln_type_size(full), last = n ? lengths[n - 1] : 1;
    kn_complex *first = type == IRFFT ? half : work;
    for (int64_t k = 0; k < nin; k++) {
        kn_scalar v = kn_scalar_load(in->type.dtype, in->data, from + k);
        first[k] = type == RFFT ? (kn_complex){v.f, 0} : (kn_complex){v.c[0], v.c[1]};
    }
    if (type == IRFFT) mirror(work, half, lengths, n);
    for (uint32_t d = 0; d < n; d++) KILN_TRY(along(ctx, work, lengths, n, d, type == FFT || type == RFFT ? -1 : 1));
    double scale = type == IFFT || type == IRFFT ? (double)total : 1;
    int64_t kept = type == RFFT ? last / 2 + 1 : last;
    for (int64_t k = 0; k < total; k++) {
        if (k % last >= kept) continue;
        kn_complex v = {work[k].re / scale, work[k].im / scale};
        kn_scalar s = type == IRFFT ? (kn_scalar){.f = v.re} : (kn_scalar){.c = {v.re, v.im}};
        kn_scalar_store(out->type.dtype, out->data, to + k / last * kept + k % last, s);
    }
    return KILN_OK;
}

static kiln_status eval_fft(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)j;
    int64_t type = 0;
    type_of(&e->params[FFT_TYPE], &type);
    const int64_t *lengths = kn_ints(&e->params[FFT_LENGTHS]);
    uint32_t n = e->params[FFT_LENGTHS].n;
    int64_t total = kiln_type_size((kiln_type){KILN_C128, n, lengths}), all = kiln_type_size(out[0]->type);
    if (all == 0 || total == 0) return KILN_OK;
    int64_t per_out = 1, per_in = 1;
    for (uint32_t i = 0; i < n; i++) {
        per_out *= out[0]->type.dims[out[0]->type.rank - n + i];
        per_in *= in[0]->type.dims[in[0]->type.rank - n + i];
    }
    size_t bytes = 2 * (size_t)(total > per_in ? total : per_in) * sizeof(kn_complex);
    kn_complex *work = kn_new(&ev->ctx->alloc, bytes);
    KILN_TRY_MEM(ev->ctx, work);
    kiln_status s = KILN_OK;
    for (int64_t b = 0; s == KILN_OK && b < all / per_out; b++)
        s = one(ev->ctx, type, lengths, n, in[0], b * per_in, per_in, out[0], b * per_out, work, work + bytes / sizeof *work / 2);
    kn_free(&ev->ctx->alloc, work, bytes);
    return s;
}

/* 1 for the frequencies that stand once in a spectrum of real numbers, 2 for those that stand for their mirror images too; of the
 * half spectrum's shape, of the real type. */
static kn_atom twice(kn_low *l, kiln_type half, int64_t length, kiln_dtype d)
{
    int64_t axis = (int64_t)half.rank - 1;
    kn_atom at = kn_low_op(l, &kn_prim_iota, (kn_param[]){KN_INT(axis), KN_DTYPE(KILN_I64), KN_INTS(half.rank, half.dims), KN_NONE}, NULL, 0);
    kn_atom once = kn_low2(l, &kn_prim_eq, at, kn_low_num(l, KILN_I64, 0));
    if (length % 2 == 0) once = kn_low2(l, &kn_prim_or, once, kn_low2(l, &kn_prim_eq, at, kn_low_num(l, KILN_I64, (double)(length / 2))));
    return kn_low_select(l, once, kn_low_num(l, d, 1), kn_low_num(l, d, 2));
}

/* FFT and IFFT are symmetric. RFFT: n irfft(conj(t)/m), IRFFT: conj(m/n rfft(t)), m as above. */
static kiln_status transpose_fft(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)x;
    kn_low l = {b, KILN_OK};
    int64_t type = 0, n = 1;
    type_of(&e->params[FFT_TYPE], &type);
    const int64_t *lengths = kn_ints(&e->params[FFT_LENGTHS]);
    uint32_t rank = e->params[FFT_LENGTHS].n;
    if (type == FFT || type == IFFT || rank == 0) return kn_build_eqn(b, e->prim, e->params, ct, 1, ct_in, 1);
    for (uint32_t i = 0; i < rank; i++) n *= lengths[i];
    kiln_type half = type == RFFT ? kn_out_type(j, e, 0) : kn_in_type(j, e, 0);
    kiln_dtype real = type == RFFT ? kn_in_type(j, e, 0).dtype : kn_out_type(j, e, 0).dtype;
    kn_atom mask = kn_low_convert(&l, twice(&l, half, lengths[rank - 1], real), half.dtype);
    kn_param params[2] = {e->params[FFT_LENGTHS], KN_INT(type == RFFT ? IRFFT : RFFT)};
    if (e->params[FFT_TYPE].kind == KN_P_TEXT) params[1] = KN_TEXT(type == RFFT ? "IRFFT" : "RFFT");
    if (type == RFFT) {
        kn_atom t = kn_low2(&l, &kn_prim_div, kn_low_op(&l, &kn_prim_conj, &KN_DTYPE(half.dtype), ct, 1), mask);
        ct_in[0] = kn_derive_times(&l, kn_low_op(&l, e->prim, params, &t, 1), (double)n);
    } else {
        kn_atom t = kn_low2(&l, &kn_prim_div, mask, kn_low_num(&l, half.dtype, (double)n));
        t = kn_low2(&l, &kn_prim_mul, t, kn_low_op(&l, e->prim, params, ct, 1));
        ct_in[0] = kn_low_op(&l, &kn_prim_conj, &KN_DTYPE(half.dtype), &t, 1);
    }
    return l.status;
}

KILN_PRIM(fft) = {
    .name = "fft",
    .nin = 1,
    .nout = 1,
    .flags = KN_EXPENSIVE,
    KN_PARAMS(fft_params),
    .loop = KN_LOOP_CALL,
    .type = type_fft,
    .eval = eval_fft,
    .jvp = kn_jvp_linear,
    .transpose = transpose_fft,
    .batch = kn_batch_full,
    .sample = kn_sample_fft,
    .doc = "Discrete Fourier transform over the last dimensions: forward, inverse (divided by the number of elements), of real numbers to "
           "the first half of their spectrum, and back.",
};
