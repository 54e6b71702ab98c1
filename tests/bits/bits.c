/* SPDX-License-Identifier: Apache-2.0 */
/* bits [OPTION...] PROGRAM...: every program at 1 and 2 threads, levels 0 and 2, fused and unfused, for each target that this processor
 * runs, against the interpreter, bit for bit. A PROGRAM is a file, whose inputs are in0.npy, in1.npy, .. beside it, those of a transform
 * case or else made up, FILE#WORD, the program after that transformation, or prim:NAME:LENGTH:SEED, a sample of a primitive; @FILE names
 * programs a line. Without a program: every primitive.
 *   --targets A,B     these targets
 *   --write FILE      notes a hash of what the interpreter gives of each program
 *   --keep DIR TARGET also compiles everything for TARGET into the cache DIR, whether this processor runs it or not
 *   --some            two of the eight forms, by turns
 *   --cache DIR       code that is kept there is not made again
 *   --read FILE DIR   on another processor: results against the hashes noted in FILE, code from the cache DIR alone; what the interpreter
 *                     gives is compared, too, where that took no longer than some milliseconds
 * Results of libraries whose bits belong to the machine (docs/numerics.md, 9) are compared on one machine only. For a target that rounds
 * products before it adds (docs/targets.md) programs with such products, or with functions, are compared with that target's own first
 * result; everything else is held to the interpreter's bits there, too. */
#include "array/size.h"
#include "base/cpu.h"
#include "eval/eval.h"
#include "ir/prim.h"
#include "kiln/kiln.h"
#include "lower/lower.h"
#include "prim/sample.h"
#include "run/stages.h"
#include "same.h"

#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum { MOST = 64, SECONDS = 20, ROWS = 37 }; /* ROWS: of programs for any number of them */
static const double quick_ms = 30; /* of the interpreter here: so quick that it is run emulated, too */

typedef struct note { /* a line of the file of hashes */
    char name[512];
    uint64_t hash;
    double ms; /* that the interpreter took */
    bool own;  /* bits belong to the machine */
} note;

static struct {
    const kn_target *targets[KN_N_TARGETS];
    unsigned n_targets;
    FILE *write;
    const char *keep_dir, *read_dir, *cache_dir;
    const kn_target *keep;
    note *notes;
    size_t n_notes;
    bool some;
    unsigned programs, compared, failures, skipped, own, apart;
} suite;

/* ---- programs and inputs ---- */

typedef struct subject {
    const char *name;
    kiln_prog *p;
    kiln_array *in[MOST];
    uint32_t nin, nout;
    bool own, apart; /* see above */
} subject;

static void fill(kiln_array *a)
{
    static const double edges[] = {0, -0.0, 1, -1, 0.5, 1e-310, -3e38, 65504};
    kiln_dtype d = a->type.dtype;
    for (int64_t i = 0, n = kiln_type_size(a->type); i < n; i++) {
        uint32_t k = ((uint32_t)i + 1) * 2654435761u >> 8;
        double x = n > 16 && i % 23 == 22 ? edges[i / 23 % 8] : (k % 4001) / 1000.0 - 2;
        kn_scalar s = {.f = x};
        switch (kiln_dtype_kind(d)) {
        case 'c': s = (kn_scalar){.c = {x, (k % 997) / 500.0 - 1}}; break;
        case 'b': s = (kn_scalar){.b = k % 3 == 0}; break;
        case 'i':
        case 'u': s = (kn_scalar){.i = k % 7}; break;
        default: break;
        }
        kn_scalar_store(d, a->data, i, s);
    }
}

/* A number of a transform case; what is no number there is an edge. */
static double number(const json_t *v)
{
    return json_is_number(v) ? json_number_value(v) : json_is_boolean(v) ? json_is_true(v) : 0.5;
}

/* FILE.json of FILE.jaxpr: its i-th input, where the type is this one and all of it is written out. */
static bool case_input(const json_t *inputs, uint32_t i, kiln_array *a)
{
    const json_t *data = json_object_get(json_array_get(inputs, i), "data");
    kiln_dtype d = a->type.dtype;
    int64_t n = kiln_type_size(a->type);
    if (!data || (int64_t)json_array_size(data) != n) return false;
    for (int64_t k = 0; k < n; k++) {
        const json_t *v = json_array_get(data, (size_t)k);
        char kind = kiln_dtype_kind(d);
        kn_scalar s = {.f = number(v)};
        if (kind == 'c') s = (kn_scalar){.c = {number(json_array_get(v, 0)), number(json_array_get(v, 1))}};
        else if (kind == 'b') s = (kn_scalar){.b = s.f != 0};
        else if (kind != 'f') s = (kn_scalar){.i = (int64_t)s.f};
        kn_scalar_store(d, a->data, k, s);
    }
    return true;
}

static json_t *case_of(const char *path)
{
    char file[4200];
    const char *end = strrchr(path, '.');
    snprintf(file, sizeof file, "%.*s.json", end ? (int)(end - path) : 0, path);
    return json_load_file(file, 0, NULL);
}

static kiln_status recorded_input(kiln_ctx *ctx, const char *path, uint32_t i, kiln_array **out)
{
    char file[4200];
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) : 0;
    snprintf(file, sizeof file, "%.*s/in%u.npy", folder, path, i);
    return access(file, R_OK) == 0 ? kiln_array_load(ctx, file, out) : KILN_NOTFOUND;
}

static kiln_status inputs_of(kiln_ctx *ctx, const char *path, const json_t *known, subject *s)
{
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < s->nin && status == KILN_OK; i++) {
        int64_t dims[KN_RANK_LIMIT];
        kiln_type t = kiln_prog_input_type(s->p, i);
        for (uint32_t d = 0; d < t.rank; d++) dims[d] = kn_size_at(t.dims[d], ROWS);
        t.dims = dims;
        status = recorded_input(ctx, path, i, &s->in[i]);
        if (status == KILN_OK && kiln_type_equal(s->in[i]->type, t)) continue;
        kiln_array_release(s->in[i]);
        s->in[i] = NULL;
        status = kiln_array_create(ctx, t, &s->in[i]);
        if (status == KILN_OK && !case_input(known, i, s->in[i])) fill(s->in[i]);
    }
    return status;
}

static kiln_status read_file(kiln_ctx *ctx, const char *name, subject *s)
{
    char path[4096];
    const char *word = strchr(name, '#');
    snprintf(path, sizeof path, "%.*s", word ? (int)(word - name) : (int)strlen(name), name);
    kiln_status status = kiln_prog_load(ctx, path, &s->p);
    if (status == KILN_OK && word) {
        kiln_prog *plain = s->p;
        s->p = NULL;
        status = kiln_prog_transform(ctx, plain, word + 1, NULL, 0, &s->p);
        kiln_prog_release(plain);
    }
    if (status != KILN_OK) return status;
    s->nin = kiln_prog_n_inputs(s->p);
    if (s->nin > MOST) return KILN_UNSUPPORTED;
    json_t *d = case_of(path);
    status = inputs_of(ctx, path, json_object_get(d, "inputs"), s);
    json_decref(d);
    return status;
}

/* prim:NAME:LENGTH:SEED; KILN_UNSUPPORTED, KILN_DTYPE: there is none. */
static kiln_status make_sample(kiln_ctx *ctx, const char *name, subject *s)
{
    char prim[128];
    kn_sample_opts o = {0};
    if (sscanf(name, "prim:%127[^:]:%" SCNd64 ":%" SCNu64, prim, &o.length, &o.seed) != 3) return KILN_INVALID;
    uint32_t n;
    const kn_prim *const *all = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(all[i]->name, prim) == 0)
            return all[i]->flags & KN_TRANSIENT ? KILN_UNSUPPORTED : kn_sample_program(ctx, all[i], &o, &s->p, s->in, &s->nin);
    return KILN_NOTFOUND;
}

static void look(void *ud, const kn_jaxpr *j)
{
    subject *s = ud;
    for (uint32_t i = 0; i < j->neqns; i++) {
        const kn_prim *p = j->eqns[i].prim;
        bool sorts = strstr(p->name, "sort") || strstr(p->name, "top_k");
        bool product = strcmp(p->name, "dot_general") == 0 || strcmp(p->name, "conv_general_dilated") == 0;
        bool function = *kn_sops[p->scalar_op].function || strcmp(p->name, "pow") == 0; /* whose operation depends on its operands' types */
        s->own = s->own || (p->loop == KN_LOOP_CALL && !sorts);
        s->apart = s->apart || product || function || p->scalar_op == KN_S_fma;
        kn_eqn_bodies(&j->eqns[i], look, s);
    }
}

static kiln_status subject_make(kiln_ctx *ctx, const char *name, subject *s)
{
    kiln_prog *lowered;
    *s = (subject){.name = name};
    kiln_status status = strncmp(name, "prim:", 5) == 0 ? make_sample(ctx, name, s) : read_file(ctx, name, s);
    if (status != KILN_OK) return status;
    s->nout = kiln_prog_n_outputs(s->p);
    if (s->nout > MOST) return KILN_UNSUPPORTED;
    status = kn_lower(ctx, s->p, &lowered);
    if (status != KILN_OK) return status;
    look(s, lowered->main);
    kiln_prog_release(lowered);
    return KILN_OK;
}

static void arrays_free(kiln_array **v, uint32_t n)
{
    for (uint32_t i = 0; i < n && i < MOST; i++) {
        kiln_array_release(v[i]);
        v[i] = NULL;
    }
}

static void subject_free(subject *s)
{
    arrays_free(s->in, s->nin);
    kiln_prog_release(s->p);
}

/* ---- results ---- */

/* Every NaN counts as one, everything else by its bits. */
static uint64_t hash_of(kiln_array *const *v, uint32_t n)
{
    uint64_t h = 0;
    for (uint32_t i = 0; i < n; i++) {
        kiln_dtype d = v[i]->type.dtype;
        size_t wide = kiln_dtype_bytes(d);
        char kind = kiln_dtype_kind(d);
        for (int64_t k = 0, size = kiln_type_size(v[i]->type); k < size; k++) {
            unsigned char bytes[16] = {0};
            memcpy(bytes, (const char *)v[i]->data + (size_t)k * wide, wide);
            kn_scalar x = kn_scalar_load(d, v[i]->data, k);
            if ((kind == 'f' || kind == '8') && x.f != x.f) memset(bytes, 0xff, wide);
            for (int part = 0; kind == 'c' && part < 2; part++)
                if (x.c[part] != x.c[part]) memset(bytes + (size_t)part * wide / 2, 0xff, wide / 2);
            h = XXH3_64bits_withSeed(bytes, wide, h);
        }
    }
    return h;
}

static bool same_all(kiln_array *const *a, kiln_array *const *b, uint32_t n, char *why, size_t room)
{
    for (uint32_t i = 0; i < n; i++) {
        int64_t at = 0;
        if (same_array(a[i], b[i], &at)) continue;
        snprintf(why, room, "result %u differs at element %" PRId64, i, at);
        return false;
    }
    return true;
}

/* ---- forms of code ---- */

typedef struct form {
    const kn_target *target;
    int tier;
    bool fused;
    unsigned threads;
} form;

enum { FORMS = 8 };
/* Is the i-th form of the program at hand left out? The first one of all, which others are compared with, never is. */
static bool left_out(int i) { return suite.some && i != 0 && i != 1 + (int)(suite.programs % (FORMS - 1)); }
static form form_of(const kn_target *t, int i) { return (form){t, i & 1 ? 2 : 0, (i & 2) == 0, i & 4 ? 2 : 1}; }

static kiln_compile_opts options_of(kiln_ctx *ctx, form f)
{
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    o.target = f.target->name;
    o.tier = f.tier;
    o.no_fusion = !f.fused;
    o.split_cost = f.threads == 2 ? 1 : 0; /* every loop that may be split is */
    ctx->threads = f.threads;
    return o;
}

static void complain(const subject *s, const form *f, const char *why)
{
    suite.failures++;
    if (f) printf("FAILED %s, %s, level %d, %s, %u threads: %s\n", s->name, f->target->name, f->tier, f->fused ? "fused" : "unfused", f->threads, why);
    else printf("FAILED %s: %s\n", s->name, why);
    fflush(stdout);
}

static bool run(kiln_ctx *ctx, const subject *s, form f, kiln_array **out, char *why, size_t room)
{
    kiln_compile_opts o = options_of(ctx, f);
    kiln_exec *e = NULL;
    kiln_exec_info info = {0};
    bool ok = kiln_compile(ctx, s->p, &o, &e) == KILN_OK && kiln_exec_call(ctx, e, s->in, out) == KILN_OK;
    if (!ok) snprintf(why, room, "%s", kiln_ctx_error(ctx)->message);
    if (ok) kiln_exec_info_get(e, &info);
    kiln_exec_release(e);
    return ok;
}

/* ---- on one machine ---- */

static bool too_long;
static void alarmed(int number)
{
    (void)number;
    too_long = true;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void compare_target(kiln_ctx *ctx, const subject *s, const kn_target *t, kiln_array *const *want)
{
    kiln_array *first[MOST] = {NULL};
    kiln_array *const *reference = want;
    bool apart = s->apart && t->fused != kn_cpu_fused();
    suite.apart += apart;
    for (int i = 0; i < FORMS; i++) {
        kiln_array *got[MOST] = {NULL};
        char why[600];
        form f = form_of(t, i);
        if (left_out(i)) continue;
        bool ok = run(ctx, s, f, got, why, sizeof why);
        if (ok && apart && i == 0) {
            memcpy(first, got, sizeof first);
            reference = first;
            continue;
        }
        suite.compared++;
        ok = ok && same_all(got, reference, s->nout, why, sizeof why);
        if (!ok) complain(s, &f, why);
        arrays_free(got, s->nout);
        if (!ok) break;
    }
    arrays_free(first, s->nout);
}

static void keep_code(kiln_ctx *ctx, const subject *s)
{
    for (int i = 0; i < FORMS; i++) {
        form f = form_of(suite.keep, i);
        if (left_out(i)) continue;
        kiln_compile_opts o = options_of(ctx, f);
        if (kiln_cache_warm(ctx, suite.keep_dir, (const kiln_prog *const[]){s->p}, 1, &o) == KILN_OK) continue;
        complain(s, &f, kiln_ctx_error(ctx)->message);
        break;
    }
    if (kiln_cache_enable(ctx, suite.cache_dir) != KILN_OK) suite.failures++;
}

static void check_here(kiln_ctx *ctx, const subject *s)
{
    kiln_array *want[MOST] = {NULL};
    too_long = false;
    alarm(SECONDS);
    double start = now_ms();
    kiln_status status = kn_prog_eval(ctx, s->p, s->in, want, &too_long);
    double ms = now_ms() - start;
    alarm(0);
    if (status == KILN_OK) {
        if (suite.write) fprintf(suite.write, "%016" PRIx64 " %.3f %d %s\n", hash_of(want, s->nout), ms, s->own, s->name);
        for (unsigned i = 0; i < suite.n_targets; i++) compare_target(ctx, s, suite.targets[i], want);
        if (suite.keep && !s->own) keep_code(ctx, s);
        arrays_free(want, s->nout);
    } else if (status == KILN_CANCELLED || status == KILN_UNSUPPORTED) {
        printf("skipped %s: %s\n", s->name, status == KILN_CANCELLED ? "takes too long" : kiln_ctx_error(ctx)->message);
        suite.skipped++;
    } else {
        complain(s, NULL, kiln_ctx_error(ctx)->message);
    }
}

/* ---- on another one ---- */

static const note *note_of(const char *name)
{
    for (size_t i = 0; i < suite.n_notes; i++)
        if (strcmp(suite.notes[i].name, name) == 0) return &suite.notes[i];
    return NULL;
}

static void check_there(kiln_ctx *ctx, const subject *s)
{
    const note *n = note_of(s->name);
    char why[600];
    suite.skipped += !n;
    suite.own += n && n->own;
    if (!n || n->own) return;
    for (int i = -1; i < FORMS; i++) {
        kiln_array *got[MOST] = {NULL};
        form f = form_of(suite.targets[0], i < 0 ? 0 : i);
        if (i < 0 ? n->ms > quick_ms : left_out(i)) continue;
        uint64_t misses = ctx->cache.counts.misses;
        bool ok = i < 0 ? kiln_prog_eval(ctx, s->p, s->in, got) == KILN_OK : run(ctx, s, f, got, why, sizeof why);
        if (!ok && i < 0) snprintf(why, sizeof why, "interpreted: %s", kiln_ctx_error(ctx)->message);
        suite.compared++;
        if (ok && hash_of(got, s->nout) != n->hash) {
            snprintf(why, sizeof why, i < 0 ? "interpreted, other results" : "other results");
            ok = false;
        }
        if (ok && ctx->cache.counts.misses != misses) {
            snprintf(why, sizeof why, "its code is not in the cache");
            ok = false;
        }
        if (!ok) complain(s, i < 0 ? NULL : &f, why);
        arrays_free(got, s->nout);
        if (!ok) break;
    }
}

/* ---- the suite ---- */

static void check(kiln_ctx *ctx, const char *name)
{
    subject s;
    kiln_status status = subject_make(ctx, name, &s);
    if (status == KILN_OK) {
        suite.programs++;
        if (suite.read_dir) check_there(ctx, &s);
        else check_here(ctx, &s);
    } else if ((status != KILN_UNSUPPORTED && status != KILN_DTYPE) || strncmp(name, "prim:", 5) != 0) {
        complain(&s, NULL, kiln_ctx_error(ctx)->message);
    }
    subject_free(&s);
}

static void every_primitive(kiln_ctx *ctx)
{
    static const int64_t lengths[] = {1, 9, 37};
    uint32_t n;
    char name[200];
    const kn_prim *const *all = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            snprintf(name, sizeof name, "prim:%s:%" PRId64 ":%d", all[i]->name, lengths[k], 7 * k + 1);
            check(ctx, name);
        }
}

static int from_list(kiln_ctx *ctx, const char *path)
{
    char line[4096];
    FILE *f = fopen(path, "r");
    if (!f) return fprintf(stderr, "cannot read %s\n", path), 2;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (*line) check(ctx, line);
    }
    fclose(f);
    return 0;
}

static int read_notes(const char *path)
{
    FILE *f = fopen(path, "r");
    note n;
    int own;
    if (!f) return fprintf(stderr, "cannot read %s\n", path), 2;
    while (fscanf(f, "%" SCNx64 " %lf %d %511[^\n]", &n.hash, &n.ms, &own, n.name) == 4) {
        note *more = realloc(suite.notes, (suite.n_notes + 1) * sizeof *more);
        if (!more) break;
        n.own = own != 0;
        suite.notes = more;
        suite.notes[suite.n_notes++] = n;
    }
    fclose(f);
    return 0;
}

static int pick_targets(char *names)
{
    suite.n_targets = 0;
    for (char *s = strtok(names, ","); s; s = strtok(NULL, ",")) {
        const kn_target *t = kn_target_find(s);
        if (!t) return fprintf(stderr, "no target '%s'\n", s), 2;
        if (!kn_cpu_runs(t)) printf("skipped: this processor, %s, runs no code for %s\n", kn_cpu_target(), s);
        else suite.targets[suite.n_targets++] = t;
    }
    return suite.n_targets ? 0 : 77;
}

static int options(int argc, char **argv, int *first)
{
    int i = 1, code = 0;
    suite.cache_dir = "none";
    for (int k = 0; k < KN_N_TARGETS; k++)
        if (kn_cpu_runs(&kn_targets[k])) suite.targets[suite.n_targets++] = &kn_targets[k];
    for (; i < argc && strncmp(argv[i], "--", 2) == 0 && code == 0; i++) {
        int left = argc - i - 1;
        if (strcmp(argv[i], "--targets") == 0 && left >= 1) code = pick_targets(argv[++i]);
        else if (strcmp(argv[i], "--write") == 0 && left >= 1) suite.write = fopen(argv[++i], "w");
        else if (strcmp(argv[i], "--keep") == 0 && left >= 2) {
            suite.keep_dir = argv[++i];
            suite.keep = kn_target_find(argv[++i]);
            if (!suite.keep) code = 2;
        } else if (strcmp(argv[i], "--some") == 0) {
            suite.some = true;
        } else if (strcmp(argv[i], "--cache") == 0 && left >= 1) {
            suite.cache_dir = argv[++i];
        } else if (strcmp(argv[i], "--read") == 0 && left >= 2) {
            code = read_notes(argv[++i]);
            suite.read_dir = suite.cache_dir = argv[++i];
        } else {
            fprintf(stderr, "what is %s?\n", argv[i]);
            code = 2;
        }
    }
    *first = i;
    return code;
}

int main(int argc, char **argv)
{
    int first, code = options(argc, argv, &first);
    kiln_ctx *ctx;
    if (code) return code;
    struct sigaction a = {.sa_handler = alarmed};
    sigaction(SIGALRM, &a, NULL);
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK || kiln_cache_enable(ctx, suite.cache_dir) != KILN_OK) return 3;
    if (first == argc) every_primitive(ctx);
    for (int i = first; i < argc && code == 0; i++) {
        if (argv[i][0] == '@') code = from_list(ctx, argv[i] + 1);
        else check(ctx, argv[i]);
    }
    kiln_ctx_release(ctx);
    if (suite.write && fclose(suite.write) != 0) suite.failures++;
    free(suite.notes);
    printf("%u programs, %u comparisons, %u failures, %u skipped, %u with bits of their machine, %u apart from the interpreter\n", suite.programs,
           suite.compared, suite.failures, suite.skipped, suite.own, suite.apart);
    return code ? code : suite.failures || !suite.compared ? 1 : 0;
}
