/* SPDX-License-Identifier: Apache-2.0 */
/* The persistent cache: which folder, hits and misses with the same bits, whatever happens to the files, many at once. */
#include "kiln/kiln.h"
#include "samples.h"
#include "same.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>

/* ---- programs ---- */

static kiln_val below(kiln_trace *t, void *user, const kiln_val *carry) { return kiln_lt(t, carry[0], *(kiln_val *)user); }
static void step(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    (void)user;
    next[0] = kiln_add(t, carry[0], kiln_int(t, KILN_I64, 1));
    next[1] = kiln_add(t, kiln_sin(t, carry[1]), kiln_num(t, 0.25));
}

/* A loop over a vector with a function of the table; differs with `variant`. */
static kiln_prog *trace(kiln_ctx *ctx, int variant)
{
    kiln_trace *t;
    kiln_prog *p = NULL;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val n = kiln_input(t, "n", KILN_SCALAR(KILN_I64)), out[2];
    kiln_val init[2] = {kiln_int(t, KILN_I64, 0), kiln_add(t, kiln_input(t, "x", KILN_VECTOR(KILN_F64, 200)), kiln_num(t, variant))};
    kiln_while(t, below, step, &n, init, 2, out);
    kiln_output(t, "x", out[1]);
    assert_ok(ctx, kiln_trace_finish(t, &p));
    return p;
}

typedef struct work {
    kiln_prog *p;
    kiln_array *in[2], *want;
} work;

static kiln_array *array_of(kiln_ctx *ctx, kiln_type type, const void *data)
{
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, type, &a));
    memcpy(kiln_array_data(a), data, kiln_array_bytes(a));
    return a;
}

static void work_init(kiln_ctx *ctx, int variant, work *w)
{
    w->p = trace(ctx, variant);
    int64_t n = 7;
    double x[200];
    for (int i = 0; i < 200; i++) x[i] = 0.01 * i - 1;
    w->in[0] = array_of(ctx, KILN_SCALAR(KILN_I64), &n);
    w->in[1] = array_of(ctx, KILN_VECTOR(KILN_F64, 200), x);
    assert_ok(ctx, kiln_prog_eval(ctx, w->p, w->in, &w->want));
}
static void work_fini(work *w)
{
    kiln_prog_release(w->p);
    kiln_array_release(w->in[0]);
    kiln_array_release(w->in[1]);
    kiln_array_release(w->want);
}

/* Compiles, calls, compares with the interpreter; says where the code came from. */
static kiln_cache_use use(kiln_ctx *ctx, const work *w, const kiln_compile_opts *o)
{
    kiln_exec *f;
    kiln_exec_info info;
    kiln_array *got;
    assert_ok(ctx, kiln_compile(ctx, w->p, o, &f));
    assert_ok(ctx, kiln_exec_call(ctx, f, w->in, &got));
    assert_true(same_array(got, w->want, NULL));
    kiln_exec_info_get(f, &info);
    kiln_array_release(got);
    kiln_exec_release(f);
    return info.cache;
}

/* ---- folders ---- */

/* A name for a folder, where nothing is; valid until the next call but three. */
static char *folder(void)
{
    static char path[4][1024];
    static unsigned k;
    char name[32];
    snprintf(name, sizeof name, "cache-%u", k);
    char *p = path[k++ % 4];
    snprintf(p, sizeof path[0], "%s", test_path(name));
    char command[1100];
    snprintf(command, sizeof command, "rm -rf '%s'", p); /* a process of the same number may have left one */
    assert_int_equal(system(command), 0);
    return p;
}

/* The path of the k-th entry, in the order of their names; false: there are not so many. */
static bool entry(const char *dir, int k, char path[1100])
{
    struct dirent **list;
    int n = scandir(dir, &list, NULL, alphasort), found = -1;
    for (int i = 0; i < n; i++) {
        if (strstr(list[i]->d_name, ".kiln") && !strstr(list[i]->d_name, ".tmp") && ++found == k) snprintf(path, 1100, "%s/%s", dir, list[i]->d_name);
        free(list[i]);
    }
    if (n >= 0) free(list);
    return found >= k;
}
static int entries(const char *dir)
{
    char path[1100];
    int n = 0;
    while (entry(dir, n, path)) n++;
    return n;
}

static char *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *s = malloc(*n + 1);
    assert_int_equal(fread(s, 1, *n, f), *n);
    fclose(f);
    return s;
}
static void spill(const char *path, const char *s, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(s, 1, n, f), n);
    fclose(f);
}

static kiln_ctx *context(const char *dir)
{
    kiln_ctx *ctx;
    assert_int_equal(kiln_ctx_create(NULL, &ctx), KILN_OK);
    if (dir) assert_ok(ctx, kiln_cache_enable(ctx, dir));
    return ctx;
}

static kiln_cache_counts counts(const kiln_ctx *ctx)
{
    kiln_cache_counts n;
    kiln_cache_counts_get(ctx, &n);
    return n;
}

/* ---- which folder ---- */

/* The example of the guide: an explicit folder wins over the variable, a compile leaves it alone. */
static void explicit_wins(void **state)
{
    (void)state;
    char *mine = folder(), *variable = folder();
    work w;
    setenv("KILN_CACHE", variable, 1);
    kiln_ctx *ctx = context(mine);
    work_init(ctx, 0, &w);
    assert_int_equal(use(ctx, &w, NULL), KILN_CACHE_MISS);
    assert_string_equal(kiln_cache_dir(ctx), mine);
    assert_int_equal(entries(mine), 1);
    assert_int_equal(entries(variable), 0);
    assert_ok(ctx, kiln_cache_enable(ctx, NULL)); /* keeps it */
    assert_string_equal(kiln_cache_dir(ctx), mine);
    kiln_ctx_release(ctx);

    ctx = context(NULL);
    assert_null(kiln_cache_dir(ctx));
    assert_int_equal(use(ctx, &w, NULL), KILN_CACHE_MISS); /* enables that of the variable */
    assert_string_equal(kiln_cache_dir(ctx), variable);
    assert_int_equal(entries(variable), 1);
    assert_ok(ctx, kiln_cache_enable(ctx, mine)); /* a change after a compile */
    assert_int_equal(use(ctx, &w, NULL), KILN_CACHE_HIT);
    assert_ok(ctx, kiln_cache_enable(ctx, "none"));
    assert_int_equal(use(ctx, &w, NULL), KILN_CACHE_OFF);
    assert_null(kiln_cache_dir(ctx));
    assert_ok(ctx, kiln_cache_enable(ctx, NULL));
    assert_string_equal(kiln_cache_dir(ctx), variable);
    kiln_ctx_release(ctx);
    setenv("KILN_CACHE", "none", 1);
    work_fini(&w);
}

static void usual_folder(void **state)
{
    (void)state;
    char home[1024], want[1100];
    const char *before = getenv("HOME");
    snprintf(home, sizeof home, "%s", before ? before : "");
    unsetenv("KILN_CACHE");
    setenv("HOME", "/somewhere", 1);
    kiln_ctx *ctx = context(NULL);
    assert_null(kiln_cache_dir(ctx)); /* a library does not write into a home that nobody named */
    assert_ok(ctx, kiln_cache_enable(ctx, NULL));
    snprintf(want, sizeof want, "/somewhere/.cache/kiln");
    assert_string_equal(kiln_cache_dir(ctx), want);
    kiln_ctx_release(ctx);
    unsetenv("HOME");
    ctx = context(NULL);
    assert_int_equal(kiln_cache_enable(ctx, NULL), KILN_NOTFOUND);
    assert_int_equal(kiln_cache_enable(ctx, ""), KILN_INVALID);
    kiln_ctx_release(ctx);
    setenv("HOME", home, 1);
    setenv("KILN_CACHE", "none", 1);
}

/* ---- hits ---- */

static void what_counts(void **state)
{
    kiln_ctx *maker = *state;
    char *dir = folder();
    work w, v;
    work_init(maker, 1, &w);
    work_init(maker, 2, &v);
    kiln_ctx *ctx = context(dir);
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    assert_int_equal(use(ctx, &w, &o), KILN_CACHE_MISS);
    assert_int_equal(use(ctx, &w, NULL), KILN_CACHE_HIT);
    o.label = "another name";
    assert_int_equal(use(ctx, &w, &o), KILN_CACHE_HIT);
    assert_int_equal(use(ctx, &v, NULL), KILN_CACHE_MISS);
    o.tier = 0;
    assert_int_equal(use(ctx, &w, &o), KILN_CACHE_MISS);
    o.tier = 2;
    assert_int_equal(use(ctx, &w, &o), KILN_CACHE_MISS);
    o.vector_bits = 128;
    assert_int_equal(use(ctx, &w, &o), KILN_CACHE_MISS);
    o.register_elements = 8;
    assert_int_equal(use(ctx, &w, &o), KILN_CACHE_MISS);
    o.target = "x86-64-v3"; /* vectors are of 128 bits for either target */
    bool other = use(ctx, &w, &o) == KILN_CACHE_MISS;
    assert_int_equal(other, strcmp(ctx->target, o.target) != 0);
    o.no_fusion = true;
    assert_int_equal(use(ctx, &w, &o), KILN_CACHE_MISS);
    o.ticks = true;
    assert_int_equal(use(ctx, &w, &o), KILN_CACHE_MISS);
    o.donated = (bool[]){false, true};
    kiln_exec *f;
    kiln_exec_info first, second;
    assert_ok(ctx, kiln_compile(ctx, w.p, &o, &f));
    kiln_exec_info_get(f, &first);
    kiln_exec_release(f);
    assert_ok(ctx, kiln_compile(ctx, w.p, &o, &f));
    kiln_exec_info_get(f, &second);
    kiln_exec_release(f);
    assert_int_equal(first.cache, KILN_CACHE_MISS);
    assert_int_equal(second.cache, KILN_CACHE_HIT);
#define SAME(name) assert_int_equal(first.name, second.name);
    SAME(equations) SAME(lowered_ops) SAME(time_loops) SAME(nests) SAME(copies) SAME(exit_copies) SAME(calls_out) SAME(scalar_calls)
    SAME(routine_calls) SAME(code_bytes) SAME(scratch_bytes) SAME(tier) SAME(n_scopes)
#undef SAME
    kiln_cache_counts n = counts(ctx);
    assert_int_equal(n.hits, 4 - other);
    assert_int_equal(n.misses, 9 + other);
    assert_int_equal(n.stores, 9 + other);
    assert_int_equal(n.failures + n.refused + n.evictions, 0);
    assert_true(n.bytes_read > 0 && n.bytes_written > n.bytes_read);
    assert_int_equal(ctx->counters.compiles, 9 + other);
    assert_int_equal(kiln_ctx_error(ctx)->code, KILN_OK);
    kiln_ctx_release(ctx);
    work_fini(&w);
    work_fini(&v);
}

static void warms(void **state)
{
    kiln_ctx *maker = *state;
    char *dir = folder();
    work w[2];
    for (int i = 0; i < 2; i++) work_init(maker, 3 + i, &w[i]);
    kiln_ctx *ctx = context(NULL);
    const kiln_prog *p[] = {w[0].p, w[1].p};
    assert_ok(ctx, kiln_cache_warm(ctx, dir, p, 2, NULL));
    assert_string_equal(kiln_cache_dir(ctx), dir);
    for (int i = 0; i < 2; i++) assert_int_equal(use(ctx, &w[i], NULL), KILN_CACHE_HIT);
    kiln_ctx_release(ctx);
    for (int i = 0; i < 2; i++) work_fini(&w[i]);
}

/* ---- damage ---- */

static void every_bit(void **state)
{
    kiln_ctx *maker = *state;
    char *dir = folder(), path[1100];
    work w;
    size_t n;
    work_init(maker, 5, &w);
    kiln_ctx *ctx = context(dir);
    assert_int_equal(use(ctx, &w, NULL), KILN_CACHE_MISS);
    assert_true(entry(dir, 0, path));
    char *good = slurp(path, &n), *bad = malloc(n + 1);
    time_t end = time(NULL) + 20;
    size_t tried = 0, stride = 8 * n / 400 | 1; /* some hundred of them go all the way through a compile */
    for (size_t bit = 0; bit < 8 * n && time(NULL) < end; bit += stride, tried++) {
        memcpy(bad, good, n);
        bad[bit / 8] = (char)(bad[bit / 8] ^ 1 << bit % 8);
        spill(path, bad, n);
        if (use(ctx, &w, NULL) != KILN_CACHE_MISS) fail_msg("bit %zu turned: no miss", bit);
        size_t m;
        char *again = slurp(path, &m); /* and what is damaged is made anew */
        assert_true(m == n && memcmp(again, good, n) == 0);
        free(again);
    }
    assert_true(tried >= 50);
    for (size_t k = 0; k < n; k += k < 64 ? 1 : n / 40) {
        spill(path, good, k);
        assert_int_equal(use(ctx, &w, NULL), KILN_CACHE_MISS);
    }
    memcpy(bad, good, n);
    bad[n] = 0;
    spill(path, bad, n + 1);
    assert_int_equal(use(ctx, &w, NULL), KILN_CACHE_MISS);
    assert_int_equal(use(ctx, &w, NULL), KILN_CACHE_HIT);
    assert_int_equal(kiln_ctx_error(ctx)->code, KILN_OK);
    free(good);
    free(bad);
    kiln_ctx_release(ctx);
    work_fini(&w);
}

/* Another program's entry under this one's name: the key in the file decides. */
static void other_key(void **state)
{
    kiln_ctx *maker = *state;
    char *a = folder(), *b = folder(), from[1100], to[1100];
    work w, v;
    size_t n;
    work_init(maker, 6, &w);
    work_init(maker, 7, &v);
    kiln_ctx *ctx = context(a);
    use(ctx, &w, NULL);
    assert_ok(ctx, kiln_cache_enable(ctx, b));
    use(ctx, &v, NULL);
    assert_true(entry(a, 0, from) && entry(b, 0, to));
    char *s = slurp(from, &n);
    spill(to, s, n);
    free(s);
    assert_int_equal(use(ctx, &v, NULL), KILN_CACHE_MISS);
    assert_int_equal(use(ctx, &v, NULL), KILN_CACHE_HIT);
    kiln_ctx_release(ctx);
    work_fini(&w);
    work_fini(&v);
}

static void damaged_index(void **state)
{
    kiln_ctx *maker = *state;
    char *dir = folder(), path[1100];
    work w[4];
    kiln_ctx *ctx = context(dir);
    for (int i = 0; i < 4; i++) work_init(maker, 60 + i, &w[i]);
    use(ctx, &w[0], NULL);
    snprintf(path, sizeof path, "%s/index", dir);
    for (int i = 1; i < 3; i++) { /* longer than one; of its size, and of a folder that holds nothing */
        spill(path, i == 1 ? "no index at all, and longer than one" : (char[24]){0}, i == 1 ? 36 : 24);
        assert_int_equal(use(ctx, &w[i], NULL), KILN_CACHE_MISS);
        size_t n;
        char *s = slurp(path, &n);
        assert_int_equal(n, 24);
        uint64_t bytes;
        memcpy(&bytes, s, sizeof bytes);
        assert_int_equal(bytes, counts(ctx).bytes_written); /* counted anew */
        free(s);
    }
    unlink(path);
    mkdir(path, 0777); /* a folder in its place */
    assert_int_equal(use(ctx, &w[3], NULL), KILN_CACHE_MISS);
    for (int i = 0; i < 4; i++) assert_int_equal(use(ctx, &w[i], NULL), KILN_CACHE_HIT);
    rmdir(path);
    kiln_ctx_release(ctx);
    for (int i = 0; i < 4; i++) work_fini(&w[i]);
}

/* ---- folders that do not take anything ---- */

static void no_folder(void **state)
{
    kiln_ctx *maker = *state;
    work w;
    work_init(maker, 13, &w);
    const char *file = test_path("plain-file");
    spill(file, "x", 1);
    char below[1100];
    snprintf(below, sizeof below, "%s/cache", file);
    const char *const dirs[] = {"/proc/nothing/here", file, below, "/dev/null", "/sys/kernel"};
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        kiln_ctx *ctx = context(dirs[i]);
        assert_int_equal(use(ctx, &w, NULL), KILN_CACHE_MISS);
        assert_int_equal(use(ctx, &w, NULL), KILN_CACHE_MISS);
        assert_int_equal(counts(ctx).failures, 2);
        assert_int_equal(kiln_ctx_error(ctx)->code, KILN_OK);
        kiln_ctx_release(ctx);
    }
    work_fini(&w);
}

static int refuse_writing(void *ud, const char *path, int flags, mode_t mode)
{
    if (flags & (O_WRONLY | O_RDWR | O_CREAT)) {
        errno = EROFS;
        return -1;
    }
    return kn_io_default.open(ud, path, flags, mode);
}
static ssize_t full_disk(void *ud, int fd, const void *p, size_t n)
{
    (void)ud, (void)fd, (void)p, (void)n;
    errno = ENOSPC;
    return -1;
}

/* What is there is used; what is not there stays away. */
static void read_only_and_full(void **state)
{
    kiln_ctx *maker = *state;
    char *dir = folder();
    work w, v;
    work_init(maker, 14, &w);
    work_init(maker, 15, &v);
    kiln_ctx *ctx = context(dir);
    use(ctx, &w, NULL);
    kn_io io = kn_io_default;
    ctx->io = &io;
    io.open = refuse_writing;
    assert_int_equal(use(ctx, &w, NULL), KILN_CACHE_HIT);
    assert_int_equal(use(ctx, &v, NULL), KILN_CACHE_MISS);
    io = kn_io_default;
    io.write = full_disk;
    assert_int_equal(use(ctx, &w, NULL), KILN_CACHE_HIT);
    assert_int_equal(use(ctx, &v, NULL), KILN_CACHE_MISS);
    assert_int_equal(counts(ctx).failures, 2);
    assert_int_equal(test_count_files(dir), 1);
    assert_int_equal(entries(dir), 1); /* and no half file */
    kiln_ctx_release(ctx);
    work_fini(&w);
    work_fini(&v);
}

/* The n-th call on a file fails, for every n: right results, and a later process finds whole entries only. */
static void every_call_fails(void **state)
{
    kiln_ctx *maker = *state;
    work w;
    work_init(maker, 16, &w);
    int n = 1;
    for (bool failed = true; failed; n++) {
        char *dir = folder();
        kiln_ctx *ctx = context(dir);
        test_io_fail(ctx, n);
        use(ctx, &w, NULL);
        use(ctx, &w, NULL);
        failed = test_io_failed(ctx);
        test_io_fail(ctx, 0);
        use(ctx, &w, NULL);
        assert_int_equal(use(ctx, &w, NULL), KILN_CACHE_HIT);
        assert_int_equal(counts(ctx).refused, 0);
        kiln_ctx_release(ctx);
    }
    assert_true(n > 8);
    work_fini(&w);
}

static void every_allocation_fails(void **state)
{
    kiln_ctx *maker = *state;
    char *dir = folder();
    work w;
    work_init(maker, 17, &w);
    for (int warm = 0; warm < 2; warm++)
        for (int n = 1;; n++) {
            kiln_ctx *ctx = test_ctx_failing(0);
            assert_ok(ctx, kiln_cache_enable(ctx, dir));
            char path[1100];
            if (!warm && entry(dir, 0, path)) unlink(path);
            if (warm && n == 1) use(ctx, &w, NULL);
            test_memory.left = n;
            test_memory.failed = false;
            kiln_exec *f;
            kiln_status s = kiln_compile(ctx, w.p, NULL, &f);
            bool failed = test_ctx_failed(ctx);
            test_memory.left = 0;
            if (s == KILN_OK) {
                kiln_exec_release(f);
                use(ctx, &w, NULL);
            } else {
                assert_int_equal(s, KILN_NOMEM);
            }
            test_ctx_release(ctx);
            if (!failed) break;
        }
    work_fini(&w);
}

/* ---- the least recently used leave ---- */

static void evicts(void **state)
{
    kiln_ctx *maker = *state;
    enum { MANY = 6 };
    char *dir = folder();
    work w[MANY];
    kiln_ctx *ctx = context(dir);
    for (int i = 0; i < MANY; i++) work_init(maker, 20 + i, &w[i]);
    use(ctx, &w[0], NULL);
    uint64_t one = counts(ctx).bytes_written;
    kiln_cache_limit(ctx, 4 * one + one / 2); /* entries differ by some bytes; a sweep leaves three */
    for (int i = 1; i < 4; i++) use(ctx, &w[i], NULL);
    assert_int_equal(counts(ctx).evictions, 0);
    assert_int_equal(use(ctx, &w[0], NULL), KILN_CACHE_HIT); /* now 1 is the oldest */
    use(ctx, &w[4], NULL);
    assert_int_equal(counts(ctx).evictions, 2);
    assert_int_equal(entries(dir), 3);
    assert_int_equal(use(ctx, &w[0], NULL), KILN_CACHE_HIT);
    assert_int_equal(use(ctx, &w[3], NULL), KILN_CACHE_HIT);
    assert_int_equal(use(ctx, &w[4], NULL), KILN_CACHE_HIT);
    assert_int_equal(use(ctx, &w[1], NULL), KILN_CACHE_MISS);
    kiln_cache_limit(ctx, 100); /* smaller than any entry: nothing is stored, nothing pushed out */
    assert_int_equal(use(ctx, &w[5], NULL), KILN_CACHE_MISS);
    assert_int_equal(use(ctx, &w[5], NULL), KILN_CACHE_MISS);
    assert_int_equal(entries(dir), 4);
    kiln_ctx_release(ctx);
    for (int i = 0; i < MANY; i++) work_fini(&w[i]);
}

/* ---- many at once ---- */

static void processes(void **state)
{
    enum { N = 16 };
    kiln_ctx *maker = *state;
    char *dir = folder();
    work w;
    pid_t child[N];
    int pipes[2], misses = 0;
    work_init(maker, 30, &w);
    assert_int_equal(pipe(pipes), 0);
    for (int i = 0; i < N; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i]) continue;
        char go;
        close(pipes[1]);
        if (read(pipes[0], &go, 1) != 0) _exit(9); /* until the parent closes its end */
        kiln_ctx *ctx;
        kiln_exec *f;
        kiln_array *got;
        kiln_exec_info info;
        if (kiln_ctx_create(NULL, &ctx) != KILN_OK || kiln_cache_enable(ctx, dir) != KILN_OK) _exit(9);
        if (kiln_compile(ctx, w.p, NULL, &f) != KILN_OK || kiln_exec_call(ctx, f, w.in, &got) != KILN_OK) _exit(9);
        kiln_exec_info_get(f, &info);
        _exit(!same_array(got, w.want, NULL) ? 9 : info.cache == KILN_CACHE_MISS ? 1 : info.cache == KILN_CACHE_HIT ? 0 : 9);
    }
    close(pipes[0]);
    close(pipes[1]);
    for (int i = 0; i < N; i++) {
        int status;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
        misses += WEXITSTATUS(status);
    }
    assert_int_equal(misses, 1);
    work_fini(&w);
}

typedef struct thread {
    const work *w;
    const char *dir;
    int number, misses, bad;
} thread;

static void *in_thread(void *ud)
{
    thread *t = ud;
    kiln_ctx *ctx;
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK || kiln_cache_enable(ctx, t->dir) != KILN_OK) return t->bad = 1, NULL;
    for (int i = 0; i < 3; i++) {
        const work *w = &t->w[(t->number + i) % 3];
        kiln_exec *f;
        kiln_array *got;
        kiln_exec_info info;
        if (kiln_compile(ctx, w->p, NULL, &f) != KILN_OK) return t->bad = 2, NULL;
        if (kiln_exec_call(ctx, f, w->in, &got) != KILN_OK || !same_array(got, w->want, NULL)) return t->bad = 3, NULL;
        kiln_exec_info_get(f, &info);
        t->misses += info.cache == KILN_CACHE_MISS;
        kiln_array_release(got);
        kiln_exec_release(f);
    }
    kiln_ctx_release(ctx);
    return NULL;
}

static void threads(void **state)
{
    enum { N = 8 };
    kiln_ctx *maker = *state;
    char *dir = folder();
    work w[3];
    pthread_t id[N];
    thread t[N];
    int misses = 0;
    for (int i = 0; i < 3; i++) work_init(maker, 40 + i, &w[i]);
    for (int i = 0; i < N; i++) {
        t[i] = (thread){.w = w, .dir = dir, .number = i};
        assert_int_equal(pthread_create(&id[i], NULL, in_thread, &t[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(id[i], NULL);
        assert_int_equal(t[i].bad, 0);
        misses += t[i].misses;
    }
    assert_int_equal(misses, 3);
    for (int i = 0; i < 3; i++) work_fini(&w[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(processes, test_setup, test_teardown), /* before the code generator is open */
        cmocka_unit_test_setup_teardown(explicit_wins, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(usual_folder, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(what_counts, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(warms, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(every_bit, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(other_key, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(damaged_index, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(no_folder, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(read_only_and_full, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(every_call_fails, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(every_allocation_fails, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(evicts, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(threads, test_setup, test_teardown),
    };
    setenv("KILN_CACHE", "none", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
