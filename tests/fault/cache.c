/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of compiled code under what may befall it: a process killed at every call on a file, with all, half or nothing of its last
 * write done; a disk that fills up at every byte count; a folder that cannot be read or written; every bit of an entry turned. Always a
 * miss or right code, never half an entry. */
#include "cache/cache.h"
#include "kiln/kiln.h"
#include "same.h"
#include "testing.h"

#include <fcntl.h>
#include <sys/wait.h>

static const char text[] = "{ lambda ; a:f32[100] b:f32[100]. let c:f32[100] = mul a b d:f32[100] = sin c e:f32[] = reduce_sum[axes=(0,) out_sharding=None] d\n"
                           "  f:f32[100] = add c 0.25:f32[] in (f, e) }\n";

typedef struct work {
    kiln_prog *p;
    kiln_array *in[2], *want[2];
} work;

static void work_init(kiln_ctx *ctx, work *w)
{
    assert_ok(ctx, kiln_prog_parse(ctx, text, sizeof text - 1, "t", &w->p));
    for (int k = 0; k < 2; k++) {
        assert_ok(ctx, kiln_array_create(ctx, KILN_VECTOR(KILN_F32, 100), &w->in[k]));
        for (int i = 0; i < 100; i++) ((float *)w->in[k]->data)[i] = (float)(i - 30) * 0.125f + (float)k;
    }
    assert_ok(ctx, kiln_prog_eval(ctx, w->p, w->in, w->want));
}
static void work_fini(work *w)
{
    kiln_prog_release(w->p);
    for (int k = 0; k < 2; k++) {
        kiln_array_release(w->in[k]);
        kiln_array_release(w->want[k]);
    }
}

/* Compiles and calls in this folder: where the code came from; -1 for an error or other results. */
static int use(kiln_ctx *ctx, const work *w)
{
    kiln_exec *f;
    kiln_exec_info info;
    kiln_array *got[2];
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    o.tier = 0;
    if (kiln_compile(ctx, w->p, &o, &f) != KILN_OK || kiln_exec_call(ctx, f, w->in, got) != KILN_OK) return -1;
    kiln_exec_info_get(f, &info);
    bool good = same_array(got[0], w->want[0], NULL) && same_array(got[1], w->want[1], NULL);
    kiln_array_release(got[0]);
    kiln_array_release(got[1]);
    kiln_exec_release(f);
    return good ? (int)info.cache : -1;
}

static kiln_ctx *context(const char *dir)
{
    kiln_ctx *ctx;
    assert_int_equal(kiln_ctx_create(NULL, &ctx), KILN_OK);
    assert_ok(ctx, kiln_cache_enable(ctx, dir));
    return ctx;
}

static const char *folder(const char *name)
{
    static char path[1024], command[1100];
    snprintf(path, sizeof path, "%s", test_path(name));
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
    return path;
}

/* Files of the folder whose names end so. */
static int ending(const char *dir, const char *end)
{
    DIR *d = opendir(dir);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));) n += strlen(e->d_name) > strlen(end) && strcmp(e->d_name + strlen(e->d_name) - strlen(end), end) == 0;
    if (d) closedir(d);
    return n;
}

/* What every next process finds: a miss and then a hit, or a hit; the right results; no damaged entry. */
static void others_go_on(const char *dir, const work *w)
{
    kiln_ctx *ctx = context(dir);
    kiln_cache_counts n;
    assert_true(use(ctx, w) >= 0);
    assert_int_equal(use(ctx, w), KILN_CACHE_HIT);
    kiln_cache_counts_get(ctx, &n);
    assert_int_equal(n.refused + n.failures, 0);
    assert_int_equal(ending(dir, ".kiln"), 1);
    kiln_ctx_release(ctx);
}

/* ---- killed at the n-th call ---- */

enum { SURVIVED = 0, WRONG = 1, KILLED = 7 };
static struct {
    int left;  /* calls until the end */
    int halves; /* of the last write that are done */
} life;

static void die(void) { _exit(KILLED); }
static bool last(void) { return --life.left == 0; }

static int dying_open(void *ud, const char *path, int flags, mode_t mode)
{
    int fd = kn_io_default.open(ud, path, flags, mode);
    if (last()) die();
    return fd;
}
static ssize_t dying_write(void *ud, int fd, const void *p, size_t n)
{
    bool end = last();
    ssize_t done = end && life.halves == 0 ? 0 : kn_io_default.write(ud, fd, p, end && life.halves == 1 ? n / 2 : n);
    if (end) die();
    return done;
}
#define DYING(name, parameters, arguments)                                                                            \
    static int dying_##name parameters                                                                                \
    {                                                                                                                 \
        bool end = last();                                                                                            \
        if (end && life.halves == 0) die();                                                                           \
        int r = kn_io_default.name arguments;                                                                         \
        if (end) die();                                                                                               \
        return r;                                                                                                     \
    }
DYING(sync, (void *ud, int fd), (ud, fd))
DYING(close, (void *ud, int fd), (ud, fd))
DYING(rename, (void *ud, const char *a, const char *b), (ud, a, b))
DYING(unlink, (void *ud, const char *path), (ud, path))
DYING(mkdir, (void *ud, const char *path, mode_t mode), (ud, path, mode))
static ssize_t dying_read(void *ud, int fd, void *p, size_t n)
{
    if (last()) die();
    return kn_io_default.read(ud, fd, p, n);
}

static const kn_io dying = {dying_open, dying_read, dying_write, dying_sync, dying_close, dying_rename, dying_unlink, dying_mkdir, NULL};

/* A process that compiles and is killed at the n-th call; how it ended. */
static int killed_at(const char *dir, const work *w, int n, int halves)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        kiln_ctx *ctx;
        if (kiln_ctx_create(NULL, &ctx) != KILN_OK || kiln_cache_enable(ctx, dir) != KILN_OK) _exit(WRONG);
        life.left = n;
        life.halves = halves;
        ctx->io = &dying;
        _exit(use(ctx, w) == KILN_CACHE_MISS ? SURVIVED : WRONG);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void killed(void **state)
{
    work w;
    work_init(*state, &w);
    int calls = 0;
    for (int halves = 0; halves <= 2; halves++)
        for (int n = 1;; n++) {
            const char *dir = folder("killed");
            int end = killed_at(dir, &w, n, halves);
            if (end == WRONG) fail_msg("killed at call %d: other results before", n);
            others_go_on(dir, &w);
            if (end == SURVIVED) break;
            calls++;
        }
    print_message("killed at %d calls\n", calls);
    assert_true(calls >= 3 * 8); /* folder, locks, file, write, sync, close, rename, index at the least */
    work_fini(&w);
}

/* ---- a disk that is full ---- */

static struct {
    size_t room; /* bytes that still fit */
    bool was_full;
} disk;

static ssize_t write_to_disk(void *ud, int fd, const void *p, size_t n)
{
    if (n > disk.room) disk.was_full = true;
    if (disk.room == 0) {
        errno = ENOSPC;
        return -1;
    }
    ssize_t done = kn_io_default.write(ud, fd, p, n < disk.room ? n : disk.room);
    if (done > 0) disk.room -= (size_t)done;
    return done;
}

static void full_disk(void **state)
{
    work w;
    work_init(*state, &w);
    kn_io io = kn_io_default;
    io.write = write_to_disk;
    size_t step = 1;
    for (size_t room = 0;; room += step, step = room < 16 ? 1 : 331) {
        const char *dir = folder("full");
        kiln_ctx *ctx = context(dir);
        ctx->io = &io;
        disk.room = room;
        disk.was_full = false;
        assert_int_equal(use(ctx, &w), KILN_CACHE_MISS);
        assert_true(use(ctx, &w) >= 0);
        assert_int_equal(ending(dir, ".tmp"), 0); /* it gives back what it took */
        assert_int_equal(kiln_ctx_error(ctx)->code, KILN_OK);
        kiln_ctx_release(ctx);
        others_go_on(dir, &w);
        if (!disk.was_full) break;
    }
    work_fini(&w);
}

/* ---- a folder that is shut ---- */

static const char *shut_folder;
static int shut_open(void *ud, const char *path, int flags, mode_t mode)
{
    if (strncmp(path, shut_folder, strlen(shut_folder)) != 0) return kn_io_default.open(ud, path, flags, mode);
    errno = EACCES;
    return -1;
}
static int shut_mkdir(void *ud, const char *path, mode_t mode)
{
    (void)ud, (void)path, (void)mode;
    errno = EACCES;
    return -1;
}

/* By its mode, which does not hold for root, and by the system calls. */
static void shut(void **state)
{
    work w;
    work_init(*state, &w);
    const char *dir = folder("shut");
    others_go_on(dir, &w);
    for (int by_mode = 0; by_mode < 2; by_mode++) {
        kiln_ctx *ctx = context(dir);
        kn_io io = kn_io_default;
        kiln_cache_counts n;
        bool root = geteuid() == 0;
        shut_folder = dir;
        if (by_mode) {
            assert_int_equal(chmod(dir, 0), 0);
        } else {
            io.open = shut_open;
            io.mkdir = shut_mkdir;
            ctx->io = &io;
        }
        int first = use(ctx, &w), second = use(ctx, &w);
        assert_int_equal(first, by_mode && root ? KILN_CACHE_HIT : KILN_CACHE_MISS);
        assert_int_equal(second, first);
        kiln_cache_counts_get(ctx, &n);
        assert_int_equal(n.failures, first == KILN_CACHE_MISS ? 2 : 0);
        assert_int_equal(kiln_ctx_error(ctx)->code, KILN_OK);
        kiln_ctx_release(ctx);
        assert_int_equal(chmod(dir, 0777), 0);
        others_go_on(dir, &w);
    }
    work_fini(&w);
}

/* ---- every bit of an entry ---- */

static void every_bit(void **state)
{
    (void)state;
    enum { KEY = 700, OBJECT = 1500 };
    char key[KEY], object[OBJECT];
    for (int i = 0; i < KEY; i++) key[i] = (char)(i * 7 + i / 256);
    for (int i = 0; i < OBJECT; i++) object[i] = (char)(i * 31 + i / 256);
    kn_arena arena, trial;
    kn_arena_init(&arena, NULL);
    kn_blob b = {.arena = &arena};
    kn_image image = {.object = object, .object_bytes = OBJECT, .scratch_bytes = 64, .info = {.nests = 3, .tier = 2}}, out;
    kn_entry_write(&b, key, KEY, &image);
    assert_false(b.failed);
    char *bytes = malloc(b.n);
    assert_non_null(bytes);
    kn_arena_init(&trial, NULL);
    memcpy(bytes, b.v, b.n);
    assert_int_equal(kn_entry_read(&trial, bytes, b.n, key, KEY, &out), KN_ENTRY_GOOD);
    for (size_t bit = 0; bit < 8 * b.n; bit++) {
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        if (kn_entry_read(&trial, bytes, b.n, key, KEY, &out) == KN_ENTRY_GOOD) fail_msg("bit %zu turned, and the entry is good", bit);
        bytes[bit / 8] = b.v[bit / 8];
    }
    for (size_t n = 0; n < b.n; n++)
        if (kn_entry_read(&trial, bytes, n, key, KEY, &out) == KN_ENTRY_GOOD) fail_msg("%zu bytes of %zu, and the entry is good", n, b.n);
    print_message("%zu bits turned\n", 8 * b.n);
    free(bytes);
    kn_arena_fini(&trial);
    kn_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(killed, test_setup, test_teardown), /* before the code generator is open: it forks */
        cmocka_unit_test_setup_teardown(full_disk, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(shut, test_setup, test_teardown),
        cmocka_unit_test(every_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
