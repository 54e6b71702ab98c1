/* SPDX-License-Identifier: Apache-2.0 */
/* What test programs share: a context as the group's state, temporary files, an allocator and a table of system calls that
 * fail at the n-th call. */
#ifndef KN_TESTING_H
#define KN_TESTING_H

#include "base/ctx.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

/* ---- contexts ---- */

static int test_setup(void **state)
{
    kiln_ctx *ctx;
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK) return -1;
    *state = ctx;
    return 0;
}

static int test_teardown(void **state)
{
    kiln_ctx_release(*state);
    return 0;
}

static void test_assert_ok(kiln_ctx *ctx, kiln_status status, const char *expr, const char *file, int line)
{
    if (status == KILN_OK) return;
    char text[2048];
    kiln_diag_format(kiln_ctx_error(ctx), text, sizeof text);
    print_error("%s gave %s:\n%s\n", expr, kiln_status_name(status), text);
    _fail(file, line);
}
#define assert_ok(ctx, expr) test_assert_ok((ctx), (expr), #expr, __FILE__, __LINE__)

/* The error's message holds `part`. */
static void test_assert_says(kiln_ctx *ctx, const char *part, const char *file, int line)
{
    if (strstr(kiln_ctx_error(ctx)->message, part)) return;
    print_error("'%s' does not say '%s'\n", kiln_ctx_error(ctx)->message, part);
    _fail(file, line);
}
#define assert_says(ctx, part) test_assert_says((ctx), (part), __FILE__, __LINE__)

/* ---- files ---- */

/* A path in a folder of this process's own under the build folder; valid until the next call but three. */
static const char *test_path(const char *name)
{
    static char path[4][1024];
    static unsigned k;
    char *p = path[k++ % 4];
    snprintf(p, sizeof path[0], "%s/tmp", KILN_BUILD_DIR);
    mkdir(p, 0777);
    snprintf(p, sizeof path[0], "%s/tmp/%ld", KILN_BUILD_DIR, (long)getpid());
    mkdir(p, 0777);
    snprintf(p, sizeof path[0], "%s/tmp/%ld/%s", KILN_BUILD_DIR, (long)getpid(), name);
    return p;
}

/* How many files of the folder have a name that begins as the path's. */
static int test_count_files(const char *path)
{
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", path);
    char *name = strrchr(folder, '/');
    *name++ = 0;
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));) n += strncmp(e->d_name, name, strlen(name)) == 0;
    if (d) closedir(d);
    return n;
}

static bool test_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Sets a locale with a decimal comma, made for the tests when the machine has none; false when that cannot be done. */
static bool test_set_comma_locale(void)
{
    char folder[512], command[2048];
    if (setlocale(LC_ALL, "de_DE.UTF-8")) return true;
    snprintf(folder, sizeof folder, "%s/tmp/locale", KILN_BUILD_DIR);
    snprintf(command, sizeof command,
             "mkdir -p %s && { test -d %s/de_DE.UTF-8 || localedef --no-archive -i de_DE -f UTF-8 %s/de_DE.UTF-8; } > /dev/null 2>&1", folder,
             folder, folder);
    if (system(command) != 0) return false;
    setenv("LOCPATH", folder, 1);
    return setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
}

/* ---- the n-th system call fails ---- */

static struct {
    int left; /* calls until the failure; 0: none */
    bool failed;
} test_io;

static bool test_io_step(int error)
{
    if (test_io.left == 0 || --test_io.left > 0) return true;
    test_io.failed = true;
    errno = error;
    return false;
}
static int test_io_open(void *ud, const char *path, int flags, mode_t mode)
{
    return test_io_step(EACCES) ? kn_io_default.open(ud, path, flags, mode) : -1;
}
static ssize_t test_io_read(void *ud, int fd, void *p, size_t n) { return test_io_step(EIO) ? kn_io_default.read(ud, fd, p, n) : -1; }
static ssize_t test_io_write(void *ud, int fd, const void *p, size_t n)
{
    return test_io_step(ENOSPC) ? kn_io_default.write(ud, fd, p, n > 1000 ? n / 2 : n) : -1; /* and short writes */
}
static int test_io_sync(void *ud, int fd) { return test_io_step(EIO) ? kn_io_default.sync(ud, fd) : -1; }
static int test_io_rename(void *ud, const char *a, const char *b) { return test_io_step(EACCES) ? kn_io_default.rename(ud, a, b) : -1; }
static int test_io_mkdir(void *ud, const char *path, mode_t mode) { return test_io_step(EACCES) ? kn_io_default.mkdir(ud, path, mode) : -1; }
static int test_io_close(void *ud, int fd) { return kn_io_default.close(ud, fd); }
static int test_io_unlink(void *ud, const char *path) { return kn_io_default.unlink(ud, path); }

static const kn_io test_io_table = {test_io_open,  test_io_read,   test_io_write,  test_io_sync,
                                    test_io_close, test_io_rename, test_io_unlink, test_io_mkdir, NULL};

/* From now on the n-th call fails; 0 ends it. */
static void test_io_fail(kiln_ctx *ctx, int n)
{
    ctx->io = n ? &test_io_table : &kn_io_default;
    test_io.left = n;
    test_io.failed = false;
}
static bool test_io_failed(kiln_ctx *ctx) { return (void)ctx, test_io.failed; }

/* ---- the n-th allocation fails ---- */

static struct {
    int left;
    bool failed;
    long live; /* blocks */
} test_memory;

static void *test_alloc(void *ud, void *p, size_t old_bytes, size_t new_bytes, size_t align)
{
    if (new_bytes && test_memory.left && --test_memory.left == 0) {
        test_memory.failed = true;
        return NULL;
    }
    void *q = kn_alloc_default.fn(ud, p, old_bytes, new_bytes, align);
    test_memory.live += (q && !p) - (p && new_bytes == 0);
    return q;
}

/* A context whose n-th allocation fails (NULL when it was the context's own); n 0: none does. */
static kiln_ctx *test_ctx_failing(int n)
{
    test_memory.left = n;
    test_memory.failed = false;
    test_memory.live = 0;
    kiln_ctx_opts o = KILN_CTX_OPTS_INIT;
    o.alloc = test_alloc;
    kiln_ctx *ctx;
    return kiln_ctx_create(&o, &ctx) == KILN_OK ? ctx : NULL;
}
static bool test_ctx_failed(kiln_ctx *ctx) { return (void)ctx, test_memory.failed; }

/* Releases it and checks that nothing leaked. */
static void test_ctx_release(kiln_ctx *ctx)
{
    kiln_ctx_release(ctx);
    assert_int_equal(test_memory.live, 0);
}

#endif
