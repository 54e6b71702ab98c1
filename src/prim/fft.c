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
    uint32_t n;
    kiln_dtype part;
    const kn_fft *plan[MOST_DIMS]; /* NULL: length 1 */
    size_t half, line, room; /* in the workspace, which begins with the full spectrum */
} fft;

/* Transforms along dimension d of n-dimensional data. */
static void along(const fft *s, kn_complex *x, uint32_t d, kn_complex *line, kn_complex *room)
{
    int64_t length = s->lengths[d], step = 1;
    for (uint32_t i = d + 1; i < s->n; i++) step *= s->lengths[i];
    if (!s->plan[d]) return;
    for (int64_t k = 0; k < s->total / length; k++) {
        kn_complex *at = x + k / step * step * length + k % step;
        for (int64_t i = 0; i < length; i++) line[i] = at[i * step];
        kn_fft_run(s->plan[d], line, room);
        for (int64_t i = 0; i < length; i++) at[i * step] = line[i];
    }
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

/* Transform number b. */
static void one(const fft *s, const kn_parts *x, const kn_parts *y, int64_t b, char *work)
{
    kn_complex *full = (kn_complex *)(void *)work, *half = (kn_complex *)(void *)(work + s->half), *first = s->type == IRFFT ? half : full;
    for (int64_t k = 0; k < s->per_in; k++) kn_parts_load(x, b * s->per_in + k, &first[k].re, &first[k].im);
    if (s->type == IRFFT) mirror(full, half, s->lengths, s->n);
    for (uint32_t d = 0; d < s->n; d++) along(s, full, d, (kn_complex *)(void *)(work + s->line), (kn_complex *)(void *)(work + s->room));
    double scale = s->type == IFFT || s->type == IRFFT ? (double)s->total : 1;
    int64_t last = s->n ? s->lengths[s->n - 1] : 1, kept = s->type == RFFT ? last / 2 + 1 : last, to = b * s->per_out;
    for (int64_t k = 0; k < s->total; k++)
        if (k % last < kept) kn_parts_store(y, to++, full[k].re / scale, full[k].im / scale);
}

static void run_fft(const void *self, void *const *arrays, void *work)
{
    const fft *s = self;
    kn_parts y = {s->part, s->type != IRFFT, arrays[0]}, x = {s->part, s->type != RFFT, arrays[1]};
    for (int64_t b = 0; b < s->batch; b++) one(s, &x, &y, b, work);
}

/* Fills sizes and places of the workspace; false where the call does not fit. */
static bool read_fft(const kn_call *c, fft *s, size_t *work_bytes)
{
    uint32_t n = c->n_ints >= 3 ? c->n_ints - 3 : MOST_DIMS + 1;
    if (n > MOST_DIMS || c->ints[1] != (int64_t)n || c->ints[0] < FFT || c->ints[0] > IRFFT) return false;
    *s = (fft){.type = c->ints[0], .n = n, .batch = c->ints[2 + n], .part = c->arrays[0].dtype};
    memcpy(s->lengths, c->ints + 2, n * sizeof *s->lengths);
    if (s->part != KILN_F32 && s->part != KILN_F64) return false;
    int64_t last = n ? s->lengths[n - 1] : 1, lines = kn_call_product(s->lengths, n ? n - 1 : 0), half;
    s->total = kn_call_product(s->lengths, n);
    if (s->total < 0 || s->total > INT64_MAX / 256 || lines < 0) return false;
    half = last > 0 ? lines * (last / 2 + 1) : 0;
    s->per_in = s->type == IRFFT ? half : s->total;
    s->per_out = s->type == RFFT ? half : s->total;
    int64_t ins = kn_call_product((int64_t[]){s->batch, s->per_in}, 2), outs = kn_call_product((int64_t[]){s->batch, s->per_out}, 2);
    if (ins < 0 || outs < 0 || !kn_parts_fit(c, 0, s->part, s->type != IRFFT, outs) || !kn_parts_fit(c, 1, s->part, s->type != RFFT, ins)) return false;
    *work_bytes = 0;
    if (outs == 0) s->batch = 0;
    if (s->batch == 0) return true;
    int64_t longest = 1, room = 1;
    for (uint32_t d = 0; d < n; d++) {
        int64_t r = kn_fft_room(s->lengths[d]);
        if (s->lengths[d] > longest) longest = s->lengths[d];
        if (r > room) room = r;
    }
    size_t full, w = sizeof(kn_complex);
    return kn_call_room(work_bytes, s->total, w, &full) && kn_call_room(work_bytes, s->type == IRFFT ? half : 0, w, &s->half) &&
           kn_call_room(work_bytes, longest, w, &s->line) && kn_call_room(work_bytes, room, w, &s->room);
}

static kiln_status bind_fft(kiln_ctx *ctx, kn_arena *arena, const kn_call *c, const void **self, size_t *work_bytes)
{
    fft s;
    KN_CALL_CHECK(ctx, c, c->nout == 1 && c->nin == 1 && read_fft(c, &s, work_bytes));
    if (!arena) return KILN_OK;
    fft *own = kn_arena_copy(arena, &s, sizeof s);
    KILN_TRY_MEM(ctx, own);
    *self = own;
    for (uint32_t d = 0; d < s.n && s.batch > 0; d++) {
        for (uint32_t k = 0; k < d; k++)
            if (s.lengths[k] == s.lengths[d]) own->plan[d] = own->plan[k];
        if (!own->plan[d] && s.lengths[d] > 1)
            KILN_TRY(kn_fft_new(ctx, arena, s.lengths[d], s.type == FFT || s.type == RFFT ? -1 : 1, &own->plan[d]));
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
