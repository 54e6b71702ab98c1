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
/* Lines of so many numbers, or fewer than FEW of them, whose numbers follow each other are not transformed side by side; small transforms go
 * through a dimension together, as many as have GROUP numbers. */
enum { LONG_LINE = 1 << 13, FEW_LINES = 3, GROUP = 1 << 16 };

typedef struct fft {
    int64_t type, lengths[MOST_DIMS], batch, total, per_in, per_out; /* numbers of one transform: in full, given, made */
    int64_t dims[MOST_DIMS], spectrum; /* of the spectrum, half of it for real numbers, and their product */
    int64_t together, lanes[MOST_DIMS]; /* transforms that go through a dimension at a time; lines side by side */
    uint32_t n;
    kiln_dtype part;
    const kn_fft *plan[MOST_DIMS]; /* NULL: nothing to do along the dimension */
    const kn_real_fft *real;       /* along the last one */
    kn_fft_transfers transfers;
    size_t between;            /* bytes that the workspace begins with: spectra, where they do not fit into the result */
    size_t line_im, room, own; /* behind it, of each thread: where they stand behind the first line, bytes of all */
} fft;

/* Where a thread works. */
typedef struct place {
    double *line_re, *line_im; /* lines side by side */
    double *room;
} place;

/* Numbers of an array from `first` on. */
typedef struct stretch {
    const kn_parts *a;
    int64_t first;
} stretch;

/* Lines side by side: where they begin, how far apart their numbers are. */
typedef struct lines {
    int64_t at[KN_FFT_LANES], n, lanes, step, length;
} lines;

/* All lines along a dimension. */
typedef struct pass {
    const fft *s;
    const kn_crew *crew;
    uint32_t d;
    int64_t all;
    stretch from, to;
    double scale;
} pass;

static bool is_real(int64_t type) { return type == RFFT || type == IRFFT; }

/* Lines k, k + 1, .. of a pass, in an array of these dimensions. */
static lines lines_of(const pass *p, const int64_t *dims, int64_t k)
{
    int64_t lanes = p->s->lanes[p->d];
    lines v = {.n = p->all - k < lanes ? p->all - k : lanes, .lanes = lanes, .step = 1, .length = dims[p->d]};
    for (uint32_t i = p->d + 1; i < p->s->n; i++) v.step *= dims[i];
    for (int64_t l = 0; l < v.n; l++) v.at[l] = (k + l) / v.step * v.step * v.length + (k + l) % v.step;
    return v;
}

/* ---- lines and arrays ---- */

/* Numbers first + at[l] of an array. `parts` of a number follow each other; 1 for packed reals, which come in pairs. */
static kn_fft_lines lines_at(stretch s, const lines *v, int64_t parts)
{
    kn_fft_lines x = {.n = v->n, .lanes = v->lanes, .step = v->step, .wide = s.a->dtype == KILN_F64};
    size_t bytes = x.wide ? sizeof(double) : sizeof(float);
    x.together = parts == 2 && v->n == KN_FFT_LANES && v->at[KN_FFT_LANES - 1] - v->at[0] == KN_FFT_LANES - 1;
    for (int64_t l = 0; l < v->lanes; l++) x.line[l] = (char *)s.a->data + (size_t)(parts * (s.first + v->at[l < v->n ? l : 0])) * bytes;
    return x;
}

static void gather(const fft *s, stretch from, const lines *v, int64_t parts, int64_t count, double *re, double *im)
{
    kn_fft_lines x = lines_at(from, v, parts);
    s->transfers.gather(&x, count, re, im);
}

static void spread(const fft *s, stretch to, const lines *v, int64_t parts, int64_t count, double scale, const double *re, const double *im)
{
    kn_fft_lines y = lines_at(to, v, parts);
    s->transfers.spread(&y, count, scale, re, im);
}

/* Lines of real numbers, packed in pairs where the length is even. */
static void gather_real(const fft *s, stretch from, const lines *v, double *re, double *im)
{
    if (kn_real_fft_packed(v->length)) {
        gather(s, from, v, 1, v->length / 2, re, im);
        return;
    }
    double none;
    memset(re, 0, (size_t)(v->length * v->lanes) * sizeof *re);
    memset(im, 0, (size_t)(v->length * v->lanes) * sizeof *im);
    for (int64_t l = 0; l < v->n; l++)
        for (int64_t i = 0; i < v->length; i++) kn_parts_load(from.a, from.first + v->at[l] + i, &re[i * v->lanes + l], &none);
}

static void spread_real(const fft *s, stretch to, const lines *v, double scale, const double *re, const double *im)
{
    if (kn_real_fft_packed(v->length)) {
        spread(s, to, v, 1, v->length / 2, scale, re, im);
        return;
    }
    for (int64_t l = 0; l < v->n; l++)
        for (int64_t i = 0; i < v->length; i++) kn_parts_store(to.a, to.first + v->at[l] + i, re[i * v->lanes + l] / scale, 0);
}

/* ---- transforms along one dimension ---- */

static void along(const pass *p, const place *at, int64_t k)
{
    const fft *s = p->s;
    lines v = lines_of(p, s->dims, k);
    gather(s, p->from, &v, 2, v.length, at->line_re, at->line_im);
    if (s->plan[p->d]) kn_fft_run(s->plan[p->d], at->line_re, at->line_im, v.lanes, at->room);
    spread(s, p->to, &v, 2, v.length, p->scale, at->line_re, at->line_im);
}

/* Real numbers along the last dimension to the spectrum, or the other way. */
static void along_real(const pass *p, const place *at, int64_t k)
{
    const fft *s = p->s;
    lines half = lines_of(p, s->dims, k), whole = lines_of(p, s->lengths, k);
    if (s->type == IRFFT) gather(s, p->from, &half, 2, half.length, at->line_re, at->line_im);
    else gather_real(s, p->from, &whole, at->line_re, at->line_im);
    kn_real_fft_run(s->real, at->line_re, at->line_im, half.lanes, at->room);
    if (s->type == RFFT) spread(s, p->to, &half, 2, half.length, p->scale, at->line_re, at->line_im);
    else spread_real(s, p->to, &whole, p->scale, at->line_re, at->line_im);
}

static bool real_along(const fft *s, uint32_t d) { return is_real(s->type) && d + 1 == s->n; }

/* Groups lo..hi of lines side by side. */
static void some_lines(void *const *frame, int64_t lo, int64_t hi, int64_t part)
{
    const pass *p = frame[0];
    const fft *s = p->s;
    char *own = p->crew->own + (size_t)part * p->crew->apart;
    place at = {(double *)(void *)own, (double *)(void *)(own + s->line_im), (double *)(void *)(own + s->room)};
    for (int64_t k = lo * s->lanes[p->d]; k < p->all && k < hi * s->lanes[p->d]; k += s->lanes[p->d]) {
        if (real_along(s, p->d)) along_real(p, &at, k);
        else along(p, &at, k);
    }
}

/* Of `count` transforms along dimension d: groups of lines, and what one of them costs. */
static int64_t groups_of(const fft *s, uint32_t d, int64_t count)
{
    return (count * (s->spectrum / s->dims[d]) + s->lanes[d] - 1) / s->lanes[d];
}

static int64_t group_cost(const fft *s, uint32_t d)
{
    const double move = 4; /* a number, to a line and back */
    double line = real_along(s, d) ? kn_real_fft_cost(s->lengths[d]) : kn_fft_cost(s->lengths[d]);
    return (int64_t)((line + move * (double)s->dims[d]) * (double)s->lanes[d]) + 1;
}

/* No dimension: of one number, itself. */
static void copy(stretch from, stretch to, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        double re, im = 0;
        kn_parts_load(from.a, from.first + k, &re, &im);
        kn_parts_store(to.a, to.first + k, re, im);
    }
}

/* `count` transforms, a dimension at a time: reals first on the way there, last on the way back. */
static void some(const fft *s, const kn_crew *crew, int64_t count, stretch from, stretch between, stretch to)
{
    double scale = s->type == IFFT || s->type == IRFFT ? (double)s->total : 1;
    if (s->n == 0) copy(from, to, count);
    for (uint32_t k = 0; k < s->n; k++) {
        bool last = k + 1 == s->n;
        uint32_t d = s->type == IRFFT ? (last ? s->n - 1 : s->n - 2 - k) : s->n - 1 - k;
        pass p = {s, crew, d, count * (s->spectrum / s->dims[d]), from, last ? to : between, last ? scale : 1};
        kn_crew_run(crew, some_lines, (void *[]){&p}, 0, groups_of(s, d, count), group_cost(s, d));
        from = between;
    }
}

static void run_shared_fft(const void *self, void *const *arrays, void *work, const kn_crew *crew)
{
    const fft *s = self;
    kn_parts y = {s->part, s->type != IRFFT, arrays[0]}, x = {s->part, s->type != RFFT, arrays[1]}, spectra = {KILN_F64, true, work};
    for (int64_t b = 0; b < s->batch; b += s->together) {
        stretch from = {&x, b * s->per_in}, to = {&y, b * s->per_out};
        some(s, crew, s->batch - b < s->together ? s->batch - b : s->together, from, s->between ? (stretch){&spectra, 0} : to, to);
    }
}

static void run_fft(const void *self, void *const *arrays, void *work)
{
    run_shared_fft(self, arrays, work, &(kn_crew){.own = (char *)work + ((const fft *)self)->between});
}

/* Lines side by side: one of its own has the bits that it has among others. */
static int64_t lanes_of(const fft *s, uint32_t d)
{
    int64_t n = s->together * (s->spectrum / s->dims[d]);
    bool in_a_row = d + 1 == s->n; /* their numbers */
    return n == 1 || (in_a_row && (n < FEW_LINES || s->dims[d] >= LONG_LINE)) ? 1 : KN_FFT_LANES;
}

/* A thread's own workspace. */
static bool place_lines(fft *s)
{
    int64_t longest = 1, most = 1;
    for (uint32_t d = 0; d < s->n; d++) {
        int64_t length = s->lengths[d] + 1; /* a half spectrum of 2 numbers has as many */
        int64_t room = real_along(s, d) ? kn_real_fft_room(s->lengths[d]) : kn_fft_room(s->lengths[d]);
        s->lanes[d] = lanes_of(s, d);
        if (length * s->lanes[d] > longest) longest = length * s->lanes[d];
        if (room * s->lanes[d] > most) most = room * s->lanes[d];
    }
    size_t first;
    return kn_call_room(&s->own, longest, sizeof(double), &first) && kn_call_room(&s->own, longest, sizeof(double), &s->line_im) &&
           kn_call_room(&s->own, most, sizeof(double), &s->room);
}

/* Fills sizes and places of the workspace; false where the call does not fit. */
static bool read_fft(const kn_call *c, fft *s)
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
    if (outs == 0) s->batch = 0;
    if (s->batch == 0) return true;
    s->together = n > 1 ? GROUP / s->spectrum : s->batch;
    if (s->together < 1) s->together = 1;
    if (s->together > s->batch) s->together = s->batch;
    size_t first;
    bool in_result = n <= 1 || (s->part == KILN_F64 && s->type != IRFFT);
    return (in_result || kn_call_room(&s->between, s->together * s->spectrum, 2 * sizeof(double), &first)) && place_lines(s);
}

static kiln_status bind_fft(kiln_ctx *ctx, kn_arena *arena, const kn_call *c, const void **self, size_t *work_bytes)
{
    fft s;
    KN_CALL_CHECK(ctx, c, c->nout == 1 && c->nin == 1 && read_fft(c, &s) && kn_add_size(s.between, s.own, work_bytes));
    if (!arena) return KILN_OK;
    fft *own = kn_arena_copy(arena, &s, sizeof s);
    KILN_TRY_MEM(ctx, own);
    *self = own;
    int sign = s.type == FFT || s.type == RFFT ? -1 : 1;
    own->transfers = kn_fft_transfers_here();
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

static void share_fft(const kn_call *c, kn_call_share *out)
{
    fft s;
    *out = (kn_call_share){0};
    if (!read_fft(c, &s) || s.batch == 0) return;
    *out = (kn_call_share){.work_bytes = s.between, .own_bytes = s.own};
    for (uint32_t d = 0; d < s.n; d++) {
        int64_t groups = groups_of(&s, d, s.together);
        double cost = groups > 1 ? (double)groups * (double)group_cost(&s, d) : 0;
        if (cost > out->cost) out->cost = cost;
    }
}

extern const kn_routine kn_routine_fft;
const kn_routine kn_routine_fft = {"fft", bind_fft, run_fft, share_fft, run_shared_fft};

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
