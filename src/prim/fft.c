/* SPDX-License-Identifier: Apache-2.0 */
/* fft: transforms over the last dimensions. Computed in double, rounded once. */
#include "rt/fft.h"
#include "prim/derive.h"
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/routine.h"
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

/* ---- the routine: type, dimensions, lengths.., batch ---- */

enum { MOST_DIMS = 3 };
typedef struct fft {
    int64_t type, lengths[MOST_DIMS], batch, total, per_in, per_out; /* numbers of one transform: in full, given, made */
    int64_t dims[MOST_DIMS], spectrum; /* of the spectrum, half of it for real numbers, and their product */
    uint32_t n;
    kiln_dtype part;
    const kn_fft *plan[MOST_DIMS]; /* NULL: nothing to do along the dimension */
    const kn_real_fft *real;       /* along the last one */
    size_t im, line, line_im, room; /* in the workspace, which begins with the real parts of the spectrum */
} fft;

/* Where a transform works. */
typedef struct place {
    double *re, *im;           /* the spectrum */
    double *line_re, *line_im; /* lines side by side */
    double *room;
} place;

static bool is_real(int64_t type) { return type == RFFT || type == IRFFT; }

static double number_at(const kn_parts *x, int64_t k) { return x->dtype == KILN_F64 ? ((const double *)(const void *)x->data)[k] : (double)((const float *)(const void *)x->data)[k]; }

static void set_number(const kn_parts *y, int64_t k, double v)
{
    if (y->dtype == KILN_F64) ((double *)(void *)y->data)[k] = v;
    else ((float *)(void *)y->data)[k] = (float)v;
}

/* Where lines k, k + 1, .. of dimension d begin in the spectrum; gives how many there are. */
static int64_t begins(const fft *s, uint32_t d, int64_t k, int64_t at[KN_FFT_LANES], int64_t *step)
{
    int64_t lines = s->spectrum / s->dims[d], n = lines - k < KN_FFT_LANES ? lines - k : KN_FFT_LANES;
    *step = 1;
    for (uint32_t i = d + 1; i < s->n; i++) *step *= s->dims[i];
    for (int64_t l = 0; l < n; l++) at[l] = (k + l) / *step * *step * s->dims[d] + (k + l) % *step;
    return n;
}

/* n lines of the spectrum side by side, those that are missing zero; and back. */
static void gather(const double *from, const int64_t *at, int64_t n, int64_t step, int64_t length, double *to)
{
    bool together = n == KN_FFT_LANES && at[n - 1] - at[0] == n - 1;
    for (int64_t i = 0; i < length; i++, to += KN_FFT_LANES) {
        if (together) {
            memcpy(to, from + at[0] + i * step, KN_FFT_LANES * sizeof *to);
            continue;
        }
        for (int64_t l = 0; l < n; l++) to[l] = from[at[l] + i * step];
        for (int64_t l = n; l < KN_FFT_LANES; l++) to[l] = 0;
    }
}

static void spread(const double *from, const int64_t *at, int64_t n, int64_t step, int64_t length, double *to)
{
    bool together = n == KN_FFT_LANES && at[n - 1] - at[0] == n - 1;
    for (int64_t i = 0; i < length; i++, from += KN_FFT_LANES) {
        if (together) memcpy(to + at[0] + i * step, from, KN_FFT_LANES * sizeof *to);
        else
            for (int64_t l = 0; l < n; l++) to[at[l] + i * step] = from[l];
    }
}

/* Complex transforms along dimension d of the spectrum. */
static void along(const fft *s, const place *p, uint32_t d)
{
    int64_t lines = s->spectrum / s->dims[d], at[KN_FFT_LANES], step;
    if (!s->plan[d]) return;
    if (lines == 1) {
        kn_fft_run(s->plan[d], p->re, p->im, 1, p->room);
        return;
    }
    for (int64_t k = 0, n; k < lines; k += n) {
        n = begins(s, d, k, at, &step);
        gather(p->re, at, n, step, s->dims[d], p->line_re);
        gather(p->im, at, n, step, s->dims[d], p->line_im);
        kn_fft_run(s->plan[d], p->line_re, p->line_im, KN_FFT_LANES, p->room);
        spread(p->line_re, at, n, step, s->dims[d], p->re);
        spread(p->line_im, at, n, step, s->dims[d], p->im);
    }
}

/* Real numbers along the last dimension to the spectrum, or from it; `first`: where the transform's numbers begin. */
static void along_real(const fft *s, const place *p, const kn_parts *x, int64_t first)
{
    uint32_t d = s->n - 1;
    int64_t length = s->lengths[d], kept = s->dims[d], lines = s->spectrum / kept, at[KN_FFT_LANES], step, lanes = lines > 1 ? KN_FFT_LANES : 1;
    bool packed = kn_real_fft_packed(length);
    double *re = p->line_re, *im = p->line_im;
    for (int64_t k = 0, n; k < lines; k += n) {
        n = begins(s, d, k, at, &step);
        if (s->type == RFFT) {
            memset(re, 0, (size_t)(lanes * length) * sizeof *re);
            memset(im, 0, (size_t)(lanes * length) * sizeof *im);
            for (int64_t i = 0; i < length; i++) {
                double *to = packed ? (i % 2 ? im : re) + i / 2 * lanes : re + i * lanes;
                for (int64_t l = 0; l < n; l++) to[l] = number_at(x, first + (k + l) * length + i);
            }
            kn_real_fft_run(s->real, re, im, lanes, p->room);
            for (int64_t i = 0; i < kept; i++)
                for (int64_t l = 0; l < n; l++) p->re[at[l] + i] = re[i * lanes + l], p->im[at[l] + i] = im[i * lanes + l];
            continue;
        }
        memset(re, 0, (size_t)(lanes * kept) * sizeof *re);
        memset(im, 0, (size_t)(lanes * kept) * sizeof *im);
        for (int64_t i = 0; i < kept; i++)
            for (int64_t l = 0; l < n; l++) re[i * lanes + l] = p->re[at[l] + i], im[i * lanes + l] = p->im[at[l] + i];
        kn_real_fft_run(s->real, re, im, lanes, p->room);
        for (int64_t i = 0; i < length; i++) {
            const double *from = packed ? (i % 2 ? im : re) + i / 2 * lanes : re + i * lanes;
            for (int64_t l = 0; l < n; l++) set_number(x, first + (k + l) * length + i, from[l] / (double)s->total);
        }
    }
}

/* Transform number b. */
static void one(const fft *s, const place *p, const kn_parts *x, const kn_parts *y, int64_t b)
{
    uint32_t complex = s->n - (is_real(s->type) && s->n);
    if (s->n == 0) { /* of one number: itself */
        for (int64_t k = 0; k < 1 + y->complex; k++) set_number(y, b * (1 + y->complex) + k, k && !x->complex ? 0 : number_at(x, b * (1 + x->complex) + k));
        return;
    }
    if (s->type == RFFT) along_real(s, p, x, b * s->per_in);
    else
        for (int64_t k = 0; k < s->per_in; k++) p->re[k] = number_at(x, 2 * (b * s->per_in + k)), p->im[k] = number_at(x, 2 * (b * s->per_in + k) + 1);
    for (uint32_t d = complex; d-- > 0;) along(s, p, d);
    if (s->type == IRFFT) {
        along_real(s, p, y, b * s->per_out);
        return;
    }
    double scale = s->type == IFFT ? (double)s->total : 1;
    for (int64_t k = 0; k < s->per_out; k++) {
        set_number(y, 2 * (b * s->per_out + k), p->re[k] / scale);
        set_number(y, 2 * (b * s->per_out + k) + 1, p->im[k] / scale);
    }
}

static double *at_byte(void *work, size_t at) { return (double *)(void *)((char *)work + at); }

static void run_fft(const void *self, void *const *arrays, void *work)
{
    const fft *s = self;
    kn_parts y = {s->part, s->type != IRFFT, arrays[0]}, x = {s->part, s->type != RFFT, arrays[1]};
    place p = {at_byte(work, 0), at_byte(work, s->im), at_byte(work, s->line), at_byte(work, s->line_im), at_byte(work, s->room)};
    for (int64_t b = 0; b < s->batch; b++) one(s, &p, &x, &y, b);
}

/* Fills sizes and places of the workspace; false where the call does not fit. */
static bool read_fft(const kn_call *c, fft *s, size_t *work_bytes)
{
    uint32_t n = c->n_ints >= 3 ? c->n_ints - 3 : MOST_DIMS + 1;
    if (n > MOST_DIMS || c->ints[1] != (int64_t)n || c->ints[0] < FFT || c->ints[0] > IRFFT) return false;
    *s = (fft){.type = c->ints[0], .n = n, .batch = c->ints[2 + n], .part = c->arrays[0].dtype};
    memcpy(s->lengths, c->ints + 2, n * sizeof *s->lengths);
    memcpy(s->dims, s->lengths, sizeof s->dims);
    if (s->part != KILN_F32 && s->part != KILN_F64) return false;
    int64_t last = n ? s->lengths[n - 1] : 1;
    s->total = kn_call_product(s->lengths, n);
    if (s->total < 0 || s->total > INT64_MAX / 256 || last < 0) return false;
    if (n && is_real(s->type)) s->dims[n - 1] = last > 0 ? last / 2 + 1 : 0;
    s->spectrum = kn_call_product(s->dims, n);
    if (s->spectrum < 0) return false;
    s->per_in = s->type == RFFT ? s->total : s->spectrum;
    s->per_out = s->type == IRFFT ? s->total : s->spectrum;
    int64_t ins = kn_call_product((int64_t[]){s->batch, s->per_in}, 2), outs = kn_call_product((int64_t[]){s->batch, s->per_out}, 2);
    if (ins < 0 || outs < 0 || !kn_parts_fit(c, 0, s->part, s->type != IRFFT, outs) || !kn_parts_fit(c, 1, s->part, s->type != RFFT, ins)) return false;
    *work_bytes = 0;
    if (outs == 0) s->batch = 0;
    if (s->batch == 0) return true;
    int64_t longest = 1, room = 1;
    for (uint32_t d = 0; d < n; d++) {
        bool real = is_real(s->type) && d + 1 == n;
        int64_t r = real ? kn_real_fft_room(s->lengths[d]) : kn_fft_room(s->lengths[d]);
        if (s->lengths[d] >= longest) longest = s->lengths[d] + 1; /* a half spectrum of 2 numbers has as many */
        if (r > room) room = r;
    }
    size_t re, w = sizeof(double), lanes = KN_FFT_LANES * w;
    return kn_call_room(work_bytes, s->spectrum, w, &re) && kn_call_room(work_bytes, s->spectrum, w, &s->im) && kn_call_room(work_bytes, longest, lanes, &s->line) &&
           kn_call_room(work_bytes, longest, lanes, &s->line_im) && kn_call_room(work_bytes, room, lanes, &s->room);
}

static kiln_status bind_fft(kiln_ctx *ctx, kn_arena *arena, const kn_call *c, const void **self, size_t *work_bytes)
{
    fft s;
    KN_CALL_CHECK(ctx, c, c->nout == 1 && c->nin == 1 && read_fft(c, &s, work_bytes));
    if (!arena) return KILN_OK;
    fft *own = kn_arena_copy(arena, &s, sizeof s);
    KILN_TRY_MEM(ctx, own);
    *self = own;
    int sign = s.type == FFT || s.type == RFFT ? -1 : 1;
    for (uint32_t d = 0; d < s.n && s.batch > 0; d++) {
        if (is_real(s.type) && d + 1 == s.n) {
            KILN_TRY(kn_real_fft_new(ctx, arena, s.lengths[d], sign, &own->real));
            continue;
        }
        for (uint32_t k = 0; k < d; k++)
            if (s.lengths[k] == s.lengths[d]) own->plan[d] = own->plan[k];
        if (!own->plan[d] && s.lengths[d] > 1) KILN_TRY(kn_fft_new(ctx, arena, s.lengths[d], sign, &own->plan[d]));
    }
    return KILN_OK;
}

extern const kn_routine kn_routine_fft;
const kn_routine kn_routine_fft = {"fft", bind_fft, run_fft};

static kiln_status call_fft(kiln_ctx *ctx, kn_arena *arena, const kn_jaxpr *j, const kn_eqn *e, kn_call *c)
{
    kiln_type x = kn_in_type(j, e, 0);
    int64_t ints[3 + MOST_DIMS];
    uint32_t n = e->params[FFT_LENGTHS].n;
    c->routine = &kn_routine_fft;
    type_of(&e->params[FFT_TYPE], &ints[0]);
    ints[1] = n;
    if (n) memcpy(ints + 2, kn_ints(&e->params[FFT_LENGTHS]), n * sizeof *ints);
    ints[2 + n] = kiln_type_size((kiln_type){KILN_BOOL, x.rank - n, x.dims});
    return kn_call_ints(ctx, arena, c, ints, 3 + n);
}

/* 1 for the frequencies that stand once in a spectrum of real numbers, 2 for those that stand for their mirror images too; of the
 * half spectrum's shape, of the real type. */
static kn_atom twice(kn_low *l, kiln_type half, int64_t length, kiln_dtype d)
{
    kn_atom at = kn_low_iota(l, (kiln_type){KILN_I64, half.rank, half.dims}, half.rank - 1);
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
    .jvp = kn_jvp_linear,
    .transpose = transpose_fft,
    .eval = kn_eval_call,
    .call = call_fft,
    .batch = kn_batch_full,
    .sample = kn_sample_fft,
    .doc = "Discrete Fourier transform over the last dimensions: forward, inverse (divided by the number of elements), of real numbers to "
           "the first half of their spectrum, and back.",
};
